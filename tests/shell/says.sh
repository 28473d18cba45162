# What shell tests of commands share; sourced. Counts in $passed and $failed.
passed=0
failed=0

# run STATUS COMMAND...: the exit status must be that; the output is kept for says and silent, in the file out.
run() {
    wanted=$1
    shift
    "$@" > out 2>&1
    found=$?
    if [ $found -eq "$wanted" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "exit status $found, not $wanted: $*"
        sed 's/^/    /' out
    fi
}
# says WORDS, silent WORDS: are they in the output of the last run?
says() {
    if grep -qF -e "$1" out; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'expected: ...%s...\n' "$1"
        sed 's/^/    /' out
    fi
}
silent() {
    if grep -qF -e "$1" out; then
        failed=$((failed + 1))
        printf 'not expected: ...%s...\n' "$1"
        sed 's/^/    /' out
    else
        passed=$((passed + 1))
    fi
}

# spinning_kernel FILE: the text of a kernel that runs for hours.
spinning_kernel() {
    cat > "$1" <<'END'
entry @k() {
  %zero = constant <i64: 0> : tile<i64>
  %one = constant <i64: 1> : tile<i64>
  %n = constant <i64: 10000000000> : tile<i64>
  for %i in (%zero to %n, step %one) : tile<i64> {
    continue
  }
  return
}
END
}

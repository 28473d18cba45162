#!/bin/sh
# rules.sh BUILD KERNELS JOBS [FILE...]: drops the rules of rules.txt, of those files alone where some are named, one at
# a time in a copy of the tree, and runs up to KERNELS random kernels until one fails. A rule that none of them misses
# is not tested. Ends with `rules: N passed, N failed`.
set -u
build=$1 kernels=$2 jobs=$3
shift 3
rules=tests/mutation/rules.txt
mkdir -p "$build/mutation" && work=$(cd "$build/mutation" && pwd) || exit 2
tree=$work/rules program=build/release/random_memory
sources='Makefile mk bytecode codegen container docs include loader tests tools vm'
passed=0 failed=0

make_it() {
    ${MAKE:-make} -C "$tree" -s --no-print-directory -j "$jobs" BUILD=build CONFIG=release WERROR=0 "CFLAGS=-g0" $program \
        > "$work/rules.log" 2>&1 || { tail -n 5 "$work/rules.log" >&2; return 1; }
}

# drop FILE OLD NEW: replaces the line, which the file has once, but for blanks around it.
drop() {
    old=$2 new=$3 awk '
        BEGIN { old = ENVIRON["old"]; new = ENVIRON["new"] }
        { line = $0; sub(/^ +/, "", line) }
        line == old { print new; found++; next }
        { print }
        END { exit found != 1 }' "$1" > "$tree/$1"
}

# try FILE RULE OLD NEW TARGET
try() {
    if ! drop "$1" "$3" "$4"; then
        failed=$((failed + 1))
        echo "$1: no such line, or several: $3"
    elif ! make_it; then
        failed=$((failed + 1))
        echo "$1: does not compile: $4"
    elif RANDOM_MEMORY_STOP=1 timeout 600 "$tree/$program" "$kernels" "$5" 1 > "$work/rules.out" 2>&1; then
        failed=$((failed + 1))
        echo "$1: $kernels kernels without a failure, though dropped: $2"
    else
        passed=$((passed + 1))
        echo "$1: $2: $(sed -n 's/^\(seed [0-9]*\).*/\1/p' "$work/rules.out" | head -n 1)"
    fi
    cp "$1" "$tree/$1"
}

mkdir -p "$tree"
# shellcheck disable=SC2086
(cd "$tree" && rm -rf $sources) && tar cf - $sources | tar xf - -C "$tree" && make_it || exit 2
wanted=" $* " file='' rule='' old='' target=sm_90a
while IFS= read -r line; do
    case $line in
    '#'* | '') ;;
    '- '*) old=${line#- } ;;
    '+ '*) case $wanted in "  " | *" $file "*) try "$file" "$rule" "$old" "${line#+ }" "$target" ;; esac ;;
    '? '*) target=${line#? } ;;
    *) file=${line%%: *} rule=${line#*: } target=sm_90a ;;
    esac
done < $rules
echo "rules: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]

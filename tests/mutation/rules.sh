#!/bin/sh
# rules.sh BUILD KERNELS JOBS [FILE...]: drops the rules of rules.txt, of those files alone where some are named, one at
# a time in a copy of the tree. The kernel of tests/regress that a rule names must fail then; where it names none, one of
# KERNELS random kernels must. Only kernels that the change compiles otherwise are run. With 0 KERNELS nothing is built or
# run: each rule's line must be in its file once, and its kernel or fixture must exist. Ends with `rules: N passed, N
# failed`.
set -u
build=$1 kernels=$2 jobs=$3
shift 3
rules=tests/mutation/rules.txt
mkdir -p "$build/mutation" && work=$(cd "$build/mutation" && pwd) || exit 2
tree=$work/rules out=build/release
[ "$kernels" -ne 0 ] || tree=$work/lines
sources='Makefile mk bytecode codegen container docs include loader tests tools vm'
passed=0 failed=0

make_it() {
    ${MAKE:-make} -C "$tree" -s --no-print-directory -j "$jobs" BUILD=build CONFIG=release WERROR=0 "CFLAGS=-g0" \
        $out/random_memory $out/run_fixtures $out/tilevm $out/fakecuda/libcuda.so.1 \
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

# sums TARGET: what the random kernels become as the tree is.
sums() {
    [ -s "$work/$1.sums" ] || RANDOM_MEMORY_WRITE="$work/$1.sums" "$tree/$out/random_memory" "$kernels" "$1" > /dev/null
}

# random_fails TARGET: the first random kernel that fails is told in $work/rules.out.
random_fails() {
    ! RANDOM_MEMORY_KNOWN="$work/$1.sums" RANDOM_MEMORY_STOP=1 timeout 600 "$tree/$out/random_memory" "$kernels" "$1" \
        > "$work/rules.out" 2>&1
}

# kernel_fails NAME TARGET
kernel_fails() {
    case $1 in
    *.test)
        (cd "$tree" && ! $out/run_fixtures --tool $out/tilevm --work "$work/fixtures" "$1" > "$work/rules.out" 2>&1)
        return
        ;;
    esac
    gpu=${2#sm_}
    (cd "$tree" && ! REGRESS_KERNELS=$1 REGRESS_GPUS=${gpu%a} bash tests/shell/regress.sh $out "$work/regress" \
        > "$work/rules.out" 2>&1) && grep -q "^$1-sm_" "$work/rules.out"
}

# is_there FILE OLD NEW KERNEL
is_there() {
    case $4 in
    '' | *.test) kernel_file=$4 ;;
    *) kernel_file=tests/regress/$4.tileir ;;
    esac
    if [ ! -f "$1" ] || ! drop "$1" "$2" "$3"; then
        echo "$1: no such line, or several: $2"
    elif [ -n "$kernel_file" ] && [ ! -f "$kernel_file" ]; then
        echo "$1: there is no $kernel_file"
    else
        return 0
    fi
    return 1
}

# try FILE RULE OLD NEW TARGET KERNEL
try() {
    if [ "$kernels" -eq 0 ]; then
        if is_there "$1" "$3" "$4" "$6"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
        return
    fi
    if ! drop "$1" "$3" "$4"; then
        failed=$((failed + 1))
        echo "$1: no such line, or several: $3"
    elif ! make_it; then
        failed=$((failed + 1))
        echo "$1: does not compile: $4"
    elif [ -n "$6" ] && kernel_fails "$6" "$5"; then
        passed=$((passed + 1))
        echo "$1: $2: $6"
    elif [ -n "$6" ]; then
        failed=$((failed + 1))
        echo "$1: $6 does not fail, though dropped: $2"
    elif random_fails "$5"; then
        passed=$((passed + 1))
        echo "$1: $2: $(sed -n 's/^\(seed [0-9]*\).*/\1/p' "$work/rules.out" | head -n 1)"
    else
        failed=$((failed + 1))
        echo "$1: $kernels kernels without a failure, though dropped: $2"
    fi
    cp "$1" "$tree/$1"
}

mkdir -p "$tree"
# shellcheck disable=SC2086
(cd "$tree" && rm -rf $sources) && tar cf - $sources | tar xf - -C "$tree" || exit 2
if [ "$kernels" -ne 0 ]; then
    make_it || exit 2
    rm -f "$work"/*.sums
    for target in sm_90a $(sed -n 's/^? //p' $rules | sort -u); do
        sums "$target"
    done
fi
wanted=" $* " file='' rule='' old='' target=sm_90a kernel=''
while IFS= read -r line; do
    case $line in
    '#'* | '') ;;
    '- '*) old=${line#- } ;;
    '+ '*) case $wanted in "  " | *" $file "*) try "$file" "$rule" "$old" "${line#+ }" "$target" "$kernel" ;; esac ;;
    '? '*) target=${line#? } ;;
    '! '*) kernel=${line#! } ;;
    *) file=${line%%: *} rule=${line#*: } target=sm_90a kernel='' ;;
    esac
done < $rules
echo "rules: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]

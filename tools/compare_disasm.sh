#!/bin/sh
# Does `tilevm disasm` print what NVIDIA's tileirdisasm prints? compare_disasm.sh TILEVM [CORPUS [SEEDS]]
#   CORPUS   the unpacked corpus: every file of every version (default build/corpus); - for none
#   SEEDS    how many modules of `tilevm gen` to make for each version (default 40)
# Both with and without -g, byte by byte. What may differ is listed in docs/text.md: files called invalid_* pass when the
# reference refuses to print them, and ops that the reference prints ambiguously may stand in MLIR's generic form.
# Needs TILEIR_TOOLS, the folder that holds the reference's bin/; skipped with a word where that is not set.
# Shows the first differences and ends with `disassembly: N passed, N failed`.
set -u
tilevm=$1
corpus=${2:-build/corpus}
seeds=${3:-40}
if [ -z "${TILEIR_TOOLS:-}" ]; then
    echo "disassembly: skipped, TILEIR_TOOLS is not set to the folder of NVIDIA's tools"
    exit 0
fi
reference=$TILEIR_TOOLS/bin/tileirdisasm
[ -x "$reference" ] || { echo "$reference: cannot be run" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
generic=0  # passed, but for lines in generic form
refused=0  # passed, because the reference refuses an invalid file

# Are all the lines that differ the generic form of an op that may stand in it?
only_generic() {
    ops='\(get_tensor_shape\|get_index_space_shape\|load_ptr_tko\)'
    diff "$work/theirs" "$work/ours" | grep '^[<>]' \
        | grep -v -q -e "^> .*\"cuda_tile\.$ops\"(" -e "^< .* $ops " && return 1
    return 0
}

# compare NAME [-g] FILE
compare() {
    name=$1
    shift
    "$tilevm" disasm "$@" > "$work/ours" 2> "$work/our-errors"
    ours=$?
    "$reference" "$@" > "$work/theirs" 2> "$work/errors"
    theirs=$?
    case $name in
        */invalid_*)
            if [ $theirs -ne 0 ]; then
                passed=$((passed + 1))
                refused=$((refused + 1))
                return
            fi ;;
    esac
    if [ $ours -eq 0 ] && [ $theirs -eq 0 ]; then
        if cmp -s "$work/ours" "$work/theirs"; then
            passed=$((passed + 1))
            return
        elif only_generic; then
            passed=$((passed + 1))
            generic=$((generic + 1))
            return
        fi
    fi
    failed=$((failed + 1))
    [ $failed -gt 20 ] && return
    echo "FAILED $name $*: status $ours, the reference's $theirs"
    head -n 1 "$work/our-errors" "$work/errors"
    diff "$work/theirs" "$work/ours" | head -n 6 | cut -c 1-300 | sed 's/^/    /'
}

for minor in 1 2 3 4 5; do
    if [ "$corpus" != - ]; then
        for file in "$corpus/bytecode/13.$minor"/*.tbc; do
            compare "13.$minor/${file##*/}" "$file"
            compare "13.$minor/${file##*/}" -g "$file"
        done
    fi
    seed=1
    while [ "$seed" -le "$seeds" ]; do
        made="gen --to 13.$minor --seed $seed --entries 2 --ops 60"
        "$tilevm" $made -o "$work/module.tbc" || exit 2
        compare "$made" "$work/module.tbc"
        compare "$made" -g "$work/module.tbc"
        seed=$((seed + 1))
    done
    echo "up to 13.$minor: $passed passed, $failed failed"
done
echo "$refused refused by the reference, $generic with ops in generic form"
echo "disassembly: $passed passed, $failed failed"
[ $failed -eq 0 ]

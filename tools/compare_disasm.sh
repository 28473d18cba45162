#!/bin/sh
# Does `tilevm disasm` print what NVIDIA's tileirdisasm prints? compare_disasm.sh TILEVM [CORPUS [SEEDS]]
#   CORPUS   the unpacked corpus: every file of every version (default build/corpus); - for none
#   SEEDS    how many modules of `tilevm gen` to make for each version (default 40)
# Both with and without -g, byte by byte. What may differ is listed in docs/reference/text.md: files called invalid_* pass when
# the reference refuses to print them, ops that the reference prints ambiguously may stand in MLIR's generic form, and with
# -g a terminator with a location of its own may be written out.
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
known=0    # passed, but for a difference that docs/reference/text.md lists
refused=0  # passed, because the reference refuses an invalid file

# Both texts with aliases numbered by what they stand for, and without the terminators that the reference leaves out whatever
# their location is: those decide which locations are met first, and so the numbers of all.
renumbered() {
    awk -v work="$work" '
        function rename(line, file,    out, name) {
            out = ""
            while (match(line, /#[a-z_]+[0-9]*/)) {
                name = substr(line, RSTART, RLENGTH)
                out = out substr(line, 1, RSTART - 1) ((file, name) in number ? "#" number[file, name] : name)
                line = substr(line, RSTART + RLENGTH)
            }
            return out line
        }
        FNR == 1 { file++ }
        /^#[a-z_]+[0-9]* = / { # refers to earlier ones only
            body = rename(substr($0, length($1) + 4), file)
            if (!(body in id))
                id[body] = ++bodies
            number[file, $1] = id[body]
            next
        }
        /^ *(continue|yield) loc\(#loc[0-9]*\)$/ { next }
        { lines[file, ++count[file]] = $0 }
        END {
            for (f = 1; f <= 2; f++)
                for (i = 1; i <= count[f]; i++)
                    print rename(lines[f, i], f) > (work (f == 1 ? "/theirs" : "/ours") "-renumbered")
        }' "$work/theirs" "$work/ours"
}

# Do the texts differ only in terminators with a location of their own, and in ops in generic form that may stand in it?
same_but_known() {
    ops='\(get_tensor_shape\|get_index_space_shape\|load_ptr_tko\)'
    renumbered
    diff "$work/theirs-renumbered" "$work/ours-renumbered" | grep '^[<>]' \
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
        elif same_but_known; then
            passed=$((passed + 1))
            known=$((known + 1))
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
echo "$refused refused by the reference, $known with a difference that docs/reference/text.md lists"
echo "disassembly: $passed passed, $failed failed"
[ $failed -eq 0 ]

#!/bin/sh
# What passes of the code generator do to small kernels, put into a document: show_passes.sh FILE prints the file with
# the block of code or the table below each of these lines made anew, from what fixtures in tests/ptx expect (which
# check-fixtures compares with the compiler).
#
#   <!-- shown: FIXTURE TARGET BEFORE AFTER -->     what changes between the dumps after two passes; BEFORE `import`: all of the
#                                                   ops, and what AFTER has found out about them as added
#                                                   BEFORE `import:OTHER`: what is otherwise than for another target
#   <!-- shown: FIXTURE TARGET lower OP... -->      the PTX of these ops: the first of that name
#   <!-- shown: FIXTURE TARGET remarks -->          the remarks, whatever the target
#   <!-- shown: remarks table -->                   every row of codegen/kernel/remarks.def
#
# Left out: types of ops; of BEFORE, what was said of values; of long lists of registers all but the ends.
set -u
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# dump FIXTURE TARGET PASS: what is printed after the pass.
dump() {
    awk -v head="// after $3: " -v target=" for $2," '
        index($0, head) == 1 && index($0, target) { on = 1; next }
        on && NF == 0 { exit }
        on' "tests/ptx/$1" |
        sed -E -e 's/ : tile<i32> iter_values/ iter_values/' -e 's/ : (tile|tensor_view|partition_view|token)[^{]*$//' \
            -e 's/\{(%[a-z0-9]+), [^}]*, (%[a-z0-9]+)\}/{\1, ..., \2}/g' -e 's/	/    /g' -e 's/ *$//' > "$work/$3"
    [ -s "$work/$3" ] || printf '%s: no dump after %s for %s\n' "$1" "$3" "$2" >> "$work/missing"
}

# ops FILE: without what is said of values.
ops() { sed -E '/^ +%[A-Za-z0-9_]+: /d' "$1"; }

# changes LINES BEFORE AFTER: whatever the indentation, which is that of AFTER; `...` for what stays between.
changes() {
    diff -b -U "$1" "$2" "$3" | awk -v after="$3" '
        BEGIN { while ((getline line < after) > 0) lines[++count] = line }
        NR <= 2 { next }
        /^@@/ { split($3, at, /[+,]/); next_line = at[2]; if (NR > 3) print " ..."; next }
        /^-/ { print; next }
        { print substr($0, 1, 1) lines[next_line++] }'
}

# ptx OP: the lines of the first op of that name in the PTX.
ptx() {
    awk -v name="$1" '/^ *\/\/ op / { on = $4 == name && !found; found = found || on } on' "$work/lower"
}

# remarks: the rows of remarks.def as a table.
remarks() {
    printf '| remark | category | what it reports |\n| --- | --- | --- |\n'
    awk '/^REMARK\(/ { row = "" } { row = row $0 } /"\)$/ && row ~ /^REMARK\(/ {
        sub(/^REMARK\(/, "", row); n = index(row, "\""); split(substr(row, 1, n - 1), name, /, */)
        text = substr(row, n); gsub(/" *"/, "", text); gsub(/^"|"\)$/, "", text)
        print "| `" name[1] "` | " name[2] " | " text " |"; row = "" }' codegen/kernel/remarks.def
}

block() { # FIXTURE TARGET BEFORE AFTER | FIXTURE TARGET lower OP... | FIXTURE TARGET remarks | remarks table
    [ "$1 $2" = "remarks table" ] && { remarks; return; }
    fixture=$1 target=$2 before=$3
    shift 3
    if [ "$before" = remarks ]; then
        printf '```text\n'
        grep ': remark: ' "tests/ptx/$fixture"
        printf '```\n'
        return
    fi
    case $before in
    import) dump "$fixture" "$target" "$1" ;;
    import:*) dump "$fixture" "${before#import:}" "$1" ;;
    *) dump "$fixture" "$target" "$before" ;;
    esac
    if [ "$before" = lower ]; then
        printf '```text\n'
        for op in "$@"; do ptx "$op"; done
    else
        printf '```diff\n'
        case $before in
        import*) ops "$work/$1" > "$work/before" ;;
        *) ops "$work/$before" > "$work/before" ;;
        esac
        dump "$fixture" "$target" "$1"
        changes "$([ "$before" = import ] && echo 1000 || echo 1)" "$work/before" "$work/$1"
    fi
    printf '```\n'
}

old=no # the block that is there: it begins on the next line; is being left out
while IFS= read -r line; do
    case $old in
    next) last=$line; [ -z "$line" ] || old=yes; continue ;;
    yes)
        case $line in
        '```') old=no; continue ;;
        '') case $last in '|'*) old=no ;; *) continue ;; esac ;;
        *) last=$line; continue ;;
        esac
        ;;
    esac
    printf '%s\n' "$line"
    case $line in
    '<!-- shown: '*' -->')
        arguments=${line#<!-- shown: }
        printf '\n'
        # shellcheck disable=SC2086 # words
        block ${arguments% -->}
        old=next
        ;;
    esac
done < "$1"

[ ! -e "$work/missing" ] || { cat "$work/missing" >&2; exit 1; }

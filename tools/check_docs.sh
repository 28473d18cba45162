#!/bin/sh
# Checks that the documents are in step with the commands and tables: check_docs.sh TILEVM TILEIRAS; ends with
# `docs: N passed, N failed`. Documents below docs/ are found by their names.
#   rules.md             is what `tilevm explain --all` writes
#   SECURITY.md          names the address of mk/owner.mk (SECURITY_CONTACT of the environment)
#   docs/man/tilevm.1    has a section for every command and names every option of it there
#   passes/*.md          are what tools/pass_pages.sh writes from the passes and their fixtures
#   codegen.md           has a row for every pass, and at most 6,000 words
#   codegen-files.md     has a row for every file of codegen/
#   remarks.md           is what tools/show_passes.sh makes of it, with every remark
#   run.md               names every option of run, generator and element type
#   loader.md            names every L rule
#   json.md              describes the document of every command with --json, and every member of it that the tests see
#   remedies.def         has texts that the code generator reports
#   README.md            names every command in its table
#   docs/man/tileiras.1  names every option of that command
#   completions          name every option, and the shells that are here accept them
set -u
tilevm=$1
tileiras=$2
man=docs/man/tilevm.1
passed=0
failed=0

# document NAME: where the document of that name is.
document() {
    set -- $(find docs -name "$1" -type f)
    [ $# -eq 1 ] && echo "$1"
}
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); printf '%s\n' "$1"; }
check() { if [ "$1" -eq 0 ]; then ok; else bad "$2"; fi; }

# The part of the manual about one command: from its heading to the next.
section() {
    awk -v name="$1" '/^\.S[HS] / { inside = ($0 == ".SS " name) } inside' "$man"
}

# Texts of the code generator, whole, wherever its lines break.
cat codegen/*/*.c | tr -d '\n' | sed 's/" *"//g' > "${TMPDIR:-/tmp}/tilevm-texts.$$"
sed -n 's/^REMEDY("\([^"]*\)".*/\1/p' codegen/remedies.def > "${TMPDIR:-/tmp}/tilevm-remedies.$$"
while read -r why; do
    grep -qF "\"$why" "${TMPDIR:-/tmp}/tilevm-texts.$$"
    check $? "codegen/remedies.def: nothing is reported as '$why'"
done < "${TMPDIR:-/tmp}/tilevm-remedies.$$"
rm -f "${TMPDIR:-/tmp}/tilevm-texts.$$" "${TMPDIR:-/tmp}/tilevm-remedies.$$"

"$tilevm" explain --all --format markdown | cmp -s - "$(document rules.md)"
check $? "rules.md is not up to date: run make docs"
sh tools/security_contact.sh SECURITY.md "${SECURITY_CONTACT:-}" | cmp -s - SECURITY.md
check $? "SECURITY.md does not say what mk/owner.mk does: run make docs"

guide=$(document run.md)
for option in $("$tilevm" help run | sed -n 's/^  \(-[A-Za-z], \|    \)--\([a-z][a-z-]*\).*$/\2/p'); do
    case $option in color | help) continue ;; esac
    grep -q -e "--$option\([^a-z-]\|$\)" "$guide"
    check $? "$guide: no --$option"
done
for generator in $(sed -n 's/^MAKER([A-Z0-9]*, "\([a-z]*\)".*/\1/p' tools/tilevm/args/keys.def); do
    grep -q "^|.*\`$generator(" "$guide"
    check $? "$guide: no generator $generator"
done
for dtype in $(sed -n 's/^DTYPE([A-Z0-9]*, "\([a-z0-9]*\)".*/\1/p' bytecode/dtypes.def); do
    grep -q "^| .*\`$dtype\`" "$guide"
    check $? "$guide: no element type $dtype"
done

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
sh tools/pass_pages.sh "$work/passes" && diff -r "$work/passes" docs/internals/passes > "$work/diff"
check $? "docs/internals/passes is not up to date: run make docs"
guide=$(document remarks.md)
sh tools/show_passes.sh "$guide" | cmp -s - "$guide"
check $? "$guide is not up to date: run make docs"
guide=$(document codegen.md)
[ "$(wc -w < "$guide")" -le 6000 ]
check $? "$guide: more than 6,000 words"
for pass in $(sed -n 's/^PASS(\([a-z]*\),.*/\1/p' $(find codegen -name passes.def)); do
    grep -q "^| \[\`$pass\`\](passes/$pass.md) |" "$guide"
    check $? "$guide: no row for the pass $pass"
    grep -q "^$pass  *[a-z-]*\.test " tools/pass_examples.txt || [ "$pass" = cost ]
    check $? "tools/pass_examples.txt: no example of the pass $pass"
    grep -q "^\.RB (.*[( ]$pass[ )]" "$man"
    check $? "$man: no pass $pass"
done
guide=$(document codegen-files.md)
for file in $(find codegen -name '*.[ch]' -o -name '*.def' -o -name '*.py' -o -name '*.inc'); do
    grep -q "^| .*\`${file%.*}\.\([a-z]*\|\[ch\]\)\`" "$guide"
    check $? "$guide: no row for $file"
done
for path in $(sed -n 's/^| \(`codegen[^|]*\) |.*/\1/p' "$guide" | tr -d '`,'); do # patterns, which the shell expands
    [ -e "$path" ]
    check $? "$guide: there is no $path"
done

guide=$(document loader.md)
for rule in $(sed -n 's/^RULE([A-Z0-9_]*, "\(L-[A-Z0-9-]*\)".*/\1/p' bytecode/base/loader_rules.def); do
    grep -q "^| $rule |" "$guide"
    check $? "$guide: no rule $rule"
done

guide=$(document json.md)
for command in $("$tilevm" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }'); do
    "$tilevm" help "$command" | grep -q -e '--json' || continue
    grep -q "^## .*\`tilevm $command --json\`" "$guide" && grep -q "\`tilevm-$command/[0-9]*\`" "$guide"
    check $? "$guide: nothing of $command --json"
    # Members of the root: one tab, as cJSON prints it.
    members=$(cat $(find tests -name '*.test') | awk -v form="tilevm-$command/" '
        /^\{$/ { inside = 0 }
        index($0, "\"schema\":\t\"" form) { inside = 1 }
        /^\}$/ { inside = 0 }
        inside && match($0, /^\t"[a-z_0-9]*":/) { print substr($0, 3, RLENGTH - 4) }' | sort -u)
    text=$(awk -v name="tilevm $command --json" '/^## / { inside = index($0, name) > 0 } inside' "$guide")
    for member in $members; do
        printf '%s\n' "$text" | grep -q "^|.*\`$member\`.*|"
        check $? "$guide: $command: no $member"
    done
done

completions=$(for shell in bash zsh fish; do "$tilevm" completions $shell; done)
for shell in bash zsh fish; do
    command -v $shell > /dev/null || continue
    "$tilevm" completions $shell | $shell -n
    check $? "completions $shell: syntax"
done

for command in $("$tilevm" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }'); do
    grep -q "^| \`tilevm $command" README.md
    check $? "README.md: no line for $command"
    [ "$command" = help ] && continue
    text=$(section "$command" | sed 's/\\-/-/g')
    [ -n "$text" ]
    check $? "$man: no section for $command"
    # Options are the words with two dashes that start a line of the help; letters come before them.
    help=$("$tilevm" help "$command" | sed -n 's/^  \(-[A-Za-z], \|    \)--\([a-z][a-z-]*\).*$/\1--\2/p' | tr -d ', ')
    for form in $help; do
        option=${form#*--}
        letter=${form%%--*}
        case $option in color | help) continue ;; esac # every command has them; the manual says so once
        printf '%s\n' "$text" | grep -q -e "--$option\([^a-z-]\|$\)"
        check $? "$man: $command: no --$option"
        [ -z "$letter" ] || printf '%s\n' "$text" | grep -q -e "^\.BR $letter \", \" --$option\([^a-z-]\|$\)"
        check $? "$man: $command: --$option without $letter"
        [ "$(printf '%s\n' "$completions" | grep -c -e "-$option\([^a-z-]\|$\)" -e "-l $option\([^a-z-]\|$\)")" -ge 3 ]
        check $? "completions: $command: no --$option"
    done
    for option in $(printf '%s\n' "$text" | sed -n 's/^\.BR\{0,1\} \(-[A-Za-z] ", " \)\{0,1\}--\([a-z][a-z-]*\).*$/\2/p' | sort -u); do
        printf '%s\n' "$help" | grep -q -e "--$option\$"
        check $? "$man: $command: there is no --$option"
    done
done

for option in $("$tileiras" --help | sed -n 's/^  --*\([A-Za-z][a-z-]*\).*$/\1/p'); do
    sed 's/\\-/-/g' docs/man/tileiras.1 | grep -q -e "-$option\([^a-z-]\|$\)"
    check $? "docs/man/tileiras.1: no $option"
done

if command -v groff > /dev/null; then
    for page in docs/man/*.1; do
        warnings=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
        [ -z "$warnings" ]
        check $? "$page: $warnings"
    done
fi

printf 'docs: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

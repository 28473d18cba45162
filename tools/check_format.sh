#!/bin/sh
# Checks the layout of sources: no line of C or of a makefile is longer than 120 columns, and C is laid out as clang-format 14
# does it with .clang-format.
# tools/check_format.sh [--fix]: with --fix it rewrites the files. Tables (*.def) have a row a line, however long.
set -u
cd "$(dirname "$0")/.." || exit 2
files=$(find bytecode codegen container include loader tests tools vm -name '*.[ch]')
formatter=
for f in "${CLANG_FORMAT:-clang-format-14}" clang-format; do
    case $("$f" --version 2>/dev/null) in *"version 14."*) formatter=$f; break ;; esac
done
if [ "${1:-}" = --fix ]; then
    [ -n "$formatter" ] || { echo "clang-format 14 is needed: apt-get install clang-format-14" >&2; exit 2; }
    echo "$files" | xargs "$formatter" -i
    exit
fi

failed=0
long=$({ echo Makefile; find bytecode codegen container include loader mk tests tools vm -name '*.[ch]' -o -name '*.inc' -o -name '*.mk'; } \
    | xargs awk 'length > 120 { print FILENAME ":" FNR ": longer than 120 columns" }')
[ -z "$long" ] || { echo "$long"; failed=$((failed + 1)); }
if [ -n "$formatter" ]; then
    bad=$(echo "$files" | xargs "$formatter" --dry-run -Werror 2>&1 | sed -n 's/: error: code should be clang-formatted.*/: not as `make format` has it/p')
    [ -z "$bad" ] || { echo "$bad"; failed=$((failed + 1)); }
    checks=2
else
    echo "format: skipped, clang-format 14 is not installed: only the length of lines is checked"
    checks=1
fi
echo "format: $((checks - failed)) passed, $failed failed"
[ $failed -eq 0 ]

#!/bin/sh
# Checks the documents as texts: what they name and link to, their words, spelling and form, and that their examples print what they
# show; each part ends with `NAME: N passed, N failed`, or `NAME: skipped, why`.
#
#   check.sh BUILD      BUILD has the commands
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1
status=0
# The files of the checkout, or in an archive all but what was built.
files() {
    git ls-files "$@" 2> /dev/null | grep . || find . \( -name build -o -name dist \) -prune -o -type f -print | sed 's|^\./||' | LC_ALL=C sort
}
has_python() { command -v python3 > /dev/null && python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; }
documents=$(files | grep '\.md$')

# counted NAME LINES: each line of them is a failure.
counted() {
    [ -z "$2" ] || { printf '%s\n' "$2"; status=1; }
    printf '%s: 1 passed, %d failed\n' "$1" "$(printf %s "$2" | grep -c .)"
}
if has_python; then
    python3 tools/docs/check.py "$build/tilevm" "$build/tileiras" $documents docs/man/*.1 || status=1
    python3 tools/pictures/folders.py tools/folders.txt | cmp -s - docs/pictures/folders.svg
    counted pictures "$([ $? -eq 0 ] || echo "docs/pictures/folders.svg is not up to date: run make docs")"
    python3 tools/docs/run.py "$build" "$build/documents" $documents || status=1
else
    echo "documents: skipped, there is no python3 from 3.10 on"
fi

if command -v codespell > /dev/null; then
    # Texts that people wrote: not data, and not what others wrote.
    counted spelling "$(files | grep -vE '^tests/(data|corpus|cpp|gpu|fuzz/crashes|malformed|compat)/|\.(xz|tvb|npy|npz|tbc|csv)$' \
        | xargs codespell -I tools/docs/spelling.txt 2>&1)"
else
    echo "spelling: skipped, codespell is not installed"
fi
if command -v mdl > /dev/null; then
    # rules.md is made by `tilevm explain`; its form is pinned by fixtures.
    counted markdown "$(printf '%s\n' $documents | grep -v '/rules\.md$' | xargs mdl -s tools/docs/mdl.rb 2>&1 | grep -E '^[^ ]+:[0-9]+: ')"
else
    echo "markdown: skipped, mdl is not installed (ruby-mdl)"
fi
exit $status

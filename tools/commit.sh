#!/bin/sh
# Prints the commit that the sources are of, in twelve digits, or "unknown": that of COMMIT in the environment, of an archive made by
# `git archive` (.git_archival.txt), or of the checkout; "-modified" is added where files differ from it.
set -u
cd "$(dirname "$0")/.." || exit 2
if [ -n "${COMMIT:-}" ]; then
    echo "$COMMIT"
    exit
fi
archived=$(sed -n 's/^commit: \([0-9a-f]\{12\}\)[0-9a-f]*\(-modified\)\{0,1\}$/\1\2/p' .git_archival.txt 2> /dev/null)
if [ -n "$archived" ]; then
    echo "$archived"
elif [ -e .git ]; then
    git describe --always --exclude '*' --abbrev=12 --dirty=-modified 2> /dev/null || echo unknown
else
    echo unknown
fi

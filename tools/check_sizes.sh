#!/bin/sh
# Files and functions that are too large; ends with `sizes: N passed, N failed`.
#
#   check_sizes.sh EXEMPT FOLDER...     EXEMPT: what is still larger, and how large at most (tools/sizes.txt)
set -eu
exempt=$1
shift
here=$(dirname "$0")

{
    sed -e 's/#.*//' -e '/^ *$/d' -e 's/^/exempt /' "$exempt"
    find "$@" -name '*.[ch]' -o -name '*.inc' | LC_ALL=C sort | xargs awk -f "$here/code.awk" -f "$here/sizes.awk"
} | awk '
    BEGIN { most_in_file = 600; most_lines = 60; most_branches = 25 }
    # The line of the exemptions for it, if there is one and it is no larger than that says.
    function is_exempt(key, size) {
        known[key] = 1
        return key in limit && size <= limit[key]
    }
    function fail(text) {
        print text
        failed++
    }
    $1 == "exempt" { limit[$2 " " $3] = $NF; next }
    $1 == "file" {
        size = $3
        text = $2 ": " size " lines"
        large = size > most_in_file
        key = "file " $2
    }
    $1 == "function" {
        size = $4 > most_lines ? $4 : $5
        text = $2 ": " $3 ": " $4 " lines, " $5 " branches"
        large = $4 > most_lines || $5 > most_branches
        key = $3 " " $2
    }
    large && !is_exempt(key, size) { fail(text) }
    !large { passed++ }
    END {
        for (key in limit)
            if (!(key in known))
                fail(key ": not too large any more: take its line out of the exemptions")
        print "sizes: " passed " passed, " failed + 0 " failed"
        exit failed > 0
    }'

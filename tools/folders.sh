#!/bin/sh
# Do the files include only what the order of the folders lets them, and do no folders include each other in a circle?
#
#   folders.sh [--uses DEPS] TABLE FOLDER...
#
# The table: tools/folders.txt. DEPS: what tools/deps.sh printed of folders in it, in which uses, calls above all, are held to the same
# order; those of the public API to the wider one behind the bar of a row. Ends with `folders: N passed, N failed`.
set -eu
uses=/dev/null
[ "$1" != --uses ] || { uses=$2; shift 2; }
table=$1
shift

{
    sed -e 's/#.*//' -e '/^ *$/d' -e 's/:/ :/' "$table" | sed 's/^/row /'
    find "$@" -name '*.[ch]' -o -name '*.def' -o -name '*.inc' | LC_ALL=C sort | while read -r file; do
        echo "file $file"
        sed -n 's/^ *# *include *"\([^"]*\)".*/include \1/p' "$file"
    done
    sed -n -e h -e 's/^\([^ ]*\.c\): \([^|]*\) |.*/uses \1 \2/p' -e g -e 's/^\([^ ]*\.c\):.* | api: \(.*\)/calls \1 \2/p' "$uses"
} | awk '
    function folder_of(path) {
        sub(/\/[^\/]*$/, "", path)
        return path ~ /^tilevm(\/|$)/ ? "include/" path : path
    }
    # The row of a folder: its own, or FOLDER/* of what it lies in.
    function row_of(folder,    parent) {
        parent = folder
        sub(/\/[^\/]*$/, "/*", parent)
        return folder in rows ? folder : parent in rows ? parent : ""
    }
    function fail(text) {
        print text
        failed++
    }
    # Is there a way of includes from one folder to the other? That is, back.
    function leads(from, to,    next_one) {
        if (from == to)
            return 1
        if (from in seen)
            return 0
        seen[from] = 1
        for (next_one in rows_seen)
            if ((from, next_one) in edge && leads(next_one, to))
                return 1
        return 0
    }
    $1 == "row" {
        rows[$2] = 1
        may[$2, $2] = may_call[$2, $2] = 1
        bar = 0
        for (i = 4; i <= NF; i++) {
            if ($i == "|") {
                bar = 1
                continue
            }
            if (!($i in rows))
                fail($2 ": " $i " has no line above it")
            for (r in rows) {
                if (!bar && ($i, r) in may)
                    may[$2, r] = 1
                if (($i, r) in may_call)
                    may_call[$2, r] = 1
            }
        }
    }
    $1 == "file" {
        file = $2
        home = folder_of(file)
        count++
        if (row_of(home) == "") {
            fail(file ": its folder is not in the table")
            wrong[file] = 1
        }
    }
    function is_allowed(how, from, to) {
        return how == "call" ? (from, to) in may_call : (from, to) in may
    }
    # The file of a folder includes or uses what lies in another one.
    function need(home, how, path,    to) {
        to = folder_of(path)
        if (to == home)
            return
        if (!is_allowed(how, row_of(home), row_of(to))) {
            fail(file ": may not " how " \"" path "\"")
            wrong[file] = 1
        }
        edge[home, to] = 1
        rows_seen[home] = rows_seen[to] = 1
    }
    $1 == "include" { need(home, "include", $2) }
    $1 == "uses" || $1 == "calls" {
        file = $2
        home = folder_of(file)
        for (i = 3; i <= NF; i++)
            need(home, substr($1, 1, length($1) - 1), $i)
    }
    END {
        for (pair in edge) {
            split(pair, ends, SUBSEP)
            split("", seen)
            if (ends[1] < ends[2] && leads(ends[2], ends[1]))
                fail(ends[1] " and " ends[2] " include each other, maybe through others")
        }
        for (f in wrong)
            bad++
        print "folders: " count - bad " passed, " failed + 0 " failed"
        exit failed > 0
    }'

#!/bin/sh
# Which file of a folder needs which, from what is compiled, and which need each other in a circle.
#
#   deps.sh [--strict] FOLDER OBJECTS        for example: deps.sh codegen build/release/obj
#
# A file includes another (.h, .def, .inc), or a C file uses a symbol that another one's object defines: a call, or an entry of a
# table. Prints a line for each file, `FILE: what it uses | what it includes`, then a line for each circle, `cycle of N: ...`: the
# strongly connected components with more than one file. Ends with counts. --strict: a circle is a failure.
set -eu
strict=0
[ "${1-}" != --strict ] || { strict=1; shift; }
folder=$1
objects=$2
[ -d "$folder" ] && [ -d "$objects/$folder" ] || { echo "usage: deps.sh [--strict] FOLDER OBJECTS" >&2; exit 2; }

includes() {
    find "$folder" -name '*.[ch]' -o -name '*.def' -o -name '*.inc' | LC_ALL=C sort | while read -r file; do
        echo "file $file"
        sed -n "s|^ *# *include *\"\($folder/[^\"]*\)\".*|include $file \1|p" "$file"
    done
}

symbols() {
    find "$objects/$folder" -name '*.o' | LC_ALL=C sort | while read -r object; do
        file=${object#"$objects"/}
        [ -f "${file%.o}.c" ] || continue # of a file that is gone
        nm -P "$object" | awk -v file="${file%.o}.c" '$2 == "U" { print "uses", file, $1 } $2 ~ /^[TDBRVW]$/ { print "gives", file, $1 }'
    done
}

{ includes; symbols; } | LC_ALL=C sort | awk -v strict=$strict '
    function edge(kind, from, to) {
        if (from == to || (from, to) in seen || !(from in number) || !(to in number))
            return
        seen[from, to] = 1
        target[from, ++degree[from]] = to
        text[kind, from] = text[kind, from] " " to
        edges[kind]++
    }
    function smaller(a, b) { return a < b ? a : b }
    # Tarjan: `low` is the first file on the stack that can be reached.
    function visit(file,    i, to) {
        order[file] = low[file] = ++visited
        stack[++top] = file
        waits[file] = 1
        for (i = 1; i <= degree[file]; i++) {
            to = target[file, i]
            if (!(to in order)) {
                visit(to)
                low[file] = smaller(low[file], low[to])
            } else if (waits[to]) {
                low[file] = smaller(low[file], order[to])
            }
        }
        if (low[file] != order[file])
            return
        do {
            to = stack[top--]
            waits[to] = 0
            circle[to] = file
            size[file]++
        } while (to != file)
    }
    $1 == "file"    { files[++count] = $2; number[$2] = count }
    $1 == "gives"   { home[$3] = $2 } # in this order, being sorted
    $1 == "include" { edge("include", $2, $3) }
    $1 == "uses" && $3 in home { edge("use", $2, home[$3]) }
    END {
        for (i = 1; i <= count; i++)
            print files[i] ":" text["use", files[i]] " |" text["include", files[i]]
        for (i = 1; i <= count; i++)
            if (!(files[i] in order))
                visit(files[i])
        for (i = 1; i <= count; i++)
            members[circle[files[i]]] = members[circle[files[i]]] " " files[i]
        for (i = 1; i <= count; i++)
            if (size[files[i]] > 1) {
                print "cycle of " size[files[i]] ":" members[files[i]]
                cycles++
            }
        printf "deps: %d files, %d uses, %d includes, %d cycles\n", count, edges["use"], edges["include"], cycles
        exit strict && cycles > 0
    }'

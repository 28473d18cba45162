#!/bin/sh
# Lists which file of some folders needs which, from what is compiled, and which need each other in a circle.
#
#   deps.sh [--strict ALLOWED] OBJECTS FOLDER...        for example: deps.sh build/release/obj codegen
#
# A file includes another (.h, .def, .inc), or a C file uses a symbol that another one's object defines: a call, or an entry of a
# table. Prints a line for each file, `FILE: what it uses | what it includes`, followed by ` | api: FILES` where it uses nothing of
# those but functions of the public headers (tv...); then a line for each circle, `cycle of N: ...`: the strongly connected
# components with more than one file. Ends with counts.
#
# --strict: a circle that ALLOWED (tools/circles.txt) does not list is a failure, and so is a line of ALLOWED without use.
set -eu
usage() { echo "usage: deps.sh [--strict ALLOWED] OBJECTS FOLDER..." >&2; exit 2; }
allowed=/dev/null
strict=0
if [ "${1-}" = --strict ]; then
    [ $# -ge 2 ] && [ -r "$2" ] || usage
    strict=1
    allowed=$2
    shift 2
fi
[ $# -ge 2 ] && [ -d "$1" ] || usage
objects=$1
shift
for folder; do
    [ -d "$folder" ] || usage
done

# Of all files at once: a process for each file would take most of the time.
includes() {
    files=$(find "$@" -name '*.[ch]' -o -name '*.def' -o -name '*.inc')
    printf 'file %s\n' $files
    awk '/^ *# *include *"/ { split($0, part, "\""); print "include", FILENAME, part[2] }' $files
}

symbols() {
    (cd "$objects" && find "$@" -name '*.o' 2> /dev/null) | while read -r object; do
        [ ! -f "${object%.o}.c" ] || echo "$object" # else it is the object of a file that is gone
    done | (cd "$objects" && xargs -r nm -A -P) | awk '
        { sub(/\.o:$/, ".c", $1) }
        $3 == "U" { print "uses", $1, $2 }
        $3 ~ /^[TDBRVW]$/ { print "gives", $1, $2 }'
}

{
    sed -n -e 's/^\(circle\|stand-in\) \([^:]*\):.*/allow-\1 \2/p' "$allowed"
    includes "$@"
    symbols "$@"
} | LC_ALL=C sort | awk -v strict=$strict '
    function edge(kind, from, to) {
        if (from == to || (from, to) in seen || !(from in number) || !(to in number))
            return
        seen[from, to] = 1
        target[from, ++degree[from]] = to
        text[kind, from] = text[kind, from] " " to
        edges[kind]++
    }
    # A use of a function: of the public API, until another one of the same file is used.
    function use(from, to, name) {
        edge("use", from, to)
        uses[from, to]
        if (name !~ /^tv[A-Z_]/)
            internal[from, to]
    }
    function uses_text(from, is_api,    i, to, out) {
        for (i = 1; i <= degree[from]; i++) {
            to = target[from, i]
            if ((from, to) in uses && ((from, to) in internal) != is_api)
                out = out " " to
        }
        return out
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
    function fail(text) {
        print text
        failed++
    }
    $1 == "allow-circle"   { sub(/^[^ ]* /, ""); allowed[" " $0]; next }
    $1 == "allow-stand-in" { stands_in[$2]; next }
    $1 == "gives" && $3 in stands_in { stood[$3]; next }
    $1 == "file"    { files[++count] = $2; number[$2] = count }
    $1 == "gives"   { home[$3] = $2 } # in this order, being sorted
    $1 == "include" { edge("include", $2, $3) }
    $1 == "uses" && $3 in home && home[$3] != $2 { use($2, home[$3], $3) }
    END {
        for (i = 1; i <= count; i++) {
            api = uses_text(files[i], 1)
            print files[i] ":" uses_text(files[i], 0) " |" text["include", files[i]] (api == "" ? "" : " | api:" api)
        }
        for (i = 1; i <= count; i++)
            if (!(files[i] in order))
                visit(files[i])
        for (i = 1; i <= count; i++)
            members[circle[files[i]]] = members[circle[files[i]]] " " files[i]
        for (i = 1; i <= count; i++)
            if (size[files[i]] > 1) {
                cycles++
                if (members[files[i]] in allowed)
                    seen_circle[members[files[i]]]
                else
                    fail("cycle of " size[files[i]] ":" members[files[i]])
            }
        for (circle_text in allowed)
            if (!(circle_text in seen_circle))
                fail("listed, but there is no such circle:" circle_text)
        for (name in stands_in)
            if (!(name in stood))
                fail("listed, but no file stands in for " name)
        printf "deps: %d files, %d uses, %d includes, %d cycles\n", count, edges["use"], edges["include"], cycles
        exit strict && failed > 0
    }'

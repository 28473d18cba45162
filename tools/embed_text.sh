#!/bin/sh
# embed_text.sh HEADER NAME FILE... [-- NAME FILE...]: writes C source that includes HEADER and defines NAME as the text of
# the files, one after the other. FILE:head and FILE:tail are the lines of a file before and after its line @DATA@.
set -eu
quote() {
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'
}
text() {
    case $1 in
    *:head) sed '/^@DATA@$/,$d' "${1%:head}" ;;
    *:tail) sed '1,/^@DATA@$/d' "${1%:tail}" ;;
    *) cat "$1" ;;
    esac
}
echo "#include \"$1\""
shift
while [ $# -gt 0 ]; do
    echo "const char $1[] ="
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        text "$1" | quote
        shift
    done
    echo '    "";'
    [ $# -eq 0 ] || shift
done

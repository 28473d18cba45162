#!/bin/sh
# tools/docs/api.sh on headers with one thing wrong each.
#
#   api_docs.sh SCRATCH
set -u
command -v doxygen > /dev/null || { echo "api-docs-selftest: skipped, doxygen is not installed"; exit 0; }
api=$(cd "$(dirname "$0")/../../tools/docs" && pwd)/api.sh
rm -rf "$1" && mkdir -p "$1/include/tilevm" && cd "$1" || exit 2
echo '#define TV_VERSION "1.2.3"' > include/tilevm/tilevm.h
passed=0
failed=0
# expect STATUS TEXT DECLARATION: of a header with that; the page or the output says so.
expect() {
    printf '/* A header. */\n%s\n' "$3" > include/tilevm/one.h
    sh "$api" pages include/tilevm/one.h > out 2>&1
    status=$?
    if [ $status -eq "$1" ] && grep -qF -e "$2" out pages/html/one_8h.html; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'expected status %s and %s\n' "$1" "$2"
        sed 's/^/    /' out
    fi
}
fine='/* What a thing is. */
typedef struct tv_thing {
    int a; /* the first,
              on two lines */
    int b, c; /* others */
} tv_thing;

/* Makes a thing.

   a         the first
             of two
   Returns   true */
_Bool tv_thing_make(int a, tv_thing *out);'
expect 0 '<b>Returns</b> true' "$fine"
expect 1 'tv_more' "$fine
int tv_more(void);"
expect 1 'tv_thing' 'typedef struct tv_thing { int a; } tv_thing;'
expect 1 'no_such' '/* See @no_such. */
int tv_more(void);'
echo "api-docs-selftest: $passed passed, $failed failed"
[ $failed -eq 0 ]

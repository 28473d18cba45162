#!/bin/sh
# tools/folders.sh on four folders: what is right, an include upwards, a circle that the table allows, a table out of order, a call upwards.
#
#   folders.sh SCRATCH
set -eu
rm -rf "$1"
mkdir -p "$1"
root=$(cd "$1" && pwd)
folders=$(cd "$(dirname "$0")/../../tools" && pwd)/folders.sh
cd "$root"
mkdir -p low top part/a part/b
printf 'low:\npart/*: low\ntop: part/*\n' > table
echo 'int low(void);' > low/low.h
printf '#include "low/low.h"\n#include "low/rows.inc"\n' > part/a/a.c
echo '#include "part/b/b.h"' > part/a/a.h
echo 'int b(void);' > part/b/b.h
printf '#include "part/a/a.h"\n#include "low/low.h"\n' > top/top.c
: > uses
passed=0
failed=0
expect() { # expect STATUS TEXT: what it prints
    status=0
    sh "$folders" --uses uses table low part top > got || status=$?
    if [ $status -eq "$1" ] && [ "$(cat got)" = "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "wanted $1: $2"
        echo "got $status: $(cat got)"
    fi
}
expect 0 'folders: 5 passed, 0 failed'
echo '#include "top/top.h"' > low/rows.inc
expect 1 'low/rows.inc: may not include "top/top.h"
low and top include each other, maybe through others
folders: 5 passed, 2 failed'
: > low/rows.inc
echo '#include "part/a/a.h"' > part/b/b.c
expect 1 'part/a and part/b include each other, maybe through others
folders: 7 passed, 1 failed'
rm part/b/b.c
printf 'part/*: low\nlow:\ntop: low part/*\n' > table
expect 1 'part/*: low has no line above it
part/a/a.c: may not include "low/low.h"
part/a/a.c: may not include "low/rows.inc"
folders: 5 passed, 3 failed'
mkdir top/new
: > top/new/new.h
printf 'low:\npart/*: low\ntop: part/*\n' > table
expect 1 'top/new/new.h: its folder is not in the table
folders: 6 passed, 1 failed'
rm -r top/new
echo 'low/low.c: top/top.c | low/low.h
top/top.c: low/low.c part/a/a.c |' > uses
expect 1 'low/low.c: may not use "top/top.c"
low and top include each other, maybe through others
folders: 5 passed, 2 failed'
printf 'low/low.c: |\ntop/top.c: low/low.c | | api: part/a/a.c\npart/a/a.c: low/low.c | low/low.h | api: top/top.c\n' > uses
expect 1 'part/a/a.c: may not call "top/top.c"
part/a and top include each other, maybe through others
folders: 5 passed, 2 failed'
printf 'low:\npart/*: low\ntop: low | part/*\n' > table
printf 'top/top.c: | | api: part/a/a.c\n' > uses
echo '#include "low/low.h"' > top/top.c
expect 0 'folders: 6 passed, 0 failed'
echo 'top/top.c: part/a/a.c |' > uses
expect 1 'top/top.c: may not use "part/a/a.c"
folders: 5 passed, 1 failed'
echo "folders-selftest: $passed passed, $failed failed"
[ $failed -eq 0 ]

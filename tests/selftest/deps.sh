#!/bin/sh
# tools/deps.sh on a folder of five files: a call down, one of the public API, a circle of two, a header; the circle listed as allowed, and a list without
# use; a name that stands in for another; then without the circle.
#
#   deps.sh SCRATCH
set -eu
CC=${CC:-cc}
mkdir -p "$1/part" "$1/obj/part"
root=$(cd "$1" && pwd)
deps=$(cd "$(dirname "$0")/../../tools" && pwd)/deps.sh
cd "$root"
echo 'int low(int x); int high(int x); int tv_api(void);' > part/part.h
printf '#include "part/part.h"\nint low(int x)\n{\n    return x ? high(x - 1) : 0;\n}\n' > part/low.c
printf '#include "part/part.h"\nint tv_api(void)\n{\n    return 1;\n}\nint high(int x)\n{\n    return low(x);\n}\n' > part/high.c
printf '#include "part/part.h"\nint top(int x);\nint top(int x)\n{\n    return high(x) + tv_api();\n}\n' > part/top.c
printf '#include "part/part.h"\nint user(int x);\nint user(int x)\n{\n    return x + tv_api();\n}\n' > part/user.c
for name in low high top user; do $CC -I. -O0 -c part/$name.c -o obj/part/$name.o; done
sh "$deps" obj part > got
cat > wanted << 'END'
part/high.c: part/low.c | part/part.h
part/low.c: part/high.c | part/part.h
part/part.h: |
part/top.c: part/high.c | part/part.h
part/user.c: | part/part.h | api: part/high.c
cycle of 2: part/high.c part/low.c
deps: 5 files, 4 uses, 4 includes, 1 cycles
END
passed=0
failed=0
expect() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi; }
: > none
echo 'circle part/high.c part/low.c: they count down together' > circle
echo 'stand-in high: it is meant to be called by others' > stand-in
refuses() { ! sh "$deps" --strict "$1" obj part > /dev/null; }
takes() { sh "$deps" --strict "$1" obj part > /dev/null; }
expect diff wanted got
expect refuses none
expect takes circle
expect takes stand-in
rm part/high.c # its object counts no more
expect takes none
expect refuses circle
expect refuses stand-in
echo "deps: $passed passed, $failed failed"
[ $failed -eq 0 ]

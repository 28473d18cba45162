#!/bin/sh
# tools/deps.sh on a folder of four files: a call down, a circle of two, a header; then without the circle.
#
#   deps.sh SCRATCH
set -eu
CC=${CC:-cc}
mkdir -p "$1/part" "$1/obj/part"
root=$(cd "$1" && pwd)
deps=$(cd "$(dirname "$0")/../../tools" && pwd)/deps.sh
cd "$root"
echo 'int low(int x); int high(int x);' > part/part.h
printf '#include "part/part.h"\nint low(int x)\n{\n    return x ? high(x - 1) : 0;\n}\n' > part/low.c
printf '#include "part/part.h"\nint high(int x)\n{\n    return low(x);\n}\n' > part/high.c
printf '#include "part/part.h"\nint top(int x);\nint top(int x)\n{\n    return high(x);\n}\n' > part/top.c
for name in low high top; do $CC -I. -O0 -c part/$name.c -o obj/part/$name.o; done
sh "$deps" part obj > got
cat > wanted << 'END'
part/high.c: part/low.c | part/part.h
part/low.c: part/high.c | part/part.h
part/part.h: |
part/top.c: part/high.c | part/part.h
cycle of 2: part/high.c part/low.c
deps: 4 files, 3 uses, 3 includes, 1 cycles
END
passed=0
failed=0
expect() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi; }
is_strict() { ! sh "$deps" --strict part obj > /dev/null; }
is_fine() { sh "$deps" --strict part obj > /dev/null; }
expect diff wanted got
expect is_strict
rm part/high.c # its object counts no more
expect is_fine
echo "deps: $passed passed, $failed failed"
[ $failed -eq 0 ]

#!/bin/sh
# tools/check_sizes.sh on three files: what counts as a branch, what is too large, exemptions that hold, grow, or are idle.
#
#   sizes.sh SCRATCH
set -eu
rm -rf "$1"
mkdir -p "$1/part"
root=$(cd "$1" && pwd)
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
cd "$root"
cat > part/small.c << 'END'
/* if for while case && || ? in a comment,
   and in its second line: if if if */
#define MANY(x) if (x) if (x) if (x) \
    if (x) if (x)
enum color { RED };

static int small(int x,
                 int y)
{
    const char *text = "if && /* \" for";
    if (x && y) /* if */
        return text[0] == '"' || y ? 1 : 2; // case
    switch (x) {
    case 1: return iffy(y);
    default: break;
    }
    return 0;
}
END
cat > part/long.c << 'END'
int long_one(int x)
{
END
for i in $(seq 1 60); do echo "    x += $i;"; done >> part/long.c
printf '    return x;\n}\n' >> part/long.c
seq -f '/* %g */' 1 601 > part/large.h
passed=0
failed=0
expect() { # expect NAME STATUS TEXT: what it prints
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\nwanted: %s\ngot:    %s\n' "$1" "$3" "$2"
    fi
}
check() {
    printf '%s\n' "$@" > exempt
    sh "$tools/check_sizes.sh" exempt part || true
}
expect counts "$(awk -f "$tools/code.awk" -f "$tools/sizes.awk" part/small.c)" 'function part/small.c small 12 5
file part/small.c 18'
expect large "$(check)" 'part/large.h: 601 lines
part/long.c: long_one: 64 lines, 0 branches
sizes: 3 passed, 2 failed'
expect exempt "$(check 'file part/large.h 601' 'long_one part/long.c 70 # why' | tail -n 1)" 'sizes: 3 passed, 0 failed'
expect grown "$(check 'file part/large.h 600' 'long_one part/long.c 63' | head -n 2)" 'part/large.h: 601 lines
part/long.c: long_one: 64 lines, 0 branches'
expect idle "$(check 'file part/small.c 700' 'file part/large.h 601' 'long_one part/long.c 64' | head -n 1)" \
    'file part/small.c: not too large any more: take its line out of the exemptions'
echo "sizes-selftest: $passed passed, $failed failed"
[ $failed -eq 0 ]

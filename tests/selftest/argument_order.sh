#!/bin/sh
# tools/check_argument_order.sh on two files: what emits through other functions, and where the order does not matter.
#
#   argument_order.sh SCRATCH
set -eu
rm -rf "$1"
mkdir -p "$1/part"
root=$(cd "$1" && pwd)
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
cd "$root"
cat > part/emit.h << 'END'
/* both(emit(a), emit(b)) in a comment */
static inline cg_val emit(cg_func *c, cg_val a)
{
    cg_ins(c, "both(emit(a), emit(b)) in a text %v", a);
    return a;
}
END
cat > part/uses.c << 'END'
cg_val both(cg_func *c, cg_val a,
            cg_val b)
{
    return emit(c, number(a, b));
}

void right(cg_func *c, cg_val a, cg_val b)
{
    cg_val x = emit(c, a), y = emit(c, b);
    if (both(c, emit(c, a), b) && both(c, a, emit(c, b)))
        both(c, both(c, emit(c, x), a), number(a, b));
    for (x = emit(c, a), y = emit(c, b); x; x = emit(c, x))
        number(number(x, y), number(y, x));
}

void wrong(cg_func *c, cg_val a, cg_val b)
{
    number(emit(c, a), (b + 1) * (2 + emit(c, b)));
    both(c, x,
         both(c, number(a, emit(c, b)), cg_new(c, CG_B32)));
}
END
wanted='part/uses.c:18: number: emit and emit: give each a variable, in the order that the code shall have
part/uses.c:20: both: emit and cg_new: give each a variable, in the order that the code shall have'
got=$(sh "$tools/check_argument_order.sh" part) && status=0 || status=$?
passed=0
if [ "$(echo "$got" | sed '$d')" = "$wanted" ] && [ $status -eq 1 ]; then
    passed=1
else
    printf 'wanted:\n%s\ngot, with exit code %s:\n%s\n' "$wanted" "$status" "$got"
fi
sed -i '/^void wrong/,$d' part/uses.c
if sh "$tools/check_argument_order.sh" part > right; then
    passed=$((passed + 1))
else
    cat right
fi
echo "argument-order-selftest: $passed passed, $((2 - passed)) failed"
[ $passed -eq 2 ]

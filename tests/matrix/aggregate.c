/* reduce and scan: every element type, dimension and direction, with combiners that any order of combination must agree
   on (reduce) or that show the order (scan: one after the other, the accumulated value first). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

enum { MAX_OPERANDS = 3 };

typedef struct body {
    const char *name;
    unsigned operands;
    /* Text of the body: $k is the element type of operand k, & a zero of operand 0. Arguments are %a0, %b0, %a1, %b1,
       ...; ends in yield. */
    const char *text;
    void (*combine)(const bc_kind *kinds, const uint64_t *a, const uint64_t *b, uint64_t *out);
    bool scan_only;     /* the order shows */
    bool small_numbers; /* floats: sums of whole numbers, exact in any order */
} body;

/* ---- combiners ---- */

static uint64_t float_op(bc_kind kind, uint64_t a, uint64_t b, char op)
{
    exact x, y, out;
    exact_of_float(&x, kind, a);
    exact_of_float(&y, kind, b);
    y.negative ^= op == '-';
    if (op == '*')
        exact_mul(&out, &x, &y);
    else
        exact_add(&out, &x, &y, false);
    return exact_round(kind, &out, BC_RoundingMode_nearest_even);
}

static bool float_is_less(bc_kind kind, uint64_t a, uint64_t b)
{
    exact x, y;
    exact_of_float(&x, kind, a);
    exact_of_float(&y, kind, b);
    return x.class_ != EXACT_NAN && y.class_ != EXACT_NAN && exact_compare(&x, &y) < 0;
}

#define INT_COMBINER(name, value)                                                               \
    static void name(const bc_kind *kinds, const uint64_t *a, const uint64_t *b, uint64_t *out) \
    {                                                                                           \
        unsigned width = exact_bits(kinds[0]);                                                  \
        uint64_t x = a[0], y = b[0];                                                            \
        out[0] = (value)&exact_mask(width);                                                     \
    }
INT_COMBINER(add_ints, x + y)
INT_COMBINER(mul_ints, x *y)
INT_COMBINER(xor_ints, x ^ y)
INT_COMBINER(sub_ints, x - y)
INT_COMBINER(max_ints, exact_signed(x, width) > exact_signed(y, width) ? x : y)
INT_COMBINER(min_ints, x < y ? x : y)
INT_COMBINER(sum_and_seven, x + y + 7)

static void add_floats(const bc_kind *kinds, const uint64_t *a, const uint64_t *b, uint64_t *out)
{
    out[0] = float_op(kinds[0], a[0], b[0], '+');
}
static void sub_floats(const bc_kind *kinds, const uint64_t *a, const uint64_t *b, uint64_t *out)
{
    out[0] = float_op(kinds[0], a[0], b[0], '-');
}
static void max_floats(const bc_kind *kinds, const uint64_t *a, const uint64_t *b, uint64_t *out)
{
    out[0] = float_is_less(kinds[0], a[0], b[0]) ? b[0] : a[0];
}
/* The larger value and where it was; the first place of equal ones. Operand 1 is the place. */
static void arg_max_ints(const bc_kind *kinds, const uint64_t *a, const uint64_t *b, uint64_t *out)
{
    int64_t x = exact_signed(a[0], exact_bits(kinds[0])), y = exact_signed(b[0], exact_bits(kinds[0]));
    bool second = y > x || (y == x && b[1] < a[1]);
    out[0] = second ? b[0] : a[0];
    out[1] = second ? b[1] : a[1];
}
static void three(const bc_kind *kinds, const uint64_t *a, const uint64_t *b, uint64_t *out)
{
    add_ints(kinds, a, b, out);
    xor_ints(kinds + 1, a + 1, b + 1, out + 1);
    max_ints(kinds + 2, a + 2, b + 2, out + 2);
}

static const body int_bodies[] = {
    {"addi", 1, "%r = addi %a0, %b0 : tile<$0>\nyield %r : tile<$0>\n", add_ints, false, false},
    {"muli", 1, "%r = muli %b0, %a0 : tile<$0>\nyield %r : tile<$0>\n", mul_ints, false, false},
    {"xori", 1, "%r = xori %a0, %b0 : tile<$0>\nyield %r : tile<$0>\n", xor_ints, false, false},
    {"maxi", 1, "%r = maxi %a0, %b0 signed : tile<$0>\nyield %r : tile<$0>\n", max_ints, false, false},
    {"mini", 1, "%r = mini %a0, %b0 unsigned : tile<$0>\nyield %r : tile<$0>\n", min_ints, false, false},
    {"subi", 1, "%r = subi %a0, %b0 : tile<$0>\nyield %r : tile<$0>\n", sub_ints, true, false},
    {"captured", 1, "%q = addi %a0, %seven : tile<$0>\n%r = addi %q, %b0 : tile<$0>\nyield %r : tile<$0>\n",
     sum_and_seven, false, false},
    {"if", 1,
     "%c = cmpi greater_than %a0, %b0, signed : tile<$0> -> tile<i1>\n"
     "%r = if %c -> (tile<$0>) {\nyield %a0 : tile<$0>\n} else {\nyield %b0 : tile<$0>\n}\nyield %r : tile<$0>\n",
     max_ints, false, false},
    {"nested", 1,
     "%n = reduce %ones dim=0 identities=[&] : tile<8x$0> -> tile<$0> (%x: tile<$0>, %y: tile<$0>) {\n"
     "%z = ori %x, %y : tile<$0>\nyield %z : tile<$0>\n}\n"
     "%m = muli %n, %a0 : tile<$0>\n%r = addi %m, %b0 : tile<$0>\nyield %r : tile<$0>\n",
     add_ints, false, false},
    {"argmax", 2,
     "%g = cmpi greater_than %b0, %a0, signed : tile<$0> -> tile<i1>\n"
     "%e = cmpi equal %b0, %a0, signed : tile<$0> -> tile<i1>\n"
     "%l = cmpi less_than %b1, %a1, unsigned : tile<$1> -> tile<i1>\n"
     "%el = andi %e, %l : tile<i1>\n%s = ori %g, %el : tile<i1>\n"
     "%r = select %s, %b0, %a0 : tile<i1>, tile<$0>\n%q = select %s, %b1, %a1 : tile<i1>, tile<$1>\n"
     "yield %r, %q : tile<$0>, tile<$1>\n",
     arg_max_ints, false, false},
    {"three", 3,
     "%x = addi %a0, %b0 : tile<$0>\n%y = xori %a1, %b1 : tile<$1>\n%z = maxi %a2, %b2 signed : tile<$2>\n"
     "yield %x, %y, %z : tile<$0>, tile<$1>, tile<$2>\n",
     three, false, false},
};
static const body float_bodies[] = {
    {"addf", 1, "%r = addf %a0, %b0 : tile<$0>\nyield %r : tile<$0>\n", add_floats, false, true},
    {"maxf", 1, "%r = maxf %a0, %b0 : tile<$0>\nyield %r : tile<$0>\n", max_floats, false, true},
    {"addf in order", 1, "%r = addf %a0, %b0 : tile<$0>\nyield %r : tile<$0>\n", add_floats, true, false},
    {"subf", 1, "%r = subf %a0, %b0 : tile<$0>\nyield %r : tile<$0>\n", sub_floats, true, false},
};
/* Floats without arithmetic of their own. */
static const body narrow_bodies[] = {
    {"larger", 1,
     "%x = ftof %a0 : tile<$0> -> tile<f64>\n%y = ftof %b0 : tile<$0> -> tile<f64>\n"
     "%c = cmpf less_than ordered %x, %y : tile<f64> -> tile<i1>\n"
     "%r = select %c, %b0, %a0 : tile<i1>, tile<$0>\nyield %r : tile<$0>\n",
     max_floats, false, true},
};

/* ---- a case ---- */

typedef struct aggregate {
    mx_kernel k;
    const body *body;
    bc_kind kinds[MAX_OPERANDS];
    mx_shape shape, result;
    unsigned dim;
    bool scan, reverse;
    uint64_t *x[MAX_OPERANDS];
} aggregate;

static void put_identity(aggregate *g, bc_kind kind)
{
    if (kind == BC_I1)
        bc_text_puts(&g->k.body, "false");
    else
        bc_text_printf(&g->k.body, "%s : %s", exact_is_float(kind) ? "0x1" : "0", mx_kind(kind));
}

static void put_body(aggregate *g)
{
    for (const char *p = g->body->text; *p; p++) {
        if (*p == '$')
            bc_text_puts(&g->k.body, mx_kind(g->kinds[*++p - '0']));
        else if (*p == '&')
            put_identity(g, g->kinds[0]);
        else
            bc_text_char(&g->k.body, *p);
    }
}

static void put_list(aggregate *g, const char *format_of_value, const unsigned *values)
{
    for (unsigned i = 0; i < g->body->operands; i++) {
        bc_text_puts(&g->k.body, i ? ", " : "");
        bc_text_puts(&g->k.body, format_of_value);
        bc_text_printf(&g->k.body, "%u", values[i]);
    }
}

static void put_types(aggregate *g, mx_shape shape)
{
    for (unsigned i = 0; i < g->body->operands; i++)
        bc_text_printf(&g->k.body, "%s%s", i ? ", " : "", mx_tile(shape, g->kinds[i]));
}

static void put_op(aggregate *g, const unsigned *in, const unsigned *out)
{
    bc_text_puts(&g->k.body, "  ");
    put_list(g, "%v", out);
    bc_text_printf(&g->k.body, " = %s ", g->scan ? "scan" : "reduce");
    put_list(g, "%v", in);
    bc_text_printf(&g->k.body, " dim=%u", g->dim);
    if (g->scan)
        bc_text_printf(&g->k.body, " reverse=%s", g->reverse ? "true" : "false");
    bc_text_puts(&g->k.body, " identities=[");
    for (unsigned i = 0; i < g->body->operands; i++) {
        bc_text_puts(&g->k.body, i ? ", " : "");
        put_identity(g, g->kinds[i]);
    }
    bc_text_puts(&g->k.body, "] : ");
    put_types(g, g->shape);
    bc_text_puts(&g->k.body, " -> ");
    put_types(g, g->result);
    bc_text_puts(&g->k.body, " (");
    for (unsigned i = 0; i < g->body->operands; i++)
        bc_text_printf(&g->k.body, "%s%%a%u: tile<%s>, %%b%u: tile<%s>", i ? ", " : "", i, mx_kind(g->kinds[i]), i,
                       mx_kind(g->kinds[i]));
    bc_text_puts(&g->k.body, ") {\n");
    put_body(g);
    bc_text_puts(&g->k.body, "  }\n");
}

/* Element i of the line number `line` along the dimension, as an index. */
static size_t on_line(const aggregate *g, size_t line, size_t i)
{
    size_t inner = 1;
    for (unsigned d = g->dim + 1; d < g->shape.rank; d++)
        inner *= g->shape.dim[d];
    return line / inner * inner * g->shape.dim[g->dim] + i * inner + line % inner;
}

static size_t compare(const aggregate *g, const unsigned *outputs)
{
    size_t length = g->shape.dim[g->dim], lines = mx_count(g->shape) / length, bad = 0;
    for (size_t line = 0; line < lines; line++) {
        uint64_t now[MAX_OPERANDS], next[MAX_OPERANDS], element[MAX_OPERANDS];
        for (size_t i = 0; i < length; i++) {
            size_t at = on_line(g, line, g->reverse ? length - 1 - i : i);
            for (unsigned j = 0; j < g->body->operands; j++)
                element[j] = g->x[j][at];
            if (i)
                g->body->combine(g->kinds, now, element, next);
            memcpy(now, i ? next : element, sizeof now);
            for (unsigned j = 0; g->scan && j < g->body->operands; j++)
                bad += !mx_same(g->kinds[j], mx_result(&g->k, outputs[j], at), now[j]);
        }
        for (unsigned j = 0; !g->scan && j < g->body->operands; j++)
            bad += !mx_same(g->kinds[j], mx_result(&g->k, outputs[j], line), now[j]);
    }
    return bad;
}

static uint64_t make_element(const body *b, bc_kind kind, unsigned operand, uint64_t seed, size_t i)
{
    exact whole;
    if (operand == 1 && b->combine == arg_max_ints)
        return i; /* places */
    if (!exact_is_float(kind) || !b->small_numbers)
        return mx_sample(kind, seed + i);
    exact_of_int(&whole, mx_random(seed + i) % 7 - (exact_format_of(kind)->has_sign ? 3 : 0), 64, true);
    return exact_round(kind, &whole, BC_RoundingMode_zero);
}

static void run_case(mx_report *r, const body *b, bc_kind kind, mx_shape shape, unsigned dim, unsigned way,
                     mx_form form, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    aggregate *g = calloc(1, sizeof *g);
    unsigned in[MAX_OPERANDS] = {0}, out[MAX_OPERANDS] = {0}, outputs[MAX_OPERANDS] = {0};
    size_t n = mx_count(shape);
    if (!g)
        abort();
    g->body = b;
    g->kinds[0] = kind;
    g->kinds[1] = g->kinds[2] = BC_I32;
    g->shape = g->result = shape;
    g->dim = dim;
    g->scan = way > 0;
    g->reverse = way == 2;
    if (!g->scan) {
        for (unsigned d = dim; d + 1 < shape.rank; d++)
            g->result.dim[d] = shape.dim[d + 1];
        g->result.rank--;
    }
    mx_begin(&g->k);
    for (unsigned j = 0; j < b->operands; j++) {
        g->x[j] = malloc(n * sizeof *g->x[j]);
        if (!g->x[j])
            abort();
        for (size_t i = 0; i < n; i++)
            g->x[j][i] = make_element(b, g->kinds[j], j, seed + j, i);
        in[j] = mx_load(&g->k, mx_input(&g->k, g->kinds[j], g->x[j], n), shape, form);
        out[j] = mx_new(&g->k);
    }
    if (!exact_is_float(kind)) {
        mx_op(&g->k, "%%seven = constant <%s: %s> : tile<%s>", mx_kind(kind), kind == BC_I1 ? "true" : "7",
              mx_kind(kind));
        mx_op(&g->k, "%%ones = constant <%s: %s> : tile<8x%s>", mx_kind(kind), kind == BC_I1 ? "true" : "1",
              mx_kind(kind));
    }
    put_op(g, in, out);
    for (unsigned j = 0; j < b->operands; j++) {
        outputs[j] = mx_output(&g->k, g->kinds[j], mx_count(g->result));
        mx_store(&g->k, outputs[j], g->result, out[j]);
    }
    tv_status status = mx_run(&g->k, NULL);
    size_t bad = status == TV_OK ? compare(g, outputs) : 0;
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &g->k, "%s of %s by %s along %u: status %d, %zu wrong",
                way == 0   ? "reduce"
                : way == 1 ? "scan"
                           : "reverse scan",
                mx_tile(shape, kind), b->name, dim, (int)status, bad);
    mx_end(&g->k);
    for (unsigned j = 0; j < b->operands; j++)
        free(g->x[j]);
    free(g);
}

static void every_shape(mx_report *r, const body *b, bc_kind kind, mx_effort effort)
{
    uint64_t seed = mx_random((uint64_t)kind + (unsigned char)b->name[0]);
    if (b->scan_only && mx_is_ptx())
        return; /* the order is the machine's own: compiled code may take any */
    for (size_t s = 0; s < mx_shape_count; s++) {
        for (unsigned dim = 0; dim < mx_shapes[s].rank; dim++) {
            for (unsigned way = b->scan_only; way < 3; way++) {
                seed = mx_random(seed);
                if (!effort.quick || seed % 8 == 0)
                    run_case(r, b, kind, mx_shapes[s], dim, way, seed % 3 ? MX_PLAIN : MX_PERMUTED, seed);
            }
        }
    }
}

void mx_aggregate(mx_report *r, mx_effort effort)
{
    static const bc_kind ints[] = {BC_I1, BC_I8, BC_I16, BC_I32, BC_I64};
    static const bc_kind floats[] = {BC_F16, BC_BF16, BC_F32, BC_F64};
    static const bc_kind others[] = {BC_F16, BC_TF32, BC_F8E5M2, BC_F8E4M3FN, BC_F8E8M0FNU, BC_FNV8E5M3FNU};
    for (size_t i = 0; i < TV_COUNT(ints); i++)
        for (size_t b = 0; b < TV_COUNT(int_bodies); b++)
            every_shape(r, &int_bodies[b], ints[i], effort);
    for (size_t i = 0; i < TV_COUNT(floats); i++)
        for (size_t b = 0; b < TV_COUNT(float_bodies); b++)
            every_shape(r, &float_bodies[b], floats[i], effort);
    for (size_t i = 0; i < TV_COUNT(others); i++)
        for (size_t b = 0; b < TV_COUNT(narrow_bodies); b++)
            every_shape(r, &narrow_bodies[b], others[i], effort);
}

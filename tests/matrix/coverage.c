/* Which ops take which element types and attributes: every combination is tried. What the operation references allow
   must verify and run; what they do not must be refused. Results are the business of the other parts. */
#include <stdio.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

enum { N = 8, MAX_CHOICES = 4 };

/* Words of the text that stand for a choice: the letter after @. */
static const struct choice {
    char letter;
    unsigned count;
    const char *words[8];
} choices[] = {
    {'R',
     8,
     {"nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full", "nearest_int_to_zero", "nearest_away"}},
    {'F', 2, {"", " flush_to_zero"}},
    {'N', 2, {"", " propagate_nan"}},
    {'S', 2, {"unsigned", "signed"}},
    {'O', 4, {"none", "no_signed_wrap", "no_unsigned_wrap", "no_wrap"}},
    {'P', 6, {"equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"}},
    {'C', 2, {"unordered", "ordered"}},
    {'T', 2, {"", " saturating"}},
    {'M', 5, {"weak", "relaxed", "acquire", "release", "acq_rel"}},
    {'D', 4, {"", " tl_blk", " device", " sys"}},
    {'A', 2, {"", " fast_acc"}},
};

/* One try: kinds of the operands, and what was chosen for each letter. */
typedef struct try_ {
    bc_kind kind[2];
    unsigned chosen[26];
} try_;

static unsigned chosen(const try_ *t, char letter)
{
    return t->chosen[letter - 'A'];
}

/* ---- what is legal: operation references ---- */

static bool is_int(bc_kind k)
{
    return bc_kinds[k].kind_class == BC_CLASS_INTEGER && k != BC_I4;
}
static bool is_int_or_i4(bc_kind k)
{
    return bc_kinds[k].kind_class == BC_CLASS_INTEGER;
}
static bool is_float(bc_kind k)
{
    return exact_is_float(k);
}
static bool is_base_float(bc_kind k)
{
    return k == BC_F16 || k == BC_BF16 || k == BC_F32 || k == BC_F64;
}
static bool is_number(bc_kind k)
{
    return is_int(k) || is_float(k);
}
static unsigned width(bc_kind k)
{
    return k == BC_TF32 ? 19 : exact_bits(k);
}

static bool ieee(const try_ *t)
{
    return chosen(t, 'R') < 4;
}
static bool flush_fits(const try_ *t)
{
    return !chosen(t, 'F') || t->kind[0] == BC_F32;
}
static bool legal_float(const try_ *t)
{
    return is_base_float(t->kind[0]) && flush_fits(t);
}
static bool legal_rounded(const try_ *t)
{
    return legal_float(t) && ieee(t);
}
static bool legal_divf(const try_ *t)
{
    return legal_float(t) && (ieee(t) || (chosen(t, 'R') < 6 && t->kind[0] == BC_F32));
}
static bool legal_sqrt(const try_ *t)
{
    return legal_float(t) && (ieee(t) || (chosen(t, 'R') == 4 && t->kind[0] == BC_F32));
}
static bool legal_exp(const try_ *t)
{
    return is_base_float(t->kind[0]) && (chosen(t, 'R') == 5 || (chosen(t, 'R') == 4 && t->kind[0] == BC_F32));
}
static bool legal_int(const try_ *t)
{
    return is_int(t->kind[0]);
}
static bool legal_negi(const try_ *t)
{
    return is_int(t->kind[0]) && chosen(t, 'O') != 2;
}
static bool legal_divi(const try_ *t)
{
    unsigned r = chosen(t, 'R');
    return is_int(t->kind[0]) && (r == 1 || r == 3 || (r == 2 && chosen(t, 'S')));
}
static bool legal_select(const try_ *t)
{
    return t->kind[0] != BC_F4E2M1FN;
}
static bool legal_any(const try_ *t)
{
    (void)t;
    return true;
}
static bool legal_fpowi(const try_ *t)
{
    return is_base_float(t->kind[0]) && is_int(t->kind[1]) && t->kind[1] != BC_I64;
}
static bool legal_exti(const try_ *t)
{
    return is_int_or_i4(t->kind[0]) && is_int_or_i4(t->kind[1]) && width(t->kind[1]) > width(t->kind[0]);
}
static bool legal_trunci(const try_ *t)
{
    return is_int_or_i4(t->kind[0]) && is_int_or_i4(t->kind[1]) && width(t->kind[1]) < width(t->kind[0]);
}
static bool legal_itof(const try_ *t)
{
    return is_int(t->kind[0]) && is_float(t->kind[1]) && t->kind[1] != BC_F8E8M0FNU && chosen(t, 'R') == 0;
}
static bool legal_ftoi(const try_ *t)
{
    return is_float(t->kind[0]) && is_int(t->kind[1]) && chosen(t, 'R') == 6;
}
static bool legal_bitcast(const try_ *t)
{
    return is_number(t->kind[0]) && is_number(t->kind[1]) && width(t->kind[0]) == width(t->kind[1]);
}
static bool legal_pointer_to_int(const try_ *t)
{
    return t->kind[0] == BC_PTR && t->kind[1] == BC_I64;
}
static bool legal_int_to_pointer(const try_ *t)
{
    return t->kind[0] == BC_I64 && t->kind[1] == BC_PTR;
}
static bool legal_pointer_to_pointer(const try_ *t)
{
    return t->kind[0] == BC_PTR && t->kind[1] == BC_PTR;
}
static bool legal_offset(const try_ *t)
{
    return t->kind[0] == BC_PTR && is_int(t->kind[1]);
}
static bool legal_assert(const try_ *t)
{
    return t->kind[0] == BC_I1;
}
static bool legal_div_by(const try_ *t)
{
    return is_int_or_i4(t->kind[0]) || t->kind[0] == BC_PTR;
}
static bool legal_bounded(const try_ *t)
{
    return is_int_or_i4(t->kind[0]);
}
static bool legal_iota(const try_ *t)
{
    return is_int(t->kind[0]) && t->kind[0] != BC_I1; /* 8 do not fit a bit */
}
/* Weak has no scope, anything else has one. */
static bool legal_scope(const try_ *t)
{
    return (chosen(t, 'M') == 0) == (chosen(t, 'D') == 0);
}
static bool legal_load(const try_ *t)
{
    return legal_scope(t) && chosen(t, 'M') <= 2;
}
static bool legal_store(const try_ *t)
{
    return legal_scope(t) && (chosen(t, 'M') <= 1 || chosen(t, 'M') == 3);
}
static bool legal_rmw(const try_ *t)
{
    return legal_scope(t) && chosen(t, 'M') != 0;
}
static bool legal_mmaf(const try_ *t)
{
    bc_kind in = t->kind[0], acc = t->kind[1];
    bool f8 = in == BC_F8E4M3FN || in == BC_F8E5M2;
    return ((in == BC_F16 || f8) && (acc == BC_F16 || acc == BC_F32))
           || ((in == BC_BF16 || in == BC_TF32) && acc == BC_F32) || (in == BC_F32 && acc == BC_F32)
           || (in == BC_F64 && acc == BC_F64);
}
static bool legal_mmai(const try_ *t)
{
    return t->kind[0] == BC_I8 && t->kind[1] == BC_I32;
}

/* ---- ops: $0 $1 operands, #0 #1 their types, #r a result of #0's shape and i1 ---- */

typedef struct op_row {
    const char *text;
    unsigned kinds; /* that vary: 0 to 2 */
    bool (*legal)(const try_ *t);
} op_row;

static const op_row rows[] = {
    {"%r = absf $0 : #0", 1, legal_float},
    {"%r = negf $0 : #0", 1, legal_float},
    {"%r = ceil $0 : #0", 1, legal_float},
    {"%r = floor $0 : #0", 1, legal_float},
    {"%r = sin $0 : #0", 1, legal_float},
    {"%r = cos $0 : #0", 1, legal_float},
    {"%r = tan $0 : #0", 1, legal_float},
    {"%r = sinh $0 : #0", 1, legal_float},
    {"%r = cosh $0 : #0", 1, legal_float},
    {"%r = log $0 : #0", 1, legal_float},
    {"%r = log2 $0 : #0", 1, legal_float},
    {"%r = rsqrt $0@F : #0", 1, legal_float},
    {"%r = exp2 $0@F : #0", 1, legal_float},
    {"%r = exp $0 rounding<@R> : #0", 1, legal_exp},
    {"%r = tanh $0 rounding<@R> : #0", 1, legal_exp},
    {"%r = sqrt $0 rounding<@R>@F : #0", 1, legal_sqrt},
    {"%r = divf $0, $0 rounding<@R>@F : #0", 1, legal_divf},
    {"%r = addf $0, $0 rounding<@R>@F : #0", 1, legal_rounded},
    {"%r = subf $0, $0 rounding<@R>@F : #0", 1, legal_rounded},
    {"%r = mulf $0, $0 rounding<@R>@F : #0", 1, legal_rounded},
    {"%r = fma $0, $0, $0 rounding<@R>@F : #0", 1, legal_rounded},
    {"%r = remf $0, $0 : #0", 1, legal_float},
    {"%r = atan2 $0, $0 : #0", 1, legal_float},
    {"%r = fpowf $0, $0 : #0", 1, legal_float},
    {"%r = maxf $0, $0@F@N : #0", 1, legal_float},
    {"%r = minf $0, $0@F@N : #0", 1, legal_float},
    {"%r = fpowi $0, $1 : #0, #1", 2, legal_fpowi},
    {"%r = absi $0 : #0", 1, legal_int},
    {"%r = negi $0 overflow<@O> : #0", 1, legal_negi},
    {"%r = addi $0, $0 overflow<@O> : #0", 1, legal_int},
    {"%r = subi $0, $0 overflow<@O> : #0", 1, legal_int},
    {"%r = muli $0, $0 overflow<@O> : #0", 1, legal_int},
    {"%r = shli $0, $0 overflow<@O> : #0", 1, legal_int},
    {"%r = mulhii $0, $0 : #0", 1, legal_int},
    {"%r = andi $0, $0 : #0", 1, legal_int},
    {"%r = ori $0, $0 : #0", 1, legal_int},
    {"%r = xori $0, $0 : #0", 1, legal_int},
    {"%r = maxi $0, $0 @S : #0", 1, legal_int},
    {"%r = mini $0, $0 @S : #0", 1, legal_int},
    {"%r = remi $0, $0 @S : #0", 1, legal_int},
    {"%r = shri $0, $0 @S : #0", 1, legal_int},
    {"%r = divi $0, $0 @S rounding<@R> : #0", 1, legal_divi},
    {"%r = cmpi @P $0, $0, @S : #0 -> #r", 1, legal_int},
    {"%r = cmpf @P @C $0, $0 : #0 -> #r", 1, legal_float},
    {"%r = select %mask, $0, $0 : #r, #0", 1, legal_select},
    {"%r = exti $0 @S : #0 -> #1", 2, legal_exti},
    {"%r = trunci $0 overflow<@O> : #0 -> #1", 2, legal_trunci},
    {"%r = itof $0 @S rounding<@R> : #0 -> #1", 2, legal_itof},
    {"%r = ftoi $0 @S@T rounding<@R> : #0 -> #1", 2, legal_ftoi},
    {"%r = bitcast $0 : #0 -> #1", 2, legal_bitcast},
    {"%r = ptr_to_int $0 : #0 -> #1", 2, legal_pointer_to_int},
    {"%r = int_to_ptr $0 : #0 -> #1", 2, legal_int_to_pointer},
    {"%r = ptr_to_ptr $0 : #0 -> #1", 2, legal_pointer_to_pointer},
    {"%r = offset $0, $1 : #0, #1 -> #0", 2, legal_offset},
    {"%s = reshape $0 : #0 -> tile<2x4x!0>", 1, legal_any},
    {"%s = reshape $0 : #0 -> tile<1x8x!0>\n  %r = broadcast %s : tile<1x8x!0> -> tile<4x8x!0>", 1, legal_any},
    {"%s = reshape $0 : #0 -> tile<2x4x!0>\n  %r = permute %s [1, 0] : tile<2x4x!0> -> tile<4x2x!0>", 1, legal_any},
    {"%r = cat $0, $0 dim = 0 : #0, #0 -> tile<16x!0>", 1, legal_any},
    {"%s = extract $0[%zero] : #0 -> tile<4x!0>\n  %r = insert %s, $0[%zero] : tile<4x!0>, #0", 1, legal_any},
    {"%r = iota : #0", 1, legal_iota},
    {"%r = print_tko \"%d\", $0 : #0 -> token", 1, legal_any},
    {"%c = ori %mask, %true : #r\n  assert %c, \"no\" : #r", 0, legal_any},
    {"assert $0, \"no\" : #0", 1, legal_assert},
    {"%r = assume div_by<1>, $0 : #0", 1, legal_div_by},
    {"%r = assume same_elements<[1]>, $0 : #0", 1, legal_div_by},
    {"%r = assume bounded<?, ?>, $0 : #0", 1, legal_bounded},
    {"%r, %t = load_ptr_tko @M@D %p0 : tile<ptr<i32>> -> tile<i32>, token", 0, legal_load},
    {"%r = store_ptr_tko @M@D %p0, %zero : tile<ptr<i32>>, tile<i32> -> token", 0, legal_store},
    {"%r, %t = atomic_rmw_tko @M@D %p0, add, %zero : tile<ptr<i32>>, tile<i32> -> tile<i32>, token", 0, legal_rmw},
    {"%r, %t = atomic_cas_tko @M@D %p0, %zero, %zero : tile<ptr<i32>>, tile<i32> -> tile<i32>, token", 0, legal_rmw},
    {"%tv = make_tensor_view %p0, shape = [8], strides = [1] : tensor_view<8xi32, strides=[1]>\n"
     "  %w = make_partition_view %tv : partition_view<tile=(8), tensor_view<8xi32, strides=[1]>>\n"
     "  %r, %t = load_view_tko @M@D %w[%zero] : partition_view<tile=(8), tensor_view<8xi32, strides=[1]>>, "
     "tile<i32> -> tile<8xi32>, token",
     0, legal_load},
    {"%tv = make_tensor_view %p0, shape = [8], strides = [1] : tensor_view<8xi32, strides=[1]>\n"
     "  %w = make_partition_view %tv : partition_view<tile=(8), tensor_view<8xi32, strides=[1]>>\n"
     "  %i = iota : tile<8xi32>\n"
     "  %r = store_view_tko @M@D %i, %w[%zero] : tile<8xi32>, "
     "partition_view<tile=(8), tensor_view<8xi32, strides=[1]>>, tile<i32> -> token",
     0, legal_store},
    {"%s = reshape $0 : #0 -> tile<2x4x!0>\n  %q = reshape $0 : #0 -> tile<4x2x!0>\n"
     "  %e = extract $1[%zero] : #1 -> tile<4x!1>\n  %g = reshape %e : tile<4x!1> -> tile<2x2x!1>\n"
     "  %r = mmaf %s, %q, %g@A : tile<2x4x!0>, tile<4x2x!0>, tile<2x2x!1>",
     2, legal_mmaf},
    {"%s = reshape $0 : #0 -> tile<2x4x!0>\n  %q = reshape $0 : #0 -> tile<4x2x!0>\n"
     "  %e = extract $1[%zero] : #1 -> tile<4x!1>\n  %g = reshape %e : tile<4x!1> -> tile<2x2x!1>\n"
     "  %r = mmai %s, %q, %g @S signed : tile<2x4x!0>, tile<4x2x!0>, tile<2x2x!1>",
     2, legal_mmai},
    {"%t = make_token : token\n  %u = join_tokens %t, %t : token\n  %v = memory_fence_alias_tko %u\n"
     "  %w = gdc_wait_tko token = %v -> token\n  %x = gdc_launch_dependents_tko token = %w -> token\n"
     "  %y = gdc_wait_tko -> token\n  %z = gdc_launch_dependents_tko -> token",
     0, legal_any},
};

/* ---- trying ---- */

static const struct choice *choice_of(char letter)
{
    for (size_t i = 0; i < TV_COUNT(choices); i++)
        if (choices[i].letter == letter)
            return &choices[i];
    return NULL;
}

static void put_text(mx_kernel *k, const char *text, const try_ *t, const unsigned *values)
{
    mx_shape shape = mx_vector(N);
    bc_text_puts(&k->body, "  ");
    for (const char *p = text; *p; p++) {
        unsigned i = (unsigned)(p[1] - '0');
        if (*p == '$')
            bc_text_printf(&k->body, "%%v%u", values[i]);
        else if (*p == '#')
            bc_text_puts(&k->body, mx_tile(shape, p[1] == 'r' ? BC_I1 : t->kind[i]));
        else if (*p == '!')
            bc_text_puts(&k->body, mx_kind(t->kind[i]));
        else if (*p == '@')
            bc_text_puts(&k->body, choice_of(p[1])->words[chosen(t, p[1])]);
        else
            bc_text_char(&k->body, *p);
        p += strchr("$#!@", *p) != NULL;
    }
    bc_text_char(&k->body, '\n');
}

/* Operands that no op minds: ones, and true. */
static uint64_t one(bc_kind kind)
{
    const exact_format *f = exact_format_of(kind);
    uint64_t bits = f ? (uint64_t)f->bias << f->mantissa : 1;
    return kind == BC_TF32 ? bits << 13 : bits;
}

static void try_once(mx_report *r, const op_row *row, const try_ *t)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    uint64_t ones[N], zeros[N] = {0};
    unsigned values[2] = {0};
    bool legal = row->legal(t);
    mx_begin(&k);
    mx_input(&k, BC_I32, zeros, N);
    for (unsigned i = 0; i < row->kinds; i++) {
        for (size_t e = 0; e < N; e++)
            ones[e] = one(t->kind[i]);
        values[i] = mx_load(&k, mx_input(&k, t->kind[i], ones, N), mx_vector(N), MX_PLAIN);
    }
    mx_op(&k, "%%zero = constant <i32: 0> : tile<i32>");
    mx_op(&k, "%%true = constant <i1: true> : tile<8xi1>");
    mx_op(&k, "%%mask = constant <i1: [true, false, true, false, true, false, true, false]> : tile<8xi1>");
    put_text(&k, row->text, t, values);
    tv_status status = legal ? mx_run(&k, NULL) : mx_check(&k, NULL);
    if (status == (legal ? TV_OK : TV_INVALID))
        mx_pass(r);
    else
        mx_fail(r, &k, "%s (%s, %s) is %s and ends with status %d", row->text, mx_kind(t->kind[0]),
                row->kinds > 1 ? mx_kind(t->kind[1]) : "", legal ? "legal" : "not legal", (int)status);
    mx_end(&k);
}

/* Every choice for the letters of the text from `at` on. */
static void try_choices(mx_report *r, const op_row *row, try_ *t, const char *at, mx_effort effort)
{
    at = strchr(at, '@');
    if (!at) {
        uint64_t seed = (uint64_t)t->kind[0] * 31 + (uint64_t)t->kind[1] * 7 + t->chosen['R' - 'A'] + r->kernels;
        if (!effort.quick || row->kinds == 0 || mx_random(seed) % 16 == 0)
            try_once(r, row, t);
        return;
    }
    const struct choice *c = choice_of(at[1]);
    for (unsigned i = 0; i < c->count; i++) {
        t->chosen[at[1] - 'A'] = i;
        try_choices(r, row, t, at + 1, effort);
    }
}

static bool is_element(int kind)
{
    return bc_kinds[kind].kind_class == BC_CLASS_INTEGER || bc_kinds[kind].kind_class == BC_CLASS_FLOAT
           || kind == BC_PTR;
}

static void try_kinds(mx_report *r, const op_row *row, mx_effort effort)
{
    for (int a = 0; a < (row->kinds > 0 ? BC_KIND_COUNT : 1); a++) {
        for (int b = 0; b < (row->kinds > 1 ? BC_KIND_COUNT : 1); b++) {
            try_ t = {.kind = {(bc_kind)a, (bc_kind)b}};
            if (is_element(a) && is_element(b))
                try_choices(r, row, &t, row->text, effort);
        }
    }
}

/* ---- several devices: ops on the memory of all of them say that one machine cannot do it ---- */

static void multimem(mx_report *r)
{
    static const char *const tensor = "tensor_view<8xi32, strides=[1], #cuda_tile.ptr_attr<multicast>>";
    static const char *const ops[] = {"multimem_load_reduce_view_tko", "multimem_reduce_view_tko",
                                      "multimem_store_view_tko"};
    for (size_t i = 0; i < TV_COUNT(ops); i++) {
        if (!mx_is_turn(r))
            continue;
        mx_kernel k;
        uint64_t zeros[N] = {0};
        mx_begin(&k);
        mx_input(&k, BC_I32, zeros, N);
        mx_op(&k, "%%zero = constant <i32: 0> : tile<i32>\n  %%x = iota : tile<8xi32>");
        mx_op(&k, "%%m = ptr_to_ptr %%p0 : tile<ptr<i32>> -> tile<ptr<i32, <multicast>>>");
        mx_op(&k, "%%tv = make_tensor_view %%m, shape = [8], strides = [1] : %s", tensor);
        mx_op(&k, "%%w = make_partition_view %%tv : partition_view<tile=(8), %s>", tensor);
        if (i == 0)
            mx_op(&k,
                  "%%r, %%t = %s relaxed device %%w[%%zero] : partition_view<tile=(8), %s>, tile<i32>"
                  " -> tile<8xi32>, token",
                  ops[i], tensor);
        else
            mx_op(&k,
                  "%%t = %s relaxed device %%w, %%x[%%zero] : partition_view<tile=(8), %s>, tile<8xi32>,"
                  " tile<i32> -> token",
                  ops[i], tensor);
        tv_status status = mx_run(&k, NULL);
        tv_str says = bc_text_get(&k.findings);
        if (status == TV_UNSUPPORTED && says.len && strstr(says.ptr, ops[i]))
            mx_pass(r);
        else
            mx_fail(r, &k, "%s ends with status %d", ops[i], (int)status);
        mx_end(&k);
    }
}

void mx_coverage(mx_report *r, mx_effort effort)
{
    for (size_t i = 0; i < TV_COUNT(rows); i++)
        try_kinds(r, &rows[i], effort);
    multimem(r);
}

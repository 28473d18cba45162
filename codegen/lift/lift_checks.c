/* The conditions under which a tile of pointers is a tile of a view; see lift.h. Those that facts prove are not
   checked; the others are checked at run time, once, in front of the ops that need them.

   All factors must be at least 0. Then the sum of the positive terms of a polynomial, and that of the negative ones, is
   largest where all factors and positions are largest, and every value lies between the two sums. The sums are computed
   from numbers that are clamped to 2^31: products of two such numbers have 62 bits, and a clamped value exceeds every
   limit. */
#include "codegen/facts/facts.h"
#include "codegen/lift/lift.h"

#define CUT ((int64_t)1 << 31)

/* ---- emitting checks ---- */

static bool is_there(const cg_lift_checks *k, const ct_value *v)
{
    if (!k->first || !ct_is_inside(v->block, k->inside))
        return true;
    const ct_op *op = v->op ? v->op : v->block->parent;
    while (op && op->block != k->inside)
        op = op->block->parent;
    for (const ct_op *o = op ? k->first : NULL; o; o = o == k->last ? NULL : o->next)
        if (o == op)
            return false;
    return true;
}

static ct_value *put_number(cg_lift_checks *k, int64_t number)
{
    return ct_build_scalar(&k->b, BC_I64, number);
}

/* The minimum or maximum of two signed 64-bit numbers. */
static ct_value *put_end(cg_lift_checks *k, bc_opcode opcode, ct_value *x, int64_t end)
{
    ct_value *r = ct_build_two(&k->b, opcode, x, put_number(k, end));
    if (r)
        bc_attr_of(r->op->from, opcode == OP_mini ? F_mini_signedness : F_maxi_signedness)->u = BC_Signedness_signed;
    return r;
}

/* Adds the comparison of x, a 64-bit number, to the conditions. */
static void ask(cg_lift_checks *k, ct_value *x, bc_ComparisonPredicate predicate, int64_t limit)
{
    ct_value *holds = ct_build_compare(&k->b, predicate, x, put_number(k, limit), true);
    if (!holds)
        return;
    k->all = k->all ? ct_build_two(&k->b, OP_andi, k->all, holds) : holds;
    if (k->of_view)
        k->views = k->views ? ct_build_two(&k->b, OP_andi, k->views, holds) : holds;
}

static ct_value *wide(cg_lift_checks *k, const ct_value *v)
{
    return ct_build_resize(&k->b, (ct_value *)(uintptr_t)v, BC_I64, true);
}

/* ---- factors ---- */

static cg_range range_of(const ct_value *v)
{
    unsigned bits = bc_kind_bits(bc_elem_kind(v->type));
    int64_t most = bits < 64 ? ((int64_t)1 << (bits - 1)) - 1 : INT64_MAX;
    return v->fact ? cg_range_of(v) : (cg_range){-most - 1, most};
}

/* The largest value of a factor as known at compile time, clamped. */
static int64_t known_most(const ct_value *v)
{
    int64_t step;
    const ct_op *loop = cg_counted_loop(v, &step);
    int64_t most = range_of(v).high;
    if (loop) {
        cg_range first = range_of(loop->operands[0]), end = range_of(loop->operands[1]);
        if (first.low < -CUT || end.high > CUT)
            return CUT;
        most = end.high > first.low ? (end.high - first.low - 1) / step : 0;
    }
    return most < CUT ? most < 0 ? 0 : most : CUT;
}

static bool has_narrow_type(const ct_value *v)
{
    return bc_kind_bits(bc_elem_kind(v->type)) <= 32;
}

/* The op that computes v, without promises about v. */
static const ct_op *maker_of(const ct_value *v)
{
    while (v->op && v->op->opcode == OP_assume)
        v = v->op->operands[0];
    return v->op;
}

/* The op, if v is the smaller one of two numbers with sign. */
static const ct_op *lesser_of(const ct_value *v)
{
    const ct_op *op = maker_of(v);
    return op && op->opcode == OP_mini && ct_attr_u(op, F_mini_signedness) == BC_Signedness_signed ? op : NULL;
}

/* An available value that v, which is at least 0, cannot exceed: v is that value minus a counter that starts at 0 or
   above, or the smaller one of that value and another. NULL: there is none. */
static const ct_value *most_of(const cg_lift_checks *k, const ct_value *v)
{
    int64_t step;
    const ct_op *op = maker_of(v), *lesser = lesser_of(v);
    for (uint32_t i = 0; i < 2 && lesser; i++)
        if (is_there(k, lesser->operands[i]))
            return lesser->operands[i];
    bool is_left = op && op->opcode == OP_subi && range_of(v).low >= 0 && cg_counted_loop(op->operands[1], &step)
                   && range_of(op->operands[1]).low >= 0;
    return is_left && is_there(k, op->operands[0]) ? op->operands[0] : NULL;
}

/* An available value whose magnitude is larger than that of v: the divisor of a remainder. NULL: there is none. */
static const ct_value *more_than(const cg_lift_checks *k, const ct_value *v)
{
    const ct_op *op = maker_of(v);
    op = op && op->opcode == OP_remi ? op : NULL;
    bool is_signed = op && ct_attr_u(op, F_remi_signedness) == BC_Signedness_signed;
    return is_signed && has_narrow_type(v) && is_there(k, op->operands[1]) ? op->operands[1] : NULL;
}

/* |end| - 1 as a 64-bit number. */
static ct_value *put_below(cg_lift_checks *k, const ct_value *end)
{
    ct_value *x = wide(k, end), *distance = ct_build_two(&k->b, OP_maxi, x, ct_build_sub(&k->b, put_number(k, 0), x));
    if (distance)
        bc_attr_of(distance->op->from, F_maxi_signedness)->u = BC_Signedness_signed;
    return ct_build_sub(&k->b, distance, put_number(k, 1));
}

/* Is more known about the largest value of the factor at run time than at compile time? */
static bool is_asked(const cg_lift_checks *k, const ct_value *v)
{
    int64_t step;
    const ct_op *loop = cg_counted_loop(v, &step);
    return loop ? is_there(k, loop->operands[0]) && is_there(k, loop->operands[1]) && has_narrow_type(v)
                : is_there(k, v) || more_than(k, v) || most_of(k, v);
}

/* The largest value of the factor, computed at run time, as a 64-bit number. */
static ct_value *put_most(cg_lift_checks *k, const ct_value *v)
{
    int64_t step, most = known_most(v);
    const ct_op *loop = cg_counted_loop(v, &step);
    if (!loop && is_there(k, v))
        return put_end(k, OP_mini, wide(k, v), CUT);
    if (!loop && most_of(k, v))
        return put_end(k, OP_mini, put_end(k, OP_maxi, wide(k, most_of(k, v)), 0), CUT);
    if (!loop && more_than(k, v))
        return put_end(k, OP_mini, put_below(k, more_than(k, v)), most);
    if (!is_asked(k, v))
        return put_number(k, most);
    ct_value *first = wide(k, loop->operands[0]), *count = ct_build_sub(&k->b, wide(k, loop->operands[1]), first);
    count = put_end(k, OP_maxi, ct_build_sub(&k->b, count, put_number(k, 1)), 0);
    return put_end(k, OP_mini, ct_build_div_unsigned(&k->b, count, step), CUT);
}

static bool was_asked(cg_lift_checks *k, const ct_value *v)
{
    for (uint32_t i = 0; i < k->asked_count; i++)
        if (k->asked[i] == v && k->asked_of_view[i] >= k->of_view)
            return true;
    if (k->asked_count < CG_LIFT_ASKED) {
        k->asked_of_view[k->asked_count] = k->of_view;
        k->asked[k->asked_count++] = v;
    }
    return false;
}

/* The value must be at least 0. */
static void check_sign(cg_lift_checks *k, const ct_value *v)
{
    int64_t step;
    if (cg_counted_loop(v, &step) || range_of(v).low >= 0 || was_asked(k, v))
        return;
    k->any = true;
    k->failed = k->failed || !is_there(k, v);
    if (!k->dry && !k->failed)
        ask(k, wide(k, v), BC_ComparisonPredicate_greater_than_or_equal, 0);
}

/* The factor must be at least 0. The smaller one of two numbers is if both are. */
static void check_factor(cg_lift_checks *k, const ct_value *v)
{
    const ct_op *lesser = range_of(v).low < 0 && !is_there(k, v) ? lesser_of(v) : NULL;
    for (uint32_t i = 0; i < (lesser ? 2u : 1u); i++)
        check_sign(k, lesser ? lesser->operands[i] : v);
}

bool cg_lift_takes_lesser(const cg_lifted *l)
{
    const ct_op *loop = ct_loop_around(l->load);
    for (uint32_t d = 0; loop && d < l->rank; d++)
        for (uint32_t i = 0; i < l->dims[d].start.count; i++)
            for (uint32_t f = 0; f < l->dims[d].start.terms[i].count; f++) {
                const ct_value *v = l->dims[d].start.terms[i].factors[f];
                if (range_of(v).low < 0 && lesser_of(v) && ct_is_inside(v->block, loop->regions[0]))
                    return true;
            }
    return false;
}

static void check_factors(cg_lift_checks *k, const cg_poly *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t f = 0; f < p->terms[i].count; f++)
            check_factor(k, p->terms[i].factors[f]);
}

/* ---- polynomials ---- */

static int64_t place_most(const cg_lifted *l, uint32_t dim)
{
    return dim == CG_NO_DIM ? 1 : l->load->results[0].type->shape[dim] - 1;
}

static int64_t cut_product(int64_t a, int64_t b)
{
    return a >= CUT || b >= CUT ? (a && b ? CUT : 0) : a * b < CUT ? a * b : CUT;
}

static bool is_asked_of_term(const cg_lift_checks *k, const cg_term *t)
{
    for (uint32_t f = 0; f < t->count; f++)
        if (is_asked(k, t->factors[f]))
            return true;
    return false;
}

/* The largest magnitude of the sum of all terms of one sign, as known at compile time, clamped. asking: only of
   terms for which a check at run time cannot give a smaller value. */
static int64_t known_sum(const cg_lifted *l, const cg_poly *p, bool negative, const cg_lift_checks *asking)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const cg_term *t = &p->terms[i];
        if ((t->times < 0) != negative || (asking && is_asked_of_term(asking, t)))
            continue;
        int64_t most = cut_product(negative ? -t->times : t->times, place_most(l, t->dim));
        for (uint32_t f = 0; f < t->count; f++)
            most = cut_product(most, known_most(t->factors[f]));
        sum += most;
    }
    return sum < CUT ? sum : CUT;
}

static ct_value *put_product(cg_lift_checks *k, ct_value *a, ct_value *b)
{
    return put_end(k, OP_mini, ct_build_mul(&k->b, a, b), CUT);
}

static ct_value *put_sum(cg_lift_checks *k, const cg_lifted *l, const cg_poly *p, bool negative)
{
    ct_value *sum = put_number(k, 0);
    for (uint32_t i = 0; i < p->count; i++) {
        const cg_term *t = &p->terms[i];
        if ((t->times < 0) != negative)
            continue;
        int64_t times = cut_product(negative ? -t->times : t->times, place_most(l, t->dim));
        ct_value *most = put_number(k, times);
        for (uint32_t f = 0; f < t->count; f++)
            most = put_product(k, most, put_most(k, t->factors[f]));
        sum = ct_build_add(&k->b, sum, most);
    }
    return sum;
}

/* Is there a factor whose largest value is not known, neither at compile time nor at run time? */
static bool is_unknown(const cg_lift_checks *k, const cg_poly *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t f = 0; f < p->terms[i].count; f++)
            if (known_most(p->terms[i].factors[f]) == CUT && !is_asked(k, p->terms[i].factors[f]))
                return true;
    return false;
}

/* No value may be further from 0 than the limit, which is below 2^31. */
static void check_sums(cg_lift_checks *k, const cg_lifted *l, const cg_poly *p, int64_t limit)
{
    for (uint32_t negative = 0; negative < 2; negative++) {
        if (known_sum(l, p, negative, NULL) <= limit)
            continue;
        k->any = true;
        k->failed = k->failed || is_unknown(k, p) || known_sum(l, p, negative, k) > limit;
        if (!k->dry && !k->failed)
            ask(k, put_sum(k, l, p, negative), BC_ComparisonPredicate_less_than_or_equal, limit);
    }
}

/* Every value of the dividend must be below the divisor, so that it is its own remainder. */
static void check_inside(cg_lift_checks *k, const cg_lifted *l, const cg_wrapped *w)
{
    check_factors(k, &w->x);
    if (has_narrow_type(w->extent) && known_sum(l, &w->x, false, NULL) < range_of(w->extent).low)
        return;
    k->any = true;
    k->failed = k->failed || !is_there(k, w->extent) || !has_narrow_type(w->extent) || is_unknown(k, &w->x)
                || known_sum(l, &w->x, false, k) >= range_of(w->extent).high;
    if (k->dry || k->failed)
        return;
    ct_value *most = put_sum(k, l, &w->x, false);
    ask(k, ct_build_sub(&k->b, most, wide(k, w->extent)), BC_ComparisonPredicate_less_than, 0);
}

/* ---- alignment ---- */

static uint32_t divisor_of_factor(const ct_value *v)
{
    int64_t step;
    return cg_counted_loop(v, &step) || !v->fact ? 0 : v->fact->divisor;
}

static uint32_t divisor_of_term(const cg_term *t)
{
    uint32_t bits = cg_divisor_of((uint64_t)t->times);
    for (uint32_t f = 0; f < t->count; f++)
        bits += divisor_of_factor(t->factors[f]);
    return bits < CG_DIVISOR_OF_ZERO ? bits : CG_DIVISOR_OF_ZERO;
}

uint32_t cg_lift_divisor(const cg_poly *p)
{
    uint32_t bits = CG_DIVISOR_OF_ZERO;
    for (uint32_t i = 0; i < p->count; i++)
        bits = divisor_of_term(&p->terms[i]) < bits ? divisor_of_term(&p->terms[i]) : bits;
    return bits;
}

static ct_value *put_poly(cg_lift_checks *k, const cg_poly *p)
{
    ct_value *sum = put_number(k, 0);
    for (uint32_t i = 0; i < p->count; i++) {
        ct_value *term = put_number(k, p->terms[i].times);
        for (uint32_t f = 0; f < p->terms[i].count; f++)
            term = ct_build_mul(&k->b, term, wide(k, p->terms[i].factors[f]));
        sum = ct_build_add(&k->b, sum, term);
    }
    return sum;
}

static void ask_divisor(cg_lift_checks *k, ct_value *x, uint32_t bits)
{
    ask(k, ct_build_two(&k->b, OP_andi, x, put_number(k, ((int64_t)1 << bits) - 1)), BC_ComparisonPredicate_equal, 0);
}

/* 2^bits must divide the polynomial. */
static void check_divisor(cg_lift_checks *k, const cg_poly *p, uint32_t bits)
{
    if (cg_lift_divisor(p) >= bits)
        return;
    k->any = k->divides = true;
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t f = 0; f < p->terms[i].count; f++)
            k->failed = k->failed || !is_there(k, p->terms[i].factors[f]);
    if (!k->dry && !k->failed)
        ask_divisor(k, put_poly(k, p), bits);
}

static void check_base(cg_lift_checks *k, const ct_value *base, uint32_t bits)
{
    if (!bits || (base->fact && base->fact->divisor >= bits))
        return;
    k->any = k->divides = true;
    k->failed = k->failed || !is_there(k, base);
    if (k->dry || k->failed)
        return;
    ct_value *v = (ct_value *)(uintptr_t)base;
    ask_divisor(k, ct_build(&k->b, OP_ptr_to_int, ct_scalar_type(k->b.f, BC_I64), &v, 1), bits);
}

/* ---- all conditions ---- */

static cg_poly of_term(const cg_term *t)
{
    cg_poly p = {1, {*t}};
    p.terms[0].dim = CG_NO_DIM;
    return p;
}

/* log2 of the bytes of an element; 0 for 4-bit elements. */
static uint32_t element_bits(const cg_lifted *l)
{
    return cg_divisor_of(bc_kind_memory_bytes(bc_elem_kind(l->load->results[0].type)) | CUT);
}

uint32_t cg_lift_chunk_bits(const cg_lifted *l)
{
    return l->byte_bits > element_bits(l) ? l->byte_bits - element_bits(l) : 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t cg_lift_known_bits(const cg_lifted *l)
{
    uint32_t elements = cg_lift_divisor(&l->rest), bytes = l->base->fact ? l->base->fact->divisor : 0;
    for (uint32_t d = 0; d < l->rank; d++) {
        if (d == l->contiguous)
            elements = least(elements, cg_lift_divisor(&l->dims[d].start));
        if (d == l->contiguous && l->dims[d].is_masked)
            elements = least(elements, cg_lift_divisor(&l->dims[d].extent));
        else if (d != l->contiguous)
            elements = least(elements, divisor_of_term(&l->dims[d].stride));
    }
    return least(least(bytes, elements + element_bits(l)), CG_LIFT_CHUNK_BITS);
}

bool cg_lift_is_aligned(const cg_lifted *l)
{
    uint32_t bits = l->byte_bits;
    return (!bits || (l->base->fact && l->base->fact->divisor >= bits))
           && cg_lift_divisor(&l->rest) >= cg_lift_chunk_bits(l);
}

/* The conditions for the dimensions, and the base, of the view. */
static void check_view(cg_lift_checks *k, const cg_lifted *l)
{
    uint32_t aligned = cg_lift_chunk_bits(l);
    k->of_view = true;
    check_base(k, l->base, l->byte_bits);
    check_divisor(k, &l->rest, aligned);
    for (uint32_t d = 0; d < l->rank; d++) {
        const cg_lift_dim *dim = &l->dims[d];
        cg_poly stride = of_term(&dim->stride);
        check_factors(k, &stride);
        check_sums(k, l, &stride, CG_LIFT_REACH);
        if (d != l->contiguous)
            check_divisor(k, &stride, aligned);
        if (!dim->is_masked)
            continue;
        check_factors(k, &dim->extent);
        check_sums(k, l, &dim->extent, CG_LIFT_REACH);
        if (d == l->contiguous)
            check_divisor(k, &dim->extent, aligned);
    }
    k->of_view = false;
}

/* ---- views of tensors with incomplete promises ---- */

const ct_value *cg_lift_size(const ct_op *tensor, int row, const int64_t *sizes, uint32_t dim)
{
    uint32_t operand = ct_operand_range(tensor, row).first;
    for (uint32_t d = 0; d < dim; d++)
        operand += sizes[d] == BC_DYNAMIC;
    return sizes[dim] == BC_DYNAMIC ? tensor->operands[operand] : NULL;
}

/* An extent or a stride must have at least 32 bits, be at least 0, and be a multiple of 2^bits. */
static void check_size(cg_lift_checks *k, const ct_value *v, int64_t number, uint32_t bits)
{
    if (!v || range_of(v).low == range_of(v).high) {
        k->failed = k->failed || cg_divisor_of((uint64_t)(v ? range_of(v).low : number)) < bits;
        return;
    }
    const cg_poly p = {1, {{.times = 1, .count = 1, .dim = CG_NO_DIM, .factors = {v}}}};
    k->failed = k->failed || bc_kind_bits(bc_elem_kind(v->type)) < 32;
    check_factor(k, v);
    check_divisor(k, &p, bits);
}

/* Can the tensor be given no elements, if its address turns out not to suit tensor maps? */
static bool may_be_empty(const cg_lifted *l, const ct_value *base, const bc_type *type)
{
    bool may = base->fact && base->fact->divisor >= l->byte_bits;
    for (uint32_t d = 0; d < type->rank; d++)
        may = may || type->shape[d] == BC_DYNAMIC;
    return may;
}

/* The conditions under which tiles of the tensor can be copied in chunks of 16 bytes. */
static void check_tensor(cg_lift_checks *k, const cg_lifted *l)
{
    const ct_op *tensor = l->tensor;
    const bc_type *type = tensor->results[0].type;
    uint32_t aligned = cg_lift_chunk_bits(l), contiguous = 0;
    const ct_value *base = ct_operand(tensor, F_make_tensor_view_base);
    k->of_view = true;
    k->failed = k->failed || !may_be_empty(l, base, type);
    check_base(k, base, l->byte_bits);
    for (uint32_t d = 0; d < type->rank; d++) {
        bool along = type->strides[d] == 1;
        contiguous += along;
        check_size(k, cg_lift_size(tensor, F_make_tensor_view_dynamic_shape, type->shape, d), type->shape[d],
                   along ? aligned : 0);
        check_size(k, cg_lift_size(tensor, F_make_tensor_view_dynamic_strides, type->strides, d), type->strides[d],
                   along ? 0 : aligned);
    }
    k->failed = k->failed || contiguous != 1 || !is_there(k, l->load->operands[0]);
    k->of_view = false;
}

static bool are_there(const cg_lift_checks *k, const cg_poly *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t f = 0; f < p->terms[i].count; f++)
            if (!is_there(k, p->terms[i].factors[f]))
                return false;
    return true;
}

bool cg_lift_is_there(const cg_lift_checks *k, const cg_lifted *l)
{
    if (l->unwraps || l->tensor)
        return l->unwraps || is_there(k, l->load->operands[0]);
    bool there = is_there(k, l->base) && are_there(k, &l->rest);
    for (uint32_t d = 0; there && d < l->rank; d++) {
        cg_poly stride = of_term(&l->dims[d].stride);
        there = are_there(k, &stride) && are_there(k, &l->dims[d].extent);
    }
    return there;
}

void cg_lift_check_start(cg_lift_checks *k, const cg_lifted *l, const cg_lift_dim *dim)
{
    check_factors(k, &dim->start);
    check_sums(k, l, &dim->start, (dim->is_masked ? CG_LIFT_REACH : CG_LIFT_UNBOUND) - dim->size);
}

/* The conditions under which the remainders in `inside` are their dividends: these are what the polynomials say up to
   multiples of 2^32, and the same number where that is at least 0 and below an extent of 32 bits. */
static void check_all_inside(cg_lift_checks *k, const cg_lifted *l)
{
    for (uint32_t i = 0; i < l->affine.wrapped_count; i++)
        if (l->inside >> i & 1)
            check_inside(k, l, &l->affine.wrapped[i]);
}

void cg_lift_check(cg_lift_checks *k, const cg_lifted *l)
{
    if (l->unwraps) {
        check_all_inside(k, l);
        return;
    }
    if (l->tensor) {
        check_tensor(k, l);
        return;
    }
    check_view(k, l);
    for (uint32_t d = 0; d < l->rank; d++) {
        const cg_lift_dim *dim = &l->dims[d];
        cg_lift_check_start(k, l, dim);
        k->failed = k->failed || (d == l->contiguous && cg_lift_divisor(&dim->start) < cg_lift_chunk_bits(l));
    }
    for (uint32_t i = 0; i < l->affine.widened_count; i++) {
        check_factors(k, &l->affine.widened[i]);
        check_sums(k, l, &l->affine.widened[i], CG_LIFT_REACH);
    }
    check_all_inside(k, l);
}

/* See the header. */
#include "codegen/facts/affine.h"

#include <assert.h>

#include "codegen/facts/facts.h"
#include "codegen/facts/recurrence.h"

enum { MOST_DEPTH = 40, WIDE = 64 };

/* The tile dimension to which each dimension of a value corresponds. */
typedef struct places {
    uint8_t at[CG_AFFINE_DIMS]; /* CG_NO_DIM: none; any value for a dimension of one element */
} places;

/* ---- sums and products ---- */

static bool product_fits(int64_t a, int64_t b, int64_t *out)
{
    const int64_t most = (int64_t)1 << 31;
    if (a < -most || a > most || b < -most || b > most)
        return false;
    *out = a * b;
    return true;
}

/* The value without promises. */
static const ct_value *promised(const ct_value *v)
{
    while (v->op && v->op->opcode == OP_assume)
        v = v->op->operands[0];
    return v;
}

bool cg_is_same_factor(const ct_value *a, const ct_value *b)
{
    return promised(a) == promised(b);
}

static bool is_like(const cg_term *a, const cg_term *b)
{
    bool same = a->count == b->count && a->dim == b->dim;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = cg_is_same_factor(a->factors[i], b->factors[i]);
    return same;
}

bool cg_poly_add_term(cg_poly *sum, const cg_term *term)
{
    const int64_t most = (int64_t)1 << 61;
    for (uint32_t i = 0; i < sum->count; i++) {
        cg_term *t = &sum->terms[i];
        if (!is_like(t, term))
            continue;
        if (t->times > most || t->times < -most || term->times > most || term->times < -most)
            return false;
        t->times += term->times;
        if (!t->times)
            *t = sum->terms[--sum->count];
        return true;
    }
    if (!term->times)
        return true;
    if (sum->count == CG_MOST_TERMS)
        return false;
    sum->terms[sum->count++] = *term;
    return true;
}

bool cg_poly_add(cg_poly *sum, const cg_poly *other, int64_t times)
{
    for (uint32_t i = 0; i < other->count; i++) {
        cg_term t = other->terms[i];
        if (!product_fits(t.times, times, &t.times) || !cg_poly_add_term(sum, &t))
            return false;
    }
    return true;
}

static bool multiply_terms(const cg_term *a, const cg_term *b, cg_term *out)
{
    *out = *a;
    if (a->count + b->count > CG_MOST_FACTORS || (a->dim != CG_NO_DIM && b->dim != CG_NO_DIM)
        || !product_fits(a->times, b->times, &out->times))
        return false;
    out->dim = a->dim != CG_NO_DIM ? a->dim : b->dim;
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t at = out->count++;
        for (; at && promised(out->factors[at - 1])->id > promised(b->factors[i])->id; at--)
            out->factors[at] = out->factors[at - 1];
        out->factors[at] = b->factors[i];
    }
    return true;
}

bool cg_poly_multiply(const cg_poly *a, const cg_poly *b, cg_poly *out)
{
    *out = (cg_poly){0};
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++) {
            cg_term t;
            if (!multiply_terms(&a->terms[i], &b->terms[k], &t) || !cg_poly_add_term(out, &t))
                return false;
        }
    return true;
}

static cg_poly of_number(int64_t number)
{
    cg_poly p = {0};
    cg_term t = {.times = number, .dim = CG_NO_DIM};
    if (number)
        p.terms[p.count++] = t;
    return p;
}

static cg_poly of_factor(const ct_value *v, int64_t times)
{
    return (cg_poly){1, {{.times = times, .count = 1, .dim = CG_NO_DIM, .factors = {v}}}};
}

/* ---- values ---- */

typedef struct walk {
    cg_affine *a;
    uint32_t depth;
} walk;

static bool of_value(walk *w, ct_value *v, const places *p, cg_poly *out);

const ct_op *cg_counted_loop(const ct_value *v, int64_t *out_step)
{
    const ct_op *loop = v->op ? NULL : v->block->parent;
    if (!loop || loop->opcode != OP_for || v->number || ct_attr_u(loop, F_for_unsigned_cmp))
        return NULL;
    return ct_is_constant(loop->operands[2], out_step) && *out_step > 0 ? loop : NULL;
}

/* A counter is its first value plus its step times the number of the iteration; any other scalar is a factor. */
static bool of_scalar(walk *w, ct_value *v, cg_poly *out)
{
    int64_t step;
    const places none = {{0}};
    const ct_op *loop = cg_counted_loop(v, &step);
    *out = of_factor(v, 1);
    if (!loop)
        return bc_kind_in(bc_elem_kind(v->type), BC_SET_INT);
    cg_poly count = of_factor(v, step);
    return of_value(w, loop->operands[0], &none, out) && cg_poly_add(out, &count, 1);
}

static bool is_positive(const ct_value *v)
{
    return v->fact && cg_range_of(v).low >= 0;
}

/* Is the polynomial one scalar, or the number of an iteration, unchanged? */
static bool is_plain(const cg_poly *p)
{
    const cg_term *t = p->terms;
    int64_t step;
    if (p->count != 1 || t->dim != CG_NO_DIM || !t->count)
        return p->count == 0 || (p->count == 1 && t->dim == CG_NO_DIM);
    const ct_op *loop = cg_counted_loop(t->factors[0], &step);
    return t->count == 1 && t->times == 1 && (!loop || is_positive(loop->operands[0]));
}

/* is_signed: otherwise the value is read as unsigned and must also be at least 0, as its factors must. */
static bool add_widened(cg_affine *a, const cg_poly *p, bool is_signed)
{
    if (is_plain(p) && (is_signed || p->count == 0 || !p->terms[0].count || is_positive(p->terms[0].factors[0])))
        return true;
    if (a->widened_count == CG_MOST_WIDENED)
        return false;
    a->widened[a->widened_count++] = *p;
    return true;
}

/* Notes that the value is extended. False: it has less than 32 bits. */
static bool widen(walk *w, const ct_value *from, const cg_poly *p, bool is_signed)
{
    unsigned bits = bc_kind_bits(bc_elem_kind(from->type));
    return bits == WIDE || (bits == 32 && add_widened(w->a, p, is_signed));
}

/* The dimensions of a reshape's operand: those with more than one element keep their order. */
static bool reshaped(const bc_type *to, const bc_type *from, const places *p, places *out)
{
    uint32_t t = 0;
    for (uint32_t s = 0; s < from->rank; s++) {
        out->at[s] = CG_NO_DIM;
        if (from->shape[s] == 1)
            continue;
        while (t < to->rank && to->shape[t] == 1)
            t++;
        if (t == to->rank || to->shape[t] != from->shape[s])
            return false;
        out->at[s] = p->at[t++];
    }
    while (t < to->rank && to->shape[t] == 1)
        t++;
    return t == to->rank;
}

/* The dimensions of the operand of an op that moves elements. */
static bool moved(const ct_op *op, const places *p, places *out)
{
    const bc_type *from = op->operands[0]->type, *to = op->results[0].type;
    *out = *p;
    if (from->rank > CG_AFFINE_DIMS)
        return false;
    switch ((int)op->opcode) {
    case OP_reshape: return reshaped(to, from, p, out);
    case OP_permute:
        for (uint32_t d = 0; d < from->rank; d++)
            out->at[ct_attr_of(op, F_permute_permutation)->ints->ptr[d]] = p->at[d];
        return true;
    default:
        return op->opcode == OP_broadcast
               || op->opcode == OP_assume; /* the position along a dimension of one element does not matter */
    }
}

static unsigned bits_of(const ct_value *v)
{
    return bc_kind_bits(bc_elem_kind(v->type));
}

/* The difference between a counter and its start, divided without remainder, if no bits are lost. */
static bool of_quotient(walk *w, const ct_op *op, const places *p, cg_poly *out)
{
    int64_t by, step;
    cg_poly whole;
    if (!ct_is_constant(op->operands[1], &by) || by <= 0 || !of_value(w, op->operands[0], p, &whole)
        || whole.count != 1)
        return false;
    cg_term *t = &whole.terms[0];
    const ct_op *loop = t->count == 1 && t->dim == CG_NO_DIM ? cg_counted_loop(t->factors[0], &step) : NULL;
    bool is_signed = ct_attr_u(op, F_divi_signedness) == BC_Signedness_signed;
    if (!loop || bits_of(op->operands[0]) < bits_of(t->factors[0]) || t->times != step || step % by != 0
        || (is_signed && !is_positive(loop->operands[0])))
        return false;
    t->times /= by;
    *out = whole;
    return true;
}

/* x % extent, taken as x if elements that wrap around may be ignored. */
static bool of_remainder(walk *w, const ct_op *op, const places *p, cg_poly *out)
{
    const ct_value *extent = cg_uniform_of(op->operands[1]);
    cg_affine *a = w->a;
    if (!a->wraps || !extent || a->wrapped_count == CG_MOST_REMAINDERS
        || ct_attr_u(op, F_remi_signedness) != BC_Signedness_signed || !of_value(w, op->operands[0], p, out)
        || !widen(w, op->operands[0], out, true))
        return false;
    a->wrapped[a->wrapped_count++] = (cg_wrapped){op, *out, extent};
    return true;
}

static bool of_two(walk *w, const ct_op *op, const places *p, cg_poly *out)
{
    cg_poly a, b;
    if (!of_value(w, op->operands[0], p, &a) || !of_value(w, op->operands[1], p, &b))
        return false;
    if (op->opcode == OP_muli)
        return cg_poly_multiply(&a, &b, out);
    *out = a;
    if (op->opcode != OP_shli)
        return cg_poly_add(out, &b, op->opcode == OP_subi ? -1 : 1);
    bool is_number = b.count == 0 || (b.count == 1 && !b.terms[0].count && b.terms[0].dim == CG_NO_DIM);
    int64_t by = b.count ? b.terms[0].times : 0;
    *out = (cg_poly){0};
    return is_number && by >= 0 && by < 31 && cg_poly_add(out, &a, (int64_t)1 << by);
}

/* A scalar with a promise becomes a factor, so that the promise is kept. */
static bool of_promise(walk *w, ct_value *v, const places *p, cg_poly *out)
{
    cg_term *t = out->terms;
    int64_t step;
    if (!of_value(w, v->op->operands[0], p, out))
        return false;
    if (!v->type->rank && out->count == 1 && t->count == 1 && t->times == 1 && t->dim == CG_NO_DIM
        && !cg_counted_loop(t->factors[0], &step) && promised(t->factors[0]) == promised(v))
        t->factors[0] = v;
    return true;
}

static bool of_op(walk *w, ct_value *v, const places *p, cg_poly *out)
{
    const ct_op *op = v->op;
    int64_t number;
    places inner;
    switch ((int)op->opcode) {
    case OP_constant:
        if (!ct_constant_value(op, &number))
            return false;
        *out = of_number(number);
        return true;
    case OP_iota:
        assert(v->type->shape[0] > 1); /* the index of a single element is a constant by now (simplify.c) */
        *out = (cg_poly){1, {{.times = 1, .dim = p->at[0]}}};
        out->count = p->at[0] != CG_NO_DIM;
        return true;
    case OP_addi:
    case OP_subi:
    case OP_muli:
    case OP_shli: return of_two(w, op, p, out);
    case OP_divi: return of_quotient(w, op, p, out);
    case OP_remi: return v->type->rank && of_remainder(w, op, p, out);
    case OP_exti:
        return of_value(w, op->operands[0], p, out)
               && widen(w, op->operands[0], out, ct_attr_u(op, F_exti_signedness) == BC_Signedness_signed);
    case OP_trunci: return of_value(w, op->operands[0], p, out);
    case OP_assume: return of_promise(w, v, p, out);
    case OP_reshape:
    case OP_broadcast:
    case OP_permute: return moved(op, p, &inner) && of_value(w, op->operands[0], &inner, out);
    default: return false;
    }
}

static bool of_value(walk *w, ct_value *v, const places *p, cg_poly *out)
{
    cg_affine *a = w->a;
    uint32_t widened = a->widened_count, wrapped = a->wrapped_count;
    if (!w->depth || !bc_is_tile(v->type) || v->type->rank > CG_AFFINE_DIMS)
        return false;
    w->depth--;
    bool known = v->op && of_op(w, v, p, out);
    w->depth++;
    if (known)
        return true;
    a->widened_count = widened;
    a->wrapped_count = wrapped;
    return !v->type->rank && of_scalar(w, v, out);
}

static places all_places(const ct_value *v)
{
    places p;
    for (uint32_t d = 0; d < CG_AFFINE_DIMS; d++)
        p.at[d] = d < v->type->rank && v->type->shape[d] > 1 ? (uint8_t)d : CG_NO_DIM;
    return p;
}

bool cg_poly_of(cg_affine *a, ct_value *v, cg_poly *out)
{
    walk w = {a, MOST_DEPTH};
    places p = all_places(v);
    return of_value(&w, v, &p, out);
}

/* ---- pointers ---- */

/* A scalar pointer without the offsets added to it; promises about it are kept. */
static ct_value *scalar_base(walk *w, ct_value *v, const places *p, cg_poly *sum)
{
    for (;;) {
        const ct_op *op = v->op;
        while (op && op->opcode == OP_assume)
            op = op->operands[0]->op;
        cg_poly more;
        if (!op || op->opcode != OP_offset)
            return v;
        if (!of_value(w, op->operands[1], p, &more) || !widen(w, op->operands[1], &more, true)
            || !cg_poly_add(sum, &more, 1))
            return NULL;
        v = op->operands[0];
    }
}

static ct_value *base_of(walk *w, ct_value *v, places p, cg_poly *sum)
{
    for (uint32_t depth = MOST_DEPTH; depth && v->type->rank && v->op; depth--) {
        const ct_op *op = v->op;
        cg_poly more;
        if (op->opcode == OP_offset) {
            if (!of_value(w, op->operands[1], &p, &more) || !widen(w, op->operands[1], &more, true)
                || !cg_poly_add(sum, &more, 1))
                return NULL;
        } else {
            places inner;
            if (!bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE) | BC_OPS(SAME)) || !moved(op, &p, &inner))
                return NULL;
            p = inner;
        }
        v = op->operands[0];
    }
    return v->type->rank ? NULL : scalar_base(w, v, &p, sum);
}

bool cg_pointers_of(cg_affine *a, ct_value *v, ct_value **out_base, cg_poly *out)
{
    walk w = {a, MOST_DEPTH};
    *out = (cg_poly){0};
    *out_base = v->type->rank <= CG_AFFINE_DIMS ? base_of(&w, v, all_places(v), out) : NULL;
    return *out_base;
}

/* ---- masks ---- */

typedef struct demands {
    walk w;
    cg_poly *out;
    uint32_t most, count;
} demands;

/* left < right, or left <= right, as left - right < 0. Both sides must have 31 bits, so that the difference does not
   wrap. */
static bool of_comparison(demands *d, const ct_op *op, const places *p)
{
    uint64_t predicate = ct_attr_u(op, F_cmpi_comparison_predicate);
    bool swapped = predicate == BC_ComparisonPredicate_greater_than
                   || predicate == BC_ComparisonPredicate_greater_than_or_equal,
         or_equal = predicate == BC_ComparisonPredicate_less_than_or_equal
                    || predicate == BC_ComparisonPredicate_greater_than_or_equal;
    cg_poly sides[2], *out = &d->out[d->count];
    if (predicate == BC_ComparisonPredicate_equal || predicate == BC_ComparisonPredicate_not_equal
        || ct_attr_u(op, F_cmpi_signedness) != BC_Signedness_signed || d->count == d->most)
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (!of_value(&d->w, op->operands[swapped ? 1 - i : i], p, &sides[i])
            || bc_kind_bits(bc_elem_kind(op->operands[0]->type)) < 32 || !add_widened(d->w.a, &sides[i], true))
            return false;
    cg_poly less = of_number(or_equal ? -1 : 0);
    *out = sides[0];
    d->count++;
    return cg_poly_add(out, &sides[1], -1) && cg_poly_add(out, &less, 1);
}

static bool demands_of(demands *d, ct_value *mask, const places *p, uint32_t depth)
{
    const ct_op *op = mask->op;
    places inner;
    int64_t number;
    if (!op || !depth)
        return false;
    switch ((int)op->opcode) {
    case OP_andi: return demands_of(d, op->operands[0], p, depth - 1) && demands_of(d, op->operands[1], p, depth - 1);
    case OP_constant: return ct_constant_value(op, &number) && number;
    case OP_cmpi: return of_comparison(d, op, p);
    default:
        return bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE) | BC_OPS(SAME)) && moved(op, p, &inner)
               && demands_of(d, op->operands[0], &inner, depth - 1);
    }
}

bool cg_mask_of(cg_affine *a, ct_value *mask, cg_poly *out, uint32_t most, uint32_t *out_count)
{
    demands d = {.w = {a, MOST_DEPTH}, .out = out, .most = most};
    places p = all_places(mask);
    bool known = mask->type->rank <= CG_AFFINE_DIMS && demands_of(&d, mask, &p, MOST_DEPTH);
    *out_count = d.count;
    return known;
}

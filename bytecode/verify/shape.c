/* Relations of the ops that build and move tiles, and of the promises of assume. Source: core operation reference,
   sections 6 and 7. */
#include "bytecode/verify/verify.h"

/* ---- iota, broadcast, reshape, permute ---- */

void verify_iota(bc_verifier *v, const bc_op *op)
{
    const bc_type *t = bc_type_of(op, F_iota_result);
    unsigned bits = bc_kind_bits((bc_kind)t->elem->kind);
    if (t->rank != 1)
        bc_wrong(v, op, F_iota_result, 0, BC_RULE_V_IOT_01, "is %s; it must have one dimension", bc_type_words(v, t));
    else if (bits < 32 && t->shape[0] > INT64_C(1) << bits)
        bc_wrong(v, op, F_iota_result, 0, BC_RULE_V_IOT_03, "is %s, but %s counts only to %lld", bc_type_words(v, t),
                 bc_type_words(v, t->elem), (1LL << bits) - 1);
}

static bool same_rank(bc_verifier *v, const bc_op *op, int row, int other, bc_rule rule)
{
    const bc_type *a = bc_type_of(op, row), *b = bc_type_of(op, other);
    if (TV_LIKELY(a->rank == b->rank))
        return true;
    return bc_wrong(v, op, row, 0, rule, "has %u dimension%s (%s), but %s has %u (%s)", a->rank, bc_plural(a->rank),
                    bc_type_words(v, a), bc_field_words(v, op, other, 0), b->rank, bc_type_words(v, b));
}

void verify_broadcast(bc_verifier *v, const bc_op *op)
{
    const bc_type *from = bc_type_of(op, F_broadcast_source), *to = bc_type_of(op, F_broadcast_result);
    if (!same_rank(v, op, F_broadcast_result, F_broadcast_source, BC_RULE_V_BRO_01)
        || !bc_need_same_element(v, op, F_broadcast_result, F_broadcast_source, BC_RULE_V_BRO_02))
        return;
    for (uint32_t d = 0; d < from->rank; d++)
        if (from->shape[d] != 1 && from->shape[d] != to->shape[d]) {
            bc_wrong(v, op, F_broadcast_source, 0, BC_RULE_V_BRO_03,
                     "is %s: dimension %u is %lld, which cannot become the result's %lld", bc_type_words(v, from), d,
                     (long long)from->shape[d], (long long)to->shape[d]);
            return;
        }
}

void verify_reshape(bc_verifier *v, const bc_op *op)
{
    const bc_type *from = bc_type_of(op, F_reshape_source), *to = bc_type_of(op, F_reshape_result);
    if (!bc_need_same_element(v, op, F_reshape_result, F_reshape_source, BC_RULE_V_RSH_01))
        return;
    int64_t had = bc_shape_elems(from->shape, from->rank), has = bc_shape_elems(to->shape, to->rank);
    if (had != has)
        bc_wrong(v, op, F_reshape_result, 0, BC_RULE_V_RSH_02, "is %s of %lld elements, but the operand %s has %lld",
                 bc_type_words(v, to), (long long)has, bc_type_words(v, from), (long long)had);
}

static bool check_permutation(bc_verifier *v, const bc_op *op, const bc_ints *permutation, uint32_t rank)
{
    if (permutation->count != rank)
        return bc_wrong(v, op, F_permute_permutation, 0, BC_RULE_V_PER_02, "has %u %s; the operand has %u dimensions",
                        permutation->count, permutation->count == 1 ? "entry" : "entries", rank);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t from = permutation->ptr[i];
        if (from < 0 || from >= rank)
            return bc_wrong(v, op, F_permute_permutation, 0, BC_RULE_V_PER_04,
                            "has the entry %lld; the operand has the dimensions 0 to %u", (long long)from, rank - 1);
        if (seen >> from & 1)
            return bc_wrong(v, op, F_permute_permutation, 0, BC_RULE_V_PER_03, "has the entry %lld twice",
                            (long long)from);
        seen |= UINT64_C(1) << from;
    }
    return true;
}

void verify_permute(bc_verifier *v, const bc_op *op)
{
    const bc_type *from = bc_type_of(op, F_permute_source), *to = bc_type_of(op, F_permute_result);
    const bc_ints *permutation = bc_attr_of(op, F_permute_permutation)->ints;
    if (from->rank < 2) {
        bc_wrong(v, op, F_permute_source, 0, BC_RULE_V_PER_01, "is %s; it must have two dimensions or more",
                 bc_type_words(v, from));
        return;
    }
    if (!same_rank(v, op, F_permute_result, F_permute_source, BC_RULE_V_PER_06)
        || !bc_need_same_element(v, op, F_permute_result, F_permute_source, BC_RULE_V_PER_06)
        || !check_permutation(v, op, permutation, from->rank))
        return;
    for (uint32_t i = 0; i < from->rank; i++)
        if (to->shape[i] != from->shape[permutation->ptr[i]]) {
            bc_wrong(v, op, F_permute_result, 0, BC_RULE_V_PER_05,
                     "is %s: dimension %u is %lld, but dimension %lld of the operand %s is %lld", bc_type_words(v, to),
                     i, (long long)to->shape[i], (long long)permutation->ptr[i], bc_type_words(v, from),
                     (long long)from->shape[permutation->ptr[i]]);
            return;
        }
}

/* ---- cat, extract, insert ---- */

void verify_cat(bc_verifier *v, const bc_op *op)
{
    const bc_type *l = bc_type_of(op, F_cat_lhs), *r = bc_type_of(op, F_cat_rhs), *to = bc_type_of(op, F_cat_result);
    uint64_t dim = bc_attr_u(op, F_cat_dim);
    if (!same_rank(v, op, F_cat_rhs, F_cat_lhs, BC_RULE_V_CAT_01)
        || !same_rank(v, op, F_cat_result, F_cat_lhs, BC_RULE_V_CAT_01)
        || !bc_need_same_element(v, op, F_cat_rhs, F_cat_lhs, BC_RULE_V_CAT_01)
        || !bc_need_same_element(v, op, F_cat_result, F_cat_lhs, BC_RULE_V_CAT_01))
        return;
    if (dim >= to->rank) {
        bc_wrong(v, op, F_cat_dim, 0, BC_RULE_V_CAT_02, "is %lld; the tiles have %u dimension%s", (long long)dim,
                 to->rank, bc_plural(to->rank));
        return;
    }
    for (uint32_t d = 0; d < to->rank; d++) {
        if (d == dim && l->shape[d] + r->shape[d] != to->shape[d])
            bc_wrong(v, op, F_cat_result, 0, BC_RULE_V_CAT_03,
                     "is %s: dimension %u is %lld, but the operands add up to %lld", bc_type_words(v, to), d,
                     (long long)to->shape[d], (long long)(l->shape[d] + r->shape[d]));
        else if (d != dim && (l->shape[d] != to->shape[d] || r->shape[d] != to->shape[d]))
            bc_wrong(v, op, F_cat_result, 0, BC_RULE_V_CAT_04,
                     "is %s: dimension %u is %lld, but %lld and %lld in the operands", bc_type_words(v, to), d,
                     (long long)to->shape[d], (long long)l->shape[d], (long long)r->shape[d]);
        else
            continue;
        return;
    }
}

/* extract and insert see the larger tile as a grid of slices; an index picks one in each dimension. */
typedef struct slicing {
    int whole, slice, indices; /* rows */
    bc_rule divide, count, range;
    const char *noun;
} slicing;

/* The number in an i32 scalar that is a constant. */
static bool constant_index(const bc_value *value, int64_t *out)
{
    if (!value->op || value->op->opcode != OP_constant)
        return false;
    const bc_blob *blob = bc_attr_of(value->op, F_constant_value)->blob;
    if (blob->len != 4)
        return false;
    uint32_t bits = blob->ptr[0] | (uint32_t)blob->ptr[1] << 8 | (uint32_t)blob->ptr[2] << 16
                    | (uint32_t)blob->ptr[3] << 24;
    *out = (int32_t)bits;
    return true;
}

static void check_slicing(bc_verifier *v, const bc_op *op, const slicing *s)
{
    const bc_type *whole = bc_type_of(op, s->whole), *slice = bc_type_of(op, s->slice);
    for (uint32_t d = 0; d < whole->rank; d++)
        if (whole->shape[d] % slice->shape[d] != 0) {
            bc_wrong(v, op, s->slice, 0, s->divide, "is %s: dimension %u is %lld, which does not divide the %s's %lld",
                     bc_type_words(v, slice), d, (long long)slice->shape[d], s->noun, (long long)whole->shape[d]);
            return;
        }
    uint32_t count = bc_operand_range(op, s->indices).count;
    if (count != whole->rank) {
        bc_wrong(v, op, BC_NO_ROW, 0, s->count, "has %u %s; the %s %s has %u dimension%s", count,
                 count == 1 ? "index" : "indices", s->noun, bc_type_words(v, whole), whole->rank,
                 bc_plural(whole->rank));
        return;
    }
    for (uint32_t d = 0; d < whole->rank; d++) {
        int64_t index, slices = whole->shape[d] / slice->shape[d];
        if (constant_index(bc_operand_of(op, s->indices, d), &index) && (index < 0 || index >= slices))
            bc_wrong(v, op, s->indices, d, s->range, "is %lld; there are %lld slices in dimension %u", (long long)index,
                     (long long)slices, d);
    }
}

void verify_extract(bc_verifier *v, const bc_op *op)
{
    static const slicing s = {F_extract_source, F_extract_result, F_extract_indices, BC_RULE_V_EXT_03,
                              BC_RULE_V_EXT_04, BC_RULE_V_EXT_06, "source"};
    if (same_rank(v, op, F_extract_result, F_extract_source, BC_RULE_V_EXT_01)
        && bc_need_same_element(v, op, F_extract_result, F_extract_source, BC_RULE_V_EXT_02))
        check_slicing(v, op, &s);
}

void verify_insert(bc_verifier *v, const bc_op *op)
{
    static const slicing s = {F_insert_destination, F_insert_source,  F_insert_indices, BC_RULE_V_INS_03,
                              BC_RULE_V_INS_04,     BC_RULE_V_INS_06, "destination"};
    if (bc_need_same_type(v, op, F_insert_result, F_insert_destination, BC_RULE_V_INS_01)
        && same_rank(v, op, F_insert_source, F_insert_destination, BC_RULE_V_INS_02)
        && bc_need_same_element(v, op, F_insert_source, F_insert_destination, BC_RULE_V_INS_02))
        check_slicing(v, op, &s);
}

/* ---- assume ---- */

static bool is_int_or_i4(const bc_type *t)
{
    return bc_is_tile(t) && bc_kind_in((bc_kind)t->elem->kind, BC_SET_INT | BC_SET(I4));
}

static bool is_int_or_ptr(const bc_type *t)
{
    return is_int_or_i4(t) || (bc_is_tile(t) && t->elem->kind == BC_PTR);
}

static bool check_runs(bc_verifier *v, const bc_op *op, const bc_tagged *p, const bc_type *t)
{
    int row = F_assume_predicate;
    if (!p->has_a && !p->has_b)
        return true;
    if (p->has_a != p->has_b)
        return bc_wrong(v, op, row, 0, BC_RULE_V_ASM_05, "has %s, but not %s", p->has_a ? "every" : "along",
                        p->has_a ? "along" : "every");
    if (!bc_is_tile(t) || t->rank == 0)
        return bc_wrong(v, op, row, 0, BC_RULE_V_ASM_06, "has runs, but %s has no dimensions for them",
                        bc_type_words(v, t));
    if (p->b < 0 || p->b >= t->rank)
        return bc_wrong(v, op, row, 0, BC_RULE_V_ASM_08, "goes along dimension %lld; %s has %u dimension%s",
                        (long long)p->b, bc_type_words(v, t), t->rank, bc_plural(t->rank));
    if (p->a < 0 || p->a > t->shape[p->b])
        return bc_wrong(v, op, row, 0, BC_RULE_V_ASM_09, "has runs of %lld; dimension %lld of %s has %lld elements",
                        (long long)p->a, (long long)p->b, bc_type_words(v, t), (long long)t->shape[p->b]);
    return true;
}

static void check_div_by(bc_verifier *v, const bc_op *op, const bc_tagged *p, const bc_type *t)
{
    uint64_t divisor = p->u.bits;
    if (!is_int_or_ptr(t) && t->kind != BC_TENSOR_VIEW)
        bc_wrong(v, op, F_assume_value, 0, BC_RULE_V_ASM_07,
                 "is %s; div_by speaks about integers, pointers and tensor_views", bc_type_words(v, t));
    else if (divisor == 0 || divisor & (divisor - 1))
        bc_wrong(v, op, F_assume_predicate, 0, BC_RULE_V_ASM_03, "divides by %llu, which is no power of two",
                 (unsigned long long)divisor);
    else if (divisor > UINT64_C(1) << 62)
        bc_wrong(v, op, F_assume_predicate, 0, BC_RULE_V_ASM_04, "divides by %llu; the largest divisor is 2^62",
                 (unsigned long long)divisor);
    else
        check_runs(v, op, p, t);
}

static void check_same_elements(bc_verifier *v, const bc_op *op, const bc_tagged *p, const bc_type *t)
{
    if (!is_int_or_ptr(t)) {
        bc_wrong(v, op, F_assume_value, 0, BC_RULE_V_ASM_10,
                 "is %s; same_elements speaks about tiles of integers or pointers", bc_type_words(v, t));
        return;
    }
    if (p->u.ints.count != t->rank) {
        bc_wrong(v, op, F_assume_predicate, 0, BC_RULE_V_ASM_11, "has %u size%s; %s has %u dimension%s",
                 p->u.ints.count, bc_plural(p->u.ints.count), bc_type_words(v, t), t->rank, bc_plural(t->rank));
        return;
    }
    for (uint32_t d = 0; d < t->rank; d++)
        if (p->u.ints.ptr[d] < 0 || p->u.ints.ptr[d] > t->shape[d]) {
            bc_wrong(v, op, F_assume_predicate, 0, BC_RULE_V_ASM_12,
                     "has the size %lld; dimension %u of %s has %lld elements", (long long)p->u.ints.ptr[d], d,
                     bc_type_words(v, t), (long long)t->shape[d]);
            return;
        }
}

static void check_bounded(bc_verifier *v, const bc_op *op, const bc_tagged *p, const bc_type *t)
{
    if (!is_int_or_i4(t)) {
        bc_wrong(v, op, F_assume_value, 0, BC_RULE_V_ASM_13, "is %s; bounded speaks about tiles of integers",
                 bc_type_words(v, t));
        return;
    }
    unsigned bits = bc_kind_bits((bc_kind)t->elem->kind);
    int64_t most = INT64_MAX >> (64 - bits), least = -most - 1;
    bool lower_out = p->has_a && (p->a < least || p->a > most), upper_out = p->has_b && (p->b < least || p->b > most);
    if (lower_out || upper_out)
        bc_wrong(v, op, F_assume_predicate, 0, BC_RULE_V_ASM_14, "has the bound %lld; %s holds %lld to %lld",
                 (long long)(lower_out ? p->a : p->b), bc_type_words(v, t->elem), (long long)least, (long long)most);
    else if (p->has_a && p->has_b && p->a > p->b)
        bc_wrong(v, op, F_assume_predicate, 0, BC_RULE_V_ASM_15, "has the lower bound %lld above the upper %lld",
                 (long long)p->a, (long long)p->b);
}

void verify_assume(bc_verifier *v, const bc_op *op)
{
    const bc_tagged *p = bc_attr_of(op, F_assume_predicate)->tagged;
    const bc_type *t = bc_type_of(op, F_assume_value);
    if (!bc_need_same_type(v, op, F_assume_result, F_assume_value, BC_RULE_V_ASM_01))
        return;
    switch (p->tag) {
    case BC_TAG_DIV_BY: check_div_by(v, op, p, t); return;
    case BC_TAG_SAME_ELEMENTS: check_same_elements(v, op, p, t); return;
    case BC_TAG_BOUNDED: check_bounded(v, op, p, t); return;
    default:
        bc_wrong(v, op, F_assume_predicate, 0, BC_RULE_V_ASM_02, "is neither div_by nor same_elements nor bounded");
    }
}

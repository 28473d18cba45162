/* Rules of matrix multiplication: lhs [B x] M x K, rhs [B x] K x N, acc and result [B x] M x N.
   Source: memory operation reference, sections 7 and 10. */
#include "bytecode/verify/verify.h"

/* A dimension of an operand by the letter that the rules give it. */
typedef struct extent {
    int row;
    unsigned dim;
} extent;

/* Both dimensions have one size; the first is the one at fault. */
static bool check_extent(bc_verifier *v, const bc_op *op, const char *letter, extent at, extent other, bc_rule rule)
{
    const bc_type *a = bc_type_of(op, at.row), *b = bc_type_of(op, other.row);
    if (TV_LIKELY(a->shape[at.dim] == b->shape[other.dim]))
        return true;
    return bc_wrong(v, op, at.row, 0, rule,
                    "is %s, so %s (dimension %u) is %lld, but %s is %s with %s = %lld (dimension %u)",
                    bc_type_words(v, a), letter, at.dim, (long long)a->shape[at.dim],
                    bc_field_words(v, op, other.row, 0), bc_type_words(v, b), letter, (long long)b->shape[other.dim],
                    other.dim);
}

static bool check_rank(bc_verifier *v, const bc_op *op, int row, int lhs, bc_rule rule)
{
    const bc_type *t = bc_type_of(op, row), *l = bc_type_of(op, lhs);
    if (TV_LIKELY(t->rank == l->rank))
        return true;
    return bc_wrong(v, op, row, 0, rule, "is %s of rank %u, but %s is %s of rank %u", bc_type_words(v, t), t->rank,
                    bc_field_words(v, op, lhs, 0), bc_type_words(v, l), l->rank);
}

/* Ranks and sizes of lhs, rhs and acc. Stops at the first that is wrong: the others tend to follow from it. */
static bool check_matrices(bc_verifier *v, const bc_op *op, int lhs, int rhs, int acc)
{
    if (!check_rank(v, op, rhs, lhs, BC_RULE_V_MMA_01) || !check_rank(v, op, acc, lhs, BC_RULE_V_MMA_01))
        return false;
    const bc_type *l = bc_type_of(op, lhs);
    if (l->rank != 2 && l->rank != 3)
        return bc_wrong(v, op, lhs, 0, BC_RULE_V_MMA_02,
                        "is %s of rank %u; a matrix has rank 2, a batch of them rank 3", bc_type_words(v, l), l->rank);
    unsigned row = l->rank - 2, column = row + 1;
    if (l->rank == 3
        && (!check_extent(v, op, "batch", (extent){rhs, 0}, (extent){lhs, 0}, BC_RULE_V_MMA_03)
            || !check_extent(v, op, "batch", (extent){acc, 0}, (extent){lhs, 0}, BC_RULE_V_MMA_03)))
        return false;
    return check_extent(v, op, "K", (extent){rhs, row}, (extent){lhs, column}, BC_RULE_V_MMA_04)
           && check_extent(v, op, "M", (extent){acc, row}, (extent){lhs, row}, BC_RULE_V_MMA_05)
           && check_extent(v, op, "N", (extent){acc, column}, (extent){rhs, column}, BC_RULE_V_MMA_06);
}

/* Accumulators that go with each element type of the factors. */
static bc_kind_set accumulators(bc_kind factor)
{
    switch (factor) {
    case BC_F16:
    case BC_F8E4M3FN:
    case BC_F8E5M2: return BC_SET(F16) | BC_SET(F32);
    case BC_F64: return BC_SET(F64);
    default: return BC_SET(F32);
    }
}

void verify_mmaf(bc_verifier *v, const bc_op *op)
{
    check_matrices(v, op, F_mmaf_lhs, F_mmaf_rhs, F_mmaf_acc);
    bc_need_same_type(v, op, F_mmaf_result, F_mmaf_acc, BC_RULE_V_MMA_08);
    if (!bc_need_same_element(v, op, F_mmaf_rhs, F_mmaf_lhs, BC_RULE_V_MMA_07))
        return;
    const bc_type *lhs = bc_type_of(op, F_mmaf_lhs), *acc = bc_type_of(op, F_mmaf_acc);
    bc_kind_set allowed = accumulators((bc_kind)lhs->elem->kind);
    if (bc_kind_in((bc_kind)acc->elem->kind, allowed))
        return;
    const char *words = allowed == BC_SET(F64) ? "f64" : allowed == BC_SET(F32) ? "f32" : "f16 or f32";
    bc_wrong(v, op, F_mmaf_acc, 0, BC_RULE_V_MMF_03, "is %s, but products of %s accumulate in %s",
             bc_type_words(v, acc), bc_type_words(v, lhs->elem), words);
}

void verify_mmai(bc_verifier *v, const bc_op *op)
{
    check_matrices(v, op, F_mmai_lhs, F_mmai_rhs, F_mmai_acc);
    bc_need_same_type(v, op, F_mmai_result, F_mmai_acc, BC_RULE_V_MMA_08);
}

/* ---- scaled ---- */

/* How many elements along K one scale may cover. */
static const struct {
    uint8_t factor, scale; /* bc_kind */
    uint8_t lengths;       /* a sum of the lengths allowed, 16 and 32 */
} blocks[] = {
    {BC_F8E4M3FN, BC_F8E8M0FNU, 32}, {BC_F8E5M2, BC_F8E8M0FNU, 32},          {BC_F4E2M1FN, BC_F8E8M0FNU, 16 + 32},
    {BC_F4E2M1FN, BC_F8E4M3FN, 16},  {BC_F4E2M1FN, BC_FNV8E5M3FNU, 16 + 32},
};

static bool check_scale_type(bc_verifier *v, const bc_op *op, unsigned *out_lengths)
{
    const bc_type *lhs = bc_type_of(op, F_mmaf_scaled_lhs), *scale = bc_type_of(op, F_mmaf_scaled_lhs_scale);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i].factor == lhs->elem->kind && blocks[i].scale == scale->elem->kind) {
            *out_lengths = blocks[i].lengths;
            return true;
        }
    return bc_wrong(v, op, F_mmaf_scaled_lhs_scale, 0, BC_RULE_V_MMS_11, "is %s, but scales of %s are f8E8M0FNU",
                    bc_type_words(v, scale), bc_type_words(v, lhs->elem));
}

static bool check_scale_shapes(bc_verifier *v, const bc_op *op)
{
    enum {
        LHS = F_mmaf_scaled_lhs,
        RHS = F_mmaf_scaled_rhs,
        LHS_SCALE = F_mmaf_scaled_lhs_scale,
        RHS_SCALE = F_mmaf_scaled_rhs_scale
    };
    if (!check_rank(v, op, LHS_SCALE, LHS, BC_RULE_V_MMS_05) || !check_rank(v, op, RHS_SCALE, RHS, BC_RULE_V_MMS_05))
        return false;
    unsigned row = bc_type_of(op, LHS)->rank - 2, column = row + 1;
    if (row == 1
        && (!check_extent(v, op, "batch", (extent){LHS_SCALE, 0}, (extent){LHS, 0}, BC_RULE_V_MMS_06)
            || !check_extent(v, op, "batch", (extent){RHS_SCALE, 0}, (extent){RHS, 0}, BC_RULE_V_MMS_06)))
        return false;
    return check_extent(v, op, "M", (extent){LHS_SCALE, row}, (extent){LHS, row}, BC_RULE_V_MMS_07)
           && check_extent(v, op, "N", (extent){RHS_SCALE, column}, (extent){RHS, column}, BC_RULE_V_MMS_08)
           && check_extent(v, op, "Ks", (extent){RHS_SCALE, row}, (extent){LHS_SCALE, column}, BC_RULE_V_MMS_09);
}

static void check_block_length(bc_verifier *v, const bc_op *op, unsigned lengths)
{
    const bc_type *lhs = bc_type_of(op, F_mmaf_scaled_lhs), *scale = bc_type_of(op, F_mmaf_scaled_lhs_scale);
    int64_t k = lhs->shape[lhs->rank - 1], scales = scale->shape[lhs->rank - 1];
    if (k % scales != 0) {
        bc_wrong(v, op, F_mmaf_scaled_lhs_scale, 0, BC_RULE_V_MMS_10,
                 "is %s with %lld scales, which do not divide K = %lld", bc_type_words(v, scale), (long long)scales,
                 (long long)k);
        return;
    }
    int64_t length = k / scales;
    if ((length == 16 || length == 32) && (lengths & length))
        return;
    bc_wrong(v, op, F_mmaf_scaled_lhs_scale, 0, BC_RULE_V_MMS_12,
             "is %s, so each scale covers %lld elements along K; with %s and %s it covers %s", bc_type_words(v, scale),
             (long long)length, bc_type_words(v, lhs->elem), bc_type_words(v, scale->elem),
             lengths == 32   ? "32"
             : lengths == 16 ? "16"
                             : "16 or 32");
}

void verify_mmaf_scaled(bc_verifier *v, const bc_op *op)
{
    enum {
        LHS = F_mmaf_scaled_lhs,
        RHS = F_mmaf_scaled_rhs,
        LHS_SCALE = F_mmaf_scaled_lhs_scale,
        RHS_SCALE = F_mmaf_scaled_rhs_scale
    };
    bool shapes = check_matrices(v, op, LHS, RHS, F_mmaf_scaled_acc) && check_scale_shapes(v, op);
    bc_need_same_type(v, op, F_mmaf_scaled_result, F_mmaf_scaled_acc, BC_RULE_V_MMA_08);
    unsigned lengths = 0;
    bool types = bc_need_same_element(v, op, RHS, LHS, BC_RULE_V_MMA_07);
    types = bc_need_same_element(v, op, RHS_SCALE, LHS_SCALE, BC_RULE_V_MMS_04) && types;
    if (types && check_scale_type(v, op, &lengths) && shapes)
        check_block_length(v, op, lengths);
}

/* Ranges of integers, as signed numbers. Arithmetic that may wrap can give all numbers of its type; so can loads and
   loop-carried values, which are not analysed. Sources: operation reference, sections 2, 7 and 9; grids have at most
   2^24 - 1 tile blocks along each axis (section 8). */
#include "codegen/facts/facts.h"

#define MANAGEABLE ((int64_t)1 << 31) /* sums and products of such numbers are far from the limits of int64_t */

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static cg_range all_of(bc_kind kind)
{
    unsigned bits = bc_kind_bits(kind);
    int64_t high = bits >= 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    return (cg_range){-high - 1, high};
}

/* The range if the type contains all of it; otherwise all numbers of the type. */
static cg_range fitting(bc_kind kind, int64_t low, int64_t high)
{
    cg_range all = all_of(kind);
    return low <= high && low >= all.low && high <= all.high ? (cg_range){low, high} : all;
}

static bool is_integer(const bc_type *type)
{
    return bc_is_tile(type) && bc_kind_in(bc_elem_kind(type), BC_SET_INT);
}

cg_range cg_range_of(const ct_value *v)
{
    const cg_fact *f = v->fact;
    return f->ranged ? f->range : f->constant ? (cg_range){f->value, f->value} : all_of(bc_elem_kind(v->type));
}

bool cg_is_narrow(const ct_value *v)
{
    cg_range r = cg_range_of(v), all = all_of(BC_I32);
    return r.low >= all.low && r.high <= all.high;
}

bool cg_size_range(int64_t stated, const ct_value *dynamic, cg_range *out_range)
{
    if (stated != BC_DYNAMIC) {
        *out_range = (cg_range){stated, stated};
        return true;
    }
    unsigned bits = bc_kind_bits(bc_elem_kind(dynamic->type));
    *out_range = cg_range_of(dynamic);
    if (out_range->low < 0 && bits < 64)
        *out_range = (cg_range){0, ((int64_t)1 << bits) - 1};
    return out_range->low >= 0;
}

/* The size of a view's tensor along a dimension. */
static bool extent_range(const ct_value *view, uint32_t dim, cg_range *out_range)
{
    if (view->op && bc_is_tile_view(view->type))
        view = ct_operands(view->op)[0];
    if (!view->op || view->op->opcode != OP_make_tensor_view)
        return false;
    uint32_t operand = ct_operand_range(view->op, F_make_tensor_view_dynamic_shape).first;
    for (uint32_t d = 0; d < dim; d++)
        operand += view->type->shape[d] == BC_DYNAMIC;
    bool dynamic = view->type->shape[dim] == BC_DYNAMIC;
    return cg_size_range(view->type->shape[dim], dynamic ? ct_operands(view->op)[operand] : NULL, out_range);
}

/* Result i of get_tensor_shape or get_index_space_shape. */
static cg_range of_shape(const ct_op *op, uint32_t i)
{
    const ct_value *view = ct_operands(op)[0];
    const bc_type *type = view->type;
    bc_kind kind = bc_elem_kind(ct_results(op)[i].type);
    bool mapped = type->kind == BC_PARTITION_VIEW || type->kind == BC_STRIDED_VIEW;
    cg_range extent;
    if (!extent_range(view, mapped ? (uint32_t)type->dim_map[i] : i, &extent))
        return all_of(kind);
    int64_t step = !mapped ? 1 : type->kind == BC_STRIDED_VIEW ? type->strides[i] : type->shape[i];
    return fitting(kind, extent.low / step + (extent.low % step != 0), extent.high / step + (extent.high % step != 0));
}

static cg_range of_assume(const ct_op *op, cg_range r)
{
    const bc_tagged *predicate = ct_attr_of(op, F_assume_predicate)->tagged;
    if (predicate->tag != BC_TAG_BOUNDED)
        return r;
    cg_range cut = {predicate->has_a ? higher(r.low, predicate->a) : r.low,
                    predicate->has_b ? lower(r.high, predicate->b) : r.high};
    return cut.low <= cut.high ? cut : r;
}

/* The smallest 2^n - 1 that is not below x. */
static int64_t ones_over(int64_t x)
{
    int64_t ones = 0;
    while (ones < x)
        ones = ones << 1 | 1;
    return ones;
}

static cg_range product(bc_kind kind, cg_range a, cg_range b)
{
    int64_t p[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return fitting(kind, lower(lower(p[0], p[1]), lower(p[2], p[3])), higher(higher(p[0], p[1]), higher(p[2], p[3])));
}

/* b is positive whether signed or unsigned. up: rounded up; otherwise in any way. */
static cg_range quotient(bc_kind kind, cg_range a, cg_range b, bool up)
{
    int64_t high = a.high > 0 ? a.high / b.low + (up && a.high % b.low != 0) : 0;
    if (a.low >= 0)
        return fitting(kind, a.low / b.high, high);
    return fitting(kind, a.low / b.low - (a.low % b.low != 0), high);
}

/* ---- ops with two operands in the range of MANAGEABLE ---- */

static bool are_positive(cg_range a, cg_range b)
{
    return a.low >= 0 && b.low >= 0;
}

static cg_range of_addi(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    (void)op;
    return fitting(kind, a.low + b.low, a.high + b.high);
}

static cg_range of_subi(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    (void)op;
    return fitting(kind, a.low - b.high, a.high - b.low);
}

static cg_range of_muli(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    (void)op;
    return product(kind, a, b);
}

static cg_range of_divi(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    bool agrees = a.low >= 0 || ct_attr_u(op, F_divi_signedness) == BC_Signedness_signed;
    bool up = ct_attr_u(op, F_divi_rounding) == BC_RoundingMode_positive_inf;
    return b.low > 0 && agrees ? quotient(kind, a, b, up) : all_of(kind);
}

static cg_range of_remi(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    (void)op;
    if (a.low >= 0) /* whatever the sign of the divisor; a divisor of zero is undefined */
        return (cg_range){0, b.low > 0 ? lower(a.high, b.high - 1) : a.high};
    return b.low > 0 ? (cg_range){1 - b.high, b.high - 1} : all_of(kind);
}

static cg_range of_andi(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    (void)op;
    if (a.low < 0 && b.low < 0)
        return all_of(kind);
    return (cg_range){0, a.low < 0 ? b.high : b.low < 0 ? a.high : lower(a.high, b.high)};
}

/* Also for xor. */
static cg_range of_ori(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    (void)op;
    return are_positive(a, b) ? fitting(kind, 0, ones_over(higher(a.high, b.high))) : all_of(kind);
}

static cg_range of_shli(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    (void)op;
    if (b.low < 0 || b.high >= 31)
        return all_of(kind);
    return product(kind, a, (cg_range){(int64_t)1 << b.low, (int64_t)1 << b.high});
}

static cg_range of_shri(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    if (b.low < 0 || b.high >= 31)
        return all_of(kind);
    if (a.low < 0 && ct_attr_u(op, F_shri_signedness) != BC_Signedness_signed)
        a = (cg_range){0, ((int64_t)1 << bc_kind_bits(kind)) - 1};
    return fitting(kind, a.low >> (a.low < 0 ? b.low : b.high), a.high >> (a.high < 0 ? b.high : b.low));
}

static cg_range of_maxi(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    bool agrees = are_positive(a, b) || ct_attr_u(op, F_maxi_signedness) == BC_Signedness_signed;
    return agrees ? (cg_range){higher(a.low, b.low), higher(a.high, b.high)} : all_of(kind);
}

static cg_range of_mini(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    bool agrees = are_positive(a, b) || ct_attr_u(op, F_mini_signedness) == BC_Signedness_signed;
    return agrees ? (cg_range){lower(a.low, b.low), lower(a.high, b.high)} : all_of(kind);
}

static cg_range of_binary(const ct_op *op, bc_kind kind, cg_range a, cg_range b)
{
    typedef cg_range range_fn(const ct_op *op, bc_kind kind, cg_range a, cg_range b);
    static range_fn *const of[OP_LIMIT] = {
        [OP_addi] = of_addi, [OP_subi] = of_subi, [OP_muli] = of_muli, [OP_divi] = of_divi,
        [OP_remi] = of_remi, [OP_andi] = of_andi, [OP_ori] = of_ori,   [OP_xori] = of_ori,
        [OP_shli] = of_shli, [OP_shri] = of_shri, [OP_maxi] = of_maxi, [OP_mini] = of_mini,
    };
    range_fn *known = op->opcode < OP_LIMIT ? of[op->opcode] : NULL;
    return known ? known(op, kind, a, b) : all_of(kind);
}

/* 1: a < b always; -1: never; 0: sometimes. or_equal: the same for a <= b. */
static int is_less(cg_range a, cg_range b, bool or_equal)
{
    if (a.high < b.low || (or_equal && a.high == b.low))
        return 1;
    return a.low > b.high || (!or_equal && a.low == b.high) ? -1 : 0;
}

/* True is -1 as a signed number. */
static cg_range of_comparison(const ct_op *op, cg_range a, cg_range b)
{
    int known = 0;
    uint64_t predicate = ct_attr_u(op, F_cmpi_comparison_predicate);
    bool same = (a.low >= 0 && b.low >= 0) || ct_attr_u(op, F_cmpi_signedness) == BC_Signedness_signed;
    switch (same ? predicate : UINT64_MAX) {
    case BC_ComparisonPredicate_less_than: known = is_less(a, b, false); break;
    case BC_ComparisonPredicate_less_than_or_equal: known = is_less(a, b, true); break;
    case BC_ComparisonPredicate_greater_than: known = is_less(b, a, false); break;
    case BC_ComparisonPredicate_greater_than_or_equal: known = is_less(b, a, true); break;
    case BC_ComparisonPredicate_equal:
    case BC_ComparisonPredicate_not_equal: {
        bool apart = a.high < b.low || b.high < a.low, one = a.low == a.high && b.low == b.high && a.low == b.low;
        known = apart ? -1 : one ? 1 : 0;
        known = predicate == BC_ComparisonPredicate_not_equal ? -known : known;
        break;
    }
    default: break;
    }
    return known > 0 ? (cg_range){-1, -1} : known < 0 ? (cg_range){0, 0} : all_of(BC_I1);
}

static cg_range extended(const ct_op *op, const ct_value *from, cg_range r)
{
    unsigned bits = bc_kind_bits(bc_elem_kind(from->type));
    if (r.low >= 0 || ct_attr_u(op, F_exti_signedness) == BC_Signedness_signed)
        return r;
    return (cg_range){0, ((int64_t)1 << bits) - 1};
}

static bool manageable(cg_range r)
{
    return r.low >= -MANAGEABLE && r.high <= MANAGEABLE;
}

/* The most blocks along an axis of the grid; a GPU launches fewer along y and z. */
static int64_t most_blocks(uint32_t axis)
{
    return axis ? CG_MOST_LAUNCHED_BLOCKS : CG_MOST_TILE_BLOCKS;
}

/* The range of what is an element of one of the two. */
static cg_range either(const ct_value *x, const ct_value *y)
{
    cg_range a = cg_range_of(x), b = cg_range_of(y);
    return (cg_range){lower(a.low, b.low), higher(a.high, b.high)};
}

/* The range of the op's result i, an integer. */
static cg_range of_result(const ct_op *op, uint32_t i)
{
    const bc_type *type = ct_results(op)[i].type;
    bc_kind kind = bc_elem_kind(type);
    ct_value **operands = ct_operands(op);
    uint32_t numbers = 0; /* number of leading integer operands */
    while (numbers < op->operand_count && is_integer(operands[numbers]->type))
        numbers++;
    cg_range a = numbers > 0 ? cg_range_of(operands[0]) : all_of(kind);
    switch ((int)op->opcode) {
    case OP_constant: return cg_range_of(&ct_results(op)[i]);
    case OP_iota: return fitting(kind, 0, type->shape[0] - 1);
    case OP_get_tile_block_id: return (cg_range){0, most_blocks(i) - 1};
    case OP_get_num_tile_blocks: return (cg_range){1, most_blocks(i)};
    case CT_part:
    case CT_rank: return (cg_range){0, a.high - 1};
    case CT_within: return (cg_range){0, cg_range_of(operands[1]).high - 1};
    case OP_get_tensor_shape:
    case OP_get_index_space_shape: return of_shape(op, i);
    case OP_cmpi: return of_comparison(op, a, cg_range_of(operands[1]));
    case OP_assume: return of_assume(op, a);
    case OP_exti: return extended(op, operands[0], a);
    case OP_trunci: return fitting(kind, a.low, a.high);
    case OP_extract: return a;
    case OP_cat: return either(operands[0], operands[1]);
    case OP_select: return either(operands[1], operands[2]);
    default: break;
    }
    if (bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)))
        return a;
    if (numbers != 2 || op->operand_count != 2 || bc_elem_kind(operands[0]->type) != kind)
        return all_of(kind);
    cg_range b = cg_range_of(operands[1]);
    return manageable(a) && manageable(b) ? of_binary(op, kind, a, b) : all_of(kind);
}

/* The counter starts at `low` and increases while it is less than `high`, as signed numbers, or as unsigned ones if
   that is the same. */
void cg_find_counter_range(const ct_op *loop)
{
    const ct_value *counter = &ct_regions(loop)[0]->args[0];
    cg_range low = cg_range_of(ct_operand(loop, F_for_lower_bound)),
             high = cg_range_of(ct_operand(loop, F_for_upper_bound));
    cg_range step = cg_range_of(ct_operand(loop, F_for_step));
    bool same = low.low >= 0 && high.low >= 0;
    if (step.low <= 0 || high.high <= low.low || (ct_attr_u(loop, F_for_unsigned_cmp) && !same))
        return;
    counter->fact->ranged = true;
    counter->fact->range = (cg_range){low.low, high.high - 1};
}

void cg_find_ranges(const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++) {
        const ct_value *v = &ct_results(op)[i];
        if (!is_integer(v->type))
            continue;
        cg_range all = all_of(bc_elem_kind(v->type)), r = of_result(op, i);
        cg_fact *f = v->fact;
        if (r.low == r.high)
            cg_set_constant(f, r.low);
        f->ranged = !f->constant && (r.low > all.low || r.high < all.high);
        f->range = r;
    }
}

uint32_t cg_iterations_of(const ct_op *loop)
{
    const cg_fact *low = loop->operands[0]->fact, *high = loop->operands[1]->fact, *step = loop->operands[2]->fact;
    if (!low->constant || !high->constant || !step->constant || step->value <= 0)
        return UINT32_MAX;
    if (high->value <= low->value)
        return 0;
    uint64_t count = ((uint64_t)high->value - (uint64_t)low->value - 1) / (uint64_t)step->value + 1;
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* Comparisons of a row of indices with a number, as in a mask: of registers whose indices are that of one register
   plus constants, each is compared by an instruction that has its constant, where a sum for each would take another
   one:

       i + 128 < n, i + 256 < n, ...    ->    d = n - i; d > 128, d > 256, ...

   A load in a condition is executed as early as a predicate is free, of which a thread has seven. If the same
   conditions select what is computed from the elements, ptxas keeps the predicates from each load to there, and seven
   loads are on their way at a time. Such a comparison therefore takes another form, which ptxas does not take for the
   same one: d - 1 >= 128. An element that is selected as it was loaded needs none if the load has what is selected in
   its place as padding; and what a load compares beside (its row) makes its predicates others in any case. So do
   comparisons for stores whose loads have as many conditions (codegen/plan/afresh.c).

   Why it is right: the indices are at least 0, so that none wraps around where they grow by one, and so is n, or 0
   takes its place, which no index is below either. The difference of two such numbers does not wrap, nor one less.

   On an H200, 28 kernels, 24 of them of three seeds that the rule was not read from, are 0.99 to 1.05 times as fast,
   1.01 in the geometric mean. By the other form, 14 reductions and rows are 0.996 to 1.54 times as fast, 1.04 in the
   mean: an arg-max of squares of f64 takes 72 µs instead of 111; without it, which the rule was found on, 1.01. Four
   kernels select elements as they were loaded: the largest of 16,384 integers takes 69 µs instead of 74, the others as
   long as before. */
#include "codegen/access/pointers.h"
#include "codegen/analysis/product.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"
#include "codegen/tile/same.h"
#include "codegen/values/values.h"

enum {
    LEAST_REGISTERS = 4, /* for which the difference takes fewer instructions than sums */
    MOST_USES = 64       /* that are followed: a few by each load, store and select of a kernel's tiles */
};

/* What reads a mask. */
typedef struct uses {
    uint32_t count;
    bool load, computed; /* it masks a load; it selects what is computed from elements that a mask takes, or such
                            elements where the load has other padding */
} uses;

static bool passes_on(const ct_op *op)
{
    return op->opcode == CT_convert || op->opcode == OP_broadcast
           || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(SAME)));
}

/* Is it a load in a condition that is one comparison? */
static bool is_compared_load(const ct_op *op)
{
    const ct_value *mask = op && op->opcode == OP_load_ptr_tko ? cg_ptr_op_of(op).mask : NULL;
    while (mask && mask->op && passes_on(mask->op))
        mask = mask->op->operands[0];
    return mask && mask->op && mask->op->opcode == OP_cmpi;
}

/* Is it computed from what such a load gives? */
static bool is_computed(const ct_value *v, uses *u)
{
    const ct_op *op = ct_unconverted(v)->op;
    if (!op || op->opcode >= OP_LIMIT
        || !bc_op_in(op->opcode, BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(RESHAPE) | BC_OPS(MOVE)))
        return false;
    for (uint32_t i = 0; i < op->operand_count && u->count < MOST_USES; i++, u->count++)
        if (is_compared_load(ct_unconverted(op->operands[i])->op) || is_computed(op->operands[i], u))
            return true;
    return false;
}

/* Is v what such a load gives, with other padding than `otherwise`, which is selected in its place? */
static bool is_padded_otherwise(const ct_value *v, const ct_value *otherwise)
{
    const ct_op *op = ct_unconverted(v)->op;
    return is_compared_load(op) && !ct_is_same(ct_operand(op, F_load_ptr_tko_padding_value), ct_unconverted(otherwise));
}

static bool selects_late(const ct_op *select, uses *u)
{
    const ct_value *arms[] = {select->operands[1], select->operands[2]};
    return is_computed(arms[0], u) || is_computed(arms[1], u) || is_padded_otherwise(arms[0], arms[1])
           || is_padded_otherwise(arms[1], arms[0]);
}

/* Also through reshapes and broadcasts. */
static void add_uses(const ct_value *mask, uses *u)
{
    for (const ct_use *use = mask->uses; use && u->count < MOST_USES; use = use->next, u->count++) {
        const ct_op *op = use->op;
        u->load = u->load || ct_is_load(op);
        if (op->opcode == OP_select && use->index == 0)
            u->computed = u->computed || selects_late(op, u);
        else if (passes_on(op))
            add_uses(&op->results[0], u);
    }
}

/* Is the mask that it computes read behind loads with the same one, and by none of them? */
static bool is_late(const ct_op *op)
{
    uses u = {.count = 0};
    if (op->afresh == CT_APART)
        return true;
    add_uses(&op->results[0], &u);
    return u.computed && !u.load && u.count < MOST_USES;
}

/* Is it x < n, or !(x < n), of signed 32-bit numbers? x, n: which operands. */
static bool is_below(const ct_op *op, uint32_t *x, bool *out_less)
{
    const uint64_t predicate = ct_attr_u(op, F_cmpi_comparison_predicate);
    *x = predicate == BC_ComparisonPredicate_greater_than || predicate == BC_ComparisonPredicate_less_than_or_equal;
    *out_less = predicate == BC_ComparisonPredicate_less_than || predicate == BC_ComparisonPredicate_greater_than;
    return bc_elem_kind(op->operands[0]->type) == BC_I32 && ct_attr_u(op, F_cmpi_signedness) == BC_Signedness_signed
           && predicate != BC_ComparisonPredicate_equal && predicate != BC_ComparisonPredicate_not_equal;
}

/* The bits of a register's number that add a constant to the index: see codegen/access/pointers.c. */
static uint32_t constant_bits(const ct_value *v, const cg_layout *l, uint32_t *out_added)
{
    const cg_shape s = cg_shape_of(v->type);
    uint32_t bits = 0;
    for (uint32_t d = 0; d < s.rank && v->fact->axes; d++) {
        for (uint32_t i = 0; i < l->reg_bits; i++) {
            uint32_t image = l->reg[i], others = cg_layout_thread_images(l);
            for (uint32_t k = 0; k < l->reg_bits; k++)
                others |= k == i ? 0 : l->reg[k];
            const uint32_t within = (image & cg_dim_mask(&s, d)) == image ? image >> s.shift[d] : 0;
            if (within && !(image & (image - 1)) && !(image & others) && !(within >> v->fact->axes[d].run)) {
                bits |= (uint32_t)1 << i;
                out_added[i] = within;
            }
        }
    }
    return bits;
}

bool cg_compare_together(cg_func *c, const ct_op *op, const cg_layout *l, const cg_val *const *operands, uint32_t idle,
                         cg_val *out)
{
    uint32_t at, added[CG_MAX_REG_BITS] = {0};
    bool less;
    if (op->opcode != OP_cmpi || cg_has_products(c->ir->body) || !is_below(op, &at, &less)
        || cg_range_of(op->operands[at]).low < 0)
        return false;
    const cg_val *x = operands[at], *n = operands[!at];
    const uint32_t bits = constant_bits(op->operands[at], l, added) & ~idle, count = cg_layout_regs(l);
    if (1u << cg_count_bits(bits) < LEAST_REGISTERS)
        return false;
    for (uint32_t r = 0; r < count; r++)
        if (x[r].known || !cg_is_same_val(&n[r], &n[r & ~bits]))
            return false;
    const bool again = 1u << cg_count_bits(bits) > CG_PREDICATES && is_late(op);
    for (uint32_t r = 0; r < count && !c->failed; r++) {
        cg_val d, end;
        if (r & (bits | idle))
            continue;
        end = n[r];
        if (cg_range_of(op->operands[!at]).low < 0) {
            end = cg_new(c, CG_B32);
            cg_ins(c, "max.s32 %v, %v, 0", end, n[r]);
        }
        d = cg_new(c, CG_B32);
        cg_ins(c, "sub.s32 %v, %r, %v", d, end, x[r]);
        if (again) {
            const cg_val less_one = cg_new(c, CG_B32);
            cg_ins(c, "add.s32 %v, %v, -1", less_one, d);
            d = less_one;
        }
        for (uint32_t k = 0; k < count; k++) {
            if ((k & ~bits) != r)
                continue;
            uint32_t constant = 0;
            for (uint32_t i = 0; i < l->reg_bits; i++)
                constant += k & bits & (uint32_t)1 << i ? added[i] : 0;
            out[k] = cg_new(c, CG_PRED);
            cg_ins(c, "setp.%s.s32 %v, %v, %u", again ? less ? "ge" : "lt" : less ? "gt" : "le", out[k], d, constant);
        }
    }
    for (uint32_t r = 0; r < count; r++)
        if (r & idle)
            out[r] = out[r & ~idle];
    return true;
}

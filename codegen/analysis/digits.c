/* Finds kernels that divide a block's number into indices of tiles by remainders and quotients, such as

       row = remi x, rows      column = divi x, rows

   and whose consecutive blocks therefore lie far apart in memory. Without products, these are kernels whose views are
   contiguous along the other index; with products, those whose first digit is the index of a batch, so that blocks
   which run together read operands of all batches. The result only affects the order of blocks, never the values that a
   kernel computes. */
#include "codegen/analysis/digits.h"

#include "codegen/analysis/product.h"
#include "codegen/analysis/view.h"

enum { MOST_BLOCKS = 1 << 30 };

/* n = digit + radix * rest */
typedef struct division {
    const ct_value *digit, *rest; /* NULL: n is not divided, or by several numbers */
    int64_t radix;
} division;

static division divided(const ct_value *n)
{
    division d = {0};
    for (const ct_use *use = n->uses; use; use = use->next) {
        const ct_op *op = use->op;
        bool is_rest = op->opcode == OP_divi;
        if (!is_rest && op->opcode != OP_remi)
            continue;
        if (op->operands[0] != n || !op->operands[1]->fact->constant
            || (is_rest && ct_attr_u(op, F_divi_rounding) != BC_RoundingMode_zero)
            || (d.radix && op->operands[1]->fact->value != d.radix))
            return (division){0};
        d.radix = op->operands[1]->fact->value;
        *(is_rest ? &d.rest : &d.digit) = &op->results[0];
    }
    return d.digit && d.rest && d.radix > 1 && d.radix < MOST_BLOCKS ? d : (division){0};
}

static const ct_value *block_number(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        if (op->opcode == OP_get_tile_block_id)
            return &op->results[0];
    return NULL;
}

/* Tiles along tile dimension t. 0: not known. */
static int64_t tiles_along(const cg_view_op *v, uint32_t t)
{
    cg_range extent;
    int64_t step = cg_view_step(v->view->type, t);
    return cg_view_extent(v, t, &extent) && extent.low == extent.high ? (extent.high + step - 1) / step : 0;
}

/* What the accesses say about an order in which the first digit changes last. */
typedef struct judging {
    const ct_value *first, *last;
    bool multiplies;
    bool gains, loses;
    int64_t tiles; /* that `last` counts */
} judging;

/* The index, also behind the exit of blocks where it is too large. */
static const ct_value *index_of(const cg_view_op *v, uint32_t t)
{
    const ct_op *op = v->index[t]->op;
    return op && op->opcode == CT_within ? op->operands[0] : v->index[t];
}

static void judge_index(judging *j, const cg_view_op *v, uint32_t t, uint32_t fast)
{
    if (index_of(v, t) == j->first) {
        j->gains = j->gains || j->multiplies;
        j->loses = j->loses || t == fast || (j->multiplies && v->tile_type->shape[t] != 1);
    } else if (index_of(v, t) == j->last) {
        int64_t tiles = tiles_along(v, t);
        j->gains = j->gains || (!j->multiplies && t == fast);
        j->loses = j->loses || !tiles || (j->tiles && tiles != j->tiles);
        j->tiles = tiles;
    }
}

/* Accesses that are the same for all blocks of a row do not matter. */
static bool follows(const judging *j, const cg_view_op *v)
{
    for (uint32_t t = 0; t < v->index_count; t++)
        if (index_of(v, t) == j->last || (j->multiplies && index_of(v, t) == j->first))
            return true;
    return false;
}

static void judge(judging *j, const ct_op *op)
{
    if (!bc_op_in(op->opcode, BC_OPS(ACCESS)))
        return;
    if (op->opcode != OP_load_view_tko && op->opcode != OP_store_view_tko) {
        j->loses = true;
        return;
    }
    cg_view_op v = cg_view_op_of(op);
    uint32_t fast;
    if (!follows(j, &v))
        return;
    if (!cg_view_contiguous(&v, &fast) || v.view->type->kind == BC_GATHER_SCATTER_VIEW) {
        j->loses = true;
        return;
    }
    for (uint32_t t = 0; t < v.index_count; t++)
        judge_index(j, &v, t, fast);
}

bool cg_find_digits(const ct_func *f, cg_digits *out)
{
    const ct_value *number = block_number(f);
    division first = number ? divided(number) : (division){0}, second = {0};
    judging j = {.first = first.digit, .last = first.rest, .multiplies = cg_largest_product(f)};
    if (!first.digit)
        return false;
    if (j.multiplies) {
        second = divided(first.rest);
        j.last = second.rest;
    }
    for (const ct_op *op = f->body->first; op && j.last && !j.loses; op = ct_next_op(op, f->body))
        judge(&j, op);
    int64_t rest = j.tiles * (j.multiplies ? second.radix : 1);
    *out = (cg_digits){number->op, (uint32_t)first.radix, (uint32_t)rest};
    return j.last && j.gains && !j.loses && rest > 1 && rest <= MOST_BLOCKS / first.radix;
}

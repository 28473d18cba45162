/* The flip pass swaps the operands of a product (swap-AB): a product in a loop with 16 or 32 rows and at least 64
   columns is computed as C^T = B^T A^T. wgmma has 64 rows and any multiple of eight columns, and it reads both operands
   in place from a ring, in either order, once. With `mma.sync`, each warp would read fragments that other warps read as
   well.

       for c = start {                      for t = permute start {
           a = load, b = load                   a = load, b = load
           c = mmaf a, b, c        ->           t = mmaf permute b, permute a, t
       }                                    }
                                            c = permute t

   The pass applies to 16-bit elements that the loop loads; other types are transposed on their way to the product
   (codegen/ops/mma_turned.c). Only the product may use the sum inside the loop. After the loop the sum is
   transposed back on its way to memory. For a split-K product of 32x64x256 the cost model predicts 768 cycles of
   shared memory per iteration in place of 1,152; this was not measured on a GPU.

   It also applies where B is the transpose of weights that the loop unpacks, converts or scales. Then the product is
   `reordered`: `mma.sync` takes the weights from the registers that have them (codegen/analysis/reordered.h). Such
   products of 16x64x128 and 32x64x128 with weights of 4 bits took 61 and 69 us before and 35 and 39 us after, for
   8192x8192 weights on an H100.

   Why it is right: each element of C^T is the sum of the same products; a sum takes those of an iteration in any order.
   */
#include "codegen/analysis/order.h"
#include "codegen/analysis/reordered.h"
#include "codegen/passes/budget.h"
#include "codegen/passes/pass.h"

enum { LEAST_ROWS = 16, LEAST_COLUMNS = 64 };

typedef struct flipping {
    cg_func *c;
    ct_op *loop, *product;
    uint32_t sum;   /* which of the values that the loop carries */
    bool reordered; /* by mma.sync, from the registers that have the weights (codegen/analysis/reordered.h) */
} flipping;

/* ---- whether ---- */

/* Does it come from a load of the body, by nothing but other views of it, for the product alone? */
static bool is_loaded(const flipping *x, const ct_value *v)
{
    while (v->op && v->op->block == x->loop->regions[0] && !v->uses->next && cg_is_seen(v->op))
        v = v->op->operands[0];
    return v->op && v->op->block == x->loop->regions[0] && !v->uses->next && v->op->opcode == OP_load_view_tko
           && cg_is_weak_access(v->op);
}

static bool has_few_rows(const ct_op *product)
{
    const bc_type *type = product->results[0].type;
    bc_kind in = bc_elem_kind(product->operands[0]->type);
    return product->opcode == OP_mmaf && type->rank == 2 && type->shape[0] >= LEAST_ROWS
           && type->shape[0] < LEAST_COLUMNS && type->shape[1] >= LEAST_COLUMNS && bc_elem_kind(type) == BC_F32
           && (in == BC_F16 || in == BC_BF16);
}

/* Is its sum carried by the loop, which nobody else in it looks at? */
static bool is_carried(flipping *x)
{
    const ct_block *body = x->loop->regions[0];
    const ct_value *result = &x->product->results[0], *acc = x->product->operands[2];
    const ct_use *use = result->uses;
    if (!use || use->next || use->op != body->last || use->op->opcode != OP_continue)
        return false;
    x->sum = use->index;
    return acc == &body->args[1 + x->sum] && !acc->uses->next;
}

/* By wgmma, which reads both operands where a ring has them? */
static bool are_loaded(const flipping *x)
{
    return x->c->target->features & CG_HAS_WGMMA && x->c->warp_bits >= CG_WARPGROUP_BITS
           && is_loaded(x, x->product->operands[1]);
}

static bool may_flip(flipping *x)
{
    ct_block *body = x->loop->regions[0];
    for (ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        if (cg_is_product(op) && x->product)
            return false;
        x->product = cg_is_product(op) ? op : x->product;
    }
    if (!x->product || x->product->block != body || !has_few_rows(x->product) || !is_carried(x)
        || !is_loaded(x, x->product->operands[0]))
        return false;
    x->reordered = !are_loaded(x);
    return !x->reordered || cg_may_reorder(x->c, x->product);
}

/* ---- flipping ---- */

/* The other way round, in front of the op. NULL: no memory. */
static ct_value *put_transposed(const flipping *x, ct_value *v, ct_op *place)
{
    ct_op *op = ct_transpose_new(x->c->ir, x->product, v);
    if (!op)
        return NULL;
    ct_insert_before(op, place);
    return &op->results[0];
}

/* The loop's result, for those that read it. */
static bool hand_on(const flipping *x, ct_value *result, const bc_type *type)
{
    ct_op *back = NULL;
    const bc_type *whole = result->type;
    result->type = type;
    if (!(back = ct_transpose_new(x->c->ir, x->product, result)))
        return false;
    back->results[0].type = whole;
    ct_replace_uses(result, &back->results[0]);
    ct_set_operand(back, 0, result);
    ct_insert_after(back, x->loop);
    return true;
}

/* The product of what was right and left, in its place. NULL: no memory. */
static ct_op *put_product(const flipping *x, ct_value *acc)
{
    ct_op *old = x->product;
    ct_value *left = put_transposed(x, old->operands[1], old), *right = put_transposed(x, old->operands[0], old);
    ct_op *product = left && right ? ct_made_new(x->c->ir, OP_mmaf, old, acc->type, (ct_value *[]){left, right, acc}, 3)
                                   : NULL;
    if (!product)
        return NULL;
    bc_attr_of(product->from, F_mmaf_fast_acc)->u = ct_attr_u(old, F_mmaf_fast_acc);
    product->reordered = x->reordered;
    ct_insert_before(product, old);
    ct_replace_uses(&old->results[0], &product->results[0]);
    ct_remove(old);
    return product;
}

static bool flip(const flipping *x)
{
    ct_op *loop = x->loop;
    ct_value *acc = &loop->regions[0]->args[1 + x->sum];
    uint32_t start = ct_first_carried(loop) + x->sum;
    ct_value *first = put_transposed(x, loop->operands[start], loop);
    if (!first)
        return false;
    ct_set_operand(loop, start, first);
    acc->type = first->type;
    return put_product(x, acc) && hand_on(x, &loop->results[x->sum], first->type);
}

/* ---- the pass ---- */

void cg_pass_flip(cg_func *c)
{
    bool any = false;
    uint32_t most_warps = UINT32_MAX;
    if (cg_loops_stay_plain(c))
        return;
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        flipping x = {.c = c, .loop = op};
        if (op->opcode != OP_for || !may_flip(&x))
            continue;
        if (!flip(&x))
            cg_no_memory(c);
        any = true;
        if (x.reordered)
            most_warps = cg_reordered_warps(cg_shape_of(op->results[x.sum].type).bits[0]);
    }
    if (any && !c->failed)
        cg_set_warps(c);
    c->warp_bits = c->warp_bits < most_warps ? c->warp_bits : most_warps;
}

void cg_dump_flip(cg_func *c, bc_text *out)
{
    cg_dump_ops(c, out);
}

/* The flip pass swaps the operands of a product in a loop (swap-AB): C^T = B^T A^T.

       for c = start {                      for t = permute start {
           a = load, b = load                   a = load, b = load
           c = mmaf a, b, c        ->           t = mmaf permute b, permute a, t
       }                                    }
                                            c = permute t

   For elements of 16 bits, the product has 16 or 32 rows and at least 64 columns. An asynchronous instruction has 64
   rows and any multiple of eight columns, and it reads both operands in place from a ring, in either order, once. With
   `mma.sync`, each warp would read fragments that other warps read as well. For a split-K product of 32x64x256 the
   cost model predicts 768 cycles of shared memory per iteration in place of 1,152; this was not measured on a GPU.

   For elements of 8 bits and tf32, it reads its right operand from a ring only if K is contiguous in it. Its left
   operand can come from registers, in either order. This pass decides, by how the tiles are stored in memory, which
   operand of the product becomes which of the instruction; codegen/ops/mma_turned.c multiplies. If K is contiguous in
   neither, the smaller tile is transposed.

   The pass applies to operands that the loop loads, those of 16 bits also through pointers, as where a table places
   tiles: 14 such products took 0.71 to 1.02 of the time on an H200, 0.95 in the geometric mean. Only the product may
   use the sum inside the loop. Enclosing loops that only pass the sum on carry it transposed as well. After the
   outermost of them the sum is transposed back on its way to memory.

   It also applies where B is the transpose of weights that the loop unpacks, converts or scales. Then the product is
   `reordered`: `mma.sync` takes the weights from the registers that have them (codegen/analysis/reordered.h). Such
   products of 16x64x128 and 32x64x128 with weights of 4 bits took 61 and 69 us before and 35 and 39 us after, for
   8192x8192 weights on an H100.

   And it applies where B is computed from a tile that the loop loads, and A is only loaded: consumers compute the left
   operand in registers, from which wgmma takes it (codegen/analysis/computed.h).

   And it applies to scaled products by tcgen05 of fewer than 128 rows, but more columns: the instruction has 128 rows,
   however few the product has, and any multiple of eight columns, so that its time goes with the columns. Of as many
   rows as columns, it reads the operand that has the rows only with K contiguous. The scales of the operands are
   swapped as well.

   And it applies to all products of a chain of 16 or 32 rows if codegen/choose_products.c asks for it: S^T = K Q^T and
   O^T = V^T P^T. wgmma reads keys and values once from shared memory; mma.sync, in each warp. Q stays in a slot of its
   own, and consumers hand P on in scratch. Each product is transposed for itself, because a transpose between two of
   them moves nothing: threads keep the elements that they have. A chain of 64 keys has one warpgroup: a second one
   would read all keys again, for half of the queries, in as many instructions of the same length.

   Why it is right: each element of C^T is the sum of the same products; a sum takes those of an iteration in any order.
   */
#include "codegen/analysis/order.h"
#include "codegen/analysis/reordered.h"
#include "codegen/analysis/tcgen05.h"
#include "codegen/analysis/turned.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/groups/computes.h"
#include "codegen/plan/loads.h"
#include "codegen/passes/pass.h"
#include "codegen/plan/budget.h"
#include "codegen/rewrite/ring.h"
#include "codegen/tile/build.h"

typedef struct flipping {
    cg_func *c;
    ct_op *loop, *product;
    uint32_t sum;   /* the index of the carried value that is the sum */
    bool reordered; /* mma.sync takes the weights from the registers that hold them (codegen/analysis/reordered.h) */
} flipping;

/* ---- whether ---- */

/* The weak load of the body from which the value comes, only through other views of it, if only the product uses it.
   Otherwise NULL. */
static ct_op *load_of(const flipping *x, const ct_value *v)
{
    while (v->op && v->op->block == x->loop->regions[0] && !v->uses->next && cg_is_seen(v->op))
        v = v->op->operands[0];
    return v->op && v->op->block == x->loop->regions[0] && !v->uses->next && ct_is_load(v->op)
                   && cg_is_weak_access(v->op)
               ? v->op
               : NULL;
}

static bool is_loaded(const flipping *x, const ct_value *v)
{
    const ct_op *load = load_of(x, v);
    return load && load->opcode == OP_load_view_tko;
}

/* Does a load bring operand i of the product to a ring? */
static bool is_copied(const flipping *x, uint32_t i)
{
    ct_op *load = load_of(x, x->product->operands[i]);
    cg_ring_load copied;
    return load && (load->opcode == OP_load_view_tko || !cg_load_obstacle(x->c, load, x->loop->regions[0], &copied));
}

/* Is operand i of the product contiguous along K in memory? */
static bool runs_along_k(const flipping *x, uint32_t i)
{
    const ct_value *operand = x->product->operands[i], *tile = cg_source_of(operand);
    cg_shape s = cg_shape_of(operand->type), of_tile = cg_shape_of(tile->type);
    cg_layout low = {.tile_bits = s.tile_bits, .reg_bits = 1, .reg = {(uint32_t)1 << s.shift[s.rank - 1 - i]}};
    cg_view_op v = cg_view_op_of(tile->op);
    uint32_t fast;
    low = cg_source_layout(operand, &low);
    return cg_view_contiguous(&v, &fast) && low.reg[0] == (uint32_t)1 << of_tile.shift[fast];
}

/* Is it a scaled product that suits tcgen05 better with swapped operands? */
static bool has_few_rows_to_scale(const flipping *x)
{
    enum { LEAST_COLUMNS = 4 }; /* log2, of the instruction */
    cg_product p = cg_product_of(x->c, x->product), q = p;
    q.m = p.n;
    q.n = p.m;
    if (!cg_has_atom(&p) || p.m < LEAST_COLUMNS || cg_tcgen05_obstacle(x->c, &q))
        return false;
    bool reads_better = cg_tcgen05_spread(&p) && !runs_along_k(x, 0) && runs_along_k(x, 1);
    return p.instruction != CG_BY_TCGEN05 || (cg_tcgen05_spread(&p) && p.n > p.m) || (p.n == p.m && reads_better);
}

/* For 8-bit elements and tf32: can the instruction read the operands as they are stored only if they are swapped? From
   a ring, it reads its right operand if that is contiguous along K. Its left operand, which has 64 rows, passes
   through registers, in either order. In a transposed product, the right operand of the product is the left one of the
   instruction. If one operand must be transposed in any case, the smaller one is. */
static bool turns_better(const flipping *x)
{
    const ct_op *op = x->product;
    cg_product p = cg_product_of(x->c, op), q = p;
    q.m = p.n;
    q.n = p.m;
    if (!cg_may_turn(x->c, op, &q))
        return false;
    bool left = runs_along_k(x, 0), right = runs_along_k(x, 1), as_it_is = cg_may_turn(x->c, op, &p);
    if (left && right && cg_async_fits(&p))
        return false; /* it reads both in place, rounded by tensor maps if needed */
    return !as_it_is || (!left && (right || p.n < p.m));
}

/* Does the loop carry the sum, and does nothing else in the loop read it? */
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

static bool has_warpgroup(const flipping *x)
{
    return x->c->target->features & CG_HAS_ASYNC_PRODUCTS && x->c->warp_bits >= CG_WARPGROUP_BITS;
}

/* Can an asynchronous instruction read both operands from a ring? */
static bool are_loaded(const flipping *x)
{
    return has_warpgroup(x) && is_loaded(x, x->product->operands[1]);
}

/* The same if threads copy tiles through pointers, as where a table places them. */
static bool are_copied(const flipping *x)
{
    return has_warpgroup(x) && is_copied(x, 0) && is_copied(x, 1);
}

static bool may_flip(flipping *x)
{
    ct_block *body = x->loop->regions[0];
    x->product = cg_only_product(body);
    if (!x->product || x->product->results[0].type->rank != 2 || !is_carried(x))
        return false;
    if (x->product->opcode == OP_mmaf_scaled)
        return is_loaded(x, x->product->operands[0]) && is_loaded(x, x->product->operands[1])
               && has_few_rows_to_scale(x);
    cg_set_way(x->product, CT_TURNED); /* so that roundings to tf32 do not hide the loads */
    bool few = cg_has_few_rows(x->product), left = is_loaded(x, x->product->operands[0]), both = left && are_loaded(x),
         flips = (both && (few || turns_better(x))) || (few && are_copied(x));
    cg_set_way(x->product, CT_AS_IT_IS);
    flips = flips || (left && !both && cg_should_compute(x->c, x->product, 1));
    x->reordered = few && left && !both && cg_may_reorder(x->c, x->product);
    return flips || x->reordered;
}

/* ---- flipping ---- */

static bool is_transpose(const ct_op *op)
{
    return op && op->opcode == OP_permute && op->results[0].type->rank == 2
           && ct_attr_of(op, F_permute_permutation)->ints->ptr[0] == 1;
}

/* Puts a transpose of v in front of `place`. NULL: out of memory. */
static ct_value *put_transposed(const flipping *x, ct_value *v, ct_op *place)
{
    return ct_build_op(&(ct_builder){x->c->ir, place, false}, ct_transpose_new(x->c->ir, x->product, v));
}

/* Gives the users of a result of `op`, whose type has become a transposed one, the tile in its original form. */
static bool hand_on(const flipping *x, ct_value *result, const bc_type *whole, ct_op *op)
{
    ct_op *back = ct_transpose_new(x->c->ir, x->product, result);
    if (!back)
        return false;
    back->results[0].type = whole;
    ct_replace_uses(result, &back->results[0]);
    ct_set_operand(back, 0, result);
    ct_insert_after(back, op);
    return true;
}

/* Sets the attributes of the product with swapped operands. */
static void swap_attributes(const ct_op *from, const ct_op *to)
{
    if (from->opcode == OP_mmaf_scaled)
        return;
    if (from->opcode == OP_mmaf) {
        bc_attr_of(to->from, F_mmaf_fast_acc)->u = ct_attr_u(from, F_mmaf_fast_acc);
        return;
    }
    bc_attr_of(to->from, F_mmai_signedness_lhs)->u = ct_attr_u(from, F_mmai_signedness_rhs);
    bc_attr_of(to->from, F_mmai_signedness_rhs)->u = ct_attr_u(from, F_mmai_signedness_lhs);
}

/* What the transpose of a transpose is, which no other op needs then. */
static void drop_both(ct_op *outer)
{
    ct_op *inner = outer->operands[0]->op;
    if (!is_transpose(outer) || !is_transpose(inner))
        return;
    ct_replace_uses(&outer->results[0], inner->operands[0]);
    ct_remove(outer);
    if (!inner->results[0].uses)
        ct_remove(inner);
}

/* Replaces the product by one with swapped operands. NULL: out of memory. */
static ct_op *put_product(const flipping *x, ct_value *acc)
{
    enum { LEFT, RIGHT, SUM, LEFT_SCALES, RIGHT_SCALES, OPERANDS };
    static const uint8_t from[] = {RIGHT, LEFT, SUM, RIGHT_SCALES, LEFT_SCALES};
    ct_op *old = x->product;
    ct_value *operands[OPERANDS];
    bool all = true;
    for (uint32_t i = 0; i < old->operand_count && all; i++)
        all = (operands[i] = i == SUM ? acc : put_transposed(x, old->operands[from[i]], old));
    ct_op *product = all ? ct_made_new(x->c->ir, old->opcode, old, acc->type, operands, old->operand_count) : NULL;
    if (!product)
        return NULL;
    swap_attributes(old, product);
    product->way = x->reordered ? CT_REORDERED : CT_AS_IT_IS;
    ct_insert_before(product, old);
    ct_replace_uses(&old->results[0], &product->results[0]);
    ct_remove(old);
    for (uint32_t i = 0; i < product->operand_count && product->opcode == OP_mmaf_scaled; i++)
        if (i != SUM)
            drop_both(product->operands[i]->op);
    return product;
}

/* The loop around `loop`, if that only passes the sum on from one run of `loop` to the next. *sum becomes its
   carried value. NULL: there is none. */
static ct_op *loop_around(const ct_op *loop, uint32_t *sum)
{
    ct_op *outer = loop->block->parent;
    const ct_value *first = loop->operands[ct_first_carried(loop) + *sum];
    const ct_use *use = loop->results[*sum].uses;
    if (!outer || outer->opcode != OP_for || !use || use->next || use->op != outer->regions[0]->last
        || use->op->opcode != OP_continue || first != &outer->regions[0]->args[1 + use->index] || first->uses->next)
        return NULL;
    *sum = use->index;
    return outer;
}

/* Swaps the product. All loops from its own to the outermost one that only passes the sum on carry it transposed. */
static bool flip(const flipping *x)
{
    ct_op *loop = x->loop, *outer;
    ct_value *acc = &loop->regions[0]->args[1 + x->sum];
    uint32_t sum = x->sum;
    while ((outer = loop_around(loop, &sum)))
        loop = outer;
    uint32_t start = ct_first_carried(loop) + sum;
    ct_value *first = put_transposed(x, loop->operands[start], loop);
    if (!first)
        return false;
    ct_set_operand(loop, start, first);
    sum = x->sum;
    for (ct_op *inner = x->loop; inner != loop; inner = outer) {
        uint32_t inside = sum;
        outer = loop_around(inner, &sum);
        inner->regions[0]->args[1 + inside].type = inner->results[inside].type = first->type;
    }
    const bc_type *whole = loop->results[sum].type;
    loop->regions[0]->args[1 + sum].type = loop->results[sum].type = first->type;
    return put_product(x, acc) && hand_on(x, &loop->results[sum], whole, loop);
}

/* ---- chains ---- */

/* Is the right operand of the product loaded by the loop? */
static bool loads_right(const flipping *x, const ct_op *product)
{
    const ct_op *load = cg_source_of(product->operands[1])->op;
    return load && load->block == x->loop->regions[0] && load->opcode == OP_load_view_tko && cg_is_weak_access(load);
}

/* Do all products of the loop have few rows, and does one of them multiply what another one gives? Their
   operands are swapped if codegen/choose_products.c asks for it. */
static bool is_chain_of_few_rows(const flipping *x)
{
    const ct_block *body = x->loop->regions[0];
    bool is_chain = false;
    if (cg_choices_of(x->c)->swap != CG_IF_LEGAL || !(x->c->target->features & CG_HAS_ASYNC_PRODUCTS)
        || x->c->warp_bits < CG_WARPGROUP_BITS)
        return false;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        if (!cg_is_product(op))
            continue;
        if (op->block != body || !cg_has_few_rows(op) || !loads_right(x, op))
            return false;
        is_chain = is_chain || cg_product_before(op);
    }
    return is_chain;
}

/* Swaps the operands of every product of the loop, each for itself. */
static bool flip_chain(flipping *x)
{
    ct_block *body = x->loop->regions[0];
    for (ct_op *op = body->first, *next; op; op = next) {
        next = op->next;
        x->product = op;
        if (!cg_is_product(op))
            continue;
        const bc_type *whole = op->results[0].type;
        ct_value *acc = put_transposed(x, op->operands[2], op);
        ct_op *product = acc ? put_product(x, acc) : NULL;
        if (!product || !hand_on(x, &product->results[0], whole, product))
            return false;
    }
    return true;
}

/* ---- the pass ---- */

void cg_pass_flip(cg_func *c)
{
    bool any = false;
    uint32_t most_warps = UINT32_MAX;
    if (cg_loops_stay_plain(c) || cg_choices_of(c)->swap == CG_NEVER)
        return;
    if (!cg_find_facts(c->ir) || !cg_find_views(c->ir))
        return;
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        flipping x = {.c = c, .loop = op};
        if (op->opcode != OP_for)
            continue;
        bool chain = is_chain_of_few_rows(&x);
        if (!chain && !may_flip(&x))
            continue;
        any = chain ? flip_chain(&x) : flip(&x);
        if (chain)
            most_warps = cg_warps_of_rows(op->regions[0]);
        if (x.reordered)
            most_warps = cg_reordered_warps(cg_shape_of(op->results[x.sum].type).bits[0]);
    }
    if (any && !c->failed)
        cg_set_warps(c);
    c->warp_bits = c->warp_bits < most_warps ? c->warp_bits : most_warps;
}

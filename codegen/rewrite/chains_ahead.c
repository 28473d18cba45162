/* Chains of two products by tcgen05, whose sums are in tensor memory: the first product runs an iteration ahead. It is
   started where all threads have loaded the sum of this iteration, and goes on while they compute. The second one is
   awaited where its sum is multiplied next (codegen/passes/tensor.c).

       for i, acc, ... {                        if first < end { await K; start S = Q K; release K }
           await K; S = Q K                     for i, acc, S, ... {
           release K                                wait for S
           P, X = ... S, acc ...                    if i + 1 < end { await K; start S' = Q K; release K }
           await V; acc' = X + P V                  P, X = ... S, acc ...
           release V                                await V; acc' = X + P V; release V
       }                                        }

   Why it is right: every number is computed from the same operands as before, and each stage is released after its last
   reader, by a commit behind the product. A product that is in flight at the end of an iteration writes a sum that the
   threads have loaded: they meet before one of them starts it. */
#include "codegen/rewrite/chains_ahead.h"

#include "codegen/analysis/tensor.h"
#include "codegen/kernel/groups.h"
#include "codegen/rewrite/pipeline.h"
#include "codegen/rewrite/ring.h"

/* Is the product's right operand in the slot that is awaited in front of it and released behind it, so that no other op
   reads that? */
static bool reads_slot(const ct_op *product)
{
    const ct_op *staged = cg_staged_behind(product->operands[1]);
    return staged && product->prev && product->prev->opcode == CT_await && product->next->opcode == CT_release
           && ct_ring_of(product->prev) == ct_ring_of(staged) && ct_ring_of(product->next) == ct_ring_of(staged);
}

enum { ACCUMULATOR = 2, PLAIN = 3 }; /* operands, without scales */

/* Two products of a loop's body. */
typedef struct chain {
    ct_op *first, *second; /* NULL: the first one may not run ahead */
} chain;

/* Is the start of a sum known in front of the loop? A constant is, wherever it is. */
static bool is_known_before(const ct_value *start, const ct_block *body)
{
    return start->op && (start->op->opcode == OP_constant || !ct_is_inside(start->block, body));
}

/* The first product may run ahead if it starts a sum of its own, from which the second takes its left operand, and
   if its own left operand is in a ring over the loop. Tensor memory has room for all sums of the loop at once. */
static chain chain_of(const cg_func *c, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    const ct_op *before = NULL;
    chain x = {0};
    for (ct_op *op = body->first; op && !before; op = op->next) {
        before = cg_is_product(op) && cg_sums_in_tensor(c, op) ? cg_product_before(op) : NULL;
        x.second = op;
    }
    for (ct_op *op = before ? body->first : NULL; op && !x.first; op = op->next)
        x.first = op == before ? op : NULL;
    const ct_op *p = x.first;
    return p && cg_sums_in_tensor(c, p) && !p->in_flight && p->operand_count == PLAIN
                   && is_known_before(p->operands[ACCUMULATOR], body) && cg_staged_behind(p->operands[0])
                   && !ct_is_inside(p->operands[0]->block, body) && reads_slot(p) && cg_is_straight(body)
                   && cg_tcgen05_has_room(c, loop)
               ? x
               : (chain){0};
}

/* Do only such products read the ring? Then their commits may free its slots, each in the same way. */
static bool is_freed_by_products(const cg_func *c, const ct_value *ring, bool of_second)
{
    for (const ct_use *use = ring->uses; use; use = use->next)
        if (use->op->opcode == CT_staged) {
            const ct_op *loop = ct_loop_around(use->op);
            chain x = loop ? chain_of(c, loop) : (chain){0};
            const ct_op *product = of_second ? x.second : x.first;
            if (!product || !reads_slot(product) || cg_staged_behind(product->operands[1]) != use->op)
                return false;
        }
    return true;
}

/* Starts the product an iteration ahead, where its sum has been loaded. Returns the loop that replaces the loop. */
static ct_op *run_ahead(cg_func *c, ct_op *loop, ct_op *product)
{
    cg_pipelined made = {.loop = loop};
    ct_op *start = product->operands[ACCUMULATOR]->op;
    product->in_flight = product->ahead = true;
    if (ct_is_inside(start->block, loop->regions[0]))
        ct_move_before(start, loop);
    ct_op *await = product->prev, *release = product->next, *staged = cg_staged_behind(product->operands[1]),
          *place = cg_put_mma_await(c, &product->results[0], release)->next;
    cg_scheduled ops[] = {{await, 1, place}, {product, 1, place}, {release, 1, place}};
    if (c->failed || !cg_pipeline(c, &(cg_schedule){.loop = loop, .ops = ops, .count = 3}, &made))
        return loop;
    if (!staged->results[0].uses && !staged->results[1].uses)
        ct_remove(staged);
    return made.loop;
}

/* Lets products free the ring's slots if all that read it may; it is asked before the first of them runs ahead. */
static bool let_free(const cg_func *c, const ct_op *product, bool is_second)
{
    if (!reads_slot(product) || (c->paired && !c->groups->by_maps)) /* the leader awaits the copies of both blocks */
        return false;
    cg_ring *ring = cg_ring_of(product->next, 0);
    if (ring->end != CG_FREE_WHEN_MULTIPLIED && is_freed_by_products(c, ct_ring_of(product->next), is_second))
        ring->end = CG_FREE_WHEN_MULTIPLIED;
    return ring->end == CG_FREE_WHEN_MULTIPLIED;
}

void cg_run_chains_ahead(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        chain x = op->opcode == OP_for ? chain_of(c, op) : (chain){0};
        bool may = x.first && let_free(c, x.first, false);
        if (may)
            let_free(c, x.second, true); /* before the loops of its ring become others */
        if (may)
            op = run_ahead(c, op, x.first);
    }
}

/* The overlap pass starts the products of a loop before the results of earlier ones are awaited, in the consumers of a
   warp-specialised kernel (codegen/passes/groups.c), as in the gradients of attention:

       for i, dv, dk, ... {                     for i, dv, dk, ... {
           await Q; S = K Q                         await Q; start S = K Q
           P = ... S                                await G; start T = V G
           await G; dv' = dv + P G                  wait for S; P = ... S
           T = V G                      =>          start dv' = dv + P G
           release G                                wait for T; D = ... P, T
           D = ... P, T                             start dk' = dk + D Q
           dk' = dk + D Q                           wait for dv'; release G
           release Q                                wait for dk'; release Q
       }                                        }

   A product that only needs tiles of rings starts behind the first product if there are registers for both sums. Sums
   that only the next iteration's product reads are computed in place, in the registers of the loop.
   ptxas would pack the fragments of a left operand that does not change in the loop in each iteration, with a move for
   each word; they are taken as the words that they were loaded as.
   Loops whose second product is delayed by an iteration are left as they are (codegen/passes/skew.c).

   Without groups, the only product of a loop without a ring goes on into the next iteration, while threads load what
   the next product reads, as in versions for rows that are not aligned:

       for i, sum in ... {                      for i, sum in ... {
           load A, B                                load A, B; wait for the last product
           sum' = sum + A B              =>         start sum' = sum + A B
       }                                        }
                                                wait for the last product

   Shared memory holds A and B, as the shared pass says.

   Why it is right: a product moves only over ops that compute in registers, and its operands are computed in front of
   the place that it moves to; each result is awaited in front of its first use, and each slot is released behind the
   awaits of all products that read it. No product is in flight at the end of an iteration, except one whose sum only
   the next iteration's product reads, which is awaited before the memory that it reads is written. */
#include "codegen/analysis/product.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/rewrite/carried.h"
#include "codegen/rewrite/ring.h"

typedef struct overlapping {
    cg_func *c;
    ct_op *loop;
    ct_block *body;
    ct_op *products[CG_TOGETHER]; /* in the order in which they are started */
    uint32_t count;
} overlapping;

/* ---- is it such a loop? ---- */

/* Does only this product update a sum that the loop carries, and nothing else read it? Or does it start a sum of its
   own, which no other product continues? */
static bool has_own_sum(const overlapping *x, const ct_op *op)
{
    const ct_value *sum = cg_addend_of(op);
    const ct_use *use = op->results[0].uses;
    if (!use)
        return false;
    if (sum->op)
        return !cg_is_product(sum->op);
    return !use->next && use->op == x->body->last && sum == &x->body->args[use->index + 1] && !sum->uses->next;
}

static bool suits(const overlapping *x, const ct_op *op)
{
    return op->block == x->body && !op->in_flight && op->way == CT_AS_IT_IS && cg_mma_is_async(x->c, op)
           && !cg_sums_in_tensor(x->c, op) && !cg_cuts_sums(x->c, op) && has_own_sum(x, op);
}

static bool find_products(overlapping *x)
{
    for (ct_op *op = x->body->first; op; op = ct_next_op(op, x->body)) {
        if (!cg_is_product(op))
            continue;
        if (x->count == CG_TOGETHER || !suits(x, op))
            return false;
        x->products[x->count++] = op;
    }
    return x->count > 1 && cg_is_straight(x->body);
}

/* ---- the order of products ---- */

/* Is the value there in front of the op of the body, or does it only reinterpret one that is? */
static bool is_there(const overlapping *x, const ct_value *v, const ct_op *place)
{
    return !v->op || v->block != x->body || (v->op != place && ct_is_before(v->op, place))
           || (cg_is_seen(v->op) && is_there(x, v->op->operands[0], place));
}

/* Moves the op behind `at`, unless it is in front of it; returns the later of the two. */
static ct_op *put_behind(ct_op *op, ct_op *at)
{
    if (ct_is_before(op, at))
        return at;
    if (at->next != op)
        ct_move_before(op, at->next);
    return op;
}

/* The same for the ops that reinterpret a value for this operand. */
static ct_op *bring(const overlapping *x, const ct_value *v, ct_op *at)
{
    if (!v->op || v->block != x->body || ct_is_before(v->op, at))
        return at;
    return put_behind(v->op, bring(x, v->op->operands[0], at));
}

/* The op of the body that awaits the ring's slot; NULL: there is none. */
static ct_op *await_of(const overlapping *x, const ct_value *ring)
{
    for (ct_op *op = x->body->first; op; op = op->next)
        if (op->opcode == CT_await && op->operands[0] == ring)
            return op;
    return NULL;
}

static const ct_value *ring_of_operand(const ct_op *product, uint32_t i)
{
    const ct_op *staged = cg_source_of(product->operands[i])->op;
    return staged && staged->opcode == CT_staged ? ct_ring_of(staged) : NULL;
}

/* Registers of a thread for all sums, and for the largest operand that one product hands to another. */
static uint32_t registers_of(const overlapping *x)
{
    uint32_t threads = cg_threads(x->c), all = 0, handed = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        all += (1u << cg_shape_of(x->products[i]->results[0].type).tile_bits) / threads;
        uint32_t own = ring_of_operand(x->products[i], 0)
                           ? 0
                           : (1u << cg_shape_of(x->products[i]->operands[0]->type).tile_bits) / 2 / threads;
        handed = own > handed ? own : handed;
    }
    return all + handed;
}

/* Registers that a consumer thread has left beside these. */
static int registers_left(const overlapping *x)
{
    uint32_t own = x->c->groups->consumers ? x->c->groups->consumers : CG_THREAD_REGISTERS;
    return (int)own - (int)registers_of(x);
}

/* Are all operands of the product there in front of the op of the body? */
static bool may_start_at(const overlapping *x, const ct_op *product, const ct_op *place)
{
    for (uint32_t i = 0; i < product->operand_count; i++)
        if (!is_there(x, product->operands[i], place))
            return false;
    return true;
}

/* Moves product i right behind product `to`, with the awaits of its slots. */
static void start_behind(overlapping *x, uint32_t i, uint32_t to)
{
    ct_op *product = x->products[i], *at = x->products[to];
    for (uint32_t k = 0; k < 2; k++) {
        const ct_value *ring = ring_of_operand(product, k);
        ct_op *await = ring ? await_of(x, ring) : NULL;
        at = await ? put_behind(await, at) : at;
    }
    for (uint32_t k = 0; k < product->operand_count; k++)
        at = bring(x, product->operands[k], at);
    put_behind(product, at);
    for (; i > to + 1; i--)
        x->products[i] = x->products[i - 1];
    x->products[to + 1] = product;
}

static void order_products(overlapping *x)
{
    for (uint32_t i = 1; i < x->count; i++)
        for (uint32_t to = 0; to + 1 < i; to++)
            if (may_start_at(x, x->products[i], x->products[to]->next)) {
                start_behind(x, i, to);
                break;
            }
}

/* ---- awaits and releases ---- */

/* How many products are started between this one and the op? */
static uint32_t started_before(const overlapping *x, uint32_t i, const ct_op *op)
{
    uint32_t count = 0;
    while (i + 1 < x->count && ct_is_before(x->products[i + 1], op)) {
        count++;
        i++;
    }
    return count;
}

/* Awaits product i where its result is used first; a sum that the loop carries, at the end of the iteration. */
static ct_op *put_await(const overlapping *x, uint32_t i)
{
    ct_op *product = x->products[i], *place = ct_first_reader(&product->results[0], x->body);
    cg_pending *pending = bc_new(x->c->ir->arena, cg_pending, 1);
    if (!pending)
        return NULL;
    pending->others = started_before(x, i, place);
    ct_op *await = cg_put_mma_await(x->c, &product->results[0], place->prev);
    await->detail = pending;
    product->in_flight = true;
    return await;
}

static bool reads(const ct_op *product, const ct_value *ring)
{
    return ring_of_operand(product, 0) == ring || ring_of_operand(product, 1) == ring;
}

/* Moves the release of each slot that products read behind the awaits of all of them. */
static void move_releases(const overlapping *x, ct_op *const *awaits)
{
    for (ct_op *op = x->body->first, *next; op; op = next) {
        next = op->next;
        if (op->opcode != CT_release)
            continue;
        ct_op *last = NULL;
        for (uint32_t i = 0; i < x->count; i++)
            if (reads(x->products[i], op->operands[0]) && (!last || ct_is_before(last, awaits[i])))
                last = awaits[i];
        if (last && ct_is_before(op, last))
            ct_move_before(op, last->next);
    }
}

/* Without enough registers for all sums and the operand that one product hands to another, the products stay one after
   the other. Measured on an H200, microseconds without this pass, with products in flight, and also started early:
   gradients of keys of 64x64x128 (24 registers left), full attention 929, 806 and 839, causal 550, 481 and 467; of 64
   columns (88 left) 1,124, 1,026 and 970; in tiles of 128 queries (8 left) 1,008 and 1,087. */
static void overlap(overlapping *x)
{
    const cg_machine *m = cg_machine_of(x->c->target);
    ct_op *awaits[CG_TOGETHER];
    int left = registers_left(x);
    for (uint32_t i = 0; i < x->count; i++) {
        x->products[i]->in_place = !cg_addend_of(x->products[i])->op;
        x->products[i]->as_words = !ct_is_inside(x->products[i]->operands[0]->block, x->body);
    }
    if (left < m->registers_few)
        return;
    if (left >= m->registers_loop)
        order_products(x);
    for (uint32_t i = 0; i < x->count; i++)
        if (!(awaits[i] = put_await(x, i)))
            return;
    move_releases(x, awaits);
}

/* ---- into the next iteration ---- */

/* Lets the product of a loop without a ring go on while the next iteration loads its operands to registers. */
static void let_go_on(const overlapping *x)
{
    uint32_t carried;
    ct_op *product = x->loop->detail ? NULL : cg_product_carried(x->loop, &carried);
    if (!product || !suits(x, product) || cg_product_of(x->c, product).instruction != CG_BY_WGMMA)
        return;
    product->in_flight = product->in_place = true;
    cg_put_mma_await(x->c, &x->loop->results[carried], x->loop);
}

void cg_pass_overlap(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        overlapping x = {.c = c, .loop = op, .body = op->opcode == OP_for ? op->regions[0] : NULL};
        if (x.body && !c->groups)
            let_go_on(&x);
        else if (x.body && find_products(&x))
            overlap(&x);
    }
}

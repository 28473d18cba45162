/* Gives the products of a kernel by tcgen05 a role of their own, the issuer: one thread of a warp that nothing else
   needs. The sum has two places in tensor memory, which the issuer fills in turn; consumers take the one while it goes
   on with the next tile block, so that the end of a tile block overlaps with the products of the next one.

       issuer                              consumers
       for each tile block {               for each tile block {
           sum = the next place, empty
           for k { await, product, release }
           the place is full                   take: the place is full, load, the place is empty
       }                                       what the kernel does with the sum
                                           }

   Both follow the same control flow, which producers, too, compute by themselves. The loops that only carry the sum
   are the issuer's alone.

   Why it is right: the sum starts as zero in each tile block, so the products of the next one need nothing of this
   one; the loops that move have no other effect and no other result, and the tiles that they read are copied by
   producers, which wait for no consumer. A place is filled again only after the barrier at which every consumer warp
   has arrived with its part of the sum in registers, and taken only after the one at which the issuer's commit
   arrives. */
#include "codegen/groups/issuer.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/tensor.h"
#include "codegen/kernel/groups.h"
#include "codegen/rewrite/carried.h"

/* The loops over which the kernel's only sum stays. */
typedef struct nest {
    ct_op *loop, *end; /* the outermost one; the op that awaits its sum */
    uint32_t carried;  /* the number of the sum among its results */
} nest;

/* ---- which kernels ---- */

static uint32_t count_products(const ct_block *body)
{
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        count += cg_is_product(op);
    return count;
}

static bool is_number(const cg_splitting *x, const ct_op *op)
{
    return ct_is_load(op) && x->numbers[op->results[0].id];
}

/* Has the op of the nest no effect for others than its product? */
static bool is_of_product(const cg_splitting *x, const ct_op *op)
{
    bool structure = ct_is_loop(op) || op->opcode == OP_if || op->opcode == OP_continue || op->opcode == OP_yield
                     || op->opcode == OP_break,
         slots = op->opcode == CT_await || op->opcode == CT_release || cg_shows_slot(op);
    return structure || slots || cg_is_product(op) || is_number(x, op) || (cg_is_in_each_group(op) && ct_is_pure(op))
           || (op->opcode == OP_make_token || op->opcode == OP_join_tokens);
}

/* Is nothing but the sum needed of the nest, which has no effects? Tokens order nothing behind it: its loads have
   arrived when the sum is taken. */
static bool gives_sum_only(const cg_splitting *x, const nest *n)
{
    const ct_block *body = n->loop->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (!is_of_product(x, op))
            return false;
    for (uint32_t i = 0; i < n->loop->result_count; i++)
        if (i != n->carried && n->loop->results[i].uses && n->loop->results[i].type->kind != BC_TOKEN)
            return false;
    return true;
}

static bool starts_as_zero(const nest *n)
{
    const ct_value *init = n->loop->operands[ct_for_inits(n->loop).first + n->carried];
    return init->op && init->op->opcode == OP_constant && ct_is_zero(init->op);
}

/* Has the multiprocessor columns for two sums of each of its blocks? Scales have one place, which the next product
   would overwrite, so that sums of scaled products take no turns. */
static bool has_room(const cg_splitting *x)
{
    cg_product p = cg_product_of(x->c, x->places[0].product);
    return !p.scaled && CG_SUMS_IN_TURN * cg_tcgen05_columns(&p) * x->budget->blocks <= CG_TENSOR_COLUMNS;
}

static bool find_nest(const cg_splitting *x, nest *out)
{
    const cg_ring_place *p = &x->places[0];
    if (x->c->paired || x->count != 1 || x->kept_count || x->row_count || !x->budget->maps
        || p->ring->end != CG_FREE_WHEN_MULTIPLIED || count_products(x->f->body) != 1 || !cg_ends_once(x->f->body))
        return false;
    *out = (nest){0};
    if (!cg_product_carried(p->loop, &out->carried))
        return false;
    out->loop = cg_loop_of_sum(p->loop, &out->carried);
    const ct_use *use = out->loop->results[out->carried].uses;
    out->end = use && !use->next && use->op->opcode == CT_mma_await ? use->op : NULL;
    if (!out->end || !ct_loop_around(out->loop) || !gives_sum_only(x, out))
        return false;
    return starts_as_zero(out) && has_room(x);
}

/* ---- the issuer's program ---- */

static bool is_root(const ct_op *op)
{
    return op->opcode == CT_await || op->opcode == CT_release || op->opcode == CT_mma_await || cg_is_grid_wait(op);
}

static bool is_feasible(const ct_block *program, const bool *numbers)
{
    for (const ct_op *op = program->first; op; op = ct_next_op(op, program))
        if (!cg_is_in_each_group(op) && !cg_is_product(op) && !is_root(op) && !cg_shows_slot(op)
            && !(op->result_count && numbers[op->results[0].id]))
            return false;
    return true;
}

/* The numbers that a copy of the program loads, by value id. */
static bool *numbers_of(const cg_splitting *x, const ct_map *map)
{
    bool *numbers = bc_new(x->f->arena, bool, x->f->value_count + 1u);
    for (const ct_op *op = x->f->body->first; numbers && op; op = ct_next_op(op, x->f->body))
        if (is_number(x, op))
            numbers[ct_mapped(map, &op->results[0])->id] = true;
    return numbers;
}

static void discard(ct_block *block)
{
    while (block->first)
        ct_remove(block->first);
}

/* A copy of the consumers' program without what the issuer does not need. NULL: it needs more than it can execute. */
static ct_block *copy_program(const cg_splitting *x)
{
    ct_map map;
    ct_block *block = ct_map_new(x->f, &map) ? ct_block_new(x->f, 0) : NULL;
    for (const ct_op *op = x->f->body->first; block && op; op = op->next) {
        ct_op *copy = ct_clone(x->f, op, &map);
        if (copy)
            ct_append(block, copy);
        else
            block = NULL;
    }
    const bool *numbers = block ? numbers_of(x, &map) : NULL;
    if (!numbers || !ct_prune(x->f, block, is_root, x->places[0].value))
        return NULL;
    if (is_feasible(block, numbers))
        return block;
    discard(block);
    return NULL;
}

/* ---- the consumers' program ---- */

/* Takes the sum where it was awaited, instead of the loops. */
static void take_sum(const cg_splitting *x, const nest *n)
{
    ct_op *take = ct_op_new(x->f, CT_take, n->end, 0, 1);
    if (!take)
        return;
    take->results[0].type = n->end->results[0].type;
    ct_be_like(&take->results[0], &n->end->results[0]);
    ct_insert_before(take, n->end);
    ct_replace_uses(&n->end->results[0], &take->results[0]);
    ct_remove(n->end);
    for (uint32_t i = 0; i < n->loop->result_count; i++)
        if (n->loop->results[i].uses)
            ct_replace_uses(&n->loop->results[i], n->loop->operands[ct_for_inits(n->loop).first + i]);
    ct_remove(n->loop);
}

ct_block *cg_make_issuer(cg_splitting *x)
{
    nest n;
    ct_block *program = !x->c->failed && find_nest(x, &n) ? copy_program(x) : NULL;
    if (program)
        take_sum(x, &n);
    return program;
}

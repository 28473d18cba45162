/* Gives chains of products by tcgen05, as in attention, an issuer of their own: one thread of a warp that copies by
   tensor maps leave idle. Consumers only load sums, compute, and store left operands; with blocks of 128 rows in
   different warpgroups, each of these tiles has its own barriers, so that the tensor core multiplies one of them while
   the warps of the other compute.

       issuer                                           consumers
       for each tile t: S = Q K0                        for i {
       for i {                                              take S: wait, load, "taken"
           if there is a next iteration,                    P, a = ... S
               for each t: wait "taken"; S = Q K(i + 1)     wait for P V; O = O * a
           for each t: wait "handed"; O = O + P V           hand P: store, "handed"
       }                                                }

   The issuer's program is the consumers', pruned to the products and the slots that they read; the consumers' loses
   these.

   Why it is right: products that consumers still start themselves read no slot of the issuer's. The first product of a
   chain starts from zero, writes words that only consumers read, and only when all warps of the tile have loaded the
   last sum; the second one adds to a sum that consumers have stored and multiplied before they hand over the left
   operand, and which they touch again only when its commit has arrived. Nothing but products reads their slots, so
   commits alone free these. No sum or left operand shares columns with the sum of a product that runs ahead. */
#include "codegen/rewrite/chains.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/rewrite/carried.h"

enum { LEFT, RIGHT, ACCUMULATOR, PLAIN /* operands, without scales */ };

typedef struct moving {
    cg_func *c;
    ct_func *f;
    ct_op *groups;
    ct_block *program; /* the issuer's */
    ct_map map;        /* from the consumers' program to it */
} moving;

/* ---- which kernels ---- */

/* Do only products read the tile, or what shows it? */
static bool is_for_products(const ct_value *v)
{
    for (const ct_use *use = v->uses; use; use = use->next)
        if (!(cg_is_product(use->op) && use->index < ACCUMULATOR)
            && !(cg_is_seen(use->op) && is_for_products(&use->op->results[0])))
            return false;
    return true;
}

/* Do only products read the ring? */
static bool is_ring_for_products(const ct_value *ring)
{
    bool all = ring;
    for (const ct_use *use = ring ? ring->uses : NULL; use && all; use = use->next)
        all = use->op->opcode != CT_staged || (!use->op->in_registers && is_for_products(&use->op->results[0]));
    return all;
}

static bool is_in_slot(const ct_value *operand)
{
    const ct_op *staged = cg_staged_behind(operand);
    return staged && is_ring_for_products(ct_ring_of(staged));
}

static bool starts_as_zero(const ct_op *product)
{
    const ct_op *from = product->operands[ACCUMULATOR]->op;
    return from && from->opcode == OP_constant && ct_is_zero(from);
}

/* Is it the first product of a chain, or the second one? */
static bool is_of_chain(const cg_sum *sum)
{
    const ct_op *op = sum->product;
    if (op->operand_count != PLAIN || !is_in_slot(op->operands[RIGHT]))
        return false;
    return op->ahead ? is_in_slot(op->operands[LEFT]) && starts_as_zero(op) : sum->late;
}

static bool overlap(uint32_t a, uint32_t a_columns, uint32_t b, uint32_t b_columns)
{
    return a < b + b_columns && b < a + a_columns;
}

/* Has the sum of a product that runs ahead columns of its own? Those of others that do are taken before it starts. */
static bool is_alone(const cg_tensor *tensor, const cg_sum *sum)
{
    bool alone = true;
    for (const cg_sum *other = tensor->sums; other < tensor->sums + tensor->count; other++)
        if (other->issued && !other->product->ahead)
            alone = alone && !overlap(sum->column, sum->columns, other->column, other->columns)
                    && !overlap(sum->column, sum->columns, other->left, other->left_columns);
    return alone;
}

/* Does a thread block execute only one of the ops, however often? They are in different branches, and the condition
   is the same in all iterations of the loops around these. */
static bool is_either(const ct_op *a, const ct_op *b)
{
    for (const ct_op *branch = a->block->parent; branch && branch->opcode != CT_groups;
         branch = branch->block->parent) {
        bool apart = branch->opcode == OP_if && branch->region_count == 2
                     && ct_is_inside(a->block, branch->regions[0]) != ct_is_inside(b->block, branch->regions[0])
                     && ct_is_inside(a->block, branch->regions[1]) != ct_is_inside(b->block, branch->regions[1]);
        const ct_op *loop = ct_loop_around(branch);
        while (loop && ct_loop_around(loop))
            loop = ct_loop_around(loop);
        if (apart && (!loop || !ct_is_inside(branch->operands[0]->block, loop->regions[0])))
            return true;
    }
    return false;
}

/* May consumers start the product themselves? They do in a version of the loop without rings, if the block executes one
   of the versions only, or if no product that runs ahead writes its words: all others come when consumers ask. */
static bool may_stay(const cg_tensor *tensor, const cg_sum *sum)
{
    const ct_op *op = sum->product;
    bool may = op->operand_count == PLAIN && !op->in_flight && !sum->late;
    for (uint32_t i = 0; i < ACCUMULATOR; i++)
        may = may && !cg_staged_behind(op->operands[i]);
    for (const cg_sum *other = tensor->sums; other < tensor->sums + tensor->count && may; other++)
        may = !other->issued || is_either(op, other->product)
              || !(other->product->ahead
                   && (overlap(sum->column, sum->columns, other->column, other->columns)
                       || overlap(sum->left, sum->left_columns, other->column, other->columns)));
    return may;
}

/* Finds the sums of chains. False: there are none, or other products have to do with them. */
static bool find_chains(const moving *x, const ct_block *consumers)
{
    cg_tensor *tensor = x->c->tensor;
    uint32_t products = 0, issued = 0;
    for (const ct_op *op = consumers->first; op; op = ct_next_op(op, consumers))
        products += cg_is_product(op);
    for (uint32_t i = 0; i < tensor->count; i++)
        issued += tensor->sums[i].issued = is_of_chain(&tensor->sums[i]);
    bool all = issued && products == tensor->count && cg_ends_once(consumers);
    for (const cg_sum *sum = tensor->sums; sum < tensor->sums + tensor->count && all; sum++)
        all = !sum->issued ? may_stay(tensor, sum) : !sum->product->ahead || is_alone(tensor, sum);
    for (uint32_t i = 0; i < tensor->count && !all; i++)
        tensor->sums[i].issued = false;
    return all;
}

/* The tiles of rows that warps of their own have: the same number in all products, or one. */
static uint32_t tiles_of(const cg_func *c)
{
    uint32_t least = UINT32_MAX;
    for (const cg_sum *sum = c->tensor->sums; sum < c->tensor->sums + c->tensor->count; sum++) {
        cg_product p = cg_product_of(c, sum->product);
        cg_tcgen05_split(c, &p);
        uint32_t tiles = p.m > CG_TENSOR_ROW_BITS ? (uint32_t)1 << (p.along_m - CG_WARPGROUP_BITS) : 1;
        if (sum->issued && least != UINT32_MAX && tiles != least)
            return 1;
        least = sum->issued ? tiles : least;
    }
    return least <= CG_TENSOR_TILES ? least : 1;
}

/* ---- the issuer's program ---- */

static ct_op *copy_of(const moving *x, const ct_op *op)
{
    return ct_mapped(&x->map, &op->results[0])->op;
}

/* Is the op an await or release of slots that only products read? */
static bool is_of_slots(const ct_op *op)
{
    return (op->opcode == CT_await || op->opcode == CT_release) && is_ring_for_products(ct_ring_of(op));
}

static bool is_root(const ct_op *op)
{
    bool of_chain = cg_is_product(op) && (op->ahead || op->handed);
    return of_chain || is_of_slots(op) || cg_is_grid_wait(op) || op->opcode == CT_tensor || op->opcode == CT_tensor_end;
}

/* Cuts the copies of products off from what consumers compute. False: out of memory. */
static bool cut_off(const moving *x)
{
    for (uint32_t i = 0; i < x->c->tensor->count; i++) {
        const cg_sum *sum = &x->c->tensor->sums[i];
        if (!sum->issued || sum->product->ahead)
            continue;
        ct_op *product = copy_of(x, sum->product);
        ct_op *start = copy_of(x, sum->started),
              *left = ct_constant_new(x->f, product, product->operands[LEFT]->type, 0),
              *sums = ct_constant_new(x->f, start, start->results[0].type, 0);
        if (!left || !sums)
            return false;
        ct_insert_before(left, product);
        ct_insert_before(sums, start);
        ct_set_operand(product, LEFT, &left->results[0]);
        product->handed = true;
        ct_op *scaled = sum->scaled ? copy_of(x, sum->scaled) : NULL;
        if (scaled)
            ct_replace_uses(&scaled->results[0], scaled->operands[0]);
        ct_replace_uses(&start->results[0], &sums->results[0]);
        cg_mark_in_tensor(product, copy_of(x, sum->span));
    }
    return true;
}

/* Do producers load the same number for themselves? */
static bool is_loaded_by_producers(const ct_op *groups, const ct_op *load)
{
    const ct_block *producers = groups->regions[CG_PRODUCERS];
    for (const ct_op *op = ct_is_load(load) ? producers->first : NULL; op; op = ct_next_op(op, producers))
        if (op->from == load->from && ct_is_load(op))
            return true;
    return false;
}

bool cg_is_feasible_program(const ct_op *groups, ct_block *program, ct_is_root *executes)
{
    bool feasible = true;
    for (const ct_op *op = program->first; op && feasible; op = ct_next_op(op, program))
        feasible = cg_is_in_each_group(op) || executes(op) || op->opcode == CT_later
                   || is_loaded_by_producers(groups, op);
    while (!feasible && program->first)
        ct_remove(program->first);
    return feasible;
}

static bool is_of_issuer(const ct_op *op)
{
    return is_root(op) || cg_shows_slot(op);
}

/* A copy of the consumers' program without what the issuer does not need. False: it needs more than it can execute, or
   out of memory. */
static bool make_program(moving *x)
{
    const cg_sum *any = x->c->tensor->sums;
    while (!any->issued)
        any++;
    const ct_op *staged = cg_staged_behind(any->product->operands[RIGHT]);
    ct_value *nothing = staged->operands[staged->operand_count - 1];
    if (!ct_map_new(x->f, &x->map)
        || !(x->program = ct_clone_block(x->f, x->groups->regions[CG_CONSUMERS], x->groups, &x->map)) || !cut_off(x)
        || !ct_prune(x->f, x->program, is_root, nothing))
        return false;
    return cg_is_feasible_program(x->groups, x->program, is_of_issuer);
}

/* ---- the consumers' program ---- */

ct_op *cg_of_consumers(const ct_op *groups, const ct_op *wanted)
{
    const ct_block *body = groups->regions[CG_CONSUMERS];
    ct_op *op = body->first;
    while (op && op != wanted)
        op = ct_next_op(op, body);
    return op;
}

/* An op that takes the place of another one with one result. NULL: out of memory. */
static ct_op *put_instead(const moving *x, ct_opcode opcode, ct_op *other, uint32_t operands)
{
    ct_op *op = ct_op_new(x->f, opcode, other, operands, 1);
    if (!op)
        return NULL;
    for (uint32_t i = 0; i < operands; i++)
        ct_set_operand(op, i, other->operands[i == 0 ? LEFT : ACCUMULATOR]);
    op->results[0].type = other->results[0].type;
    op->results[0].in_tensor = other->results[0].in_tensor;
    ct_be_like(&op->results[0], &other->results[0]);
    ct_insert_before(op, other);
    ct_replace_uses(&other->results[0], &op->results[0]);
    ct_remove(other);
    return op;
}

/* Consumers take the sum of a product that runs ahead, which the loop no longer carries. */
static void take(const moving *x, cg_sum *sum)
{
    ct_op *await = cg_of_consumers(x->groups, sum->taken);
    if (!await)
        return;
    const ct_value *arg = await->operands[0];
    ct_op *loop = arg->block->parent;
    uint32_t carried = (uint32_t)(arg - loop->regions[0]->args) - 1;
    const ct_op *op = put_instead(x, CT_take, await, 0);
    for (cg_sum *other = x->c->tensor->sums; op && other < x->c->tensor->sums + x->c->tensor->count; other++)
        if (other->taken == sum->taken && other != sum)
            other->taken = other->loaded = op;
    sum->taken = sum->loaded = op;
    if (op)
        ct_drop_carried(loop, carried);
}

/* Consumers hand over the left operand. */
static void hand(const moving *x, cg_sum *sum)
{
    ct_op *product = cg_of_consumers(x->groups, sum->product);
    sum->handed = product ? put_instead(x, CT_hand, product, 2) : NULL;
}

/* Removes the awaits and releases of the slots, and ops without use that gave operands of products. */
static void sweep(ct_block *block)
{
    for (ct_op *op = block->last, *before; op; op = before) {
        bool used = false;
        before = op->prev;
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                sweep(op->regions[r]);
        for (uint32_t i = 0; i < op->result_count; i++)
            used = used || op->results[i].uses;
        bool gives = op->opcode == CT_staged || op->opcode == CT_later || op->opcode == OP_constant || cg_is_seen(op);
        if (is_of_slots(op) || (!used && gives))
            ct_remove(op);
    }
}

/* The products and what surrounds those that run ahead leave the consumers' program. */
static void leave(moving *x)
{
    cg_tensor *tensor = x->c->tensor;
    for (uint32_t i = 0; i < tensor->count && !x->c->failed; i++) {
        cg_sum *sum = &tensor->sums[i];
        if (!sum->issued)
            continue;
        ct_op *copy = copy_of(x, sum->product), *branch = sum->product->block->parent;
        if (!sum->product->ahead)
            hand(x, sum);
        else if (!sum->loaded)
            take(x, sum);
        if (sum->product->ahead)
            ct_remove(branch);
        sum->product = copy;
    }
    sweep(x->groups->regions[CG_CONSUMERS]);
}

/* The kept slots, too, are freed by the commits of the thread that reads them. */
static void free_by_commits(const moving *x)
{
    for (const ct_op *op = x->program->first; op; op = ct_next_op(op, x->program))
        if (op->opcode == CT_release)
            cg_ring_of(op, 0)->end = CG_FREE_WHEN_MULTIPLIED;
}

void cg_issue_chains(cg_func *c, ct_op *groups)
{
    moving x = {.c = c, .f = c->ir, .groups = groups};
    const cg_groups *plan = groups->detail;
    if (!plan->by_maps || !find_chains(&x, groups->regions[CG_CONSUMERS]))
        return;
    if (!make_program(&x)) {
        for (uint32_t i = 0; i < c->tensor->count; i++)
            c->tensor->sums[i].issued = false;
        return;
    }
    c->tensor->tiles = tiles_of(c);
    groups->regions[CG_ISSUER] = x.program;
    groups->region_count = CG_ISSUER + 1;
    leave(&x);
    free_by_commits(&x);
}

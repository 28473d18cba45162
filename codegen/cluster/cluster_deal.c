/* Distributes the iterations of a persistent kernel's loop over the thread blocks of a cluster
   (codegen/passes/cluster.c):

       for i = block to end by all            for i = block + rank * all to end by n * all

   where n blocks are to compute a tile block. Tiles keep their size, so that less data is read than by parts of them.
   Why it is right: the order of the iterations is not observable if the address of a store determines the stored value
   (two iterations that store to the same address store the same value, as in a product, where row and column determine
   a tile), if tiles at other addresses have no element in common with it, and if nothing else is ordered with the
   store. */
#include "codegen/analysis/apart.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/limits.h"
#include "codegen/cluster/cluster.h"

typedef struct dealing {
    cg_func *c;
    ct_op *loop;
    const ct_op *store; /* whose tile is traced back */
    const ct_op **list; /* the ops and values visited so far */
    bool *is_listed;    /* by value id: of the op's first result, or of the value that was read */
    uint32_t count;
} dealing;

static bool is_maker(const ct_value *v, bc_opcode opcode)
{
    return v->op && v->op->opcode == opcode;
}

/* The only loop of a kernel that does nothing else. It starts at the block's index, advances by the number of
   blocks, and carries only tokens. NULL: there is none. */
static ct_op *find_loop(const ct_func *f)
{
    ct_op *loop = f->body->last->prev;
    if (f->body->last->opcode != OP_return || !loop || loop->opcode != OP_for
        || !is_maker(loop->operands[0], OP_get_tile_block_id) || !is_maker(loop->operands[2], OP_get_num_tile_blocks)
        || loop->operands[0]->number != loop->operands[2]->number)
        return NULL;
    for (uint32_t i = 0; i < loop->result_count; i++)
        if (loop->results[i].type->kind != BC_TOKEN)
            return NULL;
    return loop;
}

/* ---- memory accesses of iterations ---- */

/* Is no other access of the kernel ordered with the store? */
static bool is_alone(const dealing *d, const ct_op *store)
{
    bool write;
    const ct_block *body = d->c->ir->body;
    cg_ordered_op stores = cg_ordered_op_of(d->c, store);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        if (op == store || !cg_memory_of(op, &write))
            continue;
        cg_ordered_op other = cg_ordered_op_of(d->c, op);
        if (cg_are_ordered(&stores, &other))
            return false;
    }
    return true;
}

static bool is_own_tile(const dealing *d, const ct_op *op)
{
    if (op->opcode != OP_store_view_tko || op->block != d->loop->regions[0] || !cg_is_weak_access(op))
        return false;
    const ct_value *view = cg_view_op_of(op).view;
    return cg_cluster_tensor_of(view) && cg_view_tiles_apart(d->c, view) && is_alone(d, op);
}

static bool is_load(const ct_op *op)
{
    bool write;
    return cg_memory_of(op, &write) && !write && cg_is_weak_access(op);
}

/* ---- values that determine a tile ---- */

static bool is_where_it_goes(const dealing *d, const ct_value *v)
{
    cg_view_op store = cg_view_op_of(d->store);
    for (uint32_t i = 0; i < store.index_count; i++)
        if (store.index[i] == v)
            return true;
    return false;
}

/* Visits v. False: it differs between iterations that store to the same address. */
static bool read(dealing *d, const ct_value *v)
{
    const ct_op *op = ct_maker_of(v);
    if (v->type->kind == BC_TOKEN || !ct_is_inside(v->block, d->loop->regions[0]) || is_where_it_goes(d, v))
        return true;
    if (op == d->loop)
        return false;
    bool *is_listed = &d->is_listed[op->result_count ? op->results[0].id : v->id];
    if (!*is_listed)
        d->list[d->count++] = op;
    *is_listed = true;
    return true;
}

static bool read_operands(dealing *d, const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!read(d, op->operands[i]))
            return false;
    return true;
}

/* Visits the operands of the op, and those of all ops in its regions. */
static bool read_all(dealing *d, const ct_op *op)
{
    bool same = true;
    for (const ct_op *in = op; in && same; in = ct_next_within(in, op))
        same = read_operands(d, in);
    return same;
}

static bool follows_from_place(dealing *d, const ct_op *store)
{
    d->store = store;
    d->count = 0;
    for (uint32_t i = 0; i < d->c->ir->value_count; i++)
        d->is_listed[i] = false;
    bool same = read(d, cg_view_op_of(store).tile);
    for (uint32_t i = 0; same && i < d->count; i++)
        same = read_all(d, d->list[i]);
    return same;
}

/* Are stores of such tiles the only observable effects? */
static bool is_plain(dealing *d)
{
    const ct_block *body = d->c->ir->body;
    uint32_t stores = 0, loads = 0;
    for (const ct_op *op = body->first; op != body->last; op = ct_next_op(op, body)) {
        if (op->opcode == OP_return)
            return false;
        if (is_load(op) && loads++ == CG_DEALT_LOADS)
            return false;
        if (is_load(op) || op->region_count || ct_is_pure(op) || ct_info(op)->traits & BC_TERMINATOR)
            continue;
        if (stores++ == CG_DEALT_STORES || !is_own_tile(d, op) || !follows_from_place(d, op))
            return false;
    }
    return true;
}

/* ---- distributing ---- */

ct_value *cg_build_rank(ct_builder *b, ct_value *blocks)
{
    return ct_build_own(b, CT_rank, ct_scalar_type(b->f, BC_I32), &blocks, 1);
}

/* No sum overflows, because there are fewer than 2^24 tile blocks (cg_range_of). */
static void deal(dealing *d, uint32_t blocks)
{
    ct_builder b = {d->c->ir, d->loop, false};
    ct_value *all = d->loop->operands[2], *rank = cg_build_rank(&b, ct_build_scalar(&b, BC_I64, blocks)),
             *first = ct_build_add(&b, d->loop->operands[0], ct_build_mul(&b, all, rank)),
             *step = ct_build_mul(&b, all, ct_build_scalar(&b, BC_I32, blocks));
    if (!first || !step)
        return;
    ct_set_operand(d->loop, 0, first);
    ct_set_operand(d->loop, 2, step);
}

bool cg_cluster_deal(cg_func *c, uint32_t blocks)
{
    dealing d = {.c = c, .loop = find_loop(c->ir)};
    if (!d.loop)
        return false;
    d.list = bc_new(&c->arena, const ct_op *, c->ir->value_count + 1u);
    d.is_listed = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    if (!d.list || !d.is_listed)
        return false;
    if (!is_plain(&d))
        return false;
    deal(&d, blocks);
    return !c->failed;
}

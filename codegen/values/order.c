/* Barriers between memory ops; see the header. */
#include "codegen/values/order.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/view.h"
#include "codegen/tile/tokens.h"
#include "codegen/values/shared_state.h"

/* ---- conflicts ---- */

/* A load or store of a tile. */
static bool is_view_op(const ct_op *op)
{
    const bc_op_info *info = ct_info(op);
    return bc_rows[info->address].constraint == BC_IS_tile_view
           && (info->effects == BC_READS || info->effects == BC_WRITES);
}

/* Is an element of the tensor in one tile of the view only, and at one address, as far as the types say? */
static bool tiles_are_apart(const bc_type *view)
{
    bool apart = view->kind == BC_PARTITION_VIEW;
    for (uint32_t d = 0; apart && d < view->elem->rank; d++)
        apart = view->elem->strides[d] != 0 || view->elem->shape[d] == 1;
    return apart;
}

/* Do both ops touch element i of the tile at the same address, each element from the same thread, or, where tiles do
   not overlap, no element in common? */
static bool same_elements(const cg_note *a, const ct_op *b, const cg_layout *layout)
{
    if (!a->layout || !layout || !cg_layout_equal(a->layout, layout) || cg_layout_has_replicas(layout)
        || !is_view_op(a->op) || !is_view_op(b))
        return false;
    cg_view_op x = cg_view_op_of(a->op), y = cg_view_op_of(b);
    if (x.view != y.view || x.view->type->kind == BC_GATHER_SCATTER_VIEW) /* a sparse index may name a slice twice */
        return false;
    if (tiles_are_apart(x.view->type))
        return true;
    for (uint32_t i = 0; i < x.index_count; i++)
        if (a->again || x.index[i] != y.index[i])
            return false;
    return true;
}

static void add_note(cg_func *c, cg_note note)
{
    for (const cg_note *n = c->shared->order.notes; n; n = n->next)
        if (n->origin == note.origin && n->root == note.root && n->write == note.write && n->op == note.op
            && n->again == note.again && n->layout == note.layout)
            return;
    cg_note *added = bc_new(&c->arena, cg_note, 1);
    if (!added) {
        cg_no_memory(c);
        return;
    }
    *added = note;
    added->next = c->shared->order.notes;
    c->shared->order.notes = added;
}

/* May an access touch what another thread accessed since the last barrier, and before it by its tokens? */
static bool conflicts(const cg_func *c, const cg_note *access)
{
    ct_sources sources = ct_sources_of(access->op);
    for (const cg_note *n = c->shared->order.notes; n; n = n->next) {
        bool apart = n->root && access->root && n->root != access->root;
        bool ordered = n->origin == access->origin || ct_is_source(&sources, n->op);
        if (!apart && ordered && (access->write || n->write) && !same_elements(n, access->op, access->layout))
            return true;
    }
    return false;
}

void cg_order_access(cg_func *c, const ct_op *op, const ct_value *memory, bool write, const cg_layout *layout)
{
    cg_note access = {
        .origin = cg_origin_of(memory), .root = cg_root_of(c, memory), .write = write, .op = op, .layout = layout};
    if (conflicts(c, &access))
        cg_barrier(c);
    add_note(c, access);
}

/* ---- loops and branches ---- */

bool cg_order_conflicts(cg_func *c, const ct_op *op)
{
    bool write;
    const ct_value *memory = cg_memory_of(op, &write);
    return memory
           && conflicts(c, &(cg_note){.origin = cg_origin_of(memory),
                                      .root = cg_root_of(c, memory),
                                      .write = write,
                                      .op = op,
                                      .layout = cg_value_of(c, cg_result(op, 0))->home});
}

void cg_order_loop(cg_func *c, const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        bool write;
        const ct_value *memory = cg_memory_of(op, &write);
        bool is_tile = memory && op->opcode != CT_staged && is_view_op(op)
                       && !ct_is_inside(memory->view->maker->block, body);
        if (memory)
            add_note(c, (cg_note){.origin = cg_origin_of(memory),
                                  .root = cg_root_of(c, memory),
                                  .write = write,
                                  .op = op,
                                  .again = true,
                                  .layout = is_tile ? cg_value_of(c, cg_result(op, 0))->home : NULL});
    }
    cg_scratch_loop(c, body);
}

cg_order cg_order_save(const cg_func *c)
{
    return c->shared->order;
}

void cg_order_restore(cg_func *c, cg_order order)
{
    c->shared->order = order;
}

void cg_order_join(cg_func *c, cg_order order)
{
    cg_scratch_apart_read(c, &order.read);
    for (const cg_note *n = order.notes; n; n = n->next)
        add_note(c, *n);
}

/* Barriers between memory ops; see the header. */
#include "codegen/order.h"

#include "codegen/groups.h"
#include "codegen/stage.h"
#include "codegen/strips.h"
#include "codegen/tile/tokens.h"
#include "codegen/view.h"

/* ---- which memory ---- */

/* The value that an address comes from: a parameter, or what loaded or made the pointer. */
static const ct_value *origin_of(const ct_value *v)
{
    while (v->op && !bc_op_in(v->op->opcode, BC_OPS(ACCESS)) && ct_info(v->op)->address)
        v = ct_operand(v->op, ct_info(v->op)->address);
    return v;
}

/* Arrays of a cuTile signature without alias groups do not overlap (memory reference, 11.3); nothing else is known. */
static uint32_t root_of(const cg_func *c, const ct_value *memory)
{
    const ct_value *v = origin_of(memory);
    return c->params_apart && !v->op && v->id < c->ir->body->arg_count ? v->id + 1 : 0;
}

/* ---- conflicts ---- */

/* A load or store of a tile. */
static bool is_view_op(const ct_op *op)
{
    const bc_op_info *info = ct_info(op);
    return bc_rows[info->address].constraint == BC_IS_tile_view
           && (info->effects == BC_READS || info->effects == BC_WRITES);
}

/* Replicas of an element: one thread writes them, others read them. */
static bool has_replicas(const cg_layout *l)
{
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        if (!l->lane[i])
            return true;
    for (uint32_t i = 0; i < l->warp_bits; i++)
        if (!l->warp[i])
            return true;
    return false;
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
    if (!a->layout || !layout || !cg_layout_equal(a->layout, layout) || has_replicas(layout) || !is_view_op(a->op)
        || !is_view_op(b))
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
    for (const cg_note *n = c->order.notes; n; n = n->next)
        if (n->origin == note.origin && n->root == note.root && n->write == note.write && n->op == note.op
            && n->again == note.again && n->layout == note.layout)
            return;
    cg_note *added = bc_new(&c->arena, cg_note, 1);
    if (!added) {
        cg_no_memory(c);
        return;
    }
    *added = note;
    added->next = c->order.notes;
    c->order.notes = added;
}

/* May an access touch what another thread accessed since the last barrier, and before it by its tokens? */
static bool conflicts(const cg_func *c, const cg_note *access)
{
    ct_sources sources = ct_sources_of(access->op);
    for (const cg_note *n = c->order.notes; n; n = n->next) {
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
        .origin = origin_of(memory), .root = root_of(c, memory), .write = write, .op = op, .layout = layout};
    if (conflicts(c, &access))
        cg_barrier(c);
    add_note(c, access);
}

/* ---- loops and branches ---- */

/* The operand that says where a memory op goes; NULL: not one. What was copied ahead counts where it is used. */
static const ct_value *memory_of(const ct_op *op, bool *out_write)
{
    const bc_op_info *info = op->opcode == CT_staged ? bc_info(op->from) : ct_info(op);
    *out_write = info->effects & BC_WRITES;
    return op->opcode == CT_staged || bc_op_in(op->opcode, BC_OPS(ACCESS)) ? ct_operand(op, info->address) : NULL;
}

bool cg_order_conflicts(cg_func *c, const ct_op *op)
{
    bool write;
    const ct_value *memory = memory_of(op, &write);
    return memory
           && conflicts(c, &(cg_note){.origin = origin_of(memory),
                                      .root = root_of(c, memory),
                                      .write = write,
                                      .op = op,
                                      .layout = &cg_value_of(c, cg_result(op, 0))->home});
}

bool cg_is_weak_access(const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_load_ptr_tko:
        return ct_attr_u(op, F_load_ptr_tko_memory_ordering_semantics) == BC_MemoryOrderingSemantics_weak;
    case OP_store_ptr_tko:
        return ct_attr_u(op, F_store_ptr_tko_memory_ordering_semantics) == BC_MemoryOrderingSemantics_weak;
    case OP_load_view_tko:
        return ct_attr_u(op, F_load_view_tko_memory_ordering_semantics) == BC_MemoryOrderingSemantics_weak;
    case OP_store_view_tko:
        return ct_attr_u(op, F_store_view_tko_memory_ordering_semantics) == BC_MemoryOrderingSemantics_weak;
    default: return false;
    }
}

bool cg_order_holds_back(const cg_func *c, const ct_block *block, const ct_op *load)
{
    bool write;
    const ct_value *memory = memory_of(load, &write);
    ct_sources sources = ct_sources_of(load);
    uint32_t root = root_of(c, memory);
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block)) {
        const ct_value *other = op != load ? memory_of(op, &write) : NULL;
        bool is_plain = other && op->opcode != CT_staged && cg_is_weak_access(op);
        bool apart = other && is_plain && root && root_of(c, other) && root_of(c, other) != root;
        bool matters = (other && op->opcode != CT_staged && (write || !is_plain))
                       || (op->opcode < OP_LIMIT && ct_info(op)->effects & BC_ORDERS); /* fences */
        bool ordered = ct_is_source(&sources, op) || (other && write && origin_of(other) == origin_of(memory));
        if (matters && ordered && !apart)
            return true;
    }
    return false;
}

void cg_order_loop(cg_func *c, const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        bool write;
        const ct_value *memory = memory_of(op, &write);
        bool is_tile = memory && op->opcode != CT_staged && is_view_op(op)
                       && !ct_is_inside(memory->view->maker->block, body);
        if (memory)
            add_note(c, (cg_note){.origin = origin_of(memory),
                                  .root = root_of(c, memory),
                                  .write = write,
                                  .op = op,
                                  .again = true,
                                  .layout = is_tile ? &cg_value_of(c, cg_result(op, 0))->home : NULL});
    }
    cg_scratch_loop(c, body);
}

cg_order cg_order_save(const cg_func *c)
{
    return c->order;
}

void cg_order_restore(cg_func *c, cg_order order)
{
    c->order = order;
}

void cg_order_join(cg_func *c, cg_order order)
{
    cg_scratch_apart_read(c, &order.read);
    for (const cg_note *n = order.notes; n; n = n->next)
        add_note(c, *n);
}

/* ---- barriers ---- */

void cg_warp_barrier(cg_func *c)
{
    cg_ins(c, "bar.warp.sync 0xffffffff");
}

void cg_barrier(cg_func *c)
{
    if (c->groups)
        cg_ins(c, "bar.sync 1, %u", cg_threads(c));
    else if (c->warp_bits)
        cg_ins(c, "bar.sync 0");
    else
        cg_warp_barrier(c);
    c->order.read = (cg_span){0};
    if (!c->strips || !cg_strip_now(c)) /* in a loop, later trips are still to come */
        c->order.notes = NULL;
    c->barriers++;
}

cg_val cg_all(cg_func *c, cg_val predicate)
{
    cg_val all = cg_new(c, CG_PRED);
    if (c->groups)
        cg_ins(c, "bar.red.and.pred %v, 1, %u, %v", all, cg_threads(c), cg_reg(c, predicate));
    else if (c->warp_bits)
        cg_ins(c, "bar.red.and.pred %v, 0, %v", all, cg_reg(c, predicate));
    else
        cg_ins(c, "vote.sync.all.pred %v, %v, 0xffffffff", all, cg_reg(c, predicate));
    return all;
}

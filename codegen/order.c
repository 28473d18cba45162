/* Barriers between memory ops; see the header. */
#include "codegen/order.h"

#include "codegen/stage.h"
#include "codegen/strips.h"
#include "codegen/view.h"

/* ---- which memory ---- */

/* The value that an address comes from: a parameter, or what loaded or made the pointer. */
static const bc_value *origin(const bc_value *v)
{
    for (const bc_op *op = v->op; op; op = v->op) {
        switch ((int)op->opcode) {
        case OP_make_partition_view:
        case OP_make_strided_view:
        case OP_make_gather_scatter_view:
        case OP_make_tensor_view:
        case OP_assume:
        case OP_offset:
        case OP_broadcast:
        case OP_reshape:
        case OP_permute:
        case OP_ptr_to_ptr:
            v = op->opcode == OP_assume ? bc_operand(op, F_assume_value) : bc_operands(op)[0];
            break;
        default:
            return v;
        }
    }
    return v;
}

/* Arrays of a cuTile signature without alias groups do not overlap (memory reference, 11.3); nothing else is known. */
static uint32_t root_of(const cg_func *c, const bc_value *memory)
{
    const bc_value *v = origin(memory);
    return c->params_apart && !v->op && v->id < c->f->body->arg_count ? v->id + 1 : 0;
}

/* ---- conflicts ---- */

static bool is_view_op(const bc_op *op)
{
    return op->opcode == OP_load_view_tko || op->opcode == OP_store_view_tko;
}

/* Copies of an element: one thread writes them, others read them. */
static bool has_copies(const cg_layout *l)
{
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        if (!l->lane[i])
            return true;
    for (uint32_t i = 0; i < l->warp_bits; i++)
        if (!l->warp[i])
            return true;
    return false;
}

/* Do both ops touch element i of the tile at the same address, each element from the same thread? */
static bool same_elements(const cg_note *a, const bc_op *b, const cg_layout *layout)
{
    if (!a->op || !a->layout || !layout || !cg_layout_equal(a->layout, layout) || has_copies(layout) || !is_view_op(a->op)
        || !is_view_op(b))
        return false;
    cg_view_op x = cg_view_op_of(a->op), y = cg_view_op_of(b);
    if (x.view != y.view || x.view->type->kind == BC_GATHER_SCATTER_VIEW) /* a sparse index may name a slice twice */
        return false;
    for (uint32_t i = 0; i < x.index_count; i++)
        if (x.index[i] != y.index[i])
            return false;
    return true;
}

static void add_note(cg_func *c, cg_note note)
{
    for (const cg_note *n = c->order.notes; n; n = n->next)
        if (n->root == note.root && n->write == note.write && n->op == note.op && n->layout == note.layout)
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

/* May an access touch what another thread accessed since the last barrier? */
static bool conflicts(const cg_func *c, const bc_op *op, uint32_t root, bool write, const cg_layout *layout)
{
    for (const cg_note *n = c->order.notes; n; n = n->next) {
        bool apart = n->root && root && n->root != root;
        if (!apart && (write || n->write) && !same_elements(n, op, layout))
            return true;
    }
    return false;
}

void cg_order_access(cg_func *c, const bc_op *op, const bc_value *memory, bool write, const cg_layout *layout)
{
    uint32_t root = root_of(c, memory);
    if (conflicts(c, op, root, write, layout))
        cg_barrier(c);
    add_note(c, (cg_note){.root = root, .write = write, .op = op, .layout = layout});
}

/* ---- loops and branches ---- */

/* The operand that says where a memory op goes; NULL: not one. */
static const bc_value *memory_of(const bc_op *op, bool *out_write)
{
    *out_write = true;
    switch ((int)op->opcode) {
    case OP_load_view_tko:
        *out_write = false;
        return bc_operand(op, F_load_view_tko_view);
    case OP_store_view_tko:
        return bc_operand(op, F_store_view_tko_view);
    case OP_load_ptr_tko:
        *out_write = false;
        return bc_operand(op, F_load_ptr_tko_source);
    case OP_store_ptr_tko:
        return bc_operand(op, F_store_ptr_tko_destination);
    case OP_atomic_rmw_tko:
        return bc_operand(op, F_atomic_rmw_tko_pointers);
    case OP_atomic_cas_tko:
        return bc_operand(op, F_atomic_cas_tko_pointers);
    case OP_atomic_red_view_tko:
        return bc_operand(op, F_atomic_red_view_tko_view);
    default:
        return NULL;
    }
}

bool cg_order_conflicts(cg_func *c, const bc_op *op)
{
    bool write;
    const bc_value *memory = memory_of(op, &write);
    return memory && conflicts(c, op, root_of(c, memory), write, &cg_value_of(c, cg_result(op, 0))->home);
}

bool cg_order_is_written(const cg_func *c, const bc_block *block, const bc_value *memory)
{
    uint32_t root = root_of(c, memory);
    for (const bc_op *op = block->first; op; op = bc_next_op(op, block)) {
        bool write;
        const bc_value *other = memory_of(op, &write);
        if (other && write && (!root || !root_of(c, other) || root_of(c, other) == root))
            return true;
    }
    return false;
}

void cg_order_loop(cg_func *c, const bc_block *body)
{
    for (const bc_op *op = body->first; op; op = bc_next_op(op, body)) {
        bool write;
        const bc_value *memory = memory_of(op, &write);
        if (memory)
            add_note(c, (cg_note){.root = root_of(c, memory), .write = write});
    }
    c->order.scratch_dirty = true;
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
    c->order.scratch_dirty = c->order.scratch_dirty || order.scratch_dirty;
    for (const cg_note *n = order.notes; n; n = n->next)
        add_note(c, *n);
}

/* ---- barriers and scratch ---- */

void cg_barrier(cg_func *c)
{
    if (c->warp_bits)
        cg_ins(c, "bar.sync 0");
    else
        cg_ins(c, "bar.warp.sync 0xffffffff");
    c->order.scratch_dirty = false;
    if (!c->strips || !cg_strip_now(c)) /* in a loop, later trips are still to come */
        c->order.notes = NULL;
    c->barriers++;
}

cg_val cg_all(cg_func *c, cg_val predicate)
{
    cg_val all = cg_new(c, CG_PRED);
    if (c->warp_bits)
        cg_ins(c, "bar.red.and.pred %v, 0, %v", all, cg_reg(c, predicate));
    else
        cg_ins(c, "vote.sync.all.pred %v, %v, 0xffffffff", all, cg_reg(c, predicate));
    return all;
}

uint32_t cg_scratch_room(const cg_func *c)
{
    uint32_t all = cg_static_shared(c->target);
    return c->in_ring ? (all - c->ring_bytes) & ~(uint32_t)(CG_STAGE_ALIGN - 1) : all;
}

cg_val cg_scratch(cg_func *c, uint32_t bytes)
{
    if (bytes > cg_scratch_room(c)) {
        if (c->in_ring)
            c->failed = c->is_tight = true;
        else
            cg_unsupported(c, c->op, "'%s' needs %u bytes of shared memory; a kernel for %s may have %u", bc_info(c->op)->name, bytes,
                           c->target->name, cg_static_shared(c->target));
    }
    if (cg_strip_needs_barrier(c) || c->order.scratch_dirty)
        cg_barrier(c);
    if (bytes > c->shared_bytes)
        c->shared_bytes = bytes;
    if (c->in_ring && bytes > c->kept_bytes)
        c->kept_bytes = bytes;
    if (!c->scratch.id) {
        c->scratch = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, tv_scratch", c->scratch);
    }
    return c->scratch;
}

void cg_scratch_read(cg_func *c)
{
    c->order.scratch_dirty = true;
}

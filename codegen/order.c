/* Barriers between memory ops; see the header. */
#include "codegen/order.h"

#include "codegen/groups.h"
#include "codegen/stage.h"
#include "codegen/strips.h"
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
static bool same_elements(const cg_note *a, const ct_op *b, const cg_layout *layout)
{
    if (!a->op || !a->layout || !layout || !cg_layout_equal(a->layout, layout) || has_copies(layout)
        || !is_view_op(a->op) || !is_view_op(b))
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
        if (n->origin == note.origin && n->root == note.root && n->write == note.write && n->op == note.op
            && n->layout == note.layout)
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

/* ---- token edges ---- */

enum { MOST_EDGES = 64 };

/* The ops that an op's tokens come from. */
typedef struct edges {
    const ct_op *ops[MOST_EDGES];
    uint32_t count;
    bool all; /* they may come from any op: through a loop or branch, or from too many */
} edges;

static void add_edge(edges *e, const ct_op *op)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->ops[i] == op)
            return;
    if (e->count == MOST_EDGES || op->region_count)
        e->all = true;
    else
        e->ops[e->count++] = op;
}

/* Without a path of tokens two ops have no order (memory reference, 3.4). */
static edges edges_to(const ct_op *op)
{
    edges e = {.count = 0};
    for (uint32_t next = 0; op && !e.all; op = next < e.count ? e.ops[next++] : NULL)
        for (uint32_t i = 0; i < op->operand_count && !e.all; i++) {
            const ct_value *v = ct_operands(op)[i];
            if (v->type->kind != BC_TOKEN)
                continue;
            e.all = !v->op;
            if (v->op)
                add_edge(&e, v->op);
        }
    return e;
}

static bool comes_from(const edges *e, const ct_op *op)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->ops[i] == op)
            return true;
    return e->all;
}

/* May an access touch what another thread accessed since the last barrier, and before it by its tokens? */
static bool conflicts(const cg_func *c, const cg_note *access)
{
    edges e = edges_to(access->op);
    for (const cg_note *n = c->order.notes; n; n = n->next) {
        bool apart = n->root && access->root && n->root != access->root;
        bool ordered = n->origin == access->origin || comes_from(&e, n->op);
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

bool cg_order_is_written(const cg_func *c, const ct_block *block, const ct_value *memory)
{
    uint32_t root = root_of(c, memory);
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block)) {
        bool write;
        const ct_value *other = memory_of(op, &write);
        if (other && write && (!root || !root_of(c, other) || root_of(c, other) == root))
            return true;
    }
    return false;
}

void cg_order_loop(cg_func *c, const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        bool write;
        const ct_value *memory = memory_of(op, &write);
        if (memory)
            add_note(c, (cg_note){.origin = origin_of(memory), .root = root_of(c, memory), .write = write});
    }
    cg_scratch_read(c);
}

/* The least span that has both. */
static void add_span(cg_span *span, const cg_span *other)
{
    if (span->from == span->to) {
        *span = *other;
    } else if (other->from != other->to) {
        span->from = span->from < other->from ? span->from : other->from;
        span->to = span->to > other->to ? span->to : other->to;
    }
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
    add_span(&c->order.read, &order.read);
    for (const cg_note *n = order.notes; n; n = n->next)
        add_note(c, *n);
}

/* ---- barriers and scratch ---- */

void cg_barrier(cg_func *c)
{
    if (c->groups)
        cg_ins(c, "bar.sync 1, %u", cg_threads(c));
    else if (c->warp_bits)
        cg_ins(c, "bar.sync 0");
    else
        cg_ins(c, "bar.warp.sync 0xffffffff");
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

uint32_t cg_scratch_room(const cg_func *c)
{
    uint32_t all = c->groups ? c->groups->shared : cg_static_shared(c->target);
    return c->in_ring ? (all - c->ring_bytes) & ~(uint32_t)(CG_STAGE_ALIGN - 1) : all;
}

/* Nobody reads bytes from `from` on any more. */
static cg_val scratch_at(cg_func *c, uint32_t from, uint32_t bytes)
{
    uint32_t to = from + bytes;
    if (to > c->shared_bytes)
        c->shared_bytes = to;
    if (c->in_ring && to > c->kept_bytes)
        c->kept_bytes = to;
    if (!c->scratch.id) {
        c->scratch = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, tv_scratch", c->scratch);
    }
    if (!from)
        return c->scratch;
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, c->scratch, from);
    return address;
}

cg_val cg_scratch(cg_func *c, uint32_t bytes)
{
    if (bytes > cg_scratch_room(c)) {
        if (c->in_ring)
            c->failed = c->is_tight = true;
        else
            cg_unsupported(c, c->op, "'%s' needs %u bytes of shared memory; a kernel for %s may have %u",
                           ct_op_name(c->op), bytes, c->target->name, cg_static_shared(c->target));
    }
    if (cg_strip_needs_barrier(c) || c->order.read.from != c->order.read.to)
        cg_barrier(c);
    return scratch_at(c, 0, bytes);
}

void cg_scratch_read(cg_func *c)
{
    c->order.read = (cg_span){0, UINT32_MAX};
}

cg_val cg_scratch_apart(cg_func *c, uint32_t bytes, cg_span *out_span)
{
    enum { APART = 2048 }; /* such bytes lie below this */
    const cg_span *read = &c->order.read;
    uint32_t from = bytes <= read->from || read->from == read->to ? 0 : read->to;
    bool fits = !c->strips && bytes <= APART && from <= APART - bytes && from + bytes <= cg_scratch_room(c);
    if (!fits)
        from = 0;
    *out_span = (cg_span){from, from + ((bytes + 15) & ~(uint32_t)15)}; /* what comes behind it is aligned */
    return fits ? scratch_at(c, from, bytes) : cg_scratch(c, bytes);
}

void cg_scratch_apart_read(cg_func *c, const cg_span *span)
{
    add_span(&c->order.read, span);
}

/* The order of memory ops; see the header. Why it is right: an access may move past another one only if none of its
   tokens comes from that one and, in addition, their addresses come from different pointers, or both are loads, or
   they have no element of memory in common. Accesses that no token orders need not keep their order (memory
   reference, 3.4). */
#include "codegen/analysis/order.h"

#include "codegen/analysis/apart.h"
#include "codegen/analysis/view.h"
#include "codegen/tile/same.h"

const ct_value *cg_origin_of(const ct_value *v)
{
    for (v = ct_unconverted(v); v->op && !bc_op_in(v->op->opcode, BC_OPS(ACCESS)) && ct_info(v->op)->address;)
        v = ct_unconverted(ct_operand(v->op, ct_info(v->op)->address));
    return v;
}

/* Arrays of a cuTile signature without alias groups do not overlap (memory reference, 11.3); nothing else is known. */
uint32_t cg_root_of(const cg_func *c, const ct_value *memory)
{
    const ct_value *v = cg_origin_of(memory);
    return c->promises.apart && !v->op && v->id < c->ir->body->arg_count ? v->id + 1 : 0;
}

const ct_value *cg_memory_of(const ct_op *op, bool *out_write)
{
    const bc_op_info *info = op->opcode == CT_staged ? bc_info(op->from) : ct_info(op);
    *out_write = info->effects & BC_WRITES;
    return op->opcode == CT_staged || bc_op_in(op->opcode, BC_OPS(ACCESS)) ? ct_operand(op, info->address) : NULL;
}

cg_ordered_op cg_ordered_op_of(const cg_func *c, const ct_op *op)
{
    bool write;
    const ct_value *memory = cg_memory_of(op, &write);
    return (cg_ordered_op){op, cg_origin_of(memory), cg_root_of(c, memory), ct_sources_of(op)};
}

bool cg_are_ordered(const cg_ordered_op *a, const cg_ordered_op *b)
{
    if (a->root && b->root && a->root != b->root)
        return false;
    return ct_is_source(&a->before, b->op) || ct_is_source(&b->before, a->op)
           || (a->op != b->op && a->origin == b->origin);
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

bool cg_is_grid_wait(const ct_op *op)
{
    return op->opcode == OP_gdc_wait_tko && !op->block->parent;
}

/* Does the op order accesses of all threads? The permission for the next grid to start orders nothing. */
static bool orders(const ct_op *op)
{
    return op->opcode < OP_LIMIT && ct_info(op)->effects & BC_ORDERS && op->opcode != OP_gdc_launch_dependents_tko
           && !cg_is_grid_wait(op);
}

/* Does every iteration of the loop with that body load a tile and then store one in its place, and does no other
   iteration access it? Then the load of a later iteration may come before this store. The tile is one of a partition
   whose tiles have no element in common, of a tensor that the loop does not create; one of its indices is the
   counter, which differs in every iteration. The load of the same iteration stays in front of the store. */
static bool has_tile_of_its_own(const cg_func *c, const ct_block *body, const ct_op *load, const ct_op *store)
{
    if (load->opcode != OP_load_view_tko || store->opcode != OP_store_view_tko || load->block != body
        || store->block != body || !body->parent || body->parent->opcode != OP_for)
        return false;
    cg_view_op x = cg_view_op_of(load), y = cg_view_op_of(store);
    bool same = ct_is_same(x.view, y.view) && !ct_is_inside(x.view->block, body) && cg_view_tiles_apart(c, x.view)
                && x.index_count == y.index_count,
         counts = false;
    for (uint32_t i = 0; same && i < x.index_count; i++) {
        same = ct_is_same(x.index[i], y.index[i]);
        counts = counts || x.index[i] == &body->args[0];
    }
    while (same && counts && load && load != store)
        load = load->next;
    return same && counts && load;
}

/* A load, and the block to which it may be moved. */
typedef struct ordered_load {
    const ct_op *op;
    const ct_value *memory;
    ct_sources sources;
    uint32_t root;
} ordered_load;

static ordered_load ordered_load_of(const cg_func *c, const ct_op *load)
{
    bool write;
    const ct_value *memory = cg_memory_of(load, &write);
    return (ordered_load){load, memory, ct_sources_of(load), cg_root_of(c, memory)};
}

/* Does the op write or order memory so that the load may have to follow it? */
static bool op_holds_back(const cg_func *c, const ct_op *op, const ordered_load *load)
{
    bool write = false;
    const ct_value *other = op != load->op ? cg_memory_of(op, &write) : NULL;
    bool is_plain = other && op->opcode != CT_staged && cg_is_weak_access(op);
    bool apart = other && is_plain && load->root && cg_root_of(c, other) && cg_root_of(c, other) != load->root;
    bool matters = (other && op->opcode != CT_staged && (write || !is_plain)) || orders(op); /* fences */
    bool ordered = ct_is_source(&load->sources, op)
                   || (other && write && cg_origin_of(other) == cg_origin_of(load->memory));
    return matters && ordered && !apart;
}

/* own: stores to each iteration's own tile do not hold the load back. */
static bool holds_back(const cg_func *c, const ct_block *block, const ct_op *load, bool own)
{
    ordered_load ordered = ordered_load_of(c, load);
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block))
        if (op_holds_back(c, op, &ordered) && !(own && has_tile_of_its_own(c, block, load, op)))
            return true;
    return false;
}

bool cg_nothing_between(const cg_func *c, const ct_op *first, const ct_op *load)
{
    ordered_load ordered = ordered_load_of(c, load);
    for (const ct_op *op = first->next; op && op != load; op = ct_next_op(op, first->block))
        if (op_holds_back(c, op, &ordered))
            return false;
    return true;
}

bool cg_order_holds_back(const cg_func *c, const ct_block *block, const ct_op *load)
{
    return holds_back(c, block, load, false);
}

bool cg_iterations_hold_back(const cg_func *c, const ct_block *body, const ct_op *load)
{
    return holds_back(c, body, load, true);
}

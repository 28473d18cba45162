/* The speculate pass loads a tile in front of a branch if one side of the branch begins by loading it and the condition
   itself waits for memory, so that both loads are in flight at once. An example is split-K under a lock: the first
   block of a tile stores its sums, and each other block adds its sums to those in memory, after waiting for the lock,
   then for the count, then for the tile.

       %n = load count                        %n = load count
       if %n == 0 {                           %old = load %c[x, y]
           store sum, %c[x, y]                if %n == 0 {
       } else {                      ->           store sum, %c[x, y]
           %old = load %c[x, y]               } else {
           store %old + sum, %c[x, y]             store %old + sum, %c[x, y]
       }                                      }

   Why it is right: the load cannot fault, because the other side accesses the same tile, or an op before the branch has
   accessed it. It stays after the ops from which its tokens come, and no op in between writes or orders memory. If the
   other side is taken, the loaded value, which another thread may be writing meanwhile, is not used. An unneeded load
   must cost little: it happens once per block, with at most 64 bytes per thread. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/tile/same.h"

/* ---- whether ---- */

static bool is_same_view(const ct_value *a, const ct_value *b)
{
    return ct_is_same(a, b) || ct_is_same(b, a);
}

static bool is_inbounds(const cg_view_op *v, uint32_t t)
{
    return v->inbounds && t < v->inbounds->count && v->inbounds->ptr[t];
}

/* Does the op access the same tile as the load, within bounds that are no wider? */
static bool reaches(const ct_op *op, const ct_op *load)
{
    if (!cg_is_weak_access(op) || (op->opcode != OP_load_view_tko && op->opcode != OP_store_view_tko))
        return false;
    cg_view_op x = cg_view_op_of(load), y = cg_view_op_of(op);
    bool same = is_same_view(x.view, y.view) && x.index_count == y.index_count;
    for (uint32_t t = 0; same && t < x.index_count; t++)
        same = ct_is_same(x.index[t], y.index[t]) && (!is_inbounds(&x, t) || is_inbounds(&y, t));
    return same;
}

/* Is the op pure, or a weak access? */
static bool goes_on(const ct_op *op)
{
    return ct_is_pure(op) || cg_is_weak_access(op);
}

static bool is_reached_in(const ct_block *block, const ct_op *load)
{
    const ct_op *op = block ? block->first : NULL;
    while (op && !reaches(op, load) && goes_on(op))
        op = op->next;
    return op && reaches(op, load);
}

static bool is_reached_before(const ct_op *branch, const ct_op *load)
{
    const ct_op *op = branch->prev;
    while (op && !reaches(op, load))
        op = op->prev;
    return op;
}

/* Are there only loads and pure ops between the head of the branch and the load? */
static bool is_at_head(const ct_op *load)
{
    const ct_op *op = load->prev;
    bool write = false;
    while (op && goes_on(op) && !(cg_memory_of(op, &write) && write))
        op = op->prev;
    return !op;
}

/* Does the op cost little, and is it harmless in front of the branch? */
static bool is_light(const ct_op *op)
{
    const bc_op_classes light = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(VIEW)
                                | BC_OPS(TOKEN);
    return ct_is_pure(op) && bc_op_in(op->opcode, light) && ct_gives_no_tiles(op) && op->opcode != OP_divi
           && op->opcode != OP_remi;
}

/* Can the ops that compute the operands move along? */
static bool can_follow(const ct_op *op, const ct_block *block, uint32_t depth)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const ct_value *v = op->operands[i];
        if (v->block == block && (!depth || !v->op || !is_light(v->op) || !can_follow(v->op, block, depth - 1)))
            return false;
    }
    return true;
}

/* Is the value computed from a loaded one? */
static bool waits_for_memory(const ct_value *v, uint32_t depth)
{
    if (!v->op || !depth)
        return false;
    if (cg_is_weak_access(v->op))
        return true;
    for (uint32_t i = 0; ct_is_pure(v->op) && i < v->op->operand_count; i++)
        if (waits_for_memory(v->op->operands[i], depth - 1))
            return true;
    return false;
}

static bool is_small(const cg_func *c, const ct_op *load)
{
    const bc_type *type = load->results[0].type;
    uint64_t bits = (uint64_t)bc_kind_bits(bc_elem_kind(type)) << cg_shape_of(type).tile_bits;
    return bits <= (uint64_t)8 * CG_HELD_REGISTERS * CG_WORD_BYTES * cg_threads(c);
}

static bool may_go(const cg_func *c, const ct_op *branch, const ct_block *side, const ct_block *other,
                   const ct_op *load)
{
    return load->opcode == OP_load_view_tko && cg_is_weak_access(load) && is_small(c, load) && is_at_head(load)
           && can_follow(load, side, CG_BRANCH_DEPTH)
           && (is_reached_in(other, load) || is_reached_before(branch, load));
}

/* ---- moving ---- */

/* The depth is bounded by can_follow. */
static void move_before(ct_op *op, ct_op *branch, const ct_block *side)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op->operands[i]->block == side)
            move_before(op->operands[i]->op, branch, side);
    ct_move_before(op, branch);
}

static void look_at(cg_func *c, ct_op *branch)
{
    for (uint32_t r = 0; r < branch->region_count; r++) {
        const ct_block *side = branch->regions[r], *other = r ? branch->regions[0] : branch->regions[1];
        for (ct_op *op = side ? side->first : NULL, *next; op; op = next) {
            next = op->next;
            if (may_go(c, branch, side, other, op))
                move_before(op, branch, side);
        }
    }
}

void cg_pass_speculate(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_if && !ct_loop_around(op) && waits_for_memory(op->operands[0], CG_BRANCH_DEPTH))
            look_at(c, op);
}

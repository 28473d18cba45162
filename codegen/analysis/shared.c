/* How much shared memory the ops of a kernel need; see the header. */
#include "codegen/analysis/shared.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/tensor.h"

static uint32_t tile_bytes(const ct_value *v)
{
    return cg_memory_bytes(bc_elem_kind(v->type)) << cg_shape_of(v->type).tile_bits;
}

static bool is_load_of(const cg_ring *ring, const ct_op *op)
{
    for (uint32_t i = 0; ring && i < ring->load_count; i++)
        if (op == ring->loads[i].op)
            return true;
    return false;
}

/* Does the op load a tile of the ring, or of the ring of an enclosing loop? */
static bool is_fed(const cg_ring *ring, const ct_op *op)
{
    bool fed = is_load_of(ring, op);
    for (const ct_op *p = op ? op->block->parent : NULL; p && !fed; p = p->block->parent)
        fed = cg_plan_of(p) && (is_load_of(cg_plan_of(p)->ring, op) || is_load_of(cg_plan_of(p)->beside, op));
    return fed;
}

/* Bytes of an instruction's step along K, of one column and one row; and all scales. */
static uint64_t product_bytes(const cg_func *c, const ct_op *op, const cg_ring *ring)
{
    enum { COLUMNS = 3, ALIGN = 16 };
    cg_product p = cg_product_of(c, op);
    uint32_t step = p.instruction == CG_BY_ELEMENT ? 0 : p.atom.k_bits;
    uint64_t bytes = p.instruction == CG_BY_TCGEN05 ? cg_tensor_bytes(c) : 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (i < 2 && !(op->held >> i & 1) && !is_fed(ring, cg_source_of(op->operands[i])->op))
            bytes += (tile_bytes(op->operands[i]) >> (p.k - step)) + cg_traits_of(p.instruction)->align;
        else if (i >= COLUMNS && !cg_has_atom(&p))
            bytes += tile_bytes(op->operands[i]) + ALIGN;
    return bytes;
}

/* The partial results of all warps, for every operand. */
static uint64_t fold_bytes(const cg_func *c, const ct_op *op)
{
    enum { ALIGN = 16 };
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const bc_type *type = op->operands[i]->type;
        uint64_t row = op->opcode == OP_scan ? (uint64_t)type->shape[ct_attr_u(op, F_scan_dim)] : 1,
                 parts = ((uint64_t)tile_bytes(&op->results[i]) / row) << cg_real_warp_bits(c),
                 all = tile_bytes(op->operands[i]);
        bytes += (parts < all ? parts : all) + ALIGN;
    }
    return bytes;
}

static uint64_t bytes_of_op(const cg_func *c, const ct_op *op, const cg_ring *ring)
{
    if (cg_is_product(op))
        return product_bytes(c, op, ring);
    if (op->opcode == OP_extract && tile_bytes(op->operands[0]) <= CG_MAX_SCRATCH)
        return tile_bytes(op->operands[0]); /* larger tiles are selected from registers */
    if (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)))
        return fold_bytes(c, op);
    bool hands_round = op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op)
                       && op->results[0].uses;
    return hands_round && bc_is_tile(op->results[0].type) ? tile_bytes(&op->results[0]) : 0;
}

static bool has_elements(const ct_value *v)
{
    return bc_is_tile(v->type) && v->type->rank;
}

/* A cheap value computed from constants and indices alone is computed in every layout in which it is needed
   (codegen/passes/layouts.c), so its tile is never converted. Marks the results of the op; its operands come before
   it. */
static void mark_made_anew(const ct_op *op, bool *anew)
{
    const bc_op_classes seen = BC_OPS(RESHAPE) | BC_OPS(MOVE);
    bool all = op->opcode < OP_LIMIT
               && (bc_op_in(op->opcode, BC_OPS(GIVEN) | seen) || (ct_is_map(op) && ct_info(op)->traits & BC_CHEAP));
    for (uint32_t i = 0; i < op->operand_count; i++)
        all = all && (!has_elements(op->operands[i]) || anew[op->operands[i]->id]);
    for (uint32_t i = 0; i < op->result_count; i++)
        anew[op->results[i].id] = all;
}

/* One element of each thread, if tiles of the op may be needed in other layouts. */
static uint64_t conversion_bytes(const cg_func *c, const ct_op *op, const cg_ring *ring, const bool *anew)
{
    enum { MOST_OF_AN_ELEMENT = 8 };
    bool converts = false, ends = op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(EXIT));
    for (uint32_t i = 0; i < op->result_count; i++)
        converts = converts || (has_elements(&op->results[i]) && !anew[op->results[i].id]);
    for (uint32_t i = 0; i < op->operand_count; i++)
        converts = converts || (has_elements(op->operands[i]) && !anew[op->operands[i]->id]);
    const ct_op *source = op->result_count ? cg_source_of(&op->results[0])->op : NULL;
    converts = converts && !ends && !cg_is_product(op) && !is_fed(ring, source);
    return converts ? (uint64_t)MOST_OF_AN_ELEMENT * cg_threads(c) : 0;
}

uint32_t cg_scratch_least(cg_func *c, const ct_block *block, const cg_ring *ring)
{
    enum { MOST = 1 << 30 };
    uint64_t least = 0;
    bool *anew = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    if (!anew)
        return MOST;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        mark_made_anew(op, anew);
        if (!ct_is_inside(op->block, block))
            continue;
        uint64_t bytes = bytes_of_op(c, op, ring), others = conversion_bytes(c, op, ring, anew);
        least = bytes > least ? bytes : least;
        least = others > least ? others : least;
    }
    return least < MOST ? (uint32_t)least : MOST;
}

uint32_t cg_shared_for_the_rest(const cg_func *c)
{
    enum { STATIC = 48 << 10, MUCH = 16 << 10 };
    return cg_shared_most(c) > STATIC ? MUCH : MUCH / 2;
}

uint32_t cg_shared_beside(uint32_t all, uint32_t scratch)
{
    enum { ALIGN = CG_ENCODING_ALIGN };
    uint32_t whole = all / ALIGN, taken = (scratch + ALIGN - 1) / ALIGN;
    return taken < whole ? (whole - taken) * ALIGN : 0;
}

uint32_t cg_shared_for_ring(cg_func *c, const ct_block *body, const cg_ring *ring, uint32_t rest)
{
    uint32_t least = cg_scratch_least(c, body, ring);
    return cg_loops_stay_plain(c) ? 0 : cg_shared_beside(cg_shared_most(c), least > rest ? least : rest);
}

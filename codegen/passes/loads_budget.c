/* How far loads run ahead beside others that each thread reads itself; see codegen/passes/loads.c. */
#include "codegen/analysis/product.h"
#include "codegen/passes/budget.h"
#include "codegen/passes/ring.h"

const cg_ring_load *cg_ring_load_for(const cg_ring *ring, const ct_value *operand)
{
    const ct_op *op = cg_source_of(operand)->op;
    for (uint32_t i = 0; i < ring->load_count; i++)
        if (ring->loads[i].op == op && op->opcode == OP_load_view_tko)
            return &ring->loads[i];
    return NULL;
}

uint32_t cg_words_of_thread(const cg_func *c, const bc_type *tile)
{
    return (cg_memory_bytes(bc_elem_kind(tile)) << cg_shape_of(tile).tile_bits) / (4 * cg_threads(c));
}

/* Of a thread, of the operands that the body makes for a product, the most of one. */
static uint32_t operand_words(const cg_func *c, const ct_block *body, const cg_ring *ring)
{
    uint32_t most = 0;
    for (const ct_op *op = body->first; op; op = op->next) {
        uint32_t made = 0;
        for (uint32_t i = 0; i < 2 && cg_is_product(op); i++)
            made += cg_ring_load_for(ring, op->operands[i]) ? 0 : cg_words_of_thread(c, op->operands[i]->type);
        most = made > most ? made : most;
    }
    return most;
}

/* Registers of a thread: what the loop carries, what it reads of the slots and what it makes of that for a product. */
static uint32_t registers_of(const cg_func *c, const ct_block *body, const cg_ring *ring, const cg_ring *own)
{
    enum { FOR_THE_REST = 36, MOST = 256 };
    uint32_t all = FOR_THE_REST + operand_words(c, body, ring);
    for (uint32_t i = 1; i < body->arg_count; i++)
        all += bc_is_tile(body->args[i].type) ? cg_words_of_thread(c, body->args[i].type) : 0;
    for (uint32_t i = 0; i < own->load_count; i++)
        all += cg_words_of_thread(c, own->loads[i].op->results[0].type);
    return all < MOST ? all : MOST;
}

/* Does the body multiply operands where threads hold them? Others go to products by shared memory. */
static bool has_reordered(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = op->next)
        if (op->way == CT_REORDERED)
            return true;
    return false;
}

/* With tiles that each thread reads itself: as many slots as let a multiprocessor have the blocks for which it has
   registers; ptxas saves up to an eighth of what is estimated where that brings a block. Such loops convert between
   copies and products, while other blocks multiply: two blocks do for that, and more only with three slots each. Where
   reordered products have few rows, memory sets the pace: each block has slots for as many bytes of weights as have to
   be on their way if it has the multiprocessor for itself (3.4 TB/s, 132 multiprocessors, a microsecond). */
cg_slot_budget cg_budget_with_own(cg_func *c, const ct_block *body, const cg_ring *ring, const cg_ring *own,
                                  const cg_slot_work *work)
{
    enum { REGISTERS = 1 << 16, SAVED = 8, FEW_BLOCKS = 2, MOST_BLOCKS = 4, ENOUGH_SLOTS = 3, MOST_SLOTS = 4 };
    enum { OF_THE_SYSTEM = 1 << 10 /* bytes of shared memory for each block */, ON_THEIR_WAY = 28 << 10 };
    bool reordered = has_reordered(body);
    uint32_t paced = reordered ? ON_THEIR_WAY / own->slot_bytes + 1 : 0,
             enough = paced > ENOUGH_SLOTS ? paced : ENOUGH_SLOTS, most = enough > MOST_SLOTS ? enough : MOST_SLOTS,
             least = cg_static_shared(c->target) - work->fits,
             operand = reordered ? 0 : 4 * operand_words(c, body, ring) * cg_threads(c),
             used = OF_THE_SYSTEM + (operand > least ? operand : least),
             blocks = (REGISTERS + REGISTERS / SAVED) / registers_of(c, body, ring, own) / cg_threads(c);
    cg_slot_budget b = {.room = work->fits, .why = "as many as leave room for the blocks that registers allow"};
    for (blocks = blocks < MOST_BLOCKS ? blocks + !blocks : MOST_BLOCKS; blocks; blocks--) {
        uint32_t share = cg_room_beside(c, blocks * cg_threads(c)), room = share > used ? share - used : 0;
        room = room < work->fits ? room : work->fits;
        b.slots = room / work->slot_bytes < most ? room / work->slot_bytes : most;
        if (b.slots >= enough || blocks <= FEW_BLOCKS)
            break;
    }
    return b;
}

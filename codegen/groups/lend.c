/* Registers that consumers need, and leave to producers.

   Where tensor maps copy, one thread issues the copies and two warps start them. Of all groups these have the fewest
   registers, and ptxas spills addresses, numbers and bases of maps if they do not suffice. What consumers need is known
   better: their products, and as much again as one product hands to another. */
#include "codegen/cost/cost.h"
#include "codegen/groups/groups_find.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/value.h"
#include "codegen/plan/loads.h"

/* Registers of a thread for a product: its sums, and the left operand if another product computes it. */
static int registers_of(const ct_op *product, uint32_t threads)
{
    uint32_t sums = (uint32_t)1 << cg_shape_of(product->results[0].type).tile_bits,
             handed = cg_product_before(product) ? (uint32_t)1 << cg_shape_of(product->operands[0]->type).tile_bits : 0;
    return (int)(sums / threads + handed / 2 / threads);
}

int cg_registers_taken(const cg_splitting *x, const ct_op *loop)
{
    uint32_t threads = cg_threads(x->c);
    int taken = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        const cg_ring_place *place = &x->places[i];
        if (place->loop != loop)
            continue;
        taken += registers_of(place->product, threads);
        taken += place->last != place->product ? registers_of(place->last, threads) : 0;
    }
    return taken;
}

/* The load in front of the loop whose tile the product reads as fragments, in registers; NULL: there is none. */
static const ct_op *load_in_front(const cg_splitting *x, const ct_op *product, const ct_block *body)
{
    const ct_op *load = cg_source_of(product->operands[0])->op;
    if (!load || !ct_is_load(load) || ct_is_inside(load->block, body))
        return NULL;
    for (uint32_t k = 0; k < x->kept_count; k++)
        if (x->kept[k].load == load)
            return NULL;
    return load;
}

/* Registers of a consumer in a loop for products and their left operands. What one product hands to another is there
   twice: threads compute the next one while the other product still reads it. */
static uint32_t needed_in(const cg_splitting *x, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    uint32_t needed = (uint32_t)cg_registers_taken(x, loop);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (cg_is_product(op) && (cg_product_before(op) || load_in_front(x, op, body)))
            needed += cg_words_of_thread(x->c, op->operands[0]->type);
    return needed;
}

/* Registers of a consumer for sums behind their loop, and as many results. */
static uint32_t needed_behind(const cg_splitting *x, const ct_op *product)
{
    enum { SUMS_AND_RESULTS = 2 };
    return SUMS_AND_RESULTS * cg_words_of_thread(x->c, product->results[0].type);
}

/* Registers of a consumer, at most. */
static uint32_t most_needed(const cg_splitting *x)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        const cg_ring_place *place = &x->places[i];
        const uint32_t inside = needed_in(x, place->loop), behind = needed_behind(x, place->last);
        most = inside > most ? inside : most;
        most = behind > most ? behind : most;
    }
    return most + x->work.computed + (uint32_t)cg_machine_of(x->c->target)->registers_loop;
}

/* Do all products hold their sums in the registers of consumers, so that the registers they need are counted? */
static bool are_by_wgmma(const cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (cg_product_of(x->c, x->places[i].last).instruction != CG_BY_WGMMA)
            return false;
    return true;
}

/* Registers for what the program of producers has computed in front of a loop over tiles and reads in it: `v`, or what
   it is made from if it is made again for nothing. Parameters and constants take none. seen: by value id. */
static uint32_t registers_for(bool *seen, const ct_value *v)
{
    enum { WORD = 4 };
    const ct_op *op = v->op;
    if (!op || seen[v->id] || op->opcode == OP_constant)
        return 0;
    seen[v->id] = true;
    if (op->opcode != OP_assume && op->opcode != OP_exti && op->opcode != OP_make_tensor_view
        && op->opcode != OP_make_partition_view)
        return bc_is_tile(v->type) ? (cg_memory_bytes(bc_elem_kind(v->type)) + WORD - 1) / WORD : 0;
    uint32_t registers = 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        registers += registers_for(seen, op->operands[i]);
    return registers;
}

/* Registers of a producer for a loop over tiles: what it keeps, and what an iteration takes for coordinates, stages and
   barriers. The latter is read from 46 products of the zoo whose producers have 40: ptxas 13.5 spills 12 to 64 bytes in
   14 of the 15 that keep at least 26, and at most 12 in four of the others. */
static uint32_t needed_by_producer(const cg_splitting *x, const ct_block *program)
{
    enum { OF_ITERATION = 15 };
    bool *seen = bc_new(x->f->arena, bool, x->f->value_count + 1u);
    const ct_op *loop = program->first;
    uint32_t kept = 0;
    while (loop && !ct_is_loop(loop))
        loop = loop->next;
    for (const ct_op *op = loop; op && seen; op = ct_next_within(op, loop))
        for (uint32_t i = 0; i < op->operand_count; i++) {
            const ct_op *maker = ct_maker_of(op->operands[i]);
            bool is_ring = maker && !maker->block; /* it is not placed yet */
            kept += !maker || is_ring || ct_is_within(maker, loop) ? 0 : registers_for(seen, op->operands[i]);
        }
    return kept + OF_ITERATION;
}

uint32_t cg_registers_lent(const cg_splitting *x, const ct_block *program)
{
    /* for the numbers, addresses and maps of a tile block, with which ptxas spills hardly any; and with a loop over
       tiles, where more were not tried */
    enum { FOR_A_TILE = 40, MOST_FOR_TILES = 56 };
    const cg_group_budget *b = x->budget;
    const uint32_t of_producer = x->work.consumers / CG_PRODUCER_THREADS;
    uint32_t lent = 0;
    if (!b->launched || !b->maps || !are_by_wgmma(x))
        return 0;
    const uint32_t needed = most_needed(x), tiles = x->work.is_persistent ? needed_by_producer(x, program) : 0,
                   enough = tiles < FOR_A_TILE       ? FOR_A_TILE
                            : tiles < MOST_FOR_TILES ? tiles
                                                     : MOST_FOR_TILES;
    while (b->producers + lent * of_producer < enough && needed + lent + CG_REGISTER_STEP <= b->consumers)
        lent += CG_REGISTER_STEP;
    return lent;
}

/* Products by mma.sync that make their fragments from tiles of the ring: they read f32 there and round it to tf32, or
   take what threads compute from the tiles, rather than have threads store rounded or computed tiles to scratch. An
   iteration then has neither the stores nor their barriers, and its loads run ahead. Warps round and compute what
   several of them multiply once each.

   Why it is right: a fragment has the elements that the product multiplies, whoever computes them, and each is rounded
   as the program says. */
#include "codegen/analysis/computed.h"
#include "codegen/analysis/product.h"
#include "codegen/cost/cost.h"
#include "codegen/plan/loads.h"

/* Does mma.sync multiply here, by fragments of elements or pairs of them? */
static bool may_choose(const cg_func *c, const ct_op *op)
{
    if (!cg_is_product(op) || !(c->target->features & CG_HAS_TF32_ROUNDING))
        return false;
    cg_product p = cg_product_of(c, op);
    return p.instruction == CG_BY_MMA && (p.in == BC_TF32 || (p.atom.element_bits == 1 && !p.scaled));
}

static bool is_chosen(const ct_op *op)
{
    return cg_is_product(op) && op->way == CT_FRAGMENTS;
}

/* The product that takes an operand as fragments that are computed from the tile of the load; NULL: there is none. */
static const ct_op *taker_of(const cg_func *c, const ct_block *body, const ct_op *load, cg_layout *l)
{
    cg_layout fragments;
    for (const ct_op *op = body->first; op; op = op->next)
        for (uint32_t i = 0; i < 2 && is_chosen(op); i++)
            if (op->held >> i & 1 && cg_mma_fragment_layout(c, op, i, &fragments)
                && cg_computed_from(op->operands[i], load, &fragments, l))
                return op;
    return NULL;
}

const char *cg_fits_fragments(cg_query *q)
{
    enum { LEAST_BYTES = 2, TURNED_BYTES = 2 }; /* that a lane reads at once; of elements that ldmatrix transposes */
    cg_layout l;
    const ct_op *taker = taker_of(q->c, q->body, q->load, &l);
    const char *why = cg_precedes_writes(q);
    if (why)
        return why;
    if (!taker || !cg_load_to_compute(q->c, q->load, taker, q->out))
        return "no product takes it as fragments";
    uint32_t beside = cg_product_of(q->c, taker).atom.element_bits; /* log2 of a register's neighbours along K */
    cg_shape s = cg_shape_of(q->load->results[0].type);
    bool lie_there = !beside || q->out->encoding.bytes == TURNED_BYTES || l.reg[0] == 1u << s.shift[q->out->fast];
    return lie_there && q->out->encoding.bytes << beside >= LEAST_BYTES ? NULL : "lanes would read it byte by byte";
}

/* ---- what is worth it ---- */

/* Instructions for each element of v, of ops in the block that have at least as many elements as `bits` count. */
static uint32_t instructions_for(const ct_value *v, const ct_block *body, uint32_t bits, uint32_t *budget)
{
    const ct_op *op = v->op;
    if (!op || op->block != body || ct_is_load(op) || !*budget || !bc_is_tile(v->type)
        || cg_shape_of(v->type).tile_bits < bits)
        return 0;
    --*budget;
    uint32_t sum = ct_is_map(op) ? cg_instructions_of(op) : 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        sum += instructions_for(op->operands[i], body, bits, budget);
    return sum;
}

static bool is_computed(const ct_op *product, uint32_t index)
{
    const ct_op *source = cg_source_of(product->operands[index])->op;
    return source && source->block == product->block && !ct_is_load(source);
}

/* Do warps that compute the same elements of the operand take no longer for that than threads would that store each to
   scratch, with a barrier before and after? In 16 bits, where a product takes half as long, only the right operand of a
   single product does not keep it waiting, if nothing else is computed. */
static bool is_cheap(const cg_func *c, const ct_op *product, uint32_t index)
{
    enum { MOST_OPS = 64, STORED_AND_LOADED = 2, BARRIERS = 2 };
    const cg_machine *m = cg_machine_of(c->target);
    const ct_value *operand = product->operands[index];
    uint32_t bits = cg_shape_of(operand->type).tile_bits, budget = MOST_OPS;
    cg_layout fragments;
    if (!cg_mma_fragment_layout(c, product, index, &fragments))
        return false;
    double elements = (double)((uint64_t)1 << bits), bytes = elements * cg_memory_bytes(bc_elem_kind(operand->type)),
           held = (double)((uint64_t)1 << (fragments.reg_bits + CG_LANE_BITS + fragments.warp_bits)),
           again = (held - elements) / (1 << CG_LANE_BITS) * instructions_for(operand, product->block, bits, &budget);
    if (bc_elem_kind(operand->type) != BC_TF32
        && (!index || is_computed(product, 0) || !cg_only_product(product->block)))
        return false;
    return again / m->issue <= BARRIERS * m->barrier + STORED_AND_LOADED * bytes / m->shared_bytes;
}

static void set_held(ct_op *product, uint32_t index, bool is_held)
{
    uint32_t others = product->held & ~(1u << index);
    product->held = (uint8_t)(others | (uint32_t)is_held << index);
}

bool cg_begin_fragments(cg_func *c, const ct_block *body)
{
    bool any = false;
    for (ct_op *op = body->first; op; op = op->next)
        if (may_choose(c, op)) {
            cg_round_fragments(op, true, true);
            for (uint32_t i = 0; i < 2; i++)
                set_held(op, i, is_computed(op, i));
            for (uint32_t i = 0; i < 2; i++)
                set_held(op, i, op->held >> i & 1 && is_cheap(c, op, i));
            op->way = op->held ? CT_FRAGMENTS : op->way;
            any = any || op->way == CT_FRAGMENTS;
        }
    return any;
}

/* ---- what the rings have ---- */

/* How the tiles of the loop that the operand is, or is computed from element by element, come to it. */
typedef struct supply {
    bool as_it_is, to_compute; /* some are products' to read in the ring; threads', to compute fragments */
    bool otherwise, never;     /* some come by slots of threads; some have no slot */
} supply;

static supply supply_of(const ct_block *body, const ct_value *operand, const cg_ring *ring, const cg_ring *own)
{
    cg_shape s = cg_shape_of(operand->type);
    const cg_layout any = {.tile_bits = s.tile_bits};
    supply found = {0};
    cg_layout l;
    for (const ct_op *op = body->first; op; op = op->next) {
        if (!ct_is_load(op) || cg_shape_of(op->results[0].type).tile_bits + 1u < s.tile_bits)
            continue;
        bool is_itself = cg_source_of(operand)->op == op;
        if (!is_itself && !cg_computed_from(operand, op, &any, &l))
            continue;
        const cg_ring_load *load = cg_ring_load_for(ring, &op->results[0]);
        found.as_it_is = found.as_it_is || (load && is_itself);
        found.to_compute = found.to_compute || (load && !is_itself && load->computed);
        found.otherwise = found.otherwise || cg_ring_load_for(own, &op->results[0])
                          || (load && !is_itself && !load->computed);
        found.never = found.never || (!load && !cg_ring_load_for(own, &op->results[0]));
    }
    return found;
}

/* A tile without a slot is loaded in the iteration that needs it: if one operand waits for that, the other can be
   loaded meanwhile, and slots for it would only take other blocks from the multiprocessor. */
bool cg_drop_fragments(const ct_block *body, const cg_ring *ring, const cg_ring *own)
{
    bool dropped = false;
    for (ct_op *op = body->first; op; op = op->next) {
        if (!is_chosen(op))
            continue;
        const uint32_t held = op->held;
        supply of[2];
        for (uint32_t i = 0; i < 2; i++) {
            of[i] = supply_of(body, op->operands[i], ring, own);
            set_held(op, i, op->held >> i & 1 && of[i].to_compute && !of[i].otherwise && !of[i].never);
        }
        bool waits = of[0].never || of[1].never;
        if (waits)
            op->held = 0;
        cg_round_fragments(op, of[0].as_it_is && !waits, of[1].as_it_is && !waits);
        op->way = op->held || op->way == CT_FRAGMENTS ? CT_FRAGMENTS : CT_AS_IT_IS;
        dropped = dropped || op->held != held;
    }
    return dropped;
}

void cg_end_fragments(const ct_block *body, bool has_ring)
{
    for (ct_op *op = body->first; op; op = op->next) {
        if (!is_chosen(op))
            continue;
        if (has_ring) {
            cg_take_roundings(op);
        } else {
            op->held = 0;
            cg_round_fragments(op, false, false);
        }
    }
}

/* Which operands consumers compute; see the header. The figures of the rules are in
   docs/internals/codegen/products.md. */
#include "codegen/groups/computes.h"

#include "codegen/analysis/computed.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/loads.h"
#include "codegen/rewrite/ring.h"
#include "codegen/rewrite/versions.h"

typedef struct computing {
    cg_func *c;
    const ct_op *product;
    uint32_t index; /* of the operand */
    double bytes;   /* of the tiles that it is computed from */
    double scraps;  /* bytes of those that come in pieces shorter than 16 bytes, */
    double copies;  /* and the instructions of warps that copy these */
} computing;

static const bc_type *operand_type(const computing *x, uint32_t index)
{
    return x->product->operands[index]->type;
}

/* The operand's rows once it is the left one, and the columns of the product. */
static int64_t rows_of(const computing *x)
{
    return operand_type(x, x->index)->shape[x->index ? 1 : 0];
}

static int64_t columns_of(const computing *x)
{
    return operand_type(x, !x->index)->shape[x->index ? 0 : 1];
}

/* The elements of the load's tile from which the first elements of the operand along K are computed. */
static bool leads_to(const computing *x, const ct_op *load, cg_layout *out)
{
    cg_shape s = cg_shape_of(operand_type(x, x->index));
    uint32_t k = s.shift[x->index ? 0 : 1];
    cg_layout along_k = {.tile_bits = s.tile_bits, .reg_bits = 2, .reg = {1u << k, 2u << k}};
    return ct_is_load(load) && cg_computed_from(x->product->operands[x->index], load, &along_k, out);
}

/* May consumers read the load's tile from a slot? They read neighbours along K: bytes must lie beside each other. */
static bool comes_by_slot(computing *x, ct_op *load, const cg_layout *l)
{
    const bc_type *tile = load->results[0].type;
    cg_shape s = cg_shape_of(tile);
    cg_ring_load ring;
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(tile)), first = l->reg[0] ? l->reg[0] : l->reg[1];
    if (!cg_load_to_compute(x->c, load, x->product, &ring) || (bytes == 1 && first != 1u << s.shift[ring.fast]))
        return false;
    x->bytes += (double)((uint64_t)bytes << s.tile_bits);
    if (ring.vector_bits < cg_chunk_bits(tile)) {
        x->scraps += (double)((uint64_t)bytes << s.tile_bits);
        x->copies += (double)((uint64_t)1 << s.tile_bits >> ring.vector_bits >> CG_LANE_BITS);
    }
    return true;
}

/* Does a tile with all elements, of which a byte may have two, come by a slot, and are those that come otherwise few
   elements, of which each thread of a warpgroup has one? */
static bool comes_to_consumers(computing *x)
{
    uint32_t all = cg_shape_of(operand_type(x, x->index)).tile_bits;
    bool any = false;
    for (ct_op *op = x->product->block->first; op != x->product; op = op->next) {
        cg_layout l;
        if (!leads_to(x, op, &l))
            continue;
        uint32_t bits = cg_shape_of(op->results[0].type).tile_bits;
        bool by_slot = comes_by_slot(x, op, &l), is_small = bits <= CG_LANE_BITS + CG_WARPGROUP_BITS;
        if (!by_slot && !is_small && op->opcode == OP_load_ptr_tko)
            return false;
        any = any || (by_slot && bits + 1 >= all);
    }
    return any;
}

/* Instructions for each element of the operand. */
static uint32_t instructions_of(const computing *x)
{
    uint32_t sum = 0, bits = cg_shape_of(operand_type(x, x->index)).tile_bits;
    for (const ct_op *op = x->product->block->first; op != x->product; op = op->next)
        if (ct_is_map(op) && cg_shape_of(op->results[0].type).tile_bits >= bits)
            sum += cg_instructions_of(op);
    return sum;
}

/* Does wgmma multiply, once the operand is the left one, and does it take such operands from registers? A product of 16
   rows remains as it is: with mma.sync, a single warp reads each fragment of its right operand. */
static bool takes_fragments(const computing *x)
{
    cg_product p = cg_product_of(x->c, x->product), q = p;
    if (x->index) {
        q.m = p.n;
        q.n = p.m;
    }
    bool may = x->index ? x->c->target->features & CG_HAS_WGMMA && p.m > CG_ATOM_ROW_BITS
                              && x->c->warp_bits >= cg_traits_of(CG_BY_WGMMA)->warps
                        : p.instruction == CG_BY_WGMMA;
    return may && cg_has_atom(&p)
           && (p.atom.element_bits <= 1
               || (x->index ? cg_reads_bytes(x->c, x->product, x->index) : cg_takes_fragments(&p)))
           && p.acc == BC_F32 && !p.scaled && cg_async_fits(&q);
}

bool cg_is_worth_computing(cg_func *c, const ct_op *product, uint32_t index, bool alone)
{
    computing x = {.c = c, .product = product, .index = index};
    if (!takes_fragments(&x) || !comes_to_consumers(&x))
        return false;
    /* The warps of the producers are few. They keep a product waiting that takes fewer cycles than they have copies. */
    double multiplies = cg_async_cycles(c, product);
    if (x.copies >= multiplies)
        return false;
    if (rows_of(&x) > CG_WARPGROUP_ROWS && !alone)
        return true;
    /* One warpgroup, or one with all rows, computes and multiplies by turns. Without groups, more warps compute, and
       more bytes are in flight: even if nothing is prefetched, tiles of several blocks may keep memory busy. */
    const cg_machine *m = cg_machine_of(c->target);
    if (CG_MOST_BLOCKS * x.scraps >= m->bytes_ahead)
        return false;
    const bc_type *other = operand_type(&x, !index);
    uint32_t instructions = instructions_of(&x);
    double elements = (double)((uint64_t)1 << cg_shape_of(operand_type(&x, index)).tile_bits),
           computes = instructions * elements / (1 << CG_LANE_BITS) / m->issue,
           bytes = x.bytes + (double)((uint64_t)cg_memory_bytes(bc_elem_kind(other)) << cg_shape_of(other).tile_bits);
    bool only_waits = instructions <= 1 && columns_of(&x) > CG_FEW_COLUMNS
                      && bytes / m->l2_bytes > CG_LONG_SLOT * multiplies;
    const bool is_swapped_tall = index && columns_of(&x) > CG_WIDE_COLUMNS;
    return computes <= (is_swapped_tall ? 1 : CG_LONG_COMPUTED) * multiplies && !only_waits;
}

bool cg_should_compute(cg_func *c, ct_op *product, uint32_t index)
{
    const cg_product p = cg_product_of(c, product);
    cg_ring_load other;
    cg_set_way(product, cg_async_takes(c, product, &p) ? CT_DIRECT : CT_AS_IT_IS); /* so that roundings hide no load */
    const bool has_rows = !index || product->results[0].type->shape[1] >= CG_WARPGROUP_ROWS, /* once it is swapped */
        should = has_rows && !cg_has_likely(c->ir)
                 && !cg_load_obstacle(c, cg_source_of(product->operands[!index])->op, product->block, &other)
                 && cg_is_worth_computing(c, product, index, false);
    cg_set_way(product, CT_AS_IT_IS);
    return should;
}

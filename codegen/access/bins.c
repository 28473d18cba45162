/* Finds atomic additions to few addresses; see the header. */
#include "codegen/access/bins.h"

#include "codegen/access/pointers.h"
#include "codegen/facts/facts.h"

enum {
    MOST_BINS = 1024,     /* as much shared memory as rings always leave */
    ELEMENTS_OF_A_BIN = 4 /* per address, so that saved additions to global memory pay for those to shared */
};

/* The scalar that all elements are. NULL: it is not known. */
static const ct_value *scalar_behind(const ct_value *v)
{
    while (v->type->rank && v->op && (v->op->opcode == OP_reshape || v->op->opcode == OP_broadcast))
        v = ct_unconverted(v->op->operands[0]);
    return v->type->rank ? NULL : v;
}

static bool adds_integers(const ct_op *op)
{
    return op->opcode == OP_atomic_rmw_tko && ct_attr_u(op, F_atomic_rmw_tko_mode) == BC_AtomicRMWMode_add
           && bc_elem_kind(op->results[0].type) == BC_I32 && !op->results[0].fact->used;
}

bool cg_find_bins(const cg_func *c, const ct_op *op, cg_bins *out)
{
    if (!adds_integers(op) || c->strip_bits)
        return false;
    const ct_op *offset = ct_unconverted(cg_ptr_op_of(op).pointers)->op;
    if (!offset || offset->opcode != OP_offset)
        return false;
    *out = (cg_bins){.base = scalar_behind(ct_unconverted(offset->operands[0])),
                     .index = ct_unconverted(offset->operands[1])};
    cg_range range = cg_range_of(out->index);
    out->low = range.low;
    if (!out->base || range.low < INT32_MIN / CG_BIN_BYTES || range.high > INT32_MAX / CG_BIN_BYTES
        || range.high - range.low >= MOST_BINS)
        return false;
    out->count = (uint32_t)(range.high - range.low + 1);
    return (uint64_t)out->count * ELEMENTS_OF_A_BIN <= (uint64_t)1 << cg_shape_of(op->results[0].type).tile_bits;
}

uint32_t cg_bins_bytes(const cg_bins *b)
{
    return b->count * CG_BIN_BYTES;
}

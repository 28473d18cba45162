/* How the target scales blocks of K, and 4-bit elements: a byte holds two that are neighbours along K. Source: PTX
   ISA, "Block scaling for mma.sync" and the fragments of m16n8k32 and m16n8k64, which are the same as for bytes. */
#include "codegen/analysis/scaling.h"

/* Does the output have that PTX version? A row for a version that came after its target is used if the consumer is
   known to accept it, so that without such knowledge, the output stays with the target's version. */
static bool is_written(const cg_func *c, uint8_t version)
{
    return !version || (c->options && c->options->ptx_version >= version);
}

const cg_scaling *cg_find_scaling(const cg_func *c, const ct_op *op, const cg_product *p)
{
    static const cg_scaling all[] = {
#define MMA(in, scale, block, packed, scale_bits, alternate, ptx, shape, kind, element, type) \
    {BC_##in, BC_##scale, block,                                                              \
     packed,  scale_bits, alternate,                                                          \
     false,   ptx,        {shape ".row.col.kind::" kind ".f32." element "." element ".f32." type, 5, 2, false, NULL}},
#define WIDENED(in, block, packed, scale_bits, alternate, element) \
    {BC_##in, 0,          block,                                   \
     packed,  scale_bits, alternate,                               \
     true,    0,          {"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, element "x2"}},
#include "codegen/analysis/scalings.def"
    };
    const bc_type *scale = ct_operands(op)[3]->type;
    bool native = c->target->features & CG_HAS_BLOCK_SCALE;
    int64_t scales = scale->shape[scale->rank - 1];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].in == p->in && scales << all[i].block == (int64_t)1 << p->k
            && (all[i].after || (native && all[i].scale == bc_elem_kind(scale) && is_written(c, all[i].ptx))))
            return &all[i];
    return NULL;
}

/* ---- 4-bit elements ---- */

/* The bit of the operand's index that selects the half of a byte. */
static uint32_t half_bit(const cg_product *p, bool left)
{
    return left ? 1 : (uint32_t)1 << p->n;
}

/* The register bit with that image, if no other bit involves it. l->reg_bits: there is none. */
static uint32_t half_register(const cg_layout *l, uint32_t bit)
{
    uint32_t own = 0, users = 0;
    while (own < l->reg_bits && l->reg[own] != bit)
        own++;
    for (uint32_t i = 0; i < l->reg_bits; i++)
        users += (l->reg[i] & bit) != 0;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        users += (l->lane[i] & bit) != 0;
    for (uint32_t i = 0; i < l->warp_bits; i++)
        users += (l->warp[i] & bit) != 0;
    return users == 1 ? own : l->reg_bits;
}

/* If lanes or warps separate the halves of a byte, their bit is exchanged with the last bit of the registers. */
cg_layout cg_with_halves(const cg_product *p, bool left, const cg_layout *l)
{
    cg_layout r = *l;
    uint32_t bit = half_bit(p, left), last = 0;
    if (!p->packed || half_register(l, bit) < l->reg_bits)
        return r;
    for (uint32_t i = 0; i < r.reg_bits; i++)
        last = r.reg[i] ? i : last;
    if (!r.reg_bits || !r.reg[last]) {
        last = r.reg_bits++;
        r.reg[last] = 0;
    }
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        r.lane[i] = r.lane[i] == bit ? r.reg[last] : r.lane[i];
    for (uint32_t i = 0; i < r.warp_bits; i++)
        r.warp[i] = r.warp[i] == bit ? r.reg[last] : r.warp[i];
    r.reg[last] = bit;
    return r;
}

cg_layout cg_as_bytes(const cg_product *p, bool left, const cg_layout *l)
{
    cg_layout r = *l;
    uint32_t bit = half_bit(p, left);
    if (!p->packed)
        return r;
    for (uint32_t i = half_register(l, bit); i + 1 < l->reg_bits; i++)
        r.reg[i] = l->reg[i + 1];
    r.reg_bits--;
    return cg_layout_squeeze(&r, bit);
}

cg_layout cg_from_bytes(const cg_product *p, bool left, const cg_layout *l)
{
    cg_layout r = *l;
    uint32_t *const images[] = {r.reg, r.lane, r.warp};
    const uint32_t counts[] = {l->reg_bits, CG_LANE_BITS, l->warp_bits};
    for (int part = 0; part < 3 && p->packed; part++)
        for (uint32_t i = 0; i < counts[part]; i++)
            images[part][i] = cg_scatter_bits(images[part][i], ~half_bit(p, left));
    return r;
}

uint32_t cg_half_register(const cg_product *p, bool left, const cg_layout *l)
{
    return half_register(l, half_bit(p, left));
}

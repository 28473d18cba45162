/* A value from one layout to another: renamed registers where every thread keeps what it has, else a trip through shared
   memory. (Shuffles and swizzled trips take their place here.) */
#include "codegen/lower.h"
#include "codegen/memory.h"

static bool same_threads(const cg_layout *from, const cg_layout *to)
{
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        if (from->lane[i] != to->lane[i])
            return false;
    for (uint32_t i = 0; i < from->warp_bits; i++)
        if (from->warp[i] != to->warp[i])
            return false;
    return true;
}

/* Every register that `to` wants is one that the same thread has in `from`. */
static bool rename_registers(const cg_layout *from, const cg_val *regs, const cg_layout *to, cg_val *out)
{
    uint32_t have = cg_layout_regs(from), want = cg_layout_regs(to);
    for (uint32_t w = 0; w < want; w++) {
        uint32_t element = cg_layout_reg(to, w), h = 0;
        /* Image bits are mostly single ones: try the register that they spell before searching. */
        for (uint32_t i = 0; i < from->reg_bits; i++)
            if (from->reg[i] && (element & from->reg[i]) == from->reg[i])
                h |= (uint32_t)1 << i;
        if (cg_layout_reg(from, h) != element)
            for (h = 0; h < have && cg_layout_reg(from, h) != element; h++)
                continue;
        if (h == have)
            return false;
        out[w] = regs[h];
    }
    return true;
}

cg_val *cg_convert(cg_func *c, bc_kind kind, const cg_layout *from, const cg_val *regs, const cg_layout *to)
{
    cg_val *out = cg_vals(c, cg_layout_regs(to));
    if (!out || (same_threads(from, to) && rename_registers(from, regs, to, out)))
        return out;
    cg_val base = cg_scratch(c, cg_memory_bytes(kind) << from->tile_bits);
    cg_flat_store(c, kind, base, from, regs);
    cg_barrier(c);
    cg_flat_load(c, kind, base, to, out);
    cg_scratch_read(c);
    return out;
}

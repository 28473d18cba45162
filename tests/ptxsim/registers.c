/* Registers of a warp: reading, writing, special registers. */
#include <stdio.h>
#include <string.h>

#include "tests/ptxsim/sim.h"

/* ---- special registers ---- */

enum { SPECIAL_X, SPECIAL_Y, SPECIAL_Z };

/* Most special registers have no lane in them: SPECIAL(name, expression of w). */
#define SPECIALS                                                      \
    SPECIAL("%ntid.x", w->sim->block[0])                              \
    SPECIAL("%ntid.y", w->sim->block[1])                              \
    SPECIAL("%ntid.z", w->sim->block[2])                              \
    SPECIAL("%ctaid.x", w->block->id[0])                              \
    SPECIAL("%ctaid.y", w->block->id[1])                              \
    SPECIAL("%ctaid.z", w->block->id[2])                              \
    SPECIAL("%nctaid.x", w->sim->grid[0])                             \
    SPECIAL("%nctaid.y", w->sim->grid[1])                             \
    SPECIAL("%nctaid.z", w->sim->grid[2])                             \
    SPECIAL("%clusterid.x", w->block->id[0] / w->sim->cluster[0])     \
    SPECIAL("%clusterid.y", w->block->id[1] / w->sim->cluster[1])     \
    SPECIAL("%clusterid.z", w->block->id[2] / w->sim->cluster[2])     \
    SPECIAL("%nclusterid.x", w->sim->grid[0] / w->sim->cluster[0])    \
    SPECIAL("%nclusterid.y", w->sim->grid[1] / w->sim->cluster[1])    \
    SPECIAL("%nclusterid.z", w->sim->grid[2] / w->sim->cluster[2])    \
    SPECIAL("%cluster_ctaid.x", w->block->id[0] % w->sim->cluster[0]) \
    SPECIAL("%cluster_ctaid.y", w->block->id[1] % w->sim->cluster[1]) \
    SPECIAL("%cluster_ctaid.z", w->block->id[2] % w->sim->cluster[2]) \
    SPECIAL("%cluster_nctaid.x", w->sim->cluster[0])                  \
    SPECIAL("%cluster_nctaid.y", w->sim->cluster[1])                  \
    SPECIAL("%cluster_nctaid.z", w->sim->cluster[2])                  \
    SPECIAL("%cluster_ctarank", w->block->rank)                       \
    SPECIAL("%cluster_nctarank", w->block->cluster->size)             \
    SPECIAL("%is_explicit_cluster", w->block->cluster->size > 1)      \
    SPECIAL("%warpid", w->index)                                      \
    SPECIAL("%nwarpid", PS_MAX_WARPS)                                 \
    SPECIAL("%smid", 0)                                               \
    SPECIAL("%nsmid", w->sim->multiprocessors)                        \
    SPECIAL("%gridid", 0)                                             \
    SPECIAL("%clock", (uint32_t)w->sim->steps)                        \
    SPECIAL("%clock_hi", w->sim->steps >> 32)                         \
    SPECIAL("%clock64", w->sim->steps)                                \
    SPECIAL("%globaltimer", w->sim->steps)                            \
    SPECIAL("%globaltimer_lo", (uint32_t)w->sim->steps)               \
    SPECIAL("%globaltimer_hi", w->sim->steps >> 32)                   \
    SPECIAL("%dynamic_smem_size", w->sim->launch->dynamic_shared)     \
    SPECIAL("%total_smem_size", w->block->shared_bytes)               \
    SPECIAL("%aggr_smem_size", w->block->shared_bytes)

/* Those that differ from lane to lane come first. */
static const char *const special_names[] = {"%tid.x",       "%tid.y",       "%tid.z",
                                            "%laneid",      "%lanemask_eq", "%lanemask_lt",
                                            "%lanemask_le", "%lanemask_gt", "%lanemask_ge",
#define SPECIAL(name, value) name,
                                            SPECIALS
#undef SPECIAL
};
enum { SPECIAL_LANEID = 3, SPECIAL_EQ, SPECIAL_LT, SPECIAL_LE, SPECIAL_GT, SPECIAL_GE, SPECIAL_UNIFORM };

int ps_special_find(const char *name)
{
    for (size_t i = 0; i < sizeof special_names / sizeof *special_names; i++)
        if (strcmp(special_names[i], name) == 0)
            return (int)i;
    return -1;
}

static uint64_t uniform_special(const ps_warp *w, uint32_t slot)
{
    const uint64_t values[] = {
#define SPECIAL(name, value) (uint64_t)(value),
        SPECIALS
#undef SPECIAL
    };
    return values[slot - SPECIAL_UNIFORM];
}

static uint64_t lane_special(const ps_warp *w, uint32_t slot, uint32_t lane)
{
    uint32_t thread = w->index * PS_LANES + lane, x = w->sim->block[0], y = w->sim->block[1];
    uint32_t below = ((uint32_t)1 << lane) - 1, own = (uint32_t)1 << lane;
    switch (slot) {
    case SPECIAL_X: return thread % x;
    case SPECIAL_Y: return thread / x % y;
    case SPECIAL_Z: return thread / x / y;
    case SPECIAL_LANEID: return lane;
    case SPECIAL_EQ: return own;
    case SPECIAL_LT: return below;
    case SPECIAL_LE: return below | own;
    case SPECIAL_GT: return (uint32_t) ~(below | own);
    default: return (uint32_t)~below;
    }
}

void ps_special(ps_warp *w, uint32_t slot, uint64_t *out)
{
    uint64_t same = slot < SPECIAL_UNIFORM ? 0 : uniform_special(w, slot);
    for (uint32_t l = 0; l < PS_LANES; l++)
        out[l] = slot < SPECIAL_UNIFORM ? lane_special(w, slot, l) : same;
}

/* ---- sources ---- */

static unsigned lowest(uint32_t mask)
{
    unsigned l = 0;
    while (l < 31 && !(mask >> l & 1))
        l++;
    return l;
}

static void uninitialised(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t lanes)
{
    if (o->kind == PS_REG && ps_wgmma_pending(w, o->slot)) {
        ps_report(w, in, -1, PTXSIM_WGMMA, "'%s' reads %s before wgmma.wait_group: a product is still writing it",
                  in->opcode, o->name);
        return;
    }
    if (o->kind == PS_REG && ps_tm_pending(w, o->slot)) {
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s' reads %s before tcgen05.wait::ld: a load is still writing it",
                  in->opcode, o->name);
        return;
    }
    ps_report(w, in, (int)lowest(lanes), PTXSIM_UNINITIALISED_REGISTER, "'%s' reads %s, which has no value yet",
              in->opcode, o->name);
}

uint32_t ps_predicate(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active)
{
    if (o->kind == PS_IMMEDIATE)
        return (o->value != 0) != o->negated ? PS_ALL : 0;
    uint32_t unknown = active & ~w->predicate_known[o->slot];
    if (unknown)
        uninitialised(w, in, o, unknown);
    return o->negated ? ~w->predicates[o->slot] : w->predicates[o->slot];
}

const uint64_t *ps_source(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active, uint64_t *scratch)
{
    switch ((ps_operand_kind)o->kind) {
    case PS_REG:
        if (TV_UNLIKELY(active & ~w->row_known[o->slot]))
            uninitialised(w, in, o, active & ~w->row_known[o->slot]);
        return w->rows[o->slot];
    case PS_VARIABLE:
        if (TV_LIKELY(w->block->rank == 0 || o->var->space != PS_SHARED))
            return o->row;
        for (unsigned l = 0; l < PS_LANES; l++) /* as devices do in clusters: what takes fewer bits has to cut it */
            scratch[l] = o->row[l] + ((uint64_t)w->block->rank << PS_RANK_SHIFT);
        return scratch;
    case PS_IMMEDIATE: return o->row;
    case PS_SREG: ps_special(w, o->slot, scratch); return scratch;
    case PS_PREDICATE: {
        uint32_t mask = ps_predicate(w, in, o, active);
        for (unsigned l = 0; l < PS_LANES; l++)
            scratch[l] = mask >> l & 1;
        return scratch;
    }
    case PS_FUNCTION: /* the address of a function is its number */
        for (unsigned l = 0; l < PS_LANES; l++)
            scratch[l] = o->slot;
        return scratch;
    case PS_NONE:
    case PS_ADDRESS:
    case PS_VECTOR:
    case PS_SINK:
    case PS_LABEL: break;
    }
    memset(scratch, 0, PS_LANES * sizeof *scratch);
    return scratch;
}

const uint64_t *ps_source_high(ps_warp *w, const ps_operand *o, uint64_t *scratch)
{
    if (o->kind == PS_REG && o->type == PS_B128)
        return w->rows[o->slot + 1];
    memset(scratch, 0, PS_LANES * sizeof *scratch);
    return scratch;
}

/* ---- results ---- */

void ps_result_mask(ps_warp *w, const ps_operand *o, uint32_t active, uint32_t mask)
{
    if (o->kind != PS_PREDICATE)
        return;
    w->predicates[o->slot] = (w->predicates[o->slot] & ~active) | (mask & active);
    w->predicate_known[o->slot] |= active;
}

void ps_result(ps_warp *w, const ps_operand *o, ps_type type, uint32_t active, const uint64_t *values)
{
    if (o->kind == PS_PREDICATE) {
        uint32_t mask = 0;
        for (unsigned l = 0; l < PS_LANES; l++)
            mask |= (uint32_t)(values[l] & 1) << l;
        ps_result_mask(w, o, active, mask);
        return;
    }
    if (o->kind != PS_REG)
        return;
    unsigned bits = ps_types[type].bits, width = ps_types[o->type].bits;
    bool extend = ps_types[type].class_ == PS_CLASS_SINT && width > bits;
    uint64_t keep = ps_mask(bits), all = ps_mask(width), *row = w->rows[o->slot];
    w->row_known[o->slot] |= active;
    w->row_epoch[o->slot] = w->epoch;
    if (extend) {
        PS_FOR_LANES(l, active)
        row[l] = (uint64_t)ps_signed(values[l], bits) & all;
    } else if (active == PS_ALL) {
        for (unsigned l = 0; l < PS_LANES; l++)
            row[l] = values[l] & keep;
    } else {
        PS_FOR_LANES(l, active)
        row[l] = values[l] & keep;
    }
}

void ps_result_high(ps_warp *w, const ps_operand *o, uint32_t active, const uint64_t *values)
{
    if (o->kind != PS_REG || o->type != PS_B128)
        return;
    w->row_known[o->slot + 1] |= active;
    PS_FOR_LANES(l, active)
    w->rows[o->slot + 1][l] = values[l];
}

/* Atomic additions to few addresses; see the header. */
#include "codegen/ops/bins.h"

#include "codegen/access/pointers.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"

void cg_want_bins(cg_func *c, const cg_bins *b, const cg_layout *l)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    cg_want(c, b->base, &scalar);
    cg_want(c, b->index, l);
}

/* ---- the bins of a thread, one after the other ---- */

/* Does the thread have one of the bins from number `from` on? */
static cg_val has_bin(cg_func *c, const cg_bins *b, uint32_t from)
{
    cg_val inside = cg_new(c, CG_PRED);
    if (b->count - from >= cg_threads(c))
        return cg_const(CG_PRED, 1);
    cg_ins(c, "setp.lt.u32 %v, %v, %u", inside, cg_tid(c), b->count - from);
    return inside;
}

/* The thread's first bin. */
static cg_val own_bin(cg_func *c, cg_val memory)
{
    cg_val at = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", at, cg_tid(c), (unsigned)CG_BIN_BYTES, memory);
    return at;
}

/* The thread's bin from number `from` on; at: its first one. */
static cg_access bin_of(cg_func *c, const cg_bins *b, cg_val at, uint32_t from)
{
    return (cg_access){.kind = BC_I32,
                       .space = "shared",
                       .order = "",
                       .address = at,
                       .offset = from * CG_BIN_BYTES,
                       .predicate = has_bin(c, b, from)};
}

static void clear(cg_func *c, const cg_bins *b, cg_val memory)
{
    cg_val at = own_bin(c, memory), zero = cg_const(CG_B32, 0);
    for (uint32_t from = 0; from < b->count; from += cg_threads(c)) {
        cg_access a = bin_of(c, b, at, from);
        cg_store_vector(c, &a, 1, &zero);
    }
}

/* ---- elements ---- */

static cg_val index_in_32_bits(cg_func *c, bc_kind kind, cg_val index)
{
    return kind == BC_I64 ? cg_low_half(c, index) : cg_to_b32(c, kind, true, index);
}

static void add_elements(cg_func *c, const ct_op *op, const cg_bins *b, const cg_layout *l, cg_val memory)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    const cg_val *index = cg_get(c, b->index, l), *value = cg_get(c, p.value, l),
                 *mask = p.mask ? cg_get(c, p.mask, l) : NULL;
    cg_val owner = cg_is_owner(c, l), first = cg_new(c, CG_B32);
    cg_ins(c, "add.s32 %v, %v, %d", first, memory, -(int)b->low * CG_BIN_BYTES);
    for (uint32_t r = 0; index && value && r < cg_layout_regs(l) && !c->failed; r++) {
        cg_val at = cg_new(c, CG_B32), whether = mask ? cg_and(c, mask[r], owner) : owner;
        cg_val i = index_in_32_bits(c, bc_elem_kind(b->index->type), index[r]);
        cg_ins(c, "mad.lo.u32 %v, %r, %u, %v", at, i, (unsigned)CG_BIN_BYTES, first);
        if (whether.known && whether.bits)
            cg_ins(c, "red.relaxed.cta.shared.add.u32 [%v], %r", at, value[r]);
        else if (!whether.known)
            cg_ins(c, "@%v red.relaxed.cta.shared.add.u32 [%v], %r", whether, at, value[r]);
    }
}

cg_val cg_fill_bins(cg_func *c, const ct_op *op, const cg_bins *b, const cg_layout *l)
{
    cg_val memory = cg_scratch(c, op, cg_bins_bytes(b));
    clear(c, b, memory);
    cg_barrier(c);
    add_elements(c, op, b, l, memory);
    cg_barrier(c);
    cg_remark(c, op, CG_REMARK_SharedAtomics, TV_REMARK_PASSED,
              "{Elements=%u} elements are summed in shared memory, then added to {Addresses=%u} addresses",
              1u << l->tile_bits, b->count);
    return memory;
}

void cg_empty_bins(cg_func *c, const cg_bins *b, cg_val memory, uint64_t scope)
{
    cg_val from_here = own_bin(c, memory), to = cg_new(c, CG_B64), base = cg_scalar(c, b->base);
    const char *order = cg_order_suffix(BC_MemoryOrderingSemantics_relaxed, scope);
    cg_ins(c, "mad.wide.u32 %v, %v, %u, %r", to, cg_tid(c), (unsigned)CG_BIN_BYTES, base);
    for (uint32_t from = 0; from < b->count; from += cg_threads(c)) {
        cg_val sum, some = cg_new(c, CG_PRED), none = cg_const(CG_B32, 0);
        cg_access a = bin_of(c, b, from_here, from);
        cg_load_vector(c, &a, 1, &none, &sum);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", some, sum);
        cg_ins(c, "@%v red%s.global.add.u32 [%v+%d], %v", some, order, to, ((int)b->low + (int)from) * CG_BIN_BYTES,
               sum);
    }
}

/* Finds the barrier that two effects need between them; see codegen/values/effects.h. Why a barrier may be omitted:
   either the same thread accesses each element in both effects, in its own order, or no token orders them. */
#include "codegen/analysis/ring.h"
#include "codegen/tile/same.h"
#include "codegen/values/effects.h"

/* ---- global memory ---- */

/* Is it a load or store of a tile through a view? */
static bool is_view_op(const ct_op *op)
{
    const bc_op_info *info = ct_info(op);
    return op->opcode < OP_LIMIT && bc_rows[info->address].constraint == BC_IS_tile_view
           && (info->effects == BC_READS || info->effects == BC_WRITES);
}

/* Does the same thread access each element in both? Of threads with replicas, all load, but always the same one
   stores. */
static bool same_threads(const cg_effect *a, const cg_effect *b)
{
    return a->layout && b->layout && cg_layout_equal(a->layout, b->layout)
           && ((a->write && b->write) || !cg_layout_has_replicas(b->layout));
}

static bool has_token_of(const cg_effect *later, const cg_effect *earlier)
{
    return ct_is_source(later->sources, earlier->access);
}

/* Do both ops access element i of the tile at the same address, each element from the same thread, or do their tiles
   have no element in common? If two indices of the tensor may be the same element of memory, another thread may
   access it through its other index, whether the tiles are the same or not; then accesses that tokens order need a
   barrier. Accesses that no token orders need not keep their order (memory reference, 3.4). */
static bool same_elements(const cg_effect *a, cg_before how, const cg_effect *b)
{
    if (how == CG_EARLIER_VIEW || !same_threads(a, b) || !is_view_op(a->access) || !is_view_op(b->access))
        return false;
    const bc_type *view = a->memory->type;
    bool same = ct_is_same(a->memory, b->memory) || ct_is_same(b->memory, a->memory);
    if (!same || view->kind == BC_GATHER_SCATTER_VIEW) /* a sparse index may contain a row twice */
        return false;
    if (!a->elements_apart && has_token_of(b, a))
        return false;
    if (view->kind == BC_PARTITION_VIEW)
        return true;
    cg_view_op x = cg_view_op_of(a->access), y = cg_view_op_of(b->access);
    for (uint32_t i = 0; i < x.index_count; i++)
        if (how == CG_EARLIER_TRIP || x.index[i] != y.index[i])
            return false;
    return true;
}

bool cg_is_by_one_thread(const cg_effect *e)
{
    return e->kind == CG_ACCESSES && e->write && e->layout && !e->layout->tile_bits;
}

/* Are they the same store of the program, in iterations of a loop that are executed together? Where its addresses stay,
   the same thread writes each element again; where they move, only tokens order them. */
static bool are_of_one_store(const cg_effect *a, cg_before how, const cg_effect *b)
{
    return how == CG_SAME_TRIP && a->access != b->access && a->access->from == b->access->from;
}

/* May they access the same memory in different threads, and do the tokens of the later one order it after the
   earlier one? */
static bool accesses_conflict(const cg_effect *a, cg_before how, const cg_effect *b)
{
    bool apart = a->root && b->root && a->root != b->root;
    if (apart || b->started || !(a->write || b->write) || (cg_is_by_one_thread(a) && cg_is_by_one_thread(b)))
        return false;
    bool ordered = (a->origin == b->origin && !are_of_one_store(a, how, b)) || has_token_of(b, a);
    return ordered && !same_elements(a, how, b);
}

/* ---- shared memory ---- */

static bool reads_shared(const cg_effect *e)
{
    return e->kind == CG_USES_SCRATCH || e->kind == CG_READS_RING;
}

static bool writes_shared(const cg_effect *e)
{
    return e->kind == CG_USES_SCRATCH || e->kind == CG_FILLS_RING;
}

static bool overlap(const cg_span *a, const cg_span *b)
{
    return a->from < b->to && b->from < a->to;
}

static cg_meeting meeting_of_spans(const cg_span *a, const cg_span *b)
{
    if (!overlap(a, b))
        return CG_NOBODY;
    return a->of_warp && a->of_warp == b->of_warp && a->from == b->from ? CG_EACH_WARP : CG_ALL_WARPS;
}

bool cg_fence_between(const cg_effect *earlier, const cg_effect *later)
{
    return earlier->kind == CG_WRITTEN && later->kind == CG_READS_ASYNC && overlap(&earlier->span, &later->span);
}

/* ---- both ---- */

cg_before cg_before_next_trip(const cg_effect *e, cg_before how, const ct_block *body)
{
    if (!ct_is_inside(e->op->block, body))
        return how;
    bool own_view = e->memory && e->memory->view && ct_is_inside(e->memory->view->maker->block, body);
    return own_view ? CG_EARLIER_VIEW : how == CG_SAME_TRIP ? CG_EARLIER_TRIP : how;
}

bool cg_effect_lasts(const cg_effect *e)
{
    return !e->leaves && (e->kind == CG_ACCESSES || reads_shared(e));
}

cg_meeting cg_meeting_between(const cg_effect *earlier, cg_before how, const cg_effect *later)
{
    if (earlier->kind == CG_ACCESSES && later->kind == CG_ACCESSES)
        return accesses_conflict(earlier, how, later) ? CG_ALL_WARPS : CG_NOBODY;
    if (earlier->ring && earlier->ring == later->ring && earlier->ring->role == CG_RING_OF_THREADS)
        return CG_NOBODY; /* each thread fills the elements that it has read */
    if (earlier == later && earlier->by_turns)
        return CG_NOBODY; /* all have met since the half was read */
    return reads_shared(earlier) && writes_shared(later) ? meeting_of_spans(&earlier->span, &later->span) : CG_NOBODY;
}

cg_meeting cg_meeting_within(const cg_effect *e)
{
    if (e->kind == CG_USES_SCRATCH)
        return e->span.of_warp ? CG_EACH_WARP : CG_ALL_WARPS;
    return e->kind == CG_MEETS && (!e->for_one || e->others) ? CG_ALL_WARPS : CG_NOBODY;
}

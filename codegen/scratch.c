/* Scratch: shared memory that ops use for a while, all from its first byte on. What threads may still read of it is
   known, so that a barrier comes only before what is read is written again; where each warp has a part of its own, a
   barrier of the warp. */
#include "codegen/assign.h"
#include "codegen/groups.h"
#include "codegen/mma.h"
#include "codegen/order.h"
#include "codegen/ring.h"
#include "codegen/strips.h"

uint32_t cg_scratch_room(const cg_func *c)
{
    uint32_t all = c->groups ? c->groups->shared : cg_static_shared(c->target);
    return c->in_ring ? (all - c->ring_bytes) & ~(uint32_t)(CG_STAGE_ALIGN - 1) : all;
}

/* Nobody reads bytes from `from` on any more. */
static cg_val scratch_at(cg_func *c, uint32_t from, uint32_t bytes)
{
    uint32_t to = from + bytes;
    if (to > c->shared_bytes)
        c->shared_bytes = to;
    if (c->in_ring && to > c->kept_bytes)
        c->kept_bytes = to;
    if (!c->scratch.id) {
        c->scratch = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, tv_scratch", c->scratch);
    }
    if (!from)
        return c->scratch;
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, c->scratch, from);
    return address;
}

static void need_room(cg_func *c, uint32_t bytes)
{
    if (bytes > cg_scratch_room(c)) {
        if (c->in_ring)
            c->failed = c->is_tight = true;
        else
            cg_unsupported(c, c->op, "'%s' needs %u bytes of shared memory; a kernel for %s may have %u",
                           ct_op_name(c->op), bytes, c->target->name, cg_static_shared(c->target));
    }
}

cg_val cg_scratch(cg_func *c, uint32_t bytes)
{
    need_room(c, bytes);
    if (cg_strip_needs_barrier(c) || c->order.read.from != c->order.read.to)
        cg_barrier(c);
    return scratch_at(c, 0, bytes);
}

void cg_scratch_read(cg_func *c)
{
    c->order.read = (cg_span){0, UINT32_MAX, 0};
}

cg_val cg_scratch_of_warps(cg_func *c, uint32_t bytes)
{
    const cg_span *read = &c->order.read;
    need_room(c, bytes);
    if (read->from != read->to && read->of_warp == bytes >> c->warp_bits)
        cg_warp_barrier(c);
    else if (read->from != read->to)
        cg_barrier(c);
    return scratch_at(c, 0, bytes);
}

void cg_scratch_read_of_warps(cg_func *c, uint32_t bytes)
{
    c->order.read = (cg_span){0, UINT32_MAX, bytes >> c->warp_bits};
}

/* The least span that has both. */
static void add_span(cg_span *span, const cg_span *other)
{
    if (span->from == span->to) {
        *span = *other;
    } else if (other->from != other->to) {
        span->of_warp = span->of_warp == other->of_warp ? span->of_warp : 0;
        span->from = span->from < other->from ? span->from : other->from;
        span->to = span->to > other->to ? span->to : other->to;
    }
}

cg_val cg_scratch_apart(cg_func *c, uint32_t bytes, cg_span *out_span)
{
    enum { APART = 2048 }; /* such bytes lie below this */
    const cg_span *read = &c->order.read;
    uint32_t from = bytes <= read->from || read->from == read->to ? 0 : read->to;
    bool fits = !c->strips && bytes <= APART && from <= APART - bytes && from + bytes <= cg_scratch_room(c);
    if (!fits)
        from = 0;
    *out_span = (cg_span){from, from + ((bytes + 15) & ~(uint32_t)15), 0}; /* what comes behind it is aligned */
    return fits ? scratch_at(c, from, bytes) : cg_scratch(c, bytes);
}

void cg_scratch_apart_read(cg_func *c, const cg_span *span)
{
    add_span(&c->order.read, span);
}

/* ---- what ops will read of it ---- */

/* Can the op do without, other than for its results in further layouts? */
static bool spares_scratch(cg_func *c, const ct_op *op)
{
    const bc_op_classes none = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                               | BC_OPS(MOVE) | BC_OPS(VIEW) | BC_OPS(QUERY) | BC_OPS(TOKEN) | BC_OPS(LOOP)
                               | BC_OPS(BRANCH) | BC_OPS(EXIT);
    if (op->opcode == CT_ring || (op->detail && bc_is_loop(op->opcode)))
        return false; /* it shares the memory of scratch */
    if (op->opcode > CT_BEFORE_FIRST || bc_op_in(op->opcode, none))
        return true;
    if (cg_is_product(op))
        return cg_mma_spares_scratch(c, op);
    return cg_is_weak_access(op);
}

/* Of the conversions of a value into the layouts that are wanted. */
static void add_conversions(cg_func *c, const ct_value *v, cg_span *span)
{
    const cg_value *x = cg_value_of(c, v);
    for (const cg_copy *copy = x->form == CG_TILE ? x->copies : NULL; copy; copy = copy->next) {
        cg_span own = cg_conversion_span(c, bc_elem_kind(v->type), &x->home, &copy->layout);
        add_span(span, &own);
    }
}

void cg_scratch_loop(cg_func *c, const ct_block *body)
{
    static const cg_span all = {0, UINT32_MAX, 0};
    cg_span span = c->strips ? all : (cg_span){0};
    for (uint32_t i = 0; i < body->arg_count; i++)
        add_conversions(c, &body->args[i], &span);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        if (!spares_scratch(c, op))
            add_span(&span, &all);
        for (uint32_t i = 0; i < op->result_count; i++)
            add_conversions(c, &op->results[i], &span);
        for (uint32_t r = 0; r < op->region_count; r++)
            for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->arg_count; i++)
                add_conversions(c, &op->regions[r]->args[i], &span);
    }
    add_span(&c->order.read, &span);
}

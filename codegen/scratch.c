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
    if (bytes > cg_scratch_room(c))
        cg_unsupported(c, c->op, "'%s' needs %u bytes of shared memory; a kernel for %s may have %u here",
                       ct_op_name(c->op), bytes, c->target->name, cg_scratch_room(c));
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

/* ---- what ops need of it, whatever layouts their tiles get ---- */

static uint32_t tile_bytes(const ct_value *v)
{
    return cg_memory_bytes(bc_elem_kind(v->type)) << cg_shape_of(v->type).tile_bits;
}

static bool is_load_of(const cg_ring *ring, const ct_op *op)
{
    for (uint32_t i = 0; ring && i < ring->load_count; i++)
        if (op == ring->loads[i].op)
            return true;
    return false;
}

/* Is the op a load of the ring, or of one that a loop around it has? */
static bool is_fed(const cg_ring *ring, const ct_op *op)
{
    bool fed = is_load_of(ring, op);
    for (const ct_op *p = op ? op->block->parent : NULL; p && !fed; p = p->block->parent)
        fed = p->opcode == OP_for && is_load_of(p->detail, op);
    return fed;
}

/* A step of the instruction along K, or one column and row; and all scales. */
static uint64_t product_bytes(const cg_func *c, const ct_op *op, const cg_ring *ring)
{
    enum { COLUMNS = 3, ALIGN = 16 };
    cg_product p = cg_product_of(c, op);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (i < 2 && !is_fed(ring, cg_stage_source(op->operands[i])->op))
            bytes += (tile_bytes(op->operands[i]) >> (p.k - (p.has_atom ? p.atom.k_bits : 0)))
                     + (p.async ? CG_STAGE_ALIGN : ALIGN);
        else if (i >= COLUMNS && !p.has_atom)
            bytes += tile_bytes(op->operands[i]) + ALIGN;
    return bytes;
}

/* Partial results of every warp, of every operand. */
static uint64_t fold_bytes(const cg_func *c, const ct_op *op)
{
    enum { ALIGN = 16 };
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const bc_type *type = op->operands[i]->type;
        uint64_t row = op->opcode == OP_scan ? (uint64_t)type->shape[ct_attr_u(op, F_scan_dim)] : 1,
                 parts = ((uint64_t)tile_bytes(&op->results[i]) / row) << cg_real_warp_bits(c),
                 all = tile_bytes(op->operands[i]);
        bytes += (parts < all ? parts : all) + ALIGN;
    }
    return bytes;
}

static uint64_t bytes_of_op(const cg_func *c, const ct_op *op, const cg_ring *ring)
{
    if (cg_is_product(op))
        return product_bytes(c, op, ring);
    if (op->opcode == OP_extract && tile_bytes(op->operands[0]) <= CG_MAX_SCRATCH)
        return tile_bytes(op->operands[0]); /* larger ones are chosen from registers */
    if (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)))
        return fold_bytes(c, op);
    bool hands_round = op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op);
    return hands_round && bc_is_tile(op->results[0].type) ? tile_bytes(&op->results[0]) : 0;
}

static bool has_elements(const ct_value *v)
{
    return bc_is_tile(v->type) && v->type->rank;
}

/* What is computed from constants and indices alone, cheaply, is so in every layout (codegen/assign.c): no tile of it
   is brought from one to another. Marks the op's results, whose operands come before them. */
static void mark_made_anew(const ct_op *op, bool *anew)
{
    const bc_op_classes seen = BC_OPS(RESHAPE) | BC_OPS(MOVE);
    bool all =
        op->opcode < OP_LIMIT
        && (bc_op_in(op->opcode, BC_OPS(GIVEN) | seen) || (cg_is_map(op->opcode) && ct_info(op)->traits & BC_CHEAP));
    for (uint32_t i = 0; i < op->operand_count; i++)
        all = all && (!has_elements(op->operands[i]) || anew[op->operands[i]->id]);
    for (uint32_t i = 0; i < op->result_count; i++)
        anew[op->results[i].id] = all;
}

/* One element of each thread, if tiles of the op may be wanted in other layouts. */
static uint64_t conversion_bytes(const cg_func *c, const ct_op *op, const cg_ring *ring, const bool *anew)
{
    enum { MOST_OF_AN_ELEMENT = 8 };
    bool converts = false, ends = op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(EXIT));
    for (uint32_t i = 0; i < op->result_count; i++)
        converts = converts || (has_elements(&op->results[i]) && !anew[op->results[i].id]);
    for (uint32_t i = 0; i < op->operand_count; i++)
        converts = converts || (has_elements(op->operands[i]) && !anew[op->operands[i]->id]);
    const ct_op *source = op->result_count ? cg_stage_source(&op->results[0])->op : NULL;
    converts = converts && !ends && !cg_is_product(op) && !is_fed(ring, source);
    return converts ? (uint64_t)MOST_OF_AN_ELEMENT * cg_threads(c) : 0;
}

uint32_t cg_scratch_least(cg_func *c, const ct_block *block, const cg_ring *ring)
{
    enum { MOST = 1 << 30 };
    uint64_t least = 0;
    bool *anew = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    if (!anew) {
        cg_no_memory(c);
        return MOST;
    }
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        mark_made_anew(op, anew);
        if (!ct_is_inside(op->block, block))
            continue;
        uint64_t bytes = bytes_of_op(c, op, ring), others = conversion_bytes(c, op, ring, anew);
        least = bytes > least ? bytes : least;
        least = others > least ? others : least;
    }
    return least < MOST ? (uint32_t)least : MOST;
}

uint32_t cg_ring_bytes(const cg_func *c)
{
    uint32_t most = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const cg_ring *ring = op->opcode == CT_ring ? op->detail : NULL;
        uint32_t bytes = ring ? ring->slots * ring->slot_bytes : 0;
        most = bytes > most ? bytes : most;
    }
    return c->groups ? c->groups->ring_bytes : most;
}

uint32_t cg_shared_for_the_rest(const cg_func *c)
{
    enum { STATIC = 48 << 10, MUCH = 16 << 10 };
    return cg_static_shared(c->target) > STATIC ? MUCH : MUCH / 2;
}

uint32_t cg_shared_for_ring(cg_func *c, const ct_block *body, const cg_ring *ring, uint32_t rest)
{
    uint32_t all = cg_static_shared(c->target), least = cg_scratch_least(c, body, ring);
    least = least > rest ? least : rest;
    return cg_loops_stay_plain(c) || least > all ? 0 : all - least;
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

/* Places the ops of rings; see the header. */
#include "codegen/rewrite/ring.h"

#include "codegen/kernel/remarks.h"
#include "codegen/rewrite/cursor.h"

/* ---- what is told ---- */

void cg_remark_stays(const cg_func *c, const ct_op *load, const char *why)
{
    cg_remark(c, load, CG_REMARK_NotPipelined, TV_REMARK_MISSED, "not loaded ahead: {Why=%s}", why);
}

void cg_remark_ring(const cg_func *c, const ct_op *loop, const cg_ring *ring)
{
    const char *by = ring->role == CG_RING_OF_MAPS      ? "TMA"
                     : cg_ring_puts(ring)               ? "producer warps, through registers"
                     : cg_is_between_groups(ring)       ? "producer warps"
                     : ring->role == CG_RING_OF_THREADS ? "the threads that read them"
                                                        : "all threads";
    if (loop)
        cg_remark(c, loop, CG_REMARK_Pipelined, TV_REMARK_PASSED,
                  "pipelined: {Loads=%u} loads in {Stages=%u} stages, copied by {By=%s}; {InFlight=%u} bytes in "
                  "flight, {Shared=%u} bytes of shared memory: {Why=%s}",
                  ring->load_count, ring->slots, by, cg_ring_distance(ring) * ring->slot_bytes,
                  ring->slots * ring->slot_bytes, ring->why);
    for (uint32_t i = 0; i < ring->load_count; i++)
        cg_remark(c, ring->loads[i].op, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
                  "loaded ahead: {Bytes=%u} bytes in each of {Stages=%u} stages, copied by {By=%s}",
                  cg_ring_load_bytes(&ring->loads[i]), ring->slots,
                  ring->role == CG_RING_OF_MAPS && cg_is_copied_by_threads(ring, &ring->loads[i]) ? "producer warps"
                                                                                                  : by);
}

void cg_remark_few_slots(const cg_func *c, const ct_op *loop, const char *why, uint32_t bytes, uint32_t room)
{
    cg_remark(c, loop, CG_REMARK_NotPipelined, TV_REMARK_MISSED,
              "not pipelined: {Why=%s}; two stages need {Bytes=%u} of {Room=%u} bytes of shared memory",
              why                      ? why
              : cg_loops_stay_plain(c) ? "optimisation level 0 pipelines no loop"
                                       : "too little shared memory",
              2 * bytes, room);
}

/* ---- its ops ---- */

ct_op *cg_ring_op(cg_func *c, ct_opcode opcode, const ct_op *from, ct_value *ring)
{
    ct_op *op = ct_op_new(c->ir, opcode, from, 1, 0);
    if (op)
        ct_set_operand(op, 0, ring);
    return op;
}

void cg_ring_put(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place)
{
    ct_op *op = cg_ring_op(c, opcode, place, ring);
    if (op)
        ct_insert_before(op, place);
}

void cg_ring_put_behind(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place)
{
    ct_op *op = cg_ring_op(c, opcode, place, ring);
    if (op)
        ct_insert_after(op, place);
}

ct_value *cg_ring_new(cg_func *c, cg_ring *ring, const ct_op *loop, ct_op *place)
{
    ct_op *op = ct_op_new(c->ir, CT_ring, loop, 0, 1);
    if (!op)
        return NULL;
    op->detail = ring;
    ct_insert_before(op, place);
    return &op->results[0];
}

static bool is_same_load(const cg_ring_load *a, const cg_ring_load *b)
{
    const cg_encoding *s = &a->encoding, *t = &b->encoding;
    return a->fast == b->fast && a->feed == b->feed && cg_layout_equal(&a->layout, &b->layout) && s->rows == t->rows
           && s->columns == t->columns && s->batch == t->batch && s->bytes == t->bytes && s->left_out == t->left_out
           && s->flipped == t->flipped;
}

bool cg_ring_is_like(const cg_ring *a, const cg_ring *b)
{
    bool same = a->load_count == b->load_count;
    for (uint32_t i = 0; same && i < a->load_count; i++)
        same = is_same_load(&a->loads[i], &b->loads[i]);
    return same;
}

void cg_ring_copy_load(cg_func *c, ct_op *op, const cg_ring_load *load, ct_value *ring)
{
    cg_ring_copy *copy = bc_new(c->ir->arena, cg_ring_copy, 1);
    if (!copy || !ct_add_operands(c->ir, op, &ring, 1))
        return;
    *copy = (cg_ring_copy){.load = load};
    op->opcode = CT_copy;
    op->detail = copy;
}

void cg_ring_stage_loads(cg_func *c, cg_ring *ring, ct_value *value)
{
    for (uint32_t i = 0; i < ring->load_count; i++) {
        ct_op *op = ring->loads[i].op;
        if (!ct_add_operands(c->ir, op, &value, 1))
            return;
        op->opcode = CT_staged;
        op->in_registers = ring->role == CG_RING_OF_THREADS || cg_is_read_by_threads(&ring->loads[i])
                           || ring->loads[i].computed;
        op->detail = &ring->loads[i];
    }
}

bool cg_is_straight(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == OP_continue && op->block != body)
            return false;
    return true;
}

ct_value *cg_ring_first_counter(cg_func *c, ct_op *loop, uint32_t n)
{
    ct_op *later = cg_later_new(c, loop, ct_operand(loop, F_for_lower_bound), n);
    if (!later)
        return NULL;
    ct_insert_before(later, loop);
    return &later->results[0];
}

void cg_ring_find_sources(cg_func *c, ct_op *loop, const ct_value *ring)
{
    const ct_block *body = loop->regions[0];
    bool whole = !((const cg_ring *)ring->op->detail)->parts && cg_is_straight(body);
    ct_value *first = NULL;
    for (ct_op *op = body->first; op && !c->failed; op = op->next) {
        if (op->opcode != CT_copy || ct_ring_of(op) != ring || ((const cg_ring_copy *)op->detail)->map)
            continue;
        const ct_value *whether = op->operand_count > op->from->operand_count + 1u ? op->operands[op->operand_count - 1]
                                                                                   : NULL;
        const ct_op *later = whether ? whether->op : NULL;
        if (whole && !first)
            first = later ? cg_ring_first_counter(c, loop, ((const cg_distance *)later->detail)->iterations)
                          : ct_operand(loop, F_for_lower_bound);
        if (whole && first)
            cg_put_cursor(c, op, loop, later ? &later->results[0] : &body->args[0], first);
        cg_ring_put_addresses(c, op, loop);
    }
}

void cg_ring_put_releases(cg_func *c, ct_op *loop, ct_value *ring)
{
    const ct_block *body = loop->regions[0];
    for (ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        const ct_op *of = op->block->parent;
        while (op->opcode == OP_continue && !bc_is_loop(of->opcode))
            of = of->block->parent;
        if (op->opcode == OP_continue && of == loop)
            cg_ring_put(c, CT_release, ring, op);
    }
}

ct_op *cg_put_mma_await(cg_func *c, ct_value *product, ct_op *behind)
{
    ct_op *op = ct_op_new(c->ir, CT_mma_await, product->op, 1, 1);
    if (!op)
        return behind;
    op->results[0].type = product->type;
    op->results[0].fact = product->fact;
    ct_replace_uses(product, &op->results[0]);
    ct_set_operand(op, 0, product);
    ct_insert_after(op, behind);
    return op;
}

ct_op *cg_later_new(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n)
{
    static const bc_type bit = {.kind = BC_I1}, bit_tile = {.kind = BC_TILE, .elem = &bit};
    const ct_value *counter = &loop->regions[0]->args[0];
    cg_distance *distance = bc_new(c->ir->arena, cg_distance, 1);
    cg_fact *fact = bc_new(c->ir->arena, cg_fact, 1);
    ct_op *op = ct_op_new(c->ir, CT_later, loop, 3, 2);
    if (!op || !distance || !fact)
        return NULL;
    distance->iterations = n;
    op->detail = distance;
    ct_set_operand(op, 0, start);
    ct_set_operand(op, 1, loop->operands[1]);
    ct_set_operand(op, 2, loop->operands[2]);
    op->results[0].type = counter->type;
    op->results[0].fact = counter->fact; /* a counter that is not below the end is not used */
    op->results[1].type = &bit_tile;
    op->results[1].fact = fact;
    return op;
}

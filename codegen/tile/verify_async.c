/* Checks asynchronous ops. On all paths, an op that reads a tile of a ring must follow an await of that slot, with
   no release in between. Only an `mma_await` or the next product in place may read a product in flight, also through
   loops and branches. */
#include "codegen/tile/verify_parts.h"

enum { MOST_RINGS = 64 };

typedef struct async {
    const ct_value *rings[MOST_RINGS];
    uint32_t count;
    bool *in_flight; /* by value id */
    ct_fault *fault;
    bool failed;
} async;

/* ---- rings; sets of them are bits ---- */

static bool find_rings(async *x, const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        if (op->opcode != CT_ring)
            continue;
        if (x->count == MOST_RINGS)
            return ct_is_faulty(x->fault, op, "there are more rings than can be checked");
        x->rings[x->count++] = &op->results[0];
    }
    return true;
}

static uint64_t bit_of(const async *x, const ct_value *ring)
{
    uint64_t bit = 0;
    for (uint32_t i = 0; i < x->count; i++)
        bit |= (uint64_t)(x->rings[i] == ring) << i;
    return bit;
}

/* After the op, is the tile no longer certain to be in its slot? */
static bool moves_on(const ct_op *op)
{
    return op->opcode == CT_release || op->opcode == CT_drain;
}

static uint64_t released_in(const async *x, const ct_op *loop)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < loop->region_count; i++)
        for (const ct_op *op = loop->regions[i] ? loop->regions[i]->first : NULL; op;
             op = ct_next_op(op, loop->regions[i]))
            all |= moves_on(op) ? bit_of(x, ct_ring_of(op)) : 0;
    return all;
}

/* The ring that holds a tile, also through ops that only pass it on. NULL: there is none. */
static const ct_value *ring_behind(const ct_value *v)
{
    while (v->op && v->op->opcode < OP_LIMIT && v->op->operand_count == 1 && !v->op->region_count)
        v = v->op->operands[0];
    bool lies = v->op && v->op->opcode == CT_staged && v == &v->op->results[0] && !v->op->in_registers;
    return lies ? ct_ring_of(v->op) : NULL;
}

static void check_ring(async *x, const ct_op *op, const ct_value *ring, uint64_t awaited)
{
    if (ring && !(awaited & bit_of(x, ring)))
        x->failed = !ct_is_faulty(x->fault, op, "it reads a tile of a ring that has not been awaited");
}

static void check_reads(async *x, const ct_op *op, uint64_t awaited)
{
    bool reads = (op->operand_count > 1 || op->opcode == CT_convert)
                 && op->opcode != CT_keep; /* that its operands are in registers */
    if (op->opcode == CT_staged && op->in_registers)
        check_ring(x, op, ct_ring_of(op), awaited);
    for (uint32_t i = 0; reads && i < op->operand_count && !x->failed; i++)
        check_ring(x, op, ring_behind(op->operands[i]), awaited);
}

static uint64_t walk(async *x, const ct_block *block, uint64_t awaited);

/* Does execution continue after the op that contains the block? */
static bool falls_through(const ct_block *block)
{
    return block->last->opcode == OP_yield;
}

static uint64_t walk_regions(async *x, const ct_op *op, uint64_t awaited)
{
    bool is_loop = ct_is_loop(op);
    uint64_t after = awaited;
    if (is_loop)
        after = awaited &= ~released_in(x, op);
    for (uint32_t i = 0; i < op->region_count && !x->failed; i++) {
        if (!op->regions[i])
            continue;
        uint64_t end = walk(x, op->regions[i], awaited);
        after &= is_loop || !falls_through(op->regions[i]) ? ~UINT64_C(0) : end;
    }
    return after;
}

/* Returns the rings that are awaited at the end of the block. */
static uint64_t walk(async *x, const ct_block *block, uint64_t awaited)
{
    for (const ct_op *op = block->first; op && !x->failed; op = op->next) {
        check_reads(x, op, awaited);
        if (op->opcode == CT_await)
            awaited |= bit_of(x, ct_ring_of(op));
        else if (moves_on(op))
            awaited &= ~bit_of(x, ct_ring_of(op));
        else if (op->region_count)
            awaited = walk_regions(x, op, awaited);
    }
    return awaited;
}

/* ---- products in flight ---- */

static bool check_flight(async *x, const ct_value *v);

/* Follows a value that a terminator passes on: for a `for`, to its argument and its result. */
static bool follow(async *x, const ct_use *use, const ct_value *targets)
{
    const ct_op *loop = use->op->block->parent;
    while (use->op->opcode == OP_continue && !ct_is_loop(loop))
        loop = loop->block->parent;
    bool is_result = use->op->opcode == OP_continue && loop->opcode == OP_for;
    return check_flight(x, &targets[use->index]) && (!is_result || check_flight(x, &loop->results[use->index]));
}

/* The argument that the initial value of a `for` becomes, or the result, if there is no iteration. 0: it is neither. */
static uint32_t started_with(const ct_use *use)
{
    uint32_t first = use->op->opcode == OP_for ? ct_for_inits(use->op).first : UINT32_MAX;
    return use->index >= first ? use->index - first + 1 : 0;
}

/* v is a product's result that may be in flight. The depth is bounded, because each value is visited once. */
static bool check_flight(async *x, const ct_value *v)
{
    enum { ACCUMULATOR = 2 };
    if (x->in_flight[v->id])
        return true;
    x->in_flight[v->id] = true;
    for (const ct_use *use = v->uses; use; use = use->next) {
        uint32_t count;
        const ct_value *targets = ct_targets(use->op, &count);
        bool in_chain = use->op->in_flight && use->op->in_place && use->index == ACCUMULATOR;
        uint32_t arg = started_with(use);
        if (targets && !follow(x, use, targets))
            return false;
        if (arg && !(check_flight(x, &use->op->regions[0]->args[arg]) && check_flight(x, &use->op->results[arg - 1])))
            return false;
        if (!targets && !arg && !in_chain && use->op->opcode != CT_mma_await)
            return ct_is_faulty(x->fault, use->op, "it reads a product that has not been awaited");
    }
    return true;
}

tv_status ct_verify_async(const ct_func *f, bc_arena *scratch, ct_fault *out_fault)
{
    async x = {.fault = out_fault, .in_flight = bc_new(scratch, bool, f->value_count + 1u)};
    if (!x.in_flight)
        return TV_NO_MEMORY;
    if (!find_rings(&x, f))
        return TV_INVALID;
    if (x.count)
        walk(&x, f->body, 0);
    for (const ct_op *op = f->body->first; op && !x.failed; op = ct_next_op(op, f->body))
        x.failed = op->in_flight && !check_flight(&x, &op->results[0]);
    return x.failed ? TV_INVALID : TV_OK;
}

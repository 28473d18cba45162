/* The skew pass overlaps two products of a loop if the second depends on the first (software pipelining), as in
   attention: S = Q K, P = softmax of S, O = O * a + P V. The second product is delayed by one iteration, so that both
   are in flight at once. It applies only to the consumers of a warp-specialised kernel (codegen/passes/groups.c), where
   the operands of each product have a ring of their own.

       for i, acc, ... {                        if first < end {
           await K; S = start Q K                   S = Q K of the first iteration, P, X from it
           release K                                for i from the second on, X, P, ... {
           P, X = ... S, acc ...                        await K; S = start Q K
           await V; acc' = X + P V                      await V; acc = start X + P V
           release V                                    wait for S; release K
       }                                                ... ops for X that read S
                                                        wait for acc; release V
                                                        P, X = ... S, acc ...
                                                    }
                                                    await V; acc = X + P V; release V
                                                }

   S may be the sum of several products, each of which adds to the one before (Q and K in K slices): all of them are
   started together, and their stages are released together. Stages that only this loop reads, such as those of Q, are
   released after the loop, before the last product begins; in persistent kernels the next Q is copied meanwhile. The
   index of a `staged` tile only identifies the load; the tile that is read is the next stage.

   By tcgen05, whose sums are in tensor memory, the first product runs an iteration ahead instead
   (codegen/rewrite/chains_ahead.c).

   Why it is right: every number is computed from the same operands as before, and each stage is released after its last
   reader. No product is in flight at the end of an iteration, because ptxas would wait for it there. */
#include "codegen/analysis/tensor.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/plan/loads.h"
#include "codegen/rewrite/chains_ahead.h"
#include "codegen/rewrite/pipeline.h"
#include "codegen/rewrite/ring.h"

typedef struct skewing {
    cg_func *c;
    ct_func *f;
    ct_op *loop;
    ct_block *body;
    ct_op *first, *second;        /* the products; of a sum of several, the last one */
    ct_op *summands[CG_SUMMANDS]; /* the products before the last one */
    uint32_t summand_count;
    uint32_t carried;  /* the carried value that the second product gives */
    bool *late;        /* by value id, for values of the body: it depends on the accumulator */
    bool *early;       /* the ops that depend on the accumulator need it */
    bool *second_only; /* it is the second product's right operand or a view of it */
    cg_scheduled *ops; /* in the order of the new body */
    uint32_t count;
} skewing;

/* ---- is it such a loop? ---- */

static bool is_pure(const ct_op *op)
{
    const bc_op_classes pure = BC_OPS(SAME) | BC_OPS(RESHAPE) | BC_OPS(MOVE) | BC_OPS(QUERY) | BC_OPS(PRODUCT)
                               | BC_OPS(FOLD) | BC_OPS(BRANCH);
    return ct_is_map(op) || bc_op_in(op->opcode, pure) || (bc_op_in(op->opcode, BC_OPS(TOKEN)) && !ct_info(op)->effects)
           || op->opcode == OP_continue || op->opcode == OP_yield || op->opcode == CT_await || op->opcode == CT_release
           || (op->opcode == CT_staged && !op->in_registers);
}

/* Does the op, a product, add to the sum of x->first? */
static bool adds_to_first(const skewing *x, const ct_op *op)
{
    const ct_use *use = x->first->results[0].uses;
    return use && !use->next && op->operands[2] == &x->first->results[0];
}

/* Records the next product of the body; false: the pattern has no place for it. */
static bool take_product(skewing *x, ct_op *op)
{
    if (x->first && !adds_to_first(x, op)) {
        x->second = op;
        return true;
    }
    if (x->first && x->summand_count == CG_SUMMANDS)
        return false;
    if (x->first)
        x->summands[x->summand_count++] = x->first;
    x->first = op;
    return true;
}

static bool find_products(skewing *x)
{
    for (ct_op *op = x->body->first; op; op = ct_next_op(op, x->body)) {
        if (!is_pure(op) || (op->opcode == OP_continue && op->block != x->body))
            return false;
        if (!cg_is_product(op))
            continue;
        if (x->second || op->block != x->body || !op->prev || op->prev->opcode != CT_await
            || op->next->opcode != CT_release || op->in_flight || cg_sums_in_tensor(x->c, op)
            || !cg_mma_is_async(x->c, op) || !take_product(x, op))
            return false;
    }
    return x->second && cg_product_before(x->second) == x->first;
}

/* Finds the accumulator: a carried value that only the second product updates. */
static bool find_accumulator(skewing *x)
{
    const ct_use *use = x->second->results[0].uses;
    if (!use || use->next || use->op != x->body->last)
        return false;
    x->carried = use->index;
    return x->body->args[x->carried + 1].type == x->second->operands[2]->type;
}

static bool is_made_inside(const skewing *x, const ct_value *v)
{
    return v->op && v->block == x->body;
}

static bool is_marked(const bool *set, const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (set[op->results[i].id])
            return true;
    return false;
}

/* Does the op, or an op in its regions, read a value of the set? */
static bool reads_marked(const bool *set, const ct_op *op)
{
    for (const ct_op *in = op; in; in = ct_next_within(in, op))
        for (uint32_t i = 0; i < in->operand_count; i++)
            if (set[in->operands[i]->id])
                return true;
    return false;
}

static void mark_results(bool *set, const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        set[op->results[i].id] = true;
}

/* Marks the values that depend on the accumulator; false: operands of the products do. */
static bool mark_late(skewing *x)
{
    x->late[x->body->args[x->carried + 1].id] = true;
    for (const ct_op *op = x->body->first; op != x->body->last; op = op->next) {
        if (!reads_marked(x->late, op))
            continue;
        if (op == x->first)
            return false;
        if (op != x->second)
            mark_results(x->late, op);
    }
    return !x->late[x->second->operands[0]->id] && !x->late[x->second->operands[1]->id];
}

/* Marks the values that the op reads if they can be computed in the body before the accumulator is available. */
static void mark_operands(skewing *x, const ct_op *op)
{
    for (const ct_op *in = op; in; in = ct_next_within(in, op))
        for (uint32_t i = 0; i < in->operand_count; i++) {
            const ct_value *v = in->operands[i];
            x->early[v->id] = x->early[v->id] || (is_made_inside(x, v) && !x->late[v->id]);
        }
}

/* Marks the values that the ops that depend on the accumulator need, from the last op to the first. */
static void mark_needed(skewing *x)
{
    for (const ct_op *op = x->body->last->prev; op; op = op->prev)
        if (op != x->second && (is_marked(x->early, op) || is_marked(x->late, op)))
            mark_operands(x, op);
}

/* Marks the second product's right operand and its views, back to the ring; false: another op reads it. */
static bool mark_right(skewing *x)
{
    for (const ct_value *v = x->second->operands[1];; v = v->op->operands[0]) {
        if (!is_made_inside(x, v) || !v->uses || v->uses->next)
            return false;
        x->second_only[v->id] = true;
        if (v->op->opcode == CT_staged)
            return true;
        if (!cg_is_seen(v->op))
            return false;
    }
}

/* ---- the schedule ---- */

static bool is_of_second(const skewing *x, const ct_op *op)
{
    return op == x->second || op == x->second->prev || op == x->second->next
           || (op->result_count && x->second_only[op->results[0].id]);
}

/* The sections of the body: the ops up to the first product; those after it that are needed early; the rest. */
typedef enum section { UP_TO_FIRST, EARLY, LATER } section;

static section section_of(const skewing *x, const ct_op *op, bool behind)
{
    return !behind ? UP_TO_FIRST : is_marked(x->early, op) && !is_marked(x->late, op) ? EARLY : LATER;
}

static bool is_release_of_first(const skewing *x, const ct_op *op)
{
    for (uint32_t i = 0; i < x->summand_count; i++)
        if (op == x->summands[i]->next)
            return true;
    return op == x->first->next;
}

static void add(skewing *x, ct_op *op, bool is_second)
{
    x->ops[x->count++] = (cg_scheduled){.op = op, .shift = is_second ? -1 : 0};
}

/* Adds the first stage's ops of a section. No op in front of the first product depends on the accumulator. */
static void add_section(skewing *x, section wanted)
{
    bool behind = false;
    for (ct_op *op = x->body->first; op != x->body->last; op = op->next) {
        bool is_late = !behind && is_marked(x->late, op);
        if (!is_of_second(x, op) && !is_release_of_first(x, op)
            && (is_late ? LATER : section_of(x, op, behind)) == wanted)
            add(x, op, false);
        behind = behind || op == x->first;
    }
}

/* The second product, its operand from the ring and its releases are a stage of their own, an iteration later than all
   other ops. */
static void schedule(skewing *x)
{
    add_section(x, UP_TO_FIRST);
    for (ct_op *op = x->body->first; op; op = op->next)
        if (op->result_count && x->second_only[op->results[0].id])
            add(x, op, true);
    add(x, x->second->prev, true);
    add(x, x->second, true);
    for (uint32_t i = 0; i < x->summand_count; i++)
        add(x, x->summands[i]->next, false);
    add(x, x->first->next, false);
    add_section(x, EARLY);
    add(x, x->second->next, true);
    add_section(x, LATER);
}

/* ---- the new loop ---- */

/* Waits, behind an op, until at most `others` later products are in flight. */
static void await(const skewing *x, ct_op *product, uint32_t others, ct_op *behind)
{
    cg_pending *pending = bc_new(x->f->arena, cg_pending, 1);
    if (!pending)
        return;
    pending->others = others;
    product->in_flight = true;
    cg_put_mma_await(x->c, &product->results[0], behind)->detail = pending;
}

/* Starts the products whose sum ends with the first one after the other, in the same registers. */
static void start_summands(const skewing *x)
{
    for (uint32_t i = 0; i < x->summand_count; i++) {
        x->summands[i]->in_flight = true;
        x->summands[i]->in_place = i != 0;
        x->first->in_place = true;
    }
}

/* Moves the releases of slots that only the loop reads from behind the original loop to the place before the last
   product, and to the branch without iterations: the next tiles can be copied meanwhile. */
static void move_releases(const skewing *x, const cg_pipelined *made)
{
    for (ct_op *op = made->guard->next, *next; op->opcode == CT_release && op->operand_count == 1; op = next) {
        next = op->next;
        cg_ring_put_behind(x->c, CT_release, op->operands[0], made->loop);
        cg_ring_put(x->c, CT_release, op->operands[0], made->guard->regions[1]->last);
        ct_remove(op);
    }
}

/* Does the loop mask what its first product gives? */
static bool has_masks(const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == OP_if || (op->opcode == OP_select && cg_shape_of(op->results[0].type).tile_bits))
            return true;
    return false;
}

/* May two warpgroups take turns at the products? Not if sums, and the operand that one product hands to the other,
   leave hardly any registers: ptxas then waits for each instruction of a product, so that a turn lasts as long as
   these, and the other warpgroup waits. Nor if products take little time. The other conditions were measured: turns do
   not pay where threads copy, or mask (docs/internals/codegen/warp-specialisation.md has the figures). */
static bool may_take_turns(const skewing *x, const ct_op *loop)
{
    const ct_value *const tiles[] = {&x->first->results[0], &x->second->results[0], x->second->operands[0]};
    const cg_machine *m = cg_machine_of(x->c->target);
    const double cycles = cg_async_cycles(x->c, x->first) * (x->summand_count + 1) + cg_async_cycles(x->c, x->second);
    uint32_t held = 0;
    for (size_t i = 0; i < TV_COUNT(tiles); i++)
        held += cg_words_of_thread(x->c, tiles[i]->type);
    return x->c->warp_bits == CG_WARPGROUP_BITS + 1 && x->first->way != CT_TURNED && x->second->way != CT_TURNED
           && x->c->groups->consumers >= held + (uint32_t)m->registers_loop && cycles >= m->turn_of_products
           && x->c->groups->by_maps && !has_masks(loop);
}

/* The products of an iteration are one turn of a warpgroup (codegen/ops/alternate.h). */
static void take_turns(const skewing *x, ct_op *loop)
{
    ct_op *start = x->summand_count ? x->summands[0] : x->first;
    if (!may_take_turns(x, loop))
        return;
    loop->turn = CT_HAS_TURNS;
    start->turn = CT_TAKES_TURN;
    x->second->turn = CT_GIVES_TURN;
}

/* Returns the op that replaces the loop; NULL: out of memory. */
static const ct_op *rewrite(skewing *x)
{
    ct_op *release = x->second->next;
    cg_pipelined made;
    schedule(x);
    x->second->in_place = true;
    if (!cg_pipeline(x->c, &(cg_schedule){.loop = x->loop, .ops = x->ops, .count = x->count}, &made))
        return NULL;
    start_summands(x);
    take_turns(x, made.loop);
    await(x, x->first, 1, x->second);
    await(x, x->second, 0, release->prev);
    move_releases(x, &made);
    return made.guard;
}

static bool begin(skewing *x)
{
    uint32_t count = x->f->value_count + 1u, ops = 0;
    for (const ct_op *op = x->body->first; op; op = op->next)
        ops++;
    x->ops = bc_new(x->f->arena, cg_scheduled, ops);
    x->late = bc_new(x->f->arena, bool, count);
    x->early = bc_new(x->f->arena, bool, count);
    x->second_only = bc_new(x->f->arena, bool, count);
    return x->ops && x->late && x->early && x->second_only;
}

/* Rewrites the loop if possible. Returns the op after the loop, or after the op that replaced it. */
static ct_op *look_at(cg_func *c, ct_op *loop)
{
    skewing x = {.c = c, .f = c->ir, .loop = loop, .body = loop->regions[0]};
    if (!find_products(&x) || !find_accumulator(&x))
        return ct_next_op(loop, c->ir->body);
    if (!begin(&x))
        return NULL;
    if (!mark_late(&x) || !mark_right(&x))
        return ct_next_op(loop, c->ir->body);
    mark_needed(&x);
    const ct_op *instead = rewrite(&x);
    return instead ? instead->next : NULL;
}

void cg_pass_skew(cg_func *c)
{
    if (c->groups)
        cg_run_chains_ahead(c);
    for (ct_op *op = c->groups ? c->ir->body->first : NULL; op && !c->failed;)
        op = op->opcode == OP_for ? look_at(c, op) : ct_next_op(op, c->ir->body);
}

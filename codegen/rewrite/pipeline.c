/* Expands software pipelines whose ops run ahead of the counter; see the header, and codegen/rewrite/pipeline_behind.c.
   The caller has shown that each op gives in its new place what it gave in the old one; what the expander adds is right
   by itself: an op ahead is executed once for each iteration for which it was executed: in front of the loop for the
   first `shift` ones, in iteration i for i + shift, and only if that iteration exists. What it takes of its iteration
   is computed again in front of it, from the counter, from outer values, and from what the loop carries. A result that
   other ops read is carried until its iteration comes. */
#include "codegen/rewrite/pipeline.h"

#include "codegen/rewrite/pipeline_behind.h"
#include "codegen/rewrite/ring.h"

typedef struct expansion {
    cg_func *c;
    ct_func *f;
    const cg_schedule *schedule;
    ct_op *loop;
    ct_block *body;
    ct_value **results; /* those that a step passes on */
    uint32_t result_count, shift;
    ct_op **first; /* the ops that give them in front of the loop, one for each of `shift` iterations; */
    ct_op *later;  /* and in it */
} expansion;

/* Ops of the schedule that are executed together. */
typedef struct step {
    const cg_scheduled *ops;
    uint32_t count;
} step;

static step step_at(const cg_schedule *s, uint32_t first)
{
    step out = {.ops = &s->ops[first], .count = 1};
    while (first + out.count < s->count && s->ops[first + out.count].place == out.ops->place)
        out.count++;
    return out;
}

/* ---- a step, for an iteration ---- */

/* Is the op's result passed on to its iteration? Results of ops without effects are computed again instead, except of
   products that run ahead. */
static bool is_passed_on(const ct_op *op)
{
    return op->result_count && (!ct_is_pure(op) || op->ahead);
}

static bool passes_on(const step *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->count; i++)
        any = any || is_passed_on(s->ops[i].op);
    return any;
}

/* Repeats an op of a ring: a copy, which is executed if its iteration exists, or a commit. What a copy needs stands in
   the step in front of it, or is carried, and its ring orders it. False: it is another op. */
static bool repeat_of_ring(const expansion *x, cg_iteration *it, const ct_op *op, ct_op *place)
{
    for (uint32_t i = 0; op->opcode == CT_copy && i < op->operand_count && !x->c->failed; i++)
        if (cg_is_carried(op->operands[i], x->body) && op->operands[i]->type->kind != BC_TOKEN)
            cg_iteration_value(x->c, it, op->operands[i], place);
    if (op->opcode == CT_copy)
        cg_put_copy(x->c, op->detail, op->operands[op->from->operand_count], it, it->exists, place);
    else if (op->opcode == CT_commit)
        cg_ring_put(x->c, CT_commit, op->operands[0], place);
    else
        return false;
    return true;
}

/* Repeats the ops of the step in front of `place`, which is a yield if they pass on results. */
static void repeat_ops(const expansion *x, const step *s, cg_iteration *it, ct_op *place)
{
    uint32_t next = 0;
    for (uint32_t k = 0; k < s->count && !x->c->failed; k++) {
        const ct_op *op = s->ops[k].op;
        if (repeat_of_ring(x, it, op, place))
            continue;
        for (uint32_t i = 0; i < op->operand_count && !x->c->failed; i++)
            cg_iteration_value(x->c, it, op->operands[i], place);
        const ct_op *made = x->c->failed ? NULL : cg_iteration_repeat(x->c, it, op, place);
        for (uint32_t i = 0; made && is_passed_on(op) && i < op->result_count; i++)
            ct_set_operand(place, next++, &made->results[i]);
    }
}

/* Passes on placeholders, which no op reads, in front of the yield. */
static void pass_nothing(const expansion *x, ct_op *yield)
{
    for (uint32_t i = 0; i < x->result_count; i++) {
        const ct_value *v = x->results[i];
        ct_op *op = v->type->kind == BC_TOKEN ? ct_token_new(x->f, v->op, v->type)
                                              : ct_constant_new(x->f, v->op, v->type, 0);
        if (!op)
            return;
        op->results[0].fact = v->fact;
        ct_insert_before(op, yield);
        ct_set_operand(yield, i, &op->results[0]);
    }
}

static ct_op *put_yield(const expansion *x, ct_block *block)
{
    ct_op *op = ct_op_like(x->f, OP_yield, x->loop, x->result_count, 0, 0);
    if (op)
        ct_append(block, op);
    return op;
}

/* Creates a branch, in front of `place`, whose results are those of the step if the iteration exists. NULL: out of
   memory. */
static ct_op *put_branch(const expansion *x, const step *s, cg_iteration *it, ct_op *place)
{
    ct_op *op = ct_if_new(x->f, x->loop, it->exists, x->result_count), *yield = NULL, *otherwise = NULL;
    if (op) {
        ct_insert_before(op, place);
        for (uint32_t i = 0; i < x->result_count; i++)
            ct_be_like(&op->results[i], x->results[i]);
        yield = put_yield(x, op->regions[0]);
        otherwise = put_yield(x, op->regions[1]);
    }
    if (!yield || !otherwise)
        return NULL;
    repeat_ops(x, s, it, yield);
    pass_nothing(x, otherwise);
    return op;
}

/* In rings of threads, the copies up to a commit are jumped over where their iteration does not exist. */
static void let_jump(const step *s, const cg_iteration *it)
{
    const ct_op *last = s->ops[s->count - 1].op;
    cg_ring *ring = last->opcode == CT_commit ? cg_ring_of(last, 0) : NULL;
    if (ring && ring->role == CG_RING_OF_THREADS)
        ((cg_distance *)it->later->detail)->ring = ring;
}

/* Inserts the step, for the iteration n after the one of `start`, in front of `place`. before: the
   current iteration; NULL: it is in front of the loop. Returns the op that gives its results, if it
   passes some on; NULL also if out of memory. */
static ct_op *put_step(const expansion *x, const step *s, ct_value *start, uint32_t n, cg_iteration *before,
                       ct_op *place)
{
    cg_iteration it;
    if (x->c->failed || !cg_iteration_at(x->c, x->loop, start, n, place, &it))
        return NULL;
    it.before = before;
    if (x->schedule->allow)
        ct_add_operands(x->f, it.later, &(ct_value *){x->schedule->allow}, 1);
    if (passes_on(s))
        return put_branch(x, s, &it, place);
    let_jump(s, &it);
    repeat_ops(x, s, &it, place);
    return NULL;
}

/* ---- the loop ---- */

/* Lists the results that a step passes on. */
static bool find_results(expansion *x)
{
    const cg_schedule *s = x->schedule;
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->count; i++)
        most += s->ops[i].op->result_count;
    if (!(x->results = bc_new(x->f->arena, ct_value *, most + 1u)))
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t r = 0; is_passed_on(s->ops[i].op) && r < s->ops[i].op->result_count; r++) {
            x->results[x->result_count++] = &s->ops[i].op->results[r];
            x->shift = (uint32_t)s->ops[i].shift;
        }
    x->first = bc_new(x->f->arena, ct_op *, x->shift + 1u);
    return x->first;
}

/* Inserts the steps in front of the loop, iteration by iteration. In each, those that run further ahead come first. */
static void put_prologue(const expansion *x)
{
    const cg_schedule *s = x->schedule;
    int32_t most = 0;
    for (uint32_t i = 0; i < s->count; i++)
        most = s->ops[i].shift > most ? s->ops[i].shift : most;
    for (int32_t n = 0; n < most; n++)
        for (int32_t shift = most; shift > n; shift--)
            for (uint32_t i = 0; i < s->count;) {
                step at = step_at(s, i);
                i += at.count;
                ct_op *gives =
                    at.ops->shift == shift ? put_step(x, &at, x->loop->operands[0], (uint32_t)n, NULL, x->loop) : NULL;
                if (gives)
                    x->first[n] = gives;
            }
}

static void put_in_body(expansion *x)
{
    for (uint32_t i = 0; i < x->schedule->count && !x->c->failed;) {
        step at = step_at(x->schedule, i);
        cg_iteration now = {.loop = x->loop};
        i += at.count;
        if (!ct_map_new(x->f, &now.map))
            return;
        ct_op *gives = put_step(x, &at, &x->body->args[0], (uint32_t)at.ops->shift, &now, at.ops->place);
        x->later = gives ? gives : x->later;
    }
}

/* Moves the body to a new loop that carries `more` values besides, and that replaces the loop. False: out of memory. */
static bool carry_more(expansion *x, uint32_t more)
{
    ct_op *old = x->loop, *loop = ct_for_like(x->f, old, more);
    if (!loop)
        return false;
    ct_block *block = loop->regions[0];
    loop->detail = old->detail;
    for (uint32_t i = 0; i < old->result_count; i++)
        ct_replace_uses(&old->results[i], &loop->results[i]);
    for (uint32_t i = 0; i < x->body->arg_count; i++)
        ct_replace_uses(&x->body->args[i], &block->args[i]);
    ct_insert_before(loop, old);
    ct_move_all(x->body, block, loop);
    ct_remove(old);
    x->loop = loop;
    x->body = block;
    return true;
}

/* Has the loop carry the results until their iteration comes, where they replace those of the original ops. False: out
   of memory. */
static bool pass_on(expansion *x)
{
    uint32_t had = x->loop->result_count, count = x->result_count, more = x->shift * count;
    ct_value **next = bc_new(x->f->arena, ct_value *, more + 1u);
    if (!next || !carry_more(x, more))
        return false;
    ct_value *args = &x->body->args[had + 1];
    for (uint32_t i = 0; i < more; i++) {
        ct_be_like(&args[i], x->results[i % count]);
        ct_be_like(&x->loop->results[had + i], x->results[i % count]);
        ct_set_operand(x->loop, ct_for_inits(x->loop).first + had + i, &x->first[i / count]->results[i % count]);
        next[i] = i + count < more ? &args[i + count] : &x->later->results[i % count];
    }
    for (uint32_t i = 0; i < count; i++)
        ct_replace_uses(x->results[i], &args[i]);
    return ct_add_operands(x->f, x->body->last, next, more);
}

/* Removes the originals of ops that are executed for another iteration only, and ops that only their results needed. */
static void remove_originals(const expansion *x)
{
    for (uint32_t i = 0; i < x->schedule->count; i++)
        if (!ct_is_pure(x->schedule->ops[i].op) || x->schedule->ops[i].op->ahead)
            ct_remove(x->schedule->ops[i].op);
    for (ct_op *op = x->body->last, *before; op && x->result_count; op = before) {
        bool used = !ct_is_pure(op) || !op->result_count;
        before = op->prev;
        for (uint32_t i = 0; i < op->result_count; i++)
            used = used || op->results[i].uses;
        if (!used)
            ct_remove(op);
    }
}

static void run_ahead(expansion *x)
{
    bool made = find_results(x);
    if (made) {
        put_prologue(x);
        put_in_body(x);
    }
    if (!made || (!x->c->failed && x->result_count && !pass_on(x)))
        cg_no_memory(x->c);
    if (!x->c->failed)
        remove_originals(x);
}

bool cg_pipeline(cg_func *c, const cg_schedule *schedule, cg_pipelined *out)
{
    expansion x = {
        .c = c, .f = c->ir, .schedule = schedule, .loop = schedule->loop, .body = schedule->loop->regions[0]};
    bool is_ahead = schedule->ops[0].place;
    *out = (cg_pipelined){0};
    if (is_ahead)
        run_ahead(&x);
    else if (!cg_pipeline_behind(c, schedule, out))
        cg_no_memory(c);
    out->loop = is_ahead ? x.loop : out->loop;
    return !c->failed;
}

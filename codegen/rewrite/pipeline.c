/* Expands software pipelines whose ops run ahead of the counter; see the header, and codegen/rewrite/pipeline_behind.c.
   The caller has shown that each op gives in its new place what it gave in the old one; what the expander adds is right
   by itself: an op ahead is executed once for each iteration for which it was executed: in front of the loop for the
   first `shift` ones, in iteration i for i + shift, and only if that iteration exists. What it takes of its iteration
   is computed again in front of it, from the counter, from outer values, and from what the loop carries. A result that
   other ops read is carried until its iteration comes. */
#include "codegen/rewrite/pipeline.h"

#include "codegen/kernel/limits.h"
#include "codegen/rewrite/pipeline_behind.h"
#include "codegen/rewrite/ring.h"

/* Ops of the schedule that are executed together. */
typedef struct step {
    const cg_scheduled *ops;
    uint32_t count, shift;
    ct_value **results; /* those that it passes on */
    uint32_t result_count;
    uint32_t last; /* they are carried until the iteration that is so many before theirs */
    uint32_t at;   /* the first carried value that holds them: those of the nearest iteration, then of the next one */
    ct_op **first; /* the ops that give them in front of the loop, one for each of `shift` iterations; */
    ct_op *later;  /* and in it */
} step;

typedef struct expansion {
    cg_func *c;
    ct_func *f;
    const cg_schedule *schedule;
    step *steps;
    uint32_t count, had; /* had: values that the loop carries already */
    ct_op *loop;
    ct_block *body;
} expansion;

/* ---- a step, for an iteration ---- */

/* Is the op's result passed on to its iteration? Results of ops without effects are computed again instead. */
static bool is_passed_on(const ct_op *op)
{
    return op->result_count && !ct_is_pure(op);
}

/* Repeats an op of a ring: a copy, which is executed if its iteration exists, or a commit. What a copy needs stands in
   the step in front of it, and its ring orders it. False: it is another op. */
static bool repeat_of_ring(const expansion *x, const cg_iteration *it, const ct_op *op, ct_op *place)
{
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
static void pass_nothing(const expansion *x, const step *s, ct_op *yield)
{
    for (uint32_t i = 0; i < s->result_count; i++) {
        const ct_value *v = s->results[i];
        ct_op *op = v->type->kind == BC_TOKEN ? ct_token_new(x->f, v->op, v->type)
                                              : ct_constant_new(x->f, v->op, v->type, 0);
        if (!op) {
            cg_no_memory(x->c);
            return;
        }
        op->results[0].fact = v->fact;
        ct_insert_before(op, yield);
        ct_set_operand(yield, i, &op->results[0]);
    }
}

static ct_op *put_yield(const expansion *x, ct_block *block, uint32_t count)
{
    ct_op *op = ct_op_like(x->f, OP_yield, x->loop, count, 0, 0);
    if (op)
        ct_append(block, op);
    return op;
}

/* Creates a branch, in front of `place`, whose results are those of the step if the iteration exists. NULL: out of
   memory. */
static ct_op *put_branch(const expansion *x, const step *s, cg_iteration *it, ct_op *place)
{
    ct_op *op = ct_if_new(x->f, x->loop, it->exists, s->result_count), *yield = NULL, *otherwise = NULL;
    if (op) {
        ct_insert_before(op, place);
        for (uint32_t i = 0; i < s->result_count; i++)
            ct_be_like(&op->results[i], s->results[i]);
        yield = put_yield(x, op->regions[0], s->result_count);
        otherwise = put_yield(x, op->regions[1], s->result_count);
    }
    if (!yield || !otherwise) {
        cg_no_memory(x->c);
        return NULL;
    }
    repeat_ops(x, s, it, yield);
    pass_nothing(x, s, otherwise);
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

/* Gives the iteration the results of steps that run further ahead. inside: n is counted from the current iteration, and
   the loop carries them. */
static void take_results(const expansion *x, const step *by, uint32_t n, bool inside, cg_iteration *it)
{
    for (const step *s = x->steps; s < &x->steps[x->count]; s++)
        for (uint32_t i = 0; i < s->result_count && s->shift > by->shift && n < s->shift; i++)
            if (!inside && s->first[n])
                ct_map_set(&it->map, s->results[i], &s->first[n]->results[i]);
            else if (inside && n >= s->last)
                ct_map_set(&it->map, s->results[i], &x->body->args[s->at + (n - s->last) * s->result_count + i + 1]);
}

/* Inserts the step, for the iteration n after the one of `start`, in front of `place`. before: in the loop, the current
   iteration, which passes values on to the next one; NULL: in front of the loop. Returns the op that gives its results,
   if it passes some on; NULL also if out of memory. */
static ct_op *put_step(const expansion *x, const step *s, ct_value *start, uint32_t n, cg_iteration *before,
                       ct_op *place)
{
    cg_iteration it;
    bc_range inits = ct_for_inits(x->loop);
    if (x->c->failed || !cg_iteration_at(x->c, x->loop, start, n, place, &it))
        return NULL;
    it.before = before;
    it.carried = x->had;
    for (uint32_t i = 0; !before && i < x->had; i++)
        ct_map_set(&it.map, &x->body->args[i + 1], x->loop->operands[inits.first + i]);
    take_results(x, s, n, before, &it);
    if (x->schedule->allow && !ct_add_operands(x->f, it.later, &(ct_value *){x->schedule->allow}, 1))
        cg_no_memory(x->c);
    if (s->result_count)
        return put_branch(x, s, &it, place);
    let_jump(s, &it);
    repeat_ops(x, s, &it, place);
    return NULL;
}

/* ---- the loop ---- */

/* Is the value read in its own iteration? What only names a tile, which a ring has by then, does not read it. */
static bool is_read(const expansion *x, const ct_value *v, uint32_t depth)
{
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_op *op = use->op;
        bool moves = op->opcode == CT_staged;
        for (uint32_t i = 0; i < x->schedule->count && !moves; i++)
            moves = x->schedule->ops[i].op == op && !ct_is_pure(op);
        if (!moves
            && (!depth || op->block != x->body || !cg_is_slice_op(op, true) || is_read(x, &op->results[0], depth - 1)))
            return true;
    }
    return false;
}

/* Finds the results that the step passes on, and how long the loop carries them: until their iteration comes if they
   are read there, otherwise until the nearest iteration for which another step runs. */
static bool find_results(const expansion *x, step *s)
{
    uint32_t most = 0;
    bool read = false;
    for (uint32_t i = 0; i < s->count; i++)
        most += s->ops[i].op->result_count;
    s->results = bc_new(x->f->arena, ct_value *, most + 1u);
    s->first = bc_new(x->f->arena, ct_op *, s->shift + 1u);
    if (!s->results || !s->first)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t r = 0; is_passed_on(s->ops[i].op) && r < s->ops[i].op->result_count; r++) {
            s->results[s->result_count++] = &s->ops[i].op->results[r];
            read = read || is_read(x, &s->ops[i].op->results[r], CG_SLICE_DEPTH);
        }
    s->last = s->shift;
    for (uint32_t i = 0; i < x->count; i++)
        s->last = x->steps[i].shift < s->last ? x->steps[i].shift : s->last;
    s->last = read || s->last == s->shift ? 0 : s->last;
    return true;
}

/* Divides the schedule into steps. */
static bool find_steps(expansion *x)
{
    const cg_schedule *all = x->schedule;
    x->steps = bc_new(x->f->arena, step, all->count + 1u);
    for (uint32_t i = 0; i < all->count && x->steps; i++) {
        if (!i || all->ops[i].place != all->ops[i - 1].place)
            x->steps[x->count++] = (step){.ops = &all->ops[i], .shift = (uint32_t)all->ops[i].shift};
        x->steps[x->count - 1].count++;
    }
    bool found = x->steps;
    for (uint32_t i = 0; i < x->count && found; i++)
        found = find_results(x, &x->steps[i]);
    return found;
}

/* Inserts the steps in front of the loop, iteration by iteration. In each, those that run further ahead come first. */
static void put_prologue(const expansion *x)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < x->count; i++)
        most = x->steps[i].shift > most ? x->steps[i].shift : most;
    for (uint32_t n = 0; n < most; n++)
        for (uint32_t shift = most; shift > n; shift--)
            for (step *s = x->steps; s < &x->steps[x->count]; s++)
                if (s->shift == shift)
                    s->first[n] = put_step(x, s, x->loop->operands[0], n, NULL, x->loop);
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

/* The values of the step's results that the loop carries. */
static uint32_t carried_of(const step *s)
{
    return (s->shift - s->last) * s->result_count;
}

/* Has the loop carry the results of all steps. False: out of memory. */
static bool carry_results(expansion *x)
{
    uint32_t more = 0;
    for (step *s = x->steps; s < &x->steps[x->count]; s++) {
        s->at = x->had + more;
        more += carried_of(s);
    }
    if (more && !carry_more(x, more))
        return false;
    for (const step *s = x->steps; s < &x->steps[x->count]; s++)
        for (uint32_t i = 0; i < carried_of(s); i++) {
            uint32_t n = s->last + i / s->result_count, r = i % s->result_count;
            ct_be_like(&x->body->args[s->at + i + 1], s->results[r]);
            ct_be_like(&x->loop->results[s->at + i], s->results[r]);
            ct_set_operand(x->loop, ct_for_inits(x->loop).first + s->at + i, &s->first[n]->results[r]);
        }
    return true;
}

static void put_in_body(const expansion *x)
{
    for (step *s = x->steps; s < &x->steps[x->count] && !x->c->failed; s++) {
        cg_iteration now = {.loop = x->loop};
        if (ct_map_new(x->f, &now.map))
            s->later = put_step(x, s, &x->body->args[0], s->shift, &now, s->ops->place);
        else
            cg_no_memory(x->c);
    }
}

/* Passes the step's results on to the next iteration, and has them read from where the loop carries them. False: out
   of memory. */
static bool pass_on(const expansion *x, const step *s)
{
    uint32_t count = s->result_count, all = carried_of(s);
    ct_value **next = bc_new(x->f->arena, ct_value *, all + 1u), *args = &x->body->args[s->at + 1];
    for (uint32_t i = 0; i < all && next; i++)
        next[i] = i + count < all ? &args[i + count] : &s->later->results[i % count];
    for (uint32_t i = 0; i < count; i++)
        ct_replace_uses(s->results[i], &args[i]);
    return next && ct_add_operands(x->f, x->body->last, next, all);
}

/* Removes the originals of ops that are executed for another iteration only, and ops that only their results needed. */
static void remove_originals(const expansion *x)
{
    bool passes = false;
    for (uint32_t i = 0; i < x->schedule->count; i++)
        if (!ct_is_pure(x->schedule->ops[i].op)) {
            passes = passes || x->schedule->ops[i].op->result_count;
            ct_remove(x->schedule->ops[i].op);
        }
    for (ct_op *op = x->body->last, *before; op && passes; op = before) {
        bool used = !ct_is_pure(op) || !op->result_count;
        before = op->prev;
        for (uint32_t i = 0; i < op->result_count; i++)
            used = used || op->results[i].uses;
        if (!used)
            ct_remove(op);
    }
}

/* False: out of memory. */
static bool run_ahead(expansion *x)
{
    if (!find_steps(x))
        return false;
    put_prologue(x);
    if (x->c->failed || !carry_results(x))
        return false;
    put_in_body(x);
    for (uint32_t i = 0; i < x->count && !x->c->failed; i++)
        if (x->steps[i].result_count && !pass_on(x, &x->steps[i]))
            return false;
    if (!x->c->failed)
        remove_originals(x);
    return true;
}

bool cg_pipeline(cg_func *c, const cg_schedule *schedule, cg_pipelined *out)
{
    expansion x = {.c = c,
                   .f = c->ir,
                   .schedule = schedule,
                   .loop = schedule->loop,
                   .body = schedule->loop->regions[0],
                   .had = schedule->loop->result_count};
    bool is_ahead = schedule->ops[0].place;
    *out = (cg_pipelined){0};
    if (!(is_ahead ? run_ahead(&x) : cg_pipeline_behind(c, schedule, out)))
        cg_no_memory(c);
    out->loop = is_ahead ? x.loop : out->loop;
    return !c->failed;
}

/* Prefetches loads into registers if they cannot use a ring in shared memory, because their accesses are short, their
   elements are scattered, or their pointers are carried. The loop loads the tile of the next iteration before it
   computes with the current one, which it carries:

       for i = first to end step {              %f, %is = later first, end, step {0}
         ...                                    %t0 = if %is { load of %f; yield } else { yield 0 }
         %t = load                              for i = first to end step, %t = %t0 {
         ... uses of %t ...               =>      %j, %more = later i, end, step {1}
       }                                          %next = if %more { load of %j; yield } else { yield 0 }
                                                  ... uses of %t ...
                                                  continue %next
                                                }

   The operands of the load are computed again for the next iteration: from its counter, and from carried values, for
   which the values that this iteration passes on are used if they can be computed at its head. A load that provides the
   address of another one is prefetched two iterations ahead, so that its result is available when the other one starts.
   The loads pass plans this, and the expand pass carries it out, after loops have their rings. Why it is right: %more
   is the condition of the loop, so that no load is executed that the kernel does not execute, and
   codegen/passes/early_find.c decides which loads may be moved. */
#include "codegen/passes/early.h"

#include "codegen/facts/facts.h"
#include "codegen/kernel/remarks.h"
#include "codegen/rewrite/iteration.h"
#include "codegen/rewrite/sources.h"
#include "codegen/tile/build.h"

/* ---- loads of another iteration ---- */

typedef struct early {
    cg_func *c;
    ct_func *f;
    ct_op *loop, **loads;
    ct_block *body;
    uint32_t count, results; /* loads; all their results */
    uint32_t distance;       /* iterations */
} early;

/* The value of v in the iteration that the map describes, in front of `place`. Ops that the map does not have yet
   are copied; carried values come from the values that this iteration passes on, whose copies are in `now`. NULL:
   out of memory. */
static ct_value *make(const early *x, ct_map *map, ct_map *now, ct_value *v, ct_op *place)
{
    ct_value *to = v->id < map->count ? map->to[v->id] : NULL;
    if (to || !ct_is_inside(v->block, x->body))
        return to ? to : v;
    if (v->type->kind == BC_TOKEN) {
        to = cg_token_at(x->c, x->loop, x->loads[0], v->type, place);
    } else if (!v->op)
        to = now ? make(x, now, NULL, x->body->last->operands[v->number - 1], place) : v;
    else {
        for (uint32_t i = 0; i < v->op->operand_count; i++)
            if (!make(x, map, now, v->op->operands[i], place))
                return NULL;
        ct_op *op = ct_clone(x->f, v->op, map);
        if (op)
            ct_insert_before(op, place);
        return op ? map->to[v->id] : NULL;
    }
    if (to)
        ct_map_set(map, v, to);
    return to;
}

static ct_op *new_yield(const early *x, ct_block *block)
{
    ct_op *op = ct_op_like(x->f, OP_yield, x->loop, x->results, 0, 0);
    if (op)
        ct_append(block, op);
    return op;
}

/* Inserts copies of all loads, with operands from the map. */
static bool put_loads(const early *x, ct_block *block, ct_map *map, ct_map *now)
{
    ct_op *yield = new_yield(x, block);
    uint32_t next = 0;
    for (uint32_t l = 0; l < x->count && yield; l++) {
        for (uint32_t i = 0; i < x->loads[l]->operand_count; i++)
            if (!make(x, map, now, x->loads[l]->operands[i], yield))
                return false;
        ct_op *op = ct_clone(x->f, x->loads[l], map);
        if (!op)
            return false;
        op->detail = NULL;
        ct_insert_before(op, yield);
        for (uint32_t i = 0; i < op->result_count; i++)
            ct_set_operand(yield, next++, &op->results[i]);
    }
    return yield != NULL;
}

/* Inserts placeholder values, which are never read. */
static bool put_nothing(const early *x, ct_block *block)
{
    ct_op *yield = new_yield(x, block);
    uint32_t next = 0;
    for (uint32_t l = 0; l < x->count && yield; l++)
        for (uint32_t i = 0; i < x->loads[l]->result_count; i++) {
            const ct_value *v = &x->loads[l]->results[i];
            ct_op *op = v->type->kind == BC_TOKEN ? ct_token_new(x->f, x->loads[l], v->type)
                                                  : ct_constant_new(x->f, x->loads[l], v->type, 0);
            if (!op)
                return false;
            op->results[0].fact = v->fact;
            ct_insert_before(op, yield);
            ct_set_operand(yield, next++, &op->results[0]);
        }
    return yield != NULL;
}

/* Sets the types and facts of the values, in order, to those of the loads' results. */
static void be_like_loads(const early *x, ct_value *to)
{
    for (uint32_t l = 0; l < x->count; l++)
        for (uint32_t i = 0; i < x->loads[l]->result_count; i++, to++) {
            ct_be_like(to, &x->loads[l]->results[i]);
            to->apart = ((const cg_early_plan *)x->loads[l]->detail)->apart;
        }
}

/* Inserts, in front of `place`, the loads for the iteration n after the one of `start`, executed if that iteration
   exists. carried: the carried values at that start; NULL: those that the current iteration passes on. Returns the
   op with the loads' results; NULL: out of memory. */
static ct_op *put_branch(const early *x, ct_value *start, uint32_t n, ct_value *const *carried, ct_op *place)
{
    ct_map now;
    cg_iteration it;
    ct_op *op = cg_iteration_at(x->c, x->loop, start, n, place, &it) ? ct_if_new(x->f, x->loop, it.exists, x->results)
                                                                     : NULL;
    if (!op || !ct_map_new(x->f, &now))
        return NULL;
    for (uint32_t i = 1; carried && i < x->body->arg_count; i++)
        ct_map_set(&it.map, &x->body->args[i], carried[i - 1]);
    ct_insert_before(op, place);
    be_like_loads(x, op->results);
    return put_loads(x, op->regions[0], &it.map, carried ? NULL : &now) && put_nothing(x, op->regions[1]) ? op : NULL;
}

/* ---- the loop ---- */

/* Creates the loop that also carries the loads' results; first[n] has those of iteration n. NULL: out of memory. */
static ct_op *put_loop(const early *x, ct_op *const *first)
{
    uint32_t had = x->body->arg_count - 1, at = ct_for_inits(x->loop).first;
    ct_op *loop = ct_for_like(x->f, x->loop, x->distance * x->results);
    if (!loop)
        return NULL;
    ct_block *block = loop->regions[0];
    loop->detail = x->loop->detail;
    for (uint32_t n = 0; n < x->distance; n++) {
        be_like_loads(x, &block->args[had + n * x->results + 1]);
        be_like_loads(x, &loop->results[had + n * x->results]);
    }
    for (uint32_t i = 0; i < had; i++)
        ct_replace_uses(&x->loop->results[i], &loop->results[i]);
    for (uint32_t i = 0; i < x->distance * x->results; i++)
        ct_set_operand(loop, at + had + i, &first[i / x->results]->results[i % x->results]);
    ct_insert_before(loop, x->loop);
    for (uint32_t i = 0; i < x->body->arg_count; i++)
        ct_replace_uses(&x->body->args[i], &block->args[i]);
    ct_move_all(x->body, block, loop);
    ct_remove(x->loop);
    return loop;
}

/* Removes ops that only the moved loads used. */
static void drop_unused(ct_block *body)
{
    for (ct_op *op = body->last, *before; op; op = before) {
        bool used = !ct_is_pure(op);
        before = op->prev;
        for (uint32_t i = 0; i < op->result_count; i++)
            used = used || op->results[i].uses;
        if (!used && op->result_count)
            ct_remove(op);
    }
}

/* Replaces uses of the loads by uses of the carried values, from argument `at` on. */
static void take_carried(const early *x, ct_op *loop, uint32_t at)
{
    for (uint32_t l = 0; l < x->count; l++) {
        for (uint32_t i = 0; i < x->loads[l]->result_count; i++)
            ct_replace_uses(&x->loads[l]->results[i], &loop->regions[0]->args[at++]);
        ct_remove(x->loads[l]);
    }
    drop_unused(loop->regions[0]);
}

/* Extends the values that an iteration passes on by the loaded tiles for later iterations. */
static bool hand_on(const early *x, ct_op *loop, uint32_t at, ct_op *loaded)
{
    uint32_t kept = (x->distance - 1) * x->results;
    ct_block *body = loop->regions[0];
    ct_value **next = bc_new(x->f->arena, ct_value *, kept + x->results);
    for (uint32_t i = 0; next && i < kept + x->results; i++)
        next[i] = i < kept ? &body->args[at + x->results + i] : &loaded->results[i - kept];
    return next && ct_add_operands(x->f, body->last, next, kept + x->results);
}

/* Returns the rewritten loop. */
static ct_op *rotate(const early *x)
{
    enum { MOST_DISTANCE = 2 };
    uint32_t inits = ct_for_inits(x->loop).first, had = x->body->arg_count;
    ct_op *first[MOST_DISTANCE], *later, *loop = NULL;
    bool made = true;
    for (uint32_t n = 0; n < x->distance; n++)
        made = made && (first[n] = put_branch(x, x->loop->operands[0], n, x->loop->operands + inits, x->loop));
    if (made && (later = put_branch(x, &x->body->args[0], x->distance, NULL, x->body->first)))
        loop = put_loop(x, first);
    if (!loop || !hand_on(x, loop, had, later)) {
        cg_no_memory(x->c);
        return x->loop;
    }
    take_carried(x, loop, had);
    return loop;
}

/* ---- which ---- */

/* The registers that prefetched loads use, and those that other tiles use. */
typedef struct purse {
    uint32_t used, held;
} purse;

static bool pay(purse *w, const cg_early_row *row, const cg_early_plan *p)
{
    uint32_t want = w->used + p->distance * p->registers;
    bool fits = want <= row->most && want + w->held <= row->all;
    w->used = fits ? want : w->used;
    return fits;
}

static void tell(const cg_func *c, const ct_op *load, const cg_early_row *row, const purse *w)
{
    const cg_early_plan *p = load->detail;
    cg_remark(c, load, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
              "loaded ahead: {Iterations=%u} iterations, into {Registers=%u} of {Most=%u} registers, with {Held=%u} "
              "for other tiles, because {Why=%s}",
              p->distance, p->distance * p->registers, row->most, w->held, p->why);
}

/* Chooses the loads that are prefetched at this distance, as long as registers are left; every load gets a remark. */
static void choose_loads(early *x, purse *w)
{
    for (ct_op *op = x->body->first; op; op = op->next) {
        cg_early_plan *p = ct_is_load(op) ? op->detail : NULL;
        if (!p || p->distance != x->distance)
            continue;
        const cg_early_row *row = cg_early_row_of(cg_early_kind_of(x->c, x->body, op, p));
        const char *why = cg_early_obstacle(x->c, x->body, op, p); /* groups or skew may have rewritten it */
        if (!why && pay(w, row, p)) {
            x->loads[x->count++] = op;
            x->results += op->result_count;
            tell(x->c, op, row, w);
        } else {
            cg_early_tell_why_not(x->c, op, p->why, why ? why : row->why);
            op->detail = NULL;
        }
    }
}

static uint32_t planned_in(const ct_block *body)
{
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = op->next)
        count += ct_is_load(op) && op->detail;
    return count;
}

ct_op *cg_load_early(cg_func *c, ct_op *loop)
{
    uint32_t planned = planned_in(loop->regions[0]);
    if (!planned)
        return loop;
    purse w = {.held = cg_early_held(c, loop->regions[0])};
    for (uint32_t distance = 2; distance > 0 && !c->failed; distance--) {
        early x = {.c = c, .f = c->ir, .loop = loop, .body = loop->regions[0], .distance = distance};
        x.loads = bc_new(&c->arena, ct_op *, planned);
        if (!x.loads) {
            cg_no_memory(c);
            return loop;
        }
        choose_loads(&x, &w);
        loop = x.count ? rotate(&x) : loop;
    }
    return loop;
}

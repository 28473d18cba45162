/* Checks the result of the sync pass; see the header. The ops are turned into a list of effects and jumps, in the order
   of the instructions; from each effect that other threads can observe later, all paths are followed to the first
   barrier, and from each write to the first fence. */
#include "codegen/check/check.h"
#include "codegen/kernel/groups.h"
#include "codegen/values/effects.h"

typedef enum step_kind {
    EFFECT,
    GO,     /* continue at the label */
    MAY_GO, /* continue there or here */
    TURN,   /* the loop with that body begins its next iteration */
    TRIP,   /* there or here: the next strip of the loop with that body, with other elements */
    STOP
} step_kind;

typedef struct step {
    step_kind kind;
    uint32_t label;
    const cg_effect *effect;
    const ct_block *body;
} step;

typedef struct around {
    const struct around *outer;
    uint32_t next, behind; /* labels */
} around;

typedef struct program {
    step *steps;
    uint32_t *labels; /* the step in front of which each label is */
    uint32_t count, label_count;
    const around *loop;
} program;

/* ---- steps ---- */

static void put(program *p, step s)
{
    p->steps[p->count++] = s;
}

static uint32_t new_label(program *p)
{
    return p->label_count++;
}

static void place(program *p, uint32_t label)
{
    p->labels[label] = p->count;
}

static void put_block(program *p, const ct_block *block);

static void put_loop(program *p, const ct_op *op)
{
    around here = {.outer = p->loop, .next = new_label(p), .behind = new_label(p)};
    uint32_t head = new_label(p);
    bool counts = op->opcode == OP_for;
    p->loop = &here;
    if (counts)
        put(p, (step){.kind = MAY_GO, .label = here.behind});
    place(p, head);
    put_block(p, op->regions[0]);
    place(p, here.next);
    if (counts)
        put(p, (step){.kind = MAY_GO, .label = here.behind});
    put(p, (step){.kind = TURN, .body = op->regions[0]});
    put(p, (step){.kind = GO, .label = head});
    place(p, here.behind);
    p->loop = here.outer;
}

/* Also for groups: each warp takes one of the paths. */
static void put_branch(program *p, const ct_op *op)
{
    uint32_t end = new_label(p), last = op->region_count > CG_ISSUER ? op->region_count - 1u : 1;
    for (uint32_t r = 0; r < last; r++) {
        if (r == CG_STARTERS)
            continue; /* they have no effects */
        uint32_t otherwise = new_label(p);
        put(p, (step){.kind = MAY_GO, .label = otherwise});
        put_block(p, op->regions[r]);
        put(p, (step){.kind = GO, .label = end});
        place(p, otherwise);
    }
    if (op->region_count > last)
        put_block(p, op->regions[last]);
    place(p, end);
}

/* There is at least one trip. */
static void put_strips(program *p, const ct_op *op)
{
    const cg_effect *e = op->effects ? op->effects->first : NULL;
    uint32_t head = new_label(p);
    if (e && e->kind == CG_BEGINS)
        put(p, (step){.kind = EFFECT, .effect = e});
    place(p, head);
    put_block(p, op->regions[0]);
    put(p, (step){.kind = TRIP, .label = head, .body = op->regions[0]});
}

static void put_op(program *p, const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_for:
    case OP_loop: put_loop(p, op); break;
    case OP_if:
    case CT_groups: put_branch(p, op); break;
    case CT_strips: put_strips(p, op); break;
    default: break;
    }
    for (const cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
        if (e->kind != CG_BEGINS)
            put(p, (step){.kind = EFFECT, .effect = e});
    switch ((int)op->opcode) {
    case OP_continue: put(p, (step){.kind = GO, .label = p->loop->next}); break;
    case OP_break: put(p, (step){.kind = GO, .label = p->loop->behind}); break;
    case OP_return: put(p, (step){.kind = STOP}); break;
    default: break;
    }
}

static void put_block(program *p, const ct_block *block)
{
    for (const ct_op *op = block ? block->first : NULL; op; op = op->next)
        put_op(p, op);
}

static bool make_program(cg_func *c, program *p)
{
    enum { OF_AN_OP = 5, LABELS = 3 };
    uint32_t ops = 1;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        ops++;
    p->steps = bc_new(&c->arena, step, (size_t)ops * OF_AN_OP + c->sharing->effect_count);
    p->labels = bc_new(&c->arena, uint32_t, (size_t)ops * LABELS);
    if (!p->steps || !p->labels)
        return false;
    put_block(p, c->ir->body);
    put(p, (step){.kind = STOP});
    return true;
}

/* ---- paths ---- */

/* A point on a path: the step, and the trip of the first effect relative to it, in one number. */
enum { WAYS = CG_EARLIER_VIEW + 1 };

typedef struct search {
    const program *p;
    const cg_effect *from;
    bool *seen;
    uint32_t *todo, count;
} search;

static void go_on(search *s, uint32_t at, cg_before how)
{
    uint32_t place = at * WAYS + how;
    if (!s->seen[place])
        s->todo[s->count++] = place;
    s->seen[place] = true;
}

/* Passes an effect on the path. False: it should have waited. */
static bool pass_effect(search *s, uint32_t at, cg_before how)
{
    const cg_effect *e = s->p->steps[at].effect;
    if (cg_meeting_between(s->from, how, e) > e->before)
        return false;
    if (e->leaves || (e->before != CG_ALL_WARPS && cg_meeting_within(e) != CG_ALL_WARPS))
        go_on(s, at + 1, how);
    return true;
}

static bool pass_step(search *s, uint32_t at, cg_before how)
{
    const step *now = &s->p->steps[at];
    switch (now->kind) {
    case EFFECT: return pass_effect(s, at, how);
    case MAY_GO: go_on(s, at + 1, how); /* fall through */
    case GO: go_on(s, s->p->labels[now->label], how); break;
    case TRIP:
        go_on(s, at + 1, how);
        if (s->from->kind != CG_ACCESSES || !ct_is_inside(s->from->op->block, now->body))
            go_on(s, s->p->labels[now->label], how);
        break;
    case TURN: go_on(s, at + 1, cg_before_next_trip(s->from, how, now->body)); break;
    case STOP: break;
    }
    return true;
}

/* The effect that should have waited for the one at this step. NULL: there is none. */
static const cg_effect *find_too_early(search *s, uint32_t at, size_t places)
{
    s->from = s->p->steps[at].effect;
    if (s->from->again && cg_meeting_between(s->from, CG_SAME_TRIP, s->from) > s->from->before)
        return s->from;
    if (!cg_effect_lasts(s->from))
        return NULL;
    for (size_t i = 0; i < places; i++)
        s->seen[i] = false;
    go_on(s, at + 1, CG_SAME_TRIP);
    while (s->count) {
        uint32_t place = s->todo[--s->count];
        if (!pass_step(s, place / WAYS, (cg_before)(place % WAYS)))
            return s->p->steps[place / WAYS].effect;
    }
    return NULL;
}

/* An effect of an asynchronous product that reads what this step wrote, on a path without a fence. NULL: there is
   none. */
static const cg_effect *find_unfenced(search *s, uint32_t at, size_t places)
{
    s->from = s->p->steps[at].effect;
    if (s->from->kind != CG_WRITTEN || s->from->fence)
        return NULL;
    for (size_t i = 0; i < places; i++)
        s->seen[i] = false;
    go_on(s, at + 1, CG_SAME_TRIP);
    while (s->count) {
        uint32_t here = s->todo[--s->count] / WAYS;
        const cg_effect *e = s->p->steps[here].effect; /* the effect of that step */
        if (e && cg_fence_between(s->from, e))
            return e;
        if (e && !e->fence)
            go_on(s, here + 1, CG_SAME_TRIP);
        else if (!e)
            pass_step(s, here, CG_SAME_TRIP);
    }
    return NULL;
}

static bool is_faulty(ct_fault *fault, const cg_effect *e, const char *what)
{
    *fault = (ct_fault){e->op, what};
    return false;
}

bool cg_verify_sync(cg_func *c, ct_fault *out_fault)
{
    program p = {0};
    if (!c->sharing || !c->sharing->synced || !make_program(c, &p))
        return true; /* nothing to check yet; or out of memory, which the next pass reports */
    size_t places = (size_t)p.count * WAYS;
    search s = {.p = &p, .seen = bc_new(&c->arena, bool, places), .todo = bc_new(&c->arena, uint32_t, places)};
    for (uint32_t i = 0; s.seen && s.todo && i < p.count; i++) {
        if (p.steps[i].kind != EFFECT)
            continue;
        const cg_effect *early = find_too_early(&s, i, places), *unfenced = find_unfenced(&s, i, places);
        if (early)
            return is_faulty(out_fault, early,
                             "no barrier before it accesses memory that another thread may still use");
        if (unfenced)
            return is_faulty(out_fault, unfenced,
                             "no fence between its asynchronous read and the write of the same memory");
    }
    return true;
}

/* The ahead pass prefetches loads of loops over strips, in kernels with large tiles. The strips are copied into a
   ring of which each thread reads only what it has copied itself, so that there are no barriers.

       strips {8 strips} {                          %r = ring
         %a = load %view[%i]                        strips {8 strips, the first 2} { copy %view[%i] to %r; commit %r }
         ... uses of %a ...                         strips {8 strips} {
       }                                              await %r
                                              =>      copy %view[%i] to %r {of 2 trips later}
                                                      %a = staged
                                                      commit %r
                                                      ... uses of %a ...
                                                      release %r
                                                    }

   If such a loop is inside a `for`, the ring stays full between iterations: the first strips are copied in front of the
   `for`, and the last trips copy the first strips of the next iteration.

   A load is prefetched if it is weak, nothing in the loop precedes it by tokens or through the same memory, and its
   index, pointers and masks are known in front of the loop or can be recomputed from values that are. There are up to
   four stages, as many as leave room for 512 threads on a multiprocessor; if two do not fit, loads are not prefetched,
   with a remark. The pass runs after strips, which decides which loads are in such loops; layouts exist, so that a
   stage holds the elements that the load would have had in registers, and the scratch of other ops is known from their
   effects.

   Why it is right: a thread awaits its own copy before it reads the stage, and nothing between the copy and the load
   may write the copied elements. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/shared.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/hooks.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/early.h"
#include "codegen/rewrite/iteration.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/loads.h"
#include "codegen/values/effects.h"
#include "codegen/values/strips.h"

typedef struct candidate {
    cg_func *c;
    ct_op *strips; /* the loop over strips */
    ct_block *body;
    cg_trips *trips;
    ct_op *loop;      /* the `for` for whose next iteration the loop also copies; NULL: none */
    ct_block *around; /* that loop's body, or `body`: ops in it are recomputed for copies */
    cg_ring *ring;    /* its slice marks the values that are recomputed */
} candidate;

/* ---- which loads ---- */

/* Can the op be recomputed from its operands for another trip or iteration? */
static bool is_slice_op(const candidate *x, const ct_op *op)
{
    bool here = op && (op->block == x->around || op->block == x->body);
    if (!here || op->result_count != 1)
        return false;
    return cg_value_of(x->c, cg_result(op, 0))->form == CG_LAZY
           || (x->loop && ct_is_map(op) && !cg_result(op, 0)->type->rank);
}

/* Is the value known in front of the loop, the same in all strips, or recomputed from such values? */
static bool is_known(const candidate *x, const ct_value *v, uint32_t depth)
{
    const cg_value *value = cg_value_of(x->c, v);
    bool inside = ct_is_inside(v->block, x->around), lazy = value->form == CG_LAZY;
    if (x->loop && v == &x->around->args[0])
        return true;
    if (!lazy && (!inside || cg_strip_varies(x->c, value->home)))
        return !cg_strip_varies(x->c, value->home);
    if (depth == 0 || (inside && !is_slice_op(x, v->op)))
        return false;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!is_known(x, v->op->operands[i], depth - 1))
            return false;
    x->ring->slice.has[v->id] = inside;
    return true;
}

static const char *precedes_accesses(cg_query *q)
{
    const candidate *x = q->user;
    return cg_order_holds_back(q->c, x->around, q->load) ? "it may depend on another access in its loop over strips"
                                                         : NULL;
}

static const char *is_known_in_front(cg_query *q)
{
    for (uint32_t i = 0; i < q->load->operand_count; i++)
        if (q->load->operands[i]->type->kind != BC_TOKEN && !is_known(q->user, q->load->operands[i], CG_SLICE_DEPTH))
            return "its address is computed in its loop over strips";
    return NULL;
}

static const char *fits_threads(cg_query *q)
{
    return cg_slot_of_threads(q->c, q->load, cg_value_of(q->c, cg_result(q->load, 0))->home, q->out);
}

/* Registers do not hold the next strip either: what has no stage usually has accesses so short that no loop prefetches
   them into registers. */
static void tell_why_not(cg_func *c, ct_op *load, const char *why)
{
    const bc_kind kind = bc_elem_kind(load->results[0].type);
    cg_early_plan p = {.distance = 1};
    if (kind != BC_PTR && bc_kind_memory_bytes(kind))
        cg_early_measure(c, load, &p);
    if (p.access && p.access < CG_ACCESS_BYTES / 2)
        cg_early_tell_why_not(c, load, why, cg_early_row_of(CG_EARLY_SHORT)->why);
    else
        cg_remark_stays(c, load, why);
}

/* Returns the number of loads that are not prefetched. */
static uint32_t find_loads(candidate *x, bool tells)
{
    static cg_condition *const list[] = {cg_is_movable, precedes_accesses, is_known_in_front, fits_threads, NULL};
    cg_query q = {.c = x->c, .body = x->body, .ring = x->ring, .user = x};
    uint32_t others = 0;
    for (ct_op *op = x->body->first; op; op = op->next) {
        if (!ct_is_load(op))
            continue;
        const char *why = cg_obstacle_to_ring(&q, list, op);
        if (why && tells)
            tell_why_not(x->c, op, why);
        others += why != NULL;
    }
    return others;
}

/* ---- how many slots ---- */

static uint32_t scratch_of(cg_func *c, ct_op *op)
{
    uint32_t most = 0;
    cg_find_effects(c, op, 0);
    for (const cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
        most = e->kind == CG_USES_SCRATCH && e->span.to > most ? e->span.to : most;
    return most;
}

/* The bytes of scratch that ops use while the ring is live. */
static uint32_t scratch_beside(const candidate *x)
{
    uint32_t most = scratch_of(x->c, x->strips);
    most = most > CG_SMALL_SCRATCH ? most : CG_SMALL_SCRATCH;
    for (ct_op *op = x->around->first; op; op = ct_next_op(op, x->around)) {
        uint32_t bytes = scratch_of(x->c, op);
        most = bytes > most ? bytes : most;
    }
    return (most + CG_ENCODING_ALIGN - 1) & ~(uint32_t)(CG_ENCODING_ALIGN - 1);
}

static cg_slot_budget slots_of(const candidate *x)
{
    cg_func *c = x->c;
    uint32_t all = cg_shared_most(c);
    cg_slot_work work = {.kind = CG_STRIPS,
                         .slot_bytes = x->ring->slot_bytes,
                         .iterations = (uint32_t)1 << cg_count_bits(x->trips->mask),
                         .rest = scratch_beside(x)};
    work.fits = cg_loops_stay_plain(c) || work.rest > all ? 0 : all - work.rest;
    return cg_slot_budget_of(c, &work);
}

static void tell_of_no_room(const candidate *x, uint32_t room)
{
    cg_remark_few_slots(x->c, x->strips, NULL, x->ring->slot_bytes, room);
    for (uint32_t i = 0; i < x->ring->load_count; i++)
        cg_remark_stays(x->c, x->ring->loads[i].op, "its loop is not pipelined");
}

/* ---- putting it there ---- */

/* Inserts the slice for the iteration n after the one of `start` in front of `place`; without a `for`, for the
   current iteration. */
static bool put_later(const candidate *x, ct_value *start, uint32_t n, ct_op *place, cg_iteration *out)
{
    bool made = cg_iteration_at(x->c, x->loop, start, n, place, out);
    for (const ct_op *op = x->around->first; op && made; op = ct_next_op(op, x->around))
        if (cg_is_in_slice(x->ring, op))
            made = cg_iteration_repeat(x->c, out, op, place);
    return made;
}

/* Creates the loop over the first strips; NULL: out of memory. */
static ct_op *first_strips(const candidate *x, ct_op *place)
{
    ct_func *f = x->c->ir;
    cg_trips *trips = bc_new(&x->c->arena, cg_trips, 1);
    ct_op *op = ct_op_new(f, CT_strips, x->strips, 0, 0), *keep = ct_op_new(f, CT_keep, x->strips, 0, 0);
    ct_block *region = ct_block_new(f, 0);
    if (!trips || !op || !keep || !region)
        return NULL;
    *trips = (cg_trips){.mask = x->trips->mask, .first = x->ring->slots - 1};
    op->detail = trips;
    op->region_count = 1;
    op->regions[0] = region;
    region->parent = op;
    ct_append(region, keep);
    ct_insert_before(op, place);
    return keep;
}

static void put_first(const candidate *x, ct_value *ring, ct_op *place)
{
    cg_iteration first;
    bool made = put_later(x, x->loop ? ct_operand(x->loop, F_for_lower_bound) : NULL, 0, place, &first);
    ct_op *keep = made ? first_strips(x, place) : NULL;
    for (uint32_t i = 0; keep && i < x->ring->load_count; i++)
        cg_put_copy(x->c, &(cg_ring_copy){.load = &x->ring->loads[i]}, ring, &first, first.exists, keep);
    if (keep)
        cg_ring_put(x->c, CT_commit, ring, keep);
}

/* Inserts the copy in front of each load, where its operands are available. */
static void put_next(const candidate *x, ct_value *ring)
{
    cg_iteration next;
    if (x->loop && !put_later(x, &x->around->args[0], 1, x->strips, &next))
        return;
    for (uint32_t i = 0; i < x->ring->load_count && !x->c->failed; i++) {
        cg_ring_copy copy = {.load = &x->ring->loads[i], .trips = x->ring->slots - 1};
        cg_put_copy(x->c, &copy, ring, NULL, NULL, copy.load->op);
        copy.wraps = true;
        if (x->loop)
            cg_put_copy(x->c, &copy, ring, &next, next.exists, copy.load->op);
    }
}

static void put_ring(const candidate *x)
{
    cg_func *c = x->c;
    ct_op *owner = x->loop ? x->loop : x->strips;
    ct_value *ring = cg_ring_new(c, x->ring, owner, owner);
    if (!ring)
        return;
    cg_remark_ring(c, owner, x->ring);
    put_first(x, ring, owner);
    put_next(x, ring);
    cg_ring_put(c, CT_await, ring, x->body->first);
    cg_ring_put_behind(c, CT_commit, ring, x->ring->loads[x->ring->load_count - 1].op);
    cg_ring_put(c, CT_release, ring, x->body->last);
    cg_ring_stage_loads(c, x->ring, ring);
    if (!x->loop) {
        x->trips->ring = x->ring;
        return;
    }
    cg_plan *plan = x->loop->detail = bc_new(&c->arena, cg_plan, 1);
    if (plan)
        plan->ring = x->ring;
}

/* ---- loops ---- */

static bool is_innermost(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == CT_strips || ct_is_loop(op))
            return false;
    return true;
}

/* Does the op load in a loop over strips, directly or by prefetching? */
static bool loads_in_strips(const ct_op *op)
{
    return (ct_is_load(op) || op->opcode == CT_staged) && op->block->parent && op->block->parent->opcode == CT_strips;
}

/* The `for` of which every iteration executes the loop over strips once, and no other loop that loads, even through
   an existing ring: two rings with nested live ranges would get the same memory. NULL: none. */
static ct_op *loop_around(ct_op *strips)
{
    ct_op *loop = strips->block->parent;
    if (!loop || loop->opcode != OP_for || !cg_is_straight(strips->block) || cg_iterations_of(loop) < 2)
        return NULL;
    for (const ct_op *op = strips->block->first; op; op = ct_next_op(op, strips->block))
        if (ct_is_loop(op) || (loads_in_strips(op) && op->block->parent != strips))
            return NULL;
    return loop;
}

/* Plans the loop's ring, with or without the surrounding `for`; false: no load can be prefetched in this way, or
   there is no room. */
static bool look(candidate *x, ct_op *loop, bool tells)
{
    cg_func *c = x->c;
    x->loop = loop;
    x->around = loop ? loop->regions[0] : x->body;
    x->ring = cg_ring_plan(c, CG_RING_OF_THREADS);
    if (!x->ring)
        return false;
    uint32_t others = find_loads(x, tells);
    if (!x->ring->load_count || (loop && others))
        return false;
    cg_ring_place_loads(x->ring);
    cg_slot_budget budget = slots_of(x);
    x->ring->slots = budget.slots;
    x->ring->why = budget.why;
    if (x->ring->slots < 2 && tells)
        tell_of_no_room(x, budget.room);
    return x->ring->slots >= 2;
}

static void look_at_strips(cg_func *c, ct_op *strips)
{
    candidate x = {.c = c, .strips = strips, .body = strips->regions[0], .trips = strips->detail};
    ct_op *loop = loop_around(strips);
    if ((loop && look(&x, loop, false)) || (!c->failed && look(&x, NULL, true)))
        put_ring(&x);
}

/* Reports loads that are in no loop that the pass has examined. */
static void tell_of_others(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const ct_op *parent = op->block->parent;
        bool in_strips = parent && parent->opcode == CT_strips;
        if (ct_is_load(op) && in_strips && cg_is_in_plan(op))
            cg_remark_stays(c, op, "an enclosing loop is pipelined");
        else if (ct_is_load(op) && !in_strips && ct_loop_around(op))
            cg_remark_stays(c, op, "it is outside the loops over strips");
    }
}

/* ---- the pass ---- */

/* An upper limit for the values that the pass creates: a copy of each value of a loop in front of it and one inside,
   and for each loop a ring and two counters of another iteration. */
static uint32_t most_values(const cg_func *c)
{
    uint32_t loops = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        loops += op->opcode == CT_strips;
    return 2 * c->ir->value_count + 5 * loops;
}

void cg_pass_ahead(cg_func *c)
{
    if (!c->strip_bits)
        return;
    if (!cg_values_grow(c, most_values(c)))
        return;
    tell_of_others(c);
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body))
        if (op->opcode == CT_strips && is_innermost(op->regions[0]) && !cg_is_in_plan(op))
            look_at_strips(c, op);
}

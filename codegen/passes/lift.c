/* The lift pass turns a load through a tile of pointers into a load of a view if the elements have the pattern of a
   view's tile. Later passes can then do for it what they do for views: use tensor maps, check bounds once per tile, and
   compute indices from counters. It applies to loads that feed products. A gather whose rows follow each other becomes
   a load of such a view, too. Where no check is needed, as for whole tiles that a table chooses, so does every other
   gather, and a scatter becomes a store (lift_order.c).

       ptrs = %p + rows * stride + columns        view = tensor %p, shape [M, K], strides [stride, 1]
       for i { load ptrs + i * 64, mask ... }     for i { load view[row block, i] }

   Why it is right: the load reads the same elements from the same addresses, at the same place in the program and in
   the same order, and has the same padding where the mask is false (lift_find.c). Conditions for this that facts do not
   prove are checked at run time before the ops; if they do not hold, the original ops are executed (lift_checks.c,
   versions.c). If a check is about divisors of rows and addresses, the loads of the second version are lifted as well,
   to views with the alignment that is known of the pointers. Where this does not allow copies of 16 bytes, they still
   compute one address and one bound per row instead of one per element. Launches with such rows are as likely, so that
   tiles run ahead as in the first version where that pays, and short steps are taken together.

   A load that is none of a view may still be one of aligned pieces if no index wraps around (lift_unwrap.c). */
#include "codegen/lift/lift.h"

#include "codegen/analysis/view.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/passes/hoist.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/simplify.h"
#include "codegen/rewrite/versions.h"

typedef struct lifting {
    cg_func *c;
    cg_lifted *loads[CG_LIFTED_LOADS]; /* the first of them have memory */
    bool asks[CG_LIFTED_LOADS];        /* conditions of the load must be checked at run time */
    ct_value *views[CG_LIFTED_LOADS];
    uint32_t count;
    const ct_block *second; /* the ops as they were, executed where conditions do not hold; NULL: there is none */
} lifting;

/* ---- loads ---- */

static bc_kind kind_of_index(const cg_poly *start)
{
    for (uint32_t i = 0; i < start->count; i++)
        for (uint32_t f = 0; f < start->terms[i].count; f++)
            if (bc_kind_bits(bc_elem_kind(start->terms[i].factors[f]->type)) > 32)
                return BC_I64;
    return BC_I32;
}

static void hoist_around(ct_op *op)
{
    for (const ct_op *loop = ct_loop_around(op); loop; loop = ct_loop_around(loop))
        cg_hoist_from_loop((ct_op *)(uintptr_t)loop);
}

static void replace(cg_func *c, const cg_lifted *l, ct_value *view)
{
    if (l->unwraps) {
        cg_lift_unwrap(c, l);
        hoist_around(l->load);
        return;
    }
    if (l->tensor) {
        ct_set_operand(l->load, 0, view);
        cg_remark(c, l->load, CG_REMARK_Lifted, TV_REMARK_PASSED,
                  "missing promises about its view are checked before the loop");
        return;
    }
    ct_builder b = {c->ir, l->load, false};
    bool gathers = l->load->opcode == OP_load_view_tko;
    ct_value *index[CG_AFFINE_DIMS],
        *token = ct_operand(l->load, gathers ? (int)F_load_view_tko_token : (int)F_load_ptr_tko_token);
    int64_t inside[CG_AFFINE_DIMS];
    bc_kind kind = BC_I32;
    for (uint32_t d = 0; d < l->rank; d++)
        kind = kind_of_index(&l->dims[d].start) == BC_I64 ? BC_I64 : kind;
    for (uint32_t d = 0; d < l->rank; d++) {
        index[d] = cg_lift_put_index(&b, &l->dims[d], kind);
        inside[d] = !l->dims[d].is_masked;
    }
    ct_value *tile = b.failed ? NULL
                              : ct_build_op(&b, ct_load_view_new(c->ir, l->load, view, index, inside, token,
                                                                 l->load->results[1].type));
    if (!tile)
        return;
    bc_attr_of(tile->op->from, F_load_view_tko_optimization_hints)->tagged =
        ct_attr_of(l->load, gathers ? (int)F_load_view_tko_optimization_hints : (int)F_load_ptr_tko_optimization_hints)
            ->tagged;
    ct_value *as_it_was = tile;
    const bc_type *type = l->load->results[0].type;
    if (!bc_same_shape(tile->type, type))
        as_it_was = ct_build(&b, OP_reshape, type, &tile, 1);
    else
        tile->type = bc_results(tile->op->from)[0].type = type;
    if (!as_it_was)
        return;
    ct_replace_uses(&l->load->results[0], as_it_was);
    ct_replace_uses(&l->load->results[1], &tile->op->results[1]);
    hoist_around(tile->op);
    cg_remark(c, l->load, CG_REMARK_Lifted, TV_REMARK_PASSED, "{What=%s}: loaded as tiles of a view",
              gathers ? "what it gathers follows each other" : "its pointers form rows");
    ct_remove(l->load);
}

/* ---- which loads, and where the checks are ---- */

/* log2 of the alignment of rows, in bytes, that a view of pointers gets: 16 bytes, or what is known. If 4 or 8 bytes
   are promised, more is not checked, because a producer that knew more would have promised it; copies can be that
   short. If less is known, the producer may not have stated anything.

   For loads of views and gathers, only signs are checked at run time, never divisors of rows. The second version has
   the registers and shared memory of the first, and that costs a view more than copies of 16 bytes gain (bf16, rows of
   4097 elements: 827 to 1,417 microseconds on an H100; of 4096: 813 to 237). */
static uint32_t byte_bits_for(const cg_lifted *l, bool as_known)
{
    uint32_t known = cg_lift_known_bits(l);
    return as_known || known >= CG_LIFT_LEAST_BITS ? known : CG_LIFT_CHUNK_BITS;
}

/* Finds out how the load can be lifted. */
static bool find(lifting *x, ct_op *op, bool anywhere, cg_lifted *l)
{
    if (op->opcode == OP_load_ptr_tko) {
        if (!cg_lift_find(x->c, op, l))
            return false;
        l->byte_bits = byte_bits_for(l, anywhere);
        return true;
    }
    if (cg_lift_find_gather(x->c, op, l)) {
        l->byte_bits = cg_lift_known_bits(l);
        return l->byte_bits >= CG_LIFT_LEAST_BITS;
    }
    bool found = !anywhere && cg_lift_find_view(op, l);
    l->byte_bits = CG_LIFT_CHUNK_BITS;
    return found;
}

/* Where the next load that can be lifted is noted. NULL: out of memory. */
static cg_lifted *place_for_load(lifting *x)
{
    cg_lifted **place = &x->loads[x->count];
    return *place = *place ? *place : bc_new(&x->c->arena, cg_lifted, 1);
}

/* Finds all loads that can be lifted. anywhere: to views without further conditions on the divisors of rows and
   addresses. If an iteration computes the index, such a view saves nothing. */
static void find_all(lifting *x, const ct_block *block, bool anywhere)
{
    x->count = 0;
    for (ct_op *op = block->first; op && x->count < CG_LIFTED_LOADS; op = ct_next_op(op, block)) {
        cg_lifted *l = ct_is_load(op) ? place_for_load(x) : NULL;
        bool *asks = &x->asks[x->count];
        x->count += l
                    && ((find(x, op, anywhere, l) && cg_lift_suits(x->c, l, anywhere, asks))
                        || (!anywhere && cg_lift_find_wrapped(op, l) && cg_lift_suits(x->c, l, false, asks)));
    }
}

/* The op in front of which the views of a load are created. */
static ct_op *outermost_place(const cg_lifted *l)
{
    const ct_op *loop = ct_loop_around(l->load);
    return loop ? (ct_op *)(uintptr_t)loop : l->load;
}

static void lift_known(lifting *x)
{
    for (uint32_t i = 0; i < x->count && !x->c->failed; i++) {
        if (x->asks[i])
            continue;
        ct_op *place = outermost_place(x->loads[i]);
        ct_builder b = {x->c->ir, place, false};
        ct_value *view = cg_lift_put_view(&b, x->loads[i], NULL);
        if (!view && !x->loads[i]->unwraps)
            return;
        replace(x->c, x->loads[i], view);
        hoist_around(place);
    }
}

/* ---- conditions that are checked at run time ---- */

typedef struct range {
    ct_block *block;
    ct_op *first, *last;
} range;

/* The loop at that level around the load; 0: the innermost one. NULL: there are not so many. */
static const ct_op *loop_at(const cg_lifted *l, uint32_t level)
{
    const ct_op *loop = ct_loop_around(l->load);
    for (; loop && level; level--)
        loop = ct_loop_around(loop);
    return loop;
}

/* The range of ops from the first to the last load with conditions, or the loops that contain them, in one block:
   that of the first such loop at that level. */
static bool find_range(const lifting *x, uint32_t level, range *out)
{
    *out = (range){0};
    for (uint32_t i = 0; i < x->count && !out->block; i++)
        if (x->asks[i] && ct_loop_around(x->loads[i]->load)) {
            const ct_op *loop = loop_at(x->loads[i], level);
            if (!loop)
                return false;
            out->block = loop->block;
        }
    for (uint32_t i = 0; i < x->count && out->block; i++) {
        ct_op *op = x->asks[i] ? ct_in_block(x->loads[i]->load, out->block) : NULL;
        if (!op)
            continue;
        out->first = !out->first || ct_is_before(op, out->first) ? op : out->first;
        out->last = !out->last || ct_is_before(out->last, op) ? op : out->last;
    }
    return out->first;
}

static cg_lift_checks checks_of(const lifting *x, const range *r, bool dry)
{
    return (cg_lift_checks){
        .b = {x->c->ir, r->first, false}, .inside = r->block, .first = r->first, .last = r->last, .dry = dry};
}

static bool may_be_asked(const lifting *x, const range *r, uint32_t i)
{
    cg_lift_checks k = checks_of(x, r, true);
    if (!x->asks[i] || !ct_in_block(x->loads[i]->load, r->block) || !cg_lift_is_there(&k, x->loads[i]))
        return false;
    cg_lift_check(&k, x->loads[i]);
    return !k.failed;
}

/* The number of loads, at least one of them in a loop, whose conditions can be checked in front of the range. 0:
   none, or the range cannot be executed in two versions. */
static uint32_t count_asked(const lifting *x, range *r)
{
    uint32_t count = 0;
    bool any = false;
    cg_clear_range(&r->first, r->last);
    for (uint32_t i = 0; i < x->count && cg_may_version(r->first, r->last); i++)
        if (may_be_asked(x, r, i)) {
            any = any || ct_loop_around(x->loads[i]->load);
            count++;
        }
    return any ? count : 0;
}

/* Chooses the outermost range in front of which the conditions of the most loads can be checked, so that inner loops
   need no checks of their own. */
static bool choose_range(const lifting *x, range *out)
{
    range r;
    uint32_t most = 0;
    for (uint32_t level = 0; find_range(x, level, &r); level++) {
        uint32_t count = count_asked(x, &r);
        if (!count || count < most)
            continue;
        most = count;
        *out = r;
    }
    return most;
}

/* Checks the conditions once for all loads, creates the views and two versions of the ops. Returns the second
   version if a condition was about divisors; otherwise NULL. */
static ct_block *lift_asked(lifting *x)
{
    range r;
    ct_block *otherwise = NULL;
    if (!choose_range(x, &r))
        return NULL;
    for (uint32_t i = 0; i < x->count; i++)
        x->asks[i] = may_be_asked(x, &r, i);
    cg_lift_checks k = checks_of(x, &r, false);
    for (uint32_t i = 0; i < x->count && !k.b.failed; i++)
        if (x->asks[i])
            cg_lift_check(&k, x->loads[i]);
    for (uint32_t i = 0; i < x->count && !k.b.failed; i++)
        if (x->asks[i])
            x->views[i] = cg_lift_put_view(&k.b, x->loads[i], k.views);
    if (k.b.failed || !k.all)
        return NULL;
    ct_op *place = k.all->op;
    if (!cg_version(x->c, r.first, r.last, k.all, &otherwise))
        return NULL;
    x->second = x->second ? x->second : otherwise; /* the second version may have two itself */
    for (uint32_t i = 0; i < x->count && !x->c->failed; i++)
        if (x->asks[i])
            replace(x->c, x->loads[i], x->views[i]);
    hoist_around(place);
    if (!k.divides)
        return NULL;
    cg_note_likely(otherwise);
    return otherwise;
}

/* Are versions worthwhile? They are if the target has asynchronous products and may use tensor maps. */
static bool gains(const cg_func *c)
{
    return c->target->features & CG_HAS_ASYNC_PRODUCTS && !cg_loops_stay_plain(c);
}

/* Lifts the loads of the block. Returns the version that keeps its loads, if those can be lifted to other views;
   NULL otherwise. */
static ct_block *lift_in(lifting *x, ct_block *block, bool anywhere)
{
    if (!cg_find_facts(x->c->ir))
        return NULL;
    find_all(x, block, anywhere);
    lift_known(x);
    return gains(x->c) && !x->c->failed ? lift_asked(x) : NULL;
}

void cg_pass_lift(cg_func *c)
{
    lifting *x = NULL;
    bool any = false, lifted;
    for (ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        any = any || ct_is_load(op) || op->opcode == OP_store_view_tko;
    if (!any)
        return;
    x = bc_new(&c->arena, lifting, 1);
    if (!x)
        return;
    x->c = c;
    ct_block *otherwise = lift_in(x, c->ir->body, false);
    lifted = x->count;
    if (otherwise && !c->failed) {
        lift_in(x, otherwise, true);
        cg_let_chains_run_ahead(otherwise);
    }
    lifted = cg_lift_all_in_order(c, x->second) || lifted;
    if (!lifted || c->failed)
        return;
    cg_simplify(c);
    cg_set_warps(c);
}

/* Moves ops into the region of a loop over strips; see codegen/passes/strips.h. */
#include "codegen/passes/strips.h"

/* ---- room ---- */

/* Each value in a loop is a result of at most that loop and the one around it, and is copied once. */
bool cg_strips_room(cg_forming *x)
{
    enum { TIMES = 4 };
    cg_func *c = x->c;
    uint32_t ops = 0, room = TIMES * c->ir->value_count + 1;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        ops++;
    x->members = bc_new(&c->arena, ct_op *, ops + 1u);
    x->inside = bc_new(&c->arena, uint32_t, room);
    x->behind = bc_new(&c->arena, uint32_t, room);
    return x->members && x->inside && x->behind && ct_map_new(c->ir, &x->copies)
           && cg_values_grow(c, room - c->ir->value_count);
}

/* ---- values that are read outside ---- */

typedef struct enclosing {
    cg_forming *x;
    ct_block *region;
    ct_op *behind;    /* the op after the loop */
    ct_value **given; /* values of the region that are read outside, filled from the end */
    uint32_t first, end;
} enclosing;

/* in_others: only if it is also looked up in layouts other than its own. */
static bool is_read_outside(const ct_value *v, const ct_block *region, bool in_others)
{
    for (const ct_use *use = v->uses; use; use = use->next)
        if (!ct_is_inside(use->op->block, region) && (!in_others || cg_reads_any_layout(use)))
            return true;
    return false;
}

/* An op that reads a tile in several layouts finds them through any variant. */
static bool is_wanted_outside(const ct_value *v, const ct_block *region)
{
    bool wanted = is_read_outside(v, region, false);
    for (const ct_value *from = v; !wanted && from != ct_unconverted(v);) {
        const ct_op *op = from->op;
        from = op->opcode == CT_convert ? op->operands[0] : op->regions[0]->last->operands[from->number];
        wanted = is_read_outside(from, region, true);
    }
    return wanted;
}

/* ---- values that are recomputed ---- */

/* Moves the op behind the loop, and keeps a copy in it if it is read there as well. */
static bool sink(enclosing *e, ct_op *op)
{
    cg_func *c = e->x->c;
    ct_value *v = &op->results[0];
    bool inside = false;
    for (const ct_use *use = v->uses; use; use = use->next)
        inside = inside || ct_is_inside(use->op->block, e->region);
    if (!inside) {
        ct_move_before(op, e->behind);
        e->behind = op;
        return true;
    }
    ct_op *clone = ct_clone(c->ir, op, &e->x->copies);
    if (!clone)
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        clone->uses[i].read = op->uses[i].read;
    *cg_value_of(c, &clone->results[0]) = *cg_value_of(c, v);
    ct_insert_before(clone, e->behind);
    ct_replace_uses_outside(v, &clone->results[0], e->region);
    e->behind = clone;
    return true;
}

/* Visits the last op first, so that the operands of lazy values that move behind the loop are known in time. */
static bool find_given(enclosing *e)
{
    for (ct_op *op = e->region->last->prev, *before; op; op = before) {
        before = op->prev;
        bool lazy = op->result_count && cg_value_of(e->x->c, &op->results[0])->form == CG_LAZY;
        if (lazy && is_read_outside(&op->results[0], e->region, false) && !sink(e, op))
            return false;
        for (uint32_t i = op->result_count; i-- > 0 && !lazy;)
            if (is_wanted_outside(&op->results[i], e->region))
                e->given[--e->first] = &op->results[i];
    }
    return true;
}

/* ---- the loop ---- */

static void give(enclosing *e, ct_op *loop)
{
    for (uint32_t i = 0; i < loop->result_count; i++) {
        ct_value *from = e->given[e->first + i], *to = &loop->results[i];
        ct_be_like(to, from);
        *cg_value_of(e->x->c, to) = *cg_value_of(e->x->c, from);
        ct_replace_uses_outside(from, to, e->region);
    }
}

/* Moves the members to the region, which ends with `keep`. Other ops between them need the loop, and stay behind it. */
static bool fill(enclosing *e, ct_op *const *members, uint32_t count, ct_op *keep)
{
    uint32_t results = 0, i = 0;
    for (e->behind = members[0]; i < count && e->behind == members[i]; i++)
        e->behind = e->behind->next;
    ct_append(e->region, keep);
    for (i = 0; i < count; i++) {
        ct_move_before(members[i], keep);
        results += members[i]->result_count;
    }
    e->given = bc_new(&e->x->c->arena, ct_value *, results + 1u);
    e->first = e->end = results;
    return e->given && find_given(e);
}

ct_op *cg_strips_enclose(cg_forming *x, ct_op *const *members, uint32_t count, cg_trips trips)
{
    ct_func *f = x->c->ir;
    enclosing e = {.x = x, .region = ct_block_new(f, 0)};
    cg_trips *detail = bc_new(&x->c->arena, cg_trips, 1);
    const ct_op *from = members[0];
    ct_op *keep = ct_op_new(f, CT_keep, from, 0, 0), *loop = NULL;
    if (e.region && detail && keep && fill(&e, members, count, keep))
        loop = ct_op_new(f, CT_strips, from, 0, e.end - e.first);
    if (!loop)
        return NULL;
    *detail = trips;
    loop->detail = detail;
    loop->region_count = 1;
    loop->regions[0] = e.region;
    e.region->parent = loop;
    ct_insert_before(loop, e.behind);
    give(&e, loop);
    ct_add_operands(f, keep, e.given + e.first, e.end - e.first);
    return loop;
}

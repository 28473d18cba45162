/* The strips pass chooses which ops of a kernel with large tiles share a loop over strips.

       %a = load ...             strips {8 trips} {
       %n = divi %k, %m            %a = load ...
       %b = mulf %a, %a            %b = mulf %a, %a
       %s = reduce %b              %s = reduce %b
       %d = subf %a, ..%s..        keep %a, %s
                            =>   } gives %t0, %t1
                                 strips {8 trips} {
                                   %d = subf %t0, ..%t1..

   It goes through the ops in order. An op whose tiles differ between strips joins the open loop, or opens one, unless
   it needs a value that is complete only after the loop, or must wait for an access in it. An ordered access, an
   atomic, and a scan along strips get a loop of their own. A `reduce` over some of the strips splits the loop that it
   joins in two, one over the other strips and in it one over those along its dimension. A scalar, a view, or a value
   that is recomputed stays in front of the loop if it does not depend on the loop, else in it or after it. All other
   ops end the loop, unless they can move in front of it.

   A tile that is read after its loop is in local memory from the `keep` that writes it to its last read
   (codegen/plan/strips_lives.c); a value that a loop carries has the same storage throughout. A strip is read before
   it is overwritten, if no other strip shares the storage (codegen/plan/strips_local.c). The pass runs after convert,
   when layouts and conversions are known, and before shared and sync, for which a loop over strips is an ordinary loop.
   docs/internals/codegen/large-tiles.md has the rules.

   Why it is right: if the order of two accesses of one loop matters, the same thread accesses the same elements in the
   same trip, in the order of the ops (cg_meeting_between). A load moves in front of an open loop only if none of its
   tokens comes from that loop: accesses that no token orders have no order to keep. */
#include "codegen/passes/strips.h"

#include "codegen/analysis/order.h"
#include "codegen/kernel/limits.h"
#include "codegen/ops/hooks.h"
#include "codegen/passes/pass.h"
#include "codegen/values/effects.h"

/* ---- the loop that an op needs ---- */

typedef enum place {
    STAYS,  /* needs no loop, but may be in one */
    ENTERS, /* is computed strip by strip, in the open loop if there is one */
    ALONE,  /* is computed strip by strip, in a loop of its own */
    LEAVES  /* is outside of loops, or creates its own when it is lowered */
} place;

static bool result_varies(cg_func *c, const ct_op *op)
{
    return op->result_count && cg_strip_varies(c, cg_value_of(c, cg_result(op, 0))->home);
}

/* Weak accesses of different threads have no order, so they may be among others. */
static place place_of_access(cg_func *c, const ct_op *op)
{
    const bc_op_info *info = ct_info(op);
    bool weak = ct_attr_u(op, bc_order_row(info)) == BC_MemoryOrderingSemantics_weak;
    return !result_varies(c, op)                                               ? LEAVES
           : weak && (info->effects == BC_READS || info->effects == BC_WRITES) ? ENTERS
                                                                               : ALONE;
}

/* A reduction over strips ends the loop over them; a scan also needs its own order of strips. */
static place place_of_fold(cg_func *c, const ct_op *op)
{
    uint32_t others, along = cg_fold_strips(c, op, &others), all = cg_all_strips(c);
    if (!along && !others)
        return LEAVES;
    return (op->opcode == OP_reduce ? along | others : others) == all ? ENTERS : ALONE;
}

static place place_of_conversion(cg_func *c, const ct_op *op)
{
    const ct_value *from = op->operands[0];
    cg_conversion how = cg_conversion_of(c, op, bc_elem_kind(from->type), cg_value_of(c, from)->home,
                                         cg_value_of(c, cg_result(op, 0))->home);
    return result_varies(c, op) && how.way != CG_BY_PIECES ? ENTERS : LEAVES;
}

static place place_of(cg_func *c, const ct_op *op)
{
    const ct_value *result = op->result_count ? cg_result(op, 0) : NULL;
    if (result && cg_value_of(c, result)->form == CG_LAZY)
        return STAYS;
    if (op->opcode >= OP_LIMIT)
        return op->opcode == CT_convert ? place_of_conversion(c, op) : op->opcode == CT_rank ? STAYS : LEAVES;
    switch ((bc_op_class)bc_op_class_of[op->opcode]) {
    case BC_OP_SAME:
    case BC_OP_VIEW:
    case BC_OP_QUERY: return STAYS;
    case BC_OP_TOKEN: return ct_info(op)->effects ? LEAVES : STAYS;
    case BC_OP_ACCESS: return place_of_access(c, op);
    case BC_OP_PART:
        return result_varies(c, op) && (op->opcode != OP_extract || cg_extract_in_registers(c, op)) ? ENTERS : LEAVES;
    case BC_OP_FOLD: return place_of_fold(c, op);
    case BC_OP_GIVEN:
    case BC_OP_MAP:
    case BC_OP_CAST: return result_varies(c, op) ? ENTERS : result->type->rank ? LEAVES : STAYS;
    default: return LEAVES;
    }
}

/* ---- the values that an op waits for ---- */

typedef enum need { NOTHING, THE_TRIP, THE_LOOP } need;

/* Of the op with all ops in its regions. */
static need need_of(const cg_forming *x, const ct_op *op)
{
    need most = NOTHING;
    for (const ct_op *in = x->count ? op : NULL; in; in = ct_next_within(in, op))
        for (uint32_t i = 0; i < in->operand_count; i++) {
            uint32_t id = in->operands[i]->id;
            if (x->behind[id] == x->loops)
                return THE_LOOP;
            most = x->inside[id] == x->loops ? THE_TRIP : most;
        }
    return most;
}

static bool conflict(const cg_effects *a, const cg_effects *b)
{
    for (const cg_effect *e = a ? a->first : NULL; e; e = e->next)
        for (const cg_effect *f = b ? b->first : NULL; f; f = f->next)
            if (e->kind == CG_ACCESSES && f->kind == CG_ACCESSES && cg_meeting_between(e, CG_SAME_TRIP, f))
                return true;
    return false;
}

/* Is a barrier necessary between an access in the open loop and this op? */
static bool waits(const cg_forming *x, const ct_op *op)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (conflict(x->members[i]->effects, op->effects))
            return true;
    return false;
}

/* May the op, which needs no value and no token of the open loop, move in front of it? */
static bool may_go_ahead(const ct_op *op)
{
    return ct_is_pure(op) || op->opcode == CT_convert || bc_op_in(op->opcode, BC_OPS(FOLD))
           || (op->opcode < OP_LIMIT && ct_info(op)->effects == BC_READS && cg_is_weak_access(op));
}

/* ---- loops ---- */

/* Puts the op in a loop over these strips; 0: leaves it as it is. */
static ct_op *wrap(cg_forming *x, ct_op *op, uint32_t mask)
{
    return op && mask ? cg_strips_enclose(x, &op, 1, (cg_trips){.mask = mask}) : op;
}

/* Ends the open loop. If it reduces along strips, it becomes a loop over the other strips with one over those in it. */
static void end_loop(cg_forming *x)
{
    uint32_t count = x->count, all = cg_all_strips(x->c), along = x->along ? x->along : all;
    x->count = x->along = 0;
    if (count)
        wrap(x, cg_strips_enclose(x, x->members, count, (cg_trips){.mask = along}), all & ~along);
}

static void note(uint32_t *where, uint32_t loop, const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        where[op->results[i].id] = loop;
}

static void add_member(cg_forming *x, ct_op *op)
{
    if (!x->count)
        x->loops++;
    x->members[x->count++] = op;
    note(bc_op_in(op->opcode, BC_OPS(FOLD)) && cg_reduces_strips(x->c, op) ? x->behind : x->inside, x->loops, op);
}

static void enter(cg_forming *x, ct_op *op)
{
    uint32_t others, along = op->opcode == OP_reduce ? cg_fold_strips(x->c, op, &others) : 0;
    if (bc_op_in(op->opcode, BC_OPS(ACCESS)))
        cg_find_effects(x->c, op, false);
    if (x->count >= CG_STRIP_MEMBERS || need_of(x, op) == THE_LOOP || waits(x, op)
        || (along && x->along && along != x->along))
        end_loop(x);
    add_member(x, op);
    x->along = along ? along : x->along;
}

static void stay(cg_forming *x, ct_op *op)
{
    if (x->count >= CG_STRIP_MEMBERS)
        end_loop(x);
    if (!x->count)
        return;
    switch (need_of(x, op)) {
    case NOTHING: ct_move_before(op, x->members[0]); break;
    case THE_TRIP: add_member(x, op); break;
    case THE_LOOP: note(x->behind, x->loops, op); break;
    }
}

/* Puts the op in a loop over the strips of its tile. A reduction gets a loop over the strips of its dimension in one
   over the others. */
static void stand_alone(cg_forming *x, ct_op *op)
{
    cg_func *c = x->c;
    uint32_t others = 0, along = cg_strip_mask(c, cg_value_of(c, cg_result(op, 0))->home);
    bool scans = op->opcode == OP_scan;
    end_loop(x);
    if (bc_op_in(op->opcode, BC_OPS(FOLD)))
        along = cg_fold_strips(c, op, &others);
    if (along)
        op = cg_strips_enclose(x, &op, 1,
                               (cg_trips){.mask = along, .descending = scans && ct_attr_u(op, F_scan_reverse)});
    wrap(x, op, others);
}

static void form_in(cg_forming *x, const ct_block *block);

static void leave(cg_forming *x, ct_op *op)
{
    if (x->count && need_of(x, op) == NOTHING && may_go_ahead(op)) {
        ct_move_before(op, x->members[0]);
        return;
    }
    end_loop(x);
    for (uint32_t r = 0; r < op->region_count && !bc_op_in(op->opcode, BC_OPS(FOLD)); r++)
        if (op->regions[r])
            form_in(x, op->regions[r]);
}

static void form_in(cg_forming *x, const ct_block *block)
{
    for (ct_op *op = block->first, *next; op && !x->c->failed; op = next) {
        next = op->next;
        switch (place_of(x->c, op)) {
        case STAYS: stay(x, op); break;
        case ENTERS: enter(x, op); break;
        case ALONE: stand_alone(x, op); break;
        case LEAVES: leave(x, op); break;
        }
    }
}

/* ---- the pass ---- */

void cg_pass_strips(cg_func *c)
{
    if (!c->strip_bits)
        return;
    cg_forming x = {.c = c};
    if (!cg_strips_room(&x))
        return;
    form_in(&x, c->ir->body);
    if (!c->failed)
        cg_strips_place(c);
}

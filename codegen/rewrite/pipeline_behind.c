/* Expands software pipelines with ops behind the counter (codegen/rewrite/pipeline.h): such an op is executed in the
   next iteration, and the last time behind the loop. The first execution of the others is in front of the loop, which
   begins with the second iteration, and all of it is under the condition that there is a first one.

       for i, sum, ... {             if first < end {
         P, X = ... sum ...              P, X = ... of the first iteration
         sum = X + P V          =>       for i from the second on, P, X, ... {
       }                                     sum = X + P V
                                             P, X = ... sum ...
                                         }
                                         sum = X + P V
                                     }

   Why it is right: every op is executed once for each iteration, with the operands of that iteration: those that ops
   behind the counter take are carried to the next iteration, and what they give is read after them. */
#include "codegen/rewrite/pipeline_behind.h"

#include "codegen/analysis/product.h"
#include "codegen/rewrite/ring.h"

/* A value of an iteration that ops take in the next one. */
typedef struct crossing {
    ct_value *value;
    uint32_t at; /* the carried value that holds it */
} crossing;

typedef struct expansion {
    cg_func *c;
    ct_func *f;
    const cg_scheduled *ops;
    uint32_t count;
    ct_op *loop;
    ct_block *body;
    crossing *crossings;
    uint32_t crossing_count, had, more; /* values that the loop carries; that the new one carries in addition */
    bool *late;                         /* by value id: a result of an op behind the counter */
    ct_map map;                         /* to the first iteration; from the loop on, to the last one */
} expansion;

/* ---- what passes from an iteration to the next ---- */

/* Is it an op behind the counter that takes values? The operands of a staged tile only name it. */
static bool takes_values(const cg_scheduled *s)
{
    return s->shift < 0 && s->op->opcode != CT_staged;
}

/* A product that adds to a value that the loop carries passes on its addend in its place, so that the sum stays where
   it is; other values are carried besides. */
static uint32_t place_of(expansion *x, const ct_op *op, uint32_t operand)
{
    enum { ADDEND = 2 };
    for (uint32_t i = 0; cg_is_product(op) && operand == ADDEND && i < x->had; i++)
        if (x->body->last->operands[i] == &op->results[0])
            return i;
    return x->had + x->more++;
}

static void add_crossing(expansion *x, const ct_op *op, uint32_t operand)
{
    ct_value *v = op->operands[operand];
    bool is_new = ct_is_inside(v->block, x->body) && !x->late[v->id];
    for (uint32_t i = 0; i < x->crossing_count; i++)
        is_new = is_new && x->crossings[i].value != v;
    if (is_new)
        x->crossings[x->crossing_count++] = (crossing){v, place_of(x, op, operand)};
}

static bool find_crossings(expansion *x)
{
    uint32_t operands = 0;
    for (uint32_t i = 0; i < x->count; i++)
        operands += takes_values(&x->ops[i]) ? x->ops[i].op->operand_count : 0;
    x->crossings = bc_new(x->f->arena, crossing, operands + 1u);
    x->late = bc_new(x->f->arena, bool, x->f->value_count + 1u);
    if (!x->crossings || !x->late)
        return false;
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t r = 0; x->ops[i].shift < 0 && r < x->ops[i].op->result_count; r++)
            x->late[x->ops[i].op->results[r].id] = true;
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t o = 0; takes_values(&x->ops[i]) && o < x->ops[i].op->operand_count; o++)
            add_crossing(x, x->ops[i].op, o);
    return true;
}

/* ---- the loop, and what surrounds it ---- */

/* Appends copies of the ops with that shift to the block. */
static bool append_ops(expansion *x, int32_t shift, ct_block *block)
{
    for (uint32_t i = 0; i < x->count; i++) {
        ct_op *op = x->ops[i].shift == shift ? ct_clone(x->f, x->ops[i].op, &x->map) : NULL;
        if (op)
            ct_append(block, op);
        else if (x->ops[i].shift == shift)
            return false;
    }
    return true;
}

/* Appends the loop over all iterations from the second on, with an empty body. NULL: out of memory. */
static ct_op *append_loop(const expansion *x, ct_block *block)
{
    uint32_t first = ct_for_inits(x->loop).first;
    ct_op *second = cg_later_new(x->c, x->loop, x->loop->operands[0], 1),
          *loop = second ? ct_for_like(x->f, x->loop, x->more) : NULL;
    if (!loop)
        return NULL;
    ct_append(block, second);
    ct_append(block, loop);
    ct_set_operand(loop, 0, &second->results[0]);
    for (uint32_t i = 0; i < x->had; i++)
        ct_set_operand(loop, first + i, ct_mapped(&x->map, x->body->last->operands[i]));
    for (uint32_t i = 0; i < x->crossing_count; i++) {
        const crossing *v = &x->crossings[i];
        if (v->at >= x->had) {
            ct_be_like(&loop->regions[0]->args[v->at + 1], v->value);
            ct_be_like(&loop->results[v->at], v->value);
        }
        ct_set_operand(loop, first + v->at, ct_mapped(&x->map, v->value));
    }
    return loop;
}

/* Appends what remains of the last iteration, and yields the values that the loop gave. */
static bool append_epilogue(expansion *x, const ct_op *loop, ct_block *block)
{
    ct_value **results = bc_new(x->f->arena, ct_value *, x->had + 1u);
    for (uint32_t i = 0; i < x->crossing_count; i++)
        ct_map_set(&x->map, x->crossings[i].value, &loop->results[x->crossings[i].at]);
    if (!results || !append_ops(x, -1, block))
        return false;
    for (uint32_t i = 0; i < x->had; i++) {
        ct_value *v = x->body->last->operands[i];
        results[i] = x->late[v->id] ? ct_mapped(&x->map, v) : &loop->results[i];
    }
    return ct_yield_new(x->f, block, x->body->last, results, x->had);
}

/* Has the ops behind the counter take the values of the iteration before, which the loop carries. */
static void take_carried(const expansion *x, const ct_block *body)
{
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t o = 0; takes_values(&x->ops[i]) && o < x->ops[i].op->operand_count; o++)
            for (uint32_t n = 0; n < x->crossing_count; n++)
                if (x->ops[i].op->operands[o] == x->crossings[n].value) {
                    ct_set_operand(x->ops[i].op, o, &body->args[x->crossings[n].at + 1]);
                    break;
                }
}

/* Moves the op in front of the end of the body, behind those that compute its operands if it is a `staged` or such an
   op: an index, which only identifies the tile, may have come before it in the old order alone. moved: by value id. */
static void move_op(const expansion *x, ct_op *op, ct_op *end, bool *moved, bool is_index)
{
    for (uint32_t i = 0; i < op->operand_count && (is_index || op->opcode == CT_staged); i++) {
        ct_op *maker = op->operands[i]->op;
        if (maker && maker->block == end->block && !moved[op->operands[i]->id] && ct_is_pure(maker))
            move_op(x, maker, end, moved, true);
    }
    ct_move_before(op, end);
    for (uint32_t i = 0; i < op->result_count; i++)
        moved[op->results[i].id] = true;
}

/* Moves the body to the loop, in its new order. What an op behind the counter gives is read in the iteration in which
   the op is executed. */
static bool move_body(const expansion *x, ct_op *loop)
{
    ct_block *body = loop->regions[0];
    ct_op *end = x->body->last;
    ct_value **more = bc_new(x->f->arena, ct_value *, x->more + 1u),
             **args = bc_new(x->f->arena, ct_value *, x->had + 1u);
    bool *moved = bc_new(x->f->arena, bool, x->f->value_count + 1u);
    if (!more || !args || !moved)
        return false;
    ct_move_all(x->body, body, loop);
    for (uint32_t i = 0; i < x->count; i++)
        if (!x->ops[i].op->result_count || !moved[x->ops[i].op->results[0].id])
            move_op(x, x->ops[i].op, end, moved, false);
    take_carried(x, body);
    for (uint32_t i = 0; i < x->had; i++)
        args[i] = x->late[end->operands[i]->id] ? end->operands[i] : &body->args[i + 1];
    for (uint32_t i = 0; i < x->crossing_count; i++)
        if (x->crossings[i].at < x->had)
            ct_set_operand(end, x->crossings[i].at, x->crossings[i].value);
        else
            more[x->crossings[i].at - x->had] = x->crossings[i].value;
    if (!ct_add_operands(x->f, end, more, x->more))
        return false;
    ct_replace_uses(&x->body->args[0], &body->args[0]);
    for (uint32_t i = 0; i < x->had; i++)
        ct_replace_uses(&x->body->args[i + 1], args[i]);
    return true;
}

/* Fills the branch for the case that there is an iteration. NULL: out of memory. */
static ct_op *fill_guarded(expansion *x, ct_block *block, ct_value *counter)
{
    uint32_t first = ct_for_inits(x->loop).first;
    if (!find_crossings(x) || !ct_map_new(x->f, &x->map))
        return NULL;
    ct_map_set(&x->map, &x->body->args[0], counter);
    for (uint32_t i = 0; i < x->had; i++)
        ct_map_set(&x->map, &x->body->args[i + 1], x->loop->operands[first + i]);
    ct_op *loop = append_ops(x, 0, block) ? append_loop(x, block) : NULL;
    return loop && append_epilogue(x, loop, block) && move_body(x, loop) ? loop : NULL;
}

bool cg_pipeline_behind(cg_func *c, const cg_schedule *schedule, cg_pipelined *out)
{
    ct_op *old = schedule->loop;
    expansion x = {.c = c,
                   .f = c->ir,
                   .ops = schedule->ops,
                   .count = schedule->count,
                   .loop = old,
                   .body = old->regions[0],
                   .had = old->result_count};
    ct_op *start = cg_later_new(c, old, old->operands[0], 0),
          *guard = start ? ct_if_new(x.f, old, &start->results[1], x.had) : NULL;
    if (!guard)
        return false;
    ct_insert_before(start, old);
    ct_insert_before(guard, old);
    ct_op *loop = fill_guarded(&x, guard->regions[0], &start->results[0]);
    if (!loop
        || !ct_yield_new(x.f, guard->regions[1], loop->regions[0]->last, old->operands + ct_for_inits(old).first,
                         x.had))
        return false;
    for (uint32_t i = 0; i < x.had; i++) {
        ct_be_like(&guard->results[i], &old->results[i]);
        ct_replace_uses(&old->results[i], &guard->results[i]);
    }
    ct_remove(old);
    *out = (cg_pipelined){.loop = loop, .guard = guard};
    return true;
}

/* Finds the live ranges of values; see codegen/plan/strips.h. */
#include "codegen/plan/strips.h"

typedef struct walk {
    cg_func *c;
    cg_lives *lives;
    uint32_t *parent; /* by number: the enclosing op; 0: none */
    uint32_t *made;   /* by value id: the op that computes it */
} walk;

static void note_made(walk *x, const ct_value *values, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        x->made[values[i].id] = number;
}

static void number_ops(walk *x, const ct_block *block, uint32_t parent)
{
    cg_lives *l = x->lives;
    for (ct_op *op = block->first; op; op = op->next) {
        uint32_t number = ++l->count;
        l->ops[number] = op;
        x->parent[number] = parent;
        note_made(x, op->results, op->result_count, number);
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r]) {
                note_made(x, op->regions[r]->args, op->regions[r]->arg_count, number);
                number_ops(x, op->regions[r], number);
            }
        l->end[number] = l->count;
    }
}

/* `at`, or the end of the outermost loop around the reader that does not contain the value's definition. */
static uint32_t end_of_read(const walk *x, const ct_value *v, uint32_t reader, uint32_t at)
{
    for (uint32_t op = x->parent[reader]; op > x->made[v->id]; op = x->parent[op])
        if ((ct_is_loop(x->lives->ops[op]) || x->lives->ops[op]->opcode == CT_strips) && x->lives->end[op] > at)
            at = x->lives->end[op];
    return at;
}

static void extend(uint32_t *last, uint32_t to)
{
    *last = to > *last ? to : *last;
}

/* The last time that the op reads its operand. An op that passes the value on, or recomputes it, reads it as long as
   its result is read. */
static uint32_t end_of_reader(const walk *x, uint32_t number, uint32_t index)
{
    const ct_op *op = x->lives->ops[number];
    const ct_value *result = op->result_count ? &op->results[0] : NULL;
    uint32_t at = 0;
    if (op->opcode == CT_keep)
        at = x->lives->last[op->block->parent->results[index].id];
    else if (result && cg_value_of(x->c, result)->form == CG_LAZY)
        at = x->lives->last[result->id];
    return at > number ? at : number;
}

bool cg_lives_find(cg_func *c, cg_lives *out)
{
    uint32_t ops = 1, values = c->ir->value_count + 1;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        ops++;
    *out = (cg_lives){.ops = bc_new(&c->arena, ct_op *, ops),
                      .end = bc_new(&c->arena, uint32_t, ops),
                      .last = bc_new(&c->arena, uint32_t, values),
                      .any = bc_new(&c->arena, uint32_t, values)};
    walk x = {c, out, bc_new(&c->arena, uint32_t, ops), bc_new(&c->arena, uint32_t, values)};
    if (!out->ops || !out->end || !out->last || !out->any || !x.parent || !x.made)
        return false;
    number_ops(&x, c->ir->body, 0);
    for (uint32_t number = out->count; number; number--) /* readers come before the values that they read */
        for (uint32_t i = 0; i < out->ops[number]->operand_count; i++) {
            const ct_value *v = out->ops[number]->operands[i];
            uint32_t to = end_of_read(&x, v, number, end_of_reader(&x, number, i));
            extend(&out->last[v->id], to);
            if (cg_reads_any_layout(&out->ops[number]->uses[i]))
                extend(&out->any[ct_unconverted(v)->id], to);
        }
    return true;
}

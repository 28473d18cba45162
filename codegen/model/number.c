/* The numbers of ops in a model, by address. */
#include <stdlib.h>

#include "codegen/model/build.h"

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const cg_numbered *)a)->op, y = (uintptr_t)((const cg_numbered *)b)->op;
    return (x > y) - (x < y);
}

uint32_t cg_number_of(const cg_building *b, const ct_op *op)
{
    cg_numbered key = {.op = op};
    const cg_numbered *found = bsearch(&key, b->numbered, b->model.op_count, sizeof *b->numbered, by_address);
    return found ? found->number : CG_NO_INDEX;
}

bool cg_number_ops(cg_building *b)
{
    const ct_block *body = b->c->ir->body;
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        count++;
    b->ops = bc_new(&b->c->arena, cg_model_op, count + 1u);
    b->numbered = bc_new(&b->c->arena, cg_numbered, count + 1u);
    b->values = bc_new(&b->c->arena, cg_model_value, b->c->ir->value_count + 1u);
    b->value_numbers = bc_new(&b->c->arena, uint32_t, b->c->ir->value_count + 1u);
    if (!b->ops || !b->numbered || !b->values || !b->value_numbers)
        return false;
    uint32_t i = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body), i++)
        b->numbered[i] = (cg_numbered){op, i};
    qsort(b->numbered, count, sizeof *b->numbered, by_address);
    b->model.op_count = count;
    return true;
}

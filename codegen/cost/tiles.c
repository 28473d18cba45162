/* Counts the distinct tiles that the blocks of a launch reach with an access, for memory of unknown size: tiles that
   several blocks read come from L2. It computes the indices of the first blocks as far as they follow from the
   launch. */
#include <stdlib.h>

#include "codegen/analysis/view.h"
#include "codegen/cost/cost.h"

enum { MOST_BLOCKS = 2048, MOST_LOOPS = 8, MOST_LEAVES = 16, MOST_STEPS = 128 };

/* The loops around the op, with the initial values of their counters. */
static const cg_trip *loops_around(const cg_launch *launch, const ct_op *op, cg_trip trips[MOST_LOOPS])
{
    const cg_trip *inner = NULL;
    uint32_t count = 0;
    for (const ct_op *loop = op->block->parent; loop && count < MOST_LOOPS; loop = loop->block->parent) {
        if (loop->opcode != OP_for)
            continue;
        trips[count] = (cg_trip){.loop = loop};
        if (count)
            trips[count - 1].outer = &trips[count];
        count++;
    }
    for (uint32_t i = count; i-- > 0; inner = &trips[i])
        if (!cg_known(launch, trips[i].outer, trips[i].loop->operands[0], &trips[i].counter))
            trips[i].counter = 0;
    return inner;
}

/* The scalars that identify the tile of an access. */
typedef struct leaves {
    const ct_value *items[MOST_LEAVES];
    uint32_t count, steps; /* steps that are left */
} leaves;

/* Finds the scalars from which a tile of pointers or integers is computed. False: there are too many, or a load is
   among the ops. */
static bool find_leaves(leaves *x, const ct_value *v)
{
    bool is_param = !v->op && !v->block->parent;
    if (bc_is_tile(v->type) && !v->type->rank && bc_kind_in(bc_elem_kind(v->type), BC_SET_INT)) {
        for (uint32_t i = 0; i < x->count; i++)
            if (x->items[i] == v)
                return true;
        if (x->count == MOST_LEAVES)
            return false;
        x->items[x->count++] = v;
        return true;
    }
    if (is_param)
        return true; /* the address of an array */
    if (!v->op || !x->steps || v->op->region_count || v->op->opcode == OP_load_view_tko
        || v->op->opcode == OP_load_ptr_tko || v->op->opcode == CT_staged)
        return false;
    x->steps--;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!find_leaves(x, v->op->operands[i]))
            return false;
    return true;
}

bool cg_is_of_indices(const ct_value *v)
{
    leaves x = {.steps = MOST_STEPS};
    return find_leaves(&x, v);
}

static bool find_indices(leaves *x, const ct_op *op)
{
    *x = (leaves){.steps = MOST_STEPS};
    if (op->opcode == OP_load_ptr_tko || op->opcode == OP_store_ptr_tko
        || (op->opcode == CT_staged && bc_is_tile(op->operands[0]->type)))
        return find_leaves(x, op->operands[0]);
    if (op->opcode != OP_load_view_tko && op->opcode != OP_store_view_tko && op->opcode != CT_staged)
        return false;
    cg_view_op v = cg_view_op_of(op);
    for (uint32_t i = 0; i < v.index_count; i++)
        if (!find_leaves(x, v.index[i]))
            return false;
    return v.view->view && find_leaves(x, v.view->view->base);
}

/* A number for the indices of the access in the launch's block. False: one is not known. */
static bool find_tile(const cg_launch *launch, const ct_op *op, const leaves *indices, uint64_t *out)
{
    static const uint64_t MIX = 0x9e3779b97f4a7c15u;
    cg_trip trips[MOST_LOOPS];
    const cg_trip *trip = loops_around(launch, op, trips);
    *out = MIX;
    for (uint32_t i = 0; i < indices->count; i++) {
        int64_t index;
        if (!cg_known(launch, trip, indices->items[i], &index))
            return false;
        *out = (*out ^ (uint64_t)index) * MIX;
        *out ^= *out >> 29;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

double cg_part_of_tiles(cg_func *c, const cg_launch *launch, const ct_op *op)
{
    cg_launch one = *launch;
    double blocks = (double)launch->grid[0] * (double)launch->grid[1] * (double)launch->grid[2];
    uint32_t count = blocks < MOST_BLOCKS ? (uint32_t)blocks : MOST_BLOCKS, different = 0;
    leaves indices;
    uint64_t *tiles = count && find_indices(&indices, op) ? bc_new(&c->arena, uint64_t, count) : NULL;
    if (!tiles)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        one.block[0] = i % launch->grid[0];
        one.block[1] = i / launch->grid[0] % launch->grid[1];
        one.block[2] = i / launch->grid[0] / launch->grid[1];
        if (!find_tile(&one, op, &indices, &tiles[i]))
            return 1;
    }
    qsort(tiles, count, sizeof *tiles, by_number);
    for (uint32_t i = 0; i < count; i++)
        different += i == 0 || tiles[i] != tiles[i - 1];
    return (double)different / count;
}

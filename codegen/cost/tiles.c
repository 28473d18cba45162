/* How many different tiles the blocks of a launch reach with an access, for memory of unknown size: those that several
   blocks read come from L2. The indices of the first blocks are computed, each as far as it follows from the launch. */
#include <stdlib.h>

#include "codegen/analysis/view.h"
#include "codegen/cost/cost.h"

enum { MOST_BLOCKS = 2048, MOST_LOOPS = 8 };

/* The loops around the op, with the counters that they begin with. */
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

/* A number for the indices of the access in the launch's block. False: one is not known. */
static bool find_tile(const cg_launch *launch, const ct_op *op, const cg_view_op *v, uint64_t *out)
{
    static const uint64_t MIX = 0x9e3779b97f4a7c15u;
    cg_trip trips[MOST_LOOPS];
    const cg_trip *trip = loops_around(launch, op, trips);
    *out = MIX;
    for (uint32_t i = 0; i < v->index_count; i++) {
        int64_t index;
        if (!cg_known(launch, trip, v->index[i], &index))
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

static bool has_index(const ct_op *op)
{
    return op->opcode == OP_load_view_tko || op->opcode == OP_store_view_tko
           || (op->opcode == CT_staged && !bc_is_tile(op->operands[0]->type));
}

double cg_part_of_tiles(cg_func *c, const cg_launch *launch, const ct_op *op)
{
    cg_launch one = *launch;
    double blocks = (double)launch->grid[0] * (double)launch->grid[1] * (double)launch->grid[2];
    uint32_t count = blocks < MOST_BLOCKS ? (uint32_t)blocks : MOST_BLOCKS, different = 0;
    uint64_t *tiles = has_index(op) && count ? bc_new(&c->arena, uint64_t, count) : NULL;
    if (!tiles)
        return 1;
    cg_view_op v = cg_view_op_of(op);
    for (uint32_t i = 0; i < count; i++) {
        one.block[0] = i % launch->grid[0];
        one.block[1] = i / launch->grid[0] % launch->grid[1];
        one.block[2] = i / launch->grid[0] / launch->grid[1];
        if (!find_tile(&one, op, &v, &tiles[i]))
            return 1;
    }
    qsort(tiles, count, sizeof *tiles, by_number);
    for (uint32_t i = 0; i < count; i++)
        different += i == 0 || tiles[i] != tiles[i - 1];
    return (double)different / count;
}

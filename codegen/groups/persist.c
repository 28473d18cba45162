/* Makes kernels persistent: a thread block computes several tile blocks; see the header.

       from, to, by = share
       for i = from to to by by {
           x, y, z = tile_block i
           what the kernel does for the tile block x, y, z
       }

   Values that are the same for all tile blocks and take few registers stay in front of the loop. Why it is right: tile
   blocks without ordering accesses, and without atomics whose results are used, cannot wait for each other, so they may
   run in any order, including one after the other (cg_blocks_are_apart), and each tile block is assigned to exactly one
   thread block (codegen/ops/blocks.c). */
#include "codegen/groups/persist.h"

#include "codegen/kernel/remarks.h"
#include "codegen/ops/blocks.h"
#include "codegen/plan/block_order.h"
#include "codegen/cluster/cluster.h"
#include "codegen/groups/maps.h"

enum { NUMBERS = 3, MOST_MULTIPROCESSORS = 1 << 16, LAST = CG_MOST_TILE_BLOCKS - 1 };

static bool has_multiprocessor(const cg_splitting *x)
{
    return x->budget->blocks == 1;
}

/* Several blocks on a multiprocessor hide each other's atomics (64x64x64 with additions in f32: 147 and 189 us on an
   H200). */
static bool is_eligible(const cg_splitting *x, bool found)
{
    bool pays = found ? has_multiprocessor(x) : cg_only_waits_are_hidden(x) && !cg_has_blind_atomics(x->f);
    return pays && cg_may_persist(x);
}

/* Creates an op with NUMBERS scalar results, whose facts are the range from `least` to the given limits. */
static ct_op *numbers_new(cg_splitting *x, ct_opcode opcode, uint32_t operands, int64_t least, const int64_t *most)
{
    const bc_type *type = ct_scalar_type(x->f, BC_I32);
    ct_op *op = type ? ct_op_new(x->f, opcode, x->f->body->last, operands, NUMBERS) : NULL;
    for (uint32_t i = 0; op && i < NUMBERS; i++) {
        cg_fact *fact = bc_new(x->f->arena, cg_fact, 1);
        if (!fact)
            return NULL;
        *fact = (cg_fact){.ranged = true, .range = {i == 0 ? 0 : least, most[i]}, .used = true};
        op->results[i].type = type;
        op->results[i].fact = fact;
    }
    return op;
}

/* Replaces uses of the thread block's own numbers by the results of this op. */
static void rename_blocks(cg_splitting *x, ct_op *block)
{
    for (ct_op *op = x->f->body->first, *next; op; op = next) {
        next = ct_next_op(op, x->f->body);
        if (op->opcode != OP_get_tile_block_id)
            continue;
        for (uint32_t i = 0; i < op->result_count; i++)
            ct_replace_uses(&op->results[i], &block->results[i]);
        ct_remove(op);
    }
}

static bool enclose(cg_splitting *x)
{
    static const int64_t share_most[NUMBERS] = {CG_MOST_SHARED, CG_MOST_SHARED, MOST_MULTIPROCESSORS},
                         block_most[NUMBERS] = {LAST, LAST, LAST};
    ct_op *share = numbers_new(x, CT_share, 0, 1, share_most), *block = numbers_new(x, CT_tile_block, 1, 0, block_most);
    if (!share || !block)
        return false;
    ct_value *bounds[NUMBERS] = {&share->results[0], &share->results[1], &share->results[2]};
    ct_value *counter = cg_loop_begin(x->c, bounds);
    cg_fact *fact = counter ? bc_new(x->f->arena, cg_fact, 1) : NULL;
    if (!fact)
        return false;
    *fact = (cg_fact){.ranged = true, .range = {0, CG_MOST_SHARED}, .used = true};
    counter->fact = fact;
    ct_set_operand(block, 0, counter);
    ct_insert_before(block, counter->block->first);
    rename_blocks(x, block);
    cg_turns_enclose(x->c, counter);
    ct_insert_before(share, counter->block->parent);
    return true;
}

bool cg_take_over_blocks(cg_splitting *x, bool found)
{
    cg_splitting taking = {.c = x->c, .f = x->f, .persists = true};
    if (!is_eligible(x, found))
        return found;
    if (!cg_groups_find(&taking) || !has_multiprocessor(&taking)) {
        if (!found)
            return false;
        *x = (cg_splitting){.c = x->c, .f = x->f};
        return cg_groups_find(x); /* the rings' slots have changed since the first analysis */
    }
    if (!enclose(x))
        return found;
    *x = taking;
    x->c->takes_over = true;
    cg_remark(x->c, x->places[0].loop, CG_REMARK_BlockOrder, TV_REMARK_PASSED,
              "persistent: as many thread blocks as there are multiprocessors compute all tile blocks; the others exit "
              "at once");
    return true;
}

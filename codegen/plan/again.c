/* How many blocks should share a multiprocessor if each reads its rows several times. Whatever the first loop reads
   stays in L2 for the loops that follow, if there is room for the rows of all blocks that run at a time. So no more
   blocks run than that, as long as enough threads remain to hide latency (CG_THREADS_AGAIN); unused shared memory keeps
   others out. How long rows are is mostly known at launch only, when code and shared memory are there already; then
   they are taken to have CG_ROW_TAKEN elements. What the last loop writes passes through L2 as well, and is as much as
   what is read for about half of the time: it takes a third of the room.

   Loads whose accesses are shorter than a thread's elements, because nothing promises that they are aligned, keep
   their blocks: there, instructions take longer than memory.

   Why it is right: no value depends on how many blocks share a multiprocessor, nor on how a store is cached (st.cs:
   PTX ISA, "Cache Operators"). */
#include "codegen/plan/again.h"

#include "codegen/analysis/product.h"
#include "codegen/analysis/view.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/early.h"
#include "codegen/tile/same.h"
#include "codegen/values/effects.h"

bool cg_have_same_range(const ct_op *a, const ct_op *b)
{
    bool same = ct_attr_u(a, F_for_unsigned_cmp) == ct_attr_u(b, F_for_unsigned_cmp);
    for (uint32_t i = 0; same && i < 3; i++)
        same = ct_is_same(a->operands[i], b->operands[i]);
    return same;
}

bool cg_load_same(const ct_op *a, const ct_op *first, const ct_op *b, const ct_op *other)
{
    bool same = a->opcode == b->opcode && a->results[0].type == b->results[0].type;
    uint32_t at = 0;
    for (uint32_t i = 0; same && i < a->operand_count; i++) {
        if (a->operands[i]->type->kind == BC_TOKEN)
            continue;
        while (at < b->operand_count && b->operands[at]->type->kind == BC_TOKEN)
            at++;
        same = at < b->operand_count && ct_is_same_in(a->operands[i], first, b->operands[at++], other);
    }
    return same;
}

uint32_t cg_iterations_taken(const ct_op *loop, const bc_type *tile)
{
    enum { FEWEST = 4 };
    const uint32_t known = cg_iterations_of(loop), width = tile->rank ? (uint32_t)tile->shape[tile->rank - 1] : 1,
                   taken = CG_ROW_TAKEN / width;
    return known != UINT32_MAX ? known : taken > FEWEST ? taken : FEWEST;
}

/* ---- what is read again ---- */

static bool loads_again(const ct_op *load, const ct_op *first)
{
    uint32_t loops = 1;
    for (const ct_op *other = first->next; other && loops < CG_KEPT_LOOPS; other = other->next) {
        if (other->opcode != OP_for)
            continue;
        loops++;
        for (const ct_op *op = other->regions[0]->first; op && cg_have_same_range(first, other); op = op->next)
            if (ct_is_load(op) && cg_load_same(load, first, op, other))
                return true;
    }
    return false;
}

static uint64_t bytes_of(const bc_type *tile)
{
    return (uint64_t)cg_memory_bytes(bc_elem_kind(tile)) << cg_shape_of(tile).tile_bits;
}

/* Has an access of the load fewer bytes than 16, although its thread has more? */
static bool is_short(cg_func *c, ct_op *load)
{
    cg_early_plan p = {.distance = 0};
    cg_early_measure(c, load, &p);
    return p.access < CG_ACCESS_BYTES && p.access < bytes_of(load->results[0].type) / cg_threads(c);
}

/* The bytes of rows that the loop reads first, and later loops again; 0, too, if accesses are short. */
static uint64_t bytes_again(cg_func *c, const ct_op *loop)
{
    uint64_t bytes = 0;
    uint32_t loads = 0;
    for (ct_op *op = loop->regions[0]->first; op && loads < CG_RING_LOADS; op = op->next) {
        const bc_type *tile = ct_is_load(op) ? op->results[0].type : NULL;
        loads += tile != NULL;
        if (!tile || !tile->rank || !cg_memory_bytes(bc_elem_kind(tile)) || !loads_again(op, loop))
            continue;
        if (is_short(c, op))
            return 0;
        bytes += bytes_of(tile) * cg_iterations_taken(loop, tile);
    }
    return bytes;
}

void cg_find_again(cg_func *c)
{
    uint64_t most = 0;
    if (cg_has_products(c->ir->body))
        return;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const uint64_t bytes = op->opcode == OP_for && op->next ? bytes_again(c, op) : 0;
        most = bytes > most ? bytes : most;
    }
    c->again_bytes = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* ---- how many blocks ---- */

double cg_room_for_again(const cg_machine *m)
{
    enum { MIB = 1 << 20 };
    return m->kept_mib * MIB * 2 / 3 / m->multiprocessors;
}

uint32_t cg_blocks_for_again(const cg_machine *m, double bytes, uint32_t threads)
{
    const uint32_t fit = (uint32_t)(cg_room_for_again(m) / bytes), least = CG_THREADS_AGAIN / threads;
    return fit > least ? fit : least ? least : 1;
}

/* The smallest size of a block's shared memory with which one more than so many have no room: what is left over is
   L1's. */
static uint32_t size_for(const cg_func *c, uint32_t blocks)
{
    const cg_machine *m = cg_machine_of(c->target);
    const uint32_t lines = ((uint32_t)m->shared_kib << 10) / (blocks + 1) / CG_LINE_BYTES + 1,
                   own = lines * CG_LINE_BYTES - CG_SYSTEM_SHARED, most = cg_shared_most(c);
    return own < most ? own : most;
}

void cg_leave_room_for_again(cg_func *c, uint32_t *bytes)
{
    const cg_machine *m = cg_machine_of(c->target);
    const uint32_t chosen = cg_choices_of(c)->blocks;
    if (chosen && size_for(c, chosen) > *bytes)
        *bytes = size_for(c, chosen);
    const uint32_t blocks = c->again_bytes ? cg_blocks_for_again(m, c->again_bytes, cg_threads(c)) : 0;
    if (!blocks || blocks >= m->most_blocks || blocks * cg_threads(c) >= (uint32_t)c->target->threads)
        return;
    const uint32_t own = size_for(c, blocks);
    if (own <= *bytes || cg_leaves_out(c))
        return;
    *bytes = own;
    cg_remark(
        c, NULL, CG_REMARK_Kept, TV_REMARK_PASSED,
        "at most {Blocks=%u} blocks share a multiprocessor, because each takes {Shared=%u} bytes of shared memory, "
        "so that rows that several loops read stay in L2",
        blocks, own);
}

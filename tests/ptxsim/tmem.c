#include "tests/ptxsim/tmem.h"

#include <stdlib.h>
#include <string.h>

enum {
    WRITTEN = 1,
    CORE_WRITTEN = 2, /* by the tensor core */
    PENDING = 4,      /* a store of the warp that has not waited for it */
    READ = 8,
    LOADING = 16, /* a load of the warp that has not waited for it */
    CORE_READ = 32
};

/* ---- state ---- */

ps_tmem *ps_tmem_of(ps_block *block)
{
    if (!block->tmem)
        block->tmem = ps_alloc(1, sizeof *block->tmem);
    return block->tmem;
}

ps_tcgen *ps_tcgen_of(ps_warp *w)
{
    if (!w->tcgen)
        w->tcgen = ps_alloc(1, sizeof *w->tcgen);
    return w->tcgen;
}

void ps_tmem_start(ps_block *block)
{
    if (block->tmem)
        memset(block->tmem, 0, sizeof *block->tmem);
    for (uint32_t i = 0; i < block->warp_count; i++) {
        ps_tcgen *t = block->warps[i].tcgen;
        if (t)
            t->commits = 0, t->op_count = t->load_count = t->store_count = 0;
    }
}

void ps_tmem_free(ps_block *block)
{
    free(block->tmem);
    for (uint32_t i = 0; i < block->warp_count; i++) {
        ps_tcgen *t = block->warps[i].tcgen;
        if (t) {
            free(t->ops);
            free(t->loads);
            free(t->stores);
        }
        free(t);
    }
}

void ps_tmem_end(ps_warp *w)
{
    ps_block *block = w->block;
    unsigned units = 0;
    for (unsigned i = 0; block->tmem && i < 16; i++)
        units += block->tmem->used >> i & 1;
    if (units)
        ps_report(w, NULL, -1, PTXSIM_TENSOR_MEMORY, "a block ends and has not deallocated %u columns of tensor memory",
                  units * PS_TM_UNIT);
    for (uint32_t i = 0; i < block->warp_count; i++) {
        const ps_tcgen *t = block->warps[i].tcgen;
        for (size_t k = 0; t && k < t->op_count; k++)
            if (t->ops[k].commit > t->commits)
                ps_report(&block->warps[i], t->ops[k].in, -1, PTXSIM_TENSOR_MEMORY,
                          "'%s': the block ends and no commit has followed", t->ops[k].in->opcode);
    }
}

/* ---- groups ---- */

void ps_take_cta_group(ps_decoder *d)
{
    d->in->vector = ps_take(d, "cta_group::1") ? 1 : ps_take(d, "cta_group::2") ? 2 : 0;
    d->m->has_tensor_memory = true;
    if (!d->in->vector)
        ps_decode_fail(d, "wants .cta_group::1 or .cta_group::2");
}

bool ps_tm_blocks(ps_block *block, unsigned group, ps_block *blocks[2])
{
    ps_cluster *c = block->cluster;
    uint32_t even = block->rank & ~1u;
    blocks[0] = blocks[1] = block;
    if (group == 1)
        return true;
    if (even + 1 >= c->size)
        return false;
    blocks[0] = &c->blocks[even];
    blocks[1] = &c->blocks[even + 1];
    return true;
}

bool ps_tm_group(ps_warp *w, const ps_insn *in, ps_block *blocks[2])
{
    ps_tmem *tm = ps_tmem_of(w->block);
    if (tm->group && tm->group != in->vector)
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s' has another cta_group than what came before it (%u)",
                  in->opcode, (unsigned)tm->group);
    tm->group = in->vector;
    bool fine = ps_tm_blocks(w->block, in->vector, blocks);
    if (!fine)
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s': the cluster has no pair of blocks here", in->opcode);
    return fine;
}

/* ---- order ---- */

static bool is_own(const ps_warp *w, unsigned warp)
{
    return warp == w->clock_index;
}

/* Are there no tcgen05.fence in the text? The assembler of NVIDIA's dialect inserts them. */
static bool lacks_fences(const ps_warp *w)
{
    return w->sim->module.is_dialect || w->sim->module.is_triton;
}

/* Do fences order what that warp did at that time before w? */
static bool knows(const ps_warp *w, unsigned warp, uint32_t time, unsigned access)
{
    const uint32_t *known = lacks_fences(w) || access & PS_TM_PLAIN ? w->times : w->fence_seen;
    return is_own(w, warp) || known[warp] > time;
}

/* Does w know that this commit of that warp has arrived? */
static bool completed(const ps_warp *w, unsigned warp, uint32_t commit, unsigned access)
{
    uint32_t n = w->block->cluster->warp_count;
    const uint32_t *known = lacks_fences(w) || access & PS_TM_PLAIN ? w->times + (size_t)2 * n : w->fence_seen + n;
    return known[warp] >= commit;
}

static bool core_done(const ps_warp *w, unsigned access, bool core, unsigned warp, uint32_t commit, uint32_t time)
{
    return completed(w, warp, commit, access)
           || (core && knows(w, warp, time, access)); /* the tensor core works in order */
}

static void conflict(ps_warp *w, const ps_insn *in, unsigned row, unsigned column, unsigned access, const char *what)
{
    ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s' %s column %u of lanes %u to %u of tensor memory, which %s",
              in->opcode, access & PS_STORES ? "writes" : "reads", column, row * PS_TM_ROW,
              row * PS_TM_ROW + PS_TM_ROW - 1, what);
}

/* What is wrong with this access of the cell; NULL: nothing. */
static const char *fault_of(const ps_warp *w, const ps_tm_cell *s, unsigned access, bool core)
{
    bool strict = !w->sim->module.is_dialect, own = is_own(w, s->writer), own_read = is_own(w, s->reader);
    if (access & PS_LOADS && !(s->state & (WRITTEN | CORE_WRITTEN)))
        return "nothing has written";
    if (s->state & CORE_WRITTEN && !core_done(w, access, core, s->writer, s->write_commit, s->write_time))
        return "the tensor core may still be writing: no commit was waited for, or no tcgen05.fence::after_thread_sync "
               "followed";
    if (s->state & PENDING && strict && (!own || core || access & PS_LOADS))
        return "a tcgen05.st may still be writing: no tcgen05.wait::st followed it";
    if (s->state & WRITTEN && !knows(w, s->writer, s->write_time, access))
        return "another warp has written, and no tcgen05.fence::before_thread_sync, barrier and "
               "tcgen05.fence::after_thread_sync order the two";
    if (!(access & PS_STORES))
        return NULL;
    if (s->state & LOADING && strict && (!own_read || core))
        return "a tcgen05.ld may still be reading: no tcgen05.wait::ld followed it";
    if (s->state & READ && !knows(w, s->reader, s->read_time, access))
        return "another warp has read, and no tcgen05.fence::before_thread_sync, barrier and "
               "tcgen05.fence::after_thread_sync order the two";
    if (s->state & CORE_READ && !core_done(w, access, core, s->core_reader, s->core_read_commit, s->core_read_time))
        return "the tensor core may still be reading: no commit was waited for";
    return NULL;
}

static void note(ps_warp *w, const ps_insn *in, ps_tm_cell *s, unsigned access, bool core)
{
    uint32_t now = w->times[w->clock_index], commit = ps_tcgen_of(w)->commits + 1;
    uint16_t self = (uint16_t)w->clock_index;
    if (access & PS_STORES) {
        *s = (ps_tm_cell){.write_time = now,
                          .write_commit = commit,
                          .write_pc = (uint32_t)(in - w->sim->module.code),
                          .writer = self,
                          .state = core ? CORE_WRITTEN : WRITTEN | PENDING};
    } else if (core) {
        s->core_reader = self;
        s->core_read_time = now;
        s->core_read_commit = commit;
        s->state |= CORE_READ;
    } else {
        s->reader = self;
        s->read_time = now;
        s->state |= READ | LOADING;
    }
}

static bool is_allocated(const ps_tm_range *r)
{
    if (r->lane + r->lanes > PS_TM_LANES || r->column + r->columns > PS_TM_COLUMNS || !r->columns)
        return false;
    for (unsigned unit = r->column / PS_TM_UNIT; unit <= (r->column + r->columns - 1) / PS_TM_UNIT; unit++)
        if (!(ps_tmem_of(r->block)->used >> unit & 1))
            return false;
    return true;
}

/* The columns that the other block of the pair has deallocated are so for both blocks. */
static bool is_left(const ps_tm_range *r)
{
    unsigned first = r->column / PS_TM_UNIT, last = (r->column + r->columns - 1) / PS_TM_UNIT;
    return ps_tmem_of(r->block)->left & (uint16_t)(ps_mask(last - first + 1) << first);
}

bool ps_tm_touch(ps_warp *w, const ps_insn *in, const ps_tm_range *r, unsigned access, bool core)
{
    if (!is_allocated(r)) {
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY,
                  "'%s': columns %u to %u of lanes %u to %u of tensor memory are not allocated", in->opcode, r->column,
                  r->column + r->columns - 1, r->lane, r->lane + r->lanes - 1);
        return false;
    }
    if (!(access & PS_TM_PLAIN) && is_left(r))
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s': the other block of the pair has deallocated column %u",
                  in->opcode, r->column);
    for (unsigned row = r->lane / PS_TM_ROW; row <= (r->lane + r->lanes - 1) / PS_TM_ROW; row++)
        for (unsigned column = r->column; column < r->column + r->columns; column++) {
            ps_tm_cell *s = &r->block->tmem->cells[row][column];
            const char *fault = fault_of(w, s, access, core);
            if (fault)
                conflict(w, in, row, column, access, fault);
            note(w, in, s, access, core);
        }
    return true;
}

static void settle(ps_warp *w, const ps_tm_range *r, bool stores)
{
    for (unsigned row = r->lane / PS_TM_ROW; row <= (r->lane + r->lanes - 1) / PS_TM_ROW; row++)
        for (unsigned column = r->column; column < r->column + r->columns; column++) {
            ps_tm_cell *s = &ps_tmem_of(r->block)->cells[row][column];
            if (stores && s->state & PENDING && is_own(w, s->writer)) {
                s->write_time = w->times[w->clock_index];
                s->state &= (uint8_t)~PENDING;
            } else if (!stores && s->state & LOADING && is_own(w, s->reader)) {
                s->read_time = w->times[w->clock_index];
                s->state &= (uint8_t)~LOADING;
            }
        }
}

void ps_tm_stored(ps_warp *w, const ps_tm_range *range)
{
    settle(w, range, true);
}

void ps_tm_loaded(ps_warp *w, const ps_tm_range *range)
{
    settle(w, range, false);
}

ps_tm_range ps_tm_at(ps_block *block, uint32_t address, unsigned lanes, unsigned columns)
{
    return (ps_tm_range){block, address >> 16, lanes, address & 0xFFFF, columns};
}

void ps_core_issue(ps_warp *w, const ps_core_op *op)
{
    ps_tcgen *t = ps_tcgen_of(w);
    t->ops = ps_grow(t->ops, t->op_count, &t->op_size, sizeof *t->ops);
    t->ops[t->op_count] = *op;
    t->ops[t->op_count].commit = t->commits + 1;
    t->ops[t->op_count++].group = op->in->vector;
}

/* ---- allocation ---- */

/* tcgen05.alloc.cta_group.sync.aligned{.shared::cta}.b32 [to], columns
   tcgen05.dealloc.cta_group.sync.aligned.b32 address, columns
   tcgen05.relinquish_alloc_permit.cta_group.sync.aligned */
enum { ALLOC, DEALLOC, RELINQUISH };

void ps_decode_tm_alloc(ps_decoder *d)
{
    ps_insn *in = d->in;
    in->mode = d->row->mode;
    in->exec = d->row->exec;
    ps_take_cta_group(d);
    bool sync = ps_take(d, "sync");
    in->aligned = ps_take(d, "aligned");
    if (!sync || !in->aligned)
        ps_decode_fail(d, "wants .sync.aligned");
    ps_space space = in->mode == ALLOC ? ps_take_space(d) : PS_GENERIC;
    in->space = (uint8_t)space;
    if (in->mode != RELINQUISH && !ps_take(d, "b32"))
        ps_decode_fail(d, "wants .b32");
    ps_want_count(d, in->mode == RELINQUISH ? 0 : 2, in->mode == RELINQUISH ? 0 : 2);
    if (in->mode == ALLOC)
        ps_want_address(d, 0);
    else if (in->mode == DEALLOC)
        ps_want(d, 0, PS_B32, false);
    if (in->mode != RELINQUISH)
        ps_want(d, 1, PS_B32, false);
    if (in->mode == ALLOC)
        ps_note_access(d, PS_SHARED, 4);
}

uint64_t ps_uniform(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active)
{
    uint64_t scratch[PS_LANES];
    const uint64_t *row = ps_source(w, in, o, active, scratch);
    unsigned first = 0;
    while (first < 31 && !(active >> first & 1))
        first++;
    PS_FOR_LANES(l, active)
    if (row[l] != row[first])
        ps_report(w, in, (int)l, PTXSIM_TENSOR_MEMORY, "'%s': the operand differs between lanes", in->opcode);
    return row[first];
}

static uint16_t unit_mask(unsigned first, unsigned units)
{
    return (uint16_t)(ps_mask(units) << first);
}

/* The first place, from one that the seed selects, where units are free in all of the blocks; -1: none. */
static int find_free(const ps_warp *w, ps_block *const blocks[2], unsigned units)
{
    uint16_t used = ps_tmem_of(blocks[0])->used | ps_tmem_of(blocks[1])->used;
    unsigned start = (unsigned)((w->sim->launch->seed * 7 + blocks[0]->tmem->given) % 16);
    for (unsigned i = 0; i < 16; i++) {
        unsigned first = (start + i) % 16;
        if (first % units == 0 && first + units <= 16 && !(used & unit_mask(first, units)))
            return (int)first;
    }
    return -1;
}

/* The first unit of the allocation in this block, and in the other block of the pair; -1: it must wait. */
static int allocate(ps_warp *w, const ps_insn *in, ps_block *const blocks[2], unsigned units)
{
    ps_tmem *own = ps_tmem_of(w->block);
    if (own->handed_count) {
        int unit = own->handed[0][0];
        if (own->handed[1][0] != units)
            ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s': the other block of the pair has asked for %u columns",
                      in->opcode, own->handed[1][0] * (unsigned)PS_TM_UNIT);
        own->handed_count--;
        for (unsigned k = 0; k < 2; k++)
            memmove(own->handed[k], own->handed[k] + 1, own->handed_count * sizeof own->handed[k][0]);
        return unit;
    }
    int unit = find_free(w, blocks, units);
    for (unsigned b = 0; unit >= 0 && b < in->vector; b++) {
        ps_tmem *tm = ps_tmem_of(blocks[b]);
        tm->used |= unit_mask((unsigned)unit, units);
        tm->given++;
        if (blocks[b] == w->block || tm->handed_count == 16)
            continue;
        tm->handed[0][tm->handed_count] = (uint16_t)unit;
        tm->handed[1][tm->handed_count++] = (uint16_t)units;
    }
    return unit;
}

/* Columns of an allocation in units; 0 after a report. */
static unsigned take_units(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint32_t columns = (uint32_t)ps_uniform(w, in, &in->operands[1], active);
    if (columns >= PS_TM_UNIT && columns <= PS_TM_COLUMNS && !(columns & (columns - 1)))
        return columns / PS_TM_UNIT;
    ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s': %u columns; powers of two from 32 to 512 are possible",
              in->opcode, (unsigned)columns);
    return 0;
}

ps_flow ps_exec_tm_alloc(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_block *blocks[2];
    uint64_t address[PS_LANES];
    ps_check_aligned(w, in, active);
    unsigned units = take_units(w, in, active);
    if (!ps_tm_group(w, in, blocks) || !units)
        return PS_NEXT;
    if (ps_tmem_of(w->block)->relinquished)
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s': the block has relinquished its permit", in->opcode);
    int unit = allocate(w, in, blocks, units);
    if (unit < 0)
        return PS_WAIT;
    ps_addresses(w, in, &in->operands[0], active, address);
    unsigned lane = 0;
    while (lane < 31 && !(active >> lane & 1))
        lane++;
    uint8_t *at =
        ps_place(w, in, lane, in->space == PS_GENERIC ? PS_GENERIC : PS_SHARED, address[lane], 4, 4, PS_STORES);
    uint32_t column = (uint32_t)unit * PS_TM_UNIT;
    if (at)
        memcpy(at, &column, sizeof column);
    w->sim->progress++;
    return PS_NEXT;
}

/* The first block of a pair that deallocates does so for both: nothing may still be under way in the other one. */
static void leave_pair(ps_warp *w, const ps_insn *in, ps_block *other, unsigned first, uint16_t mask)
{
    ps_tmem *tm = ps_tmem_of(other);
    if (w->sim->module.is_dialect || (tm->used & mask) != mask)
        return;
    tm->left |= mask;
    for (unsigned row = 0; row < PS_TM_ROWS; row++)
        for (unsigned column = first; column < PS_TM_COLUMNS && mask >> column / PS_TM_UNIT & 1; column++) {
            const char *fault = fault_of(w, &tm->cells[row][column], PS_STORES | PS_TM_PLAIN, false);
            if (fault)
                conflict(w, in, row, column, PS_STORES, fault);
        }
}

ps_flow ps_exec_tm_dealloc(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_block *blocks[2];
    ps_check_aligned(w, in, active);
    uint32_t address = (uint32_t)ps_uniform(w, in, &in->operands[0], active);
    unsigned units = take_units(w, in, active), first = (address & 0xFFFF) / PS_TM_UNIT;
    if (!ps_tm_group(w, in, blocks) || !units)
        return PS_NEXT;
    ps_tmem *tm = ps_tmem_of(w->block);
    uint16_t mask = unit_mask(first, units);
    if (address >> 16 || address % PS_TM_UNIT || first + units > 16 || (tm->used & mask) != mask) {
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY, "'%s': 0x%08x is no allocation of so many columns", in->opcode,
                  (unsigned)address);
        return PS_NEXT;
    }
    ps_tm_range all = {w->block, 0, PS_TM_LANES, first * PS_TM_UNIT, units * PS_TM_UNIT};
    ps_tm_touch(w, in, &all, PS_STORES | PS_TM_PLAIN, false);
    for (unsigned row = 0; row < PS_TM_ROWS; row++)
        memset(&tm->cells[row][all.column], 0, all.columns * sizeof tm->cells[row][0]);
    tm->used &= (uint16_t)~mask;
    tm->left &= (uint16_t)~mask;
    if (in->vector > 1)
        leave_pair(w, in, blocks[blocks[0] == w->block], all.column, mask);
    w->sim->progress++;
    return PS_NEXT;
}

ps_flow ps_exec_tm_relinquish(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_block *blocks[2];
    ps_check_aligned(w, in, active);
    if (ps_tm_group(w, in, blocks))
        ps_tmem_of(w->block)->relinquished = true;
    return PS_NEXT;
}

/* Asynchronous copies of 4 to 16 bytes. PTX ISA: cp.async and its groups, cp.async.mbarrier.arrive.

   A copy reads and writes as late as it may: when its thread waits for the group, in an order drawn at random, or when
   an arrival at an mbarrier that follows it happens, which is some time after its instruction, at the latest when all
   others wait. Until then its bytes are marked and hold nothing of use, and whoever touches them is reported. So is a
   copy whose source has become something else since it began, be it by the same thread: it might have read either. */
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/mbarrier.h"

/* ---- decoding ---- */

/* cp.async.ca.shared.global [to], [from], bytes{, read bytes or a predicate that ignores the source}{, policy} */
void ps_decode_cp_async(ps_decoder *d)
{
    ps_insn *in = d->in;
    bool cg = ps_take(d, "cg");
    if (!cg && !ps_take(d, "ca"))
        ps_decode_fail(d, "wants .ca or .cg");
    if (!ps_take(d, "shared") && !ps_take(d, "shared::cta"))
        ps_decode_fail(d, "the target must be .shared");
    if (!ps_take(d, "global"))
        ps_decode_fail(d, "the source must be .global");
    ps_take_cache(d);
    in->exec = ps_exec_cp_async;
    ps_want_count(d, 3, 5);
    ps_want_address(d, 0);
    ps_want_address(d, 1);
    if (d->error[0])
        return;
    const ps_operand *size = &in->operands[2];
    if (size->kind != PS_IMMEDIATE || !(size->value == 16 || (!cg && (size->value == 4 || size->value == 8)))) {
        ps_decode_fail(d, "copies %s bytes", cg ? "16" : "4, 8 or 16");
        return;
    }
    in->vector = (uint8_t)size->value;
    const ps_operand *last = &in->operands[in->count - 1];
    if (in->count > 3 && last->kind == PS_REG && ps_types[last->type].bits == 64) /* the cache policy */
        in->count--;
    if (in->count == 5)
        ps_decode_fail(d, "too many operands");
    if (in->count == 4 && in->operands[3].kind != PS_PREDICATE)
        ps_want(d, 3, PS_B32, false);
    ps_note_access(d, PS_SHARED, in->vector);
}

void ps_decode_cp_group(ps_decoder *d)
{
    ps_insn *in = d->in;
    in->exec = d->row->exec;
    in->mode = d->row->mode;
    ps_take(d, "read");
    ps_want_count(d, in->mode, in->mode);
    if (in->mode && in->operands[0].kind != PS_IMMEDIATE)
        ps_decode_fail(d, "the number of groups must be an immediate");
}

void ps_decode_cp_mbarrier(ps_decoder *d)
{
    d->in->mode = ps_take(d, "noinc");
    d->in->space = (uint8_t)ps_take_space(d);
    ps_take(d, "b64");
    d->in->exec = ps_exec_cp_mbarrier;
    ps_want_count(d, 1, 1);
    ps_want_mbarrier(d, 0);
}

/* ---- copies ---- */

ps_flow ps_exec_cp_async(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t to[PS_LANES], from[PS_LANES], scratch[PS_LANES];
    const uint64_t *read = NULL;
    uint32_t ignored = 0, bytes = in->vector;
    ps_addresses(w, in, &in->operands[0], active, to);
    ps_addresses(w, in, &in->operands[1], active, from);
    if (in->count == 4 && in->operands[3].kind == PS_PREDICATE)
        ignored = ps_predicate(w, in, &in->operands[3], active);
    else if (in->count == 4)
        read = ps_source(w, in, &in->operands[3], active, scratch);
    PS_FOR_LANES(l, active)
    {
        ps_block *block;
        const uint8_t *source = NULL;
        uint32_t offset, length = ignored >> l & 1 ? 0 : read ? (uint32_t)read[l] : bytes;
        if (length > bytes) {
            ps_report(w, in, (int)l, PTXSIM_BAD_VALUE, "'%s' reads %u of %u bytes", in->opcode, (unsigned)length,
                      (unsigned)bytes);
            length = bytes;
        }
        if (!ps_place(w, in, l, PS_SHARED, to[l], bytes, bytes, PS_STORES | PS_UNCHECKED)
            || !ps_shared_offset(w, PS_SHARED, to[l], &block, &offset)
            || (length && !(source = ps_place(w, in, l, PS_GLOBAL, from[l], length, bytes, PS_LOADS))))
            continue;
        ps_shadow_begin(w, in, l, block, offset, bytes);
        w->copies = ps_grow(w->copies, w->copy_count, &w->copy_size, sizeof *w->copies);
        w->copies[w->copy_count++] = (ps_copy){.in = in,
                                               .from = from[l],
                                               .to = offset,
                                               .bytes = bytes,
                                               .read = length,
                                               .thread = (uint16_t)l,
                                               .group = w->copy_group[l]};
        memset(block->shared + offset, PS_POISON, bytes);
        if (source)
            memcpy(w->copies[w->copy_count - 1].was, source, length);
    }
    return PS_NEXT;
}

static void check_source(ps_warp *w, const ps_copy *c, const uint8_t *now)
{
    char place[300];
    if (memcmp(now, c->was, c->read) == 0)
        return;
    ps_name_place(w, c->from, true, place, sizeof place);
    ps_report(w, c->in, c->thread, PTXSIM_ASYNC, "'%s' reads %s, which has been written since the copy began",
              c->in->opcode, place);
}

static void finish_copy(ps_warp *w, const ps_copy *c)
{
    uint8_t *to = w->block->shared + c->to;
    unsigned log2 = w->sim->module.granule_log2;
    memset(to, 0, c->bytes);
    const uint8_t *from = c->read ? ps_place(w, c->in, c->thread, PS_GLOBAL, c->from, c->read, 1, PS_LOADS) : NULL;
    if (from) {
        check_source(w, c, from);
        memcpy(to, from, c->read);
    }
    ps_shadow_end(w, c->in, c->thread, w->block, c->to, c->bytes,
                  c->arrival ? c->arrival_time : w->times[w->clock_index]);
    for (uint32_t g = c->to >> log2; w->sim->module.is_triton && g <= (c->to + c->bytes - 1) >> log2; g++)
        w->block->shadow[g].state |= PS_ASYNC_PROXY;
}

/* Does the first `due` copies, in any order. */
static void finish_first(ps_warp *w, size_t due)
{
    for (size_t i = due; i > 0; i--) {
        size_t pick = (size_t)(ps_random(w->sim) % i);
        finish_copy(w, &w->copies[pick]);
        w->copies[pick] = w->copies[i - 1];
    }
    w->copy_count -= due;
    if (due && w->copy_count)
        memmove(w->copies, w->copies + due, w->copy_count * sizeof *w->copies);
}

/* Brings copy `index` before those that are not due. */
static void bring_forward(ps_warp *w, size_t index, size_t *due)
{
    ps_copy c = w->copies[index];
    w->copies[index] = w->copies[*due];
    w->copies[(*due)++] = c;
}

/* Does the copies of lanes whose group is older than the newest `groups_left` of that lane. A copy that was not
   committed (its group is still open) counts as the newest of all; groups_left 0 with all: everything. */
static void finish_groups(ps_warp *w, uint32_t lanes, uint32_t groups_left, bool open_too)
{
    size_t due = 0;
    for (size_t i = 0; i < w->copy_count; i++) { /* those that are due come first */
        const ps_copy *c = &w->copies[i];
        uint32_t committed = w->copy_group[c->thread];
        if (lanes >> c->thread & 1 && (open_too || (c->group < committed && committed - c->group > groups_left)))
            bring_forward(w, i, &due);
    }
    finish_first(w, due);
}

ps_flow ps_exec_cp_commit(ps_warp *w, const ps_insn *in, uint32_t active)
{
    (void)in;
    PS_FOR_LANES(l, active)
    w->copy_group[l]++;
    return PS_NEXT;
}

/* mode 1: wait_group N. Copies of a group that was not committed are not waited for; wait_all commits first. */
ps_flow ps_exec_cp_wait(ps_warp *w, const ps_insn *in, uint32_t active)
{
    if (!w->copy_count)
        return PS_NEXT;
    if (in->mode)
        finish_groups(w, active, (uint32_t)in->operands[0].value, false);
    else
        finish_groups(w, active, 0, true);
    return PS_NEXT;
}

/* ---- arrivals ---- */

/* An arrival of lanes of a warp that happens when the copies before it have, or that of a commit of tcgen05. */
typedef struct ps_arrival {
    ps_warp *w;
    const ps_insn *in;
    uint32_t lanes, number; /* of the warp's arrivals, from 1 */
    uint32_t commit;        /* of tcgen05; 0: of copies */
    uint32_t *times;        /* what the warp knew */
    uint16_t blocks;        /* the mbarriers of these at the address; 0: as it says */
    uint64_t address[PS_LANES];
} ps_arrival;

/* An arrival that tells what the warp knows now. */
static ps_arrival *add_arrival(ps_warp *w, const ps_arrival *a)
{
    ps_cluster *c = w->block->cluster;
    size_t bytes = c->clock_count * sizeof *a->times;
    c->arrivals = ps_grow(c->arrivals, c->arrival_count, &c->arrival_size, sizeof *c->arrivals);
    ps_arrival *added = &c->arrivals[c->arrival_count++];
    *added = *a;
    added->times = ps_alloc(1, bytes);
    memcpy(added->times, w->times, bytes);
    return added;
}

/* The thread's copies so far, then an arrival; without .noinc the arrival is not one of those that were counted. */
ps_flow ps_exec_cp_mbarrier(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_arrival a = {.w = w, .in = in, .lanes = active, .number = ++w->arrivals};
    ps_addresses(w, in, &in->operands[0], active, a.address);
    PS_FOR_LANES(l, active)
    {
        ps_mbarrier *b = ps_mbarrier_at(w, in, l, (ps_space)in->space, a.address[l]);
        if (!b)
            a.lanes &= ~((uint32_t)1 << l);
        else if (!in->mode)
            b->pending++;
    }
    for (size_t i = 0; i < w->copy_count; i++)
        if (active >> w->copies[i].thread & 1 && !w->copies[i].arrival) {
            w->copies[i].arrival = a.number;
            w->copies[i].arrival_time = w->times[w->clock_index];
        }
    ps_tick(w);
    add_arrival(w, &a);
    return PS_NEXT;
}

void ps_arrive_later(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint16_t blocks, uint32_t commit)
{
    ps_arrival a = {.w = w,
                    .in = in,
                    .lanes = (uint32_t)1 << lane,
                    .number = w->arrivals, /* no copies belong to it */
                    .commit = commit,
                    .blocks = blocks};
    a.address[lane] = address;
    add_arrival(w, &a)->times[2 * w->block->cluster->warp_count + w->clock_index] = commit;
}

/* At the mbarriers of a lane. */
static void arrive_at(const ps_arrival *a, unsigned lane)
{
    ps_cluster *c = a->w->block->cluster;
    uint64_t offset = a->address[lane] & ps_mask(PS_RANK_SHIFT);
    for (uint32_t i = 0; i < (a->blocks ? c->size : 1); i++) {
        if (a->blocks && !(a->blocks >> i & 1))
            continue;
        ps_mbarrier *b =
            a->blocks ? ps_mbarrier_at(a->w, a->in, lane, PS_SHARED_CLUSTER, ((uint64_t)i << PS_RANK_SHIFT) + offset)
                      : ps_mbarrier_at(a->w, a->in, lane, (ps_space)a->in->space, a->address[lane]);
        if (b)
            ps_mbarrier_arrive(a->w, a->in, lane, b, 1, a->times);
    }
}

static void arrive(ps_cluster *c, size_t index)
{
    ps_arrival a = c->arrivals[index];
    ps_warp *w = a.w;
    size_t due = 0;
    memmove(&c->arrivals[index], &c->arrivals[index + 1], (--c->arrival_count - index) * sizeof a);
    for (size_t i = 0; i < w->copy_count && !a.commit; i++)
        if (a.lanes >> w->copies[i].thread & 1 && w->copies[i].arrival && w->copies[i].arrival <= a.number)
            bring_forward(w, i, &due);
    finish_first(w, due);
    if (a.commit)
        ps_commit_arrives(w, a.commit);
    PS_FOR_LANES(l, a.lanes)
    arrive_at(&a, l);
    free(a.times);
}

bool ps_arrivals_progress(ps_cluster *c, bool surely)
{
    if (!c->arrival_count)
        return false;
    uint64_t random = ps_random(c->blocks[0].sim);
    if (!surely && random % 16)
        return false;
    size_t picked = (size_t)((random >> 8) % c->arrival_count), first = 0;
    while (c->arrivals[first].w != c->arrivals[picked].w) /* those of one warp happen in order */
        first++;
    arrive(c, first);
    return true;
}

void ps_copies_finish(ps_warp *w)
{
    ps_cluster *c = w->block->cluster;
    for (size_t i = 0; i < c->arrival_count;)
        if (c->arrivals[i].w == w)
            arrive(c, i);
        else
            i++;
    if (w->copy_count)
        finish_groups(w, PS_ALL, 0, true);
}

void ps_arrivals_forget(ps_cluster *c)
{
    for (size_t i = 0; i < c->arrival_count; i++)
        free(c->arrivals[i].times);
    c->arrival_count = 0;
}

/* Asynchronous copies of 4 to 16 bytes and mbarriers. PTX ISA: cp.async and its groups, cp.async.mbarrier.arrive,
   mbarrier.

   A copy reads and writes as late as it may: when its thread waits for the group, in an order drawn at random. Until
   then its bytes are marked, and whoever touches them is reported. So is a copy whose source has become something else
   since it began, be it by the same thread: it might have read either. */
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/decode.h"

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

static void want_mbarrier(ps_decoder *d, unsigned index)
{
    ps_want_address(d, index);
    if (!d->error[0] && d->in->space == PS_GENERIC && d->in->operands[index].var)
        d->in->space = (uint8_t)d->in->operands[index].var->space;
}

void ps_decode_cp_mbarrier(ps_decoder *d)
{
    d->in->mode = ps_take(d, "noinc");
    d->in->space = (uint8_t)ps_take_space(d);
    ps_take(d, "b64");
    d->in->exec = ps_exec_cp_mbarrier;
    ps_want_count(d, 1, 1);
    want_mbarrier(d, 0);
}

enum { MB_ARRIVE, MB_ARRIVE_DROP, MB_TEST, MB_TRY };

/* mbarrier.init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait, try_wait, pending_count */
void ps_decode_mbarrier(ps_decoder *d)
{
    static const char *const words[] = {"arrive",      "arrive_drop", "init",     "inval", "expect_tx",
                                        "complete_tx", "test_wait",   "try_wait", NULL};
    enum { ARRIVE, DROP, INIT, INVAL, EXPECT, COMPLETE, TEST, TRY };
    ps_insn *in = d->in;
    int op = ps_take_one(d, words);
    in->wide = ps_take(d, "expect_tx"); /* arrive.expect_tx */
    in->high = ps_take(d, "parity");
    in->low = ps_take(d, "noComplete");
    ps_take_order(d);
    in->space = (uint8_t)ps_take_space(d);
    ps_take(d, "b64");
    unsigned first = 0; /* operand that is the address */
    switch (op) {
    case INIT:
        in->exec = ps_exec_mbarrier_init;
        ps_want_count(d, 2, 2);
        break;
    case INVAL:
        in->exec = ps_exec_mbarrier_init;
        in->mode = 1;
        ps_want_count(d, 1, 1);
        break;
    case EXPECT:
    case COMPLETE:
        in->exec = ps_exec_mbarrier_tx;
        in->mode = op == COMPLETE;
        ps_want_count(d, 2, 2);
        break;
    case ARRIVE:
    case DROP:
        in->exec = ps_exec_mbarrier_arrive;
        in->mode = op == DROP ? MB_ARRIVE_DROP : MB_ARRIVE;
        first = in->count && in->operands[0].kind != PS_ADDRESS;
        ps_want_count(d, first + 1 + in->wide, first + 2);
        break;
    case TEST:
    case TRY:
        in->exec = ps_exec_mbarrier_wait;
        in->mode = op == TRY ? MB_TRY : MB_TEST;
        first = 1;
        ps_want_count(d, 3, op == TRY ? 4 : 3);
        break;
    default: ps_decode_fail(d, "the simulator does not know this operation"); return;
    }
    in->first_source = (uint8_t)first;
    if (first && op >= TEST)
        ps_want(d, 0, PS_PRED, false);
    else if (first)
        ps_want(d, 0, PS_B64, false);
    want_mbarrier(d, first);
    for (unsigned i = first + 1; i < in->count && !d->error[0]; i++)
        ps_want(d, i, op >= TEST && i == 2 && !in->high ? PS_B64 : PS_B32, false);
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
    memset(to, 0, c->bytes);
    const uint8_t *from = c->read ? ps_place(w, c->in, c->thread, PS_GLOBAL, c->from, c->read, 1, PS_LOADS) : NULL;
    if (from) {
        check_source(w, c, from);
        memcpy(to, from, c->read);
    }
    ps_shadow_end(w, c->in, c->thread, w->block, c->to, c->bytes);
}

/* Does the copies of lanes whose group is older than the newest `groups_left` of that lane. A copy that was not
   committed (its group is still open) counts as the newest of all; groups_left 0 with all: everything. */
static void finish_groups(ps_warp *w, uint32_t lanes, uint32_t groups_left, bool open_too)
{
    size_t due = 0;
    for (size_t i = 0; i < w->copy_count; i++) { /* those that are due come first */
        ps_copy c = w->copies[i];
        uint32_t committed = w->copy_group[c.thread];
        bool now = lanes >> c.thread & 1 && (open_too || (c.group < committed && committed - c.group > groups_left));
        if (!now)
            continue;
        w->copies[i] = w->copies[due];
        w->copies[due++] = c;
    }
    for (size_t i = due; i > 0; i--) {
        size_t pick = (size_t)(ps_random(w->sim) % i);
        finish_copy(w, &w->copies[pick]);
        w->copies[pick] = w->copies[i - 1];
    }
    memmove(w->copies, w->copies + due, (w->copy_count - due) * sizeof *w->copies);
    w->copy_count -= due;
}

void ps_copies_finish(ps_warp *w, uint32_t lanes, uint32_t groups_left)
{
    if (w->copy_count)
        finish_groups(w, lanes, groups_left, groups_left == 0);
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

/* ---- mbarriers ---- */

/* The initialised mbarrier at a shared offset, or NULL. */
static ps_mbarrier *find_mbarrier(ps_block *block, uint32_t offset)
{
    for (size_t i = 0; i < block->mbarrier_count; i++)
        if (block->mbarriers[i].live && block->mbarriers[i].address == offset)
            return &block->mbarriers[i];
    return NULL;
}

static ps_mbarrier *mbarrier_at(ps_warp *w, const ps_insn *in, unsigned lane, ps_space space, uint64_t address)
{
    ps_block *block;
    uint32_t offset;
    ps_mbarrier *b = NULL;
    if (!ps_place(w, in, lane, space, address, 8, 8, PS_STORES | PS_UNCHECKED))
        return NULL;
    if (ps_shared_offset(w, space, address, &block, &offset))
        b = find_mbarrier(block, offset);
    if (!b)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': there is no initialised mbarrier at 0x%llx", in->opcode,
                  (unsigned long long)address);
    return b;
}

static void init_mbarrier(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint64_t count)
{
    ps_block *block;
    uint32_t offset;
    if (!ps_place(w, in, lane, (ps_space)in->space, address, 8, 8, PS_STORES)
        || !ps_shared_offset(w, (ps_space)in->space, address, &block, &offset))
        return;
    if (count == 0 || count >= 1u << 20)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': %llu arrivals; 1 to 2^20 - 1 are possible", in->opcode,
                  (unsigned long long)count);
    if (find_mbarrier(block, offset))
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': there is an mbarrier at 0x%llx already; .inval comes first",
                  in->opcode, (unsigned long long)address);
    ps_mbarrier *b = NULL;
    for (size_t i = 0; i < block->mbarrier_count && !b; i++)
        if (!block->mbarriers[i].live)
            b = &block->mbarriers[i];
    if (!b) {
        block->mbarriers =
            ps_grow(block->mbarriers, block->mbarrier_count, &block->mbarrier_size, sizeof *block->mbarriers);
        b = &block->mbarriers[block->mbarrier_count++];
        b->times = ps_alloc((size_t)block->cluster->warp_count * 2, sizeof(uint32_t));
    }
    uint32_t *times = b->times;
    memset(times, 0, (size_t)block->cluster->warp_count * 2 * sizeof *times);
    *b = (ps_mbarrier){.address = offset,
                       .live = true,
                       .expected = (int64_t)count,
                       .pending = (int64_t)count,
                       .times = times,
                       .done_times = times + block->cluster->warp_count};
}

/* mode 1: inval */
ps_flow ps_exec_mbarrier_init(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[PS_LANES];
    ps_addresses(w, in, &in->operands[0], active, address);
    const uint64_t *count = in->mode ? NULL : ps_source(w, in, &in->operands[1], active, scratch);
    PS_FOR_LANES(l, active)
    {
        if (count) {
            init_mbarrier(w, in, l, address[l], count[l]);
        } else {
            ps_mbarrier *b = mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
            if (b)
                b->live = false;
        }
    }
    return PS_NEXT;
}

/* Ends the phase when nothing is missing. */
static void mbarrier_step(ps_warp *w, ps_mbarrier *b)
{
    if (b->pending != 0 || b->tx != 0)
        return;
    b->phase++;
    b->pending = b->expected;
    memcpy(b->done_times, b->times, w->block->cluster->warp_count * sizeof *b->times);
    w->sim->progress++;
}

static void mbarrier_arrive(ps_warp *w, const ps_insn *in, unsigned lane, ps_mbarrier *b, uint64_t count)
{
    if ((int64_t)count > b->pending)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': %llu arrivals, and only %lld are pending", in->opcode,
                  (unsigned long long)count, (long long)b->pending);
    else
        b->pending -= (int64_t)count;
    ps_release(w, b->times);
}

ps_flow ps_exec_mbarrier_arrive(ps_warp *w, const ps_insn *in, uint32_t active)
{
    unsigned first = in->first_source;
    uint64_t address[PS_LANES], scratch[PS_LANES], state[PS_LANES] = {0};
    ps_addresses(w, in, &in->operands[first], active, address);
    const uint64_t *number = in->count > first + 1u ? ps_source(w, in, &in->operands[first + 1], active, scratch)
                                                    : NULL;
    PS_FOR_LANES(l, active)
    {
        ps_mbarrier *b = mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
        if (!b)
            continue;
        state[l] = b->phase;
        if (in->wide)
            b->tx += (int64_t)(number[l] & ps_mask(32));
        if (in->mode == MB_ARRIVE_DROP)
            b->expected--;
        mbarrier_arrive(w, in, l, b, in->wide || !number ? 1 : number[l]);
        mbarrier_step(w, b);
    }
    if (first)
        ps_result(w, &in->operands[0], PS_B64, active, state);
    return PS_NEXT;
}

/* expect_tx; mode 1: complete_tx */
ps_flow ps_exec_mbarrier_tx(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[PS_LANES];
    ps_addresses(w, in, &in->operands[0], active, address);
    const uint64_t *bytes = ps_source(w, in, &in->operands[1], active, scratch);
    PS_FOR_LANES(l, active)
    {
        ps_mbarrier *b = mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
        if (!b)
            continue;
        b->tx += in->mode ? -(int64_t)bytes[l] : (int64_t)bytes[l];
        mbarrier_step(w, b);
    }
    return PS_NEXT;
}

void ps_mbarrier_complete_tx(ps_warp *w, const ps_insn *in, ps_block *block, uint32_t offset, uint32_t bytes)
{
    ps_mbarrier *b = find_mbarrier(block, offset);
    if (!b) {
        ps_report(w, in, -1, PTXSIM_MBARRIER, "'%s': the mbarrier at shared byte %u is gone", in->opcode,
                  (unsigned)offset + PS_SHARED_START);
        return;
    }
    b->tx -= bytes;
    ps_release(w, b->times);
    mbarrier_step(w, b);
}

ps_flow ps_exec_mbarrier_wait(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[PS_LANES];
    uint32_t done = 0;
    ps_addresses(w, in, &in->operands[1], active, address);
    const uint64_t *state = ps_source(w, in, &in->operands[2], active, scratch);
    PS_FOR_LANES(l, active)
    {
        ps_mbarrier *b = mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
        if (b && (in->high ? (b->phase & 1) != (state[l] & 1) : b->phase > state[l])) {
            done |= (uint32_t)1 << l;
            ps_acquire(w, b->done_times);
        }
    }
    if (done != active)
        w->yielded = true;
    ps_result_mask(w, &in->operands[0], active, done);
    return PS_NEXT;
}

/* The thread's copies so far, then an arrival; without .noinc the arrival is not one of those that were counted. */
ps_flow ps_exec_cp_mbarrier(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES];
    ps_addresses(w, in, &in->operands[0], active, address);
    finish_groups(w, active, 0, true);
    PS_FOR_LANES(l, active)
    {
        ps_mbarrier *b = mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
        if (!b)
            continue;
        if (!in->mode)
            b->pending++;
        mbarrier_arrive(w, in, l, b, 1);
        mbarrier_step(w, b);
    }
    return PS_NEXT;
}

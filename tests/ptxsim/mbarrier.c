/* mbarriers: counts of arrivals and of bytes, in shared memory of the cluster. PTX ISA: mbarrier. */
#include <string.h>

#include "tests/ptxsim/mbarrier.h"

/* ---- decoding ---- */

void ps_want_mbarrier(ps_decoder *d, unsigned index)
{
    ps_want_address(d, index);
    if (!d->error[0] && d->in->space == PS_GENERIC && d->in->operands[index].var)
        d->in->space = (uint8_t)d->in->operands[index].var->space;
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
    ps_want_mbarrier(d, first);
    for (unsigned i = first + 1; i < in->count && !d->error[0]; i++)
        ps_want(d, i, op >= TEST && i == 2 && !in->high ? PS_B64 : PS_B32, false);
}

/* ---- execution ---- */

ps_mbarrier *ps_mbarrier_find(ps_block *block, uint32_t offset)
{
    for (size_t i = 0; i < block->mbarrier_count; i++)
        if (block->mbarriers[i].live && block->mbarriers[i].address == offset)
            return &block->mbarriers[i];
    return NULL;
}

ps_mbarrier *ps_mbarrier_at(ps_warp *w, const ps_insn *in, unsigned lane, ps_space space, uint64_t address)
{
    ps_block *block;
    uint32_t offset;
    ps_mbarrier *b = NULL;
    if (!ps_place(w, in, lane, space, address, 8, 8, PS_STORES | PS_UNCHECKED))
        return NULL;
    if (ps_shared_offset(w, space, address, &block, &offset))
        b = ps_mbarrier_find(block, offset);
    if (!b)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': there is no initialised mbarrier at 0x%llx", in->opcode,
                  (unsigned long long)address);
    else if (block != w->block && !w->sim->module.is_dialect && w->times[b->maker] <= b->made)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER,
                  "'%s': no barrier comes between this and the initialisation of the mbarrier by another block",
                  in->opcode);
    return b;
}

static void init_mbarrier(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint64_t count)
{
    ps_block *block;
    uint32_t offset;
    if (!ps_place(w, in, lane, (ps_space)in->space, address, 8, 8, PS_STORES)
        || !ps_shared_offset(w, (ps_space)in->space, address, &block, &offset))
        return;
    bool unused = count == 0 && w->sim->module.is_dialect; /* in blocks that are not notified */
    if ((count == 0 && !unused) || count >= 1u << 20)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': %llu arrivals; 1 to 2^20 - 1 are possible", in->opcode,
                  (unsigned long long)count);
    ps_mbarrier *b = ps_mbarrier_find(block, offset);
    if (b && !w->sim->module.is_triton)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': there is an mbarrier at 0x%llx already; .inval comes first",
                  in->opcode, (unsigned long long)address);
    for (size_t i = 0; i < block->mbarrier_count && !b; i++)
        if (!block->mbarriers[i].live)
            b = &block->mbarriers[i];
    if (!b) {
        block->mbarriers =
            ps_grow(block->mbarriers, block->mbarrier_count, &block->mbarrier_size, sizeof *block->mbarriers);
        b = &block->mbarriers[block->mbarrier_count++];
        b->times = ps_alloc((size_t)block->cluster->clock_count * 3, sizeof(uint32_t));
    }
    uint32_t *times = b->times;
    memset(times, 0, (size_t)block->cluster->clock_count * 3 * sizeof *times);
    *b = (ps_mbarrier){.address = offset,
                       .live = true,
                       .maker = w->clock_index,
                       .made = w->times[w->clock_index],
                       .expected = (int64_t)count,
                       .pending = (int64_t)count,
                       .times = times,
                       .done_times = times + block->cluster->clock_count,
                       .seen = times + block->cluster->clock_count * 2};
}

/* NVIDIA's compiler writes it before the first .init, too. */
static void end_mbarrier(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address)
{
    ps_block *block;
    uint32_t offset;
    ps_mbarrier *b = NULL;
    if (!w->sim->module.is_dialect)
        b = ps_mbarrier_at(w, in, lane, (ps_space)in->space, address);
    else if (ps_shared_offset(w, (ps_space)in->space, address, &block, &offset))
        b = ps_mbarrier_find(block, offset);
    if (b)
        b->live = false;
}

/* mode 1: inval */
ps_flow ps_exec_mbarrier_init(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[PS_LANES];
    ps_addresses(w, in, &in->operands[0], active, address);
    const uint64_t *count = in->mode ? NULL : ps_source(w, in, &in->operands[1], active, scratch);
    PS_FOR_LANES(l, active)
    {
        if (count)
            init_mbarrier(w, in, l, address[l], count[l]);
        else
            end_mbarrier(w, in, l, address[l]);
    }
    return PS_NEXT;
}

/* Is it neither the text of NVIDIA's tile compiler nor that of stock Triton? */
static bool is_strict(const ps_warp *w)
{
    return !w->sim->module.is_dialect && !w->sim->module.is_triton;
}

/* Has every warp that has waited for the last phase done so before this one can end? One that waits later would take
   this phase's parity for that of a phase that is not over. */
static void check_seen(ps_warp *w, const ps_insn *in, ps_mbarrier *b)
{
    bool is_ordered = true;
    for (uint32_t i = 0; i < w->block->cluster->clock_count; i++) {
        is_ordered = is_ordered && (!b->seen[i] || b->times[i] > b->seen[i]);
        b->seen[i] = 0;
    }
    if (!is_ordered && is_strict(w))
        ps_report(w, in, -1, PTXSIM_MBARRIER,
                  "'%s': this phase may end before a warp that waits for the one before it has seen that", in->opcode);
}

/* Ends the phase when nothing is missing. */
static void mbarrier_step(ps_warp *w, const ps_insn *in, ps_mbarrier *b)
{
    if (b->pending != 0 || b->tx != 0)
        return;
    check_seen(w, in, b);
    b->phase++;
    b->was_other = b->from_other;
    b->from_other = false;
    b->pending = b->expected;
    memcpy(b->done_times, b->times, w->block->cluster->clock_count * sizeof *b->times);
    w->sim->progress++;
}

void ps_mbarrier_arrive(ps_warp *w, const ps_insn *in, unsigned lane, ps_mbarrier *b, uint64_t count,
                        const uint32_t *times)
{
    if ((int64_t)count > b->pending)
        ps_report(w, in, (int)lane, PTXSIM_MBARRIER, "'%s': %llu arrivals, and only %lld are pending", in->opcode,
                  (unsigned long long)count, (long long)b->pending);
    else
        b->pending -= (int64_t)count;
    if (times)
        ps_tell(w, b->times, times);
    else
        ps_release(w, b->times);
    mbarrier_step(w, in, b);
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
        ps_mbarrier *b = ps_mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
        if (!b)
            continue;
        state[l] = b->phase;
        if (in->wide)
            b->tx += (int64_t)(number[l] & ps_mask(32));
        if (in->mode == MB_ARRIVE_DROP)
            b->expected--;
        b->from_other = b->from_other || (in->beyond_block && ps_mbarrier_find(w->block, b->address) != b);
        ps_mbarrier_arrive(w, in, l, b, in->wide || !number ? 1 : number[l], NULL);
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
        ps_mbarrier *b = ps_mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
        if (!b)
            continue;
        b->tx += in->mode ? -(int64_t)bytes[l] : (int64_t)bytes[l];
        mbarrier_step(w, in, b);
    }
    return PS_NEXT;
}

void ps_mbarrier_complete_tx(ps_warp *w, const ps_insn *in, ps_block *block, uint32_t offset, uint32_t bytes)
{
    ps_mbarrier *b = ps_mbarrier_find(block, offset);
    if (!b) {
        ps_report(w, in, -1, PTXSIM_MBARRIER, "'%s': the mbarrier at shared byte %u is gone", in->opcode,
                  (unsigned)offset + PS_SHARED_START);
        return;
    }
    b->tx -= bytes;
    ps_release(w, b->times);
    mbarrier_step(w, in, b);
}

ps_flow ps_exec_mbarrier_wait(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[PS_LANES];
    uint32_t done = 0;
    ps_addresses(w, in, &in->operands[1], active, address);
    const uint64_t *state = ps_source(w, in, &in->operands[2], active, scratch);
    PS_FOR_LANES(l, active)
    {
        ps_mbarrier *b = ps_mbarrier_at(w, in, l, (ps_space)in->space, address[l]);
        if (b && (in->high ? (b->phase & 1) != (state[l] & 1) : b->phase > state[l])) {
            done |= (uint32_t)1 << l;
            ps_acquire(w, b->done_times);
            b->seen[w->clock_index] = in->high ? w->times[w->clock_index] : 0;
            if (b->was_other && !in->beyond_block && is_strict(w))
                ps_report(w, in, (int)l, PTXSIM_MBARRIER, "'%s' acquires in the block, but another block has arrived",
                          in->opcode);
        }
    }
    if (done != active)
        w->yielded = true;
    if (done != active && in->mode == MB_TRY && w->sim->uses)
        return PS_WAIT; /* turns of a loop that waits depend on the order in which warps run here */
    ps_result_mask(w, &in->operands[0], active, done);
    return PS_NEXT;
}

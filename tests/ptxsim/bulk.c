/* cp.async.bulk: copies that a thread starts and that happen when they like, until an mbarrier or a group tells that
   they have. Multiples of 16 bytes, between global memory and shared memory of the cluster. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/ptxsim/bulk.h"

enum { TO_SHARED_FROM_GLOBAL, TO_GLOBAL_FROM_SHARED, TO_SHARED_FROM_SHARED };

/* cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [mbarrier]
   cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes */
void ps_decode_cp_bulk(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take_space(d);
    ps_take_space(d);
    /* the first of the two spaces in the text is the target */
    const char *global = strstr(d->opcode, ".global"), *shared = strstr(d->opcode, ".shared");
    bool to_global = global && shared && global < shared, from_global = global && !to_global;
    in->mode = to_global ? TO_GLOBAL_FROM_SHARED : from_global ? TO_SHARED_FROM_GLOBAL : TO_SHARED_FROM_SHARED;
    bool group = ps_take(d, "bulk_group"), counts = ps_take(d, "mbarrier::complete_tx::bytes");
    ps_take_cache(d);
    in->exec = ps_exec_cp_bulk;
    unsigned wanted = counts ? 4 : 3;
    if (in->count == wanted + 1 && in->operands[wanted].kind == PS_REG
        && ps_types[in->operands[wanted].type].bits == 64)
        in->count--; /* the cache policy */
    ps_want_count(d, wanted, wanted);
    ps_want_address(d, 0);
    ps_want_address(d, 1);
    ps_want(d, 2, PS_U32, false);
    if (counts)
        ps_want_address(d, 3);
    if (!shared || group == counts || group != to_global)
        ps_decode_fail(
            d, "the simulator knows copies to shared memory with an mbarrier, and to global memory with a group");
    ps_note_access(d, PS_SHARED, 16);
    ps_note_access(d, PS_GLOBAL, 16);
}

/* ---- places ---- */

static bool shared_place(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t bytes, uint32_t align,
                         ps_block **block, uint32_t *offset)
{
    return ps_place(w, in, lane, PS_SHARED_CLUSTER, address, bytes, align, PS_STORES | PS_UNCHECKED)
           && ps_shared_offset(w, PS_SHARED_CLUSTER, address, block, offset);
}

static bool resolve(ps_transfer *t, uint64_t to, uint64_t from, uint64_t mbarrier)
{
    ps_warp *w = t->w;
    uint32_t offset = 0;
    bool fine;
    if (t->in->mode == TO_GLOBAL_FROM_SHARED) {
        t->to = to;
        fine = ps_place(w, t->in, t->lane, PS_GLOBAL, to, t->bytes, 16, PS_STORES | PS_UNCHECKED) != NULL;
    } else {
        fine = shared_place(w, t->in, t->lane, to, t->bytes, 16, &t->to_block, &offset);
        t->to = offset;
        fine = fine && shared_place(w, t->in, t->lane, mbarrier, 8, 8, &t->mbarrier_block, &t->mbarrier);
    }
    if (t->in->mode == TO_SHARED_FROM_GLOBAL) {
        t->from = from;
        return fine && ps_place(w, t->in, t->lane, PS_GLOBAL, from, t->bytes, 16, PS_LOADS) != NULL;
    }
    fine = fine && shared_place(w, t->in, t->lane, from, t->bytes, 16, &t->from_block, &offset);
    t->from = offset;
    return fine;
}

/* ---- starting and finishing ---- */

static bool is_from_global(const ps_transfer *t)
{
    return t->to_block && !t->from_block;
}

/* The bytes that it brings from global memory, to where it brings them. */
static void bring(const ps_transfer *t, uint8_t *to)
{
    const uint8_t *from = t->is_box ? NULL : ps_place(t->w, t->in, t->lane, PS_GLOBAL, t->from, t->bytes, 16, PS_LOADS);
    if (t->is_box)
        ps_tensor_move(t, to);
    else if (from)
        memmove(to, from, t->bytes);
}

void ps_transfer_start(const ps_transfer *t)
{
    ps_cluster *c = t->w->block->cluster;
    ps_use_bytes(t->w, t->in, t->bytes);
    if (t->to_block) {
        ps_shadow_begin(t->w, t->in, t->lane, t->to_block, (uint32_t)t->to, t->bytes);
        memset(t->to_block->shared + t->to, PS_POISON, t->bytes);
    }
    c->transfers = ps_grow(c->transfers, c->transfer_count, &c->transfer_size, sizeof *c->transfers);
    c->transfers[c->transfer_count] = *t;
    if (is_from_global(t) && !t->w->sim->uses) {
        uint8_t *now = ps_alloc(t->bytes, 1);
        bring(t, now);
        c->transfers[c->transfer_count].was = (uint32_t)crc32(0, now, t->bytes);
        free(now);
    }
    c->transfer_count++;
}

ps_flow ps_exec_cp_bulk(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t to[PS_LANES], from[PS_LANES], mbarrier[PS_LANES] = {0}, scratch[PS_LANES];
    ps_addresses(w, in, &in->operands[0], active, to);
    ps_addresses(w, in, &in->operands[1], active, from);
    const uint64_t *bytes = ps_source(w, in, &in->operands[2], active, scratch);
    if (in->count == 4)
        ps_addresses(w, in, &in->operands[3], active, mbarrier);
    PS_FOR_LANES(l, active)
    {
        ps_transfer t = {.in = in, .w = w, .lane = l, .bytes = (uint32_t)bytes[l], .group = w->bulk_group[l]};
        if (t.bytes == 0 || t.bytes % 16)
            ps_report(w, in, (int)l, PTXSIM_BAD_VALUE, "'%s' copies %u bytes, not a multiple of 16", in->opcode,
                      (unsigned)t.bytes);
        else if (resolve(&t, to[l], from[l], mbarrier[l])) {
            if (t.from_block) {
                ps_shadow_touch(w, in, l, t.from_block, (uint32_t)t.from, t.bytes, PS_LOADS);
                if (t.from_block == w->block)
                    ps_proxy_read(w, in, w->block, (uint32_t)t.from, t.bytes);
            }
            ps_transfer_start(&t);
        }
    }
    return PS_NEXT;
}

static void finish(ps_cluster *c, size_t index)
{
    ps_transfer t = c->transfers[index];
    c->transfers[index] = c->transfers[--c->transfer_count];
    uint8_t *to = t.to_block ? t.to_block->shared + t.to
                  : t.is_box ? NULL
                             : ps_place(t.w, t.in, t.lane, PS_GLOBAL, t.to, t.bytes, 16, PS_STORES);
    if (t.is_box && t.from_block) {
        ps_tensor_move(&t, t.from_block->shared + t.from);
    } else if (is_from_global(&t)) {
        bring(&t, to);
        if (!t.w->sim->uses && crc32(0, to, t.bytes) != t.was)
            ps_report(t.w, t.in, (int)t.lane, PTXSIM_ASYNC, "'%s' reads what has been written since the copy began",
                      t.in->opcode);
    } else if (to) {
        memmove(to, t.from_block->shared + t.from, t.bytes);
    }
    if (t.from_block)
        ps_shadow_touch(t.w, t.in, t.lane, t.from_block, (uint32_t)t.from, t.bytes, PS_LOADS);
    if (t.to_block) {
        unsigned log2 = t.w->sim->module.granule_log2;
        ps_shadow_end(t.w, t.in, t.lane, t.to_block, (uint32_t)t.to, t.bytes, t.w->times[t.w->clock_index]);
        for (uint32_t g = (uint32_t)t.to >> log2; g <= ((uint32_t)t.to + t.bytes - 1) >> log2; g++)
            t.to_block->shadow[g].state |= PS_ASYNC_PROXY;
        ps_mbarrier_complete_tx(t.w, t.in, t.mbarrier_block, t.mbarrier, t.bytes);
    }
    t.w->sim->progress++;
}

bool ps_transfers_progress(ps_cluster *c, bool surely)
{
    if (!c->transfer_count)
        return false;
    uint64_t random = ps_random(c->blocks[0].sim);
    if (!surely && random % 16)
        return false;
    finish(c, (size_t)((random >> 8) % c->transfer_count));
    return true;
}

ps_flow ps_exec_bulk_commit(ps_warp *w, const ps_insn *in, uint32_t active)
{
    (void)in;
    PS_FOR_LANES(l, active)
    w->bulk_group[l]++;
    return PS_NEXT;
}

/* At the end of a cluster. Its shared memory goes away, so nothing may still read or write it. */
void ps_transfers_finish(ps_cluster *c)
{
    while (c->transfer_count) {
        const ps_transfer *t = &c->transfers[0];
        ps_report(t->w, t->in, (int)t->lane, PTXSIM_ASYNC, "'%s': its block ends and nobody has waited for the copy",
                  t->in->opcode);
        finish(c, 0);
    }
}

/* Copies of groups older than the newest N of a thread happen now; .read, which is satisfied earlier, is taken the
   same. */
ps_flow ps_exec_bulk_wait(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_cluster *c = w->block->cluster;
    uint64_t left = in->operands[0].value;
    for (size_t i = 0; i < c->transfer_count;) {
        const ps_transfer *t = &c->transfers[i];
        uint32_t committed = w->bulk_group[t->lane];
        if (t->w == w && active >> t->lane & 1 && !t->to_block && t->group < committed && committed - t->group > left)
            finish(c, i);
        else
            i++;
    }
    return PS_NEXT;
}

/* Where the run is. */
#include <string.h>

#include "bytecode/number/number.h"
#include "vm/debug/state.h"

static int64_t integer_of(const vm_debug *d, const vm_started *s, const bc_value *value)
{
    vm_debug_value v;
    if (!dbg_locate(d, s, value, &v))
        return 0;
    uint64_t bits = vm_debug_element(&v, 0);
    return bc_int_sign_extend(bits, bc_kind_bits(v.kind));
}

/* Of the innermost `for` around the op that comes next. */
static void find_round(const vm_debug *d, const vm_started *s, vm_debug_place *out)
{
    uint32_t p = out->position;
    while (p != DBG_NONE && (d->parents[p] == DBG_NONE || d->ops[d->parents[p]]->opcode != OP_for))
        p = d->parents[p];
    if (p == DBG_NONE)
        return;
    const bc_op *loop = d->ops[d->parents[p]];
    bc_value **bounds = bc_operands(loop);
    int64_t at = integer_of(d, s, &bc_regions(loop)[0]->args[0]), from = integer_of(d, s, bounds[0]);
    int64_t step = integer_of(d, s, bounds[2]);
    out->in_for = step != 0;
    out->rounds = step ? ((uint64_t)at - (uint64_t)from) / (uint64_t)step : 0;
}

void vm_debug_where(const vm_debug *d, vm_debug_place *out)
{
    const vm_started *s = dbg_shown(d);
    const vm_probe *probe = s ? dbg_probe_of(s) : NULL;
    *out = (vm_debug_place){.state = d->trapped ? VM_DEBUG_TRAPPED
                                     : s        ? VM_DEBUG_STOPPED
                                                : VM_DEBUG_ENDED,
                            .time = d->probes.count,
                            .position = probe ? probe->position : DBG_NONE};
    if (!s)
        return;
    memcpy(out->block, s->worker.frame.block, sizeof out->block);
    find_round(d, s, out);
}

bool vm_debug_block_at(const vm_debug *d, size_t index, vm_debug_block *out)
{
    const vm_started *s = d->current;
    size_t first = s ? 1 : 0;
    if (!s || index >= first) {
        s = d->turns.first;
        for (size_t i = first; s && i < index; i++)
            s = s->later;
    }
    if (!s)
        return false;
    const vm_probe *probe = dbg_probe_of(s);
    *out = (vm_debug_block){.position = probe ? probe->position : DBG_NONE,
                            .runs = s == d->current,
                            .chosen = s == dbg_shown(d)};
    memcpy(out->block, s->worker.frame.block, sizeof out->block);
    return true;
}

void vm_debug_block_counts(const vm_debug *d, uint64_t *ended, uint64_t *all, uint64_t *under_way)
{
    *ended = d->run.blocks_done;
    *all = d->run.blocks;
    *under_way = d->turns.under_way;
}

bool vm_debug_choose(vm_debug *d, const uint32_t block[3])
{
    vm_started *s = d->current;
    if (s && memcmp(s->worker.frame.block, block, sizeof s->worker.frame.block) == 0) {
        d->chosen = NULL;
        return true;
    }
    for (s = d->turns.first; s; s = s->later)
        if (memcmp(s->worker.frame.block, block, sizeof s->worker.frame.block) == 0) {
            d->chosen = s;
            return true;
        }
    return false;
}

void vm_debug_snapshots(const vm_debug *d, size_t *count, size_t *bytes)
{
    *count = d->snapshot_count;
    *bytes = d->pages.held + d->snapshot_bytes;
}

/* Going to a time: the newest snapshot before it is restored, and the run repeated from there. */
#include "vm/debug/state.h"

dbg_outcome dbg_goto(vm_debug *d, uint64_t time)
{
    size_t index = dbg_snapshot_before(d, time);
    if (time < d->probes.count || d->snapshots[index]->time > d->probes.count)
        dbg_restore(d, index);
    else if (time == d->probes.count && d->current)
        return d->trapped ? DBG_TRAPPED : DBG_AT_TIME;
    return dbg_run(d, time, d->cold);
}

/* The instruction before an op at which a debugger may stop. */
#include "vm/run/probe.h"

#include "vm/run/schedule.h"

const vm_inst *vm_probe_run(vm_frame *f, const vm_inst *inst)
{
    vm_probes *p = f->run->probes;
    if (TV_LIKELY(p->count < p->until && !p->hot[((const vm_probe *)inst)->position]
                  && (int32_t)(f->strong_accesses - p->turn_end) < 0)) {
        p->count++;
        return inst->next;
    }
    p->at = inst;
    return NULL;
}

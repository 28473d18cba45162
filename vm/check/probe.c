/* Compiling probes: what a debugger needs in the code of an entry. */
#include "vm/check/probe.h"

#include "vm/compile/storage.h"

void vm_emit_probe(vm_emit *e, const bc_op *op)
{
    if (e->lanes || e->quiet)
        return;
    vm_probe *probe = vm_new_inst(e, op, vm_probe_run, vm_probe);
    probe->position = e->position;
    vm_append_to(e, e->cur, &probe->head);
    e->at = e->cur;
    probe->access = vm_emit_access_place(e, op);
    if (!e->failed)
        e->probes[e->position] = probe;
}

void vm_place_values(vm_emit *e)
{
    vm_placed *placed = bc_new(e->arena, vm_placed, e->f->value_count + 1u);
    if (!placed) {
        e->failed = true;
        return;
    }
    for (uint32_t i = 0; i < e->f->value_count; i++) {
        const vm_value *v = &e->values[i];
        bool tile = v->form == VM_STORED;
        if (!tile && v->form != VM_RECORD)
            continue;
        placed[i] = (vm_placed){.form = tile ? VM_PLACED_TILE : VM_PLACED_RECORD,
                                .elem_bytes = v->elem_bytes,
                                .at = vm_storage_place(e, v->storage, v->offset),
                                .layout = v->layout};
    }
    e->code->placed = placed;
    e->code->probes = e->probes;
}

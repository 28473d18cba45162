/* Notes in the code of a batch: one before each load; before the first store those of all stores, and the commit. */
#include "vm/compile/batch.h"

#include "vm/compile/access.h"
#include "vm/compile/widen.h"

static void set_note(const vm_widened *w, uint32_t slot, vm_note *note)
{
    const vm_wide_access *a = &w->accesses[slot];
    note->slot = slot;
    note->order = a->order;
    note->is_store = a->is_store;
    note->is_wide = a->is_wide;
    note->count = w->count;
}

static const vm_note *emit_view_note(vm_emit *e, uint32_t slot, const bc_value *view, bc_range indices)
{
    const vm_wide_access *a = &e->widened->accesses[slot];
    bc_value *const *operands = bc_operands(a->op) + indices.first;
    vm_need_indices(e, operands, indices.count);
    vm_view_note *note = vm_new_inst(e, a->op, vm_view_note_run, vm_view_note);
    set_note(e->widened, slot, &note->note);
    note->dim = a->dim;
    note->own = a->extent;
    vm_bind_access(e, &note->note.head, &note->info, view, operands, BC_MemoryOrderingSemantics_weak);
    vm_append(e, &note->note.head);
    return &note->note;
}

static const vm_note *emit_pointer_note(vm_emit *e, uint32_t slot, const bc_value *pointers, const bc_value *mask)
{
    const vm_wide_access *a = &e->widened->accesses[slot];
    vm_need_packed(e, pointers);
    if (mask)
        vm_need_packed(e, mask);
    vm_pointer_note *note = vm_new_inst(e, a->op, vm_pointer_note_run, vm_pointer_note);
    set_note(e->widened, slot, &note->note);
    note->n = vm_count(pointers);
    note->bytes = bc_kind_memory_bytes((bc_kind)pointers->type->elem->elem->kind);
    note->has_mask = mask != NULL;
    vm_read_packed(e, &note->note.head, &note->pointers, pointers);
    if (mask)
        vm_read_packed(e, &note->note.head, &note->mask, mask);
    vm_append(e, &note->note.head);
    return &note->note;
}

static const vm_note *emit_note(vm_emit *e, uint32_t slot)
{
    const bc_op *op = e->widened->accesses[slot].op;
    switch (op->opcode) {
    case OP_load_view_tko:
        return emit_view_note(e, slot, bc_operand(op, F_load_view_tko_view),
                              bc_operand_range(op, F_load_view_tko_index));
    case OP_store_view_tko:
        return emit_view_note(e, slot, bc_operand(op, F_store_view_tko_view),
                              bc_operand_range(op, F_store_view_tko_index));
    case OP_load_ptr_tko:
        return emit_pointer_note(e, slot, bc_operand(op, F_load_ptr_tko_source), bc_operand(op, F_load_ptr_tko_mask));
    default:
        return emit_pointer_note(e, slot, bc_operand(op, F_store_ptr_tko_destination),
                                 bc_operand(op, F_store_ptr_tko_mask));
    }
}

static void emit_commit(vm_emit *e)
{
    const vm_widened *w = e->widened;
    for (uint32_t i = 0; i < w->access_count; i++)
        if (w->accesses[i].is_store)
            e->notes[i] = emit_note(e, i);
    vm_commit *commit = vm_new_inst(e, NULL, vm_commit_run, vm_commit);
    const vm_note **notes = vm_code_bytes(e, VM_BATCH_ACCESSES * sizeof *notes);
    for (uint32_t i = 0; i < w->access_count; i++) {
        notes[i] = e->notes[i];
        e->failed |= !notes[i];
    }
    commit->count = w->access_count;
    commit->notes = notes;
    vm_append(e, &commit->head);
}

void vm_emit_notes(vm_emit *e, const bc_op *op)
{
    const vm_widened *w = e->widened;
    for (uint32_t i = 0; i < w->access_count; i++) {
        if (w->accesses[i].op != op)
            continue;
        if (!w->accesses[i].is_store)
            e->notes[i] = emit_note(e, i);
        else if (!e->committed)
            emit_commit(e);
        e->committed |= w->accesses[i].is_store;
    }
}

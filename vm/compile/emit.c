/* Values while an entry is compiled: where each lies, how instructions read and write it, copies in packed order. */
#include "vm/compile/emit.h"

#include "vm/compile/compile.h"
#include "vm/compile/group.h"
#include "vm/compile/storage.h"

/* Packed copies larger than this are made where they are needed, not in the preamble. */
enum { COPY_ONCE_BYTES = 256 * 1024 };

/* ---- values ---- */

/* Copies of what is not packed where someone needs it so. */
typedef struct copy_inst {
    vm_inst head;
    size_t from, to;
    uint8_t bytes;
    vm_layout layout;
} copy_inst;

static const vm_inst *copy_run(vm_frame *f, const vm_inst *inst)
{
    const copy_inst *c = (const copy_inst *)inst;
    vm_copy_layout(f->code->kernels, &c->layout, c->bytes, vm_at(f, c->from), vm_at(f, c->to));
    return inst->next;
}

void vm_need_stored(vm_emit *e, const bc_value *v)
{
    vm_value *x = vm_value_of(e, v);
    if (x->form == VM_NODE)
        vm_close_group(e, x->group);
}

/* The copy is made once, where the value is; a large one that would go to the preamble, where it is needed. */
void vm_need_packed(vm_emit *e, const bc_value *v)
{
    vm_need_stored(e, v);
    vm_value *x = vm_value_of(e, v);
    if (x->form != VM_STORED || vm_has_packed(e, x) || vm_layout_is_packed(&x->layout) || e->failed)
        return;
    size_t bytes = (size_t)x->elem_bytes << x->layout.bits;
    bool here = bytes > COPY_ONCE_BYTES && x->home != e->at;
    vm_ctx *home = here ? e->at : x->home;
    vm_storage to = vm_new_storage(e, bytes, home);
    copy_inst *inst = vm_new_inst(e, NULL, copy_run, copy_inst);
    inst->bytes = x->elem_bytes;
    inst->layout = x->layout;
    vm_bind(e, &inst->head, &inst->from, x->storage, x->offset, VM_READ);
    vm_bind(e, &inst->head, &inst->to, to, 0, VM_WRITE);
    if (here)
        vm_append_to(e, e->at, &inst->head);
    else
        vm_insert_after(e, home, x->maker, &inst->head);
    x->packed = to;
    x->packed_for = here ? e->position : UINT32_MAX;
    x->packer = &inst->head;
}

void vm_read(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *v)
{
    vm_value *x = vm_value_of(e, v);
    vm_bind(e, inst, field, x->storage, x->offset, VM_READ);
    if (x->form == VM_ROWS)
        vm_bind(e, inst, NULL, x->staging, 0, VM_READ);
}

void vm_read_packed(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *v)
{
    vm_value *x = vm_value_of(e, v);
    if (vm_has_packed(e, x))
        vm_bind(e, inst, field, x->packed, 0, VM_READ);
    else
        vm_bind(e, inst, field, x->storage, x->offset, VM_READ);
}

void vm_set_stored(vm_emit *e, const bc_value *v, vm_storage storage, const vm_layout *layout, vm_inst *maker)
{
    vm_value *x = vm_value_of(e, v);
    x->form = VM_STORED;
    x->elem_bytes = v->type->kind == BC_TOKEN ? VM_TOKEN_BYTES : (uint8_t)vm_elem_bytes(bc_elem_kind(v->type));
    x->layout = *layout;
    x->storage = storage;
    x->offset = 0;
    x->packed = VM_NO_STORAGE;
    x->home = e->at;
    x->maker = maker;
}

void vm_write(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result)
{
    vm_layout layout = vm_layout_packed(vm_type_bits(result->type));
    size_t bytes = (size_t)vm_elem_bytes(bc_elem_kind(result->type)) << layout.bits;
    vm_storage storage = vm_new_storage(e, bytes, e->at);
    vm_set_stored(e, result, storage, &layout, inst);
    vm_bind(e, inst, field, storage, 0, VM_WRITE);
}

void vm_write_record(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result, size_t bytes)
{
    vm_value *x = vm_value_of(e, result);
    x->form = VM_RECORD;
    x->storage = vm_new_storage(e, bytes, e->at);
    x->home = e->at;
    x->maker = inst;
    vm_bind(e, inst, field, x->storage, 0, VM_WRITE);
}

void vm_alias(vm_emit *e, const bc_value *result, const bc_value *source, const vm_layout *layout, size_t offset)
{
    vm_value *x = vm_value_of(e, result);
    const vm_value planned = *x; /* what the look ahead knows of its uses stays its own */
    *x = *vm_value_of(e, source);
    x->uses = planned.uses;
    x->last_use = planned.last_use;
    x->rows_ok = planned.rows_ok;
    x->mma_only = planned.mma_only;
    x->offset += offset;
    if (layout) {
        x->layout = *layout;
        x->packed = VM_NO_STORAGE;
    }
}

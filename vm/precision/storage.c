/* Assigns the storage of exact tiles while an entry is compiled, and binds it to instructions. A tile without such
   storage counts as exact: constants, parameters, and floats made from bits. */
#include "vm/precision/precision.h"

#include "vm/compile/compile.h"

/* Of a value. */
typedef struct vm_exact_slot {
    vm_storage storage;  /* of its exact elements */
    vm_storage filled;   /* a copy of what the value holds, */
    uint32_t filled_for; /* made for the op at that position, + 1 */
} vm_exact_slot;

/* ---- storage ---- */

bool vm_exact_begin(vm_emit *e)
{
    e->exact = bc_new(&e->temp, vm_exact_slot, e->f->value_count + 1);
    return e->exact != NULL;
}

vm_storage vm_exact_storage(const vm_emit *e, const bc_value *v)
{
    const vm_exact_slot *s = &e->exact[v->id];
    return s->storage ? s->storage : s->filled_for == e->position + 1 ? s->filled : VM_NO_STORAGE;
}

void vm_set_exact(vm_emit *e, const bc_value *v, vm_storage storage)
{
    e->exact[v->id].storage = storage;
}

void vm_write_exact(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result)
{
    vm_storage storage = vm_new_storage(e, vm_exact_bytes(result), e->at);
    vm_set_exact(e, result, storage);
    vm_bind(e, inst, field, storage, 0, VM_WRITE);
}

/* The elements of the value itself are exact. */
typedef struct fill_inst {
    vm_inst head;
    size_t from, to, n;
    uint8_t kind, bytes;
} fill_inst;

static const vm_inst *fill_run(vm_frame *f, const vm_inst *inst)
{
    const fill_inst *c = (const fill_inst *)inst;
    vm_exact *to = vm_at(f, c->to);
    for (size_t i = 0; i < c->n; i++)
        to[i] = vm_exact_of(vm_real_at(vm_at(f, c->from), i, (bc_kind)c->kind, c->bytes));
    return inst->next;
}

void vm_need_exact(vm_emit *e, const bc_value *v)
{
    if (vm_exact_storage(e, v) || e->failed)
        return;
    vm_need_packed(e, v);
    fill_inst *inst = vm_new_inst(e, NULL, fill_run, fill_inst);
    vm_exact_slot *slot = &e->exact[v->id];
    inst->n = vm_count(v);
    inst->kind = (uint8_t)bc_elem_kind(v->type);
    inst->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(v->type));
    slot->filled = vm_new_storage(e, vm_exact_bytes(v), e->at);
    slot->filled_for = e->position + 1;
    vm_read_packed(e, &inst->head, &inst->from, v);
    vm_bind(e, &inst->head, &inst->to, slot->filled, 0, VM_WRITE);
    vm_append(e, &inst->head);
}

/* ---- operands ---- */

void vm_bind_operand(vm_emit *e, vm_inst *inst, vm_exact_operand *o, const bc_value *v)
{
    vm_storage exact = vm_exact_storage(e, v);
    bc_kind kind = bc_elem_kind(v->type);
    o->kind = (uint8_t)kind;
    o->bytes = (uint8_t)vm_elem_bytes(kind);
    o->is_float = vm_has_floats(v);
    o->width = (uint8_t)bc_kind_bits(kind);
    o->is_signed = true;
    vm_read_packed(e, inst, &o->real, v);
    o->has_exact = o->is_float && exact;
    if (o->has_exact)
        vm_bind(e, inst, &o->exact, exact, 0, VM_READ);
}

vm_source vm_source_at(const vm_frame *f, const vm_exact_operand *o, size_t i)
{
    vm_source s = {.effect = 0};
    uint64_t bits = 0;
    if (o->is_float) {
        s.real = vm_wide_of(vm_real_at(vm_at(f, o->real), i, (bc_kind)o->kind, o->bytes));
    } else {
        memcpy(&bits, f->base + o->real + i * o->bytes, o->bytes);
        if (o->is_signed)
            bits = (uint64_t)bc_int_sign_extend(bits, o->width);
        s.real = vm_wide_of_int(bits, o->is_signed);
    }
    s.exact.x = s.real;
    if (o->has_exact)
        s.exact = ((const vm_exact *)vm_at(f, o->exact))[i];
    return s;
}

vm_maker vm_maker_of(const vm_emit *e, bc_kind kind)
{
    return (vm_maker){.op = e->position,
                      .kind = (uint8_t)kind,
                      .bytes = (uint8_t)vm_elem_bytes(kind),
                      .format = bc_float_format_of(kind)};
}

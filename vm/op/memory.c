/* Access through tiles of pointers, atomics, alloca, globals. */
#include <string.h>

#include "vm/run/atomic.h"
#include "vm/compile/compile.h"
#include "vm/compile/group.h"
#include "vm/compile/access.h"
#include "vm/run/schedule.h"
#include "vm/compile/storage.h"

static uint64_t get(const unsigned char *p, size_t i, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, p + i * bytes, bytes);
    return x;
}

static bc_kind pointee_of(const bc_value *pointers)
{
    return (bc_kind)pointers->type->elem->elem->kind;
}

/* What all accesses through pointers have. SIZE_MAX: no such operand. */
typedef struct ptr_access {
    vm_inst head;
    size_t pointers, mask, value, compare, out;
    size_t n;
    uint8_t kind, bytes; /* of an element in memory; bytes 0: f4 */
    uint8_t tile_bytes;
    uint8_t order, mode;
    bool has_mask, has_value, has_out;
} ptr_access;

static bool masked_off(const vm_frame *f, const ptr_access *p, size_t i)
{
    return p->has_mask && !f->base[p->mask + i];
}

static void bind_optional(vm_emit *e, vm_inst *inst, size_t *field, bool *has, const bc_value *v)
{
    *has = v != NULL;
    if (v)
        vm_read_packed(e, inst, field, v);
}

static void need_optional(vm_emit *e, const bc_value *v)
{
    if (v)
        vm_need_packed(e, v);
}

static ptr_access *new_access(vm_emit *e, const bc_op *op, vm_handler *run, const bc_value *pointers,
                              const bc_value *mask, const bc_value *value, const bc_value *compare, uint64_t order)
{
    vm_need_packed(e, pointers);
    need_optional(e, mask);
    need_optional(e, value);
    need_optional(e, compare);
    ptr_access *p = vm_new_inst(e, op, run, ptr_access);
    bc_kind kind = pointee_of(pointers);
    bool has_compare;
    p->n = vm_count(pointers);
    p->kind = (uint8_t)kind;
    p->bytes = (uint8_t)bc_kind_memory_bytes(kind);
    p->tile_bytes = (uint8_t)vm_elem_bytes(kind);
    p->order = (uint8_t)order;
    vm_read_packed(e, &p->head, &p->pointers, pointers);
    bind_optional(e, &p->head, &p->mask, &p->has_mask, mask);
    bind_optional(e, &p->head, &p->value, &p->has_value, value);
    bind_optional(e, &p->head, &p->compare, &has_compare, compare);
    return p;
}

static void write_result(vm_emit *e, ptr_access *p, const bc_value *result)
{
    p->has_out = vm_used(e, result);
    if (p->has_out)
        vm_write(e, &p->head, &p->out, result);
}

/* ---- load and store ---- */

/* f4 pointers address bytes: element 0 is the low half. */
static bool load_one(vm_frame *f, const ptr_access *p, unsigned char *out, uint64_t address, size_t i)
{
    if (!vm_reach(f, &p->head, address, p->bytes ? p->bytes : 1, false, i))
        return false;
    if (p->bytes) {
        vm_load_element(out, address, p->bytes, (bc_MemoryOrderingSemantics)p->order);
        if (p->kind == BC_I1)
            *out = *out != 0;
    } else {
        *out = *(const unsigned char *)(uintptr_t)address & 15;
    }
    return true;
}

/* Elements from i on that are next to each other in memory, all wanted. */
static size_t run_length(const vm_frame *f, const ptr_access *p, size_t i)
{
    const uint64_t *pointers = vm_at(f, p->pointers);
    size_t n = 1;
    if (p->order != BC_MemoryOrderingSemantics_weak || !p->bytes || p->kind == BC_I1)
        return 1;
    while (i + n < p->n && pointers[i + n] == pointers[i] + n * p->bytes && !masked_off(f, p, i + n))
        n++;
    return n;
}

/* Whether a whole run can be moved at once. */
static bool reach_run(vm_frame *f, const ptr_access *p, uint64_t address, size_t n, bool write)
{
    const vm_region *region = f->hit;
    return region && address >= region->start && address < region->end && n * p->bytes <= region->end - address
           && (!write || region->writable) && !(address & (p->bytes - 1u));
}

static const vm_inst *load_ptr_run(vm_frame *f, const vm_inst *inst)
{
    const ptr_access *p = (const ptr_access *)inst;
    const uint64_t *pointers = vm_at(f, p->pointers);
    unsigned char *out = vm_at(f, p->out);
    if (p->order != BC_MemoryOrderingSemantics_weak)
        vm_breathe(f);
    for (size_t i = 0; i < p->n;) {
        if (masked_off(f, p, i)) {
            uint64_t x = p->has_value ? get(vm_at(f, p->value), i, p->tile_bytes) : 0;
            memcpy(out + i * p->tile_bytes, &x, p->tile_bytes);
            i++;
            continue;
        }
        if (!load_one(f, p, out + i * p->tile_bytes, pointers[i], i))
            return NULL;
        size_t n = run_length(f, p, i);
        if (n > 1 && reach_run(f, p, pointers[i], n, false))
            memcpy(out + i * p->tile_bytes, (const void *)(uintptr_t)pointers[i], n * p->bytes);
        else
            n = 1;
        f->bytes_loaded += n * p->bytes;
        i += n;
    }
    return inst->next;
}

void vm_load_ptr_tko(vm_emit *e, const bc_op *op)
{
    const bc_value *mask = bc_operand(op, F_load_ptr_tko_mask);
    vm_close_sinks(e);
    ptr_access *p = new_access(e, op, load_ptr_run, bc_operand(op, F_load_ptr_tko_source), mask,
                               mask ? bc_operand(op, F_load_ptr_tko_padding_value) : NULL, NULL,
                               bc_attr_u(op, F_load_ptr_tko_memory_ordering_semantics));
    vm_write(e, &p->head, &p->out, vm_result(op, 0));
    vm_append(e, &p->head);
}

static bool store_one(vm_frame *f, const ptr_access *p, const unsigned char *from, uint64_t address, size_t i)
{
    if (!vm_reach(f, &p->head, address, p->bytes ? p->bytes : 1, true, i))
        return false;
    if (p->bytes) {
        vm_store_element(address, from, p->bytes, (bc_MemoryOrderingSemantics)p->order);
    } else {
        unsigned char *byte = (unsigned char *)(uintptr_t)address;
        *byte = (unsigned char)((*byte & 0xf0) | (*from & 15));
    }
    return true;
}

static const vm_inst *store_ptr_run(vm_frame *f, const vm_inst *inst)
{
    const ptr_access *p = (const ptr_access *)inst;
    const uint64_t *pointers = vm_at(f, p->pointers);
    const unsigned char *value = vm_at(f, p->value);
    if (p->order != BC_MemoryOrderingSemantics_weak)
        vm_breathe(f);
    for (size_t i = 0; i < p->n;) {
        if (masked_off(f, p, i)) {
            i++;
            continue;
        }
        if (!store_one(f, p, value + i * p->tile_bytes, pointers[i], i))
            return NULL;
        size_t n = run_length(f, p, i);
        if (n > 1 && reach_run(f, p, pointers[i], n, true))
            memcpy((void *)(uintptr_t)pointers[i], value + i * p->tile_bytes, n * p->bytes);
        else
            n = 1;
        f->bytes_stored += n * p->bytes;
        i += n;
    }
    return inst->next;
}

void vm_store_ptr_tko(vm_emit *e, const bc_op *op)
{
    vm_close_memory_groups(e, NULL);
    ptr_access *p = new_access(e, op, store_ptr_run, bc_operand(op, F_store_ptr_tko_destination),
                               bc_operand(op, F_store_ptr_tko_mask), bc_operand(op, F_store_ptr_tko_value), NULL,
                               bc_attr_u(op, F_store_ptr_tko_memory_ordering_semantics));
    vm_append(e, &p->head);
}

/* ---- atomics ---- */

static const vm_inst *rmw_run(vm_frame *f, const vm_inst *inst)
{
    const ptr_access *p = (const ptr_access *)inst;
    const uint64_t *pointers = vm_at(f, p->pointers);
    vm_breathe(f);
    for (size_t i = 0; i < p->n; i++) {
        uint64_t old = 0;
        if (!masked_off(f, p, i)) {
            if (!vm_reach(f, inst, pointers[i], p->bytes, true, i))
                return NULL;
            old = vm_atomic_update(pointers[i], (bc_kind)p->kind, (bc_AtomicRMWMode)p->mode,
                                   get(vm_at(f, p->value), i, p->bytes), (bc_MemoryOrderingSemantics)p->order);
            f->bytes_loaded += p->bytes;
            f->bytes_stored += p->bytes;
        }
        if (p->has_out)
            memcpy(f->base + p->out + i * p->bytes, &old, p->bytes);
    }
    return inst->next;
}

void vm_atomic_rmw_tko(vm_emit *e, const bc_op *op)
{
    vm_close_memory_groups(e, NULL);
    ptr_access *p = new_access(e, op, rmw_run, bc_operand(op, F_atomic_rmw_tko_pointers),
                               bc_operand(op, F_atomic_rmw_tko_mask), bc_operand(op, F_atomic_rmw_tko_arg), NULL,
                               bc_attr_u(op, F_atomic_rmw_tko_memory_ordering_semantics));
    p->mode = (uint8_t)bc_attr_u(op, F_atomic_rmw_tko_mode);
    write_result(e, p, vm_result(op, 0));
    vm_append(e, &p->head);
}

static const vm_inst *cas_run(vm_frame *f, const vm_inst *inst)
{
    const ptr_access *p = (const ptr_access *)inst;
    const uint64_t *pointers = vm_at(f, p->pointers);
    vm_breathe(f);
    for (size_t i = 0; i < p->n; i++) {
        uint64_t expected = get(vm_at(f, p->compare), i, p->bytes), old = expected;
        if (!masked_off(f, p, i)) {
            if (!vm_reach(f, inst, pointers[i], p->bytes, true, i))
                return NULL;
            old = vm_atomic_exchange_if(pointers[i], p->bytes, expected, get(vm_at(f, p->value), i, p->bytes),
                                        (bc_MemoryOrderingSemantics)p->order);
            f->bytes_loaded += p->bytes;
            f->bytes_stored += p->bytes;
        }
        if (p->has_out)
            memcpy(f->base + p->out + i * p->bytes, &old, p->bytes);
    }
    return inst->next;
}

void vm_atomic_cas_tko(vm_emit *e, const bc_op *op)
{
    vm_close_memory_groups(e, NULL);
    ptr_access *p = new_access(e, op, cas_run, bc_operand(op, F_atomic_cas_tko_pointers),
                               bc_operand(op, F_atomic_cas_tko_mask), bc_operand(op, F_atomic_cas_tko_val),
                               bc_operand(op, F_atomic_cas_tko_cmp),
                               bc_attr_u(op, F_atomic_cas_tko_memory_ordering_semantics));
    write_result(e, p, vm_result(op, 0));
    vm_append(e, &p->head);
}

typedef struct red_inst {
    vm_inst head;
    vm_access_info info;
    size_t value;
    uint8_t mode;
} red_inst;

static bool red_each(vm_frame *f, const vm_inst *inst, void *user, uint64_t address, size_t element)
{
    const red_inst *r = user;
    if (!vm_reach(f, inst, address, r->info.bytes, true, element))
        return false;
    vm_atomic_update(address, (bc_kind)r->info.kind, (bc_AtomicRMWMode)r->mode,
                     get(vm_at(f, r->value), element, r->info.bytes), (bc_MemoryOrderingSemantics)r->info.order);
    f->bytes_loaded += r->info.bytes;
    f->bytes_stored += r->info.bytes;
    return true;
}

static const vm_inst *red_run(vm_frame *f, const vm_inst *inst)
{
    red_inst r = *(const red_inst *)inst;
    vm_breathe(f);
    return vm_view_each(f, inst, &r.info, red_each, &r) ? inst->next : NULL;
}

void vm_atomic_red_view_tko(vm_emit *e, const bc_op *op)
{
    const bc_value *value = bc_operand(op, F_atomic_red_view_tko_value);
    bc_range indices = bc_operand_range(op, F_atomic_red_view_tko_index);
    vm_need_indices(e, bc_operands(op) + indices.first, indices.count);
    vm_need_packed(e, value);
    vm_close_memory_groups(e, NULL);
    red_inst *inst = vm_new_inst(e, op, red_run, red_inst);
    inst->mode = (uint8_t)bc_attr_u(op, F_atomic_red_view_tko_mode);
    vm_bind_access(e, &inst->head, &inst->info, bc_operand(op, F_atomic_red_view_tko_view),
                   bc_operands(op) + indices.first,
                   (bc_MemoryOrderingSemantics)bc_attr_u(op, F_atomic_red_view_tko_memory_ordering_semantics));
    vm_read_packed(e, &inst->head, &inst->value, value);
    vm_append(e, &inst->head);
}

/* ---- alloca, globals ---- */

typedef struct alloca_inst {
    vm_inst head;
    size_t out;
    uint64_t elements, align;
    uint8_t bytes; /* 0: two elements a byte */
} alloca_inst;

static const vm_inst *alloca_run(vm_frame *f, const vm_inst *inst)
{
    const alloca_inst *a = (const alloca_inst *)inst;
    uint64_t limit = (uint64_t)1 << 60;
    void *memory = NULL;
    if (a->elements < limit / 8 && a->align < limit)
        memory = vm_make_alloca(f, inst, (size_t)(a->bytes ? a->elements * a->bytes : (a->elements + 1) / 2),
                                (size_t)a->align);
    if (!memory)
        return vm_trap(f, inst, BC_RULE_X_MEM_04, "there is no memory for an alloca of %llu elements",
                       (unsigned long long)a->elements);
    uint64_t address = (uintptr_t)memory;
    memcpy(vm_at(f, a->out), &address, sizeof address);
    return inst->next;
}

void vm_alloca(vm_emit *e, const bc_op *op)
{
    alloca_inst *inst = vm_new_inst(e, op, alloca_run, alloca_inst);
    inst->elements = bc_attr_u(op, F_alloca_num_elem);
    inst->align = bc_attr_u(op, F_alloca_alignment);
    inst->bytes = (uint8_t)bc_kind_memory_bytes(pointee_of(vm_result(op, 0)));
    vm_write(e, &inst->head, &inst->out, vm_result(op, 0));
    vm_append(e, &inst->head);
    e->code->allocas = true;
}

void vm_get_global(vm_emit *e, const bc_op *op)
{
    uint64_t *address = bc_new(&e->temp, uint64_t, 1);
    if (!address) {
        e->failed = true;
        return;
    }
    *address = vm_global_address(e->vm, bc_attr_of(op, F_get_global_name)->string);
    vm_layout layout = vm_layout_packed(0);
    e->at = e->preamble;
    vm_set_stored(e, vm_result(op, 0), vm_new_image(e, address, sizeof *address), &layout, NULL);
}

/* Constants, iota, and ops that move elements about: most are another layout of the same storage. */
#include <string.h>

#include "vm/compile/compile.h"
#include "vm/compile/group.h"
#include "vm/compile/map.h"
#include "vm/compile/storage.h"
#include "vm/run/view.h"

/* ---- constants ---- */

/* Element i of a constant record, as tile storage has it. */
static uint64_t constant_element(const bc_blob *blob, bc_kind kind, size_t i)
{
    uint64_t x = 0;
    if (kind == BC_I1)
        return blob->ptr[i / 8] >> (i % 8) & 1;
    unsigned bytes = bc_kind_constant_bytes(kind);
    memcpy(&x, blob->ptr + i * bytes, bytes);
    if (kind == BC_TF32)
        return x << 13;
    return kind == BC_F4E2M1FN ? x & 15 : x;
}

static bool is_splat(const bc_blob *blob, bc_kind kind, size_t count)
{
    if (kind == BC_I1)
        return blob->len == 1 && count > 8;
    return blob->len == bc_kind_constant_bytes(kind) && count > 1;
}

void vm_constant(vm_emit *e, const bc_op *op)
{
    const bc_value *v = vm_result(op, 0);
    const bc_blob *blob = bc_attr_of(op, F_constant_value)->blob;
    bc_kind kind = bc_elem_kind(v->type);
    size_t count = vm_count(v), bytes = vm_elem_bytes(kind);
    bool splat = is_splat(blob, kind, count);
    size_t stored = splat ? 1 : count;
    unsigned char *image = bc_arena_array(&e->temp, stored, bytes, 16);
    if (!image) {
        e->failed = true;
        return;
    }
    for (size_t i = 0; i < stored; i++) {
        uint64_t x = splat && kind == BC_I1 ? blob->ptr[0] != 0 : constant_element(blob, kind, i);
        memcpy(image + i * bytes, &x, bytes);
    }
    vm_layout layout = vm_layout_masked(vm_type_bits(v->type), splat ? 0 : UINT32_MAX);
    e->at = e->preamble;
    vm_set_stored(e, v, vm_new_image(e, image, stored * bytes), &layout, NULL);
}

typedef struct iota_inst {
    vm_inst head;
    size_t out, n;
    uint8_t bytes;
} iota_inst;

#define IOTA_LOOP(T)                         \
    do {                                     \
        T *out = vm_at(f, iota->out);        \
        for (size_t i = 0; i < iota->n; i++) \
            out[i] = (T)i;                   \
    } while (0)

static const vm_inst *iota_run(vm_frame *f, const vm_inst *inst)
{
    const iota_inst *iota = (const iota_inst *)inst;
    switch (iota->bytes) {
    case 1: IOTA_LOOP(uint8_t); break;
    case 2: IOTA_LOOP(uint16_t); break;
    case 4: IOTA_LOOP(uint32_t); break;
    default: IOTA_LOOP(uint64_t); break;
    }
    return inst->next;
}

void vm_iota(vm_emit *e, const bc_op *op)
{
    const bc_value *v = vm_result(op, 0);
    iota_inst *inst = vm_new_inst(e, op, iota_run, iota_inst);
    inst->n = vm_count(v);
    inst->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(v->type));
    vm_write(e, &inst->head, &inst->out, v);
    vm_append(e, &inst->head);
}

/* ---- layouts ---- */

void vm_reshape(vm_emit *e, const bc_op *op)
{
    const bc_value *from = bc_operands(op)[0], *to = vm_result(op, 0);
    if (!vm_group_alias(e, to, from))
        vm_alias(e, to, from, NULL, 0);
}

/* With the elements of the innermost run apart, one copy now is better than gathering them at every use. */
static void settle(vm_emit *e, const bc_value *v)
{
    vm_value *x = vm_value_of(e, v);
    if (x->mma_only || (!e->plain && (x->layout.bits == 0 || x->layout.stride[0] <= 1)))
        return;
    vm_need_packed(e, v);
    if (x->packed && x->packed_for == UINT32_MAX) {
        x->storage = x->packed;
        x->offset = 0;
        x->layout = vm_layout_packed(x->layout.bits);
        x->packed = VM_NO_STORAGE;
        x->maker = x->packer;
    }
}

void vm_broadcast(vm_emit *e, const bc_op *op)
{
    const bc_value *from = bc_operands(op)[0], *to = vm_result(op, 0);
    vm_need_stored(e, from);
    vm_layout layout = vm_layout_broadcast(&vm_value_of(e, from)->layout, from->type, to->type);
    vm_alias(e, to, from, &layout, 0);
    settle(e, to);
}

void vm_permute(vm_emit *e, const bc_op *op)
{
    const bc_value *from = bc_operands(op)[0], *to = vm_result(op, 0);
    vm_need_stored(e, from);
    vm_layout layout =
        vm_layout_permute(&vm_value_of(e, from)->layout, from->type, bc_attr_of(op, F_permute_permutation)->ints->ptr);
    vm_alias(e, to, from, &layout, 0);
    settle(e, to);
}

/* ---- cat ---- */

typedef struct cat_inst {
    vm_inst head;
    size_t lhs, rhs, out;
    size_t outer, chunk; /* pieces of each side, bytes of one */
} cat_inst;

static const vm_inst *cat_run(vm_frame *f, const vm_inst *inst)
{
    const cat_inst *c = (const cat_inst *)inst;
    const unsigned char *lhs = vm_at(f, c->lhs), *rhs = vm_at(f, c->rhs);
    unsigned char *out = vm_at(f, c->out);
    for (size_t i = 0; i < c->outer; i++, out += 2 * c->chunk) {
        memcpy(out, lhs + i * c->chunk, c->chunk);
        memcpy(out + c->chunk, rhs + i * c->chunk, c->chunk);
    }
    return inst->next;
}

void vm_cat(vm_emit *e, const bc_op *op)
{
    bc_value **operands = bc_operands(op);
    const bc_type *type = operands[0]->type;
    uint64_t dim = bc_attr_u(op, F_cat_dim);
    vm_need_packed(e, operands[0]);
    vm_need_packed(e, operands[1]);
    cat_inst *inst = vm_new_inst(e, op, cat_run, cat_inst);
    inst->outer = 1;
    inst->chunk = vm_elem_bytes(bc_elem_kind(type));
    for (uint32_t d = 0; d < type->rank; d++)
        *(d < dim ? &inst->outer : &inst->chunk) *= (size_t)type->shape[d];
    vm_read_packed(e, &inst->head, &inst->lhs, operands[0]);
    vm_read_packed(e, &inst->head, &inst->rhs, operands[1]);
    vm_write(e, &inst->head, &inst->out, vm_result(op, 0));
    vm_append(e, &inst->head);
}

/* ---- extract, insert ---- */

/* One slice of a packed tile. */
typedef struct slice_dim {
    size_t index;    /* where its i32 index lies */
    uint32_t slices; /* that there are */
    size_t stride;   /* elements of the large tile from one slice to the next */
} slice_dim;

typedef struct slice_inst {
    vm_inst head;
    size_t large, small, out;
    size_t large_bytes;
    uint32_t rank;
    slice_dim *dims;
    uint8_t bytes;
    vm_box box; /* of the slice in the large tile; base is set when it runs */
} slice_inst;

/* Sets the address of the slice; false: an index is too large. */
static bool find_slice(vm_frame *f, const vm_inst *inst, const slice_inst *s, void *large, vm_box *out)
{
    size_t offset = 0;
    *out = s->box;
    for (uint32_t d = 0; d < s->rank; d++) {
        uint32_t index;
        memcpy(&index, vm_at(f, s->dims[d].index), sizeof index);
        if (index >= s->dims[d].slices) {
            vm_trap(f, inst, BC_RULE_X_IDX_01, "index %u is %u, and there are %u slices", d, index, s->dims[d].slices);
            return false;
        }
        offset += index * s->dims[d].stride;
    }
    out->base = (uintptr_t)large + offset * s->bytes;
    return true;
}

static const vm_inst *extract_run(vm_frame *f, const vm_inst *inst)
{
    const slice_inst *s = (const slice_inst *)inst;
    vm_box box;
    if (!find_slice(f, inst, s, vm_at(f, s->large), &box))
        return NULL;
    vm_box_copy(f->code->kernels, &box, s->bytes, vm_at(f, s->out), false);
    return inst->next;
}

static const vm_inst *insert_run(vm_frame *f, const vm_inst *inst)
{
    const slice_inst *s = (const slice_inst *)inst;
    vm_box box;
    unsigned char *out = vm_at(f, s->out);
    if (!find_slice(f, inst, s, out, &box))
        return NULL;
    if (s->out != s->large)
        memcpy(out, vm_at(f, s->large), s->large_bytes);
    vm_box_copy(f->code->kernels, &box, s->bytes, vm_at(f, s->small), true);
    return inst->next;
}

static slice_inst *new_slice(vm_emit *e, const bc_op *op, vm_handler *run, const bc_type *large, const bc_type *small,
                             bc_range indices)
{
    for (uint32_t d = 0; d < indices.count; d++)
        vm_need_stored(e, bc_operands(op)[indices.first + d]);
    slice_inst *inst = vm_new_inst(e, op, run, slice_inst);
    slice_dim *dims = bc_new(e->arena, slice_dim, large->rank + 1u);
    if (!dims || e->failed) {
        e->failed = true;
        return inst;
    }
    inst->rank = large->rank;
    inst->dims = dims;
    inst->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(large));
    inst->box.whole = true;
    size_t stride = 1, small_stride = 1;
    uint32_t count = 0, kept = 0;
    for (uint32_t d = large->rank; d-- > 0;)
        count += small->shape[d] > 1;
    inst->box.dims = count;
    for (uint32_t d = large->rank; d-- > 0;) {
        dims[d].slices = (uint32_t)(large->shape[d] / small->shape[d]);
        dims[d].stride = stride * (size_t)small->shape[d];
        if (small->shape[d] > 1) {
            uint32_t k = count - 1 - kept++;
            inst->box.valid[k] = inst->box.extent[k] = (uint32_t)small->shape[d];
            inst->box.step[k] = (int64_t)(stride * inst->bytes);
            inst->box.tile_step[k] = small_stride;
        }
        stride *= (size_t)large->shape[d];
        small_stride *= (size_t)small->shape[d];
        vm_read(e, &inst->head, &dims[d].index, bc_operands(op)[indices.first + d]);
    }
    inst->large_bytes = stride * inst->bytes;
    return inst;
}

void vm_extract(vm_emit *e, const bc_op *op)
{
    const bc_value *source = bc_operand(op, F_extract_source), *result = vm_result(op, 0);
    vm_need_packed(e, source);
    slice_inst *inst =
        new_slice(e, op, extract_run, source->type, result->type, bc_operand_range(op, F_extract_indices));
    vm_read_packed(e, &inst->head, &inst->large, source);
    vm_write(e, &inst->head, &inst->out, result);
    vm_append(e, &inst->head);
}

void vm_insert(vm_emit *e, const bc_op *op)
{
    const bc_value *source = bc_operand(op, F_insert_source), *destination = bc_operand(op, F_insert_destination);
    const bc_value *result = vm_result(op, 0);
    vm_need_packed(e, source);
    vm_need_packed(e, destination);
    slice_inst *inst =
        new_slice(e, op, insert_run, destination->type, source->type, bc_operand_range(op, F_insert_indices));
    vm_read_packed(e, &inst->head, &inst->small, source);
    vm_read_packed(e, &inst->head, &inst->large, destination);
    vm_write(e, &inst->head, &inst->out, result);
    vm_value *to = vm_value_of(e, result), *from = vm_value_of(e, destination);
    vm_affinity(e, &inst->head, from->packed ? from->packed : from->storage, to->storage);
    vm_append(e, &inst->head);
}

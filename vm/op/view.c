/* Tensor views, tile views, and the loads and stores through them. */
#include <string.h>

#include "bytecode/number/number.h"
#include "vm/compile/group.h"
#include "vm/compile/access.h"
#include "vm/compile/plan.h"

/* ---- making views ---- */

typedef struct view_field {
    size_t from; /* where the operand lies */
    uint32_t to; /* index into vm_record.dims */
    uint8_t bytes;
    uint8_t bits; /* i1: only the low bit is there anyway */
} view_field;

typedef struct tensor_view_inst {
    vm_inst head;
    size_t out, base;
    uint32_t rank, field_count;
    const int64_t *fixed; /* extents, then strides; dynamic ones are overwritten */
    view_field *fields;
} tensor_view_inst;

static const vm_inst *tensor_view_run(vm_frame *f, const vm_inst *inst)
{
    const tensor_view_inst *v = (const tensor_view_inst *)inst;
    vm_record *record = vm_at(f, v->out);
    memcpy(&record->base, vm_at(f, v->base), sizeof record->base);
    if (v->rank)
        memcpy(record->dims, v->fixed, 2 * (size_t)v->rank * sizeof *v->fixed);
    for (uint32_t i = 0; i < v->field_count; i++) {
        uint64_t x = 0; /* unsigned, zero-extended */
        memcpy(&x, vm_at(f, v->fields[i].from), v->fields[i].bytes);
        record->dims[v->fields[i].to] = (int64_t)x;
    }
    return inst->next;
}

void vm_make_tensor_view(vm_emit *e, const bc_op *op)
{
    const bc_value *result = vm_result(op, 0);
    const bc_type *type = result->type;
    uint32_t rank = type->rank;
    bc_range shape = bc_operand_range(op, F_make_tensor_view_dynamic_shape);
    bc_range strides = bc_operand_range(op, F_make_tensor_view_dynamic_strides);
    for (unsigned i = 0; i < op->operand_count; i++)
        vm_need_stored(e, bc_operands(op)[i]);
    tensor_view_inst *inst = vm_new_inst(e, op, tensor_view_run, tensor_view_inst);
    int64_t *fixed = bc_new(e->arena, int64_t, 2 * (size_t)rank + 1);
    view_field *fields = bc_new(e->arena, view_field, shape.count + strides.count + 1u);
    if (!fixed || !fields) {
        e->failed = true;
        return;
    }
    inst->rank = rank;
    inst->fixed = fixed;
    inst->fields = fields;
    for (uint32_t d = 0; d < 2 * rank; d++) {
        int64_t x = d < rank ? type->shape[d] : type->strides[d - rank];
        fixed[d] = x;
        if (x != BC_DYNAMIC)
            continue;
        bc_range *range = d < rank ? &shape : &strides;
        const bc_value *operand = bc_operands(op)[range->first++];
        view_field *field = &fields[inst->field_count++];
        field->to = d;
        field->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(operand->type));
        vm_read(e, &inst->head, &field->from, operand);
    }
    vm_read(e, &inst->head, &inst->base, bc_operand(op, F_make_tensor_view_base));
    vm_write_record(e, &inst->head, &inst->out, result, vm_record_bytes(rank));
    vm_append(e, &inst->head);
}

/* A tile view is the record of its tensor view; the rest is in its type. */
static void emit_tile_view(vm_emit *e, const bc_op *op)
{
    vm_alias(e, vm_result(op, 0), bc_operands(op)[0], NULL, 0);
}
void vm_make_partition_view(vm_emit *e, const bc_op *op)
{
    emit_tile_view(e, op);
}
void vm_make_strided_view(vm_emit *e, const bc_op *op)
{
    emit_tile_view(e, op);
}
void vm_make_gather_scatter_view(vm_emit *e, const bc_op *op)
{
    emit_tile_view(e, op);
}

/* ---- asking views ---- */

typedef struct shape_out {
    size_t out;
    uint32_t dim; /* of the tensor */
    uint8_t bytes;
    bool bit;     /* i1 */
    int64_t step; /* the extent is divided by it, rounding up */
    bool used;
} shape_out;

typedef struct shape_inst {
    vm_inst head;
    size_t record;
    uint32_t count;
    shape_out *outs;
} shape_inst;

static const vm_inst *shape_run(vm_frame *f, const vm_inst *inst)
{
    const shape_inst *s = (const shape_inst *)inst;
    const vm_record *record = vm_at(f, s->record);
    for (uint32_t i = 0; i < s->count; i++) {
        const shape_out *o = &s->outs[i];
        if (!o->used)
            continue;
        uint64_t size = (uint64_t)record->dims[o->dim], step = (uint64_t)o->step;
        uint64_t x = size / step + (size % step != 0);
        if (o->bit)
            x &= 1;
        memcpy(vm_at(f, o->out), &x, o->bytes);
    }
    return inst->next;
}

static void emit_shape(vm_emit *e, const bc_op *op)
{
    const bc_value *view = bc_operands(op)[0];
    shape_inst *inst = vm_new_inst(e, op, shape_run, shape_inst);
    inst->count = op->result_count;
    inst->outs = bc_new(e->arena, shape_out, op->result_count + 1u);
    if (!inst->outs || e->failed) {
        e->failed = true;
        return;
    }
    vm_read(e, &inst->head, &inst->record, view);
    for (uint32_t i = 0; i < op->result_count; i++) {
        const bc_value *result = vm_result(op, i);
        bc_kind kind = bc_elem_kind(result->type);
        shape_out *o = &inst->outs[i];
        *o = (shape_out){.dim = vm_view_dim(view->type, i),
                         .bytes = (uint8_t)vm_elem_bytes(kind),
                         .bit = kind == BC_I1,
                         .step = vm_view_step(view->type, i),
                         .used = vm_used(e, result)};
        if (o->used)
            vm_write(e, &inst->head, &o->out, result);
    }
    vm_append(e, &inst->head);
}
void vm_get_tensor_shape(vm_emit *e, const bc_op *op)
{
    emit_shape(e, op);
}
void vm_get_index_space_shape(vm_emit *e, const bc_op *op)
{
    emit_shape(e, op);
}

/* ---- load ---- */

typedef struct load_inst {
    vm_inst head;
    vm_access_info info;
    size_t out;  /* the tile, or staging for it */
    size_t rows; /* lazy: the vm_rows */
} load_inst;

static const vm_inst *load_run(vm_frame *f, const vm_inst *inst)
{
    const load_inst *l = (const load_inst *)inst;
    return vm_view_load(f, inst, &l->info, vm_at(f, l->out)) ? inst->next : NULL;
}

/* Leaves the tile where it is when it lies there as packed rows. */
static const vm_inst *load_rows_run(vm_frame *f, const vm_inst *inst)
{
    const load_inst *l = (const load_inst *)inst;
    vm_rows *rows = vm_at(f, l->rows);
    vm_box box;
    vm_box_make(f, &l->info, 0, &box);
    if (vm_box_rows(f, &l->info, &box, false, rows)) {
        f->bytes_loaded += (uint64_t)l->info.bytes << l->info.bits;
        return inst->next;
    }
    *rows = (vm_rows){vm_at(f, l->out), (int64_t)l->info.bytes << l->info.row_bits, false};
    return vm_view_load(f, inst, &l->info, vm_at(f, l->out)) ? inst->next : NULL;
}

/* Worth it for more than a handful of elements, and allowed while nothing is stored before the last use. */
static bool may_be_rows(vm_emit *e, const bc_op *op, const bc_value *tile)
{
    const vm_value *v = vm_value_of(e, tile);
    bc_kind kind = bc_elem_kind(tile->type);
    uint32_t end = e->plan->next_write[e->position];
    if (!v->rows_ok || vm_type_bits(tile->type) < 6 || kind == BC_I1 || kind == BC_F4E2M1FN
        || bc_operand(op, F_load_view_tko_view)->type->kind == BC_GATHER_SCATTER_VIEW
        || bc_attr_u(op, F_load_view_tko_memory_ordering_semantics) != BC_MemoryOrderingSemantics_weak)
        return false;
    return v->last_use < end || (v->last_use == end && e->plan->ops[end]->opcode == OP_store_view_tko);
}

static void set_rows(vm_emit *e, load_inst *inst, const bc_value *tile)
{
    vm_value *v = vm_value_of(e, tile);
    uint32_t bits = vm_type_bits(tile->type);
    size_t bytes = (size_t)vm_elem_bytes(bc_elem_kind(tile->type)) << bits;
    v->form = VM_ROWS;
    v->elem_bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(tile->type));
    v->layout = vm_layout_packed(bits);
    v->row_bits = (uint8_t)inst->info.row_bits;
    v->storage = vm_new_storage(e, sizeof(vm_rows), e->at);
    v->staging = vm_new_storage(e, bytes, e->at);
    v->home = e->at;
    v->maker = &inst->head;
    vm_bind(e, &inst->head, &inst->rows, v->storage, 0, VM_WRITE);
    vm_bind(e, &inst->head, &inst->out, v->staging, 0, VM_WRITE);
}

void vm_load_view_tko(vm_emit *e, const bc_op *op)
{
    const bc_value *tile = vm_result(op, 0), *view = bc_operand(op, F_load_view_tko_view);
    bc_range indices = bc_operand_range(op, F_load_view_tko_index);
    bc_MemoryOrderingSemantics order =
        (bc_MemoryOrderingSemantics)bc_attr_u(op, F_load_view_tko_memory_ordering_semantics);
    vm_need_indices(e, bc_operands(op) + indices.first, indices.count);
    vm_close_sinks(e);
    bool rows = may_be_rows(e, op, tile);
    load_inst *inst = vm_new_inst(e, op, rows ? load_rows_run : load_run, load_inst);
    vm_bind_access(e, &inst->head, &inst->info, view, bc_operands(op) + indices.first, order);
    if (rows)
        set_rows(e, inst, tile);
    else
        vm_write(e, &inst->head, &inst->out, tile);
    vm_append(e, &inst->head);
}

/* ---- store ---- */

typedef struct store_inst {
    vm_inst head;
    vm_access_info info;
    size_t tile;
} store_inst;

static const vm_inst *store_run(vm_frame *f, const vm_inst *inst)
{
    const store_inst *s = (const store_inst *)inst;
    return vm_view_store(f, inst, &s->info, vm_at(f, s->tile)) ? inst->next : NULL;
}

static bc_MemoryOrderingSemantics store_order(const bc_op *op)
{
    return (bc_MemoryOrderingSemantics)bc_attr_u(op, F_store_view_tko_memory_ordering_semantics);
}

static void bind_sink(vm_emit *e, vm_inst *inst, vm_sink *sink, const bc_op *op)
{
    bc_range indices = bc_operand_range(op, F_store_view_tko_index);
    vm_bind_access(e, inst, &sink->info, bc_operand(op, F_store_view_tko_view), bc_operands(op) + indices.first,
                   store_order(op));
}

void vm_store_view_tko(vm_emit *e, const bc_op *op)
{
    const bc_value *tile = bc_operand(op, F_store_view_tko_tile), *view = bc_operand(op, F_store_view_tko_view);
    bc_range indices = bc_operand_range(op, F_store_view_tko_index);
    vm_need_indices(e, bc_operands(op) + indices.first, indices.count);
    vm_close_memory_groups(e, vm_group_of(e, tile));
    if (store_order(op) == BC_MemoryOrderingSemantics_weak && bc_elem_kind(tile->type) != BC_F4E2M1FN
        && view->type->kind != BC_GATHER_SCATTER_VIEW && vm_group_store(e, op, tile, bind_sink))
        return;
    vm_need_packed(e, tile);
    vm_close_memory_groups(e, NULL);
    store_inst *inst = vm_new_inst(e, op, store_run, store_inst);
    vm_bind_access(e, &inst->head, &inst->info, view, bc_operands(op) + indices.first, store_order(op));
    vm_read_packed(e, &inst->head, &inst->tile, tile);
    vm_append(e, &inst->head);
}

/* ---- several devices ---- */

static void no_multimem(vm_emit *e, const bc_op *op)
{
    vm_unsupported(e, op, "'%s' works on memory shared by several devices", bc_info(op)->name);
}
void vm_multimem_load_reduce_view_tko(vm_emit *e, const bc_op *op)
{
    no_multimem(e, op);
}
void vm_multimem_reduce_view_tko(vm_emit *e, const bc_op *op)
{
    no_multimem(e, op);
}
void vm_multimem_store_view_tko(vm_emit *e, const bc_op *op)
{
    no_multimem(e, op);
}

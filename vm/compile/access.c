/* Accesses of tile views: what an instruction knows of one, and where its operands lie. */
#include "vm/compile/access.h"

#include "bytecode/number/number.h"

int64_t vm_view_step(const bc_type *view, uint32_t t)
{
    switch (view->kind) {
    case BC_PARTITION_VIEW: return view->shape[t];
    case BC_STRIDED_VIEW: return view->strides[t];
    default: return 1; /* tensor views; gather_scatter_view counts elements */
    }
}

uint32_t vm_view_dim(const bc_type *view, uint32_t t)
{
    return view->kind == BC_PARTITION_VIEW || view->kind == BC_STRIDED_VIEW ? (uint32_t)view->dim_map[t] : t;
}

static uint32_t inner_bits(const bc_type *view)
{
    for (uint32_t t = view->rank; t-- > 0;)
        if (view->shape[t] > 1)
            return vm_extent_bits(view->shape[t]);
    return 0;
}

void vm_bind_access(vm_emit *e, vm_inst *inst, vm_access_info *info, const bc_value *view, bc_value *const *indices,
                    bc_MemoryOrderingSemantics order)
{
    const bc_type *type = view->type;
    bc_kind kind = (bc_kind)type->elem->elem->kind;
    vm_tile_dim *dims = bc_new(e->arena, vm_tile_dim, type->rank + 1u);
    if (!dims) {
        e->failed = true;
        return;
    }
    *info = (vm_access_info){
        .dims = dims,
        .rank = type->rank,
        .bits = vm_type_bits(type),
        .row_bits = inner_bits(type),
        .sparse = type->kind == BC_GATHER_SCATTER_VIEW ? (int32_t)type->sparse_dim : -1,
        .kind = (uint8_t)kind,
        .bytes = (uint8_t)bc_kind_memory_bytes(kind),
        .tile_bytes = (uint8_t)vm_elem_bytes(kind),
        .order = (uint8_t)order,
        .padding = bc_padding_pattern(kind, type->padding),
    };
    vm_read(e, inst, &info->record, view);
    for (uint32_t t = 0; t < type->rank; t++) {
        dims[t].extent = type->shape[t];
        dims[t].step = vm_view_step(type, t);
        dims[t].dim = vm_view_dim(type, t);
        dims[t].index_bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(indices[t]->type));
        vm_read_packed(e, inst, &dims[t].index, indices[t]);
    }
}

void vm_need_indices(vm_emit *e, bc_value *const *indices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        vm_need_packed(e, indices[i]);
}

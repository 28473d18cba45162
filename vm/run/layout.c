/* Layouts: see layout.h. The verifier has bounded tiles to 2^24 elements, so no offset overflows. */
#include "vm/run/layout.h"

uint32_t vm_extent_bits(int64_t extent)
{
    uint32_t bits = 0;
    while (extent > 1) {
        extent >>= 1;
        bits++;
    }
    return bits;
}

uint32_t vm_type_bits(const bc_type *tile)
{
    uint32_t bits = 0;
    for (uint32_t d = 0; d < tile->rank; d++)
        bits += vm_extent_bits(tile->shape[d]);
    return bits;
}

vm_layout vm_layout_masked(uint32_t bits, uint32_t mask)
{
    vm_layout layout = {.bits = bits};
    uint32_t stride = 1;
    for (uint32_t b = 0; b < bits; b++)
        if (mask >> b & 1) {
            layout.stride[b] = stride;
            stride <<= 1;
        }
    return layout;
}

vm_layout vm_layout_packed(uint32_t bits)
{
    return vm_layout_masked(bits, UINT32_MAX);
}

uint32_t vm_layout_mask(const vm_layout *layout)
{
    uint32_t mask = 0;
    for (uint32_t b = 0; b < layout->bits; b++)
        mask |= (uint32_t)(layout->stride[b] != 0) << b;
    return mask;
}

bool vm_layout_is_packed(const vm_layout *layout)
{
    for (uint32_t b = 0; b < layout->bits; b++)
        if (layout->stride[b] != (uint32_t)1 << b)
            return false;
    return true;
}

vm_layout vm_layout_compact(const vm_layout *layout, uint32_t mask)
{
    vm_layout compact = {0};
    for (uint32_t b = 0; b < layout->bits; b++)
        if (mask >> b & 1)
            compact.stride[compact.bits++] = layout->stride[b];
    return compact;
}

vm_layout vm_layout_broadcast(const vm_layout *source, const bc_type *from, const bc_type *to)
{
    vm_layout layout = {0};
    uint32_t s = 0;
    for (uint32_t d = to->rank; d-- > 0;) {
        uint32_t bits = vm_extent_bits(to->shape[d]);
        bool same = from->shape[d] == to->shape[d];
        for (uint32_t b = 0; b < bits; b++)
            layout.stride[layout.bits++] = same ? source->stride[s + b] : 0;
        s += vm_extent_bits(from->shape[d]);
    }
    return layout;
}

vm_layout vm_layout_permute(const vm_layout *source, const bc_type *from, const int64_t *permutation)
{
    vm_layout layout = {0};
    for (uint32_t d = from->rank; d-- > 0;) { /* dimension d of the result is dimension p of the source */
        uint32_t p = (uint32_t)permutation[d], first = 0;
        if (from->shape[p] == 1)
            continue;
        for (uint32_t inner = p + 1; inner < from->rank; inner++)
            first += vm_extent_bits(from->shape[inner]);
        for (uint32_t b = 0; b < vm_extent_bits(from->shape[p]); b++)
            layout.stride[layout.bits++] = source->stride[first + b];
    }
    return layout;
}

unsigned vm_elem_bytes(bc_kind kind)
{
    switch (kind) {
    case BC_I16:
    case BC_F16:
    case BC_BF16: return 2;
    case BC_I32:
    case BC_F32:
    case BC_TF32: return 4;
    case BC_I64:
    case BC_F64:
    case BC_PTR: return 8;
    default: return 1;
    }
}

/* How elements are held. */
#include "codegen/kernel/value.h"

cg_class cg_class_of(bc_kind kind)
{
    switch (kind) {
    case BC_I1: return CG_PRED;
    case BC_I16:
    case BC_F16:
    case BC_BF16: return CG_B16;
    case BC_I64:
    case BC_F64:
    case BC_PTR: return CG_B64;
    default: return CG_B32;
    }
}

cg_class cg_elem_class(const bc_type *tile)
{
    return cg_class_of(bc_elem_kind(tile));
}

uint32_t cg_memory_bytes(bc_kind kind)
{
    return kind == BC_PTR ? 8 : bc_kind_memory_bytes(kind) ? bc_kind_memory_bytes(kind) : 1;
}

uint32_t cg_class_bits(cg_class cls)
{
    static const uint8_t bits[] = {[CG_PRED] = 1, [CG_B16] = 16, [CG_B32] = 32, [CG_B64] = 64};
    return bits[cls];
}

/* Giving up a kernel, and how elements are held. */
#include "codegen/kernel/kernel.h"

#include <stdarg.h>

void cg_no_memory(cg_func *c)
{
    c->failed = true;
    c->status = TV_NO_MEMORY;
}

void cg_unsupported(cg_func *c, const ct_op *op, const char *format, ...)
{
    if (c->failed)
        return;
    va_list args;
    va_start(args, format);
    bc_report_as(c->m, c->sink, &(bc_place){.function = c->f, .op = op ? op->from : NULL, .row = BC_NO_ROW},
                 BC_RULE_G_GEN_01, TV_ERROR, NULL, format, args);
    va_end(args);
    c->failed = true;
    c->status = TV_UNSUPPORTED;
}

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

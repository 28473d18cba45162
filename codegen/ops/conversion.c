/* The op that converts a tile to another layout; codegen/values/convert_layout.c has the methods. */
#include <stdio.h>

#include "bytecode/print/print.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/hooks.h"
#include "codegen/values/effects.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

void cg_assign_convert(cg_func *c, const ct_op *op)
{
    (void)c, (void)op; /* created after that pass (codegen/passes/convert.c) */
}

static bool goes_from_strip_to_strip(cg_func *c, const ct_op *op)
{
    const ct_value *from = op->operands[0];
    const cg_layout *have = cg_value_of(c, from)->home, *wanted = cg_value_of(c, cg_result(op, 0))->home;
    return (cg_strip_varies(c, have) || cg_strip_varies(c, wanted))
           && cg_conversion_of(c, op, bc_elem_kind(from->type), have, wanted).way == CG_BY_PIECES;
}

void cg_effects_convert(cg_func *c, ct_op *op)
{
    const ct_value *from = op->operands[0];
    const cg_layout *have = cg_value_of(c, from)->home, *wanted = cg_value_of(c, cg_result(op, 0))->home;
    if (goes_from_strip_to_strip(c, op))
        cg_add_pieces(c, op, bc_elem_kind(from->type), have->tile_bits);
    else
        cg_add_conversion(c, op, bc_elem_kind(from->type), have, wanted);
}

static void remark_conversion(cg_func *c, const ct_op *op)
{
    const ct_value *v = op->operands[0];
    cg_conversion how =
        cg_conversion_of(c, op, bc_elem_kind(v->type), cg_value_of(c, v)->home, cg_value_of(c, cg_result(op, 0))->home);
    bool shared = how.way != CG_BY_NAMES && how.way != CG_BY_SHUFFLES;
    char shuffles[48] = "";
    if (how.way == CG_BY_SHUFFLES)
        snprintf(shuffles, sizeof shuffles, ", {Shuffles=%u} a thread", how.shuffles);
    bc_text type;
    bc_text_init(&type, &c->m->arena.allocator);
    bc_print_type(&type, v->type, false);
    cg_remark(c, ct_maker_of(v), CG_REMARK_Conversion, shared ? TV_REMARK_MISSED : TV_REMARK_PASSED,
              "{Type=%s}, {Bytes=%llu} bytes, converted to another layout by {Way=%s}%s", bc_text_words(&type),
              (unsigned long long)how.bytes, cg_way_text(how.way), shuffles);
    bc_text_release(&type);
}

void cg_lower_convert(cg_func *c, const ct_op *op)
{
    const ct_value *from = op->operands[0], *to = cg_result(op, 0);
    const cg_layout *have = cg_value_of(c, from)->home, *wanted = cg_value_of(c, to)->home;
    if (goes_from_strip_to_strip(c, op))
        cg_strip_transfer(c, op, from, have, NULL);
    else
        cg_set(c, to, cg_convert(c, op, bc_elem_kind(from->type), have, cg_get(c, from, have), wanted));
    if (cg_remarks_wanted(c))
        remark_conversion(c, op);
}

/* The generic form of MLIR: everything about an op, spelled out. Used where the op's own form leaves something out. */
#include "bytecode/print/op.h"

#include "bytecode/number/number.h"

static void print_words(bc_text *out, const char *type, const bc_ints *ints, bc_encoding encoding)
{
    bc_text_printf(out, "array<%s", type);
    if (ints && ints->count)
        bc_text_puts(out, ": ");
    bc_print_elements(out, encoding, ints);
    bc_text_char(out, '>');
}

static void print_property(bc_printer *p, const bc_op *op, const bc_row *row, const bc_attr *a)
{
    bc_text *out = p->out;
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_ENUM: bc_print_enum_attr(out, (bc_enum_id)row->enum_id, a->u); break;
    case BC_ENC_VARINT32: bc_text_printf(out, "%ld : i32", (long)(int32_t)(uint32_t)a->u); break;
    case BC_ENC_VARINT64: bc_text_printf(out, "%lld : i64", (long long)(int64_t)a->u); break;
    case BC_ENC_BOOL: bc_text_puts(out, a->u ? "true" : "false"); break;
    case BC_ENC_STRING: bc_print_string(out, a->string->s); break;
    case BC_ENC_CONST:
        bc_text_puts(out, "#cuda_tile.constant<");
        bc_print_hex(out, a->blob);
        bc_text_char(out, '>');
        break;
    case BC_ENC_TAGGED:
    case BC_ENC_HINTS:
    case BC_ENC_ATTRS: bc_print_tagged(out, a->tagged); break;
    case BC_ENC_I32S: print_words(out, "i32", a->ints, BC_ENC_I32S); break;
    case BC_ENC_BOOLS: print_words(out, "i1", a->ints, BC_ENC_BOOLS); break;
    case BC_ENC_UNIT:
    case BC_ENC_NONE: break;
    }
    (void)op;
}

static void print_segments(bc_printer *p, const bc_op *op)
{
    bc_text_puts(p->out, "operandSegmentSizes = array<i32: ");
    for (unsigned i = 0; i < bc_info(op)->operand_rows; i++) {
        if (i)
            bc_text_puts(p->out, ", ");
        bc_print_i64(p->out, bc_operand_range_at(op, i).count);
    }
    bc_text_char(p->out, '>');
}

static void print_properties(bc_printer *p, const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_attr_rows(info);
    const char *before = " <{";
    for (unsigned i = 0; i < info->attr_rows; i++) {
        const bc_attr *a = &bc_attrs(op)[i];
        if (!bc_attr_is_there(&rows[i], a))
            continue;
        bc_text_puts(p->out, before);
        before = ", ";
        size_t start = p->out->len;
        bc_text_puts(p->out, rows[i].name);
        if (rows[i].encoding != BC_ENC_UNIT) {
            bc_text_puts(p->out, " = ");
            print_property(p, op, &rows[i], a);
        }
        bc_print_mark(p, op, (int)(&rows[i] - bc_rows), 0, start);
    }
    if (info->mode == BC_MODE_SEGMENTED) {
        bc_text_puts(p->out, before);
        before = ", ";
        print_segments(p, op);
    }
    if (before[0] == ',')
        bc_text_puts(p->out, "}>");
}

static void print_block_label(bc_printer *p, const bc_block *block)
{
    if (block->arg_count == 0)
        return;
    bc_print_newline(p);
    bc_text_puts(p->out, "^bb0");
    bc_print_arguments(p, block, NULL);
    bc_text_char(p->out, ':');
}

static void print_generic_regions(bc_printer *p, const bc_op *op)
{
    for (unsigned i = 0; i < op->region_count; i++) {
        bc_text_puts(p->out, i ? ", " : " (");
        const bc_block *block = bc_regions(op)[i];
        if (p->one_line) {
            bc_print_region(p, block, false);
            continue;
        }
        bc_text_char(p->out, '{');
        if (block) {
            print_block_label(p, block);
            bc_print_ops(p, block, false);
        }
        bc_print_newline(p);
        bc_text_char(p->out, '}');
    }
    if (op->region_count)
        bc_text_char(p->out, ')');
}

/* Row and place in it of an operand, for the mark. */
static void operand_place(const bc_op *op, uint32_t i, int *out_row, unsigned *out_index)
{
    const bc_op_info *info = bc_info(op);
    for (unsigned r = 0; r < info->operand_rows; r++) {
        bc_range range = bc_operand_range_at(op, r);
        if (i >= range.first && i - range.first < range.count) {
            *out_row = (int)(bc_operand_rows(info) - bc_rows) + (int)r;
            *out_index = i - range.first;
            return;
        }
    }
    *out_row = -1;
    *out_index = 0;
}

static void print_generic_operands(bc_printer *p, const bc_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (i)
            bc_text_puts(p->out, ", ");
        size_t start = p->out->len;
        bc_print_operand(p, bc_operands(op)[i]);
        if (op == p->marked) {
            int row;
            unsigned index;
            operand_place(op, i, &row, &index);
            bc_print_mark(p, op, row, index, start);
        }
    }
}

static void print_signature(bc_printer *p, const bc_op *op)
{
    bc_text_puts(p->out, " : (");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        bc_text_puts(p->out, i ? ", " : "");
        bc_print_type(p->out, bc_operands(op)[i]->type, true);
    }
    bool parentheses = op->result_count != 1 || bc_results(op)[0].type->kind == BC_FUNCTION;
    bc_text_puts(p->out, parentheses ? ") -> (" : ") -> ");
    for (uint32_t i = 0; i < op->result_count; i++) {
        bc_text_puts(p->out, i ? ", " : "");
        size_t start = p->out->len;
        bc_print_type(p->out, bc_results(op)[i].type, true);
        bc_print_mark(p, op, bc_info(op)->first_row + (int)i, 0, start);
    }
    bc_text_puts(p->out, parentheses ? ")" : "");
}

void bc_print_generic(bc_printer *p, const bc_op *op)
{
    bc_text_printf(p->out, "\"cuda_tile.%s\"(", bc_info(op)->name);
    print_generic_operands(p, op);
    bc_text_char(p->out, ')');
    print_properties(p, op);
    print_generic_regions(p, op);
    print_signature(p, op);
}

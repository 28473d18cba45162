/* The disassembler: walks the module and interprets the formats of ops.def (format.h). Names come from names.c, types
   and attributes from attr.c, locations from debug.c. Text goes out in portions, so that memory does not
   grow with the module. */
#include "bytecode/print/print.h"

#include "bytecode/print/op.h"

/* ---- pieces ---- */

static void print_operands(bc_printer *p, const bc_op *op, int row)
{
    bc_range range = bc_operand_range(op, row);
    for (uint32_t i = 0; i < range.count; i++) {
        if (i)
            bc_text_puts(p->out, ", ");
        size_t start = p->out->len;
        bc_print_operand(p, bc_operands(op)[range.first + i]);
        bc_print_mark(p, op, row, i, start);
    }
}

static void print_attr(bc_printer *p, const bc_op *op, int row)
{
    const bc_row *r = &bc_rows[row];
    const bc_attr *a = bc_attr_of(op, row);
    bc_text *out = p->out;
    switch ((bc_encoding)r->encoding) {
    case BC_ENC_ENUM: bc_text_puts(out, bc_enum_text((bc_enum_id)r->enum_id, a->u)); break;
    case BC_ENC_VARINT32: bc_print_i64(out, (int32_t)(uint32_t)a->u); break;
    case BC_ENC_VARINT64: bc_print_i64(out, (int64_t)a->u); break;
    case BC_ENC_BOOL: bc_text_puts(out, a->u ? "true" : "false"); break;
    case BC_ENC_STRING: bc_print_string(out, a->string->s); break;
    case BC_ENC_CONST: bc_print_constant(out, &p->dense, bc_results(op)[0].type, a->blob); break;
    case BC_ENC_TAGGED: bc_print_predicate(out, a->tagged); break;
    case BC_ENC_HINTS: bc_print_hints(out, a->tagged); break;
    case BC_ENC_ATTRS: bc_print_tagged(out, a->tagged); break;
    case BC_ENC_I32S:
    case BC_ENC_BOOLS:
        bc_text_char(out, '[');
        bc_print_elements(out, (bc_encoding)r->encoding, a->ints);
        bc_text_char(out, ']');
        break;
    case BC_ENC_UNIT:
    case BC_ENC_NONE: break;
    }
}

static void print_value_piece(bc_printer *p, const bc_op *op, const bc_piece *piece)
{
    int row = piece->refs[0].row;
    if (bc_rows[row].kind == BC_OPERAND) {
        print_operands(p, op, row);
        return;
    }
    size_t start = p->out->len;
    if (piece->kind == BC_PIECE_SYMBOL)
        bc_print_symbol(p->out, bc_attr_of(op, row)->string->s);
    else
        print_attr(p, op, row);
    bc_print_mark(p, op, row, 0, start);
}

static void print_dict(bc_printer *p, const bc_op *op, const bc_piece *piece)
{
    const bc_row *row = &bc_rows[piece->refs[0].row];
    uint64_t value = bc_attr_u(op, piece->refs[0].row);
    if (value == piece->word)
        return;
    bc_text_printf(p->out, " attributes {%s = ", row->name);
    size_t start = p->out->len;
    bc_print_enum_attr(p->out, (bc_enum_id)row->enum_id, value);
    bc_print_mark(p, op, piece->refs[0].row, 0, start);
    bc_text_char(p->out, '}');
}

static bool all_same(const bc_op *op, bc_ref ref)
{
    uint32_t count = bc_ref_count(op, ref);
    for (uint32_t i = 1; i < count; i++)
        if (bc_ref_value(op, ref, i)->type != bc_ref_value(op, ref, 0)->type)
            return false;
    return true;
}

static void print_types(bc_printer *p, const bc_op *op, const bc_piece *piece)
{
    bc_ref ref = piece->refs[0];
    uint32_t count = bc_ref_count(op, ref);
    if (piece->either && count == 0) {
        ref = piece->refs[1];
        count = bc_ref_count(op, ref);
    }
    if (count == 0 && bc_unwritten_result(p->m, op)) /* the only such result is a token */
        bc_text_puts(p->out, p->options.prefix ? "!cuda_tile.token" : "token");
    if (piece->splat && count && all_same(op, ref))
        count = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            bc_text_puts(p->out, ", ");
        size_t start = p->out->len;
        bc_print_type(p->out, bc_ref_value(op, ref, i)->type, p->options.prefix);
        for (unsigned r = 0; r < piece->ref_count && !piece->either; r++)
            if (piece->refs[r].row != BC_REF_ARGS && bc_rows[piece->refs[r].row].kind == BC_RESULT)
                bc_print_mark(p, op, piece->refs[r].row, i, start);
    }
}

static void print_args(bc_printer *p, const bc_op *op, const bc_piece *piece)
{
    uint32_t count = bc_ref_count(op, piece->refs[0]);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            bc_text_puts(p->out, ", ");
        bc_print_operand(p, bc_ref_value(op, piece->refs[0], i));
        if (piece->kind != BC_PIECE_ASSIGN)
            continue;
        bc_text_puts(p->out, " = ");
        size_t start = p->out->len;
        bc_print_operand(p, bc_ref_value(op, piece->refs[1], i));
        bc_print_mark(p, op, piece->refs[1].row, i, start);
    }
}

static void print_sizes(bc_printer *p, const bc_op *op, const bc_piece *piece)
{
    const bc_type *type = bc_results(op)[0].type;
    const int64_t *sizes = piece->strides ? type->strides : type->shape;
    uint32_t count = piece->strides ? type->result_count : type->rank, dynamic = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            bc_text_puts(p->out, ", ");
        if (sizes[i] != BC_DYNAMIC) {
            bc_print_i64(p->out, sizes[i]);
            continue;
        }
        size_t start = p->out->len;
        bc_print_operand(p, bc_ref_value(op, piece->refs[0], dynamic));
        bc_print_mark(p, op, piece->refs[0].row, dynamic++, start);
    }
}

static const bc_block *region_of(const bc_op *op, const bc_piece *piece)
{
    return bc_regions(op)[piece->refs[0].row - (bc_region_rows(bc_info(op)) - bc_rows)];
}

static void print_piece(bc_printer *p, const bc_op *op, const bc_piece *piece)
{
    switch ((bc_piece_kind)piece->kind) {
    case BC_PIECE_TEXT: bc_text_str(p->out, piece->text); break;
    case BC_PIECE_VALUE:
    case BC_PIECE_SYMBOL: print_value_piece(p, op, piece); break;
    case BC_PIECE_DICT: print_dict(p, op, piece); break;
    case BC_PIECE_TYPES: print_types(p, op, piece); break;
    case BC_PIECE_ARGS:
    case BC_PIECE_ASSIGN: print_args(p, op, piece); break;
    case BC_PIECE_SIZES: print_sizes(p, op, piece); break;
    case BC_PIECE_ARG_LIST:
        if (!p->one_line)
            bc_print_newline(p);
        bc_print_arguments(p, region_of(op, piece), NULL);
        break;
    case BC_PIECE_REGION:
        bc_print_region(p, region_of(op, piece),
                        bc_can_leave_out(region_of(op, piece), piece->opcode, p->options.debug_info));
        break;
    case BC_PIECE_TOKEN:
    case BC_PIECE_END:
    case BC_PIECE_GROUP:
    case BC_PIECE_ELSE:
    case BC_PIECE_CLOSE: break;
    }
}

static void print_formatted(bc_printer *p, const bc_op *op, const bc_format *format)
{
    for (unsigned i = 0; i < format->piece_count; i++) {
        const bc_piece *piece = &format->pieces[i];
        if (piece->kind == BC_PIECE_ELSE)
            i = piece->jump;
        else if (piece->kind == BC_PIECE_GROUP && !bc_group_is_there(piece, op))
            i = piece->jump;
        else
            print_piece(p, op, piece);
    }
}

/* ---- ops and regions ---- */

static void print_words(bc_printer *p, const bc_op *op, const bc_format *format, bool fits)
{
    if (fits) {
        bc_text_puts(p->out, p->options.prefix ? "cuda_tile." : "");
        bc_text_puts(p->out, bc_info(op)->name);
        print_formatted(p, op, format);
    } else {
        bc_print_generic(p, op);
    }
}

void bc_print_op(bc_printer *p, const bc_op *op)
{
    const bc_format *format = bc_format_of(&p->formats, (bc_opcode)op->opcode);
    if (!format) {
        p->out->failed = true;
        return;
    }
    size_t start = p->out->len;
    bc_print_results(p->out, p->names, op);
    if (p->out->len > start)
        bc_text_puts(p->out, " = ");
    print_words(p, op, format, bc_fits_format(format, p->m, op));
    bc_print_location(p, op->loc);
}

void bc_print_ops(bc_printer *p, const bc_block *block, bool skip_last)
{
    for (const bc_op *op = block->first; op && !(skip_last && op == block->last); op = op->next) {
        if (p->options.offsets && !p->m->from_text) {
            bc_print_newline(p);
            bc_text_printf(p->out, "// 0x%04x", (unsigned)op->offset);
        }
        bc_print_newline(p);
        bc_print_op(p, op);
        bc_print_flush(p, BC_PRINT_PORTION);
    }
}

void bc_print_region(bc_printer *p, const bc_block *block, bool skip_last)
{
    if (p->look) {
        p->look->region(p->look->user, block, p->out);
        return;
    }
    if (p->one_line) {
        bc_text_puts(p->out, "{...}");
        return;
    }
    bc_text_char(p->out, '{');
    p->indent++;
    if (block)
        bc_print_ops(p, block, skip_last);
    p->indent--;
    bc_print_newline(p);
    bc_text_char(p->out, '}');
}

/* ---- functions, globals, the module ---- */

static void print_global(bc_printer *p, const bc_global *g)
{
    if (p->options.prefix)
        bc_text_puts(p->out, "cuda_tile.");
    bc_text_puts(p->out, "global ");
    if (g->visibility != BC_SymbolVisibility_public)
        bc_text_printf(p->out, "%s ", bc_enum_text(BC_ENUM_SymbolVisibility, g->visibility));
    bc_text_puts(p->out, g->constant ? " constant " : " ");
    bc_print_symbol(p->out, g->name->s);
    if (g->alignment) {
        bc_text_puts(p->out, " alignment = ");
        bc_print_i64(p->out, (int64_t)g->alignment);
    }
    bc_text_char(p->out, ' ');
    bc_print_constant(p->out, &p->dense, g->type, g->value);
    bc_text_puts(p->out, " : ");
    bc_print_type(p->out, g->type, p->options.prefix);
    bc_print_location(p, 0);
}

/* -> type, or -> (types). No valid entry has results. */
static void print_function_results(bc_printer *p, const bc_type *type)
{
    if (type->result_count == 0)
        return;
    bc_text_puts(p->out, type->result_count == 1 ? " -> " : " -> (");
    for (uint32_t i = 0; i < type->result_count; i++) {
        bc_text_puts(p->out, i ? ", " : "");
        bc_print_type(p->out, type->members[type->rank + i], p->options.prefix);
    }
    bc_text_puts(p->out, type->result_count == 1 ? "" : ")");
}

static void print_entry(bc_printer *p, const bc_function *f)
{
    if (p->options.prefix)
        bc_text_puts(p->out, "cuda_tile.");
    bc_text_puts(p->out, f->flags & BC_FUNC_PRIVATE ? "entry private " : "entry ");
    bc_print_symbol(p->out, f->name->s);
    bc_print_arguments(p, f->body, f->arg_attrs);
    print_function_results(p, f->type);
    bc_text_char(p->out, ' ');
    if (f->hints && f->hints->u.dict.count) {
        bc_text_puts(p->out, "optimization_hints=");
        bc_print_hints(p->out, f->hints);
        bc_text_char(p->out, ' ');
    }
    bc_print_region(p, f->body, false);
    bc_print_location(p, f->loc);
}

static void print_function(bc_printer *p, const bc_function *f)
{
    bc_arena scratch;
    bc_arena_init(&scratch, &p->m->arena.allocator, 0);
    p->names = bc_names_new(p->m, f, &p->formats, &p->dense, &scratch);
    if (p->names)
        print_entry(p, f);
    else
        p->out->failed = true;
    bc_arena_release(&scratch);
}

static void print_contents(bc_printer *p)
{
    const char *before = "";
    for (size_t i = 0; i < p->m->global_count + p->m->function_count; i++) {
        bc_text_puts(p->out, before);
        if (i || p->options.prefix)
            bc_print_newline(p);
        if (i < p->m->global_count)
            print_global(p, &p->m->globals[i]);
        else
            print_function(p, &p->m->functions[i - p->m->global_count]);
        bc_print_flush(p, BC_PRINT_PORTION);
    }
}

static bool printer_init(bc_printer *p, const bc_module *m, bc_text *out)
{
    *p = (bc_printer){.m = m, .out = out, .row = -1};
    bc_arena_init(&p->scratch, &m->arena.allocator, 0);
    p->formats.arena = &p->scratch;
    return bc_dense_cache_init(&p->dense, &p->scratch, m);
}

/* A comment, since the text has no place for it; on one line, whatever the name. */
static void print_producer(bc_printer *p)
{
    if (!p->m->producer)
        return;
    bc_text_puts(p->out, "// Producer: ");
    tv_str name = p->m->producer->s;
    for (size_t i = 0; i < name.len; i++)
        bc_text_char(p->out, (unsigned char)name.ptr[i] < 0x20 ? '?' : name.ptr[i]);
    bc_text_char(p->out, '\n');
}

static void print_module(bc_printer *p)
{
    if (p->options.debug_info) {
        p->aliases = bc_aliases_new(p->m, &p->formats, &p->scratch);
        if (!p->aliases) {
            p->out->failed = true;
            return;
        }
    }
    print_producer(p);
    if (p->options.prefix) {
        bc_text_puts(p->out, "cuda_tile.module @kernels {");
        p->indent++;
    }
    print_contents(p);
    if (p->options.prefix) {
        p->indent--;
        bc_print_newline(p);
        bc_text_char(p->out, '}');
        bc_print_location(p, 0);
    }
    bc_text_char(p->out, '\n'); /* also where there is nothing to end */
    if (p->aliases)
        bc_print_aliases(p);
}

static tv_status print_all(const tv_module *m, const tv_print_options *options, tv_writer out)
{
    bc_printer p;
    bc_text text;
    bc_text_init(&text, &m->arena.allocator);
    bool ready = printer_init(&p, m, &text);
    if (options)
        p.options = *options;
    p.sink = out;
    if (ready)
        print_module(&p);
    bc_print_flush(&p, 0);
    tv_status status = !ready || text.failed ? TV_NO_MEMORY : p.sink_failed ? TV_IO : TV_OK;
    bc_arena_release(&p.scratch);
    bc_text_release(&text);
    return status;
}

tv_status tv_module_print(const tv_module *m, const tv_print_options *options, tv_writer out)
{
    TV_RETURN_COMPUTED(print_all(m, options, out));
}

void bc_print_op_text(const bc_module *m, const bc_function *f, const bc_op *op, int row, unsigned index, bc_text *out,
                      uint32_t *out_caret, uint32_t *out_caret_len)
{
    bc_printer p;
    size_t start = out->len;
    *out_caret = *out_caret_len = 0;
    bool ready = printer_init(&p, m, out);
    p.one_line = true;
    p.marked = op;
    p.row = row;
    p.index = index;
    p.names = ready ? bc_names_new(m, f, &p.formats, &p.dense, &p.scratch) : NULL;
    if (p.names)
        bc_print_op(&p, op);
    bc_arena_release(&p.scratch);
    out->failed |= !p.names;
    if (out->failed) {
        out->len = start;
        return;
    }
    *out_caret = (uint32_t)(p.mark_len ? p.mark - start : 0);
    *out_caret_len = (uint32_t)p.mark_len;
}

struct bc_op_printer {
    bc_printer p;
};

bc_op_printer *bc_op_printer_new(const bc_module *m, const bc_function *f)
{
    const tv_allocator *allocator = &m->arena.allocator;
    bc_op_printer *printer = allocator->alloc(allocator->user, sizeof *printer);
    if (!printer)
        return NULL;
    bc_printer *p = &printer->p;
    bool ready = printer_init(p, m, NULL);
    p->one_line = true;
    p->names = ready ? bc_names_new(m, f, &p->formats, &p->dense, &p->scratch) : NULL;
    if (p->names)
        return printer;
    bc_op_printer_free(printer);
    return NULL;
}

void bc_op_printer_print(bc_op_printer *printer, const bc_op *op, bc_text *out)
{
    printer->p.out = out;
    bc_print_op(&printer->p, op);
}

void bc_op_printer_print_as(bc_op_printer *printer, const bc_op *op, const bc_op *like, const bc_op_look *look,
                            bc_text *out)
{
    bc_printer *p = &printer->p;
    const bc_format *format = bc_format_of(&p->formats, (bc_opcode)op->opcode);
    if (!format) {
        out->failed = true;
        return;
    }
    const bc_op_look *before = p->look; /* of an op around it */
    p->out = out;
    p->look = look;
    print_words(p, op, format, !like || bc_fits_format(format, p->m, like));
    p->look = before;
}

void bc_op_printer_value(const bc_op_printer *printer, const bc_value *value, bc_text *out)
{
    bc_print_value(out, printer->p.names, value);
}

void bc_op_printer_results(const bc_op_printer *printer, const bc_op *op, bc_text *out)
{
    bc_print_results(out, printer->p.names, op);
}

void bc_op_printer_free(bc_op_printer *printer)
{
    if (!printer)
        return;
    const tv_allocator *allocator = &printer->p.m->arena.allocator;
    bc_arena_release(&printer->p.scratch);
    allocator->release(allocator->user, printer, sizeof *printer);
}

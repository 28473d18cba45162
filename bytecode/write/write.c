/* The writer: mirrors the reader. Tables and sections go out in the order they are held, so a file that was read and
   not changed comes back as the same bytes. A module holds nothing that its version has no bytes for (reader, assembler
   and convert see to it), so nothing is dropped here. Source: format reference, sections 1 to 9 and 12. */
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "bytecode/print/report.h"

typedef struct bc_out {
    const bc_module *m;
    bc_text bytes; /* the section, table item or body being written */
} bc_out;

/* ---- primitives ---- */

static void put_u8(bc_out *o, unsigned v)
{
    bc_text_char(&o->bytes, (char)(unsigned char)v);
}

static void put_le(bc_out *o, uint64_t v, unsigned bytes)
{
    uint8_t raw[8];
    for (unsigned i = 0; i < bytes; i++)
        raw[i] = (uint8_t)(v >> (8 * i));
    bc_text_bytes(&o->bytes, raw, bytes);
}

static void put_varint(bc_out *o, uint64_t v)
{
    uint8_t raw[10];
    unsigned n = 0;
    do {
        raw[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
    bc_text_bytes(&o->bytes, raw, n);
}

static void put_svarint(bc_out *o, int64_t v)
{
    put_varint(o, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void put_padding(bc_out *o, size_t align)
{
    for (size_t pad = (0 - o->bytes.len) & (align - 1); pad > 0; pad--) /* ends when memory does not grow */
        put_u8(o, 0xcb);
}

static void put_ints(bc_out *o, const int64_t *values, uint32_t count, unsigned width)
{
    put_varint(o, count);
    for (uint32_t i = 0; i < count; i++)
        put_le(o, (uint64_t)values[i], width);
}

static void put_type(bc_out *o, const bc_type *t)
{
    put_varint(o, t->index);
}

static void put_string(bc_out *o, const bc_string *s)
{
    put_varint(o, s->index);
}

/* ---- types (section 4) ---- */

static void put_view_type(bc_out *o, const bc_type *t)
{
    bool padded = t->padding != BC_NO_PADDING;
    if (o->m->version >= BC_13_3)
        put_varint(o, padded);
    put_ints(o, t->shape, t->rank, 4);
    if (t->kind == BC_STRIDED_VIEW)
        put_ints(o, t->strides, t->stride_count, 4);
    put_type(o, t->elem);
    if (t->kind == BC_GATHER_SCATTER_VIEW)
        put_varint(o, t->sparse_dim);
    else
        put_ints(o, t->dim_map, t->result_count, 4);
    if (o->m->version < BC_13_3)
        put_u8(o, padded);
    if (padded)
        put_varint(o, t->padding);
}

static void put_type_record(bc_out *o, const bc_type *t)
{
    bool has_attr = t->ptr_attr != BC_NO_PTR_ATTR;
    put_varint(o, bc_kinds[t->kind].tag);
    switch ((bc_kind)t->kind) {
    case BC_PTR:
    case BC_TENSOR_VIEW:
        if (o->m->version >= BC_13_4)
            put_varint(o, has_attr);
        put_type(o, t->elem);
        if (t->kind == BC_TENSOR_VIEW) {
            put_ints(o, t->shape, t->rank, 8);
            put_ints(o, t->strides, t->result_count, 8);
        }
        if (has_attr)
            put_varint(o, t->ptr_attr);
        break;
    case BC_TILE:
        put_type(o, t->elem);
        put_ints(o, t->shape, t->rank, 8);
        break;
    case BC_PARTITION_VIEW:
    case BC_STRIDED_VIEW:
    case BC_GATHER_SCATTER_VIEW: put_view_type(o, t); break;
    case BC_FUNCTION:
        put_varint(o, t->rank);
        for (uint32_t i = 0; i < t->rank; i++)
            put_type(o, t->members[i]);
        put_varint(o, t->result_count);
        for (uint32_t i = 0; i < t->result_count; i++)
            put_type(o, t->members[t->rank + i]);
        break;
    default: break;
    }
}

/* ---- tagged attributes (section 6.2) ---- */

static void put_tagged(bc_out *o, const bc_tagged *a);

static void put_dict(bc_out *o, const bc_dict *d)
{
    put_varint(o, d->count);
    for (uint32_t i = 0; i < d->count; i++) {
        put_string(o, d->entries[i].key);
        put_tagged(o, &d->entries[i].value);
    }
}

static void put_list(bc_out *o, const bc_list *list)
{
    put_varint(o, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        put_tagged(o, &list->items[i]);
}

static void put_float(bc_out *o, const bc_tagged *a)
{
    put_type(o, a->type);
    if (bc_kinds[a->type->kind].bits <= 8) {
        put_u8(o, (unsigned)a->u.bits);
    } else if (a->lost_sign) { /* the 65-bit form that was read: the low 64 bits as a varint of 10 bytes, bit 64 added
                                */
        uint64_t low = (uint64_t)a->u.bits << 1;
        for (unsigned i = 0; i < 9; i++, low >>= 7)
            put_u8(o, (low & 0x7f) | 0x80);
        put_u8(o, (unsigned)(low & 1) | 2);
    } else {
        put_svarint(o, (int64_t)a->u.bits);
    }
}

static void put_bounds(bc_out *o, const bc_tagged *a)
{
    put_u8(o, (unsigned)a->has_a | (unsigned)a->has_b << 1);
    if (a->has_a)
        put_svarint(o, a->a);
    if (a->has_b)
        put_svarint(o, a->b);
}

static void put_tagged(bc_out *o, const bc_tagged *a)
{
    put_varint(o, a->tag);
    switch ((bc_tag)a->tag) {
    case BC_TAG_INTEGER:
        put_type(o, a->type);
        put_varint(o, a->u.bits);
        break;
    case BC_TAG_FLOAT: put_float(o, a); break;
    case BC_TAG_BOOL: put_u8(o, (unsigned)a->u.bits); break;
    case BC_TAG_TYPE: put_type(o, a->type); break;
    case BC_TAG_STRING: put_string(o, a->u.string); break;
    case BC_TAG_ARRAY: put_list(o, &a->u.array); break;
    case BC_TAG_DIV_BY:
        put_varint(o, a->u.bits);
        put_bounds(o, a);
        break;
    case BC_TAG_SAME_ELEMENTS: put_ints(o, a->u.ints.ptr, a->u.ints.count, 8); break;
    case BC_TAG_DICTIONARY:
    case BC_TAG_HINTS: put_dict(o, &a->u.dict); break;
    case BC_TAG_BOUNDED: put_bounds(o, a); break;
    case BC_TAG_DENSE: /* never made: the reader refuses it */ break;
    }
}

/* ---- bodies (section 8) ---- */

/* Wire index of each value id of the function: the position in the list of visible values. */
typedef struct value_numbers {
    uint32_t *of;
    uint32_t visible;
} value_numbers;

static void number_values(value_numbers *n, const bc_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        n->of[values[i].id] = n->visible++;
}

static void put_block(bc_out *o, value_numbers *n, const bc_block *block);

static uint64_t flags_of(const bc_out *o, const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_attr_rows(info);
    uint64_t flags = 0;
    for (unsigned i = 0; i < info->attr_rows; i++) {
        const bc_attr *a = &bc_attrs(op)[i];
        bool scalar = rows[i].encoding >= BC_ENC_ENUM && rows[i].encoding <= BC_ENC_BOOL;
        bool set = rows[i].kind == BC_FLAG ? a->u != 0 : scalar ? a->u != BC_ABSENT : a->tagged != NULL;
        if (rows[i].bit != BC_NO_BIT && rows[i].since <= o->m->version && set)
            flags |= 1u << rows[i].bit;
    }
    if (info->mode == BC_MODE_SEGMENTED) {
        const bc_row *operands = bc_operand_rows(info);
        bc_segments s = bc_get_segments(op);
        for (unsigned i = 0; i < info->operand_rows; i++)
            if (operands[i].bit != BC_NO_BIT && s.present >> i & 1)
                flags |= 1u << operands[i].bit;
    }
    return flags;
}

/* A `inbounds` that is absent in memory is as many false as there are indices. */
static void put_bools(bc_out *o, const bc_op *op, const bc_ints *ints)
{
    if (ints) {
        put_varint(o, ints->count);
        for (uint32_t i = 0; i < ints->count; i++)
            put_u8(o, ints->ptr[i] != 0);
        return;
    }
    bc_segments s = bc_get_segments(op);
    put_varint(o, s.count[0]);
    for (uint32_t i = 0; i < s.count[0]; i++)
        put_u8(o, 0);
}

static void put_attr(bc_out *o, const bc_op *op, const bc_row *row, const bc_attr *a)
{
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_ENUM:
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64: put_varint(o, a->u); break;
    case BC_ENC_BOOL: put_u8(o, (unsigned)a->u); break;
    case BC_ENC_STRING: put_string(o, a->string); break;
    case BC_ENC_CONST: put_varint(o, a->blob->index); break;
    case BC_ENC_TAGGED: put_tagged(o, a->tagged); break;
    case BC_ENC_HINTS: put_dict(o, &a->tagged->u.dict); break;
    case BC_ENC_ATTRS: put_list(o, &a->tagged->u.array); break;
    case BC_ENC_I32S: put_ints(o, a->ints->ptr, a->ints->count, 4); break;
    case BC_ENC_BOOLS: put_bools(o, op, a->ints); break;
    case BC_ENC_UNIT:
    case BC_ENC_NONE: break;
    }
}

static void put_attrs(bc_out *o, const bc_op *op, uint64_t flags)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_attr_rows(info);
    for (unsigned i = 0; i < info->attr_rows; i++)
        if (rows[i].kind == BC_ATTR && rows[i].since <= o->m->version
            && (rows[i].bit == BC_NO_BIT || flags >> rows[i].bit & 1))
            put_attr(o, op, &rows[i], &bc_attrs(op)[i]);
}

static void put_operands(bc_out *o, const value_numbers *n, const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    bc_value **operands = bc_operands(op);
    if (info->mode == BC_MODE_COUNTED)
        put_varint(o, op->operand_count);
    if (info->mode != BC_MODE_SEGMENTED) {
        for (uint32_t i = 0; i < op->operand_count; i++)
            put_varint(o, n->of[operands[i]->id]);
        return;
    }
    const bc_row *rows = bc_operand_rows(info);
    for (unsigned r = 0; r < info->operand_rows; r++) {
        bc_range range = bc_operand_range_at(op, r);
        if (rows[r].arity == BC_VARIADIC)
            put_varint(o, range.count);
        for (uint32_t i = 0; i < range.count; i++)
            put_varint(o, n->of[operands[range.first + i]->id]);
    }
}

static void put_op(bc_out *o, value_numbers *n, const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    put_varint(o, op->opcode);
    if (info->traits & BC_COUNTED)
        put_varint(o, op->result_count);
    for (uint32_t i = 0; i < op->result_count; i++)
        put_type(o, bc_results(op)[i].type);
    uint64_t flags = flags_of(o, op);
    if (info->flags_since <= o->m->version)
        put_varint(o, flags);
    put_attrs(o, op, flags);
    put_operands(o, n, op);
    if (op->region_count)
        put_varint(o, op->region_count);
    for (unsigned i = 0; i < op->region_count; i++) {
        const bc_block *block = bc_regions(op)[i];
        put_varint(o, block != NULL);
        if (block)
            put_block(o, n, block);
    }
    number_values(n, bc_results(op), op->result_count);
}

static void put_block(bc_out *o, value_numbers *n, const bc_block *block)
{
    uint32_t visible = n->visible;
    put_varint(o, block->arg_count);
    for (uint32_t i = 0; i < block->arg_count; i++)
        put_type(o, block->args[i].type);
    number_values(n, block->args, block->arg_count);
    put_varint(o, block->op_count);
    for (const bc_op *op = block->first; op; op = op->next)
        put_op(o, n, op);
    n->visible = visible;
}

/* ---- sections ---- */

static bc_out sub_output(const bc_out *o)
{
    bc_out inner = {.m = o->m};
    bc_text_init(&inner.bytes, &o->m->arena.allocator);
    return inner;
}

/* Appends the inner bytes and releases them. */
static void put_inner(bc_out *o, bc_out *inner)
{
    bc_text_str(&o->bytes, bc_text_get(&inner->bytes));
    o->bytes.failed |= inner->bytes.failed;
    bc_text_release(&inner->bytes);
}

static void put_body(bc_out *o, const bc_function *f)
{
    value_numbers n = {
        .of = o->m->arena.allocator.alloc(o->m->arena.allocator.user, (f->value_count + 1u) * sizeof *n.of)};
    bc_out body = sub_output(o);
    if (!n.of) {
        o->bytes.failed = true;
        return;
    }
    number_values(&n, f->body->args, f->body->arg_count);
    for (const bc_op *op = f->body->first; op; op = op->next)
        put_op(&body, &n, op);
    o->m->arena.allocator.release(o->m->arena.allocator.user, n.of, (f->value_count + 1u) * sizeof *n.of);
    put_varint(o, body.bytes.len);
    put_inner(o, &body);
}

static void put_function(bc_out *o, const bc_function *f, uint32_t debug_index)
{
    static const bc_tagged no_hints = {.tag = BC_TAG_HINTS}, no_attrs = {.tag = BC_TAG_ARRAY};
    put_string(o, f->name);
    put_type(o, f->type);
    unsigned flags = f->flags & ~(unsigned)BC_FUNC_HINTS;
    if (o->m->version < BC_13_5 && f->hints)
        flags |= BC_FUNC_HINTS;
    put_u8(o, flags);
    put_varint(o, debug_index);
    if (o->m->version >= BC_13_5 || f->hints)
        put_tagged(o, f->hints ? f->hints : &no_hints);
    if (o->m->version >= BC_13_5)
        put_tagged(o, f->arg_attrs ? f->arg_attrs : &no_attrs);
    put_body(o, f);
}

static void put_functions(bc_out *o)
{
    uint32_t debug_index = 0;
    put_varint(o, o->m->function_count);
    for (size_t i = 0; i < o->m->function_count; i++) {
        const bc_function *f = &o->m->functions[i];
        put_function(o, f, f->has_debug ? ++debug_index : 0);
    }
}

static void put_globals(bc_out *o)
{
    put_varint(o, o->m->global_count);
    for (size_t i = 0; i < o->m->global_count; i++) {
        const bc_global *g = &o->m->globals[i];
        put_string(o, g->name);
        put_type(o, g->type);
        put_varint(o, g->value->index);
        put_varint(o, g->alignment);
        if (o->m->version >= BC_13_3) {
            put_varint(o, g->visibility);
            put_varint(o, g->constant);
        }
    }
}

/* One item of an offset table. */
typedef void put_item_fn(bc_out *o, size_t i);

static void put_string_item(bc_out *o, size_t i)
{
    bc_text_str(&o->bytes, o->m->strings[i]->s);
}

static void put_type_item(bc_out *o, size_t i)
{
    put_type_record(o, o->m->types[i]);
}

static void put_constant_item(bc_out *o, size_t i)
{
    const bc_blob *b = o->m->constants[i];
    put_varint(o, b->len);
    bc_text_bytes(&o->bytes, b->ptr, b->len);
}

static void put_debug_item(bc_out *o, size_t i)
{
    const bc_di *d = &o->m->debug[i];
    put_varint(o, d->tag);
    switch ((bc_di_tag)d->tag) {
    case BC_DI_COMPILE_UNIT: put_varint(o, d->a); break;
    case BC_DI_FILE:
        put_string(o, d->name);
        put_string(o, d->other);
        break;
    case BC_DI_LEXICAL_BLOCK:
        put_varint(o, d->a);
        put_varint(o, d->b);
        put_varint(o, d->line);
        put_varint(o, d->column);
        break;
    case BC_DI_LOC:
        put_varint(o, d->a);
        put_string(o, d->name);
        put_varint(o, d->line);
        put_varint(o, d->column);
        break;
    case BC_DI_SUBPROGRAM:
        put_varint(o, d->a);
        put_varint(o, d->line);
        put_string(o, d->name);
        put_string(o, d->other);
        put_varint(o, d->b);
        put_varint(o, d->column);
        if (o->m->version >= BC_13_5)
            put_varint(o, d->flags);
        break;
    case BC_DI_CALL_SITE:
        put_varint(o, d->a);
        put_varint(o, d->b);
        break;
    case BC_DI_UNKNOWN:
    case BC_DI_TAG_COUNT: break;
    }
}

static void put_table(bc_out *o, size_t count, unsigned width, put_item_fn *put_item)
{
    bc_out items = sub_output(o);
    put_varint(o, count);
    put_padding(o, width);
    for (size_t i = 0; i < count; i++) {
        put_le(o, items.bytes.len, width);
        put_item(&items, i);
    }
    put_inner(o, &items);
}

static void put_debug_slots(bc_out *o)
{
    size_t functions = 0, slots = 0;
    for (size_t i = 0; i < o->m->function_count; i++)
        functions += o->m->functions[i].has_debug;
    put_varint(o, functions);
    put_padding(o, 4);
    for (size_t i = 0; i < o->m->function_count; i++)
        if (o->m->functions[i].has_debug) {
            put_le(o, slots, 4);
            slots += 1 + o->m->functions[i].op_count;
        }
    put_varint(o, slots);
    put_padding(o, 8);
    for (size_t i = 0; i < o->m->function_count; i++) {
        const bc_function *f = &o->m->functions[i];
        if (!f->has_debug)
            continue;
        put_le(o, f->loc, 8);
        for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
            put_le(o, op->loc, 8);
    }
}

static void put_debug(bc_out *o)
{
    put_debug_slots(o);
    if (o->m->debug_count == 0) { /* readers fail on an empty table: one unknown location, as cuTile Python does */
        static const uint8_t one_unknown[] = {0, 0, 0, 0, 0};
        put_varint(o, 1);
        put_padding(o, 4);
        bc_text_bytes(&o->bytes, one_unknown, sizeof one_unknown);
        return;
    }
    /* the offsets pad relative to the section, and so does the table: it is written in place */
    put_varint(o, o->m->debug_count);
    put_padding(o, 4);
    bc_out items = sub_output(o);
    for (size_t i = 0; i < o->m->debug_count; i++) {
        put_le(o, items.bytes.len, 4);
        put_debug_item(&items, i);
    }
    put_inner(o, &items);
}

static void put_payload(bc_out *o, unsigned id)
{
    const bc_module *m = o->m;
    switch (id) {
    case BC_SECTION_STRING: put_table(o, m->string_count, 4, put_string_item); break;
    case BC_SECTION_FUNC: put_functions(o); break;
    case BC_SECTION_DEBUG: put_debug(o); break;
    case BC_SECTION_CONSTANT: put_table(o, m->constant_count, 8, put_constant_item); break;
    case BC_SECTION_TYPE: put_table(o, m->type_count, 4, put_type_item); break;
    case BC_SECTION_GLOBAL: put_globals(o); break;
    default: put_string(o, m->producer); break;
    }
}

static bool wanted(const bc_module *m, unsigned id)
{
    switch (id) {
    case BC_SECTION_GLOBAL: return m->global_count > 0;
    case BC_SECTION_PRODUCER: return m->producer != NULL;
    case BC_SECTION_DEBUG: return m->has_debug_section;
    default: return true;
    }
}

static void put_section(bc_out *o, unsigned id)
{
    static const uint8_t align[BC_SECTION_COUNT] = {1, 4, 8, 8, 8, 4, 1, 1};
    bc_out payload = sub_output(o);
    put_payload(&payload, id);
    put_u8(o, id | (align[id] > 1 ? 0x80 : 0));
    put_varint(o, payload.bytes.len);
    if (align[id] > 1) {
        put_varint(o, align[id]);
        put_padding(o, align[id]);
    }
    put_inner(o, &payload);
}

static void put_file(bc_out *o)
{
    static const uint8_t usual[] = {BC_SECTION_FUNC, BC_SECTION_GLOBAL,   BC_SECTION_CONSTANT, BC_SECTION_DEBUG,
                                    BC_SECTION_TYPE, BC_SECTION_PRODUCER, BC_SECTION_STRING,   0};
    static const char magic[8] = "\x7fTileIR";
    bool written[BC_SECTION_COUNT] = {0};
    bc_text_bytes(&o->bytes, magic, sizeof magic);
    put_u8(o, 13);
    put_u8(o, o->m->version);
    put_le(o, 0, 2);
    /* first as the file had them, then what is new */
    const uint8_t *orders[2] = {o->m->section_order, usual};
    for (unsigned k = 0; k < 2; k++)
        for (const uint8_t *id = orders[k]; *id; id++)
            if (!written[*id] && wanted(o->m, *id)) {
                written[*id] = true;
                put_section(o, *id);
            }
    put_u8(o, 0);
}

tv_status tv_module_write(const tv_module *m, tv_sink sink, tv_writer out)
{
    (void)sink;
    bc_out o = {.m = m};
    bc_text_init(&o.bytes, &m->arena.allocator);
    put_file(&o);
    tv_status status = o.bytes.failed ? TV_NO_MEMORY : out.write(out.user, o.bytes.ptr, o.bytes.len) ? TV_OK : TV_IO;
    bc_text_release(&o.bytes);
    return status;
}

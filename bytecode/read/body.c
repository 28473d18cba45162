/* Function bodies: one generic loop over the rows of the op table; nothing here knows a particular op.
   Operands are resolved to values as they are read, so a module never holds a dangling index.
   Source: format reference, sections 8.1 and 8.2. */
#include "bytecode/read/read.h"

/* An op record while it is being read: what must be known before its op can be allocated. */
typedef struct op_record {
    const bc_op_info *info;
    uint64_t offset;
    uint64_t flags;
    uint32_t loc;
    uint32_t result_count, operand_count;
    bc_segments segments;
    bc_attr attrs[8];
} op_record;

static tv_status read_block(bc_reader *r, bc_cursor *c, bc_op *parent, bc_block **out);

/* ---- scratch and scope ---- */

static bool reserve_values(bc_reader *r, size_t more)
{
    while (r->value_count + more > r->value_capacity) {
        bc_value **grown = bc_grow(&r->m->arena, r->values, r->value_capacity, &r->value_capacity, bc_value *);
        if (!grown)
            return false;
        r->values = grown;
    }
    return true;
}

static void define(bc_reader *r, bc_value *value)
{
    value->id = r->next_id++;
    r->values[r->value_count++] = value;
}

/* ---- opcode, location, results, flags ---- */

static tv_status read_opcode(bc_reader *r, bc_cursor *c, op_record *rec, bc_opcode *out)
{
    uint64_t code = bc_varint(c, "opcode");
    if (c->failed)
        return bc_fail(r, BC_RULE_F_070, rec->offset, "the opcode cannot be read");
    if (code < OP_LIMIT && bc_ops[code].name) {
        rec->info = &bc_ops[code];
        r->reading.name = rec->info->name;
        if (rec->info->since > r->m->version)
            return bc_fail(r, BC_RULE_F_071, rec->offset, "op '%s' needs version 13.%d; the file is 13.%d",
                           rec->info->name, rec->info->since, r->m->version);
        *out = (bc_opcode)code;
        return TV_OK;
    }
    if (code > UINT32_MAX)
        return bc_fail(r, BC_RULE_F_073, rec->offset, "opcode 0x%llx does not fit 32 bits", (unsigned long long)code);
    if (code >= 0x4000)
        return bc_fail(r, BC_RULE_F_074, rec->offset, "opcode 0x%llx is preview content", (unsigned long long)code);
    if (code > bc_max_opcode(r->m->version))
        return bc_fail(r, BC_RULE_F_071, rec->offset, "unknown opcode 0x%llx; the largest of 13.%d is 0x%x",
                       (unsigned long long)code, r->m->version, bc_max_opcode(r->m->version));
    return bc_fail(r, BC_RULE_F_072, rec->offset, "opcode 0x%02llx is not that of an op in a body",
                   (unsigned long long)code);
}

/* The next debug slot of the function: its own first, then one for each op in pre-order. */
static tv_status next_loc(bc_reader *r, uint64_t offset, uint32_t *out)
{
    *out = 0;
    if (!r->function->has_debug)
        return TV_OK;
    if (r->next_loc >= r->loc_limit)
        return bc_fail(r, BC_RULE_F_095, offset, "the debug section has no slot left for this op");
    const uint8_t *slot = r->op_index + r->next_loc++ * 8;
    uint64_t ref = bc_le(slot, 8);
    if (ref > r->m->debug_count)
        return bc_fail(r, BC_RULE_F_097, (uint64_t)(slot - r->m->bytes), "debug slot %llu of %zu attributes",
                       (unsigned long long)ref, r->m->debug_count);
    bc_di_tag tag = ref ? (bc_di_tag)r->m->debug[ref - 1].tag : BC_DI_UNKNOWN;
    if (tag != BC_DI_UNKNOWN && tag != BC_DI_LOC && tag != BC_DI_CALL_SITE)
        return bc_fail(r, BC_RULE_F_097, (uint64_t)(slot - r->m->bytes),
                       "debug slot %llu names an attribute that is no location", (unsigned long long)ref);
    *out = (uint32_t)ref;
    return TV_OK;
}

static tv_status read_results(bc_reader *r, bc_cursor *c, op_record *rec)
{
    size_t count = 0;
    if (rec->info->traits & BC_COUNTED) {
        count = bc_count(c, 1, BC_RULE_F_076, "result count");
        TV_TRY(bc_check(r, c));
        if (count > BC_MAX_OPERANDS)
            return bc_fail(r, BC_RULE_F_022, rec->offset, "%zu results; an op has at most %d", count, BC_MAX_OPERANDS);
    } else {
        const bc_row *rows = bc_result_rows(rec->info);
        for (unsigned i = 0; i < rec->info->result_rows; i++)
            count += rows[i].since <= r->m->version;
    }
    while (count > r->result_capacity) {
        const bc_type **grown =
            bc_grow(&r->m->arena, r->result_types, r->result_capacity, &r->result_capacity, const bc_type *);
        if (!grown)
            return bc_no_memory(r);
        r->result_types = grown;
    }
    for (size_t i = 0; i < count; i++)
        TV_TRY(bc_read_type_index(r, c, "result type", &r->result_types[i]));
    rec->result_count = (uint32_t)count;
    return TV_OK;
}

static tv_status read_flags(bc_reader *r, bc_cursor *c, op_record *rec)
{
    rec->flags = 0;
    if (rec->info->flags_since > r->m->version)
        return TV_OK;
    uint64_t at = bc_cursor_offset(c);
    rec->flags = bc_varint(c, "op flags");
    if (c->failed)
        return bc_fail(r, BC_RULE_F_078, at, "the flags of '%s' cannot be read", rec->info->name);
    if (!rec->flags)
        return TV_OK;
    uint64_t known = 0, newer_operand = 0;
    const bc_row *rows = &bc_rows[rec->info->first_row];
    unsigned count = (unsigned)rec->info->result_rows + rec->info->attr_rows + rec->info->operand_rows;
    for (unsigned i = rec->info->result_rows; i < count; i++)
        if (rows[i].bit != BC_NO_BIT) {
            if (rows[i].since <= r->m->version)
                known |= 1u << rows[i].bit;
            else if (rows[i].kind == BC_OPERAND)
                newer_operand |= 1u << rows[i].bit;
        }
    if (rec->flags & newer_operand || (rec->flags & ~known && r->m->strict))
        return bc_fail(r, BC_RULE_F_079, at, "'%s' has flags 0x%llx; version 13.%d defines 0x%llx", rec->info->name,
                       (unsigned long long)rec->flags, r->m->version, (unsigned long long)known);
    rec->flags &= known;
    return TV_OK;
}

/* ---- attributes ---- */

static tv_status read_enum(bc_reader *r, bc_cursor *c, const bc_row *row, uint64_t *out)
{
    uint64_t at = bc_cursor_offset(c);
    *out = bc_varint(c, row->name);
    TV_TRY(bc_check(r, c));
    const bc_enum_value *value = bc_enum_find((bc_enum_id)row->enum_id, *out);
    if (!value)
        return bc_fail(r, BC_RULE_F_080, at, "%s %llu is not a value of %s", row->name, (unsigned long long)*out,
                       bc_enum_name((bc_enum_id)row->enum_id));
    return TV_OK; /* whether the file's version has the value is a rule of the verifier: 13.5 tools refuse, older do not
                   */
}

static tv_status read_int_array(bc_reader *r, bc_cursor *c, const bc_row *row, const bc_ints **out)
{
    unsigned width = row->encoding == BC_ENC_I32S ? 4 : 1;
    uint64_t at = bc_cursor_offset(c);
    size_t count = bc_count(c, width, BC_RULE_F_023, row->name);
    TV_TRY(bc_check(r, c));
    bc_ints *ints = bc_new(&r->m->arena, bc_ints, 1);
    int64_t *values = bc_new(&r->m->arena, int64_t, count);
    if (!ints || !values)
        return bc_no_memory(r);
    for (size_t i = 0; i < count; i++, c->p += width) {
        values[i] = width == 4 ? (int32_t)(uint32_t)bc_le(c->p, 4) : *c->p != 0;
        if (width == 4 && (values[i] == INT32_MIN || values[i] == INT32_MAX))
            return bc_fail(r, BC_RULE_F_082, at, "%s holds the extreme value %lld", row->name, (long long)values[i]);
    }
    *ints = (bc_ints){values, (uint32_t)count};
    *out = ints;
    return TV_OK;
}

static tv_status read_tagged(bc_reader *r, bc_cursor *c, const bc_row *row, const bc_tagged **out)
{
    bc_tagged *attr = bc_new(&r->m->arena, bc_tagged, 1);
    if (!attr)
        return bc_no_memory(r);
    *out = attr;
    if (row->encoding == BC_ENC_TAGGED)
        return bc_read_tagged(r, c, 0, attr);
    if (row->encoding == BC_ENC_HINTS) {
        attr->tag = BC_TAG_HINTS;
        return bc_read_dict(r, c, 0, &attr->u.dict);
    }
    attr->tag = BC_TAG_ARRAY;
    size_t count = bc_count(c, 2, BC_RULE_F_081, row->name);
    TV_TRY(bc_check(r, c));
    bc_tagged *items = bc_new(&r->m->arena, bc_tagged, count);
    if (!items)
        return bc_no_memory(r);
    for (size_t i = 0; i < count; i++)
        TV_TRY(bc_read_tagged(r, c, 1, &items[i]));
    attr->u.array = (bc_list){items, (uint32_t)count};
    return TV_OK;
}

static tv_status read_attr(bc_reader *r, bc_cursor *c, const bc_row *row, bc_attr *out)
{
    uint64_t at = bc_cursor_offset(c);
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_ENUM: return read_enum(r, c, row, &out->u);
    case BC_ENC_VARINT32:
        out->u = bc_varint(c, row->name);
        if (out->u > UINT32_MAX)
            return bc_fail(r, BC_RULE_F_081, at, "%s %llu does not fit 32 bits", row->name, (unsigned long long)out->u);
        return bc_check(r, c);
    case BC_ENC_VARINT64: out->u = bc_varint(c, row->name); return bc_check(r, c);
    case BC_ENC_BOOL: out->u = bc_u8(c, row->name) != 0; return bc_check(r, c);
    case BC_ENC_STRING: return bc_read_string(r, c, row->name, &out->string);
    case BC_ENC_CONST: {
        uint64_t i = bc_index(c, r->m->constant_count, BC_RULE_F_032, row->name);
        TV_TRY(bc_check(r, c));
        out->blob = r->m->constants[i];
        return TV_OK;
    }
    case BC_ENC_TAGGED:
    case BC_ENC_HINTS:
    case BC_ENC_ATTRS: return read_tagged(r, c, row, &out->tagged);
    case BC_ENC_I32S:
    case BC_ENC_BOOLS: return read_int_array(r, c, row, &out->ints);
    case BC_ENC_UNIT:
    case BC_ENC_NONE: break;
    }
    return TV_OK;
}

static tv_status read_attrs(bc_reader *r, bc_cursor *c, op_record *rec)
{
    const bc_row *rows = bc_attr_rows(rec->info);
    for (unsigned i = 0; i < rec->info->attr_rows; i++) {
        const bc_row *row = &rows[i];
        bool scalar = row->encoding >= BC_ENC_ENUM && row->encoding <= BC_ENC_BOOL;
        if (row->kind == BC_FLAG)
            rec->attrs[i].u = rec->flags >> row->bit & 1;
        else if (row->since > r->m->version || (row->bit != BC_NO_BIT && !(rec->flags >> row->bit & 1)))
            rec->attrs[i].u = row->arity == BC_OPTIONAL && scalar ? BC_ABSENT : scalar ? row->older : 0;
        else
            TV_TRY(read_attr(r, c, row, &rec->attrs[i]));
    }
    return TV_OK;
}

/* ---- operands ---- */

static tv_status read_operand(bc_reader *r, bc_cursor *c, op_record *rec, const char *noun)
{
    uint64_t at = bc_cursor_offset(c);
    uint64_t i = bc_index(c, r->value_count, BC_RULE_F_083, noun);
    if (TV_UNLIKELY(c->failed))
        return c->fault == BC_RULE_F_083
                   ? bc_fail(r, BC_RULE_F_083, at, "operand '%s' of '%s' is value %llu; %zu values are visible here",
                             noun, rec->info->name, (unsigned long long)c->found, r->value_count)
                   : bc_check(r, c);
    if (TV_UNLIKELY(rec->operand_count == r->operand_capacity)) {
        bc_value **grown = bc_grow(&r->m->arena, r->operands, rec->operand_count, &r->operand_capacity, bc_value *);
        if (!grown)
            return bc_no_memory(r);
        r->operands = grown;
    }
    r->operands[rec->operand_count++] = r->values[i];
    return TV_OK;
}

static tv_status read_many(bc_reader *r, bc_cursor *c, op_record *rec, size_t count, const char *noun)
{
    if (count > BC_MAX_OPERANDS - rec->operand_count)
        return bc_fail(r, BC_RULE_F_022, rec->offset, "'%s' has more than %d operands", rec->info->name,
                       BC_MAX_OPERANDS);
    for (size_t i = 0; i < count; i++)
        TV_TRY(read_operand(r, c, rec, noun));
    return TV_OK;
}

static tv_status read_counted(bc_reader *r, bc_cursor *c, op_record *rec)
{
    const bc_row *rows = bc_operand_rows(rec->info);
    uint64_t at = bc_cursor_offset(c);
    size_t total = bc_count(c, 1, BC_RULE_F_083, "operand count");
    TV_TRY(bc_check(r, c));
    unsigned fixed = 0;
    while (fixed < rec->info->operand_rows && rows[fixed].arity == BC_ONE)
        fixed++;
    if (total < fixed)
        return bc_fail(r, BC_RULE_F_084, at, "'%s' has %zu operands; it needs at least %u", rec->info->name, total,
                       fixed);
    if (total > fixed + 1u && rows[fixed].arity == BC_OPTIONAL)
        return bc_fail(r, BC_RULE_F_084, at, "'%s' has %zu operands; it takes at most %u", rec->info->name, total,
                       fixed + 1);
    for (unsigned i = 0; i < fixed; i++)
        TV_TRY(read_operand(r, c, rec, rows[i].name));
    return read_many(r, c, rec, total - fixed, fixed < rec->info->operand_rows ? rows[fixed].name : "operand");
}

static tv_status read_segmented(bc_reader *r, bc_cursor *c, op_record *rec)
{
    const bc_row *rows = bc_operand_rows(rec->info);
    unsigned variadic = 0;
    for (unsigned i = 0; i < rec->info->operand_rows; i++) {
        const bc_row *row = &rows[i];
        size_t count = 1;
        if (row->arity == BC_OPTIONAL) {
            if (row->since > r->m->version || !(rec->flags >> row->bit & 1))
                continue;
            rec->segments.present |= (uint16_t)(1u << i);
        } else if (row->arity == BC_VARIADIC) {
            count = bc_count(c, 1, BC_RULE_F_083, row->name);
            TV_TRY(bc_check(r, c));
            if (count <= BC_MAX_OPERANDS)
                rec->segments.count[variadic++] = (uint16_t)count;
        }
        TV_TRY(read_many(r, c, rec, count, row->name));
    }
    return TV_OK;
}

static tv_status read_operands(bc_reader *r, bc_cursor *c, op_record *rec)
{
    switch ((bc_operand_mode)rec->info->mode) {
    case BC_MODE_PLAIN: {
        const bc_row *rows = bc_operand_rows(rec->info);
        for (unsigned i = 0; i < rec->info->operand_rows; i++)
            TV_TRY(read_operand(r, c, rec, rows[i].name));
        return TV_OK;
    }
    case BC_MODE_COUNTED: return read_counted(r, c, rec);
    case BC_MODE_SEGMENTED: return read_segmented(r, c, rec);
    case BC_MODE_NONE: break;
    }
    return TV_OK;
}

/* ---- ops, regions, blocks ---- */

static tv_status read_regions(bc_reader *r, bc_cursor *c, bc_op *op)
{
    const bc_row *rows = bc_region_rows(bc_info(op));
    uint64_t at = bc_cursor_offset(c);
    uint64_t count = bc_varint(c, "region count");
    TV_TRY(bc_check(r, c));
    if (count != op->region_count)
        return bc_fail(r, BC_RULE_F_085, at, "'%s' has %llu regions; it needs %u", bc_info(op)->name,
                       (unsigned long long)count, op->region_count);
    for (unsigned i = 0; i < op->region_count; i++) {
        at = bc_cursor_offset(c);
        uint64_t blocks = bc_varint(c, "block count");
        if (c->failed)
            return bc_fail(r, BC_RULE_F_086, at, "the number of blocks cannot be read");
        if (blocks > 1 || (blocks == 0 && rows[i].arity != BC_OPTIONAL))
            return bc_fail(r, BC_RULE_F_088, at, "region '%s' of '%s' has %llu blocks; it needs %s", rows[i].name,
                           bc_info(op)->name, (unsigned long long)blocks,
                           rows[i].arity == BC_OPTIONAL ? "0 or 1" : "1");
        if (blocks)
            TV_TRY(read_block(r, c, op, &bc_regions(op)[i]));
    }
    return TV_OK;
}

static tv_status read_op(bc_reader *r, bc_cursor *c, bc_block *block)
{
    op_record rec;
    rec.offset = bc_cursor_offset(c);
    rec.operand_count = 0;
    rec.segments = (bc_segments){0};
    bc_opcode opcode = OP_LIMIT;
    bc_reading around = r->reading;
    r->reading = (bc_reading){.name = "unknown", .position = r->op_count};
    TV_TRY(read_opcode(r, c, &rec, &opcode));
    TV_TRY(next_loc(r, rec.offset, &rec.loc));
    r->reading.loc = rec.loc;
    TV_TRY(read_results(r, c, &rec));
    TV_TRY(read_flags(r, c, &rec));
    TV_TRY(read_attrs(r, c, &rec));
    TV_TRY(read_operands(r, c, &rec));

    bc_op *op = bc_op_new(r->m, opcode, rec.result_count, rec.operand_count);
    if (!op)
        return bc_no_memory(r);
    op->offset = (uint32_t)rec.offset;
    op->loc = rec.loc;
    bc_value *results = bc_results(op);
    for (uint32_t i = 0; i < rec.result_count; i++)
        results[i].type = r->result_types[i];
    memcpy(bc_attrs(op), rec.attrs, rec.info->attr_rows * sizeof *rec.attrs);
    if (rec.info->mode == BC_MODE_SEGMENTED)
        memcpy(&bc_attrs(op)[rec.info->attr_rows], &rec.segments, sizeof rec.segments);
    if (rec.operand_count)
        memcpy(bc_operands(op), r->operands, rec.operand_count * sizeof *r->operands);
    bc_block_append(block, op);
    r->op_count++;
    if (op->region_count)
        TV_TRY(read_regions(r, c, op));
    if (!reserve_values(r, rec.result_count))
        return bc_no_memory(r);
    for (uint32_t i = 0; i < rec.result_count; i++)
        define(r, &results[i]);
    r->reading = around;
    return TV_OK;
}

static tv_status read_block_args(bc_reader *r, bc_cursor *c, bc_op *parent, bc_block **out)
{
    uint64_t at = bc_cursor_offset(c);
    size_t count = bc_count(c, 1, BC_RULE_F_086, "number of block arguments");
    TV_TRY(bc_check(r, c));
    if (count > BC_MAX_OPERANDS)
        return bc_fail(r, BC_RULE_F_022, at, "a block of more than %d arguments", BC_MAX_OPERANDS);
    bc_block *block = bc_block_new(r->m, parent, (uint32_t)count);
    if (!block || !reserve_values(r, count))
        return bc_no_memory(r);
    for (size_t i = 0; i < count; i++) {
        TV_TRY(bc_read_type_index(r, c, "type of a block argument", &block->args[i].type));
        define(r, &block->args[i]);
    }
    *out = block;
    return TV_OK;
}

static tv_status read_block(bc_reader *r, bc_cursor *c, bc_op *parent, bc_block **out)
{
    if (++r->depth > BC_MAX_DEPTH)
        return bc_fail(r, BC_RULE_F_086, bc_cursor_offset(c), "regions are nested deeper than %d", BC_MAX_DEPTH);
    size_t visible = r->value_count;
    TV_TRY(read_block_args(r, c, parent, out));
    uint64_t at = bc_cursor_offset(c);
    size_t ops = bc_count(c, 2, BC_RULE_F_086, "number of ops in a block");
    TV_TRY(bc_check(r, c));
    for (size_t i = 0; i < ops; i++)
        TV_TRY(read_op(r, c, *out));
    if (!(*out)->last || !(bc_info((*out)->last)->traits & BC_TERMINATOR))
        return bc_fail(r, BC_RULE_F_087, at, "a block must end with yield, break, continue or return");
    r->value_count = visible;
    r->depth--;
    return TV_OK;
}

tv_status bc_read_body(bc_reader *r, bc_cursor *c, bc_function *f)
{
    r->value_count = 0;
    r->next_id = r->op_count = 0;
    r->depth = 1;
    f->body = bc_block_new(r->m, NULL, f->type->rank);
    if (!f->body || !reserve_values(r, f->type->rank))
        return bc_no_memory(r);
    for (uint32_t i = 0; i < f->type->rank; i++) {
        f->body->args[i].type = f->type->members[i];
        define(r, &f->body->args[i]);
    }
    uint64_t at = bc_cursor_offset(c);
    TV_TRY(next_loc(r, at, &f->loc));
    while (c->p != c->end)
        TV_TRY(read_op(r, c, f->body));
    if (!f->body->last || !(bc_info(f->body->last)->traits & BC_TERMINATOR))
        return bc_fail(r, BC_RULE_F_087, at, "the body of '%.*s' must end with return", (int)f->name->s.len,
                       f->name->s.ptr);
    f->value_count = r->next_id;
    f->op_count = r->op_count;
    return TV_OK;
}

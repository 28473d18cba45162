/* Collects what `tilevm inspect` shows. The module was read from these very bytes, so walking the section headers again
   cannot fail; everything else comes from the module. */
#include "tools/tilevm/module/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/write/convert.h"
#include "bytecode/read/cursor.h"

/* ---- sections ---- */

static void find_sections(inspect_info *info)
{
    static const char *const names[BC_SECTION_COUNT] = {
        [BC_SECTION_STRING] = "strings",     [BC_SECTION_FUNC] = "functions", [BC_SECTION_DEBUG] = "debug",
        [BC_SECTION_CONSTANT] = "constants", [BC_SECTION_TYPE] = "types",     [BC_SECTION_GLOBAL] = "globals",
        [BC_SECTION_PRODUCER] = "producer"};
    enum { HEADER = 12 };
    const bc_module *m = info->m;
    bc_cursor c = {.p = m->bytes + HEADER, .end = m->bytes + m->size, .file = m->bytes};
    info->overhead = m->size;
    while (info->section_count < BC_SECTION_COUNT) {
        unsigned byte = bc_u8(&c, "section"), id = byte & 0x7f;
        if (c.failed || id == BC_SECTION_END || id >= BC_SECTION_COUNT)
            break;
        uint64_t length = bc_varint(&c, "length");
        uint64_t align = byte & 0x80 ? bc_varint(&c, "alignment") : 1;
        uint64_t pad = align ? (align - bc_cursor_offset(&c) % align) % align : 0;
        if (c.failed || pad > bc_cursor_left(&c) || length > bc_cursor_left(&c) - pad)
            break;
        bc_take(&c, (size_t)pad, "padding");
        info->sections[info->section_count++] = (inspect_section){names[id], bc_cursor_offset(&c), length};
        bc_take(&c, (size_t)length, "payload");
        info->overhead -= length;
    }
}

static uint64_t functions_end(const inspect_info *info)
{
    for (size_t i = 0; i < info->section_count; i++)
        if (strcmp(info->sections[i].name, "functions") == 0)
            return info->sections[i].offset + info->sections[i].bytes;
    return info->m->size;
}

/* ---- ops ---- */

/* Ops with a memory ordering read or write memory. */
static bool touches_memory(const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_attr_rows(info);
    for (unsigned i = 0; i < info->attr_rows; i++)
        if (rows[i].encoding == BC_ENC_ENUM && rows[i].enum_id == BC_ENUM_MemoryOrderingSemantics)
            return true;
    return false;
}

static unsigned depth_of(const bc_op *op)
{
    unsigned depth = 0;
    for (const bc_op *parent = op->block->parent; parent; parent = parent->block->parent)
        depth++;
    return depth;
}

/* The last op of a body ends the record. Known writers make it a `return` of three bytes; up to seven bytes of padding
   may follow it, and count for the section only. */
static uint64_t last_op_bytes(const bc_op *op, uint64_t record_end)
{
    enum { PLAIN_RETURN = 3 };
    return op->operand_count == 0 && op->result_count == 0 ? PLAIN_RETURN : record_end - op->offset;
}

static void count_function(inspect_info *info, const bc_function *f, uint64_t record_end, inspect_entry *entry)
{
    *entry = (inspect_entry){.f = f, .bytes = record_end - f->offset};
    for (const bc_op *op = f->body->first, *next; op; op = next) {
        next = bc_next_op(op, f->body);
        uint64_t bytes = next ? next->offset - op->offset : last_op_bytes(op, record_end);
        unsigned depth = depth_of(op);
        info->ops[op->opcode].count++;
        info->ops[op->opcode].bytes += bytes;
        info->op_count++;
        entry->depth = depth > entry->depth ? depth : entry->depth;
        entry->memory_ops += touches_memory(op);
        tv_str file;
        uint32_t line, column;
        info->located_ops += bc_source_place(info->m, op->loc, &file, &line, &column);
        if (!next)
            entry->bytes = op->offset + bytes - f->offset;
    }
}

static bool count_ops(inspect_info *info)
{
    const bc_module *m = info->m;
    info->entries = bc_new(&info->arena, inspect_entry, m->function_count);
    if (!info->entries)
        return false;
    for (size_t i = 0; i < m->function_count; i++) {
        uint64_t end = i + 1 < m->function_count ? m->functions[i + 1].offset : functions_end(info);
        count_function(info, &m->functions[i], end, &info->entries[i]);
    }
    return true;
}

/* ---- features ---- */

enum { MAX_FEATURES = 200 }; /* kinds of them; a real file has a handful */

static void add_feature(void *user, const bc_newer *newer)
{
    inspect_info *info = user;
    tv_str what = bc_str(newer->what);
    if (newer->since > info->lowest)
        info->lowest = newer->since;
    for (size_t i = 0; i < info->feature_count; i++)
        if (bc_str_eq(info->features[i].what, what)) {
            info->features[i].count++;
            return;
        }
    if (info->feature_count == MAX_FEATURES)
        return;
    inspect_feature *grown =
        bc_grow(&info->arena, info->features, info->feature_count, &info->feature_capacity, inspect_feature);
    if (!grown)
        return;
    info->features = grown;
    grown[info->feature_count++] = (inspect_feature){bc_arena_dup(&info->arena, what), newer->since, 1};
}

static int newest_first(const void *a, const void *b)
{
    const inspect_feature *x = a, *y = b;
    if (x->since != y->since)
        return x->since > y->since ? -1 : 1;
    size_t len = x->what.len < y->what.len ? x->what.len : y->what.len;
    int order = memcmp(x->what.ptr, y->what.ptr, len);
    return order ? order : (x->what.len > y->what.len) - (x->what.len < y->what.len);
}

/* ---- constants and debug ---- */

static int largest_first(const void *a, const void *b)
{
    const inspect_constant *x = a, *y = b;
    if (x->blob->len != y->blob->len)
        return x->blob->len > y->blob->len ? -1 : 1;
    return (x->blob->index > y->blob->index) - (x->blob->index < y->blob->index);
}

static void use_constants(inspect_info *info, const bc_function *f)
{
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body)) {
        const bc_op_info *op_info = bc_info(op);
        for (unsigned i = 0; i < op_info->attr_rows; i++) {
            if (bc_attr_rows(op_info)[i].encoding != BC_ENC_CONST)
                continue;
            inspect_constant *constant = &info->constants[bc_attrs(op)[i].blob->index];
            if (!constant->uses++) {
                constant->f = f;
                constant->op = op;
            }
        }
    }
}

static bool count_constants(inspect_info *info)
{
    const bc_module *m = info->m;
    info->constants = bc_new(&info->arena, inspect_constant, m->constant_count);
    if (!info->constants)
        return false;
    for (size_t i = 0; i < m->constant_count; i++) {
        info->constants[i].blob = m->constants[i];
        info->constant_bytes += m->constants[i]->len;
    }
    for (size_t i = 0; i < m->global_count; i++)
        info->constants[m->globals[i].value->index].uses++;
    for (size_t i = 0; i < m->function_count; i++)
        use_constants(info, &m->functions[i]);
    if (m->constant_count)
        qsort(info->constants, m->constant_count, sizeof *info->constants, largest_first);
    return true;
}

static bool count_source_files(inspect_info *info)
{
    const bc_module *m = info->m;
    uint8_t *seen = bc_new(&info->arena, uint8_t, m->string_count + 1);
    if (!seen)
        return false;
    for (size_t i = 0; i < m->debug_count; i++)
        if (m->debug[i].tag == BC_DI_LOC && !seen[m->debug[i].name->index]++)
            info->source_files++;
    return true;
}

tv_status inspect_module(const bc_module *m, inspect_info *out)
{
    *out = (inspect_info){.m = m, .lowest = BC_13_1};
    bc_arena_init(&out->arena, NULL, 0);
    find_sections(out);
    if (!count_ops(out) || !count_constants(out) || !count_source_files(out))
        return TV_NO_MEMORY;
    TV_TRY(bc_each_newer(m, out, add_feature));
    if (out->feature_count)
        qsort(out->features, out->feature_count, sizeof *out->features, newest_first);
    return out->arena.failed ? TV_NO_MEMORY : TV_OK;
}

void inspect_release(inspect_info *info)
{
    bc_arena_release(&info->arena);
}

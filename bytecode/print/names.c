/* Naming follows MLIR's printer: the values of a region are named in order, arguments first, then the results of its
   ops; only then the regions inside, each starting where the counters of the region around it stood. A hint that is
   taken gets "_" and the next conflict number. Result k of an op that names it heads a group; a group of several
   results has one name, and its members are %name#0, %name#1. */
#include "bytecode/print/names.h"

#include <stdlib.h>

#include "bytecode/number/number.h"
#include "bytecode/print/scope.h"

/* Name of the head of a group; the other values of the group have none. */
typedef struct name {
    const char *ptr; /* NULL: the number is the name */
    uint32_t len;
    uint32_t number;
} name;

/* The number of a result that has no value in the module. */
typedef struct unwritten {
    uint32_t offset; /* of its op */
    uint32_t number;
} unwritten;

struct bc_names {
    const bc_module *m;
    const bc_function *f;
    bc_formats *formats;
    bc_dense_cache *dense;
    bc_arena *scratch;
    name *of; /* by value id */
    bc_scope used;
    unwritten *unwritten;
    size_t unwritten_count, unwritten_capacity;
    uint32_t next_number, next_arg, next_conflict;
    bc_text hint;
};

enum { MAX_HINT_CHAIN = 64 }; /* assume_assume_...: longer chains are cut off */

/* ---- hints ---- */

static bool append_value(bc_text *out, const bc_dense *d)
{
    uint64_t bits = bc_dense_get(d, 0);
    if (bc_kinds[d->kind].kind_class == BC_CLASS_INTEGER) {
        bc_text_printf(out, "%lld", (long long)bc_int_sign_extend(bits, bc_kind_bits(d->kind)));
        return true;
    }
    bc_float_parts parts = bc_float_split(d->kind, bits);
    if (parts.class_ == BC_FLOAT_NAN) {
        bc_text_puts(out, "NaN");
        return true;
    }
    double value = bc_float_value(d->kind, bits);
    if (parts.negative || parts.class_ == BC_FLOAT_INF || value >= 0x1p64 || value != (double)(uint64_t)value)
        return false;
    bc_text_printf(out, "%llu", (unsigned long long)value);
    return true;
}

/* cst_1_i32, true; without the value where there is no single one or it is no natural number. */
static void append_constant(const bc_names *n, bc_text *out, const bc_op *op, int row)
{
    const bc_type *type = op->result_count ? bc_results(op)[0].type : NULL;
    bc_dense d = {0};
    if (type)
        d = bc_dense_of(n->dense, type, bc_attr_of(op, row)->blob);
    if (d.valid && d.kind == BC_I1) {
        bc_text_puts(out, !d.splat ? "cst_i1" : bc_dense_get(&d, 0) ? "true" : "false");
        return;
    }
    bc_text_puts(out, "cst");
    size_t before = out->len;
    bc_text_char(out, '_');
    if (!(d.valid && d.splat && append_value(out, &d)))
        out->len = before;
    if (d.valid)
        bc_text_printf(out, "_%s", bc_kinds[d.kind].text);
}

/* Appends what the op that defines value calls it; out may stay empty. */
static void append_hint(bc_names *n, bc_text *out, const bc_value *value)
{
    for (unsigned steps = 0; value->op && steps < MAX_HINT_CHAIN; steps++) {
        const bc_format *f = bc_format_of(n->formats, (bc_opcode)value->op->opcode);
        if (!f || value->number >= f->result_names)
            return;
        switch ((bc_name_form)f->name_form[value->number]) {
        case BC_NAME_WORD: bc_text_str(out, f->result_name[value->number]); return;
        case BC_NAME_CONSTANT: append_constant(n, out, value->op, f->name_row[value->number]); return;
        case BC_NAME_OF_OPERAND: break;
        }
        bc_text_str(out, f->result_name[value->number]);
        value = bc_operand(value->op, f->name_row[value->number]);
        const bc_format *producer = value && value->op ? bc_format_of(n->formats, (bc_opcode)value->op->opcode) : NULL;
        if (!producer || !producer->names_results)
            return;
        bc_text_char(out, '_');
    }
}

/* Name of argument i of count in a region of an op with format f. */
static void append_arg_hint(bc_text *out, const bc_format *f, uint32_t i, uint32_t count)
{
    unsigned fixed = 0;
    while (fixed < f->arg_names && f->arg_repeat[fixed] == BC_REPEAT_NO)
        fixed++;
    if (i < fixed) {
        bc_text_str(out, f->arg_name[i]);
        return;
    }
    unsigned run = f->arg_names - fixed;
    if (run == 0)
        return;
    unsigned which = fixed + (i - fixed) % run;
    bc_text_str(out, f->arg_name[which]);
    if (f->arg_repeat[which] == BC_REPEAT_COUNTED || count - fixed > run)
        bc_text_printf(out, "%u", (i - fixed) / run);
}

/* ---- giving names ---- */

/* Names the value after the hint in n->hint, or by number if that is empty. */
static bool set_name(bc_names *n, const bc_value *value)
{
    bc_text *text = &n->hint;
    if (text->failed)
        return false;
    if (text->len == 0) {
        n->of[value->id] = (name){.number = n->next_number++};
        return true;
    }
    if (bc_scope_find(&n->used, bc_text_get(text))) {
        bc_text_char(text, '_');
        size_t stem = text->len;
        do {
            text->len = stem;
            bc_text_printf(text, "%u", n->next_conflict++);
        } while (!text->failed && bc_scope_find(&n->used, bc_text_get(text)));
    }
    tv_str copy = bc_arena_dup(n->scratch, bc_text_get(text));
    if (text->failed || !copy.ptr || !bc_scope_add(&n->used, copy, NULL, 0))
        return false;
    n->of[value->id] = (name){.ptr = copy.ptr, .len = (uint32_t)copy.len};
    return true;
}

static bool name_args(bc_names *n, const bc_block *block)
{
    const bc_format *f = block->parent ? bc_format_of(n->formats, (bc_opcode)block->parent->opcode) : NULL;
    for (uint32_t i = 0; i < block->arg_count; i++) {
        bc_text_clear(&n->hint);
        if (f)
            append_arg_hint(&n->hint, f, i, block->arg_count);
        if (n->hint.len == 0)
            bc_text_printf(&n->hint, "arg%u", n->next_arg++);
        if (!set_name(n, &block->args[i]))
            return false;
    }
    return true;
}

const bc_row *bc_unwritten_result(const bc_module *m, const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *row = bc_result_rows(info);
    bool newer = op->result_count == 0 && info->result_rows == 1 && row->arity == BC_ONE && row->since > m->version;
    return newer ? row : NULL;
}

static bool name_unwritten(bc_names *n, const bc_op *op)
{
    unwritten *grown = bc_grow(n->scratch, n->unwritten, n->unwritten_count, &n->unwritten_capacity, unwritten);
    if (!grown)
        return false;
    n->unwritten = grown;
    n->unwritten[n->unwritten_count++] = (unwritten){op->offset, n->next_number++};
    return true;
}

static bool name_results(bc_names *n, const bc_op *op)
{
    if (op->result_count == 0)
        return !bc_unwritten_result(n->m, op) || name_unwritten(n, op);
    const bc_format *f = bc_format_of(n->formats, (bc_opcode)op->opcode);
    if (!f)
        return false;
    unsigned heads = f->result_names ? f->result_names : 1;
    for (unsigned i = 0; i < heads && i < op->result_count; i++) {
        bc_text_clear(&n->hint);
        append_hint(n, &n->hint, &bc_results(op)[i]);
        if (!set_name(n, &bc_results(op)[i]))
            return false;
    }
    return true;
}

static bool name_region(bc_names *n, const bc_block *block)
{
    uint32_t number = n->next_number, arg = n->next_arg, conflict = n->next_conflict;
    size_t names = n->used.count;
    if (!name_args(n, block))
        return false;
    for (const bc_op *op = block->first; op; op = op->next)
        if (!name_results(n, op))
            return false;
    for (const bc_op *op = block->first; op; op = op->next)
        for (unsigned i = 0; i < op->region_count; i++)
            if (bc_regions(op)[i] && !name_region(n, bc_regions(op)[i]))
                return false;
    bc_scope_unwind(&n->used, names);
    n->next_number = number;
    n->next_arg = arg;
    n->next_conflict = conflict;
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const unwritten *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

bc_names *bc_names_new(const bc_module *m, const bc_function *f, bc_formats *formats, bc_dense_cache *dense,
                       bc_arena *scratch)
{
    bc_names *n = bc_new(scratch, bc_names, 1);
    if (!n)
        return NULL;
    *n = (bc_names){.m = m, .f = f, .formats = formats, .dense = dense, .scratch = scratch, .used.arena = scratch};
    n->of = bc_new(scratch, name, f->value_count);
    bc_text_init(&n->hint, &scratch->allocator);
    bool named = n->of && name_region(n, f->body);
    bc_text_release(&n->hint);
    if (!named)
        return NULL;
    if (n->unwritten_count)
        qsort(n->unwritten, n->unwritten_count, sizeof *n->unwritten, by_offset);
    return n;
}

/* ---- printing ---- */

static void print_name(bc_text *out, const name *n)
{
    if (n->ptr)
        bc_text_bytes(out, n->ptr, n->len);
    else
        bc_text_printf(out, "%u", n->number);
}

/* First result and size of the group that result i belongs to. */
static void group_of(const bc_names *n, const bc_op *op, unsigned i, unsigned *out_head, unsigned *out_size)
{
    const bc_format *f = bc_format_of(n->formats, (bc_opcode)op->opcode); /* taken apart while naming */
    unsigned heads = f->result_names ? f->result_names : 1;
    *out_head = i < heads ? i : heads - 1;
    *out_size = *out_head + 1 < heads ? 1 : op->result_count - *out_head;
}

void bc_print_value(bc_text *out, const bc_names *n, const bc_value *value)
{
    unsigned head = value->number, size = 1;
    const bc_value *named = value;
    if (value->op) {
        group_of(n, value->op, value->number, &head, &size);
        named = &bc_results(value->op)[head];
    }
    bc_text_char(out, '%');
    print_name(out, &n->of[named->id]);
    if (size > 1)
        bc_text_printf(out, "#%u", value->number - head);
}

static void print_unwritten(bc_text *out, const bc_names *n, const bc_op *op)
{
    unwritten key = {.offset = op->offset};
    const unwritten *found = n->unwritten_count ? bsearch(&key, n->unwritten, n->unwritten_count, sizeof key, by_offset)
                                                : NULL;
    if (found)
        bc_text_printf(out, "%%%u", found->number);
}

void bc_print_results(bc_text *out, const bc_names *n, const bc_op *op)
{
    if (op->result_count == 0) {
        print_unwritten(out, n, op);
        return;
    }
    unsigned head, size;
    for (unsigned i = 0; i < op->result_count; i += size) {
        group_of(n, op, i, &head, &size);
        bc_text_puts(out, i ? ", %" : "%");
        print_name(out, &n->of[bc_results(op)[i].id]);
        if (size > 1)
            bc_text_printf(out, ":%u", size);
    }
}

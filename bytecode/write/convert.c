/* Changing the version of a module. Everything that came after 13.1 is found by one walk, driven by the `since` columns
   of the tables; checking a version, finding the lowest one and `tilevm inspect` are filters over that walk. Nothing is
   dropped silently: what an older version cannot say is refused, except the producer's name, which is left out with a
   warning. Source: format reference, section 12. */
#include "bytecode/write/convert.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/print/report.h"

/* ---- the walk ---- */

typedef struct bc_walk {
    const bc_module *m;
    void *user;
    bc_newer_fn *found;
    bc_newer at;        /* where the walk stands */
    uint8_t *type_seen; /* by index: the type and what it is made of were looked at */
    uint8_t *used;      /* by value id of the function: an operand refers to it; NULL until needed */
    bool no_memory;
} bc_walk;

static void TV_PRINTF(4, 5) newer(bc_walk *w, unsigned since, int row, const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    bc_newer it = w->at;
    it.since = (bc_version)since;
    it.row = row;
    it.what = what;
    w->found(w->user, &it);
}

static const char *op_name(const bc_walk *w)
{
    return w->at.op ? bc_info(w->at.op)->name : w->at.function ? "entry" : "global";
}

/* A type and what it is made of; types refer to each other without cycles and at most BC_MAX_TYPE_DEPTH deep. */
static void look_at_type(bc_walk *w, const bc_type *t)
{
    if (!t || w->type_seen[t->index])
        return;
    w->type_seen[t->index] = 1;
    const bc_kind_info *kind = &bc_kinds[t->kind];
    if (kind->since > BC_13_1)
        newer(w, kind->since, BC_NO_ROW, "the type %s, first used by '%s',", kind->text, op_name(w));
    if (t->ptr_attr != BC_NO_PTR_ATTR) {
        const bc_enum_value *value = bc_enum_find(BC_ENUM_PtrAttr, t->ptr_attr);
        newer(w, value ? value->since : BC_NEVER, BC_NO_ROW, "the %s attribute of a %s, first used by '%s',",
              bc_enum_text(BC_ENUM_PtrAttr, t->ptr_attr), kind->text, op_name(w));
    }
    look_at_type(w, t->elem);
    for (uint32_t i = 0; t->kind == BC_FUNCTION && i < t->rank + t->result_count; i++)
        look_at_type(w, t->members[i]);
}

/* Types inside a tagged attribute; the reader bounds the nesting. */
static void look_at_tagged(bc_walk *w, const bc_tagged *a)
{
    if (!a)
        return;
    look_at_type(w, a->type);
    if (a->tag == BC_TAG_ARRAY)
        for (uint32_t i = 0; i < a->u.array.count; i++)
            look_at_tagged(w, &a->u.array.items[i]);
    if (a->tag == BC_TAG_DICTIONARY || a->tag == BC_TAG_HINTS)
        for (uint32_t i = 0; i < a->u.dict.count; i++)
            look_at_tagged(w, &a->u.dict.entries[i].value);
}

/* Does an attribute say something that its absence in an older file would not? */
static bool differs_from_older(const bc_row *row, const bc_attr *a)
{
    bool number = row->encoding == BC_ENC_ENUM || row->encoding == BC_ENC_VARINT32 || row->encoding == BC_ENC_VARINT64
                  || row->encoding == BC_ENC_BOOL;
    return number && row->arity != BC_OPTIONAL ? a->u != row->older : bc_attr_is_there(row, a);
}

static void look_at_attr(bc_walk *w, const bc_row *row, int index, const bc_attr *a)
{
    const bc_op_info *info = bc_info(w->at.op);
    bool is_enum = row->encoding == BC_ENC_ENUM && a->u != BC_ABSENT;
    const bc_enum_value *value = is_enum ? bc_enum_find((bc_enum_id)row->enum_id, a->u) : NULL;
    const char *text = value ? value->text : "";
    if (row->since > info->since && differs_from_older(row, a))
        newer(w, row->since, index, "'%s' %s%s%s%s", info->name, row->name, value ? "<" : "", text, value ? ">" : "");
    if (value && value->since > info->since && value->since > row->since)
        newer(w, value->since, index, "'%s' %s<%s>", info->name, row->name, text);
    if (row->encoding == BC_ENC_TAGGED || row->encoding == BC_ENC_HINTS || row->encoding == BC_ENC_ATTRS)
        look_at_tagged(w, a->tagged);
}

static bool find_uses(bc_walk *w)
{
    const bc_function *f = w->at.function;
    if (w->used)
        return true;
    const tv_allocator *allocator = &w->m->arena.allocator;
    size_t size = f->value_count + 1u;
    w->used = allocator->alloc(allocator->user, size);
    if (!w->used) {
        w->no_memory = true;
        return false;
    }
    memset(w->used, 0, size);
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            w->used[bc_operands(op)[i]->id] = 1;
    return true;
}

static void look_at_results(bc_walk *w, const bc_op *op, const bc_op_info *info)
{
    const bc_row *rows = bc_result_rows(info);
    for (uint32_t i = 0; i < op->result_count; i++) {
        bool listed = i < info->result_rows && rows[i].arity == BC_ONE;
        if (listed && rows[i].since > info->since && find_uses(w) && w->used[bc_results(op)[i].id])
            newer(w, rows[i].since, info->first_row + (int)i, "the use of the %s of '%s'", rows[i].name, info->name);
        look_at_type(w, bc_results(op)[i].type);
    }
}

static void look_at_operands(bc_walk *w, const bc_op *op, const bc_op_info *info)
{
    const bc_row *rows = bc_operand_rows(info);
    for (unsigned r = 0; r < info->operand_rows; r++)
        if (rows[r].since > info->since && bc_operand_range_at(op, r).count)
            newer(w, rows[r].since, (int)(&rows[r] - bc_rows), "the operand %s of '%s'", rows[r].name, info->name);
}

static void look_at_op(bc_walk *w, const bc_op *op)
{
    const bc_op_info *info = bc_info(op);
    w->at.op = op;
    if (info->since > BC_13_1)
        newer(w, info->since, BC_NO_ROW, "'%s'", info->name);
    look_at_results(w, op, info);
    const bc_row *rows = bc_attr_rows(info);
    for (unsigned i = 0; i < info->attr_rows; i++)
        look_at_attr(w, &rows[i], (int)(&rows[i] - bc_rows), &bc_attrs(op)[i]);
    look_at_operands(w, op, info);
    for (unsigned i = 0; i < op->region_count; i++) {
        const bc_block *block = bc_regions(op)[i];
        for (uint32_t j = 0; block && j < block->arg_count; j++)
            look_at_type(w, block->args[j].type);
    }
}

static void look_at_function(bc_walk *w, const bc_function *f)
{
    w->at = (bc_newer){.function = f, .offset = f->offset};
    if (!(f->flags & BC_FUNC_KERNEL))
        newer(w, BC_13_5, BC_NO_ROW, "a function that is not an entry");
    if (f->arg_attrs && f->arg_attrs->u.array.count)
        newer(w, BC_13_5, BC_NO_ROW, "the argument attributes of the entry");
    look_at_type(w, f->type);
    look_at_tagged(w, f->hints);
    look_at_tagged(w, f->arg_attrs);
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        look_at_op(w, op);
    if (w->used)
        w->m->arena.allocator.release(w->m->arena.allocator.user, w->used, f->value_count + 1u);
    w->used = NULL;
}

static void look_at_global(bc_walk *w, const bc_global *g)
{
    int len = g->name->s.len < 100 ? (int)g->name->s.len : 100;
    w->at = (bc_newer){.offset = g->offset};
    if (g->visibility != BC_SymbolVisibility_public)
        newer(w, BC_13_3, BC_NO_ROW, "the private global '%.*s'", len, g->name->s.ptr);
    if (g->constant)
        newer(w, BC_13_3, BC_NO_ROW, "the constant global '%.*s'", len, g->name->s.ptr);
    look_at_type(w, g->type);
}

static void look_at_debug(bc_walk *w)
{
    for (size_t i = 0; i < w->m->debug_count; i++) {
        const bc_di *d = &w->m->debug[i];
        w->at = (bc_newer){.offset = d->offset};
        if (d->tag == BC_DI_SUBPROGRAM && d->flags)
            newer(w, BC_13_5, BC_NO_ROW, "the flags 0x%x in the debug information of a function", (unsigned)d->flags);
    }
}

tv_status bc_each_newer(const bc_module *m, void *user, bc_newer_fn *found)
{
    const tv_allocator *allocator = &m->arena.allocator;
    size_t size = m->type_count + 1;
    bc_walk w = {.m = m, .user = user, .found = found, .type_seen = allocator->alloc(allocator->user, size)};
    if (!w.type_seen)
        return TV_NO_MEMORY;
    memset(w.type_seen, 0, size);
    for (size_t i = 0; i < m->global_count; i++)
        look_at_global(&w, &m->globals[i]);
    for (size_t i = 0; i < m->function_count; i++)
        look_at_function(&w, &m->functions[i]);
    look_at_debug(&w);
    allocator->release(allocator->user, w.type_seen, size);
    return w.no_memory ? TV_NO_MEMORY : TV_OK;
}

/* ---- filters over it ---- */

static void keep_highest(void *user, const bc_newer *newer)
{
    bc_version *highest = user;
    if (newer->since > *highest)
        *highest = newer->since;
}

tv_status bc_lowest_version(const bc_module *m, bc_version *out)
{
    *out = BC_13_1;
    return bc_each_newer(m, out, keep_highest);
}

typedef struct version_check {
    const bc_module *m;
    bc_version version;
    tv_sink sink;
    bool newer;
} version_check;

static void report_newer(void *user, const bc_newer *newer)
{
    version_check *check = user;
    if (newer->since <= check->version)
        return;
    check->newer = true;
    bc_place place = {.function = newer->function, .op = newer->op, .offset = newer->offset, .row = newer->row};
    bc_report(check->m, check->sink, &place, BC_RULE_W_01, "%s needs version 13.%d; 13.%d cannot hold it", newer->what,
              (int)newer->since, (int)check->version);
}

tv_status bc_check_version(const bc_module *m, bc_version version, tv_sink sink)
{
    version_check check = {.m = m, .version = version, .sink = sink};
    tv_status status = bc_each_newer(m, &check, report_newer);
    return status == TV_OK && check.newer ? TV_INVALID : status;
}

/* ---- the change ---- */

/* A listed result that only one of two versions writes. Only print_tko has one, and it is its only result, so whether
   an op has it is all or nothing (tests/unit/convert.c checks the table). */
static bool result_comes_or_goes(const bc_op *op, bc_version to, uint32_t *out_count)
{
    const bc_op_info *info = bc_info(op);
    const bc_row *row = bc_result_rows(info);
    if (info->result_rows != 1 || row->since <= info->since || row->constraint != BC_IS_token)
        return false;
    *out_count = row->since <= to;
    return op->result_count != *out_count && op->result_count <= 1;
}

/* A copy of op with another number of results, all of them tokens, in its place. Nothing refers to the old results. */
static bc_op *with_results(bc_module *m, const bc_op *op, uint32_t count)
{
    bc_op *copy = bc_op_new(m, (bc_opcode)op->opcode, count, op->operand_count);
    const bc_type *token = bc_type_scalar(m, BC_TOKEN);
    if (!copy || !token)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        bc_results(copy)[i].type = token;
    memcpy(bc_attrs(copy), bc_attrs(op), op->attr_slots * sizeof(bc_attr));
    memcpy(bc_operands(copy), bc_operands(op), op->operand_count * sizeof(bc_value *));
    copy->next = op->next;
    copy->block = op->block;
    copy->offset = op->offset;
    copy->loc = op->loc;
    return copy;
}

/* All copies are made before the first goes in, so that the module stays as it was when memory runs out. */
typedef struct op_swap {
    bc_op *old, *fresh;
} op_swap;

typedef struct op_swaps {
    op_swap *items; /* in pre-order */
    size_t count, capacity, done;
} op_swaps;

static bool collect_swaps(bc_module *m, bc_function *f, bc_version to, op_swaps *swaps)
{
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body)) {
        uint32_t count = 0;
        if (!result_comes_or_goes(op, to, &count))
            continue;
        op_swap *grown = bc_grow(&m->arena, swaps->items, swaps->count, &swaps->capacity, op_swap);
        bc_op *fresh = with_results(m, op, count);
        if (!grown || !fresh)
            return false;
        swaps->items = grown;
        swaps->items[swaps->count++] = (op_swap){op, fresh};
    }
    return true;
}

/* Walks in pre-order as well, so the next swap is the next op that matches. Depth is at most BC_MAX_DEPTH. */
static void apply_swaps(bc_block *block, op_swaps *swaps)
{
    for (bc_op **link = &block->first; *link && swaps->done < swaps->count; link = &(*link)->next) {
        const op_swap *swap = &swaps->items[swaps->done];
        if (*link == swap->old) {
            swap->fresh->next = swap->old->next;
            *link = swap->fresh;
            if (block->last == swap->old)
                block->last = swap->fresh;
            swaps->done++;
        }
        for (unsigned i = 0; i < (*link)->region_count; i++)
            if (bc_regions(*link)[i])
                apply_swaps(bc_regions(*link)[i], swaps);
    }
}

static tv_status change_results(bc_module *m, bc_version to, bool *out_changed)
{
    op_swaps swaps = {0};
    for (size_t i = 0; i < m->function_count; i++)
        if (!collect_swaps(m, &m->functions[i], to, &swaps))
            return TV_NO_MEMORY;
    for (size_t i = 0; swaps.done < swaps.count; i++) {
        apply_swaps(m->functions[i].body, &swaps);
        bc_function_number(&m->functions[i]);
    }
    *out_changed = swaps.count > 0;
    return TV_OK;
}

static void change_functions(bc_module *m, bc_version to)
{
    for (size_t i = 0; i < m->function_count; i++) {
        bc_function *f = &m->functions[i];
        f->flags &= BC_FUNC_PRIVATE | BC_FUNC_KERNEL | BC_FUNC_HINTS; /* newer versions refuse the reserved bits */
        if (to < BC_13_5) {
            f->arg_attrs = NULL; /* empty, or the check had refused */
            if (f->hints && f->hints->u.dict.count == 0)
                f->hints = NULL; /* 13.5 has to write an empty set, older versions write none */
        }
    }
}

/* After the check has passed: a type that is too new is one that nothing uses. */
static bool holds_newer_types(const bc_module *m, bc_version version)
{
    for (size_t i = 0; i < m->type_count; i++) {
        const bc_enum_value *attr = bc_enum_find(BC_ENUM_PtrAttr, m->types[i]->ptr_attr);
        if (bc_kinds[m->types[i]->kind].since > version || (attr && attr->since > version))
            return true;
    }
    return false;
}

static tv_status convert_module(tv_module *m, unsigned minor, tv_sink sink)
{
    if (minor < BC_13_1 || minor > BC_NEWEST) {
        bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
        bc_report(m, sink, &nowhere, BC_RULE_F_003, "there is no bytecode version 13.%u; known are 13.1 to 13.%d",
                  minor, BC_NEWEST);
        return TV_USAGE;
    }
    bc_version to = (bc_version)minor;
    if (to == m->version)
        return TV_OK;
    if (to < m->version)
        TV_TRY(bc_check_version(m, to, sink));
    bool results_changed = false;
    TV_TRY(change_results(m, to, &results_changed));
    change_functions(m, to);
    if (m->producer && to < BC_13_3) {
        bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
        bc_report(m, sink, &nowhere, BC_RULE_W_02, "the producer '%.*s' is left out: 13.%u has no place for it",
                  (int)(m->producer->s.len < 200 ? m->producer->s.len : 200), m->producer->s.ptr, minor);
        m->producer = NULL;
    }
    m->version = to;
    m->verified = false; /* rules differ between versions */
    /* Otherwise the tables stay in their order: as many bytes as possible stay what they were. */
    return results_changed || holds_newer_types(m, to) ? bc_module_compact(m) : TV_OK;
}

tv_status tv_module_convert(tv_module *m, unsigned minor, tv_sink sink)
{
    TV_RETURN_COMPUTED(convert_module(m, minor, sink));
}

/* Compares modules. Ops that are aligned (align.h) are compared field by field, with values matched through the
   alignment; what is not was added or removed. */
#include "tools/tilevm/diff/compare.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/print/print.h"
#include "tools/tilevm/diff/align.h"
#include "tools/tilevm/diff/same.h"
#include "tools/tilevm/diff/values.h"

/* ---- the list of changes ---- */

static compare_change *add_change(compare_result *r, compare_scope scope, compare_kind kind, tv_str name)
{
    compare_change *grown = bc_grow(&r->arena, r->changes, r->count, &r->capacity, compare_change);
    if (!grown)
        return NULL;
    r->changes = grown;
    grown[r->count] = (compare_change){.scope = scope, .kind = kind, .name = name};
    return &grown[r->count++];
}

/* Fields of a pair are collected here; they become a change when there is one. */
typedef struct field_list {
    compare_result *result;
    compare_field *items;
    size_t count, capacity;
} field_list;

static void add_field(field_list *list, const char *name, tv_str a, tv_str b)
{
    bc_arena *arena = &list->result->arena;
    compare_field *grown = bc_grow(arena, list->items, list->count, &list->capacity, compare_field);
    if (!grown)
        return;
    list->items = grown;
    grown[list->count++] =
        (compare_field){bc_arena_dup(arena, bc_str(name)), bc_arena_dup(arena, a), bc_arena_dup(arena, b)};
}

static void add_number_field(field_list *list, const char *name, uint64_t a, uint64_t b)
{
    char texts[2][24];
    snprintf(texts[0], sizeof texts[0], "%llu", (unsigned long long)a);
    snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)b);
    add_field(list, name, bc_str(texts[0]), bc_str(texts[1]));
}

/* The change that the collected fields make, or NULL when there are none (or no memory). */
static compare_change *add_changed(field_list *list, compare_scope scope, tv_str name)
{
    if (!list->count)
        return NULL;
    compare_change *change = add_change(list->result, scope, COMPARE_CHANGED, name);
    if (change) {
        change->fields = list->items;
        change->field_count = list->count;
    }
    return change;
}

/* ---- comparing a pair of ops ---- */

typedef struct op_pair {
    const bc_module *ma, *mb;
    const flat_function *fa, *fb;
    const bc_op *a, *b;
    field_list fields;
    bc_text texts[2];
    bool moved; /* only the location differs */
} op_pair;

static void begin_texts(op_pair *p)
{
    bc_text_clear(&p->texts[0]);
    bc_text_clear(&p->texts[1]);
}

static void end_texts(op_pair *p, const char *name)
{
    add_field(&p->fields, name, bc_text_get(&p->texts[0]), bc_text_get(&p->texts[1]));
}

static void compare_types(op_pair *p, const char *name, const bc_type *a, const bc_type *b)
{
    if (same_type(a, b))
        return;
    begin_texts(p);
    bc_print_type(&p->texts[0], a, false);
    bc_print_type(&p->texts[1], b, false);
    end_texts(p, name);
}

/* Where a value comes from, in words that mean the same on both sides. */
static void put_value(bc_text *out, const flat_function *flat, const bc_value *v)
{
    uint32_t at = flat->position[v->id];
    if (v->op)
        bc_text_printf(out, "result %u of op %u (%s)", (unsigned)v->number, (unsigned)at, bc_info(v->op)->name);
    else if (at == FLAT_NONE)
        bc_text_printf(out, "entry argument %u", (unsigned)v->number);
    else
        bc_text_printf(out, "argument %u of op %u (%s)", (unsigned)v->number, (unsigned)at,
                       bc_info(flat->ops[at])->name);
}

static void compare_operand_rows(op_pair *p)
{
    const bc_op_info *info = bc_info(p->a);
    const bc_row *rows = bc_operand_rows(info);
    char name[96];
    for (unsigned r = 0; r < info->operand_rows; r++) {
        bc_range ra = bc_operand_range_at(p->a, r), rb = bc_operand_range_at(p->b, r);
        if (ra.count != rb.count) {
            snprintf(name, sizeof name, "number of operands %s", rows[r].name);
            add_number_field(&p->fields, name, ra.count, rb.count);
        }
        for (uint32_t i = 0; i < ra.count && i < rb.count; i++) {
            const bc_value *va = bc_operands(p->a)[ra.first + i], *vb = bc_operands(p->b)[rb.first + i];
            if (p->fa->other[va->id] == vb)
                continue;
            bool many = rows[r].arity == BC_VARIADIC;
            snprintf(name, sizeof name, many ? "operand %s[%u]" : "operand %s", rows[r].name, (unsigned)i);
            begin_texts(p);
            put_value(&p->texts[0], p->fa, va);
            put_value(&p->texts[1], p->fb, vb);
            end_texts(p, name);
        }
    }
}

static void compare_constants(op_pair *p, const char *name, const bc_blob *a, const bc_blob *b)
{
    size_t from = 0;
    while (from < a->len && from < b->len && a->ptr[from] == b->ptr[from])
        from++;
    begin_texts(p);
    value_blob_text(&p->texts[0], a, from);
    value_blob_text(&p->texts[1], b, from);
    end_texts(p, name);
}

static void compare_attr_rows(op_pair *p)
{
    const bc_op_info *info = bc_info(p->a);
    const bc_row *rows = bc_attr_rows(info);
    const bc_type *type = flat_first_type(p->a), *other = flat_first_type(p->b);
    for (unsigned i = 0; i < info->attr_rows; i++) {
        const bc_attr *a = &bc_attrs(p->a)[i], *b = &bc_attrs(p->b)[i];
        if (same_attr(&rows[i], same_type(type, other) ? type : NULL, a, b))
            continue;
        if (rows[i].encoding == BC_ENC_CONST) {
            compare_constants(p, rows[i].name, a->blob, b->blob);
            continue;
        }
        begin_texts(p);
        value_attr_text(&p->texts[0], &rows[i], a);
        value_attr_text(&p->texts[1], &rows[i], b);
        end_texts(p, rows[i].name);
    }
}

static void compare_results(op_pair *p)
{
    char name[96];
    if (p->a->result_count != p->b->result_count)
        add_number_field(&p->fields, "number of results", p->a->result_count, p->b->result_count);
    for (uint32_t i = 0; i < p->a->result_count && i < p->b->result_count; i++) {
        snprintf(name, sizeof name, "type of result %u", (unsigned)i);
        compare_types(p, name, bc_results(p->a)[i].type, bc_results(p->b)[i].type);
    }
}

static void compare_regions(op_pair *p)
{
    char name[96];
    for (unsigned r = 0; r < p->a->region_count; r++) {
        const bc_block *a = bc_regions(p->a)[r], *b = bc_regions(p->b)[r];
        snprintf(name, sizeof name, "region %u", r);
        if (!a || !b) {
            if (a || b)
                add_field(&p->fields, name, bc_str(a ? "present" : "absent"), bc_str(b ? "present" : "absent"));
            continue;
        }
        if (a->arg_count != b->arg_count) {
            snprintf(name, sizeof name, "number of arguments of region %u", r);
            add_number_field(&p->fields, name, a->arg_count, b->arg_count);
        }
        for (uint32_t i = 0; i < a->arg_count && i < b->arg_count; i++) {
            snprintf(name, sizeof name, "type of argument %u of region %u", (unsigned)i, r);
            compare_types(p, name, a->args[i].type, b->args[i].type);
        }
    }
}

static void put_parent(bc_text *out, const flat_function *flat, uint32_t at)
{
    if (at == FLAT_NONE)
        bc_text_puts(out, "the entry");
    else
        bc_text_printf(out, "op %u (%s)", (unsigned)at, bc_info(flat->ops[at])->name);
}

static void compare_nesting(op_pair *p, uint32_t at)
{
    uint32_t a = p->fa->parent[at], b = p->fb->parent[p->fa->pair[at]];
    if ((a == FLAT_NONE ? FLAT_NONE : p->fa->pair[a]) == b)
        return;
    begin_texts(p);
    put_parent(&p->texts[0], p->fa, a);
    put_parent(&p->texts[1], p->fb, b);
    end_texts(p, "stands in");
}

static void put_location(bc_text *out, const bc_module *m, uint32_t loc)
{
    tv_str file;
    uint32_t line, column;
    if (bc_source_place(m, loc, &file, &line, &column)) {
        bc_text_str(out, file);
        bc_text_printf(out, ":%u:%u", (unsigned)line, (unsigned)column);
    } else {
        bc_text_puts(out, "unknown");
    }
}

/* True when they differ; then the texts hold them. */
static bool different_locations(op_pair *p, uint32_t a, uint32_t b)
{
    begin_texts(p);
    put_location(&p->texts[0], p->ma, a);
    put_location(&p->texts[1], p->mb, b);
    return !bc_str_eq(bc_text_get(&p->texts[0]), bc_text_get(&p->texts[1]));
}

/* The op at position `at` of a and its partner. */
static void compare_pair(op_pair *p, uint32_t at, bool ignore_debug, tv_str name)
{
    compare_result *r = p->fields.result;
    p->fields = (field_list){.result = r};
    p->a = p->fa->ops[at];
    p->b = p->fb->ops[p->fa->pair[at]];
    compare_results(p);
    compare_attr_rows(p);
    compare_operand_rows(p);
    compare_regions(p);
    compare_nesting(p, at);
    bool moved = !ignore_debug && different_locations(p, p->a->loc, p->b->loc);
    if (moved && p->fields.count)
        end_texts(p, "location");
    else
        r->moved_locations += moved;
    compare_change *change = add_changed(&p->fields, COMPARE_OP, name);
    if (change) {
        change->fa = p->fa->f, change->fb = p->fb->f;
        change->a = p->a, change->b = p->b;
        change->a_index = at, change->b_index = p->fa->pair[at];
    }
}

static void add_lone_op(compare_result *r, compare_kind kind, const flat_function *fa, const flat_function *fb,
                        uint32_t at, tv_str name)
{
    compare_change *change = add_change(r, COMPARE_OP, kind, name);
    if (!change)
        return;
    change->fa = fa->f, change->fb = fb->f;
    if (kind == COMPARE_REMOVED)
        change->a = fa->ops[at], change->a_index = at;
    else
        change->b = fb->ops[at], change->b_index = at;
}

/* Both bodies in order: what a alone has, then what b alone has, then the next pair. */
static void compare_bodies(op_pair *p, bool ignore_debug, tv_str name)
{
    compare_result *r = p->fields.result;
    uint32_t i = 0, j = 0;
    while (i < p->fa->count || j < p->fb->count) {
        for (; i < p->fa->count && p->fa->pair[i] == FLAT_NONE; i++)
            add_lone_op(r, COMPARE_REMOVED, p->fa, p->fb, i, name);
        for (; j < p->fb->count && p->fb->pair[j] == FLAT_NONE; j++)
            add_lone_op(r, COMPARE_ADDED, p->fa, p->fb, j, name);
        if (i < p->fa->count)
            compare_pair(p, i, ignore_debug, name);
        i += i < p->fa->count;
        j += j < p->fb->count;
    }
}

/* ---- functions, globals, the module ---- */

/* Parameter by parameter when there are as many; else as a whole. */
static void compare_signatures(op_pair *p, const bc_type *a, const bc_type *b)
{
    if (a->rank != b->rank || a->result_count != b->result_count) {
        compare_types(p, "signature", a, b);
        return;
    }
    char name[96];
    for (uint32_t i = 0; i < a->rank; i++) {
        snprintf(name, sizeof name, "type of parameter %u", (unsigned)i);
        compare_types(p, name, a->members[i], b->members[i]);
    }
}

typedef void print_fn(bc_text *out, const bc_tagged *attr);

/* A list or set, for which an empty one says no more than none. */
static bool is_empty(const bc_tagged *a)
{
    return !a || (a->tag == BC_TAG_ARRAY ? a->u.array.count : a->u.dict.count) == 0;
}

static void compare_optional_tagged(op_pair *p, const char *name, const bc_tagged *a, const bc_tagged *b,
                                    print_fn *print)
{
    bool a_empty = is_empty(a), b_empty = is_empty(b);
    if ((a_empty && b_empty) || (!a_empty && !b_empty && same_tagged(a, b)))
        return;
    begin_texts(p);
    if (a)
        print(&p->texts[0], a);
    if (b)
        print(&p->texts[1], b);
    end_texts(p, name);
}

static tv_status compare_functions(const bc_module *ma, const bc_function *a, const bc_module *mb, const bc_function *b,
                                   const compare_options *options, compare_result *r)
{
    bc_arena scratch;
    bc_arena_init(&scratch, NULL, 0);
    flat_function fa, fb;
    op_pair p = {.ma = ma, .mb = mb, .fa = &fa, .fb = &fb, .fields = {.result = r}};
    bc_text_init(&p.texts[0], NULL);
    bc_text_init(&p.texts[1], NULL);
    if (!bc_str_eq(a->name->s, b->name->s))
        add_field(&p.fields, "name", a->name->s, b->name->s);
    compare_signatures(&p, a->type, b->type);
    compare_optional_tagged(&p, "optimization hints", a->hints, b->hints, bc_print_hints);
    compare_optional_tagged(&p, "argument attributes", a->arg_attrs, b->arg_attrs, bc_print_tagged);
    if (!options->ignore_debug && different_locations(&p, a->loc, b->loc))
        end_texts(&p, "location");
    compare_change *change = add_changed(&p.fields, COMPARE_ENTRY, b->name->s);
    if (change)
        change->fa = a, change->fb = b;
    bool ok = flat_open(&scratch, a, &fa) && flat_open(&scratch, b, &fb) && flat_align(&scratch, &fa, &fb);
    if (ok) {
        flat_pair_values(&fa, &fb);
        compare_bodies(&p, options->ignore_debug, b->name->s);
    }
    ok = ok && !p.texts[0].failed && !p.texts[1].failed;
    bc_text_release(&p.texts[0]);
    bc_text_release(&p.texts[1]);
    bc_arena_release(&scratch);
    return ok ? TV_OK : TV_NO_MEMORY;
}

static const bc_function *find_function(const bc_module *m, tv_str name)
{
    for (size_t i = 0; i < m->function_count; i++)
        if (bc_str_eq(m->functions[i].name->s, name))
            return &m->functions[i];
    return NULL;
}

/* A module with one entry each: they belong together even when their names (which encode constants) differ. */
static const bc_function *partner(const bc_module *own, const bc_module *other, tv_str name)
{
    const bc_function *f = find_function(other, name);
    if (!f && own->function_count == 1 && other->function_count == 1)
        f = &other->functions[0];
    return f;
}

static tv_status compare_all_functions(const bc_module *a, const bc_module *b, const compare_options *options,
                                       compare_result *r)
{
    for (size_t i = 0; i < a->function_count; i++) {
        const bc_function *fa = &a->functions[i], *fb = partner(a, b, fa->name->s);
        if (fb) {
            TV_TRY(compare_functions(a, fa, b, fb, options, r));
            continue;
        }
        compare_change *change = add_change(r, COMPARE_ENTRY, COMPARE_REMOVED, fa->name->s);
        if (change)
            change->fa = fa;
    }
    for (size_t i = 0; i < b->function_count; i++) {
        const bc_function *fb = &b->functions[i];
        compare_change *change = partner(b, a, fb->name->s) ? NULL
                                                            : add_change(r, COMPARE_ENTRY, COMPARE_ADDED, fb->name->s);
        if (change)
            change->fb = fb;
    }
    return TV_OK;
}

static const bc_global *find_global(const bc_module *m, tv_str name)
{
    for (size_t i = 0; i < m->global_count; i++)
        if (bc_str_eq(m->globals[i].name->s, name))
            return &m->globals[i];
    return NULL;
}

static void compare_global(const bc_global *a, const bc_global *b, compare_result *r)
{
    op_pair p = {.fields = {.result = r}};
    bc_text_init(&p.texts[0], NULL);
    bc_text_init(&p.texts[1], NULL);
    compare_types(&p, "type", a->type, b->type);
    if (!same_constant(same_type(a->type, b->type) ? a->type : NULL, a->value, b->value))
        compare_constants(&p, "value", a->value, b->value);
    if (a->alignment != b->alignment)
        add_number_field(&p.fields, "alignment", a->alignment, b->alignment);
    if (a->visibility != b->visibility)
        add_field(&p.fields, "visibility", bc_str(bc_enum_text(BC_ENUM_SymbolVisibility, a->visibility)),
                  bc_str(bc_enum_text(BC_ENUM_SymbolVisibility, b->visibility)));
    if (a->constant != b->constant)
        add_field(&p.fields, "constant", bc_str(a->constant ? "yes" : "no"), bc_str(b->constant ? "yes" : "no"));
    add_changed(&p.fields, COMPARE_GLOBAL, a->name->s);
    bc_text_release(&p.texts[0]);
    bc_text_release(&p.texts[1]);
}

static void compare_globals(const bc_module *a, const bc_module *b, compare_result *r)
{
    for (size_t i = 0; i < a->global_count; i++) {
        const bc_global *g = find_global(b, a->globals[i].name->s);
        if (g)
            compare_global(&a->globals[i], g, r);
        else
            add_change(r, COMPARE_GLOBAL, COMPARE_REMOVED, a->globals[i].name->s);
    }
    for (size_t i = 0; i < b->global_count; i++)
        if (!find_global(a, b->globals[i].name->s))
            add_change(r, COMPARE_GLOBAL, COMPARE_ADDED, b->globals[i].name->s);
}

static void compare_headers(const bc_module *a, const bc_module *b, compare_result *r)
{
    static const tv_str empty = {"", 0};
    field_list fields = {.result = r};
    char versions[2][16];
    snprintf(versions[0], sizeof versions[0], "13.%d", (int)a->version);
    snprintf(versions[1], sizeof versions[1], "13.%d", (int)b->version);
    if (a->version != b->version)
        add_field(&fields, "version", bc_str(versions[0]), bc_str(versions[1]));
    tv_str pa = a->producer ? a->producer->s : empty, pb = b->producer ? b->producer->s : empty;
    if (!bc_str_eq(pa, pb))
        add_field(&fields, "producer", pa, pb);
    add_changed(&fields, COMPARE_MODULE, empty);
}

tv_status compare_modules(const bc_module *a, const bc_module *b, const compare_options *options, compare_result *out)
{
    *out = (compare_result){0};
    bc_arena_init(&out->arena, NULL, 0);
    if (!options->ignore_version)
        compare_headers(a, b, out);
    compare_globals(a, b, out);
    tv_status status = compare_all_functions(a, b, options, out);
    return out->arena.failed ? TV_NO_MEMORY : status;
}

void compare_release(compare_result *result)
{
    bc_arena_release(&result->arena);
}

bool compare_same(const compare_result *result)
{
    return result->count == 0 && result->moved_locations == 0;
}

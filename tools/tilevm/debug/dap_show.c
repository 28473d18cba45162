/* What editors show: tile blocks as threads, regions as frames, tiles as trees. */
#include "tools/tilevm/debug/dap.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 200, MOST_CHILDREN = 1000, FRAMES = 256, OPS_REFERENCE = 1 };

/* ---- references ---- */

void dap_forget_refs(dap *d)
{
    for (size_t i = 0; i < d->ref_count; i++)
        free(d->refs[i].name);
    d->ref_count = 0;
}

/* Returns the reference of a new entry, or 0 if there is no room. name is copied. */
static int64_t add_ref(dap *d, dap_ref ref, const char *name)
{
    if (d->ref_count == DAP_MOST_REFS)
        return 0;
    if (d->ref_count == d->ref_capacity) {
        size_t larger = d->ref_capacity ? 2 * d->ref_capacity : 64;
        dap_ref *refs = realloc(d->refs, larger * sizeof *refs);
        if (!refs)
            return 0;
        d->refs = refs;
        d->ref_capacity = larger;
    }
    ref.name = NULL;
    if (name) {
        ref.name = malloc(strlen(name) + 1);
        if (!ref.name)
            return 0;
        memcpy(ref.name, name, strlen(name) + 1);
    }
    d->refs[d->ref_count++] = ref;
    return (int64_t)d->ref_count;
}

/* ---- threads ---- */

void dap_threads(dap *d, dap_request *r)
{
    vm_debug_block b;
    cJSON *list = json_array(&r->doc, r->body, "threads");
    for (size_t i = 0; i < MOST_THREADS && vm_debug_block_at(d->s.d, i, &b); i++) {
        char name[60];
        cJSON *item = json_object(&r->doc, list, NULL);
        snprintf(name, sizeof name, "tile block (%u, %u, %u)", b.block[0], b.block[1], b.block[2]);
        json_int(&r->doc, item, "id", dap_thread_of(d, b.block));
        json_text(&r->doc, item, "name", name);
    }
    if (vm_debug_block_at(d->s.d, 0, &b))
        return;
    cJSON *item = json_object(&r->doc, list, NULL);
    json_int(&r->doc, item, "id", 1);
    json_text(&r->doc, item, "name", "the run has ended");
}

static bool choose(dap *d, int64_t thread)
{
    uint32_t grid[3];
    if (thread < 1)
        return false;
    uint64_t i = (uint64_t)thread - 1;
    vm_debug_grid(d->s.d, grid);
    const uint32_t block[3] = {(uint32_t)(i % grid[0]), (uint32_t)(i / grid[0] % grid[1]),
                               (uint32_t)(i / grid[0] / grid[1])};
    return vm_debug_choose(d->s.d, block);
}

/* ---- frames ---- */

static void put_source(dap *d, dap_request *r, cJSON *frame, uint32_t position)
{
    tv_str file;
    uint32_t line;
    cJSON *source = json_object(&r->doc, frame, "source");
    char *path = NULL;
    if (vm_debug_line(d->s.d, position, &file, &line) && (path = debug_source_path(&d->s, file)) != NULL) {
        const char *slash = strrchr(path, '/');
        char *whole = realpath(path, NULL);
        json_text(&r->doc, source, "name", slash ? slash + 1 : path);
        json_text(&r->doc, source, "path", whole && !d->wire.lines ? whole : path);
        json_uint(&r->doc, frame, "line", line);
        free(whole);
    } else {
        json_text(&r->doc, source, "name", "ops of the kernel");
        json_int(&r->doc, source, "sourceReference", OPS_REFERENCE);
        json_uint(&r->doc, frame, "line", position + 1u);
    }
    json_int(&r->doc, frame, "column", 1);
    free(path);
}

static void put_frame(dap *d, dap_request *r, cJSON *list, int64_t thread, unsigned level, uint32_t position)
{
    char name[120];
    const bc_op *op = vm_debug_op(d->s.d, position);
    cJSON *frame = json_object(&r->doc, list, NULL);
    snprintf(name, sizeof name, "%s, op %u", bc_info(op)->name, position);
    json_int(&r->doc, frame, "id", (thread - 1) * FRAMES + level + 1);
    json_text(&r->doc, frame, "name", name);
    put_source(d, r, frame, position);
}

/* The op that is next, then the loops and branches around it. */
void dap_stack(dap *d, dap_request *r)
{
    int64_t thread = dap_integer(r->arguments, "threadId", 1);
    cJSON *list = json_array(&r->doc, r->body, "stackFrames");
    vm_debug_place at;
    unsigned level = 0;
    if (choose(d, thread)) {
        vm_debug_where(d->s.d, &at);
        for (uint32_t p = at.position; p != UINT32_MAX && level < FRAMES; p = vm_debug_parent(d->s.d, p))
            put_frame(d, r, list, thread, level++, p);
    }
    json_uint(&r->doc, r->body, "totalFrames", level);
}

static void put_scope(dap *d, dap_request *r, cJSON *list, const char *name, dap_ref_kind kind, int64_t thread)
{
    cJSON *item = json_object(&r->doc, list, NULL);
    json_text(&r->doc, item, "name", name);
    json_int(&r->doc, item, "variablesReference", add_ref(d, (dap_ref){.kind = kind, .thread = thread}, NULL));
    json_bool(&r->doc, item, "expensive", false);
}

void dap_scopes(dap *d, dap_request *r)
{
    int64_t frame = dap_integer(r->arguments, "frameId", 1);
    cJSON *list = json_array(&r->doc, r->body, "scopes");
    put_scope(d, r, list, "Values", DAP_REF_LOCALS, (frame - 1) / FRAMES + 1);
    put_scope(d, r, list, "Arrays", DAP_REF_ARRAYS, 0);
}

/* ---- variables ---- */

/* name: as shown; expression: as evaluated. */
static void put_variable(dap *d, dap_request *r, cJSON *list, const char *name, const char *expression,
                         const vm_debug_value *v)
{
    bc_text text;
    cJSON *item = json_object(&r->doc, list, NULL);
    int64_t ref = 0;
    bc_text_init(&text, NULL);
    debug_put_short(&d->s, v, &text);
    json_text(&r->doc, item, "name", name);
    json_str(&r->doc, item, "value", bc_text_get(&text));
    json_text(&r->doc, item, "evaluateName", expression);
    bc_text_clear(&text);
    if (v->form == VM_DEBUG_DATA || v->form == VM_DEBUG_VIEW) {
        vm_debug_print_type(v, &text);
        json_str(&r->doc, item, "type", bc_text_get(&text));
    }
    if (v->form == VM_DEBUG_DATA && v->rank) {
        ref = add_ref(d, (dap_ref){.kind = DAP_REF_VALUE, .value = *v}, expression);
        json_int(&r->doc, item, "indexedVariables", v->shape[0]);
        json_int(&r->doc, item, "namedVariables", v->kind == BC_PTR ? 0 : 1);
    }
    json_int(&r->doc, item, "variablesReference", ref);
    bc_text_release(&text);
}

static void put_locals(dap *d, dap_request *r, cJSON *list, int64_t thread)
{
    const bc_value *value;
    vm_debug_value v;
    vm_debug_error error;
    bc_text name;
    bc_text_init(&name, NULL);
    for (size_t i = 0; choose(d, thread) && i < MOST_CHILDREN && (value = vm_debug_local_at(d->s.d, i)) != NULL; i++) {
        if (!vm_debug_value_of(d->s.d, value, &v, &error))
            continue;
        bc_text_clear(&name);
        vm_debug_print_value_name(d->s.d, value, &name);
        put_variable(d, r, list, bc_text_words(&name), bc_text_words(&name), &v);
    }
    bc_text_release(&name);
}

static void put_arrays(dap *d, dap_request *r, cJSON *list)
{
    vm_debug_value v;
    for (size_t i = 0; i < MOST_CHILDREN && vm_debug_array_at(d->s.d, i, &v); i++)
        put_variable(d, r, list, vm_debug_array_name(&v), vm_debug_array_name(&v), &v);
}

static void put_figures(dap *d, dap_request *r, cJSON *list, const vm_debug_value *v)
{
    bc_text text;
    cJSON *item = json_object(&r->doc, list, NULL);
    bc_text_init(&text, NULL);
    debug_put_stats(&d->s, v, &text);
    tv_str words = debug_trim(bc_text_get(&text));
    json_text(&r->doc, item, "name", "statistics");
    json_str(&r->doc, item, "value", words);
    json_int(&r->doc, item, "variablesReference", 0);
    bc_text_release(&text);
}

static vm_debug_value row_of(const vm_debug_value *v, int64_t i)
{
    vm_debug_value row = *v;
    row.rank = v->rank - 1;
    row.offset = v->offset + i * v->strides[0];
    row.count = v->count / (uint64_t)v->shape[0];
    memmove(row.shape, v->shape + 1, row.rank * sizeof *row.shape);
    memmove(row.strides, v->strides + 1, row.rank * sizeof *row.strides);
    return row;
}

/* "%t[0][3]" is what "%t[0, 3]" is. */
static void put_elements(dap *d, dap_request *r, cJSON *list, const dap_ref *ref, int64_t start, int64_t count)
{
    const vm_debug_value v = ref->value;
    char name[32];
    bc_text expression;
    char *whole = malloc(strlen(ref->name) + 1); /* the table may move */
    if (!whole)
        return;
    memcpy(whole, ref->name, strlen(ref->name) + 1);
    bc_text_init(&expression, NULL);
    for (int64_t i = start; i < v.shape[0] && i - start < count; i++) {
        vm_debug_value row = row_of(&v, i);
        snprintf(name, sizeof name, "[%lld]", (long long)i);
        bc_text_clear(&expression);
        bc_text_printf(&expression, "%s%s", whole, name);
        put_variable(d, r, list, name, bc_text_words(&expression), &row);
    }
    bc_text_release(&expression);
    free(whole);
}

void dap_variables(dap *d, dap_request *r)
{
    int64_t number = dap_integer(r->arguments, "variablesReference", 0), start = dap_integer(r->arguments, "start", 0);
    int64_t count = dap_integer(r->arguments, "count", 0);
    const char *filter = dap_text(r->arguments, "filter");
    cJSON *list = json_array(&r->doc, r->body, "variables");
    if (number < 1 || (size_t)number > d->ref_count) {
        dap_fail(r, "there is no variables reference %lld", (long long)number);
        return;
    }
    const dap_ref ref = d->refs[number - 1];
    if (ref.kind == DAP_REF_LOCALS)
        put_locals(d, r, list, ref.thread);
    if (ref.kind == DAP_REF_ARRAYS)
        put_arrays(d, r, list);
    if (ref.kind != DAP_REF_VALUE)
        return;
    if (ref.value.kind != BC_PTR && !(filter && strcmp(filter, "indexed") == 0))
        put_figures(d, r, list, &ref.value);
    if (!(filter && strcmp(filter, "named") == 0))
        put_elements(d, r, list, &ref, start < 0 ? 0 : start,
                     count > 0 && count < MOST_CHILDREN ? count : MOST_CHILDREN);
}

/* ---- expressions ---- */

/* The console of an editor also takes the commands that run nothing. */
static bool is_command(const char *text)
{
    static const char *const words[] = {"print", "p",    "stats", "picture", "pic",    "who",    "list",
                                        "l",     "info", "i",     "where",   "help",   "watch",  "catch",
                                        "break", "b",    "bt",    "delete",  "ignore", "enable", "disable"};
    size_t n = strcspn(text, " \t");
    for (size_t i = 0; i < TV_COUNT(words); i++)
        if (strlen(words[i]) == n && memcmp(words[i], text, n) == 0)
            return true;
    return false;
}

static void do_command(dap *d, dap_request *r, const char *text)
{
    bc_text out;
    vm_debug_error error;
    bc_text_init(&out, NULL);
    if (debug_do(&d->s, bc_str(text), &out, &error))
        json_str(&r->doc, r->body, "result", debug_trim(bc_text_get(&out)));
    else
        dap_fail(r, "%s", error.text);
    json_int(&r->doc, r->body, "variablesReference", 0);
    bc_text_release(&out);
}

void dap_evaluate(dap *d, dap_request *r)
{
    const char *text = dap_text(r->arguments, "expression"), *context = dap_text(r->arguments, "context");
    int64_t frame = dap_integer(r->arguments, "frameId", 0);
    vm_debug_value v;
    vm_debug_error error;
    if (!text) {
        dap_fail(r, "\"expression\" is missing");
        return;
    }
    if (frame > 0)
        choose(d, (frame - 1) / FRAMES + 1);
    if (context && strcmp(context, "repl") == 0 && is_command(text)) {
        do_command(d, r, text);
        return;
    }
    if (!vm_debug_evaluate(d->s.d, bc_str(text), &v, &error)) {
        dap_fail(r, "%s", error.text);
        return;
    }
    json_doc doc = {0};
    cJSON *list = json_array(&doc, NULL, NULL);
    dap_request inner = {.doc = doc};
    put_variable(d, &inner, list, text, text, &v);
    const cJSON *item = inner.doc.failed ? NULL : cJSON_GetArrayItem(inner.doc.root, 0);
    json_text(&r->doc, r->body, "result", item ? dap_text(item, "value") : "");
    if (item && dap_text(item, "type"))
        json_text(&r->doc, r->body, "type", dap_text(item, "type"));
    json_int(&r->doc, r->body, "variablesReference", item ? dap_integer(item, "variablesReference", 0) : 0);
    r->doc.failed |= inner.doc.failed;
    cJSON_Delete(inner.doc.root);
}

/* ---- the text form ---- */

void dap_source(dap *d, dap_request *r)
{
    bc_text text;
    if (dap_integer(dap_member(r->arguments, "source"), "sourceReference",
                    dap_integer(r->arguments, "sourceReference", 0))
        != OPS_REFERENCE) {
        dap_fail(r, "there is no such source");
        return;
    }
    bc_text_init(&text, NULL);
    for (uint32_t p = 0; vm_debug_op(d->s.d, p); p++) {
        bc_text_printf(&text, "%*s", (int)(2 * vm_debug_depth(d->s.d, p)), "");
        vm_debug_print_op(d->s.d, p, &text);
        bc_text_char(&text, '\n');
    }
    r->doc.failed |= text.failed;
    json_str(&r->doc, r->body, "content", bc_text_get(&text));
    bc_text_release(&text);
}

/* What `info` lists, as JSON. */
#include <string.h>

#include "tools/tilevm/debug/answer.h"

void debug_add_stop(const debug_session *s, json_doc *doc, cJSON *item, const vm_debug_stop *stop)
{
    static const char *const kinds[] = {
        [VM_DEBUG_IS_BREAK] = "breakpoint", [VM_DEBUG_IS_WATCH] = "watchpoint", [VM_DEBUG_IS_CATCH] = "catch"};
    json_text(doc, item, "kind", kinds[stop->kind]);
    json_uint(doc, item, "number", stop->number);
    json_text(doc, item, "what", stop->text);
    json_bool(doc, item, "on", stop->on);
    json_bool(doc, item, "once", stop->once);
    json_int(doc, item, "hits", (int64_t)stop->hits);
    json_int(doc, item, "ignored", (int64_t)stop->ignore);
    if (stop->kind != VM_DEBUG_IS_BREAK)
        return;
    json_uint(doc, item, "ops", stop->ops);
    debug_add_op(s, doc, item, stop->position);
}

void debug_add_finding(const debug_session *s, json_doc *doc, cJSON *item, const vm_debug_finding *f)
{
    json_text(doc, item, "rule", f->rule);
    json_text(doc, item, "message", f->text);
    json_int(doc, item, "time", (int64_t)f->time);
    debug_add_op(s, doc, item, f->position);
    if (f->other != UINT32_MAX && f->other != f->position)
        debug_add_op(s, doc, json_object(doc, item, "other"), f->other);
}

static void add_breaks(debug_session *s, json_doc *doc, cJSON *list)
{
    vm_debug_stop stop;
    for (size_t i = 0; vm_debug_stop_at(s->d, i, &stop); i++)
        debug_add_stop(s, doc, json_object(doc, list, NULL), &stop);
}

static void add_locals(debug_session *s, json_doc *doc, cJSON *list)
{
    const bc_value *value;
    vm_debug_value v;
    vm_debug_error error;
    bc_text name;
    bc_text_init(&name, NULL);
    for (size_t i = 0; (value = vm_debug_local_at(s->d, i)) != NULL; i++) {
        if (!vm_debug_value_of(s->d, value, &v, &error))
            continue;
        cJSON *item = json_object(doc, list, NULL);
        vm_debug_print_value_name(s->d, value, &name);
        json_made(doc, item, "name", &name);
        debug_add_value(s, doc, item, "value", &v, false);
    }
    bc_text_release(&name);
}

static void add_arrays(debug_session *s, json_doc *doc, cJSON *list)
{
    vm_debug_value v;
    for (size_t i = 0; vm_debug_array_at(s->d, i, &v); i++) {
        cJSON *item = json_object(doc, list, NULL);
        json_text(doc, item, "name", vm_debug_array_name(&v));
        json_text(doc, item, "dtype", bc_dtypes[v.dtype].text);
        cJSON *shape = json_array(doc, item, "shape");
        for (uint32_t d = 0; d < v.rank; d++)
            json_int(doc, shape, NULL, v.shape[d]);
        debug_add_figures(doc, item, &v);
    }
}

static void add_blocks(debug_session *s, json_doc *doc, cJSON *list)
{
    vm_debug_block b;
    for (size_t i = 0; vm_debug_block_at(s->d, i, &b); i++) {
        cJSON *item = json_object(doc, list, NULL);
        debug_add_block(doc, item, b.block);
        json_bool(doc, item, "runs", b.runs);
        json_bool(doc, item, "chosen", b.chosen);
        debug_add_op(s, doc, item, b.position);
    }
}

static void add_lines(debug_session *s, json_doc *doc, cJSON *list)
{
    tv_str file, last_file = {0};
    uint32_t line, last = 0;
    for (uint32_t p = 0; vm_debug_op(s->d, p); p++) {
        if (!vm_debug_line(s->d, p, &file, &line) || (line == last && bc_str_eq(file, last_file)))
            continue;
        cJSON *item = json_object(doc, list, NULL);
        json_uint(doc, item, "op_index", p);
        json_str(doc, item, "file", file);
        json_uint(doc, item, "line", line);
        last = line;
        last_file = file;
    }
}

static void add_findings(debug_session *s, json_doc *doc, cJSON *list)
{
    vm_debug_finding f;
    for (size_t i = 0; vm_debug_finding_at(s->d, i, &f); i++)
        debug_add_finding(s, doc, json_object(doc, list, NULL), &f);
}

static const struct {
    const char *name;
    void (*add)(debug_session *s, json_doc *doc, cJSON *list);
} lists[] = {{"breaks", add_breaks}, {"locals", add_locals}, {"arrays", add_arrays},
             {"blocks", add_blocks}, {"lines", add_lines},   {"findings", add_findings}};

/* How many tile blocks and snapshots there are. */
static void tell_counts(debug_session *s, json_doc *doc, const char *name)
{
    uint64_t ended, all, under_way;
    size_t count, bytes;
    if (strcmp(name, "blocks") == 0) {
        vm_debug_block_counts(s->d, &ended, &all, &under_way);
        json_int(doc, doc->root, "blocks_ended", (int64_t)ended);
        json_int(doc, doc->root, "blocks_in_all", (int64_t)all);
    } else if (strcmp(name, "snapshots") == 0) {
        vm_debug_snapshots(s->d, &count, &bytes);
        json_uint(doc, doc->root, "snapshots", count);
        json_uint(doc, doc->root, "snapshot_bytes", bytes);
    }
}

void debug_tell_info(debug_session *s, const char *name)
{
    json_doc *doc = s->answer;
    if (!doc)
        return;
    tell_counts(s, doc, name);
    for (size_t i = 0; i < TV_COUNT(lists); i++)
        if (strcmp(lists[i].name, name) == 0)
            lists[i].add(s, doc, json_array(doc, doc->root, name));
}

/* Breakpoints of editors. Every request lists all breakpoints of its kind, so the earlier ones of that kind are
   deleted. */
#include "tools/tilevm/debug/dap.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

enum { GROUP_FUNCTIONS, GROUP_EXCEPTIONS, GROUP_DATA, FIRST_SOURCE };
enum { MOST_OF_A_KIND = 200 };

static uint32_t group_of(const char *path)
{
    uint32_t h = 2166136261u;
    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 16777619u;
    return h < FIRST_SOURCE ? h + FIRST_SOURCE : h;
}

static void drop_group(dap *d, uint32_t group)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->stop_count; i++) {
        if (d->stops[i].group == group)
            vm_debug_delete(d->s.d, d->stops[i].number);
        else
            d->stops[kept++] = d->stops[i];
    }
    d->stop_count = kept;
}

static void keep(dap *d, unsigned number, uint32_t group)
{
    struct dap_stop *stops = realloc(d->stops, (d->stop_count + 1) * sizeof *stops);
    if (!stops) {
        vm_debug_delete(d->s.d, number);
        return;
    }
    d->stops = stops;
    stops[d->stop_count++] = (struct dap_stop){number, group};
}

/* The text of the command, with its condition. */
static void put_place(bc_text *out, const char *place, const cJSON *item)
{
    const char *condition = dap_text(item, "condition");
    bc_text_puts(out, place);
    if (condition && condition[strspn(condition, " \t")]) {
        bc_text_puts(out, " if ");
        bc_text_puts(out, condition);
    }
}

/* "5": stops from the fifth hit on. */
static void set_hits(dap *d, unsigned number, const cJSON *item)
{
    const char *text = dap_text(item, "hitCondition");
    char *end;
    uint64_t n = text ? strtoull(text, &end, 10) : 0;
    if (text && end != text && n > 1)
        vm_debug_ignore(d->s.d, number, n - 1);
}

typedef unsigned setter(vm_debug *d, tv_str text, vm_debug_error *error);

static unsigned set_break(vm_debug *d, tv_str text, vm_debug_error *error)
{
    return vm_debug_break(d, text, false, error);
}

/* Sets one stop, and adds the result to `list`. Returns its number, or 0. */
static unsigned set(dap *d, dap_request *r, cJSON *list, setter *how, uint32_t group, const char *place,
                    const cJSON *item)
{
    bc_text text;
    vm_debug_error error = {{0}};
    vm_debug_stop stop;
    tv_str file;
    uint32_t line;
    cJSON *entry = json_object(&r->doc, list, NULL);
    bc_text_init(&text, NULL);
    put_place(&text, place, item);
    unsigned number = text.failed ? 0 : how(d->s.d, bc_text_get(&text), &error);
    bc_text_release(&text);
    json_bool(&r->doc, entry, "verified", number != 0);
    if (!number) {
        json_text(&r->doc, entry, "message", error.text);
        return 0;
    }
    keep(d, number, group);
    set_hits(d, number, item);
    json_uint(&r->doc, entry, "id", number);
    for (size_t i = 0; vm_debug_stop_at(d->s.d, i, &stop); i++)
        if (stop.number == number && stop.kind == VM_DEBUG_IS_BREAK
            && vm_debug_line(d->s.d, stop.position, &file, &line))
            json_uint(&r->doc, entry, "line", line);
    return number;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/'), *backslash = strrchr(path, '\\');
    const char *last = slash > backslash ? slash : backslash;
    return last ? last + 1 : path;
}

void dap_set_breakpoints(dap *d, dap_request *r)
{
    const cJSON *source = dap_member(r->arguments, "source"), *item;
    const char *path = dap_text(source, "path");
    bool ops = dap_integer(source, "sourceReference", 0) == 1;
    cJSON *list = json_array(&r->doc, r->body, "breakpoints");
    size_t n = 0;
    if (!path && !ops) {
        dap_fail(r, "\"source\" has no \"path\"");
        return;
    }
    uint32_t group = group_of(ops ? "" : path);
    drop_group(d, group);
    cJSON_ArrayForEach(item, dap_member(r->arguments, "breakpoints"))
    {
        char place[512];
        int64_t line = dap_integer(item, "line", 0);
        if (n++ == MOST_OF_A_KIND)
            break;
        line = line < 1 ? 1 : line > INT32_MAX ? INT32_MAX : line;
        if (ops)
            snprintf(place, sizeof place, "%lld", (long long)line - 1);
        else /* the kernel may have been built in other folders */
            snprintf(place, sizeof place, "%.400s:%lld", last_part(path), (long long)line);
        set(d, r, list, set_break, group, place, item);
    }
}

static void set_named(dap *d, dap_request *r, const char *member, const char *name, uint32_t group, setter *how)
{
    const cJSON *item;
    cJSON *list = json_array(&r->doc, r->body, "breakpoints");
    size_t n = 0;
    drop_group(d, group);
    cJSON_ArrayForEach(item, dap_member(r->arguments, member))
    {
        const char *text = cJSON_IsString(item) ? item->valuestring : dap_text(item, name);
        if (n++ == MOST_OF_A_KIND)
            break;
        set(d, r, list, how, group, text ? text : "", item);
    }
}

void dap_set_functions(dap *d, dap_request *r)
{
    set_named(d, r, "breakpoints", "name", GROUP_FUNCTIONS, set_break);
}

void dap_set_data(dap *d, dap_request *r)
{
    set_named(d, r, "breakpoints", "dataId", GROUP_DATA, vm_debug_watch);
}

void dap_set_exceptions(dap *d, dap_request *r)
{
    const cJSON *item;
    cJSON *list;
    size_t n = 0;
    set_named(d, r, "filters", "filterId", GROUP_EXCEPTIONS, vm_debug_catch);
    list = cJSON_GetObjectItemCaseSensitive(r->body, "breakpoints");
    cJSON_ArrayForEach(item, dap_member(r->arguments, "filterOptions"))
    {
        const char *text = dap_text(item, "filterId");
        if (n++ == MOST_OF_A_KIND)
            break;
        set(d, r, list, vm_debug_catch, GROUP_EXCEPTIONS, text ? text : "", item);
    }
}

/* Elements of arrays can be watched; their expressions identify them. */
void dap_data_info(dap *d, dap_request *r)
{
    const char *name = dap_text(r->arguments, "name");
    int64_t ref = dap_integer(r->arguments, "variablesReference", 0);
    bc_text text;
    vm_debug_value v;
    vm_debug_error error;
    bc_text_init(&text, NULL);
    if (ref >= 1 && (size_t)ref <= d->ref_count && d->refs[ref - 1].kind == DAP_REF_VALUE)
        bc_text_puts(&text, d->refs[ref - 1].name);
    bc_text_puts(&text, name ? name : "");
    bool good = vm_debug_evaluate(d->s.d, bc_text_get(&text), &v, &error) && v.form == VM_DEBUG_DATA && v.array;
    if (good) {
        json_str(&r->doc, r->body, "dataId", bc_text_get(&text));
    } else {
        cJSON *null = cJSON_CreateNull();
        if (!null || !cJSON_AddItemToObject(r->body, "dataId", null)) {
            cJSON_Delete(null);
            r->doc.failed = true;
        }
    }
    json_text(&r->doc, r->body, "description", good ? bc_text_words(&text) : "only elements of arrays can be watched");
    bc_text_release(&text);
}

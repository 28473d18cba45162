/* Reading members of messages, and sending messages. */
#include "tools/tilevm/debug/dap.h"

#include <cjson/cJSON.h>

#include <stdarg.h>
#include <stdlib.h>

/* ---- members ---- */

void dap_fail(dap_request *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->error, sizeof r->error, format, args);
    va_end(args);
}

const cJSON *dap_member(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const char *dap_text(const cJSON *object, const char *name)
{
    const cJSON *item = dap_member(object, name);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

int64_t dap_integer(const cJSON *object, const char *name, int64_t missing)
{
    const cJSON *item = dap_member(object, name);
    if (!cJSON_IsNumber(item) || !(item->valuedouble > -9e15 && item->valuedouble < 9e15))
        return missing;
    return (int64_t)item->valuedouble;
}

bool dap_flag(const cJSON *object, const char *name, bool missing)
{
    const cJSON *item = dap_member(object, name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : missing;
}

/* ---- sending ---- */

void dap_send(dap *d, json_doc *doc)
{
    json_int(doc, doc->root, "seq", ++d->sequence);
    char *text = doc->failed ? NULL : cJSON_PrintUnformatted(doc->root);
    if (text)
        dap_write(&d->wire, text);
    else
        d->wire.failed = true;
    cJSON_free(text);
    cJSON_Delete(doc->root);
    *doc = (json_doc){0};
}

cJSON *dap_event(json_doc *doc, const char *name)
{
    *doc = (json_doc){0};
    cJSON *root = json_object(doc, NULL, NULL);
    json_text(doc, root, "type", "event");
    json_text(doc, root, "event", name);
    return json_object(doc, root, "body");
}

void dap_output(dap *d, const char *category, tv_str text)
{
    json_doc doc;
    cJSON *body = dap_event(&doc, "output");
    json_text(&doc, body, "category", category);
    json_str(&doc, body, "output", text);
    dap_send(d, &doc);
}

/* ---- threads ---- */

int64_t dap_thread_of(const dap *d, const uint32_t block[3])
{
    uint32_t grid[3];
    vm_debug_grid(d->s.d, grid);
    return 1 + (int64_t)block[0] + (int64_t)grid[0] * ((int64_t)block[1] + (int64_t)grid[1] * (int64_t)block[2]);
}

/* JSON through cJSON, with every failure remembered in the document. */
#include "tools/tilevm/cli/json.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"

static cJSON *add(json_doc *doc, cJSON *parent, const char *key, cJSON *item)
{
    bool added = false;
    if (item && !doc->failed) {
        if (!parent && !doc->root) {
            doc->root = item;
            added = true;
        } else if (parent) {
            added = key ? cJSON_AddItemToObject(parent, key, item) : cJSON_AddItemToArray(parent, item);
        }
    }
    if (added)
        return item;
    cJSON_Delete(item);
    doc->failed = true;
    return NULL;
}

cJSON *json_object(json_doc *doc, cJSON *parent, const char *key)
{
    return add(doc, parent, key, cJSON_CreateObject());
}

cJSON *json_array(json_doc *doc, cJSON *parent, const char *key)
{
    return add(doc, parent, key, cJSON_CreateArray());
}

void json_str(json_doc *doc, cJSON *parent, const char *key, tv_str value)
{
    bc_text clean;
    bc_text_init(&clean, NULL);
    bc_text_utf8(&clean, value);
    doc->failed |= clean.failed;
    add(doc, parent, key, cJSON_CreateString(clean.ptr ? clean.ptr : ""));
    bc_text_release(&clean);
}

void json_real(json_doc *doc, cJSON *parent, const char *key, double value)
{
    add(doc, parent, key, cJSON_CreateNumber(value));
}

void json_bool(json_doc *doc, cJSON *parent, const char *key, bool value)
{
    add(doc, parent, key, cJSON_CreateBool(value));
}

void json_drop(json_doc *doc)
{
    cJSON_Delete(doc->root);
    doc->root = NULL;
}

static bool finish(json_doc *doc, bool on_a_line, bc_text *out)
{
    char *text = doc->failed ? NULL : on_a_line ? cJSON_PrintUnformatted(doc->root) : cJSON_Print(doc->root);
    cJSON_Delete(doc->root);
    doc->root = NULL;
    if (!text)
        return false;
    bc_text_puts(out, text);
    bc_text_char(out, '\n');
    cJSON_free(text);
    return !out->failed;
}

bool json_finish_text(json_doc *doc, bc_text *out)
{
    return finish(doc, false, out);
}

bool json_finish_line(json_doc *doc, bc_text *out)
{
    return finish(doc, true, out);
}

bool json_finish(json_doc *doc, cli_out *out)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bool fine = json_finish_text(doc, &text);
    if (fine)
        cli_out_write(out, text.ptr, text.len);
    bc_text_release(&text);
    return fine;
}

/* JSON through cJSON, with every failure remembered in the document. */
#include "tools/tilevm/json.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at p, 0 when there is none. Surrogates and overlong forms are none. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
    unsigned char c = p[0];
    size_t len = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] >= 0xa0) || (c == 0xf0 && p[1] < 0x90)
        || (c == 0xf4 && p[1] >= 0x90))
        return 0;
    return len;
}

void json_clean_utf8(bc_text *out, tv_str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    for (size_t i = 0; i < s.len;) {
        size_t len = utf8_len(p + i, s.len - i);
        if (len == 0 || p[i] == 0) { /* cJSON strings end at a zero byte */
            bc_text_puts(out, "\xef\xbf\xbd");
            i++;
        } else {
            bc_text_bytes(out, p + i, len);
            i += len;
        }
    }
}

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
    json_clean_utf8(&clean, value);
    doc->failed |= clean.failed;
    add(doc, parent, key, cJSON_CreateString(clean.ptr ? clean.ptr : ""));
    bc_text_release(&clean);
}

void json_made(json_doc *doc, cJSON *parent, const char *key, bc_text *text)
{
    doc->failed |= text->failed;
    json_str(doc, parent, key, bc_text_get(text));
    bc_text_clear(text);
}

void json_text(json_doc *doc, cJSON *parent, const char *key, const char *value)
{
    json_str(doc, parent, key, bc_str(value));
}

void json_real(json_doc *doc, cJSON *parent, const char *key, double value)
{
    add(doc, parent, key, cJSON_CreateNumber(value));
}

void json_uint(json_doc *doc, cJSON *parent, const char *key, uint64_t value)
{
    json_real(doc, parent, key, (double)value);
}

void json_int(json_doc *doc, cJSON *parent, const char *key, int64_t value)
{
    const int64_t exact = (int64_t)1 << 53;
    if (value >= -exact && value <= exact) {
        json_real(doc, parent, key, (double)value);
    } else {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)value);
        json_text(doc, parent, key, text);
    }
}

void json_bool(json_doc *doc, cJSON *parent, const char *key, bool value)
{
    add(doc, parent, key, cJSON_CreateBool(value));
}

bool json_finish(json_doc *doc, cli_out *out)
{
    char *text = doc->failed ? NULL : cJSON_Print(doc->root);
    cJSON_Delete(doc->root);
    doc->root = NULL;
    if (!text)
        return false;
    cli_out_write(out, text, strlen(text));
    cli_out_write(out, "\n", 1);
    cJSON_free(text);
    return true;
}

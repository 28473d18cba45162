/* JSON documents, as tools/tilevm/cli/json.h has them, without cJSON: Debian has that library for the host only. The
   tree lies in the arena of its root, and is printed on one line. */
#include "tools/tilevm/cli/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/arena.h"
#include "bytecode/base/visible.h"

typedef enum kind { OBJECT, ARRAY, STRING, NUMBER, FALSE_VALUE, TRUE_VALUE } kind;

struct cJSON {
    kind kind;
    struct cJSON *next, *first, *last;
    tv_str key, text;
    double number;
    bc_arena *arena;
};

typedef struct root {
    cJSON item;
    bc_arena arena;
} root;

/* ---- building ---- */

static cJSON *make_root(json_doc *doc)
{
    root *r = calloc(1, sizeof *r);
    doc->failed |= !r;
    if (!r)
        return NULL;
    bc_arena_init(&r->arena, NULL, 0);
    r->item.arena = &r->arena;
    doc->root = &r->item;
    return doc->root;
}

static tv_str keep(json_doc *doc, bc_arena *arena, tv_str text)
{
    tv_str kept = bc_arena_dup(arena, text);
    doc->failed |= !kept.ptr;
    return kept;
}

static cJSON *add(json_doc *doc, cJSON *parent, const char *key, kind kind)
{
    if (doc->failed)
        return NULL;
    cJSON *item = parent ? bc_new(parent->arena, cJSON, 1) : doc->root ? NULL : make_root(doc);
    doc->failed |= !item;
    if (!item)
        return NULL;
    item->kind = kind;
    if (!parent)
        return item;
    item->arena = parent->arena;
    if (key)
        item->key = keep(doc, parent->arena, bc_str(key));
    if (parent->last)
        parent->last->next = item;
    else
        parent->first = item;
    parent->last = item;
    return item;
}

cJSON *json_object(json_doc *doc, cJSON *parent, const char *key)
{
    return add(doc, parent, key, OBJECT);
}

cJSON *json_array(json_doc *doc, cJSON *parent, const char *key)
{
    return add(doc, parent, key, ARRAY);
}

void json_str(json_doc *doc, cJSON *parent, const char *key, tv_str value)
{
    bc_text clean;
    bc_text_init(&clean, NULL);
    bc_text_utf8(&clean, value);
    doc->failed |= clean.failed;
    cJSON *item = add(doc, parent, key, STRING);
    if (item)
        item->text = keep(doc, item->arena, bc_text_get(&clean));
    bc_text_release(&clean);
}

void json_real(json_doc *doc, cJSON *parent, const char *key, double value)
{
    cJSON *item = add(doc, parent, key, NUMBER);
    if (item)
        item->number = value;
}

void json_bool(json_doc *doc, cJSON *parent, const char *key, bool value)
{
    add(doc, parent, key, value ? TRUE_VALUE : FALSE_VALUE);
}

/* ---- printing ---- */

/* The text is UTF-8. */
static void put_string(bc_text *out, tv_str text)
{
    bc_text_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20)
            bc_text_printf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            bc_text_printf(out, "\\%c", c);
        else
            bc_text_char(out, (char)c);
    }
    bc_text_char(out, '"');
}

/* As short as it can be read back; JSON has no infinities. */
static void put_number(bc_text *out, double number)
{
    char text[32];
    if (!isfinite(number)) {
        bc_text_puts(out, "null");
        return;
    }
    snprintf(text, sizeof text, "%.15g", number);
    if (strtod(text, NULL) != number)
        snprintf(text, sizeof text, "%.17g", number);
    bc_text_puts(out, text);
}

static void put_item(bc_text *out, const cJSON *item);

/* Documents are as deep as the code that makes them nests calls: five levels. */
static void put_members(bc_text *out, const cJSON *parent, const char *brackets)
{
    bc_text_char(out, brackets[0]);
    for (const cJSON *item = parent->first; item; item = item->next) {
        if (parent->kind == OBJECT) {
            put_string(out, item->key);
            bc_text_char(out, ':');
        }
        put_item(out, item);
        bc_text_puts(out, item->next ? "," : "");
    }
    bc_text_char(out, brackets[1]);
}

static void put_item(bc_text *out, const cJSON *item)
{
    switch (item->kind) {
    case OBJECT: put_members(out, item, "{}"); break;
    case ARRAY: put_members(out, item, "[]"); break;
    case STRING: put_string(out, item->text); break;
    case NUMBER: put_number(out, item->number); break;
    case FALSE_VALUE: bc_text_puts(out, "false"); break;
    case TRUE_VALUE: bc_text_puts(out, "true"); break;
    }
}

void json_drop(json_doc *doc)
{
    if (doc->root)
        bc_arena_release(doc->root->arena);
    free(doc->root);
    doc->root = NULL;
}

bool json_finish_line(json_doc *doc, bc_text *out)
{
    bool good = !doc->failed && doc->root;
    if (good) {
        put_item(out, doc->root);
        bc_text_char(out, '\n');
    }
    json_drop(doc);
    return good && !out->failed;
}

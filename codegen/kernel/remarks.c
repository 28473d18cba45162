/* Makes remarks; see the header. */
#include "codegen/kernel/remarks.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ARGS = 32 };

static const struct {
    const char *name, *category;
} remarks[] = {
#define REMARK(name, category, text) {#name, #category},
#include "codegen/kernel/remarks.def"
};

/* Splits "words {Key=value} words" in place: removes the braces and keys from the text, so that the message is left. */
static size_t split(bc_text *text, char keys[MAX_ARGS][32], tv_remark_arg args[MAX_ARGS])
{
    size_t count = 0;
    char *p = text->ptr, *end = text->ptr + text->len, *out = text->ptr;
    while (p < end && count < MAX_ARGS) {
        bool named = *p == '{';
        size_t key_len = 0;
        if (named) {
            char *equals = memchr(p, '=', (size_t)(end - p));
            key_len = equals ? (size_t)(equals - p - 1) : 0;
            snprintf(keys[count], sizeof keys[count], "%.*s", (int)key_len, p + 1);
            p = equals ? equals + 1 : end;
        }
        char *stop = memchr(p, named ? '}' : '{', (size_t)(end - p));
        stop = stop ? stop : end;
        size_t length = (size_t)(stop - p);
        memmove(out, p, length);
        args[count] = (tv_remark_arg){.key = {keys[count], key_len}, .value = {out, length}};
        count++;
        out += length;
        p = stop + (named && stop < end);
    }
    text->len = (size_t)(out - text->ptr);
    return count;
}

static void put_place(const bc_module *m, uint32_t loc, tv_remark *remark)
{
    bc_source chain[BC_MAX_INLINED];
    size_t count = bc_source_chain(m, loc, chain, BC_MAX_INLINED), own = bc_source_own(chain, count);
    if (!count)
        return;
    remark->file = chain[own].file;
    remark->line = chain[own].line;
    remark->column = chain[own].column;
    if (own == 0)
        return;
    remark->inlined_file = chain[0].file;
    remark->inlined_line = chain[0].line;
    remark->inlined_column = chain[0].column;
}

void cg_remark_at(const cg_remark_place *place, cg_remark_id id, tv_remark_kind kind, tv_remark_sink sink,
                  bc_text *text)
{
    char keys[MAX_ARGS][32];
    tv_remark_arg args[MAX_ARGS];
    tv_remark remark = {.kind = kind,
                        .category = remarks[id].category,
                        .name = remarks[id].name,
                        .function = place->function,
                        .op = place->op ? bc_str(place->op) : (tv_str){NULL, 0},
                        .offset = place->offset,
                        .args = args};
    if (text->failed)
        args[0] = (tv_remark_arg){.value = bc_str(bc_text_words(text))};
    remark.arg_count = text->failed ? 1 : text->ptr ? split(text, keys, args) : 0;
    remark.message = text->failed ? args[0].value : bc_text_get(text);
    put_place(place->m, place->loc, &remark);
    sink.report(sink.user, &remark);
}

void cg_remark(const cg_func *c, const ct_op *op, cg_remark_id id, tv_remark_kind kind, const char *format, ...)
{
    if (!cg_remarks_wanted(c))
        return;
    bc_text text;
    va_list list;
    bc_text_init(&text, &c->m->arena.allocator);
    va_start(list, format);
    bc_text_vprintf(&text, format, list);
    va_end(list);
    const cg_remark_place place = {.m = c->m,
                                   .function = c->f->name->s,
                                   .op = op ? ct_op_name(op) : NULL,
                                   .offset = op ? op->from->offset : TV_NO_OFFSET,
                                   .loc = op ? op->from->loc : c->f->loc};
    cg_remark_at(&place, id, kind, c->options->remarks, &text);
    bc_text_release(&text);
}

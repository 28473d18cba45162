/* Commands that show something. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/debug/answer.h"
#include "tools/tilevm/debug/commands.h"

/* ---- values ---- */

typedef enum how { HOW_SOME, HOW_ALL, HOW_STATS, HOW_PICTURE, HOW_AGAINST } how;

/* Splits off options such as " --stats"; the word after --against is its file. */
static bool take_how(tv_str *rest, how *out, tv_str *out_file, vm_debug_error *error)
{
    static const char *const words[] = {
        [HOW_ALL] = "--all", [HOW_STATS] = "--stats", [HOW_PICTURE] = "--picture", [HOW_AGAINST] = "--against"};
    *out = HOW_SOME;
    for (size_t i = 0; i + 2 < rest->len; i++) {
        tv_str tail = {rest->ptr + i, rest->len - i};
        if (tail.ptr[0] != '-' || tail.ptr[1] != '-' || tail.ptr[2] < 'a' || (i && rest->ptr[i - 1] != ' '))
            continue;
        rest->len = i;
        *rest = debug_trim(*rest);
        tv_str word = debug_word(&tail);
        for (how h = HOW_ALL; h <= HOW_AGAINST; h++)
            if (bc_str_is(word, words[h]))
                *out = h;
        *out_file = tail;
        if (*out == HOW_SOME)
            return debug_fail(error, "'%.*s' is none of --all, --stats, --picture, --against FILE", (int)word.len,
                              word.ptr);
        if ((*out == HOW_AGAINST) != (tail.len != 0))
            return debug_fail(error,
                              *out == HOW_AGAINST ? "--against needs a file, or a generator" : "'%.*s' is too much",
                              (int)tail.len, tail.ptr);
        return true;
    }
    return true;
}

static bool evaluate(debug_session *s, tv_str text, vm_debug_value *v, vm_debug_error *error)
{
    if (!text.len)
        return debug_fail(error, "which value? 'info locals' and 'info arrays' list those there are");
    return vm_debug_evaluate(s->d, text, v, error);
}

static void put_stats(debug_session *s, const vm_debug_value *v, bc_text *out)
{
    if (s->answer)
        debug_add_figures(s->answer, json_object(s->answer, s->answer->root, "figures"), v);
    debug_put_stats(s, v, out);
}

DEBUG_COMMAND(print)
{
    how h;
    bool same;
    tv_str file = {0};
    vm_debug_value v;
    char name[80];
    if (!take_how(&rest, &h, &file, error) || !evaluate(s, rest, &v, error))
        return false;
    switch (h) {
    case HOW_STATS: put_stats(s, &v, out); return true;
    case HOW_PICTURE: return debug_put_picture(s, &v, out, error);
    case HOW_AGAINST:
        snprintf(name, sizeof name, "%.*s", rest.len < 79 ? (int)rest.len : 79, rest.ptr);
        return debug_put_comparison(s, &v, name, file, &same, out, error);
    case HOW_SOME:
    case HOW_ALL: break;
    }
    debug_tell_value(s, &v, h == HOW_ALL);
    debug_put_value(s, &v, h == HOW_ALL, out);
    return true;
}

DEBUG_COMMAND(stats)
{
    vm_debug_value v;
    if (!evaluate(s, rest, &v, error))
        return false;
    put_stats(s, &v, out);
    return true;
}

DEBUG_COMMAND(picture)
{
    vm_debug_value v;
    return evaluate(s, rest, &v, error) && debug_put_picture(s, &v, out, error);
}

static void put_display(debug_session *s, const char *text, bc_text *out)
{
    vm_debug_value v;
    vm_debug_error error;
    bc_text_printf(out, "%s = ", text);
    if (vm_debug_evaluate(s->d, bc_str(text), &v, &error))
        debug_put_short(s, &v, out);
    else
        bc_text_printf(out, "(%s)", error.text);
    bc_text_char(out, '\n');
}

static void add_display(const debug_session *s, json_doc *doc, cJSON *list, const char *text)
{
    vm_debug_value v;
    vm_debug_error error;
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "expression", text);
    if (vm_debug_evaluate(s->d, bc_str(text), &v, &error))
        debug_add_value(s, doc, item, "value", &v, false);
    else
        json_text(doc, item, "error", error.text);
}

void debug_put_displays(debug_session *s, bc_text *out)
{
    cJSON *list = s->answer && s->displays[0] ? json_array(s->answer, s->answer->root, "displays") : NULL;
    for (size_t i = 0; i < DEBUG_DISPLAYS && s->displays[i]; i++) {
        put_display(s, s->displays[i], out);
        if (list)
            add_display(s, s->answer, list, s->displays[i]);
    }
}

DEBUG_COMMAND(display)
{
    if (!rest.len) {
        debug_put_displays(s, out);
        return true;
    }
    for (size_t i = 0; i < DEBUG_DISPLAYS; i++)
        if (!s->displays[i]) {
            s->displays[i] = malloc(rest.len + 1);
            if (!s->displays[i])
                return debug_fail(error, "out of memory");
            memcpy(s->displays[i], rest.ptr, rest.len);
            s->displays[i][rest.len] = 0;
            put_display(s, s->displays[i], out);
            if (s->answer)
                add_display(s, s->answer, json_array(s->answer, s->answer->root, "displays"), s->displays[i]);
            return true;
        }
    return debug_fail(error, "%d values are displayed; 'undisplay' ends that", DEBUG_DISPLAYS);
}

DEBUG_COMMAND(undisplay)
{
    (void)rest;
    (void)out;
    (void)error;
    for (size_t i = 0; i < DEBUG_DISPLAYS; i++) {
        free(s->displays[i]);
        s->displays[i] = NULL;
    }
    return true;
}

static void add_write(const debug_session *s, json_doc *doc, const vm_debug_write *w)
{
    cJSON *item = json_object(doc, doc->root, "write");
    debug_add_block(doc, item, w->block);
    json_int(doc, item, "time", (int64_t)w->time);
    json_int(doc, item, "element", (int64_t)w->element);
    debug_add_op(s, doc, item, w->position);
}

DEBUG_COMMAND(who)
{
    vm_debug_write w;
    if (!rest.len)
        return debug_fail(error, "which element? As in 'who c[3, 4]'");
    if (!vm_debug_who(s->d, rest, &w, error)) {
        if (error->text[0])
            return false;
        bc_text_puts(out, "nothing has written it since the run began\n");
        return true;
    }
    if (s->answer)
        add_write(s, s->answer, &w);
    bc_text_puts(out, "written by tile block ");
    debug_put_block(w.block, out);
    bc_text_printf(out, ", time %llu, with element %llu of the tile", (unsigned long long)w.time,
                   (unsigned long long)w.element);
    tv_str file;
    uint32_t line;
    if (vm_debug_line(s->d, w.position, &file, &line)) {
        bc_text_puts(out, ", at ");
        debug_put_line(s, w.position, out);
    }
    bc_text_char(out, '\n');
    debug_put_op(s, w.position, false, out);
    return true;
}

/* ---- places ---- */

DEBUG_COMMAND(list)
{
    uint64_t from;
    bool ops = rest.len && rest.len <= 3 && memcmp(rest.ptr, "ops", rest.len) == 0;
    if (ops) {
        debug_put_listing(s, UINT32_MAX, true, out);
        return true;
    }
    if (!debug_number(rest, 0, s->listed, &from, error))
        return false;
    s->listed = debug_put_listing(s, (uint32_t)(from < UINT32_MAX ? from : UINT32_MAX), false, out);
    return true;
}

DEBUG_COMMAND(where)
{
    (void)rest;
    (void)error;
    debug_put_where(s, out);
    return true;
}

DEBUG_COMMAND(info_command)
{
    return debug_info(s, rest, out, error);
}

/* Regions of a random kernel: what they carry in and out. */
#include <stdio.h>
#include <string.h>

#include "tests/random/draw.h"

void draw_carry(draw *d, draw_region *r, const char *name, const char *type)
{
    draw_carried *c = &r->list[r->count++];
    snprintf(c->before, sizeof c->before, "%s", name);
    draw_name(d, c->inside);
    draw_name(d, c->after);
    snprintf(c->type, sizeof c->type, "%s", type);
}

draw_region draw_region_of(draw *d, bool has_value)
{
    draw_region r = {.views = d->view_count,
                     .counters = d->counter_count,
                     .values = d->value_count,
                     .has_value = has_value};
    memcpy(r.outside, d->values, sizeof r.outside);
    draw_join(d);
    for (unsigned i = 0; i < draw_token_count(d); i++)
        draw_carry(d, &r, d->tokens[i].last, "token");
    if (has_value) {
        draw_value v = draw_any_value(d);
        char type[DRAW_TYPE];
        draw_tile(d, v.shape, type);
        draw_carry(d, &r, v.name, type);
        r.shape = v.shape;
    }
    return r;
}

void draw_words(const draw_region *r, draw_word which, bc_text *out)
{
    for (unsigned i = 0; i < r->count; i++) {
        const draw_carried *c = &r->list[i];
        bc_text_puts(out, i ? ", " : "");
        if (which == DRAW_ENTERS)
            bc_text_printf(out, "%s = %s", c->inside, c->before);
        else
            bc_text_puts(out, which == DRAW_BEFORE   ? c->before
                              : which == DRAW_INSIDE ? c->inside
                              : which == DRAW_AFTER  ? c->after
                                                     : c->type);
    }
}

void draw_head(draw *d, const draw_region *r, const char *counter, const char *range, const char *compare,
               const char *type)
{
    bc_text line;
    bc_text_init(&line, NULL);
    if (r->count) {
        draw_words(r, DRAW_AFTER, &line);
        bc_text_puts(&line, " = ");
    }
    bc_text_printf(&line, "for %s%s in (%s) : tile<%s>", compare, counter, range, type);
    if (r->count) {
        bc_text_puts(&line, " iter_values(");
        draw_words(r, DRAW_ENTERS, &line);
        bc_text_puts(&line, ") -> (");
        draw_words(r, DRAW_TYPES, &line);
        bc_text_char(&line, ')');
    }
    draw_line(d, "%s {", bc_text_words(&line));
    bc_text_release(&line);
}

void draw_enter(draw *d, const draw_region *r)
{
    for (unsigned i = 0; i < draw_token_count(d); i++)
        snprintf(d->tokens[i].last, DRAW_NAME, "%s", r->list[i].inside);
    if (r->has_value) {
        draw_value v = {.shape = r->shape};
        snprintf(v.name, sizeof v.name, "%s", r->list[draw_token_count(d)].inside);
        draw_keep(d, v);
    }
    d->range[0] = 0;
    draw_open(d);
}

static void forget(draw *d, const draw_region *r)
{
    d->view_count = r->views;
    d->counter_count = r->counters;
    d->value_count = r->values;
    memcpy(d->values, r->outside, sizeof r->outside);
    d->range[0] = 0;
}

void draw_leave(draw *d, const draw_region *r, const char *op, const char *last)
{
    bc_text line;
    unsigned tokens = draw_token_count(d);
    draw_value v = {0};
    draw_join(d);
    if (r->has_value)
        v = draw_reshape(d, d->values[d->value_count - 1], r->shape);
    bc_text_init(&line, NULL);
    for (unsigned i = 0; i < tokens; i++)
        bc_text_printf(&line, "%s%s", i ? ", " : "", d->tokens[i].last);
    if (r->has_value)
        bc_text_printf(&line, ", %s", v.name);
    if (last)
        bc_text_printf(&line, ", %s", last);
    bc_text_puts(&line, " : ");
    draw_words(r, DRAW_TYPES, &line);
    draw_line(d, "%s %s", op, bc_text_words(&line));
    bc_text_release(&line);
    forget(d, r);
}

void draw_behind(draw *d, const draw_region *r)
{
    for (unsigned i = 0; i < draw_token_count(d); i++) {
        snprintf(d->tokens[i].last, DRAW_NAME, "%s", r->list[i].after);
        d->tokens[i].load_count = 0;
    }
    if (r->has_value) {
        draw_value v = {.shape = r->shape};
        snprintf(v.name, sizeof v.name, "%s", r->list[draw_token_count(d)].after);
        draw_keep(d, v);
    }
}

draw_region draw_branch(draw *d, const char *condition, bool has_value)
{
    draw_region r = draw_region_of(d, has_value);
    bc_text line;
    bc_text_init(&line, NULL);
    draw_words(&r, DRAW_AFTER, &line);
    bc_text_printf(&line, " = if %s -> (", condition);
    draw_words(&r, DRAW_TYPES, &line);
    draw_line(d, "%s) {", bc_text_words(&line));
    bc_text_release(&line);
    for (unsigned i = 0; i < r.count; i++) /* nothing comes in by another name */
        memcpy(r.list[i].inside, r.list[i].before, DRAW_NAME);
    return r;
}

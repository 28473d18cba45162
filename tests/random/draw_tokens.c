/* The order of a random kernel's accesses: which token each takes, and who takes its own. */
#include <stdio.h>
#include <string.h>

#include "tests/random/draw.h"

unsigned draw_token_count(const draw *d)
{
    return d->order == DRAW_EACH ? d->array_count : 1;
}

draw_tokens *draw_tokens_of(draw *d, unsigned array)
{
    return &d->tokens[d->order == DRAW_EACH ? array : 0];
}

/* One token of the last store and of all loads since. */
static void join(draw *d, draw_tokens *t)
{
    char name[DRAW_NAME];
    if (!t->load_count)
        return;
    draw_name(d, name);
    bc_text_printf(d->out, "%*s%s = join_tokens %s", (int)(2 * d->indent), "", name, t->last);
    for (unsigned i = 0; i < t->load_count; i++)
        bc_text_printf(d->out, ", %s", t->loads[i]);
    bc_text_puts(d->out, " : token\n");
    snprintf(t->last, sizeof t->last, "%s", name);
    t->load_count = 0;
}

void draw_join(draw *d)
{
    for (unsigned i = 0; i < draw_token_count(d); i++)
        join(d, &d->tokens[i]);
}

void draw_before(draw *d, unsigned array, bool stores, char out[DRAW_WORDS])
{
    draw_tokens *t = draw_tokens_of(d, array);
    *out = 0;
    if (!stores && !d->arrays[array].stored && draw_chance(d, 2))
        return;
    if (stores)
        join(d, t);
    if (d->order != DRAW_LOOSE || !draw_chance(d, 6))
        snprintf(out, DRAW_WORDS, " token=%s", t->last);
}

void draw_after(draw *d, unsigned array, bool stores, const char *token)
{
    draw_tokens *t = draw_tokens_of(d, array);
    if (d->order == DRAW_LOOSE && draw_chance(d, 8))
        return;
    if (stores || d->order == DRAW_CHAIN) {
        snprintf(t->last, sizeof t->last, "%s", token);
    } else if (d->arrays[array].stored || draw_chance(d, 2)) {
        if (t->load_count == DRAW_LOADS)
            join(d, t);
        snprintf(t->loads[t->load_count++], DRAW_NAME, "%s", token);
    }
}

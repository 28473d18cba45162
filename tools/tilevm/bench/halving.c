/* Successive halving: all variants take turns for a few rounds, the slower half is dropped, and the remaining ones take
   twice as many samples, until a handful is measured to the end. A variant whose interval says that it may be the best
   is never dropped. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/bench/tune.h"

enum { FIRST_ROUNDS = 5, ENOUGH = 4, MOST_HALVINGS = 6 };

/* A subject, and the variant that it is. */
typedef struct racing {
    bench_bed *bed;
    tune_result *result;
    bench_subject *subjects; /* the first is the first variant, which is never dropped */
    size_t *places;          /* of the variants */
    size_t count, left;
} racing;

static tune_variant *variant_of(const racing *r, size_t i)
{
    return &r->result->space.variants[r->places[i]];
}

/* ---- who takes part ---- */

static void say(const tune_variant *v, const char *format, ...) TV_PRINTF(2, 3);

/* On standard error, before anything is timed. */
static void say(const tune_variant *v, const char *format, ...)
{
    bc_text text;
    va_list args;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, "tilevm: note: ");
    tune_variant_print(v, &text);
    bc_text_puts(&text, ": ");
    va_start(args, format);
    bc_text_vprintf(&text, format, args);
    va_end(args);
    bc_text_puts(&text, "\n");
    cli_show(stderr, bc_text_get(&text), false);
    bc_text_release(&text);
}

static void say_refused(const tune_result *result)
{
    enum { MOST = 10 };
    size_t said = 0;
    for (size_t i = 0; i < result->space.count && said < MOST; i++)
        if (result->space.variants[i].outcome == TUNE_REFUSED) {
            say(&result->space.variants[i], "not compiled: %s", result->space.variants[i].problem);
            said++;
        }
    if (said < result->refused)
        cli_print(stderr, "tilevm: note: %zu more are not compiled\n", result->refused - said);
}

/* A variant that the device rejects is no error: the ranking reports it. */
static bool open_one(racing *r, size_t at, io_error *error)
{
    tune_variant *v = &r->result->space.variants[at];
    bench_subject *s = &r->subjects[r->count];
    bc_text made;
    io_error inner = {{0}};
    bc_text_init(&made, NULL);
    bool good = tune_variant_bytes(r->result->job, v, r->bed->limits.sm, &made, &inner)
                && bench_subject_take(r->bed, v->name ? v->name : "variant", &made, v->grid, s, &inner);
    bc_text_release(&made);
    if (good) {
        v->spilled = s->local_bytes;
        if (v->spilled > 0)
            say(v, "spills %d bytes of a thread", v->spilled);
        else if (v->problem)
            say(v, "%s", v->problem);
        r->places[r->count++] = at;
        return true;
    }
    bench_subject_free(s);
    if (at == 0 || strcmp(inner.text, "out of memory") == 0)
        return io_fail(error, "%s", inner.text);
    say(v, "%s", inner.text);
    v->problem = bc_arena_dup(&r->result->job->arena, bc_str(inner.text)).ptr;
    return true;
}

static bool open_all(racing *r, io_error *error)
{
    const tune_result *result = r->result;
    say_refused(result);
    if (!open_one(r, 0, error))
        return false;
    for (size_t i = 0; i < result->ranked && i < result->options->top; i++)
        if (result->order[i] != 0 && !open_one(r, result->order[i], error))
            return false;
    r->left = r->count;
    return true;
}

/* ---- rounds ---- */

static void swap(racing *r, size_t a, size_t b)
{
    bench_subject subject = r->subjects[a];
    size_t place = r->places[a];
    r->subjects[a] = r->subjects[b];
    r->places[a] = r->places[b];
    r->subjects[b] = subject;
    r->places[b] = place;
}

/* Sorts all but the first by their medians. */
static void sort_by_time(racing *r)
{
    for (size_t i = 2; i < r->left; i++)
        for (size_t k = i; k > 1 && r->subjects[k].summary.median < r->subjects[k - 1].summary.median; k--)
            swap(r, k, k - 1);
}

static void drop_half(racing *r)
{
    sort_by_time(r);
    const bench_interval *best = &r->subjects[r->left > 1].summary.interval;
    size_t keep = 1 + r->left / 2;
    while (keep < r->left && r->subjects[keep].summary.interval.low <= best->high)
        keep++;
    r->left = keep;
}

static void note_times(const racing *r, unsigned round)
{
    for (size_t i = 0; i < r->left; i++) {
        tune_variant *v = variant_of(r, i);
        v->timed = true;
        v->rounds = round;
        v->summary = r->subjects[i].summary;
    }
}

static bool race(racing *r, io_error *error)
{
    bench_options o = r->result->options->bench;
    unsigned round = 0;
    bool good = true;
    r->bed->options = &o;
    for (o.repeat = FIRST_ROUNDS; good && r->left > ENOUGH && round < MOST_HALVINGS; o.repeat *= 2) {
        good = bench_measure(r->bed, r->subjects, r->left, error);
        note_times(r, ++round);
        drop_half(r);
    }
    o.repeat = r->result->options->bench.repeat;
    good = good && bench_measure(r->bed, r->subjects, r->left, error);
    note_times(r, round + 1);
    r->bed->options = &r->result->options->bench;
    return good;
}

/* ---- what came of it ---- */

static bool is_earlier(const tune_variant *a, const tune_variant *b)
{
    if (a->rounds != b->rounds)
        return a->rounds > b->rounds;
    return a->summary.median < b->summary.median;
}

/* Timed variants come first: by the round that they reached, then by time. */
static void sort_order(tune_result *result)
{
    size_t timed = 0;
    for (size_t i = 0; i < result->ranked; i++) {
        size_t at = result->order[i], k = timed;
        const tune_variant *v = &result->space.variants[at];
        if (!v->timed)
            continue;
        memmove(&result->order[timed + 1], &result->order[timed], (i - timed) * sizeof at);
        for (; k > 0 && is_earlier(v, &result->space.variants[result->order[k - 1]]); k--)
            result->order[k] = result->order[k - 1];
        result->order[k] = at;
        timed++;
    }
    result->timed = timed;
}

static bool conclude(racing *r, io_error *error)
{
    tune_result *result = r->result;
    const bench_subject *best = &r->subjects[0], *first = &r->subjects[0];
    size_t place = 0;
    for (size_t i = 1; i < r->left; i++)
        if (r->subjects[i].summary.median < best->summary.median) {
            best = &r->subjects[i];
            place = i;
        }
    result->best = variant_of(r, place);
    result->compared = place > 0;
    if (place > 0
        && !bench_compare(first->samples, first->count, best->samples, best->count, true, r->bed->options->seed,
                          &result->ratio))
        return io_fail(error, "out of memory");
    sort_order(result);
    return true;
}

bool tune_time(bench_bed *bed, tune_result *result, io_error *error)
{
    size_t most = (result->ranked < result->options->top ? result->ranked : result->options->top) + 1;
    racing r = {.bed = bed,
                .result = result,
                .subjects = calloc(most, sizeof *r.subjects),
                .places = calloc(most, sizeof *r.places)};
    bool good = (r.subjects && r.places) || io_fail(error, "out of memory");
    good = good && open_all(&r, error) && race(&r, error) && conclude(&r, error);
    result->bed = bed;
    for (size_t i = 0; r.subjects && i < most; i++)
        bench_subject_free(&r.subjects[i]);
    free(r.subjects);
    free(r.places);
    return good;
}

/* Warm-up, then rounds. In each round every subject gives one sample, in a new random order, so that what changes with
   time (clocks, temperature, other processes) affects all of them alike. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/tilevm/bench/bench.h"
#include "tools/tilevm/cli/progress.h"

enum {
    LEAST_ROUNDS = 10,
    MOST_ROUNDS = 4000,
    WHATEVER_ROUNDS = 3,     /* taken however long they take */
    LEAST_SAMPLED = 1000000, /* us of a subject: clocks change slowly, and samples that follow each other share one */
    WARM_UP_US = 300000,
    WINDOW_US = 100000, /* two in a row that agree end the warm-up */
    OTHERS = 10,        /* warm-up takes a tenth of that */
    LEAST_WARM_UP = 3,  /* samples: the first launch takes longer */
    MOST_WARM_UP = 4000,
    SAMPLE_US = 500, /* duration that a sample should have, so that the resolution of the clock does not matter */
    MOST_LAUNCHES = 256
};

typedef struct measuring {
    bench_bed *bed;
    bench_subject *subjects;
    size_t count;
    uint64_t start_ns;
    cli_progress bar;
} measuring;

static double seconds_since(uint64_t start_ns)
{
    return (double)(cli_clock_ns() - start_ns) * 1e-9;
}

/* A GPU that works all the time may reach its power limit, where its clocks go down and up every second. It rests as
   long as it has worked. */
static bool sample(measuring *m, bench_subject *s, double *out_us, io_error *error)
{
    if (!bench_bed_sample(m->bed, s, out_us, error))
        return false;
    double seconds = *out_us * s->launches * 1e-6, whole = floor(seconds);
    if (m->bed->on_gpu)
        nanosleep(&(struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)}, NULL);
    return true;
}

/* ---- warm-up ---- */

/* A sample of a short kernel consists of several launches, unless caches or arrays are reset before each. */
static unsigned choose_launches(const bench_options *o, double us)
{
    double wanted = us > 0 ? ceil(SAMPLE_US / us) : MOST_LAUNCHES;
    return o->cold || o->restore || wanted < 1 ? 1 : wanted > MOST_LAUNCHES ? MOST_LAUNCHES : (unsigned)wanted;
}

/* Whether samples still become longer or shorter: the mean of a window beside that of the one before. */
typedef struct drift {
    double us, samples, before; /* of this window; the mean of the one before, or 0 */
    bool steady;
} drift;

static void add_to_drift(drift *d, double us, unsigned launches)
{
    static const double little = 0.002;
    d->us += us * launches;
    d->samples += launches;
    if (d->us < WINDOW_US)
        return;
    double mean = d->us / d->samples;
    *d = (drift){.before = mean, .steady = fabs(mean - d->before) <= little * mean};
}

/* Runs a subject until everything is loaded and cached, for at most a quarter of the time. On a GPU, the first
   subject also runs until clocks have risen, or fallen under the load. */
static bool warm_up(measuring *m, bench_subject *s, io_error *error)
{
    double wanted = s == m->subjects ? WARM_UP_US : WARM_UP_US / OTHERS;
    const bench_options *o = m->bed->options;
    double us = 0, least = 0, all = 0;
    drift d = {.steady = s != m->subjects || !m->bed->on_gpu};
    uint64_t start = cli_clock_ns();
    s->launches = 1;
    for (unsigned i = 0; i < LEAST_WARM_UP || (i < MOST_WARM_UP && (all < wanted || !d.steady)); i++) {
        if (!sample(m, s, &us, error))
            return false;
        all += us * s->launches;
        if (s == m->subjects && m->bed->on_gpu)
            add_to_drift(&d, us, s->launches);
        least = i == 0 || us < least ? us : least; /* other programs make single launches longer */
        s->launches = choose_launches(o, least);
        if (i + 1 >= LEAST_WARM_UP && seconds_since(start) * 4 * (double)m->count > o->seconds)
            break;
    }
    return true;
}

/* ---- rounds ---- */

static bool take_sample(measuring *m, bench_subject *s, io_error *error)
{
    double us;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 64;
        double *larger = realloc(s->samples, capacity * sizeof *larger);
        if (!larger)
            return io_fail(error, "out of memory");
        s->samples = larger;
        s->capacity = capacity;
    }
    if (!sample(m, s, &us, error))
        return false;
    s->samples[s->count++] = us;
    return true;
}

static bool summarize(bench_subject *s, io_error *error)
{
    double *sorted = malloc(s->count * sizeof *sorted);
    if (!sorted)
        return io_fail(error, "out of memory");
    memcpy(sorted, s->samples, s->count * sizeof *sorted);
    s->summary = bench_summarize(sorted, s->count);
    free(sorted);
    return true;
}

/* Summarizes all. out_enough: no subject needs another sample. */
static bool look_back(measuring *m, size_t rounds, bool *out_enough, io_error *error)
{
    const bench_options *o = m->bed->options;
    bool precise = true;
    for (size_t i = 0; i < m->count; i++) {
        const bench_subject *s = &m->subjects[i];
        if (!summarize(&m->subjects[i], error))
            return false;
        precise = precise && bench_spread(&s->summary) <= o->precision
                  && s->summary.median * s->launches * (double)s->count >= LEAST_SAMPLED;
    }
    bool late = seconds_since(m->start_ns) >= o->seconds;
    *out_enough = o->repeat ? rounds >= o->repeat
                            : (rounds >= LEAST_ROUNDS && precise) || (rounds >= WHATEVER_ROUNDS && late)
                                  || rounds >= MOST_ROUNDS;
    return true;
}

/* Summarizes after every round at first; later, when one more sample changes little, less often. */
static bool is_time_to_look(const bench_options *o, size_t rounds)
{
    enum { EVERY = 10, MANY = 50 };
    size_t every = rounds < MANY ? 1 : rounds < EVERY * MANY ? EVERY : EVERY * EVERY;
    return o->repeat ? rounds == o->repeat : rounds % every == 0;
}

static void shuffle(bench_random *random, size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = bench_draw(random, (uint32_t)i), other = order[k];
        order[k] = order[i - 1];
        order[i - 1] = other;
    }
}

static bool take_rounds(measuring *m, size_t *order, io_error *error)
{
    const bench_options *o = m->bed->options;
    bench_random random = {o->seed};
    bool enough = false;
    for (size_t i = 0; i < m->count; i++)
        order[i] = i;
    m->start_ns = cli_clock_ns();
    cli_progress_start(&m->bar, "rounds", o->repeat ? o->repeat : MOST_ROUNDS);
    for (size_t rounds = 0; !enough; cli_progress_update(&m->bar, rounds)) {
        shuffle(&random, order, m->count);
        for (size_t i = 0; i < m->count; i++)
            if (!take_sample(m, &m->subjects[order[i]], error))
                return false;
        rounds++;
        if (is_time_to_look(o, rounds) && !look_back(m, rounds, &enough, error))
            return false;
    }
    return true;
}

bool bench_measure(bench_bed *bed, bench_subject *subjects, size_t count, io_error *error)
{
    measuring m = {.bed = bed, .subjects = subjects, .count = count};
    size_t *order = calloc(count, sizeof *order);
    bool good = order || io_fail(error, "out of memory");
    for (size_t i = 0; good && i < count; i++)
        good = subjects[i].count || warm_up(&m, &subjects[i], error);
    good = good && take_rounds(&m, order, error);
    cli_progress_clear(&m.bar);
    free(order);
    return good;
}

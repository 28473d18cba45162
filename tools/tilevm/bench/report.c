/* Results as text for people. */
#include <math.h>

#include "tools/tilevm/bench/bench.h"

/* ---- numbers ---- */

typedef struct scale {
    double least;
    const char *unit;
} scale;

/* Prints three or four significant digits. */
static void put_digits(bc_text *out, double x)
{
    bc_text_printf(out, "%.*f", x >= 1000 ? 0 : x >= 100 ? 1 : x >= 10 ? 2 : 3, x);
}

static void put_scaled(bc_text *out, double x, const scale *scales, size_t count)
{
    size_t i = 0;
    while (i + 1 < count && x < scales[i].least)
        i++;
    put_digits(out, x / scales[i].least);
    bc_text_printf(out, " %s", scales[i].unit);
}

static void put_time(bc_text *out, double us)
{
    static const scale scales[] = {{1e6, "s"}, {1e3, "ms"}, {1, "us"}};
    put_scaled(out, us, scales, TV_COUNT(scales));
}

static void put_bytes(bc_text *out, double x)
{
    static const scale scales[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
    put_scaled(out, x, scales, TV_COUNT(scales));
}

static void put_operations(bc_text *out, double x, bool integers)
{
    static const scale floats[] = {{1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}, {1, "FLOP"}};
    static const scale others[] = {{1e12, "TOP"}, {1e9, "GOP"}, {1e6, "MOP"}, {1e3, "kOP"}, {1, "OP"}};
    put_scaled(out, x, integers ? others : floats, TV_COUNT(floats));
}

static void put_percent(bc_text *out, double share)
{
    if (share > 0 && share < 0.0005)
        bc_text_puts(out, "less than 0.1 %");
    else
        bc_text_printf(out, "%.*f %%", share < 0.1 ? 1 : 0, share * 100);
}

/* ---- one subject ---- */

static void put_times(bc_text *out, const bench_subject *s)
{
    const bench_summary *m = &s->summary;
    bc_text_puts(out, "  time        ");
    put_time(out, m->median);
    bc_text_printf(out, ", median of %zu samples", m->count);
    if (s->launches > 1)
        bc_text_printf(out, " of %u launches", s->launches);
    bc_text_puts(out, "; 95 % interval ");
    put_time(out, m->interval.low);
    bc_text_puts(out, " to ");
    put_time(out, m->interval.high);
    bc_text_puts(out, " (+-");
    put_percent(out, bench_spread(m));
    bc_text_puts(out, ")\n  spread      min ");
    const double values[] = {m->min, m->p5, m->p25, m->p75, m->p95, m->max};
    static const char *const names[] = {"", ", 5 % ", ", 25 % ", ", 75 % ", ", 95 % ", ", max "};
    for (size_t i = 0; i < TV_COUNT(values); i++) {
        bc_text_puts(out, names[i]);
        put_time(out, values[i]);
    }
    bc_text_puts(out, "\n");
}

static void put_registers(bc_text *out, const bench_subject *s)
{
    if (s->registers < 0)
        return;
    bc_text_printf(out, "  registers   %d of a thread", s->registers);
    if (s->local_bytes > 0)
        bc_text_printf(out, ", and %d bytes of local memory: it spills", s->local_bytes);
    bc_text_puts(out, "\n");
}

/* ---- work and limits ---- */

static void put_part(bc_text *out, const bench_part *part)
{
    static const char *const kinds[] = {"products", "arithmetic", ""};
    bool bytes = part->kind == BENCH_MEMORY, integers = !bytes && part->name[0] == 'i';
    bc_text_puts(out, "  ");
    bc_text_printf(out, "%-12s", part->kind == BENCH_MEMORY ? "memory" : part->name);
    if (bytes) {
        put_bytes(out, part->amount);
        bc_text_puts(out, " at least, ");
        put_bytes(out, part->rate);
    } else {
        put_operations(out, part->amount, integers);
        bc_text_printf(out, " of %s, ", kinds[part->kind]);
        put_operations(out, part->rate, integers);
    }
    bc_text_puts(out, "/s");
    if (part->limit > 0) {
        bc_text_puts(out, ": ");
        put_percent(out, bench_part_share(part));
        bc_text_puts(out, " of ");
        if (bytes)
            put_bytes(out, part->limit);
        else
            put_operations(out, part->limit, integers);
        bc_text_puts(out, "/s");
    }
    bc_text_puts(out, "\n");
}

static void put_doubts(bc_text *out, const bench_result *r)
{
    const bench_work *w = &r->work;
    tv_str file;
    uint32_t line, column;
    const bc_op *op = w->unknown ? w->unknown : w->at_most;
    if (w->sampled)
        bc_text_puts(out, "  counted     in 256 tile blocks, as in all of them\n");
    if (!op)
        return;
    bc_text_printf(out, "  counted     %s: ", w->unknown ? "at least" : "at most");
    bc_text_printf(out, w->unknown ? "how often '%s' runs is not known" : "whether '%s' is taken is not known",
                   bc_info(op)->name);
    if (bc_source_place(r->bed->job->module, op->loc, &file, &line, &column))
        bc_text_printf(out, " (%.*s:%u)", (int)file.len, file.ptr, line);
    bc_text_puts(out, "\n");
}

/* The nearest limit, if the kernel comes near any. */
static void put_bound(bc_text *out, const bench_part *part)
{
    static const char *const kinds[] = {" products", " arithmetic", ""};
    static const double bound = 0.6, near = 0.1;
    double share = bench_part_share(part);
    bc_text_printf(out, "  bound by    %s%s%s", share < near ? "none of these limits; the nearest is " : "", part->name,
                   kinds[part->kind]);
    bc_text_puts(out, share < near || share >= bound ? "\n" : " the most, and by what it waits for\n");
}

static void put_work(bc_text *out, const bench_result *r)
{
    bench_part parts[BENCH_MOST_PARTS];
    const bench_part *bound = NULL;
    size_t count = bench_parts(&r->work, &r->bed->limits, r->subjects[0].summary.median, parts);
    for (size_t i = 0; i < count; i++) {
        put_part(out, &parts[i]);
        bound = parts[i].binds ? &parts[i] : bound;
    }
    bc_text_puts(out, "  accessed    ");
    put_bytes(out, r->work.accessed);
    bc_text_puts(out, " by loads and stores\n");
    put_doubts(out, r);
    if (bound)
        put_bound(out, bound);
}

static void put_head(bc_text *out, const bench_result *r)
{
    const bench_bed *bed = r->bed;
    const bench_limits *l = &bed->limits;
    bc_text_printf(out, "%s: %ux%ux%u tile blocks on %s, caches %s\n", cli_shown_path(r->subjects[0].name),
                   r->subjects[0].grid[0], r->subjects[0].grid[1], r->subjects[0].grid[2], bed->where,
                   bed->options->cold ? "flushed before each sample" : "warm");
    if (bed->not_there[0])
        bc_text_printf(out, "  not a GPU   %s\n", bed->not_there);
    if (!bed->on_gpu)
        return;
    bc_text_puts(out, "  clocks      ");
    if (l->clock_hz > 0)
        bc_text_printf(out, "multiprocessors up to %.0f MHz, ", l->clock_hz * 1e-6);
    else
        bc_text_puts(out, "multiprocessors: the driver does not tell, ");
    if (l->memory_hz > 0)
        bc_text_printf(out, "memory %.0f MHz", l->memory_hz * 1e-6);
    else
        bc_text_puts(out, "memory: the driver does not tell");
    bc_text_puts(out, "; what they were during the run is not known\n");
}

/* ---- several ---- */

/* "1.052 times as long (95 % interval 1.048 to 1.057): slower" */
static void put_ratio(bc_text *out, const bench_ratio *ratio, const char *verdict)
{
    bc_text_printf(out, "%.3f times as long (95 %% interval %.3f to %.3f): %s", ratio->ratio, ratio->interval.low,
                   ratio->interval.high, verdict);
}

static void put_others(bc_text *out, const bench_result *r)
{
    for (size_t i = 1; i < r->count; i++) {
        const bench_interval *interval = &r->ratios[i].interval;
        bc_text_printf(out, "%s\n", cli_shown_path(r->subjects[i].name));
        put_times(out, &r->subjects[i]);
        put_registers(out, &r->subjects[i]);
        bc_text_puts(out, "  compared    ");
        put_ratio(out, &r->ratios[i],
                  interval->low > 1    ? "slower"
                  : interval->high < 1 ? "faster"
                                       : "no difference that the samples show");
        bc_text_puts(out, "\n");
    }
}

static void put_changes(bc_text *out, const bench_result *r)
{
    for (size_t i = 0; r->saved && i < r->count; i++) {
        const bench_change *change = &r->changes[i];
        bc_text_printf(out, "%s against %s: ", cli_shown_path(r->subjects[i].name), r->saved->path);
        if (change->compared)
            put_ratio(out, &change->ratio, change->slower ? "SLOWER" : change->faster ? "faster" : "as before");
        else
            bc_text_puts(out, "not in there");
        bc_text_puts(out, "\n");
    }
}

bool bench_report_text(const bench_result *r, bc_text *out)
{
    put_head(out, r);
    put_times(out, &r->subjects[0]);
    put_registers(out, &r->subjects[0]);
    put_work(out, r);
    if (r->printed)
        bc_text_printf(out, "  printed     %s\n", r->printed);
    put_others(out, r);
    put_changes(out, r);
    return !out->failed;
}

/* Results as JSON and CSV. */
#include <string.h>

#include "tools/tilevm/bench/bench.h"
#include "tools/tilevm/cli/json.h"

static void add_interval(json_doc *doc, cJSON *parent, const char *key, const bench_interval *interval)
{
    cJSON *list = json_array(doc, parent, key);
    json_real(doc, list, NULL, interval->low);
    json_real(doc, list, NULL, interval->high);
}

static void add_summary(json_doc *doc, cJSON *parent, const bench_summary *s)
{
    const struct {
        const char *key;
        double value;
    } rows[] = {{"median_us", s->median}, {"min_us", s->min},   {"p5_us", s->p5},
                {"p25_us", s->p25},       {"p75_us", s->p75},   {"p95_us", s->p95},
                {"max_us", s->max},       {"mean_us", s->mean}, {"deviation_us", s->deviation}};
    json_uint(doc, parent, "samples", s->count);
    for (size_t i = 0; i < TV_COUNT(rows); i++)
        json_real(doc, parent, rows[i].key, rows[i].value);
    add_interval(doc, parent, "interval_us", &s->interval);
}

static void add_ratio(json_doc *doc, cJSON *parent, const bench_ratio *ratio)
{
    json_real(doc, parent, "ratio", ratio->ratio);
    add_interval(doc, parent, "interval", &ratio->interval);
}

static void add_change(json_doc *doc, cJSON *parent, const bench_change *change)
{
    cJSON *item = json_object(doc, parent, "against");
    json_bool(doc, item, "compared", change->compared);
    if (!change->compared)
        return;
    add_ratio(doc, item, &change->ratio);
    json_bool(doc, item, "slower", change->slower);
    json_bool(doc, item, "faster", change->faster);
}

static void add_subject(json_doc *doc, cJSON *list, const bench_result *r, size_t i)
{
    const bench_subject *s = &r->subjects[i];
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "name", s->name);
    json_text(doc, item, "kernel", s->symbol);
    cJSON *grid = json_array(doc, item, "grid");
    for (size_t d = 0; d < TV_COUNT(s->grid); d++)
        json_uint(doc, grid, NULL, s->grid[d]);
    if (s->registers >= 0)
        json_uint(doc, item, "registers", (uint64_t)s->registers);
    if (s->local_bytes >= 0)
        json_uint(doc, item, "local_bytes", (uint64_t)s->local_bytes);
    json_uint(doc, item, "launches", s->launches);
    add_summary(doc, item, &s->summary);
    if (i > 0)
        add_ratio(doc, json_object(doc, item, "compared"), &r->ratios[i]);
    if (r->saved)
        add_change(doc, item, &r->changes[i]);
    cJSON *samples = json_array(doc, item, "samples_us");
    for (size_t k = 0; k < s->count; k++)
        json_real(doc, samples, NULL, s->samples[k]);
}

static void add_work(json_doc *doc, cJSON *root, const bench_result *r)
{
    static const char *const kinds[] = {"products", "arithmetic", "memory"};
    bench_part parts[BENCH_MOST_PARTS];
    size_t count = bench_parts(&r->work, &r->bed->limits, r->subjects[0].summary.median, parts);
    cJSON *work = json_object(doc, root, "work");
    json_real(doc, work, "flops", bench_work_flops(&r->work));
    json_real(doc, work, "bytes_accessed", r->work.accessed);
    json_real(doc, work, "bytes_read", r->work.read);
    json_real(doc, work, "bytes_written", r->work.written);
    json_text(doc, work, "counted", r->work.unknown ? "at least" : r->work.at_most ? "at most" : "exactly");
    json_bool(doc, work, "sampled", r->work.sampled);
    cJSON *list = json_array(doc, root, "limits");
    for (size_t i = 0; i < count; i++) {
        cJSON *item = json_object(doc, list, NULL);
        json_text(doc, item, "kind", kinds[parts[i].kind]);
        json_text(doc, item, "of", parts[i].name);
        json_real(doc, item, "amount", parts[i].amount);
        json_real(doc, item, "per_second", parts[i].rate);
        if (parts[i].limit > 0)
            json_real(doc, item, "limit_per_second", parts[i].limit);
        json_bool(doc, item, "binds", parts[i].binds);
    }
}

static void add_place(json_doc *doc, cJSON *root, const bench_bed *bed)
{
    const bench_limits *l = &bed->limits;
    json_text(doc, root, "device", bed->where);
    if (bed->not_there[0])
        json_text(doc, root, "not_on_a_gpu", bed->not_there);
    json_text(doc, root, "caches", bed->options->cold ? "flushed" : "warm");
    if (l->clock_hz > 0)
        json_real(doc, root, "clock_mhz_at_most", l->clock_hz * 1e-6);
    if (l->memory_hz > 0)
        json_real(doc, root, "memory_clock_mhz", l->memory_hz * 1e-6);
}

bool bench_report_json(const bench_result *r, bc_text *out)
{
    json_doc doc = {0};
    cJSON *root = json_document(&doc, "bench");
    add_place(&doc, root, r->bed);
    cJSON *list = json_array(&doc, root, "subjects");
    for (size_t i = 0; i < r->count; i++)
        add_subject(&doc, list, r, i);
    add_work(&doc, root, r);
    if (r->printed)
        json_text(&doc, root, "printed", r->printed);
    return json_finish_text(&doc, out);
}

/* A field of CSV: quoted where necessary, with inner quotation marks doubled. */
static void put_field(bc_text *out, const char *text)
{
    bool plain = !strpbrk(text, ",\"\r\n");
    bc_text_puts(out, plain ? "" : "\"");
    for (const char *p = text; *p; p++)
        bc_text_printf(out, *p == '"' ? "\"\"" : "%c", *p);
    bc_text_puts(out, plain ? "" : "\"");
}

bool bench_report_csv(const bench_result *r, bc_text *out)
{
    bc_text_puts(out, "name,device,caches,samples,median_us,low_us,high_us,min_us,p5_us,p25_us,p75_us,p95_us,max_us,"
                      "mean_us,deviation_us,ratio,ratio_low,ratio_high\n");
    for (size_t i = 0; i < r->count; i++) {
        const bench_summary *s = &r->subjects[i].summary;
        const bench_ratio same = {1, {1, 1}}, *ratio = i ? &r->ratios[i] : &same;
        put_field(out, r->subjects[i].name);
        bc_text_puts(out, ",");
        put_field(out, r->bed->where);
        bc_text_printf(out, ",%s,%zu", r->bed->options->cold ? "flushed" : "warm", s->count);
        const double values[] = {s->median,
                                 s->interval.low,
                                 s->interval.high,
                                 s->min,
                                 s->p5,
                                 s->p25,
                                 s->p75,
                                 s->p95,
                                 s->max,
                                 s->mean,
                                 s->deviation,
                                 ratio->ratio,
                                 ratio->interval.low,
                                 ratio->interval.high};
        for (size_t k = 0; k < TV_COUNT(values); k++)
            bc_text_printf(out, ",%.6g", values[k]);
        bc_text_puts(out, "\n");
    }
    return !out->failed;
}

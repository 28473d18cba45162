/* Rankings as text and JSON. */
#include "tools/tilevm/bench/tune.h"
#include "tools/tilevm/cli/json.h"

enum { SHOWN = 20 };

void tune_variant_print(const tune_variant *v, bc_text *out)
{
    size_t before = out->len;
    if (v->name)
        bc_text_puts(out, v->name);
    bc_text hints;
    bc_text_init(&hints, NULL);
    bench_hints_print(&v->hints, &hints);
    if (hints.len)
        bc_text_printf(out, "%s%s", out->len > before ? ", " : "", bc_text_words(&hints));
    out->failed |= hints.failed;
    bc_text_release(&hints);
    if (out->len == before)
        bc_text_puts(out, "as it is");
}

/* ---- text ---- */

static void put_us(bc_text *out, double us)
{
    if (us < 0)
        bc_text_printf(out, "%14s", "not known");
    else
        bc_text_printf(out, "%11.2f us", us);
}

static void put_variant(bc_text *out, const tune_result *r, const tune_variant *v)
{
    bc_text name;
    bc_text_init(&name, NULL);
    tune_variant_print(v, &name);
    out->failed |= name.failed;
    bc_text_printf(out, "%5zu ", v->rank);
    put_us(out, v->us);
    if (r->bed && v->timed) {
        put_us(out, v->summary.median);
        bc_text_printf(out, " +-%3.1f %%", bench_spread(&v->summary) * 100);
    } else if (r->bed) {
        bc_text_printf(out, "%14s %7s", "", "");
    }
    bc_text_printf(out, "  %-44s %2u x %u threads, %3u registers, %6u bytes", name.len ? bc_text_words(&name) : "",
                   v->blocks, v->threads, v->registers, v->shared);
    bc_text_release(&name);
    if (v->timed && v->spilled > 0)
        bc_text_printf(out, "; spills %d bytes", v->spilled);
    if (v->problem)
        bc_text_printf(out, "; %s", v->problem);
    bc_text_puts(out, "\n");
}

static void put_refused(bc_text *out, const tune_result *r, bool all)
{
    size_t shown = 0;
    for (size_t i = 0; i < r->space.count && (all || shown < SHOWN); i++) {
        const tune_variant *v = &r->space.variants[i];
        if (v->outcome != TUNE_REFUSED)
            continue;
        bc_text_puts(out, "not compiled: ");
        tune_variant_print(v, out);
        bc_text_printf(out, ": %s\n", v->problem ? v->problem : "");
        shown++;
    }
    if (shown < r->refused)
        bc_text_printf(out, "not compiled: %zu more\n", r->refused - shown);
}

/* The arguments of cuTile's replace_hints. */
static void put_best(bc_text *out, const tune_result *r)
{
    const tune_variant *v = r->best ? r->best : r->ranked ? &r->space.variants[r->order[0]] : NULL;
    bc_text hints;
    if (!v)
        return;
    bc_text_init(&hints, NULL);
    bench_hints_print(&v->hints, &hints);
    bc_text_puts(out, r->bed ? "best: " : "best by prediction: ");
    tune_variant_print(v, out);
    if (r->compared)
        bc_text_printf(out, "; the first variant takes %.3f times as long (95 %% interval %.3f to %.3f)",
                       r->ratio.ratio, r->ratio.interval.low, r->ratio.interval.high);
    bc_text_puts(out, "\n");
    if (hints.len)
        bc_text_printf(out, "for cuTile: kernel.replace_hints(%s)\n", bc_text_words(&hints));
    out->failed |= hints.failed;
    bc_text_release(&hints);
}

bool tune_report_text(const tune_result *r, bool all, bc_text *out)
{
    size_t shown = all || r->ranked <= SHOWN ? r->ranked : r->timed > SHOWN ? r->timed : SHOWN;
    bc_text_printf(out, "%s for %s: %zu variants, %zu of them different, %zu not compiled; ranked in %.2f s\n",
                   cli_shown_path(r->options->name), r->options->target, r->space.count, r->ranked, r->refused,
                   r->seconds);
    if (r->bed)
        bc_text_printf(out, "timed on %s, caches %s: %zu\n", r->bed->where,
                       r->bed->options->cold ? "flushed before each sample" : "warm", r->timed);
    bc_text_printf(out, " rank      predicted%s  variant\n", r->bed ? "         timed        " : "");
    for (size_t i = 0; i < shown; i++)
        put_variant(out, r, &r->space.variants[r->order[i]]);
    if (shown < r->ranked)
        bc_text_printf(out, "%zu more; --all lists them\n", r->ranked - shown);
    put_refused(out, r, all);
    put_best(out, r);
    return !out->failed;
}

/* ---- JSON ---- */

static void add_timing(json_doc *doc, cJSON *item, const tune_variant *v)
{
    if (!v->timed)
        return;
    json_uint(doc, item, "samples", v->summary.count);
    json_real(doc, item, "median_us", v->summary.median);
    cJSON *list = json_array(doc, item, "interval_us");
    json_real(doc, list, NULL, v->summary.interval.low);
    json_real(doc, list, NULL, v->summary.interval.high);
    json_uint(doc, item, "rounds", v->rounds);
    if (v->spilled >= 0)
        json_uint(doc, item, "local_bytes", (uint64_t)v->spilled);
}

static void add_figures(json_doc *doc, cJSON *item, const tune_variant *v)
{
    json_uint(doc, item, "rank", v->rank);
    if (v->us >= 0)
        json_real(doc, item, "predicted_us", v->us);
    if (v->us >= 0 && v->bound)
        json_text(doc, item, "bound", v->bound);
    json_uint(doc, item, "threads", v->threads);
    json_uint(doc, item, "blocks", v->blocks);
    json_uint(doc, item, "registers", v->registers);
    json_uint(doc, item, "shared_bytes", v->shared);
}

static void add_variant(json_doc *doc, cJSON *list, const tune_variant *v)
{
    static const char *const outcomes[] = {"ranked", "same", "refused", "no memory"};
    cJSON *item = json_object(doc, list, NULL);
    if (v->name)
        json_text(doc, item, "name", v->name);
    if (v->path)
        json_text(doc, item, "file", v->path);
    cJSON *hints = json_object(doc, item, "hints"), *grid = json_array(doc, item, "grid");
    for (size_t i = 0; i < HINTS_KINDS; i++)
        if (v->hints.values[i])
            json_int(doc, hints, hints_kind_at(i)->cutile, v->hints.values[i]);
    for (size_t d = 0; d < TV_COUNT(v->grid); d++)
        json_uint(doc, grid, NULL, v->grid[d]);
    json_text(doc, item, "outcome", outcomes[v->outcome]);
    if (v->outcome == TUNE_SAME)
        json_uint(doc, item, "same_as", v->same);
    if (v->problem)
        json_text(doc, item, "problem", v->problem);
    if (v->outcome == TUNE_RANKED)
        add_figures(doc, item, v);
    add_timing(doc, item, v);
}

bool tune_report_json(const tune_result *r, bc_text *out)
{
    json_doc doc = {0};
    cJSON *root = json_document(&doc, "tune");
    json_text(&doc, root, "file", cli_shown_path(r->options->name));
    json_text(&doc, root, "target", r->options->target);
    if (r->bed)
        json_text(&doc, root, "device", r->bed->where);
    json_real(&doc, root, "ranking_seconds", r->seconds);
    json_uint(&doc, root, "ranked", r->ranked);
    json_uint(&doc, root, "same", r->same);
    json_uint(&doc, root, "refused", r->refused);
    json_uint(&doc, root, "timed", r->timed);
    const tune_variant *best = r->best ? r->best : r->ranked ? &r->space.variants[r->order[0]] : NULL;
    if (best)
        json_uint(&doc, root, "best", (uint64_t)(best - r->space.variants));
    if (r->compared) {
        json_real(&doc, root, "ratio", r->ratio.ratio);
        cJSON *list = json_array(&doc, root, "interval");
        json_real(&doc, list, NULL, r->ratio.interval.low);
        json_real(&doc, list, NULL, r->ratio.interval.high);
    }
    cJSON *list = json_array(&doc, root, "variants");
    for (size_t i = 0; i < r->space.count; i++)
        add_variant(&doc, list, &r->space.variants[i]);
    return json_finish_text(&doc, out);
}

/* Coverage of kernels: adding it up and writing it. A line has run if one of its ops has. */
#include "tools/tilevm/report/coverage.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"

enum { MAX_OPS = 1 << 24, MAX_GAPS = 20 };

void coverage_init(coverage *all)
{
    *all = (coverage){0};
    bc_arena_init(&all->arena, NULL, 0);
}

void coverage_release(coverage *all)
{
    bc_arena_release(&all->arena);
}

coverage_kernel *coverage_kernel_of(coverage *all, tv_str path, tv_str entry, size_t op_count)
{
    for (size_t i = 0; i < all->count; i++)
        if (bc_str_eq(all->kernels[i].path, path) && bc_str_eq(all->kernels[i].entry, entry))
            return all->kernels[i].op_count == op_count ? &all->kernels[i] : NULL;
    coverage_kernel *kernels = bc_grow(&all->arena, all->kernels, all->count, &all->capacity, coverage_kernel);
    coverage_op *ops = bc_new(&all->arena, coverage_op, op_count);
    if (!kernels || !ops)
        return NULL;
    all->kernels = kernels;
    kernels[all->count] =
        (coverage_kernel){bc_arena_dup(&all->arena, path), bc_arena_dup(&all->arena, entry), ops, op_count};
    return all->arena.failed ? NULL : &kernels[all->count++];
}

/* ---- reading ---- */

static tv_str member_text(const cJSON *item, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(item, name);
    return cJSON_IsString(member) ? bc_str(member->valuestring) : bc_str("");
}

/* Up to 2^53: no real count is larger. */
static uint64_t member_number(const cJSON *item, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(item, name);
    bool fits = cJSON_IsNumber(member) && member->valuedouble >= 0 && member->valuedouble <= 9007199254740992.0;
    return fits ? (uint64_t)member->valuedouble : 0;
}

static bool add_kernel(coverage *all, const cJSON *item)
{
    const cJSON *ops = cJSON_GetObjectItemCaseSensitive(item, "ops"), *one;
    int count = cJSON_IsArray(ops) ? cJSON_GetArraySize(ops) : 0;
    if (count <= 0 || count > MAX_OPS)
        return false;
    coverage_kernel *kernel =
        coverage_kernel_of(all, member_text(item, "path"), member_text(item, "entry"), (size_t)count);
    coverage_op *op = kernel ? kernel->ops : NULL; /* the next free one */
    bool fresh = op && !op->name.len;
    if (!kernel)
        return false;
    cJSON_ArrayForEach(one, ops)
    {
        const cJSON *source = cJSON_GetObjectItemCaseSensitive(one, "source");
        op->runs += member_number(one, "runs");
        if (fresh) {
            op->name = bc_arena_dup(&all->arena, member_text(one, "op"));
            op->file = bc_arena_dup(&all->arena, member_text(source, "file"));
            op->line = (uint32_t)member_number(source, "line");
            op->column = (uint32_t)member_number(source, "column");
        }
        op++;
    }
    return !all->arena.failed;
}

bool coverage_add(coverage *all, const void *bytes, size_t size)
{
    cJSON *root = cJSON_ParseWithLength(bytes, size);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "kernels"), *item;
    bool fine = bc_str_is(member_text(root, "schema"), "tilevm-coverage/1") && cJSON_IsArray(list);
    cJSON_ArrayForEach(item, list) fine = fine && add_kernel(all, item);
    cJSON_Delete(root);
    return fine;
}

/* ---- lines ---- */

typedef struct line_runs {
    tv_str file;
    uint32_t line;
    uint64_t runs; /* the most of any of its ops */
} line_runs;

typedef struct line_list {
    line_runs *items; /* sorted; owned (free) */
    size_t count;
} line_list;

static int compare_files(tv_str a, tv_str b)
{
    size_t least = a.len < b.len ? a.len : b.len;
    int order = least ? memcmp(a.ptr, b.ptr, least) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_lines(const void *a, const void *b)
{
    const line_runs *x = a, *y = b;
    int order = compare_files(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* The lines of some kernels, each once. False: out of memory. */
static bool list_lines(const coverage_kernel *kernels, size_t count, line_list *out)
{
    size_t total = 0, kept = 0;
    for (size_t k = 0; k < count; k++)
        total += kernels[k].op_count;
    line_runs *items = malloc((total + 1) * sizeof *items);
    if (!items)
        return false;
    total = 0;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < kernels[k].op_count; i++)
            if (kernels[k].ops[i].line)
                items[total++] = (line_runs){kernels[k].ops[i].file, kernels[k].ops[i].line, kernels[k].ops[i].runs};
    qsort(items, total, sizeof *items, compare_lines);
    for (size_t i = 0; i < total; i++) {
        bool same = kept && compare_lines(&items[kept - 1], &items[i]) == 0;
        if (!same)
            items[kept++] = items[i];
        else if (items[i].runs > items[kept - 1].runs)
            items[kept - 1].runs = items[i].runs;
    }
    *out = (line_list){items, kept};
    return true;
}

/* ---- writing ---- */

void coverage_json(json_doc *doc, cJSON *parent, const coverage *all)
{
    cJSON *list = json_array(doc, parent, "kernels");
    for (size_t k = 0; k < all->count; k++) {
        const coverage_kernel *kernel = &all->kernels[k];
        cJSON *item = json_object(doc, list, NULL);
        json_str(doc, item, "path", kernel->path);
        json_function(doc, item, "entry", "entry_name", kernel->entry);
        cJSON *ops = json_array(doc, item, "ops");
        for (size_t i = 0; i < kernel->op_count; i++) {
            const coverage_op *op = &kernel->ops[i];
            cJSON *one = json_object(doc, ops, NULL);
            json_str(doc, one, "op", op->name);
            json_uint(doc, one, "runs", op->runs);
            if (!op->line)
                continue;
            cJSON *source = json_object(doc, one, "source");
            json_str(doc, source, "file", op->file);
            json_uint(doc, source, "line", op->line);
            json_uint(doc, source, "column", op->column);
        }
    }
}

/* Writes a tracefile of lcov, which lists the lines of each source file. False: out of memory. */
static bool put_lcov(const coverage *all, bc_text *out)
{
    line_list lines;
    if (!list_lines(all->kernels, all->count, &lines))
        return false;
    for (size_t i = 0, hit = 0, start = 0; i < lines.count; i++) {
        const line_runs *line = &lines.items[i];
        if (i == start) {
            bc_text_puts(out, "TN:tilevm\nSF:");
            bc_text_visible(out, line->file, "");
            bc_text_char(out, '\n');
            hit = 0;
        }
        bc_text_printf(out, "DA:%u,%llu\n", (unsigned)line->line, (unsigned long long)line->runs);
        hit += line->runs > 0;
        if (i + 1 < lines.count && bc_str_eq(lines.items[i + 1].file, line->file))
            continue;
        bc_text_printf(out, "LF:%zu\nLH:%zu\nend_of_record\n", i + 1 - start, hit);
        start = i + 1;
    }
    free(lines.items);
    return !out->failed;
}

int coverage_write(const coverage *all, const char *path)
{
    static const char ending[] = ".info";
    size_t len = strlen(path), n = sizeof ending - 1;
    bool lcov = len > n && strcmp(path + len - n, ending) == 0, fine;
    cli_out out;
    bc_text text;
    json_doc doc = {0};
    bc_text_init(&text, NULL);
    if (lcov) {
        fine = put_lcov(all, &text);
    } else {
        coverage_json(&doc, json_document(&doc, "coverage"), all);
        fine = json_finish_text(&doc, &text);
    }
    int code = !fine ? cli_error("out of memory") : CLI_ERROR;
    if (fine && cli_out_open(&out, path)) {
        cli_out_write(&out, text.ptr, text.len);
        code = cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
    }
    bc_text_release(&text);
    return code;
}

/* "; not run: x.py:12-14, 20". Lines with no op between them make one range. */
static void put_gaps(const line_list *lines, bc_text *out)
{
    size_t shown = 0;
    tv_str file = {"", 0};
    for (size_t i = 0; i < lines->count; i++) {
        const line_runs *first = &lines->items[i];
        if (first->runs)
            continue;
        size_t last = i;
        while (last + 1 < lines->count && !lines->items[last + 1].runs
               && bc_str_eq(lines->items[last + 1].file, first->file))
            last++;
        if (shown++ == MAX_GAPS) {
            bc_text_puts(out, ", ...");
            return;
        }
        bc_text_puts(out, shown == 1 ? "; not run: " : ", ");
        if (!bc_str_eq(file, first->file)) {
            bc_text_visible(out, first->file, "");
            bc_text_char(out, ':');
        }
        file = first->file;
        bc_text_printf(out, last > i ? "%u-%u" : "%u", (unsigned)first->line, (unsigned)lines->items[last].line);
        i = last;
    }
}

void coverage_text(const coverage *all, bc_text *out)
{
    for (size_t k = 0; k < all->count; k++) {
        const coverage_kernel *kernel = &all->kernels[k];
        line_list lines;
        size_t ops = 0, hit = 0;
        if (!list_lines(kernel, 1, &lines)) {
            out->failed = true;
            return;
        }
        for (size_t i = 0; i < kernel->op_count; i++)
            ops += kernel->ops[i].runs > 0;
        for (size_t i = 0; i < lines.count; i++)
            hit += lines.items[i].runs > 0;
        bc_text_puts(out, "coverage  ");
        bc_text_visible(out, kernel->path, "");
        bc_text_printf(out, ": %zu of %zu ops", ops, kernel->op_count);
        if (lines.count)
            bc_text_printf(out, ", %zu of %zu lines", hit, lines.count);
        put_gaps(&lines, out);
        bc_text_char(out, '\n');
        free(lines.items);
    }
}

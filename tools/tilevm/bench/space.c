/* Which variants there are:

     {"hints": {"occupancy": [null, 2, 4], "num_ctas": [1, 2]},
      "variants": [{"file": "k_64.tbc", "grid": [64, 32], "name": "TM=64"}, ...]}

   Every variant with every combination of hints; without variants, the kernel itself. null leaves a hint as it is.
   Hints may also be members of the outermost object. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/verify/hints.h"
#include "tools/tilevm/bench/tune.h"

enum { MAX_SIZE = 4 << 20, MAX_VALUES = 33, MAX_TEXT = 1000 };

/* Values of each hint; 0: left as it is. */
typedef struct axes {
    int64_t values[HINTS_KINDS][MAX_VALUES];
    size_t counts[HINTS_KINDS];
} axes;

typedef struct reader {
    const run_job *job;
    const char *path;
    bc_arena *arena;
    axes axes;
    tune_variant *files; /* without hints */
    size_t file_count;
    tune_space *out;
    io_error *error;
} reader;

/* ---- products ---- */

static size_t product_of(const axes *a)
{
    size_t product = 1;
    for (size_t i = 0; i < HINTS_KINDS; i++)
        product *= a->counts[i] ? a->counts[i] : 1; /* at most MAX_VALUES^3 */
    return product;
}

/* The n-th combination; the last hint changes fastest, and the first of all is the first of every hint. */
static bench_hints choose(const axes *a, size_t n)
{
    bench_hints hints = {{0}};
    for (size_t i = HINTS_KINDS; i-- > 0;) {
        size_t count = a->counts[i] ? a->counts[i] : 1;
        hints.values[i] = a->counts[i] ? a->values[i][n % count] : 0;
        n /= count;
    }
    return hints;
}

static bool multiply(reader *r)
{
    size_t each = product_of(&r->axes);
    if (r->file_count > TUNE_MOST_VARIANTS / each)
        return io_fail(r->error, "%zu times %zu variants are more than %d", r->file_count, each, TUNE_MOST_VARIANTS);
    r->out->count = r->file_count * each;
    r->out->variants = bc_new(r->arena, tune_variant, r->out->count);
    if (!r->out->variants)
        return io_fail(r->error, "out of memory");
    for (size_t i = 0; i < r->out->count; i++) {
        r->out->variants[i] = r->files[i / each];
        r->out->variants[i].hints = choose(&r->axes, i % each);
    }
    return true;
}

static tune_variant plain_variant(const run_job *job)
{
    tune_variant v = {.us = -1, .spilled = -1};
    memcpy(v.grid, job->options.grid, sizeof v.grid);
    return v;
}

/* ---- all hints ---- */

bool tune_space_of_hints(const run_job *job, unsigned sm, bc_arena *arena, tune_space *out, io_error *error)
{
    static const axes usual = {{{0, 1, 2, 3, 4, 6, 8}, {0, 1, 2, 4}, {0, 4, 8, 16}}, {7, 4, 4}};
    tune_variant own = plain_variant(job);
    *out = (tune_space){.arena = arena};
    reader r = {.job = job, .arena = arena, .axes = usual, .files = &own, .file_count = 1, .out = out, .error = error};
    for (size_t i = 0; i < HINTS_KINDS; i++)
        if (strcmp(hints_kind_at(i)->name, "num_cta_in_cga") == 0 && sm < 90)
            r.axes.counts[i] = 1; /* no clusters */
    return multiply(&r);
}

/* ---- files ---- */

static bool add_value(reader *r, size_t hint, const cJSON *item)
{
    const hints_kind *kind = hints_kind_at(hint);
    const char *range;
    size_t *count = &r->axes.counts[hint];
    bool number = cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble <= MAX_TEXT
                  && item->valuedouble == (int)item->valuedouble;
    int64_t value = number ? (int64_t)item->valuedouble : 0;
    if (!cJSON_IsNull(item) && !bc_entry_hint_allows(kind->name, value, &range)) {
        bc_entry_hint_allows(kind->name, 1, &range);
        return io_fail(r->error, "%s: values are %s, or null", kind->cutile, range);
    }
    for (size_t i = 0; i < *count; i++)
        if (r->axes.values[hint][i] == value)
            return io_fail(r->error, "%s: a value stands there twice", kind->cutile);
    r->axes.values[hint][(*count)++] = value; /* no more than there are different values */
    return true;
}

static bool read_hint(reader *r, const cJSON *list)
{
    const hints_kind *kind = hints_kind_find(bc_str(list->string));
    const cJSON *item;
    size_t hint = 0;
    if (!kind)
        return io_fail(r->error, "'%.60s' is no hint; there are occupancy, num_ctas and num_worker_warps",
                       list->string);
    while (hints_kind_at(hint) != kind)
        hint++;
    if (r->axes.counts[hint])
        return io_fail(r->error, "%s stands there twice", kind->cutile);
    if (!cJSON_IsArray(list) || !list->child)
        return io_fail(r->error, "%s: a list of values", kind->cutile);
    cJSON_ArrayForEach(item, list)
    {
        if (!add_value(r, hint, item))
            return false;
    }
    return true;
}

static bool read_hints(reader *r, const cJSON *object)
{
    const cJSON *item;
    if (!cJSON_IsObject(object))
        return io_fail(r->error, "hints: an object, {\"occupancy\": [1, 2], ...}");
    cJSON_ArrayForEach(item, object)
    {
        if (!read_hint(r, item))
            return false;
    }
    return true;
}

static bool is_text(const cJSON *item)
{
    return cJSON_IsString(item) && item->valuestring[0] && strlen(item->valuestring) <= MAX_TEXT;
}

/* Files are named relative to that of the space. */
static bool keep_path(reader *r, const char *name, const char **out)
{
    const char *slash = strrchr(r->path, '/');
    bc_text text;
    bc_text_init(&text, NULL);
    if (slash && name[0] != '/')
        bc_text_bytes(&text, r->path, (size_t)(slash - r->path) + 1);
    bc_text_puts(&text, name);
    *out = text.failed ? NULL : bc_arena_dup(r->arena, bc_text_get(&text)).ptr;
    bc_text_release(&text);
    return *out || io_fail(r->error, "out of memory");
}

static bool read_grid(reader *r, size_t at, const cJSON *list, uint32_t grid[3])
{
    static const double most = (1 << 24) - 1;
    const cJSON *item;
    unsigned count = 0;
    bool good = cJSON_IsArray(list) && cJSON_GetArraySize(list) >= 1 && cJSON_GetArraySize(list) <= 3;
    grid[0] = grid[1] = grid[2] = 1;
    for (item = good ? list->child : NULL; item; item = item->next) {
        good = good && cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble <= most
               && item->valuedouble == (uint32_t)item->valuedouble;
        grid[count++] = good ? (uint32_t)item->valuedouble : 1;
    }
    return good || io_fail(r->error, "variants[%zu].grid: one to three numbers from 1 on", at);
}

static bool read_variant(reader *r, size_t at, const cJSON *object, tune_variant *out)
{
    const cJSON *item, *name = NULL, *file = NULL;
    *out = plain_variant(r->job);
    if (!cJSON_IsObject(object))
        return io_fail(r->error, "variants[%zu]: an object with file, and grid and name if it has its own", at);
    cJSON_ArrayForEach(item, object)
    {
        if (strcmp(item->string, "file") == 0)
            file = item;
        else if (strcmp(item->string, "name") == 0)
            name = item;
        else if (strcmp(item->string, "grid") != 0)
            return io_fail(r->error, "variants[%zu]: '%.60s' is not known; there are file, grid and name", at,
                           item->string);
        else if (!read_grid(r, at, item, out->grid))
            return false;
    }
    if (!is_text(file) || (name && !is_text(name)))
        return io_fail(r->error, "variants[%zu]: file and name are texts", at);
    out->name = bc_arena_dup(r->arena, bc_str(name ? name->valuestring : file->valuestring)).ptr;
    return out->name ? keep_path(r, file->valuestring, &out->path) : io_fail(r->error, "out of memory");
}

static bool read_variants(reader *r, const cJSON *list)
{
    const cJSON *item;
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (count < 1 || count > TUNE_MOST_VARIANTS)
        return io_fail(r->error, "variants: a list of 1 to %d", TUNE_MOST_VARIANTS);
    r->files = bc_new(r->arena, tune_variant, (size_t)count);
    r->file_count = 0;
    if (!r->files)
        return io_fail(r->error, "out of memory");
    cJSON_ArrayForEach(item, list)
    {
        if (!read_variant(r, r->file_count, item, &r->files[r->file_count]))
            return false;
        r->file_count++;
    }
    return true;
}

static bool read_document(reader *r, const cJSON *root)
{
    const cJSON *item;
    if (!cJSON_IsObject(root) || !root->child)
        return io_fail(r->error, "an object with hints or variants, {\"hints\": {\"occupancy\": [1, 2]}}");
    cJSON_ArrayForEach(item, root)
    {
        bool good = strcmp(item->string, "hints") == 0      ? read_hints(r, item)
                    : strcmp(item->string, "variants") == 0 ? read_variants(r, item)
                                                            : read_hint(r, item);
        if (!good)
            return false;
    }
    return multiply(r);
}

static bool read_text(reader *r, tv_str text)
{
    cJSON *root = text.len <= MAX_SIZE ? cJSON_ParseWithLength(text.ptr, text.len) : NULL;
    bool good = root ? read_document(r, root)
                     : io_fail(r->error, text.len > MAX_SIZE ? "larger than %d MiB" : "not JSON", MAX_SIZE >> 20);
    cJSON_Delete(root);
    return good;
}

bool tune_space_read(const run_job *job, const char *path, bc_arena *arena, tune_space *out, io_error *error)
{
    cli_file file = {.bytes = NULL};
    io_error inner = {{0}};
    tune_variant own = plain_variant(job);
    bool is_text = path[0] == '{';
    *out = (tune_space){.arena = arena};
    reader r = {.job = job,
                .path = is_text ? "" : path,
                .arena = arena,
                .files = &own,
                .file_count = 1,
                .out = out,
                .error = &inner};
    char *problem = NULL;
    if (!is_text && !cli_read(path, &file, &problem)) {
        io_fail(error, "%s", problem ? problem : "out of memory");
        free(problem);
        return false;
    }
    bool good = read_text(&r, is_text ? bc_str(path) : (tv_str){(const char *)file.bytes, file.size});
    cli_file_free(&file);
    return good || io_fail(error, "%s: %.400s", is_text ? "--space" : path, inner.text);
}

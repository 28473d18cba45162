/* Documents of earlier runs, and comparing with them. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/bench/bench.h"

enum { MAX_SIZE = 64 << 20, MAX_SUBJECTS = 1000, MAX_SAMPLES = 100000, MAX_TEXT = 4096 };

static bool is_text(const cJSON *item)
{
    return cJSON_IsString(item) && strlen(item->valuestring) <= MAX_TEXT;
}

static bool read_samples(const cJSON *list, bc_arena *arena, bench_saved_subject *out, io_error *error)
{
    const cJSON *item;
    size_t used = 0;
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (count < 1 || count > MAX_SAMPLES)
        return io_fail(error, "samples_us: from 1 to %d numbers", MAX_SAMPLES);
    double *samples = bc_new(arena, double, (size_t)count);
    if (!samples)
        return io_fail(error, "out of memory");
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0) || item->valuedouble > 1e15)
            return io_fail(error, "samples_us: numbers above 0");
        samples[used++] = item->valuedouble;
    }
    out->samples = samples;
    out->count = used;
    return true;
}

static bool read_subject(const cJSON *item, bc_arena *arena, bench_saved_subject *out, io_error *error)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
    if (!is_text(name))
        return io_fail(error, "a subject has no name");
    out->name = bc_arena_dup(arena, bc_str(name->valuestring)).ptr;
    return out->name ? read_samples(cJSON_GetObjectItemCaseSensitive(item, "samples_us"), arena, out, error)
                     : io_fail(error, "out of memory");
}

static bool read_document(const cJSON *root, bc_arena *arena, bench_saved *out, io_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema"), *item,
                *where = cJSON_GetObjectItemCaseSensitive(root, "device"),
                *caches = cJSON_GetObjectItemCaseSensitive(root, "caches"),
                *list = cJSON_GetObjectItemCaseSensitive(root, "subjects");
    if (!is_text(schema) || strcmp(schema->valuestring, "tilevm-bench/1") != 0)
        return io_fail(error, "not a document of tilevm bench: its schema is not tilevm-bench/1");
    if (!is_text(where) || !is_text(caches) || !cJSON_IsArray(list) || cJSON_GetArraySize(list) > MAX_SUBJECTS)
        return io_fail(error, "it must have device, caches, and up to %d subjects", MAX_SUBJECTS);
    out->where = bc_arena_dup(arena, bc_str(where->valuestring)).ptr;
    out->cold = strcmp(caches->valuestring, "flushed") == 0;
    out->subjects = bc_new(arena, bench_saved_subject, (size_t)cJSON_GetArraySize(list));
    if (!out->where || !out->subjects)
        return io_fail(error, "out of memory");
    cJSON_ArrayForEach(item, list)
    {
        if (!read_subject(item, arena, &out->subjects[out->count++], error))
            return false;
    }
    return true;
}

bool bench_saved_read(const char *path, bc_arena *arena, bench_saved *out, io_error *error)
{
    cli_file file;
    char *problem = NULL;
    io_error inner = {{0}};
    *out = (bench_saved){.path = path};
    if (!cli_read(path, &file, &problem)) {
        io_fail(error, "%s", problem ? problem : "out of memory");
        free(problem);
        return false;
    }
    cJSON *root = file.size <= MAX_SIZE ? cJSON_ParseWithLength((const char *)file.bytes, file.size) : NULL;
    bool good = root ? read_document(root, arena, out, &inner)
                     : io_fail(&inner, file.size > MAX_SIZE ? "larger than %d MiB" : "not JSON", MAX_SIZE >> 20);
    cJSON_Delete(root);
    cli_file_free(&file);
    return good || io_fail(error, "%s: %.400s", path, inner.text);
}

/* ---- now and then ---- */

static const bench_saved_subject *find(const bench_saved *saved, const char *name)
{
    for (size_t i = 0; i < saved->count; i++)
        if (strcmp(saved->subjects[i].name, name) == 0)
            return &saved->subjects[i];
    return NULL;
}

bool bench_compare_saved(const bench_result *r, bench_change *changes, io_error *error)
{
    const bench_saved *saved = r->saved;
    if (strcmp(saved->where, r->bed->where) != 0 || saved->cold != r->bed->options->cold)
        return io_fail(error, "%s was measured on %.160s, caches %s, and this is %.160s, caches %s: not comparable",
                       saved->path, saved->where, saved->cold ? "flushed" : "warm", r->bed->where,
                       r->bed->options->cold ? "flushed" : "warm");
    for (size_t i = 0; i < r->count; i++) {
        const bench_subject *s = &r->subjects[i];
        const bench_saved_subject *then = find(saved, s->name);
        bench_change *change = &changes[i];
        *change = (bench_change){.compared = then != NULL};
        if (!then)
            continue;
        if (!bench_compare(s->samples, s->count, then->samples, then->count, false, r->bed->options->seed,
                           &change->ratio))
            return io_fail(error, "out of memory");
        change->slower = change->ratio.interval.low > 1 + r->threshold;
        change->faster = change->ratio.interval.high < 1 - r->threshold;
    }
    return true;
}

bool bench_is_slower(const bench_result *r)
{
    for (size_t i = 0; r->saved && i < r->count; i++)
        if (r->changes[i].slower)
            return true;
    return false;
}

/* Fleets:

     {"schema": "tilevm-fleet/1",
      "hosts": [{"name": "training", "gpu": "H100 SXM", "drivers": ["12.4", "580.65.06"]},
                {"name": "desks", "gpu": "RTX 4090", "drivers": "550.54.15"}]}

   The file may come from anybody: sizes and numbers of things are bounded, members that are not known are errors. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/fleet/fleet.h"

enum { MAX_SIZE = 1 << 20, MAX_HOSTS = 1000, MAX_DRIVERS = 50, MAX_COLUMNS = 2000, MAX_TEXT = 100 };

typedef struct reader {
    const char *path;
    bc_arena *arena;
    fleet *out;
    size_t capacity;
    bc_text *problem;
} reader;

static bool fail(reader *r, const char *format, ...) TV_PRINTF(2, 3);

static bool fail(reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bc_text_printf(r->problem, "%s: ", r->path);
    bc_text_vprintf(r->problem, format, args);
    va_end(args);
    return false;
}

static bool is_short_text(const cJSON *item)
{
    return cJSON_IsString(item) && item->valuestring[0] && strlen(item->valuestring) <= MAX_TEXT;
}

/* ---- one host ---- */

static bool add_column(reader *r, int at, const fleet_host *host, const cJSON *driver)
{
    fleet_host copy = *host;
    copy.cuda = is_short_text(driver) ? fleet_cuda_of_driver(driver->valuestring) : 0;
    if (!copy.cuda)
        return fail(r, "hosts[%d].drivers: write CUDA's version as \"12.4\" or the driver's as \"550.54.15\"", at);
    if (r->out->count == MAX_COLUMNS)
        return fail(r, "hosts[%d]: more than %d pairs of host and driver", at, MAX_COLUMNS);
    copy.driver = bc_arena_dup(r->arena, bc_str(driver->valuestring)).ptr;
    r->out->hosts = bc_grow(r->arena, r->out->hosts, r->out->count, &r->capacity, fleet_host);
    if (!r->out->hosts || !copy.driver)
        return fail(r, "out of memory");
    r->out->hosts[r->out->count++] = copy;
    return true;
}

static bool read_drivers(reader *r, int at, const fleet_host *host, const cJSON *drivers)
{
    const cJSON *one;
    if (!cJSON_IsArray(drivers))
        return add_column(r, at, host, drivers);
    if (!drivers->child || cJSON_GetArraySize(drivers) > MAX_DRIVERS)
        return fail(r, "hosts[%d].drivers: from 1 to %d of them", at, MAX_DRIVERS);
    cJSON_ArrayForEach(one, drivers)
    {
        if (!add_column(r, at, host, one))
            return false;
    }
    return true;
}

static bool read_gpu(reader *r, int at, const cJSON *item, fleet_gpu *out)
{
    if (!is_short_text(item))
        return fail(r, "hosts[%d].gpu: a name, as \"H100 SXM\" or \"sm_90\"", at);
    if (fleet_find_gpu(item->valuestring, out)) {
        out->name = bc_arena_dup(r->arena, bc_str(out->name)).ptr;
        return out->name || fail(r, "out of memory");
    }
    const char *close = cli_closest(item->valuestring, fleet_gpu_name, NULL);
    return close ? fail(r, "hosts[%d].gpu: '%s' is not known; did you mean '%s'?", at, item->valuestring, close)
                 : fail(r, "hosts[%d].gpu: '%s' is not known; 'sm_90' stands for any GPU of that capability", at,
                        item->valuestring);
}

static bool read_host(reader *r, int at, const cJSON *item)
{
    static const char *const names[] = {"name", "gpu", "drivers"};
    const cJSON *found[TV_COUNT(names)] = {NULL}, *member;
    if (!cJSON_IsObject(item))
        return fail(r, "hosts[%d]: an object with name, gpu and drivers", at);
    cJSON_ArrayForEach(member, item)
    {
        size_t i = 0;
        while (i < TV_COUNT(names) && strcmp(names[i], member->string) != 0)
            i++;
        if (i == TV_COUNT(names))
            return fail(r, "hosts[%d]: '%.60s' is not known; there are name, gpu and drivers", at, member->string);
        if (found[i])
            return fail(r, "hosts[%d].%s: it is there twice", at, names[i]);
        found[i] = member;
    }
    for (size_t i = 0; i < TV_COUNT(names); i++)
        if (!found[i])
            return fail(r, "hosts[%d]: %s is missing", at, names[i]);
    if (!is_short_text(found[0]))
        return fail(r, "hosts[%d].name: a text of 1 to %d bytes", at, MAX_TEXT);
    fleet_host host = {.name = bc_arena_dup(r->arena, bc_str(found[0]->valuestring)).ptr};
    if (!host.name)
        return fail(r, "out of memory");
    return read_gpu(r, at, found[1], &host.gpu) && read_drivers(r, at, &host, found[2]);
}

/* ---- the file ---- */

static bool read_root(reader *r, const cJSON *root)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *hosts = cJSON_GetObjectItemCaseSensitive(root, "hosts"), *item;
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, "tilevm-fleet/1") != 0)
        return fail(r, "schema: must be \"tilevm-fleet/1\"");
    if (!cJSON_IsArray(hosts) || !hosts->child || cJSON_GetArraySize(hosts) > MAX_HOSTS)
        return fail(r, "hosts: a list of 1 to %d hosts", MAX_HOSTS);
    cJSON_ArrayForEach(item, root)
    {
        if (item != schema && item != hosts)
            return fail(r, "'%.60s' is not known, or there twice; there are schema and hosts", item->string);
    }
    int at = 0;
    cJSON_ArrayForEach(item, hosts)
    {
        if (!read_host(r, at++, item))
            return false;
    }
    return true;
}

/* Where cJSON stopped, as line:column. */
static bool not_json(reader *r, const char *text, const char *at)
{
    unsigned line = 1, column = 1;
    for (const char *p = text; at && p < at; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    bc_text_printf(r->problem, "%s:%u:%u: %s", r->path, line, column, errno == ENOMEM ? "out of memory" : "not JSON");
    return false;
}

bool fleet_parse(const char *path, const char *text, size_t size, bc_arena *arena, fleet *out, bc_text *problem)
{
    reader r = {.path = cli_shown_path(path), .arena = arena, .out = out, .problem = problem};
    const char *stop = NULL;
    *out = (fleet){0};
    if (size > MAX_SIZE)
        return fail(&r, "it has %zu bytes; up to %d are read", size, MAX_SIZE);
    errno = 0;
    cJSON *root = cJSON_ParseWithLengthOpts(text, size + 1, &stop, true);
    bool good = root ? read_root(&r, root) : not_json(&r, text, stop);
    cJSON_Delete(root);
    return good;
}

bool fleet_read(const char *path, bc_arena *arena, fleet *out, bc_text *problem)
{
    cli_file file;
    char *error = NULL;
    if (!cli_read(path, &file, &error)) {
        bc_text_puts(problem, error ? error : "out of memory");
        free(error);
        return false;
    }
    bool good = fleet_parse(path, (const char *)file.bytes, file.size, arena, out, problem);
    cli_file_free(&file);
    return good;
}

/* Argument files:

     {"entry": "vadd", "grid": [128], "names": ["a", "b", "c"], "seed": 0,
      "args": {"a": "randn(f32,4096)", "b": "b.npy", "c": "zeros(f32,4096)"},
      "save": {"c": "out.npy"}, "expect": {"c": "ref.npy"}, "rtol": 1e-5, "atol": 1e-6}

   args may be a list, for the parameters in order; values are what the command line takes, numbers, true and false, or
   lists of those. Names of files are relative to the argument file. */
#include <errno.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/args/args.h"

enum { MAX_LISTS = 8, MAX_SIZE = 4 << 20 /* a tree of JSON takes up to 40 times as much */ };

typedef struct reader {
    bc_arena *arena;
    const char *path;
    arg_file *out;
    io_error *error;
} reader;

static bool no_memory(reader *r)
{
    return io_fail(r->error, "%s: out of memory", r->path);
}

static bool keep(reader *r, const char *text, tv_str *out)
{
    *out = bc_arena_dup(r->arena, bc_str(text));
    return out->ptr || no_memory(r);
}

/* ---- values as the command line takes them ---- */

static bool put_value(reader *r, const cJSON *value, unsigned depth, bc_text *out)
{
    const cJSON *item;
    if (cJSON_IsString(value)) {
        bc_text_puts(out, value->valuestring);
    } else if (cJSON_IsBool(value)) {
        bc_text_puts(out, cJSON_IsTrue(value) ? "true" : "false");
    } else if (cJSON_IsNumber(value)) {
        double n = value->valuedouble;
        if (n == floor(n) && fabs(n) <= 9007199254740992.0)
            bc_text_printf(out, "%lld", (long long)n);
        else
            bc_text_printf(out, "%.17g", n);
    } else if (cJSON_IsArray(value) && depth < MAX_LISTS) {
        bc_text_char(out, '[');
        cJSON_ArrayForEach(item, value)
        {
            if (item != value->child)
                bc_text_puts(out, ", ");
            if (!put_value(r, item, depth + 1, out))
                return false;
        }
        bc_text_char(out, ']');
    } else {
        return io_fail(r->error, "%s: the values of args are strings, numbers, true, false, or lists of them", r->path);
    }
    return true;
}

static bool value_text(reader *r, const cJSON *value, tv_str *out)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bool good = put_value(r, value, 0, &text);
    if (good)
        good = text.failed ? no_memory(r) : keep(r, text.ptr ? text.ptr : "", out);
    bc_text_release(&text);
    return good;
}

/* An object of names, or (in_order) also a list. */
static bool read_pairs(reader *r, const cJSON *list, bool in_order, arg_pair **out, size_t *out_count)
{
    const cJSON *item;
    if (!cJSON_IsObject(list) && !(in_order && cJSON_IsArray(list)))
        return io_fail(r->error, "%s: '%s' must be an object%s", r->path, list->string, in_order ? " or a list" : "");
    size_t count = (size_t)cJSON_GetArraySize(list), used = 0;
    *out = bc_new(r->arena, arg_pair, count);
    if (!*out)
        return no_memory(r);
    cJSON_ArrayForEach(item, list)
    {
        arg_pair *pair = &(*out)[used++];
        if (!keep(r, item->string ? item->string : "", &pair->target) || !value_text(r, item, &pair->text))
            return false;
    }
    *out_count = used;
    return true;
}

static bool read_strings(reader *r, const cJSON *list, bool in_order, arg_pair **out, size_t *out_count)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            return io_fail(r->error, "%s: the values of '%s' must be strings", r->path, list->string);
    }
    return read_pairs(r, list, in_order, out, out_count);
}

/* ---- single members ---- */

static bool read_grid(reader *r, const cJSON *item)
{
    char text[128];
    int at = 0;
    const cJSON *n = cJSON_IsArray(item) ? item->child : item;
    if (cJSON_IsString(item)) {
        snprintf(text, sizeof text, "%s", item->valuestring);
    } else {
        text[0] = 0;
        for (unsigned i = 0; n && i < 4; i++, n = cJSON_IsArray(item) ? n->next : NULL)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%.17g", i ? "," : "",
                           cJSON_IsNumber(n) ? n->valuedouble : -1.0);
    }
    io_error inner;
    r->out->has_grid = arg_parse_grid(bc_str(text), r->out->grid, &inner);
    return r->out->has_grid || io_fail(r->error, "%s: %.300s", r->path, inner.text);
}

static bool read_bound(reader *r, const cJSON *item, bool *out_has, double *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0))
        return io_fail(r->error, "%s: '%s' must be a number from 0 on", r->path, item->string);
    *out_has = true;
    *out = item->valuedouble;
    return true;
}

static bool read_seed(reader *r, const cJSON *item)
{
    double seed = 0;
    if (!read_bound(r, item, &r->out->has_seed, &seed) || seed != floor(seed) || seed > 4294967295.0)
        return io_fail(r->error, "%s: 'seed' must be a whole number below 2^32", r->path);
    r->out->seed = (uint64_t)seed;
    return true;
}

static bool read_text(reader *r, const cJSON *item, tv_str *out)
{
    if (!cJSON_IsString(item))
        return io_fail(r->error, "%s: '%s' must be a string", r->path, item->string);
    return keep(r, item->valuestring, out);
}

static bool read_names(reader *r, const cJSON *item)
{
    return cJSON_IsString(item) ? read_text(r, item, &r->out->names) : value_text(r, item, &r->out->names);
}

static bool read_flag(reader *r, const cJSON *item, bool *out)
{
    *out = cJSON_IsTrue(item);
    return cJSON_IsBool(item) || io_fail(r->error, "%s: '%s' must be true or false", r->path, item->string);
}

static const char *const members[] = {"entry", "grid", "names", "args",          "save", "expect",
                                      "rtol",  "atol", "seed",  "allow_sharing", NULL};

static const char *member_at(const void *user, size_t i)
{
    (void)user;
    return members[i];
}

static bool read_member(reader *r, const cJSON *item)
{
    arg_file *out = r->out;
    const char *key = item->string;
    if (strcmp(key, "entry") == 0)
        return read_text(r, item, &out->entry);
    if (strcmp(key, "grid") == 0)
        return read_grid(r, item);
    if (strcmp(key, "names") == 0)
        return read_names(r, item);
    if (strcmp(key, "args") == 0)
        return read_pairs(r, item, true, &out->args, &out->arg_count);
    if (strcmp(key, "save") == 0)
        return read_strings(r, item, false, &out->saves, &out->save_count);
    if (strcmp(key, "expect") == 0)
        return read_strings(r, item, false, &out->expects, &out->expect_count);
    if (strcmp(key, "rtol") == 0)
        return read_bound(r, item, &out->has_rtol, &out->rtol);
    if (strcmp(key, "atol") == 0)
        return read_bound(r, item, &out->has_atol, &out->atol);
    if (strcmp(key, "seed") == 0)
        return read_seed(r, item);
    if (strcmp(key, "allow_sharing") == 0)
        return read_flag(r, item, &out->allow_sharing);
    const char *closest = cli_closest(key, member_at, NULL);
    return io_fail(r->error, "%s: unknown member '%.60s'%s%s%s", r->path, key, closest ? "; did you mean '" : "",
                   closest ? closest : "", closest ? "'?" : "");
}

static bool read_root(reader *r, const cJSON *root)
{
    const cJSON *item;
    if (!cJSON_IsObject(root))
        return io_fail(r->error, "%s: not a JSON object", r->path);
    cJSON_ArrayForEach(item, root)
    {
        if (cJSON_GetObjectItemCaseSensitive(root, item->string) != item)
            return io_fail(r->error, "%s: '%.60s' is there twice", r->path, item->string);
        if (!read_member(r, item))
            return false;
    }
    return true;
}

/* Line of the byte where cJSON stopped. */
static unsigned line_of(const char *text, const char *at)
{
    unsigned line = 1;
    for (const char *p = text; at && p < at; p++)
        line += *p == '\n';
    return line;
}

bool arg_file_read(bc_arena *arena, const char *path, arg_file *out, io_error *error)
{
    reader r = {.arena = arena, .path = path, .out = out, .error = error};
    cli_file file;
    char *problem = NULL;
    const char *slash = strrchr(path, '/'), *stop = NULL;
    *out = (arg_file){0};
    if (!cli_read(path, &file, &problem)) {
        io_fail(error, "%s", problem ? problem : "out of memory");
        free(problem);
        return false;
    }
    bool good = file.size <= MAX_SIZE
                || io_fail(error, "%s: has %zu bytes; up to %d are read", path, file.size, MAX_SIZE);
    if (good && slash) {
        out->folder = bc_arena_dup(arena, (tv_str){path, (size_t)(slash - path) + (slash == path)}).ptr;
        good = out->folder || no_memory(&r);
    }
    errno = 0;
    cJSON *root = good ? cJSON_ParseWithLengthOpts((const char *)file.bytes, file.size + 1, &stop, true) : NULL;
    if (good && !root)
        good = io_fail_errno(error, "%s:%u: not JSON", path, line_of((const char *)file.bytes, stop));
    good = good && read_root(&r, root);
    cJSON_Delete(root);
    cli_file_free(&file);
    return good;
}

/* ---- grids ---- */

bool arg_parse_grid(tv_str text, uint32_t out[3], io_error *error)
{
    enum { LIMIT = (1 << 24) - 1 };
    uint32_t grid[3] = {1, 1, 1};
    size_t at = 0;
    for (unsigned axis = 0; axis < 3; axis++) {
        uint64_t n = 0;
        size_t start = at;
        for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9' && n <= LIMIT; at++)
            n = n * 10 + (uint64_t)(text.ptr[at] - '0');
        if (at == start || n == 0 || n > LIMIT)
            break;
        grid[axis] = (uint32_t)n;
        if (at == text.len) {
            memcpy(out, grid, sizeof grid);
            return true;
        }
        if (text.ptr[at] != ',' && text.ptr[at] != 'x')
            break;
        at++;
    }
    return io_fail(error, "'%.*s' is not a grid: write X, X,Y or X,Y,Z, each from 1 to 16777215",
                   text.len < 60 ? (int)text.len : 60, text.ptr);
}

/* tilevm cache: what the loader keeps of compiled kernels. */
#include <string.h>
#include <time.h>

#include "bytecode/rules.h"
#include "loader/cache.h"
#include "tools/tilevm/bundle/warm.h"
#include "tools/tilevm/cli/json.h"

enum { OPT_SIZE = 1, OPT_JSON, OPT_DEVICE, OPT_KEY };

#define ACTIONS "list|verify|prune|clear|path|warm"
enum { ACTION_LIST, ACTION_VERIFY, ACTION_PRUNE, ACTION_CLEAR, ACTION_PATH, ACTION_WARM };

static const cli_option options[] = {{OPT_SIZE, 's', "size", "N",
                                      "with prune: the size to keep, such as 500M (default: the limit of the cache)"},
                                     {OPT_JSON, 'J', "json", NULL, "print JSON"},
                                     {OPT_DEVICE, 'd', "device", "all|N", "with warm: the devices (default: all)"},
                                     {OPT_KEY, 'k', "key", "FILE",
                                      "with warm: the bundle must be signed with the private half of this\npublic key"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_cache = {
    "cache",
    ACTIONS " [BUNDLE]",
    "show, check, fill or empty the cache of compiled kernels",
    "The loader keeps compiled kernels below $TILEVM_CACHE_DIR, else $XDG_CACHE_HOME/tilevm, else\n"
    "~/.cache/tilevm, up to TILEVM_CACHE_SIZE bytes of them (default 1G; 0: none). It also searches\n"
    "$TILEVM_CACHE_LOWER, which it only reads.\n"
    "  list    lists the entries: bytes, last use, target, driver, kernels\n"
    "  verify  reads every entry; the exit code is 1 if one is damaged\n"
    "  prune   removes damaged entries, then the least recently used\n"
    "  clear   removes all entries\n"
    "  path    prints the folder\n"
    "  warm    loads every kernel of a bundle on the devices, so that programs find them compiled",
    options,
    run};

/* The value of a line "NAME VALUE" of a key. */
static tv_str field(tv_str head, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = head.ptr, *end = head.ptr + head.len; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        if ((size_t)(stop - p) > len && memcmp(p, name, len) == 0 && p[len] == ' ')
            return (tv_str){.ptr = p + len + 1, .len = (size_t)(stop - p) - len - 1};
        p = stop + 1;
    }
    return bc_str("?");
}

/* The kernels: the first word of each line of the records, the i-th; empty past the end. */
static tv_str kernel_at(tv_str records, size_t i)
{
    for (const char *p = records.ptr, *end = p + records.len; p < end; i--) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        const char *space = memchr(p, ' ', (size_t)(stop - p));
        if (i == 0)
            return (tv_str){p, (size_t)((space ? space : stop) - p)};
        p = stop + 1;
    }
    return (tv_str){"", 0};
}

/* The options of a command, and its output: lines at once, or a document at the end. */
typedef struct cache_report {
    bool verify, json;
    json_doc doc;
    cJSON *root, *entries;
    size_t sound, damaged;
    uint64_t bytes;
} cache_report;

static void show_damaged(const ld_cache_info *info)
{
    cli_print(stdout, "[%s] %s: damaged: %s\n", bc_rules[BC_RULE_L_CACHE_01].id, info->name, info->problem);
}

static void show_entry(const ld_cache_info *info)
{
    char used[32] = "?";
    struct tm parts;
    time_t when = (time_t)info->used;
    if (localtime_r(&when, &parts))
        strftime(used, sizeof used, "%Y-%m-%d %H:%M", &parts);
    tv_str target = field(info->entry->head, "target"), driver = field(info->entry->head, "driver"), kernel;
    cli_print(stdout, "%9llu  %s  %-7.*s  %.*s  ", (unsigned long long)info->size, used, (int)target.len, target.ptr,
              (int)driver.len, driver.ptr);
    for (size_t i = 0; (kernel = kernel_at(info->entry->records, i)).len; i++)
        cli_print(stdout, "%s%.*s", i ? "," : "", (int)kernel.len, kernel.ptr);
    cli_print(stdout, "\n");
}

static void add_entry(cache_report *report, const ld_cache_info *info)
{
    json_doc *doc = &report->doc;
    tv_str kernel;
    cJSON *item = json_object(doc, report->entries, NULL);
    json_text(doc, item, "name", info->name);
    json_uint(doc, item, "bytes", info->size);
    json_int(doc, item, "used", info->used);
    if (info->problem) {
        json_text(doc, item, "problem", info->problem);
        return;
    }
    json_str(doc, item, "target", field(info->entry->head, "target"));
    json_str(doc, item, "driver", field(info->entry->head, "driver"));
    cJSON *kernels = json_array(doc, item, "kernels");
    for (size_t i = 0; (kernel = kernel_at(info->entry->records, i)).len; i++)
        json_str(doc, kernels, NULL, kernel);
}

static void show(void *user, const ld_cache_info *info)
{
    cache_report *report = user;
    report->bytes += info->size;
    report->damaged += info->problem != NULL;
    report->sound += !info->problem;
    if (report->json)
        add_entry(report, info);
    else if (info->problem)
        show_damaged(info);
    else if (!report->verify)
        show_entry(info);
}

/* Why there is nothing to work on. */
static int no_folder(cache_report *report, const char *what, const char *problem)
{
    if (report->json)
        json_text(&report->doc, report->root, "problem", problem);
    return cli_error("[%s] %s: %s", bc_rules[BC_RULE_L_CACHE_02].id, what, problem);
}

static int show_all(cache_report *report, const ld_cache *cache)
{
    if (report->json)
        report->entries = json_array(&report->doc, report->root, "entries");
    const char *problem = ld_cache_visit(cache, true, show, report);
    if (problem)
        return no_folder(report, cache->path, problem);
    if (report->json) {
        json_uint(&report->doc, report->root, "bytes", report->bytes);
        json_uint(&report->doc, report->root, "damaged", report->damaged);
        return report->damaged ? CLI_FAILED : CLI_OK;
    }
    cli_print(stdout, "%zu %s, %llu bytes in %s", report->sound, report->sound == 1 ? "entry" : "entries",
              (unsigned long long)report->bytes, cache->path);
    if (report->damaged)
        cli_print(stdout, "; %zu damaged: 'tilevm cache prune' removes them", report->damaged);
    cli_print(stdout, "\n");
    return report->damaged ? CLI_FAILED : CLI_OK;
}

static int remove_some(cache_report *report, const ld_cache *cache, uint64_t limit)
{
    ld_cache_removed damaged = {0}, old = {0};
    const char *problem = limit ? ld_cache_prune_damaged(cache, &damaged) : NULL;
    if (!problem)
        problem = ld_cache_prune(cache, limit, &old);
    if (problem)
        return no_folder(report, cache->path, problem);
    size_t files = damaged.files + old.files;
    uint64_t bytes = damaged.bytes + old.bytes;
    if (report->json) {
        json_uint(&report->doc, report->root, "removed", files);
        json_uint(&report->doc, report->root, "removed_bytes", bytes);
    } else {
        cli_print(stdout, "removed %zu %s, %llu bytes\n", files, files == 1 ? "entry" : "entries",
                  (unsigned long long)bytes);
    }
    return CLI_OK;
}

static int act(cache_report *report, const ld_cache *cache, unsigned action, uint64_t limit)
{
    if (!cache->path)
        return no_folder(report, "there is no cache", cache->problem ? cache->problem : "TILEVM_CACHE_SIZE is 0");
    if (report->json) {
        json_text(&report->doc, report->root, "path", cache->path);
        json_uint(&report->doc, report->root, "limit", cache->limit);
    }
    switch (action) {
    case ACTION_LIST:
    case ACTION_VERIFY: return show_all(report, cache);
    case ACTION_PRUNE: return remove_some(report, cache, limit ? limit : cache->limit);
    case ACTION_CLEAR: return remove_some(report, cache, 0);
    default:
        if (!report->json)
            cli_print(stdout, "%s\n", cache->path);
        return CLI_OK;
    }
}

static int act_and_report(cache_report *report, unsigned action, uint64_t limit)
{
    ld_cache cache;
    cli_out out = {.file = stdout};
    report->verify = action == ACTION_VERIFY;
    if (report->json)
        report->root = json_document(&report->doc, "cache");
    ld_cache_init(&cache);
    int code = act(report, &cache, action, limit);
    ld_cache_release(&cache);
    return report->json && !json_finish(&report->doc, &out) ? cli_error("out of memory") : code;
}

typedef struct cache_request {
    const char *action, *bundle, *key;
    bool json;
    uint64_t size;
    int ordinal;    /* -1: all */
    bool only_warm; /* an option that belongs to warm was given */
} cache_request;

static bool take_device(cli_args *args, const char *value, cache_request *request)
{
    uint64_t ordinal;
    request->only_warm = true;
    if (strcmp(value, "all") == 0)
        return true;
    if (!cli_number(args, "--device", value, 0, 1023, &ordinal))
        return false;
    request->ordinal = (int)ordinal;
    return true;
}

static bool take(cli_args *args, int id, const char *value, cache_request *request)
{
    bool warm = request->action && strcmp(request->action, "warm") == 0; /* which takes a bundle, too */
    switch (id) {
    case OPT_SIZE:
        if (ld_cache_parse_size(value, &request->size) && request->size)
            return true;
        cli_usage(args, "--size: '%s' is not a size; write it like 500M", value);
        return false;
    case OPT_JSON: request->json = true; return true;
    case OPT_DEVICE: return take_device(args, value, request);
    case OPT_KEY:
        request->key = value;
        request->only_warm = true;
        return true;
    case CLI_OPERAND:
        return cli_take_operand(args, "one action at a time", value, warm ? &request->bundle : &request->action);
    default: return false; /* CLI_STOP */
    }
}

static int run(cli_args *args)
{
    const char *value;
    cache_request request = {.ordinal = -1};
    unsigned chosen;
    for (int id; (id = cli_next(args, &value)) != CLI_END;)
        if (!take(args, id, value, &request))
            return args->exit_code;
    if (!request.action)
        return cli_usage(args, "no action was given; the actions are " ACTIONS);
    if (!cli_choice(args, "action", request.action, ACTIONS, &chosen))
        return args->exit_code;
    if (request.size && chosen != ACTION_PRUNE)
        return cli_usage(args, "--size is an option of prune, not of %s", request.action);
    if (request.only_warm && chosen != ACTION_WARM)
        return cli_usage(args, "--device and --key are options of warm, not of %s", request.action);
    if (chosen != ACTION_WARM)
        return act_and_report(&(cache_report){.json = request.json}, chosen, request.size);
    if (!request.bundle)
        return cli_usage(args, "which bundle?");
    return bundle_warm(request.bundle, request.key, request.ordinal, request.json);
}

/* tilevm cache: what the loader keeps of compiled kernels. */
#include <string.h>
#include <time.h>

#include "bytecode/rules.h"
#include "loader/cache.h"
#include "tools/tilevm/cli.h"

enum { OPT_SIZE = 1 };

#define ACTIONS "list|verify|prune|clear|path"
enum { ACTION_LIST, ACTION_VERIFY, ACTION_PRUNE, ACTION_CLEAR, ACTION_PATH };

static const cli_option options[] = {{OPT_SIZE, 's', "size", "N",
                                      "with prune: bytes that may stay, like 500M (default: the cache's limit)"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_cache = {
    "cache",
    ACTIONS,
    "show, check or empty the cache of compiled kernels",
    "The loader keeps compiled kernels below $TILEVM_CACHE_DIR, else $XDG_CACHE_HOME/tilevm, else\n"
    "~/.cache/tilevm, and no more than TILEVM_CACHE_SIZE bytes of them (default 1G; 0: none).\n"
    "  list    each entry: bytes, last use, target, driver, kernels\n"
    "  verify  reads every entry; the exit code is 1 if one is damaged\n"
    "  prune   removes damaged entries, then those not used for longest\n"
    "  clear   removes all entries\n"
    "  path    prints the folder",
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

/* The kernels: the first word of each line of the records. */
static void put_kernels(tv_str records)
{
    const char *separator = "";
    for (const char *p = records.ptr, *end = records.ptr + records.len; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        cli_print(stdout, "%s%.*s", separator, (int)strcspn(p, " \n"), p);
        separator = ",";
        p = stop + 1;
    }
}

typedef struct cache_report {
    bool verify;
    size_t sound, damaged;
    uint64_t bytes;
} cache_report;

static void show(void *user, const ld_cache_info *info)
{
    cache_report *report = user;
    report->bytes += info->size;
    if (info->problem) {
        report->damaged++;
        cli_print(stdout, "[%s] %s: damaged: %s\n", bc_rules[BC_RULE_L_CACHE_01].id, info->name, info->problem);
        return;
    }
    report->sound++;
    if (report->verify)
        return;
    char used[32] = "?";
    struct tm parts;
    time_t when = (time_t)info->used;
    if (localtime_r(&when, &parts))
        strftime(used, sizeof used, "%Y-%m-%d %H:%M", &parts);
    tv_str target = field(info->entry->head, "target"), driver = field(info->entry->head, "driver");
    cli_print(stdout, "%9llu  %s  %-7.*s  %.*s  ", (unsigned long long)info->size, used, (int)target.len, target.ptr,
              (int)driver.len, driver.ptr);
    put_kernels(info->entry->records);
    cli_print(stdout, "\n");
}

/* Why there is nothing to work on. */
static int no_folder(const char *what, const char *problem)
{
    return cli_error("[%s] %s: %s", bc_rules[BC_RULE_L_CACHE_02].id, what, problem);
}

static int show_all(const ld_cache *cache, bool verify)
{
    cache_report report = {.verify = verify};
    const char *problem = ld_cache_visit(cache, true, show, &report);
    if (problem)
        return no_folder(cache->path, problem);
    cli_print(stdout, "%zu %s, %llu bytes in %s", report.sound, report.sound == 1 ? "entry" : "entries",
              (unsigned long long)report.bytes, cache->path);
    if (report.damaged)
        cli_print(stdout, "; %zu damaged: 'tilevm cache prune' removes them", report.damaged);
    cli_print(stdout, "\n");
    return report.damaged ? CLI_FAILED : CLI_OK;
}

static int remove_some(const ld_cache *cache, uint64_t limit)
{
    ld_cache_removed damaged = {0}, old = {0};
    const char *problem = limit ? ld_cache_prune_damaged(cache, &damaged) : NULL;
    if (!problem)
        problem = ld_cache_prune(cache, limit, &old);
    if (problem)
        return no_folder(cache->path, problem);
    size_t files = damaged.files + old.files;
    cli_print(stdout, "removed %zu %s, %llu bytes\n", files, files == 1 ? "entry" : "entries",
              (unsigned long long)(damaged.bytes + old.bytes));
    return CLI_OK;
}

static int act(const ld_cache *cache, unsigned action, uint64_t limit)
{
    switch (action) {
    case ACTION_LIST:
    case ACTION_VERIFY: return show_all(cache, action == ACTION_VERIFY);
    case ACTION_PRUNE: return remove_some(cache, limit ? limit : cache->limit);
    case ACTION_CLEAR: return remove_some(cache, 0);
    default: cli_print(stdout, "%s\n", cache->path); return CLI_OK;
    }
}

static int run(cli_args *args)
{
    const char *value, *action = NULL;
    uint64_t limit = 0;
    unsigned chosen;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_STOP)
            return args->exit_code;
        if (id == OPT_SIZE && (!ld_cache_parse_size(value, &limit) || !limit))
            return cli_usage(args, "--size: '%s' is not a size; write it like 500M", value);
        if (id == CLI_OPERAND && action)
            return cli_usage(args, "one action at a time; '%s' is the second", value);
        if (id == CLI_OPERAND)
            action = value;
    }
    if (!action)
        return cli_usage(args, "what to do? one of " ACTIONS);
    if (!cli_choice(args, "action", action, ACTIONS, &chosen))
        return args->exit_code;
    if (limit && chosen != ACTION_PRUNE)
        return cli_usage(args, "--size belongs to prune");
    ld_cache cache;
    ld_cache_init(&cache);
    int code = cache.path ? act(&cache, chosen, limit)
                          : no_folder("there is no cache", cache.problem ? cache.problem : "TILEVM_CACHE_SIZE is 0");
    ld_cache_release(&cache);
    return code;
}

/* tilevm gen: random valid modules. */
#include <string.h>

#include "tools/tilevm/gen/gen.h"
#include "tools/tilevm/cli/cli.h"

enum { OPT_SEED = 1, OPT_TO, OPT_FUNCTIONS, OPT_OPS, OPT_DEPTH, OPT_OUTPUT, OPT_COUNT };

static const cli_option options[] = {{OPT_SEED, 's', "seed", "N", "seed of the random choices (default 1)"},
                                     {OPT_TO, 0, "to", "13.N", "bytecode version (default 13.5)"},
                                     {OPT_FUNCTIONS, 0, "entries", "N", "entries in the module (default 1)"},
                                     {OPT_OPS, 0, "ops", "N", "approximate number of ops in an entry (default 40)"},
                                     {OPT_DEPTH, 0, "depth", "N", "maximum depth of nested regions (default 3)"},
                                     {OPT_COUNT, 'n', "count", "N",
                                      "write N modules, with seeds from --seed on; FILE needs a %d for the seed"},
                                     {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE (default: standard output)"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_gen = {
    "gen",
    "",
    "make random valid modules",
    "tilevm gen writes a random module that verifies, to test programs that read Tile IR. The same\n"
    "options give the same bytes. Ops are drawn from the op table of the version; entries take pointers\n"
    "and scalars.",
    options,
    run};

/* The path with %d replaced by the seed. */
static bool expand(const char *pattern, uint64_t seed, char *out, size_t size)
{
    const char *mark = strstr(pattern, "%d");
    int n = mark ? snprintf(out, size, "%.*s%llu%s", (int)(mark - pattern), pattern, (unsigned long long)seed, mark + 2)
                 : snprintf(out, size, "%s", pattern);
    return n >= 0 && (size_t)n < size;
}

static int write_one(const gen_options *gen, const char *path)
{
    tv_module *m;
    if (gen_module(gen, &m) != TV_OK)
        return cli_error("out of memory");
    int code = cli_write_module(m, path ? path : "<stdout>", (tv_sink){0}, path);
    tv_module_close(m);
    return code;
}

static int run(cli_args *args)
{
    gen_options gen = {.seed = 1, .version = BC_NEWEST, .functions = 1, .ops = 40, .depth = 3};
    const char *value, *path = NULL;
    uint64_t n, count = 1;
    unsigned minor;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case CLI_STOP: return args->exit_code;
        case OPT_SEED:
            if (!cli_number(args, "--seed", value, 0, UINT64_MAX, &gen.seed))
                return args->exit_code;
            break;
        case OPT_TO:
            if (!cli_version(args, value, &minor))
                return args->exit_code;
            gen.version = (bc_version)minor;
            break;
        case OPT_FUNCTIONS:
            if (!cli_number(args, "--entries", value, 1, 1000, &n))
                return args->exit_code;
            gen.functions = (unsigned)n;
            break;
        case OPT_OPS:
            if (!cli_number(args, "--ops", value, 0, 100000, &n))
                return args->exit_code;
            gen.ops = (unsigned)n;
            break;
        case OPT_DEPTH:
            if (!cli_number(args, "--depth", value, 0, 8, &n))
                return args->exit_code;
            gen.depth = (unsigned)n;
            break;
        case OPT_COUNT:
            if (!cli_number(args, "--count", value, 1, 1000000, &count))
                return args->exit_code;
            break;
        case OPT_OUTPUT: path = value; break;
        default: return cli_usage(args, "takes no operand '%s'", value);
        }
    }
    if (count > 1 && (!path || !strstr(path, "%d")))
        return cli_usage(args, "--count needs --output with a %%d in its name");
    for (uint64_t i = 0; i < count; i++, gen.seed++) {
        char name[4096];
        if (path && !expand(path, gen.seed, name, sizeof name))
            return cli_error("the name %s is too long", path);
        int code = write_one(&gen, path ? name : NULL);
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

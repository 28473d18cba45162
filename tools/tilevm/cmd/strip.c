/* tilevm strip: the same module without debug information. */
#include "bytecode/module.h"
#include "tools/tilevm/cli/cli.h"

enum { OPT_ALL = 1, OPT_OUTPUT };

static const cli_option options[] = {{OPT_ALL, 'a', "all", NULL, "also remove the name of the producer"},
                                     {OPT_OUTPUT, 'o', "output", "FILE",
                                      "write to FILE (default: standard output); may be the input itself"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_strip = {
    "strip",
    "FILE",
    "remove debug information",
    "tilevm strip removes source locations, and the strings, types and constants that only they used. The\n"
    "kernels still compute the same results.",
    options,
    run};

static tv_status strip(void *user, tv_module *module, tv_sink sink)
{
    const bool *all = user;
    (void)sink; /* nothing to say */
    if (*all)
        module->producer = NULL;
    return bc_module_strip(module);
}

static int run(cli_args *args)
{
    const char *value, *path = NULL, *output = NULL;
    bool all = false;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_STOP)
            return args->exit_code;
        if (id == OPT_ALL)
            all = true;
        if (id == OPT_OUTPUT)
            output = value;
        if (id == CLI_OPERAND && !cli_take_operand(args, "one file at a time", value, &path))
            return args->exit_code;
    }
    if (!path)
        return cli_usage(args, "which file?");
    return cli_change_module(args, path, strip, &all, output);
}

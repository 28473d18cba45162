/* tilevm convert: the same module in another version of the format. */
#include "tools/tilevm/cli/cli.h"

enum { OPT_TO = 1, OPT_OUTPUT };

static const cli_option options[] = {{OPT_TO, 't', "to", "13.N", "the version to write, 13.1 to 13.5"},
                                     {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE (default: standard output)"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_convert = {
    "convert",
    "--to 13.N FILE",
    "write a file as another version of the format",
    "tilevm convert raises or lowers the bytecode version. If the lower version cannot hold the module,\n"
    "the command names every op, type and attribute in the way, writes nothing, and exits with code 1.",
    options,
    run};

static tv_status convert(void *user, tv_module *module, tv_sink sink)
{
    const unsigned *minor = user;
    return tv_module_convert(module, *minor, sink);
}

static int run(cli_args *args)
{
    const char *value, *path = NULL, *output = NULL;
    unsigned minor = 0;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_STOP || (id == OPT_TO && !cli_version(args, value, &minor)))
            return args->exit_code;
        if (id == OPT_OUTPUT)
            output = value;
        if (id == CLI_OPERAND && !cli_take_operand(args, "one file at a time", value, &path))
            return args->exit_code;
    }
    if (!path)
        return cli_usage(args, "which file?");
    if (!minor)
        return cli_usage(args, "no version was given; use --to 13.1 to --to 13.5");
    return cli_change_module(args, path, convert, &minor, output);
}

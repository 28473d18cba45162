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
    "Raises or lowers the bytecode version. Where a lower version cannot hold something, every op, type\n"
    "and attribute that stands in the way is named, nothing is written, and the exit code is 1.",
    options,
    run};

static int convert(cli_args *args, const char *path, unsigned minor, const char *output)
{
    cli_file file;
    int code;
    tv_module *module = cli_open_module(args, path, NULL, &file, &code);
    if (!module)
        return code;
    cli_printer printer;
    path = cli_file_name(&file, path);
    tv_sink sink = cli_printing_sink(&printer, path, args->color);
    code = cli_exit_of(tv_module_convert(module, minor, sink), path);
    if (code == CLI_OK)
        code = cli_write_module(module, path, sink, output);
    tv_module_close(module);
    cli_file_free(&file);
    return code;
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
        if (id == CLI_OPERAND && path)
            return cli_usage(args, "one file at a time, please; '%s' is the second", value);
        if (id == CLI_OPERAND)
            path = value;
    }
    if (!path)
        return cli_usage(args, "which file?");
    if (!minor)
        return cli_usage(args, "which version? say --to 13.1 to --to 13.5");
    return convert(args, path, minor, output);
}

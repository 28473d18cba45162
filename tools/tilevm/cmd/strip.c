/* tilevm strip: the same module without debug information. */
#include "bytecode/module.h"
#include "tools/tilevm/cli/cli.h"

enum { OPT_ALL = 1, OPT_OUTPUT };

static const cli_option options[] = {{OPT_ALL, 'a', "all", NULL, "leave out the producer's name too"},
                                     {OPT_OUTPUT, 'o', "output", "FILE",
                                      "write to FILE (default: standard output); may be the input itself"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_strip = {
    "strip",
    "FILE",
    "remove debug information",
    "Removes source locations, and the strings, types and constants that nothing uses then. What the\n"
    "kernels compute does not change.",
    options,
    run};

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
        if (id == CLI_OPERAND && path)
            return cli_usage(args, "one file at a time, please; '%s' is the second", value);
        if (id == CLI_OPERAND)
            path = value;
    }
    if (!path)
        return cli_usage(args, "which file?");
    cli_file file;
    int code;
    tv_module *module = cli_open_module(args, path, NULL, &file, &code);
    if (!module)
        return code;
    cli_printer printer;
    path = cli_file_name(&file, path);
    tv_sink sink = cli_printing_sink(&printer, path, args->color);
    if (all)
        module->producer = NULL;
    code = cli_exit_of(bc_module_strip(module), path);
    if (code == CLI_OK)
        code = cli_write_module(module, path, sink, output);
    tv_module_close(module);
    cli_file_free(&file);
    return code;
}

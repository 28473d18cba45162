/* tilevm asm: text to bytecode. */
#include "tools/tilevm/cli/cli.h"

enum { OPT_TO = 1, OPT_OUTPUT };

static const cli_option options[] = {
    {OPT_TO, 0, "to", "13.N", "bytecode version (default: the lowest that can express the module)"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE, not to standard output"},
    {0},
};

static int assemble(cli_args *args, const char *input, unsigned minor, const char *output)
{
    cli_file file;
    if (!cli_read_or_say(input, &file))
        return CLI_ERROR;
    cli_printer printer;
    tv_sink sink = cli_printing_sink(&printer, input, args->color);
    tv_module *module = NULL;
    tv_status status = tv_module_parse((const char *)file.bytes, file.size, minor, NULL, sink, &module);
    int code = cli_exit_of(status, input);
    if (status == TV_OK)
        code = cli_write_module(module, input, sink, output);
    tv_module_close(module);
    cli_file_free(&file);
    return code;
}

static int run(cli_args *args)
{
    const char *value, *input = NULL, *output = NULL;
    unsigned minor = 0;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case CLI_STOP: return args->exit_code;
        case OPT_TO:
            if (!cli_version(args, value, &minor))
                return args->exit_code;
            break;
        case OPT_OUTPUT: output = value; break;
        default:
            if (!cli_take_operand(args, "one file at a time", value, &input))
                return args->exit_code;
        }
    }
    if (!input)
        return cli_usage(args, "no file was given ('-' is standard input)");
    return assemble(args, input, minor, output);
}

const cli_command command_asm = {
    .name = "asm",
    .operands = "FILE",
    .summary = "make bytecode from text",
    .text = "tilevm asm assembles the output of 'tilevm disasm' and the published assembly of the cuda_tile\n"
            "dialect: with or without the prefix cuda_tile., in the syntax of each op or in MLIR's generic form,\n"
            "with aliases and locations. The result is not verified.",
    .options = options,
    .run = run,
};

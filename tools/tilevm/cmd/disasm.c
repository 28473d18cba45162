/* tilevm disasm: bytecode to text. */
#include "tools/tilevm/cli/cli.h"

enum { OPT_DEBUG = 1, OPT_PREFIX, OPT_OFFSETS, OPT_OUTPUT };

static const cli_option options[] = {
    {OPT_DEBUG, 'g', "debug-info", NULL, "also print locations"},
    {OPT_PREFIX, 0, "prefix", NULL, "write cuda_tile. before ops and types, and a cuda_tile.module around them"},
    {OPT_OFFSETS, 0, "offsets", NULL, "write the byte offset of each op before it, as a comment"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write there instead of to standard output"},
    {0},
};

static int run(cli_args *args)
{
    tv_print_options print = {0};
    const char *value, *input = NULL, *output = NULL;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case CLI_STOP: return args->exit_code;
        case OPT_DEBUG: print.debug_info = true; break;
        case OPT_PREFIX: print.prefix = true; break;
        case OPT_OFFSETS: print.offsets = true; break;
        case OPT_OUTPUT: output = value; break;
        default:
            if (input)
                return cli_usage(args, "one file at a time; '%s' is the second", value);
            input = value;
        }
    }
    if (!input)
        return cli_usage(args, "which file? ('-' is standard input)");
    cli_file file;
    int code = CLI_OK;
    tv_module *module = cli_open_module(args, input, &(tv_open_options){0}, &file, &code);
    if (!module)
        return code;
    cli_out out;
    if (cli_out_open(&out, output)) {
        tv_status status = tv_module_print(module, &print, cli_out_writer(&out));
        if (status == TV_OK)
            code = cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
        else {
            cli_out_abort(&out);
            code = cli_exit_of(status, input);
        }
    } else {
        code = CLI_ERROR;
    }
    tv_module_close(module);
    cli_file_free(&file);
    return code;
}

const cli_command command_disasm = {
    .name = "disasm",
    .operands = "FILE",
    .summary = "print bytecode as text",
    .text =
        "Prints the module as the textual assembly of Tile IR, which `tilevm asm` reads back. The module need not be\n"
        "valid, only readable; what an op's own form cannot say is printed in MLIR's generic form.",
    .options = options,
    .run = run,
};

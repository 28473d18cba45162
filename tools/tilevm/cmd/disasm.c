/* tilevm disasm: bytecode to text. */
#include "tools/tilevm/cli/images.h"

enum { OPT_DEBUG = 1, OPT_PREFIX, OPT_OFFSETS, OPT_OUTPUT };

static const cli_option options[] = {
    {OPT_DEBUG, 'g', "debug-info", NULL, "also print locations"},
    {OPT_PREFIX, 0, "prefix", NULL, "write cuda_tile. before ops and types, and a cuda_tile.module around them"},
    {OPT_OFFSETS, 0, "offsets", NULL, "write the byte offset of each op before it, as a comment"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE, not to standard output"},
    {0},
};

typedef struct disasm_job {
    tv_print_options print;
    cli_out out;
    size_t count; /* of modules */
} disasm_job;

static int print_module(void *user, cli_module *m)
{
    disasm_job *job = user;
    tv_status status = TV_OK;
    if (m->images->inside) {
        bc_text heading;
        bc_text_init(&heading, NULL);
        bc_text_printf(&heading, "%s// %s\n", job->count++ ? "\n" : "", m->name);
        cli_out_text(&job->out, &heading, false);
    }
    status = tv_module_print(m->module, &job->print, cli_out_writer(&job->out));
    return cli_exit_of(status, m->name);
}

static int disasm(cli_args *args, disasm_job *job, const char *input, const char *output)
{
    cli_images images;
    if (!cli_images_open_or_say(input, &images))
        return CLI_ERROR;
    int code = CLI_ERROR;
    if (cli_out_open(&job->out, output)) {
        code = cli_each_image(args, &images, NULL, print_module, job);
        if (code != CLI_OK && !images.inside)
            cli_out_abort(&job->out);
        else if (!cli_out_commit(&job->out))
            code = CLI_ERROR;
    }
    cli_images_close(&images);
    return code;
}

static int run(cli_args *args)
{
    disasm_job job = {0};
    const char *value, *input = NULL, *output = NULL;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case CLI_STOP: return args->exit_code;
        case OPT_DEBUG: job.print.debug_info = true; break;
        case OPT_PREFIX: job.print.prefix = true; break;
        case OPT_OFFSETS: job.print.offsets = true; break;
        case OPT_OUTPUT: output = value; break;
        default:
            if (!cli_take_operand(args, "one file at a time", value, &input))
                return args->exit_code;
        }
    }
    return input ? disasm(args, &job, input, output) : cli_usage(args, "no file was given ('-' is standard input)");
}

const cli_command command_disasm = {
    .name = "disasm",
    .operands = "FILE",
    .summary = "print bytecode as text",
    .text = "tilevm disasm prints a module as Tile IR assembly, which 'tilevm asm' reads back. The module must be\n"
            "readable but need not be valid; an op that its own syntax cannot express is printed in MLIR's\n"
            "generic form. For a program, all its images are printed, each after a comment with its name.",
    .options = options,
    .run = run,
};

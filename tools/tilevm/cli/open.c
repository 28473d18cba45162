/* Opening and writing modules for a command, with everything said on stderr. */
#include <unistd.h>

#include "tools/tilevm/cli/images.h"

tv_module *cli_open_module(cli_args *args, const char *path, const tv_open_options *options, cli_file *file,
                           int *out_exit)
{
    *out_exit = CLI_ERROR;
    if (!cli_read_image_or_say(path, file))
        return NULL;
    cli_printer printer;
    path = cli_file_name(file, path);
    tv_sink sink = cli_printing_sink(&printer, path, args->color);
    tv_module *module = NULL;
    *out_exit = cli_exit_of(tv_module_open(file->bytes, file->size, options, sink, &module), path);
    if (*out_exit == CLI_OK)
        return module;
    cli_file_free(file);
    return NULL;
}

int cli_write_module(const tv_module *module, const char *path, tv_sink sink, const char *output)
{
    cli_out out;
    if (!output && isatty(STDOUT_FILENO))
        return cli_error("bytecode is not for terminals; name a file with -o FILE, or -o - to insist");
    if (!cli_out_open(&out, output))
        return CLI_ERROR;
    int code = cli_exit_of(tv_module_write(module, sink, cli_out_writer(&out)), path);
    if (code != CLI_OK) {
        cli_out_abort(&out);
        return code;
    }
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

int cli_change_module(cli_args *args, const char *path, cli_change *change, void *user, const char *output)
{
    cli_file file;
    int code;
    tv_module *module = cli_open_module(args, path, NULL, &file, &code);
    if (!module)
        return code;
    cli_printer printer;
    path = cli_file_name(&file, path);
    tv_sink sink = cli_printing_sink(&printer, path, args->color);
    code = cli_exit_of(change(user, module, sink), path);
    if (code == CLI_OK)
        code = cli_write_module(module, path, sink, output);
    tv_module_close(module);
    cli_file_free(&file);
    return code;
}

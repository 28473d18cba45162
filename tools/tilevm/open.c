/* Opening a module for a command, with everything said on stderr. */
#include "tools/tilevm/cli.h"

tv_module *cli_open_module(cli_args *args, const char *path, const tv_open_options *options, cli_file *file,
                           int *out_exit)
{
    *out_exit = CLI_ERROR;
    if (!cli_read_or_say(path, file))
        return NULL;
    cli_printer printer;
    tv_sink sink = cli_printing_sink(&printer, path, args->color);
    tv_module *module = NULL;
    tv_status status = tv_module_open(file->bytes, file->size, options, sink, &module);
    if (status == TV_OK) {
        *out_exit = CLI_OK;
        return module;
    }
    if (status == TV_NO_MEMORY)
        cli_error("%s: out of memory", cli_shown_path(path));
    else
        *out_exit = CLI_FAILED;
    cli_file_free(file);
    return NULL;
}

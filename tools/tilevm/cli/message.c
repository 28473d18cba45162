/* Messages of the commands on standard error, and the exit codes that go with them. */
#include <errno.h>
#include <string.h>

#include "tools/tilevm/cli/cli.h"

static void print_message(const char *prefix, const char *command, const char *format, va_list args)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, "%s%s%s: ", prefix, command ? " " : "", command ? command : "");
    bc_text_vprintf(&text, format, args);
    bc_text_char(&text, '\n');
    fflush(stdout);
    if (text.failed || !cli_show(stderr, bc_text_get(&text), false))
        cli_print(stderr, "%s: out of memory\n", prefix); /* whatever was to be said */
    bc_text_release(&text);
}

int cli_usage(cli_args *args, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_message("tilevm", args->command->name, format, list);
    va_end(list);
    cli_print(stderr, "run 'tilevm %s --help' for its options\n", args->command->name);
    return args->exit_code = CLI_ERROR;
}

int cli_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_message("tilevm", NULL, format, list);
    va_end(list);
    return CLI_ERROR;
}

void cli_put_words(bc_text *out, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bc_text_printf(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", words[i]);
}

const char *cli_errno(void)
{
    return errno == ENOMEM ? "out of memory" : strerror(errno);
}

int cli_exit_of(tv_status status, const char *path)
{
    switch (status) {
    case TV_OK: return CLI_OK;
    case TV_INVALID:
    case TV_UNSUPPORTED:
    case TV_TRAP: return CLI_FAILED;
    case TV_NO_MEMORY: return cli_error("%s: out of memory", cli_shown_path(path));
    case TV_IO: return cli_error("cannot write: %s", cli_errno());
    case TV_USAGE: return CLI_ERROR;
    }
    return CLI_ERROR;
}

const char *cli_shown_path(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

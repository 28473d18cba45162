/* The `tilevm` command: finds the subcommand and runs it. Nothing is set up beforehand, so that a call costs no more
   than what its command does. */
#include <string.h>

#include "tools/tilevm/cli/cli.h"

static void print_overview(FILE *out)
{
    fputs("usage: tilevm COMMAND [options] ...\n\n"
          "tilevm verifies, runs, compiles and ships CUDA Tile IR kernels (bytecode versions 13.1 to 13.5).\n\n"
          "commands:\n",
          out);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        fprintf(out, "  %-12s%s\n", command->name, command->summary);
    fputs("  help        show the options of a command\n\n"
          "'tilevm help COMMAND' or 'tilevm COMMAND --help' shows the options of a command. 'tilevm --version' shows "
          "the version.\n"
          "Files are bytecode; '-' is standard input. Exit codes: 0 valid or done, 1 invalid or different,\n"
          "2 wrong usage or a file that cannot be read or written, 130 stopped by ^C.\n",
          out);
}

static const char *command_name_at(const void *user, size_t index)
{
    (void)user;
    const cli_command *command = cli_command_at(index);
    return command ? command->name : NULL;
}

static int unknown_command(const char *name)
{
    const char *closest = cli_closest(name, command_name_at, NULL);
    if (closest)
        cli_error("unknown command '%s'; did you mean '%s'?", name, closest);
    else
        cli_error("unknown command '%s'", name);
    fputs("run 'tilevm --help' for the list of commands\n", stderr);
    return CLI_ERROR;
}

static const cli_option no_options[] = {{0}};
static const cli_command command_help = {
    "help",
    "[COMMAND]",
    "show the options of a command",
    "tilevm help shows the options of a command; without a command it lists the commands.",
    no_options,
    NULL};

static int help(int argc, char **argv)
{
    if (argc < 3) {
        print_overview(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[2], "help") == 0 || strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0) {
        cli_print_help(&command_help, stdout);
        return CLI_OK;
    }
    const cli_command *command = cli_command_find(argv[2]);
    if (!command)
        return unknown_command(argv[2]);
    cli_print_help(command, stdout);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return CLI_ERROR;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc, argv);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        cli_print(stdout, "tilevm %s (commit %s; Tile IR bytecode 13.1 to 13.5)\n", tv_version(), cli_commit);
        return CLI_OK;
    }
    const cli_command *command = cli_command_find(name);
    if (!command)
        return unknown_command(name);
    cli_args args = {.command = command, .commands = cli_command_at, .argc = argc, .argv = argv, .next = 2};
    return command->run(&args);
}

int main(int argc, char **argv)
{
    int code = run(argc, argv);
    /* A full disk or a closed pipe shows only here. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_OK)
        return cli_error("cannot write standard output: %s", cli_errno());
    return code;
}

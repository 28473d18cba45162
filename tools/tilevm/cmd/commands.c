/* The table of subcommands. */
#include <string.h>

#include "tools/tilevm/cli/cli.h"

#define COMMAND(name) extern const cli_command command_##name;
#include "tools/tilevm/cmd/commands.def"

static const cli_command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "tools/tilevm/cmd/commands.def"
    NULL};

const cli_command *cli_command_at(size_t index)
{
    return index < TV_COUNT(commands) ? commands[index] : NULL;
}

const cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

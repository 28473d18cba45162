/* The files that a list of arguments stands for. */
#ifndef TILEVM_TOOLS_CLI_COLLECT_H
#define TILEVM_TOOLS_CLI_COLLECT_H

#include "bytecode/base/arena.h"

typedef struct cli_paths {
    const char **items; /* in the arena */
    size_t count, capacity;
    bc_arena arena;
    const char *ending; /* in directories, only files whose names end so count; NULL: bytecode */
    bool failed;        /* a message was printed: a directory that cannot be read or holds no such files */
} cli_paths;

void cli_paths_init(cli_paths *paths);
void cli_paths_release(cli_paths *paths);

/* The i-th ending of names of bytecode files, ".tbc"; NULL past the last. */
const char *cli_bytecode_ending(size_t i);

/* Adds a file as it is, or every such file below a directory, sorted by name. Bytecode files are those that end
   in .tbc, .tileirbc, .tilebc or .cutile, and others that begin with the magic number; symbolic links to directories
   are not followed. */
void cli_paths_add(cli_paths *paths, const char *path);

#endif

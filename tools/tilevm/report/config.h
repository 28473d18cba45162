/* The tilevm.toml of a command that looks for findings: read, handed on, and told about at the end. */
#ifndef TILEVM_TOOLS_REPORT_CONFIG_H
#define TILEVM_TOOLS_REPORT_CONFIG_H

#include "tools/tilevm/cli/cli.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/report/suppress.h"

/* The option of every such command. */
#define CONFIG_HELP                                                         \
    "suppressed findings with their reasons (default: tilevm.toml in the\n" \
    "current folder, if it exists)"

typedef struct suppress_config {
    const char *path; /* NULL: there is no file, and nothing is suppressed */
    cli_file file;
    suppressions list;
} suppress_config;

/* Reads the file; given NULL: tilevm.toml, if it exists. False, after a message: it cannot be read, or makes no sense.
   The caller releases in any case. */
bool suppress_config_read(suppress_config *c, const char *given);
void suppress_config_release(suppress_config *c);

/* Notes the entries that are about no finding: they can go. */
void suppress_config_tell_unused(const suppress_config *c);

/* Adds the member "suppressions": the entries and how often each was used. */
void suppress_config_json(json_doc *doc, cJSON *parent, const suppress_config *c);
/* The same as a document of its own, in a file. Gives the exit code. */
int suppress_config_write_uses(const suppress_config *c, const char *path);
/* Adds the uses that another process wrote for the same file; out_uses: how many they are. False: that is no such
   document. */
bool suppress_config_add_uses(suppress_config *c, const void *bytes, size_t size, uint64_t *out_uses);

#endif

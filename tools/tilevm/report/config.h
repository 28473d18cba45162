/* The tilevm.toml of a command that reports findings: reads it, passes it to processes, and reports unused entries. */
#ifndef TILEVM_TOOLS_REPORT_CONFIG_H
#define TILEVM_TOOLS_REPORT_CONFIG_H

#include "tools/tilevm/cli/cli.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/report/suppress.h"

/* The help of the option --config. */
#define CONFIG_HELP                                                         \
    "suppressed findings with their reasons (default: tilevm.toml in the\n" \
    "current folder, if it exists)"

typedef struct suppress_config {
    const char *path; /* NULL: there is no file, and nothing is suppressed */
    cli_file file;
    suppressions list;
} suppress_config;

/* Reads the file. given NULL: tilevm.toml, if it exists. False, after a message: the file cannot be read, or is
   invalid. The caller releases in any case. */
bool suppress_config_read(suppress_config *c, const char *given);
void suppress_config_release(suppress_config *c);

/* Prints a note for every entry that matches no finding, so that it can be removed. */
void suppress_config_tell_unused(const suppress_config *c);

/* Adds the member "suppressions": the entries, and the number of uses of each. */
void suppress_config_json(json_doc *doc, cJSON *parent, const suppress_config *c);
/* Writes the same as a document to a file. Returns the exit code. */
int suppress_config_write_uses(const suppress_config *c, const char *path);
/* Adds the uses that another process wrote for the same file; out_uses: how many. False: the document is invalid. */
bool suppress_config_add_uses(suppress_config *c, const void *bytes, size_t size, uint64_t *out_uses);

#endif

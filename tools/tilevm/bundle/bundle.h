/* The actions of `tilevm bundle`, one function each; gives the exit code. */
#ifndef TILEVM_TOOLS_BUNDLE_BUNDLE_H
#define TILEVM_TOOLS_BUNDLE_BUNDLE_H

#include "loader/bundle/bundle.h"
#include "tools/tilevm/bundle/build.h"
#include "tools/tilevm/cli/collect.h"

/* What the command line said. */
typedef struct bundle_request {
    cli_args *args;
    bundle_options build;
    const char *const *paths;
    size_t count;
    const char *output, *key, *passphrase_file, *kernel; /* NULL: not given */
    bool strict, json;
} bundle_request;

int bundle_action_build(const bundle_request *request);
int bundle_action_list(const bundle_request *request);
int bundle_action_show(const bundle_request *request);
int bundle_action_extract(const bundle_request *request);
int bundle_action_verify(const bundle_request *request);
int bundle_action_diff(const bundle_request *request);
int bundle_action_sign(const bundle_request *request);
int bundle_action_join(const bundle_request *request);

/* ---- what they share ---- */

/* Opens a bundle, and checks its signature by a key if one was given. CLI_OK, or how to end: the message was printed.
 */
int bundle_open_or_say(const char *path, const char *key, ld_bundle *out);
/* Prints a message about a damaged bundle, or that memory ran out. Gives CLI_FAILED, or CLI_ERROR. */
int bundle_say_damaged(const char *path, const char *what, const char *problem);
/* The same about a signature that is missing or wrong. Gives CLI_FAILED. */
int bundle_say_unsigned(const char *path, const char *problem);
/* Has the bundle no other kernel whose function has that name? */
bool bundle_has_no_other(const ld_bundle *bundle, const ld_bundle_kernel *kernel);
/* What people call a kernel of the bundle: the name of its function, by which programs find it, too, or its symbol
   where several have that name. */
tv_str bundle_shown_name(const ld_bundle *bundle, const ld_bundle_kernel *kernel);
/* Is it one that `wanted` means: a symbol, a function, or a name of C++ that may leave out namespaces and template
   arguments? */
bool bundle_is_named(const ld_bundle_kernel *kernel, const char *wanted);
/* Prints "3 kernels in 2 modules". */
void bundle_print_counts(const ld_bundle *bundle);
/* Prints the matrix of kernels and targets; only_gaps: no lines for kernels that all targets can run. Gives CLI_OK, or
   what came of a damaged record. */
int bundle_print_matrix(const char *path, const ld_bundle *bundle, bool only_gaps);
/* Checks all of a bundle, and its signatures, whoever they are by; says what is wrong. */
int bundle_check_opened(const char *path, ld_bundle *bundle);
/* Does a manifest, of which only the hash was compared, tell the same as the index? artifacts: by module. Gives what is
   wrong, or NULL. */
const char *bundle_manifest_check(tv_str text, const ld_bundle_head *head, const ld_artifact *const *artifacts);
/* What a target cannot run. */
typedef struct bundle_missing {
    tv_str module, target, why;
} bundle_missing;
/* What a manifest says that the index does not. */
typedef struct bundle_told {
    unsigned opt_level;
    bool line_info, cubins;
    tv_str *targets; /* each with a zero after it */
    size_t target_count;
    bundle_missing *missing;
    size_t missing_count;
} bundle_told;
/* Reads that of a manifest that bundle_manifest_check found fine; strings are in the arena. Gives what is wrong, or
 * NULL. */
const char *bundle_manifest_read(tv_str text, bc_arena *arena, bundle_told *out);
/* The targets of a command line, sorted, each once; the usual ones if none were given. False: one is not known. */
bool bundle_settle_targets(cli_args *args, cli_targets *targets);
/* Says what targets cannot run, and what has no cubin. True if there is something that a target cannot run. */
bool bundle_print_gaps(const bundle_build *build);
/* Builds in memory, from what the request says. */
int bundle_build_bytes(const bundle_request *request, bundle_build *build, bc_text *out);
/* Makes one of the bundles that the request names; options: what they were built with, for the build to point to. */
int bundle_join_bytes(const bundle_request *request, bundle_build *build, bundle_options *options, bc_text *out);

#endif

/* tilevm bundle: one file with the kernels of a program, for many devices. */
#include <string.h>

#include "tools/tilevm/compile/assemble.h"
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/cli/collect.h"

enum {
    OPT_TARGETS = 1,
    OPT_OUTPUT,
    OPT_LEVEL,
    OPT_LINES,
    OPT_EMIT,
    OPT_STRICT,
    OPT_JOBS,
    OPT_KEY,
    OPT_PASSPHRASE,
    OPT_KERNEL,
    OPT_JSON
};

#define EMITS "all|ptx|bytecode"
enum { EMIT_ALL, EMIT_PTX, EMIT_BYTECODE };

#define ACTIONS "build|list|show|extract|verify|diff|sign|join"
enum { BUILD, LIST, SHOW, EXTRACT, VERIFY, DIFF, SIGN, JOIN };

static const cli_option options[] = {
    {OPT_TARGETS, 't', "targets", "sm_XX,...", "build: GPUs to compile for (default sm_80,sm_90,sm_100,sm_120)"},
    {OPT_OUTPUT, 'o', "output", "FILE",
     "build, join, sign: write the bundle to FILE (sign: default the same file);\nextract: the folder to write to "
     "(default: "
     "this one)"},
    {OPT_EMIT, 'e', "emit", EMITS,
     "build: bytecode alone, bytecode and PTX, or (all, the default) cubins\ntoo if there is a ptxas"},
    {OPT_LEVEL, 'O', "opt-level", "N", "build: 0 to 3 (default 3)"},
    {OPT_LINES, 'g', "lineinfo", NULL, "build: line numbers from the debug information"},
    {OPT_STRICT, 's', "strict", NULL, "build, join: fail if a target cannot run a kernel"},
    {OPT_JOBS, 'j', "jobs", "N", "build: threads (default: one for each processor)"},
    {OPT_KEY, 'k', "key", "FILE",
     "sign: the private key; others: the bundle must be signed with the private half\nof this public key (both: PEM "
     "files)"},
    {OPT_PASSPHRASE, 'P', "passphrase-file", "FILE",
     "sign: the first line is the passphrase of an encrypted key; only the\nfile's owner and group may have access to "
     "it"},
    {OPT_KERNEL, 'K', "kernel", "NAME", "show, extract: only that kernel, by symbol or function"},
    {OPT_JSON, 'J', "json", NULL, "list: print the manifest; show, verify, diff: print JSON"},
    {0}};

static int run(cli_args *args);

const cli_command command_bundle = {
    "bundle",
    ACTIONS " FILE...",
    "build, inspect, check and sign bundles of kernels",
    "A bundle (.tvb) is a zip archive with the bytecode, PTX and cubins of many kernels for many GPUs.\n"
    "  build    compiles files and folders of bytecode for all targets and writes a bundle\n"
    "  list     prints the matrix of kernels and targets\n"
    "  show     prints the kernels with their parameters and artifacts\n"
    "  extract  writes the artifacts as files\n"
    "  verify   checks every hash, the archive, the manifest, the bytecode and, with --key, the signature\n"
    "  diff     compares two bundles; the exit code is 1 if they differ\n"
    "  sign     adds an Ed25519 signature\n"
    "  join     merges bundles that were built separately into one, without their signatures",
    options,
    run};

/* ---- build ---- */

int bundle_build_bytes(const bundle_request *request, bundle_build *build, bc_text *out)
{
    int code = bundle_read(build, &request->build, request->paths, request->count);
    if (code == CLI_OK)
        code = bundle_compile(build);
    return code == CLI_OK ? bundle_write(build, out) : code;
}

bool bundle_print_gaps(const bundle_build *build)
{
    bool gaps = false;
    for (size_t i = 0; i < build->source_count; i++)
        for (size_t t = 0; t < build->options->targets.count; t++) {
            const bundle_cell *cell = &build->sources[i].cells[t];
            const char *target = build->options->targets.names[t];
            if (cell->missing.len)
                cli_print(stderr, "%s: %s cannot run it: %s\n", build->sources[i].path, target, cell->missing.ptr);
            else if (cell->no_cubin.len)
                cli_print(stderr, "%s: no cubin for %s, but PTX: ptxas says\n%s", build->sources[i].path, target,
                          cell->no_cubin.ptr);
            gaps |= cell->missing.len != 0;
        }
    return gaps;
}

static int write_bundle(const bundle_request *request, const bundle_build *build, tv_str bytes)
{
    ld_bundle bundle;
    const char *problem = ld_bundle_open_bytes(bytes.ptr, bytes.len, &bundle);
    if (problem)
        return bundle_say_damaged(request->output, "", problem);
    bool gaps = bundle_print_gaps(build);
    int code = bundle_print_matrix(request->output, &bundle, true);
    if (code == CLI_OK && gaps && request->strict) {
        cli_error("%s was not written: not every target can run every kernel (--strict)", request->output);
        code = CLI_FAILED;
    }
    cli_out out;
    if (code == CLI_OK) {
        code = CLI_ERROR;
        if (cli_out_open(&out, request->output)) {
            cli_out_write(&out, bytes.ptr, bytes.len);
            code = cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
        }
    }
    if (code == CLI_OK) {
        size_t targets = build->options->targets.count;
        cli_print(stdout, "%s: ", request->output);
        bundle_print_counts(&bundle);
        if (targets)
            cli_print(stdout, " for %zu target%s, %zu bytes\n", targets, targets == 1 ? "" : "s", bytes.len);
        else
            cli_print(stdout, ", bytecode only, %zu bytes\n", bytes.len);
    }
    ld_bundle_close(&bundle);
    return code;
}

/* The common part of build and join. */
static int make_bundle(const bundle_request *request, bool join)
{
    bundle_build build;
    bundle_options joined;
    bc_text bytes;
    if (!request->output)
        return cli_usage(request->args, "no bundle was named; use -o FILE");
    bc_text_init(&bytes, NULL);
    int code = join ? bundle_join_bytes(request, &build, &joined, &bytes) : bundle_build_bytes(request, &build, &bytes);
    if (code == CLI_OK)
        code = write_bundle(request, &build, bc_text_get(&bytes));
    bundle_build_release(&build);
    bc_text_release(&bytes);
    return code;
}

int bundle_action_build(const bundle_request *request)
{
    return make_bundle(request, false);
}

int bundle_action_join(const bundle_request *request)
{
    return make_bundle(request, true);
}

/* ---- the command ---- */

/* The operands of each action. */
static const struct {
    const char *name;
    int (*run)(const bundle_request *);
    size_t files;        /* 0: any number */
    const char *options; /* letters */
} actions[] = {
    [BUILD] = {"build", bundle_action_build, 0, "toeOgsj"}, [LIST] = {"list", bundle_action_list, 1, "kJ"},
    [SHOW] = {"show", bundle_action_show, 1, "kKJ"},        [EXTRACT] = {"extract", bundle_action_extract, 1, "okK"},
    [VERIFY] = {"verify", bundle_action_verify, 1, "kJ"},   [DIFF] = {"diff", bundle_action_diff, 2, "kJ"},
    [SIGN] = {"sign", bundle_action_sign, 1, "okP"},        [JOIN] = {"join", bundle_action_join, 0, "oks"}};

static bool take_option(bundle_request *request, int id, const char *value, unsigned *emit)
{
    cli_args *args = request->args;
    uint64_t number = 0;
    switch (id) {
    case OPT_TARGETS: return cli_target_list(args, value, &request->build.targets);
    case OPT_OUTPUT: request->output = value; return true;
    case OPT_EMIT: return cli_choice(args, "--emit", value, EMITS, emit);
    case OPT_LINES: request->build.line_info = true; return true;
    case OPT_STRICT: request->strict = true; return true;
    case OPT_KEY: request->key = value; return true;
    case OPT_PASSPHRASE: request->passphrase_file = value; return true;
    case OPT_KERNEL: request->kernel = value; return true;
    case OPT_JSON: request->json = true; return true;
    case OPT_LEVEL:
        if (!cli_number(args, "--opt-level", value, 0, 3, &number))
            return false;
        request->build.opt_level = (unsigned)number;
        return true;
    case OPT_JOBS:
        if (!cli_number(args, "--jobs", value, 1, 1024, &number))
            return false;
        request->build.jobs = (unsigned)number;
        return true;
    default: return false; /* CLI_STOP */
    }
}

static int act(bundle_request *request, unsigned action, unsigned emit, const char *ptxas)
{
    cli_args *args = request->args;
    size_t wanted = actions[action].files;
    if (wanted ? request->count != wanted : !request->count)
        return cli_usage(args, wanted > 1 ? "two bundles are needed" : wanted ? "which bundle?" : "which files?");
    if (action == SIGN && !request->key)
        return cli_usage(args, "sign needs a private key: --key FILE");
    if (!bundle_settle_targets(args, &request->build.targets))
        return args->exit_code;
    request->build.ptxas = emit == EMIT_ALL ? ptxas : NULL;
    if (emit == EMIT_BYTECODE)
        request->build.targets.count = 0;
    return actions[action].run(request);
}

static int refuse_option(cli_args *args, const cli_option *option, const char *action)
{
    const char *words[TV_COUNT(actions)];
    size_t count = 0;
    bc_text list;
    bc_text_init(&list, NULL);
    for (size_t i = 0; i < TV_COUNT(actions); i++)
        if (strchr(actions[i].options, option->letter))
            words[count++] = actions[i].name;
    cli_put_words(&list, words, count);
    cli_usage(args, "--%s is an option of %s, not of %s", option->name, bc_text_words(&list), action);
    bc_text_release(&list);
    return args->exit_code;
}

static int read_and_act(bundle_request *request, cli_paths *paths)
{
    cli_args *args = request->args;
    const char *value, *given = NULL;
    unsigned action = 0, emit = EMIT_ALL;
    bool seen[OPT_JSON + 1] = {false};
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_OPERAND && !given) {
            given = value;
            if (!cli_choice(args, "action", value, ACTIONS, &action))
                return args->exit_code;
        } else if (id == CLI_OPERAND) {
            cli_paths_add(paths, value);
        } else if (!take_option(request, id, value, &emit)) {
            return args->exit_code;
        } else {
            seen[id] = true;
        }
    }
    if (!given)
        return cli_usage(args, "no action was given; the actions are " ACTIONS);
    for (const cli_option *o = options; o->id; o++)
        if (seen[o->id] && !strchr(actions[action].options, o->letter))
            return refuse_option(args, o, given);
    if (paths->failed)
        return CLI_ERROR;
    request->paths = paths->items;
    request->count = paths->count;
    char buffer[ASSEMBLE_PATH];
    return act(request, action, emit, action == BUILD ? assemble_find_ptxas(buffer) : NULL);
}

static int run(cli_args *args)
{
    bundle_request request = {.args = args, .build = {.opt_level = 3, .color = args->color}};
    cli_paths paths;
    cli_paths_init(&paths);
    int code = read_and_act(&request, &paths);
    cli_paths_release(&paths);
    return code;
}

/* tilevm reduce: shrinks a module while a command keeps failing on it. Delta debugging over functions, ops (in halves,
   quarters, ... down to single ones), regions and attributes. A candidate counts only if it is as valid as the original
   was, so the command never sees a broken module unless it was given one. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/tilevm/cli/cli.h"
#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/module/edit.h"

enum { OPT_TEST = 1, OPT_OUTPUT, OPT_TIMEOUT, OPT_QUIET };

static const cli_option options[] = {{OPT_TEST, 't', "test", "CMD",
                                      "shell command; {} is the candidate's path (appended when there is no {})"},
                                     {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE (default FILE.reduced.tbc)"},
                                     {OPT_TIMEOUT, 0, "timeout", "SECONDS",
                                      "a run longer than this counts as passing (default 60)"},
                                     {OPT_QUIET, 'q', "quiet", NULL, "show no progress"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_reduce = {
    "reduce",
    "FILE",
    "shrink a module while a command keeps failing",
    "tilevm reduce looks for a smaller module (first fewer ops and parameters, then fewer bytes) on which\n"
    "the command still fails, that is, exits with a code other than 0 or is killed. It tries to remove\n"
    "entries, globals, parameters, debug information, hints and ops, to replace loops and branches by\n"
    "their bodies, and to make constants zero. Every candidate verifies if FILE does.\n"
    "The command runs in a shell, and its output is discarded. Its exit code must not depend on chance.",
    options,
    run};

typedef struct reducer {
    const char *command;
    unsigned timeout;
    bool quiet, valid;
    int code;            /* not CLI_OK: the reason has been reported, and nothing more is tried */
    bc_text best;        /* bytes of the smallest failing module */
    uint64_t best_parts; /* of it; bytes alone would not do, because tables are padded */
    char candidate[64];  /* path that the command is given */
    unsigned runs, kept;
} reducer;

/* ---- candidates ---- */

static bool append(void *user, const void *bytes, size_t size)
{
    bc_text *text = user;
    bc_text_bytes(text, bytes, size);
    return !text->failed;
}

static tv_module *open_best(reducer *r)
{
    tv_module *m = NULL;
    if (r->code == CLI_OK && tv_module_open(r->best.ptr, r->best.len, NULL, (tv_sink){0}, &m) == TV_NO_MEMORY)
        r->code = cli_error("out of memory");
    return m;
}

/* True when the command fails on the bytes. */
static bool still_fails(reducer *r, const bc_text *bytes)
{
    FILE *f = fopen(r->candidate, "wb");
    bool written = f && fwrite(bytes->ptr, 1, bytes->len, f) == bytes->len;
    if ((f && fclose(f) != 0) || !written) {
        r->code = cli_error("%s: %s", r->candidate, cli_errno());
        return false;
    }
    r->runs++;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(r->timeout);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(0);
        execl("/bin/sh", "sh", "-c", r->command, (char *)NULL);
        _exit(0);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return false;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) != SIGALRM;
    return WEXITSTATUS(status) != 0;
}

/* Ops and parameters. */
static uint64_t count_parts(const tv_module *m)
{
    uint64_t count = 0;
    for (size_t f = 0; f < m->function_count; f++)
        count += m->functions[f].op_count + (uint64_t)m->functions[f].body->arg_count;
    return count;
}

/* The bytes of an edited module if it is valid enough. */
static tv_status write_edited(const reducer *r, tv_module *m, bc_text *out_bytes)
{
    const tv_verify_options quick = {.max_errors = 1};
    TV_TRY(bc_module_compact(m));
    if (r->valid)
        TV_TRY(tv_module_verify(m, &quick, (tv_sink){0}));
    return tv_module_write(m, (tv_sink){0}, (tv_writer){out_bytes, append});
}

/* Takes an edited module: keeps its bytes if it is valid enough, smaller and still failing. Closes it. */
static bool consider(reducer *r, tv_module *m, bool edited)
{
    bc_text bytes;
    uint64_t parts = count_parts(m);
    bc_text_init(&bytes, NULL);
    tv_status status = edited ? write_edited(r, m, &bytes) : TV_INVALID;
    if (m->arena.failed || bytes.failed || status == TV_NO_MEMORY)
        r->code = cli_error("out of memory");
    bool keep = status == TV_OK && r->code == CLI_OK
                && (parts < r->best_parts || (parts == r->best_parts && bytes.len < r->best.len))
                && still_fails(r, &bytes);
    tv_module_close(m);
    if (!keep) {
        bc_text_release(&bytes);
        return false;
    }
    bc_text_release(&r->best);
    r->best = bytes;
    r->best_parts = parts;
    r->kept++;
    if (!r->quiet && isatty(2))
        fprintf(stderr, "\r%zu bytes after %u runs ", r->best.len, r->runs);
    return true;
}

/* ---- passes: each gives true if it kept something ---- */

static bool try_whole(reducer *r, bool (*edit)(bc_module *))
{
    tv_module *m = open_best(r);
    return m && consider(r, m, edit(m));
}

static bool try_each(reducer *r, bool (*edit)(bc_module *, size_t), size_t count)
{
    bool changed = false;
    for (size_t i = count; i-- > 0;) {
        tv_module *m = open_best(r);
        changed |= m && consider(r, m, edit(m, i));
    }
    return changed;
}

static bool try_op(reducer *r, size_t function, uint32_t op)
{
    bool changed = false;
    for (unsigned region = 0; region < 2 && !changed; region++) {
        tv_module *m = open_best(r);
        changed = m && consider(r, m, edit_inline_region(m, function, op, region));
    }
    tv_module *m = open_best(r);
    return (m && consider(r, m, edit_zero_constant(m, function, op))) || changed;
}

static uint32_t op_count(reducer *r, size_t function)
{
    tv_module *m = open_best(r);
    uint32_t count = m && function < m->function_count ? m->functions[function].op_count : 0;
    tv_module_close(m);
    return count;
}

static uint32_t param_count(reducer *r, size_t function)
{
    tv_module *m = open_best(r);
    uint32_t count = m && function < m->function_count ? m->functions[function].body->arg_count : 0;
    tv_module_close(m);
    return count;
}

static bool reduce_function(reducer *r, size_t function)
{
    bool changed = false;
    for (uint32_t chunk = op_count(r, function) / 2 + 1; chunk > 0; chunk /= 2)
        for (uint32_t at = op_count(r, function) / chunk * chunk + chunk; at >= chunk;) {
            at -= chunk;
            tv_module *m = open_best(r);
            changed |= m && consider(r, m, edit_drop_ops(m, function, at, chunk));
        }
    for (uint32_t op = op_count(r, function); op-- > 0;)
        changed |= try_op(r, function, op);
    for (uint32_t param = param_count(r, function); param-- > 0;) {
        tv_module *m = open_best(r);
        changed |= m && consider(r, m, edit_drop_param(m, function, param));
    }
    return changed;
}

static void reduce(reducer *r)
{
    try_whole(r, edit_drop_debug);
    try_whole(r, edit_drop_hints);
    for (bool changed = true; changed;) {
        tv_module *m = open_best(r);
        size_t functions = m ? m->function_count : 0, globals = m ? m->global_count : 0;
        tv_module_close(m);
        changed = try_each(r, edit_drop_function, functions);
        changed |= try_each(r, edit_drop_global, globals);
        m = open_best(r);
        functions = m ? m->function_count : 0;
        tv_module_close(m);
        for (size_t f = 0; f < functions; f++)
            changed |= reduce_function(r, f);
    }
}

/* ---- the command ---- */

/* The command with {} replaced by the path, or the path appended. Owned by the caller. */
static void expand(bc_text *out, const char *command, const char *path)
{
    const char *mark = strstr(command, "{}");
    if (!mark) {
        bc_text_printf(out, "%s '%s'", command, path);
        return;
    }
    for (; mark; command = mark + 2, mark = strstr(command, "{}"))
        bc_text_printf(out, "%.*s'%s'", (int)(mark - command), command, path);
    bc_text_puts(out, command);
}

static int save(const reducer *r, const char *path)
{
    cli_out out;
    if (!cli_out_open(&out, path))
        return CLI_ERROR;
    cli_out_write(&out, r->best.ptr, r->best.len);
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

static int reduce_file(reducer *r, const char *path, const char *output, size_t original)
{
    tv_module *m = open_best(r);
    if (!m)
        return r->code != CLI_OK ? r->code
                                 : cli_error("%s cannot be read as bytecode; see `tilevm verify %s`", path, path);
    tv_status status = tv_module_verify(m, NULL, (tv_sink){0});
    r->valid = status == TV_OK;
    r->best_parts = count_parts(m);
    tv_module_close(m);
    if (status == TV_NO_MEMORY)
        return cli_error("out of memory");
    if (!still_fails(r, &r->best))
        return r->code != CLI_OK ? r->code : cli_error("the command does not fail on %s itself", path);
    reduce(r);
    if (r->code != CLI_OK)
        return r->code;
    int code = save(r, output);
    if (code == CLI_OK && !r->quiet && isatty(2))
        fputc('\r', stderr);
    if (code == CLI_OK && !r->quiet)
        cli_print(stderr, "%s: %zu bytes, from %zu, after %u runs\n", output, r->best.len, original, r->runs);
    return code;
}

static int run(cli_args *args)
{
    reducer r = {.timeout = 60};
    const char *value, *path = NULL, *output = NULL, *command = NULL;
    uint64_t n;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case CLI_STOP: return args->exit_code;
        case OPT_TEST: command = value; break;
        case OPT_OUTPUT: output = value; break;
        case OPT_TIMEOUT:
            if (!cli_number(args, "--timeout", value, 1, 86400, &n))
                return args->exit_code;
            r.timeout = (unsigned)n;
            break;
        case OPT_QUIET: r.quiet = true; break;
        default:
            if (path)
                return cli_usage(args, "takes one FILE");
            path = value;
        }
    }
    if (!path || !command)
        return cli_usage(args, "needs a FILE and --test CMD");
    cli_file file;
    if (!cli_read_image_or_say(path, &file))
        return CLI_ERROR;
    bc_text shell, name;
    bc_text_init(&r.best, NULL);
    bc_text_init(&shell, NULL);
    bc_text_init(&name, NULL);
    bc_text_bytes(&r.best, file.bytes, file.size);
    snprintf(r.candidate, sizeof r.candidate, "/tmp/tilevm-reduce-XXXXXX");
    int fd = mkstemp(r.candidate);
    if (fd < 0)
        return cli_error("%s: %s", r.candidate, cli_errno());
    close(fd);
    expand(&shell, command, r.candidate);
    r.command = shell.ptr;
    bc_text_printf(&name, "%s.reduced.tbc", path);
    bool ready = !r.best.failed && !shell.failed && !name.failed;
    int code = ready ? reduce_file(&r, path, output ? output : name.ptr, file.size) : cli_error("out of memory");
    unlink(r.candidate);
    bc_text_release(&r.best);
    bc_text_release(&shell);
    bc_text_release(&name);
    cli_file_free(&file);
    return code;
}

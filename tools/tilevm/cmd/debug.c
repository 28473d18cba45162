/* tilevm debug: stops a kernel on the virtual machine and shows its values. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tilevm/debug/answer.h"
#include "tools/tilevm/debug/dap.h"

enum {
    OPT_SCRIPT = RUN_OPT_COUNT,
    OPT_COMMAND,
    OPT_BATCH,
    OPT_SOURCE,
    OPT_SNAPSHOTS,
    OPT_RACE,
    OPT_JSON,
    OPT_DAP,
    OPT_DAP_LINES,
    OPT_DAP_PORT
};
enum { MOST_SCRIPTS = 64 };

static const cli_option options[] = {
#define OPTION(name, letter, text, value, help) {RUN_OPT_##name, letter, text, value, help},
#include "tools/tilevm/run/options.def"
    {OPT_SCRIPT, 'x', "execute", "FILE", "execute the commands in FILE first"},
    {OPT_COMMAND, 'c', "command", "COMMAND", "execute COMMAND first, as in -c 'break mmaf'"},
    {OPT_BATCH, 'b', "batch", NULL, "exit after the commands of --execute and --command"},
    {OPT_RACE, 0, "at-race", "N",
     "look for races, and begin before the op of the N-th, counted from 1 in the\n"
     "order in which 'tilevm check' reports them"},
    {OPT_JSON, 'J', "json", NULL, "answer each command with a JSON object on a line, for scripts"},
    {OPT_DAP, 0, "dap", NULL, "speak the Debug Adapter Protocol on standard input and output, for editors"},
    {OPT_DAP_PORT, 0, "dap-port", "PORT",
     "the same on a port of 127.0.0.1, for one connection that sends the printed\n"
     "token, or that of TILEVM_DEBUG_TOKEN (0: any free port)"},
    {OPT_DAP_LINES, 0, "dap-lines", NULL, "the same as --dap with one message per line, for scripts"},
    {OPT_SOURCE, 0, "source", "FOLDER",
     "look for source files here, too (default: where the kernel says, and beside it)"},
    {OPT_SNAPSHOTS, 0, "snapshots", "MIB",
     "most memory for snapshots to go back to, besides a copy of the arrays (default 256)"},
    {0}};

static int run(cli_args *args);

const cli_command command_debug = {
    "debug",
    "FILE --grid X[,Y[,Z]] [NAME=VALUE...]",
    "step through a kernel, forwards and back, and look at its values",
    "tilevm debug runs a kernel on the CPU, with arguments as 'tilevm run' takes them, and stops before its\n"
    "first op. It then takes commands: 'help' lists them. Breakpoints stop at source lines, ops and tile\n"
    "blocks, under conditions; watchpoints stop when memory changes; 'catch' stops where a NaN is made, or\n"
    "at races and other findings of 'tilevm check'. Every run is the same, so 'back', 'reverse-step' and\n"
    "'reverse-continue' go to any earlier point.\n"
    "\n"
    "If standard input is not a terminal, commands come from there, one per line, and are shown with\n"
    "their output. Exit codes: 0, 1 if one of these commands failed, 2 wrong usage or a file that cannot be\n"
    "read.",
    options,
    run};

typedef struct settings {
    const char *scripts[MOST_SCRIPTS]; /* files, or commands where is_command */
    bool is_command[MOST_SCRIPTS];
    size_t count;
    bool batch;
    uint64_t race; /* 0: none */
    bool dap, lines, port_given;
    uint64_t port;
} settings;

static bool add_script(cli_args *args, settings *t, const char *value, bool is_command)
{
    if (t->count == MOST_SCRIPTS) {
        cli_usage(args, "more than %d times --execute or --command", MOST_SCRIPTS);
        return false;
    }
    t->is_command[t->count] = is_command;
    t->scripts[t->count++] = value;
    return true;
}

static bool take_option(cli_args *args, int id, const char *value, debug_session *s, settings *t)
{
    uint64_t number = 0;
    switch (id) {
    case OPT_SCRIPT: return add_script(args, t, value, false);
    case OPT_COMMAND: return add_script(args, t, value, true);
    case OPT_BATCH: t->batch = true; return true;
    case OPT_JSON: s->json = s->job->options.json = true; return true;
    case OPT_RACE: return cli_number(args, "--at-race", value, 1, 1000, &t->race);
    case OPT_DAP: t->dap = true; return true;
    case OPT_DAP_LINES: t->dap = t->lines = true; return true;
    case OPT_DAP_PORT: t->dap = t->port_given = true; return cli_number(args, "--dap-port", value, 0, 65535, &t->port);
    case OPT_SOURCE: s->folder = value; return true;
    case OPT_SNAPSHOTS:
        if (!cli_number(args, "--snapshots", value, 1, SIZE_MAX >> 20, &number))
            return false;
        s->snapshot_bytes = (size_t)number << 20;
        return true;
    default: return run_take_option(args, id, value, &s->job->options);
    }
}

static bool parse_options(cli_args *args, debug_session *s, settings *t)
{
    const char *value;
    for (int id; (id = cli_next(args, &value)) != CLI_END;)
        if (id == CLI_STOP || !take_option(args, id, value, s, t))
            return false;
    if (t->dap && (t->count || t->batch || t->race || s->json)) {
        cli_usage(args, s->json ? "--dap has messages of its own, not those of --json" : "--dap takes no commands");
        return false;
    }
    if (s->job->options.path || t->dap)
        return true;
    cli_usage(args, "which file?");
    return false;
}

/* The N-th race that `tilevm check` would report; findings are in the same order. */
static bool go_to_race(debug_session *s, uint64_t n, bc_text *out, vm_debug_error *error)
{
    vm_debug_finding f;
    vm_debug_event event;
    uint64_t left = n;
    size_t i = 0;
    unsigned number = vm_debug_catch(s->d, bc_str("races"), error);
    if (!number)
        return false;
    vm_debug_delete(s->d, number);
    while (vm_debug_finding_at(s->d, i, &f) && --left)
        i++;
    if (!vm_debug_finding_at(s->d, i, &f))
        return debug_fail(error, "%zu race%s found", i, i == 1 ? " was" : "s were");
    vm_debug_goto(s->d, f.time, &event);
    if (s->answer)
        debug_add_finding(s, s->answer, json_object(s->answer, s->answer->root, "finding"), &f);
    bc_text_printf(out, "%s: %s\n", f.rule, f.text);
    if (f.other != UINT32_MAX) {
        bc_text_puts(out, "the other access\n");
        debug_put_op(s, f.other, false, out);
    }
    debug_stopped(s, &event, out);
    return true;
}

static void answer_start(debug_session *s, json_doc *doc)
{
    const run_job *job = s->job;
    debug_answer_begin(s, doc);
    json_text(doc, doc->root, "file", cli_shown_path(job->options.path));
    if (!s->d)
        return;
    json_text(doc, doc->root, "entry", job->symbol);
    cJSON *grid = json_array(doc, doc->root, "grid");
    for (unsigned i = 0; i < 3; i++)
        json_uint(doc, grid, NULL, job->options.grid[i]);
}

/* Opens the kernel, and says where the run is. */
static int start(debug_session *s, const settings *t)
{
    json_doc doc;
    bc_text out;
    vm_debug_error error = {{0}};
    int code = debug_open(s);
    if (code != CLI_OK && !s->json)
        return code;
    if (s->json)
        answer_start(s, &doc);
    bc_text_init(&out, NULL);
    if (code != CLI_OK)
        debug_fail(&error, "%.300s", s->job->message[0] ? s->job->message : "the kernel cannot be run");
    else if (!t->race)
        debug_put_where(s, &out);
    else if (!go_to_race(s, t->race, &out, &error))
        code = cli_error("--at-race %llu: %s", (unsigned long long)t->race, error.text);
    if (s->json)
        debug_answer_end(s, code == CLI_OK ? NULL : error.text, &out);
    else
        cli_show(stdout, bc_text_get(&out), s->color);
    bc_text_release(&out);
    return code;
}

/* A file of commands cannot be read. */
static int refuse(debug_session *s, const char *problem)
{
    json_doc doc;
    bc_text nothing;
    bc_text_init(&nothing, NULL);
    if (s->json) {
        debug_answer_begin(s, &doc);
        debug_answer_end(s, problem, &nothing);
    }
    return cli_error("%s", problem);
}

static int debug_kernel(debug_session *s, const settings *t)
{
    vm_debug_error error;
    int code = start(s, t);
    if (code != CLI_OK)
        return code;
    for (size_t i = 0; i < t->count && !s->quit; i++) {
        if (t->is_command[i])
            debug_do_shown_line(s, t->scripts[i]);
        else if (!debug_source_file(s, t->scripts[i], &error))
            return refuse(s, error.text);
    }
    if (!s->quit && !t->batch)
        debug_loop(s);
    return s->failed && !s->interactive ? CLI_FAILED : CLI_OK;
}

static int serve(debug_session *s, const settings *t)
{
    struct stat status;
    dap *d = calloc(1, sizeof *d);
    if (!d)
        return cli_error("out of memory");
    bool is_file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    d->wire = (dap_wire){.in = STDIN_FILENO, .out = STDOUT_FILENO, .lines = t->lines, .waits = !is_file};
    d->s = *s;
    d->job = s->job;
    d->given = s->job->options.path != NULL;
    d->s.waiting = dap_is_waiting_for;
    d->s.waiting_user = &d->wire;
    bc_text_init(&d->told, NULL);
    bc_arena_init(&d->texts, NULL, 0);
    int code = t->port_given && !dap_listen(d, (unsigned)t->port) ? CLI_ERROR : dap_serve(d);
    dap_release(d);
    free(d);
    return code;
}

static int run(cli_args *args)
{
    settings t = {.batch = false};
    run_job *job = calloc(1, sizeof *job);
    debug_session s = {.job = job, .source = debug_source_file};
    if (!job)
        return cli_error("out of memory");
    job->args = args;
    if (!parse_options(args, &s, &t)) {
        free(job);
        return args->exit_code;
    }
    if (t.dap) {
        int served = serve(&s, &t);
        run_job_release(job);
        free(job);
        return served;
    }
    report_file_init(&job->report, cli_shown_path(job->options.path));
    job->sink = cli_printing_sink(&job->printer, job->options.path, args->color);
    if (s.json) {
        job->options.vm.output = (tv_writer){.user = job, .write = run_keep_output};
        job->report.told = job->sink;
        job->sink = report_file_sink(&job->report);
    }
    int code = debug_kernel(&s, &t);
    debug_close(&s);
    run_job_release(job);
    free(job);
    return code;
}

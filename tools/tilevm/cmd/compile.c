/* tilevm compile: bytecode to PTX or cubins, for one target or several. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytecode/rules.h"
#include "codegen/explain.h"
#include "tools/tilevm/compile/assemble.h"
#include "tools/tilevm/args/args.h"
#include "tools/tilevm/compile/remarks.h"
#include "tools/tilevm/report/report.h"
#include "tools/tilevm/cli/images.h"

enum {
    OPT_TARGET = 1,
    OPT_OUTPUT,
    OPT_EMIT,
    OPT_LEVEL,
    OPT_LINES,
    OPT_PTX_VERSION,
    OPT_DUMP,
    OPT_STOP,
    OPT_VERIFY_EACH,
    OPT_TIME_PASSES,
    OPT_REMARKS,
    OPT_REMARK_FORMAT,
    OPT_REMARKS_OUTPUT,
    OPT_EXPLAIN,
    OPT_GRID,
    OPT_ARGUMENTS,
    OPT_GPU,
    OPT_JSON
};
enum { EMIT_PTX, EMIT_CUBIN, EMIT_UNSAID };

enum { MOST_ARGUMENTS = 256 }; /* that --arguments can name */

#define FORMS "ptx|cubin"
#define REMARK_FORMS "text|yaml"
static const char gpus[] = "" /* as cg_gpu counts them, from 1 */
#define COLUMN(id, text, ...) "|" text
#define GPU(id, text, ...) "|" text
#include "codegen/cost/gpus.def"
    ;

#define PASS(name, needs, gives, keeps, summary) "\n  " #name ": " summary
static const char dump_help[] = "print the results of passes to standard error; LIST: names with commas\n"
                                "between or all, and @KERNEL for one kernel only"
#include "codegen/passes/passes.def"
    ;
static const char remarks_help[] = "report how ops were compiled; LIST: all, or names with commas between them:\n"
                                   "passed, missed, analysis"
#define CATEGORY(name, text) ", " #name
#include "codegen/kernel/remarks.def"
    ;

static const cli_option options[] = {
    {OPT_TARGET, 't', "target", "sm_XX,...", "GPUs to compile for (default sm_80, or those of a program's images)"},
    {OPT_EMIT, 'e', "emit", FORMS, "what to write (default: the ending of the name after -o, else ptx)"},
    {OPT_OUTPUT, 'o', "output", "FILE",
     "write to FILE, or - (default: FILE's name with the new ending, in this\nfolder); with several targets, each is "
     "put before the ending"},
    {OPT_LEVEL, 'O', "opt-level", "N",
     "0 to 3 (default 3); below 3 no kernel is persistent, as suits kernels that\nshare the GPU with others; at 0 no "
     "load is prefetched"},
    {OPT_LINES, 'g', "lineinfo", NULL, "line numbers from the debug information, for profilers and\ncompute-sanitizer"},
    {OPT_PTX_VERSION, 0, "ptx-version", "N.N", "highest PTX version that may be written, for older drivers"},
    {OPT_EXPLAIN, 0, "explain", NULL,
     "print a summary of each kernel to standard error: vectorised accesses, pipelined loads,\nconversions, and "
     "what bounds each loop; with --json, in the document"},
    {OPT_GRID, 'G', "grid", "X[,Y[,Z]]", "tile blocks of a launch, for the time that --explain and --remarks predict"},
    {OPT_ARGUMENTS, 'A', "arguments", "N=INT,...",
     "integer arguments of that launch, by parameter position, such as sizes\nand strides of arrays"},
    {OPT_GPU, 0, "gpu", gpus + 1,
     "the GPU that predictions are for (default: the first of the target's compute capability). Only h100\nand "
     "h200 are measured; the figures of the others are public data"},
    {OPT_REMARKS, 0, "remarks", "LIST", remarks_help},
    {OPT_REMARK_FORMAT, 0, "remark-format", REMARK_FORMS, "form of the remarks (default text)"},
    {OPT_REMARKS_OUTPUT, 0, "remarks-output", "FILE", "write the remarks to FILE, not to standard error"},
    {OPT_JSON, 'J', "json", NULL, "print JSON: the files written, and the diagnostics"},
    {OPT_DUMP, 0, "dump-after", "LIST", dump_help},
    {OPT_STOP, 0, "stop-after", "PASS", "run the passes up to PASS for dumps and remarks; write nothing"},
    {OPT_VERIFY_EACH, 0, "verify-each", NULL, "check the compiler's own data after every pass"},
    {OPT_TIME_PASSES, 0, "time-passes", NULL, "print the time of each pass for each kernel to standard error"},
    {0}};

static int run(cli_args *args);

const cli_command command_compile = {
    "compile",
    "FILE",
    "compile bytecode to PTX or cubins",
    "tilevm compile verifies the file and compiles its kernels. PTX runs on the target and all later\n"
    "GPUs, with any driver that supports its version; a cubin runs on the target only and loads faster.\n"
    "ptxas makes the cubins (beside this program, in CUDA_HOME/bin or PATH), or the driver if there is no\n"
    "ptxas. For a program, each image is compiled for its own target, unless targets are given, to a file\n"
    "with its number.",
    options,
    run};

typedef struct compile_job {
    cli_args *args;
    const char *input, *output;
    const cli_images *images; /* of the input */
    const cli_image *image;   /* that is compiled, under this name in messages */
    const char *name;
    cli_targets targets;
    bool chosen;              /* the targets were given; else those of a program's images are used */
    unsigned emit, opt_level; /* 0 to 3 */
    tv_compile_options compile;
    cg_launch launch; /* that is predicted */
    int64_t arguments[MOST_ARGUMENTS];
    tv_module *module;
    tv_sink sink;
    const char *ptxas; /* while images are compiled */
    remarks remarks;
    bc_text remark_text, summary;
    const char *remarks_output;
    bool json;
    report_file report; /* diagnostics, for --json */
    json_doc doc;
    bool explain;
    cJSON *target_list, *remark_list; /* remark_list: NULL without --explain */
} compile_job;

/* ---- options ---- */

static bool take_ptx_version(compile_job *job, const char *text)
{
    char *end;
    unsigned long major = isdigit((unsigned char)text[0]) ? strtoul(text, &end, 10) : 0;
    if (major < 6 || major > 99 || *end != '.' || !isdigit((unsigned char)end[1]) || end[2]) {
        cli_usage(job->args, "--ptx-version: '%s' is not a PTX version; write it like 8.0", text);
        return false;
    }
    job->compile.ptx_version = (unsigned)major * 10 + (unsigned)(end[1] - '0');
    return true;
}

static bool take_remarks(compile_job *job, const char *list)
{
    tv_str bad;
    job->remarks.out = &job->remark_text;
    if (remarks_choose(&job->remarks, list, &bad))
        return true;
    const char *names = strchr(remarks_help, '\n') + 1;
    cli_usage(job->args, "--remarks: '%.*s' is not one of all, %s", (int)bad.len, bad.ptr, names);
    return false;
}

static bool take_grid(compile_job *job, const char *text)
{
    io_error error = {0};
    uint32_t grid[3];
    if (!arg_parse_grid(bc_str(text), grid, &error)) {
        cli_usage(job->args, "--grid: %s", error.text);
        return false;
    }
    for (unsigned d = 0; d < 3; d++)
        job->launch.grid[d] = grid[d];
    return true;
}

/* "1=8192,2=-4": the numbers between are 0. */
static bool take_arguments(compile_job *job, const char *list)
{
    for (const char *p = list; p; p = strchr(p, ',')) {
        char *end;
        p += p != list;
        unsigned long at = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : MOST_ARGUMENTS;
        bool named = at < MOST_ARGUMENTS && *end == '=' && (end[1] == '-' || isdigit((unsigned char)end[1]));
        if (named)
            job->arguments[at] = strtoll(end + 1, &end, 10);
        if (!named || (*end && *end != ',')) {
            cli_usage(job->args,
                      "--arguments: '%s' does not say which integer parameters have, like 1=4096,2=128; "
                      "positions are those of `tilevm inspect`, below %d",
                      p, MOST_ARGUMENTS);
            return false;
        }
        job->launch.param_count = at < job->launch.param_count ? job->launch.param_count : at + 1;
    }
    job->launch.params = job->arguments;
    return true;
}

/* False: job->args->exit_code is set. */
static bool take_option(compile_job *job, int id, const char *value)
{
    uint64_t number;
    unsigned form;
    switch (id) {
    case OPT_TARGET: job->chosen = true; return cli_target_list(job->args, value, &job->targets);
    case OPT_OUTPUT: job->output = value; return true;
    case OPT_EMIT: return cli_choice(job->args, "--emit", value, FORMS, &job->emit);
    case OPT_LINES: job->compile.line_info = true; return true;
    case OPT_PTX_VERSION: return take_ptx_version(job, value);
    case OPT_DUMP: job->compile.dump_after = value; return true;
    case OPT_STOP: job->compile.stop_after = value; return true;
    case OPT_VERIFY_EACH: job->compile.verify_each = true; return true;
    case OPT_TIME_PASSES: job->compile.time_passes = true; return true;
    case OPT_JSON: job->json = true; return true;
    case OPT_EXPLAIN: job->explain = true; return true;
    case OPT_GRID: return take_grid(job, value);
    case OPT_ARGUMENTS: return take_arguments(job, value);
    case OPT_GPU:
        if (!cli_choice(job->args, "--gpu", value, gpus + 1, &form))
            return false;
        job->launch.gpu = (cg_gpu)(form + 1);
        return true;
    case OPT_REMARKS: return take_remarks(job, value);
    case OPT_REMARKS_OUTPUT: job->remarks_output = value; return true;
    case OPT_REMARK_FORMAT:
        if (!cli_choice(job->args, "--remark-format", value, REMARK_FORMS, &form))
            return false;
        job->remarks.yaml = form == 1;
        return true;
    case OPT_LEVEL:
        if (!cli_number(job->args, "--opt-level", value, 0, 3, &number))
            return false;
        job->opt_level = (unsigned)number;
        job->compile.opt_level = TV_OPT_LEVEL(job->opt_level);
        return true;
    case CLI_OPERAND: return cli_take_operand(job->args, "one file at a time", value, &job->input);
    default: return false;
    }
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len >= n && strcmp(text + len - n, end) == 0;
}

/* ---- names ---- */

/* The name of the output for a target: "k.sm_90.ptx", of the third image of several "k.3.ptx"; "-" is standard output.
 */
static void put_output_name(const compile_job *job, const char *target, bc_text *out)
{
    const char *input = job->images ? job->images->path : job->input;
    const char *name = job->output ? job->output : strcmp(input, "-") == 0 ? "kernel" : input;
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    if (!job->output)
        name = base;
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base)
        dot = name + strlen(name);
    bc_text_bytes(out, name, (size_t)(dot - name));
    if (job->image && job->images->count > 1)
        bc_text_printf(out, ".%u", job->image->number);
    if (job->targets.count > 1)
        bc_text_printf(out, ".%s", target);
    bc_text_puts(out, job->output ? dot : job->emit == EMIT_CUBIN ? ".cubin" : ".ptx");
}

/* ---- one target ---- */

/* Remarks and summary of a target that was compiled. */
static void print_remarks(compile_job *job)
{
    if (!job->remarks_output) {
        cli_show(stderr, bc_text_get(&job->remark_text), false);
        bc_text_clear(&job->remark_text);
    }
    if (!job->remarks.summary)
        return;
    remarks_summary(&job->remarks);
    cli_show(stderr, bc_text_get(&job->summary), false);
    bc_text_clear(&job->summary);
}

static int write_remarks(const compile_job *job)
{
    cli_out out;
    if (job->remarks.failed || job->remark_text.failed || job->summary.failed)
        return cli_error("out of memory");
    if (!job->remarks_output || !job->remarks.out)
        return CLI_OK;
    if (!cli_out_open(&out, job->remarks_output))
        return CLI_ERROR;
    cli_out_show(&out, bc_text_get(&job->remark_text), false);
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

static int write_output(const compile_job *job, const char *target, tv_str bytes)
{
    cli_out out;
    bc_text name;
    if (job->output && strcmp(job->output, "-") == 0 && job->emit == EMIT_CUBIN && isatty(STDOUT_FILENO))
        return cli_error("a cubin is not for terminals; name a file with -o FILE");
    bc_text_init(&name, NULL);
    put_output_name(job, target, &name);
    if (name.failed) {
        bc_text_release(&name);
        return cli_error("out of memory");
    }
    bool opened = cli_out_open(&out, name.ptr);
    bc_text_release(&name);
    if (!opened)
        return CLI_ERROR;
    cli_out_write(&out, bytes.ptr, bytes.len);
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

static int assemble(compile_job *job, const char *target, tv_str ptx, bc_text *cubin)
{
    bc_text log;
    bc_text_init(&log, NULL);
    assemble_options how = {.opt_level = job->opt_level,
                            .line_info = job->compile.line_info,
                            .target = (unsigned)strtoul(target + 3, NULL, 10),
                            .figures = job->compile.remarks.report != NULL};
    bool fine = job->ptxas ? assemble_with_ptxas(job->ptxas, ptx, &how, cubin, &log)
                           : assemble_with_driver(ptx, &how, cubin, &log);
    tv_str words = bc_text_get(&log);
    if (!fine)
        cli_error("[%s] %s: cannot be assembled for %s by %s\n%.*s%s", bc_rules[BC_RULE_L_ASM_01].id,
                  cli_shown_path(job->name), target, job->ptxas ? job->ptxas : "the driver",
                  (int)words.len - (words.len > 0), words.len ? words.ptr : "",
                  job->ptxas
                      ? ""
                      : "\n   help: set CUDA_HOME to a CUDA toolkit, for its ptxas; or write PTX with --emit ptx");
    else if (!job->ptxas)
        cli_print(
            stderr,
            "tilevm: note: %s: assembled for %s by the driver's linker; the code of a ptxas is faster (TILEVM_PTXAS)\n",
            cli_shown_path(job->name), target);
    else if (how.figures)
        remarks_of_ptxas(bc_text_get(&log), job->compile.remarks);
    bc_text_release(&log);
    return fine ? CLI_OK : CLI_FAILED;
}

static bool predicts(const compile_job *job)
{
    return job->launch.grid[0] || job->launch.params || job->launch.gpu;
}

static tv_status compile_ptx(const compile_job *job, tv_writer out)
{
    return predicts(job)
               ? cg_compile_with(job->module, &job->compile, &(cg_request){.launch = &job->launch}, job->sink, out)
               : tv_compile_ptx(job->module, &job->compile, job->sink, out);
}

/* The plans of each kernel, beside the remarks of the one that was taken. */
static tv_status explain(const compile_job *job)
{
    for (size_t i = 0; i < tv_module_entry_count(job->module); i++) {
        cg_explanation plans;
        TV_TRY(cg_explain(job->module, i, &job->compile, predicts(job) ? &job->launch : NULL, job->sink, &plans));
        cg_report_explanation(&plans, job->compile.remarks);
        cg_explanation_release(&plans);
    }
    return TV_OK;
}

static int compile_for(compile_job *job, const char *target)
{
    bc_text ptx, cubin;
    bc_text_init(&ptx, NULL);
    bc_text_init(&cubin, NULL);
    job->compile.target = job->emit == EMIT_CUBIN ? tv_target_exact(target)
                                                  : target; /* a cubin runs nowhere else anyway */
    tv_verify_options verify = {.target = (unsigned)strtoul(target + 3, NULL, 10)};
    int code = cli_exit_of(tv_module_verify(job->module, &verify, job->sink), job->name);
    if (code == CLI_OK)
        code = cli_exit_of(compile_ptx(job, (tv_writer){.user = &ptx, .write = bc_text_append}), job->name);
    if (code == CLI_OK && job->explain)
        code = cli_exit_of(explain(job), job->name);
    bool writes = !job->compile.stop_after;
    if (code == CLI_OK && writes && job->emit == EMIT_CUBIN)
        code = assemble(job, target, bc_text_get(&ptx), &cubin);
    if (code == CLI_OK && writes)
        code = write_output(job, target, bc_text_get(job->emit == EMIT_CUBIN ? &cubin : &ptx));
    print_remarks(job);
    bc_text_release(&ptx);
    bc_text_release(&cubin);
    return code;
}

/* ---- JSON ---- */

/* The result of a target, with the name of the file that was written. */
static void add_target(compile_job *job, const char *target, int code)
{
    if (!job->json)
        return;
    bc_text name;
    bc_text_init(&name, NULL);
    put_output_name(job, target, &name);
    job->doc.failed |= name.failed;
    cJSON *item = json_object(&job->doc, job->target_list, NULL);
    if (job->images->inside)
        json_uint(&job->doc, item, "image", job->image->number);
    json_text(&job->doc, item, "target", target);
    json_text(&job->doc, item, "emit", job->emit == EMIT_CUBIN ? "cubin" : "ptx");
    bool written = code == CLI_OK && !job->compile.stop_after;
    json_bool(&job->doc, item, "written", written);
    if (written)
        json_str(&job->doc, item, "output", bc_text_get(&name));
    bc_text_release(&name);
}

/* Adds a remark to the JSON document; the sink for text lines, if there is one, gets it, too. */
static void add_remark(void *user, const tv_remark *remark)
{
    compile_job *job = user;
    tv_remark_sink lines = remarks_sink(&job->remarks);
    if (lines.report)
        lines.report(lines.user, remark);
    remarks_json(&job->doc, job->remark_list, job->compile.target, remark);
}

static int write_json(compile_job *job, int code)
{
    cli_out out = {.file = stdout};
    json_doc doc = job->doc;
    if (job->report.problem)
        json_text(&doc, doc.root, "problem", job->report.problem);
    report_json_diags(&doc, doc.root, &job->report);
    bool lost = job->report.lost;
    return json_finish(&doc, &out) && !lost ? code : cli_error("out of memory");
}

/* ---- the command ---- */

/* The images of a program have targets; a file of bytecode has none. */
static void choose_targets(compile_job *job, const co_entry *entry)
{
    char target[16] = "sm_80";
    if (job->chosen)
        return;
    if (entry->sm)
        snprintf(target, sizeof target, "sm_%u%s", entry->sm % 10000, entry->exact ? "a" : "");
    job->targets.count = 0;
    cli_target_list(job->args, target, &job->targets);
}

static int compile_image(void *user, cli_module *m)
{
    compile_job *job = user;
    int worst = CLI_OK;
    job->module = m->module;
    job->image = m->image;
    job->remarks.path = cli_shown_path(m->name);
    job->name = m->name;
    job->sink = m->sink;
    job->compile.remarks = job->remark_list ? (tv_remark_sink){job, add_remark} : remarks_sink(&job->remarks);
    choose_targets(job, &m->image->found.entry);
    /* If one target cannot be compiled, the others are written nevertheless. */
    for (size_t i = 0; i < job->targets.count; i++) {
        int done = compile_for(job, job->targets.names[i]);
        add_target(job, job->targets.names[i], done);
        worst = done > worst ? done : worst;
    }
    return worst;
}

static int compile_images(compile_job *job, const cli_images *images)
{
    bool to_stdout = job->output && strcmp(job->output, "-") == 0;
    char buffer[ASSEMBLE_PATH];
    job->images = images;
    if (to_stdout && images->count > 1)
        return cli_error("%s: %zu images do not fit into one output; name a file, or one image, %s#1", images->path,
                         images->count, images->path);
    if (job->emit == EMIT_CUBIN)
        job->ptxas = assemble_find_ptxas(buffer);
    tv_sink kept = report_file_sink(&job->report);
    int worst = cli_each_image(job->args, images, job->json ? &kept : NULL, compile_image, job);
    int written = worst == CLI_ERROR ? CLI_ERROR : write_remarks(job);
    return written > worst ? written : worst;
}

static int compile_all(compile_job *job)
{
    cli_images images;
    report_file_init(&job->report, job->input);
    if (job->json) {
        cJSON *root = json_document(&job->doc, "compile");
        json_text(&job->doc, root, "file", cli_shown_path(job->input));
        job->target_list = json_array(&job->doc, root, "targets");
        job->remark_list = job->explain ? json_array(&job->doc, root, "remarks") : NULL;
    } else if (job->explain) {
        job->remarks.summary = &job->summary;
    }
    int code = CLI_ERROR;
    if (cli_images_open(job->input, &images, &job->report.problem)) {
        code = compile_images(job, &images);
        cli_images_close(&images);
    } else {
        cli_error("%s", job->report.problem ? job->report.problem : job->input);
    }
    bc_text_release(&job->remark_text);
    bc_text_release(&job->summary);
    if (job->json)
        code = write_json(job, code);
    report_file_release(&job->report);
    return code;
}

static int run(cli_args *args)
{
    compile_job job = {.args = args,
                       .emit = EMIT_UNSAID,
                       .opt_level = 3,
                       .compile = {.dump = cli_showing_writer(stderr)}};
    const char *value;
    bc_text_init(&job.remark_text, NULL);
    bc_text_init(&job.summary, NULL);
    for (int id; (id = cli_next(args, &value)) != CLI_END;)
        if (!take_option(&job, id, value))
            return args->exit_code;
    if (!job.input)
        return cli_usage(args, "no file was given ('-' is standard input)");
    if (!job.remarks.out && (job.remarks_output || job.remarks.yaml))
        return cli_usage(args, "--remark-format and --remarks-output need --remarks");
    if (job.targets.count > 1 && job.output && strcmp(job.output, "-") == 0)
        return cli_usage(args, "several targets do not fit into one output; name a file");
    if (job.json && job.output && strcmp(job.output, "-") == 0)
        return cli_usage(args, "--json and -o - both want standard output; name a file");
    if (job.emit == EMIT_UNSAID)
        job.emit = job.output && ends_in(job.output, ".cubin") ? EMIT_CUBIN : EMIT_PTX;
    return compile_all(&job);
}

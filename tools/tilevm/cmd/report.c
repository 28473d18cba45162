/* tilevm report: a page that shows what the compiler made of a kernel. */
#include <stdlib.h>
#include <string.h>

#include "codegen/compile.h"
#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/compile/remarks.h"
#include "tools/tilevm/page/page.h"
#include "tools/tilevm/run/run.h"

enum { OPT_TARGET = RUN_OPT_COUNT, OPT_OUTPUT, OPT_LEVEL, OPT_SOURCE, OPT_DIFF, OPT_JSON };
enum { MOST_FOLDERS = 16 };

static const cli_option options[] = {
    {OPT_TARGET, 't', "target", "sm_XX", "GPU to compile for (default sm_80, or that of a program's image)"},
    {OPT_OUTPUT, 'o', "output", "FILE",
     "write to FILE, or - (default: FILE's name with the ending .html, in this\nfolder)"},
    {OPT_LEVEL, 'O', "opt-level", "N", "0 to 3 (default 3), as 'tilevm compile' has it"},
    {OPT_SOURCE, 'S', "source", "DIR",
     "look for source files in DIR, too, by the last part of their names; may be\nrepeated (default: only beside "
     "FILE)"},
    {OPT_DIFF, 0, "diff", "OTHER", "show OTHER, an earlier version of the kernel, beside FILE"},
    {OPT_JSON, 'J', "json", NULL, "print the document that the page shows, as JSON"},
#define OPTION(name, letter, text, value, help) {RUN_OPT_##name, letter, text, value, help},
#include "tools/tilevm/run/options.def"
    {0}};

static int run(cli_args *args);

const cli_command command_report = {
    "report",
    "FILE",
    "show what the compiler made of a kernel, as a page",
    "tilevm report compiles the kernels of a file and writes one HTML page that needs nothing else: source\n"
    "lines, ops and PTX, linked; the layout of every tile; shared memory over time; the registers that tiles\n"
    "take; each loop's pipeline; what was vectorised, pipelined and converted, or why not; a roofline.",
    options,
    run};

/* A version of the kernel. */
typedef struct report_side {
    const char *path;
    cJSON *item; /* where it stands in the document */
    cJSON *kernels, *remarks;
    page_sources sources;
    char *folder; /* that the file is in */
} report_side;

typedef struct report_job {
    cli_args *args;
    run_options run;
    cli_targets targets;
    const char *output, *other;
    unsigned opt_level;
    const char *folders[MOST_FOLDERS + 1]; /* the first is the file's own */
    size_t folder_count;
    bool json;
    json_doc doc;
    report_side *side; /* that is compiled */
    const char *target;
    tv_compile_options how;
    tv_str symbol; /* of the only kernel that is wanted; empty: all are */
} report_job;

/* ---- options ---- */

static bool take_folder(report_job *job, const char *value)
{
    if (job->folder_count == MOST_FOLDERS) {
        cli_usage(job->args, "--source: at most %d folders", MOST_FOLDERS);
        return false;
    }
    job->folders[++job->folder_count] = value;
    return true;
}

static bool take_option(report_job *job, int id, const char *value)
{
    uint64_t number;
    switch (id) {
    case OPT_TARGET: return cli_target_list(job->args, value, &job->targets);
    case OPT_OUTPUT: job->output = value; return true;
    case OPT_SOURCE: return take_folder(job, value);
    case OPT_DIFF: job->other = value; return true;
    case OPT_JSON: job->json = true; return true;
    case OPT_LEVEL:
        if (!cli_number(job->args, "--opt-level", value, 0, 3, &number))
            return false;
        job->opt_level = (unsigned)number;
        return true;
    default: return run_take_option(job->args, id, value, &job->run);
    }
}

static bool parse_options(report_job *job)
{
    const char *value;
    for (int id; (id = cli_next(job->args, &value)) != CLI_END;)
        if (id == CLI_STOP || !take_option(job, id, value))
            return false;
    if (!job->run.path)
        cli_usage(job->args, "which file?");
    else if (job->targets.count > 1)
        cli_usage(job->args, "--target: a report is for one GPU");
    else if (job->json && job->output)
        cli_usage(job->args, "--json prints the document; leave --output out");
    else
        return true;
    return false;
}

/* ---- a version ---- */

/* Of the file; "." where it is in this one, or comes from standard input. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* The kernel has been compiled, so that weighing its plans reports nothing new. */
static void add_plans(report_job *job, cJSON *kernel, const cg_model *model)
{
    size_t entry;
    cg_explanation x;
    if (tv_module_entry_find(model->m, model->f->name->s, (tv_sink){0}, &entry) != TV_OK
        || cg_explain(model->m, entry, &job->how, NULL, (tv_sink){0}, &x) != TV_OK)
        return;
    page_add_plans(&job->doc, kernel, &x);
    cg_explanation_release(&x);
}

static bool see(void *user, const cg_model *model)
{
    report_job *job = user;
    if (job->symbol.len && !bc_str_eq(job->symbol, model->f->name->s))
        return true;
    cJSON *kernel = page_add_kernel(&job->doc, job->side->kernels, model);
    page_add_sources(&job->doc, &job->side->sources, model);
    add_plans(job, kernel, model);
    return !job->doc.failed;
}

static void take_remark(void *user, const tv_remark *remark)
{
    report_job *job = user;
    if (!job->symbol.len || bc_str_eq(job->symbol, remark->function))
        remarks_json(&job->doc, job->side->remarks, job->target, remark);
}

static bool drop(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    return true;
}

static int compile(report_job *job, tv_module *module, tv_sink sink, const char *name)
{
    cg_witness witness = {.user = job, .see = see};
    job->how = (tv_compile_options){.target = job->target,
                                    .opt_level = TV_OPT_LEVEL(job->opt_level),
                                    .remarks = {job, take_remark}};
    tv_verify_options verify = {.target = (unsigned)strtoul(job->target + 3, NULL, 10)};
    int code = cli_exit_of(tv_module_verify(module, &verify, sink), name);
    size_t entry;
    job->symbol = (tv_str){0};
    if (code == CLI_OK && job->run.entry) {
        code = cli_exit_of(tv_module_entry_find(module, bc_str(job->run.entry), sink, &entry), name);
        job->symbol = code == CLI_OK ? tv_module_entry_name(module, entry) : job->symbol;
    }
    if (code != CLI_OK)
        return code;
    tv_status status =
        cg_compile_with(module, &job->how, &(cg_request){.witness = &witness}, sink, (tv_writer){.write = drop});
    return job->doc.failed ? cli_error("out of memory") : cli_exit_of(status, name);
}

static int add_file(report_job *job, const cli_file *file, const char *name)
{
    cli_printer printer;
    tv_sink sink = cli_printing_sink(&printer, name, job->args->color);
    tv_module *module;
    int code = cli_exit_of(tv_module_open(file->bytes, file->size, NULL, sink, &module), name);
    if (code != CLI_OK)
        return code;
    code = compile(job, module, sink, name);
    tv_module_close(module);
    return code;
}

/* The image of the file that has the entry, and for which target it is unless that was said. */
static bool read_image(report_job *job, const char *path, cli_file *out, char target[16])
{
    cli_images images;
    char *problem = NULL;
    bool taken = false;
    snprintf(target, 16, "%s", job->targets.count ? job->targets.names[0] : "sm_80");
    if (cli_images_open(path, &images, &problem)) {
        const co_entry *entry = images.count ? &images.items[0].found.entry : NULL;
        if (!job->targets.count && entry && entry->sm)
            snprintf(target, 16, "sm_%u%s", entry->sm % 10000, entry->exact ? "a" : "");
        taken = cli_images_take(&images, job->run.entry, out, &problem);
        cli_images_close(&images);
    }
    return taken || cli_say_problem(problem);
}

static int add_side(report_job *job, report_side *side, cJSON *item)
{
    cli_file file = {0};
    char target[16];
    if (!read_image(job, side->path, &file, target))
        return CLI_ERROR;
    const char *name = cli_file_name(&file, side->path);
    side->folder = folder_of(side->path);
    job->folders[0] = side->folder ? side->folder : ".";
    job->side = side;
    job->target = target;
    json_text(&job->doc, item, "file", name);
    json_text(&job->doc, item, "target", target);
    side->kernels = json_array(&job->doc, item, "kernels");
    side->remarks = json_array(&job->doc, item, "remarks");
    side->sources = (page_sources){.list = json_array(&job->doc, item, "sources"),
                                   .folders = job->folders,
                                   .folder_count = job->folder_count + 1};
    int code = add_file(job, &file, name);
    cli_file_free(&file);
    free(side->folder);
    return code;
}

/* ---- output ---- */

/* "k.html" for "dir/k.tbc". False: out of memory. */
static bool put_name(const report_job *job, bc_text *out)
{
    const char *path = strcmp(job->run.path, "-") == 0 ? "kernel" : job->run.path;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    bc_text_bytes(out, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    bc_text_puts(out, ".html");
    return !out->failed;
}

static int write_page(report_job *job)
{
    bc_text document, name;
    cli_out out;
    bc_text_init(&document, NULL);
    bc_text_init(&name, NULL);
    bool fine = json_finish_line(&job->doc, &document) && put_name(job, &name);
    int code = fine ? CLI_OK : cli_error("out of memory");
    if (fine && !cli_out_open(&out, job->output ? job->output : name.ptr))
        code = CLI_ERROR;
    if (code == CLI_OK) {
        page_write(&out, bc_text_get(&document));
        code = cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
    }
    bc_text_release(&document);
    bc_text_release(&name);
    return code;
}

static int write_report(report_job *job)
{
    cli_out out = {.file = stdout};
    if (!job->json)
        return write_page(job);
    return json_finish(&job->doc, &out) ? CLI_OK : cli_error("out of memory");
}

static int run_report(report_job *job)
{
    report_side side = {.path = job->run.path}, other = {.path = job->other};
    cJSON *root = json_document(&job->doc, "report");
    json_text(&job->doc, root, "version", tv_version());
    int code = add_side(job, &side, root);
    if (code == CLI_OK && job->other)
        code = add_side(job, &other, json_object(&job->doc, root, "other"));
    return code;
}

static int run(cli_args *args)
{
    report_job *job = calloc(1, sizeof *job);
    bc_text dropped;
    if (!job)
        return cli_error("out of memory");
    job->args = args;
    job->opt_level = 3;
    int code = parse_options(job) ? run_report(job) : args->exit_code;
    if (code == CLI_OK && job->doc.root) {
        code = write_report(job);
    } else if (job->doc.root) {
        bc_text_init(&dropped, NULL);
        json_finish_line(&job->doc, &dropped);
        bc_text_release(&dropped);
    }
    free(job);
    return code;
}

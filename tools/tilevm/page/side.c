/* A version of a kernel: compiled, and added to the document. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/compile/remarks.h"
#include "tools/tilevm/page/page.h"

typedef struct side {
    const page_options *options;
    json_doc *doc;
    cJSON *kernels, *remarks;
    page_sources sources;
    char target[16];
    tv_compile_options how;
    cg_request request;
    tv_str symbol; /* of the only kernel that is wanted; empty: all are */
} side;

/* The kernel has been compiled before, so weighing its plans reports nothing new. */
static void add_plans(side *s, cJSON *kernel, const cg_model *model)
{
    size_t entry;
    cg_explanation x;
    tv_status status = tv_module_entry_find(model->m, model->f->name->s, (tv_sink){0}, &entry);
    if (status == TV_OK)
        status = cg_explain(model->m, entry, &s->how, s->request.launch, (tv_sink){0}, &x);
    s->doc->failed |= status == TV_NO_MEMORY;
    if (status != TV_OK)
        return;
    page_add_plans(s->doc, kernel, &x);
    cg_explanation_release(&x);
}

static bool see(void *user, const cg_model *model)
{
    side *s = user;
    if (s->symbol.len && !bc_str_eq(s->symbol, model->f->name->s))
        return true;
    cJSON *kernel = page_add_kernel(s->doc, s->kernels, model);
    page_add_sources(s->doc, &s->sources, model);
    add_plans(s, kernel, model);
    return !s->doc->failed;
}

static void take_remark(void *user, const tv_remark *remark)
{
    side *s = user;
    if (!s->symbol.len || bc_str_eq(s->symbol, remark->function))
        remarks_json(s->doc, s->remarks, s->target, remark);
}

static bool drop(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    return true;
}

static int compile(side *s, tv_module *module, tv_sink sink, const char *name)
{
    const char *wanted = s->options->entry;
    cg_witness witness = {.user = s, .see = see};
    tv_verify_options verify = {.target = (unsigned)strtoul(s->target + 3, NULL, 10)};
    int code = cli_exit_of(tv_module_verify(module, &verify, sink), name);
    size_t entry;
    if (code == CLI_OK && wanted) {
        code = cli_exit_of(tv_module_entry_find(module, bc_str(wanted), sink, &entry), name);
        s->symbol = code == CLI_OK ? tv_module_entry_name(module, entry) : s->symbol;
    }
    if (code != CLI_OK)
        return code;
    s->how = (tv_compile_options){.target = s->target,
                                  .opt_level = TV_OPT_LEVEL(s->options->opt_level),
                                  .remarks = {s, take_remark}};
    s->request = (cg_request){.witness = &witness, .launch = s->options->launch};
    tv_status status = cg_compile_with(module, &s->how, &s->request, sink, (tv_writer){.write = drop});
    return s->doc->failed ? cli_error("out of memory") : cli_exit_of(status, name);
}

static int add_file(side *s, const cli_file *file, const char *name)
{
    cli_printer printer;
    tv_sink sink = cli_printing_sink(&printer, name, s->options->args->color);
    if (s->options->quiet)
        sink = (tv_sink){0};
    tv_module *module;
    int code = cli_exit_of(tv_module_open(file->bytes, file->size, NULL, sink, &module), name);
    if (code != CLI_OK)
        return code;
    code = compile(s, module, sink, name);
    tv_module_close(module);
    return code;
}

/* Finds the image of the file that has the entry. If there is only one, its target is used unless one was given. */
static bool read_image(side *s, const char *path, cli_file *out)
{
    cli_images images;
    char *problem = NULL;
    bool taken = false;
    if (cli_images_open(path, &images, &problem)) {
        const co_entry *entry = images.count == 1 ? &images.items[0].found.entry : NULL;
        if (!s->options->target && entry && entry->sm)
            snprintf(s->target, sizeof s->target, "sm_%u%s", entry->sm % 10000, entry->exact ? "a" : "");
        taken = cli_images_take(&images, s->options->entry, out, &problem);
        cli_images_close(&images);
    }
    return taken || cli_say_problem(problem);
}

/* Of the file; "." where it is in this one, or comes from standard input. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

int page_add_side(json_doc *doc, cJSON *item, const page_options *options, const char *path)
{
    side s = {.options = options, .doc = doc};
    cli_file file = {0};
    bool again = options->input && strcmp(path, "-") == 0;
    snprintf(s.target, sizeof s.target, "%s", options->target ? options->target : "sm_80");
    if (!again && !read_image(&s, path, &file))
        return CLI_ERROR;
    const char *name = cli_file_name(&file, path), *folders[PAGE_MOST_FOLDERS + 1];
    char *folder = folder_of(path);
    doc->failed |= !folder;
    folders[0] = folder ? folder : ".";
    for (size_t i = 0; i < options->folder_count; i++)
        folders[i + 1] = options->folders[i];
    json_text(doc, item, "file", name);
    json_text(doc, item, "target", s.target);
    s.kernels = json_array(doc, item, "kernels");
    s.remarks = json_array(doc, item, "remarks");
    s.sources = (page_sources){.list = json_array(doc, item, "sources"),
                               .folders = folders,
                               .folder_count = options->folder_count + 1};
    int code = add_file(&s, again ? options->input : &file, name);
    cli_file_free(&file);
    free(folder);
    return code;
}

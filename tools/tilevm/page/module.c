/* The kernels of a module: compiled, and added to the document. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/compile/remarks.h"
#include "tools/tilevm/page/page.h"

typedef struct side {
    const page_options *options;
    const page_subject *subject;
    json_doc *doc;
    cJSON *kernels, *remarks;
    page_sources sources;
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
        remarks_json(s->doc, s->remarks, s->subject->target, remark);
}

static bool drop(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    return true;
}

static int compile(side *s)
{
    const page_subject *of = s->subject;
    const char *wanted = s->options->entry;
    cg_witness witness = {.user = s, .see = see};
    tv_verify_options verify = {.target = (unsigned)strtoul(of->target + 3, NULL, 10)};
    int code = cli_exit_of(tv_module_verify(of->module, &verify, of->sink), of->name);
    size_t entry;
    if (code == CLI_OK && wanted) {
        code = cli_exit_of(tv_module_entry_find(of->module, bc_str(wanted), of->sink, &entry), of->name);
        s->symbol = code == CLI_OK ? tv_module_entry_name(of->module, entry) : s->symbol;
    }
    if (code != CLI_OK)
        return code;
    s->how = (tv_compile_options){.target = of->target,
                                  .opt_level = TV_OPT_LEVEL(s->options->opt_level),
                                  .remarks = {s, take_remark}};
    s->request = (cg_request){.witness = &witness, .launch = s->options->launch};
    tv_status status = cg_compile_with(of->module, &s->how, &s->request, of->sink, (tv_writer){.write = drop});
    return s->doc->failed ? cli_error("out of memory") : cli_exit_of(status, of->name);
}

int page_add_module(json_doc *doc, cJSON *item, const page_options *options, const page_subject *subject)
{
    side s = {.options = options, .subject = subject, .doc = doc};
    json_text(doc, item, "file", subject->name);
    json_text(doc, item, "target", subject->target);
    s.kernels = json_array(doc, item, "kernels");
    s.remarks = json_array(doc, item, "remarks");
    s.sources = (page_sources){.list = json_array(doc, item, "sources"),
                               .folders = subject->folders,
                               .folder_count = subject->folder_count};
    return compile(&s);
}

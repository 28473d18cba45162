/* The page of `tilevm report`, for a kernel of the open file. */
#include <emscripten.h>

#include "bytecode/module.h"
#include "tools/web/web.h"

static bool add_kernel(web_page *page, json_doc *doc, cJSON *root, unsigned entry, const char *target,
                       const cg_launch *launch)
{
    bc_text symbol;
    const page_subject subject = {.module = page->module,
                                  .name = page->name,
                                  .target = target,
                                  .sink = web_sink(page, WEB_REPORT_FINDINGS)};
    bc_text_init(&symbol, NULL);
    bc_text_str(&symbol, tv_module_entry_name(page->module, entry));
    const page_options options = {.entry = bc_text_words(&symbol), .opt_level = 3, .launch = launch};
    bool good = !symbol.failed && page_add_module(doc, root, &options, &subject) == CLI_OK;
    bc_text_release(&symbol);
    return good;
}

/* Errors of the kernel are part of the report. */
static bool add_run(json_doc *doc, cJSON *root, web_work *work)
{
    page_watch watch;
    page_watch_init(&watch);
    bool good = page_run_twice(&work->tiles, &watch, web_run_once) != CLI_ERROR;
    if (good)
        page_tiles_add(doc, page_add_run(doc, root, &work->tiles.job, &watch), &work->tiles);
    page_watch_release(&watch);
    return good;
}

/* Makes the report of a kernel for a target, as WEB_REPORT; with_run: after two runs, for at most so many ms. Gives 0
   if there is none, and WEB_REPORT_FINDINGS says why. */
EMSCRIPTEN_KEEPALIVE int web_report(web_page *page, unsigned entry, const char *target, int with_run, unsigned x,
                                    unsigned y, unsigned z, unsigned seed, double most_ms)
{
    const web_launch launch = {.entry = entry, .grid = {x, y, z}, .seed = seed, .most_ms = most_ms};
    json_doc doc = {0};
    web_work *work = NULL;
    const cg_launch *known = NULL;
    bc_text_clear(&page->parts[WEB_REPORT]);
    bc_text_clear(&page->parts[WEB_REPORT_FINDINGS]);
    if (!page->valid || entry >= tv_module_entry_count(page->module))
        return 0;
    if (with_run) {
        work = web_work_open(page, &launch, (tv_sink){0}, WEB_REPORT_FINDINGS);
        known = work ? page_launch(&work->tiles.job) : NULL;
        if (!known) {
            if (work)
                web_work_close(work);
            return 0;
        }
    }
    cJSON *root = json_document(&doc, "report");
    json_text(&doc, root, "version", tv_version());
    bool good = add_kernel(page, &doc, root, entry, target, known) && (!work || add_run(&doc, root, work))
                && page_print(&doc, &page->parts[WEB_REPORT]);
    json_drop(&doc);
    if (work)
        web_work_close(work);
    return good;
}

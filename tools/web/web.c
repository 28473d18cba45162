/* The functions that the page calls: they open and verify a file, and return what is known about it as texts.
   JavaScript gets pointers to strings that live until the next call that makes the same part, or until web_close. */
#include <emscripten.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/cli/cli.h"
#include "tools/web/web.h"

/* Opens bytecode, or assembly where the file does not begin as bytecode does. Takes over bytes, which malloc gave.
   NULL: out of memory. */
EMSCRIPTEN_KEEPALIVE web_page *web_open(const char *name, void *bytes, size_t size)
{
    static const char magic[] = "\x7fTileIR";
    bool binary = size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
    web_page *page = calloc(1, sizeof *page);
    if (!page) {
        free(bytes);
        return NULL;
    }
    page->bytes = bytes;
    for (unsigned i = 0; i < WEB_PART_COUNT; i++)
        bc_text_init(&page->parts[i], NULL);
    page->name = malloc(strlen(name) + 1);
    if (page->name)
        memcpy(page->name, name, strlen(name) + 1);
    tv_sink sink = web_sink(page, WEB_FINDINGS);
    tv_status status = page->name ? TV_OK : TV_NO_MEMORY;
    if (status == TV_OK)
        status = binary ? tv_module_open(bytes, size, NULL, sink, &page->module)
                        : tv_module_parse(bytes, size, 0, NULL, sink, &page->module);
    if (status == TV_OK)
        status = tv_module_verify(page->module, NULL, sink);
    page->valid = status == TV_OK;
    return page;
}

EMSCRIPTEN_KEEPALIVE void web_close(web_page *page)
{
    if (!page)
        return;
    tv_module_close(page->module);
    for (unsigned i = 0; i < WEB_PART_COUNT; i++)
        bc_text_release(&page->parts[i]);
    free(page->name);
    free(page->bytes);
    free(page);
}

/* Whether the module keeps every rule, so that its kernels can be run and compiled. */
EMSCRIPTEN_KEEPALIVE int web_is_valid(const web_page *page)
{
    return page->valid;
}

EMSCRIPTEN_KEEPALIVE const char *web_part(const web_page *page, unsigned part)
{
    return part < WEB_PART_COUNT ? bc_text_words(&page->parts[part]) : "";
}

EMSCRIPTEN_KEEPALIVE int web_was_cut(const web_page *page, unsigned part)
{
    return part >= WEB_PART_COUNT || page->parts[part].failed;
}

/* ---- parts ---- */

static void report(void *user, const tv_diag *diag)
{
    const web_told *told = user;
    cli_diag_text(&told->page->parts[told->part], told->page->name, diag, false);
}

tv_sink web_sink(web_page *page, web_part_kind part)
{
    bc_text_clear(&page->parts[part]);
    page->told[part] = (web_told){page, part};
    return (tv_sink){.user = &page->told[part], .report = report};
}

/* The module as text, valid or not. */
EMSCRIPTEN_KEEPALIVE int web_list(web_page *page)
{
    bc_text *out = &page->parts[WEB_LISTING];
    bc_text_clear(out);
    return page->module && tv_module_print(page->module, NULL, (tv_writer){out, bc_text_append}) == TV_OK;
}

/* The kernels, a line for each: their functions' names as people know them. */
EMSCRIPTEN_KEEPALIVE int web_list_kernels(web_page *page)
{
    bc_text *out = &page->parts[WEB_KERNELS];
    bc_text_clear(out);
    for (size_t i = 0; page->module && i < tv_module_entry_count(page->module); i++) {
        tv_signature *signature = NULL;
        tv_str name = tv_module_entry_name(page->module, i);
        if (page->valid && tv_signature_of_entry(page->module, i, (tv_sink){0}, &signature) == TV_OK)
            name = tv_signature_function(signature);
        bc_text_visible(out, name, "");
        bc_text_char(out, '\n');
        tv_signature_close(signature);
    }
    return !out->failed;
}

/* The targets of the compiler, a line for each. */
EMSCRIPTEN_KEEPALIVE int web_list_targets(web_page *page)
{
    bc_text *out = &page->parts[WEB_TARGETS];
    const char *last = NULL;
    bc_text_clear(out);
    for (unsigned sm = 80; sm < 200; sm++)
        for (unsigned exact = 0; exact < 2; exact++) {
            const char *name = tv_target_for(sm, exact, 0);
            if (!name || !strstr(name, "_") || (unsigned)atoi(strchr(name, '_') + 1) != sm
                || (last && strcmp(last, name) == 0))
                continue;
            bc_text_printf(out, "%s\n", name);
            last = name;
        }
    return !out->failed;
}

/* PTX for a target; if there is none, WEB_PTX has the reasons. */
EMSCRIPTEN_KEEPALIVE int web_compile(web_page *page, const char *target)
{
    tv_sink sink = web_sink(page, WEB_PTX_FINDINGS);
    bc_text *out = &page->parts[WEB_PTX];
    bc_text_clear(out);
    return page->valid
           && tv_compile_ptx(page->module, &(tv_compile_options){.target = target}, sink,
                             (tv_writer){out, bc_text_append})
                  == TV_OK;
}

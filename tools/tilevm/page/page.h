/* A report on a kernel: `tilevm report`. C makes a document, docs/reference/json.md#report, of what the code generator
   and the virtual machine know; the page draws it. The page's own files, page.html, page.css and the scripts, are put
   into the command when it is built.

     model.c    a compiled kernel as part of the document
     plans.c    the plans that were weighed
     source.c   the lines of the source
     html.c     the page around a document */
#ifndef TILEVM_TOOLS_PAGE_PAGE_H
#define TILEVM_TOOLS_PAGE_PAGE_H

#include "codegen/explain.h"
#include "tools/tilevm/cli/json.h"

/* What is left out of a document that would be too large for a page; the document says so. */
enum { PAGE_MOST_OPS = 20000, PAGE_MOST_SOURCE_BYTES = 256 << 10, PAGE_MOST_SOURCES = 64 };

/* Adds the kernel to the list, and gives where it stands. */
cJSON *page_add_kernel(json_doc *doc, cJSON *kernels, const cg_model *model);
void page_add_plans(json_doc *doc, cJSON *kernel, const cg_explanation *explanation);

/* Adds the source files that the model's ops name to the list, if they are not in it. They are looked for by the last
   part of their name in these folders only: a module may name any file of the host, and a report is passed on. */
typedef struct page_sources {
    cJSON *list;
    const char *const *folders;
    size_t folder_count;
    tv_str seen[PAGE_MOST_SOURCES]; /* their names, which belong to modules */
    size_t count;
} page_sources;
void page_add_sources(json_doc *doc, page_sources *sources, const cg_model *model);

/* The page of a document, which is JSON. */
void page_write(cli_out *out, tv_str document);

/* page.html, page.css and the scripts: made from the files by tools/embed_text.sh. */
extern const char page_html[], page_style[], page_script[];

#endif

/* An open file of the page in a browser. */
#ifndef TILEVM_TOOLS_WEB_WEB_H
#define TILEVM_TOOLS_WEB_WEB_H

#include "bytecode/base/visible.h"
#include "tools/tilevm/page/page.h"

/* Texts, by the numbers that page.js has. */
typedef enum web_part_kind {
    WEB_FINDINGS,     /* of the reader and the verifier */
    WEB_LISTING,      /* the module as text */
    WEB_KERNELS,      /* a line for each */
    WEB_TARGETS,      /* a line for each */
    WEB_ARRAYS,       /* of the last run: a line for each argument, columns with tabs between them */
    WEB_FIGURES,      /* of the last run */
    WEB_RUN_FINDINGS, /* what stopped the run, and what its checks found */
    WEB_OUTPUT,       /* what the kernel printed */
    WEB_PTX,
    WEB_PTX_FINDINGS,
    WEB_REPORT, /* a page of its own */
    WEB_REPORT_FINDINGS,
    WEB_PART_COUNT
} web_part_kind;

typedef struct web_page web_page;

typedef struct web_told {
    web_page *page;
    web_part_kind part;
} web_told;

struct web_page {
    char *name;  /* of the file; owned */
    void *bytes; /* of it; owned */
    tv_module *module;
    bool valid;
    bc_text parts[WEB_PART_COUNT];
    web_told told[WEB_PART_COUNT];
};

/* Empties a part; diagnostics then go to it as text. */
tv_sink web_sink(web_page *page, web_part_kind part);

/* ---- running (work.c) ---- */

typedef struct web_launch {
    unsigned entry;
    uint32_t grid[3];
    uint64_t seed;
    double most_ms;
} web_launch;

/* A prepared job: the machine's callbacks get its address, which is that of the tiles and of the job. */
typedef struct web_work {
    page_tiles tiles;
    double deadline; /* in ms of emscripten_get_now */
} web_work;

/* Makes arguments up, and lays the call out. sink: where findings go; no function: into the job's report. NULL: there
   is no such kernel, or the part says why not. */
web_work *web_work_open(web_page *page, const web_launch *launch, tv_sink sink, web_part_kind part);
void web_work_close(web_work *work);
/* Runs the job's kernel: a page_runner. */
int web_run_once(run_job *job, tv_vm_options *options);

#endif

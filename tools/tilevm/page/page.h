/* A report on a kernel: `tilevm report`, and `tilevm check --report`. C makes a document
   (docs/reference/json.md) of what the code generator and the virtual machine know; the page draws it. The page's own
   files, page.html, page.css and the scripts, are put into the command when it is built.

     side.c     a version of the kernel in a file
     module.c   its kernels: compiled, and added to the document
     model.c    a compiled kernel as part of the document
     plans.c    the plans that were weighed
     source.c   the lines of the source
     launch.c   what the arguments of a run say of a launch
     run.c      a run on the virtual machine
     twice.c    two runs from the same arrays: as it is, and with checks
     watch.c    what checks tell while it is under way
     tiles.c    tiles of one tile block
     heat.c     tiles and arrays as heat maps
     html.c     the page around a document */
#ifndef TILEVM_TOOLS_PAGE_PAGE_H
#define TILEVM_TOOLS_PAGE_PAGE_H

#include "codegen/explain.h"
#include "tools/tilevm/run/run.h"
#include "vm/run/observe.h"

/* Limits of a document, which would otherwise be too large for a page; the document says what is left out. */
enum {
    PAGE_MOST_OPS = 5000,
    PAGE_MOST_PTX_BYTES = 1 << 20,
    PAGE_MOST_SOURCE_BYTES = 256 << 10,
    PAGE_MOST_SOURCES = 64,
    PAGE_MOST_FOLDERS = 16,
    PAGE_MOST_SEEN = 1000,
    PAGE_MOST_CELLS = 64, /* of a heat map, along each side */
    PAGE_MOST_TILES = 200
};

/* ---- a compiled kernel ---- */

typedef struct page_options {
    cli_args *args;
    const char *target; /* NULL: sm_80, or that of a program's image */
    const char *entry;  /* NULL: all kernels */
    unsigned opt_level;
    const char *const *folders; /* where source files may be, besides the one of the file; PAGE_MOST_FOLDERS at most */
    size_t folder_count;
    const cg_launch *launch; /* the launch to predict; NULL: none */
    bool quiet;              /* diagnostics have been reported */
    const cli_file *input;   /* contents of standard input, which cannot be read again; NULL: not read */
} page_options;

/* What is compiled. */
typedef struct page_subject {
    tv_module *module;
    const char *name, *target;  /* of the file, for messages; "sm_90a" */
    const char *const *folders; /* where source files may be */
    size_t folder_count;
    tv_sink sink;
} page_subject;
/* Adds its kernels to the object; returns CLI_OK, or the exit code after a message. */
int page_add_module(json_doc *doc, cJSON *item, const page_options *options, const page_subject *subject);
/* The same with a file. */
int page_add_side(json_doc *doc, cJSON *item, const page_options *options, const char *path);

/* Adds the kernel to the list, and returns its position. */
cJSON *page_add_kernel(json_doc *doc, cJSON *kernels, const cg_model *model);
/* The ops of a function as they were written. */
void page_add_code(json_doc *doc, cJSON *kernel, const bc_module *m, const bc_function *f);
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

/* ---- a run ---- */

/* The launch of the run, in the job's arena: the grid, and the integers among the arguments. NULL: out of memory. */
const cg_launch *page_launch(run_job *job);

/* What checks report during a run: give `observer` to the job. */
typedef struct page_watch {
    vm_observer observer;
    bc_arena arena;
    vm_seen *seen;
    vm_conflict *conflicts;
    size_t seen_count, seen_capacity, conflict_count, conflict_capacity;
    bool seen_cut, failed;
} page_watch;
void page_watch_init(page_watch *watch);
void page_watch_release(page_watch *watch);

/* The last tile of each op in the first tile block. */
typedef struct page_tiles {
    run_job job; /* whose machine traces: callbacks get its address */
    struct page_tile {
        uint32_t op, result;
        arg_array tile; /* owned */
        const char *element;
    } * items;
    uint32_t count;
} page_tiles;
/* Selects the ops of a prepared job, and has them traced. False: out of memory. */
bool page_tiles_begin(page_tiles *tiles, tv_vm_options *options);
void page_tiles_add(json_doc *doc, cJSON *run, const page_tiles *tiles);
void page_tiles_release(page_tiles *tiles);

/* Runs the kernel of a prepared job once as it is, with tiles, then again with all checks from the same arrays, which
   the watch hears. The findings of the second run are the job's, and its machine and figures those of the first. `run`
   runs it once. Returns CLI_OK or CLI_FAILED, or the exit code after a message. */
typedef int page_runner(run_job *job, tv_vm_options *options);
int page_run_twice(page_tiles *tiles, page_watch *watch, page_runner *run);

/* Adds a run that has ended, and returns its position. */
cJSON *page_add_run(json_doc *doc, cJSON *root, run_job *job, const page_watch *watch);

/* Adds the shape and the cells of an array, with a limit on the cells along each side. */
void page_add_heat(json_doc *doc, cJSON *item, const arg_array *array, unsigned most);

/* ---- the page ---- */

/* Appends the page of a document, and releases the document. False: out of memory. */
bool page_print(json_doc *doc, bc_text *out);
/* Writes the page of a document to a file (NULL: named like the kernel's file), and releases the document. Returns the
   exit code. */
int page_write_file(json_doc *doc, const char *output, const char *path);

/* page.html, page.css and the scripts: made from the files by tools/embed_text.sh. */
extern const char page_html[], page_style[], page_script[];

#endif

/* The files of a bundle: read, verified, sorted so that their order on the command line does not matter, and compiled
   by threads that take the next pair of module and target from a common counter. */
#include "tools/tilevm/bundle/build.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/cli/work.h"

/* ---- reading ---- */

int bundle_no_memory(void)
{
    return cli_error("out of memory");
}

/* The name of a file without folder and ending, of characters that the names of modules have. */
static char *name_of(const char *path)
{
    const char *base = strrchr(path, '/');
    base = strcmp(path, "-") == 0 ? "stdin" : base ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    char *name = strndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    for (char *p = name; p && *p; p++)
        if (!ld_bundle_name_is_fine((tv_str){.ptr = (char[]){'x', *p}, .len = 2}))
            *p = '_';
    if (name && (name[0] == '.' || !name[0]))
        name[0] = '_';
    return name;
}

int bundle_source_open(bundle_source *source, const bundle_options *options, const char *path)
{
    cli_printer printer;
    tv_sink sink = cli_printing_sink(&printer, path, options->color);
    source->path = path;
    tv_status status = tv_module_open(source->file.bytes, source->file.size, NULL, sink, &source->module);
    if (status == TV_OK)
        status = tv_module_verify(source->module, NULL, sink);
    bundle_blob_fill(&source->blob, (tv_str){.ptr = (const char *)source->file.bytes, .len = source->file.size});
    return source->blob.packed.failed ? bundle_no_memory() : cli_exit_of(status, path);
}

static int read_source(bundle_source *source, const bundle_options *options, const char *path)
{
    source->name = name_of(path);
    if (!source->name)
        return bundle_no_memory();
    return cli_read_image_or_say(path, &source->file) ? bundle_source_open(source, options, path) : CLI_ERROR;
}

static void release_source(bundle_source *source, size_t targets)
{
    for (size_t t = 0; source->cells && t < targets; t++) {
        for (unsigned i = 0; i < source->cells[t].count; i++)
            bundle_blob_release(&source->cells[t].blobs[i]);
        bc_text_release(&source->cells[t].missing);
        bc_text_release(&source->cells[t].no_cubin);
    }
    free(source->cells);
    bundle_blob_release(&source->blob);
    tv_module_close(source->module);
    cli_file_free(&source->file);
    free(source->name);
}

static int by_name(const void *a, const void *b)
{
    const bundle_source *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : memcmp(x->blob.artifact.digest, y->blob.artifact.digest, LD_SHA256_SIZE);
}

static bool has_name(const bundle_build *build, const char *name)
{
    for (size_t i = 0; i < build->source_count; i++)
        if (strcmp(build->sources[i].name, name) == 0)
            return true;
    return false;
}

/* Gives a source the first of the names NAME.2, NAME.3, ... that none has. */
static bool number_name(bundle_build *build, bundle_source *source, const char *name)
{
    size_t size = strlen(name) + 16;
    char *numbered = malloc(size);
    if (!numbered)
        return false;
    size_t number = 2;
    do
        snprintf(numbered, size, "%s.%zu", name, number++);
    while (has_name(build, numbered));
    free(source->name);
    source->name = numbered;
    return true;
}

/* Sorts, lets go of files that are there twice, and gives files of one name different names. */
static int settle_names(bundle_build *build)
{
    qsort(build->sources, build->source_count, sizeof *build->sources, by_name);
    size_t kept = 0;
    for (size_t i = 0; i < build->source_count; i++) {
        bundle_source *source = &build->sources[i];
        if (kept && by_name(&build->sources[kept - 1], source) == 0)
            release_source(source, 0);
        else
            build->sources[kept++] = *source;
    }
    build->source_count = kept;
    for (size_t i = 0, first = 0; i < kept; i++) { /* first: the one that keeps the name */
        bundle_source *source = &build->sources[i];
        if (i && strcmp(build->sources[first].name, source->name) != 0)
            first = i;
        if (i != first && !number_name(build, source, build->sources[first].name))
            return bundle_no_memory();
        if (!ld_bundle_name_is_fine(bc_str(source->name)))
            return cli_error("%s: its name is too long", source->path);
    }
    return CLI_OK;
}

/* ---- kernels ---- */

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

static bool add_kernel(bundle_build *build, bundle_source *source, size_t entry, size_t *capacity)
{
    tv_sink sink = {.report = ignore};
    tv_signature *signature = NULL;
    tv_str symbol = tv_module_entry_name(source->module, entry), function = symbol;
    tv_status status = tv_signature_of_entry(source->module, entry, sink, &signature);
    if (status == TV_NO_MEMORY)
        return false;
    if (status == TV_OK)
        function = tv_signature_function(signature);
    build->kernels = bc_grow(&build->arena, build->kernels, build->kernel_count, capacity, bundle_kernel);
    bundle_kernel kernel = {.symbol = bc_arena_dup(&build->arena, symbol),
                            .function = bc_arena_dup(&build->arena, function),
                            .source = source};
    tv_signature_close(signature);
    if (build->arena.failed)
        return false;
    build->kernels[build->kernel_count++] = kernel;
    return true;
}

static int by_symbol(const void *a, const void *b)
{
    const bundle_kernel *x = a, *y = b;
    size_t len = x->symbol.len < y->symbol.len ? x->symbol.len : y->symbol.len;
    int order = memcmp(x->symbol.ptr, y->symbol.ptr, len);
    return order ? order : (x->symbol.len > y->symbol.len) - (x->symbol.len < y->symbol.len);
}

static int list_kernels(bundle_build *build)
{
    size_t capacity = 0;
    for (size_t i = 0; i < build->source_count; i++)
        for (size_t e = 0; e < tv_module_entry_count(build->sources[i].module); e++)
            if (!add_kernel(build, &build->sources[i], e, &capacity))
                return bundle_no_memory();
    qsort(build->kernels, build->kernel_count, sizeof *build->kernels, by_symbol);
    for (size_t i = 0; i < build->kernel_count; i++) {
        const bundle_kernel *k = &build->kernels[i];
        if (!ld_bundle_text_is_fine(k->symbol))
            return cli_error("%s: the symbol of a kernel has control characters", k->source->path);
        if (i && bc_str_eq(k[-1].symbol, k->symbol)) {
            cli_error("kernel %.*s is in %s and in %s", (int)k->symbol.len, k->symbol.ptr, k[-1].source->path,
                      k->source->path);
            return CLI_FAILED;
        }
    }
    return CLI_OK;
}

int bundle_settle(bundle_build *build)
{
    int code = settle_names(build);
    return code == CLI_OK ? list_kernels(build) : code;
}

int bundle_read(bundle_build *build, const bundle_options *options, const char *const *paths, size_t count)
{
    *build = (bundle_build){.options = options};
    bc_arena_init(&build->arena, NULL, 0);
    build->sources = calloc(count ? count : 1, sizeof *build->sources);
    int worst = build->sources ? CLI_OK : bundle_no_memory();
    for (size_t i = 0; build->sources && i < count; i++) {
        int code = read_source(&build->sources[build->source_count++], options, paths[i]);
        worst = code > worst ? code : worst;
    }
    return worst == CLI_OK ? bundle_settle(build) : worst;
}

void bundle_build_release(bundle_build *build)
{
    for (size_t i = 0; i < build->source_count; i++)
        release_source(&build->sources[i], build->options->targets.count);
    free(build->sources);
    bc_arena_release(&build->arena);
}

/* ---- compiling ---- */

/* Shared by the threads of one run. */
typedef struct compile_run {
    bundle_build *build;
    size_t count; /* of cells */
    atomic_size_t next, finished;
} compile_run;

static void *work(void *user)
{
    compile_run *run = user;
    const bundle_options *options = run->build->options;
    for (size_t i; (i = atomic_fetch_add(&run->next, 1)) < run->count;) {
        bundle_source *source = &run->build->sources[i / options->targets.count];
        size_t t = i % options->targets.count;
        tv_str bytecode = {.ptr = (const char *)source->file.bytes, .len = source->file.size};
        bundle_compile_cell(options, options->targets.names[t], bytecode, &source->cells[t]);
        atomic_fetch_add(&run->finished, 1);
    }
    return NULL;
}

static void show_progress(compile_run *run)
{
    cli_progress progress;
    cli_progress_start(&progress, "kernels and targets", run->count);
    while (progress.terminal && atomic_load(&run->finished) < run->count) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        cli_progress_update(&progress, atomic_load(&run->finished));
    }
    cli_progress_clear(&progress);
}

int bundle_compile(bundle_build *build)
{
    compile_run run = {.build = build, .count = build->source_count * build->options->targets.count};
    for (size_t i = 0; i < build->source_count; i++)
        if (!(build->sources[i].cells = calloc(build->options->targets.count + 1, sizeof *build->sources[i].cells)))
            return bundle_no_memory();
    pthread_t threads[64];
    size_t wanted = cli_thread_count(build->options->jobs, run.count, TV_COUNT(threads)), started = 0;
    while (started < wanted && pthread_create(&threads[started], NULL, work, &run) == 0)
        started++;
    if (started == 0)
        work(&run);
    show_progress(&run);
    for (size_t t = 0; t < started; t++)
        pthread_join(threads[t], NULL);
    for (size_t i = 0; i < build->source_count; i++)
        for (size_t t = 0; t < build->options->targets.count; t++)
            if (build->sources[i].cells[t].failed)
                return bundle_no_memory();
    return CLI_OK;
}

/* Opens subjects: finds the kernel in a file of any kind, and makes the kernel with other hints. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytecode/verify/hints.h"
#include "container/cubin.h"
#include "loader/message.h"
#include "loader/record.h"
#include "tools/tilevm/bench/bench.h"
#include "tools/tilevm/cli/images.h"

/* ---- hints ---- */

static bool take_hint(tv_str word, bench_hints *out, io_error *error)
{
    const char *equals = memchr(word.ptr, '=', word.len), *range = "";
    tv_str name = {word.ptr, equals ? (size_t)(equals - word.ptr) : word.len};
    const hints_kind *kind = hints_kind_find(name);
    char number[16];
    if (!kind || !equals)
        return io_fail(error, "'%.*s' is no hint; there are occupancy=, num_ctas= and num_worker_warps=",
                       (int)(word.len < 60 ? word.len : 60), word.ptr);
    tv_str text = {equals + 1, word.len - name.len - 1};
    bool digits = text.len > 0 && text.len < sizeof number;
    for (size_t i = 0; digits && i < text.len; i++)
        digits = text.ptr[i] >= '0' && text.ptr[i] <= '9';
    snprintf(number, sizeof number, "%.*s", digits ? (int)text.len : 0, text.ptr);
    int64_t value = strtoll(number, NULL, 10);
    if (!bc_entry_hint_allows(kind->name, value, &range))
        return io_fail(error, "%s must be %s, not '%.*s'", kind->cutile, range, (int)(text.len < 20 ? text.len : 20),
                       text.ptr);
    for (size_t i = 0; i < HINTS_KINDS; i++)
        if (hints_kind_at(i) == kind)
            out->values[i] = value;
    return true;
}

bool bench_hints_parse(const char *text, bench_hints *out, io_error *error)
{
    *out = (bench_hints){{0}};
    for (const char *p = text;; p++) {
        tv_str word = {p, strcspn(p, ",")};
        if (!take_hint(word, out, error))
            return false;
        p += word.len;
        if (!*p)
            return true;
    }
}

void bench_hints_print(const bench_hints *hints, bc_text *out)
{
    const char *between = "";
    for (size_t i = 0; i < HINTS_KINDS; i++)
        if (hints->values[i]) {
            bc_text_printf(out, "%s%s=%lld", between, hints_kind_at(i)->cutile, (long long)hints->values[i]);
            between = ", ";
        }
}

bool bench_hints_apply(const run_job *job, const bench_hints *hints, unsigned sm, bc_text *out, io_error *error)
{
    const tv_sink nobody = {0};
    tv_module *m = NULL;
    size_t function = (size_t)(bc_entry_at(job->module, job->entry) - job->module->functions);
    bool good = tv_module_open(job->file.bytes, job->file.size, NULL, nobody, &m) == TV_OK;
    for (size_t i = 0; good && i < HINTS_KINDS; i++)
        if (hints->values[i])
            good = hints_set(m, &m->functions[function], sm, hints_kind_at(i), hints->values[i]);
    good = good && bc_module_compact(m) == TV_OK
           && tv_module_write(m, nobody, (tv_writer){out, bc_text_append}) == TV_OK;
    tv_module_close(m);
    return (good && !out->failed) || io_fail(error, "out of memory");
}

/* ---- the kernel in a file ---- */

/* Looks for a kernel of the job's name, or for the only one. */
typedef struct search {
    const char *wanted;
    char *found;   /* owned by who searches */
    size_t params; /* how many parameters it takes; UNKNOWN: the file does not say */
    size_t count;
    bool exact, failed;
} search;
#define UNKNOWN SIZE_MAX

static bool see_kernel(search *s, tv_str kernel, size_t params)
{
    s->count++;
    if (s->exact)
        return true;
    s->exact = bc_str_is(kernel, s->wanted);
    free(s->found);
    s->found = strndup(kernel.ptr, kernel.len);
    s->failed |= !s->found;
    s->params = params;
    return !s->failed;
}

static bool visit(void *user, tv_str kernel, const uint32_t block[3])
{
    (void)block; /* the loader reports it, too */
    return see_kernel(user, kernel, UNKNOWN);
}

static void search_module(search *s, const tv_module *m)
{
    size_t count = tv_module_entry_count(m);
    for (size_t i = 0; i < count; i++)
        see_kernel(s, tv_module_entry_name(m, i), bc_entry_at(m, i)->type->rank);
}

static void search_ptx(search *s, const char *text)
{
    bc_arena arena;
    ld_record *records;
    size_t count;
    bc_arena_init(&arena, NULL, 0);
    if (ld_records_from_ptx(&arena, bc_str(text), &records, &count))
        for (size_t i = 0; i < count; i++)
            see_kernel(s, bc_str(records[i].name), records[i].param_count);
    bc_arena_release(&arena);
}

static void search_cubin(search *s, tv_str bytes)
{
    co_elf elf;
    if (!co_elf_open(bytes, &elf))
        co_cubin_blocks(&elf, visit, s);
}

static bool is_elf(const bench_subject *s)
{
    return s->file.size > 4 && memcmp(s->file.bytes, "\177ELF", 4) == 0;
}

/* Finds bytecode: the file itself, or an image in a program. False with an empty error: none was found. */
static bool open_module(bench_bed *bed, bench_subject *s, io_error *error)
{
    tv_sink sink = bed->job->sink;
    if (!s->made.len && !cli_is_bytecode(s->file.bytes, s->file.size)) {
        cli_images images;
        cli_file image;
        char *problem = NULL;
        if (!cli_images_open(s->name, &images, &problem)) {
            free(problem);
            return false;
        }
        bool inside = images.inside, taken = inside && cli_images_take(&images, bed->job->symbol, &image, &problem);
        cli_images_close(&images);
        if (!inside)
            return false;
        if (!taken) { /* a cubin may be of a form that is not known here */
            bool raw = problem && bed->on_gpu && is_elf(s);
            if (!raw)
                io_fail(error, "%s", problem ? problem : "out of memory");
            free(problem);
            return false;
        }
        cli_file_free(&s->file);
        s->file = image;
    }
    const void *bytes = s->made.len ? (const void *)s->made.ptr : s->file.bytes;
    size_t size = s->made.len ? s->made.len : s->file.size;
    tv_status status = tv_module_open(bytes, size, NULL, sink, &s->module);
    if (status == TV_OK)
        status = tv_module_verify(s->module, NULL, sink);
    return status == TV_OK || io_fail(error, "%s: %s", s->name, status == TV_NO_MEMORY ? "out of memory" : "not valid");
}

static bool find_kernel(bench_bed *bed, bench_subject *s, io_error *error)
{
    search found = {.wanted = bed->job->symbol, .params = UNKNOWN};
    size_t params = tv_signature_slot_count(bed->job->signature);
    error->text[0] = 0;
    if (open_module(bed, s, error))
        search_module(&found, s->module);
    else if (error->text[0])
        return false;
    else if (!bed->on_gpu)
        return io_fail(error, "%s: not bytecode, which the CPU needs", s->name);
    else if (is_elf(s))
        search_cubin(&found, (tv_str){(const char *)s->file.bytes, s->file.size});
    else
        search_ptx(&found, (const char *)s->file.bytes);
    s->symbol = found.found ? found.found : strdup(bed->job->symbol);
    if (found.failed || !s->symbol)
        return io_fail(error, "out of memory");
    if (!found.exact && found.count > 1)
        return io_fail(error, "%s: has %zu kernels, and none of them is %s", s->name, found.count, bed->job->symbol);
    return found.params == UNKNOWN || found.params == params
           || io_fail(error, "%s: its kernel takes %zu parameters, not %zu as %s", s->name, found.params, params,
                      bed->job->options.path);
}

/* ---- loading ---- */

static bool load_on_gpu(bench_bed *bed, bench_subject *s, io_error *error)
{
    const void *bytes = s->made.len     ? (const void *)s->made.ptr
                        : s->file.bytes ? (const void *)s->file.bytes
                                        : (const void *)bed->job->file.bytes;
    if (run_device_load(bytes, s->symbol, &s->kernel) != LD_CUDA_SUCCESS)
        return io_fail(error, "%s: %.400s", s->name, tvGetLastErrorMessage());
    ld_function_figure(&bed->device.gpu, s->kernel.function, LD_FUNCTION_REGISTERS, &s->registers);
    ld_function_figure(&bed->device.gpu, s->kernel.function, LD_FUNCTION_LOCAL, &s->local_bytes);
    return true;
}

static bool load_on_cpu(bench_bed *bed, bench_subject *s, io_error *error)
{
    const tv_module *module = s->module ? s->module : bed->job->module;
    tv_status status = run_job_machine(bed->job, module, &bed->job->options.vm, &s->vm);
    return status == TV_OK || io_fail(error, "%s: %s", s->name, status == TV_NO_MEMORY ? "out of memory" : "not run");
}

/* Splits the name from the grid after it, which becomes the subject's. If a file of the whole name exists, the name has
   no grid. */
static bool cut_grid(bench_subject *s, const char *given, char **out_name, io_error *error)
{
    const char *at = strrchr(given, '@');
    io_error ignored;
    *out_name = strdup(given);
    if (*out_name && at && access(given, F_OK) != 0 && arg_parse_grid(bc_str(at + 1), s->grid, &ignored))
        (*out_name)[at - given] = 0;
    return *out_name || io_fail(error, "out of memory");
}

static bool open_other(bench_bed *bed, bench_subject *s, const char *given, io_error *error)
{
    static const char prefix[] = "hints:";
    bench_hints hints;
    char *name, *problem = NULL;
    if (!cut_grid(s, given, &name, error))
        return false;
    bool good;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0 && !bed->on_gpu) {
        good = io_fail(error, "%s: hints mean nothing to the CPU", name);
    } else if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
        good = bench_hints_parse(name + sizeof prefix - 1, &hints, error)
               && bench_hints_apply(bed->job, &hints, bed->limits.sm, &s->made, error);
    } else {
        good = cli_read(name, &s->file, &problem) || io_fail(error, "%s", problem ? problem : "out of memory");
        free(problem);
    }
    s->name = name;
    good = good && find_kernel(bed, s, error);
    s->name = given;
    free(name);
    return good;
}

bool bench_subject_open(bench_bed *bed, const char *name, bench_subject *out, io_error *error)
{
    *out = (bench_subject){.name = *name ? name : bed->job->options.path, .registers = -1, .local_bytes = -1};
    bc_text_init(&out->made, NULL);
    memcpy(out->grid, bed->job->options.grid, sizeof out->grid);
    if (*name && !open_other(bed, out, name, error))
        return false;
    if (!out->symbol)
        out->symbol = strdup(bed->job->symbol);
    if (!out->symbol)
        return io_fail(error, "out of memory");
    return bed->on_gpu ? load_on_gpu(bed, out, error) : load_on_cpu(bed, out, error);
}

bool bench_subject_take(bench_bed *bed, const char *name, bc_text *made, const uint32_t grid[3], bench_subject *out,
                        io_error *error)
{
    *out = (bench_subject){.name = name, .made = *made, .registers = -1, .local_bytes = -1};
    bc_text_init(made, NULL);
    memcpy(out->grid, grid, sizeof out->grid);
    if (!find_kernel(bed, out, error))
        return false;
    return bed->on_gpu ? load_on_gpu(bed, out, error) : load_on_cpu(bed, out, error);
}

void bench_subject_free(bench_subject *s)
{
    ld_graph_close(&s->graph);
    if (s->kernel.module)
        run_device_unload(&s->kernel);
    tv_vm_free(s->vm);
    if (s->module)
        tv_module_close(s->module);
    cli_file_free(&s->file);
    bc_text_release(&s->made);
    free(s->symbol);
    free(s->samples);
    *s = (bench_subject){.name = NULL};
}

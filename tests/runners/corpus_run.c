/* Every case of the corpus, in every version, on the virtual machine, or through the code generator on the simulator of
   tests/ptxsim or on a GPU: outputs, untouched memory, printed text, traps, files that must be refused.

     corpus_run FOLDER [--filter TEXT] [--version 13.N] [--threads N] [--seed N] [--jobs N] [--perf] [--times]
                [--checks FILE] [--ptx TARGET] [--gpu TARGET] [--part I/N] [--tight] [--needs FILE]
                [--cluster N] [--choice N|each] [--precision] [--debug] [--reference FOLDER] [--write FOLDER]
                [--counts FOLDER]

   FOLDER is the unpacked corpus. --filter takes cases whose name or group holds the text. --seed draws the order of
   tile blocks. --jobs runs that many processes side by side. --perf runs the large cases instead, which have no
   expected outputs; --times prints how long each case took. --checks runs with every check of the machine; FILE lists
   the findings that are right (tests/corpus/findings.txt), and others, or listed ones that do not turn up, are
   failures.
   --ptx compiles for a target and runs what comes out on the simulator, --gpu on a GPU, by way of the driver's own
   assembler; with --perf it prints the median of 30 launches. --part takes every Nth case, from the one with number I
   on. --cluster has kernels spread over so many thread blocks a tile block where they can be. --choice compiles them
   with the choice of that number in place of what passes decide (cg_choice_at), which changes no result; `each`:
   another one for each case. --precision runs them with exact elements, which changes no result either, and --debug in
   the debugger, on and back and on again. --reference runs the PTX of NVIDIA's compiler in FOLDER/NAME.cubin on the
   simulator instead of ours, where there is such a file, NAME being that of the bytecode. --write only writes the
   bytecode, as --cluster changes it, to that folder.
   --counts runs on the simulator without its checks, for so many steps of warps as are enough to see what a kernel
   does, and writes to FOLDER/NAME.counts what each opcode has done (tests/common/counts.h).
   --needs lists what targets lack (tests/corpus/unsupported.txt). --tight gives arrays on a GPU no guard zones, so that
   compute-sanitizer sees where they end; it names each case before it runs, and leaves out those that trap. Ends with
   `corpus runs: N passed, N failed, N skipped`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bytecode/base/text.h"
#include "bytecode/dtype.h"
#include "codegen/explain.h"
#include "tests/common/cases.h"
#include "tests/common/counts.h"
#include "tests/common/debugged.h"
#include "tests/common/files.h"
#include "tests/common/gpu.h"
#include "tests/common/part.h"
#include "tests/common/reference.h"
#include "tests/ptxsim/ptxsim.h"
#include "tests/common/spread.h"
#include "tilevm/tilevm.h"

#define GUARD ((size_t)256)
enum { GUARD_BYTE = 0xC3, MAX_GROUPS = 64, MAX_JOBS = 64, COUNTED_STEPS = 1 << 19 };

typedef struct group_count {
    char name[32];
    unsigned passed, failed, skipped;
} group_count;

typedef struct driver {
    const char *folder, *filter;
    int minor; /* 0: all */
    unsigned threads, jobs;
    uint64_t seed;
    uint8_t batch; /* tv_batch */
    bool perf, times, precision, debug;
    const char *target; /* of --ptx or --gpu, or NULL */
    bool gpu, alone;    /* alone: this process may lose its context */
    bool tight;
    test_part part;
    unsigned cluster;              /* of --cluster; 0: as kernels say */
    const cg_choices *choices;     /* of --choice; NULL: as passes decide */
    bool choice_each;              /* another one for each case */
    const char *reference, *write; /* folders, or NULL */
    const char *counts;            /* folder, or NULL */
    const char *needs;             /* path of the list given to --needs, or NULL */
    const char *findings;          /* text of the file given to --checks, or NULL */
    group_count groups[MAX_GROUPS];
    size_t group_count;
} driver;

/* An array's memory, with guard zones on both sides. */
typedef struct allocation {
    unsigned char *memory; /* as malloc gave it */
    unsigned char *array;  /* the first element of the allocation */
    size_t bytes;
    uint64_t device; /* copy of memory on a GPU, or 0 */
} allocation;

/* One case in one version. */
typedef struct attempt {
    const driver *driver;
    const corpus_case *c;
    int minor; /* version of its file */
    allocation *arrays;
    uint64_t *list_words[8];
    size_t list_bytes[8];
    bc_text output, problems;
    bool found; /* something that is listed */
} attempt;

static void problem(attempt *a, const char *format, ...) TV_PRINTF(2, 3);

static void problem(attempt *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bc_text_vprintf(&a->problems, format, args);
    va_end(args);
}

/* Whether a word of the list means the case; one * in it stands for any characters. */
static bool means_case(const char *word, size_t len, const char *name)
{
    const char *star = memchr(word, '*', len);
    if (!star)
        return strlen(name) == len && memcmp(word, name, len) == 0;
    size_t before = (size_t)(star - word), after = len - before - 1;
    return strlen(name) >= len - 1 && memcmp(word, name, before) == 0
           && memcmp(star + 1, name + strlen(name) - after, after) == 0;
}

/* Whether the list has a finding of this case; rule NULL: any. */
static bool is_listed(const attempt *a, const char *rule)
{
    for (const char *line = a->driver->findings; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, " \n");
        const char *listed = line + len + strspn(line + len, " ");
        if (line[0] != '#' && means_case(line, len, a->c->name)
            && (!rule || (strncmp(listed, rule, strlen(rule)) == 0 && listed[strlen(rule)] == ' ')))
            return true;
    }
    return false;
}

static void keep_finding(void *user, const tv_diag *d)
{
    attempt *a = user;
    if (d->severity != TV_ERROR && (!a->driver->findings || d->rule[0] != 'X'))
        return;
    if (is_listed(a, d->rule)) {
        a->found = true;
        return;
    }
    problem(a, "    %s: %.*s [%.*s, %.*s:%u]\n", d->rule, (int)d->message.len, d->message.ptr, (int)d->op.len,
            d->op.ptr ? d->op.ptr : "", (int)d->file.len, d->file.ptr ? d->file.ptr : "", d->line);
    if (d->other)
        problem(a, "        and %.*s, %.*s:%u\n", (int)d->other->op.len, d->other->op.ptr, (int)d->other->file.len,
                d->other->file.ptr ? d->other->file.ptr : "", d->other->line);
}

/* ---- memory ---- */

/* Numbers of middling size and either sign in f16, bf16 and f32; the corpus's own take minutes for the large cases. */
static void fill_for_timing(const allocation *m)
{
    uint64_t state = 1;
    for (size_t i = 0; i + 2 <= m->bytes; i += 2) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint16_t half = (uint16_t)(0x3800 | (state >> 33 & 0x83ff));
        memcpy(m->array + i, &half, 2);
    }
}

static bool open_array(attempt *a, size_t i)
{
    const case_array *array = &a->c->arrays[i];
    allocation *m = &a->arrays[i];
    m->bytes = (size_t)array->allocated * case_bytes(array->dtype);
    m->memory = aligned_alloc(GUARD, (m->bytes + 3 * GUARD - 1) / GUARD * GUARD);
    if (!m->memory)
        return false;
    m->array = m->memory + GUARD;
    memset(m->memory, GUARD_BYTE, GUARD);
    memset(m->array + m->bytes, GUARD_BYTE, GUARD);
    if ((a->driver->gpu || a->driver->counts) && a->driver->perf && bc_kind_in(array->dtype->kind, BC_SET_FLOAT))
        fill_for_timing(m);
    else if (!case_fill(array, m->array))
        problem(a, "    %s: the generated input is not the one the corpus means\n", array->name);
    return true;
}

static void check_guards(attempt *a, size_t i)
{
    const allocation *m = &a->arrays[i];
    size_t bad = 0;
    for (size_t k = 0; k < GUARD; k++)
        bad += (size_t)(m->memory[k] != GUARD_BYTE) + (size_t)(m->array[m->bytes + k] != GUARD_BYTE);
    if (bad)
        problem(a, "    %s: %zu bytes around the array were written\n", a->c->arrays[i].name, bad);
}

/* Bytes on each side of an array on the GPU. */
static size_t device_guard(const attempt *a)
{
    return a->driver->tight ? 0 : GUARD;
}

/* Where the kernel finds an array's first element. */
static uint64_t kernel_address(const attempt *a, size_t i)
{
    const case_array *array = &a->c->arrays[i];
    uint64_t start = a->arrays[i].device ? a->arrays[i].device + device_guard(a) : (uintptr_t)a->arrays[i].array;
    return start + (size_t)array->offset * case_bytes(array->dtype);
}

/* Records of (pointer, extents, strides) for the arrays of a list. */
static uint64_t *make_list(const attempt *a, const case_list *list, size_t *out_bytes)
{
    size_t words = 0;
    for (size_t i = 0; i < list->count; i++)
        words += 1 + 2 * a->c->arrays[list->arrays[i]].rank;
    uint64_t *out = calloc(words + 1, sizeof *out), *p = out;
    for (size_t i = 0; out && i < list->count; i++) {
        const case_array *array = &a->c->arrays[list->arrays[i]];
        *p++ = kernel_address(a, list->arrays[i]);
        for (unsigned d = 0; d < array->rank; d++)
            *p++ = (uint64_t)array->shape[d];
        for (unsigned d = 0; d < array->rank; d++)
            *p++ = (uint64_t)array->stride[d];
    }
    *out_bytes = words * sizeof *out;
    return out;
}

/* ---- running ---- */

static bool add_buffers(attempt *a, tv_vm *vm, tv_sink sink)
{
    for (size_t i = 0; i < a->c->array_count; i++) {
        const case_array *array = &a->c->arrays[i];
        if (a->arrays[i].bytes
            && tv_vm_add_buffer(vm, a->arrays[i].array, a->arrays[i].bytes, array->name, array->role != CASE_IN, sink)
                   != TV_OK)
            return false;
    }
    for (size_t i = 0; i < a->c->array_count; i++) {
        const case_array *array = &a->c->arrays[i];
        tv_dtype dtype;
        if (!bc_dtype_from_kind(array->dtype->kind, &dtype))
            continue;
        tv_array view = {a->arrays[i].array + (size_t)array->offset * case_bytes(array->dtype), dtype, array->rank,
                         array->shape, array->stride};
        if (a->arrays[i].bytes && tv_vm_describe_array(vm, &view, array->name, array->role == CASE_OUT, sink) != TV_OK)
            return false;
    }
    /* kernels read whole powers of two; a list ends with its last record all the same */
    for (size_t i = 0; i < a->c->list_count; i++)
        if (a->list_words[i]
            && tv_vm_add_buffer(vm, a->list_words[i], a->list_bytes[i], a->c->lists[i].name, false, sink) != TV_OK)
            return false;
    return true;
}

/* Lists lie in memory of their own, made here: a->list_words. */
static bool set_params(attempt *a, uint64_t *values, const void **params)
{
    const corpus_case *c = a->c;
    for (size_t i = 0; i < c->param_count; i++) {
        const case_param *p = &c->params[i];
        params[i] = &values[i];
        if (p->kind == CASE_SCALAR) {
            values[i] = p->bits;
        } else if (p->kind == CASE_POINTER) {
            values[i] = kernel_address(a, p->index);
        } else {
            uint64_t *list = make_list(a, &c->lists[p->index], &a->list_bytes[p->index]);
            a->list_words[p->index] = list;
            if (!list)
                return false;
            values[i] = (uintptr_t)list;
        }
    }
    return true;
}

static tv_status run_machine(attempt *a, const tv_module *m, const void *const *params, tv_sink sink)
{
    const corpus_case *c = a->c;
    tv_vm *vm;
    tv_vm_options options = {.threads = a->driver->threads,
                             .order_seed = a->driver->seed,
                             .batch = a->driver->batch,
                             .output = {&a->output, bc_text_append},
                             .precision = a->driver->precision,
                             .checks = a->driver->findings ? TV_CHECK_ALL : 0};
    tv_status status = tv_vm_new(m, &options, sink, &vm);
    if (status != TV_OK)
        return status;
    status = !add_buffers(a, vm, sink) ? TV_USAGE
             : a->driver->debug        ? debugged_run(vm, c->symbol, c->grid, params, c->param_count, sink)
                                       : tv_vm_run(vm, c->symbol, c->grid, params, c->param_count, sink);
    if (a->driver->perf && status == TV_OK) {
        tv_vm_stats s;
        tv_vm_get_stats(vm, &s);
        printf("%-34s %9.3f ms %8.2f GB/s %8.2f GFLOP/s  frame %zu\n", c->name, s.seconds * 1e3,
               (double)(s.bytes_loaded + s.bytes_stored) / s.seconds * 1e-9, (double)s.flops / s.seconds * 1e-9,
               s.frame_bytes);
    }
    tv_vm_free(vm);
    return status;
}

/* That of --choice; another one for each case, by its name, if it is `each`. */
static const cg_choices *choice_of(const attempt *a)
{
    uint32_t count = 0, number = 0;
    while (cg_choice_at(count))
        count++;
    for (const char *p = a->c->name; *p; p++)
        number = number * 31 + (unsigned char)*p;
    return a->driver->choice_each ? cg_choice_at(number % count) : a->driver->choices;
}

static tv_status compile(const attempt *a, const tv_module *m, tv_sink sink, bc_text *ptx)
{
    const tv_compile_options options = {.target = a->driver->target, .opt_level = 3, .verify_each = true};
    const cg_request request = {.choices = choice_of(a)};
    return cg_compile_with(m, &options, &request, sink, (tv_writer){ptx, bc_text_append});
}

/* Whether the launch ended with that report, and no other one. */
static bool ended_by(const ptxsim *sim, ptxsim_check check)
{
    return ptxsim_report_count(sim) == 1 && ptxsim_report_at(sim, 0)->check == check;
}

/* FOLDER/NAME and an ending, for the case's file. */
static void path_in(const attempt *a, const char *folder, const char *ending, char *out, size_t size)
{
    const char *file = a->c->file[a->minor - 1], *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    snprintf(out, size, "%s/%.*s%s", folder, (int)strcspn(name, "."), name, ending);
}

/* What the launch has done, to a file. */
static void write_counts(attempt *a, const ptxsim *sim)
{
    char path[1024];
    bc_text text;
    bc_text_init(&text, NULL);
    path_in(a, a->driver->counts, ".counts", path, sizeof path);
    counts_print(sim, &text);
    if (!files_write(path, text.ptr, text.len))
        problem(a, "    cannot write %s\n", path);
    bc_text_release(&text);
}

/* The kernel's memory has the same addresses in the simulator as here. */
static tv_status simulate(attempt *a, ptxsim *sim, const void *const *params)
{
    const corpus_case *c = a->c;
    const ptxsim_entry *entry = ptxsim_entry_find(sim, c->symbol);
    tv_status status = TV_OK;
    for (size_t i = 0; i < c->array_count; i++)
        if (a->arrays[i].bytes)
            ptxsim_buffer_add_at(sim, (uintptr_t)a->arrays[i].array, a->arrays[i].array, a->arrays[i].bytes,
                                 c->arrays[i].name);
    for (size_t i = 0; i < c->list_count; i++)
        if (a->list_words[i])
            ptxsim_buffer_add_at(sim, (uintptr_t)a->list_words[i], a->list_words[i], a->list_bytes[i],
                                 c->lists[i].name);
    ptxsim_launch launch = {.entry = c->symbol,
                            .grid = {c->grid[0], c->grid[1], c->grid[2]},
                            .params = params,
                            .seed = a->driver->seed,
                            .between_clusters = true};
    if (a->driver->reference) /* it selects behind an operation what it has not loaded before */
        launch.ignored = (uint32_t)1 << PTXSIM_UNINITIALISED_REGISTER | (uint32_t)1 << PTXSIM_UNINITIALISED_SHARED;
    if (a->driver->counts) {
        launch.counts = true, launch.step_limit = COUNTED_STEPS;
        launch.ignored = UINT32_MAX, launch.between_clusters = false;
    }
    for (unsigned i = 0; i < 3 && a->driver->reference && entry && entry->cluster[i] && !entry->counts_clusters; i++)
        launch.grid[i] *= entry->cluster[i]; /* the case counts tile blocks */
    if (!ptxsim_run(sim, &launch)) {
        status = ended_by(sim, PTXSIM_TRAP)                              ? TV_TRAP
                 : a->driver->counts && ended_by(sim, PTXSIM_STEP_LIMIT) ? TV_OK
                                                                         : TV_INVALID;
        if (status == TV_INVALID || (status == TV_TRAP && c->outcome != CASE_TRAPS))
            problem(a, "%s", ptxsim_report_text(sim));
    }
    if (a->driver->counts)
        write_counts(a, sim);
    bc_text_puts(&a->output, ptxsim_output(sim));
    return status;
}

static tv_status run_simulator(attempt *a, const tv_module *m, const void *const *params, tv_sink sink)
{
    bc_text ptx;
    char error[400];
    bc_text_init(&ptx, NULL);
    tv_status status = compile(a, m, sink, &ptx);
    ptxsim *sim = status == TV_OK ? ptxsim_load(ptx.ptr, ptx.len, error, sizeof error) : NULL;
    if (sim) {
        status = simulate(a, sim, params);
    } else if (status == TV_OK) {
        problem(a, "    PTX: %s\n", error);
        status = TV_INVALID;
    }
    bc_text_release(&ptx);
    ptxsim_free(sim);
    return status;
}

/* TV_UNSUPPORTED: NVIDIA's compiler has made nothing of it. */
static tv_status run_reference(attempt *a, const void *const *params)
{
    char path[1024], error[400];
    const void *all[64];
    uint8_t *block = NULL;
    reference r;
    path_in(a, a->driver->reference, ".cubin", path, sizeof path);
    if (access(path, R_OK) != 0)
        return TV_UNSUPPORTED;
    tv_status status = TV_INVALID;
    ptxsim *sim = reference_open(&r, path, error, sizeof error) ? ptxsim_load(r.ptx, r.ptx_size, error, sizeof error)
                                                                : NULL;
    const ptxsim_entry *entry = sim ? ptxsim_entry_find(sim, a->c->symbol) : NULL;
    if (sim && !entry)
        snprintf(error, sizeof error, "no entry '%s'", a->c->symbol);
    if (entry && entry->param_count <= sizeof all / sizeof *all
        && reference_params(&r, entry, params, a->c->param_count, all, &block, error, sizeof error))
        status = simulate(a, sim, all);
    else
        problem(a, "    PTX: %s\n", error);
    free(block);
    ptxsim_free(sim);
    reference_close(&r);
    return status;
}

/* Arrays with their guard zones to the device, before the parameters are made. */
static bool copy_to_gpu(attempt *a)
{
    bool ok = true;
    size_t guard = device_guard(a);
    for (size_t i = 0; i < a->c->array_count && ok; i++) {
        allocation *m = &a->arrays[i];
        ok = gpu_alloc(m->bytes + 2 * guard, &m->device)
             && gpu_write(m->device, m->array - guard, m->bytes + 2 * guard);
    }
    return ok;
}

static bool copy_from_gpu(attempt *a)
{
    bool ok = true;
    size_t guard = device_guard(a);
    for (size_t i = 0; i < a->c->array_count && ok; i++) {
        const allocation *m = &a->arrays[i];
        ok = gpu_read(m->array - guard, m->device, m->bytes + 2 * guard);
    }
    return ok;
}

static bool list_to_gpu(const attempt *a, size_t i, uint64_t *value, uint64_t *out_address)
{
    bool ok = gpu_alloc(a->list_bytes[i] + GUARD, out_address)
              && gpu_write(*out_address, a->list_words[i], a->list_bytes[i]);
    *value = *out_address;
    return ok;
}

enum { MAX_KEPT = 32 };

/* Counters and flags that a kernel starts from. */
static size_t arrays_to_keep(const attempt *a, gpu_kept *out)
{
    size_t count = 0;
    for (size_t i = 0; i < a->c->array_count && count < MAX_KEPT; i++)
        if (a->c->arrays[i].role == CASE_INOUT && a->arrays[i].device)
            out[count++] = (gpu_kept){.address = a->arrays[i].device + device_guard(a), .bytes = a->arrays[i].bytes};
    return count;
}

static tv_status run_gpu(attempt *a, const tv_module *m, uint64_t *values, const void *const *params, tv_sink sink)
{
    const corpus_case *c = a->c;
    uint64_t lists[8] = {0};
    bc_text ptx;
    gpu_module *loaded = NULL;
    bc_text_init(&ptx, NULL);
    tv_status status = compile(a, m, sink, &ptx);
    bool ok = status == TV_OK && gpu_load(ptx.ptr, &loaded);
    for (size_t i = 0; i < c->param_count && ok; i++)
        if (c->params[i].kind == CASE_LIST)
            ok = list_to_gpu(a, c->params[i].index, &values[i], &lists[c->params[i].index]);
    double ms = 0;
    if (ok && a->driver->perf) {
        gpu_kept kept[MAX_KEPT];
        ok = gpu_time(loaded, c->symbol, c->grid, params, kept, arrays_to_keep(a, kept), 30, &ms);
        printf("%-40s %10.2f us\n", c->name, ms * 1e3);
        fflush(stdout);
    } else if (ok) {
        bool captured = !a->driver->tight && gpu_capture_begin(); /* what compute-sanitizer prints must come through */
        ok = gpu_launch(loaded, c->symbol, c->grid, params) && gpu_wait();
        if (captured)
            gpu_capture_end(&a->output);
        ok = ok && copy_from_gpu(a);
    }
    if (status == TV_OK && !ok) {
        status = TV_TRAP;
        if (c->outcome != CASE_TRAPS)
            problem(a, "    %s\n", gpu_error());
    }
    gpu_unload(loaded);
    for (size_t i = 0; i < 8; i++)
        gpu_free(lists[i]);
    if (status == TV_TRAP) { /* the context is gone, and all memory with it */
        gpu_close();
        gpu_open();
    }
    for (size_t i = 0; i < c->array_count && status != TV_TRAP; i++)
        gpu_free(a->arrays[i].device);
    bc_text_release(&ptx);
    return status;
}

static tv_status run_kernel(attempt *a, const tv_module *m, tv_sink sink)
{
    uint64_t *values = calloc(a->c->param_count + 1, sizeof *values);
    const void **params = calloc(a->c->param_count + 1, sizeof *params);
    tv_status status = TV_NO_MEMORY;
    if (a->driver->gpu && !copy_to_gpu(a))
        problem(a, "    %s\n", gpu_error());
    else if (values && params && set_params(a, values, params))
        status = a->driver->gpu         ? run_gpu(a, m, values, params, sink)
                 : a->driver->reference ? run_reference(a, params)
                 : a->driver->target    ? run_simulator(a, m, params, sink)
                                        : run_machine(a, m, params, sink);
    free(values);
    free(params);
    return status;
}

static void check_results(attempt *a)
{
    for (size_t i = 0; i < a->c->array_count; i++) {
        const case_array *array = &a->c->arrays[i];
        char path[1024], report[1024];
        size_t size, bytes = array->elements * case_bytes(array->dtype);
        char *expected = NULL;
        check_guards(a, i);
        if (array->role == CASE_IN)
            continue;
        if (array->expected) {
            snprintf(path, sizeof path, "%s/%s", a->driver->folder, array->expected);
            expected = files_read(path, &size);
            if (!expected || size != bytes) {
                problem(a, "    cannot read %zu bytes from %s\n", bytes, path);
                free(expected);
                continue;
            }
        }
        size_t bad = case_check(array, a->arrays[i].array, (const unsigned char *)expected, report, sizeof report);
        if (bad)
            problem(a, "    %s: %zu of %zu elements are wrong\n%s", array->name, bad, array->elements, report);
        free(expected);
    }
}

/* The line at *at, with its end; moves on to the next one. */
static tv_str next_line(tv_str text, size_t *at)
{
    const char *start = text.ptr + *at, *end = memchr(start, '\n', text.len - *at);
    size_t len = end ? (size_t)(end - start) + 1 : text.len - *at;
    *at += len;
    return (tv_str){start, len};
}

/* How often a line is among those of a text. */
static size_t count_line(tv_str text, tv_str line)
{
    size_t count = 0;
    for (size_t at = 0; at < text.len;) {
        tv_str here = next_line(text, &at);
        count += bc_str_eq(here, line);
    }
    return count;
}

/* Whether two texts have the same lines: on a GPU blocks print in any order. */
static bool same_lines(tv_str a, tv_str b)
{
    bool same = a.len == b.len;
    for (size_t at = 0; at < a.len && same;) {
        tv_str line = next_line(a, &at);
        same = count_line(a, line) == count_line(b, line);
    }
    return same;
}

static void check_output(attempt *a)
{
    tv_str got = bc_text_get(&a->output);
    const char *want = a->c->output ? a->c->output : "";
    bool same = a->driver->gpu ? a->driver->tight || same_lines(got, bc_str(want)) : bc_str_is(got, want);
    if (a->c->outcome == CASE_RUNS && !same)
        problem(a, "    printed \"%.*s\", expected \"%s\"\n", (int)got.len, got.ptr ? got.ptr : "", want);
}

static void write_file(attempt *a, const tv_module *m, tv_sink sink)
{
    char path[1024];
    bc_text bytes;
    bc_text_init(&bytes, NULL);
    path_in(a, a->driver->write, ".tbc", path, sizeof path);
    if (tv_module_write(m, sink, (tv_writer){&bytes, bc_text_append}) != TV_OK
        || !files_write(path, bytes.ptr, bytes.len))
        problem(a, "    cannot write %s\n", path);
    bc_text_release(&bytes);
}

/* Opens, verifies and runs; what goes wrong is in a->problems. */
static void run_file(attempt *a, const char *bytes, size_t size)
{
    tv_sink sink = {a, keep_finding};
    tv_module *m;
    if (tv_module_open(bytes, size, NULL, sink, &m) != TV_OK) {
        problem(a, "    does not open\n");
        return;
    }
    tv_status status = a->driver->cluster && !spread_kernels(m, a->driver->cluster) ? TV_NO_MEMORY
                                                                                    : tv_module_verify(m, NULL, sink);
    if (a->driver->write) {
        write_file(a, m, sink);
    } else if (a->c->outcome == CASE_INVALID) {
        bc_text_clear(&a->problems);
        if (status != TV_INVALID)
            problem(a, "    verifies, but must not\n");
    } else if (status != TV_OK) {
        problem(a, "    does not verify\n");
    } else {
        status = run_kernel(a, m, sink);
        if (status == TV_UNSUPPORTED && a->driver->target
            && strtoul(a->driver->target + 3, NULL, 10) < a->c->needs_sm) {
            bc_text_clear(&a->problems);
            tv_module_close(m);
            return; /* the chip lacks what it needs, and that was said */
        }
        if (a->c->outcome == CASE_TRAPS && status == TV_TRAP)
            bc_text_clear(&a->problems);
        else if ((status != TV_OK && !(status == TV_INVALID && a->found)) || a->c->outcome == CASE_TRAPS)
            problem(a, "    run ended with status %d\n", (int)status);
        else if (!a->driver->perf)
            check_results(a);
        check_output(a);
        if (is_listed(a, NULL) && !a->found)
            problem(a, "    does not have the finding that is listed\n");
    }
    tv_module_close(m);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool run_attempt(const driver *d, const corpus_case *c, int minor)
{
    char path[1024];
    size_t size;
    attempt a = {.driver = d, .c = c, .minor = minor};
    bc_text_init(&a.output, NULL);
    bc_text_init(&a.problems, NULL);
    a.arrays = calloc(c->array_count + 1, sizeof *a.arrays);
    snprintf(path, sizeof path, "%s/%s", d->folder, c->file[minor - 1]);
    char *bytes = files_read(path, &size);
    bool ready = a.arrays && bytes;
    for (size_t i = 0; i < c->array_count && ready; i++)
        ready = open_array(&a, i);
    if (d->tight) {
        printf("case %s (13.%d)\n", c->name, minor);
        fflush(stdout);
    }
    double start = seconds();
    if (ready)
        run_file(&a, bytes, size);
    else
        problem(&a, "    %s cannot be read, or there is no memory\n", path);
    if (d->times)
        printf("%8.3f ms  %s (13.%d)\n", (seconds() - start) * 1e3, c->name, minor);
    tv_str problems = bc_text_get(&a.problems);
    bool ok = problems.len == 0;
    if (!ok)
        printf("FAILED %s (13.%d)\n%.*s", c->name, minor, (int)problems.len, problems.ptr);
    for (size_t i = 0; a.arrays && i < c->array_count; i++)
        free(a.arrays[i].memory);
    for (size_t i = 0; i < sizeof a.list_words / sizeof *a.list_words; i++)
        free(a.list_words[i]);
    free(a.arrays);
    free(bytes);
    bc_text_release(&a.output);
    bc_text_release(&a.problems);
    return ok;
}

/* ---- all cases ---- */

static group_count *group_of(driver *d, const char *name)
{
    for (size_t i = 0; i < d->group_count; i++)
        if (strcmp(d->groups[i].name, name) == 0)
            return &d->groups[i];
    if (d->group_count == MAX_GROUPS)
        return &d->groups[MAX_GROUPS - 1];
    group_count *g = &d->groups[d->group_count++];
    for (size_t i = 0; i + 1 < sizeof g->name && name[i]; i++)
        g->name[i] = name[i];
    return g;
}

static bool wanted(const driver *d, const corpus_case *c)
{
    if (c->perf != d->perf || (d->tight && c->outcome == CASE_TRAPS))
        return false;
    return !d->filter || strstr(c->name, d->filter) || strcmp(c->group, d->filter) == 0;
}

/* A trap takes the context with it, so on a GPU it happens in a process of its own. */
static bool run_elsewhere(const driver *d, const corpus_case *c, int minor)
{
    char version[16];
    snprintf(version, sizeof version, "13.%d", minor);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "corpus_run", d->folder, "--gpu", d->target, "--filter", c->name, "--version", version,
              "--alone", "1", (char *)NULL);
        _exit(2);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Every jobs-th case of this part, from `first` on. */
static void run_cases(driver *d, const corpus_cases *cases, size_t first)
{
    if (d->gpu && !gpu_open()) {
        printf("FAILED: %s\n", gpu_error());
        group_of(d, "gpu")->failed++;
        return;
    }
    for (size_t i = first * d->part.of + d->part.number; i < cases->count; i += d->jobs * d->part.of) {
        const corpus_case *c = &cases->cases[i];
        if (!wanted(d, c))
            continue;
        group_count *g = group_of(d, c->group);
        for (int minor = 1; minor <= CASE_VERSIONS; minor++) {
            if (d->minor && d->minor != minor)
                continue;
            if (!c->file[minor - 1])
                g->skipped++;
            else if (d->gpu && !d->alone && c->outcome == CASE_TRAPS ? run_elsewhere(d, c, minor)
                                                                     : run_attempt(d, c, minor))
                g->passed++;
            else
                g->failed++;
        }
    }
    fflush(stdout);
}

static bool run_job(driver *d, const corpus_cases *cases, size_t first, int pipe_end)
{
    run_cases(d, cases, first);
    return write(pipe_end, d->groups, sizeof d->groups) == (ssize_t)sizeof d->groups;
}

static void add_counts(driver *d, const group_count *groups)
{
    for (size_t i = 0; i < MAX_GROUPS && groups[i].name[0]; i++) {
        group_count *g = group_of(d, groups[i].name);
        g->passed += groups[i].passed;
        g->failed += groups[i].failed;
        g->skipped += groups[i].skipped;
    }
}

/* Child processes, one per job; their counts come through pipes. False: one of them died. */
static bool run_jobs(driver *d, const corpus_cases *cases)
{
    int ends[MAX_JOBS][2];
    pid_t children[MAX_JOBS];
    bool ok = true;
    fflush(stdout);
    for (unsigned j = 0; j < d->jobs; j++) {
        if (pipe(ends[j]) != 0)
            return false;
        children[j] = fork();
        if (children[j] == 0)
            _exit(run_job(d, cases, j, ends[j][1]) ? 0 : 1);
        close(ends[j][1]);
    }
    for (unsigned j = 0; j < d->jobs; j++) {
        group_count groups[MAX_GROUPS];
        size_t got = 0;
        ssize_t n;
        while (got < sizeof groups && (n = read(ends[j][0], (char *)groups + got, sizeof groups - got)) > 0)
            got += (size_t)n;
        int status = 0;
        waitpid(children[j], &status, 0);
        close(ends[j][0]);
        if (got == sizeof groups && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            add_counts(d, groups);
        } else {
            printf("FAILED: a job ended early\n");
            ok = false;
        }
    }
    return ok;
}

static int usage(void)
{
    fprintf(stderr, "usage: corpus_run FOLDER [--filter TEXT] [--version 13.N] [--threads N] [--seed N] [--jobs N]"
                    " [--perf] [--times] [--checks FILE] [--ptx TARGET] [--gpu TARGET] [--part I/N] [--tight]"
                    " [--needs FILE] [--cluster N] [--choice N|each] [--precision] [--debug] [--reference FOLDER]"
                    " [--write FOLDER] [--counts FOLDER]\n");
    return 2;
}

static bool parse(driver *d, int argc, char **argv)
{
    size_t size;
    bool wants_findings = false;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (option[0] != '-') {
            d->folder = option;
            continue;
        }
        if (strcmp(option, "--perf") == 0) {
            d->perf = true;
            continue;
        }
        if (strcmp(option, "--times") == 0) {
            d->times = true;
            continue;
        }
        if (strcmp(option, "--precision") == 0) {
            d->precision = true;
            continue;
        }
        if (strcmp(option, "--debug") == 0) {
            d->debug = true;
            continue;
        }
        if (strcmp(option, "--tight") == 0) {
            d->tight = true;
            continue;
        }
        if (!value)
            return false;
        i++;
        if (strcmp(option, "--filter") == 0)
            d->filter = value;
        else if (strcmp(option, "--version") == 0 && strncmp(value, "13.", 3) == 0)
            d->minor = atoi(value + 3);
        else if (strcmp(option, "--threads") == 0)
            d->threads = (unsigned)atoi(value);
        else if (strcmp(option, "--seed") == 0)
            d->seed = strtoull(value, NULL, 0);
        else if (strcmp(option, "--batch") == 0)
            d->batch = (uint8_t)strtoul(value, NULL, 0);
        else if (strcmp(option, "--checks") == 0)
            d->findings = files_read(value, &size), wants_findings = true;
        else if (strcmp(option, "--ptx") == 0)
            d->target = value;
        else if (strcmp(option, "--cluster") == 0)
            d->cluster = (unsigned)atoi(value);
        else if (strcmp(option, "--reference") == 0)
            d->reference = value;
        else if (strcmp(option, "--counts") == 0)
            d->counts = value;
        else if (strcmp(option, "--write") == 0)
            d->write = value;
        else if (strcmp(option, "--choice") == 0)
            d->choice_each = strcmp(value, "each") == 0, d->choices = cg_choice_at((uint32_t)atoi(value));
        else if (strcmp(option, "--needs") == 0)
            d->needs = value;
        else if (strcmp(option, "--alone") == 0)
            d->alone = atoi(value) != 0;
        else if (strcmp(option, "--part") == 0) {
            if (!part_read(value, &d->part))
                return false;
        } else if (strcmp(option, "--gpu") == 0)
            d->target = value, d->gpu = true;
        else if (strcmp(option, "--jobs") == 0)
            d->jobs = (unsigned)atoi(value);
        else
            return false;
    }
    return d->folder && d->jobs >= 1 && d->jobs <= MAX_JOBS && (d->findings || !wants_findings);
}

int main(int argc, char **argv)
{
    driver d = {.jobs = 1, .part = PART_ALL};
    corpus_cases cases;
    unsigned passed = 0, failed = 0, skipped = 0;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* lines of several processes stay whole */
    if (!parse(&d, argc, argv))
        return usage();
    if (!cases_read(d.folder, &cases) || (d.needs && !cases_read_needs(d.needs, &cases)))
        return 2;
    if (d.jobs > 1)
        failed += !run_jobs(&d, &cases);
    else
        run_cases(&d, &cases, 0);
    for (size_t i = 0; i < d.group_count; i++) {
        const group_count *g = &d.groups[i];
        printf("  %-12s %4u passed %4u failed %4u not in that version\n", g->name, g->passed, g->failed, g->skipped);
        passed += g->passed;
        failed += g->failed;
        skipped += g->skipped;
    }
    cases_release(&cases);
    free((void *)(uintptr_t)d.findings);
    printf("corpus runs: %u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed != 0;
}

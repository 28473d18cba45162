/* Runs changed modules and reads their logs side by side. */
#include "tools/tilevm/run/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WINDOWS = 64 }; /* most bytes of a log; what comes after is not read */

/* A changed module, and what both sides have written into its log. */
typedef struct replay {
    expose_window window;
    tv_module *module;
    const expose_source *sources;
    size_t source_count;
    bc_text bytes; /* of the module */
    unsigned char *gpu, *cpu;
} replay;

/* How far the records of a tile block are compared. */
typedef struct reader {
    uint64_t position; /* in its log, bytes */
    uint64_t rounds;
    uint64_t *times;                  /* records of each source so far */
    const unsigned char **gpu, **cpu; /* the last of each source, in this window; NULL: none */
    bool done;
} reader;

static bool fail(run_study *s, const char *problem)
{
    snprintf(s->problem, sizeof s->problem, "%s", problem);
    return false;
}

/* ---- replaying ---- */

static void replay_free(replay *r)
{
    tv_module_close(r->module);
    bc_text_release(&r->bytes);
    free(r->gpu);
    free(r->cpu);
}

/* The module that exposes the ops, verified and as bytecode. */
static bool make_module(run_study *s, replay *r, const uint32_t *ops, size_t count)
{
    const run_job *job = s->job;
    const tv_sink nobody = {0};
    size_t function = (size_t)(s->f - job->module->functions);
    tv_module_close(r->module);
    r->module = NULL;
    bc_text_clear(&r->bytes);
    if (tv_module_open(job->file.bytes, job->file.size, NULL, nobody, &r->module) != TV_OK
        || !expose_ops(r->module, function, ops, count, &r->window, &r->sources, &r->source_count)
        || bc_module_compact(r->module) != TV_OK)
        return fail(s, "out of memory");
    if (tv_module_verify(r->module, NULL, nobody) != TV_OK)
        return fail(s, "the changed module is not valid; please report this with the bytecode");
    return tv_module_write(r->module, nobody, (tv_writer){&r->bytes, bc_text_append}) == TV_OK
           || fail(s, "out of memory");
}

static bool replay_on_gpu(run_study *s, replay *r, size_t size)
{
    run_kernel kernel = {0};
    bc_text output;
    double ms;
    bc_text_init(&output, NULL);
    run_memory_restore(&s->device->memory, s->before);
    s->device->output = &output;
    tvResult code = run_device_load(r->bytes.ptr, s->job->symbol, &kernel);
    if (code == LD_CUDA_SUCCESS)
        code = run_device_run(s->device, &kernel, r->gpu, size, &ms);
    run_device_unload(&kernel);
    s->device->output = NULL;
    bc_text_release(&output);
    if (code == LD_CUDA_SUCCESS)
        return true;
    const char *why = tvGetLastErrorMessage();
    snprintf(s->problem, sizeof s->problem, "with values exposed the GPU does not run the kernel: %.*s",
             (int)strcspn(why, "\n"), why);
    return false;
}

static bool replay_on_cpu(run_study *s, replay *r, size_t size)
{
    const run_job *job = s->job;
    tv_vm *vm = NULL;
    size_t count;
    const void *const *given = tv_call_params(job->call, &count);
    const void **params = malloc((count + 1) * sizeof *params);
    if (!params)
        return fail(s, "out of memory");
    if (count)
        memcpy(params, given, count * sizeof *params);
    params[count] = &r->cpu;
    run_memory_restore(&s->device->memory, s->before);
    tv_status status = run_job_machine(job, r->module, &job->options.vm, &vm);
    if (status == TV_OK)
        status = tv_vm_add_buffer(vm, r->cpu, size, "log", true, job->sink);
    if (status == TV_OK)
        status = tv_vm_run(vm, job->symbol, job->options.grid, params, count + 1, job->sink);
    tv_vm_free(vm);
    free(params);
    return status == TV_OK || fail(s, "with values exposed the CPU does not run the kernel");
}

/* Do the arrays, as they are now, differ from what the CPU made? */
static bool differs_now(const run_study *s)
{
    const arg_set *set = &s->job->set;
    bool differs = false;
    for (size_t i = 0; i < set->count && !differs; i++)
        for (size_t k = 0; k < set->values[i].array_count && !differs; k++) {
            const arg_array *array = &set->values[i].arrays[k];
            arg_comparison c = {0};
            io_error error;
            if (!array->storage)
                continue;
            arg_array want = run_copy_array(&s->device->memory, s->cpu, array);
            const run_sum *sum = &s->job->sums.arrays[set->values[i].leaf->first_slot];
            arg_tolerance tolerance = run_sum_tolerance(&s->job->options, array->dtype, sum);
            differs = arg_compare(array, &want, &tolerance, &c, &error) && c.wrong;
            arg_comparison_free(&c);
        }
    return differs;
}

/* Both sides, from r->window.skip on. */
static bool replay_window(run_study *s, replay *r, const uint32_t *ops, size_t count)
{
    size_t size = expose_log_size(&r->window);
    free(r->gpu);
    free(r->cpu);
    r->gpu = calloc(size, 1);
    r->cpu = calloc(size, 1);
    if (!r->gpu || !r->cpu)
        return fail(s, "out of memory");
    if (!make_module(s, r, ops, count) || !replay_on_gpu(s, r, size))
        return false;
    s->persists = s->persists || differs_now(s);
    return replay_on_cpu(s, r, size);
}

/* ---- comparing ---- */

/* Addresses of the GPU are converted to those of the CPU if they are known; unknown ones count as equal. Integers count
   as addresses, too, if that makes them equal. */
static void translate(const run_study *s, const expose_source *source, unsigned char *gpu, const unsigned char *cpu)
{
    for (uint64_t i = 0; source->dtype == TV_I64 && i < source->count; i++) {
        uint64_t there, here;
        memcpy(&there, gpu + i * sizeof there, sizeof there);
        memcpy(&here, cpu + i * sizeof here, sizeof here);
        uint64_t known = there == here ? 0 : run_device_host_address(s->device, there);
        if (known == here || (source->is_pointer && !known))
            known = here;
        if (known && (known == here || source->is_pointer))
            memcpy(gpu + i * sizeof there, &known, sizeof known);
    }
}

/* Of the elements of a record; without memory. */
static arg_array array_of(const expose_source *source)
{
    arg_array a = {.dtype = source->dtype,
                   .item = tv_dtype_bits(source->dtype) / 8,
                   .ndim = source->rank,
                   .count = source->count,
                   .packed = true};
    if (source->rank)
        memcpy(a.shape, source->shape, source->rank * sizeof *a.shape);
    return a;
}

/* The tolerance for the tile's elements. */
static arg_tolerance tolerance_of(const run_study *s, const expose_source *source, const arg_array *want)
{
    const bc_value *value = &bc_results(s->ops[source->op_index])[source->result];
    arg_tolerance t = run_sum_tolerance(&s->job->options, want->dtype, &s->job->sums.values[value->id]);
    arg_summary summary;
    if (s->strict || t.mode != ARG_CLOSE || !bc_dtype_is_float(want->dtype))
        return t;
    arg_array_summary(want, &summary);
    double low = fabs(arg_value_of(want->dtype, summary.min)), high = fabs(arg_value_of(want->dtype, summary.max));
    double largest = low > high ? low : high;
    if (summary.has_range && isfinite(largest))
        t.atol += t.rtol * largest;
    return t;
}

/* bits: the same bits are required. False: out of memory. */
static bool compare_record(run_study *s, const expose_source *source, const unsigned char *gpu,
                           const unsigned char *cpu, bool bits, arg_comparison *out)
{
    io_error error;
    arg_array got = array_of(source), want = got;
    got.first = (unsigned char *)(uintptr_t)gpu + EXPOSE_HEAD;
    want.first = (unsigned char *)(uintptr_t)cpu + EXPOSE_HEAD;
    arg_tolerance tolerance = bits ? (arg_tolerance){.mode = ARG_SAME} : tolerance_of(s, source, &want);
    return arg_compare(&got, &want, &tolerance, out, &error) || fail(s, "out of memory");
}

static bool same_shape(const expose_source *a, const arg_array *b)
{
    return a->rank == b->ndim && (!a->rank || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* The last record of the value, as an operand of what differs. */
static void note_operand(run_study *s, const replay *r, const reader *at, const bc_value *value, run_finding *out)
{
    size_t i = 0;
    while (i < r->source_count
           && (s->ops[r->sources[i].op_index] != value->op || r->sources[i].result != value->number
               || r->sources[i].is_round))
        i++;
    if (i == r->source_count || !at->gpu[i] || out->operand_count == RUN_BLAME_OPERANDS)
        return;
    const expose_source *source = &r->sources[i];
    arg_comparison c;
    if (!compare_record(s, source, at->gpu[i], at->cpu[i], true, &c))
        return;
    run_blame_operand o = {.op_index = source->op_index,
                           .result = source->result,
                           .same_bits = c.wrong == 0,
                           .dtype = source->dtype,
                           .has_element = !out->is_control && same_shape(source, &out->shape)};
    o.ulp = c.worst_count ? c.worst[0].ulp : 0;
    if (o.has_element)
        o.bits = arg_load(at->cpu[i] + EXPOSE_HEAD + out->first.place * (tv_dtype_bits(source->dtype) / 8),
                          tv_dtype_bits(source->dtype) / 8);
    out->operands[out->operand_count++] = o;
    arg_comparison_free(&c);
}

static void note_operands(run_study *s, const replay *r, const reader *at, run_finding *out)
{
    const bc_op *op = s->ops[out->op_index];
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (bc_operands(op)[i]->op)
            note_operand(s, r, at, bc_operands(op)[i], out);
}

/* The record at a place of one side's log; 0: none. */
static uint32_t record_at(const replay *r, const unsigned char *log, uint32_t slot, uint64_t place)
{
    uint64_t clock;
    uint32_t number = 0;
    memcpy(&clock, log + slot * sizeof clock, sizeof clock);
    if (r->window.skip + place < clock && place + EXPOSE_HEAD <= r->window.capacity)
        memcpy(&number, log + expose_log_start(&r->window) + slot * r->window.capacity + place, sizeof number);
    return number <= r->source_count ? number : 0;
}

/* The op where the two sides diverge, from their next records (0: none). */
static uint32_t parting(const run_study *s, const replay *r, uint32_t a, uint32_t b)
{
    const expose_source *x = a ? &r->sources[a - 1] : NULL, *y = b ? &r->sources[b - 1] : NULL;
    const expose_source *first = !y || (x && x->op_index <= y->op_index) ? x : y;
    const bc_op *around = first->is_round ? NULL : s->ops[first->op_index]->block->parent;
    uint32_t index = first->op_index;
    while (around && s->ops[index] != around)
        index--;
    return index;
}

/* Compares the records of a tile block until one differs, or the window ends. False: a problem. */
static bool read_on(run_study *s, replay *r, uint32_t slot, reader *at, run_finding *out)
{
    size_t start = expose_log_start(&r->window) + slot * (size_t)r->window.capacity;
    for (;;) {
        uint64_t place = at->position - r->window.skip;
        uint32_t there = record_at(r, r->gpu, slot, place), here = record_at(r, r->cpu, slot, place);
        *out = (run_finding){.slot = slot, .rounds = at->rounds};
        if (there != here) {
            out->found = out->is_control = true;
            out->op_index = parting(s, r, there, here);
            note_operands(s, r, at, out);
            return true;
        }
        if (!here)
            return true;
        const expose_source *source = &r->sources[here - 1];
        unsigned char *gpu = r->gpu + start + place;
        const unsigned char *cpu = r->cpu + start + place;
        at->position += source->bytes;
        at->gpu[here - 1] = gpu;
        at->cpu[here - 1] = cpu;
        at->times[here - 1]++;
        at->rounds += source->is_round;
        if (source->is_round)
            continue;
        arg_comparison c;
        translate(s, source, gpu + EXPOSE_HEAD, cpu + EXPOSE_HEAD);
        if (!compare_record(s, source, gpu, cpu, false, &c))
            return false;
        out->found = c.wrong > 0;
        out->op_index = source->op_index;
        out->result = source->result;
        out->time = at->times[here - 1] - 1;
        out->shape = array_of(source);
        out->first = c.first;
        out->wrong = c.wrong;
        arg_comparison_free(&c);
        if (out->found) {
            note_operands(s, r, at, out);
            return true;
        }
    }
}

static bool reached_end(const replay *r, uint32_t slot, const reader *at)
{
    uint64_t there, here;
    memcpy(&there, r->gpu + slot * sizeof there, sizeof there);
    memcpy(&here, r->cpu + slot * sizeof here, sizeof here);
    return at->position >= there && at->position >= here;
}

/* All tile blocks of the window. out: the finding of the first block that has one. next_skip: where the next window
   must begin; UINT64_MAX when everything has been read. */
static bool read_window(run_study *s, replay *r, reader *readers, run_finding *out, uint64_t *out_next_skip)
{
    *out_next_skip = UINT64_MAX;
    for (uint32_t slot = 0; slot < r->window.count; slot++) {
        reader *at = &readers[slot];
        run_finding here;
        if (at->done)
            continue;
        memset(at->gpu, 0, r->source_count * sizeof *at->gpu);
        memset(at->cpu, 0, r->source_count * sizeof *at->cpu);
        if (!read_on(s, r, slot, at, &here))
            return false;
        at->done = here.found || reached_end(r, slot, at);
        if (here.found && (!out->found || here.slot < out->slot))
            *out = here;
        if (!at->done && at->position < *out_next_skip)
            *out_next_skip = at->position;
    }
    return true;
}

static reader *make_readers(bc_arena *arena, uint32_t count, size_t sources)
{
    reader *readers = bc_new(arena, reader, count);
    for (uint32_t i = 0; readers && i < count; i++) {
        readers[i].times = bc_new(arena, uint64_t, sources);
        readers[i].gpu = bc_new(arena, const unsigned char *, sources);
        readers[i].cpu = bc_new(arena, const unsigned char *, sources);
        if (!readers[i].times || !readers[i].gpu || !readers[i].cpu)
            return NULL;
    }
    return readers;
}

bool run_look_at(run_study *s, const uint32_t *ops, size_t op_count, uint64_t first, uint32_t count, uint64_t capacity,
                 run_finding *out)
{
    replay r = {.window = {.first = first, .count = count, .capacity = capacity}};
    bc_arena arena;
    reader *readers = NULL;
    uint64_t skip = 0;
    bool good = true;
    bc_arena_init(&arena, NULL, 0);
    bc_text_init(&r.bytes, NULL);
    *out = (run_finding){0};
    for (unsigned i = 0; good && skip != UINT64_MAX && i < MOST_WINDOWS; i++) {
        r.window.skip = skip;
        good = replay_window(s, &r, ops, op_count);
        if (good && !readers && !(readers = make_readers(&arena, count, r.source_count)))
            good = fail(s, "out of memory");
        good = good && read_window(s, &r, readers, out, &skip);
    }
    bc_arena_release(&arena);
    replay_free(&r);
    return good;
}

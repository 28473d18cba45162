/* The search for an op: first the tile block, by what goes into the stores; then the ops in batches, in program order.
   Every batch is a module of its own, so that the code between stays much as it was; rounds of loops are logged in each,
   and place what one batch finds before or after what another does. */
#include "tools/tilevm/run_blame.h"

#include <stdlib.h>
#include <string.h>

#include "bytecode/print.h"
#include "tools/tilevm/expose.h"
#include "tools/tilevm/json.h"

enum { BATCH = 16, MOST_SINGLE = 400, MOST_WINDOWS = 64 };
#define LOG_LIMIT ((uint64_t)64 << 20)

/* The first record of a tile block that differs. */
typedef struct finding {
    bool found, is_control;
    uint32_t slot;               /* tile block of the window */
    uint64_t rounds;             /* of loops, begun before it: with op_index its place in the order of execution */
    uint32_t op_index, result;
    uint64_t time;
    expose_source source;
    arg_difference first;
    uint64_t wrong;
    run_blame_operand operands[RUN_BLAME_OPERANDS];
    size_t operand_count;
} finding;

typedef struct study {
    run_job *job;
    run_device *device;
    const run_copy *before, *cpu;
    const bc_function *f;
    bc_op **ops;                 /* all of the function, in pre-order */
    uint32_t op_count;
    bool persists;               /* some replay gave other results than the CPU's */
    size_t replays;
    const char *problem;
} study;

/* A changed module, and what both sides have written into its log. */
typedef struct replay {
    expose_window window;
    tv_module *module;
    const expose_source *sources;
    size_t source_count;
    bc_text bytes;               /* of the module */
    unsigned char *gpu, *cpu;
} replay;

/* How far the records of a tile block are compared. */
typedef struct reader {
    uint64_t position;           /* in its log, bytes */
    uint64_t rounds;
    uint64_t *times;             /* records of each source so far */
    const unsigned char **gpu, **cpu; /* the last of each source, in this window; NULL: none */
    bool done;
} reader;

static bool fail(study *s, const char *problem)
{
    s->problem = problem;
    return false;
}

/* ---- replaying ---- */

static bool append(void *user, const void *bytes, size_t size)
{
    bc_text_bytes(user, bytes, size);
    return !((bc_text *)user)->failed;
}

static void replay_free(replay *r)
{
    tv_module_close(r->module);
    bc_text_release(&r->bytes);
    free(r->gpu);
    free(r->cpu);
}

/* The module that exposes the ops, verified and as bytecode. */
static bool make_module(study *s, replay *r, const uint32_t *ops, size_t count)
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
    return tv_module_write(r->module, nobody, (tv_writer){&r->bytes, append}) == TV_OK || fail(s, "out of memory");
}

static bool replay_on_gpu(study *s, replay *r, size_t size)
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
    return code == LD_CUDA_SUCCESS || fail(s, "the kernel does not run on the GPU with values exposed");
}

static bool replay_on_cpu(study *s, replay *r, size_t size)
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
    return status == TV_OK || fail(s, "the kernel does not run on the CPU with values exposed");
}

/* Do the arrays, as they are now, differ from what the CPU made? */
static bool differs_now(const study *s)
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
            arg_tolerance tolerance = run_tolerance(&s->job->options, array->dtype);
            differs = arg_compare(array, &want, &tolerance, &c, &error) && c.wrong;
            arg_comparison_free(&c);
        }
    return differs;
}

/* Both sides, from r->window.skip on. */
static bool replay_window(study *s, replay *r, const uint32_t *ops, size_t count)
{
    size_t size = expose_log_size(&r->window);
    free(r->gpu);
    free(r->cpu);
    r->gpu = calloc(size, 1);
    r->cpu = calloc(size, 1);
    if (!r->gpu || !r->cpu)
        return fail(s, "out of memory");
    s->replays++;
    if (!make_module(s, r, ops, count) || !replay_on_gpu(s, r, size))
        return false;
    s->persists = s->persists || differs_now(s);
    return replay_on_cpu(s, r, size);
}

/* ---- comparing ---- */

/* Addresses of the GPU become those of the CPU, where they are known; others are taken for right. Integers may be
   addresses too, if that makes them equal. */
static void translate(const study *s, const expose_source *source, unsigned char *gpu, const unsigned char *cpu)
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
    arg_array a = {.dtype = source->dtype, .item = tv_dtype_bits(source->dtype) / 8, .ndim = source->rank,
                   .count = source->count, .packed = true};
    if (source->rank)
        memcpy(a.shape, source->shape, source->rank * sizeof *a.shape);
    return a;
}

/* tolerance NULL: the bits. False: out of memory. */
static bool compare_record(study *s, const expose_source *source, const unsigned char *gpu, const unsigned char *cpu,
                           bool bits, arg_comparison *out)
{
    io_error error;
    arg_array got = array_of(source), want = got;
    got.first = (unsigned char *)(uintptr_t)gpu + EXPOSE_HEAD;
    want.first = (unsigned char *)(uintptr_t)cpu + EXPOSE_HEAD;
    arg_tolerance tolerance = bits ? (arg_tolerance){.mode = ARG_SAME} : run_tolerance(&s->job->options, source->dtype);
    return arg_compare(&got, &want, &tolerance, out, &error) || fail(s, "out of memory");
}

static bool same_shape(const expose_source *a, const expose_source *b)
{
    return a->rank == b->rank && (!a->rank || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* The last record of the value, as an operand of what differs. */
static void note_operand(study *s, const replay *r, const reader *at, const bc_value *value, finding *out)
{
    size_t i = 0;
    while (i < r->source_count
           && (s->ops[r->sources[i].op_index] != value->op || r->sources[i].result != value->number || r->sources[i].is_round))
        i++;
    if (i == r->source_count || !at->gpu[i] || out->operand_count == RUN_BLAME_OPERANDS)
        return;
    const expose_source *source = &r->sources[i];
    arg_comparison c;
    if (!compare_record(s, source, at->gpu[i], at->cpu[i], true, &c))
        return;
    run_blame_operand o = {.op_index = source->op_index, .result = source->result, .same_bits = c.wrong == 0,
                           .dtype = source->dtype,
                           .has_element = !out->is_control && same_shape(source, &out->source)};
    o.ulp = c.worst_count ? c.worst[0].ulp : 0;
    if (o.has_element)
        o.bits = arg_load(at->cpu[i] + EXPOSE_HEAD + out->first.place * (tv_dtype_bits(source->dtype) / 8),
                          tv_dtype_bits(source->dtype) / 8);
    out->operands[out->operand_count++] = o;
    arg_comparison_free(&c);
}

static void note_operands(study *s, const replay *r, const reader *at, finding *out)
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

/* The op where the two sides part, from the records that they go on with (0: none). */
static uint32_t parting(const study *s, const replay *r, uint32_t a, uint32_t b)
{
    const expose_source *x = a ? &r->sources[a - 1] : NULL, *y = b ? &r->sources[b - 1] : NULL;
    const expose_source *first = !y || (x && x->op_index <= y->op_index) ? x : y;
    const bc_op *around = first->is_round ? NULL : s->ops[first->op_index]->block->parent;
    uint32_t index = first->op_index;
    while (around && s->ops[index] != around)
        index--;
    return index;
}

/* Goes on through the records of a tile block until one differs, or the window ends. False: a problem. */
static bool read_on(study *s, replay *r, uint32_t slot, reader *at, finding *out)
{
    size_t start = expose_log_start(&r->window) + slot * (size_t)r->window.capacity;
    for (;;) {
        uint64_t place = at->position - r->window.skip;
        uint32_t there = record_at(r, r->gpu, slot, place), here = record_at(r, r->cpu, slot, place);
        *out = (finding){.slot = slot, .rounds = at->rounds};
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
        out->source = *source;
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

/* All tile blocks of the window. out: the finding of the first block that has one. next_skip: where the next window is to
   begin; UINT64_MAX when all is read. */
static bool read_window(study *s, replay *r, reader *readers, finding *out, uint64_t *out_next_skip)
{
    *out_next_skip = UINT64_MAX;
    for (uint32_t slot = 0; slot < r->window.count; slot++) {
        reader *at = &readers[slot];
        finding here;
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

/* Exposes the ops in the tile blocks [first, first + count), and gives the first difference. False: a problem. */
static bool look_at(study *s, const uint32_t *ops, size_t op_count, uint64_t first, uint32_t count, uint64_t capacity,
                    finding *out)
{
    replay r = {.window = {.first = first, .count = count, .capacity = capacity}};
    bc_arena arena;
    reader *readers = NULL;
    uint64_t skip = 0;
    bool good = true;
    bc_arena_init(&arena, NULL, 0);
    bc_text_init(&r.bytes, NULL);
    *out = (finding){0};
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

/* ---- ops ---- */

static bool writes_memory(const bc_op *op)
{
    switch (op->opcode) {
    case OP_store_ptr_tko:
    case OP_store_view_tko:
    case OP_atomic_cas_tko:
    case OP_atomic_rmw_tko:
    case OP_atomic_red_view_tko:
    case OP_multimem_reduce_view_tko:
    case OP_multimem_store_view_tko:
        return true;
    default:
        return false;
    }
}

/* Bytes that the records of an op take each time; 0 for one that cannot be exposed. */
static uint64_t record_bytes(const bc_op *op)
{
    uint64_t bytes = 0;
    expose_source source;
    for (uint32_t i = 0; expose_is_possible(op) && i < op->result_count; i++)
        if (expose_describe(op, i, &source))
            bytes += source.bytes;
    return bytes;
}

static uint32_t index_of(const study *s, const bc_op *op)
{
    uint32_t i = 0;
    while (s->ops[i] != op)
        i++;
    return i;
}

static int by_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Adds the ops that make the operands of an op; gives the new count. Ascending, each once. */
static size_t add_sources(const study *s, const bc_op *op, uint32_t *ops, size_t count)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const bc_op *made_by = bc_operands(op)[i]->op;
        if (made_by && record_bytes(made_by))
            ops[count++] = index_of(s, made_by);
    }
    return count;
}

static size_t sort_unique(uint32_t *ops, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(ops, count, sizeof *ops, by_index);
    for (size_t i = 0; i < count; i++)
        if (!kept || ops[kept - 1] != ops[i])
            ops[kept++] = ops[i];
    return kept;
}

/* One past the last op of the outermost loop around an op; the op itself where there is none. */
static uint32_t end_of_loops(const study *s, uint32_t index)
{
    const bc_op *outermost = NULL;
    for (const bc_op *op = s->ops[index]; op; op = op->block->parent)
        if (op->opcode == OP_for || op->opcode == OP_loop)
            outermost = op;
    if (!outermost)
        return index;
    uint32_t end = index_of(s, outermost) + 1;
    while (end < s->op_count && s->ops[end] != outermost->next)
        end++;
    return end;
}

/* ---- the search ---- */

static uint64_t block_count(const study *s)
{
    const uint32_t *grid = s->job->options.grid;
    return (uint64_t)grid[0] * grid[1] * grid[2];
}

/* How many tile blocks can be looked at together, if each makes so many bytes a few times; and how much each may. */
static uint32_t window_size(const study *s, uint64_t bytes, uint64_t *out_capacity)
{
    enum { ROUNDS = 4 };
    uint64_t all = block_count(s), each = bytes * ROUNDS, count = LOG_LIMIT / each;
    count = count < 1 ? 1 : count < all ? count : all;
    uint64_t capacity = LOG_LIMIT / count / EXPOSE_ALIGN * EXPOSE_ALIGN;
    uint64_t enough = bytes * 256; /* a short kernel need not wait for zeroed memory */
    *out_capacity = capacity < bytes ? bytes : capacity < enough ? capacity : enough;
    return (uint32_t)count;
}

/* The first tile block where something that goes into a store or atomic differs. */
static bool find_block(study *s, uint32_t *ops, uint64_t *out_block, bool *out_found)
{
    size_t count = 0;
    uint64_t bytes = EXPOSE_HEAD, capacity;
    *out_found = false;
    for (uint32_t i = 0; i < s->op_count; i++)
        if (writes_memory(s->ops[i]) && s->ops[i]->operand_count + count < 2u * s->op_count)
            count = add_sources(s, s->ops[i], ops, count);
    count = sort_unique(ops, count);
    for (size_t i = 0; i < count; i++)
        bytes += record_bytes(s->ops[ops[i]]);
    uint32_t blocks = window_size(s, bytes, &capacity);
    for (uint64_t first = 0; count && !*out_found && first < block_count(s); first += blocks) {
        finding f;
        uint64_t left = block_count(s) - first;
        if (!look_at(s, ops, count, first, left < blocks ? (uint32_t)left : blocks, capacity, &f))
            return false;
        *out_found = f.found;
        *out_block = first + f.slot;
    }
    return true;
}

static bool is_before(const finding *a, const finding *b)
{
    if (!b->found || a->slot != b->slot)
        return !b->found || a->slot < b->slot;
    if (a->rounds != b->rounds)
        return a->rounds < b->rounds;
    return a->op_index != b->op_index ? a->op_index < b->op_index : a->result < b->result;
}

/* Every op that can be exposed, `batch` at a time. */
static bool find_op(study *s, uint32_t *ops, size_t batch, uint64_t first, uint32_t count, finding *best)
{
    uint32_t next = 0;
    *best = (finding){0};
    while (next < s->op_count && !(best->found && next >= end_of_loops(s, best->op_index))) {
        size_t chosen = 0;
        uint64_t bytes = EXPOSE_HEAD, capacity;
        for (; next < s->op_count && chosen < batch; next++) {
            uint64_t more = record_bytes(s->ops[next]);
            if (!more)
                continue;
            ops[chosen++] = next;
            bytes += more;
        }
        finding f;
        window_size(s, bytes * count, &capacity);
        capacity = capacity / count / EXPOSE_ALIGN * EXPOSE_ALIGN;
        if (chosen && !look_at(s, ops, chosen, first, count, capacity < bytes ? bytes : capacity, &f))
            return false;
        if (chosen && f.found && is_before(&f, best))
            *best = f;
    }
    return true;
}

/* The op alone with what makes its operands: are they right? */
static void look_closer(study *s, uint32_t *ops, uint64_t block, finding *best)
{
    finding f;
    uint64_t bytes = EXPOSE_HEAD, capacity;
    size_t count = add_sources(s, s->ops[best->op_index], ops, 0);
    if (record_bytes(s->ops[best->op_index]))
        ops[count++] = best->op_index;
    count = sort_unique(ops, count);
    for (size_t i = 0; i < count; i++)
        bytes += record_bytes(s->ops[ops[i]]);
    window_size(s, bytes, &capacity);
    if (look_at(s, ops, count, block, 1, capacity, &f) && f.found && f.op_index == best->op_index)
        *best = f;
    s->problem = NULL;
}

static void search(study *s, uint32_t *ops, run_blame *out)
{
    uint64_t block = 0;
    bool has_block;
    finding best = {0};
    if (!find_block(s, ops, &block, &has_block))
        return;
    uint32_t blocks = !has_block && block_count(s) < BATCH ? (uint32_t)block_count(s) : 1;
    if (!find_op(s, ops, BATCH, block, blocks, &best))
        return;
    if (!best.found && s->op_count <= MOST_SINGLE && !find_op(s, ops, 1, block, blocks, &best))
        return;
    out->kind = !best.found ? s->persists ? RUN_BLAME_STORE : RUN_BLAME_HIDDEN
              : best.is_control ? RUN_BLAME_CONTROL : RUN_BLAME_VALUE;
    out->block = block + best.slot;
    if (best.found)
        look_closer(s, ops, out->block, &best);
    out->op_index = best.op_index;
    out->result = best.result;
    out->time = best.time;
    out->first = best.first;
    out->wrong = best.wrong;
    out->operand_count = best.operand_count;
    memcpy(out->operands, best.operands, sizeof out->operands);
    if (out->kind == RUN_BLAME_VALUE) {
        expose_describe(s->ops[best.op_index], best.result, &best.source); /* its shape lives as long as the job */
        out->shape = array_of(&best.source);
    }
    for (uint32_t i = 0; out->kind == RUN_BLAME_STORE && i < s->op_count; i++)
        if (writes_memory(s->ops[i]))
            out->op_index = i;
}

void run_blame_find(run_job *job, run_device *device, const run_copy *before, const run_copy *cpu, run_blame *out)
{
    study s = {.job = job, .device = device, .before = before, .cpu = cpu, .f = bc_entry_at(job->module, job->entry)};
    *out = (run_blame){0};
    s.ops = bc_new(&job->arena, bc_op *, s.f->op_count);
    uint32_t *chosen = bc_new(&job->arena, uint32_t, 3 * (size_t)s.f->op_count + BC_MAX_OPERANDS);
    if (s.ops && chosen) {
        for (bc_op *op = s.f->body->first; op; op = bc_next_op(op, s.f->body))
            s.ops[s.op_count++] = op;
        search(&s, chosen, out);
    } else {
        s.problem = "out of memory";
    }
    out->replays = s.replays;
    out->problem = s.problem;
}

/* ---- words ---- */

static const bc_op *op_at(const run_job *job, uint32_t index)
{
    const bc_block *body = bc_entry_at(job->module, job->entry)->body;
    const bc_op *op = body->first;
    while (op && index-- > 0)
        op = bc_next_op(op, body);
    return op;
}

const bc_op *run_blame_op(const run_job *job, const run_blame *blame)
{
    return blame->kind == RUN_BLAME_NONE || blame->kind == RUN_BLAME_HIDDEN ? NULL : op_at(job, blame->op_index);
}

/* "op 12 addf at kernel.py:14, byte 0x1a4" */
static void put_place(bc_text *out, const run_job *job, uint32_t index)
{
    const bc_op *op = op_at(job, index);
    tv_str file;
    uint32_t line, column;
    bc_text_printf(out, "op %u %s", index, bc_info(op)->name);
    if (bc_source_place(job->module, op->loc, &file, &line, &column)) {
        bc_text_puts(out, " at ");
        json_clean_utf8(out, file);
        bc_text_printf(out, ":%u", line);
    }
    bc_text_printf(out, ", byte 0x%04x", op->offset);
}

static void put_block(bc_text *out, const run_job *job, const run_blame *b)
{
    const uint32_t *grid = job->options.grid;
    bc_text_printf(out, ", tile block (%llu, %llu, %llu)", (unsigned long long)(b->block % grid[0]),
                   (unsigned long long)(b->block / grid[0] % grid[1]),
                   (unsigned long long)(b->block / grid[0] / grid[1]));
    if (b->time)
        bc_text_printf(out, ", time %llu from 0", (unsigned long long)b->time);
    bc_text_char(out, '\n');
}

static void put_op_text(bc_text *out, const run_job *job, uint32_t index)
{
    uint32_t caret, caret_len;
    bc_text_puts(out, "  ");
    bc_print_op_text(job->module, bc_entry_at(job->module, job->entry), op_at(job, index), -1, 0, out, &caret, &caret_len);
    bc_text_char(out, '\n');
}

static void put_operands(bc_text *out, const run_job *job, const run_blame *b)
{
    for (size_t i = 0; i < b->operand_count; i++) {
        const run_blame_operand *o = &b->operands[i];
        bc_text_printf(out, "  operand from op %u %s: ", o->op_index, bc_info(op_at(job, o->op_index))->name);
        if (o->same_bits)
            bc_text_puts(out, "the same bits");
        else if (o->ulp != UINT64_MAX)
            bc_text_printf(out, "within the tolerance, up to %llu ulp apart", (unsigned long long)o->ulp);
        else
            bc_text_puts(out, "within the tolerance");
        if (o->has_element) {
            bc_text_puts(out, ", here ");
            arg_print_value(out, o->dtype, o->bits);
        }
        bc_text_char(out, '\n');
    }
}

void run_blame_print(bc_text *out, const run_job *job, const run_blame *b)
{
    switch (b->kind) {
    case RUN_BLAME_NONE:
        bc_text_puts(out, "which op it was could not be found");
        break;
    case RUN_BLAME_HIDDEN:
        bc_text_puts(out, "with the values of ops exposed there is no difference: look at what the compiler does between them");
        break;
    case RUN_BLAME_VALUE:
    case RUN_BLAME_CONTROL:
        bc_text_puts(out, b->kind == RUN_BLAME_VALUE ? "the first op that differs: " : "control goes another way in ");
        put_place(out, job, b->op_index);
        put_block(out, job, b);
        put_op_text(out, job, b->op_index);
        if (b->kind == RUN_BLAME_VALUE) {
            bc_text_puts(out, "  ");
            arg_print_difference(out, &b->shape, &b->first, "cuda", "cpu");
            bc_text_printf(out, "; %llu of %llu differ\n", (unsigned long long)b->wrong, (unsigned long long)b->shape.count);
        }
        put_operands(out, job, b);
        return;
    case RUN_BLAME_STORE:
        bc_text_puts(out, "what goes into every store and atomic is the same; that leaves them, the last of which is ");
        put_place(out, job, b->op_index);
        bc_text_char(out, '\n');
        put_op_text(out, job, b->op_index);
        return;
    }
    if (b->problem)
        bc_text_printf(out, ": %s", b->problem);
    bc_text_char(out, '\n');
}

/* Running a grid: workers, the order of blocks, limits, progress, alloca storage. */
#include "vm/run/schedule.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bytecode/print/report.h"
#include "vm/kernels/kernels.h"
#include "vm/run/batch.h"
#include "vm/run/loop.h"
#include "vm/run/observe.h"

enum { FRAME_ALIGN = 64, MOST_REFUSED = 4 };
#define PROGRESS_SECONDS 0.2

double vm_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- executing ---- */

static void execute_profiled(vm_frame *f, const vm_inst *inst)
{
    double start = vm_seconds();
    while (inst) {
        uint32_t index = inst->index;
        inst = inst->run(f, inst);
        double end = vm_seconds();
        f->inst_seconds[index] += end - start;
        start = end;
    }
}

void vm_execute(vm_frame *f, const vm_inst *inst)
{
    if (TV_UNLIKELY(f->inst_seconds != NULL)) {
        execute_profiled(f, inst);
        return;
    }
    while (inst)
        inst = inst->run(f, inst);
}

/* Workers share the counter; updating it for every block would take longer than a small block. */
static void tell_blocks(vm_frame *f)
{
    if (f->blocks_untold)
        atomic_fetch_add_explicit(&f->run->blocks_done, f->blocks_untold, memory_order_relaxed);
    f->blocks_untold = 0;
}

bool vm_look(vm_frame *f, const bc_op *op, bool inside)
{
    vm_run *run = f->run;
    f->patience = VM_PATIENCE;
    atomic_fetch_add_explicit(&run->ops, f->ops - f->ops_told, memory_order_relaxed);
    f->ops_told = f->ops;
    tell_blocks(f);
    vm_report_progress(f, op);
    f->trapped |= atomic_load_explicit(inside ? &run->interrupted : &run->stopping, memory_order_relaxed);
    return !f->trapped;
}

bool vm_pay(vm_frame *f, uint32_t segment)
{
    const vm_segment *s = &f->code->segments[segment];
    uint64_t left = atomic_load(&f->run->steps_left), limit = f->run->vm->options.step_limit, paid;
    do
        paid = left < s->op_count ? left : s->op_count;
    while (!atomic_compare_exchange_weak(&f->run->steps_left, &left, left - paid));
    if (paid == s->op_count)
        return true;
    f->segment = segment;
    f->cut_ops = (uint32_t)paid;
    vm_trap_op(f, f->code->segment_ops[s->first_op + paid], BC_RULE_X_LIM_01, "%llu op%s executed, which is the limit",
               (unsigned long long)limit, limit == 1 ? " was" : "s were");
    return false;
}

/* ---- the order of blocks ---- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

/* A permutation of [0, count) drawn from a seed: a Feistel network over an even number of bits, walked until it lands
   inside. */
static uint64_t permuted(uint64_t i, uint64_t count, uint64_t seed)
{
    unsigned half = 1;
    while (half < 32 && (uint64_t)1 << (2 * half) < count)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (mix(right + seed * 8 + round) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= count);
    return i;
}

void vm_set_block(vm_frame *f, uint64_t ticket)
{
    const vm_run *run = f->run;
    uint64_t seed = run->order_seed;
    uint64_t i = seed ? permuted(ticket, run->blocks, seed) : ticket;
    f->block_index = i;
    f->block[0] = (uint32_t)(i % run->grid[0]);
    f->block[1] = (uint32_t)(i / run->grid[0] % run->grid[1]);
    f->block[2] = (uint32_t)(i / run->grid[0] / run->grid[1]);
}

/* ---- workers ---- */

size_t vm_worker_bytes(const vm_code *code, bool profile)
{
    return FRAME_ALIGN + code->frame_bytes + code->scratch_bytes + code->segment_count * sizeof(uint64_t)
           + (profile ? code->inst_count * sizeof(double) : 0);
}

/* Makes a frame of the code in memory of vm_worker_bytes; returns the first byte after the counters of segments. */
static unsigned char *open_frame(vm_frame *f, const vm_code *code, vm_run *run, unsigned char *memory, size_t bytes)
{
    unsigned char *p = (unsigned char *)(((uintptr_t)memory + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN);
    *f = (vm_frame){.base = p, .scratch = p + code->frame_bytes, .code = code, .run = run};
    p += code->frame_bytes + code->scratch_bytes;
    f->segment_counts = (uint64_t *)(void *)p;
    memset(p, 0, (size_t)(memory + bytes - p) / 8 * 8);
    if (code->image_bytes)
        memcpy(f->base, code->image, code->image_bytes);
    for (uint32_t i = 0; i < code->param_count; i++) {
        const vm_param *param = &code->params[i];
        if (param->at == SIZE_MAX)
            continue; /* never used */
        unsigned char *at = f->base + param->at;
        memcpy(at, run->params[i], param->bytes);
        if (param->kind == BC_I1)
            *at &= 1;
        if (param->kind == BC_I4)
            *at &= 15;
    }
    return p + code->segment_count * sizeof(uint64_t);
}

bool vm_worker_open(vm_worker *w, vm_run *run)
{
    const vm_code *code = run->code;
    bool profile = run->vm->options.profile;
    tv_allocator *a = &run->vm->allocator;
    w->memory_bytes = vm_worker_bytes(code, profile);
    w->memory = a->alloc(a->user, w->memory_bytes);
    if (!w->memory)
        return false;
    unsigned char *behind = open_frame(&w->frame, code, run, w->memory, w->memory_bytes);
    if (profile)
        w->frame.inst_seconds = (double *)(void *)behind;
    return true;
}

static size_t batch_bytes(const vm_code *batch)
{
    return vm_worker_bytes(batch, false) + batch->segment_count * sizeof(uint64_t)
           + VM_BATCH_ACCESSES * sizeof(vm_batch_span);
}

/* Without this memory, the worker runs its blocks one by one. */
static void open_batch(vm_worker *w, vm_run *run)
{
    tv_allocator *a = &run->vm->allocator;
    w->batch_bytes = batch_bytes(run->batch);
    w->batch_memory = a->alloc(a->user, w->batch_bytes);
    if (!w->batch_memory)
        return;
    unsigned char *behind = open_frame(&w->batch, run->batch, run, w->batch_memory, w->batch_bytes);
    w->counts_before = (uint64_t *)(void *)behind;
    w->batch.spans = (vm_batch_span *)(void *)(w->counts_before + run->batch->segment_count);
}

/* Instructions that belong to no op are part of the one before them. */
static void execute_observed(vm_frame *f, const vm_inst *inst)
{
    const bc_op *op = NULL;
    double began = vm_seconds(), from = began, now = began;
    while (inst) {
        const bc_op *next = inst->op ? inst->op : op;
        if (next != op) {
            if (op)
                vm_observe_spent(f, op, from, now);
            op = next;
            from = vm_seconds(); /* the time for reporting counts for no op */
        }
        inst = inst->run(f, inst);
        now = vm_seconds();
    }
    if (op)
        vm_observe_spent(f, op, from, now);
    vm_observe_spent(f, NULL, began, now);
}

static void run_block(vm_frame *f, uint64_t ticket)
{
    const vm_observer *o = f->run->vm->observer;
    vm_set_block(f, ticket);
    if (TV_UNLIKELY(o && o->spent))
        execute_observed(f, f->code->body);
    else
        vm_execute(f, f->code->body);
    vm_release_allocas(f, NULL);
    f->blocks_untold += !f->trapped;
}

/* Runs the batch that begins with a block. False: the batch ended without having written anything. */
static bool run_batch(vm_worker *w, uint64_t first)
{
    vm_frame *f = &w->batch;
    uint64_t loaded = f->bytes_loaded, stored = f->bytes_stored;
    if (!w->batch_memory || w->refused == MOST_REFUSED)
        return false;
    size_t counts = f->code->segment_count * sizeof *w->counts_before; /* without memory, there is no code */
    memcpy(w->counts_before, f->segment_counts, counts);
    memset(f->spans, 0, VM_BATCH_ACCESSES * sizeof *f->spans);
    vm_set_block(f, first);
    vm_execute(f, f->code->body);
    if (!f->trapped) {
        f->blocks_untold += f->code->batch;
        w->batches++;
        return true;
    }
    if (atomic_load_explicit(&f->run->stopping, memory_order_relaxed)) {
        w->frame.trapped = true;
        return true;
    }
    memcpy(f->segment_counts, w->counts_before, counts);
    f->bytes_loaded = loaded;
    f->bytes_stored = stored;
    f->trapped = false;
    w->refused++;
    return false;
}

/* Batches begin at multiples of their size in each row of blocks. */
static uint64_t units_of_row(const vm_run *run)
{
    const vm_code *b = run->batch;
    return b ? (run->grid[b->batch_axis] + b->batch - 1) / b->batch : 1;
}

static uint64_t count_units(const vm_run *run)
{
    return run->batch ? run->blocks / run->grid[run->batch->batch_axis] * units_of_row(run) : run->blocks;
}

static void run_unit(vm_worker *w, uint64_t unit)
{
    const vm_run *run = w->frame.run;
    if (!run->batch) {
        run_block(&w->frame, unit);
        return;
    }
    uint64_t per_row = units_of_row(run), row = run->grid[run->batch->batch_axis], size = run->batch->batch;
    uint64_t start = unit % per_row * size, first = unit / per_row * row + start;
    uint64_t count = row - start < size ? row - start : size;
    if (count == size && run_batch(w, first))
        return;
    for (uint64_t i = 0; i < count && !w->frame.trapped; i++)
        run_block(&w->frame, first + i);
}

void vm_report_progress(vm_frame *f, const bc_op *op)
{
    vm_run *run = f->run;
    tv_vm *vm = run->vm;
    tv_vm_options *o = &vm->options;
    bool go_on = true;
    if (!o->progress || pthread_mutex_trylock(&run->lock) != 0)
        return;
    double now = vm_seconds();
    if (now >= run->next_progress && !atomic_load(&run->interrupted)) {
        run->next_progress = now + PROGRESS_SECONDS;
        vm->reporting = f;
        vm->reporting_op = op;
        go_on = o->progress(o->user, atomic_load(&run->blocks_done), run->blocks);
        vm->reporting = NULL;
    }
    pthread_mutex_unlock(&run->lock);
    if (go_on)
        return;
    vm_trap_op(f, op, BC_RULE_X_LIM_02, "the caller stopped the run");
    atomic_store(&run->interrupted, true);
}

bool tv_vm_until_readable(void *user, uint64_t done, uint64_t total)
{
    struct pollfd watched = {.fd = (int)(intptr_t)user, .events = POLLIN};
    (void)done;
    (void)total;
    return poll(&watched, 1, 0) <= 0;
}

/* The outermost loop with more than one iteration. */
static void find_round(const vm_frame *f, tv_vm_place *place)
{
    for (const vm_inst *l = f->code->segments[f->segment].loop; l; l = ((const vm_for_loop *)l)->outer) {
        uint64_t round, rounds;
        vm_round_of(f, (const vm_for_loop *)l, &round, &rounds);
        if (rounds > 1) {
            place->round = round;
            place->rounds = rounds;
        }
    }
}

bool tv_vm_where(const tv_vm *vm, tv_vm_place *out_place)
{
    const vm_frame *f = vm->reporting;
    const bc_op *op = vm->reporting_op;
    if (!f)
        return false;
    *out_place = (tv_vm_place){.ops = atomic_load(&f->run->ops)};
    memcpy(out_place->block, f->block, sizeof f->block);
    find_round(f, out_place);
    if (op) {
        uint32_t column;
        out_place->op = bc_str(bc_info(op)->name);
        bc_source_place(vm->module, op->loc, &out_place->file, &out_place->line, &column);
    }
    return true;
}

static void *work(void *user)
{
    vm_worker *w = user;
    vm_frame *f = &w->frame;
    vm_run *run = f->run;
    uint64_t units = count_units(run);
    tv_float_enter(); /* when the run returns, the caller's thread has its floating-point state back */
    vm_execute(f, run->code->preamble);
    if (w->batch_memory)
        vm_execute(&w->batch, run->batch->preamble);
    while (!f->trapped && !atomic_load_explicit(&run->stopping, memory_order_relaxed)) {
        uint64_t first = atomic_fetch_add(&run->next_unit, w->chunk);
        if (first >= units)
            break;
        uint64_t end = units - first < w->chunk ? units : first + w->chunk;
        for (uint64_t i = first; i < end && !f->trapped; i++)
            run_unit(w, i);
        tell_blocks(f);
        tell_blocks(&w->batch);
        vm_report_progress(f, NULL);
    }
    vm_finish_streams(f);
    vm_finish_streams(&w->batch);
    return NULL;
}

/* ---- figures ---- */

/* Counts what batches have executed as if every block had run alone. */
static void add_batches(vm_run *run, vm_worker *w)
{
    const vm_code *batch = w->batch.code;
    if (!w->batch_memory)
        return;
    run->vm->stats.batches += w->batches;
    for (uint32_t s = 0; s < batch->segment_count; s++)
        w->frame.segment_counts[s] += batch->batch * w->batch.segment_counts[s];
    w->frame.bytes_loaded += w->batch.bytes_loaded;
    w->frame.bytes_stored += w->batch.bytes_stored;
}

static void add_figures(vm_run *run, const vm_worker *w)
{
    tv_vm *vm = run->vm;
    const vm_code *code = run->code;
    for (uint32_t s = 0; s < code->segment_count; s++) {
        uint64_t times = w->frame.segment_counts[s];
        const vm_segment *segment = &code->segments[s];
        if (!times)
            continue;
        code->segment_runs[s] += times;
        vm->stats.ops += times * segment->op_count;
        vm->stats.flops += times * segment->flops;
        for (uint32_t i = 0; i < segment->op_count; i++)
            vm->op_counts[code->segment_ops[segment->first_op + i]->opcode] += times;
    }
    vm->stats.ops += w->frame.cut_ops;
    for (uint32_t i = 0; i < w->frame.cut_ops; i++)
        vm->op_counts[code->segment_ops[code->segments[w->frame.segment].first_op + i]->opcode]++;
    vm->stats.bytes_loaded += w->frame.bytes_loaded;
    vm->stats.bytes_stored += w->frame.bytes_stored;
}

static void add_seconds(vm_run *run, const vm_worker *w)
{
    const vm_code *code = run->code;
    for (uint32_t i = 0; w->frame.inst_seconds && i < code->inst_count; i++)
        if (code->insts[i]->op)
            run->vm->op_seconds[code->insts[i]->op->opcode] += w->frame.inst_seconds[i];
}

void vm_worker_close(vm_worker *w, vm_run *run)
{
    tv_allocator *a = &run->vm->allocator;
    if (!run->again) {
        add_batches(run, w);
        add_figures(run, w);
        add_seconds(run, w);
    }
    a->release(a->user, w->memory, w->memory_bytes);
    if (w->batch_memory)
        a->release(a->user, w->batch_memory, w->batch_bytes);
}

tv_status vm_report_stop(const vm_run *run, tv_sink sink)
{
    if (!run->stop.set)
        return TV_OK;
    if (atomic_load(&run->vm->starved))
        return TV_NO_MEMORY;
    bc_place place = {.function = run->code->function, .op = run->stop.op, .offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    bc_report(run->vm->module, sink, &place, run->stop.rule, "%s", run->stop.message);
    return TV_TRAP;
}

tv_status vm_no_frame(const vm_run *run, size_t bytes, tv_sink sink)
{
    bc_place place = {.function = run->code->function, .offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    if (atomic_load(&run->vm->starved))
        return TV_NO_MEMORY;
    bc_report(run->vm->module, sink, &place, BC_RULE_X_RUN_02,
              "a tile block needs %zu bytes of tile storage, and the memory limit is %zu", bytes,
              run->vm->memory_limit);
    return TV_NO_MEMORY;
}

/* ---- the run ---- */

static unsigned open_workers(vm_run *run, vm_worker *workers, unsigned wanted)
{
    unsigned opened = 0;
    while (opened < wanted && vm_worker_open(&workers[opened], run))
        opened++;
    for (unsigned i = 0; run->batch && i < opened; i++)
        open_batch(&workers[i], run);
    return opened;
}

static void run_workers(vm_run *run, vm_worker *workers, unsigned count)
{
    uint64_t chunk = count_units(run) / ((uint64_t)count * 32);
    for (unsigned i = 0; i < count; i++)
        workers[i].chunk = chunk < 1 ? 1 : chunk > 16 ? 16 : chunk;
    for (unsigned i = 1; i < count; i++)
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    work(&workers[0]);
    for (unsigned i = 1; i < count; i++)
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
}

static tv_status run_grid(vm_run *run, tv_sink sink)
{
    tv_vm *vm = run->vm;
    size_t each = vm_worker_bytes(run->code, vm->options.profile);
    if (each > vm->memory_limit)
        return vm_no_frame(run, each, sink);
    if (run->batch && batch_bytes(run->batch) > vm->memory_limit - each)
        run->batch = NULL;
    each += run->batch ? batch_bytes(run->batch) : 0;
    uint64_t wanted = vm->options.threads;
    if (wanted > run->blocks)
        wanted = run->blocks;
    if (wanted > vm->memory_limit / each)
        wanted = vm->memory_limit / each;
    run->alloca_limit = vm->memory_limit - each * wanted;
    tv_allocator *a = &vm->allocator;
    vm_worker *workers = a->alloc(a->user, wanted * sizeof *workers);
    if (!workers)
        return vm_no_frame(run, wanted * sizeof *workers, sink);
    memset(workers, 0, wanted * sizeof *workers);
    unsigned count = open_workers(run, workers, (unsigned)wanted);
    tv_status status = count ? TV_OK : vm_no_frame(run, each, sink);
    if (count) {
        double start = vm_seconds();
        run->next_progress = start + PROGRESS_SECONDS;
        run_workers(run, workers, count);
        vm->stats.seconds = vm_seconds() - start;
    }
    vm->stats.threads = count;
    vm->stats.frame_bytes = run->code->frame_bytes;
    vm->stats.memory_bytes = count * each + run->code->arena.held;
    for (unsigned i = 0; i < count; i++)
        vm_worker_close(&workers[i], run);
    a->release(a->user, workers, wanted * sizeof *workers);
    vm->stats.blocks = atomic_load(&run->blocks_done);
    return status == TV_OK ? vm_report_stop(run, sink) : status;
}

tv_status vm_run_grid(tv_vm *vm, const vm_code *code, const vm_code *batch, const uint32_t grid[3],
                      const void *const *params, tv_sink sink)
{
    vm_run run = {.vm = vm,
                  .code = code,
                  .batch = batch,
                  .params = params,
                  .order_seed = vm->options.order_seed,
                  .steps_left = vm->options.step_limit};
    memcpy(run.grid, grid, sizeof run.grid);
    run.blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    if (pthread_mutex_init(&run.lock, NULL) != 0)
        return vm_no_frame(&run, sizeof run.lock, sink);
    tv_status status = run_grid(&run, sink);
    vm_regions_release(&run.allocas, &vm->allocator);
    pthread_mutex_destroy(&run.lock);
    return status;
}

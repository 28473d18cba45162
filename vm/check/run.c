/* Runs a grid with checks: all tile blocks on one thread. A block runs until it ends, or until it has made so many
   strong accesses that it may be waiting for another block; then it is another block's turn. The turns depend only on
   the program and the order of the blocks, so that every run has the same findings.

   If all blocks that have begun have had many turns and memory has not changed, they wait for each other: a
   deadlock. */
#include <stdio.h>
#include <string.h>

#include "bytecode/print/report.h"
#include "vm/check/check.h"

enum {
    TURN = 16,            /* strong accesses per turn */
    PATIENCE = 1024,      /* strong accesses of every block without a change, until it is a deadlock */
    MAX_STARTED = 1 << 16 /* blocks that have begun and not ended */
};

/* A tile block that has begun. */
typedef struct started {
    vm_worker worker;
    struct vm_check_block check;
    const vm_inst *next;   /* the instruction at which it continues */
    const vm_inst *last;   /* the last access of the last turn */
    struct started *later; /* in the queue, or in the list of free ones */
} started;

typedef struct turns {
    vm_run *run;
    struct vm_check *check;
    started *first, *last; /* queue of blocks that wait for their turn */
    started *idle;         /* frames of blocks that have ended, for reuse */
    size_t opened, under_way;
    uint64_t next_block;
    uint64_t quiet_turns; /* since memory changed, or a block began or ended */
    uint64_t turn;        /* strong accesses per turn */
} turns;

/* ---- frames ---- */

/* The records for each op that accesses memory. There is one more, so that the size is not zero. */
static size_t ops_bytes(const vm_code *code)
{
    return (code->check_op_count + 1) * (sizeof(vm_last) + sizeof(uint32_t));
}

static size_t started_bytes(const vm_code *code, bool profile)
{
    return sizeof(started) + ops_bytes(code) + vm_worker_bytes(code, profile);
}

static started *open_frame(turns *t)
{
    const tv_allocator *memory = &t->check->memory;
    const vm_code *code = t->run->code;
    started *s = memory->alloc(memory->user, sizeof *s);
    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    s->check.last = memory->alloc(memory->user, ops_bytes(code));
    if (!s->check.last || !vm_worker_open(&s->worker, t->run)) {
        if (s->check.last)
            memory->release(memory->user, s->check.last, ops_bytes(code));
        memory->release(memory->user, s, sizeof *s);
        return NULL;
    }
    s->check.instances = (uint32_t *)(void *)(s->check.last + code->check_op_count + 1);
    bc_arena_init(&s->check.clocks, memory, 0);
    s->worker.frame.check = &s->check;
    vm_execute(&s->worker.frame, code->preamble);
    t->opened++;
    return s;
}

static void close_frame(turns *t, started *s)
{
    const tv_allocator *memory = &t->check->memory;
    vm_release_allocas(&s->worker.frame, NULL);
    vm_worker_close(&s->worker, t->run);
    bc_arena_release(&s->check.clocks);
    memory->release(memory->user, s->check.last, ops_bytes(t->run->code));
    memory->release(memory->user, s, sizeof *s);
}

/* ---- turns ---- */

static started *begin_block(turns *t)
{
    started *s = t->idle;
    if (s)
        t->idle = s->later;
    else
        s = open_frame(t);
    if (!s)
        return NULL;
    memset(s->check.last, 0, ops_bytes(t->run->code));
    s->check.sequence = 0;
    vm_set_block(&s->worker.frame, t->next_block++);
    s->next = t->run->code->body;
    t->under_way++;
    t->quiet_turns = 0;
    return s;
}

static void end_block(turns *t, started *s)
{
    vm_release_allocas(&s->worker.frame, NULL);
    bc_arena_release(&s->check.clocks);
    bc_arena_init(&s->check.clocks, &t->check->memory, 0);
    t->run->blocks_done += !s->worker.frame.trapped;
    s->later = t->idle;
    t->idle = s;
    t->under_way--;
    t->quiet_turns = 0;
    vm_report_progress(&s->worker.frame, NULL);
}

static void queue_up(turns *t, started *s)
{
    s->later = NULL;
    if (t->last)
        t->last->later = s;
    else
        t->first = s;
    t->last = s;
}

/* The block whose turn is next: one that has not begun, if there is room, otherwise the one that has waited longest. */
static started *next_turn(turns *t)
{
    started *s = NULL;
    if (t->next_block < t->run->blocks && t->under_way < MAX_STARTED)
        s = begin_block(t);
    if (s || !t->first)
        return s;
    s = t->first;
    t->first = s->later;
    if (!t->first)
        t->last = NULL;
    return s;
}

static void trap_deadlock(turns *t, started *s)
{
    uint64_t left = t->run->blocks - t->next_block;
    if (left)
        vm_trap(&s->worker.frame, s->last, BC_RULE_X_LIM_03,
                "all %zu tile blocks that have begun wait, and there is no memory to start one of the %llu others",
                t->under_way, (unsigned long long)left);
    else
        vm_trap(&s->worker.frame, s->last, BC_RULE_X_LIM_03,
                "all %zu tile blocks that have not ended wait for memory to change", t->under_way);
}

static void take_turn(turns *t, started *s)
{
    vm_frame *f = &s->worker.frame;
    uint64_t changes = t->check->changes;
    uint32_t begin = f->strong_accesses;
    const vm_inst *inst = s->next;
    while (inst && f->strong_accesses - begin < t->turn) {
        s->last = inst;
        inst = inst->run(f, inst);
    }
    s->next = inst;
    t->quiet_turns = changes == t->check->changes ? t->quiet_turns + 1 : 0;
    if (!inst)
        end_block(t, s);
    else
        queue_up(t, s);
    if (inst && t->quiet_turns * t->turn > (uint64_t)PATIENCE * t->under_way)
        trap_deadlock(t, s);
}

static void close_all(turns *t)
{
    while (t->first) {
        started *s = t->first;
        t->first = s->later;
        close_frame(t, s);
    }
    while (t->idle) {
        started *s = t->idle;
        t->idle = s->later;
        close_frame(t, s);
    }
}

/* ---- one run ---- */

static void forget_run(struct vm_check *check)
{
    vm_events_release(&check->events, &check->memory);
    vm_shadow_release(&check->shadow, &check->memory);
    vm_syncs_release(&check->syncs, &check->memory);
    bc_arena_release(&check->clocks);
}

static tv_status run_blocks(vm_run *run, tv_sink sink)
{
    struct vm_check *check = run->check;
    tv_vm *vm = run->vm;
    turns t = {.run = run, .check = check, .turn = run->order_seed ? 1 + (run->order_seed - 1) % TURN : TURN};
    double start = vm_seconds();
    run->alloca_limit = vm->memory_limit;
    bc_arena_init(&check->clocks, &check->memory, 0);
    while (!atomic_load_explicit(&run->stopping, memory_order_relaxed)) {
        started *s = next_turn(&t);
        if (!s)
            break;
        take_turn(&t, s);
    }
    bool began = t.opened > 0;
    vm->stats.seconds += vm_seconds() - start;
    vm->stats.threads = 1;
    vm->stats.frame_bytes = run->code->frame_bytes;
    size_t bytes = check->held + run->code->arena.held;
    if (bytes > vm->stats.memory_bytes)
        vm->stats.memory_bytes = bytes;
    close_all(&t);
    forget_run(check);
    if (!began)
        return vm_no_frame(run, started_bytes(run->code, vm->options.profile), sink);
    return run->stop.set ? TV_TRAP : TV_OK;
}

static void forget_memory(struct vm_check *check, uint64_t start, size_t bytes)
{
    vm_shadow_forget(&check->shadow, start, bytes);
}

tv_status vm_run_order(struct vm_check *check, const vm_launch *launch, uint64_t seed, bool again, tv_sink sink)
{
    const uint32_t *grid = launch->grid;
    vm_run run = {.vm = check->vm,
                  .code = check->code,
                  .params = launch->params,
                  .check = check,
                  .forget = forget_memory,
                  .order_seed = seed,
                  .steps_left = check->vm->options.step_limit,
                  .again = again};
    memcpy(run.grid, grid, sizeof run.grid);
    run.blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    if (pthread_mutex_init(&run.lock, NULL) != 0)
        return vm_no_frame(&run, sizeof run.lock, sink);
    tv_status status = run_blocks(&run, sink);
    if (!again)
        check->vm->stats.blocks = run.blocks_done;
    if (atomic_load(&check->vm->starved)) {
        status = TV_NO_MEMORY; /* findings may be missing */
    } else if (status == TV_TRAP && check->junk) {
        vm_find_in_results(check, BC_RULE_X_OPN_01, run.stop.op,
                           "when undefined elements of loads have other values, %s stops the run: %s",
                           bc_rules[run.stop.rule].id, run.stop.message);
    } else if (status == TV_TRAP && again) {
        vm_find_in_results(check, BC_RULE_X_ORD_01, run.stop.op,
                           "when the tile blocks run in order %llu, %s stops the run: %s", (unsigned long long)seed,
                           bc_rules[run.stop.rule].id, run.stop.message);
    } else if (status == TV_TRAP) {
        vm_report_findings(check, sink);
        vm_report_stop(&run, sink);
    }
    vm_regions_release(&run.allocas, &check->vm->allocator);
    pthread_mutex_destroy(&run.lock);
    return status;
}

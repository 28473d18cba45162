/* Compiles one entry: walks its ops, calls their hooks, then numbers the instructions and places the storage. */
#include <string.h>

#include "bytecode/flops.h"
#include "vm/check/check.h"
#include "vm/compile/batch.h"
#include "vm/compile/compile.h"
#include "vm/compile/group.h"
#include "vm/compile/plan.h"
#include "vm/compile/storage.h"
#include "vm/compile/widen.h"

/* Results larger than this stay where their op stands: moving them out would hold the memory longer. */
enum { MOVE_BYTES = 64 * 1024 };

static vm_hook *const hooks[OP_LIMIT] = {
#define OP(name, ...) [OP_##name] = vm_##name,
#include "bytecode/ops.def"
};

/* ---- what is counted ---- */

/* Counts op where it stands in the program, wherever its instructions went. */
static void count_op(vm_emit *e, const bc_op *op)
{
    vm_compile *c = e->compile;
    if (e->failed || e->lanes)
        return;
    vm_segment_build *s = &c->segments[e->cur->segment];
    const bc_op **ops = bc_grow(&e->temp, s->ops, s->count, &s->capacity, const bc_op *);
    if (!ops) {
        e->failed = true;
        return;
    }
    s->ops = ops;
    ops[s->count++] = op;
    s->flops += bc_flops(op);
    s->work += vm_work_of(op);
}

/* Where steps are limited, an op whose execution shows is the last of its segment, and what it does is done before the
   next one is paid. */
static void end_segment(vm_emit *e, const bc_op *op)
{
    if (!e->vm->options.step_limit || e->lanes || vm_is_pure(op) || (bc_info(op)->traits & BC_TERMINATOR) || e->failed)
        return;
    if (bc_info(op)->effects != BC_READS)
        vm_close_groups(e, e->cur);
    vm_begin_segment(e, e->cur, op);
}

/* ---- where an op goes ---- */

static void set_nothing(vm_emit *e, const bc_op *op)
{
    for (unsigned i = 0; i < op->result_count; i++)
        if (vm_result(op, i)->type->kind == BC_TOKEN)
            vm_value_of(e, vm_result(op, i))->form = VM_NOTHING;
}

static size_t result_bytes(const bc_op *op)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < op->result_count; i++) {
        const bc_value *v = vm_result(op, i);
        if (bc_is_tile(v->type))
            bytes += (size_t)vm_elem_bytes(bc_elem_kind(v->type)) << vm_type_bits(v->type);
    }
    return bytes;
}

/* A pure op goes to the outermost piece of code that has its operands: out of loops, and to the preamble when nothing
   depends on the tile block. Costly ones do not leave a branch, large ones stay. */
static vm_ctx *place_of(vm_emit *e, const bc_op *op)
{
    if (!vm_is_pure(op) || e->plain || e->lanes)
        return e->cur;
    vm_ctx *home = e->preamble;
    bc_value **operands = bc_operands(op);
    for (unsigned i = 0; i < op->operand_count; i++) {
        vm_ctx *h = vm_value_of(e, operands[i])->home;
        if (h && h->depth > home->depth)
            home = h;
    }
    size_t bytes = result_bytes(op);
    bool free = bc_op_in(op->opcode, VM_OPS_IN_PLACE | BC_OPS(MOVE)) || op->opcode == OP_constant;
    if (!free && bytes > MOVE_BYTES)
        return e->cur;
    if (!free && bytes > 64)
        for (vm_ctx *c = e->cur; c != home; c = c->parent)
            if (c->branch)
                return c;
    return home;
}

static bool needed(vm_emit *e, const bc_op *op)
{
    if (e->plain || op->result_count == 0 || !vm_is_removable(op))
        return true;
    for (unsigned i = 0; i < op->result_count; i++)
        if (vm_used(e, vm_result(op, i)))
            return true;
    return false;
}

static bool is_traced(const vm_emit *e, const bc_op *op)
{
    const tv_vm_options *o = &e->vm->options;
    return o->trace && !e->lanes && (!o->trace_op || o->trace_op(o->user, bc_str(bc_info(op)->name), e->position));
}

static void emit_op(vm_emit *e, const bc_op *op)
{
    bool run = needed(e, op);
    uint32_t position = e->position;
    if (!e->lanes)
        e->compile->op_segments[position] = e->cur->segment;
    if (!e->tokens)
        set_nothing(e, op);
    if (run) {
        count_op(e, op);
        e->at = place_of(e, op);
        if (e->checks && !e->lanes)
            vm_emit_checks(e, op);
        if (e->widened)
            vm_emit_notes(e, op);
        hooks[op->opcode](e, op);
        if (e->checks && !e->lanes)
            vm_emit_open_elements(e, op);
        e->position = position; /* regions have moved it on */
        if (is_traced(e, op))
            vm_emit_trace(e, op);
        end_segment(e, op);
    }
}

static void walk(vm_emit *e, vm_ctx *ctx, const bc_block *block)
{
    vm_ctx *outer = e->cur;
    e->cur = ctx;
    for (const bc_op *op = block->first; op && !e->failed; op = op->next) {
        e->position = e->next_position++;
        uint32_t after = e->plan->end[e->position];
        emit_op(e, op);
        e->next_position = after;
    }
    e->cur = e->at = outer;
}

/* ---- the whole ---- */

/* Gives instructions their index, in the order they may run in. */
static void number(vm_emit *e, vm_ctx *ctx, const vm_inst **insts)
{
    vm_compile *c = e->compile;
    vm_ctx *child = ctx->children; /* in the order of their headers */
    for (vm_inst *inst = ctx->first; inst; inst = (vm_inst *)(uintptr_t)inst->next) {
        inst->index = c->inst_count;
        if (insts)
            insts[c->inst_count] = inst;
        c->inst_count++;
        for (; child && child->header == inst; child = child->sibling) {
            child->start = inst->index;
            number(e, child, insts);
            child->end = c->inst_count - 1;
        }
    }
}

static void finish_segments(vm_emit *e)
{
    vm_compile *c = e->compile;
    size_t total = 0;
    for (size_t i = 0; i < c->segment_count; i++)
        total += c->segments[i].count;
    vm_segment *segments = bc_new(e->arena, vm_segment, c->segment_count);
    const bc_op **ops = bc_new(e->arena, const bc_op *, total + 1);
    e->code->segment_runs = bc_new(e->arena, uint64_t, c->segment_count);
    if (e->arena->failed) {
        e->failed = true;
        return;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < c->segment_count; i++) {
        const vm_segment_build *s = &c->segments[i];
        segments[i] = (vm_segment){first, (uint32_t)s->count, s->flops, s->work, s->loop};
        if (s->count)
            memcpy(ops + first, s->ops, s->count * sizeof *ops);
        first += (uint32_t)s->count;
    }
    e->code->segments = segments;
    e->code->segment_count = (uint32_t)c->segment_count;
    e->code->segment_ops = ops;
    e->code->op_segments = c->op_segments;
}

static const vm_inst *end_run(vm_frame *f, const vm_inst *inst)
{
    (void)f;
    (void)inst;
    return NULL;
}

/* Parameters are values of the preamble: the worker writes them when it opens. */
typedef struct params_inst {
    vm_inst head;
} params_inst;

static const vm_inst *params_run(vm_frame *f, const vm_inst *inst)
{
    (void)f;
    return inst->next;
}

static void emit_params(vm_emit *e)
{
    const bc_block *body = e->f->body;
    vm_param *params = bc_new(e->arena, vm_param, body->arg_count + 1);
    if (!params) {
        e->failed = true;
        return;
    }
    e->code->params = params;
    e->code->param_count = body->arg_count;
    params_inst *inst = vm_new_inst(e, NULL, params_run, params_inst);
    e->at = e->preamble;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const bc_value *v = &body->args[i];
        bc_kind kind = bc_elem_kind(v->type);
        params[i].kind = (uint8_t)kind;
        params[i].bytes = (uint8_t)vm_elem_bytes(kind);
        params[i].at = SIZE_MAX;
        if (vm_used(e, v))
            vm_write(e, &inst->head, &params[i].at, v);
    }
    vm_append_to(e, e->preamble, &inst->head);
}

static void emit_all(vm_emit *e)
{
    vm_ctx *preamble = e->preamble = vm_new_ctx(e, NULL, false, false);
    vm_ctx *body = e->body = vm_new_ctx(e, preamble, false, false);
    if (e->failed)
        return;
    vm_new_segment(e, preamble);
    emit_params(e);
    vm_begin_segment(e, body, NULL);
    walk(e, body, e->f->body);
    vm_close_groups(e, preamble);
    vm_append_to(e, preamble, vm_new_inst_bytes(e, NULL, end_run, sizeof(vm_inst)));
}

static void finish(vm_emit *e)
{
    vm_compile *c = e->compile;
    number(e, e->preamble, NULL);
    number(e, e->body, NULL);
    const vm_inst **insts = bc_new(e->arena, const vm_inst *, c->inst_count);
    if (!insts) {
        e->failed = true;
        return;
    }
    c->inst_count = 0;
    number(e, e->preamble, insts);
    e->body->start = c->inst_count;
    number(e, e->body, insts);
    e->body->end = c->inst_count - 1;
    vm_assign_storage(e);
    finish_segments(e);
    e->code->insts = insts;
    e->code->inst_count = c->inst_count;
    e->code->check_ops = c->check_ops;
    e->code->check_op_count = c->check_op_count;
    e->code->preamble = e->preamble->first;
    e->code->body = e->body->first;
}

static tv_status compile(vm_emit *e)
{
    vm_compile c = {0};
    vm_storages storages = {0};
    e->compile = &c;
    e->storages = &storages;
    e->values = bc_new(&e->temp, vm_value, e->f->value_count);
    c.op_segments = bc_new(e->arena, uint32_t, e->f->op_count);
    if (!e->values || !c.op_segments || !vm_make_plan(e))
        return TV_NO_MEMORY;
    memset(c.op_segments, 0xff, e->f->op_count * sizeof *c.op_segments); /* VM_NO_SEGMENT */
    emit_all(e);
    if (!e->failed)
        finish(e);
    if (e->failed)
        return e->status != TV_OK ? e->status : TV_NO_MEMORY;
    return TV_OK;
}

static tv_status compile_function(const tv_vm *vm, const bc_function *f, const vm_widened *widened, tv_sink sink,
                                  vm_code *code)
{
    const vm_note *notes[VM_BATCH_ACCESSES] = {NULL};
    *code = (vm_code){.module = vm->module, .function = f, .kernels = vm->kernels, .batch = 1};
    const tv_allocator *a = &vm->allocator;
    vm_emit *e = a->alloc(a->user, sizeof *e);
    if (!e)
        return TV_NO_MEMORY;
    memset(e, 0, sizeof *e);
    bc_arena_init(&code->arena, a, vm->memory_limit);
    bc_arena_init(&e->temp, a, vm->memory_limit);
    e->m = vm->module;
    e->f = f;
    e->vm = vm;
    e->walk = walk;
    e->code = code;
    e->sink = sink;
    e->arena = &code->arena;
    e->checks = vm->options.checks != 0;
    e->tokens = e->checks && vm_checks_tokens(e);
    e->plain = vm->options.trace || e->checks;
    e->widened = widened;
    e->notes = notes;
    tv_status status = compile(e);
    bc_arena_release(&e->temp);
    a->release(a->user, e, sizeof *e);
    if (status != TV_OK)
        bc_arena_release(&code->arena);
    return status;
}

tv_status vm_compile_entry(const tv_vm *vm, const bc_function *f, tv_sink sink, vm_code *code)
{
    return compile_function(vm, f, NULL, sink, code);
}

/* A segment of the wide code stands for that of the same number: both functions have the same regions in the same
   order, and with the same way through them. */
static bool count_as(vm_code *code, const vm_code *single)
{
    vm_segment *segments = (vm_segment *)(uintptr_t)code->segments;
    if (code->segment_count != single->segment_count)
        return false;
    for (uint32_t i = 0; i < code->segment_count; i++)
        if (segments[i].op_count)
            segments[i].op_count = single->segments[i].op_count * code->batch;
    return true;
}

bool vm_compile_batch(const tv_vm *vm, const vm_code *single, unsigned axis, uint32_t count, bc_arena *arena,
                      vm_code *code)
{
    vm_widened *widened = bc_new(arena, vm_widened, 1);
    if (!widened || !vm_widen(single->function, axis, count, arena, widened)
        || compile_function(vm, &widened->function, widened, (tv_sink){0}, code) != TV_OK)
        return false;
    code->batch = count;
    code->batch_axis = axis;
    if (count_as(code, single))
        return true;
    bc_arena_release(&code->arena);
    return false;
}

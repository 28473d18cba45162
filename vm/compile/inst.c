/* Making instructions and putting them into pieces of code; segments, in which ops are counted. */
#include <string.h>

#include "vm/compile/compile.h"
#include "vm/compile/control.h"
#include "vm/compile/storage.h"
#include "vm/run/schedule.h"

/* ---- memory ---- */

void *vm_code_bytes(vm_emit *e, size_t size)
{
    void *memory = bc_arena_alloc(e->arena, size, 16);
    if (memory)
        return memory;
    e->failed = true;
    return size <= sizeof e->trash ? e->trash : NULL;
}

void *vm_new_inst_bytes(vm_emit *e, const bc_op *op, vm_handler *run, size_t size)
{
    vm_inst *inst = vm_code_bytes(e, size);
    memset(inst, 0, size);
    inst->run = run;
    inst->op = op;
    return inst;
}

void vm_need_scratch(vm_emit *e, size_t bytes)
{
    if (bytes > e->code->scratch_bytes)
        e->code->scratch_bytes = (bytes + 63) / 64 * 64;
}

void vm_unsupported(vm_emit *e, const bc_op *op, const char *format, ...)
{
    bc_place place = {.function = e->f, .op = op, .row = BC_NO_ROW};
    va_list args;
    va_start(args, format);
    bc_report_as(e->m, e->sink, &place, BC_RULE_X_RUN_03, TV_ERROR, NULL, format, args);
    va_end(args);
    e->failed = true;
    e->status = TV_UNSUPPORTED;
}

/* ---- pieces of code ---- */

vm_ctx *vm_new_ctx(vm_emit *e, vm_ctx *parent, bool loop, bool branch)
{
    vm_ctx *ctx = bc_new(&e->temp, vm_ctx, 1);
    if (!ctx) {
        e->failed = true;
        return parent; /* never run */
    }
    ctx->parent = parent;
    ctx->loop = loop;
    ctx->branch = branch;
    ctx->depth = parent ? parent->depth + 1 : 0;
    if (parent && parent->last_child)
        parent->last_child->sibling = ctx;
    else if (parent)
        parent->children = ctx;
    if (parent)
        parent->last_child = ctx;
    return ctx;
}

void vm_append_to(vm_emit *e, vm_ctx *ctx, vm_inst *inst)
{
    if (e->failed)
        return;
    if (ctx->last)
        ctx->last->next = inst;
    else
        ctx->first = inst;
    ctx->last = inst;
    vm_place_refs(e, inst, ctx);
}

void vm_append(vm_emit *e, vm_inst *inst)
{
    vm_append_to(e, e->at, inst);
}

void vm_insert_after(vm_emit *e, vm_ctx *ctx, vm_inst *before, vm_inst *inst)
{
    if (e->failed)
        return;
    if (!before || before == ctx->last) { /* no maker: there from the start; the end is then early enough */
        vm_append_to(e, ctx, inst);
        return;
    }
    inst->next = before->next;
    before->next = inst;
    vm_place_refs(e, inst, ctx);
}

/* ---- segments: what is counted together ---- */

typedef struct segment_inst {
    vm_inst head;
    uint32_t segment;
} segment_inst;

/* The op that comes next. */
static const bc_op *next_op(const vm_frame *f, const vm_inst *inst, const vm_segment *s)
{
    return s->op_count ? f->code->segment_ops[s->first_op] : inst->op;
}

static const vm_inst *segment_run(vm_frame *f, const vm_inst *inst)
{
    uint32_t segment = ((const segment_inst *)inst)->segment;
    const vm_segment *s = &f->code->segments[segment];
    f->segment = segment;
    f->segment_counts[segment]++;
    f->ops += s->op_count;
    f->patience -= (int64_t)s->work;
    return TV_LIKELY(f->patience > 0) || vm_look(f, next_op(f, inst, s), false) ? inst->next : NULL;
}

/* Where steps are limited. Only the last op of a segment can be told from one that was not executed, so it does not
   matter that the others may already have run, elsewhere or fused, when the steps end before it. */
static const vm_inst *paid_segment_run(vm_frame *f, const vm_inst *inst)
{
    uint32_t segment = ((const segment_inst *)inst)->segment;
    return vm_pay(f, segment) ? segment_run(f, inst) : NULL;
}

const vm_inst *vm_innermost_for(const vm_emit *e)
{
    for (const vm_region_state *r = e->region; r; r = r->outer)
        if (r->op->opcode == OP_for)
            return r->header;
    return NULL;
}

uint32_t vm_new_segment(vm_emit *e, vm_ctx *ctx)
{
    vm_compile *c = e->compile;
    vm_segment_build *segments =
        bc_grow(&e->temp, c->segments, c->segment_count, &c->segment_capacity, vm_segment_build);
    if (!segments) {
        e->failed = true;
        return 0;
    }
    c->segments = segments;
    segments[c->segment_count] = (vm_segment_build){.loop = vm_innermost_for(e)};
    ctx->segment = (uint32_t)c->segment_count;
    return (uint32_t)c->segment_count++;
}

void vm_begin_segment(vm_emit *e, vm_ctx *ctx, const bc_op *op)
{
    vm_handler *run = e->vm->options.step_limit ? paid_segment_run : segment_run;
    segment_inst *inst = vm_new_inst(e, op, run, segment_inst);
    inst->segment = vm_new_segment(e, ctx);
    vm_append_to(e, ctx, &inst->head);
}

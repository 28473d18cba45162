/* What the hooks of ops emit with: instructions, pieces of code, segments, values and their places. */
#include "vm/compile/emit.h"

#include <string.h>

#include "vm/compile/compile.h"
#include "vm/compile/control.h"
#include "vm/compile/group.h"
#include "vm/compile/storage.h"
#include "vm/run/schedule.h"
#include "vm/run/view.h"

/* Packed copies larger than this are made where they are needed, not in the preamble. */
enum { COPY_ONCE_BYTES = 256 * 1024 };

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

static void insert_after(vm_emit *e, vm_ctx *ctx, vm_inst *before, vm_inst *inst)
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

/* ---- values ---- */

/* Copies of what is not packed where someone needs it so. */
typedef struct copy_inst {
    vm_inst head;
    size_t from, to;
    uint8_t bytes;
    vm_layout layout;
} copy_inst;

static const vm_inst *copy_run(vm_frame *f, const vm_inst *inst)
{
    const copy_inst *c = (const copy_inst *)inst;
    vm_copy_layout(f->code->kernels, &c->layout, c->bytes, vm_at(f, c->from), vm_at(f, c->to));
    return inst->next;
}

void vm_need_stored(vm_emit *e, const bc_value *v)
{
    vm_value *x = vm_value_of(e, v);
    if (x->form == VM_NODE)
        vm_close_group(e, x->group);
}

/* The copy is made once, where the value is; a large one that would go to the preamble, where it is needed. */
void vm_need_packed(vm_emit *e, const bc_value *v)
{
    vm_need_stored(e, v);
    vm_value *x = vm_value_of(e, v);
    if (x->form != VM_STORED || vm_has_packed(e, x) || vm_layout_is_packed(&x->layout) || e->failed)
        return;
    size_t bytes = (size_t)x->elem_bytes << x->layout.bits;
    bool here = bytes > COPY_ONCE_BYTES && x->home != e->at;
    vm_ctx *home = here ? e->at : x->home;
    vm_storage to = vm_new_storage(e, bytes, home);
    copy_inst *inst = vm_new_inst(e, NULL, copy_run, copy_inst);
    inst->bytes = x->elem_bytes;
    inst->layout = x->layout;
    vm_bind(e, &inst->head, &inst->from, x->storage, x->offset, VM_READ);
    vm_bind(e, &inst->head, &inst->to, to, 0, VM_WRITE);
    if (here)
        vm_append_to(e, e->at, &inst->head);
    else
        insert_after(e, home, x->maker, &inst->head);
    x->packed = to;
    x->packed_for = here ? e->position : UINT32_MAX;
    x->packer = &inst->head;
}

void vm_read(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *v)
{
    vm_value *x = vm_value_of(e, v);
    vm_bind(e, inst, field, x->storage, x->offset, VM_READ);
    if (x->form == VM_ROWS)
        vm_bind(e, inst, NULL, x->staging, 0, VM_READ);
}

void vm_read_packed(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *v)
{
    vm_value *x = vm_value_of(e, v);
    if (vm_has_packed(e, x))
        vm_bind(e, inst, field, x->packed, 0, VM_READ);
    else
        vm_bind(e, inst, field, x->storage, x->offset, VM_READ);
}

void vm_set_stored(vm_emit *e, const bc_value *v, vm_storage storage, const vm_layout *layout, vm_inst *maker)
{
    vm_value *x = vm_value_of(e, v);
    x->form = VM_STORED;
    x->elem_bytes = v->type->kind == BC_TOKEN ? VM_TOKEN_BYTES : (uint8_t)vm_elem_bytes(bc_elem_kind(v->type));
    x->layout = *layout;
    x->storage = storage;
    x->offset = 0;
    x->packed = VM_NO_STORAGE;
    x->home = e->at;
    x->maker = maker;
}

void vm_write(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result)
{
    vm_layout layout = vm_layout_packed(vm_type_bits(result->type));
    size_t bytes = (size_t)vm_elem_bytes(bc_elem_kind(result->type)) << layout.bits;
    vm_storage storage = vm_new_storage(e, bytes, e->at);
    vm_set_stored(e, result, storage, &layout, inst);
    vm_bind(e, inst, field, storage, 0, VM_WRITE);
}

void vm_write_record(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result, size_t bytes)
{
    vm_value *x = vm_value_of(e, result);
    x->form = VM_RECORD;
    x->storage = vm_new_storage(e, bytes, e->at);
    x->home = e->at;
    x->maker = inst;
    vm_bind(e, inst, field, x->storage, 0, VM_WRITE);
}

void vm_alias(vm_emit *e, const bc_value *result, const bc_value *source, const vm_layout *layout, size_t offset)
{
    vm_value *x = vm_value_of(e, result);
    const vm_value planned = *x; /* what the look ahead knows of its uses stays its own */
    *x = *vm_value_of(e, source);
    x->uses = planned.uses;
    x->last_use = planned.last_use;
    x->rows_ok = planned.rows_ok;
    x->mma_only = planned.mma_only;
    x->offset += offset;
    if (layout) {
        x->layout = *layout;
        x->packed = VM_NO_STORAGE;
    }
}

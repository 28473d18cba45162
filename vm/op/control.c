/* Regions: if, for, loop, and the ops that end them. Values cross an edge by moves into storage of the region op: the
   block arguments of a loop, the results of an if or loop. A `for` leaves its results in its arguments. */
#include "vm/compile/control.h"

#include <string.h>

#include "vm/compile/compile.h"
#include "vm/compile/group.h"
#include "vm/compile/storage.h"
#include "vm/run/loop.h"
#include "vm/run/view.h"

/* ---- moves ---- */

typedef struct vm_move {
    size_t from, to, temp;
    size_t bytes;            /* of the whole */
    const vm_layout *layout; /* of the source; NULL: packed */
    uint8_t elem_bytes;
    bool through_temp; /* the source is the target of another move */
} vm_move;

typedef struct vm_moves {
    vm_move *moves;
    uint32_t count;
    bool any_temp;
} vm_moves;

static void move_one(vm_frame *f, const vm_move *m, size_t from, size_t to)
{
    if (m->layout)
        vm_copy_layout(f->code->kernels, m->layout, m->elem_bytes, vm_at(f, from), vm_at(f, to));
    else if (from != to)
        memcpy(vm_at(f, to), vm_at(f, from), m->bytes);
}

static void run_moves(vm_frame *f, const vm_moves *all)
{
    for (uint32_t i = 0; all->any_temp && i < all->count; i++)
        if (all->moves[i].through_temp)
            memcpy(vm_at(f, all->moves[i].temp), vm_at(f, all->moves[i].from), all->moves[i].bytes);
    for (uint32_t i = 0; i < all->count; i++) {
        const vm_move *m = &all->moves[i];
        if (m->through_temp)
            memcpy(vm_at(f, m->to), vm_at(f, m->temp), m->bytes);
        else
            move_one(f, m, m->from, m->to);
    }
}

static bool is_token(const bc_value *v)
{
    return v->type->kind == BC_TOKEN;
}

static size_t tile_bytes(const bc_value *v)
{
    return is_token(v) ? VM_TOKEN_BYTES : (size_t)vm_elem_bytes(bc_elem_kind(v->type)) << vm_type_bits(v->type);
}

static bool is_target(const vm_target_slots *to, vm_storage storage, uint32_t except)
{
    for (uint32_t i = 0; i < to->count; i++)
        if (i != except && to->storage[i] == storage)
            return true;
    return false;
}

/* What is laid out in a target itself is packed elsewhere first: a move cannot read it while it writes. */
static void need_sources(vm_emit *e, bc_value *const *sources, const vm_target_slots *to)
{
    for (uint32_t i = 0; to && i < to->count; i++) {
        if (!to->storage[i])
            continue;
        vm_need_stored(e, sources[i]);
        const vm_value *v = vm_value_of(e, sources[i]);
        if (!vm_layout_is_packed(&v->layout) && is_target(to, v->storage, UINT32_MAX))
            vm_need_packed(e, sources[i]);
    }
}

/* Binds one move; the source is stored already. */
static void bind_move(vm_emit *e, vm_inst *inst, vm_moves *all, const bc_value *source, const vm_target_slots *to,
                      uint32_t i)
{
    vm_value *v = vm_value_of(e, source);
    vm_move *m = &all->moves[all->count++];
    m->bytes = tile_bytes(source);
    m->elem_bytes = v->elem_bytes;
    bool packed = vm_layout_is_packed(&v->layout);
    if (vm_has_packed(e, v) || packed) {
        vm_read_packed(e, inst, &m->from, source);
    } else {
        vm_layout *layout = vm_code_bytes(e, sizeof *layout);
        *layout = v->layout;
        m->layout = layout;
        vm_read(e, inst, &m->from, source);
    }
    vm_bind(e, inst, &m->to, to->storage[i], 0, VM_WRITE);
    if (packed && is_target(to, v->storage, i)) {
        m->through_temp = all->any_temp = true;
        vm_bind(e, inst, &m->temp, vm_new_storage(e, m->bytes, e->cur), 0, VM_UPDATE);
    } else if (packed && v->offset == 0 && v->storage != to->storage[i]) {
        vm_affinity(e, inst, v->storage, to->storage[i]);
    }
}

static void bind_moves(vm_emit *e, vm_inst *inst, vm_moves *all, bc_value *const *sources, const vm_target_slots *to)
{
    all->moves = vm_code_bytes(e, (to->count + 1) * sizeof *all->moves);
    if (e->failed)
        return;
    for (uint32_t i = 0; i < to->count && !e->failed; i++)
        if (to->storage[i])
            bind_move(e, inst, all, sources[i], to, i);
}

/* Storage for values that terminators pass on. VM_NO_STORAGE: the value is unused, or a token that checks do not
   need. */
static void make_targets(vm_emit *e, vm_target_slots *to, const bc_value *values, uint32_t count, vm_ctx *home)
{
    to->count = count;
    to->storage = bc_new(&e->temp, vm_storage, count + 1u);
    if (!to->storage) {
        e->failed = true;
        to->count = 0;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if ((e->tokens || !is_token(&values[i])) && vm_used(e, &values[i]))
            to->storage[i] = vm_new_storage(e, tile_bytes(&values[i]), home);
}

/* The values are in the targets from `maker` on. */
static void set_targets(vm_emit *e, const vm_target_slots *to, const bc_value *values, vm_ctx *home, vm_inst *maker)
{
    e->at = home;
    for (uint32_t i = 0; i < to->count; i++) {
        vm_layout layout = vm_layout_packed(is_token(&values[i]) ? 0 : vm_type_bits(values[i].type));
        if (to->storage[i])
            vm_set_stored(e, &values[i], to->storage[i], &layout, maker);
        else if (is_token(&values[i]))
            vm_value_of(e, &values[i])->form = VM_NOTHING;
    }
}

typedef struct moves_inst {
    vm_inst head;
    vm_moves moves;
} moves_inst;

static const vm_inst *moves_run(vm_frame *f, const vm_inst *inst)
{
    run_moves(f, &((const moves_inst *)inst)->moves);
    return inst->next;
}

/* ---- if ---- */

typedef struct if_inst {
    vm_inst head;
    size_t condition;
    const vm_inst *then_first, *else_first; /* NULL: nothing to do */
} if_inst;

static const vm_inst *if_run(vm_frame *f, const vm_inst *inst)
{
    const if_inst *i = (const if_inst *)inst;
    const vm_inst *first = f->base[i->condition] ? i->then_first : i->else_first;
    return first ? first : inst->next;
}

static const vm_inst *emit_branch(vm_emit *e, vm_inst *header, const bc_block *block)
{
    if (!block)
        return NULL;
    vm_ctx *ctx = vm_new_ctx(e, e->cur, false, true);
    ctx->header = header;
    vm_begin_segment(e, ctx, header->op);
    vm_emit_block(e, ctx, block);
    return ctx->first;
}

void vm_if(vm_emit *e, const bc_op *op)
{
    const bc_value *condition = bc_operands(op)[0];
    vm_region_state region = {.outer = e->region, .op = op};
    bool left = e->leaves;
    vm_ctx *cur = e->cur;
    vm_need_stored(e, condition);
    if_inst *inst = vm_new_inst(e, op, if_run, if_inst);
    region.header = &inst->head;
    make_targets(e, &region.results, bc_results(op), op->result_count, cur);
    e->region = &region;
    e->leaves = false;
    inst->then_first = emit_branch(e, &inst->head, bc_regions(op)[0]);
    inst->else_first = emit_branch(e, &inst->head, bc_regions(op)[1]);
    e->region = region.outer;
    vm_close_groups(e, cur);
    vm_read(e, &inst->head, &inst->condition, condition);
    e->at = cur;
    vm_append(e, &inst->head);
    set_targets(e, &region.results, bc_results(op), cur, &inst->head);
    if (e->leaves)
        vm_begin_segment(e, cur, op); /* what follows may run less often */
    e->leaves |= left;
}

/* ---- for ---- */

typedef struct for_next_inst {
    vm_inst head;
    const vm_for_loop *loop;
    size_t upper, step, iv;
    vm_moves moves;
} for_next_inst;

static const vm_inst *for_run(vm_frame *f, const vm_inst *inst)
{
    const vm_for_loop *l = (const vm_for_loop *)inst;
    uint64_t lower = vm_for_int(f, l->lower, l->bytes), upper = vm_for_int(f, l->upper, l->bytes);
    uint64_t step = vm_for_int(f, l->step, l->bytes);
    if (vm_for_ordered(l, lower) >= vm_for_ordered(l, upper))
        return inst->next;
    if (step == 0 || (!l->is_unsigned && step >> (l->width - 1)))
        return vm_trap(f, inst, BC_RULE_X_LOP_01, "the step of the loop is %s", step ? "negative" : "0");
    memcpy(f->base + l->iv, &lower, l->bytes);
    memcpy(f->base + l->start, &lower, l->bytes);
    return l->first;
}

static const vm_inst *for_next_run(vm_frame *f, const vm_inst *inst)
{
    const for_next_inst *n = (const for_next_inst *)inst;
    const vm_for_loop *l = n->loop;
    run_moves(f, &n->moves);
    uint64_t iv = vm_for_int(f, n->iv, l->bytes), upper = vm_for_ordered(l, vm_for_int(f, n->upper, l->bytes));
    uint64_t step = vm_for_int(f, n->step, l->bytes), left = upper - vm_for_ordered(l, iv);
    if (step >= left) /* also where iv + step would wrap around */
        return l->head.next;
    iv += step;
    memcpy(f->base + n->iv, &iv, l->bytes);
    return l->first;
}

static void emit_initial(vm_emit *e, bc_value *const *inits, const vm_target_slots *to)
{
    need_sources(e, inits, to);
    moves_inst *inst = vm_new_inst(e, NULL, moves_run, moves_inst);
    bind_moves(e, &inst->head, &inst->moves, inits, to);
    vm_append(e, &inst->head);
}

void vm_for(vm_emit *e, const bc_op *op)
{
    bc_value **operands = bc_operands(op);
    const bc_block *block = bc_regions(op)[0];
    bc_range inits = bc_operand_range(op, F_for_init_values);
    uint64_t flag = bc_attr_u(op, F_for_unsigned_cmp);
    vm_ctx *cur = e->cur, *body;
    vm_region_state region = {.outer = e->region, .op = op, .is_loop = true};
    for (unsigned i = 0; i < 3; i++)
        vm_need_stored(e, operands[i]);
    vm_for_loop *inst = vm_new_inst(e, op, for_run, vm_for_loop);
    bc_kind kind = bc_elem_kind(operands[0]->type);
    inst->bytes = (uint8_t)vm_elem_bytes(kind);
    inst->width = (uint8_t)bc_kind_bits(kind);
    inst->is_unsigned = flag != 0 && flag != BC_ABSENT;
    region.header = &inst->head;
    /* an argument is needed when it is used, or when the result is */
    for (uint32_t i = 0; i < op->result_count; i++)
        if (vm_used(e, vm_result(op, i)))
            vm_value_of(e, &block->args[i + 1])->uses++;
    make_targets(e, &region.args, block->args + 1, block->arg_count - 1, cur);
    region.iv = vm_new_storage(e, inst->bytes, cur);
    region.start = vm_new_storage(e, inst->bytes, cur);
    emit_initial(e, operands + inits.first, &region.args);
    body = vm_new_ctx(e, cur, true, false);
    body->header = &inst->head;
    inst->outer = vm_innermost_for(e);
    e->region = &region;
    vm_begin_segment(e, body, op);
    inst->first = body->first;
    set_targets(e, &region.args, block->args + 1, body, NULL);
    vm_layout scalar = vm_layout_packed(0);
    vm_set_stored(e, &block->args[0], region.iv, &scalar, NULL);
    vm_emit_block(e, body, block);
    e->region = region.outer;
    vm_close_groups(e, cur);
    vm_read(e, &inst->head, &inst->lower, operands[0]);
    vm_read(e, &inst->head, &inst->upper, operands[1]);
    vm_read(e, &inst->head, &inst->step, operands[2]);
    vm_bind(e, &inst->head, &inst->iv, region.iv, 0, VM_WRITE);
    vm_bind(e, &inst->head, &inst->start, region.start, 0, VM_WRITE);
    e->at = cur;
    vm_append(e, &inst->head);
    region.args.count = op->result_count;
    set_targets(e, &region.args, bc_results(op), cur, &inst->head);
}

/* ---- loop ---- */

typedef struct loop_inst {
    vm_inst head;
    const vm_inst *first;
} loop_inst;

static const vm_inst *loop_run(vm_frame *f, const vm_inst *inst)
{
    (void)f;
    return ((const loop_inst *)inst)->first;
}

void vm_loop(vm_emit *e, const bc_op *op)
{
    const bc_block *block = bc_regions(op)[0];
    vm_ctx *cur = e->cur;
    vm_region_state region = {.outer = e->region, .op = op, .is_loop = true};
    loop_inst *inst = vm_new_inst(e, op, loop_run, loop_inst);
    region.header = &inst->head;
    make_targets(e, &region.args, block->args, block->arg_count, cur);
    make_targets(e, &region.results, bc_results(op), op->result_count, cur);
    emit_initial(e, bc_operands(op), &region.args);
    vm_ctx *body = vm_new_ctx(e, cur, true, false);
    body->header = &inst->head;
    vm_begin_segment(e, body, op);
    inst->first = body->first;
    set_targets(e, &region.args, block->args, body, NULL);
    e->region = &region;
    vm_emit_block(e, body, block);
    e->region = region.outer;
    vm_close_groups(e, cur);
    e->at = cur;
    vm_append(e, &inst->head);
    set_targets(e, &region.results, bc_results(op), cur, &inst->head);
}

/* ---- the ends of regions ---- */

typedef struct jump_inst {
    vm_inst head;
    vm_moves moves;
    const vm_inst *after; /* goes on behind this one */
    const vm_inst *to;    /* or, with after NULL, at this one; NULL: ends */
} jump_inst;

static const vm_inst *jump_run(vm_frame *f, const vm_inst *inst)
{
    const jump_inst *j = (const jump_inst *)inst;
    run_moves(f, &j->moves);
    return j->after ? j->after->next : j->to;
}

static vm_region_state *nearest_loop(vm_emit *e)
{
    vm_region_state *r = e->region;
    while (r && !r->is_loop)
        r = r->outer;
    return r;
}

static void emit_jump(vm_emit *e, const bc_op *op, const vm_target_slots *to, const vm_inst *after,
                      const vm_inst *target)
{
    need_sources(e, bc_operands(op), to);
    vm_close_groups(e, e->cur);
    jump_inst *inst = vm_new_inst(e, op, jump_run, jump_inst);
    if (to)
        bind_moves(e, &inst->head, &inst->moves, bc_operands(op), to);
    inst->after = after;
    inst->to = target;
    vm_append(e, &inst->head);
}

void vm_yield(vm_emit *e, const bc_op *op)
{
    if (e->lanes)
        return; /* vm_lanes_end takes what it yields */
    vm_region_state *r = e->region;
    emit_jump(e, op, &r->results, r->is_body ? NULL : r->header, NULL);
}

void vm_break(vm_emit *e, const bc_op *op)
{
    vm_region_state *r = nearest_loop(e);
    emit_jump(e, op, &r->results, r->header, NULL);
    e->leaves = true;
}

static void emit_for_next(vm_emit *e, const bc_op *op, vm_region_state *r)
{
    need_sources(e, bc_operands(op), &r->args);
    vm_close_groups(e, e->cur);
    for_next_inst *inst = vm_new_inst(e, op, for_next_run, for_next_inst);
    bc_value **bounds = bc_operands(r->op);
    inst->loop = (const vm_for_loop *)r->header;
    bind_moves(e, &inst->head, &inst->moves, bc_operands(op), &r->args);
    vm_read(e, &inst->head, &inst->upper, bounds[1]);
    vm_read(e, &inst->head, &inst->step, bounds[2]);
    vm_bind(e, &inst->head, &inst->iv, r->iv, 0, VM_UPDATE);
    vm_bind(e, &inst->head, NULL, r->start, 0, VM_READ);
    vm_append(e, &inst->head);
}

void vm_continue(vm_emit *e, const bc_op *op)
{
    vm_region_state *r = nearest_loop(e);
    if (r->op->opcode == OP_for)
        emit_for_next(e, op, r);
    else
        emit_jump(e, op, &r->args, NULL, ((const loop_inst *)r->header)->first);
    e->leaves = true;
}

void vm_return(vm_emit *e, const bc_op *op)
{
    emit_jump(e, op, NULL, NULL, NULL);
    e->leaves = true;
}

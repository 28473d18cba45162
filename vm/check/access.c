/* Selects the checks of each op that accesses memory, and handles elements that loads leave undefined. */
#include "vm/check/access.h"

#include <string.h>

#include "vm/compile/compile.h"

/* The operand and attribute rows of an op that accesses memory. 0, a row of absi: it has none. */
typedef struct access_rows {
    int pointers, view, index, inbounds, mask, value, compare, mode, order, scope, token;
} access_rows;

#define ORDERED(op) .order = F_##op##_memory_ordering_semantics, .scope = F_##op##_memory_scope, .token = F_##op##_token
#define POINTERS(op, name) .pointers = F_##op##_##name, .mask = F_##op##_mask, ORDERED(op)
#define VIEW(op) .view = F_##op##_view, .index = F_##op##_index, .inbounds = F_##op##_inbounds, ORDERED(op)
static const struct {
    bc_opcode opcode;
    access_rows rows;
} accesses[] = {
    {OP_load_ptr_tko, {POINTERS(load_ptr_tko, source)}},
    {OP_store_ptr_tko, {POINTERS(store_ptr_tko, destination)}},
    {OP_atomic_rmw_tko,
     {POINTERS(atomic_rmw_tko, pointers), .value = F_atomic_rmw_tko_arg, .mode = F_atomic_rmw_tko_mode}},
    {OP_atomic_cas_tko,
     {POINTERS(atomic_cas_tko, pointers), .value = F_atomic_cas_tko_val, .compare = F_atomic_cas_tko_cmp}},
    {OP_load_view_tko, {VIEW(load_view_tko)}},
    {OP_store_view_tko, {VIEW(store_view_tko)}},
    {OP_atomic_red_view_tko, {VIEW(atomic_red_view_tko)}},
};

/* NULL: the op has no check of its own. */
static const access_rows *rows_of(const bc_op *op)
{
    for (size_t i = 0; i < TV_COUNT(accesses); i++)
        if (accesses[i].opcode == (bc_opcode)op->opcode)
            return &accesses[i].rows;
    return NULL;
}

static vm_check_op describe(const bc_function *f, const bc_op *op, const access_rows *rows)
{
    uint64_t order = bc_attr_u(op, rows->order), scope = bc_attr_u(op, rows->scope);
    bool acq_rel = order == BC_MemoryOrderingSemantics_acq_rel;
    vm_check_op what = {.op = op,
                        .reads = bc_info(op)->effects & BC_READS,
                        .writes = bc_info(op)->effects & BC_WRITES,
                        .strong = order != BC_MemoryOrderingSemantics_weak,
                        .param = vm_param_of(f, op)};
    what.wide = what.strong && scope != BC_MemoryScope_tl_blk;
    what.acquires = what.wide && (acq_rel || order == BC_MemoryOrderingSemantics_acquire);
    what.releases = what.wide && (acq_rel || order == BC_MemoryOrderingSemantics_release);
    return what;
}

static uint32_t add_op(vm_emit *e, const bc_op *op, const access_rows *rows)
{
    vm_compile *c = e->compile;
    vm_check_op *ops = bc_grow(e->arena, c->check_ops, c->check_op_count, &c->check_op_capacity, vm_check_op);
    if (!ops) {
        e->failed = true;
        return 0;
    }
    c->check_ops = ops;
    ops[c->check_op_count] = describe(e->f, op, rows);
    return c->check_op_count++;
}

static void bind_token(vm_emit *e, vm_inst *inst, size_t *field, bool *has, const bc_value *v)
{
    *has = v != NULL;
    if (v)
        vm_read(e, inst, field, v);
}

static void bind_view(vm_emit *e, vm_access_check *c, const bc_op *op, const access_rows *rows)
{
    const bc_value *view = bc_operand(op, rows->view);
    bc_range index = bc_operand_range(op, rows->index);
    const bc_ints *promises = bc_attr_of(op, rows->inbounds)->ints;
    c->is_view = true;
    vm_bind_access(e, &c->head, &c->info, view, bc_operands(op) + index.first,
                   (bc_MemoryOrderingSemantics)bc_attr_u(op, rows->order));
    c->inbounds = promises && promises->count == index.count ? promises->ptr : NULL;
    c->kind = c->info.kind;
    c->bytes = c->info.bytes;
}

static void bind_pointers(vm_emit *e, vm_access_check *c, const bc_op *op, const access_rows *rows)
{
    const bc_value *pointers = bc_operand(op, rows->pointers), *mask = bc_operand(op, rows->mask);
    bc_kind kind = (bc_kind)pointers->type->elem->elem->kind;
    c->kind = (uint8_t)kind;
    c->bytes = (uint8_t)bc_kind_memory_bytes(kind);
    c->n = vm_count(pointers);
    vm_read_packed(e, &c->head, &c->pointers, pointers);
    c->has_mask = mask != NULL;
    if (mask)
        vm_read_packed(e, &c->head, &c->mask, mask);
    if (rows->value)
        vm_read_packed(e, &c->head, &c->value, bc_operand(op, rows->value));
    if (rows->compare)
        vm_read_packed(e, &c->head, &c->compare, bc_operand(op, rows->compare));
    if (rows->mode)
        c->mode = (uint8_t)bc_attr_u(op, rows->mode);
}

static void bind_rows(vm_emit *e, vm_access_check *c, const bc_op *op, const access_rows *rows)
{
    if (rows->view)
        bind_view(e, c, op, rows);
    else
        bind_pointers(e, c, op, rows);
}

void vm_bind_visit(vm_emit *e, vm_access_check *c, const bc_op *op)
{
    bind_rows(e, c, op, rows_of(op));
}

/* The instruction with what the op accesses, not yet appended. */
static vm_access_check *new_access(vm_emit *e, const bc_op *op, const access_rows *rows, vm_handler *run)
{
    for (unsigned i = 0; i < op->operand_count; i++)
        if (bc_is_tile(bc_operands(op)[i]->type))
            vm_need_packed(e, bc_operands(op)[i]);
    vm_access_check *c = vm_new_inst(e, op, run, vm_access_check);
    bind_rows(e, c, op, rows);
    return c;
}

static void emit_access(vm_emit *e, const bc_op *op, const access_rows *rows)
{
    uint32_t wanted = e->vm->options.checks;
    vm_access_check *c = new_access(e, op, rows, vm_access_run);
    c->number = add_op(e, op, rows);
    c->order = vm_checks_tokens(e);
    c->shadow = c->order || (wanted & TV_CHECK_UNINIT);
    c->bounds = (wanted & TV_CHECK_BOUNDS) != 0;
    if (c->order) {
        bind_token(e, &c->head, &c->token_in, &c->has_token_in, bc_operand(op, rows->token));
        vm_write_token(e, &c->head, &c->token_out, vm_result(op, op->result_count - 1u));
    }
    vm_append(e, &c->head);
}

/* ---- for a debugger ---- */

static const vm_inst *place_run(vm_frame *f, const vm_inst *inst)
{
    (void)f;
    return inst->next;
}

const vm_access_check *vm_emit_access_place(vm_emit *e, const bc_op *op)
{
    const access_rows *rows = rows_of(op);
    if (!rows)
        return NULL;
    vm_access_check *c = new_access(e, op, rows, place_run);
    vm_append(e, &c->head);
    return c;
}

/* ---- undefined elements ---- */

/* Elements of a load or an atomic may hold anything if they lie outside a view without padding, or are masked off and
   have no padding value. */
typedef struct open_check {
    vm_access_check access; /* the elements that are defined */
    size_t result, count;
    uint8_t bytes;
    uint64_t junk; /* pattern that undefined elements get */
    size_t inside; /* scratch: a byte for each element */
} open_check;

static bool visit_inside(vm_touch *t, uint64_t address, size_t element)
{
    (void)address;
    t->f->base[((const open_check *)t->c)->inside + element] = 1;
    return true;
}

static const vm_inst *open_run(vm_frame *f, const vm_inst *inst)
{
    const open_check *o = (const open_check *)inst;
    if (!f->run->check->junk)
        return inst->next;
    vm_touch t = {.f = f, .c = &o->access};
    memset(f->base + o->inside, 0, o->count);
    vm_visit_all(&t, visit_inside);
    for (size_t i = 0; i < o->count; i++)
        if (!f->base[o->inside + i])
            memcpy(f->base + o->result + i * o->bytes, &o->junk, o->bytes);
    return inst->next;
}

/* Such a number is far from 0, but a number of every kind; i1 has only one other value. */
static uint64_t junk_of(bc_kind kind)
{
    return kind == BC_I1                          ? 1
           : kind == BC_I4 || kind == BC_F4E2M1FN ? 5
           : kind == BC_TF32                      ? 0x5a5a4000u
                                                  : 0x5a5a5a5a5a5a5a5au;
}

static bool leaves_open(const bc_op *op, const access_rows *rows)
{
    if (op->opcode == OP_load_view_tko)
        return bc_operand(op, F_load_view_tko_view)->type->padding == BC_NO_PADDING;
    if (op->opcode == OP_load_ptr_tko)
        return bc_operand(op, rows->mask) && !bc_operand(op, F_load_ptr_tko_padding_value);
    return op->opcode == OP_atomic_rmw_tko && bc_operand(op, rows->mask);
}

void vm_emit_open_elements(vm_emit *e, const bc_op *op)
{
    const access_rows *rows = rows_of(op);
    if (!(e->vm->options.checks & TV_CHECK_UNINIT) || !rows || !leaves_open(op, rows))
        return;
    const bc_value *result = vm_result(op, 0);
    open_check *o = vm_new_inst(e, op, open_run, open_check);
    vm_inst *inst = &o->access.head;
    bind_rows(e, &o->access, op, rows);
    o->count = vm_count(result);
    o->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(result->type));
    o->junk = junk_of(bc_elem_kind(result->type));
    vm_bind(e, inst, &o->result, vm_value_of(e, result)->storage, 0, VM_UPDATE);
    vm_bind(e, inst, &o->inside, vm_new_storage(e, o->count, e->at), 0, VM_UPDATE);
    vm_append(e, inst);
    e->code->opens = true;
}

void vm_emit_memory_checks(vm_emit *e, const bc_op *op)
{
    uint32_t wanted = e->vm->options.checks;
    const access_rows *rows = rows_of(op);
    if (rows) {
        if (wanted & (TV_CHECK_BOUNDS | TV_CHECK_UNINIT | TV_CHECK_RACES | TV_CHECK_TOKENS))
            emit_access(e, op, rows);
    } else if (vm_checks_tokens(e) && op->region_count == 0) {
        vm_emit_join(e, op);
    }
}

/* Loads, stores and atomic updates of floats: memory keeps the exact elements of what the kernel has stored. Everything
   else counts as exact, and so does f4, because two of them share a byte. */
#include "vm/check/access.h"
#include "vm/precision/precision.h"
#include "vm/run/atomic.h"

typedef struct exact_access {
    vm_access_check access; /* what vm_visit_all needs */
    vm_maker maker;         /* additions */
    vm_exact_operand value; /* stored, or the argument of an update */
    size_t result, compare; /* what memory held; cas: what it should */
    size_t exact;           /* of the result */
    vm_visit *each;
} exact_access;

/* One execution. */
typedef struct execution {
    vm_touch touch;
    const exact_access *a;
    bool failed; /* out of memory */
} execution;

/* ---- elements ---- */

static uint64_t pattern_at(const vm_frame *f, size_t at, size_t i, unsigned bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, f->base + at + i * bytes, bytes);
    return bits;
}

static double value_of(bc_kind kind, uint64_t bits)
{
    return bc_float_value(kind, kind == BC_TF32 ? bc_tf32_from_cell((uint32_t)bits) : bits);
}

/* The exact element of memory that holds these bits. */
static vm_exact kept_at(const execution *x, uint64_t address, uint64_t bits)
{
    const vm_access_check *c = &x->a->access;
    const vm_kept *kept = vm_cells_find(&vm_precision_of(x->touch.f)->cells, address, c->bytes, bits);
    return kept ? kept->exact : vm_exact_of(value_of((bc_kind)c->kind, bits));
}

static bool keep(execution *x, uint64_t address, const vm_exact *exact, uint64_t bits)
{
    struct vm_precision *p = vm_precision_of(x->touch.f);
    vm_kept *kept = vm_cells_make(&p->cells, &p->memory, address, x->a->access.bytes);
    x->failed = !kept;
    if (kept)
        *kept = (vm_kept){*exact, bits, x->touch.f->block_index, x->a->access.kind, true};
    return kept != NULL;
}

static bool visit_load(vm_touch *t, uint64_t address, size_t i)
{
    const execution *x = (const execution *)t;
    uint64_t bits = pattern_at(t->f, x->a->result, i, t->c->bytes);
    ((vm_exact *)vm_at(t->f, x->a->exact))[i] = kept_at(x, address, bits);
    return true;
}

static bool visit_store(vm_touch *t, uint64_t address, size_t i)
{
    execution *x = (execution *)t;
    vm_exact exact = vm_source_at(t->f, &x->a->value, i).exact;
    return keep(x, address, &exact, pattern_at(t->f, x->a->value.real, i, t->c->bytes));
}

/* Element i of an update of memory that held `old`. */
static bool update(execution *x, uint64_t address, size_t i, uint64_t old, vm_exact before)
{
    const vm_access_check *c = x->touch.c;
    uint64_t now = old, argument = pattern_at(x->touch.f, x->a->value.real, i, c->bytes);
    vm_source sources[2] = {{vm_wide_of(value_of((bc_kind)c->kind, old)), before, 0},
                            vm_source_at(x->touch.f, &x->a->value, i)};
    vm_atomic_update((uintptr_t)&now, (bc_kind)c->kind, (bc_AtomicRMWMode)c->mode, argument,
                     BC_MemoryOrderingSemantics_relaxed);
    if (c->mode != BC_AtomicRMWMode_addf)
        return keep(x, address, &sources[1].exact, now); /* xchg */
    for (unsigned k = 0; k < 2; k++)
        sources[k].effect = vm_wide_distance(sources[k].real, sources[k].exact.x);
    vm_exact after = vm_exact_make(x->touch.f, &x->a->maker, i, value_of((bc_kind)c->kind, now),
                                   vm_wide_add(sources[0].real, sources[1].real),
                                   vm_wide_add(sources[0].exact.x, sources[1].exact.x), sources, 2);
    return keep(x, address, &after, now);
}

/* After an update that returns what memory held: updates of one address follow each other. */
static bool visit_update(vm_touch *t, uint64_t address, size_t i)
{
    execution *x = (execution *)t;
    uint64_t old = pattern_at(t->f, x->a->result, i, t->c->bytes);
    vm_exact before = kept_at(x, address, old);
    ((vm_exact *)vm_at(t->f, x->a->exact))[i] = before;
    return update(x, address, i, old, before);
}

/* Before an update that returns nothing. */
static bool visit_reduction(vm_touch *t, uint64_t address, size_t i)
{
    execution *x = (execution *)t;
    uint64_t old = 0;
    if (!vm_region_of(t->f, address, t->c->bytes))
        return false; /* the update itself will trap */
    memcpy(&old, (const void *)(uintptr_t)address, t->c->bytes);
    return update(x, address, i, old, kept_at(x, address, old));
}

static bool visit_exchange(vm_touch *t, uint64_t address, size_t i)
{
    execution *x = (execution *)t;
    uint64_t old = pattern_at(t->f, x->a->result, i, t->c->bytes);
    ((vm_exact *)vm_at(t->f, x->a->exact))[i] = kept_at(x, address, old);
    return old != pattern_at(t->f, x->a->compare, i, t->c->bytes) || visit_store(t, address, i);
}

/* ---- running ---- */

static const vm_inst *access_run(vm_frame *f, const vm_inst *inst)
{
    const exact_access *a = (const exact_access *)inst;
    execution x = {.touch = {.f = f, .c = &a->access}, .a = a};
    vm_loss *loss = &vm_precision_of(f)->ops[a->maker.op];
    if (a->access.mode == BC_AtomicRMWMode_addf) {
        loss->op = inst->op;
        loss->is_sum = true;
    }
    if (a->access.bytes)
        vm_visit_all(&x.touch, a->each);
    return x.failed ? vm_precision_no_memory(f, inst) : inst->next;
}

/* ---- compiling ---- */

/* For each op: how its elements are visited, and the operand row of what it writes. */
static const struct {
    bc_opcode opcode;
    vm_visit *each;
    int value, mode, compare;
} accesses[] = {
    {OP_load_ptr_tko, visit_load, 0, 0, 0},
    {OP_load_view_tko, visit_load, 0, 0, 0},
    {OP_store_ptr_tko, visit_store, F_store_ptr_tko_value, 0, 0},
    {OP_store_view_tko, visit_store, F_store_view_tko_tile, 0, 0},
    {OP_atomic_rmw_tko, visit_update, F_atomic_rmw_tko_arg, F_atomic_rmw_tko_mode, 0},
    {OP_atomic_red_view_tko, visit_reduction, F_atomic_red_view_tko_value, F_atomic_red_view_tko_mode, 0},
    {OP_atomic_cas_tko, visit_exchange, F_atomic_cas_tko_val, 0, F_atomic_cas_tko_cmp},
};

/* Exact elements of a loaded tile: elements that the load does not read count as exact. */
static void bind_result(vm_emit *e, exact_access *a, const bc_value *result)
{
    vm_storage exact = vm_exact_storage(e, result);
    vm_read_packed(e, &a->access.head, &a->result, result);
    vm_bind(e, &a->access.head, &a->exact, exact, 0, VM_UPDATE);
    vm_set_exact(e, result, exact);
}

static void emit_access(vm_emit *e, const bc_op *op, size_t row)
{
    const bc_value *value = accesses[row].value ? bc_operand(op, accesses[row].value) : vm_result(op, 0);
    const bc_value *result = bc_is_tile(vm_result(op, 0)->type) ? vm_result(op, 0) : NULL;
    if (!vm_has_floats(value))
        return;
    for (unsigned i = 0; i < op->operand_count; i++)
        if (bc_is_tile(bc_operands(op)[i]->type))
            vm_need_packed(e, bc_operands(op)[i]);
    if (result)
        vm_need_exact(e, result);
    exact_access *a = vm_new_inst(e, op, access_run, exact_access);
    a->each = accesses[row].each;
    a->maker = vm_maker_of(e, bc_elem_kind(value->type));
    vm_bind_visit(e, &a->access, op);
    a->access.mode = (uint8_t)(accesses[row].mode ? bc_attr_u(op, accesses[row].mode) : BC_AtomicRMWMode_xchg);
    if (accesses[row].value)
        vm_bind_operand(e, &a->access.head, &a->value, value);
    if (accesses[row].compare)
        vm_read_packed(e, &a->access.head, &a->compare, bc_operand(op, accesses[row].compare));
    if (result)
        bind_result(e, a, result);
    vm_append(e, &a->access.head);
}

static void emit_access_of(vm_emit *e, const bc_op *op)
{
    for (size_t i = 0; i < TV_COUNT(accesses); i++)
        if (accesses[i].opcode == (bc_opcode)op->opcode)
            emit_access(e, op, i);
}

void vm_emit_exact_access(vm_emit *e, const bc_op *op)
{
    if (op->opcode != OP_atomic_red_view_tko)
        emit_access_of(e, op);
}

void vm_emit_exact_before(vm_emit *e, const bc_op *op)
{
    if (op->opcode == OP_atomic_red_view_tko)
        emit_access_of(e, op);
}

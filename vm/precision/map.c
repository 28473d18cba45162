/* Element-wise ops on exact elements, and select. */
#include "vm/precision/precision.h"

typedef struct map_inst {
    vm_inst head;
    vm_exact_op what;
    vm_maker maker;
    vm_exact_operand in[VM_EXACT_OPERANDS];
    size_t real, exact, n;
} map_inst;

/* One element: its operands, both as they are and exact. */
typedef struct lane {
    vm_source sources[VM_EXACT_OPERANDS];
    vm_wide real[VM_EXACT_OPERANDS], exact[VM_EXACT_OPERANDS];
    uint32_t differ; /* of them */
} lane;

static void read_lane(const vm_frame *f, const map_inst *m, size_t i, lane *l)
{
    l->differ = 0;
    for (uint32_t k = 0; k < m->what.operands; k++) {
        l->sources[k] = vm_source_at(f, &m->in[k], i);
        l->real[k] = l->sources[k].real;
        l->exact[k] = l->sources[k].exact.x;
        l->differ += vm_wide_distance(l->real[k], l->exact[k]) != 0;
    }
}

/* How far the error of each operand alone moves the result. */
static void find_effects(const map_inst *m, vm_wide pure, vm_wide full, lane *l)
{
    for (uint32_t k = 0; k < m->what.operands; k++) {
        vm_wide x[VM_EXACT_OPERANDS];
        if (vm_wide_distance(l->real[k], l->exact[k]) == 0)
            continue;
        memcpy(x, l->real, sizeof x);
        x[k] = l->exact[k];
        l->sources[k].effect = vm_wide_distance(pure, l->differ == 1 ? full : m->what.fn(m->head.op, x));
    }
}

/* The operand on which the decision depends, or the difference of the two that are compared. */
static double deciding(const map_inst *m, const vm_wide *x)
{
    return m->what.operands == 1 ? x[0].hi : vm_wide_sub(x[0], x[1]).hi;
}

static void run_lane(vm_frame *f, const map_inst *m, size_t i)
{
    lane l;
    read_lane(f, m, i, &l);
    vm_wide pure = m->what.fn(m->head.op, l.real), full = l.differ ? m->what.fn(m->head.op, l.exact) : pure;
    if (m->what.effect == VM_STEP && vm_wide_distance(pure, full) != 0)
        vm_note_decision(f, &m->maker, i, deciding(m, l.real), deciding(m, l.exact));
    if (!m->what.has_result)
        return;
    if (l.differ)
        find_effects(m, pure, full, &l);
    double real = vm_real_at(vm_at(f, m->real), i, (bc_kind)m->maker.kind, m->maker.bytes);
    ((vm_exact *)vm_at(f, m->exact))[i] = vm_exact_make(f, &m->maker, i, real, pure, full, l.sources, m->what.operands);
}

static const vm_inst *map_run(vm_frame *f, const vm_inst *inst)
{
    const map_inst *m = (const map_inst *)inst;
    vm_loss *loss = &vm_precision_of(f)->ops[m->maker.op];
    loss->op = inst->op;
    loss->is_sum = m->what.effect == VM_SUM;
    loss->drops = !m->what.has_result && inst->op->opcode == OP_ftoi;
    for (size_t i = 0; i < m->n; i++)
        run_lane(f, m, i);
    return vm_go_on(f, inst, m->n / VM_UNIT_ELEMENTS) ? inst->next : NULL;
}

/* Whether the integers that an op takes have a sign. */
static bool takes_signed(const bc_op *op)
{
    return op->opcode != OP_itof || bc_attr_u(op, F_itof_signedness) == BC_Signedness_signed;
}

void vm_emit_exact_map(vm_emit *e, const bc_op *op, const vm_exact_op *what)
{
    bc_value **operands = bc_operands(op);
    const bc_value *result = vm_result(op, 0);
    for (uint32_t k = 0; k < what->operands; k++)
        vm_need_packed(e, operands[k]);
    map_inst *m = vm_new_inst(e, op, map_run, map_inst);
    m->what = *what;
    m->maker = vm_maker_of(e, bc_elem_kind(result->type));
    m->n = vm_count(result);
    for (uint32_t k = 0; k < what->operands; k++) {
        vm_bind_operand(e, &m->head, &m->in[k], operands[k]);
        m->in[k].is_signed = takes_signed(op);
    }
    if (what->has_result) {
        vm_read_packed(e, &m->head, &m->real, result);
        vm_write_exact(e, &m->head, &m->exact, result);
    }
    vm_append(e, &m->head);
}

/* ---- select ---- */

/* Selects as the kernel does. */
typedef struct select_inst {
    vm_inst head;
    size_t condition, exact, n;
    vm_exact_operand in[2];
} select_inst;

static const vm_inst *select_run(vm_frame *f, const vm_inst *inst)
{
    const select_inst *s = (const select_inst *)inst;
    vm_exact *out = vm_at(f, s->exact);
    for (size_t i = 0; i < s->n; i++)
        out[i] = vm_source_at(f, &s->in[!f->base[s->condition + i]], i).exact;
    return inst->next;
}

void vm_emit_exact_select(vm_emit *e, const bc_op *op)
{
    const bc_value *condition = bc_operand(op, F_select_cond), *result = vm_result(op, 0);
    const bc_value *in[2] = {bc_operand(op, F_select_val_if_true), bc_operand(op, F_select_val_if_false)};
    if (!vm_has_floats(result) || (!vm_exact_storage(e, in[0]) && !vm_exact_storage(e, in[1])))
        return;
    vm_need_packed(e, condition);
    vm_need_packed(e, in[0]);
    vm_need_packed(e, in[1]);
    select_inst *s = vm_new_inst(e, op, select_run, select_inst);
    s->n = vm_count(result);
    vm_read_packed(e, &s->head, &s->condition, condition);
    vm_bind_operand(e, &s->head, &s->in[0], in[0]);
    vm_bind_operand(e, &s->head, &s->in[1], in[1]);
    vm_write_exact(e, &s->head, &s->exact, result);
    vm_append(e, &s->head);
}

/* Ops that move elements, and move their exact elements in the same way. The source of each element is computed once,
   when the entry is compiled; only the place of a slice is known later. */
#include "vm/compile/access.h"
#include "vm/precision/precision.h"

/* An index of a slice. */
typedef struct slice_index {
    size_t at;   /* of the i32 */
    size_t step; /* elements of the large tile from one slice to the next */
} slice_index;

typedef struct move_inst {
    vm_inst head;
    size_t from[2], to, n;
    uint32_t *source; /* by element: its index, and in the top bit which of the two operands has it */
    size_t large;     /* insert: elements of the tile that the others go into, from[1] */
    slice_index *slices;
    uint32_t slice_count;
} move_inst;

#define SECOND 0x80000000u

static const vm_inst *move_run(vm_frame *f, const vm_inst *inst)
{
    const move_inst *m = (const move_inst *)inst;
    vm_exact *to = vm_at(f, m->to);
    const vm_exact *from[2] = {vm_at(f, m->from[0]), vm_at(f, m->from[1])};
    size_t start = 0;
    for (uint32_t i = 0; i < m->slice_count; i++) {
        uint32_t index;
        memcpy(&index, vm_at(f, m->slices[i].at), sizeof index);
        start += index * m->slices[i].step;
    }
    if (m->large) {
        memcpy(to, from[1], m->large * sizeof *to);
        for (size_t i = 0; i < m->n; i++)
            to[start + m->source[i]] = from[0][i];
        return inst->next;
    }
    for (size_t i = 0; i < m->n; i++)
        to[i] = from[m->source[i] >> 31][start + (m->source[i] & ~SECOND)];
    return inst->next;
}

/* ---- where elements come from ---- */

static void map_layout(move_inst *m, const vm_layout *layout)
{
    for (size_t i = 0; i < m->n; i++)
        m->source[i] = (uint32_t)vm_layout_offset(layout, i);
}

static void map_cat(move_inst *m, const bc_type *side, uint64_t dim)
{
    size_t chunk = 1;
    for (uint32_t d = (uint32_t)dim; d < side->rank; d++)
        chunk *= (size_t)side->shape[d];
    for (size_t i = 0; i < m->n; i++) {
        size_t piece = i / chunk;
        m->source[i] = (uint32_t)(piece / 2 * chunk + i % chunk) | (piece % 2 ? SECOND : 0);
    }
}

static void map_slice(vm_emit *e, move_inst *m, const bc_op *op, const bc_type *large, const bc_type *small,
                      bc_range indices)
{
    size_t stride = 1, below = 1;
    m->slices = bc_new(e->arena, slice_index, large->rank + 1u);
    if (!m->slices) {
        e->failed = true;
        return;
    }
    m->slice_count = large->rank;
    for (uint32_t d = large->rank; d-- > 0;) {
        size_t extent = (size_t)small->shape[d];
        for (size_t i = 0; i < m->n; i++)
            m->source[i] += (uint32_t)(i / below % extent * stride);
        m->slices[d].step = extent * stride;
        vm_read(e, &m->head, &m->slices[d].at, bc_operands(op)[indices.first + d]);
        stride *= (size_t)large->shape[d];
        below *= extent;
    }
}

static void map_elements(vm_emit *e, move_inst *m, const bc_op *op)
{
    const bc_type *from = bc_operands(op)[0]->type, *to = vm_result(op, 0)->type;
    vm_layout packed = vm_layout_packed(vm_type_bits(from)), layout;
    switch (op->opcode) {
    case OP_broadcast:
        layout = vm_layout_broadcast(&packed, from, to);
        map_layout(m, &layout);
        break;
    case OP_permute:
        layout = vm_layout_permute(&packed, from, bc_attr_of(op, F_permute_permutation)->ints->ptr);
        map_layout(m, &layout);
        break;
    case OP_cat: map_cat(m, from, bc_attr_u(op, F_cat_dim)); break;
    case OP_extract: map_slice(e, m, op, from, to, bc_operand_range(op, F_extract_indices)); break;
    default: map_slice(e, m, op, to, from, bc_operand_range(op, F_insert_indices)); break;
    }
}

/* ---- compiling ---- */

/* The operands with elements: one, or two of cat and insert. */
static uint32_t moved_operands(const bc_op *op, const bc_value **out)
{
    out[0] = bc_operands(op)[0];
    out[1] = op->opcode == OP_cat      ? bc_operand(op, F_cat_rhs)
             : op->opcode == OP_insert ? bc_operand(op, F_insert_destination)
                                       : NULL;
    if (op->opcode == OP_insert)
        out[0] = bc_operand(op, F_insert_source);
    return out[1] ? 2 : 1;
}

void vm_emit_exact_move(vm_emit *e, const bc_op *op)
{
    const bc_value *from[2], *result = vm_result(op, 0);
    uint32_t count = moved_operands(op, from);
    bool any = false;
    for (uint32_t k = 0; k < count; k++)
        any |= vm_has_floats(from[k]) && vm_exact_storage(e, from[k]);
    if (!any)
        return;
    for (uint32_t k = 0; k < count; k++)
        vm_need_exact(e, from[k]);
    move_inst *m = vm_new_inst(e, op, move_run, move_inst);
    m->large = op->opcode == OP_insert ? vm_count(result) : 0;
    m->n = m->large ? vm_count(from[0]) : vm_count(result);
    m->source = bc_new(e->arena, uint32_t, m->n);
    if (!m->source || e->failed) {
        e->failed = true;
        return;
    }
    map_elements(e, m, op);
    for (uint32_t k = 0; k < count; k++)
        vm_bind(e, &m->head, &m->from[k], vm_exact_storage(e, from[k]), 0, VM_READ);
    vm_write_exact(e, &m->head, &m->to, result);
    vm_append(e, &m->head);
}

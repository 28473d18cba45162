/* Widens an entry, op by op. Element-wise ops work on wide tiles as on any others; ops on dimensions work on the
   same dimensions, which follow the new first one. Products, memory accesses other than weak loads and stores, and
   control flow that differs between blocks cannot be widened. Accesses are in widen_access.c. */
#include "vm/compile/widen.h"

#include <string.h>

#include "bytecode/number/number.h"
#include "vm/compile/widen_access.h"

enum { MOST_BLOCKS_OF_AXIS = 1 << 24 };

/* ---- values that vary between blocks ---- */

static void vary(vm_widener *w, const bc_value *v)
{
    vm_wide_value *x = vm_wide_value_of(w, v);
    w->changed |= !x->varies && bc_is_tile(v->type);
    x->varies |= bc_is_tile(v->type);
}

static bool varies(const vm_widener *w, const bc_value *v)
{
    return vm_wide_value_of(w, v)->varies;
}

static const bc_op *loop_around(const bc_op *op)
{
    const bc_op *loop = op->block->parent;
    while (loop && !bc_is_loop(loop->opcode))
        loop = loop->block->parent;
    return loop;
}

/* If an operand of a terminator varies, so does the value that it becomes. */
static void mark_exit(vm_widener *w, const bc_op *op)
{
    const bc_op *to = op->opcode == OP_continue ? loop_around(op) : op->block->parent;
    for (uint32_t i = 0; to && i < op->operand_count; i++) {
        if (!varies(w, bc_operands(op)[i]))
            continue;
        if (i < to->result_count)
            vary(w, &bc_results(to)[i]);
        if (to->opcode == OP_for)
            vary(w, &bc_regions(to)[0]->args[i + 1]);
    }
}

static void mark_for(vm_widener *w, const bc_op *op)
{
    bc_range inits = bc_operand_range(op, F_for_init_values);
    for (uint32_t i = 0; i < inits.count; i++)
        if (varies(w, bc_operands(op)[inits.first + i])) {
            vary(w, &bc_regions(op)[0]->args[i + 1]);
            vary(w, &bc_results(op)[i]);
        }
}

/* Recursion is bounded by BC_MAX_DEPTH. */
static void mark_block(vm_widener *w, const bc_block *block)
{
    for (const bc_op *op = block->first; op; op = op->next) {
        bool any = false;
        for (uint32_t i = 0; i < op->operand_count; i++)
            any |= varies(w, bc_operands(op)[i]);
        if (op->opcode == OP_get_tile_block_id)
            vary(w, &bc_results(op)[w->axis]);
        else if (op->opcode == OP_for)
            mark_for(w, op);
        else if (bc_op_in(op->opcode, BC_OPS(EXIT)))
            mark_exit(w, op);
        else if (op->opcode != OP_if)
            for (uint32_t i = 0; any && i < op->result_count; i++)
                vary(w, &bc_results(op)[i]);
        for (uint32_t r = 0; r < op->region_count && !bc_op_in(op->opcode, BC_OPS(FOLD)); r++)
            if (bc_regions(op)[r])
                mark_block(w, bc_regions(op)[r]);
    }
}

/* ---- linear values ---- */

/* The value of a constant scalar integer. */
static bool number_of(const bc_value *v, int64_t *out)
{
    if (!v->op || v->op->opcode != OP_constant || v->type->rank || bc_kinds[bc_elem_kind(v->type)].kind_class)
        return false;
    const bc_blob *blob = bc_attr_of(v->op, F_constant_value)->blob;
    uint64_t bits = 0;
    if (blob->len > sizeof bits)
        return false;
    memcpy(&bits, blob->ptr, blob->len);
    *out = bc_int_sign_extend(bits, bc_kind_bits(bc_elem_kind(v->type)));
    return true;
}

static void bound(vm_wide_value *x, const bc_type *type, int64_t low, int64_t high)
{
    unsigned bits = bc_kind_bits((bc_kind)type->elem->kind);
    int64_t limit = (int64_t)1 << (bits < 62 ? bits - 1 : 61);
    x->is_bounded = low >= -limit && high < limit;
    x->low = low;
    x->high = high;
}

/* Bounds of products stay small, because each factor is at most 2^31. */
static bool is_small(const vm_wide_value *x)
{
    const int64_t limit = (int64_t)1 << 31;
    return x->is_bounded && x->low >= -limit && x->high <= limit;
}

static void note_constant(const vm_widener *w, const bc_op *op)
{
    int64_t number;
    const bc_value *v = bc_results(op);
    if (number_of(v, &number))
        bound(vm_wide_value_of(w, v), v->type, number, number);
}

/* Notes whether the result of a scalar integer op is linear, and its bounds, before the op is copied. */
static void note_linear(const vm_widener *w, const bc_op *op)
{
    vm_wide_value *x = vm_wide_value_of(w, bc_results(op));
    const vm_wide_value *a = vm_wide_value_of(w, bc_operands(op)[0]), *b = a;
    int64_t number;
    if (op->operand_count > 1)
        b = vm_wide_value_of(w, bc_operands(op)[1]);
    if (bc_results(op)->type->rank || (a->varies && !a->is_linear) || (b->varies && !b->is_linear))
        return;
    int64_t step_a = a->varies ? a->step : 0, step_b = b->varies ? b->step : 0;
    bool small = is_small(a) && is_small(b);
    switch (op->opcode) {
    case OP_addi:
        x->is_linear = true;
        x->step = (int64_t)((uint64_t)step_a + (uint64_t)step_b);
        if (small)
            bound(x, bc_results(op)->type, a->low + b->low, a->high + b->high);
        break;
    case OP_subi:
        x->is_linear = true;
        x->step = (int64_t)((uint64_t)step_a - (uint64_t)step_b);
        if (small)
            bound(x, bc_results(op)->type, a->low - b->high, a->high - b->low);
        break;
    case OP_muli:
        if (!number_of(bc_operands(op)[0], &number) && !number_of(bc_operands(op)[1], &number))
            break;
        x->is_linear = true;
        x->step = (int64_t)((uint64_t)(step_a + step_b) * (uint64_t)number); /* one of them is 0 */
        if (small && a->low >= 0 && b->low >= 0)
            bound(x, bc_results(op)->type, a->low * b->low, a->high * b->high);
        break;
    case OP_exti: /* of a value that does not wrap in the batch, neither as a signed nor as an unsigned number */
        x->is_linear = is_small(a) && a->low >= 0;
        x->step = step_a;
        if (x->is_linear)
            bound(x, bc_results(op)->type, a->low, a->high);
        break;
    default: break;
    }
}

/* ---- copies ---- */

static bool copy_block(vm_widener *w, const bc_block *from, bc_op *parent, bc_block **out);

/* Copies the op with operands that are the same in all blocks. */
static bool copy_op(vm_widener *w, const bc_op *op)
{
    bc_op *copy = vm_wide_op(w, op, (bc_opcode)op->opcode, op->result_count, op->operand_count);
    if (!copy)
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(bc_operands(copy)[i] = vm_same_of(w, bc_operands(op)[i])))
            return false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        bc_results(copy)[i].type = bc_results(op)[i].type;
        vm_wide_value_of(w, &bc_results(op)[i])->base = &bc_results(copy)[i];
    }
    bc_block_append(w->to, copy);
    for (uint32_t r = 0; r < op->region_count; r++)
        if (bc_regions(op)[r] && !copy_block(w, bc_regions(op)[r], copy, &bc_regions(copy)[r]))
            return false;
    return true;
}

static bc_block *new_block(vm_widener *w, bc_op *parent, const bc_block *from)
{
    bc_block *block = bc_new(w->arena, bc_block, 1);
    bc_value *args = bc_new(w->arena, bc_value, from->arg_count + 1u);
    if (!block || !args)
        return NULL;
    *block = (bc_block){.parent = parent, .args = args, .arg_count = from->arg_count};
    for (uint32_t i = 0; i < from->arg_count; i++) {
        vm_wide_value *x = vm_wide_value_of(w, &from->args[i]);
        args[i] = (bc_value){.type = from->args[i].type, .number = (uint16_t)i};
        *(x->varies ? &x->wide : &x->base) = &args[i];
        if (x->varies && !(args[i].type = vm_wide_type(w, from->args[i].type)))
            return NULL;
    }
    return block;
}

/* Copies the body of a reduce or scan. It is scalar, and so unchanged; captured values must be the same in all
   blocks. */
static bool copy_block(vm_widener *w, const bc_block *from, bc_op *parent, bc_block **out)
{
    bc_block *outer = w->to, *block = new_block(w, parent, from);
    bool ok = block != NULL;
    w->to = *out = block;
    for (const bc_op *op = from->first; ok && op; op = op->next)
        ok = op->opcode != OP_get_tile_block_id && !(bc_info(op)->effects & ~BC_PARTIAL)
             && !bc_op_in(op->opcode, BC_OPS(LOOP) | BC_OPS(SERVICE)) && copy_op(w, op);
    w->to = outer;
    return ok;
}

/* ---- wide ops ---- */

/* Copies the op for wide tiles. extra: the number of operands that are added in front of the one at `at`. */
static bc_op *wide_copy(vm_widener *w, const bc_op *op, uint32_t extra)
{
    bc_op *copy = vm_wide_op(w, op, (bc_opcode)op->opcode, op->result_count, op->operand_count + extra);
    for (uint32_t i = 0; copy && i < op->result_count; i++) {
        vm_wide_value *x = vm_wide_value_of(w, &bc_results(op)[i]);
        x->wide = &bc_results(copy)[i];
        if (!(x->wide->type = vm_wide_type(w, bc_results(op)[i].type)))
            return NULL;
    }
    return copy;
}

static bool widen_map(vm_widener *w, const bc_op *op)
{
    bc_op *copy = wide_copy(w, op, 0);
    for (uint32_t i = 0; copy && i < op->operand_count; i++)
        if (!(bc_operands(copy)[i] = vm_wide_of(w, op, bc_operands(op)[i])))
            return false;
    if (!copy)
        return false;
    bc_block_append(w->to, copy);
    vm_wide_value *x = vm_wide_value_of(w, bc_results(op));
    note_linear(w, op);
    if (!x->is_linear)
        return true;
    bc_op *first = vm_wide_op(w, op, (bc_opcode)op->opcode, 1, op->operand_count); /* of the first block */
    if (!first)
        return false;
    bc_results(first)->type = bc_results(op)->type;
    for (uint32_t i = 0; i < op->operand_count; i++)
        bc_operands(first)[i] = vm_wide_value_of(w, bc_operands(op)[i])->base;
    bc_block_append(w->to, first);
    x->base = bc_results(first);
    return true;
}

/* Adapts the attributes: the op's dimensions follow the new one. */
static bool move_dimensions(vm_widener *w, const bc_op *op, bc_op *copy)
{
    if (op->opcode == OP_permute) {
        const bc_ints *from = bc_attr_of(op, F_permute_permutation)->ints;
        bc_ints *ints = bc_new(w->arena, bc_ints, 1);
        int64_t *order = bc_new(w->arena, int64_t, from->count + 1u);
        if (!ints || !order)
            return false;
        for (uint32_t i = 0; i < from->count; i++)
            order[i + 1] = from->ptr[i] + 1;
        *ints = (bc_ints){order, from->count + 1};
        bc_attr_of(copy, F_permute_permutation)->ints = ints;
    }
    if (op->opcode == OP_cat)
        bc_attr_of(copy, F_cat_dim)->u++;
    if (op->opcode == OP_reduce)
        bc_attr_of(copy, F_reduce_dim)->u++;
    if (op->opcode == OP_scan)
        bc_attr_of(copy, F_scan_dim)->u++;
    return true;
}

static bool widen_dimensions(vm_widener *w, const bc_op *op)
{
    bc_op *copy = wide_copy(w, op, 0);
    if (!copy || !move_dimensions(w, op, copy))
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(bc_operands(copy)[i] = vm_wide_of(w, op, bc_operands(op)[i])))
            return false;
    bc_block_append(w->to, copy);
    return !op->region_count || copy_block(w, bc_regions(op)[0], copy, bc_regions(copy));
}

static bc_value *zero_like(vm_widener *w, const bc_op *like, const bc_type *type)
{
    static const uint8_t zeros[8];
    bc_op *op = vm_wide_op(w, like, OP_constant, 1, 0);
    bc_blob *blob = bc_new(w->arena, bc_blob, 1);
    if (!op || !blob)
        return NULL;
    *blob = (bc_blob){zeros, bc_kind_constant_bytes(bc_elem_kind(type)), BC_IN_NO_TABLE};
    bc_attr_of(op, F_constant_value)->blob = blob;
    bc_results(op)->type = type;
    bc_block_append(w->to, op);
    return bc_results(op);
}

/* extract and insert: takes or sets the part of every block, at indices that are the same in all blocks. */
static bool widen_part(vm_widener *w, const bc_op *op)
{
    bc_range indices = bc_operand_range(op, op->opcode == OP_extract ? F_extract_indices : F_insert_indices);
    bc_op *copy = indices.count ? wide_copy(w, op, 1) : NULL;
    if (!copy)
        return false;
    bc_value **to = bc_operands(copy), **from = bc_operands(op);
    for (uint32_t i = 0; i < indices.first; i++)
        to[i] = vm_wide_of(w, op, from[i]);
    to[indices.first] = zero_like(w, op, from[indices.first]->type);
    for (uint32_t i = indices.first; i < op->operand_count; i++)
        to[i + 1] = vm_same_of(w, from[i]);
    for (uint32_t i = 0; i < copy->operand_count; i++)
        if (!to[i])
            return false;
    bc_block_append(w->to, copy);
    return true;
}

/* The ids of all blocks: that of the first block, plus 0, 1, 2... */
static bool widen_block_id(vm_widener *w, const bc_op *op)
{
    bc_op *copy = vm_wide_op(w, op, OP_get_tile_block_id, 3, 0);
    bc_op *iota = vm_wide_op(w, op, OP_iota, 1, 0), *sum = vm_wide_op(w, op, OP_addi, 1, 2);
    const bc_type *type = bc_results(op)->type, *wide = vm_wide_type(w, type);
    if (!copy || !iota || !sum || !wide)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        vm_wide_value *x = vm_wide_value_of(w, &bc_results(op)[i]);
        bc_results(copy)[i].type = type;
        x->base = &bc_results(copy)[i];
        bound(x, type, 0, MOST_BLOCKS_OF_AXIS);
    }
    bc_block_append(w->to, copy);
    bc_results(iota)->type = bc_results(sum)->type = wide;
    bc_block_append(w->to, iota);
    bc_operands(sum)[0] = vm_wide_repeat(w, op, &bc_results(copy)[w->axis]);
    bc_operands(sum)[1] = bc_results(iota);
    bc_block_append(w->to, sum);
    vm_wide_value *x = vm_wide_value_of(w, &bc_results(op)[w->axis]);
    x->is_linear = true;
    x->step = 1;
    x->wide = bc_results(sum);
    return bc_operands(sum)[0] != NULL;
}

/* ---- regions ---- */

static bool widen_block(vm_widener *w, const bc_block *from);

/* Gives each operand the form, wide or the same in all blocks, of the value that it becomes. */
static bool pass(vm_widener *w, const bc_op *op, bc_value *const *from, const bc_value *arrive, uint32_t count,
                 bc_value **to)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(to[i] = varies(w, &arrive[i]) ? vm_wide_of(w, op, from[i]) : vm_same_of(w, from[i])))
            return false;
    return true;
}

/* Widens an if or for whose condition or bounds are the same in all blocks, so that all blocks take the same path. */
static bool widen_region_op(vm_widener *w, const bc_op *op)
{
    uint32_t control = op->opcode == OP_for ? 3 : 1;
    bc_op *copy = vm_wide_op(w, op, (bc_opcode)op->opcode, op->result_count, op->operand_count);
    bc_block *outer = w->to;
    bool ok = copy != NULL;
    for (uint32_t i = 0; ok && i < control; i++)
        ok = (bc_operands(copy)[i] = vm_same_of(w, bc_operands(op)[i])) != NULL;
    if (!ok
        || !pass(w, op, bc_operands(op) + control, bc_results(op), op->operand_count - control,
                 bc_operands(copy) + control))
        return false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        vm_wide_value *x = vm_wide_value_of(w, &bc_results(op)[i]);
        bc_value *result = *(x->varies ? &x->wide : &x->base) = &bc_results(copy)[i];
        result->type = x->varies ? vm_wide_type(w, bc_results(op)[i].type) : bc_results(op)[i].type;
        if (!result->type)
            return false;
    }
    w->depth++;
    for (uint32_t r = 0; ok && r < op->region_count; r++) {
        if (!bc_regions(op)[r])
            continue;
        w->to = bc_regions(copy)[r] = new_block(w, copy, bc_regions(op)[r]);
        ok = w->to && widen_block(w, bc_regions(op)[r]);
    }
    w->depth--;
    w->to = outer;
    bc_block_append(outer, copy);
    return ok;
}

static bool widen_exit(vm_widener *w, const bc_op *op)
{
    const bc_op *to = op->opcode == OP_continue ? loop_around(op) : op->block->parent;
    if (op->opcode == OP_break || (op->opcode == OP_return && w->depth)
        || (to && to->opcode != OP_for && to->opcode != OP_if))
        return false;
    bc_op *copy = vm_wide_op(w, op, (bc_opcode)op->opcode, 0, op->operand_count);
    if (!copy || (to && !pass(w, op, bc_operands(op), bc_results(to), op->operand_count, bc_operands(copy))))
        return false;
    for (bc_op *store = w->depth ? NULL : w->stores, *next; store; store = next) {
        next = store->next;
        bc_block_append(w->to, store);
    }
    bc_block_append(w->to, copy);
    return true;
}

static bool is_varied(const vm_widener *w, const bc_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (varies(w, &bc_results(op)[i]))
            return true;
    return false;
}

static bool widen_varied(vm_widener *w, const bc_op *op)
{
    switch ((bc_op_class)bc_op_class_of[op->opcode]) {
    case BC_OP_MAP:
    case BC_OP_CAST: return widen_map(w, op);
    case BC_OP_RESHAPE:
    case BC_OP_MOVE:
    case BC_OP_FOLD: return widen_dimensions(w, op);
    case BC_OP_PART:
        if (op->opcode == OP_cat)
            return widen_dimensions(w, op);
        return (op->opcode == OP_extract || op->opcode == OP_insert) && widen_part(w, op);
    default: return false;
    }
}

static bool widen_op(vm_widener *w, const bc_op *op)
{
    switch (op->opcode) {
    case OP_get_tile_block_id: return widen_block_id(w, op);
    case OP_if:
    case OP_for: return widen_region_op(w, op);
    case OP_load_view_tko:
    case OP_load_ptr_tko: return vm_widen_load(w, op);
    case OP_store_view_tko:
    case OP_store_ptr_tko: return vm_widen_store(w, op);
    case OP_assume: { /* promises have no effect without checks */
        vm_wide_value *x = vm_wide_value_of(w, bc_results(op));
        *x = *vm_wide_value_of(w, bc_operands(op)[0]);
        return x->varies || x->base;
    }
    default: break;
    }
    if (bc_op_in(op->opcode, BC_OPS(EXIT)))
        return widen_exit(w, op);
    if (bc_op_in(op->opcode, BC_OPS(ACCESS) | BC_OPS(SERVICE) | BC_OPS(LOOP)) || (bc_info(op)->effects & BC_ORDERS))
        return false;
    if (is_varied(w, op))
        return widen_varied(w, op);
    if (op->opcode == OP_constant)
        note_constant(w, op);
    return copy_op(w, op);
}

static bool widen_block(vm_widener *w, const bc_block *from)
{
    for (const bc_op *op = from->first; op; op = op->next)
        if (!widen_op(w, op))
            return false;
    return true;
}

uint32_t vm_largest_tile(const bc_function *f)
{
    uint32_t bits = 0;
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        for (uint32_t i = 0; i < op->result_count; i++) {
            const bc_type *type = bc_results(op)[i].type;
            uint32_t b = bc_is_tile(type) ? vm_type_bits(type) : 0;
            bits = b > bits ? b : bits;
        }
    return (uint32_t)1 << bits;
}

bool vm_widen(const bc_function *f, unsigned axis, uint32_t count, bc_arena *arena, vm_widened *out)
{
    vm_widener w = {.f = f, .arena = arena, .out = out, .axis = axis, .count = count};
    *out = (vm_widened){.function = *f, .count = count};
    w.values = bc_new(arena, vm_wide_value, f->value_count + 1u);
    bc_block *body = w.values ? new_block(&w, NULL, f->body) : NULL;
    if (!body)
        return false;
    do {
        w.changed = false;
        mark_block(&w, f->body);
    } while (w.changed);
    w.to = body;
    if (!widen_block(&w, f->body) || !w.stores || arena->failed)
        return false;
    out->function.body = body;
    bc_function_number(&out->function);
    return true;
}

/* Edits on modules. They work on the op lists in place; tables are tidied by bc_module_compact when the result is
   written. Nothing here checks rules: the caller verifies what came out. */
#include "tools/tilevm/module/edit.h"

#include <string.h>

bool edit_drop_function(bc_module *m, size_t function)
{
    if (function >= m->function_count || m->function_count < 2)
        return false;
    memmove(&m->functions[function], &m->functions[function + 1],
            (m->function_count - function - 1) * sizeof *m->functions);
    m->function_count--;
    return true;
}

bool edit_drop_global(bc_module *m, size_t global)
{
    if (global >= m->global_count)
        return false;
    memmove(&m->globals[global], &m->globals[global + 1], (m->global_count - global - 1) * sizeof *m->globals);
    m->global_count--;
    return true;
}

bool edit_drop_debug(bc_module *m)
{
    if (!m->has_debug_section)
        return false;
    bc_module_drop_debug(m);
    return true;
}

bool edit_drop_hints(bc_module *m)
{
    bool changed = false;
    for (size_t i = 0; i < m->function_count; i++) {
        bc_function *f = &m->functions[i];
        changed |= f->hints && f->hints->u.dict.count;
        f->hints = NULL;
        for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body)) {
            const bc_row *rows = bc_attr_rows(bc_info(op));
            for (unsigned a = 0; a < bc_info(op)->attr_rows; a++)
                if (rows[a].encoding == BC_ENC_HINTS && bc_attrs(op)[a].tagged) {
                    bc_attrs(op)[a].tagged = NULL;
                    changed = true;
                }
        }
    }
    return changed;
}

/* ---- finding and unlinking ---- */

static bc_op *op_at(const bc_function *f, uint32_t index)
{
    bc_op *op = f->body->first;
    for (; op && index; index--)
        op = bc_next_op(op, f->body);
    return op;
}

static void unlink_op(bc_op *op)
{
    bc_block *block = op->block;
    bc_op *before = NULL;
    for (bc_op *o = block->first; o != op; o = o->next)
        before = o;
    if (before)
        before->next = op->next;
    else
        block->first = op->next;
    if (block->last == op)
        block->last = before;
    block->op_count--;
}

static void insert_before(bc_op *at, bc_op *op)
{
    bc_block *block = at->block;
    op->block = block;
    op->next = at;
    if (block->first == at) {
        block->first = op;
    } else {
        bc_op *before = block->first;
        while (before->next != at)
            before = before->next;
        before->next = op;
    }
    block->op_count++;
}

/* A zero constant or a token of the type, placed before the op; NULL for types that have none. */
static bc_value *fresh_value(bc_module *m, const bc_type *type, bc_op *before)
{
    bc_op *op = NULL;
    if (type->kind == BC_TOKEN) {
        op = bc_op_new(m, OP_make_token, 1, 0);
    } else if (bc_is_tile(type) && bc_kind_in(bc_elem_kind(type), BC_SET_NUMBER)) {
        static const uint8_t zero[8];
        op = bc_op_new(m, OP_constant, 1, 0);
        if (op)
            bc_attr_of(op, F_constant_value)->blob =
                bc_blob_add(m, zero, bc_kind_constant_bytes(bc_elem_kind(type)), true);
    }
    if (!op)
        return NULL;
    bc_results(op)->type = type;
    insert_before(before, op);
    return bc_results(op);
}

/* An operand of the op itself that can replace its result, which keeps chains of element-wise ops connected. */
static bc_value *stand_in(bc_module *m, const bc_op *op, const bc_value *result, bc_op *before)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (bc_operands(op)[i]->type == result->type)
            return bc_operands(op)[i];
    return fresh_value(m, result->type, before);
}

static void replace_uses(bc_function *f, const bc_value *old, bc_value *fresh)
{
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            if (bc_operands(op)[i] == old)
                bc_operands(op)[i] = fresh;
}

static bool is_used(const bc_function *f, const bc_value *value)
{
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            if (bc_operands(op)[i] == value)
                return true;
    return false;
}

/* The array attribute without one item. NULL: out of memory. */
static const bc_tagged *without_item(bc_module *m, const bc_tagged *array, size_t item)
{
    bc_list list = array->u.array;
    bc_tagged *items = bc_new(&m->arena, bc_tagged, list.count), *out = bc_new(&m->arena, bc_tagged, 1);
    if (!items || !out)
        return NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.count; i++)
        if (i != item)
            items[count++] = list.items[i];
    *out = *array;
    out->u.array = (bc_list){items, count};
    return out;
}

bool edit_drop_param(bc_module *m, size_t function, size_t param)
{
    bc_function *f = &m->functions[function];
    bc_block *body = f->body;
    uint32_t inputs = f->type->rank;
    if (param >= body->arg_count || body->arg_count != inputs || is_used(f, &body->args[param]))
        return false;
    bc_type type = *f->type;
    const bc_type **members = bc_new(&m->arena, const bc_type *, inputs + type.result_count);
    if (!members)
        return false;
    memcpy(members, type.members, (inputs + type.result_count) * sizeof *members);
    memmove(members + param, members + param + 1, (inputs + type.result_count - param - 1) * sizeof *members);
    type.rank--;
    type.members = members;
    f->type = bc_type_add(m, &type);
    if (f->arg_attrs && param < f->arg_attrs->u.array.count)
        f->arg_attrs = without_item(m, f->arg_attrs, param);
    for (size_t i = param + 1; i < inputs; i++) {
        body->args[i - 1].type = body->args[i].type;
        replace_uses(f, &body->args[i], &body->args[i - 1]);
    }
    body->arg_count--;
    bc_function_number(f);
    return f->type != NULL;
}

static bool drop_op(bc_module *m, bc_function *f, bc_op *op)
{
    if (bc_info(op)->traits & BC_TERMINATOR)
        return false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        bc_value *result = &bc_results(op)[i];
        if (!is_used(f, result))
            continue;
        if (op->opcode == OP_constant || op->opcode == OP_make_token)
            return false; /* a fresh one would be no smaller */
        bc_value *other = stand_in(m, op, result, op);
        if (!other)
            return false;
        replace_uses(f, result, other);
    }
    unlink_op(op);
    return true;
}

bool edit_drop_ops(bc_module *m, size_t function, uint32_t first, uint32_t count)
{
    bc_function *f = &m->functions[function];
    bc_op **chosen = bc_new(&m->arena, bc_op *, count);
    if (!chosen)
        return false;
    uint32_t found = 0;
    for (bc_op *op = op_at(f, first); op && found < count; op = bc_next_op(op, f->body))
        chosen[found++] = op;
    bool changed = false;
    while (found-- > 0) /* users before what they use */
        changed |= drop_op(m, f, chosen[found]);
    bc_function_number(f);
    return changed;
}

bool edit_inline_region(bc_module *m, size_t function, uint32_t index, unsigned region)
{
    (void)m;
    bc_function *f = &m->functions[function];
    bc_op *op = op_at(f, index);
    if (!op || (op->opcode != OP_if && op->opcode != OP_for) || region >= op->region_count)
        return false;
    bc_block *inner = bc_regions(op)[region];
    bc_opcode end = op->opcode == OP_if ? OP_yield : OP_continue;
    if (!inner || !inner->last || inner->last->opcode != end || inner->last->operand_count != op->result_count)
        return false;
    if (op->opcode == OP_for) /* arguments: the induction variable, then the carried values */
        for (uint32_t i = 0; i < inner->arg_count && 2 + i < op->operand_count; i++)
            replace_uses(f, &inner->args[i], bc_operands(op)[i ? 2 + i : 0]);
    bc_op *terminator = inner->last;
    for (bc_op *o = inner->first, *next; o != terminator; o = next) {
        next = o->next;
        insert_before(op, o);
    }
    inner->first = terminator; /* the region must not contain the ops that moved out of it */
    for (uint32_t i = 0; i < op->result_count; i++)
        replace_uses(f, &bc_results(op)[i], bc_operands(terminator)[i]);
    unlink_op(op);
    bc_function_number(f);
    return true;
}

bool edit_zero_constant(bc_module *m, size_t function, uint32_t index)
{
    static const uint8_t zero[8];
    bc_op *op = op_at(&m->functions[function], index);
    if (!op || op->opcode != OP_constant)
        return false;
    bc_attr *value = bc_attr_of(op, F_constant_value);
    size_t size = bc_kind_constant_bytes(bc_elem_kind(bc_results(op)->type));
    if (size == 0 || size > sizeof zero || (value->blob->len == size && memcmp(value->blob->ptr, zero, size) == 0))
        return false;
    value->blob = bc_blob_add(m, zero, size, true);
    return value->blob != NULL;
}

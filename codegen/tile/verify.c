/* Checks that the tile IR is well formed; codegen/tile/verify_async.c checks asynchronous ops. It takes linear time:
   a value is visible from its definition to the end of its block, and at that point all of its uses must have been
   seen. */
#include "codegen/tile/verify_parts.h"

typedef struct verifier {
    const ct_func *f;
    const ct_value **visible; /* by id: the value, while it is visible */
    uint32_t *reads;          /* by id: number of uses seen so far */
    bool *has_been;           /* by id: such a value exists or existed */
    ct_fault *fault;
} verifier;

/* ---- values ---- */

static bool define(verifier *x, const ct_value *values, uint32_t count, const ct_op *op, const ct_block *block)
{
    for (uint32_t i = 0; i < count; i++) {
        const ct_value *v = &values[i];
        if (v->op != op || v->block != block || v->number != i || !v->type)
            return ct_is_faulty(x->fault, op ? op : block->parent, "a value has a wrong owner, number or type");
        if (v->id >= x->f->value_count || x->has_been[v->id])
            return ct_is_faulty(x->fault, op ? op : block->parent, "the number of a value is too large or not unique");
        x->has_been[v->id] = true;
        x->visible[v->id] = v;
    }
    return true;
}

/* Is every use in the list an operand that is the value? *out_count: their number. */
static bool has_true_uses(const ct_value *v, uint32_t *out_count)
{
    ct_use *const *link = &v->uses;
    *out_count = 0;
    for (const ct_use *use = v->uses; use; link = &use->next, use = use->next, ++*out_count)
        if (use->link != link || use->index >= use->op->operand_count || use->op->operands[use->index] != v
            || &use->op->uses[use->index] != use)
            return false;
    return true;
}

/* Ends the visibility of values at the end of a block. */
static bool leave(verifier *x, const ct_value *values, uint32_t count, const ct_op *op)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t uses, reads = x->reads[values[i].id];
        if (!has_true_uses(&values[i], &uses) || uses < reads)
            return ct_is_faulty(x->fault, op, "the list of uses of a value does not match the ops");
        if (uses > reads)
            return ct_is_faulty(x->fault, op, "a value is read where it is not defined");
        x->visible[values[i].id] = NULL;
    }
    return true;
}

/* Operands of a copy, prefetch, fetch or cursor that need no register, so that they may come from inside the loop:
   the token of the load, since awaits order copies, and the view, which only divides a tensor from outside into
   tiles. */
static bool is_never_computed(const ct_op *op, const ct_value *v)
{
    return (op->opcode == CT_copy || op->opcode == CT_prefetch || op->opcode == CT_cursor)
           && (v->type->kind == BC_TOKEN || bc_is_tile_view(v->type));
}

static bool read_operands(verifier *x, const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const ct_value *v = op->operands[i];
        const ct_use *use = &op->uses[i];
        if (!v)
            return ct_is_faulty(x->fault, op, "an operand is missing");
        if (v->id >= x->f->value_count || (x->visible[v->id] != v && !is_never_computed(op, v)))
            return ct_is_faulty(x->fault, op, "an operand is not defined before it");
        if (use->op != op || use->index != i)
            return ct_is_faulty(x->fault, op, "a use belongs to another value");
        x->reads[v->id]++;
    }
    return true;
}

/* ---- ops ---- */

enum { LOAD = -1, UNREAD = -2, HANDED = -3 };

typedef struct own_op {
    int operands, more, results;
} own_op;

static const own_op *own_op_of(const ct_op *op)
{
    static const own_op table[] = {
#define TOP(name, ring, operands, more, results, text) [CT_##name - OP_LIMIT] = {operands, more, results},
#include "codegen/tile/ops.def"
    };
    return op->opcode < CT_LIMIT ? &table[op->opcode - OP_LIMIT] : NULL;
}

static bool is_read(const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op->results[i].uses)
            return true;
    return false;
}

/* Scalars are the same in every layout, so they are not converted. */
static bool is_conversion(const ct_op *op)
{
    const bc_type *type = op->results[0].type;
    return op->operands[0] && op->operands[0]->type == type && bc_is_tile(type) && type->rank;
}

/* The number of values passed on is checked with the terminator. */
static bool has_operands(const ct_op *op, const own_op *row)
{
    uint32_t least = row->operands == LOAD ? op->from->operand_count + 1u : (uint32_t)row->operands;
    return row->operands == HANDED || (op->operand_count >= least && op->operand_count <= least + (uint32_t)row->more);
}

static bool has_results(const ct_op *op, const own_op *row)
{
    switch (row->results) {
    case HANDED: return true;
    case UNREAD: return !is_read(op);
    case LOAD: return op->result_count == op->from->result_count;
    default: return op->result_count == row->results;
    }
}

static bool ends_with_keep(const ct_op *strips)
{
    const ct_op *last = strips->region_count == 1 && strips->regions[0] ? strips->regions[0]->last : NULL;
    return last && last->opcode == CT_keep;
}

/* Checks an op of ops.def. */
static bool check_own(verifier *x, const ct_op *op)
{
    const own_op *row = own_op_of(op);
    if (!row)
        return ct_is_faulty(x->fault, op, "its opcode does not exist");
    if (!has_operands(op, row))
        return ct_is_faulty(x->fault, op, "its number of operands is wrong");
    if (!has_results(op, row))
        return ct_is_faulty(x->fault, op, "its results have the wrong number or type");
    if (op->opcode == CT_strips && !ends_with_keep(op))
        return ct_is_faulty(x->fault, op, "it does not end with a keep");
    if (op->opcode == CT_convert && !is_conversion(op))
        return ct_is_faulty(x->fault, op, "its result does not have the type of its operand");
    const ct_value *ring = ct_ring_of(op);
    if (ring && (!ring->op || ring->op->opcode != CT_ring))
        return ct_is_faulty(x->fault, op, "the operand that should be its ring is not a ring");
    return true;
}

static bool ends_block(const ct_op *op)
{
    return op->opcode == CT_keep || (op->opcode < OP_LIMIT && bc_ops[op->opcode].traits & BC_TERMINATOR);
}

static bool is_control(const ct_op *op)
{
    return ct_is_loop(op) || op->opcode == OP_if || ends_block(op);
}

static bool check_kind(verifier *x, const ct_op *op)
{
    if (!op->from)
        return ct_is_faulty(x->fault, op, "its origin is not an op of the function");
    if (op->opcode >= OP_LIMIT)
        return check_own(x, op);
    const bc_op *from = op->from;
    if (is_control(
            op)) /* passes create control flow that serves any op; it is checked with the values that it passes on */
        return true;
    if (op->opcode != from->opcode || op->operand_count != from->operand_count || op->result_count != from->result_count
        || op->region_count != from->region_count)
        return ct_is_faulty(x->fault, op, "it differs from the op that it was created from");
    return true;
}

/* ---- values that are passed on ---- */

static bool same_types(ct_value *const *operands, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (operands[i]->type != values[i].type)
            return false;
    return true;
}

static bool check_terminator(verifier *x, const ct_op *op)
{
    uint32_t count;
    const ct_value *targets = ct_targets(op, &count);
    if (!targets && (op->opcode == OP_continue || op->opcode == OP_break || op->opcode == CT_keep))
        return ct_is_faulty(x->fault, op, "there is no loop around it");
    if (targets && (count != op->operand_count || !same_types(op->operands, targets, count)))
        return ct_is_faulty(x->fault, op, "the values that it passes on differ in type from those that receive them");
    return true;
}

static bool check_loop(verifier *x, const ct_op *loop)
{
    uint32_t is_for = loop->opcode == OP_for, first = is_for ? 3 : 0, count = loop->operand_count - first;
    const ct_block *body = loop->region_count ? loop->regions[0] : NULL;
    if (loop->operand_count < first || !body || body->arg_count != count + is_for
        || !same_types(loop->operands + first, body->args + is_for, count))
        return ct_is_faulty(x->fault, loop, "its initial values differ in type from its body's arguments");
    if (is_for && (count != loop->result_count || !same_types(loop->operands + first, loop->results, count)))
        return ct_is_faulty(x->fault, loop, "its initial values differ in type from its results");
    return true;
}

/* ---- blocks ---- */

static bool check_block(verifier *x, const ct_block *block, const ct_op *parent);

static bool check_op(verifier *x, const ct_op *op)
{
    if (!check_kind(x, op) || !read_operands(x, op))
        return false;
    if (ends_block(op) != !op->next)
        return ct_is_faulty(x->fault, op, op->next ? "ops follow it" : "a block ends with it");
    if (ends_block(op) && !check_terminator(x, op))
        return false;
    if (ct_is_loop(op) && !check_loop(x, op))
        return false;
    if (op->opcode == OP_if && (op->operand_count != 1 || op->region_count < 1 || !op->regions[0]))
        return ct_is_faulty(x->fault, op, "it has no condition or no region");
    for (uint32_t i = 0; i < op->region_count; i++)
        if (op->regions[i] && !check_block(x, op->regions[i], op))
            return false;
    return define(x, op->results, op->result_count, op, op->block);
}

static bool leave_block(verifier *x, const ct_block *block)
{
    for (const ct_op *op = block->first; op; op = op->next)
        if (!leave(x, op->results, op->result_count, op))
            return false;
    return leave(x, block->args, block->arg_count, block->parent);
}

static bool check_block(verifier *x, const ct_block *block, const ct_op *parent)
{
    const ct_op *before = NULL;
    if (block->parent != parent || !block->first)
        return ct_is_faulty(x->fault, parent, "a region is empty, or another op's");
    if (!define(x, block->args, block->arg_count, NULL, block))
        return false;
    for (const ct_op *op = block->first; op; before = op, op = op->next)
        if (op->prev != before || op->block != block)
            return ct_is_faulty(x->fault, op, "its links to its block are wrong");
        else if (!check_op(x, op))
            return false;
    if (block->last != before)
        return ct_is_faulty(x->fault, before, "its block does not end with it");
    return leave_block(x, block);
}

tv_status ct_verify(const ct_func *f, ct_fault *out_fault)
{
    bc_arena scratch;
    bc_arena_init(&scratch, &f->arena->allocator, 0);
    verifier x = {.f = f,
                  .visible = bc_new(&scratch, const ct_value *, f->value_count + 1u),
                  .reads = bc_new(&scratch, uint32_t, f->value_count + 1u),
                  .has_been = bc_new(&scratch, bool, f->value_count + 1u),
                  .fault = out_fault};
    tv_status status = TV_NO_MEMORY;
    if (x.visible && x.reads && x.has_been)
        status = check_block(&x, f->body, NULL) ? ct_verify_async(f, &scratch, out_fault) : TV_INVALID;
    bc_arena_release(&scratch);
    return status;
}

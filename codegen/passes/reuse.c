/* The reuse pass removes a load of a tile that an earlier load of the same block has read already. Norms and softmax
   over whole rows are often written as three passes over the row, each of which loads it.

       %x, %t0 = load %p            %x, %t0 = load %p
       %m = reduce %x               %m = reduce %x
       %y, %t1 = load %p      ->
       %e = subf %y, %m             %e = subf %x, %m

   Why it is right: both loads are weak and have the same address, mask and padding, and no op between them that the
   second load may have to follow writes or orders memory (cg_nothing_between). So the second load would read the same
   elements. An op that is ordered after the second load is then ordered after the first, and after everything that the
   second load was ordered after.

   The tile stays in registers from the first load to the last use. Therefore the pass applies only to kernels without
   products and without tiles in strips, which need their registers for other values, to tiles with no loop between the
   loads, and to as many tiles as half of a thread's registers can hold.

   Two values are the same if pure ops compute them from the same values. They are numbered to find this out, and
   merged if the op takes several instructions: the exponentials that a softmax adds up and then divides are computed
   once. Other values are not merged, because index arithmetic is recomputed in each layout anyway, and a conversion
   costs less than the registers of its result. The pass runs early, because later passes choose how loads are done;
   simplify then removes the arithmetic that is no longer used. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/simplify.h"
#include "codegen/tile/build.h"
#include "codegen/tile/same.h"

enum { LEAST_ELEMENT = 4 /* bytes of an element in a register, at least */ };

typedef struct numbering {
    cg_func *c;
    const ct_value **same; /* by value id: the first value that is the same */
    ct_op **table;         /* pure ops, by hash */
    uint32_t size;         /* a power of two */
    uint32_t known;        /* values that existed before the pass created tokens */
    uint32_t bytes;        /* per thread, of the tiles that are reused */
    bool has_changed;
} numbering;

/* ---- which values are the same ---- */

static const ct_value *same_of(const numbering *n, const ct_value *v)
{
    return v->id < n->known && n->same[v->id] ? n->same[v->id] : v;
}

static bool have_same_operands(const numbering *n, const ct_op *a, const ct_op *b)
{
    bool same = a->operand_count == b->operand_count;
    for (uint32_t i = 0; same && i < a->operand_count; i++)
        same = same_of(n, a->operands[i]) == same_of(n, b->operands[i]);
    return same;
}

static uint32_t hash_of(const numbering *n, const ct_op *op)
{
    int64_t value;
    uint32_t hash = op->opcode ^ (op->opcode == OP_constant && ct_constant_value(op, &value) ? (uint32_t)value : 0);
    for (uint32_t i = 0; i < op->operand_count; i++)
        hash = (hash ^ same_of(n, op->operands[i])->id) * 0x9E3779B1u;
    return hash ^ hash >> 15;
}

/* Gives the op's results the numbers of an earlier equal op, or new ones. Returns the earlier op, or itself. */
static ct_op *number(numbering *n, ct_op *op)
{
    if (!ct_is_pure(op))
        return op;
    uint32_t at = hash_of(n, op) & (n->size - 1);
    while (n->table[at] && !(ct_are_alike(n->table[at], op) && have_same_operands(n, n->table[at], op)))
        at = (at + 1) & (n->size - 1);
    if (!n->table[at])
        n->table[at] = op;
    for (uint32_t i = 0; i < op->result_count; i++)
        n->same[op->results[i].id] = &n->table[at]->results[i];
    return n->table[at];
}

/* ---- which loads read the same ---- */

/* Do both loads read the same tile? Tokens do not affect this. */
static bool read_same(const numbering *n, const ct_op *a, const ct_op *b)
{
    if (a->opcode != b->opcode || a->results[0].type != b->results[0].type)
        return false;
    uint32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->operand_count && a->operands[i]->type->kind == BC_TOKEN)
            i++;
        while (k < b->operand_count && b->operands[k]->type->kind == BC_TOKEN)
            k++;
        if (i == a->operand_count || k == b->operand_count)
            return i == a->operand_count && k == b->operand_count;
        if (same_of(n, a->operands[i]) != same_of(n, b->operands[k]))
            return false;
    }
}

/* Are there few ops, and no loop, between the two loads? */
static bool is_near(const ct_op *first, const ct_op *load)
{
    uint32_t count = 0;
    const ct_op *op = first->next;
    while (op && op != load && !ct_is_loop(op) && ++count < CG_COMPARED_OPS)
        op = ct_next_op(op, first->block);
    return op == load;
}

static uint32_t bytes_of(const cg_func *c, const bc_type *tile)
{
    uint32_t element = cg_memory_bytes(bc_elem_kind(tile)), threads = cg_real_warp_bits(c) + CG_LANE_BITS,
             bits = cg_shape_of(tile).tile_bits;
    element = element < LEAST_ELEMENT ? LEAST_ELEMENT : element;
    return bits > threads ? element << (bits - threads) : element;
}

/* Orders the ops that followed the second load after the first one, and after everything that the second one
   followed. */
static bool pass_on_token(numbering *n, ct_op *first, ct_op *load)
{
    ct_value *from = &load->results[1], *to = &first->results[1],
             *before = load->operand_count ? load->operands[load->operand_count - 1] : NULL;
    if (before && before->type->kind == BC_TOKEN && before != to) {
        ct_builder b = {n->c->ir, load, false};
        to = ct_build(&b, OP_join_tokens, from->type, (ct_value *const[]){to, before}, 2);
        if (!to)
            return false;
    }
    ct_replace_uses(from, to);
    return true;
}

/* A load that stays. */
typedef struct earlier {
    ct_op *op;
    bool is_reused;
} earlier;

/* Looks for an earlier load of the same tile in the block. True: `load` was replaced by it. */
static bool reuse(numbering *n, ct_op *load, earlier *loads, uint32_t count)
{
    while (count && !read_same(n, loads[count - 1].op, load))
        count--;
    if (!count)
        return false;
    earlier *first = &loads[count - 1];
    uint32_t bytes = first->is_reused ? 0 : bytes_of(n->c, load->results[0].type);
    if (n->bytes + bytes > CG_HALF_OF_REGISTERS * CG_WORD_BYTES || !is_near(first->op, load)
        || !cg_nothing_between(n->c, first->op, load) || !pass_on_token(n, first->op, load))
        return false;
    ct_replace_uses(&load->results[0], &first->op->results[0]);
    ct_remove(load);
    first->is_reused = true;
    n->bytes += bytes;
    n->has_changed = true;
    return true;
}

/* Replaces the op by the earlier equal one if it takes several instructions for each element. */
static void merge(numbering *n, ct_op *first, ct_op *op)
{
    bool is_tile = op->result_count == 1 && bc_is_tile(op->results[0].type) && op->results[0].type->rank;
    if (first == op || !is_tile || cg_instructions_of(op) <= 1 || !is_near(first, op))
        return;
    uint32_t bytes = bytes_of(n->c, op->results[0].type);
    if (n->bytes + bytes > CG_HALF_OF_REGISTERS * CG_WORD_BYTES)
        return;
    ct_replace_uses(&op->results[0], &first->results[0]);
    n->bytes += bytes;
    n->has_changed = true;
}

/* ---- the pass ---- */

static bool is_load(const ct_op *op)
{
    return ct_is_load(op) && cg_is_weak_access(op);
}

static void walk(numbering *n, ct_block *block)
{
    earlier loads[CG_REMEMBERED_LOADS];
    uint32_t count = 0;
    for (ct_op *op = block->first, *next; op && !n->c->failed; op = next) {
        next = op->next;
        merge(n, number(n, op), op);
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                walk(n, op->regions[r]);
        if (is_load(op) && !reuse(n, op, loads, count) && count < CG_REMEMBERED_LOADS)
            loads[count++] = (earlier){op, false};
    }
}

void cg_pass_reuse(cg_func *c)
{
    if (c->strip_bits || cg_has_products(c->ir->body))
        return;
    uint32_t ops = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        ops++;
    numbering n = {.c = c, .size = 2, .known = c->ir->value_count};
    while (n.size <= 2 * ops)
        n.size *= 2;
    n.same = bc_new(&c->arena, const ct_value *, n.known + 1u);
    n.table = bc_new(&c->arena, ct_op *, n.size);
    if (!n.same || !n.table)
        return;
    walk(&n, c->ir->body);
    if (n.has_changed && !c->failed)
        cg_simplify(c);
}

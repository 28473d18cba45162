/* The convert pass adds an op that converts a tile wherever a use needs a layout other than the one that the tile
   was assigned.

       %0 = load ...             layout A, read in A by the sum and in B by the store
       %t1 = convert %0          layout B: a new value, with the facts of %0
       %1 = addf %0, %0
       store %t1

   A conversion is placed right after the op that computes the tile, or after copies that need not wait for it, or, for
   a block argument, at the head of the block. The dump says how the tile is converted: by registers, shuffles or shared
   memory. An op that reads a tile in one layout reads the converted value from then on; an op that reads it in several
   keeps its operand, and a look-up by layout (`cg_get`) finds every variant through any of them.

   Tiles that products read from a ring stay there and are not converted. A tile of at most 4 KiB that is first needed
   after the copies that run ahead of a loop, such as a query, is converted after those copies are started, because the
   conversion waits for it; reshapes of it move along. The pass runs after layouts, which records the layout in which
   each use reads its operand, and before lower, which takes no more decisions.

   Why it is right: a conversion has the elements of the tile, and changes only which threads hold them. No access to
   memory moves. */
#include "codegen/analysis/ring.h"
#include "codegen/cost/cost.h"
#include "codegen/passes/pass.h"

typedef struct conversions {
    cg_func *c;
    ct_value **from; /* tiles to convert, in the order of their definitions */
    uint32_t from_count, count;
    ct_op *last; /* the conversion that was created last */
} conversions;

/* ---- which tiles are converted ---- */

/* Do products read the tile from shared memory? */
static bool stays_in_ring(const ct_value *v)
{
    return v->op && v->op->opcode == CT_staged && !v->op->in_registers;
}

static void find_in(conversions *x, ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const cg_value *value = cg_value_of(x->c, &values[i]);
        if (value->form != CG_TILE || !values[i].type->rank || !value->variants || !value->variants->next
            || stays_in_ring(&values[i]))
            continue;
        x->from[x->from_count++] = &values[i];
        for (const cg_variant *variant = value->variants->next; variant; variant = variant->next)
            x->count++;
    }
}

static void find_all(conversions *x)
{
    ct_block *body = x->c->ir->body;
    find_in(x, body->args, body->arg_count);
    for (ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        find_in(x, op->results, op->result_count);
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                find_in(x, op->regions[r]->args, op->regions[r]->arg_count);
    }
}

/* ---- ops ---- */

static bool has_copies_between(const ct_op *op, const ct_op *end)
{
    while (op && op != end && op->opcode != CT_commit)
        op = op->next;
    return op && op != end;
}

/* A conversion waits for a tile from memory. If copies that run ahead of a loop stand between the load and the first
   op that computes with the tile, the conversion goes after them, so that they are in flight meanwhile. The tile is
   followed through reshapes. Large tiles are excluded, because scratch for them could overlap the ring. */
static bool insert_late(const conversions *x, ct_op *op, const ct_value *v)
{
    const ct_op *load = v->op;
    if (!load || !ct_is_load(load)
        || cg_memory_bytes(bc_elem_kind(v->type)) << cg_shape_of(v->type).tile_bits > cg_bytes_in_barriers(x->c, 1))
        return false;
    ct_op *named = ct_first_reader(&op->results[0], v->block), *place = named;
    while (place && bc_op_in(place->opcode, BC_OPS(RESHAPE)))
        place = ct_first_reader(&place->results[0], v->block);
    if (!place || !has_copies_between(load, place))
        return false;
    ct_insert_before(op, place);
    for (ct_op *next; named != place; named = next) {
        next = ct_first_reader(&named->results[0], v->block);
        ct_move_before(named, place);
    }
    return true;
}

/* Inserts the conversion after the op that computes v, and after earlier conversions there. */
static void insert(conversions *x, ct_op *op, const ct_value *v)
{
    if (insert_late(x, op, v))
        return;
    const ct_value *before = x->last ? x->last->operands[0] : NULL;
    if (before && before->op == v->op && before->block == v->block)
        ct_insert_after(op, x->last);
    else if (v->op)
        ct_insert_after(op, v->op);
    else
        ct_insert_before(op, v->block->first);
    x->last = op;
}

/* Gives the converted tile to the uses of v in the layout number `place`. */
static void hand_out(ct_value *v, uint32_t place, ct_value *converted)
{
    for (ct_use *use = v->uses, *next; use; use = next) {
        next = use->next;
        if (use->read != place)
            continue;
        ct_set_operand(use->op, use->index, converted);
        use->read = (uint16_t)place;
    }
}

static void convert(conversions *x, ct_value *v, const cg_variant *variant, uint32_t place)
{
    cg_func *c = x->c;
    ct_op *op = ct_op_new(c->ir, CT_convert, ct_maker_of(v), 1, 1);
    if (!op)
        return;
    ct_value *to = &op->results[0];
    const cg_value *from = cg_value_of(c, v);
    to->type = v->type;
    to->fact = v->fact;
    *cg_value_of(c, to) =
        (cg_value){.form = CG_TILE, .weight = from->weight, .home = variant->layout, .variants = from->variants};
    if (place < CT_READ_IN_SEVERAL)
        hand_out(v, place, to);
    ct_set_operand(op, 0, v);
    insert(x, op, v);
}

static void convert_all(conversions *x, ct_value *v)
{
    enum { BEHIND_HOME = 2 };
    uint32_t place = BEHIND_HOME;
    for (const cg_variant *variant = cg_value_of(x->c, v)->variants->next; variant && !x->c->failed;
         variant = variant->next)
        convert(x, v, variant, place++);
}

void cg_pass_convert(cg_func *c)
{
    conversions x = {.c = c, .from = bc_new(&c->arena, ct_value *, c->ir->value_count + 1u)};
    if (x.from)
        find_all(&x);
    if (!x.from || (x.count && !cg_values_grow(c, x.count)))
        return;
    for (uint32_t i = 0; i < x.from_count; i++)
        convert_all(&x, x.from[i]);
}

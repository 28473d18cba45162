/* The sink pass computes maps of rows before the rows are broadcast. A map whose operands are all broadcast from tiles
   of one smaller shape, or have equal elements, is done on that shape, and its result is broadcast; so are the maps
   that lead to it.

       %r = broadcast %row : tile<1x128xf32> -> tile<16x128xf32>        %s = sin %row : tile<1x128xf32>
       %s = sin %r : tile<16x128xf32>                              ->   %r = broadcast %s : ... -> tile<16x128xf32>

   Why it is right: a map gives the same result for the same operands, and no memory access moves.

   If each element of a row is computed by one thread, the result has to be sent to the other threads through shared
   memory, which takes a barrier. So maps are sunk only if the instructions that they save per thread (codegen/cost)
   exceed that cost. Index arithmetic is recomputed in every layout anyway, and stays.

   In the same way, maps of two tiles of bytes that `cat` makes neighbours are computed behind it
   (codegen/rewrite/interleaved.c).

   A row that is the same in all iterations of a loop is always sunk: the hoist pass, which runs next, moves small rows
   out of loops, together with the values computed from them. */
#include "codegen/cost/cost.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/simplify.h"
#include "codegen/rewrite/interleaved.h"
#include "codegen/tile/build.h"

/* The ops that compute a map from rows. */
typedef struct cone {
    cg_func *c;
    ct_op *end;
    const bc_type *row; /* the shape that is broadcast; NULL: not known yet */
    ct_value *wide[CG_SUNK_VALUES], *narrow[CG_SUNK_VALUES];
    uint32_t count, instructions;
} cone;

/* ---- which ---- */

static uint64_t elements_of(const bc_type *tile)
{
    return (uint64_t)1 << cg_shape_of(tile).tile_bits;
}

/* Is the tile broadcast from the cone's row, or from one element? */
static bool takes_broadcast(cone *x, const ct_op *op)
{
    const bc_type *from = op->operands[0]->type;
    if (elements_of(from) == 1)
        return true;
    x->row = x->row ? x->row : from;
    return bc_same_shape(from, x->row);
}

static bool is_sinkable(const ct_op *op)
{
    return op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(MAP) | BC_OPS(CAST)) && ct_is_pure(op)
           && op->result_count == 1 && op->results[0].type->rank
           && bc_kind_in(bc_elem_kind(op->results[0].type), BC_SET_NUMBER);
}

/* Is v computed from the row alone? Visits at most MOST_VALUES values. */
static bool leads(cone *x, ct_value *v)
{
    const ct_op *op = v->op;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->wide[i] == v)
            return true;
    if (!op || x->count == CG_SUNK_VALUES)
        return false;
    x->wide[x->count++] = v;
    if (op->opcode == OP_broadcast)
        return takes_broadcast(x, op);
    if (op->opcode == OP_constant)
        return ct_is_splat(op);
    bool found = is_sinkable(op);
    for (uint32_t i = 0; found && i < op->operand_count; i++)
        found = leads(x, op->operands[i]);
    x->instructions += cg_instructions_of(op);
    return found;
}

/* The number of different elements of a row in a thread, if accesses to the tile have 16 bytes: along the row, at
   most the elements of one access; otherwise one for each access. */
static uint64_t elements_of_a_thread(const cone *x, const bc_type *tile)
{
    uint64_t all = elements_of(tile) / cg_threads(x->c), access = CG_ACCESS_BYTES / cg_memory_bytes(bc_elem_kind(tile));
    bool along = x->row->shape[x->row->rank - 1] > 1;
    uint64_t different = along ? (all < access ? all : access) : all / access;
    return different ? different : 1;
}

/* Is v the same in all iterations? visits: the number of values that may still be visited. */
static bool is_invariant(const ct_block *body, const ct_value *v, uint32_t *visits)
{
    if (!ct_is_inside(v->block, body))
        return true;
    bool same = v->op && *visits && !v->op->region_count && v->type->kind != BC_TOKEN;
    *visits -= *visits != 0;
    for (uint32_t i = 0; same && i < v->op->operand_count; i++)
        same = is_invariant(body, v->op->operands[i], visits);
    return same;
}

static bool is_same_in_all_iterations(const cone *x)
{
    const ct_op *loop = ct_loop_around(x->end);
    uint32_t visits = 8 * CG_SUNK_VALUES;
    for (uint32_t i = 0; loop && i < x->count; i++)
        if (x->wide[i]->op->opcode == OP_broadcast
            && !is_invariant(loop->regions[0], x->wide[i]->op->operands[0], &visits))
            return false;
    return loop;
}

static bool pays(const cone *x)
{
    const bc_type *tile = x->end->results[0].type;
    uint64_t row = elements_of(x->row), wide = elements_of_a_thread(x, tile), narrow = row / cg_threads(x->c);
    narrow = narrow ? narrow : 1;
    bool saves = wide > narrow && (double)((wide - narrow) * x->instructions) >= cg_machine_of(x->c->target)->barrier;
    return row < elements_of(tile) && (saves || is_same_in_all_iterations(x));
}

/* ---- sinking ---- */

static ct_value *narrow(cone *x, ct_value *v);

/* The op on operands with the row's shape; for a broadcast, a broadcast to that shape. NULL: out of memory. */
static ct_value *make_narrow(cone *x, ct_op *op)
{
    ct_func *f = x->c->ir;
    const bc_type *type = ct_shaped_type(f, x->row, bc_elem_kind(op->results[0].type));
    ct_op *made = type ? ct_op_like(f, (bc_opcode)op->opcode, op, op->operand_count, 1, 0) : NULL;
    for (uint32_t i = 0; made && i < op->operand_count; i++) {
        ct_value *operand = op->opcode == OP_broadcast ? op->operands[i] : narrow(x, op->operands[i]);
        if (!operand)
            return NULL;
        ct_set_operand(made, i, operand);
    }
    if (!made)
        return NULL;
    made->results[0].type = type;
    ct_insert_before(made, op);
    return ct_renew_from(f, made) ? &made->results[0] : NULL;
}

/* Computes v in the row's shape. NULL: out of memory. */
static ct_value *narrow(cone *x, ct_value *v)
{
    ct_op *op = v->op;
    uint32_t place = 0;
    while (x->wide[place] != v)
        place++;
    if (!x->narrow[place])
        x->narrow[place] = op->opcode == OP_broadcast && bc_same_shape(op->operands[0]->type, x->row)
                               ? op->operands[0]
                               : make_narrow(x, op);
    return x->narrow[place];
}

/* Broadcasts the narrow values, and gives them to all users of the wide ones. */
static bool widen(const cone *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        ct_value *wide = x->wide[i], *row = x->narrow[i];
        ct_builder b = {.f = x->c->ir, .place = wide->op};
        if (wide->op->opcode == OP_broadcast || wide->op->opcode == OP_constant)
            continue;
        ct_value *made = ct_build(&b, OP_broadcast, wide->type, &row, 1);
        if (!made)
            return false;
        ct_replace_uses(wide, made);
    }
    return true;
}

static bool sink(cg_func *c, ct_op *op)
{
    cone x = {.c = c, .end = op};
    bool found = is_sinkable(op) && op->operand_count && op->results[0].uses
                 && bc_kind_in(bc_elem_kind(op->results[0].type), BC_SET_FLOAT) && leads(&x, &op->results[0]) && x.row
                 && pays(&x);
    if (!found)
        return false;
    if (!narrow(&x, &op->results[0]) || !widen(&x))
        return false;
    return true;
}

void cg_pass_sink(cg_func *c)
{
    bool found = false;
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body))
        found = (op->opcode == OP_cat ? cg_join_before_maps(c, op) : sink(c, op)) || found;
    if (found && !c->failed)
        cg_simplify(c);
}

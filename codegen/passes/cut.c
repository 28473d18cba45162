/* The cut pass splits a product into K slices, in a loop around the product, when three stages of its whole operand
   tiles do not fit in shared memory. The loads can then be prefetched as in any inner loop, through views with
   smaller tiles. The sums are accumulated in the same order.

       for k = first to end step by, c = 0 {         for k = first to end step by, c = 0 {
           mmaf load A[i, k], load B[k, j], c            for h = 0 to parts, c {
       }                                        ->           mmaf load A'[i, parts k + h],
                                                                  load B'[parts k + h, j], c
                                                         }
                                                     }

   This applies to f32 that is rounded to tf32, which only warp-specialised kernels feed from a ring to wgmma and
   which needs three stages, as with 256 elements of K. It also applies to 16-bit operands of which fewer than four
   tiles fit (128x128x128), because warp specialisation needs four stages. Other products have rings that hold K
   slices of a tile.

   Why it is right: the loop carries only the sums and tokens, since the rest of its body is executed again for each
   slice; and the slices are added in the order in which the instruction would add them. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/turned.h"
#include "codegen/passes/budget.h"
#include "codegen/passes/pass.h"

enum {
    SLOTS = 3,         /* that groups need at least, */
    GOOD_SLOTS = 4,    /* and that make up for the loop */
    LEAST_OF_K = 128,  /* bytes of a row of shared memory */
    OTHERS = 16 << 10, /* bytes of shared memory that the rest of the kernel gets */
    ROUNDS = 4         /* ops between a load and the product */
};

typedef struct cutting {
    cg_func *c;
    ct_op *loop, *product;
    ct_op *loads[2];
    uint32_t k[2]; /* the dimension of their tiles that is K */
    uint32_t parts;
} cutting;

/* ---- which loops ---- */

static uint32_t bytes_of(const ct_op *load)
{
    const bc_type *type = load->results[0].type;
    return cg_memory_bytes(bc_elem_kind(type)) << cg_shape_of(type).tile_bits;
}

static bool is_flip(const ct_op *op)
{
    return op->opcode == OP_permute && op->results[0].type->rank == 2
           && ct_attr_of(op, F_permute_permutation)->ints->ptr[0] == 1;
}

/* The load of the body that alone makes operand i, which nobody else reads. False: there is none. */
static bool find_load(cutting *x, uint32_t i)
{
    const ct_value *v = x->product->operands[i];
    x->k[i] = i ? 0 : 1;
    for (uint32_t n = 0; n < ROUNDS && v->op && v->op->block == x->loop->regions[0] && v->uses && !v->uses->next; n++) {
        x->loads[i] = v->op;
        if (v->op->opcode == OP_load_view_tko)
            return true;
        if (v->op->opcode != OP_ftof && !is_flip(v->op))
            return false;
        x->k[i] = is_flip(v->op) ? 1 - x->k[i] : x->k[i];
        v = v->op->operands[0];
    }
    return false;
}

/* Is what the load reads a tile of two dimensions of a view of tiles side by side, in that order? */
static bool is_even(const cutting *x, const ct_op *load)
{
    const ct_value *view = ct_operand(load, ct_info(load)->address);
    const bc_type *type = view->type;
    return type->kind == BC_PARTITION_VIEW && type->rank == 2 && type->dim_map[0] == 0 && type->dim_map[1] == 1
           && view->op && view->op->opcode == OP_make_partition_view
           && !ct_is_inside(view->op->block, x->loop->regions[0]) && cg_is_weak_access(load);
}

/* Can the op be done again in each part? It is one of those that make the product, or gives scalars or tokens alone. */
static bool may_repeat(const cutting *x, const ct_op *op)
{
    if (op == x->product || op == x->loads[0] || op == x->loads[1] || op->opcode == OP_ftof || is_flip(op)
        || op->opcode == OP_continue)
        return true;
    return ct_is_pure(op) && ct_gives_no_tiles(op);
}

/* The sums, and tokens: nothing that counts trips. */
static bool carries_sums(const cutting *x)
{
    const ct_block *body = x->loop->regions[0];
    const ct_op *end = body->last;
    bool sums = false;
    for (uint32_t i = 1; i < body->arg_count; i++) {
        const ct_value *arg = &body->args[i];
        bool is_sum = x->product->operands[2] == arg && end->operands[i - 1] == &x->product->results[0];
        sums = sums || is_sum;
        if (!is_sum && arg->type->kind != BC_TOKEN)
            return false;
    }
    return sums;
}

static bool find_product(cutting *x)
{
    const ct_block *body = x->loop->regions[0];
    for (ct_op *op = body->first; op; op = op->next) {
        if (cg_is_product(op) && x->product)
            return false;
        x->product = cg_is_product(op) ? op : x->product;
    }
    for (uint32_t i = 0; x->product && i < 2; i++)
        if (!find_load(x, i) || !is_even(x, x->loads[i]))
            return false;
    for (const ct_op *op = body->first; x->product && op; op = op->next)
        if (!may_repeat(x, op))
            return false;
    return x->product && body->last->opcode == OP_continue && carries_sums(x);
}

/* What a row of the left operand, along K, takes in shared memory. */
static uint32_t bytes_of_row(const cutting *x)
{
    const bc_type *type = x->loads[0]->results[0].type;
    return cg_memory_bytes(bc_elem_kind(type)) * (uint32_t)type->shape[x->k[0]];
}

/* As few as leave room for enough slots; 0: none are wanted, or they would be too short. */
static uint32_t parts_of(const cutting *x, uint32_t wanted)
{
    uint32_t slot = bytes_of(x->loads[0]) + bytes_of(x->loads[1]), room = cg_static_shared(x->c->target), parts = 1;
    room = room > OTHERS ? room - OTHERS : 0;
    if (wanted * slot <= room)
        return 0;
    while (GOOD_SLOTS * (slot / parts) > room)
        parts *= 2;
    return bytes_of_row(x) / parts >= LEAST_OF_K ? parts : 0;
}

static bool is_wanted(cutting *x)
{
    if (x->loop->opcode != OP_for || x->loop->plain || !find_product(x))
        return false;
    cg_product p = cg_product_of(x->c, x->product);
    bool turned = x->k[0] != 1 || x->k[1] != 0; /* in memory */
    bool tf32 = p.in == BC_TF32 && !turned && cg_wgmma_takes(x->c, x->product, &p) && cg_may_turn(x->c, x->product, &p);
    x->parts = tf32 ? parts_of(x, SLOTS) : p.instruction == CG_BY_WGMMA && !p.adds_up ? parts_of(x, GOOD_SLOTS) : 0;
    return x->parts;
}

/* ---- the inner loop ---- */

static ct_value *put(const cutting *x, bc_opcode opcode, const bc_type *type, ct_value *a, ct_value *b, ct_op *place)
{
    ct_op *op = ct_made_new(x->c->ir, opcode, place, type, (ct_value *const[]){a, b}, b ? 2 : 1);
    if (!op)
        return NULL;
    ct_insert_before(op, place);
    return &op->results[0];
}

static ct_value *put_number(const cutting *x, const bc_type *type, int64_t number)
{
    ct_op *op = ct_constant_new(x->c->ir, x->loop, type, number);
    if (!op)
        return NULL;
    ct_insert_before(op, x->loop);
    return &op->results[0];
}

/* The body becomes that of a loop in the loop, which carries the same. NULL: no memory. */
static ct_op *put_loop(const cutting *x, const bc_type *counter)
{
    ct_func *f = x->c->ir;
    ct_block *body = x->loop->regions[0], *block = ct_block_new(f, body->arg_count);
    uint32_t carried = body->arg_count - 1;
    ct_op *loop = ct_op_like(f, OP_for, x->loop, 3 + carried, carried, 1),
          *end = ct_op_like(f, OP_continue, body->last, carried, 0, 0);
    ct_value *bounds[3] = {put_number(x, counter, 0), put_number(x, counter, x->parts), put_number(x, counter, 1)};
    if (!block || !loop || !end || !bounds[0] || !bounds[1] || !bounds[2])
        return NULL;
    loop->regions[0] = block;
    ct_move_all(body, block, loop);
    block->args[0].type = counter;
    for (uint32_t i = 0; i < carried; i++) {
        block->args[i + 1].type = loop->results[i].type = body->args[i + 1].type;
        ct_replace_uses(&body->args[i + 1], &block->args[i + 1]);
    }
    ct_append(body, loop);
    ct_append(body, end);
    for (uint32_t i = 0; i < 3; i++)
        ct_set_operand(loop, i, bounds[i]);
    for (uint32_t i = 0; i < carried; i++) {
        ct_set_operand(loop, 3 + i, &body->args[i + 1]);
        ct_set_operand(end, i, &loop->results[i]);
    }
    return loop;
}

/* parts k + h, in 64 bits, of an index k: one outside stays outside. first: of what comes from k; place: of the sum.
   NULL: no memory. */
static ct_value *put_index(const cutting *x, const ct_op *inner, ct_value *k, ct_op *first, ct_op *place)
{
    const bc_type *type = inner->operands[1]->type;
    bool counts = k == &x->loop->regions[0]->args[0], is_signed = counts && !ct_attr_u(x->loop, F_for_unsigned_cmp);
    ct_value *wide = k;
    if (bc_elem_kind(k->type) != BC_I64 && (wide = put(x, OP_exti, type, k, NULL, first)))
        bc_attr_of(wide->op->from, F_exti_signedness)->u = is_signed ? BC_Signedness_signed : BC_Signedness_unsigned;
    ct_value *times = wide ? put(x, OP_muli, type, wide, inner->operands[1], first) : NULL;
    return times ? put(x, OP_addi, type, times, &inner->regions[0]->args[0], place) : NULL;
}

/* The load takes a tile of the finer view, and all up to the product are such tiles. */
static bool cut_load(const cutting *x, uint32_t i, const ct_op *inner, ct_value *counted)
{
    ct_func *f = x->c->ir;
    uint32_t k = x->k[i];
    ct_op *load = x->loads[i], *maker = ct_operand(load, ct_info(load)->address)->op;
    ct_op *view = ct_op_like(f, OP_make_partition_view, maker, 1, 1, 0);
    uint32_t at = ct_operand_range(load, F_load_view_tko_index).first + k;
    ct_value *counter = &x->loop->regions[0]->args[0],
             *index = load->operands[at] == counter ? counted : put_index(x, inner, load->operands[at], load, load);
    if (!view || !index || !(view->results[0].type = ct_part_type(f, maker->results[0].type, k, x->parts)))
        return false;
    ct_set_operand(view, 0, maker->operands[0]);
    ct_insert_after(view, maker);
    ct_set_operand(load, ct_operand_range(load, ct_info(load)->address).first, &view->results[0]);
    ct_set_operand(load, at, index);
    for (ct_value *v = &load->results[0];; v = &v->uses->op->results[0]) {
        k = v != &load->results[0] && is_flip(v->op) ? 1 - k : k;
        if (!(v->type = ct_part_type(f, v->type, k, x->parts)))
            return false;
        if (v->uses->op == x->product)
            return ct_renew_from(f, load);
    }
}

static void cut(const cutting *x)
{
    const bc_type *counter = ct_scalar_type(x->c->ir, BC_I64);
    ct_op *inner = counter ? put_loop(x, counter) : NULL;
    ct_value *counted = inner ? put_index(x, inner, &x->loop->regions[0]->args[0], inner, inner->regions[0]->first)
                              : NULL;
    if (!counted || !cut_load(x, 0, inner, counted) || !cut_load(x, 1, inner, counted))
        cg_no_memory(x->c);
}

/* ---- the pass ---- */

void cg_pass_cut(cg_func *c)
{
    bool any = false;
    if (cg_loops_stay_plain(c) || !(c->target->features & CG_HAS_WGMMA))
        return;
    for (ct_op *op = c->ir->body->first, *next; op && !c->failed; op = next) {
        cutting x = {.c = c, .loop = op};
        next = ct_next_op(op, c->ir->body);
        if (!is_wanted(&x))
            continue;
        cut(&x);
        any = true;
    }
    if (any && !c->failed)
        cg_set_warps(c);
}

void cg_dump_cut(cg_func *c, bc_text *out)
{
    cg_dump_ops(c, out);
}

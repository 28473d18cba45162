/* The cut pass splits a product into K slices, in a loop around the product, when three stages of its whole operand
   tiles do not fit in shared memory. The loads can then be prefetched as in any inner loop, through views with
   smaller tiles. The sums are accumulated in the same order.

       for k = first to end step by, c = 0 {         for k = first to end step by, c = 0 {
           mmaf load A[i, k], load B[k, j], c            for h = 0 to parts, c {
       }                                        ->           mmaf load A'[i, parts k + h],
                                                                  load B'[parts k + h, j], c
                                                         }
                                                     }

   This applies to f32 that is rounded to tf32, which only warp-specialised kernels feed from a ring to asynchronous
   products and which needs three stages, as with 256 elements of K. It also applies to 16-bit operands of which fewer
   than four tiles fit (128x128x128), because warp specialisation needs four stages, also where `flip` swaps them
   afterwards because they have few rows (32x256x128), and to products by mma.sync whose tiles come by tensor maps, for
   which two stages are enough. Other products have rings that hold K slices of a tile. On an H200, 22 products of few
   rows are 0.96 to 2.05 times as fast in slices, 1.31 in the geometric mean, and the one on which this was found takes
   62 us instead of 128; three whose rows are not known to be aligned would be 0.65 to 1.01 times as fast.
   An operand may be computed from several tiles and from positions along K if consumers would compute it, for which
   three stages are needed: there are four if slices that fill lines are short enough for them.

   The tiles may be those of a batch, with leading dimensions of one that a reshape drops in front of the product, and
   may start at any distance from each other. The keys of a chain of products come in parts, too, if
   codegen/choose_products.c asks for it (codegen/cluster/keys.c).

   Steps that are short, on the other hand, are taken together (codegen/plan/lengthen.c).

   Why it is right: the loop carries only the sums and tokens, since the rest of its body is executed again for each
   slice; weak loads of scalars, such as an index from a table, give the same again, because nothing in the loop writes,
   and stand in front of the slices where they depend on none; the slices are added in the order in which the
   instruction would add them; and slice h of a tile begins h times its length behind the tile. The finer view has a
   tile there, because its tiles are as far apart as the greatest common divisor of that length and of the distance of
   the tiles. All tiles of a computed operand are cut in the same way, and positions in a slice begin where it does. */
#include <string.h>

#include "codegen/analysis/k_loop.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/turned.h"
#include "codegen/analysis/view.h"
#include "codegen/cluster/keys.h"
#include "codegen/facts/facts.h"
#include "codegen/groups/computes.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/loads.h"
#include "codegen/passes/pass.h"
#include "codegen/rewrite/versions.h"
#include "codegen/tile/build.h"

typedef struct cutting {
    cg_func *c;
    cg_k_loop of;
    uint32_t parts;
    ct_value *index[CG_K_LOADS]; /* of the slices of each tile, if the loop counts it */
    int64_t by[CG_K_LOADS][2];   /* the numbers by which that of the tile and that of the slice count in it */
} cutting;

/* ---- which loops ---- */

/* Bytes of a row of the left operand along K in shared memory. */
static uint32_t bytes_of_row(const cutting *x)
{
    const bc_type *type = x->of.loads[0]->results[0].type;
    return cg_memory_bytes(bc_elem_kind(type)) * (uint32_t)type->shape[x->of.k[0]];
}

/* The smallest number of slices that leaves room for so many stages. 0: the product needs none with `wanted` stages, or
   slices would have rows of fewer than `least` bytes. */
static uint32_t parts_of(const cutting *x, uint32_t wanted, uint32_t stages, uint32_t least)
{
    uint32_t slot = 0, room = cg_shared_most(x->c), parts = 1;
    for (uint32_t i = 0; i < x->of.load_count; i++)
        slot += cg_loaded_bytes(x->of.loads[i]);
    room = room > CG_MOST_OF_RESULTS ? room - CG_MOST_OF_RESULTS : 0;
    if (wanted * slot <= room)
        return 0;
    while (stages * (slot / parts) > room)
        parts *= 2;
    return bytes_of_row(x) / parts >= least ? parts : 0;
}

static bool find_views(cg_func *c)
{
    return cg_find_facts(c->ir) && cg_find_views(c->ir);
}

/* May tensor maps bring the tiles? Rows must start at multiples of 16 bytes. */
static bool suits_maps(const cutting *x)
{
    uint32_t fast;
    if (cg_has_likely(x->c->ir) || !find_views(x->c))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        cg_view_op v = cg_view_op_of(x->of.loads[i]);
        if (!cg_view_contiguous(&v, &fast) || cg_view_vector(x->c, &v, fast) < cg_chunk_bits(v.tile_type))
            return false;
    }
    return true;
}

/* Are the tiles of a batch better cut? Only if tensor maps may bring them: threads that copy tiles of more dimensions
   take longer than more stages save. */
static bool suits_batch(const cutting *x)
{
    return (x->of.loads[0]->results[0].type->rank == 2 && x->of.loads[1]->results[0].type->rank == 2) || suits_maps(x);
}

/* Has each loaded tile, such as one of scales for groups of K, a part for each slice? */
static bool divides_all(const cutting *x)
{
    for (uint32_t i = 0; i < x->of.load_count; i++)
        if (x->of.loads[i]->results[0].type->shape[x->of.k[i]] % x->parts)
            return false;
    return true;
}

/* The slices of a product with a computed operand. Four stages make up for the loop over slices; where rows of these
   would not fill lines, three do, since without slices no producers have room, and threads that copy, compute and
   multiply spill. On an H200, all 17 kernels that change gain (docs/internals/codegen/products.md). */
static uint32_t parts_of_computed(const cutting *x)
{
    const uint32_t parts = parts_of(x, CG_SLOTS_IN_FLIGHT, CG_CUT_GOOD_SLOTS, CG_LINE_BYTES);
    return parts ? parts : parts_of(x, CG_SLOTS_IN_FLIGHT, CG_SLOTS_IN_FLIGHT, CG_LINE_BYTES);
}

/* Would consumers compute the operand that is not only loaded, from tiles that come by whole pieces? Otherwise threads
   compute it, and more stages save less than shorter steps cost. */
static bool suits_computing(const cutting *x)
{
    return find_views(x->c) && cg_should_compute(x->c, x->of.product, x->of.computed[1]);
}

/* Will `flip` swap the operands, so that wgmma reads both in their slots, and may tensor maps bring them? Threads that
   copy whole tiles would take longer with slices. */
static bool will_be_swapped(const cutting *x)
{
    const ct_op *product = x->of.product;
    return x->c->target->features & CG_HAS_WGMMA && x->c->warp_bits >= CG_WARPGROUP_BITS
           && cg_choices_of(x->c)->swap != CG_NEVER && cg_has_few_rows(product)
           && cg_is_loaded_operand(product->operands[0]) && cg_is_loaded_operand(product->operands[1]) && suits_maps(x);
}

static bool is_wanted(cutting *x, ct_op *loop)
{
    enum { LEAST_SLOTS = 2 }; /* one is filled while the other is read */
    if (loop->plain || !cg_find_k_loop(loop, &x->of) || (x->of.computed[0] && x->of.computed[1]))
        return false;
    cg_product p = cg_product_of(x->c, x->of.product);
    uint32_t last = x->of.loads[0]->results[0].type->rank - 1u;
    bool turned = x->of.k[0] != last || x->of.k[1] + 2u != x->of.loads[1]->results[0].type->rank; /* in memory */
    bool tf32 = p.in == BC_TF32 && !turned && cg_async_takes(x->c, x->of.product, &p)
                && cg_may_turn(x->c, x->of.product, &p);
    bool computed = x->of.computed[0] || x->of.computed[1],
         async = (cg_has_trait(&p, CG_READS_PLACED) && !p.adds_up) || will_be_swapped(x),
         by_maps = x->c->target->features & CG_HAS_MAPS_FOR_MMA && p.instruction == CG_BY_MMA;
    if (computed)
        x->parts = async ? parts_of_computed(x) : 0;
    else
        x->parts = tf32      ? parts_of(x, CG_SLOTS_IN_FLIGHT, CG_CUT_GOOD_SLOTS, CG_LINE_BYTES)
                   : async   ? parts_of(x, CG_CUT_GOOD_SLOTS, CG_CUT_GOOD_SLOTS, CG_LINE_BYTES)
                   : by_maps ? parts_of(x, LEAST_SLOTS, LEAST_SLOTS, CG_LINE_BYTES / 2)
                             : 0;
    return x->parts && divides_all(x) && suits_batch(x) && (!computed || suits_computing(x));
}

/* ---- the inner loop ---- */

/* Moves what all slices have in common, such as an index from a table, in front of the loop over them. */
static void leave_scalars(ct_op *loop)
{
    ct_block *body = loop->regions[0];
    for (ct_op *op = body->first, *next; op; op = next) {
        bool depends = !ct_gives_no_tiles(op) || op == body->last;
        next = op->next;
        for (uint32_t i = 0; i < op->operand_count; i++)
            depends = depends || ct_is_inside(op->operands[i]->block, body);
        if (!depends)
            ct_move_before(op, loop);
    }
}

/* Moves the body to a new loop inside the loop, which carries the same values. NULL: out of memory. */
static ct_op *put_loop(const cutting *x, const bc_type *counter)
{
    ct_func *f = x->c->ir;
    ct_block *body = x->of.loop->regions[0];
    uint32_t carried = body->arg_count - 1;
    ct_op *loop = ct_for_like(f, x->of.loop, 0), *end = ct_op_like(f, OP_continue, body->last, carried, 0, 0);
    ct_builder b = {f, x->of.loop, false};
    ct_value *bounds[3] = {ct_build_constant(&b, counter, 0), ct_build_constant(&b, counter, x->parts),
                           ct_build_constant(&b, counter, 1)};
    if (!loop || !end || b.failed)
        return NULL;
    ct_block *block = loop->regions[0];
    ct_move_all(body, block, loop);
    block->args[0].type = counter;
    for (uint32_t i = 0; i < carried; i++)
        ct_replace_uses(&body->args[i + 1], &block->args[i + 1]);
    ct_append(body, loop);
    ct_append(body, end);
    for (uint32_t i = 0; i < 3; i++)
        ct_set_operand(loop, i, bounds[i]);
    leave_scalars(loop);
    for (uint32_t i = 0; i < carried; i++) {
        ct_set_operand(loop, 3 + i, &body->args[i + 1]);
        ct_set_operand(end, i, &loop->results[i]);
    }
    return loop;
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The view whose tiles are the slices: they start wherever a slice of a tile does. NULL: out of memory. */
static const bc_type *type_of_slices(const cutting *x, const bc_type *view, uint32_t dim)
{
    bc_type *type = bc_new(x->c->ir->arena, bc_type, 1);
    int64_t *steps = bc_new(x->c->ir->arena, int64_t, view->rank);
    const bc_type *part = ct_part_type(x->c->ir, view, dim, x->parts);
    if (view->kind != BC_STRIDED_VIEW || !type || !steps || !part)
        return type && steps ? part : NULL;
    memcpy(steps, view->strides, view->rank * sizeof *steps);
    steps[dim] = greatest_divisor(view->strides[dim], part->shape[dim]);
    *type = *part;
    type->strides = steps;
    return type;
}

static ct_value *put_times(const cutting *x, ct_builder *b, ct_value *v, int64_t number, const ct_op *inner)
{
    ct_value *parts = inner->operands[1];
    return number == 1 ? v : ct_build_mul(b, v, number == x->parts ? parts : ct_build_scalar(b, BC_I64, number));
}

/* The index of slice h of tile k of an operand, by[0] * k + by[1] * h, in 64 bits, so that an index outside the tensor
   stays outside. NULL: out of memory. */
static ct_value *put_index(cutting *x, uint32_t i, ct_op *inner, ct_value *k)
{
    bool counts = k == &x->of.loop->regions[0]->args[0],
         is_signed = counts && !ct_attr_u(x->of.loop, F_for_unsigned_cmp);
    const int64_t *by = x->by[i];
    ct_builder b = {x->c->ir, counts ? inner : x->of.loads[i], false};
    if (counts && i && x->index[0] && by[0] == x->by[0][0] && by[1] == x->by[0][1])
        return x->index[0];
    ct_value *tile = put_times(x, &b, ct_build_resize(&b, k, BC_I64, is_signed), by[0], inner);
    b.place = counts ? inner->regions[0]->first : x->of.loads[i];
    ct_value *index = ct_build_add(&b, tile, put_times(x, &b, &inner->regions[0]->args[0], by[1], inner));
    x->index[i] = counts ? index : NULL;
    return index;
}

/* Makes the load read a tile of the finer view; all values up to the product get the smaller type. */
static bool cut_load(cutting *x, uint32_t i, ct_op *inner)
{
    ct_func *f = x->c->ir;
    uint32_t k = x->of.k[i];
    ct_op *load = x->of.loads[i], *maker = ct_operand(load, ct_info(load)->address)->op;
    const bc_type *whole = maker->results[0].type, *slices = type_of_slices(x, whole, k);
    ct_op *view = ct_op_like(f, maker->opcode, maker, 1, 1, 0);
    if (!view || !slices)
        return false;
    uint32_t at = ct_operand_range(load, F_load_view_tko_index).first + k;
    x->by[i][0] = cg_tiles_apart(whole, k) / cg_tiles_apart(slices, k);
    x->by[i][1] = slices->shape[k] / cg_tiles_apart(slices, k);
    ct_value *index = put_index(x, i, inner, load->operands[at]);
    if (!index)
        return false;
    view->results[0].type = slices;
    ct_set_operand(view, 0, maker->operands[0]);
    ct_insert_after(view, maker);
    ct_set_operand(load, ct_operand_range(load, ct_info(load)->address).first, &view->results[0]);
    ct_set_operand(load, at, index);
    return true;
}

/* Has positions along K begin where the slice does. */
static bool shift_positions(cutting *x, const ct_op *inner)
{
    bool done = true;
    for (uint32_t i = 0; i < x->of.slice_count && done; i++) {
        cg_k_slice *slice = &x->of.slices[i];
        if (!slice->base)
            continue;
        ct_builder b = {x->c->ir, slice->value->op, false};
        const bc_kind kind = bc_elem_kind(slice->base->type);
        ct_value *number = ct_build_resize(&b, &inner->regions[0]->args[0], kind, false),
                 *length = ct_build_scalar(&b, kind, slice->value->type->shape[slice->k] / x->parts);
        slice->base = ct_build_add(&b, slice->base, ct_build_mul(&b, number, length));
        done = slice->base;
    }
    return done;
}

static void cut(cutting *x)
{
    const bc_type *counter = ct_scalar_type(x->c->ir, BC_I64);
    ct_op *inner = counter ? put_loop(x, counter) : NULL;
    bool done = inner && shift_positions(x, inner);
    for (uint32_t i = 0; i < x->of.load_count && done; i++)
        done = cut_load(x, i, inner);
    if (done)
        cg_resize_k(x->c->ir, &x->of, 1, x->parts);
}

/* ---- the pass ---- */

void cg_pass_cut(cg_func *c)
{
    bool any = false;
    if (cg_loops_stay_plain(c) || !(c->target->features & (CG_HAS_ASYNC_PRODUCTS | CG_HAS_MAPS_FOR_MMA)))
        return;
    for (ct_op *op = c->ir->body->first; op && !c->failed;) {
        cutting x = {.c = c};
        const bool is_other = cg_divide_keys(c, op) || cg_lengthen_steps(c, op), cuts = is_wanted(&x, op);
        if (cuts)
            cut(&x);
        any = any || is_other || cuts;
        op = ct_next_op(cuts ? op->regions[0]->last : op, c->ir->body); /* slices are not taken together again */
    }
    if (any && !c->failed)
        cg_set_warps(c);
}

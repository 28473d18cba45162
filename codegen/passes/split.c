/* The split pass divides the sums of a product over the thread blocks of a cluster, where a small grid would leave
   multiprocessors without work, or over slices, which are groups of warps of one block (sliced K): each block, or
   slice, multiplies a part of K, and the first one adds the parts.

       for k = first to end by step {                       from, to = the block's part of first to end
           c = mmaf a[k], b[k], c              ->           for k = from to to by step {
       }                                                        c = mmaf a[k], b[k], c
       ... c ...                                            }
                                                            sum = add_parts c, whether it is in parts
                                                            ... sum ...

   The kernel needs the hint `num_cta_in_cga` = n. A launch counts clusters, so it has n thread blocks for a tile block.
   The grid is only known when the kernel runs: if there are at most as many thread blocks as multiprocessors
   (`few_blocks`), the blocks of a cluster have the tile block of their cluster, and its parts. Otherwise a block has a
   tile block and all of K, and those beyond the last tile block exit. So large grids run as without the hint. Loops
   with few iterations are not divided, because sums pass through shared memory of the cluster: the first block
   computes all of it, and the others exit. An iteration may be a loop over the parts of a step (`cut`).

   Slices need no hint. Products of few rows whose weights are converted in registers (`flip`: reordered products) have
   them: a warp converts each element of the weights once, so that more warps find work only along K. With four warps
   for all of K, each scheduler has one, which waits for each of its instructions. A slice has the tiles, the shared
   memory and the barriers that a block would have, so that all other passes see a block of fewer warps; only `lower`
   counts the threads of all slices. More than two slices gain in grids of one block for each
   multiprocessor, but lose in larger ones (docs/internals/codegen/products.md).

   Why it is right: the sum of a product may be added in any order, except where products have no tensor cores, which
   keep K's order (docs/reference/numerics.md). Each iteration is in one part. What stands before the sum has no effects
   and computes the same in all blocks or slices; only the first one has the sum, and stores. */
#include <limits.h>

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/plan/cluster.h"
#include "codegen/tile/build.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/passes/pass.h"

enum { MOST_LOOPS = 8 };

typedef struct splitting {
    cg_func *c;
    uint32_t parts; /* as many as blocks of a cluster, or slices */
    bool sliced;
    ct_op *loops[MOST_LOOPS];
    uint32_t count;
} splitting;

static bool multiplies(const ct_op *op)
{
    const ct_op *in = op;
    while (in && !cg_is_product(in))
        in = ct_next_within(in, op);
    return in;
}

/* Can each block execute the op for itself? */
static bool is_for_all(const ct_op *op)
{
    if (op->opcode >= OP_LIMIT)
        return op->opcode == CT_within;
    if (bc_op_in(op->opcode, BC_OPS(ACCESS)))
        return ct_is_load(op) && cg_is_weak_access(op);
    return !(ct_info(op)->effects & ~(uint32_t)(BC_PARTIAL | BC_OF_BLOCK | BC_READS));
}

static bool are_for_all(const ct_op *op)
{
    const ct_op *in = op;
    while (in && is_for_all(in))
        in = ct_next_within(in, op);
    return !in;
}

/* The product that the block adds to the sum it is given, to which it does nothing else: the block's own, or that of a
   loop inside, as `cut` leaves for steps of which a ring holds only parts. */
static const ct_op *summand(const ct_block *body, const ct_value *sum)
{
    if (body->last->opcode != OP_continue || body->last->operand_count != 1 || !sum->uses || sum->uses->next)
        return NULL;
    const ct_op *op = body->last->operands[0]->op;
    if (!op || op->block != body || op->results[0].uses->next)
        return NULL;
    if (op->opcode == OP_for)
        return op->result_count == 1 && op->operands[ct_first_carried(op)] == sum
                   ? summand(op->regions[0], &op->regions[0]->args[1])
                   : NULL;
    return (op->opcode == OP_mmaf || op->opcode == OP_mmai) && op->operands[2] == sum ? op : NULL;
}

/* Does the loop only add products of tensor cores to zero? */
static bool is_sum(const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    int64_t first, step;
    if (loop->opcode != OP_for || loop->result_count != 1 || bc_elem_kind(loop->operands[1]->type) != BC_I32
        || ct_attr_u(loop, F_for_unsigned_cmp) || !ct_is_constant(loop->operands[0], &first) || first < 0
        || !ct_is_constant(loop->operands[2], &step) || step <= 0)
        return false;
    const ct_value *sum = &body->args[1], *start = loop->operands[ct_first_carried(loop)];
    const ct_op *product = summand(body, sum);
    if (!product || !ct_is_all_zero(start))
        return false;
    bc_kind of = bc_elem_kind(product->operands[0]->type), kind = bc_elem_kind(sum->type);
    return of != BC_F32 && of != BC_F64 && (kind == BC_F32 || kind == BC_I32);
}

static int64_t bits_of(const bc_type *tile)
{
    return (int64_t)bc_kind_bits(bc_elem_kind(tile)) << cg_shape_of(tile).tile_bits;
}

static int64_t iterations(const ct_op *loop, int64_t end)
{
    int64_t first = 0, step = 1;
    ct_is_constant(loop->operands[0], &first);
    ct_is_constant(loop->operands[2], &step);
    return end > first ? (end - first + step - 1) / step : 0;
}

/* Bits of the tiles that one execution of the block loads, as far as INT32_MAX; of a loop inside whose length is not
   known, one iteration. */
static int64_t bits_loaded(const ct_block *body)
{
    int64_t bits = 0, first, end;
    for (const ct_op *op = body->first; op; op = op->next) {
        bool is_known = op->opcode == OP_for && ct_is_constant(op->operands[0], &first) && first >= 0
                        && ct_is_constant(op->operands[1], &end) && end <= INT32_MAX;
        bits += ct_is_load(op) ? bits_of(op->results[0].type) : 0;
        for (uint32_t r = 0; r < op->region_count; r++)
            bits += op->regions[r] ? bits_loaded(op->regions[r]) * (is_known ? iterations(op, end) : 1) : 0;
        bits = bits < INT32_MAX ? bits : INT32_MAX;
    }
    return bits;
}

/* The iterations from which on parts pay: what the blocks do not load is several times what they exchange, and no part
   is empty. */
static int64_t least_iterations(const splitting *x, const ct_op *loop)
{
    enum { TIMES = 4 };
    int64_t bits = bits_loaded(loop->regions[0]), exchanged = bits_of(loop->results[0].type) * TIMES, n = x->parts;
    int64_t least = bits ? exchanged / bits * n / (n - 1) : INT32_MAX;
    return least > n * n ? least : n * n;
}

static bool is_long(const splitting *x, const ct_op *loop)
{
    int64_t end;
    return !ct_is_constant(loop->operands[1], &end) || iterations(loop, end) >= least_iterations(x, loop);
}

/* Small tiles make small grids only of small results, and their blocks end so soon that others which exit cost more
   than a few percent of the time in large grids. */
static bool blocks_pay(const ct_op *loop)
{
    enum { LEAST_SIDE = 128 };
    const bc_type *sum = loop->results[0].type;
    return sum->shape[sum->rank - 1] >= LEAST_SIDE || sum->shape[sum->rank - 2] >= LEAST_SIDE;
}

/* Do warps have work only along K, and do the tiles of enough iterations fit for each slice? */
static bool slices_pay(const splitting *x, const ct_op *loop)
{
    const ct_op *product = summand(loop->regions[0], &loop->regions[0]->args[1]);
    const int64_t stages = CG_SLOTS_IN_FLIGHT * bits_loaded(loop->regions[0]) / CHAR_BIT;
    return product->way == CT_REORDERED && x->parts * stages <= cg_shared_most(x->c);
}

static bool may_pay(const splitting *x, const ct_op *loop)
{
    return is_long(x, loop) && (x->sliced ? slices_pay(x, loop) : blocks_pay(loop));
}

/* Finds the loops, one on each path from the block's begin to its end. False: there are paths without. */
static bool find(splitting *x, const ct_block *block)
{
    bool found = false;
    for (ct_op *op = block->first; op; op = op->next) {
        bool is = multiplies(op);
        if (found ? is : !is && !are_for_all(op))
            return false;
        if (found || !is)
            continue;
        if (op->opcode == OP_for) {
            if (!is_sum(op) || !may_pay(x, op) || !are_for_all(op) || x->count == MOST_LOOPS)
                return false;
            x->loops[x->count++] = op;
        } else if (op->opcode != OP_if || op->region_count < 2 || !op->regions[1] || !find(x, op->regions[0])
                   || !find(x, op->regions[1])) {
            return false;
        }
        found = true;
    }
    return found;
}

static ct_value *choose(ct_builder *b, ct_value *condition, ct_value *x, ct_value *y)
{
    return condition && x && y ? ct_build(b, OP_select, x->type, (ct_value *const[]){condition, x, y}, 3) : NULL;
}

/* No sum overflows where it is used: in parts, the last one begins before the end, because there are at least n * n
   iterations. */
static void split(splitting *x, ct_op *loop)
{
    ct_func *f = x->c->ir;
    ct_builder b = {f, loop, false};
    int64_t low = 0, step = 1, n = x->parts;
    ct_is_constant(loop->operands[0], &low);
    ct_is_constant(loop->operands[2], &step);
    ct_value *first = loop->operands[0], *end = loop->operands[1],
             *few = x->sliced ? NULL : ct_build_own(&b, CT_few_blocks, ct_scalar_type(f, BC_I1), NULL, 0),
             *parts = ct_build_scalar(&b, BC_I64, n),
             *rank = ct_build_own(&b, CT_part, ct_scalar_type(f, BC_I32), &parts, 1),
             *span = ct_build_positive(&b, ct_build_sub(&b, ct_build_positive(&b, end), first)),
             *count = ct_build_div_unsigned(&b, ct_build_add(&b, span, ct_build_scalar(&b, BC_I32, step - 1)), step),
             *each = ct_build_div_unsigned(&b, ct_build_add(&b, count, ct_build_scalar(&b, BC_I32, n - 1)), n),
             *none = ct_build_scalar(&b, BC_I32, 0), *no = ct_build_constant(&b, ct_scalar_type(f, BC_I1), 0),
             *many = ct_build_less(&b, ct_build_scalar(&b, BC_I32, least_iterations(x, loop) - 1), count, true),
             *parted = x->sliced ? many : choose(&b, few, many, no),
             *length = ct_build_mul(&b, choose(&b, parted, each, none), loop->operands[2]),
             *from = ct_build_bounded(&b, ct_build_add(&b, first, ct_build_mul(&b, length, rank)), low, INT32_MAX),
             *next = ct_build_bounded(&b, ct_build_add(&b, from, length), low, INT32_MAX),
             *to = ct_build_if_less(&b, rank, ct_build_scalar(&b, BC_I32, n - 1), true, next, end),
             *all = ct_build_if_less(&b, rank, ct_build_scalar(&b, BC_I32, 1), true, end, first);
    to = choose(&b, parted, to, all);
    ct_op *sum = ct_op_new(f, CT_add_parts, loop, 2, 1);
    if (!from || !to || !sum)
        return;
    sum->results[0].type = loop->results[0].type;
    ct_insert_after(sum, loop);
    ct_replace_uses(&loop->results[0], &sum->results[0]);
    ct_set_operand(sum, 0, &loop->results[0]);
    ct_set_operand(sum, 1, parted);
    ct_set_operand(loop, 0, from);
    ct_set_operand(loop, 1, to);
}

static void split_all(splitting *x)
{
    for (uint32_t i = 0; i < x->count && !x->c->failed; i++)
        split(x, x->loops[i]);
}

/* Over the thread blocks of clusters, which the hint asks for. */
static bool by_cluster(cg_func *c)
{
    const uint32_t hint = (uint32_t)cg_hint_of(c, CG_HINT_CLUSTER);
    splitting x = {.c = c, .parts = hint < CG_CLUSTER_BLOCKS ? hint : CG_CLUSTER_BLOCKS};
    if (hint < 2 || c->cluster || !(c->target->features & CG_HAS_CLUSTERS) || c->target->features & CG_HAS_TCGEN05
        || !cg_may_use_ptx(c, CG_PTX_OF_CLUSTERS) || cg_fills_device(c->ir) || !find(&x, c->ir->body))
        return false;
    c->cluster = x.parts;
    c->in_parts = true;
    split_all(&x);
    cg_remark(
        c, x.loops[0], CG_REMARK_Cluster, TV_REMARK_PASSED,
        "if the grid is small, {Blocks=%u} thread blocks of a cluster compute a tile block, each a part of K; the "
        "hint asks for {Hint=%u}",
        x.parts, hint);
    return true;
}

/* Over slices, unless a hint says how many warps or blocks there are. */
static void by_slices(cg_func *c)
{
    enum { SLICES = 2 }; /* a second warp for each scheduler, which issues while the first one waits for its result */
    splitting x = {.c = c, .parts = SLICES, .sliced = true};
    if (c->cluster || cg_given_hint(c, CG_HINT_WARPS) || cg_hint_of(c, CG_HINT_OCCUPANCY)
        || cg_choices_of(c)->slices == CG_NEVER || !find(&x, c->ir->body))
        return;
    split_all(&x);
    c->slices = x.parts;
    cg_remark(c, x.loops[0], CG_REMARK_Slices, TV_REMARK_PASSED,
              "{Slices=%u} groups of warps each have a part of K, because a warp converts weights for all rows",
              x.parts);
}

void cg_pass_split(cg_func *c)
{
    if (!by_cluster(c))
        by_slices(c);
}

/* The cluster pass spreads a kernel with the hint `num_cta_in_cga` over the thread blocks of a cluster. Each thread
   block computes some of the rows, or of the columns, of every stored tile; or, in a persistent kernel where the
   difference is not observable, some of the iterations. Blocks share nothing but memory: each loads the parts of the
   other operand that its products read, through L2.

   The pass changes kernels that query the number of tile blocks, since these are started with only as many as fit at
   once, one for each cluster. It also changes kernels whose sums need more registers than one thread block has. In
   other kernels the grid fills the device anyway, and larger tiles read less data.

   Where the target has tcgen05, the two blocks of a cluster multiply as a pair if they can: each has half of the rows
   and, besides, half of the columns of every right operand, which the instruction reads in both blocks.

   If there are too many sums and no hint asks for a cluster, one thread block computes the parts in turn, in a loop
   around the kernel whose counter replaces the rank (codegen/cluster/cluster_turns.c). Scalars, views and constants
   that are the same in all turns stay in front of that loop. Each turn reads the other operand again, from L2; in
   return the kernel is optimised like one with products of half the size. Kernels that return early, print, or add by
   atomics do not take turns; a remark says so.

   A view whose tiles are divided gets smaller tiles, and its index names the part, in 64 bits, so that an index
   outside the tensor stays outside. `rank` is `%cluster_ctarank`; `get_tile_block_id` becomes `%clusterid`, and
   `get_num_tile_blocks` becomes `%nclusterid`. The pass runs early, so that later passes see the parts as the
   kernel's tiles. docs/internals/codegen/clusters.md has the rules.

   Why it is right: an element is computed from the same operands as before, and all accesses that are ordered with its
   store are done by the same block, in the order of its ops (codegen/plan/cluster_order.c). */
#include "codegen/analysis/product.h"
#include "codegen/analysis/tensor.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/cluster/cluster.h"
#include "codegen/passes/pass.h"

/* Is a side of the product still long enough if it is divided among that many blocks? */
static bool is_long_enough(const bc_type *product, uint32_t blocks, bool columns)
{
    int64_t side = product->shape[product->rank - 2 + columns];
    return side / blocks >= (!columns && side >= CG_WARPGROUP_ROWS ? CG_WARPGROUP_ROWS : CG_ASYNC_COLUMNS);
}

/* product may be NULL. */
static bool spread(cg_spreading *x, const bc_type *product, uint32_t blocks, bool columns)
{
    x->blocks = blocks;
    x->columns = columns;
    bool fits = !product || is_long_enough(product, blocks, columns);
    if (!fits)
        cg_cluster_refuse(x, NULL,
                          columns ? "the parts of a product would have too few columns"
                                  : "the parts of a product would have too few rows");
    if (x->c->failed || !fits || !cg_cluster_find(x) || cg_cluster_is_torn(x))
        return false;
    cg_cluster_split(x);
    return !x->c->failed;
}

/* Uses as many blocks as possible, at least two; along the longer side of the product, so that the blocks read the
   least data. */
static bool spread_most(cg_spreading *x, const bc_type *product, uint32_t most)
{
    bool longer = product && product->shape[product->rank - 1] > product->shape[product->rank - 2];
    for (uint32_t blocks = most; blocks > 1; blocks /= 2)
        if (spread(x, product, blocks, longer) || spread(x, product, blocks, !longer))
            return true;
    return false;
}

static void remark_whole(cg_func *c, const ct_op *op, tv_remark_kind kind, const char *why)
{
    cg_remark(c, op, CG_REMARK_Cluster, kind, "one thread block computes a tile block: {Why=%s}", why);
}

/* One thread block computes the parts in turn, because its registers cannot hold all sums. */
static void take_turns(cg_func *c, const ct_op *product, uint32_t least)
{
    cg_spreading x = {.c = c, .in_turn = true};
    if (!cg_ends_once(c->ir->body))
        cg_cluster_refuse(&x, NULL, "it returns early");
    else if (c->ir->value_count > CG_CLUSTER_VALUES)
        cg_cluster_refuse(&x, NULL, "it is too long");
    if (x.why || !spread_most(&x, product ? product->results[0].type : NULL, least)) {
        cg_remark(c, x.against, CG_REMARK_Cluster, TV_REMARK_MISSED,
                  "the tile block is not divided, although a thread block has too few registers for it: {Why=%s}",
                  x.why);
        return;
    }
    cg_set_warps(c);
    cg_remark(c, NULL, CG_REMARK_Cluster, TV_REMARK_PASSED,
              "a thread block computes its tile block in {Parts=%u} parts, one after the other, each with a share of "
              "the {Part=%s}: it has too few registers for the whole",
              x.blocks, x.columns ? "columns" : "rows");
}

static bool try_dealing(cg_func *c, uint32_t blocks, uint32_t hint)
{
    if (!cg_cluster_deal(c, blocks))
        return false;
    c->cluster = blocks;
    c->block_order = CG_SIDE_BY_SIDE;
    cg_remark(c, NULL, CG_REMARK_Cluster, TV_REMARK_PASSED,
              "{Blocks=%u} thread blocks of a cluster take turns at the iterations of a tile block's loop; the hint "
              "asks for {Hint=%u}",
              blocks, hint);
    return true;
}

static bool try_spreading(cg_func *c, const ct_op *product, uint32_t most, uint32_t hint)
{
    cg_spreading x = {.c = c};
    if (!spread_most(&x, product ? product->results[0].type : NULL, most)) {
        remark_whole(c, x.against, TV_REMARK_MISSED, x.why);
        return false;
    }
    c->cluster = x.blocks;
    cg_set_warps(c);
    cg_remark(c, NULL, CG_REMARK_Cluster, TV_REMARK_PASSED,
              "{Blocks=%u} thread blocks of a cluster compute a tile block, each a share of its {Part=%s}; the hint "
              "asks for {Hint=%u}",
              x.blocks, x.columns ? "columns" : "rows", hint);
    return true;
}

/* ---- pairs ---- */

/* Can a pair compute all products? */
static bool are_for_pairs(cg_spreading *x)
{
    for (const ct_op *op = x->c->ir->body->first; op; op = ct_next_op(op, x->c->ir->body)) {
        const char *why = cg_is_product(op) ? cg_pair_obstacle(x->c, op) : NULL;
        if (why)
            return cg_cluster_refuse(x, op, why);
    }
    return true;
}

/* Divides the tile block among two blocks that multiply as a pair, so that each reads half of both operands. Why it is
   right: each block stores its own rows, which no element of the other one enters, and what both compute whole is the
   same in both. All that conditions and the ends of loops depend on is whole, so both come to the same products. */
static bool try_pairing(cg_func *c, const ct_op *product, uint32_t most, uint32_t hint)
{
    cg_spreading x = {.c = c, .pair = true};
    if (!(c->target->features & CG_HAS_TCGEN05) || !product || most != CG_PAIR_BLOCKS)
        return false;
    if (cg_choices_of(c)->pair == CG_NEVER)
        cg_cluster_refuse(&x, product, "their operands do not fit, or one block is predicted to be faster");
    if (x.why || !are_for_pairs(&x) || !spread(&x, NULL, CG_PAIR_BLOCKS, false)) {
        cg_remark(c, x.against, CG_REMARK_Cluster, TV_REMARK_MISSED, "no thread blocks multiply as a pair: {Why=%s}",
                  x.why ? x.why : "out of memory");
        return false;
    }
    c->cluster = x.blocks;
    c->paired = true;
    cg_set_warps(c);
    cg_remark(c, NULL, CG_REMARK_Cluster, TV_REMARK_PASSED,
              "{Blocks=%u} thread blocks of a cluster compute a tile block as a pair: each has half of its rows, and "
              "half of the columns of right operands; the hint asks for {Hint=%u}",
              x.blocks, hint);
    return true;
}

/* ---- the pass ---- */

/* Uses as many thread blocks as the hint says, if that is useful. */
static bool spread_as_told(cg_func *c, const ct_op *product, uint32_t hint, uint32_t least)
{
    bool persistent = cg_fills_device(c->ir);
    uint32_t most = hint < CG_CLUSTER_BLOCKS ? hint : CG_CLUSTER_BLOCKS;
    if (hint < 2 || !(c->target->features & CG_HAS_CLUSTERS))
        return false;
    const char *against = c->ir->value_count > CG_CLUSTER_VALUES ? "it is too long"
                          : !cg_may_use_ptx(c, CG_PTX_OF_CLUSTERS)
                              ? "clusters whose grid counts tile blocks need PTX 9.0"
                              : NULL;
    if (!against && try_pairing(c, product, most, hint))
        return true;
    if (c->failed)
        return false;
    if (least < 2 && !persistent)
        remark_whole(c, NULL, TV_REMARK_ANALYSIS,
                     "a grid of all tile blocks fills the device, and larger tiles read less");
    else if (against)
        remark_whole(c, NULL, TV_REMARK_MISSED, against);
    else
        return (least < 2 && try_dealing(c, most, hint))
               || try_spreading(c, product, persistent || most < least ? most : least, hint);
    return false;
}

void cg_pass_cluster(cg_func *c)
{
    const ct_op *product = cg_largest_product(c->ir);
    uint32_t hint = (uint32_t)cg_hint_of(c, CG_HINT_CLUSTER), least = cg_least_blocks(c);
    if (!spread_as_told(c, product, hint, least) && least > 1 && !c->failed)
        take_turns(c, product, least);
}

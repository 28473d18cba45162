/* The tensor pass gives the sums of products by tcgen05 places in tensor memory, and keeps a sum there over a loop that
   only carries it from one product to the next: `sum` puts its initial value there before the loop, and `mma_await`
   loads it behind the loop. All other products put their sum there and load it again.

   Two sums have different columns if one is needed while the other is there, which is while an op is executed: the
   product, or the loop. So a loop keeps sums only if all products in it have room at once. The kernel allocates at its
   start and frees before it returns.

   Where the issuer has a program of its own (codegen/groups/issuer.c), the kernel's only sum has two places, one behind
   the other. There, `sum` waits until the next place is empty, and `mma_await` marks it as full; in the consumers'
   program, `take` loads it.

   The products of a chain get a program of their own, too, where possible (codegen/rewrite/chains.h): consumers `take`
   the first sum and `hand` over the left operand of the second product. Sums of other products then have columns apart
   from those of products that run ahead, if all of them fit.

   A sum that the loop multiplies in each iteration before the product adds to it, as attention does, stays, too:
   `scale_sum` takes the place of the multiplication.

   The sum of a product that runs an iteration ahead (codegen/rewrite/chains_ahead.c) has one place over the whole loop,
   also for the first iteration's product in front of it. A product whose left operand is in tensor memory is awaited in
   the next iteration, when that multiplies the sum or stores the operand again, if no other one is to be awaited.

   A left operand that consumers compute from a sum (cg_tensor_takes_left) goes there, too, if columns are left beside
   all sums: the product stores it, and reads it there.

   Why it is right: only the product of the next iteration reads such a sum, so nobody misses it in registers. */
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/tensor_left.h"
#include "codegen/kernel/groups.h"
#include "codegen/passes/pass.h"
#include "codegen/rewrite/carried.h"
#include "codegen/rewrite/chains.h"
#include "codegen/rewrite/ring.h"
#include "codegen/tile/build.h"

typedef struct placing {
    cg_func *c;
    ct_func *f;
    cg_tensor *tensor;
    uint32_t most; /* sums */
    bool apart;    /* sums of products that run ahead have columns of their own */
} placing;

static uint32_t count_products(const cg_func *c)
{
    uint32_t count = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        count += cg_sums_in_tensor(c, op);
    return count;
}

/* ---- sums that stay ---- */

/* The op that waits for the sum behind the loop, which groups may have created already. NULL: out of memory. */
static ct_op *end_of(placing *x, ct_value *sum, ct_op *loop)
{
    for (const ct_use *use = sum->uses; use; use = use->next)
        if (use->op->opcode == CT_mma_await)
            return use->op;
    return cg_put_mma_await(x->c, sum, loop);
}

/* Replaces the multiplication of the sum that the loop carries by one in tensor memory. False: out of memory. */
static bool put_scale(placing *x, ct_op *product, ct_op *scale, ct_value *arg, cg_sum *sum)
{
    ct_builder b = {x->f, scale, false};
    ct_value *const operands[] = {arg, scale->operands[scale->operands[0] == arg]};
    ct_value *scaled = ct_build_own(&b, CT_scale_sum, scale->results[0].type, operands, 2);
    if (!scaled)
        return false;
    scaled->in_tensor = true;
    ct_set_operand(product, 2, scaled);
    ct_remove(scale);
    sum->scaled = scaled->op;
    return true;
}

/* Keeps the product's sum in tensor memory as long as loops only carry it, or one loop carries and multiplies it.
   False: no loop does, or there is no room. */
static bool keep(placing *x, ct_op *product, cg_sum *sum)
{
    uint32_t carried;
    ct_op *scale = NULL;
    if (!cg_is_sum_carried(product, &carried) && !(scale = cg_scale_of_sum(product, &carried)))
        return false;
    ct_op *loop = scale ? product->block->parent : cg_loop_of_sum(product->block->parent, &carried);
    if (!product->in_place && !cg_tcgen05_has_room(x->c, loop))
        return false;
    uint32_t operand = ct_for_inits(loop).first + carried;
    ct_op *start = ct_op_new(x->f, CT_sum, product, 1, 1), *end = end_of(x, &loop->results[carried], loop);
    if (!start || !end || (scale && !put_scale(x, product, scale, &loop->regions[0]->args[carried + 1], sum)))
        return false;
    ct_set_operand(start, 0, loop->operands[operand]);
    start->results[0].type = product->results[0].type;
    start->results[0].in_tensor = true;
    ct_insert_before(start, loop);
    ct_set_operand(loop, operand, &start->results[0]);
    product->in_place = true;
    cg_mark_in_tensor(product, loop);
    sum->span = loop;
    sum->started = start;
    sum->taken = end;
    return true;
}

/* ---- places ---- */

/* The columns of all places of the sum. */
static uint32_t columns_of(const cg_tensor *tensor, const cg_sum *sum)
{
    return sum->columns * (tensor->in_turn ? CG_SUMS_IN_TURN : 1);
}

/* The first column behind all sums, but for that of the product itself if it has none yet, that are there during the
   span. apart: and behind all those that run ahead, if the product does not, or else the other way round. */
static uint32_t column_behind(const cg_tensor *tensor, const cg_sum *last, const ct_op *span, const ct_op *product,
                              bool apart)
{
    uint32_t column = 0;
    for (const cg_sum *other = tensor->sums; other < last; other++) {
        uint32_t end = other->column + other->columns, end_of_left = other->left + other->left_columns;
        bool counts = apart && other->product->ahead != product->ahead;
        if ((counts || ct_is_within(other->span, span) || ct_is_within(span, other->span)) && end > column)
            column = end;
        if ((ct_is_within(other->product, span) || ct_is_within(span, other->product)) && end_of_left > column)
            column = end_of_left;
    }
    return column;
}

static void allocate(cg_tensor *tensor, uint32_t end)
{
    while (tensor->columns < end)
        tensor->columns *= 2;
}

/* Columns of tensor memory. row: log2 of the words that each row has side by side. */
typedef struct range {
    uint32_t column, columns, row;
} range;

/* Do two ranges share words, but not all of them in the same order of warps? */
static bool differ_within(const range *a, const range *b)
{
    bool overlap = a->column < b->column + b->columns && b->column < a->column + a->columns;
    return overlap && (a->column != b->column || a->row != b->row || a->columns != b->columns);
}

/* The sum, its scales, and the left operand. */
enum { RANGES = 3 };
static void find_ranges(const cg_sum *sum, range out[RANGES])
{
    uint32_t own = sum->columns - sum->scale_columns, scales = sum->scale_columns ? sum->column + own : 0;
    out[0] = (range){sum->column, own, sum->row};
    out[1] = (range){scales, sum->scale_columns, 0};
    out[2] = (range){sum->left, sum->left_columns, sum->left_row};
}

/* Does another sum or left operand have some of the columns, in another order of warps? With more warps than four, two
   warps reach the same lanes, and each has a part of the columns. */
static bool has_words_of_others(const cg_func *c, const cg_sum *sum)
{
    bool shares = false;
    range own[RANGES], its[RANGES];
    find_ranges(sum, own);
    for (uint32_t i = 0; i < c->tensor->count && c->warp_bits > CG_WARPGROUP_BITS; i++) {
        const cg_sum *other = &c->tensor->sums[i];
        find_ranges(other, its);
        for (uint32_t k = 0; k < RANGES * RANGES; k++)
            shares = shares || differ_within(&own[k / RANGES], &its[k % RANGES]);
    }
    return shares;
}

/* Marks the values that hold the sum of a product that runs ahead, from its branch to the end of the loop for which it
   does; the loop awaits it (codegen/rewrite/chains_ahead.c). */
static void pass_ahead(const ct_op *product, cg_sum *sum)
{
    ct_op *branch = product->block->parent;
    ct_value *given = &branch->results[product->results[0].uses->index];
    const ct_use *use = given->uses;
    bool starts = use->op->opcode == OP_for;
    ct_op *loop = starts ? use->op : use->op->block->parent;
    uint32_t carried = use->index - (starts ? ct_for_inits(loop).first : 0);
    ct_value *arg = &loop->regions[0]->args[carried + 1];
    product->results[0].in_tensor = given->in_tensor = arg->in_tensor = loop->results[carried].in_tensor = true;
    sum->span = loop;
    sum->taken = arg->uses->op;
}

/* Of a product that runs ahead, the sum of the first iteration's, in whose place it is; NULL: it is that, or another
   product. */
static const cg_sum *sum_before(const cg_tensor *tensor, const cg_sum *sum)
{
    for (const cg_sum *other = tensor->sums; sum->product->ahead && other < sum; other++)
        if (other->product->ahead && other->taken == sum->taken)
            return other;
    return NULL;
}

static void add_sum(placing *x, ct_op *product)
{
    cg_product p = cg_product_of(x->c, product);
    cg_sum *sum = &x->tensor->sums[x->tensor->count++];
    *sum = (cg_sum){.product = product,
                    .span = product,
                    .columns = cg_tcgen05_columns(&p),
                    .scale_columns = cg_tcgen05_columns(&p) - cg_tcgen05_sum_columns(&p),
                    .row = cg_sum_columns(&p)};
    if (product->ahead)
        pass_ahead(product, sum);
    else
        keep(x, product, sum);
    x->tensor->flies = x->tensor->flies || product->ahead || (product->in_flight && !x->c->groups);
}

/* Gives all sums their columns. apart: an issuer of its own starts products that run ahead while consumers may be
   elsewhere (codegen/rewrite/chains.h), so that other sums are not in their words; only sums of the same size that run
   ahead share these. Returns the end of the last one. */
static uint32_t place_all(const placing *x, bool apart)
{
    uint32_t end = 0;
    for (cg_sum *sum = x->tensor->sums; sum < x->tensor->sums + x->tensor->count; sum++) {
        const cg_sum *before = sum_before(x->tensor, sum);
        bool is_further = false;
        for (const cg_sum *other = x->tensor->sums; other < sum; other++)
            is_further = is_further || (sum->product->ahead && other->product->ahead && other->columns == sum->columns);
        sum->column = before ? before->column
                             : column_behind(x->tensor, sum, sum->span, sum->product, apart && !is_further);
        end = sum->column + columns_of(x->tensor, sum) > end ? sum->column + columns_of(x->tensor, sum) : end;
    }
    return end;
}

/* Of a product whose left operand is in tensor memory: may it be awaited when the next iteration multiplies its sum? It
   frees what it reads by a commit, and the other products of the loop run ahead, so that none waits for its barrier. */
static bool may_be_late(const cg_sum *sum)
{
    const ct_op *release = sum->product->next;
    uint32_t others = 0;
    if (!sum->started || sum->product->in_flight || release->opcode != CT_release
        || cg_ring_of(release, 0)->end != CG_FREE_WHEN_MULTIPLIED)
        return false;
    const ct_block *body = sum->span->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        others += cg_is_product(op) && op != sum->product && !op->ahead;
    return !others;
}

/* Puts the product's left operand behind all sums, if there is room. */
static void add_left(placing *x, cg_sum *sum)
{
    cg_product p = cg_product_of(x->c, sum->product);
    const cg_sum *last = x->tensor->sums + x->tensor->count;
    uint32_t columns = cg_tensor_left_columns(&p),
             column = column_behind(x->tensor, last, sum->product, sum->product, x->apart);
    if (column + columns > CG_TENSOR_COLUMNS)
        column = column_behind(x->tensor, last, sum->product, sum->product, false);
    if (!cg_tensor_takes_left(x->c, sum->product) || column + columns > CG_TENSOR_COLUMNS)
        return;
    sum->left = column;
    sum->left_columns = columns;
    sum->left_row = cg_tensor_left_words(&p);
    sum->late = may_be_late(sum);
    x->tensor->is_late = x->tensor->is_late || sum->late;
    allocate(x->tensor, column + columns);
}

/* ---- the pass ---- */

static void put(placing *x, ct_opcode opcode, ct_op *before)
{
    ct_op *op = ct_op_new(x->f, opcode, before, 0, 0);
    if (op)
        ct_insert_before(op, before);
}

/* Allocates behind `share`, at which thread blocks without tile blocks leave. */
static void put_ends(placing *x, ct_block *program)
{
    ct_op *first = program->first;
    for (ct_op *op = program->first; op; op = op->next)
        if (op->opcode == CT_share)
            first = op->next;
    put(x, CT_tensor, first);
    for (ct_op *op = program->first; op; op = ct_next_op(op, program))
        if (op->opcode == OP_return)
            put(x, CT_tensor_end, op);
}

/* Has the thread block the tensor memory of the multiprocessor to itself? */
static bool has_all_columns(const cg_func *c)
{
    enum { HALF = 2 };
    return c->groups && c->groups->shared > cg_shared_most(c) / HALF;
}

static void place_sums(placing *x, ct_block *program)
{
    for (ct_op *op = program->first; op && !x->c->failed; op = ct_next_op(op, program))
        if (cg_sums_in_tensor(x->c, op))
            add_sum(x, op);
    x->apart = has_all_columns(x->c) && place_all(x, true) <= CG_TENSOR_COLUMNS;
    allocate(x->tensor, place_all(x, x->apart));
    for (uint32_t i = 0; i < x->tensor->count; i++)
        add_left(x, &x->tensor->sums[i]);
    put_ends(x, program);
}

/* The sum that the issuer fills is the kernel's only one, and consumers take it in one place. */
static void place_in_turn(placing *x, const ct_op *groups)
{
    x->tensor->in_turn = true;
    place_sums(x, groups->regions[CG_ISSUER]);
    put_ends(x, groups->regions[CG_CONSUMERS]);
    const ct_block *consumers = groups->regions[CG_CONSUMERS];
    for (const ct_op *op = consumers->first; op; op = ct_next_op(op, consumers))
        if (op->opcode == CT_take)
            x->tensor->sums[0].loaded = op;
}

/* A product of a pair has only half of its right operand, so that no other instruction can compute it. cg_choose_pair
   has compiled the kernel before and decided against a pair if this is so. */
static bool are_pairs_whole(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->paired && !cg_sums_in_tensor(c, op)) {
            cg_unsupported(c, op, "no pair of thread blocks can compute the product");
            return false;
        }
    return true;
}

void cg_pass_tensor(cg_func *c)
{
    placing x = {.c = c, .f = c->ir, .most = count_products(c)};
    if (c->paired && !are_pairs_whole(c))
        return;
    c->paired = c->paired && x.most;
    if (!x.most)
        return;
    x.tensor = bc_new(&c->arena, cg_tensor, 1);
    if (!x.tensor || !(x.tensor->sums = bc_new(&c->arena, cg_sum, x.most)))
        return;
    x.tensor->columns = CG_TENSOR_LEAST_COLUMNS;
    ct_op *groups = NULL;
    for (ct_op *op = c->ir->body->first; op; op = op->next)
        if (op->opcode == CT_groups)
            groups = op;
    if (groups && groups->region_count > CG_ISSUER)
        place_in_turn(&x, groups);
    else
        place_sums(&x, groups ? groups->regions[CG_CONSUMERS] : c->ir->body);
    c->tensor = x.tensor;
    if (groups && !x.tensor->in_turn && !c->failed)
        cg_issue_chains(c, groups);
    if (groups && x.tensor->tiles && !c->failed)
        cg_correct_chain(c, groups);
    for (uint32_t i = 0; i < x.tensor->count; i++)
        x.tensor->sums[i].meets = has_words_of_others(c, &x.tensor->sums[i]);
}

/* The tensor pass gives the sums of products by tcgen05 places in tensor memory, and keeps a sum there over a loop that
   only carries it from one product to the next: `sum` puts its initial value there before the loop, and `mma_await`
   loads it behind the loop. All other products put their sum there and load it again.

   Two sums have different columns if one is needed while the other is there, which is while an op is executed: the
   product, or the loop. So a loop keeps sums only if all products in it have room at once. The kernel allocates at its
   start and frees before it returns.

   Where the issuer has a program of its own (codegen/passes/issuer.c), the kernel's only sum has two places, one behind
   the other. There, `sum` waits until the next place is empty, and `mma_await` marks it as full; in the consumers'
   program, `take` loads it.

   Why it is right: only the product of the next iteration reads such a sum, so nobody misses it in registers. */
#include "codegen/analysis/tensor.h"
#include "codegen/kernel/groups.h"
#include "codegen/passes/pass.h"
#include "codegen/rewrite/carried.h"
#include "codegen/rewrite/ring.h"

typedef struct placing {
    cg_func *c;
    ct_func *f;
    cg_tensor *tensor;
    uint32_t most; /* sums */
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

/* Marks the values that hold the sum from `loop` down to the product. */
static void mark(ct_op *product, ct_op *loop)
{
    product->results[0].in_tensor = true;
    uint32_t carried = product->results[0].uses->index;
    for (ct_op *inner = product->block->parent;; inner = inner->block->parent) {
        inner->regions[0]->args[carried + 1].in_tensor = inner->results[carried].in_tensor = true;
        if (inner == loop)
            return;
        carried = inner->results[carried].uses->index;
    }
}

/* Keeps the product's sum in tensor memory as long as loops only carry it. False: no loop does, or there is no room. */
static bool keep(placing *x, ct_op *product, cg_sum *sum)
{
    uint32_t carried;
    if (!cg_is_sum_carried(product, &carried))
        return false;
    ct_op *loop = cg_loop_of_sum(product->block->parent, &carried);
    if (!product->in_place && !cg_tcgen05_has_room(x->c, loop))
        return false;
    uint32_t operand = ct_for_inits(loop).first + carried;
    ct_op *start = ct_op_new(x->f, CT_sum, product, 1, 1), *end = end_of(x, &loop->results[carried], loop);
    if (!start || !end) {
        cg_no_memory(x->c);
        return false;
    }
    ct_set_operand(start, 0, loop->operands[operand]);
    start->results[0].type = product->results[0].type;
    start->results[0].in_tensor = true;
    ct_insert_before(start, loop);
    ct_set_operand(loop, operand, &start->results[0]);
    product->in_place = true;
    mark(product, loop);
    sum->span = loop;
    sum->started = start;
    sum->taken = end;
    return true;
}

/* ---- places ---- */

static bool is_during(const ct_op *op, const ct_op *span)
{
    for (; op; op = op->block->parent)
        if (op == span)
            return true;
    return false;
}

/* The columns of all places of the sum. */
static uint32_t columns_of(const cg_tensor *tensor, const cg_sum *sum)
{
    return sum->columns * (tensor->in_turn ? CG_SUMS_IN_TURN : 1);
}

/* Finds columns behind those of all earlier sums that are there at the same time. */
static void place(cg_tensor *tensor, cg_sum *sum)
{
    for (const cg_sum *other = tensor->sums; other < sum; other++)
        if ((is_during(other->span, sum->span) || is_during(sum->span, other->span))
            && other->column + other->columns > sum->column)
            sum->column = other->column + other->columns;
    uint32_t end = sum->column + columns_of(tensor, sum);
    while (tensor->columns < end)
        tensor->columns *= 2;
}

/* Does another sum have some of the columns, in another order of warps? With more warps than four, two warps reach the
   same lanes, and each has a part of the columns. */
static bool has_words_of_others(const cg_func *c, const cg_sum *sum)
{
    bool shares = false;
    for (uint32_t i = 0; i < c->tensor->count && c->warp_bits > CG_WARPGROUP_BITS; i++) {
        const cg_sum *other = &c->tensor->sums[i];
        bool overlaps = sum->column < other->column + other->columns && other->column < sum->column + sum->columns;
        shares =
            shares
            || (overlaps && (sum->column != other->column || sum->row != other->row || sum->columns != other->columns));
    }
    return shares;
}

static void add_sum(placing *x, ct_op *product)
{
    cg_product p = cg_product_of(x->c, product);
    cg_sum *sum = &x->tensor->sums[x->tensor->count++];
    *sum = (cg_sum){.product = product, .span = product, .columns = cg_tcgen05_columns(&p), .row = p.n};
    keep(x, product, sum);
    x->tensor->flies = x->tensor->flies || (product->in_flight && !x->c->groups);
    place(x->tensor, sum);
}

/* ---- the pass ---- */

static void put(placing *x, ct_opcode opcode, ct_op *before)
{
    ct_op *op = ct_op_new(x->f, opcode, before, 0, 0);
    if (op)
        ct_insert_before(op, before);
    else
        cg_no_memory(x->c);
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

static void place_sums(placing *x, ct_block *program)
{
    for (ct_op *op = program->first; op && !x->c->failed; op = ct_next_op(op, program))
        if (cg_sums_in_tensor(x->c, op))
            add_sum(x, op);
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

void cg_pass_tensor(cg_func *c)
{
    placing x = {.c = c, .f = c->ir, .most = count_products(c)};
    if (!x.most)
        return;
    x.tensor = bc_new(&c->arena, cg_tensor, 1);
    if (!x.tensor || !(x.tensor->sums = bc_new(&c->arena, cg_sum, x.most))) {
        cg_no_memory(c);
        return;
    }
    x.tensor->columns = CG_TENSOR_LEAST_COLUMNS;
    const ct_op *groups = NULL;
    for (const ct_op *op = c->ir->body->first; op; op = op->next)
        if (op->opcode == CT_groups)
            groups = op;
    if (groups && groups->region_count > CG_ISSUER)
        place_in_turn(&x, groups);
    else
        place_sums(&x, groups ? groups->regions[CG_CONSUMERS] : c->ir->body);
    c->tensor = x.tensor;
    for (uint32_t i = 0; i < x.tensor->count; i++)
        x.tensor->sums[i].meets = has_words_of_others(c, &x.tensor->sums[i]);
}

void cg_dump_tensor(cg_func *c, bc_text *out)
{
    cg_dump_ops(c, out);
}

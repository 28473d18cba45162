#include "codegen/plan/block_order.h"

#include "codegen/analysis/bands.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"

bool cg_is_blind_atomic(const ct_op *op)
{
    bool reads = ct_info(op)->effects & BC_READS, writes = ct_info(op)->effects & BC_WRITES;
    return op->opcode < OP_LIMIT && reads && writes && (op->opcode == OP_atomic_red_view_tko || !op->results[0].uses);
}

bool cg_has_blind_atomics(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        if (cg_is_blind_atomic(op))
            return true;
    return false;
}

/* Is it for the parts of a sum? The blocks of a cluster that have them wait for each other, but not for those of other
   tile blocks. */
static bool is_of_parts(const ct_op *op)
{
    return op->opcode == CT_few_blocks || op->opcode == CT_part || op->opcode == CT_add_parts;
}

bool cg_blocks_are_apart(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        bool accesses = bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op) && !cg_is_blind_atomic(op);
        if (is_of_parts(op))
            continue;
        if (accesses || ct_info(op)->effects & (BC_ORDERS | BC_REPORTS))
            return false;
    }
    return true;
}

void cg_order_longest_first(cg_func *c)
{
    const ct_op *loop;
    if (c->block_order != CG_BY_NUMBER)
        return;
    if (!cg_find_growing_loop(c->ir, &c->arena, &loop))
        return;
    if (!loop || cg_loops_stay_plain(c) || !cg_blocks_are_apart(c->ir))
        return;
    c->block_order = CG_LONGEST_FIRST;
    cg_remark(c, loop, CG_REMARK_BlockOrder, TV_REMARK_PASSED,
              "longest first: blocks with higher numbers along x have more iterations and start earlier");
}

/* For each cycle of the product, a multiprocessor reads 4096 bytes / side of the operand that neighbours along x do not
   share, whatever the type. 128 bytes are six times the memory bandwidth of a multiprocessor. */
static bool is_narrow(const cg_func *c, const ct_op *product, int64_t side)
{
    cg_product p = cg_product_of(c, product);
    return side <= CG_NARROW_SIDE && cg_has_trait(&p, CG_READS_PLACED);
}

/* An H100 starts 16 consecutive blocks on each GPC, and the times of products follow how much its multiprocessors read
   together. In bands of four, they read four tiles of either side. In bands of eight, they read eight of the shorter
   side, and of the longer one two, or three where the GPC's first block is in the middle of a column: less in all if
   that side is at least four times as long. */
static bool suits_fours(int64_t side, int64_t other)
{
    return side <= 2 * other && other <= 2 * side;
}

cg_bands cg_bands_of(cg_func *c)
{
    cg_bands bands = {0};
    uint32_t along_y = 0;
    if (c->block_order == CG_BY_NUMBER && !cg_find_shared_by_rows(c->ir, &c->arena, &bands.product, &along_y))
        cg_no_memory(c);
    if (c->block_order != CG_BY_NUMBER || !cg_blocks_are_apart(c->ir))
        return (cg_bands){0};
    if (!bands.product) {
        cg_digits digits;
        return cg_find_digits(c->ir, &digits) ? (cg_bands){.digits = digits} : (cg_bands){0};
    }
    const bc_type *type = bands.product->results[0].type;
    const int64_t *sides = &type->shape[type->rank - 2];
    bands.wide = sides[along_y] > sides[1 - along_y];
    bands.narrow = is_narrow(c, bands.product, sides[along_y]);
    bands.of_four = suits_fours(sides[0], sides[1]);
    return bands;
}

void cg_order_in_bands(cg_func *c, const cg_bands *bands, bool alone)
{
    if (bands->digits.first) {
        c->block_order = CG_DIGIT_LAST;
        c->digit = bands->digits.first;
        c->rest = bands->digits.rest;
        cg_remark(c, bands->digits.number, CG_REMARK_BlockOrder, TV_REMARK_PASSED,
                  "rows before columns, or batch by batch: blocks that start together lie side by side in memory");
    }
    if (!bands->product || !(alone || bands->narrow))
        return;
    c->block_order = bands->wide ? CG_IN_WIDE_BANDS : CG_IN_BANDS;
    c->band_bits = alone && bands->of_four ? 2 : 3;
    cg_remark(c, bands->product, CG_REMARK_BlockOrder, TV_REMARK_PASSED,
              "in bands: blocks that start together form a square instead of a line, and share more of both operands");
}

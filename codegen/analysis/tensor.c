/* Products by tcgen05 in a kernel; see the header. */
#include "codegen/analysis/tensor.h"

#include "codegen/analysis/tcgen05_scales.h"

enum { LEFT_SCALES = 3 }; /* the operand with the scales of A, before that with those of B */

bool cg_tcgen05_reads(const cg_func *c, const ct_op *op, uint32_t index, const cg_encoding *encoding)
{
    cg_product p = cg_product_of(c, op);
    bool left = index == 0;
    if (p.instruction == CG_BY_TCGEN05 && index >= LEFT_SCALES)
        return cg_scales_are_copied(&p, index == LEFT_SCALES, op->operands[index], encoding);
    return p.instruction == CG_BY_TCGEN05
           && (cg_async_reads(&p, left, false, encoding)
               || (cg_tcgen05_reads_across(&p, left) && cg_async_reads(&p, left, true, encoding)));
}

uint32_t cg_tcgen05_reads_beyond(const cg_func *c, const ct_op *op, uint32_t index, const cg_encoding *encoding)
{
    cg_product p = cg_product_of(c, op);
    bool spread = p.instruction == CG_BY_TCGEN05 && (index == 0 || index == LEFT_SCALES);
    return spread ? cg_tcgen05_beyond(&p, cg_encoding_row_bytes(encoding) << CG_GROUP_ROW_BITS) : 0;
}

const char *cg_pair_obstacle(const cg_func *c, const ct_op *op)
{
    enum { LEAST_ROWS = 7, LEAST_SCALED_ROWS = 8, LEAST_COLUMNS = 5 }; /* log2 */
    cg_product p = cg_product_of(c, op);
    if (!cg_has_atom(&p) || !(p.scaled ? cg_tcgen05_scaling(c, &p) != NULL : cg_tcgen05_has_kind(c, &p)))
        return "its elements or sums are not those of the instruction";
    if (p.m < (p.scaled ? LEAST_SCALED_ROWS : LEAST_ROWS))
        return p.scaled ? "it has fewer than 256 rows, with scales" : "it has fewer than 128 rows";
    return p.n < LEAST_COLUMNS           ? "it has fewer than 32 columns"
           : p.n > CG_TENSOR_COLUMN_BITS ? "it has more than 256 columns"
                                         : NULL;
}

bool cg_tcgen05_has_room(const cg_func *c, const ct_op *loop)
{
    uint32_t all = 0;
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op && all <= CG_TENSOR_COLUMNS; op = ct_next_op(op, body)) {
        cg_product p = cg_is_product(op) ? cg_product_of(c, op) : (cg_product){0};
        all += p.instruction == CG_BY_TCGEN05 ? cg_tcgen05_columns(&p) : 0;
    }
    return all <= CG_TENSOR_COLUMNS;
}

static uint32_t factor_bytes(const cg_func *c)
{
    return c->tensor->corrects ? cg_threads(c) * CG_TENSOR_TURNS_OF_FACTORS * CG_TENSOR_FACTOR_BYTES : 0;
}

uint32_t cg_tensor_bytes(const cg_func *c)
{
    const cg_tensor *tensor = c->tensor;
    uint32_t more = !tensor           ? CG_TENSOR_TILES * CG_TENSOR_TILE_BYTES
                    : tensor->tiles   ? tensor->tiles * CG_TENSOR_TILE_BYTES + factor_bytes(c)
                    : tensor->in_turn ? CG_TENSOR_TURN_BYTES
                    : tensor->flies   ? CG_TENSOR_FLIGHT_BYTES
                                      : 0;
    return cg_tensor_first_bytes(c) + more;
}

cg_sum *cg_sum_of(const cg_func *c, const ct_op *op)
{
    for (uint32_t i = 0; c->tensor && i < c->tensor->count; i++) {
        cg_sum *s = &c->tensor->sums[i];
        const ct_op *ops[] = {s->product, s->started, s->taken, s->loaded,
                              s->scaled,  s->handed,  s->given, s->corrected};
        for (uint32_t k = 0; k < TV_COUNT(ops); k++)
            if (ops[k] == op)
                return s;
    }
    return NULL;
}

bool cg_left_in_tensor(const cg_func *c, const ct_op *product)
{
    const cg_sum *sum = cg_sum_of(c, product);
    return sum && sum->left_columns;
}

/* Finds on which of a block's indices a value depends: through all operands of the ops that compute it; for a carried
   value, through its initial value. The result only affects the order of blocks, never the values that a kernel
   computes. */
#include "codegen/analysis/bands.h"

#include "codegen/analysis/product.h"

enum { X = 1, Y = 2, Z = 4 };

static uint8_t of_operands(const ct_op *op, const uint8_t *numbers)
{
    uint8_t all = 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        all |= numbers[op->operands[i]->id];
    return all;
}

static void put_regions(const ct_op *op, uint8_t of_op, uint8_t *numbers)
{
    for (uint32_t r = 0; r < op->region_count; r++)
        for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->arg_count; i++)
            numbers[op->regions[r]->args[i].id] = of_op;
}

/* For each value, by id, the indices on which it depends. NULL: out of memory. */
static uint8_t *indices_of(const ct_func *f, bc_arena *scratch)
{
    static const uint8_t of_block[] = {X, Y, Z};
    uint8_t *numbers = bc_new(scratch, uint8_t, f->value_count + 1u);
    for (const ct_op *op = f->body->first; numbers && op; op = ct_next_op(op, f->body)) {
        uint8_t all = of_operands(op, numbers);
        put_regions(op, all, numbers);
        for (uint32_t i = 0; i < op->result_count; i++)
            numbers[op->results[i].id] = op->opcode == OP_get_tile_block_id && i < TV_COUNT(of_block) ? of_block[i]
                                                                                                      : all;
    }
    return numbers;
}

static bool is_shared_by_rows(const ct_op *op, const uint8_t *numbers)
{
    if (!cg_is_product(op))
        return false;
    uint8_t left = numbers[op->operands[0]->id] & (X | Y), right = numbers[op->operands[1]->id] & (X | Y);
    return (left ^ right) == (X | Y) && left && right;
}

bool cg_find_shared_by_rows(const ct_func *f, bc_arena *scratch, const ct_op **out_product, uint32_t *out_along_y)
{
    const uint8_t *numbers = indices_of(f, scratch);
    *out_product = NULL;
    for (const ct_op *op = f->body->first; numbers && op && !*out_product; op = ct_next_op(op, f->body))
        if (is_shared_by_rows(op, numbers)) {
            *out_product = op;
            *out_along_y = numbers[op->operands[1]->id] & Y ? 1 : 0;
        }
    return numbers;
}

bool cg_find_shared_tiles(const ct_func *f, bc_arena *scratch, const ct_block *body, bool *out_shared)
{
    const uint8_t *numbers = indices_of(f, scratch);
    uint8_t used = 0, of_tiles = 0;
    for (const ct_op *op = f->body->first; numbers && op; op = ct_next_op(op, f->body)) {
        for (uint32_t i = 0; op->opcode == OP_get_tile_block_id && i < op->result_count; i++)
            used |= op->results[i].uses ? numbers[op->results[i].id] : 0;
        if (ct_is_load(op) && op->block == body)
            of_tiles |= numbers[op->results[0].id];
    }
    *out_shared = used & ~of_tiles;
    return numbers;
}

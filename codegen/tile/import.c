/* Copies a verified function to the tile IR: all ops, values and blocks, with the same numbers. */
#include "codegen/tile/ir.h"

typedef struct importer {
    ct_func *f;
    ct_value **values; /* by id in the function */
    uint32_t number;
} importer;

static void import_values(importer *im, ct_value *to, const bc_value *from, uint32_t count, ct_op *op, ct_block *block)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = (ct_value){.type = from[i].type, .op = op, .block = block, .id = from[i].id, .number = (uint16_t)i};
        im->values[from[i].id] = &to[i];
    }
}

static ct_block *import_block(importer *im, const bc_block *from, ct_op *parent);

static ct_op *import_op(importer *im, const bc_op *from, ct_block *block)
{
    bc_arena *arena = im->f->arena;
    ct_op *op = bc_new(arena, ct_op, 1);
    if (!op)
        return NULL;
    *op = (ct_op){.block = block,
                  .from = from,
                  .number = im->number++,
                  .opcode = from->opcode,
                  .region_count = from->region_count,
                  .operand_count = from->operand_count,
                  .result_count = from->result_count,
                  .operands = bc_new(arena, ct_value *, from->operand_count + 1u),
                  .results = bc_new(arena, ct_value, from->result_count + 1u),
                  .uses = bc_new(arena, ct_use, from->operand_count + 1u),
                  .regions = bc_new(arena, ct_block *, from->region_count + 1u)};
    if (!op->operands || !op->results || !op->uses || !op->regions)
        return NULL;
    for (uint32_t i = 0; i < from->operand_count; i++)
        ct_set_operand(op, i, im->values[bc_operands(from)[i]->id]);
    import_values(im, op->results, bc_results(from), from->result_count, op, block);
    for (uint32_t i = 0; i < from->region_count; i++)
        if (bc_regions(from)[i] && !(op->regions[i] = import_block(im, bc_regions(from)[i], op)))
            return NULL;
    return op;
}

static ct_block *import_block(importer *im, const bc_block *from, ct_op *parent)
{
    ct_block *block = bc_new(im->f->arena, ct_block, 1);
    if (!block || !(block->args = bc_new(im->f->arena, ct_value, from->arg_count + 1u)))
        return NULL;
    block->from = from;
    block->parent = parent;
    block->arg_count = from->arg_count;
    import_values(im, block->args, from->args, from->arg_count, NULL, block);
    for (const bc_op *op = from->first; op; op = op->next) {
        ct_op *made = import_op(im, op, block);
        if (!made)
            return NULL;
        made->prev = block->last;
        *(block->last ? &block->last->next : &block->first) = made;
        block->last = made;
    }
    return block;
}

ct_func *ct_import(const bc_function *from, bc_arena *arena)
{
    ct_func *f = bc_new(arena, ct_func, 1);
    importer im = {.f = f, .values = bc_new(arena, ct_value *, from->value_count + 1u)};
    if (!f || !im.values)
        return NULL;
    *f = (ct_func){.from = from, .arena = arena, .value_count = from->value_count};
    f->body = import_block(&im, from->body, NULL);
    return f->body ? f : NULL;
}

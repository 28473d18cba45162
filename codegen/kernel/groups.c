/* The programs of groups of warps. */
#include "codegen/kernel/groups.h"

bool cg_is_of_group(const ct_op *op, cg_group group)
{
    const ct_block *block = op->block;
    while (block->parent && block->parent->opcode != CT_groups)
        block = block->parent->block;
    return block->parent && block->parent->region_count > group && block->parent->regions[group] == block;
}

bool cg_is_in_each_group(const ct_op *op)
{
    const bc_op_classes alone = BC_OPS(SAME) | BC_OPS(RESHAPE) | BC_OPS(VIEW) | BC_OPS(QUERY) | BC_OPS(LOOP)
                                | BC_OPS(BRANCH) | BC_OPS(EXIT);
    return ct_is_map(op) || bc_op_in(op->opcode, alone) || op->opcode == OP_broadcast
           || op->opcode == OP_gdc_launch_dependents_tko || op->opcode == CT_rank || op->opcode == CT_few_blocks
           || op->opcode == CT_part || op->opcode == CT_share || op->opcode == CT_tile_block
           || (bc_op_in(op->opcode, BC_OPS(TOKEN)) && !ct_info(op)->effects);
}

bool cg_ends_once(const ct_block *program)
{
    for (const ct_op *op = program->first; op; op = ct_next_op(op, program))
        if (op->opcode == OP_return && op != program->last)
            return false;
    return true;
}

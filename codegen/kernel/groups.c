/* The programs of groups of warps. */
#include "codegen/kernel/groups.h"

bool cg_is_issued(const ct_op *op)
{
    const ct_block *block = op->block;
    while (block->parent && block->parent->opcode != CT_groups)
        block = block->parent->block;
    return block->parent && block->parent->region_count > CG_ISSUER && block->parent->regions[CG_ISSUER] == block;
}

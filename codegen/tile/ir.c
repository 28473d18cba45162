/* Looking at the tile IR, and changing it; see the header. */
#include "codegen/tile/ir.h"

ct_op *ct_next_op(const ct_op *op, const ct_block *root)
{
    for (unsigned i = 0; i < op->region_count; i++)
        if (op->regions[i] && op->regions[i]->first)
            return op->regions[i]->first;
    for (;;) {
        if (op->next)
            return op->next;
        const ct_block *block = op->block;
        if (block == root || !block->parent)
            return NULL;
        const ct_op *parent = block->parent;
        unsigned i = 0; /* the regions after the one that ended */
        while (i < parent->region_count && parent->regions[i] != block)
            i++;
        for (i++; i < parent->region_count; i++)
            if (parent->regions[i] && parent->regions[i]->first)
                return parent->regions[i]->first;
        op = parent;
    }
}

const char *ct_op_name(const ct_op *op)
{
    return bc_ops[op->opcode].name;
}

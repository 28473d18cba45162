/* Tensors that are not the same for all tile blocks. */
#include "codegen/analysis/order.h"
#include "codegen/groups/maps.h"

bool cg_tensors_differ(cg_func *c)
{
    const ct_func *f = c->ir;
    bool *differs = bc_new(&c->arena, bool, f->value_count + 1u); /* values by id */
    for (const ct_op *op = f->body->first; op && differs; op = ct_next_op(op, f->body)) {
        bool any = op->opcode == OP_get_tile_block_id || op->region_count;
        for (uint32_t i = 0; i < op->operand_count; i++)
            any = any || differs[op->operands[i]->id];
        for (uint32_t i = 0; any && i < op->result_count; i++)
            differs[op->results[i].id] = true;
        for (uint32_t r = 0; r < op->region_count; r++)
            for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->arg_count; i++)
                differs[op->regions[r]->args[i].id] = true;
        const ct_op *maker = op->opcode == OP_load_view_tko && ct_loop_around(op) ? cg_tensor_maker_of(op) : NULL;
        if (maker && maker->block == f->body && differs[maker->results[0].id])
            return true;
    }
    return !differs;
}

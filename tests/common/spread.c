#include "tests/common/spread.h"

#include "bytecode/base/text.h"
#include "bytecode/module.h"

static const bc_tagged *make_hints(bc_module *m, unsigned blocks)
{
    bc_tagged *hints = bc_new(&m->arena, bc_tagged, 1);
    bc_entry *target = bc_new(&m->arena, bc_entry, 1), *hint = bc_new(&m->arena, bc_entry, 1);
    if (!hints || !target || !hint)
        return NULL;
    *hint = (bc_entry){.key = bc_string_add(m, bc_str("num_cta_in_cga"), true)};
    hint->value = (bc_tagged){.tag = BC_TAG_INTEGER, .type = bc_type_scalar(m, BC_I32), .u = {.bits = blocks}};
    *target = (bc_entry){.key = bc_string_add(m, bc_str("default"), true)};
    target->value = (bc_tagged){.tag = BC_TAG_DICTIONARY, .u = {.dict = {hint, 1}}};
    *hints = (bc_tagged){.tag = BC_TAG_HINTS, .u = {.dict = {target, 1}}};
    return hint->key && target->key && hint->value.type ? hints : NULL;
}

static void put_first(bc_block *block, bc_op *op)
{
    op->block = block;
    op->next = block->first;
    block->first = op;
    block->op_count++;
}

/* The ops that ask, and use what they are told so that it is not left out: if there are as many along x as along y,
   nothing. */
static bool ask(bc_module *m, bc_function *f)
{
    const bc_type *number = bc_type_tile(m, bc_type_scalar(m, BC_I32), NULL, 0),
                  *truth = bc_type_tile(m, bc_type_scalar(m, BC_I1), NULL, 0);
    bc_op *query = bc_op_new(m, OP_get_num_tile_blocks, 3, 0), *compare = bc_op_new(m, OP_cmpi, 1, 2),
          *branch = bc_op_new(m, OP_if, 0, 1), *yield = bc_op_new(m, OP_yield, 0, 0);
    bc_block *nothing = branch ? bc_block_new(m, branch, 0) : NULL;
    if (!number || !truth || !query || !compare || !yield || !nothing)
        return false;
    bc_op_defaults(compare);
    for (unsigned i = 0; i < 3; i++)
        bc_results(query)[i].type = number;
    bc_results(compare)[0].type = truth;
    bc_operands(compare)[0] = &bc_results(query)[0];
    bc_operands(compare)[1] = &bc_results(query)[1];
    bc_operands(branch)[0] = &bc_results(compare)[0];
    bc_regions(branch)[0] = nothing;
    bc_block_append(nothing, yield);
    put_first(f->body, branch);
    put_first(f->body, compare);
    put_first(f->body, query);
    bc_function_number(f);
    return true;
}

bool spread_kernels(tv_module *m, unsigned blocks)
{
    const bc_tagged *hints = make_hints(m, blocks);
    for (size_t i = 0; i < m->function_count && hints; i++)
        if (m->functions[i].flags & BC_FUNC_KERNEL) {
            m->functions[i].hints = hints;
            m->functions[i].flags |= BC_FUNC_HINTS;
            if (!ask(m, &m->functions[i]))
                return false;
        }
    return hints;
}

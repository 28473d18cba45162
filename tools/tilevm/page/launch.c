/* What the arguments of a run say about the launch: the grid, and integers. */
#include <string.h>

#include "bytecode/module.h"
#include "tools/tilevm/page/page.h"

/* False: it is no integer. Parameters of one bit have a byte. */
static bool read_integer(const bc_type *type, const void *at, int64_t *out)
{
    int8_t i8;
    int16_t i16;
    int32_t i32;
    switch (bc_is_tile(type) ? bc_elem_kind(type) : BC_PTR) {
    case BC_I1:
    case BC_I8: memcpy(&i8, at, sizeof i8); return *out = i8, true;
    case BC_I16: memcpy(&i16, at, sizeof i16); return *out = i16, true;
    case BC_I32: memcpy(&i32, at, sizeof i32); return *out = i32, true;
    case BC_I64: memcpy(out, at, sizeof *out); return true;
    default: return false;
    }
}

const cg_launch *page_launch(run_job *job)
{
    const bc_block *body = bc_entry_at(job->module, job->entry)->body;
    size_t count;
    const void *const *params = tv_call_params(job->call, &count);
    cg_launch *launch = bc_new(&job->arena, cg_launch, 1);
    int64_t *values = bc_new(&job->arena, int64_t, count + 1);
    if (!launch || !values)
        return NULL;
    for (size_t i = 0; i < count && i < body->arg_count; i++)
        if (!read_integer(body->args[i].type, params[i], &values[i]))
            values[i] = 0;
    *launch = (cg_launch){.params = values, .param_count = count};
    for (unsigned d = 0; d < 3; d++)
        launch->grid[d] = job->options.grid[d];
    return launch;
}

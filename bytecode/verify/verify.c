/* The verifier's entry points. This is the trust line: after TV_OK no later stage looks at types, counts or attributes
   again. Trusts of the module only what module.h promises. Time is linear in the module's size. */
#include "bytecode/verify/verify.h"

static bool allocate(bc_verifier *v)
{
    uint32_t values = 0;
    for (size_t i = 0; i < v->m->function_count; i++)
        if (v->m->functions[i].value_count > values)
            values = v->m->functions[i].value_count;
    v->suspect_size = (size_t)values / 8 + 1;
    v->type_state_size = v->m->type_count + 1;
    v->type_state = v->allocator.alloc(v->allocator.user, v->type_state_size);
    if (!v->type_state)
        return false;
    memset(v->type_state, BC_TYPE_UNKNOWN, v->type_state_size);
    return true;
}

static void release(bc_verifier *v)
{
    bc_release_symbols(v);
    bc_release_scopes(v);
    if (v->suspect)
        v->allocator.release(v->allocator.user, v->suspect, v->suspect_size);
    if (v->type_state)
        v->allocator.release(v->allocator.user, v->type_state, v->type_state_size);
    for (unsigned i = 0; i < BC_WORDS; i++)
        bc_text_release(&v->words[i]);
}

static tv_status verify_module(tv_module *m, const tv_verify_options *options, tv_sink sink)
{
    static const tv_verify_options defaults = {0};
    if (!options)
        options = &defaults;
    bc_verifier v = {
        .m = m,
        .sink = sink,
        .allocator = m->arena.allocator,
        .strict = options->strict,
        .reference = options->reference,
        .target = options->target,
        .max = options->max_errors ? options->max_errors : 20,
    };
    for (unsigned i = 0; i < BC_WORDS; i++)
        bc_text_init(&v.words[i], &v.allocator);
    if (allocate(&v))
        bc_check_module(&v);
    else
        v.no_memory = true;
    release(&v);
    if (v.no_memory)
        return TV_NO_MEMORY;
    if (v.errors)
        return TV_INVALID;
    m->verified = true;
    return TV_OK;
}

tv_status tv_module_verify(tv_module *m, const tv_verify_options *options, tv_sink sink)
{
    TV_RETURN_COMPUTED(verify_module(m, options, sink));
}

bool bc_op_is_valid(bc_module *m, const bc_op *op)
{
    bc_verifier v = {.m = m, .allocator = m->arena.allocator, .max = 1};
    for (unsigned i = 0; i < BC_WORDS; i++)
        bc_text_init(&v.words[i], &v.allocator);
    if (allocate(&v) && bc_add_symbols(&v))
        bc_check_op(&v, op);
    else
        v.no_memory = true;
    release(&v);
    m->arena.failed |= v.no_memory;
    return !v.errors && !v.no_memory;
}

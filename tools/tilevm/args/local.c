/* Values that a kernel keeps in storage from alloca, as compilers emit them for captures by reference and without
   optimization: a location that is written once holds the value that was written. */
#include "tools/tilevm/args/study.h"

static bool is_place(const arg_study *study, const arg_range *p)
{
    return p->root > study->count && p->known && p->low == p->high && !p->term_count;
}

static arg_local *find(const arg_study *study, const arg_range *p)
{
    for (size_t i = 0; i < study->local_count; i++)
        if (study->locals[i].root == p->root && study->locals[i].offset == p->low)
            return &study->locals[i];
    return NULL;
}

void arg_local_store(arg_study *study, const arg_range *p, const bc_op *store, const bc_value *value)
{
    arg_local *local = is_place(study, p) ? find(study, p) : NULL;
    if (local && local->store != store)
        local->value = NULL;
    else if (!local && is_place(study, p) && study->local_count < ARG_LOCALS)
        study->locals[study->local_count++] = (arg_local){p->root, p->low, store, value};
}

const bc_value *arg_local_load(const arg_study *study, const arg_range *p, const bc_type *type)
{
    const arg_local *local = is_place(study, p) ? find(study, p) : NULL;
    return local && local->value && local->value->type == type ? local->value : NULL;
}

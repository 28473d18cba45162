/* See the header. */
#include "codegen/promises.h"

/* Does the parameter exist, and is it of that kind? */
static bool is_of_kind(const bc_function *f, size_t slot, bool pointer)
{
    if (slot >= f->body->arg_count || !bc_is_tile(f->body->args[slot].type))
        return false;
    bc_kind kind = bc_elem_kind(f->body->args[slot].type);
    return pointer ? kind == BC_PTR : bc_kind_in(kind, BC_SET_INT);
}

static bool fits(const bc_function *f, const tv_param *leaf)
{
    if (leaf->kind != TV_PARAM_ARRAY)
        return leaf->first_slot + leaf->slot_count <= f->body->arg_count;
    bool fits = is_of_kind(f, leaf->first_slot, true) && leaf->slot_count == 1 + 2 * (size_t)leaf->ndim;
    for (size_t i = 1; fits && i < leaf->slot_count; i++)
        fits = is_of_kind(f, leaf->first_slot + i, false);
    return fits;
}

static bool take_array(const tv_param *leaf, bc_arena *arena, cg_array *out)
{
    int64_t *sizes = bc_new(arena, int64_t, 2 * (size_t)leaf->ndim + 1);
    if (!sizes)
        return false;
    for (uint32_t d = 0; d < leaf->ndim; d++) {
        const tv_axis *axis = &leaf->axes[d];
        sizes[d] = axis->has_extent ? axis->extent : BC_DYNAMIC;
        sizes[leaf->ndim + d] = axis->has_stride ? axis->stride : BC_DYNAMIC;
    }
    *out = (cg_array){leaf->ndim, !leaf->overlaps, sizes, sizes + leaf->ndim};
    return true;
}

static bool take(const bc_function *f, const tv_signature *signature, bc_arena *arena, cg_promises *out)
{
    size_t slots = 0;
    cg_promises found = {.apart = true};
    cg_array *arrays = bc_new(arena, cg_array, f->body->arg_count + 1u);
    if (!arrays)
        return false;
    found.arrays = arrays;
    for (size_t i = 0; i < tv_signature_leaf_count(signature); i++) {
        const tv_param *leaf = tv_signature_leaf(signature, i);
        slots += leaf->slot_count;
        if (!fits(f, leaf))
            return true;
        if (leaf->group_count || leaf->kind == TV_PARAM_LIST || leaf->kind == TV_PARAM_POINTER)
            found.apart = false;
        if (leaf->kind == TV_PARAM_ARRAY && !take_array(leaf, arena, &arrays[leaf->first_slot]))
            return false;
    }
    if (slots == f->body->arg_count)
        *out = found;
    return true;
}

bool cg_find_promises(const bc_module *m, const bc_function *f, bc_arena *arena, cg_promises *out)
{
    tv_signature *signature;
    *out = (cg_promises){0};
    tv_status status = tv_signature_open(f->name->s, &m->arena.allocator, (tv_sink){0}, &signature);
    if (status != TV_OK)
        return status != TV_NO_MEMORY;
    bool done = take(f, signature, arena, out);
    tv_signature_close(signature);
    return done;
}

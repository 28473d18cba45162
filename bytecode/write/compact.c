/* Rebuilds the tables of a module so that they hold just what is used, in order of first use as a cuTile Python export
   makes them: types i1 and i32 always come first; then, function by function: parameter types, the function's debug
   attributes, its name, signature and hints, and for each op in pre-order its debug attributes, result types and
   attributes. Used after assembling, stripping, converting and reducing. */
#include <string.h>

#include "bytecode/module.h"

typedef struct bc_compactor {
    bc_module *m;
    uint32_t *di_map; /* old reference to new; 0 until seen */
    bc_di *debug;     /* the new table */
    size_t debug_count;
    bc_type **types;
    bc_string **strings;
    bc_blob **constants;
    size_t type_count, string_count, constant_count;
    uint8_t *type_seen, *string_seen, *constant_seen; /* by old index */
} bc_compactor;

/* Entries are owned by the module's tables, which are not const; users hold const pointers to them. */
static void use_string(bc_compactor *k, const bc_string *s)
{
    if (!s || k->string_seen[s->index])
        return;
    k->string_seen[s->index] = 1;
    k->strings[k->string_count++] = k->m->strings[s->index];
}

static void use_blob(bc_compactor *k, const bc_blob *b)
{
    if (!b || k->constant_seen[b->index])
        return;
    k->constant_seen[b->index] = 1;
    k->constants[k->constant_count++] = k->m->constants[b->index];
}

static void use_type(bc_compactor *k, const bc_type *t)
{
    if (!t || k->type_seen[t->index])
        return;
    k->type_seen[t->index] = 1;
    use_type(k, t->elem);
    if (t->kind == BC_FUNCTION)
        for (uint32_t i = 0; i < t->rank + t->result_count; i++)
            use_type(k, t->members[i]);
    k->types[k->type_count++] = k->m->types[t->index];
}

/* A debug attribute, those it refers to first; gives its new reference. The reader has ruled out cycles. */
static uint32_t use_debug(bc_compactor *k, uint32_t ref)
{
    if (!ref || k->di_map[ref])
        return ref ? k->di_map[ref] : 0;
    bc_di d = k->m->debug[ref - 1];
    d.a = use_debug(k, d.a);
    d.b = use_debug(k, d.b);
    use_string(k, d.name);
    use_string(k, d.other);
    k->debug[k->debug_count++] = d;
    return k->di_map[ref] = (uint32_t)k->debug_count;
}

static void use_tagged(bc_compactor *k, const bc_tagged *a)
{
    if (!a)
        return;
    use_type(k, a->type);
    switch ((bc_tag)a->tag) {
    case BC_TAG_STRING: use_string(k, a->u.string); break;
    case BC_TAG_ARRAY:
        for (uint32_t i = 0; i < a->u.array.count; i++)
            use_tagged(k, &a->u.array.items[i]);
        break;
    case BC_TAG_DICTIONARY:
    case BC_TAG_HINTS:
        for (uint32_t i = 0; i < a->u.dict.count; i++) {
            use_string(k, a->u.dict.entries[i].key);
            use_tagged(k, &a->u.dict.entries[i].value);
        }
        break;
    case BC_TAG_INTEGER:
    case BC_TAG_FLOAT:
    case BC_TAG_BOOL:
    case BC_TAG_TYPE:
    case BC_TAG_DENSE:
    case BC_TAG_DIV_BY:
    case BC_TAG_SAME_ELEMENTS:
    case BC_TAG_BOUNDED: break;
    }
}

static void use_op(bc_compactor *k, bc_op *op)
{
    op->loc = use_debug(k, op->loc);
    for (uint32_t i = 0; i < op->result_count; i++)
        use_type(k, bc_results(op)[i].type);
    const bc_op_info *info = bc_info(op);
    const bc_row *rows = bc_attr_rows(info);
    for (unsigned i = 0; i < info->attr_rows; i++) {
        const bc_attr *a = &bc_attrs(op)[i];
        if (rows[i].encoding == BC_ENC_STRING)
            use_string(k, a->string);
        else if (rows[i].encoding == BC_ENC_CONST)
            use_blob(k, a->blob);
        else if (rows[i].encoding == BC_ENC_TAGGED || rows[i].encoding == BC_ENC_HINTS
                 || rows[i].encoding == BC_ENC_ATTRS)
            use_tagged(k, a->tagged);
    }
    for (unsigned i = 0; i < op->region_count; i++) {
        const bc_block *block = bc_regions(op)[i];
        for (uint32_t j = 0; block && j < block->arg_count; j++)
            use_type(k, block->args[j].type);
    }
}

static void use_function(bc_compactor *k, bc_function *f)
{
    for (uint32_t i = 0; i < f->type->rank; i++)
        use_type(k, f->type->members[i]);
    f->loc = use_debug(k, f->loc);
    use_string(k, f->name);
    use_type(k, f->type);
    use_tagged(k, f->hints);
    use_tagged(k, f->arg_attrs);
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        use_op(k, op);
}

static void use_module(bc_compactor *k)
{
    bc_module *m = k->m;
    use_type(k, bc_type_scalar(m, BC_I1));
    use_type(k, bc_type_scalar(m, BC_I32));
    for (size_t i = 0; i < m->function_count; i++)
        use_function(k, &m->functions[i]);
    for (size_t i = 0; i < m->global_count; i++) {
        use_string(k, m->globals[i].name);
        use_type(k, m->globals[i].type);
        use_blob(k, m->globals[i].value);
    }
    use_string(k, m->producer);
}

tv_status bc_module_compact(bc_module *m)
{
    /* these two may be new: add them before the tables are sized */
    if (!bc_type_scalar(m, BC_I1) || !bc_type_scalar(m, BC_I32))
        return TV_NO_MEMORY;
    bc_arena *arena = &m->arena;
    bc_compactor k = {
        .m = m,
        .di_map = bc_new(arena, uint32_t, m->debug_count + 1),
        .debug = bc_new(arena, bc_di, m->debug_count),
        .types = bc_new(arena, bc_type *, m->type_count),
        .strings = bc_new(arena, bc_string *, m->string_count),
        .constants = bc_new(arena, bc_blob *, m->constant_count),
        .type_seen = bc_new(arena, uint8_t, m->type_count),
        .string_seen = bc_new(arena, uint8_t, m->string_count),
        .constant_seen = bc_new(arena, uint8_t, m->constant_count),
    };
    if (arena->failed)
        return TV_NO_MEMORY;
    use_module(&k);
    for (size_t i = 0; i < k.type_count; i++)
        k.types[i]->index = (uint32_t)i;
    for (size_t i = 0; i < k.string_count; i++)
        k.strings[i]->index = (uint32_t)i;
    for (size_t i = 0; i < k.constant_count; i++)
        k.constants[i]->index = (uint32_t)i;
    m->debug = k.debug;
    m->debug_count = m->debug_capacity = k.debug_count;
    m->types = k.types;
    m->type_count = m->type_capacity = k.type_count;
    m->strings = k.strings;
    m->string_count = m->string_capacity = k.string_count;
    m->constants = k.constants;
    m->constant_count = m->constant_capacity = k.constant_count;
    /* indices changed: the hashes are rebuilt at the next addition */
    m->type_hash = m->string_hash = m->constant_hash = m->debug_hash = NULL;
    m->type_hash_size = m->string_hash_size = m->constant_hash_size = m->debug_hash_size = 0;
    return TV_OK;
}

void bc_module_drop_debug(bc_module *m)
{
    for (size_t i = 0; i < m->function_count; i++) {
        bc_function *f = &m->functions[i];
        f->loc = 0;
        f->has_debug = false;
        for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
            op->loc = 0;
    }
    m->debug_count = 0;
    m->has_debug_section = false; /* allowed when no function refers to it */
}

tv_status bc_module_strip(bc_module *m)
{
    bc_module_drop_debug(m);
    return bc_module_compact(m);
}

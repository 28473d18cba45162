/* Debug scopes: what kernel does a source location belong to? The reader made sure that references name attributes of
   the right kind and form no cycle. Source: format reference, end of section 9. */
#include "bytecode/verify/verify.h"

/* The subprogram of each debug attribute, found once: reference + 1, 0 not looked for yet, NOWHERE + 1 none. */
enum { NOWHERE = 0 };

static bool new_scopes(bc_verifier *v)
{
    v->scope_count = v->m->debug_count;
    v->scopes = v->allocator.alloc(v->allocator.user, v->scope_count * sizeof *v->scopes);
    if (v->scopes)
        memset(v->scopes, 0, v->scope_count * sizeof *v->scopes);
    return v->scopes != NULL;
}

void bc_release_scopes(bc_verifier *v)
{
    if (v->scopes)
        v->allocator.release(v->allocator.user, v->scopes, v->scope_count * sizeof *v->scopes);
}

/* One step outward from a location or scope; 0 at the end. For a call site the caller counts. */
static uint32_t outward(const bc_di *d)
{
    switch ((bc_di_tag)d->tag) {
    case BC_DI_LOC:
    case BC_DI_LEXICAL_BLOCK: return d->a;
    case BC_DI_CALL_SITE: return d->b;
    default: return 0;
    }
}

/* Reference of the subprogram that a location lies in, or NOWHERE. */
static uint32_t find_subprogram(bc_verifier *v, uint32_t ref)
{
    if (!v->scopes && !new_scopes(v)) {
        v->no_memory = v->done = true;
        return NOWHERE;
    }
    const bc_di *debug = v->m->debug;
    uint32_t at = ref;
    while (at && !v->scopes[at - 1] && debug[at - 1].tag != BC_DI_SUBPROGRAM)
        at = outward(&debug[at - 1]);
    uint32_t found = !at ? NOWHERE : debug[at - 1].tag == BC_DI_SUBPROGRAM ? at : v->scopes[at - 1] - 1;
    for (at = ref; at && !v->scopes[at - 1]; at = outward(&debug[at - 1]))
        v->scopes[at - 1] = found + 1;
    return found;
}

static bool same_string(const bc_string *a, const bc_string *b)
{
    return a == b || (a && b && bc_str_eq(a->s, b->s));
}

/* Files may hold the same subprogram more than once. What it refers to (file, unit) is compared by name only. */
static bool same_subprogram(const bc_module *m, uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    const bc_di *x = &m->debug[a - 1], *y = &m->debug[b - 1];
    return x->line == y->line && x->column == y->column && same_string(x->name, y->name)
           && same_string(x->other, y->other);
}

static void check_own_location(bc_verifier *v, const bc_function *f)
{
    const bc_di *loc = &v->m->debug[f->loc - 1];
    if (loc->tag == BC_DI_CALL_SITE) {
        bc_wrong_function(v, BC_RULE_V_DBG_01, TV_ERROR, "has a call site as its own location");
        return;
    }
    if (loc->tag != BC_DI_LOC || loc->a == 0)
        return;
    const bc_di *scope = &v->m->debug[loc->a - 1];
    if (scope->tag != BC_DI_SUBPROGRAM)
        bc_wrong_function(v, BC_RULE_V_DBG_02, TV_ERROR, "has a location in a lexical block, not in a subprogram");
    else if (!scope->other || !bc_str_eq(scope->other->s, f->name->s))
        bc_wrong_function(v, BC_RULE_V_DBG_03, TV_ERROR, "has a location in the subprogram of '%.*s'",
                          scope->other ? (int)scope->other->s.len : 0, scope->other ? scope->other->s.ptr : "");
}

void bc_check_debug_function(bc_verifier *v, const bc_function *f)
{
    unsigned errors = v->errors;
    v->subprogram = NOWHERE;
    v->skip_scopes = false;
    if (f->loc) {
        check_own_location(v, f);
        v->subprogram = find_subprogram(v, f->loc);
    }
    v->skip_scopes = v->errors != errors; /* its ops would only repeat it */
}

void bc_check_debug_scope(bc_verifier *v, const bc_op *op)
{
    if (v->skip_scopes)
        return;
    uint32_t subprogram = find_subprogram(v, op->loc);
    if (subprogram == NOWHERE || subprogram == v->subprogram)
        return;
    if (v->subprogram == NOWHERE)
        bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_DBG_04, "has a location with a scope, but its kernel has none");
    else if (!same_subprogram(v->m, subprogram, v->subprogram))
        bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_DBG_05, "is in the debug scope of another function");
    else
        return;
    v->skip_scopes = true; /* one report for a kernel: the other ops have the same problem as a rule */
}

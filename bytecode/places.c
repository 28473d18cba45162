/* Source places: what a debug reference leads to, with the calls that it was inlined through. */
#include "bytecode/base/text.h"
#include "bytecode/module.h"

/* The function around a location: lexical blocks lead to it. */
static tv_str function_around(const bc_module *m, uint32_t scope)
{
    for (unsigned steps = 0; scope && scope <= m->debug_count && steps < 64; steps++) {
        const bc_di *d = &m->debug[scope - 1];
        if (d->tag == BC_DI_SUBPROGRAM)
            return d->other && d->other->s.len ? d->other->s : d->name ? d->name->s : (tv_str){"", 0};
        if (d->tag != BC_DI_LEXICAL_BLOCK)
            break;
        scope = d->a;
    }
    return (tv_str){"", 0};
}

size_t bc_source_chain(const bc_module *m, uint32_t loc, bc_source *out, size_t most)
{
    enum { DEPTH = 16 };
    uint32_t callers[DEPTH]; /* that come after what is looked at */
    size_t count = 0, waiting = 0;
    for (unsigned steps = 0; loc && loc <= m->debug_count && count < most && steps < 64; steps++) {
        const bc_di *d = &m->debug[loc - 1];
        if (d->tag == BC_DI_CALL_SITE) {
            if (waiting < DEPTH)
                callers[waiting++] = d->b;
            loc = d->a;
            continue;
        }
        if (d->tag == BC_DI_LOC)
            out[count++] = (bc_source){d->name->s, d->line, d->column, function_around(m, d->a)};
        loc = waiting ? callers[--waiting] : 0;
    }
    return count;
}

size_t bc_source_own(const bc_source *chain, size_t count)
{
    size_t own = 0;
    while (own + 1 < count && !bc_str_eq(chain[own].file, chain[count - 1].file))
        own++;
    return own;
}

bool bc_source_place(const bc_module *m, uint32_t loc, tv_str *out_file, uint32_t *out_line, uint32_t *out_column)
{
    bc_source chain[BC_MAX_INLINED];
    size_t count = bc_source_chain(m, loc, chain, BC_MAX_INLINED);
    if (!count)
        return false;
    const bc_source *own = &chain[bc_source_own(chain, count)];
    *out_file = own->file;
    *out_line = own->line;
    *out_column = own->column;
    return true;
}

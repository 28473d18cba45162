/* Locations as MLIR writes them: every location and debug attribute gets an alias (#loc3, #di_file), numbered by how
   deep it is nested, then by kind, then by where it is first met while printing; the definitions follow the module.
   Debug attributes that say the same are one, as in MLIR. Source: format reference, section 9. */
#include <stdlib.h>

#include "bytecode/print/op.h"

/* In the order of the alias names, which is the order of their definitions. */
typedef enum what { COMPILE_UNIT, FILE_NODE, LEXICAL_BLOCK, SUBPROGRAM, UNKNOWN, PLACE, SCOPED, CALL_SITE } what;

static const char *const alias_names[] = {
    [COMPILE_UNIT] = "di_compile_unit",
    [FILE_NODE] = "di_file",
    [LEXICAL_BLOCK] = "di_lexical_block",
    [SUBPROGRAM] = "di_subprogram",
    [UNKNOWN] = "loc",
    [PLACE] = "loc",
    [SCOPED] = "loc",
    [CALL_SITE] = "loc",
};

/* An attribute of MLIR. PLACE is the file:line:column inside a DILoc, which is an attribute of its own there. */
typedef struct node {
    uint8_t what;
    const bc_di *di; /* NULL: UNKNOWN */
    uint32_t a, b;   /* nodes it refers to, for SCOPED the place and the scope */
    uint32_t hash;
    uint32_t depth, order; /* 0: not met yet */
    uint32_t number;       /* of the alias */
} node;

struct bc_aliases {
    const bc_module *m;
    node *nodes; /* nodes[0] is the unknown location */
    size_t count, capacity;
    uint32_t *slots; /* node + 1 */
    size_t slot_count;
    uint32_t *node_of; /* by debug reference; UINT32_MAX: not made yet */
    uint32_t next_order;
    const node **sorted; /* the ones that were met, in the order of their definitions */
    size_t sorted_count;
};

/* ---- nodes ---- */

static uint32_t mix(uint32_t h, uint64_t v)
{
    uint64_t x = (v + h) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(x ^ x >> 32);
}

static uint32_t mix_string(uint32_t h, const bc_string *s)
{
    for (size_t i = 0; s && i < s->s.len; i++)
        h = (h ^ (uint8_t)s->s.ptr[i]) * 0x01000193u;
    return mix(h, s ? s->s.len : 0);
}

static bool same_string(const bc_string *a, const bc_string *b)
{
    return a == b || (a && b && bc_str_eq(a->s, b->s));
}

static uint32_t hash_node(const node *n)
{
    uint32_t h = mix(n->what, (uint64_t)n->a << 32 | n->b);
    if (n->what == UNKNOWN || n->what == CALL_SITE || n->what == SCOPED)
        return h;
    h = mix_string(mix_string(h, n->di->name), n->di->other);
    return mix(mix(h, n->di->flags), (uint64_t)n->di->line << 32 | n->di->column);
}

static bool same_node(const node *x, const node *y)
{
    if (x->hash != y->hash || x->what != y->what || x->a != y->a || x->b != y->b)
        return false;
    if (x->what == UNKNOWN || x->what == CALL_SITE || x->what == SCOPED)
        return true;
    const bc_di *d = x->di, *e = y->di;
    return d->line == e->line && d->column == e->column && d->flags == e->flags && same_string(d->name, e->name)
           && same_string(d->other, e->other);
}

/* The node equal to n, new if there was none. The arrays were made large enough. */
static uint32_t intern(bc_aliases *al, node n)
{
    n.hash = hash_node(&n);
    size_t i = n.hash & (al->slot_count - 1);
    while (al->slots[i]) {
        if (same_node(&al->nodes[al->slots[i] - 1], &n))
            return al->slots[i] - 1;
        i = (i + 1) & (al->slot_count - 1);
    }
    al->nodes[al->count] = n;
    al->slots[i] = (uint32_t)++al->count;
    return (uint32_t)al->count - 1;
}

/* The node of a debug reference. The reader bounds the length of chains and has refused cycles. */
static uint32_t node_for(bc_aliases *al, uint32_t ref)
{
    static const uint8_t kinds[BC_DI_TAG_COUNT] = {
        [BC_DI_UNKNOWN] = UNKNOWN,     [BC_DI_COMPILE_UNIT] = COMPILE_UNIT,
        [BC_DI_FILE] = FILE_NODE,      [BC_DI_LEXICAL_BLOCK] = LEXICAL_BLOCK,
        [BC_DI_LOC] = SCOPED,          [BC_DI_SUBPROGRAM] = SUBPROGRAM,
        [BC_DI_CALL_SITE] = CALL_SITE,
    };
    if (ref == 0)
        return 0;
    if (al->node_of[ref - 1] != UINT32_MAX)
        return al->node_of[ref - 1];
    const bc_di *d = &al->m->debug[ref - 1];
    node n = {.what = kinds[d->tag], .di = d};
    if (d->tag == BC_DI_UNKNOWN)
        return al->node_of[ref - 1] = 0;
    n.a = node_for(al, d->a);
    n.b = node_for(al, d->b);
    if (d->tag == BC_DI_LOC) {
        n.b = n.a;
        n.a = intern(al, (node){.what = PLACE, .di = d});
    }
    return al->node_of[ref - 1] = intern(al, n);
}

/* ---- the order of definitions ---- */

/* References in the order in which the attribute's text names them. */
static unsigned children(const node *n, uint32_t out[2])
{
    switch ((what)n->what) {
    case UNKNOWN:
    case PLACE:
    case FILE_NODE: return 0;
    case COMPILE_UNIT: out[0] = n->a; return 1;
    case LEXICAL_BLOCK:
    case SUBPROGRAM:
    case SCOPED:
    case CALL_SITE: break;
    }
    out[0] = n->a;
    out[1] = n->b;
    return 2;
}

static uint32_t meet(bc_aliases *al, uint32_t index)
{
    node *n = &al->nodes[index];
    if (n->order)
        return n->depth;
    n->order = ++al->next_order;
    uint32_t child[2], deepest = 0;
    unsigned count = children(n, child);
    for (unsigned i = 0; i < count; i++) {
        uint32_t depth = meet(al, child[i]);
        deepest = depth > deepest ? depth : deepest;
    }
    return n->depth = deepest + 1;
}

static bool meet_block(bc_aliases *al, bc_formats *formats, const bc_block *block, uint8_t left_out);

/* The terminator that the form of the op leaves out of a region, or OP_LIMIT. */
static uint8_t left_out_of(const bc_format *f, const bc_op *op, unsigned region)
{
    int row = (int)(bc_region_rows(bc_info(op)) - bc_rows) + (int)region;
    for (unsigned i = 0; i < f->piece_count; i++)
        if (f->pieces[i].kind == BC_PIECE_REGION && f->pieces[i].refs[0].row == row)
            return f->pieces[i].opcode;
    return OP_LIMIT;
}

static bool meet_op(bc_aliases *al, bc_formats *formats, const bc_op *op)
{
    meet(al, node_for(al, op->loc));
    if (op->region_count == 0)
        return true;
    const bc_format *f = bc_format_of(formats, (bc_opcode)op->opcode);
    if (!f)
        return false;
    bool fits = bc_fits_format(f, al->m, op);
    for (unsigned i = 0; i < op->region_count; i++)
        if (!meet_block(al, formats, bc_regions(op)[i], fits ? left_out_of(f, op, i) : OP_LIMIT))
            return false;
    return true;
}

static bool meet_block(bc_aliases *al, bc_formats *formats, const bc_block *block, uint8_t left_out)
{
    for (const bc_op *op = block ? block->first : NULL; op; op = op->next)
        if (!(op == block->last && bc_can_leave_out(block, left_out, true)) && !meet_op(al, formats, op))
            return false;
    return true;
}

static int by_definition(const void *a, const void *b)
{
    const node *x = *(const node *const *)a, *y = *(const node *const *)b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    /* all locations have one name */
    int xw = x->what < UNKNOWN ? x->what : UNKNOWN, yw = y->what < UNKNOWN ? y->what : UNKNOWN;
    if (xw != yw)
        return xw < yw ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static bool number_nodes(bc_aliases *al, bc_arena *scratch)
{
    al->sorted = bc_new(scratch, const node *, al->count);
    if (!al->sorted)
        return false;
    for (size_t i = 0; i < al->count; i++)
        if (al->nodes[i].order)
            al->sorted[al->sorted_count++] = &al->nodes[i];
    qsort(al->sorted, al->sorted_count, sizeof *al->sorted, by_definition);
    uint32_t next[UNKNOWN + 1] = {0};
    for (size_t i = 0; i < al->sorted_count; i++) {
        node *n = &al->nodes[al->sorted[i] - al->nodes];
        n->number = next[n->what < UNKNOWN ? n->what : UNKNOWN]++;
    }
    return true;
}

static bool make_room(bc_aliases *al, bc_arena *scratch)
{
    size_t most = 2 * al->m->debug_count + 1; /* a DILoc makes two */
    al->slot_count = 16;
    while (al->slot_count < 2 * most)
        al->slot_count *= 2;
    al->nodes = bc_new(scratch, node, most);
    al->slots = bc_new(scratch, uint32_t, al->slot_count);
    al->node_of = bc_new(scratch, uint32_t, al->m->debug_count);
    if (!al->nodes || !al->slots || !al->node_of)
        return false;
    for (size_t i = 0; i < al->m->debug_count; i++)
        al->node_of[i] = UINT32_MAX;
    return true;
}

const bc_aliases *bc_aliases_new(const bc_module *m, bc_formats *formats, bc_arena *scratch)
{
    bc_aliases *al = bc_new(scratch, bc_aliases, 1);
    if (!al)
        return NULL;
    al->m = m;
    if (!make_room(al, scratch))
        return NULL;
    intern(al, (node){.what = UNKNOWN});
    if (m->global_count)
        meet(al, 0);
    for (size_t i = 0; i < m->function_count; i++) {
        meet(al, node_for(al, m->functions[i].loc));
        if (!meet_block(al, formats, m->functions[i].body, OP_LIMIT))
            return NULL;
    }
    return number_nodes(al, scratch) ? al : NULL;
}

/* ---- text ---- */

static void print_alias(bc_text *out, const node *n)
{
    bc_text_char(out, '#');
    bc_text_puts(out, alias_names[n->what]);
    if (n->number)
        bc_print_i64(out, n->number);
}

void bc_print_alias(bc_text *out, const bc_aliases *al, uint32_t loc)
{
    print_alias(out, &al->nodes[loc ? al->node_of[loc - 1] : 0]);
}

static void print_child(bc_text *out, const char *before, const bc_aliases *al, uint32_t child)
{
    bc_text_puts(out, before);
    print_alias(out, &al->nodes[child]);
}

static void print_number(bc_text *out, const char *before, uint32_t number)
{
    bc_text_puts(out, before);
    bc_print_i64(out, number);
}

static void print_quoted(bc_text *out, const char *before, const bc_string *s)
{
    bc_text_puts(out, before);
    bc_print_string(out, s->s);
}

static void print_subprogram(bc_text *out, const bc_aliases *al, const node *n)
{
    print_child(out, "#cuda_tile.di_subprogram<file = ", al, n->a);
    print_number(out, ", line = ", n->di->line);
    print_quoted(out, ", name = ", n->di->name);
    print_quoted(out, ", linkageName = ", n->di->other);
    print_child(out, ", compileUnit = ", al, n->b);
    if (n->di->column)
        print_number(out, ", scopeLine = ", n->di->column);
    if (n->di->flags == BC_DI_DECLARATION)
        bc_text_puts(out, ", flags = declaration");
    else if (n->di->flags)
        print_number(out, ", flags = ", n->di->flags);
    bc_text_char(out, '>');
}

static void print_definition(bc_text *out, const bc_aliases *al, const node *n)
{
    print_alias(out, n);
    bc_text_puts(out, " = ");
    switch ((what)n->what) {
    case UNKNOWN: bc_text_puts(out, "loc(unknown)"); break;
    case PLACE:
        print_quoted(out, "loc(", n->di->name);
        print_number(out, ":", n->di->line);
        print_number(out, ":", n->di->column);
        bc_text_char(out, ')');
        break;
    case SCOPED:
        print_child(out, "#cuda_tile.di_loc<", al, n->a);
        print_child(out, " in ", al, n->b);
        bc_text_char(out, '>');
        break;
    case CALL_SITE:
        print_child(out, "loc(callsite(", al, n->a);
        print_child(out, " at ", al, n->b);
        bc_text_puts(out, "))");
        break;
    case COMPILE_UNIT:
        print_child(out, "#cuda_tile.di_compile_unit<file = ", al, n->a);
        bc_text_char(out, '>');
        break;
    case FILE_NODE:
        print_quoted(out, "#cuda_tile.di_file<", n->di->name);
        print_quoted(out, " in ", n->di->other);
        bc_text_char(out, '>');
        break;
    case LEXICAL_BLOCK:
        print_child(out, "#cuda_tile.di_lexical_block<scope = ", al, n->a);
        print_child(out, ", file = ", al, n->b);
        print_number(out, ", line = ", n->di->line);
        if (n->di->column)
            print_number(out, ", column = ", n->di->column);
        bc_text_char(out, '>');
        break;
    case SUBPROGRAM: print_subprogram(out, al, n); break;
    }
    bc_text_char(out, '\n');
}

void bc_print_aliases(bc_printer *p)
{
    for (size_t i = 0; i < p->aliases->sorted_count; i++) {
        print_definition(p->out, p->aliases, p->aliases->sorted[i]);
        bc_print_flush(p, BC_PRINT_PORTION);
    }
}

void bc_print_location(bc_printer *p, uint32_t loc)
{
    if (!p->aliases)
        return;
    bc_text_puts(p->out, " loc(");
    bc_print_alias(p->out, p->aliases, loc);
    bc_text_char(p->out, ')');
}

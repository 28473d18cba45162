/* Random valid modules.

   Ops come from the table: an op is drawn, guessed (guess.c), and the verifier says whether the guess made sense;
   most fail and cost a microsecond. So a new op is generated as soon as it is in the table and has its rules. Built by
   hand are only ops with regions, because their bodies must fit them, and what the module has around its ops: globals,
   hints, source locations. */
#include "tools/tilevm/gen/gen.h"

#include <string.h>

#include "bytecode/number/number.h"
#include "bytecode/verify/verify.h"
#include "tools/tilevm/gen/inside.h"

static void gen_ops(generator *g, unsigned count);

/* ---- ops with regions ---- */

static bc_op *end_block(generator *g, bc_opcode opcode, bc_value *const *values, uint32_t count)
{
    bc_op *op = bc_op_new(g->m, opcode, 0, count);
    if (op) {
        if (count)
            memcpy(bc_operands(op), values, count * sizeof *values);
        bc_block_append(g->block, op);
    }
    return op;
}

/* Fills a region: enters it, makes ops, ends it with `terminator` on values of the wanted types. */
static bool fill_region(generator *g, bc_op *parent, unsigned region, const bc_type *const *args, uint32_t arg_count,
                        unsigned ops, bc_opcode terminator, const bc_type *const *wanted, uint32_t wanted_count)
{
    bc_block *outer = g->block, *block = bc_block_new(g->m, parent, arg_count);
    if (!block)
        return false;
    uint32_t visible = g->visible_count;
    parent->block = outer; /* where it will stand, for whoever looks up from inside */
    bc_regions(parent)[region] = g->block = block;
    g->depth++;
    for (uint32_t i = 0; i < arg_count; i++) {
        block->args[i].type = args[i];
        gen_show(g, &block->args[i]);
    }
    gen_ops(g, ops);
    bc_value *values[8];
    bool fine = true;
    for (uint32_t i = 0; i < wanted_count; i++)
        fine = (values[i] = gen_value_of(g, wanted[i])) != NULL && fine;
    fine = fine && end_block(g, terminator, values, wanted_count);
    g->visible_count = visible;
    g->block = outer;
    g->depth--;
    return fine;
}

/* Ends for the region of a loop: `continue` with the carried types, or `break` with the result types. */
static bc_opcode draw_loop_end(generator *g, const bc_op *loop, const bc_type **types, uint32_t *count)
{
    bool leaves = loop->opcode == OP_loop && gen_chance(g, 60);
    uint32_t first = loop->opcode == OP_for ? 3 : 0; /* bounds come before what is carried */
    *count = leaves ? loop->result_count : loop->operand_count - first;
    for (uint32_t i = 0; i < *count; i++)
        types[i] = leaves ? bc_results(loop)[i].type : bc_operands(loop)[first + i]->type;
    return leaves ? OP_break : OP_continue;
}

/* The loop that a block leaves or continues from inside an `if`; NULL when there is none. */
static bc_op *loop_around(const bc_block *block)
{
    bc_op *op = block->parent;
    while (op && op->opcode == OP_if)
        op = op->block->parent;
    return op && bc_is_loop(op->opcode) ? op : NULL;
}

/* Types that any region may carry and that value_of can always make. */
static uint32_t draw_types(generator *g, const bc_type **types, uint32_t max)
{
    uint32_t count = gen_below(g, max + 1);
    for (uint32_t i = 0; i < count; i++)
        types[i] = gen_chance(g, 15) ? g->token : gen_draw_tile(g, BC_SET_INT | BC_SET_BASE_FLOAT, -1);
    return count;
}

static bool set_operands(generator *g, bc_op *op, uint32_t first, const bc_type *const *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(bc_operands(op)[first + i] = gen_value_of(g, types[i])))
            return false;
    return true;
}

static void set_results(bc_op *op, const bc_type *const *types)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        bc_results(op)[i].type = types[i];
}

static bc_op *gen_if(generator *g, unsigned ops)
{
    const bc_type *types[3];
    uint32_t count = draw_types(g, types, 3);
    bc_op *op = bc_op_new(g->m, OP_if, count, 1);
    if (!op || !set_operands(g, op, 0, &g->i1, 1))
        return NULL;
    set_results(op, types);
    bc_op *loop = loop_around(g->block);
    const bc_type *others[4];
    uint32_t other_count = 0;
    bc_opcode end = loop && gen_chance(g, 40) ? draw_loop_end(g, loop, others, &other_count) : OP_yield;
    bool yields = end == OP_yield;
    if (!fill_region(g, op, 0, NULL, 0, ops / 2, end, yields ? types : others, yields ? count : other_count))
        return NULL;
    if ((count || gen_chance(g, 50)) && !fill_region(g, op, 1, NULL, 0, ops / 2, OP_yield, types, count))
        return NULL;
    return op;
}

/* The lower bound, upper bound and step of a `for` with a few iterations. */
static bool set_few_rounds(generator *g, bc_op *op)
{
    const uint64_t bounds[] = {gen_below(g, 3), gen_below(g, 6), 1 + gen_below(g, 2)};
    for (unsigned i = 0; i < 3; i++)
        if (!(bc_operands(op)[i] = gen_constant(g, g->i32, bounds[i])))
            return false;
    return true;
}

static bc_op *gen_for(generator *g, unsigned ops)
{
    const bc_type *types[4] = {g->i32};
    uint32_t count = draw_types(g, types + 1, 3);
    const bc_type *bounds[3] = {g->i32, g->i32, g->i32};
    bc_op *op = bc_op_new(g->m, OP_for, count, 3 + count);
    if (!op || !(g->options->calm ? set_few_rounds(g, op) : set_operands(g, op, 0, bounds, 3))
        || !set_operands(g, op, 3, types + 1, count))
        return NULL;
    bc_op_defaults(op);
    set_results(op, types + 1);
    return fill_region(g, op, 0, types, count + 1, ops, OP_continue, types + 1, count) ? op : NULL;
}

static bc_op *gen_loop(generator *g, unsigned ops)
{
    const bc_type *carried[3], *left[2];
    uint32_t count = draw_types(g, carried, 3), results = draw_types(g, left, 2);
    bc_op *op = bc_op_new(g->m, OP_loop, results, count);
    if (!op || !set_operands(g, op, 0, carried, count))
        return NULL;
    set_results(op, left);
    const bc_type *types[3];
    uint32_t type_count;
    bc_opcode end = draw_loop_end(g, op, types, &type_count);
    return fill_region(g, op, 0, carried, count, ops, end, types, type_count) ? op : NULL;
}

/* ---- reductions and scans ---- */

/* How a pair of elements is combined in a calm kernel: associative, and in any order. */
typedef struct combiner {
    bc_opcode opcode;
    bc_Signedness sign;
} combiner;

static combiner draw_combiner(generator *g, bc_kind kind)
{
    static const bc_opcode of_floats[] = {OP_maxf, OP_minf};
    static const bc_opcode of_integers[] = {OP_addi, OP_muli, OP_andi, OP_ori, OP_xori, OP_maxi, OP_mini};
    bool is_float = bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
    return (combiner){is_float ? of_floats[gen_below(g, TV_COUNT(of_floats))]
                               : of_integers[gen_below(g, TV_COUNT(of_integers))],
                      gen_chance(g, 50) ? BC_Signedness_signed : BC_Signedness_unsigned};
}

/* What leaves every element as it was. */
static uint64_t identity_for(const combiner *c, bc_kind kind)
{
    uint64_t all = bc_int_mask(bc_kind_bits(kind)), top = all ^ all >> 1;
    bool is_signed = c->sign == BC_Signedness_signed;
    switch ((int)c->opcode) {
    case OP_maxf: return bc_float_format_of(kind)->infinity | top;
    case OP_minf: return bc_float_format_of(kind)->infinity;
    case OP_muli: return 1;
    case OP_andi: return all;
    case OP_maxi: return is_signed ? top : 0;
    case OP_mini: return is_signed ? top - 1 : all;
    default: return 0;
    }
}

static const bc_tagged *identities_of(generator *g, const combiner *combiners, const bc_type *const *types,
                                      uint32_t count)
{
    bc_tagged *array = bc_new(&g->m->arena, bc_tagged, 1), *items = bc_new(&g->m->arena, bc_tagged, count);
    if (!array || !items)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        bc_kind kind = (bc_kind)types[i]->elem->kind;
        bool is_float = bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        uint64_t bits = combiners  ? identity_for(&combiners[i], kind)
                        : is_float ? 0
                                   : gen_draw(g) & bc_int_mask(bc_kind_bits(kind));
        items[i] = (bc_tagged){.tag = kind == BC_I1 ? BC_TAG_BOOL
                                      : is_float    ? BC_TAG_FLOAT
                                                    : BC_TAG_INTEGER,
                               .type = kind == BC_I1 ? NULL : types[i]->elem,
                               .u.bits = bits};
    }
    *array = (bc_tagged){.tag = BC_TAG_ARRAY, .u.array = {items, count}};
    return array;
}

/* The region of a calm reduction: yields each pair of arguments combined. */
static bool fill_combining(generator *g, bc_op *parent, const combiner *combiners, const bc_type *const *scalars,
                           uint32_t count)
{
    bc_block *outer = g->block, *block = bc_block_new(g->m, parent, 2 * count);
    bc_value *values[2];
    bool fine = block != NULL;
    if (!fine)
        return false;
    parent->block = outer;
    bc_regions(parent)[0] = g->block = block;
    for (uint32_t i = 0; fine && i < count; i++) {
        bc_op *op = bc_op_new(g->m, combiners[i].opcode, 1, 2);
        if (!(fine = op != NULL))
            break;
        bc_op_defaults(op);
        if (op->opcode == OP_maxi || op->opcode == OP_mini)
            bc_attr_of(op, op->opcode == OP_maxi ? F_maxi_signedness : F_mini_signedness)->u = combiners[i].sign;
        for (uint32_t side = 0; side < 2; side++) {
            block->args[2 * i + side].type = scalars[i];
            bc_operands(op)[side] = &block->args[2 * i + side];
        }
        bc_results(op)->type = scalars[i];
        bc_block_append(block, op);
        values[i] = bc_results(op);
    }
    fine = fine && end_block(g, OP_yield, values, count);
    g->block = outer;
    return fine;
}

static bc_op *gen_aggregate(generator *g, bc_opcode opcode, unsigned ops)
{
    const bc_type *types[2], *args[4], *scalars[2], *results[2];
    combiner combiners[2];
    uint32_t count = 1 + gen_below(g, 2);
    const bc_type *shape;
    do
        shape = gen_draw_tile(g, BC_SET_INT | BC_SET_BASE_FLOAT, -1);
    while (shape->rank == 0);
    unsigned dim = gen_below(g, shape->rank);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = i ? gen_with_elem(g, shape, gen_scalar_type(g, gen_draw_kind(g, BC_SET_INT | BC_SET_BASE_FLOAT)))
                     : shape;
        scalars[i] = bc_type_tile(g->m, types[i]->elem, shape->shape, 0);
        args[2 * i] = args[2 * i + 1] = scalars[i];
        if (g->options->calm)
            combiners[i] = draw_combiner(g, bc_elem_kind(types[i]));
        int64_t kept[8];
        uint32_t rank = 0;
        for (uint32_t d = 0; d < shape->rank; d++)
            if (d != dim)
                kept[rank++] = shape->shape[d];
        results[i] = opcode == OP_scan ? types[i] : bc_type_tile(g->m, types[i]->elem, kept, rank);
    }
    bc_op *op = bc_op_new(g->m, opcode, count, count);
    if (!op || !set_operands(g, op, 0, types, count))
        return NULL;
    bc_op_defaults(op);
    set_results(op, results);
    const bc_tagged *identities = identities_of(g, g->options->calm ? combiners : NULL, types, count);
    bc_attr_of(op, opcode == OP_scan ? F_scan_dim : F_reduce_dim)->u = dim;
    bc_attr_of(op, opcode == OP_scan ? F_scan_identities : F_reduce_identities)->tagged = identities;
    if (opcode == OP_scan)
        bc_attr_of(op, F_scan_reverse)->u = gen_below(g, 2);
    if (g->options->calm)
        return identities && fill_combining(g, op, combiners, scalars, count) ? op : NULL;
    return identities && fill_region(g, op, 0, args, 2 * count, ops > 4 ? 4 : ops, OP_yield, scalars, count) ? op
                                                                                                             : NULL;
}

/* ---- bodies ---- */

static bool in_aggregate(const generator *g)
{
    for (const bc_block *b = g->block; b->parent; b = b->parent->block)
        if (bc_op_in(b->parent->opcode, BC_OPS(FOLD)))
            return true;
    return false;
}

static bc_op *gen_region_op(generator *g, bc_opcode opcode, unsigned ops)
{
    if (g->depth >= g->options->depth || g->depth >= 8)
        return NULL;
    switch ((int)opcode) {
    case OP_if: return gen_if(g, ops);
    case OP_for: return gen_for(g, ops);
    case OP_loop: return gen_loop(g, ops);
    default: return gen_aggregate(g, opcode, ops);
    }
}

enum { GUESSES = 60 };

/* An opcode; those with effects, memory above all, come up more often than arithmetic. */
static bc_opcode draw_opcode(generator *g)
{
    unsigned opcode = gen_below(g, OP_LIMIT);
    return (bc_opcode)(bc_ops[opcode].traits & BC_EFFECTS || !gen_chance(g, 30) ? opcode : gen_below(g, OP_LIMIT));
}

static bool gen_op(generator *g)
{
    bc_opcode opcode = draw_opcode(g);
    const bc_op_info *info = &bc_ops[opcode];
    if (!info->name || info->since > g->m->version || info->traits & BC_TERMINATOR
        || (info->traits & BC_EFFECTS && in_aggregate(g)))
        return false;
    if (info->region_rows && gen_chance(g, 30))
        return false;
    for (unsigned tries = 0; tries < (info->region_rows ? 1 : GUESSES); tries++) {
        const bc_block before = *g->block;
        uint32_t visible = g->visible_count;
        bc_op *op = info->region_rows ? gen_region_op(g, opcode, 2 + gen_below(g, 8)) : gen_guess(g, opcode);
        if (op) {
            op->block = g->block;
            if (bc_op_is_valid(g->m, op) && (!g->options->keep || g->options->keep(op))) {
                gen_place(g, op);
                return true;
            }
        }
        /* the constants that the guess made go with it */
        *g->block = before;
        if (before.last)
            before.last->next = NULL;
        g->visible_count = visible;
    }
    return false;
}

static void gen_ops(generator *g, unsigned count)
{
    for (unsigned made = 0, tries = 0; made < count && tries < count * 20 && !g->m->arena.failed; tries++)
        made += gen_op(g);
}

/* ---- functions ---- */

/* Debug attributes of a function: the innermost scope for its ops. 0: out of memory. */
static uint32_t gen_scope(generator *g, bc_function *f)
{
    bc_module *m = g->m;
    uint32_t file = bc_di_add(m, &(bc_di){.tag = BC_DI_FILE,
                                          .name = bc_string_add(m, bc_str("random.py"), false),
                                          .other = bc_string_add(m, bc_str("/kernels"), false)});
    uint32_t unit = bc_di_add(m, &(bc_di){.tag = BC_DI_COMPILE_UNIT, .a = file});
    uint32_t line = 1 + gen_below(g, 100);
    uint32_t scope = bc_di_add(m, &(bc_di){.tag = BC_DI_SUBPROGRAM,
                                           .a = file,
                                           .b = unit,
                                           .name = f->name,
                                           .other = f->name,
                                           .line = line,
                                           .column = line});
    f->loc = bc_di_add(m, &(bc_di){.tag = BC_DI_LOC,
                                   .a = scope,
                                   .name = bc_string_add(m, bc_str("random.py"), false),
                                   .line = line,
                                   .column = 1});
    if (gen_chance(g, 30))
        scope =
            bc_di_add(m, &(bc_di){.tag = BC_DI_LEXICAL_BLOCK, .a = scope, .b = file, .line = line + 1, .column = 5});
    f->has_debug = m->has_debug_section = true;
    return f->loc ? scope : 0;
}

static uint32_t gen_location(generator *g, uint32_t scope, uint32_t line)
{
    return bc_di_add(g->m, &(bc_di){.tag = BC_DI_LOC,
                                    .a = scope,
                                    .line = line,
                                    .column = 1 + gen_below(g, 40),
                                    .name = bc_string_add(g->m, bc_str("random.py"), false)});
}

/* Source locations for the ops: most have one, some the one before, some a call site, some none. */
static bool gen_debug(generator *g, bc_function *f)
{
    uint32_t scope = gen_scope(g, f), loc = 0, line = scope ? g->m->debug[f->loc - 1].line : 0;
    if (!scope)
        return false;
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body)) {
        unsigned kind = gen_below(g, 10);
        if (kind < 6)
            loc = gen_location(g, scope, ++line);
        else if (kind == 6)
            loc = bc_di_add(g->m, &(bc_di){.tag = BC_DI_CALL_SITE,
                                           .a = gen_location(g, scope, line + 50),
                                           .b = gen_location(g, scope, line)});
        op->loc = kind == 7 ? 0 : loc;
    }
    return !g->m->arena.failed;
}

static bool gen_function(generator *g, unsigned number)
{
    uint32_t count = gen_draw_param_count(g);
    const bc_type **params = bc_new(&g->m->arena, const bc_type *, count);
    for (uint32_t i = 0; i < count; i++)
        if (!params || !(params[i] = gen_draw_param(g, i)))
            return false;
    bc_function *f = &g->m->functions[g->m->function_count++];
    *f = (bc_function){.flags = BC_FUNC_KERNEL, .name = gen_draw_name(g, "kernel", number)};
    f->type = bc_type_add(g->m, &(bc_type){.kind = BC_FUNCTION,
                                           .padding = BC_NO_PADDING,
                                           .ptr_attr = BC_NO_PTR_ATTR,
                                           .rank = count,
                                           .members = params});
    f->body = g->block = bc_block_new(g->m, NULL, count);
    if (!f->name || !f->type || !f->body)
        return false;
    g->visible_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        f->body->args[i].type = params[i];
        gen_show(g, &f->body->args[i]);
    }
    gen_ops(g, g->options->ops);
    end_block(g, OP_return, NULL, 0);
    bc_function_number(f);
    if (gen_chance(g, 30))
        f->hints = gen_hints(g, OP_LIMIT);
    return !g->debug || gen_debug(g, f);
}

tv_status gen_module(const gen_options *options, tv_module **out_module)
{
    bc_module *m = bc_module_new(NULL, options->version);
    if (!m)
        return TV_NO_MEMORY;
    generator g = {.m = m, .options = options, .state = options->seed * 2 + 1};
    g.token = bc_type_scalar(m, BC_TOKEN);
    g.i32 = bc_type_tile(m, bc_type_scalar(m, BC_I32), NULL, 0);
    g.i1 = bc_type_tile(m, bc_type_scalar(m, BC_I1), NULL, 0);
    m->functions = bc_new(&m->arena, bc_function, options->functions);
    m->globals = bc_new(&m->arena, bc_global, GEN_MAX_GLOBALS);
    m->function_capacity = options->functions;
    m->global_capacity = GEN_MAX_GLOBALS;
    g.debug = gen_chance(&g, 40);
    bool fine = m->functions && m->globals;
    for (unsigned i = 0; fine && i < GEN_MAX_GLOBALS && gen_chance(&g, 50); i++)
        fine = gen_global(&g, i);
    for (unsigned i = 0; fine && i < options->functions; i++)
        fine = gen_function(&g, i);
    if (options->version >= BC_13_3 && gen_chance(&g, 50))
        m->producer = bc_string_add(m, bc_str("tilevm gen"), false);
    if (!fine || bc_module_compact(m) != TV_OK || m->arena.failed) {
        tv_module_close(m);
        return TV_NO_MEMORY;
    }
    *out_module = m;
    return TV_OK;
}

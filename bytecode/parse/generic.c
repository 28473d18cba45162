/* The generic form: "cuda_tile.addf"(%a, %b) <{properties}> ({regions}) {attributes} : (types) -> types; of ops, and of
   what stands around them: "cuda_tile.entry"() <{sym_name = "k", function_type = () -> ()}> ({ops}) : () -> (). */
#include "bytecode/parse/parse.h"

static bool parse_operand_list(bc_parser *p, size_t *out_first, uint32_t *out_count)
{
    *out_first = p->value_count;
    *out_count = 0;
    if (!bc_expect_punct(p, '('))
        return false;
    while (!bc_is_punct(p, ')')) {
        bc_value *value;
        if (!bc_parse_value(p, &value) || !bc_push_value(p, value))
            return false;
        if (++*out_count > BC_MAX_OPERANDS)
            return bc_parse_fail(p, BC_RULE_A_014, &p->tok, "more than %d operands", BC_MAX_OPERANDS);
        if (!bc_take_punct(p, ','))
            break;
    }
    return bc_expect_punct(p, ')');
}

/* Divides the operands among the rows. Sizes that were given count; else a row that is not ONE takes what is left. */
static bool divide_operands(bc_parser *p, bc_op_state *s, size_t first, uint32_t count)
{
    const bc_row *rows = bc_operand_rows(s->info);
    bool sized = s->info->operand_rows && s->operands[0].given;
    uint32_t fixed = 0, open = 0;
    for (unsigned r = 0; r < s->info->operand_rows; r++) {
        fixed += sized ? s->operands[r].count : rows[r].arity == BC_ONE;
        open += !sized && rows[r].arity != BC_ONE;
    }
    if (count < fixed || (open == 0 && count != fixed))
        return bc_parse_fail(p, BC_RULE_A_009, &s->at, "'%s' needs %s%u operand%s, not %u", s->info->name,
                             open ? "at least " : "", (unsigned)fixed, fixed == 1 ? "" : "s", (unsigned)count);
    if (open > 1 && count > fixed)
        return bc_parse_fail(p, BC_RULE_A_009, &s->at, "which operands of '%s' are there? operandSegmentSizes says",
                             s->info->name);
    for (unsigned r = 0; r < s->info->operand_rows; r++) {
        bc_rows_given *given = &s->operands[r];
        if (!sized)
            given->count = rows[r].arity == BC_ONE ? 1 : count - fixed;
        if (rows[r].arity == BC_OPTIONAL && given->count > 1)
            return bc_parse_fail(p, BC_RULE_A_009, &s->at, "%u operands for '%s'", (unsigned)given->count,
                                 rows[r].name);
        given->first = first;
        given->given = true;
        first += given->count;
        if (!sized && rows[r].arity != BC_ONE)
            fixed = count; /* what is left is taken */
    }
    return true;
}

static bool parse_regions(bc_parser *p, bc_op_state *s)
{
    if (!bc_take_punct(p, '('))
        return true;
    unsigned i = 0;
    do {
        if (i == s->info->region_rows)
            return bc_parse_fail(p, BC_RULE_A_009, &p->tok, "'%s' has no more than %u region%s", s->info->name,
                                 s->info->region_rows, s->info->region_rows == 1 ? "" : "s");
        bc_token open = p->tok;
        const char *at = p->at;
        s->regions_given[i] = true;
        if (bc_region_rows(s->info)[i].arity == BC_OPTIONAL && bc_take_punct(p, '{')) {
            if (bc_take_punct(p, '}')) { /* no block at all */
                i++;
                continue;
            }
            p->tok = open;
            p->at = at;
        }
        size_t args = p->arg_count;
        if (!bc_parse_region(p, args, OP_LIMIT, true, &s->regions[i++]))
            return false;
        p->arg_count = args;
    } while (bc_take_punct(p, ','));
    return bc_expect_punct(p, ')');
}

static bool check_regions(bc_parser *p, const bc_op_state *s)
{
    for (unsigned i = 0; i < s->info->region_rows; i++)
        if (!s->regions[i] && bc_region_rows(s->info)[i].arity != BC_OPTIONAL)
            return bc_parse_fail(p, BC_RULE_A_009, &s->at, "'%s' needs its region '%s'", s->info->name,
                                 bc_region_rows(s->info)[i].name);
    return true;
}

/* (types) -> types; those of the operands are compared, those of the results become one run for all rows. */
static bool parse_signature(bc_parser *p, bc_op_state *s, size_t first_value, uint32_t values)
{
    bc_token at = p->tok;
    size_t first = p->type_count;
    uint32_t types = 0, results = 0;
    if (!bc_expect_punct(p, '(') || (!bc_is_punct(p, ')') && !bc_parse_types(p, &types)) || !bc_expect_punct(p, ')'))
        return false;
    if (types != values)
        return bc_parse_fail(p, BC_RULE_A_009, &at, "%u types for %u operands", (unsigned)types, (unsigned)values);
    for (uint32_t i = 0; i < values; i++)
        if (p->values[first_value + i]->type && p->values[first_value + i]->type != p->types[first + i])
            return bc_parse_fail(p, BC_RULE_A_008, &at, "type %u is not that of its operand", (unsigned)i);
    if (!bc_expect_arrow(p))
        return false;
    first = p->type_count;
    if (!bc_take_punct(p, '(')) {
        const bc_type *type;
        if (!bc_parse_type(p, &type) || !bc_push_type(p, type))
            return false;
        results = 1;
    } else if ((!bc_is_punct(p, ')') && !bc_parse_types(p, &results)) || !bc_expect_punct(p, ')')) {
        return false;
    }
    if (results)
        s->results[0] = (bc_rows_given){first, results, true};
    return true;
}

bool bc_parse_generic(bc_parser *p, bc_op_state *s)
{
    size_t first;
    uint32_t count;
    if (!parse_operand_list(p, &first, &count))
        return false;
    if (bc_take_punct(p, '<') && (!bc_parse_attr_dict(p, s, true) || !bc_expect_punct(p, '>')))
        return false;
    if (!parse_regions(p, s) || !check_regions(p, s))
        return false;
    if (bc_is_punct(p, '{') && !bc_parse_attr_dict(p, s, true))
        return false;
    return divide_operands(p, s, first, count) && bc_expect_punct(p, ':') && parse_signature(p, s, first, count);
}

/* ---- modules and entries ---- */

bool bc_parse_item_head(bc_parser *p, bc_dict *out_properties)
{
    bc_tagged properties = {.tag = BC_TAG_DICTIONARY};
    if (!bc_expect_punct(p, '(') || !bc_expect_punct(p, ')'))
        return false;
    if (bc_take_punct(p, '<')) {
        if (!bc_is_punct(p, '{'))
            return bc_expected(p, "'{'");
        if (!bc_parse_attr(p, BC_I64, &properties) || !bc_expect_punct(p, '>'))
            return false;
    }
    *out_properties = properties.u.dict;
    return bc_expect_punct(p, '(');
}

bool bc_parse_item_tail(bc_parser *p)
{
    bc_tagged ignored;
    return bc_expect_punct(p, ')') && (!bc_is_punct(p, '{') || bc_parse_attr(p, BC_I64, &ignored))
           && bc_expect_punct(p, ':') && bc_expect_punct(p, '(') && bc_expect_punct(p, ')') && bc_expect_arrow(p)
           && bc_expect_punct(p, '(') && bc_expect_punct(p, ')');
}

/* The property, if it has that tag; NULL otherwise. */
static const bc_tagged *find_property(const bc_dict *properties, const char *name, bc_tag tag)
{
    for (uint32_t i = 0; i < properties->count; i++)
        if (bc_str_is(properties->entries[i].key->s, name) && properties->entries[i].value.tag == tag)
            return &properties->entries[i].value;
    return NULL;
}

/* Whether an argument of the entry has attributes: a list of empty dictionaries says nothing. */
static bool says_something(const bc_tagged *attrs)
{
    for (uint32_t i = 0; attrs && i < attrs->u.array.count; i++)
        if (attrs->u.array.items[i].tag != BC_TAG_DICTIONARY || attrs->u.array.items[i].u.dict.count)
            return true;
    return false;
}

static bool keep(bc_parser *p, const bc_tagged *attr, const bc_tagged **out)
{
    bc_tagged *kept = bc_new(&p->m->arena, bc_tagged, 1);
    if (!kept)
        return bc_parse_no_memory(p);
    *kept = *attr;
    *out = kept;
    return true;
}

static bool take_properties(bc_parser *p, const bc_token *at, const bc_dict *properties, bc_function *f)
{
    const bc_tagged *name = find_property(properties, "sym_name", BC_TAG_STRING);
    const bc_tagged *type = find_property(properties, "function_type", BC_TAG_TYPE);
    const bc_tagged *hints = find_property(properties, "optimization_hints", BC_TAG_HINTS);
    const bc_tagged *attrs = find_property(properties, "arg_attrs", BC_TAG_ARRAY);
    if (!name || !type || type->type->kind != BC_FUNCTION)
        return bc_parse_fail(p, BC_RULE_A_009, at, "'entry' needs its properties 'sym_name' and 'function_type'");
    f->name = name->u.string;
    f->type = type->type;
    return (!hints || keep(p, hints, &f->hints)) && (!says_something(attrs) || keep(p, attrs, &f->arg_attrs));
}

static bool check_arguments(bc_parser *p, const bc_token *at, const bc_function *f)
{
    if (f->body->arg_count != f->type->rank)
        return bc_parse_fail(p, BC_RULE_A_009, at, "%u arguments; the function_type has %u", f->body->arg_count,
                             f->type->rank);
    for (uint32_t i = 0; i < f->type->rank; i++)
        if (f->body->args[i].type != f->type->members[i])
            return bc_parse_fail(p, BC_RULE_A_008, at, "argument %u is not of the type that the function_type gives it",
                                 (unsigned)i);
    return true;
}

bool bc_parse_generic_entry(bc_parser *p, bc_function *f)
{
    bc_token at = p->tok;
    bc_dict properties;
    if (!bc_parse_item_head(p, &properties) || !take_properties(p, &at, &properties, f))
        return false;
    p->function = f;
    return bc_parse_region(p, p->arg_count, OP_LIMIT, true, &f->body) && bc_parse_item_tail(p)
           && check_arguments(p, &at, f);
}

/* PTX text to a module: directives, declarations, statements. Operands are resolved to slots and addresses here;
   decode.c gives an instruction its meaning. PTX ISA, "Syntax", "State Spaces, Types, and Variables", "Directives". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/fast.h"
#include "tests/ptxsim/lex.h"
#include "tests/ptxsim/scope.h"

enum { MAX_RANGE = 1 << 20 };

/* A use of a label that is not known yet. */
typedef struct fixup {
    size_t insn;
    tv_str name;
    unsigned depth; /* of the scope it stands in, as far as that is still open */
    uint32_t line;
} fixup;

typedef struct parser {
    ps_module *m;
    ps_lexer lex;
    ps_scopes scopes;
    fixup *fixups;
    size_t fixup_count, fixup_size;
    ps_function *function; /* the one whose body is being read */
    tv_str comment_text;   /* the comment, and its copy */
    const char *comment;
} parser;

static void fail_at(parser *p, uint32_t line, const char *what, tv_str name)
{
    ps_lex_fail(&p->lex, line, "%s '%.*s'", what, (int)name.len, name.ptr);
}

static const char *dup(parser *p, tv_str s)
{
    tv_str copy = bc_arena_dup(&p->m->arena, s);
    return copy.ptr;
}

static tv_str take_name(parser *p)
{
    tv_str name = {"", 0};
    if (p->lex.token.kind == PS_TOKEN_WORD)
        name = bc_arena_dup(&p->m->arena, p->lex.token.text);
    else
        ps_lex_fail(&p->lex, p->lex.token.line, "expected a name");
    ps_lex_next(&p->lex);
    return name;
}

/* ---- types and numbers ---- */

static ps_type find_type(tv_str text)
{
    for (unsigned i = 0; i < PS_TYPE_COUNT; i++)
        if (bc_str_is(text, ps_types[i].text))
            return (ps_type)i;
    return PS_NO_TYPE;
}

/* A word like .u32. */
static bool take_type(parser *p, ps_type *out)
{
    const ps_token *t = &p->lex.token;
    if (t->kind != PS_TOKEN_WORD || t->text.len < 2 || t->text.ptr[0] != '.')
        return false;
    ps_type type = find_type((tv_str){t->text.ptr + 1, t->text.len - 1});
    if (type == PS_NO_TYPE)
        return false;
    *out = type;
    ps_lex_next(&p->lex);
    return true;
}

static uint64_t take_integer(parser *p)
{
    uint64_t value = p->lex.token.bits;
    if (p->lex.token.kind != PS_TOKEN_INTEGER)
        ps_lex_fail(&p->lex, p->lex.token.line, "expected an integer");
    ps_lex_next(&p->lex);
    return value;
}

static int64_t take_signed(parser *p)
{
    bool negative = ps_lex_take(&p->lex, '-');
    uint64_t value = take_integer(p);
    return (int64_t)(negative ? 0 - value : value);
}

/* ---- variables ---- */

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) / align * align;
}

/* Entries do not run together, so each starts where the module's variables end; those of functions count as the
   module's. */
static void place_shared(parser *p, ps_var *v)
{
    ps_module *m = p->m;
    bool own = p->function && p->function->is_entry;
    uint64_t *end = own ? &p->function->shared_bytes : &m->shared_bytes;
    uint64_t at = align_up(own ? *end : m->shared_end, v->align);
    v->address = PS_SHARED_START + at;
    *end = at + v->size;
    if (m->shared_end < *end)
        m->shared_end = *end;
}

/* Gives a variable its place. Parameters of entries are placed by their list. */
static void place_variable(parser *p, ps_var *v)
{
    ps_module *m = p->m;
    switch (v->space) {
    case PS_SHARED:
        if (v->is_extern) {
            m->dynamic_align = m->dynamic_align > v->align ? m->dynamic_align : v->align;
            break; /* follows the static part: place_dynamic */
        }
        place_shared(p, v);
        break;
    case PS_LOCAL:
    case PS_PARAM_FUNC:
        m->local_bytes = align_up(m->local_bytes, v->align);
        v->address = PS_LOCAL_START + m->local_bytes;
        m->local_bytes += v->size;
        break;
    case PS_GLOBAL:
    case PS_CONST:
        v->address = m->variable_end;
        m->variable_end = align_up(v->address + v->size + 256, 256);
        m->variables = ps_grow(m->variables, m->variable_count, &m->variable_size, sizeof *m->variables);
        m->variables[m->variable_count++] = (ps_buffer){.address = v->address,
                                                        .size = v->size,
                                                        .name = v->name,
                                                        .bytes = bc_arena_alloc(&m->arena, (size_t)v->size + 1, 16),
                                                        .read_only = v->space == PS_CONST,
                                                        .is_variable = true};
        break;
    case PS_GENERIC:
    case PS_SHARED_CLUSTER:
    case PS_PARAM: break;
    }
}

/* The value of one element of an initialiser: a number, or the address of a variable. */
static uint64_t take_initial(parser *p, ps_type type)
{
    const ps_token *t = &p->lex.token;
    bool negative = ps_lex_take(&p->lex, '-');
    uint64_t value = 0;
    if (t->kind == PS_TOKEN_WORD) {
        tv_str name = t->text;
        bool generic = bc_str_is(name, "generic");
        if (generic) {
            ps_lex_next(&p->lex);
            ps_lex_expect(&p->lex, '(');
            name = t->text;
        }
        const ps_symbol *symbol = ps_scope_find(&p->scopes, name, false);
        if (!symbol || symbol->kind != PS_SYMBOL_VARIABLE)
            fail_at(p, t->line, "expected a number or a variable, found", name);
        else
            value = symbol->var->address;
        ps_lex_next(&p->lex);
        if (generic)
            ps_lex_expect(&p->lex, ')');
        if (ps_lex_take(&p->lex, '+'))
            value += (uint64_t)take_signed(p);
        return value;
    }
    if (t->kind == PS_TOKEN_FLOAT) {
        double number = negative ? -t->number : t->number;
        value = type == PS_F32 ? bc_f32_bits((float)number) : bc_f64_bits(number);
    } else if (t->kind == PS_TOKEN_INTEGER || t->kind == PS_TOKEN_BITS) {
        value = negative ? 0 - t->bits : t->bits;
    } else {
        ps_lex_fail(&p->lex, t->line, "expected a number");
    }
    ps_lex_next(&p->lex);
    return value;
}

/* { ... }, nested as the dimensions are; elements follow each other. */
static size_t take_initialiser(parser *p, ps_type type, uint8_t **bytes, size_t *size, size_t used)
{
    size_t width = ps_types[type].bits / 8;
    if (ps_lex_take(&p->lex, '{')) {
        while (!ps_lex_is(&p->lex, '}') && p->lex.token.kind != PS_TOKEN_END) {
            used = take_initialiser(p, type, bytes, size, used);
            if (!ps_lex_take(&p->lex, ','))
                break;
        }
        ps_lex_expect(&p->lex, '}');
        return used;
    }
    uint64_t value = take_initial(p, type);
    while (used + width > *size)
        *bytes = ps_grow(*bytes, *size, size, 1);
    memcpy(*bytes + used, &value, width < 8 ? width : 8);
    return used + width;
}

/* name[dims] = init, after space, alignment and type. */
static ps_var *take_variable(parser *p, ps_space space, ps_type type, unsigned vector, uint32_t align, bool is_extern)
{
    ps_var *v = bc_new(&p->m->arena, ps_var, 1);
    uint64_t elements = vector;
    bool open = false;
    tv_str name = take_name(p);
    *v = (ps_var){.name = name.ptr, .space = space, .type = type, .is_extern = is_extern};
    while (ps_lex_take(&p->lex, '[')) {
        if (ps_lex_is(&p->lex, ']'))
            open = true;
        else
            elements *= take_integer(p);
        ps_lex_expect(&p->lex, ']');
    }
    uint8_t *bytes = NULL;
    size_t size = 0, used = 0;
    if (ps_lex_take(&p->lex, '='))
        used = take_initialiser(p, type, &bytes, &size, 0);
    v->size = open ? used : elements * (ps_types[type].bits / 8);
    uint32_t natural = vector * (ps_types[type].bits / 8u);
    v->align = align ? align : natural;
    if (v->size > UINT32_MAX)
        fail_at(p, p->lex.token.line, "too large:", name);
    else
        place_variable(p, v);
    if (used > v->size)
        fail_at(p, p->lex.token.line, "too many initial values for", name);
    else if (used && space != PS_GLOBAL && space != PS_CONST)
        fail_at(p, p->lex.token.line, "only .global and .const variables have initial values:", name);
    else if (used)
        memcpy(p->m->variables[p->m->variable_count - 1].bytes, bytes, used);
    free(bytes);
    ps_symbol *symbol = ps_scope_add(&p->scopes, name, PS_SYMBOL_VARIABLE);
    if (symbol)
        symbol->var = v;
    else if (!is_extern)
        fail_at(p, p->lex.token.line, "declared twice:", name);
    return v;
}

/* What stands between a space and the name: .align N .v4 .u32 .ptr .global ... */
static void take_variable_head(parser *p, ps_type *type, unsigned *vector, uint32_t *align)
{
    *vector = 1;
    *align = 0;
    *type = PS_NO_TYPE;
    uint32_t ignored = 0, *into = align; /* .align after .ptr is about what it points to */
    while (p->lex.token.kind == PS_TOKEN_WORD && p->lex.token.text.ptr[0] == '.') {
        uint32_t line = p->lex.token.line;
        tv_str word = p->lex.token.text;
        if (take_type(p, type))
            continue;
        ps_lex_next(&p->lex);
        if (bc_str_is(word, ".align")) {
            *into = (uint32_t)take_integer(p);
            if (*into == 0 || (*into & (*into - 1)) || *into > 4096)
                ps_lex_fail(&p->lex, line, ".align wants a power of two");
        } else if (bc_str_is(word, ".v2") || bc_str_is(word, ".v4")) {
            *vector = (unsigned)(word.ptr[2] - '0');
        } else if (bc_str_is(word, ".ptr")) {
            into = &ignored;
        } else if (bc_str_is(word, ".attribute")) {
            ps_lex_expect(&p->lex, '(');
            while (!ps_lex_take(&p->lex, ')') && p->lex.token.kind != PS_TOKEN_END)
                ps_lex_next(&p->lex);
        } else if (!(into == &ignored
                     && (bc_str_is(word, ".global") || bc_str_is(word, ".shared") || bc_str_is(word, ".local")
                         || bc_str_is(word, ".const")))) {
            fail_at(p, line, "unknown word in a declaration:", word);
        }
    }
    if (*type == PS_NO_TYPE)
        ps_lex_fail(&p->lex, p->lex.token.line, "expected a type");
}

static void take_variables(parser *p, ps_space space, bool is_extern)
{
    ps_type type;
    unsigned vector;
    uint32_t align;
    take_variable_head(p, &type, &vector, &align);
    do {
        if (p->lex.error[0])
            return;
        take_variable(p, space, type, vector, align, is_extern);
    } while (ps_lex_take(&p->lex, ','));
    ps_lex_expect(&p->lex, ';');
}

/* ---- registers ---- */

static ps_symbol *add_register(parser *p, tv_str name, ps_type type)
{
    ps_symbol *symbol = ps_scope_add(&p->scopes, name, PS_SYMBOL_REGISTER);
    if (symbol)
        symbol->type = (uint8_t)type;
    else
        fail_at(p, p->lex.token.line, "declared twice:", name);
    return symbol;
}

static void add_register_range(parser *p, tv_str name, ps_type type)
{
    uint64_t count = take_integer(p);
    if (count > MAX_RANGE)
        fail_at(p, p->lex.token.line, "too many registers:", name);
    for (uint64_t i = 0; i < count && !p->lex.error[0]; i++) {
        char text[300];
        int length = snprintf(text, sizeof text, "%.*s%llu", (int)name.len, name.ptr, (unsigned long long)i);
        add_register(p, bc_arena_dup(&p->m->arena, (tv_str){text, (size_t)length}), type);
    }
    ps_lex_expect(&p->lex, '>');
}

static void take_registers(parser *p)
{
    ps_type type = PS_NO_TYPE;
    if (!take_type(p, &type))
        ps_lex_fail(&p->lex, p->lex.token.line, "expected the type of a register");
    while (!p->lex.error[0]) {
        tv_str name = take_name(p);
        if (name.len > 200)
            fail_at(p, p->lex.token.line, "too long:", name);
        else if (ps_lex_take(&p->lex, '<'))
            add_register_range(p, name, type);
        else
            add_register(p, name, type);
        if (!ps_lex_take(&p->lex, ','))
            break;
    }
    ps_lex_expect(&p->lex, ';');
}

static uint32_t register_slot(parser *p, ps_symbol *symbol)
{
    if (!symbol->has_slot) {
        symbol->has_slot = true;
        if (symbol->type == PS_PRED) {
            symbol->slot = p->m->predicates++;
        } else {
            symbol->slot = p->m->rows;
            p->m->rows += symbol->type == PS_B128 ? 2 : 1;
        }
    }
    return symbol->slot;
}

/* ---- operands ---- */

static const uint64_t *constant_row(parser *p, uint64_t value)
{
    uint64_t *row = bc_new(&p->m->arena, uint64_t, PS_LANES);
    for (unsigned l = 0; row && l < PS_LANES; l++)
        row[l] = value;
    return row;
}

static void parse_operand(parser *p, ps_operand *o);

/* Elements up to `close`. */
static void parse_list(parser *p, ps_operand *o, char close)
{
    ps_operand *items = NULL;
    size_t count = 0, size = 0;
    while (!ps_lex_is(&p->lex, close) && p->lex.token.kind != PS_TOKEN_END) {
        items = ps_grow(items, count, &size, sizeof *items);
        parse_operand(p, &items[count++]);
        if (!ps_lex_take(&p->lex, ','))
            break;
    }
    ps_lex_expect(&p->lex, close);
    *o = (ps_operand){.kind = PS_VECTOR, .count = (uint32_t)count, .sub = bc_new(&p->m->arena, ps_operand, count)};
    if (count)
        memcpy(o->sub, items, count * sizeof *items);
    free(items);
}

static void parse_immediate(parser *p, ps_operand *o)
{
    bool negative = false, inverted = false;
    for (;;) {
        if (ps_lex_take(&p->lex, '-'))
            negative = !negative;
        else if (ps_lex_take(&p->lex, '~'))
            inverted = !inverted;
        else if (!ps_lex_take(&p->lex, '+'))
            break;
    }
    const ps_token *t = &p->lex.token;
    *o = (ps_operand){.kind = PS_IMMEDIATE};
    if (t->kind == PS_TOKEN_FLOAT) {
        o->is_float = true;
        o->value = bc_f64_bits(negative ? -t->number : t->number);
    } else if (t->kind == PS_TOKEN_BITS || t->kind == PS_TOKEN_INTEGER) {
        o->exact_float = t->kind == PS_TOKEN_BITS;
        if (negative && o->exact_float)
            o->value = t->bits ^ (t->is_double ? UINT64_C(1) << 63 : UINT64_C(1) << 31);
        else
            o->value = negative ? 0 - t->bits : t->bits;
        if (inverted)
            o->value = ~o->value;
    } else {
        ps_lex_fail(&p->lex, t->line, "expected an operand");
    }
    ps_lex_next(&p->lex);
}

/* [base+offset] or [base, {coordinates}] */
static void parse_address(parser *p, ps_operand *o)
{
    ps_operand *base = bc_new(&p->m->arena, ps_operand, 1);
    parse_operand(p, base);
    *o = (ps_operand){.kind = PS_ADDRESS};
    if (base->kind == PS_REG) {
        o->sub = base;
        if (ps_lex_take(&p->lex, '+'))
            o->value = (uint64_t)take_signed(p);
        else if (ps_lex_is(&p->lex, '-'))
            o->value = (uint64_t)take_signed(p);
    } else if (base->kind == PS_VARIABLE) {
        o->var = base->var;
        o->value = base->value;
    } else if (base->kind == PS_IMMEDIATE) {
        o->value = base->value;
    } else {
        ps_lex_fail(&p->lex, p->lex.token.line, "expected a register, variable or number in an address");
    }
    if (ps_lex_take(&p->lex, ',')) {
        o->pair = bc_new(&p->m->arena, ps_operand, 1);
        parse_operand(p, o->pair);
    }
    ps_lex_expect(&p->lex, ']');
}

static void parse_named(parser *p, ps_operand *o)
{
    tv_str name = p->lex.token.text;
    uint32_t line = p->lex.token.line;
    ps_symbol *symbol = ps_scope_find(&p->scopes, name, false);
    *o = (ps_operand){0};
    int special = -1;
    if (symbol && symbol->kind == PS_SYMBOL_REGISTER) {
        o->kind = symbol->type == PS_PRED ? PS_PREDICATE : PS_REG;
        o->type = symbol->type;
        o->slot = register_slot(p, symbol);
    } else if (symbol && symbol->kind == PS_SYMBOL_VARIABLE) {
        o->kind = PS_VARIABLE;
        o->var = symbol->var;
        o->value = symbol->var->address;
    } else if (symbol) {
        o->kind = PS_FUNCTION;
        o->slot = symbol->slot;
    } else if (bc_str_is(name, "_")) {
        o->kind = PS_SINK;
    } else if (bc_str_is(name, "WARP_SZ")) {
        o->kind = PS_IMMEDIATE;
        o->value = PS_LANES;
    } else if ((special = ps_special_find(dup(p, name))) >= 0) {
        o->kind = PS_SREG;
        o->slot = (uint32_t)special;
    } else if (name.ptr[0] == '%') {
        fail_at(p, line, "no register of the name", name);
    } else {
        o->kind = PS_LABEL;
    }
    o->name = dup(p, name);
    ps_lex_next(&p->lex);
    if (o->kind == PS_VARIABLE) {
        if (ps_lex_take(&p->lex, '+'))
            o->value += (uint64_t)take_signed(p);
        o->row = constant_row(p, o->value);
    }
}

static void parse_operand(parser *p, ps_operand *o)
{
    if (ps_lex_take(&p->lex, '{')) {
        parse_list(p, o, '}');
    } else if (ps_lex_take(&p->lex, '(')) {
        parse_list(p, o, ')');
    } else if (ps_lex_take(&p->lex, '[')) {
        parse_address(p, o);
    } else if (ps_lex_take(&p->lex, '!')) {
        parse_operand(p, o);
        o->negated = !o->negated;
        if (o->kind != PS_PREDICATE)
            ps_lex_fail(&p->lex, p->lex.token.line, "expected a predicate after '!'");
    } else if (p->lex.token.kind == PS_TOKEN_WORD) {
        parse_named(p, o);
    } else {
        parse_immediate(p, o);
    }
    if (ps_lex_take(&p->lex, '|')) {
        o->pair = bc_new(&p->m->arena, ps_operand, 1);
        parse_operand(p, o->pair);
    }
}

/* ---- statements ---- */

static ps_insn *new_insn(parser *p)
{
    ps_module *m = p->m;
    m->code = ps_grow(m->code, m->code_count, &m->code_size, sizeof *m->code);
    ps_insn *in = &m->code[m->code_count++];
    *in = (ps_insn){.guard = -1, .type = PS_NO_TYPE, .from = PS_NO_TYPE, .line = p->lex.token.line, .comment = ""};
    if (p->lex.comment.len) {
        if (p->lex.comment.ptr != p->comment_text.ptr) {
            p->comment_text = p->lex.comment;
            p->comment = dup(p, p->comment_text);
        }
        in->comment = p->comment;
    }
    return in;
}

/* Decimal floats become patterns of the instruction's type; then constants get their rows. */
static void finish_constants(parser *p, ps_operand *operands, uint32_t count, ps_type type)
{
    for (uint32_t i = 0; i < count; i++) {
        ps_operand *o = &operands[i];
        if (o->kind == PS_VECTOR)
            finish_constants(p, o->sub, o->count, type);
        if (o->pair)
            finish_constants(p, o->pair, 1, type);
        if (o->kind != PS_IMMEDIATE)
            continue;
        if (o->is_float && type == PS_F32)
            o->value = bc_f32_bits((float)bc_f64_from_bits(o->value));
        o->row = constant_row(p, o->value);
    }
}

static void add_fixups(parser *p, size_t index, const ps_operand *operands, uint32_t count, uint32_t line)
{
    for (uint32_t i = 0; i < count; i++) {
        if (operands[i].kind != PS_LABEL)
            continue;
        p->fixups = ps_grow(p->fixups, p->fixup_count, &p->fixup_size, sizeof *p->fixups);
        p->fixups[p->fixup_count++] =
            (fixup){.insn = index, .name = bc_str(operands[i].name), .depth = p->scopes.depth, .line = line};
    }
}

static void parse_guard(parser *p, ps_insn *in)
{
    ps_operand guard;
    parse_operand(p, &guard);
    if (guard.kind != PS_PREDICATE)
        ps_lex_fail(&p->lex, p->lex.token.line, "expected a predicate after '@'");
    in->guard = (int32_t)guard.slot;
    in->guard_negated = guard.negated;
}

static void parse_instruction(parser *p)
{
    ps_operand operands[PS_MAX_OPERANDS];
    uint32_t count = 0;
    size_t index = p->m->code_count;
    ps_insn *in = new_insn(p);
    if (ps_lex_take(&p->lex, '@'))
        parse_guard(p, in);
    uint32_t line = p->lex.token.line;
    in->line = line;
    in->opcode = take_name(p).ptr;
    while (!ps_lex_is(&p->lex, ';') && p->lex.token.kind != PS_TOKEN_END) {
        if (count == PS_MAX_OPERANDS) {
            ps_lex_fail(&p->lex, line, "too many operands");
            return;
        }
        parse_operand(p, &operands[count++]);
        if (!ps_lex_take(&p->lex, ','))
            break;
    }
    ps_lex_expect(&p->lex, ';');
    if (p->lex.error[0])
        return;
    in->operands = bc_new(&p->m->arena, ps_operand, count);
    in->count = (uint8_t)count;
    if (count)
        memcpy(in->operands, operands, count * sizeof *operands);
    char error[160];
    if (!ps_decode(p->m, in, in->opcode, error, sizeof error)) {
        ps_lex_fail(&p->lex, line, "%s", error);
        return;
    }
    finish_constants(p, in->operands, in->count, (ps_type)in->type);
    add_fixups(p, index, in->operands, in->count, line);
}

static void parse_branch_targets(parser *p, ps_symbol *label)
{
    tv_str names[256];
    uint32_t count = 0;
    do {
        if (count == 256) {
            ps_lex_fail(&p->lex, p->lex.token.line, "more than 256 branch targets");
            return;
        }
        names[count++] = take_name(p);
    } while (ps_lex_take(&p->lex, ','));
    ps_lex_expect(&p->lex, ';');
    label->targets = bc_new(&p->m->arena, tv_str, count);
    label->target_count = count;
    memcpy(label->targets, names, count * sizeof *names);
}

static void parse_label(parser *p, tv_str name)
{
    ps_symbol *label = ps_scope_add(&p->scopes, name, PS_SYMBOL_LABEL);
    if (!label) {
        fail_at(p, p->lex.token.line, "label given twice:", name);
        return;
    }
    label->slot = (uint32_t)p->m->code_count;
    if (ps_lex_take_word(&p->lex, ".branchtargets")) {
        parse_branch_targets(p, label);
    } else if (ps_lex_take_word(&p->lex, ".callprototype")) {
        while (!ps_lex_take(&p->lex, ';') && p->lex.token.kind != PS_TOKEN_END)
            ps_lex_next(&p->lex);
    }
}

static bool resolve_targets(parser *p, ps_insn *in, const ps_symbol *label)
{
    if (!label->target_count) {
        in->target = label->slot;
        return true;
    }
    in->target_count = label->target_count;
    in->targets = bc_new(&p->m->arena, uint32_t, label->target_count);
    for (uint32_t i = 0; i < label->target_count; i++) {
        const ps_symbol *target = ps_scope_find(&p->scopes, label->targets[i], true);
        if (!target)
            return false;
        in->targets[i] = target->slot;
    }
    return true;
}

/* At the end of a scope its labels are known; what it does not have, the scope around it may. */
static void close_scope(parser *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->fixup_count; i++) {
        fixup *f = &p->fixups[i];
        const ps_symbol *label = f->depth == p->scopes.depth ? ps_scope_find(&p->scopes, f->name, true) : NULL;
        if (label && (size_t)(label - p->scopes.symbols) >= p->scopes.starts[p->scopes.depth - 1]) {
            if (!resolve_targets(p, &p->m->code[f->insn], label))
                fail_at(p, f->line, "a branch target is missing in", f->name);
            continue;
        }
        if (f->depth == p->scopes.depth)
            f->depth--;
        p->fixups[kept++] = *f;
    }
    p->fixup_count = kept;
    ps_scope_close(&p->scopes);
}

static void parse_body(parser *p);

static void parse_body_directive(parser *p)
{
    uint32_t line = p->lex.token.line;
    tv_str word = p->lex.token.text;
    if (bc_str_is(word, ".loc") || bc_str_is(word, ".file")) {
        ps_lex_skip_line(&p->lex);
        return;
    }
    ps_lex_next(&p->lex);
    if (bc_str_is(word, ".reg"))
        take_registers(p);
    else if (bc_str_is(word, ".local"))
        take_variables(p, PS_LOCAL, false);
    else if (bc_str_is(word, ".shared"))
        take_variables(p, PS_SHARED, false);
    else if (bc_str_is(word, ".global"))
        take_variables(p, PS_GLOBAL, false);
    else if (bc_str_is(word, ".const"))
        take_variables(p, PS_CONST, false);
    else if (bc_str_is(word, ".param"))
        take_variables(p, PS_PARAM_FUNC, false);
    else if (bc_str_is(word, ".pragma")) {
        while (!ps_lex_take(&p->lex, ';') && p->lex.token.kind != PS_TOKEN_END)
            ps_lex_next(&p->lex);
    } else
        fail_at(p, line, "unknown directive", word);
}

static void parse_statement(parser *p)
{
    const ps_token *t = &p->lex.token;
    if (ps_lex_take(&p->lex, ';'))
        return;
    if (ps_lex_is(&p->lex, '{')) {
        parse_body(p);
        return;
    }
    if (t->kind == PS_TOKEN_WORD && t->text.ptr[0] == '.') {
        parse_body_directive(p);
        return;
    }
    ps_lexer here = p->lex;
    if (t->kind == PS_TOKEN_WORD) {
        tv_str name = take_name(p);
        if (ps_lex_take(&p->lex, ':')) {
            parse_label(p, name);
            return;
        }
        if (!p->lex.error[0])
            p->lex = here;
    } else if (!ps_lex_is(&p->lex, '@')) {
        ps_lex_fail(&p->lex, t->line, "expected an instruction");
    }
    if (!p->lex.error[0])
        parse_instruction(p);
}

static void parse_body(parser *p)
{
    ps_lex_expect(&p->lex, '{');
    if (!ps_scope_open(&p->scopes)) {
        ps_lex_fail(&p->lex, p->lex.token.line, "scopes are nested too deeply");
        return;
    }
    while (!ps_lex_is(&p->lex, '}') && p->lex.token.kind != PS_TOKEN_END)
        parse_statement(p);
    ps_lex_expect(&p->lex, '}');
    close_scope(p);
}

/* ---- functions ---- */

/* One formal parameter or result: .param or .reg. */
static void parse_formal(parser *p, ps_function *f, ps_operand *o)
{
    ps_type type;
    unsigned vector;
    uint32_t align;
    if (ps_lex_take_word(&p->lex, ".reg")) {
        if (!take_type(p, &type)) {
            ps_lex_fail(&p->lex, p->lex.token.line, "expected the type of a register");
            return;
        }
        ps_symbol *symbol = add_register(p, take_name(p), type);
        if (symbol)
            *o = (ps_operand){.kind = type == PS_PRED ? PS_PREDICATE : PS_REG,
                              .type = (uint8_t)type,
                              .slot = register_slot(p, symbol),
                              .name = symbol->name.ptr};
        return;
    }
    ps_lex_take_word(&p->lex, ".hidden");
    if (!ps_lex_take_word(&p->lex, ".param"))
        ps_lex_fail(&p->lex, p->lex.token.line, "expected .param or .reg");
    take_variable_head(p, &type, &vector, &align);
    if (p->lex.error[0])
        return;
    ps_var *v = take_variable(p, f->is_entry ? PS_PARAM : PS_PARAM_FUNC, type, vector, align, false);
    if (f->is_entry) {
        v->address = align_up(f->param_bytes, v->align);
        f->param_bytes = v->address + v->size;
    }
    *o = (ps_operand){.kind = PS_VARIABLE, .var = v, .name = v->name};
}

static void parse_formals(parser *p, ps_function *f, ps_operand **out, uint32_t *out_count)
{
    ps_operand *items = NULL;
    size_t count = 0, size = 0;
    while (!ps_lex_is(&p->lex, ')') && p->lex.token.kind != PS_TOKEN_END) {
        items = ps_grow(items, count, &size, sizeof *items);
        items[count] = (ps_operand){0};
        parse_formal(p, f, &items[count++]);
        if (!ps_lex_take(&p->lex, ','))
            break;
    }
    ps_lex_expect(&p->lex, ')');
    *out = bc_new(&p->m->arena, ps_operand, count);
    if (count)
        memcpy(*out, items, count * sizeof *items);
    *out_count = (uint32_t)count;
    free(items);
}

static void take_extents(parser *p, uint32_t out[3])
{
    for (unsigned i = 0; i < 3; i++)
        out[i] = 1;
    for (unsigned i = 0; i < 3; i++) {
        out[i] = (uint32_t)take_integer(p);
        if (!ps_lex_take(&p->lex, ','))
            break;
    }
}

static void parse_performance_directives(parser *p, ps_function *f)
{
    while (p->lex.token.kind == PS_TOKEN_WORD && !p->lex.error[0]) {
        tv_str word = p->lex.token.text;
        uint32_t line = p->lex.token.line, ignored[3];
        ps_lex_next(&p->lex);
        if (bc_str_is(word, ".reqntid"))
            take_extents(p, f->reqntid);
        else if (bc_str_is(word, ".maxntid"))
            take_extents(p, f->maxntid);
        else if (bc_str_is(word, ".reqnctapercluster"))
            take_extents(p, f->cluster);
        else if (bc_str_is(word, ".maxnreg") || bc_str_is(word, ".minnctapersm") || bc_str_is(word, ".maxnctapersm")
                 || bc_str_is(word, ".maxclusterrank"))
            take_extents(p, ignored);
        else if (bc_str_is(word, ".pragma"))
            while (!ps_lex_take(&p->lex, ';') && p->lex.token.kind != PS_TOKEN_END)
                ps_lex_next(&p->lex);
        else if (bc_str_is(word, ".blocksareclusters"))
            f->counts_clusters = true;
        else if (bc_str_is(word, ".language"))
            p->m->is_dialect = take_integer(p) != 0;
        else if (!bc_str_is(word, ".explicitcluster") && !bc_str_is(word, ".noreturn") && !bc_str_is(word, ".unified"))
            fail_at(p, line, "unknown directive", word);
    }
}

static ps_function *function_named(parser *p, tv_str name)
{
    ps_module *m = p->m;
    for (size_t i = 0; i < m->function_count; i++)
        if (bc_str_is(name, m->functions[i]->name))
            return m->functions[i];
    ps_function *f = bc_new(&m->arena, ps_function, 1);
    f->name = name.ptr;
    f->index = (uint32_t)m->function_count;
    m->functions = ps_grow(m->functions, m->function_count, &m->function_size, sizeof *m->functions);
    m->functions[m->function_count++] = f;
    return f;
}

/* The name is known in the module's scope, around the one of its parameters. */
static void add_function_symbol(parser *p, const ps_function *f)
{
    if (ps_scope_find(&p->scopes, bc_str(f->name), false))
        return;
    ps_symbol *symbol = ps_scope_add(&p->scopes, bc_str(f->name), PS_SYMBOL_FUNCTION);
    if (symbol)
        symbol->slot = f->index;
}

/* .func (results) name (params) { body }, .entry name (params) { body }, or a declaration. */
static void parse_function(parser *p, bool is_entry)
{
    ps_function head = {.is_entry = is_entry};
    ps_scopes *s = &p->scopes;
    while (ps_lex_take_word(&p->lex, ".noreturn") || ps_lex_take_word(&p->lex, ".attribute"))
        if (ps_lex_take(&p->lex, '('))
            while (!ps_lex_take(&p->lex, ')') && p->lex.token.kind != PS_TOKEN_END)
                ps_lex_next(&p->lex);
    /* The name comes after the results, which belong to the function's scope: look ahead for it. */
    ps_lexer here = p->lex;
    if (ps_lex_take(&p->lex, '('))
        while (!ps_lex_take(&p->lex, ')') && p->lex.token.kind != PS_TOKEN_END)
            ps_lex_next(&p->lex);
    tv_str name = take_name(p);
    if (p->lex.error[0])
        return;
    ps_function *f = function_named(p, name);
    add_function_symbol(p, f);
    p->lex = here;
    if (!ps_scope_open(s))
        return;
    if (ps_lex_take(&p->lex, '('))
        parse_formals(p, &head, &head.results, &head.result_count);
    take_name(p);
    if (ps_lex_take(&p->lex, '('))
        parse_formals(p, &head, &head.params, &head.param_count);
    parse_performance_directives(p, &head);
    bool body = ps_lex_is(&p->lex, '{');
    if (body && f->is_defined)
        fail_at(p, p->lex.token.line, "defined twice:", name);
    if (!f->is_defined) {
        head.name = f->name;
        head.index = f->index;
        *f = head;
    }
    if (body) {
        f->is_defined = true;
        f->entry = (uint32_t)p->m->code_count;
        f->shared_bytes = p->m->shared_bytes;
        p->function = f;
        parse_body(p);
        p->function = NULL;
        ps_insn *end = new_insn(p); /* running off the end is a return */
        end->opcode = "end of the function";
        end->exec = is_entry ? ps_exec_exit : ps_exec_ret;
        f->end = (uint32_t)p->m->code_count;
    } else {
        ps_lex_expect(&p->lex, ';');
    }
    close_scope(p);
    for (size_t i = 0; i < p->fixup_count; i++)
        fail_at(p, p->fixups[i].line, "no label, register or variable of the name", p->fixups[i].name);
    p->fixup_count = 0;
}

/* ---- the module ---- */

static void parse_target(parser *p)
{
    do {
        tv_str name = take_name(p);
        if (name.len > 3 && memcmp(name.ptr, "sm_", 3) == 0)
            p->m->sm = (unsigned)strtoul(name.ptr + 3, NULL, 10);
    } while (ps_lex_take(&p->lex, ','));
}

static void skip_section(parser *p)
{
    while (!ps_lex_is(&p->lex, '{') && p->lex.token.kind != PS_TOKEN_END)
        ps_lex_next(&p->lex);
    while (!ps_lex_is(&p->lex, '}') && p->lex.token.kind != PS_TOKEN_END)
        ps_lex_next(&p->lex);
    ps_lex_expect(&p->lex, '}');
}

static void parse_module_directive(parser *p)
{
    uint32_t line = p->lex.token.line;
    bool is_extern = false;
    tv_str word = p->lex.token.text;
    while (bc_str_is(word, ".visible") || bc_str_is(word, ".extern") || bc_str_is(word, ".weak")
           || bc_str_is(word, ".common")) {
        is_extern = is_extern || bc_str_is(word, ".extern");
        ps_lex_next(&p->lex);
        word = p->lex.token.kind == PS_TOKEN_WORD ? p->lex.token.text : (tv_str){"", 0};
    }
    if (bc_str_is(word, ".file") || bc_str_is(word, ".loc")) {
        ps_lex_skip_line(&p->lex);
        return;
    }
    ps_lex_next(&p->lex);
    if (bc_str_is(word, ".version"))
        ps_lex_next(&p->lex);
    else if (bc_str_is(word, ".target"))
        parse_target(p);
    else if (bc_str_is(word, ".address_size"))
        take_integer(p);
    else if (bc_str_is(word, ".entry"))
        parse_function(p, true);
    else if (bc_str_is(word, ".func"))
        parse_function(p, false);
    else if (bc_str_is(word, ".global"))
        take_variables(p, PS_GLOBAL, is_extern);
    else if (bc_str_is(word, ".const"))
        take_variables(p, PS_CONST, is_extern);
    else if (bc_str_is(word, ".shared"))
        take_variables(p, PS_SHARED, is_extern);
    else if (bc_str_is(word, ".section"))
        skip_section(p);
    else if (bc_str_is(word, ".pragma"))
        while (!ps_lex_take(&p->lex, ';') && p->lex.token.kind != PS_TOKEN_END)
            ps_lex_next(&p->lex);
    else
        fail_at(p, line, "unknown directive", word);
}

static void list_entries(ps_module *m)
{
    m->entries = bc_new(&m->arena, ptxsim_entry, m->function_count);
    for (size_t i = 0; i < m->function_count; i++) {
        ps_function *f = m->functions[i];
        if (!f->is_entry || !f->is_defined)
            continue;
        ptxsim_param *params = bc_new(&m->arena, ptxsim_param, f->param_count);
        for (uint32_t k = 0; k < f->param_count; k++) {
            const ps_var *v = f->params[k].var;
            if (v)
                params[k] = (ptxsim_param){.name = v->name, .bytes = (size_t)v->size, .align = v->align};
        }
        f->info = (ptxsim_entry){.name = f->name,
                                 .params = params,
                                 .param_count = f->param_count,
                                 .counts_clusters = f->counts_clusters};
        memcpy(f->info.reqntid, f->reqntid, sizeof f->reqntid);
        memcpy(f->info.cluster, f->cluster, sizeof f->cluster);
        m->entries[m->entry_count++] = f->info;
    }
}

/* Dynamic shared memory follows the static part: operands that name it get its address now. */
static void place_dynamic(parser *p, ps_operand *operands, uint32_t count, uint64_t start)
{
    for (uint32_t i = 0; i < count; i++) {
        ps_operand *o = &operands[i];
        if (o->kind == PS_VECTOR)
            place_dynamic(p, o->sub, o->count, start);
        if (!o->var || !o->var->is_extern || o->var->space != PS_SHARED)
            continue;
        o->value += start;
        if (o->kind == PS_VARIABLE)
            o->row = constant_row(p, o->value);
    }
}

bool ps_parse(ps_module *m, const char *text, size_t size, char *error, size_t error_size)
{
    parser *p = ps_alloc(1, sizeof *p);
    p->m = m;
    m->granule_log2 = m->global_granule_log2 = 4;
    m->variable_end = PS_VARIABLES;
    m->dynamic_align = 16;
    ps_lex_start(&p->lex, text, size);
    ps_scope_open(&p->scopes);
    while (p->lex.token.kind != PS_TOKEN_END) {
        if (p->lex.token.kind == PS_TOKEN_WORD && p->lex.token.text.ptr[0] == '.')
            parse_module_directive(p);
        else
            ps_lex_fail(&p->lex, p->lex.token.line, "expected a directive");
    }
    bool fine = !p->lex.error[0] && !m->arena.failed;
    for (size_t i = 0; fine && i < m->function_count; i++) {
        const ps_function *f = m->functions[i];
        uint64_t used = f->is_entry ? f->shared_bytes : m->shared_end;
        for (uint32_t k = f->entry; k < f->end; k++)
            place_dynamic(p, m->code[k].operands, m->code[k].count, PS_SHARED_START + align_up(used, m->dynamic_align));
    }
    if (fine)
        list_entries(m);
    else
        snprintf(error, error_size, "%s", p->lex.error[0] ? p->lex.error : "out of memory");
    free(p->fixups);
    ps_scopes_release(&p->scopes);
    free(p);
    return fine;
}

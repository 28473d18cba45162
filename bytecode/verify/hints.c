/* Optimization hints of kernels, loads and stores: target -> name -> value. Compilers drop what they do not know
   without a word, so only their form is an error; a warning tells what has no effect.
   Source: memory operation reference, section 9. */
#include "bytecode/verify/hints.h"
#include "bytecode/verify/memory.h"

/* Where the hints stand: at a field of an op, or at the function. */
typedef struct hint_place {
    const bc_op *op;
    int row;
} hint_place;

static void hint_wrong(bc_verifier *v, const hint_place *at, bc_rule rule, const char *format, ...) TV_PRINTF(4, 5);

static void hint_wrong(bc_verifier *v, const hint_place *at, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *why = bc_why_words(v, format, args);
    va_end(args);
    if (at->op)
        bc_wrong(v, at->op, at->row, 0, rule, "%s", why);
    else
        bc_wrong_function(v, rule, bc_rules[rule].severity, "optimization_hints %s", why);
}

/* ---- values ---- */

enum { ON_ENTRY = 1, ON_PTR = 2, ON_VIEW = 4 };

typedef struct hint_name {
    const char *name;
    uint8_t where;
    uint8_t limit; /* largest integer; 0: a bool */
    bool power_of_two;
    const char *range;
} hint_name;

static const hint_name names[] = {
    {"num_cta_in_cga", ON_ENTRY, 16, true, "1, 2, 4, 8 or 16"},
    {"num_worker_warps_per_cta", ON_ENTRY, 32, true, "1, 2, 4, 8, 16 or 32"},
    {"occupancy", ON_ENTRY, 32, false, "1 to 32"},
    {"latency", ON_PTR | ON_VIEW, 10, false, "1 to 10"},
    {"allow_tma", ON_VIEW, 0, false, "true or false"},
};

static const hint_name *find_name(tv_str name, unsigned where)
{
    for (size_t i = 0; i < TV_COUNT(names); i++)
        if ((names[i].where & where) && bc_str_is(name, names[i].name))
            return &names[i];
    return NULL;
}

/* The signed value of an Integer attribute. */
static int64_t integer_value(const bc_tagged *t)
{
    unsigned bits = bc_kind_bits((bc_kind)t->type->kind), unused = 64 - bits;
    return bits == 0 || bits > 64 ? 0 : (int64_t)(t->u.bits << unused) >> unused;
}

static bool is_number_in_range(const hint_name *name, int64_t n)
{
    return n >= 1 && n <= name->limit && !(name->power_of_two && (n & (n - 1)));
}

static bool is_in_range(const hint_name *name, const bc_tagged *value)
{
    if (name->limit == 0)
        return value->tag == BC_TAG_BOOL || (value->tag == BC_TAG_INTEGER && value->type->kind == BC_I1);
    return value->tag == BC_TAG_INTEGER && is_number_in_range(name, integer_value(value));
}

/* sm of a target's name; 0: default; -1: no target. */
static int parse_target(tv_str name)
{
    if (bc_str_is(name, "default"))
        return 0;
    int sm = 0;
    if (name.len < 5 || name.len > 6 || memcmp(name.ptr, "sm_", 3) != 0)
        return -1;
    for (size_t i = 3; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9')
            return -1;
        sm = sm * 10 + (name.ptr[i] - '0');
    }
    return bc_is_target((unsigned)sm) ? sm : -1;
}

static void check_hint(bc_verifier *v, const hint_place *at, const bc_string *target, int sm, unsigned where,
                       const bc_entry *e)
{
    tv_str key = e->key->s;
    const hint_name *name = find_name(key, where);
    if (!name) {
        hint_wrong(v, at, BC_RULE_V_HINT_03, "for %.*s has a hint '%.*s' that has no effect here", (int)target->s.len,
                   target->s.ptr, (int)key.len, key.ptr);
        return;
    }
    if (!is_in_range(name, &e->value)) {
        hint_wrong(v, at, BC_RULE_V_HINT_02, "for %.*s has a value of %s that is ignored; it must be %s",
                   (int)target->s.len, target->s.ptr, name->name, name->range);
        return;
    }
    if (name == &names[0] && sm > 0 && !bc_target_has_clusters((unsigned)sm) && integer_value(&e->value) != 1)
        hint_wrong(v, at, BC_RULE_V_HINT_02, "for %.*s has a value of %s that is ignored; there it must be 1",
                   (int)target->s.len, target->s.ptr, name->name);
}

static void check_hints(bc_verifier *v, const hint_place *at, const bc_dict *hints, unsigned where)
{
    for (uint32_t i = 0; i < hints->count && !v->done; i++) {
        const bc_entry *target = &hints->entries[i];
        tv_str name = target->key->s;
        if (target->value.tag != BC_TAG_DICTIONARY) {
            hint_wrong(v, at, at->op ? BC_RULE_V_HINT_01 : BC_RULE_F_061, "for %.*s is not a dictionary", (int)name.len,
                       name.ptr);
            continue;
        }
        int sm = parse_target(name);
        if (sm < 0) {
            hint_wrong(v, at, BC_RULE_V_HINT_03, "names '%.*s', which is not a target for hints", (int)name.len,
                       name.ptr);
            continue;
        }
        for (uint32_t k = 0; k < target->value.u.dict.count; k++)
            check_hint(v, at, target->key, sm, where, &target->value.u.dict.entries[k]);
    }
}

/* Among a target's hints; NULL: they have none of that name that counts. */
static const bc_tagged *value_among(const bc_tagged *of_target, const hint_name *name)
{
    const bc_dict *dict = &of_target->u.dict;
    for (uint32_t i = 0; of_target->tag == BC_TAG_DICTIONARY && i < dict->count; i++)
        if (bc_str_is(dict->entries[i].key->s, name->name) && is_in_range(name, &dict->entries[i].value))
            return &dict->entries[i].value;
    return NULL;
}

/* For the target, else for all; NULL: neither. */
static const bc_tagged *value_for(const bc_tagged *hints, unsigned sm, const hint_name *name)
{
    const bc_tagged *otherwise = NULL;
    for (uint32_t i = 0; hints && i < hints->u.dict.count; i++) {
        const bc_entry *target = &hints->u.dict.entries[i];
        int of = parse_target(target->key->s);
        const bc_tagged *value = value_among(&target->value, name);
        if (value && of == (int)sm)
            return value;
        if (value && of == 0)
            otherwise = value;
    }
    return otherwise;
}

int64_t bc_entry_hint(const bc_function *f, unsigned sm, const char *name)
{
    const hint_name *known = find_name(bc_str(name), ON_ENTRY);
    const bc_tagged *value = known ? value_for(f->hints, sm, known) : NULL;
    return value ? integer_value(value) : 0;
}

bool bc_entry_hint_allows(const char *name, int64_t value, const char **out_range)
{
    const hint_name *known = find_name(bc_str(name), ON_ENTRY);
    *out_range = known ? known->range : "";
    return known && is_number_in_range(known, value);
}

bool bc_forbids_tma(const bc_op *load, unsigned sm)
{
    const bc_tagged *hints = bc_attr_of(load, F_load_view_tko_optimization_hints)->tagged;
    const bc_tagged *value = value_for(hints, sm, find_name(bc_str("allow_tma"), ON_VIEW));
    return value && !value->u.bits;
}

void bc_check_op_hints(bc_verifier *v, const bc_op *op, int row)
{
    const bc_tagged *hints = bc_attr_of(op, row)->tagged;
    if (TV_LIKELY(!hints))
        return;
    bool view = op->opcode == OP_load_view_tko || op->opcode == OP_store_view_tko;
    check_hints(v, &(hint_place){op, row}, &hints->u.dict, view ? ON_VIEW : ON_PTR);
}

void bc_check_entry_hints(bc_verifier *v, const bc_function *f)
{
    if (f->hints)
        check_hints(v, &(hint_place){NULL, BC_NO_ROW}, &f->hints->u.dict, ON_ENTRY);
}

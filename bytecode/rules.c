/* The rule table, spelled out, and its look-ups. */
#include "bytecode/rules.h"

#include <string.h>

const tv_rule bc_rules[BC_RULE_COUNT] = {
#define RULE(name, id_, severity_, title_, text_, help_) \
    [BC_RULE_##name] = {.id = id_, .severity = TV_##severity_, .title = title_, .text = text_, .help = help_},
#include "bytecode/rules.def"
};

const tv_rule *tv_rule_at(size_t index)
{
    return index < BC_RULE_COUNT ? &bc_rules[index] : NULL;
}

/* Other ids under which a reference states a rule. */
static const struct {
    const char *id;
    bc_rule rule;
} aliases[] = {
#define ALIAS(id_, name) {id_, BC_RULE_##name},
#include "bytecode/rules.def"
};

const tv_rule *tv_rule_find(const char *id)
{
    for (size_t i = 0; i < BC_RULE_COUNT; i++)
        if (strcmp(bc_rules[i].id, id) == 0)
            return &bc_rules[i];
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(aliases[i].id, id) == 0)
            return &bc_rules[aliases[i].rule];
    return NULL;
}

const char *tv_rule_alias_at(size_t index, const tv_rule **out_rule)
{
    if (index >= sizeof aliases / sizeof aliases[0])
        return NULL;
    *out_rule = &bc_rules[aliases[index].rule];
    return aliases[index].id;
}

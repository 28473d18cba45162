/* The rules of rules.def as C. */
#ifndef TILEVM_BYTECODE_RULES_H
#define TILEVM_BYTECODE_RULES_H

#include "tilevm/tilevm.h"

typedef enum bc_rule {
#define RULE(name, id, severity, title, text, help) BC_RULE_##name,
#include "bytecode/rules.def"
    BC_RULE_COUNT
} bc_rule;

extern const tv_rule bc_rules[BC_RULE_COUNT];

#endif

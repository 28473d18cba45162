/* One example per rule, taken from the fixtures of tests/rules when tilevm is built. */
#ifndef TILEVM_TOOLS_RULE_EXAMPLES_H
#define TILEVM_TOOLS_RULE_EXAMPLES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rule_example {
    const char *rule;      /* id */
    const char *why;       /* what the example shows, one sentence */
    bool bad_is_bytes;     /* annotated bytes (tests/mkbc.h) instead of assembly */
    bool good_is_bytes;
    const char *bad;       /* source text of an input that breaks the rule; lines end in \n */
    const char *good;      /* the same, mended */
    const char *message;   /* what tilevm prints for the bad one */
} rule_example;

extern const rule_example rule_examples[]; /* sorted by file name */
extern const size_t rule_example_count;

#endif

/* One example per rule, taken from the fixtures of tests/rules when tilevm is built. */
#ifndef TILEVM_TOOLS_CMD_RULE_EXAMPLES_H
#define TILEVM_TOOLS_CMD_RULE_EXAMPLES_H

/* The fields of an example, in the order in which they lie in rule_examples. */
typedef enum rule_field {
    EXAMPLE_RULE,     /* id */
    EXAMPLE_WHY,      /* what the example shows, one sentence */
    EXAMPLE_BAD_FORM, /* "bytes": annotated bytes (tests/common/mkbc.h) instead of assembly */
    EXAMPLE_GOOD_FORM,
    EXAMPLE_BAD,     /* source text of an input that breaks the rule; lines end in \n */
    EXAMPLE_GOOD,    /* the same, mended */
    EXAMPLE_MESSAGE, /* what tilevm prints for the bad one */
    EXAMPLE_FIELDS
} rule_field;

/* The fields of all examples, each ended by a zero, sorted by file name; an empty id ends them. One string and no table
   of pointers, which every start of the program would have to relocate. */
extern const char rule_examples[];

#endif

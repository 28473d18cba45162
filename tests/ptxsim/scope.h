/* Names in nested scopes. */
#ifndef TILEVM_TESTS_PTXSIM_SCOPE_H
#define TILEVM_TESTS_PTXSIM_SCOPE_H

#include "tests/ptxsim/sim.h"

typedef enum ps_symbol_kind {
    PS_SYMBOL_REGISTER,
    PS_SYMBOL_VARIABLE,
    PS_SYMBOL_FUNCTION,
    PS_SYMBOL_LABEL
} ps_symbol_kind;

typedef struct ps_symbol {
    tv_str name;
    uint8_t kind;  /* ps_symbol_kind */
    uint8_t type;  /* REGISTER */
    bool has_slot; /* REGISTER: rows are given out at the first use */
    uint32_t slot; /* REGISTER, FUNCTION; LABEL: instruction */
    ps_var *var;
    uint32_t hash, next; /* next older symbol of the bucket, plus 1 */
    tv_str *targets;     /* LABEL of .branchtargets */
    uint32_t target_count;
} ps_symbol;

enum { PS_BUCKETS = 4096, PS_MAX_SCOPES = 64 };

typedef struct ps_scopes {
    ps_symbol *symbols; /* oldest first; grows, so take no pointers along */
    size_t count, size;
    uint32_t buckets[PS_BUCKETS]; /* newest symbol, plus 1 */
    size_t starts[PS_MAX_SCOPES];
    unsigned depth;
} ps_scopes;

bool ps_scope_open(ps_scopes *s);
void ps_scope_close(ps_scopes *s);
void ps_scopes_release(ps_scopes *s);
/* The newest symbol of that name, or NULL. Labels and other names are apart. */
ps_symbol *ps_scope_find(ps_scopes *s, tv_str name, bool label);
/* A new symbol, or NULL when the innermost scope has one of that name. The name is borrowed. */
ps_symbol *ps_scope_add(ps_scopes *s, tv_str name, ps_symbol_kind kind);

#endif

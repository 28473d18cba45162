/* Finds the ops that an op follows, according to tokens (memory reference, 3.4). */
#ifndef TILEVM_CODEGEN_TILE_TOKENS_H
#define TILEVM_CODEGEN_TILE_TOKENS_H

#include "codegen/tile/ir.h"

enum { CT_MOST_SOURCES = 128 };

typedef struct ct_sources {
    const ct_value *tokens[CT_MOST_SOURCES]; /* that were followed */
    uint32_t count;
    bool all; /* too many, or from an unknown source: any op may be one */
} ct_sources;

/* Follows tokens through branches and loops, including earlier iterations. */
ct_sources ct_sources_of(const ct_op *op);
/* May the op follow that one? */
bool ct_is_source(const ct_sources *s, const ct_op *op);
/* Has the ops that follow a memory op, whose last result is a token, follow what it follows itself, so that it can go.
   False: out of memory. */
bool ct_pass_token_on(ct_func *f, ct_op *op);

#endif

/* Which ops an op's tokens come from: what it is ordered behind (memory reference, 3.4). */
#ifndef TILEVM_CODEGEN_TILE_TOKENS_H
#define TILEVM_CODEGEN_TILE_TOKENS_H

#include "codegen/tile/ir.h"

enum { CT_MOST_SOURCES = 128 };

typedef struct ct_sources {
    const ct_value *tokens[CT_MOST_SOURCES]; /* that have been followed */
    uint32_t count;
    bool all; /* too many, or from where nothing is known: any op may be one */
} ct_sources;

/* Through loops, of this and of earlier iterations, and branches. */
ct_sources ct_sources_of(const ct_op *op);
/* May the op be one of them? */
bool ct_is_source(const ct_sources *s, const ct_op *op);

#endif

/* Sources of rings: loads on which the addresses of the ring's loads depend, such as those of the entries of a page
   table. */
#ifndef TILEVM_CODEGEN_REWRITE_SOURCES_H
#define TILEVM_CODEGEN_REWRITE_SOURCES_H

#include "codegen/analysis/ring.h"

/* Where the sources of a ring have their values for other iterations. */
typedef struct cg_source_values {
    const cg_ring *ring;
    ct_op *loop;
    ct_value ***first; /* by source: in front of the loop, by iteration */
    uint32_t *carried; /* by source: the loop's first argument that has one of its values; in an iteration, that is
                          the one for the nearest iteration for which copies are started */
} cg_source_values;

/* Makes the loop carry the values of the ring's sources, if it has any. other: those of the loop's other ring, which the
   loop carries already; NULL: none. Returns the new loop; NULL: out of memory, which c records. */
ct_op *cg_carry_sources(cg_func *c, ct_op *loop, const cg_ring *ring, const cg_source_values *other,
                        cg_source_values *out);
/* Replaces the sources in the map by their values for the iteration n after the first one, or after the current one if
   `inside` the loop, for which copies are started. */
void cg_map_sources(const cg_source_values *s, ct_map *map, uint32_t n, bool inside);
/* Removes the ring's sources from the loop if their values only identify tiles that have been replaced by `staged`. */
void cg_drop_sources(cg_func *c, ct_op *loop, const cg_ring *ring);
/* A token after which a load of another iteration is ordered, in front of `place`, for a load that consumes a token of
   the loop's body: what the loop carries, or hands on, in this place. NULL: out of memory. */
ct_value *cg_token_at(cg_func *c, ct_op *loop, const ct_op *load, const bc_type *type, ct_op *place);

#endif

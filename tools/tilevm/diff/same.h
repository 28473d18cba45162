/* Types, attributes and constants that say the same, whatever their index, order or bytes; and hashes that agree. */
#ifndef TILEVM_TOOLS_DIFF_SAME_H
#define TILEVM_TOOLS_DIFF_SAME_H

#include "bytecode/module.h"

bool same_type(const bc_type *a, const bc_type *b);
/* Either may be NULL. The order of keys does not count, nor which of the two encodings of a truth value is used. */
bool same_tagged(const bc_tagged *a, const bc_tagged *b);
/* Records of values of one type: the same elements? NULL, or a type that the record does not fit: the same bytes? */
bool same_constant(const bc_type *type, const bc_blob *a, const bc_blob *b);
/* The attribute of a row; type: of the op's first result, or NULL. */
bool same_attr(const bc_row *row, const bc_type *type, const bc_attr *a, const bc_attr *b);

/* Hashes: what is the same as another gives the same. h is what the hash continues. */
uint64_t mix(uint64_t h, uint64_t v);
uint64_t mix_type(uint64_t h, const bc_type *t);
uint64_t mix_attr(uint64_t h, const bc_row *row, const bc_type *type, const bc_attr *a);

#endif

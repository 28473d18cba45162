/* Attributes as short text, for `diff`. */
#ifndef TILEVM_TOOLS_DIFF_VALUES_H
#define TILEVM_TOOLS_DIFF_VALUES_H

#include "bytecode/base/text.h"
#include "bytecode/module.h"

/* The value of an attribute slot; "absent" for an optional one that is not there. */
void value_attr_text(bc_text *out, const bc_row *row, const bc_attr *attr);
/* "12 bytes: 00 01 02 ...", with the bytes from there on where `from`, the first of interest, would not be seen. */
void value_blob_text(bc_text *out, const bc_blob *blob, size_t from);

#endif

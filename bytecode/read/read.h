/* What the parts of the reader share. The reader stops at its first error: later offsets would mean nothing. */
#ifndef TILEVM_BYTECODE_READ_READ_H
#define TILEVM_BYTECODE_READ_READ_H

#include "bytecode/read/cursor.h"
#include "bytecode/module.h"
#include "bytecode/print/report.h"

typedef struct bc_span {
    const uint8_t *ptr;
    size_t size;
    bool present;
} bc_span;

typedef struct bc_reader {
    bc_module *m;
    tv_sink sink;
    tv_status status;
    const bc_function *function; /* being read, for diagnostics */
    bc_reading reading;          /* likewise, the op */
    bc_span sections[BC_SECTION_COUNT];
    bc_oddities odd;

    /* Type records: decoded on first use, so forward references work. */
    const bc_type **types; /* by file index; NULL until decoded */
    uint8_t *type_busy;    /* being decoded: a reference to it is a cycle */
    const uint8_t *type_offsets, *type_data;
    size_t type_count, type_data_size;

    /* Debug section. */
    const uint8_t *first_index; /* u32[debug_functions] */
    const uint8_t *op_index;    /* u64[op_index_count] */
    size_t debug_functions, op_index_count;
    size_t next_loc, loc_limit; /* slots of the function being read */

    /* Function bodies: values in scope, and scratch for the record being read. */
    bc_value **values;
    size_t value_count, value_capacity;
    bc_value **operands;
    size_t operand_capacity;
    const bc_type **result_types;
    size_t result_capacity;
    uint32_t next_id, op_count;
    unsigned depth;
} bc_reader;

/* Reports the error at a file offset and remembers TV_INVALID; returns it. */
tv_status bc_fail(bc_reader *r, bc_rule rule, uint64_t offset, const char *format, ...) TV_PRINTF(4, 5);
/* TV_OK, or the report of what made the cursor fail. */
tv_status bc_check(bc_reader *r, const bc_cursor *c);
tv_status bc_no_memory(bc_reader *r);
bc_cursor bc_cursor_at(bc_reader *r, const uint8_t *ptr, size_t size);

/* Skips the padding bytes up to a multiple of align from base; checks them in strict mode. */
void bc_skip_padding(bc_reader *r, bc_cursor *c, const uint8_t *base, size_t align, bc_rule rule);

/* An offset table: n, padding (counted from base), offsets of `width` bytes, data. */
typedef struct bc_table {
    const uint8_t *offsets, *data;
    size_t count, data_size;
    unsigned width;
} bc_table;
tv_status bc_read_table(bc_reader *r, bc_cursor *c, const uint8_t *base, unsigned width, const char *noun,
                        bc_table *out);
/* The bytes of entry i; an empty span and a report when its offsets are bad. */
tv_status bc_table_item(bc_reader *r, const bc_table *table, size_t i, const char *noun, bc_cursor *out);

tv_status bc_read_types(bc_reader *r);
tv_status bc_read_type_index(bc_reader *r, bc_cursor *c, const char *noun, const bc_type **out);
tv_status bc_read_debug(bc_reader *r);
tv_status bc_read_functions(bc_reader *r);
tv_status bc_read_tagged(bc_reader *r, bc_cursor *c, unsigned depth, bc_tagged *out);
tv_status bc_read_dict(bc_reader *r, bc_cursor *c, unsigned depth, bc_dict *out);
tv_status bc_read_string(bc_reader *r, bc_cursor *c, const char *noun, const bc_string **out);
tv_status bc_read_body(bc_reader *r, bc_cursor *c, bc_function *f);

#endif

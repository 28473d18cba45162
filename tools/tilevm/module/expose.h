/* Makes a kernel log what its ops compute: changes a module so that an entry takes one more parameter, the address of a
   log, and writes the results of chosen ops there, in the order in which they are computed. The changed module stays
   valid, and otherwise does the same as before. Nothing here runs anything.

   The log has a clock of eight bytes for each tile block of the window, then a stretch of `capacity` bytes for each. A
   block's clock counts the bytes of all its records, whether they were kept or not; a record is kept if it lies between
   skip and skip + capacity as a whole. So a log of any length can be read in several runs. */
#ifndef TILEVM_TOOLS_MODULE_EXPOSE_H
#define TILEVM_TOOLS_MODULE_EXPOSE_H

#include "bytecode/module.h"

typedef struct expose_window {
    uint64_t first;          /* tile block, counted with x fastest */
    uint32_t count;          /* tile blocks from there on */
    uint64_t skip, capacity; /* bytes; multiples of EXPOSE_ALIGN */
} expose_window;

enum { EXPOSE_HEAD = 16, EXPOSE_ALIGN = 16 };

/* What a record is about. Its bytes: the number of the record's source (4 bytes, from 1), zeros up to EXPOSE_HEAD, then
   the elements in row-major order, up to a multiple of EXPOSE_ALIGN. */
typedef struct expose_source {
    uint32_t op_index; /* before the change; in pre-order */
    uint32_t result;
    bool is_round;   /* a loop begins another iteration: no elements */
    bool is_pointer; /* elements are addresses, as i64 */
    tv_dtype dtype;  /* of the elements in the log: i1 and i4 come as 8-bit integers, f4E2M1FN as f32 */
    uint32_t rank;
    const int64_t *shape;
    uint64_t count;
    uint64_t bytes; /* of the whole record */
} expose_source;

/* Can the results of the op be exposed? Those inside reduce and scan cannot. */
bool expose_is_possible(const bc_op *op);
/* The source of a result of such an op. False: the result is no tile. */
bool expose_describe(const bc_op *op, uint32_t result, expose_source *out);

/* ops: indices in pre-order, ascending; others than those that expose_is_possible allows are left out. Rounds of loops
   come as records, too. Sources are in the module's arena, as many as there are numbers. False: out of memory. */
bool expose_ops(bc_module *m, size_t function, const uint32_t *ops, size_t op_count, const expose_window *window,
                const expose_source **out_sources, size_t *out_count);

/* Bytes of the whole log, and of what stands before the stretches. */
size_t expose_log_size(const expose_window *window);
size_t expose_log_start(const expose_window *window);

#endif

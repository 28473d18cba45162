/* Operands of the tensor core of sm_100: descriptors of matrices in shared memory, and of the instruction. */
#ifndef TILEVM_TESTS_PTXSIM_CORE_H
#define TILEVM_TESTS_PTXSIM_CORE_H

#include "tests/ptxsim/mma.h"
#include "tests/ptxsim/tmem.h"

enum { PS_KIND_F16, PS_KIND_TF32, PS_KIND_F8F6F4, PS_KIND_I8, PS_KIND_MXF8F6F4, PS_KIND_MXF4, PS_KIND_MXF4NVF4 };

/* The fields of an instruction descriptor. */
typedef struct ps_core_shape {
    unsigned m, n, k; /* of the whole product */
    ps_type a, b, d;
    ps_type scale; /* PS_NO_TYPE: not scaled by blocks */
    unsigned scale_vec, scale_a_id, scale_b_id;
    bool a_transposed, b_transposed, negate_a, negate_b, saturates;
} ps_core_shape;

/* Bits of an element in shared memory; types.def has those of its register. */
unsigned ps_core_bits(ps_type type);

/* The one thread that executes it; reports when there are several. */
unsigned ps_core_thread(ps_warp *w, const ps_insn *in, uint32_t active);

/* Reads a descriptor. False after a report that names the field. what: "A". */
bool ps_core_descriptor(ps_warp *w, const ps_insn *in, const char *what, uint64_t descriptor);
bool ps_core_instruction(ps_warp *w, const ps_insn *in, uint32_t descriptor, ps_core_shape *out);

/* The shared address of the byte where an element lies: row of A (column of B) and byte along K, or with transposed the
   element `row` at K index `k`. bytes: of an element. */
uint32_t ps_core_address(uint64_t descriptor, bool transposed, unsigned bytes, unsigned row, unsigned k);
/* 16 bytes at a shared address of a block, as the tensor core reads them; the order is checked and recorded. */
void ps_core_read(ps_warp *w, const ps_insn *in, ps_block *block, uint32_t address, uint8_t out[16]);

/* Rows and bytes of a row of what tcgen05.cp reads. */
void ps_tm_cp_shape(const ps_insn *in, unsigned *rows, unsigned *bytes);

/* tcgen05.c: a checksum of the bytes of shared memory that an operation reads; their order is checked if `check`. */
uint32_t ps_core_crc(ps_warp *w, const ps_core_op *op, bool check);

#endif

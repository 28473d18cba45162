/* Kernels made as text, run on the virtual machine: what every part of the matrix is written with.

   A kernel loads tiles from its inputs, does something with them, stores tiles to its outputs. Block x of the grid
   works on the elements from x * (elements of the tile) on. Elements are patterns as in exact.h; pointers (BC_PTR) are
   their addresses, kept as i64. */
#ifndef TILEVM_TESTS_MATRIX_KERNEL_H
#define TILEVM_TESTS_MATRIX_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/base/text.h"
#include "bytecode/op.h"

enum { MX_MAX_RANK = 6, MX_MAX_BUFFERS = 12 };

typedef struct mx_shape {
    unsigned rank;
    uint32_t dim[MX_MAX_RANK];
} mx_shape;

size_t mx_count(mx_shape shape);
mx_shape mx_vector(size_t n);

/* How the tile of an operand comes about: what it holds is known, its layout in the machine differs. */
typedef enum mx_form {
    MX_PLAIN,    /* loaded through pointers in order */
    MX_VIEW,     /* loaded through a partition view */
    MX_PERMUTED, /* loaded in the order of the reversed shape, then permuted */
    MX_ROW,      /* one slice of dimension 0, broadcast */
    MX_COLUMN,   /* one slice of the last dimension, broadcast */
    MX_SPLAT,    /* one element, broadcast */
    MX_CONSTANT, /* a constant with all elements; the grid must be one block */
    MX_FORMS
} mx_form;

/* The element of the block's input that element i of an operand in that form is. */
size_t mx_source(mx_form form, mx_shape shape, size_t i);

typedef struct mx_buffer {
    bc_kind kind;
    size_t count, size; /* elements, bytes */
    unsigned char *bytes;
    uint64_t *patterns;
    char last_kind; /* of the token of the last access, %t or %s; 0: none yet */
    unsigned last;  /* its number */
} mx_buffer;

typedef struct mx_kernel {
    bc_text params, body;
    mx_buffer buffers[MX_MAX_BUFFERS];
    unsigned buffer_count, values;
    uint32_t grid[3];
    bc_text output;   /* what it printed */
    bc_text findings; /* rules and messages of the last run */
    bool in_order;    /* each access takes the token of the last one to its buffer */
    bool failed;      /* no memory */
} mx_kernel;

void mx_begin(mx_kernel *k);
void mx_end(mx_kernel *k);

/* Parameters %p0, %p1, ...: pointers to the elements. An output starts as all ones. Return the number. */
unsigned mx_input(mx_kernel *k, bc_kind kind, const uint64_t *patterns, size_t count);
unsigned mx_output(mx_kernel *k, bc_kind kind, size_t count);
/* Pattern of an element after the run. */
uint64_t mx_result(const mx_kernel *k, unsigned buffer, size_t i);

/* One line of the body. */
void mx_op(mx_kernel *k, const char *format, ...) TV_PRINTF(2, 3);
/* Values are %v0, %v1, ...; a new number. */
unsigned mx_new(mx_kernel *k);
/* Ops that load or store a tile of the buffer's kind. mx_load returns the number of the value. */
unsigned mx_load(mx_kernel *k, unsigned buffer, mx_shape shape, mx_form form);
void mx_store(mx_kernel *k, unsigned buffer, mx_shape shape, unsigned value);
/* The same through a partition view; for kinds of at least a byte. */
void mx_store_view(mx_kernel *k, unsigned buffer, mx_shape shape, unsigned value);

/* Text of types: at most 4 at a time. "4x8xf32", "tile<4x8xf32>". */
const char *mx_tile(mx_shape shape, bc_kind kind);
const char *mx_kind(bc_kind kind); /* "f32"; "ptr<f32>" for pointers */

/* Parses, verifies and runs. TV_INVALID: the verifier (or the parser) refuses it. Other text of the module, such as
   globals, comes first; may be NULL. */
tv_status mx_run(mx_kernel *k, const char *globals);
/* The same as mx_run, as far as the verifier. */
tv_status mx_check(mx_kernel *k, const char *globals);

/* From now on mx_run compiles for the target and runs the PTX in the simulator, or on a GPU. */
void mx_use_ptx(const char *target, bool gpu);
bool mx_is_ptx(void);
bool mx_is_gpu(void);
unsigned mx_ptx_sm(void); /* 90 for sm_90a; 0: the virtual machine */

/* ---- what a program reports ---- */

typedef struct mx_report {
    const char *name;
    unsigned long passed, failed;
    unsigned long kernels; /* so far, also of other shares */
    unsigned shown;
} mx_report;

/* From now on only every count-th kernel has its turn, from number `first` on. */
void mx_use_share(unsigned first, unsigned count);
/* Whether the next kernel has: asked once for each, before anything is made for it. */
bool mx_is_turn(mx_report *r);

void mx_pass(mx_report *r);
/* Says what failed; the first ones with the kernel. */
void mx_fail(mx_report *r, const mx_kernel *k, const char *format, ...) TV_PRINTF(3, 4);

/* Fails for every op of the table that no kernel executed so far, but those that no kernel can. */
void mx_check_all_executed(mx_report *r);

/* ---- made-up elements ---- */

uint64_t mx_random(uint64_t seed);
/* Special values, values near one and any bits, in turn. */
uint64_t mx_sample(bc_kind kind, uint64_t seed);
/* The shapes that small kernels go through: rank 0 to 4, 1 to some hundred elements. */
extern const mx_shape mx_shapes[];
extern const size_t mx_shape_count;

/* Equal, or both NaN. */
bool mx_same(bc_kind kind, uint64_t a, uint64_t b);

/* Where the programs spend more or less time. */
typedef struct mx_effort {
    unsigned shift; /* samples are divided by 2^shift */
    bool quick;     /* sanitizers: fewer shapes */
} mx_effort;

#endif

/* What emitting has: the text of the kernel so far, and that of the module around it. For the files that write into it;
   others use ptx.h. */
#ifndef TILEVM_CODEGEN_PTX_EMIT_H
#define TILEVM_CODEGEN_PTX_EMIT_H

#include "codegen/kernel/kernel.h"

/* Names that are numbered from 1. */
typedef struct cg_names {
    tv_str *items;
    size_t count, capacity;
} cg_names;

/* The module's text so far: one for all its kernels. */
typedef struct cg_written {
    bc_arena arena;     /* of names */
    cg_names files;     /* that .loc lines name */
    cg_names inlined;   /* functions, by linkage names */
    bc_text text;       /* the kernels before this one */
    uint64_t functions; /* that are in it: bits of codegen/math/math.h */
    uint8_t ptx;        /* ISA version that it needs, as major * 10 + minor */
} cg_written;

/* From this byte of the body on, what is written is for the op; NULL: for none. */
typedef struct cg_mark {
    const ct_op *op;
    size_t at;
} cg_mark;

/* The kernel's. */
typedef struct cg_emit {
    const ct_op *op;     /* being lowered */
    bc_text module_text; /* globals, strings and functions that it needs, to stand before it */
    bc_text prologue;    /* runs first: constants, thread coordinates */
    bc_text body;
    uint32_t registers[CG_CLASS_COUNT];
    uint32_t labels;
    uint32_t call_bytes; /* local memory for the arguments of vprintf */
    uint32_t texts;      /* strings in module_text */
    bool by_stores;      /* some instructions stand in the order of their stores (codegen/ptx/by_stores.h) */
    struct cg_constants *constants;
    cg_mark *marks; /* where the kernel has a witness: one for each op that is begun or gone on with */
    size_t mark_count, mark_capacity;
} cg_emit;

/* From here to cg_emit_end there is c->emit. Out of memory: c->failed. */
void cg_emit_begin(cg_func *c);
/* Out of memory in one of the texts: c->failed. May be called without cg_emit_begin. */
void cg_emit_end(cg_func *c);

#endif

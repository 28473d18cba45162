/* A compiled kernel as data, for tools that draw or list it without parsing dumps. The model is built after all passes
   have run, from their results, and changes nothing.

   Everything in a model lives as long as the call of the witness. Ops are numbered in program order, an op before
   those of its regions; values and layouts are numbered in the order in which they are met. */
#ifndef TILEVM_CODEGEN_MODEL_MODEL_H
#define TILEVM_CODEGEN_MODEL_MODEL_H

#include "codegen/cost/cost.h"

#define CG_NO_INDEX UINT32_MAX

/* A list of numbers: list[first] and the following entries of a list that the whole model shares. */
typedef struct cg_part {
    uint32_t first, count;
} cg_part;

typedef struct cg_model_value {
    tv_str name;         /* "%tile_38" */
    const bc_type *type; /* NULL: its type exists only inside the code generator, such as a ring */
    uint32_t op;         /* the op that computes it, or of whose region it is an argument; CG_NO_INDEX: a parameter */
    uint8_t form;        /* cg_form */
    bool in_shared;      /* it is in a ring, where its users read it; its layout is that of its copies */
    cg_part layouts;     /* in `lists`: the layouts in which it is held, its own first; for CG_LAZY: the layouts in
                            which it is computed */
} cg_model_value;

/* The warps that execute an op. */
typedef enum cg_role {
    CG_ROLE_ALL,
    CG_ROLE_CONSUMERS,
    CG_ROLE_PRODUCERS,
    CG_ROLE_STARTERS,
    CG_ROLE_ISSUER,
    CG_ROLE_CORRECTORS
} cg_role;

typedef struct cg_model_op {
    const char *name;
    uint32_t number;        /* the number of the source op that it comes from, as the disassembler counts */
    uint64_t offset;        /* the offset of that op in the file */
    tv_str file;            /* its place in the source; empty: unknown */
    uint32_t line, column;  /* 0: unknown */
    tv_str text, detail;    /* as in dumps, on one line; the passes' details about it, or empty */
    uint32_t parent, depth; /* the surrounding op, CG_NO_INDEX: none; the nesting depth */
    uint32_t ring;          /* the ring that it creates, fills or reads; CG_NO_INDEX: none */
    uint8_t role;           /* cg_role */
    cg_part operands, results, arguments; /* in `lists`: values; arguments: of its regions */
    uint32_t registers;                   /* registers of a thread that hold tiles while it executes */
    double flops, bytes;                  /* of one execution: computed; moved between global memory and the block */
    cg_work work;                         /* of ops without regions */
} cg_model_op;

/* Bytes of shared memory that an op uses, or that a ring uses from its first op to its last one. */
typedef struct cg_model_span {
    uint32_t first, last; /* ops */
    uint32_t from, to;    /* bytes */
    uint32_t of_warp;     /* each warp accesses only its own part of so many bytes; 0: any thread may access any byte */
    uint32_t ring;        /* CG_NO_INDEX: scratch */
} cg_model_span;

/* A barrier before an op. */
typedef struct cg_model_meeting {
    uint32_t op;
    bool by_warp; /* only within each warp */
} cg_model_meeting;

/* A load that goes through a ring. */
typedef struct cg_model_load {
    uint32_t number;        /* number of the source op, as the disassembler counts; CG_NO_INDEX: none */
    uint32_t bytes, offset; /* in a slot */
} cg_model_load;

typedef struct cg_model_ring {
    uint32_t op;                       /* the op that creates it */
    uint32_t from;                     /* its first byte of shared memory */
    uint32_t slots, slot_bytes, ahead; /* ahead: the prefetch distance in iterations */
    const char *copied;                /* who copies its tiles, as text */
    const char *why;                   /* why it has this number of slots; NULL: no reason is recorded */
    bool by_groups, is_async,
        freed_later; /* between groups of warps; an asynchronous product reads it; a slot is free an iteration later */
    const cg_model_load *loads;
    uint32_t load_count;
} cg_model_ring;

typedef struct cg_model_loop {
    uint32_t op;
    const cg_loop_cost *cost;
} cg_model_loop;

/* The PTX lines from this one on belong to an op. */
typedef struct cg_model_line {
    uint32_t line; /* from 1 */
    uint32_t op;   /* CG_NO_INDEX: to none */
} cg_model_line;

typedef struct cg_model {
    const bc_module *m;
    const bc_function *f;
    const cg_target *target;
    const cg_kernel_cost *cost;
    const char *block_order;
    uint32_t threads, consumers, producers; /* consumers: 0 if all threads execute the same program */
    uint32_t strip_bits; /* upper bits of the warps of layouts that are trips of a loop over strips */
    uint32_t shared_bytes, scratch_bytes, local_bytes, barriers, cluster;
    bool is_persistent;
    uint32_t registers_held; /* the largest number of registers of a thread that hold tiles */
    double flops_peak;       /* per second, for its largest product on the tensor cores; 0: no product uses them */
    tv_str ptx;              /* of the kernel alone */
    const uint32_t *lists;   /* the lists to which cg_part refers */
    const cg_model_op *ops;
    const cg_model_value *values;
    const cg_layout *const *layouts;
    const cg_model_span *spans;
    const cg_model_meeting *meetings;
    const cg_model_ring *rings;
    const cg_model_loop *loops;
    const cg_model_line *lines;
    uint32_t op_count, value_count, layout_count, span_count, meeting_count, ring_count, loop_count, line_count;
} cg_model;

/* Receives models: it is called once for each compiled kernel. If it returns false, compilation stops with TV_IO. */
typedef struct cg_witness {
    void *user;
    bool (*see)(void *user, const cg_model *model);
} cg_witness;

/* Calls the kernel's witness after lowering. If memory runs out or the witness refuses, c->failed is set. */
void cg_show_model(cg_func *c);

#endif

/* What became of a kernel, as data: for those who draw or list it and do not want to read dumps. It is made once all
   passes have run, from what they have left, and changes nothing.

   Everything in a model lives as long as the call of the witness. Ops are numbered in the order in which they stand, an
   op before those of its regions; values and layouts in the order in which they are met. */
#ifndef TILEVM_CODEGEN_MODEL_MODEL_H
#define TILEVM_CODEGEN_MODEL_MODEL_H

#include "codegen/cost/cost.h"

enum { CG_NO_INDEX = UINT32_MAX };

/* Numbers of something, in a list that a model has for all: list[first] and the following. */
typedef struct cg_part {
    uint32_t first, count;
} cg_part;

typedef struct cg_model_value {
    tv_str name;         /* "%tile_38" */
    const bc_type *type; /* NULL: of a kind that only passes know, such as a ring */
    uint32_t op;         /* that makes it, or in whose region it is an argument; CG_NO_INDEX: a parameter */
    uint8_t form;        /* cg_form */
    bool in_shared;      /* it lies in a ring, and who needs it reads it there; its layout is that of its copies */
    cg_part layouts;     /* in `lists`: that it is held in, its own one first; of CG_LAZY: that it is computed in */
} cg_model_value;

/* Which warps an op is for. */
typedef enum cg_role { CG_ROLE_ALL, CG_ROLE_CONSUMERS, CG_ROLE_PRODUCERS, CG_ROLE_STARTERS } cg_role;

typedef struct cg_model_op {
    const char *name;
    uint32_t number;        /* of the op of the function that it is made from, as the disassembler counts */
    uint64_t offset;        /* of that one, in the file */
    tv_str file;            /* its place in the source; empty: unknown */
    uint32_t line, column;  /* 0: unknown */
    tv_str text, detail;    /* as dumps have it, on one line; what passes say of it, or nothing */
    uint32_t parent, depth; /* the op around it, CG_NO_INDEX: none */
    uint32_t ring;          /* that it makes, fills or reads; CG_NO_INDEX: none */
    uint8_t role;           /* cg_role */
    cg_part operands, results, arguments; /* in `lists`: values; arguments: of its regions */
    uint32_t registers;                   /* of a thread that hold tiles while it runs */
    double flops, bytes;                  /* of one execution: computed; moved between global memory and the block */
    cg_work work;                         /* of ops without regions */
} cg_model_op;

/* Bytes of shared memory that an op has, or that are a ring's from its first op to its last one. */
typedef struct cg_model_span {
    uint32_t first, last; /* ops */
    uint32_t from, to;    /* bytes */
    uint32_t of_warp;     /* each warp reaches only its own so many of them; 0: any thread any */
    uint32_t ring;        /* CG_NO_INDEX: scratch */
} cg_model_span;

/* Threads meet before an op. */
typedef struct cg_model_meeting {
    uint32_t op;
    bool by_warp; /* those of each warp alone */
} cg_model_meeting;

/* A load that goes through a ring. */
typedef struct cg_model_load {
    uint32_t number;        /* op of the function, as the disassembler counts; CG_NO_INDEX: none */
    uint32_t bytes, offset; /* in a slot */
} cg_model_load;

typedef struct cg_model_ring {
    uint32_t op;                       /* that makes it */
    uint32_t from;                     /* byte of shared memory */
    uint32_t slots, slot_bytes, ahead; /* ahead: iterations that copies run ahead */
    const char *copied;                /* by whom, in words */
    const char *why;                   /* it has so many slots; NULL: nothing is said */
    bool by_groups, by_wgmma,
        freed_later; /* between groups of warps; wgmma reads it; a slot is free an iteration later */
    const cg_model_load *loads;
    uint32_t load_count;
} cg_model_ring;

typedef struct cg_model_loop {
    uint32_t op;
    const cg_loop_cost *cost;
} cg_model_loop;

/* Lines of the PTX from this one on are for an op. */
typedef struct cg_model_line {
    uint32_t line; /* from 1 */
    uint32_t op;   /* CG_NO_INDEX: for none */
} cg_model_line;

typedef struct cg_model {
    const bc_module *m;
    const bc_function *f;
    const cg_target *target;
    const cg_kernel_cost *cost;
    const char *block_order;
    uint32_t threads, consumers, producers; /* consumers: 0 where all threads do the same */
    uint32_t strip_bits; /* upper bits of the warps of layouts that are trips of a loop over strips */
    uint32_t shared_bytes, scratch_bytes, local_bytes, barriers, cluster;
    bool is_persistent;
    uint32_t registers_held; /* of a thread, by tiles, where they are most */
    double flops_peak;       /* a second, of its largest product on the tensor cores; 0: none runs there */
    tv_str ptx;              /* of the kernel alone */
    const uint32_t *lists;   /* what cg_part is about */
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

/* Whoever wants models: is called once for each kernel that was compiled. False: it wants no more, which is TV_IO. */
typedef struct cg_witness {
    void *user;
    bool (*see)(void *user, const cg_model *model);
} cg_witness;

/* Calls the kernel's witness, once it is lowered. Out of memory, or refused: c->failed. */
void cg_show_model(cg_func *c);

#endif

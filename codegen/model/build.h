/* A model under construction; see model.h. */
#ifndef TILEVM_CODEGEN_MODEL_BUILD_H
#define TILEVM_CODEGEN_MODEL_BUILD_H

#include "codegen/model/model.h"

/* The number of an op in the model; the table is sorted by address. */
typedef struct cg_numbered {
    const ct_op *op;
    uint32_t number;
} cg_numbered;

typedef struct cg_building {
    cg_func *c;
    cg_model model;
    cg_model_op *ops;
    cg_model_value *values;
    cg_model_ring *rings;
    const struct cg_ring **ring_details; /* by ring: the passes' description of it */
    cg_numbered *numbered;
    uint32_t *value_numbers; /* by ct_value.id: one more than its number in the model; 0: not met yet */
    const cg_layout **layouts;
    uint32_t *lists;
    size_t list_count, list_capacity, layout_capacity;
    bc_text text; /* the text of all ops; names and lines are offsets into it until it is complete */
    bool failed;  /* out of memory */
} cg_building;

/* Numbers all ops, and allocates memory for them and their values (codegen/model/number.c). False: out of memory. */
bool cg_number_ops(cg_building *b);
/* The op's number; CG_NO_INDEX: the op is NULL or not in the model. */
uint32_t cg_number_of(const cg_building *b, const ct_op *op);
/* The number of a ring, from the op that creates it or one that uses it. */
uint32_t cg_ring_number(const cg_building *b, const ct_op *op);

/* Adds rings, the use of shared memory, and barriers (codegen/model/memory.c). */
void cg_build_rings(cg_building *b);
void cg_build_spans(cg_building *b);
/* Adds the PTX, and which lines belong to which op (codegen/model/lines.c). */
void cg_build_lines(cg_building *b, bc_text *ptx);

#endif

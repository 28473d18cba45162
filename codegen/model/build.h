/* A model while it is made; see model.h. */
#ifndef TILEVM_CODEGEN_MODEL_BUILD_H
#define TILEVM_CODEGEN_MODEL_BUILD_H

#include "codegen/model/model.h"

/* Where an op stands in the model: sorted by address. */
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
    const struct cg_ring **ring_details; /* by ring: what passes have of it */
    cg_numbered *numbered;
    uint32_t *value_numbers; /* by ct_value.id, one more than in the model; 0: not met */
    const cg_layout **layouts;
    uint32_t *lists;
    size_t list_count, list_capacity, layout_capacity;
    bc_text text; /* of all ops: names and lines are parts of it until it is whole */
    bool failed;  /* out of memory */
} cg_building;

/* Numbers all ops, and makes room for them and their values (codegen/model/number.c). False: out of memory. */
bool cg_number_ops(cg_building *b);
/* CG_NO_INDEX: it is none of the model's; NULL is not. */
uint32_t cg_number_of(const cg_building *b, const ct_op *op);
/* Of a ring, by the op that makes it or one that goes on with it. */
uint32_t cg_ring_number(const cg_building *b, const ct_op *op);

/* Rings, who has which bytes of shared memory, and where threads meet (codegen/model/memory.c). */
void cg_build_rings(cg_building *b);
void cg_build_spans(cg_building *b);
/* The PTX, and which of its lines are for which op (codegen/model/lines.c). */
void cg_build_lines(cg_building *b, bc_text *ptx);

#endif

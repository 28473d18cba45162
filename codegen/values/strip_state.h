/* What loops over strips keep: for the files that are about them. */
#ifndef TILEVM_CODEGEN_VALUES_STRIP_STATE_H
#define TILEVM_CODEGEN_VALUES_STRIP_STATE_H

#include "codegen/values/strips.h"

/* Numbers that are linear in the strip's, made at the head of the loop. */
typedef struct cg_form_of_strip {
    struct cg_form_of_strip *next;
    uint32_t images[CG_MAX_WARP_BITS];
    cg_val thread, value;
    cg_val address; /* value as an address of local memory, once needed */
} cg_form_of_strip;

/* Copies of values whose registers were made in a loop. */
typedef struct cg_made {
    struct cg_made *next;
    const ct_value *v;
    cg_copy *copy;
} cg_made;

/* Local memory that a value no longer needs. */
typedef struct cg_slot {
    struct cg_slot *next;
    uint32_t at, bytes;
} cg_slot;

typedef struct cg_strips {
    cg_strip *open;
    uint32_t count; /* of loops */
    uint32_t local_bytes;
    cg_val base;             /* address of local memory */
    cg_remake *remake;       /* of lazy values */
    uint32_t *uses;          /* by value id: reads to come */
    cg_made *wanted;         /* copies that are still to be made */
    cg_slot *unused, *dying; /* dying: read in a loop that is still open */
    bool own;                /* the op being lowered has the loop to itself */
    bool inlined;            /* what is being lowered is the body of a reduce or scan */
} cg_strips;

/* A defect of ours. */
void cg_strip_fault(cg_func *c, const char *what);
/* Elements of one access to local memory. */
uint32_t cg_strip_vector(const ct_value *v, const cg_layout *l);
/* The copy's registers were made in the loop that is open. */
void cg_strip_mark(cg_func *c, const ct_value *v, cg_copy *copy, cg_val *regs);
/* Do no threads of other warps, or strips, take part in the conversion? */
bool cg_strip_stays_in_warp(cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to);
/* The local memory of a copy that is read no more: of use again when no loop is open (cg_strip_reuse). */
void cg_strip_forget(cg_func *c, const ct_value *v, const cg_copy *copy);
void cg_strip_reuse(cg_func *c);

#endif

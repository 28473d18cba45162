/* The state of loops over strips while ops are lowered, for the files that emit them. */
#ifndef TILEVM_CODEGEN_VALUES_STRIP_STATE_H
#define TILEVM_CODEGEN_VALUES_STRIP_STATE_H

#include "codegen/values/strips.h"

/* A number that is linear in the strip's number, computed at the head of the loop. */
typedef struct cg_form_of_strip {
    struct cg_form_of_strip *next;
    uint32_t images[CG_MAX_WARP_BITS];
    cg_val thread, value;
    cg_val address; /* the value as an address of local memory, once needed */
} cg_form_of_strip;

typedef struct cg_strips {
    cg_strip *open;
    uint32_t count;    /* number of loops */
    cg_val base;       /* address of local memory */
    cg_remake *remake; /* recomputes lazy values */
    bool puts_own;     /* see cg_strip_puts_own */
} cg_strips;

/* Reports a defect of the compiler. */
void cg_strip_fault(cg_func *c, const char *what);
/* The number with these images of the strip's bits, ^ thread. */
cg_form_of_strip *cg_strip_form(cg_func *c, cg_val thread, const uint32_t *images);

#endif

/* Order among the memory ops of a tile block. A token edge orders all threads' accesses; it costs a barrier unless the
   two cannot touch the same memory or every thread only meets its own elements. Without an edge there is no order
   (memory reference, 3.4); accesses by way of the same parameter or allocation keep that of the program all the same,
   which forgives tokens that were left out by hand. What has been accessed since the last barrier is noted, and a
   barrier comes before an access that conflicts with a note. */
#ifndef TILEVM_CODEGEN_VALUES_ORDER_H
#define TILEVM_CODEGEN_VALUES_ORDER_H

#include "codegen/values/values.h"

typedef struct cg_note {
    const struct cg_note *next;
    const ct_value *origin; /* what its address comes from */
    uint32_t root;          /* memory that it reaches: 0 unknown, else one of those that do not overlap */
    bool write;
    bool again; /* of a loop body, in another iteration */
    const ct_op *op;
    const cg_layout *layout; /* of the elements over threads; NULL: unknown */
} cg_note;

/* The state, to be put back when another branch is lowered. */
typedef struct cg_order {
    const cg_note *notes; /* accesses since the last barrier */
    cg_span read;         /* of the scratch: a thread may still read them; from = to: none */
} cg_order;

/* Before a memory op is emitted: a barrier if one is needed. memory: the view or pointer operand. layout: how the
   elements lie over threads, kept by the caller as long as the function; may be NULL. */
void cg_order_access(cg_func *c, const ct_op *op, const ct_value *memory, bool write, const cg_layout *layout);
/* Would cg_order_access place a barrier before this op? */
bool cg_order_conflicts(cg_func *c, const ct_op *op);
/* At the head of a loop and after it: the accesses of its body may have happened. */
void cg_order_loop(cg_func *c, const ct_block *body);

cg_order cg_order_save(const cg_func *c);
void cg_order_restore(cg_func *c, cg_order order);
/* Either state may hold. */
void cg_order_join(cg_func *c, cg_order order);

#endif

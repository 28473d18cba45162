/* Recurrences of loops: values that a loop carries and that grow by the same amount in each iteration (also called
   add recurrences, or scalar evolution). */
#ifndef TILEVM_CODEGEN_FACTS_RECURRENCE_H
#define TILEVM_CODEGEN_FACTS_RECURRENCE_H

#include "codegen/tile/ir.h"

enum { CG_MOST_STEPS = 8 };

/* A recurrence: start, start + step, start + 2 * step ... The step is the sum of the values listed. Each of them is
   a scalar from outside the loop, a tile of which all elements are such a scalar, or a constant. Integers wrap.
   Steps of pointers count pointees, as signed numbers. Without steps, the value is always `start`. */
typedef struct cg_recurrence {
    ct_value *start;
    uint32_t count;
    struct {
        ct_value *value; /* in the type of the operand in which it occurs */
        bool subtracted;
    } steps[CG_MOST_STEPS];
} cg_recurrence;

/* Is carried value `index` of the `for` a recurrence? Every iteration must reach the end of the body. The next value
   must be the value itself after additions, subtractions and offsets of such steps in the body. Promises about it
   are skipped, because they hold anyway. */
bool cg_find_recurrence(const ct_op *loop, uint32_t index, cg_recurrence *out);

/* The scalar that all elements of the tile are, through reshapes and broadcasts; v itself if it is a scalar. NULL:
   there is none, or v is a constant tile. */
ct_value *cg_uniform_of(ct_value *v);

#endif

/* Recurrences of loops: values that a loop carries and that grow by the same amount in each iteration (the field: add
   recurrences, scalar evolution). */
#ifndef TILEVM_CODEGEN_FACTS_RECURRENCE_H
#define TILEVM_CODEGEN_FACTS_RECURRENCE_H

#include "codegen/tile/ir.h"

enum { CG_MOST_STEPS = 8 };

/* start, start + step, start + 2 * step ...; the step is the sum of those listed, each of them uniform: a scalar from
   outside of the loop, a tile whose elements are all such a scalar, or a constant. Integers wrap; to pointers, which
   point to elements, steps are numbers of elements, read as signed. No steps: it is always `start`. */
typedef struct cg_recurrence {
    ct_value *start;
    uint32_t count;
    struct {
        ct_value *value; /* in the type of the operand that has it */
        bool subtracted;
    } steps[CG_MOST_STEPS];
} cg_recurrence;

/* Is carried value `index` of the `for`, whose every iteration reaches the end of its body, a recurrence? It is where
   its next value is itself, through additions, subtractions and offsets of such steps in the body, and promises about
   it, which hold without being said. */
bool cg_find_recurrence(const ct_op *loop, uint32_t index, cg_recurrence *out);

/* The scalar that every element of the tile is, through reshapes and broadcasts, or v itself where it is a scalar;
   NULL: there is none, or it is a constant tile. */
ct_value *cg_uniform_of(ct_value *v);

#endif

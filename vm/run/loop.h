/* A running `for`: its bounds, and the current iteration. */
#ifndef TILEVM_VM_RUN_LOOP_H
#define TILEVM_VM_RUN_LOOP_H

#include <string.h>

#include "vm/run/code.h"

typedef struct vm_for_loop {
    vm_inst head;
    size_t lower, upper, step, iv;
    size_t start; /* the value of lower, whose storage may be reused while the loop runs */
    const vm_inst *first;
    const vm_inst *outer; /* the `for` around it, or NULL */
    uint8_t bytes, width;
    bool is_unsigned;
} vm_for_loop;

static inline uint64_t vm_for_int(const vm_frame *f, size_t at, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, f->base + at, bytes);
    return x;
}

/* The bound as an unsigned number with the order of the loop: for signed loops, the sign bit is flipped. */
static inline uint64_t vm_for_ordered(const vm_for_loop *l, uint64_t x)
{
    uint64_t sign = (uint64_t)1 << (l->width - 1);
    return l->is_unsigned ? x : x ^ sign;
}

/* The current iteration, and the number of iterations. */
static inline void vm_round_of(const vm_frame *f, const vm_for_loop *l, uint64_t *out_round, uint64_t *out_rounds)
{
    uint64_t start = vm_for_ordered(l, vm_for_int(f, l->start, l->bytes));
    uint64_t step = vm_for_int(f, l->step, l->bytes);
    *out_round = (vm_for_ordered(l, vm_for_int(f, l->iv, l->bytes)) - start) / step;
    *out_rounds = (vm_for_ordered(l, vm_for_int(f, l->upper, l->bytes)) - start - 1) / step + 1;
}

#endif

/* Random kernels whose accesses to memory meet: tensors whose rows overlap or have a stride of 0, views that are made
   anew in loops, several views of one memory, in-place loops, conditional accesses, nested loops, tokens in every form,
   atomics beside plain accesses, clusters, counters near the ends of their types. As text (docs/reference/text.md), to
   be read in a report. Whether its results are defined is for the virtual machine's checks to say. */
#ifndef TILEVM_TESTS_RANDOM_KERNEL_H
#define TILEVM_TESTS_RANDOM_KERNEL_H

#include "tests/random/trial.h"

enum { RANDOM_KERNEL_ARRAYS = 6 };

typedef enum random_contents {
    RANDOM_NUMBERS, /* small ones and, unless all are to be small, now and then any */
    RANDOM_TINY,    /* -2 to 2 */
    RANDOM_BITS,
    RANDOM_SCALES /* powers of two from 0.5 to 4 */
} random_contents;

typedef struct random_array {
    bc_kind kind; /* of elements */
    size_t bytes;
    size_t alias; /* the element of the first array that the parameter points to; 0: it has an array of its own */
    random_contents contents;
} random_array;

typedef struct random_kernel {
    bc_text text;
    uint32_t grid; /* tile blocks */
    unsigned array_count;
    random_array arrays[RANDOM_KERNEL_ARRAYS];
    bool all_small; /* its arrays are to hold small numbers, so that sums of products are exact */
} random_kernel;

/* Draws the kernel of a seed: always the same one. bc_text_release(&out->text). */
void random_kernel_draw(uint64_t seed, random_kernel *out);

/* The same, of those that multiply matrices (draw_products.c). */
void random_product_draw(uint64_t seed, random_kernel *out);
/* Of these, those without chains, most of them for pairs of thread blocks: half of them with scales, others with
   several batches. */
void random_pair_draw(uint64_t seed, random_kernel *out);
/* Of these, those with chains of products alone, most of them for pairs of thread blocks. */
void random_chain_draw(uint64_t seed, random_kernel *out);

/* Its parameters and arrays, filled. trial_free(out). */
void random_kernel_memory(const random_kernel *k, trial_memory *out);

#endif

/* Sums of the PTX that kernels become, kept in a file: another build of the compiler need run only the kernels that it
   compiles otherwise. */
#ifndef TILEVM_TESTS_RANDOM_SUMS_H
#define TILEVM_TESTS_RANDOM_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bytecode/base/text.h"

typedef struct sums {
    FILE *out;       /* where the sums go; NULL: nowhere */
    uint64_t *known; /* by seed from `first` on; 0: none */
    uint64_t first, count;
} sums;

/* Reads a file of sums of seeds from `first` on; NULL: nothing is known. False: it cannot be read, or memory is out. */
bool sums_read(sums *s, const char *path, uint64_t first, uint64_t count);
/* What the file says of a seed; 0: nothing. */
uint64_t sums_known(const sums *s, uint64_t seed);
/* Never 0. */
uint64_t sums_of(const bc_text *ptx);
void sums_write(const sums *s, uint64_t seed, uint64_t sum);
void sums_close(sums *s);

#endif

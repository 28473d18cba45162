/* Prepares a cubin of NVIDIA's tile compiler for the simulator: reads its PTX, and does what its launcher does with a
   kernel's arguments. The compiler leaves its PTX there when it is asked for line tables. For parameters that are
   tensor maps it leaves code of the host, which writes them into the block of parameters: it is loaded and called here,
   and the maps, which have the form of the hardware, are read. */
#ifndef TILEVM_TESTS_COMMON_REFERENCE_H
#define TILEVM_TESTS_COMMON_REFERENCE_H

#include "bytecode/base/text.h"
#include "tests/ptxsim/ptxsim.h"

typedef struct reference {
    char *cubin, *ptx; /* ptx: with a zero behind it */
    size_t cubin_size, ptx_size;
    void *code; /* of the host; executable */
    size_t code_size;
} reference;

/* Reads a cubin. False: error says why not. */
bool reference_open(reference *r, const char *path, char *error, size_t error_size);
void reference_close(reference *r);

/* The parameters of an entry of the PTX: `given`, and the maps behind them. out has param_count pointers into `block`,
   which the caller frees. */
bool reference_params(const reference *r, const ptxsim_entry *entry, const void *const *given, size_t given_count,
                      const void **out, uint8_t **block, char *error, size_t error_size);

#endif

/* A GPU for tests: the driver by dlopen, memory, launches, times. One device, its primary context, the default stream.
   Every function that fails says why in gpu_error. Not thread-safe. */
#ifndef TILEVM_TESTS_COMMON_GPU_H
#define TILEVM_TESTS_COMMON_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/base/text.h"

typedef struct gpu_module gpu_module;

/* Opens the first device; again after a kernel broke the context. */
bool gpu_open(void);
void gpu_close(void);
const char *gpu_name(void);
unsigned gpu_sm(void); /* 90 */
const char *gpu_error(void);

bool gpu_alloc(size_t bytes, uint64_t *out_address);
void gpu_free(uint64_t address);
/* Lets the GPU reach memory of the host, whole pages, at the host's addresses; until gpu_unmap. */
bool gpu_map(void *memory, size_t size);
void gpu_unmap(void *memory);
bool gpu_write(uint64_t address, const void *bytes, size_t size);
bool gpu_read(void *bytes, uint64_t address, size_t size);

/* image: a cubin, or PTX with a zero byte at its end, which the driver compiles. */
bool gpu_load(const void *image, gpu_module **out_module);
void gpu_unload(gpu_module *module);
/* Launches with a block of one thread, as clients of Tile IR do: .reqntid has the real number. Does not wait. */
bool gpu_launch(gpu_module *module, const char *entry, const uint32_t grid[3], const void *const *params);
bool gpu_wait(void);

/* What kernels print goes to standard output. Between these two it is kept, and then appended to out; nothing else may
   be printed between them. False: there is no temporary file. */
bool gpu_capture_begin(void);
void gpu_capture_end(bc_text *out);
/* Memory that a kernel changes and that every launch is to find as it was; copy: 0 at first, then owned by gpu_time. */
typedef struct gpu_kept {
    uint64_t address, copy;
    size_t bytes;
} gpu_kept;

/* Median of the milliseconds that count launches take, each after other memory was written, so that no cache helps.
   Processes of one program take turns. */
bool gpu_time(gpu_module *module, const char *entry, const uint32_t grid[3], const void *const *params, gpu_kept *kept,
              size_t kept_count, unsigned count, double *out_ms);

#endif

/* Bytecode to something that the driver loads: from memory, from the disk cache, or compiled. */
#ifndef TILEVM_LOADER_IMAGE_H
#define TILEVM_LOADER_IMAGE_H

#include <stdatomic.h>

#include "loader/driver.h"
#include "loader/record.h"

typedef enum ld_form {
    LD_PTX,              /* text with a zero at its end */
    LD_CUBIN
} ld_form;

typedef struct ld_want {
    ld_form form;        /* LD_CUBIN needs a current context */
    unsigned target;     /* of the device: 90 for sm_90 */
    bool portable;       /* later devices run the PTX, too */
    unsigned opt_level;
    bool line_info;
} ld_want;

/* Compiled code, shared and read-only. */
typedef struct ld_image {
    atomic_uint users;
    bc_arena arena;              /* of the records and the bytes */
    const unsigned char *bytes;  /* size of them, and a zero */
    size_t size;
    const ld_record *records;
    size_t record_count;
} ld_image;

/* The image for that bytecode. The caller owns one use. Errors have been reported; INVALID_IMAGE, NO_BINARY_FOR_GPU,
   OUT_OF_MEMORY, or what the driver's linker said. Threads: any; one compiles, the others wait for it. */
tvResult ld_image_get(const ld_driver *driver, tv_str bytecode, const ld_want *want, ld_image **out_image);
void ld_image_release(ld_image *image);

/* Does the image begin like bytecode? bytes must have eight bytes, or a zero before. */
bool ld_is_bytecode(const void *bytes);
/* Size of bytecode whose size nobody told, found by walking its sections as they claim to be; 0 if they make no sense.
   Reads no further than 1 GiB from the start. */
size_t ld_bytecode_size(const void *bytes);

/* PTX to a cubin through the driver's linker, in the current context; want->target 0: for its device, else for the target that
   the PTX names. log gets what the linker had to say. The bytes are in the arena. */
tvResult ld_link(const ld_driver *driver, tv_str ptx, const ld_want *want, bc_arena *arena, bc_text *log,
                 const unsigned char **out_bytes, size_t *out_size);

#endif

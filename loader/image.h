/* Turns bytecode into an image that the driver loads: from memory, from the disk cache, or by compiling it. */
#ifndef TILEVM_LOADER_IMAGE_H
#define TILEVM_LOADER_IMAGE_H

#include <stdatomic.h>

#include "loader/driver.h"
#include "loader/record.h"

typedef enum ld_form {
    LD_PTX,  /* text with a zero at its end */
    LD_CUBIN /* made by the driver's linker */
} ld_form;

typedef struct ld_want {
    ld_form form;    /* LD_CUBIN needs a current context */
    const char *why; /* that form; for notes. Lives forever */
    unsigned target; /* of the device: 90 for sm_90 */
    bool portable;   /* later devices run the PTX, too */
    unsigned opt_level;
    bool line_info;
} ld_want;

/* How to compile bytecode for a device whose driver accepts PTX up to that version, as given by ld_ptx_version. */
tv_compile_options ld_compile_options(const ld_want *want, unsigned ptx_version);

/* The form in which modules are passed to the driver: PTX, for which the driver's loader generates better code than its
   linker; or a cubin, if the driver has no cache for that code but we have one. TILEVM_IMAGE overrides this. out_why
   lives forever. */
ld_form ld_form_here(const char **out_why);
const char *ld_form_name(ld_form form);

/* Compiled code, shared and read-only. */
typedef struct ld_image {
    atomic_uint users;
    bc_arena arena;             /* of the records and the bytes */
    const unsigned char *bytes; /* size of them, and a zero */
    size_t size;
    const ld_record *records;
    size_t record_count;
} ld_image;

/* A copy of compiled code with its launch records as text; the caller owns one use. NULL: the records cannot be read,
   or memory has run out. */
ld_image *ld_image_new(tv_str bytes, tv_str records);
/* An image for code that the driver got from elsewhere: it has only the records, with only the blocks. */
ld_image *ld_image_compiled(tv_str records);
/* The actual form: PTX may have been made where a cubin was requested. */
ld_form ld_image_form(const ld_image *image);
/* For notes: the name of an image (its first kernel), and the time. */
const char *ld_image_name(const ld_image *image);
double ld_now_ms(void);

/* The image for that bytecode. The caller owns one use. Errors have been reported; INVALID_IMAGE, NO_BINARY_FOR_GPU,
   OUT_OF_MEMORY, or the code of the driver's linker. Threads: any; one compiles, the others wait for it. */
tvResult ld_image_get(const ld_driver *driver, tv_str bytecode, const ld_want *want, ld_image **out_image);
void ld_image_release(ld_image *image);

/* Does the image begin like bytecode? bytes must have eight bytes, or a zero before. */
bool ld_is_bytecode(const void *bytes);

#endif

/* Bytecode to something that the driver loads: from memory, from the disk cache, or compiled. */
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

/* How bytecode is compiled for a device whose driver takes PTX up to that version, as ld_ptx_version gives it. */
tv_compile_options ld_compile_options(const ld_want *want, unsigned ptx_version);

/* The form in which modules are handed to the driver: PTX, of which its loader makes better code than its linker does;
   a cubin where the driver has no cache of its own for that code, but we have. TILEVM_IMAGE decides otherwise. out_why
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

/* A copy of compiled code with its launch records as text; one use. NULL: the records cannot be read, or out of
   memory. */
ld_image *ld_image_new(tv_str bytes, tv_str records);
/* What stands for code that the driver had from elsewhere: the records alone, of which only the blocks are known. */
ld_image *ld_image_compiled(tv_str records);
/* Of what it is: a cubin that was wanted may have become PTX. */
ld_form ld_image_form(const ld_image *image);
/* For notes: what an image is called, its first kernel; the time. */
const char *ld_image_name(const ld_image *image);
double ld_now_ms(void);

/* The image for that bytecode. The caller owns one use. Errors have been reported; INVALID_IMAGE, NO_BINARY_FOR_GPU,
   OUT_OF_MEMORY, or what the driver's linker said. Threads: any; one compiles, the others wait for it. */
tvResult ld_image_get(const ld_driver *driver, tv_str bytecode, const ld_want *want, ld_image **out_image);
void ld_image_release(ld_image *image);

/* Does the image begin like bytecode? bytes must have eight bytes, or a zero before. */
bool ld_is_bytecode(const void *bytes);

#endif

/* The device code inside a file: bytecode, fat binaries and cubins, alone or in programs, shared libraries, objects and
   static archives. All input is untrusted; images are unpacked only on request. */
#ifndef TILEVM_CONTAINER_IMAGES_H
#define TILEVM_CONTAINER_IMAGES_H

#include "container/fatbin.h"

typedef struct co_image {
    co_entry entry;      /* offset: in the file */
    tv_str member;       /* of the archive that it lies in; else empty */
    const char *problem; /* why what stands here cannot be read, and then only member and offset are set; else NULL */
} co_image;

typedef enum co_file {
    CO_FILE_OTHER, /* nothing that could hold device code */
    CO_FILE_BYTECODE,
    CO_FILE_FATBIN,
    CO_FILE_CUBIN,
    CO_FILE_ELF,
    CO_FILE_PE, /* a program or library of Windows: looked through without its sections */
    CO_FILE_ARCHIVE
} co_file;

/* By its first bytes. */
co_file co_file_of(tv_str file);

/* Calls visit for every image in the file, in order; false from visit ends it, and then false is given. A file that is
   bytecode or a cubin is one image. */
typedef bool co_visit(void *user, const co_image *image);
bool co_images_each(tv_str file, co_visit *visit, void *user);

/* The most that an image may unpack to. */
#define CO_MAX_IMAGE ((uint64_t)256 << 20)
/* Why the image's bytes cannot be obtained, before they are unpacked; NULL: they can. */
const char *co_image_refusal(const co_image *image);

#endif

/* What a program gave to be loaded: bytecode, alone or in a fat binary without code for the device, which is ours to
   compile; or something that the driver takes as it is. Errors have been reported (loader/message.h). */
#ifndef TILEVM_LOADER_SOURCE_H
#define TILEVM_LOADER_SOURCE_H

#include "container/fatbin.h"
#include "loader/driver.h"

typedef struct ld_source {
    const void *image; /* in memory; or NULL, and then */
    const char *path;  /* of a file; or NULL, and then it is the driver's to refuse */
    bool library;      /* for all devices, not for that of the current context */
    bool ours;         /* to be compiled: */
    tv_str bytecode;
    void *memory;     /* what was read or unpacked */
    co_fatbin fatbin; /* if it is one; else without bytes */
} ld_source;

/* Looks at what was given, with image, path and library filled in, and fills in the rest. After an error the source is
   ours, and is to be closed all the same. */
tvResult ld_source_open(const ld_driver *driver, ld_source *source);

/* What came of the driver's call for a source that is not ours: handle remembers the blocks that its kernels want.
   Where the driver has no use for what is in a fat binary, but there is Tile IR, the source is ours from here on, and
   the result is that of getting at it. */
tvResult ld_source_answered(const ld_driver *driver, ld_source *source, tvResult code, const void *handle);

void ld_source_close(ld_source *source);

#endif

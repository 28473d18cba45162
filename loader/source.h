/* What a program asked to load: bytecode, alone or in a fat binary without code for the device, which we compile; or
   something that the driver takes as it is. Errors have been reported (loader/message.h). */
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

/* Handles the result of the driver's call for a source that is not ours: remembers the block sizes of the kernels of
   `handle`. If the driver rejects the code in a fat binary that also has Tile IR, the source becomes ours, and the
   result is that of reading it. */
tvResult ld_source_answered(const ld_driver *driver, ld_source *source, tvResult code, const void *handle);

void ld_source_close(ld_source *source);

#endif

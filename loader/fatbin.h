/* Fat binaries that a program hands to the driver: which of their images is for a device. */
#ifndef TILEVM_LOADER_FATBIN_H
#define TILEVM_LOADER_FATBIN_H

#include "container/fatbin.h"

/* The container that memory begins with, or that the wrapper of nvcc there points to. Reads no further than it must,
   for the memory may be a short string. How long it is it says itself, and the driver believes it as well. */
bool ld_fatbin_in(const void *image, co_fatbin *out);

/* The machine code or PTX that the driver likes best for a device of that target (90 for sm_90). False: it has none. */
bool ld_fatbin_code(co_fatbin fatbin, unsigned target, co_entry *out);
/* The Tile IR to compile for such a device: what was made for it, else for the nearest one before, else behind it.
   False: there is none. */
bool ld_fatbin_tile_ir(co_fatbin fatbin, unsigned target, co_entry *out);

/* An image unpacked, with a zero behind it: the caller's, to be freed. NULL: *out_problem says why, or is
   NULL where there is no memory. */
char *ld_fatbin_unpack(const co_entry *entry, const char **out_problem);

#endif

/* Fat binaries that a program passes to the driver: chooses their image for a device. */
#ifndef TILEVM_LOADER_FATBIN_H
#define TILEVM_LOADER_FATBIN_H

#include "container/fatbin.h"

/* The container at the start of the memory, or the one to which nvcc's wrapper there points. Reads no further than
   necessary, because the memory may be a short string. The length is the one in the container's header, which the
   driver trusts as well. */
bool ld_fatbin_in(const void *image, co_fatbin *out);

/* The machine code or PTX that the driver prefers for a device of that target (90 for sm_90). False: there is none. */
bool ld_fatbin_code(co_fatbin fatbin, unsigned target, co_entry *out);
/* The Tile IR to compile for such a device: that for the device's target, else for the nearest earlier one, else for
   the nearest later one. False: there is none. */
bool ld_fatbin_tile_ir(co_fatbin fatbin, unsigned target, co_entry *out);

/* An unpacked image, followed by a zero; the caller frees it. NULL: *out_problem says why, or is NULL if memory has run
   out. */
char *ld_fatbin_unpack(const co_entry *entry, const char **out_problem);

#endif

/* Code that was compiled before it came here: cubins, PTX and fat binaries that a program hands to the driver, written
   by our tileiras or another. The block sizes of its kernels are needed, because launches with the block 1, 1, 1, as
   the Tile IR documentation prescribes, must get them. */
#ifndef TILEVM_LOADER_COMPILED_H
#define TILEVM_LOADER_COMPILED_H

#include "loader/source.h"

/* After the driver has loaded what the source gives as the module or library of that handle: remembers the kernels with
   a block of their own. Nothing is reported: without memory, or where the image is not understood, launches are as they
   were. */
void ld_compiled_note(const ld_driver *driver, const void *handle, const ld_source *source);

#endif

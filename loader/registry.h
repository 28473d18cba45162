/* Which of the driver's handles belong to Tile IR: modules and libraries that were made from bytecode, and their
   kernels. One table for the process. Threads: any; finding takes a read lock. */
#ifndef TILEVM_LOADER_REGISTRY_H
#define TILEVM_LOADER_REGISTRY_H

#include "loader/jit.h"

/* Remembers a module or library, and takes over one use of its image, and what it was loaded with (NULL for a cubin).
   The handle may be one that the driver used before: what was known about it is forgotten. False: out of memory; both
   are given back. */
bool ld_registry_add_owner(const void *handle, ld_image *image, ld_jit *jit);
/* Remembers another handle for the code of an owner: the module of a library. */
bool ld_registry_add_alias(const void *handle, const void *owner);
/* Remembers a kernel of an owner. record is the image's. */
bool ld_registry_add_function(const void *function, const void *owner, const ld_record *record);

/* The owner that a module, library, function or kernel belongs to, or NULL. */
const void *ld_registry_owner(const void *handle);
/* The record of an entry of an owner by name, or NULL. Lives until the owner is forgotten. */
const ld_record *ld_registry_entry(const void *owner, const char *name);
/* The i-th entry of an owner; NULL past the end. */
const ld_record *ld_registry_entry_at(const void *owner, size_t index);
/* The record of a kernel. False: the kernel is not ours. */
bool ld_registry_find(const void *function, ld_record *out);

/* Reports what the driver, which may load lazily, said when it had to make code of the PTX that a handle of ours
   belongs to. False, and nothing is reported: the code is about something else, or the handle is none of ours. */
bool ld_registry_jit_failed(const void *handle, tvResult code);

/* Forgets a handle and all that belongs to it. */
void ld_registry_forget(const void *handle);

#endif

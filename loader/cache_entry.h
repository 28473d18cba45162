/* What the files of the cache share: names of entries, and reading one. */
#ifndef TILEVM_LOADER_CACHE_ENTRY_H
#define TILEVM_LOADER_CACHE_ENTRY_H

#include <sys/stat.h>

#include "loader/cache.h"

#define LD_CACHE_SUFFIX ".tvk"
#define LD_CACHE_TEMPORARY ".tmp-" /* begins the names of files that are being written */

enum { LD_CACHE_NAME_DIGITS = LD_CACHE_ID - 3 }; /* of a file: all but the two of its folder */

typedef struct ld_cache_name {
    char folder[3], file[LD_CACHE_NAME_DIGITS + sizeof LD_CACHE_SUFFIX];
} ld_cache_name;

ld_cache_name ld_cache_name_of(const char *id);

/* The problem of a sound entry that cannot be read; compared by address. */
extern const char ld_cache_no_memory[];

typedef enum ld_cache_use {
    LD_CACHE_LOOK,
    LD_CACHE_USE,  /* notes the time */
    LD_CACHE_LOWER /* may be root's; nothing is noted */
} ld_cache_use;

/* What is wrong with what a file is, for a user: its kind, owner, mode or size; or NULL. */
const char *ld_cache_file_problem(const struct stat *info, uid_t user, ld_cache_use use);

/* Reads an entry of a folder. Gives why it cannot be used, or NULL; a file that is not there
   is "". */
const char *ld_cache_read(int folder, const char *name, ld_cache_use use, ld_cache_entry *out);

/* The bytes of an entry's file, which the caller frees. NULL: out of memory, or a part is too large. */
unsigned char *ld_cache_pack(const ld_cache_key *key, tv_str records, tv_str image, size_t *out_size);

#endif

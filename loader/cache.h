/* Compiled images on disk: one file for each key, below a folder of the user's own. Safe for many processes at a time,
   also on shared file systems: a file appears whole, by rename, and nothing is locked. docs/reference/loader.md has the
   format.

   Nothing in the folder is trusted: a file is taken only if it belongs to the user, its checksum is right and the whole
   key in it is the key asked for. What is damaged is removed and reported as a warning. No function here fails: without
   a usable folder there is no cache. */
#ifndef TILEVM_LOADER_CACHE_H
#define TILEVM_LOADER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "bytecode/base/text.h"

typedef struct ld_cache {
    char *path;          /* owned; NULL: no cache */
    char *lower;         /* a second folder that is only read, owned; NULL: none */
    uint64_t limit;      /* bytes that the files may take together */
    const char *problem; /* why there is no path; NULL when it was switched off */
} ld_cache;

/* Where the cache is, from TILEVM_CACHE_DIR, XDG_CACHE_HOME and HOME, what lies below it (TILEVM_CACHE_LOWER), and its
   size from TILEVM_CACHE_SIZE ("2G",
   "500M"; 0: no cache). Touches no file. */
void ld_cache_init(ld_cache *cache);
void ld_cache_release(ld_cache *cache);

/* Bytes from "512", "64K", "500M" or "2G". */
bool ld_cache_parse_size(const char *text, uint64_t *out);

/* What an image was compiled from: lines of text about version, target, driver and options, and the bytecode. */
typedef struct ld_cache_key {
    tv_str head, bytecode;
} ld_cache_key;

enum { LD_CACHE_ID = 65 }; /* characters of the key's SHA-256 in hexadecimal, and a zero */
void ld_cache_key_id(const ld_cache_key *key, char out_id[LD_CACHE_ID]);

typedef struct ld_cache_entry {
    unsigned char *memory; /* owned (free); the others point into it */
    tv_str head, records, bytecode, image;
} ld_cache_entry;

bool ld_cache_get(const ld_cache *cache, const ld_cache_key *key, ld_cache_entry *out);
void ld_cache_put(const ld_cache *cache, const ld_cache_key *key, tv_str records, tv_str image);

/* ---- for people ---- */

typedef struct ld_cache_info {
    const char *name;            /* of the file, below the folder: "ab/cdef....tvk" */
    uint64_t size;               /* bytes on disk */
    int64_t used;                /* when it was last used: seconds since 1970 */
    const char *problem;         /* why it cannot be used, or NULL; only looked for when the contents were asked for */
    const ld_cache_entry *entry; /* the contents, when they were asked for and are sound; else NULL */
} ld_cache_info;

/* Calls visit for every file of the cache but those that are being written now, contents read and checked if asked
   for. Gives why the folder cannot be read,
   or NULL; a folder that does not exist is an empty cache. */
const char *ld_cache_visit(const ld_cache *cache, bool contents, void (*visit)(void *user, const ld_cache_info *info),
                           void *user);

typedef struct ld_cache_removed {
    size_t files;
    uint64_t bytes;
} ld_cache_removed;

/* Removes the least recently used entries until the rest takes no more than limit bytes, and the files that killed
   processes left half written an hour ago or more. limit 0: everything. Never touches files that are not the cache's.
   Gives as above. */
const char *ld_cache_prune(const ld_cache *cache, uint64_t limit, ld_cache_removed *out);
/* Removes the files whose contents are damaged. */
const char *ld_cache_prune_damaged(const ld_cache *cache, ld_cache_removed *out);

#endif

/* The disk cache: finds its folder, reads entries and writes them. loader/cache_entry.c has the form of its files. */
#include "loader/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "loader/cache_entry.h"
#include "loader/folder.h"
#include "loader/message.h"

#define DEFAULT_LIMIT ((uint64_t)1 << 30)
/* ---- where ---- */

bool ld_cache_parse_size(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || errno || text[0] == '-')
        return false;
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    unsigned shift = unit && *unit ? 10 * ((unsigned)(unit - units) + 1) : 0;
    if (*end && (!shift || end[1] || number > UINT64_MAX >> shift))
        return false;
    *out = number << shift;
    return true;
}

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

void ld_cache_init(ld_cache *cache)
{
    *cache = (ld_cache){.limit = DEFAULT_LIMIT};
    const char *own = secure_getenv("TILEVM_CACHE_DIR"), *xdg = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME"), *size = secure_getenv("TILEVM_CACHE_SIZE");
    const char *lower = secure_getenv("TILEVM_CACHE_LOWER");
    if (size && size[0] && !ld_cache_parse_size(size, &cache->limit)) {
        cache->problem = "TILEVM_CACHE_SIZE is not a size; write it like 500M or 2G";
        return;
    }
    if (cache->limit == 0)
        return;
    if (own && own[0])
        cache->path = strdup(own);
    else if (xdg && xdg[0] == '/') /* other paths must be ignored: XDG base directory specification */
        cache->path = join(xdg, "tilevm");
    else if (home && home[0])
        cache->path = join(home, ".cache/tilevm");
    else
        cache->problem = "none of TILEVM_CACHE_DIR, XDG_CACHE_HOME and HOME is set";
    if (lower && lower[0])
        cache->lower = strdup(lower); /* without memory, it counts as missing */
    if (!cache->path && !cache->problem)
        cache->problem = ld_cache_no_memory;
}

void ld_cache_release(ld_cache *cache)
{
    free(cache->path);
    free(cache->lower);
    *cache = (ld_cache){0};
}

/* ---- warnings ---- */

/* Warns once per process that the cache cannot be used, or not fully, and why. */
static void complain(ld_rule rule, const ld_cache *cache, const char *what, const char *why)
{
    static atomic_bool said;
    if (!atomic_exchange(&said, true))
        ld_warn(rule, "the cache%s%s %s: %s; kernels are compiled again by every process that loads them",
                cache->path ? " " : "", cache->path ? cache->path : "", what, why);
}

/* ---- reading ---- */

static bool same(tv_str a, tv_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Warns once per process that the lower layer is not used. */
static void complain_lower(const ld_cache *cache, const char *why)
{
    static atomic_bool said;
    if (!atomic_exchange(&said, true))
        ld_warn(LD_RULE_L_CACHE_02, "the lower cache %s is not used: %s", cache->lower, why);
}

/* Reads the entry in the folder of a layer; a damaged entry of the upper layer is removed. */
static bool take_entry(const char *path, int folder, const ld_cache_name *name, bool lower, const ld_cache_key *key,
                       ld_cache_entry *out)
{
    const char *problem = ld_cache_read(folder, name->file, lower ? LD_CACHE_LOWER : LD_CACHE_USE, out);
    if (!problem && (!same(out->head, key->head) || !same(out->bytecode, key->bytecode))) {
        free(out->memory);
        problem = "it was made for another key";
    }
    if (problem && problem[0]) {
        ld_warn(LD_RULE_L_CACHE_01, "cache entry %s/%s/%s is not used: %s; it is compiled again", path, name->folder,
                name->file, problem);
        if (problem != ld_cache_no_memory && !lower)
            unlinkat(folder, name->file, 0);
    }
    return !problem;
}

static bool get_from_upper(const ld_cache *cache, const ld_cache_name *name, const ld_cache_key *key,
                           ld_cache_entry *out)
{
    const char *problem = cache->problem;
    int root = cache->path ? ld_folder_open(cache->path, false, &problem) : -1;
    if (root < 0) {
        if (problem)
            complain(LD_RULE_L_CACHE_02, cache, "is not used", problem);
        return false;
    }
    int folder = ld_folder_open_sub(root, name->folder, false);
    close(root);
    if (folder < 0)
        return false;
    bool taken = take_entry(cache->path, folder, name, false, key, out);
    close(folder);
    return taken;
}

static bool get_from_lower(const ld_cache *cache, const ld_cache_name *name, const ld_cache_key *key,
                           ld_cache_entry *out)
{
    const char *problem = NULL;
    int root = ld_folder_open_lower(cache->lower, &problem);
    if (root < 0) {
        complain_lower(cache, problem ? problem : "it is not there");
        return false;
    }
    int folder = ld_folder_open_sub_lower(root, name->folder);
    if (folder < 0 && errno == EACCES)
        complain_lower(cache, "a folder in it belongs to another user, or others may write to it");
    close(root);
    if (folder < 0)
        return false;
    bool taken = take_entry(cache->lower, folder, name, true, key, out);
    close(folder);
    return taken;
}

bool ld_cache_get(const ld_cache *cache, const ld_cache_key *key, ld_cache_entry *out)
{
    char id[LD_CACHE_ID];
    if (!cache->path && !cache->problem) /* switched off */
        return false;
    ld_cache_key_id(key, id);
    ld_cache_name name = ld_cache_name_of(id);
    return get_from_upper(cache, &name, key, out) || (cache->lower && get_from_lower(cache, &name, key, out));
}

/* ---- writing ---- */

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            bytes += done;
            size -= (size_t)done;
        }
    }
    return true;
}

/* Writes under a name that no other process has, then renames. */
static bool write_file(int folder, const char *name, const unsigned char *bytes, size_t size)
{
    static atomic_uint serial;
    char temporary[64];
    int fd = -1;
    for (unsigned attempt = 0; fd < 0 && attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(temporary, sizeof temporary, LD_CACHE_TEMPORARY "%ld-%ld-%u", (long)getpid(), now.tv_nsec,
                 atomic_fetch_add(&serial, 1));
        fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return false;
    }
    if (fd < 0)
        return false;
    bool written = write_all(fd, bytes, size);
    int error = errno;
    if (close(fd) != 0 && written) { /* network file systems report here that the disk is full */
        written = false;
        error = errno;
    }
    if (written && renameat(folder, temporary, folder, name) == 0)
        return true;
    if (written)
        error = errno;
    unlinkat(folder, temporary, 0);
    errno = error;
    return false;
}

void ld_cache_put(const ld_cache *cache, const ld_cache_key *key, tv_str records, tv_str image)
{
    static _Atomic uint64_t since_prune = UINT64_MAX / 2; /* the first entry of a process looks at the size */
    size_t size;
    unsigned char *file = cache->path ? ld_cache_pack(key, records, image, &size) : NULL;
    if (!file)
        return;
    const char *problem;
    int root = size <= cache->limit ? ld_folder_open(cache->path, true, &problem) : -1;
    if (root >= 0) {
        char id[LD_CACHE_ID];
        ld_cache_key_id(key, id);
        ld_cache_name name = ld_cache_name_of(id);
        bool written = false;
        /* Another process may remove the empty folder before our file is in it. */
        for (unsigned attempt = 0; !written && (attempt == 0 || errno == ENOENT) && attempt < 3; attempt++) {
            int folder = ld_folder_open_sub(root, name.folder, true);
            written = folder >= 0 && write_file(folder, name.file, file, size);
            int error = errno;
            if (folder >= 0)
                close(folder);
            errno = error;
        }
        if (!written)
            complain(LD_RULE_L_CACHE_03, cache, "cannot be written", strerror(errno));
        close(root);
        if (atomic_fetch_add(&since_prune, size) >= cache->limit / 32) {
            atomic_store(&since_prune, 0);
            ld_cache_prune(cache, cache->limit, &(ld_cache_removed){0});
        }
    } else if (size <= cache->limit) {
        complain(LD_RULE_L_CACHE_02, cache, "is not used", problem);
    }
    free(file);
}

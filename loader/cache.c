/* The disk cache. File names are <2 digits>/<62 digits>.tvk of the key's SHA-256; a file is

     0   8 bytes   "TVKCACH" and the format's number, 1
     8   u32 u32   bytes of head and records          little-endian
    16   u64 u64   bytes of bytecode and image
    32   u64       bytes of the packed part
    40   32 bytes  SHA-256 of bytes 0 to 39 and the packed part
    72   packed    head, records, bytecode, image: one zlib stream */
#include "loader/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "loader/cache_entry.h"
#include "loader/folder.h"
#include "loader/message.h"
#include "loader/sha256.h"

#define DEFAULT_LIMIT ((uint64_t)1 << 30)
#define LARGEST ((uint64_t)1 << 30) /* bytes of one part; more is damage */

enum {
    HEADER = 72,
    CHECKED_HEADER = 40,
    ZLIB_RATIO = 1040,     /* deflate makes at most 1032 bytes of one */
    USED_STEP_SECONDS = 60 /* time of last use is written no more often than this */
};

static const unsigned char magic[8] = {'T', 'V', 'K', 'C', 'A', 'C', 'H', 1};

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

const char ld_cache_no_memory[] = "out of memory";

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
    else if (xdg && xdg[0] == '/') /* others are to be ignored: XDG base directory specification */
        cache->path = join(xdg, "tilevm");
    else if (home && home[0])
        cache->path = join(home, ".cache/tilevm");
    else
        cache->problem = "none of TILEVM_CACHE_DIR, XDG_CACHE_HOME and HOME is set";
    if (lower && lower[0])
        cache->lower = strdup(lower); /* without memory for it, it is not there */
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

/* Says once in a process why the cache is not used as it could be. */
static void complain(ld_rule rule, const ld_cache *cache, const char *what, const char *why)
{
    static atomic_bool said;
    if (!atomic_exchange(&said, true))
        ld_warn(rule, "the cache%s%s %s: %s; kernels are compiled again by every process that loads them",
                cache->path ? " " : "", cache->path ? cache->path : "", what, why);
}

/* ---- keys ---- */

static void put_number(unsigned char *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_number(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

void ld_cache_key_id(const ld_cache_key *key, char out_id[LD_CACHE_ID])
{
    unsigned char size[8], digest[LD_SHA256_SIZE];
    ld_sha256 hash;
    put_number(size, key->head.len, sizeof size);
    ld_sha256_init(&hash);
    ld_sha256_add(&hash, size, sizeof size);
    ld_sha256_add(&hash, key->head.ptr, key->head.len);
    ld_sha256_add(&hash, key->bytecode.ptr, key->bytecode.len);
    ld_sha256_finish(&hash, digest);
    ld_sha256_hex(digest, out_id);
}

ld_cache_name ld_cache_name_of(const char *id)
{
    ld_cache_name name;
    snprintf(name.folder, sizeof name.folder, "%.2s", id);
    snprintf(name.file, sizeof name.file, "%s" LD_CACHE_SUFFIX, id + 2);
    return name;
}

/* ---- reading ---- */

static bool read_all(int fd, unsigned char *out, size_t size)
{
    while (size) {
        ssize_t got = read(fd, out, size);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got > 0) {
            out += got;
            size -= (size_t)got;
        }
    }
    return true;
}

static void checksum(const unsigned char *header, const unsigned char *packed, size_t size,
                     unsigned char out_digest[LD_SHA256_SIZE])
{
    ld_sha256 hash;
    ld_sha256_init(&hash);
    ld_sha256_add(&hash, header, CHECKED_HEADER);
    ld_sha256_add(&hash, packed, size);
    ld_sha256_finish(&hash, out_digest);
}

/* Checks and unpacks the bytes of a file. Gives why not, or NULL. */
static const char *unpack(const unsigned char *file, size_t size, ld_cache_entry *out)
{
    if (size < HEADER || memcmp(file, magic, sizeof magic - 1) != 0)
        return "it is no file of the cache";
    if (file[7] != magic[7])
        return "it is of another version of the format";
    uint64_t head = get_number(file + 8, 4), records = get_number(file + 12, 4), bytecode = get_number(file + 16, 8);
    uint64_t image = get_number(file + 24, 8), packed = get_number(file + 32, 8);
    if (packed != size - HEADER)
        return "it was cut short";
    unsigned char digest[LD_SHA256_SIZE];
    checksum(file, file + HEADER, (size_t)packed, digest);
    if (memcmp(digest, file + CHECKED_HEADER, sizeof digest) != 0)
        return "its checksum is wrong";
    if (head > LARGEST || records > LARGEST || bytecode > LARGEST || image > LARGEST)
        return "its sizes make no sense";
    uint64_t total = head + records + bytecode + image;
    if (total > packed * ZLIB_RATIO)
        return "its sizes make no sense";
    unsigned char *memory = malloc((size_t)total + 1);
    if (!memory)
        return ld_cache_no_memory;
    uLongf unpacked = (uLongf)total;
    int status = uncompress(memory, &unpacked, file + HEADER, (uLong)packed);
    if (status != Z_OK || unpacked != total) {
        free(memory);
        return status == Z_MEM_ERROR ? ld_cache_no_memory : "it cannot be unpacked";
    }
    memory[total] = 0;
    const char *p = (const char *)memory;
    *out = (ld_cache_entry){.memory = memory,
                            .head = {.ptr = p, .len = (size_t)head},
                            .records = {.ptr = p + head, .len = (size_t)records},
                            .bytecode = {.ptr = p + head + records, .len = (size_t)bytecode},
                            .image = {.ptr = p + head + records + bytecode, .len = (size_t)image}};
    return NULL;
}

const char *ld_cache_read(int folder, const char *name, ld_cache_use use, ld_cache_entry *out)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? "" : errno == ELOOP ? "it is a symbolic link" : strerror(errno);
    struct stat info;
    const char *problem = NULL;
    unsigned char *bytes = NULL;
    if (fstat(fd, &info) != 0)
        problem = strerror(errno);
    else if (!S_ISREG(info.st_mode))
        problem = "it is no regular file";
    else if (info.st_uid != geteuid() && !(use == LD_CACHE_LOWER && info.st_uid == 0))
        problem = "it belongs to another user";
    else if (info.st_mode & (S_IWGRP | S_IWOTH))
        problem = "others may write to it";
    else if (info.st_size < HEADER || (uint64_t)info.st_size > LARGEST)
        problem = "it was cut short";
    else if (!(bytes = malloc((size_t)info.st_size)))
        problem = ld_cache_no_memory;
    else if (!read_all(fd, bytes, (size_t)info.st_size))
        problem = "it cannot be read to its end";
    else
        problem = unpack(bytes, (size_t)info.st_size, out);
    if (!problem && use == LD_CACHE_USE && time(NULL) - info.st_mtime > USED_STEP_SECONDS)
        futimens(fd, NULL); /* best effort: without it the entry only looks older than it is */
    free(bytes);
    close(fd);
    return problem;
}

static bool same(tv_str a, tv_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Says once in a process that the lower layer is not used. */
static void complain_lower(const ld_cache *cache, const char *why)
{
    static atomic_bool said;
    if (!atomic_exchange(&said, true))
        ld_warn(LD_RULE_L_CACHE_02, "the lower cache %s is not used: %s", cache->lower, why);
}

/* The entry in the folder of a layer. What is damaged is removed, from the upper one. */
static bool take_entry(const char *path, int folder, const ld_cache_name *name, bool lower, const ld_cache_key *key,
                       ld_cache_entry *out)
{
    const char *problem = ld_cache_read(folder, name->file, lower ? LD_CACHE_LOWER : LD_CACHE_USE, out);
    if (!problem && (!same(out->head, key->head) || !same(out->bytecode, key->bytecode))) {
        free(out->memory);
        problem = "it holds the answer to another question";
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

/* The whole file in memory (free), or NULL. */
static unsigned char *pack(const ld_cache_key *key, tv_str records, tv_str image, size_t *out_size)
{
    const tv_str parts[] = {key->head, records, key->bytecode, image};
    size_t total = 0;
    for (size_t i = 0; i < TV_COUNT(parts); i++) {
        if (parts[i].len > LARGEST)
            return NULL;
        total += parts[i].len;
    }
    unsigned char *plain = malloc(total + 1), *file = malloc(HEADER + compressBound((uLong)total));
    uLongf packed = compressBound((uLong)total);
    if (plain && file) {
        size_t at = 0;
        for (size_t i = 0; i < TV_COUNT(parts); i++) {
            if (parts[i].len)
                memcpy(plain + at, parts[i].ptr, parts[i].len);
            at += parts[i].len;
        }
    }
    if (!plain || !file || compress2(file + HEADER, &packed, plain, (uLong)total, Z_BEST_SPEED) != Z_OK) {
        free(plain);
        free(file);
        return NULL;
    }
    free(plain);
    memcpy(file, magic, sizeof magic);
    put_number(file + 8, key->head.len, 4);
    put_number(file + 12, records.len, 4);
    put_number(file + 16, key->bytecode.len, 8);
    put_number(file + 24, image.len, 8);
    put_number(file + 32, packed, 8);
    checksum(file, file + HEADER, packed, file + CHECKED_HEADER);
    *out_size = HEADER + packed;
    return file;
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
    if (close(fd) != 0 && written) { /* where network file systems tell that the disk is full */
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
    unsigned char *file = cache->path ? pack(key, records, image, &size) : NULL;
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

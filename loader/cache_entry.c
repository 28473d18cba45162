/* One entry of the disk cache. File names are <2 digits>/<62 digits>.tvk of the key's SHA-256; a file is

     0   8 bytes   "TVKCACH" and the format's number, 1
     8   u32 u32   bytes of head and records          little-endian
    16   u64 u64   bytes of bytecode and image
    32   u64       bytes of the packed part
    40   32 bytes  SHA-256 of bytes 0 to 39 and the packed part
    72   packed    head, records, bytecode, image: one zlib stream */
#include "loader/cache_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "loader/folder.h"
#include "loader/sha256.h"

#define LARGEST ((uint64_t)1 << 30) /* bytes of one part; more is damage */

enum {
    HEADER = 72,
    CHECKED_HEADER = 40,
    ZLIB_RATIO = 1040,     /* deflate makes at most 1032 bytes of one */
    USED_STEP_SECONDS = 60 /* the time of last use is updated no more often than this */
};

static const unsigned char magic[8] = {'T', 'V', 'K', 'C', 'A', 'C', 'H', 1};

const char ld_cache_no_memory[] = "out of memory";

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

/* Checks and unpacks the bytes of a file. Returns the problem, or NULL. */
static const char *unpack(const unsigned char *file, size_t size, ld_cache_entry *out)
{
    if (size < HEADER || memcmp(file, magic, sizeof magic - 1) != 0)
        return "it is no file of the cache";
    if (file[7] != magic[7])
        return "it is of another version of the format";
    uint64_t head = get_number(file + 8, 4), records = get_number(file + 12, 4), bytecode = get_number(file + 16, 8);
    uint64_t image = get_number(file + 24, 8), packed = get_number(file + 32, 8);
    if (packed != size - HEADER)
        return "it is truncated";
    unsigned char digest[LD_SHA256_SIZE];
    checksum(file, file + HEADER, (size_t)packed, digest);
    if (memcmp(digest, file + CHECKED_HEADER, sizeof digest) != 0)
        return "its checksum is wrong";
    if (head > LARGEST || records > LARGEST || bytecode > LARGEST || image > LARGEST)
        return "its sizes are inconsistent";
    uint64_t total = head + records + bytecode + image;
    if (total > packed * ZLIB_RATIO)
        return "its sizes are inconsistent";
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

const char *ld_cache_file_problem(const struct stat *info, uid_t user, ld_cache_use use)
{
    if (!S_ISREG(info->st_mode))
        return "it is no regular file";
    if (!ld_is_own(info, user, use == LD_CACHE_LOWER))
        return "it belongs to another user";
    if (info->st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it";
    return info->st_size < HEADER || (uint64_t)info->st_size > LARGEST ? "it is truncated" : NULL;
}

static const char *read_and_unpack(int fd, size_t size, ld_cache_entry *out)
{
    unsigned char *bytes = malloc(size);
    const char *problem = !bytes                       ? ld_cache_no_memory
                          : !read_all(fd, bytes, size) ? "it cannot be read to its end"
                                                       : unpack(bytes, size, out);
    free(bytes);
    return problem;
}

const char *ld_cache_read(int folder, const char *name, ld_cache_use use, ld_cache_entry *out)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? "" : errno == ELOOP ? "it is a symbolic link" : strerror(errno);
    struct stat info;
    const char *problem = fstat(fd, &info) != 0 ? strerror(errno) : ld_cache_file_problem(&info, geteuid(), use);
    if (!problem)
        problem = read_and_unpack(fd, (size_t)info.st_size, out);
    if (!problem && use == LD_CACHE_USE && time(NULL) - info.st_mtime > USED_STEP_SECONDS)
        futimens(fd, NULL); /* best effort: without it the entry only looks older than it is */
    close(fd);
    return problem;
}

/* ---- writing ---- */

unsigned char *ld_cache_pack(const ld_cache_key *key, tv_str records, tv_str image, size_t *out_size)
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

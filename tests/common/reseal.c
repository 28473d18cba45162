#include "tests/common/reseal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "loader/bundle/bundle.h"

enum { HEAD = 32, KERNEL = 20, MODULE = 64, DIGEST_OF_MODULE = 32, MOST = 1 << 22 };

typedef struct part {
    unsigned char *bytes;
    size_t size, unpacked;
    bool deflated;
} part;

static bool read_bytes(void *user, uint64_t at, void *out, size_t size)
{
    memcpy(out, (unsigned char *)user + at, size);
    return true;
}

/* The manifest, the seal and the index. */
static bool find_parts(unsigned char *bytes, size_t size, part parts[3])
{
    bc_zip_source source = {.user = bytes, .size = size, .read = read_bytes};
    bc_zip_directory directory;
    size_t at = 0;
    if (bc_zip_find_directory(&source, &directory))
        return false;
    for (size_t i = 0; i < 3; i++) {
        bc_zip_member m;
        uint64_t data;
        if (!bc_zip_next(bytes + directory.at, (size_t)directory.size, &at, &m) || bc_zip_find_data(&source, &m, &data))
            return false;
        parts[i] = (part){bytes + data, (size_t)m.packed, (size_t)m.size, m.method == BC_ZIP_DEFLATED};
    }
    return true;
}

static size_t number(const unsigned char *p, unsigned bytes)
{
    size_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (size_t)p[i] << 8 * i;
    return value;
}

static void seal_records(part index, size_t head)
{
    size_t kernels = head >= HEAD ? number(index.bytes + 8, 4) : 0,
           modules = head >= HEAD ? number(index.bytes + 12, 4) : 0;
    if (kernels > MOST || modules > MOST || HEAD + kernels * KERNEL + modules * MODULE > head)
        return;
    for (size_t i = 0; i < modules; i++) {
        unsigned char *row = index.bytes + HEAD + kernels * KERNEL + i * MODULE;
        size_t at = number(row + 16, 8), size = number(row + 24, 8), room = index.size - head;
        if (at <= room && size <= room - at)
            ld_sha256_of(index.bytes + head + at, size, row + DIGEST_OF_MODULE);
    }
}

/* Puts a hash after the second space of a line. */
static void put_hash(unsigned char *line, const unsigned char *end, const void *bytes, size_t size)
{
    unsigned char digest[LD_SHA256_SIZE];
    char hex[LD_SHA256_HEX];
    unsigned char *space = memchr(line, ' ', (size_t)(end - line));
    space = space ? memchr(space + 1, ' ', (size_t)(end - space - 1)) : NULL;
    ld_sha256_of(bytes, size, digest);
    ld_sha256_hex(digest, hex);
    if (space && (size_t)(end - space) > LD_SHA256_HEX)
        memcpy(space + 1, hex, LD_SHA256_HEX - 1);
}

static void seal_manifest(part manifest, unsigned char *line, const unsigned char *end)
{
    if (!manifest.deflated || manifest.unpacked > MOST) {
        put_hash(line, end, manifest.bytes, manifest.size);
        return;
    }
    unsigned char *text = calloc(1, manifest.unpacked + 1);
    z_stream z = {.next_in = manifest.bytes,
                  .avail_in = (uInt)manifest.size,
                  .next_out = text,
                  .avail_out = (uInt)manifest.unpacked};
    if (text && inflateInit2(&z, -MAX_WBITS) == Z_OK) {
        inflate(&z, Z_FINISH);
        inflateEnd(&z);
        put_hash(line, end, text, manifest.unpacked);
    }
    free(text);
}

void reseal(unsigned char *bytes, size_t size)
{
    part parts[3];
    if (!find_parts(bytes, size, parts) || parts[1].size >= 400)
        return;
    char text[400];
    unsigned long head = 0;
    memcpy(text, parts[1].bytes, parts[1].size);
    text[parts[1].size] = 0;
    char *index = strstr(text, "\nindex "), *manifest = strstr(text, "\nmanifest ");
    if (!index || !manifest || sscanf(index, "\nindex %lu", &head) != 1 || head > parts[2].size)
        return;
    const unsigned char *end = parts[1].bytes + parts[1].size;
    seal_records(parts[2], head);
    put_hash(parts[1].bytes + (index - text) + 1, end, parts[2].bytes, head);
    seal_manifest(parts[0], parts[1].bytes + (manifest - text) + 1, end);
}

/* Files with device code in them. */
#include "tests/common/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(TV_HAVE_zstd)
#include <zstd.h>
#endif
#if defined(TV_HAVE_lz4)
#include <lz4.h>
#endif

static void put(bc_text *out, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bc_text_char(out, (char)(value >> 8 * i));
}

static void patch(bc_text *out, size_t at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; out->ptr && i < size; i++)
        out->ptr[at + i] = (char)(value >> 8 * i);
}

static void pad(bc_text *out, size_t from)
{
    while ((out->len - from) % 8)
        bc_text_char(out, 0);
}

/* ---- fat binaries ---- */

size_t program_fatbin_begin(bc_text *out)
{
    size_t begin = out->len;
    put(out, 0xba55ed50, 4);
    put(out, 1, 2);
    put(out, 16, 2);
    put(out, 0, 8);
    return begin;
}

void program_fatbin_end(bc_text *out, size_t begin)
{
    patch(out, begin + 8, out->len - begin - 16, 8);
}

/* Packed bytes, malloc'ed; NULL without the library. */
static char *pack(co_packing packing, tv_str bytes, size_t *out_size)
{
    char *packed = NULL;
    (void)bytes;
    *out_size = 0;
#if defined(TV_HAVE_zstd)
    if (packing == CO_ZSTD) {
        size_t room = ZSTD_compressBound(bytes.len);
        packed = malloc(room);
        *out_size = packed ? ZSTD_compress(packed, room, bytes.ptr, bytes.len, 3) : 0;
    }
#endif
#if defined(TV_HAVE_lz4)
    if (packing == CO_LZ4) {
        int room = LZ4_compressBound((int)bytes.len);
        packed = malloc((size_t)room);
        *out_size = packed ? (size_t)LZ4_compress_default(bytes.ptr, packed, (int)bytes.len, room) : 0;
    }
#endif
    return packed;
}

bool program_fatbin_image(bc_text *out, co_kind kind, unsigned sm, bool exact, co_packing packing, tv_str bytes)
{
    size_t packed_size = 0, size = bytes.len;
    char *packed = NULL;
    if (packing == CO_ZSTD || packing == CO_LZ4) {
        packed = pack(packing, bytes, &packed_size);
        if (!packed)
            return false;
        bytes = (tv_str){packed, packed_size};
    }
    uint64_t flags = 0x11 | (packing == CO_ZSTD ? 0x8000u : packing == CO_LZ4 ? 0x2000u : 0) | (exact ? 0x100000u : 0);
    put(out, kind, 2);
    put(out, 0x101, 2);
    put(out, 64, 4);
    put(out, (bytes.len + 7) / 8 * 8, 8);
    put(out, packed_size, 4);
    put(out, 0, 4);
    put(out, 0x0d050000, 4);
    put(out, sm, 4);
    put(out, 0, 8);
    put(out, flags, 8);
    put(out, 0, 8);
    put(out, packed ? size : 0, 8);
    size_t begin = out->len;
    bc_text_str(out, bytes);
    pad(out, begin);
    free(packed);
    return true;
}

/* ---- ELF ---- */

static void put_section(bc_text *out, unsigned name, unsigned type, unsigned flags, uint64_t offset, uint64_t size)
{
    put(out, name, 4);
    put(out, type, 4);
    put(out, flags, 8);
    put(out, 0, 8);
    put(out, offset, 8);
    put(out, size, 8);
    put(out, 0, 8);
    put(out, 8, 8);
    put(out, 0, 8);
}

void program_elf(bc_text *out, unsigned machine, const char *name, tv_str section, size_t filler)
{
    size_t begin = out->len;
    static const char names[] = "\0.shstrtab\0.text"; /* and the name after it */
    bc_text_bytes(out, "\177ELF\2\1\1\0\0\0\0\0\0\0\0", 16);
    put(out, 2, 2);
    put(out, machine, 2);
    put(out, 1, 4);
    for (unsigned i = 0; i < 40; i += 8)
        put(out, 0, 8);
    patch(out, begin + 52, 64, 2);
    patch(out, begin + 58, 64, 2);
    patch(out, begin + 60, 4, 2);
    patch(out, begin + 62, 1, 2);
    size_t names_at = out->len;
    bc_text_bytes(out, names, sizeof names);
    bc_text_bytes(out, name, strlen(name) + 1);
    size_t names_size = out->len - names_at;
    pad(out, begin);
    size_t text_at = out->len;
    for (size_t i = 0; i < filler; i++)
        bc_text_char(out, (char)(i * 31 + (i >> 8)));
    pad(out, begin);
    size_t section_at = out->len;
    bc_text_str(out, section);
    pad(out, begin);
    patch(out, begin + 40, out->len - begin, 8);
    put_section(out, 0, 0, 0, 0, 0);
    put_section(out, 1, 3, 0, names_at - begin, names_size);
    put_section(out, 11, 1, 6, text_at - begin, filler);
    put_section(out, sizeof names, 1, 2, section_at - begin, section.len);
}

void program_cubin(bc_text *out, const char *kernel, unsigned threads, size_t filler)
{
    enum { CUDA = 190, FLAGS_AT = 48 };
    bc_text info, name;
    bc_text_init(&info, NULL);
    bc_text_init(&name, NULL);
    bc_text_printf(&name, ".nv.info.%s", kernel);
    bc_text_bytes(&info, "\4\x36\4\0\7\0\0\0\3\x1b\xff\0\4\x10\14\0", 16); /* others, then the block */
    put(&info, threads, 4);
    put(&info, 1, 4);
    put(&info, 1, 4);
    size_t begin = out->len;
    program_elf(out, CUDA, bc_text_words(&name), bc_text_get(&info), filler);
    patch(out, begin + 8, 8, 1);
    patch(out, begin + FLAGS_AT, 90 << 8 | 4, 4);
    bc_text_release(&info);
    bc_text_release(&name);
}

/* ---- archives ---- */

void program_archive_member(bc_text *out, const char *name, tv_str bytes)
{
    bc_text_printf(out, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", name, 0, 0, 0, 100644, bytes.len);
    bc_text_str(out, bytes);
    if (bytes.len % 2)
        bc_text_char(out, '\n');
}

void program_archive_begin(bc_text *out, const char *long_names)
{
    bc_text_puts(out, "!<arch>\n");
    program_archive_member(out, "/", bc_str("\0\0\0\0"));
    if (long_names)
        program_archive_member(out, "//", bc_str(long_names));
}

/* ELF: the header, the headers of sections, their names. */
#include "container/elf.h"

#include <string.h>

#include "container/bytes.h"

enum { HEADER_SIZE = 64, SECTION_SIZE = 64, LOADED = 2, CODE = 4, COMPRESSED = 0x800 };

bool co_is_elf(tv_str file)
{
    return file.len >= 4 && memcmp(file.ptr, "\177ELF", 4) == 0;
}

static const char *header_at(const co_elf *elf, uint64_t index)
{
    return elf->file.ptr + elf->sections + index * SECTION_SIZE;
}

/* Counts of 0xff00 and more stand in the first section's header, and so does an index of 0xffff. */
static const char *find_sections(co_elf *elf)
{
    const char *header = elf->file.ptr;
    uint64_t count = co_number(header + 60, 2), names = co_number(header + 62, 2);
    elf->sections = co_number(header + 40, 8);
    if (elf->sections == 0)
        return NULL; /* it has none */
    if (co_number(header + 58, 2) != SECTION_SIZE || !co_inside(elf->file, elf->sections, SECTION_SIZE))
        return "the table of its sections is damaged";
    if (count == 0)
        count = co_number(header_at(elf, 0) + 32, 8);
    if (names == 0xffff)
        names = co_number(header_at(elf, 0) + 40, 4);
    if (count > (elf->file.len - elf->sections) / SECTION_SIZE)
        return "the table of its sections extends past its end";
    elf->section_count = (size_t)count;
    co_section section;
    if (co_elf_section(elf, (size_t)names, &section))
        elf->names = section.bytes;
    return NULL;
}

const char *co_elf_open(tv_str file, co_elf *out)
{
    *out = (co_elf){.file = file};
    if (file.len < HEADER_SIZE)
        return "it ends in its header";
    if (file.ptr[4] != 2 || file.ptr[5] != 1)
        return "only 64-bit little-endian ELF is read";
    out->machine = (unsigned)co_number(file.ptr + 18, 2);
    out->flags = (uint32_t)co_number(file.ptr + 48, 4);
    return find_sections(out);
}

static tv_str name_at(const co_elf *elf, uint64_t at)
{
    if (at >= elf->names.len)
        return (tv_str){0};
    const char *name = elf->names.ptr + at, *end = memchr(name, 0, elf->names.len - at);
    return end ? (tv_str){name, (size_t)(end - name)} : (tv_str){0};
}

bool co_elf_section(const co_elf *elf, size_t index, co_section *out)
{
    if (index >= elf->section_count)
        return false;
    const char *h = header_at(elf, index);
    uint64_t flags = co_number(h + 8, 8);
    *out = (co_section){.name = name_at(elf, co_number(h, 4)),
                        .type = (uint32_t)co_number(h + 4, 4),
                        .compressed = flags & COMPRESSED,
                        .data = (flags & (LOADED | CODE)) == LOADED,
                        .offset = co_number(h + 24, 8),
                        .link = (uint32_t)co_number(h + 40, 4),
                        .info = (uint32_t)co_number(h + 44, 4),
                        .alignment = co_number(h + 48, 8)};
    uint64_t size = out->type == CO_SECTION_NOTHING ? 0 : co_number(h + 32, 8);
    if (size && !co_inside(elf->file, out->offset, size))
        return false;
    out->bytes = (tv_str){size ? elf->file.ptr + out->offset : "", (size_t)size};
    return true;
}

bool co_elf_find(const co_elf *elf, const char *name, co_section *out)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < elf->section_count; i++)
        if (co_elf_section(elf, i, out) && out->name.len == len && memcmp(out->name.ptr, name, len) == 0)
            return true;
    return false;
}

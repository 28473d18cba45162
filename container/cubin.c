/* Attributes of kernels: a byte for the form of the value, a byte for what it is, the value. Source: what
   `readelf -x` shows beside `cuobjdump -elf` of the same cubin. */
#include "container/cubin.h"

#include <string.h>

#include "container/bytes.h"

enum { FORM_SIZED = 4, REQUIRED_BLOCK = 0x10 };
static const char prefix[] = ".nv.info.";

/* The attribute's value, of at least size bytes; NULL: it is not there. */
static const char *find_attribute(tv_str info, unsigned which, size_t size)
{
    for (size_t at = 0; co_inside(info, at, 4); at += 4) {
        unsigned form = (unsigned char)info.ptr[at], what = (unsigned char)info.ptr[at + 1];
        uint64_t len = form == FORM_SIZED ? co_number(info.ptr + at + 2, 2) : 0;
        if (!co_inside(info, at + 4, len))
            return NULL;
        if (form == FORM_SIZED && what == which && len >= size)
            return info.ptr + at + 4;
        at += (size_t)len;
    }
    return NULL;
}

bool co_cubin_blocks(const co_elf *cubin, co_block_visit *visit, void *user)
{
    co_section section;
    size_t before = sizeof prefix - 1;
    for (size_t i = 0; i < cubin->section_count; i++) {
        if (!co_elf_section(cubin, i, &section) || section.name.len <= before
            || memcmp(section.name.ptr, prefix, before) != 0)
            continue;
        const char *value = find_attribute(section.bytes, REQUIRED_BLOCK, 12);
        if (!value)
            continue;
        uint32_t block[3];
        for (unsigned d = 0; d < 3; d++)
            block[d] = (uint32_t)co_number(value + 4 * d, 4);
        if (!visit(user, (tv_str){section.name.ptr + before, section.name.len - before}, block))
            return false;
    }
    return true;
}

static void reach(size_t *end, uint64_t at, uint64_t size, size_t limit)
{
    if (at > limit || size > limit - at)
        *end = SIZE_MAX;
    else if (at + size > *end)
        *end = (size_t)(at + size);
}

size_t co_cubin_size(const void *cubin, size_t limit)
{
    enum { HEADER = 64, SECTION = 64 };
    const char *h = cubin;
    if (memcmp(h, "\177ELF\2\1", 6) != 0 || co_number(h + 18, 2) != CO_ELF_CUDA)
        return 0;
    uint64_t sections = co_number(h + 40, 8), count = co_number(h + 60, 2);
    size_t end = HEADER;
    reach(&end, co_number(h + 32, 8), co_number(h + 54, 2) * co_number(h + 56, 2), limit);
    reach(&end, sections, count * SECTION, limit);
    for (uint64_t i = 0; sections && i < count && end != SIZE_MAX; i++) {
        const char *section = h + sections + i * SECTION;
        if (co_number(section + 4, 4) != CO_SECTION_NOTHING)
            reach(&end, co_number(section + 24, 8), co_number(section + 32, 8), limit);
    }
    return end == SIZE_MAX ? 0 : end;
}

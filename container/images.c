/* Looking for device code: by what the file begins with, then by the names of sections. */
#include "container/images.h"

#include <string.h>

#include "container/archive.h"
#include "container/bytecode.h"
#include "container/bytes.h"
#include "container/elf.h"

typedef struct search {
    co_visit *visit;
    void *user;
    tv_str file, member; /* the whole file; the member of an archive that is looked at */
} search;

static bool begins(tv_str bytes, const char *with, size_t len)
{
    return bytes.len >= len && memcmp(bytes.ptr, with, len) == 0;
}

co_file co_file_of(tv_str file)
{
    co_fatbin fatbin;
    if (co_is_bytecode(file))
        return CO_FILE_BYTECODE;
    if (co_is_archive(file) || co_is_thin_archive(file))
        return CO_FILE_ARCHIVE;
    if (co_is_elf(file))
        return file.len >= 20 && co_number(file.ptr + 18, 2) == CO_ELF_CUDA ? CO_FILE_CUBIN : CO_FILE_ELF;
    if (co_fatbin_at(file, 0, &fatbin))
        return CO_FILE_FATBIN;
    return begins(file, "MZ", 2) ? CO_FILE_PE : CO_FILE_OTHER;
}

/* ---- telling ---- */

static size_t offset_in_file(const search *s, tv_str part)
{
    return part.len ? (size_t)(part.ptr - s->file.ptr) : 0;
}

static bool tell_problem(const search *s, size_t offset, const char *problem)
{
    co_image image = {.entry.offset = offset, .member = s->member, .problem = problem};
    return s->visit(s->user, &image);
}

static bool tell_whole(const search *s, tv_str bytes, co_kind kind, unsigned sm)
{
    co_image image = {
        .entry = {.kind = kind, .sm = sm, .offset = offset_in_file(s, bytes), .packed = bytes, .size = bytes.len},
        .member = s->member};
    return s->visit(s->user, &image);
}

/* ---- fat binaries ---- */

/* What is plain is padded, and how long it was is not said. */
static void trim(co_entry *entry)
{
    size_t size = 0;
    if (entry->kind == CO_TILE_IR && entry->packing == CO_PLAIN && co_is_bytecode(entry->packed))
        size = co_bytecode_size(entry->packed.ptr, entry->packed.len);
    if (size && entry->packed.len - size < CO_FATBIN_ALIGNMENT)
        entry->size = entry->packed.len = size;
}

static bool search_fatbin(const search *s, co_fatbin *fatbin)
{
    const char *problem;
    size_t base = offset_in_file(s, fatbin->bytes);
    co_image image = {.member = s->member};
    while (co_fatbin_next(fatbin, &image.entry, &problem)) {
        image.entry.offset += base;
        trim(&image.entry);
        if (image.entry.has_tile_ir) {
            if (!tell_problem(s, image.entry.offset, "Tile IR in joined images (nvcc --concat) is not read"))
                return false;
        } else if (!s->visit(s->user, &image)) {
            return false;
        }
    }
    return !problem || tell_problem(s, base + fatbin->at, problem);
}

static bool search_bytes(const search *s, tv_str bytes)
{
    co_fatbin fatbin;
    for (size_t at = 0; co_fatbin_scan(bytes, &at, &fatbin);)
        if (!search_fatbin(s, &fatbin))
            return false;
    return true;
}

/* ---- ELF ---- */

/* Where nvcc puts fat binaries: linked ones, and those with code that a device linker still has to link. */
static bool holds_fatbins(tv_str section)
{
    return begins(section, ".nv_fatbin", 10) || begins(section, "__nv_relfatbin", 14);
}

/* The target of a cubin is in its flags: the low byte before version 8 of its format, the second byte since. */
static unsigned sm_of_cubin(const co_elf *elf)
{
    unsigned abi = (unsigned char)elf->file.ptr[8];
    return abi >= 8 ? elf->flags >> 8 & 0xff : elf->flags & 0xff;
}

enum { EMPTY_SIZE = 13 }; /* of bytecode without sections */

/* Bytecode among the constants and variables of a program, as `tilevm embed` puts it there. */
static bool search_data(const search *s, tv_str bytes)
{
    const char *at = bytes.ptr, *end = at + bytes.len;
    while (at < end && (at = memchr(at, 0x7f, (size_t)(end - at))) != NULL) {
        tv_str rest = {at, (size_t)(end - at)};
        bool empty = rest.len < EMPTY_SIZE
                     || !at[8]; /* no version: the eight characters and zeros, of who looks for them */
        size_t size = !empty && co_is_bytecode(rest) ? co_bytecode_size(at, rest.len) : 0;
        if (size && !tell_whole(s, (tv_str){at, size}, CO_TILE_IR, 0))
            return false;
        at += size ? size : 1;
    }
    return true;
}

static bool search_section(const search *s, const co_section *section)
{
    if (!holds_fatbins(section->name))
        return search_data(s, section->bytes);
    if (section->compressed)
        return tell_problem(s, offset_in_file(s, section->bytes), "its section is compressed");
    return search_bytes(s, section->bytes);
}

static bool search_elf(const search *s, tv_str file)
{
    co_elf elf;
    co_section section;
    const char *problem = co_elf_open(file, &elf);
    if (problem)
        return tell_problem(s, offset_in_file(s, file), problem);
    if (elf.machine == CO_ELF_CUDA)
        return tell_whole(s, file, CO_CUBIN, sm_of_cubin(&elf));
    if (!elf.section_count)
        return search_bytes(s, file); /* a program runs without them */
    size_t searched = 0;
    for (size_t i = 0; i < elf.section_count; i++) {
        if (!co_elf_section(&elf, i, &section) || (!holds_fatbins(section.name) && !section.data))
            continue;
        if (section.bytes.len > file.len - searched) /* many sections in one place would take for ever */
            return tell_problem(s, offset_in_file(s, section.bytes), "its sections overlap");
        searched += section.bytes.len;
        if (!search_section(s, &section))
            return false;
    }
    return true;
}

/* ---- files ---- */

static bool search_file(const search *s, tv_str file);

static bool search_archive(const search *s, tv_str file)
{
    co_archive archive;
    co_member member;
    const char *problem;
    if (co_is_thin_archive(file))
        return tell_problem(s, 0, "the members of a thin archive are files beside it; name those");
    co_archive_open(file, &archive);
    while (co_archive_next(&archive, &member, &problem)) {
        search inner = *s;
        inner.member = member.name;
        bool nested = co_file_of(member.bytes) == CO_FILE_ARCHIVE; /* linkers do not look there either */
        if (!nested && !search_file(&inner, member.bytes))
            return false;
    }
    return !problem || tell_problem(s, archive.at, problem);
}

static bool search_file(const search *s, tv_str file)
{
    switch (co_file_of(file)) {
    case CO_FILE_BYTECODE: return tell_whole(s, file, CO_TILE_IR, 0);
    case CO_FILE_FATBIN:
    case CO_FILE_PE: return search_bytes(s, file);
    case CO_FILE_CUBIN:
    case CO_FILE_ELF: return search_elf(s, file);
    case CO_FILE_ARCHIVE: return search_archive(s, file);
    case CO_FILE_OTHER: break;
    }
    return true;
}

bool co_images_each(tv_str file, co_visit *visit, void *user)
{
    search s = {.visit = visit, .user = user, .file = file};
    return search_file(&s, file);
}

const char *co_image_refusal(const co_image *image)
{
    if (image->problem)
        return image->problem;
    if (image->entry.size > CO_MAX_IMAGE)
        return "it would expand to more than 256 MiB";
    return co_packing_refusal(image->entry.packing);
}

/* Threads, registers and shared memory of kernels, from PTX and from cubins, and how many of them a multiprocessor
   takes.

   Cubins are ELF files. The section .nv.info has the number of registers of each function, a record of 4 bytes (form,
   attribute, size) and a payload; .nv.shared.<kernel> is as large as the kernel's static shared memory, with the 1 KiB
   of the driver where there is a section .nv.shared.reserved.0. Sources: the ELF specification; what `cuobjdump -elf`
   prints. A cubin that is none, or of another kind, only tells less. */
#include <elf.h>
#include <string.h>

#include "loader/record.h"
#include "tools/tilevm/fleet/fleet.h"

enum { SHARED_OF_DRIVER = 1024 }; /* of every thread block */

/* ---- PTX ---- */

/* The number in the brackets of ".shared .align 16 .b8 name[4096];"; elements count as bytes, as the code generator
   writes them. */
static uint64_t declared_bytes(tv_str line)
{
    const char *open = memchr(line.ptr, '[', line.len), *end = line.ptr + line.len;
    uint64_t bytes = 0;
    for (const char *p = open ? open + 1 : end; p < end && *p >= '0' && *p <= '9' && bytes < UINT32_MAX; p++)
        bytes = bytes * 10 + (uint64_t)(*p - '0');
    return bytes;
}

static bool begins(tv_str line, const char *word)
{
    size_t len = strlen(word);
    return line.len >= len && memcmp(line.ptr, word, len) == 0;
}

/* Adds what the body of each entry declares. */
static void add_static_shared(tv_str ptx, fleet_needs *needs, size_t count)
{
    fleet_needs *current = NULL;
    for (const char *p = ptx.ptr, *end = p + ptx.len; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        tv_str line = {p, (size_t)(stop - p)};
        if (begins(line, ".visible .entry ")) {
            tv_str rest = {line.ptr + 16, line.len - 16};
            current = NULL;
            for (size_t i = 0; i < count; i++)
                if (rest.len > needs[i].kernel.len && rest.ptr[needs[i].kernel.len] == '('
                    && memcmp(rest.ptr, needs[i].kernel.ptr, needs[i].kernel.len) == 0)
                    current = &needs[i];
        } else if (current && begins(line, "\t.shared ")) {
            current->static_bytes += declared_bytes(line);
        }
        p = stop + 1;
    }
}

/* ---- cubins ---- */

typedef struct elf_file {
    tv_str bytes;
    Elf64_Ehdr header;
} elf_file;

/* Copies size bytes from a place. False: they are not all there. */
static bool copy_at(tv_str bytes, uint64_t at, void *out, size_t size)
{
    if (at > bytes.len || size > bytes.len - at)
        return false;
    memcpy(out, bytes.ptr + at, size);
    return true;
}

static bool section_at(const elf_file *elf, unsigned i, Elf64_Shdr *out)
{
    return i < elf->header.e_shnum && elf->header.e_shentsize == sizeof *out && elf->header.e_shoff <= elf->bytes.len
           && copy_at(elf->bytes, elf->header.e_shoff + (uint64_t)i * sizeof *out, out, sizeof *out);
}

/* A text of a string table; empty if it is not there. */
static tv_str string_at(const elf_file *elf, unsigned table, uint64_t at)
{
    Elf64_Shdr section;
    if (!section_at(elf, table, &section) || section.sh_offset > elf->bytes.len
        || section.sh_size > elf->bytes.len - section.sh_offset || at >= section.sh_size)
        return bc_str("");
    const char *text = elf->bytes.ptr + section.sh_offset + at;
    size_t most = (size_t)(section.sh_size - at);
    return (tv_str){text, strnlen(text, most)};
}

/* The name of the i-th symbol. */
static tv_str symbol_at(const elf_file *elf, uint32_t i)
{
    Elf64_Shdr section;
    Elf64_Sym symbol;
    for (unsigned s = 0; section_at(elf, s, &section); s++)
        if (section.sh_type == SHT_SYMTAB && section.sh_offset <= elf->bytes.len
            && copy_at(elf->bytes, section.sh_offset + (uint64_t)i * sizeof symbol, &symbol, sizeof symbol))
            return string_at(elf, section.sh_link, symbol.st_name);
    return bc_str("");
}

static void take_registers(const elf_file *elf, const uint32_t pair[2], fleet_needs *needs, size_t count)
{
    tv_str name = symbol_at(elf, pair[0]);
    for (size_t i = 0; i < count; i++)
        if (bc_str_eq(needs[i].kernel, name) && pair[1] <= 255)
            needs[i].registers = pair[1];
}

/* Walks the records of .nv.info. */
static void read_info(const elf_file *elf, const Elf64_Shdr *section, fleet_needs *needs, size_t count)
{
    enum { HAS_PAYLOAD = 4, REGISTER_COUNT = 0x2f };
    uint64_t at = section->sh_offset, left = section->sh_size;
    unsigned char head[4];
    uint32_t pair[2];
    while (left >= sizeof head && copy_at(elf->bytes, at, head, sizeof head)) {
        uint64_t size = sizeof head + (head[0] == HAS_PAYLOAD ? head[2] + 256U * head[3] : 0);
        if (size > left)
            return;
        if (head[0] == HAS_PAYLOAD && head[1] == REGISTER_COUNT && size == sizeof head + sizeof pair
            && copy_at(elf->bytes, at + sizeof head, pair, sizeof pair))
            take_registers(elf, pair, needs, count);
        at += size;
        left -= size;
    }
}

static void read_cubin(tv_str code, fleet_needs *needs, size_t count)
{
    static const char shared[] = ".nv.shared.";
    elf_file elf = {.bytes = code};
    Elf64_Shdr section;
    bool reserved = false;
    if (!copy_at(code, 0, &elf.header, sizeof elf.header) || memcmp(elf.header.e_ident, ELFMAG, SELFMAG) != 0
        || elf.header.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    for (unsigned s = 0; section_at(&elf, s, &section); s++) {
        tv_str name = string_at(&elf, elf.header.e_shstrndx, section.sh_name);
        if (bc_str_is(name, ".nv.info") && section.sh_offset <= code.len)
            read_info(&elf, &section, needs, count);
        reserved |= bc_str_is(name, ".nv.shared.reserved.0");
        for (size_t i = 0; begins(name, shared) && i < count; i++)
            if (bc_str_eq((tv_str){name.ptr + sizeof shared - 1, name.len - (sizeof shared - 1)}, needs[i].kernel)
                && section.sh_size <= UINT32_MAX)
                needs[i].static_bytes += section.sh_size;
    }
    for (size_t i = 0; reserved && i < count; i++)
        needs[i].static_bytes -= needs[i].static_bytes < SHARED_OF_DRIVER ? needs[i].static_bytes : SHARED_OF_DRIVER;
}

/* ---- both ---- */

fleet_needs *fleet_needs_of(ld_artifact_form form, tv_str code, tv_str launch, bc_arena *arena, size_t *out_count)
{
    ld_record *records;
    size_t count;
    if (!ld_records_parse(arena, launch, &records, &count))
        return NULL;
    fleet_needs *needs = bc_new(arena, fleet_needs, count);
    for (size_t i = 0; needs && i < count; i++) {
        const ld_record *r = &records[i];
        uint64_t threads = (uint64_t)r->block[0] * r->block[1] * (uint64_t)(r->block[2] ? r->block[2] : 1);
        needs[i] = (fleet_needs){.kernel = bc_str(r->name),
                                 .threads = threads <= 1024 ? (unsigned)threads : 0,
                                 .dynamic_bytes = r->shared_bytes};
    }
    if (needs && form == LD_ARTIFACT_CUBIN)
        read_cubin(code, needs, count);
    else if (needs)
        add_static_shared(code, needs, count);
    *out_count = count;
    return needs;
}

uint64_t fleet_shared(const fleet_needs *needs)
{
    return needs->static_bytes + needs->dynamic_bytes;
}

/* ---- occupancy ---- */

enum { WARP = 32 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned warps_of(const fleet_needs *needs)
{
    return (needs->threads + WARP - 1) / WARP;
}

/* Registers are given to warps in units of 256, each quarter of a multiprocessor has 16384; shared memory comes in
   units of 128 bytes, and the driver takes 1 KiB of every block's from sm_80 on. Source: the occupancy calculator of
   CUDA's toolkit. */
unsigned fleet_blocks(const fleet_needs *needs, const fleet_capability *c)
{
    enum { REGISTER_UNIT = 256, QUARTERS = 4, QUARTER_REGISTERS = 16384, SHARED_UNIT = 128, FIRST_WITH_DRIVER = 80 };
    if (!needs->threads || fleet_shared(needs) > c->block_shared_bytes)
        return 0;
    unsigned warps = warps_of(needs);
    unsigned shared = ((unsigned)fleet_shared(needs) + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    if (c->sm >= FIRST_WITH_DRIVER)
        shared += SHARED_OF_DRIVER;
    unsigned blocks = least(c->blocks, c->threads / (warps * WARP));
    blocks = shared ? least(blocks, c->shared_bytes / shared) : blocks;
    if (!needs->registers)
        return blocks;
    unsigned of_warp = (needs->registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    return least(blocks, QUARTER_REGISTERS / of_warp * QUARTERS / warps);
}

double fleet_occupancy(const fleet_needs *needs, const fleet_capability *c, unsigned blocks)
{
    return c->threads ? (double)(blocks * warps_of(needs) * WARP) / c->threads : 0;
}

/* What kernels take, from PTX and from cubins as ptxas lays them out, also damaged ones; occupancy beside the figures
   of CUDA's occupancy calculator; the tables of devices and drivers. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tools/tilevm/fleet/fleet.h"

/* ---- a cubin of one kernel "k" ---- */

enum { SECTIONS = 7, SHARED_SIZE = 1024 + 4096, REGISTERS = 72 };

static const char section_names[] = "\0.nv.info\0.nv.shared.k\0.symtab\0.strtab\0.shstrtab\0.nv.shared.reserved.0";
static const char symbol_names[] = "\0other\0k";

/* The info: a record without payload, one of another attribute, then the registers of both symbols. */
static const unsigned char info[] = {3, 0x36, 4, 0, 4, 0x2f, 8, 0, 1, 0,    0, 0, 40, 0, 0, 0, 4,         0x11, 8, 0,
                                     9, 9,    9, 9, 9, 9,    9, 9, 4, 0x2f, 8, 0, 2,  0, 0, 0, REGISTERS, 0,    0, 0};

typedef struct cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    unsigned char info[sizeof info];
    Elf64_Sym symbols[3];
    char symbol_names[sizeof symbol_names];
    char section_names[sizeof section_names];
} cubin;

static Elf64_Word name_at(const char *name)
{
    return (Elf64_Word)((const char *)memmem(section_names, sizeof section_names, name, strlen(name) + 1)
                        - section_names);
}

static void make_cubin(cubin *c)
{
    *c = (cubin){.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                            .e_shoff = offsetof(cubin, sections),
                            .e_shentsize = sizeof(Elf64_Shdr),
                            .e_shnum = SECTIONS,
                            .e_shstrndx = 5},
                 .symbols = {{0}, {.st_name = 1}, {.st_name = 7}}};
    memcpy(c->info, info, sizeof info);
    memcpy(c->symbol_names, symbol_names, sizeof symbol_names);
    memcpy(c->section_names, section_names, sizeof section_names);
    const Elf64_Shdr sections[] = {
        {0},
        {.sh_name = name_at(".nv.info"), .sh_offset = offsetof(cubin, info), .sh_size = sizeof info},
        {.sh_name = name_at(".nv.shared.k"), .sh_type = SHT_NOBITS, .sh_size = SHARED_SIZE},
        {.sh_name = name_at(".symtab"),
         .sh_type = SHT_SYMTAB,
         .sh_offset = offsetof(cubin, symbols),
         .sh_size = sizeof c->symbols,
         .sh_link = 4},
        {.sh_name = name_at(".strtab"), .sh_offset = offsetof(cubin, symbol_names), .sh_size = sizeof symbol_names},
        {.sh_name = name_at(".shstrtab"), .sh_offset = offsetof(cubin, section_names), .sh_size = sizeof section_names},
        {.sh_name = name_at(".nv.shared.reserved.0"), .sh_type = SHT_NOBITS}};
    memcpy(c->sections, sections, sizeof sections);
}

/* The records of a kernel k of 128 threads, with dynamic shared memory. */
static const char launch[] = "k 128 1 1 1 8 2048\n";

static fleet_needs measure(ld_artifact_form form, const void *bytes, size_t size)
{
    bc_arena arena;
    size_t count = 0;
    bc_arena_init(&arena, NULL, 0);
    void *copy = malloc(size ? size : 1); /* so that a sanitizer sees what is read beyond it */
    if (size)
        memcpy(copy, bytes, size);
    fleet_needs *needs = fleet_needs_of(form, (tv_str){copy, size}, bc_str(launch), &arena, &count);
    CHECK(needs && count == 1);
    fleet_needs first = needs ? needs[0] : (fleet_needs){0};
    first.kernel = bc_str("");
    free(copy);
    bc_arena_release(&arena);
    return first;
}

static void test_cubin(void)
{
    cubin c;
    make_cubin(&c);
    fleet_needs needs = measure(LD_ARTIFACT_CUBIN, &c, sizeof c);
    CHECK(needs.threads == 128);
    CHECK(needs.registers == REGISTERS);
    CHECK(needs.static_bytes == 4096);
    CHECK(fleet_shared(&needs) == 4096 + 2048);
    for (size_t size = 0; size < sizeof c; size++)
        measure(LD_ARTIFACT_CUBIN, &c, size);
    for (size_t i = 0; i < sizeof c; i++)
        for (unsigned change = 1; change < 256; change += 127) {
            unsigned char *byte = (unsigned char *)&c + i;
            *byte = (unsigned char)(*byte ^ change);
            measure(LD_ARTIFACT_CUBIN, &c, sizeof c);
            *byte = (unsigned char)(*byte ^ change);
        }
}

static void test_ptx(void)
{
    static const char ptx[] =
        ".visible .entry other(\n)\n{\n\t.shared .align 16 .b8 a[512];\n}\n"
        ".visible .entry k(\n)\n.reqntid 128, 1, 1\n{\n\t.shared .align 1024 .b8 tv_scratch[32];\n}\n";
    fleet_needs needs = measure(LD_ARTIFACT_PTX, ptx, sizeof ptx - 1);
    CHECK(needs.static_bytes == 32);
    CHECK(needs.dynamic_bytes == 2048);
    CHECK(needs.registers == 0);
}

/* ---- occupancy ---- */

static void check_blocks(unsigned sm, unsigned threads, unsigned registers, unsigned shared, unsigned wanted)
{
    fleet_capability c;
    fleet_needs needs = {.threads = threads, .registers = registers, .static_bytes = shared};
    CHECK(fleet_find_capability(sm, &c));
    unsigned found = fleet_blocks(&needs, &c);
    CHECK_MSG(found == wanted, "sm_%u, %u threads, %u registers, %u bytes: %u blocks, not %u", sm, threads, registers,
              shared, found, wanted);
}

/* The wanted figures follow from the limits in the CUDA C++ programming guide. */
static void test_occupancy(void)
{
    check_blocks(75, 128, 16, 0, 8);     /* threads: 1024 / 128 */
    check_blocks(75, 128, 16, 32768, 2); /* shared memory: 64 KiB, of which the driver takes nothing */
    check_blocks(80, 128, 16, 0, 16);    /* threads: 2048 / 128 */
    check_blocks(86, 32, 16, 0, 16);     /* blocks */
    check_blocks(80, 128, 64, 0, 8);     /* registers: 32 warps */
    check_blocks(80, 128, 65, 0, 7);     /* 2304 to a warp: 7 in a quarter */
    check_blocks(90, 256, 168, 0, 1);    /* 5376 to a warp: 3 in a quarter, 12 warps */
    check_blocks(80, 128, 16, 40960, 4); /* shared memory: 164 KiB / 41 KiB */
    check_blocks(120, 128, 16, 99 << 10, 1);
    check_blocks(120, 128, 16, (99 << 10) + 1, 0);
    check_blocks(90, 1024, 255, 0, 0);
    check_blocks(90, 0, 0, 0, 0);
}

/* ---- tables ---- */

static void test_tables(void)
{
    fleet_gpu gpu;
    fleet_capability c;
    const char *name;
    for (size_t i = 0; (name = fleet_gpu_name(NULL, i)) != NULL; i++) {
        CHECK_MSG(fleet_find_gpu(name, &gpu) && gpu.name == name, "%s is there twice", name);
        CHECK_MSG(gpu.sm < 75 || fleet_find_capability(gpu.sm, &c), "%s: nothing of sm_%u", name, gpu.sm);
        CHECK_MSG(gpu.sm < 75 || (c.threads && c.block_shared_bytes), "%s: sm_%u is no target", name, gpu.sm);
    }
    CHECK(fleet_find_gpu("h100 sxm", &gpu) && gpu.sm == 90 && gpu.processors == 132);
    CHECK(fleet_find_gpu("sm_120", &gpu) && gpu.sm == 120 && gpu.processors == 0);
    CHECK(!fleet_find_gpu("sm_70", &gpu) && !fleet_find_gpu("sm_", &gpu) && !fleet_find_gpu("sm_90a", &gpu));
    CHECK(fleet_cuda_of_driver("12.4") == 12040);
    CHECK(fleet_cuda_of_driver("13") == 13000);
    CHECK(fleet_cuda_of_driver("550.54.15") == 12040);
    CHECK(fleet_cuda_of_driver("580") == 13000);
    CHECK(fleet_cuda_of_driver("549.1") == 12030);
    CHECK(fleet_cuda_of_driver("470.82") == 11000);
    CHECK(fleet_cuda_of_driver("") == 0);
    CHECK(fleet_cuda_of_driver("12.4.1") == 0);
    CHECK(fleet_cuda_of_driver("12.40") == 0);
    CHECK(fleet_cuda_of_driver("99999999999999999999") == 0);
    CHECK(fleet_cuda_of_driver(".5") == 0);
}

int main(void)
{
    test_cubin();
    test_ptx();
    test_occupancy();
    test_tables();
    return TEST_END("fleet");
}

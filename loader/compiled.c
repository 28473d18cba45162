/* Blocks of kernels in code that the driver took as it was. */
#include "loader/compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/bytes.h"
#include "container/cubin.h"
#include "container/fatbin.h"
#include "loader/load.h"
#include "loader/registry.h"

/* What is larger is none of ours, and looking through it would be felt at the start of a program. */
enum { MOST_PACKED = 4 << 20, MOST = 32 << 20 };

static const uint32_t wrapper_magic = 0x466243b1; /* and its version; then the address of the container */

/* Launch records of the kernels, as text. */
static bool put_block(void *user, tv_str kernel, const uint32_t block[3])
{
    bc_text *records = user;
    if (block[0] > 1 || block[1] > 1 || block[2] > 1)
        bc_text_printf(records, "%.*s %u %u %u 0 0 0\n", (int)kernel.len, kernel.ptr, block[0], block[1], block[2]);
    return !records->failed;
}

static void read_cubin(tv_str bytes, bc_text *records)
{
    co_elf elf;
    if (!co_elf_open(bytes, &elf) && elf.machine == CO_ELF_CUDA)
        co_cubin_blocks(&elf, put_block, records);
}

static void read_ptx(tv_str text, bc_text *records)
{
    bc_arena arena;
    ld_record *list;
    size_t count;
    bc_arena_init(&arena, NULL, MOST);
    if (ld_records_from_ptx(&arena, text, &list, &count))
        for (size_t i = 0; i < count; i++)
            put_block(records, bc_str(list[i].name), list[i].block);
    bc_arena_release(&arena);
}

/* ---- fat binaries ---- */

/* How well the driver likes the code for that device: a cubin of its generation and no later, the nearer the better;
   then PTX that is no later. 0: not at all. */
static unsigned preference(const co_entry *entry, unsigned target)
{
    if (entry->sm > target || (entry->exact && entry->sm != target))
        return 0;
    if (entry->kind == CO_CUBIN)
        return entry->sm / 10 == target / 10 ? 10000 + entry->sm * 2 + entry->exact : 0;
    return entry->kind == CO_PTX ? entry->sm * 2 + entry->exact + 1 : 0;
}

static void read_entry(const co_entry *entry, bc_text *records)
{
    if (entry->packed.len > MOST_PACKED || entry->size > MOST)
        return;
    char *bytes = malloc((size_t)entry->size + 1);
    if (bytes && !co_unpack(entry->packing, entry->packed, bytes, (size_t)entry->size)) {
        tv_str text = {bytes, (size_t)entry->size};
        if (entry->kind == CO_CUBIN)
            read_cubin(text, records);
        else
            read_ptx((tv_str){bytes, strnlen(bytes, text.len)}, records);
    }
    free(bytes);
}

static void read_fatbin(const ld_driver *driver, tv_str bytes, bc_text *records)
{
    co_fatbin fatbin;
    co_entry entry, best = {0};
    const char *problem;
    unsigned target, most = 0;
    if (!co_fatbin_at(bytes, 0, &fatbin) || ld_current_target(driver, &target) != LD_CUDA_SUCCESS)
        return;
    while (co_fatbin_next(&fatbin, &entry, &problem))
        if (preference(&entry, target) > most) {
            most = preference(&entry, target);
            best = entry;
        }
    if (most)
        read_entry(&best, records);
}

/* ---- what the program gave ---- */

/* Like PTX: text that begins with a comment or a directive, in which there is a .version. */
static bool is_ptx(const char *text)
{
    size_t blank = strspn(text, " \t\r\n");
    return (text[blank] == '/' || text[blank] == '.') && strstr(text + blank, ".version");
}

/* Reads memory whose size only its contents tell, as the driver has done before. */
static void read_memory(const ld_driver *driver, const void *image, bc_text *records)
{
    const char *bytes = image;
    if (bytes[0] == '\177' && bytes[1] == 'E') {
        size_t size = co_cubin_size(bytes, MOST);
        if (size)
            read_cubin((tv_str){bytes, size}, records);
    } else if ((unsigned char)bytes[0] == 0x50 && (unsigned char)bytes[1] == 0xed) {
        uint64_t size = co_number(bytes + 8, 8);
        read_fatbin(driver, (tv_str){bytes, size < SIZE_MAX - 16 ? (size_t)size + 16 : 0}, records);
    } else if (is_ptx(bytes)) {
        read_ptx((tv_str){bytes, strlen(bytes)}, records);
    }
}

static const void *unwrap(const void *image)
{
    const void *inside;
    uint32_t magic = (uint32_t) * (const unsigned char *)image;
    if (magic == (wrapper_magic & 0xff))
        memcpy(&magic, image, sizeof magic);
    if (magic != wrapper_magic)
        return image;
    memcpy(&inside, (const char *)image + 8, sizeof inside);
    return inside;
}

static void keep_records(const void *handle, const bc_text *records)
{
    ld_image *image = records->len && !records->failed ? ld_image_compiled(bc_text_get(records)) : NULL;
    if (image)
        ld_registry_add_owner(handle, image, NULL);
}

void ld_compiled_note(const ld_driver *driver, const void *handle, const void *image)
{
    bc_text records;
    bc_text_init(&records, NULL);
    const void *inside = unwrap(image);
    if (inside)
        read_memory(driver, inside, &records);
    keep_records(handle, &records);
    bc_text_release(&records);
}

void ld_compiled_note_file(const ld_driver *driver, const void *handle, const char *path)
{
    FILE *file = fopen(path, "rbe");
    char *bytes = file ? malloc(MOST + 1) : NULL;
    size_t size = bytes ? fread(bytes, 1, MOST, file) : 0;
    bc_text records;
    bc_text_init(&records, NULL);
    if (size > 0 && size < MOST) {
        bytes[size] = 0;
        if (co_is_elf((tv_str){bytes, size}))
            read_cubin((tv_str){bytes, size}, &records);
        else if (is_ptx(bytes))
            read_ptx((tv_str){bytes, strlen(bytes)}, &records);
        else
            read_fatbin(driver, (tv_str){bytes, size}, &records);
    }
    keep_records(handle, &records);
    bc_text_release(&records);
    free(bytes);
    if (file)
        fclose(file);
}

/* Block sizes of kernels in code that the driver loaded as it was. */
#include "loader/compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/cubin.h"
#include "loader/fatbin.h"
#include "loader/load.h"
#include "loader/registry.h"

/* Larger code is not ours, and searching it would delay the start of a program. */
enum { MOST_PACKED = 4 << 20, MOST = 32 << 20, MOST_ALONE = 512 << 10, MOST_FILE = 4 << 20 };

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

/* Code without Tile IR beside it seldom has tile kernels, so large code of this kind is not searched. */
static bool is_too_large(const co_entry *entry, bool beside_tile_ir)
{
    if (beside_tile_ir)
        return entry->packed.len > MOST_PACKED || entry->size > MOST;
    return (entry->packing != CO_PLAIN || entry->kind == CO_PTX) && entry->size > MOST_ALONE;
}

static void read_entry(const co_entry *entry, bc_text *records)
{
    if (entry->kind == CO_CUBIN && entry->packing == CO_PLAIN) {
        read_cubin(entry->packed, records);
        return;
    }
    const char *problem;
    char *bytes = ld_fatbin_unpack(entry, &problem);
    if (bytes && entry->kind == CO_CUBIN)
        read_cubin((tv_str){bytes, (size_t)entry->size}, records);
    else if (bytes)
        read_ptx((tv_str){bytes, strnlen(bytes, (size_t)entry->size)}, records);
    free(bytes);
}

static void read_fatbin(const ld_driver *driver, co_fatbin fatbin, bc_text *records)
{
    co_entry entry, tile_ir;
    unsigned target;
    if (ld_current_target(driver, &target) == LD_CUDA_SUCCESS && ld_fatbin_code(fatbin, target, &entry)
        && !is_too_large(&entry, ld_fatbin_tile_ir(fatbin, target, &tile_ir)))
        read_entry(&entry, records);
}

/* ---- what the program gave ---- */

/* Like PTX: text that begins with a comment or a directive, in which there is a .version. */
static bool is_ptx(const char *text)
{
    size_t blank = strspn(text, " \t\r\n");
    return (text[blank] == '/' || text[blank] == '.') && strstr(text + blank, ".version");
}

/* Reads memory whose size follows only from its contents, as the driver has done before. */
static void read_memory(const void *image, bc_text *records)
{
    const char *bytes = image;
    if (bytes[0] == '\177' && bytes[1] == 'E') {
        size_t size = co_cubin_size(bytes, MOST);
        if (size)
            read_cubin((tv_str){bytes, size}, records);
    } else if (is_ptx(bytes)) {
        read_ptx((tv_str){bytes, strlen(bytes)}, records);
    }
}

static void read_file(const char *path, bc_text *records)
{
    FILE *file = fopen(path, "rbe");
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    char *bytes = size > 0 && size <= MOST_FILE ? calloc((size_t)size + 1, 1) : NULL;
    if (bytes && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, (size_t)size, file) == (size_t)size) {
        if (co_is_elf((tv_str){bytes, (size_t)size}))
            read_cubin((tv_str){bytes, (size_t)size}, records);
        else if (is_ptx(bytes))
            read_ptx((tv_str){bytes, strlen(bytes)}, records);
    }
    free(bytes);
    if (file)
        fclose(file);
}

void ld_compiled_note(const ld_driver *driver, const void *handle, const ld_source *source)
{
    bc_text records;
    bc_text_init(&records, NULL);
    if (source->fatbin.bytes.len)
        read_fatbin(driver, source->fatbin, &records);
    else if (source->path)
        read_file(source->path, &records);
    else
        read_memory(source->image, &records);
    ld_image *image = records.len && !records.failed ? ld_image_compiled(bc_text_get(&records)) : NULL;
    if (image)
        ld_registry_add_owner(handle, image, NULL);
    bc_text_release(&records);
}

/* Bytecode in memory, in files, and in fat binaries. The program gives no length for memory, so it follows from the
   contents. */
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/bytecode.h"
#include "loader/compiled.h"
#include "loader/fatbin.h"
#include "loader/image.h"
#include "loader/load.h"
#include "loader/message.h"
#include "loader/registry.h"

/* ---- fat binaries ---- */

/* Does the driver have code for all devices on which it will run? Also true if that is not known: then the driver
   reports it. */
static bool has_code(const ld_driver *driver, co_fatbin fatbin, bool library)
{
    int devices = 0;
    unsigned target;
    co_entry entry;
    if (!library)
        return ld_current_target(driver, &target) != LD_CUDA_SUCCESS || target < LD_OLDEST_TARGET
               || ld_fatbin_code(fatbin, target, &entry);
    if (driver->cuDeviceGetCount(&devices) != LD_CUDA_SUCCESS)
        return true;
    for (int i = 0; i < devices; i++)
        if (ld_device_target(driver, i, &target) == LD_CUDA_SUCCESS && target >= LD_OLDEST_TARGET
            && !ld_fatbin_code(fatbin, target, &entry))
            return false;
    return true;
}

static tvResult take_tile_ir(const co_entry *entry, ld_source *source)
{
    const char *problem;
    char *bytes = ld_fatbin_unpack(entry, &problem);
    source->ours = true;
    if (!bytes)
        return problem ? ld_fail(LD_RULE_L_IMG_01, LD_CUDA_INVALID_IMAGE,
                                 "the Tile IR in the fat binary cannot be unpacked: %s", problem)
                       : ld_no_memory();
    free(source->memory);
    source->memory = bytes;
    source->bytecode = (tv_str){.ptr = bytes, .len = co_bytecode_size(bytes, (size_t)entry->size)};
    return source->bytecode.len
               ? LD_CUDA_SUCCESS
               : ld_fail(LD_RULE_L_IMG_01, LD_CUDA_INVALID_IMAGE, "the Tile IR in the fat binary is damaged");
}

/* refused: the driver has rejected the code. */
static tvResult open_fatbin(const ld_driver *driver, bool refused, ld_source *source)
{
    co_entry entry;
    unsigned target = 0;
    if (!ld_fatbin_tile_ir(source->fatbin, target, &entry)
        || (!refused && has_code(driver, source->fatbin, source->library)))
        return LD_CUDA_SUCCESS;
    ld_note("the fat binary has %s: its Tile IR is compiled",
            refused ? "no code that the driver accepts" : "no code for the device");
    if (ld_current_target(driver, &target) == LD_CUDA_SUCCESS)
        ld_fatbin_tile_ir(source->fatbin, target, &entry);
    return take_tile_ir(&entry, source);
}

/* ---- files ---- */

static tvResult not_whole(const char *path, bool memory, int error)
{
    return memory ? ld_fail(LD_RULE_L_IMG_03, LD_CUDA_OPERATING_SYSTEM, "%s cannot be read: %s", path,
                            error ? strerror(error) : "it was truncated while being read")
                  : ld_no_memory();
}

/* Is it bytecode or a fat binary, by its first bytes? */
static bool is_for_us(FILE *file)
{
    char start[16] = {0};
    co_fatbin fatbin;
    size_t size = fread(start, 1, sizeof start, file);
    return ld_is_bytecode(start) || co_fatbin_at((tv_str){start, size}, 0, &fatbin);
}

/* Reads a whole file if it is for us; memory stays NULL if it is something else or cannot be opened, and the driver
   then reports the problem. */
static tvResult read_file(ld_source *source, size_t *out_size)
{
    FILE *file = fopen(source->path, "rbe");
    if (!file)
        return LD_CUDA_SUCCESS;
    if (!is_for_us(file) || fseek(file, 0, SEEK_END) != 0) {
        fclose(file);
        return LD_CUDA_SUCCESS;
    }
    long size = ftell(file);
    source->memory = size > 0 ? malloc((size_t)size) : NULL;
    errno = 0;
    bool whole = source->memory && fseek(file, 0, SEEK_SET) == 0
                 && fread(source->memory, 1, (size_t)size, file) == (size_t)size;
    int error = errno;
    fclose(file);
    *out_size = (size_t)size;
    source->ours = !whole;
    return whole ? LD_CUDA_SUCCESS : not_whole(source->path, source->memory, error);
}

static tvResult open_file(const ld_driver *driver, ld_source *source)
{
    size_t size = 0;
    tvResult code = read_file(source, &size);
    if (code != LD_CUDA_SUCCESS || !source->memory)
        return code;
    tv_str bytes = {.ptr = source->memory, .len = size};
    if (co_fatbin_at(bytes, 0, &source->fatbin))
        return open_fatbin(driver, false, source);
    source->ours = true;
    source->bytecode = bytes;
    return LD_CUDA_SUCCESS;
}

/* ---- memory ---- */

static tvResult take_bytecode(ld_source *source)
{
    source->ours = true;
    source->bytecode = (tv_str){.ptr = source->image, .len = co_bytecode_size(source->image, (size_t)1 << 30)};
    return source->bytecode.len ? LD_CUDA_SUCCESS
                                : ld_fail(LD_RULE_L_IMG_01, LD_CUDA_INVALID_IMAGE,
                                          "the bytecode is damaged: its sections do not lead to an end");
}

tvResult ld_source_open(const ld_driver *driver, ld_source *source)
{
    if (source->path)
        return open_file(driver, source);
    if (source->image && ld_is_bytecode(source->image))
        return take_bytecode(source);
    if (source->image && ld_fatbin_in(source->image, &source->fatbin))
        return open_fatbin(driver, false, source);
    return LD_CUDA_SUCCESS;
}

/* Does the error code say that the driver rejects the code, for whatever reason? */
static bool is_refusal(tvResult code)
{
    return code == LD_CUDA_NO_BINARY_FOR_GPU || code == LD_CUDA_INVALID_IMAGE || ld_jit_is_refusal(code);
}

tvResult ld_source_answered(const ld_driver *driver, ld_source *source, tvResult code, const void *handle)
{
    if (code == LD_CUDA_SUCCESS) {
        ld_registry_forget(handle); /* the driver may reuse an address that was ours */
        ld_compiled_note(driver, handle, source);
        return code;
    }
    tvResult ours = is_refusal(code) && source->fatbin.bytes.len ? open_fatbin(driver, true, source) : code;
    return source->ours ? ours : code;
}

void ld_source_close(ld_source *source)
{
    free(source->memory);
}

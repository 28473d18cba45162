#include "tests/common/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/common/files.h"

enum { MAP_BYTES = 128, SECTION_HEADER = 64, SYMBOL = 24 };

/* ---- sections of an ELF file ---- */

typedef struct span {
    const uint8_t *bytes;
    size_t size;
} span;

static uint64_t word(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

static bool is_inside(span elf, uint64_t offset, uint64_t size)
{
    return offset <= elf.size && size <= elf.size - offset;
}

/* The header of section `index`, or NULL. */
static const uint8_t *header_at(span elf, uint64_t index)
{
    if (elf.size < 64 || memcmp(elf.bytes, "\177ELF\2\1", 6) != 0)
        return NULL;
    uint64_t start = word(elf.bytes + 0x28, 8), count = word(elf.bytes + 0x3C, 2);
    if (index >= count || !is_inside(elf, start, count * SECTION_HEADER))
        return NULL;
    return elf.bytes + start + index * SECTION_HEADER;
}

static span contents(span elf, const uint8_t *header)
{
    enum { NO_BITS = 8 };
    uint64_t offset = header ? word(header + 0x18, 8) : 0, size = header ? word(header + 0x20, 8) : 0;
    if (!header || word(header + 4, 4) == NO_BITS || !is_inside(elf, offset, size))
        return (span){NULL, 0};
    return (span){elf.bytes + offset, (size_t)size};
}

/* The zero-terminated text at an offset of a section; "" where there is none. */
static const char *text_at(span strings, uint64_t offset)
{
    if (offset >= strings.size || !memchr(strings.bytes + offset, '\0', strings.size - offset))
        return "";
    return (const char *)strings.bytes + offset;
}

static span section_named(span elf, const char *name)
{
    const uint8_t *header;
    span names = contents(elf, elf.size >= 64 ? header_at(elf, word(elf.bytes + 0x3E, 2)) : NULL);
    for (uint64_t i = 0; (header = header_at(elf, i)) != NULL; i++)
        if (strcmp(text_at(names, word(header, 4)), name) == 0)
            return contents(elf, header);
    return (span){NULL, 0};
}

/* ---- the compiler's text and code ---- */

/* The PTX: its lines end with a zero, and the text of the bytecode may follow. */
static bool take_ptx(reference *r, span text)
{
    static const char behind[] = ".nv_intermediate_source_section";
    r->ptx = malloc(text.size + 1);
    if (!r->ptx)
        return false;
    for (size_t i = 0; i < text.size; i++)
        r->ptx[i] = text.bytes[i] ? (char)text.bytes[i] : '\n';
    r->ptx[text.size] = '\0';
    char *end = strstr(r->ptx, behind);
    if (end)
        *end = '\0';
    r->ptx_size = strlen(r->ptx);
    return true;
}

static bool take_code(reference *r, span text)
{
    r->code_size = text.size;
    r->code = mmap(NULL, text.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->code == MAP_FAILED) {
        r->code = NULL;
        return false;
    }
    memcpy(r->code, text.bytes, text.size);
    return mprotect(r->code, text.size, PROT_READ | PROT_EXEC) == 0;
}

bool reference_open(reference *r, const char *path, char *error, size_t error_size)
{
    *r = (reference){0};
    r->cubin = files_read(path, &r->cubin_size);
    span elf = {(const uint8_t *)r->cubin, r->cubin_size};
    span ptx = r->cubin ? section_named(elf, ".nv_debug_ptx_txt") : (span){NULL, 0};
    span host = r->cubin ? section_named(elf, ".nv.host") : (span){NULL, 0};
    span code = host.size ? section_named(host, ".ltext") : (span){NULL, 0};
    if (!ptx.size || !take_ptx(r, ptx)) {
        snprintf(error, error_size, "%s has no PTX (was it made with --lineinfo?)", path);
        return false;
    }
    if (code.size && !take_code(r, code)) {
        snprintf(error, error_size, "%s: the code for the host cannot be loaded", path);
        return false;
    }
    return true;
}

void reference_close(reference *r)
{
    if (r->code)
        munmap(r->code, r->code_size);
    free(r->cubin);
    free(r->ptx);
    *r = (reference){0};
}

/* Where the function that prepares a kernel's arguments begins in the code: it has the number of the kernel's name. */
static bool find_prepare(const reference *r, const char *kernel, uint64_t *out)
{
    static const char name_of[] = "__CUDA_TILEIR_FUNC_NAME_", prepare[] = "__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_";
    span elf = {(const uint8_t *)r->cubin, r->cubin_size}, host = section_named(elf, ".nv.host");
    span symbols = section_named(host, ".symtab"), strings = section_named(host, ".strtab"),
         names = section_named(host, ".lrodata");
    const char *number = NULL;
    for (size_t at = 0; at + SYMBOL <= symbols.size && !number; at += SYMBOL) {
        const char *symbol = text_at(strings, word(symbols.bytes + at, 4));
        if (strncmp(symbol, name_of, sizeof name_of - 1) == 0
            && strcmp(text_at(names, word(symbols.bytes + at + 8, 8)), kernel) == 0)
            number = symbol + sizeof name_of - 1;
    }
    for (size_t at = 0; at + SYMBOL <= symbols.size && number; at += SYMBOL) {
        const char *symbol = text_at(strings, word(symbols.bytes + at, 4));
        if (strncmp(symbol, prepare, sizeof prepare - 1) != 0 || strcmp(symbol + sizeof prepare - 1, number) != 0)
            continue;
        *out = word(symbols.bytes + at + 8, 8);
        return *out < r->code_size;
    }
    return false;
}

/* ---- tensor maps ---- */

enum { FLOAT32 = 7, TFLOAT32 = 11, ROUNDS_TO_TF32 = 1 << 16 };

/* Bits of the form of sm_90 and later, as that code writes them: addresses and strides in units of 16 bytes,
   extents and boxes less one. Bits 17, 18 and 21 of the head are about caches and sizes. */
static bool read_map(const uint8_t *map, ptxsim_tensor *out)
{
    uint64_t head = word(map + 8, 4), known = 0x2767f2;
    *out = (ptxsim_tensor){.address = word(map, 8),
                           .rank = (uint8_t)((head >> 4 & 7) + 1),
                           .type = (uint8_t)(head >> 7 & 15),
                           .swizzle = (uint8_t)(head >> 13 & 3)};
    if (out->type == FLOAT32 && head & ROUNDS_TO_TF32)
        out->type = TFLOAT32;
    if (out->rank > 5 || (head & 15) != 2 || (head & ~known))
        return false;
    for (unsigned i = 0; i < 4; i++)
        out->stride[i] = (word(map + 12 + 4 * i, 4) | (word(map + 28, 4) >> 4 * i & 15) << 32) << 4;
    for (unsigned i = 0; i < 5; i++) {
        out->extent[i] = (uint32_t)word(map + 32 + 4 * i, 4) + 1;
        out->box[i] = (uint32_t)map[55 + i] + 1;
    }
    return true;
}

/* Where parameters begin in the constant bank; an address that is aligned there need not be aligned in a separate
   block. */
static size_t start_of_params(const reference *r)
{
    const char *target = strstr(r->ptx, ".target sm_");
    return target && strtoul(target + 11, NULL, 10) < 100 ? 0x210 : 0x380;
}

/* Places the parameters in a block, which is made, and copies those that are given. */
static bool place_params(const reference *r, const ptxsim_entry *entry, const void *const *given, size_t given_count,
                         const void **out, uint8_t **block)
{
    size_t start = start_of_params(r), bytes = MAP_BYTES;
    for (size_t i = 0; i < entry->param_count; i++)
        bytes += entry->params[i].bytes + entry->params[i].align;
    *block = calloc(1, bytes);
    size_t at = start;
    for (size_t i = 0; *block && i < entry->param_count; i++) {
        const ptxsim_param *p = &entry->params[i];
        at = (at + p->align - 1) / p->align * p->align;
        out[i] = *block + (at - start);
        if (i < given_count)
            memcpy(*block + (at - start), given[i], p->bytes);
        at += p->bytes;
    }
    return *block != NULL;
}

/* Converts maps from the form of the hardware to that of the simulator. */
static bool turn_maps(const ptxsim_entry *entry, size_t given_count, const void *const *params, uint8_t *block,
                      char *error, size_t error_size)
{
    for (size_t i = given_count; i < entry->param_count; i++) {
        ptxsim_tensor tensor;
        uint8_t *map = block + ((const uint8_t *)params[i] - block);
        if (entry->params[i].bytes != MAP_BYTES || !read_map(map, &tensor)) {
            snprintf(error, error_size, "hidden parameter %zu is no tensor map that is known (%016llx)", i,
                     (unsigned long long)word(map + 8, 8));
            return false;
        }
        ptxsim_tensor_map(&tensor, map);
    }
    return true;
}

bool reference_params(const reference *r, const ptxsim_entry *entry, const void *const *given, size_t given_count,
                      const void **out, uint8_t **block, char *error, size_t error_size)
{
    typedef void prepare(void *, void *, void *, void *);
    uint64_t code;
    if (given_count > entry->param_count || !place_params(r, entry, given, given_count, out, block)) {
        snprintf(error, error_size, "the kernel has %zu parameters, the case %zu", entry->param_count, given_count);
        return false;
    }
    if (given_count == entry->param_count)
        return true;
    if (!r->code || !find_prepare(r, entry->name, &code)) {
        snprintf(error, error_size, "there is no code that makes the hidden parameters");
        return false;
    }
    prepare *call;
    void *address = (uint8_t *)r->code + code;
    memcpy(&call, &address, sizeof call);
    call(NULL, NULL, NULL, *block);
    return turn_maps(entry, given_count, out, *block, error, error_size);
}

/* Fat binaries in memory. Which code the driver takes is what the CUDA programming guide says of binary and PTX
   compatibility. */
#include "loader/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include "container/bytes.h"
#include "container/images.h"

/* Wrapper: its magic, its version, the address of the container. Source: fatbinary_section.h of the CUDA toolkit. */
static const unsigned char wrapper_magic[4] = {0xb1, 0x43, 0x62, 0x46};
static const unsigned char container_magic[4] = {0x50, 0xed, 0x55, 0xba};
enum { WRAPPED_AT = 8, SIZE_AT = 8, HEADER = 16 };

static bool begins(const void *memory, const unsigned char magic[4])
{
    const unsigned char *bytes = memory;
    for (unsigned i = 0; i < 4; i++) /* stops at the first difference */
        if (bytes[i] != magic[i])
            return false;
    return true;
}

bool ld_fatbin_in(const void *image, co_fatbin *out)
{
    const char *container = image;
    if (begins(image, wrapper_magic))
        memcpy(&container, (const char *)image + WRAPPED_AT, sizeof container);
    if (!container || !begins(container, container_magic))
        return false;
    uint64_t size = co_number(container + SIZE_AT, 8);
    return size <= SIZE_MAX - HEADER && co_fatbin_at((tv_str){container, (size_t)size + HEADER}, 0, out);
}

/* ---- which image ---- */

typedef unsigned preference_fn(const co_entry *entry, unsigned target);

/* A cubin of its generation and no later, the nearer the better; then PTX that is no later. 0: not at all. */
static unsigned as_code(const co_entry *entry, unsigned target)
{
    if (entry->sm > target || (entry->exact && entry->sm != target))
        return 0;
    if (entry->kind == CO_CUBIN)
        return entry->sm / 10 == target / 10 ? 10000 + entry->sm * 2 + entry->exact : 0;
    return entry->kind == CO_PTX ? entry->sm * 2 + entry->exact + 1 : 0;
}

/* Bytecode runs on every device, but it lacks the parts of the source that were left out for the device it was made
   for. */
static unsigned as_tile_ir(const co_entry *entry, unsigned target)
{
    enum { EARLIER = 1 << 20 };
    if (entry->kind != CO_TILE_IR || entry->sm >= EARLIER)
        return 0;
    return entry->sm <= target ? EARLIER + entry->sm : EARLIER - entry->sm;
}

static bool choose(co_fatbin fatbin, unsigned target, preference_fn *prefer, co_entry *out)
{
    co_entry entry;
    const char *problem;
    unsigned most = 0;
    while (co_fatbin_next(&fatbin, &entry, &problem)) {
        unsigned preference = prefer(&entry, target);
        if (preference > most) {
            most = preference;
            *out = entry;
        }
    }
    return most > 0;
}

bool ld_fatbin_code(co_fatbin fatbin, unsigned target, co_entry *out)
{
    return choose(fatbin, target, as_code, out);
}

bool ld_fatbin_tile_ir(co_fatbin fatbin, unsigned target, co_entry *out)
{
    return choose(fatbin, target, as_tile_ir, out);
}

char *ld_fatbin_unpack(const co_entry *entry, const char **out_problem)
{
    co_image image = {.entry = *entry};
    *out_problem = co_image_refusal(&image);
    if (*out_problem)
        return NULL;
    char *bytes = malloc((size_t)entry->size + 1);
    if (!bytes)
        return NULL;
    *out_problem = co_unpack(entry->packing, entry->packed, bytes, (size_t)entry->size);
    if (*out_problem) {
        free(bytes);
        return NULL;
    }
    bytes[entry->size] = 0;
    return bytes;
}

/* Opens bundles and reads their parts. */
#include "loader/bundle/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bytecode/base/compiler.h"

static const uint64_t largest = (uint64_t)1 << 30; /* bytes of a part that is read; more is damage */
static const char no_memory[] = LD_NO_MEMORY;

/* ---- the seal ---- */

static void print_part(const char *name, uint64_t size, const unsigned char *digest, bc_text *out)
{
    char hex[LD_SHA256_HEX];
    ld_sha256_hex(digest, hex);
    bc_text_printf(out, "%s %" PRIu64 " %s\n", name, size, hex);
}

void ld_seal_print(const ld_seal *seal, bc_text *out)
{
    bc_text_puts(out, "tilevm bundle 1\n");
    print_part("index", seal->head_size, seal->head, out);
    print_part("manifest", seal->manifest_size, seal->manifest, out);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* " 123 0a1b..." and what comes after it. NULL: it is something else. */
static const char *parse_part(const char *p, const char *name, uint64_t *out_size, unsigned char *digest)
{
    size_t len = strlen(name);
    if (strncmp(p, name, len) != 0 || p[len] != ' ' || digit(p[len + 1]) < 0)
        return NULL;
    char *end;
    *out_size = strtoull(p + len + 1, &end, 10);
    if (*end++ != ' ')
        return NULL;
    for (unsigned i = 0; i < LD_SHA256_SIZE; i++, end += 2) {
        int high = digit(end[0]), low = high < 0 ? -1 : digit(end[1]);
        if (low < 0)
            return NULL;
        digest[i] = (unsigned char)(high << 4 | low);
    }
    return *end == '\n' ? end + 1 : NULL;
}

/* Only the text that ld_seal_print writes is a seal. */
static const char *parse_seal(tv_str text, ld_seal *out)
{
    static const char first[] = "tilevm bundle ";
    char copy[400];
    if (text.len >= sizeof copy)
        return "the seal is damaged";
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    if (strncmp(copy, first, strlen(first)) != 0)
        return "the seal is damaged";
    if (strncmp(copy + strlen(first), "1\n", 2) != 0)
        return "it was made by a newer tilevm";
    const char *p = parse_part(strchr(copy, '\n') + 1, "index", &out->head_size, out->head);
    p = p ? parse_part(p, "manifest", &out->manifest_size, out->manifest) : NULL;
    bc_text again;
    bc_text_init(&again, NULL);
    ld_seal_print(out, &again);
    const char *problem = again.failed                                ? no_memory
                          : p && bc_str_eq(bc_text_get(&again), text) ? NULL
                                                                      : "the seal is damaged";
    bc_text_release(&again);
    return problem;
}

/* ---- members ---- */

static bool read_bytes(void *user, uint64_t at, void *out, size_t size)
{
    const ld_bundle *bundle = user;
    memcpy(out, bundle->bytes + at, size);
    return true;
}

static bc_zip_source source_of(ld_bundle *bundle)
{
    return (bc_zip_source){.user = bundle, .size = bundle->size, .read = read_bytes};
}

/* The bytes of a member that is stored. */
static const char *stored_bytes(ld_bundle *bundle, const bc_zip_member *m, tv_str *out)
{
    uint64_t at = 0;
    bc_zip_source source = source_of(bundle);
    const char *problem = bc_zip_find_data(&source, m, &at);
    if (!problem && (m->method != BC_ZIP_STORED || m->packed != m->size))
        problem = "a member that must be stored uncompressed is compressed";
    if (!problem)
        *out = (tv_str){.ptr = (const char *)bundle->bytes + at, .len = (size_t)m->size};
    return problem;
}

/* The members that a bundle begins with, whose entries come first in the directory, in this order. */
static const char *find_members(ld_bundle *bundle, tv_str *out_index)
{
    static const char *const names[] = {LD_BUNDLE_MANIFEST, LD_BUNDLE_SEAL, LD_BUNDLE_INDEX, LD_BUNDLE_SIGNATURE};
    tv_str *const places[] = {NULL, &bundle->seal_text, out_index, &bundle->signature};
    bc_zip_source source = source_of(bundle);
    const char *problem = bc_zip_find_directory(&source, &bundle->directory);
    size_t at = 0;
    for (size_t i = 0; !problem && i < TV_COUNT(names); i++) {
        bc_zip_member m;
        bool there = bc_zip_next(bundle->bytes + bundle->directory.at, (size_t)bundle->directory.size, &at, &m);
        if (!there || !bc_str_is(m.name, names[i]))
            return i == TV_COUNT(names) - 1 ? NULL : "not a bundle: it has other members";
        if (places[i])
            problem = stored_bytes(bundle, &m, places[i]);
        else
            bundle->manifest = m;
    }
    return problem;
}

/* The head, copied before it is hashed: the file may change while it is mapped. */
static const char *open_head(ld_bundle *bundle, tv_str index)
{
    if (bundle->seal.head_size > index.len)
        return "the index is shorter than its seal says";
    size_t size = (size_t)bundle->seal.head_size;
    bundle->head_copy = malloc(size ? size : 1);
    if (!bundle->head_copy)
        return no_memory;
    memcpy(bundle->head_copy, index.ptr, size);
    unsigned char digest[LD_SHA256_SIZE];
    ld_sha256_of(bundle->head_copy, size, digest);
    if (memcmp(digest, bundle->seal.head, sizeof digest) != 0)
        return "the index does not have the hash that the seal says";
    const char *problem = ld_bundle_head_open(bundle->head_copy, size, &bundle->head);
    if (!problem && bundle->head.record_bytes != index.len - size)
        problem = "the index is shorter or longer than it says";
    bundle->records_at = (uint64_t)((const unsigned char *)index.ptr - bundle->bytes) + size;
    return problem;
}

static const char *open_bytes(ld_bundle *bundle)
{
    tv_str index = {0};
    const char *problem = find_members(bundle, &index);
    if (!problem)
        problem = parse_seal(bundle->seal_text, &bundle->seal);
    return problem ? problem : open_head(bundle, index);
}

const char *ld_bundle_open_bytes(const void *bytes, size_t size, ld_bundle *out)
{
    *out = (ld_bundle){.bytes = bytes, .size = size};
    return open_bytes(out);
}

const char *ld_bundle_open(const char *path, ld_bundle *out)
{
    *out = (ld_bundle){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return strerror(error);
    }
    const char *problem = !S_ISREG(info.st_mode) ? "it is no regular file" : info.st_size == 0 ? "it is empty" : NULL;
    void *bytes = problem ? MAP_FAILED : mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (!problem && bytes == MAP_FAILED)
        problem = strerror(errno);
    close(fd);
    if (problem)
        return problem;
    *out = (ld_bundle){.bytes = bytes, .size = (size_t)info.st_size, .mapped = true};
    return open_bytes(out);
}

void ld_bundle_close(ld_bundle *bundle)
{
    free(bundle->head_copy);
    if (bundle->mapped)
        munmap((void *)(uintptr_t)bundle->bytes, bundle->size);
    *bundle = (ld_bundle){0};
}

/* ---- getting things out ---- */

ld_bundle_found ld_bundle_find(const ld_bundle *bundle, tv_str name, uint32_t *out_kernel)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < bundle->head.kernel_count; i++) {
        ld_bundle_kernel kernel = ld_bundle_head_kernel(&bundle->head, i);
        bool symbol = bc_str_eq(kernel.symbol, name);
        if (!symbol && !bc_str_eq(kernel.function, name))
            continue;
        *out_kernel = i;
        if (symbol)
            return LD_BUNDLE_FOUND;
        found++;
    }
    return found == 0 ? LD_BUNDLE_NONE : found == 1 ? LD_BUNDLE_FOUND : LD_BUNDLE_SEVERAL;
}

static bool has_digest(const void *bytes, size_t size, const unsigned char *digest)
{
    unsigned char found[LD_SHA256_SIZE];
    ld_sha256_of(bytes, size, found);
    return memcmp(found, digest, sizeof found) == 0;
}

const char *ld_bundle_artifacts(const ld_bundle *bundle, const ld_bundle_module *module, bc_arena *arena,
                                ld_artifact **out_artifacts)
{
    size_t size = (size_t)module->record_size;
    unsigned char *record = bc_arena_alloc(arena, size, 1);
    if (!record)
        return no_memory;
    memcpy(record, bundle->bytes + bundle->records_at + module->record_at, size);
    if (!has_digest(record, size, module->record_digest))
        return "the record of a module does not have the hash that the index says";
    return ld_bundle_record_read(module, record, arena, out_artifacts);
}

/* Inflates to exactly size bytes. Returns the problem, or NULL. */
static const char *inflate_to(const unsigned char *packed, uint64_t packed_size, unsigned char *out, uint64_t size)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)packed,
                  .avail_in = (uInt)packed_size,
                  .next_out = out,
                  .avail_out = (uInt)size};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return no_memory;
    int status = inflate(&z, Z_FINISH);
    bool whole = status == Z_STREAM_END && z.avail_out == 0 && z.avail_in == 0;
    inflateEnd(&z);
    return whole ? NULL : status == Z_MEM_ERROR ? no_memory : "it cannot be unpacked";
}

/* Unpacks the bytes at a place of the file. */
static const char *unpack(const ld_bundle *bundle, uint64_t at, uint64_t packed, uint64_t size, bool deflated,
                          bc_arena *arena, tv_str *out)
{
    if (at > bundle->size || packed > bundle->size - at)
        return "it is truncated";
    if (packed > largest || size > largest)
        return "its sizes are inconsistent";
    unsigned char *bytes = bc_arena_alloc(arena, (size_t)size + 1, 16);
    if (!bytes)
        return no_memory;
    const char *problem = deflated ? inflate_to(bundle->bytes + at, packed, bytes, size) : NULL;
    if (!deflated)
        memcpy(bytes, bundle->bytes + at, (size_t)size);
    *out = (tv_str){.ptr = (const char *)bytes, .len = (size_t)size};
    return problem;
}

const char *ld_bundle_fetch(const ld_bundle *bundle, const ld_artifact *a, bc_arena *arena, tv_str *out)
{
    const char *problem = unpack(bundle, a->at, a->packed, a->size, a->packed != a->size, arena, out);
    if (!problem && !has_digest(out->ptr, out->len, a->digest))
        problem = "it does not have the hash that the index says";
    return problem;
}

const char *ld_bundle_manifest(const ld_bundle *bundle, bc_arena *arena, tv_str *out)
{
    enum { DEFLATE_RATIO = 1040 };
    const bc_zip_member *m = &bundle->manifest;
    bc_zip_source source = source_of((ld_bundle *)(uintptr_t)bundle);
    uint64_t at = 0;
    const char *problem = bc_zip_find_data(&source, m, &at);
    bool deflated = m->method == BC_ZIP_DEFLATED;
    if (!problem
        && (m->size != bundle->seal.manifest_size || (!deflated && m->packed != m->size)
            || m->size / DEFLATE_RATIO > m->packed))
        problem = "its sizes are inconsistent";
    if (!problem)
        problem = unpack(bundle, at, m->packed, m->size, deflated, arena, out);
    if (!problem && !has_digest(out->ptr, out->len, bundle->seal.manifest))
        problem = "it does not have the hash that the seal says";
    return problem;
}

void ld_artifact_target(const ld_artifact *artifact, char out_name[LD_TARGET_NAME])
{
    out_name[0] = 0;
    if (artifact->sm)
        snprintf(out_name, LD_TARGET_NAME, "sm_%u%s", artifact->sm, artifact->suffix ? "a" : "");
}

const char *ld_artifact_form_name(ld_artifact_form form)
{
    static const char *const names[] = {"bytecode", "PTX", "cubin"};
    return names[form];
}

const char *ld_artifact_ending(ld_artifact_form form)
{
    static const char *const endings[] = {"tbc", "ptx", "cubin"};
    return endings[form];
}

void ld_bundle_member_name(const ld_artifact *artifact, char out_name[LD_BUNDLE_MEMBER])
{
    char hex[LD_SHA256_HEX];
    ld_sha256_hex(artifact->digest, hex);
    snprintf(out_name, LD_BUNDLE_MEMBER, LD_BUNDLE_OBJECTS "%.32s.%s", hex, ld_artifact_ending(artifact->form));
}

/* ---- which artifact for which device ---- */

/* Processors on boards of their own (Jetson, Thor), whose cubins are for that architecture alone: CUDA C++ programming
   guide, "Binary Compatibility". */
static bool stands_alone(unsigned sm)
{
    static const unsigned boards[] = {87, 88, 101, 110};
    for (size_t i = 0; i < TV_COUNT(boards); i++)
        if (boards[i] == sm)
            return true;
    return false;
}

ld_fit ld_artifact_fit(const ld_artifact *a, unsigned sm, unsigned ptx)
{
    bool here = a->sm == sm;
    switch (a->form) {
    case LD_ARTIFACT_BYTECODE: return LD_FIT_BYTECODE;
    case LD_ARTIFACT_PTX: return (here || (a->sm < sm && !a->suffix)) && a->ptx <= ptx ? LD_FIT_PTX : LD_FIT_NONE;
    case LD_ARTIFACT_CUBIN:
        if (here)
            return LD_FIT_EXACT;
        return !a->suffix && a->sm < sm && a->sm / 10 == sm / 10 && !stands_alone(a->sm) && !stands_alone(sm)
                   ? LD_FIT_FAMILY
                   : LD_FIT_NONE;
    case LD_ARTIFACT_FORM_COUNT: break;
    }
    return LD_FIT_NONE;
}

/* Larger is better; 0: it does not suit. */
static unsigned rank(const ld_artifact *a, unsigned sm, unsigned ptx)
{
    unsigned fit = ld_artifact_fit(a, sm, ptx);
    return fit == LD_FIT_NONE ? 0 : (fit * 1000 + a->sm) * 2 + (a->suffix != 0);
}

size_t ld_bundle_choose(const ld_artifact *artifacts, size_t count, unsigned sm, unsigned ptx, uint32_t *out)
{
    size_t chosen = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned mine = rank(&artifacts[i], sm, ptx);
        size_t place = mine ? chosen++ : 0;
        for (; mine && place > 0 && rank(&artifacts[out[place - 1]], sm, ptx) < mine; place--)
            out[place] = out[place - 1];
        if (mine)
            out[place] = i;
    }
    return chosen;
}

void ld_artifact_explain(const ld_artifact *a, unsigned sm, unsigned ptx, bc_text *out)
{
    const char *suffix = a->suffix ? "a" : "";
    switch (ld_artifact_fit(a, sm, ptx)) {
    case LD_FIT_EXACT: bc_text_printf(out, "a cubin for sm_%u%s, the device's own target", a->sm, suffix); return;
    case LD_FIT_FAMILY: bc_text_printf(out, "a cubin for sm_%u, which sm_%u runs too", a->sm, sm); return;
    case LD_FIT_PTX:
        bc_text_printf(out, "PTX %u.%u for sm_%u%s, which the driver assembles for sm_%u", a->ptx / 10, a->ptx % 10,
                       a->sm, suffix, sm);
        return;
    case LD_FIT_BYTECODE: bc_text_printf(out, "bytecode, compiled for sm_%u", sm); return;
    case LD_FIT_NONE: break;
    }
    bc_text_printf(out, "nothing for sm_%u", sm);
}

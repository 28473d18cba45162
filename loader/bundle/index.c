/* The index of a bundle. All numbers are little-endian.

   head     0   "TVINDEX" 01
            8   u32 u32   kernels, modules
           16   u32 u32   bytes of strings, 0
           24   u64       bytes of all records
           32   kernels: u32 u32 symbol, u32 u32 function (place and length in the strings), u32 module
                modules: u32 u32 name, u32 options, u32 artifacts, u64 u64 record (place and length), 32 bytes SHA-256
                strings
   record   artifacts: u16 sm, u8 suffix, u8 form, u16 ptx, u16 0, u64 at, u64 packed, u64 size, 32 bytes SHA-256,
                u32 u32 launch (place and length in the strings)
            strings */
#include "loader/bundle/index.h"

#include <string.h>

enum {
    HEAD = 32,
    KERNEL = 20,
    MODULE = 64,
    ARTIFACT = 72,
    OPTION_LEVEL = 3, /* bits of options */
    OPTION_LINES = 4,
    MOST_ARTIFACTS = 4096
};

static const unsigned char magic[8] = {'T', 'V', 'I', 'N', 'D', 'E', 'X', 1};
static const uint64_t largest = (uint64_t)1 << 30; /* bytes of an artifact; more is damage */

/* ---- numbers ---- */

static uint64_t get(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)get(p, 4);
}

static void put(bc_text *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        bc_text_char(out, (char)(value >> 8 * i));
}

void ld_sha256_of(const void *bytes, size_t size, unsigned char out_digest[LD_SHA256_SIZE])
{
    ld_sha256 hash;
    ld_sha256_init(&hash);
    ld_sha256_add(&hash, bytes, size);
    ld_sha256_finish(&hash, out_digest);
}

/* The string that place and length at p name. Not checked. */
static tv_str string_at(const unsigned char *p, const unsigned char *strings)
{
    return (tv_str){.ptr = (const char *)strings + get32(p), .len = get32(p + 4)};
}

static bool string_fits(const unsigned char *p, uint64_t strings)
{
    return get32(p) <= strings && get32(p + 4) <= strings - get32(p);
}

bool ld_bundle_name_is_fine(tv_str name)
{
    enum { LONGEST = 200 };
    static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    for (size_t i = 0; i < name.len; i++)
        if (!name.ptr[i] || !strchr(fine, name.ptr[i]))
            return false;
    return name.len > 0 && name.len <= LONGEST && name.ptr[0] != '.';
}

/* ---- the head ---- */

static const unsigned char *kernel_at(const ld_bundle_head *head, uint32_t i)
{
    return head->bytes + HEAD + (size_t)i * KERNEL;
}

static const unsigned char *module_at(const ld_bundle_head *head, uint32_t i)
{
    return kernel_at(head, head->kernel_count) + (size_t)i * MODULE;
}

ld_bundle_kernel ld_bundle_head_kernel(const ld_bundle_head *head, uint32_t i)
{
    const unsigned char *p = kernel_at(head, i), *strings = module_at(head, head->module_count);
    return (ld_bundle_kernel){.symbol = string_at(p, strings),
                              .function = string_at(p + 8, strings),
                              .module = get32(p + 16)};
}

ld_bundle_module ld_bundle_head_module(const ld_bundle_head *head, uint32_t i)
{
    const unsigned char *p = module_at(head, i);
    ld_bundle_module module = {.name = string_at(p, module_at(head, head->module_count)),
                               .opt_level = get32(p + 8) & OPTION_LEVEL,
                               .line_info = (get32(p + 8) & OPTION_LINES) != 0,
                               .artifact_count = get32(p + 12),
                               .record_at = get(p + 16, 8),
                               .record_size = get(p + 24, 8)};
    memcpy(module.record_digest, p + 32, LD_SHA256_SIZE);
    return module;
}

static int compare(tv_str a, tv_str b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool ld_bundle_text_is_fine(tv_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
            return false;
    return true;
}

static bool kernels_are_fine(const ld_bundle_head *head, uint64_t strings)
{
    tv_str before = {0};
    for (uint32_t i = 0; i < head->kernel_count; i++) {
        const unsigned char *p = kernel_at(head, i);
        if (!string_fits(p, strings) || !string_fits(p + 8, strings) || get32(p + 16) >= head->module_count)
            return false;
        tv_str symbol = ld_bundle_head_kernel(head, i).symbol, function = ld_bundle_head_kernel(head, i).function;
        if (!symbol.len || !ld_bundle_text_is_fine(symbol) || !ld_bundle_text_is_fine(function)
            || (i && compare(before, symbol) >= 0))
            return false;
        before = symbol;
    }
    return true;
}

static bool modules_are_fine(const ld_bundle_head *head, uint64_t strings)
{
    for (uint32_t i = 0; i < head->module_count; i++) {
        if (!string_fits(module_at(head, i), strings))
            return false;
        ld_bundle_module m = ld_bundle_head_module(head, i);
        if (!ld_bundle_name_is_fine(m.name) || !m.artifact_count || m.artifact_count > MOST_ARTIFACTS
            || m.record_at > head->record_bytes || m.record_size > head->record_bytes - m.record_at
            || m.record_size < (uint64_t)m.artifact_count * ARTIFACT)
            return false;
    }
    return true;
}

const char *ld_bundle_head_open(const unsigned char *bytes, size_t size, ld_bundle_head *out)
{
    if (size < HEAD || memcmp(bytes, magic, sizeof magic) != 0)
        return "the index is of another version";
    ld_bundle_head head = {.bytes = bytes,
                           .size = size,
                           .kernel_count = get32(bytes + 8),
                           .module_count = get32(bytes + 12),
                           .record_bytes = get(bytes + 24, 8)};
    uint64_t strings = get32(bytes + 16);
    uint64_t rows = HEAD + (uint64_t)head.kernel_count * KERNEL + (uint64_t)head.module_count * MODULE;
    if (rows > size || strings != size - rows || !kernels_are_fine(&head, strings) || !modules_are_fine(&head, strings))
        return "the index is inconsistent";
    *out = head;
    return NULL;
}

/* ---- records ---- */

static bool artifact_is_fine(const ld_artifact *a)
{
    enum { DEFLATE_RATIO = 1040 }; /* deflate makes at most 1032 bytes of one */
    bool bytecode = a->form == LD_ARTIFACT_BYTECODE;
    return a->form < LD_ARTIFACT_FORM_COUNT && a->size <= largest && a->packed <= a->size
           && a->size <= a->packed * DEFLATE_RATIO && (a->suffix == 0 || a->suffix == 'a') && bytecode == (a->sm == 0)
           && (a->form == LD_ARTIFACT_PTX) == (a->ptx != 0);
}

const char *ld_bundle_record_read(const ld_bundle_module *module, const unsigned char *record, bc_arena *arena,
                                  ld_artifact **out_artifacts)
{
    static const char nonsense[] = "the record of a module is inconsistent";
    const unsigned char *strings = record + (size_t)module->artifact_count * ARTIFACT;
    uint64_t string_bytes = module->record_size - (uint64_t)module->artifact_count * ARTIFACT;
    ld_artifact *artifacts = bc_new(arena, ld_artifact, module->artifact_count);
    if (!artifacts)
        return LD_NO_MEMORY;
    for (uint32_t i = 0; i < module->artifact_count; i++) {
        const unsigned char *p = record + (size_t)i * ARTIFACT;
        ld_artifact *a = &artifacts[i];
        *a = (ld_artifact){.sm = (unsigned)get(p, 2),
                           .suffix = (char)p[2],
                           .form = (ld_artifact_form)p[3],
                           .ptx = (unsigned)get(p + 4, 2),
                           .at = get(p + 8, 8),
                           .packed = get(p + 16, 8),
                           .size = get(p + 24, 8)};
        memcpy(a->digest, p + 32, LD_SHA256_SIZE);
        if (!string_fits(p + 64, string_bytes) || !artifact_is_fine(a) || (i == 0) != (a->form == LD_ARTIFACT_BYTECODE))
            return nonsense;
        a->launch = bc_arena_dup(arena, string_at(p + 64, strings));
        if (!a->launch.ptr)
            return LD_NO_MEMORY;
    }
    *out_artifacts = artifacts;
    return NULL;
}

/* ---- writing ---- */

/* Appends a string, and its place and length to the row. */
static void put_string(bc_text *row, bc_text *strings, tv_str s)
{
    put(row, strings->len, 4);
    put(row, s.len, 4);
    bc_text_str(strings, s);
}

/* A text that occurs several times, such as the launch records of a kernel on several targets, is stored once. */
static void put_launch(bc_text *row, bc_text *strings, const ld_artifact *artifacts, uint32_t i, uint64_t *places)
{
    uint32_t same = i;
    while (same > 0 && !bc_str_eq(artifacts[same - 1].launch, artifacts[i].launch))
        same--;
    places[i] = same > 0 ? places[same - 1] : strings->len;
    put(row, places[i], 4);
    put(row, artifacts[i].launch.len, 4);
    if (same == 0)
        bc_text_str(strings, artifacts[i].launch);
}

void ld_bundle_record_write(ld_bundle_module *module, const ld_artifact *artifacts, uint64_t record_at, bc_text *out)
{
    bc_text row, strings;
    uint64_t places[MOST_ARTIFACTS];
    bc_text_init(&row, NULL);
    bc_text_init(&strings, NULL);
    for (uint32_t i = 0; i < module->artifact_count; i++) {
        const ld_artifact *a = &artifacts[i];
        put(&row, a->sm, 2);
        put(&row, (unsigned char)a->suffix, 1);
        put(&row, a->form, 1);
        put(&row, a->ptx, 2);
        put(&row, 0, 2);
        put(&row, a->at, 8);
        put(&row, a->packed, 8);
        put(&row, a->size, 8);
        bc_text_bytes(&row, a->digest, LD_SHA256_SIZE);
        put_launch(&row, &strings, artifacts, i, places);
    }
    bc_text_str(&row, bc_text_get(&strings));
    module->record_at = record_at;
    module->record_size = row.len;
    tv_str bytes = bc_text_get(&row);
    ld_sha256_of(bytes.ptr, bytes.len, module->record_digest);
    bc_text_str(out, bytes);
    out->failed |= row.failed || strings.failed;
    bc_text_release(&row);
    bc_text_release(&strings);
}

static void put_module(bc_text *out, bc_text *strings, const ld_bundle_module *m)
{
    put_string(out, strings, m->name);
    put(out, m->opt_level | (m->line_info ? OPTION_LINES : 0u), 4);
    put(out, m->artifact_count, 4);
    put(out, m->record_at, 8);
    put(out, m->record_size, 8);
    bc_text_bytes(out, m->record_digest, LD_SHA256_SIZE);
}

void ld_bundle_head_write(const ld_bundle_kernel *kernels, uint32_t kernel_count, const ld_bundle_module *modules,
                          uint32_t module_count, uint64_t record_bytes, bc_text *out)
{
    bc_text rows, strings;
    bc_text_init(&rows, NULL);
    bc_text_init(&strings, NULL);
    for (uint32_t i = 0; i < kernel_count; i++) {
        put_string(&rows, &strings, kernels[i].symbol);
        put_string(&rows, &strings, kernels[i].function);
        put(&rows, kernels[i].module, 4);
    }
    for (uint32_t i = 0; i < module_count; i++)
        put_module(&rows, &strings, &modules[i]);
    bc_text_bytes(out, magic, sizeof magic);
    put(out, kernel_count, 4);
    put(out, module_count, 4);
    put(out, strings.len, 4);
    put(out, 0, 4);
    put(out, record_bytes, 8);
    bc_text_str(out, bc_text_get(&rows));
    bc_text_str(out, bc_text_get(&strings));
    out->failed |= rows.failed || strings.failed;
    bc_text_release(&rows);
    bc_text_release(&strings);
}

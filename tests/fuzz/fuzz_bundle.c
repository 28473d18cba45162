/* Bundles: whatever the bytes are, the reader refuses them or gives parts that have the hashes they must have. After a
   letter for the kind: 'f' a file, 's' a file whose hashes are made right first, 'h' the head of an index, 'r' the
   record of a module after a byte with its number of artifacts, 'g' lines of a signature, 'm' a manifest. */
#include "tests/fuzz/fuzz.h"

#include "loader/bundle/signature.h"
#include "tests/common/reseal.c" /* the targets are linked with the product's libraries only */
#include "tools/tilevm/bundle/bundle.h"

static void read_module(const ld_bundle *bundle, uint32_t index)
{
    bc_arena arena;
    ld_artifact *artifacts;
    tv_str bytes;
    bc_arena_init(&arena, NULL, (size_t)64 << 20);
    ld_bundle_module m = ld_bundle_head_module(&bundle->head, index);
    FUZZ_CHECK(ld_bundle_name_is_fine(m.name));
    if (!ld_bundle_artifacts(bundle, &m, &arena, &artifacts))
        for (uint32_t a = 0; a < m.artifact_count; a++) {
            uint32_t order[1];
            FUZZ_CHECK(ld_bundle_choose(&artifacts[a], 1, 90, 80, order) <= 1);
            if (ld_bundle_fetch(bundle, &artifacts[a], &arena, &bytes))
                continue;
            unsigned char digest[LD_SHA256_SIZE];
            ld_sha256_of(bytes.ptr, bytes.len, digest);
            FUZZ_CHECK(bytes.len == artifacts[a].size && memcmp(digest, artifacts[a].digest, sizeof digest) == 0);
        }
    bc_arena_release(&arena);
}

static void read_file(const uint8_t *data, size_t size)
{
    ld_bundle bundle;
    bc_arena arena;
    tv_str manifest;
    uint32_t found;
    bc_arena_init(&arena, NULL, (size_t)64 << 20);
    if (!ld_bundle_open_bytes(data, size, &bundle)) {
        for (uint32_t i = 0; i < bundle.head.kernel_count; i++) {
            ld_bundle_kernel k = ld_bundle_head_kernel(&bundle.head, i);
            FUZZ_CHECK(ld_bundle_find(&bundle, k.symbol, &found) == LD_BUNDLE_FOUND && found == i);
        }
        for (uint32_t i = 0; i < bundle.head.module_count; i++)
            read_module(&bundle, i);
        ld_bundle_manifest(&bundle, &arena, &manifest);
    }
    ld_bundle_close(&bundle);
    bc_arena_release(&arena);
}

static void read_record(const uint8_t *data, size_t size)
{
    enum { ROW = 72 };
    bc_arena arena;
    ld_artifact *artifacts;
    if (!size || (size_t)data[0] * ROW > size - 1 || !data[0])
        return;
    ld_bundle_module m = {.artifact_count = data[0], .record_size = size - 1};
    bc_arena_init(&arena, NULL, (size_t)64 << 20);
    ld_bundle_record_read(&m, data + 1, &arena, &artifacts);
    bc_arena_release(&arena);
}

/* Compared with an index of nothing; then what joining takes from it. */
static void read_manifest(tv_str text)
{
    ld_bundle_head head = {0};
    bundle_told told;
    bc_arena arena;
    bc_arena_init(&arena, NULL, (size_t)64 << 20);
    bundle_manifest_check(text, &head, NULL);
    if (!bundle_manifest_read(text, &arena, &told))
        FUZZ_CHECK(told.opt_level <= 3);
    bc_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char problem[LD_CRYPTO_PROBLEM];
    uint8_t *copy = malloc(size); /* without what stands before it */
    FUZZ_CHECK(copy);
    memcpy(copy, data + 1, size - 1);
    tv_str text = {.ptr = (const char *)copy, .len = size - 1};
    if (data[0] == 's')
        reseal(copy, size - 1);
    if (data[0] == 'f' || data[0] == 's')
        read_file(copy, size - 1);
    else if (data[0] == 'h')
        ld_bundle_head_open(copy, size - 1, &(ld_bundle_head){0});
    else if (data[0] == 'r')
        read_record(copy, size - 1);
    else if (data[0] == 'g')
        ld_signature_check(text, text, problem);
    else if (data[0] == 'm')
        read_manifest(text);
    free(copy);
    return 0;
}

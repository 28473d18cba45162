/* Bundles that are cut short, changed, or made by somebody who wishes ill: nothing of them is taken for something else,
   and no name in them leads out of a folder. Which artifact is for which device. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/bundle/signature.h"
#include "tests/reseal.h"
#include "tests/unit/test.h"
#include "tools/tilevm/bundle/bundle.h"

static const char text[] = "cuda_tile.module @m {\n"
                           "entry @first(%a: tile<ptr<f32>>, %n: tile<i32>) { return }\n"
                           "entry @second() { return }\n}\n";

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

/* A bundle of two kernels for two targets. */
static bc_text make_bundle(void)
{
    tv_sink sink = {.report = ignore};
    tv_module *module = NULL;
    char path[] = "/tmp/tilevm-bundle-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    bc_text bytecode, out;
    bc_text_init(&bytecode, NULL);
    bc_text_init(&out, NULL);
    CHECK(file && tv_module_parse(text, sizeof text - 1, 1, NULL, sink, &module) == TV_OK);
    CHECK(tv_module_write(module, sink, (tv_writer){.user = &bytecode, .write = bc_text_append}) == TV_OK);
    CHECK(file && fwrite(bytecode.ptr, 1, bytecode.len, file) == bytecode.len && fclose(file) == 0);
    const char *paths[] = {path};
    bundle_request request = {.paths = paths,
                              .count = 1,
                              .build = {.targets = {.names = {"sm_80", "sm_90"}, .count = 2}, .opt_level = 3}};
    bundle_build build;
    CHECK(bundle_build_bytes(&request, &build, &out) == CLI_OK);
    bundle_build_release(&build);
    tv_module_close(module);
    bc_text_release(&bytecode);
    unlink(path);
    return out;
}

static void check_digest(tv_str bytes, const unsigned char *expected)
{
    unsigned char digest[LD_SHA256_SIZE];
    ld_sha256_of(bytes.ptr, bytes.len, digest);
    CHECK(memcmp(digest, expected, sizeof digest) == 0);
}

/* Reads everything that a bundle has. Gives how many artifacts were fetched. */
static unsigned read_all(const unsigned char *bytes, size_t size, const char **out_problem)
{
    ld_bundle bundle;
    bc_arena arena;
    unsigned fetched = 0;
    tv_str part;
    bc_arena_init(&arena, NULL, (size_t)64 << 20);
    *out_problem = ld_bundle_open_bytes(bytes, size, &bundle);
    for (uint32_t i = 0; !*out_problem && i < bundle.head.module_count; i++) {
        ld_bundle_module m = ld_bundle_head_module(&bundle.head, i);
        ld_artifact *artifacts;
        CHECK(ld_bundle_name_is_fine(m.name));
        *out_problem = ld_bundle_artifacts(&bundle, &m, &arena, &artifacts);
        for (uint32_t a = 0; !*out_problem && a < m.artifact_count; a++) {
            *out_problem = ld_bundle_fetch(&bundle, &artifacts[a], &arena, &part);
            if (*out_problem)
                break;
            check_digest(part, artifacts[a].digest);
            fetched++;
        }
    }
    if (!*out_problem && !(*out_problem = ld_bundle_manifest(&bundle, &arena, &part)))
        check_digest(part, bundle.seal.manifest);
    ld_bundle_close(&bundle);
    bc_arena_release(&arena);
    return fetched;
}

static void test_sound(const bc_text *bundle)
{
    const char *problem;
    ld_bundle opened;
    uint32_t found;
    CHECK(read_all((const unsigned char *)bundle->ptr, bundle->len, &problem) >= 2 && !problem);
    CHECK(ld_bundle_open_bytes(bundle->ptr, bundle->len, &opened) == NULL);
    CHECK(opened.head.kernel_count == 2 && opened.head.module_count == 1);
    CHECK(ld_bundle_find(&opened, bc_str("second"), &found) == LD_BUNDLE_FOUND && found == 1);
    CHECK(ld_bundle_find(&opened, bc_str("third"), &found) == LD_BUNDLE_NONE);
    ld_bundle_close(&opened);
}

/* Without its end nothing is a bundle. */
static void test_truncated(const bc_text *bundle)
{
    const char *problem;
    for (size_t size = 0; size < bundle->len; size++) {
        unsigned char *copy = malloc(size ? size : 1); /* of that size, so that sanitizers see what is read behind it */
        memcpy(copy, bundle->ptr, size);
        CHECK_MSG(read_all(copy, size, &problem) == 0 && problem, "%zu of %zu bytes", size, bundle->len);
        free(copy);
    }
}

/* Every byte changed: whatever is still read has the hash that it must have (read_all), also when the hashes around it
   were made right again. */
static void test_changed(const bc_text *bundle)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    const char *problem;
    unsigned char *copy = malloc(bundle->len);
    for (size_t at = 0; at < bundle->len; at++)
        for (size_t v = 0; v < sizeof values; v++) {
            memcpy(copy, bundle->ptr, bundle->len);
            copy[at] = values[v];
            read_all(copy, bundle->len, &problem);
            reseal(copy, bundle->len);
            read_all(copy, bundle->len, &problem);
        }
    free(copy);
}

/* One digit of the hash that the seal has of the manifest is changed, all else is right: the manifest is not taken. */
static void test_manifest_hash(const bc_text *bundle)
{
    static const char word[] = "\nmanifest ";
    const char *problem = NULL;
    char *copy = malloc(bundle->len);
    memcpy(copy, bundle->ptr, bundle->len);
    char *seal = memmem(copy, bundle->len, "tilevm bundle 1\n", 16);
    char *line = seal ? memmem(seal, bundle->len - (size_t)(seal - copy), word, sizeof word - 1) : NULL;
    CHECK(line != NULL);
    if (line) {
        char *last = strchr(line + 1, '\n') - 1; /* digit of the hash */
        *last = *last == '0' ? '1' : '0';
        CHECK(read_all((unsigned char *)copy, bundle->len, &problem) >= 2);
        CHECK(problem && strcmp(problem, "it does not have the hash that the seal says") == 0);
    }
    free(copy);
}

/* Bytes put in place of those that are there, at their first place after `after`, and all hashes made right. */
static const char *forged(const bc_text *bundle, const char *after, const void *from, size_t size, const void *to)
{
    const char *problem = "it is not there";
    char *copy = malloc(bundle->len);
    memcpy(copy, bundle->ptr, bundle->len);
    char *start = memmem(copy, bundle->len, after, strlen(after));
    char *found = start ? memmem(start, bundle->len - (size_t)(start - copy), from, size) : NULL;
    CHECK(found != NULL);
    if (found) {
        memcpy(found, to, size);
        reseal((unsigned char *)copy, bundle->len);
        read_all((unsigned char *)copy, bundle->len, &problem);
    }
    free(copy);
    return problem ? problem : "";
}

#define CHECK_FORGED(after, from, to, words)                                             \
    do {                                                                                 \
        const char *problem_ = forged(bundle, after, from, sizeof from - 1, to);         \
        CHECK_MSG(strcmp(problem_, words) == 0, "%s -> %s: \"%s\"", from, to, problem_); \
    } while (0)

static void test_forged(const bc_text *bundle)
{
    static const char nonsense[] = "the index makes no sense";
    CHECK_FORGED("TVINDEX", "tilevm-bundle-", "tilevm-bundle-", "");
    CHECK_FORGED("TVINDEX", "tilevm-bundle-", "../../.bashrc/", nonsense);
    CHECK_FORGED("TVINDEX", "tilevm-bundle-", ".hidden_file__", nonsense);
    CHECK_FORGED("TVINDEX", "second", "\033[2Jxx", nonsense);
    CHECK_FORGED("TVINDEX", "second", "first\0", nonsense);
    CHECK_FORGED("TVINDEX", "second", "aaaaaa", nonsense); /* not sorted any more */
    CHECK_FORGED("TVINDEX", "TVINDEX\1", "TVINDEX\2", "the index is of another version");
    CHECK_FORGED("tilevm bundle", "bundle 1", "bundle 2", "it is of a version that a newer tilevm has made");
    CHECK_FORGED("tilevm bundle", "bundle 1", "bundle\n1", "the seal is damaged");
    CHECK_FORGED("TVINDEX", "\x50\x00\x00\x01", "\x50\x00\x00\x07", "the record of a module makes no sense");
    CHECK_FORGED("TVINDEX", "\x50\x00\x00\x01\x4b\x00", "\x50\x00\x00\x01\x00\x00",
                 "the record of a module makes no sense");
}

/* Sizes of which an archive cannot be, or that would fill the memory. */
static void test_bombs(const bc_text *bundle)
{
    ld_bundle opened;
    bc_arena arena;
    ld_artifact *artifacts;
    tv_str part;
    bc_arena_init(&arena, NULL, (size_t)16 << 20);
    CHECK(ld_bundle_open_bytes(bundle->ptr, bundle->len, &opened) == NULL);
    ld_bundle_module m = ld_bundle_head_module(&opened.head, 0);
    CHECK(ld_bundle_artifacts(&opened, &m, &arena, &artifacts) == NULL);
    ld_artifact a = artifacts[1];
    a.size = 1 << 20;
    CHECK(strcmp(ld_bundle_fetch(&opened, &a, &arena, &part), "it cannot be unpacked") == 0);
    a.size = artifacts[1].size - 1;
    CHECK(strcmp(ld_bundle_fetch(&opened, &a, &arena, &part), "it cannot be unpacked") == 0);
    a.size = (uint64_t)1 << 40;
    CHECK(strcmp(ld_bundle_fetch(&opened, &a, &arena, &part), "its sizes make no sense") == 0);
    a = artifacts[1];
    a.at = UINT64_MAX - 5;
    CHECK(strcmp(ld_bundle_fetch(&opened, &a, &arena, &part), "it was cut short") == 0);
    /* And in an index that was made to measure: no artifact of a kilobyte unpacks to a gigabyte. */
    ld_bundle_module bomb = {.name = bc_str("bomb"), .artifact_count = 2};
    ld_artifact rows[2] = {artifacts[0], artifacts[1]};
    rows[1].size = 1000000000;
    bc_text record;
    bc_text_init(&record, NULL);
    ld_bundle_record_write(&bomb, rows, 0, &record);
    const char *problem = ld_bundle_record_read(&bomb, (unsigned char *)record.ptr, &arena, &artifacts);
    CHECK(problem && strcmp(problem, "the record of a module makes no sense") == 0);
    bc_text_release(&record);
    bc_arena_release(&arena);
    ld_bundle_close(&opened);
}

static void test_manifests(void)
{
    static const char *const bad[] = {
        "",
        "{",
        "null",
        "[]",
        "{\"schema\": \"tilevm-bundle/2\"}",
        "{\"schema\": \"tilevm-bundle/1\"}",
        "{\"schema\": \"tilevm-bundle/1\", \"modules\": 5}",
        "{\"schema\": \"tilevm-bundle/1\", \"modules\": [null]}",
        "{\"schema\": \"tilevm-bundle/1\", \"modules\": [{\"name\": [\"x\"], \"artifacts\": {}}]}"};
    ld_bundle_module module = {.name = bc_str("x"), .artifact_count = 1};
    ld_artifact artifact = {.form = LD_ARTIFACT_BYTECODE};
    const ld_artifact *artifacts[] = {&artifact};
    bc_text head;
    ld_bundle_head opened;
    bc_text_init(&head, NULL);
    module.record_size = 72;
    ld_bundle_head_write(NULL, 0, &module, 1, 72, &head);
    CHECK(ld_bundle_head_open((unsigned char *)head.ptr, head.len, &opened) == NULL);
    for (size_t i = 0; i < TV_COUNT(bad); i++)
        CHECK_MSG(bundle_manifest_check(bc_str(bad[i]), &opened, artifacts) != NULL, "%s", bad[i]);
    bc_text deep;
    bc_text_init(&deep, NULL);
    for (unsigned i = 0; i < 100000; i++)
        bc_text_puts(&deep, "[{\"a\":");
    CHECK(strcmp(bundle_manifest_check(bc_text_get(&deep), &opened, artifacts), "it is not JSON") == 0);
    bc_text_release(&deep);
    bc_text_release(&head);
}

static void test_signatures(void)
{
    static const char *const bad[] = {"x", "ed25519", "ed25519 00 00\n", "ed25519 zz", "rsa 00"};
    char problem[LD_CRYPTO_PROBLEM];
    for (size_t i = 0; i < TV_COUNT(bad); i++)
        CHECK(!ld_signature_check(bc_str(bad[i]), bc_str("message"), problem));
    CHECK(!ld_signature_verify(bc_str(""), bc_str("message"), "/nonexistent", problem));
    bc_text line;
    bc_text_init(&line, NULL);
    CHECK(!ld_signature_make(bc_str("message"), "/nonexistent", NULL, &line, problem) && !line.len);
    bc_text_release(&line);
}

/* ---- devices ---- */

static void test_choice(void)
{
    static const struct {
        ld_artifact_form form;
        unsigned sm;
        char suffix;
        unsigned ptx;
    } rows[] = {{LD_ARTIFACT_BYTECODE, 0, 0, 0}, {LD_ARTIFACT_PTX, 80, 0, 75},    {LD_ARTIFACT_CUBIN, 80, 0, 0},
                {LD_ARTIFACT_PTX, 90, 0, 78},    {LD_ARTIFACT_CUBIN, 90, 'a', 0}, {LD_ARTIFACT_PTX, 100, 'a', 86},
                {LD_ARTIFACT_CUBIN, 87, 0, 0}};
    static const struct {
        unsigned sm, ptx;
        const char *order;
    } devices[] = {{80, 80, "210"}, {86, 80, "210"},   {89, 80, "210"},  {87, 80, "610"},  {90, 80, "4310"},
                   {90, 77, "410"}, {100, 86, "5310"}, {100, 80, "310"}, {103, 86, "310"}, {120, 90, "310"},
                   {75, 90, "0"},   {88, 90, "10"},    {110, 90, "310"}};
    ld_artifact list[TV_COUNT(rows)] = {{0}};
    for (size_t i = 0; i < TV_COUNT(rows); i++)
        list[i] = (ld_artifact){.form = rows[i].form, .sm = rows[i].sm, .suffix = rows[i].suffix, .ptx = rows[i].ptx};
    for (size_t i = 0; i < TV_COUNT(devices); i++) {
        uint32_t order[TV_COUNT(rows)];
        char found[TV_COUNT(rows) + 1] = "";
        size_t count = ld_bundle_choose(list, TV_COUNT(list), devices[i].sm, devices[i].ptx, order);
        for (size_t j = 0; j < count; j++)
            found[j] = (char)('0' + order[j]);
        CHECK_MSG(strcmp(found, devices[i].order) == 0, "sm_%u, PTX %u: %s", devices[i].sm, devices[i].ptx, found);
    }
}

int main(void)
{
    bc_text bundle = make_bundle();
    test_sound(&bundle);
    test_truncated(&bundle);
    test_changed(&bundle);
    test_manifest_hash(&bundle);
    test_forged(&bundle);
    test_bombs(&bundle);
    test_manifests();
    test_signatures();
    test_choice();
    bc_text_release(&bundle);
    return TEST_END("bundle unit");
}

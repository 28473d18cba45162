/* Launch records from PTX, sizes of bytecode, versions of PTX, SHA-256. */
#include <stdlib.h>
#include <string.h>

#include "container/bytecode.h"
#include "loader/fatbin.h"
#include "loader/jit.h"
#include "loader/sha256.h"
#include "tests/common/programs.h"
#include "tests/unit/test.h"

/* ---- records ---- */

static ld_record *records;
static size_t record_count;

static bool read(bc_arena *arena, const char *ptx)
{
    records = NULL;
    record_count = 0;
    return ld_records_from_ptx(arena, bc_str(ptx), &records, &record_count);
}

static void test_records(bc_arena *arena)
{
    static const char ptx[] = "// .entry in_a_comment() {\n"
                              ".version 8.0\n.target sm_90a\n.address_size 64\n"
                              "/* .entry in_another { */ .file 1 \"a//b.py\"\n"
                              ".visible .func (.param .b32 r) helper(.param .b64 p) { ret; }\n"
                              ".visible .entry none()\n.maxntid 256\n{ ret; }\n"
                              "// launch some shared 70000\n"
                              ".visible .entry some(\n"
                              "  .param .u64 .ptr .global .align 16 a, // the first\n"
                              "  .param .u32 n,\n"
                              "  .param .align 64 .b8 map[128],\n"
                              "  .param .u8 flag)\n"
                              ".reqntid 128, 2\n.minnctapersm 2\n{\n // .reqntid 7\n ret;\n}\n"
                              ".extern .entry declared(.param .u64 p);\n"
                              ".entry one(.param .f64 x).reqntid 32 { ret; }\n";
    CHECK(read(arena, ptx) && record_count == 3);
    if (record_count != 3)
        return;
    CHECK(strcmp(records[0].name, "none") == 0 && records[0].param_count == 0 && records[0].block[0] == 0);
    const ld_record *some = &records[1];
    CHECK(strcmp(some->name, "some") == 0 && some->param_count == 4 && some->shared_bytes == 70000);
    CHECK_MSG(some->param_bytes == 193, "%u", some->param_bytes); /* 8, 4, to 64, 128, 1 */
    CHECK(some->block[0] == 128 && some->block[1] == 2 && some->block[2] == 1);
    CHECK(strcmp(records[2].name, "one") == 0 && records[2].param_bytes == 8 && records[2].block[0] == 32);

    bc_text text;
    bc_text_init(&text, NULL);
    ld_records_print(records, record_count, &text);
    ld_record *again = NULL;
    size_t count = 0;
    CHECK(ld_records_parse(arena, bc_text_get(&text), &again, &count) && count == 3);
    CHECK(count == 3 && memcmp(again[1].block, some->block, sizeof some->block) == 0 && again[1].param_bytes == 193
          && again[1].shared_bytes == 70000 && strcmp(again[1].name, "some") == 0);
    for (size_t cut = 1; cut + 1 < text.len; cut++) /* a line that ends early may only lose digits of its last number */
        if (text.ptr[cut] == ' ')
            CHECK(!ld_records_parse(arena, (tv_str){.ptr = text.ptr, .len = cut}, &again, &count));
    CHECK(!ld_records_parse(arena, bc_str("name 1 2 3 4 5 x"), &again, &count));
    CHECK(!ld_records_parse(arena, bc_str("name 1 2 3 4 5 4294967296"), &again, &count));
    bc_text_release(&text);
}

static void test_bad_ptx(bc_arena *arena)
{
    static const char *const bad[] = {".entry",
                                      ".entry k",
                                      ".entry k(",
                                      ".entry k(.param .u64 p",
                                      ".entry k(.param .u64 p)",
                                      ".entry k(.u64 p) {",
                                      ".entry k(.param .b8 p[99999999999]) {",
                                      ".entry k(.param p) {",
                                      ".entry k() .reqntid 0 {",
                                      ".entry k() .reqntid x {",
                                      ".entry k() .reqntid 1,2,3,4 {",
                                      ".entry k(.param .align 3 .b8 p[3]) {",
                                      ".entry k(.param .b8 p[65536]) {",
                                      ".entry k(.param .u64 p,) {"};
    for (size_t i = 0; i < TV_COUNT(bad); i++)
        CHECK_MSG(!read(arena, bad[i]), "%s", bad[i]);
    CHECK(read(arena, "") && record_count == 0);
    CHECK(read(arena, "\"unterminated .entry k() {") && record_count == 0);
    CHECK(read(arena, "/* unterminated .entry k() {") && record_count == 0);
}

static void test_places(void)
{
    tv_str ptx = bc_str(
        ".version 8.0\n.target sm_100a, debug\n.entry k()\n{\n  // op 3 addi\n  add.s32 %r1;\n\n  // op 4\n ret;\n}\n");
    CHECK(bc_str_is(ld_ptx_origin(ptx, 6), "op 3 addi") && bc_str_is(ld_ptx_origin(ptx, 7), "op 3 addi"));
    CHECK(ld_ptx_origin(ptx, 4).len == 0 && ld_ptx_origin(ptx, 0).len == 0);
    CHECK(bc_str_is(ld_ptx_target(ptx), "sm_100a"));
    CHECK(ld_ptx_target(bc_str(".version 8.0\n.entry k() {}")).len == 0 && ld_ptx_target(bc_str(".target")).len == 0);
}

/* ---- the driver's assembler ---- */

static void check_explained(const char *log, const char *expected)
{
    static const char ptx[] = ".version 8.0\n.target sm_90a\n.entry k()\n{\n// op 3 addi k.py:7\n  add.s32 %r1;\n}\n";
    ld_jit *jit = ld_jit_new(&(ld_want){.opt_level = 2}, 0);
    bc_text words;
    bc_text_init(&words, NULL);
    CHECK(jit && jit->count == 4 && jit->values[0] == jit->log);
    if (jit) {
        snprintf(jit->log, sizeof jit->log, "%s", log);
        ld_jit_explain(jit, bc_str(ptx), &words);
        CHECK_MSG(bc_str_is(bc_text_get(&words), expected), "%s", words.ptr ? words.ptr : "");
    }
    bc_text_release(&words);
    free(jit);
}

static void test_jit(void)
{
    check_explained("", "");
    check_explained("\n\nfatal\n", "   fatal\n");
    check_explained("line 6; error : x", "   line 6; error : x\n      which belongs to op 3 addi k.py:7\n");
    check_explained("in line 2;\nline x, line 6\ncut: line ", "   in line 2;\n   line x, line 6\n   cut: line \n");
    ld_jit *jit = ld_jit_new(&(ld_want){.line_info = true}, 0x1005a);
    CHECK(jit && jit->count == 5 && jit->options[4] == LD_JIT_TARGET && (uintptr_t)jit->values[4] == 0x1005a);
    free(jit);
    CHECK(ld_jit_is_refusal(LD_CUDA_INVALID_PTX) && ld_jit_is_refusal(LD_CUDA_UNSUPPORTED_PTX_VERSION)
          && !ld_jit_is_refusal(LD_CUDA_OUT_OF_MEMORY) && !ld_jit_is_refusal(LD_CUDA_SUCCESS));
    const char elf[] = "\177ELF";
    CHECK(ld_image_form(&(ld_image){.bytes = (const unsigned char *)elf, .size = 4}) == LD_CUBIN);
    CHECK(ld_image_form(&(ld_image){.bytes = (const unsigned char *)elf, .size = 3}) == LD_PTX);
}

/* ---- bytecode ---- */

static void test_sizes(void)
{
    /* Sections: id 1, 3 bytes; id 2 aligned to 16; end. What follows is not looked at. */
    static const unsigned char file[] = {0x7f, 'T',  'i',  'l',  'e',  'I',  'R',  0,    13,   1,    0,    0,
                                         0x01, 0x03, 9,    9,    9,    0x82, 0x02, 0x10, 0xcb, 0xcb, 0xcb, 0xcb,
                                         0xcb, 0xcb, 0xcb, 0xcb, 0xcb, 0xcb, 0xcb, 0xcb, 7,    7,    0,    0xff};
    CHECK(ld_is_bytecode(file) && !ld_is_bytecode("\177Til") && !ld_is_bytecode(""));
    size_t size = co_bytecode_size(file, SIZE_MAX / 2);
    CHECK_MSG(size == sizeof file - 1 && co_bytecode_size(file, size) == size, "%zu", size);
    for (size_t limit = 0; limit < size; limit++)
        CHECK(co_bytecode_size(file, limit) == 0);
    unsigned char bad[sizeof file];
    memcpy(bad, file, sizeof file);
    bad[12] = 0x7e; /* no such section */
    CHECK(co_bytecode_size(bad, sizeof bad) == 0);
    memcpy(bad, file, sizeof file);
    bad[19] = 0x03; /* no alignment */
    CHECK(co_bytecode_size(bad, sizeof bad) == 0);
    memcpy(bad, file, sizeof file);
    memset(bad + 13, 0xff, 6); /* a length without end */
    CHECK(co_bytecode_size(bad, sizeof bad) == 0);
}

/* ---- versions ---- */

static void test_versions(void)
{
    static const struct {
        int cuda;
        unsigned ptx;
    } known[] = {{11080, 0},  {12000, 80}, {12040, 84}, {12060, 85}, {12080, 87},
                 {12099, 88}, {13000, 90}, {13010, 91}, {14020, 102}};
    for (size_t i = 0; i < TV_COUNT(known); i++)
        CHECK_MSG(ld_ptx_version(known[i].cuda) == known[i].ptx, "%d: %u", known[i].cuda,
                  ld_ptx_version(known[i].cuda));
    CHECK(strcmp(ld_cuda_error_name(700), "ILLEGAL_ADDRESS") == 0 && !ld_cuda_error_name(12345));
}

/* ---- fat binaries ---- */

/* Which image of each kind is for a device: as target, 1000 more for sm_90a; 0: none. */
static void check_choice(const void *memory, unsigned target, unsigned code, unsigned tile_ir)
{
    co_fatbin fatbin;
    co_entry entry;
    CHECK(ld_fatbin_in(memory, &fatbin));
    unsigned found = ld_fatbin_code(fatbin, target, &entry) ? entry.sm + (entry.exact ? 1000 : 0) : 0;
    CHECK_MSG(found == code, "code for sm_%u: %u, not %u", target, found, code);
    found = ld_fatbin_tile_ir(fatbin, target, &entry) ? entry.sm : 0;
    CHECK_MSG(found == tile_ir, "Tile IR for sm_%u: %u, not %u", target, found, tile_ir);
}

static void test_fatbin(void)
{
    static const struct {
        co_kind kind;
        unsigned sm;
        bool exact;
    } images[] = {{CO_TILE_IR, 100, false}, {CO_CUBIN, 80, false}, {CO_CUBIN, 90, true},     {CO_TILE_IR, 80, false},
                  {CO_CUBIN, 86, false},    {CO_PTX, 100, false},  {CO_TILE_IR, 120, false}, {CO_PTX, 75, false}};
    bc_text out;
    bc_text_init(&out, NULL);
    size_t begin = program_fatbin_begin(&out);
    for (size_t i = 0; i < TV_COUNT(images); i++)
        CHECK(program_fatbin_image(&out, images[i].kind, images[i].sm, images[i].exact, CO_PLAIN, bc_str("12345678")));
    program_fatbin_end(&out, begin);
    struct {
        unsigned magic, version;
        const void *container;
    } wrapper = {0x466243b1, 1, out.ptr}, empty = {0x466243b1, 1, NULL};
    check_choice(out.ptr, 72, 0, 80); /* the nearest behind it */
    check_choice(out.ptr, 75, 75, 80);
    check_choice(out.ptr, 80, 80, 80);
    check_choice(&wrapper, 86, 86, 80); /* the nearest before it */
    check_choice(&wrapper, 89, 86, 80);
    check_choice(&wrapper, 90, 1090, 80);
    check_choice(&wrapper, 100, 100, 100);
    check_choice(&wrapper, 103, 100, 100);
    check_choice(&wrapper, 130, 100, 120);
    co_fatbin fatbin;
    CHECK(!ld_fatbin_in("", &fatbin) && !ld_fatbin_in("\xb1\x43", &fatbin) && !ld_fatbin_in("\x50\xed", &fatbin));
    CHECK(!ld_fatbin_in(&empty, &fatbin));
    bc_text_release(&out);
}

/* ---- SHA-256: the examples of FIPS 180-4 and of NIST's test vectors ---- */

static void check_hash(const char *bytes, size_t size, size_t repeat, size_t step, const char *expected)
{
    ld_sha256 hash;
    unsigned char digest[LD_SHA256_SIZE];
    char text[LD_SHA256_HEX];
    ld_sha256_init(&hash);
    for (size_t r = 0; r < repeat; r++)
        for (size_t at = 0; at < size; at += step)
            ld_sha256_add(&hash, bytes + at, size - at < step ? size - at : step);
    ld_sha256_finish(&hash, digest);
    ld_sha256_hex(digest, text);
    CHECK_MSG(strcmp(text, expected) == 0, "%s", text);
}

static void test_sha256(void)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check_hash("", 0, 1, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash("abc", 3, 1, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t step = 1; step < 70; step++)
        check_hash(two_blocks, 56, 1, step, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash("aaaaaaaaaa", 10, 100000, 7, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    bc_arena arena;
    bc_arena_init(&arena, NULL, 0);
    test_records(&arena);
    test_bad_ptx(&arena);
    bc_arena_release(&arena);
    test_places();
    test_jit();
    test_sizes();
    test_versions();
    test_fatbin();
    test_sha256();
    return TEST_END("loader unit");
}

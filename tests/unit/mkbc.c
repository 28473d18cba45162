/* The assembler of annotated bytes, against bytes written down by hand. */
#include "tests/common/mkbc.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

static void check_bytes(const char *text, const char *expected, size_t size)
{
    mkbc_result r;
    bool ok = mkbc_assemble(text, strlen(text), &r);
    CHECK_MSG(ok && r.size == size && memcmp(r.bytes, expected, size) == 0, "%s: %s", text, r.error);
    free(r.bytes);
}

#define BYTES(text, expected) check_bytes(text, expected, sizeof(expected) - 1)

static void check_error(const char *text, unsigned line, const char *error)
{
    mkbc_result r;
    bool ok = mkbc_assemble(text, strlen(text), &r);
    CHECK_MSG(!ok && r.line == line && strcmp(r.error, error) == 0, "%s: line %u, %s", text, r.line, r.error);
    free(r.bytes);
}

static void test_words(void)
{
    BYTES("", "");
    BYTES("# nothing\n", "");
    BYTES("7f 00 FF cb*3", "\x7f\x00\xff\xcb\xcb\xcb");
    BYTES("\"a # b\" \"\\n\\t\\0\\\"\\\\\\xff\"", "a # b\n\t\0\"\\\xff");
    BYTES("varint 127 varint 128 varint 300", "\x7f\x80\x01\xac\x02");
    BYTES("varint 0 in 3 varint 18446744073709551615", "\x80\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    BYTES("svarint 0 svarint -1 svarint 1 svarint -64", "\x00\x01\x02\x7f");
    BYTES("u8 255 u16 0x1234 u32 1 i32 -2", "\xff\x34\x12\x01\x00\x00\x00\xfe\xff\xff\xff");
    BYTES("u64 1 i64 min", "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80");
    BYTES("i32s [1 -1] i64s [] bools [0 1]", "\x02\x01\0\0\0\xff\xff\xff\xff\x00\x02\x00\x01");
    BYTES("header 13.4", "\x7f"
                         "TileIR\0\x0d\x04\0\0");
    BYTES("header 13.5 tag 0x102", "\x7f"
                                   "TileIR\0\x0d\x05\x02\x01");
    BYTES("01 align 4 02 align 4 pad 00", "\x01\xcb\xcb\xcb\x02\x00\x00\x00");
    BYTES("len { \"abc\" len 9 { 01 } }", "\x05"
                                          "abc\x09\x01");
    BYTES("end", "\x00");
}

static void test_tables(void)
{
    BYTES("section producer { 2a }", "\x07\x01\x2a");
    BYTES("section 9 length 300 { }", "\x09\xac\x02");
    BYTES("section type align 8 pad 00 { 01 }", "\x85\x01\x08\x00\x00\x00\x00\x00\x01");
    BYTES("section type unaligned { 01 }", "\x05\x01\x01");
    BYTES("section string { table 4 { item { \"ab\" } item { } } }",
          "\x81\x0e\x04\xcb\x02\xcb\xcb\xcb\0\0\0\0\x02\0\0\0"
          "ab");
    BYTES("table 8 count 3 { item at 7 { 05 } }", "\x03\xcb\xcb\xcb\xcb\xcb\xcb\xcb\x07\0\0\0\0\0\0\0\x05");
    BYTES("table 4 { }", "\x00");
    BYTES("@b varint @a+1 table 4 { item a { @b+200 } item b { @a } }",
          "\x01\x01\x02\xcb\0\0\0\0\x02\0\0\0\xc9\x01\x00");
}

static void test_errors(void)
{
    check_error("zz", 1, "unknown word 'zz'");
    check_error("\n# x\n 7", 3, "unknown word '7'");
    check_error("7f0", 1, "expected two hex digits or HH*COUNT, found '7f0'");
    check_error("varint x", 1, "expected a number, found 'x'");
    check_error("varint", 1, "expected a number, found ''");
    check_error("\"abc", 1, "string without closing quote");
    check_error("\"\\q\"", 1, "unknown escape '\\q'");
    check_error("len { 01", 1, "block without closing '}'");
    check_error("}", 1, "unknown word '}'");
    check_error("@none", 1, "no item is named 'none'");
    check_error("table 4 { item a { } item a { } }", 1, "a second item named 'a'");
    check_error("table 3 { }", 1, "a table has offsets of 4 or 8 bytes");
    check_error("table 4 { 01 }", 1, "expected 'item', found '01'");
    check_error("len { section type { } }", 1, "a section inside a block");
    check_error("header 13", 1, "expected a version such as 13.1 after 'header'");
}

/* The worked example of the format reference: k(tile<i32>) adds its argument to itself. */
static void test_whole_file(void)
{
    static const char text[] =
        "header 13.1\n"
        "section func { 01 @k @sig 02 01 len { 03 @t 01 00 00  5c 00 00 } }\n"
        "section constant { 00 cb*7 }\n"
        "section debug { 01 align 4 u32 0  03 align 8 u64 0 u64 0 u64 0  table 4 { item { 00 } } }\n"
        "section type { table 4 {\n"
        "  item { 00 } item i32 { 03 } item { 04 } item { 07 } item { 11 } item { 05 } item { 01 }\n"
        "  item t { 0d @i32 i64s [] } item sig { 10 01 @t 00 } } }\n"
        "section string { table 4 { item k { \"k\" } } }\n"
        "end\n";
    mkbc_result r;
    CHECK(mkbc_assemble(text, strlen(text), &r));
    if (!r.bytes)
        return;
    static const char functions[] = "\x82\x0e\x08\xcb\x01\x00\x08\x02\x01\x08\x03\x07\x01\x00\x00\x5c\x00\x00";
    static const char strings[] = "\x81\x09\x04\xcb\xcb\xcb\x01\xcb\xcb\xcb\0\0\0\0k\0";
    CHECK_MSG(r.size == 178, "%zu bytes", r.size);
    CHECK(r.size == 178 && memcmp(r.bytes + 0x0c, functions, sizeof functions - 1) == 0);
    CHECK(r.size == 178 && memcmp(r.bytes + 0x1e, "\x84\x08\x08\xcb\xcb\xcb\xcb\xcb\xcb\xcb\0\xcb", 12) == 0);
    CHECK(r.size == 178
          && memcmp(r.bytes + 0x30, "\x83\x31\x08\xcb\xcb\xcb\xcb\xcb\x01\xcb\xcb\xcb\0\0\0\0\x03", 17) == 0);
    CHECK(r.size == 178 && memcmp(r.bytes + 0x94, "\x00\x03\x04\x07\x11\x05\x01\x0d\x01\x00\x10\x01\x07\x00", 14) == 0);
    CHECK(r.size == 178 && memcmp(r.bytes + 0xa2, strings, sizeof strings - 1) == 0);
    free(r.bytes);
}

int main(void)
{
    test_words();
    test_tables();
    test_errors();
    test_whole_file();
    return TEST_END("mkbc");
}

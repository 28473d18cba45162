/* Assembler of annotated bytes; the language is described in mkbc.h.

   Two passes over the same text: the first finds the index of every named item, the second writes the bytes with them.
   Memory comes from malloc, and running out of it ends the program: this is a test tool. */
#include "tests/common/mkbc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32, MAX_NAMES = 256, MAX_FILL = 1 << 24, PAD = 0xcb };

typedef struct buffer {
    unsigned char *ptr;
    size_t len, size;
} buffer;

typedef struct word {
    const char *ptr;
    size_t len;
} word;

typedef struct name {
    word word;
    uint64_t index;
} name;

typedef struct mkbc {
    const char *next, *end;
    unsigned line, depth;
    bool failed, last_pass;
    buffer *out; /* of the innermost block; a section's payload starts one */
    name names[MAX_NAMES];
    size_t name_count;
    mkbc_result *result;
} mkbc;

/* ---- bytes ---- */

static void *need(void *memory)
{
    if (!memory) {
        fputs("mkbc: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static void put(buffer *b, const void *bytes, size_t count)
{
    if (b->size - b->len < count) {
        b->size = (b->len + count) * 2;
        b->ptr = need(realloc(b->ptr, b->size));
    }
    if (count)
        memcpy(b->ptr + b->len, bytes, count);
    b->len += count;
}

static void put_byte(buffer *b, unsigned value)
{
    unsigned char byte = (unsigned char)value;
    put(b, &byte, 1);
}

static void put_fill(buffer *b, unsigned value, size_t count)
{
    while (count-- > 0)
        put_byte(b, value);
}

static void put_le(buffer *b, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        put_byte(b, (unsigned)(value >> (8 * i)) & 0xff);
}

static void put_varint(buffer *b, uint64_t value)
{
    while (value >= 0x80) {
        put_byte(b, (unsigned)(value & 0x7f) | 0x80);
        value >>= 7;
    }
    put_byte(b, (unsigned)value);
}

/* value in `width` bytes at least: 80 80 ... 00 after the shortest form. */
static void put_wide_varint(buffer *b, uint64_t value, unsigned width)
{
    for (; width > 1; width--) {
        put_byte(b, (unsigned)(value & 0x7f) | 0x80);
        value >>= 7;
    }
    put_varint(b, value);
}

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

/* Bytes to add so that position is a multiple of align; 0 when align is no power of two. */
static size_t padding(size_t position, uint64_t align)
{
    if (align == 0 || (align & (align - 1)) || align > MAX_FILL)
        return 0;
    return (size_t)(-(uint64_t)position & (align - 1));
}

/* ---- words ---- */

static void fail(mkbc *m, const char *format, ...)
{
    if (m->failed)
        return;
    m->failed = true;
    m->result->line = m->line;
    va_list args;
    va_start(args, format);
    vsnprintf(m->result->error, sizeof m->result->error, format, args);
    va_end(args);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(mkbc *m)
{
    while (m->next < m->end && (is_space(*m->next) || *m->next == '#')) {
        if (*m->next == '#') {
            while (m->next < m->end && *m->next != '\n')
                m->next++;
        } else {
            m->line += *m->next++ == '\n';
        }
    }
}

/* The next word without taking it; empty at the end. Brackets are words, a string is one word with its quotes. */
static word peek(mkbc *m)
{
    skip_space(m);
    const char *p = m->next;
    if (p == m->end)
        return (word){p, 0};
    if (strchr("{}[]", *p))
        return (word){p, 1};
    if (*p == '"') {
        for (p++; p < m->end && *p != '"' && *p != '\n'; p++)
            if (*p == '\\' && p + 1 < m->end)
                p++;
        if (p == m->end || *p != '"') {
            fail(m, "string without closing quote");
            return (word){m->next, 0};
        }
        return (word){m->next, (size_t)(p + 1 - m->next)};
    }
    while (p < m->end && !is_space(*p) && !strchr("{}[]\"#", *p))
        p++;
    return (word){m->next, (size_t)(p - m->next)};
}

static word take(mkbc *m)
{
    word w = peek(m);
    m->next = w.ptr + w.len;
    return w;
}

static bool is(word w, const char *literal)
{
    return w.len == strlen(literal) && memcmp(w.ptr, literal, w.len) == 0;
}

static bool accept(mkbc *m, const char *literal)
{
    if (m->failed || !is(peek(m), literal))
        return false;
    take(m);
    return true;
}

static void expect(mkbc *m, const char *literal)
{
    if (m->failed || accept(m, literal))
        return;
    word w = peek(m);
    fail(m, "expected '%s', found '%.*s'", literal, (int)(w.len < 40 ? w.len : 40), w.ptr);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_hex_byte(word w)
{
    return w.len >= 2 && hex_digit(w.ptr[0]) >= 0 && hex_digit(w.ptr[1]) >= 0;
}

/* A number of the word's whole text; false when it is none. */
static bool parse_number(word w, uint64_t *out_value)
{
    char text[32];
    if (w.len == 0 || w.len >= sizeof text)
        return false;
    memcpy(text, w.ptr, w.len);
    text[w.len] = 0;
    char *stop;
    bool negative = text[0] == '-';
    const char *digits = text + negative;
    if (*digits < '0' || *digits > '9')
        return false;
    uint64_t value = strtoull(digits, &stop, digits[0] == '0' && digits[1] == 'x' ? 16 : 10);
    *out_value = negative ? 0 - value : value;
    return *stop == 0;
}

/* Index of @name or @name+N. In the first pass names may still be unknown; then 0. */
static uint64_t reference(mkbc *m, word w)
{
    word id = {w.ptr + 1, w.len - 1};
    uint64_t add = 0;
    const char *plus = memchr(id.ptr, '+', id.len);
    if (plus) {
        word number = {plus + 1, (size_t)(id.ptr + id.len - plus - 1)};
        if (!parse_number(number, &add))
            fail(m, "expected a number after '+'");
        id.len = (size_t)(plus - id.ptr);
    }
    for (size_t i = 0; i < m->name_count; i++)
        if (m->names[i].word.len == id.len && memcmp(m->names[i].word.ptr, id.ptr, id.len) == 0)
            return m->names[i].index + add;
    if (m->last_pass)
        fail(m, "no item is named '%.*s'", (int)(id.len < 40 ? id.len : 40), id.ptr);
    return 0;
}

static uint64_t take_number(mkbc *m)
{
    word w = take(m);
    uint64_t value = 0;
    if (w.len > 1 && w.ptr[0] == '@')
        return reference(m, w);
    if (is(w, "min"))
        return (uint64_t)INT64_MIN;
    if (!parse_number(w, &value))
        fail(m, "expected a number, found '%.*s'", (int)(w.len < 40 ? w.len : 40), w.ptr);
    return value;
}

static unsigned take_pad(mkbc *m)
{
    word w = take(m);
    if (w.len != 2 || !is_hex_byte(w)) {
        fail(m, "expected a byte in hex after 'pad'");
        return 0;
    }
    return (unsigned)(hex_digit(w.ptr[0]) * 16 + hex_digit(w.ptr[1]));
}

/* ---- what a word writes ---- */

static void statements(mkbc *m, bool nested);

/* The block that follows, in a buffer of its own; the caller frees it. */
static buffer block(mkbc *m)
{
    buffer inner = {0};
    buffer *outer = m->out;
    expect(m, "{");
    if (++m->depth > MAX_DEPTH)
        fail(m, "more than %d blocks inside each other", (int)MAX_DEPTH);
    m->out = &inner;
    if (!m->failed)
        statements(m, true);
    m->depth--;
    m->out = outer;
    return inner;
}

static void put_block(mkbc *m, buffer inner)
{
    put(m->out, inner.ptr, inner.len);
    free(inner.ptr);
}

static void put_string(mkbc *m, word w)
{
    const char *p = w.ptr + 1, *end = w.ptr + w.len - 1;
    while (p < end) {
        if (*p != '\\') {
            put_byte(m->out, (unsigned char)*p++);
            continue;
        }
        char c = p[1];
        p += 2;
        if (c == 'x' && end - p >= 2 && hex_digit(p[0]) >= 0 && hex_digit(p[1]) >= 0) {
            put_byte(m->out, (unsigned)(hex_digit(p[0]) * 16 + hex_digit(p[1])));
            p += 2;
        } else if (c == 'n' || c == 't' || c == '0') {
            put_byte(m->out, c == 'n' ? '\n' : c == 't' ? '\t' : 0);
        } else if (c == '"' || c == '\\') {
            put_byte(m->out, (unsigned char)c);
        } else {
            fail(m, "unknown escape '\\%c'", c);
            return;
        }
    }
}

static void put_hex(mkbc *m, word w)
{
    unsigned byte = (unsigned)(hex_digit(w.ptr[0]) * 16 + hex_digit(w.ptr[1]));
    uint64_t times = 1;
    if (w.len > 2 && (w.ptr[2] != '*' || !parse_number((word){w.ptr + 3, w.len - 3}, &times) || times > MAX_FILL))
        fail(m, "expected two hex digits or HH*COUNT, found '%.*s'", (int)(w.len < 40 ? w.len : 40), w.ptr);
    else
        put_fill(m->out, byte, (size_t)times);
}

static void put_array(mkbc *m, unsigned bytes)
{
    buffer elements = {0};
    uint64_t count = 0;
    expect(m, "[");
    while (!m->failed && !accept(m, "]")) {
        put_le(&elements, take_number(m), bytes);
        count++;
    }
    put_varint(m->out, count);
    put_block(m, elements);
}

static void put_header(mkbc *m)
{
    word version = take(m);
    uint64_t major, minor = 0, tag = 0;
    const char *dot = memchr(version.ptr, '.', version.len);
    if (!dot || !parse_number((word){version.ptr, (size_t)(dot - version.ptr)}, &major)
        || !parse_number((word){dot + 1, (size_t)(version.ptr + version.len - dot - 1)}, &minor)) {
        fail(m, "expected a version such as 13.1 after 'header'");
        return;
    }
    if (accept(m, "tag"))
        tag = take_number(m);
    put(m->out, "\x7fTileIR", 8);
    put_le(m->out, major, 1);
    put_le(m->out, minor, 1);
    put_le(m->out, tag, 2);
}

/* Sections by name, with the alignment their readers ask for; 0: none. */
static const struct {
    const char *name;
    unsigned id, align;
} section_names[] = {{"string", 1, 4}, {"func", 2, 8},   {"debug", 3, 8},   {"constant", 4, 8},
                     {"type", 5, 4},   {"global", 6, 0}, {"producer", 7, 0}};

static void put_section(mkbc *m)
{
    uint64_t id = 0, align = 0, length = 0;
    unsigned pad = PAD;
    bool aligned = false, has_length = false, named = false;
    word w = peek(m);
    for (size_t i = 0; i < sizeof section_names / sizeof section_names[0]; i++) {
        if (is(w, section_names[i].name)) {
            take(m);
            id = section_names[i].id;
            align = section_names[i].align;
            aligned = align != 0;
            named = true;
        }
    }
    if (!named)
        id = take_number(m);
    while (!m->failed && !is(peek(m), "{")) {
        if (accept(m, "align")) {
            align = take_number(m);
            aligned = true;
        } else if (accept(m, "unaligned")) {
            aligned = false;
        } else if (accept(m, "length")) {
            length = take_number(m);
            has_length = true;
        } else {
            expect(m, "pad");
            pad = take_pad(m);
        }
    }
    if (m->depth)
        fail(m, "a section inside a block");
    buffer inner = block(m);
    put_byte(m->out, (unsigned)(id & 0x7f) | (aligned ? 0x80 : 0));
    put_varint(m->out, has_length ? length : inner.len);
    if (aligned) {
        put_varint(m->out, align);
        put_fill(m->out, pad, padding(m->out->len, align));
    }
    put_block(m, inner);
}

static void define(mkbc *m, word id, uint64_t index)
{
    for (size_t i = 0; i < m->name_count; i++)
        if (m->names[i].word.len == id.len && memcmp(m->names[i].word.ptr, id.ptr, id.len) == 0)
            fail(m, "a second item named '%.*s'", (int)(id.len < 40 ? id.len : 40), id.ptr);
    if (m->name_count == MAX_NAMES)
        fail(m, "more than %d named items", (int)MAX_NAMES);
    if (!m->failed)
        m->names[m->name_count++] = (name){id, index};
}

/* One item into data; gives the offset to write for it. */
static uint64_t put_item(mkbc *m, uint64_t index, buffer *data)
{
    uint64_t offset = data->len;
    expect(m, "item");
    word w = peek(m);
    if (!m->failed && !is(w, "{") && !is(w, "at")) {
        take(m);
        if (!m->last_pass)
            define(m, w, index);
    }
    if (accept(m, "at"))
        offset = take_number(m);
    buffer *outer = m->out;
    m->out = data;
    put_block(m, block(m));
    m->out = outer;
    return offset;
}

static void put_table(mkbc *m)
{
    uint64_t width = take_number(m), count = 0, written_count = 0;
    bool has_count = false;
    unsigned pad = PAD;
    if (width != 4 && width != 8)
        fail(m, "a table has offsets of 4 or 8 bytes");
    while (!m->failed && !is(peek(m), "{")) {
        if (accept(m, "count")) {
            written_count = take_number(m);
            has_count = true;
        } else {
            expect(m, "pad");
            pad = take_pad(m);
        }
    }
    expect(m, "{");
    buffer offsets = {0}, data = {0};
    while (!m->failed && !accept(m, "}")) {
        put_le(&offsets, put_item(m, count, &data), (unsigned)width);
        count++;
    }
    put_varint(m->out, has_count ? written_count : count);
    if (count)
        put_fill(m->out, pad, padding(m->out->len, width));
    put_block(m, offsets);
    put_block(m, data);
}

static void put_len(mkbc *m)
{
    bool has_count = !is(peek(m), "{");
    uint64_t count = has_count ? take_number(m) : 0;
    buffer inner = block(m);
    put_varint(m->out, has_count ? count : inner.len);
    put_block(m, inner);
}

static void put_align(mkbc *m)
{
    uint64_t align = take_number(m);
    unsigned pad = accept(m, "pad") ? take_pad(m) : PAD;
    put_fill(m->out, pad, padding(m->out->len, align));
}

/* True when w is the word of a number of fixed size; writes it. */
static bool put_fixed(mkbc *m, word w)
{
    static const struct {
        const char *word;
        unsigned bytes;
    } sizes[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}, {"u64", 8}, {"i32", 4}, {"i64", 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (is(w, sizes[i].word)) {
            put_le(m->out, take_number(m), sizes[i].bytes);
            return true;
        }
    }
    return false;
}

static void statement(mkbc *m)
{
    word w = take(m);
    if (m->failed)
        return;
    if (w.ptr[0] == '"')
        put_string(m, w);
    else if (w.ptr[0] == '@' && w.len > 1)
        put_varint(m->out, reference(m, w));
    else if (is(w, "varint")) {
        uint64_t value = take_number(m);
        uint64_t width = accept(m, "in") ? take_number(m) : 1;
        put_wide_varint(m->out, value, width < 64 ? (unsigned)width : 64);
    } else if (is(w, "svarint"))
        put_varint(m->out, zigzag((int64_t)take_number(m)));
    else if (put_fixed(m, w))
        return;
    else if (is(w, "i32s"))
        put_array(m, 4);
    else if (is(w, "i64s"))
        put_array(m, 8);
    else if (is(w, "bools"))
        put_array(m, 1);
    else if (is(w, "header"))
        put_header(m);
    else if (is(w, "section"))
        put_section(m);
    else if (is(w, "table"))
        put_table(m);
    else if (is(w, "len"))
        put_len(m);
    else if (is(w, "align"))
        put_align(m);
    else if (is(w, "end"))
        put_byte(m->out, 0);
    else if (is_hex_byte(w))
        put_hex(m, w);
    else
        fail(m, "unknown word '%.*s'", (int)(w.len < 40 ? w.len : 40), w.ptr);
}

/* Statements up to the end of the text, or of the block when nested. */
static void statements(mkbc *m, bool nested)
{
    while (!m->failed) {
        word w = peek(m);
        if (w.len == 0) {
            if (nested)
                fail(m, "block without closing '}'");
            return;
        }
        if (nested && accept(m, "}"))
            return;
        statement(m);
    }
}

bool mkbc_assemble(const char *text, size_t size, mkbc_result *out_result)
{
    *out_result = (mkbc_result){0};
    mkbc *m = need(calloc(1, sizeof *m));
    m->result = out_result;
    buffer out = {0};
    for (int pass = 0; pass < 2 && !m->failed; pass++) {
        m->next = text;
        m->end = text + size;
        m->line = 1;
        m->last_pass = pass == 1;
        m->out = &out;
        out.len = 0;
        statements(m, false);
    }
    bool ok = !m->failed;
    free(m);
    if (!ok) {
        free(out.ptr);
        return false;
    }
    out_result->bytes = need(out.ptr ? out.ptr : malloc(1));
    out_result->size = out.len;
    return true;
}

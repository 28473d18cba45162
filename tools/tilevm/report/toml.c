/* Reads the subset of TOML that toml.h describes. A NUL in a string is rejected, because strings end with one here. */
#include "tools/tilevm/report/toml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/base/compiler.h"

static toml_event fail(toml_reader *r, const char *format, ...) TV_PRINTF(2, 3);

static toml_event fail(toml_reader *r, const char *format, ...)
{
    va_list args;
    int n = snprintf(r->error, sizeof r->error, "line %u: ", r->line);
    va_start(args, format);
    vsnprintf(r->error + n, sizeof r->error - (size_t)n, format, args);
    va_end(args);
    return TOML_ERROR;
}

void toml_open(toml_reader *r, const char *text, size_t size)
{
    memset(r, 0, sizeof *r);
    r->text = text;
    r->size = size;
    r->line = 1;
}

/* ---- characters ---- */

static int peek(const toml_reader *r)
{
    return r->at < r->size ? (unsigned char)r->text[r->at] : -1;
}

static bool take(toml_reader *r, char c)
{
    bool there = peek(r) == (unsigned char)c;
    r->at += there;
    return there;
}

static bool at_line_end(const toml_reader *r)
{
    int c = peek(r);
    return c == -1 || c == '\n' || (c == '\r' && r->at + 1 < r->size && r->text[r->at + 1] == '\n');
}

static void skip_blanks(toml_reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t')
        r->at++;
}

/* The length of the UTF-8 sequence at the current position. 0: it is invalid, or a control character other than a
   tab. */
static size_t character(const toml_reader *r)
{
    const unsigned char *p = (const unsigned char *)r->text + r->at;
    size_t left = r->size - r->at;
    if (left == 0 || (p[0] < 0x20 && p[0] != '\t') || p[0] == 0x7f)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool too_long = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] >= 0xa0, too_large = p[0] == 0xf4 && p[1] >= 0x90;
    return too_long || surrogate || too_large ? 0 : n;
}

/* Reads the rest of a line after a header or a value. False: something invalid follows, and r->error says so. */
static bool finish_line(toml_reader *r)
{
    skip_blanks(r);
    if (take(r, '#'))
        while (!at_line_end(r)) {
            size_t n = character(r);
            if (n == 0) {
                fail(r, "a character that no comment may have");
                return false;
            }
            r->at += n;
        }
    if (!at_line_end(r)) {
        fail(r, "there is more on the line than one thing");
        return false;
    }
    take(r, '\r');
    r->line += take(r, '\n');
    return true;
}

/* ---- strings ---- */

static bool put(toml_reader *r, const char *bytes, size_t n, char *out, size_t most, size_t *length)
{
    if (n > most - *length) {
        fail(r, "a text of more than %zu bytes", most);
        return false;
    }
    memcpy(out + *length, bytes, n);
    *length += n;
    return true;
}

static int hex_digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Encodes a code point as UTF-8 and returns its length. */
static size_t encode(uint32_t c, char out[4])
{
    if (c < 0x80)
        return out[0] = (char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

/* Reads the digits after \u or \U. 0: they are not a character, or are NUL. */
static uint32_t read_point(toml_reader *r, unsigned digits)
{
    uint32_t c = 0;
    for (unsigned i = 0; i < digits; i++, r->at++) {
        int digit = hex_digit(peek(r));
        if (digit < 0)
            return 0;
        c = c << 4 | (uint32_t)digit;
    }
    return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : c;
}

/* Reads an escape after the backslash and returns its length in bytes. 0: there is no such escape. */
static size_t read_escape(toml_reader *r, char out[4])
{
    static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
    int c = peek(r);
    const char *name = c > 0 ? strchr(names, c) : NULL;
    r->at += c >= 0;
    if (name)
        return out[0] = values[name - names], 1;
    uint32_t point = c == 'u' ? read_point(r, 4) : c == 'U' ? read_point(r, 8) : 0;
    return point ? encode(point, out) : 0;
}

/* Reads the string that begins here. False: r->error says why it is invalid. */
static bool read_string(toml_reader *r, char *out, size_t most, size_t *length)
{
    char quote = r->text[r->at++];
    *length = 0;
    while (!take(r, quote)) {
        char escaped[4];
        const char *bytes = r->text + r->at;
        size_t n = at_line_end(r) ? 0 : character(r);
        if (n == 0) {
            fail(r, at_line_end(r) ? "a text without its end" : "a character that no text may have");
            return false;
        }
        r->at += n;
        if (*bytes == '\\' && quote == '"') {
            n = read_escape(r, escaped);
            bytes = escaped;
        }
        if (n == 0) {
            fail(r, "no such character behind a backslash");
            return false;
        }
        if (!put(r, bytes, n, out, most, length))
            return false;
    }
    out[*length] = 0;
    return true;
}

/* ---- keys ---- */

static bool is_bare(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool read_key(toml_reader *r)
{
    size_t length = 0;
    skip_blanks(r);
    if (peek(r) == '"' || peek(r) == '\'') {
        if (!read_string(r, r->key, TOML_MOST_KEY, &length))
            return false;
    } else {
        for (; is_bare(peek(r)); r->at++)
            if (!put(r, r->text + r->at, 1, r->key, TOML_MOST_KEY, &length))
                return false;
        if (length == 0) {
            fail(r, "a name is missing");
            return false;
        }
    }
    r->key[length] = 0;
    skip_blanks(r);
    if (peek(r) == '.') {
        fail(r, "'%s' has a dot behind it: names of several parts are not known here", r->key);
        return false;
    }
    return true;
}

static toml_name *find(toml_name *names, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].text, text) == 0)
            return &names[i];
    return NULL;
}

static bool add_name(toml_reader *r, toml_name *names, size_t *count, size_t most, bool is_array)
{
    if (*count == most) {
        fail(r, "more than %zu names", most);
        return false;
    }
    memcpy(names[*count].text, r->key, sizeof r->key);
    names[(*count)++].is_array = is_array;
    return true;
}

/* ---- lines ---- */

static toml_event read_header(toml_reader *r)
{
    bool is_array = take(r, '[');
    if (!read_key(r))
        return TOML_ERROR;
    if (!take(r, ']') || (is_array && !take(r, ']')))
        return fail(r, "'%s' is not followed by %s", r->key, is_array ? "']]'" : "']'");
    if (!finish_line(r))
        return TOML_ERROR;
    toml_name *known = find(r->tables, r->table_count, r->key);
    if (known && !(is_array && known->is_array))
        return fail(r, "'%s' is there already", r->key);
    if (!known && !add_name(r, r->tables, &r->table_count, TOML_MOST_TABLES, is_array))
        return TOML_ERROR;
    r->key_count = 0;
    r->in_table = true;
    return is_array ? TOML_ITEM : TOML_TABLE;
}

/* Reads the digits after the sign. A leading 0 must be the only digit. */
static toml_event read_integer(toml_reader *r, bool negative)
{
    size_t first = r->at;
    uint64_t x = 0, limit = (uint64_t)INT64_MAX + negative;
    for (; peek(r) >= '0' && peek(r) <= '9'; r->at++) {
        unsigned digit = (unsigned)(peek(r) - '0');
        if (x > (limit - digit) / 10)
            return fail(r, "a number of more than 64 bits");
        x = x * 10 + digit;
    }
    if (r->at == first)
        return fail(r, "a value is missing, or of a kind that is not known here: texts, integers, true, false are");
    if (r->text[first] == '0' && r->at > first + 1)
        return fail(r, "a number that begins with 0");
    r->integer = (int64_t)(negative ? 0 - x : x);
    return TOML_INTEGER;
}

static bool take_word(toml_reader *r, const char *word)
{
    size_t n = strlen(word);
    bool there = r->size - r->at >= n && memcmp(r->text + r->at, word, n) == 0;
    r->at += there ? n : 0;
    return there;
}

static toml_event read_value(toml_reader *r)
{
    int c = peek(r);
    r->integer = 0;
    if (c == '"' || c == '\'') {
        if (r->size - r->at >= 3 && r->text[r->at + 1] == c && r->text[r->at + 2] == c)
            return fail(r, "texts over several lines are not known here");
        return read_string(r, r->string, TOML_MOST_STRING, &r->length) ? TOML_STRING : TOML_ERROR;
    }
    if (take_word(r, "true"))
        return r->integer = 1, TOML_BOOLEAN;
    if (take_word(r, "false"))
        return TOML_BOOLEAN;
    bool negative = take(r, '-');
    if (!negative)
        take(r, '+');
    return read_integer(r, negative);
}

static toml_event read_entry(toml_reader *r)
{
    if (!read_key(r))
        return TOML_ERROR;
    if (!take(r, '='))
        return fail(r, "'%s' is not followed by '='", r->key);
    if (find(r->keys, r->key_count, r->key))
        return fail(r, "'%s' is there already", r->key);
    if (!add_name(r, r->keys, &r->key_count, TOML_MOST_KEYS, false)
        || (!r->in_table && !add_name(r, r->tables, &r->table_count, TOML_MOST_TABLES, false)))
        return TOML_ERROR;
    skip_blanks(r);
    toml_event event = read_value(r);
    return event == TOML_ERROR || finish_line(r) ? event : TOML_ERROR;
}

toml_event toml_next(toml_reader *r)
{
    if (r->error[0])
        return TOML_ERROR;
    for (;;) {
        skip_blanks(r);
        if (r->at == r->size)
            return TOML_END;
        if (take(r, '['))
            return read_header(r);
        if (!at_line_end(r) && peek(r) != '#')
            return read_entry(r);
        if (!finish_line(r))
            return TOML_ERROR;
    }
}

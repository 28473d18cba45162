/* Growing byte string. Appending never fails loudly: check failed once at the end. */
#include "bytecode/base/text.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/base/arena.h"

void bc_text_init(bc_text *text, const tv_allocator *allocator)
{
    *text = (bc_text){.allocator = allocator ? *allocator : bc_default_allocator()};
}

void bc_text_release(bc_text *text)
{
    if (text->ptr)
        text->allocator.release(text->allocator.user, text->ptr, text->size);
    text->ptr = NULL;
    text->len = text->size = 0;
}

void bc_text_clear(bc_text *text)
{
    text->len = 0;
    if (text->ptr)
        text->ptr[0] = 0;
}

static bool grow(bc_text *text, size_t count)
{
    if (text->failed)
        return false;
    size_t size = text->size ? text->size : 128;
    while (size - text->len <= count) {
        if (size > SIZE_MAX / 2) {
            text->failed = true;
            return false;
        }
        size *= 2;
    }
    char *larger = text->allocator.alloc(text->allocator.user, size);
    if (!larger) {
        text->failed = true;
        return false;
    }
    if (text->ptr) {
        memcpy(larger, text->ptr, text->len);
        text->allocator.release(text->allocator.user, text->ptr, text->size);
    }
    text->ptr = larger;
    text->size = size;
    return true;
}

/* Room for count more bytes and the final zero. */
static inline bool reserve(bc_text *text, size_t count)
{
    return count < text->size - text->len && !text->failed ? true : grow(text, count);
}

void bc_text_bytes(bc_text *text, const void *bytes, size_t count)
{
    if (!count || !reserve(text, count))
        return;
    memcpy(text->ptr + text->len, bytes, count);
    text->len += count;
    text->ptr[text->len] = 0;
}

bool bc_text_append(void *text, const void *bytes, size_t count)
{
    bc_text_bytes(text, bytes, count);
    return !((bc_text *)text)->failed;
}

void bc_text_char(bc_text *text, char c)
{
    if (!reserve(text, 1))
        return;
    text->ptr[text->len++] = c;
    text->ptr[text->len] = 0;
}

void bc_text_puts(bc_text *text, const char *s)
{
    bc_text_bytes(text, s, strlen(s));
}

void bc_text_str(bc_text *text, tv_str s)
{
    bc_text_bytes(text, s.ptr, s.len);
}

void bc_text_number(bc_text *text, uint64_t x, unsigned base)
{
    enum { MOST = 64 };
    if (!reserve(text, MOST))
        return;
    char *at = text->ptr + text->len, *end = at + MOST, *first = end;
    if (base == 10) /* a division by a constant takes a fraction of the time */
        do
            *--first = (char)('0' + x % 10);
        while (x /= 10);
    else
        do
            *--first = "0123456789abcdef"[x % base];
        while (x /= base);
    memmove(at, first, (size_t)(end - first));
    text->len += (size_t)(end - first);
    text->ptr[text->len] = 0;
}

void bc_text_signed(bc_text *text, int64_t x)
{
    if (x < 0)
        bc_text_char(text, '-');
    bc_text_number(text, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 10);
}

void bc_text_vprintf(bc_text *text, const char *format, va_list args)
{
    enum { LIKELY = 80 }; /* bytes: most texts are written at once */
    va_list again;
    va_copy(again, args);
    size_t room = reserve(text, LIKELY) ? text->size - text->len : 0;
    int count = vsnprintf(room ? text->ptr + text->len : NULL, room, format, args);
    if (count >= 0 && (size_t)count < room) {
        text->len += (size_t)count;
        count = 0;
    } else if (room) {
        text->ptr[text->len] = 0;
    }
    if (count > 0 && reserve(text, (size_t)count)) {
        vsnprintf(text->ptr + text->len, (size_t)count + 1, format, again);
        text->len += (size_t)count;
    }
    va_end(again);
}

void bc_text_printf(bc_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bc_text_vprintf(text, format, args);
    va_end(args);
}

tv_str bc_text_get(const bc_text *text)
{
    return (tv_str){text->ptr ? text->ptr : "", text->len};
}

const char *bc_text_words(const bc_text *text)
{
    return text->failed ? "out of memory" : text->ptr ? text->ptr : "";
}

bool bc_str_eq(tv_str a, tv_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

tv_str bc_str(const char *terminated)
{
    return (tv_str){terminated, strlen(terminated)};
}

bool bc_str_is(tv_str s, const char *literal)
{
    return bc_str_eq(s, bc_str(literal));
}

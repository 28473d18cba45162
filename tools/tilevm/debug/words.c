/* Words and numbers of command lines, and errors. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/tilevm/debug/debug.h"

bool debug_fail(vm_debug_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

/* ---- words ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

tv_str debug_trim(tv_str s)
{
    while (s.len && is_blank(s.ptr[0]))
        s = (tv_str){s.ptr + 1, s.len - 1};
    while (s.len && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

tv_str debug_word(tv_str *s)
{
    size_t n = 0;
    *s = debug_trim(*s);
    while (n < s->len && !is_blank(s->ptr[n]))
        n++;
    tv_str word = {s->ptr, n};
    *s = debug_trim((tv_str){s->ptr + n, s->len - n});
    return word;
}

bool debug_number(tv_str text, uint64_t min, uint64_t missing, uint64_t *out, vm_debug_error *error)
{
    uint64_t n = 0;
    *out = missing;
    if (!text.len)
        return true;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || n > UINT64_MAX / 16)
            return debug_fail(error, "'%.*s' is not a number", text.len < 60 ? (int)text.len : 60, text.ptr);
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *out = n;
    return n >= min
           || debug_fail(error, "%llu is too small; %llu is the least", (unsigned long long)n, (unsigned long long)min);
}

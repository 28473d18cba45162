#include "bytecode/conversion.h"

#include <string.h>

static bool is_one_of(const char *letters, char c)
{
    return c && strchr(letters, c);
}

/* Length of the conversion that starts with % at the start of s: to its first letter from the list, or a zero. 0: it
   has no end. "%5%" is one without the last %, which starts another. */
static size_t length_of(tv_str s)
{
    for (size_t i = 1; i < s.len; i++)
        if (!s.ptr[i] || is_one_of("diuoxXeEfFgGaAcsSpn%", s.ptr[i]))
            return s.ptr[i] == '%' && i > 1 ? i : i + 1;
    return 0;
}

static bc_print_as as_of(char c)
{
    return is_one_of("di", c)         ? BC_PRINT_SIGNED
           : is_one_of("uoxX", c)     ? BC_PRINT_UNSIGNED
           : is_one_of("eEfFgGaA", c) ? BC_PRINT_FLOAT
           : c == 'c'                 ? BC_PRINT_CHAR
           : c == 'p'                 ? BC_PRINT_POINTER
                                      : BC_PRINT_TEXT;
}

/* Flags, width, precision, then lengths, of which device printf knows h and l. */
static void classify(bc_conversion *k)
{
    tv_str s = k->text;
    size_t i = 1;
    k->as = as_of(s.ptr[s.len - 1]);
    while (i + 1 < s.len && is_one_of(" #+-0123456789.", s.ptr[i]))
        i++;
    for (; i + 1 < s.len; i++) {
        k->wide = k->wide || s.ptr[i] == 'l';
        if (s.ptr[i] != 'l' && s.ptr[i] != 'h')
            k->as = BC_PRINT_TEXT;
    }
}

bool bc_next_conversion(tv_str format, size_t *at, bc_conversion *out)
{
    size_t start = *at, i = start;
    while (i < format.len && format.ptr[i] != '%')
        i++;
    *out = (bc_conversion){.literal = {format.ptr + start, i - start}};
    *at = i;
    if (i == format.len)
        return false;
    tv_str rest = {format.ptr + i, format.len - i};
    size_t len = length_of(rest);
    out->unfinished = len == 0;
    out->text = (tv_str){rest.ptr, len ? len : rest.len};
    *at = i + out->text.len;
    if (out->text.len == 2 && out->text.ptr[1] == '%')
        out->as = BC_PRINT_PERCENT;
    else
        classify(out);
    return true;
}

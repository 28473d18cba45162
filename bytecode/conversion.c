#include "bytecode/conversion.h"

#include <string.h>

static const char ends[] = "diuoxXeEfFgGaAcCsSpn%";

static bool is_one_of(const char *letters, char c)
{
    return c && strchr(letters, c);
}

/* Length of the conversion that starts with % at the start of s; the verifier has seen that it ends. */
static size_t length_of(tv_str s)
{
    for (size_t i = 1; i < s.len; i++)
        if (is_one_of(ends, s.ptr[i]))
            return i + 1;
    return s.len;
}

static bc_print_as as_of(char c)
{
    return is_one_of("di", c) ? BC_PRINT_SIGNED : is_one_of("uoxX", c) ? BC_PRINT_UNSIGNED
         : is_one_of("eEfFgGaA", c) ? BC_PRINT_FLOAT : is_one_of("cC", c) ? BC_PRINT_CHAR
         : c == 'p' ? BC_PRINT_POINTER : BC_PRINT_TEXT;
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
    out->text = (tv_str){format.ptr + i, length_of((tv_str){format.ptr + i, format.len - i})};
    *at = i + out->text.len;
    if (out->text.len == 2 && out->text.ptr[1] == '%')
        out->as = BC_PRINT_PERCENT;
    else
        classify(out);
    return true;
}

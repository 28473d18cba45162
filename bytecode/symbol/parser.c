/* Characters and numbers of mangled symbols. */
#include "bytecode/symbol/parser.h"

#include <stdarg.h>
#include <stdio.h>

#include "bytecode/dtype.h"

bool bc_symbol_fail(bc_symbol_parser *p, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->error->offset = offset;
    vsnprintf(p->error->message, sizeof p->error->message, format, args);
    va_end(args);
    return false;
}

int bc_symbol_hex_value(char c)
{
    return bc_symbol_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- numbers ---- */

bool bc_symbol_int(bc_symbol_parser *p, int64_t *out, bool *out_exact)
{
    bool negative = bc_symbol_take(p, '_');
    if (!bc_symbol_digit(bc_symbol_peek(p)))
        return bc_symbol_fail(p, p->at, "a decimal number is missing");
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;
    bool exact = true;
    for (; bc_symbol_digit(bc_symbol_peek(p)); p->at++) {
        unsigned digit = (unsigned)(bc_symbol_peek(p) - '0');
        if (value > (limit - digit) / 10) {
            exact = false;
            value = limit;
        } else if (exact) {
            value = value * 10 + digit;
        }
    }
    *out = !negative ? (int64_t)value : value > INT64_MAX ? INT64_MIN : -(int64_t)value;
    *out_exact = exact;
    return true;
}

bool bc_symbol_int64(bc_symbol_parser *p, int64_t *out)
{
    size_t start = p->at;
    bool exact;
    if (!bc_symbol_int(p, out, &exact))
        return false;
    return exact || bc_symbol_fail(p, start, "the number does not fit 64 bits");
}

bool bc_symbol_divisor(bc_symbol_parser *p, int64_t *out)
{
    size_t start = p->at;
    if (!bc_symbol_int64(p, out))
        return false;
    return *out > 1 || bc_symbol_fail(p, start, "a divisor must be larger than 1");
}

bool bc_symbol_count(bc_symbol_parser *p, const char *what, uint64_t limit, uint32_t *out)
{
    size_t start = p->at;
    if (!bc_symbol_digit(bc_symbol_peek(p)))
        return bc_symbol_fail(p, start, "the %s is missing", what);
    uint64_t value = 0;
    for (; bc_symbol_digit(bc_symbol_peek(p)); p->at++) {
        value = value * 10 + (uint64_t)(bc_symbol_peek(p) - '0');
        if (value > limit)
            return bc_symbol_fail(p, start, "the %s is larger than %llu", what, (unsigned long long)limit);
    }
    *out = (uint32_t)value;
    return true;
}

bool bc_symbol_hex(bc_symbol_parser *p, unsigned count, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++, p->at++) {
        int digit = bc_symbol_hex_value(bc_symbol_peek(p));
        if (digit < 0)
            return bc_symbol_fail(p, p->at, "%u hexadecimal digits are missing", count - i);
        value = value << 4 | (uint64_t)digit;
    }
    *out = value;
    return true;
}

bool bc_symbol_dtype(bc_symbol_parser *p, tv_dtype *out)
{
    size_t start = p->at;
    while (bc_symbol_digit(bc_symbol_peek(p)) || bc_symbol_lower(bc_symbol_peek(p)))
        p->at++;
    tv_str code = {p->s.ptr + start, p->at - start};
    if (bc_dtype_from_code(code, out))
        return true;
    return bc_symbol_fail(p, start, "'%.*s' is not an element type", code.len < 24 ? (int)code.len : 24, code.ptr);
}

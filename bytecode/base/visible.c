/* The one place where untrusted text is made fit to be shown. */
#include "bytecode/base/visible.h"

#include <string.h>

/* Bytes of the UTF-8 character at p, 0 when there is none. Surrogates and overlong forms are none. */
static size_t character_len(const unsigned char *p, size_t left)
{
    unsigned char c = p[0];
    size_t len = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] >= 0xa0) || (c == 0xf0 && p[1] < 0x90)
        || (c == 0xf4 && p[1] >= 0x90))
        return 0;
    return len;
}

static bool is_control(const unsigned char *p)
{
    return p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0); /* p[1]: there are two bytes then */
}

size_t bc_visible_character(tv_str s, const char *keep, bc_visible *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t len = character_len(p, s.len);
    bool shown = len && (!is_control(p) || (p[0] && strchr(keep, p[0])));
    len = len ? len : 1;
    out->len = 0;
    for (size_t k = 0; k < len; k++)
        if (shown) {
            out->bytes[out->len++] = s.ptr[k];
        } else {
            memcpy(out->bytes + out->len, (char[]){'\\', 'x', digits[p[k] >> 4], digits[p[k] & 15]}, 4);
            out->len += 4;
        }
    return len;
}

void bc_text_visible(bc_text *text, tv_str s, const char *keep)
{
    bc_visible shown;
    for (size_t i = 0; i < s.len;) {
        i += bc_visible_character((tv_str){s.ptr + i, s.len - i}, keep, &shown);
        bc_text_bytes(text, shown.bytes, shown.len);
    }
}

void bc_text_utf8(bc_text *text, tv_str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    for (size_t i = 0, len; i < s.len; i += len ? len : 1) {
        len = character_len(p + i, s.len - i);
        if (len && p[i])
            bc_text_bytes(text, p + i, len);
        else
            bc_text_puts(text, "\xef\xbf\xbd");
    }
}

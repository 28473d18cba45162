/* Text for people: nothing else writes text to a stream. */
#include <errno.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "tools/tilevm/cli/cli.h"

/* Bytes of the colour sequence at p, "\033[1;31m", or 0. */
static size_t color_len(const char *p, size_t left)
{
    if (left < 3 || p[0] != '\033' || p[1] != '[')
        return 0;
    size_t len = 2;
    while (len < left && strchr("0123456789;", p[len]) && p[len])
        len++;
    return len < left && p[len] == 'm' ? len + 1 : 0;
}

/* Bytes up to the next colour sequence. */
static size_t plain_len(tv_str text)
{
    size_t len = 0;
    while (len < text.len && !color_len(text.ptr + len, text.len - len))
        len++;
    return len;
}

void cli_out_fail(cli_out *out, int error)
{
    if (!out->failed)
        out->error = error;
    out->failed = true;
}

void cli_out_write(cli_out *out, const void *bytes, size_t size)
{
    if (!out->failed && size && fwrite(bytes, 1, size, out->file) != size)
        cli_out_fail(out, errno);
}

/* Takes no memory: what it says may be that there is none. */
static void show_plain(cli_out *out, tv_str text)
{
    char buffer[512];
    size_t used = 0;
    bc_visible shown;
    for (size_t i = 0; i < text.len;) {
        i += bc_visible_character((tv_str){text.ptr + i, text.len - i}, "\n\t", &shown);
        memcpy(buffer + used, shown.bytes, shown.len);
        used += shown.len;
        if (used > sizeof buffer - sizeof shown.bytes || i == text.len) {
            cli_out_write(out, buffer, used);
            used = 0;
        }
    }
}

void cli_out_show(cli_out *out, tv_str text, bool color)
{
    while (text.len) {
        size_t len = color ? plain_len(text) : text.len, mark = color_len(text.ptr + len, text.len - len);
        show_plain(out, (tv_str){text.ptr, len});
        cli_out_write(out, text.ptr + len, mark);
        text = (tv_str){text.ptr + len + mark, text.len - len - mark};
    }
}

bool cli_show(FILE *stream, tv_str text, bool color)
{
    cli_out out = {.file = stream};
    cli_out_show(&out, text, color);
    return !out.failed;
}

static bool show_bytes(void *user, const void *bytes, size_t size)
{
    return cli_show(user, (tv_str){bytes, size}, false);
}

tv_writer cli_showing_writer(FILE *stream)
{
    return (tv_writer){.user = stream, .write = show_bytes};
}

/* Text that shows as it is: printable ASCII, newlines and tabs. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

/* A short plain text needs no memory, so that it can be said that there is none. */
void cli_vprint(FILE *stream, const char *format, va_list args)
{
    char small[1000];
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(small, sizeof small, format, again);
    va_end(again);
    if (len >= 0 && (size_t)len < sizeof small && strlen(small) == (size_t)len && is_plain(small)) {
        fputs(small, stream);
        return;
    }
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_vprintf(&text, format, args);
    cli_show(stream, bc_text_get(&text), false);
    bc_text_release(&text);
}

void cli_print(FILE *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cli_vprint(stream, format, args);
    va_end(args);
}

/* Diagnostics as text. The first line of each stands alone for grep; what follows is indented. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytecode/base/visible.h"
#include "bytecode/base/demangle.h"
#include "tools/tilevm/cli/cli.h"

bool cli_use_color(cli_when when, FILE *stream)
{
    if (when != CLI_AUTO)
        return when == CLI_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *force = getenv("FORCE_COLOR"), *term = getenv("TERM");
    if (no_color && no_color[0])
        return false;
    if (force && force[0])
        return strcmp(force, "0") != 0;
    return isatty(fileno(stream)) && !(term && strcmp(term, "dumb") == 0);
}

static const char *const severity_names[] = {[TV_ERROR] = "error", [TV_WARNING] = "warning", [TV_NOTE] = "note"};
static const char *const severity_colors[] = {
    [TV_ERROR] = "\033[1;31m", [TV_WARNING] = "\033[1;35m", [TV_NOTE] = "\033[1;36m"};
#define BOLD "\033[1m"
#define GREEN "\033[1;32m"
#define PLAIN "\033[0m"

static void put_clean(bc_text *out, tv_str s)
{
    bc_text_visible(out, s, "");
}

/* Columns of the first len bytes of s as put_clean writes them. Takes no memory, which there may be too little of. */
static size_t columns(tv_str s, size_t len)
{
    size_t width = 0;
    bc_visible shown;
    s.len = len < s.len ? len : s.len;
    while (s.len) {
        size_t used = bc_visible_character(s, "", &shown);
        for (size_t i = 0; i < shown.len; i++)
            width += ((unsigned char)shown.bytes[i] & 0xc0) != 0x80; /* continuation bytes take no column */
        s = (tv_str){s.ptr + used, s.len - used};
    }
    return width;
}

static void put_repeated(bc_text *out, char c, size_t count)
{
    while (count-- > 0)
        bc_text_char(out, c);
}

enum { LONG_PREFIX = 48 }; /* columns of "in @kernel, op N:" after which the op gets a line of its own */

/* About assembly: the place is in the file itself. */
static bool in_assembly(const tv_diag *diag)
{
    return diag->line && diag->rule[0] == 'A';
}

/* "   in @matmul, op 17:  %17 = addf ..." and the caret line below it. lead: "in", or "and" for a second op. */
static void put_op(bc_text *out, const tv_diag *diag, const char *lead, bool color)
{
    size_t start = out->len;
    bool in_function = diag->function.len != 0;
    bc_text_printf(out, "   %s%s", in_function ? lead : "", in_function ? " @" : "");
    bc_text_function(out, diag->function);
    if (diag->op.len && !in_assembly(diag)) /* ops of a text are not counted */
        bc_text_printf(out, ", op %u", (unsigned)diag->op_index);
    if (diag->op_text.len) {
        tv_str prefix = {out->ptr ? out->ptr + start : "", out->ptr ? out->len - start : 0};
        bool wide = columns(prefix, prefix.len) > LONG_PREFIX;
        size_t indent = !in_function ? 3 : wide ? 6 : columns(prefix, prefix.len) + 3;
        bc_text_puts(out, !in_function ? "" : wide ? ":\n      " : ":  ");
        put_clean(out, diag->op_text);
        if (diag->caret_len) {
            size_t before = columns(diag->op_text, diag->caret);
            size_t through = columns(diag->op_text, (size_t)diag->caret + diag->caret_len);
            bc_text_char(out, '\n');
            put_repeated(out, ' ', indent + before);
            bc_text_puts(out, color ? GREEN : "");
            bc_text_char(out, '^');
            put_repeated(out, '~', through > before + 1 ? through - before - 1 : 0);
            bc_text_puts(out, color ? PLAIN : "");
        }
    } else if (diag->op.len) {
        bc_text_puts(out, " (");
        put_clean(out, diag->op);
        bc_text_char(out, ')');
    }
    bc_text_char(out, '\n');
}

static void put_source(bc_text *out, const tv_diag *diag)
{
    bc_text_puts(out, "   at ");
    put_clean(out, diag->file);
    bc_text_printf(out, diag->column ? ":%u:%u\n" : ":%u\n", (unsigned)diag->line, (unsigned)diag->column);
    if (!diag->inlined_line)
        return;
    bc_text_puts(out, "      inlined from ");
    put_clean(out, diag->inlined_file);
    bc_text_printf(out, ":%u:%u\n", (unsigned)diag->inlined_line, (unsigned)diag->inlined_column);
}

void cli_diag_text(bc_text *out, const char *path, const tv_diag *diag, bool color)
{
    const char *plain = color ? PLAIN : "";
    bc_text_puts(out, color ? BOLD : "");
    put_clean(out, bc_str(path));
    if (in_assembly(diag))
        bc_text_printf(out, ":%u:%u", (unsigned)diag->line, (unsigned)diag->column);
    else if (diag->offset != TV_NO_OFFSET)
        bc_text_printf(out, ":0x%04llx", (unsigned long long)diag->offset);
    bc_text_printf(out, ":%s %s%s[%s]%s: ", plain, color ? severity_colors[diag->severity] : "",
                   severity_names[diag->severity], diag->rule, plain);
    put_clean(out, diag->message);
    bc_text_char(out, '\n');
    if (diag->function.len || diag->op_text.len)
        put_op(out, diag, "in", color);
    if (diag->line && !in_assembly(diag))
        put_source(out, diag);
    if (diag->other) {
        put_op(out, diag->other, "and", color);
        if (diag->other->line)
            put_source(out, diag->other);
    }
    if (diag->help.len) {
        bc_text_printf(out, "   %shelp:%s ", color ? GREEN : "", plain);
        put_clean(out, diag->help);
        bc_text_char(out, '\n');
    }
}

static void print_now(void *user, const tv_diag *diag)
{
    cli_printer *printer = user;
    printer->errors += diag->severity == TV_ERROR;
    printer->warnings += diag->severity == TV_WARNING;
    bc_text text;
    bc_text_init(&text, NULL);
    cli_diag_text(&text, printer->path, diag, printer->color);
    if (text.failed)
        cli_print(stderr, "%s: %s[%s]: out of memory\n", printer->path, severity_names[diag->severity], diag->rule);
    else
        cli_show(stderr, bc_text_get(&text), printer->color);
    bc_text_release(&text);
}

tv_sink cli_printing_sink(cli_printer *printer, const char *path, cli_when color)
{
    *printer = (cli_printer){.path = cli_shown_path(path), .color = cli_use_color(color, stderr)};
    return (tv_sink){.user = printer, .report = print_now};
}

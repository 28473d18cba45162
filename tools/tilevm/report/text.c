/* Findings as text for people. */
#include "bytecode/base/visible.h"
#include "tools/tilevm/report/report.h"

static void put_stopped(bc_text *out, const report_file *file)
{
    bc_text_visible(out, bc_str(cli_shown_path(file->path)), "");
    bc_text_printf(out, ": stopped after %u error%s; --max-errors N shows more\n", file->errors,
                   file->errors == 1 ? "" : "s");
}

void report_text_file(const report_file *file, unsigned max_errors, bool color, cli_out *out)
{
    bc_text text;
    bc_text_init(&text, NULL);
    for (size_t i = 0; i < file->count; i++)
        if (!report_reason(file, i))
            cli_diag_text(&text, cli_shown_path(file->path), &file->diags[i], color);
    if (file->errors >= max_errors)
        put_stopped(&text, file);
    cli_out_text(out, &text, color);
}

static void put_count(bc_text *out, const char *separator, size_t count, const char *noun, const char *plural)
{
    if (count)
        bc_text_printf(out, "%s%zu %s%s", separator, count, noun, count == 1 ? "" : plural);
}

void report_text_summary(const report_totals *totals, bool color, cli_out *out)
{
    bool bad = totals->invalid || totals->unreadable;
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, !color ? "" : bad ? "\033[1;31m" : "\033[1;32m");
    size_t files = totals->files - totals->images;
    if (files || !totals->images)
        bc_text_printf(&text, "%zu file%s", files, files == 1 ? "" : "s");
    put_count(&text, files ? " and " : "", totals->images, "image", "s");
    put_count(&text, ", ", totals->valid, "valid", "");
    put_count(&text, ", ", totals->invalid, "invalid", "");
    put_count(&text, ", ", totals->unreadable, "unreadable", "");
    put_count(&text, "; ", totals->errors, "error", "s");
    put_count(&text, totals->errors ? ", " : "; ", totals->warnings, "warning", "s");
    bc_text_printf(&text, "%s\n", color ? "\033[0m" : "");
    cli_out_text(out, &text, color);
}

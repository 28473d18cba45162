/* The findings as JUnit XML: one test case a file, failed when the file is invalid, in error when it could not be read.
 */
#include <string.h>

#include "bytecode/base/visible.h"
#include "tools/tilevm/report.h"

/* Text for element content and attribute values. XML 1.0 has no way to write most control characters. */
static void put_xml(bc_text *out, tv_str s)
{
    bc_text clean;
    bc_text_init(&clean, NULL);
    bc_text_utf8(&clean, s);
    for (size_t i = 0; i < clean.len; i++) {
        char c = clean.ptr[i];
        switch (c) {
        case '&': bc_text_puts(out, "&amp;"); break;
        case '<': bc_text_puts(out, "&lt;"); break;
        case '>': bc_text_puts(out, "&gt;"); break;
        case '"': bc_text_puts(out, "&quot;"); break;
        case '\n': bc_text_puts(out, "&#10;"); break;
        default:
            if ((unsigned char)c < 0x20)
                bc_text_puts(out, "\xef\xbf\xbd");
            else
                bc_text_char(out, c);
        }
    }
    out->failed |= clean.failed;
    bc_text_release(&clean);
}

static void put_attribute(bc_text *out, const char *name, tv_str value)
{
    bc_text_printf(out, " %s=\"", name);
    put_xml(out, value);
    bc_text_char(out, '"');
}

/* <failure>: the first error in its attributes, all diagnostics as text inside. */
static void put_failure(bc_text *out, const report_file *file)
{
    const tv_diag *first = NULL;
    bc_text all;
    bc_text_init(&all, NULL);
    for (size_t i = 0; i < file->count; i++) {
        if (!first && file->diags[i].severity == TV_ERROR)
            first = &file->diags[i];
        cli_diag_text(&all, cli_shown_path(file->path), &file->diags[i], false);
    }
    bc_text_puts(out, "      <failure");
    put_attribute(out, "message", first ? first->message : bc_str("invalid"));
    put_attribute(out, "type", bc_str(first ? first->rule : ""));
    bc_text_char(out, '>');
    for (size_t start = 0; start < all.len;) {
        const char *end = memchr(all.ptr + start, '\n', all.len - start);
        size_t len = (end ? (size_t)(end - all.ptr) : all.len) - start;
        put_xml(out, (tv_str){all.ptr + start, len});
        bc_text_char(out, '\n');
        start += len + 1;
    }
    bc_text_puts(out, "</failure>\n");
    out->failed |= all.failed;
    bc_text_release(&all);
}

/* Warnings of a valid file, so that they are not lost. */
static void put_warnings(bc_text *out, const report_file *file)
{
    bc_text all;
    bc_text_init(&all, NULL);
    for (size_t i = 0; i < file->count; i++)
        cli_diag_text(&all, cli_shown_path(file->path), &file->diags[i], false);
    bc_text_puts(out, "      <system-out>");
    put_xml(out, bc_text_get(&all));
    bc_text_puts(out, "</system-out>\n");
    out->failed |= all.failed;
    bc_text_release(&all);
}

static void put_case(bc_text *out, const report_file *file, const char *command)
{
    bc_text_printf(out, "    <testcase classname=\"tilevm.%s\"", command);
    put_attribute(out, "name", bc_str(cli_shown_path(file->path)));
    bool empty = file->outcome == REPORT_VALID && file->count == 0;
    bc_text_puts(out, empty ? "/>\n" : ">\n");
    if (empty)
        return;
    if (file->outcome == REPORT_UNREADABLE) {
        bc_text_puts(out, "      <error");
        put_attribute(out, "message", bc_str(report_problem(file)));
        bc_text_puts(out, " type=\"IO\"/>\n");
    } else if (file->outcome == REPORT_INVALID) {
        put_failure(out, file);
    } else {
        put_warnings(out, file);
    }
    bc_text_puts(out, "    </testcase>\n");
}

static void put_counts(bc_text *out, const report_totals *totals)
{
    bc_text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", totals->files, totals->invalid,
                   totals->unreadable);
}

bool report_junit(const report_file *files, size_t count, const char *command, cli_out *out)
{
    report_totals totals;
    report_count(files, count, &totals);
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_counts(&text, &totals);
    bc_text_printf(&text, ">\n  <testsuite name=\"tilevm %s\"", command);
    put_counts(&text, &totals);
    bc_text_puts(&text, " skipped=\"0\">\n");
    for (size_t i = 0; i < count; i++)
        put_case(&text, &files[i], command);
    bc_text_puts(&text, "  </testsuite>\n</testsuites>\n");
    bool ok = !text.failed;
    if (ok)
        cli_out_write(out, text.ptr, text.len);
    bc_text_release(&text);
    return ok;
}

/* Writes findings as JUnit XML: one test case per file, with a failure if the file is invalid, and an error if it
   could not be read. */
#include <string.h>

#include "bytecode/base/visible.h"
#include "tools/tilevm/report/report.h"

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

/* The contents of a test case: all diagnostics as text, or the output of a program. */
static void put_lines(bc_text *out, tv_str all)
{
    for (size_t start = 0; start < all.len;) {
        const char *end = memchr(all.ptr + start, '\n', all.len - start);
        size_t len = (end ? (size_t)(end - all.ptr) : all.len) - start;
        put_xml(out, (tv_str){all.ptr + start, len});
        bc_text_char(out, '\n');
        start += len + 1;
    }
}

static void put_output(bc_text *out, const report_file *file)
{
    bc_text_puts(out, "      <failure");
    put_attribute(out, "message", (tv_str){file->output, strcspn(file->output, "\n")});
    put_attribute(out, "type", bc_str("run"));
    bc_text_char(out, '>');
    put_lines(out, bc_str(file->output));
    bc_text_puts(out, "</failure>\n");
}

/* <failure>: the first error in its attributes, all diagnostics as text inside. */
static void put_failure(bc_text *out, const report_file *file)
{
    const tv_diag *first = NULL;
    bc_text all;
    bc_text_init(&all, NULL);
    for (size_t i = 0; i < file->count; i++) {
        if (report_reason(file, i))
            continue;
        if (!first && file->diags[i].severity == TV_ERROR)
            first = &file->diags[i];
        cli_diag_text(&all, cli_shown_path(file->path), &file->diags[i], false);
    }
    bc_text_puts(out, "      <failure");
    put_attribute(out, "message", first ? first->message : bc_str("invalid"));
    put_attribute(out, "type", bc_str(first ? first->rule : ""));
    bc_text_char(out, '>');
    put_lines(out, bc_text_get(&all));
    bc_text_puts(out, "</failure>\n");
    out->failed |= all.failed;
    bc_text_release(&all);
}

static void put_case(bc_text *out, const report_file *file, const char *command)
{
    bc_text_printf(out, "    <testcase classname=\"tilevm.%s\"", command);
    put_attribute(out, "name", bc_str(cli_shown_path(file->path)));
    bc_text_puts(out, file->outcome == REPORT_VALID ? " time=\"0\"/>\n" : " time=\"0\">\n");
    if (file->outcome == REPORT_VALID)
        return;
    if (file->outcome == REPORT_UNREADABLE) {
        bc_text_puts(out, "      <error");
        put_attribute(out, "message", bc_str(report_problem(file)));
        bc_text_puts(out, " type=\"IO\"/>\n");
    } else if (file->output) {
        put_output(out, file);
    } else {
        put_failure(out, file);
    }
    bc_text_puts(out, "    </testcase>\n");
}

/* Warnings of valid files, for which a test case has no element. */
static void put_warnings(bc_text *out, const report_file *files, size_t count)
{
    bc_text all;
    bc_text_init(&all, NULL);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < files[i].count && files[i].outcome == REPORT_VALID; k++)
            if (!report_reason(&files[i], k))
                cli_diag_text(&all, cli_shown_path(files[i].path), &files[i].diags[k], false);
    bc_text_puts(out, "    <system-out>");
    put_xml(out, bc_text_get(&all));
    bc_text_puts(out, "</system-out>\n    <system-err/>\n");
    out->failed |= all.failed;
    bc_text_release(&all);
}

/* Ant's schema requires a host and a time; both are constants here, so that the same findings give the same bytes. */
static void put_suite(bc_text *out, const report_totals *totals, const char *command)
{
    bc_text_printf(out, "  <testsuite id=\"0\" package=\"tilevm\" name=\"tilevm %s\"", command);
    bc_text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", totals->files, totals->invalid,
                   totals->unreadable);
    bc_text_puts(out, " skipped=\"0\" time=\"0\" timestamp=\"1970-01-01T00:00:00\" hostname=\"localhost\">\n"
                      "    <properties/>\n");
}

bool report_junit(const report_file *files, size_t count, const char *command, cli_out *out)
{
    report_totals totals;
    report_count(files, count, &totals);
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    put_suite(&text, &totals, command);
    for (size_t i = 0; i < count; i++)
        put_case(&text, &files[i], command);
    put_warnings(&text, files, count);
    bc_text_puts(&text, "  </testsuite>\n</testsuites>\n");
    bool ok = !text.failed;
    if (ok)
        cli_out_write(out, text.ptr, text.len);
    bc_text_release(&text);
    return ok;
}

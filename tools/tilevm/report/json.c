/* The findings of `tilevm verify --format json`: a summary, then every file with its diagnostics. */
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/report/report.h"

static void add_summary(json_doc *doc, cJSON *root, const report_totals *totals)
{
    cJSON *summary = json_object(doc, root, "summary");
    json_uint(doc, summary, "files", totals->files);
    json_uint(doc, summary, "valid", totals->valid);
    json_uint(doc, summary, "invalid", totals->invalid);
    json_uint(doc, summary, "unreadable", totals->unreadable);
    json_uint(doc, summary, "errors", totals->errors);
    json_uint(doc, summary, "warnings", totals->warnings);
}

/* Adds the location; members that do not apply are omitted. */
static void add_place(json_doc *doc, cJSON *item, const tv_diag *diag)
{
    if (diag->offset != TV_NO_OFFSET)
        json_uint(doc, item, "offset", diag->offset);
    if (diag->function.len)
        json_function(doc, item, "function", "function_name", diag->function);
    if (diag->op.len) {
        json_str(doc, item, "op", diag->op);
        json_uint(doc, item, "op_index", diag->op_index);
    }
    if (diag->op_text.len)
        json_str(doc, item, "op_text", diag->op_text);
    if (diag->caret_len) {
        cJSON *caret = json_object(doc, item, "caret");
        json_uint(doc, caret, "start", diag->caret);
        json_uint(doc, caret, "length", diag->caret_len);
    }
    if (diag->line) {
        cJSON *source = json_object(doc, item, "source");
        json_str(doc, source, "file", diag->file);
        json_uint(doc, source, "line", diag->line);
        json_uint(doc, source, "column", diag->column);
    }
    if (diag->inlined_line) {
        cJSON *inlined = json_object(doc, item, "inlined");
        json_str(doc, inlined, "file", diag->inlined_file);
        json_uint(doc, inlined, "line", diag->inlined_line);
        json_uint(doc, inlined, "column", diag->inlined_column);
    }
}

static void add_diag(json_doc *doc, cJSON *list, const tv_diag *diag, const char *suppressed)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "severity", report_severity(diag->severity));
    json_text(doc, item, "rule", diag->rule);
    json_str(doc, item, "message", diag->message);
    add_place(doc, item, diag);
    if (diag->other)
        add_place(doc, json_object(doc, item, "other"), diag->other);
    if (diag->help.len)
        json_str(doc, item, "help", diag->help);
    if (suppressed)
        json_text(doc, item, "suppressed", suppressed);
}

void report_json_diags(json_doc *doc, cJSON *parent, const report_file *file)
{
    cJSON *diags = json_array(doc, parent, "diagnostics");
    for (size_t i = 0; i < file->count; i++)
        add_diag(doc, diags, &file->diags[i], report_reason(file, i));
}

static void add_file(json_doc *doc, cJSON *list, const report_file *file)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "path", file->path);
    json_text(doc, item, "status", report_outcome_name(file->outcome));
    if (report_problem(file))
        json_text(doc, item, "problem", report_problem(file));
    if (file->outcome != REPORT_UNREADABLE)
        json_uint(doc, item, "bytes", file->size);
    if (file->minor) {
        char version[16];
        snprintf(version, sizeof version, "13.%u", file->minor);
        json_text(doc, item, "version", version);
    }
    report_json_diags(doc, item, file);
}

bool report_json(const report_file *files, size_t count, const char *command, cli_out *out)
{
    json_doc doc = {0};
    report_totals totals;
    report_count(files, count, &totals);
    cJSON *root = json_document(&doc, command);
    cJSON *tool = json_object(&doc, root, "tool");
    json_text(&doc, tool, "name", "tilevm");
    json_text(&doc, tool, "version", TV_VERSION);
    add_summary(&doc, root, &totals);
    cJSON *list = json_array(&doc, root, "files");
    for (size_t i = 0; i < count; i++)
        add_file(&doc, list, &files[i]);
    return json_finish(&doc, out);
}

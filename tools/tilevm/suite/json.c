/* The report of `tilevm test` as a document. */
#include "tools/tilevm/suite/suite.h"

static const char *status_of(const suite_case *one)
{
    static const char *const names[] = {
        [REPORT_VALID] = "passed", [REPORT_INVALID] = "failed", [REPORT_UNREADABLE] = "error"};
    return names[one->report.outcome];
}

static void add_summary(json_doc *doc, cJSON *root, const suite_case *cases, size_t count)
{
    size_t by_outcome[3] = {0}, updated = 0, flaky = 0;
    for (size_t i = 0; i < count; i++) {
        bool passed = cases[i].report.outcome == REPORT_VALID;
        by_outcome[cases[i].report.outcome]++;
        updated += cases[i].updated;
        flaky += passed && !cases[i].updated && cases[i].attempts > 1;
    }
    cJSON *summary = json_object(doc, root, "summary");
    json_uint(doc, summary, "tests", count);
    json_uint(doc, summary, "passed", by_outcome[REPORT_VALID]);
    json_uint(doc, summary, "failed", by_outcome[REPORT_INVALID]);
    json_uint(doc, summary, "errors", by_outcome[REPORT_UNREADABLE]);
    json_uint(doc, summary, "updated", updated);
    json_uint(doc, summary, "flaky", flaky);
}

static void add_case(json_doc *doc, cJSON *list, const suite_case *one)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "name", one->report.path);
    json_text(doc, item, "arguments", one->args_path);
    json_text(doc, item, "device", one->device);
    json_text(doc, item, "status", status_of(one));
    json_uint(doc, item, "attempts", one->attempts);
    json_real(doc, item, "seconds", (double)(uint64_t)(one->seconds * 1e3 + 0.5) / 1e3);
    if (one->suppressed)
        json_uint(doc, item, "suppressed", one->suppressed);
    if (one->updated)
        json_bool(doc, item, "updated", true);
    if (report_problem(&one->report))
        json_text(doc, item, "problem", report_problem(&one->report));
    if (one->report.output)
        json_text(doc, item, "output", one->report.output);
}

bool suite_json(const suite_case *cases, size_t count, const suppress_config *config, const coverage *covered,
                cli_out *out)
{
    json_doc doc = {0};
    cJSON *root = json_document(&doc, "test");
    add_summary(&doc, root, cases, count);
    cJSON *list = json_array(&doc, root, "tests");
    for (size_t i = 0; i < count; i++)
        add_case(&doc, list, &cases[i]);
    if (config->path)
        suppress_config_json(&doc, root, config);
    if (covered)
        coverage_json(&doc, json_object(&doc, root, "coverage"), covered);
    return json_finish(&doc, out);
}

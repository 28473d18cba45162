/* The findings as SARIF 2.1.0 (OASIS), for code scanning services. A result's location is the byte range in the
   bytecode; the source line, when debug info has it, is a related location. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/report/report.h"

/* A path as a URI reference (RFC 3986): relative paths stay relative. */
static void add_uri(json_doc *doc, cJSON *parent, tv_str path)
{
    bc_text uri;
    bc_text_init(&uri, NULL);
    if (path.len && path.ptr[0] == '/')
        bc_text_puts(&uri, "file://");
    else if (path.len && memchr(path.ptr, ':', path.len))
        bc_text_puts(&uri, "./"); /* otherwise the part before the colon would be a scheme */
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        if (isalnum(c) || (c && strchr("-._~/!$&'()*+,;=:@", c)))
            bc_text_char(&uri, (char)c);
        else
            bc_text_printf(&uri, "%%%02X", c);
    }
    doc->failed |= uri.failed;
    json_str(doc, parent, "uri", bc_text_get(&uri));
    bc_text_release(&uri);
}

static void add_message(json_doc *doc, cJSON *parent, const char *key, tv_str text)
{
    json_str(doc, json_object(doc, parent, key), "text", text);
}

/* ---- rules that occur, in published order ---- */

typedef struct rule_map {
    int *index;   /* by place in the published order: index in the driver's list, or -1 */
    size_t count; /* published rules */
} rule_map;

static size_t rule_place(const char *id)
{
    const tv_rule *rule;
    size_t i = 0;
    while ((rule = tv_rule_at(i)) != NULL && strcmp(rule->id, id) != 0)
        i++;
    return i;
}

static bool find_rules(const report_file *files, size_t count, rule_map *map)
{
    while (tv_rule_at(map->count))
        map->count++;
    map->index = malloc((map->count + 1) * sizeof *map->index);
    if (!map->index)
        return false;
    for (size_t r = 0; r <= map->count; r++)
        map->index[r] = -1;
    for (size_t f = 0; f < count; f++)
        for (size_t d = 0; d < files[f].count; d++)
            map->index[rule_place(files[f].diags[d].rule)] = 0;
    int next = 0;
    for (size_t r = 0; r < map->count; r++)
        if (map->index[r] == 0)
            map->index[r] = next++;
    return true;
}

static void add_rules(json_doc *doc, cJSON *driver, const rule_map *map)
{
    cJSON *rules = json_array(doc, driver, "rules");
    for (size_t r = 0; r < map->count; r++) {
        if (map->index[r] < 0)
            continue;
        const tv_rule *rule = tv_rule_at(r);
        cJSON *item = json_object(doc, rules, NULL);
        json_text(doc, item, "id", rule->id);
        add_message(doc, item, "shortDescription", bc_str(rule->title));
        if (rule->text[0])
            add_message(doc, item, "fullDescription", bc_str(rule->text));
        if (rule->help[0])
            add_message(doc, item, "help", bc_str(rule->help));
        cJSON *configuration = json_object(doc, item, "defaultConfiguration");
        json_text(doc, configuration, "level", report_severity(rule->severity));
    }
}

/* ---- results ---- */

/* The place in the bytecode. */
static void fill_location(json_doc *doc, cJSON *location, const report_file *file, size_t artifact, const tv_diag *diag)
{
    cJSON *physical = json_object(doc, location, "physicalLocation");
    cJSON *where = json_object(doc, physical, "artifactLocation");
    add_uri(doc, where, bc_str(cli_shown_path(file->path)));
    json_uint(doc, where, "index", artifact);
    if (diag->offset != TV_NO_OFFSET) {
        cJSON *region = json_object(doc, physical, "region");
        json_uint(doc, region, "byteOffset", diag->offset);
        json_uint(doc, region, "byteLength", diag->offset < file->size);
        if (diag->op_text.len)
            add_message(doc, json_object(doc, region, "snippet"), "rendered", diag->op_text);
    }
    if (diag->function.len) {
        cJSON *logical = json_object(doc, json_array(doc, location, "logicalLocations"), NULL);
        json_function(doc, logical, "name", "fullyQualifiedName", diag->function);
        json_text(doc, logical, "kind", "function");
    }
}

/* A related location; ids are from 1 on in a result. */
static cJSON *add_related(json_doc *doc, cJSON *list, unsigned id, const char *message)
{
    cJSON *location = json_object(doc, list, NULL);
    json_uint(doc, location, "id", id);
    add_message(doc, location, "message", bc_str(message));
    return location;
}

static void add_source(json_doc *doc, cJSON *list, unsigned id, const char *message, const tv_diag *diag)
{
    cJSON *location = add_related(doc, list, id, message);
    cJSON *physical = json_object(doc, location, "physicalLocation");
    add_uri(doc, json_object(doc, physical, "artifactLocation"), diag->file);
    cJSON *region = json_object(doc, physical, "region");
    json_uint(doc, region, "startLine", diag->line);
    if (diag->column)
        json_uint(doc, region, "startColumn", diag->column);
}

/* The message, followed by the help, because viewers show nothing else of a result. */
static void add_result_message(json_doc *doc, cJSON *result, const tv_diag *diag)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_str(&text, diag->message);
    if (diag->help.len) {
        bc_text_puts(&text, "\nhelp: ");
        bc_text_str(&text, diag->help);
    }
    doc->failed |= text.failed;
    add_message(doc, result, "message", bc_text_get(&text));
    bc_text_release(&text);
}

static void add_suppression(json_doc *doc, cJSON *result, const char *reason)
{
    if (!reason)
        return;
    cJSON *item = json_object(doc, json_array(doc, result, "suppressions"), NULL);
    json_text(doc, item, "kind", "external");
    json_text(doc, item, "justification", reason);
}

/* Diagnostic number `at` of the file. */
static void add_result(json_doc *doc, cJSON *results, const report_file *file, size_t artifact, size_t at,
                       const rule_map *map)
{
    const tv_diag *diag = &file->diags[at];
    cJSON *result = json_object(doc, results, NULL);
    json_text(doc, result, "ruleId", diag->rule);
    int index = map->index[rule_place(diag->rule)];
    if (index >= 0)
        json_int(doc, result, "ruleIndex", index);
    json_text(doc, result, "level", report_severity(diag->severity));
    add_result_message(doc, result, diag);
    fill_location(doc, json_object(doc, json_array(doc, result, "locations"), NULL), file, artifact, diag);
    add_suppression(doc, result, report_reason(file, at));
    if (!diag->line && !diag->other)
        return;
    cJSON *related = json_array(doc, result, "relatedLocations");
    if (diag->line)
        add_source(doc, related, 1, "the source line this op was made from", diag);
    if (diag->other)
        fill_location(doc, add_related(doc, related, 2, "the other op that takes part"), file, artifact, diag->other);
    if (diag->other && diag->other->line)
        add_source(doc, related, 3, "the source line the other op was made from", diag->other);
}

/* ---- the run ---- */

static void add_invocation(json_doc *doc, cJSON *run, const report_file *files, size_t count)
{
    report_totals totals;
    report_count(files, count, &totals);
    cJSON *invocation = json_object(doc, json_array(doc, run, "invocations"), NULL);
    json_bool(doc, invocation, "executionSuccessful", totals.unreadable == 0);
    if (!totals.unreadable)
        return;
    cJSON *notes = json_array(doc, invocation, "toolExecutionNotifications");
    for (size_t i = 0; i < count; i++) {
        if (!report_problem(&files[i]))
            continue;
        cJSON *note = json_object(doc, notes, NULL);
        json_text(doc, note, "level", "error");
        add_message(doc, note, "message", bc_str(report_problem(&files[i])));
    }
}

static void add_artifacts(json_doc *doc, cJSON *run, const report_file *files, size_t count)
{
    cJSON *artifacts = json_array(doc, run, "artifacts");
    for (size_t i = 0; i < count; i++) {
        cJSON *item = json_object(doc, artifacts, NULL);
        add_uri(doc, json_object(doc, item, "location"), bc_str(cli_shown_path(files[i].path)));
        json_text(doc, json_array(doc, item, "roles"), NULL, "analysisTarget");
        json_text(doc, item, "mimeType", "application/octet-stream");
        if (files[i].outcome != REPORT_UNREADABLE)
            json_uint(doc, item, "length", files[i].size);
    }
}

bool report_sarif(const report_file *files, size_t count, cli_out *out)
{
    json_doc doc = {0};
    rule_map map = {0};
    if (!find_rules(files, count, &map))
        return false;
    cJSON *root = json_object(&doc, NULL, NULL);
    json_text(&doc, root, "$schema",
              "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
              "sarif-schema-2.1.0.json");
    json_text(&doc, root, "version", "2.1.0");
    cJSON *run = json_object(&doc, json_array(&doc, root, "runs"), NULL);
    cJSON *driver = json_object(&doc, json_object(&doc, run, "tool"), "driver");
    json_text(&doc, driver, "name", "tilevm");
    json_text(&doc, driver, "version", TV_VERSION);
    add_rules(&doc, driver, &map);
    add_invocation(&doc, run, files, count);
    add_artifacts(&doc, run, files, count);
    cJSON *results = json_array(&doc, run, "results");
    for (size_t f = 0; f < count; f++)
        for (size_t d = 0; d < files[f].count; d++)
            add_result(&doc, results, &files[f], f, d, &map);
    free(map.index);
    return json_finish(&doc, out);
}

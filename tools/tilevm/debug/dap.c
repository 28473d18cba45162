/* The requests of the Debug Adapter Protocol, and the functions that answer them. */
#include "tools/tilevm/debug/dap.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

/* ---- requests that concern no kernel ---- */

static void put_filter(dap_request *r, cJSON *filters, const char *filter, const char *label)
{
    cJSON *item = json_object(&r->doc, filters, NULL);
    json_text(&r->doc, item, "filter", filter);
    json_text(&r->doc, item, "label", label);
    json_bool(&r->doc, item, "supportsCondition", true);
}

static void initialize(dap *d, dap_request *r)
{
    static const char *const able[] = {"supportsConfigurationDoneRequest", "supportsFunctionBreakpoints",
                                       "supportsConditionalBreakpoints",   "supportsHitConditionalBreakpoints",
                                       "supportsEvaluateForHovers",        "supportsStepBack",
                                       "supportsTerminateRequest",         "supportsSteppingGranularity",
                                       "supportsRestartRequest",           "supportsDataBreakpoints",
                                       "supportsExceptionFilterOptions"};
    (void)d;
    for (size_t i = 0; i < TV_COUNT(able); i++)
        json_bool(&r->doc, r->body, able[i], true);
    cJSON *filters = json_array(&r->doc, r->body, "exceptionBreakpointFilters");
    put_filter(r, filters, "nan", "An op makes a NaN");
    put_filter(r, filters, "inf", "An op makes an infinity");
    put_filter(r, filters, "races", "Races (runs the kernel once with checks)");
    put_filter(r, filters, "bounds", "Accesses between elements, indices outside (runs the kernel once with checks)");
    put_filter(r, filters, "uninit", "Reads of what was never written (runs the kernel once with checks)");
}

static void end(dap *d, dap_request *r)
{
    (void)r;
    d->done = true;
}

static void nothing(dap *d, dap_request *r)
{
    (void)d;
    (void)r;
}

typedef enum when { ALWAYS, OPENED } when;

static const struct {
    const char *command;
    dap_function *function;
    when when;
} requests[] = {
    {"initialize", initialize, ALWAYS},
    {"launch", dap_launch, ALWAYS},
    {"attach", dap_launch, ALWAYS},
    {"disconnect", end, ALWAYS},
    {"terminate", end, ALWAYS},
    {"configurationDone", nothing, OPENED},
    {"setBreakpoints", dap_set_breakpoints, OPENED},
    {"setFunctionBreakpoints", dap_set_functions, OPENED},
    {"setExceptionBreakpoints", dap_set_exceptions, OPENED},
    {"dataBreakpointInfo", dap_data_info, OPENED},
    {"setDataBreakpoints", dap_set_data, OPENED},
    {"threads", dap_threads, OPENED},
    {"stackTrace", dap_stack, OPENED},
    {"scopes", dap_scopes, OPENED},
    {"variables", dap_variables, OPENED},
    {"evaluate", dap_evaluate, OPENED},
    {"source", dap_source, OPENED},
    {"continue", dap_continue, OPENED},
    {"next", nothing, OPENED},
    {"stepIn", nothing, OPENED},
    {"stepOut", nothing, OPENED},
    {"stepBack", nothing, OPENED},
    {"reverseContinue", nothing, OPENED},
    {"restart", nothing, OPENED},
    {"pause", nothing, OPENED},
};

static void answer(dap *d, dap_request *r)
{
    size_t i = 0;
    while (i < TV_COUNT(requests) && strcmp(requests[i].command, r->command) != 0)
        i++;
    if (i == TV_COUNT(requests))
        dap_fail(r, "'%.60s' is not supported", r->command);
    else if (requests[i].when == OPENED && !d->opened)
        dap_fail(r, "'%.60s' comes before a kernel was launched", r->command);
    else
        requests[i].function(d, r);
}

static void respond(dap *d, dap_request *r)
{
    json_doc doc = {0};
    cJSON *root = json_object(&doc, NULL, NULL);
    json_text(&doc, root, "type", "response");
    json_int(&doc, root, "request_seq", r->sequence);
    json_bool(&doc, root, "success", !r->error[0]);
    json_text(&doc, root, "command", r->command);
    if (r->error[0]) {
        json_text(&doc, root, "message", r->error);
        cJSON_Delete(r->doc.root);
    } else if (!r->doc.failed && cJSON_AddItemToObject(root, "body", r->doc.root)) {
        r->body = NULL;
    } else {
        cJSON_Delete(r->doc.root);
        doc.failed = true;
    }
    dap_send(d, &doc);
}

void dap_handle(dap *d, const char *text, size_t len)
{
    d->handle = dap_handle;
    cJSON *message = cJSON_ParseWithLength(text, len);
    const char *command = dap_text(message, "command"), *type = dap_text(message, "type");
    if (!message || !type || strcmp(type, "request") != 0 || !command) {
        dap_output(d, "stderr", bc_str("a message is no request\n"));
        cJSON_Delete(message);
        return;
    }
    dap_request r = {.arguments = dap_member(message, "arguments"),
                     .command = command,
                     .sequence = dap_integer(message, "seq", 0)};
    r.body = json_object(&r.doc, NULL, NULL);
    answer(d, &r);
    respond(d, &r);
    if (!r.error[0] && !d->done)
        dap_run_pending(d, command, r.arguments);
    if (d->done) {
        json_doc doc;
        dap_event(&doc, "terminated");
        dap_send(d, &doc);
    }
    cJSON_Delete(message);
}

int dap_serve(dap *d)
{
    char *text;
    size_t len;
    while (!d->done && !d->wire.failed && (text = dap_read(&d->wire, &len)) != NULL) {
        if (len && strspn(text, " \t\r\n") < len)
            dap_handle(d, text, len);
        free(text);
    }
    if (d->wire.failed && !d->done)
        return cli_error("the connection broke, or what came is no message of the Debug Adapter Protocol");
    return CLI_OK;
}

void dap_release(dap *d)
{
    dap_forget_refs(d);
    free(d->refs);
    free(d->stops);
    if (d->s.d)
        debug_close(&d->s);
    bc_text_release(&d->told);
    bc_arena_release(&d->texts);
    dap_wire_release(&d->wire);
}

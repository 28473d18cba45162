/* Requests that run the kernel. Each is answered at once; an event reports its result. While the kernel runs, other
   messages are served. */
#include "tools/tilevm/debug/dap.h"

#include <stdlib.h>
#include <string.h>

static const char *reason_of(const vm_debug_event *e, bool goes_on)
{
    switch (e->why) {
    case VM_DEBUG_BREAKPOINT: return "breakpoint";
    case VM_DEBUG_WATCHPOINT: return "data breakpoint";
    case VM_DEBUG_CAUGHT:
    case VM_DEBUG_TRAP: return "exception";
    case VM_DEBUG_END: return "end";
    case VM_DEBUG_BEGIN: return "entry";
    case VM_DEBUG_INTERRUPT: return "pause";
    case VM_DEBUG_REACHED: break;
    }
    return goes_on ? "step" : "pause";
}

static void tell_stop(dap *d, const vm_debug_event *e, const char *reason)
{
    json_doc doc;
    vm_debug_place at;
    cJSON *body = dap_event(&doc, "stopped");
    vm_debug_where(d->s.d, &at);
    dap_forget_refs(d);
    json_text(&doc, body, "reason", reason);
    if (e->why == VM_DEBUG_END)
        json_text(&doc, body, "description", "the run has ended");
    else if (e->text[0])
        json_text(&doc, body, "text", e->text);
    json_int(&doc, body, "threadId", at.state == VM_DEBUG_ENDED ? 1 : dap_thread_of(d, at.block));
    json_bool(&doc, body, "allThreadsStopped", true);
    if (e->why == VM_DEBUG_BREAKPOINT || e->why == VM_DEBUG_WATCHPOINT) {
        cJSON *ids = json_array(&doc, body, "hitBreakpointIds");
        json_uint(&doc, ids, NULL, e->number);
    }
    dap_send(d, &doc);
}

/* ---- running ---- */

/* Serves one message that came while the kernel ran. */
static void serve_one(dap *d)
{
    size_t len;
    char *text = dap_read(&d->wire, &len);
    if (text && len)
        d->handle(d, text, len);
    if (!text)
        d->done = true;
    free(text);
}

/* Runs to a stop. Waiting messages interrupt the engine's call; the kernel continues when they have been served. */
static void run_on(dap *d, bool back, vm_debug_event *e)
{
    d->running = true;
    d->pause = false;
    do {
        vm_debug_continue(d->s.d, back, e);
        while (e->why == VM_DEBUG_INTERRUPT && !e->text[0] && !d->done && dap_is_waiting(&d->wire))
            serve_one(d);
    } while (e->why == VM_DEBUG_INTERRUPT && !e->text[0] && !d->pause && !d->done && !back);
    d->running = false;
}

static void step(dap *d, vm_debug_step kind, bool back, const cJSON *arguments)
{
    vm_debug_event e;
    vm_debug_error error;
    const char *granularity = dap_text(arguments, "granularity");
    if (granularity && strcmp(granularity, "instruction") == 0 && kind != VM_DEBUG_OUT)
        kind = VM_DEBUG_OP;
    if (!vm_debug_step_to(d->s.d, kind, back, &e, &error)) {
        e = (vm_debug_event){.why = VM_DEBUG_END};
        dap_output(d, "console", bc_str(error.text));
        dap_output(d, "console", bc_str("\n"));
    }
    tell_stop(d, &e, reason_of(&e, true));
}

static void go_on(dap *d, bool back)
{
    vm_debug_event e;
    run_on(d, back, &e);
    if (!d->done)
        tell_stop(d, &e, reason_of(&e, false));
}

static void begin(dap *d)
{
    vm_debug_event e;
    vm_debug_goto(d->s.d, 0, &e);
    e.why = VM_DEBUG_BEGIN;
    if (d->stop_on_entry)
        tell_stop(d, &e, "entry");
    else
        go_on(d, false);
}

void dap_run_pending(dap *d, const char *command, const cJSON *arguments)
{
    if (strcmp(command, "pause") == 0) {
        d->pause = true;
        return;
    }
    if (d->running || d->done || !d->opened)
        return;
    if (strcmp(command, "configurationDone") == 0 || strcmp(command, "restart") == 0)
        begin(d);
    else if (strcmp(command, "continue") == 0)
        go_on(d, false);
    else if (strcmp(command, "reverseContinue") == 0)
        go_on(d, true);
    else if (strcmp(command, "next") == 0)
        step(d, VM_DEBUG_OVER, false, arguments);
    else if (strcmp(command, "stepIn") == 0)
        step(d, VM_DEBUG_LINE, false, arguments);
    else if (strcmp(command, "stepOut") == 0)
        step(d, VM_DEBUG_OUT, false, arguments);
    else if (strcmp(command, "stepBack") == 0)
        step(d, VM_DEBUG_OVER, true, arguments);
}

void dap_continue(dap *d, dap_request *r)
{
    (void)d;
    json_bool(&r->doc, r->body, "allThreadsContinued", true);
}

/* What commands say with --json: an object on a line for each. A command writes its text in any case, which becomes the
   member "text", and adds members of its own to the answer where there is one. */
#include "bytecode/number/number.h"
#include "tools/tilevm/debug/answer.h"

enum { MOST_ELEMENTS = 200 };

/* ---- places ---- */

void debug_add_block(json_doc *doc, cJSON *parent, const uint32_t block[3])
{
    cJSON *list = json_array(doc, parent, "block");
    for (unsigned i = 0; i < 3; i++)
        json_uint(doc, list, NULL, block[i]);
}

void debug_add_op(const debug_session *s, json_doc *doc, cJSON *item, uint32_t position)
{
    tv_str file;
    uint32_t line;
    bc_text text;
    const bc_op *op = vm_debug_op(s->d, position);
    if (!op)
        return;
    bc_text_init(&text, NULL);
    vm_debug_print_op(s->d, position, &text);
    json_text(doc, item, "op", bc_info(op)->name);
    json_uint(doc, item, "op_index", position);
    json_made(doc, item, "op_text", &text);
    bc_text_release(&text);
    if (!vm_debug_line(s->d, position, &file, &line))
        return;
    json_str(doc, item, "file", file);
    json_uint(doc, item, "line", line);
}

void debug_tell_place(debug_session *s)
{
    static const char *const states[] = {
        [VM_DEBUG_STOPPED] = "stopped", [VM_DEBUG_TRAPPED] = "trapped", [VM_DEBUG_ENDED] = "ended"};
    vm_debug_place at;
    json_doc *doc = s->answer;
    if (!doc)
        return;
    vm_debug_where(s->d, &at);
    cJSON *item = json_object(doc, doc->root, "place");
    json_text(doc, item, "state", states[at.state]);
    json_int(doc, item, "time", (int64_t)at.time);
    if (at.state == VM_DEBUG_ENDED)
        return;
    debug_add_block(doc, item, at.block);
    if (at.in_for)
        json_int(doc, item, "iteration", (int64_t)at.rounds);
    debug_add_op(s, doc, item, at.position);
}

void debug_tell_event(debug_session *s, const vm_debug_event *e)
{
    static const char *const reasons[] = {[VM_DEBUG_REACHED] = "reached",
                                          [VM_DEBUG_BREAKPOINT] = "breakpoint",
                                          [VM_DEBUG_WATCHPOINT] = "watchpoint",
                                          [VM_DEBUG_CAUGHT] = "catch",
                                          [VM_DEBUG_TRAP] = "trap",
                                          [VM_DEBUG_END] = "end",
                                          [VM_DEBUG_BEGIN] = "begin",
                                          [VM_DEBUG_INTERRUPT] = "interrupt"};
    json_doc *doc = s->answer;
    if (!doc)
        return;
    cJSON *item = json_object(doc, doc->root, "stop");
    json_text(doc, item, "why", reasons[e->why]);
    if (e->why == VM_DEBUG_BREAKPOINT || e->why == VM_DEBUG_WATCHPOINT || e->why == VM_DEBUG_CAUGHT)
        json_uint(doc, item, "number", e->number);
    if (e->text[0])
        json_text(doc, item, "message", e->text);
    if (e->after)
        debug_add_op(s, doc, json_object(doc, item, "made_by"), e->position);
}

/* ---- values ---- */

static void add_element(const debug_session *s, json_doc *doc, cJSON *parent, const char *key, const vm_debug_value *v,
                        uint64_t i)
{
    uint64_t bits = vm_debug_element(v, i);
    if (v->kind == BC_PTR) {
        bc_text text;
        bc_text_init(&text, NULL);
        vm_debug_print_element(s->d, v, bits, &text);
        json_made(doc, parent, key, &text);
        bc_text_release(&text);
    } else if (v->dtype == TV_F4E2M1FN) {
        bits = bc_float_convert(BC_F32, BC_F4E2M1FN, bits, BC_RoundingMode_nearest_even);
        run_add_number(doc, parent, key, TV_F32, bits);
    } else {
        run_add_number(doc, parent, key, v->dtype, bits);
    }
}

static void add_data(const debug_session *s, json_doc *doc, cJSON *item, const vm_debug_value *v, uint64_t most)
{
    json_text(doc, item, "dtype", v->kind == BC_PTR ? "ptr" : bc_dtypes[v->dtype].text);
    cJSON *shape = json_array(doc, item, "shape");
    for (uint32_t i = 0; i < v->rank; i++)
        json_int(doc, shape, NULL, v->shape[i]);
    json_uint(doc, item, "count", v->count);
    cJSON *elements = json_array(doc, item, "elements");
    for (uint64_t i = 0; i < v->count && i < most && !doc->failed; i++)
        add_element(s, doc, elements, NULL, v, i);
}

void debug_add_value(const debug_session *s, json_doc *doc, cJSON *parent, const char *key, const vm_debug_value *v,
                     bool all)
{
    bc_text text;
    if (v->form == VM_DEBUG_NUMBER && v->is_int) {
        json_int(doc, parent, key, v->i);
    } else if (v->form == VM_DEBUG_NUMBER) {
        json_any_real(doc, parent, key, v->d);
    } else if (v->form == VM_DEBUG_TUPLE) {
        cJSON *list = json_array(doc, parent, key);
        for (unsigned i = 0; i < 3; i++)
            json_int(doc, list, NULL, v->tuple[i]);
    } else if (v->form == VM_DEBUG_VIEW) {
        bc_text_init(&text, NULL);
        vm_debug_print_view(s->d, v, &text);
        json_made(doc, parent, key, &text);
        bc_text_release(&text);
    } else if (v->rank == 0) {
        add_element(s, doc, parent, key, v, 0);
    } else {
        add_data(s, doc, json_object(doc, parent, key), v, all ? UINT64_MAX : MOST_ELEMENTS);
    }
}

void debug_tell_value(debug_session *s, const vm_debug_value *v, bool all)
{
    if (s->answer)
        debug_add_value(s, s->answer, s->answer->root, "value", v, all);
}

void debug_add_figures(json_doc *doc, cJSON *item, const vm_debug_value *v)
{
    arg_array array = {0};
    arg_summary summary;
    vm_debug_error error;
    if (v->form != VM_DEBUG_DATA || v->kind == BC_PTR || !debug_array(v, &array, &error))
        return;
    arg_array_summary(&array, &summary);
    run_add_figures(doc, item, array.dtype, &summary);
    arg_array_free(&array);
}

/* ---- answers ---- */

void debug_answer_begin(debug_session *s, json_doc *doc)
{
    *doc = (json_doc){0};
    json_document(doc, "debug");
    s->answer = doc;
}

/* What the kernel printed and what was found since the answer before. */
static void add_news(run_job *job, json_doc *doc)
{
    if (job->output.len)
        json_made(doc, doc->root, "output", &job->output);
    if (job->output_cut)
        json_bool(doc, doc->root, "output_cut", true);
    job->output_cut = false;
    if (job->report.count)
        report_json_diags(doc, doc->root, &job->report);
    job->report.count = 0;
}

void debug_answer_end(debug_session *s, const char *problem, bc_text *text)
{
    json_doc *doc = s->answer;
    bc_text line;
    s->answer = NULL;
    add_news(s->job, doc);
    json_bool(doc, doc->root, "ok", !problem);
    if (problem)
        json_text(doc, doc->root, "error", problem);
    if (text->len)
        json_made(doc, doc->root, "text", text);
    bc_text_init(&line, NULL);
    if (json_finish_line(doc, &line))
        cli_show(stdout, bc_text_get(&line), false);
    else
        cli_error("out of memory");
    fflush(stdout);
    bc_text_release(&line);
}

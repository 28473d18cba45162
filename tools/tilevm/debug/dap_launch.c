/* Opening the kernel: the one of the command line, or what the editor's configuration says. */
#include "tools/tilevm/debug/dap.h"

#include <cjson/cJSON.h>

#include <stdlib.h>
#include <string.h>

/* ---- the token ---- */

/* Takes the same time for every wrong token of that length. */
static bool is_token(const char *token, const char *given)
{
    size_t n = strlen(token);
    unsigned char differ = strlen(given) != n;
    for (size_t i = 0; i < n && given[i]; i++)
        differ = (unsigned char)(differ | (token[i] ^ given[i]));
    return !differ;
}

static bool check_token(dap *d, dap_request *r)
{
    const char *given = dap_text(r->arguments, "token");
    if (!d->token[0] || d->authorised)
        return true;
    d->authorised = given && is_token(d->token, given);
    if (d->authorised)
        return true;
    d->done = true; /* no second guess */
    dap_fail(r, "the token is missing or wrong: put the one that 'tilevm debug --dap-port' printed into \"token\"");
    return false;
}

/* ---- options ---- */

/* A copy that lives as long as the job; NULL: missing, or out of memory. */
static const char *kept(dap *d, const char *text)
{
    return text ? bc_arena_dup(&d->texts, bc_str(text)).ptr : NULL;
}

/* "4,4" or [4, 4] */
static bool take_grid(dap *d, dap_request *r)
{
    run_options *o = &d->job->options;
    const cJSON *grid = dap_member(r->arguments, "grid"), *axis;
    char text[80] = "";
    size_t n = 0;
    io_error error;
    if (!grid)
        return true;
    if (cJSON_IsString(grid))
        snprintf(text, sizeof text, "%s", grid->valuestring);
    else if (cJSON_IsNumber(grid))
        snprintf(text, sizeof text, "%.0f", grid->valuedouble);
    else
        cJSON_ArrayForEach(axis, grid) if (cJSON_IsNumber(axis) && n < 50)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%.0f", n ? "," : "",
                                  axis->valuedouble < 1e9 ? axis->valuedouble : 1e9);
    o->has_grid = arg_parse_grid(bc_str(text), o->grid, &error);
    if (!o->has_grid)
        dap_fail(r, "\"grid\": %.300s", error.text);
    return o->has_grid;
}

static bool take_given(dap *d, dap_request *r)
{
    run_options *o = &d->job->options;
    const cJSON *list = dap_member(r->arguments, "args"), *item;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || o->given_count == RUN_MAX_PAIRS) {
            dap_fail(r, "\"args\" is a list of at most %d texts, as 'tilevm run' takes them", RUN_MAX_PAIRS);
            return false;
        }
        o->given[o->given_count++] = kept(d, item->valuestring);
        if (!o->given[o->given_count - 1]) {
            dap_fail(r, "out of memory");
            return false;
        }
    }
    return true;
}

static bool take_options(dap *d, dap_request *r)
{
    run_options *o = &d->job->options;
    const char *program = dap_text(r->arguments, "program");
    d->stop_on_entry = dap_flag(r->arguments, "stopOnEntry", false);
    d->s.folder = d->s.folder ? d->s.folder : kept(d, dap_text(r->arguments, "source"));
    if (d->given)
        return true;
    if (!program) {
        dap_fail(r, "\"program\" is missing: the file with the kernel");
        return false;
    }
    o->given_count = 0;
    o->path = kept(d, program);
    o->entry = kept(d, dap_text(r->arguments, "entry"));
    o->names = kept(d, dap_text(r->arguments, "names"));
    o->args_path = kept(d, dap_text(r->arguments, "argsFile"));
    return o->path && take_grid(d, r) && take_given(d, r);
}

/* ---- opening ---- */

static void keep_diag(void *user, const tv_diag *diag)
{
    dap *d = user;
    bc_text_str(&d->told, diag->message);
    bc_text_char(&d->told, '\n');
    if (d->opened)
        dap_output(d, "stderr", bc_text_get(&d->told));
}

static bool tell_output(void *user, const void *bytes, size_t size)
{
    dap_output(user, "stdout", (tv_str){bytes, size});
    return true;
}

void dap_launch(dap *d, dap_request *r)
{
    json_doc doc;
    if (!check_token(d, r))
        return;
    if (d->opened || d->s.d) {
        dap_fail(r, "a kernel was launched before");
        return;
    }
    if (!take_options(d, r)) {
        if (!r->error[0])
            dap_fail(r, "out of memory");
        return;
    }
    report_file_init(&d->job->report, cli_shown_path(d->job->options.path));
    d->job->sink = (tv_sink){.user = d, .report = keep_diag};
    d->job->options.vm.output = (tv_writer){.user = d, .write = tell_output};
    d->s.job = d->job;
    int code = debug_open(&d->s);
    if (code != CLI_OK) {
        dap_fail(r, "%.380s", d->job->message[0] ? d->job->message : bc_text_words(&d->told));
        d->done = true;
        return;
    }
    d->s.color = false;
    d->opened = true;
    dap_event(&doc, "initialized");
    dap_send(d, &doc);
}

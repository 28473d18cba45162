/* Command lines of the debugger, as `tilevm debug -x` reads them from a file. Each is done or fails with a reason, and
   the output is text and, as with --json, an object. */
#include "bytecode/base/visible.h"
#include "tests/fuzz/debugged.h"
#include "tools/tilevm/debug/answer.h"

enum { MOST = 4000, MOST_LINES = 40 };

static bool refuse(debug_session *s, const char *path, vm_debug_error *error)
{
    (void)s;
    (void)path;
    return debug_fail(error, "no files here");
}

static void do_line(debug_session *s, tv_str line)
{
    vm_debug_error error = {{0}};
    bc_text out, object;
    json_doc doc;
    bc_text_init(&out, NULL);
    bc_text_init(&object, NULL);
    debug_answer_begin(s, &doc);
    bool good = debug_do(s, line, &out, &error);
    s->answer = NULL;
    FUZZ_CHECK(json_finish_line(&doc, &object));
    bc_text_release(&object);
    FUZZ_CHECK(good || error.text[0]);
    FUZZ_CHECK(memchr(error.text, 0, sizeof error.text));
    bc_text_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_args args = {.color = CLI_NEVER};
    if (size > MOST)
        return 0;
    debugged_make();
    run_job *job = debugged_job(&args);
    debug_session s = {.job = job, .source = refuse};
    report_file_init(&job->report, debugged_path);
    job->sink = report_file_sink(&job->report);
    FUZZ_CHECK(debug_open(&s) == CLI_OK);
    const char *text = (const char *)data, *end = text + size;
    for (unsigned n = 0; text < end && n < MOST_LINES && !s.quit; n++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;
        do_line(&s, (tv_str){text, (size_t)(stop - text)});
        text = newline ? newline + 1 : end;
    }
    debug_close(&s);
    run_job_release(job);
    free(job);
    return 0;
}

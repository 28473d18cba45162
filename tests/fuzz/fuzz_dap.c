/* Messages of the Debug Adapter Protocol. The first byte says in which form the rest comes: with headers, or a message
   a line. A kernel is launched first; whatever comes then, the debugger answers or ends. */
#include "tests/fuzz/debugged.h"
#include "tools/tilevm/debug/dap.h"

enum { MOST = 60000 }; /* bytes that a pipe takes at once */

static void serve(const uint8_t *data, size_t size, bool lines)
{
    static const char launch[] = "{\"type\":\"request\",\"command\":\"launch\",\"arguments\":{}}";
    int ends[2];
    cli_args args = {.color = CLI_NEVER};
    run_job *job = debugged_job(&args);
    dap *d = calloc(1, sizeof *d);
    FUZZ_CHECK(d && pipe(ends) == 0);
    FUZZ_CHECK(write(ends[1], data, size) == (ssize_t)size);
    close(ends[1]);
    d->job = job;
    d->args = &args;
    d->given = true;
    d->wire = (dap_wire){.in = ends[0], .out = -1, .lines = lines};
    bc_text_init(&d->told, NULL);
    bc_arena_init(&d->texts, NULL, 0);
    dap_handle(d, launch, strlen(launch));
    FUZZ_CHECK(d->opened);
    dap_serve(d);
    FUZZ_CHECK(d->ref_count <= DAP_MOST_REFS);
    dap_release(d);
    run_job_release(job);
    close(ends[0]);
    free(d);
    free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    debugged_make();
    if (size && size <= MOST)
        serve(data + 1, size - 1, data[0] != 'h');
    return 0;
}

/* Messages of the Debug Adapter Protocol. The first byte says in which form the rest comes: with headers, or a message
   a line. A kernel is launched first; whatever comes then, the debugger answers or ends. */
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/tilevm/debug/dap.h"

enum { MOST = 60000 }; /* bytes that a pipe takes at once */

static const char kernel[] =
    "entry @k(%p: tile<ptr<f32>>) {\n"
    "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
    "  %zero = constant <i32: 0> : tile<i32>\n"
    "  %one = constant <i32: 1> : tile<i32>\n"
    "  %n = constant <i32: 3> : tile<i32>\n"
    "  %f = constant <f32: 0.0> : tile<4x8xf32>\n"
    "  %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%a = %f) -> (tile<4x8xf32>) {\n"
    "    %b = divf %a, %a : tile<4x8xf32>\n"
    "    continue %b : tile<4x8xf32>\n"
    "  }\n"
    "  %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>\n"
    "  %v, %t = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token\n"
    "  %s = store_ptr_tko weak %q, %v token=%t : tile<ptr<f32>>, tile<f32> -> token\n"
    "  return\n"
    "}\n";

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

static bool write_file(void *user, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, user) == size;
}

static void make_file(void)
{
    tv_module *module;
    snprintf(path, sizeof path, "/tmp/tilevm-fuzz-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    FUZZ_CHECK(file);
    atexit(remove_file);
    FUZZ_CHECK(tv_module_parse(kernel, strlen(kernel), 0, NULL, (tv_sink){0}, &module) == TV_OK);
    FUZZ_CHECK(tv_module_verify(module, NULL, (tv_sink){0}) == TV_OK);
    FUZZ_CHECK(tv_module_write(module, (tv_sink){0}, (tv_writer){file, write_file}) == TV_OK);
    tv_module_close(module);
    fclose(file);
}

static void serve(const uint8_t *data, size_t size, bool lines)
{
    static const char launch[] = "{\"type\":\"request\",\"command\":\"launch\",\"arguments\":{}}";
    int ends[2];
    cli_args args = {.color = CLI_NEVER};
    run_job *job = calloc(1, sizeof *job);
    dap *d = calloc(1, sizeof *d);
    FUZZ_CHECK(job && d && pipe(ends) == 0);
    FUZZ_CHECK(write(ends[1], data, size) == (ssize_t)size);
    close(ends[1]);
    job->args = &args;
    job->options.path = path;
    job->options.has_grid = true;
    job->options.grid[0] = 3;
    job->options.grid[1] = job->options.grid[2] = 1;
    job->options.given[0] = "ones(f32,3)";
    job->options.given_count = 1;
    job->options.vm.step_limit = 100000;
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
    if (!path[0])
        make_file();
    if (size && size <= MOST)
        serve(data + 1, size - 1, data[0] != 'h');
    return 0;
}

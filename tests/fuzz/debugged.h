/* A kernel in a file, for the fuzz targets of the debugger: it has a loop, makes NaNs, reads and writes an array. */
#ifndef TILEVM_TESTS_FUZZ_DEBUGGED_H
#define TILEVM_TESTS_FUZZ_DEBUGGED_H

#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/tilevm/run/run.h"

static const char debugged_kernel[] =
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

static char debugged_path[64];

static inline void debugged_remove(void)
{
    unlink(debugged_path);
}

static inline bool debugged_write(void *user, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, user) == size;
}

/* Makes the file, if it was not made before; it is removed at exit. */
static inline void debugged_make(void)
{
    tv_module *module;
    if (debugged_path[0])
        return;
    snprintf(debugged_path, sizeof debugged_path, "/tmp/tilevm-fuzz-XXXXXX");
    int fd = mkstemp(debugged_path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    FUZZ_CHECK(file);
    atexit(debugged_remove);
    FUZZ_CHECK(tv_module_parse(debugged_kernel, strlen(debugged_kernel), 0, NULL, (tv_sink){0}, &module) == TV_OK);
    FUZZ_CHECK(tv_module_verify(module, NULL, (tv_sink){0}) == TV_OK);
    FUZZ_CHECK(tv_module_write(module, (tv_sink){0}, (tv_writer){file, debugged_write}) == TV_OK);
    tv_module_close(module);
    fclose(file);
}

/* A job that runs it on three tile blocks. */
static inline run_job *debugged_job(cli_args *args)
{
    run_job *job = calloc(1, sizeof *job);
    FUZZ_CHECK(job);
    job->args = args;
    job->options.path = debugged_path;
    job->options.has_grid = true;
    job->options.grid[0] = 3;
    job->options.grid[1] = job->options.grid[2] = 1;
    job->options.given[0] = "ones(f32,3)";
    job->options.given_count = 1;
    job->options.vm.step_limit = 100000;
    return job;
}

#endif

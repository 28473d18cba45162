/* How fast the debugger is: to its first stop, in steps, under a condition that is far away, and back. Everything
   runs on one thread, and times are those of the processor, so that other work on the machine does not count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tilevm/tilevm.h"
#include "vm/debug/debug.h"

#define VIEW(n) "tensor_view<" n "xf32, strides=[1]>"
#define PART(t, n) "partition_view<tile=(" t "), " VIEW(n) ">"

/* Ten million ops on scalars: what a step costs shows, and nothing else. */
static const char scalar_kernel[] =
    "entry @k(%p: tile<ptr<f32>>) {\n"
    "%zero = constant <i32: 0> : tile<i32>\n"
    "%one = constant <i32: 1> : tile<i32>\n"
    "%n = constant <i32: 2500000> : tile<i32>\n"
    "%s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%a = %zero) -> (tile<i32>) {\n"
    "  %b = addi %a, %i : tile<i32>\n"
    "  %c = xori %b, %one : tile<i32>\n"
    "  %d = muli %c, %b : tile<i32>\n"
    "  continue %d : tile<i32>\n"
    "}\n"
    "return\n}\n";

/* A chain of element-wise ops on tiles of 4096 elements, in 256 tile blocks. */
static const char chain_kernel[] =
    "entry @k(%p: tile<ptr<f32>>) {\n"
    "%x, %y, %z = get_tile_block_id : tile<i32>\n"
    "%v = make_tensor_view %p, shape = [1048576], strides = [1] : " VIEW(
        "1048576") "\n"
                   "%w = make_partition_view %v : " PART(
                       "4096", "1048576") "\n"
                                          "%t, %t0 = load_view_tko weak %w[%x] : " PART(
                                              "4096",
                                              "1048576") ", tile<i32> -> tile<4096xf32>, token\n"
                                                         "%a = exp %t : tile<4096xf32>\n"
                                                         "%b = addf %a, %t : tile<4096xf32>\n"
                                                         "%c = mulf %b, %a : tile<4096xf32>\n"
                                                         "%d = sqrt %c : tile<4096xf32>\n"
                                                         "%t1 = store_view_tko weak %d, %w[%x] token=%t0 : "
                                                         "tile<4096xf32>, " PART("4096",
                                                                                 "1048576") ", tile<i32> -> token\n"
                                                                                            "return\n}\n";

/* Products of 64 x 64 tiles along a loop. */
static const char product_kernel[] =
    "entry @k(%p: tile<ptr<f32>>) {\n"
    "%zero = constant <i32: 0> : tile<i32>\n"
    "%one = constant <i32: 1> : tile<i32>\n"
    "%n = constant <i32: 256> : tile<i32>\n"
    "%f = constant <f32: 0.0> : tile<64x64xf32>\n"
    "%v = make_tensor_view %p, shape = [16384, 64], strides = [64, 1] : tensor_view<16384x64xf32, strides=[64,1]>\n"
    "%w = make_partition_view %v : partition_view<tile=(64x64), tensor_view<16384x64xf32, strides=[64,1]>>\n"
    "%s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%a = %f) -> (tile<64x64xf32>) {\n"
    "  %t, %t0 = load_view_tko weak %w[%i, %zero] : partition_view<tile=(64x64), "
    "tensor_view<16384x64xf32, strides=[64,1]>>, tile<i32> -> tile<64x64xf32>, token\n"
    "  %m = mmaf %t, %t, %a : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>\n"
    "  continue %m : tile<64x64xf32>\n"
    "}\n"
    "%t1 = store_view_tko weak %s, %w[%zero, %zero] : tile<64x64xf32>, partition_view<tile=(64x64), "
    "tensor_view<16384x64xf32, strides=[64,1]>>, tile<i32> -> token\n"
    "return\n}\n";

enum { FLOATS = 1 << 20 };

typedef struct bench {
    tv_module *module;
    tv_vm *vm;
    float *memory;
    void *pointer;
    const void *params[1];
    uint32_t grid[3];
} bench;

static void report(void *user, const tv_diag *diag)
{
    (void)user;
    fprintf(stderr, "%s: %.*s\n", diag->rule, (int)diag->message.len, diag->message.ptr);
}

static const tv_sink sink = {.report = report};

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_debug: %s failed\n", what);
    exit(1);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void open_bench(bench *b, const char *text, uint32_t blocks)
{
    const tv_vm_options options = {.threads = 1, .batch = TV_BATCH_OFF};
    *b = (bench){.grid = {blocks, 1, 1}, .memory = calloc(FLOATS, sizeof *b->memory)};
    must(b->memory != NULL, "memory");
    b->pointer = b->memory;
    b->params[0] = &b->pointer;
    must(tv_module_parse(text, strlen(text), 0, NULL, sink, &b->module) == TV_OK, "parsing");
    must(tv_module_verify(b->module, NULL, sink) == TV_OK, "verifying");
    must(tv_vm_new(b->module, &options, sink, &b->vm) == TV_OK, "the machine");
    must(tv_vm_add_buffer(b->vm, b->memory, FLOATS * sizeof *b->memory, "p", true, sink) == TV_OK, "the buffer");
}

static void close_bench(bench *b)
{
    tv_vm_free(b->vm);
    tv_module_close(b->module);
    free(b->memory);
}

static vm_debug *open_debug(bench *b)
{
    vm_debug *d = NULL;
    must(vm_debug_open(b->vm, NULL, b->grid, b->params, 1, NULL, sink, &d) == TV_OK, "the session");
    return d;
}

static double plain_seconds(bench *b)
{
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        double start = seconds();
        must(tv_vm_run(b->vm, NULL, b->grid, b->params, 1, sink) == TV_OK, "the plain run");
        double took = seconds() - start;
        best = took < best ? took : best;
    }
    return best;
}

/* To the end, with a breakpoint whose condition holds nowhere at the first op of each tile block. */
static double debug_seconds(bench *b)
{
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        vm_debug_error error;
        vm_debug_event event;
        vm_debug *d = open_debug(b);
        must(vm_debug_break(d, (tv_str){"0 if bid.y == 7", 15}, false, &error) != 0, "the breakpoint");
        double start = seconds();
        vm_debug_continue(d, false, &event);
        double took = seconds() - start;
        must(event.why == VM_DEBUG_END, "the run");
        best = took < best ? took : best;
        vm_debug_close(d);
    }
    return best;
}

static void compare(const char *name, const char *text, uint32_t blocks)
{
    bench b;
    open_bench(&b, text, blocks);
    double plain = plain_seconds(&b), debugged = debug_seconds(&b);
    printf("%-9s  plain %8.2f ms   under a condition %8.2f ms   %3.0f %% of the plain speed\n", name, 1e3 * plain,
           1e3 * debugged, 100 * plain / debugged);
    close_bench(&b);
}

static void steps_and_back(void)
{
    enum { STEPS = 100000 };
    bench b;
    vm_debug_event event;
    vm_debug_error error;
    vm_debug_place at;
    size_t count, bytes;
    open_bench(&b, scalar_kernel, 1);
    double start = seconds();
    vm_debug *d = open_debug(&b);
    printf("first stop after %.2f ms\n", 1e3 * (seconds() - start));
    start = seconds();
    for (int i = 0; i < STEPS; i++)
        must(vm_debug_step_to(d, VM_DEBUG_OP, false, &event, &error), "a step");
    printf("steps: %.0f ops per second\n", STEPS / (seconds() - start));
    vm_debug_goto(d, UINT64_MAX, &event);
    vm_debug_where(d, &at);
    vm_debug_snapshots(d, &count, &bytes);
    uint64_t end = at.time;
    start = seconds();
    vm_debug_goto(d, end > 10000000 ? end - 10000000 : 0, &event);
    vm_debug_where(d, &at);
    printf("back over %llu ops: %.1f ms, with %zu snapshots in %zu KiB\n", (unsigned long long)(end - at.time),
           1e3 * (seconds() - start), count, bytes / 1024);
    vm_debug_goto(d, end - 1, &event);
    start = seconds();
    must(vm_debug_step_to(d, VM_DEBUG_OP, true, &event, &error), "a step back");
    printf("one step back: %.1f ms\n", 1e3 * (seconds() - start));
    vm_debug_close(d);
    close_bench(&b);
}

int main(void)
{
    steps_and_back();
    compare("scalars", scalar_kernel, 1);
    compare("chain", chain_kernel, 256);
    compare("products", product_kernel, 1);
    return 0;
}

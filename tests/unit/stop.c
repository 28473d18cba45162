/* Stopping a run: steps are exact wherever they end, and the progress callback comes, knows where it is and is obeyed
   within blocks and within ops. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"
#include "vm/run/schedule.h"

enum { BLOCKS = 3, ELEMENTS = 64 * BLOCKS };

typedef struct machine {
    tv_module *module;
    tv_vm *vm;
    tv_vm_options options;
    tv_vm_stats stats;
    char rule[16], op[32];
    uint32_t op_index;
    float out[ELEMENTS];
    /* what the progress callback saw */
    unsigned calls, stop_at;
    const char *stop_op; /* calls before this op do not count */
    tv_vm_place place;
} machine;

static void remember(void *user, const tv_diag *diag)
{
    machine *m = user;
    snprintf(m->rule, sizeof m->rule, "%s", diag->rule);
    snprintf(m->op, sizeof m->op, "%.*s", (int)diag->op.len, diag->op.ptr ? diag->op.ptr : "");
    m->op_index = diag->op_index;
}

static tv_status run(machine *m, const char *text, uint32_t blocks)
{
    const tv_sink sink = {.user = m, .report = remember};
    const uint32_t grid[3] = {blocks, 1, 1};
    void *out = m->out;
    const void *const params[1] = {&out};
    memset(m->out, 0, sizeof m->out);
    m->rule[0] = 0;
    m->calls = 0;
    m->options.user = m;
    tv_status status = tv_module_parse(text, strlen(text), 0, NULL, sink, &m->module);
    CHECK_MSG(status == TV_OK, "%s", m->rule);
    if (status != TV_OK)
        return status;
    CHECK(tv_module_verify(m->module, NULL, sink) == TV_OK);
    CHECK(tv_vm_new(m->module, &m->options, sink, &m->vm) == TV_OK);
    CHECK(tv_vm_add_buffer(m->vm, m->out, sizeof m->out, "out", true, sink) == TV_OK);
    status = tv_vm_run(m->vm, NULL, grid, params, 1, sink);
    tv_vm_get_stats(m->vm, &m->stats);
    tv_vm_free(m->vm);
    tv_module_close(m->module);
    return status;
}

/* ---- steps ---- */

#define VIEW "tensor_view<192xf32, strides=[1]>"
#define PART "partition_view<tile=(16), " VIEW ">"
#define LOAD(t, at) "%" t ", %t" t " = load_view_tko weak %p[%" at "] : " PART ", tile<i32> -> tile<16xf32>, token\n"
#define STORE(v, at) "store_view_tko weak %" v ", %p[%" at "] : tile<16xf32>, " PART ", tile<i32> -> token\n"

/* Fused chains with one and with two stores, loops in loops, branches, a break, and nothing
   that is left out. */
/* A line of the kernel a line. */
/* clang-format off */
static const char steps_kernel[] =
    "entry @k(%out: tile<ptr<f32>>) {\n"
    "%v = make_tensor_view %out, shape = [192], strides = [1] : " VIEW "\n"
    "%p = make_partition_view %v : " PART "\n"
    "%b, %by, %bz = get_tile_block_id : tile<i32>\n"
    "%zero = constant <i32: 0> : tile<i32>\n"
    "%one = constant <i32: 1> : tile<i32>\n"
    "%four = constant <i32: 4> : tile<i32>\n"
    "%first = muli %b, %four : tile<i32>\n"
    "%f = constant <f32: 1.5> : tile<16xf32>\n"
    "for %i in (%zero to %four, step %one) : tile<i32> {\n"
    "  %at = addi %first, %i : tile<i32>\n"
    LOAD("x", "at")
    "  %y = addf %x, %f : tile<16xf32>\n"
    STORE("y", "at")
    "  %z = mulf %y, %f : tile<16xf32>\n"
    "  %w = subf %z, %x : tile<16xf32>\n"
    STORE("w", "at")
    "  %odd = andi %i, %one : tile<i32>\n"
    "  %is = cmpi equal %odd, %one, signed : tile<i32> -> tile<i1>\n"
    "  if %is {\n"
    "    for %j in (%zero to %i, step %one) : tile<i32> {\n"
    LOAD("u", "at")
    "      %q = addf %u, %f : tile<16xf32>\n"
    STORE("q", "at")
    "      continue\n"
    "    }\n"
    "  } else {\n"
    "    %r = addf %z, %f : "
                                                                                        "tile<16xf32>\n"
    STORE("r", "at")
    "  }\n"
    "  continue\n"
    "}\n"
    "%s = loop "
                                                                                                  "iter_values(%n = "
                                                                                                  "%zero) : tile<i32> "
                                                                                                  "-> tile<i32> {\n"
    "  %m = addi %n, "
                                                                                                  "%one : tile<i32>\n"
    "  %end = cmpi equal "
                                                                                                  "%m, %four, signed : "
                                                                                                  "tile<i32> -> "
                                                                                                  "tile<i1>\n"
    "  if %end {\n"
    "    break %m : "
                                                                                                  "tile<i32>\n"
    "  }\n"
    "  continue %m : "
                                                                                                  "tile<i32>\n"
    "}\n"
    "%last = subi %s, "
                                                                                                  "%one : tile<i32>\n"
    "%at2 = addi %first, "
                                                                                                  "%last : "
                                                                                                  "tile<i32>\n"
    LOAD("e", "at2")
    "%g = "
                                                                                                             "negf %e "
                                                                                                             ": "
                                                                                                             "tile<"
                                                                                                             "16xf32>"
                                                                                                             "\n"
    STORE("g", "at2")
    "return\n"
    "}\n";
/* clang-format on */

static bool never(void *user, tv_str op, uint32_t op_index)
{
    (void)user;
    (void)op;
    (void)op_index;
    return false;
}

static void no_trace(void *user, const tv_trace *trace)
{
    (void)user;
    (void)trace;
}

/* With a trace hook ops stand on their own, so what they do is done one after the other: fused ones must leave the
   same, whatever the step is that the run ends at. */
static void check_steps(void)
{
    machine fused = {.options = {.threads = 1}},
            plain = {.options = {.threads = 1, .trace = no_trace, .trace_op = never}};
    CHECK(run(&fused, steps_kernel, BLOCKS) == TV_OK);
    uint64_t all = fused.stats.ops;
    CHECK_MSG(all > 200, "%llu ops", (unsigned long long)all);
    for (uint64_t n = 1; n <= all + 1; n++) {
        fused.options.step_limit = plain.options.step_limit = n;
        tv_status a = run(&fused, steps_kernel, BLOCKS), b = run(&plain, steps_kernel, BLOCKS);
        tv_status wanted = n < all ? TV_TRAP : TV_OK;
        CHECK_MSG(a == wanted && b == wanted, "%llu steps", (unsigned long long)n);
        CHECK_MSG(fused.stats.ops == (n < all ? n : all) && plain.stats.ops == fused.stats.ops,
                  "%llu steps: %llu and %llu", (unsigned long long)n, (unsigned long long)fused.stats.ops,
                  (unsigned long long)plain.stats.ops);
        CHECK_MSG(a == TV_OK || (fused.op_index == plain.op_index && strcmp(fused.rule, "X-LIM-01") == 0),
                  "%llu steps: op %u and %u", (unsigned long long)n, fused.op_index, plain.op_index);
        CHECK_MSG(memcmp(fused.out, plain.out, sizeof fused.out) == 0, "%llu steps", (unsigned long long)n);
    }
}

/* Several workers share the steps, to the last one. */
static void check_shared_steps(void)
{
    machine m = {.options = {.threads = 3}};
    CHECK(run(&m, steps_kernel, BLOCKS) == TV_OK);
    uint64_t all = m.stats.ops;
    for (uint64_t n = 1; n < all; n += 7) {
        m.options.step_limit = n;
        CHECK(run(&m, steps_kernel, BLOCKS) == TV_TRAP);
        CHECK_MSG(m.stats.ops == n, "%llu of %llu", (unsigned long long)m.stats.ops, (unsigned long long)n);
    }
    m.options.step_limit = all;
    CHECK(run(&m, steps_kernel, BLOCKS) == TV_OK);
}

/* ---- progress ---- */

static bool progress(void *user, uint64_t done, uint64_t total)
{
    machine *m = user;
    CHECK(done <= total);
    CHECK(tv_vm_where(m->vm, &m->place));
    if (m->stop_op && !bc_str_is(m->place.op, m->stop_op))
        return true;
    return ++m->calls < m->stop_at;
}

/* Stops at that call; the op is that one, or any. */
static machine stopped(const char *text, unsigned stop_at, const char *op)
{
    machine m = {.options = {.threads = 1, .progress = progress}, .stop_at = stop_at, .stop_op = op};
    CHECK(run(&m, text, 1) == TV_TRAP);
    CHECK_MSG(m.calls == stop_at && strcmp(m.rule, "X-LIM-02") == 0, "%u calls, %s", m.calls, m.rule);
    CHECK_MSG(!op || (bc_str_is(m.place.op, op) && strcmp(m.op, op) == 0), "%.*s, %s", (int)m.place.op.len,
              m.place.op.ptr, m.op);
    return m;
}

#define START "entry @k(%out: tile<ptr<f32>>) {\n"
#define BOUNDS                                     \
    "%zero = constant <i64: 0> : tile<i64>\n"      \
    "%one = constant <i64: 1> : tile<i64>\n"       \
    "%n = constant <i64: 100000000> : tile<i64>\n" \
    "%two = constant <i64: 2> : tile<i64>\n"

static void check_progress(void)
{
    machine m = stopped(START "loop {\n continue\n}\nreturn\n}\n", 3, "continue");
    CHECK(m.place.rounds == 0 && m.place.ops > 0);
    m = stopped(START BOUNDS "for %o in (%zero to %one, step %one) : tile<i64> {\n"
                             "for %i in (%one to %n, step %two) : tile<i64> {\n"
                             "for %j in (%zero to %n, step %one) : tile<i64> {\n continue\n}\n"
                             "continue\n}\ncontinue\n}\nreturn\n}\n",
                2, "continue");
    CHECK_MSG(m.place.rounds == 50000000 && m.place.round < 1000, "round %llu of %llu",
              (unsigned long long)m.place.round, (unsigned long long)m.place.rounds);
    /* large tiles: an op takes long */
    stopped(START "loop {\n"
                  "%a = iota : tile<4194304xi32>\n"
                  "%b = itof %a signed : tile<4194304xi32> -> tile<4194304xf32>\n"
                  "%c = reduce %b dim=0 identities=[0.0 : f32] : tile<4194304xf32> -> tile<f32>\n"
                  "(%x: tile<f32>, %y: tile<f32>) {\n%s = addf %x, %y : tile<f32>\nyield %s : tile<f32>\n}\n"
                  "continue\n}\nreturn\n}\n",
            2, NULL);
}

/* A product that is under way, and long from done. */
static void check_within_op(void)
{
    machine m = stopped(START "%a = iota : tile<16777216xi32>\n"
                              "%b = itof %a signed : tile<16777216xi32> -> tile<16777216xf32>\n"
                              "%x = reshape %b : tile<16777216xf32> -> tile<4096x4096xf32>\n"
                              "%z = mmaf %x, %x, %x : tile<4096x4096xf32>, tile<4096x4096xf32>, tile<4096x4096xf32>\n"
                              "print_tko \"%f\", %z : tile<4096x4096xf32> -> token\n"
                              "return\n}\n",
                        1, "mmaf");
    CHECK(m.stats.blocks == 0);
}

static void check_with_checks(void)
{
    machine m = {.options = {.progress = progress, .checks = TV_CHECK_RACES}, .stop_at = 2};
    CHECK(run(&m, START "loop {\n continue\n}\nreturn\n}\n", 2) == TV_TRAP);
    CHECK(m.calls == 2 && strcmp(m.rule, "X-LIM-02") == 0);
    tv_vm_place place;
    tv_vm *vm;
    CHECK(tv_module_parse("entry @k() { return }", 21, 0, NULL, (tv_sink){0}, &m.module) == TV_OK);
    CHECK(tv_module_verify(m.module, NULL, (tv_sink){0}) == TV_OK);
    CHECK(tv_vm_new(m.module, NULL, (tv_sink){0}, &vm) == TV_OK);
    CHECK(!tv_vm_where(vm, &place));
    tv_vm_free(vm);
    tv_module_close(m.module);
}

static void check_clock(void)
{
    double start = vm_seconds(), last = start;
    bool forward = true;
    for (unsigned i = 0; i < 1000000 && last - start < 1e-3; i++) {
        double now = vm_seconds();
        forward = forward && now >= last;
        last = now;
    }
    CHECK(forward && last > start);
}

static void check_until_readable(void)
{
    int pipe_[2];
    if (pipe(pipe_) != 0)
        return;
    void *user = (void *)(intptr_t)pipe_[0];
    CHECK(tv_vm_until_readable(user, 1, 2));
    CHECK(write(pipe_[1], "", 1) == 1);
    CHECK(!tv_vm_until_readable(user, 1, 2));
    close(pipe_[0]);
    close(pipe_[1]);
}

int main(void)
{
    check_clock();
    check_steps();
    check_shared_steps();
    check_progress();
    check_within_op();
    check_with_checks();
    check_until_readable();
    return TEST_END("stop");
}

/* The debugger: the same time is the same state, however it was reached; stops are where they were asked for, on and
   back; expressions mean what they say, and whatever is written in their place is refused. */
#include <string.h>

#include "tests/unit/test.h"
#include "tilevm/tilevm.h"
#include "vm/debug/state.h"

/* Every block waits for the one behind it, and has storage from alloca that moves. */
static const char waiting[] =
    "entry @k(%flag: tile<ptr<i32>>, %out: tile<ptr<i32>>) {\n"
    "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
    "  %zero = constant <i32: 0> : tile<i32>\n"
    "  %one = constant <i32: 1> : tile<i32>\n"
    "  %three = constant <i32: 3> : tile<i32>\n"
    "  %eight = constant <i32: 8> : tile<i32>\n"
    "  %want = subi %three, %x : tile<i32>\n"
    "  loop {\n"
    "    %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token\n"
    "    %up = cmpi equal %f, %want, signed : tile<i32> -> tile<i1>\n"
    "    if %up {\n"
    "      break\n"
    "    }\n"
    "    continue\n"
    "  }\n"
    "  %sum = for %i in (%zero to %eight, step %one) : tile<i32> iter_values(%a = %x) -> (tile<i32>) {\n"
    "    %m = alloca num_elem = 4, alignment = 4 : tile<ptr<i32>>\n"
    "    %s = store_ptr_tko weak %m, %a : tile<ptr<i32>>, tile<i32> -> token\n"
    "    %b, %t1 = load_ptr_tko weak %m token=%s : tile<ptr<i32>> -> tile<i32>, token\n"
    "    %c = addi %b, %i : tile<i32>\n"
    "    continue %c : tile<i32>\n"
    "  }\n"
    "  %p = offset %out, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
    "  %s1 = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token\n"
    "  %next = addi %want, %one : tile<i32>\n"
    "  %s2 = store_ptr_tko release device %flag, %next token=%s1 : tile<ptr<i32>>, tile<i32> -> token\n"
    "  return\n"
    "}\n";

/* A row of sums, in tiles; block 2 divides zero by zero. */
static const char sums[] =
    "entry @k(%in: tile<ptr<f32>>, %out: tile<ptr<f32>>) {\n"
    "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
    "  %from = constant <i32: 0> : tile<i32>\n"
    "  %to = constant <i32: 5> : tile<i32>\n"
    "  %step = constant <i32: 1> : tile<i32>\n"
    "  %nil = constant <f32: 0.0> : tile<4x8xf32>\n"
    "  %v = make_tensor_view %in, shape = [4, 40], strides = [40, 1] : tensor_view<4x40xf32, strides=[40,1]>\n"
    "  %w = make_partition_view %v : partition_view<tile=(4x8), tensor_view<4x40xf32, strides=[40,1]>>\n"
    "  %sum = for %i in (%from to %to, step %step) : tile<i32> iter_values(%acc = %nil) -> (tile<4x8xf32>) {\n"
    "    %t, %t0 = load_view_tko weak %w[%from, %i] : partition_view<tile=(4x8), tensor_view<4x40xf32, "
    "strides=[40,1]>>, tile<i32> -> tile<4x8xf32>, token\n"
    "    %n = addf %acc, %t : tile<4x8xf32>\n"
    "    continue %n : tile<4x8xf32>\n"
    "  }\n"
    "  %two = constant <i32: 2> : tile<i32>\n"
    "  %is = cmpi equal %x, %two, signed : tile<i32> -> tile<i1>\n"
    "  %r = if %is -> (tile<4x8xf32>) {\n"
    "    %q = divf %nil, %nil : tile<4x8xf32>\n"
    "    yield %q : tile<4x8xf32>\n"
    "  } else {\n"
    "    yield %sum : tile<4x8xf32>\n"
    "  }\n"
    "  %ov = make_tensor_view %out, shape = [16, 8], strides = [8, 1] : tensor_view<16x8xf32, strides=[8,1]>\n"
    "  %ow = make_partition_view %ov : partition_view<tile=(4x8), tensor_view<16x8xf32, strides=[8,1]>>\n"
    "  %t1 = store_view_tko weak %r, %ow[%x, %from] : tile<4x8xf32>, partition_view<tile=(4x8), "
    "tensor_view<16x8xf32, strides=[8,1]>>, tile<i32> -> token\n"
    "  return\n"
    "}\n";

enum { IN = 160, OUT = 128, BLOCKS = 4 };

typedef struct bench {
    tv_module *module;
    tv_vm *vm;
    union {
        float f[IN];
        int32_t i[IN];
    } in, out;
    void *pointers[2];
    const void *params[2];
    vm_debug *d;
    char printed[256];
} bench;

static const tv_sink quiet = {0};

static void set_memory(bench *b)
{
    memset(&b->in, 0, sizeof b->in);
    memset(&b->out, 0, sizeof b->out);
}

static void open_bench(bench *b, const char *text, bool floats, size_t snapshot_bytes)
{
    const uint32_t grid[3] = {BLOCKS, 1, 1};
    static const int64_t rows[2] = {4, 40}, out_rows[2] = {16, 8}, flat[1] = {IN};
    const tv_array in = {.data = &b->in,
                         .dtype = floats ? TV_F32 : TV_I32,
                         .ndim = floats ? 2 : 1,
                         .shape = floats ? rows : flat};
    const tv_array out = {.data = &b->out,
                          .dtype = floats ? TV_F32 : TV_I32,
                          .ndim = floats ? 2 : 1,
                          .shape = floats ? out_rows : flat};
    const vm_debug_options options = {.snapshot_bytes = snapshot_bytes};
    const tv_vm_options machine = {.threads = 1};
    memset(b, 0, sizeof *b);
    for (int i = 0; floats && i < IN; i++)
        b->in.f[i] = (float)(i % 40);
    b->pointers[0] = &b->in;
    b->pointers[1] = &b->out;
    b->params[0] = &b->pointers[0];
    b->params[1] = &b->pointers[1];
    CHECK(tv_module_parse(text, strlen(text), 0, NULL, quiet, &b->module) == TV_OK);
    CHECK(tv_module_verify(b->module, NULL, quiet) == TV_OK);
    CHECK(tv_vm_new(b->module, &machine, quiet, &b->vm) == TV_OK);
    CHECK(tv_vm_add_buffer(b->vm, &b->in, sizeof b->in, "in", true, quiet) == TV_OK);
    CHECK(tv_vm_add_buffer(b->vm, &b->out, sizeof b->out, "out", true, quiet) == TV_OK);
    CHECK(tv_vm_describe_array(b->vm, &in, "in", false, quiet) == TV_OK);
    CHECK(tv_vm_describe_array(b->vm, &out, "out", false, quiet) == TV_OK);
    CHECK(vm_debug_open(b->vm, NULL, grid, b->params, 2, &options, quiet, &b->d) == TV_OK);
    if (!b->d)
        exit(1);
}

static void close_bench(bench *b)
{
    vm_debug_close(b->d);
    tv_vm_free(b->vm);
    tv_module_close(b->module);
}

/* ---- time ---- */

static uint64_t mixed(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Of memory, of where the blocks are, and of all values that can be seen. */
static uint64_t state_of(bench *b)
{
    uint64_t h = 1;
    vm_debug_place at;
    vm_debug_block block;
    const bc_value *value;
    vm_debug_where(b->d, &at);
    h = mixed(h, &at.time, sizeof at.time);
    h = mixed(h, &at.position, sizeof at.position);
    h = mixed(h, &at.block, sizeof at.block);
    h = mixed(h, &b->in, sizeof b->in);
    h = mixed(h, &b->out, sizeof b->out);
    for (size_t i = 0; vm_debug_block_at(b->d, i, &block); i++) {
        h = mixed(h, block.block, sizeof block.block);
        CHECK(vm_debug_choose(b->d, block.block));
        for (size_t k = 0; (value = vm_debug_local_at(b->d, k)) != NULL; k++) {
            vm_debug_value v;
            vm_debug_error error;
            unsigned char bytes[1024];
            CHECK(vm_debug_value_of(b->d, value, &v, &error));
            if (v.form != VM_DEBUG_DATA || v.count * vm_debug_item(&v) > sizeof bytes)
                continue;
            vm_debug_copy(&v, bytes);
            h = mixed(h, bytes, (size_t)v.count * vm_debug_item(&v));
        }
    }
    if (vm_debug_block_at(b->d, 0, &block))
        CHECK(vm_debug_choose(b->d, block.block));
    return h;
}

static uint32_t below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

/* Walks to the end and notes every state, then jumps about. Snapshots are taken as often as can be. */
static void check_time(const char *text, bool floats, size_t snapshot_bytes)
{
    bench b;
    uint64_t states[4096];
    size_t end = 0, count, bytes;
    vm_debug_event event = {.why = VM_DEBUG_REACHED};
    vm_debug_place at;
    uint32_t seed = 7;
    open_bench(&b, text, floats, snapshot_bytes);
    b.d->snapshot_gap = 0;
    b.d->chunk = 1;
    do {
        b.d->snapshot_at = 0;
        states[end++] = state_of(&b);
        vm_debug_goto(b.d, end, &event);
        if (event.why == VM_DEBUG_REACHED && end % 16 == 0)
            dbg_snapshot_take(b.d);
    } while (event.why == VM_DEBUG_REACHED && end < TV_COUNT(states));
    CHECK(event.why == VM_DEBUG_END && end > 100);
    vm_debug_snapshots(b.d, &count, &bytes);
    CHECK_MSG(count > 1 && bytes <= snapshot_bytes, "%zu snapshots in %zu bytes", count, bytes);
    for (unsigned i = 0; i < 300; i++) {
        uint64_t time = below(&seed, (uint32_t)end);
        vm_debug_goto(b.d, time, &event);
        vm_debug_where(b.d, &at);
        CHECK_MSG(at.time == time && state_of(&b) == states[time], "time %u of %zu", (unsigned)time, end);
        if (i % 3 == 0 && time > 0) {
            vm_debug_error error;
            CHECK(vm_debug_step_to(b.d, VM_DEBUG_OP, true, &event, &error));
            vm_debug_where(b.d, &at);
            CHECK(at.time < time && state_of(&b) == states[at.time]);
        }
    }
    close_bench(&b);
}

/* What the debugger runs is what the machine runs. */
static void check_same_results(const char *text, bool floats)
{
    bench b, plain;
    const uint32_t grid[3] = {BLOCKS, 1, 1};
    vm_debug_event event;
    open_bench(&b, text, floats, 0);
    vm_debug_continue(b.d, false, &event);
    CHECK(event.why == VM_DEBUG_END);
    plain = b;
    set_memory(&b);
    for (int i = 0; floats && i < IN; i++)
        b.in.f[i] = (float)(i % 40);
    const tv_vm_options machine = {.threads = BLOCKS};
    tv_vm *vm;
    CHECK(tv_vm_new(b.module, &machine, quiet, &vm) == TV_OK);
    CHECK(tv_vm_add_buffer(vm, &b.in, sizeof b.in, "in", true, quiet) == TV_OK);
    CHECK(tv_vm_add_buffer(vm, &b.out, sizeof b.out, "out", true, quiet) == TV_OK);
    CHECK(tv_vm_run(vm, NULL, grid, b.params, 2, quiet) == TV_OK);
    CHECK(memcmp(&b.in, &plain.in, sizeof b.in) == 0 && memcmp(&b.out, &plain.out, sizeof b.out) == 0);
    tv_vm_free(vm);
    close_bench(&b);
}

/* ---- stops ---- */

static unsigned must_break(bench *b, const char *text)
{
    vm_debug_error error;
    unsigned n = vm_debug_break(b->d, bc_str(text), false, &error);
    CHECK_MSG(n, "%s: %s", text, error.text);
    return n;
}

static void must_stop(bench *b, bool back, vm_debug_why why, uint32_t block, uint64_t *out_time)
{
    vm_debug_event event;
    vm_debug_place at;
    vm_debug_continue(b->d, back, &event);
    vm_debug_where(b->d, &at);
    CHECK_MSG(event.why == why && (why == VM_DEBUG_END || at.block[0] == block), "why %d, block %u, %s", (int)event.why,
              at.block[0], event.text);
    *out_time = at.time;
}

static void check_breaks(void)
{
    bench b;
    uint64_t first, second, third, back;
    open_bench(&b, sums, true, 0);
    must_break(&b, "addf if %loopIdx == 3 and bid.x != 1");
    must_stop(&b, false, VM_DEBUG_BREAKPOINT, 0, &first);
    must_stop(&b, false, VM_DEBUG_BREAKPOINT, 2, &second);
    must_stop(&b, false, VM_DEBUG_BREAKPOINT, 3, &third);
    must_stop(&b, true, VM_DEBUG_BREAKPOINT, 2, &back);
    CHECK(back == second);
    must_stop(&b, true, VM_DEBUG_BREAKPOINT, 0, &back);
    CHECK(back == first);
    must_stop(&b, true, VM_DEBUG_BEGIN, 0, &back);
    CHECK(back == 0);
    vm_debug_delete(b.d, 1);
    unsigned n = must_break(&b, "block 3");
    must_stop(&b, false, VM_DEBUG_BREAKPOINT, 3, &back);
    vm_debug_delete(b.d, n);
    must_stop(&b, false, VM_DEBUG_END, 0, &back);
    close_bench(&b);
}

static void check_watches(void)
{
    bench b;
    uint64_t time, back;
    vm_debug_error error;
    vm_debug_write who;
    open_bench(&b, sums, true, 0);
    CHECK(vm_debug_watch(b.d, bc_str("out[13, 2]"), &error));
    must_stop(&b, false, VM_DEBUG_WATCHPOINT, 3, &time);
    CHECK(vm_debug_who(b.d, bc_str("out[13, 2]"), &who, &error));
    CHECK(who.block[0] == 3 && who.time == time - 1 && who.element == 1 * 8 + 2);
    CHECK(vm_debug_who(b.d, bc_str("out[1, 0]"), &who, &error) && who.block[0] == 0);
    CHECK(!vm_debug_who(b.d, bc_str("in[0, 0]"), &who, &error) && !error.text[0]);
    must_stop(&b, false, VM_DEBUG_END, 0, &back);
    must_stop(&b, true, VM_DEBUG_WATCHPOINT, 3, &back);
    CHECK(back == time);
    CHECK(!vm_debug_watch(b.d, bc_str("%sum"), &error) && !vm_debug_watch(b.d, bc_str("0x10, 4"), &error));
    close_bench(&b);
}

static void check_catches(void)
{
    bench b;
    uint64_t time, back;
    vm_debug_error error;
    vm_debug_value v;
    open_bench(&b, sums, true, 0);
    CHECK(vm_debug_catch(b.d, bc_str("nan"), &error));
    must_stop(&b, false, VM_DEBUG_CAUGHT, 2, &time);
    CHECK(vm_debug_evaluate(b.d, bc_str("nans(%3)"), &v, &error) && v.i == 32);
    must_stop(&b, false, VM_DEBUG_END, 0, &back);
    must_stop(&b, true, VM_DEBUG_CAUGHT, 2, &back);
    CHECK(back == time);
    close_bench(&b);
}

/* ---- steps ---- */

static void must_step(bench *b, vm_debug_step step, bool back, uint32_t position)
{
    vm_debug_event event;
    vm_debug_error error = {{0}};
    vm_debug_place at;
    bool good = vm_debug_step_to(b->d, step, back, &event, &error);
    vm_debug_where(b->d, &at);
    CHECK_MSG(good && at.position == position, "step %d: at op %u, not %u; %s", (int)step, at.position, position,
              error.text);
}

static void check_steps(void)
{
    bench b;
    uint64_t time;
    vm_debug_event event;
    vm_debug_error error;
    open_bench(&b, sums, true, 0);
    must_break(&b, "for");
    must_stop(&b, false, VM_DEBUG_BREAKPOINT, 0, &time);
    must_step(&b, VM_DEBUG_ITERATION, false, 8); /* into the loop */
    must_step(&b, VM_DEBUG_OP, false, 9);
    must_step(&b, VM_DEBUG_ITERATION, false, 8);
    must_step(&b, VM_DEBUG_OP, false, 9);
    must_step(&b, VM_DEBUG_ITERATION, true, 8);
    must_step(&b, VM_DEBUG_ITERATION, true, 8);
    must_step(&b, VM_DEBUG_OUT, true, 7);
    must_step(&b, VM_DEBUG_OVER, false, 11); /* over the loop */
    must_step(&b, VM_DEBUG_OVER, true, 7);
    must_step(&b, VM_DEBUG_LINE, false, 8); /* into it */
    must_step(&b, VM_DEBUG_OUT, false, 11);
    CHECK(!vm_debug_step_to(b.d, VM_DEBUG_ITERATION, false, &event, &error));
    vm_debug_delete(b.d, 1);
    must_step(&b, VM_DEBUG_BLOCK, false, 0);
    close_bench(&b);
}

/* ---- expressions ---- */

static double number(bench *b, const char *text)
{
    vm_debug_value v;
    vm_debug_error error;
    bool good = vm_debug_evaluate(b->d, bc_str(text), &v, &error);
    CHECK_MSG(good && v.form == VM_DEBUG_NUMBER, "%s: %s", text, good ? "no number" : error.text);
    return good ? v.d : -1;
}

static void refused(bench *b, const char *text, const char *words)
{
    vm_debug_value v;
    vm_debug_error error = {{0}};
    CHECK_MSG(!vm_debug_evaluate(b->d, bc_str(text), &v, &error) && strstr(error.text, words), "%s: %s", text,
              error.text);
}

static void check_expressions(void)
{
    bench b;
    uint64_t time;
    char deep[400] = "";
    open_bench(&b, sums, true, 0);
    must_break(&b, "addf if %loopIdx == 2");
    must_stop(&b, false, VM_DEBUG_BREAKPOINT, 0, &time);
    CHECK(number(&b, "1 + 2 * 3 - -4") == 11);
    CHECK(number(&b, "7 / 2 + 7 % 4 + 0x10") == 22);
    CHECK(number(&b, "1.5e1 / 2") == 7.5);
    CHECK(number(&b, "not 0 and (1 or 0) && !(2 < 1)") == 1);
    CHECK(number(&b, "bid == (0, 0, 0)") == 1 && number(&b, "bid != (0, 0, 0)") == 0);
    CHECK(number(&b, "%tile[1, 3] == 19") == 1);
    CHECK(number(&b, "%iterArg0[1, 3] == 3 + 11") == 1);
    CHECK(number(&b, "max(%tile[:, 2:4])") == 19 && number(&b, "min(%tile[2, -1:])") == 23);
    CHECK(number(&b, "mean(in[0, :8])") == 3.5 && number(&b, "sum(in[0:2, 1])") == 2);
    CHECK(number(&b, "%tile has nan or out has inf") == 0);
    CHECK(number(&b, "nan == nan") == 0 && number(&b, "inf > 1e300") == 1);
    CHECK(number(&b, "count(%tile) + op + time * 0 + abs(-2)") == 32 + 9 + 2);
    refused(&b, "", "missing");
    refused(&b, "1 +", "missing");
    refused(&b, "(1, 2", "missing");
    refused(&b, "1 1", "too much");
    refused(&b, "%nobody", "no value");
    refused(&b, "%2", "not there yet");
    refused(&b, "%tile[4, 0] + 0", "outside");
    refused(&b, "%tile[0, 0, 0]", "rank 2");
    refused(&b, "%tile + 1", "elements");
    refused(&b, "somebody", "no array");
    refused(&b, "1 / 0", "zero");
    refused(&b, "in[3:3]", "nothing");
    memset(deep, '(', sizeof deep - 1);
    refused(&b, deep, "deep");
    memset(deep, '-', sizeof deep - 1);
    refused(&b, deep, "deep");
    close_bench(&b);
}

/* ---- memory that cannot be had ---- */

typedef struct supply {
    unsigned long left, held;
} supply;

static void *take(void *user, size_t size)
{
    supply *s = user;
    if (!s->left)
        return NULL;
    s->left--;
    s->held++;
    return malloc(size);
}

static void give_back(void *user, void *memory, size_t size)
{
    (void)size;
    ((supply *)user)->held--;
    free(memory);
}

/* The n-th allocation fails, for every n. */
static void check_starved(void)
{
    bench b;
    const uint32_t grid[3] = {BLOCKS, 1, 1};
    vm_debug_event event;
    vm_debug_error error;
    bool whole = false;
    open_bench(&b, waiting, false, 0);
    for (unsigned long n = 0; n < 2000 && !whole; n++) {
        supply s = {n, 0};
        tv_allocator allocator = {&s, take, give_back};
        const tv_vm_options machine = {.threads = 1, .allocator = &allocator};
        tv_vm *vm = NULL;
        vm_debug *d = NULL;
        tv_status status = tv_vm_new(b.module, &machine, quiet, &vm);
        set_memory(&b);
        if (status == TV_OK)
            status = tv_vm_add_buffer(vm, &b.in, sizeof b.in, "in", true, quiet);
        if (status == TV_OK)
            status = tv_vm_add_buffer(vm, &b.out, sizeof b.out, "out", true, quiet);
        if (status == TV_OK)
            status = vm_debug_open(vm, NULL, grid, b.params, 2, NULL, quiet, &d);
        if (status == TV_OK && vm_debug_break(d, bc_str("16 if %loopIdx == 7"), false, &error)) {
            vm_debug_continue(d, false, &event);
            whole = event.why == VM_DEBUG_BREAKPOINT;
            vm_debug_goto(d, 5, &event);
        }
        CHECK_MSG(status == TV_OK || status == TV_NO_MEMORY, "allocation %lu: %d", n, (int)status);
        vm_debug_close(d);
        tv_vm_free(vm);
        CHECK_MSG(s.held == 0, "allocation %lu leaves %lu", n, s.held);
    }
    CHECK(whole);
    close_bench(&b);
}

int main(void)
{
    check_time(waiting, false, 1 << 20);
    check_time(waiting, false, 24 << 10);
    check_time(sums, true, 1 << 20);
    check_same_results(waiting, false);
    check_same_results(sums, true);
    check_breaks();
    check_watches();
    check_catches();
    check_steps();
    check_expressions();
    check_starved();
    return TEST_END("unit/debug");
}

/* Functions of f32 that give the bits of CUDA's own: compiled to PTX and run on the simulator, against results that
   were measured on a GPU (torch on an H200). The simulator rounds what a GPU approximates, so rows where that shows are
   not among them. */
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/ptxsim/harness.h"
#include "tests/ptxsim/ptxsim.h"
#include "tests/unit/test.h"

typedef struct row {
    const char *function;
    uint32_t x, y;
} row;

static const row rows[] = {
#define BITS(function, x, y) {#function, x, y},
#include "tests/unit/function_bits.def"
};

enum { ROWS = sizeof rows / sizeof *rows, TILE = 256 };

static void report(void *user, const tv_diag *d)
{
    fprintf(stderr, "%s: %s: %.*s\n", (const char *)user, d->rule, (int)d->message.len, d->message.ptr);
}

/* y = function(x), count elements, a tile each block. */
static void put_kernel(bc_text *out, const char *function, uint32_t count)
{
    char view[64], parts[128], tile[32];
    snprintf(view, sizeof view, "tensor_view<%uxf32, strides=[1]>", count);
    snprintf(parts, sizeof parts, "partition_view<tile=(%u), %s>", (unsigned)TILE, view);
    snprintf(tile, sizeof tile, "tile<%uxf32>", (unsigned)TILE);
    bc_text_puts(out,
                 "cuda_tile.module @m { entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {\n%0 = make_token : token\n");
    bc_text_puts(out, "%i, %j, %k = get_tile_block_id : tile<i32>\n");
    for (const char *name = "xy"; *name; name++) {
        bc_text_printf(out, "%%%c1 = make_tensor_view %%%c, shape = [%u], strides = [1] : %s\n", *name, *name, count,
                       view);
        bc_text_printf(out, "%%%c2 = make_partition_view %%%c1 : %s\n", *name, *name, parts);
    }
    bc_text_printf(out, "%%a, %%t = load_view_tko weak %%x2[%%i] token = %%0 : %s, tile<i32> -> %s, token\n", parts,
                   tile);
    bc_text_printf(out, "%%b = %s %%a : %s\n", function, tile);
    bc_text_printf(out, "%%u = store_view_tko weak %%b, %%y2[%%i] token = %%0 : %s, %s, tile<i32> -> token\n", tile,
                   parts);
    bc_text_puts(out, "return\n} }\n");
}

static void run(const row *first, uint32_t count, const bc_text *text, const char *name)
{
    static uint32_t x[ROWS], y[ROWS];
    char error[256] = "";
    ptxsim *sim = ptxsim_load(text->ptr, text->len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", name, error);
    if (!sim)
        return;
    for (uint32_t i = 0; i < count; i++)
        x[i] = first[i].x;
    uint64_t address[] = {ptxsim_buffer_add(sim, x, 4 * (size_t)count, "x"),
                          ptxsim_buffer_add(sim, y, 4 * (size_t)count, "y")};
    const void *params[] = {&address[0], &address[1]};
    bool ok = ptxsim_run(sim, &(ptxsim_launch){.grid = {(count - 1) / TILE + 1, 1, 1}, .params = params});
    CHECK_MSG(ok, "%s: %s", name, ptxsim_report_text(sim));
    for (uint32_t i = 0; ok && i < count; i++)
        CHECK_MSG(y[i] == first[i].y, "%s of 0x%08x: 0x%08x is not 0x%08x", name, first[i].x, y[i], first[i].y);
    ptxsim_free(sim);
}

static void check_function(const row *first, uint32_t count, const char *target)
{
    char name[64];
    snprintf(name, sizeof name, "%s, %s", first->function, target);
    tv_module *module = NULL;
    tv_sink sink = {name, report};
    bc_text source, text;
    bc_text_init(&source, NULL);
    bc_text_init(&text, NULL);
    put_kernel(&source, first->function, count);
    tv_compile_options options = {.target = target, .opt_level = 3};
    bool ok = tv_module_parse(source.ptr, source.len, 0, NULL, sink, &module) == TV_OK
              && tv_module_verify(module, NULL, sink) == TV_OK
              && tv_compile_ptx(module, &options, sink, (tv_writer){&text, bc_text_append}) == TV_OK;
    CHECK_MSG(ok, "%s", name);
    if (ok) {
        CHECK_MSG(harness_ptxas(text.ptr, text.len, target), "%s", name);
        run(first, count, &text, name);
    }
    tv_module_close(module);
    bc_text_release(&source);
    bc_text_release(&text);
}

int main(void)
{
    static const char *const targets[] = {"sm_80", "sm_90a"};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (uint32_t first = 0, end; first < ROWS; first = end) {
            for (end = first + 1; end < ROWS && strcmp(rows[end].function, rows[first].function) == 0; end++)
                ;
            check_function(&rows[first], end - first, targets[t]);
        }
    return TEST_END("function_bits");
}

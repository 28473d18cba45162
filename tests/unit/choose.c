/* Warps that are chosen by cost: fewer for small tiles that are reduced, because each warp repeats what all have to do,
   also with a hint; as many as before for large tiles, products, without optimization, and next to atomics. */
#include "codegen/compile.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"

/* A row of %d columns at a time is added up: the tile's type, the hints, and an op at the end vary. */
static const char rows_text[] =
    "entry @rows(%%x: tile<ptr<f32>>, %%y: tile<ptr<f32>>, %%n: tile<i32>) %s{\n"
    "%%i, %%j, %%k = get_tile_block_id : tile<i32>\n"
    "%%0 = constant <i32: 0> : tile<i32>\n"
    "%%1 = constant <i32: 1> : tile<i32>\n"
    "%%none = constant <f32: 0.0> : tile<f32>\n"
    "%%a = assume div_by<16>, %%x : tile<ptr<f32>>\n"
    "%%m = assume div_by<16>, %%n : tile<i32>\n"
    "%%t = make_tensor_view %%a, shape = [%%m, %%m], strides = [%%m, 1] : tile<i32> -> "
    "tensor_view<?x?xf32, strides=[?,1]>\n"
    "%%v = make_partition_view %%t : partition_view<tile=(1x%d), padding_value = zero, tensor_view<?x?xf32, "
    "strides=[?,1]>>\n"
    "%%c:2 = get_index_space_shape %%v : partition_view<tile=(1x%d), padding_value = zero, tensor_view<?x?xf32, "
    "strides=[?,1]>> -> tile<i32>\n"
    "%%sum = for %%s in (%%0 to %%c#1, step %%1) : tile<i32> iter_values(%%acc = %%none) -> (tile<f32>) {\n"
    "%%l, %%t0 = load_view_tko weak %%v[%%i, %%s] : partition_view<tile=(1x%d), padding_value = zero, "
    "tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> tile<1x%dxf32>, token\n"
    "%%r = reduce %%l dim=1 identities=[0.0 : f32] : tile<1x%dxf32> -> tile<1xf32>\n"
    "(%%e: tile<f32>, %%f: tile<f32>) {\n"
    "%%g = addf %%e, %%f : tile<f32>\n"
    "yield %%g : tile<f32>\n"
    "}\n"
    "%%one = reshape %%r : tile<1xf32> -> tile<f32>\n"
    "%%next = addf %%acc, %%one : tile<f32>\n"
    "continue %%next : tile<f32>\n"
    "}\n"
    "%%p = offset %%y, %%i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>\n"
    "%s\n"
    "return\n"
    "}\n";
static const char stored[] = "%t1 = store_ptr_tko weak %p, %sum : tile<ptr<f32>>, tile<f32> -> token";
static const char added[] =
    "%old, %t1 = atomic_rmw_tko relaxed device %p, addf, %sum : tile<ptr<f32>>, tile<f32> -> tile<f32>, token";

/* The threads of the kernel's block; 0: it does not compile. */
static unsigned threads_of(const char *text, const cg_choices *choices, unsigned level)
{
    tv_module *m = NULL;
    bc_text ptx;
    const tv_compile_options options = {.target = "sm_90a", .opt_level = level};
    bc_text_init(&ptx, NULL);
    bool compiled = tv_module_parse(text, strlen(text), 0, NULL, (tv_sink){0}, &m) == TV_OK
                    && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK
                    && cg_compile_with(m, &options, &(cg_request){.choices = choices}, (tv_sink){0},
                                       (tv_writer){&ptx, bc_text_append})
                           == TV_OK;
    const char *found = compiled && !ptx.failed ? strstr(bc_text_words(&ptx), ".reqntid ") : NULL;
    unsigned threads = 0;
    if (found)
        sscanf(found, ".reqntid %u", &threads);
    bc_text_release(&ptx);
    tv_module_close(m);
    return threads;
}

static unsigned threads_of_rows(unsigned columns, const char *hints, const char *end, const cg_choices *choices,
                                unsigned level)
{
    char text[4096];
    snprintf(text, sizeof text, rows_text, hints, columns, columns, columns, columns, columns, end);
    return threads_of(text, choices, level);
}

int main(void)
{
    const char hint[] = "optimization_hints=<sm_90 = {num_worker_warps_per_cta = 4}> ";
    CHECK(threads_of_rows(128, "", stored, NULL, TV_OPT_DEFAULT) <= 64);
    CHECK(threads_of_rows(128, "", stored, NULL, TV_OPT_NONE) == 128);
    CHECK(threads_of_rows(128, hint, stored, NULL, TV_OPT_DEFAULT) <= 64);
    CHECK(threads_of_rows(128, hint, stored, NULL, TV_OPT_NONE) == 128);
    CHECK(threads_of_rows(128, hint, added, NULL, TV_OPT_DEFAULT) == 128);
    CHECK(threads_of_rows(128, "", stored, &(cg_choices){.warps = 2}, TV_OPT_DEFAULT) == 64);
    CHECK(threads_of_rows(128, "", stored, &(cg_choices){.stages = 4}, TV_OPT_DEFAULT) < 128);
    CHECK(threads_of_rows(128, "", added, NULL, TV_OPT_DEFAULT) == 128);
    CHECK(threads_of_rows(8192, "", stored, NULL, TV_OPT_DEFAULT) == 256);
    return TEST_END("choose");
}

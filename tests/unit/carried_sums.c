/* Without groups, sums of wgmma that a loop carries stay in their registers: behind the last product of an iteration,
   none is moved. */
#include <stdio.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

#define VIEW "tensor_view<512x64xf16, strides=[64,1]>"
#define PARTS "partition_view<tile=(64x64), " VIEW ">"
#define ROWS "partition_view<tile=(128x64), " VIEW ">"

/* Attention without a softmax. %%s: the op that computes the sums to which the second product adds. */
static const char source[] =
    "entry @k(%%a: tile<ptr<f16>>, %%b: tile<ptr<f16>>, %%c: tile<ptr<f32>>) {\n"
    "  %%x, %%y, %%z = get_tile_block_id : tile<i32>\n"
    "  %%0 = constant <i32: 0> : tile<i32>\n"
    "  %%1 = constant <i32: 1> : tile<i32>\n"
    "  %%8 = constant <i32: 8> : tile<i32>\n"
    "  %%none = constant <f32: 0.0> : tile<128x64xf32>\n"
    "  %%half = constant <f32: 0.5> : tile<128x64xf32>\n"
    "  %%a0 = assume div_by<16>, %%a : tile<ptr<f16>>\n"
    "  %%b0 = assume div_by<16>, %%b : tile<ptr<f16>>\n"
    "  %%c0 = assume div_by<16>, %%c : tile<ptr<f32>>\n"
    "  %%ta = make_tensor_view %%a0, shape = [512, 64], strides = [64, 1] : " VIEW "\n"
    "  %%pa = make_partition_view %%ta : " ROWS "\n"
    "  %%tb = make_tensor_view %%b0, shape = [512, 64], strides = [64, 1] : " VIEW "\n"
    "  %%pb = make_partition_view %%tb : " PARTS "\n"
    "  %%tc = make_tensor_view %%c0, shape = [512, 64], strides = [64, 1] : tensor_view<512x64xf32, strides=[64,1]>\n"
    "  %%pc = make_partition_view %%tc : partition_view<tile=(128x64), tensor_view<512x64xf32, strides=[64,1]>>\n"
    "  %%q, %%t0 = load_view_tko weak %%pa[%%x, %%0] : " ROWS ", tile<i32> -> tile<128x64xf16>, token\n"
    "  %%sum = for %%i in (%%0 to %%8, step %%1) : tile<i32> iter_values(%%acc = %%none) -> (tile<128x64xf32>) {\n"
    "    %%v, %%t1 = load_view_tko weak %%pb[%%i, %%0] : " PARTS ", tile<i32> -> tile<64x64xf16>, token\n"
    "    %%w = permute %%v [1, 0] : tile<64x64xf16> -> tile<64x64xf16>\n"
    "    %%s = mmaf %%q, %%w, %%none : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>\n"
    "    %%p = ftof %%s : tile<128x64xf32> -> tile<128x64xf16>\n"
    "    %%old = %s : tile<128x64xf32>\n"
    "    %%next = mmaf %%p, %%v, %%old : tile<128x64xf16>, tile<64x64xf16>, tile<128x64xf32>\n"
    "    continue %%next : tile<128x64xf32>\n"
    "  }\n"
    "  %%end = store_view_tko weak %%sum, %%pc[%%x, %%0] : tile<128x64xf32>, partition_view<tile=(128x64), "
    "tensor_view<512x64xf32, strides=[64,1]>>, tile<i32> -> token\n"
    "  return\n"
    "}\n";

/* Moves from one register to another between the wait for the last product and the end of the loop. */
static uint32_t count_moves(const char *ptx)
{
    const char *from = NULL;
    for (const char *at = ptx; (at = strstr(at, "wgmma.wait_group.sync.aligned 0;")); at++)
        from = at;
    const char *to = from ? strstr(from, " bra ") : NULL;
    uint32_t count = 0;
    CHECK(to);
    for (const char *at = from; to && (at = strstr(at, "mov.b32 %r")) && at < to; at++)
        count += strncmp(strchr(at, ','), ", %r", 4) == 0;
    return count;
}

static void check(const char *sums)
{
    enum { MOST = 2, LENGTH = 4096 }; /* addresses in rings may be moved */
    char text[LENGTH];
    tv_module *m = NULL;
    bc_text ptx;
    int length = snprintf(text, sizeof text, source, sums);
    bc_text_init(&ptx, NULL);
    CHECK(length > 0 && length < LENGTH);
    CHECK(tv_module_parse(text, (size_t)length, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    CHECK(tv_compile_ptx(m, &(tv_compile_options){.target = "sm_90a"}, (tv_sink){0}, (tv_writer){&ptx, bc_text_append})
          == TV_OK);
    CHECK(ptx.ptr && count_moves(ptx.ptr) <= MOST);
    tv_module_close(m);
    bc_text_release(&ptx);
}

int main(void)
{
    check("addf %acc, %none");
    check("mulf %acc, %half");
    return TEST_END("carried_sums");
}

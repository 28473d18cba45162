/* The table of targets: each is as ptxas knows it, in the lowest PTX version that it names; and what a kernel's hints
   make of its header. */
#include <string.h>

#include "bytecode/base/text.h"
#include "codegen/kernel/kernel.h"
#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

/* An instruction that a target with the feature has, from a version on. */
typedef struct sample {
    uint32_t feature;
    unsigned version;
    const char *text;
} sample;

static const sample samples[] = {
    {CG_HAS_CP_ASYNC, 70, "cp.async.cg.shared.global [%r1], [%rd1], 16;"},
    {CG_HAS_LONG_MMA, 70,
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, "
     "{%f1, %f2, %f3, %f4};"},
    {CG_HAS_BF16, 70, "fma.rn.bf16 %h1, %h1, %h2, %h3; cvt.rn.bf16.f32 %h1, %f1;"},
    {CG_HAS_HALF_PAIRS, 70, "cvt.rn.f16x2.f32 %r1, %f1, %f2;"},
    {CG_HAS_MIN_MAX, 70, "max.NaN.f32 %f1, %f2, %f3; min.f16 %h1, %h2, %h3;"},
    {CG_HAS_REDUX, 70, "redux.sync.add.u32 %r1, %r2, 0xffffffff;"},
    {CG_HAS_F8, 81, "cvt.rn.f16x2.e4m3x2 %r1, %h1;"},
    {CG_HAS_F8_MMA, 84,
     "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, "
     "{%f1, %f2, %f3, %f4};"},
    {CG_HAS_BF16_ARITH, 78, "add.rn.bf16 %h1, %h1, %h2;"},
    {CG_HAS_CLUSTERS, 78, "barrier.cluster.arrive; barrier.cluster.wait;"},
    {CG_HAS_WGMMA, 80, "wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned;"},
    {CG_HAS_LARGE_VECTORS, 88, "ld.global.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];"},
    {CG_HAS_F4, 86, "cvt.rn.f16x2.e2m1x2 %r1, %b1;"},
    {CG_HAS_GDC, 78, "griddepcontrol.wait;"},
    {CG_HAS_RED_VECTORS, 81, "red.relaxed.gpu.global.add.v2.f32 [%rd1], {%f1, %f2};"},
    {CG_HAS_F32_PAIRS, 86, "add.rn.f32x2 %rd1, %rd2, %rd3;"},
    {CG_HAS_BLOCK_SCALE, 87,
     "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 {%f1, %f2, "
     "%f3, %f4}, "
     "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4}, %r1, {0, 0}, %r2, {0, 0};"},
    {CG_HAS_BLOCK_SCALE, 87,
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%f1, %f2, %f3, "
     "%f4}, "
     "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4}, %r1, {0, 0}, %r2, {0, 0};"},
    {CG_HAS_BLOCK_SCALE, 87,
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%f1, %f2, "
     "%f3, %f4}, "
     "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4}, %r1, {0, 0}, %r2, {0, 0};"},
    {CG_HAS_STMATRIX, 78, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r1, %r2, %r3, %r4};"},
};

static bool is_taken(const cg_target *t, unsigned version, unsigned shared_kib, const char *body)
{
    char text[1200];
    int len = snprintf(text, sizeof text,
                       ".version %u.%u\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 p)\n.reqntid 128\n"
                       ".minnctapersm %u\n{\n"
                       ".reg .b8 %%b<2>;\n.reg .b16 %%h<4>;\n.reg .b32 %%r<5>;\n.reg .f32 %%f<5>;\n.reg .b64 %%rd<5>;\n"
                       ".shared .align 16 .b8 s[%u];\nst.shared.b32 [s], %%r1;\n%s\nret;\n}\n",
                       version / 10, version % 10, t->name, t->threads / 128u, shared_kib << 10, body);
    return harness_ptxas(text, (size_t)len, t->name);
}

static void check_features(void)
{
    for (size_t i = 0; cg_target_at(i); i++) {
        const cg_target *t = cg_target_at(i);
        CHECK(is_taken(t, t->ptx, cg_static_shared(t) >> 10, ""));
        for (size_t k = 0; k < TV_COUNT(samples); k++)
            if (t->features & samples[k].feature) {
                unsigned version = samples[k].version > t->ptx ? samples[k].version : t->ptx;
                CHECK_MSG(is_taken(t, version, 1, samples[k].text), "%s: %s", t->name, samples[k].text);
            }
    }
}

static void check_names(void)
{
    size_t count = 0;
#define TARGET(...) count++;
#include "codegen/kernel/targets.def"
    CHECK(cg_target_at(count - 1) && !cg_target_at(count));
    CHECK(strcmp(tv_target_exact("sm_80"), "sm_80") == 0);
    CHECK(strcmp(tv_target_exact("sm_90"), "sm_90a") == 0);
    CHECK(strcmp(tv_target_exact("sm_100"), "sm_100a") == 0);
    CHECK(strcmp(tv_target_exact("sm_103"), "sm_103a") == 0);
    CHECK(strcmp(tv_target_exact("sm_110"), "sm_110a") == 0);
    CHECK(strcmp(tv_target_exact("sm_120"), "sm_120a") == 0);
    CHECK(strcmp(tv_target_exact("sm_121"), "sm_121a") == 0);
    CHECK(strcmp(tv_target_exact("sm_12"), "sm_12") == 0);
    CHECK(strcmp(tv_target_for(90, true, 0), "sm_90a") == 0 && strcmp(tv_target_for(90, false, 0), "sm_90") == 0);
    CHECK(strcmp(tv_target_for(80, true, 80), "sm_80") == 0 && !tv_target_for(72, true, 80));
    CHECK(strcmp(tv_target_for(75, true, 80), "sm_75") == 0);
    CHECK(strcmp(tv_target_for(88, true, 87), "sm_87") == 0); /* the driver does not know sm_88 */
    CHECK(strcmp(tv_target_for(121, true, 87), "sm_120") == 0 && strcmp(tv_target_for(121, true, 88), "sm_121a") == 0);
    CHECK(strcmp(tv_target_for(107, true, 93), "sm_103") == 0); /* the driver does not know sm_107 */
    CHECK(strcmp(tv_target_for(109, true, 0), "sm_107") == 0);  /* a device that is not known */
    CHECK(strcmp(tv_target_for(130, true, 0), "sm_121") == 0);
}

/* ---- headers ---- */

/* The PTX of an empty kernel with these hints, or an empty text. */
static tv_status compile(const char *hints, unsigned minor, const tv_compile_options *options, bc_text *out)
{
    char source[300];
    tv_module *m = NULL;
    int len = snprintf(source, sizeof source, "entry @k(%%p: tile<ptr<i32>>) %s {\n  return\n}\n", hints);
    bc_text_init(out, NULL);
    CHECK(tv_module_parse(source, (size_t)len, minor, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    tv_status status = tv_compile_ptx(m, options, (tv_sink){0}, (tv_writer){out, bc_text_append});
    tv_module_close(m);
    return status;
}

static void check_header(const char *hints, unsigned minor, const char *target, const char *header)
{
    bc_text text;
    CHECK(compile(hints, minor, &(tv_compile_options){.target = target}, &text) == TV_OK);
    CHECK(text.ptr && strstr(text.ptr, header));
    CHECK(text.ptr && harness_ptxas(text.ptr, text.len, target));
    bc_text_release(&text);
}

static void check_hints(void)
{
    check_header("", 5, "sm_90", ")\n.reqntid 32, 1, 1\n{");
    check_header("optimization_hints=<sm_90 = {occupancy = 4, num_worker_warps_per_cta = 16}>", 5, "sm_90a",
                 ")\n.reqntid 512, 1, 1\n.minnctapersm 4\n{");
    /* More have room in any case. */
    check_header("optimization_hints=<sm_90 = {occupancy = 3}>", 5, "sm_90a", ")\n.reqntid 32, 1, 1\n{");
    check_header("optimization_hints=<sm_90 = {occupancy = 3}>", 5, "sm_80", ")\n.reqntid 32, 1, 1\n{");
    check_header(
        "optimization_hints=<default = {occupancy = 2}, sm_90 = {occupancy = 4, num_worker_warps_per_cta = 16}>", 5,
        "sm_90", ".minnctapersm 4\n");
    check_header("optimization_hints=<default = {occupancy = 4}, sm_90 = {num_cta_in_cga = 2, num_worker_warps_per_cta "
                 "= 16}>",
                 5, "sm_90", ".minnctapersm 4\n");
    check_header("optimization_hints=<default = {occupancy = 33}>", 5, "sm_90", ")\n.reqntid 32, 1, 1\n{");
    /* As many as there are threads for: ptxas ignores more. */
    check_header("optimization_hints=<default = {occupancy = 32, num_worker_warps_per_cta = 8}>", 5, "sm_90",
                 ")\n.reqntid 256, 1, 1\n.minnctapersm 8\n{");
    check_header("optimization_hints=<default = {occupancy = 32, num_worker_warps_per_cta = 8}>", 5, "sm_120",
                 ")\n.reqntid 256, 1, 1\n.minnctapersm 6\n{");
    check_header("optimization_hints=<default = {num_worker_warps_per_cta = 16}>", 5, "sm_80", ".reqntid 512, 1, 1\n{");
    check_header("optimization_hints=<default = {num_worker_warps_per_cta = 16}>", 4, "sm_80", ".reqntid 256, 1, 1\n{");
    check_header("optimization_hints=<default = {num_worker_warps_per_cta = 2}>", 4, "sm_80", ".reqntid 128, 1, 1\n{");
    /* It has no products: one thread block computes a tile block. */
    check_header("optimization_hints=<default = {num_cta_in_cga = 4}>", 5, "sm_90", ")\n.reqntid 32, 1, 1\n{");
}

/* Does the PTX of the kernel for sm_90a have that? */
static void check_has(const char *source, const char *header)
{
    tv_module *m = NULL;
    bc_text text;
    bc_text_init(&text, NULL);
    CHECK(tv_module_parse(source, strlen(source), 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(m && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    CHECK(m
          && tv_compile_ptx(m, &(tv_compile_options){.target = "sm_90a"}, (tv_sink){0},
                            (tv_writer){&text, bc_text_append})
                 == TV_OK);
    CHECK_MSG(text.ptr && strstr(text.ptr, header), "%.400s", text.ptr);
    CHECK(text.ptr && harness_ptxas(text.ptr, text.len, "sm_90a"));
    bc_text_release(&text);
    tv_module_close(m);
}

/* Blocks that a hint asks for leave a thread the registers of a product's sums, 128 in each of 128 threads, and those
   that it needs beside them. */
static void check_room_for_sums(void)
{
    static const char source[] =
        "entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) optimization_hints=<default = {occupancy = 8}> {\n"
        "  %x, %t = load_ptr_tko weak %p : tile<ptr<f16>> -> tile<f16>, token\n"
        "  %x1 = reshape %x : tile<f16> -> tile<1x1xf16>\n"
        "  %a = broadcast %x1 : tile<1x1xf16> -> tile<128x16xf16>\n"
        "  %b = broadcast %x1 : tile<1x1xf16> -> tile<16x128xf16>\n"
        "  %zero = constant <f32: 0.0> : tile<128x128xf32>\n"
        "  %c = mmaf %a, %b, %zero : tile<128x16xf16>, tile<16x128xf16>, tile<128x128xf32>\n"
        "  %q1 = reshape %q : tile<ptr<f32>> -> tile<1x1xptr<f32>>\n"
        "  %o = broadcast %q1 : tile<1x1xptr<f32>> -> tile<128x128xptr<f32>>\n"
        "  %s = store_ptr_tko weak %o, %c : tile<128x128xptr<f32>>, tile<128x128xf32> -> token\n"
        "  return\n}\n";
    check_has(source, ".reqntid 128, 1, 1\n.minnctapersm 2\n");
}

/* A thread has registers for all of its quotients of f64 side by side, however few blocks they leave room for. */
static void check_room_for_quotients(void)
{
    static const char source[] =
        "entry @k(%p: tile<ptr<f64>>) {\n"
        "  %p1 = reshape %p : tile<ptr<f64>> -> tile<1xptr<f64>>\n"
        "  %all = broadcast %p1 : tile<1xptr<f64>> -> tile<1024xptr<f64>>\n"
        "  %i = iota : tile<1024xi32>\n"
        "  %at = offset %all, %i : tile<1024xptr<f64>>, tile<1024xi32> -> tile<1024xptr<f64>>\n"
        "  %x, %t = load_ptr_tko weak %at : tile<1024xptr<f64>> -> tile<1024xf64>, token\n"
        "  %y = itof %i signed : tile<1024xi32> -> tile<1024xf64>\n"
        "  %z = divf %y, %x : tile<1024xf64>\n"
        "  %s = store_ptr_tko weak %at, %z token=%t : tile<1024xptr<f64>>, tile<1024xf64> -> token\n"
        "  return\n}\n";
    check_has(source, ".minnctapersm 1\n");
}

/* Loops are pipelined at level 1, and stay plain at 0. */
static void check_levels(void)
{
    static const char source[] =
        "entry @k_Kt1_A2f16_1v8l0_2t1_3i16_p16(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>) {\n"
        "  %low = constant <i32: 0> : tile<i32>\n  %high = constant <i32: 8> : tile<i32>\n"
        "  %step = constant <i32: 1> : tile<i32>\n"
        "  %zero = constant <f32: 0.0> : tile<64x64xf32>\n  %pp = assume div_by<16>, %p : tile<ptr<f16>>\n"
        "  %a = make_tensor_view %pp, shape = [64, 256], strides = [256, 1] : tensor_view<64x256xf16, "
        "strides=[256,1]>\n"
        "  %v = make_partition_view %a : partition_view<tile=(64x32), tensor_view<64x256xf16, strides=[256,1]>>\n"
        "  %b = make_tensor_view %pp, shape = [256, 64], strides = [64, 1] : tensor_view<256x64xf16, strides=[64,1]>\n"
        "  %w = make_partition_view %b : partition_view<tile=(32x64), tensor_view<256x64xf16, strides=[64,1]>>\n"
        "  %c = make_tensor_view %q, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>\n"
        "  %o = make_partition_view %c : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>\n"
        "  %s = for %i in (%low to %high, step %step) : tile<i32> iter_values(%x = %zero) -> (tile<64x64xf32>) {\n"
        "    %l, %t = load_view_tko weak %v[%low, %i] : partition_view<tile=(64x32), "
        "tensor_view<64x256xf16, strides=[256,1]>>, tile<i32> -> tile<64x32xf16>, token\n"
        "    %r, %u = load_view_tko weak %w[%i, %low] : partition_view<tile=(32x64), "
        "tensor_view<256x64xf16, strides=[64,1]>>, tile<i32> -> tile<32x64xf16>, token\n"
        "    %y = mmaf %l, %r, %x : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>\n"
        "    continue %y : tile<64x64xf32>\n  }\n"
        "  %d = store_view_tko weak %s, %o[%low, %low] : tile<64x64xf32>, "
        "partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token\n"
        "  return\n}\n";
    tv_module *m = NULL;
    CHECK(tv_module_parse(source, sizeof source - 1, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(m && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    static const tv_compile_options settings[] = {{0},
                                                  {.opt_level = TV_OPT_LEVEL(1)},
                                                  {.opt_level = TV_OPT_LEVEL(3)},
                                                  {.opt_level = TV_OPT_LEVEL(0)}};
    for (size_t i = 0; m && i <= TV_COUNT(settings); i++) {
        bc_text text;
        bc_text_init(&text, NULL);
        const tv_compile_options *options = i < TV_COUNT(settings) ? &settings[i] : NULL;
        CHECK(tv_compile_ptx(m, options, (tv_sink){0}, (tv_writer){&text, bc_text_append}) == TV_OK);
        CHECK(text.ptr && !strstr(text.ptr, "cp.async") == (options && options->opt_level == TV_OPT_NONE));
        bc_text_release(&text);
    }
    tv_module_close(m);
}

static void check_versions(void)
{
    bc_text text;
    CHECK(compile("", 5, &(tv_compile_options){.target = "sm_90a", .ptx_version = 80}, &text) == TV_OK);
    CHECK(text.ptr && strstr(text.ptr, ".version 8.0\n.target sm_90a\n"));
    bc_text_release(&text);
    CHECK(compile("", 5, &(tv_compile_options){.target = "sm_100", .ptx_version = 80}, &text) == TV_UNSUPPORTED);
    CHECK(text.len == 0);
    bc_text_release(&text);
}

/* Additions to several elements at a time ask for a later version; a consumer of an earlier one gets them singly. */
static void check_vector_additions(void)
{
    static const char source[] =
        "entry @k(%p: tile<ptr<f32>>) {\n  %pp = assume div_by<16>, %p : tile<ptr<f32>>\n"
        "  %x = constant <f32: 1.0> : tile<64x64xf32>\n  %i = constant <i32: 0> : tile<i32>\n"
        "  %a = make_tensor_view %pp, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>\n"
        "  %v = make_partition_view %a : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>\n"
        "  %t = atomic_red_view_tko relaxed device %v[%i, %i], addf, %x : tile<64x64xf32>, "
        "partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token\n"
        "  return\n}\n";
    tv_module *m = NULL;
    CHECK(tv_module_parse(source, sizeof source - 1, 0, NULL, (tv_sink){0}, &m) == TV_OK);
    CHECK(m && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK);
    for (unsigned version = 80; m && version < 82; version++) {
        bc_text text;
        bc_text_init(&text, NULL);
        tv_compile_options options = {.target = "sm_90a", .opt_level = 3, .ptx_version = version};
        CHECK(tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){&text, bc_text_append}) == TV_OK);
        CHECK(text.ptr && strstr(text.ptr, version == 80 ? ".version 8.0\n" : ".version 8.1\n"));
        CHECK(text.ptr && !strstr(text.ptr, ".add.v4.f32") == (version == 80));
        CHECK(text.ptr && harness_ptxas(text.ptr, text.len, "sm_90a"));
        bc_text_release(&text);
    }
    tv_module_close(m);
}

int main(void)
{
    check_features();
    check_names();
    check_hints();
    check_room_for_sums();
    check_room_for_quotients();
    check_levels();
    check_versions();
    check_vector_additions();
    return TEST_END("compile_targets");
}

/* Plans that are weighed: in order, one of them taken, each as it is when it is compiled by its choices; promises that
   would make a better one legal, unless the launch breaks them; and obstacles, each in its loop. */
#include "codegen/explain.h"

#include <string.h>

#include "tests/unit/test.h"

#define TA "tensor_view<4096x?xf16, strides=[?,1]>"
#define TB "tensor_view<?x4096xf16, strides=[4096,1]>"
#define TD "tensor_view<4096x4096xf32, strides=[4096,1]>"
#define PA "partition_view<tile=(128x64), " TA ">"
#define PB "partition_view<tile=(64x128), " TB ">"
#define PD "partition_view<tile=(128x128), " TD ">"

/* A product without promises. */
/* clang-format off */
static const char product[] =
    "entry @product(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %d: tile<ptr<f32>>, %k: tile<i32>) {\n"
    "%x, %y, %z = get_tile_block_id : tile<i32>\n"
    "%0 = constant <i32: 0> : tile<i32>\n"
    "%1 = constant <i32: 1> : tile<i32>\n"
    "%none = constant <f32: 0.0> : tile<128x128xf32>\n"
    "%ta = make_tensor_view %a, shape = [4096, %k], strides = [%k, 1] : tile<i32> -> " TA "\n"
    "%tb = make_tensor_view %b, shape = [%k, 4096], strides = [4096, 1] : tile<i32> -> " TB "\n"
    "%td = make_tensor_view %d, shape = [4096, 4096], strides = [4096, 1] : " TD "\n"
    "%pa = make_partition_view %ta : " PA "\n"
    "%pb = make_partition_view %tb : " PB "\n"
    "%pd = make_partition_view %td : " PD "\n"
    "%n:2 = get_index_space_shape %pa : " PA " -> tile<i32>\n"
    "%sum = for %i in (%0 to %n#1, step %1) : tile<i32> iter_values(%acc = %none) -> (tile<128x128xf32>) {\n"
    "%l, %t0 = load_view_tko weak %pa[%x, %i] : " PA ", tile<i32> -> tile<128x64xf16>, token\n"
    "%r, %t1 = load_view_tko weak %pb[%i, %y] : " PB ", tile<i32> -> tile<64x128xf16>, token\n"
    "%next = mmaf %l, %r, %acc : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>\n"
    "continue %next : tile<128x128xf32>\n"
    "}\n"
    "%t2 = store_view_tko weak %sum, %pd[%x, %y] : tile<128x128xf32>, " PD ", tile<i32> -> token\n"
    "return\n"
    "}\n";
/* clang-format on */

static const tv_compile_options options = {.target = "sm_90a"};

static bool open_module(const char *text, tv_module **out)
{
    CHECK(tv_module_parse(text, strlen(text), 0, NULL, (tv_sink){0}, out) == TV_OK);
    CHECK(*out && tv_module_verify(*out, NULL, (tv_sink){0}) == TV_OK);
    return *out;
}

static const cg_candidate *taken(const cg_explanation *x)
{
    const cg_candidate *found = NULL;
    for (uint32_t i = 0; i < x->plan_count; i++)
        if (x->plans[i].chosen) {
            CHECK(!found);
            found = &x->plans[i];
        }
    CHECK(found);
    return found;
}

static const cg_candidate *named(const cg_explanation *x, const char *name)
{
    for (uint32_t i = 0; i < x->plan_count; i++)
        if (strcmp(x->plans[i].name, name) == 0)
            return &x->plans[i];
    return NULL;
}

/* ---- order ---- */

static void check_order(const cg_explanation *x)
{
    CHECK(x->plan_count > CG_BEST_PLANS && x->plan_count <= x->weighed && x->weighed <= CG_MOST_PLANS);
    for (uint32_t i = 2; i < x->plan_count; i++) /* the plan that is taken may come before one that is as good */
        CHECK(x->plans[i].us >= x->plans[i - 1].us);
    CHECK(!taken(x)->needs && strcmp(taken(x)->name, "as compiled") == 0);
    CHECK(taken(x)->loop_count == 1 && taken(x)->loops[0].loads == 2 && taken(x)->loops[0].ahead == 0);
    CHECK(strcmp(taken(x)->loops[0].route, "plain loads") == 0 && strcmp(taken(x)->loops[0].product, "wgmma") == 0);
}

/* The first ones of all, each another plan of the loop. */
static void check_best_of_loop(const cg_explanation *x)
{
    uint32_t best[CG_BEST_PLANS], all[CG_MOST_PLANS];
    uint64_t offset = taken(x)->loops[0].offset;
    uint32_t count = cg_best_of_loop(x, offset, CG_BEST_PLANS, best),
             most = cg_best_of_loop(x, offset, CG_MOST_PLANS, all);
    CHECK(count > 1 && count == (most < CG_BEST_PLANS ? most : CG_BEST_PLANS) && most <= x->plan_count);
    CHECK(memcmp(best, all, count * sizeof *best) == 0);
    for (uint32_t i = 2; i < most; i++)
        CHECK(x->plans[all[i]].chosen || x->plans[all[i - 1]].chosen
              || x->plans[all[i]].loops[0].cycles >= x->plans[all[i - 1]].loops[0].cycles);
    CHECK(cg_best_of_loop(x, offset + 1, CG_BEST_PLANS, best) == 0);
}

/* ---- promises ---- */

static void check_promises(const tv_module *m, int64_t k, const char *needs, const char *route)
{
    const int64_t params[] = {0, 0, 0, k};
    const cg_launch launch = {.params = params, .param_count = 4, .grid = {32, 32, 1}};
    cg_explanation x;
    bool explained = cg_explain(m, 0, &options, &launch, (tv_sink){0}, &x) == TV_OK;
    CHECK(explained);
    if (!explained)
        return;
    const cg_candidate *best = named(&x, "with promises");
    check_order(&x);
    check_best_of_loop(&x);
    CHECK(best && best->us < taken(&x)->us && strcmp(best->needs, needs) == 0);
    CHECK(best && strcmp(best->loops[0].route, route) == 0);
    cg_explanation_release(&x);
}

/* ---- what comes of choices ---- */

static tv_status compile(const tv_module *m, const cg_choices *choices, bc_text *ptx)
{
    bc_text_init(ptx, NULL);
    return cg_compile_with(m, &options, &(cg_request){.choices = choices}, (tv_sink){0},
                           (tv_writer){ptx, bc_text_append});
}

static bool has(const bc_text *ptx, const char *words)
{
    return ptx->ptr && strstr(ptx->ptr, words);
}

static void check_choices(const tv_module *m)
{
    bc_text usual, wide, none, promised;
    const cg_assumption assumed[] = {{.parameter = 0, .multiple = true},
                                     {.parameter = 1, .multiple = true},
                                     {.parameter = 3, .multiple = true, .non_negative = true},
                                     {.parameter = 99, .multiple = true}};
    const cg_choices promises = {.assumed = assumed, .assumed_count = 4};
    cg_choices without_maps = promises;
    without_maps.maps = CG_NEVER;
    CHECK(compile(m, NULL, &usual) == TV_OK && has(&usual, ".reqntid 128,") && !has(&usual, "tensormap"));
    CHECK(compile(m, &(cg_choices){.warps = 8}, &wide) == TV_OK && has(&wide, ".reqntid 256,"));
    CHECK(compile(m, &promises, &promised) == TV_OK && has(&promised, "cp.async.bulk.tensor"));
    CHECK(compile(m, &without_maps, &none) == TV_OK && !has(&none, "cp.async.bulk.tensor") && has(&none, "cp.async"));
    bc_text_release(&usual);
    bc_text_release(&wide);
    bc_text_release(&none);
    bc_text_release(&promised);
}

/* ---- waits ---- */

static void take_us(void *user, cg_func *c)
{
    *(double *)user = c->cost ? c->cost->us : -1;
}

static void ignore(void *user, const tv_remark *remark)
{
    (void)user;
    (void)remark;
}

/* The predicted time if the launch keeps all promises. */
static double us_with(const tv_module *m, cg_choices choices)
{
    static const cg_assumption assumed[] = {{.parameter = 0, .multiple = true},
                                            {.parameter = 1, .multiple = true},
                                            {.parameter = 3, .multiple = true, .non_negative = true}};
    const int64_t params[] = {0, 0, 0, 4096};
    const cg_launch launch = {.params = params, .param_count = 4, .grid = {32, 32, 1}};
    tv_compile_options predicted = options;
    double us = -1;
    bc_text ptx;
    predicted.remarks.report = ignore;
    choices.assumed = assumed;
    choices.assumed_count = 3;
    bc_text_init(&ptx, NULL);
    CHECK(cg_compile_with(m, &predicted,
                          &(cg_request){.launch = &launch, .choices = &choices, .user = &us, .compiled = take_us},
                          (tv_sink){0}, (tv_writer){&ptx, bc_text_append})
          == TV_OK);
    bc_text_release(&ptx);
    return us;
}

/* Where L2 is the limit, a loop with one stage still waits for its copies. */
static void check_waits(const tv_module *m)
{
    double several = us_with(m, (cg_choices){.stages = 0}), one = us_with(m, (cg_choices){.stages = 1});
    CHECK(several > 0 && one > several * 1.1);
}

/* ---- obstacles ---- */

/* Without a launch, plans are compared by cycles. */
static void check_obstacles(const tv_module *m)
{
    cg_explanation x;
    uint32_t in_loop = 0;
    bool explained = cg_explain(m, 0, &options, NULL, (tv_sink){0}, &x) == TV_OK;
    CHECK(explained);
    if (!explained)
        return;
    for (uint32_t i = 2; i < x.plan_count; i++)
        CHECK(x.plans[i].us < 0 && x.plans[i].cycles >= x.plans[i - 1].cycles);
    for (uint32_t i = 0; i < x.obstacle_count; i++) {
        const cg_obstacle *o = &x.obstacles[i];
        in_loop += o->loop == taken(&x)->loops[0].offset && strcmp(o->remark, "NotPipelined") == 0 && o->remedy;
        CHECK(o->why && *o->why);
    }
    CHECK(in_loop == 2);
    cg_explanation_release(&x);
}

static bool is_asked(const cg_choices *c)
{
    return c->warps || c->occupancy || c->cluster || c->stages || c->groups || c->maps || c->persistent || c->swap
           || c->registers || c->pair || c->bytes || c->pieces || c->keys || c->strips || c->correction || c->spread
           || c->slices || c->halves;
}

int main(void)
{
    tv_module *m;
    uint32_t count = 0;
    if (open_module(product, &m)) {
        check_promises(m, 4096,
                       "parameter 0 is aligned to 16 bytes; parameter 1 is aligned to 16 bytes; parameter 3 is a "
                       "multiple of 16 and not negative",
                       "TMA");
        check_promises(m, 4095, "parameter 1 is aligned to 16 bytes", "all threads");
        check_choices(m);
        check_waits(m);
        check_obstacles(m);
    }
    tv_module_close(m);
    for (const cg_choices *c; (c = cg_choice_at(count)); count++)
        CHECK(is_asked(c));
    CHECK(count > 0 && count < CG_MOST_PLANS);
    return TEST_END("explain");
}

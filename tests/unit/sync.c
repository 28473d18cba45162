/* Barriers, fences and shared memory as passes decide on them: what they leave is checked, and every barrier and fence
   that is taken away from it, and every place that is moved, is found; so is what it leads to by the simulator. */
#include <stdlib.h>
#include <string.h>

#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/values/effects.h"
#include "tests/ptxsim/ptxsim.h"
#include "tests/unit/passes.h"

#define TENSOR "tensor_view<64x4096xf32, strides=[4096,1]>"
#define ROW "partition_view<tile=(1x4096), " TENSOR ">"
#define BLOCK "partition_view<tile=(4x1024), " TENSOR ">"
#define SQUARE "partition_view<tile=(64x64), " TENSOR ">"
#define BEGIN                                                                              \
    "  %0 = constant <i32: 0> : tile<i32>\n"                                               \
    "  %1 = constant <i32: 1> : tile<i32>\n"                                               \
    "  %4 = constant <i32: 4> : tile<i32>\n"                                               \
    "  %p16 = assume div_by<16>, %p : tile<ptr<f32>>\n"                                    \
    "  %t = make_tensor_view %p16, shape = [64, 4096], strides = [4096, 1] : " TENSOR "\n" \
    "  %rows = make_partition_view %t : " ROW "\n"                                         \
    "  %blocks = make_partition_view %t : " BLOCK "\n"                                     \
    "  %squares = make_partition_view %t : " SQUARE "\n"
#define LOAD(name, view, index, type, tile)                                                                       \
    "    %" name ", %t" name " = load_view_tko weak %" view "[" index ", %0] : " type ", tile<i32> -> " tile ", " \
    "token\n"
/* Nobody reads the tile: a weak load would be removed. */
#define RELAXED(name, view, index, type, tile)                                                                         \
    "    %" name ", %t" name " = load_view_tko relaxed device %" view "[" index ", %0] : " type ", tile<i32> -> " tile \
    ", token\n"
#define STORE(name, value, view, index, type, tile)                                              \
    "    %" name " = store_view_tko weak %" value ", %" view "[" index ", %0] : " tile ", " type \
    ", tile<i32> -> token\n"
#define REDUCE(result, tile)                                                                             \
    "    %" result " = reduce %" tile " dim=1 identities=[0.0 : f32] : tile<1x4096xf32> -> tile<1xf32> " \
    "(%a" result ": tile<f32>, %b" result ": tile<f32>) {\n"                                             \
    "      %c" result " = addf %a" result ", %b" result " : tile<f32>\n"                                 \
    "      yield %c" result " : tile<f32>\n"                                                             \
    "    }\n"                                                                                            \
    "    %r" result " = reshape %" result " : tile<1xf32> -> tile<1x1xf32>\n"                            \
    "    %w" result " = broadcast %r" result " : tile<1x1xf32> -> tile<1x4096xf32>\n"

#define HALVES "tensor_view<64x4096xf16, strides=[4096,1]>"
#define HALF "partition_view<tile=(64x64), " HALVES ">"
#define LOAD_HALF(name, index) LOAD(name, "v", index, HALF, "tile<64x64xf16>")

/* Products of what lies in a ring, and in scratch. */
static const char products[] =
    "entry @products(%p: tile<ptr<f16>>) {\n"
    "  %0 = constant <i32: 0> : tile<i32>\n"
    "  %1 = constant <i32: 1> : tile<i32>\n"
    "  %4 = constant <i32: 4> : tile<i32>\n"
    "  %none = constant <f32: 0.0> : tile<64x64xf32>\n"
    "  %p16 = assume div_by<16>, %p : tile<ptr<f16>>\n"
    "  %t = make_tensor_view %p16, shape = [64, 4096], strides = [4096, 1] : " HALVES "\n"
    "  %v = make_partition_view %t : " HALF "\n"
    "  %sum = for %i in (%0 to %4, step %1) : tile<i32> iter_values(%acc = %none) -> (tile<64x64xf32>) {\n" LOAD_HALF(
        "l", "%0")
        LOAD_HALF("r", "%1") "    %next = mmaf %l, %r, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>\n"
                             "    continue %next : tile<64x64xf32>\n"
                             "  }\n"
                             "  %h = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>\n"
                             "  %n = mmaf %h, %h, %none : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>\n"
                             "  %g = ftof %n : tile<64x64xf32> -> tile<64x64xf16>\n" STORE(
                                 "d", "g", "v", "%4", HALF, "tile<64x64xf16>") "  return\n}\n";

/* One sum an iteration, of what the one before has led to, and two of them; ways that join, on which threads read what
   others have written, and write what others read. */
static const char *const sources[] = {
    products,
    "entry @sum(%p: tile<ptr<f32>>) {\n" BEGIN LOAD(
        "l", "rows", "%0", ROW,
        "tile<1x4096xf32>") "  %sum = for %i in (%0 to %4, step %1) : tile<i32> iter_values(%acc = %l) -> "
                            "(tile<1x4096xf32>) {\n" REDUCE("s", "acc") "    %n = addf %acc, %ws : "
                                                                        "tile<1x4096xf32>\n"
                                                                        "    continue %n : tile<1x4096xf32>\n"
                                                                        "  }\n" STORE("d", "sum", "rows", "%1", ROW,
                                                                                      "tile<1x4096xf32>") "  return\n"
                                                                                                          "}\n",
    "entry @sums(%p: tile<ptr<f32>>) {\n" BEGIN LOAD(
        "l", "rows", "%0", ROW,
        "tile<1x4096xf32>") "  %sum = for %i in (%0 to %4, step %1) : tile<i32> "
                            "iter_values(%acc = %l) -> (tile<1x4096xf32>) "
                            "{\n" REDUCE("s", "acc") "    %m = mulf %acc, %ws : "
                                                     "tile<1x4096xf32>\n" REDUCE(
                                                         "u", "m") "    %n = addf "
                                                                   "%acc, %wu : "
                                                                   "tile<1x4096xf32>\n"
                                                                   "    continue %n : "
                                                                   "tile<1x4096xf32>\n"
                                                                   "  }\n" STORE("d", "sum", "rows", "%1", ROW,
                                                                                 "tile<"
                                                                                 "1x4096xf32>") "  return\n"
                                                                                                "}\n",
    "entry @ways(%p: tile<ptr<f32>>) {\n" BEGIN
        LOAD("l", "blocks", "%0", BLOCK, "tile<4x1024xf32>") "  loop iter_values(%i = %0) : tile<i32> {\n" RELAXED(
            "k", "squares", "%0", SQUARE,
            "tile<64x64xf32>") "    %done = cmpi equal %i, %1, signed : tile<i32> -> tile<i1>\n"
                               "    if %done {\n" STORE(
                                   "d", "l", "blocks", "%0", BLOCK,
                                   "tile<4x1024xf32>") "      break\n"
                                                       "    }\n" STORE(
                                                           "e", "l", "blocks",
                                                           "%0", BLOCK,
                                                           "tile<4x1024xf32>") "    %j = addi %i, %1 : "
                                                                               "tile<i32>\n"
                                                                               "    continue %j : tile<i32>\n"
                                                                               "  }\n" LOAD("m", "squares", "%0",
                                                                                            SQUARE, "tile<64x64xf32>")
                                                                                   STORE("f", "m", "squares", "%0",
                                                                                         SQUARE,
                                                                                         "tile<64x64xf32>") "  "
                                                                                                            "retu"
                                                                                                            "rn\n"
                                                                                                            "}"
                                                                                                            "\n"};

/* By source. */
static const struct expected {
    const char *target;
    uint32_t barriers, fences;
} expected[] = {{"sm_90a", 2, 2}, {"sm_80", 1, 0}, {"sm_80", 0, 0}, {"sm_80", 4, 0}};

/* ---- by the verifier ---- */

static bool is_found(sample *s, const char *what)
{
    ct_fault fault;
    return !(cg_verify_shared(&s->c, &fault) && cg_verify_sync(&s->c, &fault)) && strstr(fault.what, what);
}

static void check_fences(sample *s, uint32_t wanted)
{
    uint32_t fences = 0;
    for (uint32_t i = 0; i < s->c.sharing->effect_count; i++) {
        cg_effect *e = s->c.sharing->effects[i];
        if (!e->fence)
            continue;
        e->fence = false;
        CHECK_MSG(is_found(s, "no fence"), "effect %u", i);
        e->fence = true;
        fences++;
    }
    CHECK_MSG(fences == wanted, "%u fences", fences);
}

static void check_barriers(sample *s, uint32_t wanted)
{
    uint32_t barriers = 0;
    ct_fault fault;
    CHECK(cg_verify_shared(&s->c, &fault) && cg_verify_sync(&s->c, &fault));
    for (uint32_t i = 0; i < s->c.sharing->effect_count; i++) {
        cg_effect *e = s->c.sharing->effects[i];
        uint8_t before = e->before;
        for (e->before = CG_NOBODY; e->before < before; e->before++)
            CHECK_MSG(is_found(s, "no barrier"), "effect %u", i);
        barriers += before != CG_NOBODY;
    }
    CHECK_MSG(barriers == wanted, "%u barriers", barriers);
}

static void check_places(sample *s)
{
    for (uint32_t i = 0; i < s->c.sharing->effect_count; i++) {
        cg_effect *e = s->c.sharing->effects[i];
        cg_span span = e->span;
        if (e->kind != CG_USES_SCRATCH)
            continue;
        e->span.to = s->c.sharing->scratch_bytes + 1;
        CHECK(is_found(s, "its scratch does not lie"));
        e->span = (cg_span){span.to, span.to, 0};
        CHECK(is_found(s, "its scratch does not lie"));
        e->span = (cg_span){span.from, span.to, 1};
        CHECK(is_found(s, "its scratch does not lie"));
        e->span = span;
    }
    s->c.sharing->ring_bytes = 1024;
    s->c.sharing->rings_at = 8;
    CHECK(is_found(s, "rings do not lie"));
    s->c.sharing->rings_at = 0;
    s->c.sharing->ring_bytes = cg_static_shared(s->c.target) + 1;
    CHECK(is_found(s, "rings do not lie"));
    s->c.sharing->ring_bytes = 0;
}

/* ---- places of what lives longer than an op ---- */

#define LONG "tensor_view<64x65536xf32, strides=[65536,1]>"
#define PIECE "partition_view<tile=(1x512), " LONG ">"
#define LOAD_PIECE(name, view, row)                                                                  \
    "    %" name ", %t" name " = load_view_tko weak %" view "[%" row ", %i] : " PIECE ", tile<i32> " \
    "-> tile<1x512xf32>, token\n"
/* A row that is summed, and scaled by its sum and by other numbers: its tiles stay in a ring for the second loop, which
   has another one beside it. */
static const char kept[] =
    "entry @kept(%p: tile<ptr<f32>>, %w: tile<ptr<f32>>, %o: tile<ptr<f32>>) {\n"
    "  %0 = constant <i32: 0> : tile<i32>\n  %1 = constant <i32: 1> : tile<i32>\n"
    "  %n = constant <i32: 8> : tile<i32>\n  %none = constant <f32: 0.0> : tile<1x512xf32>\n"
    "  %p16 = assume div_by<16>, %p : tile<ptr<f32>>\n  %w16 = assume div_by<16>, %w : tile<ptr<f32>>\n"
    "  %o16 = assume div_by<16>, %o : tile<ptr<f32>>\n"
    "  %tp = make_tensor_view %p16, shape = [64, 65536], strides = [65536, 1] : " LONG "\n"
    "  %tw = make_tensor_view %w16, shape = [64, 65536], strides = [65536, 1] : " LONG "\n"
    "  %to = make_tensor_view %o16, shape = [64, 65536], strides = [65536, 1] : " LONG "\n"
    "  %x = make_partition_view %tp : " PIECE "\n  %y = make_partition_view %tw : " PIECE "\n"
    "  %z = make_partition_view %to : " PIECE "\n"
    "  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%acc = %none) -> (tile<1x512xf32>) {\n" LOAD_PIECE(
        "a", "x",
        "0") "    %next = addf %acc, %a : tile<1x512xf32>\n"
             "    continue %next : tile<1x512xf32>\n  }\n"
             "  for %i in (%0 to %n, step %1) : tile<i32> {\n" LOAD_PIECE("b", "x", "0")
                 LOAD_PIECE("c", "y",
                            "1") "    %d = mulf %b, %c : tile<1x512xf32>\n    %e = mulf %d, %sum : tile<1x512xf32>\n"
                                 "    %tz = store_view_tko weak %e, %z[%0, %i] : tile<1x512xf32>, " PIECE
                                 ", tile<i32> -> token\n  }\n  return\n}\n";

#define MATRIX "tensor_view<4096x4096xf16, strides=[4096,1]>"
#define LEFT "partition_view<tile=(128x64), " MATRIX ">"
#define RIGHT "partition_view<tile=(64x128), " MATRIX ">"
/* A product with warps that copy by tensor maps: a ring with barriers, and maps behind it. */
static const char grouped[] =
    "entry @grouped(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %o: tile<ptr<f32>>, %n: tile<i32>) {\n"
    "  %0 = constant <i32: 0> : tile<i32>\n  %1 = constant <i32: 1> : tile<i32>\n"
    "  %none = constant <f32: 0.0> : tile<128x128xf32>\n  %x, %y, %z = get_tile_block_id : tile<i32>\n"
    "  %p16 = assume div_by<16>, %p : tile<ptr<f16>>\n  %q16 = assume div_by<16>, %q : tile<ptr<f16>>\n"
    "  %tp = make_tensor_view %p16, shape = [4096, 4096], strides = [4096, 1] : " MATRIX "\n"
    "  %tq = make_tensor_view %q16, shape = [4096, 4096], strides = [4096, 1] : " MATRIX "\n"
    "  %l = make_partition_view %tp : " LEFT "\n  %r = make_partition_view %tq : " RIGHT "\n"
    "  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%acc = %none) -> (tile<128x128xf32>) {\n"
    "    %a, %ta = load_view_tko weak %l[%x, %i] : " LEFT ", tile<i32> -> tile<128x64xf16>, token\n"
    "    %b, %tb = load_view_tko weak %r[%i, %y] : " RIGHT ", tile<i32> -> tile<64x128xf16>, token\n"
    "    %next = mmaf %a, %b, %acc : tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>\n"
    "    continue %next : tile<128x128xf32>\n  }\n"
    "  %to = make_tensor_view %o, shape = [4096, 4096], strides = [4096, 1] : tensor_view<4096x4096xf32, "
    "strides=[4096,1]>\n"
    "  %po = make_partition_view %to : partition_view<tile=(128x128), tensor_view<4096x4096xf32, strides=[4096,1]>>\n"
    "  %td = store_view_tko weak %sum, %po[%x, %y] : tile<128x128xf32>, partition_view<tile=(128x128), "
    "tensor_view<4096x4096xf32, strides=[4096,1]>>, tile<i32> -> token\n"
    "  return\n}\n";

enum { MOST_RINGS = 4 };

/* Those with memory of their own. */
static uint32_t find_rings(const sample *s, cg_ring **out)
{
    uint32_t count = 0;
    const ct_block *body = s->c.ir->body;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == CT_ring && !op->operand_count && count < MOST_RINGS)
            out[count++] = op->detail;
    return count;
}

/* Moves a place, sees what is found, and moves it back. */
static void check_moved(sample *s, uint32_t *place, uint32_t to, const char *what)
{
    uint32_t was = *place;
    *place = to;
    CHECK_MSG(is_found(s, what), "moved from %u to %u", was, to);
    *place = was;
    CHECK(!is_found(s, ""));
}

static void check_kept_rings(sample *s)
{
    cg_ring *rings[MOST_RINGS];
    CHECK(find_rings(s, rings) == 2 && rings[0]->offset == 0 && rings[1]->offset > 0);
    check_moved(s, &rings[1]->offset, 0, "its ring overlaps another live ring");
    check_moved(s, &rings[1]->offset, rings[1]->offset - 16, "its ring overlaps another live ring");
    check_moved(s, &rings[0]->offset, 16, "its ring overlaps another live ring");
    check_moved(s, &rings[1]->slots, 1 << 12, "rings do not lie");
}

static void check_groups(sample *s)
{
    cg_ring *rings[MOST_RINGS], *ring = NULL;
    struct cg_groups *groups = (struct cg_groups *)(uintptr_t)s->c.groups;
    CHECK(find_rings(s, rings) == 1 && s->c.groups && s->c.groups->by_maps);
    ring = rings[0];
    check_moved(s, &ring->barriers, ring->barriers - 16, "the barriers of its ring lie");
    check_moved(s, &groups->maps_at, ring->barriers, "its tensor maps lie");
    check_moved(s, &groups->maps_at, ring->offset, "its tensor maps lie");
    check_moved(s, &s->c.sharing->rings_at, s->c.sharing->rings_at + (1 << 20), "rings do not lie");
    if (s->c.sharing->rings_at)
        check_moved(s, &s->c.sharing->rings_at, 0, "its scratch overlaps a live ring");
}

/* A product that has scratch, and that nothing waits for. */
static void check_flight(sample *s)
{
    ct_op *product = NULL;
    for (ct_op *op = s->c.ir->body->first; op; op = ct_next_op(op, s->c.ir->body))
        if (op->opcode == OP_mmaf && op->effects && op->effects->first->kind == CG_USES_SCRATCH)
            product = op;
    CHECK(product && !product->in_flight && !is_found(s, ""));
    if (product)
        product->in_flight = true;
    CHECK(is_found(s, "before it has been awaited"));
}

/* ---- by the simulator ---- */

/* Lowers the kernel and runs it: what is wrong; "": nothing. */
static void run(sample *s, const char *target, char *out, size_t size)
{
    static float memory[64 * 4096];
    char error[256] = "";
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, ".version 8.4\n.target %s\n.address_size 64\n", target);
    cg_pass_lower(&s->c);
    cg_put_kernel(&s->c, &text);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim, "%s", error);
    uint64_t address = ptxsim_buffer_add(sim, memory, sizeof memory, "memory");
    bool ok = ptxsim_run(sim, &(ptxsim_launch){.grid = {1, 1, 1}, .params = (const void *[]){&address}, .seed = 1});
    snprintf(out, size, "%s", ok ? "" : ptxsim_report_text(sim));
    ptxsim_free(sim);
    bc_text_release(&text);
}

/* Without its barrier or fence number `dropped`, if it has that many. */
static bool check_run(const tv_module *m, uint32_t kernel, uint32_t dropped)
{
    char found[1024];
    sample s;
    const char *wanted = NULL;
    uint32_t count = 0;
    if (!open_sample(&s, m, expected[kernel].target, "sync"))
        return false;
    for (uint32_t i = 0; i < s.c.sharing->effect_count; i++) {
        cg_effect *e = s.c.sharing->effects[i];
        if (e->before && count++ == dropped) {
            e->before = CG_NOBODY;
            wanted = "barrier"; /* "... without a barrier in between", or a copy that is on its way */
        } else if (e->fence && count++ == dropped) {
            e->fence = false;
            wanted = "fence.proxy.async";
        }
    }
    run(&s, expected[kernel].target, found, sizeof found);
    if (wanted)
        CHECK_MSG(strstr(found, wanted) || (*wanted == 'b' && strstr(found, "async-copy:")),
                  "kernel %u, without %u: %s", kernel, dropped, found);
    else
        CHECK_MSG(!*found, "kernel %u: %s", kernel, found);
    close_sample(&s);
    return wanted;
}

static void check(uint32_t kernel)
{
    tv_module *m = NULL;
    sample s;
    if (open_module(sources[kernel], &m) && open_sample(&s, m, expected[kernel].target, "sync")) {
        check_barriers(&s, expected[kernel].barriers);
        check_fences(&s, expected[kernel].fences);
        check_places(&s);
        close_sample(&s);
        for (uint32_t dropped = 0; check_run(m, kernel, dropped);)
            dropped++;
    }
    tv_module_close(m);
}

static void check_lives(const char *text, const char *target, void (*places)(sample *))
{
    tv_module *m = NULL;
    sample s;
    if (open_module(text, &m) && open_sample(&s, m, target, "sync")) {
        places(&s);
        close_sample(&s);
    }
    tv_module_close(m);
}

int main(void)
{
    for (uint32_t k = 0; k < TV_COUNT(sources); k++)
        check(k);
    check_lives(kept, "sm_90a", check_kept_rings);
    check_lives(grouped, "sm_90a", check_groups);
    check_lives(products, "sm_90a", check_flight);
    return TEST_END("sync");
}

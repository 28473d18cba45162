/* Plans of loops, products and the kernel: what the passes that decide leave is sound, and a plan that breaks a rule is
   found, whichever rule it is. */
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/plan/early.h"
#include "tests/unit/passes.h"

#define MATRIX(elem) "tensor_view<4096x4096x" elem ", strides=[4096,1]>"
#define TILE(size, elem) "partition_view<tile=(" size "), " MATRIX(elem) ">"
/* A product of tiles of 128x64 and 64x128 elements, beside which the loop takes a number from a table. */
static const char product[] =
    "entry @product(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %o: tile<ptr<f32>>, %n: tile<i32>) {\n"
    "  %0 = constant <i32: 0> : tile<i32>\n  %1 = constant <i32: 1> : tile<i32>\n"
    "  %none = constant <f32: 0.0> : tile<128x128xf32>\n"
    "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
    "  %p16 = assume div_by<16>, %p : tile<ptr<f16>>\n  %q16 = assume div_by<16>, %q : tile<ptr<f16>>\n"
    "  %tp = make_tensor_view %p16, shape = [4096, 4096], strides = [4096, 1] : " MATRIX(
        "f16") "\n"
               "  %tq = make_tensor_view %q16, shape = [4096, 4096], strides = [4096, 1] : " MATRIX(
                   "f16") "\n"
                          "  %l = make_partition_view %tp : " TILE(
                              "128x64",
                              "f16") "\n"
                                     "  %r = make_partition_view %tq : " TILE(
                                         "64x128",
                                         "f16") "\n"
                                                "  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%acc = "
                                                "%none) -> (tile<128x128xf32>) {\n"
                                                "    %a, %ta = load_view_tko weak %l[%x, %i] : " TILE(
                                                    "128x64",
                                                    "f16") ", tile<i32> -> tile<128x64xf16>, token\n"
                                                           "    %b, %tb = load_view_tko weak %r[%i, %y] : " TILE(
                                                               "64x128",
                                                               "f16") ", tile<i32> -> tile<64x128xf16>, token\n"
                                                                      "    %next = mmaf %a, %b, %acc : "
                                                                      "tile<128x64xf16>, tile<64x128xf16>, "
                                                                      "tile<128x128xf32>\n"
                                                                      "    continue %next : tile<128x128xf32>\n  }\n"
                                                                      "  %to = make_tensor_view %o, shape = [4096, "
                                                                      "4096], strides = [4096, 1] : " MATRIX(
                                                                          "f32") "\n"
                                                                                 "  %po = make_partition_view %to "
                                                                                 ": " TILE(
                                                                                     "128x128",
                                                                                     "f32") "\n"
                                                                                            "  %td = store_view_tko "
                                                                                            "weak %sum, %po[%x, %y] : "
                                                                                            "tile<128x128xf32>, " TILE(
                                                                                                "128x128",
                                                                                                "f32") ", tile<i32> -> "
                                                                                                       "token\n  "
                                                                                                       "return\n}\n";

/* Rows of 512 numbers by their number: each thread reads what it has copied. Of others a table says where they lie; its
   entries go to registers. */
#define ROW "partition_view<tile=(1x512), " MATRIX("f32") ">"
static const char rows[] =
    "entry @rows(%p: tile<ptr<f32>>, %table: tile<ptr<i32>>, %o: tile<ptr<f32>>) {\n"
    "  %0 = constant <i32: 0> : tile<i32>\n  %1 = constant <i32: 1> : tile<i32>\n"
    "  %n = constant <i32: 64> : tile<i32>\n  %none = constant <f32: 0.0> : tile<1x512xf32>\n"
    "  %p16 = assume div_by<16>, %p : tile<ptr<f32>>\n"
    "  %tp = make_tensor_view %p16, shape = [4096, 4096], strides = [4096, 1] : " MATRIX(
        "f32") "\n"
               "  %x = make_partition_view %tp : " ROW "\n"
               "  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%acc = %none) -> (tile<1x512xf32>) {\n"
               "    %a, %ta = load_view_tko weak %x[%i, %0] : " ROW ", tile<i32> -> tile<1x512xf32>, token\n"
               "    %q = offset %table, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
               "    %row, %tr = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token\n"
               "    %b, %tb = load_view_tko weak %x[%row, %0] : " ROW ", tile<i32> -> tile<1x512xf32>, token\n"
               "    %d = mulf %a, %b : tile<1x512xf32>\n    %next = addf %acc, %d : tile<1x512xf32>\n"
               "    continue %next : tile<1x512xf32>\n  }\n"
               "  %to = make_tensor_view %o, shape = [4096, 4096], strides = [4096, 1] : " MATRIX(
                   "f32") "\n"
                          "  %z = make_partition_view %to : " ROW "\n"
                          "  %td = store_view_tko weak %sum, %z[%0, %0] : tile<1x512xf32>, " ROW
                          ", tile<i32> -> token\n  return\n}\n";

static ct_op *find(const sample *s, uint32_t opcode, bool planned)
{
    for (ct_op *op = s->c.ir->body->first; op; op = ct_next_op(op, s->c.ir->body))
        if (op->opcode == opcode && (!planned || op->detail))
            return op;
    CHECK_MSG(false, "no op %u", opcode);
    return NULL;
}

static bool is_found(sample *s, const char *what)
{
    ct_fault fault = {.what = "nothing"};
    bool found = !cg_verify_plan(&s->c, &fault) && strstr(fault.what, what);
    if (!found)
        printf("found: %s\n", fault.what);
    return found;
}

/* Sets a part of the plan to what breaks a rule, and back. */
#define BREAKS(sample, part, to, what)                      \
    do {                                                    \
        ct_fault fault_;                                    \
        char was_[sizeof(part)];                            \
        memcpy(was_, &(part), sizeof was_);                 \
        (part) = (to);                                      \
        CHECK_MSG(is_found(sample, what), #part " = " #to); \
        memcpy(&(part), was_, sizeof was_);                 \
        CHECK(cg_verify_plan(&(sample)->c, &fault_));       \
    } while (0)

static void check_block(sample *s)
{
    ct_op *op = find(s, OP_mmaf, false), *loop = find(s, OP_for, true);
    cg_plan *plan = loop->detail;
    cg_ring *ring = plan->ring;
    CHECK(ring->role == CG_RING_OF_BLOCK && ring->slots > 1 && ring->load_count == 2);
    BREAKS(s, plan->ring, NULL, "has no ring");
    BREAKS(s, ring->slots, 0, "no slot");
    BREAKS(s, ring->load_count, 0, "no loads");
    BREAKS(s, ring->load_count, CG_RING_LOADS + 1, "too many");
    BREAKS(s, ring->role, CG_RING_OF_GROUPS, "belongs to no loop");
    BREAKS(s, ring->role, CG_RING_OF_THREADS, "no place");
    BREAKS(s, ring->loads[1].offset, 0, "place of its own");
    BREAKS(s, ring->slot_bytes, ring->slot_bytes - 1, "place of its own");
    BREAKS(s, ring->loads[0].feed, CG_NO_FEED, "no place");
    BREAKS(s, ring->loads[0].passage, CG_ROUNDED_BY_MAP, "without producers");
    BREAKS(s, ring->loads[0].passage, CG_TRANSPOSED_BY_THREADS, "without producers");
    BREAKS(s, ring->end, CG_FREE_ONCE_READ, "of threads");
    BREAKS(s, ring->end, CG_FREE_ITERATION_LATER, "runs on");
    BREAKS(s, ring->parts, 1, "parts of no product");
    BREAKS(s, ring->at_start, 1, "at the start");
    BREAKS(s, ring->async, false, "that threads wait for");
    BREAKS(s, plan->beside, ring, "not one of threads");
    BREAKS(s, op->way, CT_TURNED, "no instruction goes");
    BREAKS(s, loop->way, CT_DIRECT, "only products have");
}

static void check_groups(sample *s)
{
    cg_ring *ring = find(s, CT_ring, true)->detail;
    cg_groups *groups = find(s, CT_groups, true)->detail;
    CHECK(ring->role == CG_RING_OF_MAPS && ring->end == CG_FREE_ITERATION_LATER && groups->by_maps);
    BREAKS(s, ring->slots, 2, "runs on");
    BREAKS(s, ring->at_start, ring->slots + 1, "at the start");
    BREAKS(s, ring->loads[0].to_all, true, "no cluster");
    BREAKS(s, groups->ring_bytes, groups->shared + 1, "more than the block's shared memory");
    BREAKS(s, groups->shared, 1 << 20, "more than the block's shared memory");
    BREAKS(s, groups->consumers, groups->consumers + 4, "in eights");
    BREAKS(s, groups->consumers, groups->consumers + 8 + 128, "more registers");
    BREAKS(s, groups->to_all, true, "only tensor maps");
    BREAKS(s, groups->by_maps, false, "no tensor maps");
}

static void check_threads(sample *s)
{
    cg_plan *plan = find(s, OP_for, true)->detail;
    cg_ring *ring = plan->ring;
    cg_early_plan *early = find(s, OP_load_ptr_tko, true)->detail;
    CHECK(ring->role == CG_RING_OF_THREADS && ring->load_count == 2 && early->distance == 2);
    BREAKS(s, ring->slots, 1, "filled while it is read");
    BREAKS(s, ring->async, true, "keep to themselves");
    BREAKS(s, ring->loads[0].own_bytes, 0, "no place");
    BREAKS(s, early->distance, 3, "no registers");
    BREAKS(s, early->registers, 0, "no registers");
    cg_ring other = *ring;
    other.slots++;
    BREAKS(s, ring->again, &other, "other slots");
    other.slots = ring->slots - 1;
    BREAKS(s, plan->beside, &other, "less far ahead");
}

static void check(const char *text, const char *target, const char *pass, void (*rules)(sample *))
{
    tv_module *m = NULL;
    sample s;
    if (open_module(text, &m) && open_sample(&s, m, target, pass)) {
        rules(&s);
        close_sample(&s);
    }
    tv_module_close(m);
}

int main(void)
{
    check(product, "sm_90a", "loads", check_block);
    check(product, "sm_90a", "groups", check_groups);
    check(rows, "sm_80", "loads", check_threads);
    return TEST_END("plan");
}

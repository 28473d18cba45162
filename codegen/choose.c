/* Chooses the number of warps of a kernel by cost. The passes give a tile so many warps that a thread does not hold
   too many elements. If the tile is small, each warp has few elements, but repeats what all warps have to do: indices,
   bounds, control flow, the steps of reductions across warps. So the kernel is also compiled with half of the warps, up
   to the prediction of its cost, and with half of these again, as long as each step is predicted to be faster by more
   than the error of the model (`worth_changing` in codegen/cost/cost.def).

   The model does not choose where it is known to be less exact: if the kernel waits rather than works, because it does
   not know how far ptxas moves loads ahead, and if tiles take so many registers that few threads share a
   multiprocessor, because it knows registers only approximately.

   Only kernels that reduce or scan, without products, take part: for others, the model does not choose better than the
   passes (docs/internals/codegen/cost-model.md has the figures). Choices that are asked for decide before cost. A hint
   that says how many warps to use is where the search begins: it says nothing about the size of the tile, and warps
   that have no elements of their own repeat those of others.

   A kernel with products gets more warps, whatever a hint says, if tiles, such as operands that are computed beside
   sums, take more registers than a thread can have: what is spilled in each iteration costs more than more warps do.
   Producers and consumers have registers by their budget instead. On an H200, microseconds with four and eight warps:
   a gated operand of 64x128x64 beside four-bit weights 1,558 and 654, one of 128x128x64 in tf32 1,315 and 922; but
   321 and 453 where two blocks of 128x128x64 with a few registers too many were on a multiprocessor.

   Why any choice is right: passes keep the meaning of a kernel for every number of warps. */
#include "codegen/choose.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/tensor.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/ptx/emit.h"
#include "codegen/assume.h"
#include "codegen/promises.h"

bool cg_begin_kernel(cg_func *c)
{
    bc_arena_init(&c->arena, &c->m->arena.allocator, 0);
    if (!(c->ir = ct_import(c->f, &c->arena)) || !cg_assume(c)
        || !cg_find_promises(c->m, c->f, &c->arena, &c->promises)) {
        cg_no_memory(c);
        return false;
    }
    cg_set_warps(c);
    return true;
}

/* ---- which kernels ---- */

/* Do threads wait for other blocks there? Then the cost of a block says little about the kernel's. */
static bool is_ordered(const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_atomic_rmw_tko:
    case OP_atomic_cas_tko:
    case OP_atomic_red_view_tko: return true;
    case OP_load_ptr_tko:
    case OP_load_view_tko:
    case OP_store_ptr_tko:
    case OP_store_view_tko: return !cg_is_weak_access(op);
    default: return false;
    }
}

static bool is_for_cost_to_choose(const cg_func *c)
{
    uint32_t count = 0;
    bool folds = false;
    if (cg_choices_of(c)->warps || c->strip_bits || !c->warp_bits || cg_loops_stay_plain(c))
        return false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (++count > CG_WEIGHED_OPS || cg_is_product(op) || is_ordered(op))
            return false;
        folds = folds || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)));
    }
    return folds;
}

/* ---- weighing ---- */

/* What is predicted for a block. */
typedef struct weight {
    bool compiles;
    double cycles, busy; /* 0: the kernel cannot be compiled, or its tiles take too many registers */
    uint32_t wanted;     /* registers of a thread with which loops with products spill none; 0: a budget decides */
    double short_of;     /* the same, divided by those that it can have */
    uint32_t resident;   /* warps of a multiprocessor that compute */
} weight;

/* The registers that a thread can have, however few blocks share a multiprocessor. */
static double registers_at_most(const cg_func *c)
{
    double all = CG_REGISTERS / (double)cg_all_threads(c);
    return all < CG_THREAD_REGISTERS ? all : CG_THREAD_REGISTERS;
}

/* Weighs the kernel with these choices. Out of memory, *c has failed. */
static weight weigh(cg_func *c, const cg_watch *watch, const cg_choices *choices)
{
    tv_compile_options silent = c->options ? *c->options : (tv_compile_options){.target = NULL};
    silent.remarks = (tv_remark_sink){.report = NULL};
    cg_written written = {.ptx = c->target->ptx};
    const cg_launch decisive = {.gpu = cg_gpu_of(c->target)}; /* not the GPU that remarks are for */
    cg_func own = {.m = c->m,
                   .f = c->f,
                   .target = c->target,
                   .options = &silent,
                   .launch = &decisive,
                   .choices = choices,
                   .written = &written,
                   .is_weighed = true};
    const cg_watch to_cost = cg_watch_to_weigh(watch);
    weight w = {.cycles = 0};
    bc_arena_init(&written.arena, &c->m->arena.allocator, 0);
    bc_text_init(&written.text, &c->m->arena.allocator);
    if (cg_begin_kernel(&own))
        cg_run_passes(&own, &to_cost);
    const cg_kernel_cost *cost = own.failed ? NULL : own.cost;
    if (cost && cost->registers * cost->machine->threads_enough < cost->machine->registers)
        w = (weight){.cycles = cost->cycles, .busy = cost->busy};
    w.compiles = !own.failed;
    w.wanted = cost && !own.groups ? cost->wanted : 0;
    w.short_of = w.wanted / registers_at_most(&own);
    w.resident = cost ? cost->blocks << cg_real_warp_bits(&own) : 0;
    if (own.status == TV_NO_MEMORY || own.arena.failed)
        cg_no_memory(c);
    bc_arena_release(&own.arena);
    bc_arena_release(&written.arena);
    bc_text_release(&written.text);
    return w;
}

void cg_choose_pair(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const ct_op *product = cg_largest_product(c->ir);
    bool may_pair = c->target->features & CG_HAS_TCGEN05 && cg_hint_of(c, CG_HINT_CLUSTER) == CG_PAIR_BLOCKS && product
                    && cg_choices_of(c)->pair == CG_AS_DECIDED;
    cg_choices choices = *cg_choices_of(c);
    if (!may_pair || cg_pair_obstacle(c, product) || weigh(c, watch, &choices).compiles || c->failed)
        return;
    choices.pair = CG_NEVER;
    *room = choices;
    c->choices = room;
}

/* Does the kernel multiply, and may more warps divide its tiles? In a chain of products, rows stay in their warps. */
static bool may_divide(const cg_func *c)
{
    uint32_t count = 0;
    bool multiplies = false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (++count > CG_WEIGHED_OPS)
            return false;
        multiplies = multiplies || cg_is_product(op);
    }
    return multiplies && !c->strip_bits && !cg_choices_of(c)->warps && !cg_mma_chain_warps(c)
           && !cg_loops_stay_plain(c);
}

/* Do tiles take about as many registers as a thread can have? Layouts and rings decide how many. */
static bool may_spill(cg_func *c)
{
    enum { REGISTER_BITS = 32 };
    uint64_t bits = 0;
    if (!cg_bits_held(c, &bits)) {
        cg_no_memory(c);
        return false;
    }
    return cg_registers_wanted(c, (uint32_t)(bits / REGISTER_BITS / cg_threads(c))) > registers_at_most(c);
}

/* Are more warps worthwhile? If one block takes the place of two, they are only if much is spilled: products read
   operands once for each warp, and no block multiplies while another one waits. */
static bool is_better(const cg_machine *m, const weight *then, const weight *now)
{
    bool is_divided = !then->wanted, is_fuller = then->resident > now->resident;
    return then->compiles && then->short_of < now->short_of
           && (is_divided || is_fuller || now->short_of >= cg_worth_spilling(m));
}

static void choose_more_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    if (!may_divide(c) || !may_spill(c))
        return;
    cg_choices best = *cg_choices_of(c), more = best;
    const weight of_usual = weigh(c, watch, &best);
    weight now = of_usual;
    for (uint32_t warp_bits = c->warp_bits + 1; warp_bits <= CG_BLOCK_WARPS && now.short_of > 1; warp_bits++) {
        more.warps = 1u << warp_bits;
        weight then = weigh(c, watch, &more);
        if (!is_better(cg_machine_of(c->target), &then, &now))
            break;
        now = then;
        best = more;
    }
    if (c->failed || !best.warps)
        return;
    *room = best;
    c->choices = room;
    cg_set_warps(c);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps: with fewer, tiles and addresses of a loop take about {Held=%u} registers of a thread",
              best.warps, of_usual.wanted);
}

void cg_choose_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    if (!is_for_cost_to_choose(c)) {
        choose_more_warps(c, watch, room);
        return;
    }
    const double worth = cg_machine_of(c->target)->worth_changing;
    const uint32_t usual = 1u << cg_real_warp_bits(c);
    cg_choices best = *cg_choices_of(c), fewer = best;
    const weight of_usual = weigh(c, watch, &best);
    weight now = of_usual;
    for (uint32_t warps = usual / 2; warps && now.cycles > 0 && now.cycles <= worth * now.busy; warps /= 2) {
        fewer.warps = warps;
        weight then = weigh(c, watch, &fewer);
        if (then.cycles <= 0 || then.cycles * worth >= now.cycles)
            break;
        now = then;
        best = fewer;
    }
    if (c->failed || !best.warps)
        return;
    *room = best;
    c->choices = room;
    cg_set_warps(c);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps, chosen by cost: {Cycles=%.0f} cycles per block instead of {UsualCycles=%.0f} with "
              "{UsualWarps=%u} warps",
              best.warps, now.cycles, of_usual.cycles, usual);
}

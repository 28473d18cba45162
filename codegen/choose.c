/* Chooses the number of warps of a kernel by cost. The passes give a tile so many warps that a thread does not hold
   too many elements. If the tile is small, each warp has few elements, but repeats what all warps have to do: indices,
   bounds, control flow, the steps of reductions across warps. So the kernel is also compiled with half of the warps, up
   to the prediction of its cost, and with half of these again, as long as each step is predicted to be faster. All
   steps together must be faster by more than the error of the model (`worth_changing` in codegen/cost/cost.def). If
   several loops load tiles, each step must: they may read the same rows, and more blocks drive these out of L2.

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
   321 and 453 where two blocks of 128x128x64 with a few registers too many were on a multiprocessor. If
   they may take that many, more warps are also tried where there is a single warp for each scheduler. Loaded operands
   count where accesses are too short to be copied: each element then has a register of its own. A product of i8,
   128x64x256 in single bytes, takes 186 µs with eight warps and 1,776 with four, which spill (H200).

   A chain of products with rows for two warpgroups gets two, and no producers, if a multiprocessor then has more warps
   than with one, or as many that have registers for their tiles where those of one spill (two chains 0.67 and 0.97 of
   the time). As many blocks share it as before, and each uses more of it, which counts where a grid has few blocks, or
   a last round is not full. On an H200, 27 chains of four seeds of the zoo that were drawn afterwards take 0.77 to
   1.04 of the time, 0.93 in the geometric mean. If threads read tiles from slots of their own whenever the kernel runs,
   no warp waits for memory: eleven such chains would take 0.90 to 1.26 of the time.

   The operands of a chain of 16 or 32 rows are swapped if groups of warps then have room and the block is predicted to
   be faster by more than `worth_swapping`. These are chains whose steps leave room for one block only. On an H200,
   latent attention with 32 rows takes 550 µs instead of 820, and seven of eight other chains 0.49 to 0.96 of the time
   (the eighth 1.06).

   A kernel with products gets fewer warps than a hint asks for if fewer suit its tiles, unless the hint lets its warps
   be divided into groups: each warp reads operands from shared memory, so that more warps read more. On an H200, 65
   kernels with a hint for eight warps take 0.55 to 1.08 of the time with four, 0.83 in the geometric mean. Products
   of f64, whose sums take two registers each, keep them (0.90 to 1.17). Sums of 8-bit floats get eight warps because
   wgmma holds them twice. If another instruction multiplies, as with a single step along K, four warps have
   registers for them: 12 kernels take 0.66 to 0.94 of the time.

   A map without such a hint gets more warps, up to 16, as long as fewer than half of the threads that a multiprocessor
   can have are predicted to be there and each step brings more of them: shared memory and registers for addresses limit
   how many blocks there are, which is not known before loops have their rings. If these are too few still, its rings
   have two stages, provided that this brings more. Accesses stay as long, and blocks that take tiles in turn have at
   most eight warps. On an H200, a map of 1,024 f64 by a table takes 50 µs with 16 warps and 80 with four, one of 4,096
   bf16 219 and 313, one of 16,384 bf16 with two stages 83 and 97.

   A reduction without such a hint gets more, up to eight, in the same way, as long as each warp has results of its own:
   otherwise more warps exchange more. This pays where accesses are shorter than 16 bytes, so that instructions limit
   it; with whole accesses, some kernels become slower (0.91 to 1.08). On an H200, 27 kernels of five seeds of the zoo
   take 0.73 to 1.06 of the time, 0.95 in the geometric mean.

   Stages are counted before scratch is known. A kernel that reduces or scans, and whose block would be alone on a
   multiprocessor because of its scratch, has fewer stages, so that a second block has room: nothing else runs while its
   warps wait at a barrier. On an H200, four kernels of eight seeds take 0.69 to 0.96 of the time.

   Why any choice is right: passes keep the meaning of a kernel for every number of warps. */
#include "codegen/choose.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
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

/* Do threads wait for other blocks there? */
static bool waits_for_others(const ct_op *op)
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

/* Does it reduce or scan, without products, and may it have another number of warps? */
static bool is_reduction(const cg_func *c)
{
    uint32_t count = 0;
    bool folds = false;
    if (cg_choices_of(c)->warps || c->strip_bits || !c->warp_bits || cg_loops_stay_plain(c))
        return false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (++count > CG_WEIGHED_OPS || cg_is_product(op))
            return false;
        folds = folds || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)));
    }
    return folds;
}

/* Does the cost of a block say little about the kernel's, because it waits for others? */
static bool is_ordered(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (waits_for_others(op))
            return true;
    return false;
}

/* ---- weighing ---- */

/* What is predicted for a block. */
typedef struct weight {
    bool compiles;
    double cycles, busy; /* 0: the kernel cannot be compiled, or its tiles take too many registers */
    double share;        /* the cycles, however many registers */
    uint32_t wanted;     /* registers of a thread with which loops with products spill none; 0: a budget decides */
    double short_of;     /* the same, divided by those that it can have */
    bool adds_up;        /* a product adds up its sums, in registers of its own */
    bool is_divided;     /* into groups of warps */
    uint32_t resident;   /* warps of a multiprocessor that compute */
    uint32_t warp_bits;  /* log2 of those of a block */
    uint32_t shared;     /* bytes of shared memory of a block */
    bool runs_ahead;     /* a loop has a ring */
    bool has_short;      /* accesses that run ahead, or those of one of two versions, are shorter than 16 bytes */
    bool is_fed;         /* no thread waits for a tile from memory: those that it reads come by a ring in any case */
} weight;

/* Has the block a multiprocessor to itself? */
static bool is_alone(const weight *w)
{
    return w->resident == 1u << w->warp_bits;
}

/* The registers that a thread can have, however few blocks share a multiprocessor. */
static double registers_at_most(const cg_func *c)
{
    double all = CG_REGISTERS / (double)cg_all_threads(c);
    return all < CG_THREAD_REGISTERS ? all : CG_THREAD_REGISTERS;
}

/* Do threads read tiles from their own slots, in every version of the kernel's loops that is likely to run? */
static bool reads_own_slots(const cg_func *c)
{
    bool reads = false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op->likely)
            return false;
        reads = reads || (op->opcode == CT_ring && ((const cg_ring *)op->detail)->role == CG_RING_OF_THREADS);
    }
    return reads && !c->is_versioned;
}

/* Are tiles loaded ahead in accesses shorter than 16 bytes, or possibly, where there are two versions for that reason? */
static bool has_short_accesses(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const cg_ring *ring = op->opcode == CT_ring ? op->detail : NULL;
        for (uint32_t i = 0; ring && i < ring->load_count; i++)
            if (ring->loads[i].vector_bits < cg_chunk_bits(ring->loads[i].op->results[0].type))
                return true;
    }
    return c->is_versioned;
}

static bool adds_up(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (cg_is_product(op) && cg_product_of(c, op).adds_up)
            return true;
    return false;
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
    w.share = cost ? cost->cycles : 0;
    w.adds_up = w.compiles && adds_up(&own);
    w.is_divided = own.groups;
    w.wanted = cost && !own.groups ? cost->wanted : 0;
    w.short_of = w.wanted / registers_at_most(&own);
    w.warp_bits = cg_real_warp_bits(&own);
    w.shared = cost ? cost->shared : 0;
    w.resident = cost ? cost->blocks << w.warp_bits : 0;
    for (uint32_t i = 0; cost && i < cost->loop_count; i++)
        w.runs_ahead = w.runs_ahead || cost->loops[i].stages;
    w.has_short = cost && has_short_accesses(&own);
    w.is_fed = cost && reads_own_slots(&own);
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

/* Compiles the kernel with these choices, which *room keeps. */
static void take(cg_func *c, cg_choices *room, const cg_choices *best)
{
    *room = *best;
    c->choices = room;
    cg_set_warps(c);
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

/* Do sums and loaded tiles take as many if each element has a register of its own? This is so where accesses are too
   short to be copied, which facts decide later. */
static bool may_spill_loads(const cg_func *c)
{
    uint64_t most = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        uint64_t elements = 0;
        for (const ct_op *in = op; ct_is_load(op) && in; in = in->next)
            if (ct_is_load(in))
                elements += (uint64_t)1 << cg_shape_of(in->results[0].type).tile_bits;
        most = elements > most ? elements : most;
    }
    return (double)(most / cg_threads(c)) + cg_sum_registers(c) > registers_at_most(c);
}

/* Are more warps worthwhile? If one block takes the place of two, they are only if much is spilled: products read
   operands once for each warp, and no block multiplies while another one waits. */
static bool is_better(const cg_machine *m, const weight *then, const weight *now)
{
    bool is_divided = !then->wanted, is_fuller = then->resident > now->resident;
    return then->compiles && then->short_of < now->short_of
           && (is_divided || is_fuller || now->short_of >= cg_worth_spilling(m));
}

/* Do threads spill, or is there a single warp for each scheduler, which waits for itself? */
static bool has_too_few(const weight *now)
{
    return now->short_of > 1 || (now->wanted && now->resident <= 1u << CG_WARPGROUP_BITS);
}

/* Has the kernel many warps because a product might hold its sums twice, as wgmma does with 8-bit floats? */
static bool may_add_up(const cg_func *c, const ct_op *product)
{
    return c->warp_bits > CG_WARPGROUP_BITS && cg_cuts_sums(c, product);
}

/* Gives a kernel fewer warps than a hint or its products ask for: those that suit its tiles, unless the hint leads to
   groups, and half of them if products hold their sums once after all. */
static void choose_fewer_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const ct_op *product = cg_largest_product(c->ir);
    const uint32_t hinted = c->warp_bits, own = cg_warps_unhinted(c);
    bool yields = product && own < hinted && bc_elem_kind(product->results[0].type) != BC_F64;
    cg_choices fewer = *cg_choices_of(c);
    if (!product || !(yields || may_add_up(c, product)))
        return;
    const weight now = weigh(c, watch, &fewer);
    uint32_t bits = yields && now.compiles && !now.is_divided ? own : hinted;
    const bool halves = bits > CG_WARPGROUP_BITS && may_add_up(c, product) && !now.adds_up;
    bits -= halves;
    if (bits == hinted)
        return;
    fewer.warps = 1u << bits;
    const weight then = weigh(c, watch, &fewer);
    if (c->failed || !then.compiles || (halves && then.short_of > 1))
        return;
    take(c, room, &fewer);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps instead of {UsualWarps=%u}: each warp reads the operands of its products from shared "
              "memory",
              fewer.warps, 1u << hinted);
}

static void remark_held(const cg_func *c, uint32_t warps, uint32_t wanted)
{
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps: with fewer, tiles and addresses of a loop take about {Held=%u} registers of a thread",
              warps, wanted);
}

static void choose_more_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const bool spills = may_spill(c);
    if (!spills && !may_spill_loads(c))
        return;
    const cg_choices usual = *cg_choices_of(c);
    cg_choices best = usual, more = best;
    const weight of_usual = weigh(c, watch, &best);
    weight now = of_usual;
    for (uint32_t warp_bits = c->warp_bits + 1;
         warp_bits <= CG_BLOCK_WARPS && (spills ? has_too_few(&now) : now.short_of > 1); warp_bits++) {
        more.warps = 1u << warp_bits;
        weight then = weigh(c, watch, &more);
        if (!is_better(cg_machine_of(c->target), &then, &now))
            break;
        now = then;
        best = more;
    }
    if (c->failed || best.warps == usual.warps)
        return;
    take(c, room, &best);
    remark_held(c, best.warps, of_usual.wanted);
}

/* ---- chains of products ---- */

/* The most rows of a product that multiplies what another one gives. 0: there is none. */
static int64_t rows_of_chain(const cg_func *c)
{
    uint32_t count = 0;
    int64_t rows = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (++count > CG_WEIGHED_OPS)
            return 0;
        if (cg_is_product(op) && cg_product_before(op)) {
            const bc_type *type = op->results[0].type;
            int64_t own = type->shape[type->rank - 2];
            rows = own > rows ? own : rows;
        }
    }
    return rows;
}

/* Swaps the operands of a chain of few rows, so that wgmma reads each of them once from shared memory, if the model
   predicts that this is clearly faster than what other rules have chosen; without producers, it was slower for most
   chains that were tried. */
static void swap_chain(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (!(c->target->features & CG_HAS_WGMMA) || usual.swap != CG_AS_DECIDED || usual.groups != CG_AS_DECIDED
        || cg_loops_stay_plain(c) || !rows_of_chain(c) || rows_of_chain(c) >= CG_WARPGROUP_ROWS)
        return;
    cg_choices swapped = usual;
    swapped.swap = CG_IF_LEGAL;
    const weight now = weigh(c, watch, &usual), then = weigh(c, watch, &swapped);
    if (c->failed || !then.compiles || !then.is_divided
        || (now.compiles && then.share * cg_machine_of(c->target)->worth_swapping > now.share))
        return;
    take(c, room, &swapped);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "swapped operands of a chain of products: about {Cycles=%.0f} cycles of a block instead of "
              "{UsualCycles=%.0f}",
              then.share, now.share);
}

/* Divides the rows of a chain among two warpgroups instead of one if a multiprocessor then has more warps, or as many,
   of which none spills. Where producers copy, blocks have registers by their budget instead, and sums by tcgen05 take
   none. True: it is done. */
static bool takes_second_warpgroup(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    enum { TWO_WARPGROUPS = 2 * CG_WARPGROUP_ROWS };
    const cg_choices usual = *cg_choices_of(c);
    if (!(c->target->features & CG_HAS_WGMMA) || usual.warps || usual.occupancy || cg_loops_stay_plain(c)
        || rows_of_chain(c) < TWO_WARPGROUPS)
        return false;
    cg_choices more = usual;
    more.warps = 2u << CG_WARPGROUP_BITS;
    more.occupancy = CG_FEW_BLOCKS;
    more.groups = CG_NEVER;
    const weight now = weigh(c, watch, &usual);
    if (!now.compiles || !now.wanted || now.is_fed || now.warp_bits != CG_WARPGROUP_BITS)
        return false;
    const weight then = weigh(c, watch, &more);
    const bool holds = then.resident == now.resident && now.short_of > 1 && then.short_of <= 1;
    if (c->failed || !then.compiles || !(then.resident > now.resident || holds))
        return false;
    more.occupancy = holds ? usual.occupancy : more.occupancy; /* one block is there */
    take(c, room, &more);
    if (holds)
        remark_held(c, more.warps, now.wanted);
    else
        cg_remark(
            c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
            "{Warps=%u} warps: about {Resident=%u} are on a multiprocessor at a time instead of {UsualResident=%u}",
            more.warps, then.resident, now.resident);
    return true;
}

/* ---- the correction of sums ---- */

/* Gives the sum of a chain by tcgen05 to correctors if the model predicts that the block is faster then: consumers go
   on while these multiply it. */
static void choose_correctors(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (!(c->target->features & CG_HAS_TCGEN05) || usual.correction != CG_AS_DECIDED || usual.groups != CG_AS_DECIDED
        || cg_loops_stay_plain(c) || !rows_of_chain(c))
        return;
    cg_choices apart = usual;
    apart.correction = CG_IF_LEGAL;
    const weight now = weigh(c, watch, &usual), then = weigh(c, watch, &apart);
    if (c->failed || !then.compiles || !now.compiles || then.share >= now.share)
        return;
    take(c, room, &apart);
    cg_remark(
        c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
        "warps of their own correct the sum of a chain of products: about {Cycles=%.0f} cycles of a block instead "
        "of {UsualCycles=%.0f}",
        then.share, now.share);
}

static void choose_for_products(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    if (!may_divide(c))
        return;
    choose_fewer_warps(c, watch, room);
    choose_more_warps(c, watch, room);
}

/* Does at most one loop load tiles? */
static bool reads_once(const cg_func *c)
{
    uint32_t loops = 0;
    for (const ct_op *op = c->ir->body->first; op; op = op->next) {
        bool loads = false;
        for (const ct_op *in = op; ct_is_loop(op) && in && in != op->next; in = ct_next_op(in, c->ir->body))
            loads = loads || ct_is_load(in);
        loops += loads;
    }
    return loops <= 1;
}

/* ---- maps ---- */

enum { FEWEST_STAGES = 2 };

/* Is it a map whose warps no hint says? */
static bool is_free_map(const cg_func *c)
{
    uint32_t count = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (++count > CG_WEIGHED_OPS)
            return false;
    return cg_is_map(c) && !cg_hint_of(c, CG_HINT_WARPS) && !cg_loops_stay_plain(c);
}

/* Takes the next choices if they bring more warps to a multiprocessor. Where blocks take tiles in turn, as many blocks
   must be left, which the stages of a ring limit. */
static bool brings_more(cg_func *c, const cg_watch *watch, const cg_choices *next, weight *now, cg_choices *best)
{
    weight then = weigh(c, watch, next);
    if (!then.compiles || then.resident <= now->resident)
        return false;
    if (cg_has_turns(c) && (!now->shared || then.resident < 2 * now->resident))
        return false;
    *now = then;
    *best = *next;
    return true;
}

static void remark_filled(cg_func *c, const cg_choices *chosen, uint32_t usual, const weight *now)
{
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps{Stages=%s}: about {Resident=%u} are on a multiprocessor at a time instead of "
              "{UsualResident=%u}",
              1u << now->warp_bits, chosen->stages == FEWEST_STAGES ? ", two stages" : "", now->resident, usual);
}

static void fill_with_map(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const uint32_t enough = c->target->threads / 2 >> CG_LANE_BITS, most = cg_most_warps_of_map(c, cg_largest_tile(c));
    cg_choices best = *cg_choices_of(c), next = best;
    weight now = weigh(c, watch, &best);
    const uint32_t usual = now.resident;
    bool grows = now.compiles && usual;
    for (uint32_t bits = now.warp_bits + 1; grows && bits <= most && now.resident < enough; bits++) {
        next.warps = 1u << bits;
        grows = brings_more(c, watch, &next, &now, &best);
    }
    next = best;
    next.stages = FEWEST_STAGES;
    if (usual && now.resident < enough && !best.stages && !c->strip_bits && !cg_has_turns(c))
        brings_more(c, watch, &next, &now, &best);
    if (c->failed || now.resident == usual)
        return;
    take(c, room, &best);
    remark_filled(c, &best, usual, &now);
}

/* ---- reductions and scans ---- */

/* Chooses the number of warps. Returns what is predicted for a block with it. */
static weight choose_by_cost(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const double worth = cg_machine_of(c->target)->worth_changing, each = reads_once(c) ? 1 : worth;
    const uint32_t usual = 1u << cg_real_warp_bits(c);
    cg_choices best = *cg_choices_of(c), fewer = best;
    const weight of_usual = weigh(c, watch, &best);
    weight now = of_usual, chosen = of_usual;
    for (uint32_t warps = usual / 2; warps && now.cycles > 0 && now.cycles <= worth * now.busy; warps /= 2) {
        fewer.warps = warps;
        weight then = weigh(c, watch, &fewer);
        if (then.cycles <= 0 || then.cycles * each >= now.cycles)
            break;
        now = then;
        if (then.cycles * worth < of_usual.cycles) {
            best = fewer;
            chosen = then;
        }
    }
    if (c->failed || !best.warps)
        return chosen;
    take(c, room, &best);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps, chosen by cost: {Cycles=%.0f} cycles per block instead of {UsualCycles=%.0f} with "
              "{UsualWarps=%u} warps",
              best.warps, chosen.cycles, of_usual.cycles, usual);
    return chosen;
}

/* Gives a reduction the warps that suit its tiles instead of fewer that a hint asks for, if only they leave it a ring:
   shared memory is divided among as many blocks as fill a multiprocessor, and two stages must fit in a share. Without
   a ring, ptxas decides how many loads are on their way, which are few, because it sums their results as they arrive.
   Returns what is predicted for a block. */
static weight yield_to_ring(cg_func *c, const cg_watch *watch, cg_choices *room, weight now)
{
    cg_choices more = *cg_choices_of(c);
    const uint32_t own = cg_warps_unhinted(c);
    if (!cg_hint_of(c, CG_HINT_WARPS) || own <= now.warp_bits || now.runs_ahead || cg_scans(c))
        return now;
    more.warps = 1u << own;
    const weight then = weigh(c, watch, &more);
    if (c->failed || !then.runs_ahead)
        return now;
    take(c, room, &more);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps instead of {UsualWarps=%u}: a loop has room for loads that run ahead only with them",
              more.warps, 1u << now.warp_bits);
    return then;
}

/* Gives the rings of a block that has a multiprocessor to itself fewer stages if that makes room for a second block:
   stages are counted before it is known how much scratch is beside them. A number that is asked for remains. Returns
   what is predicted for a block. */
static weight make_room(cg_func *c, const cg_watch *watch, cg_choices *room, weight now)
{
    cg_choices fewer = *cg_choices_of(c);
    const bool is_full = CG_FEW_BLOCKS * (now.shared + CG_SYSTEM_SHARED) > (uint32_t)c->target->shared_kib << 10;
    weight then = now;
    if (fewer.stages || !is_alone(&now) || !is_full)
        return now;
    for (fewer.stages = CG_RING_SLOTS - 1; fewer.stages >= CG_SLOTS_IN_FLIGHT; fewer.stages--) {
        then = weigh(c, watch, &fewer);
        if (then.resident > now.resident)
            break;
    }
    if (c->failed || then.resident <= now.resident)
        return now;
    take(c, room, &fewer);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "at most {Stages=%u} stages: scratch beside more of them would leave no room for a second block",
              fewer.stages);
    return then;
}

/* Has each of so many warps rows of its own? If warps share rows, more of them exchange more. */
static bool are_rows_divided(const cg_func *c, uint32_t warp_bits)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_reduce && cg_shape_of(op->results[0].type).tile_bits < warp_bits)
            return false;
    return !cg_scans(c);
}

/* Gives a reduction more warps where fewer than half of the threads that a multiprocessor can have are predicted to be
   there, as for maps, but only if accesses are short: then instructions limit it, rather than the bytes that are on
   their way, which a few warps have as many of. */
static void fill_with_rows(cg_func *c, const cg_watch *watch, cg_choices *room, weight now)
{
    const uint32_t enough = c->target->threads / 2 >> CG_LANE_BITS;
    cg_choices best = *cg_choices_of(c), next = best;
    const uint32_t usual = now.resident;
    if (cg_hint_of(c, CG_HINT_WARPS) || best.warps || !usual || !now.has_short)
        return;
    for (uint32_t bits = now.warp_bits + 1; bits <= CG_MANY_WARPS && now.resident < enough; bits++) {
        next.warps = 1u << bits;
        if (!are_rows_divided(c, bits) || !brings_more(c, watch, &next, &now, &best))
            break;
    }
    if (c->failed || now.resident == usual)
        return;
    take(c, room, &best);
    remark_filled(c, &best, usual, &now);
}

void cg_choose_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    if (is_free_map(c)) {
        fill_with_map(c, watch, room);
        return;
    }
    if (!is_reduction(c)) {
        if (!takes_second_warpgroup(c, watch, room))
            choose_for_products(c, watch, room);
        swap_chain(c, watch, room);
        choose_correctors(c, watch, room);
        return;
    }
    weight now;
    if (is_ordered(c)) {
        now = weigh(c, watch, cg_choices_of(c));
    } else {
        now = choose_by_cost(c, watch, room);
        now = yield_to_ring(c, watch, room, now);
        now = make_room(c, watch, room, now);
    }
    fill_with_rows(c, watch, room, now);
}

/* Chooses the plan of a kernel with products by cost (docs/internals/codegen/cost-model.md has the figures).

   A kernel with products gets more warps, whatever a hint says, if tiles, such as operands that are computed beside
   sums, take more registers than a thread can have: what is spilled in each iteration costs more than more warps do.
   Producers and consumers have registers by their budget instead. If tiles may take that many, more warps are also
   tried where there is a single warp for each scheduler. Loaded operands count where accesses are too short to be
   copied: each element then has a register of its own. It gets fewer warps than a hint asks for if fewer suit its
   tiles, unless the hint lets its warps be divided into groups that pay: each warp reads operands from shared memory,
   so that more warps read more. Products of f64, whose sums take two registers each, keep them. Warps are not divided
   into groups whose producers copy if blocks without groups are predicted to be clearly faster. A block that would be
   alone on a multiprocessor with a single warpgroup gets a second one. Two that would share the rows of an operand that
   they compute leave it to one.

   A chain of products whose rows may start anywhere has one stage if a second block then has room, and loads what
   is too short for copies ahead into registers, if two blocks at most share a multiprocessor, and that costs none. A
   chain with rows for two warpgroups gets two, and no producers, if a multiprocessor then has more warps than with
   one, or as many that have registers for their tiles where those of one spill, unless threads read tiles from slots
   of their own whenever the kernel runs, so that no warp waits for memory, or more blocks of one warpgroup are clearly
   faster. choose_chains.c has other plans of chains.

   Unsigned bytes become f32 by additions where few warps hide how long conversions take. */
#include "codegen/choose_products.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/tensor.h"
#include "codegen/choose_chains.h"
#include "codegen/choose_rings.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/weight.h"

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
    if (!cg_bits_held(c, &bits))
        return false;
    return cg_registers_wanted(c, (uint32_t)(bits / REGISTER_BITS / cg_threads(c))) > cg_registers_at_most(c);
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
    return (double)(most / cg_threads(c)) + cg_sum_registers(c) > cg_registers_at_most(c);
}

/* Are more warps worthwhile? If one block takes the place of two, they are only if much is spilled: products read
   operands once for each warp, and no block multiplies while another one waits. */
static bool is_better(const cg_machine *m, const cg_weight *then, const cg_weight *now)
{
    bool is_divided = !then->wanted, is_fuller = then->resident > now->resident;
    return then->compiles && then->short_of < now->short_of
           && (is_divided || is_fuller || now->short_of >= cg_worth_spilling(m));
}

/* Do threads spill, or is there a single warp for each scheduler, which waits for itself? */
static bool has_too_few(const cg_weight *now)
{
    return now->short_of > 1 || (now->wanted && now->resident <= 1u << CG_WARPGROUP_BITS);
}

/* Has the kernel many warps because a product might hold its sums twice, as wgmma does with 8-bit floats? */
static bool may_add_up(const cg_func *c, const ct_op *product)
{
    return c->warp_bits > CG_WARPGROUP_BITS && cg_cuts_sums(c, product);
}

/* Does a hint for more warps, which leads to groups, pay? Not if the model predicts that fewer warps are clearly
   faster, and not if threads copy where fewer warps leave room for more blocks: all threads of these copy, and their
   waits and ends do not fall together. */
static bool pays_as_groups(const cg_func *c, const cg_weight *now, const cg_weight *then)
{
    const bool is_slower = then->share * cg_machine_of(c->target)->worth_changing < now->share;
    return !is_slower && !(now->by_threads && cg_blocks_weighed(then) > cg_blocks_weighed(now));
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
    const cg_weight now = cg_weigh(c, watch, &fewer);
    uint32_t bits = yields && now.compiles ? own : hinted;
    const bool halves = bits > CG_WARPGROUP_BITS && may_add_up(c, product) && !now.adds_up;
    bits -= halves;
    if (bits == hinted)
        return;
    fewer.warps = 1u << bits;
    const cg_weight then = cg_weigh(c, watch, &fewer);
    const bool spills = halves && then.short_of >= cg_worth_spilling(cg_machine_of(c->target));
    if (c->failed || !then.compiles || spills || (now.is_divided && !halves && pays_as_groups(c, &now, &then)))
        return;
    cg_take(c, room, &fewer);
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
    const cg_weight of_usual = cg_weigh(c, watch, &best);
    cg_weight now = of_usual;
    for (uint32_t warp_bits = c->warp_bits + 1;
         warp_bits <= CG_BLOCK_WARPS && (spills ? has_too_few(&now) : now.short_of > 1); warp_bits++) {
        more.warps = 1u << warp_bits;
        cg_weight then = cg_weigh(c, watch, &more);
        if (!is_better(cg_machine_of(c->target), &then, &now))
            break;
        now = then;
        best = more;
    }
    if (c->failed || best.warps == usual.warps)
        return;
    cg_take(c, room, &best);
    remark_held(c, best.warps, of_usual.wanted);
}

/* Have both of two warpgroups rows of the product's own? An instruction has 64, and warpgroups that share these divide
   the columns: each of them takes the whole left operand, which for tf32 passes through registers. */
static bool have_rows(const ct_op *product)
{
    const bc_type *sums = product->results[0].type;
    const int64_t *sides = &sums->shape[sums->rank - 2];
    return bc_elem_kind(product->operands[0]->type) != BC_TF32 || sides[0] > CG_WARPGROUP_ROWS
           || sides[1] > CG_WARPGROUP_ROWS;
}

/* Gives a block that has a multiprocessor to itself a second warpgroup, unless the model predicts that it is slower: a
   single warp for each scheduler hides nothing, neither the wait for a slot nor what follows the loop. Where the copy
   engine feeds one warpgroup, little but products is left to hide, so that it must be clearly faster. Producers that
   copy would not keep up with two warpgroups, and each thread keeps enough of the sums to use what it reads more than
   once. */
static void join_alone(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    enum { MORE = CG_WARPGROUP_BITS + 1 };
    cg_choices more = *cg_choices_of(c);
    const ct_op *product = cg_largest_product(c->ir);
    if (!(c->target->features & CG_HAS_WGMMA) || c->warp_bits != CG_WARPGROUP_BITS || !cg_product_suits(c, MORE)
        || !product || !have_rows(product))
        return;
    const cg_weight now = cg_weigh(c, watch, &more);
    const double worth = now.is_divided && !now.by_threads ? cg_machine_of(c->target)->worth_changing : 1;
    more.warps = 1u << MORE;
    if (!now.compiles || cg_blocks_weighed(&now) > 1)
        return;
    const cg_weight then = cg_weigh(c, watch, &more);
    if (c->failed || !then.compiles || then.share * worth > now.share || then.by_threads)
        return;
    cg_take_fuller(c, room, &more, &then, now.resident);
}

/* Leaves a product to one warpgroup if two would share its rows, whose left operand they compute, and the model
   predicts that one is faster, and has registers for its tiles: each of two computes all of that operand, and reads all
   that it is computed from. */
static void compute_once(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    cg_choices fewer = *cg_choices_of(c);
    if (fewer.warps || !cg_largest_product(c->ir))
        return;
    const cg_weight now = cg_weigh(c, watch, &fewer);
    if (!now.compiles || !now.repeats)
        return;
    fewer.warps = 1u << CG_WARPGROUP_BITS;
    const cg_weight then = cg_weigh(c, watch, &fewer);
    if (!c->failed && then.compiles && then.is_divided && then.held <= CG_THREAD_REGISTERS && then.share < now.share)
        cg_take_cheaper(c, room, &fewer, "one warpgroup, which computes the left operand once", &then, &now);
}

/* ---- chains of products ---- */

/* Are blocks of one warpgroup better, since more of them have room, as three in place of two? Only if copies bring all
   tiles ahead, so that more warps would hide no wait for these, and if they are predicted to be clearly faster. */
static bool suits_blocks(const cg_func *c, const cg_weight *now, const cg_weight *then)
{
    return cg_blocks_weighed(now) > cg_blocks_weighed(then) && now->stages && !now->loads_late
           && now->share * cg_machine_of(c->target)->worth_changing < then->share;
}

/* Divides the rows of a chain among two warpgroups instead of one if a multiprocessor then has more warps, or as many,
   of which none spills. Where producers copy, blocks have registers by their budget instead, and sums by tcgen05 take
   none. True: it is done. */
static bool takes_second_warpgroup(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    enum { TWO_WARPGROUPS = 2 * CG_WARPGROUP_ROWS };
    const cg_choices usual = *cg_choices_of(c);
    if (!(c->target->features & CG_HAS_WGMMA) || usual.warps || usual.occupancy || cg_loops_stay_plain(c)
        || cg_rows_of_chain(c) < TWO_WARPGROUPS)
        return false;
    cg_choices more = usual;
    more.warps = 2u << CG_WARPGROUP_BITS;
    more.occupancy = CG_FEW_BLOCKS;
    more.groups = CG_NEVER;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (!now.compiles || !now.wanted || now.is_fed || now.warp_bits != CG_WARPGROUP_BITS)
        return false;
    const cg_weight then = cg_weigh(c, watch, &more);
    const bool holds = then.resident == now.resident && now.short_of > 1 && then.short_of <= 1;
    if (c->failed || !then.compiles || !(holds || (then.resident > now.resident && !suits_blocks(c, &now, &then))))
        return false;
    more.occupancy = holds ? usual.occupancy : more.occupancy; /* one block is there */
    if (!holds) {
        cg_take_fuller(c, room, &more, &then, now.resident);
        return true;
    }
    cg_take(c, room, &more);
    remark_held(c, more.warps, now.wanted);
    return true;
}

/* ---- tiles of pointers ---- */

/* Does a product read a tile that is loaded through pointers, of elements shorter than a copy? */
static bool has_pointers(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (uint32_t i = 0; cg_is_product(op) && i < 2; i++) {
            const ct_op *load = cg_source_of(op->operands[i])->op;
            if (load && load->opcode == OP_load_ptr_tko
                && cg_memory_bytes(bc_elem_kind(load->results[0].type)) < CG_COPY_BYTES)
                return true;
        }
    return false;
}

/* Lets tiles behind pointers be copied in pieces of 4 and 8 bytes, each with an address of its own, if the kernel is
   divided into groups only then, so that other threads compute these addresses, or if a block is alone on a
   multiprocessor, so that only stages hide that it waits. Where several blocks hide each other's waits, the threads
   that multiply are slower if they compute the addresses besides. On an H200, microseconds before and after: bf16
   chain of 64x128x128 512 and 288, i8 64x256x64 223 and 115, f16 in one block of 256 threads 247 and 131; others 130
   and 161, 129 and 141, 163 and 172. */
static void choose_pieces(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (usual.pieces != CG_AS_DECIDED || cg_loops_stay_plain(c) || !has_pointers(c))
        return;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (!now.compiles || now.is_divided)
        return;
    cg_choices shorter = usual;
    shorter.pieces = CG_IF_LEGAL;
    const cg_weight then = cg_weigh(c, watch, &shorter);
    const bool has_stages = cg_blocks_weighed(&now) == 1 && cg_blocks_weighed(&then) == 1 && then.shared > now.shared;
    if (!c->failed && then.compiles && (then.is_divided || has_stages))
        cg_take(c, room, &shorter);
}

/* ---- rows that are not aligned ---- */

/* Gives a chain whose block would be alone on a multiprocessor a single stage if only that leaves room for a second one
   and the model does not predict that blocks are slower. A version for rows that are not aligned, which loads tiles
   when it needs them, does not use the stages: only another block goes on while it waits. A single product keeps two
   stages, and threads have registers for its tiles. */
static void make_room_for_late(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    const bool is_chain = cg_rows_of_chain(c);
    const uint32_t least = is_chain ? 1 : 2;
    if (usual.stages || cg_loops_stay_plain(c) || !has_pointers(c))
        return;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (!now.compiles || now.is_divided || !now.loads_late || cg_blocks_weighed(&now) != 1)
        return;
    cg_choices fewer = usual;
    cg_weight then = now;
    for (fewer.stages = now.stages; fewer.stages > least && then.compiles && cg_blocks_weighed(&then) == 1;) {
        fewer.stages--;
        then = cg_weigh(c, watch, &fewer);
    }
    const bool suits = is_chain ? fewer.stages == 1 : then.short_of <= 1;
    if (c->failed || !then.compiles || cg_blocks_weighed(&then) == 1 || !suits || then.share > now.share)
        return;
    cg_take(c, room, &fewer);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Stages=%u} stages at most: more would leave no room for a second block, which goes on while rows that "
              "are not aligned are awaited",
              fewer.stages);
}

/* Has a chain load what is too short for copies one iteration ahead into registers, in a version for rows that are not
   aligned, if that costs no block, and ptxas can do without those registers that are too many. More than two blocks
   hide each other's waits: then the registers and the branches of such loads only cost time
   (docs/internals/codegen/pointers.md has the figures). */
static void prefetch_short(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    const cg_machine *m = cg_machine_of(c->target);
    if (usual.registers != CG_AS_DECIDED || cg_loops_stay_plain(c) || !cg_rows_of_chain(c) || !has_pointers(c))
        return;
    cg_choices ahead = usual;
    ahead.registers = CG_IF_LEGAL;
    const cg_weight now = cg_weigh(c, watch, &usual), then = cg_weigh(c, watch, &ahead);
    const double threads = (double)((uint64_t)then.resident << CG_LANE_BITS), left = m->registers / threads,
                 saved = left / m->registers_saved;
    const bool helps = then.wanted > now.wanted && cg_blocks_weighed(&then) <= CG_FEW_BLOCKS,
               costs_blocks = then.resident < now.resident;
    if (!c->failed && then.compiles && helps && !costs_blocks && then.wanted <= left + saved)
        cg_take(c, room, &ahead);
}

/* ---- copies ---- */

/* Does a block store far fewer elements than its product has, as where rows of it are reduced? */
static bool stores_little(const cg_func *c)
{
    enum { TIMES_FEWER = 8 };
    const ct_op *product = cg_largest_product(c->ir);
    const uint64_t most = ((uint64_t)1 << cg_shape_of(product->results[0].type).tile_bits) / TIMES_FEWER;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        bool writes = false;
        if (op->opcode < OP_LIMIT)
            cg_memory_of(op, &writes);
        for (uint32_t i = 0; writes && i < op->operand_count; i++)
            if (bc_is_tile(op->operands[i]->type) && (uint64_t)1 << cg_shape_of(op->operands[i]->type).tile_bits > most)
                return false;
    }
    return true;
}

/* Leaves warps undivided if the model predicts that a block whose threads all copy is clearly faster than one whose
   producers do, and if none of these threads spills. Producers that transpose tiles or round them take as long for a
   slot as their words take to pass through registers, however short its products are. Those of a persistent block also
   copy for the next tile while this one is stored, which does not count for a block. Where it stores little, that
   gains nothing, and it is enough that several blocks are predicted to be faster at all. But most copies must have 16
   bytes: shorter ones pass through L1, to which several blocks leave less. */
static bool leave_undivided(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    cg_choices whole = *cg_choices_of(c);
    if (!now->by_threads || (now->is_persistent && (now->is_short || !stores_little(c))))
        return false;
    const double worth = now->is_persistent ? 1 : cg_machine_of(c->target)->worth_changing;
    whole.groups = CG_NEVER;
    const cg_weight then = cg_weigh(c, watch, &whole);
    const bool lacks_blocks = now->is_persistent && cg_blocks_weighed(&then) < CG_FEW_BLOCKS;
    if (c->failed || !then.compiles || then.short_of > 1 || lacks_blocks || then.share * worth >= now->share)
        return false;
    cg_take_cheaper(c, room, &whole, "all threads copy, rather than producers", &then, now);
    return true;
}

static void choose_copies(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (usual.groups != CG_AS_DECIDED || cg_loops_stay_plain(c) || !cg_largest_product(c->ir))
        return;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (now.compiles && !leave_undivided(c, watch, room, &now) && !usual.stages)
        cg_leave_cache(c, watch, room, &now);
}

/* Behind the choice of rings, which takes a block of more stages where their copies are as short. */
static void keep_blocks_out(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (usual.groups != CG_AS_DECIDED || usual.stages || cg_loops_stay_plain(c) || !cg_largest_product(c->ir))
        return;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (now.compiles)
        cg_keep_blocks_out(c, watch, room, &now);
}

/* ---- scaled products of few rows ---- */

/* Leaves scaled products of few rows to mma.sync if blocks are predicted to be clearly faster: rows that are spread
   over those of tcgen05 take the time of all of these. The measured GPUs do not have the instruction. */
static void choose_spread(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const ct_op *product = c->target->features & CG_HAS_TCGEN05 ? cg_largest_product(c->ir) : NULL;
    if (!product || product->opcode != OP_mmaf_scaled || cg_rows_of_product(product) >= 1 << CG_TENSOR_ROW_BITS)
        return;
    cg_choices never = *cg_choices_of(c);
    const cg_weight now = cg_weigh_on(c, watch, &never, CG_ANY_GPU);
    never.spread = CG_NEVER;
    const cg_weight then = cg_weigh_on(c, watch, &never, CG_ANY_GPU);
    const double worth = cg_machine_of(c->target)->worth_changing;
    if (c->failed || !then.compiles || (now.compiles && then.share * worth >= now.share))
        return;
    cg_take_cheaper(c, room, &never, "scaled products of few rows by mma.sync", &then, &now);
}

static void choose_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    if (!may_divide(c))
        return;
    choose_fewer_warps(c, watch, room);
    choose_more_warps(c, watch, room);
    join_alone(c, watch, room);
    compute_once(c, watch, room);
}

/* Do unsigned bytes become f32? */
static bool converts_bytes(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_itof && bc_elem_kind(ct_operands(op)[0]->type) == BC_I8
            && bc_elem_kind(op->results[0].type) == BC_F32
            && ct_attr_u(op, F_itof_signedness) == BC_Signedness_unsigned)
            return true;
    return false;
}

/* Converts bytes by two instructions instead of one of the special function unit, which takes longer than both, where
   a multiprocessor has too few warps to issue an instruction in each cycle if each waits for its last result. Where
   it has enough, the instructions are what counts, and where a thread has no registers for its tiles, ptxas spills
   more. */
static void shorten_conversions(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const double enough = cg_machine_of(c->target)->issue * cg_machine_of(c->target)->op_latency;
    cg_choices added = *cg_choices_of(c);
    if (added.bytes != CG_AS_DECIDED || !converts_bytes(c))
        return;
    const cg_weight now = cg_weigh(c, watch, &added);
    if (c->failed || !now.compiles || now.resident >= enough || now.short_of > 1)
        return;
    added.bytes = CG_IF_LEGAL;
    cg_take(c, room, &added);
    cg_remark(
        c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
        "bytes become f32 by additions: about {Resident=%u} warps are on a multiprocessor at a time, too few to hide "
        "how long conversions take",
        now.resident);
}

void cg_choose_for_products(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const bool asks_for_warps = cg_choices_of(c)->warps;
    choose_spread(c, watch, room);
    cg_choose_bytes(c, watch, room);
    const bool is_chain = cg_rows_of_chain(c);
    if (!is_chain) /* with two blocks, it needs no more warps */
        make_room_for_late(c, watch, room);
    if (!takes_second_warpgroup(c, watch, room))
        choose_warps(c, watch, room);
    if (is_chain)
        make_room_for_late(c, watch, room);
    prefetch_short(c, watch, room);
    choose_pieces(c, watch, room);
    choose_copies(c, watch, room);
    if (may_divide(c))
        cg_prefer_blocks(c, watch, room);
    cg_choose_for_chain(c, watch, room);
    shorten_conversions(c, watch, room);
    cg_choose_rings(c, watch, room);
    if (!asks_for_warps)
        cg_halve_warps(c, watch, room);
    keep_blocks_out(c, watch, room);
}

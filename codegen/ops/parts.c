/* The sum of what the thread blocks of a cluster, or the slices of a block, have of it (codegen/passes/split.c). All
   have the same layout, so that each thread adds the registers of the thread with its number in the other ones, which
   put theirs into their shared memory, as many at a time as fit.

   Why the barriers suffice: the first barrier of the cluster, or of the block, orders what they write before what the
   first one reads, the second one orders this before what they write next, and before they exit. They also meet if the
   first one has all of the sum, so that it stores nothing before the others have loaded what they decide by. Threads
   that have ended, such as producers, are not waited for. */
#include "codegen/ops/grid.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

enum { WORD = 4, VECTOR = 4, MOST_BYTES = 1 << 15 };

void cg_assign_add_parts(cg_func *c, const ct_op *op)
{
    const cg_layout *l = cg_value_of(c, op->operands[0])->home;
    cg_set_home(c, cg_result(op, 0), l, CG_WEIGHT_MMA);
    cg_want(c, op->operands[0], l);
    cg_want(c, op->operands[1], cg_value_of(c, op->operands[1])->home);
}

/* The registers of a thread that pass through shared memory at a time: a power of two. No more than MOST_BYTES, 64
   registers of 128 threads, because two barriers for as many cost little. */
static uint32_t at_once(cg_func *c, const ct_op *op)
{
    uint32_t regs = cg_layout_regs(cg_value_of(c, op->operands[0])->home), room = cg_scratch_room(c, op);
    while (regs > 1 && (regs * cg_threads(c) * WORD > MOST_BYTES || regs * cg_threads(c) * WORD > room))
        regs /= 2;
    return regs;
}

void cg_effects_add_parts(cg_func *c, ct_op *op)
{
    cg_add_scratch(c, op, at_once(c, op) * cg_threads(c) * WORD);
}

static uint32_t count_of_parts(const cg_func *c)
{
    return c->slices ? c->slices : c->cluster;
}

static void meet(cg_func *c)
{
    if (c->slices) {
        cg_slices_meet(c);
        return;
    }
    cg_ins(c, "barrier.cluster.arrive.release.aligned");
    cg_ins(c, "barrier.cluster.wait.acquire.aligned");
}

/* Where the thread's vector number 0 is. */
static cg_val place_of_thread(cg_func *c, cg_val scratch, uint32_t vector)
{
    cg_val place = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", place, cg_tid(c), vector * WORD, scratch);
    return place;
}

/* The same place in the memory of the block, or slice, of that rank. The place is one of the first slice. */
static cg_val place_of(cg_func *c, cg_val place, uint32_t rank)
{
    cg_val others = cg_new(c, CG_B32);
    if (c->slices)
        cg_ins(c, "add.u32 %v, %v, %u", others, place, rank * cg_slice_bytes(c));
    else
        cg_ins(c, "mapa.shared::cluster.u32 %v, %v, %u", others, place, rank);
    return others;
}

/* Adds what that one has put there. */
static void add_others(cg_func *c, bool floats, cg_val place, uint32_t rank, cg_val *sums, uint32_t count,
                       uint32_t vector)
{
    const char *space = c->slices ? "shared" : "shared::cluster";
    cg_val others = place_of(c, place, rank), from[VECTOR];
    for (uint32_t i = 0; i < count; i += vector) {
        for (uint32_t k = 0; k < vector; k++)
            from[k] = cg_new(c, CG_B32);
        if (vector > 1)
            cg_ins(c, "ld.%s.v%u.b32 %V, [%v+%u]", space, vector, from, vector, others, i * cg_threads(c) * WORD);
        else
            cg_ins(c, "ld.%s.b32 %v, [%v+%u]", space, from[0], others, i * cg_threads(c) * WORD);
        for (uint32_t k = 0; k < vector; k++)
            cg_ins(c, floats ? "add.rn.f32 %v, %v, %v" : "add.s32 %v, %v, %v", sums[i + k], sums[i + k], from[k]);
    }
}

static void put(cg_func *c, cg_val place, cg_val *sums, uint32_t count, uint32_t vector)
{
    for (uint32_t i = 0; i < count; i += vector)
        if (vector > 1)
            cg_ins(c, "st.shared.v%u.b32 [%v+%u], %V", vector, place, i * cg_threads(c) * WORD, &sums[i], vector);
        else
            cg_ins(c, "st.shared.b32 [%v+%u], %v", place, i * cg_threads(c) * WORD, sums[i]);
}

/* The first one adds these registers of all others. */
static void add_registers(cg_func *c, const ct_op *op, cg_val place, cg_val is_other, cg_val *sums, uint32_t count)
{
    const uint32_t vector = count < VECTOR ? count : VECTOR, first = cg_label(c), read = cg_label(c);
    const bool floats = bc_elem_kind(op->results[0].type) == BC_F32;
    cg_ins(c, "@!%v bra.uni %l", is_other, first);
    put(c, place, sums, count, vector);
    meet(c);
    cg_ins(c, "bra.uni %l", read);
    cg_place_label(c, first);
    meet(c); /* the others have put theirs */
    for (uint32_t other = 1; other < count_of_parts(c); other++)
        add_others(c, floats, place, other, sums, count, vector);
    cg_place_label(c, read);
    meet(c); /* the first one has read it */
}

void cg_lower_add_parts(cg_func *c, const ct_op *op)
{
    const cg_layout *l = cg_value_of(c, op->operands[0])->home;
    const cg_val *mine = cg_get(c, op->operands[0], l);
    const uint32_t regs = cg_layout_regs(l), count = at_once(c, op), alone = cg_label(c), met = cg_label(c),
                   end = cg_label(c);
    cg_val *sums = cg_vals(c, regs), parted = cg_reg(c, cg_scalar(c, op->operands[1])), is_other = cg_new(c, CG_PRED),
           scratch = cg_scratch(c, op, count * cg_threads(c) * WORD);
    if (!mine || !sums)
        return;
    cg_val place = place_of_thread(c, scratch, count < VECTOR ? count : VECTOR);
    for (uint32_t i = 0; i < regs; i++) {
        sums[i] = cg_new(c, CG_B32);
        cg_move(c, sums[i], mine[i]);
    }
    cg_ins(c, "setp.ne.u32 %v, %v, 0", is_other, cg_part_number(c));
    if (!c->slices)
        cg_ins(c, "@!%v bra.uni %l", cg_has_few_blocks(c), end);
    cg_ins(c, "@!%v bra.uni %l", parted, alone);
    for (uint32_t i = 0; i < regs; i += count)
        add_registers(c, op, place, is_other, &sums[i], count);
    cg_ins(c, "bra.uni %l", met);
    cg_place_label(c, alone);
    meet(c); /* the others have decided that there are no parts */
    cg_place_label(c, met);
    cg_ins(c, "@%v exit", is_other);
    cg_place_label(c, end);
    cg_set(c, cg_result(op, 0), sums);
}

/* Scales of products by tcgen05; see the header. Source: PTX ISA, "Block scaling for tcgen05.mma". */
#include "codegen/ops/tcgen05_scales.h"

#include "codegen/analysis/tcgen05_scales.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tensor_move.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

enum { LEFT_SCALES = 3 }; /* the operand with the scales of A, before that with those of B */

/* ---- from registers to tensor memory ---- */

/* The words of the thread, in the order of cg_scale_words_layout. NULL: out of memory. */
static cg_val *take_words(cg_func *c, const ct_op *op, const cg_product *p, uint32_t side, uint32_t *out_count)
{
    const cg_layout *l = cg_value_of(c, p->result)->source + 2 + side;
    const cg_val *scales = cg_get(c, op->operands[LEFT_SCALES + side], l);
    uint32_t word_bits = cg_scale_place_of(p, side == 0).word_bits, count = cg_layout_regs(l) >> word_bits;
    cg_val *words = cg_vals(c, count);
    for (uint32_t w = 0; scales && words && w < count; w++)
        words[w] = cg_scale_word(c, p->scale_kind, scales + (w << word_bits), 1u << word_bits);
    *out_count = count;
    return scales ? words : NULL;
}

/* Stores as many words at a time as have columns side by side. */
static void store_words(cg_func *c, const cg_scale_place *s, cg_val lanes, uint32_t column, const cg_val *words,
                        uint32_t count)
{
    enum { MOST = 64 };
    uint32_t run = s->own_bits == s->column_bits ? count : 1u << s->own_bits;
    run = run < MOST ? run : MOST;
    for (uint32_t w = 0; w < count; w += run) {
        uint32_t at = column + s->first + (w >> s->own_bits << s->column_bits | (w & ((1u << s->own_bits) - 1)));
        cg_ins(c, "tcgen05.st.sync.aligned.32x32b.x%u.b32 [%v+%u], %V", run, lanes, at, words + w, run);
    }
}

static bool is_in_ring(const ct_op *op, uint32_t side)
{
    return cg_encoding_of(op->operands[LEFT_SCALES + side]);
}

bool cg_has_scales_to_put(const ct_op *op)
{
    return op->opcode == OP_mmaf_scaled && !(is_in_ring(op, 0) && is_in_ring(op, 1));
}

void cg_put_scales(cg_func *c, const ct_op *op, const cg_product *p, cg_val base, uint32_t column)
{
    cg_val *words[2] = {NULL, NULL};
    uint32_t counts[2] = {0, 0};
    for (uint32_t side = 0; side < 2 && !c->failed; side++)
        if (!is_in_ring(op, side))
            words[side] = take_words(c, op, p, side, &counts[side]);
    if (c->failed)
        return;
    uint32_t others = c->warp_bits > CG_WARPGROUP_BITS ? cg_label(c) : 0;
    if (others)
        cg_leave_from(c, cg_tid(c), 1u << (CG_WARPGROUP_BITS + CG_LANE_BITS), others);
    cg_val lanes = cg_tensor_lanes(c, base, NULL, 0);
    for (uint32_t side = 0; side < 2; side++) {
        cg_scale_place place = cg_scale_place_of(p, side == 0);
        store_words(c, &place, lanes, column, words[side], counts[side]);
    }
    cg_ins(c, "tcgen05.wait::st.sync.aligned");
    if (others)
        cg_place_label(c, others);
}

/* ---- from a ring to tensor memory ---- */

/* The matrix descriptor of 32 rows of 16 bytes: in units of 16 bytes, the address and the distance between groups of
   eight rows, which is less if rows are spread; a constant. PTX ISA, "Shared memory descriptor". */
static cg_val descriptor_of(cg_func *c, cg_val address, uint32_t spread)
{
    enum { EIGHT_ROWS = 8, STRIDE_BIT = 32, CONSTANT_BIT = 46 };
    cg_val unit = cg_new(c, CG_B32), wide = cg_new(c, CG_B64), d = cg_new(c, CG_B64);
    cg_ins(c, "bfe.u32 %v, %v, 4, 14", unit, address);
    cg_ins(c, "cvt.u64.u32 %v, %v", wide, unit);
    cg_ins(c, "or.b64 %v, %v, %q", d, wide, (uint64_t)EIGHT_ROWS >> spread << STRIDE_BIT | (uint64_t)1 << CONSTANT_BIT);
    return d;
}

/* Why it is right without a wait: instructions of one thread to the tensor core are executed in order, so the product
   reads what the copies before it have written, and they overwrite what the product before has read. */
void cg_copy_scales(cg_func *c, const ct_op *op, const cg_product *p, cg_val base, uint32_t column)
{
    enum { COPY_BYTES = 512 };
    for (uint32_t side = 0; side < 2; side++) {
        const ct_value *scales = op->operands[LEFT_SCALES + side];
        if (!is_in_ring(op, side))
            continue;
        cg_scale_place place = cg_scale_place_of(p, side == 0);
        uint32_t bytes = COPY_BYTES >> place.spread, copies = cg_encoding_bytes(cg_encoding_of(scales)) / bytes;
        cg_val first = descriptor_of(c, cg_tile_in_slot(cg_source_of(scales)->op), place.spread);
        for (uint32_t i = 0; i < copies; i++) {
            cg_val to = cg_new(c, CG_B32), from = cg_descriptor_at(c, first, i * bytes);
            cg_ins(c, "add.u32 %v, %v, %u", to, base, column + place.first + (i << CG_SCALE_COPY_BITS));
            cg_ins(c, "tcgen05.cp.cta_group::%u.32x128b.warpx4 [%v], %v", cg_tensor_blocks(c), to, from);
        }
    }
}

/* ---- to the instructions ---- */

void cg_scale_step(cg_func *c, const cg_product *p, cg_scale_steps *s, cg_step_at at)
{
    enum { NUMBER_B_BIT = 4, NUMBER_A_BIT = 29 };
    uint32_t number = 0; /* of the first scale in its word, in both operands */
    for (uint32_t side = 0; side < 2; side++) {
        cg_scale_place place = cg_scale_place_of(p, side == 0);
        uint32_t first = at.k << p->scaling->scale_bits, words = place.scale_bits - place.word_bits;
        uint32_t word = first >> place.word_bits | (side ? at.n : at.m) << words;
        number = first & ((1u << place.word_bits) - 1);
        if (s->at[side].id && s->word[side] == word)
            continue;
        s->word[side] = word;
        s->at[side] = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", s->at[side], s->base, s->column + place.first + (word << place.column_bits));
    }
    s->instruction = s->descriptors[number];
    if (s->instruction.id)
        return;
    s->instruction = s->descriptors[number] = cg_new(c, CG_B32);
    cg_ins(c, "mov.b32 %v, %x", s->instruction, s->shape | number << NUMBER_B_BIT | number << NUMBER_A_BIT);
}

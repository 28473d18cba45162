/* Tiles between registers and tensor memory; see the header. The shapes 16x256b and 16x128b move 16 lanes of a number
   of columns, in which a thread has pairs of words or single ones; with 32x32b, each thread moves words of its own
   lane. Source: PTX ISA, "tcgen05.ld", "tcgen05.st". */
#include "codegen/ops/tensor_move.h"

#include "codegen/analysis/tensor_left.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

enum { MOST_REGISTERS_BITS = 7, LANE_BIT = 16, OTHER_HALF = 16 }; /* log2 of the registers of a load or store */

cg_tensor_tile cg_tensor_sum(const cg_func *c, const cg_sum *s, const cg_product *p)
{
    return (cg_tensor_tile){.layout = cg_tcgen05_layout(c, p),
                            .rows = p->m,
                            .columns = cg_sum_columns(p),
                            .column = s->column,
                            .along_m = p->along_m,
                            .along_n = p->along_n,
                            .spread = cg_tcgen05_spread(p),
                            .by_rows = cg_tcgen05_moves_rows(p),
                            .halves = cg_tcgen05_halves_lanes(p)};
}

cg_tensor_tile cg_tensor_left(const cg_func *c, const cg_sum *s, const cg_product *p)
{
    return (cg_tensor_tile){.layout = cg_tensor_left_layout(c, p),
                            .rows = p->m,
                            .columns = p->k,
                            .word_bits = p->atom.element_bits,
                            .column = s->left,
                            .along_m = p->along_m,
                            .along_n = cg_tensor_left_along(c, p),
                            .by_rows = cg_tcgen05_moves_rows(p)};
}

cg_val cg_tensor_lanes(cg_func *c, cg_val base, const uint32_t *columns, uint32_t count)
{
    uint32_t images[CG_MAX_TILE_BITS] = {0}, bits = CG_LANE_BITS;
    for (uint32_t i = 0; i < CG_WARPGROUP_BITS; i++)
        images[bits++] = (uint32_t)1 << (LANE_BIT + CG_LANE_BITS + i);
    for (uint32_t i = 0; i < count; i++)
        images[bits++] = columns[i];
    cg_val own = cg_linear(c, cg_tid(c), images, bits), at = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %v", at, own, base);
    return at;
}

/* The lanes and columns that a warp has of the tile. Tiles with the same rows and columns share the address. Where the
   upper half of the columns is in other lanes, warps along N have the other upper bits in descending order
   (cg_tcgen05_warp_column). */
static cg_val lanes_of(cg_func *c, cg_val base, const cg_tensor_tile *t)
{
    uint32_t columns[CG_MAX_WARP_BITS], count = 0, words = t->columns - t->word_bits;
    for (uint32_t i = CG_WARPGROUP_BITS; i < t->along_m; i++)
        columns[count++] = (uint32_t)1 << (words + i - CG_WARPGROUP_BITS);
    for (uint32_t i = t->halves; i < t->along_n; i++)
        columns[count++] = (uint32_t)1 << (t->halves ? words - 1 - i : words - t->along_n + i);
    return cg_tensor_lanes(c, base, columns, count);
}

/* log2 of the registers that an instruction moves at most: 128, if ptxas has some beside them, of which it counts those
   that a thread is launched with, whatever it gets later. */
static uint32_t most_registers(const cg_func *c)
{
    enum { BESIDE = 18 }; /* ptxas 13.5 */
    const uint32_t launched = c->groups && c->groups->launched ? c->groups->launched : CG_THREAD_REGISTERS;
    return MOST_REGISTERS_BITS - (launched < (1u << MOST_REGISTERS_BITS) + BESIDE);
}

/* Of spread rows, a warp has eight of each 16 lanes that 16x256b moves, or of the first 16: of four registers, the
   first two. What loads give for the other lanes is not used. Stores repeat rows there, so that products do not add to
   what was never written. */
static void move_spread(cg_func *c, cg_val at, const cg_tensor_tile *t, const cg_val *regs, bool stores)
{
    enum { PAIR = 2, BLOCK = 4, BLOCK_COLUMNS = 3, BLOCK_BITS = 2 };
    uint32_t halves = t->spread == 1, blocks = t->columns - t->along_n - BLOCK_COLUMNS,
             most = most_registers(c) - BLOCK_BITS, all = cg_layout_regs(&t->layout),
             count = 1u << (blocks < most ? blocks : most), step = (uint32_t)PAIR << halves;
    cg_val *words = cg_vals(c, (size_t)BLOCK * count);
    for (uint32_t first = 0; words && first < all; first += step * count)
        for (uint32_t half = 0; half < 1u + (halves || stores); half++) {
            uint32_t own = first + half * halves * PAIR, element = cg_layout_reg(&t->layout, own),
                     row = element >> t->columns;
            uint32_t offset = t->column + (row >> t->rows << t->columns) + (element & ((1u << t->columns) - 1))
                              + (half ? (uint32_t)OTHER_HALF << LANE_BIT : 0);
            for (uint32_t i = 0; i < BLOCK * count; i++) {
                bool between = i % BLOCK >= PAIR;
                words[i] = between && !stores ? cg_new(c, CG_B32) : regs[own + i / BLOCK * step + i % PAIR];
            }
            if (stores)
                cg_ins(c, "tcgen05.st.sync.aligned.16x256b.x%u.b32 [%v+%u], %V", count, at, offset, words,
                       BLOCK * count);
            else
                cg_ins(c, "tcgen05.ld.sync.aligned.16x256b.x%u.b32 %V, [%v+%u]", count, words, BLOCK * count, at,
                       offset);
        }
}

/* In as few instructions as there are blocks of lanes. */
void cg_tensor_move(cg_func *c, cg_val base, const cg_tensor_tile *t, const cg_val *regs, bool stores)
{
    uint32_t block = t->by_rows     ? 0 /* log2 of the registers of 32x32b, 16x128b or 16x256b */
                     : t->word_bits ? 1
                                    : 2,
             words = t->columns - t->word_bits, columns = words - t->along_n - !t->by_rows, most = most_registers(c),
             bits = columns < most ? columns : most;
    uint32_t count = (uint32_t)1 << bits, all = cg_layout_regs(&t->layout) >> t->word_bits;
    uint32_t at_once = t->rows < CG_TENSOR_ROW_BITS ? t->rows : CG_TENSOR_ROW_BITS; /* batches are further rows */
    cg_val at = lanes_of(c, base, t);
    if (t->spread)
        move_spread(c, at, t, regs, stores);
    for (uint32_t r = 0; r < all && !t->spread; r += count) {
        uint32_t element = cg_layout_reg(&t->layout, r << t->word_bits), row = element >> t->columns,
                 column = (element & (((uint32_t)1 << t->columns) - 1)) >> t->word_bits;
        uint32_t offset = t->column + (row >> at_once << (words - t->halves)) + column
                          + (row & OTHER_HALF ? (uint32_t)OTHER_HALF << LANE_BIT : 0);
        const char *shape = t->by_rows ? "32x32b" : t->word_bits ? "16x128b" : "16x256b";
        if (stores)
            cg_ins(c, "tcgen05.st.sync.aligned.%s.x%u.b32 [%v+%u], %V", shape, count >> block, at, offset, regs + r,
                   count);
        else
            cg_ins(c, "tcgen05.ld.sync.aligned.%s.x%u.b32 %V, [%v+%u]", shape, count >> block, regs + r, count, at,
                   offset);
    }
    cg_ins(c, stores ? "tcgen05.wait::st.sync.aligned" : "tcgen05.wait::ld.sync.aligned");
}

/* Linear layouts: how the elements of a tile are spread over registers, lanes and warps.

   All tile dimensions are powers of two, so an element is named by its row-major index, a string of bits, and a layout
   is a linear map over GF(2): every bit of the register number, of the lane number and of the warp number has an image,
   a bit vector of the element index, and the element that a (register, lane, warp) holds is the XOR of the images of
   its bits.

       tile<4x8>, two elements a register pair, 8 lanes:       element = row << 3 | column
       reg  bit 0 -> 000 01   (column bit 0)                   lane bits 0,1 -> column bits 1,2
       lane bit 2,3 -> row bits 0,1                            lane bit 4, warps -> 0: the same elements again

   An image of 0 means that the bit does not select anything: its threads (or registers) hold replicas. Reshape changes
   nothing, since the row-major index stays; permute permutes image bits; broadcast and reduce clear them. */
#ifndef TILEVM_CODEGEN_LAYOUT_LAYOUT_H
#define TILEVM_CODEGEN_LAYOUT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bytecode/base/compiler.h"
#include "bytecode/module.h"

enum { CG_LANE_BITS = 5, CG_MAX_WARP_BITS = 16, CG_MAX_REG_BITS = 19, CG_MAX_TILE_BITS = 24, CG_SECTOR_BYTES = 32 };

typedef struct cg_layout {
    uint8_t tile_bits, reg_bits, warp_bits;
    uint32_t reg[CG_MAX_REG_BITS];
    uint32_t lane[CG_LANE_BITS];
    uint32_t warp[CG_MAX_WARP_BITS];
} cg_layout;

/* The shape of a tile as bits: dimension d takes bits[d] bits of the element index from shift[d] on. */
typedef struct cg_shape {
    uint32_t rank;
    uint8_t tile_bits;
    uint8_t bits[BC_MAX_RANK], shift[BC_MAX_RANK];
} cg_shape;

cg_shape cg_shape_of(const bc_type *tile);
static inline uint32_t cg_dim_mask(const cg_shape *s, uint32_t d)
{
    return (((uint32_t)1 << s->bits[d]) - 1) << s->shift[d];
}

bool cg_layout_equal(const cg_layout *a, const cg_layout *b);

/* The element that register r of lane 0 in warp 0 holds. The thread's part is XORed with it. */
uint32_t cg_layout_reg(const cg_layout *l, uint32_t r);
/* The element of (register, lane, warp). */
uint32_t cg_layout_at(const cg_layout *l, uint32_t r, uint32_t lane, uint32_t warp);
static inline uint32_t cg_layout_regs(const cg_layout *l)
{
    return (uint32_t)1 << l->reg_bits;
}

/* The index bits in some of the images: any images; those of registers; those of lanes and warps. */
uint32_t cg_images(const uint32_t *images, uint32_t count);
static inline uint32_t cg_layout_reg_images(const cg_layout *l)
{
    return cg_images(l->reg, l->reg_bits);
}
static inline uint32_t cg_layout_thread_images(const cg_layout *l)
{
    return cg_images(l->lane, CG_LANE_BITS) | cg_images(l->warp, l->warp_bits);
}

/* The bits that distinguish replicas: of the register's number; and of the thread's number, which consists of the
   lane and the first `warp_bits` bits of the warp. */
uint32_t cg_layout_reg_replicas(const cg_layout *l);
uint32_t cg_layout_thread_replicas(const cg_layout *l, uint32_t warp_bits);
/* Do several threads hold the same element? */
static inline bool cg_layout_has_replicas(const cg_layout *l)
{
    return cg_layout_thread_replicas(l, l->warp_bits) != 0;
}

/* Every thread holds the one element of a scalar. */
cg_layout cg_layout_scalar(uint32_t warp_bits);

/* Distributes the tile bits in the given order (lowest first): vector_bits of them to registers, then to lanes and
   warps, and the rest to registers again. Bits of lanes and warps without a tile bit hold replicas. */
cg_layout cg_layout_ordered(const uint8_t *order, uint32_t tile_bits, uint32_t vector_bits, uint32_t warp_bits);

/* The layout for memory accesses in which every warp keeps the elements, of that many bytes, that it has in l.
   Accesses have at most 2^most_bits elements along dimension `fast`. False: there is none with rows of sufficient
   length. */
bool cg_layout_rows_of_warps(const cg_layout *l, const cg_shape *s, uint32_t fast, uint32_t most_bits, uint32_t bytes,
                             cg_layout *out);

/* The layout for memory accesses: dimension `fastest` is contiguous in memory, and an access has vector_bits of it. */
cg_layout cg_layout_blocked(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t warp_bits);

/* The same for accesses of at least 2^least_bits elements. */
cg_layout cg_layout_memory(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t least_bits,
                           uint32_t warp_bits);

/* The same, where warps share the index bits of `last` only if there are no others. */
cg_layout cg_layout_memory_beside(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t least_bits,
                                  uint32_t warp_bits, uint32_t last);

/* The same as cg_layout_memory, where a warp has as much of a row as its threads have registers for, before other warps
   have the rest, or other rows. */
cg_layout cg_layout_memory_by_rows(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t least_bits,
                                   uint32_t warp_bits);

/* The layout of the source of a permute whose result has layout l. permutation[i]: the dimension of the source that
   becomes dimension i of the result. */
cg_layout cg_layout_unpermute(const cg_layout *l, const cg_shape *source, const cg_shape *result,
                              const int64_t *permutation);
/* The layout of the result of a permute whose source has layout l. */
cg_layout cg_layout_permute(const cg_layout *l, const cg_shape *source, const cg_shape *result,
                            const int64_t *permutation);

/* For a tile inside a larger one of the same rank: the layout of its elements as elements of the large tile's first
   excerpt; and the layout of the small tile in which each element of the large tile corresponds to the one at the
   same place in its excerpt (registers that become replicas remain). */
cg_layout cg_layout_embed(const cg_layout *l, const cg_shape *small, const cg_shape *large);
cg_layout cg_layout_unembed(const cg_layout *l, const cg_shape *small, const cg_shape *large);
/* The index bits of the large tile that select the excerpt. */
uint32_t cg_excerpt_mask(const cg_shape *small, const cg_shape *large);

/* The layout of the source of a broadcast whose result has layout l. It has as many registers, some of which may
   become replicas. */
cg_layout cg_layout_unbroadcast(const cg_layout *l, const cg_shape *source, const cg_shape *result);
/* Maps every image by a linear map of indices to indices of 2^tile_bits elements. */
typedef uint32_t cg_image_fn(const void *map, uint32_t image);
cg_layout cg_layout_map(const cg_layout *l, uint32_t tile_bits, cg_image_fn *image_of, const void *map);
/* Clears the bits of mask in every image, as a reduction over those dimensions does. Indices keep their other bits. */
cg_layout cg_layout_clear(const cg_layout *l, uint32_t mask);
/* Removes the bits of mask, which are zero, from every image. */
cg_layout cg_layout_squeeze(const cg_layout *l, uint32_t mask);

/* Splits each element into 2^n in the same thread: register r becomes r << n and those that follow it. */
cg_layout cg_layout_split(const cg_layout *l, uint32_t n);

/* Removes register bits with an image of 0, which stand for replicas. out_kept (may be NULL): the mask of the
   remaining bits. */
cg_layout cg_layout_drop_replicas(const cg_layout *l, uint32_t *out_kept);
/* log2 of the smallest power of two that is not below x. */
static inline uint32_t cg_log2_up(uint64_t x)
{
    return x > 1 ? 64 - tv_leading_zeros(x - 1) : 0;
}
/* Moves the bits of x that mask selects together, and back. */
uint32_t cg_count_bits(uint32_t x);
uint32_t cg_gather_bits(uint32_t x, uint32_t mask);
uint32_t cg_scatter_bits(uint32_t x, uint32_t mask);

/* The number n of low index bits, from bit `from` on, that are images of register bits: a thread has 2^n contiguous
   elements. out_bit[k] is the register bit with image 1 << (from + k). These bits are in no other image. */
uint32_t cg_layout_vector(const cg_layout *l, uint32_t from, uint32_t most, uint8_t *out_bit);
/* The same for a warp, in which each lane has 2^vector contiguous elements and the next lanes continue, up to
   2^most. */
uint32_t cg_layout_beside(const cg_layout *l, uint32_t from, uint32_t most, uint32_t vector);
/* The number of element i of such a vector, relative to its first register. */
static inline uint32_t cg_layout_member(const uint8_t *reg_bit, uint32_t bits, uint32_t i)
{
    uint32_t r = 0;
    for (uint32_t k = 0; k < bits; k++)
        r |= (i >> k & 1) << reg_bit[k];
    return r;
}

#endif

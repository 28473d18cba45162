/* Linear layouts over GF(2); see the header. */
#include "codegen/layout/layout.h"

#include <string.h>

cg_shape cg_shape_of(const bc_type *tile)
{
    cg_shape s = {.rank = tile->rank};
    uint32_t shift = 0;
    for (uint32_t d = tile->rank; d-- > 0;) {
        s.bits[d] = (uint8_t)cg_log2_up((uint64_t)tile->shape[d]);
        s.shift[d] = (uint8_t)shift;
        shift += s.bits[d];
    }
    s.tile_bits = (uint8_t)shift;
    return s;
}

bool cg_layout_equal(const cg_layout *a, const cg_layout *b)
{
    if (!a->tile_bits && !b->tile_bits) /* of one element: all threads have it, whatever their number */
        return a->reg_bits == b->reg_bits;
    return a->tile_bits == b->tile_bits && a->reg_bits == b->reg_bits && a->warp_bits == b->warp_bits
           && memcmp(a->reg, b->reg, a->reg_bits * sizeof *a->reg) == 0 && memcmp(a->lane, b->lane, sizeof a->lane) == 0
           && memcmp(a->warp, b->warp, a->warp_bits * sizeof *a->warp) == 0;
}

static uint32_t combine(const uint32_t *images, uint32_t x)
{
    uint32_t element = 0;
    for (uint32_t i = 0; x; i++, x >>= 1)
        if (x & 1)
            element ^= images[i];
    return element;
}

uint32_t cg_layout_reg(const cg_layout *l, uint32_t r)
{
    return combine(l->reg, r);
}

uint32_t cg_layout_at(const cg_layout *l, uint32_t r, uint32_t lane, uint32_t warp)
{
    return combine(l->reg, r) ^ combine(l->lane, lane) ^ combine(l->warp, warp);
}

uint32_t cg_images(const uint32_t *images, uint32_t count)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= images[i];
    return all;
}

/* A bit for each image that is zero. */
static uint32_t zeros_of(const uint32_t *images, uint32_t count)
{
    uint32_t zeros = 0;
    for (uint32_t i = 0; i < count; i++)
        zeros |= images[i] ? 0 : (uint32_t)1 << i;
    return zeros;
}

uint32_t cg_layout_reg_replicas(const cg_layout *l)
{
    return zeros_of(l->reg, l->reg_bits);
}

uint32_t cg_layout_thread_replicas(const cg_layout *l, uint32_t warp_bits)
{
    return zeros_of(l->lane, CG_LANE_BITS) | zeros_of(l->warp, warp_bits) << CG_LANE_BITS;
}

cg_layout cg_layout_scalar(uint32_t warp_bits)
{
    return (cg_layout){.warp_bits = (uint8_t)warp_bits};
}

cg_layout cg_layout_ordered(const uint8_t *order, uint32_t tile_bits, uint32_t vector_bits, uint32_t warp_bits)
{
    cg_layout l = {.tile_bits = (uint8_t)tile_bits, .warp_bits = (uint8_t)warp_bits};
    uint32_t next = 0;
    while (next < tile_bits && next < vector_bits)
        l.reg[l.reg_bits++] = (uint32_t)1 << order[next++];
    for (uint32_t i = 0; i < CG_LANE_BITS && next < tile_bits; i++)
        l.lane[i] = (uint32_t)1 << order[next++];
    for (uint32_t i = 0; i < warp_bits && next < tile_bits; i++)
        l.warp[i] = (uint32_t)1 << order[next++];
    while (next < tile_bits)
        l.reg[l.reg_bits++] = (uint32_t)1 << order[next++];
    return l;
}

/* The bits of the index that are the number of the warp. False: warps share elements, or mix bits. */
static bool warp_mask(const cg_layout *l, uint32_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < l->warp_bits; i++) {
        if (!l->warp[i] || (l->warp[i] & (l->warp[i] - 1)) || (*out & l->warp[i]))
            return false;
        *out |= l->warp[i];
    }
    return true;
}

bool cg_layout_rows_of_warps(const cg_layout *l, const cg_shape *s, uint32_t fast, uint32_t most_bits, uint32_t bytes,
                             cg_layout *out)
{
    enum { LEAST_BYTES = 64 }; /* per row of a warp */
    uint32_t warps, next = 0, run = 0;
    if (!warp_mask(l, &warps))
        return false;
    while (run < s->bits[fast] && !(warps >> (s->shift[fast] + run) & 1))
        run++;
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t part = 0; part < 2; part++) /* first the contiguous dimension, then the others */
        for (uint32_t b = 0; b < s->tile_bits; b++) {
            uint32_t bit = (uint32_t)1 << b;
            if (!(warps & bit) && part == !(cg_dim_mask(s, fast) & bit))
                order[next++] = (uint8_t)b;
        }
    uint32_t vector = most_bits < run ? most_bits : run;
    if (bytes << run < LEAST_BYTES || next < vector + CG_LANE_BITS)
        return false;
    *out = cg_layout_ordered(order, next, vector, 0);
    out->tile_bits = s->tile_bits;
    out->warp_bits = l->warp_bits;
    memcpy(out->warp, l->warp, sizeof out->warp);
    return true;
}

cg_layout cg_layout_blocked(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t warp_bits)
{
    return cg_layout_memory(s, fastest, vector_bits, 0, warp_bits);
}

cg_layout cg_layout_memory(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t least_bits,
                           uint32_t warp_bits)
{
    return cg_layout_memory_beside(s, fastest, vector_bits, least_bits, warp_bits, 0);
}

/* Puts the bits of `last` behind the others, in the same order otherwise. */
static void put_last(uint8_t *order, uint32_t count, uint32_t last)
{
    uint8_t all[CG_MAX_TILE_BITS];
    uint32_t filled = 0;
    for (uint32_t part = 0; part < 2; part++)
        for (uint32_t i = 0; i < count; i++)
            if ((last >> order[i] & 1) == part)
                all[filled++] = order[i];
    memcpy(order, all, count);
}

/* The bits of the index in the order of memory: those of the contiguous dimension first. */
static void order_of_memory(const cg_shape *s, uint32_t fastest, uint8_t *order)
{
    uint32_t count = 0;
    for (uint32_t k = 0; s->rank && k < s->bits[fastest]; k++)
        order[count++] = (uint8_t)(s->shift[fastest] + k);
    for (uint32_t d = s->rank; d-- > 0;)
        for (uint32_t k = 0; d != fastest && k < s->bits[d]; k++)
            order[count++] = (uint8_t)(s->shift[d] + k);
}

/* log2 of the elements that each thread has of the tile, as far as none of them are replicas. */
static uint32_t bits_of_thread(const cg_shape *s, uint32_t warp_bits)
{
    const uint32_t threads = CG_LANE_BITS + warp_bits;
    return s->tile_bits > threads ? s->tile_bits - threads : 0;
}

/* A vector of the requested width, but narrower if lanes would have no elements of their own. */
static uint32_t vector_of_thread(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t least_bits,
                                 uint32_t warp_bits)
{
    const uint32_t spare = bits_of_thread(s, warp_bits);
    if (vector_bits > spare)
        vector_bits = spare > least_bits ? spare : least_bits;
    return s->rank && vector_bits > s->bits[fastest] ? s->bits[fastest] : vector_bits;
}

cg_layout cg_layout_memory_beside(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t least_bits,
                                  uint32_t warp_bits, uint32_t last)
{
    uint8_t order[CG_MAX_TILE_BITS];
    order_of_memory(s, fastest, order);
    vector_bits = vector_of_thread(s, fastest, vector_bits, least_bits, warp_bits);
    const uint32_t of_warp = vector_bits + CG_LANE_BITS;
    if (of_warp < s->tile_bits)
        put_last(order + of_warp, s->tile_bits - of_warp, last);
    return cg_layout_ordered(order, s->tile_bits, vector_bits, warp_bits);
}

cg_layout cg_layout_memory_by_rows(const cg_shape *s, uint32_t fastest, uint32_t vector_bits, uint32_t least_bits,
                                   uint32_t warp_bits)
{
    uint8_t order[CG_MAX_TILE_BITS], of_row[CG_MAX_TILE_BITS];
    order_of_memory(s, fastest, order);
    vector_bits = vector_of_thread(s, fastest, vector_bits, least_bits, warp_bits);
    const uint32_t of_warp = vector_bits + CG_LANE_BITS, spare = bits_of_thread(s, warp_bits),
                   rest = s->rank && s->bits[fastest] > of_warp ? s->bits[fastest] - of_warp : 0,
                   further = spare > vector_bits ? spare - vector_bits : 0, count = rest < further ? rest : further;
    if (count) {
        uint8_t *at = order + of_warp;
        memcpy(of_row, at, count);
        memmove(at, at + count, warp_bits);
        memcpy(at + warp_bits, of_row, count);
    }
    return cg_layout_ordered(order, s->tile_bits, vector_bits, warp_bits);
}

cg_layout cg_layout_map(const cg_layout *l, uint32_t tile_bits, cg_image_fn *image_of, const void *map)
{
    cg_layout r = *l;
    r.tile_bits = (uint8_t)tile_bits;
    uint32_t *const images[] = {r.reg, r.lane, r.warp};
    const uint32_t counts[] = {l->reg_bits, CG_LANE_BITS, l->warp_bits};
    for (int part = 0; part < 3; part++)
        for (uint32_t i = 0; i < counts[part]; i++)
            images[part][i] = image_of(map, images[part][i]);
    return r;
}

static uint32_t moved_bits(const void *map, uint32_t image)
{
    const uint8_t *to = map;
    uint32_t y = 0;
    for (uint32_t b = 0; image; b++, image >>= 1)
        if ((image & 1) && to[b] != 0xff)
            y |= (uint32_t)1 << to[b];
    return y;
}

/* Maps every image: bit b of the index becomes bit to[b]; 0xff drops it. */
static cg_layout map_bits(const cg_layout *l, const uint8_t *to, uint32_t tile_bits)
{
    return cg_layout_map(l, tile_bits, moved_bits, to);
}

cg_layout cg_layout_unpermute(const cg_layout *l, const cg_shape *source, const cg_shape *result,
                              const int64_t *permutation)
{
    uint8_t to[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < result->rank; i++)
        for (uint32_t k = 0; k < result->bits[i]; k++)
            to[result->shift[i] + k] = (uint8_t)(source->shift[permutation[i]] + k);
    return map_bits(l, to, source->tile_bits);
}

cg_layout cg_layout_permute(const cg_layout *l, const cg_shape *source, const cg_shape *result,
                            const int64_t *permutation)
{
    uint8_t to[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < result->rank; i++)
        for (uint32_t k = 0; k < result->bits[i]; k++)
            to[source->shift[permutation[i]] + k] = (uint8_t)(result->shift[i] + k);
    return map_bits(l, to, result->tile_bits);
}

cg_layout cg_layout_embed(const cg_layout *l, const cg_shape *small, const cg_shape *large)
{
    uint8_t to[CG_MAX_TILE_BITS];
    for (uint32_t d = 0; d < small->rank; d++)
        for (uint32_t k = 0; k < small->bits[d]; k++)
            to[small->shift[d] + k] = (uint8_t)(large->shift[d] + k);
    return map_bits(l, to, large->tile_bits);
}

cg_layout cg_layout_unembed(const cg_layout *l, const cg_shape *small, const cg_shape *large)
{
    uint8_t to[CG_MAX_TILE_BITS];
    memset(to, 0xff, sizeof to);
    for (uint32_t d = 0; d < small->rank; d++)
        for (uint32_t k = 0; k < small->bits[d]; k++)
            to[large->shift[d] + k] = (uint8_t)(small->shift[d] + k);
    return map_bits(l, to, small->tile_bits);
}

uint32_t cg_excerpt_mask(const cg_shape *small, const cg_shape *large)
{
    uint32_t mask = 0;
    for (uint32_t d = 0; d < small->rank; d++)
        for (uint32_t k = small->bits[d]; k < large->bits[d]; k++)
            mask |= (uint32_t)1 << (large->shift[d] + k);
    return mask;
}

cg_layout cg_layout_unbroadcast(const cg_layout *l, const cg_shape *source, const cg_shape *result)
{
    uint8_t to[CG_MAX_TILE_BITS];
    memset(to, 0xff, sizeof to);
    for (uint32_t d = 0; d < result->rank; d++)
        for (uint32_t k = 0; source->bits[d] && k < result->bits[d]; k++)
            to[result->shift[d] + k] = (uint8_t)(source->shift[d] + k);
    return map_bits(l, to, source->tile_bits);
}

static uint32_t without_bits(const void *mask, uint32_t image)
{
    return image & ~*(const uint32_t *)mask;
}

cg_layout cg_layout_clear(const cg_layout *l, uint32_t mask)
{
    return cg_layout_map(l, l->tile_bits, without_bits, &mask);
}

cg_layout cg_layout_squeeze(const cg_layout *l, uint32_t mask)
{
    uint8_t to[CG_MAX_TILE_BITS];
    uint32_t next = 0;
    for (uint32_t b = 0; b < CG_MAX_TILE_BITS; b++)
        to[b] = mask >> b & 1 || b >= l->tile_bits ? 0xff : (uint8_t)next++;
    return map_bits(l, to, next);
}

cg_layout cg_layout_split(const cg_layout *l, uint32_t n)
{
    cg_layout r = *l;
    r.tile_bits = (uint8_t)(l->tile_bits + n);
    r.reg_bits = (uint8_t)(l->reg_bits + n);
    for (uint32_t i = 0; i < n; i++)
        r.reg[i] = (uint32_t)1 << i;
    for (uint32_t i = 0; i < l->reg_bits; i++)
        r.reg[n + i] = l->reg[i] << n;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        r.lane[i] = l->lane[i] << n;
    for (uint32_t i = 0; i < l->warp_bits; i++)
        r.warp[i] = l->warp[i] << n;
    return r;
}

cg_layout cg_layout_drop_replicas(const cg_layout *l, uint32_t *out_kept)
{
    cg_layout r = *l;
    uint32_t kept = 0;
    r.reg_bits = 0;
    for (uint32_t i = 0; i < l->reg_bits; i++)
        if (l->reg[i]) {
            r.reg[r.reg_bits++] = l->reg[i];
            kept |= (uint32_t)1 << i;
        }
    if (out_kept)
        *out_kept = kept;
    return r;
}

uint32_t cg_count_bits(uint32_t x)
{
    uint32_t n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

uint32_t cg_gather_bits(uint32_t x, uint32_t mask)
{
    uint32_t y = 0;
    for (uint32_t out = 0; mask; mask &= mask - 1, out++)
        if (x & mask & (~mask + 1))
            y |= (uint32_t)1 << out;
    return y;
}

uint32_t cg_scatter_bits(uint32_t x, uint32_t mask)
{
    uint32_t y = 0;
    for (; mask; mask &= mask - 1, x >>= 1)
        if (x & 1)
            y |= mask & (~mask + 1);
    return y;
}

uint32_t cg_layout_vector(const cg_layout *l, uint32_t from, uint32_t most, uint8_t *out_bit)
{
    uint32_t n = 0;
    for (; n < most; n++) {
        uint32_t want = (uint32_t)1 << (from + n), found = 0xff, others = cg_layout_thread_images(l);
        for (uint32_t i = 0; i < l->reg_bits; i++) {
            if (l->reg[i] == want && found == 0xff)
                found = i;
            else
                others |= l->reg[i];
        }
        if (found == 0xff || (others & want))
            break;
        out_bit[n] = (uint8_t)found;
    }
    return n;
}

uint32_t cg_layout_beside(const cg_layout *l, uint32_t from, uint32_t most, uint32_t vector)
{
    for (uint32_t i = 0; i < CG_LANE_BITS; i++) /* the lanes that continue where the vector ends are in order */
        if (vector < most && l->lane[i] == (uint32_t)1 << (from + vector))
            vector++;
    return vector;
}

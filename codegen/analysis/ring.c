/* Rings: the layout of their loads in a slot, and the values that are read there. */
#include "codegen/analysis/ring.h"
#include "codegen/kernel/limits.h"

#include <string.h>

enum { LINE_CHUNK_BITS = 3 }; /* log2 of the pieces of 16 bytes in a line of memory */

uint32_t cg_chunk_bits(const bc_type *tile)
{
    bc_kind kind = bc_elem_kind(tile);
    return bc_kind_memory_bytes(kind) ? 4 - tv_trailing_zeros(bc_kind_memory_bytes(kind)) : 5;
}

uint64_t cg_ring_memory_bytes(const cg_ring *ring, bool is_short)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const bc_type *tile = ring->loads[i].op->results[0].type;
        if ((ring->loads[i].vector_bits < cg_chunk_bits(tile)) == is_short)
            bytes += (uint64_t)cg_memory_bytes(bc_elem_kind(tile)) << cg_shape_of(tile).tile_bits;
    }
    return bytes;
}

cg_layout cg_ring_lines(const cg_ring_load *load, uint32_t warp_bits)
{
    const bc_type *tile = load->op->results[0].type;
    const cg_shape s = cg_shape_of(tile);
    const uint32_t longest = cg_chunk_bits(tile) + LINE_CHUNK_BITS,
                   line = s.bits[load->fast] < longest ? s.bits[load->fast] : longest;
    uint8_t order[CG_MAX_TILE_BITS];
    uint32_t count = 0;
    for (uint32_t others = 0; others < 2; others++) /* behind the bits of the contiguous dimension */
        for (uint32_t b = 0; b < s.tile_bits; b++)
            if ((cg_dim_mask(&s, load->fast) >> b & 1) != others)
                order[count++] = (uint8_t)b;
    cg_layout l = cg_layout_ordered(order, s.tile_bits, line, warp_bits);
    l.reg_bits = (uint8_t)(l.reg_bits - line);
    memmove(l.reg, l.reg + line, l.reg_bits * sizeof *l.reg);
    return l;
}

static bool has_passage(const cg_ring *ring, cg_passage from, cg_passage to)
{
    bool has = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        has = has || (ring->loads[i].passage >= from && ring->loads[i].passage <= to);
    return has;
}

bool cg_ring_puts(const cg_ring *ring)
{
    return has_passage(ring, CG_TRANSPOSED_BY_THREADS, CG_ROUNDED_BY_THREADS);
}

bool cg_ring_rounds(const cg_ring *ring)
{
    return has_passage(ring, CG_ROUNDED_BY_PRODUCT, CG_ROUNDED_BY_MAP)
           || has_passage(ring, CG_ROUNDED_BY_THREADS, CG_ROUNDED_BY_THREADS);
}

bool cg_ring_to_all(const cg_ring *ring)
{
    bool all = false;
    for (uint32_t i = 0; ring->role == CG_RING_OF_MAPS && i < ring->load_count; i++)
        all = all || ring->loads[i].to_all;
    return all;
}

bool cg_is_in_plan(const ct_op *op)
{
    const ct_op *around = op->block->parent;
    while (around && !cg_plan_of(around))
        around = around->block->parent;
    return around;
}

bool cg_has_plan(const ct_block *block)
{
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block))
        if (cg_plan_of(op))
            return true;
    return false;
}

cg_ring *cg_ring_plan(cg_func *c, cg_ring_role role)
{
    cg_ring *ring = bc_new(&c->arena, cg_ring, 1);
    if (!ring || !(ring->slice.has = bc_new(&c->arena, bool, c->ir->value_count + 1u)))
        return NULL;
    ring->slice.known = c->ir->value_count;
    ring->role = role;
    return ring;
}

bool cg_ring_has_tiles(const cg_ring *ring)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        any = any || !cg_is_read_by_threads(&ring->loads[i]);
    return any;
}

bool cg_ring_has_rows(const cg_ring *ring)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        any = any || cg_is_read_by_threads(&ring->loads[i]);
    return any;
}

bool cg_ring_is_of_threads(const cg_ring *ring)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        any = any || cg_is_copied_by_threads(ring, &ring->loads[i]);
    return any;
}

uint32_t cg_ring_load_bytes(const cg_ring_load *load)
{
    return load->own_bytes ? load->own_bytes : cg_encoding_bytes(&load->encoding);
}

static uint32_t rounded_up(uint32_t bytes, uint32_t align)
{
    return (bytes + align - 1) & ~(align - 1);
}

/* Scales and rows follow the other tiles, and need less alignment. In each of the two parts, a tile whose product reads
   beyond it comes first, so that another one is there. */
static uint32_t place_in_slot(const cg_ring_load *load)
{
    bool in_lines = cg_is_scale_feed(load->feed) || cg_is_read_by_threads(load);
    return 2u * in_lines + !load->beyond;
}

/* Leaves a gap behind the load of the slot's last tile, unless the next one is there. next: NULL: there is none. */
static void leave_gap(cg_ring *ring, cg_ring_load *load, const cg_ring_load *next)
{
    bool is_full = load->own_bytes || cg_encoding_is_full(&load->encoding);
    uint32_t end = load->offset + cg_ring_load_bytes(load);
    bool is_filled = next && end == ring->slot_bytes && cg_ring_load_bytes(next) >= load->beyond;
    uint32_t zero_end = is_filled ? end : end + load->beyond;
    load->zero_at = is_full ? end : load->offset;
    load->zero_bytes = zero_end - load->zero_at;
    if (zero_end > ring->slot_bytes)
        ring->slot_bytes = rounded_up(zero_end, CG_LINE_BYTES);
}

uint32_t cg_ring_place_loads(cg_ring *ring)
{
    enum { PLACES = 4 };
    bool own = ring->role == CG_RING_OF_THREADS, has_tiles = false;
    cg_ring_load *last = NULL;
    ring->slot_bytes = 0;
    for (uint32_t place = 0; place < PLACES; place++)
        for (uint32_t i = 0; i < ring->load_count; i++) {
            cg_ring_load *load = &ring->loads[i];
            bool lines = place >= PLACES / 2;
            if (place_in_slot(load) != place)
                continue;
            if (last)
                leave_gap(ring, last, load);
            last = load;
            has_tiles = has_tiles || !lines;
            uint32_t align = own ? 16 : lines ? CG_LINE_BYTES : CG_ENCODING_ALIGN;
            load->offset = rounded_up(ring->slot_bytes, align);
            ring->slot_bytes = load->offset + rounded_up(cg_ring_load_bytes(load), align);
        }
    if (last)
        leave_gap(ring, last, NULL);
    ring->slot_bytes = rounded_up(ring->slot_bytes, own ? 16 : has_tiles ? CG_ENCODING_ALIGN : CG_LINE_BYTES);
    return ring->slot_bytes;
}

/* A load's places without the register bits, in bytes. */
static cg_layout threads_of(const cg_ring_load *load)
{
    cg_layout l = load->places;
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(load->op->results[0].type));
    l.reg_bits = 0;
    l.tile_bits = (uint8_t)(l.tile_bits + tv_trailing_zeros(bytes));
    memset(l.reg, 0, sizeof l.reg);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        l.lane[i] *= bytes;
    for (uint32_t i = 0; i < l.warp_bits; i++)
        l.warp[i] *= bytes;
    return l;
}

void cg_ring_share_threads(cg_ring *ring)
{
    cg_layout first = threads_of(&ring->loads[0]);
    for (uint32_t i = 1; i < ring->load_count; i++) {
        cg_layout other = threads_of(&ring->loads[i]);
        if (memcmp(first.lane, other.lane, sizeof first.lane) || memcmp(first.warp, other.warp, sizeof first.warp))
            return;
        first.tile_bits = other.tile_bits > first.tile_bits ? other.tile_bits : first.tile_bits;
    }
    ring->threads = first;
    for (uint32_t i = 0; i < ring->load_count; i++) {
        memset(ring->loads[i].places.lane, 0, sizeof first.lane);
        memset(ring->loads[i].places.warp, 0, sizeof first.warp);
    }
}

const cg_encoding *cg_encoding_of(const ct_value *v)
{
    const ct_op *op = cg_source_of(v)->op;
    const cg_ring_load *load = op && op->opcode == CT_staged ? op->detail : NULL;
    return load && !op->in_registers ? &load->encoding : NULL;
}

cg_layout cg_encoding_layout_of(const ct_value *v, const cg_layout *l)
{
    cg_layout at = cg_source_layout(v, l);
    return cg_encoding_layout(cg_encoding_of(v), &at);
}

ct_op *cg_staged_behind(const ct_value *v)
{
    while (v->op && cg_is_seen(v->op))
        v = v->op->operands[0];
    return v->op && v->op->opcode == CT_staged && !v->op->in_registers ? v->op : NULL;
}

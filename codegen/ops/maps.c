/* Tensor maps that a block makes, and copies by them. The first warp of the producers puts the maps together in shared
   memory and publishes them in a piece of global memory that no other block has: the kernel has as many pieces as
   blocks can run at once, each with a word that says whether it is taken. A block tries those of its multiprocessor
   first, then the ones behind it, and gives its piece back when all copies have been read. After that, a single thread
   continues.

   The word is taken and given back by relaxed atomics: the maps that it guards are read by the copy engine, which
   has finished reading when the copies have landed, and the next owner computes its address from the atomic's
   result. Source: PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy", "cp.async.bulk.tensor". */
#include "codegen/ops/maps.h"

#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/ops/grid.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05_pair.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* The state of a map during lowering. */
struct cg_map_state {
    cg_val address;    /* its address */
    cg_val first, at;  /* for boxes that blocks share: the first box's coordinate along `cut`, and its place in the
                          tile */
    cg_val prefetches; /* whether the grid is small enough to prefetch */
};

struct cg_maps_state {
    struct cg_map_state maps[CG_MOST_MAPS];
    cg_val taken; /* the word that says that the memory of the maps is taken */
};

/* ---- memory for maps ---- */

enum { MULTIPROCESSORS = 256 /* at most; a power of two */ };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The largest number of the kernel's blocks that a multiprocessor can run at once. Limits are the threads, the
   registers if their number is set, and shared memory, of which each block needs 1 KiB more. */
static uint32_t blocks_at_once(const cg_func *c)
{
    uint32_t most = c->target->threads / cg_all_threads(c), launched = c->groups->launched;
    if (launched)
        most = least(most, CG_REGISTERS / (launched * cg_all_threads(c)));
    uint32_t shared = ((uint32_t)c->target->shared_kib << 10) + CG_SYSTEM_SHARED,
             own = cg_shared_bytes(c) + CG_SYSTEM_SHARED;
    return least(most, shared / own);
}

static uint32_t kernel_number(const cg_func *c)
{
    return (uint32_t)(c->f - c->m->functions);
}

/* Declares the pieces, their words, and zeros, which replace tensors without elements. */
static void put_memory(cg_func *c, const cg_tensor_maps *maps)
{
    uint32_t pieces = MULTIPROCESSORS * blocks_at_once(c), n = kernel_number(c);
    bc_text_printf(&c->emit->module_text,
                   ".global .align %u .b8 tv_maps_%u[%u];\n.global .align 4 .b32 tv_maps_taken_%u[%u];\n"
                   ".global .align 16 .b32 tv_maps_zero_%u[4];\n",
                   CG_MAP_BYTES, n, pieces * maps->count * CG_MAP_BYTES, n, pieces, n);
}

static cg_val address_of(cg_func *c, const char *name)
{
    cg_val r = cg_new(c, CG_B64);
    cg_ins(c, "mov.u64 %v, tv_maps_%s%u", r, name, kernel_number(c));
    return r;
}

/* The number of the piece to try first: blocks that share a multiprocessor are likely to begin with different ones. */
static cg_val first_piece(cg_func *c)
{
    enum { NEIGHBOURS = 2 /* log2 of the consecutive blocks that begin with the same piece */ };
    uint32_t at_once = blocks_at_once(c);
    cg_val sm = cg_new(c, CG_B32), block = cg_new(c, CG_B32), low = cg_new(c, CG_B32), piece = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %%smid", sm);
    cg_ins(c, "and.b32 %v, %v, %u", low, sm, MULTIPROCESSORS - 1);
    if (at_once == 1)
        return low;
    cg_ins(c, "mov.u32 %v, %%ctaid.x", block);
    cg_ins(c, "shr.u32 %v, %v, %u", block, block, NEIGHBOURS);
    cg_ins(c, "rem.u32 %v, %v, %u", block, block, at_once);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", piece, low, at_once, block);
    return piece;
}

static cg_val word_of(cg_func *c, cg_val piece)
{
    cg_val word = cg_new(c, CG_B64);
    cg_ins(c, "mad.wide.u32 %v, %v, 4, %v", word, piece, address_of(c, "taken_"));
    return word;
}

/* Marks the piece as taken, and returns the previous value of its word. */
static cg_val try_piece(cg_func *c, cg_val piece)
{
    cg_val was = cg_new(c, CG_B32);
    cg_ins(c, "atom.relaxed.gpu.global.exch.b32 %v, [%v], 1", was, word_of(c, piece));
    return was;
}

/* Tries one piece after the other until one is free. A free one exists, because there are as many pieces as blocks
   can run at once. */
static void find_piece(cg_func *c, cg_val piece, cg_val was)
{
    uint32_t again = cg_label(c), found = cg_label(c);
    cg_val free = cg_new(c, CG_PRED), last = cg_new(c, CG_PRED), next = cg_new(c, CG_B32);
    cg_place_label(c, again);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", free, was);
    cg_ins(c, "@%v bra %l", free, found);
    cg_ins(c, "add.u32 %v, %v, 1", next, piece);
    cg_ins(c, "setp.eq.u32 %v, %v, %u", last, next, MULTIPROCESSORS * blocks_at_once(c));
    cg_ins(c, "selp.b32 %v, 0, %v, %v", piece, next, last);
    cg_ins(c, "mov.b32 %v, %v", was, try_piece(c, piece));
    cg_ins(c, "bra %l", again);
    cg_place_label(c, found);
}

/* ---- making maps ---- */

/* Does the tensor have no elements? */
static cg_val is_empty(cg_func *c, const cg_view *v)
{
    cg_val any = cg_const(CG_PRED, 0);
    for (uint32_t d = 0; d < v->tensor->rank; d++) {
        cg_val zero = cg_const(CG_PRED, v->extent[d].bits == 0), either = cg_new(c, CG_PRED);
        if (!v->extent[d].known) {
            zero = cg_new(c, CG_PRED);
            cg_ins(c, "setp.eq.u64 %v, %v, 0", zero, v->extent[d]);
        }
        if (zero.known && !zero.bits)
            continue;
        cg_ins(c, "or.pred %v, %r, %r", either, any, zero);
        any = either;
    }
    return any;
}

static void set_number(cg_func *c, cg_val at, const char *field, cg_val value)
{
    cg_ins(c, "tensormap.replace.tile.%s.shared::cta.b1024.b32 [%v], %v", field, at, value);
}

static void set_of_dim(cg_func *c, cg_val at, const char *field, uint32_t dim, cg_val value)
{
    cg_ins(c, "tensormap.replace.tile.%s.shared::cta.b1024.b%u [%v], %u, %v", field, cg_class_bits((cg_class)value.cls),
           at, dim, value);
}

/* A map cannot have a dimension of 0 elements: for a tensor without elements, every dimension gets one element,
   which is 0. */
static void set_extents(cg_func *c, cg_val at, const cg_tensor_map *map, cg_val empty)
{
    for (uint32_t i = 0; i < map->boxes.rank; i++) {
        cg_val extent = cg_low_half(c, map->view->extent[map->boxes.of_tensor[i]]);
        extent = cg_select(c, empty, cg_const(CG_B32, 1), extent);
        set_of_dim(c, at, "global_dim", i, extent);
        set_of_dim(c, at, "box_dim", i, cg_const(CG_B32, map->boxes.size[i]));
        set_of_dim(c, at, "element_stride", i, cg_const(CG_B32, 1));
    }
}

static void set_strides(cg_func *c, cg_val at, const cg_tensor_map *map)
{
    uint32_t element = map->boxes.element;
    for (uint32_t i = 1; i < map->boxes.rank; i++) {
        cg_val stride = map->view->stride[map->boxes.of_tensor[i]], bytes = cg_new(c, CG_B64);
        if (stride.known)
            bytes = cg_reg(c, cg_const(CG_B64, stride.bits * element));
        else
            cg_ins(c, "mul.lo.s64 %v, %v, %u", bytes, stride, element);
        set_of_dim(c, at, "global_stride", i - 1, bytes);
    }
}

/* The type is that of integers of the elements' size, which TMA does not interpret, unless the elements are to be
   rounded. */
static uint32_t type_of(const cg_boxes *b)
{
    enum { TF32 = 11 };
    return b->rounds ? TF32 : tv_trailing_zeros(b->element);
}

static void set_fields(cg_func *c, cg_val at, const cg_tensor_map *map)
{
    const cg_boxes *b = &map->boxes;
    cg_val empty = is_empty(c, map->view), address = map->view->address;
    if (!empty.known) {
        address = cg_reg(c, address);
        address = cg_select(c, empty, address_of(c, "zero_"), address);
    }
    cg_ins(c, "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%v], %r", at, address);
    set_number(c, at, "rank", cg_const(CG_B32, b->rank - 1));
    set_number(c, at, "elemtype", cg_const(CG_B32, type_of(b)));
    set_number(c, at, "interleave_layout", cg_const(CG_B32, 0));
    set_number(c, at, "swizzle_mode", cg_const(CG_B32, b->swizzle));
    set_number(c, at, "fill_mode", cg_const(CG_B32, 0));
    set_extents(c, at, map, empty);
    set_strides(c, at, map);
}

static cg_val map_in_shared(cg_func *c, uint32_t i)
{
    cg_val at = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", at, cg_ring_memory(c), c->groups->maps_at + i * CG_MAP_BYTES);
    return at;
}

/* Clears the maps, with all lanes of the warp. */
static void clear_maps(cg_func *c, uint32_t count)
{
    cg_val at = cg_new(c, CG_B32), first = map_in_shared(c, 0);
    cg_ins(c, "mad.lo.u32 %v, %v, 4, %v", at, cg_tid(c), first);
    for (uint32_t i = 0; i < count; i++)
        cg_ins(c, "st.shared.b32 [%v+%u], 0", at, i * CG_MAP_BYTES);
}

/* Finds this block's part: the coordinate at which it begins, and its place in the tile. */
static void find_share(cg_func *c, cg_tensor_map *map)
{
    const cg_boxes *b = &map->boxes;
    if (b->blocks == 1)
        return;
    cg_val rank = cg_new(c, CG_B32);
    map->state->first = cg_new(c, CG_B32);
    map->state->at = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %%cluster_ctarank", rank);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", map->state->first, rank, b->cut ? b->size[b->cut] : b->panels * b->size[0]);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", map->state->at, rank, cg_box_bytes(b) * (b->cut ? 1 : b->panels));
}

static void begin_state(cg_func *c, cg_tensor_maps *maps)
{
    maps->state = bc_new(&c->arena, struct cg_maps_state, 1);
    for (uint32_t i = 0; maps->state && i < maps->count; i++)
        maps->maps[i].state = &maps->state->maps[i];
}

/* Publishes the maps in the piece of memory that the warp has, whose number its first lane knows. */
static void publish(cg_func *c, cg_tensor_maps *maps, cg_val piece)
{
    cg_val base = cg_new(c, CG_B64), rest = cg_new(c, CG_B32), leads = cg_new(c, CG_PRED);
    cg_ins(c, "shfl.sync.idx.b32 %v, %v, 0, 31, 0xffffffff", piece, piece);
    cg_ins(c, "mad.wide.u32 %v, %v, %u, %v", base, piece, maps->count * CG_MAP_BYTES, address_of(c, ""));
    maps->state->taken = word_of(c, piece);
    for (uint32_t i = 0; i < maps->count; i++) {
        maps->maps[i].state->address = cg_new(c, CG_B64);
        cg_ins(c, "add.s64 %v, %v, %u", maps->maps[i].state->address, base, i * CG_MAP_BYTES);
        cg_ins(c,
               "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%v], [%v], %u",
               maps->maps[i].state->address, map_in_shared(c, i), CG_MAP_BYTES);
    }
    cg_ins(c, "elect.sync %v|%v, 0xffffffff", rest, leads);
    cg_ins(c, "@!%v exit", leads);
    for (uint32_t i = 0; i < maps->count; i++)
        cg_ins(c, "fence.proxy.tensormap::generic.acquire.gpu [%v], %u", maps->maps[i].state->address, CG_MAP_BYTES);
}

void cg_assign_maps(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_maps(cg_func *c, const ct_op *op)
{
    cg_tensor_maps *maps = op->detail;
    uint32_t others = cg_label(c);
    cg_val is_first = cg_new(c, CG_PRED), piece = cg_new(c, CG_B32), was = cg_new(c, CG_B32);
    begin_state(c, maps);
    if (c->failed)
        return;
    cg_need_ptx(c, CG_PTX_OF_MAPS);
    put_memory(c, maps);
    clear_maps(c, maps->count);
    cg_ins(c, "mov.b32 %v, %v", piece, first_piece(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", is_first, cg_tid(c));
    cg_ins(c, "bar.warp.sync 0xffffffff");
    cg_ins(c, "@!%v bra %l", is_first, others);
    cg_ins(c, "mov.b32 %v, %v", was, try_piece(c, piece));
    for (uint32_t i = 0; i < maps->count; i++)
        set_fields(c, map_in_shared(c, i), &maps->maps[i]);
    find_piece(c, piece, was);
    cg_place_label(c, others);
    cg_ins(c, "bar.warp.sync 0xffffffff");
    for (uint32_t i = 0; i < maps->count; i++)
        find_share(c, &maps->maps[i]);
    publish(c, maps, piece);
    const cg_val few = maps->prefetches ? cg_has_few_blocks(c) : cg_const(CG_PRED, 0);
    for (uint32_t i = 0; i < maps->count; i++)
        maps->maps[i].state->prefetches = few;
}

void cg_assign_unmap(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_unmap(cg_func *c, const ct_op *op)
{
    const cg_tensor_maps *maps = op->detail;
    for (uint32_t i = 0; i < maps->ring_count; i++)
        cg_groups_empty(c, maps->rings[i]);
    cg_ins(c, "st.relaxed.gpu.global.b32 [%v], 0", maps->state->taken);
}

/* ---- copies ---- */

/* The first coordinate of the tile along tile dimension t: 32 bits, read as signed. A coordinate that does not fit
   becomes one that is outside of every tensor. */
static cg_val coordinate(cg_func *c, const cg_view_op *v, uint32_t t)
{
    const ct_value *index = v->index[t];
    bc_kind kind = bc_elem_kind(index->type);
    uint32_t step = (uint32_t)cg_view_step(v->view->type, t);
    int64_t most = (UINT32_MAX - v->tile_type->shape[t]) / step;
    cg_val i = cg_scalar(c, index), r = cg_new(c, CG_B32);
    cg_range range;
    bool fits = cg_view_start(v, t, &range);
    if (kind == BC_I64) {
        cg_val cut = cg_new(c, CG_B64);
        if (!fits)
            cg_ins(c, "min.u64 %v, %r, %q", cut, i, (uint64_t)most);
        i = cg_low_half(c, fits ? i : cut);
    } else {
        i = cg_to_b32(c, kind, false, i);
        cg_val cut = cg_new(c, CG_B32);
        if (!fits)
            cg_ins(c, "min.u32 %v, %r, %u", cut, i, (uint32_t)most);
        i = fits ? i : cut;
    }
    if (i.known)
        return cg_const(CG_B32, (uint32_t)i.bits * step);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", r, i, step);
    return step == 1 ? i : r;
}

static cg_val plus(cg_func *c, cg_val a, cg_val b)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %r, %v", r, a, b);
    return r;
}

/* Where there is no multicast, the destination is named as the block's own: for one in the cluster, ptxas emits a test
   and a slow call beside the copy on such targets, and ignores setmaxnreg. paired: the barrier is the leader's. */
static void put_box(cg_func *c, const cg_tensor_map *map, cg_val to, const cg_val *at, cg_val full, bool paired)
{
    const cg_boxes *b = &map->boxes;
    if (b->blocks == 1) {
        cg_ins(c, "cp.async.bulk.tensor.%ud.shared::%s.global.tile.mbarrier::complete_tx::bytes%s [%v], [%v, %V], [%v]",
               b->rank, c->target->features & CG_HAS_MULTICAST ? "cluster" : "cta", paired ? ".cta_group::2" : "", to,
               map->state->address, at, b->rank, full);
        return;
    }
    cg_val mask = cg_new(c, CG_B16);
    cg_ins(c, "mov.b16 %v, %u", mask, (1u << b->blocks) - 1);
    cg_ins(c,
           "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%v], "
           "[%v, %V], [%v], %v",
           b->rank, to, map->state->address, at, b->rank, full, mask);
}

static void find_tile(cg_func *c, const ct_op *op, const cg_boxes *b, cg_val *at)
{
    cg_view_op v = cg_view_op_of(op);
    for (uint32_t i = 0; i < b->rank; i++)
        at[i] = coordinate(c, &v, b->dims[i]);
}

void cg_copy_boxes(cg_func *c, const ct_op *op)
{
    const cg_ring_copy *copy = op->detail;
    const cg_ring *ring = cg_ring_of(op, op->from->operand_count);
    const cg_tensor_map *map = copy->map;
    const cg_boxes *b = &map->boxes;
    bool paired = cg_pair_shares(c, ring);
    cg_val at[CG_MAP_DIMS], to = cg_new(c, CG_B32), full = cg_groups_barrier(c, ring, ring->state->write, 0);
    if (paired)
        full = cg_pair_leader(c, full);
    cg_ins(c, "add.u32 %v, %v, %u", to, cg_groups_slot(c, ring, ring->state->write), copy->load->offset);
    find_tile(c, op, b, at);
    if (b->blocks > 1) {
        at[b->cut] = plus(c, at[b->cut], map->state->first);
        to = plus(c, to, map->state->at);
    }
    uint32_t behind = ring->at_start ? cg_label(c) : 0;
    if (behind)
        cg_ins(c, "@!%v bra.uni %l", ring->state->takes, behind);
    uint32_t panel = cg_box_bytes(b) * (b->cut ? b->blocks : 1);
    cg_val first = at[0], place = to;
    for (uint32_t p = 0; p < b->panels; p++) {
        if (p) {
            at[0] = plus(c, first, cg_const(CG_B32, p * b->size[0]));
            place = plus(c, to, cg_const(CG_B32, p * panel));
        }
        for (uint32_t i = 0; i < b->rank; i++)
            at[i] = cg_reg(c, at[i]);
        put_box(c, map, place, at, full, paired);
    }
    if (behind)
        cg_place_label(c, behind);
}

void cg_prefetch_boxes(cg_func *c, const ct_op *op)
{
    const cg_tensor_map *map = ((const cg_ring_copy *)op->detail)->map;
    const cg_boxes *b = &map->boxes;
    cg_val at[CG_MAP_DIMS], valid = cg_scalar(c, op->operands[op->operand_count - 1]), first;
    uint32_t behind = cg_label(c);
    cg_ins(c, "@!%v bra.uni %l", cg_and(c, valid, map->state->prefetches), behind);
    find_tile(c, op, b, at);
    first = at[0];
    for (uint32_t p = 0; p < b->panels; p++) {
        if (p)
            at[0] = plus(c, first, cg_const(CG_B32, p * b->size[0]));
        for (uint32_t i = 0; i < b->rank; i++)
            at[i] = cg_reg(c, at[i]);
        cg_ins(c, "cp.async.bulk.prefetch.tensor.%ud.L2.global.tile [%v, %V]", b->rank, map->state->address, at,
               b->rank);
    }
    cg_place_label(c, behind);
}

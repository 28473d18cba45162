/* Chooses how many elements of its tiles a thread of a map computes at once. A map is a kernel that computes
   its tiles element by element: it has no reductions or products, and moves no element to another index, apart from
   rows that are broadcast.

   A map can finish some elements before it begins the next ones: in strips (codegen/values/strips.h), whose pass keeps
   the order that tokens require. So the number of registers need not grow with the tiles: a strip has as many elements
   per thread as keep the live values at the widest point within the registers available with half the threads that a
   multiprocessor can have. That many threads hide the latency of each other's arithmetic and loads; more threads would
   have too few registers to keep accesses of 16 bytes to a few tensors in flight.

   Maps without loops whose tiles are rows go in strips. Other maps, in loops or on tiles of several dimensions, get
   more warps, also than a hint says. But those without loops go in strips, too, if a block of 16 warps would be alone
   on a multiprocessor because of its registers: all its warps load at first, and compute afterwards, and memory is
   idle meanwhile. Where copies of 16 bytes bring each strip ahead of the one before, they do so in any case
   (codegen/choose.c), unless they store in another order than that of rows, of which a strip has a part. This requires
   that they load whole tiles, since rows that are broadcast would pass through shared memory in each strip (seven such
   maps took 1.4 to 2.4 times as long on an H200). Eight of the twelve maps of twenty seeds that change are 0.97 to
   1.45 times as fast, 1.06 in the geometric mean. And without loops, a hint may let values of 64 bits take twice the
   registers: a quarter of the threads keeps their arithmetic busy. (On an H200, a map of 32 by 128 elements of f32
   with a hint for four warps takes 67 µs with 16 warps and 93 with four; one of 16 by 256 of f64 with eight, 21.1 and
   22.6 with 16.)

   Rows whose pointers are not promised to be multiples of 4 bytes are divided among more warps, up to 16, rather than
   into strips, if each thread then has the registers of a kernel in two versions (codegen/passes/align.c): accesses may
   have 16 bytes there, and where they are short, no copy could bring a strip ahead of the previous one. On an H200, 12
   maps are 0.99 to 1.19 times as fast, 1.10 in the geometric mean, and one more, of two operations, 0.92 times.

   Small tiles get fewer warps than usual: as many as give each thread an access of 16 bytes, but at least those with
   which the most blocks that share a multiprocessor fill it (two where it has 32 blocks and 64 warps). All blocks have
   the same bytes on their way then, with fewer instructions for addresses. So a hint for more warps yields (40 maps of
   256 to 1,024 elements with hints for four or eight warps are 0.97 to 3.17 times as fast without them on an H200, 1.15
   in the geometric mean). In loops whose blocks take tiles in turn, and in kernels that reduce or scan, a hint for more
   warps yields as well, but to no fewer than the usual number: the launch may have fewer blocks, and reductions choose
   fewer warps by cost. (16 such kernels of eight seeds are 0.92 to 1.93 times as fast, 1.23 in the geometric mean.) */
#include <math.h>

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/budget.h"

/* ---- what goes in strips ---- */

/* The number of dimensions longer than one. */
static uint32_t long_dims(const bc_type *t)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        count += t->shape[d] > 1;
    return count;
}

/* Are the elements of a row contiguous in the tensor, or is the tile itself a row? */
static bool goes_by_rows(const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const bc_type *view = op->operands[i]->type;
        if (!bc_is_tile_view(view))
            continue;
        const bc_type *tensor = view->elem;
        bool in_order = view->kind != BC_GATHER_SCATTER_VIEW && tensor->result_count == view->rank
                        && tensor->strides[view->rank - 1] == 1;
        for (uint32_t d = 0; in_order && view->dim_map && d < view->rank; d++)
            in_order = view->dim_map[d] == d;
        if (long_dims(view) > 1 && !in_order)
            return false;
    }
    return true;
}

/* May every map contain the op? It keeps elements at their indices and accesses no memory. */
static bool is_plain(const ct_op *op)
{
    static const bc_op_classes plain = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(VIEW)
                                       | BC_OPS(QUERY) | BC_OPS(EXIT);
    return bc_op_in(op->opcode, plain) || (bc_op_in(op->opcode, BC_OPS(TOKEN)) && !ct_info(op)->effects);
}

static bool suits_strips(const ct_op *op)
{
    if (op->opcode >= OP_LIMIT || op->region_count)
        return false;
    if (is_plain(op))
        return true;
    switch ((bc_op_class)bc_op_class_of[op->opcode]) {
    case BC_OP_ACCESS:
        return cg_is_weak_access(op) && ct_info(op)->effects != (BC_READS | BC_WRITES) && goes_by_rows(op);
    case BC_OP_RESHAPE:
    case BC_OP_MOVE: /* rows that stay as they are, or broadcast scalars */
        return op->opcode != OP_permute && long_dims(op->operands[0]->type) <= long_dims(op->results[0].type)
               && (!long_dims(op->operands[0]->type)
                   || cg_shape_of(op->operands[0]->type).tile_bits == cg_shape_of(op->results[0].type).tile_bits)
               && long_dims(op->results[0].type) <= 1;
    default: return false;
    }
}

/* ---- how many ---- */

/* log2 of the size of the widest type of which the kernel loads or stores tiles of 2^tile_bits elements or more, in
   units of 4 bits. */
static uint32_t widest_element(const cg_func *c, uint32_t tile_bits)
{
    uint32_t widest = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const bc_type *tile = NULL;
        if (!bc_op_in(op->opcode, BC_OPS(ACCESS)))
            continue;
        for (uint32_t i = 0; i < op->operand_count; i++)
            if (ct_info(op)->effects == BC_WRITES && bc_is_tile(op->operands[i]->type)
                && bc_elem_kind(op->operands[i]->type) != BC_PTR)
                tile = tile ? tile : op->operands[i]->type;
        tile = tile ? tile : op->results[0].type;
        bc_kind kind = bc_is_tile(tile) ? bc_elem_kind(tile) : BC_I8;
        if (tile_bits && (!bc_is_tile(tile) || cg_shape_of(tile).tile_bits < tile_bits))
            continue;
        uint32_t halves = bc_kind_memory_bytes(kind) ? 1 + cg_log2_up(bc_kind_memory_bytes(kind)) : 0;
        widest = halves > widest ? halves : widest;
    }
    return widest;
}

/* log2 of the elements of that type in the target's widest access (16 bytes, or 32). */
static uint32_t elements_of_an_access(const cg_func *c, uint32_t tile_bits)
{
    uint32_t access = c->target->features & CG_HAS_LARGE_VECTORS ? 6 : 5, widest = widest_element(c, tile_bits);
    return widest < access ? access - widest : 0;
}

bool cg_is_strip_map(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = op->next)
        if (!suits_strips(op))
            return false;
    return true;
}

/* Is each pointer of the kernel promised to be a multiple of what a copy needs? */
static bool is_promised(const ct_value *pointer)
{
    bool is = false;
    for (const ct_use *use = pointer->uses; use && !is; use = use->next) {
        const bc_tagged *said = use->op->opcode == OP_assume ? ct_attr_of(use->op, F_assume_predicate)->tagged : NULL;
        is = said && said->tag == BC_TAG_DIV_BY && said->u.bits >= CG_COPY_BYTES;
    }
    return is;
}

static bool lacks_promises(const cg_func *c)
{
    const ct_block *body = c->ir->body;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const ct_value *v = &body->args[i];
        if (v->uses && bc_is_tile(v->type) && !v->type->rank && bc_elem_kind(v->type) == BC_PTR && !is_promised(v))
            return true;
    }
    return false;
}

/* ---- what is a map ---- */

/* Does the op keep elements at their indices, apart from broadcasts? */
static bool suits_a_map(const ct_op *op)
{
    if (op->opcode >= OP_LIMIT)
        return false;
    if (is_plain(op))
        return true;
    switch ((bc_op_class)bc_op_class_of[op->opcode]) {
    case BC_OP_LOOP:
    case BC_OP_BRANCH: return true;
    case BC_OP_ACCESS: return cg_is_weak_access(op) && ct_info(op)->effects != (BC_READS | BC_WRITES);
    case BC_OP_RESHAPE:
    case BC_OP_MOVE: return op->opcode != OP_permute;
    default: return false;
    }
}

bool cg_is_map(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (!suits_a_map(op))
            return false;
    return true;
}

bool cg_takes_turns(const ct_op *loop)
{
    const ct_op *step = loop->opcode == OP_for ? ct_operand(loop, F_for_step)->op : NULL;
    return !step || step->opcode != OP_constant;
}

bool cg_has_turns(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (ct_is_loop(op) && cg_takes_turns(op))
            return true;
    return false;
}

/* With more warps, accesses would be shorter; with fewer, the blocks that share a multiprocessor would not fill it. */
uint32_t cg_warps_of_accesses(const cg_func *c, uint32_t tile_bits, uint32_t usual)
{
    const bool is_map = cg_is_map(c);
    uint32_t own = elements_of_an_access(c, is_map ? 0 : tile_bits),
             threads = tile_bits - (tile_bits < own ? tile_bits : own),
             blocks = cg_log2_up((uint32_t)cg_machine_of(c->target)->most_blocks),
             fills = cg_log2_up(c->target->threads >> CG_LANE_BITS) - blocks,
             least = is_map && !cg_has_turns(c) ? fills : CG_USUAL_WARPS,
             warps = threads > CG_LANE_BITS + least ? threads - CG_LANE_BITS : least;
    return warps < usual && !cg_has_products(c->ir->body) ? warps : usual;
}

uint32_t cg_most_warps_of_map(const cg_func *c, uint32_t tile_bits)
{
    uint32_t access = CG_LANE_BITS + elements_of_an_access(c, 0), whole = tile_bits > access ? tile_bits - access : 0,
             most = cg_has_turns(c) ? CG_MANY_WARPS : CG_MAP_MOST_WARPS;
    return whole < most ? whole : most;
}

/* 32-bit registers for an element of the largest tile, where most are held. Out of memory, *c has failed. */
static double held_of_element(cg_func *c, uint32_t tile_bits)
{
    enum { REGISTER_BITS = 32 };
    uint64_t bits = 0;
    if (!cg_bits_held(c, &bits))
        cg_no_memory(c);
    return (double)bits / REGISTER_BITS / (double)((uint64_t)1 << tile_bits);
}

uint32_t cg_elements_at_once(cg_func *c, uint32_t tile_bits, bool as_hinted)
{
    enum { REGISTER = 3 }; /* log2 of its units of 4 bits */
    if (!cg_is_map(c))
        return tile_bits;
    const cg_machine *m = cg_machine_of(c->target);
    uint32_t parts = as_hinted && widest_element(c, 0) > REGISTER ? 2 : 1;
    double of_thread = fmin(parts * m->registers / (c->target->threads / 2.0), CG_THREAD_REGISTERS),
           registers = of_thread - m->registers_few, held = held_of_element(c, tile_bits);
    uint32_t least = elements_of_an_access(c, 0), most = least;
    while (most < tile_bits && held * (double)((uint64_t)2 << most) <= registers)
        most++;
    return most;
}

/* Has it no loops, and does it load tiles as large as the largest one, in the order of memory? */
static bool loads_whole_tiles(const cg_func *c, uint32_t tile_bits)
{
    for (const ct_op *op = c->ir->body->first; op; op = op->next) {
        bool loads = op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)) && ct_info(op)->effects == BC_READS;
        bool is_whole = !loads || (cg_shape_of(op->results[0].type).tile_bits == tile_bits && goes_by_rows(op));
        if (op->region_count || !is_whole)
            return false;
    }
    return true;
}

static bool stores_by_rows(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = op->next)
        if (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)) && !goes_by_rows(op))
            return false;
    return true;
}

bool cg_is_better_in_strips(cg_func *c, uint32_t tile_bits, uint32_t at_once)
{
    enum { TWO_BLOCKS = 2 };
    const cg_machine *m = cg_machine_of(c->target);
    uint32_t most = CG_LANE_BITS + CG_MAP_MOST_WARPS, threads = tile_bits - at_once;
    threads = threads < most ? threads : most;
    if (!cg_is_map(c) || !loads_whole_tiles(c, tile_bits))
        return false;
    if (cg_choices_of(c)->strips == CG_IF_LEGAL)
        return stores_by_rows(c);
    double wanted = held_of_element(c, tile_bits) * (double)((uint64_t)1 << (tile_bits - threads)) + m->registers_few;
    return TWO_BLOCKS * wanted * (double)(1u << threads) > m->registers;
}

bool cg_divides_among_warps(cg_func *c, uint32_t tile_bits, uint32_t *out_warps)
{
    double held = lacks_promises(c) ? held_of_element(c, tile_bits) : 0;
    uint32_t elements = elements_of_an_access(c, 0), part = CG_LANE_BITS + elements;
    if (held <= 0 || held * (double)((uint64_t)1 << elements) > CG_HELD_IN_VERSIONS)
        return false;
    for (; part < tile_bits && held * (double)((uint64_t)2 << elements) <= CG_HELD_IN_VERSIONS; part++)
        elements++;
    *out_warps = tile_bits > part ? tile_bits - part : 0;
    return *out_warps <= CG_MAP_MOST_WARPS;
}

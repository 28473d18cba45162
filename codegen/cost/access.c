/* The cost of accesses to global memory for a multiprocessor: instructions, which depend on the bytes per access,
   and passes through L1, which depend on the lines of 128 bytes that the lanes of a warp reach. */
#include "codegen/access/bins.h"
#include "codegen/access/pointers.h"
#include "codegen/analysis/ring.h"
#include "codegen/cost/cost.h"

#include <math.h>

enum { LINE = 128, LANES = 1 << CG_LANE_BITS };

/* The accesses to a tile: the number per warp for the whole tile, the bytes per lane, and the lines that the lanes
   of a warp reach. */
typedef struct accesses {
    double count, bytes, lines;
} accesses;

static bool is_by_pointers(const ct_op *op)
{
    if (op->opcode == CT_staged) /* the load's or the copy's results */
        return bc_is_tile(op->operands[0]->type);
    return op->opcode == OP_load_ptr_tko || op->opcode == OP_store_ptr_tko || op->opcode == OP_atomic_rmw_tko
           || op->opcode == OP_atomic_cas_tko;
}

/* The dimension that is contiguous in memory, and log2 of the elements of the longest access and of a row. */
typedef struct rows {
    uint32_t fast, bits, run;
} rows;

/* Finds the rows of a tile of pointers; for pointers loaded from memory, as far as they are known to be consecutive. */
static rows rows_of(cg_func *c, const ct_op *op, const bc_type *tile, const cg_layout *l)
{
    rows r = {.fast = 0};
    cg_shape s = cg_shape_of(tile);
    if (is_by_pointers(op)) {
        cg_ptr_op p = cg_ptr_op_of(op);
        r.bits = cg_pointer_vector(c, &p, &r.fast);
        const cg_axis *axes = p.pointers->fact ? p.pointers->fact->axes : NULL;
        uint32_t known = s.rank && axes && axes[r.fast].likely > r.bits ? axes[r.fast].likely : r.bits;
        r.run = s.rank && cg_is_of_indices(p.pointers) ? s.bits[r.fast] : known;
        return r;
    }
    cg_view_op v = cg_view_op_of(op);
    cg_view_lengths n = cg_view_lengths_of(c, &v, l, CG_MAX_VECTOR_BITS);
    r.bits = n.inside;
    r.run = s.rank && cg_view_contiguous(&v, &r.fast) ? s.bits[r.fast] : 0;
    return r;
}

/* The lines that a warp reaches: lanes whose elements are in the same line along the contiguous dimension share it. */
static double lines_of(const cg_layout *l, uint32_t from, uint32_t bits, uint32_t bytes)
{
    enum { LINE_BITS = 7 };
    uint32_t of_line = LINE_BITS - cg_log2_up(bytes), low = bits < of_line ? bits : of_line;
    uint32_t inside = (((uint32_t)1 << low) - 1) << from;
    double lines = 1;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        if (l->lane[i] & ~inside)
            lines *= 2;
    return lines;
}

static accesses accesses_of(cg_func *c, const ct_op *op, const bc_type *tile, const cg_layout *layout)
{
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(tile));
    uint8_t reg_bit[8];
    cg_layout l = cg_layout_drop_replicas(layout, NULL);
    cg_shape s = cg_shape_of(tile);
    rows r = rows_of(c, op, tile, &l);
    uint32_t from = s.rank ? s.shift[r.fast] : 0, most = (uint32_t)cg_widest_access(c) - cg_log2_up(bytes);
    uint32_t bits = r.run ? cg_layout_vector(&l, from, r.bits < most ? r.bits : most, reg_bit) : 0;
    return (accesses){.count = (double)((uint64_t)1 << (l.reg_bits - bits + l.warp_bits)),
                      .bytes = bytes << bits,
                      .lines = lines_of(&l, from, r.run, bytes)};
}

uint32_t cg_access_bytes(cg_func *c, const ct_op *op, const bc_type *tile, const cg_layout *layout)
{
    return (uint32_t)accesses_of(c, op, tile, layout).bytes;
}

/* The passes through L1: each pass serves one line, or the bytes of one line. */
static double passes_of(const accesses *a)
{
    double wide = a->bytes * LANES / LINE;
    return a->lines > wide ? a->lines : wide;
}

static bool is_atomic(const ct_op *op)
{
    return op->opcode == OP_atomic_rmw_tko || op->opcode == OP_atomic_cas_tko || op->opcode == OP_atomic_red_view_tko;
}

void cg_add_accesses(cg_func *c, const cg_machine *m, const ct_op *op, const bc_type *tile, const cg_layout *layout,
                     cg_work *w)
{
    enum { CONFLICTS = 4 /* approximate number per warp that adds to arbitrary addresses */ };
    enum { INSTRUCTIONS = 3 }; /* the access itself, its address and its predicate */
    accesses a = accesses_of(c, op, tile, layout);
    w->cycles[CG_ISSUE] += a.count * INSTRUCTIONS / m->issue;
    w->cycles[CG_HALF] += a.count / m->half_rate;
    w->cycles[CG_SHARED_MEMORY] += a.count * passes_of(&a);
    cg_bins bins;
    if (cg_find_bins(c, op, &bins)) { /* such additions are summed in shared memory, and added to global memory once */
        w->cycles[CG_SHARED_MEMORY] += a.count * CONFLICTS;
        double lines = ceil(bins.count * a.bytes / LINE), all = lines * m->line_atomics / m->multiprocessors;
        w->cycles[CG_ATOMICS] += bins.count / (all < m->atomics ? all : m->atomics); /* all blocks add to them */
    } else if (is_atomic(op))
        w->cycles[CG_ATOMICS] += a.count * LANES / (a.lines == LANES ? m->scattered : m->atomics);
}

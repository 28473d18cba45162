/* Chooses the loops over K that take several of their steps together (codegen/rewrite/lengthen.c). An iteration costs a
   barrier, a wait and the addresses of its copies, however little it multiplies, and a ring has few stages, so that
   short steps leave memory and tensor cores idle. Of computed operands, longer steps take registers, so that one of the
   two is computed at most. Rows along K become a line of memory long; in narrow products, of
   which several blocks share a multiprocessor, at most 64 elements, because longer stages leave room for fewer
   blocks. */
#include "codegen/analysis/product.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/early.h"
#include "codegen/plan/loads.h"
#include "codegen/rewrite/lengthen.h"
#include "codegen/rewrite/versions.h"

/* The bytes of the pieces in which a tile can be copied to shared memory. */
static uint32_t piece_of(cg_func *c, const ct_op *load)
{
    const cg_view_op v = cg_view_op_of(load);
    uint32_t fast;
    return cg_view_contiguous(&v, &fast) ? cg_memory_bytes(bc_elem_kind(v.tile_type)) << cg_view_vector(c, &v, fast)
                                         : 0;
}

/* Do the load's rows run along K? */
static bool runs_along_k(const cg_k_loop *of, uint32_t i)
{
    const cg_view_op v = cg_view_op_of(of->loads[i]);
    uint32_t fast;
    return cg_view_contiguous(&v, &fast) && fast == of->k[i];
}

/* Is it a product of bytes with 64 columns, which an asynchronous instruction would take from mma.sync if a step had
   more than its K? It would then be transposed, and its right operand would pass through the registers of a single
   warpgroup: on an H200, four such products, with 2,048 and more blocks, have 0.44 to 0.81 of the speed. */
static bool is_better_short(const cg_k_loop *of, const cg_product *p)
{
    return bc_kind_memory_bytes(p->in) == 1 && 1u << p->n == CG_WARPGROUP_ROWS && runs_along_k(of, 0)
           && !runs_along_k(of, 1);
}

/* The most bytes of a step: four of them must fit in shared memory, or in half of it if tensor maps cannot copy them,
   because another block hides the waits of threads that copy, or, beside a version that has no stages, in what leaves
   room for its blocks; or, if threads load the tiles to registers, one step there. */
static uint32_t room_of(const cg_func *c, uint32_t piece)
{
    const uint32_t blocks = cg_has_likely(c->ir) ? CG_MOST_BLOCKS : piece < CG_ACCESS_BYTES ? CG_FEW_BLOCKS : 1;
    return piece >= CG_COPY_BYTES ? cg_shared_most(c) / blocks / CG_CUT_GOOD_SLOTS
                                  : 4 * cg_early_row_of(CG_EARLY_NO_ROOM)->most * cg_threads(c);
}

/* Where threads load elements one by one, each takes a register of its own until its tile is stored for the product:
   have they registers for the larger tile of so many steps, beside the sums? */
static bool have_registers(const cg_func *c, const cg_k_loop *of, uint32_t steps)
{
    uint64_t elements = 0;
    for (uint32_t i = 0; i < of->load_count; i++) {
        const uint64_t own = (uint64_t)steps << cg_shape_of(of->loads[i]->results[0].type).tile_bits;
        elements = own > elements ? own : elements;
    }
    return (double)(elements / cg_threads(c)) + cg_sum_registers(c) <= CG_THREAD_REGISTERS;
}

/* The steps that are taken together; 1: none. Where threads copy the tiles of a narrow product in pieces of 4 bytes,
   these take all of their time. */
static uint32_t steps_of(cg_func *c, const cg_k_loop *of)
{
    const cg_product p = cg_product_of(c, of->product);
    uint32_t piece = UINT32_MAX, slot = 0, row = 0;
    for (uint32_t i = 0; i < of->load_count; i++) {
        const bc_type *tile = of->loads[i]->results[0].type;
        const uint32_t bytes = cg_loaded_bytes(of->loads[i]), own = piece_of(c, of->loads[i]),
                       along = (uint32_t)tile->shape[of->k[i]] * cg_memory_bytes(bc_elem_kind(tile));
        slot += bytes;
        if (bytes == along)
            continue;
        piece = own < piece ? own : piece;
        row = along > row ? along : row;
    }
    const uint32_t room = room_of(c, piece);
    const bool is_narrow = 1u << (p.m < p.n ? p.m : p.n) < CG_WARPGROUP_ROWS,
               is_short = is_narrow || ((of->computed[0] || of->computed[1]) && piece < CG_ACCESS_BYTES),
               by_elements = of->loop->likely && piece < CG_COPY_BYTES;
    uint32_t steps = 1;
    if (!row || (of->computed[0] && of->computed[1])
        || (is_narrow && (piece == CG_COPY_BYTES || is_better_short(of, &p))))
        return 1;
    while (2 * steps * row <= CG_LINE_BYTES && 2 * steps * slot <= room
           && (!is_short || 2 * steps << p.k <= CG_NARROW_STEP) && !(by_elements && !have_registers(c, of, 2 * steps)))
        steps *= 2;
    return steps;
}

bool cg_lengthen_steps(cg_func *c, ct_op *loop)
{
    cg_k_steps is;
    if (!cg_may_lengthen(c, loop, &is))
        return false;
    if (!cg_find_facts(c->ir) || !cg_find_views(c->ir))
        return false;
    const uint32_t steps = cg_is_start_near(&is) ? steps_of(c, &is.of) : 1;
    return steps > 1 && cg_lengthen(c, &is, steps);
}

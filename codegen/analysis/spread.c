/* Chooses which part of a tile each warp accesses. Lanes go along a row, since their accesses must lie beside each
   other. If an access has 16 bytes, warps go on along the row, and threads with further elements have further rows.
   Then all warps of a block are in the same few rows at a time.

   If accesses are shorter, as of rows that are not aligned, the lanes of a warp reach less of a row, whose ends lie
   inside of sectors and lines of memory. So a warp goes on along its row as far as its threads have registers, and
   other warps have the next rows: the warp's next access needs what the last one left of a sector, while L1 presumably
   still has it, and completes a sector that was stored in part. A thread also has fewer rows, with an address and a
   bound each, its accesses to one row differ by constants, and fewer warps share a row that is reduced or scanned.

   On an H200, 221 kernels are 0.89 to 1.45 times as fast, 1.039 in the geometric mean (docs/internals/codegen.md has
   more). With accesses of 16 bytes it makes no difference.

   Where rows are reduced, warps have rows of their own in any case.

   Why it is right: a layout says which thread has an element, and no result depends on that. */
#include "codegen/analysis/spread.h"

#include "codegen/analysis/reduced.h"
#include "codegen/kernel/limits.h"

cg_layout cg_spread(const cg_func *c, const cg_reach *r)
{
    const uint32_t bytes = r->bytes << r->vector_bits, reduced = r->load ? cg_reduced_bits(c, r->load, bytes) : 0;
    if (reduced || bytes >= CG_ACCESS_BYTES)
        return cg_layout_memory_beside(&r->shape, r->fast, r->vector_bits, r->least_bits, c->warp_bits, reduced);
    return cg_layout_memory_by_rows(&r->shape, r->fast, r->vector_bits, r->least_bits, c->warp_bits);
}

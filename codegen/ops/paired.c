/* Tiles whose rows start anywhere are loaded in single elements, and go to shared memory by words (layout_of_words in
   codegen/ops/view.c). ptxas puts two elements into a word where the word is stored: for an operand from before the
   loop, in each iteration, until the last of which each of the two has a register of its own. Here, the word is a
   product and a sum right behind the loads, which ptxas does not take apart again:

       w = second 65536 + first */
#include "codegen/ops/paired.h"

#include "codegen/analysis/encoding.h"
#include "codegen/analysis/product.h"
#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"

/* Does nothing but products of loops, in which v is not computed, read it as an operand, directly or through at most
   `depth` ops that only reinterpret it? */
static bool goes_to_loops(const ct_value *v, const ct_block *block, uint32_t depth)
{
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_op *loop = ct_loop_around(use->op);
        const bool arrives = cg_is_product(use->op) && use->index < 2 && loop && !ct_is_inside(block, loop->regions[0]);
        if (!arrives && !(depth && cg_is_seen(use->op) && goes_to_loops(&use->op->results[0], block, depth - 1)))
            return false;
    }
    return v->uses;
}

bool cg_are_paired(const ct_value *tile, const cg_layout *l, uint32_t fast)
{
    enum { MOST_OPS = 8 };
    cg_shape s = cg_shape_of(tile->type);
    return cg_class_of(bc_elem_kind(tile->type)) == CG_B16 && !tile->apart && l->reg_bits
           && l->reg[0] == (uint32_t)1 << s.shift[fast] && goes_to_loops(tile, tile->block, MOST_OPS);
}

void cg_pair_elements(cg_func *c, cg_val *regs, uint32_t count)
{
    enum { HALF = 16 /* bits */ };
    for (uint32_t r = 0; r < count; r += 2) {
        cg_val word = cg_new(c, CG_B32);
        for (uint32_t i = r; i < r + 2; i++)
            if (regs[i].known)
                regs[i] = cg_const(CG_B32, regs[i].bits & UINT16_MAX);
        cg_ins(c, "mad.lo.u32 %v, %r, 65536, %r", word, regs[r + 1], regs[r]);
        cg_split(c, BC_I16, word, 2, HALF, regs + r);
    }
}

/* Tiles whose rows start anywhere are loaded in single elements, and go to shared memory by words (layout_of_words in
   codegen/ops/view.c). ptxas puts two elements into a word where the word is stored: for an operand from before the
   loop, in each iteration, until the last of which each of the two has a register of its own. Here, the word is a
   product and a sum right behind the loads, which ptxas does not take apart again:

       w = second 65536 + first

   Four bytes become a word in the same way, of two halves. */
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

/* log2 of the elements of a word. */
static uint32_t bits_of_word(bc_kind kind)
{
    return bc_kind_bits(kind) == 8 ? 2 : 1;
}

bool cg_are_paired(const ct_value *tile, const cg_layout *l, uint32_t fast)
{
    enum { MOST_OPS = 8 };
    const bc_kind kind = bc_elem_kind(tile->type);
    const uint32_t first = cg_shape_of(tile->type).shift[fast], bits = bits_of_word(kind);
    bool beside = l->reg_bits >= bits && (cg_class_of(kind) == CG_B16 || bc_kind_bits(kind) == 8);
    for (uint32_t i = 0; i < bits && beside; i++)
        beside = l->reg[i] == (uint32_t)1 << (first + i);
    return beside && !tile->apart && goes_to_loops(tile, tile->block, MOST_OPS);
}

/* second 2^bits + first. */
static cg_val put_together(cg_func *c, cg_val first, cg_val second, uint32_t bits)
{
    cg_val word = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %r, %u, %r", word, second, 1u << bits, first);
    return word;
}

void cg_pair_elements(cg_func *c, bc_kind kind, cg_val *regs, uint32_t count)
{
    enum { HALF = 16, BYTE = 8 /* bits */ };
    const uint32_t in_word = 1u << bits_of_word(kind), bits = bc_kind_bits(kind);
    for (uint32_t r = 0; r < count; r += in_word) {
        cg_val x[4], *of = regs + r;
        for (uint32_t i = 0; i < in_word; i++)
            x[i] = of[i].known ? cg_const(CG_B32, of[i].bits & ((1u << bits) - 1)) : of[i];
        if (bits == BYTE) {
            x[0] = put_together(c, x[0], x[1], BYTE);
            x[1] = put_together(c, x[2], x[3], BYTE);
        }
        cg_split(c, bits == BYTE ? BC_I8 : BC_I16, put_together(c, x[0], x[1], HALF), in_word, bits, of);
    }
}

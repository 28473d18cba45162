/* Maps of bytes, four in a word at a time. */
#include "codegen/ops/map.h"
#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"

enum { COUNT = 4, BITS = 8, ALL = 0xff, SIGN = 0x80, EACH = 0x01010101 };
static const uint32_t SIGNS = (uint32_t)SIGN * EACH;

bool cg_is_bitwise(uint8_t opcode)
{
    return opcode == OP_andi || opcode == OP_ori || opcode == OP_xori;
}

/* All of them in the word that they are, or known: such a word. */
static bool take_word(const cg_val *x, cg_val *out)
{
    uint64_t value = 0;
    if (cg_whole_word(x, COUNT, BITS, out))
        return true;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (!x[i].known)
            return false;
        value |= (x[i].bits & ALL) << i * BITS;
    }
    *out = cg_const(CG_B32, value);
    return true;
}

/* ---- operations ---- */

static const char *bitwise(uint8_t opcode)
{
    return opcode == OP_andi ? "and" : opcode == OP_ori ? "or" : "xor";
}

static cg_val combine(cg_func *c, const char *how, cg_val x, cg_val y)
{
    cg_val result = cg_new(c, CG_B32);
    cg_ins(c, "%s.b32 %v, %r, %r", how, result, x, y);
    return result;
}

/* Repeats bit `sign` of each byte of the word in the bits above it, which are zero. */
static cg_val extend_bytes(cg_func *c, cg_val bytes, uint32_t sign)
{
    enum { ABOVE = 0x100 };
    cg_val signs = cg_new(c, CG_B32), result = cg_new(c, CG_B32);
    cg_ins(c, "and.b32 %v, %v, %u", signs, bytes, sign * EACH);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", result, signs, ABOVE / sign - 2, bytes);
    return result;
}

/* By a constant, below BITS. Bits that come from a neighbour are cut off. */
static cg_val shift(cg_func *c, const ct_op *op, cg_val word, uint32_t by)
{
    const bool right = op->opcode == OP_shri;
    const uint32_t kept = right ? ALL >> by : (ALL << by) & ALL;
    cg_val moved = cg_new(c, CG_B32), result = cg_new(c, CG_B32);
    cg_ins(c, right ? "shr.u32 %v, %v, %u" : "shl.b32 %v, %v, %u", moved, word, by);
    cg_ins(c, "and.b32 %v, %v, %u", result, moved, kept * EACH);
    return right && ct_attr_u(op, F_shri_signedness) == BC_Signedness_signed ? extend_bytes(c, result, SIGN >> by)
                                                                             : result;
}

/* Sums, or differences. The lower bits of each byte are added with zero as its sign, so that nothing is carried to the
   next one, or subtracted with one as its sign, so that nothing is borrowed. The signs are added without a carry. */
static cg_val add(cg_func *c, bool subtracts, const cg_val *words)
{
    const cg_val signs = cg_const(CG_B32, SIGNS), lower = cg_const(CG_B32, ~SIGNS);
    cg_val x = subtracts ? combine(c, "or", words[0], signs) : combine(c, "and", words[0], lower),
           y = combine(c, "and", words[1], lower), sum = cg_new(c, CG_B32),
           sign = combine(c, "xor", words[0], words[1]);
    cg_ins(c, subtracts ? "sub.u32 %v, %v, %v" : "add.u32 %v, %v, %v", sum, x, y);
    if (subtracts) {
        cg_val same = cg_new(c, CG_B32);
        cg_ins(c, "not.b32 %v, %v", same, sign);
        sign = same;
    }
    return combine(c, "xor", sum, combine(c, "and", sign, signs));
}

/* ---- which ---- */

/* Are there the words that the op takes, and more to do than with constants alone? */
static bool suits(const ct_op *op, const cg_val *words)
{
    const uint32_t by = (uint32_t)words[1].bits & ALL;
    const bool shifts = op->opcode == OP_shli || op->opcode == OP_shri;
    if (shifts)
        return words[1].known && !words[0].known && by < BITS && words[1].bits == (uint64_t)by * EACH;
    return !words[0].known || !words[1].known;
}

bool cg_map_bytes(cg_func *c, const ct_op *op, const cg_val *const *x, cg_val *out)
{
    const bool shifts = op->opcode == OP_shli || op->opcode == OP_shri,
               adds = op->opcode == OP_addi || op->opcode == OP_subi;
    cg_val words[2];
    if (bc_elem_kind(cg_result(op, 0)->type) != BC_I8 || !(cg_is_bitwise(op->opcode) || shifts || adds))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (!take_word(x[i], &words[i]))
            return false;
    if (!suits(op, words))
        return false;
    cg_val result = shifts ? shift(c, op, words[0], (uint32_t)words[1].bits & ALL)
                    : adds ? add(c, op->opcode == OP_subi, words)
                           : combine(c, bitwise(op->opcode), words[0], words[1]);
    cg_split(c, BC_I8, result, COUNT, BITS, out);
    return true;
}

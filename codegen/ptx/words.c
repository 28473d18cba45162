/* Single elements in registers: moved, chosen, brought to words and back. */
#include "codegen/ptx/ptx.h"

bool cg_is_same_val(const cg_val *a, const cg_val *b)
{
    return a->cls == b->cls && a->known == b->known && a->id == b->id && a->word_bits == b->word_bits && a->at == b->at
           && (!a->known || a->bits == b->bits) && (!a->word_bits || a->word == b->word);
}

void cg_move(cg_func *c, cg_val to, cg_val from)
{
    if (to.cls != CG_PRED)
        cg_ins(c, "mov.b%u %v, %v", cg_class_bits((cg_class)to.cls), to, from);
    else if (from.known)
        cg_ins(c, "setp.%s.u32 %v, 0, 0", from.bits ? "eq" : "ne", to);
    else
        cg_ins(c, "mov.pred %v, %v", to, from);
}

cg_val cg_and(cg_func *c, cg_val a, cg_val b)
{
    if (a.known)
        return a.bits ? b : a;
    if (b.known)
        return b.bits ? a : b;
    cg_val r = cg_new(c, CG_PRED);
    cg_ins(c, "and.pred %v, %v, %v", r, a, b);
    return r;
}

cg_val cg_select(cg_func *c, cg_val condition, cg_val a, cg_val b)
{
    if (condition.known)
        return condition.bits ? a : b;
    cg_val result = cg_new(c, (cg_class)a.cls);
    if (a.cls == CG_PRED)
        cg_template(c, "and.pred #p0, $1, $2; not.pred #p1, $1; and.pred #p2, #p1, $3; or.pred $0, #p0, #p2;", result,
                    (cg_val[]){condition, a, b}, NULL);
    else
        cg_ins(c, "selp.b%u %v, %r, %r, %v", cg_class_bits((cg_class)a.cls), result, a, b, condition);
    return result;
}

/* A byte of a word and three times its sign, by one instruction: a selection, or a sum of products with a 1 and three
   zeros, which the pipe of multiplications does. */
static void put_signed_byte(cg_func *c, cg_val wide, cg_val x)
{
    enum { SIGNS = 0x8880, EACH = 0x1111, BYTE = 8 }; /* a selector has a digit for each byte */
    cg_val word = {.cls = CG_B32, .id = x.word};
    if (c->multiplies_bytes)
        cg_ins(c, "dp4a.s32.s32 %v, %v, %u, 0", wide, word, 1u << x.at);
    else
        cg_ins(c, "prmt.b32 %v, %v, 0, %x", wide, word, SIGNS + x.at / BYTE * EACH);
}

cg_val cg_to_b32(cg_func *c, bc_kind kind, bool is_signed, cg_val x)
{
    uint32_t bits = bc_kind_bits(kind);
    if (x.known && bits < 32) {
        uint64_t value = x.bits & (((uint64_t)1 << bits) - 1);
        return cg_const(CG_B32, is_signed && value >> (bits - 1) ? (uint32_t)(value | ~(uint64_t)0 << bits) : value);
    }
    if (kind == BC_I32)
        return x;
    cg_val wide = cg_new(c, CG_B32);
    if (kind == BC_I1)
        cg_ins(c, "selp.b32 %v, %s, 0, %v", wide, is_signed ? "-1" : "1", x);
    else if (kind == BC_I16)
        cg_ins(c, "cvt.%s32.%s16 %v, %v", is_signed ? "s" : "u", is_signed ? "s" : "u", wide, x);
    else if (is_signed && bits == 8 && x.word_bits == 32)
        put_signed_byte(c, wide, x);
    else if (is_signed)
        cg_ins(c, "bfe.s32 %v, %v, 0, %u", wide, x, bits);
    else
        return x;
    return wide;
}

cg_val cg_from_b32(cg_func *c, bc_kind kind, cg_val x)
{
    uint32_t bits = bc_kind_bits(kind);
    cg_class cls = cg_class_of(kind);
    if (kind == BC_I32)
        return x;
    if (x.known)
        return cg_const(cls, x.bits & (((uint64_t)1 << bits) - 1));
    cg_val narrow = cg_new(c, cls);
    if (kind == BC_I16) {
        cg_ins(c, "cvt.u16.u32 %v, %v", narrow, x);
    } else if (kind == BC_I1) {
        cg_val bit = cg_new(c, CG_B32);
        cg_ins(c, "and.b32 %v, %v, 1", bit, x);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", narrow, bit);
    } else {
        cg_ins(c, "and.b32 %v, %v, %u", narrow, x, (1u << bits) - 1);
    }
    return narrow;
}

cg_val cg_from_u32(cg_func *c, bc_kind kind, cg_val x)
{
    if (kind != BC_I64)
        return cg_from_b32(c, kind, x);
    if (x.known)
        return cg_const(CG_B64, x.bits);
    cg_val wide = cg_new(c, CG_B64);
    cg_ins(c, "cvt.u64.u32 %v, %v", wide, x);
    return wide;
}

cg_val cg_to_b64(cg_func *c, bc_kind kind, bool is_signed, cg_val x)
{
    if (kind == BC_I64 || kind == BC_PTR)
        return x;
    cg_val word = cg_to_b32(c, kind, is_signed, x);
    if (word.known)
        return cg_const(CG_B64, is_signed ? (uint64_t)(int64_t)(int32_t)(uint32_t)word.bits : (uint32_t)word.bits);
    cg_val wide = cg_new(c, CG_B64);
    cg_ins(c, is_signed ? "cvt.s64.s32 %v, %v" : "cvt.u64.u32 %v, %v", wide, word);
    return wide;
}

cg_val cg_low_half(cg_func *c, cg_val x)
{
    if (x.known)
        return cg_const(CG_B32, (uint32_t)x.bits);
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "cvt.u32.u64 %v, %v", r, x);
    return r;
}

/* bf16 is f32's upper half. The lower half of a word is shifted there: ptxas does that on the pipe of multiplications
   if the one of selections has more to do, which a selection of bytes would go to. */
cg_val cg_to_f32(cg_func *c, bc_kind kind, cg_val x)
{
    cg_val wide = cg_new(c, CG_B32);
    if (kind == BC_F16)
        cg_ins(c, "cvt.f32.f16 %v, %r", wide, x);
    else if (!x.known && x.word_bits == 32 && !x.at)
        cg_ins(c, "shl.b32 %v, %v, 16", wide, (cg_val){.cls = CG_B32, .id = x.word});
    else
        cg_ins(c, "mov.b32 %v, {%r, %r}", wide, cg_const(CG_B16, 0), x);
    return wide;
}

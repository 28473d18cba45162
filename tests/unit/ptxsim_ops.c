/* The simulator's instructions that work lane by lane: one row each, with operands and result as bits. The results were
   also read from an H200, which gave the same ones. */
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

/* Operands are in %d1 to %d3 (64 bits), %r1.. (their low 32), %h1.. (low 16), %p1.. (not 0); the result is in the
   register whose letter `result` is. */
typedef struct row {
    char result;
    const char *text;
    uint64_t a, b, c, expected;
} row;

#define F1 0x3F800000 /* 1.0f */
#define F2 0x40000000
#define F3 0x40400000
#define FNAN 0x7FFFFFFF
#define FINF 0x7F800000
#define NEG 0x80000000
#define D1 0x3FF0000000000000
#define D2 0x4000000000000000
#define D3 0x4008000000000000

static const row rows[] = {
    /* integers */
    {'r', "add.s32 %r0, %r1, %r2;", 7, 0xFFFFFFFF, 0, 6},
    {'h', "add.u16 %h0, %h1, %h2;", 0xFFFF, 2, 0, 1},
    {'d', "add.s64 %d0, %d1, %d2;", UINT64_MAX, 2, 0, 1},
    {'r', "add.sat.s32 %r0, %r1, %r2;", 0x7FFFFFFF, 1, 0, 0x7FFFFFFF},
    {'r', "sub.sat.s32 %r0, %r1, %r2;", 0x80000000, 1, 0, 0x80000000},
    {'r', "sub.u32 %r0, %r1, 5;", 3, 0, 0, 0xFFFFFFFE},
    {'r', "mul.lo.s32 %r0, %r1, %r2;", 0xFFFFFFFF, 3, 0, 0xFFFFFFFD},
    {'r', "mul.hi.u32 %r0, %r1, %r2;", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFE},
    {'r', "mul.hi.s32 %r0, %r1, %r2;", 0xFFFFFFFF, 2, 0, 0xFFFFFFFF},
    {'d', "mul.wide.u32 %d0, %r1, %r2;", 0xFFFFFFFF, 2, 0, 0x1FFFFFFFE},
    {'d', "mul.wide.s32 %d0, %r1, %r2;", 0xFFFFFFFF, 2, 0, 0xFFFFFFFFFFFFFFFE},
    {'r', "mul.wide.s16 %r0, %h1, %h2;", 0xFFFF, 2, 0, 0xFFFFFFFE},
    {'d', "mul.hi.s64 %d0, %d1, %d2;", 0xFFFFFFFFFFFFFFFF, 5, 0, 0xFFFFFFFFFFFFFFFF},
    {'d', "mul.hi.u64 %d0, %d1, %d2;", 0xFFFFFFFFFFFFFFFF, 5, 0, 4},
    {'r', "mad.lo.s32 %r0, %r1, %r2, %r3;", 5, 6, 7, 37},
    {'r', "mad.hi.u32 %r0, %r1, %r2, %r3;", 0x80000000, 6, 7, 10},
    {'r', "mad.hi.sat.s32 %r0, %r1, %r2, %r3;", 0x7FFFFFFF, 0x7FFFFFFF, 0x70000000, 0x7FFFFFFF},
    {'d', "mad.wide.s32 %d0, %r1, %r2, %d3;", 0xFFFFFFFE, 3, 10, 4},
    {'r', "mul24.lo.u32 %r0, %r1, %r2;", 0xFF000003, 5, 0, 15},
    {'r', "mad24.hi.s32 %r0, %r1, %r2, %r3;", 0x00FFFFFF, 0x00010000, 1, 0},
    {'r', "sad.s32 %r0, %r1, %r2, %r3;", 0xFFFFFFFF, 5, 10, 16},
    {'r', "sad.u32 %r0, %r1, %r2, %r3;", 9, 5, 10, 14},
    {'r', "div.s32 %r0, %r1, %r2;", 0xFFFFFFF9, 2, 0, 0xFFFFFFFD},
    {'r', "rem.s32 %r0, %r1, %r2;", 26, 0, 0, 0xFFFFFFFF},
    {'r', "div.u32 %r0, %r1, %r2;", 0xFFFFFFF9, 2, 0, 0x7FFFFFFC},
    {'r', "rem.s32 %r0, %r1, %r2;", 0xFFFFFFF9, 2, 0, 0xFFFFFFFF},
    {'d', "rem.u64 %d0, %d1, %d2;", 1000000000007, 1000, 0, 7},
    {'d', "div.s64 %d0, %d1, %d2;", 0xFFFFFFFFFFFFFC18, 7, 0, 0xFFFFFFFFFFFFFF72},
    {'h', "div.s16 %h0, %h1, %h2;", 0xFFF9, 2, 0, 0xFFFD},
    {'r', "abs.s32 %r0, %r1;", 0xFFFFFFF9, 0, 0, 7},
    {'d', "neg.s64 %d0, %d1;", 1, 0, 0, UINT64_MAX},
    {'r', "min.s32 %r0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 0xFFFFFFFF},
    {'r', "min.u32 %r0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 1},
    {'r', "max.s32 %r0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 1},
    {'d', "max.u64 %d0, %d1, %d2;", UINT64_MAX, 1, 0, UINT64_MAX},
    {'r', "min.relu.s32 %r0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 0},
    {'r', "max.s16x2 %r0, %r1, %r2;", 0xFFFF0005, 0x00010003, 0, 0x00010005},
    {'r', "min.u16x2 %r0, %r1, %r2;", 0xFFFF0005, 0x00010003, 0, 0x00010003},
    {'r', "add.u16x2 %r0, %r1, %r2;", 0xFFFF0005, 0x00010003, 0, 0x00000008},
    {'r', "popc.b32 %r0, %r1;", 0xF0F0F0F1, 0, 0, 17},
    {'r', "popc.b64 %r0, %d1;", UINT64_MAX, 0, 0, 64},
    {'r', "clz.b32 %r0, %r1;", 0x00010000, 0, 0, 15},
    {'r', "clz.b32 %r0, %r1;", 0, 0, 0, 32},
    {'r', "clz.b64 %r0, %d1;", 1, 0, 0, 63},
    {'r', "bfind.u32 %r0, %r1;", 0x00010000, 0, 0, 16},
    {'r', "bfind.s32 %r0, %r1;", 0xFFFFFF00, 0, 0, 7},
    {'r', "bfind.shiftamt.u32 %r0, %r1;", 0x00010000, 0, 0, 15},
    {'r', "bfind.u64 %r0, %d1;", 0, 0, 0, 0xFFFFFFFF},
    {'r', "brev.b32 %r0, %r1;", 1, 0, 0, 0x80000000},
    {'d', "brev.b64 %d0, %d1;", 2, 0, 0, 0x4000000000000000},
    {'r', "bfe.u32 %r0, %r1, %r2, %r3;", 0xABCD1234, 8, 12, 0xD12},
    {'r', "bfe.s32 %r0, %r1, %r2, %r3;", 0xABCD1234, 20, 12, 0xFFFFFABC},
    {'r', "bfe.s32 %r0, %r1, %r2, %r3;", 0x80000000, 40, 4, 0xFFFFFFFF},
    {'d', "bfe.u64 %d0, %d1, %r2, %r3;", 0xABCD123456789ABC, 32, 16, 0x1234},
    {'r', "bfi.b32 %r0, %r1, %r2, 8, 12;", 0xFFF, 0x10000001, 0, 0x100FFF01},
    {'r', "bmsk.clamp.b32 %r0, %r1, %r2;", 4, 8, 0, 0xFF0},
    {'r', "bmsk.wrap.b32 %r0, %r1, %r2;", 36, 8, 0, 0xFF0},
    {'r', "szext.clamp.s32 %r0, %r1, %r2;", 0xFF, 8, 0, 0xFFFFFFFF},
    {'r', "szext.wrap.u32 %r0, %r1, %r2;", 0x1FF, 40, 0, 0xFF},
    {'r', "dp4a.s32.s32 %r0, %r1, %r2, %r3;", 0x01FF0203, 0x04050607, 100, 100 + 4 - 5 + 12 + 21},
    {'r', "dp4a.u32.s32 %r0, %r1, %r2, %r3;", 0x000000FF, 0x000000FF, 0, 0xFFFFFF01},
    {'r', "dp2a.lo.s32.u32 %r0, %r1, %r2, %r3;", 0xFFFF0002, 0x00000503, 1, 2},
    {'r', "dp2a.hi.u32.u32 %r0, %r1, %r2, %r3;", 0x00010002, 0x05030000, 1, 12},
    {'r', "prmt.b32 %r0, %r1, %r2, 0x5410;", 0x33221100, 0x77665544, 0, 0x55441100},
    {'r', "prmt.b32 %r0, %r1, %r2, 0x89F1;", 0x332291F0, 0xF7665544, 0, 0xFFFFFF91},
    {'r', "prmt.b32.f4e %r0, %r1, %r2, 1;", 0x33221100, 0x77665544, 0, 0x44332211},
    {'r', "prmt.b32.b4e %r0, %r1, %r2, 1;", 0x33221100, 0x77665544, 0, 0x66770011},
    {'r', "prmt.b32.rc8 %r0, %r1, %r2, 2;", 0x33221100, 0x77665544, 0, 0x22222222},
    {'r', "prmt.b32.ecl %r0, %r1, %r2, 2;", 0x33221100, 0x77665544, 0, 0x33222222},
    {'r', "prmt.b32.ecr %r0, %r1, %r2, 2;", 0x33221100, 0x77665544, 0, 0x22221100},
    {'r', "prmt.b32.rc16 %r0, %r1, %r2, 1;", 0x33221100, 0x77665544, 0, 0x33223322},
    {'r', "lop3.b32 %r0, %r1, %r2, %r3, 0x96;", 0xF0, 0xCC, 0xAA, 0xF0 ^ 0xCC ^ 0xAA},
    {'r', "lop3.b32 %r0, %r1, %r2, %r3, 0xEA;", 0xF0, 0xCC, 0xAA, (0xF0 & 0xCC) | 0xAA},
    {'r', "shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000000, 0x1, 33, 3},
    {'r', "shf.l.clamp.b32 %r0, %r1, %r2, %r3;", 0x80000001, 0x1, 33, 0x80000001},
    {'r', "shf.r.wrap.b32 %r0, %r1, %r2, 4;", 0x00000012, 0xF, 0, 0xF0000001},
    {'r', "shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 0x12, 0xF, 40, 0xF},
    {'r', "shl.b32 %r0, %r1, 4;", 0xF000000F, 0, 0, 0xF0},
    {'r', "shl.b32 %r0, %r1, %r2;", 1, 32, 0, 0},
    {'d', "shl.b64 %d0, %d1, %r2;", 1, 40, 0, 0x10000000000},
    {'r', "shr.s32 %r0, %r1, %r2;", 0x80000000, 99, 0, 0xFFFFFFFF},
    {'r', "shr.u32 %r0, %r1, %r2;", 0x80000000, 31, 0, 1},
    {'h', "shr.s16 %h0, %h1, %r2;", 0x8000, 3, 0, 0xF000},
    {'r', "and.b32 %r0, %r1, %r2;", 0xFF, 0x3C, 0, 0x3C},
    {'d', "or.b64 %d0, %d1, %d2;", 0xF000000000000000, 1, 0, 0xF000000000000001},
    {'h', "xor.b16 %h0, %h1, %h2;", 0xFF, 0xF, 0, 0xF0},
    {'r', "not.b32 %r0, %r1;", 0xFF, 0, 0, 0xFFFFFF00},
    {'r', "cnot.b32 %r0, %r1;", 0, 0, 0, 1},
    {'p', "and.pred %p0, %p1, %p2;", 1, 0, 0, 0},
    {'p', "xor.pred %p0, %p1, %p2;", 1, 0, 0, 1},
    {'p', "not.pred %p0, %p1;", 1, 0, 0, 0},
    {'r', "add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, 0, 0;", 0xFFFFFFFF, 1, 0, 1},
    {'r', "add.cc.u32 %r0, %r1, %r2; addc.cc.u32 %r0, %r3, %r3; addc.u32 %r0, 10, 0;", 0xFFFFFFFF, 1, 0xFFFFFFFF, 11},
    {'r', "sub.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, 0;", 1, 2, 5, 4},
    {'r', "mad.lo.cc.u32 %r0, %r1, %r2, %r3; madc.hi.u32 %r0, %r1, %r2, 7;", 0x80000000, 2, 0, 8},
    {'r', "mad.lo.cc.u32 %r0, %r1, %r2, %r3; addc.u32 %r0, 5, 0;", 0x80000001, 1, 0x80000000, 6},

    /* selections and comparisons */
    {'r', "selp.b32 %r0, %r1, %r2, %p3;", 1, 2, 0, 2},
    {'d', "selp.f64 %d0, %d1, %d2, %p3;", D1, D2, 1, D1},
    {'r', "slct.u32.s32 %r0, %r1, %r2, %r3;", 1, 2, 0xFFFFFFFF, 2},
    {'r', "slct.f32.f32 %r0, %r1, %r2, %r3;", F1, F2, NEG, F1},
    {'r', "slct.f32.f32 %r0, %r1, %r2, %r3;", F1, F2, FNAN, F2},
    {'p', "setp.lt.s32 %p0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 1},
    {'p', "setp.lt.u32 %p0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 0},
    {'p', "setp.hs.u32 %p0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 1},
    {'p', "setp.ls.u64 %p0, %d1, %d2;", 5, 5, 0, 1},
    {'p', "setp.gt.and.s32 %p0, %r1, %r2, !%p3;", 3, 1, 1, 0},
    {'p', "setp.ne.xor.s32 %p0|%p1, %r1, %r2, %p3;", 3, 3, 1, 1},
    {'p', "setp.ne.s32 %p1|%p0, %r1, %r2;", 3, 3, 0, 1},
    {'p', "setp.lt.f32 %p0, %r1, %r2;", F1, F2, 0, 1},
    {'p', "setp.eq.f32 %p0, %r1, %r2;", 0, NEG, 0, 1},
    {'p', "setp.lt.f32 %p0, %r1, %r2;", FNAN, F2, 0, 0},
    {'p', "setp.ltu.f32 %p0, %r1, %r2;", FNAN, F2, 0, 1},
    {'p', "setp.neu.f32 %p0, %r1, %r2;", FNAN, FNAN, 0, 1},
    {'p', "setp.num.f32 %p0, %r1, %r2;", F1, F2, 0, 1},
    {'p', "setp.nan.f64 %p0, %d1, %d2;", D1, 0x7FF8000000000000, 0, 1},
    {'p', "setp.eq.ftz.f32 %p0, %r1, %r2;", 1, 0, 0, 1},
    {'p', "setp.gt.f16 %p0, %h1, %h2;", 0x4000, 0x3C00, 0, 1},
    {'p', "setp.ge.f16x2 %p1|%p0, %r1, %r2;", 0x3C003C00, 0x3C004000, 0, 1},
    {'p', "setp.lt.bf16 %p0, %h1, %h2;", 0xBF80, 0x3F80, 0, 1},
    {'r', "set.lt.u32.s32 %r0, %r1, %r2;", 0xFFFFFFFF, 1, 0, 0xFFFFFFFF},
    {'r', "set.lt.f32.f32 %r0, %r1, %r2;", F1, F2, 0, F1},
    {'r', "set.gt.f16x2.f16x2 %r0, %r1, %r2;", 0x40003C00, 0x3C003C00, 0, 0x3C000000},

    /* f32, f64 */
    {'r', "add.rn.f32 %r0, %r1, %r2;", F1, 0x33800000, 0, F1},
    {'r', "add.rp.f32 %r0, %r1, %r2;", F1, 0x33800000, 0, 0x3F800001},
    {'r', "add.rz.f32 %r0, %r1, %r2;", F1, 0xB3000000, 0, 0x3F7FFFFF},
    {'r', "add.f32 %r0, %r1, %r2;", FINF, 0xFF800000, 0, FNAN},
    {'r', "add.ftz.f32 %r0, %r1, %r2;", 1, 2, 0, 0},
    {'r', "add.f32 %r0, %r1, %r2;", 1, 2, 0, 3},
    {'r', "add.sat.f32 %r0, %r1, %r2;", F1, F2, 0, F1},
    {'r', "sub.rm.f32 %r0, %r1, %r2;", F1, F1, 0, NEG},
    {'r', "mul.rn.f32 %r0, %r1, %r2;", 0x3F800001, 0x3F800001, 0, 0x3F800002},
    {'r', "mul.sat.f32 %r0, %r1, %r2;", FNAN, F1, 0, 0},
    {'r', "mul.rz.ftz.f32 %r0, %r1, %r2;", 0x00800000, 0x3F000000, 0, 0},
    {'r', "fma.rn.f32 %r0, %r1, %r2, %r3;", 0x3F800001, 0x3F800001, 0xBF800002, 0x28800000},
    {'r', "fma.rp.f32 %r0, %r1, %r2, %r3;", 0x3F800001, F1, 0x33000000, 0x3F800002},
    {'r', "fma.rn.ftz.sat.f32 %r0, %r1, %r2, %r3;", F3, F2, F1, F1},
    {'r', "div.rn.f32 %r0, %r1, %r2;", F1, F3, 0, 0x3EAAAAAB},
    {'r', "div.rz.f32 %r0, %r1, %r2;", F1, F3, 0, 0x3EAAAAAA},
    {'r', "div.rn.f32 %r0, %r1, %r2;", F1, 0, 0, FINF},
    {'r', "sqrt.rn.f32 %r0, %r1;", F2, 0, 0, 0x3FB504F3},
    {'r', "sqrt.rp.f32 %r0, %r1;", F2, 0, 0, 0x3FB504F4},
    {'r', "rcp.rn.f32 %r0, %r1;", F3, 0, 0, 0x3EAAAAAB},
    {'r', "rcp.rm.ftz.f32 %r0, %r1;", F3, 0, 0, 0x3EAAAAAA},
    {'r', "min.f32 %r0, %r1, %r2;", FNAN, F2, 0, F2},
    {'r', "min.NaN.f32 %r0, %r1, %r2;", FNAN, F2, 0, FNAN},
    {'r', "max.f32 %r0, %r1, %r2;", 0, NEG, 0, 0},
    {'r', "min.f32 %r0, %r1, %r2;", 0, NEG, 0, NEG},
    {'r', "max.xorsign.abs.f32 %r0, %r1, %r2;", 0xBF800000, F2, 0, 0xC0000000},
    {'r', "neg.f32 %r0, %r1;", F1, 0, 0, 0xBF800000},
    {'r', "abs.ftz.f32 %r0, %r1;", 0x80000001, 0, 0, 0},
    {'r', "neg.f32 %r0, %r1;", 0xFFFFFFEE, 0, 0, FNAN},
    {'h', "neg.f16 %h0, %h1;", 0xFFEE, 0, 0, 0x7FFF},
    {'r', "abs.bf16x2 %r0, %r1;", 0xFFEEBF80, 0, 0, 0x7FFF3F80},
    {'r', "copysign.f32 %r0, %r1, %r2;", 0x80000000, F2, 0, 0xC0000000},
    {'p', "testp.infinite.f32 %p0, %r1;", 0xFF800000, 0, 0, 1},
    {'p', "testp.subnormal.f32 %p0, %r1;", 1, 0, 0, 1},
    {'p', "testp.normal.f64 %p0, %d1;", D1, 0, 0, 1},
    {'p', "testp.normal.f64 %p0, %d1;", 0, 0, 0, 1},
    {'p', "testp.notanumber.f32 %p0, %r1;", FNAN, 0, 0, 1},
    {'p', "testp.finite.f32 %p0, %r1;", FINF, 0, 0, 0},
    {'d', "add.rn.f64 %d0, %d1, %d2;", D1, D2, 0, D3},
    {'d', "fma.rn.f64 %d0, %d1, %d2, %d3;", 0x3FF0000000000001, 0x3FF0000000000001, 0xBFF0000000000002,
     0x3970000000000000},
    {'d', "div.rn.f64 %d0, %d1, %d2;", D1, D3, 0, 0x3FD5555555555555},
    {'d', "sqrt.rn.f64 %d0, %d1;", D2, 0, 0, 0x3FF6A09E667F3BCD},
    {'d', "max.f64 %d0, %d1, %d2;", D1, 0x7FF8000000000000, 0, D1},
    {'d', "mul.rz.f64 %d0, %d1, %d2;", 0x3FF0000000000001, 0x3FF0000000000001, 0, 0x3FF0000000000002},
    {'r', "ex2.approx.ftz.f32 %r0, %r1;", F3, 0, 0, 0x41000000},
    {'r', "lg2.approx.f32 %r0, %r1;", 0x41000000, 0, 0, F3},
    {'r', "sin.approx.f32 %r0, %r1;", 0, 0, 0, 0},
    {'r', "cos.approx.f32 %r0, %r1;", 0, 0, 0, F1},
    {'r', "tanh.approx.f32 %r0, %r1;", 0, 0, 0, 0},
    {'r', "rsqrt.approx.f32 %r0, %r1;", 0x40800000, 0, 0, 0x3F000000},
    {'r', "sqrt.approx.f32 %r0, %r1;", 0x40800000, 0, 0, F2},
    {'r', "rcp.approx.ftz.f32 %r0, %r1;", F2, 0, 0, 0x3F000000},
    {'d', "rcp.approx.ftz.f64 %d0, %d1;", 0x40080000FFFFFFFF, 0, 0, 0x3FD5555500000000},
    {'d', "rcp.approx.ftz.f64 %d0, %d1;", 0x7FE0000000000000, 0, 0, 0},
    {'d', "rsqrt.approx.ftz.f64 %d0, %d1;", 0x40080000FFFFFFFF, 0, 0, 0x3FE279A700000000},
    {'r', "div.full.f32 %r0, %r1, %r2;", F3, F2, 0, 0x3FC00000},
    {'r', "div.approx.ftz.f32 %r0, %r1, %r2;", F3, F2, 0, 0x3FC00000},

    /* halves */
    {'h', "add.rn.f16 %h0, %h1, %h2;", 0x3C00, 0x1000, 0, 0x3C00},
    {'h', "add.f16 %h0, %h1, %h2;", 0x7BFF, 0x7BFF, 0, 0x7C00},
    {'h', "sub.f16 %h0, %h1, %h2;", 0x3C00, 0x3C00, 0, 0},
    {'h', "mul.f16 %h0, %h1, %h2;", 0x3C01, 0x3C01, 0, 0x3C02},
    {'h', "mul.f16 %h0, %h1, %h2;", 0x8000, 0x3C00, 0, 0x8000},
    {'h', "fma.rn.f16 %h0, %h1, %h2, %h3;", 0x3C01, 0x3C01, 0xBC02, 0x0010},
    {'h', "fma.rn.relu.f16 %h0, %h1, %h2, %h3;", 0x3C00, 0xBC00, 0, 0},
    {'h', "add.ftz.f16 %h0, %h1, %h2;", 1, 0, 0, 0},
    {'h', "mul.sat.f16 %h0, %h1, %h2;", 0x4000, 0x4000, 0, 0x3C00},
    {'h', "add.f16 %h0, %h1, %h2;", 0x7C00, 0xFC00, 0, 0x7FFF},
    {'r', "add.f16x2 %r0, %r1, %r2;", 0x3C004000, 0x3C003C00, 0, 0x40004200},
    {'r', "fma.rn.f16x2 %r0, %r1, %r2, %r3;", 0x40003C00, 0x40004000, 0x3C003C00, 0x45004200},
    {'r', "max.f16x2 %r0, %r1, %r2;", 0x7FFF3C00, 0x3C00BC00, 0, 0x3C003C00},
    {'r', "max.NaN.f16x2 %r0, %r1, %r2;", 0x7E003C00, 0x3C00BC00, 0, 0x7FFF3C00},
    {'h', "fma.rn.bf16 %h0, %h1, %h2, %h3;", 0x3F80, 0x4000, 0x3F80, 0x4040},
    {'r', "fma.rn.bf16x2 %r0, %r1, %r2, %r3;", 0x3F804000, 0x40004000, 0x3F803F80, 0x404040A0},
    {'h', "add.rn.bf16 %h0, %h1, %h2;", 0x3F80, 0x3F80, 0, 0x4000},
    {'h', "mul.rn.bf16 %h0, %h1, %h2;", 0x3F81, 0x3F81, 0, 0x3F82},
    {'h', "max.bf16 %h0, %h1, %h2;", 0x3F80, 0x4000, 0, 0x4000},
    {'h', "neg.f16 %h0, %h1;", 0x3C00, 0, 0, 0xBC00},
    {'r', "abs.bf16x2 %r0, %r1;", 0xBF80BF80, 0, 0, 0x3F803F80},
    {'h', "ex2.approx.f16 %h0, %h1;", 0x4200, 0, 0, 0x4800},
    {'h', "tanh.approx.bf16 %h0, %h1;", 0, 0, 0, 0},

    /* conversions */
    {'r', "cvt.s32.s8 %r0, %r1;", 0xFF, 0, 0, 0xFFFFFFFF},
    {'r', "cvt.u32.u8 %r0, %r1;", 0x1FF, 0, 0, 0xFF},
    {'d', "cvt.s64.s32 %d0, %r1;", 0x80000000, 0, 0, 0xFFFFFFFF80000000},
    {'d', "cvt.u64.u32 %d0, %r1;", 0x80000000, 0, 0, 0x80000000},
    {'r', "cvt.sat.u8.s32 %r0, %r1;", 300, 0, 0, 255},
    {'r', "cvt.sat.u8.s32 %r0, %r1;", 0xFFFFFFFF, 0, 0, 0},
    {'r', "cvt.sat.s8.s32 %r0, %r1;", 0xFFFFFF00, 0, 0, 0xFFFFFF80},
    {'h', "cvt.u16.u32 %h0, %r1;", 0x12345, 0, 0, 0x2345},
    {'r', "cvt.rn.f32.s32 %r0, %r1;", 0xFFFFFFFF, 0, 0, 0xBF800000},
    {'r', "cvt.rn.f32.u32 %r0, %r1;", 0xFFFFFFFF, 0, 0, 0x4F800000},
    {'r', "cvt.rz.f32.u32 %r0, %r1;", 0xFFFFFFFF, 0, 0, 0x4F7FFFFF},
    {'d', "cvt.rn.f64.s64 %d0, %d1;", UINT64_MAX, 0, 0, 0xBFF0000000000000},
    {'h', "cvt.rn.f16.s32 %h0, %r1;", 100000, 0, 0, 0x7C00},
    {'r', "cvt.rzi.s32.f32 %r0, %r1;", 0xC0200000, 0, 0, 0xFFFFFFFE},
    {'r', "cvt.rni.s32.f32 %r0, %r1;", 0x40200000, 0, 0, 2},
    {'r', "cvt.rmi.s32.f32 %r0, %r1;", 0xC0200000, 0, 0, 0xFFFFFFFD},
    {'r', "cvt.rpi.s32.f32 %r0, %r1;", 0x40200000, 0, 0, 3},
    {'r', "cvt.rzi.s32.f32 %r0, %r1;", FNAN, 0, 0, 0},
    {'r', "cvt.rzi.s32.f32 %r0, %r1;", 0x50000000, 0, 0, 0x7FFFFFFF},
    {'r', "cvt.rzi.u32.f32 %r0, %r1;", 0xBF800000, 0, 0, 0},
    {'d', "cvt.rzi.s64.f32 %d0, %r1;", FNAN, 0, 0, 0x8000000000000000},
    {'d', "cvt.rzi.u64.f64 %d0, %d1;", 0x43F0000000000000, 0, 0, UINT64_MAX},
    {'h', "cvt.rn.f16.f32 %h0, %r1;", 0x3F801000, 0, 0, 0x3C00},
    {'h', "cvt.rz.f16.f32 %h0, %r1;", 0x3F803000, 0, 0, 0x3C01},
    {'h', "cvt.rn.f16.f32 %h0, %r1;", 0x7FC00001, 0, 0, 0x7FFF},
    {'r', "cvt.f32.f16 %r0, %h1;", 0x0001, 0, 0, 0x33800000},
    {'h', "cvt.rn.bf16.f32 %h0, %r1;", 0x3F808000, 0, 0, 0x3F80},
    {'h', "cvt.rn.relu.bf16.f32 %h0, %r1;", 0xBF808000, 0, 0, 0},
    {'r', "cvt.f32.bf16 %r0, %h1;", 0x3F80, 0, 0, F1},
    {'r', "cvt.rn.f16x2.f32 %r0, %r1, %r2;", F1, F2, 0, 0x3C004000},
    {'r', "cvt.rn.bf16x2.f32 %r0, %r1, %r2;", F1, F2, 0, 0x3F804000},
    {'r', "cvt.rn.relu.f16x2.f32 %r0, %r1, %r2;", 0xBF800000, F2, 0, 0x00004000},
    {'r', "cvt.rna.tf32.f32 %r0, %r1;", 0x3F801000, 0, 0, 0x3F802000},
    {'r', "cvt.rna.tf32.f32 %r0, %r1;", 0xBF800FFF, 0, 0, 0xBF800000},
    {'r', "cvt.rn.f32.f64 %r0, %d1;", 0x3FF0000010000000, 0, 0, F1},
    {'d', "cvt.f64.f32 %d0, %r1;", F1, 0, 0, D1},
    {'r', "cvt.f32.bf16 %r0, %h1;", 0xFFEE, 0, 0, 0xFFEE0000},
    {'r', "cvt.rna.tf32.f32 %r0, %r1;", 0xFFFFFFEE, 0, 0, 0xFFFFE000},
    {'r', "cvt.rn.f32.f64 %r0, %d1;", 0xFFFFFFFFFFFFFFEE, 0, 0, 0xFFFFFFFF},
    {'d', "cvt.f64.f32 %d0, %r1;", 0xFFFFFFEE, 0, 0, 0xFFFFFFFDC0000000},
    {'r', "cvt.rni.f32.f32 %r0, %r1;", 0x40200000, 0, 0, F2},
    {'r', "cvt.rpi.f32.f32 %r0, %r1;", 0xBF000000, 0, 0, NEG},
    {'r', "cvt.rzi.ftz.f32.f32 %r0, %r1;", 0xC0200000, 0, 0, 0xC0000000},
    {'d', "cvt.rmi.f64.f64 %d0, %d1;", 0xBFE0000000000000, 0, 0, 0xBFF0000000000000},
    {'r', "cvt.sat.f32.f32 %r0, %r1;", F2, 0, 0, F1},
    {'r', "cvt.ftz.f32.f16 %r0, %h1;", 0x3C00, 0, 0, F1},
    {'h', "cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", F1, 0x44000000, 0, 0x387E},
    {'h', "cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2;", F1, 0xC4000000, 0, 0x3CE0},
    {'h', "cvt.rn.satfinite.relu.e4m3x2.f32 %h0, %r1, %r2;", 0xBF800000, FNAN, 0, 0x007F},
    {'h', "cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1;", 0x3C004000, 0, 0, 0x3840},
    {'r', "cvt.rn.f16x2.e4m3x2 %r0, %h1;", 0x3840, 0, 0, 0x3C004000},
    {'r', "cvt.rn.f16x2.e5m2x2 %r0, %h1;", 0x3CBC, 0, 0, 0x3C00BC00},
    {'r', "cvt.pack.sat.s16.s32 %r0, %r1, %r2;", 100000, 0xFFFFFFFF, 0, 0x7FFFFFFF},
    {'r', "cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", 300, 5, 0x1234, 0x1234FF05},

    /* mov */
    {'d', "mov.b64 %d0, {%r1, %r2};", 1, 2, 0, 0x200000001},
    {'r', "mov.b64 {%r3, %r0}, %d1;", 0x500000006, 0, 0, 5},
    {'r', "mov.b32 {%h3, %h0}, %r1; cvt.u32.u16 %r0, %h0;", 0x12345678, 0, 0, 0x1234},
    {'r', "mov.b32 %r0, {%h1, %h2};", 0x1111, 0x2222, 0, 0x22221111},
    {'r', "{ .reg .b32 %t; mov.b64 {%t, _}, %d1; mov.b32 %r0, %t; }", 0x500000006, 0, 0, 6},
    {'r', "mov.u32 %r0, %laneid;", 0, 0, 0, 0},
    {'r', "mov.f32 %r0, 0f3F800000;", 0, 0, 0, F1},
    {'d', "mov.f64 %d0, 0d3FF0000000000000;", 0, 0, 0, D1},
    {'r', "mov.u32 %r0, WARP_SZ;", 0, 0, 0, 32},
    {'d', "{ .reg .b128 %q; mov.b128 %q, {%d1, %d2}; mov.b128 {%d1, %d0}, %q; }", 1, 2, 0, 2},
    {'r', "@%p1 mov.u32 %r0, 1; @!%p1 mov.u32 %r0, 2;", 0, 0, 0, 2},

    /* memory and flow, within one thread */
    {'r', "st.global.v2.u32 [%base+48], {%r1, %r2}; ld.global.u32 %r0, [%base+52];", 1, 2, 0, 2},
    {'r', "st.global.u8 [%base+48], %r1; ld.global.s8 %r0, [%base+48];", 0x180, 0, 0, 0xFFFFFF80},
    {'h', "st.global.b16 [%base+48], %h1; ld.global.L1::no_allocate.u16 %h0, [%base+48];", 0x1234, 0, 0, 0x1234},
    {'r',
     "{ .local .align 8 .b8 %stack[16]; .reg .b64 %l; mov.u64 %l, %stack; st.local.u32 [%l+8], %r1; cvta.local.u64 %l, "
     "%l;"
     " ld.u32 %r0, [%l+8]; }",
     77, 0, 0, 77},
    {'r',
     "{ .shared .align 16 .b8 %sh[32]; .reg .b32 %s; mov.u32 %s, %sh; st.shared.v4.b32 [%s+16], {%r1, %r2, %r3, %r1};"
     " ld.shared.u32 %r0, [%sh+24]; }",
     1, 2, 3, 3},
    {'r', "st.global.u32 [%base+48], %r1; atom.global.add.u32 %r3, [%base+48], %r2; ld.global.u32 %r0, [%base+48];", 5,
     6, 0, 11},
    {'r', "st.global.u32 [%base+48], %r1; atom.global.inc.u32 %r3, [%base+48], %r2; ld.global.u32 %r0, [%base+48];", 6,
     6, 0, 0},
    {'r', "st.global.u32 [%base+48], %r1; atom.global.dec.u32 %r3, [%base+48], %r2; ld.global.u32 %r0, [%base+48];", 0,
     6, 0, 6},
    {'r',
     "st.global.u32 [%base+48], %r1; atom.global.cas.b32 %r0, [%base+48], %r1, %r2; ld.global.u32 %r0, [%base+48];", 5,
     6, 0, 6},
    {'d', "st.global.u64 [%base+48], %d1; atom.acq_rel.gpu.global.exch.b64 %d0, [%base+48], %d2;", 5, 6, 0, 5},
    {'r', "st.global.u32 [%base+48], %r1; atom.global.max.s32 %r0, [%base+48], %r2;", 0xFFFFFFFF, 6, 0, 0xFFFFFFFF},
    {'r', "st.global.u32 [%base+48], %r1; red.global.add.f32 [%base+48], %r2; ld.global.u32 %r0, [%base+48];", F1, F2,
     0, F3},
    {'d',
     "st.global.u64 [%base+48], %d1; red.relaxed.gpu.global.add.f64 [%base+48], %d2; ld.global.u64 %d0, [%base+48];",
     D1, D2, 0, D3},
    {'r',
     "st.global.u32 [%base+48], %r1; atom.global.add.noftz.f16x2 %r3, [%base+48], %r2; ld.global.u32 %r0, [%base+48];",
     0x3C004000, 0x3C003C00, 0, 0x40004200},
    {'h',
     "st.global.u16 [%base+48], %h1; atom.global.cas.b16 %h3, [%base+48], %h1, %h2; ld.global.u16 %h0, [%base+48];", 5,
     6, 0, 6},
    {'r', "mov.u32 %r0, 0; LOOP: add.u32 %r0, %r0, %r1; setp.lt.u32 %p3, %r0, %r2; @%p3 bra LOOP;", 7, 50, 0, 56},
    {'r', "bra.uni OVER; mov.u32 %r0, 1; OVER: mov.u32 %r0, 2;", 0, 0, 0, 2},
    {'r', "{ ts: .branchtargets T0, T1; brx.idx %r1, ts; T0: mov.u32 %r0, 10; bra DONE; T1: mov.u32 %r0, 11; DONE: }",
     1, 0, 0, 11},
    {'p', "{ .reg .b64 %s; .shared .b32 %sv; cvta.shared.u64 %s, %sv; isspacep.shared %p0, %s; }", 0, 0, 0, 1},
    {'p', "isspacep.global %p0, %base;", 0, 0, 0, 1},
    {'d', "cvta.to.global.u64 %d1, %base; sub.u64 %d0, %d1, %base;", 0, 0, 0, 0},
    {'r',
     "{ .param .b32 a0; .param .b32 r0_; st.param.b32 [a0], %r1; call (r0_), twice, (a0); ld.param.b32 %r0, [r0_]; }",
     21, 0, 0, 42},
};

/* Instructions of newer targets, by hand. */
static const row rows_100[] = {
    {'d', "add.rn.f32x2 %d0, %d1, %d2;", 0x3F80000040000000, 0x3F8000003F800000, 0, 0x4000000040400000},
    {'d', "fma.rn.f32x2 %d0, %d1, %d2, %d3;", 0x3F80000040000000, 0x4000000040000000, 0x3F8000003F800000,
     0x4040000040A00000},
    {'r', "max.f32 %r0, %r1, %r2, %r3;", F1, F3, F2, F3},
    {'r', "min.NaN.f32 %r0, %r1, %r2, %r3;", F1, F3, FNAN, FNAN},
    {'h', "{ .reg .b8 %b; cvt.rn.satfinite.e2m1x2.f32 %b, %r1, %r2; mov.b16 %h0, {%b, %b}; }", F1, 0xC1200000, 0,
     0x2F2F},
    {'r', "{ .reg .b8 %b, %c; mov.b16 {%b, %c}, %h1; cvt.rn.f16x2.e2m1x2 %r0, %c; }", 0x7900, 0, 0, 0x4600B800},
    {'h', "cvt.rp.satfinite.ue8m0x2.f32 %h0, %r1, %r2;", F3, F1, 0, 0x817F},
    {'h', "cvt.rz.satfinite.ue8m0x2.f32 %h0, %r1, %r2;", F3, F1, 0, 0x807F},
    {'r', "cvt.rn.bf16x2.ue8m0x2 %r0, %h1;", 0x807F, 0, 0, 0x40003F80},
    {'d', "{ .reg .b64 %x<4>; ld.global.v4.b64 {%x0, %x1, %x2, %x3}, [%base]; mov.b64 %d0, %x1; }", 1, 2, 3, 2},
};

typedef struct row_set {
    const row *rows;
    unsigned count;
    const char *target;
} row_set;

static const row_set sets[] = {
    {rows, sizeof rows / sizeof *rows, "sm_90a"},
    {rows_100, sizeof rows_100 / sizeof *rows_100, "sm_100a"},
};

static const char module_head[] = ".func (.param .b32 r) twice (.param .b32 x)\n{\n.reg .b32 %a;\nld.param.b32 %a, "
                                  "[x];\nadd.u32 %a, %a, %a;\nst.param.b32 [r], %a;\nret;\n}\n";

static void write_row(bc_text *t, const row *r, unsigned index)
{
    bc_text_printf(
        t,
        ".visible .entry k%u(.param .u64 p)\n{\n.reg .b64 %%base, %%d<4>;\n.reg .b32 %%r<4>;\n.reg .b16 %%h<4>;\n"
        ".reg .pred %%p<4>;\nld.param.u64 %%base, [p];\n",
        index);
    for (unsigned i = 1; i <= 3; i++)
        bc_text_printf(t,
                       "ld.global.u64 %%d%u, [%%base+%u];\ncvt.u32.u64 %%r%u, %%d%u;\ncvt.u16.u64 %%h%u, %%d%u;\n"
                       "setp.ne.u64 %%p%u, %%d%u, 0;\n",
                       i, 8 * (i - 1), i, i, i, i, i, i);
    bc_text_puts(t, r->text);
    if (r->result == 'p')
        bc_text_puts(t, "\nselp.u32 %r0, 1, 0, %p0;");
    const char *store = r->result == 'd'   ? "st.global.b64 [%base+32], %d0"
                        : r->result == 'h' ? "st.global.b16 [%base+32], %h0"
                                           : "st.global.b32 [%base+32], %r0";
    bc_text_printf(t, "\n%s;\nret;\n}\n", store);
}

static void check_set(const row_set *set)
{
    bc_text text, inputs;
    char error[256];
    bc_text_init(&text, NULL);
    bc_text_init(&inputs, NULL);
    bc_text_printf(&text, ".version 8.8\n.target %s\n.address_size 64\n%s", set->target, module_head);
    for (unsigned i = 0; i < set->count; i++)
        write_row(&text, &set->rows[i], i);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s", error);
    for (unsigned i = 0; sim && i < set->count; i++) {
        const row *r = &set->rows[i];
        uint64_t buffer[8] = {r->a, r->b, r->c};
        char name[16];
        bc_text_bytes(&inputs, buffer, sizeof buffer);
        bc_text_bytes(&inputs, &r->expected, sizeof r->expected);
        snprintf(name, sizeof name, "k%u", i);
        ptxsim_buffers_clear(sim);
        uint64_t address = ptxsim_buffer_add(sim, buffer, sizeof buffer, "p");
        ptxsim_launch launch = {.entry = name,
                                .grid = {1, 1, 1},
                                .block = {1, 1, 1},
                                .params = (const void *const[]){&address}};
        bool clean = ptxsim_run(sim, &launch);
        CHECK_MSG(clean, "%s: %s", r->text, ptxsim_report_text(sim));
        CHECK_MSG(buffer[4] == r->expected, "%s gives 0x%llx instead of 0x%llx", r->text, (unsigned long long)buffer[4],
                  (unsigned long long)r->expected);
    }
    CHECK(harness_ptxas(text.ptr, text.len, set->target));
    if (set == sets) {
        harness_dump("ops.ptx", text.ptr, text.len);
        harness_dump("ops.in", inputs.ptr, inputs.len);
    }
    ptxsim_free(sim);
    bc_text_release(&text);
    bc_text_release(&inputs);
}

int main(void)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        check_set(&sets[i]);
    return TEST_END("ptxsim_ops");
}

/* Powers of two of f32, several at a time. Of a number below -126 the power is less than the smallest normal number,
   and ptxas multiplies each operand by a half where it is, and squares the result (PTX ISA, "ex2.approx.f32"): three
   instructions beside the one that computes. Here one test finds whether a warp has such an operand; if not, the
   instruction that flushes such results to zero gives the same bits. */
#include "codegen/ops/map.h"

#include "codegen/ops/extreme.h"
#include "codegen/ptx/ptx.h"

/* -126 as an integer without a sign: those of smaller numbers are larger, and so are those of negative NaN. */
#define LEAST "0xC2FC0000"

enum { LEAST_COUNT = 4 /* powers of a thread for which the test pays */ };

typedef struct powers {
    cg_val *operands, *results; /* as f32 */
    uint32_t count;
} powers;

/* A predicate, the same for all of a warp: is no operand below -126? */
static cg_val test(cg_func *c, const powers *x)
{
    cg_extreme most = {.ins = "max.u32"};
    cg_val own = cg_new(c, CG_PRED), all = cg_new(c, CG_PRED);
    for (uint32_t i = 0; i < x->count; i++)
        cg_extreme_take(c, &most, x->operands[i]);
    cg_ins(c, "setp.le.u32 %v, %v, " LEAST, own, cg_extreme_of(c, &most));
    cg_ins(c, "vote.sync.all.pred %v, %v, 0xffffffff", all, own);
    return all;
}

static void put_each(cg_func *c, const powers *x, const char *ins)
{
    for (uint32_t i = 0; i < x->count; i++)
        cg_ins(c, "%s %v, %v", ins, x->results[i], x->operands[i]);
}

static void put(cg_func *c, const powers *x)
{
    uint32_t slow = cg_label(c), behind = cg_label(c);
    cg_ins(c, "@!%v bra.uni %l", test(c, x), slow);
    put_each(c, x, "ex2.approx.ftz.f32");
    cg_ins(c, "bra.uni %l", behind);
    cg_place_label(c, slow);
    put_each(c, x, "ex2.approx.f32");
    cg_place_label(c, behind);
}

static cg_val operand(cg_func *c, bc_kind kind, bool natural, cg_val x)
{
    cg_val wide = cg_any_to_f32(c, kind, x);
    if (!natural)
        return wide;
    cg_val product = cg_new(c, CG_B32);
    cg_ins(c, "mul.rn.f32 %v, %v, 0f3FB8AA3B", product, wide); /* log2(e) */
    return product;
}

bool cg_raise_together(cg_func *c, bc_kind kind, bool natural, const cg_val *x, uint32_t count, uint32_t idle,
                       cg_val *out)
{
    powers p = {.operands = cg_vals(c, count), .results = cg_vals(c, count)};
    for (uint32_t r = 0; p.operands && p.results && r < count; r++)
        p.count += !(r & idle);
    if (p.count < LEAST_COUNT)
        return false;
    p.count = 0;
    for (uint32_t r = 0; r < count; r++)
        if (!(r & idle)) {
            p.operands[p.count] = operand(c, kind, natural, x[r]);
            p.results[p.count++] = cg_new(c, CG_B32);
        }
    if (kind == BC_F16) /* of which such results are zero */
        put_each(c, &p, "ex2.approx.ftz.f32");
    else
        put(c, &p);
    for (uint32_t r = 0, i = 0; r < count; r++)
        out[r] = r & idle         ? out[r & ~idle]
                 : kind == BC_F32 ? p.results[i++]
                                  : cg_from_f32(c, kind, "rn", p.results[i++]);
    return true;
}

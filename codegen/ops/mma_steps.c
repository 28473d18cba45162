/* The steps along K of products by mma.sync: each loads the fragments of all columns, then the fragments of one row
   of instructions at a time, and multiplies. Products that are computed together load shared fragments once. */
#include <string.h>

#include "codegen/analysis/tcgen05.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/map.h"
#include "codegen/ops/mma.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

/* ---- sums ---- */

/* Accumulators for whole instructions, if the product has only the first eight rows. The other rows begin at zero,
   and nobody reads them. */
static cg_val *with_further_rows(cg_func *c, const cg_val *acc, uint32_t count)
{
    cg_val *out = cg_vals(c, (size_t)2 * count);
    for (uint32_t i = 0; out && i < 2 * count; i++)
        out[i] = i % 4 < 2 ? acc[i / 4 * 2 + i % 2] : cg_const((cg_class)acc[0].cls, 0);
    return out;
}

/* Are sums computed in f32 for a result of f16? */
static bool widens_sums(const cg_product *p)
{
    return p->acc == BC_F16 && !p->atom.half_accumulator;
}

cg_val *cg_begin_sums(cg_func *c, const cg_product *p)
{
    const cg_layout *l = cg_value_of(c, p->result)->home;
    uint32_t count = cg_layout_regs(l);
    const cg_val *start = cg_get(c, p->c, l);
    cg_val *acc = cg_vals(c, count);
    if (!start || !acc)
        return NULL;
    memcpy(acc, start, count * sizeof *acc);
    for (uint32_t r = 0; widens_sums(p) && r < count; r++) /* the sums are f32 and are rounded once */
        acc[r] = cg_to_f32(c, BC_F16, acc[r]);
    return p->m < CG_ATOM_ROW_BITS ? with_further_rows(c, acc, count) : acc;
}

void cg_end_sums(cg_func *c, const cg_product *p, cg_val *acc)
{
    uint32_t count = cg_layout_regs(cg_value_of(c, p->result)->home);
    for (uint32_t r = 0; p->m < CG_ATOM_ROW_BITS && r < count; r++)
        acc[r] = acc[r / 2 * 4 + r % 2];
    for (uint32_t r = 0; widens_sums(p) && r < count; r++)
        acc[r] = cg_from_f32(c, BC_F16, "rn", acc[r]);
    if (!c->failed)
        cg_set(c, p->result, acc);
}

/* ---- steps ---- */

enum { LEFT_FRAGMENTS = 32, RIGHT_FRAGMENTS = 16 };

/* The steps along K of a slice of the products. */
typedef struct steps {
    const cg_product *p;
    const cg_factors *factors;
    uint32_t m_bits, pair_bits,
        per_pair;        /* log2 of: instructions along M; pairs of them along N; instructions in a pair */
    uint32_t first;      /* the first step of the slice along all of K */
    cg_val *const *sums; /* by product */
    cg_val *right;       /* by operand, by pair */
} steps;

static steps steps_of(cg_func *c, const cg_product *p, const cg_factors *f, uint32_t first, cg_val *const *sums)
{
    uint32_t columns = p->n - p->along_n, pair_bits = columns > 4 ? columns - 4 : 0;
    return (steps){.p = p,
                   .factors = f,
                   .m_bits = cg_rows_of_atoms(p) - p->along_m,
                   .pair_bits = pair_bits,
                   .per_pair = columns > 3 ? 2 : 1,
                   .first = first,
                   .sums = sums,
                   .right = cg_vals(c, (size_t)f->count * RIGHT_FRAGMENTS << pair_bits)};
}

/* The number of step k in the operand, which has all of K or only the slice; *out_bits: log2 of its steps. */
static uint32_t step_of(const steps *s, const cg_operand *o, uint32_t k, uint32_t *out_bits)
{
    *out_bits = o->k - s->p->atom.k_bits;
    return o->k == s->p->k ? s->first + k : k;
}

static cg_val *right_of(const steps *s, uint32_t operand, uint32_t pair)
{
    return s->right + (size_t)(operand << s->pair_bits | pair) * RIGHT_FRAGMENTS;
}

/* Loads the fragments of a pair of columns. A reordered product loads those of two steps at once, in every second
   step. */
static void take_right(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    enum { OF_A_STEP = 4 };
    if (p->instruction != CG_BY_REORDERED_MMA)
        cg_take_right(c, p, o, part, out);
    else if (part & 1)
        memcpy(out, out + OF_A_STEP, OF_A_STEP * sizeof *out);
    else
        cg_take_vectors(c, o, part, out);
}

static void take_rights(cg_func *c, const steps *s, uint32_t k, uint32_t batch)
{
    for (uint32_t i = 0; i < s->factors->count; i++) {
        const cg_operand *o = &s->factors->operands[i];
        uint32_t bits, step = step_of(s, o, k, &bits);
        for (uint32_t n = 0; !o->left && n < (uint32_t)1 << s->pair_bits; n++)
            take_right(c, s->p, o, step | n << bits | batch << (bits + s->pair_bits), right_of(s, i, n));
    }
}

static void take_lefts(cg_func *c, const steps *s, uint32_t k, uint32_t row, cg_val (*out)[LEFT_FRAGMENTS])
{
    for (uint32_t i = 0; i < s->factors->count; i++) {
        const cg_operand *o = &s->factors->operands[i];
        uint32_t bits, step = step_of(s, o, k, &bits);
        if (o->left)
            cg_take_left(c, s->p, o, step | row << bits, out[i]);
    }
}

/* Multiplies a row of instructions of product i. */
static void multiply_row(cg_func *c, const steps *s, uint32_t i, uint32_t k, uint32_t row, const cg_val *a)
{
    const cg_product *p = s->p;
    uint32_t pairs = (uint32_t)1 << s->pair_bits, batch = row >> s->m_bits;
    for (uint32_t n = 0; n < pairs; n++) {
        const cg_val *b = right_of(s, s->factors->of[i].right, n);
        for (uint32_t half = 0; half < s->per_pair; half++) {
            uint32_t column = (batch * pairs + n) * s->per_pair + half;
            cg_val *d = s->sums[i] + ((row * (pairs * s->per_pair) + n * s->per_pair + half) << 2);
            if (p->scaled)
                cg_multiply_scaled(c, p, a, b + 2 * half, &(cg_scale_at){row, column, s->first + k}, d);
            for (uint32_t j = 0; !p->scaled && j < (p->atom.widened ? 8 : 4); j += 4)
                cg_multiply_fragments(c, p, a + j, b + j + 2 * half, d);
        }
    }
}

void cg_multiply_steps(cg_func *c, const cg_product *p, const cg_factors *f, uint32_t first, uint32_t count,
                       cg_val *const *sums)
{
    steps s = steps_of(c, p, f, first, sums);
    uint32_t rows = (uint32_t)1 << s.m_bits;
    for (uint32_t batch = 0; s.right && batch < (uint32_t)1 << p->batch && !c->failed; batch++)
        for (uint32_t number = 0; number < count; number++) {
            const uint32_t k = cg_step_in_order(p, first + number, p->k - p->atom.k_bits) & (count - 1);
            take_rights(c, &s, k, batch);
            for (uint32_t m = 0; m < rows && !c->failed; m++) {
                cg_val a[2 * CG_MOST_TOGETHER][LEFT_FRAGMENTS];
                take_lefts(c, &s, k, batch * rows + m, a);
                for (uint32_t i = 0; i < p->together->count; i++)
                    multiply_row(c, &s, i, k, batch * rows + m, a[f->of[i].left]);
            }
        }
}

void cg_remark_mma(cg_func *c, const ct_op *op, const cg_product *p)
{
    const char *why = p->scaled && c->target->features & CG_HAS_TCGEN05 ? cg_tcgen05_obstacle(c, p) : NULL;
    if (why)
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED, "mma.sync.{Instruction=%s}, not tcgen05: {Why=%s}",
                  p->atom.text, why);
    else
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED, "mma.sync.{Instruction=%s}", p->atom.text);
}

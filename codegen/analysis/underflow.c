/* Powers of two whose subnormal results nothing reads. The instruction gives 0 instead of such a result. ptxas halves
   each exponent below -126 and squares what comes of it, which takes three more instructions for each element. They are
   left out if the power is only converted to a type that cannot hold numbers as small, or summed up as in the chains of
   products that compute a softmax:

       %m' = maxf %m, (reduce maxf %s)        the largest score of the row so far
       %p  = exp2 (subf %s, %m')
       %l' = addf (mulf %l, (exp2 (subf %m, %m'))), (reduce addf %p)

   Why it is right: f16 and f8 round every number below 2^-25 to 0. And %l' is at least 1 then: a power is only
   subnormal if %m' is the score of an element, since all others differ from the first %m, which is at most LEAST, by
   nothing or by more than 150. If that element is in this iteration, its power, 1, is one of those that are added up.
   If not, it was in an earlier one, %m' is %m since then, and %l, which is at least 1, is multiplied by 1. The sum of a
   row's subnormal numbers is below 2^-100, so that leaving them out changes a sum at most as another order of adding
   its elements does, which a reduction does not define. */
#include "codegen/analysis/underflow.h"

#include <string.h>

#include "bytecode/number/fast.h"
#include "codegen/tile/same.h"

/* Numbers as large as this and larger are 256 apart, so that two of them are equal or their difference is beyond the
   exponents of all powers. */
#define LEAST (-0x1p32F)

/* A tile of powers in the body of a loop, and the scores of which they are the powers. */
typedef struct softmax {
    const bc_type *tile;
    const ct_block *body;
    uint32_t dim;                     /* along which scores are reduced */
    const ct_value *score;            /* %s */
    const ct_value *before, *largest; /* %m, %m' */
} softmax;

static bool is_of_f32(const ct_value *v)
{
    return bc_is_tile(v->type) && bc_elem_kind(v->type) == BC_F32;
}

static bool rounds_to_nearest(const ct_op *op, int rounding, int flush)
{
    return ct_attr_u(op, rounding) == BC_RoundingMode_nearest_even && !ct_attr_u(op, flush);
}

/* Has it one element for each row of the tile, in their order? */
static bool is_per_row(const bc_type *type, const bc_type *tile, uint32_t dim)
{
    const bool has_dim = type->rank == tile->rank;
    if (!has_dim && type->rank + 1 != tile->rank)
        return false;
    for (uint32_t i = 0; i < tile->rank; i++)
        if (i == dim ? has_dim && type->shape[i] != 1 : type->shape[i > dim && !has_dim ? i - 1 : i] != tile->shape[i])
            return false;
    return true;
}

/* What has the value of each row: v, or what it is a reshape or a broadcast of. NULL: v is not the same along rows. */
static const ct_value *of_rows(const softmax *s, const ct_value *v)
{
    while (v->op && (v->op->opcode == OP_reshape || v->op->opcode == OP_broadcast)
           && is_per_row(v->op->operands[0]->type, s->tile, s->dim))
        v = v->op->operands[0];
    return is_per_row(v->type, s->tile, s->dim) ? v : NULL;
}

/* The op of two operands that computes v in the body, if each has one element a row: these. */
static const ct_op *made_of_rows(const softmax *s, const ct_value *v, bc_opcode opcode, const ct_value *rows[2])
{
    const ct_op *op = v ? v->op : NULL;
    if (!op || op->opcode != opcode || op->block != s->body)
        return NULL;
    rows[0] = of_rows(s, op->operands[0]);
    rows[1] = of_rows(s, op->operands[1]);
    return rows[0] && rows[1] ? op : NULL;
}

/* The number that all elements of a constant are, through reshapes and broadcasts. */
static bool number_of(const ct_value *v, float *out)
{
    uint32_t bits;
    while (v->op && (v->op->opcode == OP_reshape || v->op->opcode == OP_broadcast))
        v = v->op->operands[0];
    if (!v->op || v->op->opcode != OP_constant || !is_of_f32(v) || !ct_is_one_number(v->op))
        return false;
    memcpy(&bits, ct_attr_of(v->op, F_constant_value)->blob->ptr, sizeof bits);
    *out = bc_f32_from_bits(bits);
    return true;
}

/* Does the loop carry the value of each row, which is `before` in an iteration, on as `after`, and is the first one not
   above `most`? */
static bool is_carried(const softmax *s, const ct_value *before, const ct_value *after, float most, float *out_first)
{
    const ct_op *loop = s->body->parent;
    const uint32_t index = before->number - 1u;
    return !before->op && before->block == s->body && before->number
           && of_rows(s, s->body->last->operands[index]) == after
           && number_of(loop->operands[ct_for_inits(loop).first + index], out_first) && *out_first <= most;
}

/* Does a reduction along the rows combine elements by this op, and by nothing else? */
static const ct_op *combines(const ct_op *reduction, const bc_type *tile, bc_opcode opcode)
{
    const ct_op *op = reduction->opcode == OP_reduce ? reduction->regions[0]->first : NULL;
    return op && reduction->operand_count == 1 && reduction->operands[0]->type->rank == tile->rank
                   && op->opcode == opcode && op->next == reduction->regions[0]->last
                   && op->operands[0] != op->operands[1]
               ? op
               : NULL;
}

/* Is %m' the largest score of the row, or %m? */
static bool is_largest(softmax *s, const ct_value *largest)
{
    const ct_value *rows[2];
    float first;
    for (const ct_use *use = s->score->uses; use; use = use->next) {
        const ct_op *by = combines(use->op, s->tile, OP_maxf);
        if (!by || use->op->block != s->body || ct_attr_u(by, F_maxf_flush_to_zero))
            continue;
        s->dim = (uint32_t)ct_attr_u(use->op, F_reduce_dim);
        s->largest = of_rows(s, largest);
        const ct_op *larger = made_of_rows(s, s->largest, OP_maxf, rows);
        if (!larger || ct_attr_u(larger, F_maxf_flush_to_zero))
            continue;
        const uint32_t i = rows[0] == &use->op->results[0] ? 1 : 0;
        s->before = rows[i];
        if (rows[1 - i] == &use->op->results[0] && is_carried(s, s->before, s->largest, LEAST, &first))
            return true;
    }
    return false;
}

/* Is it %m - %m', or 2 to that power? */
static bool is_correction(const softmax *s, const ct_value *v)
{
    const ct_value *rows[2];
    const ct_value *exponent = v->op && v->op->opcode == OP_exp2 ? of_rows(s, v->op->operands[0]) : NULL;
    const ct_op *difference = made_of_rows(s, exponent, OP_subf, rows);
    return difference && rows[0] == s->before && rows[1] == s->largest && !ct_attr_u(difference, F_subf_flush_to_zero);
}

/* Is the sum of a row only added to what was added up before, %l times the correction? */
static bool is_added_up(const softmax *s, const ct_value *sum)
{
    const ct_value *rows[2], *factors[2];
    float first;
    while (sum->uses && !sum->uses->next && sum->uses->op->opcode == OP_reshape
           && is_per_row(sum->uses->op->results[0].type, s->tile, s->dim))
        sum = &sum->uses->op->results[0];
    if (!sum->uses || sum->uses->next)
        return false;
    const ct_op *add = made_of_rows(s, &sum->uses->op->results[0], OP_addf, rows);
    if (!add || !rounds_to_nearest(add, F_addf_rounding_mode, F_addf_flush_to_zero))
        return false;
    const ct_value *other = add->operands[1 - sum->uses->index];
    const ct_op *product = made_of_rows(s, of_rows(s, other), OP_mulf, factors);
    if (!product || !rounds_to_nearest(product, F_mulf_rounding_mode, F_mulf_flush_to_zero))
        return false;
    const uint32_t i = is_correction(s, factors[0]) ? 1 : 0;
    return is_correction(s, factors[1 - i]) && is_carried(s, factors[i], of_rows(s, &add->results[0]), 0, &first)
           && first == 0;
}

/* Does it round to a type that has no number but 0 below 2^-25? */
static bool loses_small(const ct_op *op)
{
    if (op->opcode != OP_ftof || ct_attr_u(op, F_ftof_rounding_mode) != BC_RoundingMode_nearest_even)
        return false;
    const bc_kind kind = bc_elem_kind(op->results[0].type);
    return kind == BC_F16 || kind == BC_F8E4M3FN || kind == BC_F8E5M2;
}

/* Is it a power where a mask is true, and else 0, while the score is at most LEAST where the same mask is false? */
static bool masks(const softmax *s, const ct_op *op, const ct_value *power)
{
    const ct_op *scores = s->score->op;
    float zero, none;
    return op->opcode == OP_select && op->operands[1] == power && number_of(op->operands[2], &zero) && zero == 0
           && scores && scores->opcode == OP_select && ct_is_same(scores->operands[0], op->operands[0])
           && number_of(scores->operands[2], &none) && none <= LEAST;
}

/* Does whatever reads the powers not see subnormal ones? */
static bool is_hidden(const softmax *s, const ct_value *power, bool masked)
{
    bool hidden = power->uses;
    for (const ct_use *use = power->uses; use && hidden; use = use->next) {
        if (loses_small(use->op))
            continue;
        const ct_op *add = s->largest ? combines(use->op, s->tile, OP_addf) : NULL;
        if (add)
            hidden = ct_attr_u(use->op, F_reduce_dim) == s->dim && use->op->block == s->body
                     && rounds_to_nearest(add, F_addf_rounding_mode, F_addf_flush_to_zero)
                     && is_added_up(s, &use->op->results[0]);
        else
            hidden = s->largest && !masked && masks(s, use->op, power) && is_hidden(s, &use->op->results[0], true);
    }
    return hidden;
}

bool cg_may_underflow(const ct_op *power)
{
    softmax s = {.tile = power->results[0].type, .body = power->block};
    const ct_op *difference = power->operands[0]->op, *loop = s.body->parent;
    if (!is_of_f32(&power->results[0]) || !s.tile->rank || ct_attr_u(power, F_exp2_flush_to_zero))
        return false;
    if (difference && difference->opcode == OP_subf && difference->block == s.body && loop && loop->opcode == OP_for
        && ct_ends_in_one_place(loop)) {
        s.score = difference->operands[0];
        if (!is_largest(&s, difference->operands[1]))
            s.largest = NULL;
    }
    return is_hidden(&s, &power->results[0], false);
}

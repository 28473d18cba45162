/* Instructions in which a lane meets only its own registers. */
#include <string.h>

#include "tests/ptxsim/lanes.h"

ps_flow ps_exec_nop(ps_warp *w, const ps_insn *in, uint32_t active)
{
    (void)w;
    (void)in;
    (void)active;
    return PS_NEXT;
}

ps_flow ps_exec_lanes(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[4][PS_LANES], out[PS_LANES] = {0}, mask[4];
    const uint64_t *source[4];
    unsigned count = in->count - 1u;
    for (unsigned i = 0; i < count; i++) {
        source[i] = ps_source(w, in, &in->operands[i + 1], active, scratch[i]);
        mask[i] = ps_mask(ps_types[in->source_type[i]].bits);
    }
    if (in->packed == 1) {
        PS_FOR_LANES(l, active)
        {
            uint64_t v[4];
            for (unsigned i = 0; i < count; i++)
                v[i] = source[i][l] & mask[i];
            out[l] = in->lane(in, v);
        }
    } else {
        uint64_t element = ps_mask(in->bits);
        PS_FOR_LANES(l, active)
        for (unsigned k = 0; k < in->packed; k++) {
            uint64_t v[4];
            for (unsigned i = 0; i < count; i++)
                v[i] = ps_types[in->source_type[i]].count == in->packed ? source[i][l] >> k * in->bits & element
                                                                        : source[i][l] & mask[i];
            out[l] |= (in->lane(in, v) & element) << k * in->bits;
        }
    }
    ps_result(w, &in->operands[0], (ps_type)in->type, active, out);
    return PS_NEXT;
}

/* ---- comparisons ---- */

static uint32_t combine(const ps_insn *in, uint32_t compared, uint32_t with)
{
    switch (in->combine) {
    case 'a': return compared & with;
    case 'o': return compared | with;
    case 'x': return compared ^ with;
    default: return compared;
    }
}

/* Where the comparison holds for element k. */
static uint32_t compare(ps_warp *w, const ps_insn *in, uint32_t active, unsigned k)
{
    uint64_t scratch[2][PS_LANES], element = ps_mask(in->bits);
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch[0]);
    const uint64_t *b = ps_source(w, in, &in->operands[2], active, scratch[1]);
    bool is_float = ps_types[in->from].class_ == PS_CLASS_FLOAT;
    uint32_t mask = 0;
    PS_FOR_LANES(l, active)
    {
        uint64_t x = a[l] >> k * in->bits & element, y = b[l] >> k * in->bits & element;
        mask |= (uint32_t)(is_float ? ps_float_compare(in, x, y) : ps_int_compare(in, x, y)) << l;
    }
    return mask;
}

/* p|q: for packed types the two elements, else the comparison and its opposite, each combined with the third source. */
ps_flow ps_exec_setp(ps_warp *w, const ps_insn *in, uint32_t active)
{
    const ps_operand *p = &in->operands[0];
    uint32_t with = in->combine ? ps_predicate(w, in, &in->operands[3], active) : 0;
    uint32_t first = compare(w, in, active, 0);
    uint32_t second = in->packed == 2 ? compare(w, in, active, 1) : ~first;
    ps_result_mask(w, p, active, combine(in, first, with));
    if (p->pair)
        ps_result_mask(w, p->pair, active, combine(in, second, with));
    return PS_NEXT;
}

ps_flow ps_exec_set(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint32_t with = in->combine ? ps_predicate(w, in, &in->operands[3], active) : 0;
    const ps_type_info *to = &ps_types[in->type];
    unsigned bits = to->bits / in->packed;
    uint64_t yes = to->class_ == PS_CLASS_FLOAT ? bc_float_round((bc_kind)to->kind, 1.0, BC_RoundingMode_nearest_even)
                                                : ps_mask(bits);
    uint64_t out[PS_LANES] = {0};
    for (unsigned k = 0; k < in->packed; k++) {
        uint32_t mask = combine(in, compare(w, in, active, k), with);
        PS_FOR_LANES(l, active & mask)
        out[l] |= yes << k * bits;
    }
    ps_result(w, &in->operands[0], (ps_type)in->type, active, out);
    return PS_NEXT;
}

/* ---- carries: mode: the carry is read; table: it is written ---- */

/* a + b + c of `bits` bits with the carry out of the top. */
static uint64_t add_carry(uint64_t a, uint64_t b, unsigned c, unsigned bits, unsigned *out_carry)
{
    uint64_t all = ps_mask(bits), sum = (a + b + c) & all;
    *out_carry = c ? sum <= a : sum < a;
    return sum;
}

ps_flow ps_exec_carry(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[3][PS_LANES], out[PS_LANES] = {0};
    const uint64_t *source[3];
    bool multiplies = in->count == 4, subtracts = in->lane == ps_int_sub;
    for (unsigned i = 0; i + 1u < in->count; i++)
        source[i] = ps_source(w, in, &in->operands[i + 1], active, scratch[i]);
    uint64_t all = ps_mask(in->bits);
    uint32_t carries = w->carry;
    PS_FOR_LANES(l, active)
    {
        unsigned given = in->mode ? w->carry >> l & 1 : 0, carry;
        uint64_t a = source[0][l] & all, b = source[1][l] & all;
        if (multiplies) {
            const uint64_t v[2] = {a, b};
            a = ps_int_mul(in, v) & all;
            b = source[2][l] & all;
        }
        if (subtracts) { /* the carry of a subtraction is a borrow */
            out[l] = add_carry(a, ~b & all, !given, in->bits, &carry);
            carry = !carry;
        } else {
            out[l] = add_carry(a, b, given, in->bits, &carry);
        }
        carries = (carries & ~((uint32_t)1 << l)) | (uint32_t)carry << l;
    }
    if (in->table)
        w->carry = carries;
    ps_result(w, &in->operands[0], (ps_type)in->type, active, out);
    return PS_NEXT;
}

/* ---- mov ---- */

static unsigned part_bits(const ps_insn *in, const ps_operand *vector, unsigned i)
{
    const ps_operand *part = &vector->sub[i];
    return part->kind == PS_REG ? ps_types[part->type].bits : ps_types[in->type].bits / vector->count;
}

/* Cuts bits place .. place + width - 1 out of two words, or puts them in. Parts never straddle the words. */
static void unpack(ps_warp *w, const ps_insn *in, uint32_t active, const uint64_t *low, const uint64_t *high)
{
    const ps_operand *vector = &in->operands[0];
    unsigned place = 0;
    for (unsigned i = 0; i < vector->count; i++) {
        unsigned bits = part_bits(in, vector, i);
        uint64_t out[PS_LANES];
        for (unsigned l = 0; l < PS_LANES; l++)
            out[l] = (place < 64 ? low[l] >> place : high[l] >> (place - 64)) & ps_mask(bits);
        if (vector->sub[i].kind == PS_REG)
            ps_result(w, &vector->sub[i], (ps_type)vector->sub[i].type, active, out);
        place += bits;
    }
}

static void pack(ps_warp *w, const ps_insn *in, uint32_t active, uint64_t *low, uint64_t *high)
{
    const ps_operand *vector = &in->operands[1];
    unsigned place = 0;
    memset(low, 0, PS_LANES * sizeof *low);
    memset(high, 0, PS_LANES * sizeof *high);
    for (unsigned i = 0; i < vector->count; i++) {
        unsigned bits = part_bits(in, vector, i);
        uint64_t scratch[PS_LANES];
        const uint64_t *part = ps_source(w, in, &vector->sub[i], active, scratch);
        for (unsigned l = 0; l < PS_LANES; l++) {
            uint64_t x = part[l] & ps_mask(bits);
            if (place < 64)
                low[l] |= x << place;
            else
                high[l] |= x << (place - 64);
        }
        place += bits;
    }
}

ps_flow ps_exec_mov(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t low[PS_LANES], high[PS_LANES], scratch[PS_LANES];
    const ps_operand *to = &in->operands[0], *from = &in->operands[1];
    const uint64_t *low_row = low, *high_row = high;
    if (from->kind == PS_VECTOR) {
        pack(w, in, active, low, high);
    } else {
        low_row = ps_source(w, in, from, active, low);
        high_row = ps_source_high(w, from, scratch);
    }
    if (to->kind == PS_VECTOR) {
        uint64_t low_copy[PS_LANES], high_copy[PS_LANES];
        memcpy(low_copy, low_row, sizeof low_copy);
        memcpy(high_copy, high_row, sizeof high_copy);
        unpack(w, in, active, low_copy, high_copy);
    } else {
        ps_result(w, to, in->type == PS_B128 ? PS_B64 : (ps_type)in->type, active, low_row);
        ps_result_high(w, to, active, high_row);
    }
    return PS_NEXT;
}

/* Ranges of integers, and sums of parameters times ranges. Everything stays within ARG_FAR; what would exceed it counts
   as unknown. */
#include "tools/tilevm/args/study.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_sane(int64_t low, int64_t high)
{
    return low >= -ARG_FAR && high <= ARG_FAR && low <= high;
}

arg_range arg_range_between(int64_t low, int64_t high)
{
    return is_sane(low, high) ? (arg_range){.known = true, .low = low, .high = high} : (arg_range){0};
}

arg_range arg_range_param(uint32_t slot)
{
    return (arg_range){.known = true, .term_count = 1, .terms = {{slot, 1, 1}}};
}

bool arg_range_is_plain(const arg_range *r)
{
    return r->known && !r->root && !r->term_count;
}

bool arg_range_is_number(const arg_range *r)
{
    return arg_range_is_plain(r) && r->low == r->high;
}

static int64_t sign_extend(uint64_t value, unsigned bits)
{
    return bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

arg_range arg_range_constant(const bc_type *type, const bc_blob *blob)
{
    bc_kind kind = bc_elem_kind(type);
    if (kind == BC_KIND_COUNT || !bc_kind_in(kind, BC_SET_INT) || !blob)
        return (arg_range){0};
    unsigned bytes = bc_kind_constant_bytes(kind), bits = bc_kind_bits(kind);
    bool splat = bits == 1 && blob->len == 1;
    arg_range r = {0};
    if (bits == 1 && !splat)
        return arg_range_between(0, 1); /* bits, not bytes */
    for (size_t at = 0; at + bytes <= blob->len; at += bytes) {
        uint64_t value = 0;
        for (unsigned b = 0; b < bytes; b++)
            value |= (uint64_t)blob->ptr[at + b] << 8 * b;
        int64_t n = bits == 1 ? (int64_t)(value & 1) : sign_extend(value, bits);
        r = r.known ? arg_range_between(smaller(r.low, n), larger(r.high, n)) : arg_range_between(n, n);
        if (!r.known)
            break;
    }
    return r;
}

/* ---- sums and products ---- */

static bool multiply_ends(int64_t *low, int64_t *high, int64_t by_low, int64_t by_high)
{
    /* All lie within 2^40, so 128 bits are not needed when one side is small. */
    const int64_t limit = (int64_t)1 << 22;
    if (larger(-*low, *high) > limit && larger(-by_low, by_high) > limit)
        return false;
    int64_t p[4] = {*low * by_low, *low * by_high, *high * by_low, *high * by_high};
    *low = smaller(smaller(p[0], p[1]), smaller(p[2], p[3]));
    *high = larger(larger(p[0], p[1]), larger(p[2], p[3]));
    return is_sane(*low, *high);
}

static bool add_term(arg_range *r, arg_term term)
{
    uint32_t i = 0;
    if (term.low == 0 && term.high == 0)
        return true;
    while (i < r->term_count && r->terms[i].slot < term.slot)
        i++;
    if (i < r->term_count && r->terms[i].slot == term.slot) {
        r->terms[i].low += term.low;
        r->terms[i].high += term.high;
        return is_sane(r->terms[i].low, r->terms[i].high);
    }
    if (r->term_count == ARG_TERMS)
        return false;
    for (uint32_t k = r->term_count++; k > i; k--)
        r->terms[k] = r->terms[k - 1];
    r->terms[i] = term;
    return true;
}

/* One of the two may be an address. */
arg_range arg_range_add(arg_range a, arg_range b)
{
    uint32_t root = a.root ? a.root : b.root;
    const arg_range lost = {.root = root};
    if ((a.root && b.root) || !a.known || !b.known || !is_sane(a.low + b.low, a.high + b.high))
        return lost;
    arg_range sum = a;
    sum.root = root;
    sum.low += b.low;
    sum.high += b.high;
    for (uint32_t i = 0; i < b.term_count; i++)
        if (!add_term(&sum, b.terms[i]))
            return lost;
    return sum;
}

arg_range arg_range_multiply(arg_range a, arg_range b)
{
    if ((arg_range_is_number(&a) && a.low == 0) || (arg_range_is_number(&b) && b.low == 0))
        return arg_range_between(0, 0);
    if (arg_range_is_plain(&a)) {
        arg_range other = a;
        a = b;
        b = other;
    }
    if (!a.known || a.root || !arg_range_is_plain(&b))
        return (arg_range){0};
    bool sane = multiply_ends(&a.low, &a.high, b.low, b.high);
    for (uint32_t i = 0; sane && i < a.term_count; i++)
        sane = multiply_ends(&a.terms[i].low, &a.terms[i].high, b.low, b.high);
    return sane ? a : (arg_range){0};
}

/* ---- ops ---- */

static arg_range on_numbers(bc_opcode opcode, int64_t a, int64_t b)
{
    switch ((int)opcode) {
    case OP_andi: return arg_range_between(a & b, a & b);
    case OP_ori: return arg_range_between(a | b, a | b);
    case OP_xori: return arg_range_between(a ^ b, a ^ b);
    default: return (arg_range){0};
    }
}

/* Bit operations on numbers that are not negative: the result has no more bits than the larger operand; with andi, no
   more than the smaller one. */
static arg_range bitwise(bc_opcode opcode, arg_range a, arg_range b)
{
    if (a.low == a.high && b.low == b.high)
        return on_numbers(opcode, a.low, b.low);
    if (a.low < 0 || b.low < 0)
        return (arg_range){0};
    int64_t bits = 1;
    while (bits <= larger(a.high, b.high))
        bits *= 2;
    return arg_range_between(0, opcode == OP_andi ? smaller(a.high, b.high) : bits - 1);
}

static arg_range shift(bc_opcode opcode, arg_range a, arg_range b)
{
    if (b.low != b.high || b.low < 0 || b.low > 40)
        return (arg_range){0};
    int64_t factor = (int64_t)1 << b.low;
    if (opcode == OP_shli)
        return arg_range_multiply(a, arg_range_between(factor, factor));
    return arg_range_is_plain(&a) && a.low >= 0 ? arg_range_between(a.low / factor, a.high / factor) : (arg_range){0};
}

static arg_range divide(const bc_op *op, arg_range a, arg_range b)
{
    if (a.low < 0 || b.low <= 0)
        return (arg_range){0};
    bool up = bc_attr_u(op, F_divi_rounding) == BC_RoundingMode_positive_inf;
    return arg_range_between((a.low + (up ? b.high - 1 : 0)) / b.high, (a.high + (up ? b.low - 1 : 0)) / b.low);
}

arg_range arg_range_binary(const bc_op *op, arg_range a, arg_range b)
{
    bc_opcode opcode = (bc_opcode)op->opcode;
    switch ((int)opcode) {
    case OP_addi: return arg_range_add(a, b);
    case OP_subi:
        if (a.root && a.root == b.root) /* of two addresses of an array */
            return (arg_range){0};
        return arg_range_add(a, arg_range_multiply(b, arg_range_between(-1, -1)));
    case OP_muli: return arg_range_multiply(a, b);
    case OP_shli:
        if (arg_range_is_plain(&b))
            return shift(opcode, a, b);
        break;
    default: break;
    }
    if (!arg_range_is_plain(&a) || !arg_range_is_plain(&b))
        return (arg_range){0};
    switch ((int)opcode) {
    case OP_divi: return divide(op, a, b);
    case OP_remi: return a.low >= 0 && b.low > 0 ? arg_range_between(0, smaller(a.high, b.high - 1)) : (arg_range){0};
    case OP_mini: return arg_range_between(smaller(a.low, b.low), smaller(a.high, b.high));
    case OP_maxi: return arg_range_between(larger(a.low, b.low), larger(a.high, b.high));
    case OP_shri: return shift(opcode, a, b);
    default: return bitwise(opcode, a, b);
    }
}

typedef struct verdict {
    bool always, never;
} verdict;

static verdict is_below(arg_range a, arg_range b, bool or_equal)
{
    return (verdict){a.high < b.low + or_equal, a.low >= b.high + or_equal};
}

static verdict is_equal(arg_range a, arg_range b)
{
    return (verdict){a.low == b.high && a.high == b.low, a.high < b.low || b.high < a.low};
}

static verdict compare(bc_ComparisonPredicate predicate, arg_range a, arg_range b)
{
    verdict equal = is_equal(a, b);
    switch (predicate) {
    case BC_ComparisonPredicate_equal: return equal;
    case BC_ComparisonPredicate_not_equal: return (verdict){equal.never, equal.always};
    case BC_ComparisonPredicate_less_than: return is_below(a, b, false);
    case BC_ComparisonPredicate_less_than_or_equal: return is_below(a, b, true);
    case BC_ComparisonPredicate_greater_than: return is_below(b, a, false);
    case BC_ComparisonPredicate_greater_than_or_equal: return is_below(b, a, true);
    }
    return (verdict){0};
}

/* Unsigned comparisons of negative numbers give no result. */
arg_range arg_range_compare(const bc_op *op, arg_range a, arg_range b)
{
    bool sure = arg_range_is_plain(&a) && arg_range_is_plain(&b);
    if (bc_attr_u(op, F_cmpi_signedness) == BC_Signedness_unsigned)
        sure = sure && a.low >= 0 && b.low >= 0;
    verdict v = {0};
    if (sure)
        v = compare((bc_ComparisonPredicate)bc_attr_u(op, F_cmpi_comparison_predicate), a, b);
    return arg_range_between(v.always ? 1 : 0, v.never ? 0 : 1);
}

/* i1 counts as 0 and 1. */
arg_range arg_range_cast(const bc_op *op, arg_range a)
{
    bc_kind from = bc_elem_kind(bc_operands(op)[0]->type), to = bc_elem_kind(bc_results(op)->type);
    bool is_signed = op->opcode == OP_exti && bc_attr_u(op, F_exti_signedness) == BC_Signedness_signed;
    if (!arg_range_is_plain(&a))
        return a;
    if (op->opcode == OP_exti && from == BC_I1)
        return is_signed ? arg_range_between(-a.high, -a.low) : a;
    if (op->opcode == OP_exti && !is_signed && a.low < 0)
        return (arg_range){0};
    if (op->opcode != OP_trunci || bc_kind_bits(to) >= 40)
        return a;
    int64_t half = (int64_t)1 << (bc_kind_bits(to) - 1);
    if (a.low >= -half && a.high < (bc_kind_bits(to) == 1 ? 2 : half))
        return a;
    int64_t n = sign_extend((uint64_t)a.low, bc_kind_bits(to));
    return a.low == a.high ? arg_range_between(to == BC_I1 ? n & 1 : n, to == BC_I1 ? n & 1 : n) : (arg_range){0};
}

arg_range arg_range_unite(arg_range a, arg_range b)
{
    if (a.root != b.root)
        return (arg_range){0};
    if (!a.known || !b.known || a.term_count || b.term_count)
        return (arg_range){.root = a.root};
    arg_range r = arg_range_between(smaller(a.low, b.low), larger(a.high, b.high));
    r.root = a.root;
    return r;
}

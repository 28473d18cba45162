/* Opcodes: the table of all instructions, the modifiers, and the families that work lane by lane. */
#include "tests/ptxsim/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/ptxsim/lanes.h"

const ps_type_info ps_types[PS_TYPE_COUNT] = {
#define BC_NONE BC_KIND_COUNT
#define TYPE(name, text, bits, class, count, kind) {text, bits, PS_CLASS_##class, count, BC_##kind},
#include "tests/ptxsim/types.def"
#undef BC_NONE
};

/* ---- modifiers ---- */

void ps_decode_fail(ps_decoder *d, const char *format, ...)
{
    if (d->error[0])
        return;
    va_list args;
    va_start(args, format);
    int used = snprintf(d->error, d->error_size, "'%s': ", d->opcode);
    if (used > 0 && (size_t)used < d->error_size)
        vsnprintf(d->error + used, d->error_size - (size_t)used, format, args);
    va_end(args);
}

bool ps_take(ps_decoder *d, const char *modifier)
{
    for (unsigned i = 0; i < d->count; i++)
        if (!d->used[i] && strcmp(d->modifiers[i], modifier) == 0)
            return d->used[i] = true;
    return false;
}

int ps_take_one(ps_decoder *d, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (ps_take(d, words[i]))
            return i;
    return -1;
}

ps_type ps_take_type(ps_decoder *d)
{
    for (unsigned i = 0; i < d->count; i++)
        for (unsigned t = 0; !d->used[i] && t < PS_TYPE_COUNT; t++)
            if (strcmp(d->modifiers[i], ps_types[t].text) == 0) {
                d->used[i] = true;
                return (ps_type)t;
            }
    return PS_NO_TYPE;
}

void ps_take_cache(ps_decoder *d)
{
    static const char *const operators[] = {"ca", "cg", "cs", "cv", "lu", "wb", "wt", NULL};
    ps_take_one(d, operators);
    for (unsigned i = 0; i < d->count; i++)
        if (strncmp(d->modifiers[i], "L1::", 4) == 0 || strncmp(d->modifiers[i], "L2::", 4) == 0)
            d->used[i] = true;
}

void ps_take_order(ps_decoder *d)
{
    static const char *const orders[] = {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", NULL};
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL};
    int order = ps_take_one(d, orders);
    if (order >= 0)
        d->in->order = (uint8_t)order;
    if (ps_take(d, "mmio") || ps_take(d, "sc"))
        d->in->order = PS_ACQ_REL;
    d->in->beyond_block = ps_take_one(d, scopes) > 0;
}

ps_space ps_take_space(ps_decoder *d)
{
    static const char *const words[] = {"global", "shared", "shared::cta",  "shared::cluster", "local",
                                        "const",  "param",  "param::entry", "param::func",     NULL};
    static const uint8_t spaces[] = {PS_GLOBAL, PS_SHARED, PS_SHARED, PS_SHARED_CLUSTER, PS_LOCAL,
                                     PS_CONST,  PS_PARAM,  PS_PARAM,  PS_PARAM_FUNC};
    int i = ps_take_one(d, words);
    return i < 0 ? PS_GENERIC : (ps_space)spaces[i];
}

void ps_take_rounding(ps_decoder *d)
{
    static const char *const words[] = {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", NULL};
    static const uint8_t modes[] = {BC_RoundingMode_nearest_even, BC_RoundingMode_zero,
                                    BC_RoundingMode_negative_inf, BC_RoundingMode_positive_inf,
                                    BC_RoundingMode_nearest_away, BC_RoundingMode_nearest_even,
                                    BC_RoundingMode_zero,         BC_RoundingMode_negative_inf,
                                    BC_RoundingMode_positive_inf};
    int i = ps_take_one(d, words);
    d->in->rounding = i < 0 ? BC_RoundingMode_nearest_even : modes[i];
    d->in->to_integer = i > 4;
}

/* ---- operands ---- */

void ps_want_count(ps_decoder *d, unsigned least, unsigned most)
{
    if (d->in->count < least || d->in->count > most)
        ps_decode_fail(d, "%u operands, expected %u%s", d->in->count, least, most > least ? " or more" : "");
}

static void want_register(ps_decoder *d, const ps_operand *o, ps_type type, bool relaxed)
{
    const ps_type_info *have = &ps_types[o->type], *wanted = &ps_types[type];
    bool size = relaxed ? have->bits >= wanted->bits : have->bits == wanted->bits;
    bool kind = relaxed || have->class_ == PS_CLASS_BITS || wanted->class_ == PS_CLASS_BITS
                || (have->class_ == PS_CLASS_FLOAT) == (wanted->class_ == PS_CLASS_FLOAT);
    if (!size || !kind)
        ps_decode_fail(d, "register '%s' is .%s, the operand .%s", o->name, have->text, wanted->text);
}

static void want_operand(ps_decoder *d, const ps_operand *o, ps_type type, bool relaxed, bool result)
{
    switch ((ps_operand_kind)o->kind) {
    case PS_REG:
        if (type == PS_PRED)
            ps_decode_fail(d, "register '%s' stands where a predicate is wanted", o->name);
        else
            want_register(d, o, type, relaxed);
        break;
    case PS_PREDICATE:
        if (type != PS_PRED)
            ps_decode_fail(d, "predicate '%s' stands where a .%s is wanted", o->name, ps_types[type].text);
        break;
    case PS_SINK:
        if (!result)
            ps_decode_fail(d, "'_' stands where a source is wanted");
        break;
    case PS_IMMEDIATE:
    case PS_VARIABLE:
    case PS_SREG:
        if (result)
            ps_decode_fail(d, "the result must be a register");
        else if (o->kind == PS_IMMEDIATE && ps_types[type].class_ == PS_CLASS_FLOAT && !o->is_float && !o->exact_float)
            ps_decode_fail(d, "an integer stands where a .%s is wanted", ps_types[type].text);
        break;
    case PS_FUNCTION:
    case PS_NONE:
    case PS_ADDRESS:
    case PS_VECTOR:
    case PS_LABEL:
        ps_decode_fail(d, "'%s' cannot stand where a .%s is wanted",
                       o->kind == PS_LABEL    ? o->name
                       : o->kind == PS_VECTOR ? "{...}"
                                              : "[...]",
                       ps_types[type].text);
        break;
    }
}

void ps_want(ps_decoder *d, unsigned index, ps_type type, bool relaxed)
{
    if (index >= d->in->count)
        ps_decode_fail(d, "operand %u is missing", index + 1);
    else if (type == PS_NO_TYPE)
        ps_decode_fail(d, "the type is missing");
    else
        want_operand(d, &d->in->operands[index], type, relaxed, index < d->in->first_source);
}

void ps_want_address(ps_decoder *d, unsigned index)
{
    if (index >= d->in->count || d->in->operands[index].kind != PS_ADDRESS) {
        ps_decode_fail(d, "operand %u must be an address in brackets", index + 1);
        return;
    }
    const ps_operand *base = d->in->operands[index].sub;
    if (base && ps_types[base->type].bits != 32 && ps_types[base->type].bits != 64)
        ps_decode_fail(d, "the address register '%s' has %u bits", base->name, ps_types[base->type].bits);
}

void ps_want_vector(ps_decoder *d, unsigned index, unsigned count, ps_type type, bool relaxed)
{
    if (index >= d->in->count || d->in->operands[index].kind != PS_VECTOR) {
        if (count == 1)
            ps_want(d, index, type, relaxed);
        else
            ps_decode_fail(d, "operand %u must be %u registers in braces", index + 1, count);
        return;
    }
    const ps_operand *o = &d->in->operands[index];
    if (o->count != count)
        ps_decode_fail(d, "operand %u has %u registers, expected %u", index + 1, o->count, count);
    for (unsigned i = 0; i < o->count; i++)
        want_operand(d, &o->sub[i], type, relaxed, index < d->in->first_source);
}

void ps_note_access(ps_decoder *d, ps_space space, unsigned bytes)
{
    unsigned log2 = 0;
    while (log2 < 4 && bytes >> (log2 + 1))
        log2++;
    bool shared = space == PS_SHARED || space == PS_SHARED_CLUSTER, global = space == PS_GLOBAL;
    if ((shared || space == PS_GENERIC) && log2 < d->m->granule_log2)
        d->m->granule_log2 = log2;
    if ((global || space == PS_GENERIC) && log2 < d->m->global_granule_log2)
        d->m->global_granule_log2 = log2;
}

/* ---- lane by lane ---- */

static void set_operation_type(ps_decoder *d, ps_type type)
{
    ps_insn *in = d->in;
    in->from = (uint8_t)type;
    in->packed = ps_types[type].count;
    in->bits = (uint8_t)ps_element_bits(type);
    in->kind = ps_types[type].kind;
    in->is_signed = ps_types[type].class_ == PS_CLASS_SINT;
}

static ps_type widened(ps_type type)
{
    switch (type) {
    case PS_U16: return PS_U32;
    case PS_S16: return PS_S32;
    case PS_U32: return PS_U64;
    case PS_S32: return PS_S64;
    default: return PS_NO_TYPE;
    }
}

static ps_type signature_type(ps_decoder *d, char c, ps_type type)
{
    switch (c) {
    case 'u': return PS_U32;
    case 'p': return PS_PRED;
    case 'w': return d->in->wide ? widened(type) : type;
    default: return type;
    }
}

/* The signature has one letter for the result and each source: t the instruction's type, w that or twice as wide,
   u .u32, p a predicate. Upper case: may be left out. */
static void finish_lanes(ps_decoder *d, const char *signature, ps_type type)
{
    ps_insn *in = d->in;
    unsigned given = 0, all = (unsigned)strlen(signature);
    while (given < all && signature[given] != 'T')
        given++;
    in->first_source = 1;
    ps_want_count(d, given, all);
    set_operation_type(d, type);
    in->type = (uint8_t)signature_type(d, signature[0], type);
    ps_want(d, 0, (ps_type)in->type, false);
    for (unsigned i = 1; i < in->count && !d->error[0]; i++) {
        bool narrow = d->narrow != PS_NO_TYPE && i + 1u < in->count;
        ps_type source = narrow ? d->narrow : signature_type(d, signature[i], type);
        in->source_type[i - 1] = (uint8_t)source;
        ps_want(d, i, source, false);
    }
    in->exec = ps_exec_lanes;
}

/* add.f32.f16 d, a, c and fma.f32.f16 d, a, b, c: the sources before the last are narrower. */
static void take_mixed(ps_decoder *d)
{
    ps_insn *in = d->in;
    d->narrow = ps_take(d, "f16") ? PS_F16 : ps_take(d, "bf16") ? PS_BF16 : PS_NO_TYPE;
    if (d->narrow == PS_NO_TYPE)
        return;
    if (in->lane != ps_float_fma && in->lane != ps_float_add && in->lane != ps_float_sub)
        ps_decode_fail(d, "no form with two types");
    in->inner = in->lane;
    in->lane = ps_float_mixed;
}

static void decode_lanes(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take_rounding(d);
    in->ftz = ps_take(d, "ftz");
    in->sat = ps_take(d, "sat");
    in->relu = ps_take(d, "relu");
    in->nan = ps_take(d, "NaN");
    in->approx = ps_take(d, "approx") || ps_take(d, "full");
    in->xorsign = ps_take(d, "xorsign") && ps_take(d, "abs");
    in->high = ps_take(d, "hi");
    in->wide = ps_take(d, "wide") || ps_take(d, "wrap");
    in->low = ps_take(d, "lo") || ps_take(d, "l");
    if (!in->low)
        ps_take(d, "r");
    ps_take(d, "clamp");
    in->mode = ps_take(d, "shiftamt");
    ps_type type = ps_take_type(d);
    if (type == PS_NO_TYPE) {
        ps_decode_fail(d, "the type is missing");
        return;
    }
    in->lane = ps_types[type].class_ == PS_CLASS_FLOAT ? d->row->floating : d->row->integer;
    if (!in->lane)
        ps_decode_fail(d, "not for .%s", ps_types[type].text);
    if (type == PS_F32 && !d->error[0])
        take_mixed(d);
    if (!d->error[0])
        finish_lanes(d, d->row->signature, type);
}

/* Integer forms may have .cc (write the carry); addc, subc, madc read it. Float forms go the ordinary way. */
static void decode_carry(ps_decoder *d)
{
    bool writes = ps_take(d, "cc");
    decode_lanes(d);
    if (d->error[0] || (!writes && !d->row->mode))
        return;
    if (ps_types[d->in->type].class_ == PS_CLASS_FLOAT || d->in->wide)
        ps_decode_fail(d, "no carry for this form");
    d->in->table = writes;
    d->in->mode = d->row->mode;
    d->in->exec = ps_exec_carry;
}

static void decode_lop3(ps_decoder *d)
{
    ps_insn *in = d->in;
    bool boolean = ps_take(d, "or") || ps_take(d, "and");
    ps_type type = ps_take_type(d);
    if (boolean || in->count != 5 || in->operands[4].kind != PS_IMMEDIATE) {
        ps_decode_fail(d, boolean ? "the form with a predicate is not supported"
                                  : "wants d, a, b, c and an immediate table");
        return;
    }
    in->table = (uint8_t)in->operands[4].value;
    in->count = 4;
    in->lane = ps_int_lop3;
    finish_lanes(d, "tttt", type);
}

static void decode_prmt(ps_decoder *d)
{
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL};
    ps_type type = ps_take_type(d);
    d->in->mode = (uint8_t)(ps_take_one(d, modes) + 1);
    d->in->lane = ps_int_prmt;
    finish_lanes(d, "tttu", type);
}

static void decode_testp(ps_decoder *d)
{
    static const char *const modes[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL};
    int mode = ps_take_one(d, modes);
    ps_type type = ps_take_type(d);
    if (mode < 0 || type == PS_NO_TYPE || ps_types[type].class_ != PS_CLASS_FLOAT)
        ps_decode_fail(d, "wants a class and a float type");
    d->in->mode = (uint8_t)mode;
    d->in->lane = ps_float_testp;
    if (!d->error[0])
        finish_lanes(d, "pt", type);
}

/* Two types, of a and b; the third source and the result are 32 bits wide. */
static void decode_dot(ps_decoder *d)
{
    ps_insn *in = d->in;
    in->high = ps_take(d, "hi");
    ps_take(d, "lo");
    ps_type a = ps_take_type(d), b = ps_take_type(d);
    in->lane = d->row->integer;
    if (b == PS_NO_TYPE)
        ps_decode_fail(d, "wants two types");
    else
        finish_lanes(d, "tttt", a);
    in->source_type[1] = (uint8_t)b;
}

static void decode_slct(ps_decoder *d)
{
    ps_insn *in = d->in;
    in->ftz = ps_take(d, "ftz");
    ps_type type = ps_take_type(d), condition = ps_take_type(d);
    in->lane = ps_int_slct;
    if (condition != PS_S32 && condition != PS_F32) {
        ps_decode_fail(d, "the condition is .s32 or .f32");
        return;
    }
    finish_lanes(d, "tttu", type);
    in->source_type[2] = (uint8_t)condition;
}

/* ---- comparisons ---- */

static void take_comparison(ps_decoder *d)
{
    static const char *const words[] = {"eq",  "ne",  "lt",  "le",  "gt", "ge", "num", "nan", "equ", "neu",
                                        "ltu", "leu", "gtu", "geu", "lo", "ls", "hi",  "hs",  NULL};
    static const uint8_t unsigned_forms[] = {PS_LT, PS_LE, PS_GT, PS_GE};
    int i = ps_take_one(d, words);
    if (i < 0)
        ps_decode_fail(d, "the comparison is missing");
    else
        d->in->compare = i > PS_GEU ? unsigned_forms[i - PS_GEU - 1] : (uint8_t)i;
    d->in->combine = ps_take(d, "and") ? 'a' : ps_take(d, "or") ? 'o' : ps_take(d, "xor") ? 'x' : 0;
    d->in->ftz = ps_take(d, "ftz");
}

static void finish_comparison(ps_decoder *d, ps_type type, ps_type result)
{
    ps_insn *in = d->in;
    if (type == PS_NO_TYPE) {
        ps_decode_fail(d, "the type is missing");
        return;
    }
    if (in->compare >= PS_NUM && ps_types[type].class_ != PS_CLASS_FLOAT)
        ps_decode_fail(d, "a comparison of floats for .%s", ps_types[type].text);
    set_operation_type(d, type);
    in->type = (uint8_t)result;
    in->first_source = 1;
    ps_want_count(d, in->combine ? 4 : 3, in->combine ? 4 : 3);
    ps_want(d, 0, result, false);
    ps_want(d, 1, type, false);
    ps_want(d, 2, type, false);
    if (in->combine)
        ps_want(d, 3, PS_PRED, false);
    in->source_type[0] = in->source_type[1] = (uint8_t)type;
}

static void decode_setp(ps_decoder *d)
{
    take_comparison(d);
    d->in->exec = ps_exec_setp;
    finish_comparison(d, ps_take_type(d), PS_PRED);
}

static void decode_set(ps_decoder *d)
{
    take_comparison(d);
    ps_type result = ps_take_type(d), type = ps_take_type(d);
    d->in->exec = ps_exec_set;
    finish_comparison(d, type, result);
}

/* ---- mov, cvt ---- */

static void decode_mov(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_type type = ps_take_type(d);
    in->type = (uint8_t)type;
    in->first_source = 1;
    in->exec = ps_exec_mov;
    ps_want_count(d, 2, 2);
    if (d->error[0] || type == PS_NO_TYPE) {
        ps_decode_fail(d, "the type is missing");
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const ps_operand *o = &in->operands[i];
        if (o->kind != PS_VECTOR) {
            if (o->kind != PS_FUNCTION)
                ps_want(d, i, type, o->kind == PS_SREG);
            continue;
        }
        unsigned bits = 0;
        for (unsigned k = 0; k < o->count; k++) {
            const ps_operand *part = &o->sub[k];
            if (part->kind != PS_REG && part->kind != PS_SINK && part->kind != PS_IMMEDIATE)
                ps_decode_fail(d, "parts of a vector are registers");
            bits += part->kind == PS_REG ? ps_types[part->type].bits : ps_types[type].bits / o->count;
        }
        if (bits != ps_types[type].bits)
            ps_decode_fail(d, "the parts have %u bits together, .%s has %u", bits, ps_types[type].text,
                           ps_types[type].bits);
    }
}

static void decode_cvt(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take_rounding(d);
    in->ftz = ps_take(d, "ftz");
    in->sat = ps_take(d, "sat");
    in->satfinite = ps_take(d, "satfinite");
    in->relu = ps_take(d, "relu");
    in->mode = ps_take(d, "pack");
    ps_type to = ps_take_type(d), from = ps_take_type(d);
    in->first_source = 1;
    in->lane = ps_cvt;
    in->exec = ps_exec_lanes;
    if (from == PS_NO_TYPE) {
        ps_decode_fail(d, "wants two types");
        return;
    }
    bool two = ps_types[to].count == 2 && ps_types[from].count == 1;
    ps_type bits = in->mode ? PS_B32 : to;
    if (in->mode)
        ps_take_type(d); /* of c: .b32 */
    ps_want_count(d, two || in->mode ? 3 : 2, in->mode ? 4 : two ? 3 : 2);
    set_operation_type(d, from);
    in->packed = 1;
    in->bits = (uint8_t)ps_element_bits(from);
    in->type = (uint8_t)bits;
    in->source_type[3] = (uint8_t)to; /* cvt.pack */
    ps_want(d, 0, bits, true);
    for (unsigned i = 1; i < in->count && !d->error[0]; i++) {
        in->source_type[i - 1] = i == 3 ? PS_B32 : (uint8_t)from;
        ps_want(d, i, (ps_type)in->source_type[i - 1], true);
    }
    if (ps_types[from].class_ == PS_CLASS_BITS || ps_types[to].class_ == PS_CLASS_BITS)
        ps_decode_fail(d, "bits have no value to convert");
}

/* ---- the table ---- */

static const ps_opcode opcodes[] = {
    {"add", decode_carry, "ttt", ps_int_add, ps_float_add, NULL, 0},
    {"sub", decode_carry, "ttt", ps_int_sub, ps_float_sub, NULL, 0},
    {"mad", decode_carry, "wttw", ps_int_mad, ps_float_fma, NULL, 0},
    {"addc", decode_carry, "ttt", ps_int_add, NULL, NULL, 1},
    {"subc", decode_carry, "ttt", ps_int_sub, NULL, NULL, 1},
    {"madc", decode_carry, "wttw", ps_int_mad, NULL, NULL, 1},
    {"mul", decode_lanes, "wtt", ps_int_mul, ps_float_mul, NULL, 0},
    {"fma", decode_lanes, "tttt", NULL, ps_float_fma, NULL, 0},
    {"mul24", decode_lanes, "ttt", ps_int_mul24, NULL, NULL, 0},
    {"mad24", decode_lanes, "tttt", ps_int_mad24, NULL, NULL, 0},
    {"sad", decode_lanes, "tttt", ps_int_sad, NULL, NULL, 0},
    {"div", decode_lanes, "ttt", ps_int_div, ps_float_div, NULL, 0},
    {"rem", decode_lanes, "ttt", ps_int_rem, NULL, NULL, 0},
    {"abs", decode_lanes, "tt", ps_int_abs, ps_float_abs, NULL, 0},
    {"neg", decode_lanes, "tt", ps_int_neg, ps_float_neg, NULL, 0},
    {"min", decode_lanes, "tttT", ps_int_min, ps_float_min, NULL, 0},
    {"max", decode_lanes, "tttT", ps_int_max, ps_float_max, NULL, 0},
    {"popc", decode_lanes, "ut", ps_int_popc, NULL, NULL, 0},
    {"clz", decode_lanes, "ut", ps_int_clz, NULL, NULL, 0},
    {"bfind", decode_lanes, "ut", ps_int_bfind, NULL, NULL, 0},
    {"brev", decode_lanes, "tt", ps_int_brev, NULL, NULL, 0},
    {"bfe", decode_lanes, "ttuu", ps_int_bfe, NULL, NULL, 0},
    {"bfi", decode_lanes, "tttuu", ps_int_bfi, NULL, NULL, 0},
    {"bmsk", decode_lanes, "tuu", ps_int_bmsk, NULL, NULL, 0},
    {"szext", decode_lanes, "ttu", ps_int_szext, NULL, NULL, 0},
    {"fns", decode_lanes, "tuuu", ps_int_fns, NULL, NULL, 0},
    {"dp4a", decode_dot, NULL, ps_int_dp4a, NULL, NULL, 0},
    {"dp2a", decode_dot, NULL, ps_int_dp2a, NULL, NULL, 0},
    {"prmt", decode_prmt, NULL, NULL, NULL, NULL, 0},
    {"lop3", decode_lop3, NULL, NULL, NULL, NULL, 0},
    {"shf", decode_lanes, "tttu", ps_int_shf, NULL, NULL, 0},
    {"shl", decode_lanes, "ttu", ps_int_shl, NULL, NULL, 0},
    {"shr", decode_lanes, "ttu", ps_int_shr, NULL, NULL, 0},
    {"and", decode_lanes, "ttt", ps_int_and, NULL, NULL, 0},
    {"or", decode_lanes, "ttt", ps_int_or, NULL, NULL, 0},
    {"xor", decode_lanes, "ttt", ps_int_xor, NULL, NULL, 0},
    {"not", decode_lanes, "tt", ps_int_not, NULL, NULL, 0},
    {"cnot", decode_lanes, "tt", ps_int_cnot, NULL, NULL, 0},
    {"selp", decode_lanes, "tttp", ps_int_selp, ps_int_selp, NULL, 0},
    {"slct", decode_slct, NULL, NULL, NULL, NULL, 0},
    {"sqrt", decode_lanes, "tt", NULL, ps_float_sqrt, NULL, 0},
    {"rcp", decode_lanes, "tt", NULL, ps_float_rcp, NULL, 0},
    {"rsqrt", decode_lanes, "tt", NULL, ps_float_rsqrt, NULL, 0},
    {"ex2", decode_lanes, "tt", NULL, ps_float_ex2, NULL, 0},
    {"lg2", decode_lanes, "tt", NULL, ps_float_lg2, NULL, 0},
    {"sin", decode_lanes, "tt", NULL, ps_float_sin, NULL, 0},
    {"cos", decode_lanes, "tt", NULL, ps_float_cos, NULL, 0},
    {"tanh", decode_lanes, "tt", NULL, ps_float_tanh, NULL, 0},
    {"copysign", decode_lanes, "ttt", NULL, ps_float_copysign, NULL, 0},
    {"testp", decode_testp, NULL, NULL, NULL, NULL, 0},
    {"setp", decode_setp, NULL, NULL, NULL, NULL, 0},
    {"set", decode_set, NULL, NULL, NULL, NULL, 0},
    {"mov", decode_mov, NULL, NULL, NULL, NULL, 0},
    {"cvt", decode_cvt, NULL, NULL, NULL, NULL, 0},

    {"ld", ps_decode_ld, NULL, NULL, NULL, NULL, 0},
    {"ldu", ps_decode_ld, NULL, NULL, NULL, NULL, 0},
    {"st", ps_decode_st, NULL, NULL, NULL, NULL, 0},
    {"atom", ps_decode_atom, NULL, NULL, NULL, NULL, 0},
    {"red", ps_decode_red, NULL, NULL, NULL, NULL, 0},
    {"cvta", ps_decode_cvta, NULL, NULL, NULL, NULL, 0},
    {"isspacep", ps_decode_isspacep, NULL, NULL, NULL, NULL, 0},
    {"prefetch", ps_decode_prefetch, NULL, NULL, NULL, NULL, 0},
    {"prefetchu", ps_decode_prefetch, NULL, NULL, NULL, NULL, 0},
    {"applypriority", ps_decode_prefetch, NULL, NULL, NULL, NULL, 0},
    {"discard", ps_decode_prefetch, NULL, NULL, NULL, NULL, 0},
    {"createpolicy", ps_decode_ignored, NULL, NULL, NULL, NULL, 1},
    {"mapa", ps_decode_mapa, NULL, NULL, NULL, NULL, 0},
    {"getctarank", ps_decode_getctarank, NULL, NULL, NULL, NULL, 0},

    {"bra", ps_decode_bra, NULL, NULL, NULL, NULL, 0},
    {"brx.idx", ps_decode_brx, NULL, NULL, NULL, NULL, 0},
    {"call", ps_decode_call, NULL, NULL, NULL, NULL, 0},
    {"ret", ps_decode_ret, NULL, NULL, NULL, ps_exec_ret, 0},
    {"exit", ps_decode_ret, NULL, NULL, NULL, ps_exec_exit, 0},
    {"trap", ps_decode_ret, NULL, NULL, NULL, ps_exec_trap, 0},
    {"brkpt", ps_decode_ret, NULL, NULL, NULL, ps_exec_trap, 1},
    {"bar", ps_decode_bar, NULL, NULL, NULL, NULL, 1},
    {"barrier", ps_decode_bar, NULL, NULL, NULL, NULL, 0},
    {"bar.warp.sync", ps_decode_warp_bar, NULL, NULL, NULL, NULL, 0},
    {"barrier.cluster", ps_decode_cluster_bar, NULL, NULL, NULL, NULL, 0},
    {"membar", ps_decode_fence, NULL, NULL, NULL, NULL, 0},
    {"fence", ps_decode_fence, NULL, NULL, NULL, NULL, 0},
    {"shfl.sync", ps_decode_shfl, NULL, NULL, NULL, NULL, 0},
    {"vote.sync", ps_decode_vote, NULL, NULL, NULL, NULL, 0},
    {"match", ps_decode_match, NULL, NULL, NULL, NULL, 0},
    {"activemask", ps_decode_activemask, NULL, NULL, NULL, NULL, 0},
    {"redux.sync", ps_decode_redux, NULL, NULL, NULL, NULL, 0},
    {"elect.sync", ps_decode_elect, NULL, NULL, NULL, NULL, 0},
    {"griddepcontrol", ps_decode_ignored, NULL, NULL, NULL, NULL, 0},
    {"nanosleep", ps_decode_ignored, NULL, NULL, NULL, NULL, 0},
    {"setmaxnreg", ps_decode_setmaxnreg, NULL, NULL, NULL, NULL, 0},
    {"pmevent", ps_decode_ignored, NULL, NULL, NULL, NULL, 0},

    {"ldmatrix", ps_decode_ldmatrix, NULL, NULL, NULL, NULL, 0},
    {"stmatrix", ps_decode_stmatrix, NULL, NULL, NULL, NULL, 0},
    {"movmatrix", ps_decode_movmatrix, NULL, NULL, NULL, NULL, 0},
    {"mma", ps_decode_mma, NULL, NULL, NULL, NULL, 0},

    {"cp.async", ps_decode_cp_async, NULL, NULL, NULL, NULL, 0},
    {"cp.async.commit_group", ps_decode_cp_group, NULL, NULL, NULL, ps_exec_cp_commit, 0},
    {"cp.async.wait_group", ps_decode_cp_group, NULL, NULL, NULL, ps_exec_cp_wait, 1},
    {"cp.async.wait_all", ps_decode_cp_group, NULL, NULL, NULL, ps_exec_cp_wait, 0},
    {"cp.async.mbarrier.arrive", ps_decode_cp_mbarrier, NULL, NULL, NULL, NULL, 0},
    {"mbarrier", ps_decode_mbarrier, NULL, NULL, NULL, NULL, 0},
    {"cp.async.bulk", ps_decode_cp_bulk, NULL, NULL, NULL, NULL, 0},
    {"cp.async.bulk.tensor", ps_decode_cp_tensor, NULL, NULL, NULL, NULL, 0},
    {"cp.async.bulk.commit_group", ps_decode_cp_group, NULL, NULL, NULL, ps_exec_bulk_commit, 0},
    {"cp.async.bulk.wait_group", ps_decode_cp_group, NULL, NULL, NULL, ps_exec_bulk_wait, 1},
    {"cp.async.bulk.prefetch", ps_decode_prefetch, NULL, NULL, NULL, NULL, 0},
    {"cp.async.bulk.prefetch.tensor", ps_decode_prefetch, NULL, NULL, NULL, NULL, 0},
    {"tensormap.replace", ps_decode_map_replace, NULL, NULL, NULL, NULL, 0},
    {"tensormap.cp_fenceproxy", ps_decode_map_publish, NULL, NULL, NULL, NULL, 0},
    {"fence.proxy.tensormap::generic", ps_decode_map_acquire, NULL, NULL, NULL, NULL, 0},

    {"tcgen05.alloc", ps_decode_tm_alloc, NULL, NULL, NULL, ps_exec_tm_alloc, 0},
    {"tcgen05.dealloc", ps_decode_tm_alloc, NULL, NULL, NULL, ps_exec_tm_dealloc, 1},
    {"tcgen05.relinquish_alloc_permit", ps_decode_tm_alloc, NULL, NULL, NULL, ps_exec_tm_relinquish, 2},
    {"tcgen05.ld", ps_decode_tm_ld, NULL, NULL, NULL, ps_exec_tm_ld, 0},
    {"tcgen05.st", ps_decode_tm_ld, NULL, NULL, NULL, ps_exec_tm_st, 1},
    {"tcgen05.wait::ld", ps_decode_tm_wait, NULL, NULL, NULL, ps_exec_tm_wait_ld, 0},
    {"tcgen05.wait::st", ps_decode_tm_wait, NULL, NULL, NULL, ps_exec_tm_wait_st, 0},
    {"tcgen05.cp", ps_decode_tm_cp, NULL, NULL, NULL, NULL, 0},
    {"tcgen05.shift", ps_decode_tm_shift, NULL, NULL, NULL, NULL, 0},
    {"tcgen05.mma", ps_decode_tc_mma, NULL, NULL, NULL, NULL, 0},
    {"tcgen05.commit", ps_decode_tc_commit, NULL, NULL, NULL, NULL, 0},
    {"tcgen05.fence::before_thread_sync", ps_decode_tc_fence, NULL, NULL, NULL, ps_exec_tc_before, 0},
    {"tcgen05.fence::after_thread_sync", ps_decode_tc_fence, NULL, NULL, NULL, ps_exec_tc_after, 0},

    {"wgmma.mma_async", ps_decode_wgmma, NULL, NULL, NULL, NULL, 0},
    {"wgmma.fence", ps_decode_wgmma_sync, NULL, NULL, NULL, ps_exec_wgmma_fence, 0},
    {"wgmma.commit_group", ps_decode_wgmma_sync, NULL, NULL, NULL, ps_exec_wgmma_commit, 0},
    {"wgmma.wait_group", ps_decode_wgmma_sync, NULL, NULL, NULL, ps_exec_wgmma_wait, 1},
};

static const ps_opcode *find_opcode(const char *opcode)
{
    const ps_opcode *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        size_t length = strlen(opcodes[i].name);
        if (length > best_length && strncmp(opcode, opcodes[i].name, length) == 0
            && (opcode[length] == '.' || opcode[length] == '\0')) {
            best = &opcodes[i];
            best_length = length;
        }
    }
    return best;
}

static bool split_modifiers(ps_decoder *d, const char *rest)
{
    while (*rest == '.') {
        size_t length = strcspn(++rest, ".");
        if (d->count == PS_MAX_MODIFIERS || length >= sizeof d->modifiers[0])
            return false;
        memcpy(d->modifiers[d->count], rest, length);
        d->modifiers[d->count++][length] = '\0';
        rest += length;
    }
    return *rest == '\0';
}

bool ps_decode(ps_module *m, ps_insn *in, const char *opcode, char *error, size_t error_size)
{
    ps_decoder d = {.m = m, .in = in, .opcode = opcode, .narrow = PS_NO_TYPE, .error = error, .error_size = error_size};
    error[0] = '\0';
    d.row = find_opcode(opcode);
    if (!d.row) {
        ps_decode_fail(&d, "the simulator does not know this instruction");
        return false;
    }
    if (!split_modifiers(&d, opcode + strlen(d.row->name)))
        ps_decode_fail(&d, "cannot be cut into modifiers");
    else
        d.row->decode(&d);
    for (unsigned i = 0; i < d.count; i++)
        if (!d.used[i])
            ps_decode_fail(&d, "the simulator does not know the modifier '.%s' here", d.modifiers[i]);
    return !error[0];
}

/* Instructions in which the lanes of a warp exchange values. PTX ISA: shfl.sync, vote.sync, match.sync, activemask,
   redux.sync, elect.sync. */
#include "tests/ptxsim/decode.h"

/* ---- decoding ---- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

void ps_decode_shfl(ps_decoder *d)
{
    static const char *const words[] = {"up", "down", "bfly", "idx", NULL};
    int mode = ps_take_one(d, words);
    d->in->mode = (uint8_t)mode;
    d->in->type = PS_B32;
    d->in->first_source = 1;
    d->in->exec = ps_exec_shfl;
    if (mode < 0 || ps_take_type(d) != PS_B32)
        ps_decode_fail(d, "wants a mode and .b32");
    ps_want_count(d, 5, 5);
    for (unsigned i = 0; i < 5; i++)
        ps_want(d, i, PS_B32, false);
}

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

void ps_decode_vote(ps_decoder *d)
{
    static const char *const words[] = {"all", "any", "uni", "ballot", NULL};
    int mode = ps_take_one(d, words);
    ps_type type = ps_take_type(d);
    d->in->mode = (uint8_t)mode;
    d->in->type = (uint8_t)type;
    d->in->first_source = 1;
    d->in->exec = ps_exec_vote;
    if (mode < 0 || type != (mode == VOTE_BALLOT ? PS_B32 : PS_PRED))
        ps_decode_fail(d, "no such vote");
    ps_want_count(d, 3, 3);
    ps_want(d, 0, type, false);
    ps_want(d, 1, PS_PRED, false);
    ps_want(d, 2, PS_B32, false);
}

void ps_decode_match(ps_decoder *d)
{
    bool all = ps_take(d, "all"), any = ps_take(d, "any");
    ps_take(d, "sync");
    ps_type type = ps_take_type(d);
    d->in->mode = all;
    d->in->type = PS_B32;
    d->in->from = (uint8_t)type;
    d->in->first_source = 1;
    d->in->exec = ps_exec_match;
    if (all == any || (type != PS_B32 && type != PS_B64))
        ps_decode_fail(d, "wants .any or .all, and .b32 or .b64");
    ps_want_count(d, 3, 3);
    ps_want(d, 0, PS_B32, false);
    ps_want(d, 1, type, false);
    ps_want(d, 2, PS_B32, false);
}

void ps_decode_activemask(ps_decoder *d)
{
    d->in->type = (uint8_t)ps_take_type(d);
    d->in->first_source = 1;
    d->in->exec = ps_exec_activemask;
    ps_want_count(d, 1, 1);
    ps_want(d, 0, PS_B32, false);
}

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };

void ps_decode_redux(ps_decoder *d)
{
    static const char *const words[] = {"add", "min", "max", "and", "or", "xor", NULL};
    int mode = ps_take_one(d, words);
    d->in->xorsign = ps_take(d, "abs");
    d->in->nan = ps_take(d, "NaN");
    ps_type type = ps_take_type(d);
    d->in->mode = (uint8_t)mode;
    d->in->type = (uint8_t)type;
    d->in->first_source = 1;
    d->in->exec = ps_exec_redux;
    bool is_float = type == PS_F32 && (mode == REDUX_MIN || mode == REDUX_MAX);
    bool is_int = (type == PS_U32 || type == PS_S32) && mode <= REDUX_MAX;
    if (mode < 0 || !(is_float || is_int || (type == PS_B32 && mode >= REDUX_AND)))
        ps_decode_fail(d, "no such reduction");
    ps_want_count(d, 3, 3);
    ps_want(d, 0, type, false);
    ps_want(d, 1, type, false);
    ps_want(d, 2, PS_B32, false);
}

void ps_decode_elect(ps_decoder *d)
{
    d->in->type = PS_B32;
    d->in->first_source = 1;
    d->in->exec = ps_exec_elect;
    ps_want_count(d, 2, 2);
    ps_want(d, 0, PS_B32, false);
    ps_want(d, 1, PS_B32, false);
    if (!d->error[0] && (!d->in->operands[0].pair || d->in->operands[0].pair->kind != PS_PREDICATE))
        ps_decode_fail(d, "the result is d|p");
}

/* ---- execution ---- */

/* Are all lanes of the masks there? The mask of an operand, which all lanes should share. */
static bool gather(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active, uint32_t *out_mask)
{
    uint64_t scratch[PS_LANES];
    const uint64_t *row = ps_source(w, in, o, active, scratch);
    bool first = true, agree = true;
    *out_mask = 0;
    PS_FOR_LANES(l, active)
    {
        agree = agree && (first || (uint32_t)row[l] == *out_mask);
        *out_mask = first ? (uint32_t)row[l] : *out_mask;
        first = false;
    }
    if (!agree) {
        uint32_t all = 0;
        PS_FOR_LANES(l, active)
        all |= (uint32_t)row[l];
        *out_mask = all; /* lanes that meet here for different exchanges: take them together */
    }
    return ps_converged(w, in, active, *out_mask);
}

ps_flow ps_exec_shfl(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[3][PS_LANES], out[PS_LANES] = {0};
    uint32_t members, valid = 0;
    if (!gather(w, in, &in->operands[4], active, &members))
        return PS_WAIT;
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch[0]);
    const uint64_t *b = ps_source(w, in, &in->operands[2], active, scratch[1]);
    const uint64_t *c = ps_source(w, in, &in->operands[3], active, scratch[2]);
    PS_FOR_LANES(l, active)
    {
        uint32_t by = (uint32_t)b[l] & 31, clamp = (uint32_t)c[l] & 31, segment = (uint32_t)c[l] >> 8 & 31;
        uint32_t least = l & segment, most = least | (clamp & ~segment);
        int32_t from = 0;
        bool inside = false;
        switch (in->mode) {
        case SHFL_UP:
            from = (int32_t)l - (int32_t)by;
            inside = from >= (int32_t)most;
            break;
        case SHFL_DOWN:
            from = (int32_t)(l + by);
            inside = from <= (int32_t)most;
            break;
        case SHFL_BFLY:
            from = (int32_t)(l ^ by);
            inside = from <= (int32_t)most;
            break;
        default:
            from = (int32_t)(least | (by & ~segment));
            inside = from <= (int32_t)most;
            break;
        }
        if (!inside)
            from = (int32_t)l;
        if (!(active >> from & 1))
            ps_report(w, in, (int)l, PTXSIM_INACTIVE_LANES, "'%s' reads lane %d, which does not take part", in->opcode,
                      (int)from);
        out[l] = a[from];
        valid |= (uint32_t)inside << l;
    }
    ps_result(w, &in->operands[0], PS_B32, active, out);
    if (in->operands[0].pair)
        ps_result_mask(w, in->operands[0].pair, active, valid);
    return PS_NEXT;
}

ps_flow ps_exec_vote(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint32_t members;
    if (!gather(w, in, &in->operands[2], active, &members))
        return PS_WAIT;
    uint32_t taking_part = active & members, holds = ps_predicate(w, in, &in->operands[1], active) & taking_part;
    uint64_t out[PS_LANES];
    bool result = false;
    switch (in->mode) {
    case VOTE_ALL: result = holds == taking_part; break;
    case VOTE_ANY: result = holds != 0; break;
    default: result = holds == 0 || holds == taking_part; break;
    }
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = in->mode == VOTE_BALLOT ? holds : result;
    ps_result(w, &in->operands[0], (ps_type)in->type, active, out);
    return PS_NEXT;
}

ps_flow ps_exec_match(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES], out[PS_LANES] = {0};
    uint32_t members;
    if (!gather(w, in, &in->operands[2], active, &members))
        return PS_WAIT;
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch);
    uint32_t taking_part = active & members;
    bool all_equal = true;
    PS_FOR_LANES(l, active)
    {
        uint32_t equal = 0;
        PS_FOR_LANES(k, taking_part)
        equal |= (uint32_t)(a[k] == a[l]) << k;
        out[l] = equal;
        all_equal = all_equal && equal == taking_part;
    }
    if (in->mode)
        for (unsigned l = 0; l < PS_LANES; l++)
            out[l] = all_equal ? taking_part : 0;
    ps_result(w, &in->operands[0], PS_B32, active, out);
    if (in->operands[0].pair)
        ps_result_mask(w, in->operands[0].pair, active, all_equal ? PS_ALL : 0);
    return PS_NEXT;
}

ps_flow ps_exec_activemask(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t out[PS_LANES];
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = active;
    ps_result(w, &in->operands[0], PS_B32, active, out);
    return PS_NEXT;
}

static uint64_t reduce(const ps_insn *in, uint64_t x, uint64_t y)
{
    bool less = in->type == PS_S32 ? (int32_t)x < (int32_t)y : x < y;
    if (in->type == PS_F32)
        return in->mode == REDUX_MIN ? bc_float_min(BC_F32, x, y, in->nan, false)
                                     : bc_float_max(BC_F32, x, y, in->nan, false);
    switch (in->mode) {
    case REDUX_ADD: return x + y;
    case REDUX_MIN: return less ? x : y;
    case REDUX_MAX: return less ? y : x;
    case REDUX_AND: return x & y;
    case REDUX_OR: return x | y;
    default: return x ^ y;
    }
}

ps_flow ps_exec_redux(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES], out[PS_LANES], result = 0;
    uint32_t members;
    bool first = true;
    if (!gather(w, in, &in->operands[2], active, &members))
        return PS_WAIT;
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch);
    PS_FOR_LANES(l, active & members)
    {
        uint64_t x = in->xorsign ? a[l] & 0x7FFFFFFF : a[l];
        result = first ? x : reduce(in, result, x);
        first = false;
    }
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = result;
    ps_result(w, &in->operands[0], (ps_type)in->type, active, out);
    return PS_NEXT;
}

ps_flow ps_exec_elect(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t out[PS_LANES];
    uint32_t members;
    if (!gather(w, in, &in->operands[1], active, &members))
        return PS_WAIT;
    unsigned leader = 0;
    while (leader < 31 && !((active & members) >> leader & 1))
        leader++;
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = leader;
    ps_result(w, &in->operands[0], PS_B32, active, out);
    ps_result_mask(w, in->operands[0].pair, active, (uint32_t)1 << leader);
    return PS_NEXT;
}

/* setmaxnreg.inc and .dec.sync.aligned.u32 registers: they are not counted here. */
void ps_decode_setmaxnreg(ps_decoder *d)
{
    bool known = (ps_take(d, "inc") || ps_take(d, "dec")) && ps_take(d, "sync") && ps_take(d, "u32");
    d->in->aligned = ps_take(d, "aligned");
    d->in->exec = ps_exec_setmaxnreg;
    ps_want_count(d, 1, 1);
    const ps_operand *o = d->error[0] ? NULL : &d->in->operands[0];
    if (!known || !d->in->aligned || !o)
        ps_decode_fail(d, "wants .inc or .dec, .sync.aligned.u32");
    else if (o->kind != PS_IMMEDIATE || o->value < 24 || o->value > 256 || o->value % 8)
        ps_decode_fail(d, "the number of registers is an immediate, a multiple of 8 from 24 to 256");
}

ps_flow ps_exec_setmaxnreg(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_check_aligned(w, in, active);
    return PS_NEXT;
}

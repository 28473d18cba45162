/* What the decoders of opcode families share: an opcode cut into its modifiers, which are ticked off as they are
   understood. A modifier that nobody took is an error. */
#ifndef TILEVM_TESTS_PTXSIM_DECODE_H
#define TILEVM_TESTS_PTXSIM_DECODE_H

#include "tests/ptxsim/sim.h"

typedef struct ps_decoder ps_decoder;
typedef void ps_decode_fn(ps_decoder *d);

/* A row of the table of opcodes. */
typedef struct ps_opcode {
    const char *name; /* "add", "cp.async.wait_group": the longest that fits counts */
    ps_decode_fn *decode;
    const char *signature; /* decode_lanes: result and sources */
    ps_lane *integer, *floating;
    ps_exec *exec;
    uint8_t mode;
} ps_opcode;

struct ps_decoder {
    ps_module *m;
    ps_insn *in;
    const ps_opcode *row;
    const char *opcode;
    char modifiers[PS_MAX_MODIFIERS][40];
    bool used[PS_MAX_MODIFIERS];
    unsigned count;
    ps_type narrow; /* of the first sources of forms with two types */
    char *error;    /* empty: none */
    size_t error_size;
};

void ps_decode_fail(ps_decoder *d, const char *format, ...) TV_PRINTF(2, 3);
/* Takes a modifier if it is there. */
bool ps_take(ps_decoder *d, const char *modifier);
/* The next modifier that is a type, or PS_NO_TYPE. */
ps_type ps_take_type(ps_decoder *d);
/* The index in words (ended by NULL) of the one that is there, or -1. */
int ps_take_one(ps_decoder *d, const char *const *words);
/* .ca, .L2::128B, .L1::no_allocate, cache operators and hints: nothing that changes what is computed. */
void ps_take_cache(ps_decoder *d);
/* .weak, .relaxed, ... and the scope. */
void ps_take_order(ps_decoder *d);
/* .global, .shared::cta, ...; generic where there is none. */
ps_space ps_take_space(ps_decoder *d);
void ps_take_rounding(ps_decoder *d);
/* Checks that operand `index` is a register of the type, or something that can stand for it. relaxed:
   it may be wider. */
void ps_want(ps_decoder *d, unsigned index, ps_type type, bool relaxed);
void ps_want_address(ps_decoder *d, unsigned index);
void ps_want_count(ps_decoder *d, unsigned least, unsigned most);
/* An operand that is `count` registers of a type: a vector, or one register when count is 1. */
void ps_want_vector(ps_decoder *d, unsigned index, unsigned count, ps_type type, bool relaxed);
/* The cache policy, which comes behind `count` operands, if it is there. */
void ps_drop_policy(ps_decoder *d, unsigned count);
/* Notes the size of an access to shared or global memory (bytes, a power of two). */
void ps_note_access(ps_decoder *d, ps_space space, unsigned bytes);

/* decode_memory.c, decode_sync.c, decode_mma.c: the families. */
ps_decode_fn ps_decode_ld, ps_decode_st, ps_decode_atom, ps_decode_red, ps_decode_cvta, ps_decode_isspacep,
    ps_decode_prefetch, ps_decode_cp_async, ps_decode_cp_group, ps_decode_cp_mbarrier, ps_decode_cp_bulk,
    ps_decode_mapa, ps_decode_getctarank, ps_decode_map_replace, ps_decode_map_publish, ps_decode_map_acquire,
    ps_decode_cp_tensor;
ps_decode_fn ps_decode_bra, ps_decode_brx, ps_decode_call, ps_decode_ret, ps_decode_bar, ps_decode_warp_bar,
    ps_decode_cluster_bar, ps_decode_fence, ps_decode_shfl, ps_decode_vote, ps_decode_match, ps_decode_activemask,
    ps_decode_redux, ps_decode_elect, ps_decode_mbarrier, ps_decode_ignored, ps_decode_setmaxnreg;
ps_decode_fn ps_decode_ldmatrix, ps_decode_stmatrix, ps_decode_movmatrix, ps_decode_mma, ps_decode_wgmma,
    ps_decode_wgmma_sync;
ps_decode_fn ps_decode_tm_alloc, ps_decode_tm_ld, ps_decode_tm_wait, ps_decode_tm_cp, ps_decode_tm_shift,
    ps_decode_tc_mma, ps_decode_tc_commit, ps_decode_tc_fence;

#endif

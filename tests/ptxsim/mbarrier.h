/* mbarriers, for operations that arrive at them when they complete. */
#ifndef TILEVM_TESTS_PTXSIM_MBARRIER_H
#define TILEVM_TESTS_PTXSIM_MBARRIER_H

#include "tests/ptxsim/decode.h"

/* Operand `index` is the address of an mbarrier. */
void ps_want_mbarrier(ps_decoder *d, unsigned index);

/* The initialised mbarrier at a shared offset of a block; NULL: there is none. */
ps_mbarrier *ps_mbarrier_find(ps_block *block, uint32_t offset);
/* The one at an address, or NULL after a report. */
ps_mbarrier *ps_mbarrier_at(ps_warp *w, const ps_insn *in, unsigned lane, ps_space space, uint64_t address);
/* `count` arrivals that publish what is known in `times` (NULL: what w knows now). Ends the phase when nothing is
   missing. */
void ps_mbarrier_arrive(ps_warp *w, const ps_insn *in, unsigned lane, ps_mbarrier *b, uint64_t count,
                        const uint32_t *times);

#endif

/* Tensor memory of a multiprocessor, 128 lanes of 512 words, as far as the blocks of one kernel share it: who may touch
   which columns, and in what order. PTX ISA, "Tensor Memory", "Memory Consistency Model of tcgen05".

   Two kinds of accesses: those of a warp (ld, st), which are done when it has waited for them, and those of the tensor
   core (mma, cp, shift), which are done when a commit behind them has arrived at its mbarrier. Another warp may rely on
   what a warp has done if it is ordered by tcgen05.fence::before_thread_sync of the first and
   tcgen05.fence::after_thread_sync of the second. So the vectors of times have three parts in a module with tensor
   memory, each with an entry per warp: its time, its time at its last fence, and its commits that have arrived. */
#ifndef TILEVM_TESTS_PTXSIM_TMEM_H
#define TILEVM_TESTS_PTXSIM_TMEM_H

#include "tests/ptxsim/decode.h"

enum { PS_TM_LANES = 128, PS_TM_COLUMNS = 512, PS_TM_UNIT = 32, PS_TM_ROW = 16, PS_TM_ROWS = PS_TM_LANES / PS_TM_ROW };

/* The last accesses to 16 lanes of a column. */
typedef struct ps_tm_cell {
    uint32_t write_time, write_commit, write_pc;
    uint32_t read_time, core_read_time, core_read_commit;
    uint16_t writer, reader, core_reader; /* warps of the cluster */
    uint8_t state;                        /* PS_TM_WRITTEN, ... */
} ps_tm_cell;

typedef struct ps_tmem {
    uint32_t words[PS_TM_LANES][PS_TM_COLUMNS];
    ps_tm_cell cells[PS_TM_ROWS][PS_TM_COLUMNS];
    uint16_t used;                /* units of 32 columns that are allocated */
    uint16_t left;                /* those that the other block of the pair has deallocated already */
    uint16_t handed[2][16];       /* what the pair has allocated here and this block has not requested: unit, units */
    uint32_t handed_count, given; /* allocations so far */
    uint8_t group;                /* cta_group of all instructions; 0: none yet */
    bool relinquished;
} ps_tmem;

/* A range of tensor memory of a block. */
typedef struct ps_tm_range {
    ps_block *block;
    unsigned lane, lanes, column, columns;
} ps_tm_range;

typedef struct ps_tm_load {
    const ps_insn *in;
    ps_tm_range range; /* of 16x32bx2: its first half */
} ps_tm_load;

/* A product, copy or shift that no arrived commit covers. */
typedef struct ps_core_op {
    const ps_insn *in;
    uint32_t commit; /* the one that will cover it */
    uint32_t crc;    /* of the bytes of shared memory that it reads */
    unsigned group;
    uint64_t a, b; /* descriptors */
    uint32_t instruction;
} ps_core_op;

/* The unfinished accesses of a warp. */
typedef struct ps_tcgen {
    uint32_t commits;
    ps_core_op *ops;
    size_t op_count, op_size;
    ps_tm_load *loads; /* that no wait::ld covers */
    size_t load_count, load_size;
    ps_tm_range *stores;
    size_t store_count, store_size;
} ps_tcgen;

/* The first number of the active lanes; reports where they differ. */
uint64_t ps_uniform(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active);

ps_tcgen *ps_tcgen_of(ps_warp *w);
ps_tmem *ps_tmem_of(ps_block *block);

/* Takes .cta_group::1 or ::2 into in->vector. */
void ps_take_cta_group(ps_decoder *d);
/* The instruction's cta_group must be that of the others. Returns the blocks that it affects: this one, or the pair.
   False: there is no pair. */
bool ps_tm_group(ps_warp *w, const ps_insn *in, ps_block *blocks[2]);
/* Those blocks, without a check. */
bool ps_tm_blocks(ps_block *block, unsigned group, ps_block *blocks[2]);

enum { PS_TM_PLAIN = 64 }; /* an access that barriers order without fences: deallocation */

/* Checks that the columns are allocated, and the order; notes the access. core: of the tensor core. False: outside. */
bool ps_tm_touch(ps_warp *w, const ps_insn *in, const ps_tm_range *range, unsigned access, bool core);
/* The stores and loads of the warp are complete now. */
void ps_tm_stored(ps_warp *w, const ps_tm_range *range);
void ps_tm_loaded(ps_warp *w, const ps_tm_range *range);

/* A range from an address in tensor memory on. */
ps_tm_range ps_tm_at(ps_block *block, uint32_t address, unsigned lanes, unsigned columns);

/* An operation of the tensor core has been issued. */
void ps_core_issue(ps_warp *w, const ps_core_op *op);

#endif

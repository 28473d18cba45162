/* Sizes of tensor memory and of what tcgen05 multiplies. Source: PTX ISA, "TensorCore 5th Generation Family
   Instructions". */
#ifndef TILEVM_CODEGEN_ANALYSIS_TENSOR_MEMORY_H
#define TILEVM_CODEGEN_ANALYSIS_TENSOR_MEMORY_H

enum {
    CG_TENSOR_COLUMNS = 512,        /* of tensor memory */
    CG_TENSOR_LEAST_COLUMNS = 32,   /* of an allocation, which has a power of two */
    CG_TENSOR_ROW_BITS = 7,         /* log2 of the rows that an instruction multiplies, unless they are 64 */
    CG_GROUP_ROW_BITS = 3,          /* log2 of the rows of an operand between which a descriptor has a stride */
    CG_TENSOR_COLUMN_BITS = 8,      /* log2 of its columns, at most */
    CG_PAIR_BLOCKS = 2,             /* thread blocks that multiply together */
    CG_TENSOR_BYTES = 16,           /* shared memory of the kernel: a barrier, and the address of the allocation; */
    CG_PAIR_BYTES = 32,             /* the same in a pair of thread blocks: two barriers behind them; */
    CG_TENSOR_FLIGHT_BYTES = 16,    /* behind those, of products in flight without groups: two barriers; */
    CG_TENSOR_TURN_BYTES = 48,      /* of sums in turn: four barriers and two flags; */
    CG_TENSOR_TILE_BYTES = 48,      /* of a tile of a chain that has an issuer of its own: six barriers */
    CG_TENSOR_TILES = 2,            /* such tiles, at most: one for each of the warpgroups of consumers */
    CG_TENSOR_TURNS_OF_FACTORS = 2, /* places for the factors of rows, which consumers fill in turn */
    CG_TENSOR_FACTOR_BYTES = 4
};

#endif

/* The cost model: what the ops of a compiled kernel take of a multiprocessor, and how long that is. It explains
   (remarks LoopCost and KernelCost); what tiles take of the registers also decides, how many elements a thread has at
   once and how many blocks of a hint share a multiprocessor. Figures: codegen/cost/cost.def; what it predicts beside
   what was measured: `make bench-model`. */
#ifndef TILEVM_CODEGEN_COST_COST_H
#define TILEVM_CODEGEN_COST_COST_H

#include "codegen/analysis/product.h"
#include "codegen/kernel/kernel.h"

/* What a multiprocessor has to share. */
typedef enum cg_resource {
    CG_TENSOR_CORES,
    CG_SHARED_MEMORY,
    CG_ISSUE,   /* of instructions */
    CG_HALF,    /* those that run at half the rate */
    CG_SPECIAL, /* functions */
    CG_L2,
    CG_DRAM,
    CG_ATOMICS,
    CG_RESOURCES
} cg_resource;

/* The figures of a GPU. */
typedef enum cg_gpu { CG_ANY_GPU, CG_A100, CG_H100, CG_H200 } cg_gpu;

typedef struct cg_machine {
    const char *name;
    bool has_wgmma;
#define FIGURE(name, a100, h100, h200, source) double name;
#include "codegen/cost/cost.def"
} cg_machine;

/* The GPU that decisions are made for. */
const cg_machine *cg_machine_of(const cg_target *target);
/* The one that is predicted; CG_ANY_GPU: the same. */
const cg_machine *cg_machine_named(const cg_target *target, cg_gpu gpu);

/* What an op takes of a thread block, and how long after it has begun its result is there besides. */
typedef struct cg_work {
    double cycles[CG_RESOURCES];
    double latency;
} cg_work;

/* Multiplications of a product over what wgmma does of them in a cycle, by the bytes of its elements. */
double cg_wgmma_cycles(const cg_target *target, const ct_op *product);
/* Of ops without regions. Copies count where their tile is read (`staged`). */
cg_work cg_work_of(cg_func *c, const cg_machine *machine, const ct_op *op);
/* Adds what the instructions that move a tile in that layout take, copies with them (codegen/cost/access.c). */
void cg_add_accesses(cg_func *c, const cg_machine *m, const ct_op *op, const bc_type *tile, const cg_layout *layout,
                     cg_work *w);
/* Bytes of global memory that the op moves; 0: none. *out_memory: where, a view or pointers. */
double cg_bytes_moved(const ct_op *op, const ct_value **out_memory);
/* 32-bit registers of a thread that hold tiles where most of them are needed. False: out of memory. */
bool cg_registers_held(cg_func *c, uint32_t *out_registers);
/* The same before there are layouts: bits of tiles of all threads together, in the order of the ops. False: out of
   memory. */
bool cg_bits_held(cg_func *c, uint64_t *out_bits);

/* Blocks on a multiprocessor that the occupancy hint asks for, or as many fewer that a thread has the registers that
   its tiles take, and some besides: what one does not have is spilled, which costs more than the blocks hide. 0: no
   hint, or none is left of it. held: as above. */
uint32_t cg_blocks_hinted(const cg_func *c, uint32_t held);

/* What is known of a launch. */
typedef struct cg_launch {
    const int64_t *params; /* integers by position, */
    size_t param_count;    /* of as many; others are not known */
    int64_t grid[3];       /* tile blocks; 0: not known */
    int64_t block[3];      /* the one that is looked at */
    cg_gpu gpu;            /* on which */
} cg_launch;

/* A loop around what is looked at, and what its counter is taken to be. */
typedef struct cg_trip {
    const struct cg_trip *outer;
    const ct_op *loop;
    int64_t counter;
} cg_trip;

/* Instructions that a map takes for an element. */
uint32_t cg_instructions_of(const ct_op *op);

/* The integer that a scalar has in that block (codegen/cost/known.c). */
bool cg_known(const cg_launch *launch, const cg_trip *trip, const ct_value *v, int64_t *out);
/* Bytes of the tensor or array behind the memory of an access. */
bool cg_known_bytes(const cg_launch *launch, const ct_value *memory, double *out);

enum { CG_UNKNOWN_ITERATIONS = 16 };

/* Is the tile of pointers or integers computed from scalars and indices, and not loaded? */
bool cg_is_of_indices(const ct_value *v);
/* Of the tiles that all blocks reach with the access, how many are different ones; 1: not known. */
double cg_part_of_tiles(cg_func *c, const cg_launch *launch, const ct_op *op);

/* What is predicted of a loop. */
typedef struct cg_loop_cost {
    const ct_op *loop;
    uint32_t stages, in_flight;  /* of its rings: the most slots, bytes that are on their way */
    double cycles[CG_RESOURCES]; /* of an iteration of a thread block */
    double alone;                /* how long one takes in a block that has the multiprocessor for itself */
    double iterations;           /* of a block on the average; below 0: not known */
    double taken;                /* cycles of an iteration of all blocks of the multiprocessor */
    const char *bound;
} cg_loop_cost;

typedef struct cg_kernel_cost {
    const cg_machine *machine;
    uint32_t threads, registers, shared, blocks; /* of a thread, at most; of a block; on a multiprocessor */
    cg_loop_cost *loops;
    uint32_t loop_count;
    double us;     /* of a launch; below 0: the grid or the iterations of a loop are not known */
    double cycles; /* of the multiprocessor for one of the blocks that share it; a loop whose iterations are not known
                      has CG_UNKNOWN_ITERATIONS */
    const char *bound;
} cg_kernel_cost;

/* shared_bytes: of a block. NULL: out of memory, or nothing is known of the target. */
cg_kernel_cost *cg_predict(cg_func *c, const cg_launch *launch, uint32_t shared_bytes);

#endif

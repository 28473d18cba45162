/* The cost model: how much of a multiprocessor's resources the ops of a compiled kernel use, and how long they take.
   It serves explanations (remarks LoopCost and KernelCost). The registers that tiles use also decide how many
   elements a thread holds at once, and how many of the hinted blocks share a multiprocessor. Figures are in
   codegen/cost/cost.def; `make bench-model` compares predictions with measurements. */
#ifndef TILEVM_CODEGEN_COST_COST_H
#define TILEVM_CODEGEN_COST_COST_H

#include "codegen/analysis/product.h"
#include "codegen/kernel/kernel.h"

/* The resources of a multiprocessor. */
typedef enum cg_resource {
    CG_TENSOR_CORES,
    CG_SHARED_MEMORY,
    CG_ISSUE,   /* of instructions */
    CG_HALF,    /* instructions that run at half the rate */
    CG_SPECIAL, /* functions */
    CG_L2,
    CG_DRAM,
    CG_ATOMICS,
    CG_RESOURCES
} cg_resource;

/* The figures of a GPU. */
typedef enum cg_gpu {
    CG_ANY_GPU,
#define COLUMN(id, ...) CG_GPU_##id,
#define GPU(id, ...) CG_GPU_##id,
#include "codegen/cost/gpus.def"
} cg_gpu;

typedef struct cg_machine {
    const char *name;
    bool has_async;
    bool measured;        /* false: figures of a similar GPU, and public data (codegen/cost/gpus.def) */
    double tensor_factor; /* the rate of its tensor cores in that of the table */
#define FIGURE(name, a100, h100, h200, source) double name;
#include "codegen/cost/cost.def"
} cg_machine;

/* The GPU that decisions are made for: a column of cost.def. */
cg_gpu cg_gpu_of(const cg_target *target);
const cg_machine *cg_machine_of(const cg_target *target);
/* The GPU that predictions are made for; CG_ANY_GPU: the usual one of the target. */
void cg_machine_for(const cg_target *target, cg_gpu gpu, cg_machine *out);

/* The resources that an op uses for a thread block, and its latency: how much later than that its result is
   available. */
typedef struct cg_work {
    double cycles[CG_RESOURCES];
    double latency;
} cg_work;

/* Cycles of an asynchronous product: its multiplications divided by the rate for elements of that size. */
double cg_async_cycles(const cg_func *c, const ct_op *product);
/* The same for a product by mma.sync on the usual GPU of the target. */
double cg_mma_cycles(const cg_func *c, const ct_op *product);
/* Does wgmma take the left operand of the product from registers of consumers, which compute it from tiles in slots? */
bool cg_computes_left(const cg_func *c, const ct_op *product);
/* The work of an op without regions. Copies are counted where their tile is read (`staged`). */
cg_work cg_work_of(cg_func *c, const cg_machine *machine, const ct_op *op);
/* Adds the cost of the instructions that move a tile in that layout, including copies (codegen/cost/access.c). */
void cg_add_accesses(cg_func *c, const cg_machine *m, const ct_op *op, const bc_type *tile, const cg_layout *layout,
                     cg_work *w);
/* The bytes of a lane in the longest access of the op to a tile in that layout. */
uint32_t cg_access_bytes(cg_func *c, const ct_op *op, const bc_type *tile, const cg_layout *layout);
/* Bytes of global memory that the op moves; 0: none. *out_memory: the view or pointers that it accesses. */
double cg_bytes_moved(const ct_op *op, const ct_value **out_memory);
/* The bytes that go through shared memory in the time in which threads wait at so many barriers: a smaller tile may be
   moved as if its bytes cost nothing. */
uint32_t cg_bytes_in_barriers(const cg_func *c, uint32_t barriers);
/* Floating-point operations of the op, as `tilevm run --stats` counts them: two for each multiply-add, and one for
   each element that is computed or summed. */
double cg_flops_of(cg_func *c, const ct_op *op);
/* The peak rate of the tensor cores of all multiprocessors for products of such operands, in operations per second,
   two per multiply-add; 0: they have no instruction for it. */
double cg_flops_peak(cg_func *c, const cg_machine *machine, const ct_op *product);
/* The largest number of 32-bit registers of a thread that hold tiles at any op. False: out of memory. */
bool cg_registers_held(cg_func *c, uint32_t *out_registers);
/* Are pointers among them, of which a loop needs several for the accesses of a thread? */
bool cg_keeps_addresses(cg_func *c);
/* The same; also calls the function for each op, from the last one to the first, with the registers that hold tiles
   while the op executes. */
typedef void cg_held_fn(void *user, const ct_op *op, uint32_t registers);
bool cg_registers_along(cg_func *c, cg_held_fn *tell, void *user, uint32_t *out_most);
/* The same before layouts exist: the bits of tiles in all threads together, in the order of the ops. False: out of
   memory. */
bool cg_bits_held(cg_func *c, uint64_t *out_bits);

/* Do the tiles of some loop take at least half of a multiprocessor's registers? */
bool cg_block_is_alone(cg_func *c);
/* The registers that ptxas needs for a thread whose tiles take `held`: it also has addresses, indices and, beside
   products, operands on their way. */
uint32_t cg_registers_wanted(const cg_func *c, uint32_t held);
/* And beside those, for a tile that is accessed through pointers under a mask: ptxas keeps an index or a mask for each
   of a thread's accesses. */
uint32_t cg_registers_of_masked(cg_func *c);
/* How many times as many registers as there are a thread may want before one block with all registers multiplies
   faster than two that spill. Nothing else is done while a single block waits. */
static inline double cg_worth_spilling(const cg_machine *m)
{
    enum { PARTS = 2 };
    return 1 + PARTS / m->registers_saved;
}

/* Blocks on a multiprocessor: as many as the occupancy hint asks for, or fewer, so that a thread has so many
   registers. Missing registers are spilled, which costs more than a third block can hide, and sometimes more than a
   second one can. 0: no hint, or it cannot be followed. */
uint32_t cg_blocks_hinted(const cg_func *c, uint32_t wanted);

/* The known facts about a launch. */
typedef struct cg_launch {
    const int64_t *params; /* the integer arguments by position */
    size_t param_count;    /* the number of params; other arguments are not known */
    int64_t grid[3];       /* tile blocks; 0: not known */
    int64_t block[3];      /* the tile block that is examined */
    bool is_small;         /* has it at most as many thread blocks as the GPU has multiprocessors? */
    cg_gpu gpu;            /* the GPU of the launch */
} cg_launch;

/* A loop around the examined op, and the assumed value of its counter. */
typedef struct cg_trip {
    const struct cg_trip *outer;
    const ct_op *loop;
    int64_t counter;
} cg_trip;

/* Instructions of an element-wise op (a map) per element. */
uint32_t cg_instructions_of(const ct_op *op);

/* The integer value of a scalar in that block (codegen/cost/known.c). */
bool cg_known(const cg_launch *launch, const cg_trip *trip, const ct_value *v, int64_t *out);
/* The iterations of a `for`; negative: not known. *out_middle: the value of its counter halfway. */
double cg_launch_iterations(const cg_launch *launch, const cg_trip *trip, const ct_op *loop, int64_t *out_middle);
/* Bytes of the tensor or array behind the memory of an access. */
bool cg_known_bytes(const cg_launch *launch, const ct_value *memory, double *out);

enum { CG_UNKNOWN_ITERATIONS = 16 };

/* Is the tile of pointers or integers computed from scalars and indices, and not loaded? */
bool cg_is_of_indices(const ct_value *v);
/* The part of the tiles reached by all blocks with the access that are distinct; 1: not known. */
double cg_part_of_tiles(cg_func *c, const cg_launch *launch, const ct_op *op);

/* The prediction for a loop. */
typedef struct cg_loop_cost {
    const ct_op *loop;
    uint32_t stages, in_flight;  /* of its rings: the largest number of slots, bytes in flight */
    double cycles[CG_RESOURCES]; /* of an iteration of a thread block */
    double alone;                /* cycles of an iteration in a block that runs alone on a multiprocessor */
    double iterations;           /* of a block, on average; negative: not known */
    double taken;                /* cycles of one iteration of all blocks on the multiprocessor */
    const char *bound;
} cg_loop_cost;

typedef struct cg_kernel_cost {
    const cg_machine *machine;
    uint32_t threads, registers, shared, blocks; /* of a thread, at most; of a block; on a multiprocessor */
    uint32_t shares;                             /* blocks, or slices of them, on a multiprocessor */
    uint32_t wanted;                             /* registers of a thread with which no loop with products spills
                                                    any; 0: there is none */
    cg_loop_cost *loops;
    uint32_t loop_count;
    double us;     /* of a launch; negative: the grid or the iterations of a loop are not known */
    double cycles; /* of the multiprocessor for one of the blocks that share it; a loop with an unknown number of
                      iterations counts CG_UNKNOWN_ITERATIONS */
    double busy;   /* if the grid is not known: the part of it for which the busiest resource works */
    const char *bound;
} cg_kernel_cost;

/* Finds the registers, threads, blocks and shares of a kernel of which so many registers of a thread hold tiles.
   k->machine and k->shared are known. */
void cg_fit(cg_func *c, cg_kernel_cost *k, uint32_t held);
/* Predicts the kernel, for its launch if there is one. NULL: out of memory, or the target has no figures. */
cg_kernel_cost *cg_predict(cg_func *c);

#endif

/* When tile blocks run by batches: the policy, by the size of the grid and of the tiles. */
#include "vm/batches.h"

#include "vm/compile/compile.h"
#include "vm/compile/widen.h"

/* Elements of the largest tile of a batch: enough that the cost of starting an op does not matter, and few enough
   that the tiles of a batch stay in the cache. Fewer blocks at once, or in all, are not worth compiling for. */
enum { BATCH_ELEMENTS = 8192, LEAST_AT_ONCE = 4, LEAST_BLOCKS = 64, MOST_ELEMENTS = 1 << 20 };

/* Is nothing observed per block? Traces, checks, figures by op, exact limits and orders are. */
static bool may_batch(const tv_vm_options *o)
{
    return o->batch != TV_BATCH_OFF && !o->trace && !o->checks && !o->profile && !o->step_limit && !o->order_seed;
}

static uint32_t blocks_at_once(const tv_vm *vm, const vm_code *single, const uint32_t grid[3], unsigned axis)
{
    uint32_t tile = vm_largest_tile(single->function), most = BATCH_ELEMENTS / tile, count = 1;
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    if (vm->options.batch == TV_BATCH_ALWAYS)
        most = tile > MOST_ELEMENTS ? 1 : most < LEAST_AT_ONCE ? LEAST_AT_ONCE : most;
    else if (blocks < LEAST_BLOCKS || most < LEAST_AT_ONCE || grid[axis] < LEAST_AT_ONCE)
        return 1;
    while (2 * count <= most && 2 * count <= grid[axis])
        count *= 2;
    return count;
}

void vm_batches_release(vm_batches *b)
{
    if (b->made) {
        bc_arena_release(&b->code.arena);
        bc_arena_release(&b->arena);
    }
    b->made = false;
}

const vm_code *vm_batches_for(const tv_vm *vm, vm_batches *b, const vm_code *single, const uint32_t grid[3])
{
    unsigned axis = grid[0] > 1 ? 0 : grid[1] > 1 ? 1 : 2; /* along which blocks follow each other in their order */
    uint32_t count = may_batch(&vm->options) && !b->refused[axis] ? blocks_at_once(vm, single, grid, axis) : 1;
    if (count == 1)
        return NULL;
    if (b->made && b->code.batch == count && b->code.batch_axis == axis)
        return &b->code;
    vm_batches_release(b);
    bc_arena_init(&b->arena, &vm->allocator, vm->memory_limit);
    b->made = vm_compile_batch(vm, single, axis, count, &b->arena, &b->code);
    b->refused[axis] = !b->made;
    if (!b->made)
        bc_arena_release(&b->arena);
    return b->made ? &b->code : NULL;
}

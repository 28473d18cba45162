/* Counts work: how often each op runs, times what one run does. */
#include "tools/tilevm/bench/work.h"

#include <math.h>
#include <string.h>

#include "bytecode/flops.h"

enum { MOST_BLOCKS = 256 }; /* that are looked at one by one */

typedef struct counter {
    const bc_function *f;
    const arg_set *set;
    const uint32_t *grid;
    const arg_study *study; /* of all tile blocks */
    const double *times;    /* by op index */
    double *read, *written; /* by slot: bytes that are moved through it */
    bench_work *out;
} counter;

/* ---- once ---- */

/* Bytes that the access moves, and the operand with the address. */
static double access_bytes(const bc_op *op, const bc_value **out_memory)
{
    const bc_op_info *info = bc_info(op);
    const bc_value *memory = info->address ? bc_operand(op, info->address) : NULL;
    if (!memory || !bc_op_in(op->opcode, BC_OPS(ACCESS)))
        return 0;
    const bc_type *type = memory->type;
    unsigned bytes = bc_kind_memory_bytes((bc_kind)type->elem->elem->kind); /* of a pointer, or of a view's tensor */
    *out_memory = memory;
    return (double)bc_shape_elems(type->shape, type->rank) * (bytes ? bytes : 0.5);
}

static void add_arithmetic(const counter *c, const bc_op *op, double times)
{
    bc_kind kind = BC_KIND_COUNT;
    uint64_t products = bc_product_ops(op, &kind), flops = products ? 0 : bc_flops(op);
    if (products)
        c->out->products[kind] += times * (double)products;
    if (flops)
        c->out->plain[bc_elem_kind(bc_results(op)->type)] += times * (double)flops;
}

static void add_access(const counter *c, const bc_op *op, double times)
{
    const bc_value *memory = NULL;
    uint8_t effects = bc_info(op)->effects;
    double bytes = access_bytes(op, &memory) * times;
    if (!memory)
        return;
    uint32_t root = c->study->ranges[memory->id].root;
    unsigned ways = (effects & BC_READS ? 1u : 0) + (effects & BC_WRITES ? 1u : 0);
    c->out->accessed += ways * bytes;
    if (root > c->study->count)
        return; /* an alloca */
    c->read[root] += effects & BC_READS ? bytes : 0;
    c->written[root] += effects & BC_WRITES ? bytes : 0;
}

/* ---- each byte once ---- */

/* Bytes of the elements that may be touched through a slot, of all arrays behind it. */
static double reachable(const counter *c, size_t slot)
{
    const arg_demand *d = &c->study->demands[slot];
    double all = 0;
    const arg_value *value = NULL;
    for (size_t i = 0; i < c->set->count && !value; i++)
        if (slot >= c->set->values[i].leaf->first_slot
            && slot < c->set->values[i].leaf->first_slot + c->set->values[i].leaf->slot_count)
            value = &c->set->values[i];
    for (size_t k = 0; value && k < value->array_count; k++)
        all += (double)value->arrays[k].count * value->arrays[k].item;
    if (!value || value->array_count != 1 || d->bytes_open)
        return all;
    double box = value->arrays[0].item;
    for (uint32_t i = 0; i < d->ndim; i++) {
        bool limited = !d->open[i] && d->reach[i] > 0 && (d->size[i] < 0 || d->reach[i] < d->size[i]);
        double extent = limited ? (double)d->reach[i] : (double)d->size[i];
        box *= d->size[i] < 0 && !limited ? INFINITY : extent;
    }
    double touched = d->ndim && !d->sliced ? box : (double)d->bytes;
    return touched > 0 && touched < all ? touched : all;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void count_all(const counter *c)
{
    uint32_t index = 0;
    for (const bc_op *op = c->f->body->first; op; op = bc_next_op(op, c->f->body), index++) {
        const bc_op *around = op->block->parent;
        if (around && bc_op_in(around->opcode, BC_OPS(FOLD)))
            continue; /* the reduction counts for its body */
        add_arithmetic(c, op, c->times[index]);
        add_access(c, op, c->times[index]);
    }
    for (size_t root = 0; root <= c->study->count; root++) {
        double room = root ? reachable(c, root - 1) : INFINITY;
        c->out->read += least(c->read[root], room);
        c->out->written += least(c->written[root], room);
    }
}

/* ---- how often ---- */

/* How often an op in a region of `around`, which runs `outer` times, runs; follows from the ranges of the block in
   question. */
static double times_inside(const arg_study *study, const bc_op *around, const bc_block *region, double outer,
                           bench_work *out)
{
    if (bc_is_loop(around->opcode)) {
        double rounds = arg_study_rounds(study, around);
        if (rounds < 0 && !out->unknown)
            out->unknown = around;
        return outer * (rounds < 0 ? 1 : rounds);
    }
    if (around->opcode != OP_if)
        return outer;
    const arg_range *condition = &study->ranges[bc_operands(around)[0]->id];
    if (arg_range_is_number(condition))
        return (condition->low != 0) == (bc_regions(around)[0] == region) ? outer : 0;
    if (!out->at_most)
        out->at_most = around;
    return outer;
}

static uint32_t index_of_parent(const bc_op *const *ops, uint32_t index)
{
    const bc_op *parent = ops[index]->block->parent;
    while (ops[index] != parent)
        index--;
    return index;
}

/* Adds what one tile block does, `weight` times. */
static void add_block(const arg_study *study, const bc_op *const *ops, uint32_t count, double weight, double *here,
                      double *times, bench_work *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const bc_op *parent = ops[i]->block->parent;
        here[i] = 1;
        if (parent)
            here[i] = times_inside(study, parent, ops[i]->block, here[index_of_parent(ops, i)], out);
        times[i] += weight * here[i];
    }
}

/* Tile blocks that are evenly spaced in every dimension of the grid: each is one golden section further than the
   last. */
static uint64_t choose_block(uint64_t i, uint64_t blocks, bool all)
{
    static const double golden = 0.6180339887498949;
    return all ? i : (uint64_t)(fmod((double)i * golden, 1) * (double)blocks);
}

static bool find_times(const arg_set *set, const bc_function *f, const uint32_t grid[3], double *times, bench_work *out)
{
    arg_study study;
    const bc_op **ops = bc_new(set->arena, const bc_op *, f->op_count);
    double *here = bc_new(set->arena, double, f->op_count);
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2], looks = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    uint32_t count = 0;
    if (!ops || !here || !arg_study_arguments(set, f, grid, &study))
        return false;
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        ops[count++] = op;
    for (uint64_t i = 0; i < looks; i++) {
        uint64_t at = choose_block(i, blocks, looks == blocks);
        uint32_t block[3] = {(uint32_t)(at % grid[0]), (uint32_t)(at / grid[0] % grid[1]),
                             (uint32_t)(at / grid[0] / grid[1])};
        arg_study_block(&study, f, grid, block);
        add_block(&study, ops, count, (double)blocks / (double)looks, here, times, out);
    }
    out->sampled = looks < blocks;
    return true;
}

static bool count_with(const arg_set *set, const bc_function *f, const uint32_t grid[3], const double *times,
                       bench_work *out)
{
    arg_study study;
    if (!arg_study_arguments(set, f, grid, &study))
        return false;
    counter c = {.f = f,
                 .set = set,
                 .grid = grid,
                 .study = &study,
                 .times = times,
                 .read = bc_new(set->arena, double, study.count + 1),
                 .written = bc_new(set->arena, double, study.count + 1),
                 .out = out};
    if (!c.read || !c.written)
        return false;
    count_all(&c);
    return true;
}

bool bench_work_count(const arg_set *set, const bc_function *f, const uint32_t grid[3], bench_work *out)
{
    double *times = bc_new(set->arena, double, f->op_count);
    *out = (bench_work){.accessed = 0};
    return times && find_times(set, f, grid, times, out) && count_with(set, f, grid, times, out);
}

bool bench_work_counted(const arg_set *set, const bc_function *f, const uint32_t grid[3], const double *times,
                        double accessed, bench_work *out)
{
    *out = (bench_work){.accessed = 0};
    if (!count_with(set, f, grid, times, out))
        return false;
    out->accessed = accessed;
    return true;
}

double bench_work_flops(const bench_work *work)
{
    double flops = 0;
    for (size_t kind = 0; kind < BC_KIND_COUNT; kind++) {
        bool is_float = bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        flops += work->plain[kind] + (is_float ? work->products[kind] : 0);
    }
    return flops;
}

/* Bytes that accesses move, and the part of them that comes from DRAM; see the header. */
#include "codegen/cost/traffic.h"

#include "codegen/analysis/order.h"

/* Loads of the first tiles in front of a loop are not what the loop reads again. */
static void add_bytes(cg_moved *moved, const ct_op *op, double bytes)
{
    moved->bytes += bytes;
    if (op->block != moved->main->block && bytes > moved->fresh) {
        moved->main = op;
        moved->fresh = 0;
    }
    moved->fresh += op->block == moved->main->block ? bytes : 0;
}

double cg_part_from_dram(cg_traffic *t, const ct_op *op, double times, bool counts)
{
    const ct_value *memory;
    double bytes = cg_bytes_moved(op, &memory) * times;
    const ct_value *origin = memory ? cg_origin_of(memory) : NULL;
    uint32_t i = 0;
    while (i < t->count && t->items[i].origin != origin)
        i++;
    if (!origin || i == CG_MOST_MOVED)
        return 1;
    if (i == t->count)
        t->items[t->count++] = (cg_moved){.origin = origin, .memory = memory, .first = op, .main = op};
    if (counts)
        add_bytes(&t->items[i], op, bytes);
    return t->items[i].known ? t->items[i].part : t->items[i].first == op;
}

static double blocks_of(const cg_launch *launch)
{
    return (double)launch->grid[0] * (double)launch->grid[1] * (double)launch->grid[2];
}

/* The bytes that all concurrent blocks read in a pass over what they read. */
static double read_in_a_pass(const cg_kernel_cost *k, const cg_launch *launch, const cg_traffic *t)
{
    double blocks = blocks_of(launch), running = k->blocks * k->machine->multiprocessors, read = 0;
    running = blocks < running ? blocks : running;
    for (uint32_t i = 0; i < t->count; i++) {
        const cg_moved *moved = &t->items[i];
        double of_all = moved->fresh * running, size;
        if (moved->first->opcode != OP_store_view_tko && moved->first->opcode != OP_store_ptr_tko)
            read += cg_known_bytes(launch, moved->memory, &size) && size < of_all ? size : of_all;
    }
    return read;
}

/* How often the bytes that the first loop reads come from memory: once, and again for each later loop, as far as what
   was read in the meantime does not fit into L2. */
static double times_from_dram(const cg_machine *m, const cg_moved *moved, double read)
{
    enum { MIB = 1 << 20 };
    double again = moved->bytes / moved->fresh - 1, kept = m->kept_mib * MIB / read;
    return again <= 0 || kept >= 1 ? 1 : 1 + again * (1 - kept);
}

/* The distinct bytes that all blocks reach: those of the tensor if they are known, or else of the distinct tiles. Ops
   in one loop are assumed to reach distinct tiles, and ops in other loops the same tiles again. A view may be far
   larger than what is read through it, as are those that stand for pointers. */
static double distinct_bytes(cg_func *c, const cg_launch *launch, const cg_moved *moved)
{
    double size, blocks = blocks_of(launch);
    if (cg_known_bytes(launch, moved->memory, &size) && size <= moved->bytes * blocks)
        return size;
    return moved->fresh * blocks * cg_part_of_tiles(c, launch, moved->main);
}

double cg_share_traffic(cg_func *c, const cg_kernel_cost *k, const cg_launch *launch, cg_traffic *t, double samples)
{
    double all = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        t->items[i].bytes /= samples;
        t->items[i].fresh /= samples;
    }
    double read = read_in_a_pass(k, launch, t);
    for (uint32_t i = 0; i < t->count; i++) {
        cg_moved *moved = &t->items[i];
        double bytes = moved->bytes * blocks_of(launch);
        moved->known = bytes > 0;
        moved->part = 1;
        if (!moved->known)
            continue;
        double size = distinct_bytes(c, launch, moved) * times_from_dram(k->machine, moved, read);
        moved->part = size < bytes ? size / bytes : 1;
        all += bytes * moved->part;
    }
    return all;
}

/* Order of accesses to global memory by different clusters of a grid. Clusters run one after the other here, so a
   missing order shows in no result; it is found from times, as within a cluster (shadow.c), with one time for a whole
   cluster: what one of its warps releases covers what the others did before. Of several clusters that read a granule,
   the last two are known. */
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/sim.h"

enum { MOST_CLUSTERS = 1024 }; /* of a larger grid nothing is looked for */

/* Who touched a granule last: numbers of clusters, plus 1. */
typedef struct granule {
    uint32_t writer, write_time, write_pc;
    uint32_t reader[2], read_time[2];
    uint8_t state; /* PS_STRONG, PS_WEAK_READ */
} granule;

void ps_grid_start(ptxsim *sim, uint64_t clusters)
{
    sim->grid_clusters = sim->launch->between_clusters && clusters > 1 && clusters <= MOST_CLUSTERS ? clusters : 0;
    sim->grid_pages.bytes = sizeof(granule);
    if (sim->grid_clusters)
        sim->grid_published = ps_alloc((size_t)clusters, sizeof *sim->grid_published);
}

void ps_grid_end(ptxsim *sim)
{
    ps_pages_release(&sim->grid_pages);
    free(sim->grid_published);
    sim->grid_published = NULL;
    sim->grid_clusters = 0;
}

void ps_grid_enter(ps_cluster *c, uint64_t number)
{
    size_t count = (size_t)c->blocks[0].sim->grid_clusters;
    if (!count)
        return;
    free(c->grid_times);
    c->grid_times = ps_alloc(3 * count, sizeof *c->grid_times);
    c->number = (uint32_t)number;
    c->grid_times[number] = 1;
    c->grid_has_seen = false;
}

/* ---- times ---- */

static void join(uint32_t *into, const uint32_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (into[i] < from[i])
            into[i] = from[i];
}

/* What other clusters have published: now, or from the next fence on. */
void ps_grid_acquire(ps_cluster *c, bool now)
{
    const ptxsim *sim = c->blocks[0].sim;
    size_t count = (size_t)sim->grid_clusters;
    if (count)
        join(now ? c->grid_times : c->grid_times + count, sim->grid_published, count);
    c->grid_has_seen = c->grid_has_seen || !now;
}

/* All that this cluster knows is published: what it knows now, or what it knew at its last fence. */
void ps_grid_release(ps_cluster *c, bool now)
{
    const ptxsim *sim = c->blocks[0].sim;
    size_t count = (size_t)sim->grid_clusters;
    if (!count)
        return;
    c->grid_times[c->number] += now;
    join(sim->grid_published, now ? c->grid_times : c->grid_times + 2 * count, count);
}

void ps_grid_fence(ps_cluster *c)
{
    size_t count = (size_t)c->blocks[0].sim->grid_clusters;
    if (!count)
        return;
    if (c->grid_has_seen)
        join(c->grid_times, c->grid_times + count, count);
    c->grid_has_seen = false;
    c->grid_times[c->number]++;
    memcpy(c->grid_times + 2 * count, c->grid_times, count * sizeof *c->grid_times);
}

/* ---- granules ---- */

static bool unordered(const ps_cluster *c, uint32_t cluster, uint32_t time)
{
    return cluster && cluster != c->number + 1 && c->grid_times[cluster - 1] <= time;
}

static void conflict(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, unsigned access, uint32_t cluster,
                     const ps_insn *writer)
{
    char place[300];
    ps_name_place(w, address, true, place, sizeof place);
    if (writer)
        ps_report(w, in, (int)lane, PTXSIM_RACE,
                  "'%s' %s %s, which cluster %u has written at line %u, and nothing orders the two", in->opcode,
                  access & PS_LOADS ? "reads" : "writes", place, (unsigned)cluster - 1, (unsigned)writer->line);
    else
        ps_report(w, in, (int)lane, PTXSIM_RACE,
                  "'%s' writes %s, which cluster %u has read, and nothing orders the two", in->opcode, place,
                  (unsigned)cluster - 1);
}

static void note_read(const ps_cluster *c, granule *g, bool strong)
{
    uint32_t self = c->number + 1;
    if (g->reader[0] != self) {
        g->reader[1] = g->reader[0];
        g->read_time[1] = g->read_time[0];
    }
    g->reader[0] = self;
    g->read_time[0] = c->grid_times[c->number];
    g->state |= strong ? 0 : PS_WEAK_READ;
}

static void touch(ps_warp *w, const ps_insn *in, unsigned lane, granule *g, uint64_t address, unsigned access)
{
    const ps_cluster *c = w->block->cluster;
    bool atomic = access & PS_ATOMIC, same = access & PS_SAME && !(access & PS_LOADS);
    if (unordered(c, g->writer, g->write_time) && !(g->state & PS_STRONG && atomic) && !same)
        conflict(w, in, lane, address, access, g->writer, &w->sim->module.code[g->write_pc]);
    if (!(access & PS_STORES)) {
        note_read(c, g, atomic);
        return;
    }
    for (unsigned i = 0; i < 2 && (!atomic || g->state & PS_WEAK_READ); i++)
        if (unordered(c, g->reader[i], g->read_time[i]))
            conflict(w, in, lane, address, access, g->reader[i], NULL);
    *g = (granule){.writer = c->number + 1,
                   .write_time = c->grid_times[c->number],
                   .write_pc = (uint32_t)(in - w->sim->module.code),
                   .state = atomic ? PS_STRONG : 0};
}

void ps_grid_touch(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t size, unsigned access)
{
    unsigned log2 = w->sim->module.global_granule_log2;
    for (uint64_t n = address >> log2; w->sim->grid_clusters && n <= (address + size - 1) >> log2; n++) {
        granule *page = ps_page_of(&w->sim->grid_pages, n >> PS_PAGE_LOG2);
        touch(w, in, lane, &page[n & (PS_PAGE_GRANULES - 1)], n << log2, access);
    }
}

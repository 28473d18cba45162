/* What checks tell an observer: which block saw what another one released, and the shortest schedule that leads to a
   conflict. Such a schedule needs what each of the two blocks does before its access. What a block does may also depend
   on a value that a strong access read and another block had written; then the schedule needs what that block had done
   up to the write. All of this ran in this run, and a part of a run that is closed under these needs can run by itself
   in the same order. So the steps are the needed events, in the order in which they ran. */
#include "vm/check/access.h"
#include "vm/run/observe.h"

enum { MOST_STEPS = 256, MOST_EDGES = 4096 };

/* A strong access, and the event of another block whose value it read. */
struct vm_edge {
    uint32_t release, acquire; /* events */
};

static void set_block(const vm_run *run, uint32_t block, uint32_t out[3])
{
    out[0] = block % run->grid[0];
    out[1] = block / run->grid[0] % run->grid[1];
    out[2] = block / run->grid[0] / run->grid[1];
}

static vm_access_of access_of(const vm_touch *t, const vm_event *e)
{
    const vm_check_op *what = &t->f->code->check_ops[e->op];
    vm_access_of a = {.op = vm_observe_position(t->check->vm, what->op),
                      .time = e->instance,
                      .reads = what->reads,
                      .writes = what->writes};
    set_block(t->f->run, e->block, a.block);
    return a;
}

/* ---- releases that were seen ---- */

static bool is_known(const struct vm_check *check, const vm_event *release, const vm_event *acquire)
{
    for (size_t i = 0; i < check->edge_count; i++) {
        const vm_event *r = vm_event_at(&check->events, check->edges[i].release),
                       *a = vm_event_at(&check->events, check->edges[i].acquire);
        if (r->block == release->block && r->op == release->op && a->block == acquire->block && a->op == acquire->op)
            return true;
    }
    return false;
}

/* All are kept for schedules, as far as there is room; only the first of each pair of ops and blocks is reported. */
void vm_observe_read(vm_touch *t, uint32_t writer, bool acquired)
{
    struct vm_check *check = t->check;
    const vm_observer *o = check->vm->observer;
    if (!o || t->f->run->again || !writer || writer == t->id || check->edge_count == MOST_EDGES)
        return;
    const vm_event *release = vm_event_at(&check->events, writer);
    if (release->block == t->event.block)
        return;
    bool known = is_known(check, release, &t->event);
    struct vm_edge *grown =
        bc_grow(&check->clocks, check->edges, check->edge_count, &check->edge_capacity, struct vm_edge);
    if (!grown)
        return; /* no schedule shows it; the run goes on */
    check->edges = grown;
    check->edges[check->edge_count++] = (struct vm_edge){writer, t->id};
    if (acquired && !known && o->seen)
        o->seen(o->user, &(vm_seen){access_of(t, release), access_of(t, &t->event)});
}

/* ---- conflicts ---- */

/* How many of its first events each block must have run, by block: the two blocks up to their accesses, others up to
   what is read from them. */
static void find_needs(const struct vm_check *check, const vm_event *ends[2], uint32_t *needs)
{
    bool more = true;
    for (unsigned i = 0; i < 2; i++)
        needs[ends[i]->block] = ends[i]->sequence > needs[ends[i]->block] ? ends[i]->sequence : needs[ends[i]->block];
    while (more) {
        more = false;
        for (size_t i = 0; i < check->edge_count; i++) {
            const vm_event *release = vm_event_at(&check->events, check->edges[i].release),
                           *acquire = vm_event_at(&check->events, check->edges[i].acquire);
            if (acquire->sequence >= needs[acquire->block] || release->sequence < needs[release->block])
                continue;
            needs[release->block] = release->sequence + 1;
            more = true;
        }
    }
}

/* Consecutive events of one block are one step. Returns the number of steps, of which MOST_STEPS are kept. */
static size_t make_steps(const vm_touch *t, const uint32_t *needs, vm_step *steps)
{
    const struct vm_check *check = t->check;
    size_t count = 0;
    uint32_t block = UINT32_MAX;
    for (uint32_t id = 1; id <= check->events.count; id++) {
        const vm_event *e = vm_event_at(&check->events, id);
        if (e->sequence >= needs[e->block])
            continue;
        count += e->block != block;
        block = e->block;
        if (count > MOST_STEPS)
            continue;
        vm_step *s = &steps[count - 1];
        *s = (vm_step){.op = vm_observe_position(check->vm, t->f->code->check_ops[e->op].op), .times = e->instance + 1};
        set_block(t->f->run, e->block, s->block);
    }
    return count;
}

void vm_observe_conflict(const vm_touch *t, bc_rule rule, const vm_event *first, const char *place)
{
    const struct vm_check *check = t->check;
    const vm_observer *o = check->vm->observer;
    if (!o || !o->conflict || t->f->run->again)
        return;
    const vm_event *ends[2] = {first, &t->event};
    size_t bytes = (size_t)t->f->run->blocks * sizeof(uint32_t);
    uint32_t *needs = check->memory.alloc(check->memory.user, bytes);
    vm_step steps[MOST_STEPS];
    if (!needs)
        return; /* the finding is reported nevertheless */
    memset(needs, 0, bytes);
    find_needs(check, ends, needs);
    size_t count = make_steps(t, needs, steps);
    bool first_ran = needs[first->block] > first->sequence;
    check->memory.release(check->memory.user, needs, bytes);
    vm_conflict conflict = {.rule = bc_rules[rule].id,
                            .place = place,
                            .first = access_of(t, first),
                            .second = access_of(t, &t->event),
                            .steps = steps,
                            .step_count = count < MOST_STEPS ? count : MOST_STEPS,
                            .first_ran = first_ran,
                            .cut = count > MOST_STEPS || check->edge_count == MOST_EDGES};
    o->conflict(o->user, &conflict);
}

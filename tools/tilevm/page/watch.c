/* Keeps what checks report during a run, for the document. */
#include <string.h>

#include "tools/tilevm/page/page.h"

static void seen(void *user, const vm_seen *from)
{
    page_watch *w = user;
    vm_seen *grown =
        w->seen_count == PAGE_MOST_SEEN ? NULL : bc_grow(&w->arena, w->seen, w->seen_count, &w->seen_capacity, vm_seen);
    if (!grown) {
        w->seen_cut = true;
        return;
    }
    w->seen = grown;
    w->seen[w->seen_count++] = *from;
}

static void conflict(void *user, const vm_conflict *from)
{
    page_watch *w = user;
    vm_conflict *grown = bc_grow(&w->arena, w->conflicts, w->conflict_count, &w->conflict_capacity, vm_conflict);
    vm_step *steps = bc_new(&w->arena, vm_step, from->step_count + 1);
    if (!grown || !steps) {
        w->failed = true;
        return;
    }
    if (from->step_count)
        memcpy(steps, from->steps, from->step_count * sizeof *steps);
    w->conflicts = grown;
    w->conflicts[w->conflict_count] = *from;
    w->conflicts[w->conflict_count].steps = steps;
    w->conflicts[w->conflict_count].place = bc_arena_dup(&w->arena, bc_str(from->place)).ptr;
    w->failed = w->failed || !w->conflicts[w->conflict_count].place;
    w->conflict_count += !w->failed;
}

void page_watch_init(page_watch *w)
{
    *w = (page_watch){.observer = {.user = w, .seen = seen, .conflict = conflict}};
    bc_arena_init(&w->arena, NULL, 0);
}

void page_watch_release(page_watch *w)
{
    bc_arena_release(&w->arena);
}

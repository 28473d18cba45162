/* Tile blocks that take turns on one thread. */
#include "vm/run/turns.h"

static vm_started *begin_block(vm_turns *t)
{
    vm_started *s = t->idle;
    if (s)
        t->idle = s->later;
    else
        s = t->open(t);
    if (!s)
        return NULL;
    vm_set_block(&s->worker.frame, t->next_block++);
    s->next = t->run->code->body;
    t->begin(t, s);
    t->under_way++;
    return s;
}

static vm_started *take_first(vm_turns *t)
{
    vm_started *s = t->first;
    if (!s)
        return NULL;
    t->first = s->later;
    if (!t->first)
        t->last = NULL;
    return s;
}

vm_started *vm_turns_next(vm_turns *t)
{
    vm_started *s = NULL;
    if (t->next_block < t->run->blocks && t->under_way < VM_MAX_STARTED)
        s = begin_block(t);
    return s ? s : take_first(t);
}

void vm_turns_queue(vm_turns *t, vm_started *s)
{
    s->later = NULL;
    if (t->last)
        t->last->later = s;
    else
        t->first = s;
    t->last = s;
}

void vm_turns_end(vm_turns *t, vm_started *s)
{
    vm_release_allocas(&s->worker.frame, NULL);
    s->later = t->idle;
    t->idle = s;
    t->under_way--;
}

vm_started *vm_turns_take(vm_turns *t)
{
    vm_started *s = take_first(t);
    if (!s && t->idle) {
        s = t->idle;
        t->idle = s->later;
    }
    return s;
}

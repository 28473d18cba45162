/* Calls the observer, and looks up the positions of ops for all callers. */
#include "vm/run/observe.h"

#include <stdlib.h>

#include "vm/run/schedule.h"

struct vm_positions {
    uint32_t count;
    struct vm_position {
        const bc_op *op;
        uint32_t position;
    } items[];
};

void vm_observe(tv_vm *vm, const vm_observer *observer)
{
    vm->observer = observer;
}

/* ---- positions ---- */

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct vm_position *)a)->op, y = (uintptr_t)((const struct vm_position *)b)->op;
    return (x > y) - (x < y);
}

static size_t bytes_of(uint32_t count)
{
    return sizeof(struct vm_positions) + count * sizeof(struct vm_position);
}

bool vm_observe_begin(tv_vm *vm, const bc_function *function)
{
    const bc_block *body = function->body;
    if (!vm->observer)
        return true;
    struct vm_positions *p = vm->allocator.alloc(vm->allocator.user, bytes_of(function->op_count));
    if (!p)
        return false;
    p->count = function->op_count;
    uint32_t i = 0;
    for (const bc_op *op = body->first; op && i < p->count; op = bc_next_op(op, body), i++)
        p->items[i] = (struct vm_position){op, i};
    p->count = i;
    qsort(p->items, p->count, sizeof *p->items, by_address);
    vm->positions = p;
    return true;
}

void vm_observe_end(tv_vm *vm)
{
    if (vm->positions)
        vm->allocator.release(vm->allocator.user, vm->positions, bytes_of(vm->last->function->op_count));
    vm->positions = NULL;
}

uint32_t vm_observe_position(const tv_vm *vm, const bc_op *op)
{
    struct vm_position key = {.op = op};
    const struct vm_position *found = bsearch(&key, vm->positions->items, vm->positions->count, sizeof key, by_address);
    return found ? found->position : 0;
}

/* ---- time ---- */

void vm_observe_spent(const vm_frame *f, const bc_op *op, double from, double to)
{
    const tv_vm *vm = f->run->vm;
    vm_spent spent = {.block = {f->block[0], f->block[1], f->block[2]},
                      .op = op ? vm_observe_position(vm, op) : VM_WHOLE_BLOCK,
                      .from = from - vm->observed_from,
                      .to = to - vm->observed_from};
    pthread_mutex_lock(&f->run->lock);
    vm->observer->spent(vm->observer->user, &spent);
    pthread_mutex_unlock(&f->run->lock);
}

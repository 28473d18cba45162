/* Storage from alloca while a grid runs; finds the buffer, global or storage in which an address lies. */
#include <string.h>

#include "vm/run/schedule.h"

const vm_region *vm_run_find(vm_frame *f, uint64_t address, uint64_t size)
{
    vm_run *run = f->run;
    const vm_region *region = vm_regions_find(&run->vm->regions, address, size);
    if (region || !run->code->allocas)
        return region;
    pthread_mutex_lock(&run->lock);
    region = vm_regions_find(&run->allocas, address, size);
    if (region) {
        f->alloca_region = *region;
        region = &f->alloca_region;
    }
    pthread_mutex_unlock(&run->lock);
    return region;
}

struct vm_held {
    vm_held *older;
    const vm_inst *maker;
    void *memory; /* as the allocator gave it */
    size_t held;  /* bytes of it */
    uint64_t start;
};

static bool add_alloca(vm_run *run, uint64_t start, size_t bytes, size_t held)
{
    bool added = false;
    pthread_mutex_lock(&run->lock);
    if (held <= run->alloca_limit - run->alloca_bytes) {
        vm_region region = {
            .start = start, .end = start + bytes, .name = "alloca", .writable = true, .undefined = true};
        added = vm_regions_add(&run->allocas, &run->vm->allocator, region) == TV_OK;
        if (added)
            run->alloca_bytes += held;
    }
    pthread_mutex_unlock(&run->lock);
    return added;
}

/* Releases what the op allocated before: its block has ended since, and so have the blocks inside. */
static void release_made_by(vm_frame *f, const vm_inst *maker)
{
    const vm_held *record = f->allocas;
    while (record && record->maker != maker)
        record = record->older;
    if (record)
        vm_release_allocas(f, record->older);
}

void *vm_make_alloca(vm_frame *f, const vm_inst *maker, size_t bytes, size_t align)
{
    tv_allocator *a = &f->run->vm->allocator;
    release_made_by(f, maker);
    if (bytes == 0)
        bytes = 1;
    if (align < 16)
        align = 16;
    if (align > SIZE_MAX / 4 || bytes > SIZE_MAX / 4)
        return NULL;
    size_t held = bytes + align + sizeof(vm_held);
    if (held > f->run->alloca_limit)
        return NULL;
    vm_held *record = a->alloc(a->user, sizeof *record);
    unsigned char *memory = record ? a->alloc(a->user, bytes + align) : NULL;
    if (!memory) {
        if (record)
            a->release(a->user, record, sizeof *record);
        return NULL;
    }
    uint64_t start = ((uintptr_t)memory + align - 1) / align * align;
    if (!add_alloca(f->run, start, bytes, held)) {
        a->release(a->user, memory, bytes + align);
        a->release(a->user, record, sizeof *record);
        return NULL;
    }
    memset((void *)(uintptr_t)start, 0, bytes);
    if (f->run->check)
        f->run->forget(f->run->check, start, bytes);
    *record = (vm_held){f->allocas, maker, memory, held, start};
    f->allocas = record;
    return (void *)(uintptr_t)start;
}

void vm_release_allocas(vm_frame *f, const vm_held *until)
{
    vm_run *run = f->run;
    tv_allocator *a = &run->vm->allocator;
    while (f->allocas && f->allocas != until) {
        vm_held *record = f->allocas;
        f->allocas = record->older;
        pthread_mutex_lock(&run->lock);
        vm_regions_remove(&run->allocas, record->start);
        run->alloca_bytes -= record->held;
        pthread_mutex_unlock(&run->lock);
        a->release(a->user, record->memory, record->held - sizeof *record);
        a->release(a->user, record, sizeof *record);
    }
}

uint64_t vm_global_address(const tv_vm *vm, const bc_string *name)
{
    for (size_t i = 0; i < vm->global_count; i++)
        if (bc_str_eq(vm->globals[i].global->name->s, name->s))
            return (uintptr_t)vm->globals[i].start;
    return 0;
}

/* Frame storage while an entry is compiled: who uses which, who can share, and where it lies in the end. */
#ifndef TILEVM_VM_COMPILE_STORAGE_H
#define TILEVM_VM_COMPILE_STORAGE_H

#include "vm/compile/emit.h"

/* One use of storage by an instruction. */
typedef struct vm_ref {
    vm_inst *inst;
    size_t *field; /* becomes the offset in the frame; NULL: only keeps the storage alive */
    size_t offset; /* added to it */
    vm_ctx *ctx;   /* that inst stands in; known when inst is appended */
    uint32_t next; /* next reference to the same storage, index + 1; 0 ends */
    vm_storage storage;
    uint8_t access; /* vm_access */
} vm_ref;

typedef struct vm_slot {
    size_t bytes;
    vm_ctx *home;       /* its contents are made and used in here and inside */
    vm_storage merged;  /* shares the storage of that one; itself when not */
    uint32_t first_ref; /* index + 1 */
    uint32_t lo, hi;    /* positions of the first and last instruction that need it */
    size_t at;          /* in the frame */
    const void *image;  /* initial contents of what lives in the preamble, or NULL */
} vm_slot;

typedef struct vm_pair {
    vm_inst *inst;
    vm_storage from, to;
    bool in_place; /* inst may write `to` while it reads `from`, if they are the same */
} vm_pair;

typedef struct vm_storages {
    vm_slot *slots; /* [0] is unused */
    vm_ref *refs;
    vm_pair *pairs;
    size_t slot_count, slot_capacity, ref_count, ref_capacity, pair_count, pair_capacity;
} vm_storages;

/* Storage with contents that every frame starts with. bytes of image live as long as e->temp. */
vm_storage vm_new_image(vm_emit *e, const void *image, size_t bytes);

/* inst reads `from` element by element in step with its writing of `to`, so they may be the same. */
void vm_allow_in_place(vm_emit *e, vm_inst *inst, vm_storage from, vm_storage to);

/* storage stays as it is while ctx, a piece of code that has begun, runs: an instruction outside uses it in between. */
void vm_hold(vm_emit *e, vm_ctx *ctx, vm_storage storage);

/* The instruction now stands in ctx: its references get that place. */
void vm_place_refs(vm_emit *e, vm_inst *inst, vm_ctx *ctx);

/* Gives every storage its place and writes the offsets into the instructions. Instructions must have their final
   index, ctx their start and end. */
void vm_assign_storage(vm_emit *e);
/* After that: where in the frame a byte of a storage lies. */
size_t vm_storage_place(const vm_emit *e, vm_storage storage, size_t offset);

#endif

/* The forward pass replaces a load from the kernel's own storage by the value that was stored there last, and removes
   storage that nobody loads from any more. A C++ variable whose address is taken is in such storage (`alloca`), which
   is allocated on the heap of the device: this takes a call, two barriers, and a load at every use. A lambda that
   captures by reference takes the address of each variable.

       %1 = alloca 4 bytes
       %2 = store %1, %w                                     muli %r, %w
       %3 = load %1                        ->
       muli %r, %3

   Why it is right: every address of the storage is known, at constant offsets that do not overlap; the accesses are
   weak and scalar; and no other pointer leads there. The order of the ops is therefore an order that tokens allow.
   Values are followed through branches that agree, and around loops that do not store. If two values could have been
   stored, the load stays, and so do all stores to its address.

   The pass runs after simplify, which makes offsets constant, and then runs simplify again: an address that was itself
   stored becomes visible when it is forwarded. */
#include <string.h>

#include "codegen/analysis/order.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/simplify.h"
#include "codegen/tile/tokens.h"

enum { MOST_OFFSET = 1 << 30 };

/* A scalar in storage. */
typedef struct cell {
    const ct_op *storage;
    const bc_type *type;
    int64_t offset;
    bool is_lost; /* the storage is not analysed */
    bool is_read; /* a load of it remains */
} cell;

typedef struct forwarding {
    cg_func *c;
    cell slots[CG_STORAGE_SLOTS];
    ct_value *now[CG_STORAGE_SLOTS]; /* the value that each holds; NULL: not known */
    uint32_t count;
    uint16_t *place; /* by id of a pointer: 1 + the number of its slot */
    bool has_changed;
} forwarding;

/* ---- the storage ---- */

static int64_t bytes_of(const bc_type *scalar)
{
    return bc_kind_memory_bytes(bc_elem_kind(scalar));
}

/* Records that the pointer leads to that scalar. False: there is none, or others access its bytes in another form. */
static bool add_slot(forwarding *f, const ct_op *storage, const ct_value *pointer, const bc_type *type, int64_t offset)
{
    uint32_t found = f->count;
    if (type->rank || !bytes_of(type))
        return false;
    for (uint32_t i = 0; i < f->count; i++) {
        const cell *s = &f->slots[i];
        if (s->storage != storage || s->offset + bytes_of(s->type) <= offset || offset + bytes_of(type) <= s->offset)
            continue;
        if (s->offset != offset || s->type != type)
            return false;
        found = i;
    }
    if (found == CG_STORAGE_SLOTS)
        return false;
    if (found == f->count)
        f->slots[f->count++] = (cell){.storage = storage, .type = type, .offset = offset};
    f->place[pointer->id] = (uint16_t)(found + 1);
    return true;
}

static bool add_access(forwarding *f, const ct_op *storage, const ct_use *use, int64_t offset)
{
    const ct_op *op = use->op;
    bool stores = op->opcode == OP_store_ptr_tko;
    const ct_value *pointer = ct_operand(op, ct_info(op)->address), *tile = &op->results[0];
    if (stores)
        tile = ct_operand(op, F_store_ptr_tko_value);
    return op->operands[use->index] == pointer && tile != pointer && cg_is_weak_access(op)
           && !ct_operand(op, stores ? F_store_ptr_tko_mask : F_load_ptr_tko_mask)
           && add_slot(f, storage, pointer, tile->type, offset);
}

/* The constant offset of an `offset`, in bytes. False: it is not known, or too large. */
static bool step_of(const ct_op *op, int64_t *out_bytes)
{
    const ct_op *index = op->operands[1]->op;
    int shift = cg_pointee_shift(op->operands[0]->type);
    int64_t count;
    if (!index || index->opcode != OP_constant || shift < 0 || !ct_constant_value(index, &count)
        || count > MOST_OFFSET >> shift || count < -(MOST_OFFSET >> shift))
        return false;
    *out_bytes = count * ((int64_t)1 << shift);
    return true;
}

/* Follows an address, `offset` bytes into the storage, to all accesses. */
static bool follow(forwarding *f, const ct_op *storage, const ct_value *address, int64_t offset, uint32_t depth)
{
    for (const ct_use *use = address->uses; use; use = use->next) {
        const ct_op *op = use->op;
        int64_t step = 0;
        bool known = depth < CG_STORAGE_DEPTH;
        switch ((int)op->opcode) {
        case OP_offset:
            known = known && use->index == 0 && step_of(op, &step) && offset + step <= MOST_OFFSET
                    && offset + step >= -MOST_OFFSET && follow(f, storage, &op->results[0], offset + step, depth + 1);
            break;
        case OP_ptr_to_ptr:
        case OP_ptr_to_int:
        case OP_int_to_ptr: known = known && follow(f, storage, &op->results[0], offset, depth + 1); break;
        case OP_load_ptr_tko:
        case OP_store_ptr_tko: known = add_access(f, storage, use, offset); break;
        default: known = false; break;
        }
        if (!known)
            return false;
    }
    return true;
}

static void find_storage(forwarding *f)
{
    const ct_block *body = f->c->ir->body;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        uint32_t first = f->count;
        if (op->opcode != OP_alloca || ct_attr_u(op, F_alloca_global) == 1)
            continue;
        bool known = follow(f, op, &op->results[0], 0, 0);
        for (uint32_t i = first; i < f->count; i++)
            f->slots[i].is_lost = !known;
    }
}

/* ---- the contents ---- */

/* The slot that the op loads or stores; CG_STORAGE_SLOTS: none that is analysed. */
static uint32_t slot_of(const forwarding *f, const ct_op *op)
{
    if (op->opcode != OP_load_ptr_tko && op->opcode != OP_store_ptr_tko)
        return CG_STORAGE_SLOTS;
    uint32_t place = f->place[ct_operand(op, ct_info(op)->address)->id];
    return place && !f->slots[place - 1].is_lost ? place - 1 : CG_STORAGE_SLOTS;
}

static void drop(forwarding *f, ct_op *op)
{
    if (ct_pass_token_on(f->c->ir, op))
        ct_remove(op);
    f->has_changed = true;
}

static void take_load(forwarding *f, ct_op *op, uint32_t slot)
{
    if (!f->now[slot]) {
        f->slots[slot].is_read = true;
        return;
    }
    ct_replace_uses(&op->results[0], f->now[slot]);
    drop(f, op);
}

/* Forgets the contents that ops in the block store or create. */
static void forget(forwarding *f, const ct_block *block)
{
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block)) {
        uint32_t slot = op->opcode == OP_store_ptr_tko ? slot_of(f, op) : CG_STORAGE_SLOTS;
        if (slot != CG_STORAGE_SLOTS)
            f->now[slot] = NULL;
    }
}

static void walk(forwarding *f, ct_block *block);

/* After a branch, the contents are known if all paths agree. */
static void walk_branches(forwarding *f, ct_op *op)
{
    size_t bytes = f->count * sizeof *f->now;
    ct_value **before = bc_new(&f->c->arena, ct_value *, f->count + 1u);
    ct_value **behind = bc_new(&f->c->arena, ct_value *, f->count + 1u);
    bool is_first = true;
    if (!before || !behind)
        return;
    memcpy(before, f->now, bytes);
    for (uint32_t r = 0; r < 2; r++) {
        ct_block *region = r < op->region_count ? op->regions[r] : NULL;
        memcpy(f->now, before, bytes);
        if (region)
            walk(f, region);
        if (region && region->last->opcode != OP_yield)
            continue;
        for (uint32_t i = 0; i < f->count; i++)
            behind[i] = is_first || behind[i] == f->now[i] ? f->now[i] : NULL;
        is_first = false;
    }
    memcpy(f->now, is_first ? before : behind, bytes);
    for (uint32_t i = 0; i < f->count; i++) /* a value that is computed in one path is not available after it */
        if (f->now[i] && !ct_is_inside(op->block, f->now[i]->block))
            f->now[i] = NULL;
}

static void walk(forwarding *f, ct_block *block)
{
    for (ct_op *op = block->first, *next; op && !f->c->failed; op = next) {
        next = op->next;
        uint32_t slot = slot_of(f, op);
        if (slot != CG_STORAGE_SLOTS && op->opcode == OP_load_ptr_tko) {
            take_load(f, op, slot);
        } else if (slot != CG_STORAGE_SLOTS) {
            f->now[slot] = ct_operand(op, F_store_ptr_tko_value);
        } else if (op->opcode == OP_if) {
            walk_branches(f, op);
        } else if (ct_is_loop(op)) {
            forget(f, op->regions[0]);
            walk(f, op->regions[0]);
            forget(f, op->regions[0]);
        }
    }
}

/* ---- the pass ---- */

static void drop_stores(forwarding *f, ct_block *block)
{
    for (ct_op *op = block->first, *next; op && !f->c->failed; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                drop_stores(f, op->regions[r]);
        uint32_t slot = slot_of(f, op);
        if (slot != CG_STORAGE_SLOTS && op->opcode == OP_store_ptr_tko && !f->slots[slot].is_read)
            drop(f, op);
    }
}

/* Forwards once. True: something was removed. */
static bool forward(cg_func *c)
{
    forwarding *f = bc_new(&c->arena, forwarding, 1);
    uint16_t *place = bc_new(&c->arena, uint16_t, c->ir->value_count + 1u);
    if (!f || !place)
        return false;
    f->c = c;
    f->place = place;
    find_storage(f);
    if (f->count) {
        walk(f, c->ir->body);
        drop_stores(f, c->ir->body);
    }
    return f->has_changed && !c->failed;
}

static bool has_storage(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == OP_alloca)
            return true;
    return false;
}

void cg_pass_forward(cg_func *c)
{
    for (uint32_t round = 0; round < CG_STORAGE_ROUNDS && has_storage(c->ir->body) && forward(c); round++)
        cg_simplify(c);
}

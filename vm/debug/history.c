/* Finds the op that wrote an element: repeats the run and looks at the addresses of all writes. */
#include "vm/debug/state.h"

#include <string.h>

/* The bytes [low, high) in question, and the element of a store that was found to write one of them. */
typedef struct hunt {
    vm_touch touch; /* first: visitors get it */
    uint64_t low, high;
    uint64_t address, element;
    bool found;
} hunt;

static bool visit(vm_touch *t, uint64_t address, size_t element)
{
    hunt *h = (hunt *)t;
    unsigned bytes = t->c->bytes ? t->c->bytes : 1;
    if (address >= h->high || address + bytes <= h->low)
        return true;
    h->address = address;
    h->element = element;
    h->found = true;
    return false;
}

/* Does the op that comes next write it? */
static bool writes_it(const vm_debug *d, hunt *h)
{
    const vm_probe *probe = dbg_probe(d);
    if (!probe->access)
        return false;
    h->touch = (vm_touch){.f = &d->current->worker.frame, .c = probe->access};
    h->found = false;
    vm_visit_all(&h->touch, visit);
    return h->found;
}

/* The last write between the snapshot and a time. False: none, or interrupted. */
static bool last_write(vm_debug *d, const uint8_t *writes, hunt *h, size_t snapshot, uint64_t before,
                       vm_debug_write *out)
{
    bool found = false;
    dbg_restore(d, snapshot);
    dbg_outcome outcome = dbg_run(d, before, writes);
    while (outcome == DBG_AT_MARK && d->probes.count < before) {
        if (writes_it(d, h)) {
            *out = (vm_debug_write){.time = d->probes.count,
                                    .position = dbg_position(d),
                                    .address = h->address,
                                    .element = h->element};
            memcpy(out->block, d->current->worker.frame.block, sizeof out->block);
            found = true;
        }
        dbg_pass(d);
        outcome = dbg_run(d, before, writes);
    }
    return found;
}

bool vm_debug_who(vm_debug *d, tv_str text, vm_debug_write *out, vm_debug_error *error)
{
    vm_debug_value v;
    uint64_t now = d->probes.count, end = now;
    bool found = false, trapped = d->trapped;
    bc_arena arena;
    error->text[0] = 0;
    if (!vm_debug_evaluate(d, text, &v, error))
        return false;
    bool pointer = v.form == VM_DEBUG_DATA && v.kind == BC_PTR && v.count == 1;
    if (v.form != VM_DEBUG_DATA || v.count != 1 || !(v.array || pointer))
        return dbg_fail(error, "one element of an array is wanted, as in a[3, 4], or a pointer");
    hunt h = {.low = pointer ? vm_debug_element(&v, 0) : dbg_address(&v, 0)};
    h.high = h.low + (pointer ? 1 : vm_debug_item(&v));
    bc_arena_init(&arena, &d->normal, 0);
    uint8_t *writes = bc_new(&arena, uint8_t, d->op_count + 1u);
    for (uint32_t p = 0; writes && p < d->op_count; p++)
        writes[p] = d->code.probes[p] && (bc_info(d->ops[p])->effects & BC_WRITES);
    for (size_t i = dbg_snapshot_before(d, now ? now - 1 : 0); writes && now; i--) {
        found = last_write(d, writes, &h, i, end, out);
        if (found || i == 0)
            break;
        end = d->snapshots[i]->time;
    }
    bc_arena_release(&arena);
    dbg_goto(d, now);
    if (trapped && !d->trapped)
        dbg_run(d, now + 1, d->cold);
    return found;
}

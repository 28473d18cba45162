/* Live ranges, sharing and placement of frame storage. Positions are vm_inst.index. */
#include "vm/compile/storage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_ALIGN = 64 };

vm_storage vm_new_storage(vm_emit *e, size_t bytes, vm_ctx *home)
{
    vm_storages *s = e->storages;
    vm_slot *slots = bc_grow(&e->temp, s->slots, s->slot_count, &s->slot_capacity, vm_slot);
    if (!slots) {
        e->failed = true;
        return VM_NO_STORAGE;
    }
    s->slots = slots;
    if (s->slot_count == 0)
        s->slot_count = 1; /* 0 is VM_NO_STORAGE */
    vm_storage id = (vm_storage)s->slot_count++;
    slots[id] = (vm_slot){.bytes = bytes, .home = home, .merged = id};
    return id;
}

vm_storage vm_new_image(vm_emit *e, const void *image, size_t bytes)
{
    vm_storage id = vm_new_storage(e, bytes, e->preamble);
    if (id)
        e->storages->slots[id].image = image;
    return id;
}

void vm_bind(vm_emit *e, vm_inst *inst, size_t *field, vm_storage storage, size_t offset, vm_access access)
{
    vm_storages *s = e->storages;
    if (!storage) {
        e->failed = true;
        return;
    }
    vm_ref *refs = bc_grow(&e->temp, s->refs, s->ref_count, &s->ref_capacity, vm_ref);
    if (!refs) {
        e->failed = true;
        return;
    }
    s->refs = refs;
    vm_slot *slot = &s->slots[storage];
    refs[s->ref_count] = (vm_ref){.inst = inst,
                                  .field = field,
                                  .offset = offset,
                                  .next = slot->first_ref,
                                  .storage = storage,
                                  .access = (uint8_t)access};
    slot->first_ref = (uint32_t)++s->ref_count;
}

static void add_pair(vm_emit *e, vm_pair pair)
{
    vm_storages *s = e->storages;
    vm_pair *pairs = bc_grow(&e->temp, s->pairs, s->pair_count, &s->pair_capacity, vm_pair);
    if (!pairs) {
        e->failed = true;
        return;
    }
    s->pairs = pairs;
    pairs[s->pair_count++] = pair;
}

void vm_affinity(vm_emit *e, vm_inst *inst, vm_storage from, vm_storage to)
{
    add_pair(e, (vm_pair){.inst = inst, .from = from, .to = to});
}

void vm_allow_in_place(vm_emit *e, vm_inst *inst, vm_storage from, vm_storage to)
{
    add_pair(e, (vm_pair){.inst = inst, .from = from, .to = to, .in_place = true});
}

/* The references of an instruction are the newest when it is appended: hooks bind after they need. */
void vm_place_refs(vm_emit *e, vm_inst *inst, vm_ctx *ctx)
{
    vm_storages *s = e->storages;
    for (size_t i = s->ref_count; i-- > 0 && !s->refs[i].ctx;)
        if (s->refs[i].inst == inst)
            s->refs[i].ctx = ctx;
}

void vm_hold(vm_emit *e, vm_ctx *ctx, vm_storage storage)
{
    vm_bind(e, ctx->first, NULL, storage, 0, VM_UPDATE);
    if (!e->failed)
        e->storages->refs[e->storages->ref_count - 1].ctx = ctx;
}

static vm_storage root(vm_storages *s, vm_storage id)
{
    while (s->slots[id].merged != id) {
        s->slots[id].merged = s->slots[s->slots[id].merged].merged;
        id = s->slots[id].merged;
    }
    return id;
}

/* Extends the life of a slot over one reference: over the whole of any loop between it and the slot's home. */
static void extend(vm_slot *slot, const vm_ref *ref)
{
    uint32_t lo = ref->inst->index, hi = lo;
    for (const vm_ctx *c = ref->ctx; c && c != slot->home; c = c->parent)
        if (c->loop) {
            lo = c->start;
            hi = c->end;
        }
    if (lo < slot->lo)
        slot->lo = lo;
    if (hi > slot->hi)
        slot->hi = hi;
}

static void compute_lives(vm_emit *e)
{
    vm_storages *s = e->storages;
    for (size_t i = 1; i < s->slot_count; i++) {
        s->slots[i].lo = UINT32_MAX;
        s->slots[i].hi = 0;
    }
    for (size_t i = 0; i < s->ref_count; i++) {
        assert(s->refs[i].ctx); /* its instruction was appended */
        extend(&s->slots[s->refs[i].storage], &s->refs[i]);
    }
}

static bool used(const vm_slot *slot)
{
    return slot->lo <= slot->hi;
}

/* How a storage is used by one instruction. */
static unsigned count_refs_at(const vm_storages *s, vm_storage id, const vm_inst *inst, bool writes)
{
    unsigned count = 0;
    for (uint32_t r = s->slots[id].first_ref; r; r = s->refs[r - 1].next)
        count += s->refs[r - 1].inst == inst && (s->refs[r - 1].access != VM_READ) == writes;
    return count;
}

static bool may_be_in_place(vm_emit *e, const vm_inst *inst, vm_storage from, vm_storage to)
{
    vm_storages *s = e->storages;
    for (size_t i = 0; i < s->pair_count; i++)
        if (s->pairs[i].in_place && s->pairs[i].inst == inst && root(s, s->pairs[i].from) == from
            && root(s, s->pairs[i].to) == to)
            return count_refs_at(s, from, inst, false) == 1;
    return false;
}

/* Whether the copy stands in the piece of code that `from` belongs to. In a branch of it, the other branch and what
   comes after still want what `to` held. */
static bool copied_at_home(const vm_storages *s, const vm_pair *pair, vm_storage from)
{
    for (uint32_t r = s->slots[from].first_ref; r; r = s->refs[r - 1].next)
        if (s->refs[r - 1].inst == pair->inst)
            return s->refs[r - 1].ctx == s->slots[from].home;
    return false;
}

/* `to` is live throughout the life of `from`, which is computed again before each copy. May `from` be computed in
   `to` directly? It may if `to` is not accessed in between. */
static bool untouched_meanwhile(vm_emit *e, const vm_pair *pair, vm_storage from, vm_storage to)
{
    vm_storages *s = e->storages;
    const vm_slot *source = &s->slots[from];
    for (uint32_t r = s->slots[to].first_ref; r; r = s->refs[r - 1].next) {
        const vm_ref *ref = &s->refs[r - 1];
        uint32_t at = ref->inst->index;
        if (at < source->lo || at > source->hi)
            continue;
        if (ref->inst == pair->inst && ref->access == VM_WRITE)
            continue;
        if (at == source->lo && ref->access == VM_READ && may_be_in_place(e, ref->inst, to, from))
            continue;
        return false;
    }
    return true;
}

static void merge(vm_storages *s, vm_storage into, vm_storage from)
{
    vm_slot *a = &s->slots[into], *b = &s->slots[from];
    uint32_t *tail = &a->first_ref;
    while (*tail)
        tail = &s->refs[*tail - 1].next;
    *tail = b->first_ref;
    b->first_ref = 0;
    b->merged = into;
    if (b->lo < a->lo)
        a->lo = b->lo;
    if (b->hi > a->hi)
        a->hi = b->hi;
    if (b->home->depth < a->home->depth)
        a->home = b->home;
}

static bool may_merge(vm_emit *e, const vm_pair *pair, vm_storage from, vm_storage to)
{
    vm_storages *s = e->storages;
    const vm_slot *a = &s->slots[from], *b = &s->slots[to];
    uint32_t at = pair->inst->index;
    if (a->home == e->preamble || b->home == e->preamble || a->bytes != b->bytes || !used(a) || !used(b))
        return false;
    if (count_refs_at(s, from, pair->inst, false) != 1 || count_refs_at(s, from, pair->inst, true)
        || count_refs_at(s, to, pair->inst, true) != 1 || count_refs_at(s, to, pair->inst, false))
        return false;
    if (a->hi == at && b->lo == at)
        return true;
    return b->home->depth < a->home->depth && a->hi == at && b->lo <= a->lo && b->hi >= a->hi
           && copied_at_home(s, pair, from) && untouched_meanwhile(e, pair, from, to);
}

/* Quadratic in the pairs of one instruction only; bounded all the same for programs made to hurt. */
static void share(vm_emit *e)
{
    vm_storages *s = e->storages;
    if (s->pair_count > 4096)
        return;
    for (size_t i = 0; i < s->pair_count; i++) {
        const vm_pair *pair = &s->pairs[i];
        if (pair->in_place)
            continue;
        vm_storage from = root(s, pair->from), to = root(s, pair->to);
        if (from != to && may_merge(e, pair, from, to))
            merge(s, to, from);
    }
}

/* ---- placement ---- */

typedef struct vm_hole {
    size_t at, bytes;
} vm_hole;

/* A frame being laid out: free holes by address, and what is in use by end of life (a heap). */
typedef struct vm_layout_state {
    vm_hole *holes;
    size_t hole_count, hole_capacity;
    vm_storage *heap;
    size_t heap_count;
    size_t top; /* bytes so far */
} vm_layout_state;

static size_t rounded(size_t bytes)
{
    return (bytes + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
}

static void release_hole(vm_emit *e, vm_layout_state *l, vm_hole hole)
{
    size_t i = l->hole_count;
    vm_hole *holes = bc_grow(&e->temp, l->holes, l->hole_count, &l->hole_capacity, vm_hole);
    if (!holes) {
        e->failed = true;
        return;
    }
    l->holes = holes;
    while (i > 0 && holes[i - 1].at > hole.at)
        i--;
    bool joins_before = i > 0 && holes[i - 1].at + holes[i - 1].bytes == hole.at;
    bool joins_after = i < l->hole_count && hole.at + hole.bytes == holes[i].at;
    if (joins_before && joins_after) {
        holes[i - 1].bytes += hole.bytes + holes[i].bytes;
        memmove(&holes[i], &holes[i + 1], (--l->hole_count - i) * sizeof *holes);
    } else if (joins_before) {
        holes[i - 1].bytes += hole.bytes;
    } else if (joins_after) {
        holes[i].at = hole.at;
        holes[i].bytes += hole.bytes;
    } else {
        memmove(&holes[i + 1], &holes[i], (l->hole_count++ - i) * sizeof *holes);
        holes[i] = hole;
    }
}

static size_t take_space(vm_layout_state *l, size_t bytes)
{
    for (size_t i = 0; i < l->hole_count; i++)
        if (l->holes[i].bytes >= bytes) {
            size_t at = l->holes[i].at;
            l->holes[i].at += bytes;
            l->holes[i].bytes -= bytes;
            if (!l->holes[i].bytes)
                memmove(&l->holes[i], &l->holes[i + 1], (--l->hole_count - i) * sizeof *l->holes);
            return at;
        }
    vm_hole *last = l->hole_count ? &l->holes[l->hole_count - 1] : NULL;
    size_t at = l->top;
    if (last && last->at + last->bytes == l->top) { /* grows over the hole at the end */
        at = last->at;
        l->hole_count--;
    }
    l->top = at + bytes;
    return at;
}

static void heap_push(const vm_slot *slots, vm_layout_state *l, vm_storage id)
{
    size_t i = l->heap_count++;
    while (i > 0 && slots[l->heap[(i - 1) / 2]].hi > slots[id].hi) {
        l->heap[i] = l->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    l->heap[i] = id;
}

static vm_storage heap_pop(const vm_slot *slots, vm_layout_state *l)
{
    vm_storage top = l->heap[0], last = l->heap[--l->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= l->heap_count)
            break;
        if (child + 1 < l->heap_count && slots[l->heap[child + 1]].hi < slots[l->heap[child]].hi)
            child++;
        if (slots[l->heap[child]].hi >= slots[last].hi)
            break;
        l->heap[i] = l->heap[child];
        i = child;
    }
    l->heap[i] = last;
    return top;
}

/* What lives in the preamble stays for good, at the start of the frame; what has an image comes first. */
static void place_permanent(vm_emit *e, vm_layout_state *l, bool with_image)
{
    vm_storages *s = e->storages;
    size_t small = l->top;
    for (size_t i = 1; i < s->slot_count; i++) {
        vm_slot *slot = &s->slots[i];
        if (slot->merged != i || slot->home != e->preamble || (slot->image != NULL) != with_image || !used(slot))
            continue;
        size_t align = slot->bytes >= FRAME_ALIGN ? FRAME_ALIGN : 16;
        small = (small + align - 1) / align * align;
        slot->at = small;
        small += slot->bytes;
    }
    l->top = rounded(small);
}

typedef struct vm_birth {
    uint32_t lo;
    vm_storage id;
} vm_birth;

static int by_birth(const void *a, const void *b)
{
    const vm_birth *x = a, *y = b;
    return x->lo != y->lo ? (x->lo < y->lo ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

static void place_temporary(vm_emit *e, vm_layout_state *l)
{
    vm_storages *s = e->storages;
    vm_birth *births = bc_new(&e->temp, vm_birth, s->slot_count + 1);
    l->heap = bc_new(&e->temp, vm_storage, s->slot_count + 1);
    if (e->temp.failed) {
        e->failed = true;
        return;
    }
    size_t count = 0;
    for (size_t i = 1; i < s->slot_count; i++)
        if (s->slots[i].merged == i && s->slots[i].home != e->preamble && used(&s->slots[i]))
            births[count++] = (vm_birth){s->slots[i].lo, (vm_storage)i};
    qsort(births, count, sizeof *births, by_birth);
    for (size_t i = 0; i < count && !e->failed; i++) {
        vm_slot *slot = &s->slots[births[i].id];
        while (l->heap_count && s->slots[l->heap[0]].hi < slot->lo) {
            const vm_slot *dead = &s->slots[heap_pop(s->slots, l)];
            release_hole(e, l, (vm_hole){dead->at, rounded(dead->bytes)});
        }
        slot->at = take_space(l, rounded(slot->bytes));
        heap_push(s->slots, l, births[i].id);
    }
}

static void write_image(vm_emit *e, size_t bytes)
{
    vm_storages *s = e->storages;
    unsigned char *image = bc_arena_alloc(e->arena, bytes, FRAME_ALIGN);
    if (!image) {
        e->failed = true;
        return;
    }
    for (size_t i = 1; i < s->slot_count; i++) {
        const vm_slot *slot = &s->slots[i];
        if (slot->merged == i && slot->image && used(slot))
            memcpy(image + slot->at, slot->image, slot->bytes);
    }
    e->code->image = image;
    e->code->image_bytes = bytes;
}

void vm_assign_storage(vm_emit *e)
{
    vm_storages *s = e->storages;
    vm_layout_state l = {0};
    compute_lives(e);
    share(e);
    place_permanent(e, &l, true);
    write_image(e, l.top);
    place_permanent(e, &l, false);
    size_t permanent = l.top;
    l.top = permanent;
    place_temporary(e, &l);
    for (size_t i = 0; i < s->ref_count && !e->failed; i++)
        if (s->refs[i].field)
            *s->refs[i].field = s->slots[root(s, s->refs[i].storage)].at + s->refs[i].offset;
    e->code->frame_bytes = l.top;
}

/* Checks accesses, element by element, before they are executed: are they inside arrays, do they read memory that was
   never written, or do they conflict with another access that is not ordered?

   Two accesses to an address conflict if one of them writes. They are ordered if the token that the later one takes
   knows the earlier one (memory reference 3.4: without such a path they may happen in any order, even against that
   of the program), or if both are strong and the scope of each includes the other (section 4). */
#include <stdio.h>
#include <string.h>

#include "vm/check/access.h"
#include "vm/run/atomic.h"
#include "vm/run/view.h"

/* ---- places in messages ---- */

static void print_block(bc_text *out, const vm_run *run, uint32_t block)
{
    bc_text_printf(out, "tile block (%u, %u, %u)", block % run->grid[0], block / run->grid[0] % run->grid[1],
                   block / run->grid[0] / run->grid[1]);
}

static const char *verb_of(const vm_check_op *what)
{
    return !what->writes ? "reads" : what->reads ? "updates" : "writes";
}

/* Prints the place as an element of the parameter from which the access derives its address. */
static void print_place(bc_text *out, const vm_touch *t, uint64_t address)
{
    const vm_array *array = vm_array_of_param(t->f->run, t->what->param);
    if (!array || !vm_print_element_of(out, array, address))
        vm_print_place(out, t->f->run, address);
}

/* ---- conflicts ---- */

/* The name of the other access's parameter, if it is a different one; else NULL. */
static const char *other_name(const vm_touch *t, const vm_check_op *other)
{
    if (t->what->param == VM_NO_PARAM || other->param == t->what->param)
        return NULL;
    const vm_array *array = vm_array_of_param(t->f->run, other->param);
    return array ? array->name : NULL;
}

/* "writes element [0] of 'b', f32[8], which an earlier load_view_tko reads through 'a', REASON" */
static void find_conflict(vm_touch *t, bc_rule rule, const vm_event *a, uint64_t address, const char *reason)
{
    const vm_check_op *other = &t->f->code->check_ops[a->op];
    const char *name = other_name(t, other);
    bc_text text;
    bc_text_init(&text, &t->f->run->vm->allocator);
    bc_text_printf(&text, "%s ", verb_of(t->what));
    print_place(&text, t, address);
    bc_text_puts(&text, ", which ");
    if (a->block == t->event.block)
        bc_text_printf(&text, "an earlier %s", bc_info(other->op)->name);
    else
        print_block(&text, t->f->run, a->block);
    bc_text_printf(&text, " %s", verb_of(other));
    if (name)
        bc_text_printf(&text, " through '%s'", name);
    bc_text_puts(&text, reason);
    vm_find(t->f, rule, t->what->op, other->op, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

/* ---- tokens ---- */

static uint64_t place_of(uint64_t address, size_t element)
{
    uint64_t h = (address ^ (uint64_t)element << 48) * UINT64_C(0x9e3779b97f4a7c15) + element;
    return (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool visit_place(vm_touch *t, uint64_t address, size_t element)
{
    t->places += place_of(address, element);
    return true;
}

/* Does the store write each element to the address from which the load's last execution read the same element of its
   tile, and is it computed from it? Then the store follows the load without any token. */
static bool is_update_of(const vm_touch *t, uint32_t id, const vm_check_op *other)
{
    const vm_last *last = &t->f->check->last[vm_event_at(&t->check->events, id)->op];
    if (last->id != id || !vm_stores_loaded(t->what->op, other->op))
        return false;
    vm_touch store = {.f = t->f, .c = t->c};
    vm_visit_all(&store, visit_place);
    return store.places == last->places;
}

static void find_unordered(vm_touch *t, uint32_t id, const vm_check_op *other, uint64_t address)
{
    const vm_event *a = vm_event_at(&t->check->events, id);
    if (is_update_of(t, id, other))
        find_conflict(t, BC_RULE_X_TOK_03, a, address, ", and only the value that is stored orders the two");
    else if (other_name(t, other))
        find_conflict(t, BC_RULE_X_TOK_02, a, address, "; the two parameters share memory, and nothing orders the two");
    else
        find_conflict(t, BC_RULE_X_TOK_01, a, address, ", and no token orders the two");
}

/* Checks event a against the current access. Both access the same memory, and one of them writes. */
static void look_at(vm_touch *t, uint32_t id, uint64_t address)
{
    const vm_event *a = vm_event_at(&t->check->events, id);
    const vm_check_op *other = &t->f->code->check_ops[a->op];
    uint32_t wanted = t->check->vm->options.checks;
    bool strong = other->strong && t->what->strong;
    if (id == t->id) {
        if (!t->what->strong && t->c->bytes && (wanted & TV_CHECK_RACES)) {
            bc_text text;
            bc_text_init(&text, &t->f->run->vm->allocator);
            print_place(&text, t, address);
            vm_find(t->f, BC_RULE_X_RAC_02, t->what->op, NULL, "writes %s twice, with two elements of its tile",
                    bc_text_words(&text));
            bc_text_release(&text);
        }
    } else if (a->block == t->event.block) {
        if (!strong && (wanted & TV_CHECK_TOKENS) && !vm_clock_has(t->before, a))
            find_unordered(t, id, other, address);
    } else if (!(strong && other->wide && t->what->wide) && (wanted & TV_CHECK_RACES) && !vm_clock_has(t->before, a)) {
        find_conflict(t, BC_RULE_X_RAC_01, a, address,
                      strong ? ", and the scope of one is its own tile block" : ", and nothing orders the two");
    }
}

/* Adds this event to the set, and removes readers that it follows, since they add no information. */
static uint32_t add_reader(vm_touch *t, uint32_t set)
{
    vm_readers items[VM_MAX_READERS] = {{t->id, t->id, 0}};
    unsigned count = 1;
    for (; set; set = vm_shadow_readers(&t->check->shadow, set)->next) {
        vm_readers r = *vm_shadow_readers(&t->check->shadow, set);
        const vm_event *last = vm_event_at(&t->check->events, r.last);
        if (last->block == t->event.block && last->op == t->event.op) {
            if (!vm_clock_has(t->before, vm_event_at(&t->check->events, r.first)))
                items[0].first = r.first;
        } else if (count < VM_MAX_READERS && !vm_clock_has(t->before, last)) {
            items[count++] = r;
        }
    }
    return vm_shadow_set(&t->check->shadow, &t->check->memory, items, count, &t->failed);
}

static vm_cell advance(vm_touch *t, vm_cell cell, bool writes, uint64_t address)
{
    if (cell.writer)
        look_at(t, cell.writer, address);
    if (!writes)
        return (vm_cell){cell.writer, add_reader(t, cell.readers)};
    for (uint32_t set = cell.readers; set; set = vm_shadow_readers(&t->check->shadow, set)->next) {
        const vm_readers *r = vm_shadow_readers(&t->check->shadow, set);
        look_at(t, r->first, address);
        if (r->last != r->first)
            look_at(t, r->last, address);
    }
    return (vm_cell){t->id, 0};
}

static void touch_cell(vm_touch *t, vm_cell *cell, bool writes, uint64_t address)
{
    unsigned i = (cell->writer * 5 + cell->readers * 3) % VM_MEMO;
    if (!t->memo[i].valid || t->memo[i].from.writer != cell->writer || t->memo[i].from.readers != cell->readers
        || t->memo[i].writes != writes) {
        t->memo[i].from = *cell;
        t->memo[i].to = advance(t, *cell, writes, address);
        t->memo[i].writes = writes;
        t->memo[i].valid = true;
    }
    *cell = t->memo[i].to;
}

/* ---- one element ---- */

static void find_unwritten(vm_touch *t, uint64_t address)
{
    bc_text text;
    t->told_unwritten = true;
    bc_text_init(&text, &t->f->run->vm->allocator);
    print_place(&text, t, address);
    vm_find(t->f, BC_RULE_X_INI_01, t->what->op, NULL, "%s %s, which nothing has written", verb_of(t->what),
            bc_text_words(&text));
    bc_text_release(&text);
}

static void look_for_gap(vm_touch *t, uint64_t address)
{
    bool is_element;
    const vm_array *array = vm_arrays_find(&t->f->run->vm->arrays, address, &is_element);
    if (!array || is_element)
        return;
    t->told_gap = true;
    bc_text type;
    bc_text_init(&type, &t->f->run->vm->allocator);
    vm_array_print_type(&type, array);
    vm_find(t->f, BC_RULE_X_MEM_05, t->what->op, NULL, "%s byte %llu of '%s', %s, which belongs to no element",
            verb_of(t->what), (unsigned long long)(address - array->low), array->name, bc_text_words(&type));
    bc_text_release(&type);
}

static unsigned element_bytes(const vm_access_check *c)
{
    return c->bytes ? c->bytes : 1;
}

/* Is the element inside memory? If not, the access traps. */
static bool can_reach(vm_touch *t, uint64_t address)
{
    unsigned bytes = element_bytes(t->c);
    if (!t->region || address < t->region->start || address > t->region->end - bytes)
        t->region = vm_run_find(t->f, address, bytes);
    return t->region && !(address & (bytes - 1)) && (!t->what->writes || t->region->writable);
}

/* Records the access to an element inside memory. False: out of memory. */
static bool touch_element(vm_touch *t, uint64_t address, bool writes)
{
    const vm_access_check *c = t->c;
    unsigned bytes = element_bytes(c), count;
    if (c->bounds && t->region->gaps && !t->told_gap)
        look_for_gap(t, address);
    if (!c->shadow)
        return true;
    vm_cell *cells = vm_shadow_cells(&t->check->shadow, &t->check->memory, address, bytes, &count);
    if (!cells) {
        t->failed = true;
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (t->what->reads && t->region->undefined && !cells[i].writer && !t->told_unwritten
            && (t->check->vm->options.checks & TV_CHECK_UNINIT))
            find_unwritten(t, address);
        touch_cell(t, &cells[i], writes, address);
    }
    return !t->failed;
}

/* ---- all elements ---- */

/* The current value of an element inside memory. */
static uint64_t contents(const vm_touch *t, uint64_t address)
{
    uint64_t x = 0;
    memcpy(&x, (const void *)(uintptr_t)address, t->c->bytes);
    return x;
}

static uint64_t operand(const vm_touch *t, size_t at, size_t element)
{
    uint64_t x = 0;
    memcpy(&x, t->f->base + at + element * t->c->bytes, t->c->bytes);
    return x;
}

/* Does a write change the element? An update may leave it unchanged. */
static bool changes_memory(const vm_touch *t, uint64_t address, size_t element)
{
    const vm_access_check *c = t->c;
    uint64_t now;
    switch (t->what->op->opcode) {
    case OP_atomic_cas_tko: return contents(t, address) != operand(t, c->value, element);
    case OP_atomic_rmw_tko:
        now = contents(t, address);
        vm_atomic_update((uintptr_t)&now, (bc_kind)c->kind, (bc_AtomicRMWMode)c->mode, operand(t, c->value, element),
                         BC_MemoryOrderingSemantics_relaxed);
        return now != contents(t, address);
    default: return true;
    }
}

/* A cas that finds another value only reads. */
static bool writes_element(const vm_touch *t, uint64_t address, size_t element)
{
    if (t->what->op->opcode != OP_atomic_cas_tko)
        return t->what->writes;
    return contents(t, address) == operand(t, t->c->compare, element);
}

typedef struct visitor {
    vm_touch *t;
    vm_visit *each;
} visitor;

static bool visit_view_element(vm_frame *f, const vm_inst *inst, void *user, uint64_t address, size_t element)
{
    const visitor *v = user;
    (void)f;
    (void)inst;
    return v->each(v->t, v->t->c->bytes ? address : address / 2, element);
}

bool vm_visit_all(vm_touch *t, vm_visit *each)
{
    const vm_access_check *c = t->c;
    if (c->is_view) {
        visitor v = {t, each};
        return vm_view_each(t->f, &c->head, &c->info, visit_view_element, &v);
    }
    const uint64_t *pointers = vm_at(t->f, c->pointers);
    for (size_t i = 0; i < c->n; i++)
        if ((!c->has_mask || t->f->base[c->mask + i]) && !each(t, pointers[i], i))
            return false;
    return true;
}

static bool visit_touch(vm_touch *t, uint64_t address, size_t element)
{
    if (!can_reach(t, address)) {
        t->traps = true;
        return false;
    }
    bool writes = writes_element(t, address, element);
    if (writes && changes_memory(t, address, element))
        t->check->changes++;
    t->places += place_of(address, element);
    if (!touch_element(t, address, writes))
        return false;
    if (!t->what->acquires || !t->c->order)
        return true;
    const vm_clock *clock = vm_syncs_get(&t->check->syncs, address);
    if (clock && clock != t->seen) {
        t->after = vm_clock_acquire(&t->f->check->clocks, t->after, clock);
        t->seen = clock;
    }
    return true;
}

/* Sets the clock that later acquires of this address obtain. A store with release starts a new one; an update with
   release adds to it; a relaxed update leaves it (a release sequence); any other store removes it. */
static bool visit_publish(vm_touch *t, uint64_t address, size_t element)
{
    struct vm_check *check = t->check;
    const struct vm_check_block *block = t->f->check;
    if (!writes_element(t, address, element) || (!t->what->releases && t->what->reads))
        return true;
    const vm_clock *old = t->what->releases && t->what->reads ? vm_syncs_get(&check->syncs, address) : NULL;
    if (t->what->releases && !t->own)
        t->own = vm_clock_publish(&check->clocks, t->after, t->event.block, block->instances,
                                  t->f->code->check_op_count, block->sequence);
    if (t->what->releases && (!t->joined || old != t->old)) {
        t->old = old;
        t->joined = vm_clock_join(&check->clocks, old, t->own);
    }
    if (!vm_syncs_set(&check->syncs, &check->memory, address, t->what->releases ? t->joined : NULL))
        t->failed = true;
    return !t->failed;
}

/* ---- indices ---- */

static uint64_t index_of(const vm_frame *f, const vm_tile_dim *d)
{
    uint64_t x = 0;
    memcpy(&x, f->base + d->index, d->index_bytes);
    return x;
}

/* Along the dimension that a tile of indices selects, all indices are permitted unless inbounds is promised. */
static void look_at_sparse_indices(vm_touch *t, uint32_t i, uint64_t size)
{
    const vm_tile_dim *d = &t->c->info.dims[i];
    for (int64_t k = 0; k < d->extent; k++) {
        uint64_t index = 0;
        memcpy(&index, t->f->base + d->index + (size_t)k * d->index_bytes, d->index_bytes);
        if (index >= size) {
            vm_find(t->f, BC_RULE_X_IDX_03, t->what->op, NULL,
                    "element %lld of index %u is %llu, and the view has %llu there", (long long)k, i,
                    (unsigned long long)index, (unsigned long long)size);
            return;
        }
    }
}

/* An index outside the index space has no meaning, and a promise of inbounds must hold. */
static void look_at_indices(vm_touch *t)
{
    const vm_access_check *c = t->c;
    const vm_record *record = vm_at(t->f, c->info.record);
    for (uint32_t i = 0; i < c->info.rank; i++) {
        const vm_tile_dim *d = &c->info.dims[i];
        uint64_t size = (uint64_t)record->dims[d->dim], step = (uint64_t)d->step, index = index_of(t->f, d);
        if ((int32_t)i == c->info.sparse) {
            if (c->inbounds && c->inbounds[i])
                look_at_sparse_indices(t, i, size);
            continue;
        }
        uint64_t count = size / step + (size % step != 0);
        if (index >= count)
            vm_find(t->f, BC_RULE_X_IDX_02, t->what->op, NULL, "index %u is %llu, and the view has %llu tiles there", i,
                    (unsigned long long)index, (unsigned long long)count);
        else if (c->inbounds && c->inbounds[i] && size - index * step < (uint64_t)d->extent)
            vm_find(t->f, BC_RULE_X_IDX_03, t->what->op, NULL,
                    "the tile at index %llu of dimension %u has %lld elements, of which %llu lie inside",
                    (unsigned long long)index, i, (long long)d->extent, (unsigned long long)(size - index * step));
    }
}

/* ---- one access ---- */

static bool visit_only_reads(vm_touch *t, uint64_t address, size_t element)
{
    return can_reach(t, address) && !writes_element(t, address, element);
}

/* A strong access that only reads, again and again, is waiting. It stays one event as long as its token is the same,
   so that a block that waits long does not fill the memory. */
static bool is_again(vm_touch *t)
{
    const vm_last *last = &t->f->check->last[t->c->number];
    return last->id && t->what->strong && (t->before == last->before || t->before == last->after)
           && (!t->what->writes || (t->what->op->opcode == OP_atomic_cas_tko && vm_visit_all(t, visit_only_reads)));
}

static bool begin_event(vm_touch *t)
{
    struct vm_check_block *block = t->f->check;
    vm_last *last = &block->last[t->c->number];
    if (is_again(t)) {
        t->id = last->id;
        t->event = *vm_event_at(&t->check->events, t->id);
        t->after = last->after;
        return true;
    }
    t->event =
        (vm_event){(uint32_t)t->f->block_index, t->c->number, block->instances[t->c->number]++, block->sequence++};
    t->id = vm_events_add(&t->check->events, &t->check->memory, t->event);
    *last = (vm_last){.id = t->id, .before = t->before};
    return t->id != 0;
}

/* Sets the clock of the result: the events before it, the acquired ones, and the event itself. */
static void end_event(vm_touch *t)
{
    vm_last *last = &t->f->check->last[t->c->number];
    if (!vm_clock_has(t->after, &t->event))
        t->after = vm_clock_with(&t->f->check->clocks, t->after, &t->event);
    last->after = t->after;
    last->places = t->places;
    memcpy(t->f->base + t->c->token_out, &t->after, sizeof t->after);
}

const vm_inst *vm_access_run(vm_frame *f, const vm_inst *inst)
{
    const vm_access_check *c = (const vm_access_check *)inst;
    struct vm_check *check = f->run->check;
    vm_touch t = {.f = f, .c = c, .what = &f->code->check_ops[c->number], .check = check};
    if (c->is_view && c->bounds)
        look_at_indices(&t);
    if (c->has_token_in)
        t.before = t.after = vm_token_at(f, c->token_in);
    if (c->shadow && !begin_event(&t))
        return vm_check_no_memory(f, inst);
    const bc_arena *clocks = &f->check->clocks;
    vm_visit_all(&t, visit_touch);
    if (c->order && !t.failed && !clocks->failed)
        end_event(&t);
    if (c->order && !t.failed && !clocks->failed && t.what->writes && !t.traps
        && (t.what->releases || check->syncs.count))
        vm_visit_all(&t, visit_publish);
    if (t.failed || clocks->failed || check->clocks.failed)
        return vm_check_no_memory(f, inst);
    return inst->next;
}

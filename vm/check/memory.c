/* Accesses, looked at element by element before they are made: whether they lie between elements, read what nothing has
   written, or conflict with another access that nothing orders.

   Two accesses of a location conflict when one of them writes. They are ordered when the token that the later one takes
   knows the earlier one (memory reference 3.4: without such a path they may happen in any order, even against the order
   of the program), or when both are strong and the scope of each reaches the other (section 4). */
#include <stdio.h>
#include <string.h>

#include "vm/run/atomic.h"
#include "vm/check/check.h"
#include "vm/compile/compile.h"
#include "vm/compile/access.h"
#include "vm/run/view.h"

typedef struct access_check {
    vm_inst head;
    uint32_t number; /* in vm_code.check_ops */
    bool is_view;
    vm_access_info info;     /* views */
    const int64_t *inbounds; /* views: promises by dimension, or NULL */
    size_t pointers, n;      /* pointers */
    size_t mask;
    bool has_mask;
    uint8_t kind, bytes;   /* of an element in memory; bytes 0: f4 */
    size_t value, compare; /* rmw, cas: operands */
    uint8_t mode;          /* rmw: bc_AtomicRMWMode */
    size_t token_in, token_out;
    bool has_token_in;
    bool order, shadow, bounds; /* what is wanted */
} access_check;

enum { MEMO = 16 };

/* One execution. */
typedef struct touch {
    vm_frame *f;
    const access_check *c;
    const vm_check_op *what;
    struct vm_check *check;
    vm_event event;
    uint32_t id;                  /* of the event */
    const vm_clock *before;       /* what the token orders before this access */
    const vm_clock *after;        /* that, and what was acquired */
    const vm_clock *seen;         /* joined last into after */
    const vm_clock *own;          /* release: what this one publishes by itself */
    const vm_clock *old, *joined; /* the last clock that was joined with that, and the result */
    const vm_region *region;      /* of the last element */
    struct {
        vm_cell from, to;
        bool writes, valid;
    } memo[MEMO];                  /* cells change alike: what became of the last ones */
    bool told_unwritten, told_gap; /* a finding of this execution; there may be one for every element */
    bool traps;                    /* the access itself will, at an element that it cannot reach */
    bool failed;                   /* out of memory */
} touch;

/* ---- the place in words ---- */

static void print_block(bc_text *out, const vm_run *run, uint32_t block)
{
    bc_text_printf(out, "tile block (%u, %u, %u)", block % run->grid[0], block / run->grid[0] % run->grid[1],
                   block / run->grid[0] / run->grid[1]);
}

static const char *verb_of(const vm_check_op *what)
{
    return !what->writes ? "reads" : what->reads ? "updates" : "writes";
}

/* ---- conflicts ---- */

static void find_conflict(touch *t, bc_rule rule, const vm_event *a, uint64_t address, const char *reason)
{
    const vm_check_op *other = &t->f->code->check_ops[a->op];
    bc_text text;
    bc_text_init(&text, &t->f->run->vm->allocator);
    bc_text_printf(&text, "%s ", verb_of(t->what));
    vm_print_place(&text, t->f->run, address);
    bc_text_puts(&text, ", which ");
    if (a->block == t->event.block)
        bc_text_printf(&text, "an earlier %s", bc_info(other->op)->name);
    else
        print_block(&text, t->f->run, a->block);
    bc_text_printf(&text, " %s%s", verb_of(other), reason);
    vm_find(t->f, rule, t->what->op, other->op, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

/* Whether event a may happen at the same time as this one, or after it; they touch the same place, and one writes. */
static void look_at(touch *t, uint32_t id, uint64_t address)
{
    const vm_event *a = vm_event_at(&t->check->events, id);
    const vm_check_op *other = &t->f->code->check_ops[a->op];
    uint32_t wanted = t->check->vm->options.checks;
    bool strong = other->strong && t->what->strong;
    if (id == t->id) {
        if (!t->what->strong && t->c->bytes && (wanted & TV_CHECK_RACES)) {
            bc_text text;
            bc_text_init(&text, &t->f->run->vm->allocator);
            vm_print_place(&text, t->f->run, address);
            vm_find(t->f, BC_RULE_X_RAC_02, t->what->op, NULL, "writes %s twice, with two elements of its tile",
                    bc_text_words(&text));
            bc_text_release(&text);
        }
    } else if (a->block == t->event.block) {
        if (!strong && (wanted & TV_CHECK_TOKENS) && !vm_clock_has(t->before, a))
            find_conflict(t, BC_RULE_X_TOK_01, a, address, ", and no token orders the two");
    } else if (!(strong && other->wide && t->what->wide) && (wanted & TV_CHECK_RACES) && !vm_clock_has(t->before, a)) {
        find_conflict(t, BC_RULE_X_RAC_01, a, address,
                      strong ? ", and the scope of one is its own tile block" : ", and nothing orders the two");
    }
}

/* The set with this event added. Readers that it is ordered after say nothing more than it does. */
static uint32_t add_reader(touch *t, uint32_t set)
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

static vm_cell advance(touch *t, vm_cell cell, bool writes, uint64_t address)
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

static void touch_cell(touch *t, vm_cell *cell, bool writes, uint64_t address)
{
    unsigned i = (cell->writer * 5 + cell->readers * 3) % MEMO;
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

static void find_unwritten(touch *t, uint64_t address)
{
    bc_text text;
    t->told_unwritten = true;
    bc_text_init(&text, &t->f->run->vm->allocator);
    vm_print_place(&text, t->f->run, address);
    vm_find(t->f, BC_RULE_X_INI_01, t->what->op, NULL, "%s %s, which nothing has written", verb_of(t->what),
            bc_text_words(&text));
    bc_text_release(&text);
}

static void look_for_gap(touch *t, uint64_t address)
{
    bool is_element;
    const vm_array *array = vm_arrays_find(&t->f->run->vm->arrays, address, &is_element);
    if (!array || is_element)
        return;
    t->told_gap = true;
    bc_text type;
    bc_text_init(&type, &t->f->run->vm->allocator);
    vm_array_print_type(&type, array);
    vm_find(t->f, BC_RULE_X_MEM_05, t->what->op, NULL, "%s byte %llu of '%s', %s, where no element lies",
            verb_of(t->what), (unsigned long long)(address - array->low), array->name, bc_text_words(&type));
    bc_text_release(&type);
}

static unsigned element_bytes(const access_check *c)
{
    return c->bytes ? c->bytes : 1;
}

/* Whether the access can reach the element; it traps where it cannot. */
static bool can_reach(touch *t, uint64_t address)
{
    unsigned bytes = element_bytes(t->c);
    if (!t->region || address < t->region->start || address > t->region->end - bytes)
        t->region = vm_run_find(t->f, address, bytes);
    return t->region && !(address & (bytes - 1)) && (!t->what->writes || t->region->writable);
}

/* Notes what the access is about to do with an element that it can reach. False: out of memory. */
static bool touch_element(touch *t, uint64_t address, bool writes)
{
    const access_check *c = t->c;
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

/* The element as it is; only for those that the access can reach. */
static uint64_t contents(const touch *t, uint64_t address)
{
    uint64_t x = 0;
    memcpy(&x, (const void *)(uintptr_t)address, t->c->bytes);
    return x;
}

static uint64_t operand(const touch *t, size_t at, size_t element)
{
    uint64_t x = 0;
    memcpy(&x, t->f->base + at + element * t->c->bytes, t->c->bytes);
    return x;
}

/* Whether a write changes the element at all; an update may leave it as it is. */
static bool changes_memory(const touch *t, uint64_t address, size_t element)
{
    const access_check *c = t->c;
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
static bool writes_element(const touch *t, uint64_t address, size_t element)
{
    if (t->what->op->opcode != OP_atomic_cas_tko)
        return t->what->writes;
    return contents(t, address) == operand(t, t->c->compare, element);
}

typedef bool visit(touch *t, uint64_t address, size_t element);

typedef struct visitor {
    touch *t;
    visit *each;
} visitor;

static bool visit_view_element(vm_frame *f, const vm_inst *inst, void *user, uint64_t address, size_t element)
{
    const visitor *v = user;
    (void)f;
    (void)inst;
    return v->each(v->t, v->t->c->bytes ? address : address / 2, element);
}

static bool visit_all(touch *t, visit *each)
{
    const access_check *c = t->c;
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

static bool visit_touch(touch *t, uint64_t address, size_t element)
{
    if (!can_reach(t, address)) {
        t->traps = true;
        return false;
    }
    bool writes = writes_element(t, address, element);
    if (writes && changes_memory(t, address, element))
        t->check->changes++;
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

/* What others see who acquire this location from now on. A release that is a store begins anew; an update adds to what
   is there, and a relaxed one leaves it (a release sequence); any other store ends it. */
static bool visit_publish(touch *t, uint64_t address, size_t element)
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

/* Along the dimension that a tile of indices selects anything may be an index, unless all were promised to lie inside.
 */
static void look_at_sparse_indices(touch *t, uint32_t i, uint64_t size)
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

/* An index outside the index space means nothing, and a promise of inbounds must hold. */
static void look_at_indices(touch *t)
{
    const access_check *c = t->c;
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

static bool visit_only_reads(touch *t, uint64_t address, size_t element)
{
    return can_reach(t, address) && !writes_element(t, address, element);
}

/* A strong access that only reads, again and again, waits for something. It stays one event as long as nothing else
   came before it, or a block that waits long would fill the memory. */
static bool is_again(touch *t)
{
    const vm_last *last = &t->f->check->last[t->c->number];
    return last->id && t->what->strong && (t->before == last->before || t->before == last->after)
           && (!t->what->writes || (t->what->op->opcode == OP_atomic_cas_tko && visit_all(t, visit_only_reads)));
}

static bool begin_event(touch *t)
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

/* The clock of the result: what came before, what was acquired, and the event itself. */
static void end_event(touch *t)
{
    vm_last *last = &t->f->check->last[t->c->number];
    if (!vm_clock_has(t->after, &t->event))
        t->after = vm_clock_with(&t->f->check->clocks, t->after, &t->event);
    last->after = t->after;
    memcpy(t->f->base + t->c->token_out, &t->after, sizeof t->after);
}

static const vm_inst *access_run(vm_frame *f, const vm_inst *inst)
{
    const access_check *c = (const access_check *)inst;
    struct vm_check *check = f->run->check;
    touch t = {.f = f, .c = c, .what = &f->code->check_ops[c->number], .check = check};
    if (c->is_view && c->bounds)
        look_at_indices(&t);
    if (c->has_token_in)
        t.before = t.after = vm_token_at(f, c->token_in);
    if (c->shadow && !begin_event(&t))
        return vm_check_no_memory(f, inst);
    const bc_arena *clocks = &f->check->clocks;
    visit_all(&t, visit_touch);
    if (c->order && !t.failed && !clocks->failed)
        end_event(&t);
    if (c->order && !t.failed && !clocks->failed && t.what->writes && !t.traps
        && (t.what->releases || check->syncs.count))
        visit_all(&t, visit_publish);
    if (t.failed || clocks->failed || check->clocks.failed)
        return vm_check_no_memory(f, inst);
    return inst->next;
}

/* ---- compiling accesses ---- */

/* The rows of an op that touches memory; 0, a row of absi, where it has none. */
typedef struct access_rows {
    int pointers, view, index, inbounds, mask, value, compare, mode, order, scope, token;
} access_rows;

static bool rows_of(const bc_op *op, access_rows *out)
{
    switch (op->opcode) {
    case OP_load_ptr_tko:
        *out = (access_rows){.pointers = F_load_ptr_tko_source,
                             .mask = F_load_ptr_tko_mask,
                             .order = F_load_ptr_tko_memory_ordering_semantics,
                             .scope = F_load_ptr_tko_memory_scope,
                             .token = F_load_ptr_tko_token};
        return true;
    case OP_store_ptr_tko:
        *out = (access_rows){.pointers = F_store_ptr_tko_destination,
                             .mask = F_store_ptr_tko_mask,
                             .order = F_store_ptr_tko_memory_ordering_semantics,
                             .scope = F_store_ptr_tko_memory_scope,
                             .token = F_store_ptr_tko_token};
        return true;
    case OP_atomic_rmw_tko:
        *out = (access_rows){.pointers = F_atomic_rmw_tko_pointers,
                             .mask = F_atomic_rmw_tko_mask,
                             .value = F_atomic_rmw_tko_arg,
                             .mode = F_atomic_rmw_tko_mode,
                             .order = F_atomic_rmw_tko_memory_ordering_semantics,
                             .scope = F_atomic_rmw_tko_memory_scope,
                             .token = F_atomic_rmw_tko_token};
        return true;
    case OP_atomic_cas_tko:
        *out = (access_rows){.pointers = F_atomic_cas_tko_pointers,
                             .mask = F_atomic_cas_tko_mask,
                             .value = F_atomic_cas_tko_val,
                             .compare = F_atomic_cas_tko_cmp,
                             .order = F_atomic_cas_tko_memory_ordering_semantics,
                             .scope = F_atomic_cas_tko_memory_scope,
                             .token = F_atomic_cas_tko_token};
        return true;
    case OP_load_view_tko:
        *out = (access_rows){.view = F_load_view_tko_view,
                             .index = F_load_view_tko_index,
                             .inbounds = F_load_view_tko_inbounds,
                             .order = F_load_view_tko_memory_ordering_semantics,
                             .scope = F_load_view_tko_memory_scope,
                             .token = F_load_view_tko_token};
        return true;
    case OP_store_view_tko:
        *out = (access_rows){.view = F_store_view_tko_view,
                             .index = F_store_view_tko_index,
                             .inbounds = F_store_view_tko_inbounds,
                             .order = F_store_view_tko_memory_ordering_semantics,
                             .scope = F_store_view_tko_memory_scope,
                             .token = F_store_view_tko_token};
        return true;
    case OP_atomic_red_view_tko:
        *out = (access_rows){.view = F_atomic_red_view_tko_view,
                             .index = F_atomic_red_view_tko_index,
                             .inbounds = F_atomic_red_view_tko_inbounds,
                             .order = F_atomic_red_view_tko_memory_ordering_semantics,
                             .scope = F_atomic_red_view_tko_memory_scope,
                             .token = F_atomic_red_view_tko_token};
        return true;
    default: return false;
    }
}

static vm_check_op describe(const bc_op *op, const access_rows *rows)
{
    uint64_t order = bc_attr_u(op, rows->order), scope = bc_attr_u(op, rows->scope);
    bool acq_rel = order == BC_MemoryOrderingSemantics_acq_rel;
    vm_check_op what = {.op = op,
                        .reads = bc_info(op)->effects & BC_READS,
                        .writes = bc_info(op)->effects & BC_WRITES,
                        .strong = order != BC_MemoryOrderingSemantics_weak};
    what.wide = what.strong && scope != BC_MemoryScope_tl_blk;
    what.acquires = what.wide && (acq_rel || order == BC_MemoryOrderingSemantics_acquire);
    what.releases = what.wide && (acq_rel || order == BC_MemoryOrderingSemantics_release);
    return what;
}

static uint32_t add_op(vm_emit *e, const bc_op *op, const access_rows *rows)
{
    vm_compile *c = e->compile;
    vm_check_op *ops = bc_grow(e->arena, c->check_ops, c->check_op_count, &c->check_op_capacity, vm_check_op);
    if (!ops) {
        e->failed = true;
        return 0;
    }
    c->check_ops = ops;
    ops[c->check_op_count] = describe(op, rows);
    return c->check_op_count++;
}

static void bind_token(vm_emit *e, vm_inst *inst, size_t *field, bool *has, const bc_value *v)
{
    *has = v != NULL;
    if (v)
        vm_read(e, inst, field, v);
}

static void bind_view(vm_emit *e, access_check *c, const bc_op *op, const access_rows *rows)
{
    const bc_value *view = bc_operand(op, rows->view);
    bc_range index = bc_operand_range(op, rows->index);
    const bc_ints *promises = bc_attr_of(op, rows->inbounds)->ints;
    c->is_view = true;
    vm_bind_access(e, &c->head, &c->info, view, bc_operands(op) + index.first,
                   (bc_MemoryOrderingSemantics)bc_attr_u(op, rows->order));
    c->inbounds = promises && promises->count == index.count ? promises->ptr : NULL;
    c->kind = c->info.kind;
    c->bytes = c->info.bytes;
}

static void bind_pointers(vm_emit *e, access_check *c, const bc_op *op, const access_rows *rows)
{
    const bc_value *pointers = bc_operand(op, rows->pointers), *mask = bc_operand(op, rows->mask);
    bc_kind kind = (bc_kind)pointers->type->elem->elem->kind;
    c->kind = (uint8_t)kind;
    c->bytes = (uint8_t)bc_kind_memory_bytes(kind);
    c->n = vm_count(pointers);
    vm_read_packed(e, &c->head, &c->pointers, pointers);
    c->has_mask = mask != NULL;
    if (mask)
        vm_read_packed(e, &c->head, &c->mask, mask);
    if (rows->value)
        vm_read_packed(e, &c->head, &c->value, bc_operand(op, rows->value));
    if (rows->compare)
        vm_read_packed(e, &c->head, &c->compare, bc_operand(op, rows->compare));
    if (rows->mode)
        c->mode = (uint8_t)bc_attr_u(op, rows->mode);
}

static void emit_access(vm_emit *e, const bc_op *op, const access_rows *rows)
{
    uint32_t wanted = e->vm->options.checks;
    for (unsigned i = 0; i < op->operand_count; i++)
        if (bc_is_tile(bc_operands(op)[i]->type))
            vm_need_packed(e, bc_operands(op)[i]);
    access_check *c = vm_new_inst(e, op, access_run, access_check);
    c->number = add_op(e, op, rows);
    c->order = vm_checks_tokens(e);
    c->shadow = c->order || (wanted & TV_CHECK_UNINIT);
    c->bounds = (wanted & TV_CHECK_BOUNDS) != 0;
    if (rows->view)
        bind_view(e, c, op, rows);
    else
        bind_pointers(e, c, op, rows);
    if (c->order) {
        bind_token(e, &c->head, &c->token_in, &c->has_token_in, bc_operand(op, rows->token));
        vm_write_token(e, &c->head, &c->token_out, vm_result(op, op->result_count - 1u));
    }
    vm_append(e, &c->head);
}

/* ---- open elements ---- */

/* Elements of a load that lie outside a view without padding, or whose lane is masked off without a value for it (a
   load or an atomic), may hold anything. */
typedef struct open_check {
    access_check access; /* what is not open */
    size_t result, count;
    uint8_t bytes;
    uint64_t junk; /* pattern that open elements get */
    size_t inside; /* scratch: a byte for each element */
} open_check;

static bool visit_inside(touch *t, uint64_t address, size_t element)
{
    (void)address;
    t->f->base[((const open_check *)t->c)->inside + element] = 1;
    return true;
}

static const vm_inst *open_run(vm_frame *f, const vm_inst *inst)
{
    const open_check *o = (const open_check *)inst;
    if (!f->run->check->junk)
        return inst->next;
    touch t = {.f = f, .c = &o->access};
    memset(f->base + o->inside, 0, o->count);
    visit_all(&t, visit_inside);
    for (size_t i = 0; i < o->count; i++)
        if (!f->base[o->inside + i])
            memcpy(f->base + o->result + i * o->bytes, &o->junk, o->bytes);
    return inst->next;
}

/* Far from 0, but a number of every kind; i1 has only one other value. */
static uint64_t junk_of(bc_kind kind)
{
    return kind == BC_I1                          ? 1
           : kind == BC_I4 || kind == BC_F4E2M1FN ? 5
           : kind == BC_TF32                      ? 0x5a5a4000u
                                                  : 0x5a5a5a5a5a5a5a5au;
}

static bool leaves_open(const bc_op *op, const access_rows *rows)
{
    if (op->opcode == OP_load_view_tko)
        return bc_operand(op, F_load_view_tko_view)->type->padding == BC_NO_PADDING;
    if (op->opcode == OP_load_ptr_tko)
        return bc_operand(op, rows->mask) && !bc_operand(op, F_load_ptr_tko_padding_value);
    return op->opcode == OP_atomic_rmw_tko && bc_operand(op, rows->mask);
}

void vm_emit_open_elements(vm_emit *e, const bc_op *op)
{
    access_rows rows;
    if (!(e->vm->options.checks & TV_CHECK_UNINIT) || !rows_of(op, &rows) || !leaves_open(op, &rows))
        return;
    const bc_value *result = vm_result(op, 0);
    open_check *o = vm_new_inst(e, op, open_run, open_check);
    vm_inst *inst = &o->access.head;
    if (rows.view)
        bind_view(e, &o->access, op, &rows);
    else
        bind_pointers(e, &o->access, op, &rows);
    o->count = vm_count(result);
    o->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(result->type));
    o->junk = junk_of(bc_elem_kind(result->type));
    vm_bind(e, inst, &o->result, vm_value_of(e, result)->storage, 0, VM_UPDATE);
    vm_bind(e, inst, &o->inside, vm_new_storage(e, o->count, e->at), 0, VM_UPDATE);
    vm_append(e, inst);
    e->code->opens = true;
}

void vm_emit_memory_checks(vm_emit *e, const bc_op *op)
{
    uint32_t wanted = e->vm->options.checks;
    access_rows rows;
    if (rows_of(op, &rows)) {
        if (wanted & (TV_CHECK_BOUNDS | TV_CHECK_UNINIT | TV_CHECK_RACES | TV_CHECK_TOKENS))
            emit_access(e, op, &rows);
    } else if (vm_checks_tokens(e) && op->region_count == 0) {
        vm_emit_join(e, op);
    }
}

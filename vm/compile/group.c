/* Making groups: an element-wise op joins the open group of its piece of code that walks the same index space, or
   starts one. A group is closed, which emits it, as soon as something else needs one of its values.

   No open group takes values from another open one: the other is closed first. So groups can be closed in any order. */
#include "vm/compile/group.h"

#include <string.h>

#include "vm/compile/compile.h"
#include "vm/compile/map.h"
#include "vm/compile/plan.h"
#include "vm/run/schedule.h"
#include "vm/compile/storage.h"

enum { MAX_SINKS = 8 };
enum { MIN_STREAMED = 32 << 20, MIN_STREAMED_TILE = 4096, MIN_STREAMED_STRIP = 1024 }; /* bytes; of a tensor */

typedef struct group_node {
    uint32_t first_value; /* steps: ids + 1 of the values that are this node, through vm_value.same_node */
    vm_map map;           /* steps */
    uint16_t in[3];
    uint16_t uses;     /* inside the group */
    uint16_t last_use; /* step that reads it last, by node */
    uint32_t outside;  /* uses that are not inside, counted down as they turn up inside */
    int16_t sink;      /* or -1 */
    bool slot;         /* steps: also needed outside */
    /* leaves */
    vm_leaf leaf;
    vm_storage storage, staging;
    size_t offset;
} group_node;

struct vm_group {
    vm_ctx *ctx;
    vm_group *next;
    uint32_t bits, mask; /* the index space: its bits, and those that are not broadcast */
    bool lanes, lazy;    /* lazy: has ROWS leaves */
    uint32_t leaf_count, step_count;
    group_node *leaves, *steps; /* VM_MAX_NODES together */
    uint32_t sink_count;
    vm_sink *sinks;
    const bc_op *sink_ops[MAX_SINKS];
    vm_bind_sink *binds[MAX_SINKS];
    uint32_t sink_steps[MAX_SINKS];
    const bc_op *last_op;
};

/* Nodes are referred to as leaves from 0 on and as steps from STEP on until the group is closed. */
enum { STEP = 1 << 14 };

static group_node *node_of(vm_group *g, uint32_t node)
{
    return node >= STEP ? &g->steps[node - STEP] : &g->leaves[node];
}

static vm_group *new_group(vm_emit *e, vm_ctx *ctx, uint32_t bits, uint32_t mask)
{
    vm_group *g = bc_new(&e->temp, vm_group, 1);
    group_node *nodes = bc_new(&e->temp, group_node, 2 * VM_MAX_NODES);
    if (!g || !nodes) {
        e->failed = true;
        return NULL;
    }
    g->ctx = ctx;
    g->bits = bits;
    g->mask = mask;
    g->leaves = nodes;
    g->steps = nodes + VM_MAX_NODES;
    return g;
}

/* ---- joining ---- */

static vm_group *find_group(vm_emit *e, vm_ctx *ctx, uint32_t bits, uint32_t mask)
{
    if (e->lanes)
        return e->lanes;
    for (vm_group *g = ctx->groups; g; g = g->next)
        if (g->bits == bits && g->mask == mask)
            return g;
    vm_group *g = new_group(e, ctx, bits, mask);
    if (g) {
        g->next = ctx->groups;
        ctx->groups = g;
    }
    return g;
}

/* The bits in which the operands of a map differ from element to element. */
static uint32_t map_mask(vm_emit *e, unsigned count, bc_value *const *operands)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < count; i++)
        mask |= vm_layout_mask(&vm_value_of(e, operands[i])->layout);
    return mask;
}

static unsigned run_of(const vm_layout *layout, bool *out_repeats)
{
    unsigned run = 0;
    *out_repeats = layout->bits && layout->stride[0] == 0;
    while (run < layout->bits && layout->stride[run] == (*out_repeats ? 0 : (uint32_t)1 << run))
        run++;
    return run;
}

static bool same_leaf(const group_node *n, const vm_value *v, const vm_layout *layout)
{
    return n->storage == v->storage && n->offset == v->offset && n->leaf.bytes == v->elem_bytes
           && (n->leaf.kind == VM_LEAF_ROWS) == (v->form == VM_ROWS)
           && memcmp(&n->leaf.layout, layout, sizeof *layout) == 0;
}

/* The leaf of g that brings in v; a new one if there is none. */
static uint32_t leaf_of(vm_emit *e, vm_group *g, const bc_value *value)
{
    vm_value *v = vm_value_of(e, value);
    vm_layout layout = g->lanes ? vm_layout_packed(0) : vm_layout_compact(&v->layout, g->mask);
    for (uint32_t i = 0; i < g->leaf_count; i++)
        if (same_leaf(&g->leaves[i], v, &layout))
            return i;
    group_node *n = &g->leaves[g->leaf_count];
    *n = (group_node){.storage = v->storage, .offset = v->offset, .staging = v->staging, .sink = -1};
    n->leaf = (vm_leaf){.kind = v->form == VM_ROWS ? VM_LEAF_ROWS : VM_LEAF_EACH,
                        .bytes = v->elem_bytes,
                        .row_bits = v->row_bits,
                        .layout = layout};
    g->lazy |= v->form == VM_ROWS;
    return g->leaf_count++;
}

/* One map over the whole tile, at once: operands and result packed, or all of them one element. */
static void emit_whole(vm_emit *e, const bc_op *op, const bc_value *result, const vm_map *map,
                       bc_value *const *operands, const vm_layout *layout)
{
    bool scalar = vm_layout_mask(layout) == 0;
    for (unsigned i = 0; i < map->operands; i++) {
        vm_need_stored(e, operands[i]);
        if (!scalar)
            vm_need_packed(e, operands[i]);
    }
    vm_map_inst *inst = vm_new_inst(e, op, vm_map_inst_run, vm_map_inst);
    inst->map = *map;
    inst->n = scalar ? 1 : (size_t)1 << layout->bits;
    for (unsigned i = 0; i < map->operands; i++) {
        if (scalar)
            vm_read(e, &inst->head, &inst->in[i], operands[i]);
        else
            vm_read_packed(e, &inst->head, &inst->in[i], operands[i]);
    }
    vm_storage out = vm_new_storage(e, inst->n * map->out_bytes, e->at);
    vm_set_stored(e, result, out, layout, &inst->head);
    vm_bind(e, &inst->head, &inst->out, out, 0, VM_WRITE);
    vm_append(e, &inst->head);
}

const vm_inst *vm_map_inst_run(vm_frame *f, const vm_inst *inst)
{
    const vm_map_inst *m = (const vm_map_inst *)inst;
    vm_map_run(&m->map, vm_at(f, m->out), vm_at(f, m->in[0]), vm_at(f, m->in[1]), vm_at(f, m->in[2]), m->n);
    return inst->next;
}

static bool in_group(vm_emit *e, const bc_value *v, const vm_group *g)
{
    const vm_value *x = vm_value_of(e, v);
    return x->form == VM_NODE && x->group == g;
}

/* A step that makes nothing yet known as a value; its operands are nodes of the group or leaves to be. */
static uint32_t add_node(vm_emit *e, vm_group *g, const bc_op *op, const vm_map *map, bc_value *const *operands)
{
    group_node *n = &g->steps[g->step_count];
    *n = (group_node){.map = *map, .sink = -1};
    for (unsigned i = 0; i < map->operands; i++) {
        uint32_t in = in_group(e, operands[i], g) ? vm_value_of(e, operands[i])->node : leaf_of(e, g, operands[i]);
        group_node *source = node_of(g, in);
        n->in[i] = (uint16_t)in;
        source->uses++;
        source->last_use = (uint16_t)g->step_count;
        if (in >= STEP)
            source->outside--;
    }
    for (unsigned i = map->operands; i < 3; i++)
        n->in[i] = n->in[0];
    g->last_op = op;
    return STEP + g->step_count++;
}

static void add_step(vm_emit *e, vm_group *g, const bc_op *op, const bc_value *result, const vm_map *map,
                     bc_value *const *operands)
{
    uint32_t id = add_node(e, g, op, map, operands);
    vm_value *v = vm_value_of(e, result);
    node_of(g, id)->first_value = result->id + 1;
    node_of(g, id)->outside = v->uses;
    v->form = VM_NODE;
    v->elem_bytes = map->out_bytes;
    v->layout = g->lanes ? vm_layout_packed(0) : vm_layout_masked(g->bits, g->mask);
    v->group = g;
    v->node = id;
    v->same_node = 0;
    v->home = g->lanes ? e->cur : g->ctx;
    v->packed = VM_NO_STORAGE;
}

static bool has_room(const vm_group *g)
{
    return g->leaf_count + 3 <= VM_MAX_NODES && g->step_count + 1 <= VM_MAX_NODES;
}

/* The group of e->at for an index space, with room for one more step; NULL when out of memory. */
static vm_group *group_with_room(vm_emit *e, uint32_t bits, uint32_t mask)
{
    vm_group *g = find_group(e, e->at, bits, mask);
    if (!g || has_room(g))
        return g;
    vm_close_group(e, g);
    return find_group(e, e->at, bits, mask);
}

void vm_emit_map_of(vm_emit *e, const bc_op *op, const bc_value *result, const vm_map *map, bc_value *const *operands)
{
    if (e->lanes) {
        for (unsigned i = 0; i < map->operands; i++)
            if (!in_group(e, operands[i], e->lanes))
                vm_need_stored(e, operands[i]);
        if (!has_room(e->lanes))
            vm_unsupported(e, op, "the body of this reduce or scan has more than %d ops", VM_MAX_NODES);
        else
            add_step(e, e->lanes, op, result, map, operands);
        return;
    }
    uint32_t bits = vm_type_bits(result->type);
    uint32_t mask = map_mask(e, map->operands, operands);
    vm_layout layout = vm_layout_masked(bits, e->plain && mask ? UINT32_MAX : mask);
    if (mask == 0 || e->plain) {
        emit_whole(e, op, result, map, operands, &layout);
        return;
    }
    vm_group *g = group_with_room(e, bits, mask);
    for (unsigned i = 0; i < map->operands; i++)
        if (g && !in_group(e, operands[i], g))
            vm_need_stored(e, operands[i]);
    if (g && !e->failed)
        add_step(e, g, op, result, map, operands);
}

void vm_emit_map(vm_emit *e, const bc_op *op, const vm_map *map)
{
    vm_emit_map_of(e, op, vm_result(op, 0), map, bc_operands(op));
}

bool vm_group_alias(vm_emit *e, const bc_value *result, const bc_value *source)
{
    vm_value *from = vm_value_of(e, source), *to = vm_value_of(e, result);
    if (from->form != VM_NODE)
        return false;
    group_node *n = node_of(from->group, from->node);
    n->outside += to->uses;
    n->outside--;
    vm_alias(e, result, source, NULL, 0);
    to->same_node = n->first_value;
    n->first_value = result->id + 1;
    return true;
}

vm_group *vm_group_of(vm_emit *e, const bc_value *tile)
{
    const vm_value *v = vm_value_of(e, tile);
    if (v->form == VM_NODE)
        return v->group->lanes ? NULL : v->group;
    if (v->form != VM_ROWS)
        return NULL;
    for (vm_group *g = e->at->groups; g; g = g->next)
        if (g->bits == v->layout.bits && g->mask == ((uint32_t)1 << g->bits) - 1)
            return g;
    return NULL;
}

/* The step whose result a store of the tile writes, and its group; false if there is none. */
static bool step_to_store(vm_emit *e, const bc_op *op, const bc_value *tile, vm_group **out_group, uint32_t *out_node)
{
    const vm_value *v = vm_value_of(e, tile);
    if (v->form == VM_ROWS) {
        uint32_t bits = v->layout.bits;
        vm_map copy = vm_map_plain(e, vm_kernel_of_int(VM_K_copy_i8, v->elem_bytes), 1, v->elem_bytes, v->elem_bytes);
        bc_value *operand = (bc_value *)(uintptr_t)tile;
        *out_group = group_with_room(e, bits, ((uint32_t)1 << bits) - 1);
        if (!*out_group)
            return false;
        *out_node = add_node(e, *out_group, op, &copy, &operand);
        return true;
    }
    if (v->form != VM_NODE || v->group->lanes || v->group->ctx != e->at || v->node < STEP)
        return false;
    *out_group = v->group;
    *out_node = v->node;
    node_of(v->group, v->node)->outside--;
    return true;
}

bool vm_group_store(vm_emit *e, const bc_op *op, const bc_value *tile, vm_bind_sink *bind)
{
    vm_value *v = vm_value_of(e, tile);
    vm_group *g = v->form == VM_NODE ? v->group : NULL;
    uint32_t node;
    if (g
        && (g->sink_count == MAX_SINKS || node_of(g, v->node)->sink >= 0
            || vm_layout_mask(&v->layout) != ((uint32_t)1 << g->bits) - 1))
        return false;
    g = vm_group_of(e, tile);
    if (g && g->sink_count == MAX_SINKS)
        vm_close_group(e, g);
    if (!step_to_store(e, op, tile, &g, &node))
        return false;
    node_of(g, node)->sink = (int16_t)g->sink_count;
    g->binds[g->sink_count] = bind;
    g->sink_ops[g->sink_count] = op;
    g->sink_steps[g->sink_count] = node - STEP;
    g->sink_count++;
    g->last_op = op;
    return true;
}

/* ---- the group as an instruction ---- */

typedef struct group_inst {
    vm_inst head;
    vm_strips strips;
    uint32_t sink_count;
    vm_sink *sinks;
} group_inst;

static bool overlaps(const vm_target *t, size_t t_bytes, const unsigned char *low, const unsigned char *high)
{
    return t->low < high && low < t->low + t_bytes;
}

/* First and one past the last byte of rows that hold 2^bits elements. */
static void rows_range(const vm_rows *rows, uint32_t bits, uint32_t row_bits, size_t bytes, const unsigned char **low,
                       const unsigned char **high)
{
    int64_t last = (((int64_t)1 << bits >> row_bits) - 1) * rows->pitch;
    *low = last < 0 ? rows->ptr + last : rows->ptr;
    *high = (last < 0 ? rows->ptr : rows->ptr + last) + (bytes << row_bits);
}

static void copy_rows_in(vm_frame *f, const vm_leaf *leaf, uint32_t bits)
{
    vm_rows_copy(vm_at(f, leaf->at), (size_t)leaf->bytes << leaf->row_bits, bits - leaf->row_bits,
                 vm_at(f, leaf->staging));
}

/* Copies loads that a store of this group is about to overwrite, unless it does so in step: each element in its own
   place, after it was read. */
static void protect_loads(vm_frame *f, const group_inst *g, const vm_sink *sink, const vm_target *t, size_t t_bytes)
{
    for (uint32_t i = 0; i < g->strips.leaf_count; i++) {
        const vm_leaf *leaf = &g->strips.leaves[i];
        const vm_rows *rows = leaf->kind == VM_LEAF_ROWS ? vm_at(f, leaf->at) : NULL;
        const unsigned char *low, *high;
        if (!rows || !rows->in_memory)
            continue;
        if (rows->ptr == t->ptr && rows->pitch == t->pitch && leaf->row_bits == t->row_bits
            && leaf->bytes == sink->info.bytes && leaf->last_step <= sink->step)
            continue;
        rows_range(rows, g->strips.bits, leaf->row_bits, leaf->bytes, &low, &high);
        if (overlaps(t, t_bytes, low, high))
            copy_rows_in(f, leaf, g->strips.bits);
    }
}

/* Whether the tensor that a sink writes a tile of is too large for any part of it to be in a cache when it is read, and
   the pieces written are long enough for that to be worth the way round the caches. */
static bool is_streamed(const vm_frame *f, const group_inst *g, const vm_sink *sink)
{
    const vm_record *record = vm_at(f, sink->info.record);
    uint64_t bytes = sink->info.bytes;
    if (bytes << g->strips.bits < MIN_STREAMED_TILE || bytes << g->strips.strip_bits < MIN_STREAMED_STRIP)
        return false;
    for (uint32_t d = 0; d < sink->info.rank && bytes < MIN_STREAMED; d++)
        bytes *= (uint64_t)record->dims[d] & UINT32_MAX; /* a larger one is no matter here */
    return bytes >= MIN_STREAMED;
}

/* The bytes that a sink writes; where they are not known, all there are. */
typedef struct span_of_sink {
    const unsigned char *low, *high;
} span_of_sink;

/* Whether a sink may write memory at once: none before it writes any of that, now or, from staging, later. */
static bool is_alone(const span_of_sink *spans, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (spans[k].low < spans[i].high && spans[i].low < spans[k].high)
            return false;
    return true;
}

/* Where the sinks write: into memory where that is packed rows and disturbs no other sink, else into staging. */
static void aim(vm_frame *f, const group_inst *g, vm_target *targets)
{
    span_of_sink spans[MAX_SINKS];
    for (uint32_t i = 0; i < g->sink_count; i++) {
        const vm_sink *sink = &g->sinks[i];
        vm_target *t = &targets[i];
        vm_rows rows;
        vm_box box;
        uint32_t row_bits = sink->info.row_bits;
        *t = (vm_target){vm_at(f, sink->staging), (int64_t)sink->info.bytes << row_bits, row_bits, NULL, false, false};
        spans[i] = (span_of_sink){NULL, (const unsigned char *)UINTPTR_MAX};
        if (sink->info.sparse >= 0)
            continue;
        vm_box_make(f, &sink->info, 0, &box);
        if (!vm_box_rows(f, &sink->info, &box, true, &rows))
            continue;
        rows_range(&rows, g->strips.bits, row_bits, sink->info.bytes, &spans[i].low, &spans[i].high);
        if (sink->stored || !is_alone(spans, i))
            continue;
        if (row_bits < g->strips.strip_bits && rows.pitch != t->pitch)
            continue; /* strips are longer than rows: staging, then one copy */
        *t = (vm_target){rows.ptr, rows.pitch, row_bits, spans[i].low, true, is_streamed(f, g, sink)};
        protect_loads(f, g, sink, t, (size_t)(spans[i].high - spans[i].low));
        f->bytes_stored += (uint64_t)sink->info.bytes << g->strips.bits;
    }
}

static const vm_inst *group_run(vm_frame *f, const vm_inst *inst)
{
    const group_inst *g = (const group_inst *)inst;
    const vm_strips *s = &g->strips;
    const void *node[2 * VM_MAX_NODES];
    vm_target targets[MAX_SINKS];
    if (g->sink_count)
        aim(f, g, targets);
    vm_strips_begin(f, s, f->scratch, node);
    size_t total = (size_t)1 << s->bits, step = (size_t)1 << s->strip_bits;
    for (size_t i = 0; i < total; i += step) {
        vm_strips_run(f, s, f->scratch, i, step, NULL, targets, node);
        if (i + step < total && !vm_go_on(f, inst, s->step_count * step / VM_UNIT_ELEMENTS))
            return NULL;
    }
    for (uint32_t i = 0; i < g->sink_count; i++) {
        const vm_sink *sink = &g->sinks[i];
        if (!targets[i].in_memory && !vm_view_store(f, &sink->head, &sink->info, vm_at(f, sink->staging)))
            return NULL;
    }
    return inst->next;
}

/* ---- closing ---- */

static void unlink_group(vm_group *g)
{
    for (vm_group **p = &g->ctx->groups; *p; p = &(*p)->next)
        if (*p == g) {
            *p = g->next;
            return;
        }
}

/* Decides how each leaf is brought in, now that the strip length is known. */
static void settle_leaf(vm_leaf *leaf, uint32_t strip_bits)
{
    bool repeats;
    unsigned run = run_of(&leaf->layout, &repeats);
    if (leaf->kind == VM_LEAF_ROWS || leaf->kind == VM_LEAF_ARG)
        return;
    leaf->run_bits = (uint8_t)run;
    leaf->repeats = repeats;
    uint32_t high = 0;
    for (uint32_t b = strip_bits; b < leaf->layout.bits; b++)
        high |= leaf->layout.stride[b];
    if (!repeats && run >= strip_bits)
        leaf->kind = VM_LEAF_DIRECT;
    else
        leaf->kind = high == 0 ? VM_LEAF_ONCE : VM_LEAF_EACH;
}

static bool leaf_has_buffer(const vm_leaf *leaf, uint32_t strip_bits)
{
    return leaf->kind == VM_LEAF_ONCE || leaf->kind == VM_LEAF_EACH
           || (leaf->kind == VM_LEAF_ROWS && leaf->row_bits < strip_bits);
}

/* Buffers in scratch are handed from dead nodes of the same size to new ones. */
typedef struct buffers {
    size_t top;
    struct {
        size_t at;
        uint8_t bytes;
    } free[VM_MAX_NODES];
    uint32_t free_count;
    uint32_t strip_bits;
} buffers;

static size_t take_buffer(buffers *b, uint8_t bytes)
{
    for (uint32_t i = b->free_count; i-- > 0;)
        if (b->free[i].bytes == bytes) {
            size_t at = b->free[i].at;
            b->free[i] = b->free[--b->free_count];
            return at;
        }
    size_t at = b->top;
    b->top += (((size_t)bytes << b->strip_bits) + 63) / 64 * 64;
    return at;
}

static void give_buffer(buffers *b, size_t at, uint8_t bytes)
{
    if (b->free_count < VM_MAX_NODES) {
        b->free[b->free_count].at = at;
        b->free[b->free_count++].bytes = bytes;
    }
}

/* The inputs of a step that nobody reads after it give their buffers back, before the step takes its own. */
static void give_inputs(vm_group *g, vm_step *steps, uint32_t step, buffers *b)
{
    for (unsigned i = 0; i < steps[step].map.operands; i++) {
        uint16_t in = g->steps[step].in[i];
        if (in < STEP || node_of(g, in)->last_use != step)
            continue;
        bool seen = false;
        for (unsigned k = 0; k < i; k++)
            seen |= g->steps[step].in[k] == in;
        const vm_step *source = &steps[in - STEP];
        if (!seen && source->dest == VM_TO_BUFFER)
            give_buffer(b, source->at, source->map.out_bytes);
        if (!seen && source->dest == VM_TO_SINK && !g->lanes)
            give_buffer(b, source->buffer, source->map.out_bytes);
    }
}

static uint32_t choose_strip(const vm_group *g, uint32_t total_bits)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < g->leaf_count; i++)
        bytes += g->leaves[i].leaf.bytes;
    for (uint32_t i = 0; i < g->step_count; i++)
        bytes += g->steps[i].map.out_bytes;
    uint32_t bits = VM_MAX_STRIP_BITS;
    while (bits > VM_MIN_STRIP_BITS && bytes << bits > VM_STRIP_BYTES)
        bits--;
    return bits < total_bits ? bits : total_bits;
}

/* Node numbers of the running form: steps follow the leaves. */
static uint16_t final_node(const vm_group *g, uint16_t node)
{
    return node >= STEP ? (uint16_t)(node - STEP + g->leaf_count) : node;
}

static bool is_linear(const vm_layout *layout)
{
    return vm_layout_is_packed(layout);
}

/* An output may take the place of a leaf that runs in step with it, if the leaf is not read after it is written. */
static void allow_in_place(vm_emit *e, vm_group *g, vm_inst *inst, uint32_t step, vm_storage out)
{
    for (uint32_t i = 0; i < g->leaf_count; i++) {
        const group_node *n = &g->leaves[i];
        if (n->leaf.kind != VM_LEAF_ROWS && n->leaf.kind != VM_LEAF_ARG && n->leaf.bytes == g->steps[step].map.out_bytes
            && is_linear(&n->leaf.layout) && n->last_use <= step && n->offset == 0)
            vm_allow_in_place(e, inst, n->storage, out);
    }
}

static void build_leaves(vm_emit *e, vm_group *g, vm_inst *inst, vm_strips *s, buffers *b)
{
    vm_leaf *leaves = vm_code_bytes(e, (g->leaf_count + 1) * sizeof *leaves);
    if (e->failed)
        return;
    for (uint32_t i = 0; i < g->leaf_count; i++) {
        group_node *n = &g->leaves[i];
        settle_leaf(&n->leaf, s->strip_bits);
        if (g->lanes && n->leaf.kind != VM_LEAF_ARG) {
            n->leaf.kind = VM_LEAF_ONCE; /* a captured scalar */
            n->leaf.repeats = true;
            n->leaf.run_bits = VM_MAX_BITS;
        }
        leaves[i] = n->leaf;
        leaves[i].last_step = n->last_use;
        if (n->leaf.kind == VM_LEAF_ARG)
            continue;
        if (leaf_has_buffer(&n->leaf, s->strip_bits))
            leaves[i].buffer = take_buffer(b, n->leaf.bytes);
        vm_bind(e, inst, &leaves[i].at, n->storage, n->offset, VM_READ);
        if (n->leaf.kind == VM_LEAF_ROWS) /* may be copied into staging by this very instruction */
            vm_bind(e, inst, &leaves[i].staging, n->staging, 0, VM_UPDATE);
    }
    s->leaves = leaves;
    s->leaf_count = g->leaf_count;
}

static void build_steps(vm_emit *e, vm_group *g, vm_inst *inst, vm_strips *s, buffers *b)
{
    vm_step *steps = vm_code_bytes(e, (g->step_count + 1) * sizeof *steps);
    if (e->failed)
        return;
    for (uint32_t i = 0; i < g->step_count; i++) {
        group_node *n = &g->steps[i];
        steps[i].map = n->map;
        for (unsigned k = 0; k < 3; k++)
            steps[i].in[k] = final_node(g, n->in[k]);
        give_inputs(g, steps, i, b);
        if (n->slot) {
            vm_storage out = vm_new_storage(e, (size_t)n->map.out_bytes << s->bits, g->ctx);
            steps[i].dest = VM_TO_SLOT;
            vm_bind(e, inst, &steps[i].at, out, 0, VM_WRITE);
            allow_in_place(e, g, inst, i, out);
            n->storage = out;
        } else if (n->sink >= 0) {
            steps[i].dest = VM_TO_SINK;
            steps[i].at = (size_t)n->sink;
            if (!g->lanes)
                steps[i].buffer = take_buffer(b, n->map.out_bytes);
            if (!g->lanes && !n->uses)
                give_buffer(b, steps[i].buffer, n->map.out_bytes);
        } else {
            steps[i].at = take_buffer(b, n->map.out_bytes);
        }
    }
    s->steps = steps;
    s->step_count = g->step_count;
}

static void build_sinks(vm_emit *e, vm_group *g, group_inst *inst)
{
    inst->sink_count = g->sink_count;
    inst->sinks = vm_code_bytes(e, (g->sink_count + 1) * sizeof *inst->sinks);
    for (uint32_t i = 0; i < g->sink_count && !e->failed; i++) {
        vm_sink *sink = &inst->sinks[i];
        group_node *n = &g->steps[g->sink_steps[i]];
        sink->head.op = g->sink_ops[i];
        sink->step = g->sink_steps[i];
        g->binds[i](e, &inst->head, sink, g->sink_ops[i]);
        sink->stored = n->slot;
        vm_storage staging = n->slot ? n->storage : vm_new_storage(e, (size_t)n->map.out_bytes << g->bits, g->ctx);
        vm_bind(e, &inst->head, &sink->staging, staging, 0, VM_UPDATE);
    }
}

/* The values of the group that others use are now stored. */
static void set_values(vm_emit *e, vm_group *g, vm_inst *inst)
{
    for (uint32_t i = 0; i < g->step_count; i++) {
        const group_node *n = &g->steps[i];
        for (uint32_t id = n->first_value; id; id = e->values[id - 1].same_node) {
            vm_value *v = &e->values[id - 1];
            v->form = VM_STORED;
            v->storage = n->storage;
            v->offset = 0;
            v->maker = inst;
            v->group = NULL;
        }
    }
}

void vm_close_group(vm_emit *e, vm_group *g)
{
    unlink_group(g);
    if (e->failed || g->lanes)
        return;
    group_inst *inst = vm_new_inst(e, g->last_op, group_run, group_inst);
    uint32_t bits = 0;
    for (uint32_t b = 0; b < g->bits; b++)
        bits += g->mask >> b & 1;
    inst->strips.bits = bits;
    inst->strips.strip_bits = choose_strip(g, bits);
    for (uint32_t i = 0; i < g->step_count; i++) {
        g->steps[i].slot = g->steps[i].outside > 0;
        if (g->steps[i].slot || (g->steps[i].sink < 0 && g->steps[i].uses == 0))
            g->steps[i].slot = true;
    }
    buffers b = {.strip_bits = inst->strips.strip_bits};
    build_leaves(e, g, &inst->head, &inst->strips, &b);
    build_steps(e, g, &inst->head, &inst->strips, &b);
    build_sinks(e, g, inst);
    inst->strips.scratch = b.top;
    vm_need_scratch(e, b.top);
    set_values(e, g, &inst->head);
    vm_append_to(e, g->ctx, &inst->head);
}

void vm_close_groups(vm_emit *e, vm_ctx *ctx)
{
    while (ctx->groups && !e->failed)
        vm_close_group(e, ctx->groups);
}

void vm_close_memory_groups(vm_emit *e, vm_group *except)
{
    for (vm_ctx *ctx = e->cur; ctx; ctx = ctx->parent)
        for (vm_group *g = ctx->groups, *next; g && !e->failed; g = next) {
            next = g->next;
            if (g != except && (g->lazy || g->sink_count))
                vm_close_group(e, g);
        }
}

void vm_close_sinks(vm_emit *e)
{
    for (vm_ctx *ctx = e->cur; ctx; ctx = ctx->parent)
        for (vm_group *g = ctx->groups, *next; g && !e->failed; g = next) {
            next = g->next;
            if (g->sink_count)
                vm_close_group(e, g);
        }
}

/* ---- lanes ---- */

vm_group *vm_lanes_begin(vm_emit *e, const bc_block *body)
{
    vm_group *g = new_group(e, e->cur, 0, 0);
    if (!g || body->arg_count > VM_MAX_NODES / 2)
        return NULL;
    g->lanes = true;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        uint8_t bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(body->args[i].type));
        g->leaves[i] = (group_node){.sink = -1};
        g->leaves[i].leaf = (vm_leaf){.kind = VM_LEAF_ARG, .bytes = bytes, .arg = i};
        vm_value *v = vm_value_of(e, &body->args[i]);
        v->form = VM_NODE;
        v->elem_bytes = bytes;
        v->layout = vm_layout_packed(0);
        v->group = g;
        v->node = i;
        v->home = e->cur;
    }
    g->leaf_count = body->arg_count;
    return g;
}

/* Whether a step that is yielded may write over the arguments: it is the last to read them, and nobody has claimed its
   result. */
static bool can_go_straight(vm_group *g, uint16_t node)
{
    if (node < STEP || node_of(g, node)->sink >= 0)
        return false;
    for (uint32_t i = 0; i < g->leaf_count; i++)
        if (g->leaves[i].leaf.kind == VM_LEAF_ARG && g->leaves[i].uses && g->leaves[i].last_use != UINT16_MAX
            && g->leaves[i].last_use > node - STEP)
            return false;
    for (uint32_t i = 0; i < g->leaf_count; i++)
        if (g->leaves[i].leaf.kind == VM_LEAF_ARG && g->leaves[i].last_use == UINT16_MAX)
            return false; /* an argument is itself yielded */
    return true;
}

void vm_lanes_end(vm_emit *e, vm_group *g, const bc_block *body, vm_inst *inst, size_t max_elements, vm_strips *s,
                  uint16_t *nodes)
{
    const bc_op *yield = body->last;
    bc_value **yields = bc_operands(yield);
    for (unsigned i = 0; i < yield->operand_count; i++) {
        vm_value *v = vm_value_of(e, yields[i]);
        if (!in_group(e, yields[i], g)) /* a captured scalar or a constant */
            vm_need_stored(e, yields[i]);
        uint32_t node = in_group(e, yields[i], g) ? v->node : leaf_of(e, g, yields[i]);
        nodes[i] = (uint16_t)node;
        node_of(g, node)->last_use = UINT16_MAX; /* its buffer stays */
    }
    s->bits = VM_MAX_BITS;
    s->strip_bits = choose_strip(g, vm_extent_bits((int64_t)max_elements));
    for (unsigned i = 0; i < yield->operand_count; i++)
        if (can_go_straight(g, nodes[i]))
            node_of(g, nodes[i])->sink = (int16_t)i;
    buffers b = {.strip_bits = s->strip_bits};
    build_leaves(e, g, inst, s, &b);
    build_steps(e, g, inst, s, &b);
    for (unsigned i = 0; i < yield->operand_count; i++)
        nodes[i] = final_node(g, nodes[i]);
    s->scratch = b.top;
    vm_need_scratch(e, b.top);
}

/* Making groups: an element-wise op joins the open group of its piece of code that walks the same index space, or
   starts one. A group is closed, which emits it, as soon as something else needs one of its values.

   No open group takes values from another open one: the other is closed first. So groups can be closed in any order. */
#include "vm/compile/joined.h"

#include <string.h>

#include "vm/compile/compile.h"
#include "vm/compile/map.h"
#include "vm/compile/plan.h"
#include "vm/compile/storage.h"

static vm_group *new_group(vm_emit *e, vm_ctx *ctx, uint32_t bits, uint32_t mask)
{
    vm_group *g = bc_new(&e->temp, vm_group, 1);
    vm_group_node *nodes = bc_new(&e->temp, vm_group_node, 2 * VM_MAX_NODES);
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

static bool same_leaf(const vm_group_node *n, const vm_value *v, const vm_layout *layout)
{
    return n->storage == v->storage && n->offset == v->offset && n->leaf.bytes == v->elem_bytes
           && (n->leaf.kind == VM_LEAF_ROWS) == (v->form == VM_ROWS)
           && memcmp(&n->leaf.layout, layout, sizeof *layout) == 0;
}

static uint32_t leaf_of(vm_emit *e, vm_group *g, const bc_value *value)
{
    vm_value *v = vm_value_of(e, value);
    vm_layout layout = g->lanes ? vm_layout_packed(0) : vm_layout_compact(&v->layout, g->mask);
    for (uint32_t i = 0; i < g->leaf_count; i++)
        if (same_leaf(&g->leaves[i], v, &layout))
            return i;
    vm_group_node *n = &g->leaves[g->leaf_count];
    *n = (vm_group_node){.storage = v->storage, .offset = v->offset, .staging = v->staging, .sink = -1};
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
    vm_group_node *n = &g->steps[g->step_count];
    *n = (vm_group_node){.map = *map, .sink = -1};
    for (unsigned i = 0; i < map->operands; i++) {
        uint32_t in = in_group(e, operands[i], g) ? vm_value_of(e, operands[i])->node : leaf_of(e, g, operands[i]);
        vm_group_node *source = vm_node_of(g, in);
        n->in[i] = (uint16_t)in;
        source->uses++;
        source->last_use = (uint16_t)g->step_count;
        if (in >= VM_STEP)
            source->outside--;
    }
    for (unsigned i = map->operands; i < 3; i++)
        n->in[i] = n->in[0];
    g->last_op = op;
    return VM_STEP + g->step_count++;
}

static void add_step(vm_emit *e, vm_group *g, const bc_op *op, const bc_value *result, const vm_map *map,
                     bc_value *const *operands)
{
    uint32_t id = add_node(e, g, op, map, operands);
    vm_value *v = vm_value_of(e, result);
    vm_node_of(g, id)->first_value = result->id + 1;
    vm_node_of(g, id)->outside = v->uses;
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
    vm_group_node *n = vm_node_of(from->group, from->node);
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
    if (v->form != VM_NODE || v->group->lanes || v->group->ctx != e->at || v->node < VM_STEP)
        return false;
    *out_group = v->group;
    *out_node = v->node;
    vm_node_of(v->group, v->node)->outside--;
    return true;
}

bool vm_group_store(vm_emit *e, const bc_op *op, const bc_value *tile, vm_bind_sink *bind)
{
    vm_value *v = vm_value_of(e, tile);
    vm_group *g = v->form == VM_NODE ? v->group : NULL;
    uint32_t node;
    if (g
        && (g->sink_count == VM_MAX_SINKS || vm_node_of(g, v->node)->sink >= 0
            || vm_layout_mask(&v->layout) != ((uint32_t)1 << g->bits) - 1))
        return false;
    g = vm_group_of(e, tile);
    if (g && g->sink_count == VM_MAX_SINKS)
        vm_close_group(e, g);
    if (!step_to_store(e, op, tile, &g, &node))
        return false;
    vm_node_of(g, node)->sink = (int16_t)g->sink_count;
    g->binds[g->sink_count] = bind;
    g->sink_ops[g->sink_count] = op;
    g->sink_steps[g->sink_count] = node - VM_STEP;
    g->sink_count++;
    g->last_op = op;
    return true;
}

/* ---- the group as an instruction ---- */

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

vm_group *vm_lanes_begin(vm_emit *e, const bc_block *body)
{
    vm_group *g = new_group(e, e->cur, 0, 0);
    if (!g || body->arg_count > VM_MAX_NODES / 2)
        return NULL;
    g->lanes = true;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        uint8_t bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(body->args[i].type));
        g->leaves[i] = (vm_group_node){.sink = -1};
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

void vm_lanes_end(vm_emit *e, vm_group *g, const bc_block *body, vm_inst *inst, size_t max_elements, vm_strips *s,
                  uint16_t *nodes)
{
    const bc_op *yield = body->last;
    for (unsigned i = 0; i < yield->operand_count; i++) {
        const bc_value *v = bc_operands(yield)[i];
        if (!in_group(e, v, g)) /* a captured scalar or a constant */
            vm_need_stored(e, v);
        nodes[i] = (uint16_t)(in_group(e, v, g) ? vm_value_of(e, v)->node : leaf_of(e, g, v));
    }
    vm_close_lanes(e, g, inst, max_elements, s, nodes, yield->operand_count);
}

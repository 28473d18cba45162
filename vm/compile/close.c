/* Closing groups: which node lies where, and the instruction that the group becomes. */
#include <string.h>

#include "vm/compile/joined.h"
#include "vm/compile/storage.h"

static unsigned run_of(const vm_layout *layout, bool *out_repeats)
{
    unsigned run = 0;
    *out_repeats = layout->bits && layout->stride[0] == 0;
    while (run < layout->bits && layout->stride[run] == (*out_repeats ? 0 : (uint32_t)1 << run))
        run++;
    return run;
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

/* The inputs of a step that are not read after it release their buffers before the step gets its own. */
static void give_inputs(vm_group *g, vm_step *steps, uint32_t step, buffers *b)
{
    for (unsigned i = 0; i < steps[step].map.operands; i++) {
        uint16_t in = g->steps[step].in[i];
        if (in < VM_STEP || vm_node_of(g, in)->last_use != step)
            continue;
        bool seen = false;
        for (unsigned k = 0; k < i; k++)
            seen |= g->steps[step].in[k] == in;
        const vm_step *source = &steps[in - VM_STEP];
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
    return node >= VM_STEP ? (uint16_t)(node - VM_STEP + g->leaf_count) : node;
}

static bool is_linear(const vm_layout *layout)
{
    return vm_layout_is_packed(layout);
}

/* An output may take the place of a leaf that runs in step with it, if the leaf is not read after it is written. */
static void allow_in_place(vm_emit *e, vm_group *g, vm_inst *inst, uint32_t step, vm_storage out)
{
    for (uint32_t i = 0; i < g->leaf_count; i++) {
        const vm_group_node *n = &g->leaves[i];
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
        vm_group_node *n = &g->leaves[i];
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
        vm_group_node *n = &g->steps[i];
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

static void build_sinks(vm_emit *e, vm_group *g, vm_group_inst *inst)
{
    inst->sink_count = g->sink_count;
    inst->sinks = vm_code_bytes(e, (g->sink_count + 1) * sizeof *inst->sinks);
    for (uint32_t i = 0; i < g->sink_count && !e->failed; i++) {
        vm_sink *sink = &inst->sinks[i];
        vm_group_node *n = &g->steps[g->sink_steps[i]];
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
        const vm_group_node *n = &g->steps[i];
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
    vm_group_inst *inst = vm_new_inst(e, g->last_op, vm_group_run, vm_group_inst);
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

/* ---- lanes ---- */

/* May a step whose result is yielded write it to the arguments? It must be the last to read them, and its result
   must not have a buffer yet. */
static bool can_go_straight(vm_group *g, uint16_t node)
{
    if (node < VM_STEP || vm_node_of(g, node)->sink >= 0)
        return false;
    for (uint32_t i = 0; i < g->leaf_count; i++)
        if (g->leaves[i].leaf.kind == VM_LEAF_ARG && g->leaves[i].uses && g->leaves[i].last_use != UINT16_MAX
            && g->leaves[i].last_use > node - VM_STEP)
            return false;
    for (uint32_t i = 0; i < g->leaf_count; i++)
        if (g->leaves[i].leaf.kind == VM_LEAF_ARG && g->leaves[i].last_use == UINT16_MAX)
            return false; /* an argument is itself yielded */
    return true;
}

void vm_close_lanes(vm_emit *e, vm_group *g, vm_inst *inst, size_t max_elements, vm_strips *s, uint16_t *nodes,
                    unsigned node_count)
{
    for (unsigned i = 0; i < node_count; i++)
        vm_node_of(g, nodes[i])->last_use = UINT16_MAX; /* its buffer stays */
    s->bits = VM_MAX_BITS;
    s->strip_bits = choose_strip(g, vm_extent_bits((int64_t)max_elements));
    for (unsigned i = 0; i < node_count; i++)
        if (can_go_straight(g, nodes[i]))
            vm_node_of(g, nodes[i])->sink = (int16_t)i;
    buffers b = {.strip_bits = s->strip_bits};
    build_leaves(e, g, inst, s, &b);
    build_steps(e, g, inst, s, &b);
    for (unsigned i = 0; i < node_count; i++)
        nodes[i] = final_node(g, nodes[i]);
    s->scratch = b.top;
    vm_need_scratch(e, b.top);
}

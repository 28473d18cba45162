/* What joining and closing of groups share: group.c puts ops into groups, close.c makes instructions of them. */
#ifndef TILEVM_VM_COMPILE_JOINED_H
#define TILEVM_VM_COMPILE_JOINED_H

#include "vm/compile/group.h"

typedef struct vm_group_node {
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
} vm_group_node;

struct vm_group {
    vm_ctx *ctx;
    vm_group *next;
    uint32_t bits, mask; /* the index space: its bits, and those that are not broadcast */
    bool lanes, lazy;    /* lazy: has ROWS leaves */
    uint32_t leaf_count, step_count;
    vm_group_node *leaves, *steps; /* VM_MAX_NODES together */
    uint32_t sink_count;
    vm_sink *sinks;
    const bc_op *sink_ops[VM_MAX_SINKS];
    vm_bind_sink *binds[VM_MAX_SINKS];
    uint32_t sink_steps[VM_MAX_SINKS];
    const bc_op *last_op;
};

/* Nodes are referred to as leaves from 0 on and as steps from STEP on until the group is closed. */
enum { VM_STEP = 1 << 14 };

static inline vm_group_node *vm_node_of(vm_group *g, uint32_t node)
{
    return node >= VM_STEP ? &g->steps[node - VM_STEP] : &g->leaves[node];
}

/* Makes the strips of a group that is the body of a reduce or scan (close.c). nodes: those it yields, by their numbers
   in the group; afterwards by those in the strips. inst, for references to captured scalars, was not appended yet. */
void vm_close_lanes(vm_emit *e, vm_group *g, vm_inst *inst, size_t max_elements, vm_strips *s, uint16_t *nodes,
                    unsigned node_count);

#endif

/* Groups of element-wise ops while an entry is compiled: which ops join, and what they become. */
#ifndef TILEVM_VM_COMPILE_GROUP_H
#define TILEVM_VM_COMPILE_GROUP_H

#include "vm/compile/emit.h"
#include "vm/run/group.h"

/* Runs a map on whole packed tiles: scalars, and everything when tracing. */
typedef struct vm_map_inst {
    vm_inst head;
    vm_map map;
    size_t out, in[3];
    size_t n;
} vm_map_inst;

vm_handler vm_map_inst_run;

/* Emits what a group has become, so that its values are there. */
void vm_close_group(vm_emit *e, vm_group *group);
void vm_close_groups(vm_emit *e, vm_ctx *ctx);
/* Those that read memory lazily or write it, in ctx and all around it; but not `except`. */
void vm_close_memory_groups(vm_emit *e, vm_group *except);
/* Those that write memory. */
void vm_close_sinks(vm_emit *e);

/* The open group that a store of the tile could join, or NULL. */
vm_group *vm_group_of(vm_emit *e, const bc_value *tile);

/* Tries to make a store part of the group that makes its tile; a tile that is rows in memory, which the store may
   overlap, is copied by a group. The sink's info is filled in by `bind`, which binds the operands of the view to inst.
   False: the tile is in no group that can take it. */
typedef void vm_bind_sink(vm_emit *e, vm_inst *inst, vm_sink *sink, const bc_op *op);
bool vm_group_store(vm_emit *e, const bc_op *op, const bc_value *tile, vm_bind_sink *bind);

/* A reshape of a value that is a node: the result is the same node. False: it is not one, or cannot be. */
bool vm_group_alias(vm_emit *e, const bc_value *result, const bc_value *source);

/* ---- the body of a reduce or scan, run on strips ---- */

/* Starts a group whose leaves are the arguments of the body, arrays that the caller gives. */
vm_group *vm_lanes_begin(vm_emit *e, const bc_block *body);
/* Ends it: the strips, and which nodes the body yields (one a pair of arguments). inst: for references to captured
   scalars. The strips use scratch from `scratch` on. */
void vm_lanes_end(vm_emit *e, vm_group *group, const bc_block *body, vm_inst *inst, size_t max_elements,
                  vm_strips *out_strips, uint16_t *out_nodes);

#endif

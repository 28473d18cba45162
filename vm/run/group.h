/* Groups of element-wise ops while they run. */
#ifndef TILEVM_VM_RUN_GROUP_H
#define TILEVM_VM_RUN_GROUP_H

#include "vm/run/strips.h"
#include "vm/run/view.h"

enum { VM_MAX_SINKS = 8 }; /* of a group */

/* A store of a view that takes its tile from a group, strip by strip where that is possible. */
typedef struct vm_sink {
    vm_inst head; /* for diagnostics: its op */
    vm_access_info info;
    uint32_t step;  /* that makes the tile */
    bool stored;    /* the tile is also needed later: staging is its own storage */
    size_t staging; /* packed, where the tile goes when it cannot go to memory strip by strip */
} vm_sink;

typedef struct vm_group_inst {
    vm_inst head;
    vm_strips strips;
    uint32_t sink_count;
    vm_sink *sinks;
} vm_group_inst;

vm_handler vm_group_run;

#endif

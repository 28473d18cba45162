/* Compiling probes: what a debugger needs in the code of an entry. */
#ifndef TILEVM_VM_CHECK_PROBE_H
#define TILEVM_VM_CHECK_PROBE_H

#include "vm/check/access.h"
#include "vm/run/probe.h"

/* Appends the probe before the instructions of op, unless op stands in the body of a reduce or scan: those run as part
   of it. */
void vm_emit_probe(vm_emit *e, const bc_op *op);
/* Records where values lie, once storage is assigned. */
void vm_place_values(vm_emit *e);

#endif

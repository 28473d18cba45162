/* What the verifier's files about memory share. */
#ifndef TILEVM_BYTECODE_VERIFY_MEMORY_H
#define TILEVM_BYTECODE_VERIFY_MEMORY_H

#include "bytecode/verify/verify.h"

#define BC_ORDER(name) (1u << BC_MemoryOrderingSemantics_##name)
#define BC_LOAD_ORDERS (BC_ORDER(weak) | BC_ORDER(relaxed) | BC_ORDER(acquire))
#define BC_STORE_ORDERS (BC_ORDER(weak) | BC_ORDER(relaxed) | BC_ORDER(release))

/* The order is one of those allowed; a weak access has no scope, every other has one. For ops whose scope is OPTIONAL.
 */
void bc_check_memory_order(bc_verifier *v, const bc_op *op, int order_row, int scope_row, uint32_t allowed,
                           bc_rule rule);

/* Which elements a mode of atomic_rmw_tko and atomic_red_view_tko combines. */
bool bc_check_atomic_mode(bc_verifier *v, const bc_op *op, int mode_row, const bc_type *element, bc_rule rule);

/* An ordinary access does not go through a multicast address. pointer: the ptr or tensor_view type behind the field. */
bool bc_refuse_multicast(bc_verifier *v, const bc_op *op, int row, const bc_type *pointer);

/* Optimization hints of a load or store: dictionaries (V-HINT-01), and names and values that mean something. */
void bc_check_op_hints(bc_verifier *v, const bc_op *op, int row);

#endif

/* Keys of a chain of products in parts (codegen/cluster/keys.c). */
#ifndef TILEVM_CODEGEN_CLUSTER_KEYS_H
#define TILEVM_CODEGEN_CLUSTER_KEYS_H

#include "codegen/kernel/kernel.h"

/* Divides the keys of the loop's chain of products, if that is asked for and two iterations of them do not fit in
   shared memory. False: the op stays as it is. */
bool cg_divide_keys(cg_func *c, ct_op *loop);

#endif

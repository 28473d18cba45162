/* What tilevm/call.h has no function for: launches that break promises about shared memory on purpose. */
#ifndef TILEVM_BYTECODE_SYMBOL_CALL_H
#define TILEVM_BYTECODE_SYMBOL_CALL_H

#include "tilevm/call.h"

/* As tv_call_new, but arguments that share memory against the promises (C-ARG-08, C-ARG-09) are reported with this
   severity, and laid out unless it is TV_ERROR. */
tv_status bc_call_new(const tv_signature *signature, const tv_arg *args, size_t count, tv_severity sharing,
                      const tv_allocator *allocator, tv_sink sink, tv_call **out_call);

#endif

/* The code generator for tests. FAKE_COMPILE_SLOWLY: takes 20 ms; FAKE_COMPILE_REFUSES: reports an unsupported op;
   FAKE_COMPILE_BREAKS: PTX that the driver refuses; FAKE_COMPILE_SHARED=BYTES: static shared memory. */
#ifndef TILEVM_TESTS_FAKECUDA_COMPILE_H
#define TILEVM_TESTS_FAKECUDA_COMPILE_H

#include "tilevm/tilevm.h"

/* How often it was called. */
unsigned fake_compile_count(void);

#endif

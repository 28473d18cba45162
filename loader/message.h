/* What the loader has to say: to the handler of tvSetMessageHandler, and errors to tvGetLastErrorMessage. */
#ifndef TILEVM_LOADER_MESSAGE_H
#define TILEVM_LOADER_MESSAGE_H

#include "bytecode/base/compiler.h"
#include "tilevm/tilevm.h"
#include "tilevm/tilevm_cuda.h"

/* Reports an error and gives its code. The text says what was tried and why it failed; the code's name and what usually
   mends it are added. */
tvResult ld_fail(tvResult code, const char *format, ...) TV_PRINTF(2, 3);
/* The same without adding anything. */
tvResult ld_fail_plain(tvResult code, const char *text);
/* A warning or a note. */
void ld_say(tv_severity severity, const char *format, ...) TV_PRINTF(2, 3);

#endif

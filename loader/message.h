/* The messages of the loader: all go to the handler of tvSetMessageHandler, errors also to tvGetLastErrorMessage. Every
   error and warning is about one of the L rules, and its text begins with the id: "[L-DRV-01] there is no CUDA
   driver". */
#ifndef TILEVM_LOADER_MESSAGE_H
#define TILEVM_LOADER_MESSAGE_H

#include "bytecode/base/compiler.h"
#include "tilevm/tilevm.h"
#include "tilevm/tilevm_cuda.h"

typedef enum ld_rule {
    LD_RULE_NONE,
#define RULE(name, id, severity, title, text, help) LD_RULE_##name,
#include "bytecode/base/loader_rules.def"
    LD_RULE_COUNT
} ld_rule;

/* Reports an error and gives its code. rule: what was tried; where the code itself stands for a rule (cuda_errors.def),
   the message is about that one. The text says what was tried and why it failed; the id, the code's name and what
   usually mends it are added. */
tvResult ld_fail(ld_rule rule, tvResult code, const char *format, ...) TV_PRINTF(3, 4);
/* Reports that the host has no memory left, and gives CUDA_ERROR_OUT_OF_MEMORY; ld_ran_out: this was the last error of
   the thread. */
tvResult ld_no_memory(void);
bool ld_ran_out(void);
/* The id in the last error message of this thread, "" if there is none; lives forever. */
const char *ld_last_rule_id(void);

/* How much TILEVM_LOG asks for: -1 none, else the highest severity; usual where it asks for nothing. */
int ld_loudest(int usual);
void ld_print(int severity, const char *text);

void ld_warn(ld_rule rule, const char *format, ...) TV_PRINTF(2, 3);
void ld_note(const char *format, ...) TV_PRINTF(1, 2);

#endif

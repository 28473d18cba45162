/* The report of `tilevm run --precision`, after the kernel has run. */
#ifndef TILEVM_TOOLS_RUN_PRECISION_H
#define TILEVM_TOOLS_RUN_PRECISION_H

#include "tools/tilevm/run/run.h"

void run_precision_print(const run_job *job, bc_text *out);
/* Adds the member "precision". */
void run_precision_json(json_doc *doc, cJSON *root, const run_job *job);

#endif

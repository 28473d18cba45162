/* The code generator for those who know more of a launch than options of the API say. */
#ifndef TILEVM_CODEGEN_COMPILE_H
#define TILEVM_CODEGEN_COMPILE_H

#include "codegen/cost/cost.h"
#include "codegen/model/model.h"

/* tv_compile_ptx; remarks tell what is predicted of the launch, which may be NULL. */
tv_status cg_compile_for(const tv_module *m, const tv_compile_options *options, const cg_launch *launch, tv_sink sink,
                         tv_writer out);

/* The same, with a model of each kernel for the witness. */
tv_status cg_compile_seen(const tv_module *m, const tv_compile_options *options, const cg_launch *launch,
                          const cg_witness *witness, tv_sink sink, tv_writer out);

#endif

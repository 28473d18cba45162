/* The code generator for those who know more of a launch than options of the API say. */
#ifndef TILEVM_CODEGEN_COMPILE_H
#define TILEVM_CODEGEN_COMPILE_H

#include "codegen/cost/cost.h"

/* What is wanted besides the options of the API; all zero: nothing. */
typedef struct cg_request {
    const cg_launch *launch;                  /* that remarks predict; NULL: of none */
    const cg_choices *choices;                /* in place of what passes decide; NULL: none */
    const bc_function *only;                  /* the kernel that is compiled; NULL: all */
    void *user;                               /* passed to compiled, */
    void (*compiled)(void *user, cg_func *c); /* called for each kernel before its memory is freed; NULL: not called */
} cg_request;

/* tv_compile_ptx, with what is requested besides. */
tv_status cg_compile_with(const tv_module *m, const tv_compile_options *options, const cg_request *request,
                          tv_sink sink, tv_writer out);

#endif

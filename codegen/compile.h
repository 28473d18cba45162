/* The code generator's interface for callers who know more about a launch than the options of the API can express. */
#ifndef TILEVM_CODEGEN_COMPILE_H
#define TILEVM_CODEGEN_COMPILE_H

#include "codegen/cost/cost.h"
#include "codegen/model/model.h"

/* Requests in addition to the options of the API; all zero: none. */
typedef struct cg_request {
    const cg_launch *launch;                  /* the launch that remarks predict; NULL: none */
    const cg_choices *choices;                /* choices that replace decisions of passes; NULL: none */
    const bc_function *only;                  /* the only kernel that is compiled; NULL: all */
    const cg_witness *witness;                /* receives a model of each compiled kernel; NULL: no models */
    void *user;                               /* passed to `compiled` */
    void (*compiled)(void *user, cg_func *c); /* called for each kernel before its memory is freed; NULL: no calls */
} cg_request;

/* Like tv_compile_ptx, with the additional requests. */
tv_status cg_compile_with(const tv_module *m, const tv_compile_options *options, const cg_request *request,
                          tv_sink sink, tv_writer out);

#endif

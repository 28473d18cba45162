/* The function of the API. It has a file of its own, so that a program can replace it. */
#include "codegen/compile.h"

tv_status tv_compile_ptx(const tv_module *m, const tv_compile_options *options, tv_sink sink, tv_writer out)
{
    return cg_compile_with(m, options, &(cg_request){.launch = NULL}, sink, out);
}

/* The public entry of the code generator. */
#include "bytecode/module.h"
#include "bytecode/report.h"

tv_status tv_compile_ptx(const tv_module *module, const tv_compile_options *options, tv_sink sink, tv_writer out)
{
    (void)options;
    (void)out;
    bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    bc_report(module, sink, &nowhere, BC_RULE_G_GEN_01, "this build has no code generator");
    return TV_UNSUPPORTED;
}

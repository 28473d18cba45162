/* Bytes as a whole file: container, tables, bodies. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    for (int strict = 0; strict < 2; strict++) {
        tv_module *m;
        if (tv_module_open(data, size, &(tv_open_options){.strict = strict, .memory_limit = FUZZ_MEMORY}, sink, &m) != TV_OK)
            break;
        fuzz_use_module(m, sink);
        tv_module_close(m);
    }
    return 0;
}

/* Bytes as a whole file: container, tables, bodies. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    for (int strict = 0; strict < 2; strict++) {
        tv_module *m;
        if (!fuzz_open(data, size, strict, sink, &m))
            break;
        fuzz_use_module(m, sink);
        tv_module_close(m);
    }
    return 0;
}

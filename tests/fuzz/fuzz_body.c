/* Files whose container stays intact while section payloads and function bodies change: reaches op reader, verifier
   and printer behind the container checks. */
#include "tests/fuzz/body_mutator.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    tv_module *m;
    if (!fuzz_open(data, size, false, sink, &m))
        return 0;
    fuzz_use_module(m, sink);
    tv_module_close(m);
    return 0;
}

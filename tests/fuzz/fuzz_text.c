/* Bytes as assembly text. What parses must write, read back and print. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    tv_module *m;
    const tv_open_options options = {.memory_limit = FUZZ_MEMORY};
    if (tv_module_parse((const char *)data, size, 0, &options, sink, &m) != TV_OK)
        return 0;
    fuzz_use_module(m, sink);
    tv_module_close(m);
    return 0;
}

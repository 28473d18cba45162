/* Assembly, mutated as tokens. What parses is written and read again as bytecode; what verifies there compiles for an
   old, a middle and a new target, or a diagnostic says why not. */
#include "tests/fuzz/fuzz_compile.h"
#include "tests/fuzz/token_mutator.h"

static void compile_all(const tv_module *m, size_t size)
{
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_100"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        fuzz_bytes text = {0};
        fuzz_compile(m, &(tv_compile_options){.target = targets[i], .opt_level = 3, .line_info = size & 1}, &text);
        free(text.ptr);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    tv_module *m, *again;
    fuzz_bytes bytes = {0};
    const tv_open_options options = {.memory_limit = FUZZ_MEMORY};
    if (tv_module_parse((const char *)data, size, 0, &options, sink, &m) != TV_OK)
        return 0;
    FUZZ_CHECK(tv_module_write(m, sink, (tv_writer){&bytes, fuzz_append}) == TV_OK);
    tv_module_close(m);
    FUZZ_CHECK(tv_module_open(bytes.ptr, bytes.len, &options, sink, &again) == TV_OK);
    if (tv_module_verify(again, NULL, sink) == TV_OK)
        compile_all(again, size);
    tv_module_close(again);
    free(bytes.ptr);
    return 0;
}

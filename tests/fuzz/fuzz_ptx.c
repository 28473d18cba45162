/* Modules that the verifier accepts compile, for a target and with options that a hash of the file chooses: there is
   text, or the diagnostic says why not; and the text is the same when somebody listens to dumps and remarks. */
#include "tests/fuzz/body_mutator.h"
#include "tests/fuzz/fuzz_compile.h"

static const char *const targets[] = {
#define TARGET(name, sm, suffix, ptx, shared_kib, threads, features) #name,
#include "codegen/kernel/targets.def"
};

/* FNV-1a. */
static uint32_t hash(const uint8_t *data, size_t size)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ data[i]) * 16777619u;
    return h ^ h >> 15;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    tv_module *m;
    if (!fuzz_open(data, size, false, sink, &m))
        return 0;
    if (tv_module_verify(m, NULL, sink) == TV_OK) {
        uint32_t h = hash(data, size);
        tv_compile_options options = {.target = targets[h % (sizeof targets / sizeof *targets)],
                                      .opt_level = TV_OPT_LEVEL(h >> 8 & 3),
                                      .line_info = h >> 10 & 1};
        fuzz_bytes first = {0}, second = {0};
        tv_status status = fuzz_compile(m, &options, &first);
        options.dump_after = "all";
        FUZZ_CHECK(fuzz_compile(m, &options, &second) == status);
        FUZZ_CHECK(first.len == second.len && (!first.len || memcmp(first.ptr, second.ptr, first.len) == 0));
        free(first.ptr);
        free(second.ptr);
    }
    tv_module_close(m);
    return 0;
}

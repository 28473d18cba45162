/* Modules that the verifier accepts run, with little memory and few steps, without checks and with: whatever they do,
   the worst that may happen is a trap, or findings. */
#include "tests/fuzz/body_mutator.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_PARAMS = 64, BUFFER = 4096, GUARD = 64, MEMORY = 1 << 18, STEPS = 300 };

/* Numbers that kernels are given as sizes, strides and bounds. */
static uint64_t number_for(size_t param, const char *element)
{
    static const uint64_t some[] = {8, 1, 3, 16, 0, 2, 64};
    uint64_t n = some[param % (sizeof some / sizeof *some)];
    return strcmp(element, "f32") == 0 ? 0x3f800000u + (n << 20) : strcmp(element, "i1") == 0 ? n & 1 : n;
}

static void run_entry(tv_vm *vm, const tv_module *m, size_t entry, unsigned char *buffer, tv_sink sink)
{
    static uint64_t values[MAX_PARAMS];
    static const void *params[MAX_PARAMS];
    size_t count = tv_module_entry_param_count(m, entry);
    if (count > MAX_PARAMS)
        return;
    for (size_t i = 0; i < count; i++) {
        tv_entry_param p = tv_module_entry_param(m, entry, i);
        values[i] = p.pointer ? (uint64_t)(uintptr_t)(buffer + i % 2 * (BUFFER / 2)) : number_for(i, p.element);
        params[i] = &values[i];
    }
    tv_str name = tv_module_entry_name(m, entry);
    char *symbol = malloc(name.len + 1);
    FUZZ_CHECK(symbol);
    memcpy(symbol, name.ptr, name.len);
    symbol[name.len] = 0;
    tv_status status = tv_vm_run(vm, symbol, (uint32_t[]){2, 1, 1}, params, count, sink);
    FUZZ_CHECK(status == TV_OK || status == TV_TRAP || status == TV_USAGE || status == TV_UNSUPPORTED
               || status == TV_NO_MEMORY || status == TV_INVALID);
    free(symbol);
}

static bool drop(void *user, const void *bytes, size_t size)
{
    size_t *sum = user;
    for (size_t i = 0; i < size; i++)
        *sum += ((const unsigned char *)bytes)[i];
    return true;
}

static void run_machine(const tv_module *m, uint32_t checks, size_t *sum)
{
    static _Alignas(64) unsigned char memory[GUARD + BUFFER + GUARD];
    tv_sink sink = {sum, fuzz_report};
    const tv_vm_options options = {.threads = 1,
                                   .memory_limit = MEMORY,
                                   .step_limit = STEPS,
                                   .output = {sum, drop},
                                   .checks = checks,
                                   .check_orders = 1};
    tv_vm *vm;
    if (tv_vm_new(m, &options, sink, &vm) != TV_OK)
        return;
    memset(memory, 0x5a, sizeof memory);
    for (size_t i = 0; i < BUFFER; i++)
        memory[GUARD + i] = (unsigned char)(i * 37 >> 3);
    FUZZ_CHECK(tv_vm_add_buffer(vm, memory + GUARD, BUFFER, "memory", true, sink) == TV_OK);
    const tv_array array = {memory + GUARD, TV_F32, 2, (const int64_t[]){BUFFER / 64, 8}, (const int64_t[]){16, 1}};
    FUZZ_CHECK(tv_vm_describe_array(vm, &array, "array", true, sink) == TV_OK);
    for (size_t i = 0; i < tv_module_entry_count(m) && i < 4; i++)
        run_entry(vm, m, i, memory + GUARD, sink);
    for (size_t i = 0; i < GUARD; i++)
        FUZZ_CHECK(memory[i] == 0x5a && memory[GUARD + BUFFER + i] == 0x5a);
    tv_vm_free(vm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sum = 0;
    tv_sink sink = {&sum, fuzz_report};
    tv_module *m;
    if (!fuzz_open(data, size, false, sink, &m))
        return 0;
    if (tv_module_verify(m, NULL, sink) == TV_OK) {
        run_machine(m, 0, &sum);
        run_machine(m, TV_CHECK_ALL, &sum);
    }
    tv_module_close(m);
    return 0;
}

/* A kernel on every device, through the loader as any program's. */
#include <stdlib.h>
#include <string.h>

#include "codegen/kernel/target.h"
#include "loader/device.h"
#include "loader/image.h"
#include "tools/tilevm/doctor/doctor.h"

enum { LANES = 128, FACTOR = 3 };

/* to[i] = i * n */
static const char kernel[] = "cuda_tile.module @doctor {\n"
                             "entry @selftest(%to: tile<ptr<i32>>, %n: tile<i32>) {\n"
                             "  %i = iota : tile<128xi32>\n"
                             "  %n1 = reshape %n : tile<i32> -> tile<1xi32>\n"
                             "  %n128 = broadcast %n1 : tile<1xi32> -> tile<128xi32>\n"
                             "  %x = muli %i, %n128 : tile<128xi32>\n"
                             "  %p1 = reshape %to : tile<ptr<i32>> -> tile<1xptr<i32>>\n"
                             "  %p128 = broadcast %p1 : tile<1xptr<i32>> -> tile<128xptr<i32>>\n"
                             "  %p = offset %p128, %i : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>\n"
                             "  %t = store_ptr_tko weak %p, %x : tile<128xptr<i32>>, tile<128xi32> -> token\n"
                             "  return\n"
                             "}\n}\n";

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

/* The kernel as bytecode. False: out of memory. */
static bool make_bytecode(bc_text *out)
{
    tv_sink sink = {.report = ignore};
    tv_module *module = NULL;
    bool fine = tv_module_parse(kernel, sizeof kernel - 1, 1, NULL, sink, &module) == TV_OK
                && tv_module_write(module, sink, (tv_writer){.user = out, .write = bc_text_append}) == TV_OK;
    tv_module_close(module);
    return fine && !out->failed;
}

/* Launches and compares. */
static tvResult run_kernel(const ld_device *device, struct CUfunc_st *function, tvDevicePtr memory, bool *out_right)
{
    int32_t found[LANES] = {0}, factor = FACTOR;
    void *params[] = {&memory, &factor};
    ld_launch launch = {.function = function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
    double ms;
    tvResult code = ld_device_write(device, memory, found, sizeof found);
    if (code == LD_CUDA_SUCCESS)
        code = ld_device_run(device, &launch, &ms);
    if (code == LD_CUDA_SUCCESS)
        code = ld_device_read(device, found, memory, sizeof found);
    *out_right = true;
    for (int32_t i = 0; i < LANES; i++)
        *out_right = *out_right && found[i] == i * FACTOR;
    return code;
}

static tvResult load_and_run(const ld_device *device, tv_str bytecode, bool *out_right)
{
    struct CUmod_st *module = NULL;
    struct CUfunc_st *function = NULL;
    tvDevicePtr memory = 0;
    tvResult code = tvModuleLoadDataEx(&module, bytecode.ptr, 0, NULL, NULL);
    if (code == LD_CUDA_SUCCESS)
        code = tvModuleGetFunction(&function, module, "selftest");
    if (code == LD_CUDA_SUCCESS)
        code = ld_device_alloc(device, LANES * sizeof(int32_t), &memory);
    if (code == LD_CUDA_SUCCESS)
        code = run_kernel(device, function, memory, out_right);
    ld_device_free(device, memory);
    if (module)
        tvModuleUnload(module);
    return code;
}

/* What the last error says, and its help as the fix. */
static void add_error(doctor *d, const char *name)
{
    static const char mark[] = "\n   help: ";
    d->failed |= ld_ran_out();
    const char *said = tvGetLastErrorMessage(), *help = strstr(said, mark);
    char fix[400];
    snprintf(fix, sizeof fix, "(%s)", help ? help + strlen(mark) : "see what nvidia-smi and the system's log say");
    doctor_add(d, name, DOCTOR_PROBLEM, fix, "%.*s", (int)strcspn(said, "\n"), said);
}

static void test_device(doctor *d, const ld_device *device, tv_str bytecode)
{
    char name[32];
    bool right = false;
    double start = ld_now_ms();
    snprintf(name, sizeof name, "self-test %d", device->ordinal);
    tvResult code = load_and_run(device, bytecode, &right);
    if (code != LD_CUDA_SUCCESS)
        add_error(d, name);
    else if (!right)
        doctor_add(d, name, DOCTOR_PROBLEM, "nvidia-smi -q -d ECC,PAGE_RETIREMENT (and please report it)",
                   "the kernel ran, but its result is wrong");
    else
        doctor_add(d, name, DOCTOR_FINE, NULL, "a kernel was loaded and run in %.1f ms, and its result is correct",
                   ld_now_ms() - start);
}

/* How kernels run on the device. */
static void tell_path(doctor *d, int ordinal, unsigned sm)
{
    const char *target = tv_target_for(sm, true, ld_ptx_version(d->driver->version));
    char name[32];
    snprintf(name, sizeof name, "code %d", ordinal);
    if (!target)
        return;
    cg_path path = cg_path_of(cg_target_find(bc_str(target)));
    doctor_add(d, name, DOCTOR_FINE, NULL, "for %s: products by %s, tiles of loops by %s%s", target, path.products,
               path.loads, path.was_run ? "" : "; our tests have never run on such a GPU");
}

/* alone: there is no other device. */
static void look_at_device(doctor *d, int ordinal, bool alone, tv_str bytecode)
{
    ld_device device = {0};
    char name[32];
    size_t available = 0, total = 0;
    snprintf(name, sizeof name, "device %d", ordinal);
    if (ld_device_open(ordinal, &device) != LD_CUDA_SUCCESS) {
        add_error(d, name);
        return;
    }
    if (device.target < LD_OLDEST_TARGET)
        doctor_add(d, name, alone ? DOCTOR_PROBLEM : DOCTOR_NOTE, "(another device, or 'tilevm run --device cpu')",
                   "%s, sm_%u: too old for Tile IR", device.name, device.target);
    else if (d->driver->cuMemGetInfo(&available, &total) == LD_CUDA_SUCCESS)
        doctor_add(d, name, DOCTOR_FINE, NULL, "%s, sm_%u, %.3g of %.3g GB free", device.name, device.target,
                   (double)available / 1e9, (double)total / 1e9);
    else
        doctor_add(d, name, DOCTOR_FINE, NULL, "%s, sm_%u", device.name, device.target);
    if (device.target >= LD_OLDEST_TARGET)
        tell_path(d, ordinal, device.target);
    if (device.target >= LD_OLDEST_TARGET)
        test_device(d, &device, bytecode);
    ld_device_close(&device);
}

/* How many devices there are; 0 was said. */
static int count_devices(doctor *d)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;
    tvResult code = d->driver->cuInit(0);
    if (code == LD_CUDA_SUCCESS)
        code = d->driver->cuDeviceGetCount(&count);
    const char *error = ld_cuda_error_name(code);
    if (code == LD_CUDA_SUCCESS && count)
        return count;
    if (visible)
        doctor_add(d, "devices", DOCTOR_PROBLEM, "unset CUDA_VISIBLE_DEVICES", "none: CUDA_VISIBLE_DEVICES is '%s'",
                   visible);
    else
        doctor_add(d, "devices", DOCTOR_PROBLEM, "nvidia-smi -L (and in a container: docker run --gpus all ...)",
                   "none%s%s", code == LD_CUDA_SUCCESS ? "" : ": CUDA_ERROR_",
                   code == LD_CUDA_SUCCESS ? ""
                   : error                 ? error
                                           : "?");
    return 0;
}

void doctor_look_at_devices(doctor *d)
{
    bc_text bytecode;
    if (!d->driver)
        return;
    bc_text_init(&bytecode, NULL);
    int count = count_devices(d);
    if (count && !make_bytecode(&bytecode))
        d->failed = true;
    for (int i = 0; !d->failed && i < count; i++)
        look_at_device(d, i, count == 1, bc_text_get(&bytecode));
    bc_text_release(&bytecode);
}

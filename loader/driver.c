/* Finds the driver library and its functions. Functions come from cuGetProcAddress where the driver has it (12.0 and
   later always do), which hands out the ABI that cuda_api.def asks for, else from dlsym. */
#include "loader/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "bytecode/base/compiler.h"

#define LIBRARY "libcuda.so.1"

/* CUDA version to PTX ISA version, oldest first. Source: PTX ISA, release notes. From 13.0 on the two go in step. */
static const struct {
    int cuda;
    unsigned ptx;
} ptx_versions[] = {{12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84},
                    {12050, 85}, {12070, 86}, {12080, 87}, {12090, 88}};

unsigned ld_ptx_version(int cuda_version)
{
    if (cuda_version >= 13000) {
        unsigned major = (unsigned)cuda_version / 1000, minor = (unsigned)cuda_version % 1000 / 10;
        return (major - 4) * 10 + (minor < 9 ? minor : 9);
    }
    unsigned found = 0;
    for (size_t i = 0; i < TV_COUNT(ptx_versions); i++)
        if (ptx_versions[i].cuda <= cuda_version)
            found = ptx_versions[i].ptx;
    return found;
}

/* ---- opening ---- */

typedef tvResult get_proc_fn(const char *symbol, void **function, int version, unsigned long long flags,
                             unsigned *status);

static _Thread_local bool opening;

bool ld_driver_is_opening(void)
{
    return opening;
}

/* One function of the driver, NULL if it has none. Per-thread variants are asked for by their symbol. */
static void *look_up(void *library, get_proc_fn *get_proc, const char *name, const char *symbol, int version)
{
    void *found = NULL;
    if (get_proc && !strstr(symbol, "_ptsz") && get_proc(name, &found, version, 0, NULL) == LD_CUDA_SUCCESS && found)
        return found;
    return dlsym(library, symbol);
}

/* The C standard has no conversion from object to function pointers; POSIX has, for dlsym. */
static void set_function(void *target, void *found)
{
    memcpy(target, &found, sizeof found);
}

static tvResult open_library(ld_driver *driver)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return ld_fail(LD_RULE_L_DRV_01, LD_CUDA_SHARED_OBJECT_INIT_FAILED, "there is no CUDA driver: %s", dlerror());
    tvResult (*get_version)(int *);
    set_function(&get_version, dlsym(library, "cuDriverGetVersion"));
    int version = 0;
    tvResult code = get_version ? get_version(&version) : LD_CUDA_STUB_LIBRARY;
    if (code != LD_CUDA_SUCCESS) {
        dlclose(library);
        return ld_fail(LD_RULE_L_DRV_04, code, "%s does not report its version", LIBRARY);
    }
    if (version < LD_DRIVER_OLDEST) {
        dlclose(library);
        return ld_fail(LD_RULE_L_DRV_02, LD_CUDA_CALL_REQUIRES_NEWER_DRIVER,
                       "the NVIDIA driver is for CUDA %d.%d; 12.0 or later is needed", version / 1000,
                       version % 1000 / 10);
    }
    get_proc_fn *get_proc;
    set_function(&get_proc, dlsym(library, "cuGetProcAddress_v2"));
    *driver = (ld_driver){.library = library, .version = version};
#define CUDA(name, symbol, since, parameters) \
    set_function(&driver->name, look_up(library, get_proc, #name, #symbol, since));
#include "loader/cuda_api.def"
#define CUDA(name, symbol, since, parameters)                                                                     \
    if (!driver->name && since <= LD_DRIVER_OLDEST)                                                               \
        return ld_fail(LD_RULE_L_DRV_02, LD_CUDA_CALL_REQUIRES_NEWER_DRIVER, "%s, for CUDA %d.%d, has no " #name, \
                       LIBRARY, version / 1000, version % 1000 / 10);
#include "loader/cuda_api.def"
    return LD_CUDA_SUCCESS;
}

tvResult ld_driver_open(const ld_driver **out_driver)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ld_driver driver;
    static atomic_bool is_open;
    tvResult code = LD_CUDA_SUCCESS;
    if (!atomic_load_explicit(&is_open, memory_order_acquire)) {
        pthread_mutex_lock(&lock);
        opening = true;
        if (!is_open)
            code = open_library(&driver);
        opening = false;
        if (code == LD_CUDA_SUCCESS)
            atomic_store_explicit(&is_open, true, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    if (code == LD_CUDA_SUCCESS)
        *out_driver = &driver;
    return code;
}

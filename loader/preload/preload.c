/* libtilevm_cuda.so, for LD_PRELOAD: a program that loads Tile IR bytecode through the CUDA driver does so through us,
   on any driver from 12.0 on. Everything else goes on to the driver.

   A program finds the driver's functions in one of three ways, and each leads here:
     linked with -lcuda           the functions below have the driver's names and come first
     dlopen and dlsym             our dlsym hands out the functions below where the driver's would be found (the CUDA
                                  runtime, ctypes and others begin like this)
     cuGetProcAddress             found in one of the two other ways, so ours; it answers likewise
   Nothing happens when the library is loaded: a process that never uses CUDA pays one look at a name for each dlsym. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "loader/driver.h"
#include "loader/message.h"
#include "tilevm/tilevm.h"

/* ---- messages ---- */

static void print_message(void *user, int severity, const char *text)
{
    (void)user;
    if (severity <= ld_loudest(TV_WARNING))
        ld_print(severity, text);
}

static void set_handler(void)
{
    tvSetMessageHandler(print_message, NULL);
}

static void prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_handler);
}

/* ---- functions ---- */

#define STAND_IN(suffix, parameters, arguments) \
    tvResult cu##suffix parameters;             \
    tvResult cu##suffix parameters              \
    {                                           \
        prepare();                              \
        return tv##suffix arguments;            \
    }
#include "loader/preload/functions.def"

typedef void any_fn(void);
static any_fn *stand_in(const char *name, bool thread_stream, int version);

enum { THREAD_STREAM = 2, WITH_QUERY_RESULT = 12000 }; /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */

/* The driver's own answer decides whether there is such a function at all; ours, which one it is. */
static tvResult ask(const char *symbol, void **out, int version, uint64_t flags, unsigned *status)
{
    const ld_driver *driver;
    prepare();
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = driver->cuGetProcAddress(symbol, out, version, flags, status);
    any_fn *ours = code == LD_CUDA_SUCCESS && symbol && out && *out
                       ? stand_in(symbol, (flags & THREAD_STREAM) != 0, version)
                       : NULL;
    if (ours)
        memcpy(out, &ours, sizeof ours);
    return code;
}

tvResult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags);
tvResult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    return ask(symbol, out, version, flags, NULL);
}

tvResult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, unsigned *status);
tvResult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, unsigned *status)
{
    return ask(symbol, out, version, flags, status);
}

/* ---- finding them ---- */

static const struct {
    const char *name;
    any_fn *ours;
} table[] = {
#define STAND_IN(suffix, parameters, arguments) {"cu" #suffix, (any_fn *)cu##suffix},
#include "loader/preload/functions.def"
    {"cuGetProcAddress", (any_fn *)cuGetProcAddress},
    {"cuGetProcAddress_v2", (any_fn *)cuGetProcAddress_v2},
};

static any_fn *by_symbol(const char *symbol)
{
    for (size_t i = 0; i < TV_COUNT(table); i++)
        if (strcmp(table[i].name, symbol) == 0)
            return table[i].ours;
    return NULL;
}

/* By the name that cuGetProcAddress takes, which has no suffix for the ABI or the kind of stream. */
static any_fn *stand_in(const char *name, bool thread_stream, int version)
{
    if (strcmp(name, "cuGetProcAddress") == 0)
        return version >= WITH_QUERY_RESULT ? (any_fn *)cuGetProcAddress_v2 : (any_fn *)cuGetProcAddress;
    char symbol[64];
    int len = snprintf(symbol, sizeof symbol, "%s_ptsz", name);
    any_fn *found = thread_stream && len > 0 && (size_t)len < sizeof symbol ? by_symbol(symbol) : NULL;
    return found ? found : by_symbol(name);
}

typedef void *dlsym_fn(void *restrict handle, const char *restrict name);

/* The C library's own. Its version is what links against it: GLIBC_2.34 since it is in libc itself. */
static dlsym_fn *real_dlsym(void)
{
    static _Atomic(dlsym_fn *) known;
    dlsym_fn *real = atomic_load_explicit(&known, memory_order_acquire);
    if (!real) {
        static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
        void *found = NULL;
        for (size_t i = 0; !found && i < TV_COUNT(versions); i++)
            found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&real, &found, sizeof real);
        atomic_store_explicit(&known, real, memory_order_release);
    }
    return real;
}

/* True when handle is the driver library: there the function found is the driver's, not one of that name in a library
   of somebody else, who may stand in for the driver as well. */
static bool is_driver(dlsym_fn *real, void *handle, const char *name, const void *found)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return false;
    bool same = handle == library || real(library, name) == found;
    dlclose(library);
    return same;
}

/* Looks where its caller is (RTLD_NEXT means "after the caller"), so the call must stay a jump: this file is compiled
   with sibling calls optimised. */
void *dlsym(void *restrict handle, const char *restrict name)
{
    dlsym_fn *real = real_dlsym();
    any_fn *ours;
    if (TV_LIKELY(name[0] != 'c' || name[1] != 'u') || handle == RTLD_NEXT || handle == RTLD_DEFAULT
        || ld_driver_is_opening() || (ours = by_symbol(name)) == NULL)
        return real(handle, name);
    void *found = real(handle, name);
    if (found && is_driver(real, handle, name, found))
        memcpy(&found, &ours, sizeof found);
    return found;
}

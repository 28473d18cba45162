/* The form in which modules are handed to the driver, from the environment: its variables are those of the CUDA C++
   Programming Guide, "CUDA Environment Variables". */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/cache.h"
#include "loader/image.h"
#include "loader/message.h"

/* The value of a variable, NULL when it is not set or empty. */
static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

/* Is the variable a number, and that one zero? */
static bool is_zero(const char *value)
{
    char *end;
    return strtoull(value, &end, 10) == 0 && end != value && !*end;
}

/* Can a folder of that path be written to or created? Its nearest existing ancestor decides. */
static bool can_write(const char *folder)
{
    char path[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path)
        return false;
    while (stat(path, &info) != 0) {
        char *slash = strrchr(path, '/');
        if ((errno != ENOENT && errno != ENOTDIR) || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
            return false;
        if (!slash)
            strcpy(path, ".");
        else
            slash[slash == path] = 0;
    }
    return S_ISDIR(info.st_mode) && faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0;
}

/* Why the driver cannot cache the code that it makes from PTX; NULL: it can. */
static const char *driver_keeps_nothing(void)
{
    const char *disable = variable("CUDA_CACHE_DISABLE"), *size = variable("CUDA_CACHE_MAXSIZE");
    const char *path = variable("CUDA_CACHE_PATH"), *home = variable("HOME");
    char own[PATH_MAX];
    if (disable && strtol(disable, NULL, 10) != 0)
        return "CUDA_CACHE_DISABLE is set";
    if (size && is_zero(size))
        return "CUDA_CACHE_MAXSIZE is 0";
    if (path)
        return can_write(path) ? NULL : "CUDA_CACHE_PATH cannot be written to";
    if (!home)
        return "the driver's cache has no folder: neither CUDA_CACHE_PATH nor HOME is set";
    bool fits = snprintf(own, sizeof own, "%s/.nv/ComputeCache", home) < (int)sizeof own;
    return fits && can_write(own) ? NULL : "the driver's cache, ~/.nv/ComputeCache, cannot be written to";
}

static bool we_keep_something(void)
{
    ld_cache cache;
    ld_cache_init(&cache);
    bool keeps = cache.path != NULL;
    ld_cache_release(&cache);
    return keeps;
}

ld_form ld_form_here(const char **out_why)
{
    static atomic_bool said;
    const char *asked = variable("TILEVM_IMAGE");
    bool ptx = asked && strcmp(asked, "ptx") == 0, cubin = asked && strcmp(asked, "cubin") == 0;
    *out_why = "TILEVM_IMAGE asks for it";
    if (ptx || cubin)
        return ptx ? LD_PTX : LD_CUBIN;
    if (asked && !atomic_exchange(&said, true))
        ld_warn(LD_RULE_L_IMG_04, "TILEVM_IMAGE is '%s'; it counts as not set", asked);
    const char *why = driver_keeps_nothing();
    if (!why) {
        *out_why = "the driver keeps the code";
        return LD_PTX;
    }
    bool kept = we_keep_something();
    *out_why = kept ? why : "nothing keeps the code";
    return kept ? LD_CUBIN : LD_PTX;
}

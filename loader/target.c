/* Selects the target to compile for, from the devices of the machine. */
#include "loader/load.h"
#include "loader/message.h"

tvResult ld_device_target(const ld_driver *driver, int device, unsigned *out_target)
{
    int major = 0, minor = 0;
    tvResult code = driver->cuDeviceGetAttribute(&major, LD_ATTRIBUTE_CAPABILITY_MAJOR, device);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuDeviceGetAttribute(&minor, LD_ATTRIBUTE_CAPABILITY_MINOR, device);
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_DRV_04, code, "the driver cannot describe device %d", device);
    *out_target = (unsigned)(major * 10 + minor);
    return LD_CUDA_SUCCESS;
}

static tvResult too_old(unsigned target)
{
    return ld_fail(LD_RULE_L_ARCH_01, LD_CUDA_NO_BINARY_FOR_GPU,
                   "the device is sm_%u; Tile IR kernels run on sm_%d and later", target, LD_OLDEST_TARGET);
}

/* Says nothing: what was loaded is none of ours. Without a context, as when a library is loaded early, the first device
   stands for all. */
tvResult ld_current_target(const ld_driver *driver, unsigned *out_target)
{
    int device = 0, major = 0, minor = 0;
    if (driver->cuCtxGetDevice(&device) != LD_CUDA_SUCCESS)
        device = 0;
    tvResult code = driver->cuDeviceGetAttribute(&major, LD_ATTRIBUTE_CAPABILITY_MAJOR, device);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuDeviceGetAttribute(&minor, LD_ATTRIBUTE_CAPABILITY_MINOR, device);
    *out_target = (unsigned)(major * 10 + minor);
    return code;
}

tvResult ld_context_target(const ld_driver *driver, unsigned *out_target)
{
    int device;
    tvResult code = driver->cuCtxGetDevice(&device);
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_CTX_01, code,
                       "bytecode is compiled for the device of the current context, and there is none");
    code = ld_device_target(driver, device, out_target);
    return code == LD_CUDA_SUCCESS && *out_target < LD_OLDEST_TARGET ? too_old(*out_target) : code;
}

/* What a library is compiled for: the oldest device that can run Tile IR at all, and so the others. A cubin is for
   devices of one kind, and needs a context. */
tvResult ld_library_target(const ld_driver *driver, ld_want *want)
{
    int devices = 0;
    tvResult code = driver->cuDeviceGetCount(&devices);
    if (code == LD_CUDA_SUCCESS && devices == 0)
        code = LD_CUDA_NO_DEVICE;
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_DRV_03, code, "there is no device to compile for");
    unsigned oldest = 0, newest = 0;
    for (int i = 0; i < devices; i++) {
        unsigned target;
        if ((code = ld_device_target(driver, i, &target)) != LD_CUDA_SUCCESS)
            return code;
        newest = target > newest ? target : newest;
        if (target >= LD_OLDEST_TARGET && (!oldest || target < oldest))
            oldest = target;
    }
    if (!oldest)
        return too_old(newest);
    struct CUctx_st *context = NULL;
    want->target = oldest;
    want->portable = oldest != newest;
    want->form = ld_form_here(&want->why);
    if (want->form == LD_PTX)
        return LD_CUDA_SUCCESS;
    if (want->portable)
        want->why = "there are devices of several kinds";
    else if (driver->cuCtxGetCurrent(&context) != LD_CUDA_SUCCESS || !context)
        want->why = "there is no context to make a cubin in";
    else
        return LD_CUDA_SUCCESS;
    want->form = LD_PTX;
    return LD_CUDA_SUCCESS;
}

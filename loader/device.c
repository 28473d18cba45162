/* Contexts, memory and timed launches. */
#include "loader/device.h"

#include "loader/message.h"
#include "loader/registry.h"

static tvResult choose_device(const ld_driver *driver, int ordinal, ld_device *device)
{
    int count = 0, handle, major = 0, minor = 0;
    tvResult code = driver->cuInit(0);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuDeviceGetCount(&count);
    if (code == LD_CUDA_SUCCESS && count == 0)
        code = LD_CUDA_NO_DEVICE;
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_DRV_03, code, "there is no device to run on");
    if (ordinal >= count)
        return count == 1 ? ld_fail(LD_RULE_L_DRV_03, LD_CUDA_INVALID_DEVICE,
                                    "there is no device cuda:%d; there is cuda:0 only", ordinal)
                          : ld_fail(LD_RULE_L_DRV_03, LD_CUDA_INVALID_DEVICE,
                                    "there is no device cuda:%d; there are cuda:0 to cuda:%d", ordinal, count - 1);
    code = driver->cuDeviceGet(&handle, ordinal);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuDeviceGetName(device->name, (int)sizeof device->name, handle);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuDeviceGetAttribute(&major, LD_ATTRIBUTE_CAPABILITY_MAJOR, handle);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuDeviceGetAttribute(&minor, LD_ATTRIBUTE_CAPABILITY_MINOR, handle);
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_DRV_04, code, "the driver cannot describe device %d", ordinal);
    device->ordinal = handle;
    device->target = (unsigned)(major * 10 + minor);
    return LD_CUDA_SUCCESS;
}

tvResult ld_device_open(int ordinal, ld_device *out)
{
    ld_device device = {0};
    tvResult code = ld_driver_open(&device.driver);
    if (code == LD_CUDA_SUCCESS)
        code = choose_device(device.driver, ordinal, &device);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = device.driver->cuDevicePrimaryCtxRetain(&device.context, device.ordinal);
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_CTX_01, code, "there is no context on device %d", ordinal);
    code = device.driver->cuCtxPushCurrent(device.context);
    if (code != LD_CUDA_SUCCESS) {
        device.driver->cuDevicePrimaryCtxRelease(device.ordinal);
        return ld_fail(LD_RULE_L_CTX_01, code, "the context of device %d cannot be made current", ordinal);
    }
    *out = device;
    return LD_CUDA_SUCCESS;
}

void ld_device_close(ld_device *device)
{
    if (!device->driver)
        return;
    device->driver->cuCtxPopCurrent(&device->context);
    device->driver->cuDevicePrimaryCtxRelease(device->ordinal);
    *device = (ld_device){0};
}

tvResult ld_device_alloc(const ld_device *device, size_t size, tvDevicePtr *out_address)
{
    unsigned long long address = 0;
    size_t available = 0, total = 0;
    tvResult code = device->driver->cuMemAlloc(&address, size ? size : 1);
    if (code == LD_CUDA_SUCCESS) {
        *out_address = address;
        return code;
    }
    if (code != LD_CUDA_OUT_OF_MEMORY || device->driver->cuMemGetInfo(&available, &total) != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_MEM_01, code, "no memory of %zu bytes on %s", size, device->name);
    return ld_fail(LD_RULE_L_MEM_01, code, "%s has no %.3g GB for an array: %.3g of its %.3g GB are free", device->name,
                   (double)size / 1e9, (double)available / 1e9, (double)total / 1e9);
}

void ld_device_free(const ld_device *device, tvDevicePtr address)
{
    if (address)
        device->driver->cuMemFree(address);
}

tvResult ld_device_write(const ld_device *device, tvDevicePtr to, const void *from, size_t size)
{
    tvResult code = size ? device->driver->cuMemcpyHtoD(to, from, size) : LD_CUDA_SUCCESS;
    return code == LD_CUDA_SUCCESS
               ? code
               : ld_fail(LD_RULE_L_DRV_04, code, "%zu bytes cannot be copied to %s", size, device->name);
}

tvResult ld_device_read(const ld_device *device, void *to, tvDevicePtr from, size_t size)
{
    tvResult code = size ? device->driver->cuMemcpyDtoH(to, from, size) : LD_CUDA_SUCCESS;
    return code == LD_CUDA_SUCCESS
               ? code
               : ld_fail(LD_RULE_L_DRV_04, code, "%zu bytes cannot be copied from %s", size, device->name);
}

tvResult ld_device_fill(const ld_device *device, tvDevicePtr address, unsigned char value, size_t size)
{
    tvResult code = device->driver->cuMemsetD8(address, value, size);
    return code == LD_CUDA_SUCCESS
               ? code
               : ld_fail(LD_RULE_L_DRV_04, code, "%zu bytes cannot be set on %s", size, device->name);
}

bool ld_device_figure(const ld_device *device, unsigned attribute, int *out)
{
    return device->driver->cuDeviceGetAttribute(out, attribute, device->ordinal) == LD_CUDA_SUCCESS;
}

bool ld_function_figure(const ld_device *device, struct CUfunc_st *function, unsigned attribute, int *out)
{
    return device->driver->cuFuncGetAttribute(out, attribute, function) == LD_CUDA_SUCCESS;
}

/* Launches of our own kernels have said what is wrong with them. */
static tvResult refused(const ld_device *device, const ld_launch *launch, tvResult code)
{
    ld_record record;
    return ld_registry_find(launch->function, &record)
               ? code
               : ld_fail(LD_RULE_L_LAUNCH_05, code, "%s does not launch the kernel", device->name);
}

static tvResult launch(const ld_device *device, const ld_launch *l, unsigned times, struct CUstream_st *stream)
{
    for (unsigned i = 0; i < times; i++) {
        tvResult code = tvLaunchKernel(l->function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                                       l->block[2], l->shared_bytes, stream, l->params, NULL);
        if (code != LD_CUDA_SUCCESS)
            return refused(device, l, code);
    }
    return LD_CUDA_SUCCESS;
}

/* Waits for the end of what was recorded between the events. */
static tvResult read_timer(const ld_device *device, const ld_timer *timer, double *out_ms)
{
    float ms = 0;
    tvResult code = device->driver->cuCtxSynchronize(); /* what a kernel did wrong shows here */
    if (code == LD_CUDA_SUCCESS)
        code = device->driver->cuEventElapsedTime(&ms, timer->start, timer->end);
    *out_ms = ms;
    return code;
}

static tvResult fails(const ld_device *device, tvResult code)
{
    return code == LD_CUDA_SUCCESS ? code : ld_fail(LD_RULE_L_RUN_01, code, "the kernel failed on %s", device->name);
}

tvResult ld_device_time(const ld_device *device, const ld_timer *timer, const ld_launch *l, unsigned times,
                        double *out_ms)
{
    tvResult code = device->driver->cuEventRecord(timer->start, NULL);
    if (code == LD_CUDA_SUCCESS) {
        tvResult launched = launch(device, l, times, NULL);
        if (launched != LD_CUDA_SUCCESS)
            return launched;
        code = device->driver->cuEventRecord(timer->end, NULL);
    }
    return fails(device, code == LD_CUDA_SUCCESS ? read_timer(device, timer, out_ms) : code);
}

tvResult ld_timer_open(const ld_device *device, ld_timer *out)
{
    enum { NON_BLOCKING = 1 };
    *out = (ld_timer){.stream = NULL};
    tvResult code = device->driver->cuEventCreate(&out->start, 0);
    if (code == LD_CUDA_SUCCESS)
        code = device->driver->cuEventCreate(&out->end, 0);
    if (code == LD_CUDA_SUCCESS)
        code = device->driver->cuStreamCreate(&out->stream, NON_BLOCKING);
    return code == LD_CUDA_SUCCESS
               ? code
               : ld_fail(LD_RULE_L_DRV_04, code, "%s cannot create events to measure the time", device->name);
}

void ld_timer_close(const ld_device *device, ld_timer *timer)
{
    if (timer->start)
        device->driver->cuEventDestroy(timer->start);
    if (timer->end)
        device->driver->cuEventDestroy(timer->end);
    if (timer->stream)
        device->driver->cuStreamDestroy(timer->stream);
    *timer = (ld_timer){.stream = NULL};
}

tvResult ld_device_run(const ld_device *device, const ld_launch *launch, double *out_ms)
{
    ld_timer timer;
    *out_ms = 0;
    tvResult code = ld_timer_open(device, &timer);
    if (code == LD_CUDA_SUCCESS)
        code = ld_device_time(device, &timer, launch, 1, out_ms);
    ld_timer_close(device, &timer);
    return code;
}

/* ---- graphs ---- */

static tvResult capture(const ld_device *device, const ld_timer *timer, const ld_launch *l, unsigned times,
                        struct CUgraph_st **graph)
{
    enum { THREAD_LOCAL = 1 }; /* other threads may do what a capture does not allow */
    tvResult code = device->driver->cuStreamBeginCapture(timer->stream, THREAD_LOCAL);
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_DRV_04, code, "%s cannot record launches", device->name);
    code = launch(device, l, times, timer->stream);
    tvResult ended = device->driver->cuStreamEndCapture(timer->stream, graph);
    return code != LD_CUDA_SUCCESS ? code : fails(device, ended);
}

tvResult ld_graph_open(const ld_device *device, const ld_timer *timer, const ld_launch *l, unsigned times,
                       ld_graph *out)
{
    struct CUgraph_st *graph = NULL;
    *out = (ld_graph){.times = 0};
    tvResult code = capture(device, timer, l, times, &graph);
    if (code == LD_CUDA_SUCCESS) {
        code = fails(device, device->driver->cuGraphInstantiateWithFlags(&out->exec, graph, 0));
        out->device = code == LD_CUDA_SUCCESS ? device : NULL;
        out->times = times;
    }
    if (graph)
        device->driver->cuGraphDestroy(graph);
    return code;
}

void ld_graph_close(ld_graph *graph)
{
    if (graph->device)
        graph->device->driver->cuGraphExecDestroy(graph->exec);
    *graph = (ld_graph){.times = 0};
}

tvResult ld_graph_time(const ld_graph *graph, const ld_timer *timer, double *out_ms)
{
    const ld_device *device = graph->device;
    tvResult code = device->driver->cuEventRecord(timer->start, timer->stream);
    if (code == LD_CUDA_SUCCESS)
        code = device->driver->cuGraphLaunch(graph->exec, timer->stream);
    if (code == LD_CUDA_SUCCESS)
        code = device->driver->cuEventRecord(timer->end, timer->stream);
    return fails(device, code == LD_CUDA_SUCCESS ? read_timer(device, timer, out_ms) : code);
}

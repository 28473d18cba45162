/* One GPU, for what tools do besides loading and launching: its context, memory, copies, and the time of kernels.
   Errors have been reported (loader/message.h). Everything happens in the calling thread and its default stream. */
#ifndef TILEVM_LOADER_DEVICE_H
#define TILEVM_LOADER_DEVICE_H

#include <stdint.h>

#include "loader/driver.h"

typedef struct ld_device {
    const ld_driver *driver;
    struct CUctx_st *context; /* the primary one, current in this thread */
    int ordinal;
    unsigned target; /* 90 for sm_90 */
    char name[128];
} ld_device;

/* Opens the ordinal-th device. NO_DEVICE, INVALID_DEVICE, and what opening the driver may give. */
tvResult ld_device_open(int ordinal, ld_device *out);
/* Also after an error that the context did not survive. */
void ld_device_close(ld_device *device);

/* The address is a multiple of 256. size 0 counts as 1. */
tvResult ld_device_alloc(const ld_device *device, size_t size, tvDevicePtr *out_address);
void ld_device_free(const ld_device *device, tvDevicePtr address);
tvResult ld_device_write(const ld_device *device, tvDevicePtr to, const void *from, size_t size);
tvResult ld_device_read(const ld_device *device, void *to, tvDevicePtr from, size_t size);

/* Sets every byte. Does not wait for the end. */
tvResult ld_device_fill(const ld_device *device, tvDevicePtr address, unsigned char value, size_t size);

/* A figure of the device (LD_ATTRIBUTE_...) or of a kernel on it (LD_FUNCTION_...). False: the driver does not tell; no
   error is reported. */
bool ld_device_figure(const ld_device *device, unsigned attribute, int *out);
bool ld_function_figure(const ld_device *device, struct CUfunc_st *function, unsigned attribute, int *out);

/* A launch, as tvLaunchKernel takes it; block 1, 1, 1 and shared_bytes 0 for a Tile IR kernel. */
typedef struct ld_launch {
    struct CUfunc_st *function;
    uint32_t grid[3], block[3], shared_bytes;
    void **params;
} ld_launch;

/* Two events, to measure with, and a stream of its own for graphs. The caller closes the timer in any case, before the
   device. */
typedef struct ld_timer {
    struct CUevent_st *start, *end;
    struct CUstream_st *stream;
} ld_timer;
tvResult ld_timer_open(const ld_device *device, ld_timer *out);
void ld_timer_close(const ld_device *device, ld_timer *timer);

/* Launches so many times, one launch behind the other, and waits for the end of the last. out_ms: how long the device
   took for all of them, or for the host to launch them if that takes longer. */
tvResult ld_device_time(const ld_device *device, const ld_timer *timer, const ld_launch *launch, unsigned times,
                        double *out_ms);
/* The same for one launch, with a timer of its own. */
tvResult ld_device_run(const ld_device *device, const ld_launch *launch, double *out_ms);

/* Launches, one behind the other, that the device executes without the host. Parameters have the values that they had
   when the graph was opened. The caller closes the graph before the timer. */
typedef struct ld_graph {
    const ld_device *device; /* NULL: not open */
    struct CUgraphExec_st *exec;
    unsigned times;
} ld_graph;
tvResult ld_graph_open(const ld_device *device, const ld_timer *timer, const ld_launch *launch, unsigned times,
                       ld_graph *out);
void ld_graph_close(ld_graph *graph);
/* Executes the graph and waits for its end. out_ms: how long the device took for all launches. */
tvResult ld_graph_time(const ld_graph *graph, const ld_timer *timer, double *out_ms);

#endif

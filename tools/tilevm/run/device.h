/* A GPU that holds the memory of a job's arrays, guard zones included, and runs kernels on it. Errors are those of
   loader/message.h: tvGetLastErrorMessage has the words. */
#ifndef TILEVM_TOOLS_RUN_DEVICE_H
#define TILEVM_TOOLS_RUN_DEVICE_H

#include "bytecode/module.h"
#include "loader/device.h"
#include "tools/tilevm/run/run.h"
#include "tools/tilevm/run/memory.h"

typedef struct run_piece {
    tvDevicePtr given; /* as the driver gave it */
    tvDevicePtr block; /* where the piece's block lies; a multiple of ARG_GUARD, as on the CPU */
} run_piece;

typedef struct run_device {
    run_job *job;
    run_memory memory;
    ld_device gpu;
    run_piece *pieces;  /* one for each piece of memory */
    tv_call *call;      /* the job's, with addresses of the device */
    tvDevicePtr *lists; /* descriptors of its lists */
    size_t list_count;
    bc_text *output; /* gets what kernels print; NULL: that goes to standard output */
} run_device;

/* Opens the device and allocates memory there for everything that the job's arguments need. The caller closes it in any
   case. */
tvResult run_device_open(run_job *job, int ordinal, run_device *out);
void run_device_close(run_device *device);

typedef struct run_kernel {
    struct CUmod_st *module;
    struct CUfunc_st *function;
    uint32_t block[3], shared_bytes;
} run_kernel;

/* For the device that is open. bytes: bytecode, or PTX or a cubin with a zero after its end. */
tvResult run_device_load(const void *bytes, const char *entry, run_kernel *out);
void run_device_unload(run_kernel *kernel);

/* Copies the arrays to the device, runs the kernel and copies them back. extra (NULL: none): memory whose address on
   the device is the last parameter; it is copied both ways, too. After an error the arrays are as they were. */
tvResult run_device_run(run_device *device, const run_kernel *kernel, void *extra, size_t extra_size, double *out_ms);

/* The parts of that call. Copies the arrays to the device. */
tvResult run_device_copy_there(const run_device *device);
/* The parameters of a launch, the last of which is extra (NULL: there is none); the caller frees them. NULL: out of
   memory. */
void **run_device_params(const run_device *device, tvDevicePtr *extra);

/* Captures what kernels print: the driver writes it to standard output, and `end` appends to `out` what was written
   since `begin`. */
typedef struct run_capture {
    FILE *file;
    int saved;
} run_capture;
void run_capture_begin(run_capture *capture, bool wanted);
void run_capture_end(run_capture *capture, bc_text *out);

/* Reports that the host has no memory left. */
tvResult run_device_no_memory(void);

/* The address here of what lies at an address of the device, in the guard zones too; 0 for any other. */
uint64_t run_device_host_address(const run_device *device, uint64_t address);

#endif

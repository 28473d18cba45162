/* The CUDA driver library, found when it is first needed. Own declarations: no header of CUDA's is used. */
#ifndef TILEVM_LOADER_DRIVER_H
#define TILEVM_LOADER_DRIVER_H

#include <stdbool.h>

#include "loader/message.h"
#include "tilevm/tilevm_cuda.h"

struct CUctx_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUlinkState_st;

/* LD_CUDA_NO_DEVICE and so on. */
typedef enum ld_cuda_error {
    LD_CUDA_SUCCESS = 0,
#define ERROR(name, code, rule, help) LD_CUDA_##name = (code),
#include "loader/cuda_errors.def"
} ld_cuda_error;

/* Values of the driver's enumerations that we use. */
enum {
    LD_ATTRIBUTE_CLOCK_KHZ = 13,
    LD_ATTRIBUTE_MULTIPROCESSORS = 16,
    LD_ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
    LD_ATTRIBUTE_MEMORY_BUS_BITS = 37,
    LD_ATTRIBUTE_L2_BYTES = 38,
    LD_ATTRIBUTE_CAPABILITY_MAJOR = 75,
    LD_ATTRIBUTE_CAPABILITY_MINOR = 76, /* CUdevice_attribute */
    LD_FUNCTION_SHARED = 1,
    LD_FUNCTION_LOCAL = 3,
    LD_FUNCTION_REGISTERS = 4,
    LD_FUNCTION_MAX_DYNAMIC_SHARED = 8, /* CUfunction_attribute */
    LD_JIT_ERROR_LOG = 5,
    LD_JIT_ERROR_LOG_SIZE = 6,
    LD_JIT_OPTIMIZATION_LEVEL = 7, /* CUjit_option */
    LD_JIT_TARGET = 9,
    LD_JIT_LINE_INFO = 13,
    LD_JIT_INPUT_PTX = 1 /* CUjitInputType */
};

enum { LD_DRIVER_OLDEST = 12000 };
/* The lowest compute capability that there is code for. */
enum { LD_OLDEST_TARGET = 75 };

typedef struct ld_driver {
    void *library;                                                          /* handle of dlopen; never closed */
    int version;                                                            /* of CUDA: 12040 for 12.4 */
#define CUDA(name, symbol, version, parameters) tvResult(*name) parameters; /* NULL: the driver is too old for it */
#include "loader/cuda_api.def"
} ld_driver;

/* The driver, opened by the first call. Errors have been reported (loader/message.h): SHARED_OBJECT_INIT_FAILED without
   a driver, CALL_REQUIRES_NEWER_DRIVER with one older than LD_DRIVER_OLDEST. Threads: any. */
tvResult ld_driver_open(const ld_driver **out_driver);

/* True while this thread looks up the driver's functions: a replacement of dlsym must then return the real ones. */
bool ld_driver_is_opening(void);

/* The name of an error code without CUDA_ERROR_, or NULL; and the usual remedy, "" if none is known. */
const char *ld_cuda_error_name(tvResult code);
const char *ld_cuda_error_help(tvResult code);
/* The rule that a code stands for, whichever call returned it; LD_RULE_NONE for most codes. */
ld_rule ld_cuda_error_rule(tvResult code);

/* The highest PTX ISA version that a driver (or toolkit) of that CUDA version accepts, as major * 10 + minor. */
unsigned ld_ptx_version(int cuda_version);

#endif

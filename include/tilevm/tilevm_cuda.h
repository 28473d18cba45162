/* Loading and launching Tile IR bytecode on NVIDIA GPUs: the driver's module, library and launch calls under other
   names.

   Where the driver accepts a cubin, these functions also accept Tile IR bytecode; they pass everything else on to the
   driver. Signatures, handles and error codes are the driver's: a handle returned by one of these functions may be
   passed to any cu function of the driver, and contexts, streams, memory and graphs are created with the driver as
   usual. The header works with or without <cuda.h> and needs no other CUDA header to compile. The driver library
   (libcuda.so.1) is opened by the first call of one of these functions; it must be for CUDA 12.0 or later.

   These rules hold for every function whose comment does not say otherwise:

   Memory     as for the function of the driver: the caller owns the result of a load, and unloads it once. Arguments
              are borrowed for the call only
   Errors     the result is a CUresult, 0 for success. Results go through the pointers that come first, which are
              written only on success. tvGetLastErrorMessage returns the message, which begins with the id of a rule in
              brackets, as in "[L-DRV-01] there is no CUDA driver": 'tilevm explain L-DRV-01' explains it. Ids are
              permanent; the wording may change
   Threads    any, as for the driver's functions. A launch takes one read lock and no other; nothing synchronises with
              the device, so launches can be captured into graphs
   State      the process keeps, for all threads: the opened driver, one table of the loaded kernels, up to 64 MiB of
              the images that were compiled last, the message handler, and the warnings that were already given. Each
              thread keeps its last error message. The cache is on disk */
#ifndef TILEVM_TILEVM_CUDA_H
#define TILEVM_TILEVM_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tags of the driver's handles: CUmodule is a pointer to struct CUmod_st, and so on. */
struct CUmod_st;
struct CUfunc_st;
struct CUlib_st;
struct CUkern_st;
struct CUstream_st;

#ifdef CUDA_VERSION /* <cuda.h> came first */
typedef CUresult tvResult;
typedef CUdeviceptr tvDevicePtr;
typedef CUjit_option tvJitOption;
typedef CUlaunchConfig tvLaunchConfig;
#if CUDA_VERSION >= 12000
typedef CUlibraryOption tvLibraryOption;
#else
typedef unsigned tvLibraryOption;
#endif
#else
typedef int tvResult;                   /* a CUresult: 0 is success */
typedef unsigned long long tvDevicePtr; /* a CUdeviceptr */
typedef unsigned tvJitOption;           /* a CUjit_option */
typedef unsigned tvLibraryOption;       /* a CUlibraryOption */

/* A CUlaunchAttribute. */
typedef struct tvLaunchAttribute {
    unsigned id; /* a CUlaunchAttributeID */
    char pad[4]; /* unused */
    union {
        char bytes[64];           /* all of it */
        unsigned long long align; /* unused */
        unsigned cluster[3];      /* the extents of a cluster */
        int number;               /* a number */
    } value;                      /* 64 bytes, whose meaning depends on the attribute */
} tvLaunchAttribute;

/* A CUlaunchConfig. */
typedef struct tvLaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ;    /* tile blocks */
    unsigned blockDimX, blockDimY, blockDimZ; /* 1 for a Tile IR kernel */
    unsigned sharedMemBytes;                  /* 0 for a Tile IR kernel */
    struct CUstream_st *hStream;              /* the stream */
    tvLaunchAttribute *attrs;                 /* numAttrs of them */
    unsigned numAttrs;                        /* of attrs */
} tvLaunchConfig;
#endif

/* ---- modules -------------------------------------------------------------------------------------------------- */

/* Loads a module from a file, as cuModuleLoad does.

   Bytecode is verified and compiled for the device of the current context, or taken from the cache. The driver gets PTX
   or, if it keeps no compiled code itself, a cubin.

   fname     a file of bytecode, or any file that the driver accepts
   Returns   the driver's codes and, for bytecode: CUDA_ERROR_INVALID_IMAGE when it breaks a rule;
             CUDA_ERROR_NO_BINARY_FOR_GPU when it cannot be compiled for this device;
             CUDA_ERROR_SHARED_OBJECT_INIT_FAILED without a driver; CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER when the
             driver is too old */
tvResult tvModuleLoad(struct CUmod_st **module, const char *fname);

/* Loads a module from memory, as cuModuleLoadData does; otherwise as tvModuleLoad. */
tvResult tvModuleLoadData(struct CUmod_st **module, const void *image);

/* Loads a module from memory with options, as cuModuleLoadDataEx does; otherwise as tvModuleLoad.

   options   for bytecode, only those for the error log, the optimisation level and line information have an effect */
tvResult tvModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned numOptions, tvJitOption *options,
                            void **optionValues);

/* Loads a module from a fat binary, as cuModuleLoadFatBinary does. The driver gets it first; if it has no code for the
   device, the Tile IR in it is loaded as tvModuleLoad does. */
tvResult tvModuleLoadFatBinary(struct CUmod_st **module, const void *fatCubin);

/* Unloads a module, as cuModuleUnload does. Its functions may not be used afterwards. */
tvResult tvModuleUnload(struct CUmod_st *hmod);

/* Finds a function of a module by its symbol, as cuModuleGetFunction does. */
tvResult tvModuleGetFunction(struct CUfunc_st **hfunc, struct CUmod_st *hmod, const char *name);

/* Lists the functions of a module, as cuModuleEnumerateFunctions does. Needs a driver for CUDA 12.4 or later. */
tvResult tvModuleEnumerateFunctions(struct CUfunc_st **functions, unsigned numFunctions, struct CUmod_st *mod);

/* Finds a global of a module, as cuModuleGetGlobal does. bytes is its size. */
tvResult tvModuleGetGlobal(tvDevicePtr *dptr, size_t *bytes, struct CUmod_st *hmod, const char *name);

/* ---- libraries ------------------------------------------------------------------------------------------------- */

/* Loads a library from memory, as cuLibraryLoadData does.

   A library serves all devices of the process: bytecode is compiled for the oldest of them, to PTX that the driver
   assembles when a kernel is first used. If the form is a cubin, as for modules, a current context is needed and all
   devices must be of one kind. A fat binary is passed to the driver if it has code for each device that can run Tile
   IR.

   Returns   as tvModuleLoad */
tvResult tvLibraryLoadData(struct CUlib_st **library, const void *code, tvJitOption *jitOptions,
                           void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                           void **libraryOptionValues, unsigned numLibraryOptions);

/* Loads a library from a file, as cuLibraryLoadFromFile does; otherwise as tvLibraryLoadData. */
tvResult tvLibraryLoadFromFile(struct CUlib_st **library, const char *fileName, tvJitOption *jitOptions,
                               void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                               void **libraryOptionValues, unsigned numLibraryOptions);

/* Unloads a library, as cuLibraryUnload does. Its kernels may not be used afterwards. */
tvResult tvLibraryUnload(struct CUlib_st *library);

/* Finds a kernel of a library by its symbol, as cuLibraryGetKernel does. */
tvResult tvLibraryGetKernel(struct CUkern_st **pKernel, struct CUlib_st *library, const char *name);

/* Lists the kernels of a library, as cuLibraryEnumerateKernels does. Needs a driver for CUDA 12.4 or later. */
tvResult tvLibraryEnumerateKernels(struct CUkern_st **kernels, unsigned numKernels, struct CUlib_st *lib);

/* The module of a library in the current context, as cuLibraryGetModule gives it. The library owns it. */
tvResult tvLibraryGetModule(struct CUmod_st **pMod, struct CUlib_st *library);

/* The function of a kernel in the current context, as cuKernelGetFunction gives it. The library owns it. */
tvResult tvKernelGetFunction(struct CUfunc_st **pFunc, struct CUkern_st *kernel);

/* ---- launches -------------------------------------------------------------------------------------------------- */

/* Launches a kernel, as cuLaunchKernel does. The caller of a Tile IR kernel does not choose its threads: the kernel
   gets the block and the shared memory for which it was compiled.

   f              a function, or a kernel of a library
   gridDim        tile blocks
   blockDim       1, 1, 1 for a Tile IR kernel
   sharedMem      0 bytes for a Tile IR kernel
   kernelParams   points to the values of the entry's parameters, in order
   Returns        the driver's codes; CUDA_ERROR_INVALID_VALUE when the grid, the block, the shared memory or the
                  parameters are wrong: nothing was launched */
tvResult tvLaunchKernel(struct CUfunc_st *f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                        unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes,
                        struct CUstream_st *hStream, void **kernelParams, void **extra);

/* Launches a kernel, as cuLaunchKernelEx does; otherwise as tvLaunchKernel. */
tvResult tvLaunchKernelEx(const tvLaunchConfig *config, struct CUfunc_st *f, void **kernelParams, void **extra);

/* As tvLaunchKernel, with the default stream of the calling thread in place of the legacy default stream. */
tvResult tvLaunchKernel_ptsz(struct CUfunc_st *f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                             unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes,
                             struct CUstream_st *hStream, void **kernelParams, void **extra);

/* As tvLaunchKernelEx, with the default stream of the calling thread in place of the legacy default stream. */
tvResult tvLaunchKernelEx_ptsz(const tvLaunchConfig *config, struct CUfunc_st *f, void **kernelParams, void **extra);
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define tvLaunchKernel tvLaunchKernel_ptsz
#define tvLaunchKernelEx tvLaunchKernelEx_ptsz
#endif

/* ---- bundles --------------------------------------------------------------------------------------------------- */

/* One file with the kernels of a program, for many devices. */
struct tvBundle_st;

/* What a kernel of a bundle is loaded from. */
typedef enum tvBundleForm {
    TV_BUNDLE_CUBIN,        /* a cubin for the device's own target */
    TV_BUNDLE_FAMILY_CUBIN, /* a cubin for an earlier device, which this device can also run */
    TV_BUNDLE_PTX,          /* PTX, which the driver assembles */
    TV_BUNDLE_BYTECODE      /* bytecode, compiled as by tvModuleLoadData */
} tvBundleForm;

/* What a kernel is loaded from, and why. */
typedef struct tvBundleChoice {
    tvBundleForm form; /* the form of the artifact */
    char target[16];   /* the artifact's target: "sm_90a"; "" for bytecode */
    char why[200];     /* in words */
} tvBundleChoice;

/* Maps a bundle and checks its seal. No kernel is read yet, and no driver is needed.

   path        a file, which must not be changed while the bundle is open: rename a new one into its place instead
   publicKey   a PEM file with one or more public keys, or a folder of files *.pem: one of the keys must have signed the
               bundle. NULL: the file or folder named by the environment variable TILEVM_BUNDLE_KEY. TILEVM_BUNDLE_TRUST
               and the host's /etc/tilevm/bundle-keys may require another key in addition; if nothing requires a key,
               any valid signature or none will do
   Memory      the caller closes the bundle with tvBundleClose
   Returns     0; CUDA_ERROR_INVALID_IMAGE when it is damaged, or not signed as it must be */
tvResult tvBundleOpen(struct tvBundle_st **bundle, const char *path, const char *publicKey);

/* Opens a bundle in memory; otherwise as tvBundleOpen.

   data      size bytes, which must stay valid until tvBundleClose */
tvResult tvBundleOpenData(struct tvBundle_st **bundle, const void *data, size_t size, const char *publicKey);

/* Closes a bundle and unloads its modules: its functions may not be used afterwards. Call it before the contexts are
   destroyed. NULL is fine. */
tvResult tvBundleClose(struct tvBundle_st *bundle);

/* Finds a kernel for the current context. The first call for a kernel and a context loads its module from the artifact
   that suits the device best; if the driver rejects that, it loads the next best one, with a warning.

   name      a symbol; or the name of a function, if the bundle has only one kernel of that function
   Memory    the bundle owns the function
   Returns   as tvModuleLoadData; CUDA_ERROR_NOT_FOUND when no kernel or several have that name
   Threads   any; loads from one bundle wait for one another */
tvResult tvBundleGetFunction(struct CUfunc_st **hfunc, struct tvBundle_st *bundle, const char *name);

/* The artifact from which a kernel was loaded in the current context or, if it has not been loaded yet, the one that is
   tried first.

   choice    filled in */
tvResult tvBundleGetChoice(tvBundleChoice *choice, struct tvBundle_st *bundle, const char *name);

/* The number of kernels in a bundle. */
tvResult tvBundleGetKernelCount(unsigned *count, struct tvBundle_st *bundle);

/* The symbol of a kernel.

   symbol    filled with size bytes at most, with the zero byte at its end
   index     below the number of kernels */
tvResult tvBundleGetKernelName(char *symbol, size_t size, struct tvBundle_st *bundle, unsigned index);

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* The message of the last of these functions that failed in this thread: lines of text, or "" if none failed.

   Memory    the text lives until the thread's next call */
const char *tvGetLastErrorMessage(void);

/* Sets the function that receives every message, for the whole process.

   handler   gets the severity: 0 error, 1 warning (such as a damaged entry of the cache), 2 note. Any thread may call
             it, one at a time; it must not call any of these functions. NULL, the default: messages are dropped, or go
             to standard error if the environment variable TILEVM_LOG is error, warning or note
   user      passed to handler */
void tvSetMessageHandler(void (*handler)(void *user, int severity, const char *text), void *user);

#ifdef __cplusplus
}
#endif
#endif

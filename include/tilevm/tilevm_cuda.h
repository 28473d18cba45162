/* Loading and launching Tile IR bytecode on NVIDIA GPUs: the driver's own module, library and launch calls under other
   names. Where the driver takes a cubin, these take Tile IR bytecode too; everything else they hand through.
   Signatures, handles and error codes are the driver's: what one of these functions returned may be given to any cu
   function of the driver, and contexts, streams, memory and graphs are made with the driver as usual.

   Works with or without <cuda.h>, and needs nothing of CUDA to compile: the driver library (libcuda.so.1) is looked for
   when the first of these functions is called. Needs a driver for CUDA 12.0 or later.

   Threads   any, as the driver's calls. A launch takes one read lock and no other; nothing synchronises with the
             device, so launches can be captured into graphs.
   State     the process keeps, for all threads: the driver that was opened, one table of the kernels that were loaded,
             as the driver itself does, up to 64 MiB of the images that were compiled last, the message handler, and
             which warnings were given; each thread its last error. On disk: the cache (docs/loader.md).
   Errors    tvGetLastErrorMessage has the words. They begin with the id of a rule in brackets, as in "[L-DRV-01] there
             is no CUDA driver", which 'tilevm explain L-DRV-01' explains; ids stay, words may change. */
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
typedef int tvResult; /* a CUresult: 0 is success */
typedef unsigned long long tvDevicePtr;
typedef unsigned tvJitOption;     /* a CUjit_option */
typedef unsigned tvLibraryOption; /* a CUlibraryOption */

/* A CUlaunchAttribute. The value is 64 bytes of which the attribute decides; clusters are three numbers. */
typedef struct tvLaunchAttribute {
    unsigned id;
    char pad[4];
    union {
        char bytes[64];
        unsigned long long align;
        unsigned cluster[3];
        int number;
    } value;
} tvLaunchAttribute;

/* A CUlaunchConfig. */
typedef struct tvLaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    struct CUstream_st *hStream;
    tvLaunchAttribute *attrs;
    unsigned numAttrs;
} tvLaunchConfig;
#endif

/* ---- modules -------------------------------------------------------------------------------------------------- */

/* As cuModuleLoad, cuModuleLoadData, cuModuleLoadDataEx and cuModuleLoadFatBinary. Bytecode is verified and compiled
   for the device of the current context, or taken from the cache; the driver gets PTX or, where it keeps no code
   itself, a cubin (docs/loader.md). Of the JIT options, those for the error log, the optimisation level and line
   information count for bytecode. Beside the driver's own codes, for bytecode: CUDA_ERROR_INVALID_IMAGE (it breaks a
   rule), CUDA_ERROR_NO_BINARY_FOR_GPU (it cannot be compiled for this device), CUDA_ERROR_SHARED_OBJECT_INIT_FAILED
   (there is no driver), CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER (the driver is too old). A fat binary goes to the driver;
   if it has no code for the device, the Tile IR in it is taken as bytecode. tvModuleEnumerateFunctions needs a driver
   for CUDA 12.4, as what it is named after. */
tvResult tvModuleLoad(struct CUmod_st **module, const char *fname);
tvResult tvModuleLoadData(struct CUmod_st **module, const void *image);
tvResult tvModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned numOptions, tvJitOption *options,
                            void **optionValues);
tvResult tvModuleLoadFatBinary(struct CUmod_st **module, const void *fatCubin);
tvResult tvModuleUnload(struct CUmod_st *hmod);
tvResult tvModuleGetFunction(struct CUfunc_st **hfunc, struct CUmod_st *hmod, const char *name);
tvResult tvModuleEnumerateFunctions(struct CUfunc_st **functions, unsigned numFunctions, struct CUmod_st *mod);
tvResult tvModuleGetGlobal(tvDevicePtr *dptr, size_t *bytes, struct CUmod_st *hmod, const char *name);

/* ---- libraries ------------------------------------------------------------------------------------------------- */

/* As cuLibraryLoadData and cuLibraryLoadFromFile. A library is for all devices of the process: it is compiled for the
   oldest of them, to PTX that the driver turns into code when a kernel is first used. A cubin, as for modules, needs a
   current context and devices of one kind. A fat binary must have code for each device that Tile IR can run on to be
   the driver's affair. tvLibraryEnumerateKernels needs a driver for CUDA 12.4. */
tvResult tvLibraryLoadData(struct CUlib_st **library, const void *code, tvJitOption *jitOptions,
                           void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                           void **libraryOptionValues, unsigned numLibraryOptions);
tvResult tvLibraryLoadFromFile(struct CUlib_st **library, const char *fileName, tvJitOption *jitOptions,
                               void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                               void **libraryOptionValues, unsigned numLibraryOptions);
tvResult tvLibraryUnload(struct CUlib_st *library);
tvResult tvLibraryGetKernel(struct CUkern_st **pKernel, struct CUlib_st *library, const char *name);
tvResult tvLibraryEnumerateKernels(struct CUkern_st **kernels, unsigned numKernels, struct CUlib_st *lib);
tvResult tvLibraryGetModule(struct CUmod_st **pMod, struct CUlib_st *library);
tvResult tvKernelGetFunction(struct CUfunc_st **pFunc, struct CUkern_st *kernel);

/* ---- launches -------------------------------------------------------------------------------------------------- */

/* As cuLaunchKernel and cuLaunchKernelEx; f may be a CUkernel, as there. The grid counts tile blocks. A Tile IR kernel
   has no threads that its caller knows of: the block is 1, 1, 1 and the shared memory 0, and the kernel gets what it
   was compiled for. kernelParams points to the values of the entry's parameters, in order.
   CUDA_ERROR_INVALID_VALUE: the grid, the block, the shared memory or the parameters cannot be; nothing was launched.
 */
tvResult tvLaunchKernel(struct CUfunc_st *f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                        unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes,
                        struct CUstream_st *hStream, void **kernelParams, void **extra);
tvResult tvLaunchKernelEx(const tvLaunchConfig *config, struct CUfunc_st *f, void **kernelParams, void **extra);
/* The same with the default stream of the calling thread in place of the legacy default stream. */
tvResult tvLaunchKernel_ptsz(struct CUfunc_st *f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                             unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ, unsigned sharedMemBytes,
                             struct CUstream_st *hStream, void **kernelParams, void **extra);
tvResult tvLaunchKernelEx_ptsz(const tvLaunchConfig *config, struct CUfunc_st *f, void **kernelParams, void **extra);
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define tvLaunchKernel tvLaunchKernel_ptsz
#define tvLaunchKernelEx tvLaunchKernelEx_ptsz
#endif

/* ---- bundles --------------------------------------------------------------------------------------------------- */

/* One file with the kernels of a program, for many devices: docs/deploy.md. */
struct tvBundle_st;

/* What a kernel of a bundle is loaded from. */
typedef enum tvBundleForm {
    TV_BUNDLE_CUBIN,        /* a cubin for the device's own target */
    TV_BUNDLE_FAMILY_CUBIN, /* one for an earlier device, which this one runs too */
    TV_BUNDLE_PTX,          /* PTX, which the driver assembles */
    TV_BUNDLE_BYTECODE      /* bytecode, compiled as tvModuleLoadData does it */
} tvBundleForm;

typedef struct tvBundleChoice {
    tvBundleForm form;
    char target[16]; /* of the artifact: "sm_90a"; "" for bytecode */
    char why[200];   /* in words */
} tvBundleChoice;

/* Maps a bundle and checks its seal; no kernel is read yet. path: the file is not to be changed while the bundle is
   open (rename a new one into its place). Data: size bytes that stay until tvBundleClose. publicKey: a PEM file; the
   bundle must be signed with its private half; NULL: TILEVM_BUNDLE_KEY of the environment, or, if that is not set, any
   signature, or none. CUDA_ERROR_INVALID_IMAGE: it is damaged, or not signed as it must be. No driver is needed. */
tvResult tvBundleOpen(struct tvBundle_st **bundle, const char *path, const char *publicKey);
tvResult tvBundleOpenData(struct tvBundle_st **bundle, const void *data, size_t size, const char *publicKey);
/* Unloads what was loaded, whose functions are gone then. Call it before the contexts are destroyed. NULL is fine. */
tvResult tvBundleClose(struct tvBundle_st *bundle);

/* The kernel of that symbol, or of that function's name if the bundle has one only, for the current context. The first
   call for a kernel and context loads its module from what suits the device best; if the driver does not take that,
   from the next (a warning says so). Any thread; loads of one bundle wait for one another. CUDA_ERROR_NOT_FOUND: there
   is none of that name, or several; and what tvModuleLoadData gives. */
tvResult tvBundleGetFunction(struct CUfunc_st **hfunc, struct tvBundle_st *bundle, const char *name);
/* What the kernel is loaded from in the current context: what it was, or, if it has not been loaded, what is tried
   first. */
tvResult tvBundleGetChoice(tvBundleChoice *choice, struct tvBundle_st *bundle, const char *name);
/* How many kernels there are; and the symbol of one, cut to size bytes with their zero. */
tvResult tvBundleGetKernelCount(unsigned *count, struct tvBundle_st *bundle);
tvResult tvBundleGetKernelName(char *symbol, size_t size, struct tvBundle_st *bundle, unsigned index);

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* What the last of these functions that failed in this thread had to say: lines of text, "" if none failed. Lives until
   the thread's next call. */
const char *tvGetLastErrorMessage(void);

/* Receives every message as it comes: severity 0 error, 1 warning (a damaged entry of the cache, say), 2 note. Any
   thread may call it, one at a time; it must call none of these functions. handler NULL: nobody (the default), or
   standard error if the environment has TILEVM_LOG=error, warning or note. */
void tvSetMessageHandler(void (*handler)(void *user, int severity, const char *text), void *user);

#ifdef __cplusplus
}
#endif
#endif

/* Libraries: the driver's calls, with bytecode taken as well. */
#include "loader/load.h"
#include "loader/message.h"
#include "loader/registry.h"
#include "loader/source.h"

static tvResult allow_shared(const ld_driver *driver, struct CUkern_st *kernel, uint32_t bytes)
{
    int devices = 0;
    tvResult code = driver->cuDeviceGetCount(&devices);
    for (int i = 0; code == LD_CUDA_SUCCESS && i < devices; i++)
        code = driver->cuKernelSetAttribute(LD_FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes, kernel, i);
    return code;
}

static tvResult register_library(const ld_driver *driver, struct CUlib_st *library, const ld_image *image)
{
    for (size_t i = 0; i < image->record_count; i++) {
        const ld_record *record = &image->records[i];
        struct CUkern_st *kernel;
        tvResult code = driver->cuLibraryGetKernel(&kernel, library, record->name);
        if (code == LD_CUDA_SUCCESS && record->shared_bytes > LD_LARGE_SHARED)
            code = allow_shared(driver, kernel, record->shared_bytes);
        if (code != LD_CUDA_SUCCESS)
            return ld_not_ready(code, library, record);
        if (!ld_registry_add_function(kernel, library, record))
            return ld_no_memory();
    }
    return LD_CUDA_SUCCESS;
}

/* The caller's library options say whether its bytes stay valid; ours stay as long as the library. */
static tvResult load_library(const ld_driver *driver, struct CUlib_st **out_library, tv_str bytecode, ld_want want)
{
    tvResult code = ld_library_target(driver, &want);
    ld_image *image;
    ld_jit *jit;
    if (code != LD_CUDA_SUCCESS || (code = ld_load_image(driver, bytecode, &want, &image, &jit)) != LD_CUDA_SUCCESS)
        return code;
    double start = ld_now_ms();
    struct CUlib_st *library = NULL;
    code = driver->cuLibraryLoadData(&library, image->bytes, jit ? jit->options : NULL, jit ? jit->values : NULL,
                                     jit ? jit->count : 0, NULL, NULL, 0);
    bool there = code == LD_CUDA_SUCCESS;
    code = ld_loaded(code, library, image, jit);
    if (code == LD_CUDA_SUCCESS)
        code = register_library(driver, library, image);
    if (code == LD_CUDA_SUCCESS) {
        ld_note_load(image, start);
        *out_library = library;
    } else if (there) {
        ld_registry_forget(library);
        driver->cuLibraryUnload(library);
    }
    return code;
}

/* Handles a source of any kind: it is ours to load, or the driver has loaded it with that result. */
static tvResult finish_library(const ld_driver *driver, struct CUlib_st **library, ld_source *source, tvResult code,
                               unsigned count, const tvJitOption *options, void **values)
{
    if (!source->ours)
        code = ld_source_answered(driver, source, code, code == LD_CUDA_SUCCESS ? *library : NULL);
    if (source->ours && code == LD_CUDA_SUCCESS)
        code = load_library(driver, library, source->bytecode, ld_want_of(count, options, values));
    if (source->ours && code != LD_CUDA_SUCCESS)
        ld_fill_log(count, options, values);
    ld_source_close(source);
    return code;
}

tvResult tvLibraryLoadData(struct CUlib_st **library, const void *code, tvJitOption *jitOptions,
                           void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                           void **libraryOptionValues, unsigned numLibraryOptions)
{
    const ld_driver *driver;
    ld_source source = {.image = library ? code : NULL, .library = true};
    tvResult result = ld_driver_open(&driver);
    if (result != LD_CUDA_SUCCESS)
        return result;
    result = ld_source_open(driver, &source);
    if (!source.ours)
        result = driver->cuLibraryLoadData(library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                                           libraryOptionValues, numLibraryOptions);
    return finish_library(driver, library, &source, result, numJitOptions, jitOptions, jitOptionsValues);
}

tvResult tvLibraryLoadFromFile(struct CUlib_st **library, const char *fileName, tvJitOption *jitOptions,
                               void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                               void **libraryOptionValues, unsigned numLibraryOptions)
{
    const ld_driver *driver;
    ld_source source = {.path = library ? fileName : NULL, .library = true};
    tvResult result = ld_driver_open(&driver);
    if (result != LD_CUDA_SUCCESS)
        return result;
    result = ld_source_open(driver, &source);
    if (!source.ours)
        result = driver->cuLibraryLoadFromFile(library, fileName, jitOptions, jitOptionsValues, numJitOptions,
                                               libraryOptions, libraryOptionValues, numLibraryOptions);
    return finish_library(driver, library, &source, result, numJitOptions, jitOptions, jitOptionsValues);
}

tvResult tvLibraryUnload(struct CUlib_st *library)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    ld_registry_forget(library);
    return driver->cuLibraryUnload(library);
}

tvResult tvLibraryGetKernel(struct CUkern_st **pKernel, struct CUlib_st *library, const char *name)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = driver->cuLibraryGetKernel(pKernel, library, name);
    if (code != LD_CUDA_SUCCESS)
        return ld_not_found(code, library, name);
    ld_note_function(*pKernel, ld_registry_owner(library), name);
    return code;
}

tvResult tvLibraryEnumerateKernels(struct CUkern_st **kernels, unsigned numKernels, struct CUlib_st *lib)
{
    const ld_driver *driver;
    const char *name;
    unsigned there = 0;
    tvResult code = ld_driver_open(&driver);
    if (code == LD_CUDA_SUCCESS && !driver->cuLibraryEnumerateKernels)
        code =
            ld_fail(LD_RULE_L_DRV_02, LD_CUDA_CALL_REQUIRES_NEWER_DRIVER, "cuLibraryEnumerateKernels came with 12.4");
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuLibraryEnumerateKernels(kernels, numKernels, lib);
    if (code != LD_CUDA_SUCCESS || driver->cuLibraryGetKernelCount(&there, lib) != LD_CUDA_SUCCESS)
        return code;
    for (unsigned i = 0; i < numKernels && i < there; i++)
        if (driver->cuKernelGetName(&name, kernels[i]) == LD_CUDA_SUCCESS)
            ld_note_function(kernels[i], ld_registry_owner(lib), name);
    return code;
}

tvResult tvLibraryGetModule(struct CUmod_st **pMod, struct CUlib_st *library)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = driver->cuLibraryGetModule(pMod, library);
    if (code != LD_CUDA_SUCCESS)
        ld_registry_jit_failed(library, code);
    else if (ld_registry_owner(library))
        ld_registry_add_alias(*pMod, library);
    else
        ld_registry_forget(*pMod);
    return code;
}

tvResult tvKernelGetFunction(struct CUfunc_st **pFunc, struct CUkern_st *kernel)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = driver->cuKernelGetFunction(pFunc, kernel);
    ld_record record;
    if (code != LD_CUDA_SUCCESS)
        ld_registry_jit_failed(kernel, code);
    else
        ld_note_function(*pFunc, ld_registry_owner(kernel), ld_registry_find(kernel, &record) ? record.name : "");
    return code;
}

/* Modules and libraries: the driver's calls, with bytecode taken as well. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/load.h"

#include "container/bytecode.h"
#include "loader/compiled.h"
#include "loader/message.h"
#include "loader/registry.h"

enum { OLDEST_TARGET = 80, LARGE_SHARED = 48 << 10 };

/* ---- devices ---- */

static tvResult target_of(const ld_driver *driver, int device, unsigned *out_target)
{
    int major = 0, minor = 0;
    tvResult code = driver->cuDeviceGetAttribute(&major, LD_ATTRIBUTE_CAPABILITY_MAJOR, device);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuDeviceGetAttribute(&minor, LD_ATTRIBUTE_CAPABILITY_MINOR, device);
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_DRV_04, code, "the driver does not tell what device %d is", device);
    *out_target = (unsigned)(major * 10 + minor);
    return LD_CUDA_SUCCESS;
}

static tvResult too_old(unsigned target)
{
    return ld_fail(LD_RULE_L_ARCH_01, LD_CUDA_NO_BINARY_FOR_GPU,
                   "the device is sm_%u; Tile IR kernels run on sm_%d and later", target, OLDEST_TARGET);
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
    code = target_of(driver, device, out_target);
    return code == LD_CUDA_SUCCESS && *out_target < OLDEST_TARGET ? too_old(*out_target) : code;
}

/* What a library is compiled for: the oldest device that can run Tile IR at all, and so the others. A cubin is for
   devices of one kind, and needs a context. */
static tvResult want_for_library(const ld_driver *driver, ld_want *want)
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
        if ((code = target_of(driver, i, &target)) != LD_CUDA_SUCCESS)
            return code;
        newest = target > newest ? target : newest;
        if (target >= OLDEST_TARGET && (!oldest || target < oldest))
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

/* ---- options ---- */

/* Values are numbers in the place of pointers, or pointers. */
static void *option_value(unsigned option, unsigned count, const tvJitOption *options, void *const *values)
{
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] == option)
            return values[i];
    return NULL;
}

static bool has_option(unsigned option, unsigned count, const tvJitOption *options)
{
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] == option)
            return true;
    return false;
}

static ld_want want_of(unsigned count, const tvJitOption *options, void *const *values)
{
    ld_want want = {.opt_level = LD_DEFAULT_OPT_LEVEL};
    if (has_option(LD_JIT_OPTIMIZATION_LEVEL, count, options)) {
        uintptr_t level = (uintptr_t)option_value(LD_JIT_OPTIMIZATION_LEVEL, count, options, values);
        want.opt_level = level < LD_DEFAULT_OPT_LEVEL ? (unsigned)level : LD_DEFAULT_OPT_LEVEL;
    }
    want.line_info = (unsigned)(uintptr_t)option_value(LD_JIT_LINE_INFO, count, options, values) != 0;
    return want;
}

/* Puts the last message into the caller's error log, and its length where its size was. */
static void fill_log(unsigned count, const tvJitOption *options, void **values)
{
    char *log = option_value(LD_JIT_ERROR_LOG, count, options, values);
    uintptr_t size = (uintptr_t)option_value(LD_JIT_ERROR_LOG_SIZE, count, options, values);
    if (!log || !(size = (unsigned)size))
        return;
    snprintf(log, size, "%s", tvGetLastErrorMessage());
    for (unsigned i = 0; i < count; i++)
        if (options[i] == LD_JIT_ERROR_LOG_SIZE)
            values[i] = (void *)(strlen(log) + 1);
}

/* ---- files ---- */

/* A file as a whole if it is bytecode (free); *out_bytes NULL if it is something else, or cannot be opened: the driver
   will say what it thinks of it. */
static tvResult read_bytecode(const char *path, void **out_bytes, size_t *out_size)
{
    *out_bytes = NULL;
    unsigned char start[8] = {0};
    FILE *file = path ? fopen(path, "rbe") : NULL;
    if (!file)
        return LD_CUDA_SUCCESS;
    if (fread(start, 1, sizeof start, file) != sizeof start || !ld_is_bytecode(start)
        || fseek(file, 0, SEEK_END) != 0) {
        fclose(file);
        return LD_CUDA_SUCCESS;
    }
    long size = ftell(file);
    unsigned char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    errno = 0;
    bool whole = bytes && fseek(file, 0, SEEK_SET) == 0 && fread(bytes, 1, (size_t)size, file) == (size_t)size;
    int error = errno;
    fclose(file);
    if (!whole) {
        free(bytes);
        return bytes ? ld_fail(LD_RULE_L_IMG_03, LD_CUDA_OPERATING_SYSTEM, "%s cannot be read: %s", path,
                               error ? strerror(error) : "it became shorter meanwhile")
                     : ld_fail(LD_RULE_L_MEM_01, LD_CUDA_OUT_OF_MEMORY, "%s: out of memory", path);
    }
    *out_bytes = bytes;
    *out_size = (size_t)size;
    return LD_CUDA_SUCCESS;
}

static tvResult size_of(const void *image, tv_str *out)
{
    *out = (tv_str){.ptr = image, .len = co_bytecode_size(image, (size_t)1 << 30)};
    return out->len ? LD_CUDA_SUCCESS
                    : ld_fail(LD_RULE_L_IMG_01, LD_CUDA_INVALID_IMAGE,
                              "the bytecode is damaged: its sections do not lead to an end");
}

/* ---- handing it to the driver ---- */

/* An image, and what it is loaded with: the options of the assembler for PTX, NULL for a cubin. The caller owns both.
 */
static tvResult get_image(const ld_driver *driver, tv_str bytecode, const ld_want *want, ld_image **out_image,
                          ld_jit **out_jit)
{
    tvResult code = ld_image_get(driver, bytecode, want, out_image);
    if (code != LD_CUDA_SUCCESS)
        return code;
    bool ptx = ld_image_form(*out_image) == LD_PTX;
    *out_jit = ptx ? ld_jit_new(want, 0) : NULL;
    if (*out_jit || !ptx)
        return LD_CUDA_SUCCESS;
    ld_image_release(*out_image);
    return ld_fail(LD_RULE_L_MEM_01, LD_CUDA_OUT_OF_MEMORY, "out of memory");
}

/* What came of the driver's call: the handle is remembered, and owns the image and what it was loaded with; both are
   given back when there is none. */
static tvResult loaded(tvResult code, const void *handle, ld_image *image, ld_jit *jit)
{
    if (code == LD_CUDA_SUCCESS)
        return ld_registry_add_owner(handle, image, jit)
                   ? code
                   : ld_fail(LD_RULE_L_MEM_01, LD_CUDA_OUT_OF_MEMORY, "out of memory");
    bc_text words;
    bc_text_init(&words, NULL);
    if (jit)
        ld_jit_explain(jit, (tv_str){.ptr = (const char *)image->bytes, .len = image->size}, &words);
    if (words.len || (jit && ld_jit_is_refusal(code)))
        ld_jit_fail(code, &words);
    else
        ld_fail(LD_RULE_L_LOAD_01, code, "the driver does not load the compiled kernel");
    bc_text_release(&words);
    free(jit);
    ld_image_release(image);
    return code;
}

/* Why a kernel of an image that was loaded cannot be used: what a driver that loads lazily says when it gets to it, or
   something else. */
static tvResult not_ready(tvResult code, const void *owner, const ld_record *record)
{
    return ld_registry_jit_failed(owner, code)
               ? code
               : ld_fail(LD_RULE_L_LOAD_01, code, "kernel %s cannot be made ready", record->name);
}

static void note_load(const ld_image *image, double start)
{
    ld_note("%s: handed to the driver as %s in %.2f ms", ld_image_name(image), ld_form_name(ld_image_form(image)),
            ld_now_ms() - start);
}

/* ---- modules ---- */

/* Remembers the kernels of a module that was just loaded. */
static tvResult register_module(const ld_driver *driver, struct CUmod_st *module, const ld_image *image)
{
    for (size_t i = 0; i < image->record_count; i++) {
        const ld_record *record = &image->records[i];
        struct CUfunc_st *function;
        tvResult code = driver->cuModuleGetFunction(&function, module, record->name);
        if (code == LD_CUDA_SUCCESS && record->shared_bytes > LARGE_SHARED)
            code = driver->cuFuncSetAttribute(function, LD_FUNCTION_MAX_DYNAMIC_SHARED, (int)record->shared_bytes);
        if (code != LD_CUDA_SUCCESS)
            return not_ready(code, module, record);
        if (!ld_registry_add_function(function, module, record))
            return ld_fail(LD_RULE_L_MEM_01, LD_CUDA_OUT_OF_MEMORY, "out of memory");
    }
    return LD_CUDA_SUCCESS;
}

tvResult ld_module_adopt(const ld_driver *driver, struct CUmod_st *module, ld_image *image, ld_jit *jit, double start)
{
    tvResult code = loaded(LD_CUDA_SUCCESS, module, image, jit);
    if (code == LD_CUDA_SUCCESS)
        code = register_module(driver, module, image);
    if (code == LD_CUDA_SUCCESS) {
        note_load(image, start);
    } else {
        ld_registry_forget(module);
        driver->cuModuleUnload(module);
    }
    return code;
}

tvResult ld_module_load(const ld_driver *driver, struct CUmod_st **out_module, tv_str bytecode, ld_want want)
{
    want.form = ld_form_here(&want.why);
    tvResult code = ld_context_target(driver, &want.target);
    ld_image *image;
    ld_jit *jit;
    if (code != LD_CUDA_SUCCESS || (code = get_image(driver, bytecode, &want, &image, &jit)) != LD_CUDA_SUCCESS)
        return code;
    double start = ld_now_ms();
    struct CUmod_st *module = NULL;
    code = driver->cuModuleLoadDataEx(&module, image->bytes, jit ? jit->count : 0, jit ? jit->options : NULL,
                                      jit ? jit->values : NULL);
    code = code == LD_CUDA_SUCCESS ? ld_module_adopt(driver, module, image, jit, start)
                                   : loaded(code, module, image, jit);
    if (code == LD_CUDA_SUCCESS)
        *out_module = module;
    return code;
}

/* The driver loaded what is no bytecode. It may use an address again that was one of ours. */
static void passed_on(const ld_driver *driver, const void *handle, const void *image)
{
    ld_registry_forget(handle);
    ld_compiled_note(driver, handle, image);
}

static void passed_on_file(const ld_driver *driver, const void *handle, const char *path)
{
    ld_registry_forget(handle);
    ld_compiled_note_file(driver, handle, path);
}

tvResult tvModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned numOptions, tvJitOption *options,
                            void **optionValues)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    if (!module || !image || !ld_is_bytecode(image)) {
        code = driver->cuModuleLoadDataEx(module, image, numOptions, options, optionValues);
        if (code == LD_CUDA_SUCCESS)
            passed_on(driver, *module, image);
        return code;
    }
    tv_str bytecode;
    code = size_of(image, &bytecode);
    if (code == LD_CUDA_SUCCESS)
        code = ld_module_load(driver, module, bytecode, want_of(numOptions, options, optionValues));
    if (code != LD_CUDA_SUCCESS)
        fill_log(numOptions, options, optionValues);
    return code;
}

tvResult tvModuleLoadData(struct CUmod_st **module, const void *image)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    if (module && image && ld_is_bytecode(image))
        return tvModuleLoadDataEx(module, image, 0, NULL, NULL);
    code = driver->cuModuleLoadData(module, image);
    if (code == LD_CUDA_SUCCESS)
        passed_on(driver, *module, image);
    return code;
}

tvResult tvModuleLoadFatBinary(struct CUmod_st **module, const void *fatCubin)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    if (module && fatCubin && ld_is_bytecode(fatCubin))
        return tvModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
    code = driver->cuModuleLoadFatBinary(module, fatCubin);
    if (code == LD_CUDA_SUCCESS)
        passed_on(driver, *module, fatCubin);
    return code;
}

tvResult tvModuleLoad(struct CUmod_st **module, const char *fname)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    void *bytes = NULL;
    size_t size;
    if (code == LD_CUDA_SUCCESS && module)
        code = read_bytecode(fname, &bytes, &size);
    if (code != LD_CUDA_SUCCESS)
        return code;
    if (!bytes) {
        code = driver->cuModuleLoad(module, fname);
        if (code == LD_CUDA_SUCCESS)
            passed_on_file(driver, *module, fname);
        return code;
    }
    code = ld_module_load(driver, module, (tv_str){.ptr = bytes, .len = size}, want_of(0, NULL, NULL));
    free(bytes);
    return code;
}

tvResult tvModuleUnload(struct CUmod_st *hmod)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    ld_registry_forget(hmod);
    return driver->cuModuleUnload(hmod);
}

/* A kernel that was looked up by name: remembers what it is, or forgets what once had its address. */
static void note_function(const void *function, const void *owner, const char *name)
{
    const ld_record *record = owner ? ld_registry_entry(owner, name) : NULL;
    if (record)
        ld_registry_add_function(function, owner, record);
    else
        ld_registry_forget(function);
}

/* A look-up that failed. In a module or library of ours it is told which kernels there are, or what keeps the driver,
   which may load lazily, from having code of them. */
static tvResult not_found(tvResult code, const void *handle, const char *name)
{
    const void *owner = ld_registry_owner(handle);
    const ld_record *record = owner ? ld_registry_entry_at(owner, 0) : NULL;
    if (!owner || (record && record->only_block) || ld_registry_jit_failed(owner, code) || code != LD_CUDA_NOT_FOUND)
        return code;
    bc_text list;
    bc_text_init(&list, NULL);
    for (size_t i = 0; i < 8 && (record = ld_registry_entry_at(owner, i)) != NULL; i++)
        bc_text_printf(&list, "%s%s", i ? ", " : "", record->name);
    ld_fail(LD_RULE_L_LOAD_02, code, "there is no kernel %s; there is %s", name,
            list.len || list.failed ? bc_text_words(&list) : "none");
    bc_text_release(&list);
    return code;
}

tvResult tvModuleGetFunction(struct CUfunc_st **hfunc, struct CUmod_st *hmod, const char *name)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = driver->cuModuleGetFunction(hfunc, hmod, name);
    if (code != LD_CUDA_SUCCESS)
        return not_found(code, hmod, name);
    note_function(*hfunc, ld_registry_owner(hmod), name);
    return code;
}

tvResult tvModuleGetGlobal(tvDevicePtr *dptr, size_t *bytes, struct CUmod_st *hmod, const char *name)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    return code == LD_CUDA_SUCCESS ? driver->cuModuleGetGlobal(dptr, bytes, hmod, name) : code;
}

/* ---- libraries ---- */

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
        if (code == LD_CUDA_SUCCESS && record->shared_bytes > LARGE_SHARED)
            code = allow_shared(driver, kernel, record->shared_bytes);
        if (code != LD_CUDA_SUCCESS)
            return not_ready(code, library, record);
        if (!ld_registry_add_function(kernel, library, record))
            return ld_fail(LD_RULE_L_MEM_01, LD_CUDA_OUT_OF_MEMORY, "out of memory");
    }
    return LD_CUDA_SUCCESS;
}

/* The caller's library options say whether its bytes stay; ours do, as long as the library. */
static tvResult load_library(const ld_driver *driver, struct CUlib_st **out_library, tv_str bytecode, ld_want want)
{
    tvResult code = want_for_library(driver, &want);
    ld_image *image;
    ld_jit *jit;
    if (code != LD_CUDA_SUCCESS || (code = get_image(driver, bytecode, &want, &image, &jit)) != LD_CUDA_SUCCESS)
        return code;
    double start = ld_now_ms();
    struct CUlib_st *library = NULL;
    code = driver->cuLibraryLoadData(&library, image->bytes, jit ? jit->options : NULL, jit ? jit->values : NULL,
                                     jit ? jit->count : 0, NULL, NULL, 0);
    bool there = code == LD_CUDA_SUCCESS;
    code = loaded(code, library, image, jit);
    if (code == LD_CUDA_SUCCESS)
        code = register_library(driver, library, image);
    if (code == LD_CUDA_SUCCESS) {
        note_load(image, start);
        *out_library = library;
    } else if (there) {
        ld_registry_forget(library);
        driver->cuLibraryUnload(library);
    }
    return code;
}

tvResult tvLibraryLoadData(struct CUlib_st **library, const void *code, tvJitOption *jitOptions,
                           void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                           void **libraryOptionValues, unsigned numLibraryOptions)
{
    const ld_driver *driver;
    tvResult result = ld_driver_open(&driver);
    if (result != LD_CUDA_SUCCESS)
        return result;
    if (!library || !code || !ld_is_bytecode(code)) {
        result = driver->cuLibraryLoadData(library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                                           libraryOptionValues, numLibraryOptions);
        if (result == LD_CUDA_SUCCESS)
            passed_on(driver, *library, code);
        return result;
    }
    tv_str bytecode;
    result = size_of(code, &bytecode);
    if (result == LD_CUDA_SUCCESS)
        result = load_library(driver, library, bytecode, want_of(numJitOptions, jitOptions, jitOptionsValues));
    if (result != LD_CUDA_SUCCESS)
        fill_log(numJitOptions, jitOptions, jitOptionsValues);
    return result;
}

tvResult tvLibraryLoadFromFile(struct CUlib_st **library, const char *fileName, tvJitOption *jitOptions,
                               void **jitOptionsValues, unsigned numJitOptions, tvLibraryOption *libraryOptions,
                               void **libraryOptionValues, unsigned numLibraryOptions)
{
    const ld_driver *driver;
    tvResult result = ld_driver_open(&driver);
    void *bytes = NULL;
    size_t size;
    if (result == LD_CUDA_SUCCESS && library)
        result = read_bytecode(fileName, &bytes, &size);
    if (result != LD_CUDA_SUCCESS)
        return result;
    if (!bytes) {
        result = driver->cuLibraryLoadFromFile(library, fileName, jitOptions, jitOptionsValues, numJitOptions,
                                               libraryOptions, libraryOptionValues, numLibraryOptions);
        if (result == LD_CUDA_SUCCESS)
            passed_on_file(driver, *library, fileName);
        return result;
    }
    result = load_library(driver, library, (tv_str){.ptr = bytes, .len = size},
                          want_of(numJitOptions, jitOptions, jitOptionsValues));
    if (result != LD_CUDA_SUCCESS)
        fill_log(numJitOptions, jitOptions, jitOptionsValues);
    free(bytes);
    return result;
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
        return not_found(code, library, name);
    note_function(*pKernel, ld_registry_owner(library), name);
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
        note_function(*pFunc, ld_registry_owner(kernel), ld_registry_find(kernel, &record) ? record.name : "");
    return code;
}

/* Modules: the driver's calls, with bytecode taken as well; and handing code to the driver, for libraries, too. */
#include "loader/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/message.h"
#include "loader/registry.h"
#include "loader/source.h"

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

ld_want ld_want_of(unsigned count, const tvJitOption *options, void *const *values)
{
    ld_want want = {.opt_level = LD_DEFAULT_OPT_LEVEL};
    if (has_option(LD_JIT_OPTIMIZATION_LEVEL, count, options)) {
        uintptr_t level = (uintptr_t)option_value(LD_JIT_OPTIMIZATION_LEVEL, count, options, values);
        want.opt_level = level < LD_DEFAULT_OPT_LEVEL ? (unsigned)level : LD_DEFAULT_OPT_LEVEL;
    }
    want.line_info = (unsigned)(uintptr_t)option_value(LD_JIT_LINE_INFO, count, options, values) != 0;
    return want;
}

void ld_fill_log(unsigned count, const tvJitOption *options, void **values)
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

/* ---- handing it to the driver ---- */

tvResult ld_load_image(const ld_driver *driver, tv_str bytecode, const ld_want *want, ld_image **out_image,
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
    return ld_no_memory();
}

tvResult ld_loaded(tvResult code, const void *handle, ld_image *image, ld_jit *jit)
{
    if (code == LD_CUDA_SUCCESS)
        return ld_registry_add_owner(handle, image, jit) ? code : ld_no_memory();
    bc_text words;
    bc_text_init(&words, NULL);
    if (jit)
        ld_jit_explain(jit, (tv_str){.ptr = (const char *)image->bytes, .len = image->size}, &words);
    if (words.len || (jit && ld_jit_is_refusal(code)))
        ld_jit_fail(code, &words);
    else
        ld_fail(LD_RULE_L_LOAD_01, code, "the driver cannot load the compiled kernel");
    bc_text_release(&words);
    free(jit);
    ld_image_release(image);
    return code;
}

tvResult ld_not_ready(tvResult code, const void *owner, const ld_record *record)
{
    return ld_registry_jit_failed(owner, code)
               ? code
               : ld_fail(LD_RULE_L_LOAD_01, code, "kernel %s cannot be made ready", record->name);
}

void ld_note_load(const ld_image *image, double start)
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
        if (code == LD_CUDA_SUCCESS && record->shared_bytes > LD_LARGE_SHARED)
            code = driver->cuFuncSetAttribute(function, LD_FUNCTION_MAX_DYNAMIC_SHARED, (int)record->shared_bytes);
        if (code != LD_CUDA_SUCCESS)
            return ld_not_ready(code, module, record);
        if (!ld_registry_add_function(function, module, record))
            return ld_no_memory();
    }
    return LD_CUDA_SUCCESS;
}

tvResult ld_module_adopt(const ld_driver *driver, struct CUmod_st *module, ld_image *image, ld_jit *jit, double start)
{
    tvResult code = ld_loaded(LD_CUDA_SUCCESS, module, image, jit);
    if (code == LD_CUDA_SUCCESS)
        code = register_module(driver, module, image);
    if (code == LD_CUDA_SUCCESS) {
        ld_note_load(image, start);
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
    if (code != LD_CUDA_SUCCESS || (code = ld_load_image(driver, bytecode, &want, &image, &jit)) != LD_CUDA_SUCCESS)
        return code;
    double start = ld_now_ms();
    struct CUmod_st *module = NULL;
    code = driver->cuModuleLoadDataEx(&module, image->bytes, jit ? jit->count : 0, jit ? jit->options : NULL,
                                      jit ? jit->values : NULL);
    code = code == LD_CUDA_SUCCESS ? ld_module_adopt(driver, module, image, jit, start)
                                   : ld_loaded(code, module, image, jit);
    if (code == LD_CUDA_SUCCESS)
        *out_module = module;
    return code;
}

/* Handles a source of any kind: it is ours to load, or the driver has loaded it with that result. */
static tvResult finish_module(const ld_driver *driver, struct CUmod_st **module, ld_source *source, tvResult code,
                              unsigned count, const tvJitOption *options, void **values)
{
    if (!source->ours)
        code = ld_source_answered(driver, source, code, code == LD_CUDA_SUCCESS ? *module : NULL);
    if (source->ours && code == LD_CUDA_SUCCESS)
        code = ld_module_load(driver, module, source->bytecode, ld_want_of(count, options, values));
    if (source->ours && code != LD_CUDA_SUCCESS)
        ld_fill_log(count, options, values);
    ld_source_close(source);
    return code;
}

tvResult tvModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned numOptions, tvJitOption *options,
                            void **optionValues)
{
    const ld_driver *driver;
    ld_source source = {.image = module ? image : NULL};
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = ld_source_open(driver, &source);
    if (!source.ours)
        code = driver->cuModuleLoadDataEx(module, image, numOptions, options, optionValues);
    return finish_module(driver, module, &source, code, numOptions, options, optionValues);
}

/* The functions that take an image and nothing more. */
typedef tvResult load_fn(struct CUmod_st **module, const void *image);

static tvResult load_image(const ld_driver *driver, load_fn *load, struct CUmod_st **module, const void *image)
{
    ld_source source = {.image = module ? image : NULL};
    tvResult code = ld_source_open(driver, &source);
    if (!source.ours)
        code = load(module, image);
    return finish_module(driver, module, &source, code, 0, NULL, NULL);
}

tvResult tvModuleLoadData(struct CUmod_st **module, const void *image)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    return code == LD_CUDA_SUCCESS ? load_image(driver, driver->cuModuleLoadData, module, image) : code;
}

tvResult tvModuleLoadFatBinary(struct CUmod_st **module, const void *fatCubin)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    return code == LD_CUDA_SUCCESS ? load_image(driver, driver->cuModuleLoadFatBinary, module, fatCubin) : code;
}

tvResult tvModuleLoad(struct CUmod_st **module, const char *fname)
{
    const ld_driver *driver;
    ld_source source = {.path = module ? fname : NULL};
    tvResult code = ld_driver_open(&driver);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = ld_source_open(driver, &source);
    if (!source.ours)
        code = driver->cuModuleLoad(module, fname);
    return finish_module(driver, module, &source, code, 0, NULL, NULL);
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

void ld_note_function(const void *function, const void *owner, const char *name)
{
    const ld_record *record = owner ? ld_registry_entry(owner, name) : NULL;
    if (record)
        ld_registry_add_function(function, owner, record);
    else
        ld_registry_forget(function);
}

tvResult ld_not_found(tvResult code, const void *handle, const char *name)
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
        return ld_not_found(code, hmod, name);
    ld_note_function(*hfunc, ld_registry_owner(hmod), name);
    return code;
}

tvResult tvModuleEnumerateFunctions(struct CUfunc_st **functions, unsigned numFunctions, struct CUmod_st *mod)
{
    const ld_driver *driver;
    const char *name;
    unsigned there = 0;
    tvResult code = ld_driver_open(&driver);
    if (code == LD_CUDA_SUCCESS && !driver->cuModuleEnumerateFunctions)
        code =
            ld_fail(LD_RULE_L_DRV_02, LD_CUDA_CALL_REQUIRES_NEWER_DRIVER, "cuModuleEnumerateFunctions came with 12.4");
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuModuleEnumerateFunctions(functions, numFunctions, mod);
    if (code != LD_CUDA_SUCCESS || driver->cuModuleGetFunctionCount(&there, mod) != LD_CUDA_SUCCESS)
        return code;
    for (unsigned i = 0; i < numFunctions && i < there; i++)
        if (driver->cuFuncGetName(&name, functions[i]) == LD_CUDA_SUCCESS)
            ld_note_function(functions[i], ld_registry_owner(mod), name);
    return code;
}

tvResult tvModuleGetGlobal(tvDevicePtr *dptr, size_t *bytes, struct CUmod_st *hmod, const char *name)
{
    const ld_driver *driver;
    tvResult code = ld_driver_open(&driver);
    return code == LD_CUDA_SUCCESS ? driver->cuModuleGetGlobal(dptr, bytes, hmod, name) : code;
}

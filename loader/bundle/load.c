/* Kernels from bundles: the artifact that suits the device best is handed to the driver, and the next if it refuses. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/bundle/bundle.h"
#include "loader/load.h"
#include "loader/message.h"
#include "loader/registry.h"
#include "loader/bundle/trust.h"

/* A module in a context. */
typedef struct loaded_module {
    struct loaded_module *next;
    unsigned long long context; /* its id, which no later context gets */
    uint32_t module;
    struct CUmod_st *handle;
    tvBundleChoice choice;
} loaded_module;

struct tvBundle_st {
    ld_bundle bundle;
    char *name; /* for messages */
    pthread_mutex_t lock;
    loaded_module *loaded;
};

/* What one load works with. */
typedef struct bundle_load {
    struct tvBundle_st *bundle;
    const ld_driver *driver;
    const ld_bundle_module *module;
    tv_str kernel; /* for messages */
    unsigned sm, ptx;
    bc_arena arena;
    ld_artifact *artifacts;
    uint32_t *order; /* of what suits the device, the best first */
    size_t count;
    bool refused; /* by the driver, and not reported: another artifact may do */
} bundle_load;

static tvResult damaged(const struct tvBundle_st *b, const char *what, const char *problem)
{
    if (strcmp(problem, LD_NO_MEMORY) == 0)
        return ld_no_memory();
    return ld_fail(LD_RULE_L_BUNDLE_01, LD_CUDA_INVALID_IMAGE, "%s: %s%s", b->name, what, problem);
}

/* ---- opening ---- */

/* Do the signatures of the bundle meet the requirements? */
static tvResult check_signature(const struct tvBundle_st *b, const char *key)
{
    ld_trust trust = ld_trust_of(key);
    char problem[LD_CRYPTO_PROBLEM];
    bc_text seal; /* uses what was read before, and does not read the file again */
    bc_text_init(&seal, NULL);
    ld_seal_print(&b->bundle.seal, &seal);
    tvResult code = LD_CUDA_SUCCESS;
    if (seal.failed)
        code = ld_no_memory();
    else if (!ld_trust_check(&trust, b->bundle.signature, bc_text_get(&seal), problem))
        code = ld_fail(LD_RULE_L_BUNDLE_02, LD_CUDA_INVALID_IMAGE, "%s: %s", b->name, problem);
    bc_text_release(&seal);
    return code;
}

static tvResult open_bundle(struct tvBundle_st **out, const char *path, const void *data, size_t size, const char *key)
{
    double start = ld_now_ms();
    struct tvBundle_st *b = calloc(1, sizeof *b);
    if (!b || !(b->name = strdup(path ? path : "a bundle in memory"))) {
        free(b);
        return ld_no_memory();
    }
    pthread_mutex_init(&b->lock, NULL);
    errno = 0;
    const char *problem = path ? ld_bundle_open(path, &b->bundle) : ld_bundle_open_bytes(data, size, &b->bundle);
    tvResult code = LD_CUDA_SUCCESS;
    if (problem && errno == ENOENT)
        code = ld_fail(LD_RULE_L_BUNDLE_01, LD_CUDA_FILE_NOT_FOUND, "%s: %s", b->name, problem);
    else if (problem)
        code = damaged(b, "", problem);
    else
        code = check_signature(b, key);
    if (code != LD_CUDA_SUCCESS) {
        tvBundleClose(b);
        return code;
    }
    ld_note("%s: a bundle of %u kernels, %s, opened in %.2f ms", b->name, (unsigned)b->bundle.head.kernel_count,
            b->bundle.signature.len ? "signed" : "not signed", ld_now_ms() - start);
    *out = b;
    return LD_CUDA_SUCCESS;
}

tvResult tvBundleOpen(struct tvBundle_st **bundle, const char *path, const char *publicKey)
{
    if (!bundle || !path)
        return ld_fail(LD_RULE_L_BUNDLE_01, LD_CUDA_INVALID_VALUE, "tvBundleOpen: which bundle?");
    return open_bundle(bundle, path, NULL, 0, publicKey);
}

tvResult tvBundleOpenData(struct tvBundle_st **bundle, const void *data, size_t size, const char *publicKey)
{
    if (!bundle || !data)
        return ld_fail(LD_RULE_L_BUNDLE_01, LD_CUDA_INVALID_VALUE, "tvBundleOpenData: which bundle?");
    return open_bundle(bundle, NULL, data, size, publicKey);
}

tvResult tvBundleClose(struct tvBundle_st *bundle)
{
    tvResult code = LD_CUDA_SUCCESS;
    while (bundle && bundle->loaded) {
        loaded_module *one = bundle->loaded;
        tvResult unloaded = tvModuleUnload(one->handle);
        code = code == LD_CUDA_SUCCESS ? unloaded : code;
        bundle->loaded = one->next;
        free(one);
    }
    if (bundle) {
        ld_bundle_close(&bundle->bundle);
        pthread_mutex_destroy(&bundle->lock);
        free(bundle->name);
        free(bundle);
    }
    return code;
}

/* ---- choosing ---- */

static void describe(const bundle_load *load, const ld_artifact *a, tvBundleChoice *out)
{
    static const tvBundleForm forms[] = {[LD_FIT_BYTECODE] = TV_BUNDLE_BYTECODE,
                                         [LD_FIT_PTX] = TV_BUNDLE_PTX,
                                         [LD_FIT_FAMILY] = TV_BUNDLE_FAMILY_CUBIN,
                                         [LD_FIT_EXACT] = TV_BUNDLE_CUBIN};
    bc_text why;
    char target[LD_TARGET_NAME];
    bc_text_init(&why, NULL);
    ld_artifact_explain(a, load->sm, load->ptx, &why);
    *out = (tvBundleChoice){.form = forms[ld_artifact_fit(a, load->sm, load->ptx)]};
    snprintf(out->why, sizeof out->why, "%s", why.ptr ? why.ptr : "");
    ld_artifact_target(a, target);
    snprintf(out->target, sizeof out->target, "%.15s", target);
    bc_text_release(&why);
}

/* The artifacts for the device of the current context. */
static tvResult survey(bundle_load *load)
{
    tvResult code = ld_context_target(load->driver, &load->sm);
    if (code != LD_CUDA_SUCCESS)
        return code;
    load->ptx = ld_ptx_version(load->driver->version);
    const char *problem = ld_bundle_artifacts(&load->bundle->bundle, load->module, &load->arena, &load->artifacts);
    if (problem)
        return damaged(load->bundle, "", problem);
    load->order = bc_new(&load->arena, uint32_t, load->module->artifact_count);
    if (!load->order)
        return ld_no_memory();
    load->count = ld_bundle_choose(load->artifacts, load->module->artifact_count, load->sm, load->ptx, load->order);
    return LD_CUDA_SUCCESS;
}

/* ---- loading ---- */

/* Does the error code say that the driver cannot use the code it was given? */
static bool is_refusal(tvResult code)
{
    return code == LD_CUDA_NO_BINARY_FOR_GPU || code == LD_CUDA_INVALID_IMAGE || code == LD_CUDA_NOT_SUPPORTED
           || ld_jit_is_refusal(code);
}

/* Passes PTX or a cubin to the driver. */
static tvResult load_code(bundle_load *load, const ld_artifact *a, tv_str bytes, struct CUmod_st **out)
{
    double start = ld_now_ms();
    bool ptx = a->form == LD_ARTIFACT_PTX;
    ld_want want = {.opt_level = load->module->opt_level, .line_info = load->module->line_info};
    ld_image *image = ld_image_new(bytes, a->launch);
    ld_jit *jit = image && ptx ? ld_jit_new(&want, 0) : NULL;
    if (!image || (ptx && !jit)) {
        ld_image_release(image);
        return ld_no_memory();
    }
    struct CUmod_st *module = NULL;
    tvResult code = load->driver->cuModuleLoadDataEx(&module, image->bytes, jit ? jit->count : 0,
                                                     jit ? jit->options : NULL, jit ? jit->values : NULL);
    if (code == LD_CUDA_SUCCESS) {
        code = ld_module_adopt(load->driver, module, image, jit, start);
        load->refused = is_refusal(code);
        if (code == LD_CUDA_SUCCESS)
            *out = module;
        return code;
    }
    free(jit);
    ld_image_release(image);
    load->refused = is_refusal(code);
    return load->refused ? code
                         : ld_fail(LD_RULE_L_LOAD_01, code, "%s: the driver cannot load %.*s", load->bundle->name,
                                   (int)load->kernel.len, load->kernel.ptr);
}

static tvResult load_artifact(bundle_load *load, const ld_artifact *a, struct CUmod_st **out)
{
    tv_str bytes;
    const char *problem = ld_bundle_fetch(&load->bundle->bundle, a, &load->arena, &bytes);
    if (problem) {
        char name[LD_BUNDLE_MEMBER + 4];
        ld_bundle_member_name(a, name);
        strcat(name, ": ");
        return damaged(load->bundle, name, problem);
    }
    if (a->form != LD_ARTIFACT_BYTECODE)
        return load_code(load, a, bytes, out);
    ld_want want = {.opt_level = load->module->opt_level, .line_info = load->module->line_info};
    return ld_module_load(load->driver, out, bytes, want);
}

/* Loads the artifact that suits the device best among those that the driver accepts. */
static tvResult load_best(bundle_load *load, loaded_module *out)
{
    for (size_t i = 0; i < load->count; i++) {
        const ld_artifact *a = &load->artifacts[load->order[i]];
        load->refused = false;
        tvResult code = load_artifact(load, a, &out->handle);
        describe(load, a, &out->choice);
        if (code == LD_CUDA_SUCCESS) {
            ld_note("%.*s: from %s: %s", (int)load->kernel.len, load->kernel.ptr, load->bundle->name, out->choice.why);
            return code;
        }
        if (!load->refused) /* the last is bytecode, which never is */
            return code;
        const char *name = ld_cuda_error_name(code);
        ld_warn(LD_RULE_L_BUNDLE_03, "%.*s: the driver refused %s (CUDA_ERROR_%s); trying the next best artifact",
                (int)load->kernel.len, load->kernel.ptr, out->choice.why, name ? name : "?");
    }
    return ld_fail(LD_RULE_L_BUNDLE_01, LD_CUDA_INVALID_IMAGE, "%s: it has nothing for sm_%u", load->bundle->name,
                   load->sm);
}

static const loaded_module *find_loaded(const struct tvBundle_st *b, unsigned long long context, uint32_t module)
{
    for (const loaded_module *one = b->loaded; one; one = one->next)
        if (one->context == context && one->module == module)
            return one;
    return NULL;
}

/* Called with the lock held. Loads the module unless it is loaded; if choice is not NULL, only selects the artifact. */
static tvResult use_module(struct tvBundle_st *b, const ld_driver *driver, const ld_bundle_kernel *kernel,
                           struct CUmod_st **out, tvBundleChoice *choice)
{
    unsigned long long context = 0;
    tvResult code = driver->cuCtxGetId(NULL, &context);
    if (code != LD_CUDA_SUCCESS)
        return ld_fail(LD_RULE_L_CTX_01, code, "kernels are loaded for the current context, and there is none");
    const loaded_module *known = find_loaded(b, context, kernel->module);
    loaded_module *fresh = known ? NULL : calloc(1, sizeof *fresh);
    if (!known && !fresh)
        return ld_no_memory();
    ld_bundle_module module = ld_bundle_head_module(&b->bundle.head, kernel->module);
    bundle_load load = {.bundle = b, .driver = driver, .module = &module, .kernel = kernel->symbol};
    bc_arena_init(&load.arena, NULL, 0);
    if (!known && (code = survey(&load)) == LD_CUDA_SUCCESS && choice)
        describe(&load, &load.artifacts[load.order[0]], choice);
    else if (!known && code == LD_CUDA_SUCCESS)
        code = load_best(&load, fresh);
    bc_arena_release(&load.arena);
    if (fresh && fresh->handle) {
        fresh->context = context;
        fresh->module = kernel->module;
        fresh->next = b->loaded;
        b->loaded = fresh;
        known = fresh;
    } else {
        free(fresh);
    }
    if (known && choice)
        *choice = known->choice;
    if (known && out)
        *out = known->handle;
    return code;
}

/* ---- by name ---- */

static tvResult find_kernel(const struct tvBundle_st *b, const char *name, ld_bundle_kernel *out)
{
    uint32_t i = 0;
    switch (ld_bundle_find(&b->bundle, bc_str(name ? name : ""), &i)) {
    case LD_BUNDLE_FOUND: *out = ld_bundle_head_kernel(&b->bundle.head, i); return LD_CUDA_SUCCESS;
    case LD_BUNDLE_NONE:
        return ld_fail(LD_RULE_L_LOAD_02, LD_CUDA_NOT_FOUND, "%s: there is no kernel %s among its %u", b->name,
                       name ? name : "(NULL)", (unsigned)b->bundle.head.kernel_count);
    case LD_BUNDLE_SEVERAL: break;
    }
    ld_bundle_kernel one = ld_bundle_head_kernel(&b->bundle.head, i);
    return ld_fail(LD_RULE_L_LOAD_02, LD_CUDA_NOT_FOUND,
                   "%s: several kernels are made of function %s; name one by its symbol, as %.*s", b->name, name,
                   (int)one.symbol.len, one.symbol.ptr);
}

static tvResult use_kernel(struct tvBundle_st *b, const char *name, struct CUfunc_st **out, tvBundleChoice *choice)
{
    const ld_driver *driver;
    ld_bundle_kernel kernel;
    if (!b)
        return ld_fail(LD_RULE_L_LOAD_02, LD_CUDA_INVALID_VALUE, "no bundle was given");
    tvResult code = ld_driver_open(&driver);
    if (code == LD_CUDA_SUCCESS)
        code = find_kernel(b, name, &kernel);
    if (code != LD_CUDA_SUCCESS)
        return code;
    struct CUmod_st *module = NULL;
    pthread_mutex_lock(&b->lock);
    code = use_module(b, driver, &kernel, &module, choice);
    pthread_mutex_unlock(&b->lock);
    if (code != LD_CUDA_SUCCESS || choice)
        return code;
    char *symbol = strndup(kernel.symbol.ptr, kernel.symbol.len);
    code = symbol ? tvModuleGetFunction(out, module, symbol) : ld_no_memory();
    free(symbol);
    return code;
}

tvResult tvBundleGetFunction(struct CUfunc_st **hfunc, struct tvBundle_st *bundle, const char *name)
{
    return use_kernel(bundle, name, hfunc, NULL);
}

tvResult tvBundleGetChoice(tvBundleChoice *choice, struct tvBundle_st *bundle, const char *name)
{
    return use_kernel(bundle, name, NULL, choice);
}

tvResult tvBundleGetKernelCount(unsigned *count, struct tvBundle_st *bundle)
{
    *count = bundle->bundle.head.kernel_count;
    return LD_CUDA_SUCCESS;
}

tvResult tvBundleGetKernelName(char *symbol, size_t size, struct tvBundle_st *bundle, unsigned index)
{
    if (index >= bundle->bundle.head.kernel_count)
        return LD_CUDA_NOT_FOUND;
    tv_str name = ld_bundle_head_kernel(&bundle->bundle.head, index).symbol;
    snprintf(symbol, size, "%.*s", (int)name.len, name.ptr);
    return LD_CUDA_SUCCESS;
}

/* The manifest of a bundle: what is in it, for people and for tools other than ours. Nothing of ours believes it. */
#include <cjson/cJSON.h>

#include <errno.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/cli/json.h"

/* ---- writing ---- */

static void put_parameters(json_doc *doc, cJSON *kernel, const tv_signature *signature)
{
    cJSON *list = json_array(doc, kernel, "parameters");
    const tv_param *param;
    for (size_t i = 0; (param = tv_signature_param(signature, i)) != NULL; i++) {
        bc_text text;
        bc_text_init(&text, NULL);
        doc->failed |= tv_param_print(param, (tv_writer){.user = &text, .write = bc_text_append}) != TV_OK;
        cJSON *one = json_object(doc, list, NULL);
        json_text(doc, one, "name", param->name ? param->name : "");
        json_str(doc, one, "type", bc_text_get(&text));
        bc_text_release(&text);
    }
}

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

static void put_kernel(json_doc *doc, cJSON *list, const tv_module *module, size_t entry)
{
    tv_signature *signature = NULL;
    cJSON *kernel = json_object(doc, list, NULL);
    json_str(doc, kernel, "symbol", tv_module_entry_name(module, entry));
    tv_status status = tv_signature_of_entry(module, entry, (tv_sink){.report = ignore}, &signature);
    doc->failed |= status == TV_NO_MEMORY;
    if (status != TV_OK)
        return;
    json_str(doc, kernel, "function", tv_signature_function(signature));
    if (tv_signature_convention(signature))
        json_uint(doc, kernel, "convention", tv_signature_convention(signature));
    put_parameters(doc, kernel, signature);
    tv_signature_close(signature);
}

static void put_artifact(json_doc *doc, cJSON *list, const ld_artifact *a)
{
    char target[LD_TARGET_NAME], version[16], hex[LD_SHA256_HEX];
    cJSON *one = json_object(doc, list, NULL);
    ld_artifact_target(a, target);
    snprintf(version, sizeof version, "%u.%u", a->ptx / 10, a->ptx % 10);
    ld_sha256_hex(a->digest, hex);
    if (a->sm)
        json_text(doc, one, "target", target);
    json_text(doc, one, "form", ld_artifact_form_name(a->form));
    if (a->ptx)
        json_text(doc, one, "ptx_version", version);
    json_text(doc, one, "sha256", hex);
    json_uint(doc, one, "size", a->size);
}

static void put_module(json_doc *doc, cJSON *list, const bundle_build *build, const bundle_source *source,
                       const bundle_artifacts *artifacts)
{
    char version[16];
    cJSON *module = json_object(doc, list, NULL);
    snprintf(version, sizeof version, "13.%u", tv_module_minor(source->module));
    json_text(doc, module, "name", source->name);
    json_text(doc, module, "bytecode_version", version);
    cJSON *kernels = json_array(doc, module, "kernels");
    for (size_t e = 0; e < tv_module_entry_count(source->module); e++)
        put_kernel(doc, kernels, source->module, e);
    cJSON *rows = json_array(doc, module, "artifacts");
    for (size_t i = 0; i < artifacts->count; i++)
        put_artifact(doc, rows, &artifacts->items[i]);
    cJSON *missing = NULL;
    for (size_t t = 0; t < build->options->targets.count; t++) {
        if (!source->cells[t].missing.len)
            continue;
        missing = missing ? missing : json_array(doc, module, "missing");
        cJSON *one = json_object(doc, missing, NULL);
        json_text(doc, one, "target", build->options->targets.names[t]);
        json_str(doc, one, "why", bc_text_get(&source->cells[t].missing));
    }
}

static void put_options(json_doc *doc, cJSON *root, const bundle_options *options)
{
    cJSON *one = json_object(doc, root, "options");
    json_uint(doc, one, "opt_level", options->opt_level);
    json_bool(doc, one, "lineinfo", options->line_info);
    json_bool(doc, one, "cubins", options->ptxas != NULL);
    cJSON *targets = json_array(doc, root, "targets");
    for (size_t t = 0; t < options->targets.count; t++)
        json_text(doc, targets, NULL, options->targets.names[t]);
}

bool bundle_manifest_write(const bundle_build *build, const bundle_artifacts *artifacts, bc_text *out)
{
    json_doc doc = {0};
    cJSON *root = json_document(&doc, "bundle");
    json_text(&doc, root, "tilevm", TV_VERSION);
    put_options(&doc, root, build->options);
    cJSON *modules = json_array(&doc, root, "modules");
    for (size_t i = 0; i < build->source_count; i++)
        put_module(&doc, modules, build, &build->sources[i], &artifacts[i]);
    return json_finish_text(&doc, out);
}

/* ---- comparing with the index ---- */

/* failed: memory ran out. */
static bool is_text(const cJSON *object, const char *key, tv_str wanted, bool *failed)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    bc_text clean;
    bc_text_init(&clean, NULL);
    bc_text_utf8(&clean, wanted);
    bool same = cJSON_IsString(item) && bc_str_is(bc_text_get(&clean), item->valuestring);
    *failed |= clean.failed;
    bc_text_release(&clean);
    return same;
}

static bool is_number(const cJSON *object, const char *key, double wanted)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) && item->valuedouble >= wanted && item->valuedouble <= wanted;
}

static const cJSON *array_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsArray(item) ? item : NULL;
}

static bool same_artifacts(const cJSON *module, const ld_artifact *artifacts, uint32_t count, bool *failed)
{
    const cJSON *list = array_of(module, "artifacts"), *one;
    uint32_t i = 0;
    cJSON_ArrayForEach(one, list)
    {
        char hex[LD_SHA256_HEX];
        if (i == count)
            return false;
        const ld_artifact *a = &artifacts[i++];
        ld_sha256_hex(a->digest, hex);
        if (!is_text(one, "sha256", bc_str(hex), failed) || !is_number(one, "size", (double)a->size)
            || !is_text(one, "form", bc_str(ld_artifact_form_name(a->form)), failed))
            return false;
    }
    return i == count;
}

/* Every kernel of the manifest's module is one of the index's; and there are as many. */
static bool same_kernels(const cJSON *module, const ld_bundle_head *head, uint32_t index, bool *failed)
{
    const cJSON *list = array_of(module, "kernels"), *one;
    uint32_t told = 0, wanted = 0;
    for (uint32_t i = 0; i < head->kernel_count; i++)
        wanted += ld_bundle_head_kernel(head, i).module == index;
    cJSON_ArrayForEach(one, list)
    {
        uint32_t i = 0;
        while (i < head->kernel_count
               && (ld_bundle_head_kernel(head, i).module != index
                   || !is_text(one, "symbol", ld_bundle_head_kernel(head, i).symbol, failed)))
            i++;
        if (i == head->kernel_count)
            return false;
        told++;
    }
    return told == wanted;
}

static bool same_modules(const cJSON *root, const ld_bundle_head *head, const ld_artifact *const *artifacts,
                         bool *failed)
{
    const cJSON *list = array_of(root, "modules"), *one;
    uint32_t i = 0;
    cJSON_ArrayForEach(one, list)
    {
        if (i == head->module_count)
            return false;
        ld_bundle_module m = ld_bundle_head_module(head, i);
        if (!is_text(one, "name", m.name, failed) || !same_artifacts(one, artifacts[i], m.artifact_count, failed)
            || !same_kernels(one, head, i, failed))
            return false;
        i++;
    }
    return i == head->module_count;
}

const char *bundle_manifest_check(tv_str text, const ld_bundle_head *head, const ld_artifact *const *artifacts)
{
    bool failed = false;
    errno = 0;
    cJSON *root = cJSON_ParseWithLength(text.ptr, text.len);
    const char *problem = !root                                                          ? "it is not JSON"
                          : !is_text(root, "schema", bc_str("tilevm-bundle/1"), &failed) ? "it is of another version"
                          : same_modules(root, head, artifacts, &failed)                 ? NULL
                                                                         : "it disagrees with the index";
    if (failed || (!root && errno == ENOMEM))
        problem = LD_NO_MEMORY;
    cJSON_Delete(root);
    return problem;
}

/* ---- reading what the index does not tell ---- */

/* The text of a member, in the arena; failed: it is not there. */
static tv_str copy_text(const cJSON *object, const char *key, bc_arena *arena, bool *failed)
{
    const cJSON *item = key ? cJSON_GetObjectItemCaseSensitive(object, key) : object;
    *failed |= !cJSON_IsString(item);
    return cJSON_IsString(item) ? bc_arena_dup(arena, bc_str(item->valuestring)) : (tv_str){0};
}

static bool read_targets(const cJSON *root, bc_arena *arena, bundle_told *out)
{
    const cJSON *list = array_of(root, "targets"), *one;
    bool failed = false;
    out->targets = bc_new(arena, tv_str, (size_t)cJSON_GetArraySize(list) + 1);
    cJSON_ArrayForEach(one, list) if (out->targets)
        out->targets[out->target_count++] = copy_text(one, NULL, arena, &failed);
    return !failed;
}

static bool read_missing(const cJSON *root, bc_arena *arena, bundle_told *out)
{
    const cJSON *modules = array_of(root, "modules"), *module, *one;
    size_t capacity = 0;
    bool failed = false;
    cJSON_ArrayForEach(module, modules)
    {
        cJSON_ArrayForEach(one, array_of(module, "missing"))
        {
            bundle_missing missing = {.module = copy_text(module, "name", arena, &failed),
                                      .target = copy_text(one, "target", arena, &failed),
                                      .why = copy_text(one, "why", arena, &failed)};
            out->missing = bc_grow(arena, out->missing, out->missing_count, &capacity, bundle_missing);
            if (out->missing)
                out->missing[out->missing_count++] = missing;
        }
    }
    return !failed;
}

const char *bundle_manifest_read(tv_str text, bc_arena *arena, bundle_told *out)
{
    *out = (bundle_told){0};
    cJSON *root = cJSON_ParseWithLength(text.ptr, text.len);
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(root, "options");
    const cJSON *level = cJSON_GetObjectItemCaseSensitive(options, "opt_level");
    bool fine = cJSON_IsNumber(level) && level->valuedouble >= 0 && level->valuedouble <= 3;
    out->opt_level = fine ? (unsigned)level->valuedouble : 0;
    out->line_info = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "lineinfo"));
    out->cubins = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "cubins"));
    fine = fine && read_targets(root, arena, out) && read_missing(root, arena, out);
    cJSON_Delete(root);
    return arena->failed || !root ? LD_NO_MEMORY : fine ? NULL : "it does not say how the bundle was built";
}

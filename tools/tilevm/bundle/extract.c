/* Writing what is in a bundle as files. Their names are made of names that may be in a bundle, which lead to no other
   folder. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/tilevm/bundle/bundle.h"

static bool write_file(const char *folder, const char *name, tv_str bytes)
{
    bc_text path;
    cli_out out;
    bc_text_init(&path, NULL);
    bc_text_printf(&path, "%s/%s", folder, name);
    if (path.failed)
        cli_error("out of memory");
    bool fine = !path.failed && cli_out_open(&out, path.ptr);
    if (fine) {
        cli_out_write(&out, bytes.ptr, bytes.len);
        fine = cli_out_commit(&out);
    }
    bc_text_release(&path);
    return fine;
}

/* "vadd.tbc", "vadd.sm_90a.cubin". */
static void name_of(const ld_bundle_module *m, const ld_artifact *a, char *out, size_t size)
{
    char target[LD_TARGET_NAME];
    ld_artifact_target(a, target);
    snprintf(out, size, "%.*s%s%s.%s", (int)m->name.len, m->name.ptr, a->sm ? "." : "", target,
             ld_artifact_ending(a->form));
}

static int extract_module(const bundle_request *request, const ld_bundle *bundle, uint32_t index, unsigned *files)
{
    ld_bundle_module m = ld_bundle_head_module(&bundle->head, index);
    bc_arena arena;
    ld_artifact *artifacts = NULL;
    bc_arena_init(&arena, NULL, 0);
    const char *problem = ld_bundle_artifacts(bundle, &m, &arena, &artifacts);
    int code = problem ? bundle_say_damaged(request->paths[0], "", problem) : CLI_OK;
    for (uint32_t i = 0; code == CLI_OK && i < m.artifact_count; i++) {
        char name[256];
        tv_str bytes;
        name_of(&m, &artifacts[i], name, sizeof name);
        problem = ld_bundle_fetch(bundle, &artifacts[i], &arena, &bytes);
        if (problem)
            code = bundle_say_damaged(request->paths[0], "", problem);
        else if (!write_file(request->output, name, bytes))
            code = CLI_ERROR;
        else
            ++*files;
    }
    bc_arena_release(&arena);
    return code;
}

static bool is_wanted(const ld_bundle *bundle, uint32_t module, const char *kernel)
{
    for (uint32_t i = 0; kernel && i < bundle->head.kernel_count; i++) {
        ld_bundle_kernel k = ld_bundle_head_kernel(&bundle->head, i);
        if (k.module == module && bundle_is_named(&k, kernel))
            return true;
    }
    return !kernel;
}

int bundle_action_extract(const bundle_request *given)
{
    bundle_request request = *given;
    ld_bundle bundle;
    unsigned files = 0;
    bool known = false;
    if (!request.output)
        request.output = ".";
    int opened = bundle_open_or_say(request.paths[0], request.key, &bundle);
    if (opened != CLI_OK)
        return opened;
    int code = mkdir(request.output, 0777) == 0 || errno == EEXIST
                   ? CLI_OK
                   : cli_error("%s: cannot create the folder: %s", request.output, cli_errno());
    for (uint32_t i = 0; code == CLI_OK && i < bundle.head.module_count; i++)
        if (is_wanted(&bundle, i, request.kernel)) {
            known = true;
            code = extract_module(&request, &bundle, i, &files);
        }
    ld_bundle_close(&bundle);
    if (code == CLI_OK && request.kernel && !known)
        return cli_error("%s: there is no kernel %s", request.paths[0], request.kernel);
    if (code == CLI_OK)
        cli_print(stdout, "%u files in %s\n", files, request.output);
    return code;
}

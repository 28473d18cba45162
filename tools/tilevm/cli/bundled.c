/* The modules of a bundle as images: their bytecode, after its hash was compared. */
#include <string.h>

#include "loader/bundle/bundle.h"
#include "tools/tilevm/cli/images.h"

bool cli_is_zip(tv_str file)
{
    return file.len >= 4 && memcmp(file.ptr, "PK\3\4", 4) == 0;
}

/* The first artifact of a module is its bytecode. */
static void find_bytecode(const ld_bundle *bundle, uint32_t module, bc_arena *arena, co_image *out)
{
    ld_bundle_module m = ld_bundle_head_module(&bundle->head, module);
    ld_artifact *artifacts;
    *out = (co_image){.member = bc_arena_dup(arena, m.name)};
    out->problem = ld_bundle_artifacts(bundle, &m, arena, &artifacts);
    if (out->problem)
        return;
    const ld_artifact *a = artifacts;
    out->entry = (co_entry){.kind = CO_TILE_IR, .offset = (size_t)a->at, .size = a->size};
    if (a->form != LD_ARTIFACT_BYTECODE)
        out->problem = "the bundle is damaged: a module has no bytecode";
    else if (!co_image_refusal(out)) /* too large: whoever reads the image is told */
        out->problem = ld_bundle_fetch(bundle, a, arena, &out->entry.packed);
}

const char *cli_bundle_each(tv_str file, bc_arena *arena, co_visit *visit, void *user)
{
    ld_bundle bundle;
    const char *problem = ld_bundle_open_bytes(file.ptr, file.len, &bundle);
    for (uint32_t i = 0; !problem && i < bundle.head.module_count; i++) {
        co_image image;
        find_bytecode(&bundle, i, arena, &image);
        if (!visit(user, &image))
            break;
    }
    ld_bundle_close(&bundle);
    return problem;
}

/* bundle join: bundles that were built apart become the one that a build of all their files for all their targets
   gives, byte for byte where no two files have one name. Each is checked whole before anything of it is taken; nothing
   is compiled. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/bundle/bundle.h"

/* One of the bundles. */
typedef struct part {
    const char *path;
    ld_bundle bundle;
    bundle_told told; /* its manifest */
} part;

typedef struct joining {
    const bundle_request *request;
    bundle_build *build;
    bundle_options *options; /* the build's */
    part *parts;
    size_t opened;
} joining;

/* ---- all of them ---- */

static int open_part(joining *j, part *p)
{
    tv_str text;
    int code = bundle_open_or_say(p->path, j->request->key, &p->bundle);
    if (code != CLI_OK)
        return code;
    j->opened++;
    code = bundle_check_opened(p->path, &p->bundle);
    if (code != CLI_OK)
        return code;
    const char *problem = ld_bundle_manifest(&p->bundle, &j->build->arena, &text);
    if (!problem)
        problem = bundle_manifest_read(text, &j->build->arena, &p->told);
    return problem ? bundle_say_damaged(p->path, LD_BUNDLE_MANIFEST ": ", problem) : CLI_OK;
}

/* What was compiled for, and how, must be the same for all. */
static int join_options(joining *j, const part *p)
{
    bundle_options *options = j->options;
    const bundle_told *told = &p->told, *first = &j->parts[0].told;
    if (told->opt_level != first->opt_level || told->line_info != first->line_info) {
        cli_error("%s and %s were built with different options", j->parts[0].path, p->path);
        return CLI_FAILED;
    }
    options->opt_level = told->opt_level;
    options->line_info = told->line_info;
    if (told->cubins)
        options->ptxas = ""; /* there was one; none is run here */
    for (size_t i = 0; i < told->target_count; i++) {
        size_t t = 0;
        while (t < options->targets.count && !bc_str_is(told->targets[i], options->targets.names[t]))
            t++;
        if (t == options->targets.count && !cli_target_list(j->request->args, told->targets[i].ptr, &options->targets))
            return j->request->args->exit_code;
    }
    return CLI_OK;
}

static int open_parts(joining *j)
{
    int code = CLI_OK;
    for (size_t i = 0; code == CLI_OK && i < j->request->count; i++) {
        j->parts[i].path = j->request->paths[i];
        code = open_part(j, &j->parts[i]);
        if (code == CLI_OK)
            code = join_options(j, &j->parts[i]);
    }
    if (code == CLI_OK && j->options->targets.count && !bundle_settle_targets(j->request->args, &j->options->targets))
        code = j->request->args->exit_code;
    return code;
}

/* ---- one module ---- */

static bundle_source *find_source(const bundle_build *build, tv_str name, const unsigned char *digest)
{
    for (size_t i = 0; i < build->source_count; i++)
        if (bc_str_is(name, build->sources[i].name)
            && memcmp(build->sources[i].blob.artifact.digest, digest, LD_SHA256_SIZE) == 0)
            return &build->sources[i];
    return NULL;
}

static int new_source(joining *j, const part *p, tv_str name, tv_str bytecode, bundle_source **out)
{
    bundle_source *source = &j->build->sources[j->build->source_count++];
    source->name = strndup(name.ptr, name.len);
    source->cells = calloc(j->options->targets.count + 1, sizeof *source->cells);
    source->file = (cli_file){.bytes = malloc(bytecode.len), .size = bytecode.len};
    *out = source;
    if (source->file.bytes)
        memcpy(source->file.bytes, bytecode.ptr, bytecode.len);
    return source->name && source->cells && source->file.bytes ? bundle_source_open(source, j->options, p->path)
                                                               : bundle_no_memory();
}

/* The cell that an artifact is for, the first of its device that has none of its kind: code for sm_90a may be the
   target sm_90's. NULL: there is none, or there is one of its kind; that is then in *out_same. */
static bundle_cell *find_cell(const joining *j, const bundle_source *source, const ld_artifact *a,
                              const bundle_blob **out_same)
{
    *out_same = NULL;
    for (size_t t = 0; t < j->options->targets.count; t++) {
        const char *target = j->options->targets.names[t];
        bundle_cell *cell = &source->cells[t];
        const bundle_blob *same = NULL;
        if (strtoul(target + 3, NULL, 10) != a->sm || (!a->suffix && strchr(target, 'a')))
            continue;
        for (unsigned i = 0; i < cell->count; i++)
            if (cell->blobs[i].artifact.form == a->form && cell->blobs[i].artifact.suffix == a->suffix)
                same = &cell->blobs[i];
        if (!same && cell->count < BUNDLE_CELL_BLOBS)
            return cell;
        *out_same = same ? same : *out_same;
    }
    return NULL;
}

/* The same bytes, or PTX that is the same code: in a bundle it may be that of an earlier target. */
static bool is_same(const bundle_blob *blob, const ld_artifact *a, tv_str bytes)
{
    unsigned char key[LD_SHA256_SIZE];
    bundle_ptx_key(bytes, key);
    return memcmp(blob->artifact.digest, a->digest, sizeof a->digest) == 0
           || (a->form == LD_ARTIFACT_PTX && memcmp(blob->key, key, sizeof key) == 0);
}

static const char *take_artifact(joining *j, const part *p, const bundle_source *source, const ld_artifact *a)
{
    const bundle_blob *same;
    bundle_cell *cell = find_cell(j, source, a, &same);
    tv_str bytes;
    const char *problem = ld_bundle_fetch(&p->bundle, a, &j->build->arena, &bytes);
    if (problem || cell)
        return problem ? problem : bundle_blob_take(cell, a, bytes) ? NULL : LD_NO_MEMORY;
    if (!same)
        return "it has code for a target that the manifest does not name";
    return is_same(same, a, bytes) ? NULL : "it has other code for a kernel and target that another bundle has, too";
}

/* What the manifest says that targets cannot run. */
static bool take_missing(const joining *j, const part *p, bundle_source *source)
{
    bool fine = true;
    for (size_t i = 0; i < p->told.missing_count; i++) {
        const bundle_missing *m = &p->told.missing[i];
        for (size_t t = 0; t < j->options->targets.count && bc_str_is(m->module, source->name); t++)
            if (bc_str_is(m->target, j->options->targets.names[t]) && !source->cells[t].missing.len) {
                bc_text_init(&source->cells[t].missing, NULL);
                bc_text_str(&source->cells[t].missing, m->why);
                fine &= !source->cells[t].missing.failed;
            }
    }
    return fine;
}

static int join_module(joining *j, const part *p, uint32_t index)
{
    ld_bundle_module m = ld_bundle_head_module(&p->bundle.head, index);
    bc_arena *arena = &j->build->arena;
    ld_artifact *artifacts;
    tv_str bytecode;
    const char *problem = ld_bundle_artifacts(&p->bundle, &m, arena, &artifacts);
    if (!problem)
        problem = ld_bundle_fetch(&p->bundle, &artifacts[0], arena, &bytecode);
    if (problem)
        return bundle_say_damaged(p->path, "", problem);
    bundle_source *source = find_source(j->build, m.name, artifacts[0].digest);
    int code = source ? CLI_OK : new_source(j, p, m.name, bytecode, &source);
    for (uint32_t i = 1; code == CLI_OK && i < m.artifact_count; i++)
        if ((problem = take_artifact(j, p, source, &artifacts[i])) != NULL)
            code = bundle_say_damaged(p->path, "", problem);
    return code == CLI_OK && !take_missing(j, p, source) ? bundle_no_memory() : code;
}

static int join_modules(joining *j)
{
    size_t most = 1;
    int code = CLI_OK;
    for (size_t i = 0; i < j->opened; i++)
        most += j->parts[i].bundle.head.module_count;
    if (!(j->build->sources = calloc(most, sizeof *j->build->sources)))
        return bundle_no_memory();
    for (size_t i = 0; i < j->opened; i++)
        for (uint32_t m = 0; code == CLI_OK && m < j->parts[i].bundle.head.module_count; m++)
            code = join_module(j, &j->parts[i], m);
    return code;
}

int bundle_join_bytes(const bundle_request *request, bundle_build *build, bundle_options *options, bc_text *out)
{
    joining j = {.request = request, .build = build, .options = options};
    *options = (bundle_options){.color = request->build.color};
    *build = (bundle_build){.options = options};
    bc_arena_init(&build->arena, NULL, 0);
    j.parts = calloc(request->count, sizeof *j.parts);
    int code = j.parts ? open_parts(&j) : bundle_no_memory();
    if (code == CLI_OK)
        code = join_modules(&j);
    if (code == CLI_OK)
        code = bundle_settle(build);
    if (code == CLI_OK)
        code = bundle_write(build, out);
    for (size_t i = 0; i < j.opened; i++)
        ld_bundle_close(&j.parts[i].bundle);
    free(j.parts);
    return code;
}

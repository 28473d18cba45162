/* One module for one target: PTX for it and all later devices, and what runs on that architecture alone, as a cubin
   where there is a ptxas, else as PTX. */
#include <stdlib.h>
#include <string.h>

#include "loader/record.h"
#include "tools/tilevm/compile/assemble.h"
#include "tools/tilevm/bundle/build.h"
#include "tools/tilevm/cli/deflate.h"

void bundle_blob_fill(bundle_blob *blob, tv_str bytes)
{
    bc_text_init(&blob->packed, NULL);
    if (!deflate_bytes(bytes, BUNDLE_DEFLATE, &blob->packed)) {
        bc_text_clear(&blob->packed);
        bc_text_str(&blob->packed, bytes);
    }
    blob->artifact.size = bytes.len;
    blob->artifact.packed = blob->packed.len;
    blob->crc = deflate_crc(bytes);
    ld_sha256_of(bytes.ptr, bytes.len, blob->artifact.digest);
}

void bundle_blob_release(bundle_blob *blob)
{
    bc_text_release(&blob->packed);
    bc_text_release(&blob->launch_text);
}

/* ---- what PTX says of itself ---- */

/* The rest of the line that begins with a word; empty if none does. */
static tv_str line_of(tv_str ptx, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = ptx.ptr, *end = p + ptx.len; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        if ((size_t)(stop - p) >= len && memcmp(p, word, len) == 0)
            return (tv_str){.ptr = p + len, .len = (size_t)(stop - p) - len};
        p = stop + 1;
    }
    return (tv_str){.ptr = ptx.ptr, .len = 0};
}

/* 78 for ".version 7.8". */
static unsigned version_of(tv_str ptx)
{
    tv_str line = line_of(ptx, ".version ");
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)(line.len < sizeof text ? line.len : sizeof text - 1), line.ptr);
    char *end;
    unsigned long major = strtoul(text, &end, 10), minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return (unsigned)(major * 10 + minor);
}

void bundle_ptx_key(tv_str ptx, unsigned char out_key[LD_SHA256_SIZE])
{
    const char *end = ptx.ptr + ptx.len, *at = ptx.ptr;
    tv_str skipped[] = {line_of(ptx, ".version "), line_of(ptx, ".target ")};
    ld_sha256 hash;
    ld_sha256_init(&hash);
    for (size_t i = 0; i < TV_COUNT(skipped); i++) /* they come in this order */
        if (skipped[i].ptr >= at) {
            ld_sha256_add(&hash, at, (size_t)(skipped[i].ptr - at));
            at = skipped[i].ptr + skipped[i].len;
        }
    ld_sha256_add(&hash, at, (size_t)(end - at));
    ld_sha256_finish(&hash, out_key);
}

/* ---- one target ---- */

/* The first error. */
static void take_diag(void *user, const tv_diag *diag)
{
    bc_text *text = user;
    if (diag->severity == TV_ERROR && !text->len)
        bc_text_printf(text, "[%s] %.*s", diag->rule, (int)diag->message.len, diag->message.ptr);
}

static bool put_launch(bundle_blob *blob, tv_str ptx)
{
    bc_arena arena;
    ld_record *records;
    size_t count;
    bc_arena_init(&arena, NULL, 0);
    bc_text_init(&blob->launch_text, NULL);
    bool fine = ld_records_from_ptx(&arena, ptx, &records, &count);
    if (fine)
        ld_records_print(records, count, &blob->launch_text);
    bc_arena_release(&arena);
    blob->artifact.launch = bc_text_get(&blob->launch_text);
    return fine;
}

/* Adds PTX, or the cubin that was made of it. */
static void add_blob(bundle_cell *cell, ld_artifact_form form, const char *target, tv_str ptx, tv_str bytes)
{
    bundle_blob *blob = &cell->blobs[cell->count++];
    blob->artifact.form = form;
    blob->artifact.sm = (unsigned)strtoul(target + 3, NULL, 10);
    blob->artifact.suffix = target[strlen(target) - 1] == 'a' ? 'a' : 0;
    blob->artifact.ptx = form == LD_ARTIFACT_PTX ? version_of(ptx) : 0;
    cell->failed |= !put_launch(blob, ptx);
    bundle_blob_fill(blob, bytes);
    if (form == LD_ARTIFACT_PTX)
        bundle_ptx_key(ptx, blob->key);
    cell->failed |= blob->packed.failed || blob->launch_text.failed;
}

bool bundle_blob_take(bundle_cell *cell, const ld_artifact *artifact, tv_str bytes)
{
    bundle_blob *blob = &cell->blobs[cell->count++];
    blob->artifact = *artifact;
    bc_text_init(&blob->launch_text, NULL);
    bc_text_str(&blob->launch_text, artifact->launch);
    blob->artifact.launch = bc_text_get(&blob->launch_text);
    bundle_blob_fill(blob, bytes);
    if (artifact->form == LD_ARTIFACT_PTX)
        bundle_ptx_key(bytes, blob->key);
    return !blob->packed.failed && !blob->launch_text.failed;
}

/* Notes what came of a step. False: the cell says why the target cannot run it, or that memory ran out. */
static bool goes_on(tv_status status, bundle_cell *cell)
{
    cell->failed |= status == TV_NO_MEMORY || status == TV_IO; /* what is written to is memory */
    if (status != TV_OK && !cell->missing.len)
        bc_text_puts(&cell->missing, "it cannot be compiled");
    return status == TV_OK;
}

static bool compile(const tv_module *module, const bundle_options *options, const char *target, bundle_cell *cell,
                    bc_text *ptx)
{
    tv_compile_options how = {.target = target,
                              .opt_level = TV_OPT_LEVEL(options->opt_level),
                              .line_info = options->line_info};
    tv_sink sink = {.user = &cell->missing, .report = take_diag};
    return goes_on(tv_compile_ptx(module, &how, sink, (tv_writer){.user = ptx, .write = bc_text_append}), cell);
}

/* Is PTX for the target alone other code than the portable PTX before it? */
static bool differs(const bundle_cell *cell, tv_str ptx)
{
    unsigned char key[LD_SHA256_SIZE];
    bundle_ptx_key(ptx, key);
    return memcmp(key, cell->blobs[0].key, sizeof key) != 0;
}

/* A cubin of the PTX, or that PTX where none can be made. */
static void add_code(const bundle_options *options, const char *target, tv_str ptx, bool portable, bundle_cell *cell)
{
    bc_text cubin;
    bc_text_init(&cubin, NULL);
    assemble_options how = {.opt_level = options->opt_level, .line_info = options->line_info};
    if (options->ptxas && assemble_with_ptxas(options->ptxas, ptx, &how, &cubin, &cell->no_cubin))
        add_blob(cell, LD_ARTIFACT_CUBIN, target, ptx, bc_text_get(&cubin));
    else if (!portable && differs(cell, ptx))
        add_blob(cell, LD_ARTIFACT_PTX, target, ptx, ptx);
    bc_text_release(&cubin);
}

static void compile_module(const bundle_options *options, const char *target, tv_module *module, bundle_cell *cell)
{
    const char *exact = tv_target_exact(target);
    bool portable = strcmp(exact, target) == 0;
    tv_sink sink = {.user = &cell->missing, .report = take_diag};
    tv_verify_options verify = {.target = (unsigned)strtoul(target + 3, NULL, 10)};
    bc_text ptx, own;
    bc_text_init(&ptx, NULL);
    bc_text_init(&own, NULL);
    if (goes_on(tv_module_verify(module, &verify, sink), cell) && compile(module, options, target, cell, &ptx)) {
        add_blob(cell, LD_ARTIFACT_PTX, target, bc_text_get(&ptx), bc_text_get(&ptx));
        if (portable)
            add_code(options, target, bc_text_get(&ptx), true, cell);
        else if (compile(module, options, exact, cell, &own))
            add_code(options, exact, bc_text_get(&own), false, cell);
    }
    bc_text_release(&ptx);
    bc_text_release(&own);
}

void bundle_compile_cell(const bundle_options *options, const char *target, tv_str bytecode, bundle_cell *out)
{
    tv_module *module = NULL;
    tv_sink sink = {.user = &out->missing, .report = take_diag};
    bc_text_init(&out->missing, NULL);
    bc_text_init(&out->no_cubin, NULL);
    if (goes_on(tv_module_open(bytecode.ptr, bytecode.len, NULL, sink, &module), out))
        compile_module(options, target, module, out);
    tv_module_close(module);
    out->failed |= out->missing.failed || out->no_cubin.failed;
}

/* The bytes of a bundle. Objects are named by their hash, so equal ones are there once; PTX that differs from that of
   an earlier target in nothing but the names of version and target is the same code to the driver, and is there once,
   too. Order and times are fixed: same inputs, same bytes. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/zip.h"
#include "loader/bundle/bundle.h"
#include "tools/tilevm/bundle/build.h"
#include "tools/tilevm/cli/deflate.h"

/* An artifact of a module, and the blob that it is. */
typedef struct row {
    ld_artifact artifact;
    const bundle_blob *blob;
} row;

typedef struct object {
    const bundle_blob *blob;
    char name[LD_BUNDLE_MEMBER];
    bc_zip_member member;
} object;

typedef struct writing {
    bundle_build *build;
    bc_arena arena;
    row *rows;              /* of all modules, one after the other */
    ld_artifact *artifacts; /* of the rows */
    size_t row_count, row_capacity;
    ld_bundle_module *modules;
    ld_bundle_kernel *kernels;
    object *objects; /* in order of their hashes */
    size_t object_count;
    bc_text manifest, manifest_packed, index, seal;
} writing;

/* ---- rows ---- */

/* PTX for any later device that is like it, among the rows from first on. */
static const row *same_ptx(const writing *w, size_t first, const bundle_blob *blob)
{
    if (blob->artifact.form != LD_ARTIFACT_PTX || blob->artifact.suffix)
        return NULL;
    for (size_t i = first; i < w->row_count; i++) {
        const bundle_blob *before = w->rows[i].blob;
        if (before->artifact.form == LD_ARTIFACT_PTX && !before->artifact.suffix
            && before->artifact.sm <= blob->artifact.sm && before->artifact.ptx <= blob->artifact.ptx
            && memcmp(before->key, blob->key, sizeof blob->key) == 0)
            return &w->rows[i];
    }
    return NULL;
}

static void add_row(writing *w, size_t first, const bundle_blob *blob)
{
    const row *same = same_ptx(w, first, blob);
    row added = {.artifact = blob->artifact, .blob = blob};
    if (same) { /* its bytes under this target's name */
        added.blob = same->blob;
        added.artifact = same->blob->artifact;
        added.artifact.sm = blob->artifact.sm;
    }
    w->rows = bc_grow(&w->arena, w->rows, w->row_count, &w->row_capacity, row);
    if (w->rows)
        w->rows[w->row_count++] = added;
}

static bool list_rows(writing *w)
{
    for (size_t i = 0; i < w->build->source_count && !w->arena.failed; i++) {
        bundle_source *source = &w->build->sources[i];
        size_t first = w->row_count;
        add_row(w, first, &source->blob);
        for (size_t t = 0; t < w->build->options->targets.count; t++)
            for (unsigned b = 0; b < source->cells[t].count; b++)
                add_row(w, first, &source->cells[t].blobs[b]);
        w->modules[i] = (ld_bundle_module){.name = bc_str(source->name),
                                           .opt_level = w->build->options->opt_level,
                                           .line_info = w->build->options->line_info,
                                           .artifact_count = (uint32_t)(w->row_count - first)};
    }
    return !w->arena.failed;
}

/* ---- objects ---- */

static int by_digest(const void *a, const void *b)
{
    const object *x = a, *y = b;
    int order = memcmp(x->blob->artifact.digest, y->blob->artifact.digest, LD_SHA256_SIZE);
    return order ? order : (int)x->blob->artifact.form - (int)y->blob->artifact.form;
}

static bool list_objects(writing *w)
{
    w->objects = bc_new(&w->arena, object, w->row_count);
    w->artifacts = bc_new(&w->arena, ld_artifact, w->row_count);
    if (!w->objects || !w->artifacts)
        return false;
    for (size_t i = 0; i < w->row_count; i++) {
        w->objects[i].blob = w->rows[i].blob;
        w->artifacts[i] = w->rows[i].artifact;
    }
    qsort(w->objects, w->row_count, sizeof *w->objects, by_digest);
    for (size_t i = 0; i < w->row_count; i++)
        if (i == 0 || by_digest(&w->objects[i], &w->objects[i - 1]) != 0)
            w->objects[w->object_count++].blob = w->objects[i].blob;
    for (size_t i = 0; i < w->object_count; i++) {
        object *o = &w->objects[i];
        const ld_artifact *a = &o->blob->artifact;
        ld_bundle_member_name(a, o->name);
        o->member = (bc_zip_member){.name = bc_str(o->name),
                                    .method = a->packed == a->size ? BC_ZIP_STORED : BC_ZIP_DEFLATED,
                                    .crc = o->blob->crc,
                                    .packed = a->packed,
                                    .size = a->size};
    }
    return true;
}

/* Gives every object its place, from `at` on, and every row that of its object. */
static void place_objects(writing *w, uint64_t at)
{
    for (size_t i = 0; i < w->object_count; i++) {
        w->objects[i].member.local = at;
        at += bc_zip_local_size(&w->objects[i].member) + w->objects[i].member.packed;
    }
    for (size_t i = 0; i < w->row_count; i++) {
        const object *o =
            bsearch(&(object){.blob = w->rows[i].blob}, w->objects, w->object_count, sizeof *w->objects, by_digest);
        w->artifacts[i] = w->rows[i].artifact;
        w->artifacts[i].at = o->member.local + bc_zip_local_size(&o->member);
    }
}

/* ---- index, manifest, seal ---- */

static void list_kernels(writing *w)
{
    for (size_t i = 0; i < w->build->kernel_count; i++) {
        const bundle_kernel *k = &w->build->kernels[i];
        w->kernels[i] = (ld_bundle_kernel){.symbol = k->symbol,
                                           .function = k->function,
                                           .module = (uint32_t)(k->source - w->build->sources)};
    }
}

/* Writes the index and gives the size of its head. */
static bool write_index(writing *w, ld_seal *seal)
{
    bc_text records;
    bc_text_init(&records, NULL);
    for (size_t i = 0, first = 0; i < w->build->source_count; i++) {
        ld_bundle_record_write(&w->modules[i], w->artifacts + first, records.len, &records);
        first += w->modules[i].artifact_count;
    }
    bc_text_clear(&w->index);
    ld_bundle_head_write(w->kernels, (uint32_t)w->build->kernel_count, w->modules, (uint32_t)w->build->source_count,
                         records.len, &w->index);
    seal->head_size = w->index.len;
    tv_str head = bc_text_get(&w->index);
    ld_sha256_of(head.ptr, head.len, seal->head);
    bc_text_str(&w->index, bc_text_get(&records));
    bool fine = !records.failed && !w->index.failed;
    bc_text_release(&records);
    return fine;
}

static bc_zip_member member_of(const char *name, const bc_text *bytes)
{
    return (bc_zip_member){.name = bc_str(name),
                           .method = BC_ZIP_STORED,
                           .crc = deflate_crc(bc_text_get(bytes)),
                           .packed = bytes->len,
                           .size = bytes->len};
}

/* The three members that come first. Their sizes do not depend on where the objects are. */
static void list_first(writing *w, bc_zip_member first[3])
{
    bool deflated = w->manifest_packed.len < w->manifest.len;
    first[0] = member_of(LD_BUNDLE_MANIFEST, &w->manifest);
    first[0].method = deflated ? BC_ZIP_DEFLATED : BC_ZIP_STORED;
    first[0].packed = w->manifest_packed.len;
    first[1] = member_of(LD_BUNDLE_SEAL, &w->seal);
    first[2] = member_of(LD_BUNDLE_INDEX, &w->index);
    for (size_t i = 1; i < 3; i++)
        first[i].local = first[i - 1].local + bc_zip_local_size(&first[i - 1]) + first[i - 1].packed;
}

static bool write_manifest(writing *w, ld_seal *seal)
{
    bundle_artifacts *artifacts = bc_new(&w->arena, bundle_artifacts, w->build->source_count);
    if (!artifacts)
        return false;
    for (size_t i = 0, first = 0; i < w->build->source_count; i++) {
        artifacts[i] = (bundle_artifacts){.items = w->artifacts + first, .count = w->modules[i].artifact_count};
        first += artifacts[i].count;
    }
    if (!bundle_manifest_write(w->build, artifacts, &w->manifest))
        return false;
    tv_str manifest = bc_text_get(&w->manifest);
    ld_sha256_of(manifest.ptr, manifest.len, seal->manifest);
    seal->manifest_size = manifest.len;
    if (!deflate_bytes(manifest, BUNDLE_DEFLATE, &w->manifest_packed)) {
        bc_text_clear(&w->manifest_packed);
        bc_text_str(&w->manifest_packed, manifest);
    }
    return !w->manifest_packed.failed;
}

static bool write_first(writing *w, bc_zip_member first[3])
{
    ld_seal seal = {0};
    if (!write_manifest(w, &seal))
        return false;
    for (unsigned pass = 0; pass < 2; pass++) { /* the first tells the sizes */
        if (!write_index(w, &seal))
            return false;
        bc_text_clear(&w->seal);
        ld_seal_print(&seal, &w->seal);
        list_first(w, first);
        place_objects(w, first[2].local + bc_zip_local_size(&first[2]) + first[2].packed);
    }
    return !w->seal.failed;
}

/* ---- the archive ---- */

static void put_member(bc_text *out, bc_text *directory, const bc_zip_member *m, const bc_text *bytes)
{
    bc_zip_put_local(out, m);
    bc_text_str(out, bc_text_get(bytes));
    bc_zip_put_entry(directory, m);
}

static bool put_archive(const writing *w, const bc_zip_member first[3], bc_text *out)
{
    const bc_text *const texts[] = {&w->manifest_packed, &w->seal, &w->index};
    bc_text directory;
    bc_text_init(&directory, NULL);
    for (size_t i = 0; i < TV_COUNT(texts); i++)
        put_member(out, &directory, &first[i], texts[i]);
    for (size_t i = 0; i < w->object_count; i++)
        put_member(out, &directory, &w->objects[i].member, &w->objects[i].blob->packed);
    uint64_t at = out->len;
    bc_text_str(out, bc_text_get(&directory));
    bc_zip_put_end(out, TV_COUNT(texts) + w->object_count, directory.len, at);
    bool fine = !out->failed && !directory.failed;
    bc_text_release(&directory);
    return fine;
}

int bundle_write(bundle_build *build, bc_text *out)
{
    writing w = {.build = build};
    bc_zip_member first[3] = {0};
    bc_arena_init(&w.arena, NULL, 0);
    bc_text *const texts[] = {&w.manifest, &w.manifest_packed, &w.index, &w.seal};
    for (size_t i = 0; i < TV_COUNT(texts); i++)
        bc_text_init(texts[i], NULL);
    w.modules = bc_new(&w.arena, ld_bundle_module, build->source_count);
    w.kernels = bc_new(&w.arena, ld_bundle_kernel, build->kernel_count);
    bool fine = w.modules && w.kernels && list_rows(&w) && list_objects(&w);
    if (fine)
        list_kernels(&w);
    fine = fine && write_first(&w, first) && put_archive(&w, first, out);
    for (size_t i = 0; i < TV_COUNT(texts); i++)
        bc_text_release(texts[i]);
    bc_arena_release(&w.arena);
    return fine ? CLI_OK : cli_error("out of memory");
}

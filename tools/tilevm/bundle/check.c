/* bundle verify: that the archive, the index and the manifest tell of the same things, that every hash is right, and
   that the bytecode is valid. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/rules.h"
#include "loader/record.h"
#include "loader/bundle/signature.h"
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/cli/deflate.h"
#include "tools/tilevm/cli/json.h"

/* What one check works with. */
typedef struct checking {
    ld_bundle *bundle;
    bc_arena arena;
    ld_artifact **artifacts; /* by module */
    uint32_t *counts;
    size_t total;
    const ld_artifact **objects;   /* by place, each place once */
    size_t object_count, archived; /* in the index; in the archive */
    char what[128];                /* that the problem is about: "vadd: "; for messages */
} checking;

static const char no_memory[] = LD_NO_MEMORY;

/* ---- modules ---- */

static void ignore(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

/* Has the index exactly the kernels of the bytecode? */
static const char *check_kernels(const checking *c, const tv_module *module, uint32_t index)
{
    const ld_bundle_head *head = &c->bundle->head;
    size_t told = 0, entries = tv_module_entry_count(module);
    for (uint32_t i = 0; i < head->kernel_count; i++) {
        ld_bundle_kernel k = ld_bundle_head_kernel(head, i);
        if (k.module != index)
            continue;
        size_t e = 0;
        while (e < entries && !bc_str_eq(tv_module_entry_name(module, e), k.symbol))
            e++;
        if (e == entries)
            return "the index has a kernel that the bytecode does not have";
        told++;
    }
    return told == entries ? NULL : "the bytecode has kernels that the index does not have";
}

static const char *check_bytecode(const checking *c, uint32_t index, tv_str bytecode)
{
    tv_sink sink = {.report = ignore};
    tv_module *module = NULL;
    tv_status status = tv_module_open(bytecode.ptr, bytecode.len, NULL, sink, &module);
    if (status != TV_OK)
        return status == TV_NO_MEMORY ? no_memory : "the bytecode is damaged";
    status = tv_module_verify(module, NULL, sink);
    const char *problem = status == TV_OK          ? check_kernels(c, module, index)
                          : status == TV_NO_MEMORY ? no_memory
                                                   : "the bytecode is not valid";
    tv_module_close(module);
    return problem;
}

static const char *check_artifact(const checking *c, uint32_t module, const ld_artifact *a)
{
    bc_arena arena;
    tv_str bytes;
    ld_record *records;
    size_t count;
    bc_arena_init(&arena, NULL, 0);
    const char *problem = ld_bundle_fetch(c->bundle, a, &arena, &bytes);
    if (!problem && a->form == LD_ARTIFACT_BYTECODE)
        problem = check_bytecode(c, module, bytes);
    else if (!problem && !ld_records_parse(&arena, a->launch, &records, &count))
        problem = arena.failed ? no_memory : "its launch records cannot be read";
    bc_arena_release(&arena);
    return problem;
}

static const char *check_module(checking *c, uint32_t index)
{
    ld_bundle_module m = ld_bundle_head_module(&c->bundle->head, index);
    snprintf(c->what, sizeof c->what, "%.*s: ", m.name.len < 100 ? (int)m.name.len : 100, m.name.ptr);
    const char *problem = ld_bundle_artifacts(c->bundle, &m, &c->arena, &c->artifacts[index]);
    for (uint32_t i = 0; !problem && i < m.artifact_count; i++)
        problem = check_artifact(c, index, &c->artifacts[index][i]);
    c->counts[index] = m.artifact_count;
    c->total += m.artifact_count;
    return problem;
}

static const char *check_modules(checking *c)
{
    uint32_t modules = c->bundle->head.module_count;
    c->artifacts = bc_new(&c->arena, ld_artifact *, modules);
    c->counts = bc_new(&c->arena, uint32_t, modules);
    const char *problem = c->artifacts && c->counts ? NULL : no_memory;
    for (uint32_t i = 0; !problem && i < modules; i++)
        problem = check_module(c, i);
    if (!problem)
        c->what[0] = 0;
    return problem;
}

/* ---- the archive ---- */

static int by_place(const void *a, const void *b)
{
    const ld_artifact *const *x = a, *const *y = b;
    return ((*x)->at > (*y)->at) - ((*x)->at < (*y)->at);
}

static bool list_objects(checking *c)
{
    c->objects = bc_new(&c->arena, const ld_artifact *, c->total);
    if (!c->objects)
        return false;
    size_t count = 0;
    for (uint32_t m = 0; m < c->bundle->head.module_count; m++)
        for (uint32_t i = 0; i < c->counts[m]; i++)
            c->objects[count++] = &c->artifacts[m][i];
    qsort(c->objects, count, sizeof *c->objects, by_place);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || c->objects[i]->at != c->objects[i - 1]->at)
            c->objects[c->object_count++] = c->objects[i];
    return true;
}

static bool read_bytes(void *user, uint64_t at, void *out, size_t size)
{
    const ld_bundle *bundle = user;
    memcpy(out, bundle->bytes + at, size);
    return true;
}

/* Is the member what the index says of that place? */
static const char *check_object(const checking *c, const bc_zip_member *m, uint64_t at)
{
    char name[LD_BUNDLE_MEMBER];
    const ld_artifact wanted = {.at = at}, *key = &wanted;
    const ld_artifact **found = bsearch(&key, c->objects, c->object_count, sizeof *c->objects, by_place);
    if (!found)
        return "the archive has a member that the index does not know";
    ld_bundle_member_name(*found, name);
    bc_arena arena;
    tv_str bytes = {0};
    bc_arena_init(&arena, NULL, 0);
    const char *problem = ld_bundle_fetch(c->bundle, *found, &arena, &bytes);
    unsigned method = m->packed == m->size ? BC_ZIP_STORED : BC_ZIP_DEFLATED;
    if (!problem
        && (!bc_str_is(m->name, name) || m->packed != (*found)->packed || m->size != (*found)->size
            || m->method != method || m->crc != deflate_crc(bytes)))
        problem = "archive and index disagree about a member";
    bc_arena_release(&arena);
    return problem;
}

/* The members that are there before the objects. */
static const char *check_first(const checking *c, const bc_zip_member *m, uint64_t members, uint64_t at)
{
    static const char *const first[] = {LD_BUNDLE_MANIFEST, LD_BUNDLE_SEAL, LD_BUNDLE_INDEX, LD_BUNDLE_SIGNATURE};
    if (!bc_str_is(m->name, first[members]))
        return "the members of the archive are in another order";
    tv_str bytes = {.ptr = (const char *)c->bundle->bytes + at, .len = (size_t)m->packed};
    bc_arena arena;
    bc_arena_init(&arena, NULL, 0);
    const char *problem = members == 0 ? ld_bundle_manifest(c->bundle, &arena, &bytes) : NULL;
    if (!problem && m->crc != deflate_crc(bytes))
        problem = "the checksum of a member is wrong";
    bc_arena_release(&arena);
    return problem;
}

/* Are the bytes of the file from there on these? */
static bool stands_at(const ld_bundle *bundle, uint64_t at, const bc_text *bytes)
{
    return !bytes->failed && at <= bundle->size && bytes->len <= bundle->size - at
           && memcmp(bundle->bytes + at, bytes->ptr, bytes->len) == 0;
}

/* Checks a member, adds its entry to the directory as it must be, and the bytes that it takes to filled. */
static const char *check_member(checking *c, const bc_zip_member *m, uint64_t members, bc_text *directory,
                                uint64_t *filled)
{
    bc_zip_source source = {.user = c->bundle, .size = c->bundle->size, .read = read_bytes};
    uint64_t at = 0;
    const char *problem = bc_zip_find_data(&source, m, &at);
    if (problem)
        return problem;
    bool first = members < 3 || (members == 3 && bc_str_is(m->name, LD_BUNDLE_SIGNATURE));
    bc_text local;
    bc_text_init(&local, NULL);
    bc_zip_put_local(&local, m);
    bool as_written = stands_at(c->bundle, m->local, &local) && at == m->local + local.len, failed = local.failed;
    bc_text_release(&local);
    if (failed)
        return no_memory;
    bc_zip_put_entry(directory, m);
    *filled += at - m->local + m->packed;
    c->archived += !first;
    if (!as_written)
        return "the header of a member is damaged";
    return first ? check_first(c, m, members, at) : check_object(c, m, at);
}

/* Goes through the directory: every member is one of ours, together they fill the file, and what stands around them is
   what a build writes there. */
static const char *check_archive(checking *c)
{
    const bc_zip_directory *d = &c->bundle->directory;
    uint64_t filled = 0, members = 0;
    const char *problem = NULL;
    bc_text wanted;
    bc_zip_member m;
    bc_text_init(&wanted, NULL);
    for (size_t at = 0; !problem && at < d->size; members++)
        problem = bc_zip_next(c->bundle->bytes + d->at, (size_t)d->size, &at, &m)
                      ? check_member(c, &m, members, &wanted, &filled)
                      : "the directory of the archive is damaged";
    bc_zip_put_end(&wanted, members, wanted.len, d->at);
    if (wanted.failed)
        problem = no_memory;
    if (!problem && (c->archived != c->object_count || members != d->count))
        problem = "the archive does not have the members that the index has";
    if (!problem && filled != d->at)
        problem = "some of its bytes belong to no member";
    if (!problem && (!stands_at(c->bundle, d->at, &wanted) || wanted.len != c->bundle->size - d->at))
        problem = "the directory of the archive is damaged";
    bc_text_release(&wanted);
    return problem;
}

/* ---- all of it ---- */

static const char *check_manifest(checking *c)
{
    tv_str text;
    snprintf(c->what, sizeof c->what, LD_BUNDLE_MANIFEST ": ");
    const char *problem = ld_bundle_manifest(c->bundle, &c->arena, &text);
    return problem ? problem : bundle_manifest_check(text, &c->bundle->head, (const ld_artifact *const *)c->artifacts);
}

/* What is wrong: in what, and why; NULL: nothing. */
typedef struct fault {
    bool is_signature;
    char what[128], signature[LD_CRYPTO_PROBLEM];
    const char *problem;
} fault;

static void check_contents(ld_bundle *bundle, fault *out)
{
    checking c = {.bundle = bundle};
    bc_arena_init(&c.arena, NULL, 0);
    out->problem = check_modules(&c);
    if (!out->problem)
        out->problem = list_objects(&c) ? check_archive(&c) : no_memory;
    if (!out->problem)
        out->problem = check_manifest(&c);
    memcpy(out->what, c.what, sizeof out->what);
    bc_arena_release(&c.arena);
}

static void check_all(ld_bundle *bundle, fault *out)
{
    *out = (fault){0};
    if (!bundle->signature.len || ld_signature_check(bundle->signature, bundle->seal_text, out->signature)) {
        check_contents(bundle, out);
        return;
    }
    out->is_signature = true;
    out->problem = out->signature;
}

static int say(const char *path, const fault *f)
{
    return !f->problem       ? CLI_OK
           : f->is_signature ? bundle_say_unsigned(path, f->problem)
                             : bundle_say_damaged(path, f->what, f->problem);
}

int bundle_check_opened(const char *path, ld_bundle *bundle)
{
    fault f;
    check_all(bundle, &f);
    return say(path, &f);
}

static int verify_json(const bundle_request *request, const ld_bundle *bundle, const fault *f, int code)
{
    json_doc doc = {0};
    bc_text text;
    cJSON *root = json_document(&doc, "bundle-verify");
    json_text(&doc, root, "path", request->paths[0]);
    json_bool(&doc, root, "sound", !f->problem);
    json_bool(&doc, root, "signed", bundle->signature.len != 0);
    if (request->key)
        json_bool(&doc, root, "signed_with_key", true); /* or it had not been opened */
    if (f->problem) {
        bc_text_init(&text, NULL);
        bc_text_printf(&text, "%s%s", f->is_signature ? "" : f->what, f->problem);
        json_text(&doc, root, "rule", bc_rules[f->is_signature ? BC_RULE_L_BUNDLE_02 : BC_RULE_L_BUNDLE_01].id);
        json_made(&doc, root, "problem", &text);
        bc_text_release(&text);
    }
    return json_finish(&doc, &(cli_out){.file = stdout}) ? code : cli_error("out of memory");
}

int bundle_action_verify(const bundle_request *request)
{
    const char *path = request->paths[0];
    ld_bundle bundle;
    fault f;
    int code = bundle_open_or_say(path, request->key, &bundle);
    if (code != CLI_OK)
        return request->json ? json_unopened("bundle-verify", path, NULL, code) : code;
    check_all(&bundle, &f);
    code = say(path, &f);
    if (request->json)
        code = verify_json(request, &bundle, &f, code);
    else if (code == CLI_OK)
        cli_print(stdout, "%s: sound%s\n", path, request->key ? ", and signed with that key" : "");
    ld_bundle_close(&bundle);
    return code;
}

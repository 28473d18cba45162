/* tilevm inspect: shows what a file contains and what takes the space, as text or JSON. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "bytecode/print/print.h"
#include "tools/tilevm/module/inspect.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/cli/images.h"
#include "bytecode/base/demangle.h"

enum { OPT_JSON = 1, OPT_OUTPUT };

static const cli_option options[] = {{OPT_JSON, 'J', "json", NULL, "print JSON"},
                                     {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_inspect = {
    "inspect",
    "FILE",
    "show entries, parameters, promises and sizes",
    "tilevm inspect shows the entries with the signatures that their authors wrote (decoded from their\n"
    "symbols), the promises about their arguments, their hints, the sizes of sections, ops and constants,\n"
    "and the version of the format that the file needs. The file is read but not verified. For a program,\n"
    "all its images are shown.",
    options,
    run};

static const char *const type_word[] = {"value", "address", "extent", "stride", "list", "count"};

static void put_param_text(bc_text *out, const tv_param *param)
{
    tv_writer writer = {.user = out, .write = bc_text_append};
    if (tv_param_print(param, writer) != TV_OK)
        out->failed = true;
}

static void put_param_type(bc_text *out, const tv_module *m, size_t entry, size_t slot)
{
    tv_entry_param type = tv_module_entry_param(m, entry, slot);
    bc_text_printf(out, type.pointer ? "ptr<%s>" : "%s", type.element);
}

/* ---- text ---- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_features(bc_text *out, const inspect_info *info)
{
    bc_text_printf(out, "needs version 13.%d%s\n", (int)info->lowest,
                   info->lowest == BC_13_1 ? ": nothing in it is newer" : " or newer, because of");
    for (size_t i = 0; i < info->feature_count; i++) {
        const inspect_feature *f = &info->features[i];
        size_t len = f->what.len && f->what.ptr[f->what.len - 1] == ',' ? f->what.len - 1 : f->what.len;
        bc_text_printf(out, "  13.%d  %.*s", (int)f->since, (int)len, f->what.ptr);
        if (f->count > 1)
            bc_text_printf(out, " (%u times)", f->count);
        bc_text_char(out, '\n');
    }
}

static void put_slots(bc_text *out, const tv_module *m, size_t entry, const tv_param *param)
{
    if (!param->slot_count)
        return;
    bc_text_printf(out, param->slot_count == 1 ? "  [%zu: " : "  [%zu-%zu: ", param->first_slot,
                   param->first_slot + param->slot_count - 1);
    for (size_t i = 0; i < param->slot_count; i++) {
        bc_text_puts(out, i ? ", " : "");
        put_param_type(out, m, entry, param->first_slot + i);
    }
    bc_text_char(out, ']');
}

static void put_params(bc_text *out, const tv_module *m, size_t entry, const tv_signature *signature)
{
    const tv_param *param;
    for (size_t i = 0; (param = tv_signature_param(signature, i)) != NULL; i++) {
        bc_text_printf(out, "  %-4s", param->name ? param->name : "");
        put_param_text(out, param);
        put_slots(out, m, entry, param);
        bc_text_char(out, '\n');
    }
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* The function that the symbol stands for, of cuTile or C++. */
static void put_function(bc_text *out, tv_str symbol, const tv_signature *signature)
{
    bc_cxx_name name;
    unsigned convention = tv_signature_convention(signature);
    bool cxx = !convention && bc_demangle(symbol, &name);
    if (!convention && !cxx)
        return;
    bc_text_puts(out, "  is ");
    bc_text_visible(out, cxx ? bc_str(name.full) : tv_signature_function(signature), "");
    if (convention)
        bc_text_printf(out, ", called as cutile_python_v%u, with", convention);
    bc_text_char(out, '\n');
}

static void put_entry(bc_text *out, const inspect_info *info, size_t entry, tv_sink sink)
{
    const inspect_entry *e = &info->entries[entry];
    tv_signature *signature = NULL;
    bc_text_puts(out, "\nentry ");
    bc_text_visible(out, e->f->name->s, "");
    bc_text_char(out, '\n');
    tv_status status = tv_signature_of_entry(info->m, entry, sink, &signature);
    out->failed |= status == TV_NO_MEMORY;
    if (status == TV_OK) {
        put_function(out, e->f->name->s, signature);
        put_params(out, info->m, entry, signature);
        tv_signature_close(signature);
    }
    if (e->f->hints && e->f->hints->u.dict.count) {
        bc_text_puts(out, "  hints ");
        bc_print_hints(out, e->f->hints);
        bc_text_char(out, '\n');
    }
    bc_text_printf(out, "  %u op%s, %u of them on memory, nested %u deep; %llu bytes (%.1f %%)\n",
                   (unsigned)e->f->op_count, plural(e->f->op_count), e->memory_ops, e->depth,
                   (unsigned long long)e->bytes, percent(e->bytes, info->m->size));
}

static void put_sections(bc_text *out, const inspect_info *info)
{
    bc_text_puts(out, "\nsection          bytes       %\n");
    for (size_t i = 0; i < info->section_count; i++)
        bc_text_printf(out, "  %-10s %9llu  %6.1f\n", info->sections[i].name,
                       (unsigned long long)info->sections[i].bytes, percent(info->sections[i].bytes, info->m->size));
    bc_text_printf(out, "  %-10s %9llu  %6.1f\n", "framing", (unsigned long long)info->overhead,
                   percent(info->overhead, info->m->size));
}

static int compare_op_bytes(const void *a, const void *b, const inspect_op *ops)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    if (ops[x].bytes != ops[y].bytes)
        return ops[x].bytes > ops[y].bytes ? -1 : 1;
    return x < y ? -1 : 1;
}

/* Opcodes that occur, those that take most space first; gives how many. At most OP_LIMIT: insertion is fine. */
static unsigned sorted_ops(const inspect_info *info, unsigned codes[OP_LIMIT])
{
    unsigned count = 0;
    for (unsigned code = 0; code < OP_LIMIT; code++) {
        if (!info->ops[code].count)
            continue;
        unsigned at = count++;
        for (; at > 0 && compare_op_bytes(&code, &codes[at - 1], info->ops) < 0; at--)
            codes[at] = codes[at - 1];
        codes[at] = code;
    }
    return count;
}

static void put_ops(bc_text *out, const inspect_info *info)
{
    unsigned codes[OP_LIMIT], count = sorted_ops(info, codes);
    bc_text_puts(out, "\nop                              count     bytes       %\n");
    for (unsigned i = 0; i < count; i++) {
        const inspect_op *op = &info->ops[codes[i]];
        bc_text_printf(out, "  %-29s %5u %9llu  %6.1f\n", bc_ops[codes[i]].name, op->count,
                       (unsigned long long)op->bytes, percent(op->bytes, info->m->size));
    }
}

static void put_constants(bc_text *out, const inspect_info *info)
{
    enum { SHOWN = 5, WORTH_SHOWING = 64 };
    const bc_module *m = info->m;
    if (!m->constant_count)
        return;
    bc_text_printf(out, "\n%zu constant%s, %llu bytes\n", m->constant_count, plural(m->constant_count),
                   (unsigned long long)info->constant_bytes);
    for (size_t i = 0; i < m->constant_count && i < SHOWN; i++) {
        const inspect_constant *c = &info->constants[i];
        if (c->blob->len < WORTH_SHOWING)
            break;
        bc_text_printf(out, "  %9zu bytes, used %u time%s", c->blob->len, c->uses, plural(c->uses));
        if (c->op) {
            bc_text_printf(out, ", first at 0x%04x in ", (unsigned)c->op->offset);
            bc_text_visible(out, c->f->name->s, "");
        }
        bc_text_char(out, '\n');
    }
}

static void put_debug(bc_text *out, const inspect_info *info)
{
    if (info->m->has_debug_section && info->located_ops)
        bc_text_printf(out, "\n%zu of %u ops have a source location, in %zu file%s\n", info->located_ops,
                       info->op_count, info->source_files, plural(info->source_files));
    else
        bc_text_puts(out, "\nno source locations\n");
}

static void put_globals(bc_text *out, const inspect_info *info)
{
    const bc_module *m = info->m;
    for (size_t i = 0; i < m->global_count; i++) {
        const bc_global *g = &m->globals[i];
        bc_text_printf(out, "%sglobal ", i ? "" : "\n");
        bc_text_visible(out, g->name->s, "");
        bc_text_printf(out, ": %zu bytes, aligned to %llu%s%s\n", g->value->len, (unsigned long long)g->alignment,
                       g->visibility == BC_SymbolVisibility_private ? ", private" : "",
                       g->constant ? ", constant" : "");
    }
}

static void put_all(bc_text *out, const inspect_info *info, const char *path, tv_sink sink)
{
    const bc_module *m = info->m;
    bc_text_printf(out, "%s: Tile IR bytecode 13.%d, %zu bytes", cli_shown_path(path), (int)m->version, m->size);
    if (m->producer) {
        bc_text_puts(out, ", made by ");
        bc_text_visible(out, m->producer->s, "");
    }
    bc_text_char(out, '\n');
    put_features(out, info);
    for (size_t i = 0; i < m->function_count; i++)
        put_entry(out, info, i, sink);
    put_globals(out, info);
    put_sections(out, info);
    put_ops(out, info);
    put_constants(out, info);
    put_debug(out, info);
}

/* ---- JSON ---- */

static void json_version(json_doc *doc, cJSON *parent, const char *key, int minor)
{
    char text[16];
    snprintf(text, sizeof text, "13.%d", minor);
    json_text(doc, parent, key, text);
}

static void json_axes(json_doc *doc, cJSON *item, const tv_param *param)
{
    cJSON *axes = json_array(doc, item, "axes");
    for (uint32_t i = 0; i < param->ndim; i++) {
        const tv_axis *axis = &param->axes[i];
        cJSON *a = json_object(doc, axes, NULL);
        if (axis->has_extent)
            json_int(doc, a, "extent", axis->extent);
        json_int(doc, a, "extent_multiple", axis->extent_multiple);
        if (axis->has_stride)
            json_int(doc, a, "stride", axis->stride);
        if (axis->has_stride_min)
            json_int(doc, a, "stride_min", axis->stride_min);
        json_int(doc, a, "stride_multiple", axis->stride_multiple);
    }
}

static void json_param(json_doc *doc, cJSON *list, const tv_param *param, bc_text *text)
{
    static const char *const kinds[] = {
        [TV_PARAM_SCALAR] = "scalar",     [TV_PARAM_ARRAY] = "array",           [TV_PARAM_LIST] = "list",
        [TV_PARAM_POINTER] = "pointer",   [TV_PARAM_TUPLE] = "tuple",           [TV_PARAM_STRUCT] = "struct",
        [TV_PARAM_CONSTANT] = "constant", [TV_PARAM_TENSOR_MAP] = "tensor_map", [TV_PARAM_STREAM] = "stream"};
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "name", param->name ? param->name : "");
    json_text(doc, item, "kind", kinds[param->kind]);
    put_param_text(text, param);
    json_made(doc, item, "text", text);
    bool typed = param->kind == TV_PARAM_SCALAR || param->kind == TV_PARAM_ARRAY || param->kind == TV_PARAM_LIST
                 || param->kind == TV_PARAM_POINTER;
    if (typed)
        json_text(doc, item, "dtype", tv_dtype_name(param->dtype));
    if (param->constant_data)
        json_bool(doc, item, "constant", true);
    if (param->kind == TV_PARAM_CONSTANT)
        json_str(doc, item, "value", param->constant.text);
    if (param->kind == TV_PARAM_ARRAY) {
        json_axes(doc, item, param);
        json_int(doc, item, "base_multiple", param->base_multiple);
        json_text(doc, item, "index_dtype", tv_dtype_name(param->index_dtype));
        json_bool(doc, item, "overlaps", param->overlaps);
    }
    json_uint(doc, item, "first_slot", param->first_slot);
    json_uint(doc, item, "slot_count", param->slot_count);
    if (param->item_count) {
        cJSON *items = json_array(doc, item, "items"); /* tuples nest at most BC_MAX_TUPLE_DEPTH deep */
        for (size_t i = 0; i < param->item_count; i++)
            json_param(doc, items, &param->items[i], text);
    }
}

static void json_slots(json_doc *doc, cJSON *item, const tv_module *m, size_t entry, const tv_signature *signature,
                       bc_text *text)
{
    cJSON *slots = json_array(doc, item, "slots");
    for (size_t i = 0; i < tv_module_entry_param_count(m, entry); i++) {
        cJSON *s = json_object(doc, slots, NULL);
        tv_slot slot;
        put_param_type(text, m, entry, i);
        json_made(doc, s, "type", text);
        json_uint(doc, s, "bytes", tv_module_entry_param(m, entry, i).size);
        if (signature && tv_signature_slot(signature, i, &slot)) {
            json_text(doc, s, "role", type_word[slot.role]);
            json_text(doc, s, "param", slot.leaf->name ? slot.leaf->name : "");
            if (slot.role == TV_SLOT_EXTENT || slot.role == TV_SLOT_STRIDE)
                json_uint(doc, s, "axis", slot.axis);
        }
    }
}

static void json_entry(json_doc *doc, cJSON *list, const inspect_info *info, size_t entry, tv_sink sink, bc_text *text)
{
    const inspect_entry *e = &info->entries[entry];
    cJSON *item = json_object(doc, list, NULL);
    json_str(doc, item, "symbol", e->f->name->s);
    tv_signature *signature = NULL;
    tv_status status = tv_signature_of_entry(info->m, entry, sink, &signature);
    doc->failed |= status == TV_NO_MEMORY;
    if (status == TV_OK) {
        json_str(doc, item, "function", tv_signature_function(signature));
        json_uint(doc, item, "convention", tv_signature_convention(signature));
        cJSON *params = json_array(doc, item, "params");
        const tv_param *param;
        for (size_t i = 0; (param = tv_signature_param(signature, i)) != NULL; i++)
            json_param(doc, params, param, text);
    }
    json_slots(doc, item, info->m, entry, signature, text);
    if (e->f->hints) {
        bc_print_hints(text, e->f->hints);
        json_made(doc, item, "hints", text);
    }
    json_uint(doc, item, "ops", e->f->op_count);
    json_uint(doc, item, "memory_ops", e->memory_ops);
    json_uint(doc, item, "depth", e->depth);
    json_uint(doc, item, "offset", e->f->offset);
    json_uint(doc, item, "bytes", e->bytes);
    tv_signature_close(signature);
}

static void json_sizes(json_doc *doc, cJSON *root, const inspect_info *info)
{
    cJSON *sections = json_array(doc, root, "sections");
    for (size_t i = 0; i < info->section_count; i++) {
        cJSON *s = json_object(doc, sections, NULL);
        json_text(doc, s, "name", info->sections[i].name);
        json_uint(doc, s, "offset", info->sections[i].offset);
        json_uint(doc, s, "bytes", info->sections[i].bytes);
    }
    json_uint(doc, root, "framing_bytes", info->overhead);
    unsigned codes[OP_LIMIT], count = sorted_ops(info, codes);
    cJSON *ops = json_array(doc, root, "ops");
    for (unsigned i = 0; i < count; i++) {
        cJSON *op = json_object(doc, ops, NULL);
        json_text(doc, op, "op", bc_ops[codes[i]].name);
        json_uint(doc, op, "count", info->ops[codes[i]].count);
        json_uint(doc, op, "bytes", info->ops[codes[i]].bytes);
    }
    cJSON *constants = json_object(doc, root, "constants");
    json_uint(doc, constants, "count", info->m->constant_count);
    json_uint(doc, constants, "bytes", info->constant_bytes);
    cJSON *debug = json_object(doc, root, "debug");
    json_uint(doc, debug, "located_ops", info->located_ops);
    json_uint(doc, debug, "source_files", info->source_files);
}

/* The place of the image in its file, and its target. */
static void json_image(json_doc *doc, cJSON *item, const cli_module *m)
{
    const co_entry *entry = &m->image->found.entry;
    json_uint(doc, item, "image", m->image->number);
    if (m->image->found.member.len)
        json_str(doc, item, "member", m->image->found.member);
    if (entry->sm)
        json_uint(doc, item, "sm", entry->sm);
    if (entry->source.len)
        json_str(doc, item, "source", entry->source);
    json_uint(doc, item, "offset", entry->offset);
    json_uint(doc, item, "packed_bytes", entry->packed.len);
    json_text(doc, item, "packing", co_packing_name(entry->packing));
}

static void json_module(json_doc *document, cJSON *root, const inspect_info *info, const cli_module *module)
{
    const bc_module *m = info->m;
    json_doc doc = *document;
    tv_sink sink = module->sink;
    bc_text text;
    bc_text_init(&text, NULL);
    json_text(&doc, root, "path", module->name);
    if (module->images->inside)
        json_image(&doc, root, module);
    json_version(&doc, root, "version", (int)m->version);
    json_version(&doc, root, "needs_version", (int)info->lowest);
    json_uint(&doc, root, "bytes", m->size);
    if (m->producer)
        json_str(&doc, root, "producer", m->producer->s);
    cJSON *features = json_array(&doc, root, "newer_than_13_1");
    for (size_t i = 0; i < info->feature_count; i++) {
        cJSON *f = json_object(&doc, features, NULL);
        json_str(&doc, f, "what", info->features[i].what);
        json_version(&doc, f, "since", (int)info->features[i].since);
        json_uint(&doc, f, "count", info->features[i].count);
    }
    cJSON *entries = json_array(&doc, root, "entries");
    for (size_t i = 0; i < m->function_count; i++)
        json_entry(&doc, entries, info, i, sink, &text);
    cJSON *globals = json_array(&doc, root, "globals");
    for (size_t i = 0; i < m->global_count; i++) {
        cJSON *g = json_object(&doc, globals, NULL);
        json_str(&doc, g, "name", m->globals[i].name->s);
        json_uint(&doc, g, "bytes", m->globals[i].value->len);
    }
    json_sizes(&doc, root, info);
    bc_text_release(&text);
    *document = doc;
}

/* ---- the command ---- */

typedef struct inspect_job {
    bool json;
    cli_out out;
    json_doc doc;
    cJSON *images; /* the list in a document about a program */
    size_t count;  /* of modules */
} inspect_job;

static void write_text(inspect_job *job, const inspect_info *info, const cli_module *m)
{
    bc_text text;
    bc_text_init(&text, NULL);
    if (job->count)
        bc_text_char(&text, '\n');
    put_all(&text, info, m->name, m->sink);
    cli_out_text(&job->out, &text, false);
}

static int inspect_one(void *user, cli_module *m)
{
    inspect_job *job = user;
    inspect_info info;
    int code = cli_exit_of(inspect_module(m->module, &info), m->name);
    if (code == CLI_OK && !job->json)
        write_text(job, &info, m);
    else if (code == CLI_OK)
        json_module(&job->doc, job->images ? json_object(&job->doc, job->images, NULL) : job->doc.root, &info, m);
    job->count += code == CLI_OK;
    inspect_release(&info);
    return code;
}

static int inspect_images(cli_args *args, inspect_job *job, const cli_images *images)
{
    if (job->json) {
        cJSON *root = json_document(&job->doc, "inspect");
        if (images->inside) {
            json_text(&job->doc, root, "path", cli_shown_path(images->path));
            job->images = json_array(&job->doc, root, "images");
        }
    }
    return cli_each_image(args, images, NULL, inspect_one, job);
}

static int inspect(cli_args *args, const char *path, bool json, const char *output)
{
    inspect_job job = {.json = json};
    cli_images images;
    if (!cli_images_open_or_say(path, &images))
        return json ? json_unopened("inspect", path, output, CLI_ERROR) : CLI_ERROR;
    if (!cli_out_open(&job.out, output)) {
        cli_images_close(&images);
        return CLI_ERROR;
    }
    int code = inspect_images(args, &job, &images);
    cli_images_close(&images);
    if (json && !job.count && !job.images) {
        json_text(&job.doc, job.doc.root, "path", path);
        json_text(&job.doc, job.doc.root, "problem", "it cannot be opened"); /* why was said */
    }
    if (json && !json_finish(&job.doc, &job.out)) {
        cli_out_abort(&job.out);
        return cli_error("out of memory");
    }
    if (!json && !job.count) {
        cli_out_abort(&job.out);
        return code;
    }
    return cli_out_commit(&job.out) ? code : CLI_ERROR;
}

static int run(cli_args *args)
{
    const char *value, *path = NULL, *output = NULL;
    bool json = false;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_STOP)
            return args->exit_code;
        if (id == OPT_JSON)
            json = true;
        if (id == OPT_OUTPUT)
            output = value;
        if (id == CLI_OPERAND && !cli_take_operand(args, "one file at a time", value, &path))
            return args->exit_code;
    }
    return path ? inspect(args, path, json, output) : cli_usage(args, "which file?");
}

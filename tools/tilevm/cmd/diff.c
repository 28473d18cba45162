/* tilevm diff: shows how two files differ: by meaning, by text, or byte by byte. */
#include <string.h>

#include "bytecode/base/visible.h"
#include "bytecode/print/print.h"
#include "tools/tilevm/diff/compare.h"
#include "tools/tilevm/module/inspect.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/diff/unified.h"
#include "tools/tilevm/cli/images.h"

enum { OPT_TEXT = 1, OPT_DEBUG, OPT_BYTES, OPT_JSON, OPT_IGNORE_DEBUG, OPT_IGNORE_VERSION, OPT_MAX, OPT_QUIET };

static const cli_option options[] = {{OPT_TEXT, 't', "text", NULL, "compare the assembly, as diff -u does"},
                                     {OPT_DEBUG, 'g', "debug-info", NULL, "with --text: show source locations too"},
                                     {OPT_BYTES, 'b', "bytes", NULL, "compare byte by byte"},
                                     {OPT_JSON, 'J', "json", NULL, "print the differences as JSON"},
                                     {OPT_IGNORE_DEBUG, 0, "ignore-debug", NULL, "do not compare source locations"},
                                     {OPT_IGNORE_VERSION, 0, "ignore-version", NULL,
                                      "do not compare version and producer"},
                                     {OPT_MAX, 'm', "max", "N", "show at most N differences (default 100; 0: all)"},
                                     {OPT_QUIET, 'q', "quiet", NULL, "print nothing, only set the exit code"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_diff = {
    "diff",
    "FILE FILE",
    "show how two files differ",
    "tilevm diff compares the contents of two files, whatever the order of their tables: entries and\n"
    "globals by name, ops aligned with each other and compared field by field. For programs, it compares\n"
    "the images of each target in their order.\n"
    "Exit codes: 0 the files are the same, 1 they differ, 2 wrong usage or a file that cannot be read.",
    options,
    run};

typedef struct diff_settings {
    bool text, bytes, json, locations, quiet, color;
    compare_options compare;
    size_t max;
    cJSON *pairs; /* with --json, about programs: the list of what was compared */
    json_doc doc;
    const char *unopened; /* the first that could not be */
} diff_settings;

/* Texts of ops, for the entry whose differences are being written. */
typedef struct op_texts {
    const bc_function *f;
    bc_op_printer *printer;
} op_texts;

typedef struct diff_side {
    const char *path;
    cli_file file;
    tv_module *module;
    op_texts texts;
} diff_side;

/* ---- differences as text ---- */

static const char *paint(const diff_settings *s, compare_kind kind)
{
    static const char *const colors[] = {
        [COMPARE_ADDED] = "\033[32m", [COMPARE_REMOVED] = "\033[31m", [COMPARE_CHANGED] = "\033[33m"};
    return s->color ? colors[kind] : "";
}

static const char *unpaint(const diff_settings *s)
{
    return s->color ? "\033[0m" : "";
}

static void put_fields(bc_text *out, const compare_change *change, const char *indent)
{
    for (size_t i = 0; i < change->field_count; i++) {
        const compare_field *f = &change->fields[i];
        bc_text_puts(out, indent);
        bc_text_visible(out, f->name, "");
        bc_text_puts(out, ": ");
        bc_text_visible(out, f->a.len ? f->a : bc_str("none"), "");
        bc_text_puts(out, " -> ");
        bc_text_visible(out, f->b.len ? f->b : bc_str("none"), "");
        bc_text_char(out, '\n');
    }
}

static void put_op(bc_text *out, const bc_module *m, op_texts *texts, const bc_function *f, const bc_op *op,
                   uint32_t index)
{
    if (texts->f != f) {
        bc_op_printer_free(texts->printer);
        *texts = (op_texts){f, bc_op_printer_new(m, f)};
    }
    bc_text_printf(out, "op %u 0x%04x: ", (unsigned)index, (unsigned)op->offset);
    if (texts->printer)
        bc_op_printer_print(texts->printer, op, out);
    else
        out->failed = true;
    bc_text_char(out, '\n');
}

static void put_op_change(bc_text *out, const diff_settings *s, diff_side *sides, const compare_change *change)
{
    bc_text_printf(out, "  %s", paint(s, change->kind));
    switch (change->kind) {
    case COMPARE_REMOVED:
        bc_text_puts(out, "- ");
        put_op(out, sides[0].module, &sides[0].texts, change->fa, change->a, change->a_index);
        break;
    case COMPARE_ADDED:
        bc_text_puts(out, "+ ");
        put_op(out, sides[1].module, &sides[1].texts, change->fb, change->b, change->b_index);
        break;
    case COMPARE_CHANGED:
        bc_text_puts(out, "~ ");
        put_op(out, sides[1].module, &sides[1].texts, change->fb, change->b, change->b_index);
        put_fields(out, change, "      ");
        break;
    }
    bc_text_puts(out, unpaint(s));
}

/* The line that says which entry the following op changes belong to, when it is another than before. */
static void put_entry_line(bc_text *out, const compare_change *change, tv_str *current)
{
    if (bc_str_eq(*current, change->name))
        return;
    *current = change->name;
    bc_text_puts(out, "entry ");
    bc_text_visible(out, change->name, "");
    bc_text_puts(out, ":\n");
}

static void put_change(bc_text *out, const diff_settings *s, diff_side *sides, const compare_change *change,
                       tv_str *entry)
{
    static const char *const nouns[] = {
        [COMPARE_MODULE] = "module", [COMPARE_GLOBAL] = "global ", [COMPARE_ENTRY] = "entry ", [COMPARE_OP] = ""};
    if (change->scope == COMPARE_OP) {
        put_entry_line(out, change, entry);
        put_op_change(out, s, sides, change);
        return;
    }
    if (change->scope == COMPARE_ENTRY && change->kind == COMPARE_CHANGED) {
        put_entry_line(out, change, entry);
        bc_text_puts(out, paint(s, change->kind));
    } else {
        bc_text_printf(out, "%s%s", paint(s, change->kind), nouns[change->scope]);
        bc_text_visible(out, change->name, "");
        bc_text_printf(out, "%s\n",
                       change->kind == COMPARE_REMOVED ? ": only in the first file"
                       : change->kind == COMPARE_ADDED ? ": only in the second file"
                                                       : ":");
    }
    put_fields(out, change, "  ");
    bc_text_puts(out, unpaint(s));
}

static void put_counts(bc_text *out, const compare_result *result)
{
    static const char *const scopes[] = {"module", "global", "entry", "op"};
    static const char *const kinds[] = {"added", "removed", "changed"};
    size_t counts[4][3] = {{0}};
    for (size_t i = 0; i < result->count; i++)
        counts[result->changes[i].scope][result->changes[i].kind]++;
    const char *separator = "";
    for (unsigned scope = COMPARE_GLOBAL; scope <= COMPARE_OP; scope++)
        for (unsigned kind = 0; kind < 3; kind++) {
            size_t n = counts[scope][kind];
            if (!n)
                continue;
            bc_text_printf(out, "%s%zu %s%s %s", separator, n,
                           scope == COMPARE_ENTRY && n > 1 ? "entrie" : scopes[scope], n > 1 ? "s" : "", kinds[kind]);
            separator = ", ";
        }
    if (result->moved_locations)
        bc_text_printf(out, "%s%zu op%s with another source location only", separator, result->moved_locations,
                       result->moved_locations == 1 ? "" : "s");
    else if (!*separator)
        bc_text_puts(out, "only the header differs");
    bc_text_char(out, '\n');
}

static void put_result(bc_text *out, const diff_settings *s, diff_side *sides, const compare_result *result)
{
    size_t shown = s->max && s->max < result->count ? s->max : result->count;
    tv_str entry = {"", 0};
    bc_text_printf(out, "from %s to %s\n", cli_shown_path(sides[0].path), cli_shown_path(sides[1].path));
    for (size_t i = 0; i < shown; i++)
        put_change(out, s, sides, &result->changes[i], &entry);
    if (shown < result->count)
        bc_text_printf(out, "... and %zu more differences (--max 0 shows all)\n", result->count - shown);
    put_counts(out, result);
}

/* ---- as JSON ---- */

static void json_place(json_doc *doc, cJSON *item, const char *key, const bc_op *op, uint32_t index)
{
    if (!op)
        return;
    cJSON *place = json_object(doc, item, key);
    json_text(doc, place, "op", bc_info(op)->name);
    json_uint(doc, place, "index", index);
    json_uint(doc, place, "offset", op->offset);
}

static void json_change(json_doc *doc, cJSON *list, const compare_change *change)
{
    static const char *const scopes[] = {"module", "global", "entry", "op"};
    static const char *const kinds[] = {"added", "removed", "changed"};
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "scope", scopes[change->scope]);
    json_text(doc, item, "kind", kinds[change->kind]);
    if (change->name.len)
        json_str(doc, item, change->scope == COMPARE_OP ? "entry" : "name", change->name);
    json_place(doc, item, "a", change->a, change->a_index);
    json_place(doc, item, "b", change->b, change->b_index);
    if (!change->field_count)
        return;
    cJSON *fields = json_array(doc, item, "fields");
    for (size_t i = 0; i < change->field_count; i++) {
        cJSON *f = json_object(doc, fields, NULL);
        json_str(doc, f, "name", change->fields[i].name);
        json_str(doc, f, "a", change->fields[i].a);
        json_str(doc, f, "b", change->fields[i].b);
    }
}

static void json_comparison(json_doc *doc, cJSON *item, const diff_side *sides, const compare_result *result)
{
    json_text(doc, item, "a", sides[0].path);
    json_text(doc, item, "b", sides[1].path);
    json_bool(doc, item, "same", compare_same(result));
    json_uint(doc, item, "moved_locations", result->moved_locations);
    cJSON *list = json_array(doc, item, "changes");
    for (size_t i = 0; i < result->count; i++)
        json_change(doc, list, &result->changes[i]);
}

static void add_json(diff_settings *s, const diff_side *sides, const compare_result *result)
{
    cJSON *item = s->pairs ? json_object(&s->doc, s->pairs, NULL) : s->doc.root;
    json_comparison(&s->doc, item, sides, result);
}

/* ---- the three ways to compare: give CLI_OK, CLI_FAILED (different) or CLI_ERROR ---- */

static int diff_structure(diff_settings *s, diff_side *sides)
{
    compare_result result = {0};
    cli_out out;
    bool ok = cli_out_open(&out, NULL)
              && compare_modules(sides[0].module, sides[1].module, &s->compare, &result) == TV_OK;
    int code = !ok ? cli_error("out of memory") : compare_same(&result) ? CLI_OK : CLI_FAILED;
    if (ok && s->json && !s->quiet) {
        add_json(s, sides, &result);
    } else if (code == CLI_FAILED && !s->quiet) {
        bc_text text;
        bc_text_init(&text, NULL);
        put_result(&text, s, sides, &result);
        cli_out_show(&out, bc_text_get(&text), s->color);
        ok = !text.failed;
        bc_text_release(&text);
    }
    compare_release(&result);
    return !ok && code != CLI_ERROR ? cli_error("out of memory") : cli_out_commit(&out) ? code : CLI_ERROR;
}

static bool append_to_text(void *user, const void *bytes, size_t size)
{
    bc_text *text = user;
    bc_text_bytes(text, bytes, size);
    return !text->failed;
}

static int diff_text(const diff_settings *s, const diff_side *sides)
{
    bc_text texts[2], difference;
    bool same = true, ok = true;
    bc_text_init(&difference, NULL);
    for (unsigned i = 0; i < 2; i++) {
        bc_text_init(&texts[i], NULL);
        tv_print_options print = {.debug_info = s->locations};
        tv_writer writer = {.user = &texts[i], .write = append_to_text};
        ok = ok && tv_module_print(sides[i].module, &print, writer) == TV_OK;
    }
    ok = ok
         && unified_diff(&difference, cli_shown_path(sides[0].path), bc_text_get(&texts[0]),
                         cli_shown_path(sides[1].path), bc_text_get(&texts[1]), s->color, &same);
    if (ok && !s->quiet)
        cli_show(stdout, bc_text_get(&difference), s->color);
    for (unsigned i = 0; i < 2; i++)
        bc_text_release(&texts[i]);
    bc_text_release(&difference);
    return !ok ? cli_error("out of memory") : same ? CLI_OK : CLI_FAILED;
}

static const char *section_at(const diff_side *side, uint64_t offset)
{
    inspect_info info;
    const char *name = "framing";
    if (inspect_module(side->module, &info) == TV_OK)
        for (size_t i = 0; i < info.section_count; i++)
            if (offset >= info.sections[i].offset && offset - info.sections[i].offset < info.sections[i].bytes)
                name = info.sections[i].name;
    inspect_release(&info);
    return name;
}

static int diff_bytes(const diff_settings *s, const diff_side *sides)
{
    const cli_file *a = &sides[0].file, *b = &sides[1].file;
    size_t common = a->size < b->size ? a->size : b->size, first = common, differing = 0;
    for (size_t i = common; i-- > 0;)
        if (a->bytes[i] != b->bytes[i]) {
            first = i;
            differing++;
        }
    if (!differing && a->size == b->size)
        return CLI_OK;
    if (s->quiet)
        return CLI_FAILED;
    cli_print(stdout, "%s and %s differ", cli_shown_path(sides[0].path), cli_shown_path(sides[1].path));
    if (first < common)
        cli_print(stdout, " first at byte 0x%04zx (%s): %02x, %02x; %zu byte%s of the first %zu", first,
                  section_at(&sides[0], first), a->bytes[first], b->bytes[first], differing, differing == 1 ? "" : "s",
                  common);
    if (a->size != b->size)
        cli_print(stdout, "%s %zu bytes, %zu bytes", first < common ? "; sizes" : " in size:", a->size, b->size);
    cli_print(stdout, "\n");
    return CLI_FAILED;
}

/* ---- images ---- */

static const char *open_side(diff_side *side, cli_args *args, const cli_image *image)
{
    cli_printer printer;
    side->path = image->name;
    const char *problem = cli_image_read(image, &side->file);
    if (problem)
        return problem;
    tv_sink sink = cli_printing_sink(&printer, image->name, args->color);
    tv_status status = tv_module_open(side->file.bytes, side->file.size, NULL, sink, &side->module);
    return status == TV_OK ? NULL : status == TV_NO_MEMORY ? "out of memory" : "";
}

static int diff_pair(cli_args *args, diff_settings *s, const cli_image *const *images)
{
    diff_side sides[2] = {{0}};
    int code = CLI_OK;
    for (unsigned i = 0; i < 2 && code == CLI_OK; i++) {
        const char *problem = open_side(&sides[i], args, images[i]);
        code = !problem ? CLI_OK : CLI_ERROR; /* 1 would mean that the files differ */
        if (problem && problem[0])
            cli_error("%s: %s", cli_shown_path(images[i]->name), problem);
        if (problem && !s->unopened)
            s->unopened = images[i]->name;
    }
    if (code == CLI_OK)
        code = s->bytes ? diff_bytes(s, sides) : s->text ? diff_text(s, sides) : diff_structure(s, sides);
    for (unsigned i = 0; i < 2; i++) {
        bc_op_printer_free(sides[i].texts.printer);
        tv_module_close(sides[i].module);
        cli_file_free(&sides[i].file);
    }
    return code;
}

static bool same_target(const cli_image *a, const cli_image *b)
{
    return a->found.entry.sm == b->found.entry.sm && a->found.entry.exact == b->found.entry.exact;
}

/* The image at the same position among those for its target in the other file; NULL: there is none. */
static const cli_image *partner_of(const cli_image *image, const cli_images *of, const cli_images *in)
{
    size_t place = 0;
    if (of->count == 1 && in->count == 1)
        return in->items;
    for (const cli_image *i = of->items; i < image; i++)
        place += same_target(i, image);
    for (size_t i = 0; i < in->count; i++)
        if (same_target(&in->items[i], image) && place-- == 0)
            return &in->items[i];
    return NULL;
}

/* An image that only one of the files has. */
static void say_alone(diff_settings *s, const cli_image *image, const char *key)
{
    if (s->pairs)
        json_text(&s->doc, json_object(&s->doc, s->pairs, NULL), key, image->name);
    else if (!s->quiet)
        cli_print(stdout, "only in %s\n", image->name);
}

static int diff_images(cli_args *args, diff_settings *s, const cli_images *sides)
{
    int worst = CLI_OK;
    for (size_t i = 0; i < sides[0].count; i++) {
        const cli_image *pair[2] = {&sides[0].items[i], partner_of(&sides[0].items[i], &sides[0], &sides[1])};
        if (!pair[1])
            say_alone(s, pair[0], "only_a");
        int code = pair[1] ? diff_pair(args, s, pair) : CLI_FAILED;
        worst = code > worst ? code : worst;
    }
    for (size_t i = 0; i < sides[1].count; i++)
        if (!partner_of(&sides[1].items[i], &sides[1], &sides[0])) {
            say_alone(s, &sides[1].items[i], "only_b");
            worst = worst > CLI_FAILED ? worst : CLI_FAILED;
        }
    return worst;
}

/* ---- the command ---- */

static void start_json(diff_settings *s, const cli_images *sides)
{
    cJSON *root = json_document(&s->doc, "diff");
    if (!sides[0].inside && !sides[1].inside)
        return;
    json_text(&s->doc, root, "a", cli_shown_path(sides[0].path));
    json_text(&s->doc, root, "b", cli_shown_path(sides[1].path));
    s->pairs = json_array(&s->doc, root, "images");
}

static int finish_json(diff_settings *s, int code)
{
    cli_out out;
    if (s->unopened) {
        json_text(&s->doc, s->doc.root, "path", s->unopened);
        json_text(&s->doc, s->doc.root, "problem", "it cannot be opened"); /* why was said */
    }
    return cli_out_open(&out, NULL) && json_finish(&s->doc, &out) && cli_out_commit(&out) ? code : CLI_ERROR;
}

static int diff(cli_args *args, diff_settings *s, const char *const *paths)
{
    cli_images sides[2];
    bool json = s->json && !s->quiet;
    s->color = cli_use_color(args->color, stdout);
    for (unsigned i = 0; i < 2; i++)
        if (!cli_images_open_or_say(paths[i], &sides[i])) {
            if (i)
                cli_images_close(&sides[0]);
            return json ? json_unopened("diff", paths[i], NULL, CLI_ERROR) : CLI_ERROR;
        }
    if (json)
        start_json(s, sides);
    int code = diff_images(args, s, sides);
    if (json)
        code = finish_json(s, code);
    for (unsigned i = 0; i < 2; i++)
        cli_images_close(&sides[i]);
    return code;
}

static int run(cli_args *args)
{
    diff_settings settings = {.max = 100};
    const char *paths[2];
    unsigned given = 0;
    uint64_t number = 0;
    const char *value;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case OPT_TEXT: settings.text = true; break;
        case OPT_BYTES: settings.bytes = true; break;
        case OPT_JSON: settings.json = true; break;
        case OPT_DEBUG: settings.locations = true; break;
        case OPT_IGNORE_DEBUG: settings.compare.ignore_debug = true; break;
        case OPT_IGNORE_VERSION: settings.compare.ignore_version = true; break;
        case OPT_QUIET: settings.quiet = true; break;
        case OPT_MAX:
            if (!cli_number(args, "--max", value, 0, SIZE_MAX / 2, &number))
                return args->exit_code;
            settings.max = (size_t)number;
            break;
        case CLI_OPERAND:
            if (given == 2)
                return cli_usage(args, "diff compares two files; '%s' is the third", value);
            paths[given++] = value;
            break;
        default: return args->exit_code;
        }
    }
    if (given != 2)
        return cli_usage(args, "two files are needed");
    if (settings.text + settings.bytes + settings.json > 1)
        return cli_usage(args, "--text, --bytes and --json exclude each other");
    return diff(args, &settings, paths);
}

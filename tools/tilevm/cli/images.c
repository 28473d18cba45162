/* Finding the bytecode of an operand: the file itself, or what container/ finds in it. */
#include "tools/tilevm/cli/images.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytecode/base/visible.h"

/* ---- names ---- */

static const char *noun_of(const co_image *found)
{
    if (found->problem || found->entry.kind == CO_TILE_IR)
        return "image";
    return found->entry.kind == CO_CUBIN ? "cubin" : found->entry.kind == CO_PTX ? "PTX" : "other image";
}

/* "sm_90a" of what runs there only, "compute_90" of PTX; nothing where no target is said. */
static void put_target(bc_text *out, const co_entry *entry)
{
    if (entry->sm)
        bc_text_printf(out, "%s_%u%s", entry->kind == CO_PTX ? "compute" : "sm", entry->sm, entry->exact ? "a" : "");
}

/* "app: image 3 (sm_90)", "libk.a(k.o): image 1 (sm_90)". */
static const char *name_image(cli_images *images, const co_image *found, unsigned number)
{
    bc_text text;
    bc_text_init(&text, &images->arena.allocator);
    bc_text_puts(&text, cli_shown_path(images->path));
    if (found->member.len)
        bc_text_printf(&text, "(%.*s)", (int)(found->member.len < 200 ? found->member.len : 200), found->member.ptr);
    bc_text_printf(&text, ": %s %u", noun_of(found), number);
    if (found->entry.sm) {
        bc_text_puts(&text, " (");
        put_target(&text, &found->entry);
        bc_text_char(&text, ')');
    }
    tv_str kept = text.failed ? (tv_str){0} : bc_arena_dup(&images->arena, bc_text_get(&text));
    images->arena.failed |= text.failed;
    bc_text_release(&text);
    return kept.ptr;
}

/* ---- finding ---- */

static void add_item(cli_images *images, const co_image *found, unsigned number, const char *name)
{
    cli_image *items = bc_grow(&images->arena, images->items, images->count, &images->capacity, cli_image);
    if (!items || !name)
        return;
    images->items = items;
    items[images->count++] = (cli_image){.name = name, .number = number, .found = *found};
}

/* What is no Tile IR, for the message where there is nothing else: kinds and targets. */
static void note_other(cli_images *images, const co_entry *entry)
{
    enum { ENOUGH = 300 };
    if (images->other.len > ENOUGH)
        return;
    bc_text word;
    bc_text_init(&word, NULL);
    const char *kind = entry->kind == CO_CUBIN ? "machine code"
                       : entry->kind == CO_PTX ? "PTX"
                                               : "another kind of code";
    bc_text_printf(&word, "%s%s", kind, entry->sm ? " for " : "");
    put_target(&word, entry);
    if (!images->other.ptr || !word.ptr || !strstr(images->other.ptr, word.ptr))
        bc_text_printf(&images->other, "%s%s", images->other.len ? ", " : "", bc_text_words(&word));
    bc_text_release(&word);
}

static unsigned count_kind(const cli_images *images, unsigned kind)
{
    unsigned count = 0;
    for (size_t i = 0; i < images->count; i++)
        count += !images->items[i].found.problem && images->items[i].found.entry.kind == kind;
    return count;
}

static bool take_image(void *user, const co_image *found)
{
    cli_images *images = user;
    if (!found->problem && found->entry.kind != CO_TILE_IR) {
        unsigned number = images->every ? count_kind(images, found->entry.kind) + 1 : 0;
        note_other(images, &found->entry);
        if (images->every)
            add_item(images, found, number, name_image(images, found, number));
        return !images->arena.failed;
    }
    images->found++;
    if (!images->only || images->only == images->found)
        add_item(images, found, images->found, name_image(images, found, images->found));
    return !images->arena.failed;
}

/* ---- sources ---- */

/* Files that hold the source of kernels, by the ending of their names, and the command that makes Tile IR of them. */
static const struct {
    const char *ending, *what, *command;
} sources[] = {
    {".cu", "CUDA C++ source; compile it", "nvcc --enable-tile --tile-only --tilebc -std=c++20 -arch sm_90"},
    {".tir", "Tile IR text; assemble it", "tilevm asm"},
    {".mlir", "Tile IR text; assemble it", "tilevm asm"},
};

/* True: the file is a source, and out_error says what to do. */
static bool is_source(const char *path, char **out_error)
{
    const char *dot = strrchr(path, '.');
    size_t i = 0;
    while (dot && i < TV_COUNT(sources) && strcmp(dot, sources[i].ending) != 0)
        i++;
    if (!dot || i == TV_COUNT(sources))
        return false;
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_printf(&text, "this is %s first: %s ", sources[i].what, sources[i].command);
    bc_text_visible(&text, bc_str(path), "");
    bc_text_puts(&text, " -o ");
    bc_text_visible(&text, (tv_str){path, (size_t)(dot - path)}, "");
    bc_text_puts(&text, ".tbc");
    cli_problem(path, bc_text_words(&text), out_error);
    bc_text_release(&text);
    return true;
}

/* What the reader shall see as it is: bytecode, and files that are nothing known, of which it says so. */
static void take_file(cli_images *images, tv_str bytes)
{
    co_image whole = {.entry = {.kind = CO_TILE_IR, .packed = bytes, .size = bytes.len}};
    images->found = 1;
    add_item(images, &whole, 1, images->path);
}

static bool find_images(cli_images *images, char **out_error)
{
    tv_str bytes = {(const char *)images->file.bytes, images->file.size};
    co_file kind = co_file_of(bytes);
    bool bundle = cli_is_zip(bytes);
    const char *problem = NULL;
    images->inside = bundle || (kind != CO_FILE_BYTECODE && kind != CO_FILE_OTHER);
    if (kind == CO_FILE_OTHER && is_source(images->path, out_error))
        return false;
    if (bundle)
        problem = cli_bundle_each(bytes, &images->arena, take_image, images);
    else if (images->inside)
        co_images_each(bytes, take_image, images);
    else
        take_file(images, bytes);
    if (problem)
        return cli_problem(images->path, problem, out_error);
    if (images->arena.failed || images->other.failed)
        return cli_problem(images->path, "out of memory", out_error);
    if (images->count)
        return true;
    bc_text text;
    bc_text_init(&text, NULL);
    if (images->found)
        bc_text_printf(&text, "there is no image %u; it has %u", images->only, images->found);
    else if (images->other.len)
        bc_text_printf(&text, "it contains no Tile IR, but %s", bc_text_words(&images->other));
    else
        bc_text_puts(&text, "it contains no Tile IR and no other device code");
    cli_problem(images->path, bc_text_words(&text), out_error);
    bc_text_release(&text);
    return false;
}

/* The path before "#3", if what is there has a number after it and there is no file of the whole name. */
static const char *split_number(cli_images *images, const char *path)
{
    const char *mark = strrchr(path, '#');
    if (!mark || mark == path || !isdigit((unsigned char)mark[1]) || access(path, F_OK) == 0)
        return path;
    char *end;
    unsigned long number = strtoul(mark + 1, &end, 10);
    if (*end || number == 0 || number > 1000000)
        return path;
    images->only = (unsigned)number;
    return bc_arena_dup(&images->arena, (tv_str){path, (size_t)(mark - path)}).ptr;
}

static bool open_images(const char *path, bool every, cli_images *out, char **out_error)
{
    *out = (cli_images){.every = every};
    bc_arena_init(&out->arena, NULL, 0);
    bc_text_init(&out->other, NULL);
    out->path = split_number(out, path);
    bool fine = out->path ? cli_read(out->path, &out->file, out_error) && find_images(out, out_error)
                          : cli_problem(path, "out of memory", out_error);
    if (!fine)
        cli_images_close(out);
    return fine;
}

bool cli_images_open(const char *path, cli_images *out, char **out_error)
{
    return open_images(path, false, out, out_error);
}

bool cli_images_open_every(const char *path, cli_images *out, char **out_error)
{
    return open_images(path, true, out, out_error);
}

bool cli_images_open_or_say(const char *path, cli_images *out)
{
    char *error = NULL;
    return cli_images_open(path, out, &error) || cli_say_problem(error);
}

void cli_images_close(cli_images *images)
{
    cli_file_free(&images->file);
    bc_arena_release(&images->arena);
    bc_text_release(&images->other);
}

/* ---- reading ---- */

const char *cli_image_read(const cli_image *image, cli_file *out)
{
    const co_entry *entry = &image->found.entry;
    const char *problem = co_image_refusal(&image->found);
    if (problem)
        return problem;
    size_t size = (size_t)entry->size;
    if (entry->packing == CO_PLAIN) {
        *out = (cli_file){.bytes = (unsigned char *)(uintptr_t)entry->packed.ptr, .size = size, .borrowed = true};
        return NULL;
    }
    unsigned char *bytes = malloc(size + 1);
    if (!bytes)
        return "out of memory";
    problem = co_unpack(entry->packing, entry->packed, bytes, size);
    if (problem) {
        free(bytes);
        return problem;
    }
    bytes[size] = 0;
    *out = (cli_file){.bytes = bytes, .size = size};
    return NULL;
}

/* ---- one of them ---- */

static bool has_entry(const cli_image *image, const char *entry)
{
    cli_file file;
    tv_module *module = NULL;
    size_t index;
    if (cli_image_read(image, &file))
        return false;
    bool found = tv_module_open(file.bytes, file.size, NULL, (tv_sink){0}, &module) == TV_OK
                 && tv_module_entry_find(module, bc_str(entry), (tv_sink){0}, &index) == TV_OK;
    tv_module_close(module);
    cli_file_free(&file);
    return found;
}

static const cli_image *choose_image(const cli_images *images, const char *entry, char **out_error)
{
    if (images->count == 1)
        return images->items;
    for (size_t i = 0; entry && i < images->count; i++)
        if (has_entry(&images->items[i], entry))
            return &images->items[i];
    bc_text text;
    bc_text_init(&text, NULL);
    if (entry)
        bc_text_printf(&text, "none of its %zu images has an entry '%s'", images->count, entry);
    else
        bc_text_printf(&text, "holds %zu images; choose one: %s#1 to %s#%zu", images->count, images->path, images->path,
                       images->count);
    cli_problem(images->path, bc_text_words(&text), out_error);
    bc_text_release(&text);
    return NULL;
}

/* Bytes of its own instead of those of the file. */
static const char *own_bytes(cli_file *file)
{
    unsigned char *copy = malloc(file->size + 1);
    if (!copy)
        return "out of memory";
    memcpy(copy, file->bytes, file->size);
    copy[file->size] = 0;
    *file = (cli_file){.bytes = copy, .size = file->size};
    return NULL;
}

bool cli_images_take(cli_images *images, const char *entry, cli_file *out, char **out_error)
{
    const cli_image *image = choose_image(images, entry, out_error);
    if (!image)
        return false;
    if (!images->inside) {
        *out = images->file;
        images->file = (cli_file){0};
        return true;
    }
    const char *problem = cli_image_read(image, out);
    if (!problem && out->borrowed)
        problem = own_bytes(out);
    if (problem)
        return cli_problem(image->name, problem, out_error);
    out->name = strdup(image->name);
    if (out->name)
        return true;
    cli_file_free(out);
    return cli_problem(image->name, "out of memory", out_error);
}

bool cli_read_image_or_say(const char *path, cli_file *out)
{
    cli_images images;
    char *error = NULL;
    if (!cli_images_open_or_say(path, &images))
        return false;
    bool taken = cli_images_take(&images, NULL, out, &error) || cli_say_problem(error);
    cli_images_close(&images);
    return taken;
}

/* ---- all of them ---- */

static int visit_image(cli_args *args, cli_module *m, const tv_sink *sink, cli_module_visit *visit, void *user)
{
    cli_printer printer;
    const char *problem = cli_image_read(m->image, &m->file);
    if (problem)
        return cli_error("%s: %s", cli_shown_path(m->name), problem);
    m->sink = sink ? *sink : cli_printing_sink(&printer, m->name, args->color);
    int code = cli_exit_of(tv_module_open(m->file.bytes, m->file.size, NULL, m->sink, &m->module), m->name);
    if (code == CLI_OK) {
        code = visit(user, m);
        tv_module_close(m->module);
    }
    cli_file_free(&m->file);
    return code;
}

int cli_each_image(cli_args *args, const cli_images *images, const tv_sink *sink, cli_module_visit *visit, void *user)
{
    int worst = CLI_OK;
    for (size_t i = 0; i < images->count; i++) {
        cli_module m = {.name = images->items[i].name, .images = images, .image = &images->items[i]};
        int code = visit_image(args, &m, sink, visit, user);
        worst = code > worst ? code : worst;
    }
    return worst;
}

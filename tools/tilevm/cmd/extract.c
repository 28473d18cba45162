/* tilevm extract: writes the device code of a program to files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "container/bytecode.h"
#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/cli/json.h"

enum { OPT_OUTPUT = 1, OPT_ALL, OPT_LIST, OPT_JSON };

static const cli_option options[] = {{OPT_OUTPUT, 'o', "output", "DIR", "write the files there (default: this folder)"},
                                     {OPT_ALL, 'a', "all", NULL, "also write cubins and PTX"},
                                     {OPT_LIST, 'l', "list", NULL, "list the images, write nothing"},
                                     {OPT_JSON, 'J', "json", NULL, "print the images, and the files written, as JSON"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_extract = {
    "extract",
    "FILE",
    "write the Tile IR inside programs to files",
    "tilevm extract finds the Tile IR in programs, shared libraries, objects, static archives and fat\n"
    "binaries, decompresses it and writes each image to a file such as app.3.sm_90.tbc. 'app#3' is the\n"
    "third image alone; every command that takes bytecode also takes app and app#3. An image that cannot\n"
    "be read is reported, and the exit code is 2.",
    options,
    run};

typedef struct extract_job {
    const char *folder;
    bool list, all, json;
    json_doc doc;
    cJSON *images; /* with json: the list */
} extract_job;

/* What kind of code it is: "tbc", "cubin", "ptx", "bin". */
static const char *kind_of(const co_entry *entry)
{
    return entry->kind == CO_TILE_IR                              ? "tbc"
           : entry->kind == CO_JOINED || entry->kind > CO_TILE_IR ? "bin"
           : entry->kind == CO_CUBIN                              ? "cubin"
                                                                  : "ptx";
}

/* "app.3.sm_90.tbc" of "bin/app". */
static void put_name(bc_text *out, const extract_job *job, const cli_images *images, const cli_image *image)
{
    const co_entry *entry = &image->found.entry;
    const char *base = strcmp(images->path, "-") == 0 ? "stdin" : strrchr(images->path, '/');
    base = !base ? images->path : base[0] == '/' ? base + 1 : base;
    bc_text_printf(out, "%s/%s.%u", job->folder, base, image->number);
    if (entry->sm)
        bc_text_printf(out, ".sm_%u%s", entry->sm, entry->exact ? "a" : "");
    bc_text_printf(out, ".%s", kind_of(entry));
}

/* The image in the document. output: the file it was written to; NULL: none. */
static void add_image(extract_job *job, const cli_image *image, const char *problem, const char *output)
{
    const co_entry *entry = &image->found.entry;
    json_doc *doc = &job->doc;
    cJSON *item = job->json ? json_object(doc, job->images, NULL) : NULL;
    if (!item)
        return;
    json_text(doc, item, "name", image->name);
    json_uint(doc, item, "image", image->number);
    json_text(doc, item, "kind", kind_of(entry));
    if (entry->sm)
        json_uint(doc, item, "sm", entry->sm);
    if (entry->source.len)
        json_str(doc, item, "source", entry->source);
    if (!image->found.problem) {
        json_uint(doc, item, "bytes", entry->size);
        json_uint(doc, item, "offset", entry->offset);
        json_text(doc, item, "packing", co_packing_name(entry->packing));
        json_uint(doc, item, "packed_bytes", entry->packed.len);
    }
    if (output)
        json_text(doc, item, "output", output);
    if (problem)
        json_text(doc, item, "problem", problem);
}

static int say_refusal(extract_job *job, const cli_image *image, const char *problem)
{
    add_image(job, image, problem, NULL);
    return cli_error("%s: %s", cli_shown_path(image->name), problem);
}

static int write_image(extract_job *job, const cli_images *images, const cli_image *image)
{
    cli_file file;
    cli_out out;
    bc_text name;
    const char *problem = cli_image_read(image, &file);
    if (problem)
        return say_refusal(job, image, problem);
    bc_text_init(&name, NULL);
    put_name(&name, job, images, image);
    int code = CLI_ERROR;
    if (name.failed) {
        cli_error("out of memory");
    } else if (cli_out_open(&out, name.ptr)) {
        cli_out_write(&out, file.bytes, file.size);
        code = cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
    }
    if (code == CLI_OK && !job->json)
        cli_print(stdout, "%s\n", name.ptr);
    add_image(job, image, code == CLI_OK ? NULL : "it could not be written", code == CLI_OK ? name.ptr : NULL);
    bc_text_release(&name);
    cli_file_free(&file);
    return code;
}

/* "app: image 3 (sm_90): 3605 bytes, zstd 1520 at 0x0a4e60, k.cu" */
static int list_image(extract_job *job, const cli_image *image)
{
    const co_entry *entry = &image->found.entry;
    const char *problem = co_image_refusal(&image->found);
    if (image->found.problem || (problem && job->json))
        return say_refusal(job, image, problem);
    add_image(job, image, NULL, NULL);
    if (job->json)
        return CLI_OK;
    cli_print(stdout, "%s: %llu bytes, ", cli_shown_path(image->name), (unsigned long long)entry->size);
    if (entry->packing == CO_PLAIN)
        cli_print(stdout, "plain");
    else
        cli_print(stdout, "%s %zu", co_packing_name(entry->packing), entry->packed.len);
    cli_print(stdout, " at 0x%06zx%s%.*s\n", entry->offset, entry->source.len ? ", " : "", (int)entry->source.len,
              entry->source.len ? entry->source.ptr : "");
    return problem ? cli_error("%s: %s", cli_shown_path(image->name), problem) : CLI_OK;
}

static int extract_images(extract_job *job, const cli_images *images)
{
    if (!images->inside) {
        const char *what = co_is_bytecode(images->items[0].found.entry.packed)
                               ? "it is bytecode itself"
                               : "it is no program, library, object, archive or fat binary";
        if (job->json)
            json_text(&job->doc, job->doc.root, "problem", what);
        return cli_error("%s: %s", cli_shown_path(images->path), what);
    }
    int worst = CLI_OK;
    for (size_t i = 0; i < images->count; i++) {
        int code = job->list ? list_image(job, &images->items[i]) : write_image(job, images, &images->items[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static int extract(extract_job *job, const char *path)
{
    cli_images images;
    char *error = NULL;
    bool opened = job->all ? cli_images_open_every(path, &images, &error) : cli_images_open(path, &images, &error);
    if (!opened) {
        cli_say_problem(error);
        return job->json ? json_unopened("extract", path, NULL, CLI_ERROR) : CLI_ERROR;
    }
    if (job->json) {
        cJSON *root = json_document(&job->doc, "extract");
        json_text(&job->doc, root, "path", path);
        job->images = json_array(&job->doc, root, "images");
    }
    int code = extract_images(job, &images);
    cli_images_close(&images);
    if (job->json && !json_finish(&job->doc, &(cli_out){.file = stdout}))
        return cli_error("out of memory");
    return code;
}

static bool make_folder(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return true;
    cli_error("%s: cannot create this folder: %s", path, cli_errno());
    return false;
}

static int run(cli_args *args)
{
    extract_job job = {.folder = "."};
    const char *value, *path = NULL;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        switch (id) {
        case CLI_STOP: return args->exit_code;
        case OPT_OUTPUT: job.folder = value; break;
        case OPT_ALL: job.all = true; break;
        case OPT_LIST: job.list = true; break;
        case OPT_JSON: job.json = true; break;
        default:
            if (!cli_take_operand(args, "one file at a time", value, &path))
                return args->exit_code;
        }
    }
    if (!path)
        return cli_usage(args, "which file?");
    return job.list || make_folder(job.folder) ? extract(&job, path) : CLI_ERROR;
}

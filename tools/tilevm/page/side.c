/* A version of a kernel in a file: opened, compiled, and added to the document. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/page/page.h"

/* Finds the image of the file that has the entry. If there is only one, its target is used unless one was given. */
static bool read_image(const page_options *options, const char *path, char *target, size_t target_size, cli_file *out)
{
    cli_images images;
    char *problem = NULL;
    bool taken = false;
    if (cli_images_open(path, &images, &problem)) {
        const co_entry *entry = images.count == 1 ? &images.items[0].found.entry : NULL;
        if (!options->target && entry && entry->sm)
            snprintf(target, target_size, "sm_%u%s", entry->sm % 10000, entry->exact ? "a" : "");
        taken = cli_images_take(&images, options->entry, out, &problem);
        cli_images_close(&images);
    }
    return taken || cli_say_problem(problem);
}

/* Of the file; "." where it is in this one, or comes from standard input. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

static int add_file(json_doc *doc, cJSON *item, const page_options *options, const cli_file *file,
                    page_subject *subject)
{
    cli_printer printer;
    subject->sink = options->quiet ? (tv_sink){0} : cli_printing_sink(&printer, subject->name, options->args->color);
    tv_status status = tv_module_open(file->bytes, file->size, NULL, subject->sink, &subject->module);
    int code = cli_exit_of(status, subject->name);
    if (code != CLI_OK)
        return code;
    code = page_add_module(doc, item, options, subject);
    tv_module_close(subject->module);
    return code;
}

int page_add_side(json_doc *doc, cJSON *item, const page_options *options, const char *path)
{
    cli_file file = {0};
    char target[16];
    bool again = options->input && strcmp(path, "-") == 0;
    snprintf(target, sizeof target, "%s", options->target ? options->target : "sm_80");
    if (!again && !read_image(options, path, target, sizeof target, &file))
        return CLI_ERROR;
    const char *folders[PAGE_MOST_FOLDERS + 1];
    char *folder = folder_of(path);
    doc->failed |= !folder;
    folders[0] = folder ? folder : ".";
    for (size_t i = 0; i < options->folder_count; i++)
        folders[i + 1] = options->folders[i];
    page_subject subject = {.name = cli_file_name(&file, path),
                            .target = target,
                            .folders = folders,
                            .folder_count = options->folder_count + 1};
    int code = add_file(doc, item, options, again ? options->input : &file, &subject);
    cli_file_free(&file);
    free(folder);
    return code;
}

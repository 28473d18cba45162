/* The source files of a kernel, as far as they are at hand; see the header. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/tilevm/page/page.h"

/* The last part of a file's name; empty: there is none that may be searched for. */
static tv_str last_part(tv_str name)
{
    size_t from = name.len;
    while (from && name.ptr[from - 1] != '/' && name.ptr[from - 1] != '\\')
        from--;
    tv_str part = {name.ptr + from, name.len - from};
    bool bad = bc_str_is(part, ".") || bc_str_is(part, "..") || (part.len && memchr(part.ptr, '\0', part.len));
    return bad ? (tv_str){0} : part;
}

/* Reads the file unless it is no regular file, or too large. */
static bool read_regular(json_doc *doc, const char *path, cli_file *out)
{
    struct stat info;
    char *problem = NULL;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > PAGE_MOST_SOURCE_BYTES)
        return false;
    bool fine = cli_read(path, out, &problem);
    doc->failed |= !fine && !problem;
    free(problem);
    return fine;
}

static void add_text(json_doc *doc, const page_sources *sources, tv_str name, cJSON *item)
{
    tv_str part = last_part(name);
    bc_text path;
    bool found = false;
    bc_text_init(&path, NULL);
    for (size_t i = 0; i < sources->folder_count && part.len && !found; i++) {
        cli_file file;
        bc_text_clear(&path);
        bc_text_puts(&path, sources->folders[i]);
        bc_text_char(&path, '/');
        bc_text_str(&path, part);
        doc->failed |= path.failed;
        if (path.failed || !read_regular(doc, path.ptr, &file))
            continue;
        json_str(doc, item, "text", (tv_str){(const char *)file.bytes, file.size});
        cli_file_free(&file);
        found = true;
    }
    bc_text_release(&path);
}

static void add_source(json_doc *doc, page_sources *sources, tv_str name)
{
    for (size_t i = 0; i < sources->count; i++)
        if (bc_str_eq(sources->seen[i], name))
            return;
    if (!name.len || sources->count == PAGE_MOST_SOURCES)
        return;
    sources->seen[sources->count++] = name;
    cJSON *item = json_object(doc, sources->list, NULL);
    json_str(doc, item, "file", name);
    add_text(doc, sources, name, item);
}

void page_add_sources(json_doc *doc, page_sources *sources, const cg_model *model)
{
    for (uint32_t i = 0; i < model->op_count; i++)
        add_source(doc, sources, model->ops[i].file);
}

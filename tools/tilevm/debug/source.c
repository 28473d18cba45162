/* Finds source files: where the module says, beside the bytecode, or in the given folder. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/debug/debug.h"

static char *joined(const char *folder, size_t len, tv_str file)
{
    char *path = malloc(len + file.len + 2);
    if (!path)
        return NULL;
    memcpy(path, folder, len);
    if (len)
        path[len++] = '/';
    memcpy(path + len, file.ptr, file.len);
    path[len + file.len] = 0;
    return path;
}

static tv_str last_part(tv_str file)
{
    size_t at = file.len;
    while (at > 0 && file.ptr[at - 1] != '/')
        at--;
    return (tv_str){file.ptr + at, file.len - at};
}

static bool is_readable(const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (f)
        fclose(f);
    return f != NULL;
}

char *debug_source_path(const debug_session *s, tv_str file)
{
    const char *bytecode = s->job->options.path, *slash = strrchr(bytecode, '/');
    size_t beside = slash ? (size_t)(slash - bytecode) : 0;
    tv_str base = last_part(file);
    if (!file.len || memchr(file.ptr, 0, file.len))
        return NULL;
    for (unsigned i = 0; i < 5; i++) {
        char *path = i == 0   ? joined("", 0, file)
                     : i == 1 ? (s->folder ? joined(s->folder, strlen(s->folder), file) : NULL)
                     : i == 2 ? (s->folder ? joined(s->folder, strlen(s->folder), base) : NULL)
                     : i == 3 ? (slash ? joined(bytecode, beside, file) : NULL)
                              : (slash ? joined(bytecode, beside, base) : joined("", 0, base));
        if (is_readable(path))
            return path;
        free(path);
    }
    return NULL;
}

static bool find_lines(debug_source *source)
{
    size_t count = 1;
    for (size_t i = 0; i < source->size; i++)
        count += source->text[i] == '\n';
    source->lines = malloc((count + 1) * sizeof *source->lines);
    if (!source->lines)
        return false;
    source->lines[source->line_count++] = 0;
    for (size_t i = 0; i < source->size; i++)
        if (source->text[i] == '\n' && i + 1 < source->size)
            source->lines[source->line_count++] = i + 1;
    return true;
}

static void read_source(const debug_session *s, debug_source *source)
{
    cli_file file;
    char *path = debug_source_path(s, bc_str(source->name));
    if (!path || !cli_read(path, &file, NULL)) {
        free(path);
        return;
    }
    free(path);
    if (file.size <= DEBUG_MAX_FILE && (source->text = malloc(file.size + 1)) != NULL) {
        memcpy(source->text, file.bytes, file.size);
        source->size = file.size;
        if (!find_lines(source)) {
            free(source->text);
            source->text = NULL;
        }
    }
    cli_file_free(&file);
}

static debug_source *source_of(debug_session *s, tv_str file)
{
    for (size_t i = 0; i < s->source_count; i++)
        if (bc_str_is(file, s->sources[i].name))
            return &s->sources[i];
    debug_source *sources = realloc(s->sources, (s->source_count + 1) * sizeof *sources);
    if (!sources)
        return NULL;
    s->sources = sources;
    debug_source *source = &sources[s->source_count];
    *source = (debug_source){.name = joined("", 0, file)};
    if (!source->name)
        return NULL;
    s->source_count++;
    read_source(s, source);
    return source;
}

bool debug_source_line(debug_session *s, tv_str file, uint32_t line, tv_str *out)
{
    const debug_source *source = source_of(s, file);
    if (!source || !source->text || line < 1 || line > source->line_count)
        return false;
    size_t from = source->lines[line - 1], to = line < source->line_count ? source->lines[line] : source->size;
    while (to > from && (source->text[to - 1] == '\n' || source->text[to - 1] == '\r'))
        to--;
    *out = (tv_str){source->text + from, to - from};
    return true;
}

void debug_sources_free(debug_session *s)
{
    for (size_t i = 0; i < s->source_count; i++) {
        free(s->sources[i].name);
        free(s->sources[i].text);
        free(s->sources[i].lines);
    }
    free(s->sources);
    s->sources = NULL;
    s->source_count = 0;
}

/* The files of a fixture on disk. */
#include "tests/common/fixture_files.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/common/files.h"
#include "tests/common/mkbc.h"

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

bool fixture_make_folder(const char *work, const char *path, char *out_folder, size_t size)
{
    size_t n = (size_t)snprintf(out_folder, size, "%s/", work);
    for (const char *p = path; *p && n + 1 < size; p++)
        out_folder[n++] = *p == '/' || *p == '.' ? '_' : *p;
    out_folder[n < size ? n : size - 1] = 0;
    nftw(out_folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return mkdir(out_folder, 0777) == 0;
}

static bool write_file(fixture *f, const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[1280];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (files_write(path, bytes, size))
        return true;
    snprintf(f->error, sizeof f->error, "cannot write %.80s: %s", name, strerror(errno));
    return false;
}

bool fixture_write_section(fixture *f, const fixture_section *s, const char *folder, const char *name)
{
    if (!s->is_bytes)
        return write_file(f, folder, name, s->text, s->len);
    mkbc_result result;
    if (!mkbc_assemble(s->text, s->len, &result)) {
        snprintf(f->error, sizeof f->error, "section %s, line %u: %.100s", s->kind, result.line, result.error);
        return false;
    }
    bool ok = write_file(f, folder, name, result.bytes, result.size);
    free(result.bytes);
    return ok;
}

bool fixture_write_inputs(fixture *f, const char *folder, const char **out_stdin)
{
    *out_stdin = NULL;
    for (int i = 0; i < f->section_count; i++) {
        const fixture_section *s = &f->sections[i];
        const char *name = s->name;
        if (strcmp(s->kind, "input") == 0)
            name = name[0] ? name : "input.tir";
        else if (strcmp(s->kind, "bytes") == 0)
            name = name[0] ? name : "input.tbc";
        else if (strcmp(s->kind, "stdin") == 0)
            name = *out_stdin = ".stdin";
        else
            continue;
        if (!fixture_write_section(f, s, folder, name))
            return false;
    }
    return true;
}

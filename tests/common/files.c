/* Whole files in and out, for the test programs. */
#include "tests/common/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *files_read(const char *path, size_t *out_size)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return NULL;
    size_t len = 0, size = 4096;
    char *bytes = malloc(size);
    while (bytes) {
        len += fread(bytes + len, 1, size - len - 1, f);
        if (len < size - 1)
            break;
        char *larger = realloc(bytes, size * 2);
        if (!larger)
            free(bytes);
        bytes = larger;
        size *= 2;
    }
    if (bytes && ferror(f)) {
        free(bytes);
        bytes = NULL;
    }
    fclose(f);
    if (bytes) {
        bytes[len] = 0;
        *out_size = len;
    }
    return bytes;
}

bool files_write(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wbe");
    if (!f)
        return false;
    bool ok = size == 0 || fwrite(bytes, 1, size, f) == size;
    return fclose(f) == 0 && ok;
}

static bool add_path(const char *path, char ***paths, size_t *count)
{
    char **larger = realloc(*paths, (*count + 1) * sizeof *larger);
    if (!larger)
        return false;
    *paths = larger;
    larger[*count] = strdup(path);
    return larger[*count] && ++*count;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t len = strlen(path), suffix_len = strlen(suffix);
    return len >= suffix_len && strcmp(path + len - suffix_len, suffix) == 0;
}

static bool walk(const char *path, const char *suffix, bool given, char ***paths, size_t *count)
{
    struct stat info;
    size_t len = strlen(path);
    if (stat(path, &info) != 0)
        return false;
    if (!S_ISDIR(info.st_mode))
        return !(given || has_suffix(path, suffix)) || add_path(path, paths, count);
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        size_t size = len + strlen(entry->d_name) + 2;
        char *inner = malloc(size);
        if (!inner) {
            ok = false;
            break;
        }
        snprintf(inner, size, "%s/%s", path, entry->d_name);
        ok = walk(inner, suffix, false, paths, count);
        free(inner);
    }
    closedir(dir);
    return ok;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool files_find(const char *folder, const char *suffix, char ***paths, size_t *count)
{
    size_t first = *count;
    if (!walk(folder, suffix, true, paths, count))
        return false;
    if (*count > first)
        qsort(*paths + first, *count - first, sizeof **paths, by_name);
    return true;
}

/* Walking directories for bytecode. */
#include "tools/tilevm/cli/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tilevm/cli/cli.h"

enum { MAX_DEPTH = 100 };

void cli_paths_init(cli_paths *paths)
{
    *paths = (cli_paths){0};
    bc_arena_init(&paths->arena, NULL, 0);
}

void cli_paths_release(cli_paths *paths)
{
    bc_arena_release(&paths->arena);
}

static void append(cli_paths *paths, const char *path)
{
    const char **items = bc_grow(&paths->arena, paths->items, paths->count, &paths->capacity, const char *);
    tv_str copy = bc_arena_dup(&paths->arena, bc_str(path));
    if (!items || paths->arena.failed) {
        if (!paths->failed)
            cli_error("out of memory");
        paths->failed = true;
        return;
    }
    paths->items = items;
    paths->items[paths->count++] = copy.ptr;
}

const char *cli_bytecode_ending(size_t i)
{
    static const char *const endings[] = {".tbc", ".tileirbc", ".tilebc", ".cutile"};
    return i < TV_COUNT(endings) ? endings[i] : NULL;
}

static bool ends_in(const char *name, const char *ending)
{
    size_t len = strlen(name), n = strlen(ending);
    return len > n && strcmp(name + len - n, ending) == 0;
}

static bool has_bytecode_name(const char *name)
{
    for (size_t i = 0; cli_bytecode_ending(i); i++)
        if (ends_in(name, cli_bytecode_ending(i)))
            return true;
    return false;
}

static bool has_magic(const char *path)
{
    unsigned char head[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t count = read(fd, head, sizeof head);
    close(fd);
    return count == (ssize_t)sizeof head && cli_is_bytecode(head, sizeof head);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a directory, sorted, in a list of their own; NULL after a message. */
static cli_paths *list_directory(const char *path)
{
    DIR *directory = opendir(path);
    cli_paths *names = directory ? malloc(sizeof *names) : NULL;
    if (!names) {
        cli_error("%s: %s", path, cli_errno());
        if (directory)
            closedir(directory);
        return NULL;
    }
    cli_paths_init(names);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            append(names, entry->d_name);
    closedir(directory);
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, by_name);
    return names;
}

static bool counts(const cli_paths *paths, const char *path, const char *name)
{
    return paths->ending ? ends_in(name, paths->ending) : has_bytecode_name(name) || has_magic(path);
}

static void add_directory(cli_paths *paths, const char *path, unsigned depth);

static void add_entry(cli_paths *paths, const char *path, const char *name, unsigned depth)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return;
    bool link = S_ISLNK(info.st_mode);
    if (link && stat(path, &info) != 0)
        return;
    if (S_ISDIR(info.st_mode) && !link)
        add_directory(paths, path, depth + 1);
    else if (S_ISREG(info.st_mode) && counts(paths, path, name))
        append(paths, path);
}

static void add_directory(cli_paths *paths, const char *path, unsigned depth)
{
    cli_paths *names = NULL;
    if (depth > MAX_DEPTH)
        cli_error("%s: directories are nested too deeply", path);
    else
        names = list_directory(path);
    if (!names) {
        paths->failed = true;
        return;
    }
    paths->failed |= names->failed;
    bool slash = path[0] && path[strlen(path) - 1] == '/';
    bc_text full;
    bc_text_init(&full, NULL);
    for (size_t i = 0; i < names->count; i++) {
        bc_text_clear(&full);
        bc_text_printf(&full, "%s%s%s", path, slash ? "" : "/", names->items[i]);
        if (!full.failed)
            add_entry(paths, full.ptr, names->items[i], depth);
    }
    if (full.failed)
        paths->failed = cli_error("out of memory") != CLI_OK;
    bc_text_release(&full);
    cli_paths_release(names);
    free(names);
}

void cli_paths_add(cli_paths *paths, const char *path)
{
    struct stat info;
    if (strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        append(paths, path); /* what cannot be read is reported when it is read, in its place */
        return;
    }
    size_t before = paths->count;
    bool failed = paths->failed;
    paths->failed = false;
    add_directory(paths, path, 0);
    if (paths->count == before && !paths->failed) {
        cli_error("%s: no %s files in this directory", path, paths->ending ? paths->ending : "bytecode");
        paths->failed = true;
    }
    paths->failed |= failed;
}

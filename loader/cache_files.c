/* Lists the files of the cache, and removes old, damaged and half-written ones. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "loader/cache_entry.h"
#include "loader/folder.h"

enum { STALE_SECONDS = 3600 };

typedef struct listed {
    char folder[3], file[LD_CACHE_NAME_DIGITS + sizeof LD_CACHE_SUFFIX];
    bool temporary, stale; /* stale: so old that no process can still be writing it */
    uint64_t size;
    int64_t used;
} listed;

typedef struct listing {
    listed *items;
    size_t count, capacity;
} listing;

static bool all_hex(const char *text, size_t count)
{
    return strspn(text, "0123456789abcdef") >= count;
}

/* A clock that is behind, such as that of another machine, keeps no file for ever. */
static bool is_stale(int64_t written)
{
    int64_t age = (int64_t)time(NULL) - written;
    return age >= STALE_SECONDS || age <= -STALE_SECONDS;
}

/* Records a name if it is one of the cache's. False: out of memory. */
static bool list_file(listing *list, const char *folder_name, int folder, const char *file)
{
    bool temporary = strncmp(file, LD_CACHE_TEMPORARY, strlen(LD_CACHE_TEMPORARY)) == 0
                     && strlen(file) < sizeof list->items->file;
    bool entry = all_hex(file, LD_CACHE_NAME_DIGITS) && strcmp(file + LD_CACHE_NAME_DIGITS, LD_CACHE_SUFFIX) == 0;
    struct stat info;
    if ((!temporary && !entry) || fstatat(folder, file, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        listed *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->capacity = capacity;
    }
    listed *item = &list->items[list->count++];
    *item = (listed){.temporary = temporary,
                     .stale = temporary && is_stale(info.st_mtime),
                     .size = (uint64_t)info.st_size,
                     .used = info.st_mtime};
    snprintf(item->folder, sizeof item->folder, "%s", folder_name);
    memcpy(item->file, file, strlen(file) + 1); /* its length was checked above */
    return true;
}

/* False: out of memory. */
static bool list_folder(listing *list, int root, const char *name)
{
    int fd = ld_folder_open_sub(root, name, false);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        bool starved = fd >= 0 && errno == ENOMEM;
        if (fd >= 0)
            close(fd);
        return !starved; /* gone, or not ours */
    }
    bool fine = true;
    for (struct dirent *item; fine && (item = readdir(folder)) != NULL;)
        fine = list_file(list, name, fd, item->d_name);
    closedir(folder);
    return fine;
}

static int compare_names(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    int folders = strcmp(x->folder, y->folder);
    return folders ? folders : strcmp(x->file, y->file);
}

static int compare_used(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    return x->used != y->used ? (x->used < y->used ? -1 : 1) : compare_names(a, b);
}

/* Every file of the cache, sorted; *out_root stays open, -1 if there is no folder. Gives why it cannot be read, or
   NULL. */
static const char *list_all(const ld_cache *cache, int (*order)(const void *, const void *), listing *out,
                            int *out_root)
{
    *out = (listing){0};
    *out_root = -1;
    const char *problem;
    int root = cache->path ? ld_folder_open(cache->path, false, &problem) : -1;
    if (root < 0)
        return cache->path ? problem : NULL;
    bool fine = true;
    for (unsigned i = 0; fine && i < 256; i++) {
        const char name[3] = {"0123456789abcdef"[i / 16], "0123456789abcdef"[i % 16], 0};
        fine = list_folder(out, root, name);
    }
    if (!fine) {
        free(out->items);
        close(root);
        return ld_cache_no_memory;
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, order);
    *out_root = root;
    return NULL;
}

/* Reads the contents of a listed file, and compares its name with its key. Returns the problem, or NULL. */
static const char *read_listed(int root, const listed *item, ld_cache_entry *out)
{
    int folder = ld_folder_open_sub(root, item->folder, false);
    if (folder < 0)
        return "";
    const char *problem = ld_cache_read(folder, item->file, LD_CACHE_LOOK, out);
    close(folder);
    if (problem)
        return problem;
    char id[LD_CACHE_ID];
    ld_cache_key_id(&(ld_cache_key){.head = out->head, .bytecode = out->bytecode}, id);
    ld_cache_name name = ld_cache_name_of(id);
    if (strcmp(name.folder, item->folder) == 0 && strcmp(name.file, item->file) == 0)
        return NULL;
    free(out->memory);
    return "its name does not match its key";
}

const char *ld_cache_visit(const ld_cache *cache, bool contents, void (*visit)(void *user, const ld_cache_info *info),
                           void *user)
{
    listing list;
    int root;
    const char *failed = list_all(cache, compare_names, &list, &root);
    if (failed)
        return failed;
    for (size_t i = 0; i < list.count && !failed; i++) {
        const listed *item = &list.items[i];
        char name[sizeof item->folder + sizeof item->file];
        snprintf(name, sizeof name, "%s/%s", item->folder, item->file);
        ld_cache_entry entry = {0};
        ld_cache_info info = {.name = name, .size = item->size, .used = item->used};
        if (item->temporary && !item->stale)
            continue; /* somebody is writing it */
        if (item->temporary)
            info.problem = "it is incomplete";
        else if (contents)
            info.problem = read_listed(root, item, &entry);
        if (contents && !info.problem)
            info.entry = &entry;
        if (info.problem == ld_cache_no_memory)
            failed = ld_cache_no_memory;
        else if (!info.problem || info.problem[0])
            visit(user, &info);
        free(info.entry ? entry.memory : NULL);
    }
    free(list.items);
    if (root >= 0)
        close(root);
    return failed;
}

static void remove_listed(int root, const listed *item, ld_cache_removed *out)
{
    int folder = ld_folder_open_sub(root, item->folder, false);
    if (folder < 0)
        return;
    if (unlinkat(folder, item->file, 0) == 0) {
        out->files++;
        out->bytes += item->size;
    }
    close(folder);
    unlinkat(root, item->folder, AT_REMOVEDIR); /* when it was the last one */
}

const char *ld_cache_prune(const ld_cache *cache, uint64_t limit, ld_cache_removed *out)
{
    *out = (ld_cache_removed){0};
    listing list;
    int root;
    const char *failed = list_all(cache, compare_used, &list, &root);
    if (failed)
        return failed;
    uint64_t total = 0;
    for (size_t i = 0; i < list.count; i++)
        total += list.items[i].size;
    /* Leaves some room below the limit, so that the next entry does not prune again. */
    uint64_t wanted = total > limit ? limit - limit / 10 : limit;
    for (size_t i = 0; i < list.count; i++) {
        const listed *item = &list.items[i];
        if (limit == 0 || (item->temporary ? item->stale : total > wanted)) { /* 0: empty files, too */
            remove_listed(root, item, out);
            total -= item->size;
        }
    }
    free(list.items);
    if (root >= 0)
        close(root);
    return NULL;
}

const char *ld_cache_prune_damaged(const ld_cache *cache, ld_cache_removed *out)
{
    *out = (ld_cache_removed){0};
    listing list;
    int root;
    const char *failed = list_all(cache, compare_names, &list, &root);
    if (failed)
        return failed;
    for (size_t i = 0; i < list.count && !failed; i++) {
        ld_cache_entry entry = {0};
        const char *problem = list.items[i].temporary ? NULL : read_listed(root, &list.items[i], &entry);
        if (problem == ld_cache_no_memory)
            failed = ld_cache_no_memory;
        else if (problem && problem[0])
            remove_listed(root, &list.items[i], out);
        free(problem ? NULL : entry.memory);
    }
    free(list.items);
    if (root >= 0)
        close(root);
    return failed;
}

/* The path is walked folder by folder: each is opened below the one before it without following links, and what is
   looked at is what was opened, so that nobody can put another folder in its place between the two. */
#include "loader/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, MOST_LINKS = 40 };

static const char link_problem[] =
    "a symbolic link leads to it out of a folder that others may write to; name the folder itself";

typedef struct walk {
    int at;              /* the folder that was reached */
    char rest[PATH_MAX]; /* what is left to walk */
    unsigned links;
    bool create;
} walk;

static int fail(int error)
{
    errno = error;
    return -1;
}

/* Can only the user and root have put files into the folder? */
static bool is_trusted(int folder)
{
    struct stat info;
    return fstat(folder, &info) == 0 && (info.st_uid == 0 || info.st_uid == geteuid())
           && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* Opens a folder to go on from it, which takes no permission to list it. */
static int open_below(int parent, const char *name)
{
    int fd = openat(parent, name, FOLDER);
    return fd < 0 && errno == EACCES ? openat(parent, name, FOLDER | O_PATH) : fd;
}

static void move_to(walk *w, int folder)
{
    close(w->at);
    w->at = folder;
}

/* Puts path before what is left, from the root if it is absolute. */
static int go_on_with(walk *w, const char *path)
{
    char rest[PATH_MAX];
    int len = snprintf(rest, sizeof rest, "%s%s%s", path, *w->rest ? "/" : "", w->rest);
    if (len < 0 || (size_t)len >= sizeof rest)
        return fail(ENAMETOOLONG);
    memcpy(w->rest, rest, (size_t)len + 1);
    int start = rest[0] == '/' ? open("/", FOLDER | O_PATH) : w->at;
    if (start >= 0 && start != w->at)
        move_to(w, start);
    return start < 0 ? -1 : 0;
}

static int follow(walk *w, const char *name, const char **out_problem)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(w->at, name, target, sizeof target);
    if (len < 0)
        return fail(ENOTDIR); /* no link: something else that is no folder */
    if (!is_trusted(w->at)) {
        *out_problem = link_problem;
        return -1;
    }
    if ((size_t)len == sizeof target || w->links++ == MOST_LINKS)
        return fail(ELOOP);
    target[len] = 0;
    return go_on_with(w, target);
}

/* Takes the next name of what is left. */
static int step(walk *w, const char **out_problem)
{
    char name[NAME_MAX + 1];
    size_t start = strspn(w->rest, "/"), len = strcspn(w->rest + start, "/");
    if (len >= sizeof name)
        return fail(ENAMETOOLONG);
    memcpy(name, w->rest + start, len);
    name[len] = 0;
    memmove(w->rest, w->rest + start + len, strlen(w->rest + start + len) + 1);
    if (!len)
        return 0;
    int below = open_below(w->at, name);
    if (below < 0 && errno == ENOENT && w->create && (mkdirat(w->at, name, 0700) == 0 || errno == EEXIST))
        below = open_below(w->at, name);
    if (below < 0 && (errno == ELOOP || errno == ENOTDIR))
        return follow(w, name, out_problem);
    if (below < 0)
        return -1;
    move_to(w, below);
    return 0;
}

bool ld_is_own(const struct stat *info, uid_t user, bool lower)
{
    return info->st_uid == user || (lower && info->st_uid == 0);
}

/* lower: it may be root's. */
static const char *problem_of(int folder, bool lower)
{
    struct stat info;
    if (fstat(folder, &info) != 0)
        return strerror(errno);
    if (!ld_is_own(&info, geteuid(), lower))
        return "the folder belongs to another user; set TILEVM_CACHE_DIR to one of your own";
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to the folder; take that away with chmod go-w";
    return NULL;
}

/* The folder where a walk ended, to be read. */
static int open_end(const walk *w, bool lower, const char **out_problem)
{
    int fd = openat(w->at, ".", FOLDER);
    *out_problem = fd < 0 ? strerror(errno) : problem_of(fd, lower);
    if (*out_problem && fd >= 0)
        close(fd);
    return *out_problem ? -1 : fd;
}

static int open_folder(const char *path, bool create, bool lower, const char **out_problem)
{
    walk w = {.at = open(".", FOLDER | O_PATH), .create = create};
    int done = w.at < 0 ? -1 : go_on_with(&w, path), fd = -1;
    *out_problem = NULL;
    while (done == 0 && *w.rest)
        done = step(&w, out_problem);
    if (done == 0)
        fd = open_end(&w, lower, out_problem);
    else if (!*out_problem && (errno != ENOENT || create))
        *out_problem = strerror(errno);
    if (w.at >= 0)
        close(w.at);
    return fd;
}

int ld_folder_open(const char *path, bool create, const char **out_problem)
{
    return open_folder(path, create, false, out_problem);
}

int ld_folder_open_lower(const char *path, const char **out_problem)
{
    return open_folder(path, false, true, out_problem);
}

static int open_sub(int parent, const char *name, bool lower)
{
    int fd = openat(parent, name, FOLDER);
    if (fd < 0 || !problem_of(fd, lower))
        return fd;
    close(fd);
    return fail(EACCES);
}

int ld_folder_open_sub(int parent, const char *name, bool create)
{
    if (create && mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
        return -1;
    return open_sub(parent, name, false);
}

int ld_folder_open_sub_lower(int parent, const char *name)
{
    return open_sub(parent, name, true);
}

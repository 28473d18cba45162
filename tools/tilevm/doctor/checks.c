/* Driver, device files, cache and tools. */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/cache.h"
#include "loader/cache_entry.h"
#include "loader/folder.h"
#include "loader/image.h"
#include "tools/tilevm/compile/assemble.h"
#include "tools/tilevm/doctor/doctor.h"

static tv_str keep(doctor *d, bc_text *text)
{
    tv_str copy = bc_arena_dup(&d->arena, bc_text_get(text));
    d->failed |= text->failed || !copy.ptr;
    bc_text_release(text);
    return copy;
}

void doctor_add(doctor *d, const char *name, doctor_state state, const char *fix, const char *format, ...)
{
    bc_text text;
    va_list args;
    bc_text_init(&text, NULL);
    va_start(args, format);
    bc_text_vprintf(&text, format, args);
    va_end(args);
    doctor_check check = {.name = bc_arena_dup(&d->arena, bc_str(name)).ptr, .state = state, .text = keep(d, &text)};
    check.fix = bc_arena_dup(&d->arena, bc_str(fix ? fix : ""));
    doctor_check *checks = bc_grow(&d->arena, d->checks, d->count, &d->capacity, doctor_check);
    d->failed |= !checks || !check.name || !check.fix.ptr;
    if (!checks)
        return;
    d->checks = checks;
    d->checks[d->count++] = check;
    d->problems += state == DOCTOR_PROBLEM;
}

/* ---- driver ---- */

/* The first line of the last error: the rest is help, for which there is a fix. */
static int first_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] && strcmp(value, "0") != 0;
}

static void look_at_assembler(doctor *d)
{
    if (is_set("CUDA_DISABLE_PTX_JIT")) {
        doctor_add(d, "assembler", DOCTOR_PROBLEM, "unset CUDA_DISABLE_PTX_JIT",
                   "the environment forbids the driver from assembling PTX");
        return;
    }
    void *library = dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library)
        dlclose(library);
    if (library)
        doctor_add(d, "assembler", DOCTOR_FINE, NULL, "libnvidia-ptxjitcompiler.so.1");
    else
        doctor_add(d, "assembler", DOCTOR_NOTE, "(install the whole driver package, if loading fails with L-JIT-02)",
                   "libnvidia-ptxjitcompiler.so.1 is not on the library path");
}

void doctor_look_at_driver(doctor *d)
{
    tvResult code = ld_driver_open(&d->driver);
    if (code == LD_CUDA_SUCCESS) {
        int version = d->driver->version;
        unsigned ptx = ld_ptx_version(version);
        doctor_add(d, "driver", DOCTOR_FINE, NULL, "for CUDA %d.%d, PTX up to %u.%u", version / 1000,
                   version % 1000 / 10, ptx / 10, ptx % 10);
        look_at_assembler(d);
        return;
    }
    d->driver = NULL;
    const char *fix =
        code == LD_CUDA_CALL_REQUIRES_NEWER_DRIVER
            ? "sudo apt-get install --only-upgrade nvidia-driver-580 (or the package of your distribution)"
            : "sudo apt-get install nvidia-driver-580 (in a container: docker run --gpus all ...)";
    const char *said = tvGetLastErrorMessage();
    doctor_add(d, "driver", DOCTOR_PROBLEM, fix, "%.*s", first_line(said), said);
}

/* ---- device files ---- */

/* The command that lets this user open a file. */
static void permission_fix(const struct stat *info, const char *path, char out[300])
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *group = info->st_gid && (info->st_mode & 060) == 060 ? getgrgid(info->st_gid) : NULL;
    if (group && user)
        snprintf(out, 300, "sudo usermod -aG %s %s", group->gr_name, user->pw_name);
    else
        snprintf(out, 300, "sudo chmod a+rw %.250s", path);
}

void doctor_look_at_nodes(doctor *d, const char *folder)
{
    static const char *const names[] = {"nvidiactl", "nvidia-uvm", "nvidia0"};
    unsigned there = 0, closed = 0;
    for (size_t i = 0; i < TV_COUNT(names); i++) {
        char path[300], fix[300];
        struct stat info;
        snprintf(path, sizeof path, "%.200s/%s", folder, names[i]);
        if (stat(path, &info) != 0)
            continue;
        there++;
        if (access(path, R_OK | W_OK) == 0)
            continue;
        closed++;
        permission_fix(&info, path, fix);
        doctor_add(d, "permissions", DOCTOR_PROBLEM, fix, "%s cannot be opened: %s", path, cli_errno());
    }
    if (there && !closed)
        doctor_add(d, "permissions", DOCTOR_FINE, NULL, "%s/nvidia* can be opened", folder);
    else if (!there)
        doctor_add(d, "permissions", DOCTOR_NOTE, NULL, "there is no %s/nvidiactl", folder);
}

/* ---- cache ---- */

typedef struct cache_count {
    size_t sound, damaged;
    uint64_t bytes;
} cache_count;

static void count_entry(void *user, const ld_cache_info *info)
{
    cache_count *count = user;
    count->sound += !info->problem;
    count->damaged += info->problem != NULL;
    count->bytes += info->size;
}

static void look_into_cache(doctor *d, const ld_cache *cache)
{
    cache_count count = {0};
    const char *problem = ld_cache_visit(cache, true, count_entry, &count);
    d->failed |= problem == ld_cache_no_memory;
    if (problem)
        doctor_add(d, "cache", DOCTOR_PROBLEM, "export TILEVM_CACHE_DIR=FOLDER (one of your own)", "%s: %s",
                   cache->path, problem);
    else if (count.damaged)
        doctor_add(d, "cache", DOCTOR_PROBLEM, "tilevm cache prune", "%s: %zu of %zu entries are damaged", cache->path,
                   count.damaged, count.damaged + count.sound);
    else
        doctor_add(d, "cache", DOCTOR_FINE, NULL, "%s: %zu %s, %llu of %llu bytes", cache->path, count.sound,
                   count.sound == 1 ? "entry" : "entries", (unsigned long long)count.bytes,
                   (unsigned long long)cache->limit);
}

/* The folder as the loader opens it: made if it is not there. */
static void open_cache(doctor *d, const ld_cache *cache)
{
    const char *problem = NULL;
    char fix[400];
    int fd = ld_folder_open(cache->path, true, &problem);
    if (fd < 0) {
        snprintf(fix, sizeof fix, "mkdir -p %.150s && chown $(id -u) %.150s && chmod 700 %.50s", cache->path,
                 cache->path, strlen(cache->path) <= 50 ? cache->path : "it");
        doctor_add(d, "cache", DOCTOR_PROBLEM, fix, "%s: %s", cache->path, problem ? problem : "it cannot be made");
        return;
    }
    bool writable = faccessat(fd, ".", W_OK, AT_EACCESS) == 0;
    if (!writable)
        doctor_add(d, "cache", DOCTOR_PROBLEM, "export TILEVM_CACHE_DIR=FOLDER (one that can be written to)",
                   "%s cannot be written to: %s", cache->path, cli_errno());
    else
        look_into_cache(d, cache);
    close(fd);
}

void doctor_look_at_cache(doctor *d)
{
    ld_cache cache;
    const char *why;
    ld_cache_init(&cache);
    d->failed |= cache.problem == ld_cache_no_memory;
    if (cache.path)
        open_cache(d, &cache);
    else if (cache.problem)
        doctor_add(d, "cache", DOCTOR_PROBLEM, "export TILEVM_CACHE_DIR=$HOME/.cache/tilevm; unset TILEVM_CACHE_SIZE",
                   "there is none: %s", cache.problem);
    else
        doctor_add(d, "cache", DOCTOR_NOTE, "unset TILEVM_CACHE_SIZE", "switched off: TILEVM_CACHE_SIZE is 0");
    ld_cache_release(&cache);
    ld_form form = ld_form_here(&why);
    doctor_add(d, "form", DOCTOR_FINE, NULL, "kernels go to the driver as %s: %s", ld_form_name(form), why);
}

/* ---- tools ---- */

void doctor_look_at_tools(doctor *d)
{
    char buffer[ASSEMBLE_PATH];
    const char *ptxas = assemble_find_ptxas(buffer);
    if (ptxas)
        doctor_add(d, "ptxas", DOCTOR_FINE, NULL, "%s", ptxas);
    else
        doctor_add(d, "ptxas", DOCTOR_NOTE, "export TILEVM_PTXAS=FILE (of any CUDA toolkit from 12.0 on)",
                   "none; only cubins in bundles and 'tilevm compile --emit cubin' need it");
}

/* Variants of a cuTile kernel: Python exports them to a folder, with tools/python/tilevm/cutile/variants.py. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tilevm/bench/tune.h"
#include "tools/tilevm/cli/program.h"

bool tune_is_python(const char *path)
{
    const char *at = strstr(path, ".py:");
    return at && at > path && at[4] && !strchr(at + 4, '/');
}

static bool make_folder(tune_export *e, io_error *error)
{
    const char *parent = getenv("TMPDIR");
    snprintf(e->folder, sizeof e->folder, "%s/tilevm-tune-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(e->folder))
        return true;
    int problem = errno;
    bool good = io_fail(error, "%.200s: %s", e->folder, strerror(problem));
    e->folder[0] = 0;
    return good;
}

static tv_str without_newlines(const bc_text *log)
{
    tv_str words = bc_text_get(log);
    while (words.len && words.ptr[words.len - 1] == '\n')
        words.len--;
    return words;
}

/* The last line is the name of the first variant; the lines before it are reported. */
static bool take_answer(tune_export *e, tv_str words, io_error *error)
{
    size_t line = words.len;
    while (line && words.ptr[line - 1] != '\n')
        line--;
    cli_show(stderr, (tv_str){words.ptr, line}, false);
    int n = snprintf(e->first, sizeof e->first, "%s/%.*s", e->folder, (int)(words.len - line), words.ptr + line);
    snprintf(e->space, sizeof e->space, "%s/space.json", e->folder);
    return (n > 0 && (size_t)n < sizeof e->first && access(e->first, R_OK) == 0)
           || io_fail(error, "Python has exported nothing");
}

/* The command line; NULL: out of memory. The text of jobs is written to the buffer. */
static const char **make_command(const tune_request *q, const char *folder, char jobs[16])
{
    const char *python = getenv("TILEVM_PYTHON");
    snprintf(jobs, 16, "%u", q->jobs);
    const char *const fixed[] = {python && *python ? python : "python3",
                                 "-m",
                                 "tilevm.cutile.variants",
                                 q->kernel,
                                 "-o",
                                 folder,
                                 "--grid",
                                 q->grid,
                                 "--space",
                                 q->space,
                                 "--arch",
                                 q->arch,
                                 "--jobs",
                                 jobs};
    const char **argv = calloc(TV_COUNT(fixed) + q->arg_count + 1, sizeof *argv);
    if (!argv)
        return NULL;
    memcpy(argv, fixed, sizeof fixed);
    for (size_t i = 0; i < q->arg_count; i++)
        argv[TV_COUNT(fixed) + i] = q->args[i];
    return argv;
}

bool tune_export_run(const tune_request *q, tune_export *out, io_error *error)
{
    char jobs[16];
    bc_text log;
    *out = (tune_export){.folder = ""};
    if (!make_folder(out, error))
        return false;
    const char **argv = make_command(q, out->folder, jobs);
    if (!argv)
        return io_fail(error, "out of memory");
    bc_text_init(&log, NULL);
    int status = cli_program_run((char *const *)(uintptr_t)argv, &log);
    tv_str words = without_newlines(&log);
    bool good = status == 0 ? take_answer(out, words, error)
                            : io_fail(error, "%s: %.*s", q->kernel, (int)(words.len < 400 ? words.len : 400),
                                      words.len ? words.ptr : "");
    bc_text_release(&log);
    free(argv);
    return good;
}

void tune_export_remove(tune_export *e)
{
    DIR *folder = e->folder[0] ? opendir(e->folder) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) {
        closedir(folder);
        rmdir(e->folder);
    }
}

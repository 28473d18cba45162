/* Running the cases. A test is `tilevm run`, by this program, in a process of its own: what a kernel does to its
   process or to the context of its GPU is no other test's affair. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tilevm/cli/collect.h"
#include "tools/tilevm/cli/program.h"
#include "tools/tilevm/cli/work.h"
#include "tools/tilevm/suite/suite.h"

enum { MAX_OUTPUT = 64 << 10 };

/* ---- one test ---- */

bool suite_find_kernel(const char *args_path, char **out_kernel)
{
    size_t len = strlen(args_path) - (sizeof SUITE_ENDING - 1);
    bc_text path;
    struct stat info;
    *out_kernel = NULL;
    bc_text_init(&path, NULL);
    while (len && !path.failed) {
        for (size_t i = 0; cli_bytecode_ending(i); i++) {
            bc_text_clear(&path);
            bc_text_printf(&path, "%.*s%s", (int)len, args_path, cli_bytecode_ending(i));
            if (!path.failed && stat(path.ptr, &info) == 0 && S_ISREG(info.st_mode)) {
                *out_kernel = path.ptr;
                return true;
            }
        }
        while (len && args_path[len - 1] != '.' && args_path[len - 1] != '/')
            len--;
        len = len && args_path[len - 1] == '.' ? len - 1 : 0;
    }
    bool failed = path.failed;
    bc_text_release(&path);
    return !failed;
}

/* The exit status of `tilevm run`, what it says appended. */
static int run_kernel(const char *kernel, const char *args_path, const char *device, bc_text *said)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0) {
        bc_text_puts(said, "cannot find the path of this program in /proc\n");
        return -1;
    }
    self[len] = 0;
    char *copies[] = {strdup(kernel), strdup(args_path), strdup(device)};
    char *argv[] = {
        self,      (char[]){"run"},     copies[0],           (char[]){"--args"}, copies[1], (char[]){"--device"},
        copies[2], (char[]){"--quiet"}, (char[]){"--color"}, (char[]){"never"},  NULL};
    int status = CLI_ERROR;
    if (copies[0] && copies[1] && copies[2])
        status = cli_program_run(argv, said);
    else
        bc_text_puts(said, "out of memory\n");
    for (size_t i = 0; i < TV_COUNT(copies); i++)
        free(copies[i]);
    return status;
}

/* Writes the expected files by a run with an argument file beside the other. */
static bool update(const suite_case *one, const char *kernel, bc_text *said)
{
    bc_text text, name;
    cli_out out;
    int status = -1;
    bc_text_init(&text, NULL);
    bc_text_init(&name, NULL);
    bc_text_printf(&name, "%s.update-%ld", one->args_path, (long)getpid());
    if (suite_update_text(one->args_path, &text, said) && !name.failed && cli_out_open(&out, name.ptr)) {
        cli_out_write(&out, text.ptr, text.len);
        bc_text_clear(said);
        if (cli_out_commit(&out))
            status = run_kernel(kernel, name.ptr, one->device, said);
        unlink(name.ptr);
    }
    bc_text_release(&text);
    bc_text_release(&name);
    return status == CLI_OK;
}

/* A test that could not be run is unreadable, one that did not come to what is expected invalid. */
static void tell(suite_case *one, int status, const bc_text *said, const char *otherwise)
{
    tv_str text = said->failed ? bc_str("out of memory") : bc_text_get(said);
    status = said->failed ? CLI_ERROR : status;
    if (text.len > MAX_OUTPUT)
        text.len = MAX_OUTPUT;
    if (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    char *copy = text.len ? strndup(text.ptr, text.len) : strdup(otherwise);
    one->report.outcome = status == CLI_ERROR ? REPORT_UNREADABLE : REPORT_INVALID;
    *(status == CLI_ERROR ? &one->report.problem : &one->report.output) = copy;
}

static void run_case(suite_case *one, const suite_options *options)
{
    bc_text said;
    char *kernel;
    bc_text_init(&said, NULL);
    said.failed = !suite_find_kernel(one->args_path, &kernel);
    int status = kernel ? run_kernel(kernel, one->args_path, one->device, &said) : CLI_ERROR;
    if (status != CLI_OK && kernel && options->update && strcmp(one->device, "cpu") == 0) {
        bc_text why;
        bc_text_init(&why, NULL);
        one->updated = update(one, kernel, &why);
        status = one->updated ? CLI_OK : status;
        bc_text_str(&said, bc_text_get(&why));
        bc_text_release(&why);
    }
    if (status != CLI_OK)
        tell(one, status, &said, kernel ? "it says nothing" : "there is no bytecode beside it");
    bc_text_release(&said);
    free(kernel);
}

/* ---- many ---- */

typedef struct suite_work {
    suite_case *cases;
    const suite_options *options;
    void (*done)(void *user, const suite_case *one);
    void *user;
} suite_work;

static void run_at(void *user, size_t i)
{
    suite_work *w = user;
    run_case(&w->cases[i], w->options);
}

static void take_at(void *user, size_t i, cli_progress *progress)
{
    suite_work *w = user;
    if (w->cases[i].report.outcome != REPORT_VALID || w->cases[i].updated)
        cli_progress_clear(progress);
    w->done(w->user, &w->cases[i]);
}

bool suite_run(suite_case *cases, size_t count, const suite_options *options,
               void (*done)(void *user, const suite_case *one), void *user)
{
    suite_work w = {cases, options, done, user};
    return cli_work_run(&(cli_work){.count = count,
                                    .threads = cli_thread_count(options->jobs, count, CLI_MAX_THREADS),
                                    .noun = options->quiet ? NULL : "tests",
                                    .user = &w,
                                    .run = run_at,
                                    .take = take_at});
}

/* Runs the cases. Each test is a `tilevm run` by this program in a process of its own, so that a kernel cannot
   affect the process or the GPU context of other tests. */
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

enum { MAX_WORDS = 24 };

/* The arguments of `tilevm run`. */
typedef struct run_words {
    char *argv[MAX_WORDS + 1];
    size_t count;
    bool failed; /* out of memory */
} run_words;

static void add_word(run_words *words, const char *text)
{
    char *copy = words->count < MAX_WORDS ? strdup(text) : NULL;
    words->failed |= !copy;
    if (copy)
        words->argv[words->count++] = copy;
}

static void add_pair(run_words *words, const char *option, const char *value)
{
    if (!value)
        return;
    add_word(words, option);
    add_word(words, value);
}

/* Files to which `tilevm run` writes coverage and uses. NULL: it writes none. */
typedef struct run_files {
    const char *covered, *used;
} run_files;

/* Returns the exit status of `tilevm run`, and appends its output to said. */
static int run_kernel(const char *kernel, const char *args_path, const char *device, const suite_options *options,
                      run_files files, bc_text *said)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    bool cpu = strcmp(device, "cpu") == 0;
    run_words words = {0};
    if (len < 0) {
        bc_text_puts(said, "cannot find the path of this program in /proc\n");
        return -1;
    }
    self[len] = 0;
    add_word(&words, self);
    add_word(&words, "run");
    add_word(&words, kernel);
    add_pair(&words, "--args", args_path);
    add_pair(&words, "--device", device);
    add_word(&words, "--quiet");
    add_pair(&words, "--color", "never");
    add_pair(&words, "--check", cpu ? options->checks : NULL);
    add_pair(&words, "--config", cpu ? options->config : NULL);
    add_pair(&words, "--suppressed", cpu ? files.used : NULL);
    add_pair(&words, "--coverage", cpu ? files.covered : NULL);
    int status = words.failed ? CLI_ERROR : cli_program_run_for(words.argv, options->timeout, said);
    if (words.failed)
        bc_text_puts(said, "out of memory\n");
    if (status == CLI_TIMED_OUT)
        bc_text_printf(said, "it ran for more than %g s and was ended\n", options->timeout);
    for (size_t i = 0; i < words.count; i++)
        free(words.argv[i]);
    return status;
}

/* Writes the expected files, with a temporary argument file next to the original. */
static bool update(const suite_case *one, const char *kernel, const suite_options *options, bc_text *said)
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
            status = run_kernel(kernel, name.ptr, one->device, options, (run_files){0}, said);
        unlink(name.ptr);
    }
    bc_text_release(&text);
    bc_text_release(&name);
    return status == CLI_OK;
}

/* Sets the outcome: a test that could not run is unreadable; one with a wrong result is invalid. */
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

/* The file to which the process of a case writes its coverage, next to that of the whole suite. */
static const char *coverage_file(bc_text *name, const suite_options *options, size_t number)
{
    if (!options->coverage)
        return NULL;
    bc_text_printf(name, "%s.%ld.%zu", options->coverage, (long)getpid(), number);
    return name->failed ? NULL : name->ptr;
}

/* A new, empty file for the uses of suppressions. NULL: nothing is suppressed, or the file cannot be created, as
   `said` tells. */
static const char *used_file(bc_text *name, const suite_options *options, bc_text *said)
{
    const char *top = getenv("TMPDIR");
    if (!options->config)
        return NULL;
    bc_text_printf(name, "%s/tilevm-suppressed-XXXXXX", top && top[0] ? top : "/tmp");
    int fd = name->failed ? -1 : mkstemp(name->ptr);
    if (fd < 0) {
        bc_text_printf(said, "%s: %s\n", name->failed ? "a temporary file" : name->ptr, cli_errno());
        return NULL;
    }
    close(fd);
    return name->ptr;
}

/* Reads the file and removes it. False: it does not exist or cannot be read. */
static bool take_file(const char *path, cli_file *out)
{
    if (!path)
        return true;
    bool fine = cli_read(path, out, NULL);
    if (!fine)
        *out = (cli_file){0};
    unlink(path);
    return fine;
}

/* Runs the kernel until it passes, but no more than retries + 1 times. `said` gets the output of the last run. */
static int run_attempts(suite_case *one, const char *kernel, const suite_options *options, size_t number, bc_text *said)
{
    int status = CLI_ERROR;
    bc_text covered, used;
    bc_text_init(&covered, NULL);
    bc_text_init(&used, NULL);
    run_files files = {coverage_file(&covered, options, number), used_file(&used, options, said)};
    while (files.used || !options->config) {
        bc_text_clear(said);
        status = run_kernel(kernel, one->args_path, one->device, options, files, said);
        one->attempts++;
        if (status == CLI_OK || one->attempts > options->retries)
            break;
    }
    take_file(files.covered, &one->covered); /* a test that did not run has written none */
    one->lost = !take_file(files.used, &one->used);
    bc_text_release(&covered);
    bc_text_release(&used);
    return status;
}

static void run_case(suite_case *one, const suite_options *options, size_t number)
{
    bc_text said;
    char *kernel;
    double start = cli_seconds();
    bc_text_init(&said, NULL);
    said.failed = !suite_find_kernel(one->args_path, &kernel);
    int status = kernel ? run_attempts(one, kernel, options, number, &said) : CLI_ERROR;
    if (status != CLI_OK && kernel && options->update && strcmp(one->device, "cpu") == 0) {
        bc_text why;
        bc_text_init(&why, NULL);
        one->updated = update(one, kernel, options, &why);
        status = one->updated ? CLI_OK : status;
        bc_text_str(&said, bc_text_get(&why));
        bc_text_release(&why);
    }
    if (status != CLI_OK)
        tell(one, status, &said, kernel ? "it says nothing" : "there is no bytecode beside it");
    one->seconds = cli_seconds() - start;
    bc_text_release(&said);
    free(kernel);
}

void suite_case_release(suite_case *one)
{
    cli_file_free(&one->covered);
    cli_file_free(&one->used);
    report_file_release(&one->report);
}

/* ---- many ---- */

typedef struct suite_work {
    suite_case *cases;
    const suite_options *options;
    void (*done)(void *user, suite_case *one);
    void *user;
} suite_work;

static void run_at(void *user, size_t i)
{
    suite_work *w = user;
    run_case(&w->cases[i], w->options, i);
}

static void take_at(void *user, size_t i, cli_progress *progress)
{
    suite_work *w = user;
    if (w->cases[i].report.outcome != REPORT_VALID || w->cases[i].updated)
        cli_progress_clear(progress);
    w->done(w->user, &w->cases[i]);
}

bool suite_run(suite_case *cases, size_t count, const suite_options *options, void (*done)(void *user, suite_case *one),
               void *user)
{
    suite_work w = {cases, options, done, user};
    return cli_work_run(&(cli_work){.count = count,
                                    .threads = cli_thread_count(options->jobs, count, CLI_MAX_THREADS),
                                    .noun = options->quiet ? NULL : "tests",
                                    .user = &w,
                                    .run = run_at,
                                    .take = take_at});
}

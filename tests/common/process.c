/* Runs a program and collects what it printed. */
#include "tests/common/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/files.h"

/* In the child: only calls that are safe between fork and exec of a program with threads. */
static void child(const char *folder, char *const argv[], const char *stdin_name, unsigned seconds)
{
    if (chdir(folder) != 0)
        _exit(126);
    int in = open(stdin_name ? stdin_name : "/dev/null", O_RDONLY);
    int out = open(".stdout", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int err = open(".stderr", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    alarm(seconds);
    execv(argv[0], argv);
    _exit(127);
}

static char *read_in(const char *folder, const char *name, size_t *out_len)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path)
        return NULL;
    snprintf(path, size, "%s/%s", folder, name);
    char *text = files_read(path, out_len);
    free(path);
    return text;
}

bool process_run(const char *folder, char *const argv[], const char *stdin_name, unsigned seconds,
                 process_result *out_result)
{
    *out_result = (process_result){0};
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0)
        child(folder, argv, stdin_name, seconds);
    int status;
    struct rusage usage = {0};
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR)
            return false;
    out_result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    out_result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    out_result->peak_kib = usage.ru_maxrss;
    out_result->out = read_in(folder, ".stdout", &out_result->out_len);
    out_result->err = read_in(folder, ".stderr", &out_result->err_len);
    if (out_result->out && out_result->err)
        return true;
    process_release(out_result);
    return false;
}

void process_release(process_result *result)
{
    free(result->out);
    free(result->err);
    *result = (process_result){0};
}

void process_mark_sanitizers(void)
{
    setenv("ASAN_OPTIONS", "exitcode=99:abort_on_error=0:detect_leaks=1:allocator_may_return_null=1", 1);
    setenv("UBSAN_OPTIONS", "exitcode=99:print_stacktrace=1", 1);
    setenv("LSAN_OPTIONS", "exitcode=99", 1);
    setenv("TSAN_OPTIONS", "exitcode=99", 1);
    setenv("LC_ALL", "C", 1);
    setenv("NO_COLOR", "1", 1);
}

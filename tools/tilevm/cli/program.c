/* Running a program to its end. */
#include "tools/tilevm/cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

double cli_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Is there something to read before the time is over? until 0: waits for as long as it takes. */
static bool wait_for_output(int fd, double until)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    while (until > 0) {
        double left = until - cli_seconds();
        int got = left > 0 ? poll(&one, 1, left < 3600 ? (int)(left * 1e3) + 1 : 3600000) : 0;
        if (got > 0)
            return true;
        if (left <= 0 || (got < 0 && errno != EINTR))
            return false;
    }
    return true;
}

/* Takes in all that the child says, until it has closed its outputs. False: the time was over before. */
static bool read_output(int fd, double until, bc_text *log)
{
    char part[4096];
    for (;;) {
        if (!wait_for_output(fd, until))
            return false;
        ssize_t got = read(fd, part, sizeof part);
        if (got == 0 || (got < 0 && errno != EINTR))
            return true;
        bc_text_bytes(log, part, got > 0 ? (size_t)got : 0);
    }
}

int cli_program_run_for(char *const argv[], double seconds, bc_text *log)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        bc_text_printf(log, "%s\n", cli_errno());
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 2);
    pid_t child;
    int error = posix_spawn(&child, argv[0], &actions, NULL, argv, environ), status = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    if (error) {
        bc_text_printf(log, "%s cannot be run: %s\n", argv[0], strerror(error));
    } else {
        bool in_time = read_output(pipes[0], seconds > 0 ? cli_seconds() + seconds : 0, log);
        if (!in_time)
            kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        if (in_time && WIFSIGNALED(status))
            bc_text_printf(log, "%s was ended by signal %d\n", argv[0], WTERMSIG(status));
        status = !in_time ? CLI_TIMED_OUT : WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    close(pipes[0]);
    return status;
}

int cli_program_run(char *const argv[], bc_text *log)
{
    return cli_program_run_for(argv, 0, log);
}

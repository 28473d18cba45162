/* Running a program to its end. */
#include "tools/tilevm/cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int cli_program_run(char *const argv[], bc_text *log)
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
        char part[4096];
        for (ssize_t got; (got = read(pipes[0], part, sizeof part)) > 0 || (got < 0 && errno == EINTR);)
            bc_text_bytes(log, part, got > 0 ? (size_t)got : 0);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        if (WIFSIGNALED(status))
            bc_text_printf(log, "%s was ended by signal %d\n", argv[0], WTERMSIG(status));
        status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    close(pipes[0]);
    return status;
}

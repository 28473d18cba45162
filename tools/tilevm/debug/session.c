/* Opens a kernel for the debugger; ^C stops the kernel, not the debugger. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/tilevm/debug/debug.h"

static volatile sig_atomic_t interrupts;

static void count_interrupt(int number)
{
    (void)number;
    interrupts = 1;
}

static bool is_interrupted(void *user)
{
    const debug_session *s = user;
    bool was = interrupts != 0;
    interrupts = 0;
    return was || (s->waiting && s->waiting(s->waiting_user));
}

static bool print_output(void *user, const void *bytes, size_t size)
{
    (void)user;
    tv_writer out = cli_showing_writer(stdout);
    return out.write(out.user, bytes, size);
}

static unsigned terminal_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
}

int debug_open(debug_session *s)
{
    run_job *job = s->job;
    size_t count;
    int code = run_job_prepare(job);
    if (code != CLI_OK)
        return code;
    tv_vm_options vm = job->options.vm;
    if (!vm.output.write)
        vm.output = (tv_writer){.write = print_output};
    vm.step_limit = 0;
    tv_status status = run_job_machine(job, job->module, &vm, &job->vm);
    if (status != TV_OK)
        return cli_exit_of(status, job->options.path);
    const void *const *params = tv_call_params(job->call, &count);
    const vm_debug_options options = {.snapshot_bytes = s->snapshot_bytes,
                                      .most_ops = job->options.vm.step_limit,
                                      .interrupted = is_interrupted,
                                      .user = s};
    run_job_starts(job);
    status = vm_debug_open(job->vm, job->symbol, job->options.grid, params, count, &options, job->sink, &s->d);
    if (status != TV_OK)
        return cli_exit_of(status, job->options.path);
    struct sigaction action = {.sa_handler = count_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    s->color = cli_use_color(job->args->color, stdout);
    s->width = terminal_width();
    s->listed = UINT32_MAX;
    return CLI_OK;
}

void debug_close(debug_session *s)
{
    vm_debug_close(s->d);
    debug_sources_free(s);
    for (size_t i = 0; i < DEBUG_DISPLAYS; i++)
        free(s->displays[i]);
    signal(SIGINT, SIG_DFL);
}

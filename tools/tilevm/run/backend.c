/* Runs a kernel on the virtual machine or on a GPU, and selects one of the two. */
#include <string.h>

#include "loader/message.h"
#include "tools/tilevm/run/against.h"
#include "tools/tilevm/run/device.h"
#include "tools/tilevm/run/watch.h"

enum { MAX_OUTPUT = 1 << 20 };

/* ---- the CPU ---- */

/* Keeps the first MiB, for the JSON document. */
bool run_keep_output(void *user, const void *bytes, size_t size)
{
    run_job *job = user;
    if (job->output.len + size > MAX_OUTPUT)
        job->output_cut = true;
    else
        bc_text_bytes(&job->output, bytes, size);
    return true;
}

static int run_on_cpu(run_job *job)
{
    tv_vm_options vm = job->options.vm;
    run_watch watch;
    vm.output = job->options.json ? (tv_writer){.user = job, .write = run_keep_output} : run_watch_output(&watch);
    run_watch_start(&watch, job, &job->vm, job->options.trace != NULL, &vm);
    run_trace_hook(job, &vm);
    tv_status status = run_job_kernel(job, &vm);
    bool said = job->options.json ? job->report.errors > 0 : job->printer.errors > 0;
    int code = status == TV_NO_MEMORY && said ? CLI_FAILED : cli_exit_of(status, job->options.path);
    return run_watch_end(&watch, code);
}

/* ---- a GPU ---- */

const char *run_only_on_cpu(const run_options *o)
{
    bool is_limit = !o->against && (o->vm.threads || o->vm.memory_limit || o->vm.step_limit);
    return o->trace || o->trace_block ? "--trace"
           : o->dump_count            ? "--dump-tile"
           : o->vm.checks             ? "--check"
           : o->events                ? "--trace-events"
           : o->vm.precision          ? "--precision"
           : o->coverage              ? "--coverage"
           : o->profile               ? "--profile"
           : o->stats                 ? "--stats"
           : o->vm.order_seed         ? "--order"
           : o->vm.batch              ? "--batch"
           : !is_limit                ? NULL
           : o->vm.threads            ? "--threads"
           : o->vm.memory_limit       ? "--memory"
                                      : "--max-steps";
}

/* Did the kernel itself fail, after it was launched? CUresult has these codes for it. */
static bool is_kernel_failure(tvResult code)
{
    return code >= LD_CUDA_ILLEGAL_ADDRESS && code <= LD_CUDA_LAUNCH_FAILED;
}

/* Warnings, of the cache for example. Whoever gets an error reports it. */
static void show_warning(void *user, int severity, const char *text)
{
    (void)user;
    if (severity == TV_WARNING)
        cli_print(stderr, "tilevm: warning: %s\n", text);
}

/* The kernel on the device, once it could be loaded. */
static tvResult launch(run_job *job, run_device *device, const run_kernel *kernel)
{
    bc_text output;
    bc_text_init(&output, NULL);
    device->output = &output;
    tvResult code = run_device_run(device, kernel, NULL, 0, &job->kernel_ms);
    device->output = NULL;
    if (!job->options.json)
        cli_show(stdout, bc_text_get(&output), false);
    else if (output.len)
        run_keep_output(job, output.ptr, output.len < MAX_OUTPUT ? output.len : MAX_OUTPUT);
    job->output_cut |= output.len > MAX_OUTPUT;
    bc_text_release(&output);
    return code;
}

/* Opens, loads, runs; with --against the other side too. The job has run unless nothing could be launched. */
static tvResult run_on_device(run_job *job, int *out_exit)
{
    run_device device;
    run_kernel kernel = {0};
    run_copy before = {0};
    tvResult code = run_device_open(job, job->options.ordinal, &device);
    if (code == LD_CUDA_SUCCESS)
        code = run_device_load(job->file.bytes, job->symbol, &kernel);
    if (code == LD_CUDA_SUCCESS && job->options.against && !run_memory_save(&device.memory, &before))
        code = run_device_no_memory();
    if (code == LD_CUDA_SUCCESS) {
        run_job_starts(job);
        snprintf(job->device, sizeof job->device, "cuda:%d, %s (sm_%u)", job->options.ordinal, device.gpu.name,
                 device.gpu.target);
        code = launch(job, &device, &kernel);
    }
    if (code == LD_CUDA_SUCCESS && job->options.against)
        *out_exit = run_against_other(job, &device, &before);
    run_copy_free(&before);
    run_device_unload(&kernel);
    run_device_close(&device);
    return code;
}

/* The end of a run that the GPU could not execute. */
static int device_failed(run_job *job, tvResult code)
{
    const char *why = tvGetLastErrorMessage();
    bool stopped = is_kernel_failure(code);
    bool refused = code == LD_CUDA_NO_BINARY_FOR_GPU || code == LD_CUDA_INVALID_IMAGE || code == LD_CUDA_INVALID_PTX;
    job->ran = stopped;
    job->outcome = stopped ? RUN_TRAPPED : RUN_INVALID;
    job->rule = ld_last_rule_id();
    snprintf(job->message, sizeof job->message, "%s", why);
    if (!job->options.json || !(stopped || refused))
        cli_error("%s", why);
    return stopped || refused ? CLI_FAILED : CLI_ERROR;
}

int run_backend_kernel(run_job *job)
{
    const run_options *o = &job->options;
    const char *only = run_only_on_cpu(o);
    int code = CLI_OK;
    if (o->where == RUN_ON_CPU)
        return run_on_cpu(job);
    if (only) {
        snprintf(job->not_device, sizeof job->not_device, "%s is for the CPU", only);
        return run_on_cpu(job);
    }
    tvSetMessageHandler(show_warning, NULL);
    tvResult result = run_on_device(job, &code);
    tvSetMessageHandler(NULL, NULL);
    if (result == LD_CUDA_SUCCESS)
        return code;
    if (o->where == RUN_ON_CUDA || is_kernel_failure(result))
        return device_failed(job, result);
    const char *why = tvGetLastErrorMessage();
    job->device[0] = 0;
    snprintf(job->not_device, sizeof job->not_device, "%.*s", (int)strcspn(why, "\n"), why);
    return run_on_cpu(job);
}

/* The other side of --against: the virtual machine, or another image on the same device. */
#include "tools/tilevm/run/against.h"
#include "tools/tilevm/run/watch.h"

#include <stdlib.h>
#include <string.h>

static int out_of_memory(void)
{
    return cli_error("out of memory");
}

static int run_other_on_cpu(run_job *job)
{
    tv_vm *vm = NULL;
    size_t count;
    const void *const *params = tv_call_params(job->call, &count);
    tv_vm_options options = job->options.vm;
    run_watch watch;
    run_watch_start(&watch, job, &vm, false, &options);
    tv_status status = run_job_machine(job, job->module, &options, &vm);
    if (status == TV_OK)
        status = tv_vm_run(vm, job->symbol, job->options.grid, params, count, job->sink);
    int code = run_watch_end(&watch, cli_exit_of(status, job->options.path));
    tv_vm_free(vm);
    return code;
}

static int run_other_image(const run_job *job, run_device *device)
{
    cli_file file;
    run_kernel kernel = {0};
    bc_text output;
    double ms;
    if (!cli_read_or_say(job->options.against, &file))
        return CLI_ERROR;
    bc_text_init(&output, NULL);
    device->output = &output; /* it printed once already */
    tvResult code = run_device_load(file.bytes, job->symbol, &kernel);
    if (code == LD_CUDA_SUCCESS)
        code = run_device_run(device, &kernel, NULL, 0, &ms);
    run_device_unload(&kernel);
    device->output = NULL;
    bc_text_release(&output);
    cli_file_free(&file);
    return code == LD_CUDA_SUCCESS ? CLI_OK : cli_error("%s: %s", job->options.against, tvGetLastErrorMessage());
}

static int compare_pair(run_job *job, const run_device *device, run_against *a, const arg_value *value, size_t k)
{
    const arg_array *array = &value->arrays[k];
    run_pair *pair = &a->pairs[a->pair_count];
    const run_sum *sum = &job->sums.arrays[value->leaf->first_slot];
    arg_tolerance tolerance = run_sum_tolerance(&job->options, array->dtype, sum);
    io_error error;
    if (!array->storage)
        return CLI_OK;
    run_array_name(value, k, pair->name, sizeof pair->name);
    pair->got = run_copy_array(&device->memory, &a->here, array);
    pair->want = run_copy_array(&device->memory, &a->there, array);
    if (!arg_compare(&pair->got, &pair->want, &tolerance, &pair->comparison, &error))
        return run_fail(job, &error);
    a->pair_count++;
    a->differs |= pair->comparison.wrong > 0;
    return CLI_OK;
}

/* How much the order of sums may change results, with the given arguments. */
static bool find_sums(run_job *job)
{
    arg_study study;
    const bc_function *f = bc_entry_at(job->module, job->entry);
    return arg_study_arguments(&job->set, f, job->options.grid, &study)
           && run_sums_find(&job->arena, f, job->options.grid, &study, &job->sums);
}

static int compare_all(run_job *job, const run_device *device, run_against *a)
{
    size_t arrays = 0;
    int code = CLI_OK;
    for (size_t i = 0; i < job->set.count; i++)
        arrays += job->set.values[i].array_count;
    a->pairs = bc_new(&job->arena, run_pair, arrays);
    if (!a->pairs || !run_memory_save(&device->memory, &a->there) || !find_sums(job))
        return out_of_memory();
    for (size_t i = 0; i < job->set.count; i++)
        for (size_t k = 0; code == CLI_OK && k < job->set.values[i].array_count; k++)
            code = compare_pair(job, device, a, &job->set.values[i], k);
    return code;
}

int run_against_other(run_job *job, run_device *device, const run_copy *before)
{
    run_against *a = job->against = calloc(1, sizeof *a);
    if (!a || !run_memory_save(&device->memory, &a->here))
        return out_of_memory();
    a->is_cpu = strcmp(job->options.against, "cpu") == 0;
    a->other = a->is_cpu ? "the CPU" : job->options.against;
    run_memory_restore(&device->memory, before);
    int code = a->is_cpu ? run_other_on_cpu(job) : run_other_image(job, device);
    if (code == CLI_OK)
        code = compare_all(job, device, a);
    if (code == CLI_OK && a->differs && a->is_cpu)
        run_blame_find(job, device, before, &a->there, &a->blame);
    run_memory_restore(&device->memory, &a->here);
    return code;
}

void run_against_free(run_against *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->pair_count; i++)
        arg_comparison_free(&a->pairs[i].comparison);
    run_copy_free(&a->here);
    run_copy_free(&a->there);
    free(a);
}

/* A run once its arguments are made: the call, the machine, the kernel. Nothing here needs files, so that the page in a
   browser (tools/web) runs kernels by it, too. */
#include <string.h>

#include "bytecode/symbol/call.h"
#include "tools/tilevm/run/run.h"
#include "vm/run/observe.h"

/* ---- the call ---- */

tv_status run_job_call(run_job *job, void *(*address)(const void *user, const arg_array *array), const void *user,
                       tv_call **out_call)
{
    size_t arrays = 0, used = 0;
    for (size_t i = 0; i < job->set.count; i++)
        arrays += job->set.values[i].array_count;
    tv_array *views = bc_new(&job->arena, tv_array, arrays);
    tv_arg *args = bc_new(&job->arena, tv_arg, job->set.count);
    if (!views || !args)
        return TV_NO_MEMORY;
    for (size_t i = 0; i < job->set.count; i++) {
        const arg_value *value = &job->set.values[i];
        args[i] = (tv_arg){.name = value->name,
                           .arrays = views + used,
                           .array_count = value->array_count,
                           .dtype = value->dtype,
                           .bits = value->bits};
        for (size_t k = 0; k < value->array_count; k++, used++) {
            views[used] = arg_array_view(&value->arrays[k]);
            views[used].data = address(user, &value->arrays[k]);
        }
    }
    tv_severity sharing = job->options.allow_sharing ? TV_WARNING : TV_ERROR;
    return bc_call_new(job->signature, args, job->set.count, sharing, NULL, job->sink, out_call);
}

static void *address_here(const void *user, const arg_array *array)
{
    (void)user;
    return array->first;
}

tv_status run_job_call_here(run_job *job)
{
    return run_job_call(job, address_here, NULL, &job->call);
}

/* Is the memory known to the machine already, through an earlier array? */
static bool is_added(const run_job *job, const arg_array *array)
{
    for (size_t i = 0; i < job->set.count; i++)
        for (size_t k = 0; k < job->set.values[i].array_count; k++) {
            const arg_array *other = &job->set.values[i].arrays[k];
            if (other == array)
                return false;
            if (other->storage == array->storage)
                return true;
        }
    return false;
}

void run_array_name(const arg_value *value, size_t k, char *out, size_t size)
{
    if (value->leaf->kind == TV_PARAM_LIST)
        snprintf(out, size, "%.60s[%zu]", value->name, k);
    else
        snprintf(out, size, "%.60s", value->name);
}

/* The bytes from the lowest to the highest element; all of the memory where arrays share it. */
static tv_status add_array(const run_job *job, tv_vm *vm, const arg_value *value, size_t k)
{
    const arg_array *array = &value->arrays[k];
    char name[96];
    if (!array->storage || is_added(job, array))
        return TV_OK;
    uintptr_t low = (uintptr_t)array->storage->data, high = low + array->storage->size;
    tv_array view = arg_array_view(array);
    if (array->storage->users == 1)
        tv_array_span(&view, &low, &high);
    if (low == high)
        return TV_OK;
    run_array_name(value, k, name, sizeof name);
    unsigned char *begin = array->storage->data + (low - (uintptr_t)array->storage->data);
    return tv_vm_add_buffer(vm, begin, high - low, name, true, job->sink);
}

/* An array made by empty() holds nothing yet. */
static tv_status describe_array(const run_job *job, tv_vm *vm, const arg_value *value, size_t k)
{
    const arg_array *array = &value->arrays[k];
    const arg_spec *spec = value->spec.form == ARG_LIST && k < value->spec.item_count ? &value->spec.items[k]
                                                                                      : &value->spec;
    char name[96];
    tv_array view = arg_array_view(array);
    if (!array->storage)
        return TV_OK;
    run_array_name(value, k, name, sizeof name);
    bool undefined = spec->form == ARG_CALL && spec->maker == ARG_MAKE_EMPTY;
    return tv_vm_describe_array(vm, &view, name, undefined, job->sink);
}

static tv_status add_buffers(const run_job *job, tv_vm *vm)
{
    void *ptr;
    size_t size;
    for (size_t i = 0; i < job->set.count; i++)
        for (size_t k = 0; k < job->set.values[i].array_count; k++)
            TV_TRY(add_array(job, vm, &job->set.values[i], k));
    for (size_t i = 0; i < job->set.count; i++)
        for (size_t k = 0; k < job->set.values[i].array_count; k++)
            TV_TRY(describe_array(job, vm, &job->set.values[i], k));
    for (size_t i = 0; tv_call_storage(job->call, i, &ptr, &size); i++)
        TV_TRY(tv_vm_add_buffer(vm, ptr, size, "list of arrays", false, job->sink));
    return TV_OK;
}

tv_status run_job_machine(const run_job *job, const tv_module *module, const tv_vm_options *options, tv_vm **out_vm)
{
    TV_TRY(tv_vm_new(module, options, job->sink, out_vm));
    vm_observe(*out_vm, job->observer);
    return add_buffers(job, *out_vm);
}

void run_job_starts(run_job *job)
{
    for (size_t i = 0; i < job->set.count; i++)
        if (job->set.values[i].array_count)
            job->set.values[i].before = arg_value_fingerprint(&job->set.values[i]);
    job->ran = true;
    job->outcome = RUN_TRAPPED;
}

/* How the run ended, without what is suppressed. A finding that has stopped the kernel always counts. */
static tv_status judge(run_job *job, tv_status status)
{
    report_file *report = &job->report;
    if (status == TV_TRAP)
        report_unsuppress(report);
    return status == TV_INVALID && report->suppressed && !report->errors ? TV_OK : status;
}

tv_status run_job_kernel(run_job *job, const tv_vm_options *options)
{
    size_t count;
    TV_TRY(run_job_machine(job, job->module, options, &job->vm));
    const void *const *params = tv_call_params(job->call, &count);
    run_job_starts(job);
    tv_status status = tv_vm_run(job->vm, job->symbol, job->options.grid, params, count, job->sink);
    tv_vm_get_stats(job->vm, &job->stats);
    status = judge(job, run_made_up_status(job, status));
    if (status == TV_INVALID)
        job->outcome = RUN_FINDINGS;
    return status;
}

void run_job_release(run_job *job)
{
    for (size_t i = 0; i < job->expect_count; i++) {
        arg_array_free(&job->expects[i].want);
        arg_comparison_free(&job->expects[i].comparison);
    }
    arg_set_release(&job->set);
    tv_vm_free(job->vm);
    tv_call_free(job->call);
    tv_signature_close(job->signature);
    if (job->module)
        tv_module_close(job->module);
    cli_file_free(&job->file);
    report_file_release(&job->report);
    bc_text_release(&job->output);
    bc_arena_release(&job->arena);
}

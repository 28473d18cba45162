/* Takes one sample at a time. On a GPU everything runs in one stream: the write that flushes the caches comes before
   the first event, so the launch after that event waits for nothing else. */
#include <stdlib.h>
#include <string.h>

#include "loader/message.h"
#include "tools/tilevm/bench/bench.h"
#include "tools/tilevm/cli/progress.h"

enum { LEAST_FLUSH = 64 << 20, FLUSH_OF_L2 = 4, HOST_FLUSH = 256 << 20 };

static bool device_fails(io_error *error)
{
    return io_fail(error, "%s", tvGetLastErrorMessage());
}

/* ---- opening ---- */

static bool take_flush(bench_bed *bed, io_error *error)
{
    if (!bed->options->cold)
        return true;
    if (!bed->on_gpu) {
        bed->flush_bytes = HOST_FLUSH;
        bed->host_flush = calloc(1, bed->flush_bytes);
        return bed->host_flush || io_fail(error, "out of memory");
    }
    size_t l2 = (size_t)bed->limits.l2_bytes * FLUSH_OF_L2;
    bed->flush_bytes = l2 > LEAST_FLUSH ? l2 : LEAST_FLUSH;
    return ld_device_alloc(&bed->device.gpu, bed->flush_bytes, &bed->flush) == LD_CUDA_SUCCESS || device_fails(error);
}

static bool open_gpu(bench_bed *bed, io_error *error)
{
    run_job *job = bed->job;
    if (run_device_open(job, job->options.ordinal, &bed->device) != LD_CUDA_SUCCESS
        || ld_timer_open(&bed->device.gpu, &bed->timer) != LD_CUDA_SUCCESS
        || run_device_copy_there(&bed->device) != LD_CUDA_SUCCESS)
        return device_fails(error);
    bed->params = run_device_params(&bed->device, NULL);
    if (!bed->params)
        return io_fail(error, "out of memory");
    snprintf(bed->where, sizeof bed->where, "cuda:%d, %s (sm_%u)", job->options.ordinal, bed->device.gpu.name,
             bed->device.gpu.target);
    bench_limits_read(&bed->device.gpu, &bed->limits);
    bed->on_gpu = true;
    return true;
}

static bool choose_place(bench_bed *bed, io_error *error)
{
    run_where where = bed->job->options.where;
    if (where != RUN_ON_CPU && open_gpu(bed, error))
        return true;
    if (where == RUN_ON_CUDA)
        return false;
    if (where == RUN_ON_AUTO) {
        size_t line = strcspn(error->text, "\n");
        snprintf(bed->not_there, sizeof bed->not_there, "%.*s", (int)line, error->text);
        ld_timer_close(&bed->device.gpu, &bed->timer);
        run_device_close(&bed->device);
        error->text[0] = 0;
    }
    snprintf(bed->where, sizeof bed->where, "the CPU, by the virtual machine");
    return true;
}

bool bench_bed_open(bench_bed *bed, run_job *job, const bench_options *options, io_error *error)
{
    *bed = (bench_bed){.job = job, .options = options};
    return choose_place(bed, error) && take_flush(bed, error);
}

void bench_bed_close(bench_bed *bed)
{
    if (bed->device.gpu.driver) {
        ld_device_free(&bed->device.gpu, bed->flush);
        ld_timer_close(&bed->device.gpu, &bed->timer);
        run_device_close(&bed->device);
    }
    free(bed->params);
    free(bed->host_flush);
    *bed = (bench_bed){.job = NULL};
}

/* ---- samples ---- */

/* Several launches are one graph, so that neither the host's pace nor the state of its queues has an effect. */
static tvResult time_launches(bench_bed *bed, bench_subject *s, double *out_ms)
{
    const ld_device *gpu = &bed->device.gpu;
    ld_launch l = {.function = s->kernel.function, .shared_bytes = s->kernel.shared_bytes, .params = bed->params};
    memcpy(l.grid, s->grid, sizeof l.grid);
    memcpy(l.block, s->kernel.block, sizeof l.block);
    if (s->launches == 1)
        return ld_device_time(gpu, &bed->timer, &l, 1, out_ms);
    if (s->graph.times != s->launches) {
        ld_graph_close(&s->graph);
        tvResult code = ld_graph_open(gpu, &bed->timer, &l, s->launches, &s->graph);
        if (code != LD_CUDA_SUCCESS)
            return code;
    }
    return ld_graph_time(&s->graph, &bed->timer, out_ms);
}

static bool sample_gpu(bench_bed *bed, bench_subject *s, double *out_us, io_error *error)
{
    double ms;
    if ((bed->options->restore && run_device_copy_there(&bed->device) != LD_CUDA_SUCCESS)
        || (bed->flush && ld_device_fill(&bed->device.gpu, bed->flush, 0, bed->flush_bytes) != LD_CUDA_SUCCESS)
        || time_launches(bed, s, &ms) != LD_CUDA_SUCCESS)
        return device_fails(error);
    *out_us = ms * 1e3 / s->launches;
    return true;
}

static bool sample_cpu(bench_bed *bed, const bench_subject *s, double *out_us, io_error *error)
{
    size_t count;
    const void *const *params = tv_call_params(bed->job->call, &count);
    double seconds = 0;
    if (bed->host_flush)
        memset(bed->host_flush, (int)(s->launches & 0xff), bed->flush_bytes);
    for (unsigned i = 0; i < s->launches; i++) {
        tv_vm_stats stats;
        tv_status status = tv_vm_run(s->vm, s->symbol, s->grid, params, count, bed->job->sink);
        if (status != TV_OK)
            return io_fail(error, "%s", status == TV_NO_MEMORY ? "out of memory" : "");
        tv_vm_get_stats(s->vm, &stats);
        seconds += stats.seconds;
    }
    *out_us = seconds * 1e6 / s->launches;
    return true;
}

bool bench_bed_sample(bench_bed *bed, bench_subject *subject, double *out_us, io_error *error)
{
    return bed->on_gpu ? sample_gpu(bed, subject, out_us, error) : sample_cpu(bed, subject, out_us, error);
}

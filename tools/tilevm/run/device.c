/* A job's arrays on a GPU. */
#include "tools/tilevm/run/device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/image.h"
#include "loader/message.h"

tvResult run_device_no_memory(void)
{
    return ld_fail(LD_RULE_L_MEM_01, LD_CUDA_OUT_OF_MEMORY, "out of memory on the host");
}

/* ---- memory and parameters ---- */

static tvResult take_memory(run_device *d)
{
    d->pieces = bc_new(&d->job->arena, run_piece, d->memory.count);
    if (!d->pieces)
        return run_device_no_memory();
    for (size_t i = 0; i < d->memory.count; i++) {
        run_piece *p = &d->pieces[i];
        tvResult code = ld_device_alloc(&d->gpu, d->memory.pieces[i]->block_size + ARG_GUARD, &p->given);
        if (code != LD_CUDA_SUCCESS)
            return code;
        p->block = (p->given + ARG_GUARD - 1) / ARG_GUARD * ARG_GUARD;
    }
    return LD_CUDA_SUCCESS;
}

static void *address_there(const void *user, const arg_array *array)
{
    const run_device *d = user;
    if (!array->storage)
        return NULL;
    uint64_t offset = (uint64_t)(array->first - array->storage->block);
    return (void *)(uintptr_t)(d->pieces[run_memory_place(&d->memory, array)].block + offset);
}

/* The descriptors of lists hold addresses of the device, and go there. */
static tvResult copy_lists(run_device *d)
{
    void *bytes;
    size_t size, count = 0;
    while (tv_call_storage(d->call, count, &bytes, &size))
        count++;
    d->lists = bc_new(&d->job->arena, tvDevicePtr, count);
    if (!d->lists)
        return run_device_no_memory();
    for (; d->list_count < count; d->list_count++) {
        tv_call_storage(d->call, d->list_count, &bytes, &size);
        tvResult code = ld_device_alloc(&d->gpu, size, &d->lists[d->list_count]);
        if (code == LD_CUDA_SUCCESS)
            code = ld_device_write(&d->gpu, d->lists[d->list_count], bytes, size);
        if (code != LD_CUDA_SUCCESS)
            return code;
    }
    return LD_CUDA_SUCCESS;
}

static tvResult make_call(run_device *d)
{
    tv_status status = run_job_call(d->job, address_there, d, &d->call);
    if (status == TV_NO_MEMORY)
        return run_device_no_memory();
    return status == TV_OK ? copy_lists(d)
                           : ld_fail(LD_RULE_L_LAUNCH_03, LD_CUDA_INVALID_VALUE,
                                     "the arguments do not fit the address space of the device");
}

tvResult run_device_open(run_job *job, int ordinal, run_device *out)
{
    *out = (run_device){.job = job};
    if (!run_memory_collect(&job->arena, &job->set, &out->memory))
        return run_device_no_memory();
    tvResult code = ld_device_open(ordinal, &out->gpu);
    if (code == LD_CUDA_SUCCESS)
        code = take_memory(out);
    return code == LD_CUDA_SUCCESS ? make_call(out) : code;
}

void run_device_close(run_device *d)
{
    for (size_t i = 0; i < d->list_count; i++)
        ld_device_free(&d->gpu, d->lists[i]);
    for (size_t i = 0; d->pieces && i < d->memory.count; i++)
        ld_device_free(&d->gpu, d->pieces[i].given);
    tv_call_free(d->call);
    ld_device_close(&d->gpu);
    *d = (run_device){0};
}

uint64_t run_device_host_address(const run_device *d, uint64_t address)
{
    for (size_t i = 0; i < d->memory.count; i++) {
        const arg_storage *s = d->memory.pieces[i];
        if (address >= d->pieces[i].block && address - d->pieces[i].block <= s->block_size)
            return (uintptr_t)s->block + (address - d->pieces[i].block);
    }
    return 0;
}

/* ---- kernels ---- */

/* Threads and shared memory of PTX that was compiled from Tile IR; a caller of a kernel counts tile blocks only. */
static void read_record(run_kernel *k, const char *text, const char *entry)
{
    bc_arena arena;
    ld_record *records;
    size_t count;
    bc_arena_init(&arena, NULL, 0);
    if (!ld_is_bytecode(text) && ld_records_from_ptx(&arena, bc_str(text), &records, &count))
        for (size_t i = 0; i < count; i++)
            if (strcmp(records[i].name, entry) == 0 && records[i].block[0]) {
                memcpy(k->block, records[i].block, sizeof k->block);
                k->shared_bytes = records[i].shared_bytes;
            }
    bc_arena_release(&arena);
}

tvResult run_device_load(const void *bytes, const char *entry, run_kernel *out)
{
    *out = (run_kernel){.block = {1, 1, 1}};
    tvResult code = tvModuleLoadData(&out->module, bytes);
    if (code != LD_CUDA_SUCCESS)
        return ld_is_bytecode(bytes) ? code : ld_fail(LD_RULE_L_LOAD_01, code, "the driver cannot load the image");
    code = tvModuleGetFunction(&out->function, out->module, entry);
    if (code != LD_CUDA_SUCCESS && !ld_is_bytecode(bytes))
        ld_fail(LD_RULE_L_LOAD_02, code, "the image has no kernel %s", entry);
    read_record(out, bytes, entry);
    if (code != LD_CUDA_SUCCESS)
        run_device_unload(out);
    return code;
}

void run_device_unload(run_kernel *kernel)
{
    if (kernel->module)
        tvModuleUnload(kernel->module);
    *kernel = (run_kernel){0};
}

/* ---- what kernels print ---- */

/* The driver prints to standard output when the kernel has ended: a file takes its place. */
void run_capture_begin(run_capture *c, bool wanted)
{
    fflush(stdout);
    *c = (run_capture){.file = wanted ? tmpfile() : NULL, .saved = -1};
    if (c->file && (c->saved = dup(STDOUT_FILENO)) >= 0)
        dup2(fileno(c->file), STDOUT_FILENO);
}

void run_capture_end(run_capture *c, bc_text *out)
{
    char part[4096];
    if (c->saved >= 0) {
        fflush(stdout);
        dup2(c->saved, STDOUT_FILENO);
        close(c->saved);
        rewind(c->file);
        for (size_t n; (n = fread(part, 1, sizeof part, c->file)) > 0;)
            bc_text_bytes(out, part, n);
    }
    if (c->file)
        fclose(c->file);
}

/* ---- running ---- */

tvResult run_device_copy_there(const run_device *d)
{
    tvResult code = LD_CUDA_SUCCESS;
    for (size_t i = 0; code == LD_CUDA_SUCCESS && i < d->memory.count; i++)
        code =
            ld_device_write(&d->gpu, d->pieces[i].block, d->memory.pieces[i]->block, d->memory.pieces[i]->block_size);
    return code;
}

static tvResult copy_back(const run_device *d)
{
    tvResult code = LD_CUDA_SUCCESS;
    for (size_t i = 0; code == LD_CUDA_SUCCESS && i < d->memory.count; i++)
        code = ld_device_read(&d->gpu, d->memory.pieces[i]->block, d->pieces[i].block, d->memory.pieces[i]->block_size);
    return code;
}

/* Addresses of lists, which the call has for the host, are replaced. */
void **run_device_params(const run_device *d, tvDevicePtr *extra)
{
    size_t count, size;
    void *bytes;
    const void *const *given = tv_call_params(d->call, &count);
    void **params = calloc(count + 1, sizeof *params);
    for (size_t i = 0; params && i < count; i++) {
        params[i] = (void *)(uintptr_t)given[i];
        tv_slot slot;
        if (!tv_signature_slot(d->job->signature, i, &slot) || slot.role != TV_SLOT_LIST_ADDRESS)
            continue;
        for (size_t k = 0; tv_call_storage(d->call, k, &bytes, &size); k++)
            if (memcmp(given[i], &bytes, sizeof bytes) == 0)
                params[i] = &d->lists[k];
    }
    if (params)
        params[count] = extra;
    return params;
}

static tvResult launch(run_device *d, const run_kernel *k, tvDevicePtr *extra, double *out_ms)
{
    void **params = run_device_params(d, extra);
    if (!params)
        return run_device_no_memory();
    ld_launch l = {.function = k->function, .shared_bytes = k->shared_bytes, .params = params};
    memcpy(l.grid, d->job->options.grid, sizeof l.grid);
    memcpy(l.block, k->block, sizeof l.block);
    run_capture c;
    run_capture_begin(&c, d->output != NULL);
    tvResult code = ld_device_run(&d->gpu, &l, out_ms);
    run_capture_end(&c, d->output);
    free(params);
    return code;
}

tvResult run_device_run(run_device *d, const run_kernel *kernel, void *extra, size_t extra_size, double *out_ms)
{
    tvDevicePtr place = 0;
    tvResult code = extra ? ld_device_alloc(&d->gpu, extra_size, &place) : LD_CUDA_SUCCESS;
    if (code == LD_CUDA_SUCCESS && extra)
        code = ld_device_write(&d->gpu, place, extra, extra_size);
    if (code == LD_CUDA_SUCCESS)
        code = run_device_copy_there(d);
    if (code == LD_CUDA_SUCCESS)
        code = launch(d, kernel, &place, out_ms);
    if (code == LD_CUDA_SUCCESS)
        code = copy_back(d);
    if (code == LD_CUDA_SUCCESS && extra)
        code = ld_device_read(&d->gpu, extra, place, extra_size);
    ld_device_free(&d->gpu, place);
    return code;
}

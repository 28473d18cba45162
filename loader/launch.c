/* Launches. The caller counts tile blocks and knows of no threads; the kernel gets the threads and the shared memory
   that it was compiled for. Kernels that are not ours are passed on unchanged. */
#include <stdio.h>

#include "loader/message.h"
#include "loader/registry.h"

/* Limits of every device from sm_30 on. Source: CUDA C++ programming guide, technical specifications per compute
   capability. */
enum { LARGEST_GRID_X = 0x7fffffff, LARGEST_GRID_YZ = 65535 };

/* How cuLaunchKernel takes parameters as one buffer. Source: CUDA driver API reference, cuLaunchKernel. */
enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 };

static tvResult wrong(ld_rule rule, const ld_record *record, const char *what)
{
    return ld_fail(rule, LD_CUDA_INVALID_VALUE, "launch of %s: %s", record->name, what);
}

static tvResult check_grid(const ld_record *record, const unsigned grid[3])
{
    char what[160];
    for (unsigned i = 0; i < 3; i++) {
        unsigned largest = i == 0 ? LARGEST_GRID_X : LARGEST_GRID_YZ;
        if (grid[i] >= 1 && grid[i] <= largest)
            continue;
        snprintf(what, sizeof what, "the grid has %u tile blocks in %c; 1 to %u are possible", grid[i], "xyz"[i],
                 largest);
        return wrong(LD_RULE_L_LAUNCH_01, record, what);
    }
    return LD_CUDA_SUCCESS;
}

static tvResult check_buffer(const ld_record *record, void **extra)
{
    char what[160];
    for (size_t i = 0; extra[i] != (void *)EXTRA_END; i += 2) {
        if (extra[i] != (void *)EXTRA_SIZE)
            continue;
        size_t size = *(const size_t *)extra[i + 1];
        if (size == record->param_bytes)
            return LD_CUDA_SUCCESS;
        snprintf(what, sizeof what, "the parameter buffer has %zu bytes, but its %u parameters take %u", size,
                 record->param_count, record->param_bytes);
        return wrong(LD_RULE_L_LAUNCH_03, record, what);
    }
    return LD_CUDA_SUCCESS;
}

static tvResult check_params(const ld_record *record, void **params, void **extra)
{
    char what[160];
    if (extra && !params)
        return check_buffer(record, extra);
    if (!params && record->param_count) {
        snprintf(what, sizeof what, "the kernel takes %u parameters, but kernelParams is NULL", record->param_count);
        return wrong(LD_RULE_L_LAUNCH_03, record, what);
    }
    for (uint32_t i = 0; i < record->param_count; i++)
        if (!params[i]) {
            snprintf(what, sizeof what, "kernelParams[%u] is NULL; the kernel takes %u parameters", i,
                     record->param_count);
            return wrong(LD_RULE_L_LAUNCH_03, record, what);
        }
    return LD_CUDA_SUCCESS;
}

static void put_block(const ld_record *record, tvLaunchConfig *config)
{
    config->blockDimX = record->block[0];
    config->blockDimY = record->block[1];
    config->blockDimZ = record->block[2];
}

/* Checks a launch of a kernel of ours and fills in what its caller does not know. A block that is neither 1, 1, 1 nor
   what the kernel was compiled for is left for the driver to refuse. */
static tvResult prepare(const ld_record *record, tvLaunchConfig *config, void **params, void **extra)
{
    const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const unsigned block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    bool unit = block[0] == 1 && block[1] == 1 && block[2] == 1;
    if (record->only_block && unit)
        put_block(record, config);
    if (record->only_block)
        return LD_CUDA_SUCCESS;
    if (!unit && (block[0] != record->block[0] || block[1] != record->block[1] || block[2] != record->block[2]))
        return LD_CUDA_SUCCESS;
    tvResult code = check_grid(record, grid);
    if (code == LD_CUDA_SUCCESS)
        code = check_params(record, params, extra);
    if (code == LD_CUDA_SUCCESS && config->sharedMemBytes && config->sharedMemBytes != record->shared_bytes)
        code = wrong(LD_RULE_L_LAUNCH_04, record,
                     "the compiler chooses the shared memory of a Tile IR kernel: sharedMemBytes must be 0");
    if (code != LD_CUDA_SUCCESS)
        return code;
    if (record->block[0])
        put_block(record, config);
    config->sharedMemBytes = record->shared_bytes;
    return LD_CUDA_SUCCESS;
}

/* Handles the result of the driver's call. */
static tvResult launched(const struct CUfunc_st *f, const ld_record *record, const tvLaunchConfig *config,
                         tvResult code)
{
    if (code == LD_CUDA_SUCCESS || record->only_block || ld_registry_jit_failed(f, code))
        return code;
    bool foreign_block = record->block[0]
                         && (config->blockDimX != record->block[0] || config->blockDimY != record->block[1]
                             || config->blockDimZ != record->block[2]);
    return ld_fail(foreign_block ? LD_RULE_L_LAUNCH_02 : LD_RULE_L_LAUNCH_05, code,
                   "launch of %s with %u, %u, %u tile blocks of %u threads", record->name, config->gridDimX,
                   config->gridDimY, config->gridDimZ, config->blockDimX * config->blockDimY * config->blockDimZ);
}

typedef tvResult launch_fn(struct CUfunc_st *f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, struct CUstream_st *stream,
                           void **params, void **extra);
typedef tvResult launch_ex_fn(const tvLaunchConfig *config, struct CUfunc_st *f, void **params, void **extra);

static tvResult launch_ours(launch_fn *launch, const ld_record *record, struct CUfunc_st *f, tvLaunchConfig config,
                            void **params, void **extra)
{
    tvResult code = prepare(record, &config, params, extra);
    if (code != LD_CUDA_SUCCESS)
        return code;
    code = launch(f, config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX, config.blockDimY,
                  config.blockDimZ, config.sharedMemBytes, config.hStream, params, extra);
    return launched(f, record, &config, code);
}

static tvResult launch_ex(launch_ex_fn *launch, const tvLaunchConfig *config, struct CUfunc_st *f, void **params,
                          void **extra)
{
    ld_record record;
    if (!config || !ld_registry_find(f, &record))
        return launch(config, f, params, extra);
    tvLaunchConfig changed = *config;
    tvResult code = prepare(&record, &changed, params, extra);
    return code == LD_CUDA_SUCCESS ? launched(f, &record, &changed, launch(&changed, f, params, extra)) : code;
}

/* The functions that come in two kinds, by default stream. */
#define LAUNCHES(suffix)                                                                                             \
    tvResult tvLaunchKernel##suffix(struct CUfunc_st *f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,    \
                                    unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ,                      \
                                    unsigned sharedMemBytes, struct CUstream_st *hStream, void **kernelParams,       \
                                    void **extra)                                                                    \
    {                                                                                                                \
        const ld_driver *driver;                                                                                     \
        ld_record record;                                                                                            \
        tvResult code = ld_driver_open(&driver);                                                                     \
        if (code != LD_CUDA_SUCCESS)                                                                                 \
            return code;                                                                                             \
        if (!ld_registry_find(f, &record))                                                                           \
            return driver->cuLaunchKernel##suffix(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,  \
                                                  sharedMemBytes, hStream, kernelParams, extra);                     \
        tvLaunchConfig config = {.gridDimX = gridDimX,                                                               \
                                 .gridDimY = gridDimY,                                                               \
                                 .gridDimZ = gridDimZ,                                                               \
                                 .blockDimX = blockDimX,                                                             \
                                 .blockDimY = blockDimY,                                                             \
                                 .blockDimZ = blockDimZ,                                                             \
                                 .sharedMemBytes = sharedMemBytes,                                                   \
                                 .hStream = hStream};                                                                \
        return launch_ours(driver->cuLaunchKernel##suffix, &record, f, config, kernelParams, extra);                 \
    }                                                                                                                \
    tvResult tvLaunchKernelEx##suffix(const tvLaunchConfig *config, struct CUfunc_st *f, void **kernelParams,        \
                                      void **extra)                                                                  \
    {                                                                                                                \
        const ld_driver *driver;                                                                                     \
        tvResult code = ld_driver_open(&driver);                                                                     \
        return code == LD_CUDA_SUCCESS ? launch_ex(driver->cuLaunchKernelEx##suffix, config, f, kernelParams, extra) \
                                       : code;                                                                       \
    }

LAUNCHES()
LAUNCHES(_ptsz)

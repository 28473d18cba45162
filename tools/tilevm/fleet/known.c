/* The tables of devices and drivers as C. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/tilevm/fleet/fleet.h"

static const fleet_gpu gpus[] = {
#define GPU(name, sm, processors) {name, sm, processors},
#include "tools/tilevm/fleet/gpus.def"
};

const char *fleet_gpu_name(const void *unused, size_t i)
{
    (void)unused;
    return i < TV_COUNT(gpus) ? gpus[i].name : NULL;
}

bool fleet_find_gpu(const char *name, fleet_gpu *out)
{
    fleet_capability capability;
    for (size_t i = 0; i < TV_COUNT(gpus); i++)
        if (strcasecmp(gpus[i].name, name) == 0) {
            *out = gpus[i];
            return true;
        }
    char *end = NULL;
    unsigned long sm = strncmp(name, "sm_", 3) == 0 ? strtoul(name + 3, &end, 10) : 0;
    if (!end || *end || sm > 999 || !fleet_find_capability((unsigned)sm, &capability))
        return false;
    *out = (fleet_gpu){.name = name, .sm = (unsigned)sm};
    return true;
}

/* What the code generator knows of the capability. */
static void add_limits(fleet_capability *out)
{
    static const struct {
        unsigned sm, block_shared_kib, threads;
    } targets[] = {
#define TARGET(name, sm, suffix, ptx, shared_kib, threads, features) {sm, shared_kib, threads},
#include "codegen/kernel/targets.def"
    };
    for (size_t i = 0; i < TV_COUNT(targets); i++)
        if (targets[i].sm == out->sm) {
            out->block_shared_bytes = targets[i].block_shared_kib << 10;
            out->threads = targets[i].threads;
        }
    out->path = cg_path_of(cg_target_find(bc_str(tv_target_for(out->sm, true, 0))));
}

bool fleet_find_capability(unsigned sm, fleet_capability *out)
{
    static const struct {
        unsigned sm;
        int first;
        unsigned shared_kib, blocks;
    } capabilities[] = {
#define CAPABILITY(sm, first, shared_kib, blocks) {sm, first, shared_kib, blocks},
#include "tools/tilevm/fleet/gpus.def"
    };
    for (size_t i = 0; i < TV_COUNT(capabilities); i++)
        if (capabilities[i].sm == sm) {
            *out = (fleet_capability){.sm = sm,
                                      .first_cuda = capabilities[i].first,
                                      .shared_bytes = capabilities[i].shared_kib << 10,
                                      .blocks = capabilities[i].blocks};
            add_limits(out);
            return true;
        }
    return false;
}

/* The CUDA version of a driver's branch: that of the last one which is not later. */
static int cuda_of_branch(unsigned long major)
{
    static const struct {
        unsigned long major;
        int cuda;
    } drivers[] = {
#define DRIVER(major, cuda) {major, cuda},
#include "tools/tilevm/fleet/gpus.def"
    };
    int found = 11000; /* older ones: whatever it is, it is too old */
    for (size_t i = 0; i < TV_COUNT(drivers); i++)
        if (drivers[i].major <= major)
            found = drivers[i].cuda;
    return found;
}

int fleet_cuda_of_driver(const char *text)
{
    enum { FIRST_BRANCH = 300, LAST = 9999 };
    char *end;
    if (strspn(text, "0123456789.") != strlen(text) || text[0] == '.' || !text[0])
        return 0;
    unsigned long major = strtoul(text, &end, 10), minor = 0;
    if (*end == '.')
        minor = strtoul(end + 1, &end, 10);
    if (major >= FIRST_BRANCH && major <= LAST)
        return cuda_of_branch(major);
    return major >= 1 && major < 100 && minor < 10 && !*end ? (int)(major * 1000 + minor * 10) : 0;
}

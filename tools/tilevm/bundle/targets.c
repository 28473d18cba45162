/* The targets of a command line. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/bundle/bundle.h"

static int by_number(const void *a, const void *b)
{
    const char *x = a, *y = b;
    unsigned long m = strtoul(x + 3, NULL, 10), n = strtoul(y + 3, NULL, 10);
    return m != n ? (m > n) - (m < n) : strcmp(x, y);
}

bool bundle_settle_targets(cli_args *args, cli_targets *targets)
{
    if (!targets->count && !cli_target_list(args, "sm_80,sm_90,sm_100,sm_120", targets))
        return false;
    qsort(targets->names, targets->count, sizeof *targets->names, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < targets->count; i++) {
        const char *name = targets->names[i];
        const char *known = tv_target_for((unsigned)strtoul(name + 3, NULL, 10), strchr(name, 'a') != NULL, 0);
        if (!known || strcmp(known, name) != 0) {
            cli_usage(args, "%s is not a target that tilevm knows", name);
            return false;
        }
        if (kept == 0 || strcmp(targets->names[kept - 1], name) != 0)
            memmove(targets->names[kept++], name, sizeof *targets->names);
    }
    targets->count = kept;
    return true;
}

/* Looks up remedies; see codegen/remedies.def. */
#include <string.h>

#include "codegen/weigh.h"

const char *cg_remedy_of(tv_str why)
{
    static const struct {
        const char *why, *remedy;
    } rows[] = {
#define REMEDY(why, remedy) {why, remedy},
#include "codegen/remedies.def"
    };
    for (size_t i = 0; i < TV_COUNT(rows); i++) {
        size_t length = strlen(rows[i].why);
        if (why.len >= length && memcmp(why.ptr, rows[i].why, length) == 0)
            return rows[i].remedy;
    }
    return NULL;
}

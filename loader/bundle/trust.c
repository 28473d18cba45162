/* Requirements on signatures. */
#include "loader/bundle/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

ld_trust ld_trust_of(const char *key)
{
    return (ld_trust){.key = key ? key : secure_getenv("TILEVM_BUNDLE_KEY"),
                      .trust = secure_getenv("TILEVM_BUNDLE_TRUST"),
                      .policy = LD_TRUST_POLICY};
}

/* A dangling link counts as present, because whoever made it required a signature. */
static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 || errno != ENOENT;
}

bool ld_trust_check(const ld_trust *trust, tv_str lines, tv_str message, char problem[LD_CRYPTO_PROBLEM])
{
    const char *policy = is_there(trust->policy) ? trust->policy : NULL;
    const char *const asked[] = {trust->key, trust->trust, policy};
    bool satisfied = true, checked = false;
    for (size_t i = 0; satisfied && i < TV_COUNT(asked); i++)
        if (asked[i] && asked[i][0]) {
            satisfied = ld_signature_verify(lines, message, asked[i], problem);
            checked = true;
        }
    return satisfied && (checked || !lines.len || ld_signature_check(lines, message, problem));
}

#include "tests/ptxsim/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files.h"

static void find_ptxas(char *out, size_t size)
{
    const char *given = getenv("PTXAS"), *path = getenv("PATH");
    static const char usual[] = "/usr/local/cuda/bin";
    out[0] = '\0';
    if (given) {
        snprintf(out, size, "%s", given);
        return;
    }
    for (const char *at = path ? path : ""; *at;) {
        size_t length = strcspn(at, ":");
        snprintf(out, size, "%.*s/ptxas", (int)length, at);
        if (access(out, X_OK) == 0)
            return;
        at += length + (at[length] == ':');
    }
    snprintf(out, size, "%s/ptxas", usual);
    if (access(out, X_OK) != 0)
        out[0] = '\0';
}

void harness_dump(const char *name, const void *bytes, size_t size)
{
    char path[600];
    const char *folder = getenv("PTXSIM_DUMP");
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!files_write(path, bytes, size))
        perror(path);
}

bool harness_ptxas(const char *text, size_t size, const char *arch)
{
    char ptxas[512], file[] = "/tmp/ptxsim-XXXXXX", command[1200];
    find_ptxas(ptxas, sizeof ptxas);
    if (!ptxas[0])
        return true;
    int handle = mkstemp(file);
    if (handle < 0)
        return false;
    close(handle);
    bool fine = files_write(file, text, size);
    snprintf(
        command, sizeof command,
        "out=$('%s' -arch=%s -O0 -w '%s' -o /dev/null 2>&1) && exit\n"
        "case $out in *'Unsupported .version'*|*'not defined for option'*) exit 0;; esac\necho \"$out\" >&2; exit 1",
        ptxas, arch, file);
    fine = fine && system(command) == 0;
    unlink(file);
    return fine;
}

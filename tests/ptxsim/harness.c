#include "tests/ptxsim/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/files.h"

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

bool harness_has_ptxas(void)
{
    char ptxas[512];
    find_ptxas(ptxas, sizeof ptxas);
    return ptxas[0] != '\0';
}

static bool is_listed(harness_target *all, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i], name) == 0)
            return true;
    return false;
}

size_t harness_ptxas_targets(harness_target *out, size_t most)
{
    char ptxas[512], command[600], line[1024];
    size_t count = 0;
    find_ptxas(ptxas, sizeof ptxas);
    snprintf(command, sizeof command, "'%s' --help", ptxas);
    FILE *help = ptxas[0] ? popen(command, "r") : NULL;
    while (help && fgets(line, sizeof line, help))
        for (const char *at = line; (at = strstr(at, "'sm_")) && count < most; at++) {
            harness_target name;
            int end = 0;
            if (sscanf(at, "'%15[a-z0-9_]'%n", name, &end) == 1 && end && !is_listed(out, count, name))
                memcpy(out[count++], name, sizeof name);
        }
    if (help)
        pclose(help);
    return count;
}

typedef enum verdict { TAKEN, TOO_OLD, REFUSED } verdict;

static verdict ask_ptxas(const char *text, size_t size, const char *arch, bool quietly)
{
    char ptxas[512], file[] = "/tmp/ptxsim-XXXXXX", command[1200];
    find_ptxas(ptxas, sizeof ptxas);
    if (!ptxas[0])
        return TOO_OLD;
    int handle = mkstemp(file);
    if (handle < 0)
        return REFUSED;
    close(handle);
    snprintf(command, sizeof command,
             "out=$('%s' -arch=%s -O0 -w '%s' -o /dev/null 2>&1) && exit\n"
             "case $out in *'Unsupported .version'*|*'not defined for option'*) exit 3;; esac\n%s\nexit 1",
             ptxas, arch, file, quietly ? "" : "echo \"$out\" >&2");
    int status = files_write(file, text, size) ? system(command) : 1;
    unlink(file);
    return status == 0 ? TAKEN : WIFEXITED(status) && WEXITSTATUS(status) == 3 ? TOO_OLD : REFUSED;
}

bool harness_ptxas(const char *text, size_t size, const char *arch)
{
    return ask_ptxas(text, size, arch, false) != REFUSED;
}

bool harness_ptxas_quietly(const char *text, size_t size, const char *arch)
{
    return ask_ptxas(text, size, arch, true) == TAKEN;
}

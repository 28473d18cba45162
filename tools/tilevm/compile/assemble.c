/* PTX to cubins. ptxas reads and writes files, which live in a folder of their own as long as it runs. */
#include "tools/tilevm/compile/assemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/jit.h"
#include "tools/tilevm/cli/program.h"

/* ---- finding ptxas ---- */

/* FOLDER/SUB/ptxas if it can be run, in the buffer, else NULL. The folder has len characters. */
static const char *ptxas_in(const char *folder, size_t len, const char *sub, char buffer[ASSEMBLE_PATH])
{
    struct stat info;
    if (!len || len > ASSEMBLE_PATH)
        return NULL;
    int size = snprintf(buffer, ASSEMBLE_PATH, "%.*s%s/ptxas", (int)len, folder, sub);
    bool found = size > 0 && size < ASSEMBLE_PATH && stat(buffer, &info) == 0 && S_ISREG(info.st_mode);
    return found && access(buffer, X_OK) == 0 ? buffer : NULL;
}

static const char *ptxas_beside_us(char buffer[ASSEMBLE_PATH])
{
    char self[ASSEMBLE_PATH];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = 0;
    char *slash = strrchr(self, '/');
    return slash ? ptxas_in(self, (size_t)(slash - self), "", buffer) : NULL;
}

const char *assemble_find_ptxas(char buffer[ASSEMBLE_PATH])
{
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
    static const char usual[] = "/usr/local/cuda/bin";
    const char *given = getenv("TILEVM_PTXAS");
    if (given && given[0])
        return strcmp(given, "none") == 0 ? NULL : given;
    const char *found = ptxas_beside_us(buffer);
    for (size_t i = 0; !found && i < TV_COUNT(homes); i++) {
        const char *home = getenv(homes[i]);
        found = home ? ptxas_in(home, strlen(home), "/bin", buffer) : NULL;
    }
    for (const char *path = getenv("PATH"); !found && path && *path;) {
        size_t part = strcspn(path, ":");
        found = ptxas_in(path, part, "", buffer);
        path += part + (path[part] == ':');
    }
    return found ? found : ptxas_in(usual, strlen(usual), "", buffer);
}

/* ---- running it ---- */

static bool write_input(const char *path, tv_str ptx)
{
    FILE *file = fopen(path, "wbx");
    bool written = file && fwrite(ptx.ptr, 1, ptx.len, file) == ptx.len;
    return file && fclose(file) == 0 && written;
}

/* "ptxas /tmp/x/kernel.ptx, line 12; error : ..." becomes "line 12; error : ...", followed by what the line was made
   for. */
static void explain(tv_str words, const char *input, tv_str ptx, bc_text *log)
{
    const char *p = words.ptr, *end = words.ptr + words.len;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p)), *start = p;
        stop = stop ? stop : end;
        const char *name = memmem(p, (size_t)(stop - p), input, strlen(input));
        if (name)
            start = name + strlen(input) + strspn(name + strlen(input), ", ");
        if (start < stop)
            bc_text_printf(log, "   %.*s\n", (int)(stop - start), start);
        tv_str origin = {0};
        if (name && stop - start > 5 && memcmp(start, "line ", 5) == 0)
            origin = ld_ptx_origin(ptx, (unsigned)strtoul(start + 5, NULL, 10));
        if (origin.len)
            bc_text_printf(log, "      which belongs to %.*s\n", (int)origin.len, origin.ptr);
        p = stop + 1;
    }
}

/* What ptxas says when it is older than the PTX or the GPU. */
static bool is_too_old(tv_str words)
{
    static const char *const signs[] = {"Unsupported .version", "is not defined for option 'gpu-name'"};
    for (size_t i = 0; i < TV_COUNT(signs); i++)
        if (words.len && memmem(words.ptr, words.len, signs[i], strlen(signs[i])))
            return true;
    return false;
}

/* With the folder there. */
static bool assemble_in(const char *folder, const char *ptxas, tv_str ptx, const assemble_options *options,
                        bc_text *cubin, bc_text *log)
{
    char input[256], output[256], level[16];
    snprintf(input, sizeof input, "%s/kernel.ptx", folder);
    snprintf(output, sizeof output, "%s/kernel.cubin", folder);
    snprintf(level, sizeof level, "-O%u", options->opt_level);
    bc_text target, words;
    bc_text_init(&target, NULL);
    bc_text_init(&words, NULL);
    bc_text_puts(&target, "-arch=");
    bc_text_str(&target, ld_ptx_target(ptx));
    /* An option that is not wanted is replaced by one that changes nothing. */
    char *argv[] = {strdup(ptxas),
                    target.ptr,
                    level,
                    options->line_info ? (char[]){"-lineinfo"} : level,
                    options->figures ? (char[]){"-v"} : level,
                    input,
                    (char[]){"-o"},
                    output,
                    NULL};
    bool fine = false;
    int status;
    char *problem = NULL;
    cli_file made;
    if (!argv[0] || target.failed)
        bc_text_puts(log, "   out of memory\n");
    else if (!write_input(input, ptx))
        bc_text_printf(log, "   %s: cannot write: %s\n", input, cli_errno());
    else if ((status = cli_program_run(argv, &words)) != 0) {
        explain(bc_text_get(&words), input, ptx, log);
        if (!words.len)
            bc_text_printf(log, "   it printed nothing, and its exit code is %d\n", status);
        if (is_too_old(bc_text_get(&words)))
            bc_text_puts(
                log, "   help: this ptxas is too old for the kernel; name a newer one with TILEVM_PTXAS, or 'none'\n");
    } else if (!cli_read(output, &made, &problem))
        bc_text_printf(log, "   %s\n", problem ? problem : "out of memory");
    else {
        bc_text_bytes(cubin, made.bytes, made.size);
        cli_file_free(&made);
        fine = !cubin->failed;
        if (options->figures)
            bc_text_str(log, bc_text_get(&words));
    }
    unlink(input);
    unlink(output);
    free(problem);
    free(argv[0]);
    bc_text_release(&target);
    bc_text_release(&words);
    return fine;
}

bool assemble_with_ptxas(const char *ptxas, tv_str ptx, const assemble_options *options, bc_text *cubin, bc_text *log)
{
    const char *top = getenv("TMPDIR");
    char folder[200];
    int len = snprintf(folder, sizeof folder, "%s/tilevm-XXXXXX", top && top[0] ? top : "/tmp");
    if (len < 0 || (size_t)len >= sizeof folder || !mkdtemp(folder)) {
        bc_text_printf(log, "   no folder for temporary files can be made in %s: %s\n", top && top[0] ? top : "/tmp",
                       cli_errno());
        return false;
    }
    bool fine = assemble_in(folder, ptxas, ptx, options, cubin, log);
    rmdir(folder);
    return fine;
}

/* ---- the driver ---- */

bool assemble_with_driver(tv_str ptx, const assemble_options *options, bc_text *cubin, bc_text *log)
{
    const ld_driver *driver;
    if (ld_driver_open(&driver) != LD_CUDA_SUCCESS) {
        bc_text_printf(log, "   %s\n", tvGetLastErrorMessage());
        return false;
    }
    struct CUctx_st *context;
    bc_arena arena;
    bc_arena_init(&arena, NULL, 0);
    const unsigned char *bytes = NULL;
    size_t size = 0;
    const char *step = "cuInit";
    tvResult code = driver->cuInit(0);
    if (code == LD_CUDA_SUCCESS) {
        step = "cuDevicePrimaryCtxRetain";
        code = driver->cuDevicePrimaryCtxRetain(&context, 0);
    }
    if (code == LD_CUDA_SUCCESS) {
        step = "cuCtxPushCurrent";
        code = driver->cuCtxPushCurrent(context);
        if (code == LD_CUDA_SUCCESS) {
            ld_want want = {.target = options->target,
                            .opt_level = options->opt_level,
                            .line_info = options->line_info};
            step = "cuLinkComplete";
            code = ld_link(driver, ptx, &want, &arena, log, &bytes, &size);
            driver->cuCtxPopCurrent(&context);
        }
        driver->cuDevicePrimaryCtxRelease(0);
    }
    if (code == LD_CUDA_SUCCESS) {
        bc_text_bytes(cubin, bytes, size);
    } else {
        const char *name = ld_cuda_error_name(code), *help = ld_cuda_error_help(code);
        bc_text_printf(log, "   %s: CUDA_ERROR_%s (%d)%s%s\n", step, name ? name : "?", (int)code, help[0] ? "; " : "",
                       help);
    }
    bc_arena_release(&arena);
    return code == LD_CUDA_SUCCESS && !cubin->failed;
}

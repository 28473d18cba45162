/* PTX to a cubin through cuLink, with the linker's words brought back to the op that they are about. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "loader/image.h"
#include "loader/message.h"

enum { LOG_SIZE = 16384 };

/* Copies the log line by line. After a line that names a line of the PTX comes the op that it was made for. */
static void explain_log(const char *log, tv_str ptx, bc_text *out)
{
    while (*log) {
        size_t len = strcspn(log, "\n");
        if (len) {
            bc_text_printf(out, "   %.*s\n", (int)len, log);
            tv_str line = {.ptr = log, .len = len};
            const char *number = memmem(line.ptr, line.len, "line ", 5);
            tv_str origin = number && isdigit((unsigned char)number[5])
                                ? ld_ptx_origin(ptx, (unsigned)strtoul(number + 5, NULL, 10)) : (tv_str){0};
            if (origin.len)
                bc_text_printf(out, "      which belongs to %.*s\n", (int)origin.len, origin.ptr);
        }
        log += len + (log[len] == '\n');
    }
}

/* The CUjit_target of PTX: those of one architecture alone (sm_90a) are numbered from CU_COMPUTE_ACCELERATED_TARGET_BASE on. */
static unsigned jit_target(tv_str ptx)
{
    enum { ACCELERATED = 0x10000 };
    tv_str name = ld_ptx_target(ptx);
    unsigned number = 0;
    for (size_t i = 0; i < name.len; i++)
        if (isdigit((unsigned char)name.ptr[i]))
            number = number * 10 + (unsigned)(name.ptr[i] - '0');
    return number + (name.len && name.ptr[name.len - 1] == 'a' ? ACCELERATED : 0);
}

tvResult ld_link(const ld_driver *driver, tv_str ptx, const ld_want *want, bc_arena *arena, bc_text *log,
                 const unsigned char **out_bytes, size_t *out_size)
{
    char *words = calloc(1, LOG_SIZE), *text = malloc(ptx.len + 1);
    struct CUlinkState_st *state = NULL;
    tvResult code = LD_CUDA_OUT_OF_MEMORY;
    if (!words || !text)
        goto done;
    memcpy(text, ptx.ptr, ptx.len);
    text[ptx.len] = 0;
    /* Numbers go in the place of the pointers to values: CUDA driver API reference, CUjit_option. */
    unsigned options[5] = {LD_JIT_ERROR_LOG, LD_JIT_ERROR_LOG_SIZE, LD_JIT_OPTIMIZATION_LEVEL, LD_JIT_LINE_INFO,
                           LD_JIT_TARGET};
    void *values[5] = {words, (void *)(uintptr_t)LOG_SIZE, (void *)(uintptr_t)(want->opt_level ? 4 : 0),
                       (void *)(uintptr_t)want->line_info, (void *)(uintptr_t)jit_target(ptx)};
    code = driver->cuLinkCreate(want->target ? 5 : 4, options, values, &state);
    void *cubin = NULL;
    size_t size = 0;
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuLinkAddData(state, LD_JIT_INPUT_PTX, text, ptx.len + 1, "kernel.ptx", 0, NULL, NULL);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuLinkComplete(state, &cubin, &size);
    words[LOG_SIZE - 1] = 0;
    explain_log(words, ptx, log);
    unsigned char *bytes = code == LD_CUDA_SUCCESS ? bc_arena_alloc(arena, size + 1, 16) : NULL;
    if (bytes) {
        memcpy(bytes, cubin, size);
        *out_bytes = bytes;
        *out_size = size;
    } else if (code == LD_CUDA_SUCCESS) {
        code = LD_CUDA_OUT_OF_MEMORY;
    }
done:
    if (state) {
        tvResult destroyed = driver->cuLinkDestroy(state);
        code = code == LD_CUDA_SUCCESS ? destroyed : code;
    }
    free(words);
    free(text);
    return code;
}

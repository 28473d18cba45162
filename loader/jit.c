/* The driver's assembler: its options, its messages with the ops that they are about, and cubins through cuLink. */
#include "loader/jit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "loader/message.h"

/* CUjit_target: those of one architecture alone (sm_90a) are numbered from CU_COMPUTE_ACCELERATED_TARGET_BASE on. */
enum { ACCELERATED = 0x10000 };

static unsigned jit_target(tv_str ptx)
{
    tv_str name = ld_ptx_target(ptx);
    unsigned number = 0;
    for (size_t i = 0; i < name.len; i++)
        if (isdigit((unsigned char)name.ptr[i]))
            number = number * 10 + (unsigned)(name.ptr[i] - '0');
    return number + (name.len && name.ptr[name.len - 1] == 'a' ? ACCELERATED : 0);
}

static void add_option(ld_jit *jit, unsigned option, const void *value)
{
    jit->options[jit->count] = option;
    memcpy(&jit->values[jit->count++], &value, sizeof value);
}

/* Numbers go in the place of the pointers to values: CUDA driver API reference, CUjit_option. */
static void add_number(ld_jit *jit, unsigned option, unsigned value)
{
    add_option(jit, option, (const void *)(uintptr_t)value);
}

ld_jit *ld_jit_new(const ld_want *want, unsigned target)
{
    enum { HIGHEST_LEVEL = 4 };
    ld_jit *jit = calloc(1, sizeof *jit);
    if (!jit)
        return NULL;
    add_option(jit, LD_JIT_ERROR_LOG, jit->log);
    add_number(jit, LD_JIT_ERROR_LOG_SIZE, LD_JIT_LOG - 1);
    add_number(jit, LD_JIT_OPTIMIZATION_LEVEL, want->opt_level ? HIGHEST_LEVEL : 0);
    add_number(jit, LD_JIT_LINE_INFO, want->line_info);
    if (target)
        add_number(jit, LD_JIT_TARGET, target);
    return jit;
}

void ld_jit_explain(const ld_jit *jit, tv_str ptx, bc_text *out)
{
    for (const char *log = jit->log; *log;) {
        size_t len = strcspn(log, "\n");
        if (len) {
            bc_text_printf(out, "   %.*s\n", (int)len, log);
            const char *number = memmem(log, len, "line ", 5);
            tv_str origin = number && isdigit((unsigned char)number[5])
                                ? ld_ptx_origin(ptx, (unsigned)strtoul(number + 5, NULL, 10))
                                : (tv_str){0};
            if (origin.len)
                bc_text_printf(out, "      which belongs to %.*s\n", (int)origin.len, origin.ptr);
        }
        log += len + (log[len] == '\n');
    }
}

bool ld_jit_is_refusal(tvResult code)
{
    return code == LD_CUDA_INVALID_PTX || ld_cuda_error_rule(code) == LD_RULE_L_JIT_02;
}

tvResult ld_jit_fail(tvResult code, const bc_text *words)
{
    return ld_fail(LD_RULE_L_JIT_01, code, "the driver cannot assemble the kernel%s%s", words->len ? ":\n" : "",
                   words->len ? words->ptr : "");
}

/* Before the linker of a device takes kernels with more than 48 KiB of static shared memory, it must be told that the
   target is of one architecture alone (seen on driver 580): that is always named. */
static unsigned target_to_name(tv_str ptx, const ld_want *want)
{
    unsigned target = jit_target(ptx);
    return want->target || target & ACCELERATED ? target : 0;
}

tvResult ld_link(const ld_driver *driver, tv_str ptx, const ld_want *want, bc_arena *arena, bc_text *words,
                 const unsigned char **out_bytes, size_t *out_size)
{
    ld_jit *jit = ld_jit_new(want, target_to_name(ptx, want));
    char *text = malloc(ptx.len + 1);
    struct CUlinkState_st *state = NULL;
    tvResult code = LD_CUDA_OUT_OF_MEMORY;
    if (!jit || !text)
        goto done;
    memcpy(text, ptx.ptr, ptx.len);
    text[ptx.len] = 0;
    code = driver->cuLinkCreate(jit->count, jit->options, jit->values, &state);
    void *cubin = NULL;
    size_t size = 0;
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuLinkAddData(state, LD_JIT_INPUT_PTX, text, ptx.len + 1, "kernel.ptx", 0, NULL, NULL);
    if (code == LD_CUDA_SUCCESS)
        code = driver->cuLinkComplete(state, &cubin, &size);
    ld_jit_explain(jit, ptx, words);
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
    free(jit);
    free(text);
    return code;
}

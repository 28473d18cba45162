/* Shared by the fuzz targets. Each target is one file with LLVMFuzzerTestOneInput; built with -fsanitize=fuzzer it
   fuzzes, built with -DFUZZ_REPLAY it replays the files and folders it is given: `make check-fuzz-replay` gives it the
   seeds and every crash ever found, tests/fuzz/crashes/. */
#ifndef TILEVM_TESTS_FUZZ_FUZZ_H
#define TILEVM_TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilevm/tilevm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops with a core: an invariant broke. */
#define FUZZ_CHECK(condition)                                                       \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/* A sink that reads every byte of a diagnostic, so that a bad string shows under the sanitizers. */
static inline void fuzz_report(void *user, const tv_diag *d)
{
    const tv_str strings[] = {d->message, d->function, d->op, d->file, d->op_text, d->help};
    size_t *sum = user;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        for (size_t j = 0; j < strings[i].len; j++)
            *sum += (unsigned char)strings[i].ptr[j];
    if (d->caret_len)
        FUZZ_CHECK(d->caret <= d->op_text.len && d->caret_len <= d->op_text.len - d->caret);
    FUZZ_CHECK(tv_rule_find(d->rule) != NULL);
}

typedef struct fuzz_bytes {
    char *ptr;
    size_t len;
} fuzz_bytes;

static inline bool fuzz_append(void *user, const void *bytes, size_t size)
{
    fuzz_bytes *b = user;
    char *larger = realloc(b->ptr, b->len + size + 1);
    FUZZ_CHECK(larger);
    if (size)
        memcpy(larger + b->len, bytes, size);
    b->ptr = larger;
    b->len += size;
    b->ptr[b->len] = 0;
    return true;
}

enum { FUZZ_MEMORY = 256 << 20 };

static inline bool fuzz_open(const uint8_t *data, size_t size, bool strict, tv_sink sink, tv_module **out_module)
{
    return tv_module_open(data, size, &(tv_open_options){.strict = strict, .memory_limit = FUZZ_MEMORY}, sink,
                          out_module)
           == TV_OK;
}

/* What must hold for every module that opened: it prints, verifies without harm, and writes bytes that open again and
   write the same bytes once more. Gives the verifier's answer. */
static inline tv_status fuzz_use_module(tv_module *m, tv_sink sink)
{
    const tv_open_options options = {.memory_limit = FUZZ_MEMORY};
    fuzz_bytes text = {0}, first = {0}, second = {0};
    FUZZ_CHECK(tv_module_print(m, &(tv_print_options){.debug_info = true}, (tv_writer){&text, fuzz_append}) == TV_OK);
    tv_status verified = tv_module_verify(m, &(tv_verify_options){.max_errors = 50, .strict = true}, sink);
    verified = tv_module_verify(m, &(tv_verify_options){.max_errors = 50}, sink);
    FUZZ_CHECK(tv_module_write(m, sink, (tv_writer){&first, fuzz_append}) == TV_OK);
    tv_module *again;
    FUZZ_CHECK(tv_module_open(first.ptr, first.len, &options, sink, &again) == TV_OK);
    FUZZ_CHECK(tv_module_write(again, sink, (tv_writer){&second, fuzz_append}) == TV_OK);
    FUZZ_CHECK(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
    FUZZ_CHECK(tv_module_verify(again, &(tv_verify_options){.max_errors = 50}, sink) == verified);
    tv_module_close(again);
    free(text.ptr);
    free(first.ptr);
    free(second.ptr);
    return verified;
}

#ifdef FUZZ_REPLAY
#include <dirent.h>
#include <sys/stat.h>

static int replayed;

static void replay(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return;
    if (S_ISDIR(info.st_mode)) {
        DIR *dir = opendir(path);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            char inner[4096];
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
            if (entry->d_name[0] != '.')
                replay(inner);
        }
        if (dir)
            closedir(dir);
        return;
    }
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc((size_t)info.st_size + 1);
    if (f && data) {
        size_t size = fread(data, 1, (size_t)info.st_size, f);
        LLVMFuzzerTestOneInput(data, size);
        replayed++;
    }
    if (f)
        fclose(f);
    free(data);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%s: %d passed, %d failed\n", argv[0], replayed, replayed == 0); /* nothing to replay is a mistake */
    return replayed == 0;
}
#endif
#endif

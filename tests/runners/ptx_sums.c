/* Checksums of the PTX that kernels become: a change of the code generator that is to leave code alone is seen to do
   so.

     ptx_sums FOLDER SUMS TEXTS [--update]

   FOLDER holds modules (*.tbc); random ones are added. SUMS has a line for each module: its name, and a CRC-32 for each
   pair of target and level; `-` where the target cannot have it. TEXTS is a folder that keeps the text for the first
   pair as it was when its sum was last right, so that the difference of one module can be shown. For that pair, the PTX
   is also to be the same with remarks. --update rewrites SUMS. Ends with `ptx-sums: N passed, N failed`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bytecode/base/text.h"
#include "bytecode/base/compiler.h"
#include "tests/common/files.h"
#include "tilevm/tilevm.h"
#include "tools/tilevm/gen/gen.h"

enum { RANDOM_MODULES = 300 };

static const struct pair {
    const char *target;
    unsigned level; /* tv_compile_options.opt_level */
} pairs[] = {{"sm_90a", 3}, {"sm_90a", TV_OPT_NONE}, {"sm_80", 3},   {"sm_80", TV_OPT_NONE},
             {"sm_89", 3},  {"sm_89", TV_OPT_NONE},  {"sm_100a", 3}, {"sm_100a", TV_OPT_NONE},
             {"sm_120", 3}, {"sm_120", TV_OPT_NONE}};

typedef struct run {
    bc_text sums;      /* as they are */
    const char *known; /* as they were: the file's text */
    const char *texts; /* folder */
    unsigned passed, failed;
    bool has_shown; /* a difference */
} run;

static void forget(void *user, const tv_remark *remark)
{
    (void)user;
    (void)remark;
}

static bool compile(const tv_module *m, const struct pair *pair, bool with_remarks, bc_text *out)
{
    const tv_compile_options options = {.target = pair->target,
                                        .opt_level = TV_OPT_LEVEL(pair->level),
                                        .verify_each = true,
                                        .remarks = {.report = with_remarks ? forget : NULL}};
    return tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){.user = out, .write = bc_text_append}) == TV_OK;
}

/* The line of SUMS that starts with the name; its length is 0 when there is none. */
static tv_str known_line(const run *r, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = r->known; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, name, len) == 0 && at[len] == ' ')
            return (tv_str){at, strcspn(at, "\n")};
    return (tv_str){"", 0};
}

/* Shows how the text for the first pair differs from the one that is kept. */
static void show_difference(run *r, const char *path, const bc_text *text)
{
    char now[1024], command[3000];
    snprintf(now, sizeof now, "%s.now", path);
    if (access(path, R_OK) != 0 || !files_write(now, text->ptr, text->len))
        return;
    snprintf(command, sizeof command, "diff -u '%s' '%s' | head -n 60", path, now);
    fflush(stdout);
    r->has_shown = system(command) == 0;
}

/* Is the PTX the same when somebody reads remarks? A plan that has been weighed is compiled again then. */
static bool is_same_with_remarks(const tv_module *m, const bc_text *text)
{
    bc_text other;
    bc_text_init(&other, NULL);
    compile(m, &pairs[0], true, &other);
    const bool same = bc_str_eq(bc_text_get(&other), bc_text_get(text));
    bc_text_release(&other);
    return same;
}

static void judge(run *r, const char *name, const char *line, const bc_text *text)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s.ptx", r->texts, name);
    tv_str known = known_line(r, name);
    if (known.len == strlen(line) && memcmp(known.ptr, line, known.len) == 0) {
        r->passed++;
        if (text->ptr)
            files_write(path, text->ptr, text->len);
        return;
    }
    r->failed++;
    printf("%s: the PTX is %s\n", name, known.len ? "another" : "not known");
    if (!r->has_shown && text->ptr)
        show_difference(r, path, text);
}

static void sum_module(run *r, const tv_module *m, const char *name)
{
    bc_text line, first;
    bc_text_init(&line, NULL);
    bc_text_init(&first, NULL);
    bc_text_puts(&line, name);
    for (size_t i = 0; i < TV_COUNT(pairs); i++) {
        bc_text other, *text = i ? &other : &first;
        bc_text_init(&other, NULL);
        if (compile(m, &pairs[i], false, text))
            bc_text_printf(&line, " %08lx", crc32(0, (const unsigned char *)text->ptr, (unsigned)text->len));
        else
            bc_text_puts(&line, " -");
        bc_text_release(&other);
    }
    if (is_same_with_remarks(m, &first)) {
        judge(r, name, line.ptr, &first);
    } else {
        r->failed++;
        printf("%s: the PTX is another one with remarks\n", name);
    }
    bc_text_printf(&r->sums, "%s\n", line.ptr);
    bc_text_release(&line);
    bc_text_release(&first);
}

static void sum_file(run *r, const char *path)
{
    size_t size;
    char *bytes = files_read(path, &size), name[256];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(slash ? slash + 1 : path, "."), slash ? slash + 1 : path);
    tv_module *m = NULL;
    if (bytes && tv_module_open(bytes, size, NULL, (tv_sink){0}, &m) == TV_OK
        && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK)
        sum_module(r, m, name);
    tv_module_close(m);
    free(bytes);
}

static void sum_random(run *r, unsigned seed)
{
    const gen_options options = {
        .seed = seed, .version = BC_NEWEST, .functions = 1, .ops = 80, .depth = 3, .calm = seed % 2};
    char name[32];
    tv_module *m = NULL;
    snprintf(name, sizeof name, "random_%u", seed);
    if (gen_module(&options, &m) == TV_OK && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK)
        sum_module(r, m, name);
    tv_module_close(m);
}

int main(int argc, char **argv)
{
    bool update = argc == 5 && strcmp(argv[4], "--update") == 0;
    char **paths = NULL;
    size_t count = 0, size;
    if (argc != 4 + update || !files_find(argv[1], ".tbc", &paths, &count)) {
        fprintf(stderr, "usage: ptx_sums FOLDER SUMS TEXTS [--update]\n");
        return 2;
    }
    char *known = files_read(argv[2], &size);
    run r = {.known = known ? known : "", .texts = argv[3]};
    mkdir(r.texts, 0777);
    bc_text_init(&r.sums, NULL);
    for (size_t i = 0; i < count; i++)
        sum_file(&r, paths[i]);
    for (unsigned seed = 1; seed <= RANDOM_MODULES; seed++)
        sum_random(&r, seed);
    bool same = strcmp(r.known, r.sums.ptr ? r.sums.ptr : "") == 0;
    if (update && (r.sums.failed || !files_write(argv[2], r.sums.ptr, r.sums.len)))
        return 2;
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    free(known);
    bc_text_release(&r.sums);
    printf("ptx-sums: %u passed, %u failed\n", r.passed, r.failed + (!same && !r.failed));
    return !same && !update;
}

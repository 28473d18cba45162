/* Is every load of every loop told about? Remarks say of each how it is fed, or why not.

     loads_told FOLDER...

   Each module (*.tbc) of the folders is compiled for each pair of target and level; a load in a loop
   that accesses memory there has a remark on that, so it has to have another one on whether it runs ahead. Ends with
   `loads-told: N passed, N failed`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "tests/common/files.h"

enum { MOST_LOADS = 4096 };

static const struct pair {
    const char *target;
    unsigned level; /* tv_compile_options.opt_level */
} pairs[] = {{"sm_90a", 3}, {"sm_90a", TV_OPT_NONE}, {"sm_80", 3}, {"sm_120", 3}};

/* Ops, by their offsets. */
typedef struct ops {
    uint64_t offset[MOST_LOADS];
    unsigned count;
} ops;

typedef struct told {
    ops accessed, fed;
} told;

typedef struct run {
    unsigned passed, failed;
} run;

static void add(ops *s, uint64_t offset)
{
    if (s->count < MOST_LOADS)
        s->offset[s->count++] = offset;
}

static bool has(const ops *s, uint64_t offset)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->offset[i] == offset)
            return true;
    return false;
}

static void see(void *user, const tv_remark *r)
{
    told *t = user;
    if (strcmp(r->name, "VectorAccess") == 0)
        add(&t->accessed, r->offset);
    if (strcmp(r->name, "LoadAhead") == 0 || strcmp(r->name, "NotPipelined") == 0)
        add(&t->fed, r->offset);
}

static bool ignore(void *user, const void *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    return true;
}

static bool is_in_loop(const bc_op *op)
{
    for (const bc_op *p = op->block->parent; p; p = p->block->parent)
        if (bc_is_loop(p->opcode))
            return true;
    return false;
}

static bool is_load(const bc_op *op)
{
    return op->opcode == OP_load_view_tko || op->opcode == OP_load_ptr_tko;
}

static void judge(run *r, const char *name, const struct pair *pair, const bc_function *f, const told *t)
{
    for (const bc_op *op = f->body ? f->body->first : NULL; op; op = bc_next_op(op, f->body)) {
        if (!is_load(op) || !is_in_loop(op) || !has(&t->accessed, op->offset))
            continue;
        bool is_told = has(&t->fed, op->offset);
        r->passed += is_told;
        r->failed += !is_told;
        if (!is_told)
            printf("%s: nothing says how the load at 0x%x is fed, for %s at level %u\n", name, (unsigned)op->offset,
                   pair->target, pair->level);
    }
}

static void look_at(run *r, const tv_module *m, const char *name)
{
    for (size_t i = 0; i < TV_COUNT(pairs); i++) {
        told t = {.accessed.count = 0};
        const tv_compile_options options = {.target = pairs[i].target,
                                            .opt_level = TV_OPT_LEVEL(pairs[i].level),
                                            .remarks = {&t, see}};
        if (tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){NULL, ignore}) != TV_OK)
            continue; /* the target cannot have it */
        for (uint32_t f = 0; f < m->function_count; f++)
            judge(r, name, &pairs[i], &m->functions[f], &t);
    }
}

static void look_at_file(run *r, const char *path)
{
    size_t size;
    char *bytes = files_read(path, &size);
    tv_module *m = NULL;
    if (bytes && tv_module_open(bytes, size, NULL, (tv_sink){0}, &m) == TV_OK
        && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK)
        look_at(r, m, path);
    tv_module_close(m);
    free(bytes);
}

static bool look_at_folder(run *r, const char *folder)
{
    char **paths = NULL;
    size_t count = 0;
    bool found = files_find(folder, ".tbc", &paths, &count);
    for (size_t i = 0; found && i < count; i++)
        look_at_file(r, paths[i]);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    return found;
}

int main(int argc, char **argv)
{
    run r = {0};
    bool found = argc > 1;
    for (int i = 1; i < argc && found; i++)
        found = look_at_folder(&r, argv[i]);
    if (!found) {
        fprintf(stderr, "usage: loads_told FOLDER...\n");
        return 2;
    }
    printf("loads-told: %u passed, %u failed\n", r.passed, r.failed);
    return r.failed != 0;
}

/* Is every load of every loop told about? Remarks say of each how it is fed, or why not.

     loads_told PATH...
     loads_told --list PATH...

   Each module (*.tbc, or those of a folder) is compiled for each pair of target and level; a load in a loop that
   accesses memory there has a remark on that, so it has to have another one on whether it runs ahead. Ends with
   `loads-told: N passed, N failed`.

   --list: for the first pair alone, a line for each load in a loop, `MODULE:OFFSET: ahead` or `MODULE:OFFSET: WHY`. A
   load that several versions of a loop have is ahead if it is in one of them. tools/loads_told.py counts the lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "tests/common/files.h"

enum { MOST_LOADS = 4096, MOST_WHY = 320 };

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
    ops accessed, ahead, behind;
    char why[MOST_LOADS][MOST_WHY]; /* of those that stay behind */
} told;

typedef struct run {
    unsigned passed, failed;
    told told;
} run;

static void add(ops *s, uint64_t offset)
{
    if (s->count < MOST_LOADS)
        s->offset[s->count++] = offset;
}

/* The op's place, count: it is not there. The last one of several. */
static unsigned place_of(const ops *s, uint64_t offset)
{
    for (unsigned i = s->count; i-- > 0;)
        if (s->offset[i] == offset)
            return i;
    return s->count;
}

static bool has(const ops *s, uint64_t offset)
{
    return place_of(s, offset) < s->count;
}

static void see(void *user, const tv_remark *r)
{
    told *t = user;
    if (strcmp(r->name, "VectorAccess") == 0)
        add(&t->accessed, r->offset);
    if (strcmp(r->name, "LoadAhead") == 0)
        add(&t->ahead, r->offset);
    if (strcmp(r->name, "NotPipelined") == 0 && t->behind.count < MOST_LOADS) {
        snprintf(t->why[t->behind.count], MOST_WHY, "%.*s", (int)r->message.len, r->message.ptr);
        add(&t->behind, r->offset);
    }
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

/* The next load in a loop that accesses memory; NULL: there is none. */
static const bc_op *next_load(const bc_op *op, const bc_function *f, const told *t)
{
    while (op && !(is_load(op) && is_in_loop(op) && has(&t->accessed, op->offset)))
        op = bc_next_op(op, f->body);
    return op;
}

static void judge(run *r, const char *name, const struct pair *pair, const bc_function *f)
{
    const told *t = &r->told;
    const bc_op *op = next_load(f->body ? f->body->first : NULL, f, t);
    for (; op; op = next_load(bc_next_op(op, f->body), f, t)) {
        bool is_told = has(&t->ahead, op->offset) || has(&t->behind, op->offset);
        r->passed += is_told;
        r->failed += !is_told;
        if (!is_told)
            printf("%s: nothing says how the load at 0x%x is fed, for %s at level %u\n", name, (unsigned)op->offset,
                   pair->target, pair->level);
    }
}

static void list(run *r, const char *name, const struct pair *pair, const bc_function *f)
{
    const told *t = &r->told;
    const bc_op *op = next_load(f->body ? f->body->first : NULL, f, t);
    (void)pair;
    for (; op; op = next_load(bc_next_op(op, f->body), f, t)) {
        const unsigned behind = place_of(&t->behind, op->offset);
        const bool is_ahead = has(&t->ahead, op->offset);
        printf("%s:0x%x: %s\n", name, (unsigned)op->offset,
               is_ahead                   ? "ahead"
               : behind < t->behind.count ? t->why[behind]
                                          : "nothing says how it is fed");
    }
}

/* What is done with a function of a module that has been compiled for a pair. */
typedef void look_fn(run *r, const char *name, const struct pair *pair, const bc_function *f);

static void look_at(run *r, const tv_module *m, const char *name, look_fn *look)
{
    const size_t count = look == list ? 1 : TV_COUNT(pairs);
    for (size_t i = 0; i < count; i++) {
        told *t = &r->told;
        t->accessed.count = t->ahead.count = t->behind.count = 0;
        const tv_compile_options options = {.target = pairs[i].target,
                                            .opt_level = TV_OPT_LEVEL(pairs[i].level),
                                            .remarks = {t, see}};
        if (tv_compile_ptx(m, &options, (tv_sink){0}, (tv_writer){NULL, ignore}) != TV_OK)
            continue; /* the target cannot have it */
        for (uint32_t f = 0; f < m->function_count; f++)
            look(r, name, &pairs[i], &m->functions[f]);
    }
}

static void look_at_file(run *r, const char *path, look_fn *look)
{
    size_t size;
    char *bytes = files_read(path, &size);
    tv_module *m = NULL;
    if (bytes && tv_module_open(bytes, size, NULL, (tv_sink){0}, &m) == TV_OK
        && tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK)
        look_at(r, m, path, look);
    tv_module_close(m);
    free(bytes);
}

static bool look_at_path(run *r, const char *path, look_fn *look)
{
    char **paths = NULL;
    size_t count = 0;
    bool found = files_find(path, ".tbc", &paths, &count);
    for (size_t i = 0; found && i < count; i++)
        look_at_file(r, paths[i], look);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    return found;
}

int main(int argc, char **argv)
{
    static run r;
    const bool lists = argc > 1 && strcmp(argv[1], "--list") == 0;
    bool found = argc > 1 + lists;
    for (int i = 1 + lists; i < argc && found; i++)
        found = look_at_path(&r, argv[i], lists ? list : judge);
    if (!found) {
        fprintf(stderr, "usage: loads_told [--list] PATH...\n");
        return 2;
    }
    if (!lists)
        printf("loads-told: %u passed, %u failed\n", r.passed, r.failed);
    return r.failed != 0;
}

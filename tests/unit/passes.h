/* A kernel in the middle of its compilation, for tests of what passes leave. */
#ifndef TILEVM_TESTS_UNIT_PASSES_H
#define TILEVM_TESTS_UNIT_PASSES_H

#include <string.h>

#include "codegen/plan/budget.h"
#include "codegen/passes/pass.h"
#include "codegen/ptx/emit.h"
#include "tests/unit/test.h"

/* A kernel as a pass has left it. */
typedef struct sample {
    cg_func c;
    cg_written written;
    tv_compile_options options;
} sample;

static void say(void *user, const tv_diag *d)
{
    (void)user;
    printf("%.*s\n", (int)d->message.len, d->message.ptr);
}

/* The first kernel of the module, after the pass of that name; every pass before is verified. */
static bool open_sample(sample *s, const tv_module *module, const char *target, const char *pass)
{
    const bc_module *m = module;
    *s = (sample){.c = {.m = m, .f = &m->functions[0], .target = cg_target_find(bc_str(target)), .sink = {NULL, say}},
                  .options = {.stop_after = pass}};
    s->c.options = &s->options;
    s->c.written = &s->written;
    bc_arena_init(&s->c.arena, NULL, 0);
    bc_arena_init(&s->written.arena, NULL, 0);
    s->c.ir = ct_import(s->c.f, &s->c.arena);
    cg_set_warps(&s->c);
    cg_watch watch;
    bool ok = cg_watch_of(m, &s->options, s->c.sink, &watch) == TV_OK;
    watch.verifies = true;
    cg_run_passes(&s->c, &watch);
    CHECK(ok && !s->c.failed);
    return ok && !s->c.failed;
}

static void close_sample(sample *s)
{
    cg_emit_end(&s->c);
    bc_arena_release(&s->c.arena);
    bc_arena_release(&s->written.arena);
}

static bool open_module(const char *text, tv_module **out)
{
    CHECK(tv_module_parse(text, strlen(text), 0, NULL, (tv_sink){NULL, say}, out) == TV_OK);
    CHECK(*out && tv_module_verify(*out, NULL, (tv_sink){0}) == TV_OK); /* it warns of tokens that are left out */
    return *out;
}

#endif

/* Kernels of 10,000 ops: the time to compile each, as a multiple of that for as many additions, so that it does not
   matter how fast the machine is. Work for each pair of ops takes thirty times as long and more. */
#include <stdio.h>
#include <time.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

enum { OPS = 10000, MOST_TIMES = 12 };

#define TILE "tile<64x64xf16>"
#define VIEW "tensor_view<?x?xf16, strides=[?,1]>"
#define PARTS "partition_view<tile=(64x64), " VIEW ">"
#define CONSTANT "%c# = constant <i32: #> : tile<i32>\n"
#define LOAD(name, of) \
    "%" name ", %" name "_t = load_view_tko weak %av[" of "] token = %tok : " PARTS ", tile<i32> -> " TILE ", token\n"
#define STORE "%s# = store_view_tko weak %x#, %bv[%c#, %0] token = %tok : " TILE ", " PARTS ", tile<i32> -> token\n"
#define LOOP "%r = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%x0 = %first) -> (" TILE ") {\n"
#define END "continue %x# : " TILE "\n}\n"

/* A piece is repeated until there are so many ops: # is its number, $ that of the piece before; %x0 is given. */
typedef struct form {
    const char *name, *before, *piece, *behind;
    int ops; /* of a piece */
} form;

static const form additions = {"additions", LOOP, "%x# = addf %x$, %x$ : " TILE "\n", END, 1};
static const form forms[] = {
    {"loads and stores", LOOP END, CONSTANT LOAD("y#", "%c#, %0") "%x# = addf %y#, %y# : " TILE "\n" STORE, "", 4},
    {"loads of a loop", LOOP, CONSTANT LOAD("y#", "%i, %c#") "%x# = addf %x$, %y# : " TILE "\n", END, 3},
    {"products of a loop", LOOP,
     CONSTANT LOAD("y#", "%i, %c#") LOAD("z#", "%c#, %i") "%x# = mmaf %y#, %z#, %x$ : " TILE ", " TILE ", " TILE "\n",
     END, 4},
    {"loops", LOOP END "%y0 = addf %r, %r : " TILE "\n",
     "%y# = for %i# in (%0 to %n, step %1) : tile<i32> iter_values(%u# = %y$) -> (" TILE
     ") {\n" LOAD("z#", "%i#, %0") "%v# = addf %u#, %z# : " TILE "\ncontinue %v# : " TILE "\n}\n",
     "", 4},
};

/* ---- the kernel ---- */

static void put(bc_text *out, const char *text, int number)
{
    for (const char *p = text; *p; p++)
        if (*p == '#' || *p == '$')
            bc_text_printf(out, "%d", *p == '#' ? number : number - 1);
        else
            bc_text_char(out, *p);
}

static void put_kernel(bc_text *out, const form *f)
{
    const int pieces = OPS / f->ops;
    bc_text_puts(out, "entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %n: tile<i32>) {\n%tok = make_token : token\n"
                      "%0 = constant <i32: 0> : tile<i32>\n%1 = constant <i32: 1> : tile<i32>\n");
    for (const char *x = "ab"; *x; x++)
        bc_text_printf(out,
                       "%%%c0 = assume div_by<16>, %%%c : tile<ptr<f16>>\n"
                       "%%%c1 = make_tensor_view %%%c0, shape = [%%n, %%n], strides = [%%n, 1] : tile<i32> -> " VIEW
                       "\n%%%cv = make_partition_view %%%c1 : " PARTS "\n",
                       *x, *x, *x, *x, *x, *x);
    put(out, LOAD("first", "%0, %0"), 0);
    put(out, f->before, 0);
    for (int i = 1; i <= pieces; i++)
        put(out, f->piece, i);
    put(out, f->behind, pieces);
    bc_text_puts(out, "%end = store_view_tko weak %r, %bv[%0, %0] token = %tok : " TILE ", " PARTS
                      ", tile<i32> -> token\nreturn\n}\n");
}

/* ---- its time ---- */

static void report(void *user, const tv_diag *d)
{
    fprintf(stderr, "%s: %.*s\n", (const char *)user, (int)d->message.len, d->message.ptr);
}

/* Processor time. */
static clock_t time_of(const form *f, const char *target)
{
    tv_module *m = NULL;
    tv_sink sink = {(void *)(uintptr_t)f->name, report};
    bc_text source, ptx;
    bc_text_init(&source, NULL);
    bc_text_init(&ptx, NULL);
    put_kernel(&source, f);
    CHECK(tv_module_parse(source.ptr, source.len, 0, NULL, sink, &m) == TV_OK);
    CHECK(tv_module_verify(m, NULL, sink) == TV_OK);
    clock_t began = clock();
    /* That much PTX may be refused. */
    tv_status status =
        tv_compile_ptx(m, &(tv_compile_options){.target = target}, (tv_sink){0}, (tv_writer){&ptx, bc_text_append});
    clock_t spent = clock() - began;
    CHECK_MSG(status == TV_OK || status == TV_UNSUPPORTED, "%s: status %d", f->name, (int)status);
    tv_module_close(m);
    bc_text_release(&source);
    bc_text_release(&ptx);
    return spent;
}

/* The form's time as a multiple of that for additions. One that is too long is taken again beside additions: what else
   runs on the machine can make one time longer, and sanitizers more so, but work for each pair of ops is too long each
   time. */
static double times_of(const form *f, const char *target, clock_t least)
{
    enum { TRIES = 3 };
    double times = (double)time_of(f, target) / (double)least;
    for (int tried = 1; times > MOST_TIMES && tried < TRIES; tried++) {
        least = time_of(&additions, target);
        times = (double)time_of(f, target) / (double)least;
    }
    return times;
}

int main(void)
{
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_100a"};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        clock_t least = time_of(&additions, targets[t]);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            double times = times_of(&forms[i], targets[t], least);
            CHECK_MSG(times <= MOST_TIMES, "%s for %s: %.1f times", forms[i].name, targets[t], times);
        }
    }
    return TEST_END("compile_ops");
}

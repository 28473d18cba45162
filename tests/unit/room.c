/* No kernel is refused because a ring has taken the room that its ops need: two loops with products, the second of
   which does something more with what it loads or has computed, for targets with little shared memory and much, at all
   levels. What is computed is looked at elsewhere (tests/regress, random kernels); here everything must compile. */
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "tests/unit/test.h"

/* What the second loop does: with the left operand %l, of M x K elements, before the product gives %m, and with that,
   M x N sums, after it. $l, $s: the types of these tiles; $L, $S: of their elements. */
typedef struct work {
    const char *name, *before, *after;
} work;

#define FOLD(of, type, dim, kind, op, out)                                                                           \
    "%rr = reduce %" of " dim=" dim " identities=[0.0 : " kind "] : " type " -> tile<" out "x" kind                  \
    "> (%x1: tile<" kind ">, %y1: tile<" kind ">) {\n%z1 = " op " %x1, %y1 : tile<" kind ">\nyield %z1 : tile<" kind \
    ">\n}\n"

static const work works[] = {
    {"nothing", "%l2 = reshape %l : $l -> $l\n", "%e = reshape %m : $s -> $s\n"},
    {"row maximum", "%l2 = reshape %l : $l -> $l\n",
     FOLD("m", "$s", "1", "$S", "maxf", "$M") "%rs = reshape %rr : tile<$Mx$S> -> tile<$Mx1x$S>\n"
                                              "%bb = broadcast %rs : tile<$Mx1x$S> -> $s\n%e = subf %m, %bb : $s\n"},
    {"column sum", "%l2 = reshape %l : $l -> $l\n",
     FOLD("m", "$s", "0", "$S", "addf", "$N") "%rs = reshape %rr : tile<$Nx$S> -> tile<1x$Nx$S>\n"
                                              "%bb = broadcast %rs : tile<1x$Nx$S> -> $s\n%e = subf %m, %bb : $s\n"},
    {"permutation",
     "%lt = permute %l [1, 0] : $l -> tile<$Kx$Mx$L>\n%ls = reshape %lt : tile<$Kx$Mx$L> -> $l\n"
     "%l2 = maxf %ls, %l : $l\n",
     "%e = reshape %m : $s -> $s\n"},
    {"scaled operand", "%l2 = mulf %l, %l : $l\n", "%e = reshape %m : $s -> $s\n"},
    {"operand less its rows' maximum",
     FOLD("l", "$l", "1", "$L", "maxf", "$M") "%rs = reshape %rr : tile<$Mx$L> -> tile<$Mx1x$L>\n"
                                              "%bb = broadcast %rs : tile<$Mx1x$L> -> $l\n%l2 = subf %l, %bb : $l\n",
     "%e = reshape %m : $s -> $s\n"},
    {"scan", "%l2 = reshape %l : $l -> $l\n",
     "%e = scan %m dim=1 reverse=false identities=[0.0 : $S] : $s -> $s (%x1: tile<$S>, %y1: tile<$S>) {\n"
     "%z1 = addf %x1, %y1 : tile<$S>\nyield %z1 : tile<$S>\n}\n"},
    {"two permutations",
     "%lt = permute %l [1, 0] : $l -> tile<$Kx$Mx$L>\n%ls = reshape %lt : tile<$Kx$Mx$L> -> $l\n"
     "%l2 = maxf %ls, %l : $l\n",
     "%mt = permute %m [1, 0] : $s -> tile<$Nx$Mx$S>\n%ms = reshape %mt : tile<$Nx$Mx$S> -> $s\n%e = addf %m, %ms : "
     "$s\n"},
};

typedef struct element {
    const char *left, *sum;
} element;
static const element elements[] = {{"f16", "f32"}, {"bf16", "f32"}, {"f32", "f32"}, {"f64", "f64"}, {"f16", "f16"}};

typedef struct shape {
    unsigned m, n, k;
} shape;
static const shape shapes[] = {{64, 64, 128},  {128, 128, 64}, {128, 128, 128}, {16, 256, 64},  {256, 16, 64},
                               {64, 128, 256}, {256, 64, 32},  {32, 32, 32},    {128, 64, 256}, {256, 128, 16}};

static const char *const targets[] = {"sm_80",  "sm_86",   "sm_89",  "sm_90",  "sm_90a",
                                      "sm_100", "sm_100a", "sm_120", "sm_120a"};

/* ---- kernels ---- */

typedef struct names {
    const element *e;
    const shape *s;
} names;

static void put(bc_text *out, const char *text, const names *n)
{
    for (const char *p = text; *p; p++) {
        if (*p != '$') {
            bc_text_char(out, *p);
            continue;
        }
        switch (*++p) {
        case 'M': bc_text_printf(out, "%u", n->s->m); break;
        case 'N': bc_text_printf(out, "%u", n->s->n); break;
        case 'K': bc_text_printf(out, "%u", n->s->k); break;
        case 'L': bc_text_puts(out, n->e->left); break;
        case 'S': bc_text_puts(out, n->e->sum); break;
        case 'l': bc_text_printf(out, "tile<%ux%ux%s>", n->s->m, n->s->k, n->e->left); break;
        case 'r': bc_text_printf(out, "tile<%ux%ux%s>", n->s->k, n->s->n, n->e->left); break;
        default: bc_text_printf(out, "tile<%ux%ux%s>", n->s->m, n->s->n, n->e->sum); break; /* s */
        }
    }
}

#define TA "tensor_view<1024x1024x$L, strides=[1024,1]>"
#define TC "tensor_view<1024x1024x$S, strides=[1024,1]>"
#define PA "partition_view<tile=($Mx$K), padding_value = zero, " TA ">"
#define PB "partition_view<tile=($Kx$N), padding_value = zero, " TA ">"
#define PC "partition_view<tile=($Mx$N), " TC ">"
#define LOADS                                                                      \
    "%l, %t0 = load_view_tko weak %pa[%c0, %i] : " PA ", tile<i32> -> $l, token\n" \
    "%r, %t1 = load_view_tko weak %pb[%i, %c0] : " PB ", tile<i32> -> $r, token\n"

static void put_kernel(bc_text *out, const work *w, const names *n)
{
    put(out,
        "entry @k(%p: tile<ptr<$L>>, %q: tile<ptr<$S>>, %n: tile<i32>) {\n"
        "%c0 = constant <i32: 0> : tile<i32>\n%c1 = constant <i32: 1> : tile<i32>\n"
        "%zero = constant <$S: 0.0> : $s\n%p16 = assume div_by<16>, %p : tile<ptr<$L>>\n"
        "%ta = make_tensor_view %p16, shape = [1024, 1024], strides = [1024, 1] : " TA "\n"
        "%pa = make_partition_view %ta : " PA "\n%pb = make_partition_view %ta : " PB "\n"
        "%tc = make_tensor_view %q, shape = [1024, 1024], strides = [1024, 1] : " TC "\n"
        "%pc = make_partition_view %tc : " PC "\n"
        "%s = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %zero) -> ($s) {\n" LOADS
        "%m = mmaf %l, %r, %a : $l, $r, $s\ncontinue %m : $s\n}\n"
        "%u = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%a = %s) -> ($s) {\n" LOADS,
        n);
    put(out, w->before, n);
    put(out, "%m = mmaf %l2, %r, %a : $l, $r, $s\n", n);
    put(out, w->after, n);
    put(out,
        "continue %e : $s\n}\n%t2 = store_view_tko weak %u, %pc[%c0, %c0] : $s, " PC
        ", tile<i32> -> token\nreturn\n}\n",
        n);
}

/* ---- compiling ---- */

static bool count_bytes(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)user += size;
    return true;
}

static void say(void *user, const tv_diag *d)
{
    (void)user;
    printf("%.*s\n", (int)d->message.len, d->message.ptr);
}

static void check_target(const tv_module *m, const char *name, const char *target, unsigned level)
{
    size_t size = 0;
    tv_compile_options options = {.target = target, .opt_level = level};
    CHECK_MSG(tv_compile_ptx(m, &options, (tv_sink){NULL, say}, (tv_writer){&size, count_bytes}) == TV_OK && size,
              "%s for %s at level %u", name, target, level);
}

/* Each kernel for some of the targets and levels, all of which have their turn. */
static void check(const work *w, const names *n, unsigned turn)
{
    char name[160];
    bc_text text;
    tv_module *m = NULL;
    bc_text_init(&text, NULL);
    put_kernel(&text, w, n);
    snprintf(name, sizeof name, "%s, %s and %s, %ux%ux%u", w->name, n->e->left, n->e->sum, n->s->m, n->s->n, n->s->k);
    bool ok = tv_module_parse(text.ptr, text.len, 0, NULL, (tv_sink){NULL, say}, &m) == TV_OK
              && tv_module_verify(m, NULL, (tv_sink){NULL, say}) == TV_OK;
    CHECK_MSG(ok, "%s", name);
    for (unsigned i = 0; ok && i < 3; i++)
        check_target(m, name, targets[(turn + 4 * i) % TV_COUNT(targets)], i == 2 ? 1 + turn % 2 : 0);
    tv_module_close(m);
    bc_text_release(&text);
}

int main(void)
{
    unsigned turn = 0;
    for (size_t w = 0; w < TV_COUNT(works); w++)
        for (size_t e = 0; e < TV_COUNT(elements); e++)
            for (size_t s = 0; s < TV_COUNT(shapes); s++)
                check(&works[w], &(names){&elements[e], &shapes[s]}, turn++);
    return TEST_END("room");
}

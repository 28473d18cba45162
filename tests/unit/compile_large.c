/* Tiles larger than the registers of a block, compiled to PTX: text and assembling time that do not grow with the tile,
   and on the simulator what the virtual machine gives. All elements are integers, so results are the same bits. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytecode/base/text.h"
#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

/* The body of a kernel: from %x, loaded from %a, to %r, which goes to %b. $T is the tile's type, $P and $B those of
   pointers and bits in its shape, $R and $C its rows and columns, $H half the rows. */
typedef struct example {
    const char *name, *body;
} example;

#define SUM "(%l: tile<i32>, %q: tile<i32>) { %s_ = addi %l, %q : tile<i32> yield %s_ : tile<i32> }\n"

static const example examples[] = {
    {"chain", "%k = constant <i32: 77> : $T\n%m = muli %x, %k : $T\n%d = xori %m, %x : $T\n"
              "%g = cmpi greater_than %d, %k, signed : $T -> $B\n%r = select %g, %d, %m : $B, $T\n"},
    {"rows", "%e = reduce %x dim=1 identities=[0 : i32] : $T -> tile<$Rxi32> " SUM
             "%f = reshape %e : tile<$Rxi32> -> tile<$Rx1xi32>\n%g = broadcast %f : tile<$Rx1xi32> -> $T\n"
             "%r = subi %x, %g : $T\n"},
    {"columns", "%e = reduce %x dim=0 identities=[0 : i32] : $T -> tile<$Cxi32> " SUM
                "%f = reshape %e : tile<$Cxi32> -> tile<1x$Cxi32>\n%g = broadcast %f : tile<1x$Cxi32> -> $T\n"
                "%r = xori %x, %g : $T\n"},
    {"all",
     "%v = reshape %x : $T -> tile<$Nxi32>\n%e = reduce %v dim=0 identities=[0 : i32] : tile<$Nxi32> -> tile<i32> " SUM
     "%f = reshape %e : tile<i32> -> tile<1x1xi32>\n%g = broadcast %f : tile<1x1xi32> -> $T\n%r = addi %x, %g : $T\n"},
    {"scans", "%e = scan %x dim=1 reverse=false identities=[0 : i32] : $T -> $T " SUM
              "%r = scan %e dim=0 reverse=true identities=[0 : i32] : $T -> $T " SUM},
    {"long scan", "%v = reshape %x : $T -> tile<$Nxi32>\n"
                  "%e = scan %v dim=0 reverse=true identities=[0 : i32] : tile<$Nxi32> -> tile<$Nxi32> " SUM
                  "%r = reshape %e : tile<$Nxi32> -> $T\n"},
    {"turned", "%p = permute %x [1, 0] : $T -> tile<$Cx$Rxi32>\n%i = iota : tile<$Rxi32>\n"
               "%j = reshape %i : tile<$Rxi32> -> tile<1x$Rxi32>\n"
               "%k = broadcast %j : tile<1x$Rxi32> -> tile<$Cx$Rxi32>\n%m = muli %p, %k : tile<$Cx$Rxi32>\n"
               "%q = permute %m [1, 0] : tile<$Cx$Rxi32> -> $T\n%s = reshape %m : tile<$Cx$Rxi32> -> $T\n"
               "%r = addi %q, %s : $T\n"},
    {"parts",
     "%h = extract %x[%one, %zero] : $T -> tile<$Hx$Cxi32>\n%g = extract %x[%zero, %zero] : $T -> tile<$Hx$Cxi32>\n"
     "%s = addi %h, %g : tile<$Hx$Cxi32>\n%r = cat %h, %s dim=0 : tile<$Hx$Cxi32>, tile<$Hx$Cxi32> -> $T\n"},
    {"loops",
     "%three = constant <i32: 3> : tile<i32>\n%k = constant <i32: 5> : $T\n"
     "%r, %o = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%u = %x, %v = %k) -> ($T, $T) {\n"
     "%w = muli %u, %k : $T\n%c = cmpi equal %i, %one, signed : tile<i32> -> tile<i1>\n"
     "%y = if %c -> ($T) { %z = addi %w, %v : $T yield %z : $T } else { yield %w : $T }\n"
     "continue %v, %y : $T, $T\n}\n"},
    {"pointers",
     "%i = iota : tile<$Nxi32>\n%k = constant <i32: 7> : tile<$Nxi32>\n%j = muli %i, %k : tile<$Nxi32>\n"
     "%ones = constant <i32: $M> : tile<$Nxi32>\n%at = andi %j, %ones : tile<$Nxi32>\n"
     "%g = cmpi less_than %i, %at, signed : tile<$Nxi32> -> tile<$Nxi1>\n"
     "%e = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>\n"
     "%f = broadcast %e : tile<1xptr<i32>> -> tile<$Nxptr<i32>>\n"
     "%p = offset %f, %at : tile<$Nxptr<i32>>, tile<$Nxi32> -> tile<$Nxptr<i32>>\n"
     "%s, %n = load_ptr_tko weak %p, %g, %i : tile<$Nxptr<i32>>, tile<$Nxi1>, tile<$Nxi32> -> tile<$Nxi32>, token\n"
     "%old, %m = atomic_rmw_tko relaxed device %p, add, %i token=%n : "
     "tile<$Nxptr<i32>>, tile<$Nxi32> -> tile<$Nxi32>, token\n"
     "%t = xori %s, %old : tile<$Nxi32>\n%r = reshape %t : tile<$Nxi32> -> $T\n"},
    {"narrow", "%e = trunci %x : $T -> tile<$Rx$Cxi8>\n%p = permute %e [1, 0] : tile<$Rx$Cxi8> -> tile<$Cx$Rxi8>\n"
               "%f = exti %p signed : tile<$Cx$Rxi8> -> tile<$Cx$Rxi64>\n%g = muli %f, %f : tile<$Cx$Rxi64>\n"
               "%q = permute %g [1, 0] : tile<$Cx$Rxi64> -> tile<$Rx$Cxi64>\n%r = trunci %q : tile<$Rx$Cxi64> -> $T\n"},
};

typedef struct size {
    uint32_t rows, columns;
} size;

static const size sizes[] = {{256, 256}, {64, 512}, {2048, 32}};

/* ---- the kernel ---- */

static void put_body(bc_text *out, const char *body, size s)
{
    for (const char *p = body; *p; p++) {
        if (*p != '$') {
            bc_text_char(out, *p);
            continue;
        }
        switch (*++p) {
        case 'T': bc_text_printf(out, "tile<%ux%uxi32>", s.rows, s.columns); break;
        case 'B': bc_text_printf(out, "tile<%ux%uxi1>", s.rows, s.columns); break;
        case 'R': bc_text_printf(out, "%u", s.rows); break;
        case 'C': bc_text_printf(out, "%u", s.columns); break;
        case 'H': bc_text_printf(out, "%u", s.rows / 2); break;
        case 'N': bc_text_printf(out, "%u", s.rows * s.columns); break;
        case 'M': bc_text_printf(out, "%u", s.rows * s.columns - 1); break;
        default: abort();
        }
    }
}

static void put_kernel(bc_text *out, const example *e, size s)
{
    char view[128];
    snprintf(view, sizeof view, "tensor_view<%ux%uxi32, strides=[%u,1]>", s.rows, s.columns, s.columns);
    bc_text_puts(out, "entry @k(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>) {\n%tok = make_token : token\n"
                      "%zero = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n");
    for (const char *x = "ab"; *x; x++) {
        bc_text_printf(out, "%%%c0 = assume div_by<16>, %%%c : tile<ptr<i32>>\n", *x, *x);
        bc_text_printf(out, "%%%c1 = make_tensor_view %%%c0, shape = [%u, %u], strides = [%u, 1] : %s\n", *x, *x,
                       s.rows, s.columns, s.columns, view);
        bc_text_printf(out, "%%%cv = make_partition_view %%%c1 : partition_view<tile=(%ux%u), %s>\n", *x, *x, s.rows,
                       s.columns, view);
    }
    bc_text_printf(
        out,
        "%%x, %%xt = load_view_tko weak %%av[%%zero, %%zero] token = %%tok : partition_view<tile=(%ux%u), %s>, "
        "tile<i32> -> tile<%ux%uxi32>, token\n",
        s.rows, s.columns, view, s.rows, s.columns);
    put_body(out, e->body, s);
    bc_text_printf(out,
                   "%%rt = store_view_tko weak %%r, %%bv[%%zero, %%zero] token = %%tok : tile<%ux%uxi32>, "
                   "partition_view<tile=(%ux%u), %s>, tile<i32> -> token\nreturn\n}\n",
                   s.rows, s.columns, s.rows, s.columns, view);
}

/* ---- running it ---- */

static void report(void *user, const tv_diag *d)
{
    fprintf(stderr, "%s: %s: %.*s\n", (const char *)user, d->rule, (int)d->message.len, d->message.ptr);
}

static uint32_t *buffer(size_t count, uint32_t seed)
{
    uint32_t *x = malloc(count * sizeof *x);
    if (!x)
        abort();
    for (size_t i = 0; i < count; i++)
        x[i] = (uint32_t)(i + seed) * 2654435761u >> 5;
    return x;
}

/* The arrays that the kernel reads and writes, after a run on the virtual machine. */
static bool run_vm(const tv_module *module, tv_sink sink, uint32_t *a, uint32_t *b, size_t bytes)
{
    tv_vm *vm = NULL;
    const uint32_t grid[] = {1, 1, 1};
    const void *params[] = {&a, &b};
    bool ok = tv_vm_new(module, NULL, sink, &vm) == TV_OK && tv_vm_add_buffer(vm, a, bytes, "a", true, sink) == TV_OK
              && tv_vm_add_buffer(vm, b, bytes, "b", true, sink) == TV_OK
              && tv_vm_run(vm, "k", grid, params, 2, sink) == TV_OK;
    tv_vm_free(vm);
    return ok;
}

static bool run_ptx(const char *name, const bc_text *text, uint32_t *a, uint32_t *b, size_t bytes)
{
    char error[256] = "";
    ptxsim *sim = ptxsim_load(text->ptr, text->len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", name, error);
    if (!sim)
        return false;
    uint64_t address[] = {ptxsim_buffer_add(sim, a, bytes, "a"), ptxsim_buffer_add(sim, b, bytes, "b")};
    const void *params[] = {&address[0], &address[1]};
    bool ok = ptxsim_run(sim, &(ptxsim_launch){.grid = {1, 1, 1}, .params = params});
    CHECK_MSG(ok, "%s: %s", name, ptxsim_report_text(sim));
    ptxsim_free(sim);
    return ok;
}

static void compare(const char *name, const tv_module *module, tv_sink sink, const bc_text *text, size s)
{
    size_t count = (size_t)s.rows * s.columns, bytes = count * sizeof(uint32_t);
    uint32_t *want[] = {buffer(count, 1), buffer(count, 2)}, *have[] = {buffer(count, 1), buffer(count, 2)};
    bool ok = run_vm(module, sink, want[0], want[1], bytes);
    CHECK_MSG(ok, "%s: the virtual machine fails", name);
    if (ok && run_ptx(name, text, have[0], have[1], bytes))
        for (int i = 0; i < 2; i++)
            CHECK_MSG(memcmp(want[i], have[i], bytes) == 0, "%s: %s is not what it should be", name, i ? "b" : "a");
    for (int i = 0; i < 2; i++) {
        free(want[i]);
        free(have[i]);
    }
}

static bool compile(const char *name, const char *target, const bc_text *source, bc_text *text, tv_module **module)
{
    tv_sink sink = {(void *)(uintptr_t)name, report};
    bool ok =
        tv_module_parse(source->ptr, source->len, 0, NULL, sink, module) == TV_OK
        && tv_module_verify(*module, NULL, sink) == TV_OK
        && tv_compile_ptx(*module, &(tv_compile_options){.target = target}, sink, (tv_writer){text, bc_text_append})
               == TV_OK;
    CHECK_MSG(ok, "%s: is not compiled", name);
    return ok;
}

static void check_example(const example *e, size s, const char *target, bool runs)
{
    enum { MOST_BYTES = 250 * 1024, MOST_SECONDS = 20 }; /* of a machine that is busy with other things */
    char name[128];
    snprintf(name, sizeof name, "%s of %ux%u, %s", e->name, s.rows, s.columns, target);
    tv_module *module = NULL;
    bc_text source, text;
    bc_text_init(&source, NULL);
    bc_text_init(&text, NULL);
    put_kernel(&source, e, s);
    if (compile(name, target, &source, &text, &module)) {
        CHECK_MSG(text.len < MOST_BYTES, "%s: %zu bytes of PTX", name, text.len);
        time_t began = time(NULL);
        CHECK_MSG(harness_ptxas(text.ptr, text.len, target), "%s: ptxas refuses it", name);
        CHECK_MSG(time(NULL) - began < MOST_SECONDS, "%s: ptxas takes long", name);
        if (runs)
            compare(name, module, (tv_sink){name, report}, &text, s);
    }
    tv_module_close(module);
    bc_text_release(&source);
    bc_text_release(&text);
}

/* What does not fit into local memory is refused with the op that asks for it. */
static void refuse(void *user, const tv_diag *d)
{
    if (strcmp(d->rule, "G-GEN-01") == 0 && d->message.len > 20 && strstr(d->message.ptr, "local memory"))
        *(bool *)user = true;
}

/* Does a kernel of that many turned tiles of 64 MiB, which are kept at the same time, compile? */
static bool turns(unsigned count, tv_sink sink)
{
    tv_module *module = NULL;
    bc_text ops, source, text;
    bc_text_init(&ops, NULL);
    bc_text_init(&source, NULL);
    bc_text_init(&text, NULL);
    bc_text_puts(&ops, "%x0 = addi %x, %x : $T\n");
    for (unsigned i = 0; i < count; i++)
        bc_text_printf(&ops, "%%x%u = addi %%x%u, %%x : $T\n%%p%u = permute %%x%u [1, 0] : $T -> tile<$Cx$Rxi32>\n",
                       i + 1, i, i, i);
    bc_text_puts(&ops, "%s0 = addi %p0, %p0 : tile<$Cx$Rxi32>\n");
    for (unsigned i = 0; i < count; i++)
        bc_text_printf(&ops, "%%s%u = addi %%s%u, %%p%u : tile<$Cx$Rxi32>\n", i + 1, i, i);
    bc_text_printf(&ops, "%%r = reshape %%s%u : tile<$Cx$Rxi32> -> $T\n", count);
    const example turned = {"turned", bc_text_words(&ops)};
    put_kernel(&source, &turned, (size){4096, 4096});
    CHECK(tv_module_parse(source.ptr, source.len, 0, NULL, sink, &module) == TV_OK);
    CHECK(tv_module_verify(module, NULL, sink) == TV_OK);
    tv_status status = tv_compile_ptx(module, NULL, sink, (tv_writer){&text, bc_text_append});
    CHECK(status == TV_OK || status == TV_UNSUPPORTED);
    tv_module_close(module);
    bc_text_release(&ops);
    bc_text_release(&source);
    bc_text_release(&text);
    return status == TV_OK;
}

static void check_refusal(void)
{
    bool told = false;
    tv_sink sink = {&told, refuse};
    CHECK(turns(1, sink) && turns(3, sink) && !told);
    CHECK(!turns(9, sink) && told);
}

/* ---- out of memory ---- */

static void *limited_alloc(void *user, size_t bytes)
{
    uint32_t *left = user;
    return *left && (*left)-- ? malloc(bytes) : NULL;
}

static void limited_release(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static void ignore(void *user, const tv_diag *d)
{
    (void)user, (void)d;
}

/* The n-th piece of memory is refused, for every n. */
static void check_memory(const example *e)
{
    uint32_t left = UINT32_MAX, n = 0;
    tv_allocator limited = {&left, limited_alloc, limited_release};
    tv_module *module = NULL;
    tv_sink sink = {NULL, ignore};
    bc_text source, text;
    bc_text_init(&source, NULL);
    put_kernel(&source, e, sizes[0]);
    CHECK(tv_module_parse(source.ptr, source.len, 0, &(tv_open_options){.allocator = &limited}, sink, &module)
          == TV_OK);
    CHECK(tv_module_verify(module, NULL, sink) == TV_OK);
    for (tv_status status = TV_NO_MEMORY; status == TV_NO_MEMORY && n < 10000; n++) {
        bc_text_init(&text, NULL);
        left = n;
        status = tv_compile_ptx(module, NULL, sink, (tv_writer){&text, bc_text_append});
        CHECK_MSG(status == TV_OK || status == TV_NO_MEMORY, "%s: piece %u: status %d", e->name, n, (int)status);
        bc_text_release(&text);
    }
    CHECK_MSG(n > 10 && n < 10000, "%s: %u pieces", e->name, n);
    left = UINT32_MAX;
    tv_module_close(module);
    bc_text_release(&source);
}

int main(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            check_example(&examples[i], sizes[k], (i + k) % 2 ? "sm_80" : "sm_90a", true);
        check_example(&examples[i], (size){1024, 1024}, "sm_90a", false);
        check_memory(&examples[i]);
    }
    check_refusal();
    return TEST_END("compile_large");
}

/* The API with an allocator that fails: for every n the n-th allocation, alone and with all that follow. Each call
   gives what it gives otherwise, or TV_NO_MEMORY, and everything is released. Messages may say "out of memory" instead.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

/* ---- an allocator that fails ---- */

/* Before the bytes of an allocation. */
typedef struct block {
    _Alignas(64) size_t size;
} block;

typedef struct heap {
    atomic_size_t count, held;
    atomic_size_t misfits; /* given back as what they are not */
    size_t failing;        /* 0: none */
    bool onwards;
} heap;

static void *take(void *user, size_t size)
{
    heap *h = user;
    const size_t n = atomic_fetch_add(&h->count, 1) + 1;
    if (h->failing && (n == h->failing || (h->onwards && n > h->failing)))
        return NULL;
    const size_t whole = (sizeof(block) + size + _Alignof(block) - 1) / _Alignof(block) * _Alignof(block);
    block *b = aligned_alloc(_Alignof(block), whole);
    if (!b)
        return NULL;
    b->size = size;
    atomic_fetch_add(&h->held, 1);
    return b + 1;
}

static void give_back(void *user, void *memory, size_t size)
{
    heap *h = user;
    block *b = (block *)memory - 1;
    atomic_fetch_add(&h->misfits, b->size != size);
    atomic_fetch_sub(&h->held, 1);
    free(b);
}

/* ---- what is done ---- */

/* Two arrays, a list of one more, a constant; loops, views, a reduction, text and an allocation of its own. */
static const char kernel[] =
    "global constant @table <i32: [1, 2, 3, 4]> : tile<4xi32>\n"
    "entry @scale_Kt1_A1f32_1i16t1_p16_A1f32_1i16t1_p16_I32(%x: tile<ptr<f32>>, %xn: tile<i32>, %xs: tile<i32>,\n"
    "    %y: tile<ptr<f32>>, %yn: tile<i32>, %ys: tile<i32>) {\n"
    "  %block, %by, %bz = get_tile_block_id : tile<i32>\n"
    "  %xv = make_tensor_view %x, shape = [%xn], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>\n"
    "  %yv = make_tensor_view %y, shape = [%yn], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>\n"
    "  %xp = make_partition_view %xv : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>\n"
    "  %yp = make_partition_view %yv : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>\n"
    "  %t, %t0 = load_view_tko weak %xp[%block] : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32>"
    " -> tile<32xf32>, token\n"
    "  %c = constant <f32: 2.5> : tile<32xf32>\n"
    "  %r = mulf %t, %c : tile<32xf32>\n"
    "  %t1 = store_view_tko weak %r, %yp[%block] : tile<32xf32>, partition_view<tile=(32), tensor_view<?xf32, "
    "strides=[1]>>,"
    " tile<i32> -> token\n"
    "  %t2 = print_tko \"block %d\\n\", %block : tile<i32> -> token\n"
    "  return\n"
    "}\n";
static const char refused[] = "entry @k(%a: tile<4xi32>) {\n %b = addi %a, %a : tile<4xi32>\n return\n}\n";
/* What is wrong with the second op is not told, since it takes what the first one makes. */
static const char refused_twice[] = "entry @k(%a: tile<4xi32>) {\n"
                                    " %b = divi %a, %a unsigned rounding<negative_inf> : tile<4xi32>\n"
                                    " %c = divi %b, %b unsigned rounding<negative_inf> : tile<4xi32>\n return\n}\n";
static const char misspelt[] = "entry @k() { %a = addi %b, 1 : tile<i32> return }";

typedef struct attempt {
    const tv_allocator *allocator;
    tv_sink sink;
    bc_text out; /* all that came of it; of the C library's memory */
} attempt;

static void hear(void *user, const tv_diag *diag)
{
    bc_text_printf(user, "%s %.*s\n", diag->rule, (int)diag->message.len, diag->message.ptr);
}

static tv_writer to_out(attempt *a)
{
    return (tv_writer){.user = &a->out, .write = bc_text_append};
}

static tv_status parse(attempt *a, const char *text, tv_module **out_module)
{
    tv_open_options options = {.allocator = a->allocator};
    return tv_module_parse(text, strlen(text), 0, &options, a->sink, out_module);
}

static tv_status parsed(attempt *a, tv_module *module)
{
    return tv_module_write(module, a->sink, to_out(a));
}

static tv_status printed(attempt *a, tv_module *module)
{
    return tv_module_print(module, &(tv_print_options){.debug_info = true, .offsets = true}, to_out(a));
}

static tv_status converted(attempt *a, tv_module *module)
{
    tv_status status = tv_module_convert(module, 5, a->sink);
    return status == TV_OK ? parsed(a, module) : status;
}

static tv_status lowered(attempt *a, tv_module *module)
{
    return tv_module_convert(module, 1, a->sink);
}

static tv_status opened(attempt *a, tv_module *module)
{
    bc_text bytes;
    bc_text_init(&bytes, NULL);
    tv_status status = tv_module_write(module, a->sink, (tv_writer){.user = &bytes, .write = bc_text_append});
    tv_module *again = NULL;
    tv_open_options options = {.allocator = a->allocator};
    if (status == TV_OK)
        status = tv_module_open(bytes.ptr, bytes.len, &options, a->sink, &again);
    if (status == TV_OK)
        status = tv_module_verify(again, &(tv_verify_options){.target = 90, .strict = true}, a->sink);
    tv_module_close(again);
    bc_text_release(&bytes);
    return status;
}

static tv_status compiled(attempt *a, tv_module *module)
{
    tv_compile_options options = {.target = "sm_90a", .opt_level = 3, .line_info = true};
    tv_status status = tv_module_verify(module, NULL, a->sink);
    return status == TV_OK ? tv_compile_ptx(module, &options, a->sink, to_out(a)) : status;
}

static tv_status described(attempt *a, tv_module *module)
{
    tv_signature *signature = NULL;
    tv_status status = tv_signature_open(tv_module_entry_name(module, 0), a->allocator, a->sink, &signature);
    if (status == TV_OK)
        bc_text_printf(&a->out, "%zu slots, %.*s\n", tv_signature_slot_count(signature),
                       (int)tv_signature_function(signature).len, tv_signature_function(signature).ptr);
    tv_signature_close(signature);
    return status;
}

static tv_status called(attempt *a, tv_module *module, const tv_signature *signature, uint32_t checks)
{
    enum { N = 64 };
    static _Alignas(16) float x[N], y[N];
    for (unsigned i = 0; i < N; i++)
        x[i] = (float)i;
    const int64_t shape[] = {N};
    tv_array arrays[] = {{x, TV_F32, 1, shape, NULL}, {y, TV_F32, 1, shape, NULL}};
    tv_arg args[] = {{.arrays = &arrays[0], .array_count = 1}, {.arrays = &arrays[1], .array_count = 1}};
    tv_vm_options options = {.allocator = a->allocator, .threads = 1, .output = to_out(a), .checks = checks};
    tv_call *call = NULL;
    tv_vm *vm = NULL;
    tv_status status = tv_call_new(signature, args, 2, a->allocator, a->sink, &call);
    if (status == TV_OK)
        status = tv_vm_new(module, &options, a->sink, &vm);
    if (status == TV_OK)
        status = tv_vm_add_buffer(vm, x, sizeof x, "x", true, a->sink);
    if (status == TV_OK)
        status = tv_vm_add_buffer(vm, y, sizeof y, "y", true, a->sink);
    if (status == TV_OK)
        status = tv_vm_describe_array(vm, &arrays[1], "y", true, a->sink);
    size_t count = 0;
    const void *const *params = status == TV_OK ? tv_call_params(call, &count) : NULL;
    if (status == TV_OK)
        status = tv_vm_run(vm, NULL, (const uint32_t[]){2, 1, 1}, params, count, a->sink);
    if (status == TV_OK)
        bc_text_printf(&a->out, "%g\n", (double)y[N - 1]);
    tv_vm_free(vm);
    tv_call_free(call);
    return status;
}

static tv_status run_with(attempt *a, tv_module *module, uint32_t checks)
{
    tv_signature *signature = NULL;
    tv_status status = tv_module_verify(module, NULL, a->sink);
    if (status == TV_OK)
        status = tv_signature_of_entry(module, 0, a->sink, &signature);
    if (status == TV_OK)
        status = called(a, module, signature, checks);
    tv_signature_close(signature);
    return status;
}

static tv_status ran(attempt *a, tv_module *module)
{
    return run_with(a, module, 0);
}

static tv_status checked(attempt *a, tv_module *module)
{
    return run_with(a, module, TV_CHECK_ALL);
}

/* ---- every allocation ---- */

typedef struct scenario {
    const char *name, *text;
    tv_status (*act)(attempt *a, tv_module *module);
} scenario;

static tv_status act(const scenario *s, attempt *a, heap *h)
{
    const tv_allocator allocator = {h, take, give_back};
    tv_module *module = NULL;
    bc_text_init(&a->out, NULL);
    a->allocator = &allocator;
    a->sink = (tv_sink){&a->out, hear};
    tv_status status = parse(a, s->text, &module);
    if (status == TV_OK)
        status = s->act(a, module);
    tv_module_close(module);
    return status;
}

static bool same_out(const bc_text *a, const bc_text *b)
{
    return bc_str_eq(bc_text_get(a), bc_text_get(b)) || (a->ptr && strstr(a->ptr, "out of memory"));
}

static void try_one(const scenario *s, tv_status wanted, const bc_text *out, size_t n, bool onwards)
{
    heap h = {.failing = n, .onwards = onwards};
    attempt a;
    tv_status status = act(s, &a, &h);
    CHECK_MSG(status == TV_NO_MEMORY || (status == wanted && same_out(&a.out, out)), "%s, allocation %zu%s: %d\n%s",
              s->name, n, onwards ? "+" : "", (int)status, bc_text_words(&a.out));
    CHECK_MSG(h.misfits == 0, "%s, allocation %zu%s: %zu have another size", s->name, n, onwards ? "+" : "", h.misfits);
    CHECK_MSG(h.held == 0, "%s, allocation %zu%s: %zu are held", s->name, n, onwards ? "+" : "", h.held);
    bc_text_release(&a.out);
}

int main(void)
{
    static const scenario scenarios[] = {
        {"asm", kernel, parsed},
        {"asm, misspelt", misspelt, parsed},
        {"disasm", kernel, printed},
        {"convert", kernel, converted},
        {"convert, refused", kernel, lowered},
        {"open", kernel, opened},
        {"verify, refused", refused, opened},
        {"verify, refused twice", refused_twice, opened},
        {"compile", kernel, compiled},
        {"signature", kernel, described},
        {"run", kernel, ran},
        {"check", kernel, checked},
    };
    for (size_t i = 0; i < TV_COUNT(scenarios); i++) {
        heap h = {0};
        attempt a;
        tv_status status = act(&scenarios[i], &a, &h);
        CHECK_MSG(h.count > 0 && h.held == 0 && status != TV_NO_MEMORY && status != TV_USAGE, "%s: %d\n%s",
                  scenarios[i].name, (int)status, bc_text_words(&a.out));
        for (size_t n = 1; n <= h.count; n++) {
            try_one(&scenarios[i], status, &a.out, n, false);
            try_one(&scenarios[i], status, &a.out, n, true);
        }
        bc_text_release(&a.out);
    }
    return TEST_END("starved");
}

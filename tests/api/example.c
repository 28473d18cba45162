/* A kernel from text to result through libtilevm alone: what it takes, arguments, a run on the CPU, findings, figures
   and the values of single ops. Built against the installed library:

     cc example.c $(pkg-config --cflags --libs tilevm) -o example && ./example */
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <tilevm/tilevm.h>

/* y = x * s, 32 elements in a tile block. What stands behind the name says, as cuTile Python writes it: two arrays of
   one dimension whose stride is 1 and whose address is a multiple of 16 bytes, a number, and the constant 32. A file of
   bytecode goes to tv_module_open instead. */
static const char *const text =
    "entry @scale_Kt1_A1f32_1t1_p16_A1f32_1t1_p16_Sf32_I32(%x: tile<ptr<f32>>, %xn: tile<i32>, %xs: tile<i32>,\n"
    "    %y: tile<ptr<f32>>, %yn: tile<i32>, %ys: tile<i32>, %s: tile<f32>) {\n"
    "  %block, %by, %bz = get_tile_block_id : tile<i32>\n"
    "  %xv = make_tensor_view %x, shape = [%xn], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>\n"
    "  %yv = make_tensor_view %y, shape = [%yn], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>\n"
    "  %xp = make_partition_view %xv : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>\n"
    "  %yp = make_partition_view %yv : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>\n"
    "  %t, %t0 = load_view_tko weak %xp[%block]\n"
    "      : partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<32xf32>, token\n"
    "  %s1 = reshape %s : tile<f32> -> tile<1xf32>\n"
    "  %s32 = broadcast %s1 : tile<1xf32> -> tile<32xf32>\n"
    "  %r = mulf %t, %s32 : tile<32xf32>\n"
    "  %t1 = store_view_tko weak %r, %yp[%block]\n"
    "      : tile<32xf32>, partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token\n"
    "  return\n"
    "}\n";

enum { N = 100 };

static alignas(16) float x[N + 4], y[N]; /* the machine is told of N elements each */

/* Everything that is wrong comes here, one finding at a time. Strings are not terminated. */
static void report(void *user, const tv_diag *diag)
{
    unsigned *errors = user;
    *errors += diag->severity == TV_ERROR;
    printf("  %s: %.*s\n", diag->rule, (int)diag->message.len, diag->message.ptr);
    if (diag->op_text.len)
        printf("    in op %u: %.*s\n", (unsigned)diag->op_index, (int)diag->op_text.len, diag->op_text.ptr);
}

static bool print(void *user, const void *bytes, size_t size)
{
    (void)user;
    return fwrite(bytes, 1, size, stdout) == size;
}

/* Which ops to trace, and what they make. */
static bool is_traced(void *user, tv_str op, uint32_t op_index)
{
    (void)user;
    (void)op_index;
    return op.len == 4 && memcmp(op.ptr, "mulf", 4) == 0;
}

static void trace(void *user, const tv_trace *value)
{
    unsigned *traced = user;
    float first;
    memcpy(&first, value->tile.data, sizeof first);
    printf("  tile block %u, op %u: %.*s of %llu elements, the first is %g\n", (unsigned)value->block[0],
           (unsigned)value->op_index, (int)value->op.len, value->op.ptr, (unsigned long long)value->tile.count, first);
    ++*traced;
}

static void list_entries(const tv_module *module)
{
    for (size_t i = 0; i < tv_module_entry_count(module); i++) {
        tv_str name = tv_module_entry_name(module, i);
        printf("entry %.*s takes %zu values\n", (int)name.len, name.ptr, tv_module_entry_param_count(module, i));
    }
}

static void list_parameters(const tv_signature *signature)
{
    tv_str name = tv_signature_function(signature);
    printf("%.*s, called as cutile_python_v%u, has\n", (int)name.len, name.ptr, tv_signature_convention(signature));
    for (size_t i = 0; i < tv_signature_param_count(signature); i++) {
        const tv_param *param = tv_signature_param(signature, i);
        printf("  %s  ", param->name);
        tv_param_print(param, (tv_writer){.write = print});
        printf("\n");
    }
}

/* The arguments of one run: an array of `length` floats, another, and a factor. Constants take none. */
static tv_status make_call(const tv_signature *signature, int64_t length, float factor, tv_sink sink,
                           tv_call **out_call)
{
    const int64_t shape[1] = {length}, all[1] = {N};
    const tv_array in = {.data = x, .dtype = TV_F32, .ndim = 1, .shape = shape};
    const tv_array out = {.data = y, .dtype = TV_F32, .ndim = 1, .shape = all};
    uint32_t bits;
    memcpy(&bits, &factor, sizeof bits);
    const tv_arg args[3] = {{.name = "x", .arrays = &in, .array_count = 1},
                            {.name = "y", .arrays = &out, .array_count = 1},
                            {.name = "s", .dtype = TV_F32, .bits = bits}};
    return tv_call_new(signature, args, 3, NULL, sink, out_call);
}

/* Runs it over a grid of as many tile blocks as y has tiles. */
static tv_status run(tv_vm *vm, const tv_call *call, tv_sink sink)
{
    const uint32_t grid[3] = {(N + 31) / 32, 1, 1};
    size_t count;
    const void *const *params = tv_call_params(call, &count);
    return tv_vm_run(vm, NULL, grid, params, count, sink); /* NULL: the only entry */
}

static void print_stats(const tv_vm *vm)
{
    tv_vm_stats stats;
    tv_vm_op_time op;
    tv_vm_get_stats(vm, &stats);
    printf("%llu tile blocks, %llu ops, %llu bytes loaded, %llu stored, %llu floating-point operations\n",
           (unsigned long long)stats.blocks, (unsigned long long)stats.ops, (unsigned long long)stats.bytes_loaded,
           (unsigned long long)stats.bytes_stored, (unsigned long long)stats.flops);
    for (size_t i = 0; tv_vm_op_time_at(vm, i, &op); i++)
        printf("  %s %llu times\n", op.op, (unsigned long long)op.count);
}

static bool results_are_right(float factor)
{
    for (int i = 0; i < N; i++)
        if (y[i] != x[i] * factor)
            return false;
    return true;
}

/* A run with a trace, one that is refused, one that is stopped. */
static bool use(const tv_module *module, const tv_signature *signature, tv_sink sink, unsigned *errors)
{
    unsigned traced = 0;
    const tv_vm_options options = {.trace = trace, .trace_op = is_traced, .user = &traced};
    tv_call *call = NULL;
    tv_vm *vm = NULL;
    bool good = tv_vm_new(module, &options, sink, &vm) == TV_OK
                && tv_vm_add_buffer(vm, x, N * sizeof *x, "x", false, sink) == TV_OK
                && tv_vm_add_buffer(vm, y, sizeof y, "y", true, sink) == TV_OK;

    printf("a run:\n");
    good = good && make_call(signature, N, 2.5f, sink, &call) == TV_OK && run(vm, call, sink) == TV_OK;
    good = good && results_are_right(2.5f) && traced == (N + 31) / 32;
    if (good)
        print_stats(vm);
    tv_call_free(call);
    call = NULL;

    printf("an array of negative length is refused:\n");
    *errors = 0;
    good = good && make_call(signature, -1, 1, sink, &call) == TV_INVALID && *errors == 1 && !call;

    printf("an array that is longer than its memory stops the run:\n");
    *errors = 0;
    good = good && make_call(signature, N + 1, 1, sink, &call) == TV_OK && run(vm, call, sink) == TV_TRAP
           && *errors == 1;
    tv_call_free(call);
    tv_vm_free(vm);
    return good;
}

int main(void)
{
    unsigned errors = 0;
    const tv_sink sink = {.user = &errors, .report = report};
    tv_module *module = NULL;
    tv_signature *signature = NULL;
    size_t entry;
    for (int i = 0; i < N; i++)
        x[i] = (float)i / 4;
    bool good = tv_module_parse(text, strlen(text), 0, NULL, sink, &module) == TV_OK
                && tv_module_verify(module, NULL, sink) == TV_OK;
    if (good)
        list_entries(module);
    good = good && tv_module_entry_find(module, (tv_str){"scale", 5}, sink, &entry) == TV_OK
           && tv_signature_of_entry(module, entry, sink, &signature) == TV_OK;
    if (good)
        list_parameters(signature);
    good = good && use(module, signature, sink, &errors);
    tv_signature_close(signature);
    if (module)
        tv_module_close(module);
    printf(good ? "all as it should be\n" : "something is not as it should be\n");
    return good ? 0 : 1;
}

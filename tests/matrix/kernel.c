#include "tests/matrix/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/gpu.h"
#include "tests/matrix/exact.h"
#include "tests/ptxsim/ptxsim.h"

static const char *ptx_target; /* NULL: the virtual machine runs kernels */
static bool on_gpu;
static unsigned share_first, share_count = 1, kernel_number;

bool mx_is_turn(mx_report *r)
{
    r->kernels++;
    return kernel_number++ % share_count == share_first;
}

void mx_use_share(unsigned first, unsigned count)
{
    share_first = first;
    share_count = count;
}

void mx_use_ptx(const char *target, bool gpu)
{
    ptx_target = target;
    on_gpu = gpu;
}

unsigned mx_ptx_sm(void)
{
    return ptx_target ? (unsigned)strtoul(ptx_target + 3, NULL, 10) : 0;
}

bool mx_is_gpu(void)
{
    return on_gpu;
}

bool mx_is_ptx(void)
{
    return ptx_target != NULL;
}

const mx_shape mx_shapes[] = {
    {0, {0}},    {1, {1}},     {1, {2}},       {1, {16}},       {1, {256}},        {2, {1, 1}},
    {2, {4, 2}}, {2, {8, 32}}, {3, {2, 4, 8}}, {3, {1, 16, 2}}, {4, {2, 2, 4, 2}}, {4, {4, 1, 8, 8}},
};
const size_t mx_shape_count = TV_COUNT(mx_shapes);

size_t mx_count(mx_shape shape)
{
    size_t n = 1;
    for (unsigned d = 0; d < shape.rank; d++)
        n *= shape.dim[d];
    return n;
}

mx_shape mx_vector(size_t n)
{
    return (mx_shape){.rank = 1, .dim = {(uint32_t)n}};
}

static mx_shape slice_of(mx_form form, mx_shape shape)
{
    for (unsigned d = 0; d < shape.rank; d++)
        if (form == MX_SPLAT || (form == MX_ROW && d == 0) || (form == MX_COLUMN && d + 1 == shape.rank))
            shape.dim[d] = 1;
    return shape;
}

size_t mx_source(mx_form form, mx_shape shape, size_t i)
{
    if (form == MX_SPLAT)
        return 0;
    if (form == MX_ROW && shape.rank)
        return i % (mx_count(shape) / shape.dim[0]);
    if (form == MX_COLUMN && shape.rank)
        return i / shape.dim[shape.rank - 1];
    return i;
}

/* ---- text ---- */

const char *mx_kind(bc_kind kind)
{
    return kind == BC_PTR ? "ptr<f32>" : bc_kinds[kind].text;
}

const char *mx_tile(mx_shape shape, bc_kind kind)
{
    static _Thread_local char texts[4][96];
    static _Thread_local unsigned turn;
    char *text = texts[turn++ % 4];
    int at = sprintf(text, "tile<");
    for (unsigned d = 0; d < shape.rank; d++)
        at += sprintf(text + at, "%ux", shape.dim[d]);
    sprintf(text + at, "%s>", mx_kind(kind));
    return text;
}

void mx_op(mx_kernel *k, const char *format, ...)
{
    va_list args;
    bc_text_puts(&k->body, "  ");
    va_start(args, format);
    bc_text_vprintf(&k->body, format, args);
    va_end(args);
    bc_text_char(&k->body, '\n');
}

unsigned mx_new(mx_kernel *k)
{
    return k->values++;
}

/* ---- buffers ---- */

static bool is_nibble(bc_kind kind)
{
    return kind == BC_I4 || kind == BC_F4E2M1FN;
}

/* A buffer of nibbles is one of bytes for the kernel. */
static bc_kind memory_kind(bc_kind kind)
{
    return kind == BC_PTR ? BC_I64 : is_nibble(kind) ? BC_I8 : kind;
}

static size_t element_bytes(bc_kind kind)
{
    return (exact_bits(memory_kind(kind)) + 7) / 8;
}

static void put(const mx_buffer *b, size_t i, uint64_t pattern)
{
    if (is_nibble(b->kind)) {
        unsigned shift = i % 2 ? 4 : 0;
        b->bytes[i / 2] = (unsigned char)((b->bytes[i / 2] & ~(15u << shift)) | ((unsigned)pattern & 15) << shift);
        return;
    }
    memcpy(b->bytes + i * element_bytes(b->kind), &pattern, element_bytes(b->kind));
}

uint64_t mx_result(const mx_kernel *k, unsigned buffer, size_t i)
{
    const mx_buffer *b = &k->buffers[buffer];
    uint64_t pattern = 0;
    if (is_nibble(b->kind))
        return b->bytes[i / 2] >> (i % 2 ? 4 : 0) & 15;
    memcpy(&pattern, b->bytes + i * element_bytes(b->kind), element_bytes(b->kind));
    return pattern;
}

static unsigned add_buffer(mx_kernel *k, bc_kind kind, size_t count)
{
    mx_buffer *b = &k->buffers[k->buffer_count];
    b->kind = kind;
    b->count = count;
    b->size = is_nibble(kind) ? (count + 1) / 2 : count * element_bytes(kind);
    b->bytes = malloc(b->size + !b->size);
    b->patterns = malloc((count + !count) * sizeof *b->patterns);
    if (!b->bytes || !b->patterns) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    memset(b->bytes, 0xFF, b->size);
    bc_text_printf(&k->params, "%s%%p%u: tile<ptr<%s>>", k->buffer_count ? ", " : "", k->buffer_count,
                   mx_kind(memory_kind(kind)));
    return k->buffer_count++;
}

unsigned mx_input(mx_kernel *k, bc_kind kind, const uint64_t *patterns, size_t count)
{
    unsigned buffer = add_buffer(k, kind, count);
    for (size_t i = 0; i < count; i++) {
        put(&k->buffers[buffer], i, patterns[i]);
        k->buffers[buffer].patterns[i] = patterns[i];
    }
    return buffer;
}

unsigned mx_output(mx_kernel *k, bc_kind kind, size_t count)
{
    return add_buffer(k, kind, count);
}

void mx_begin(mx_kernel *k)
{
    memset(k, 0, sizeof *k);
    bc_text_init(&k->params, NULL);
    bc_text_init(&k->body, NULL);
    bc_text_init(&k->output, NULL);
    bc_text_init(&k->findings, NULL);
    for (unsigned d = 0; d < 3; d++)
        k->grid[d] = 1;
}

void mx_end(mx_kernel *k)
{
    for (unsigned i = 0; i < k->buffer_count; i++) {
        free(k->buffers[i].bytes);
        free(k->buffers[i].patterns);
    }
    bc_text_release(&k->params);
    bc_text_release(&k->body);
    bc_text_release(&k->output);
    bc_text_release(&k->findings);
}

/* ---- loads and stores ---- */

static unsigned reshaped(mx_kernel *k, unsigned value, bc_kind kind, mx_shape from, mx_shape to)
{
    unsigned v = mx_new(k);
    mx_op(k, "%%v%u = reshape %%v%u : %s -> %s", v, value, mx_tile(from, kind), mx_tile(to, kind));
    return v;
}

/* 0, 1, 2, ... counted from the block's first element, where a block has per_block elements. */
static unsigned positions(mx_kernel *k, mx_shape shape, size_t per_block)
{
    mx_shape one = {0, {0}}, row = mx_vector(mx_count(shape)), single = mx_vector(1);
    unsigned id = mx_new(k), n = mx_new(k), base = mx_new(k), wide = mx_new(k), iota = mx_new(k), sum = mx_new(k);
    mx_op(k, "%%v%u, %%y%u, %%z%u = get_tile_block_id : tile<i32>", id, id, id);
    mx_op(k, "%%v%u = constant <i32: %zu> : tile<i32>", n, per_block);
    mx_op(k, "%%v%u = muli %%v%u, %%v%u : tile<i32>", base, id, n);
    unsigned first = reshaped(k, base, BC_I32, one, single);
    mx_op(k, "%%v%u = broadcast %%v%u : tile<1xi32> -> %s", wide, first, mx_tile(row, BC_I32));
    mx_op(k, "%%v%u = iota : %s", iota, mx_tile(row, BC_I32));
    mx_op(k, "%%v%u = addi %%v%u, %%v%u : %s", sum, iota, wide, mx_tile(row, BC_I32));
    return reshaped(k, sum, BC_I32, row, shape);
}

static const char *pointer_tile(mx_shape shape, bc_kind kind)
{
    static _Thread_local char texts[2][96];
    static _Thread_local unsigned turn;
    char *text = texts[turn++ % 2];
    int at = sprintf(text, "tile<");
    for (unsigned d = 0; d < shape.rank; d++)
        at += sprintf(text + at, "%ux", shape.dim[d]);
    sprintf(text + at, "ptr<%s>>", mx_kind(kind));
    return text;
}

static unsigned pointers(mx_kernel *k, unsigned buffer, bc_kind kind, mx_shape shape, unsigned index)
{
    mx_shape ones = shape;
    unsigned a = mx_new(k), b = mx_new(k), c = mx_new(k);
    for (unsigned d = 0; d < ones.rank; d++)
        ones.dim[d] = 1;
    mx_op(k, "%%v%u = reshape %%p%u : tile<ptr<%s>> -> %s", a, buffer, mx_kind(kind), pointer_tile(ones, kind));
    mx_op(k, "%%v%u = broadcast %%v%u : %s -> %s", b, a, pointer_tile(ones, kind), pointer_tile(shape, kind));
    mx_op(k, "%%v%u = offset %%v%u, %%v%u : %s, %s -> %s", c, b, index, pointer_tile(shape, kind),
          mx_tile(shape, BC_I32), pointer_tile(shape, kind));
    return c;
}

static mx_shape reversed(mx_shape shape)
{
    mx_shape r = {.rank = shape.rank};
    for (unsigned d = 0; d < shape.rank; d++)
        r.dim[d] = shape.dim[shape.rank - 1 - d];
    return r;
}

static unsigned permuted(mx_kernel *k, unsigned value, bc_kind kind, mx_shape from)
{
    unsigned v = mx_new(k);
    bc_text_printf(&k->body, "  %%v%u = permute %%v%u [", v, value);
    for (unsigned d = from.rank; d-- > 0;)
        bc_text_printf(&k->body, "%u%s", d, d ? ", " : "]");
    bc_text_printf(&k->body, " : %s -> %s\n", mx_tile(from, kind), mx_tile(reversed(from), kind));
    return v;
}

/* ---- order ---- */

/* The operand that names the last access to the buffer: empty where there is none, or where nothing asks for order. */
static const char *behind_last(mx_kernel *k, unsigned buffer)
{
    static _Thread_local char text[32];
    const mx_buffer *b = &k->buffers[buffer];
    text[0] = '\0';
    if (k->in_order && b->last_kind)
        snprintf(text, sizeof text, " token=%%%c%u", b->last_kind, b->last);
    return text;
}

static void now_last(mx_kernel *k, unsigned buffer, char kind, unsigned number)
{
    k->buffers[buffer].last_kind = kind;
    k->buffers[buffer].last = number;
}

/* ---- accesses ---- */

static unsigned load_at(mx_kernel *k, unsigned buffer, bc_kind kind, mx_shape shape, unsigned index)
{
    unsigned p = pointers(k, buffer, kind, shape, index), v = mx_new(k);
    mx_op(k, "%%v%u, %%t%u = load_ptr_tko weak %%v%u%s : %s -> %s, token", v, v, p, behind_last(k, buffer),
          pointer_tile(shape, kind), mx_tile(shape, kind));
    now_last(k, buffer, 't', v);
    return v;
}

/* A view over all elements in one dimension, cut into tiles of one block. */
typedef struct block_view {
    unsigned value, id; /* of the view and of the tile block */
    char type[128];
} block_view;

static block_view view_of(mx_kernel *k, unsigned buffer, bc_kind kind, size_t n)
{
    block_view view = {.value = mx_new(k), .id = mx_new(k)};
    size_t count = k->buffers[buffer].size / element_bytes(kind);
    unsigned tensor = mx_new(k);
    char type[64];
    snprintf(type, sizeof type, "tensor_view<%zux%s, strides=[1]>", count, mx_kind(kind));
    snprintf(view.type, sizeof view.type, "partition_view<tile=(%zu), %s>", n, type);
    mx_op(k, "%%v%u = make_tensor_view %%p%u, shape = [%zu], strides = [1] : %s", tensor, buffer, count, type);
    mx_op(k, "%%v%u = make_partition_view %%v%u : %s", view.value, tensor, view.type);
    mx_op(k, "%%v%u, %%y%u, %%z%u = get_tile_block_id : tile<i32>", view.id, view.id, view.id);
    return view;
}

static unsigned load_view(mx_kernel *k, unsigned buffer, bc_kind kind, mx_shape shape)
{
    size_t n = mx_count(shape);
    block_view view = view_of(k, buffer, kind, n);
    unsigned v = mx_new(k);
    mx_op(k, "%%v%u, %%t%u = load_view_tko weak %%v%u[%%v%u]%s : %s, tile<i32> -> %s, token", v, v, view.value, view.id,
          behind_last(k, buffer), view.type, mx_tile(mx_vector(n), kind));
    now_last(k, buffer, 't', v);
    return reshaped(k, v, kind, mx_vector(n), shape);
}

void mx_store_view(mx_kernel *k, unsigned buffer, mx_shape shape, unsigned value)
{
    bc_kind kind = k->buffers[buffer].kind;
    size_t n = mx_count(shape);
    block_view view = view_of(k, buffer, kind, n);
    unsigned row = reshaped(k, value, kind, shape, mx_vector(n));
    mx_op(k, "%%s%u = store_view_tko weak %%v%u, %%v%u[%%v%u]%s : %s, %s, tile<i32> -> token", row, row, view.value,
          view.id, behind_last(k, buffer), mx_tile(mx_vector(n), kind), view.type);
    now_last(k, buffer, 's', row);
}

static unsigned load_bytes(mx_kernel *k, unsigned buffer, mx_shape shape, mx_form form, bc_kind kind)
{
    mx_shape part = slice_of(form, shape);
    if (form == MX_VIEW)
        return load_view(k, buffer, kind, shape);
    unsigned index = positions(k, part, mx_count(shape));
    if (form == MX_PERMUTED && shape.rank >= 2)
        return permuted(k, load_at(k, buffer, kind, reversed(shape), permuted(k, index, BC_I32, shape)), kind,
                        reversed(shape));
    unsigned v = load_at(k, buffer, kind, part, index);
    if (mx_count(part) == mx_count(shape))
        return v;
    unsigned wide = mx_new(k);
    mx_op(k, "%%v%u = broadcast %%v%u : %s -> %s", wide, v, mx_tile(part, kind), mx_tile(shape, kind));
    return wide;
}

/* Half bytes come as bytes that are unpacked; a single one as a byte that is cut. */
static unsigned load_nibbles(mx_kernel *k, unsigned buffer, mx_shape shape, mx_form form, bc_kind kind)
{
    size_t n = mx_count(shape);
    unsigned v = mx_new(k);
    if (n == 1) {
        unsigned byte = load_bytes(k, buffer, shape, MX_PLAIN, BC_I8);
        mx_op(k, "%%v%u = trunci %%v%u : %s -> %s", v, byte, mx_tile(shape, BC_I8), mx_tile(shape, kind));
        return v;
    }
    unsigned bytes = load_bytes(k, buffer, mx_vector(n / 2), form == MX_VIEW ? MX_VIEW : MX_PLAIN, BC_I8);
    mx_op(k, "%%v%u = unpack %%v%u : %s -> %s", v, bytes, mx_tile(mx_vector(n / 2), BC_I8),
          mx_tile(mx_vector(n), kind));
    v = reshaped(k, v, kind, mx_vector(n), shape);
    if (form == MX_PERMUTED && shape.rank >= 2)
        return permuted(k, permuted(k, v, kind, shape), kind, reversed(shape));
    return v;
}

static unsigned load_constant(mx_kernel *k, const mx_buffer *b, mx_shape shape)
{
    size_t n = mx_count(shape);
    unsigned v = mx_new(k);
    bool is_float = exact_is_float(b->kind);
    bc_text_printf(&k->body, "  %%v%u = constant <%s: [", v, mx_kind(b->kind));
    for (size_t i = 0; i < n; i++) {
        uint64_t x = b->patterns[i];
        if (is_float)
            bc_text_printf(&k->body, "%s0x%llx", i ? ", " : "", (unsigned long long)(b->kind == BC_TF32 ? x >> 13 : x));
        else
            bc_text_printf(&k->body, "%s%lld", i ? ", " : "", (long long)exact_signed(x, exact_bits(b->kind)));
    }
    bc_text_printf(&k->body, "]> : %s\n", mx_tile(mx_vector(n), b->kind));
    return reshaped(k, v, b->kind, mx_vector(n), shape);
}

unsigned mx_load(mx_kernel *k, unsigned buffer, mx_shape shape, mx_form form)
{
    const mx_buffer *b = &k->buffers[buffer];
    if (form == MX_CONSTANT)
        return load_constant(k, b, shape);
    if (is_nibble(b->kind))
        return load_nibbles(k, buffer, shape, form, b->kind);
    unsigned v = load_bytes(k, buffer, shape, form, memory_kind(b->kind));
    if (b->kind != BC_PTR)
        return v;
    unsigned p = mx_new(k);
    mx_op(k, "%%v%u = int_to_ptr %%v%u : %s -> %s", p, v, mx_tile(shape, BC_I64), mx_tile(shape, BC_PTR));
    return p;
}

void mx_store(mx_kernel *k, unsigned buffer, mx_shape shape, unsigned value)
{
    bc_kind kind = k->buffers[buffer].kind, stored = memory_kind(kind);
    size_t n = mx_count(shape);
    unsigned v = value;
    if (kind == BC_PTR) {
        v = mx_new(k);
        mx_op(k, "%%v%u = ptr_to_int %%v%u : %s -> %s", v, value, mx_tile(shape, BC_PTR), mx_tile(shape, BC_I64));
    } else if (is_nibble(kind) && n == 1) {
        v = mx_new(k);
        mx_op(k, "%%v%u = exti %%v%u unsigned : %s -> %s", v, value, mx_tile(shape, kind), mx_tile(shape, BC_I8));
    } else if (is_nibble(kind)) {
        unsigned row = reshaped(k, value, kind, shape, mx_vector(n));
        v = mx_new(k);
        shape = mx_vector(n / 2);
        mx_op(k, "%%v%u = pack %%v%u : %s -> %s", v, row, mx_tile(mx_vector(n), kind), mx_tile(shape, BC_I8));
    }
    unsigned index = positions(k, shape, mx_count(shape)), p = pointers(k, buffer, stored, shape, index);
    mx_op(k, "%%s%u = store_ptr_tko weak %%v%u, %%v%u%s : %s, %s -> token", p, p, v, behind_last(k, buffer),
          pointer_tile(shape, stored), mx_tile(shape, stored));
    now_last(k, buffer, 's', p);
}

/* ---- running ---- */

static void keep_finding(void *user, const tv_diag *d)
{
    bc_text *out = user;
    if (d->severity == TV_ERROR)
        bc_text_printf(out, "    %s: %.*s\n", d->rule, (int)d->message.len, d->message.ptr);
}

static void module_text(const mx_kernel *k, const char *globals, bc_text *out)
{
    tv_str params = bc_text_get(&k->params), body = bc_text_get(&k->body);
    bc_text_init(out, NULL);
    bc_text_printf(out, "%sentry @k(%.*s) {\n%.*s  return\n}\n", globals ? globals : "", (int)params.len,
                   params.len ? params.ptr : "", (int)body.len, body.len ? body.ptr : "");
}

static tv_status open_module(mx_kernel *k, const char *globals, tv_module **out)
{
    bc_text text;
    tv_sink sink = {&k->findings, keep_finding};
    bc_text_clear(&k->findings);
    module_text(k, globals, &text);
    tv_status status = tv_module_parse(text.ptr, text.len, 0, NULL, sink, out);
    bc_text_release(&text);
    if (status != TV_OK)
        return status;
    status = tv_module_verify(*out, NULL, sink);
    if (status != TV_OK)
        tv_module_close(*out);
    return status;
}

tv_status mx_check(mx_kernel *k, const char *globals)
{
    tv_module *m;
    tv_status status = open_module(k, globals, &m);
    if (status == TV_OK)
        tv_module_close(m);
    return status;
}

/* By opcode: some kernel of this program executed the op. */
static bool executed[OP_LIMIT];

static void note_executed(const tv_vm *vm)
{
    tv_vm_op_time time;
    bc_opcode opcode;
    for (size_t i = 0; tv_vm_op_time_at(vm, i, &time); i++)
        if (bc_op_find(bc_str(time.op), &opcode))
            executed[opcode] |= time.count > 0;
}

void mx_check_all_executed(mx_report *r)
{
    for (int opcode = 0; opcode < OP_LIMIT; opcode++) {
        const char *name = bc_ops[opcode].name;
        if (!name || strncmp(name, "multimem_", 9) == 0)
            continue;
        if (executed[opcode])
            mx_pass(r);
        else
            mx_fail(r, NULL, "no kernel of the matrix executes '%s'", name);
    }
}

static tv_status run_module(mx_kernel *k, const tv_module *m)
{
    tv_sink sink = {&k->findings, keep_finding};
    tv_vm_options options = {.threads = 1, .step_limit = 100000000, .output = {&k->output, bc_text_append}};
    tv_vm *vm;
    TV_TRY(tv_vm_new(m, &options, sink, &vm));
    tv_status status = TV_OK;
    const void *params[MX_MAX_BUFFERS], *addresses[MX_MAX_BUFFERS];
    for (unsigned i = 0; i < k->buffer_count && status == TV_OK; i++) {
        const mx_buffer *b = &k->buffers[i];
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        addresses[i] = b->bytes;
        params[i] = &addresses[i];
        if (b->size)
            status = tv_vm_add_buffer(vm, b->bytes, b->size, name, true, sink);
    }
    if (status == TV_OK)
        status = tv_vm_run(vm, "k", k->grid, params, k->buffer_count, sink);
    note_executed(vm);
    tv_vm_free(vm);
    return status;
}

static tv_status run_simulator(mx_kernel *k, const bc_text *ptx)
{
    char error[200];
    uint64_t addresses[MX_MAX_BUFFERS];
    const void *params[MX_MAX_BUFFERS];
    tv_status status = TV_OK;
    ptxsim *sim = ptxsim_load(ptx->ptr, ptx->len, error, sizeof error);
    if (!sim) {
        bc_text_printf(&k->findings, "    ptx: %s\n", error);
        return TV_INVALID;
    }
    for (unsigned i = 0; i < k->buffer_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        addresses[i] = ptxsim_buffer_add(sim, k->buffers[i].bytes, k->buffers[i].size, name);
        params[i] = &addresses[i];
    }
    ptxsim_launch launch = {.grid = {k->grid[0], k->grid[1], k->grid[2]}, .params = params, .seed = 1};
    if (!ptxsim_run(sim, &launch)) {
        bc_text_printf(&k->findings, "    %s\n", ptxsim_report_text(sim));
        status = TV_TRAP;
    }
    bc_text_puts(&k->output, ptxsim_output(sim));
    ptxsim_free(sim);
    return status;
}

static tv_status run_gpu(mx_kernel *k, bc_text *ptx)
{
    gpu_module *module = NULL;
    uint64_t addresses[MX_MAX_BUFFERS] = {0};
    const void *params[MX_MAX_BUFFERS];
    bc_text_char(ptx, '\0');
    bool ok = gpu_open() && gpu_load(ptx->ptr, &module);
    for (unsigned i = 0; i < k->buffer_count && ok; i++) {
        params[i] = &addresses[i];
        ok = gpu_alloc(k->buffers[i].size + 1, &addresses[i])
             && gpu_write(addresses[i], k->buffers[i].bytes, k->buffers[i].size);
    }
    bool printing = ok && gpu_capture_begin();
    ok = ok && gpu_launch(module, "k", k->grid, params) && gpu_wait();
    if (printing)
        gpu_capture_end(&k->output);
    for (unsigned i = 0; i < k->buffer_count && ok; i++)
        ok = gpu_read(k->buffers[i].bytes, addresses[i], k->buffers[i].size);
    if (!ok)
        bc_text_printf(&k->findings, "    %s\n", gpu_error());
    gpu_unload(module);
    for (unsigned i = 0; i < k->buffer_count; i++)
        if (addresses[i])
            gpu_free(addresses[i]);
    if (!ok)
        gpu_close();
    return ok ? TV_OK : TV_TRAP;
}

static tv_status run_ptx(mx_kernel *k, const tv_module *m)
{
    bc_text text;
    bc_text_init(&text, NULL);
    tv_status status = tv_compile_ptx(m,
                                      &(tv_compile_options){.target = ptx_target, .opt_level = 3, .verify_each = true},
                                      (tv_sink){&k->findings, keep_finding}, (tv_writer){&text, bc_text_append});
    if (status == TV_OK)
        status = on_gpu ? run_gpu(k, &text) : run_simulator(k, &text);
    bc_text_release(&text);
    return status;
}

tv_status mx_run(mx_kernel *k, const char *globals)
{
    tv_module *m;
    bc_text_clear(&k->output);
    tv_status status = open_module(k, globals, &m);
    if (status != TV_OK)
        return status;
    status = ptx_target ? run_ptx(k, m) : run_module(k, m);
    tv_module_close(m);
    return status;
}

/* ---- reports ---- */

enum { SHOWN_WITH_KERNEL = 3, SHOWN = 25 };

void mx_pass(mx_report *r)
{
    r->passed++;
}

void mx_fail(mx_report *r, const mx_kernel *k, const char *format, ...)
{
    va_list args;
    r->failed++;
    if (r->shown >= SHOWN)
        return;
    printf("FAILED %s: ", r->name);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    tv_str findings = k ? bc_text_get(&k->findings) : (tv_str){NULL, 0};
    if (findings.len)
        printf("%.*s", (int)findings.len, findings.ptr);
    if (k && r->shown < SHOWN_WITH_KERNEL) {
        bc_text text;
        module_text(k, NULL, &text);
        printf("%.*s", (int)text.len, text.ptr);
        bc_text_release(&text);
    }
    r->shown++;
}

/* ---- made-up elements ---- */

uint64_t mx_random(uint64_t seed)
{
    seed = (seed + 1) * 0xD1342543DE82EF95;
    seed ^= seed >> 32;
    seed *= 0xDA942042E4DD58B5;
    seed ^= seed >> 29;
    seed *= 0x9E3779B97F4A7C15;
    return seed ^ seed >> 32;
}

static uint64_t sample_float(const exact_format *f, uint64_t r)
{
    unsigned sign_at = (unsigned)f->exponent + f->mantissa;
    uint64_t sign = f->has_sign ? (r >> 5 & 1) << sign_at : 0, one = (uint64_t)f->bias << f->mantissa,
             infinity = exact_mask(f->exponent) << f->mantissa, top = exact_mask(f->exponent);
    uint64_t specials[12] = {0,
                             1,
                             exact_mask(f->mantissa),
                             (uint64_t)1 << f->mantissa,
                             one,
                             one + 1,
                             one - 1,
                             f->max_finite,
                             f->max_finite - 1,
                             f->has_inf ? infinity : 2,
                             f->has_nan ? f->nan : 3,
                             exact_mask(f->mantissa) - 1};
    uint64_t bits = mx_random(r), field;
    switch (r % 8) {
    case 0: return (specials[(r >> 8) % 12] & exact_mask(sign_at)) | sign;
    case 1:
    case 2: /* around one */ field = (uint64_t)f->bias - 2 + (r >> 8) % 5; break;
    case 3: /* a few bits only */
        field = (uint64_t)f->bias - 4 + (r >> 8) % 9;
        bits = (bits & 3) << f->mantissa >> 2;
        break;
    case 4: /* the smallest and the largest */ field = r >> 8 & 1 ? (r >> 9) % 3 : top - (r >> 9) % 3; break;
    default: return bits & exact_mask(sign_at + f->has_sign);
    }
    return sign | (field & top) << f->mantissa | (bits & exact_mask(f->mantissa));
}

uint64_t mx_sample(bc_kind kind, uint64_t seed)
{
    const exact_format *f = exact_format_of(kind);
    uint64_t r = mx_random(seed);
    if (f) {
        uint64_t bits = sample_float(f, r);
        return kind == BC_TF32 ? bits << 13 : bits;
    }
    unsigned width = exact_bits(kind);
    const uint64_t specials[8] = {0, 1,     UINT64_MAX,    (uint64_t)1 << (width - 1), ((uint64_t)1 << (width - 1)) - 1,
                                  2, width, UINT64_MAX - 1};
    uint64_t bits = r % 4 == 0 ? specials[(r >> 8) % 8] : mx_random(r) >> (r >> 8) % width;
    return (r >> 20 & 1 ? bits : 0 - bits) & exact_mask(width);
}

bool mx_same(bc_kind kind, uint64_t a, uint64_t b)
{
    return a == b || (exact_is_float(kind) && exact_is_nan(kind, a) && exact_is_nan(kind, b));
}

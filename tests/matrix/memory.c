/* Loads, stores and atomics through pointers, globals, alloca, and the questions about views. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

static bool is_number(int kind)
{
    return bc_kinds[kind].kind_class == BC_CLASS_INTEGER || bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
}

static void verdict(mx_report *r, const mx_kernel *k, tv_status status, size_t bad, const char *what, bc_kind kind)
{
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, k, "%s of %s: status %d, %zu wrong", what, mx_kind(kind), (int)status, bad);
}

/* ---- load_ptr_tko, store_ptr_tko ---- */

typedef struct lanes {
    mx_kernel k;
    mx_shape shape;
    size_t n;
    bc_kind kind;
    unsigned pointers; /* value: tile of pointers into parameter 0, at places[] */
    char type[96];     /* of that */
    uint64_t places[256], mask[256];
    unsigned mask_value;
} lanes;

/* Parameter 0 has `memory` elements, parameter 1 the places, parameter 2 the mask. */
static void begin_lanes(lanes *l, bc_kind kind, mx_shape shape, const uint64_t *memory, size_t count, uint64_t seed,
                        bool distinct)
{
    char *out = l->type;
    l->shape = shape;
    l->n = mx_count(shape);
    l->kind = kind;
    mx_begin(&l->k);
    mx_input(&l->k, kind, memory, count);
    for (size_t i = 0; i < l->n; i++) {
        l->places[i] = distinct ? (i * 7 + seed % count) % count : mx_random(seed + i) % count;
        l->mask[i] = mx_random(seed * 3 + i) % 3 != 0;
    }
    mx_input(&l->k, BC_I32, l->places, l->n);
    mx_input(&l->k, BC_I1, l->mask, l->n);
    unsigned index = mx_load(&l->k, 1, shape, MX_PLAIN), one = mx_new(&l->k), all = mx_new(&l->k);
    l->mask_value = mx_load(&l->k, 2, shape, MX_PLAIN);
    l->pointers = mx_new(&l->k);
    out += sprintf(out, "tile<");
    for (unsigned d = 0; d < shape.rank; d++)
        out += sprintf(out, "%ux", shape.dim[d]);
    sprintf(out, "ptr<%s>>", mx_kind(kind));
    bc_text_printf(&l->k.body, "  %%v%u = reshape %%p0 : tile<ptr<%s>> -> tile<", one, mx_kind(kind));
    for (unsigned d = 0; d < shape.rank; d++)
        bc_text_puts(&l->k.body, "1x");
    bc_text_printf(&l->k.body, "ptr<%s>>\n  %%v%u = broadcast %%v%u : tile<", mx_kind(kind), all, one);
    for (unsigned d = 0; d < shape.rank; d++)
        bc_text_puts(&l->k.body, "1x");
    bc_text_printf(&l->k.body, "ptr<%s>> -> %s\n", mx_kind(kind), l->type);
    mx_op(&l->k, "%%v%u = offset %%v%u, %%v%u : %s, %s -> %s", l->pointers, all, index, l->type, mx_tile(shape, BC_I32),
          l->type);
}

enum { MEMORY = 2048 };

static void make_memory(uint64_t *memory, bc_kind kind, uint64_t seed)
{
    for (size_t i = 0; i < MEMORY; i++)
        memory[i] = kind == BC_I1 ? mx_random(seed + i) & 0xFF : mx_sample(kind, seed + i); /* any byte but 0 is true */
}

/* form: 0 plain, 1 mask, 2 mask and padding. */
static void load_case(mx_report *r, bc_kind kind, mx_shape shape, unsigned form, const char *order, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    lanes *l = calloc(1, sizeof *l);
    uint64_t memory[MEMORY], padding[256];
    size_t bad = 0;
    if (!l)
        abort();
    make_memory(memory, kind, seed);
    begin_lanes(l, kind, shape, memory, MEMORY, seed, false);
    for (size_t i = 0; i < l->n; i++)
        padding[i] = mx_sample(kind, seed + 999 + i);
    unsigned pad = mx_load(&l->k, mx_input(&l->k, kind, padding, l->n), shape, MX_PLAIN), v = mx_new(&l->k);
    unsigned out = mx_output(&l->k, kind, l->n);
    bool masked = form >= 1, padded = form == 2;
    bc_text_printf(&l->k.body, "  %%v%u, %%loaded = load_ptr_tko %s %%v%u", v, order, l->pointers);
    if (masked)
        bc_text_printf(&l->k.body, ", %%v%u", l->mask_value);
    if (padded)
        bc_text_printf(&l->k.body, ", %%v%u", pad);
    bc_text_printf(&l->k.body, " : %s", l->type);
    if (masked)
        bc_text_printf(&l->k.body, ", %s", mx_tile(shape, BC_I1));
    if (padded)
        bc_text_printf(&l->k.body, ", %s", mx_tile(shape, kind));
    bc_text_printf(&l->k.body, " -> %s, token\n", mx_tile(shape, kind));
    mx_store(&l->k, out, shape, v);
    tv_status status = mx_run(&l->k, NULL);
    for (size_t i = 0; i < l->n; i++) {
        uint64_t in_memory = kind == BC_I1 ? memory[l->places[i]] != 0 : memory[l->places[i]];
        uint64_t want = masked && !l->mask[i] ? (padded ? padding[i] : 0)
                                              : in_memory; /* without padding: as a GPU, 0 */
        bad += mx_result(&l->k, out, i) != want;
    }
    verdict(r, &l->k, status, bad, "load_ptr_tko", kind);
    mx_end(&l->k);
    free(l);
}

static void store_case(mx_report *r, bc_kind kind, mx_shape shape, bool masked, const char *order, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    lanes *l = calloc(1, sizeof *l);
    uint64_t memory[MEMORY], values[256];
    size_t bad = 0;
    if (!l)
        abort();
    make_memory(memory, kind, seed);
    begin_lanes(l, kind, shape, memory, MEMORY, seed, true);
    for (size_t i = 0; i < l->n; i++)
        values[i] = mx_sample(kind, seed + 77 + i);
    unsigned v = mx_load(&l->k, mx_input(&l->k, kind, values, l->n), shape, MX_PLAIN);
    bc_text_printf(&l->k.body, "  %%stored = store_ptr_tko %s %%v%u, %%v%u", order, l->pointers, v);
    if (masked)
        bc_text_printf(&l->k.body, ", %%v%u", l->mask_value);
    bc_text_printf(&l->k.body, " : %s, %s", l->type, mx_tile(shape, kind));
    if (masked)
        bc_text_printf(&l->k.body, ", %s", mx_tile(shape, BC_I1));
    bc_text_puts(&l->k.body, " -> token\n");
    tv_status status = mx_run(&l->k, NULL);
    for (size_t i = 0; i < l->n; i++)
        if (!masked || l->mask[i])
            memory[l->places[i]] = values[i];
    for (size_t i = 0; i < MEMORY; i++)
        bad += mx_result(&l->k, 0, i) != memory[i];
    verdict(r, &l->k, status, bad, "store_ptr_tko", kind);
    mx_end(&l->k);
    free(l);
}

static void loads_and_stores(mx_report *r, bc_kind kind, mx_effort effort)
{
    static const char *const load_orders[] = {"weak",           "relaxed tl_blk", "relaxed device", "relaxed sys",
                                              "acquire tl_blk", "acquire device", "acquire sys"};
    static const char *const store_orders[] = {"weak",           "relaxed tl_blk", "relaxed device", "relaxed sys",
                                               "release tl_blk", "release device", "release sys"};
    for (size_t s = 0; s < mx_shape_count; s++) {
        for (unsigned o = 0; o < 7; o++) {
            if (effort.quick && (s + o) % 7)
                continue;
            load_case(r, kind, mx_shapes[s], (unsigned)(s + o) % 3, load_orders[o], s * 7 + o);
            store_case(r, kind, mx_shapes[s], (s + o) % 2, store_orders[o], s * 7 + o);
        }
    }
}

/* ---- atomics: section 5 of the memory reference ---- */

static const struct {
    const char *name;
    bool on_ints, on_halves, on_floats;
} rmw_modes[] = {{"and", true, false, false}, {"or", true, false, false},   {"xor", true, false, false},
                 {"add", true, false, false}, {"addf", false, true, true},  {"max", true, false, false},
                 {"min", true, false, false}, {"umax", true, false, false}, {"umin", true, false, false},
                 {"xchg", true, false, true}};
enum { AND, OR, XOR, ADD, ADDF, MAX, MIN, UMAX, UMIN, XCHG };
static const char *const rmw_orders[] = {"relaxed tl_blk", "relaxed device", "acquire sys",
                                         "release device", "acq_rel tl_blk", "acq_rel sys"};

static uint64_t sum_of_floats(bc_kind kind, uint64_t a, uint64_t b)
{
    exact x, y, sum;
    bool flush = kind == BC_F32; /* a GPU's f32 atomics flush */
    exact_of_float(&x, kind, flush ? exact_flush(kind, a) : a);
    exact_of_float(&y, kind, flush ? exact_flush(kind, b) : b);
    exact_add(&sum, &x, &y, false);
    bc_RoundingMode nearest = BC_RoundingMode_nearest_even;
    return flush ? exact_round_flushed(kind, &sum, nearest) : exact_round(kind, &sum, nearest);
}

static uint64_t modify(bc_kind kind, unsigned mode, uint64_t old, uint64_t x)
{
    unsigned width = exact_bits(kind);
    int64_t s_old = exact_signed(old, width), s_x = exact_signed(x, width);
    switch (mode) {
    case AND: return old & x;
    case OR: return old | x;
    case XOR: return old ^ x;
    case ADD: return (old + x) & exact_mask(width);
    case ADDF: return sum_of_floats(kind, old, x);
    case MAX: return s_x > s_old ? x : old;
    case MIN: return s_x < s_old ? x : old;
    case UMAX: return x > old ? x : old;
    case UMIN: return x < old ? x : old;
    default: return x;
    }
}

/* mode XCHG + 1: compare and swap. Lanes of one block meet different elements, blocks meet the same ones. */
static void atomic_case(mx_report *r, bc_kind kind, unsigned mode, mx_shape shape, bool masked, const char *order,
                        uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    lanes *l = calloc(1, sizeof *l);
    uint64_t memory[MEMORY], args[256], compare[256];
    size_t bad = 0;
    bool cas = mode > XCHG;
    if (!l)
        abort();
    make_memory(memory, kind, seed);
    begin_lanes(l, kind, shape, memory, MEMORY, seed, true);
    for (size_t i = 0; i < l->n; i++) {
        args[i] = mx_sample(kind, seed + 77 + i);
        compare[i] = i % 2 ? memory[l->places[i]] : mx_sample(kind, seed + 5 * i); /* half of them equal */
    }
    unsigned arg = mx_load(&l->k, mx_input(&l->k, kind, args, l->n), shape, MX_PLAIN), old = mx_new(&l->k);
    unsigned cmp = mx_load(&l->k, mx_input(&l->k, kind, compare, l->n), shape, MX_PLAIN);
    unsigned out = mx_output(&l->k, kind, l->n);
    if (cas)
        bc_text_printf(&l->k.body, "  %%v%u, %%done = atomic_cas_tko %s %%v%u, %%v%u, %%v%u", old, order, l->pointers,
                       cmp, arg);
    else
        bc_text_printf(&l->k.body, "  %%v%u, %%done = atomic_rmw_tko %s %%v%u, %s, %%v%u", old, order, l->pointers,
                       rmw_modes[mode].name, arg);
    if (masked)
        bc_text_printf(&l->k.body, ", %%v%u", l->mask_value);
    bc_text_printf(&l->k.body, " : %s, %s", l->type, mx_tile(shape, kind));
    if (masked)
        bc_text_printf(&l->k.body, ", %s", mx_tile(shape, BC_I1));
    bc_text_printf(&l->k.body, " -> %s, token\n", mx_tile(shape, kind));
    mx_store(&l->k, out, shape, old);
    tv_status status = mx_run(&l->k, NULL);
    for (size_t i = 0; i < l->n; i++) {
        uint64_t *at = &memory[l->places[i]], was = *at;
        bool on = !masked || l->mask[i];
        uint64_t want = on ? was : cas ? compare[i] : 0;
        if (on && cas && was == compare[i])
            *at = args[i];
        if (on && !cas)
            *at = modify(kind, mode, was, args[i]);
        bad += mx_result(&l->k, out, i) != want;
    }
    for (size_t i = 0; i < MEMORY; i++)
        bad += !mx_same(kind, mx_result(&l->k, 0, i), memory[i]);
    verdict(r, &l->k, status, bad, cas ? "atomic_cas_tko" : rmw_modes[mode].name, kind);
    mx_end(&l->k);
    free(l);
}

static bool is_legal_mode(bc_kind kind, unsigned mode)
{
    bool wide = kind == BC_F32 || kind == BC_F64;
    if (kind == BC_I32 || kind == BC_I64)
        return mode > XCHG || rmw_modes[mode].on_ints;
    if (kind == BC_F16 || kind == BC_BF16)
        return mode <= XCHG && rmw_modes[mode].on_halves;
    return wide && (mode > XCHG || rmw_modes[mode].on_floats);
}

static void refused_mode(mx_report *r, bc_kind kind, unsigned mode)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    mx_begin(&k);
    uint64_t zero = 0;
    mx_input(&k, kind, &zero, 1);
    unsigned v = mx_load(&k, 0, (mx_shape){0, {0}}, MX_PLAIN);
    if (mode > XCHG)
        mx_op(&k,
              "%%old, %%t = atomic_cas_tko relaxed device %%p0, %%v%u, %%v%u : tile<ptr<%s>>, tile<%s>"
              " -> tile<%s>, token",
              v, v, mx_kind(kind), mx_kind(kind), mx_kind(kind));
    else
        mx_op(&k,
              "%%old, %%t = atomic_rmw_tko relaxed device %%p0, %s, %%v%u : tile<ptr<%s>>, tile<%s> -> tile<%s>, token",
              rmw_modes[mode].name, v, mx_kind(kind), mx_kind(kind), mx_kind(kind));
    if (mx_check(&k, NULL) == TV_INVALID)
        mx_pass(r);
    else
        mx_fail(r, &k, "an atomic on %s is accepted", mx_kind(kind));
    mx_end(&k);
}

static void atomics(mx_report *r, bc_kind kind, mx_effort effort)
{
    for (unsigned mode = 0; mode <= XCHG + 1; mode++) {
        if (!is_legal_mode(kind, mode)) {
            refused_mode(r, kind, mode);
            continue;
        }
        if (kind == BC_BF16 && mx_is_ptx() && mx_ptx_sm() < 90)
            continue; /* no instruction for it, and compiling says so */
        for (size_t s = 0; s < mx_shape_count; s++)
            for (unsigned o = 0; o < TV_COUNT(rmw_orders); o++)
                if (!effort.quick || (s + o) % 5 == 0)
                    atomic_case(r, kind, mode, mx_shapes[s], (s + o) % 2, rmw_orders[o], s * 8 + o);
    }
}

/* All blocks and lanes on one element: every update counts. */
static void atomic_contention(mx_report *r)
{
    if (!mx_is_turn(r))
        return;
    enum { N = 64, GRID = 32 };
    mx_kernel k;
    uint64_t zero = 0;
    mx_begin(&k);
    k.grid[0] = GRID;
    mx_input(&k, BC_I32, &zero, 1);
    unsigned out = mx_output(&k, BC_I32, N * GRID);
    mx_op(&k, "%%a = reshape %%p0 : tile<ptr<i32>> -> tile<1xptr<i32>>");
    mx_op(&k, "%%b = broadcast %%a : tile<1xptr<i32>> -> tile<%dxptr<i32>>", N);
    mx_op(&k, "%%one = constant <i32: 1> : tile<%dxi32>", N);
    unsigned v = mx_new(&k);
    mx_op(&k,
          "%%v%u, %%t = atomic_rmw_tko relaxed device %%b, add, %%one : tile<%dxptr<i32>>, tile<%dxi32>"
          " -> tile<%dxi32>, token",
          v, N, N, N);
    mx_store(&k, out, mx_vector(N), v);
    tv_status status = mx_run(&k, NULL);
    bool seen[N * GRID] = {false};
    size_t bad = mx_result(&k, 0, 0) != N * GRID;
    for (size_t i = 0; i < N * GRID; i++) {
        uint64_t old = mx_result(&k, out, i);
        bad += old >= N * GRID || seen[old];
        if (old < N * GRID)
            seen[old] = true;
    }
    verdict(r, &k, status, bad, "atomic_rmw_tko on one element", BC_I32);
    mx_end(&k);
}

/* ---- globals and alloca ---- */

static void global_case(mx_report *r, bc_kind kind, size_t n)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    bc_text globals;
    uint64_t x[64];
    size_t bad = 0;
    bool is_float = exact_is_float(kind);
    mx_begin(&k);
    unsigned out = mx_output(&k, kind, n);
    bc_text_init(&globals, NULL);
    bc_text_printf(&globals, "global @g <%s: [", mx_kind(kind));
    for (size_t i = 0; i < n; i++) {
        x[i] = mx_sample(kind, i + n);
        if (is_float)
            bc_text_printf(&globals, "%s0x%llx", i ? ", " : "",
                           (unsigned long long)(kind == BC_TF32 ? x[i] >> 13 : x[i]));
        else
            bc_text_printf(&globals, "%s%lld", i ? ", " : "", (long long)exact_signed(x[i], exact_bits(kind)));
    }
    bc_text_printf(&globals, "]> : tile<%zux%s>\n", n, mx_kind(kind));
    unsigned v = mx_new(&k);
    mx_op(&k, "%%g = get_global @g : tile<ptr<%s>>", mx_kind(kind));
    mx_op(&k, "%%tv = make_tensor_view %%g, shape = [%zu], strides = [1] : tensor_view<%zux%s, strides=[1]>", n, n,
          mx_kind(kind));
    mx_op(&k, "%%pv = make_partition_view %%tv : partition_view<tile=(%zu), tensor_view<%zux%s, strides=[1]>>", n, n,
          mx_kind(kind));
    mx_op(&k, "%%zero = constant <i32: 0> : tile<i32>");
    mx_op(&k,
          "%%v%u, %%t = load_view_tko weak %%pv[%%zero] : partition_view<tile=(%zu), tensor_view<%zux%s, strides=[1]>>,"
          " tile<i32> -> %s, token",
          v, n, n, mx_kind(kind), mx_tile(mx_vector(n), kind));
    mx_store(&k, out, mx_vector(n), v);
    tv_status status = mx_run(&k, bc_text_get(&globals).ptr);
    for (size_t i = 0; i < n && status == TV_OK; i++)
        bad += mx_result(&k, out, i) != x[i];
    verdict(r, &k, status, bad, "global", kind);
    bc_text_release(&globals);
    mx_end(&k);
}

/* Stores a tile into alloca storage and loads it back, in a loop. */
static void alloca_case(mx_report *r, bc_kind kind, size_t n, bool global)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    uint64_t x[64];
    size_t bad = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = mx_sample(kind, i * 3 + n);
    mx_begin(&k);
    unsigned in = mx_input(&k, kind, x, n), out = mx_output(&k, kind, n),
             loaded = mx_load(&k, in, mx_vector(n), MX_PLAIN), v = mx_new(&k);
    const char *type = mx_kind(kind);
    mx_op(&k, "%%lo = constant <i32: 0> : tile<i32>");
    mx_op(&k, "%%hi = constant <i32: 3> : tile<i32>");
    mx_op(&k, "%%one = constant <i32: 1> : tile<i32>");
    mx_op(&k, "%%v%u = for %%i in (%%lo to %%hi, step %%one) : tile<i32> iter_values(%%x = %%v%u) -> (%s) {", v, loaded,
          mx_tile(mx_vector(n), kind));
    mx_op(&k, "%%a = alloca num_elem = %zu, alignment = 16%s : tile<ptr<%s>>", n, global ? " global" : "", type);
    mx_op(&k, "%%tv = make_tensor_view %%a, shape = [%zu], strides = [1] : tensor_view<%zux%s, strides=[1]>", n, n,
          type);
    mx_op(&k, "%%pv = make_partition_view %%tv : partition_view<tile=(%zu), tensor_view<%zux%s, strides=[1]>>", n, n,
          type);
    mx_op(
        &k,
        "%%t0 = store_view_tko weak %%x, %%pv[%%lo] : %s, partition_view<tile=(%zu), tensor_view<%zux%s, strides=[1]>>,"
        " tile<i32> -> token",
        mx_tile(mx_vector(n), kind), n, n, type);
    mx_op(&k,
          "%%y, %%t1 = load_view_tko weak %%pv[%%lo] token = %%t0 : partition_view<tile=(%zu),"
          " tensor_view<%zux%s, strides=[1]>>,"
          " tile<i32> -> %s, token",
          n, n, type, mx_tile(mx_vector(n), kind));
    mx_op(&k, "continue %%y : %s", mx_tile(mx_vector(n), kind));
    mx_op(&k, "}");
    mx_store(&k, out, mx_vector(n), v);
    tv_status status = mx_run(&k, NULL);
    for (size_t i = 0; i < n && status == TV_OK; i++)
        bad += mx_result(&k, out, i) != x[i];
    verdict(r, &k, status, bad, "alloca", kind);
    mx_end(&k);
}

/* ---- get_tensor_shape, get_index_space_shape, tile block ids ---- */

/* A view of each kind over ?x48x5 with the dimensions in the order 2, 0, 1. */
static void question_case(mx_report *r, const char *op, const char *view, bc_kind result, const uint64_t *want)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    uint64_t zero = 0;
    size_t bad = 0;
    const char *tensor = "tensor_view<?x48x5xf32, strides=[240,5,1]>";
    mx_begin(&k);
    mx_input(&k, BC_F32, &zero, 1);
    unsigned outs[3], v = mx_new(&k);
    for (unsigned d = 0; d < 3; d++)
        outs[d] = mx_output(&k, result, 1);
    mx_op(&k, "%%n = constant <i8: 200> : tile<i8>"); /* read unsigned */
    mx_op(&k, "%%tv = make_tensor_view %%p0, shape = [%%n, 48, 5], strides = [240, 5, 1] : tile<i8> -> %s", tensor);
    if (view)
        mx_op(&k, "%%view = make_%s_view %%tv : %s",
              strstr(view, "strided")  ? "strided"
              : strstr(view, "gather") ? "gather_scatter"
                                       : "partition",
              view);
    mx_op(&k, "%%a%u, %%b%u, %%c%u = %s %%%s : %s -> tile<%s>, tile<%s>, tile<%s>", v, v, v, op, view ? "view" : "tv",
          view ? view : tensor, mx_kind(result), mx_kind(result), mx_kind(result));
    for (unsigned d = 0; d < 3; d++) {
        unsigned w = mx_new(&k);
        mx_op(&k, "%%v%u = reshape %%%c%u : tile<%s> -> tile<%s>", w, "abc"[d], v, mx_kind(result), mx_kind(result));
        mx_store(&k, outs[d], (mx_shape){0, {0}}, w);
    }
    tv_status status = mx_run(&k, NULL);
    for (unsigned d = 0; d < 3 && status == TV_OK; d++)
        bad += mx_result(&k, outs[d], 0) != (want[d] & exact_mask(exact_bits(result)));
    verdict(r, &k, status, bad, op, result);
    mx_end(&k);
}

static void questions(mx_report *r)
{
    static const bc_kind results[] = {BC_I1, BC_I8, BC_I16, BC_I32, BC_I64};
    static const struct {
        const char *op, *view;
        uint64_t want[3];
    } rows[] = {{"get_tensor_shape", NULL, {200, 48, 5}},
                {"get_index_space_shape",
                 "partition_view<tile=(16x32x4), tensor_view<?x48x5xf32, strides=[240,5,1]>>",
                 {13, 2, 2}},
                {"get_index_space_shape",
                 "partition_view<tile=(16x32x4), tensor_view<?x48x5xf32, strides=[240,5,1]>, dim_map=[2, 0, 1]>",
                 {1, 7, 12}},
                {"get_index_space_shape",
                 "strided_view<tile=(16x32x4), traversal_strides=[7,5,2], tensor_view<?x48x5xf32, strides=[240,5,1]>,"
                 " dim_map=[1, 0, 2]>",
                 {7, 40, 3}},
                {"get_index_space_shape",
                 "gather_scatter_view<tile=(16x32x4), tensor_view<?x48x5xf32, strides=[240,5,1]>, sparse_dim=1>",
                 {200, 48, 5}}};
    for (size_t i = 0; i < TV_COUNT(rows); i++)
        for (size_t j = 0; j < TV_COUNT(results); j++)
            question_case(r, rows[i].op, rows[i].view, results[j], rows[i].want);
}

/* Each block writes its number, made of its id and the grid. */
static void block_ids(mx_report *r)
{
    static const uint32_t grids[][3] = {{1, 1, 1}, {7, 1, 1}, {2, 3, 5}, {1, 4, 1}, {3, 1, 6}};
    for (size_t g = 0; g < TV_COUNT(grids); g++) {
        if (!mx_is_turn(r))
            continue;
        mx_kernel k;
        size_t n = (size_t)grids[g][0] * grids[g][1] * grids[g][2], bad = 0;
        mx_begin(&k);
        memcpy(k.grid, grids[g], sizeof k.grid);
        mx_output(&k, BC_I32, n);
        mx_op(&k, "%%x, %%y, %%z = get_tile_block_id : tile<i32>");
        mx_op(&k, "%%a, %%b, %%c = get_num_tile_blocks : tile<i32>");
        mx_op(&k, "%%0 = muli %%z, %%b : tile<i32>");
        mx_op(&k, "%%1 = addi %%0, %%y : tile<i32>");
        mx_op(&k, "%%2 = muli %%1, %%a : tile<i32>");
        mx_op(&k, "%%3 = addi %%2, %%x : tile<i32>");
        mx_op(&k, "%%4 = muli %%c, %%3 : tile<i32>");
        mx_op(&k, "%%5 = offset %%p0, %%3 : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>");
        mx_op(&k, "%%6 = store_ptr_tko weak %%5, %%4 : tile<ptr<i32>>, tile<i32> -> token");
        tv_status status = mx_run(&k, NULL);
        for (size_t i = 0; i < n && status == TV_OK; i++)
            bad += mx_result(&k, 0, i) != i * grids[g][2];
        verdict(r, &k, status, bad, "get_tile_block_id", BC_I32);
        mx_end(&k);
    }
}

void mx_memory(mx_report *r, mx_effort effort)
{
    for (int kind = 0; kind < BC_KIND_COUNT; kind++) {
        if (!is_number(kind) || kind == BC_I4)
            continue;
        if (kind != BC_F4E2M1FN) { /* no tiles of pointers to half bytes */
            loads_and_stores(r, (bc_kind)kind, effort);
            atomics(r, (bc_kind)kind, effort);
        }
        for (size_t n = 2; n <= 64; n *= 4) {
            global_case(r, (bc_kind)kind, n);
            for (int global = 0; global < 2; global++)
                alloca_case(r, (bc_kind)kind, n, global);
        }
    }
    atomic_contention(r);
    questions(r);
    block_ids(r);
}

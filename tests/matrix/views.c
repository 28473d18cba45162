/* Loads, stores and reductions through views, of random tensors: every kind of view, padding, element and index type,
   static and dynamic extents and strides, orders of dimensions, tiles that lie partly or wholly outside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

typedef enum view_kind { PARTITION, STRIDED, GATHER } view_kind;
typedef enum access { LOAD, STORE, REDUCE } access;
typedef enum padding { NO_PADDING, PAD_ZERO, PAD_NEG_ZERO, PAD_NAN, PAD_POS_INF, PAD_NEG_INF, PADDINGS } padding;

enum { MAX_RANK = 4, BLOCKS = 4 };

typedef struct view_case {
    mx_kernel k;
    uint64_t seed;
    view_kind view;
    access access;
    bc_kind kind, index_kind, size_kind;
    padding padding;
    unsigned rank, sparse;
    uint32_t extent[MAX_RANK], stride[MAX_RANK]; /* of the tensor, by its dimensions */
    bool dynamic_extent[MAX_RANK], dynamic_stride[MAX_RANK];
    unsigned dim_map[MAX_RANK];
    uint32_t traversal[MAX_RANK]; /* by tile dimension; how far an index moves the tile */
    mx_shape tile;
    size_t elements; /* of the tensor's memory */
    uint64_t index[MAX_RANK][BLOCKS], sparse_index[BLOCKS * 16];
    char tensor_type[200], view_type[400], index_types[200];
    unsigned tensor, order;
} view_case;

static uint64_t draw(view_case *c, uint64_t below)
{
    c->seed = mx_random(c->seed);
    return (c->seed >> 20) % below;
}

/* ---- making up a case ---- */

static void draw_tile(view_case *c)
{
    c->tile.rank = c->rank;
    for (unsigned t = 0; t < c->rank; t++)
        c->tile.dim[t] = 1u << draw(c, c->rank < 3 ? 4 : 3);
    for (unsigned t = 0; t < c->rank; t++) {
        unsigned other = (unsigned)draw(c, t + 1);
        c->dim_map[t] = c->dim_map[other];
        c->dim_map[other] = t;
    }
    for (unsigned t = 0; t < c->rank; t++) {
        if (c->view == GATHER)
            c->dim_map[t] = t;
        c->traversal[t] = c->view == PARTITION ? c->tile.dim[t] : c->view == STRIDED ? 1 + (uint32_t)draw(c, 9) : 1;
    }
    c->sparse = (unsigned)draw(c, c->rank);
}

/* Rows in some order of the dimensions, with gaps now and then. */
static void draw_tensor(view_case *c)
{
    unsigned last = (unsigned)draw(c, 4) ? c->rank - 1 : 0;
    uint32_t stride = 1;
    for (unsigned d = 0; d < c->rank; d++) {
        c->extent[d] = 1 + (uint32_t)draw(c, c->rank < 3 ? 20 : 7);
        c->dynamic_extent[d] = draw(c, 2);
        c->dynamic_stride[d] = draw(c, 2);
    }
    for (unsigned i = 0; i < c->rank; i++) {
        unsigned d = last == 0 ? i : c->rank - 1 - i;
        c->stride[d] = stride;
        stride = stride * c->extent[d] + (uint32_t)draw(c, 3);
    }
    c->elements = 1;
    for (unsigned d = 0; d < c->rank; d++)
        c->elements += (size_t)(c->extent[d] - 1) * c->stride[d];
}

/* Half bytes: one dimension of static stride 1, an even number of elements along it in tensor and tile, other strides
   even, and a tile that starts at an even element. */
static void make_half_bytes_legal(view_case *c)
{
    unsigned inner = c->rank - 1;
    uint32_t stride;
    for (unsigned d = 0; d < c->rank; d++)
        inner = c->stride[d] == 1 ? d : inner;
    c->extent[inner] = (c->extent[inner] + 1) / 2 * 2;
    c->dynamic_extent[inner] = c->dynamic_stride[inner] = false;
    stride = c->extent[inner];
    c->elements = c->extent[inner];
    for (unsigned d = 0; d < c->rank; d++) {
        if (d == inner)
            continue;
        c->stride[d] = stride;
        stride *= c->extent[d];
        c->dynamic_stride[d] = false;
        c->elements += (size_t)(c->extent[d] - 1) * c->stride[d];
    }
    c->stride[inner] = 1;
    for (unsigned t = 0; t < c->rank; t++) {
        if (c->dim_map[t] != inner)
            continue;
        c->tile.dim[t] = c->tile.dim[t] < 2 ? 2 : c->tile.dim[t];
        if (c->view == PARTITION)
            c->traversal[t] = c->tile.dim[t];
        c->traversal[t] = c->view == STRIDED ? c->traversal[t] * 2 : c->traversal[t];
        if (c->view == GATHER && c->sparse == t)
            c->sparse = (t + 1) % c->rank;
    }
}

static uint64_t fit(bc_kind kind, uint64_t x)
{
    return x & exact_mask(exact_bits(kind));
}

/* Mostly inside, sometimes past the end, sometimes -1, which counts as a large number. */
static void draw_indices(view_case *c)
{
    for (unsigned t = 0; t < c->rank; t++) {
        uint32_t extent = c->extent[c->dim_map[t]], space = (extent + c->traversal[t] - 1) / c->traversal[t];
        for (unsigned b = 0; b < BLOCKS; b++) {
            uint64_t i = draw(c, space + 1);
            if (c->kind == BC_F4E2M1FN && c->view == GATHER)
                i &= ~(uint64_t)1;
            if (draw(c, 24) == 0 && c->kind != BC_F4E2M1FN)
                i = UINT64_MAX;
            c->index[t][b] = fit(c->index_kind, i);
        }
    }
    /* Distinct along a tile where it is stored. */
    uint32_t length = c->tile.dim[c->sparse], extent = c->extent[c->sparse];
    for (unsigned b = 0; b < BLOCKS; b++)
        for (uint32_t i = 0; i < length; i++)
            c->sparse_index[b * length + i] =
                fit(c->index_kind, c->access == LOAD ? draw(c, extent + 2) : (i * 3 + draw(c, 3)) % (extent + 40));
}

/* ---- its text ---- */

static void add_type(view_case *c)
{
    static const char *const names[] = {"", "zero", "neg_zero", "nan", "pos_inf", "neg_inf"};
    static const char *const views[] = {"partition_view", "strided_view", "gather_scatter_view"};
    char *out = c->tensor_type;
    out += sprintf(out, "tensor_view<");
    for (unsigned d = 0; d < c->rank; d++)
        out += c->dynamic_extent[d] ? sprintf(out, "?x") : sprintf(out, "%ux", c->extent[d]);
    out += sprintf(out, "%s, strides=[", mx_kind(c->kind));
    for (unsigned d = 0; d < c->rank; d++) {
        out += sprintf(out, "%s", d ? "," : "");
        out += c->dynamic_stride[d] ? sprintf(out, "?") : sprintf(out, "%u", c->stride[d]);
    }
    sprintf(out, "]>");
    out = c->view_type + sprintf(c->view_type, "%s<tile=(", views[c->view]);
    for (unsigned t = 0; t < c->rank; t++)
        out += sprintf(out, "%s%u", t ? "x" : "", c->tile.dim[t]);
    out += sprintf(out, ")");
    if (c->view == STRIDED) {
        out += sprintf(out, ", traversal_strides=[");
        for (unsigned t = 0; t < c->rank; t++)
            out += sprintf(out, "%s%u", t ? "," : "", c->traversal[t]);
        out += sprintf(out, "]");
    }
    if (c->padding != NO_PADDING)
        out += sprintf(out, ", padding_value = %s", names[c->padding]);
    out += sprintf(out, ", %s", c->tensor_type);
    if (c->view == GATHER)
        out += sprintf(out, ", sparse_dim=%u", c->sparse);
    bool identity = true;
    for (unsigned t = 0; t < c->rank; t++)
        identity &= c->dim_map[t] == t;
    if (!identity) {
        out += sprintf(out, ", dim_map=[");
        for (unsigned t = 0; t < c->rank; t++)
            out += sprintf(out, "%s%u", t ? ", " : "", c->dim_map[t]);
        out += sprintf(out, "]");
    }
    sprintf(out, ">");
}

/* A size: the number itself, or a value that holds it. */
static void put_sizes(view_case *c, const uint32_t *sizes, const bool *dynamic, const char *name)
{
    for (unsigned d = 0; d < c->rank; d++) {
        if (dynamic[d])
            bc_text_printf(&c->k.body, "%s%%%s%u", d ? ", " : "", name, d);
        else
            bc_text_printf(&c->k.body, "%s%u", d ? ", " : "", sizes[d]);
    }
}

static void add_view(view_case *c)
{
    static const char *const ops[] = {"make_partition_view", "make_strided_view", "make_gather_scatter_view"};
    bool any = false;
    for (unsigned d = 0; d < c->rank; d++) {
        any |= c->dynamic_extent[d] || c->dynamic_stride[d];
        mx_op(&c->k, "%%e%u = constant <%s: %lld> : tile<%s>", d, mx_kind(c->size_kind),
              (long long)exact_signed(c->extent[d], exact_bits(c->size_kind)), mx_kind(c->size_kind));
        mx_op(&c->k, "%%s_%u = constant <%s: %lld> : tile<%s>", d, mx_kind(c->size_kind),
              (long long)exact_signed(c->stride[d], exact_bits(c->size_kind)), mx_kind(c->size_kind));
    }
    bool half = c->kind == BC_F4E2M1FN;
    if (half)
        mx_op(&c->k, "%%base = ptr_to_ptr %%p%u : tile<ptr<i8>> -> tile<ptr<f4E2M1FN>>", c->tensor);
    bc_text_printf(&c->k.body, "  %%tv = make_tensor_view %%%s", half ? "base" : "p");
    if (!half)
        bc_text_printf(&c->k.body, "%u", c->tensor);
    bc_text_puts(&c->k.body, ", shape = [");
    put_sizes(c, c->extent, c->dynamic_extent, "e");
    bc_text_puts(&c->k.body, "], strides = [");
    put_sizes(c, c->stride, c->dynamic_stride, "s_");
    bc_text_puts(&c->k.body, "] : ");
    if (any)
        bc_text_printf(&c->k.body, "tile<%s> -> ", mx_kind(c->size_kind));
    bc_text_printf(&c->k.body, "%s\n", c->tensor_type);
    mx_op(&c->k, "%%view = %s %%tv : %s", ops[c->view], c->view_type);
}

static void add_indices(view_case *c)
{
    unsigned values[MAX_RANK] = {0};
    char *types = c->index_types;
    for (unsigned t = 0; t < c->rank; t++) {
        bool is_sparse = c->view == GATHER && t == c->sparse;
        mx_shape shape = is_sparse ? mx_vector(c->tile.dim[t]) : (mx_shape){0, {0}};
        unsigned b =
            mx_input(&c->k, c->index_kind, is_sparse ? c->sparse_index : c->index[t], BLOCKS * mx_count(shape));
        values[t] = mx_load(&c->k, b, shape, MX_PLAIN);
        if (t == 0 || c->view == GATHER)
            types += sprintf(types, ", %s", mx_tile(shape, c->index_kind));
    }
    bc_text_puts(&c->k.body, "  %indices = make_token : token\n"); /* keeps the names below apart */
    for (unsigned t = 0; t < c->rank; t++)
        mx_op(&c->k, "%%i%u = assume bounded<?, ?>, %%v%u : %s", t, values[t],
              mx_tile(c->view == GATHER && t == c->sparse ? mx_vector(c->tile.dim[t]) : (mx_shape){0, {0}},
                      c->index_kind));
}

static void put_indices(view_case *c)
{
    for (unsigned t = 0; t < c->rank; t++)
        bc_text_printf(&c->k.body, "%s%%i%u", t ? ", " : "", t);
}

/* ---- what must happen ---- */

/* Element of the tensor's memory that element e of block b's tile is; false: outside. */
static bool place(const view_case *c, unsigned b, size_t e, size_t *out)
{
    uint32_t at[MAX_RANK];
    size_t offset = 0;
    for (unsigned t = c->rank; t-- > 0;) {
        at[t] = (uint32_t)(e % c->tile.dim[t]);
        e /= c->tile.dim[t];
    }
    for (unsigned t = 0; t < c->rank; t++) {
        unsigned d = c->dim_map[t];
        uint64_t extent = c->extent[d], index = c->index[t][b], start = index * c->traversal[t], x = start + at[t];
        if (c->view == GATHER && t == c->sparse) {
            x = c->sparse_index[b * c->tile.dim[t] + at[t]];
            index = 0;
        }
        if (index > UINT32_MAX * (uint64_t)4 || x >= extent)
            return false;
        offset += (size_t)x * c->stride[d];
    }
    *out = offset;
    return true;
}

static uint64_t padding_of(const view_case *c)
{
    uint64_t inf, nan, sign = (uint64_t)1 << (exact_bits(c->kind) - 1);
    switch ((int)c->kind) { /* operation references, section 2.3 */
    case BC_F16: inf = 0x7C00, nan = 0x7E00; break;
    case BC_BF16: inf = 0x7F80, nan = 0x7FC0; break;
    case BC_F32:
    case BC_TF32: inf = 0x7F800000, nan = 0x7FC00000; break;
    case BC_F64: inf = 0x7FF0000000000000, nan = 0x7FF8000000000000; break;
    case BC_F8E5M2: inf = 0x7C, nan = 0x7E; break;
    default: inf = 0, nan = c->kind == BC_F8E4M3FN ? 0x7F : 0xFF; break;
    }
    const uint64_t values[PADDINGS] = {0, 0, sign, nan, inf, inf | sign};
    return values[c->padding];
}

static bool has_padding(bc_kind kind, padding p)
{
    const exact_format *f = exact_format_of(kind);
    if (p <= PAD_ZERO)
        return true;
    if (!f)
        return false;
    return p == PAD_NEG_ZERO ? f->has_sign : p == PAD_NAN ? f->has_nan : f->has_inf;
}

/* Sum modulo 2^n of a reduction, the only mode tried here; i32 and i64. */
static uint64_t combine(const view_case *c, uint64_t old, uint64_t x)
{
    return c->access == REDUCE ? (old + x) & exact_mask(exact_bits(c->kind)) : x;
}

static size_t check(view_case *c, const uint64_t *tensor, const uint64_t *values, unsigned tile_buffer)
{
    size_t n = mx_count(c->tile), bad = 0, at;
    uint64_t *now = malloc((c->elements + 1) * sizeof *now);
    if (!now)
        abort();
    memcpy(now, tensor, c->elements * sizeof *now);
    bool any_order = c->access == STORE && mx_is_ptx(); /* of stores to one element, any may be the last */
    bool *matches = calloc(c->elements + 1, sizeof *matches);
    if (!matches)
        abort();
    for (unsigned b = 0; b < BLOCKS; b++) {
        for (size_t e = 0; e < n; e++) {
            bool inside = place(c, b, e, &at);
            if (c->access == LOAD) {
                uint64_t want = inside ? tensor[at] : padding_of(c);
                if (inside && c->kind == BC_I1)
                    want = want != 0;
                bad += (inside || c->padding != NO_PADDING) && mx_result(&c->k, tile_buffer, b * n + e) != want;
            } else if (inside) {
                now[at] = combine(c, now[at], values[b * n + e]);
                matches[at] |= any_order && mx_result(&c->k, c->tensor, at) == now[at];
            }
        }
    }
    for (size_t i = 0; i < c->elements; i++)
        bad += !matches[i] && mx_result(&c->k, c->tensor, i) != now[i];
    free(matches);
    free(now);
    return bad;
}

/* ---- a case ---- */

static void add_access(view_case *c, unsigned tile_buffer, const char *order)
{
    const char *tile = mx_tile(c->tile, c->kind);
    char tile_type[96];
    snprintf(tile_type, sizeof tile_type, "%s", tile);
    if (c->access == LOAD) {
        unsigned v = mx_new(&c->k);
        bc_text_printf(&c->k.body, "  %%v%u, %%loaded = load_view_tko %s %%view[", v, order);
        put_indices(c);
        bc_text_printf(&c->k.body, "] : %s%s -> %s, token\n", c->view_type, c->index_types, tile_type);
        mx_store(&c->k, tile_buffer, c->tile, v);
        return;
    }
    unsigned v = mx_load(&c->k, tile_buffer, c->tile, MX_PLAIN);
    if (c->access == STORE)
        bc_text_printf(&c->k.body, "  %%stored = store_view_tko %s %%v%u, %%view[", order, v);
    else
        bc_text_printf(&c->k.body, "  %%stored = atomic_red_view_tko relaxed device %%view[");
    put_indices(c);
    if (c->access == STORE)
        bc_text_printf(&c->k.body, "] : %s, %s%s -> token\n", tile_type, c->view_type, c->index_types);
    else
        bc_text_printf(&c->k.body, "], add, %%v%u : %s, %s%s -> token\n", v, tile_type, c->view_type, c->index_types);
}

static void draw_case(view_case *c, bc_kind kind, unsigned number)
{
    static const bc_kind index_kinds[] = {BC_I32, BC_I32, BC_I64, BC_I16, BC_I8};
    c->kind = kind;
    c->view = (view_kind)(number % 3);
    c->access = number / 3 % 4 < 2 ? LOAD : STORE;
    c->rank = 1 + (unsigned)draw(c, MAX_RANK);
    if (kind == BC_F4E2M1FN && c->view == GATHER && c->rank == 1)
        c->rank = 2;
    if (number / 3 % 4 == 3 && (kind == BC_I32 || kind == BC_I64)) {
        c->access = REDUCE;
        c->view = c->view == GATHER ? STRIDED : c->view;
    }
    do
        c->padding = c->access == REDUCE ? NO_PADDING : (padding)draw(c, PADDINGS);
    while (!has_padding(kind, c->padding));
    c->index_kind = index_kinds[draw(c, TV_COUNT(index_kinds))];
    c->size_kind = index_kinds[draw(c, 4)];
    draw_tile(c);
    draw_tensor(c);
    if (kind == BC_F4E2M1FN)
        make_half_bytes_legal(c);
    draw_indices(c);
}

static void run_case(mx_report *r, bc_kind kind, unsigned number)
{
    if (!mx_is_turn(r))
        return;
    static const char *const load_orders[] = {"weak", "weak", "relaxed device", "acquire sys"};
    static const char *const store_orders[] = {"weak", "weak", "relaxed tl_blk", "release device"};
    view_case *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->seed = mx_random(number * 64 + (uint64_t)kind);
    draw_case(c, kind, number);
    if (mx_is_ptx() && kind == BC_F4E2M1FN && c->view == GATHER) {
        free(c); /* the slice may start in the middle of a byte, and compiled code refuses that */
        return;
    }
    size_t n = mx_count(c->tile);
    uint64_t *tensor = malloc(c->elements * sizeof *tensor), *values = malloc(BLOCKS * n * sizeof *values);
    if (!tensor || !values)
        abort();
    for (size_t i = 0; i < c->elements; i++)
        tensor[i] = kind == BC_I1 ? mx_random(c->seed + i) & 3 : mx_sample(kind, c->seed + i);
    for (size_t i = 0; i < BLOCKS * n; i++)
        values[i] = mx_sample(kind, ~c->seed + i);
    mx_begin(&c->k);
    c->k.grid[0] = BLOCKS;
    c->tensor = mx_input(&c->k, kind, tensor, c->elements);
    unsigned tile_buffer = c->access == LOAD ? mx_output(&c->k, kind, BLOCKS * n)
                                             : mx_input(&c->k, kind, values, BLOCKS * n);
    add_type(c);
    add_view(c);
    add_indices(c);
    bool is_load = c->access == LOAD;
    add_access(c, tile_buffer, (is_load ? load_orders : store_orders)[draw(c, 4)]);
    tv_status status = mx_run(&c->k, NULL);
    size_t bad = status == TV_OK ? check(c, tensor, values, tile_buffer) : 0;
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &c->k, "view access of %s, case %u: status %d, %zu wrong", mx_kind(kind), number, (int)status, bad);
    mx_end(&c->k);
    free(tensor);
    free(values);
    free(c);
}

void mx_views(mx_report *r, mx_effort effort)
{
    for (int kind = 0; kind < BC_KIND_COUNT; kind++) {
        bool number = bc_kinds[kind].kind_class == BC_CLASS_INTEGER || bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        for (unsigned i = 0; number && kind != BC_I4 && i < (effort.quick ? 20 : 240); i++)
            run_case(r, (bc_kind)kind, i);
    }
}

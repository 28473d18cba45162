/* Views, loads and stores of a random kernel. */
#include <stdio.h>
#include <string.h>

#include "bytecode/op.h"
#include "tests/random/draw.h"

/* ---- views ---- */

typedef struct tensor {
    draw_shape shape;
    uint64_t strides[DRAW_DIMS]; /* elements */
    bool dynamic_shape[DRAW_DIMS], dynamic_stride[DRAW_DIMS], bent[DRAW_DIMS];
} tensor;

/* The number of elements from the first to the last. */
static uint64_t span_of(const tensor *t)
{
    uint64_t span = 1;
    for (unsigned i = 0; i < t->shape.rank; i++)
        span += (t->shape.dims[i] - 1) * t->strides[i];
    return span;
}

/* Chooses strides of adjacent rows. The innermost dimension is often the last. */
static void lay_out(draw *d, tensor *t)
{
    unsigned order[DRAW_DIMS] = {0, 1, 2}, rank = t->shape.rank;
    if (draw_chance(d, 5))
        order[rank - 1] = 0, order[0] = rank - 1;
    uint64_t stride = 1;
    for (unsigned i = rank; i-- > 0;) {
        t->strides[order[i]] = stride;
        stride *= t->shape.dims[order[i]];
    }
}

/* Changes rows so that they overlap, coincide, or have gaps. A stored tile may not contain an element twice, because
   its value would be undefined; then only rows of different tiles overlap. */
static void bend(draw *d, tensor *t, draw_shape tile, bool stored)
{
    unsigned dim = draw_below(d, t->shape.rank);
    for (unsigned i = 0; stored && tile.dims[dim] > 1 && i < DRAW_DIMS; i++)
        dim = (dim + 1) % t->shape.rank;
    uint64_t *stride = &t->strides[dim];
    switch (stored && tile.dims[dim] > 1 && !draw_chance(d, 8) ? 4 : draw_below(d, 8)) {
    case 0: *stride = *stride >= 4 ? *stride / 2 : *stride; break;
    case 1: *stride = *stride >= 8 ? *stride / 4 : *stride; break;
    case 2: *stride = *stride > 16 ? 16 : *stride; break;
    case 3: *stride = *stride > 1 ? 0 : 1; break;
    case 4: *stride += *stride > 1 ? 16 : 0; break;
    default: break;
    }
    t->bent[dim] = true;
    for (unsigned i = 0; i < t->shape.rank; i++) {
        t->dynamic_shape[i] = draw_chance(d, 8);
        t->dynamic_stride[i] = t->strides[i] == 0 || (t->strides[i] != 1 && draw_chance(d, 6));
    }
}

/* Writes an operand: the number itself or, if it is dynamic, a value that may be known only at launch. */
static void operand(draw *d, uint64_t number, bool dynamic, char out[DRAW_NAME])
{
    if (!dynamic) {
        snprintf(out, DRAW_NAME, "%u", (unsigned)number);
        return;
    }
    char constant[DRAW_NAME];
    draw_name(d, constant);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", constant, (unsigned)number);
    snprintf(out, DRAW_NAME, "%s", constant);
    if (draw_chance(d, 3))
        return;
    draw_name(d, out);
    draw_line(d, "%s = muli %%one, %s : tile<i32>", out, constant);
}

static size_t list(char *out, size_t at, const char *words, bool first, const char *between)
{
    return at + (size_t)snprintf(out + at, DRAW_TYPE - at, "%s%s", first ? "" : between, words);
}

/* "tensor_view<64x?xf32, strides=[256,1]>" */
static void tensor_type(const draw *d, const tensor *t, char out[DRAW_TYPE])
{
    char number[DRAW_NAME];
    size_t at = (size_t)snprintf(out, DRAW_TYPE, "tensor_view<");
    for (unsigned i = 0; i < t->shape.rank; i++) {
        snprintf(number, sizeof number, t->dynamic_shape[i] ? "?x" : "%ux", (unsigned)t->shape.dims[i]);
        at = list(out, at, number, true, "");
    }
    at += (size_t)snprintf(out + at, DRAW_TYPE - at, "%s, strides=[", draw_kind(d));
    for (unsigned i = 0; i < t->shape.rank; i++) {
        snprintf(number, sizeof number, t->dynamic_stride[i] ? "?" : "%u", (unsigned)t->strides[i]);
        at = list(out, at, number, i == 0, ",");
    }
    snprintf(out + at, DRAW_TYPE - at, "]>");
}

/* A pointer to the start of a view: the start of the array, or an offset that depends on an index. */
static void base_of(draw *d, unsigned array, bool moves, char out[DRAW_NAME])
{
    char index[DRAW_NAME], step[DRAW_NAME], by[DRAW_NAME], moved[DRAW_NAME];
    snprintf(out, DRAW_NAME, "%s", d->arrays[array].name);
    if (!moves)
        return;
    draw_index(d, 4, index);
    draw_name(d, step);
    draw_name(d, by);
    draw_name(d, moved);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", step, (unsigned)(16u << draw_below(d, 8)) % d->elements);
    draw_line(d, "%s = muli %s, %s : tile<i32>", by, index, step);
    draw_line(d, "%s = offset %s, %s : tile<ptr<%s>>, tile<i32> -> tile<ptr<%s>>", moved, out, by, draw_kind(d),
              draw_kind(d));
    snprintf(out, DRAW_NAME, "%s", moved);
    if (draw_chance(d, 2))
        return;
    draw_name(d, out);
    draw_line(d, "%s = assume div_by<16>, %s : tile<ptr<%s>>", out, moved, draw_kind(d));
}

static void make_tensor(draw *d, const tensor *t, const char *base, char name[DRAW_NAME], char type[DRAW_TYPE])
{
    char numbers[2][DRAW_TYPE], number[DRAW_NAME];
    bool dynamic = false;
    size_t at[2] = {0, 0};
    for (unsigned i = 0; i < t->shape.rank; i++) {
        operand(d, t->shape.dims[i], t->dynamic_shape[i], number);
        at[0] = list(numbers[0], at[0], number, i == 0, ", ");
        operand(d, t->strides[i], t->dynamic_stride[i], number);
        at[1] = list(numbers[1], at[1], number, i == 0, ", ");
        dynamic = dynamic || t->dynamic_shape[i] || t->dynamic_stride[i];
    }
    tensor_type(d, t, type);
    draw_name(d, name);
    draw_line(d, "%s = make_tensor_view %s, shape = [%s], strides = [%s] : %s%s", name, base, numbers[0], numbers[1],
              dynamic ? "tile<i32> -> " : "", type);
}

static void tile_words(draw_shape s, char out[DRAW_TYPE])
{
    char number[DRAW_NAME];
    size_t at = 0;
    for (unsigned i = 0; i < s.rank; i++) {
        snprintf(number, sizeof number, "%u", (unsigned)s.dims[i]);
        at = list(out, at, number, i == 0, "x");
    }
}

/* Creates the view of a tensor's tiles. v has the tensor, the tile and the number of tiles. map: the text that maps
   dimensions of the tensor to those of a partition, or "". */
static void make_view(draw *d, draw_view *v, const uint32_t steps[DRAW_DIMS], const char *map)
{
    static const char *const ops[] = {"make_partition_view", "make_strided_view", "make_gather_scatter_view"};
    char tile[DRAW_TYPE], traversal[DRAW_TYPE] = "", number[DRAW_NAME];
    const char *padding = draw_chance(d, 6) ? "" : "padding_value = zero, ";
    size_t at = 0;
    tile_words(v->tile, tile);
    for (unsigned i = 0; i < v->tile.rank; i++) {
        snprintf(number, sizeof number, "%u", (unsigned)steps[i]);
        at = list(traversal, at, number, i == 0, ",");
    }
    bc_text words;
    bc_text_init(&words, NULL);
    if (v->kind == DRAW_PARTITION)
        bc_text_printf(&words, "partition_view<tile=(%s), %s%s%s>", tile, padding, v->tensor_type, map);
    else if (v->kind == DRAW_STRIDED)
        bc_text_printf(&words, "strided_view<tile=(%s), traversal_strides=[%s], %s%s>", tile, traversal, padding,
                       v->tensor_type);
    else
        bc_text_printf(&words, "gather_scatter_view<tile=(%s), %s%s, sparse_dim=0>", tile, padding, v->tensor_type);
    snprintf(v->type, sizeof v->type, "%s", words.ptr);
    bc_text_release(&words);
    draw_name(d, v->name);
    draw_line(d, "%s = %s %s : %s", v->name, ops[v->kind], v->tensor, v->type);
}

/* Creates another partition of an existing tensor, with other tiles, perhaps with two dimensions exchanged. False:
   there is no tensor, or a stored tile would contain an element twice. */
static bool part_again(draw *d, unsigned array, draw_shape tile, draw_view *out)
{
    const draw_view *of = d->view_count ? &d->views[draw_below(d, d->view_count)] : NULL;
    unsigned map[DRAW_DIMS] = {0, 1, 2}, one = draw_below(d, tile.rank), other = draw_chance(d, 3) ? 0 : one;
    char words[DRAW_NAME * 2] = "";
    if (!of || of->kind != DRAW_PARTITION || of->array != array || of->extents.rank != tile.rank)
        return false;
    map[one] = other;
    map[other] = one;
    *out = *of;
    out->tile = tile;
    for (unsigned i = 0; i < tile.rank; i++) {
        if (of->bent[map[i]] && d->arrays[array].stored && tile.dims[i] > 1)
            return false;
        out->counts[i] = (of->extents.dims[map[i]] + tile.dims[i] - 1) / tile.dims[i];
    }
    if (one != other)
        snprintf(words, sizeof words, tile.rank == 2 ? ", dim_map=[%u, %u]" : ", dim_map=[%u, %u, %u]", map[0], map[1],
                 map[2]);
    make_view(d, out, tile.dims, words);
    return true;
}

/* A view of an array with that tile. */
static draw_view view_of(draw *d, unsigned array, draw_shape tile)
{
    draw_view v = {.array = array, .tile = tile};
    tensor t = {.shape = tile};
    uint32_t steps[DRAW_DIMS] = {1, 1, 1};
    char base[DRAW_NAME];
    unsigned chance = draw_below(d, 10);
    if (draw_chance(d, 4) && part_again(d, array, tile, &v))
        return v;
    v.kind = chance == 0 ? DRAW_STRIDED : chance == 1 && tile.rank == 2 ? DRAW_GATHER : DRAW_PARTITION;
    for (unsigned i = 0; i < tile.rank; i++) {
        v.counts[i] = 1 + draw_below(d, i == 0 ? 8 : 3);
        steps[i] = v.kind == DRAW_STRIDED && tile.dims[i] > 1 ? tile.dims[i] >> draw_below(d, 2) : tile.dims[i];
    }
    do {
        for (unsigned i = 0; i < tile.rank; i++) {
            t.shape.dims[i] = (v.counts[i] - 1) * steps[i] + tile.dims[i];
            if (tile.dims[i] > 4 && draw_chance(d, 10) && v.kind == DRAW_PARTITION)
                t.shape.dims[i] -= 1 + draw_below(d, tile.dims[i] / 2);
        }
        lay_out(d, &t);
        if (span_of(&t) <= draw_room(d))
            break;
        for (unsigned i = 0; i < tile.rank; i++)
            v.counts[i] = (v.counts[i] + 1) / 2;
    } while (true);
    bend(d, &t, tile, d->arrays[array].stored);
    if (span_of(&t) > draw_room(d))
        lay_out(d, &t);
    base_of(d, array, d->depth ? draw_chance(d, 2) : draw_chance(d, 6), base);
    make_tensor(d, &t, base, v.tensor, v.tensor_type);
    v.extents = t.shape;
    memcpy(v.bent, t.bent, sizeof v.bent);
    make_view(d, &v, steps, "");
    if (v.kind == DRAW_GATHER)
        v.counts[0] = t.shape.dims[0];
    return v;
}

void draw_make_view(draw *d)
{
    if (d->view_count == DRAW_VIEWS)
        return;
    draw_shape tile = draw_any_shape(d, d->elements, 1 + draw_below(d, DRAW_DIMS));
    d->views[d->view_count] = view_of(d, draw_below(d, d->array_count), tile);
    d->view_count++;
}

/* ---- indices ---- */

/* Rows of a gather view: consecutive ones, or every third. */
static void rows_of(draw *d, const draw_view *v, char out[DRAW_NAME])
{
    uint32_t rows = v->tile.dims[0], step = v->counts[0] >= 3 * rows && draw_chance(d, 2) ? 3 : 1;
    char index[DRAW_NAME], thin[DRAW_NAME], wide[DRAW_NAME], iota[DRAW_NAME], steps[DRAW_NAME], by[DRAW_NAME];
    draw_index(d, v->counts[0] - (rows - 1) * step, index);
    draw_name(d, thin);
    draw_name(d, wide);
    draw_name(d, iota);
    draw_name(d, steps);
    draw_name(d, by);
    draw_name(d, out);
    draw_line(d, "%s = reshape %s : tile<i32> -> tile<1xi32>", thin, index);
    draw_line(d, "%s = broadcast %s : tile<1xi32> -> tile<%uxi32>", wide, thin, (unsigned)rows);
    draw_line(d, "%s = iota : tile<%uxi32>", iota, (unsigned)rows);
    draw_line(d, "%s = constant <i32: %u> : tile<%uxi32>", steps, (unsigned)step, (unsigned)rows);
    draw_line(d, "%s = muli %s, %s : tile<%uxi32>", by, iota, steps, (unsigned)rows);
    draw_line(d, "%s = addi %s, %s : tile<%uxi32>", out, by, wide, (unsigned)rows);
}

/* The index of a tile: "%i, %0". In a loop that the tile blocks share, stores mostly use the iteration's row, unless
   there is only one block. */
static void indices(draw *d, const draw_view *v, bool stores, char out[DRAW_TYPE])
{
    char index[DRAW_NAME];
    size_t at = 0;
    for (unsigned i = 0; i < v->tile.rank; i++) {
        bool shared = i == 0 && d->shared_counter[0] && v->kind != DRAW_GATHER && v->counts[0] >= d->shared_bound;
        if (i == 0 && v->kind == DRAW_GATHER)
            rows_of(d, v, index);
        else if (shared && (stores ? !d->alone || !draw_chance(d, 4) : draw_chance(d, 2)))
            snprintf(index, sizeof index, "%s", d->shared_counter);
        else
            draw_index(d, v->counts[i], index);
        at = list(out, at, index, i == 0, ", ");
    }
}

/* The types of the indices, after that of the view. */
static void index_types(const draw_view *v, char out[DRAW_TYPE])
{
    if (v->kind == DRAW_GATHER)
        snprintf(out, DRAW_TYPE, "tile<%uxi32>, tile<i32>", (unsigned)v->tile.dims[0]);
    else
        snprintf(out, DRAW_TYPE, "tile<i32>");
}

static void load(draw *d, const draw_view *v, const char *at, char out[DRAW_NAME])
{
    char types[DRAW_TYPE], tile[DRAW_TYPE], token[DRAW_NAME], before[DRAW_WORDS];
    index_types(v, types);
    draw_tile(d, v->tile, tile);
    draw_before(d, v->array, false, before);
    draw_name(d, out);
    draw_name(d, token);
    draw_line(d, "%s, %s = load_view_tko weak %s[%s]%s : %s, %s -> %s, token", out, token, v->name, at, before, v->type,
              types, tile);
    draw_after(d, v->array, false, token);
}

void draw_operand(draw *d, draw_shape tile, char out[DRAW_NAME])
{
    draw_view v = view_of(d, draw_below(d, d->array_count), tile);
    char at[DRAW_TYPE];
    indices(d, &v, false, at);
    load(d, &v, at, out);
}

/* ---- pointers ---- */

/* A tile of pointers to different elements, adjacent or further apart. */
static void pointers_to(draw *d, unsigned array, char out[DRAW_NAME])
{
    const char *kind = draw_kind(d);
    unsigned n = (unsigned)d->elements, step = draw_chance(d, 4) ? 2 : 1;
    char index[DRAW_NAME], scale[DRAW_NAME], by[DRAW_NAME], base[DRAW_NAME], thin[DRAW_NAME], wide[DRAW_NAME],
        iota[DRAW_NAME], steps[DRAW_NAME], at[DRAW_NAME];
    draw_index(d, d->elements > 16384 ? 2 : 8, index);
    draw_name(d, scale);
    draw_name(d, by);
    draw_name(d, base);
    draw_name(d, thin);
    draw_name(d, wide);
    draw_name(d, iota);
    draw_name(d, steps);
    draw_name(d, at);
    draw_name(d, out);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", scale, draw_chance(d, 3) ? n / 2 : n);
    draw_line(d, "%s = muli %s, %s : tile<i32>", by, index, scale);
    draw_line(d, "%s = offset %s, %s : tile<ptr<%s>>, tile<i32> -> tile<ptr<%s>>", base, d->arrays[array].name, by,
              kind, kind);
    draw_line(d, "%s = reshape %s : tile<ptr<%s>> -> tile<1xptr<%s>>", thin, base, kind, kind);
    draw_line(d, "%s = broadcast %s : tile<1xptr<%s>> -> tile<%uxptr<%s>>", wide, thin, kind, n, kind);
    draw_line(d, "%s = iota : tile<%uxi32>", iota, n);
    draw_line(d, "%s = constant <i32: %u> : tile<%uxi32>", steps, step, n);
    draw_line(d, "%s = muli %s, %s : tile<%uxi32>", at, iota, steps, n);
    draw_line(d, "%s = offset %s, %s : tile<%uxptr<%s>>, tile<%uxi32> -> tile<%uxptr<%s>>", out, wide, at, n, kind, n,
              n, kind);
}

/* A mask that selects the first elements: ", %mask"; or "". */
static void mask_of(draw *d, char out[DRAW_WORDS])
{
    unsigned n = (unsigned)d->elements;
    char iota[DRAW_NAME], most[DRAW_NAME], mask[DRAW_NAME];
    *out = 0;
    if (draw_chance(d, 2))
        return;
    draw_name(d, iota);
    draw_name(d, most);
    draw_name(d, mask);
    draw_line(d, "%s = iota : tile<%uxi32>", iota, n);
    draw_line(d, "%s = constant <i32: %u> : tile<%uxi32>", most, 1 + draw_below(d, n), n);
    draw_line(d, "%s = cmpi less_than %s, %s, signed : tile<%uxi32> -> tile<%uxi1>", mask, iota, most, n, n);
    snprintf(out, DRAW_WORDS, ", %s", mask);
}

static draw_shape line_of(const draw *d)
{
    return (draw_shape){.rank = 1, .dims = {d->elements}};
}

static void load_pointers(draw *d)
{
    unsigned n = (unsigned)d->elements, array = draw_below(d, d->array_count);
    draw_value v = {.shape = line_of(d)};
    char pointers[DRAW_NAME], mask[DRAW_WORDS], token[DRAW_NAME], before[DRAW_WORDS], tile[DRAW_TYPE],
        rest[DRAW_TYPE] = "", padding[DRAW_WORDS] = "", other[DRAW_NAME];
    draw_tile(d, v.shape, tile);
    pointers_to(d, array, pointers);
    mask_of(d, mask);
    if (*mask) {
        draw_value some = draw_reshape(d, draw_any_value(d), v.shape);
        snprintf(other, sizeof other, "%s", some.name);
        snprintf(padding, sizeof padding, ", %s", other);
        snprintf(rest, sizeof rest, ", tile<%uxi1>, %.*s", n, DRAW_TYPE - 40, tile);
    }
    draw_before(d, array, false, before);
    draw_name(d, v.name);
    draw_name(d, token);
    draw_line(d, "%s, %s = load_ptr_tko weak %s%s%s%s : tile<%uxptr<%s>>%s -> %s, token", v.name, token, pointers, mask,
              padding, before, n, draw_kind(d), rest, tile);
    draw_after(d, array, false, token);
    draw_keep(d, v);
}

static void store_pointers(draw *d, unsigned array)
{
    unsigned n = (unsigned)d->elements;
    char pointers[DRAW_NAME], mask[DRAW_WORDS], token[DRAW_NAME], before[DRAW_WORDS], tile[DRAW_TYPE];
    draw_value v = draw_reshape(d, draw_any_value(d), line_of(d));
    draw_tile(d, v.shape, tile);
    pointers_to(d, array, pointers);
    mask_of(d, mask);
    draw_before(d, array, true, before);
    draw_name(d, token);
    draw_line(d,
              *mask ? "%s = store_ptr_tko weak %s, %s%s%s : tile<%uxptr<%s>>, %s, tile<%uxi1> -> token"
                    : "%s = store_ptr_tko weak %s, %s%s%s : tile<%uxptr<%s>>, %s -> token",
              token, pointers, v.name, mask, before, n, draw_kind(d), tile, n);
    draw_after(d, array, true, token);
}

/* The old value is used only if no other tile block can have changed it. */
static void add_atomically(draw *d, unsigned array)
{
    unsigned n = (unsigned)d->elements;
    bool real = bc_kinds[d->kind].kind_class == BC_CLASS_FLOAT;
    char pointers[DRAW_NAME], token[DRAW_NAME], before[DRAW_WORDS], tile[DRAW_TYPE];
    draw_value v = draw_reshape(d, draw_any_value(d), line_of(d)), old = {.shape = v.shape};
    draw_tile(d, v.shape, tile);
    pointers_to(d, array, pointers);
    draw_before(d, array, true, before);
    draw_name(d, old.name);
    draw_name(d, token);
    draw_line(d, "%s, %s = atomic_rmw_tko relaxed device %s, %s, %s%s : tile<%uxptr<%s>>, %s -> %s, token", old.name,
              token, pointers, real ? "addf" : "add", v.name, before, n, draw_kind(d), tile, tile);
    draw_after(d, array, true, token);
    if (d->alone)
        draw_keep(d, old);
}

/* ---- any of them ---- */

/* An array that stores may change. */
static unsigned target_of(draw *d)
{
    unsigned array = draw_below(d, d->array_count);
    for (unsigned i = 0; i < d->array_count && !d->arrays[array].stored; i++)
        array = (array + 1) % d->array_count;
    return array;
}

/* A view whose array is suitable. -1: there is none. */
static int view_for(draw *d, bool stores)
{
    unsigned at = draw_chance(d, 3) ? draw_below(d, d->view_count) : d->view_count - 1;
    for (unsigned i = 0; i < d->view_count; i++, at = (at + 1) % d->view_count) {
        const draw_view *v = &d->views[at];
        if (!stores || (d->arrays[v->array].stored && (!d->shared_counter[0] || v->counts[0] >= d->shared_bound)))
            return (int)at;
    }
    return -1;
}

bool draw_a_place(draw *d, bool stores, draw_place *out)
{
    int which = view_for(d, stores);
    if (which < 0)
        return false;
    out->view = (unsigned)which;
    indices(d, &d->views[which], stores, out->index);
    return true;
}

void draw_another_index(draw *d, draw_place *p)
{
    indices(d, &d->views[p->view], true, p->index);
}

unsigned draw_array_of(const draw *d, const draw_place *p)
{
    return d->views[p->view].array;
}

draw_value draw_load_at(draw *d, const draw_place *p)
{
    const draw_view *v = &d->views[p->view];
    draw_value out = {.shape = v->tile};
    load(d, v, p->index, out.name);
    return out;
}

void draw_store_at(draw *d, const draw_place *p, draw_value value)
{
    const draw_view *v = &d->views[p->view];
    char types[DRAW_TYPE], tile[DRAW_TYPE], token[DRAW_NAME], before[DRAW_WORDS];
    value = draw_reshape(d, value, v->tile);
    index_types(v, types);
    draw_tile(d, v->tile, tile);
    draw_before(d, v->array, true, before);
    draw_name(d, token);
    draw_line(d, "%s = store_view_tko weak %s, %s[%s]%s : %s, %s, %s -> token", token, value.name, v->name, p->index,
              before, tile, v->type, types);
    draw_after(d, v->array, true, token);
}

void draw_load(draw *d)
{
    draw_place p;
    if (draw_chance(d, 6))
        load_pointers(d);
    else if (draw_a_place(d, false, &p))
        draw_keep(d, draw_load_at(d, &p));
}

void draw_store(draw *d)
{
    draw_place p;
    if (!draw_chance(d, 8) && draw_a_place(d, true, &p))
        draw_store_at(d, &p, draw_any_value(d));
    else if (!d->shared_counter[0])
        store_pointers(d, target_of(d));
}

void draw_access(draw *d)
{
    if (draw_chance(d, 12) && d->has_atomics && !d->shared_counter[0])
        add_atomically(d, target_of(d));
    else if (draw_chance(d, 3))
        draw_store(d);
    else
        draw_load(d);
}

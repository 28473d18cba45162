/* Random kernels that multiply matrices, in the forms that targets have instructions and roles for: every type with and
   without scales, tiles of all sizes, batches, operands with K along rows and across, operands that are converted,
   masked or negated, sums that start anywhere and that iterations scale, nested and persistent loops, products under a
   condition, two products in a loop, and chains, in which a product takes what another one's sum became; or chains
   alone, most of them for pairs of thread blocks. All numbers are so small that sums are exact in any order. */
#include <stdio.h>
#include <string.h>

#include "bytecode/op.h"
#include "tests/random/draw.h"

/* Types of a product. */
typedef struct sort {
    bc_kind left, right; /* as stored */
    bc_kind used, sum;
    bc_kind scale;  /* where one applies to `count` elements along K */
    uint8_t count;  /* 0: the product has no scales */
    uint8_t weight; /* how often */
} sort;
static const sort sorts[] = {
    {BC_F16, BC_F16, BC_F16, BC_F32, BC_F32, 0, 10},
    {BC_BF16, BC_BF16, BC_BF16, BC_F32, BC_F32, 0, 4},
    {BC_F32, BC_F32, BC_TF32, BC_F32, BC_F32, 0, 3},
    {BC_F8E4M3FN, BC_F8E4M3FN, BC_F8E4M3FN, BC_F32, BC_F32, 0, 3},
    {BC_F8E5M2, BC_F8E5M2, BC_F8E5M2, BC_F32, BC_F32, 0, 2},
    {BC_I8, BC_I8, BC_I8, BC_I32, BC_I32, 0, 3},
    {BC_F16, BC_F16, BC_F16, BC_F16, BC_F32, 0, 2},
    {BC_I8, BC_F16, BC_F16, BC_F32, BC_F32, 0, 1},
    {BC_BF16, BC_F8E4M3FN, BC_BF16, BC_F32, BC_F32, 0, 1},
    {BC_F32, BC_F32, BC_F32, BC_F32, BC_F32, 0, 1},
    {BC_F64, BC_F64, BC_F64, BC_F64, BC_F32, 0, 1},
    {BC_F8E4M3FN, BC_F8E4M3FN, BC_F8E4M3FN, BC_F32, BC_F8E8M0FNU, 32, 3},
    {BC_I8, BC_I8, BC_F4E2M1FN, BC_F32, BC_F8E8M0FNU, 32, 2},
    {BC_I8, BC_I8, BC_F4E2M1FN, BC_F32, BC_F8E8M0FNU, 16, 1},
    {BC_I8, BC_I8, BC_F4E2M1FN, BC_F32, BC_F8E4M3FN, 16, 2},
};

/* What an iteration does to the sum before it adds a product. */
typedef enum between { NOTHING, HALF, ROW_FACTORS, ADD_ONE } between;

typedef struct work {
    const sort *sort;
    draw_shape left, right, sum; /* of tiles as they are used */
    draw_matrix a, b, v, out, a_scales, b_scales;
    bc_kind out_kind;
    bool is_unsigned[2], alters[2];
    uint32_t steps, rows, columns; /* of tiles: along K, and of results */
    between between;
    bool is_chain;
    bool for_pairs; /* in the forms that pairs of thread blocks have */
} work;

enum { MOST_ELEMENTS = 32768, MOST_WORK = 1 << 23 };

/* ---- operands ---- */

/* Pairs of 4 bits, along the last dimension. */
static void unpack(draw *d, draw_shape bytes, bc_kind to, char name[DRAW_NAME])
{
    unsigned count = (unsigned)draw_count(bytes);
    char from[DRAW_TYPE], type[DRAW_TYPE];
    draw_typed(bytes, "i8", from);
    bytes.dims[bytes.rank - 1] *= 2;
    draw_typed(bytes, draw_kind_text(to), type);
    draw_set(d, name, "reshape %s : %s -> tile<%uxi8>", name, from, count);
    draw_set(d, name, "unpack %s : tile<%uxi8> -> tile<%ux%s>", name, count, 2 * count, draw_kind_text(to));
    draw_set(d, name, "reshape %s : tile<%ux%s> -> %s", name, 2 * count, draw_kind_text(to), type);
}

/* Rectifies, negates or masks a tile. */
static void alter(draw *d, draw_shape shape, bc_kind kind, char name[DRAW_NAME])
{
    char other[DRAW_NAME], condition[DRAW_NAME], type[DRAW_TYPE];
    draw_typed(shape, draw_kind_text(kind), type);
    bool real = draw_is_real(kind);
    draw_constant(d, shape, kind, 0, ".0", other);
    switch (draw_below(d, 3)) {
    case 0: draw_set(d, name, real ? "maxf %s, %s : %s" : "maxi %s, %s signed : %s", name, other, type); break;
    case 1: draw_set(d, name, real ? "subf %s, %s : %s" : "subi %s, %s : %s", other, name, type); break;
    default: {
        unsigned dim = shape.rank - 1 - draw_below(d, 2);
        draw_mask(d, shape, dim, 1 + draw_below(d, shape.dims[dim]), condition);
        draw_select(d, shape, kind, condition, name, other, name);
    }
    }
}

/* The tile of a matrix as the product takes it. */
static void operand(draw *d, const work *w, const draw_matrix *m, bc_kind stored, bool alters, const char *row,
                    const char *column, char out[DRAW_NAME])
{
    bc_kind used = w->sort->used;
    if (used == BC_F4E2M1FN) {
        draw_matrix bytes = *m; /* whose tiles are turned when they are elements */
        bytes.turned = false;
        draw_matrix_load(d, &bytes, m->turned ? column : row, m->turned ? row : column, NULL, out, NULL);
        unpack(d, m->tile, used, out);
        draw_shape shape = m->tile;
        shape.dims[shape.rank - 1] *= 2;
        if (m->turned)
            draw_turn(d, shape, draw_kind_text(used), out);
        return;
    }
    draw_shape shape = m->turned ? draw_turned(m->tile) : m->tile;
    draw_matrix_load(d, m, row, column, NULL, out, NULL);
    if (alters && bc_kind_bits(stored) > 8)
        alter(d, shape, stored, out);
    draw_convert(d, shape, stored, used, out);
}

static void multiply_tiles(draw *d, const work *w, draw_shape left, draw_shape right, const char *l, const char *r,
                           const char *sum, char out[DRAW_NAME])
{
    draw_shape shape = right;
    char types[3][DRAW_TYPE], signs[DRAW_TYPE] = "";
    shape.dims[shape.rank - 2] = left.dims[left.rank - 2];
    draw_typed(left, draw_kind_text(w->sort->used), types[0]);
    draw_typed(right, draw_kind_text(w->sort->used), types[1]);
    draw_typed(shape, draw_kind_text(w->sort->sum), types[2]);
    bool real = draw_is_real(w->sort->sum);
    if (!real)
        snprintf(signs, sizeof signs, " %s %s", w->is_unsigned[0] ? "unsigned" : "signed",
                 w->is_unsigned[1] ? "unsigned" : "signed");
    draw_set(d, out, "%s %s, %s, %s%s : %s, %s, %s", real ? "mmaf" : "mmai", l, r, sum, signs, types[0], types[1],
             types[2]);
}

/* Adds the product of the tiles at a place to a sum. */
static void multiply(draw *d, const work *w, const char *row, const char *column, const char *k, const char *sum,
                     char out[DRAW_NAME])
{
    const sort *s = w->sort;
    char left[DRAW_NAME], right[DRAW_NAME], scales[2][DRAW_NAME], types[5][DRAW_TYPE];
    operand(d, w, &w->a, s->left, w->alters[0], row, k, left);
    operand(d, w, &w->b, s->right, w->alters[1], k, column, right);
    if (!s->count) {
        multiply_tiles(d, w, w->left, w->right, left, right, sum, out);
        return;
    }
    draw_matrix_load(d, &w->a_scales, row, k, NULL, scales[0], NULL);
    draw_matrix_load(d, &w->b_scales, k, column, NULL, scales[1], NULL);
    draw_typed(w->left, draw_kind_text(s->used), types[0]);
    draw_typed(w->right, draw_kind_text(s->used), types[1]);
    draw_typed(w->sum, draw_kind_text(s->sum), types[2]);
    draw_typed(w->a_scales.turned ? draw_turned(w->a_scales.tile) : w->a_scales.tile, draw_kind_text(s->scale),
               types[3]);
    draw_typed(w->b_scales.turned ? draw_turned(w->b_scales.tile) : w->b_scales.tile, draw_kind_text(s->scale),
               types[4]);
    draw_set(d, out, "mmaf_scaled %s, %s, %s, %s, %s : %s, %s, %s, %s, %s", left, right, sum, scales[0], scales[1],
             types[0], types[1], types[2], types[3], types[4]);
}

/* ---- sums ---- */

/* What an iteration does to the sum first. */
static void prepare_sum(draw *d, const work *w, char name[DRAW_NAME])
{
    bc_kind kind = w->sort->sum;
    char type[DRAW_TYPE], one[DRAW_NAME], half[DRAW_NAME], condition[DRAW_NAME];
    draw_typed(w->sum, draw_kind_text(kind), type);
    if (w->between == NOTHING)
        return;
    draw_constant(d, w->sum, kind, 1, ".0", one);
    if (w->between == ADD_ONE) {
        draw_set(d, name, draw_is_real(kind) ? "addf %s, %s : %s" : "addi %s, %s : %s", name, one, type);
        return;
    }
    draw_constant(d, w->sum, kind, 0, ".5", half);
    if (w->between == ROW_FACTORS) {
        unsigned dim = w->sum.rank - 2;
        draw_mask(d, w->sum, dim, draw_below(d, w->sum.dims[dim] + 1), condition);
        draw_select(d, w->sum, kind, condition, one, half, half);
    }
    draw_set(d, name, "mulf %s, %s : %s", name, half, type);
}

/* "%lo to %hi, step %one"; counts trips, less a number of the kernel's (NULL: 0). */
static void range_of(draw *d, uint32_t trips, const char *fewer, uint32_t first, char out[DRAW_RANGE])
{
    char ends[2][DRAW_NAME], step[DRAW_NAME];
    for (unsigned i = 0; i < 2; i++) {
        draw_scalar(d, first + (i ? trips : 0), ends[i]);
        if (draw_chance(d, 3))
            draw_set(d, ends[i], "muli %%one, %s : tile<i32>", ends[i]);
    }
    if (fewer)
        draw_set(d, ends[1], "subi %s, %s : tile<i32>", ends[1], fewer);
    draw_scalar(d, 1, step);
    snprintf(out, DRAW_RANGE, "%s to %s, step %s", ends[0], ends[1], step);
}

static void close_loop(draw *d, const draw_region *r, const char *values)
{
    bc_text line;
    bc_text_init(&line, NULL);
    draw_words(r, DRAW_TYPES, &line);
    if (r->count)
        draw_line(d, "continue %s : %s", values, bc_text_words(&line));
    bc_text_release(&line);
    draw_close(d, "}");
}

/* Opens a loop of `trips` iterations, less `fewer` (NULL: 0); out: their number, from 0 on. */
static void open_loop(draw *d, const draw_region *r, uint32_t trips, const char *fewer, char out[DRAW_NAME])
{
    char range[DRAW_RANGE], first[DRAW_NAME];
    uint32_t from = draw_chance(d, 4) ? 1 + draw_below(d, 3) : 0;
    range_of(d, trips, fewer, from, range);
    draw_name(d, out);
    draw_head(d, r, out, range, "", "i32");
    draw_open(d);
    if (from) {
        draw_scalar(d, from, first);
        draw_set(d, out, "subi %s, %s : tile<i32>", out, first);
    }
}

/* The product under a condition. */
static void multiply_sometimes(draw *d, const work *w, const char *row, const char *column, const char *k,
                               const char *sum, char out[DRAW_NAME])
{
    char condition[DRAW_NAME], type[DRAW_TYPE], next[DRAW_NAME], result[DRAW_NAME];
    draw_typed(w->sum, draw_kind_text(w->sort->sum), type);
    draw_comparison(d, draw_chance(d, 3) ? row : k, condition);
    draw_name(d, result);
    draw_line(d, "%s = if %s -> (%s) {", result, condition, type);
    draw_open(d);
    multiply(d, w, row, column, k, sum, next);
    draw_line(d, "yield %s : %s", next, type);
    draw_close(d, "} else {");
    draw_open(d);
    draw_line(d, "yield %s : %s", sum, type);
    draw_close(d, "}");
    snprintf(out, DRAW_NAME, "%s", result);
}

/* One loop over K, or two, one in the other; sums: one, or two that are added in the end. */
static void sum_of_products(draw *d, const work *w, const char *row, const char *column, char sum[DRAW_NAME])
{
    bool nested = w->steps % 2 == 0 && draw_chance(d, 6), sometimes = draw_chance(d, 8), two = draw_chance(d, 6);
    char type[DRAW_TYPE], k[DRAW_NAME], outer[DRAW_NAME], factor[DRAW_NAME], sums[2][DRAW_NAME], last[DRAW_NAME],
        values[3 * DRAW_NAME];
    draw_region r = {0}, around = {0};
    draw_typed(w->sum, draw_kind_text(w->sort->sum), type);
    for (unsigned i = 0; i < 1u + two; i++)
        draw_carry(d, nested ? &around : &r, sum, type);
    if (nested) {
        open_loop(d, &around, 2, NULL, outer);
        for (unsigned i = 0; i < around.count; i++)
            draw_carry(d, &r, around.list[i].inside, type);
    }
    open_loop(d, &r, nested ? w->steps / 2 : w->steps, NULL, k);
    if (nested) {
        draw_scalar(d, w->steps / 2, factor);
        draw_set(d, factor, "muli %s, %s : tile<i32>", outer, factor);
        draw_set(d, k, "addi %s, %s : tile<i32>", k, factor);
    }
    for (unsigned i = 0; i < r.count; i++) {
        snprintf(sums[i], DRAW_NAME, "%s", r.list[i].inside);
        prepare_sum(d, w, sums[i]);
        if (i == 1) { /* the last step first */
            draw_scalar(d, w->steps - 1, last);
            draw_set(d, k, "subi %s, %s : tile<i32>", last, k);
        }
        if (sometimes)
            multiply_sometimes(d, w, row, column, k, sums[i], sums[i]);
        else
            multiply(d, w, row, column, k, sums[i], sums[i]);
    }
    snprintf(values, sizeof values, "%s%s%s", sums[0], two ? ", " : "", two ? sums[1] : "");
    close_loop(d, &r, values);
    if (nested) {
        snprintf(values, sizeof values, "%s%s%s", r.list[0].after, two ? ", " : "", two ? r.list[1].after : "");
        close_loop(d, &around, values);
        r = around;
    }
    snprintf(sum, DRAW_NAME, "%s", r.list[0].after);
    if (two)
        draw_set(d, sum, draw_is_real(w->sort->sum) ? "addf %s, %s : %s" : "addi %s, %s : %s", sum, r.list[1].after,
                 type);
}

/* ---- chains ---- */

typedef enum softening { CLAMPED, MASKED, LARGEST, POWERS, SOFTENINGS } softening;

/* What iterations of a chain carry besides its sum, for each row: the largest element so far, and the sum of powers. */
typedef struct softened {
    softening how;
    char most[DRAW_NAME], total[DRAW_NAME], factors[DRAW_NAME];
} softened;

static bool has_factors(softening how)
{
    return how == LARGEST || how == POWERS;
}

/* Folds the rows of a matrix of f32. */
static void fold_rows(draw *d, const char *op, const char *identity, const char *type, unsigned rows, const char *name,
                      char out[DRAW_NAME])
{
    draw_set(d, out,
             "reduce %s dim=1 identities=[%s : f32] : %s -> tile<%uxf32> (%%p: tile<f32>, %%q: tile<f32>) { "
             "%%m = %s %%p, %%q : tile<f32> yield %%m : tile<f32> }",
             name, identity, type, rows, op);
}

/* Rows less their largest element so far; factors: 1 where it has not grown, else 0.5. */
static void subtract_largest(draw *d, const work *w, draw_shape shape, softened *s, char name[DRAW_NAME])
{
    bc_kind kind = w->sort->sum;
    unsigned rank = shape.rank, rows = (unsigned)shape.dims[rank - 2];
    char type[DRAW_TYPE], wide[DRAW_NAME], condition[DRAW_NAME], one[DRAW_NAME], half[DRAW_NAME], most[DRAW_NAME];
    draw_shape line = {.rank = 1, .dims = {rows}};
    draw_typed(shape, draw_kind_text(kind), type);
    fold_rows(d, "maxf", "-30000.0", type, rows, name, most);
    draw_set(d, most, "maxf %s, %s : tile<%uxf32>", most, s->most, rows);
    if (s->how == POWERS) { /* 2^-1 at least, so that sums stay exact */
        draw_set(d, s->factors, "subf %s, %s : tile<%uxf32>", s->most, most, rows);
        draw_clamp(d, line, kind, -1, 0, s->factors);
        draw_set(d, s->factors, "exp2 %s : tile<%uxf32>", s->factors, rows);
    } else {
        draw_set(d, condition, "cmpf equal ordered %s, %s : tile<%uxf32> -> tile<%uxi1>", most, s->most, rows, rows);
        draw_constant(d, line, kind, 1, ".0", one);
        draw_constant(d, line, kind, 0, ".5", half);
        draw_select(d, line, kind, condition, one, half, s->factors);
    }
    snprintf(s->most, sizeof s->most, "%s", most);
    snprintf(wide, sizeof wide, "%s", most);
    draw_spread(d, shape, rank - 2, draw_kind_text(kind), wide);
    draw_set(d, name, "subf %s, %s : %s", name, wide, type);
}

/* Powers of two of small numbers up to 0, and their sums over rows so far. */
static void raise(draw *d, const work *w, draw_shape shape, softened *s, char name[DRAW_NAME])
{
    unsigned rows = (unsigned)shape.dims[shape.rank - 2];
    char type[DRAW_TYPE], sums[DRAW_NAME];
    draw_typed(shape, draw_kind_text(w->sort->sum), type);
    draw_clamp(d, shape, w->sort->sum, -4, 0, name);
    draw_set(d, name, "exp2 %s : %s", name, type);
    fold_rows(d, "addf", "0.0", type, rows, name, sums);
    draw_set(d, s->total, "mulf %s, %s : tile<%uxf32>", s->total, s->factors, rows);
    draw_set(d, s->total, "addf %s, %s : tile<%uxf32>", s->total, sums, rows);
}

/* Makes a left operand of the sum S of an iteration. */
static void soften(draw *d, const work *w, draw_shape shape, softened *s, char name[DRAW_NAME])
{
    bc_kind kind = w->sort->sum;
    unsigned rank = shape.rank;
    char least[DRAW_NAME], condition[DRAW_NAME];
    if (s->how == MASKED || (s->how == POWERS && draw_chance(d, 2))) {
        draw_constant(d, shape, kind, -20, ".0", least);
        draw_mask(d, shape, rank - 1 - draw_below(d, 2), 1 + draw_below(d, shape.dims[rank - 1]), condition);
        draw_select(d, shape, kind, condition, name, least, name);
    }
    if (has_factors(s->how))
        subtract_largest(d, w, shape, s, name);
    if (s->how == POWERS)
        raise(d, w, shape, s, name);
    else
        draw_clamp(d, shape, kind, s->how == LARGEST ? -16 : -8, 8, name);
    draw_convert(d, shape, kind, w->sort->used, name);
}

/* The start of what a chain carries for rows. */
static void start_softened(draw *d, const work *w, draw_region *r, softened *s)
{
    draw_shape rows = {.rank = 1, .dims = {w->sum.dims[w->sum.rank - 2]}};
    char type[DRAW_TYPE], first[DRAW_NAME];
    draw_typed(rows, draw_kind_text(w->sort->sum), type);
    if (has_factors(s->how)) {
        draw_constant(d, rows, w->sort->sum, -30000, ".0", first);
        draw_carry(d, r, first, type);
    }
    if (s->how == POWERS) {
        draw_constant(d, rows, w->sort->sum, 1, ".0", first);
        draw_carry(d, r, first, type);
    }
}

/* O = O * factor + f(Q K) V, in each iteration. */
static void chain(draw *d, const work *w, const char *row, const char *column, char sum[DRAW_NAME])
{
    bool is_plain = !draw_is_real(w->sort->sum) || w->sum.rank == 3 || w->sort->sum != BC_F32;
    softened s = {.how = (softening)draw_below(d, is_plain ? LARGEST : SOFTENINGS)};
    draw_shape inner = w->right, after = w->sum, value = w->right;
    char type[DRAW_TYPE], q[DRAW_NAME], k[DRAW_NAME], v[DRAW_NAME], none[DRAW_NAME], p[DRAW_NAME], j[DRAW_NAME],
        o[DRAW_NAME], fewer[DRAW_NAME] = "", values[4 * DRAW_NAME];
    draw_region r = {0};
    unsigned rank = w->left.rank;
    inner.dims[rank - 2] = w->left.dims[rank - 2];
    value.dims[rank - 2] = w->right.dims[rank - 1];
    value.dims[rank - 1] = after.dims[rank - 1];
    draw_typed(after, draw_kind_text(w->sort->sum), type);
    draw_carry(d, &r, sum, type);
    start_softened(d, w, &r, &s);
    bool before = !draw_chance(d, w->for_pairs ? 8 : 4);
    if (before)
        operand(d, w, &w->a, w->sort->left, w->alters[0], row, "%zero", q);
    if (w->steps > 1 && draw_chance(d, 4)) { /* as under a causal mask */
        draw_scalar(d, w->steps, fewer);
        draw_set(d, fewer, "remi %s, %s signed : tile<i32>", row, fewer);
    }
    open_loop(d, &r, w->steps, *fewer ? fewer : NULL, j);
    if (!before)
        operand(d, w, &w->a, w->sort->left, w->alters[0], row, "%zero", q);
    operand(d, w, &w->b, w->sort->right, w->alters[1], "%zero", j, k);
    operand(d, w, &w->v, w->sort->right, false, j, column, v);
    draw_constant(d, inner, w->sort->sum, 0, ".0", none);
    multiply_tiles(d, w, w->left, w->right, q, k, none, p);
    snprintf(o, sizeof o, "%s", r.list[0].inside);
    snprintf(s.most, sizeof s.most, "%s", r.list[1].inside);
    snprintf(s.total, sizeof s.total, "%s", r.list[2].inside);
    soften(d, w, inner, &s, p);
    if (has_factors(s.how)) {
        draw_spread(d, after, rank - 2, draw_kind_text(w->sort->sum), s.factors);
        draw_set(d, o, "mulf %s, %s : %s", o, s.factors, type);
    } else {
        prepare_sum(d, w, o);
    }
    multiply_tiles(d, w, inner, value, p, v, o, o);
    const char *const carried[] = {o, s.most, s.total};
    size_t at = 0;
    for (unsigned i = 0; i < r.count; i++)
        at += (size_t)snprintf(values + at, sizeof values - at, "%s%s", i ? ", " : "", carried[i]);
    close_loop(d, &r, values);
    snprintf(sum, DRAW_NAME, "%s", r.list[0].after);
    if (s.how == POWERS) {
        snprintf(s.total, sizeof s.total, "%s", r.list[2].after);
        draw_spread(d, after, rank - 2, draw_kind_text(w->sort->sum), s.total);
        draw_set(d, sum, "divf %s, %s rounding<nearest_even> : %s", sum, s.total, type);
    }
}

/* ---- a tile of the result ---- */

static void tile_of_result(draw *d, const work *w, const char *row, const char *column)
{
    const sort *s = w->sort;
    char sum[DRAW_NAME], token[DRAW_NAME] = "";
    if (w->out_kind == s->sum && draw_chance(d, 4))
        draw_matrix_load(d, &w->out, row, column, NULL, sum, token);
    else
        draw_constant(d, w->sum, s->sum, draw_chance(d, 4) ? 1 : 0, ".0", sum);
    if (w->is_chain)
        chain(d, w, row, column, sum);
    else if (w->steps == 1 && draw_chance(d, 2))
        multiply(d, w, row, column, "%zero", sum, sum);
    else
        sum_of_products(d, w, row, column, sum);
    if (draw_chance(d, 4) && s->sum != BC_I32)
        alter(d, w->sum, s->sum, sum);
    draw_convert(d, w->sum, s->sum, w->out_kind, sum);
    draw_matrix_store(d, &w->out, row, column, sum, *token ? token : NULL);
}

/* The row and column of the number of a tile. */
static void place_of(draw *d, const work *w, const char *number, char row[DRAW_NAME], char column[DRAW_NAME])
{
    char count[DRAW_NAME];
    draw_scalar(d, w->columns, count);
    draw_set(d, row, "divi %s, %s signed rounding<negative_inf> : tile<i32>", number, count);
    draw_set(d, column, "remi %s, %s signed : tile<i32>", number, count);
}

/* ---- the kernel ---- */

static const sort *any_sort(draw *d)
{
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
        sum += sorts[i].weight;
    uint32_t at = draw_below(d, sum);
    const sort *s = sorts;
    while (at >= s->weight)
        at -= s++->weight;
    return s;
}

/* Sizes of tiles, and how many there are. */
static void sizes(draw *d, work *w)
{
    static const uint16_t rows[] = {8, 16, 32, 64, 64, 128, 128, 128, 256},
                          columns[] = {8, 16, 32, 64, 64, 128, 128, 256}, depths[] = {16, 32, 32, 64, 64, 128},
                          pair_rows[] = {64, 128, 256, 256, 256, 512}, pair_columns[] = {32, 64, 64, 128};
    uint32_t m, n, k, batch, last, most_work = w->for_pairs ? 2 * MOST_WORK : MOST_WORK;
    bool batched = draw_chance(d, w->for_pairs && !w->is_chain ? 3 : 8);
    /* more halves would need more bits than sums have */
    bool is_long = !w->is_chain && (w->between == NOTHING || w->between == ADD_ONE) && w->sort->sum != BC_F16;
    do {
        m = rows[draw_below(d, sizeof rows / sizeof *rows)];
        n = columns[draw_below(d, sizeof columns / sizeof *columns)];
        k = depths[draw_below(d, sizeof depths / sizeof *depths)];
        last = columns[draw_below(d, sizeof columns / sizeof *columns)];
        if (w->for_pairs) {
            m = pair_rows[draw_below(d, sizeof pair_rows / sizeof *pair_rows)];
            n = pair_columns[draw_below(d, sizeof pair_columns / sizeof *pair_columns)];
            last = pair_columns[draw_below(d, sizeof pair_columns / sizeof *pair_columns)];
        }
        batch = batched ? 1u << draw_below(d, 3) : 1;
        w->steps = draw_chance(d, 16) ? 0 : is_long && draw_chance(d, 2) ? 6 + draw_below(d, 10) : 1 + draw_below(d, 5);
        w->rows = 1 + draw_below(d, 3);
        w->columns = 1 + draw_below(d, 2);
        k = w->sort->count && k < 64 ? 64 : k;
    } while (batch * m * n > MOST_ELEMENTS || (w->is_chain && (m * last > MOST_ELEMENTS || n < 16))
             || (uint64_t)batch * m * n * k * w->steps * w->rows * w->columns > most_work);
    unsigned rank = batched ? 3 : 2;
    w->left = (draw_shape){.rank = rank, .dims = {batch, batch, batch}};
    w->right = w->sum = w->left;
    w->left.dims[rank - 2] = m, w->left.dims[rank - 1] = k;
    w->right.dims[rank - 2] = k, w->right.dims[rank - 1] = n;
    w->sum.dims[rank - 2] = m, w->sum.dims[rank - 1] = w->is_chain ? last : n;
}

/* A matrix of tiles of that shape; rows and columns: of tiles. */
static draw_matrix matrix_of(const char *array, bc_kind kind, draw_shape used, uint32_t rows, uint32_t columns,
                             bool turned)
{
    draw_matrix m = {.array = array,
                     .kind = draw_kind_text(kind),
                     .tile = turned ? draw_turned(used) : used,
                     .turned = turned};
    m.counts[0] = 1; /* of batches */
    m.counts[used.rank - 2] = turned ? columns : rows;
    m.counts[used.rank - 1] = turned ? rows : columns;
    return m;
}

/* Elements of 4 bits lie two in a byte, neighbours along K. */
static draw_shape stored_shape(const work *w, draw_shape used, bool is_left)
{
    if (w->sort->used == BC_F4E2M1FN)
        used.dims[used.rank - (is_left ? 1 : 2)] /= 2;
    return used;
}

static void matrices(draw *d, work *w)
{
    const sort *s = w->sort;
    bool packed = s->used == BC_F4E2M1FN, turned[4];
    uint32_t steps = w->steps ? w->steps : 1;
    for (unsigned i = 0; i < 4; i++)
        turned[i] = draw_chance(d, 3);
    uint32_t deep = w->is_chain ? 1 : steps, wide = w->is_chain ? steps : w->columns;
    w->a = matrix_of("%a", s->left, stored_shape(w, w->left, true), w->rows, deep, turned[0] && !packed);
    w->b = matrix_of("%b", s->right, stored_shape(w, w->right, false), deep, wide, turned[1] || packed);
    draw_shape value = w->right, scales = w->left;
    value.dims[value.rank - 2] = w->right.dims[w->right.rank - 1];
    value.dims[value.rank - 1] = w->sum.dims[w->sum.rank - 1];
    w->v = matrix_of("%v", s->right, value, steps, w->columns, turned[2]);
    w->out = matrix_of("%d", w->out_kind, w->sum, w->rows, w->columns, turned[3]);
    bool ragged = draw_chance(d, 4) && !s->count;
    w->a.even = w->b.even = w->v.even = w->for_pairs && !draw_chance(d, 6);
    draw_matrix_view(d, &w->a, ragged);
    draw_matrix_view(d, &w->b, ragged);
    if (w->is_chain)
        draw_matrix_view(d, &w->v, ragged);
    draw_matrix_view(d, &w->out, ragged);
    if (!s->count)
        return;
    scales.dims[scales.rank - 1] /= s->count;
    w->a_scales = matrix_of("%s", s->scale, scales, w->rows, deep, draw_chance(d, 4));
    scales = w->right;
    scales.dims[scales.rank - 2] /= s->count;
    w->b_scales = matrix_of("%t", s->scale, scales, deep, wide, !draw_chance(d, 3));
    draw_matrix_view(d, &w->a_scales, false);
    draw_matrix_view(d, &w->b_scales, false);
}

static void give_arrays(const work *w, random_kernel *out)
{
    const sort *s = w->sort;
    const draw_matrix *const all[] = {&w->a, &w->b, &w->v, &w->out, &w->a_scales, &w->b_scales};
    const bc_kind kinds[] = {s->left, s->right, s->right, w->out_kind, s->scale, s->scale};
    bool packed = s->used == BC_F4E2M1FN, tiny = s->sum == BC_F16;
    out->array_count = RANDOM_KERNEL_ARRAYS;
    out->all_small = true;
    for (unsigned i = 0; i < RANDOM_KERNEL_ARRAYS; i++)
        out->arrays[i] = (random_array){.kind = kinds[i],
                                        .bytes = (all[i]->elements + 1) * bc_kind_memory_bytes(kinds[i]),
                                        .contents = i >= 4             ? RANDOM_SCALES
                                                    : tiny             ? RANDOM_TINY
                                                    : packed && i != 3 ? RANDOM_BITS
                                                                       : RANDOM_NUMBERS};
}

static void hints(draw *d, const work *w, char out[DRAW_TYPE])
{
    static const uint8_t clusters[] = {1, 1, 1, 2, 2, 2, 2, 4};
    unsigned blocks = w->for_pairs ? draw_chance(d, 4) ? 1 : 2 : clusters[draw_below(d, sizeof clusters)];
    size_t at = (size_t)snprintf(out, DRAW_TYPE, " optimization_hints=<default = {num_cta_in_cga = %u", blocks);
    if (draw_chance(d, 4))
        at += (size_t)snprintf(out + at, DRAW_TYPE - at, ", num_worker_warps_per_cta = %u", 4u << draw_below(d, 2));
    if (draw_chance(d, 6))
        at += (size_t)snprintf(out + at, DRAW_TYPE - at, ", occupancy = %u", 1 + draw_below(d, 2));
    snprintf(out + at, DRAW_TYPE - at, "}>");
}

static void body(draw *d, work *w, random_kernel *out)
{
    char row[DRAW_NAME], column[DRAW_NAME], range[DRAW_RANGE], tile[DRAW_NAME], count[DRAW_NAME];
    uint32_t tiles = w->rows * w->columns;
    bool persistent = draw_chance(d, 3);
    matrices(d, w);
    out->grid = persistent ? 1 + draw_below(d, tiles) : tiles;
    if (!persistent) {
        place_of(d, w, "%x", row, column);
        tile_of_result(d, w, row, column);
        return;
    }
    const draw_region none = {0};
    draw_scalar(d, tiles, count);
    snprintf(range, sizeof range, "%%x to %s, step %%gx", count);
    draw_name(d, tile);
    draw_head(d, &none, tile, range, "", "i32");
    draw_open(d);
    place_of(d, w, tile, row, column);
    tile_of_result(d, w, row, column);
    close_loop(d, &none, "");
}

static bool can_chain(const sort *s)
{
    return !s->count && s->used == s->right && s->sum != BC_F16;
}

/* The kernel of types that are drawn. */
static void draw_work(draw *d, work *w, random_kernel *out)
{
    const sort *s = w->sort;
    char hint[DRAW_TYPE];
    *out = (random_kernel){0};
    bc_text_init(&out->text, NULL);
    bool fractions = draw_is_real(s->sum) && s->sum != BC_F16;
    w->between = draw_chance(d, 3) ? (between)draw_below(d, 4) : NOTHING;
    if (!fractions && w->between != NOTHING)
        w->between = ADD_ONE;
    w->out_kind = s->sum == BC_F32 && draw_chance(d, 2) ? BC_F16 : s->sum;
    for (unsigned i = 0; i < 2; i++) {
        w->alters[i] = draw_chance(d, w->for_pairs ? 8 : 4);
        w->is_unsigned[i] = draw_chance(d, 2) && !w->is_chain;
    }
    sizes(d, w);
    hints(d, w, hint);
    draw_line(d, "cuda_tile.module @m {");
    draw_open(d);
    draw_line(d,
              "entry @k(%%a: tile<ptr<%s>>, %%b: tile<ptr<%s>>, %%v: tile<ptr<%s>>, %%d: tile<ptr<%s>>, %%s: "
              "tile<ptr<%s>>, %%t: tile<ptr<%s>>, %%lock: tile<ptr<i32>>, %%one: tile<i32>)%s {",
              draw_kind_text(s->left), draw_kind_text(s->right), draw_kind_text(s->right), draw_kind_text(w->out_kind),
              draw_kind_text(s->scale), draw_kind_text(s->scale), hint);
    draw_open(d);
    draw_line(d, "%%x, %%y, %%z = get_tile_block_id : tile<i32>");
    draw_line(d, "%%gx, %%gy, %%gz = get_num_tile_blocks : tile<i32>");
    draw_line(d, "%%zero = constant <i32: 0> : tile<i32>");
    body(d, w, out);
    give_arrays(w, out);
    draw_line(d, "return");
    draw_close(d, "}");
    draw_close(d, "}");
}

void random_product_draw(uint64_t seed, random_kernel *out)
{
    draw d = {.out = &out->text, .state = ~seed};
    work w = {.sort = any_sort(&d)};
    w.is_chain = can_chain(w.sort) && draw_chance(&d, 4);
    draw_work(&d, &w, out);
}

void random_pair_draw(uint64_t seed, random_kernel *out)
{
    draw d = {.out = &out->text, .state = ~seed};
    work w = {.for_pairs = true};
    bool scaled = draw_chance(&d, 2);
    do
        w.sort = any_sort(&d);
    while (scaled != (w.sort->count > 0));
    draw_work(&d, &w, out);
}

void random_chain_draw(uint64_t seed, random_kernel *out)
{
    draw d = {.out = &out->text, .state = ~seed};
    work w = {.is_chain = true, .for_pairs = true};
    do
        w.sort = any_sort(&d);
    while (!can_chain(w.sort));
    draw_work(&d, &w, out);
}

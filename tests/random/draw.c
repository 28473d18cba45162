/* Random choices, names, shapes, and values of a random kernel. */
#include "tests/random/draw.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/op.h"

/* splitmix64 (public domain, S. Vigna). */
static uint64_t next(draw *d)
{
    uint64_t z = d->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint32_t draw_below(draw *d, uint32_t bound)
{
    return (uint32_t)((next(d) >> 32) * bound >> 32);
}

bool draw_chance(draw *d, uint32_t one_in)
{
    return draw_below(d, one_in) == 0;
}

/* ---- text ---- */

void draw_line(draw *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bc_text_printf(d->out, "%*s", (int)(2 * d->indent), "");
    bc_text_vprintf(d->out, format, args);
    bc_text_char(d->out, '\n');
    va_end(args);
}

void draw_name(draw *d, char out[DRAW_NAME])
{
    snprintf(out, DRAW_NAME, "%%v%u", d->names++ % 1000000u);
}

void draw_open(draw *d)
{
    d->indent++;
}

void draw_close(draw *d, const char *line)
{
    d->indent--;
    draw_line(d, "%s", line);
}

const char *draw_kind(const draw *d)
{
    return bc_kinds[d->kind].text;
}

/* ---- shapes ---- */

void draw_elements(const draw *d, draw_shape shape, const char *kind, char out[DRAW_TYPE])
{
    (void)d;
    size_t at = 0;
    for (unsigned i = 0; i < shape.rank; i++)
        at += (size_t)snprintf(out + at, DRAW_TYPE - at, "%ux", (unsigned)shape.dims[i]);
    snprintf(out + at, DRAW_TYPE - at, "%s", kind);
}

void draw_tile(const draw *d, draw_shape shape, char out[DRAW_TYPE])
{
    char elements[DRAW_TYPE];
    draw_elements(d, shape, draw_kind(d), elements);
    snprintf(out, DRAW_TYPE, "tile<%.*s>", DRAW_TYPE - 8, elements);
}

uint64_t draw_count(draw_shape shape)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < shape.rank; i++)
        count *= shape.dims[i];
    return count;
}

bool draw_same_shape(draw_shape a, draw_shape b)
{
    return a.rank == b.rank && memcmp(a.dims, b.dims, a.rank * sizeof *a.dims) == 0;
}

draw_shape draw_any_shape(draw *d, uint32_t elements, unsigned rank)
{
    draw_shape s = {.rank = rank, .dims = {1, 1, 1}};
    bool is_row = draw_chance(d, 2); /* otherwise the last dimension tends to be the longest */
    for (; elements > 1; elements /= 2)
        s.dims[is_row || draw_chance(d, 2) ? rank - 1 : draw_below(d, rank)] *= 2;
    return s;
}

uint32_t draw_room(const draw *d)
{
    return d->elements * (d->elements > 16384 ? 4 : 16);
}

/* ---- numbers ---- */

/* Writes the expression of two counters, or of a counter and a constant, and returns an exclusive upper bound of it. */
static uint32_t combine(draw *d, const draw_counter *x, const char *name)
{
    const draw_counter *y = &d->counters[draw_below(d, d->counter_count)];
    uint32_t k = 1 + draw_below(d, 3);
    char constant[DRAW_NAME];
    draw_name(d, constant);
    switch (draw_below(d, 6)) {
    case 0: draw_line(d, "%s = addi %s, %s : tile<i32>", name, x->name, y->name); return x->bound + y->bound - 1;
    case 1:
        draw_line(d, "%s = maxi %s, %s signed : tile<i32>", name, x->name, y->name);
        return x->bound > y->bound ? x->bound : y->bound;
    case 2:
        draw_line(d, "%s = constant <i32: %u> : tile<i32>", constant, (unsigned)k);
        draw_line(d, "%s = muli %s, %s : tile<i32>", name, x->name, constant);
        return (x->bound - 1) * k + 1;
    case 3:
        draw_line(d, "%s = constant <i32: %u> : tile<i32>", constant, (unsigned)k + 1);
        draw_line(d, "%s = divi %s, %s signed rounding<negative_inf> : tile<i32>", name, x->name, constant);
        return (x->bound - 1) / (k + 1) + 1;
    case 4: /* backwards */
        draw_line(d, "%s = constant <i32: %u> : tile<i32>", constant, (unsigned)x->bound - 1);
        draw_line(d, "%s = subi %s, %s : tile<i32>", name, constant, x->name);
        return x->bound;
    default:
        draw_line(d, "%s = constant <i32: %u> : tile<i32>", constant, (unsigned)k);
        draw_line(d, "%s = addi %s, %s : tile<i32>", name, x->name, constant);
        return x->bound + k;
    }
}

void draw_index(draw *d, uint32_t bound, char out[DRAW_NAME])
{
    char limit[DRAW_NAME];
    draw_name(d, out);
    if (bound == 1 || !d->counter_count || draw_chance(d, 6)) {
        draw_line(d, "%s = constant <i32: %u> : tile<i32>", out, (unsigned)draw_below(d, bound < 4 ? bound : 4));
        return;
    }
    /* the innermost loop's counter is the most likely */
    const draw_counter *c =
        &d->counters[d->counter_count - 1 - (draw_chance(d, 3) ? draw_below(d, d->counter_count) : 0)];
    if (c->bound <= bound && !draw_chance(d, 3)) {
        snprintf(out, DRAW_NAME, "%s", c->name);
        return;
    }
    uint32_t most = combine(d, c, out);
    if (most <= bound)
        return;
    char wide[DRAW_NAME];
    snprintf(wide, sizeof wide, "%s", out);
    draw_name(d, limit);
    draw_name(d, out);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", limit, (unsigned)bound);
    draw_line(d, "%s = remi %s, %s signed : tile<i32>", out, wide, limit);
}

void draw_comparison(draw *d, const char *number, char out[DRAW_NAME])
{
    static const char *const predicates[] = {"equal", "not_equal", "less_than", "greater_than_or_equal"};
    char constant[DRAW_NAME];
    draw_name(d, constant);
    draw_name(d, out);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", constant, (unsigned)draw_below(d, 3));
    draw_line(d, "%s = cmpi %s %s, %s, signed : tile<i32> -> tile<i1>", out, predicates[draw_below(d, 4)], number,
              constant);
}

void draw_condition(draw *d, char out[DRAW_NAME])
{
    char index[DRAW_NAME];
    draw_index(d, 4, index);
    draw_comparison(d, index, out);
}

/* ---- tiles ---- */

draw_value draw_reshape(draw *d, draw_value v, draw_shape shape)
{
    if (draw_same_shape(v.shape, shape))
        return v;
    draw_value out = {.shape = shape};
    char from[DRAW_TYPE], to[DRAW_TYPE];
    draw_tile(d, v.shape, from);
    draw_tile(d, shape, to);
    draw_name(d, out.name);
    draw_line(d, "%s = reshape %s : %s -> %s", out.name, v.name, from, to);
    return out;
}

void draw_keep(draw *d, draw_value v)
{
    if (d->value_count == DRAW_VALUES) /* removes the oldest value but the first */
        memmove(&d->values[1], &d->values[2], (--d->value_count - 1) * sizeof *d->values);
    d->values[d->value_count++] = v;
}

draw_value draw_any_value(draw *d)
{
    return d->values[draw_chance(d, 2) ? d->value_count - 1 : draw_below(d, d->value_count)];
}

static bool is_float(const draw *d)
{
    return bc_kinds[d->kind].kind_class == BC_CLASS_FLOAT;
}

/* Makes numbers small again, so that sums of products are exact. */
static draw_value clamp(draw *d, draw_value v)
{
    char type[DRAW_TYPE], low[DRAW_NAME], high[DRAW_NAME], some[DRAW_NAME];
    draw_value out = {.shape = v.shape};
    draw_tile(d, v.shape, type);
    draw_name(d, low);
    draw_name(d, high);
    draw_name(d, some);
    draw_name(d, out.name);
    draw_line(d, "%s = constant <%s: -16.0> : %s", low, draw_kind(d), type);
    draw_line(d, "%s = constant <%s: 16.0> : %s", high, draw_kind(d), type);
    draw_line(d, "%s = maxf %s, %s : %s", some, v.name, low, type);
    draw_line(d, "%s = minf %s, %s : %s", out.name, some, high, type);
    return out;
}

static draw_value binary(draw *d, const char *op, draw_value x, draw_value y)
{
    char type[DRAW_TYPE];
    draw_value out = {.shape = x.shape};
    y = draw_reshape(d, y, x.shape);
    draw_tile(d, x.shape, type);
    draw_name(d, out.name);
    draw_line(d, "%s = %s %s, %s : %s", out.name, op, x.name, y.name, type);
    return d->products ? clamp(d, out) : out;
}

draw_value draw_sum(draw *d, draw_value x, draw_value y)
{
    return binary(d, is_float(d) ? "addf" : "addi", x, y);
}

static draw_value combine_tiles(draw *d, draw_value x, draw_value y)
{
    static const char *const ints[] = {"addi", "subi", "xori", "muli"}, *const floats[] = {"addf", "subf"};
    return binary(d, is_float(d) ? floats[draw_below(d, 2)] : ints[draw_below(d, 4)], x, y);
}

/* Replaces the elements of each row, or column, by the largest of them. */
static draw_value spread_maximum(draw *d, draw_value x)
{
    char from[DRAW_TYPE], to[DRAW_TYPE], thin[DRAW_TYPE], largest[DRAW_NAME], row[DRAW_NAME];
    draw_shape flat = draw_any_shape(d, d->elements, 2), less = {.rank = 1}, one = flat;
    draw_value out = {.shape = flat}, v = draw_reshape(d, x, flat);
    unsigned dim = draw_below(d, 2);
    less.dims[0] = flat.dims[1 - dim];
    one.dims[dim] = 1;
    draw_tile(d, flat, from);
    draw_tile(d, less, to);
    draw_tile(d, one, thin);
    draw_name(d, largest);
    draw_name(d, row);
    draw_name(d, out.name);
    const char *kind = draw_kind(d);
    if (is_float(d))
        draw_line(d, "%s = reduce %s dim=%u identities=[-20000.0 : %s] : %s -> %s (%%p: tile<%s>, %%q: tile<%s>) {",
                  largest, v.name, dim, kind, from, to, kind, kind);
    else
        draw_line(d, "%s = reduce %s dim=%u identities=[0 : %s] : %s -> %s (%%p: tile<%s>, %%q: tile<%s>) {", largest,
                  v.name, dim, kind, from, to, kind, kind);
    draw_open(d);
    draw_line(d, "%%r = %s %%p, %%q%s : tile<%s>", is_float(d) ? "maxf" : "addi", "", kind);
    draw_line(d, "yield %%r : tile<%s>", kind);
    draw_close(d, "}");
    draw_line(d, "%s = reshape %s : %s -> %s", row, largest, to, thin);
    draw_line(d, "%s = broadcast %s : %s -> %s", out.name, row, thin, from);
    return out;
}

static draw_value turn(draw *d, draw_value x)
{
    char from[DRAW_TYPE], to[DRAW_TYPE];
    draw_shape flat = draw_any_shape(d, d->elements, 2);
    draw_value v = draw_reshape(d, x, flat), out = {.shape = {.rank = 2, .dims = {flat.dims[1], flat.dims[0]}}};
    draw_tile(d, flat, from);
    draw_tile(d, out.shape, to);
    draw_name(d, out.name);
    draw_line(d, "%s = permute %s [1, 0] : %s -> %s", out.name, v.name, from, to);
    return out;
}

/* Selects elements of one tile or the other, by a condition. */
static draw_value choose(draw *d, draw_value x, draw_value y)
{
    char type[DRAW_TYPE], condition[DRAW_NAME], ones[DRAW_TYPE], one[DRAW_TYPE], thin[DRAW_NAME], mask[DRAW_NAME];
    draw_value out = {.shape = x.shape};
    draw_shape single = {.rank = x.shape.rank, .dims = {1, 1, 1}};
    y = draw_reshape(d, y, x.shape);
    draw_condition(d, condition);
    draw_tile(d, x.shape, type);
    draw_elements(d, x.shape, "i1", ones);
    draw_elements(d, single, "i1", one);
    draw_name(d, thin);
    draw_name(d, mask);
    draw_name(d, out.name);
    draw_line(d, "%s = reshape %s : tile<i1> -> tile<%s>", thin, condition, one);
    draw_line(d, "%s = broadcast %s : tile<%s> -> tile<%s>", mask, thin, one, ones);
    draw_line(d, "%s = select %s, %s, %s : tile<%s>, %s", out.name, mask, x.name, y.name, ones, type);
    return out;
}

draw_value draw_compute(draw *d)
{
    draw_value x = draw_any_value(d), y = draw_any_value(d);
    switch (draw_below(d, 8)) {
    case 0: return spread_maximum(d, x);
    case 1: return turn(d, x);
    case 2: return choose(d, x, y);
    default: return combine_tiles(d, x, y);
    }
}

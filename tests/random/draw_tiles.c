/* Ops on tiles of any type, for random kernels that multiply (draw_products.c). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/op.h"
#include "tests/random/draw.h"

void draw_typed(draw_shape shape, const char *kind, char out[DRAW_TYPE])
{
    char elements[DRAW_TYPE];
    draw_elements(NULL, shape, kind, elements);
    snprintf(out, DRAW_TYPE, "tile<%.*s>", DRAW_TYPE - 8, elements);
}

draw_shape draw_turned(draw_shape shape)
{
    uint32_t last = shape.dims[shape.rank - 1];
    shape.dims[shape.rank - 1] = shape.dims[shape.rank - 2];
    shape.dims[shape.rank - 2] = last;
    return shape;
}

void draw_turn(draw *d, draw_shape shape, const char *kind, char name[DRAW_NAME])
{
    char from[DRAW_TYPE], to[DRAW_TYPE], turned[DRAW_NAME];
    draw_typed(shape, kind, from);
    draw_typed(draw_turned(shape), kind, to);
    draw_name(d, turned);
    draw_line(d, "%s = permute %s [%s] : %s -> %s", turned, name, shape.rank == 3 ? "0, 2, 1" : "1, 0", from, to);
    snprintf(name, DRAW_NAME, "%s", turned);
}

const char *draw_kind_text(bc_kind kind)
{
    return bc_kinds[kind].text;
}

bool draw_is_real(bc_kind kind)
{
    return bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
}

void draw_set(draw *d, char out[DRAW_NAME], const char *format, ...)
{
    bc_text line;
    va_list args;
    bc_text_init(&line, NULL);
    va_start(args, format);
    bc_text_vprintf(&line, format, args); /* before the name, as an operand may have the same place */
    va_end(args);
    draw_name(d, out);
    draw_line(d, "%s = %s", out, bc_text_words(&line));
    bc_text_release(&line);
}

void draw_constant(draw *d, draw_shape shape, bc_kind kind, int number, const char *fraction, char out[DRAW_NAME])
{
    char type[DRAW_TYPE];
    draw_typed(shape, draw_kind_text(kind), type);
    draw_set(d, out, "constant <%s: %d%s> : %s", draw_kind_text(kind), number, draw_is_real(kind) ? fraction : "",
             type);
}

void draw_scalar(draw *d, uint32_t number, char out[DRAW_NAME])
{
    draw_set(d, out, "constant <i32: %u> : tile<i32>", (unsigned)number);
}

void draw_spread(draw *d, draw_shape shape, unsigned dim, const char *kind, char name[DRAW_NAME])
{
    char from[DRAW_TYPE], thin[DRAW_TYPE], to[DRAW_TYPE];
    draw_shape line = {.rank = 1, .dims = {shape.dims[dim]}}, one = {.rank = shape.rank, .dims = {1, 1, 1}};
    one.dims[dim] = shape.dims[dim];
    draw_typed(line, kind, from);
    draw_typed(one, kind, thin);
    draw_typed(shape, kind, to);
    draw_set(d, name, "reshape %s : %s -> %s", name, from, thin);
    draw_set(d, name, "broadcast %s : %s -> %s", name, thin, to);
}

void draw_mask(draw *d, draw_shape shape, unsigned dim, uint32_t bound, char out[DRAW_NAME])
{
    unsigned n = (unsigned)shape.dims[dim];
    char number[DRAW_NAME], most[DRAW_NAME];
    draw_set(d, number, "iota : tile<%uxi32>", n);
    draw_set(d, most, "constant <i32: %u> : tile<%uxi32>", (unsigned)bound, n);
    draw_set(d, out, "cmpi less_than %s, %s, signed : tile<%uxi32> -> tile<%uxi1>", number, most, n, n);
    draw_spread(d, shape, dim, "i1", out);
}

void draw_select(draw *d, draw_shape shape, bc_kind kind, const char *condition, const char *yes, const char *no,
                 char out[DRAW_NAME])
{
    char type[DRAW_TYPE], ones[DRAW_TYPE];
    draw_typed(shape, draw_kind_text(kind), type);
    draw_typed(shape, "i1", ones);
    draw_set(d, out, "select %s, %s, %s : %s, %s", condition, yes, no, ones, type);
}

void draw_clamp(draw *d, draw_shape shape, bc_kind kind, int low, int high, char name[DRAW_NAME])
{
    const char *kind_letter = draw_is_real(kind) ? "f" : "i", *sign = draw_is_real(kind) ? "" : " signed";
    char type[DRAW_TYPE], least[DRAW_NAME], most[DRAW_NAME];
    draw_typed(shape, draw_kind_text(kind), type);
    draw_constant(d, shape, kind, low, ".0", least);
    draw_constant(d, shape, kind, high, ".0", most);
    draw_set(d, name, "max%s %s, %s%s : %s", kind_letter, name, least, sign, type);
    draw_set(d, name, "min%s %s, %s%s : %s", kind_letter, name, most, sign, type);
}

void draw_convert(draw *d, draw_shape shape, bc_kind from, bc_kind to, char name[DRAW_NAME])
{
    char types[2][DRAW_TYPE];
    if (from == to)
        return;
    draw_typed(shape, draw_kind_text(from), types[0]);
    draw_typed(shape, draw_kind_text(to), types[1]);
    const char *op = draw_is_real(from) ? "ftof" : draw_is_real(to) ? "itof" : "trunci";
    draw_set(d, name, "%s %s%s : %s -> %s", op, name, draw_is_real(to) && !draw_is_real(from) ? " signed" : "",
             types[0], types[1]);
}

/* Values as pictures: each cell shows an element, or several of a large value. With colours, cells are half blocks in
   256 colours, two rows to a line; without, characters from light to dark. */
#include <math.h>
#include <stdlib.h>

#include "tools/tilevm/debug/debug.h"

enum { MOST_ROWS = 48 };

typedef struct picture {
    arg_array array;
    size_t rows, columns;           /* elements */
    size_t cell_rows, cell_columns; /* elements of a cell */
    size_t high, wide;              /* cells */
    double low, range;
} picture;

static const char signs[] = " .:-=+*#%@";
enum { SIGNS = sizeof signs - 1, SHADES = 24 };

typedef enum cell_kind { CELL_NUMBER, CELL_NAN, CELL_INF } cell_kind;

static double element(const picture *p, size_t row, size_t column)
{
    const unsigned char *at = p->array.first + (row * p->columns + column) * p->array.item;
    return arg_value_of(p->array.dtype, arg_load(at, p->array.item));
}

/* The mean of the elements of a cell; a NaN or an infinity among them makes the cell one. */
static cell_kind cell(const picture *p, size_t i, size_t j, double *out)
{
    double sum = 0;
    size_t n = 0;
    cell_kind kind = CELL_NUMBER;
    for (size_t r = i * p->cell_rows; r < (i + 1) * p->cell_rows && r < p->rows; r++)
        for (size_t c = j * p->cell_columns; c < (j + 1) * p->cell_columns && c < p->columns; c++) {
            double x = element(p, r, c);
            if (isnan(x))
                return CELL_NAN;
            if (isinf(x))
                kind = CELL_INF;
            sum += x;
            n++;
        }
    *out = sum / (double)n;
    return kind;
}

static void find_range(picture *p)
{
    double low = (double)INFINITY, high = -(double)INFINITY, x;
    for (size_t i = 0; i < p->high; i++)
        for (size_t j = 0; j < p->wide; j++)
            if (cell(p, i, j, &x) == CELL_NUMBER) {
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
    p->low = low;
    p->range = high > low ? high - low : 0;
}

static unsigned shade(const picture *p, double x, unsigned shades)
{
    double share = p->range > 0 ? (x - p->low) / p->range : 0.5;
    unsigned n = (unsigned)(share * shades);
    return n < shades ? n : shades - 1;
}

/* The grey ramp of 256 colours; NaNs are magenta, infinities red. */
static unsigned color_of(const picture *p, size_t i, size_t j)
{
    double x;
    switch (cell(p, i, j, &x)) {
    case CELL_NAN: return 201;
    case CELL_INF: return 196;
    case CELL_NUMBER: break;
    }
    return 232 + shade(p, x, SHADES);
}

static void put_colors(const picture *p, bc_text *out)
{
    for (size_t i = 0; i < p->high; i += 2) {
        for (size_t j = 0; j < p->wide; j++) {
            bc_text_printf(out, "\033[38;5;%um", color_of(p, i, j));
            if (i + 1 < p->high)
                bc_text_printf(out, "\033[48;5;%um", color_of(p, i + 1, j));
            bc_text_puts(out, "\xe2\x96\x80"); /* upper half block */
        }
        bc_text_puts(out, "\033[0m\n");
    }
}

static void put_signs(const picture *p, bc_text *out)
{
    double x;
    for (size_t i = 0; i < p->high; i++) {
        bc_text_char(out, '|');
        for (size_t j = 0; j < p->wide; j++) {
            cell_kind kind = cell(p, i, j, &x);
            bc_text_char(out, kind == CELL_NAN ? 'N' : kind == CELL_INF ? 'I' : signs[shade(p, x, SIGNS)]);
        }
        bc_text_puts(out, "|\n");
    }
}

static void put_legend(const debug_session *s, const picture *p, bc_text *out)
{
    if (p->low <= p->low + p->range && isfinite(p->low))
        bc_text_printf(out, "%s %.6g, %s %.6g", s->color ? "black" : "blank", p->low, s->color ? "white" : "@",
                       p->low + p->range);
    bc_text_printf(out, "; %s NaN, %s infinite", s->color ? "magenta" : "N", s->color ? "red" : "I");
    if (p->cell_rows * p->cell_columns > 1)
        bc_text_printf(out, "; a cell is the mean of %zu x %zu elements", p->cell_rows, p->cell_columns);
    bc_text_char(out, '\n');
}

bool debug_put_picture(debug_session *s, const vm_debug_value *v, bc_text *out, vm_debug_error *error)
{
    picture p = {.rows = 1, .columns = 1};
    unsigned dims = 0;
    for (uint32_t d = 0; d < v->rank && v->form == VM_DEBUG_DATA; d++)
        dims += v->shape[d] > 1;
    if (v->form != VM_DEBUG_DATA || dims > 2 || v->kind == BC_PTR)
        return debug_fail(error, "a picture shows one or two dimensions of numbers; take a slice, as in %%t[0, :, :]");
    for (uint32_t d = 0, met = 0; d < v->rank; d++)
        if (v->shape[d] > 1)
            *(met++ == 0 && dims == 2 ? &p.rows : &p.columns) = (size_t)v->shape[d];
    if (!debug_array(v, &p.array, error))
        return false;
    size_t most = s->width > 4 ? s->width - 2 : 2;
    p.cell_columns = (p.columns + most - 1) / most;
    p.cell_rows = (p.rows + MOST_ROWS - 1) / MOST_ROWS;
    p.wide = (p.columns + p.cell_columns - 1) / p.cell_columns;
    p.high = (p.rows + p.cell_rows - 1) / p.cell_rows;
    find_range(&p);
    if (s->color)
        put_colors(&p, out);
    else
        put_signs(&p, out);
    put_legend(s, &p, out);
    arg_array_free(&p.array);
    return true;
}

/* Tiles and arrays as heat maps: each cell shows the mean of its elements, without NaNs and infinities. */
#include <math.h>

#include "tools/tilevm/page/page.h"

/* Rows are all dimensions but the last one. */
static void shape_of(const arg_array *array, uint64_t *rows, uint64_t *columns)
{
    *columns = array->ndim ? (uint64_t)array->shape[array->ndim - 1] : 1;
    *rows = *columns ? array->count / *columns : 0;
}

/* The elements of a cell on each side. */
static uint64_t step_of(uint64_t size, unsigned most)
{
    return size / most + (size % most != 0);
}

typedef struct cell {
    double sum;
    uint64_t count;
} cell;

/* Adds the elements of a run, which begins at that element in row-major order. */
static void add_run(const arg_walk *walk, uint64_t at, uint64_t columns, const uint64_t step[2], uint64_t width,
                    cell *cells)
{
    double reals[256];
    for (uint64_t done = 0; done < walk->run;) {
        uint64_t left = walk->run - done, n = left < TV_COUNT(reals) ? left : TV_COUNT(reals);
        arg_get_reals(walk->array->dtype, walk->at + (int64_t)done * walk->step, walk->step, (size_t)n, reals);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t element = at + done + i, row = element / columns, column = element % columns;
            cell *c = &cells[row / step[0] * width + column / step[1]];
            if (isfinite(reals[i])) {
                c->sum += reals[i];
                c->count++;
            }
        }
        done += n;
    }
}

/* A colour shows less than five digits. */
static double rounded(double x)
{
    char text[32];
    double out = x;
    snprintf(text, sizeof text, "%.5g", x);
    sscanf(text, "%lf", &out);
    return out;
}

static void put_cells(json_doc *doc, cJSON *item, const cell *cells, uint64_t count)
{
    cJSON *list = json_array(doc, item, "cells");
    for (uint64_t i = 0; i < count; i++)
        if (cells[i].count)
            json_real(doc, list, NULL, rounded(cells[i].sum / (double)cells[i].count));
        else
            json_real(doc, list, NULL, NAN); /* null */
}

void page_add_heat(json_doc *doc, cJSON *item, const arg_array *array, unsigned most)
{
    uint64_t rows, columns;
    arg_summary s;
    cell cells[PAGE_MOST_CELLS * PAGE_MOST_CELLS] = {{0}};
    cJSON *shape = json_array(doc, item, "shape");
    for (uint32_t d = 0; d < array->ndim; d++)
        json_int(doc, shape, NULL, array->shape[d]);
    shape_of(array, &rows, &columns);
    if (!rows || !columns)
        return;
    const uint64_t step[2] = {step_of(rows, most), step_of(columns, most)};
    uint64_t height = (rows + step[0] - 1) / step[0], width = (columns + step[1] - 1) / step[1];
    arg_walk walk;
    for (arg_walk_start(&walk, array); arg_walk_next(&walk);)
        add_run(&walk, walk.done, columns, step, width, cells);
    json_uint(doc, item, "rows", height);
    json_uint(doc, item, "columns", width);
    put_cells(doc, item, cells, height * width);
    arg_array_summary(array, &s);
    if (s.has_range) {
        json_real(doc, item, "min", arg_value_of(array->dtype, s.min));
        json_real(doc, item, "max", arg_value_of(array->dtype, s.max));
        json_real(doc, item, "mean", s.mean);
    }
    json_uint(doc, item, "nan", s.nan_count);
    json_uint(doc, item, "inf", s.inf_count);
}

/* Matrices in memory, and loads and stores of their tiles, for random kernels that multiply (draw_products.c). */
#include <stdio.h>
#include <string.h>

#include "tests/random/draw.h"

/* A number as an operand and in a type: itself or, if only the launch tells it, a value and "?". */
typedef struct number {
    char operand[DRAW_NAME], type[DRAW_NAME];
} number;

static number number_of(draw *d, uint32_t n, bool dynamic)
{
    number out = {.type = "?"};
    char constant[DRAW_NAME];
    if (!dynamic) {
        snprintf(out.operand, DRAW_NAME, "%u", (unsigned)n);
        snprintf(out.type, DRAW_NAME, "%u", (unsigned)n);
        return out;
    }
    draw_name(d, constant);
    draw_name(d, out.operand);
    draw_line(d, "%s = constant <i32: %u> : tile<i32>", constant, (unsigned)n);
    draw_line(d, "%s = muli %%one, %s : tile<i32>", out.operand, constant);
    return out;
}

/* Extents and strides of a matrix: rows begin at multiples of 16 elements, or, unless it is even, follow each other
   anyhow. */
static void lay_out(draw *d, const draw_matrix *m, bool ragged, uint32_t extents[DRAW_DIMS],
                    uint32_t strides[DRAW_DIMS])
{
    static const uint8_t gaps[] = {16, 32, 8, 4, 1};
    unsigned rank = m->tile.rank;
    uint32_t row;
    for (unsigned i = 0; i < rank; i++) {
        extents[i] = m->tile.dims[i] * m->counts[i];
        if (ragged && i + 2 >= rank && draw_chance(d, 2))
            extents[i] -= draw_below(d, m->tile.dims[i] / 2);
    }
    row = !m->even && draw_chance(d, 4) ? extents[rank - 1] : (extents[rank - 1] + 15) / 16 * 16;
    if (draw_chance(d, 4))
        row += gaps[draw_below(d, m->even ? 2 : sizeof gaps)];
    strides[rank - 1] = 1;
    strides[rank - 2] = row;
    if (rank == 3)
        strides[0] = row * extents[1];
}

/* "2x64xf16" or "64, 1" */
static void list(bc_text *out, const number *numbers, unsigned count, bool types, const char *between)
{
    for (unsigned i = 0; i < count; i++)
        bc_text_printf(out, "%s%s", i ? between : "", types ? numbers[i].type : numbers[i].operand);
}

void draw_matrix_view(draw *d, draw_matrix *m, bool ragged)
{
    number extents[DRAW_DIMS], strides[DRAW_DIMS];
    uint32_t counts[DRAW_DIMS], steps[DRAW_DIMS];
    unsigned rank = m->tile.rank;
    bool dynamic = draw_chance(d, 4);
    bc_text tensor, shape;
    char base[DRAW_NAME], name[DRAW_NAME], tile[DRAW_TYPE];
    lay_out(d, m, ragged, counts, steps);
    m->elements = (size_t)steps[0] * counts[0];
    for (unsigned i = 0; i < rank; i++) {
        extents[i] = number_of(d, counts[i], dynamic && draw_chance(d, 2));
        strides[i] = number_of(d, steps[i], dynamic && i + 2 == rank);
    }
    bc_text_init(&tensor, NULL);
    bc_text_init(&shape, NULL);
    bc_text_puts(&tensor, "tensor_view<");
    list(&tensor, extents, rank, true, "x");
    bc_text_printf(&tensor, "x%s, strides=[", m->kind);
    list(&tensor, strides, rank, true, ",");
    bc_text_puts(&tensor, "]>");
    bc_text_puts(&shape, "shape = [");
    list(&shape, extents, rank, false, ", ");
    bc_text_puts(&shape, "], strides = [");
    list(&shape, strides, rank, false, ", ");
    draw_elements(d, m->tile, "", tile);
    tile[strlen(tile) - 1] = 0; /* the x before a type */
    snprintf(m->type, sizeof m->type, "partition_view<tile=(%.*s), padding_value = zero, %s>", DRAW_TYPE / 4, tile,
             bc_text_words(&tensor));
    snprintf(base, sizeof base, "%s", m->array);
    if (m->even || !draw_chance(d, 6)) {
        draw_name(d, base);
        draw_line(d, "%s = assume div_by<16>, %s : tile<ptr<%s>>", base, m->array, m->kind);
    }
    draw_name(d, name);
    draw_name(d, m->view);
    draw_line(d, "%s = make_tensor_view %s, %s] : %s%s", name, base, bc_text_words(&shape),
              strchr(bc_text_words(&tensor), '?') ? "tile<i32> -> " : "", bc_text_words(&tensor));
    draw_line(d, "%s = make_partition_view %s : %s", m->view, name, m->type);
    bc_text_release(&tensor);
    bc_text_release(&shape);
}

/* "%0, %row, %column", as the matrix is stored. */
static void place(const draw_matrix *m, const char *row, const char *column, char out[DRAW_TYPE])
{
    snprintf(out, DRAW_TYPE, "%s%s, %s", m->tile.rank == 3 ? "%zero, " : "", m->turned ? column : row,
             m->turned ? row : column);
}

void draw_matrix_load(draw *d, const draw_matrix *m, const char *row, const char *column, const char *token,
                      char out[DRAW_NAME], char out_token[DRAW_NAME])
{
    static const char *const hints[] = {"allow_tma = false", "latency = 2", "latency = 8"};
    char at[DRAW_TYPE], tile[DRAW_TYPE], hint[DRAW_TYPE] = "", after[DRAW_WORDS] = "", unused[DRAW_NAME];
    place(m, row, column, at);
    draw_typed(m->tile, m->kind, tile);
    draw_name(d, out);
    draw_name(d, out_token ? out_token : unused);
    if (draw_chance(d, m->even ? 24 : 6))
        snprintf(hint, sizeof hint, " optimization_hints=<default = {%s}>", hints[draw_below(d, 3)]);
    if (token)
        snprintf(after, sizeof after, " token=%s", token);
    draw_line(d, "%s, %s = load_view_tko weak %s[%s]%s%s : %s, tile<i32> -> %s, token", out,
              out_token ? out_token : unused, m->view, at, after, hint, m->type, tile);
    if (m->turned)
        draw_turn(d, m->tile, m->kind, out);
}

void draw_matrix_store(draw *d, const draw_matrix *m, const char *row, const char *column, const char *value,
                       const char *token)
{
    char at[DRAW_TYPE], tile[DRAW_TYPE], name[DRAW_NAME], after[DRAW_NAME], before[DRAW_WORDS] = "";
    snprintf(name, sizeof name, "%s", value);
    if (m->turned)
        draw_turn(d, draw_turned(m->tile), m->kind, name);
    place(m, row, column, at);
    draw_typed(m->tile, m->kind, tile);
    draw_name(d, after);
    if (token)
        snprintf(before, sizeof before, " token=%s", token);
    draw_line(d, "%s = store_view_tko weak %s, %s[%s]%s : %s, %s, tile<i32> -> token", after, name, m->view, at, before,
              tile, m->type);
}

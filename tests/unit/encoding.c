/* Places in encodings: lanes of half a warp that load elements of 8 bytes for `mma.sync` on f64 meet no bank conflict,
   whether rows are what K counts or not, and however few columns there are. */
#include "codegen/analysis/encoding.h"
#include "tests/unit/test.h"

enum { LANES = 16, BANKS = 16 /* of 8 bytes */, LEAST = 2, MOST = 6 };

/* Four neighbours in each of four rows, which the bits of the lane's number count. */
static uint32_t place_of(const cg_encoding *s, uint32_t lane, uint32_t row, uint32_t column)
{
    cg_layout l = {.tile_bits = (uint8_t)(s->rows + s->columns), .reg_bits = (uint8_t)(s->rows + s->columns)};
    for (uint32_t i = 0; i < l.reg_bits; i++)
        l.reg[i] = (uint32_t)1 << i;
    cg_layout places = cg_encoding_layout(s, &l);
    return cg_layout_reg(&places, (row | lane >> 2) << s->columns | column | (lane & 3));
}

static void check_size(uint32_t rows, uint32_t columns)
{
    cg_encoding s = cg_encoding_new(rows, columns, 0, 8, CG_FEED_ELEMENTS);
    for (uint32_t row = 0; row < (uint32_t)1 << rows; row += 4)
        for (uint32_t column = 0; column < (uint32_t)1 << columns; column += 4) {
            uint32_t banks = 0;
            for (uint32_t lane = 0; lane < LANES; lane++)
                banks |= (uint32_t)1 << place_of(&s, lane, row, column) % BANKS;
            CHECK_MSG(banks == 0xFFFF, "%ux%u, row %u, column %u: banks %x", 1u << rows, 1u << columns, row, column,
                      banks);
        }
}

int main(void)
{
    for (uint32_t rows = LEAST; rows <= MOST; rows++)
        for (uint32_t columns = LEAST; columns <= MOST; columns++)
            check_size(rows, columns);
    return TEST_END("encoding");
}

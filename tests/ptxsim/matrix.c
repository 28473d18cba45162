/* ldmatrix, stmatrix, movmatrix: 8 by 8 elements of 16 bits, or 16 by 16 bytes, between shared memory and a warp's
   registers. PTX ISA, "Matrix Load Instruction", "Matrix Store Instruction", "Matrix Transpose Instruction". */
#include <string.h>

#include "tests/ptxsim/decode.h"

static void decode_matrix(ps_decoder *d, unsigned address)
{
    static const char *const counts[] = {"x1", "x2", "", "x4", NULL};
    ps_insn *in = d->in;
    ps_take(d, "sync");
    in->aligned = ps_take(d, "aligned");
    bool square = ps_take(d, "m8n8");
    int count = ps_take_one(d, counts);
    in->mode = ps_take(d, "trans");
    in->space = (uint8_t)ps_take_space(d);
    ps_type type = ps_take_type(d);
    if (!square || count < 0 || type != PS_B16 || !in->aligned) {
        ps_decode_fail(d, "the simulator knows .sync.aligned.m8n8.x1, .x2, .x4 with .b16");
        return;
    }
    if (in->space != PS_SHARED && in->space != PS_GENERIC)
        ps_decode_fail(d, "matrices lie in .shared");
    in->vector = (uint8_t)(count + 1);
    in->first_source = address == 1;
    ps_want_count(d, 2, 2);
    ps_want_address(d, address);
    ps_want_vector(d, 1 - address, in->vector, PS_B32, false);
    if (!d->error[0] && in->operands[address].var && in->space == PS_GENERIC)
        in->space = (uint8_t)in->operands[address].var->space;
    ps_note_access(d, PS_SHARED, 16);
}

/* ldmatrix.sync.aligned.m16n16.x1 and .x2.trans.shared.b8 */
static bool decode_bytes(ps_decoder *d)
{
    ps_insn *in = d->in;
    if (!ps_take(d, "m16n16"))
        return false;
    bool sync = ps_take(d, "sync"), two = ps_take(d, "x2");
    in->aligned = ps_take(d, "aligned");
    in->exec = ps_exec_ldmatrix_bytes;
    in->vector = two ? 2 : 1;
    in->first_source = 1;
    if (!sync || !in->aligned || (!two && !ps_take(d, "x1")) || !ps_take(d, "trans"))
        ps_decode_fail(d, "wants .sync.aligned, .x1 or .x2 and .trans");
    in->space = (uint8_t)ps_take_space(d);
    if (!ps_take(d, "b8") || (in->space != PS_SHARED && in->space != PS_GENERIC))
        ps_decode_fail(d, "wants .b8 in .shared");
    ps_want_count(d, 2, 2);
    ps_want_vector(d, 0, in->vector * 2u, PS_B32, false);
    ps_want_address(d, 1);
    ps_note_access(d, PS_SHARED, 16);
    return true;
}

void ps_decode_ldmatrix(ps_decoder *d)
{
    if (decode_bytes(d))
        return;
    d->in->exec = ps_exec_ldmatrix;
    decode_matrix(d, 1);
}

void ps_decode_stmatrix(ps_decoder *d)
{
    d->in->exec = ps_exec_stmatrix;
    decode_matrix(d, 0);
}

void ps_decode_movmatrix(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take(d, "sync");
    in->aligned = ps_take(d, "aligned");
    if (!ps_take(d, "m8n8") || !ps_take(d, "trans") || ps_take_type(d) != PS_B16)
        ps_decode_fail(d, "wants .m8n8.trans.b16");
    in->type = PS_B32;
    in->first_source = 1;
    in->exec = ps_exec_movmatrix;
    ps_want_count(d, 2, 2);
    ps_want(d, 0, PS_B32, false);
    ps_want(d, 1, PS_B32, false);
}

/* A lane's register holds elements 2 (lane % 4) and the next of row lane / 4; transposed, of column lane / 4. */
static uint32_t gather_pair(const uint16_t matrix[8][8], unsigned lane, bool transposed)
{
    unsigned line = lane / 4, first = lane % 4 * 2;
    uint32_t low = transposed ? matrix[first][line] : matrix[line][first];
    uint32_t high = transposed ? matrix[first + 1][line] : matrix[line][first + 1];
    return low | high << 16;
}

static void scatter_pair(uint16_t matrix[8][8], unsigned lane, bool transposed, uint32_t pair)
{
    unsigned line = lane / 4, first = lane % 4 * 2;
    *(transposed ? &matrix[first][line] : &matrix[line][first]) = (uint16_t)pair;
    *(transposed ? &matrix[first + 1][line] : &matrix[line][first + 1]) = (uint16_t)(pair >> 16);
}

/* Lanes 8 i to 8 i + 7 give the addresses of the rows of matrix i. */
ps_flow ps_exec_ldmatrix(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], out[PS_LANES];
    ps_check_aligned(w, in, active);
    ps_addresses(w, in, &in->operands[1], active, address);
    for (unsigned i = 0; i < in->vector; i++) {
        uint16_t matrix[8][8] = {{0}};
        for (unsigned row = 0; row < 8; row++) {
            unsigned lane = 8 * i + row;
            const uint8_t *bytes =
                active >> lane & 1 ? ps_place(w, in, lane, (ps_space)in->space, address[lane], 16, 16, PS_LOADS) : NULL;
            if (bytes)
                memcpy(matrix[row], bytes, 16);
        }
        for (unsigned l = 0; l < PS_LANES; l++)
            out[l] = gather_pair((const uint16_t(*)[8])matrix, l, in->mode);
        ps_result(w, ps_part(&in->operands[0], i), PS_B32, active, out);
    }
    return PS_NEXT;
}

/* 16 rows of 16 bytes, by the addresses of lanes 16 i to 16 i + 15. A lane gets four bytes of column lane / 4 of the
   matrix, and of the eighth column behind it. */
ps_flow ps_exec_ldmatrix_bytes(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], out[PS_LANES];
    ps_check_aligned(w, in, active);
    ps_addresses(w, in, &in->operands[1], active, address);
    for (unsigned i = 0; i < in->vector; i++) {
        uint8_t matrix[16][16] = {{0}};
        for (unsigned row = 0; row < 16; row++) {
            unsigned lane = 16 * i + row;
            const uint8_t *bytes =
                active >> lane & 1 ? ps_place(w, in, lane, (ps_space)in->space, address[lane], 16, 16, PS_LOADS) : NULL;
            if (bytes)
                memcpy(matrix[row], bytes, 16);
        }
        for (unsigned half = 0; half < 2; half++) {
            for (unsigned l = 0; l < PS_LANES; l++) {
                out[l] = 0;
                for (unsigned j = 0; j < 4; j++)
                    out[l] |= (uint64_t)matrix[l % 4 * 4 + j][l / 4 + 8 * half] << 8 * j;
            }
            ps_result(w, ps_part(&in->operands[0], 2 * i + half), PS_B32, active, out);
        }
    }
    return PS_NEXT;
}

/* A row that is there already may be written by several, as by st. */
static void store_row(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, const uint16_t *row)
{
    ps_block *block;
    uint32_t offset;
    uint8_t *bytes = ps_place(w, in, lane, (ps_space)in->space, address, 16, 16, PS_STORES | PS_UNCHECKED);
    if (!bytes || !ps_shared_offset(w, (ps_space)in->space, address, &block, &offset))
        return;
    ps_shadow_touch(w, in, lane, block, offset, 16, PS_STORES | (memcmp(bytes, row, 16) == 0 ? PS_SAME : 0u));
    memcpy(bytes, row, 16);
}

ps_flow ps_exec_stmatrix(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[PS_LANES];
    ps_check_aligned(w, in, active);
    ps_addresses(w, in, &in->operands[0], active, address);
    for (unsigned i = 0; i < in->vector; i++) {
        uint16_t matrix[8][8];
        const uint64_t *source = ps_source(w, in, ps_part(&in->operands[1], i), active, scratch);
        for (unsigned l = 0; l < PS_LANES; l++)
            scatter_pair(matrix, l, in->mode, (uint32_t)source[l]);
        for (unsigned row = 0; row < 8; row++) {
            unsigned lane = 8 * i + row;
            if (active >> lane & 1)
                store_row(w, in, lane, address[lane], matrix[row]);
        }
    }
    return PS_NEXT;
}

ps_flow ps_exec_movmatrix(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES], out[PS_LANES];
    uint16_t matrix[8][8];
    ps_check_aligned(w, in, active);
    const uint64_t *source = ps_source(w, in, &in->operands[1], active, scratch);
    for (unsigned l = 0; l < PS_LANES; l++)
        scatter_pair(matrix, l, false, (uint32_t)source[l]);
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = gather_pair((const uint16_t(*)[8])matrix, l, true);
    ps_result(w, &in->operands[0], PS_B32, active, out);
    return PS_NEXT;
}

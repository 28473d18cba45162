/* tcgen05.ld, st, cp, shift and the waits: data between tensor memory, registers and shared memory. PTX ISA, "Data
   Movement Shape", tcgen05.ld, .st, .cp, .shift, .wait. */
#include <string.h>

#include "tests/ptxsim/core.h"
#include "tests/ptxsim/tmem.h"

/* ---- shapes ---- */

enum { SHAPE_32X32, SHAPE_16X64, SHAPE_16X128, SHAPE_16X256, SHAPE_16X32X2 };

static const struct shape {
    const char *name;
    unsigned lanes, columns, registers; /* of .x1 */
} shapes[] = {
    [SHAPE_32X32] = {"32x32b", 32, 1, 1},     [SHAPE_16X64] = {"16x64b", 16, 2, 1},
    [SHAPE_16X128] = {"16x128b", 16, 4, 2},   [SHAPE_16X256] = {"16x256b", 16, 8, 4},
    [SHAPE_16X32X2] = {"16x32bx2", 16, 1, 1},
};

/* The lane and the column of the range that register r of a thread holds. */
static void place_of(unsigned shape, unsigned thread, unsigned r, unsigned *lane, unsigned *column)
{
    switch (shape) {
    case SHAPE_32X32: *lane = thread, *column = r; break;
    case SHAPE_16X64: *lane = thread / 4 + thread % 2 * 8, *column = 2 * r + thread / 2 % 2; break;
    case SHAPE_16X128: *lane = thread / 4 + r % 2 * 8, *column = r / 2 * 4 + thread % 4; break;
    case SHAPE_16X256: *lane = thread / 4 + r / 2 % 2 * 8, *column = r / 4 * 8 + thread % 4 * 2 + r % 2; break;
    default: *lane = thread % 16, *column = r; break; /* the upper threads, at the offset between the halves */
    }
}

/* ---- ld, st ---- */

/* tcgen05.ld.sync.aligned.SHAPE.xN{.pack::16b}.b32 registers, [address]{, offset of the second half}
   tcgen05.st.sync.aligned.SHAPE.xN{.unpack::16b}.b32 [address]{, offset}, registers */
void ps_decode_tm_ld(ps_decoder *d)
{
    static const char *const names[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2", NULL};
    static const char *const counts[] = {"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128", NULL};
    ps_insn *in = d->in;
    bool stores = d->row->mode;
    bool sync = ps_take(d, "sync");
    in->aligned = ps_take(d, "aligned");
    int shape = ps_take_one(d, names), count = ps_take_one(d, counts);
    in->wide = ps_take(d, stores ? "unpack::16b" : "pack::16b");
    in->exec = d->row->exec;
    d->m->has_tensor_memory = true;
    if (!sync || !in->aligned || shape < 0 || count < 0 || !ps_take(d, "b32")) {
        ps_decode_fail(d, "wants .sync.aligned, a shape, a number and .b32");
        return;
    }
    unsigned registers = shapes[shape].registers << count, halves = shape == SHAPE_16X32X2;
    if (registers > 128)
        ps_decode_fail(d, "no such number for the shape");
    in->mode = (uint8_t)shape;
    in->table = (uint8_t)(registers - 1);
    in->first_source = !stores;
    ps_want_count(d, 2 + halves, 2 + halves);
    ps_want_address(d, stores ? 0 : 1);
    ps_want_vector(d, stores ? 1 + halves : 0, registers, PS_B32, false);
    if (!d->error[0] && halves && in->operands[stores ? 1 : 2].kind != PS_IMMEDIATE)
        ps_decode_fail(d, "the offset between the halves must be an immediate");
}

typedef struct move {
    unsigned registers, columns, half; /* half: columns from the first to the second */
    ps_tm_range range;
} move;

/* The lanes and columns of the warp's instruction. False after a report. */
static bool take_move(ps_warp *w, const ps_insn *in, uint32_t active, move *out)
{
    bool stores = in->exec == ps_exec_tm_st;
    const ps_operand *at = &in->operands[stores ? 0 : 1];
    const struct shape *shape = &shapes[in->mode];
    ps_check_aligned(w, in, active);
    if (active != PS_ALL)
        return false;
    uint32_t address = (at->sub ? (uint32_t)ps_uniform(w, in, at->sub, active) : 0) + (uint32_t)at->value;
    out->registers = in->table + 1u;
    out->columns = out->registers / shape->registers * shape->columns << in->wide;
    out->half = in->mode == SHAPE_16X32X2 ? (unsigned)in->operands[stores ? 1 : 2].value : 0;
    out->range = ps_tm_at(w->block, address, shape->lanes, out->columns);
    unsigned quarter = w->index % 4 * 32, lane = out->range.lane;
    if (lane < quarter || lane + shape->lanes > quarter + 32 || lane % 16) {
        ps_report(w, in, -1, PTXSIM_TENSOR_MEMORY,
                  "'%s': lanes %u to %u, and warp %u reaches lanes %u to %u of tensor memory", in->opcode, lane,
                  lane + shape->lanes - 1, (unsigned)w->index, quarter, quarter + 31);
        return false;
    }
    return true;
}

/* The ranges of both halves. */
static bool touch(ps_warp *w, const ps_insn *in, const move *m, unsigned access)
{
    ps_tm_range second = m->range;
    second.column += m->half;
    return ps_tm_touch(w, in, &m->range, access, false)
           && (in->mode != SHAPE_16X32X2 || ps_tm_touch(w, in, &second, access, false));
}

/* The word of tensor memory for one thread and place; which: of two that are packed. */
static uint32_t *word_of(const move *m, const ps_insn *in, unsigned thread, unsigned r, unsigned which)
{
    unsigned lane, column;
    place_of(in->mode, thread, r, &lane, &column);
    column = (column << in->wide) + which + (in->mode == SHAPE_16X32X2 && thread >= 16 ? m->half : 0);
    return &m->range.block->tmem->words[m->range.lane + lane][m->range.column + column];
}

static void remember_range(ps_tm_range **list, size_t *count, size_t *size, const ps_insn *in, const move *m)
{
    for (unsigned half = 0; half < (in->mode == SHAPE_16X32X2 ? 2u : 1u); half++) {
        *list = ps_grow(*list, *count, size, sizeof **list);
        (*list)[*count] = m->range;
        (*list)[(*count)++].column += half * m->half;
    }
}

ps_flow ps_exec_tm_ld(ps_warp *w, const ps_insn *in, uint32_t active)
{
    move m;
    ps_tcgen *t = ps_tcgen_of(w);
    if (!take_move(w, in, active, &m) || !touch(w, in, &m, PS_LOADS))
        return PS_NEXT;
    for (unsigned r = 0; r < m.registers; r++) {
        uint64_t out[PS_LANES];
        const ps_operand *to = ps_part(&in->operands[0], r);
        for (unsigned l = 0; l < PS_LANES; l++)
            out[l] = in->wide ? (*word_of(&m, in, l, r, 0) & 0xFFFF) | *word_of(&m, in, l, r, 1) << 16
                              : *word_of(&m, in, l, r, 0);
        ps_result(w, to, PS_B32, active, out);
        if (to->kind == PS_REG && !w->sim->module.is_dialect)
            w->row_known[to->slot] = 0; /* until the wait */
    }
    t->loads = ps_grow(t->loads, t->load_count, &t->load_size, sizeof *t->loads);
    t->loads[t->load_count++] = (ps_tm_load){in, m.range};
    return PS_NEXT;
}

ps_flow ps_exec_tm_st(ps_warp *w, const ps_insn *in, uint32_t active)
{
    move m;
    ps_tcgen *t = ps_tcgen_of(w);
    if (!take_move(w, in, active, &m) || !touch(w, in, &m, PS_STORES))
        return PS_NEXT;
    const ps_operand *from = &in->operands[in->mode == SHAPE_16X32X2 ? 2 : 1];
    for (unsigned r = 0; r < m.registers; r++) {
        uint64_t scratch[PS_LANES];
        const uint64_t *row = ps_source(w, in, ps_part(from, r), active, scratch);
        for (unsigned l = 0; l < PS_LANES; l++) {
            *word_of(&m, in, l, r, 0) = (uint32_t)(in->wide ? row[l] & 0xFFFF : row[l]);
            if (in->wide)
                *word_of(&m, in, l, r, 1) = (uint32_t)row[l] >> 16;
        }
    }
    remember_range(&t->stores, &t->store_count, &t->store_size, in, &m);
    return PS_NEXT;
}

/* Is the register a result of a load that no wait has covered? */
bool ps_tm_pending(const ps_warp *w, uint32_t slot)
{
    for (size_t i = 0; w->tcgen && i < w->tcgen->load_count; i++) {
        const ps_operand *to = &w->tcgen->loads[i].in->operands[0];
        for (uint32_t r = 0; r < (to->kind == PS_VECTOR ? to->count : 1); r++)
            if (ps_part(to, r)->kind == PS_REG && ps_part(to, r)->slot == slot)
                return true;
    }
    return false;
}

/* tcgen05.wait::ld.sync.aligned, tcgen05.wait::st.sync.aligned */
void ps_decode_tm_wait(ps_decoder *d)
{
    bool sync = ps_take(d, "sync");
    d->in->aligned = ps_take(d, "aligned");
    d->in->exec = d->row->exec;
    if (!sync || !d->in->aligned)
        ps_decode_fail(d, "wants .sync.aligned");
    ps_want_count(d, 0, 0);
}

ps_flow ps_exec_tm_wait_ld(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_tcgen *t = ps_tcgen_of(w);
    ps_check_aligned(w, in, active);
    for (size_t i = 0; i < t->load_count; i++) {
        const ps_insn *load = t->loads[i].in;
        ps_tm_range range = t->loads[i].range;
        for (unsigned r = 0; r <= load->table; r++)
            if (ps_part(&load->operands[0], r)->kind == PS_REG)
                w->row_known[ps_part(&load->operands[0], r)->slot] = PS_ALL;
        ps_tm_loaded(w, &range);
        range.column += load->mode == SHAPE_16X32X2 ? (unsigned)load->operands[2].value : 0;
        ps_tm_loaded(w, &range);
    }
    t->load_count = 0;
    return PS_NEXT;
}

ps_flow ps_exec_tm_wait_st(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_tcgen *t = ps_tcgen_of(w);
    ps_check_aligned(w, in, active);
    for (size_t i = 0; i < t->store_count; i++)
        ps_tm_stored(w, &t->stores[i]);
    t->store_count = 0;
    return PS_NEXT;
}

/* ---- cp ---- */

static const struct copy {
    const char *shape;
    unsigned rows, bytes; /* of the matrix in shared memory */
} copies[] = {
    {"128x256b", 128, 32}, {"4x256b", 4, 32}, {"128x128b", 128, 16}, {"64x128b", 64, 16}, {"32x128b", 32, 16}};
enum { COPY_64 = 3, COPY_32 = 4, WARPS_02_13 = 1, WARPS_01_23 = 2, WARPS_ALL = 3 };

/* tcgen05.cp.cta_group.SHAPE{.warpx2::02_13, .warpx2::01_23, .warpx4} [to], descriptor */
void ps_decode_tm_cp(ps_decoder *d)
{
    static const char *const warps[] = {"warpx2::02_13", "warpx2::01_23", "warpx4", NULL};
    ps_insn *in = d->in;
    unsigned shape = 0, count = sizeof copies / sizeof *copies;
    ps_take_cta_group(d);
    while (shape < count && !ps_take(d, copies[shape].shape))
        shape++;
    in->mode = (uint8_t)shape;
    in->table = (uint8_t)(ps_take_one(d, warps) + 1);
    in->exec = ps_exec_tm_cp;
    bool fits = shape == COPY_64 ? in->table == WARPS_02_13 || in->table == WARPS_01_23
                                 : (shape == COPY_32) == (in->table == WARPS_ALL) && (shape == COPY_32 || !in->table);
    if (shape == count || !fits)
        ps_decode_fail(d, "no such shape; formats that are unpacked are not supported");
    ps_want_count(d, 2, 2);
    ps_want_address(d, 0);
    ps_want(d, 1, PS_B64, false);
    ps_note_access(d, PS_SHARED, 16);
}

/* The lane that a row of the matrix goes to, first of `repeats`. */
static unsigned copy_lane(const ps_insn *in, unsigned row, unsigned repeat)
{
    switch (in->table) {
    case WARPS_ALL: return row + 32 * repeat;
    case WARPS_02_13: return row + 64 * repeat;
    case WARPS_01_23: return row / 32 * 64 + row % 32 + 32 * repeat;
    default: return row;
    }
}

ps_flow ps_exec_tm_cp(ps_warp *w, const ps_insn *in, uint32_t active)
{
    const struct copy *copy = &copies[in->mode];
    unsigned repeats = in->table == WARPS_ALL ? 4 : in->table ? 2 : 1, lane = ps_core_thread(w, in, active);
    uint64_t scratch[PS_LANES], address[PS_LANES];
    ps_block *blocks[2];
    ps_core_op op = {.in = in, .group = in->vector};
    ps_addresses(w, in, &in->operands[0], active, address);
    op.a = ps_source(w, in, &in->operands[1], active, scratch)[lane];
    if (!ps_tm_group(w, in, blocks) || !ps_core_descriptor(w, in, "the matrix", op.a))
        return PS_NEXT;
    for (unsigned b = 0; b < in->vector; b++) {
        ps_tm_range to = ps_tm_at(blocks[b], (uint32_t)address[lane], copy->rows * repeats, copy->bytes / 4);
        if (in->table == 0 && copy->rows < 16)
            to.lanes = 16;
        if (!ps_tm_touch(w, in, &to, PS_STORES, true))
            return PS_NEXT;
        for (unsigned row = 0; row < copy->rows; row++)
            for (unsigned chunk = 0; chunk < copy->bytes; chunk += 16) {
                uint8_t bytes[16];
                ps_core_read(w, in, blocks[b], ps_core_address(op.a, false, 1, row, chunk), bytes);
                for (unsigned repeat = 0; repeat < repeats; repeat++)
                    memcpy(&blocks[b]->tmem->words[to.lane + copy_lane(in, row, repeat)][to.column + chunk / 4], bytes,
                           16);
            }
    }
    op.crc = ps_core_crc(w, &op, true);
    ps_core_issue(w, &op);
    return PS_NEXT;
}

void ps_tm_cp_shape(const ps_insn *in, unsigned *rows, unsigned *bytes)
{
    *rows = copies[in->mode].rows;
    *bytes = copies[in->mode].bytes;
}

/* ---- shift ---- */

/* tcgen05.shift.cta_group.down [address]: "down" is taken to mean the next lane, for all of 32 but the last. */
void ps_decode_tm_shift(ps_decoder *d)
{
    ps_take_cta_group(d);
    d->in->exec = ps_exec_tm_shift;
    if (!ps_take(d, "down"))
        ps_decode_fail(d, "wants .down");
    ps_want_count(d, 1, 1);
    ps_want_address(d, 0);
}

ps_flow ps_exec_tm_shift(ps_warp *w, const ps_insn *in, uint32_t active)
{
    enum { LANES = 32, COLUMNS = 8 };
    uint64_t address[PS_LANES];
    ps_block *blocks[2];
    unsigned lane = ps_core_thread(w, in, active);
    ps_core_op op = {.in = in, .group = in->vector};
    ps_addresses(w, in, &in->operands[0], active, address);
    if (!ps_tm_group(w, in, blocks))
        return PS_NEXT;
    for (unsigned b = 0; b < in->vector; b++) {
        ps_tm_range r = ps_tm_at(blocks[b], (uint32_t)address[lane], LANES, COLUMNS);
        if (r.lane % LANES) {
            ps_report(w, in, (int)lane, PTXSIM_TENSOR_MEMORY, "'%s': lane %u is no multiple of 32", in->opcode, r.lane);
            return PS_NEXT;
        }
        if (!ps_tm_touch(w, in, &r, PS_LOADS, true) || !ps_tm_touch(w, in, &r, PS_STORES, true))
            return PS_NEXT;
        for (unsigned row = LANES - 1; row > 0; row--)
            memcpy(&blocks[b]->tmem->words[r.lane + row][r.column], &blocks[b]->tmem->words[r.lane + row - 1][r.column],
                   COLUMNS * sizeof(uint32_t));
    }
    ps_core_issue(w, &op);
    return PS_NEXT;
}

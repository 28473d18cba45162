/* Addresses, loads, stores, atomics. PTX ISA, "Data Movement and Conversion", "atom", "red". */
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/decode.h"

/* ---- addresses ---- */

void ps_addresses(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active, uint64_t *out)
{
    if (!o->sub) {
        bool shared = o->var && o->var->space == PS_SHARED;
        for (unsigned l = 0; l < PS_LANES; l++)
            out[l] = o->value + (shared ? (uint64_t)w->block->rank << PS_RANK_SHIFT : 0);
        return;
    }
    uint64_t keep = ps_mask(ps_types[o->sub->type].bits);
    const uint64_t *base = ps_source(w, in, o->sub, active, out);
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = (base[l] + o->value) & keep;
}

const ps_buffer *ps_buffer_below(ptxsim *sim, uint64_t address)
{
    const ps_buffer *b = sim->buffers;
    if (sim->last_buffer < sim->buffer_count && address - b[sim->last_buffer].address < b[sim->last_buffer].size)
        return &b[sim->last_buffer];
    size_t low = 0, high = sim->buffer_count; /* the last buffer that starts at or below address */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (b[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    sim->last_buffer = low - 1;
    return &b[low - 1];
}

static void out_of_bounds(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t size,
                          unsigned access, const char *what, const char *name, int64_t offset, uint64_t of)
{
    ps_report(w, in, (int)lane, PTXSIM_OUT_OF_BOUNDS, "'%s' %s %u bytes at 0x%llx, byte %lld of %s%s%s%s (%llu bytes)",
              in->opcode, access & PS_STORES ? "writes" : "reads", (unsigned)size, (unsigned long long)address,
              (long long)offset, what, *name ? " '" : "", name, *name ? "'" : "", (unsigned long long)of);
}

static uint8_t *place_global(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t size,
                             unsigned access)
{
    const ps_buffer *b = ps_buffer_below(w->sim, address);
    uint64_t offset = b ? address - b->address : 0;
    if (!b || offset > b->size || b->size - offset < size) {
        if (b)
            out_of_bounds(w, in, lane, address, size, access, "buffer", b->name, (int64_t)offset, b->size);
        else
            ps_report(w, in, (int)lane, PTXSIM_OUT_OF_BOUNDS,
                      "'%s' accesses %u bytes at 0x%llx, where there is no memory", in->opcode, (unsigned)size,
                      (unsigned long long)address);
        return NULL;
    }
    if (access & PS_STORES && b->read_only) {
        ps_report(w, in, (int)lane, PTXSIM_OUT_OF_BOUNDS, "'%s' writes to constant memory", in->opcode);
        return NULL;
    }
    if (!(access & PS_UNCHECKED) && !b->read_only)
        ps_shadow_global(w, in, lane, address, size, access);
    return b->bytes + offset;
}

bool ps_shared_offset(ps_warp *w, ps_space space, uint64_t address, ps_block **out_block, uint32_t *out_offset)
{
    *out_block = w->block;
    if (space == PS_GENERIC) {
        if (address - PS_SHARED_WINDOW >= PS_WINDOW_BYTES)
            return false;
        address -= PS_SHARED_WINDOW;
    }
    uint64_t rank = address >> PS_RANK_SHIFT;
    if (space == PS_SHARED ? rank && rank != w->block->rank : rank >= w->block->cluster->size)
        return false;
    if (space != PS_SHARED)
        *out_block = &w->block->cluster->blocks[rank];
    address &= ps_mask(PS_RANK_SHIFT);
    if (address < PS_SHARED_START || address - PS_SHARED_START > (*out_block)->shared_bytes)
        return false;
    *out_offset = (uint32_t)address - PS_SHARED_START;
    return true;
}

static uint8_t *place_shared(ps_warp *w, const ps_insn *in, unsigned lane, ps_space space, uint64_t address,
                             uint32_t size, unsigned access)
{
    ps_block *block;
    uint32_t offset;
    if (!ps_shared_offset(w, space, address, &block, &offset) || block->shared_bytes - offset < size) {
        out_of_bounds(w, in, lane, address, size, access, "shared memory", "",
                      (int64_t)(address & ps_mask(PS_RANK_SHIFT)) - PS_SHARED_START, w->block->shared_bytes);
        return NULL;
    }
    if (!(access & PS_UNCHECKED))
        ps_shadow_touch(w, in, lane, block, offset, size, access);
    return block->shared + offset;
}

/* Memory of one lane, or of the kernel's parameters. */
static uint8_t *place_window(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t size,
                             unsigned access, uint8_t *bytes, uint64_t start, uint64_t limit, const char *what)
{
    if (address < start || address - start > limit || limit - (address - start) < size) {
        out_of_bounds(w, in, lane, address, size, access, what, "", (int64_t)(address - start), limit);
        return NULL;
    }
    return bytes + (address - start);
}

uint8_t *ps_place(ps_warp *w, const ps_insn *in, unsigned lane, ps_space space, uint64_t address, uint32_t size,
                  uint32_t align, unsigned access)
{
    const ps_module *m = &w->sim->module;
    if (address & (align - 1)) {
        ps_report(w, in, (int)lane, PTXSIM_MISALIGNED, "'%s' wants %u-byte alignment, the address is 0x%llx",
                  in->opcode, (unsigned)align, (unsigned long long)address);
        return NULL;
    }
    uint8_t *local = w->local + lane * m->local_bytes;
    switch (space) {
    case PS_GENERIC:
        if (address - PS_SHARED_WINDOW < PS_WINDOW_BYTES)
            return place_shared(w, in, lane, PS_GENERIC, address, size, access);
        if (address - PS_LOCAL_WINDOW < PS_WINDOW_BYTES)
            return place_window(w, in, lane, address - PS_LOCAL_WINDOW, size, access, local, PS_LOCAL_START,
                                m->local_bytes, "local memory");
        if (address - PS_PARAM_WINDOW < PS_WINDOW_BYTES)
            return place_window(w, in, lane, address - PS_PARAM_WINDOW, size, access, w->sim->params, 0,
                                w->sim->entry->param_bytes, "the parameters");
        return place_global(w, in, lane, address, size, access);
    case PS_GLOBAL:
    case PS_CONST: return place_global(w, in, lane, address, size, access);
    case PS_SHARED:
    case PS_SHARED_CLUSTER: return place_shared(w, in, lane, space, address, size, access);
    case PS_LOCAL:
    case PS_PARAM_FUNC:
        return place_window(w, in, lane, address, size, access, local, PS_LOCAL_START, m->local_bytes, "local memory");
    case PS_PARAM:
        return place_window(w, in, lane, address, size, access, w->sim->params, 0, w->sim->entry->param_bytes,
                            "the parameters");
    }
    return NULL;
}

/* ---- decoding ---- */

/* .v2 .v4 .v8, or 1. */
static uint8_t take_vector(ps_decoder *d)
{
    return ps_take(d, "v8") ? 8 : ps_take(d, "v4") ? 4 : ps_take(d, "v2") ? 2 : 1;
}

/* A variable tells its space: always for parameters (of an entry or a function), else where the opcode gives none. */
static ps_space space_of(ps_decoder *d, ps_space space, unsigned index)
{
    const ps_operand *o = &d->in->operands[index];
    if (index < d->in->count && o->kind == PS_ADDRESS && o->var
        && (space == PS_GENERIC || space == PS_PARAM || space == PS_PARAM_FUNC))
        return o->var->space;
    return space;
}

/* The cache-policy operand of .L2::cache_hint comes last. */
void ps_drop_policy(ps_decoder *d, unsigned count)
{
    if (d->in->count == count + 1 && d->in->operands[count].kind == PS_REG
        && ps_types[d->in->operands[count].type].bits == 64)
        d->in->count--;
}

void ps_decode_ld(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take_order(d);
    ps_take(d, "nc");
    in->space = (uint8_t)ps_take_space(d);
    ps_take_cache(d);
    ps_take(d, "unified");
    in->vector = take_vector(d);
    ps_type type = ps_take_type(d);
    in->type = (uint8_t)type;
    in->first_source = 1;
    in->exec = ps_exec_ld;
    ps_drop_policy(d, 2);
    ps_want_count(d, 2, 2);
    ps_want_vector(d, 0, in->vector, type, true);
    ps_want_address(d, 1);
    if (d->error[0])
        return;
    in->space = (uint8_t)space_of(d, (ps_space)in->space, 1);
    ps_note_access(d, (ps_space)in->space, ps_types[type].bits / 8u * in->vector);
}

void ps_decode_st(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take_order(d);
    in->space = (uint8_t)ps_take_space(d);
    ps_take_cache(d);
    in->vector = take_vector(d);
    ps_type type = ps_take_type(d);
    in->type = (uint8_t)type;
    in->exec = ps_exec_st;
    ps_drop_policy(d, 2);
    ps_want_count(d, 2, 2);
    ps_want_address(d, 0);
    ps_want_vector(d, 1, in->vector, type, true);
    if (d->error[0])
        return;
    in->space = (uint8_t)space_of(d, (ps_space)in->space, 0);
    ps_note_access(d, (ps_space)in->space, ps_types[type].bits / 8u * in->vector);
}

static const char *const atom_words[] = {"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max", NULL};
enum { ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_CAS, ATOM_EXCH, ATOM_ADD, ATOM_INC, ATOM_DEC, ATOM_MIN, ATOM_MAX };

/* Both forms; the operands of red lack the result. */
static void decode_atomic(ps_decoder *d, unsigned results)
{
    ps_insn *in = d->in;
    in->order = PS_RELAXED;
    ps_take_order(d);
    in->space = (uint8_t)ps_take_space(d);
    int op = ps_take_one(d, atom_words);
    ps_take(d, "noftz");
    ps_take_cache(d);
    in->vector = take_vector(d);
    ps_type type = ps_take_type(d);
    unsigned sources = op == ATOM_CAS ? 2 : 1;
    if (op < 0 || type == PS_NO_TYPE) {
        ps_decode_fail(d, "wants an operation and a type");
        return;
    }
    in->mode = (uint8_t)op;
    in->type = (uint8_t)type;
    in->first_source = (uint8_t)results;
    in->exec = ps_exec_atom;
    ps_drop_policy(d, results + 1 + sources);
    ps_want_count(d, results + 1 + sources, results + 1 + sources);
    if (results)
        ps_want_vector(d, 0, in->vector, type, false);
    ps_want_address(d, results);
    for (unsigned i = 0; i < sources; i++)
        ps_want_vector(d, results + 1 + i, in->vector, type, false);
    bool logical = op <= ATOM_EXCH, is_float = ps_types[type].class_ == PS_CLASS_FLOAT;
    if (ps_types[type].bits < 16 || (logical != (ps_types[type].class_ == PS_CLASS_BITS))
        || (is_float && op != ATOM_ADD && op < ATOM_MIN) || (is_float && op >= ATOM_MIN && ps_types[type].bits > 32)
        || (op >= ATOM_MIN && type == PS_F32) || (ps_types[type].bits == 128 && op != ATOM_CAS && op != ATOM_EXCH))
        ps_decode_fail(d, "no such atomic operation for .%s", ps_types[type].text);
    if (d->error[0])
        return;
    in->space = (uint8_t)space_of(d, (ps_space)in->space, results);
    ps_note_access(d, (ps_space)in->space, ps_types[type].bits / 8u * in->vector);
}

void ps_decode_atom(ps_decoder *d)
{
    decode_atomic(d, 1);
}

void ps_decode_red(ps_decoder *d)
{
    decode_atomic(d, 0);
}

void ps_decode_cvta(ps_decoder *d)
{
    ps_insn *in = d->in;
    in->mode = ps_take(d, "to");
    in->space = (uint8_t)ps_take_space(d);
    ps_type type = ps_take_type(d);
    in->type = (uint8_t)type;
    in->first_source = 1;
    in->exec = ps_exec_cvta;
    ps_want_count(d, 2, 2);
    ps_want(d, 0, type, false);
    ps_want(d, 1, type, false);
    if (in->space == PS_GENERIC)
        ps_decode_fail(d, "the state space is missing");
}

void ps_decode_isspacep(ps_decoder *d)
{
    d->in->space = (uint8_t)ps_take_space(d);
    d->in->first_source = 1;
    d->in->exec = ps_exec_isspacep;
    ps_want_count(d, 2, 2);
    ps_want(d, 0, PS_PRED, false);
}

/* Hints, and orders to caches: nothing to do. */
void ps_decode_prefetch(ps_decoder *d)
{
    for (unsigned i = 0; i < d->count; i++)
        d->used[i] = true;
    d->in->exec = ps_exec_nop;
    ps_want_address(d, 0);
}

void ps_decode_mapa(ps_decoder *d)
{
    ps_insn *in = d->in;
    in->space = (uint8_t)ps_take_space(d);
    ps_type type = ps_take_type(d);
    in->type = (uint8_t)type;
    in->first_source = 1;
    in->exec = ps_exec_mapa;
    ps_want_count(d, 3, 3);
    ps_want(d, 0, type, false);
    ps_want(d, 1, type, false);
    ps_want(d, 2, PS_U32, false);
}

void ps_decode_getctarank(ps_decoder *d)
{
    ps_insn *in = d->in;
    in->space = (uint8_t)ps_take_space(d);
    in->type = PS_U32;
    in->from = (uint8_t)ps_take_type(d);
    in->first_source = 1;
    in->exec = ps_exec_getctarank;
    ps_want_count(d, 2, 2);
    ps_want(d, 0, PS_U32, false);
    ps_want(d, 1, (ps_type)in->from, false);
}

/* ---- loads and stores ---- */

static unsigned strength(const ps_insn *in)
{
    return in->order == PS_WEAK ? 0 : PS_ATOMIC;
}

ps_flow ps_exec_ld(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], out[8][PS_LANES], high[PS_LANES] = {0};
    uint32_t width = ps_types[in->type].bits / 8u, size = width * in->vector;
    ps_addresses(w, in, &in->operands[1], active, address);
    if (in->order != PS_WEAK)
        ps_order_read(w, in);
    memset(out, 0, in->vector * sizeof out[0]);
    PS_FOR_LANES(l, active)
    {
        const uint8_t *bytes = ps_place(w, in, l, (ps_space)in->space, address[l], size, size, PS_LOADS | strength(in));
        for (unsigned i = 0; bytes && i < in->vector; i++)
            memcpy(&out[i][l], bytes + i * width, width < 8 ? width : 8);
        if (bytes && width == 16)
            memcpy(&high[l], bytes + 8, 8);
    }
    for (unsigned i = 0; i < in->vector; i++)
        ps_result(w, ps_part(&in->operands[0], i), width == 16 ? PS_B64 : (ps_type)in->type, active, out[i]);
    if (width == 16)
        ps_result_high(w, &in->operands[0], active, high);
    return PS_NEXT;
}

ps_flow ps_exec_st(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[9][PS_LANES];
    const uint64_t *source[8], *high = NULL;
    uint32_t width = ps_types[in->type].bits / 8u, size = width * in->vector;
    ps_addresses(w, in, &in->operands[0], active, address);
    for (unsigned i = 0; i < in->vector; i++)
        source[i] = ps_source(w, in, ps_part(&in->operands[1], i), active, scratch[i]);
    if (width == 16)
        high = ps_source_high(w, &in->operands[1], scratch[8]);
    PS_FOR_LANES(l, active)
    {
        uint8_t data[64];
        for (unsigned i = 0; i < in->vector; i++)
            memcpy(data + i * width, &source[i][l], width < 8 ? width : 8);
        if (high)
            memcpy(data + 8, &high[l], 8);
        uint8_t *bytes = ps_place(w, in, l, (ps_space)in->space, address[l], size, size, PS_STORES | PS_UNCHECKED);
        ps_block *block;
        uint32_t offset;
        if (!bytes)
            continue;
        unsigned access = PS_STORES | strength(in) | (memcmp(bytes, data, size) == 0 ? PS_SAME : 0u);
        bool shared = in->space == PS_SHARED || in->space == PS_SHARED_CLUSTER || in->space == PS_GENERIC;
        if (shared && ps_shared_offset(w, (ps_space)in->space, address[l], &block, &offset))
            ps_shadow_touch(w, in, l, block, offset, size, access);
        else if (in->space == PS_GLOBAL || (in->space == PS_GENERIC && address[l] >= PS_VARIABLES))
            ps_shadow_global(w, in, l, address[l], size, access);
        memcpy(bytes, data, size);
    }
    if (in->order != PS_WEAK)
        ps_order_write(w, in);
    w->sim->progress++;
    return PS_NEXT;
}

/* ---- atomics ---- */

static uint64_t atomic_float(int op, bc_kind kind, uint64_t a, uint64_t b, bool ftz)
{
    switch (op) {
    case ATOM_MIN: return bc_float_min(kind, a, b, false, ftz);
    case ATOM_MAX: return bc_float_max(kind, a, b, false, ftz);
    default: return bc_float_add(kind, a, b, BC_RoundingMode_nearest_even, ftz);
    }
}

static uint64_t atomic_int(int op, ps_type type, uint64_t a, uint64_t b)
{
    unsigned bits = ps_element_bits(type);
    bool is_signed = ps_types[type].class_ == PS_CLASS_SINT;
    bool less = is_signed ? ps_signed(a, bits) < ps_signed(b, bits) : a < b;
    switch (op) {
    case ATOM_AND: return a & b;
    case ATOM_OR: return a | b;
    case ATOM_XOR: return a ^ b;
    case ATOM_EXCH: return b;
    case ATOM_INC: return a >= b ? 0 : a + 1;
    case ATOM_DEC: return a == 0 || a > b ? b : a - 1;
    case ATOM_MIN: return less ? a : b;
    case ATOM_MAX: return less ? b : a;
    default: return a + b;
    }
}

/* One register's worth: one element or two. */
static uint64_t atomic(const ps_insn *in, uint64_t old, uint64_t b, uint64_t c, bool ftz)
{
    ps_type type = (ps_type)in->type;
    unsigned bits = ps_element_bits(type);
    uint64_t result = 0;
    if (in->mode == ATOM_CAS)
        return old == b ? c : old;
    for (unsigned k = 0; k < ps_types[type].count; k++) {
        uint64_t x = old >> k * bits & ps_mask(bits), y = b >> k * bits & ps_mask(bits);
        uint64_t r = ps_types[type].class_ == PS_CLASS_FLOAT
                         ? atomic_float(in->mode, (bc_kind)ps_types[type].kind, x, y, ftz)
                         : atomic_int(in->mode, type, x, y);
        result |= (r & ps_mask(bits)) << k * bits;
    }
    return result;
}

/* .b128: exch and cas. */
static ps_flow atomic_wide(ps_warp *w, const ps_insn *in, uint32_t active)
{
    unsigned results = in->first_source;
    uint64_t address[PS_LANES], scratch[4][PS_LANES], low[PS_LANES] = {0}, high[PS_LANES] = {0};
    bool cas = in->mode == ATOM_CAS;
    const ps_operand *b = &in->operands[results + 1], *c = &in->operands[results + (cas ? 2 : 1)];
    const uint64_t *b_low = ps_source(w, in, b, active, scratch[0]), *b_high = ps_source_high(w, b, scratch[1]);
    const uint64_t *c_low = ps_source(w, in, c, active, scratch[2]), *c_high = ps_source_high(w, c, scratch[3]);
    ps_addresses(w, in, &in->operands[results], active, address);
    PS_FOR_LANES(l, active)
    {
        uint8_t *bytes = ps_place(w, in, l, (ps_space)in->space, address[l], 16, 16, PS_LOADS | PS_STORES | PS_ATOMIC);
        if (!bytes)
            continue;
        memcpy(&low[l], bytes, 8);
        memcpy(&high[l], bytes + 8, 8);
        if (cas && (low[l] != b_low[l] || high[l] != b_high[l]))
            continue;
        memcpy(bytes, &c_low[l], 8);
        memcpy(bytes + 8, &c_high[l], 8);
    }
    if (results) {
        ps_result(w, &in->operands[0], PS_B64, active, low);
        ps_result_high(w, &in->operands[0], active, high);
    }
    return PS_NEXT;
}

ps_flow ps_exec_atom(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_order_read(w, in);
    ps_order_write(w, in);
    w->sim->progress++;
    if (in->type == PS_B128)
        return atomic_wide(w, in, active);
    unsigned results = in->first_source;
    uint64_t address[PS_LANES], scratch[2][PS_LANES], out[8][PS_LANES];
    uint32_t width = ps_types[in->type].bits / 8u, size = width * in->vector;
    ps_addresses(w, in, &in->operands[results], active, address);
    for (unsigned i = 0; i < in->vector; i++) {
        const uint64_t *b = ps_source(w, in, ps_part(&in->operands[results + 1], i), active, scratch[0]), *c = b;
        if (in->mode == ATOM_CAS)
            c = ps_source(w, in, ps_part(&in->operands[results + 2], i), active, scratch[1]);
        uint64_t keep = ps_mask(ps_types[in->type].bits);
        PS_FOR_LANES(l, active)
        {
            uint64_t old = 0;
            uint8_t *bytes =
                ps_place(w, in, l, (ps_space)in->space, address[l], size, size, PS_LOADS | PS_STORES | PS_ATOMIC);
            out[i][l] = 0;
            if (!bytes)
                continue;
            memcpy(&old, bytes + i * width, width);
            /* f32 sums in global memory flush subnormals, those in shared memory do not. */
            bool shared = in->space == PS_SHARED || in->space == PS_SHARED_CLUSTER
                          || (in->space == PS_GENERIC && address[l] - PS_SHARED_WINDOW < PS_WINDOW_BYTES);
            uint64_t new = atomic(in, old, b[l] & keep, c[l] & keep, in->type == PS_F32 && !shared);
            memcpy(bytes + i * width, &new, width);
            out[i][l] = old;
        }
    }
    for (unsigned i = 0; results && i < in->vector; i++)
        ps_result(w, ps_part(&in->operands[0], i), (ps_type)in->type, active, out[i]);
    return PS_NEXT;
}

/* ---- kinds of addresses ---- */

static uint64_t window_of(ps_space space)
{
    switch (space) {
    case PS_SHARED:
    case PS_SHARED_CLUSTER: return PS_SHARED_WINDOW;
    case PS_LOCAL: return PS_LOCAL_WINDOW;
    case PS_PARAM: return PS_PARAM_WINDOW;
    default: return 0;
    }
}

ps_flow ps_exec_cvta(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES], out[PS_LANES], window = window_of((ps_space)in->space);
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch);
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = in->mode ? a[l] - window : a[l] + window;
    if (in->mode && window)
        PS_FOR_LANES(l, active)
    if (out[l] >= PS_WINDOW_BYTES)
        ps_report(w, in, (int)l, PTXSIM_BAD_VALUE, "'%s': 0x%llx is no generic address of that space", in->opcode,
                  (unsigned long long)a[l]);
    ps_result(w, &in->operands[0], (ps_type)in->type, active, out);
    return PS_NEXT;
}

ps_flow ps_exec_isspacep(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES], window = window_of((ps_space)in->space);
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch);
    uint32_t mask = 0;
    for (unsigned l = 0; l < PS_LANES; l++) {
        bool other = a[l] - PS_SHARED_WINDOW < PS_WINDOW_BYTES || a[l] - PS_LOCAL_WINDOW < PS_WINDOW_BYTES
                     || a[l] - PS_PARAM_WINDOW < PS_WINDOW_BYTES;
        bool inside = window ? a[l] - window < PS_WINDOW_BYTES : !other;
        if (in->space == PS_SHARED)
            inside = inside && (a[l] - window) >> PS_RANK_SHIFT == w->block->rank;
        mask |= (uint32_t)inside << l;
    }
    ps_result_mask(w, &in->operands[0], active, mask);
    return PS_NEXT;
}

/* The address in another block of the cluster that corresponds to one in this. */
ps_flow ps_exec_mapa(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[2][PS_LANES], out[PS_LANES];
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch[0]);
    const uint64_t *rank = ps_source(w, in, &in->operands[2], active, scratch[1]);
    uint64_t window = in->space == PS_GENERIC ? PS_SHARED_WINDOW : 0;
    for (unsigned l = 0; l < PS_LANES; l++)
        out[l] = window + (rank[l] << PS_RANK_SHIFT) + (a[l] & ps_mask(PS_RANK_SHIFT));
    ps_result(w, &in->operands[0], (ps_type)in->type, active, out);
    return PS_NEXT;
}

ps_flow ps_exec_getctarank(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t scratch[PS_LANES], out[PS_LANES];
    const uint64_t *a = ps_source(w, in, &in->operands[1], active, scratch);
    for (unsigned l = 0; l < PS_LANES; l++) {
        out[l] = (a[l] & ps_mask(32)) >> PS_RANK_SHIFT;
    }
    ps_result(w, &in->operands[0], PS_U32, active, out);
    return PS_NEXT;
}

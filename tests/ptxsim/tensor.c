/* Tensor maps made by the kernel, and bulk copies of boxes of a tensor to shared memory of the cluster. PTX ISA:
   "Tensors", tensormap.replace, tensormap.cp_fenceproxy, cp.async.bulk.tensor. A map lies in memory in a form of the
   simulator's own. A warp may only use one that it has acquired (fence.proxy.tensormap) since it was published. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "tests/ptxsim/bulk.h"

/* ---- fields ---- */

enum { ADDRESS, RANK, TYPE, INTERLEAVE, SWIZZLE, FILL, STRIDE, EXTENT, BOX, STEP };

static const struct field {
    const char *name;
    unsigned first, count; /* bits of ps_tensor_map.set; count 0: no dimension is named */
    uint64_t most;
} fields[] = {
    [ADDRESS] = {"global_address", 0, 0, UINT64_MAX},
    [RANK] = {"rank", 1, 0, PS_TENSOR_DIMS - 1},
    [TYPE] = {"elemtype", 2, 0, 12},
    [INTERLEAVE] = {"interleave_layout", 3, 0, 0},
    [SWIZZLE] = {"swizzle_mode", 4, 0, 3},
    [FILL] = {"fill_mode", 5, 0, 0},
    [STRIDE] = {"global_stride", 6, PS_TENSOR_DIMS - 1, ((uint64_t)1 << 40) - 1},
    [EXTENT] = {"global_dim", 10, PS_TENSOR_DIMS, UINT32_MAX},
    [BOX] = {"box_dim", 15, PS_TENSOR_DIMS, 256},
    [STEP] = {"element_stride", 20, PS_TENSOR_DIMS, 8},
};

static void set_field(ps_tensor_map *map, unsigned field, unsigned dim, uint64_t value)
{
    map->set |= (uint32_t)1 << (fields[field].first + dim);
    switch (field) {
    case ADDRESS: map->address = value; break;
    case RANK: map->rank = (uint8_t)(value + 1); break;
    case TYPE: map->type = (uint8_t)value; break;
    case INTERLEAVE: map->interleave = (uint8_t)value; break;
    case SWIZZLE: map->swizzle = (uint8_t)value; break;
    case FILL: map->fill = (uint8_t)value; break;
    case STRIDE: map->stride[dim] = value; break;
    case EXTENT: map->extent[dim] = (uint32_t)value; break;
    case BOX: map->box[dim] = (uint32_t)value; break;
    default: map->step[dim] = (uint32_t)value; break;
    }
}

/* tensormap.replace.tile.FIELD.shared::cta.b1024.b32 [map], {dimension,} value */
void ps_decode_map_replace(ps_decoder *d)
{
    ps_insn *in = d->in;
    unsigned field = 0, count = sizeof fields / sizeof *fields;
    if (!ps_take(d, "tile"))
        ps_decode_fail(d, "wants .tile");
    while (field < count && !ps_take(d, fields[field].name))
        field++;
    if (field == count || !ps_take(d, "shared::cta") || !ps_take(d, "b1024")) {
        ps_decode_fail(d, "the simulator knows the fields of maps in .shared::cta with 1024 bits");
        return;
    }
    bool wide = field == ADDRESS || field == STRIDE;
    unsigned value = fields[field].count ? 2 : 1;
    if (!ps_take(d, wide ? "b64" : "b32"))
        ps_decode_fail(d, "the field has another type");
    in->exec = ps_exec_map_replace;
    in->mode = (uint8_t)field;
    ps_want_count(d, value + 1, value + 1);
    ps_want_address(d, 0);
    if (d->error[0])
        return;
    if (value == 2 && (in->operands[1].kind != PS_IMMEDIATE || in->operands[1].value >= fields[field].count))
        ps_decode_fail(d, "the dimension must be an immediate of the map");
    if (in->operands[value].kind == PS_IMMEDIATE ? wide : field >= TYPE && field <= FILL)
        ps_decode_fail(d, "the value must be %s", wide ? "in a register" : "an immediate");
    ps_want(d, value, wide ? PS_B64 : PS_B32, false);
}

ps_flow ps_exec_map_replace(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES], scratch[PS_LANES];
    const struct field *field = &fields[in->mode];
    unsigned dim = field->count ? (unsigned)in->operands[1].value : 0;
    ps_addresses(w, in, &in->operands[0], active, address);
    const uint64_t *value = ps_source(w, in, &in->operands[field->count ? 2 : 1], active, scratch);
    PS_FOR_LANES(l, active)
    {
        ps_tensor_map map;
        uint8_t *at = ps_place(w, in, l, PS_SHARED, address[l], PS_MAP_BYTES, PS_MAP_BYTES, PS_LOADS | PS_STORES);
        if (!at)
            continue;
        if (value[l] > field->most || (value[l] & 15 && (in->mode == STRIDE || in->mode == ADDRESS))
            || (!value[l] && in->mode >= EXTENT))
            ps_report(w, in, (int)l, PTXSIM_BAD_VALUE, "'%s': the field cannot be %llu", in->opcode,
                      (unsigned long long)value[l]);
        memcpy(&map, at, sizeof map);
        set_field(&map, in->mode, dim, value[l]);
        memcpy(at, &map, sizeof map);
    }
    return PS_NEXT;
}

/* ---- publishing ---- */

/* How often a map was published, or the thread's warp has acquired it: in `list`. */
static ps_publication *publication(ps_publication **list, size_t *count, size_t *size, uint64_t address)
{
    for (size_t i = 0; i < *count; i++)
        if ((*list)[i].address == address)
            return &(*list)[i];
    *list = ps_grow(*list, *count, size, sizeof **list);
    (*list)[*count] = (ps_publication){.address = address};
    return &(*list)[(*count)++];
}

static ps_publication *published(ptxsim *sim, uint64_t address)
{
    return publication(&sim->published, &sim->published_count, &sim->published_size, address);
}

/* By any thread of the warp. */
static ps_publication *acquired(ps_warp *w, uint64_t address)
{
    return publication(&w->acquired, &w->acquired_count, &w->acquired_size, address);
}

/* Until its copies have landed the copy engine may read the map: no thread does, so no barrier is asked for. */
static void check_copies(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address)
{
    const ps_cluster *c = w->block->cluster;
    for (size_t i = 0; i < c->transfer_count; i++)
        if (c->transfers[i].is_box && c->transfers[i].from == address) {
            ps_report(w, in, (int)lane, PTXSIM_TENSOR_MAP, "'%s': a copy on its way may still read the map",
                      in->opcode);
            return;
        }
}

/* tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [to], [from], 128 */
void ps_decode_map_publish(ps_decoder *d)
{
    ps_insn *in = d->in;
    bool known = ps_take(d, "global") && ps_take(d, "shared::cta") && ps_take(d, "tensormap::generic")
                 && ps_take(d, "release");
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL};
    known = ps_take_one(d, scopes) >= 0 && known;
    known = ps_take(d, "sync") && known;
    in->aligned = ps_take(d, "aligned");
    in->exec = ps_exec_map_publish;
    ps_want_count(d, 3, 3);
    ps_want_address(d, 0);
    ps_want_address(d, 1);
    if (!known || !in->aligned || d->error[0] || in->operands[2].value != PS_MAP_BYTES)
        ps_decode_fail(d, "wants 128 bytes from .shared::cta to .global, .sync.aligned");
}

/* The warp writes after what its relaxed reads have seen, as the place depends on what they gave and hardware waits for
   that; and what it has written is released. So a place can pass from block to block by a word of relaxed atomics. */
ps_flow ps_exec_map_publish(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t to[PS_LANES], from[PS_LANES];
    ps_check_aligned(w, in, active);
    ps_addresses(w, in, &in->operands[0], active, to);
    ps_addresses(w, in, &in->operands[1], active, from);
    unsigned l = PS_LANES - 1; /* which has written none of the fields */
    while (!(active >> l & 1))
        l--;
    const uint8_t *map = ps_place(w, in, l, PS_SHARED, from[l], PS_MAP_BYTES, PS_MAP_BYTES, PS_LOADS);
    ps_fence(w);
    uint8_t *at = ps_place(w, in, l, PS_GLOBAL, to[l], PS_MAP_BYTES, PS_MAP_BYTES, PS_STORES);
    ps_fence(w);
    check_copies(w, in, l, to[l]);
    if (map && at) {
        memcpy(at, map, PS_MAP_BYTES);
        published(w->sim, to[l])->times++;
    }
    return PS_NEXT;
}

/* fence.proxy.tensormap::generic.acquire.gpu [map], 128 */
void ps_decode_map_acquire(ps_decoder *d)
{
    ps_take(d, "generic");
    ps_take_order(d);
    d->in->exec = ps_exec_map_acquire;
    ps_want_count(d, 2, 2);
    ps_want_address(d, 0);
}

ps_flow ps_exec_map_acquire(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t address[PS_LANES];
    ps_addresses(w, in, &in->operands[0], active, address);
    PS_FOR_LANES(l, active)
    acquired(w, address[l])->times = published(w->sim, address[l])->times;
    return PS_NEXT;
}

/* ---- copies ---- */

/* cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{.multicast::cluster}
   [to], [map, {coordinates}], [mbarrier]{, mask} */
void ps_decode_cp_tensor(ps_decoder *d)
{
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d", NULL};
    ps_insn *in = d->in;
    int rank = ps_take_one(d, ranks) + 1;
    bool known = rank > 0 && ps_take(d, "shared::cluster") && ps_take(d, "global");
    ps_take(d, "tile");
    known = ps_take(d, "mbarrier::complete_tx::bytes") && known;
    in->wide = ps_take(d, "multicast::cluster");
    in->mode = (uint8_t)rank;
    in->exec = ps_exec_cp_tensor;
    ps_want_count(d, 3u + in->wide, 3u + in->wide);
    for (unsigned i = 0; i < 3 && !d->error[0]; i++)
        ps_want_address(d, i);
    if (in->wide)
        ps_want(d, 3, PS_B16, false);
    const ps_operand *at = d->error[0] ? NULL : in->operands[1].pair;
    if (!known || !at || (at->kind == PS_VECTOR ? (int)at->count : 1) != rank)
        ps_decode_fail(d, "the simulator knows copies of boxes to .shared::cluster, with as many coordinates as the "
                          "opcode says");
    ps_note_access(d, PS_SHARED, 16);
    ps_note_access(d, PS_GLOBAL, 16);
}

enum { TF32 = 11 };

static unsigned element_bytes(const ps_tensor_map *map)
{
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
    return bytes[map->type];
}

static uint32_t box_bytes(const ps_tensor_map *map)
{
    uint32_t bytes = element_bytes(map);
    for (unsigned i = 0; i < map->rank; i++)
        bytes *= map->box[i];
    return bytes;
}

/* What is wrong with it; NULL: nothing. */
static const char *fault_of(const ps_tensor_map *map, unsigned rank)
{
    static const uint8_t widest[] = {0, 32, 64, 128};
    uint32_t wanted = ((uint32_t)1 << fields[STRIDE].first) - 1;
    wanted |= (((uint32_t)1 << (rank - 1)) - 1) << fields[STRIDE].first;
    for (unsigned field = EXTENT; field <= STEP; field++)
        wanted |= (((uint32_t)1 << rank) - 1) << fields[field].first;
    if ((map->set & wanted) != wanted || map->type > fields[TYPE].most || map->swizzle > fields[SWIZZLE].most)
        return "a field of the map was never set";
    if (map->rank != rank)
        return "the map has another rank";
    for (unsigned i = 0; i < rank; i++)
        if (map->step[i] != 1)
            return "the simulator knows element strides of 1";
    uint32_t inner = map->box[0] * element_bytes(map);
    if (inner % 16 || (map->swizzle && inner != widest[map->swizzle]))
        return "the box's rows are no multiple of 16 bytes, or not as long as what the swizzle takes";
    return NULL;
}

/* The map of a lane, where it is right and the lane may use it. */
static bool take_map(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, ps_tensor_map *out)
{
    const uint8_t *at = ps_place(w, in, lane, PS_GLOBAL, address, PS_MAP_BYTES, 64, PS_LOADS | PS_UNCHECKED);
    if (!at)
        return false;
    memcpy(out, at, sizeof *out);
    const char *fault = fault_of(out, in->mode);
    if (!fault && acquired(w, address)->times != published(w->sim, address)->times)
        fault = "it was published since the warp has acquired it, or never acquired (fence.proxy.tensormap)";
    if (fault)
        ps_report(w, in, (int)lane, PTXSIM_TENSOR_MAP, "'%s': %s", in->opcode, fault);
    return !fault;
}

/* To one block of the cluster. */
static void start(ps_transfer *t, ps_block *block, uint32_t to, uint32_t mbarrier)
{
    if (to + t->bytes > block->shared_bytes) {
        ps_report(t->w, t->in, (int)t->lane, PTXSIM_OUT_OF_BOUNDS, "'%s' writes behind shared memory", t->in->opcode);
        return;
    }
    t->to_block = t->mbarrier_block = block;
    t->to = to;
    t->mbarrier = mbarrier;
    ps_transfer_start(t);
}

ps_flow ps_exec_cp_tensor(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t to[PS_LANES], map[PS_LANES], mbarrier[PS_LANES], scratch[PS_TENSOR_DIMS + 1][PS_LANES];
    const uint64_t *at[PS_TENSOR_DIMS], *mask = NULL;
    const ps_operand *coordinates = in->operands[1].pair;
    ps_addresses(w, in, &in->operands[0], active, to);
    ps_addresses(w, in, &in->operands[1], active, map);
    ps_addresses(w, in, &in->operands[2], active, mbarrier);
    for (unsigned i = 0; i < in->mode; i++)
        at[i] =
            ps_source(w, in, coordinates->kind == PS_VECTOR ? &coordinates->sub[i] : coordinates, active, scratch[i]);
    if (in->wide)
        mask = ps_source(w, in, &in->operands[3], active, scratch[PS_TENSOR_DIMS]);
    PS_FOR_LANES(l, active)
    {
        ps_transfer t = {.in = in, .w = w, .lane = l, .from = map[l], .is_box = true};
        ps_block *block, *mbarrier_block;
        uint32_t offset, mbarrier_offset;
        if (!take_map(w, in, l, map[l], &t.map)
            || !ps_place(w, in, l, PS_SHARED_CLUSTER, to[l], 16, 128, PS_STORES | PS_UNCHECKED)
            || !ps_place(w, in, l, PS_SHARED_CLUSTER, mbarrier[l], 8, 8, PS_STORES | PS_UNCHECKED)
            || !ps_shared_offset(w, PS_SHARED_CLUSTER, to[l], &block, &offset)
            || !ps_shared_offset(w, PS_SHARED_CLUSTER, mbarrier[l], &mbarrier_block, &mbarrier_offset))
            continue;
        t.bytes = box_bytes(&t.map);
        for (unsigned i = 0; i < in->mode; i++)
            t.at[i] = ps_signed(at[i][l], 32);
        ps_cluster *c = w->block->cluster;
        uint64_t blocks = mask ? mask[l] & 0xffff : (uint64_t)1 << block->rank;
        if (mbarrier_block != block || blocks >> c->size || !blocks)
            ps_report(w, in, (int)l, PTXSIM_BAD_VALUE, "'%s': there are no such blocks, or its mbarrier is elsewhere",
                      in->opcode);
        for (uint32_t b = 0; b < c->size; b++)
            if (blocks >> b & 1)
                start(&t, &c->blocks[b], offset, mbarrier_offset);
    }
    return PS_NEXT;
}

/* f32 as a map of type tf32 brings it: what cvt.rn.tf32.f32 gives, for every f32 (seen on an H200). */
static uint32_t rounded(uint32_t f32)
{
    enum { NAN_CELL = 0x7fffe000 };
    if (bc_float_is_nan(BC_F32, f32))
        return NAN_CELL;
    return bc_tf32_to_cell(bc_float_convert(BC_TF32, BC_F32, f32, BC_RoundingMode_nearest_even));
}

/* The element at those coordinates, to `to`; zeros where there is none. */
static void move_element(const ps_transfer *t, const int64_t *at, uint8_t *to)
{
    const ps_tensor_map *map = &t->map;
    unsigned bytes = element_bytes(map);
    uint64_t from = map->address + (uint64_t)at[0] * bytes;
    bool inside = true;
    for (unsigned i = 0; i < map->rank; i++) {
        inside = inside && at[i] >= 0 && at[i] < (int64_t)map->extent[i];
        from += i ? (uint64_t)at[i] * map->stride[i - 1] : 0;
    }
    memset(to, 0, bytes);
    const uint8_t *element = inside ? ps_place(t->w, t->in, t->lane, PS_GLOBAL, from, bytes, bytes, PS_LOADS) : NULL;
    if (!element)
        return;
    uint32_t word;
    memcpy(to, element, bytes);
    if (map->type == TF32) {
        memcpy(&word, element, sizeof word);
        word = rounded(word);
        memcpy(to, &word, sizeof word);
    }
}

void ps_tensor_move(const ps_transfer *t, uint8_t *to)
{
    static const uint32_t chunks[] = {0, 1, 3, 7}; /* bits of a chunk's number that the swizzle changes */
    const ps_tensor_map *map = &t->map;
    uint32_t bytes = element_bytes(map), swizzle = chunks[map->swizzle] << 4;
    for (uint32_t n = 0; n < t->bytes; n += bytes) {
        int64_t at[PS_TENSOR_DIMS] = {0};
        uint32_t left = n / bytes, place = (uint32_t)t->to + n;
        for (unsigned i = 0; i < map->rank; i++) {
            at[i] = t->at[i] + left % map->box[i];
            left /= map->box[i];
        }
        place ^= place >> 3 & swizzle;
        move_element(t, at, to + place - (uint32_t)t->to);
    }
}

/* Tensor maps made by the kernel or given to it, and bulk copies of boxes of a tensor to and from shared memory. PTX
   ISA: "Tensors", tensormap.replace, tensormap.cp_fenceproxy, cp.async.bulk.tensor. A map lies in memory in the
   simulator's own form. A warp may only use a map that it has acquired (fence.proxy.tensormap) since it was
   published. */
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
    [FILL] = {"fill_mode", 5, 0, 1},
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

/* Until its copies have completed, the copy engine may read the map; no thread reads it, so no barrier is required. */
static void check_copies(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address)
{
    const ps_cluster *c = w->block->cluster;
    for (size_t i = 0; i < c->transfer_count; i++)
        if (c->transfers[i].is_box && c->transfers[i].map_address == address) {
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

/* The warp's write follows what its relaxed reads have seen, because the address depends on their results and hardware
   waits for those; and the write is released. So a place can pass from block to block by a word of relaxed atomics. */
ps_flow ps_exec_map_publish(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t to[PS_LANES], from[PS_LANES];
    ps_check_aligned(w, in, active);
    ps_addresses(w, in, &in->operands[0], active, to);
    ps_addresses(w, in, &in->operands[1], active, from);
    unsigned l = w->sim->module.is_triton ? 0 : PS_LANES - 1; /* which has written none of the fields */
    while (l && !(active >> l & 1))
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
    {
        ps_publication *p = acquired(w, address[l]);
        p->times = published(w->sim, address[l])->times;
        p->when = w->times[w->clock_index];
    }
    return PS_NEXT;
}

/* ---- copies ---- */

enum { TO_SHARED, TO_GLOBAL };

/* The coordinates of operand `index`: as many as the opcode says. */
static void want_box(ps_decoder *d, unsigned index)
{
    ps_want_address(d, index);
    const ps_operand *at = d->error[0] ? NULL : d->in->operands[index].pair;
    if (!at || (at->kind == PS_VECTOR ? at->count : 1) != d->in->mode)
        ps_decode_fail(d, "wants a map with as many coordinates as the opcode says");
}

/* cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{.multicast::cluster}
   [to], [map, {coordinates}], [mbarrier]{, mask}{, policy}
   cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {coordinates}], [from]{, policy} */
void ps_decode_cp_tensor(ps_decoder *d)
{
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d", NULL};
    static const char *const groups[] = {"cta_group::1", "cta_group::2", NULL};
    ps_insn *in = d->in;
    const char *global = strstr(d->opcode, ".global"), *shared = strstr(d->opcode, ".shared");
    in->mode = (uint8_t)(ps_take_one(d, ranks) + 1);
    in->table = global && shared && global < shared ? TO_GLOBAL : TO_SHARED;
    bool known = in->mode && (ps_take(d, "shared::cluster") || ps_take(d, "shared::cta")) && ps_take(d, "global");
    ps_take(d, "tile");
    known = ps_take(d, in->table == TO_GLOBAL ? "bulk_group" : "mbarrier::complete_tx::bytes") && known;
    in->wide = ps_take(d, "multicast::cluster");
    in->high = ps_take_one(d, groups) == 1;
    ps_take_cache(d);
    in->exec = ps_exec_cp_tensor;
    if (!known) {
        ps_decode_fail(d, "the simulator knows copies of boxes to shared memory with an mbarrier, and to global memory "
                          "with a group");
        return;
    }
    unsigned wanted = in->table == TO_GLOBAL ? 2u : 3u + in->wide;
    ps_drop_policy(d, wanted);
    ps_want_count(d, wanted, wanted);
    for (unsigned i = 0; i < 3u - in->table && !d->error[0]; i++)
        ps_want_address(d, i);
    if (in->wide)
        ps_want(d, 3, PS_B16, false);
    want_box(d, in->table == TO_GLOBAL ? 0 : 1);
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

/* Whether the warp has acquired the map since it was last published. In Triton's text, one warp acquires a map for the
   others of its block, which wait for it. */
static bool has_acquired(ps_warp *w, uint64_t address)
{
    uint32_t times = published(w->sim, address)->times;
    bool has = acquired(w, address)->times == times;
    for (uint32_t i = 0; i < w->block->warp_count && !has && w->sim->module.is_triton; i++) {
        ps_warp *other = &w->block->warps[i];
        const ps_publication *p = acquired(other, address);
        has = p->times == times && w->times[other->clock_index] > p->when;
    }
    return has;
}

/* The map of a lane, if it is valid and the lane may use it: it is a parameter, or was published. */
static bool take_map(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, ps_tensor_map *out)
{
    bool is_param = address - PS_PARAM_WINDOW < PS_WINDOW_BYTES;
    const uint8_t *at = ps_place(w, in, lane, PS_GENERIC, address, PS_MAP_BYTES, 64, PS_LOADS | PS_UNCHECKED);
    if (!at)
        return false;
    memcpy(out, at, sizeof *out);
    const char *fault = fault_of(out, in->mode);
    if (!fault && !is_param && !has_acquired(w, address))
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
    t->to_block = block;
    t->to = to;
    t->mbarrier = mbarrier;
    ps_transfer_start(t);
}

static void start_load(ps_transfer *t, uint64_t to, uint64_t mbarrier, const uint64_t *mask)
{
    ps_warp *w = t->w;
    ps_cluster *c = w->block->cluster;
    ps_block *block, *mbarrier_block;
    uint32_t offset, mbarrier_offset;
    if (!ps_place(w, t->in, t->lane, PS_SHARED_CLUSTER, to, 16, 128, PS_STORES | PS_UNCHECKED)
        || !ps_place(w, t->in, t->lane, PS_SHARED_CLUSTER, mbarrier, 8, 8, PS_STORES | PS_UNCHECKED)
        || !ps_shared_offset(w, PS_SHARED_CLUSTER, to, &block, &offset)
        || !ps_shared_offset(w, PS_SHARED_CLUSTER, mbarrier, &mbarrier_block, &mbarrier_offset))
        return;
    uint64_t blocks = mask ? mask[t->lane] & 0xffff : (uint64_t)1 << block->rank;
    bool elsewhere = mbarrier_block->rank != (t->in->high ? mbarrier_block->rank | (block->rank & ~1u) : block->rank);
    if (elsewhere || blocks >> c->size || !blocks)
        ps_report(w, t->in, (int)t->lane, PTXSIM_BAD_VALUE,
                  "'%s': there are no such blocks, or its mbarrier is elsewhere", t->in->opcode);
    for (uint32_t b = 0; b < c->size; b++)
        if (blocks >> b & 1) { /* of a pair, the notified block is the first or the second of each */
            uint32_t told = t->in->high ? (b & ~1u) | (mbarrier_block->rank & 1) : b;
            t->mbarrier_block = &c->blocks[told];
            start(t, &c->blocks[b], offset, mbarrier_offset);
        }
}

static void start_store(ps_transfer *t, uint64_t from)
{
    ps_warp *w = t->w;
    uint32_t offset;
    if (!ps_place(w, t->in, t->lane, PS_SHARED, from, t->bytes, 128, PS_LOADS)
        || !ps_shared_offset(w, PS_SHARED, from, &t->from_block, &offset))
        return;
    t->from = offset;
    t->group = w->bulk_group[t->lane];
    ps_proxy_read(w, t->in, w->block, offset, t->bytes);
    ps_transfer_start(t);
}

ps_flow ps_exec_cp_tensor(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint64_t shared[PS_LANES], map[PS_LANES], mbarrier[PS_LANES], scratch[PS_TENSOR_DIMS + 1][PS_LANES];
    const uint64_t *at[PS_TENSOR_DIMS], *mask = NULL;
    bool stores = in->table == TO_GLOBAL;
    const ps_operand *box = &in->operands[stores ? 0 : 1], *coordinates = box->pair;
    ps_addresses(w, in, &in->operands[stores ? 1 : 0], active, shared);
    ps_addresses(w, in, box, active, map);
    if (!stores)
        ps_addresses(w, in, &in->operands[2], active, mbarrier);
    for (unsigned i = 0; i < in->mode; i++)
        at[i] =
            ps_source(w, in, coordinates->kind == PS_VECTOR ? &coordinates->sub[i] : coordinates, active, scratch[i]);
    if (in->wide)
        mask = ps_source(w, in, &in->operands[3], active, scratch[PS_TENSOR_DIMS]);
    PS_FOR_LANES(l, active)
    {
        ps_transfer t = {.in = in, .w = w, .lane = l, .map_address = map[l], .is_box = true};
        if (!take_map(w, in, l, map[l], &t.map))
            continue;
        t.bytes = box_bytes(&t.map);
        for (unsigned i = 0; i < in->mode; i++)
            t.at[i] = ps_signed(at[i][l], 32);
        if (stores)
            start_store(&t, shared[l]);
        else
            start_load(&t, shared[l], mbarrier[l], mask);
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

/* Zeros, or a NaN that the copy engine writes for floats. */
static void fill_element(const ps_tensor_map *map, uint8_t *to)
{
    memset(to, 0, element_bytes(map));
    if (!map->fill || map->type < 6)
        return;
    static const uint64_t nans[] = {0x7FFF, 0x7FFFFFFF, 0x7FFFFFFF, UINT64_MAX >> 1, 0x7FFF, 0x7FFFFFFF, 0x7FFFFFFF};
    memcpy(to, &nans[map->type - 6], element_bytes(map));
}

/* The element at those coordinates; outside the tensor, loads give the fill value of the map. */
static void move_element(const ps_transfer *t, const int64_t *at, uint8_t *shared)
{
    const ps_tensor_map *map = &t->map;
    unsigned bytes = element_bytes(map), access = t->from_block ? PS_STORES : PS_LOADS;
    uint64_t address = map->address + (uint64_t)at[0] * bytes;
    bool inside = true;
    for (unsigned i = 0; i < map->rank; i++) {
        inside = inside && at[i] >= 0 && at[i] < (int64_t)map->extent[i];
        address += i ? (uint64_t)at[i] * map->stride[i - 1] : 0;
    }
    if (!t->from_block)
        fill_element(map, shared);
    uint8_t *element = inside ? ps_place(t->w, t->in, t->lane, PS_GLOBAL, address, bytes, bytes, access) : NULL;
    if (!element)
        return;
    memcpy(t->from_block ? element : shared, t->from_block ? shared : element, bytes);
    if (map->type == TF32 && !t->from_block) {
        uint32_t word;
        memcpy(&word, element, sizeof word);
        word = rounded(word);
        memcpy(shared, &word, sizeof word);
    }
}

void ps_tensor_move(const ps_transfer *t, uint8_t *shared)
{
    static const uint32_t chunks[] = {0, 1, 3, 7}; /* bits of a chunk's number that the swizzle changes */
    const ps_tensor_map *map = &t->map;
    uint32_t bytes = element_bytes(map), swizzle = chunks[map->swizzle] << 4;
    uint32_t start = (uint32_t)(t->from_block ? t->from : t->to);
    for (uint32_t n = 0; n < t->bytes; n += bytes) {
        int64_t at[PS_TENSOR_DIMS] = {0};
        uint32_t left = n / bytes, place = start + n;
        for (unsigned i = 0; i < map->rank; i++) {
            at[i] = t->at[i] + left % map->box[i];
            left /= map->box[i];
        }
        place ^= place >> 3 & swizzle;
        move_element(t, at, shared + place - start);
    }
}

/* ---- maps made by the caller ---- */

void ptxsim_tensor_map(const ptxsim_tensor *tensor, uint8_t out[PS_MAP_BYTES])
{
    ps_tensor_map map = {0};
    set_field(&map, ADDRESS, 0, tensor->address);
    set_field(&map, RANK, 0, tensor->rank - 1u);
    set_field(&map, TYPE, 0, tensor->type);
    set_field(&map, INTERLEAVE, 0, tensor->interleave);
    set_field(&map, SWIZZLE, 0, tensor->swizzle);
    set_field(&map, FILL, 0, tensor->fills_nan);
    for (unsigned i = 0; i < tensor->rank; i++) {
        if (i + 1 < tensor->rank)
            set_field(&map, STRIDE, i, tensor->stride[i]);
        set_field(&map, EXTENT, i, tensor->extent[i]);
        set_field(&map, BOX, i, tensor->box[i]);
        set_field(&map, STEP, i, 1);
    }
    memset(out, 0, PS_MAP_BYTES);
    memcpy(out, &map, sizeof map);
}

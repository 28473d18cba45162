/* Building vm_maps, and the custom ones that need more than one kernel. */
#include "vm/compile/map.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "bytecode/number/number.h"

enum { CHUNK = 256 }; /* elements that a custom map handles at a time */

static vm_kernel *kernel_of(vm_emit *e, vm_kernel_id id)
{
    return e->code->kernels->map[id];
}

vm_map vm_map_plain(vm_emit *e, vm_kernel_id id, unsigned operands, unsigned out_bytes, unsigned in_bytes)
{
    vm_map map = {.kernel = kernel_of(e, id), .operands = (uint8_t)operands, .out_bytes = (uint8_t)out_bytes};
    for (unsigned i = 0; i < operands; i++)
        map.in_bytes[i] = (uint8_t)in_bytes;
    return map;
}

vm_map vm_map_int(vm_emit *e, vm_kernel_id i8, bc_kind kind, unsigned operands)
{
    unsigned bytes = vm_elem_bytes(kind);
    return vm_map_plain(e, vm_kernel_of_int(i8, bytes), operands, bytes, bytes);
}

/* ---- through a wider type ---- */

static void set_rounding(uint8_t mode)
{
    switch (mode) {
    case BC_RoundingMode_zero: fesetround(FE_TOWARDZERO); break;
    case BC_RoundingMode_negative_inf: fesetround(FE_DOWNWARD); break;
    case BC_RoundingMode_positive_inf: fesetround(FE_UPWARD); break;
    default: fesetround(FE_TONEAREST); break;
    }
}

static bool is_directed(uint8_t mode)
{
    return mode == BC_RoundingMode_zero || mode == BC_RoundingMode_negative_inf || mode == BC_RoundingMode_positive_inf;
}

/* f32 to f16 or bf16 in a directed mode: rounding the same way twice is rounding once. */
static void narrow_directed(const vm_map *map, uint16_t *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint16_t)bc_float_round((bc_kind)map->to, (double)in[i], (bc_RoundingMode)map->rounding);
}

static const void *prepare(const vm_map *map, unsigned k, const void *in, void *buffer, size_t n)
{
    if (map->widen[k])
        map->widen[k](buffer, in, NULL, NULL, n);
    if (map->flush)
        map->flush(buffer, map->widen[k] ? buffer : in, NULL, NULL, n);
    return map->widen[k] || map->flush ? buffer : in;
}

/* Flushes results that were rounded up to the smallest normal number and would have stayed below it if exponents had no
   lower limit (docs/reference/numerics.md, arithmetic): computed once more where no exponent is near that limit. Of a
   product the smaller factor has room for the scale, and so have a quotient's numerator and what such a sum is made
   of. */
static void flush_tiny(const vm_map *map, float *to, const float *x, const float *y, const float *z, size_t n)
{
    const float scale = 0x1p48f, smallest_normal = 0x1p-126f;
    for (size_t i = 0; i < n; i++) {
        if (fabsf(to[i]) != smallest_normal)
            continue;
        bool first = map->is_quotient || fabsf(x[i]) < fabsf(y[i]);
        float a = first ? x[i] * scale : x[i], b = first ? y[i] : y[i] * scale, c = z ? z[i] * scale : 0, far;
        set_rounding(map->rounding);
        map->core(&far, &a, &b, &c, 1);
        fesetround(FE_TONEAREST);
        if (fabsf(far) < smallest_normal * scale)
            to[i] = copysignf(0, to[i]);
    }
}

static void run_wide(const vm_map *map, void *out_, const void *a, const void *b, const void *c, size_t count)
{
    uint64_t buffers[3][CHUNK], wide[CHUNK];
    const unsigned char *in[3] = {a, b, c};
    unsigned char *out = out_;
    bool directed = is_directed(map->rounding),
         narrows = map->narrow || (directed && map->to == BC_F16) || (directed && map->to == BC_BF16);
    for (size_t i = 0; i < count; i += CHUNK) {
        size_t n = count - i < CHUNK ? count - i : CHUNK;
        const void *from[3] = {NULL, NULL, NULL};
        for (unsigned k = 0; k < map->operands; k++)
            from[k] = prepare(map, k, in[k] + i * map->in_bytes[k], buffers[k], n);
        void *to = narrows ? (void *)wide : out + i * map->out_bytes;
        if (directed)
            set_rounding(map->rounding);
        map->core(to, from[0], from[1], from[2], n);
        if (directed)
            fesetround(FE_TONEAREST);
        if (map->flush)
            map->flush(to, to, NULL, NULL, n);
        if (map->flush && map->rounds_tiny)
            flush_tiny(map, to, from[0], from[1], from[2], n);
        if (narrows && directed)
            narrow_directed(map, (uint16_t *)(void *)(out + i * map->out_bytes), (const float *)(const void *)wide, n);
        else if (narrows)
            map->narrow(out + i * map->out_bytes, wide, NULL, NULL, n);
    }
}

void vm_map_make_wide(vm_map *map)
{
    map->custom = run_wide;
}

static void widen_float(vm_emit *e, vm_map *map, unsigned operand, bc_kind kind)
{
    if (kind == BC_F16)
        map->widen[operand] = kernel_of(e, VM_K_f16_f32);
    if (kind == BC_BF16)
        map->widen[operand] = kernel_of(e, VM_K_bf16_f32);
}

static void narrow_float(vm_emit *e, vm_map *map, bc_kind kind)
{
    map->to = (uint8_t)kind;
    if (kind == BC_F16)
        map->narrow = kernel_of(e, VM_K_f32_f16);
    if (kind == BC_BF16)
        map->narrow = kernel_of(e, VM_K_f32_bf16);
}

vm_map vm_map_float(vm_emit *e, vm_kernel_id f32, vm_kernel_id odd, bc_kind kind, unsigned operands,
                    bc_RoundingMode mode, bool flush)
{
    unsigned bytes = vm_elem_bytes(kind);
    vm_map map = vm_map_plain(e, vm_kernel_of_float(f32, kind == BC_F64), operands, bytes, bytes);
    map.rounding = (uint8_t)mode;
    if (vm_is_wide_float(kind) && !is_directed(map.rounding) && !flush)
        return map;
    map.core = map.kernel;
    if (!vm_is_wide_float(kind)) {
        if (odd != VM_K_NONE && !is_directed(map.rounding))
            map.core = kernel_of(e, odd);
        for (unsigned i = 0; i < operands; i++)
            widen_float(e, &map, i, kind);
        narrow_float(e, &map, kind);
    }
    map.to = (uint8_t)kind;
    if (flush)
        map.flush = kernel_of(e, VM_K_flush_f32);
    map.is_quotient = f32 == VM_K_divf_f32;
    map.rounds_tiny = map.is_quotient || f32 == VM_K_mulf_f32 || f32 == VM_K_fma_f32;
    vm_map_make_wide(&map);
    return map;
}

vm_map vm_map_compare(vm_emit *e, vm_kernel_id f32, bc_kind kind)
{
    vm_map map = vm_map_plain(e, vm_kernel_of_float(f32, kind == BC_F64), 2, 1, vm_elem_bytes(kind));
    if (vm_is_wide_float(kind))
        return map;
    map.core = map.kernel;
    map.to = BC_I1;
    widen_float(e, &map, 0, kind);
    widen_float(e, &map, 1, kind);
    vm_map_make_wide(&map);
    return map;
}

/* ---- conversions ---- */

static uint64_t read_element(const void *p, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, p, bytes);
    return x;
}

static bool is_int(bc_kind kind)
{
    return bc_kinds[kind].kind_class == BC_CLASS_INTEGER;
}

/* One element, by the exact functions. Patterns as in tile storage. */
static uint64_t convert_one(const vm_map *map, uint64_t x)
{
    bc_kind from = (bc_kind)map->from, to = (bc_kind)map->to;
    bc_RoundingMode mode = (bc_RoundingMode)map->rounding;
    if (from == BC_TF32)
        from = BC_F32; /* low bits of the cell count */
    uint64_t r;
    if (is_int(from))
        r = bc_int_to_float(to, x, bc_kind_bits(from), map->is_signed);
    else if (is_int(to))
        r = bc_float_to_int(from, x, bc_kind_bits(to), map->is_signed, map->saturating);
    else
        r = bc_float_convert(to, from, x, mode);
    return to == BC_TF32 ? bc_tf32_to_cell(r) : r;
}

static void run_convert(const vm_map *map, void *out_, const void *a_, const void *b, const void *c, size_t n)
{
    unsigned char *out = out_;
    const unsigned char *a = a_;
    (void)b;
    (void)c;
    for (size_t i = 0; i < n; i++) {
        uint64_t r = convert_one(map, read_element(a + i * map->in_bytes[0], map->in_bytes[0]));
        memcpy(out + i * map->out_bytes, &r, map->out_bytes);
    }
}

#define TABLE_LOOP(T)                  \
    do {                               \
        T *to = out;                   \
        const T *table = map->table;   \
        for (size_t i = 0; i < n; i++) \
            to[i] = table[a[i]];       \
    } while (0)

static void run_table(const vm_map *map, void *out, const void *a_, const void *b, const void *c, size_t n)
{
    const uint8_t *a = a_;
    (void)b;
    (void)c;
    switch (map->out_bytes) {
    case 1: TABLE_LOOP(uint8_t); break;
    case 2: TABLE_LOOP(uint16_t); break;
    case 4: TABLE_LOOP(uint32_t); break;
    default: TABLE_LOOP(uint64_t); break;
    }
}

/* All results of a conversion from one byte. */
static void make_table(vm_emit *e, vm_map *map)
{
    unsigned char *table = vm_code_bytes(e, (size_t)256 * map->out_bytes);
    for (unsigned i = 0; i < 256; i++) {
        uint64_t r = convert_one(map, i);
        memcpy(table + i * map->out_bytes, &r, map->out_bytes);
    }
    map->table = table;
    map->custom = run_table;
}

vm_kernel *vm_widen_int(vm_emit *e, bc_kind from, unsigned to_bytes, bool is_signed)
{
    static const vm_kernel_id ids[2][3][2] = {
        /* signed, from, to 4 or 8 bytes */
        {{VM_K_zext_8_32, VM_K_zext_8_64}, {VM_K_zext_16_32, VM_K_zext_16_64}, {VM_K_NONE, VM_K_zext_32_64}},
        {{VM_K_sext_8_32, VM_K_sext_8_64}, {VM_K_sext_16_32, VM_K_sext_16_64}, {VM_K_NONE, VM_K_sext_32_64}},
    };
    unsigned bytes = vm_elem_bytes(from);
    if (bytes >= to_bytes)
        return NULL;
    vm_kernel_id id = ids[is_signed][bytes == 1 ? 0 : bytes == 2 ? 1 : 2][to_bytes == 8];
    return kernel_of(e, id);
}

static bool fast_float_to_float(vm_emit *e, vm_map *map, bc_kind from, bc_kind to)
{
    bool from_half = from == BC_F16 || from == BC_BF16, to_half = to == BC_F16 || to == BC_BF16;
    if (from == BC_TF32)
        from = BC_F32;
    if (from == BC_F32 && to == BC_F32) {
        map->kernel = kernel_of(e, VM_K_copy_i32);
    } else if (from == BC_F32 && to == BC_F64) {
        map->kernel = kernel_of(e, VM_K_f32_f64);
    } else if (from_half && to == BC_F32) {
        widen_float(e, map, 0, from);
        map->kernel = map->widen[0];
    } else if (from_half && to == BC_F64) {
        widen_float(e, map, 0, from);
        map->core = kernel_of(e, VM_K_f32_f64);
        vm_map_make_wide(map);
    } else if (is_directed(map->rounding) || map->rounding == BC_RoundingMode_nearest_away) {
        return false;
    } else if (from == BC_F64 && to == BC_F32) {
        map->kernel = kernel_of(e, VM_K_f64_f32);
    } else if (from == BC_F32 && to_half) {
        narrow_float(e, map, to);
        map->kernel = map->narrow;
    } else if (from_half && to_half) {
        widen_float(e, map, 0, from);
        narrow_float(e, map, to);
        map->kernel = map->narrow;
        map->core = kernel_of(e, VM_K_copy_i32);
        vm_map_make_wide(map);
    } else {
        return false;
    }
    return true;
}

/* f16 from integers: what f32 cannot hold exactly overflows f16 anyway. */
static bool fast_int_to_float(vm_emit *e, vm_map *map, bc_kind from, bc_kind to)
{
    static const vm_kernel_id ids[2][2][2] = {
        /* 64 bits, signed, f64 */
        {{VM_K_u32_f32, VM_K_u32_f64}, {VM_K_s32_f32, VM_K_s32_f64}},
        {{VM_K_u64_f32, VM_K_u64_f64}, {VM_K_s64_f32, VM_K_s64_f64}},
    };
    bool wide = from == BC_I64;
    if (to != BC_F32 && to != BC_F64 && to != BC_F16)
        return false;
    map->core = kernel_of(e, ids[wide][map->is_signed][to == BC_F64]);
    map->widen[0] = vm_widen_int(e, from, wide ? 8 : 4, map->is_signed);
    if (to == BC_F16)
        narrow_float(e, map, to);
    map->kernel = map->core;
    if (map->widen[0] || map->narrow)
        vm_map_make_wide(map);
    return true;
}

static bool fast_float_to_int(vm_emit *e, vm_map *map, bc_kind from, bc_kind to)
{
    if (to != BC_I32 || (from != BC_F32 && from != BC_F16 && from != BC_BF16))
        return false;
    widen_float(e, map, 0, from);
    map->core = map->kernel = kernel_of(e, map->is_signed ? VM_K_f32_s32 : VM_K_f32_u32);
    if (map->widen[0])
        vm_map_make_wide(map);
    return true;
}

vm_map vm_map_convert(vm_emit *e, bc_kind from, bc_kind to, bc_RoundingMode mode, bool is_signed, bool saturating)
{
    vm_map map = {.operands = 1,
                  .out_bytes = (uint8_t)vm_elem_bytes(to),
                  .in_bytes = {(uint8_t)vm_elem_bytes(from)},
                  .rounding = (uint8_t)mode,
                  .from = (uint8_t)from,
                  .to = (uint8_t)to,
                  .is_signed = is_signed,
                  .saturating = saturating};
    if (map.in_bytes[0] == 1) {
        make_table(e, &map);
        return map;
    }
    if (is_int(from) ? fast_int_to_float(e, &map, from, to)
        : is_int(to) ? fast_float_to_int(e, &map, from, to)
                     : fast_float_to_float(e, &map, from, to))
        return map;
    map.custom = run_convert;
    return map;
}

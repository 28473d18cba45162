/* Conversions between number types, casts of bits and pointers, pack and unpack. */
#include <stdio.h>
#include <string.h>

#include "tests/matrix/map.h"
#include "tests/matrix/parts.h"

static const bc_kind ints[] = {BC_I1, BC_I4, BC_I8, BC_I16, BC_I32, BC_I64};
static const bc_kind floats[] = {BC_F64,    BC_F32,      BC_TF32,      BC_F16,      BC_BF16,
                                 BC_F8E5M2, BC_F8E4M3FN, BC_F8E8M0FNU, BC_F4E2M1FN, BC_FNV8E5M3FNU};
enum { FLOATS = TV_COUNT(floats) };
static const char *const sign_names[] = {"unsigned", "signed"};

static void both(mx_report *r, const mx_map *map, mx_effort effort, uint64_t deep)
{
    uint64_t seed = mx_random(strlen(map->text) * 31 + (uint64_t)map->in[0] * 1000 + (uint64_t)map->out);
    mx_map_shapes(r, map, effort, seed);
    mx_map_deep(r, map, deep >> effort.shift, seed);
}

/* ---- integers ---- */

static uint64_t expect_extended(const mx_map *m, const uint64_t *x)
{
    uint64_t bits = m->is_signed ? (uint64_t)exact_signed(x[0], exact_bits(m->in[0])) : x[0];
    return bits & exact_mask(exact_bits(m->out));
}

static void integers(mx_report *r, mx_effort effort)
{
    static const char *const overflows[] = {"", " overflow<no_signed_wrap>", " overflow<no_unsigned_wrap>",
                                            " overflow<no_wrap>"};
    for (size_t i = 0; i < TV_COUNT(ints); i++) {
        for (size_t j = 0; j < TV_COUNT(ints); j++) {
            for (int s = 0; i < j && s < 2; s++) {
                mx_map map = {
                    .operands = 1, .in = {ints[i]}, .out = ints[j], .expected = expect_extended, .is_signed = s};
                snprintf(map.text, sizeof map.text, "exti $0 %s : #0 -> #r", sign_names[s]);
                both(r, &map, effort, 65536);
            }
            for (int o = 0; i > j && o < 4; o++) {
                mx_map map = {.operands = 1, .in = {ints[i]}, .out = ints[j], .expected = expect_extended};
                snprintf(map.text, sizeof map.text, "trunci $0%s : #0 -> #r", overflows[o]);
                both(r, &map, effort, 65536);
            }
        }
    }
}

/* ---- integers and floats ---- */

static uint64_t expect_itof(const mx_map *m, const uint64_t *v)
{
    exact x;
    exact_of_int(&x, v[0], exact_bits(m->in[0]), m->is_signed);
    return exact_round(m->out, &x, BC_RoundingMode_nearest_even);
}

static uint64_t expect_ftoi(const mx_map *m, const uint64_t *v)
{
    exact x;
    exact_of_float(&x, m->in[0], v[0]);
    return exact_to_int(&x, m->in[0], exact_bits(m->out), m->is_signed, m->flag);
}

static void integers_and_floats(mx_report *r, mx_effort effort)
{
    for (size_t f = 0; f < FLOATS; f++) {
        for (size_t i = 0; i < TV_COUNT(ints); i++) {
            for (int form = 0; form < 4 && ints[i] != BC_I4; form++) {
                int s = form & 1, saturating = form >> 1;
                mx_map to_int = {.operands = 1,
                                 .in = {floats[f]},
                                 .out = ints[i],
                                 .expected = expect_ftoi,
                                 .is_signed = s,
                                 .flag = saturating};
                snprintf(to_int.text, sizeof to_int.text, "ftoi $0 %s%s rounding<nearest_int_to_zero> : #0 -> #r",
                         sign_names[s], saturating ? " saturating" : "");
                both(r, &to_int, effort, 65536);
                mx_map to_float = {
                    .operands = 1, .in = {ints[i]}, .out = floats[f], .expected = expect_itof, .is_signed = s};
                snprintf(to_float.text, sizeof to_float.text, "itof $0 %s : #0 -> #r", sign_names[s]);
                if (!saturating && floats[f] != BC_F8E8M0FNU)
                    both(r, &to_float, effort, 65536);
            }
        }
    }
}

/* ---- floats: section 5.4, legal modes by row (from) and column (to), in the order of `floats` ---- */

static const char *const legal_modes[FLOATS][FLOATS] = {
    {"", "NZMP", "NZ", "NZ", "NZ", "N", "N", "ZP", "N", "N"},
    {"NZMPW", "", "NZW", "NZ", "NZ", "N", "N", "ZP", "N", "N"},
    {"NZMPW", "NZMPW", "", "NZ", "NZ", "N", "N", "ZP", "N", "N"},
    {"NZMPW", "NZMPW", "NZMPW", "", "NZ", "N", "N", "ZP", "N", "N"},
    {"NZMPW", "NZMPW", "NZMPW", "NZ", "", "N", "N", "ZP", "N", "N"},
    {"NZMPW", "NZMPW", "NZMPW", "NZMPW", "NZMPW", "", "N", "ZP", "N", "N"},
    {"NZMPW", "NZMPW", "NZMPW", "NZMPW", "NZMPW", "N", "", "ZP", "N", "N"},
    {"NZMPW", "NZ", "NZ", "NZ", "NZ", "N", "N", "", "N", "N"},
    {"NZMPW", "NZMPW", "NZMPW", "NZMPW", "NZMPW", "N", "N", "ZP", "", "N"},
    {"NZMPW", "NZMPW", "NZMPW", "NZ", "NZMPW", "N", "N", "ZP", "N", ""},
};
static const struct {
    char letter;
    const char *name;
    bc_RoundingMode mode;
} modes[] = {{'N', "nearest_even", BC_RoundingMode_nearest_even},
             {'Z', "zero", BC_RoundingMode_zero},
             {'M', "negative_inf", BC_RoundingMode_negative_inf},
             {'P', "positive_inf", BC_RoundingMode_positive_inf},
             {'-', "approx", BC_RoundingMode_approx},
             {'-', "full", BC_RoundingMode_full},
             {'-', "nearest_int_to_zero", BC_RoundingMode_nearest_int_to_zero},
             {'W', "nearest_away", BC_RoundingMode_nearest_away}};

static uint64_t expect_ftof(const mx_map *m, const uint64_t *v)
{
    exact x;
    exact_of_float(&x, m->in[0], v[0]);
    return exact_round(m->out, &x, m->mode);
}

/* A mode that is not legal must be refused. */
static void refused(mx_report *r, const mx_map *map)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    mx_shape shape = mx_vector(2);
    mx_begin(&k);
    mx_op(&k, "%%a = constant <%s: 0x1> : %s", mx_kind(map->in[0]), mx_tile(shape, map->in[0]));
    mx_op(&k, "%%b = ftof %%a%s : %s -> %s", map->text, mx_tile(shape, map->in[0]), mx_tile(shape, map->out));
    if (mx_check(&k, NULL) == TV_INVALID)
        mx_pass(r);
    else
        mx_fail(r, &k, "ftof%s is accepted", map->text);
    mx_end(&k);
}

static void between_floats(mx_report *r, mx_effort effort)
{
    for (size_t i = 0; i < FLOATS; i++) {
        for (size_t j = 0; j < FLOATS; j++) {
            for (size_t mode = 0; mode < TV_COUNT(modes); mode++) {
                mx_map map = {.operands = 1,
                              .in = {floats[i]},
                              .out = floats[j],
                              .expected = expect_ftof,
                              .mode = modes[mode].mode};
                if (strchr(legal_modes[i][j], modes[mode].letter)) {
                    snprintf(map.text, sizeof map.text, "ftof $0 rounding<%s> : #0 -> #r", modes[mode].name);
                    both(r, &map, effort, 65536);
                } else {
                    snprintf(map.text, sizeof map.text, " rounding<%s>", modes[mode].name);
                    refused(r, &map);
                }
            }
        }
    }
}

/* ---- the same bits ---- */

static uint64_t expect_same(const mx_map *m, const uint64_t *x)
{
    (void)m;
    return x[0];
}

static bool casts(bc_kind from, bc_kind to)
{
    unsigned a = from == BC_TF32 ? 19 : exact_bits(from), b = to == BC_TF32 ? 19 : exact_bits(to);
    return a == b && from != BC_I4 && to != BC_I4;
}

static void same_bits(mx_report *r, mx_effort effort)
{
    static const bc_kind all[] = {BC_I1,     BC_I8,       BC_I16,       BC_I32,      BC_I64,
                                  BC_F64,    BC_F32,      BC_TF32,      BC_F16,      BC_BF16,
                                  BC_F8E5M2, BC_F8E4M3FN, BC_F8E8M0FNU, BC_F4E2M1FN, BC_FNV8E5M3FNU};
    for (size_t i = 0; i < TV_COUNT(all); i++) {
        for (size_t j = 0; j < TV_COUNT(all); j++) {
            mx_map map = {
                .operands = 1, .in = {all[i]}, .out = all[j], .expected = expect_same, .text = "bitcast $0 : #0 -> #r"};
            if (casts(all[i], all[j]))
                both(r, &map, effort, 1024);
        }
    }
    static const mx_map pointers[] = {
        {.text = "int_to_ptr $0 : #0 -> #r", .operands = 1, .in = {BC_I64}, .out = BC_PTR, .expected = expect_same},
        {.text = "ptr_to_int $0 : #0 -> #r", .operands = 1, .in = {BC_PTR}, .out = BC_I64, .expected = expect_same},
        {.text = "ptr_to_ptr $0 : #0 -> #r", .operands = 1, .in = {BC_PTR}, .out = BC_PTR, .expected = expect_same},
        {.text = "assume div_by<1>, $0 : #0", .operands = 1, .in = {BC_PTR}, .out = BC_PTR, .expected = expect_same}};
    for (size_t i = 0; i < TV_COUNT(pointers); i++)
        both(r, &pointers[i], effort, 1024);
    for (size_t i = 0; i < TV_COUNT(ints); i++) {
        mx_map map = {.operands = 1,
                      .in = {ints[i]},
                      .out = ints[i],
                      .expected = expect_same,
                      .text = "assume bounded<?, ?>, $0 : #0"};
        both(r, &map, effort, 1024);
    }
}

/* ---- offset ---- */

static uint64_t expect_offset(const mx_map *m, const uint64_t *x)
{
    return x[0] + (uint64_t)exact_signed(x[1], exact_bits(m->in[1])) * 4; /* pointers are to f32 */
}

/* Half of an even signed number. */
static uint64_t halved(uint64_t x)
{
    return x >> 1 | (x & (uint64_t)1 << 63);
}

/* Other pointees: ptr -> ptr<E>, offset, and back. The size counts in half bytes. */
static void offsets_of(mx_report *r, bc_kind pointee, unsigned half_bytes)
{
    if (!mx_is_turn(r))
        return;
    enum { N = 16 };
    mx_kernel k;
    uint64_t addresses[N], steps[N], bad = 0;
    mx_shape shape = {0, {0}}; /* pointers to f4 come as scalars only */
    for (size_t i = 0; i < N; i++) {
        addresses[i] = mx_random(i) & 0xFFFFFFFFFFFF;
        steps[i] = (uint64_t)exact_signed(mx_random(i + 100) >> (i * 3), 40)
                   & (half_bytes == 1 ? ~(uint64_t)1 : UINT64_MAX);
    }
    mx_begin(&k);
    k.grid[0] = N;
    unsigned p = mx_input(&k, BC_PTR, addresses, N), s = mx_input(&k, BC_I64, steps, N), out = mx_output(&k, BC_PTR, N);
    unsigned a = mx_load(&k, p, shape, MX_PLAIN), b = mx_load(&k, s, shape, MX_PLAIN), c = mx_new(&k), d = mx_new(&k);
    unsigned result = mx_new(&k);
    const char *type = mx_kind(pointee);
    mx_op(&k, "%%v%u = ptr_to_ptr %%v%u : tile<ptr<f32>> -> tile<ptr<%s>>", c, a, type);
    mx_op(&k, "%%v%u = offset %%v%u, %%v%u : tile<ptr<%s>>, tile<i64> -> tile<ptr<%s>>", d, c, b, type, type);
    mx_op(&k, "%%v%u = ptr_to_ptr %%v%u : tile<ptr<%s>> -> tile<ptr<f32>>", result, d, type);
    mx_store(&k, out, shape, result);
    tv_status status = mx_run(&k, NULL);
    for (size_t i = 0; i < N && status == TV_OK; i++)
        bad += mx_result(&k, out, i)
               != addresses[i] + (half_bytes == 1 ? halved(steps[i]) : steps[i] * (half_bytes / 2));
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &k, "offset of ptr<%s>: status %d, %llu wrong", type, (int)status, (unsigned long long)bad);
    mx_end(&k);
}

static void offsets(mx_report *r, mx_effort effort)
{
    for (size_t i = 0; i < TV_COUNT(ints); i++) {
        mx_map map = {.operands = 2,
                      .in = {BC_PTR, ints[i]},
                      .out = BC_PTR,
                      .expected = expect_offset,
                      .text = "offset $0, $1 : #0, #1 -> #r"};
        if (ints[i] != BC_I4)
            both(r, &map, effort, 8192);
    }
    for (int kind = 0; kind < BC_KIND_COUNT; kind++) {
        bool number = bc_kinds[kind].kind_class == BC_CLASS_INTEGER || bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        unsigned bits = exact_bits((bc_kind)kind);
        if (number && kind != BC_I4)
            offsets_of(r, (bc_kind)kind, kind == BC_F4E2M1FN ? 1 : bits < 8 ? 2 : bits / 4);
    }
}

/* ---- pack and unpack: section 5.5 ---- */

/* Elements of one kind as a little-endian row of bits. */
static void pack_case(mx_report *r, bc_kind kind, size_t n, bool unpack)
{
    if (!mx_is_turn(r))
        return;
    unsigned bits = exact_bits(kind);
    size_t bytes = n * bits / 8, bad = 0, outputs = unpack ? n : bytes;
    uint64_t elements[256], row[2048] = {0};
    for (size_t i = 0; i < n; i++) {
        elements[i] = mx_sample(kind, i + n * 7 + (uint64_t)kind);
        for (unsigned b = 0; b < bits; b++)
            row[(i * bits + b) / 8] |= (elements[i] >> b & 1) << (i * bits + b) % 8;
    }
    mx_kernel k;
    mx_begin(&k);
    unsigned in = unpack ? mx_input(&k, BC_I8, row, bytes) : mx_input(&k, kind, elements, n);
    unsigned out = unpack ? mx_output(&k, kind, n) : mx_output(&k, BC_I8, bytes);
    mx_shape from = mx_vector(unpack ? bytes : n), to = mx_vector(outputs);
    unsigned x = mx_load(&k, in, from, MX_PLAIN), y = mx_new(&k);
    mx_op(&k, "%%v%u = %s %%v%u : %s -> %s", y, unpack ? "unpack" : "pack", x, mx_tile(from, unpack ? BC_I8 : kind),
          mx_tile(to, unpack ? kind : BC_I8));
    mx_store(&k, out, to, y);
    tv_status status = mx_run(&k, NULL);
    for (size_t i = 0; i < outputs && status == TV_OK; i++)
        bad += mx_result(&k, out, i) != (unpack ? elements[i] : row[i]);
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &k, "%s of %zu %s: status %d, %zu wrong", unpack ? "unpack" : "pack", n, mx_kind(kind), (int)status,
                bad);
    mx_end(&k);
}

static void packs(mx_report *r)
{
    static const bc_kind kinds[] = {BC_I1,  BC_I4,   BC_I16, BC_I32,  BC_I64,     BC_F64,
                                    BC_F32, BC_TF32, BC_F16, BC_BF16, BC_F4E2M1FN};
    for (size_t i = 0; i < TV_COUNT(kinds); i++)
        for (size_t n = 1; n <= 256; n *= 2)
            if (n * exact_bits(kinds[i]) % 8 == 0) {
                pack_case(r, kinds[i], n, false);
                pack_case(r, kinds[i], n, true);
            }
}

void mx_convert(mx_report *r, mx_effort effort)
{
    integers(r, effort);
    integers_and_floats(r, effort);
    between_floats(r, effort);
    same_bits(r, effort);
    offsets(r, effort);
    packs(r);
}

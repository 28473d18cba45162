/* Products in a loop, compiled to PTX and run on the simulator, with operands in every order in memory: as they are,
   transposed by a permute, transposed by the view. The elements are small whole numbers, so that the result is exact in
   any order of sums. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/ptxsim/harness.h"
#include "tests/ptxsim/ptxsim.h"
#include "tests/unit/test.h"

enum { MOST = 7, STEPS = 3 };

static const double whole[MOST] = {-3, -2, -1, 0, 1, 2, 3}, powers[MOST] = {0.125, 0.25, 0.5, 1, 2, 4, 8},
                    powers_and_zero[MOST] = {0, 0.25, 0.5, 1, 2, 4, 8};

typedef struct number_type {
    const char *name, *sum;
    uint32_t bytes;
    uint64_t of[MOST]; /* the patterns of */
    const double *values;
    const char
        *memory; /* its elements lie two to a byte there, in a tensor of this type; NULL: one for one, of its own */
} number_type;

static const number_type f16 = {"f16", "f32", 2, {0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200}, whole, NULL};
static const number_type bf16 = {"bf16", "f32", 2, {0xC040, 0xC000, 0xBF80, 0, 0x3F80, 0x4000, 0x4040}, whole, NULL};
static const number_type tf32 = {"tf32", "f32",
                                 4,      {0xC0400000, 0xC0000000, 0xBF800000, 0, 0x3F800000, 0x40000000, 0x40400000},
                                 whole,  NULL};
static const number_type f32 = {"f32", "f32",
                                4,     {0xC0400000, 0xC0000000, 0xBF800000, 0, 0x3F800000, 0x40000000, 0x40400000},
                                whole, NULL};
static const number_type f64 = {"f64",
                                "f64",
                                8,
                                {0xC008000000000000, 0xC000000000000000, 0xBFF0000000000000, 0, 0x3FF0000000000000,
                                 0x4000000000000000, 0x4008000000000000},
                                whole,
                                NULL};
static const number_type e4m3 = {"f8E4M3FN", "f32", 1, {0xC4, 0xC0, 0xB8, 0, 0x38, 0x40, 0x44}, whole, NULL};
static const number_type e4m3_fast = {"f8E4M3FN", "f32", 1, {0xC4, 0xC0, 0xB8, 0, 0x38, 0x40, 0x44},
                                      whole,      NULL}; /* with fast_acc */
static const number_type e5m2 = {"f8E5M2", "f32", 1, {0xC2, 0xC0, 0xBC, 0, 0x3C, 0x40, 0x42}, whole, NULL};
static const number_type e8m0 = {"f8E8M0FNU", "f32", 1, {124, 125, 126, 127, 128, 129, 130}, powers, NULL};
static const number_type ue4m3 = {"f8E4M3FN",      "f32", 1, {0x80, 0x28, 0x30, 0x38, 0x40, 0x48, 0x50},
                                  powers_and_zero, NULL};
static const number_type e2m1 = {"f4E2M1FN", "f32", 1, {13, 12, 10, 0, 2, 4, 5}, whole, "f4E2M1FN"};
static const number_type e2m1_bytes = {"f4E2M1FN", "f32", 1, {13, 12, 10, 0, 2, 4, 5},
                                       whole,      "i8"}; /* unpacked once they are loaded */
static const number_type i8 = {"i8", "i32", 1, {0xFD, 0xFE, 0xFF, 0, 1, 2, 3}, whole, NULL};

/* How an operand lies in memory. */
typedef enum order { AS_IS, PERMUTED, BY_VIEW } order;

typedef struct example {
    const number_type *type;
    uint32_t m, n, k; /* of the tiles; K of the matrices is STEPS times as much */
    order a, b;
    const char *target;
    const char *has,
        *lacks; /* what the text must and must not hold (ld.global: a load that is not pipelined); NULL: nothing */
    const number_type *scale; /* of blocks of K; NULL: there are none */
    uint32_t block;
} example;

static const example examples[] = {
    {&f16, 64, 64, 32, AS_IS, AS_IS, "sm_80", ".x4.trans", "ld.global", NULL, 0},
    {&f16, 64, 64, 32, AS_IS, PERMUTED, "sm_80", "cp.async", ".trans", NULL, 0},
    {&bf16, 64, 32, 64, PERMUTED, BY_VIEW, "sm_80", ".x4.trans", "ld.global", NULL, 0},
    {&f16, 32, 128, 16, BY_VIEW, PERMUTED, "sm_80", ".x4.trans", NULL, NULL, 0},
    {&f16, 128, 128, 128, AS_IS, PERMUTED, "sm_80", "mma.sync", NULL, NULL, 0}, /* in parts: 48 KiB are not enough */
    {&bf16, 128, 64, 128, PERMUTED, AS_IS, "sm_86", "mma.sync", NULL, NULL, 0},
    {&tf32, 64, 64, 128, AS_IS, AS_IS, "sm_90", "cp.async", "ld.global", NULL, 0},
    {&tf32, 32, 32, 32, PERMUTED, PERMUTED, "sm_90a", "cp.async", "ld.global", NULL, 0},
    {&tf32, 8, 32, 32, PERMUTED, AS_IS, "sm_90a", "cp.async", "ld.global", NULL, 0},
    {&tf32, 16, 8, 32, AS_IS, PERMUTED, "sm_90a", "cp.async", "ld.global", NULL, 0},
    {&i8, 128, 128, 256, BY_VIEW, AS_IS, "sm_80", "cp.async", "ld.global", NULL, 0}, /* in slices of K */
    {&f32, 64, 32, 128, AS_IS, AS_IS, "sm_80", "fma.rn.f32", "mma.sync", NULL, 0},
    {&f32, 64, 64, 32, AS_IS, AS_IS, "sm_90a", "cp.async", "ld.global", NULL, 0}, /* in blocks of registers */
    {&f32, 64, 32, 32, PERMUTED, BY_VIEW, "sm_80", "ld.shared.v4", "ld.global", NULL, 0},
    {&f32, 32, 128, 64, BY_VIEW, PERMUTED, "sm_90a", "ld.shared.v4", "ld.global", NULL, 0},
    {&f32, 16, 32, 8, PERMUTED, AS_IS, "sm_90a", "ld.shared.v4", NULL, NULL, 0},
    {&f64, 64, 64, 16, AS_IS, AS_IS, "sm_90a", "m16n8k8.row.col.f64", "ld.global", NULL, 0},
    {&f64, 64, 32, 32, PERMUTED, BY_VIEW, "sm_90", "m16n8k8.row.col.f64", "ld.global", NULL, 0},
    {&f64, 32, 64, 16, BY_VIEW, PERMUTED, "sm_80", "m8n8k4.row.col.f64", "ld.global", NULL, 0},
    {&f64, 16, 8, 8, PERMUTED, AS_IS, "sm_120", "m16n8k8.row.col.f64", "fma.rn.f64", NULL, 0},
    {&f64, 64, 64, 64, AS_IS, AS_IS, "sm_89", "m8n8k4.row.col.f64", "fma.rn.f64", NULL, 0}, /* in parts of K */
    {&f64, 128, 128, 32, AS_IS, PERMUTED, "sm_90", "m16n8k8.row.col.f64", "fma.rn.f64", NULL, 0},
    {&f64, 8, 64, 16, AS_IS, AS_IS, "sm_90a", "fma.rn.f64", "mma.sync", NULL, 0}, /* fewer rows than an instruction's */
    {&f64, 32, 32, 4, AS_IS, AS_IS, "sm_90a", "fma.rn.f64", "mma.sync", NULL, 0},
    {&f16, 1, 64, 64, AS_IS, AS_IS, "sm_80", "mma.sync", "fma.rn.f32", NULL, 0}, /* fewer rows than an instruction's */
    {&bf16, 1, 128, 128, AS_IS, PERMUTED, "sm_90a", "cp.async", "fma.rn.f32", NULL, 0},
    {&f16, 2, 8, 32, PERMUTED, BY_VIEW, "sm_90a", "mma.sync", "fma.rn.f32", NULL, 0},
    {&bf16, 4, 128, 64, AS_IS, AS_IS, "sm_90a", "cp.async", "fma.rn.f32", NULL, 0},
    {&f16, 8, 64, 64, PERMUTED, AS_IS, "sm_80", "ldmatrix.sync.aligned.m8n8.x4.trans", "fma.rn.f32", NULL, 0},
    {&tf32, 4, 32, 32, AS_IS, AS_IS, "sm_80", "mma.sync", "fma.rn.f32", NULL, 0},
    {&i8, 1, 64, 64, AS_IS, AS_IS, "sm_80", "mma.sync", "dp4a", NULL, 0},
    {&i8, 8, 32, 64, AS_IS, PERMUTED, "sm_90a", "mma.sync", "dp4a", NULL, 0},
    {&e4m3, 2, 64, 64, AS_IS, PERMUTED, "sm_90a", "mma.sync", "fma.rn.f32", NULL, 0},
    {&e5m2, 4, 64, 64, AS_IS, AS_IS, "sm_89", "e5m2.e5m2", "fma.rn.f32", NULL, 0},
    {&tf32, 64, 64, 32, AS_IS, PERMUTED, "sm_80", "cp.async", "ld.global", NULL, 0},
    {&tf32, 32, 32, 32, AS_IS, AS_IS, "sm_80", "mma.sync", NULL, NULL, 0},
    {&f16, 128, 256, 64, AS_IS, AS_IS, "sm_90a", "mbarrier.try_wait", "ld.global", NULL, 0},
    {&f16, 128, 128, 64, AS_IS, PERMUTED, "sm_80", "cp.async.wait_group 1", "ld.global", NULL,
     0}, /* in parts of K: 48 KiB */
    {&bf16, 64, 256, 64, PERMUTED, AS_IS, "sm_80", "cp.async", "ld.global", NULL, 0},
    {&tf32, 128, 64, 64, AS_IS, BY_VIEW, "sm_120", "cp.async", "ld.global", NULL, 0},
    {&i8, 128, 128, 128, AS_IS, AS_IS, "sm_89", "prmt.b32", "ld.global", NULL, 0},
    {&i8, 64, 64, 64, AS_IS, AS_IS, "sm_80", "prmt.b32", "ld.global", NULL, 0},
    {&i8, 64, 64, 64, AS_IS, BY_VIEW, "sm_80", "cp.async", "prmt.b32", NULL, 0},
    {&i8, 32, 128, 32, AS_IS, AS_IS, "sm_80", "prmt.b32", NULL, NULL, 0},
    {&i8, 64, 64, 64, PERMUTED, AS_IS, "sm_80", "mma.sync", NULL, NULL, 0},
    {&e4m3, 64, 64, 64, AS_IS, AS_IS, "sm_89", "e4m3.e4m3", "ld.global", NULL, 0},
    {&e4m3, 64, 64, 64, AS_IS, PERMUTED, "sm_80", "mul.rn.f16x2", "ld.global", NULL, 0},
    {&e4m3, 64, 64, 64, AS_IS, PERMUTED, "sm_90a", "m64n64k32.f32.e4m3.e4m3", "ld.global", NULL, 0},
    {&e5m2, 128, 256, 128, AS_IS, BY_VIEW, "sm_90a", "m64n128k32.f32.e5m2.e5m2", "mma.sync", NULL, 0},
    {&e4m3, 64, 64, 256, AS_IS, PERMUTED, "sm_90a", "add.rn.f32", "mma.sync", NULL, 0}, /* sums of 128 are added up */
    {&e4m3, 128, 128, 256, AS_IS, AS_IS, "sm_90a", "add.rn.f32", "mma.sync", NULL, 0},
    {&e4m3_fast, 128, 128, 256, AS_IS, AS_IS, "sm_90a", "m64n128k32", "add.rn.f32", NULL, 0},
    {&e4m3, 32, 32, 64, AS_IS, AS_IS, "sm_89", "add.rn.f32", "cvt.rn.f16x2", NULL, 0},
    {&e4m3, 32, 32, 64, AS_IS, AS_IS, "sm_120a", "e4m3.e4m3", "add.rn.f32", NULL, 0},
    {&i8, 128, 32, 64, AS_IS, PERMUTED, "sm_90a", "m64n32k32.s32.s8.s8", "mma.sync", NULL, 0},
    {&i8, 64, 64, 32, AS_IS, AS_IS, "sm_90a", "mma.sync", "wgmma", NULL, 0}, /* one step along K */
    {&tf32, 128, 64, 64, AS_IS, BY_VIEW, "sm_90a", "m64n64k8.f32.tf32.tf32", "mma.sync", NULL, 0},
    {&e4m3, 32, 128, 128, BY_VIEW, AS_IS, "sm_90a", "wgmma.mma_async", NULL, NULL, 0},
    {&e4m3, 32, 64, 64, BY_VIEW, AS_IS, "sm_90a", "mma.sync", "wgmma", NULL, 0}, /* too short for producers */
    {&f16, 64, 64, 64, AS_IS, AS_IS, "sm_90a", "wgmma", "mma.sync", NULL, 0},
    {&f16, 128, 128, 64, AS_IS, PERMUTED, "sm_90a", "wgmma", "ld.global", NULL, 0},
    {&bf16, 64, 128, 32, PERMUTED, AS_IS, "sm_90a", "wgmma", "ld.global", NULL, 0},
    {&bf16, 128, 32, 32, BY_VIEW, BY_VIEW, "sm_90a", "wgmma", "ld.global", NULL, 0},
    {&f16, 128, 64, 16, AS_IS, PERMUTED, "sm_90a", "wgmma", "ld.global", NULL, 0},
    {&f16, 64, 16, 128, AS_IS, PERMUTED, "sm_90a", "wgmma", "ld.global", NULL, 0},
    {&tf32, 128, 256, 32, AS_IS, AS_IS, "sm_90a", "m64n128k8.f32.tf32.tf32", "mma.sync", NULL, 0},
    {&tf32, 64, 64, 16, AS_IS, AS_IS, "sm_90a", "m64n64k8.f32.tf32.tf32", "mma.sync", NULL, 0},
    {&tf32, 256, 128, 32, BY_VIEW, AS_IS, "sm_90a", "wgmma.mma_async", NULL, NULL, 0},
    {&e4m3, 64, 64, 64, AS_IS, AS_IS, "sm_120a", "block_scale", "fma.rn.f32", &e8m0, 32},
    {&e4m3, 64, 128, 64, AS_IS, PERMUTED, "sm_121a", "cp.async", "fma.rn.f32", &e8m0, 32},
    {&e5m2, 16, 8, 32, AS_IS, BY_VIEW, "sm_120a", "ue8m0", "fma.rn.f32", &e8m0, 32},
    {&e5m2, 128, 32, 128, PERMUTED, AS_IS, "sm_120a", "e5m2.e5m2", "fma.rn.f32", &e8m0, 32},
    {&e5m2, 128, 128, 256, AS_IS, PERMUTED, "sm_121a", "cp.async", "fma.rn.f32", &e8m0,
     32}, /* in parts of K, by way of the ring */
    {&e4m3, 128, 128, 512, BY_VIEW, AS_IS, "sm_120a", "block_scale", "cp.async", &e8m0, 32}, /* and of scratch */
    {&e4m3, 16, 16, 32, AS_IS, AS_IS, "sm_100a", "m16n8k16", "block_scale", &e8m0, 32},
    {&e4m3, 64, 64, 256, AS_IS, PERMUTED, "sm_100a", "kind::mxf8f6f4.block_scale.scale_vec::1X", "mma.sync", &e8m0, 32},
    {&e4m3, 64, 128, 64, AS_IS, PERMUTED, "sm_90a", "cp.async", "ld.global.v", &e8m0, 32},
    {&e5m2, 64, 32, 128, PERMUTED, AS_IS, "sm_80", "m16n8k16", "mul.rn.f16x2", &e8m0, 32},
    {&e4m3, 128, 128, 128, AS_IS, PERMUTED, "sm_80", "cp.async", "block_scale", &e8m0,
     32}, /* in parts, beside scales in scratch */
    {&e4m3, 16, 8, 32, BY_VIEW, AS_IS, "sm_120", "m16n8k16", "block_scale", &e8m0, 32},
    {&e2m1, 64, 64, 128, AS_IS, PERMUTED, "sm_120a", "cp.async", "ld.global.v", &e8m0, 32},
    {&e2m1_bytes, 64, 64, 128, AS_IS, PERMUTED, "sm_121a", "cp.async", "ld.global.v", &e8m0, 32},
    {&e2m1, 32, 64, 64, BY_VIEW, BY_VIEW, "sm_120a", "kind::mxf4.block_scale.scale_vec::2X", "fma.rn.f32", &e8m0, 32},
    {&e2m1_bytes, 32, 32, 128, PERMUTED, AS_IS, "sm_120a", "ldmatrix.sync.aligned.m8n8.x4.trans", "fma.rn.f32", &e8m0,
     32},
    {&e2m1_bytes, 128, 128, 256, AS_IS, PERMUTED, "sm_120a", "scale_vec::4X", "fma.rn.f32", &ue4m3, 16},
    {&e2m1, 64, 128, 512, AS_IS, PERMUTED, "sm_120a", "cp.async", "fma.rn.f32", &ue4m3,
     16}, /* in parts of K, by way of the ring */
    {&e2m1_bytes, 64, 128, 512, AS_IS, PERMUTED, "sm_121a", "cp.async", "fma.rn.f32", &ue4m3, 16},
    {&e2m1, 128, 128, 1024, PERMUTED, AS_IS, "sm_121a", "ue4m3", "cp.async", &ue4m3, 16}, /* and of scratch */
    {&e2m1, 16, 8, 64, AS_IS, AS_IS, "sm_120a", "ue4m3", "fma.rn.f32", &ue4m3, 16},
    {&e2m1, 64, 32, 128, AS_IS, BY_VIEW, "sm_120a", "scale_vec::2X", "fma.rn.f32", &e8m0, 16}, /* blocks in turn */
    {&e2m1_bytes, 32, 16, 64, PERMUTED, PERMUTED, "sm_121a", "xor.b32", "fma.rn.f32", &e8m0, 16},
    {&e2m1, 16, 16, 64, AS_IS, AS_IS, "sm_100a", "m16n8k16", "block_scale", &ue4m3, 16},
    {&e2m1, 128, 64, 128, AS_IS, PERMUTED, "sm_90a", "cp.async", "block_scale", &ue4m3, 16},
    {&e2m1_bytes, 64, 64, 128, AS_IS, PERMUTED, "sm_80", "cp.async", "block_scale", &e8m0, 32},
    {&e2m1_bytes, 128, 128, 256, AS_IS, PERMUTED, "sm_80", "m16n8k16", "block_scale", &ue4m3, 16},
    {&e2m1, 16, 8, 64, PERMUTED, AS_IS, "sm_120", "m16n8k16", "block_scale", &e8m0, 32},
    {&e2m1, 32, 32, 32, AS_IS, AS_IS, "sm_120a", "fma.rn.f32", "mma.sync", &e8m0,
     32}, /* half of what an instruction takes */
};

static void report(void *user, const tv_diag *d)
{
    fprintf(stderr, "%s: %s: %.*s\n", (const char *)user, d->rule, (int)d->message.len, d->message.ptr);
}

/* ---- the kernel ---- */

/* An operand: a tile of rows x columns of a matrix. */
typedef struct operand {
    const char *name;
    const number_type *type;
    order how;
    uint32_t rows, columns, matrix_rows, matrix_columns;
    const char *index; /* of the tile as it lies in the view */
} operand;

static operand left_of(const example *e)
{
    const char *index = e->a == PERMUTED ? "%i, %zero" : "%zero, %i";
    return (operand){"a", e->type, e->a, e->m, e->k, e->m, e->k * STEPS, index};
}

static operand right_of(const example *e)
{
    const char *index = e->b == PERMUTED ? "%zero, %i" : "%i, %zero";
    return (operand){"b", e->type, e->b, e->k, e->n, e->k * STEPS, e->n, index};
}

static operand scales_of(const example *e, const operand *o)
{
    uint32_t block = e->block;
    if (o->name[0] == 'a')
        return (operand){
            "s", e->scale, AS_IS, o->rows, o->columns / block, o->matrix_rows, o->matrix_columns / block, "%zero, %i"};
    return (
        operand){"t",        e->scale, AS_IS, o->rows / block, o->columns, o->matrix_rows / block, o->matrix_columns,
                 "%i, %zero"};
}

/* In memory. */
static const char *stored_name(const number_type *t)
{
    return t->memory ? t->memory : t->name;
}

/* Elements in one of those. */
static uint32_t elements_in_one(const number_type *t)
{
    return strcmp(stored_name(t), t->name) == 0 ? 1 : 2;
}

static void put_tile_type(bc_text *out, const operand *o)
{
    bc_text_printf(out, "tile<%ux%ux%s>", o->rows, o->columns, o->type->name);
}

static void put_view_type(bc_text *out, const operand *o)
{
    const char *t = stored_name(o->type);
    bool turned = o->how != AS_IS, permuted = o->how == PERMUTED;
    uint32_t one = elements_in_one(o->type), r = turned ? o->matrix_columns : o->matrix_rows;
    uint32_t c = (turned ? o->matrix_rows : o->matrix_columns) / one;
    bc_text_printf(out, "partition_view<tile=(%ux%u), padding_value = zero, tensor_view<%ux%ux%s, strides=[%u,1]>%s>",
                   permuted ? o->columns : o->rows, (permuted ? o->rows : o->columns) / one, r, c, t, c,
                   o->how == BY_VIEW ? ", dim_map=[1, 0]" : "");
}

static void put_view(bc_text *out, const operand *o)
{
    const char *x = o->name, *t = stored_name(o->type);
    bool turned = o->how != AS_IS;
    uint32_t r = turned ? o->matrix_columns : o->matrix_rows;
    uint32_t c = (turned ? o->matrix_rows : o->matrix_columns) / elements_in_one(o->type);
    bc_text_printf(out, "%%%s0 = assume div_by<16>, %%%s : tile<ptr<%s>>\n", x, x, t);
    bc_text_printf(out, "%%%s1 = make_tensor_view %%%s0, shape = [%u, %u], strides = [%u, 1] : ", x, x, r, c, c);
    bc_text_printf(out, "tensor_view<%ux%ux%s, strides=[%u,1]>\n%%%s_m = make_partition_view %%%s1 : ", r, c, t, c, x,
                   x);
    put_view_type(out, o);
    bc_text_char(out, '\n');
}

/* The tile as %x_x. */
static void put_load(bc_text *out, const operand *o)
{
    const char *x = o->name, *t = o->type->name, *stored = stored_name(o->type);
    bool permuted = o->how == PERMUTED;
    uint32_t r = permuted ? o->columns : o->rows, c = permuted ? o->rows : o->columns, one = elements_in_one(o->type);
    bc_text_printf(out, "%%%s%s, %%%s_t = load_view_tko weak %%%s_m[%s] token = %%0 : ", x, one > 1 ? "_b" : "2", x, x,
                   o->index);
    put_view_type(out, o);
    bc_text_printf(out, ", tile<i32> -> tile<%ux%ux%s>, token\n", r, c / one, stored);
    if (one > 1) {
        bc_text_printf(out, "%%%s_l = reshape %%%s_b : tile<%ux%ux%s> -> tile<%ux%s>\n", x, x, r, c / one, stored,
                       r * c / one, stored);
        bc_text_printf(out, "%%%s_u = unpack %%%s_l : tile<%ux%s> -> tile<%ux%s>\n", x, x, r * c / one, stored, r * c,
                       t);
        bc_text_printf(out, "%%%s2 = reshape %%%s_u : tile<%ux%s> -> tile<%ux%ux%s>\n", x, x, r * c, t, r, c, t);
    }
    bc_text_printf(out, "%%%s_x = %s %%%s2 %s : ", x, permuted ? "permute" : "reshape", x, permuted ? "[1, 0]" : "");
    bc_text_printf(out, "tile<%ux%ux%s> -> tile<%ux%ux%s>\n", r, c, t, o->rows, o->columns, t);
}

/* The product of what was loaded, as %d. */
static void put_product(bc_text *out, const example *e, const operand *operands, uint32_t count, const char *tile)
{
    bool integer = strcmp(e->type->sum, "i32") == 0;
    bc_text_printf(out, "%%d = %s %%a_x, %%b_x, %%acc%s : ",
                   integer    ? "mmai"
                   : e->scale ? "mmaf_scaled"
                              : "mmaf",
                   integer                 ? " signed signed"
                   : e->type == &e4m3_fast ? " fast_acc"
                   : e->scale              ? ", %s_x, %t_x"
                                           : "");
    for (uint32_t i = 0; i < count; i++) {
        if (i == 2)
            bc_text_printf(out, "%s, ", tile);
        put_tile_type(out, &operands[i]);
        bc_text_puts(out, i + 1 < count ? ", " : "");
    }
    bc_text_printf(out, "%s%s\ncontinue %%d : %s\n}\n", e->scale ? "" : ", ", e->scale ? "" : tile, tile);
}

static void put_kernel(bc_text *out, const example *e)
{
    const char *t = stored_name(e->type), *sum = e->type->sum;
    bool integer = strcmp(sum, "i32") == 0;
    uint32_t count = e->scale ? 4 : 2;
    operand operands[4] = {left_of(e), right_of(e)};
    char tile[64], view[128];
    snprintf(tile, sizeof tile, "tile<%ux%ux%s>", e->m, e->n, sum);
    snprintf(view, sizeof view, "tensor_view<%ux%ux%s, strides=[%u,1]>", e->m, e->n, sum, e->n);
    for (uint32_t i = 2; i < count; i++)
        operands[i] = scales_of(e, &operands[i - 2]);
    bc_text_puts(out, "cuda_tile.module @m { entry @k(");
    bc_text_printf(out, "%%a: tile<ptr<%s>>, %%b: tile<ptr<%s>>, %%c: tile<ptr<%s>>", t, t, sum);
    if (e->scale)
        bc_text_printf(out, ", %%s: tile<ptr<%s>>, %%t: tile<ptr<%s>>", e->scale->name, e->scale->name);
    bc_text_puts(out, ") {\n");
    bc_text_puts(
        out, "%0 = make_token : token\n%zero = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n");
    bc_text_printf(out, "%%steps = constant <i32: %d> : tile<i32>\n", STEPS);
    for (uint32_t i = 0; i < count; i++)
        put_view(out, &operands[i]);
    bc_text_printf(out, "%%start = constant <%s: %s> : %s\n", sum, integer ? "0" : "0.0", tile);
    bc_text_puts(out, "%r = for %i in (%zero to %steps, step %one) : tile<i32> ");
    bc_text_printf(out, "iter_values(%%acc = %%start) -> (%s) {\n", tile);
    for (uint32_t i = 0; i < count; i++)
        put_load(out, &operands[i]);
    put_product(out, e, operands, count, tile);
    bc_text_printf(out, "%%c1 = make_tensor_view %%c, shape = [%u, %u], strides = [%u, 1] : %s\n", e->m, e->n, e->n,
                   view);
    bc_text_printf(out, "%%c_m = make_partition_view %%c1 : partition_view<tile=(%ux%u), %s>\n", e->m, e->n, view);
    bc_text_printf(out, "%%u = store_view_tko weak %%r, %%c_m[%%zero, %%zero] token = %%0 : %s, ", tile);
    bc_text_printf(out, "partition_view<tile=(%ux%u), %s>, tile<i32> -> token\nreturn\n} }\n", e->m, e->n, view);
}

/* ---- matrices ---- */

/* 0 to MOST - 1: what `of` is indexed by. */
static int small(uint32_t seed, uint32_t row, uint32_t column)
{
    uint32_t x = seed + row * 2654435761u + column * 2246822519u;
    x ^= x >> 15;
    return (int)(x * 2654435761u >> 20) % MOST;
}

static size_t matrix_bytes(const number_type *type, uint32_t rows, uint32_t columns)
{
    size_t count = (size_t)rows * columns;
    return type->memory ? count / 2 : count * type->bytes;
}

static unsigned char *matrix(const number_type *type, uint32_t seed, order how, uint32_t rows, uint32_t columns)
{
    uint32_t bytes = type->bytes;
    unsigned char *x = calloc(1, matrix_bytes(type, rows, columns));
    if (!x)
        abort();
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++) {
            size_t at = how == AS_IS ? r * columns + c : c * rows + r;
            const uint64_t *is = &type->of[small(seed, r, c)];
            if (type->memory)
                x[at / 2] |= (unsigned char)(*is << at % 2 * 4);
            else
                memcpy(x + at * bytes, is, bytes);
        }
    return x;
}

static size_t sum_bytes(const example *e)
{
    return e->type == &f64 ? 8 : 4;
}

static void compare(const example *e, const char *name, const unsigned char *result)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < e->m; i++)
        for (uint32_t j = 0; j < e->n; j++) {
            int is;
            double sum = 0;
            for (uint32_t k = 0; k < e->k * STEPS; k++) {
                double product = whole[small(1, i, k)] * whole[small(2, k, j)];
                if (e->scale)
                    product *= e->scale->values[small(3, i, k / e->block)]
                               * e->scale->values[small(4, k / e->block, j)];
                sum += product;
            }
            float as_float;
            double as_double;
            const unsigned char *at = result + sum_bytes(e) * (i * e->n + j);
            memcpy(&is, at, 4);
            memcpy(&as_float, at, 4);
            memcpy(&as_double, at, sum_bytes(e));
            wrong += strcmp(e->type->sum, "i32") == 0 ? is != sum
                     : e->type == &f64                ? as_double != sum
                                                      : as_float != sum;
        }
    CHECK_MSG(wrong == 0, "%s: %u elements are wrong", name, wrong);
}

static void run(const example *e, const char *name, const bc_text *text)
{
    char error[256] = "";
    ptxsim *sim = ptxsim_load(text->ptr, text->len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", name, error);
    if (!sim)
        return;
    size_t result_bytes = sum_bytes(e) * e->m * e->n;
    uint32_t all = e->k * STEPS, blocks = e->scale ? all / e->block : 1;
    const number_type *scale = e->scale ? e->scale : &e8m0;
    unsigned char *a = matrix(e->type, 1, e->a, e->m, all), *b = matrix(e->type, 2, e->b, all, e->n);
    unsigned char *s = matrix(scale, 3, AS_IS, e->m, blocks), *t = matrix(scale, 4, AS_IS, blocks, e->n);
    unsigned char *c = calloc(1, result_bytes);
    if (!c)
        abort();
    uint64_t address[] = {ptxsim_buffer_add(sim, a, matrix_bytes(e->type, e->m, all), "a"),
                          ptxsim_buffer_add(sim, b, matrix_bytes(e->type, all, e->n), "b"),
                          ptxsim_buffer_add(sim, c, result_bytes, "c"),
                          ptxsim_buffer_add(sim, s, (size_t)e->m * blocks, "s"),
                          ptxsim_buffer_add(sim, t, (size_t)e->n * blocks, "t")};
    const void *params[] = {&address[0], &address[1], &address[2], &address[3], &address[4]};
    bool ok = ptxsim_run(sim, &(ptxsim_launch){.grid = {1, 1, 1}, .params = params});
    CHECK_MSG(ok, "%s: %s", name, ptxsim_report_text(sim));
    if (ok)
        compare(e, name, c);
    ptxsim_free(sim);
    free(a);
    free(b);
    free(c);
    free(s);
    free(t);
}

static void check_example(const example *e)
{
    static const char *const orders[] = {" as it is", " permuted", " turned by its view"};
    char name[128];
    snprintf(name, sizeof name, "%s%s%s, %ux%ux%u, a%s, b%s, %s", e->scale ? "scaled " : "", e->type->name,
             elements_in_one(e->type) > 1 ? " in bytes" : "", e->m, e->n, e->k, orders[e->a], orders[e->b], e->target);
    tv_module *module = NULL;
    tv_sink sink = {name, report};
    bc_text source, text;
    bc_text_init(&source, NULL);
    bc_text_init(&text, NULL);
    put_kernel(&source, e);
    bool ok = tv_module_parse(source.ptr, source.len, 0, NULL, sink, &module) == TV_OK
              && tv_module_verify(module, NULL, sink) == TV_OK
              && tv_compile_ptx(module, &(tv_compile_options){.target = e->target, .opt_level = 3}, sink,
                                (tv_writer){&text, bc_text_append})
                     == TV_OK;
    bc_text_char(&text, '\0');
    CHECK_MSG(ok, "%s", name);
    if (ok) {
        text.len--;
        CHECK_MSG(strstr(text.ptr, e->has), "%s: no '%s'", name, e->has);
        CHECK_MSG(!e->lacks || !strstr(text.ptr, e->lacks), "%s: '%s'", name, e->lacks);
        CHECK_MSG(harness_ptxas(text.ptr, text.len, e->target), "%s", name);
        run(e, name, &text);
    }
    tv_module_close(module);
    bc_text_release(&source);
    bc_text_release(&text);
}

int main(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (test_turn())
            check_example(&examples[i]);
    return TEST_END("compile_products");
}

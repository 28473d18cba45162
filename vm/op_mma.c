/* Matrix multiply-accumulate. Operands narrower than f32 are widened into packed storage first; vm/mma.inc multiplies.

   mmaf of f32 and f64   sum = +0, then sum = round(sum + round(a * b)) with k ascending, then round(sum + acc)
   other mmaf            sum = acc, then sum = fma(a, b, sum) in f32 with k ascending (products are exact), rounded to
                         f16 once at the end where the accumulator is f16
   mmai                  modulo 2^32
   mmaf_scaled           every operand times its scale, exact in f64; sum = acc, then fma in f64; rounded once to f32 */
#include <string.h>

#include "bytecode/number.h"
#include "vm/emit.h"

/* How the elements of one operand become what the kernel wants. */
typedef struct mma_operand {
    size_t from, wide;         /* where the tile lies (or its vm_rows); where the widened one goes */
    bool rows, widened;
    uint8_t row_bits;
    uint8_t bytes, wide_bytes; /* of an element */
    vm_kernel *widen;
    const void *table;         /* by pattern of an 8-bit element, instead */
    uint32_t mask;             /* tf32: bits that count, instead */
    size_t scale;              /* scaled: where the scales lie, and by how many elements of k they change */
    const double *scale_table;
    bool is_scaled;
} mma_operand;

typedef struct mma_inst {
    vm_inst head;
    mma_operand lhs, rhs;
    size_t acc, out, wide_acc;
    size_t batch, m, n, k, blocks;   /* blocks: scales along k */
    uint8_t acc_bytes;
    vm_kernel *widen_acc, *narrow_acc;
    uint8_t wide_acc_bytes;
    vm_mma_kernel *kernel;
} mma_inst;

/* ---- running ---- */

static void widen_some(const mma_operand *o, unsigned char *to, const unsigned char *from, size_t n)
{
    if (o->widen) {
        o->widen(to, from, NULL, NULL, n);
    } else if (o->mask) {
        for (size_t i = 0; i < n; i++) {
            uint32_t x;
            memcpy(&x, from + 4 * i, sizeof x);
            x &= o->mask;
            memcpy(to + 4 * i, &x, sizeof x);
        }
    } else if (o->wide_bytes == 8) {
        const double *table = o->table;
        for (size_t i = 0; i < n; i++)
            memcpy(to + 8 * i, &table[from[i]], 8);
    } else {
        const float *table = o->table;
        for (size_t i = 0; i < n; i++)
            memcpy(to + 4 * i, &table[from[i]], 4);
    }
}

/* One matrix of the batch, packed and wide. */
static const unsigned char *operand_matrix(vm_frame *f, const mma_operand *o, size_t batch, size_t elements)
{
    if (!o->widened)
        return f->base + o->from + batch * elements * o->bytes;
    unsigned char *to = vm_at(f, o->wide);
    if (!o->rows) {
        widen_some(o, to, f->base + o->from + batch * elements * o->bytes, elements);
        return to;
    }
    const vm_rows *rows = vm_at(f, o->from);
    size_t row = (size_t)1 << o->row_bits, first = batch * elements;
    if (rows->pitch == (int64_t)(row * o->bytes)) {
        widen_some(o, to, rows->ptr + first * o->bytes, elements);
        return to;
    }
    size_t piece = row < elements ? row : elements;
    for (size_t i = 0; i < elements; i += piece) {
        size_t at = first + i;
        widen_some(o, to + i * o->wide_bytes,
                   rows->ptr + (int64_t)(at / row) * rows->pitch + at % row * o->bytes, piece);
    }
    return to;
}

/* lhs [m x k] times its scales [m x blocks], or rhs [k x n] times [blocks x n]. */
static void apply_scales(vm_frame *f, const mma_inst *u, const mma_operand *o, size_t batch, bool is_lhs)
{
    double *x = vm_at(f, o->wide);
    const uint8_t *scale = (const uint8_t *)vm_at(f, o->scale) + batch * u->blocks * (is_lhs ? u->m : u->n);
    size_t each = u->k / u->blocks;
    if (is_lhs)
        for (size_t i = 0; i < u->m; i++)
            for (size_t p = 0; p < u->k; p++)
                x[i * u->k + p] *= o->scale_table[scale[i * u->blocks + p / each]];
    else
        for (size_t p = 0; p < u->k; p++)
            for (size_t j = 0; j < u->n; j++)
                x[p * u->n + j] *= o->scale_table[scale[p / each * u->n + j]];
}

static const vm_inst *mma_run(vm_frame *f, const vm_inst *inst)
{
    const mma_inst *u = (const mma_inst *)inst;
    size_t elements = u->m * u->n;
    for (size_t b = 0; b < u->batch; b++) {
        unsigned char *acc = f->base + u->acc + b * elements * u->acc_bytes;
        unsigned char *out = f->base + u->out + b * elements * u->acc_bytes;
        vm_mma mma = { .m = u->m, .n = u->n, .k = u->k, .lda = u->k, .ldb = u->n, .ldc = u->n };
        mma.a = operand_matrix(f, &u->lhs, b, u->m * u->k);
        mma.b = operand_matrix(f, &u->rhs, b, u->k * u->n);
        if (u->lhs.is_scaled) {
            apply_scales(f, u, &u->lhs, b, true);
            apply_scales(f, u, &u->rhs, b, false);
        }
        if (u->widen_acc) {
            u->widen_acc(vm_at(f, u->wide_acc), acc, NULL, NULL, elements);
            mma.acc = mma.c = vm_at(f, u->wide_acc);
            u->kernel(&mma);
            u->narrow_acc(out, mma.c, NULL, NULL, elements);
        } else {
            mma.acc = acc;
            mma.c = out;
            u->kernel(&mma);
        }
    }
    return inst->next;
}

/* ---- compiling ---- */

static void *make_table(vm_emit *e, bc_kind kind, bool as_double)
{
    unsigned char *table = vm_code_bytes(e, 256 * (as_double ? sizeof(double) : sizeof(float)));
    for (unsigned i = 0; i < 256; i++) {
        double x = bc_float_value(kind, i);
        float s = (float)x;
        if (as_double)
            memcpy(table + i * sizeof x, &x, sizeof x);
        else
            memcpy(table + i * sizeof s, &s, sizeof s);
    }
    return table;
}

/* Sees that an operand can be read: rows only where it is widened anyway. */
static void need_operand(vm_emit *e, const bc_value *v)
{
    if (vm_value_of(e, v)->form != VM_ROWS)
        vm_need_packed(e, v);
}

/* Binds an operand whose way of widening is set; `elements` of one matrix. */
static void bind_operand(vm_emit *e, vm_inst *inst, mma_operand *o, const bc_value *v, size_t elements)
{
    const vm_value *x = vm_value_of(e, v);
    o->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(v->type));
    o->widened = o->widen || o->table || o->mask;
    o->rows = x->form == VM_ROWS;
    o->row_bits = x->row_bits;
    if (o->rows)
        vm_read(e, inst, &o->from, v);
    else
        vm_read_packed(e, inst, &o->from, v);
    if (o->widened)
        vm_bind(e, inst, &o->wide, vm_new_storage(e, elements * o->wide_bytes, e->at), 0, VM_UPDATE);
}

static void widen_to_f32(vm_emit *e, mma_operand *o, bc_kind kind)
{
    o->wide_bytes = 4;
    if (kind == BC_F16)
        o->widen = e->code->kernels->map[VM_K_f16_f32];
    else if (kind == BC_BF16)
        o->widen = e->code->kernels->map[VM_K_bf16_f32];
    else if (kind == BC_TF32)
        o->mask = 0xffffe000u;
    else if (kind != BC_F32 && kind != BC_F64)
        o->table = make_table(e, kind, false);
}

static mma_inst *new_mma(vm_emit *e, const bc_op *op, const bc_value *lhs, const bc_value *rhs, const bc_value *acc)
{
    const bc_type *a = lhs->type, *b = rhs->type;
    need_operand(e, lhs);
    need_operand(e, rhs);
    vm_need_packed(e, acc);
    mma_inst *inst = vm_new_inst(e, op, mma_run, mma_inst);
    uint32_t r = a->rank;
    inst->batch = r == 3 ? (size_t)a->shape[0] : 1;
    inst->m = (size_t)a->shape[r - 2];
    inst->k = (size_t)a->shape[r - 1];
    inst->n = (size_t)b->shape[r - 1];
    inst->acc_bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(acc->type));
    return inst;
}

static void finish_mma(vm_emit *e, const bc_op *op, mma_inst *inst, const bc_value *lhs, const bc_value *rhs,
                       const bc_value *acc)
{
    bind_operand(e, &inst->head, &inst->lhs, lhs, inst->m * inst->k);
    bind_operand(e, &inst->head, &inst->rhs, rhs, inst->k * inst->n);
    vm_read_packed(e, &inst->head, &inst->acc, acc);
    if (inst->widen_acc)
        vm_bind(e, &inst->head, &inst->wide_acc,
                vm_new_storage(e, inst->m * inst->n * inst->wide_acc_bytes, e->at), 0, VM_UPDATE);
    const bc_value *result = vm_result(op, 0);
    vm_write(e, &inst->head, &inst->out, result);
    const vm_value *from = vm_value_of(e, acc);
    vm_affinity(e, &inst->head, vm_has_packed(e, from) ? from->packed : from->storage,
                vm_value_of(e, result)->storage);
    vm_append(e, &inst->head);
}

void vm_mmaf(vm_emit *e, const bc_op *op)
{
    const vm_kernels *kernels = e->code->kernels;
    const bc_value *lhs = bc_operand(op, F_mmaf_lhs), *rhs = bc_operand(op, F_mmaf_rhs);
    const bc_value *acc = bc_operand(op, F_mmaf_acc);
    bc_kind kind = bc_elem_kind(lhs->type);
    mma_inst *inst = new_mma(e, op, lhs, rhs, acc);
    widen_to_f32(e, &inst->lhs, kind);
    widen_to_f32(e, &inst->rhs, kind);
    inst->kernel = kind == BC_F32 ? kernels->mma_f32 : kind == BC_F64 ? kernels->mma_f64 : kernels->mma_fused_f32;
    if (bc_elem_kind(acc->type) == BC_F16) {
        inst->widen_acc = kernels->map[VM_K_f16_f32];
        inst->narrow_acc = kernels->map[VM_K_f32_f16];
        inst->wide_acc_bytes = 4;
    }
    finish_mma(e, op, inst, lhs, rhs, acc);
}

void vm_mmai(vm_emit *e, const bc_op *op)
{
    const vm_kernels *kernels = e->code->kernels;
    const bc_value *lhs = bc_operand(op, F_mmai_lhs), *rhs = bc_operand(op, F_mmai_rhs);
    const bc_value *acc = bc_operand(op, F_mmai_acc);
    mma_inst *inst = new_mma(e, op, lhs, rhs, acc);
    bool ls = bc_attr_u(op, F_mmai_signedness_lhs) == BC_Signedness_signed;
    bool rs = bc_attr_u(op, F_mmai_signedness_rhs) == BC_Signedness_signed;
    inst->lhs.widen = kernels->map[ls ? VM_K_sext_8_16 : VM_K_zext_8_16];
    inst->rhs.widen = kernels->map[rs ? VM_K_sext_8_16 : VM_K_zext_8_16];
    inst->lhs.wide_bytes = inst->rhs.wide_bytes = 2;
    inst->kernel = kernels->mma_s32;
    finish_mma(e, op, inst, lhs, rhs, acc);
}

static void set_scale(vm_emit *e, vm_inst *inst, mma_operand *o, bc_kind kind, const bc_value *scale)
{
    o->wide_bytes = 8;
    o->table = make_table(e, kind, true);
    o->is_scaled = true;
    o->scale_table = make_table(e, bc_elem_kind(scale->type), true);
    vm_read_packed(e, inst, &o->scale, scale);
}

void vm_mmaf_scaled(vm_emit *e, const bc_op *op)
{
    const vm_kernels *kernels = e->code->kernels;
    const bc_value *lhs = bc_operand(op, F_mmaf_scaled_lhs), *rhs = bc_operand(op, F_mmaf_scaled_rhs);
    const bc_value *acc = bc_operand(op, F_mmaf_scaled_acc);
    const bc_value *ls = bc_operand(op, F_mmaf_scaled_lhs_scale), *rs = bc_operand(op, F_mmaf_scaled_rhs_scale);
    vm_need_packed(e, ls);
    vm_need_packed(e, rs);
    mma_inst *inst = new_mma(e, op, lhs, rhs, acc);
    inst->blocks = (size_t)ls->type->shape[ls->type->rank - 1];
    set_scale(e, &inst->head, &inst->lhs, bc_elem_kind(lhs->type), ls);
    set_scale(e, &inst->head, &inst->rhs, bc_elem_kind(rhs->type), rs);
    inst->kernel = kernels->mma_fused_f64;
    inst->widen_acc = kernels->map[VM_K_f32_f64];
    inst->narrow_acc = kernels->map[VM_K_f64_f32];
    inst->wide_acc_bytes = 8;
    finish_mma(e, op, inst, lhs, rhs, acc);
}

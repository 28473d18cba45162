/* Matrix multiply-accumulate. The kernels of vm/kernels/mma.inc read rows of the left operand and panels of the right
   one, in wide elements; what is not there in this form is brought into it here: a block of rows at a time on the left,
   all of it on the right. Operands are read where they lie, also in global memory and through a transpose.

   mmaf of f32           sum = +0, then sum = fma(a, b, sum) with k ascending, then round(sum + acc)
   mmaf of f64           sum = acc, then sum = fma(a, b, sum) with k ascending
   other mmaf            sum = acc, then sum = fma(a, b, sum) in f32 with k ascending (products are exact), rounded to
                         f16 once at the end where the accumulator is f16
   mmai                  modulo 2^32
   mmaf_scaled           every operand times its scale, exact in f64; sum = acc, then fma in f64; rounded once to f32 */
#include <string.h>

#include "bytecode/number/number.h"
#include "vm/compile/emit.h"
#include "vm/compile/storage.h"
#include "vm/run/view.h"

/* Columns of a panel, at most: for memory on the stack. And the multiplications that a kernel gets at a time, unless
   one block of rows has more: so that a large product can be stopped. */
enum { MAX_PANEL = 32, MAX_STEP = 1 << 26 };

/* How one operand becomes what the kernel wants. Steps are bytes from one row, column, matrix of the tile to the next;
   rows or columns are packed. */
typedef struct mma_operand {
    size_t from;    /* where the tile lies, or its vm_rows */
    size_t staging; /* rows: where a copy goes when rows of the matrix are not those in memory */
    size_t wide;    /* where the kernel reads it, unless direct */
    size_t turned;  /* transposed: where it is wide, but not turned yet */
    size_t trail;   /* in_rows: a mma_trail */
    int64_t row_step, column_step, batch_step;
    size_t rows, columns; /* of one matrix */
    uint32_t bits;        /* elements of the tile */
    uint8_t row_bits;     /* in_rows: elements of a packed piece of memory */
    bool in_rows, direct, transposed;
    uint8_t bytes, wide_bytes; /* of an element */
    vm_widen_kernel *widen;
    const void *table; /* by pattern of an 8-bit element, instead */
    bool is_wide;      /* neither is needed to compute with it */
    bool is_scaled;
    size_t scale; /* where the scales lie */
    const double *scale_table;
} mma_operand;

typedef struct mma_inst {
    vm_inst head;
    mma_operand lhs, rhs;
    size_t acc, out, wide_acc;
    size_t batch, m, n, k;
    size_t blocks;        /* scaled: scales along k */
    size_t pitch;         /* bytes of a row of k wide elements: pairs of i16 are rounded up */
    size_t panel;         /* columns of one */
    uint8_t kernel_bytes; /* of what the kernel takes for an element: wide, or a pair of i16 */
    uint8_t acc_bytes;
    vm_kernel *widen_acc, *narrow_acc;
    uint8_t wide_acc_bytes;
    vm_mma_kernel *kernel;
} mma_inst;

/* One matrix of the batch, where it lies now. */
typedef struct matrix {
    const unsigned char *ptr;
    int64_t row_step, column_step;
    int64_t ahead; /* bytes to where the next one is expected; 0: unknown */
} matrix;

/* Where an operand lay last and how far that was from the time before: loops walk through memory in equal steps. */
typedef struct mma_trail {
    uint64_t address;
    int64_t step;
} mma_trail;

/* ---- widening ---- */

/* By the table, where there is no kernel. */
static void look_up_row(const mma_operand *o, unsigned char *to, const unsigned char *from, size_t n)
{
    const unsigned char *table = o->table;
    for (size_t i = 0; i < n; i++, to += o->wide_bytes)
        memcpy(to, table + (size_t)from[i] * o->wide_bytes, o->wide_bytes == 8 ? 8 : 4);
}

/* `rows` pieces of n packed elements, `step` bytes apart, to pieces `pitch` bytes apart. */
static void widen_rows(const mma_operand *o, unsigned char *to, size_t pitch, const unsigned char *from, int64_t step,
                       size_t rows, size_t n)
{
    if (o->widen)
        o->widen(to, pitch, from, step, rows, n);
    else
        for (size_t i = 0; i < rows; i++, to += pitch, from += step)
            look_up_row(o, to, from, n);
}

/* The zeros that fill up pairs of i16 when a row is one element. */
static void clear_gaps(const mma_inst *u, unsigned char *to, size_t rows)
{
    if (u->pitch > u->k * u->lhs.wide_bytes)
        memset(to, 0, rows * u->pitch);
}

static matrix matrix_of(vm_frame *f, const mma_operand *o, size_t batch)
{
    if (!o->in_rows)
        return (matrix){f->base + o->from + (int64_t)batch * o->batch_step, o->row_step, o->column_step, 0};
    vm_rows *rows = vm_at(f, o->from);
    int64_t packed = (int64_t)(o->columns * o->bytes), row = (int64_t)o->bytes << o->row_bits;
    if (rows->pitch != row && row != packed)
        vm_rows_copy(rows, (size_t)row, o->bits - o->row_bits, vm_at(f, o->staging));
    int64_t step = row == packed ? rows->pitch : packed;
    matrix x = {rows->ptr + (int64_t)(batch * o->rows) * step, step, o->bytes, 0};
    mma_trail *trail = vm_at(f, o->trail);
    int64_t moved = (int64_t)((uintptr_t)x.ptr - trail->address);
    x.ahead = moved == trail->step ? moved : 0;
    *trail = (mma_trail){(uintptr_t)x.ptr, moved};
    return x;
}

/* Asks for rows [first, first + count) of the next matrix. */
static void fetch_ahead(const mma_operand *o, const matrix *x, size_t first, size_t count)
{
    if (!x->ahead)
        return;
    const uintptr_t next = (uintptr_t)x->ptr + (uintptr_t)x->ahead;
    for (size_t i = first; i < first + count && i < o->rows; i++)
        for (size_t at = 0; at < o->columns * o->bytes; at += 64)
            TV_PREFETCH((const void *)(next + i * (uintptr_t)x->row_step + at));
}

/* ---- the left operand ---- */

static void scale_lhs(vm_frame *f, const mma_inst *u, unsigned char *wide, size_t batch, size_t row, size_t rows)
{
    const uint8_t *scale = (const uint8_t *)vm_at(f, u->lhs.scale) + (batch * u->m + row) * u->blocks;
    double *x = (double *)(void *)wide;
    size_t each = u->k / u->blocks;
    for (size_t i = 0; i < rows * u->blocks; i++, x += each) {
        double s = u->lhs.scale_table[scale[i]];
        for (size_t p = 0; p < each; p++)
            x[p] *= s;
    }
}

/* All of a transposed one. */
static void turn_lhs(vm_frame *f, const mma_inst *u, const matrix *x)
{
    const mma_operand *o = &u->lhs;
    const unsigned char *from = x->ptr;
    int64_t step = x->column_step;
    if (!o->is_wide) {
        from = vm_at(f, o->turned);
        step = (int64_t)(u->m * o->wide_bytes);
        widen_rows(o, vm_at(f, o->turned), u->m * o->wide_bytes, x->ptr, x->column_step, u->k, u->m);
    }
    clear_gaps(u, vm_at(f, o->wide), u->m);
    f->code->kernels->transpose(vm_at(f, o->wide), (int64_t)u->pitch, from, step, u->k, u->m, o->wide_bytes);
}

/* Rows [row, row + rows) as the kernel wants them. */
static const void *lhs_rows(vm_frame *f, const mma_inst *u, const matrix *x, size_t batch, size_t row, size_t rows)
{
    const mma_operand *o = &u->lhs;
    if (o->transposed) {
        unsigned char *wide = (unsigned char *)vm_at(f, o->wide) + row * u->pitch;
        if (o->is_scaled)
            scale_lhs(f, u, wide, batch, row, rows);
        return wide;
    }
    const unsigned char *from = x->ptr + (int64_t)row * x->row_step;
    if (o->direct)
        return from;
    unsigned char *wide = vm_at(f, o->wide);
    clear_gaps(u, wide, rows);
    widen_rows(o, wide, u->pitch, from, x->row_step, rows, u->k);
    if (o->is_scaled)
        scale_lhs(f, u, wide, batch, row, rows);
    return wide;
}

/* ---- the right operand ---- */

static void scale_panel(vm_frame *f, const mma_inst *u, unsigned char *panel, size_t batch, size_t column)
{
    const uint8_t *scale = (const uint8_t *)vm_at(f, u->rhs.scale) + batch * u->blocks * u->n + column;
    double *x = (double *)(void *)panel, s[MAX_PANEL];
    size_t each = u->k / u->blocks;
    for (size_t i = 0; i < u->blocks; i++, scale += u->n) {
        for (size_t j = 0; j < u->panel; j++)
            s[j] = u->rhs.scale_table[scale[j]];
        for (size_t p = 0; p < each; p++, x += u->panel)
            for (size_t j = 0; j < u->panel; j++)
                x[j] *= s[j];
    }
}

/* Two rows of a panel of i16 become one of pairs; past the last row there are zeros. */
static void pair_rows(vm_frame *f, const mma_inst *u, unsigned char *to, const matrix *x, size_t column)
{
    const mma_operand *o = &u->rhs;
    uint16_t rows[2][MAX_PANEL] = {{0}};
    const unsigned char *from = x->ptr + column * o->bytes;
    for (size_t p = 0; p < u->k; p += 2, to += u->panel * u->kernel_bytes) {
        widen_rows(o, (unsigned char *)rows, sizeof rows[0], from + (int64_t)p * x->row_step, x->row_step,
                   u->k - p < 2 ? 1 : 2, u->panel);
        f->code->kernels->map[VM_K_pair_i16](to, rows[0], rows[1], NULL, u->panel);
    }
}

/* A panel of a transposed one: its columns are packed. */
static void turn_panel(vm_frame *f, const mma_inst *u, unsigned char *to, const matrix *x, size_t column)
{
    const mma_operand *o = &u->rhs;
    const unsigned char *from = x->ptr + (int64_t)column * x->column_step;
    int64_t step = x->column_step;
    if (!o->is_wide) {
        clear_gaps(u, vm_at(f, o->turned), u->panel);
        widen_rows(o, vm_at(f, o->turned), u->pitch, from, step, u->panel, u->k);
        from = vm_at(f, o->turned);
        step = (int64_t)u->pitch;
    }
    f->code->kernels->transpose(to, (int64_t)(u->panel * u->kernel_bytes), from, step, u->panel,
                                u->pitch / u->kernel_bytes, u->kernel_bytes);
}

static void make_panels(vm_frame *f, const mma_inst *u, const matrix *x, size_t batch)
{
    const mma_operand *o = &u->rhs;
    unsigned char *to = vm_at(f, o->wide);
    size_t row = u->panel * u->kernel_bytes;
    for (size_t j = 0; j < u->n; j += u->panel, to += u->panel * u->pitch) {
        if (o->transposed)
            turn_panel(f, u, to, x, j);
        else if (u->kernel_bytes != o->wide_bytes)
            pair_rows(f, u, to, x, j);
        else
            widen_rows(o, to, row, x->ptr + j * o->bytes, x->row_step, u->k, u->panel);
        if (o->is_scaled)
            scale_panel(f, u, to, batch, j);
    }
}

/* ---- running ---- */

/* Rows of the left operand to give to the kernel at a time: a block of them where that helps, else all, within limits.
 */
static size_t rows_at_a_time(const vm_frame *f, const mma_inst *u)
{
    size_t block = f->code->kernels->block_rows, rows = u->m;
    if (u->lhs.in_rows || !(u->lhs.direct || u->lhs.transposed))
        return block;
    while (rows > block && rows * u->n * u->k > MAX_STEP)
        rows /= 2;
    return rows;
}

/* c = acc + a * b for one matrix of the batch. False: the run stops. */
static bool multiply(vm_frame *f, const mma_inst *u, size_t batch, const unsigned char *acc, unsigned char *c,
                     size_t acc_bytes)
{
    matrix a = matrix_of(f, &u->lhs, batch), b = matrix_of(f, &u->rhs, batch);
    size_t step = rows_at_a_time(f, u);
    vm_mma mma = {.n = u->n, .k = u->pitch / u->kernel_bytes, .ldc = u->n};
    if (u->rhs.direct) {
        mma.b = b.ptr;
        mma.ldb = b.row_step / u->kernel_bytes;
        mma.panel = (int64_t)u->panel;
    } else {
        make_panels(f, u, &b, batch);
        mma.b = vm_at(f, u->rhs.wide);
        mma.ldb = (int64_t)u->panel;
        mma.panel = (int64_t)(mma.k * u->panel);
    }
    mma.lda = u->lhs.direct ? a.row_step / u->kernel_bytes : (int64_t)mma.k;
    if (u->lhs.transposed)
        turn_lhs(f, u, &a);
    for (size_t row = 0; row < u->m; row += step) {
        mma.m = u->m - row < step ? u->m - row : step;
        fetch_ahead(&u->lhs, &a, row, mma.m);
        fetch_ahead(&u->rhs, &b, row * u->k / u->m, (mma.m * u->k + u->m - 1) / u->m);
        mma.a = lhs_rows(f, u, &a, batch, row, mma.m);
        mma.acc = acc + row * u->n * acc_bytes;
        mma.c = c + row * u->n * acc_bytes;
        u->kernel(&mma);
        if (row + step < u->m && !vm_go_on(f, &u->head, mma.m * u->n * u->k / (VM_UNIT_FLOPS / 2)))
            return false;
    }
    return true;
}

static const vm_inst *mma_run(vm_frame *f, const vm_inst *inst)
{
    const mma_inst *u = (const mma_inst *)inst;
    size_t elements = u->m * u->n;
    for (size_t b = 0; b < u->batch; b++) {
        bool done;
        unsigned char *acc = f->base + u->acc + b * elements * u->acc_bytes;
        unsigned char *out = f->base + u->out + b * elements * u->acc_bytes;
        if (u->widen_acc) {
            unsigned char *wide = vm_at(f, u->wide_acc);
            u->widen_acc(wide, acc, NULL, NULL, elements);
            done = multiply(f, u, b, wide, wide, u->wide_acc_bytes);
            u->narrow_acc(out, wide, NULL, NULL, elements);
        } else {
            done = multiply(f, u, b, acc, out, u->acc_bytes);
        }
        if (!done || (b + 1 < u->batch && !vm_go_on(f, inst, elements * u->k / (VM_UNIT_FLOPS / 2))))
            return NULL;
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

/* The stride that bits [first, first + count) of a layout have in common; 0 and false when they do not. */
static bool common_stride(const vm_layout *layout, uint32_t first, uint32_t count, int64_t *out_stride)
{
    *out_stride = count ? layout->stride[first] : 0;
    for (uint32_t b = 0; b < count; b++)
        if (layout->stride[first + b] != (uint32_t)*out_stride << b)
            return false;
    return true;
}

/* Finds the steps of an operand that lies in the frame. False: its rows and columns both have gaps. */
static bool find_steps(const vm_layout *layout, mma_operand *o)
{
    uint32_t columns = vm_extent_bits((int64_t)o->columns), rows = vm_extent_bits((int64_t)o->rows);
    int64_t row, column, batch;
    if (!common_stride(layout, 0, columns, &column) || !common_stride(layout, columns, rows, &row)
        || !common_stride(layout, columns + rows, layout->bits - columns - rows, &batch))
        return false;
    if (!columns)
        column = 1;
    o->row_step = row * o->bytes;
    o->column_step = column * o->bytes;
    o->batch_step = batch * o->bytes;
    o->transposed = column != 1;
    return column == 1 || row == 1;
}

/* Sees that an operand can be read, and finds out how it lies. */
static void need_operand(vm_emit *e, const bc_value *v, mma_operand *o)
{
    uint32_t r = v->type->rank;
    vm_need_stored(e, v);
    const vm_value *x = vm_value_of(e, v);
    o->rows = (size_t)v->type->shape[r - 2];
    o->columns = (size_t)v->type->shape[r - 1];
    o->bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(v->type));
    o->bits = vm_type_bits(v->type);
    o->in_rows = x->form == VM_ROWS;
    o->row_bits = x->row_bits;
    if (o->in_rows || find_steps(&x->layout, o))
        return;
    vm_need_packed(e, v);
    vm_layout packed = vm_layout_packed(o->bits);
    find_steps(&packed, o);
}

static const mma_trail no_trail;

/* Binds an operand whose way of widening is set. */
static void bind_operand(vm_emit *e, mma_inst *u, mma_operand *o, const bc_value *v, bool is_lhs)
{
    const vm_value *x = vm_value_of(e, v);
    vm_inst *inst = &u->head;
    size_t block = e->code->kernels->block_rows;
    bool wide = o->is_wide && !o->transposed;
    /* rows that lie far apart share few places in the first cache: they are copied if they are read often */
    if (is_lhs)
        o->direct = wide && (!o->in_rows || u->n <= u->panel);
    else
        o->direct = wide && (u->m <= block || (!o->in_rows && o->columns * o->bytes <= 512));
    if (o->in_rows || find_steps(&x->layout, &(mma_operand){.rows = o->rows, .columns = o->columns, .bytes = 1}))
        vm_read(e, inst, &o->from, v);
    else
        vm_read_packed(e, inst, &o->from, v);
    if (o->in_rows) {
        vm_bind(e, inst, &o->staging, x->staging, 0, VM_UPDATE);
        vm_bind(e, inst, &o->trail, vm_new_image(e, &no_trail, sizeof no_trail), 0, VM_UPDATE);
    }
    if (o->direct)
        return;
    size_t rows = is_lhs ? (o->transposed || u->m < block ? u->m : block) : u->n;
    vm_bind(e, inst, &o->wide, vm_new_storage(e, rows * u->pitch, e->at), 0, VM_UPDATE);
    if (o->transposed && !o->is_wide) {
        size_t bytes = is_lhs ? u->k * u->m * o->wide_bytes : u->panel * u->pitch;
        vm_bind(e, inst, &o->turned, vm_new_storage(e, bytes, e->at), 0, VM_UPDATE);
    }
}

static void widen_to_f32(vm_emit *e, mma_operand *o, bc_kind kind)
{
    const vm_kernels *kernels = e->code->kernels;
    o->wide_bytes = kind == BC_F64 ? 8 : 4;
    o->is_wide = kind == BC_F32 || kind == BC_F64;
    switch (kind) {
    case BC_F32: o->widen = kernels->widen[VM_W_copy_4]; break;
    case BC_F64: o->widen = kernels->widen[VM_W_copy_8]; break;
    case BC_TF32: o->widen = kernels->widen[VM_W_tf32_to_f32]; break;
    case BC_F16: o->widen = kernels->widen[VM_W_f16_to_f32]; break;
    case BC_BF16: o->widen = kernels->widen[VM_W_bf16_to_f32]; break;
    case BC_F8E4M3FN: o->widen = kernels->widen[VM_W_e4m3_to_f32]; break;
    case BC_F8E5M2: o->widen = kernels->widen[VM_W_e5m2_to_f32]; break;
    default: o->table = make_table(e, kind, false); break;
    }
}

static mma_inst *new_mma(vm_emit *e, const bc_op *op, const bc_value *lhs, const bc_value *rhs, const bc_value *acc)
{
    mma_operand a = {0}, b = {0};
    need_operand(e, lhs, &a);
    need_operand(e, rhs, &b);
    vm_need_packed(e, acc);
    mma_inst *inst = vm_new_inst(e, op, mma_run, mma_inst);
    inst->lhs = a;
    inst->rhs = b;
    inst->batch = lhs->type->rank == 3 ? (size_t)lhs->type->shape[0] : 1;
    inst->m = a.rows;
    inst->k = a.columns;
    inst->n = b.columns;
    inst->acc_bytes = (uint8_t)vm_elem_bytes(bc_elem_kind(acc->type));
    return inst;
}

static void finish_mma(vm_emit *e, const bc_op *op, mma_inst *inst, const bc_value *lhs, const bc_value *rhs,
                       const bc_value *acc)
{
    inst->kernel_bytes = inst->lhs.wide_bytes == 2 ? 4 : inst->lhs.wide_bytes;
    inst->pitch = (inst->k * inst->lhs.wide_bytes + inst->kernel_bytes - 1) / inst->kernel_bytes * inst->kernel_bytes;
    inst->panel = e->code->kernels->panel_bytes / inst->kernel_bytes;
    if (inst->panel > inst->n)
        inst->panel = inst->n;
    bind_operand(e, inst, &inst->lhs, lhs, true);
    bind_operand(e, inst, &inst->rhs, rhs, false);
    vm_read_packed(e, &inst->head, &inst->acc, acc);
    if (inst->widen_acc)
        vm_bind(e, &inst->head, &inst->wide_acc, vm_new_storage(e, inst->m * inst->n * inst->wide_acc_bytes, e->at), 0,
                VM_UPDATE);
    const bc_value *result = vm_result(op, 0);
    vm_write(e, &inst->head, &inst->out, result);
    const vm_value *from = vm_value_of(e, acc);
    vm_storage start = vm_has_packed(e, from) ? from->packed : from->storage;
    vm_affinity(e, &inst->head, start, vm_value_of(e, result)->storage);
    vm_allow_in_place(e, &inst->head, start, vm_value_of(e, result)->storage);
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
    inst->kernel = kind == BC_F32 ? kernels->mma_f32 : kind == BC_F64 ? kernels->mma_onto_f64 : kernels->mma_onto_f32;
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
    inst->lhs.widen = kernels->widen[ls ? VM_W_s8_to_s16 : VM_W_u8_to_s16];
    inst->rhs.widen = kernels->widen[rs ? VM_W_s8_to_s16 : VM_W_u8_to_s16];
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
    inst->kernel = kernels->mma_onto_f64;
    inst->widen_acc = kernels->map[VM_K_f32_f64];
    inst->narrow_acc = kernels->map[VM_K_f64_f32];
    inst->wide_acc_bytes = 8;
    finish_mma(e, op, inst, lhs, rhs, acc);
}

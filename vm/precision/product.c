/* Products of matrices: each sum is computed from the operands as they are and, if one of them has an error, also from
   the exact operands. Sums have about 106 bits. Products of operands as they are have no rounding error: f64 uses a
   fused operation, and a double holds the products of narrower types. Products of exact operands of narrower types have
   the 53 bits of a double. */
#include "vm/precision/precision.h"

/* One operand of a batch: rows of `columns` elements, times their scales. */
typedef struct side {
    vm_exact_operand tile, scale;
    bool is_scaled;
    size_t rows, columns, blocks; /* elements that a scale is for */
    bool blocks_of_rows;          /* scales change from row to row, not from column to column */
    size_t real, hi, lo;          /* scratch: doubles */
    size_t worst; /* scratch: index of the element with the largest error, by row of lhs, column of rhs */
} side;

typedef struct product_inst {
    vm_inst head;
    vm_maker maker;
    side lhs, rhs;
    vm_exact_operand acc;
    size_t batch, m, k, n;
    size_t result, exact;
    size_t sums; /* scratch: SUMS rows of n doubles */
    bool wide;   /* f64 */
} product_inst;

enum { PURE_HI, PURE_LO, FULL_HI, FULL_LO, BY_LHS, BY_RHS, SUMS };

/* ---- operands ---- */

static vm_source scaled_at(const vm_frame *f, const side *s, size_t batch, size_t row, size_t column)
{
    vm_source x = vm_source_at(f, &s->tile, (batch * s->rows + row) * s->columns + column);
    if (!s->is_scaled)
        return x;
    size_t index = s->blocks_of_rows ? (batch * (s->rows / s->blocks) + row / s->blocks) * s->columns + column
                                     : (batch * s->rows + row) * (s->columns / s->blocks) + column / s->blocks;
    vm_source scale = vm_source_at(f, &s->scale, index);
    x.real = vm_wide_mul(x.real, scale.real);
    x.exact.x = vm_wide_mul(x.exact.x, scale.exact.x);
    x.exact.share *= scale.real.hi;
    return x;
}

/* Converts an operand to doubles, and returns whether any element has an error. by_column: the worst element is kept
   for each column, else for each row. */
static bool read_side(vm_frame *f, const side *s, size_t batch, bool by_column)
{
    double *real = vm_at(f, s->real), *hi = vm_at(f, s->hi), *lo = vm_at(f, s->lo);
    uint32_t *worst = vm_at(f, s->worst);
    bool any = false;
    memset(worst, 0, (by_column ? s->columns : s->rows) * sizeof *worst);
    for (size_t r = 0, i = 0; r < s->rows; r++)
        for (size_t c = 0; c < s->columns; c++, i++) {
            vm_source x = scaled_at(f, s, batch, r, c);
            uint32_t *w = &worst[by_column ? c : r];
            size_t w_at = by_column ? *w * s->columns + c : r * s->columns + *w;
            real[i] = x.real.hi;
            hi[i] = x.exact.x.hi;
            lo[i] = x.exact.x.lo;
            double error = fabs(vm_wide_distance(x.real, x.exact.x));
            any |= error != 0;
            if (error > fabs((real[w_at] - hi[w_at]) - lo[w_at]))
                *w = (uint32_t)(by_column ? r : c);
        }
    return any;
}

/* ---- sums ---- */

/* hi + lo += a * b for a row of b, whose elements may have second parts. */
static void add_products(double *restrict hi, double *restrict lo, double a, const double *restrict b, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double p = a * b[j], s = hi[j] + p, t = s - hi[j];
        lo[j] += (hi[j] - (s - t)) + (p - t);
        hi[j] = s;
    }
}

static void add_wide_products(double *hi, double *lo, vm_wide a, const double *b, const double *b_lo, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        vm_wide sum = vm_wide_add((vm_wide){hi[j], lo[j]}, vm_wide_mul(a, (vm_wide){b[j], b_lo ? b_lo[j] : 0}));
        hi[j] = sum.hi;
        lo[j] = sum.lo;
    }
}

static void add_plain(double *restrict sum, double a, const double *restrict b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        sum[j] += a * b[j];
}

static double *row_of_sums(const vm_frame *f, const product_inst *p, unsigned which)
{
    return (double *)vm_at(f, p->sums) + which * p->n;
}

/* The effect of the operands' errors on the sums of a row. */
static void add_effects(vm_frame *f, const product_inst *p, size_t row)
{
    const double *a = (double *)vm_at(f, p->lhs.real) + row * p->k, *a_hi = (double *)vm_at(f, p->lhs.hi) + row * p->k;
    const double *b = vm_at(f, p->rhs.real), *b_hi = vm_at(f, p->rhs.hi);
    double *by_lhs = row_of_sums(f, p, BY_LHS), *by_rhs = row_of_sums(f, p, BY_RHS);
    for (size_t k = 0; k < p->k; k++) {
        const double *real = b + k * p->n, *exact = b_hi + k * p->n;
        if (a[k] != a_hi[k])
            add_plain(by_lhs, a[k] - a_hi[k], real, p->n);
        for (size_t j = 0; j < p->n; j++)
            by_rhs[j] += a[k] * (real[j] - exact[j]);
    }
}

/* The sums of one row of the result; full: also those of exact operands. */
static void sum_row(vm_frame *f, const product_inst *p, size_t row, bool full)
{
    const double *a = (double *)vm_at(f, p->lhs.real) + row * p->k, *a_hi = (double *)vm_at(f, p->lhs.hi) + row * p->k;
    const double *a_lo = (double *)vm_at(f, p->lhs.lo) + row * p->k;
    const double *b = vm_at(f, p->rhs.real), *b_hi = vm_at(f, p->rhs.hi), *b_lo = vm_at(f, p->rhs.lo);
    double *pure_hi = row_of_sums(f, p, PURE_HI), *pure_lo = row_of_sums(f, p, PURE_LO);
    double *full_hi = row_of_sums(f, p, FULL_HI), *full_lo = row_of_sums(f, p, FULL_LO);
    memset(pure_hi, 0, SUMS * p->n * sizeof(double));
    for (size_t k = 0, at = 0; k < p->k; k++, at += p->n) {
        if (p->wide)
            add_wide_products(pure_hi, pure_lo, vm_wide_of(a[k]), b + at, NULL, p->n);
        else
            add_products(pure_hi, pure_lo, a[k], b + at, p->n);
        if (full && p->wide)
            add_wide_products(full_hi, full_lo, (vm_wide){a_hi[k], a_lo[k]}, b_hi + at, b_lo + at, p->n);
        else if (full)
            add_products(full_hi, full_lo, a_hi[k], b_hi + at, p->n);
    }
    if (full)
        add_effects(f, p, row);
}

/* ---- running ---- */

static void make_row(vm_frame *f, const product_inst *p, size_t batch, size_t row, bool full)
{
    const uint32_t *worst_a = vm_at(f, p->lhs.worst), *worst_b = vm_at(f, p->rhs.worst);
    const double *pure_hi = row_of_sums(f, p, PURE_HI), *pure_lo = row_of_sums(f, p, PURE_LO);
    const double *full_hi = full ? row_of_sums(f, p, FULL_HI) : pure_hi;
    const double *full_lo = full ? row_of_sums(f, p, FULL_LO) : pure_lo;
    vm_exact *out = vm_at(f, p->exact);
    for (size_t j = 0; j < p->n; j++) {
        size_t at = (batch * p->m + row) * p->n + j;
        vm_source sources[3] = {vm_source_at(f, &p->acc, at)};
        vm_wide real_sum = vm_wide_near(pure_hi[j], pure_lo[j]), exact_sum = vm_wide_near(full_hi[j], full_lo[j]);
        sources[0].effect = vm_wide_distance(sources[0].real, sources[0].exact.x);
        if (full) {
            sources[1] = scaled_at(f, &p->lhs, batch, row, worst_a[row]);
            sources[2] = scaled_at(f, &p->rhs, batch, worst_b[j], j);
            sources[1].effect = row_of_sums(f, p, BY_LHS)[j];
            sources[2].effect = row_of_sums(f, p, BY_RHS)[j];
        }
        double real = vm_real_at(vm_at(f, p->result), at, (bc_kind)p->maker.kind, p->maker.bytes);
        out[at] = vm_exact_make(f, &p->maker, at, real, vm_wide_add(sources[0].real, real_sum),
                                vm_wide_add(sources[0].exact.x, exact_sum), sources, full ? 3 : 1);
    }
}

static const vm_inst *product_run(vm_frame *f, const vm_inst *inst)
{
    const product_inst *p = (const product_inst *)inst;
    vm_loss *loss = &vm_precision_of(f)->ops[p->maker.op];
    loss->op = inst->op;
    loss->is_sum = true;
    for (size_t b = 0; b < p->batch; b++) {
        bool lhs = read_side(f, &p->lhs, b, false), rhs = read_side(f, &p->rhs, b, true);
        for (size_t row = 0; row < p->m; row++) {
            sum_row(f, p, row, lhs || rhs);
            make_row(f, p, b, row, lhs || rhs);
            if (!vm_go_on(f, inst, p->n * p->k / VM_UNIT_ELEMENTS))
                return NULL;
        }
    }
    return inst->next;
}

/* ---- compiling ---- */

static void bind_side(vm_emit *e, vm_inst *inst, side *s, const bc_value *v, const bc_value *scale, bool by_column)
{
    uint32_t rank = v->type->rank;
    s->rows = (size_t)v->type->shape[rank - 2];
    s->columns = (size_t)v->type->shape[rank - 1];
    size_t bytes = s->rows * s->columns * sizeof(double);
    vm_bind_operand(e, inst, &s->tile, v);
    s->is_scaled = scale != NULL;
    s->blocks_of_rows = by_column;
    if (scale) {
        vm_bind_operand(e, inst, &s->scale, scale);
        s->blocks = by_column ? s->rows / (size_t)scale->type->shape[rank - 2]
                              : s->columns / (size_t)scale->type->shape[rank - 1];
    }
    vm_bind(e, inst, &s->real, vm_new_storage(e, bytes, e->at), 0, VM_UPDATE);
    vm_bind(e, inst, &s->hi, vm_new_storage(e, bytes, e->at), 0, VM_UPDATE);
    vm_bind(e, inst, &s->lo, vm_new_storage(e, bytes, e->at), 0, VM_UPDATE);
    vm_bind(e, inst, &s->worst, vm_new_storage(e, (by_column ? s->columns : s->rows) * sizeof(uint32_t), e->at), 0,
            VM_UPDATE);
}

void vm_emit_exact_product(vm_emit *e, const bc_op *op)
{
    bool is_scaled = op->opcode == OP_mmaf_scaled;
    if (op->opcode != OP_mmaf && !is_scaled)
        return;
    const bc_value *lhs = bc_operand(op, is_scaled ? F_mmaf_scaled_lhs : F_mmaf_lhs);
    const bc_value *rhs = bc_operand(op, is_scaled ? F_mmaf_scaled_rhs : F_mmaf_rhs);
    const bc_value *acc = bc_operand(op, is_scaled ? F_mmaf_scaled_acc : F_mmaf_acc), *result = vm_result(op, 0);
    for (unsigned i = 0; i < op->operand_count; i++)
        vm_need_packed(e, bc_operands(op)[i]);
    product_inst *p = vm_new_inst(e, op, product_run, product_inst);
    p->maker = vm_maker_of(e, bc_elem_kind(result->type));
    p->wide = p->maker.kind == BC_F64;
    p->batch = lhs->type->rank == 3 ? (size_t)lhs->type->shape[0] : 1;
    bind_side(e, &p->head, &p->lhs, lhs, is_scaled ? bc_operand(op, F_mmaf_scaled_lhs_scale) : NULL, false);
    bind_side(e, &p->head, &p->rhs, rhs, is_scaled ? bc_operand(op, F_mmaf_scaled_rhs_scale) : NULL, true);
    p->m = p->lhs.rows;
    p->k = p->lhs.columns;
    p->n = p->rhs.columns;
    vm_bind_operand(e, &p->head, &p->acc, acc);
    vm_bind(e, &p->head, &p->sums, vm_new_storage(e, SUMS * p->n * sizeof(double), e->at), 0, VM_UPDATE);
    vm_read_packed(e, &p->head, &p->result, result);
    vm_write_exact(e, &p->head, &p->exact, result);
    vm_append(e, &p->head);
}

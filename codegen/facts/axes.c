/* The pattern of elements in tiles of integers and pointers: runs that grow by one, blocks of equal elements, and
   the divisor of a run's first element. It permits an access through pointers to have several elements. Sources:
   arithmetic; assume (operation reference, section 7). */
#include "codegen/facts/facts.h"
#include "codegen/layout/layout.h"

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static uint8_t most(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

static uint8_t log2_of(uint64_t x)
{
    uint8_t n = 0;
    while (n < CG_DIVISOR_OF_ZERO && !(x >> n & 1))
        n++;
    return n;
}

int cg_pointee_shift(const bc_type *pointers)
{
    uint32_t bytes = bc_kind_memory_bytes((bc_kind)pointers->elem->elem->kind);
    return bytes ? log2_of(bytes) : -1;
}

/* log2 of the step between elements of a run: 1, or the size of the pointee. */
static int unit_of(const bc_type *tile)
{
    return tile->elem->kind == BC_PTR ? cg_pointee_shift(tile) : 0;
}

static cg_axis axis_of(const cg_fact *fact, uint32_t d)
{
    return fact->axes ? fact->axes[d] : (cg_axis){.start = fact->divisor};
}

/* The axis with runs of at most 2^run elements. */
static cg_axis cut(cg_axis a, uint8_t run, int unit)
{
    if (run < a.run) {
        a.run = run;
        a.start = run + unit < 0 ? 0 : least(a.start, (uint8_t)(run + unit));
    }
    return a;
}

/* log2 of a divisor of all elements. */
static uint8_t every(const cg_fact *fact, uint32_t d, int unit)
{
    return most(fact->divisor, cut(axis_of(fact, d), 0, unit).start);
}

/* The axis of a + b, or with minus, a - b. b counts in units of 2^shift. */
static cg_axis sum(const cg_fact *fa, int unit_a, const cg_fact *fb, int shift, uint32_t d, bool minus)
{
    cg_axis a = axis_of(fa, d), b = axis_of(fb, d), r = {.same = least(a.same, b.same)};
    uint8_t by_a = least(a.run, b.same), by_b = minus ? 0 : least(b.run, a.same);
    r.run = most(by_a, by_b);
    r.likely = most(least(a.likely, b.same), minus ? 0 : least(b.likely, a.same));
    uint8_t start_a = by_a >= by_b ? cut(a, r.run, unit_a).start : every(fa, d, unit_a);
    int start_b = (by_a >= by_b ? every(fb, d, 0) : cut(b, r.run, 0).start) + shift;
    if (start_b < 0) /* 4-bit elements */
        return (cg_axis){.same = r.same, .likely = r.likely};
    r.start = least(start_a, start_b < CG_DIVISOR_OF_ZERO ? (uint8_t)start_b : CG_DIVISOR_OF_ZERO);
    return r;
}

/* The axis of an integer that is extended: a run that is not aligned could wrap. */
static cg_axis widened(cg_axis a)
{
    return a.run > a.start ? cut(a, a.start, 0) : a;
}

static cg_axis scaled(const cg_fact *fa, uint8_t factor, uint32_t d)
{
    uint32_t start = every(fa, d, 0) + (uint32_t)factor;
    start = start < CG_DIVISOR_OF_ZERO ? start : CG_DIVISOR_OF_ZERO;
    return (cg_axis){.same = axis_of(fa, d).same, .start = (uint8_t)start};
}

/* x < n: if a run of x and n have the same alignment, all elements of the run are less than n or none is. */
static cg_axis compared(const ct_op *op, const cg_fact *x, const cg_fact *n, uint32_t d)
{
    uint64_t predicate = ct_attr_u(op, F_cmpi_comparison_predicate);
    cg_axis r = {.same = least(axis_of(x, d).same, axis_of(n, d).same)};
    if (predicate == BC_ComparisonPredicate_greater_than || predicate == BC_ComparisonPredicate_less_than_or_equal) {
        const cg_fact *t = x;
        x = n;
        n = t;
    } else if (predicate != BC_ComparisonPredicate_less_than
               && predicate != BC_ComparisonPredicate_greater_than_or_equal) {
        return r;
    }
    cg_axis run = axis_of(x, d);
    uint8_t block = least(least(run.run, run.start), axis_of(n, d).same);
    r.same = most(r.same, least(block, every(n, d, 0)));
    return r;
}

/* ---- ops that move dimensions ---- */

/* The first dimension from d on with more than one element; the rank if there is none. */
static uint32_t next_large(const bc_type *tile, uint32_t d)
{
    while (d < tile->rank && tile->shape[d] == 1)
        d++;
    return d;
}

static void reshape(const bc_type *from, const cg_fact *fact, const bc_type *to, cg_axis *out)
{
    int unit = unit_of(from);
    uint32_t s = next_large(from, 0), t = next_large(to, 0);
    uint8_t divisor = fact->divisor;
    for (uint32_t d = 0; d < from->rank; d++)
        divisor = most(divisor, every(fact, d, unit));
    for (uint32_t d = 0; d < to->rank; d++)
        out[d] = (cg_axis){.start = divisor};
    while (s < from->rank && t < to->rank && from->shape[s] == to->shape[t]) {
        out[t] = axis_of(fact, s);
        s = next_large(from, s + 1);
        t = next_large(to, t + 1);
    }
    if (s == from->rank || t == to->rank)
        return;
    for (s = from->rank - 1; from->shape[s] == 1; s--)
        continue;
    for (t = to->rank - 1; to->shape[t] == 1; t--)
        continue;
    cg_axis last = axis_of(fact, s);
    uint8_t most_bits = least(log2_of((uint64_t)from->shape[s]), log2_of((uint64_t)to->shape[t]));
    out[t] = cut(last, least(last.run, most_bits), unit);
    out[t].likely = least(last.likely, most_bits);
    out[t].same = least(last.same, most_bits);
}

static void assumed(const ct_op *op, const cg_fact *fact, uint32_t rank, cg_axis *out)
{
    const bc_tagged *predicate = ct_attr_of(op, F_assume_predicate)->tagged;
    int unit = unit_of(ct_results(op)[0].type);
    for (uint32_t d = 0; d < rank; d++)
        out[d] = axis_of(fact, d);
    if (predicate->tag == BC_TAG_DIV_BY) {
        uint8_t divisor = log2_of(predicate->u.bits);
        for (uint32_t d = 0; d < rank && !predicate->has_a; d++)
            out[d].start = most(out[d].start, divisor);
        if (predicate->has_a && predicate->a > 0 && !(predicate->a & (predicate->a - 1))) {
            cg_axis *axis = &out[predicate->b];
            uint8_t run = log2_of((uint64_t)predicate->a);
            if (run > axis->run || divisor > cut(*axis, run, unit).start)
                *axis = (cg_axis){.run = run, .likely = run, .start = divisor, .same = axis->same};
        }
    } else if (predicate->tag == BC_TAG_SAME_ELEMENTS) {
        for (uint32_t d = 0; d < rank && d < predicate->u.ints.count; d++) {
            int64_t n = predicate->u.ints.ptr[d];
            if (n > 0) /* blocks of n contain aligned blocks of the power of two that divides n */
                out[d].same = most(out[d].same, log2_of((uint64_t)n));
        }
    }
}

/* ---- the walk ---- */

static void map(const ct_op *op, uint32_t d, cg_axis *out)
{
    ct_value **operands = ct_operands(op);
    const cg_fact *a = operands[0]->fact, *b = op->operand_count > 1 ? operands[1]->fact : a;
    switch ((int)op->opcode) {
    case OP_addi:
    case OP_subi: *out = sum(a, 0, b, 0, d, op->opcode == OP_subi); break;
    case OP_offset: {
        cg_axis index = bc_elem_kind(operands[1]->type) == BC_I64 ? axis_of(b, d) : widened(axis_of(b, d));
        cg_fact one = {.divisor = b->divisor, .axes = &index};
        cg_axis pointer = axis_of(a, d);
        cg_fact other = {.divisor = a->divisor, .axes = &pointer};
        *out = sum(&other, unit_of(operands[0]->type), &one, cg_pointee_shift(operands[0]->type), 0, false);
        break;
    }
    case OP_muli:
        *out = a->constant                    ? (a->value == 1 ? axis_of(b, d) : scaled(b, a->divisor, d))
               : b->constant && b->value == 1 ? axis_of(a, d)
                                              : scaled(a, every(b, d, 0), d);
        out->same = least(axis_of(a, d).same, axis_of(b, d).same);
        break;
    case OP_shli:
        *out = b->constant && b->value >= 0 && b->value < 63 ? scaled(a, (uint8_t)b->value, d) : (cg_axis){0};
        out->same = least(axis_of(a, d).same, axis_of(b, d).same);
        break;
    case OP_exti: *out = widened(axis_of(a, d)); break;
    case OP_trunci: *out = axis_of(a, d); break;
    case OP_ptr_to_ptr:
        *out = axis_of(a, d);
        if (unit_of(operands[0]->type) != unit_of(ct_results(op)[0].type)) {
            *out = cut(*out, 0, unit_of(operands[0]->type));
            out->likely = 0;
        }
        break;
    case OP_cmpi: *out = compared(op, a, b, d); break;
    default:
        out->same = CG_MAX_TILE_BITS;
        for (uint32_t i = 0; i < op->operand_count; i++)
            out->same = least(out->same, axis_of(operands[i]->fact, d).same);
        break;
    }
}

const cg_axis *cg_find_axes(const ct_op *op, bc_arena *arena)
{
    const bc_type *type = ct_results(op)[0].type;
    if (!bc_is_tile(type) || type->rank == 0)
        return NULL;
    const ct_value *from = op->operand_count ? ct_operands(op)[0] : NULL;
    const cg_fact *fact = from ? from->fact : NULL;
    bool known = op->opcode == OP_constant
                     ? ct_is_splat(op)
                     : ct_is_map(op) || bc_op_in(op->opcode, BC_OPS(SAME) | BC_OPS(RESHAPE) | BC_OPS(MOVE));
    cg_axis *out = known ? bc_new(arena, cg_axis, type->rank) : NULL;
    if (!out)
        return NULL;
    if (op->opcode == OP_reshape)
        reshape(from->type, fact, type, out);
    if (op->opcode == OP_assume)
        assumed(op, fact, type->rank, out);
    for (uint32_t d = 0; d < type->rank; d++) {
        uint8_t bits = log2_of((uint64_t)type->shape[d]);
        if (op->opcode == OP_constant)
            out[d] = (cg_axis){.start = ct_results(op)[0].fact->divisor, .same = bits};
        else if (op->opcode == OP_iota)
            out[d] = (cg_axis){.run = bits, .likely = bits, .start = CG_DIVISOR_OF_ZERO};
        else if (op->opcode == OP_permute)
            out[d] = axis_of(fact, (uint32_t)ct_attr_of(op, F_permute_permutation)->ints->ptr[d]);
        else if (op->opcode == OP_broadcast)
            out[d] = from->type->shape[d] == type->shape[d]
                         ? axis_of(fact, d)
                         : (cg_axis){.start = every(fact, d, unit_of(from->type)), .same = bits};
        else if (ct_is_map(op))
            map(op, d, &out[d]);
    }
    return out;
}

/* One walk over the ops, in order: each sum adds its bound to those of its operands. What a loop carries counts as it
   was before; the sums in it count once for each iteration. */
#include "tools/tilevm/run/sums.h"

#include <math.h>

typedef struct summer {
    const bc_function *f;
    const arg_study *study;
    double blocks;
    run_sums *out;
} summer;

enum { UNKNOWN_ROUNDS = 1024 };

static run_sum *of(const summer *s, const bc_value *v)
{
    return &s->out->values[v->id];
}

/* ---- bounds ---- */

static const struct {
    bc_kind kind;
    tv_dtype dtype;
    double unit; /* half of the distance between neighbours, relative */
} kinds[] = {{BC_F64, TV_F64, 0x1p-53},      {BC_F32, TV_F32, 0x1p-24},   {BC_TF32, TV_TF32, 0x1p-11},
             {BC_F16, TV_F16, 0x1p-11},      {BC_BF16, TV_BF16, 0x1p-8},  {BC_F8E4M3FN, TV_F8E4M3FN, 0x1p-4},
             {BC_F8E5M2, TV_F8E5M2, 0x1p-3}, {BC_F4E2M1FN, TV_U8, 0x1p-2}};

static double unit_of(bc_kind kind)
{
    for (size_t i = 0; i < TV_COUNT(kinds); i++)
        if (kinds[i].kind == kind)
            return kinds[i].unit;
    return 0;
}

static tv_dtype dtype_of(bc_kind kind)
{
    for (size_t i = 0; i < TV_COUNT(kinds); i++)
        if (kinds[i].kind == kind)
            return kinds[i].dtype;
    return TV_F32;
}

static bool is_float(const bc_value *v)
{
    return unit_of(bc_elem_kind(v->type)) > 0;
}

/* Two sums of the same terms: every rounding is off by a unit of a partial sum at most, on either side. Roundings go up
   and down, so few sums are off by more than four times the square root of the number of roundings. */
static run_sum sum_of(double terms, double unit, tv_dtype dtype)
{
    double roundings = fmin(terms, 4 * sqrt(terms));
    return (run_sum){terms > 1 ? 2 * roundings * unit : 0, terms > 1 ? terms : 0, dtype};
}

static run_sum larger(run_sum a, run_sum b)
{
    run_sum r = b.terms > a.terms ? b : a;
    r.bound = fmax(a.bound, b.bound);
    return r;
}

static run_sum together(run_sum a, run_sum b)
{
    run_sum r = larger(a, b);
    r.bound = a.bound + b.bound;
    return r;
}

/* ---- how often ---- */

static double rounds_of(const summer *s, const bc_op *loop)
{
    const bc_block *body = bc_regions(loop)[0];
    const arg_range *counter = body && body->arg_count ? &s->study->ranges[body->args[0].id] : NULL;
    const arg_range *step = loop->opcode == OP_for ? &s->study->ranges[bc_operand(loop, F_for_step)->id] : NULL;
    if (!step || !counter || !arg_range_is_plain(counter))
        return UNKNOWN_ROUNDS;
    double size = (double)(counter->high - counter->low) + 1;
    return arg_range_is_number(step) && step->low > 1 ? ceil(size / (double)step->low) : size;
}

/* In one tile block. */
static double times_of(const summer *s, const bc_op *op)
{
    double times = 1;
    while ((op = op->block->parent))
        if (bc_is_loop(op->opcode))
            times *= rounds_of(s, op);
    return times;
}

/* Elements that updates of a tile block or another can go to: as many as there are places known to be reached. */
static double spread_of(const summer *s, const bc_value *pointer)
{
    const arg_range *p = &s->study->ranges[pointer->id];
    unsigned bytes = bc_kind_memory_bytes((bc_kind)pointer->type->elem->elem->kind);
    return p->known && !p->term_count && bytes ? floor((double)(p->high - p->low) / bytes) + 1 : 1;
}

static double spread_of_tiles(const summer *s, const bc_op *op)
{
    bc_range indices = bc_operand_range(op, F_atomic_red_view_tko_index);
    const bc_type *view = bc_operand(op, F_atomic_red_view_tko_view)->type;
    double tiles = 1;
    for (uint32_t i = 0; i < indices.count; i++) {
        const arg_range *r = &s->study->ranges[bc_operands(op)[indices.first + i]->id];
        tiles *= arg_range_is_plain(r) ? (double)(r->high - r->low) + 1 : 1;
    }
    return view->kind == BC_PARTITION_VIEW ? tiles : 1;
}

/* ---- sums ---- */

static run_sum *array_of(const summer *s, const bc_value *memory)
{
    uint32_t root = s->study->ranges[memory->id].root;
    return root && root <= s->out->count ? &s->out->arrays[root - 1] : NULL;
}

/* Products may keep fewer digits than their accumulator has: f32 is cut, not rounded, and of f8 there are 13. */
static run_sum product(const summer *s, const bc_op *op)
{
    const bc_value *lhs = bc_operands(op)[0];
    bc_kind kind = bc_elem_kind(bc_results(op)->type);
    double unit = bc_kind_bits(bc_elem_kind(lhs->type)) <= 8 ? 0x1p-13 : kind == BC_F32 ? 0x1p-23 : unit_of(kind);
    double terms = (double)lhs->type->shape[lhs->type->rank - 1] * times_of(s, op);
    run_sum own = sum_of(terms + 1, fmax(unit, unit_of(kind)), dtype_of(kind));
    return together(own, together(*of(s, lhs), *of(s, bc_operands(op)[1])));
}

/* Bodies that neither add nor multiply give the same in any order. */
static bool rounds(const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    for (const bc_op *inner = body ? body->first : NULL; inner; inner = inner->next)
        if (inner->opcode == OP_addf || inner->opcode == OP_mulf || inner->opcode == OP_subf || inner->opcode == OP_fma)
            return true;
    return false;
}

static run_sum reduction(const summer *s, const bc_op *op, uint32_t result)
{
    int row = op->opcode == OP_reduce ? F_reduce_dim : F_scan_dim;
    const bc_value *operand = bc_operands(op)[result];
    bc_kind kind = bc_elem_kind(operand->type);
    uint64_t dim = bc_attr_u(op, row);
    run_sum own = {0};
    if (rounds(op) && dim < operand->type->rank)
        own = sum_of((double)operand->type->shape[dim] * times_of(s, op), unit_of(kind), dtype_of(kind));
    return together(own, *of(s, operand));
}

static void add_atomically(const summer *s, const bc_op *op, const bc_value *memory, const bc_value *value, bool adds,
                           double spread)
{
    run_sum *array = array_of(s, memory);
    bc_kind kind = bc_elem_kind(value->type);
    if (!array || !is_float(value))
        return;
    double updates = (double)bc_shape_elems(value->type->shape, value->type->rank) * times_of(s, op) * s->blocks;
    bool meet = adds && updates > spread;
    run_sum own = meet ? sum_of(ceil(updates / spread) + 1, unit_of(kind), dtype_of(kind)) : (run_sum){0};
    *array = larger(*array, together(own, *of(s, value)));
}

static void store(const summer *s, const bc_value *memory, const bc_value *value)
{
    run_sum *array = array_of(s, memory);
    if (array)
        *array = larger(*array, *of(s, value));
}

/* ---- ops ---- */

/* Accesses to memory, and ops that pass values on; false for other ops. */
static bool see_access(const summer *s, const bc_op *op)
{
    const bc_value *memory = NULL;
    switch ((int)op->opcode) {
    case OP_load_ptr_tko: memory = bc_operand(op, F_load_ptr_tko_source); break;
    case OP_load_view_tko: memory = bc_operand(op, F_load_view_tko_view); break;
    case OP_store_ptr_tko:
        store(s, bc_operand(op, F_store_ptr_tko_destination), bc_operand(op, F_store_ptr_tko_value));
        return true;
    case OP_store_view_tko:
        store(s, bc_operand(op, F_store_view_tko_view), bc_operand(op, F_store_view_tko_tile));
        return true;
    case OP_atomic_rmw_tko:
        memory = bc_operand(op, F_atomic_rmw_tko_pointers);
        add_atomically(s, op, memory, bc_operand(op, F_atomic_rmw_tko_arg),
                       bc_attr_u(op, F_atomic_rmw_tko_mode) == BC_AtomicRMWMode_addf, spread_of(s, memory));
        break;
    case OP_atomic_red_view_tko:
        add_atomically(s, op, bc_operand(op, F_atomic_red_view_tko_view), bc_operand(op, F_atomic_red_view_tko_value),
                       bc_attr_u(op, F_atomic_red_view_tko_mode) == BC_AtomicRMWMode_addf,
                       spread_of_tiles(s, op)
                           * (double)bc_shape_elems(bc_operand(op, F_atomic_red_view_tko_value)->type->shape,
                                                    bc_operand(op, F_atomic_red_view_tko_value)->type->rank));
        return true;
    default: return false;
    }
    if (array_of(s, memory))
        *of(s, bc_results(op)) = *array_of(s, memory);
    return true;
}

static void hand_on(const summer *s, const bc_op *op)
{
    const bc_op *around = op->block->parent;
    while (around && op->opcode != OP_yield && !bc_is_loop(around->opcode))
        around = around->block->parent;
    if (!around || (op->opcode == OP_yield && around->opcode != OP_if))
        return;
    for (uint32_t i = 0; i < op->operand_count && i < around->result_count; i++)
        *of(s, &bc_results(around)[i]) = larger(*of(s, &bc_results(around)[i]), *of(s, bc_operands(op)[i]));
}

static void enter_loop(const summer *s, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    uint32_t first = op->opcode == OP_for ? bc_operand_range(op, F_for_init_values).first : 0;
    uint32_t counter = op->opcode == OP_for;
    for (uint32_t i = counter; body && i < body->arg_count && first + i - counter < op->operand_count; i++)
        *of(s, &body->args[i]) = *of(s, bc_operands(op)[first + i - counter]);
}

/* Errors of factors add up; of the errors of terms, the largest counts. If the value is rounded to fewer digits, the
   result may be another number. */
static void see_value(const summer *s, const bc_op *op)
{
    bool factors = op->opcode == OP_mulf || op->opcode == OP_divf || op->opcode == OP_fma;
    run_sum sum = {0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_float(bc_operands(op)[i]))
            sum = factors ? together(sum, *of(s, bc_operands(op)[i])) : larger(sum, *of(s, bc_operands(op)[i]));
    if (op->opcode == OP_ftof && sum.bound > 0)
        sum.bound += 2 * unit_of(bc_elem_kind(bc_results(op)->type));
    for (uint32_t i = 0; i < op->result_count; i++)
        if (is_float(&bc_results(op)[i]))
            *of(s, &bc_results(op)[i]) = sum;
}

static void see(const summer *s, const bc_op *op)
{
    if (see_access(s, op))
        return;
    switch ((int)op->opcode) {
    case OP_mmaf:
    case OP_mmaf_scaled: *of(s, bc_results(op)) = product(s, op); break;
    case OP_reduce:
    case OP_scan:
        for (uint32_t i = 0; i < op->result_count; i++)
            *of(s, &bc_results(op)[i]) = reduction(s, op, i);
        break;
    case OP_for:
    case OP_loop: enter_loop(s, op); break;
    case OP_if: break;
    case OP_yield:
    case OP_continue:
    case OP_break: hand_on(s, op); break;
    default: see_value(s, op);
    }
}

bool run_sums_find(bc_arena *arena, const bc_function *f, const uint32_t grid[3], const arg_study *study, run_sums *out)
{
    summer s = {.f = f, .study = study, .blocks = (double)grid[0] * grid[1] * grid[2], .out = out};
    *out = (run_sums){.count = f->type->rank,
                      .arrays = bc_new(arena, run_sum, f->type->rank),
                      .values = bc_new(arena, run_sum, f->value_count)};
    if (!out->arrays || !out->values)
        return false;
    for (const bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        see(&s, op);
    return true;
}

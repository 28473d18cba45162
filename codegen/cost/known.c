/* Evaluates integers in one tile block of a launch whose arguments and grid are known: iterations of loops, sizes of
   tensors. Values that cannot be evaluated are unknown. Only predictions depend on the results. */
#include "codegen/analysis/ring.h"
#include "codegen/cost/cost.h"

enum { MOST_STEPS = 256 }; /* in following a value back to its operands */

typedef struct looking {
    const cg_launch *launch;
    const cg_trip *trip;
    uint32_t steps; /* steps that are left */
} looking;

static bool find(looking *x, const ct_value *v, int64_t *out);

/* ---- arithmetic ---- */

/* Signed division; the quotient is rounded as the op says. */
static bool divide(const ct_op *op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    uint64_t rounding = ct_attr_u(op, F_divi_rounding);
    int64_t quotient = a / b, rest = a % b;
    if (rounding == BC_RoundingMode_positive_inf && rest && (rest < 0) == (b < 0))
        quotient++;
    if (rounding == BC_RoundingMode_negative_inf && rest && (rest < 0) != (b < 0))
        quotient--;
    *out = quotient;
    return true;
}

static bool compute(looking *x, const ct_op *op, int64_t *out)
{
    enum { MOST_OPERANDS = 3 };
    int64_t values[MOST_OPERANDS] = {0};
    if (!op->operand_count || op->operand_count > MOST_OPERANDS || op->result_count != 1 || op->region_count)
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!find(x, op->operands[i], &values[i]))
            return false;
    if (op->opcode == OP_divi)
        return divide(op, values[0], values[1], out);
    if (op->opcode != OP_remi)
        return cg_evaluate_with(op, values, out);
    if (values[1] == 0 || values[1] == -1)
        return false;
    *out = values[0] % values[1];
    return true;
}

/* A test is false if one of its parts is, whatever the others are. */
static bool find_both(looking *x, const ct_op *op, int64_t *out)
{
    bool known = true;
    *out = -1;
    for (uint32_t i = op->operand_count; i-- > 0;) { /* the last part of a chain of tests is the shorter one */
        int64_t part;
        bool found = find(x, op->operands[i], &part);
        if (found && part == 0) {
            *out = 0;
            return true;
        }
        known = known && found;
        *out &= found ? part : -1;
    }
    return known;
}

/* ---- the launch ---- */

static bool find_size(looking *x, const cg_view *view, uint32_t d, int64_t *out)
{
    *out = view->tensor->shape[d];
    return *out != BC_DYNAMIC || find(x, view->extents[d], out);
}

static bool find_tiles(looking *x, const ct_op *op, uint32_t t, int64_t *out)
{
    const ct_value *v = op->operands[0];
    if (!v->view || v->type->kind == BC_GATHER_SCATTER_VIEW || !find_size(x, v->view, cg_view_dim(v->type, t), out))
        return false;
    int64_t step = cg_view_step(v->type, t);
    *out = step > 0 && *out < INT64_MAX - step ? (*out + step - 1) / step : 0;
    return step > 0;
}

static bool find_argument(const looking *x, const ct_value *v, int64_t *out)
{
    for (const cg_trip *trip = x->trip; trip; trip = trip->outer)
        if (v->block->parent == trip->loop && v->number == 0 && trip->loop->opcode == OP_for) {
            *out = trip->counter;
            return true;
        }
    if (v->block->parent || !x->launch->params || v->number >= x->launch->param_count)
        return false;
    *out = x->launch->params[v->number];
    return true;
}

/* The counter of a later iteration of a loop, and whether there is one. */
static bool find_later(looking *x, const ct_op *op, uint32_t result, int64_t *out)
{
    enum { MOST = 1 << 30 }; /* no sum of these overflows 64 bits */
    int64_t first, end, step_by;
    if (!find(x, op->operands[0], &first) || !find(x, op->operands[1], &end) || !find(x, op->operands[2], &step_by)
        || first > MOST || first < -MOST || step_by > MOST || step_by < -MOST)
        return false;
    int64_t counter = first + step_by * ((const cg_distance *)op->detail)->iterations, wanted = -1;
    if (result && op->operand_count > 3 && !find(x, op->operands[3], &wanted))
        return false;
    *out = result ? -(counter < end && wanted) : counter;
    return true;
}

static bool find_of(looking *x, const ct_value *v, int64_t *out)
{
    const ct_op *op = v->op;
    switch ((int)op->opcode) {
    case OP_assume: return find(x, ct_operand(op, F_assume_value), out);
    case OP_reshape:
    case OP_broadcast: return find(x, op->operands[0], out);
    case CT_tile_block:
    case OP_get_tile_block_id: *out = x->launch->block[v->number]; return x->launch->grid[0] > 0;
    case OP_get_num_tile_blocks: *out = x->launch->grid[v->number]; return *out > 0;
    case OP_get_tensor_shape: return op->operands[0]->view && find_size(x, op->operands[0]->view, v->number, out);
    case OP_get_index_space_shape: return find_tiles(x, op, v->number, out);
    case CT_later: return find_later(x, op, v->number, out);
    case CT_share:
        *out = v->number > 0;
        return true; /* its own tile block, as long as each thread block computes
                                                         one */
    case CT_few_blocks: *out = x->launch->is_small; return x->launch->grid[0] > 0;
    case CT_part:
    case CT_rank: *out = 0; return true;
    case CT_within: return find(x, op->operands[0], out);
    case OP_andi: return find_both(x, op, out);
    case OP_ptr_to_int: /* only its alignment matters, and arrays are allocated at multiples of more than 16 bytes */
        *out = 0;
        return x->launch->grid[0] > 0;
    default: return compute(x, op, out);
    }
}

static bool find(looking *x, const ct_value *v, int64_t *out)
{
    if (v->fact && v->fact->constant) {
        *out = v->fact->value;
        return true;
    }
    if (!x->steps || !(bc_is_tile(v->type)) || !bc_kind_in(bc_elem_kind(v->type), BC_SET_INT))
        return false;
    x->steps--;
    return v->op ? find_of(x, v, out) : find_argument(x, v, out);
}

bool cg_known(const cg_launch *launch, const cg_trip *trip, const ct_value *v, int64_t *out)
{
    return find(&(looking){.launch = launch, .trip = trip, .steps = MOST_STEPS}, v, out);
}

bool cg_known_bytes(const cg_launch *launch, const ct_value *memory, double *out)
{
    looking x = {.launch = launch, .steps = MOST_STEPS};
    const cg_view *view = memory->view;
    if (!view)
        return false;
    uint32_t bytes = bc_kind_memory_bytes(view->tensor->elem->kind);
    *out = bytes ? bytes : 0.5;
    for (uint32_t d = 0; d < view->tensor->rank; d++) {
        int64_t size;
        if (!find_size(&x, view, d, &size) || size < 0)
            return false;
        *out *= (double)size;
    }
    return true;
}

double cg_launch_iterations(const cg_launch *launch, const cg_trip *trip, const ct_op *loop, int64_t *out_middle)
{
    static const int64_t MOST_COUNTER = INT64_MAX / 2; /* additions to it do not overflow */
    int64_t bounds[3];
    *out_middle = 0;
    for (uint32_t i = 0; i < TV_COUNT(bounds); i++)
        if (loop->opcode != OP_for || !cg_known(launch, trip, loop->operands[i], &bounds[i]))
            return -1;
    if (bounds[2] <= 0)
        return -1;
    if (bounds[1] <= bounds[0])
        return 0;
    uint64_t step_by = (uint64_t)bounds[2], count = ((uint64_t)bounds[1] - (uint64_t)bounds[0] - 1) / step_by + 1;
    int64_t middle = (int64_t)((uint64_t)bounds[0] + count / 2 * step_by);
    *out_middle = middle < MOST_COUNTER && middle > -MOST_COUNTER ? middle : 0;
    return (double)count;
}

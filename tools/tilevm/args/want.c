/* Follows the constraints of a value back through arithmetic to the parameters and arrays that it is made of. For sums
   and products of several parameters, the constraints are stronger than necessary, so that a smallest number can be
   found for each parameter alone. */
#include "tools/tilevm/args/study.h"

static const int64_t none_least = INT64_MIN, none_most = INT64_MAX;

/* ---- arithmetic on wants ---- */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static int64_t modulo(int64_t a, int64_t n)
{
    int64_t rest = a % n;
    return rest < 0 ? rest + n : rest;
}

static int64_t floor_of(int64_t a, int64_t n)
{
    return (a - modulo(a, n)) / n;
}

static bool is_far(int64_t n)
{
    return n > ARG_FAR || n < -ARG_FAR;
}

/* A weak bound counts as none. */
static arg_want tidy(arg_want w)
{
    if (w.divisor < 1 || is_far(w.divisor))
        w.divisor = 1;
    w.residue = modulo(w.residue, w.divisor);
    w.least = is_far(w.least) ? none_least : w.least;
    w.most = is_far(w.most) ? none_most : w.most;
    return w;
}

static bool asks_nothing(const arg_want *w)
{
    return w->divisor == 1 && w->least == none_least && w->most == none_most;
}

static arg_want only_divisor(arg_want w, int64_t residue)
{
    return tidy((arg_want){w.divisor, residue, none_least, none_most});
}

static arg_want only_bounds(arg_want w)
{
    w.divisor = 1;
    w.residue = 0;
    return w;
}

/* The constraint of x, from that of x + c. */
static arg_want less(arg_want w, int64_t c)
{
    w = tidy(w);
    w.residue -= c % w.divisor;
    w.least -= w.least == none_least ? 0 : c;
    w.most -= w.most == none_most ? 0 : c;
    return tidy(w);
}

/* The constraint of x, from that of x * c, c > 0. */
static arg_want divided(arg_want w, int64_t c)
{
    w = tidy(w);
    int64_t common = gcd(w.divisor, c), inverse = 0;
    int64_t factor = c / common % (w.divisor / common);
    bool solvable = w.residue % common == 0;
    w.divisor = solvable ? w.divisor / common : 1;
    w.residue = solvable ? w.residue / common : 0;
    if (w.residue && w.divisor > 4096) /* those that occur are small */
        w.divisor = 1;
    if (w.residue) {
        while (inverse < w.divisor && factor * inverse % w.divisor != 1)
            inverse++;
        w.residue = w.residue * inverse % w.divisor;
    }
    w.least = w.least == none_least ? none_least : -floor_of(-w.least, c);
    w.most = w.most == none_most ? none_most : floor_of(w.most, c);
    return tidy(w);
}

/* The constraint of x, from that of x / c rounded in any way, c > 0. */
static arg_want multiplied(arg_want w, int64_t c)
{
    w = tidy(w);
    if (c > ARG_FAR / 2 || w.divisor > ARG_FAR / c)
        w.divisor = 1;
    w.residue *= w.divisor > 1 ? c : 0;
    w.divisor *= w.divisor > 1 ? c : 1;
    w.least = w.least == none_least || w.least > ARG_FAR / c || w.least < -ARG_FAR / c ? none_least : w.least * c;
    w.most = w.most == none_most || w.most > ARG_FAR / c || w.most < -ARG_FAR / c ? none_most : w.most * c;
    return tidy(w);
}

/* The constraint of x, from that of c - x. */
static arg_want mirrored(arg_want w, int64_t c)
{
    w = tidy(w);
    arg_want m = {w.divisor, c % w.divisor - w.residue, none_least, none_most};
    m.least = w.most == none_most ? none_least : c - w.most;
    m.most = w.least == none_least ? none_most : c - w.least;
    return tidy(m);
}

/* ---- numbers ---- */

static void add_divisor(arg_want *have, int64_t divisor, int64_t residue)
{
    int64_t common = gcd(have->divisor, divisor), steps = divisor / common, n = have->residue;
    if (steps > ARG_FAR / have->divisor)
        return;
    for (int64_t i = 0; i < steps && i < 4096 && n % divisor != residue; i++)
        n += have->divisor;
    if (n % divisor != residue)
        return; /* the two contradict each other: the first stays */
    have->residue = n;
    have->divisor *= steps;
}

void arg_number_wants(arg_number *number, arg_want w)
{
    arg_want *have = &number->want;
    w = tidy(w);
    add_divisor(have, w.divisor, w.residue);
    have->least = w.least > have->least ? w.least : have->least;
    have->most = w.most < have->most ? w.most : have->most;
}

int64_t arg_number_choose(const arg_number *number, int64_t least)
{
    arg_want w = tidy(number->want);
    int64_t n = w.least > least ? w.least : least;
    n += modulo(w.residue - n, w.divisor);
    if (n <= w.most)
        return n;
    return w.most - modulo(w.most - w.residue, w.divisor);
}

/* ---- following ---- */

typedef struct request {
    arg_want want;
    bool is_extent, open;
} request;

static bool follow(arg_student *s, const bc_value *v, request r);

static request with(request r, arg_want want)
{
    r.want = want;
    return r;
}

static bool asks(const request *r)
{
    return r->is_extent || r->open || !asks_nothing(&r->want);
}

static const arg_range *range_of(arg_student *s, const bc_value *v)
{
    return &s->study->ranges[v->id];
}

static bool reach_param(arg_student *s, const bc_value *v, request r)
{
    arg_number *number = &s->study->numbers[v->number];
    if (bc_is_tile(v->type) && v->type->elem->kind == BC_PTR) {
        int64_t *align = &s->study->demands[v->number].align;
        *align = r.want.divisor > *align && !r.want.residue ? r.want.divisor : *align;
        return true;
    }
    arg_number_wants(number, r.want);
    number->is_extent = number->is_extent || r.is_extent;
    number->open = number->open || r.open;
    return true;
}

/* Both operands, which share the constraint; if one has no parameters, the other must meet it alone. */
static bool follow_either(arg_student *s, const bc_value *a, const bc_value *b, request r)
{
    return asks(&r) && (follow(s, a, r) || follow(s, b, r));
}

static bool follow_both(arg_student *s, const bc_value *a, const bc_value *b, request r)
{
    bool first = follow(s, a, r), second = follow(s, b, r);
    return first || second;
}

static int64_t root_of(int64_t n)
{
    int64_t root = 0;
    while (root < 1 << 20 && (root + 1) * (root + 1) <= n)
        root++;
    return root;
}

static bool follow_sum(arg_student *s, const bc_value *a, const bc_value *b, request r)
{
    const arg_range *x = range_of(s, a), *y = range_of(s, b);
    if (arg_range_is_number(y))
        return follow(s, a, with(r, less(r.want, y->low)));
    if (arg_range_is_number(x))
        return follow(s, b, with(r, less(r.want, x->low)));
    bool first = follow(s, a, with(r, only_divisor(r.want, r.want.residue)));
    bool second = follow(s, b, with(r, only_divisor(r.want, 0)));
    arg_want bounds = less(only_bounds(r.want), arg_range_is_plain(y) ? y->low : 0);
    return follow_either(s, a, b, with(r, bounds)) || first || second;
}

static bool follow_difference(arg_student *s, const bc_value *a, const bc_value *b, request r)
{
    const arg_range *x = range_of(s, a), *y = range_of(s, b);
    if (arg_range_is_number(y))
        return follow(s, a, with(r, less(r.want, -y->low)));
    if (arg_range_is_number(x))
        return follow(s, b, with(r, mirrored(r.want, x->low)));
    bool first = follow(s, a, with(r, only_divisor(r.want, r.want.residue)));
    bool second = follow(s, b, with(r, only_divisor(r.want, 0)));
    arg_want bounds = less(only_bounds(r.want), arg_range_is_plain(y) ? -y->high : 0);
    return follow(s, a, with(r, bounds)) || first || second;
}

static bool follow_product(arg_student *s, const bc_value *a, const bc_value *b, request r)
{
    const arg_range *x = range_of(s, a), *y = range_of(s, b);
    arg_want bounds = only_bounds(r.want);
    if (arg_range_is_number(x)) {
        const bc_value *other = a;
        a = b;
        b = other;
        y = x;
    }
    if (arg_range_is_number(y))
        return y->low > 0 && follow(s, a, with(r, divided(r.want, y->low)));
    bool found = follow_either(s, a, b, with(r, only_divisor(r.want, 0)));
    if (bounds.least != none_least)
        bounds.least = bounds.least > 0 ? root_of(bounds.least - 1) + 1 : none_least;
    if (bounds.most != none_most)
        bounds.most = bounds.most > 0 ? root_of(bounds.most) : none_most;
    return follow_both(s, a, b, with(r, bounds)) || found;
}

static bool follow_quotient(arg_student *s, const bc_op *op, request r)
{
    const bc_value *a = bc_operands(op)[0];
    const arg_range *by = range_of(s, bc_operands(op)[1]);
    if (!arg_range_is_number(by) || by->low <= 0)
        return false;
    if (op->opcode == OP_divi)
        return follow(s, a, with(r, multiplied(r.want, by->low)));
    if (op->opcode == OP_remi && by->low % r.want.divisor == 0)
        return follow(s, a, with(r, only_divisor(r.want, r.want.residue)));
    if (op->opcode == OP_shli && by->low < 40)
        return follow(s, a, with(r, divided(r.want, (int64_t)1 << by->low)));
    return op->opcode == OP_shri && by->low < 40 && follow(s, a, with(r, multiplied(r.want, (int64_t)1 << by->low)));
}

/* All bits below the divisor are kept by the mask. */
static bool follow_mask(arg_student *s, const bc_op *op, request r)
{
    const arg_range *mask = range_of(s, bc_operands(op)[1]);
    bool whole = arg_range_is_number(mask) && ((mask->low + 1) & (r.want.divisor - 1)) == 0
                 && (r.want.divisor & (r.want.divisor - 1)) == 0;
    return whole && follow(s, bc_operands(op)[0], with(r, only_divisor(r.want, r.want.residue)));
}

static bool follow_offset(arg_student *s, const bc_op *op, request r)
{
    unsigned bytes = bc_kind_memory_bytes((bc_kind)bc_results(op)->type->elem->elem->kind);
    bool base = follow(s, bc_operand(op, F_offset_ptr), with(r, only_divisor(r.want, 0)));
    arg_want by = divided(only_divisor(r.want, r.want.residue), bytes ? bytes : 1);
    return follow(s, bc_operand(op, F_offset_offset), with(r, by)) || base;
}

/* The extents that get_tensor_shape and get_index_space_shape return. */
static bool follow_shape(arg_student *s, const bc_value *v, request r)
{
    const bc_op *tensor = arg_view_tensor(bc_operands(v->op)[0]);
    uint32_t dim;
    int64_t tile;
    if (!tensor || !arg_shape_axis(v->op, v->number, &dim, &tile))
        return false;
    const bc_value *extent = arg_tensor_extent(tensor, dim);
    return extent && follow(s, extent, with(r, multiplied(r.want, tile)));
}

/* What a loop carries, from before it and from the end of its body. */
static bool follow_carried(arg_student *s, const bc_op *loop, uint32_t i, request r)
{
    const bc_block *body = bc_regions(loop)[0];
    uint32_t first = loop->opcode == OP_for ? bc_operand_range(loop, F_for_init_values).first : 0;
    bool found = first + i < loop->operand_count && follow(s, bc_operands(loop)[first + i], r);
    const bc_op *last = body ? body->last : NULL;
    if (last && last->opcode == OP_continue && i < last->operand_count)
        return follow(s, bc_operands(last)[i], with(r, only_divisor(r.want, r.want.residue))) || found;
    return found;
}

/* An argument of a block: of the function, the counter of a loop, or what it carries. */
static bool follow_argument(arg_student *s, const bc_value *v, request r)
{
    const bc_block *body = s->f->body;
    if (v->number < body->arg_count && &body->args[v->number] == v)
        return v->number < s->study->count && reach_param(s, v, r);
    const bc_op *loop = s->study->owners[v->id];
    if (!loop || !bc_is_loop(loop->opcode))
        return false;
    if (loop->opcode == OP_loop)
        return follow_carried(s, loop, v->number, r);
    if (v->number > 0)
        return follow_carried(s, loop, v->number - 1u, r);
    bool step = follow(s, bc_operand(loop, F_for_step), with(r, only_divisor(r.want, 0)));
    r.want.most = none_most;
    return follow(s, bc_operand(loop, F_for_lower_bound), r) || step;
}

/* What an if yields in both its branches. */
static bool follow_branches(arg_student *s, const bc_value *v, request r)
{
    bool found = false;
    for (uint32_t i = 0; i < v->op->region_count; i++) {
        const bc_block *body = bc_regions(v->op)[i];
        const bc_op *last = body ? body->last : NULL;
        if (last && last->opcode == OP_yield && v->number < last->operand_count)
            found = follow(s, bc_operands(last)[v->number], r) || found;
    }
    return found;
}

/* What was stored there, or the elements of an array. */
static bool follow_load(arg_student *s, const bc_op *op, request r)
{
    int row = op->opcode == OP_load_ptr_tko ? F_load_ptr_tko_source : F_load_view_tko_view;
    const bc_value *local = arg_local_load(s->study, range_of(s, bc_operand(op, row)), bc_results(op)->type);
    if (local)
        return follow(s, local, r);
    uint32_t from = range_of(s, bc_results(op))->from;
    if (from)
        arg_number_wants(&s->study->demands[from - 1].elements, r.want);
    return from != 0;
}

/* Ops that pass on the numbers of their first operand. */
static bool hands_on(bc_opcode opcode)
{
    switch ((int)opcode) {
    case OP_assume:
    case OP_exti:
    case OP_trunci:
    case OP_itof:
    case OP_ftoi:
    case OP_ftof:
    case OP_bitcast:
    case OP_ptr_to_int:
    case OP_int_to_ptr:
    case OP_ptr_to_ptr:
    case OP_reshape:
    case OP_broadcast:
    case OP_permute:
    case OP_extract: return true;
    default: return false;
    }
}

static bool follow_op(arg_student *s, const bc_value *v, request r)
{
    const bc_op *op = v->op;
    const bc_value *const *operands = (const bc_value *const *)bc_operands(op);
    if (hands_on(op->opcode))
        return follow(s, operands[0], r);
    switch ((int)op->opcode) {
    case OP_addi: return follow_sum(s, operands[0], operands[1], r);
    case OP_subi: return follow_difference(s, operands[0], operands[1], r);
    case OP_muli: return follow_product(s, operands[0], operands[1], r);
    case OP_divi:
    case OP_remi:
    case OP_shli:
    case OP_shri: return follow_quotient(s, op, r);
    case OP_andi: return follow_mask(s, op, r);
    case OP_cat:
    case OP_mini:
    case OP_maxi: return follow_both(s, operands[0], operands[1], r);
    case OP_select: return follow_both(s, operands[1], operands[2], r);
    case OP_offset: return follow_offset(s, op, r);
    case OP_if: return follow_branches(s, v, r);
    case OP_get_tensor_shape:
    case OP_get_index_space_shape: return follow_shape(s, v, r);
    case OP_load_ptr_tko:
    case OP_load_view_tko: return follow_load(s, op, r);
    default: return false;
    }
}

/* Limits the search: loops lead back to their start, and sums of sums would take long. */
static bool follow(arg_student *s, const bc_value *v, request r)
{
    if (s->study->followed[v->id] || !asks(&r) || s->depth == 200 || s->budget == 0)
        return false;
    s->study->followed[v->id] = true;
    s->depth++;
    s->budget--;
    bool found = v->op ? follow_op(s, v, r) : follow_argument(s, v, r);
    s->depth--;
    s->study->followed[v->id] = false;
    return found;
}

enum { BUDGET = 2000 }; /* values looked at for one want */

bool arg_student_wants(arg_student *s, const bc_value *value, arg_want want)
{
    s->budget = BUDGET;
    return follow(s, value, (request){.want = tidy(want)});
}

void arg_student_marks(arg_student *s, const bc_value *value, bool is_extent, bool open)
{
    s->budget = BUDGET;
    follow(s, value, (request){.want = ARG_ANYTHING, .is_extent = is_extent, .open = open});
}

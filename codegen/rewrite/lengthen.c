/* Takes several steps of a loop over K together: tiles of more elements along K, in fewer iterations.

       for k = 0 to n {                              for k = 0 to (n + 3) / 4 {
           mmaf load A[i, k], load B[k, j], c   ->       mmaf load A'[i, k], load B'[k, j], c
       }                                             }

   Tiles may also be taken from the last one down (`n - 1 - k`); the product then takes the steps of an iteration from
   the last one to the first.

   The tiles may be computed element by element from loaded ones and from positions along K (codegen/analysis/k_loop.h).

   Why it is right: the loop does nothing but multiply tiles that lie behind each other along K, so that the longer tile
   has the same elements, and the instruction, which takes no more of K at a time than a step had, adds them in the same
   order. The views of the longer tiles end where the last step of the loop ended: behind that, and behind the tensor,
   both operands are zero, as what is computed from zeros must be here. A loop may begin with another tile, as in a part
   of K: steps in front of the tensor, which add zeros, are left out, and an index that wraps around is that of a tile
   of zeros in either form, because the tensors have fewer elements than 2^31 along K. Nothing in the loop writes, so
   that loads may be executed earlier. */
#include <string.h>

#include "codegen/analysis/product.h"
#include "codegen/facts/affine.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/rewrite/lengthen.h"
#include "codegen/tile/build.h"
#include "codegen/tile/same.h"

typedef struct lengthening {
    cg_func *c;
    const cg_k_steps *is;
    const cg_k_loop *of;
    uint32_t steps;  /* that are taken together */
    int64_t highest; /* number at which the loop may end */
    int64_t size;    /* of a step along K */
    ct_value *end;   /* the first step behind the loop's, */
    ct_value *whole; /* and the first element behind them, which is at most `most` steps */
    int64_t most;
    ct_value *last, *last_tile; /* the indices of the last step and of the last longer tile along K */
    ct_value *count, *first;    /* what the loop counts to, and the index of its first tile, or NULL for 0 */
    ct_value *skipped;          /* the steps in front of that */
} lengthening;

static ct_op *view_of(const ct_op *load)
{
    return ct_operand(load, ct_info(load)->address)->op;
}

/* The operand that is the load's index along K. */
static uint32_t index_of(const cg_k_loop *of, uint32_t i)
{
    return ct_operand_range(of->loads[i], F_load_view_tko_index).first + of->k[i];
}

/* ---- which loops ---- */

static ct_value *behind_promises(ct_value *v)
{
    while (v->op && v->op->opcode == OP_assume)
        v = v->op->operands[0];
    return v;
}

/* The operand of a sum that the loop does not change, which is the index in its first iteration if the other one is
   zero there. NULL: there is none. */
static ct_value *start_of(const cg_k_steps *x, const ct_value *index, ct_value **out_rest)
{
    const ct_op *op = index->op;
    for (uint32_t i = 0; op && op->opcode == OP_addi && i < 2; i++)
        if (cg_is_steady(&x->of, op->operands[i], CG_CUT_OPS)) {
            *out_rest = op->operands[1 - i];
            return op->operands[i];
        }
    return NULL;
}

/* By how much does the index grow in each iteration? It must be zero in the first one, or, if it falls, in the last
   one. 0: that is not known. */
static int64_t growth_of(const cg_k_steps *x, ct_value *index)
{
    ct_value *counter = &x->of.loop->regions[0]->args[0];
    const ct_op *op = behind_promises(index)->op;
    cg_affine a = {.widened_count = 0};
    cg_poly p, last;
    int64_t by, growth = 0;
    if (op && op->opcode == OP_divi && ct_is_constant(op->operands[1], &by))
        return by == x->by && behind_promises(op->operands[0]) == counter;
    if (!cg_poly_of(&a, index, &p) || !cg_poly_of(&a, x->of.loop->operands[1], &last) || a.widened_count)
        return 0;
    for (uint32_t i = 0; i < p.count; i++)
        if (p.terms[i].count == 1 && cg_is_same_factor(p.terms[i].factors[0], counter))
            growth = p.terms[i].times;
    const cg_term counted = {.times = -growth, .count = 1, .dim = CG_NO_DIM, .factors = {counter}},
                  one = {.times = -growth, .dim = CG_NO_DIM};
    const bool falls = growth < 0 && x->by == 1;
    const bool known = cg_poly_add_term(&p, &counted)
                       && (!falls || (cg_poly_add(&p, &last, growth) && cg_poly_add_term(&p, &one)));
    return known && !p.count ? growth : 0;
}

static bool is_like_counter(const cg_k_steps *x, const ct_value *v)
{
    return bc_elem_kind(v->type) == bc_elem_kind(x->of.loop->operands[1]->type);
}

/* Are the tiles of consecutive iterations beside each other, and zero outside of the tensor? */
static bool are_adjacent(cg_k_steps *x, uint32_t i, bool falls)
{
    const ct_op *load = x->of.loads[i], *view = view_of(load), *tensor = view->operands[0]->op;
    const bc_type *type = view->results[0].type;
    const uint32_t first = ct_operand_range(load, F_load_view_tko_index).first, k = x->of.k[i];
    ct_value *rest = load->operands[first + k], *start = falls ? NULL : start_of(x, behind_promises(rest), &rest);
    if (i && (start && x->start ? !ct_is_same(start, x->start) : start != x->start))
        return false;
    x->start = start;
    const int64_t growth = growth_of(x, rest), apart = cg_tiles_apart(type, k);
    for (uint32_t d = 0; d < type->rank; d++)
        if (d != k && !cg_is_steady(&x->of, load->operands[first + d], CG_CUT_OPS))
            return false;
    return (type->padding == BC_NO_PADDING || type->padding == BC_PaddingValue_zero) && type->rank <= CG_AFFINE_DIMS
           && tensor && tensor->opcode == OP_make_tensor_view && type->shape[k] % apart == 0
           && (!start || (type->shape[k] == apart && x->by == 1 && is_like_counter(x, start)))
           && growth == (falls ? -1 : 1) * (type->shape[k] / apart);
}

/* Are the positions of consecutive iterations beside each other? */
static bool is_position_adjacent(const cg_k_steps *x, const cg_k_slice *slice, bool falls)
{
    ct_value *base = slice->base, *counter = &x->of.loop->regions[0]->args[0];
    cg_affine a = {.widened_count = 0};
    cg_poly p;
    int64_t growth = 0;
    if (!base)
        return true;
    if (!cg_poly_of(&a, base, &p) || a.widened_count)
        return false;
    for (uint32_t i = 0; i < p.count; i++) {
        bool counts = false;
        for (uint32_t f = 0; f < p.terms[i].count; f++) {
            const ct_value *factor = p.terms[i].factors[f];
            counts = counts || cg_is_same_factor(factor, counter);
            if (!cg_is_same_factor(factor, counter) && !cg_is_steady(&x->of, factor, CG_CUT_OPS))
                return false;
        }
        if (counts && (p.terms[i].count != 1 || growth))
            return false;
        growth = counts ? p.terms[i].times : growth;
    }
    return growth == (falls ? -1 : 1) * slice->value->type->shape[0];
}

static bool are_all_adjacent(cg_k_steps *x, bool falls)
{
    bool all = true;
    for (uint32_t i = 0; i < x->of.load_count && all; i++)
        all = are_adjacent(x, i, falls);
    for (uint32_t i = 0; i < x->of.slice_count && all; i++)
        all = is_position_adjacent(x, &x->of.slices[i], falls);
    return all;
}

/* Does the loop count from zero by a constant, and can its counter hold that of several steps? */
static bool counts_steps(cg_k_steps *x, const ct_op *loop)
{
    const unsigned bits = bc_kind_bits(bc_elem_kind(loop->operands[1]->type));
    const int64_t most = (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
    int64_t first;
    return ct_is_constant(loop->operands[0], &first) && first == 0 && ct_is_constant(loop->operands[2], &x->by)
           && x->by > 0 && x->by <= most / CG_LINE_BYTES && !ct_attr_u(loop, F_for_unsigned_cmp);
}

/* Can the product's instruction take the steps of an iteration from the last one to the first? */
static bool may_fall(const cg_func *c, const cg_product *p)
{
    return p->atom.element_bits == 1 && !p->atom.widened && !(c->target->features & CG_HAS_TCGEN05);
}

bool cg_may_lengthen(const cg_func *c, ct_op *loop, cg_k_steps *out)
{
    bool may_run = !loop->plain || loop->likely;
    if (loop->opcode != OP_for || !may_run || !counts_steps(out, loop) || !cg_find_k_loop(loop, &out->of))
        return false;
    const cg_product p = cg_product_of(c, out->of.product);
    if (!cg_has_atom(&p) || p.scaled || p.batch || p.k < p.atom.k_bits)
        return false;
    out->falls = may_fall(c, &p) && are_all_adjacent(out, true);
    return (out->falls || are_all_adjacent(out, false)) && cg_is_zero_of_zeros(&out->of);
}

bool cg_is_start_near(const cg_k_steps *x)
{
    for (uint32_t i = 0; i < x->of.load_count && x->start; i++) {
        const ct_extent whole = ct_extent_of(view_of(x->of.loads[i])->operands[0]->op, x->of.k[i]);
        if ((whole.value ? cg_range_of(whole.value).high : whole.number) > INT32_MAX)
            return false;
    }
    return true;
}

/* ---- longer steps ---- */

/* Finds the first step. Those in front of the tensors, which add zeros, are left out: then no tile begins there. */
static void put_first(lengthening *x, ct_builder *b)
{
    ct_value *start = x->is->start;
    x->count = x->of->loop->operands[1];
    x->first = start ? ct_build_positive(b, start) : NULL;
    x->skipped = start ? ct_build_sub(b, x->first, start) : NULL;
    if (start)
        x->count = ct_build_sub(b, ct_build_positive(b, x->count), x->skipped);
}

/* The number of iterations if each takes so many steps. */
static ct_value *count_of(const lengthening *x, ct_builder *b, uint32_t steps)
{
    ct_value *end = x->count, *whole = ct_build_positive(b, end);
    const int64_t by = x->is->by * steps, most = x->highest;
    ct_value *more = ct_build_scalar(b, bc_elem_kind(end->type), by - 1);
    ct_value *count = ct_build_div_unsigned(b, ct_build_add(b, whole, more), by);
    return !count || ct_is_constant(count, &(int64_t){0})
               ? count
               : ct_build_bounded(b, count, 0, most > 0 ? (most - 1) / by + 1 : 0);
}

/* The tensor up to the end of the loop's last step. NULL: out of memory. */
static ct_value *put_tensor(const lengthening *x, ct_builder *b, uint32_t i)
{
    const ct_op *tensor = view_of(x->of->loads[i])->operands[0]->op;
    const uint32_t k = x->of->k[i];
    const ct_extent whole = ct_extent_of(tensor, k);
    const cg_range is = whole.value ? cg_range_of(whole.value) : (cg_range){whole.number, whole.number};
    const int64_t step = view_of(x->of->loads[i])->results[0].type->shape[k],
                  highest = x->most < INT64_MAX / step ? x->most * step : INT64_MAX,
                  most = is.low >= 0 && is.high < highest ? is.high : highest;
    ct_value *extent_value = whole.value ? ct_build_resize(b, whole.value, BC_I64, false)
                                         : ct_build_scalar(b, BC_I64, whole.number),
             *end = step == x->size ? x->whole : ct_build_mul(b, x->end, ct_build_scalar(b, BC_I64, step)),
             *lesser = ct_build_lesser(b, end, extent_value);
    ct_extent extent = {BC_DYNAMIC, NULL};
    if (!ct_is_constant(lesser, &extent.number))
        extent.value = ct_build_bounded(b, lesser, 0, most);
    return b->failed ? NULL : ct_build_op(b, ct_tensor_view_like(b->f, tensor, k, extent));
}

/* Is the number of steps, and what the tensors are made of, known in front of the op? */
static bool are_known(const lengthening *x, const ct_op *place)
{
    for (uint32_t n = 0; n <= x->of->load_count; n++) {
        const ct_op *made = n ? view_of(x->of->loads[n - 1])->operands[0]->op : x->of->loop;
        for (uint32_t i = n ? 0 : 1; i < (n ? made->operand_count : 2); i++)
            for (uint32_t r = 0; r < place->region_count; r++)
                if (place->regions[r] && ct_is_inside(made->operands[i]->block, place->regions[r]))
                    return false;
    }
    for (uint32_t r = 0; x->is->start && r < place->region_count; r++)
        if (place->regions[r] && ct_is_inside(x->is->start->block, place->regions[r]))
            return false;
    return true;
}

/* The op in front of which the tensors are made: outside of other ops as far as possible, since tensor maps are built
   at the head of a kernel. */
static ct_op *place_of(const lengthening *x)
{
    ct_op *place = x->of->loop;
    while (place->block->parent && are_known(x, place->block->parent))
        place = place->block->parent;
    return place;
}

/* Takes back the promise that the load's tile is inside the tensor along the dimension. */
static bool leave_tensor(ct_func *f, ct_op *load, uint32_t dim)
{
    bc_attr *attr = bc_attr_of(load->from, F_load_view_tko_inbounds);
    if (!attr->ints || !attr->ints->count)
        return true;
    bc_ints *ints = bc_new(f->arena, bc_ints, 1);
    int64_t *inside = bc_new(f->arena, int64_t, attr->ints->count);
    if (!ints || !inside)
        return false;
    memcpy(inside, attr->ints->ptr, attr->ints->count * sizeof *inside);
    inside[dim] = false;
    *ints = (bc_ints){inside, attr->ints->count};
    attr->ints = ints;
    return true;
}

/* The index along K of the longer tile; was: that of a step. */
static ct_value *put_index(const lengthening *x, ct_builder *b, const ct_value *was)
{
    ct_value *counter = &x->of->loop->regions[0]->args[0];
    const cg_range is = cg_range_of(was);
    if (!x->first)
        return ct_build_bounded(b, x->is->falls ? ct_build_sub(b, x->last_tile, counter) : counter, 0,
                                is.high / x->steps);
    ct_value *steps = ct_build_scalar(b, bc_elem_kind(counter->type), x->steps),
             *index = ct_build_add(b, x->first, ct_build_mul(b, counter, steps));
    return is.low >= 0 ? ct_build_bounded(b, index, 0, is.high) : index;
}

static bool lengthen_load(lengthening *x, ct_builder *b, uint32_t i)
{
    ct_op *load = x->of->loads[i];
    const bc_type *view = view_of(load)->results[0].type;
    const uint32_t k = x->of->k[i], at = index_of(x->of, i);
    const int64_t size = view->shape[k] * x->steps;
    int64_t shape[CG_AFFINE_DIMS], apart[CG_AFFINE_DIMS];
    for (uint32_t d = 0; d < view->rank; d++) {
        shape[d] = d == k ? size : view->shape[d];
        apart[d] = d == k && !x->first ? size : cg_tiles_apart(view, d);
    }
    ct_value *tensor = put_tensor(x, b, i);
    ct_value *tiles =
        tensor ? ct_build_op(b, ct_tile_view_new(b->f, view_of(load), tensor, shape, apart, BC_PaddingValue_zero))
               : NULL;
    if (!tiles)
        return false;
    ct_set_operand(load, ct_operand_range(load, ct_info(load)->address).first, tiles);
    ct_builder in = {b->f, load, false};
    ct_value *index = put_index(x, &in, load->operands[at]);
    if (index)
        ct_set_operand(load, at, index);
    return index;
}

/* The counter of the first step of an iteration, by the counter of the loop of longer steps. */
static ct_value *put_counter(const lengthening *x, ct_builder *b)
{
    ct_value *counter = &x->of->loop->regions[0]->args[0];
    const bc_kind kind = bc_elem_kind(counter->type);
    ct_value *tile = x->is->falls ? ct_build_sub(b, x->last_tile, counter) : counter,
             *step = ct_build_mul(b, tile, ct_build_scalar(b, kind, x->steps * x->is->by));
    return x->is->falls ? ct_build_sub(b, x->last, step) : x->first ? ct_build_add(b, x->skipped, step) : step;
}

static bool has_positions(const cg_k_loop *of)
{
    bool any = false;
    for (uint32_t i = 0; i < of->slice_count; i++)
        any = any || of->slices[i].base;
    return any;
}

/* v, with another counter of the loop, in front of the op. NULL: out of memory. */
static ct_value *counted(ct_func *f, const ct_block *body, ct_map *map, ct_value *v, ct_op *place)
{
    if (!ct_is_inside(v->block, body) || ct_mapped(map, v) != v)
        return ct_mapped(map, v);
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!counted(f, body, map, v->op->operands[i], place))
            return NULL;
    ct_op *copy = ct_clone(f, v->op, map);
    if (copy)
        ct_insert_before(copy, place);
    return copy ? ct_mapped(map, v) : NULL;
}

/* Has the scalars of all positions count the steps that are taken together. */
static bool count_positions(const lengthening *x, cg_k_loop *of)
{
    ct_func *f = x->c->ir;
    const ct_block *body = of->loop->regions[0];
    ct_builder b = {f, body->first, false};
    ct_value *counter = put_counter(x, &b);
    ct_map map;
    if (!counter || !ct_map_new(f, &map))
        return false;
    ct_map_set(&map, &body->args[0], counter);
    for (uint32_t i = 0; i < of->slice_count; i++)
        if (of->slices[i].base
            && !(of->slices[i].base = counted(f, body, &map, of->slices[i].base, of->slices[i].value->op)))
            return false;
    return true;
}

/* Moves a steady scalar in front of the loop. */
static void move_out(const cg_k_loop *of, const ct_value *v)
{
    if (!ct_is_inside(v->block, of->loop->regions[0]))
        return;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        move_out(of, v->op->operands[i]);
    ct_move_before(v->op, of->loop);
}

bool cg_lengthen(cg_func *c, cg_k_steps *is, uint32_t steps)
{
    const cg_k_loop *of = &is->of;
    if (is->start)
        move_out(of, is->start);
    ct_op *loop = of->loop, *product = of->product;
    const bc_type *right = product->operands[1]->type;
    const bool counts = has_positions(of);
    lengthening x = {.c = c, .is = is, .of = of, .steps = steps, .highest = cg_range_of(loop->operands[1]).high};
    ct_builder b = {c->ir, place_of(&x), false};
    put_first(&x, &b);
    const int64_t count = x.highest > 0 ? (x.highest - 1) / is->by + 1 : 0;
    ct_value *tiles = count_of(&x, &b, steps), *one = ct_build_scalar(&b, bc_elem_kind(loop->operands[1]->type), 1);
    x.last_tile = ct_build_sub(&b, tiles, one);
    x.last = is->falls && counts ? ct_build_sub(&b, x.count, one) : NULL;
    x.most = !x.first ? count : INT64_MAX;
    x.size = right->shape[right->rank - 2u];
    ct_value *elements = ct_build_scalar(&b, BC_I64, x.size);
    x.end = ct_build_resize(&b, count_of(&x, &b, 1), BC_I64, true);
    if (x.first)
        x.end = ct_build_add(&b, ct_build_resize(&b, x.first, BC_I64, true), x.end);
    x.whole = ct_build_mul(&b, x.end, elements);
    bool done = x.whole && x.last_tile;
    for (uint32_t i = 0; i < of->load_count && done; i++)
        done = lengthen_load(&x, &b, i);
    done = done && (!counts || count_positions(&x, &is->of)) && cg_resize_k(c->ir, &is->of, steps, 1);
    for (uint32_t i = 0; i < of->load_count && done; i++)
        done = leave_tensor(c->ir, of->loads[i], of->k[i]);
    if (!done)
        return false;
    while (is->falls && 1u << product->falling < steps)
        product->falling++;
    ct_set_operand(loop, 1, tiles);
    ct_set_operand(loop, 2, one);
    return true;
}

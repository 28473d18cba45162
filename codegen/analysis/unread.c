/* See the header. The rows of a tile are followed from an operand of a product to the rows, or columns, of the
   result, and through element-wise ops and carried values to stores. No row depends on another one, so the values of
   a row matter only where they are stored. */
#include "codegen/analysis/unread.h"

#include "codegen/analysis/product.h"

enum { MOST_DEPTH = 200 };

typedef struct search {
    const cg_affine *a;
    const cg_poly *beyond;
    const ct_value *extent;
    uint32_t dim;   /* the dimension along which `beyond` counts */
    uint8_t *along; /* by value id: 1 + the dimension along which the rows lie; 0: not visited */
    uint32_t depth;
} search;

static bool follow(search *s, ct_value *v, uint32_t dim);

/* ---- stores ---- */

/* Do the positions of a stored tile, whose rows lie along `dim`, have the same polynomial as those of the tile? */
static bool is_same_along(const search *s, const cg_poly *stored, const cg_poly *own, uint32_t dim)
{
    cg_poly difference = *stored;
    for (uint32_t i = 0; i < own->count; i++) {
        cg_term t = own->terms[i];
        t.times = -t.times;
        t.dim = t.dim == s->dim ? (uint8_t)dim : t.dim;
        if (!cg_poly_add_term(&difference, &t))
            return false;
    }
    return difference.count == 0;
}

/* Does the polynomial depend on the position along `dim`? */
static bool counts_along(const cg_poly *p, uint32_t dim)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->terms[i].dim == dim)
            return true;
    return false;
}

static bool has_factor(const cg_poly *p, const ct_value *v)
{
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t k = 0; k < p->terms[i].count; k++)
            if (cg_is_same_factor(p->terms[i].factors[k], v))
                return true;
    return false;
}

/* Is the comparison of the mask known not to wrap, provided that the values of the tile's rows do not? */
static bool holds(const search *s, const cg_affine *mask, uint32_t dim)
{
    for (uint32_t i = 0; i < mask->widened_count; i++) {
        bool found = !counts_along(&mask->widened[i], dim) && !has_factor(&mask->widened[i], s->extent);
        for (uint32_t k = 0; !found && k < s->a->widened_count; k++)
            found = is_same_along(s, &mask->widened[i], &s->a->widened[k], dim);
        if (!found)
            return false;
    }
    return true;
}

static bool masks_rows(const search *s, ct_value *mask, uint32_t dim)
{
    cg_poly demands[4];
    cg_affine a = {0};
    uint32_t count;
    if (!mask || !cg_mask_of(&a, mask, demands, 4, &count) || !holds(s, &a, dim))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (is_same_along(s, &demands[i], s->beyond, dim))
            return true;
    return false;
}

/* The mask of a write through pointers whose operand `index` is a tile of values. NULL: it has none, or the op is
   something else. */
static ct_value *mask_of(const ct_op *op, uint32_t index)
{
    static const int rows[][3] = {
        {OP_store_ptr_tko, F_store_ptr_tko_value, F_store_ptr_tko_mask},
        {OP_atomic_rmw_tko, F_atomic_rmw_tko_arg, F_atomic_rmw_tko_mask},
    };
    for (size_t i = 0; i < TV_COUNT(rows); i++)
        if (op->opcode == rows[i][0] && ct_operand_range(op, rows[i][1]).first == index
            && (op->opcode == OP_store_ptr_tko || !op->results[0].uses))
            return ct_operand(op, rows[i][2]);
    return NULL;
}

/* ---- the ops that pass rows on ---- */

/* The dimension of a reshape's result that has the elements of dimension `dim`. False: there is none. */
static bool reshaped(const ct_op *op, uint32_t dim, uint32_t *out)
{
    const bc_type *from = op->operands[0]->type, *to = op->results[0].type;
    uint32_t t = 0;
    for (uint32_t d = 0; d <= dim; d++) {
        if (from->shape[d] == 1)
            continue;
        while (t < to->rank && to->shape[t] == 1)
            t++;
        if (t == to->rank || from->shape[d] != to->shape[t])
            return false;
        if (d == dim) {
            *out = t;
            return true;
        }
        t++;
    }
    return false;
}

static bool is_harmless(const ct_op *op)
{
    return ct_is_map(op) && ct_is_pure(op) && op->result_count == 1 && op->opcode != OP_divi && op->opcode != OP_remi;
}

/* Follows the value that a terminator or loop passes on as operand `index`. */
static bool follow_handed(search *s, const ct_op *op, uint32_t index, uint32_t dim)
{
    uint32_t count, first = ct_is_loop(op) ? ct_first_carried(op) : 0;
    ct_value *targets = ct_targets(op, &count);
    const ct_op *loop = ct_is_loop(op) ? op : op->opcode == OP_continue ? ct_loop_around(op) : NULL;
    if (index < first || (loop && loop->opcode != OP_for) || (!loop && !targets))
        return false;
    if (!loop)
        return index < count && follow(s, &targets[index], dim);
    uint32_t carried = index - first;
    return follow(s, &loop->regions[0]->args[carried + 1], dim) && follow(s, &loop->results[carried], dim);
}

static bool follow_product(search *s, ct_op *op, uint32_t index, uint32_t dim)
{
    uint32_t last = op->results[0].type->rank - 1;
    bool goes_on = index == 2 || (index == 0 && dim != last) || (index == 1 && dim + 1 != last);
    return index < 3 && goes_on && follow(s, &op->results[0], dim);
}

static bool follow_use(search *s, const ct_use *use, uint32_t dim)
{
    ct_op *op = use->op;
    uint32_t to = dim;
    if (op->opcode == OP_mmaf || op->opcode == OP_mmai)
        return follow_product(s, op, use->index, dim);
    if (is_harmless(op) || (op->opcode == OP_broadcast && op->operands[0]->type->shape[dim] > 1)
        || (op->opcode == OP_reshape && reshaped(op, dim, &to)))
        return follow(s, &op->results[0], to);
    if (op->opcode == OP_permute) {
        const int64_t *order = ct_attr_of(op, F_permute_permutation)->ints->ptr;
        for (to = 0; order[to] != dim; to++)
            continue;
        return follow(s, &op->results[0], to);
    }
    return ct_is_loop(op) || ct_info(op)->traits & BC_TERMINATOR ? follow_handed(s, op, use->index, dim)
                                                                 : masks_rows(s, mask_of(op, use->index), dim);
}

static bool follow(search *s, ct_value *v, uint32_t dim)
{
    if (s->along[v->id] || !s->depth)
        return s->along[v->id] == dim + 1;
    s->along[v->id] = (uint8_t)(dim + 1);
    s->depth--;
    bool unread = true;
    for (const ct_use *use = v->uses; unread && use; use = use->next)
        unread = follow_use(s, use, dim);
    s->depth++;
    return unread;
}

bool cg_is_unread(cg_func *c, const cg_affine *a, ct_value *tile, uint32_t dim, const cg_poly *x,
                  const ct_value *extent)
{
    cg_poly beyond = *x;
    cg_term end = {.times = -1, .count = 1, .dim = CG_NO_DIM, .factors = {extent}};
    search s = {.a = a, .beyond = &beyond, .extent = extent, .dim = dim, .depth = MOST_DEPTH};
    s.along = bc_new(&c->arena, uint8_t, c->ir->value_count + 1u);
    if (!s.along)
        return false;
    return cg_poly_add_term(&beyond, &end) && follow(&s, tile, dim);
}

/* How left operands are computed from tiles; see the header. */
#include "codegen/analysis/computed.h"

typedef struct search {
    const ct_op *load;
    uint32_t budget; /* ops that may still be visited */
} search;

static bool find(search *x, const ct_value *v, const cg_layout *l, cg_layout *out);

/* `cat` puts an operand's elements beside each other with those of the other one: a thread needs the same elements of
   both. */
static bool find_in_cat(search *x, const ct_op *cat, const cg_layout *l, cg_layout *out)
{
    cg_shape small = cg_shape_of(cat->operands[0]->type), large = cg_shape_of(cat->results[0].type);
    cg_layout part = cg_layout_unembed(l, &small, &large);
    part = cg_layout_drop_replicas(&part, NULL);
    return find(x, cat->operands[0], &part, out) || find(x, cat->operands[1], &part, out);
}

/* `broadcast` repeats elements. */
static bool find_in_broadcast(search *x, const ct_op *broadcast, const cg_layout *l, cg_layout *out)
{
    cg_shape source = cg_shape_of(broadcast->operands[0]->type), result = cg_shape_of(broadcast->results[0].type);
    cg_layout from = cg_layout_unbroadcast(l, &source, &result);
    from = cg_layout_drop_replicas(&from, NULL);
    return find(x, broadcast->operands[0], &from, out);
}

/* An `if` gives what one of its branches computes, such as a tile with a mask or without it. */
static bool find_in_branches(search *x, const ct_value *v, const cg_layout *l, cg_layout *out)
{
    bool found = false;
    for (uint32_t r = 0; r < v->op->region_count && !found; r++) {
        const ct_op *last = v->op->regions[r]->last;
        found = last->opcode == OP_yield && find(x, last->operands[v - v->op->results], l, out);
    }
    return found;
}

/* v is wanted in layout l. */
static bool find(search *x, const ct_value *v, const cg_layout *l, cg_layout *out)
{
    const ct_op *op = v->op;
    if (!op || !ct_is_inside(op->block, x->load->block) || !x->budget)
        return false;
    x->budget--;
    if (op == x->load)
        *out = *l;
    if (op == x->load)
        return true;
    if (cg_is_seen(op)) {
        cg_layout source = cg_source_layout(v, l);
        return find(x, cg_source_of(v), &source, out);
    }
    if (op->opcode == OP_cat)
        return find_in_cat(x, op, l, out);
    if (op->opcode == OP_broadcast)
        return find_in_broadcast(x, op, l, out);
    if (op->opcode == OP_if)
        return find_in_branches(x, v, l, out);
    bool found = false;
    for (uint32_t i = 0; ct_is_map(op) && i < op->operand_count && !found; i++)
        found = find(x, op->operands[i], l, out);
    return found;
}

bool cg_computed_from(const ct_value *operand, const ct_op *load, const cg_layout *l, cg_layout *out)
{
    search x = {.load = load, .budget = 64};
    return cg_source_of(operand)->op != load && find(&x, operand, l, out);
}

bool cg_fragments_from(const cg_func *c, const ct_op *product, const ct_op *load, cg_layout *out)
{
    cg_layout fragments;
    for (uint32_t i = 0; i < 2; i++)
        if (cg_mma_fragment_layout(c, product, i, &fragments)
            && cg_computed_from(product->operands[i], load, &fragments, out))
            return true;
    return false;
}

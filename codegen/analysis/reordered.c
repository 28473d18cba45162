/* The order in which reordered products count K and rows; see the header. */
#include "codegen/analysis/reordered.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/view.h"

/* ---- whether ---- */

uint32_t cg_reordered_warps(uint32_t rows)
{
    enum { MOST = 3 };
    return rows - CG_ATOM_ROW_BITS < MOST ? rows - CG_ATOM_ROW_BITS : MOST;
}

static bool is_of_rows(const ct_op *load, const bc_type *weights)
{
    cg_view_op v = cg_view_op_of(load);
    const bc_type *tile = v.tile_type, *view = v.view->type;
    return cg_is_weak_access(load) && view->kind != BC_GATHER_SCATTER_VIEW && tile->rank == 2
           && view->elem->strides[cg_view_dim(view, 1)] == 1 && tile->shape[0] == weights->shape[0]
           && (tile->shape[1] == weights->shape[1] || 2 * tile->shape[1] == weights->shape[1]);
}

/* A search for the load: the ops that may still be visited, and the maps on the way. */
typedef struct search {
    const ct_block *body;
    const bc_type *weights;
    uint32_t budget, maps;
} search;

static bool comes_from_rows(search *x, const ct_value *v)
{
    const ct_op *op = v->op;
    if (!op || op->block != x->body || !x->budget)
        return false;
    x->budget--;
    if (op->opcode == OP_load_view_tko)
        return v->number == 0 && is_of_rows(op, x->weights);
    if (!ct_is_map(op) && op->opcode != OP_cat && op->opcode != OP_reshape && op->opcode != OP_unpack)
        return false;
    x->maps += ct_is_map(op);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (comes_from_rows(x, op->operands[i]))
            return true;
    return false;
}

static bool is_alone(const cg_func *c)
{
    uint32_t count = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        count += cg_is_product(op);
    return count == 1;
}

bool cg_may_reorder(const cg_func *c, const ct_op *product)
{
    enum { MOST_OF_A_THREAD = 7, MOST_RIGHT = 14 }; /* log2 of elements, of bytes */
    const ct_value *b = product->operands[1];
    const bc_type *few = product->operands[0]->type;
    if (!b->op || b->op->opcode != OP_permute || b->op->block != product->block || b->uses->next || !is_alone(c))
        return false;
    const bc_type *weights = b->op->operands[0]->type;
    cg_shape s = cg_shape_of(weights);
    search x = {.body = product->block, .weights = weights, .budget = 64};
    return s.bits[0] >= CG_ATOM_ROW_BITS && s.bits[1] >= CG_REORDERED_K_BITS
           && s.tile_bits <= MOST_OF_A_THREAD + CG_LANE_BITS + cg_reordered_warps(s.bits[0])
           && cg_shape_of(few).tile_bits + 1 <= MOST_RIGHT && comes_from_rows(&x, b->op->operands[0]) && x.maps;
}

/* ---- the order ---- */

enum { LANES_OF_K = 2, LANES_OF_ROWS = 3 };

/* The number of the only bit that is set in the image. False: none or several are set. */
static bool only_bit(uint32_t image, uint32_t *out)
{
    *out = image ? tv_trailing_zeros(image) : 0;
    return image && !(image & (image - 1));
}

/* Fills the free places of `order` with the unused ones of `count` bits, lowest first. taken: the places in use. */
static void fill_rest(uint8_t *order, uint32_t count, uint32_t taken)
{
    uint32_t used = 0, next = 0;
    for (uint32_t i = 0; i < count; i++)
        used |= taken >> i & 1 ? (uint32_t)1 << order[i] : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (taken >> i & 1)
            continue;
        while (used >> next & 1)
            next++;
        order[i] = (uint8_t)next++;
    }
}

/* The elements of a vector take places 0, 3 and 4 of K: neighbours, upper half, and the first of the steps. */
static void order_k(cg_product *p, uint32_t first_lane, uint32_t second_lane)
{
    enum { TAKEN = 1 | 2 | 4 | 8 | 16 };
    p->k_bit[0] = 0;
    p->k_bit[1] = (uint8_t)first_lane;
    p->k_bit[2] = (uint8_t)second_lane;
    p->k_bit[3] = 1;
    p->k_bit[4] = 2;
    fill_rest(p->k_bit, p->k, TAKEN);
}

/* Follows layout l if four adjacent lanes have elements along K, beyond the bits of a vector, and eight such groups
   of lanes, and the warps, have rows. False: l is different. */
static bool follow(const cg_func *c, cg_product *p, const cg_layout *l)
{
    uint32_t lanes[LANES_OF_K], taken = 0, bit;
    if (p->along_n || c->warp_bits != l->warp_bits || l->tile_bits != p->k + p->m)
        return false;
    for (uint32_t i = 0; i < LANES_OF_K; i++)
        if (!only_bit(l->lane[i], &lanes[i]) || lanes[i] < CG_VECTOR_K_BITS || lanes[i] >= p->k)
            return false;
    for (uint32_t i = 0; i < LANES_OF_ROWS + p->along_m; i++) {
        uint32_t place = i < LANES_OF_ROWS ? i : i + 1; /* place 3: the upper eight rows of an instruction */
        if (!only_bit(i < LANES_OF_ROWS ? l->lane[LANES_OF_K + i] : l->warp[i - LANES_OF_ROWS], &bit) || bit < p->k)
            return false;
        p->m_bit[place] = (uint8_t)(bit - p->k);
        taken |= (uint32_t)1 << place;
    }
    order_k(p, lanes[0], lanes[1]);
    fill_rest(p->m_bit, p->m, taken);
    return true;
}

void cg_find_order(const cg_func *c, cg_product *p, const cg_layout *l)
{
    if (l && follow(c, p, l))
        return;
    order_k(p, CG_VECTOR_K_BITS, CG_VECTOR_K_BITS + 1);
    fill_rest(p->m_bit, p->m, 0);
}

typedef struct ordered {
    const cg_product *p;
    bool left;
} ordered;

static uint32_t ordered_index(const void *of, uint32_t index)
{
    const ordered *x = of;
    const cg_product *p = x->p;
    uint32_t columns = x->left ? p->k : p->n, out = 0;
    for (uint32_t i = 0; i < columns + p->m; i++) {
        uint32_t bit = i >= columns ? columns + p->m_bit[i - columns] : x->left ? p->k_bit[i] : i;
        out |= (index >> i & 1) << bit;
    }
    return out;
}

cg_layout cg_in_order(const cg_product *p, const cg_layout *l, bool left)
{
    ordered x = {p, left};
    return cg_layout_map(l, l->tile_bits, ordered_index, &x);
}

/* ---- loads ---- */

enum { MOST_VISITS = 64 /* of uses, on the way to a product */ };

/* The reordered product that takes v as its left operand, perhaps after element-wise ops or through other views of
   it. NULL: there is none. */
static const ct_op *taker_of(const ct_value *v, uint32_t *budget)
{
    const ct_op *found = NULL;
    for (const ct_use *use = v->uses; use && !found && *budget; use = use->next) {
        const ct_op *op = use->op;
        --*budget;
        if (cg_is_product(op))
            found = op->way == CT_REORDERED && use->index == 0 ? op : NULL;
        else if (ct_is_map(op) || op->opcode == OP_cat || bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)))
            found = taker_of(cg_result(op, 0), budget);
    }
    return found;
}

bool cg_feeds_reordered(const ct_value *v)
{
    uint32_t budget = MOST_VISITS;
    return taker_of(v, &budget);
}

bool cg_reordered_home(const cg_func *c, const ct_op *load, cg_layout *out)
{
    uint32_t budget = MOST_VISITS, count = 0;
    const bc_type *tile = cg_result(load, 0)->type;
    const ct_op *product = tile->rank == 2 ? taker_of(cg_result(load, 0), &budget) : NULL;
    if (!product)
        return false;
    cg_product p = cg_product_of(c, product);
    cg_shape s = cg_shape_of(tile);
    uint32_t k = s.bits[1], chunk = cg_chunk_bits(tile);
    uint8_t order[CG_MAX_TILE_BITS];
    if (s.bits[0] != p.m || k > p.k || k + 1 < p.k || k < LANES_OF_K)
        return false;
    uint32_t vector = chunk < k - LANES_OF_K ? chunk : k - LANES_OF_K, rows = LANES_OF_ROWS + c->warp_bits;
    if (s.bits[0] <= rows)
        return false;
    for (uint32_t i = 0; i < vector + LANES_OF_K; i++)
        order[count++] = (uint8_t)i;
    for (uint32_t i = 0; i < rows; i++)
        order[count++] = (uint8_t)(s.shift[0] + i);
    for (uint32_t i = vector + LANES_OF_K; i < k; i++)
        order[count++] = (uint8_t)i;
    for (uint32_t i = rows; i < s.bits[0]; i++)
        order[count++] = (uint8_t)(s.shift[0] + i);
    *out = cg_layout_ordered(order, s.tile_bits, vector, c->warp_bits);
    return true;
}

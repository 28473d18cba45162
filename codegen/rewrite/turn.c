/* Transposed products (codegen/ops/mma_turned.c), and the changes that loop passes make to the ops around them: the
   product itself rounds f32 to tf32 in fragments, and producers round or transpose the tiles that the instruction reads
   in their slots (codegen/ops/put.c), since copies do neither and the instruction truncates. */
#include "codegen/analysis/product.h"
#include "codegen/rewrite/ring.h"

/* Does the op round f32 to tf32, to nearest, for one user? The product can do this itself. */
static bool is_rounding(const ct_op *op)
{
    return op->opcode == OP_ftof && bc_elem_kind(op->results[0].type) == BC_TF32
           && bc_elem_kind(op->operands[0]->type) == BC_F32
           && ct_attr_u(op, F_ftof_rounding_mode) == BC_RoundingMode_nearest_even && !op->results[0].uses->next;
}

/* The op in front of the value that is neither a rounding nor a view of its tile; *last_rounding: the last rounding
   before it. */
static const ct_op *behind_roundings(const ct_value *v, ct_op **last_rounding)
{
    ct_op *op = v->op;
    for (*last_rounding = NULL; op && (is_rounding(op) || cg_is_seen(op)); op = op->operands[0]->op)
        *last_rounding = op->opcode == OP_ftof ? op : *last_rounding;
    return op;
}

/* Leaves the rounding of the operand to the product or to copies, or takes that back. False: it has none. */
static bool leave_rounding(const ct_value *operand, bool leaves)
{
    ct_op *rounding;
    const ct_op *source = behind_roundings(operand, &rounding);
    if (!rounding || !source || !ct_is_load(source)) /* an operand that is computed is rounded where it is computed */
        return false;
    rounding->way = leaves ? CT_TURNED : CT_AS_IT_IS;
    return true;
}

void cg_set_way(ct_op *product, ct_way way)
{
    product->way = (uint8_t)way;
    for (uint32_t i = 0; i < 2; i++)
        leave_rounding(product->operands[i], way != CT_AS_IT_IS);
}

void cg_round_fragments(ct_op *product, bool left, bool right)
{
    left = leave_rounding(product->operands[0], left) && left;
    right = leave_rounding(product->operands[1], right) && right;
    product->way = left || right ? CT_FRAGMENTS : CT_AS_IT_IS;
}

bool cg_leaves_roundings(const ct_op *product)
{
    bool leaves = product->way == CT_TURNED;
    for (uint32_t i = 0; i < 2; i++) {
        ct_op *rounding;
        behind_roundings(product->operands[i], &rounding);
        leaves = leaves || (rounding && rounding->way == CT_TURNED);
    }
    return leaves;
}

ct_op *cg_rounding_product(const ct_block *body)
{
    for (ct_op *op = body->first; op; op = op->next)
        if (cg_is_product(op) && cg_leaves_roundings(op))
            return op;
    return NULL;
}

void cg_take_roundings(ct_op *product)
{
    for (uint32_t i = 0; i < 2; i++)
        for (ct_op *op = product->operands[i]->op, *before; op && cg_is_seen(op); op = before) {
            before = op->operands[0]->op;
            if (op->opcode != OP_ftof)
                continue;
            ct_replace_uses(&op->results[0], op->operands[0]);
            ct_remove(op);
        }
}

static cg_ring_load *load_of(cg_ring *ring, const ct_value *operand)
{
    for (uint32_t i = 0; i < ring->load_count; i++)
        if (ring->loads[i].op == cg_source_of(operand)->op)
            return &ring->loads[i];
    return NULL;
}

static void read_by(cg_ring_load *load, cg_feed feed)
{
    const cg_encoding *s = &load->encoding;
    cg_encoding encoding = cg_encoding_new(s->rows, s->columns, s->batch, s->bytes, feed);
    encoding.flipped = s->flipped;
    encoding.left_out = s->left_out;
    load->encoding = encoding;
    load->feed = feed;
}

static void set_straight(ct_op *product, cg_ring_load *right, bool straight)
{
    product->way = straight ? CT_DIRECT : CT_TURNED;
    read_by(right, straight ? CG_FEED_ROWS : CG_FEED_SECONDS);
}

/* For a product whose operands both have K contiguous: the instruction reads both from the ring, if they are rounded
   there; otherwise the product is transposed, and rounds the right operand in fragments. */
static void choose_side(const cg_func *c, ct_op *product, cg_ring *ring, bool maps)
{
    cg_ring_load *left = load_of(ring, product->operands[0]), *right = load_of(ring, product->operands[1]);
    if (!left || !right || (right->feed != CG_FEED_SECONDS && right->feed != CG_FEED_ROWS))
        return;
    set_straight(product, right, maps);
    cg_product p = cg_product_of(c, product);
    if (maps
        && !(cg_has_trait(&p, CG_READS_PLACED) && cg_async_reads(&p, true, false, &left->encoding)
             && cg_async_reads(&p, false, false, &right->encoding)))
        set_straight(product, right, false);
}

/* Must the tile of the load be rounded on its way to the product? */
static bool is_to_round(const ct_op *product, const cg_ring_load *load)
{
    return bc_elem_kind(product->operands[0]->type) == BC_TF32 && bc_elem_kind(load->op->results[0].type) == BC_F32
           && !load->computed;
}

/* How the tile gets to the product, depending on whether the instruction reads it in its slot. */
static cg_passage passage_of(const cg_ring_load *load, bool rounds, bool in_slot, bool maps)
{
    if (cg_is_transposed(load) || (rounds && !maps && in_slot))
        return rounds ? CG_ROUNDED_BY_THREADS : CG_TRANSPOSED_BY_THREADS;
    return !rounds ? CG_UNCHANGED : maps ? CG_ROUNDED_BY_MAP : CG_ROUNDED_BY_PRODUCT;
}

void cg_set_roundings(const cg_func *c, ct_op *product, cg_ring *ring, bool maps)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        any = any || is_to_round(product, &ring->loads[i]);
    if (any)
        choose_side(c, product, ring, maps);
    for (uint32_t i = 0; i < ring->load_count; i++) {
        cg_ring_load *load = &ring->loads[i];
        bool in_slot = product->way == CT_DIRECT || load == load_of(ring, product->operands[0]);
        load->passage = passage_of(load, is_to_round(product, load), in_slot, maps);
    }
}

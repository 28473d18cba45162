/* Rows that the threads of consumers read in a warp-specialised loop, such as those of the logarithms in the gradients
   of attention: producers copy them ahead, like the tiles of products, to a ring of their own. Consumers read them from
   shared memory in the layout in which they are used, right in front of the first use, so that a row takes no registers
   while products run, and no warp waits for memory or for a conversion.

   This is done in loops with three or more products. Those with two are skewed (codegen/passes/skew.c), which leaves a
   row no fixed place; in those with one, loads into registers hide the wait.

   Why it is right: the row is read between the barrier at which its copies arrive and the one at which consumers
   release the slot; none of its loads may have to follow a store of the kernel (cg_order_holds_back). */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/groups/groups_find.h"
#include "codegen/plan/loads.h"

/* ---- which rows ---- */

/* Products that add to the sum of another one count as one. */
static bool has_several_products(const ct_block *body)
{
    enum { SKEWED = 2 };
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = op->next)
        count += cg_is_product(op) && !cg_is_product(cg_addend_of(op)->op);
    return count > SKEWED;
}

/* Does the op only pass its operand on, without computing with its elements? */
static bool passes_on(const ct_op *op)
{
    return bc_op_in(op->opcode, BC_OPS(RESHAPE)) || op->opcode == OP_broadcast;
}

static bool is_read_inside(const ct_value *v, const ct_block *body)
{
    for (const ct_use *use = v->uses; use; use = use->next)
        if (!ct_is_inside(use->op->block, body) || use->op == body->last
            || (passes_on(use->op) && !is_read_inside(&use->op->results[0], body)))
            return false;
    return v->uses;
}

/* Do only ops of the loop read the row, and is nothing ordered after the load, which is moved? */
static const char *stays_inside(cg_query *q)
{
    bool stays = is_read_inside(&q->load->results[0], q->body) && !q->load->results[1].uses;
    return stays ? NULL : "it is read behind the loop, or accesses are ordered after it";
}

/* Does none of the kernel's stores have to come before it? */
static const char *precedes_kernel(cg_query *q)
{
    return cg_order_holds_back(q->c, q->user, q->load) ? "it may depend on another access of the kernel" : NULL;
}

static cg_condition *const of_rows[] = {
    cg_in_each_iteration, cg_is_movable, cg_row_fits_threads, stays_inside, cg_is_known_by_counter,
    precedes_kernel,      NULL};

/* Do products read the load's tile in its slot? Rows in slots are planned for blocks whose threads all copy. */
static bool is_for_products(const cg_ring *ring, const ct_op *load)
{
    for (uint32_t i = 0; i < ring->load_count; i++)
        if (ring->loads[i].op == load)
            return !cg_is_read_by_threads(&ring->loads[i]);
    return false;
}

static void find_rows(cg_splitting *x, ct_op *loop)
{
    cg_ring_place *p = &x->rows[x->row_count];
    *p = (cg_ring_place){.ring = cg_ring_plan(x->c, CG_RING_OF_GROUPS), .loop = loop, .is_first = true};
    cg_query q = {.c = x->c, .loop = loop, .body = loop->regions[0], .ring = p->ring, .user = x->f->body};
    for (ct_op *op = q.body->first; op && p->ring; op = op->next)
        if (op->opcode == OP_load_view_tko && !is_for_products(cg_plan_of(loop)->ring, op)
            && !cg_obstacle_to_ring(&q, of_rows, op))
            p->loads[p->ring->load_count - 1] = op;
    x->row_count += p->ring && p->ring->load_count;
}

void cg_groups_find_rows(cg_splitting *x)
{
    const ct_op *last = NULL;
    for (uint32_t i = 0; i < x->count && !cg_sums_in_tensor(x->c, x->places[0].product); i++)
        if (x->places[i].loop != last && has_several_products((last = x->places[i].loop)->regions[0]))
            find_rows(x, x->places[i].loop);
}

/* ---- the consumers ---- */

/* The first op of the body that computes with v, or contains one that does. */
static ct_op *first_reader(const ct_value *v, const ct_block *body)
{
    ct_op *first = NULL;
    for (const ct_use *use = v->uses; use; use = use->next) {
        ct_op *op = ct_in_block(use->op, body);
        if (op == use->op && passes_on(op))
            op = first_reader(&op->results[0], body);
        first = !first || ct_is_before(op, first) ? op : first;
    }
    return first;
}

/* Moves the op, and the ops that pass its tile on, in front of `place`. */
static void move_to(ct_op *op, ct_op *place)
{
    ct_move_before(op, place);
    for (const ct_use *use = op->results[0].uses; use; use = use->next)
        if (use->op->block == place->block && passes_on(use->op))
            move_to(use->op, place);
}

void cg_groups_consume_rows(const cg_splitting *x, const cg_ring_place *rows)
{
    const ct_block *body = rows->loop->regions[0];
    ct_op *first = NULL, *last = NULL;
    for (uint32_t i = 0; i < rows->ring->load_count; i++) {
        ct_op *load = rows->loads[i];
        rows->ring->loads[i].op = load;
        move_to(load, first_reader(&load->results[0], body));
        first = !first || ct_is_before(load, first) ? load : first;
        last = !last || ct_is_before(last, load) ? load : last;
    }
    rows->ring->why = "rows have as many stages as tiles of products";
    cg_remark_ring(x->c, rows->loop, rows->ring);
    cg_ring_stage_loads(x->c, rows->ring, rows->value);
    cg_ring_put(x->c, CT_await, rows->value, first);
    cg_ring_put_behind(x->c, CT_release, rows->value, last);
}

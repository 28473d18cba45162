/* The expand pass adds the copies that fill a ring to the loops that groups has left alone. Copies run ahead by the
   number of stages less one: the first ones are started in front of the loop, the others in it. The ops that compute
   the indices of a later iteration are copied, with the counter of that iteration.

       ring                                             for i = first to end step by {
       %i0, %is = later first, end, step {0}                await                     // the stage of this iteration
       copy %view[%i0] to ring, %is                         %t = staged
       commit                                               %j, %is = later i, end, step {stages - 1}
       ...                     // stages - 1 times          copy %view[%j] to ring, %is
                                                            commit
                                                            ... uses of %t ...
                                                            release
                                                        }

   `later` gives the counter of a later iteration and whether that iteration exists; a cursor holds the address of the
   next tile. With wgmma, the copies are started while it multiplies. With one stage, an iteration waits until all
   threads have read it, and then for its own copies. Where a stage holds a K slice, the product is executed once per
   slice, each between an await and a release.

   Kernels without products get the same ops; each thread has its own part of the ring and awaits its own copies. If
   the ring has one slot, the copies of the next iteration stand behind the ops that read the tiles of this one into
   registers. Loads that provide the addresses of copies, such as those of the entries of a page table, are started an
   iteration before these copies (codegen/rewrite/sources.c). A load without a ring is prefetched one iteration ahead
   into registers.

   Why it is right: the loads pass has shown that nothing in the loop writes what a copy reads, and a stage is
   overwritten only after the release of the iteration that read it. */
#include "codegen/analysis/product.h"
#include "codegen/rewrite/iteration.h"
#include "codegen/rewrite/sources.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/loads.h"

typedef struct expansion {
    cg_func *c;
    ct_func *f;
    ct_op *loop;
    ct_block *body;
    cg_ring *ring;
    ct_value *value; /* the ring */
    cg_source_values sources;
    ct_value *more; /* a condition for all copies; NULL: they are unconditional */
    ct_op *ahead;   /* in front of the loop: the counter of the first copy inside it; NULL: not created yet */
} expansion;

/* In the loop, cursors give the source of copies if a slot holds a whole tile. */
static void put_cursor(expansion *x, ct_op *copy, const ct_value *counter)
{
    if (!x->ahead) {
        x->ahead = cg_later_new(x->c, x->loop, ct_operand(x->loop, F_for_lower_bound), cg_ring_distance(x->ring));
        if (!x->ahead) {
            cg_no_memory(x->c);
            return;
        }
        ct_insert_before(x->ahead, x->loop);
    }
    cg_ring_put_cursor(x->c, copy, x->loop, counter, &x->ahead->results[0]);
}

/* Inserts the copies of K slice `part` for the iteration n after the one of `start`. */
static void put_copies(expansion *x, ct_value *start, uint32_t n, uint32_t part, ct_op *place)
{
    cg_iteration it;
    if (!cg_iteration_at(x->c, x->loop, start, n, place, &it))
        return;
    if (x->more && !ct_add_operands(x->f, it.later, &x->more, 1))
        cg_no_memory(x->c);
    if (x->ring->role == CG_RING_OF_THREADS)
        ((cg_distance *)it.later->detail)->ring = x->ring;
    cg_map_sources(&x->sources, &it.map, n, ct_is_inside(place->block, x->body));
    cg_iteration_slice(x->c, &it, x->ring, x->body, place);
    for (uint32_t i = 0; i < x->ring->load_count && !x->c->failed; i++) {
        const cg_ring_copy how = {.load = &x->ring->loads[i], .part = part};
        ct_op *copy = cg_put_copy(x->c, &how, x->value, &it, it.exists, place);
        if (!copy || copy->block != x->body)
            continue;
        if (!x->ring->parts)
            put_cursor(x, copy, &it.later->results[0]);
        cg_ring_put_addresses(x->c, copy, x->loop);
    }
    cg_ring_put(x->c, CT_commit, x->value, place);
}

/* Inserts the copies of slice s, where slices are numbered across iterations from `start` on. */
static void put_part(expansion *x, ct_value *start, uint32_t s, ct_op *place)
{
    put_copies(x, start, s >> x->ring->parts, s & ((1u << x->ring->parts) - 1), place);
}

/* ---- products ---- */

/* Replaces the product by one for each K slice; each adds to the one before it. */
static void split_product(expansion *x)
{
    ct_op *product = x->ring->product;
    for (uint32_t part = 0; part < 1u << x->ring->parts && !x->c->failed; part++) {
        bool is_last = part + 1 == 1u << x->ring->parts;
        ct_map map;
        ct_op *op = product;
        cg_k_part *k_part = bc_new(x->f->arena, cg_k_part, 1);
        if (!k_part || !ct_map_new(x->f, &map) || (!is_last && !(op = ct_clone(x->f, product, &map)))) {
            cg_no_memory(x->c);
            return;
        }
        *k_part = (cg_k_part){.number = part, .bits = x->ring->parts};
        op->detail = k_part;
        if (!is_last) {
            ct_insert_before(op, product);
            ct_set_operand(product, 2, &op->results[0]);
        }
        cg_ring_put(x->c, CT_await, x->value, op);
        put_part(x, &x->body->args[0], part + x->ring->slots - 1, op);
        cg_ring_put(x->c, CT_release, x->value, op->next);
    }
}

/* ---- loops ---- */

/* The op after the last op of the body that reads a tile of the ring. */
static ct_op *behind_reads(const expansion *x)
{
    ct_op *last = NULL;
    for (ct_op *op = x->body->first; op; op = op->next)
        if (op->opcode == CT_staged && ct_ring_of(op) == x->value)
            last = op;
    return last->next;
}

static void fill_body(expansion *x, ct_op *place)
{
    if (x->ring->end == CG_FREE_ONCE_READ) {
        cg_ring_put(x->c, CT_await, x->value, place);
        put_part(x, &x->body->args[0], cg_ring_distance(x->ring), behind_reads(x));
        cg_ring_put_releases(x->c, x->loop, x->value);
        return;
    }
    if (x->ring->parts) {
        split_product(x);
        return;
    }
    if (x->ring->slots == 1) {
        cg_ring_put(x->c, CT_acquire, x->value, place);
        put_part(x, &x->body->args[0], 0, place);
        cg_ring_put(x->c, CT_await, x->value, place);
        cg_ring_put_releases(x->c, x->loop, x->value);
        return;
    }
    cg_ring_put(x->c, CT_await, x->value, place);
    if (x->ring->behind) {
        x->ring->behind->in_flight = true;
        place = cg_put_mma_await(x->c, &x->ring->behind->results[0], x->ring->behind);
    }
    put_part(x, &x->body->args[0], x->ring->slots - 1, place);
    cg_ring_put_releases(x->c, x->loop, x->value);
}

static void put_first(expansion *x)
{
    for (uint32_t s = 0; s < cg_ring_distance(x->ring) && !x->c->failed; s++)
        put_part(x, ct_operand(x->loop, F_for_lower_bound), s, x->loop);
}

/* Begins to expand one of a loop's rings, and inserts its `ring` op. */
static expansion begin(cg_func *c, ct_op *loop, cg_ring *ring)
{
    expansion x = {.c = c, .f = c->ir, .loop = loop, .body = loop->regions[0], .ring = ring};
    x.value = cg_ring_new(c, x.ring, loop, loop);
    if (c->failed)
        return x;
    cg_remark_ring(c, loop, x.ring);
    cg_ring_stage_loads(c, x.ring, x.value);
    return x;
}

static void set_loop(expansion *x, ct_op *loop)
{
    x->sources.loop = x->loop = loop;
    x->body = loop->regions[0];
}

/* Makes the loop carry what the addresses of the ring's copies depend on, unless it carries that for the other ring.
   False: out of memory. */
static bool carry_sources(expansion *x, const expansion *other)
{
    ct_op *loop = cg_carry_sources(x->c, x->loop, x->ring, other ? &other->sources : NULL, &x->sources);
    if (loop)
        set_loop(x, loop);
    return loop;
}

/* Returns the loop, which may be a new one. */
static ct_op *expand(cg_func *c, ct_op *loop, cg_ring *ring)
{
    expansion x = begin(c, loop, ring);
    ct_op *place = x.body->first;
    if (c->failed || !carry_sources(&x, NULL))
        return loop;
    put_first(&x);
    fill_body(&x, place);
    cg_drop_sources(c, x.loop, ring);
    return x.loop;
}

/* ---- two rings (codegen/passes/keep.c, loads.c) ---- */

/* Makes the ring read the slots of the first loop's ring, which hold all tiles if each tile has a slot of its own. */
static void go_through_again(expansion *x)
{
    const cg_ring *first = x->ring->again;
    ct_op *more = cg_later_new(x->c, x->loop, ct_operand(x->loop, F_for_lower_bound), first->slots);
    ct_value *value = first->value;
    if (!more || !ct_add_operands(x->f, x->value->op, &value, 1)) {
        cg_no_memory(x->c);
        return;
    }
    ct_insert_before(more, x->loop);
    x->more = &more->results[1];
}

/* Expands the ring of tiles that are kept, or that products cannot read unchanged, and the loop's other ring if
   there is one. Returns the loop, which may be a new one. */
static ct_op *expand_both(cg_func *c, ct_op *loop, cg_ring *beside, cg_ring *ring)
{
    expansion x = begin(c, loop, beside), y = {0};
    ct_op *place = x.body->first;
    if (!c->failed && beside->again)
        go_through_again(&x);
    beside->value = x.value;
    beside->joined = ring->load_count != 0;
    if (!beside->joined)
        loop->detail = NULL; /* its slots are live as long as loops read them, not only while this loop runs */
    if (!c->failed && ring->load_count)
        y = begin(c, loop, ring);
    if (c->failed || !carry_sources(&x, NULL))
        return loop;
    if (y.ring) {
        set_loop(&y, x.loop);
        if (!carry_sources(&y, &x))
            return x.loop;
        set_loop(&x, y.loop);
    }
    put_first(&x);
    if (y.ring)
        put_first(&y);
    fill_body(&x, place);
    if (y.ring)
        fill_body(&y, place);
    cg_drop_sources(c, x.loop, beside);
    cg_drop_sources(c, x.loop, ring);
    if (beside->last)
        cg_ring_put_behind(c, CT_ended, beside->again ? beside->again->value : beside->value, x.loop);
    return x.loop;
}

void cg_pass_expand(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        if (op->opcode != OP_for)
            continue;
        const cg_plan *plan = op->detail;
        if (plan && plan->beside)
            op = expand_both(c, op, plan->beside, plan->ring);
        else if (plan)
            op = expand(c, op, plan->ring);
        op = c->failed ? op : cg_load_early(c, op);
    }
}

void cg_dump_expand(cg_func *c, bc_text *out)
{
    cg_dump_ops(c, out);
}

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
   next tile. If the product is asynchronous, copies are started meanwhile. With one stage, an iteration waits until all
   threads have read it, and then for its own copies. Where a stage holds a K slice, the product is executed once per
   slice, each between an await and a release.

   Kernels without products get the same ops; each thread has its own part of the ring and awaits its own copies. If
   the ring has one slot, the copies of the next iteration stand behind the ops that read the tiles of this one into
   registers. Loads that provide the addresses of copies, such as those of the entries of a page table, are executed an
   iteration before these copies, and the loop carries what they give. A load without a ring is prefetched one iteration
   ahead into registers.

   A loop whose plan says so is compiled twice: with its ring, and, for the case of a single iteration, without. In
   grids with few blocks, loops with narrow products prefetch tiles to L2 for later copies (codegen/rewrite/prefetch.c).

   Why it is right: the loads pass has shown that nothing in the loop writes what a copy reads, and a stage is
   overwritten only after the release of the iteration that read it. */
#include "codegen/analysis/tensor.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/remarks.h"
#include "codegen/rewrite/carried.h"
#include "codegen/rewrite/pipeline.h"
#include "codegen/rewrite/prefetch.h"
#include "codegen/rewrite/versions.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/loads.h"

typedef struct expansion {
    cg_func *c;
    ct_func *f;
    ct_op *loop;
    ct_block *body;
    cg_ring *ring;
    ct_value *value;   /* the ring */
    ct_value *more;    /* a condition for all copies; NULL: they are unconditional */
    cg_scheduled *ops; /* that run ahead */
    uint32_t count;
} expansion;

static void add(expansion *x, ct_op *op, uint32_t shift, ct_op *place)
{
    if (op)
        x->ops[x->count++] = (cg_scheduled){.op = op, .shift = (int32_t)shift, .place = place};
}

/* Schedules the copies of K slice s in front of `place`, where slices are numbered across iterations from the current
   one on: the ops that compute their operands, the copies and a commit. */
static void add_step(expansion *x, uint32_t s, ct_op *place)
{
    uint32_t shift = s >> x->ring->parts, part = s & ((1u << x->ring->parts) - 1);
    ct_op *commit = cg_ring_op(x->c, CT_commit, place, x->value);
    if (!commit)
        return;
    ct_insert_before(commit, place);
    for (ct_op *op = x->body->first; op; op = ct_next_op(op, x->body))
        if (cg_is_in_slice(x->ring, op))
            add(x, op, shift, commit);
    for (uint32_t i = 0; i < x->ring->load_count && !x->c->failed; i++) {
        const cg_ring_copy how = {.load = &x->ring->loads[i], .part = part};
        add(x, cg_put_copy(x->c, &how, x->value, NULL, NULL, commit), shift, commit);
    }
    add(x, commit, shift, commit);
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
        if (!k_part || !ct_map_new(x->f, &map) || (!is_last && !(op = ct_clone(x->f, product, &map))))
            return;
        *k_part = (cg_k_part){.number = part, .bits = x->ring->parts};
        op->detail = k_part;
        if (!is_last) {
            ct_insert_before(op, product);
            ct_set_operand(product, 2, &op->results[0]);
        }
        cg_ring_put(x->c, CT_await, x->value, op);
        add_step(x, part + x->ring->slots - 1, op);
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

/* Does the product read the operand in its slot? */
static bool lies_in_slot(const expansion *x, const ct_value *operand)
{
    const ct_op *op = cg_source_of(operand)->op;
    return op && op->opcode == CT_staged && ct_ring_of(op) == x->value && !op->in_registers;
}

/* All operands of the product but its sum, so also scales that it has. */
static bool all_lie_in_slot(const expansion *x, const ct_op *product)
{
    enum { SUM = 2 };
    bool all = true;
    for (uint32_t i = 0; i < product->operand_count; i++)
        all = all && (i == SUM || lies_in_slot(x, product->operands[i]));
    return all;
}

/* Does the product by tcgen05 go on while copies are started, and into the next iteration? Why it is right: it adds to
   tensor memory, to which only it and its successors add until the sum is taken behind the loop, and threads wait for
   the previous product (codegen/ops/tcgen05.c) before they start the copies that overwrite its slot. Scales that they
   store to tensor memory themselves would be stored while it reads the last ones, and nobody would wait for them. */
static bool flies_to_tensor(const expansion *x)
{
    uint32_t carried;
    ct_op *product = x->ring->behind;
    return product && !x->c->paired && cg_sums_in_tensor(x->c, product)
           && cg_product_carried(x->loop, &carried) == product && cg_loop_of_sum(x->loop, &carried) == x->loop
           && cg_tcgen05_has_room(x->c, x->loop) && all_lie_in_slot(x, product);
}

static void fill_body(expansion *x, ct_op *place)
{
    if (x->ring->end == CG_FREE_ONCE_READ) {
        cg_ring_put(x->c, CT_await, x->value, place);
        add_step(x, cg_ring_distance(x->ring), behind_reads(x));
        cg_ring_put_releases(x->c, x->loop, x->value);
        return;
    }
    if (x->ring->parts) {
        split_product(x);
        return;
    }
    if (x->ring->slots == 1) {
        cg_ring_put(x->c, CT_acquire, x->value, place);
        add_step(x, 0, place);
        cg_ring_put(x->c, CT_await, x->value, place);
        cg_ring_put_releases(x->c, x->loop, x->value);
        return;
    }
    cg_ring_put(x->c, CT_await, x->value, place);
    if (flies_to_tensor(x)) {
        uint32_t carried = 0;
        ct_op *product = cg_product_carried(x->loop, &carried);
        product->in_flight = product->in_place = true;
        place = product->next;
        cg_put_mma_await(x->c, &x->loop->results[carried], x->loop);
    } else if (x->ring->behind && !cg_sums_in_tensor(x->c, x->ring->behind)) {
        x->ring->behind->in_flight = true;
        place = cg_put_mma_await(x->c, &x->ring->behind->results[0], x->ring->behind);
    }
    add_step(x, x->ring->slots - 1, place);
    cg_ring_put_releases(x->c, x->loop, x->value);
}

/* Has the copies executed as far ahead as the ring has slots for. */
static void pipeline(const expansion *x)
{
    cg_pipelined out;
    if (!x->c->failed)
        cg_pipeline(x->c, &(cg_schedule){.loop = x->loop, .ops = x->ops, .count = x->count, .allow = x->more}, &out);
}

/* Begins to expand one of a loop's rings, and inserts its `ring` op. */
static expansion begin(cg_func *c, ct_op *loop, cg_ring *ring)
{
    expansion x = {.c = c, .f = c->ir, .loop = loop, .body = loop->regions[0], .ring = ring};
    uint32_t most = ring->load_count + 1; /* ops of a step */
    x.value = cg_ring_new(c, x.ring, loop, loop);
    for (const ct_op *op = x.body->first; op; op = ct_next_op(op, x.body))
        most += cg_is_in_slice(ring, op);
    x.ops = bc_new(x.f->arena, cg_scheduled, most << ring->parts);
    if (c->failed)
        return x;
    cg_remark_ring(c, loop, x.ring);
    cg_ring_stage_loads(c, x.ring, x.value);
    return x;
}

/* ---- loads that provide addresses ---- */

/* Executes the sources of that level of the rings, each an iteration before the copies, or the sources of the next
   level, that need it. Returns the loop, which may be a new one. */
static ct_op *run_level(cg_func *c, ct_op *loop, cg_ring *const *rings, uint32_t level, uint32_t shift)
{
    cg_pipelined out;
    cg_schedule schedule = {.loop = loop};
    cg_scheduled *ops =
        bc_new(&c->arena, cg_scheduled, rings[0]->slice.source_count + rings[1]->slice.source_count + 1);
    for (uint32_t r = 0; ops && r < 2; r++)
        for (uint32_t i = 0; i < rings[r]->slice.source_count; i++) {
            const cg_source *s = &rings[r]->slice.sources[i];
            if (s->level != level || (r && cg_is_source_of(rings[0], s->load)))
                continue;
            s->load->detail = NULL;
            ops[schedule.count++] =
                (cg_scheduled){.op = s->load, .shift = (int32_t)shift, .place = loop->regions[0]->first};
            cg_remark(c, s->load, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
                      "loaded ahead: {Iterations=%u} iterations, into registers, because copies that run ahead need it "
                      "for their addresses",
                      shift);
        }
    schedule.ops = ops;
    return ops && schedule.count && cg_pipeline(c, &schedule, &out) ? out.loop : loop;
}

/* Executes the sources of the loop's rings ahead of the copies; beside: a ring without loads if there is no other
   one. */
static ct_op *run_sources(cg_func *c, ct_op *loop, cg_ring *ring, cg_ring *beside)
{
    cg_ring *const rings[] = {ring, beside};
    uint32_t far = 0, levels = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const cg_slice *slice = &rings[i]->slice;
        far = slice->levels && cg_ring_farthest(rings[i]) > far ? cg_ring_farthest(rings[i]) : far;
        levels = slice->levels > levels ? slice->levels : levels;
    }
    for (uint32_t level = 1; level <= levels && !c->failed; level++)
        loop = run_level(c, loop, rings, level, far + 1 + levels - level);
    return loop;
}

/* The iterations that prefetches to L2 are ahead of the ring's copies; 0: there are none. They are for a block that
   has a multiprocessor for itself and waits for memory: few rows or columns are multiplied faster than the tiles of
   the other operand, of which every block has its own, come from DRAM, unless a tile has as many bytes as must be
   on their way. In grids with so few blocks, some multiprocessors have none, so that each of the others can have
   twice its share of these bytes. */
static uint32_t prefetched_ahead(const cg_func *c, const ct_op *loop, const cg_ring *ring)
{
    enum { SHARES = 2 };
    uint32_t bytes = (uint32_t)cg_machine_of(c->target)->bytes_ahead;
    bool waits = cg_is_narrow_ring(loop->regions[0], ring) && ring->slot_bytes < bytes;
    return waits ? SHARES * bytes / ring->slot_bytes + 1 : 0;
}

/* Returns the loop, which may be a new one. */
static ct_op *expand(cg_func *c, ct_op *loop, cg_ring *ring)
{
    cg_ring none = {.load_count = 0};
    loop = run_sources(c, loop, ring, &none);
    expansion x = begin(c, loop, ring);
    if (c->failed)
        return loop;
    fill_body(&x, x.body->first);
    pipeline(&x);
    if (!c->failed)
        cg_ring_find_sources(c, loop, x.value);
    const uint32_t more = prefetched_ahead(c, loop, ring);
    if (!c->failed && more)
        cg_put_prefetches(c, loop, ring, x.value, more);
    return loop;
}

/* ---- two rings (codegen/plan/keep.c, loads.c) ---- */

/* Makes the ring read the slots of the first loop's ring, which hold all tiles if each tile has a slot of its own. */
static void go_through_again(expansion *x)
{
    const cg_ring *first = x->ring->again;
    ct_op *more = cg_later_new(x->c, x->loop, ct_operand(x->loop, F_for_lower_bound), first->slots);
    ct_value *value = first->value;
    if (!more || !ct_add_operands(x->f, x->value->op, &value, 1))
        return;
    ct_insert_before(more, x->loop);
    x->more = &more->results[1];
}

/* Expands the ring of tiles that are kept, or that products cannot read unchanged, and the loop's other ring if
   there is one. Returns the loop, which may be a new one. */
static ct_op *expand_both(cg_func *c, ct_op *loop, cg_ring *beside, cg_ring *ring)
{
    loop = run_sources(c, loop, beside, ring);
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
    if (c->failed)
        return loop;
    fill_body(&x, place);
    if (y.ring)
        fill_body(&y, place);
    pipeline(&x);
    if (y.ring)
        pipeline(&y);
    if (c->failed)
        return loop;
    cg_ring_find_sources(c, loop, x.value);
    if (y.ring)
        cg_ring_find_sources(c, loop, y.value);
    if (beside->last)
        cg_ring_put_behind(c, CT_ended, beside->again ? beside->again->value : beside->value, loop);
    return loop;
}

/* Puts the loop into a branch that is executed if there are two iterations; the other one has a copy of it, without a
   plan. */
static void split_off_one(cg_func *c, ct_op *loop)
{
    ct_block *otherwise = NULL;
    ct_op *second = cg_may_version(loop, loop) ? cg_later_new(c, loop, ct_operand(loop, F_for_lower_bound), 1) : NULL;
    if (!second)
        return;
    ct_insert_before(second, loop);
    if (!cg_version(c, loop, loop, &second->results[1], &otherwise))
        return;
    for (ct_op *op = otherwise->first; op; op = ct_next_op(op, otherwise))
        if (ct_is_loop(op) || ct_is_load(op))
            op->detail = NULL;
}

void cg_pass_expand(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        if (op->opcode != OP_for)
            continue;
        const cg_plan *plan = op->detail;
        if (plan && plan->not_for_one && !plan->beside)
            split_off_one(c, op);
        if (plan && plan->beside)
            op = expand_both(c, op, plan->beside, plan->ring);
        else if (plan)
            op = expand(c, op, plan->ring);
        op = c->failed ? op : cg_load_early(c, op);
    }
}

/* Checks the plans of loops and of the kernel between passes; see the header. It checks each decision by its own
   rule, and that decisions fit together, regardless of which pass made them: the role of a ring and its users, the
   stages and when they are released, the offsets and the available memory, the form of a product and the instruction
   that computes it. */
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/early.h"
#include "codegen/check/check.h"
#include "codegen/rewrite/ring.h"

typedef struct checking {
    cg_func *c;
    const ct_op *op; /* whose plan it is */
    ct_fault *fault;
} checking;

static bool is_faulty(const checking *x, const char *what)
{
    *x->fault = (ct_fault){x->op, what};
    return false;
}

/* ---- loads of a ring ---- */

/* Whether the load has a place of its own in a slot. Tiles come first there, then scales and rows. */
static bool has_place(const cg_ring *ring, const cg_ring_load *load)
{
    uint32_t end = load->offset + cg_ring_load_bytes(load);
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const cg_ring_load *other = &ring->loads[i];
        if (other != load && other->offset < end && load->offset < other->offset + cg_ring_load_bytes(other))
            return false;
    }
    return end <= ring->slot_bytes;
}

static bool check_load(const checking *x, const cg_ring *ring, const cg_ring_load *load)
{
    bool of_threads = ring->role == CG_RING_OF_THREADS, groups = cg_is_between_groups(ring);
    if (!load->op || !bc_is_tile(load->op->results[0].type))
        return is_faulty(x, "a load of its ring brings no tile");
    if (of_threads ? !load->own_bytes : load->feed == CG_NO_FEED)
        return is_faulty(x, "a load of its ring has no place for those who read it");
    if (!has_place(ring, load))
        return is_faulty(x, "a load of its ring has no place of its own in a slot");
    if (!groups && (cg_is_put(load) || load->passage == CG_ROUNDED_BY_MAP))
        return is_faulty(x, "a tile of its ring is put or rounded without producers");
    if (load->computed && (!(groups || load->computed->held) || cg_is_put(load)))
        return is_faulty(x, "consumers read a tile of its ring that no group brings as it is in memory");
    if (load->to_all && ring->role == CG_RING_OF_MAPS && !x->c->cluster)
        return is_faulty(x, "a tile of its ring goes to all blocks of no cluster");
    return true;
}

static bool check_loads(const checking *x, const cg_ring *ring)
{
    if (!ring->load_count || ring->load_count > CG_RING_LOADS)
        return is_faulty(x, "its ring has no loads, or too many");
    for (uint32_t i = 0; i < ring->load_count; i++) {
        if (!check_load(x, ring, &ring->loads[i]))
            return false;
        if (cg_is_source_of(ring, ring->loads[i].op))
            return is_faulty(x, "a load of its ring provides the address of another one");
    }
    return true;
}

/* ---- rings ---- */

static bool check_slots(const checking *x, const cg_ring *ring)
{
    bool of_threads = ring->role == CG_RING_OF_THREADS, groups = cg_is_between_groups(ring);
    if (!ring->slots)
        return is_faulty(x, "its ring has no slot");
    if (ring->end == CG_FREE_ONCE_READ && (!of_threads || ring->slots != 1))
        return is_faulty(x, "only the one slot of threads is filled anew once it is read");
    if (of_threads && ring->slots == 1 && ring->end != CG_FREE_ONCE_READ)
        return is_faulty(x, "the one slot of threads would be filled while it is read");
    if (ring->end == CG_FREE_ITERATION_LATER && (!groups || !ring->behind || ring->slots < CG_SLOTS_IN_FLIGHT))
        return is_faulty(x, "its ring has no slot for a product that runs on");
    if (ring->end == CG_FREE_WHEN_MULTIPLIED && !groups)
        return is_faulty(x, "its slots are released by a product that other threads wait for");
    if (ring->at_start > ring->slots || (ring->at_start && !groups))
        return is_faulty(x, "threads fill slots at the start that its ring does not have");
    return true;
}

static bool check_kinds(const checking *x, const cg_ring *ring)
{
    if (ring->parts && (ring->role != CG_RING_OF_BLOCK || !ring->product || ring->slots < 2))
        return is_faulty(x, "its ring comes in parts of no product");
    if (ring->async && ring->role == CG_RING_OF_THREADS)
        return is_faulty(x, "a product would read what threads keep to themselves");
    if (ring->behind && !ring->async)
        return is_faulty(x, "its copies are started behind a product that threads wait for");
    if (ring->again
        && (ring->again->role != ring->role || ring->again->slots != ring->slots
            || ring->again->slot_bytes != ring->slot_bytes))
        return is_faulty(x, "its ring has other slots than the one whose tiles it reads again");
    return true;
}

static bool check_ring(const checking *x, const cg_ring *ring)
{
    return check_loads(x, ring) && check_slots(x, ring) && check_kinds(x, ring);
}

/* ---- plans of loops ---- */

static bool check_plan(const checking *x, const cg_plan *plan)
{
    const cg_ring *beside = plan->beside;
    if (!plan->ring)
        return is_faulty(x, "its plan has no ring");
    if (cg_is_between_groups(plan->ring))
        return is_faulty(x, "a ring between groups belongs to no loop");
    if (beside && (beside->role != CG_RING_OF_THREADS || beside->end != CG_FREE_BEHIND_ITERATION))
        return is_faulty(x, "the ring beside another one is not one of threads");
    if (beside && beside->slots < plan->ring->slots && plan->ring->load_count)
        return is_faulty(x, "the ring beside another one runs less far ahead");
    return (beside && !plan->ring->load_count ? true : check_ring(x, plan->ring)) && (!beside || check_ring(x, beside));
}

static bool check_early(const checking *x, const cg_early_plan *p)
{
    enum { MOST_DISTANCE = 2 };
    const ct_op *loop = x->op->block->parent;
    if (!loop || loop->opcode != OP_for)
        return is_faulty(x, "it is to run ahead of no loop's iterations");
    if (!p->distance || p->distance > MOST_DISTANCE || !p->registers || !p->access)
        return is_faulty(x, "it has no registers to run ahead into");
    return true;
}

/* ---- products, the kernel ---- */

static bool check_way(const checking *x, const ct_op *op)
{
    bool is_product = cg_is_product(op), is_async = op->way == CT_DIRECT || op->way == CT_TURNED;
    if (op->way == CT_AS_IT_IS || (op->opcode == OP_ftof && op->way == CT_TURNED))
        return true;
    if (!is_product)
        return is_faulty(x, "it is computed in a way that only products have");
    cg_product p = cg_product_of(x->c, op);
    if (is_async ? !cg_has_trait(&p, CG_ASYNCHRONOUS) || !cg_async_takes(x->c, op, &p)
                 : p.instruction != (op->way == CT_FRAGMENTS ? CG_BY_MMA : CG_BY_REORDERED_MMA))
        return is_faulty(x, "it has a way that no instruction goes");
    return true;
}

static bool check_groups(const checking *x, const cg_groups *g)
{
    uint32_t all = g->consumers * cg_threads(x->c) + g->producers * CG_PRODUCER_THREADS
                   + g->correctors * CG_CORRECTOR_THREADS;
    if (g->ring_bytes > g->shared || g->shared > cg_shared_most(x->c))
        return is_faulty(x, "its rings have more than the block's shared memory");
    if (g->launched % CG_REGISTER_STEP || g->consumers % CG_REGISTER_STEP || g->producers % CG_REGISTER_STEP
        || g->correctors % CG_REGISTER_STEP)
        return is_faulty(x, "registers are given back in eights");
    if ((g->launched != 0) != (g->consumers && g->producers) || all > CG_REGISTERS
        || all > g->launched * cg_all_threads(x->c))
        return is_faulty(x, "its groups have more registers than the block was launched with");
    if (g->to_all && !(g->by_maps && x->c->cluster))
        return is_faulty(x, "only tensor maps bring tiles to all blocks of a cluster");
    return !g->starts || (g->by_maps && g->starts->count) || is_faulty(x, "threads fill slots for no tensor maps");
}

static bool check_op(const checking *x)
{
    const ct_op *op = x->op;
    if (!check_way(x, op))
        return false;
    if (!op->detail)
        return true;
    if (op->opcode == OP_for)
        return check_plan(x, op->detail);
    if (ct_is_load(op))
        return check_early(x, op->detail);
    if (op->opcode == CT_groups)
        return check_groups(x, op->detail);
    return op->opcode != CT_ring || check_ring(x, op->detail);
}

bool cg_verify_plan(cg_func *c, ct_fault *out_fault)
{
    checking x = {.c = c, .fault = out_fault};
    for (x.op = c->ir->body->first; x.op; x.op = ct_next_op(x.op, c->ir->body))
        if (!check_op(&x))
            return false;
    return true;
}

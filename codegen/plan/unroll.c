/* Chooses the loops that are unrolled so that the loads of several iterations are in flight together
   (codegen/rewrite/unroll.c): those in which a thread loads little in an iteration, in short accesses. A copy of so
   little to a ring takes tens of instructions, and loads one after the other leave memory idle. Four iterations are
   executed together, or, where a thread has a single access in each, as many as there are registers for what they load
   or store (HELD_REGISTERS). What is too short for copies has no other way to be on its way early: of such loads,
   unless the kernel is a map, two iterations are enough, and more registers are taken (UNCOPIED_REGISTERS), those of
   pointers that a thread keeps included. Maps with several accesses keep their rings, if they can have any, since they
   compute more than they wait.

   No more iterations are executed together than a row has, or is taken to have: more would only be left to loops of
   fewer (codegen/rewrite/unroll.c).

   Loops that are unrolled get no ring. While the warps of a kernel are chosen by cost, no loop is unrolled: the model
   takes a loop for what it does in each of its iterations. Only fewer warps that share a row in such loops are weighed
   with them (codegen/choose.c). */
#include "codegen/analysis/product.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/again.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/early.h"
#include "codegen/rewrite/unroll.h"

enum { LEAST_BITS = 2 };

/* What a thread loads and stores in an iteration. */
typedef struct little {
    uint32_t loaded, stored; /* registers */
    uint32_t loads, ops;     /* accesses of a thread, ops of the iteration */
    uint32_t addresses;      /* registers of pointers that it keeps from iteration to iteration */
    bool fits;               /* it loads in short accesses, */
    bool narrow;             /* some through views, of less than 4 bytes; */
    bool small;              /* some of less than 4 bytes; */
    bool copied;             /* of which some are long enough for copies to a ring */
} little;

/* Does the load add to pointers in front of the loop, of which a thread keeps one for each access? */
static bool keeps_pointers(const ct_op *load)
{
    const ct_op *loop = ct_loop_around(load);
    const ct_value *v = load->opcode == OP_load_ptr_tko ? ct_operand(load, F_load_ptr_tko_source) : NULL;
    while (v && v->op && v->op->opcode == OP_offset && ct_is_inside(v->op->block, loop->regions[0]))
        v = ct_operand(v->op, F_offset_ptr);
    return v && v->type->rank && v->op && !ct_is_inside(v->op->block, loop->regions[0]);
}

static void add_load(cg_func *c, ct_op *load, little *all)
{
    enum { OF_A_POINTER = 2 };
    const bc_type *tile = load->results[0].type;
    bc_kind kind = bc_elem_kind(tile);
    cg_early_plan p = {.distance = 0};
    all->fits = all->fits && bc_kind_memory_bytes(kind) && kind != BC_PTR;
    if (!all->fits)
        return;
    cg_early_measure(c, load, &p);
    uint64_t own = ((uint64_t)cg_memory_bytes(kind) << cg_shape_of(tile).tile_bits) / cg_threads(c);
    all->loaded += p.registers;
    const uint32_t accesses = own > p.access ? (uint32_t)(own / p.access) : 1;
    all->loads += accesses;
    all->addresses += keeps_pointers(load) ? accesses * OF_A_POINTER : 0;
    all->fits = p.access < CG_ACCESS_BYTES || own < CG_ACCESS_BYTES;
    all->small = all->small || p.access < CG_COPY_BYTES;
    all->narrow = all->narrow || (load->opcode == OP_load_view_tko && p.access < CG_COPY_BYTES);
    all->copied = all->copied || (p.access >= CG_COPY_BYTES && own >= CG_COPY_BYTES);
}

/* A tile that is read from shared memory, where the thread's elements lie together (codegen/plan/stow.c). */
static void add_stowed(cg_func *c, const ct_op *op, little *all)
{
    all->loaded += cg_tile_registers(c, op->results[0].type, false);
    all->loads++;
    all->copied = true;
}

static void add_store(const cg_func *c, const ct_op *store, little *all)
{
    int row = store->opcode == OP_store_view_tko ? F_store_view_tko_tile : F_store_ptr_tko_value;
    all->stored += cg_tile_registers(c, ct_operand(store, row)->type, false);
}

static little little_of(cg_func *c, const ct_op *loop)
{
    little all = {.fits = true};
    for (ct_op *op = loop->regions[0]->first; op; op = ct_next_op(op, loop->regions[0])) {
        all.ops++;
        if (ct_is_load(op) && op->results[0].type->rank)
            add_load(c, op, &all);
        else if (op->opcode == CT_stowed)
            add_stowed(c, op, &all);
        else if (op->opcode == OP_store_ptr_tko || op->opcode == OP_store_view_tko)
            add_store(c, op, &all);
    }
    return all;
}

/* The registers that an iteration takes: those of what it loads or, if more, of what it stores; where it stores, at
   least two, because stores have addresses of their own. */
static uint32_t most_of(const little *all)
{
    uint32_t most = all->stored > all->loaded ? all->stored : all->loaded;
    return all->stored && most < 2 ? 2 : most;
}

/* log2 of the iterations that are executed together, at most: where blocks take tiles in turn, each may have few. */
static uint32_t most_bits(const ct_op *loop, const little *all, bool is_map)
{
    if ((all->copied && (cg_takes_turns(loop) || (all->loads > 1 && is_map))) || (all->narrow && is_map))
        return 0;
    return all->loads == 1 && !cg_takes_turns(loop) ? CG_HELD_REGISTERS : LEAST_BITS;
}

/* The iterations that the loop has, or that it is taken to have: those of the longest row that it loads. More together
   would never be executed. */
static uint32_t iterations_taken(const ct_op *loop)
{
    uint32_t most = 0;
    for (const ct_op *op = loop->regions[0]->first; op; op = ct_next_op(op, loop->regions[0])) {
        const bool is_tile = (ct_is_load(op) || op->opcode == CT_stowed) && op->results[0].type->rank;
        const uint32_t taken = is_tile ? cg_iterations_taken(loop, op->results[0].type) : 0;
        most = taken > most ? taken : most;
    }
    return most;
}

/* log2 of the iterations that are executed together; 0: the loop is not unrolled. Ranges of counters are stated only
   where loads have less than 4 bytes, for their bounds and masks: ptxas gives a thread fewer registers then, and delays
   loads of other loops. */
static uint32_t bits_of(cg_func *c, const ct_op *loop, bool is_map, bool *out_narrow)
{
    if (loop->opcode != OP_for || loop->plain)
        return 0;
    const little all = little_of(c, loop);
    if (!all.fits || !all.loaded || all.ops > CG_UNROLLED_OPS / 2 || !cg_may_unroll(c, loop))
        return 0;
    *out_narrow = all.small;
    const bool is_only_way = !all.copied && !is_map;
    const uint32_t taken = iterations_taken(loop), most = most_bits(loop, &all, is_map),
                   least = is_only_way ? 1 : LEAST_BITS,
                   beside = is_only_way && all.addresses < CG_UNCOPIED_REGISTERS ? all.addresses
                                                                                 : CG_UNCOPIED_REGISTERS,
                   more = CG_UNCOPIED_REGISTERS - beside,
                   registers = more > CG_HELD_REGISTERS ? more : CG_HELD_REGISTERS;
    uint32_t bits = 0;
    while (bits < most && most_of(&all) << (bits + 1) <= registers && all.ops << (bits + 1) <= CG_UNROLLED_OPS
           && taken >> (bits + 1))
        bits++;
    return bits < least ? 0 : bits;
}

static void tell(const cg_func *c, const ct_op *loop, uint32_t bits)
{
    for (const ct_op *op = loop->regions[0]->first; op; op = op->next)
        if (ct_is_load(op))
            cg_remark(c, op, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
                      "loaded ahead: together with those of {Iterations=%u} iterations, into registers, because an "
                      "iteration loads little",
                      1u << bits);
}

void cg_unroll_loops(cg_func *c)
{
    bool changed = false;
    if (c->strip_bits || cg_loops_stay_plain(c) || cg_choices_of(c)->registers == CG_NEVER
        || cg_has_products(c->ir->body))
        return;
    const bool is_map = cg_is_map(c);
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        bool is_narrow = false;
        uint32_t bits = bits_of(c, op, is_map, &is_narrow);
        if (!bits)
            continue;
        if (cg_choices_of(c)->together != CG_IF_LEGAL && cg_leaves_out(c))
            return;
        tell(c, op, bits);
        changed = cg_unroll(c, op, bits, is_narrow) || changed;
    }
    if (changed && cg_find_facts(c->ir))
        cg_find_views(c->ir);
}

/* Gives the multiplication of a chain's sum, as attention corrects O, to warps of their own, the correctors: a
   warpgroup behind the producers'. The consumers only give them the factors of the rows, through shared memory, and go
   on with the left operand of the next product.

       consumers, each warp for its tile t              correctors
       for i {                                          for i {
           take S[t]; a = ...                               for each tile t {
           give a: store, "given"                               wait "given"; wait for P V, if there was one
           P = ...                                              O[t] = O[t] * a, unless all are 1
           wait for P V; hand P: store, "handed"                "handed"
       }                                                }   }

   Their program is the consumers', pruned to the multiplication. The issuer waits at "handed" for the warps of both.

   Why it is right: the correctors multiply a sum behind the commit of the product that was added last, and behind its
   initial value, which consumers store before they give the first factors; and the issuer starts the next product, and
   consumers load the sum, only behind their arrival, or behind a product that waited for it. Factors have two places in
   turn: a place is filled again when the product of the last but one iteration is complete, for which the correctors
   had to read it. */
#include "codegen/rewrite/chains.h"

#include "codegen/analysis/order.h"
#include "codegen/kernel/choices.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"

enum { LEFT, FACTORS }; /* operands of `scale_sum` */

/* ---- which chains ---- */

/* Is it a factor for each row? */
static bool is_by_row(const ct_value *factors)
{
    const ct_op *op = factors->op;
    const bc_type *from = op && op->opcode == OP_broadcast ? op->operands[0]->type : NULL;
    return from && from->rank == 2 && from->shape[1] == 1;
}

/* Has a thread one row of the sum, or a part of one? */
static bool has_a_row(const cg_func *c, const ct_op *product)
{
    cg_product p = cg_product_of(c, product);
    cg_tcgen05_split(c, &p);
    return cg_tcgen05_moves_rows(&p) && !cg_tcgen05_halves_lanes(&p) && p.m == CG_LANE_BITS + p.along_m;
}

/* The chain's sum; NULL: there is none, several sums are multiplied, or consumers start products, for which the warps
   of all tiles wait. */
static cg_sum *find_sum(const cg_func *c)
{
    cg_sum *found = NULL;
    for (cg_sum *sum = c->tensor->sums; sum < c->tensor->sums + c->tensor->count; sum++) {
        if (!sum->issued || (sum->scaled && (found || !sum->late)))
            return NULL;
        found = sum->scaled ? sum : found;
    }
    if (!found)
        return NULL;
    return is_by_row(found->scaled->operands[FACTORS]) && has_a_row(c, found->product) ? found : NULL;
}

/* ---- the correctors' program ---- */

static bool is_root(const ct_op *op)
{
    return op->opcode == CT_correct || op->opcode == CT_tensor || op->opcode == CT_tensor_end || cg_is_grid_wait(op);
}

/* A copy of the consumers' program in which nothing but the multiplication is left; NULL: it needs more than correctors
   can execute, or out of memory, which is reported. *out: the op that multiplies. */
static ct_block *make_program(cg_func *c, ct_op *groups, const cg_sum *sum, ct_op **out)
{
    ct_map map;
    ct_value *nothing = NULL;
    for (const ct_op *op = groups->prev; op && op->opcode == CT_ring && !nothing; op = op->prev)
        nothing = &op->results[0];
    ct_block *program = NULL;
    if (nothing && ct_map_new(c->ir, &map))
        program = ct_clone_block(c->ir, groups->regions[CG_CONSUMERS], groups, &map);
    *out = program ? ct_op_new(c->ir, CT_correct, sum->scaled, 0, 0) : NULL;
    if (!*out)
        return NULL;
    ct_insert_before(*out, ct_mapped(&map, &sum->scaled->results[0])->op);
    if (!ct_prune(c->ir, program, is_root, nothing))
        return NULL;
    return cg_is_feasible_program(groups, program, is_root) ? program : NULL;
}

/* ---- the consumers' program ---- */

/* Consumers give the factors as soon as they have them. */
static void give(cg_func *c, ct_op *groups, cg_sum *sum)
{
    ct_op *scale = cg_of_consumers(groups, sum->scaled), *op = scale ? ct_op_new(c->ir, CT_give, scale, 1, 0) : NULL;
    if (!op)
        return;
    ct_value *factors = scale->operands[FACTORS];
    ct_set_operand(op, 0, factors);
    if (factors->op->block == scale->block)
        ct_insert_after(op, factors->op);
    else
        ct_insert_before(op, scale);
    ct_replace_uses(&scale->results[0], scale->operands[LEFT]);
    ct_remove(scale);
    sum->scaled = NULL;
    sum->given = op;
}

/* The registers of all groups: correctors and producers keep what they need, and consumers get the others. */
static void share_registers(const cg_func *c, cg_groups *groups)
{
    const uint32_t threads = cg_threads(c) + CG_PRODUCER_THREADS + CG_CORRECTOR_THREADS,
                   launched = CG_REGISTERS / threads / CG_REGISTER_STEP * CG_REGISTER_STEP,
                   most = CG_THREAD_REGISTERS / CG_REGISTER_STEP * CG_REGISTER_STEP;
    uint32_t own = launched * threads - CG_PRODUCER_THREADS * CG_ISSUER_REGISTERS
                   - CG_CORRECTOR_THREADS * CG_CORRECTOR_REGISTERS;
    own = own / cg_threads(c) / CG_REGISTER_STEP * CG_REGISTER_STEP;
    groups->launched = launched;
    groups->consumers = own < most ? own : most;
    groups->producers = CG_ISSUER_REGISTERS;
    groups->correctors = CG_CORRECTOR_REGISTERS;
}

void cg_correct_chain(cg_func *c, ct_op *groups)
{
    cg_sum *sum = c->tensor->tiles && cg_choices_of(c)->correction == CG_IF_LEGAL ? find_sum(c) : NULL;
    ct_op *correct;
    ct_block *program = sum ? make_program(c, groups, sum, &correct) : NULL;
    if (!program)
        return;
    groups->regions[CG_CORRECTORS] = program;
    groups->region_count = CG_CORRECTORS + 1;
    give(c, groups, sum);
    sum->corrected = correct;
    c->tensor->corrects = true;
    share_registers(c, groups->detail);
}

#include "codegen/ops/alternate.h"

#include "codegen/analysis/product.h"
#include "codegen/ptx/ptx.h"

/* The numbers of the named barriers; lower ones are those of groups of warps. */
enum { FIRST_TURN = 4, SECOND_TURN };

static cg_val is_first(cg_func *c)
{
    return cg_threads_without(c, 1u << (CG_WARPGROUP_BITS + CG_LANE_BITS));
}

void cg_alternate_begin(cg_func *c, const ct_op *loop)
{
    if (loop->turn == CT_HAS_TURNS)
        cg_ins(c, "@!%v bar.arrive %d, %u", is_first(c), FIRST_TURN, cg_threads(c));
}

void cg_alternate_end(cg_func *c, const ct_op *loop)
{
    if (loop->turn == CT_HAS_TURNS)
        cg_ins(c, "@%v bar.sync %d, %u", is_first(c), FIRST_TURN, cg_threads(c));
}

/* Each warpgroup meets the other one at a barrier of its own: "sync" waits, "arrive" does not. */
static void meet(cg_func *c, const char *how, int at_first, int at_second)
{
    const cg_val first = is_first(c);
    cg_ins(c, "@%v bar.%s %d, %u", first, how, at_first, cg_threads(c));
    cg_ins(c, "@!%v bar.%s %d, %u", first, how, at_second, cg_threads(c));
}

void cg_alternate_take(cg_func *c, const ct_op *product)
{
    if (product->turn == CT_TAKES_TURN)
        meet(c, "sync", FIRST_TURN, SECOND_TURN);
}

void cg_alternate_give(cg_func *c, const ct_op *product)
{
    if (product->turn == CT_GIVES_TURN)
        meet(c, "arrive", SECOND_TURN, FIRST_TURN);
}

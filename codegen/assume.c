/* Adds assumptions about parameters to a kernel; see the header. The result is used only for predictions, because it
   is correct only for launches that keep the promises. */
#include "codegen/assume.h"

#include "codegen/tile/build.h"

enum { MULTIPLE_BITS = 4 /* log2 of 16 */ };

static int64_t most_of(bc_kind kind)
{
    return kind == BC_I64 ? INT64_MAX : (int64_t)(((uint64_t)1 << (bc_kind_bits(kind) - 1)) - 1);
}

static bool assume(cg_func *c, const cg_assumption *a)
{
    if (a->parameter >= c->ir->body->arg_count || !c->ir->body->first)
        return true;
    ct_value *v = &c->ir->body->args[a->parameter], *promised = v;
    ct_builder b = {c->ir, c->ir->body->first, false};
    ct_use *uses = v->uses;
    if (!uses || !bc_is_tile(v->type) || v->type->rank)
        return true;
    bc_kind kind = bc_elem_kind(v->type);
    if (a->multiple)
        promised = ct_build_multiple(&b, promised, MULTIPLE_BITS);
    if (a->non_negative && bc_kind_in(kind, BC_SET_INT) && kind != BC_I1)
        promised = ct_build_bounded(&b, promised, 0, most_of(kind));
    if (!promised || promised == v)
        return promised;
    for (ct_use *use = uses, *next; use; use = next) {
        next = use->next;
        if (use->op != promised->op && use->op != promised->op->operands[0]->op)
            ct_set_operand(use->op, use->index, promised);
    }
    return true;
}

bool cg_assume(cg_func *c)
{
    const cg_choices *choices = cg_choices_of(c);
    for (uint32_t i = 0; i < choices->assumed_count; i++)
        if (!assume(c, &choices->assumed[i]))
            return false;
    return true;
}

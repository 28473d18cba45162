#include "codegen/tile/tokens.h"

#include "codegen/tile/build.h"

static void follow(ct_sources *s, const ct_value *token)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->tokens[i] == token)
            return;
    if (token->type->kind != BC_TOKEN)
        return;
    if (s->count == CT_MOST_SOURCES)
        s->all = true;
    else
        s->tokens[s->count++] = token;
}

/* Follows the operands that terminators in the op pass on as value `index` of `targets`. */
static void follow_handed_on(ct_sources *s, const ct_op *op, const ct_value *targets, uint32_t index)
{
    for (uint32_t r = 0; r < op->region_count; r++) {
        const ct_block *region = op->regions[r];
        for (const ct_op *t = region ? region->first : NULL; t; t = ct_next_op(t, region)) {
            uint32_t count;
            if (ct_targets(t, &count) == targets && index < t->operand_count)
                follow(s, t->operands[index]);
        }
    }
}

static void follow_argument(ct_sources *s, const ct_value *v)
{
    const ct_op *loop = v->block->parent;
    bool is_for = loop && loop->opcode == OP_for;
    if (!loop || !ct_is_loop(loop) || v->number < is_for) {
        s->all = true;
        return;
    }
    uint32_t index = v->number - is_for;
    follow(s, loop->operands[(is_for ? ct_for_inits(loop).first : 0) + index]);
    follow_handed_on(s, loop, v->block->args + is_for, index);
}

static void follow_result(ct_sources *s, const ct_value *v)
{
    const ct_op *op = v->op;
    if (op->opcode == OP_for)
        follow(s, &op->regions[0]->args[v->number + 1]);
    else if (op->region_count)
        follow_handed_on(s, op, op->results, v->number);
    for (uint32_t i = 0; i < op->operand_count && !op->region_count; i++)
        follow(s, op->operands[i]);
}

ct_sources ct_sources_of(const ct_op *op)
{
    ct_sources s = {.count = 0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        follow(&s, op->operands[i]);
    for (uint32_t next = 0; next < s.count && !s.all; next++) {
        if (s.tokens[next]->op)
            follow_result(&s, s.tokens[next]);
        else
            follow_argument(&s, s.tokens[next]);
    }
    return s;
}

bool ct_is_source(const ct_sources *s, const ct_op *op)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->tokens[i]->op == op)
            return true;
    return s->all;
}

bool ct_pass_token_on(ct_func *f, ct_op *op)
{
    ct_value *result = &op->results[op->result_count - 1], *before = NULL;
    if (!result->uses || result->type->kind != BC_TOKEN)
        return true;
    for (uint32_t i = 0; i < op->operand_count; i++)
        before = op->operands[i]->type->kind == BC_TOKEN ? op->operands[i] : before;
    if (!before)
        before = ct_build_op(&(ct_builder){f, op, false}, ct_token_new(f, op, result->type));
    if (before)
        ct_replace_uses(result, before);
    return before;
}

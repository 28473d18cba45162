/* Prints the tile IR; see the header. The disassembler writes ops of the bytecode. For each, it gets a stand-in: an
   op with the attributes of `from`, and with the current operands, results and arguments. */
#include "codegen/tile/print.h"

#include <string.h>

#include "bytecode/print/print.h"

typedef struct printer {
    const ct_func *f;
    const ct_comments *comments;
    bc_op_printer *words;
    bc_arena scratch;
    const ct_value **values; /* by id, once they have a stand-in */
    bc_text comment;
    bc_text *out;
    uint32_t depth;
} printer;

/* An op that is being printed. */
typedef struct line {
    printer *p;
    const ct_op *op;
    const bc_op *stand_in;
    bool has_comments; /* the comments are written */
} line;

/* ---- values ---- */

static void put_name(const printer *p, const ct_value *v)
{
    if (v->id >= p->f->from->value_count)
        bc_text_printf(p->out, "%%t%u", v->id - p->f->from->value_count);
    else
        bc_op_printer_value(p->words, v->op ? &bc_results(v->op->from)[v->number] : &v->block->from->args[v->number],
                            p->out);
}

static void put_names(const printer *p, const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        bc_text_puts(p->out, i ? ", " : " ");
        put_name(p, op->operands[i]);
    }
}

static void put_results(const printer *p, const ct_op *op)
{
    bool imported = op->result_count && op->results[0].id < p->f->from->value_count;
    if (imported)
        bc_op_printer_results(p->words, op->from, p->out);
    for (uint32_t i = 0; i < op->result_count && !imported; i++) {
        bc_text_puts(p->out, i ? ", " : "");
        put_name(p, &op->results[i]);
    }
    bc_text_puts(p->out, op->result_count ? " = " : "");
}

/* ---- comments ---- */

static void put_line(const printer *p, const ct_value *v)
{
    if (!p->comment.len)
        return;
    bc_text_printf(p->out, "%*s", (int)(2 * p->depth + 6), "");
    if (v) {
        put_name(p, v);
        bc_text_puts(p->out, ": ");
    }
    bc_text_printf(p->out, v ? "%s\n" : "{%s}\n", bc_text_words(&p->comment));
}

static void comment_values(printer *p, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count && p->comments->value; i++) {
        bc_text_clear(&p->comment);
        p->comments->value(p->comments->user, &values[i], &p->comment);
        put_line(p, &values[i]);
    }
}

static void say_op(printer *p, const ct_op *op)
{
    bc_text_clear(&p->comment);
    if (p->comments->op)
        p->comments->op(p->comments->user, op, &p->comment);
}

/* Writes the comments, below the line or below the line that opens the op's first region, once. */
static void comment_op(line *l)
{
    if (l->has_comments)
        return;
    l->has_comments = true;
    bc_text_char(l->p->out, '\n');
    if (l->stand_in) {
        say_op(l->p, l->op);
        put_line(l->p, NULL);
    }
    comment_values(l->p, l->op->results, l->op->result_count);
}

/* ---- regions ---- */

static void put_op(printer *p, const ct_op *op);

static void put_block(line *l, const ct_block *block)
{
    printer *p = l->p;
    bc_text_char(p->out, '{');
    if (l->has_comments)
        bc_text_char(p->out, '\n');
    comment_op(l);
    comment_values(p, block ? block->args : NULL, block ? block->arg_count : 0);
    p->depth++;
    for (const ct_op *op = block ? block->first : NULL; op; op = op->next)
        put_op(p, op);
    p->depth--;
    bc_text_printf(p->out, "%*s}", (int)(2 * p->depth + 2), "");
}

/* ---- ops of the bytecode ---- */

static void look_value(void *user, const bc_value *value, bc_text *out)
{
    const line *l = user;
    (void)out;
    put_name(l->p, l->p->values[value->id]);
}

static void look_region(void *user, const bc_block *block, bc_text *out)
{
    line *l = user;
    (void)out;
    for (uint32_t i = 0; i < l->op->region_count; i++)
        if (bc_regions(l->stand_in)[i] == block)
            put_block(l, l->op->regions[i]);
}

static bc_value stand_in_value(const printer *p, const ct_value *v)
{
    static const bc_type none = {.kind = BC_TOKEN}; /* as it is written */
    p->values[v->id] = v;
    return (bc_value){.type = v->type == &ct_own_type ? &none : v->type, .id = v->id, .number = v->number};
}

static bc_block *stand_in_block(printer *p, const ct_block *block)
{
    bc_block *made = bc_new(&p->scratch, bc_block, 1);
    bc_value *args = bc_new(&p->scratch, bc_value, block->arg_count + 1u);
    if (!made || !args)
        return NULL;
    if (block->from)
        *made = *block->from;
    made->args = args;
    made->arg_count = block->arg_count;
    for (uint32_t i = 0; i < block->arg_count; i++)
        made->args[i] = stand_in_value(p, &block->args[i]);
    return made;
}

/* NULL: out of memory. */
static bc_op *stand_in(printer *p, const ct_op *op)
{
    bc_op *made = bc_op_new_in(&p->scratch, (bc_opcode)op->opcode, op->result_count, op->operand_count);
    bc_value *operands = bc_new(&p->scratch, bc_value, op->operand_count + 1u);
    if (!made || !operands)
        return NULL;
    bc_op_defaults(made);
    if (op->opcode == op->from->opcode) /* otherwise the op has another opcode than `from` */
        memcpy(bc_attrs(made), bc_attrs(op->from), op->from->attr_slots * sizeof(bc_attr));
    for (uint32_t i = 0; i < op->operand_count; i++) {
        operands[i] = stand_in_value(p, op->operands[i]);
        bc_operands(made)[i] = &operands[i];
    }
    for (uint32_t i = 0; i < op->result_count; i++)
        bc_results(made)[i] = stand_in_value(p, &op->results[i]);
    for (uint32_t i = 0; i < op->region_count; i++)
        if (op->regions[i] && !(bc_regions(made)[i] = stand_in_block(p, op->regions[i])))
            return NULL;
    return made;
}

/* ---- ops of the tile IR ---- */

static void put_types(const printer *p, const ct_op *op)
{
    const char *before = " : ";
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (op->results[i].type == &ct_own_type)
            continue;
        bc_text_puts(p->out, before);
        bc_print_type(p->out, op->results[i].type, false);
        before = ", ";
    }
}

static void put_own(line *l)
{
    printer *p = l->p;
    bc_text_puts(p->out, ct_op_name(l->op));
    put_names(p, l->op);
    say_op(p, l->op);
    if (p->comment.len)
        bc_text_printf(p->out, " {%s}", bc_text_words(&p->comment));
    put_types(p, l->op);
    for (uint32_t i = 0; i < l->op->region_count; i++) {
        bc_text_char(p->out, ' ');
        put_block(l, l->op->regions[i]);
    }
}

static void put_op(printer *p, const ct_op *op)
{
    line l = {.p = p, .op = op};
    bc_op_look look = {.user = &l, .value = look_value, .region = look_region};
    bc_text_printf(p->out, "%*s", (int)(2 * p->depth + 2), "");
    put_results(p, op);
    if (op->opcode >= OP_LIMIT)
        put_own(&l);
    else if ((l.stand_in = stand_in(p, op)))
        bc_op_printer_print_as(p->words, l.stand_in, op->opcode == op->from->opcode ? op->from : NULL, &look, p->out);
    else
        p->out->failed = true;
    if (l.has_comments)
        bc_text_char(p->out, '\n');
    comment_op(&l);
}

void ct_print(const bc_module *m, const ct_func *f, const ct_comments *comments, bc_text *out)
{
    printer p = {.f = f, .comments = comments, .out = out, .words = bc_op_printer_new(m, f->from)};
    bc_arena_init(&p.scratch, &m->arena.allocator, 0);
    bc_text_init(&p.comment, &m->arena.allocator);
    p.values = bc_new(&p.scratch, const ct_value *, f->value_count + 1u);
    if (p.words && p.values) {
        comment_values(&p, f->body->args, f->body->arg_count);
        for (const ct_op *op = f->body->first; op; op = op->next)
            put_op(&p, op);
    }
    out->failed = out->failed || !p.words || !p.values || p.comment.failed;
    bc_text_release(&p.comment);
    bc_op_printer_free(p.words);
    bc_arena_release(&p.scratch);
}

/* Decides what a finding depends on: the kernel, or the arguments that were made up for it. */
#include <string.h>

#include "tools/tilevm/args/study.h"

static uint8_t origin(const arg_student *s, const bc_value *v)
{
    return s->study->origins[v->id];
}

static uint8_t made_of_pointer(const arg_student *s, const bc_value *pointer)
{
    const arg_range *p = &s->study->ranges[pointer->id];
    bool guessed = p->root && p->root <= s->study->count && s->slots[p->root - 1].made && (!p->known || p->term_count);
    return origin(s, pointer) | (guessed ? ARG_MADE_SIZE : 0);
}

static uint8_t made_of_view(const arg_student *s, const bc_op *op, int view_row, int index_row)
{
    bc_range indices = bc_operand_range(op, index_row);
    uint8_t made = origin(s, bc_operand(op, view_row));
    for (uint32_t i = 0; i < indices.count; i++)
        made |= origin(s, bc_operands(op)[indices.first + i]);
    return made;
}

static uint8_t made_of(const arg_student *s, const bc_op *op)
{
    uint8_t made = 0;
    switch ((int)op->opcode) {
    case OP_load_view_tko: return made_of_view(s, op, F_load_view_tko_view, F_load_view_tko_index);
    case OP_store_view_tko: return made_of_view(s, op, F_store_view_tko_view, F_store_view_tko_index);
    case OP_atomic_red_view_tko: return made_of_view(s, op, F_atomic_red_view_tko_view, F_atomic_red_view_tko_index);
    case OP_load_ptr_tko: return made_of_pointer(s, bc_operand(op, F_load_ptr_tko_source));
    case OP_store_ptr_tko: return made_of_pointer(s, bc_operand(op, F_store_ptr_tko_destination));
    case OP_atomic_rmw_tko: return made_of_pointer(s, bc_operand(op, F_atomic_rmw_tko_pointers));
    case OP_atomic_cas_tko: return made_of_pointer(s, bc_operand(op, F_atomic_cas_tko_pointers));
    default: break;
    }
    for (uint32_t i = 0; i < op->operand_count; i++)
        made |= origin(s, bc_operands(op)[i]);
    return made;
}

void arg_student_origins(const arg_student *s)
{
    uint32_t index = 0;
    for (const bc_op *op = s->f->body->first; op; op = bc_next_op(op, s->f->body))
        s->study->made[index++] = made_of(s, op);
}

/* Which made-up arguments excuse a kernel that breaks a rule. Extents of arrays excuse a broken promise, but not an
   access: the kernel must check extents before an access. */
uint8_t arg_study_excuses(const arg_study *study, const char *rule, uint32_t op_index)
{
    static const struct {
        const char *prefix;
        uint8_t made;
    } rules[] = {
#define PROMISE (ARG_MADE_EXTENT | ARG_MADE_NUMBER | ARG_MADE_DATA)
#define ACCESS (ARG_MADE_NUMBER | ARG_MADE_DATA | ARG_MADE_SIZE)
        {"X-ASM-", PROMISE}, {"X-AST-", PROMISE}, {"X-CVT-", PROMISE}, {"X-DIV-", PROMISE}, {"X-IDX-03", PROMISE},
        {"X-LOP-", PROMISE}, {"X-MMS-", PROMISE}, {"X-OVF-", PROMISE}, {"X-SHF-", PROMISE}, {"X-IDX-", ACCESS},
        {"X-INI-", ACCESS},  {"X-MEM-", ACCESS},  {"X-PTR-", ACCESS},  {"X-RAC-", ACCESS},  {"X-TOK-", ACCESS},
    };
    for (size_t i = 0; i < TV_COUNT(rules); i++)
        if (strncmp(rule, rules[i].prefix, strlen(rules[i].prefix)) == 0)
            return study->made[op_index] & rules[i].made;
    return 0;
}

/* A finding that follows from another one has no op, and is excused with it. */
static bool is_excused(const arg_study *study, const bc_function *f, const tv_diag *diag, bool any)
{
    if (!diag->op.len || diag->op_index >= f->op_count)
        return any && (strcmp(diag->rule, "X-ORD-01") == 0 || strcmp(diag->rule, "X-OPN-01") == 0);
    return arg_study_excuses(study, diag->rule, diag->op_index)
           || (diag->other && arg_study_excuses(study, diag->rule, diag->other->op_index));
}

bool arg_study_excuse(const arg_study *study, const bc_function *f, const tv_diag *diag, bool any, bc_text *text,
                      tv_diag *out_told)
{
    if (!is_excused(study, f, diag, any))
        return false;
    bc_text_str(text, diag->message);
    bc_text_puts(text, "; the arguments were generated");
    *out_told = *diag;
    out_told->message = text->failed ? diag->message : bc_text_get(text);
    out_told->help = bc_str(text->failed
                                ? "out of memory"
                                : "generated arguments may be the cause: pass arguments that the kernel expects");
    return true;
}

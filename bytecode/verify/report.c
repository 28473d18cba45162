/* How rules report: names the field in words, keeps consequences of an earlier error quiet, counts. Nothing here runs
   unless something is wrong. */
#include "bytecode/print/print.h"
#include "bytecode/verify/verify.h"

/* ---- suspicion ---- */

static bool is_suspect(const bc_verifier *v, const bc_value *value)
{
    if (v->type_state[value->type->index] == BC_TYPE_WRONG)
        return true;
    return v->suspect && (v->suspect[value->id / 8] >> (value->id % 8) & 1);
}

static bool has_suspect_operand(const bc_verifier *v, const bc_op *op)
{
    for (unsigned i = 0; i < op->operand_count; i++)
        if (is_suspect(v, bc_operands(op)[i]))
            return true;
    return false;
}

void bc_suspect_value(bc_verifier *v, const bc_value *value)
{
    if (!v->suspect) {
        v->suspect = v->allocator.alloc(v->allocator.user, v->suspect_size);
        if (!v->suspect) {
            v->no_memory = v->done = true;
            return;
        }
        memset(v->suspect, 0, v->suspect_size);
    }
    v->suspect[value->id / 8] |= (uint8_t)(1u << (value->id % 8));
}

void bc_suspect(bc_verifier *v, const bc_op *op)
{
    for (unsigned i = 0; i < op->result_count; i++)
        bc_suspect_value(v, &bc_results(op)[i]);
    for (unsigned i = 0; i < op->region_count; i++) {
        const bc_block *block = bc_regions(op)[i];
        for (uint32_t a = 0; block && a < block->arg_count; a++)
            bc_suspect_value(v, &block->args[a]);
    }
}

bool bc_is_bad_parent(const bc_verifier *v, const bc_op *parent)
{
    for (unsigned i = v->depth; i-- > 0;)
        if (v->frames[i].op == parent)
            return v->frames[i].bad;
    return false;
}

/* ---- words ---- */

static bc_text *next_words(bc_verifier *v)
{
    bc_text *text = &v->words[v->next_word++ % BC_WORDS];
    bc_text_clear(text);
    return text;
}

const char *bc_type_words(bc_verifier *v, const bc_type *type)
{
    bc_text *text = next_words(v);
    bc_print_type(text, type, false);
    return bc_text_words(text);
}

const char *bc_shape_words(bc_verifier *v, const bc_type *tile)
{
    bc_text *text = next_words(v);
    if (tile->rank == 0)
        bc_text_puts(text, "scalar");
    for (uint32_t d = 0; d < tile->rank; d++)
        bc_text_printf(text, d ? "x%lld" : "%lld", (long long)tile->shape[d]);
    return bc_text_words(text);
}

const char *bc_why_words(bc_verifier *v, const char *format, va_list args)
{
    bc_text *text = next_words(v);
    bc_text_vprintf(text, format, args);
    return bc_text_words(text);
}

/* Which of the op's results or operands a field is, from 0. */
static unsigned field_position(const bc_op *op, int row, unsigned index)
{
    if (bc_rows[row].kind == BC_RESULT)
        return (unsigned)(row - bc_info(op)->first_row) + index;
    return bc_operand_range(op, row).first + index;
}

static void put_field(bc_text *text, const bc_op *op, int row, unsigned index)
{
    const bc_row *r = &bc_rows[row];
    switch ((bc_row_kind)r->kind) {
    case BC_RESULT:
    case BC_OPERAND: {
        const char *noun = r->kind == BC_RESULT ? "result" : "operand";
        bool alone = r->kind == BC_RESULT ? bc_info(op)->result_rows == 1 : bc_info(op)->operand_rows == 1;
        if (r->arity == BC_VARIADIC)
            bc_text_printf(text, "%s %u (%s[%u])", noun, field_position(op, row, index), r->name, index);
        else if (alone)
            bc_text_puts(text, noun);
        else
            bc_text_printf(text, "%s %u (%s)", noun, field_position(op, row, index), r->name);
        return;
    }
    case BC_FLAG:
    case BC_ATTR: bc_text_puts(text, r->name); return;
    case BC_REGION:
        if (index > 0)
            bc_text_printf(text, "argument %u of ", index - 1);
        bc_text_printf(text, "region '%s'", r->name);
        return;
    }
}

const char *bc_field_words(bc_verifier *v, const bc_op *op, int row, unsigned index)
{
    bc_text *text = next_words(v);
    put_field(text, op, row, index);
    return bc_text_words(text);
}

/* ---- reporting ---- */

/* One finding on its way out. */
typedef struct finding {
    bc_place place;
    bc_rule rule;
    tv_severity severity;
    const char *help;
} finding;

static void put_subject(bc_text *text, const bc_verifier *v, const bc_place *place)
{
    if (place->op) {
        bc_text_printf(text, "'%s' ", bc_info(place->op)->name);
        if (place->row != BC_NO_ROW) {
            put_field(text, place->op, place->row, place->index);
            bc_text_char(text, ' ');
        }
    } else if (v->function && v->function->name) {
        bc_text_puts(text, "kernel '");
        bc_text_str(text, v->function->name->s);
        bc_text_puts(text, "' ");
    }
}

static bool emit(bc_verifier *v, const finding *f, const char *format, va_list args)
{
    if (v->done)
        return false;
    if (f->severity == TV_ERROR) {
        if (++v->errors == v->max)
            v->done = true;
    } else if (v->warnings++ >= v->max) {
        return false;
    }
    bc_text message;
    bc_text_init(&message, &v->allocator);
    put_subject(&message, v, &f->place);
    bc_text_vprintf(&message, format, args);
    tv_str words = message.failed ? bc_str(bc_text_words(&message)) : bc_text_get(&message); /* names may have zeros */
    bc_report_message(v->m, v->sink, &f->place, f->rule, f->severity, f->help, words);
    bc_text_release(&message);
    return false;
}

static bool emit_op(bc_verifier *v, const bc_op *op, int row, unsigned index, bc_rule rule, tv_severity severity,
                    const char *help, const char *format, va_list args)
{
    if (severity == TV_ERROR)
        v->op_bad = true;
    if ((v->errors && has_suspect_operand(v, op)) || v->done)
        return false;
    finding f = {{.function = v->function, .op = op, .row = row, .index = index}, rule, severity, help};
    return emit(v, &f, format, args);
}

bool bc_wrong(bc_verifier *v, const bc_op *op, int row, unsigned index, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit_op(v, op, row, index, rule, bc_rules[rule].severity, NULL, format, args);
    va_end(args);
    return false;
}

bool bc_wrong_help(bc_verifier *v, const bc_op *op, int row, unsigned index, bc_rule rule, const char *help,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit_op(v, op, row, index, rule, bc_rules[rule].severity, help, format, args);
    va_end(args);
    return false;
}

bool bc_tolerated(bc_verifier *v, const bc_op *op, int row, unsigned index, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit_op(v, op, row, index, rule, v->strict ? TV_ERROR : TV_WARNING, NULL, format, args);
    va_end(args);
    return false;
}

bool bc_wrong_function(bc_verifier *v, bc_rule rule, tv_severity severity, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    finding f = {{.function = v->function, .offset = v->function->offset, .row = BC_NO_ROW}, rule, severity, NULL};
    emit(v, &f, format, args);
    va_end(args);
    return false;
}

bool bc_wrong_at(bc_verifier *v, uint64_t offset, bc_rule rule, tv_severity severity, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    finding f = {{.offset = offset, .row = BC_NO_ROW}, rule, severity, NULL};
    emit(v, &f, format, args);
    va_end(args);
    return false;
}

/* ---- checks that report ---- */

bool bc_need_same_type(bc_verifier *v, const bc_op *op, int row, int other, bc_rule rule)
{
    const bc_type *a = bc_type_of(op, row), *b = bc_type_of(op, other);
    if (TV_LIKELY(a == b))
        return true;
    return bc_wrong(v, op, row, 0, rule, "is %s, but %s is %s", bc_type_words(v, a), bc_field_words(v, op, other, 0),
                    bc_type_words(v, b));
}

bool bc_need_same_shape(bc_verifier *v, const bc_op *op, int row, int other, bc_rule rule)
{
    const bc_type *a = bc_type_of(op, row), *b = bc_type_of(op, other);
    if (TV_LIKELY(a == b || bc_same_shape(a, b)))
        return true;
    return bc_wrong(v, op, row, 0, rule, "has shape %s (%s), but %s has shape %s (%s)", bc_shape_words(v, a),
                    bc_type_words(v, a), bc_field_words(v, op, other, 0), bc_shape_words(v, b), bc_type_words(v, b));
}

bool bc_need_same_element(bc_verifier *v, const bc_op *op, int row, int other, bc_rule rule)
{
    const bc_type *a = bc_type_of(op, row), *b = bc_type_of(op, other);
    if (TV_LIKELY(a->elem == b->elem))
        return true;
    return bc_wrong(v, op, row, 0, rule, "has elements of type %s (%s), but %s has %s (%s)", bc_type_words(v, a->elem),
                    bc_type_words(v, a), bc_field_words(v, op, other, 0), bc_type_words(v, b->elem),
                    bc_type_words(v, b));
}

static bool wrong_enum(bc_verifier *v, const bc_op *op, int row, uint32_t allowed, bc_rule rule)
{
    bc_enum_id id = (bc_enum_id)bc_rows[row].enum_id;
    bc_text *text = next_words(v);
    const char *separator = "";
    for (unsigned i = 0; bc_enum_at(id, i); i++) {
        if (!(allowed >> i & 1))
            continue;
        allowed &= ~(1u << i);
        bc_text_puts(text, separator);
        bc_text_puts(text, bc_enum_at(id, i)->text);
        separator = (allowed & (allowed - 1)) ? ", " : " or ";
    }
    return bc_wrong(v, op, row, 0, rule, "is %s; it must be %s", bc_enum_text(id, bc_attr_u(op, row)),
                    bc_text_words(text));
}

bool bc_need_enum(bc_verifier *v, const bc_op *op, int row, uint32_t allowed, bc_rule rule)
{
    uint64_t number = bc_attr_u(op, row);
    return TV_LIKELY(number < 32 && (allowed >> number & 1)) || wrong_enum(v, op, row, allowed, rule);
}

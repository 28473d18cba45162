/* Tokens, tile block ids, assert, print, grid dependency. Program order satisfies every token graph, so tokens are
   nothing at run time. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/conversion.h"
#include "bytecode/number/number.h"
#include "vm/run/schedule.h"
#include "vm/compile/compile.h"

/* ---- tokens ---- */

void vm_make_token(vm_emit *e, const bc_op *op)
{
    (void)e;
    (void)op;
}
void vm_join_tokens(vm_emit *e, const bc_op *op)
{
    (void)e;
    (void)op;
}
/* One kernel runs at a time and memory has one address: nothing to wait for. */
void vm_memory_fence_alias_tko(vm_emit *e, const bc_op *op)
{
    (void)e;
    (void)op;
}
void vm_gdc_launch_dependents_tko(vm_emit *e, const bc_op *op)
{
    (void)e;
    (void)op;
}
void vm_gdc_wait_tko(vm_emit *e, const bc_op *op)
{
    (void)e;
    (void)op;
}

/* ---- tile blocks ---- */

typedef struct ids_inst {
    vm_inst head;
    size_t out[3];
    bool used[3];
    bool count; /* of the grid, not the block */
} ids_inst;

static const vm_inst *ids_run(vm_frame *f, const vm_inst *inst)
{
    const ids_inst *ids = (const ids_inst *)inst;
    const uint32_t *from = ids->count ? f->run->grid : f->block;
    for (unsigned i = 0; i < 3; i++)
        if (ids->used[i])
            memcpy(vm_at(f, ids->out[i]), &from[i], sizeof from[i]);
    return inst->next;
}

static void emit_ids(vm_emit *e, const bc_op *op, vm_ctx *ctx, bool count)
{
    e->at = ctx;
    ids_inst *inst = vm_new_inst(e, op, ids_run, ids_inst);
    inst->count = count;
    for (unsigned i = 0; i < 3; i++) {
        inst->used[i] = vm_used(e, vm_result(op, i));
        if (inst->used[i])
            vm_write(e, &inst->head, &inst->out[i], vm_result(op, i));
    }
    vm_append(e, &inst->head);
}
void vm_get_tile_block_id(vm_emit *e, const bc_op *op)
{
    emit_ids(e, op, e->body, false);
}
void vm_get_num_tile_blocks(vm_emit *e, const bc_op *op)
{
    emit_ids(e, op, e->preamble, true);
}

/* ---- text ---- */

static void open_text(vm_frame *f, bc_text *text)
{
    bc_text_init(text, &f->run->vm->allocator);
}

/* Prints the text and goes on, or stops the run where it is not whole. */
static const vm_inst *close_text(vm_frame *f, const vm_inst *inst, bc_text *text)
{
    tv_str s = bc_text_get(text);
    const vm_inst *next = inst->next;
    if (text->failed)
        next = vm_trap(f, inst, BC_RULE_X_RUN_02, "out of memory");
    else
        vm_output(f, s.ptr, s.len);
    bc_text_release(text);
    return next;
}

/* ---- assert ---- */

typedef struct assert_inst {
    vm_inst head;
    size_t condition, n;
    const bc_type *type;
    tv_str message;
} assert_inst;

static void describe_failure(vm_frame *f, const assert_inst *a, size_t i, bc_text *text)
{
    tv_str file = {"(unknown)", 9};
    uint32_t line = 0, column = 0;
    if (!bc_source_place(f->code->module, a->head.op->loc, &file, &line, &column)) {
        file = (tv_str){"(unknown)", 9};
        line = 0;
    }
    bc_text_str(text, file);
    bc_text_printf(text, ":%u: tile block: [%u, %u, %u], position: [", line, f->block[0], f->block[1], f->block[2]);
    size_t below = a->n;
    for (uint32_t d = 0; d < a->type->rank; d++) {
        below /= (size_t)a->type->shape[d];
        bc_text_printf(text, "%s%zu", d ? ", " : "", i / below % (size_t)a->type->shape[d]);
    }
    bc_text_puts(text, "]: ");
    bc_text_str(text, a->message);
    bc_text_char(text, '\n');
}

static const vm_inst *assert_run(vm_frame *f, const vm_inst *inst)
{
    const assert_inst *a = (const assert_inst *)inst;
    const uint8_t *condition = vm_at(f, a->condition);
    size_t failed = 0;
    bc_text text;
    if (!memchr(condition, 0, a->n))
        return inst->next;
    open_text(f, &text);
    for (size_t i = 0; i < a->n; i++)
        if (!condition[i]) {
            failed++;
            describe_failure(f, a, i, &text);
        }
    close_text(f, inst, &text);
    return vm_trap(f, inst, BC_RULE_X_AST_01, "'%.*s' is false for %zu of %zu elements", (int)a->message.len,
                   a->message.ptr, failed, a->n);
}

void vm_assert(vm_emit *e, const bc_op *op)
{
    const bc_value *condition = bc_operands(op)[0];
    const bc_string *message = bc_attr_of(op, F_assert_message)->string;
    vm_need_packed(e, condition);
    assert_inst *inst = vm_new_inst(e, op, assert_run, assert_inst);
    inst->n = vm_count(condition);
    inst->type = condition->type;
    inst->message = message ? message->s : (tv_str){"", 0};
    if (inst->message.len > INT32_MAX)
        inst->message.len = INT32_MAX;
    vm_read_packed(e, &inst->head, &inst->condition, condition);
    vm_append(e, &inst->head);
}

/* ---- print ---- */

/* Literal text, then a conversion with its argument (BC_PRINT_PERCENT: none). */
typedef struct print_piece {
    bc_conversion conversion;
    char spec[48]; /* for snprintf */
    uint8_t kind;  /* bc_kind of the argument */
    const bc_type *type;
    size_t at;
} print_piece;

typedef struct print_inst {
    vm_inst head;
    uint32_t count;
    print_piece *pieces;
} print_inst;

/* The argument as device printf gets it: small integers as int (i1 and i4 zero-extended, i8 and i16 sign-extended),
   floats as double. What does not fit its conversion is undefined; here its bits are read as the other kind. */
static uint64_t argument_bits(const print_piece *p, const unsigned char *data, size_t i)
{
    bc_kind kind = (bc_kind)p->kind;
    unsigned bytes = vm_elem_bytes(kind);
    uint64_t bits = 0;
    memcpy(&bits, data + i * bytes, bytes);
    if (kind == BC_I8 || kind == BC_I16 || kind == BC_I32)
        return (uint64_t)bc_int_sign_extend(bits, bc_kind_bits(kind));
    if (bc_kinds[kind].kind_class == BC_CLASS_FLOAT) {
        double x = bc_float_value(kind == BC_TF32 ? BC_F32 : kind, bits);
        if (x != x)
            return 0x7ff8000000000000u; /* "nan" whatever its sign */
        memcpy(&bits, &x, sizeof bits);
    }
    return bits;
}

static void print_element(bc_text *text, const print_piece *p, const unsigned char *data, size_t i)
{
    char out[512] = "";
    uint64_t bits = argument_bits(p, data, i);
    double x;
    switch (p->conversion.as) {
    case BC_PRINT_SIGNED:
        snprintf(out, sizeof out, p->spec, p->conversion.wide ? (long long)bits : (long long)(int32_t)bits);
        break;
    case BC_PRINT_UNSIGNED:
        snprintf(out, sizeof out, p->spec,
                 p->conversion.wide ? (unsigned long long)bits : (unsigned long long)(uint32_t)bits);
        break;
    case BC_PRINT_FLOAT:
        memcpy(&x, &bits, sizeof x);
        snprintf(out, sizeof out, p->spec, x);
        break;
    case BC_PRINT_CHAR: snprintf(out, sizeof out, p->spec, (int)(bits & 0xff)); break;
    case BC_PRINT_POINTER: /* as the driver, which leaves it to glibc, writes it for a GPU */
        snprintf(out, sizeof out, bits ? "0x%llx" : "(nil)", (unsigned long long)bits);
        break;
    case BC_PRINT_TEXT:
    case BC_PRINT_PERCENT: bc_text_str(text, p->conversion.text); return;
    }
    bc_text_puts(text, out);
}

/* Elements in nested brackets, one pair a dimension. */
static void print_tile(bc_text *text, const print_piece *p, const unsigned char *data)
{
    size_t n = (size_t)1 << vm_type_bits(p->type);
    for (size_t i = 0; i < n; i++) {
        size_t below = 1;
        if (i)
            bc_text_puts(text, ", ");
        for (uint32_t d = p->type->rank; d-- > 0;) {
            below *= (size_t)p->type->shape[d];
            if (i % below == 0)
                bc_text_char(text, '[');
        }
        print_element(text, p, data, i);
        below = 1;
        for (uint32_t d = p->type->rank; d-- > 0;) {
            below *= (size_t)p->type->shape[d];
            if ((i + 1) % below == 0)
                bc_text_char(text, ']');
        }
    }
}

static const vm_inst *print_run(vm_frame *f, const vm_inst *inst)
{
    const print_inst *p = (const print_inst *)inst;
    bc_text text;
    open_text(f, &text);
    for (uint32_t i = 0; i < p->count; i++) {
        const print_piece *piece = &p->pieces[i];
        bc_text_str(&text, piece->conversion.literal);
        if (piece->conversion.as == BC_PRINT_PERCENT)
            bc_text_char(&text, '%');
        else if (piece->type)
            print_tile(&text, piece, vm_at(f, piece->at));
    }
    return close_text(f, inst, &text);
}

/* A number of the expression, at most 500 so that no element gets longer than its buffer. */
static unsigned read_number(tv_str s, size_t *at)
{
    unsigned n = 0;
    while (*at < s.len && isdigit((unsigned char)s.ptr[*at]))
        n = n < 1000 ? n * 10 + (unsigned)(s.ptr[(*at)++] - '0') : ((*at)++, n);
    return n < 500 ? n : 500;
}

/* Takes a conversion apart and makes a spec that snprintf is safe with. */
static void parse_conversion(print_piece *p)
{
    tv_str s = p->conversion.text;
    char flags[8] = "", precision[16] = "";
    size_t at = 1, count = 0;
    char c = s.ptr[s.len - 1];
    for (; at < s.len && strchr(" #+-0", s.ptr[at]); at++)
        if (count < 5 && !strchr(flags, s.ptr[at])) {
            flags[count++] = s.ptr[at];
            flags[count] = 0;
        }
    unsigned width = read_number(s, &at);
    if (at < s.len && s.ptr[at] == '.') {
        at++;
        unsigned n = read_number(s, &at);
        snprintf(precision, sizeof precision, ".%u", n < 100 ? n : 100);
    }
    if (c == 'C')
        c = 'c';
    const char *length = p->conversion.as == BC_PRINT_SIGNED || p->conversion.as == BC_PRINT_UNSIGNED ? "ll" : "";
    char number[16] = "";
    if (width)
        snprintf(number, sizeof number, "%u", width);
    snprintf(p->spec, sizeof p->spec, "%%%s%s%s%s%c", flags, number, precision, length, c);
}

static uint32_t count_expressions(tv_str s)
{
    uint32_t count = 0;
    for (size_t i = 0; i < s.len; i++)
        count += s.ptr[i] == '%';
    return count;
}

static void parse_format(vm_emit *e, print_inst *inst, tv_str s, const bc_op *op, bc_range args)
{
    size_t at = 0;
    uint32_t arg = 0;
    bool more = true;
    inst->pieces = bc_new(e->arena, print_piece, count_expressions(s) + 2);
    if (!inst->pieces) {
        e->failed = true;
        return;
    }
    while (more) {
        print_piece *p = &inst->pieces[inst->count++];
        more = bc_next_conversion(s, &at, &p->conversion);
        if (!more || p->conversion.as == BC_PRINT_PERCENT || arg >= args.count)
            continue;
        const bc_value *v = bc_operands(op)[args.first + arg++];
        p->type = v->type;
        p->kind = (uint8_t)bc_elem_kind(v->type);
        parse_conversion(p);
        vm_read_packed(e, &inst->head, &p->at, v);
    }
}

void vm_print_tko(vm_emit *e, const bc_op *op)
{
    bc_range args = bc_operand_range(op, F_print_tko_args);
    const bc_string *format = bc_attr_of(op, F_print_tko_str)->string;
    for (uint32_t i = 0; i < args.count; i++)
        vm_need_packed(e, bc_operands(op)[args.first + i]);
    print_inst *inst = vm_new_inst(e, op, print_run, print_inst);
    parse_format(e, inst, format ? format->s : (tv_str){"", 0}, op, args);
    vm_append(e, &inst->head);
}

/* ---- trace ---- */

typedef struct trace_inst {
    vm_inst head;
    const bc_value *value;
    uint32_t position;
    size_t at;
} trace_inst;

static const vm_inst *trace_run(vm_frame *f, const vm_inst *inst)
{
    const trace_inst *t = (const trace_inst *)inst;
    const tv_vm_options *options = &f->run->vm->options;
    const bc_type *type = t->value->type;
    bc_kind kind = bc_elem_kind(type);
    size_t n = vm_count(t->value);
    tv_trace trace = {.op = bc_str(bc_info(inst->op)->name), .op_index = t->position, .result = t->value->number};
    uint32_t column;
    memcpy(trace.block, f->block, sizeof f->block);
    bc_source_place(f->code->module, inst->op->loc, &trace.file, &trace.line, &column);
    trace.tile = (tv_tile){.element = bc_kinds[kind].text,
                           .shape = type->shape,
                           .rank = type->rank,
                           .count = n,
                           .data = vm_at(f, t->at),
                           .size = n * vm_elem_bytes(kind)};
    pthread_mutex_lock(&f->run->lock);
    options->trace(options->user, &trace);
    pthread_mutex_unlock(&f->run->lock);
    return inst->next;
}

void vm_emit_trace(vm_emit *e, const bc_op *op)
{
    for (unsigned i = 0; i < op->result_count && !e->quiet; i++) {
        const bc_value *v = vm_result(op, i);
        if (!bc_is_tile(v->type))
            continue;
        e->at = e->cur;
        vm_need_packed(e, v);
        trace_inst *inst = vm_new_inst(e, op, trace_run, trace_inst);
        inst->value = v;
        inst->position = e->position;
        vm_read_packed(e, &inst->head, &inst->at, v);
        vm_append(e, &inst->head);
    }
}

/* assert and print_tko. One thread of the block prints; a tile reaches it through shared memory, so that its
   elements come in order. Source: operation reference, section 10. */
#include "bytecode/conversion.h"
#include "codegen/module/call.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* ---- both ---- */

/* Where a value is read that is looked at from outside. */
static cg_layout layout_of(cg_func *c, const ct_value *v)
{
    cg_layout l;
    uint32_t weight;
    if (v->type->rank == 0)
        return cg_layout_scalar(c->warp_bits);
    return cg_wish(c, v, &l, &weight) ? l : cg_default_layout(c, v->type);
}

/* Ops whose operands are only looked at note the layouts with the first op that asks. */
static void want(cg_func *c, const ct_value *v)
{
    cg_layout l = layout_of(c, v);
    cg_want(c, v, &l);
}

/* True in one thread of the block. */
static cg_val is_first(cg_func *c)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    return cg_is_owner(c, &scalar);
}

/* A loop over the elements of a piece of a tile in shared memory: the element's number. */
typedef struct walk {
    cg_val i, address;
    uint32_t head;
} walk;

static walk begin(cg_func *c, const cg_pieces *p)
{
    walk w = {.i = cg_new(c, CG_B32)};
    w.address = cg_new(c, CG_B32);
    w.head = cg_label(c);
    cg_ins(c, "mov.b32 %v, %v", w.i, p->number);
    cg_ins(c, "mov.b32 %v, %v", w.address, p->base);
    cg_place_label(c, w.head);
    return w;
}

static void end(cg_func *c, const walk *w, bc_kind kind, const cg_pieces *p)
{
    cg_val more = cg_new(c, CG_PRED), limit = cg_const(CG_B32, p->end);
    if (!p->whole) {
        limit = cg_new(c, CG_B32);
        cg_ins(c, "add.s32 %v, %v, %u", limit, p->number, (uint32_t)1 << p->shift);
    }
    cg_ins(c, "add.s32 %v, %v, 1", w->i, w->i);
    cg_ins(c, "add.s32 %v, %v, %u", w->address, w->address, cg_memory_bytes(kind));
    cg_ins(c, "setp.lt.u32 %v, %v, %v", more, w->i, limit);
    cg_ins(c, "@%v bra %l", more, w->head);
}

static cg_val load_element(cg_func *c, const walk *w, bc_kind kind)
{
    cg_access a = {
        .kind = kind, .space = "shared", .order = "", .address = w->address, .predicate = cg_const(CG_PRED, 1)};
    cg_val x;
    cg_load_vector(c, &a, 1, NULL, &x);
    return x;
}

/* ---- assert ---- */

void cg_assign_assert(cg_func *c, const ct_op *op)
{
    want(c, ct_operand(op, F_assert_condition));
}

void cg_effects_assert(cg_func *c, ct_op *op)
{
    const ct_value *condition = ct_operand(op, F_assert_condition);
    cg_layout l = layout_of(c, condition);
    cg_effect *e = condition->type->rank ? cg_add_pieces(c, op, BC_I1, l.tile_bits) : NULL;
    if (e)
        e->leaves = true;
}

/* Prints the line of element `i` (32 bits; unused for a scalar). */
static void print_failure(cg_func *c, const ct_op *op, cg_val i)
{
    const bc_string *message = ct_attr_of(op, F_assert_message)->string;
    cg_shape s = cg_shape_of(ct_operand(op, F_assert_condition)->type);
    cg_val args[CG_MAX_PRINT_ARGS];
    uint32_t count = 0, line = 0, column;
    tv_str file;
    bc_text format;
    bc_text_init(&format, &c->m->arena.allocator);
    if (bc_source_place(c->m, op->from->loc, &file, &line, &column)) {
        cg_put_literal(&format, file);
    } else {
        bc_text_puts(&format, "(unknown)");
        line = 0;
    }
    bc_text_printf(&format, ":%u: tile block: [%%u, %%u, %%u], position: [", line);
    for (; count < 3; count++) {
        args[count] = cg_new(c, CG_B32);
        cg_ins(c, "mov.u32 %v, %%ctaid.%s", args[count], count == 0 ? "x" : count == 1 ? "y" : "z");
    }
    for (uint32_t d = 0; d < s.rank; d++) {
        bc_text_printf(&format, "%s%s", d ? ", " : "", s.bits[d] ? "%u" : "0");
        if (!s.bits[d])
            continue;
        args[count] = cg_new(c, CG_B32);
        cg_ins(c, "bfe.u32 %v, %v, %u, %u", args[count], i, s.shift[d], s.bits[d]);
        count++;
    }
    bc_text_puts(&format, "]: ");
    if (message)
        cg_put_literal(&format, message->s);
    bc_text_char(&format, '\n');
    if (format.failed)
        cg_no_memory(c);
    else
        cg_call_vprintf(c, bc_text_get(&format), args, count);
    bc_text_release(&format);
}

/* Whether the condition holds for all elements that the thread has. */
static cg_val holds_here(cg_func *c, const ct_value *condition, const cg_layout *l)
{
    bool strips = cg_strip_varies(c, l);
    cg_val fails = cg_const(CG_PRED, 0), all = cg_const(CG_PRED, 1);
    if (strips) {
        cg_strip_open(c, (cg_trips){.mask = cg_strip_mask(c, l)});
        fails = cg_strip_carried(c, CG_PRED);
    }
    const cg_val *regs = cg_get(c, condition, l);
    for (uint32_t r = 0; regs && r < cg_layout_regs(l); r++)
        all = cg_and(c, all, regs[r]);
    if (!strips)
        return all;
    cg_template(c, "not.pred #p0, $1; or.pred $0, $0, #p0;", fails, &all, NULL);
    cg_strip_close(c);
    all = cg_new(c, CG_PRED);
    cg_ins(c, "not.pred %v, %v", all, fails);
    return all;
}

void cg_lower_assert(cg_func *c, const ct_op *op)
{
    const ct_value *condition = ct_operand(op, F_assert_condition);
    cg_layout l = layout_of(c, condition);
    uint32_t holds = cg_label(c);
    cg_val all = holds_here(c, condition, &l);
    if (all.known && all.bits)
        return;
    if (condition->type->rank)
        all = cg_all(c, all);
    cg_ins(c, "@%r bra %l", all, holds);
    /* From here all threads go on to the end of the kernel. */
    if (condition->type->rank) {
        uint32_t passed = cg_label(c), others = cg_label(c);
        cg_pieces p = cg_begin_pieces(c, op, BC_I1, l.tile_bits);
        cg_put_piece(c, &p, condition, &l);
        cg_ins(c, "@!%v bra %l", is_first(c), others);
        walk w = begin(c, &p);
        cg_ins(c, "@%v bra %l", load_element(c, &w, BC_I1), passed);
        print_failure(c, op, w.i);
        cg_place_label(c, passed);
        end(c, &w, BC_I1, &p);
        cg_place_label(c, others);
        cg_end_pieces(c, &p);
        cg_ins(c, "@!%v ret", is_first(c));
    } else {
        cg_ins(c, "@!%v ret", is_first(c));
        print_failure(c, op, cg_const(CG_B32, 0));
    }
    cg_ins(c, "trap");
    cg_place_label(c, holds);
}

/* ---- print ---- */

void cg_assign_print_tko(cg_func *c, const ct_op *op)
{
    bc_range args = ct_operand_range(op, F_print_tko_args);
    for (uint32_t i = 0; i < args.count; i++)
        want(c, ct_operands(op)[args.first + i]);
}

void cg_effects_print_tko(cg_func *c, ct_op *op)
{
    bc_range args = ct_operand_range(op, F_print_tko_args);
    for (uint32_t i = 0; i < args.count; i++) {
        const ct_value *v = ct_operands(op)[args.first + i];
        if (v->type->rank)
            cg_add_pieces(c, op, bc_elem_kind(v->type), cg_shape_of(v->type).tile_bits);
    }
}

/* An element as device printf takes it: i1 and i4 zero-extended, i8 and i16 sign-extended, floats as double. */
static cg_val argument(cg_func *c, bc_kind kind, cg_val x)
{
    if (kind == BC_I64 || kind == BC_PTR || kind == BC_F64 || kind == BC_I4)
        return cg_reg(c, x);
    if (bc_kinds[kind].kind_class == BC_CLASS_INTEGER)
        return cg_reg(c, cg_to_b32(c, kind, kind != BC_I1, x));
    cg_val wide = cg_new(c, CG_B64);
    cg_ins(c, "cvt.f64.f32 %v, %v", wide, cg_any_to_f32(c, kind, x));
    return wide;
}

/* What has been gathered for the next call. */
typedef struct pending {
    bc_text format;
    cg_val args[CG_MAX_PRINT_ARGS];
    uint32_t count;
} pending;

static void flush(cg_func *c, pending *p)
{
    if (p->format.failed)
        cg_no_memory(c);
    else if (p->format.len)
        cg_call_vprintf(c, bc_text_get(&p->format), p->args, p->count);
    bc_text_clear(&p->format);
    p->count = 0;
}

/* The same in the first thread alone. */
static void flush_first(cg_func *c, pending *p)
{
    uint32_t others = cg_label(c);
    if (!p->format.len && !p->format.failed)
        return;
    cg_ins(c, "@!%v bra %l", is_first(c), others);
    flush(c, p);
    cg_place_label(c, others);
}

static void add_element(cg_func *c, pending *p, const bc_conversion *k, bc_kind kind, cg_val x)
{
    if (k->as == BC_PRINT_TEXT) {
        cg_put_literal(&p->format, k->text);
        return;
    }
    bc_text_str(&p->format, k->text);
    p->args[p->count++] = argument(c, kind, x);
}

/* A bracket for every dimension that starts (ends) with element i. */
static void print_brackets(cg_func *c, const cg_shape *s, cg_val i, const char *bracket)
{
    uint32_t below = 0;
    for (uint32_t d = s->rank; d-- > 0;) {
        uint32_t skip = cg_label(c);
        cg_val rest = cg_new(c, CG_B32), inside = cg_new(c, CG_PRED);
        below += s->bits[d];
        cg_ins(c, "and.b32 %v, %v, %x", rest, i, ((uint32_t)1 << below) - 1);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", inside, rest);
        cg_ins(c, "@%v bra %l", inside, skip);
        cg_call_print(c, bc_str(bracket));
        cg_place_label(c, skip);
    }
}

static void print_tile(cg_func *c, const ct_op *op, const ct_value *v, const bc_conversion *k, pending *p)
{
    bc_kind kind = bc_elem_kind(v->type);
    cg_shape s = cg_shape_of(v->type);
    cg_layout l = layout_of(c, v);
    flush_first(c, p);
    cg_pieces pieces = cg_begin_pieces(c, op, kind, l.tile_bits);
    cg_put_piece(c, &pieces, v, &l);
    uint32_t others = cg_label(c), first = cg_label(c);
    cg_val is_zero = cg_new(c, CG_PRED), next = cg_new(c, CG_B32);
    cg_ins(c, "@!%v bra %l", is_first(c), others);
    walk w = begin(c, &pieces);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", is_zero, w.i);
    cg_ins(c, "@%v bra %l", is_zero, first);
    cg_call_print(c, bc_str(", "));
    cg_place_label(c, first);
    print_brackets(c, &s, w.i, "[");
    add_element(c, p, k, kind, load_element(c, &w, kind));
    flush(c, p);
    cg_ins(c, "add.s32 %v, %v, 1", next, w.i);
    print_brackets(c, &s, next, "]");
    end(c, &w, kind, &pieces);
    cg_place_label(c, others);
    cg_end_pieces(c, &pieces);
}

void cg_lower_print_tko(cg_func *c, const ct_op *op)
{
    const bc_string *string = ct_attr_of(op, F_print_tko_str)->string;
    tv_str format = string ? string->s : bc_str("");
    bc_range args = ct_operand_range(op, F_print_tko_args);
    pending p = {.count = 0};
    bc_conversion k;
    size_t at = 0;
    uint32_t arg = 0;
    bool pieces = args.count > CG_MAX_PRINT_ARGS; /* more than one call */
    for (uint32_t i = 0; i < args.count; i++)
        pieces = pieces || ct_operands(op)[args.first + i]->type->rank > 0;
    if (pieces)
        cg_take_print_lock(c, is_first(c));
    bc_text_init(&p.format, &c->m->arena.allocator);
    for (bool more = true; more && !c->failed;) {
        more = bc_next_conversion(format, &at, &k);
        cg_put_literal(&p.format, k.literal);
        if (more && k.as == BC_PRINT_PERCENT) {
            bc_text_puts(&p.format, "%%");
        } else if (more && arg < args.count) {
            const ct_value *v = ct_operands(op)[args.first + arg++];
            if (p.count == CG_MAX_PRINT_ARGS)
                flush_first(c, &p);
            if (v->type->rank)
                print_tile(c, op, v, &k, &p);
            else
                add_element(c, &p, &k, bc_elem_kind(v->type), cg_scalar(c, v));
        }
    }
    flush_first(c, &p);
    if (pieces)
        cg_give_print_lock(c, is_first(c));
    bc_text_release(&p.format);
}

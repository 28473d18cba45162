/* Loops over strips, and values in them; see the header. */
#include "codegen/strips.h"

#include <string.h>

#include "codegen/assign.h"
#include "codegen/memory.h"
#include "codegen/order.h"

/* Numbers that are linear in the strip's, made at the head of the loop. */
typedef struct cg_form_of_strip {
    struct cg_form_of_strip *next;
    uint32_t images[CG_MAX_WARP_BITS];
    cg_val thread, value;
    cg_val address; /* value as an address of local memory, once needed */
} form;

/* Copies of values whose registers were made in a loop. */
typedef struct cg_made {
    struct cg_made *next;
    const ct_value *v;
    cg_copy *copy;
} made;

/* Local memory that a value no longer needs. */
typedef struct slot {
    struct slot *next;
    uint32_t at, bytes;
} slot;

typedef struct cg_strips {
    cg_strip *open;
    uint32_t count; /* of loops */
    uint32_t local_bytes;
    cg_val base;          /* address of local memory */
    uint32_t *uses;       /* by value id: reads to come */
    made *wanted;         /* copies that are still to be made */
    slot *unused, *dying; /* dying: read in a loop that is still open */
    bool own;             /* the op being lowered has the loop to itself */
    bool inlined;         /* what is being lowered is the body of a reduce or scan */
} cg_strips;

/* ---- which kernels ---- */

static void count_uses(const ct_func *f, uint32_t *uses)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            uses[ct_operands(op)[i]->id]++;
}

void cg_strips_begin(cg_func *c, uint32_t strip_bits)
{
    if (!strip_bits)
        return;
    cg_strips *s = bc_new(&c->arena, cg_strips, 1);
    uint32_t *uses = bc_new(&c->arena, uint32_t, c->ir->value_count + 1u);
    if (!s || !uses) {
        cg_no_memory(c);
        return;
    }
    count_uses(c->ir, uses);
    s->uses = uses;
    c->strips = s;
    c->strip_bits = strip_bits;
}

void cg_strips_end(cg_func *c)
{
    while (c->strips && c->strips->open) { /* only after an error */
        cg_strip *s = c->strips->open;
        bc_text_release(&c->body);
        bc_text_release(&s->head);
        c->body = s->before;
        c->strips->open = s->outer;
    }
}

uint32_t cg_strips_local(const cg_func *c)
{
    return c->strips ? c->strips->local_bytes : 0;
}

uint32_t cg_strip_mask(const cg_func *c, const cg_layout *l)
{
    uint32_t mask = 0, first = cg_real_warp_bits(c);
    for (uint32_t i = 0; i < c->strip_bits; i++)
        mask |= l->warp[first + i] ? (uint32_t)1 << i : 0;
    return mask;
}

static void internal_error(cg_func *c, const char *what)
{
    cg_unsupported(c, c->op, "internal error: %s", what);
}

/* ---- loops ---- */

cg_strip *cg_strip_now(const cg_func *c)
{
    return c->strips->open;
}

cg_strip *cg_strip_open(cg_func *c, uint32_t mask, bool descending)
{
    cg_strips *all = c->strips;
    cg_strip *s = bc_new(&c->arena, cg_strip, 1);
    if (!s) {
        cg_no_memory(c);
        return NULL;
    }
    *s = (cg_strip){.outer = all->open,
                    .number = ++all->count,
                    .mask = mask,
                    .counter = cg_new(c, CG_B32),
                    .descending = descending,
                    .head_label = cg_label(c)};
    cg_ins(c, "mov.b32 %v, 0", s->counter);
    s->before = c->body;
    bc_text_init(&c->body, &c->m->arena.allocator);
    bc_text_init(&s->head, &c->m->arena.allocator);
    s->index = s->counter;
    bc_text body = c->body;
    c->body = s->head;
    if (descending) {
        s->index = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %v, %x", s->index, s->counter, mask);
    }
    if (s->outer) {
        cg_val own = s->index;
        s->index = cg_new(c, CG_B32);
        cg_ins(c, "or.b32 %v, %v, %v", s->index, own, s->outer->index);
    }
    s->head = c->body;
    c->body = body;
    all->open = s;
    return s;
}

void cg_strip_enter(cg_func *c)
{
    if (!c->strips->open)
        cg_strip_open(c, ((uint32_t)1 << c->strip_bits) - 1, false);
}

cg_val cg_strip_carried(cg_func *c, cg_class cls)
{
    cg_strip *s = c->strips->open;
    cg_val x = cg_new(c, cls);
    bc_text body = c->body;
    c->body = s->before;
    cg_move(c, x, cg_const(cls, 0));
    s->before = c->body;
    c->body = body;
    return x;
}

/* The next number that has no bits outside of the mask; back to the head until all have been. */
static void put_step(cg_func *c, const cg_strip *s)
{
    cg_val more = cg_new(c, CG_PRED);
    uint32_t low = s->mask & (~s->mask + 1), top = s->mask + low;
    if (!s->mask)
        return;
    if (!(top & (top - 1))) {
        cg_ins(c, "add.u32 %v, %v, %u", s->counter, s->counter, low);
        cg_ins(c, "setp.le.u32 %v, %v, %u", more, s->counter, s->mask);
    } else {
        cg_ins(c, "or.b32 %v, %v, %x", s->counter, s->counter, ~s->mask);
        cg_ins(c, "add.u32 %v, %v, 1", s->counter, s->counter);
        cg_ins(c, "and.b32 %v, %v, %x", s->counter, s->counter, s->mask);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", more, s->counter);
    }
    cg_ins(c, "@%v bra %l", more, s->head_label);
}

void cg_strip_close(cg_func *c)
{
    cg_strip *s = c->strips && !c->strips->inlined ? c->strips->open : NULL;
    if (!s)
        return;
    for (made *m = s->made; m && !c->failed; m = m->next)
        if (c->strips->uses[m->v->id])
            cg_strip_save(c, m->v, m->copy, m->copy->regs);
    if (s->next_label)
        cg_place_label(c, s->next_label);
    put_step(c, s);
    bc_text trip = c->body;
    c->body = s->before;
    cg_place_label(c, s->head_label);
    bc_text_puts(&c->body, "\t.pragma \"nounroll\";\n");
    bc_text_str(&c->body, bc_text_get(&s->head));
    bc_text_str(&c->body, bc_text_get(&trip));
    c->body.failed = c->body.failed || s->head.failed || trip.failed;
    bc_text_release(&s->head);
    bc_text_release(&trip);
    c->strips->open = s->outer;
}

/* ---- numbers of a strip ---- */

static form *form_of(cg_func *c, cg_val thread, const uint32_t *images)
{
    cg_strip *s = c->strips->open;
    if (!s) {
        internal_error(c, "a strip is asked for outside of a loop");
        return NULL;
    }
    for (form *f = s->forms; f; f = f->next)
        if (f->thread.id == thread.id && f->thread.bits == thread.bits
            && memcmp(f->images, images, c->strip_bits * sizeof *images) == 0)
            return f;
    form *f = bc_new(&c->arena, form, 1);
    if (!f) {
        cg_no_memory(c);
        return NULL;
    }
    bc_text prologue = c->prologue; /* the head is the prologue of the loop */
    c->prologue = s->head;
    cg_val value = cg_linear(c, s->index, images, c->strip_bits);
    if (!thread.known || thread.bits) {
        cg_val sum = cg_new(c, CG_B32);
        cg_ins_first(c, "xor.b32 %v, %v, %v", sum, thread, value);
        value = sum;
    }
    s->head = c->prologue;
    c->prologue = prologue;
    *f = (form){.next = s->forms, .thread = thread, .value = value};
    memcpy(f->images, images, c->strip_bits * sizeof *images);
    s->forms = f;
    return f;
}

cg_val cg_strip_index(cg_func *c, cg_val thread, const uint32_t *images)
{
    bool any = false;
    for (uint32_t i = 0; i < c->strip_bits; i++)
        any = any || images[i];
    form *f = any ? form_of(c, thread, images) : NULL;
    return f ? f->value : thread;
}

cg_val cg_strip_owner(cg_func *c, const cg_layout *l, cg_val owner)
{
    uint32_t counted = 0;
    for (cg_strip *s = c->strips->open; s; s = s->outer)
        counted |= s->apart ? 0 : s->mask;
    uint32_t replicas = counted & ~cg_strip_mask(c, l);
    if (!replicas)
        return owner;
    cg_val part = cg_new(c, CG_B32), first = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, %x", part, c->strips->open->index, replicas);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", first, part);
    return cg_and(c, owner, first);
}

bool cg_strip_needs_barrier(cg_func *c)
{
    cg_strip *s = c->strips ? c->strips->open : NULL;
    bool first = s && !s->uses_scratch;
    if (s)
        s->uses_scratch = true;
    return first;
}

/* ---- local memory ---- */

enum { MAX_LOCAL = 480 * 1024 }; /* of a thread; the hardware has 512 KiB, for spills as well */

/* Bytes of a strip, and of the whole value in a thread. */
static uint32_t strip_bytes(bc_kind kind, const cg_layout *l)
{
    return cg_memory_bytes(kind) << l->reg_bits;
}

static uint32_t slot_bytes(const cg_func *c, const ct_value *v, const cg_layout *l)
{
    uint32_t bytes = strip_bytes(bc_elem_kind(v->type), l);
    for (uint32_t mask = cg_strip_mask(c, l); mask; mask &= mask - 1)
        bytes *= 2;
    return bytes < 16 ? 16 : bytes;
}

void cg_strip_give(cg_func *c, const ct_value *v, cg_copy *copy)
{
    cg_strips *all = c->strips;
    uint32_t bytes = slot_bytes(c, v, &copy->layout);
    for (slot **s = &all->unused; *s; s = &(*s)->next)
        if ((*s)->bytes == bytes) {
            copy->local = (*s)->at + 1;
            *s = (*s)->next;
            return;
        }
    if (bytes > MAX_LOCAL - all->local_bytes) {
        cg_unsupported(c, v->op ? v->op : c->op,
                       "tiles that are kept at the same time take more than %d KiB of local memory in each thread",
                       MAX_LOCAL / 1024);
        return;
    }
    copy->local = all->local_bytes + 1;
    all->local_bytes += bytes;
}

/* Access to registers r on of a copy in the strip at hand. */
cg_access cg_strip_access(cg_func *c, const ct_value *v, const cg_copy *copy, uint32_t r, cg_val predicate)
{
    bc_kind kind = bc_elem_kind(v->type);
    uint32_t images[CG_MAX_WARP_BITS] = {0}, mask = cg_strip_mask(c, &copy->layout),
             step = strip_bytes(kind, &copy->layout);
    for (uint32_t i = 0; i < c->strip_bits; i++)
        if (mask >> i & 1) {
            images[i] = step;
            step *= 2;
        }
    if (!c->strips->base.id) {
        c->strips->base = cg_new(c, CG_B64);
        cg_ins_first(c, "mov.u64 %v, tv_local", c->strips->base);
    }
    form *f = form_of(c, cg_const(CG_B32, 0), images);
    if (f && !f->address.id) {
        cg_strip *s = c->strips->open;
        cg_val wide = cg_new(c, CG_B64);
        f->address = cg_new(c, CG_B64);
        bc_text body = c->body;
        c->body = s->head;
        cg_ins(c, "cvt.u64.u32 %v, %v", wide, f->value);
        cg_ins(c, "add.s64 %v, %v, %v", f->address, c->strips->base, wide);
        s->head = c->body;
        c->body = body;
    }
    return (cg_access){.kind = kind,
                       .space = "local",
                       .order = "",
                       .address = f ? f->address : c->strips->base,
                       .offset = (int64_t)(copy->local - 1) + (int64_t)r * cg_memory_bytes(kind),
                       .predicate = predicate};
}

/* Elements of one access. */
static uint32_t vector_of(const ct_value *v, const cg_layout *l)
{
    uint32_t most = 16 / cg_memory_bytes(bc_elem_kind(v->type)), regs = cg_layout_regs(l);
    return most < regs ? most : regs;
}

void cg_strip_save(cg_func *c, const ct_value *v, cg_copy *copy, const cg_val *regs)
{
    uint32_t step = vector_of(v, &copy->layout);
    if (!copy->local)
        cg_strip_give(c, v, copy);
    for (uint32_t r = 0; regs && r < cg_layout_regs(&copy->layout) && !c->failed; r += step) {
        cg_access a = cg_strip_access(c, v, copy, r, cg_const(CG_PRED, 1));
        cg_store_vector(c, &a, step, regs + r);
    }
}

static cg_val *restore(cg_func *c, const ct_value *v, const cg_copy *copy)
{
    uint32_t step = vector_of(v, &copy->layout);
    cg_val *regs = cg_vals(c, cg_layout_regs(&copy->layout));
    for (uint32_t r = 0; regs && r < cg_layout_regs(&copy->layout) && !c->failed; r += step) {
        cg_access a = cg_strip_access(c, v, copy, r, cg_const(CG_PRED, 1));
        cg_load_vector(c, &a, step, NULL, regs + r);
    }
    return regs;
}

/* ---- how long values are needed ---- */

/* What was read for the last time lets its memory go, unless a loop around the op may read it again. */
static void free_slots(cg_func *c, const ct_op *reader, const ct_value *v)
{
    for (cg_copy *copy = cg_value_of(c, v)->copies; copy; copy = copy->next) {
        bool own = copy->local && v->op && v->op->block == reader->block && !v->op->region_count;
        slot *s = own ? bc_new(&c->arena, slot, 1) : NULL;
        if (!s)
            continue;
        *s = (slot){.next = c->strips->dying, .at = copy->local - 1, .bytes = slot_bytes(c, v, &copy->layout)};
        c->strips->dying = s;
    }
}

/* One read less of v to come; a lazy value is made of its operands until it is read no more. */
static void release(cg_func *c, const ct_op *reader, const ct_value *v)
{
    uint32_t *uses = &c->strips->uses[v->id];
    if (*uses)
        --*uses;
    if (*uses || !bc_is_tile(v->type))
        return;
    free_slots(c, reader, v);
    if (cg_value_of(c, v)->form == CG_LAZY)
        for (uint32_t i = 0; i < v->op->operand_count; i++)
            release(c, reader, ct_operands(v->op)[i]);
}

/* ---- values ---- */

static void mark(cg_func *c, const ct_value *v, cg_copy *copy, cg_val *regs)
{
    cg_strip *s = c->strips->open;
    made *m = bc_new(&c->arena, made, 1);
    if (!s || !m) {
        if (m)
            internal_error(c, "a tile in strips is made outside of a loop");
        else
            cg_no_memory(c);
        return;
    }
    copy->regs = regs;
    copy->strip = s->number;
    *m = (made){s->made, v, copy};
    s->made = m;
}

cg_val *cg_strip_get(cg_func *c, const ct_value *v, cg_copy *copy)
{
    const cg_strip *s = c->strips->open;
    if (s && copy->strip == s->number)
        return copy->regs;
    if (cg_value_of(c, v)->form == CG_LAZY)
        copy->regs = cg_lazy_regs(c, v->op, &copy->layout);
    else if (copy->local)
        copy->regs = restore(c, v, copy);
    else
        internal_error(c, "a tile in strips is read that was not kept");
    copy->strip = s ? s->number : 0;
    return copy->regs;
}

/* Do no threads of other warps, or strips, take part in the conversion? */
static bool stays_in_warp(cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to)
{
    cg_way way = cg_conversion_of(c, kind, from, to).way;
    return way == CG_BY_NAMES || way == CG_BY_SHUFFLES;
}

static void want_later(cg_func *c, const ct_value *v, cg_copy *copy)
{
    made *m = bc_new(&c->arena, made, 1), **end = &c->strips->wanted;
    if (!m) {
        cg_no_memory(c);
        return;
    }
    *m = (made){NULL, v, copy};
    while (*end)
        end = &(*end)->next;
    *end = m;
}

void cg_strip_set(cg_func *c, const ct_value *v, cg_val *regs)
{
    cg_value *x = cg_value_of(c, v);
    bc_kind kind = bc_elem_kind(v->type);
    bool varies = cg_strip_varies(c, &x->home);
    for (cg_copy *copy = x->copies; copy && !c->failed; copy = copy->next) {
        if (cg_layout_equal(&copy->layout, &x->home)) {
            if (varies)
                mark(c, v, copy, regs);
            else
                copy->regs = regs;
        } else if (!varies && !cg_strip_varies(c, &copy->layout)) {
            copy->regs = cg_convert(c, kind, &x->home, regs, &copy->layout);
        } else if (varies && stays_in_warp(c, kind, &x->home, &copy->layout)) {
            mark(c, v, copy, cg_convert(c, kind, &x->home, regs, &copy->layout));
        } else {
            want_later(c, v, copy);
        }
    }
}

cg_copy *cg_strip_home(cg_func *c, const ct_value *v)
{
    cg_value *x = cg_value_of(c, v);
    cg_copy *copy = x->copies;
    while (copy && !cg_layout_equal(&copy->layout, &x->home))
        copy = copy->next;
    return copy;
}

void cg_strip_keep(cg_func *c, const ct_value *v)
{
    cg_copy *home = cg_strip_home(c, v);
    if (!home->local)
        cg_strip_give(c, v, home);
}

void cg_strip_adopt(cg_func *c, const ct_value *v, const ct_value *like)
{
    cg_copy *home = cg_strip_home(c, v);
    home->strip = 0;
    home->local = cg_strip_home(c, like)->local;
    for (cg_copy *copy = cg_value_of(c, v)->copies; copy; copy = copy->next)
        if (copy != home)
            want_later(c, v, copy);
}

void cg_strip_move(cg_func *c, ct_value *const *values, const ct_value *homes, uint32_t count)
{
    cg_val **from = bc_new(&c->arena, cg_val *, count + 1u);
    if (!from) {
        cg_no_memory(c);
        return;
    }
    for (uint32_t i = 0; i < count && !c->failed; i++)
        if (bc_is_tile(homes[i].type) && cg_strip_varies(c, &cg_value_of(c, &homes[i])->home)) {
            cg_strip_enter(c);
            from[i] = cg_get(c, values[i], &cg_value_of(c, &homes[i])->home);
        }
    for (uint32_t i = 0; i < count && !c->failed; i++)
        if (from[i])
            cg_strip_save(c, &homes[i], cg_strip_home(c, &homes[i]), from[i]);
    cg_strip_close(c);
}

void cg_strip_flush(cg_func *c)
{
    cg_strips *all = c->strips;
    for (made *m = all->wanted; m && !c->failed; m = m->next) {
        cg_value *x = cg_value_of(c, m->v);
        if (cg_strip_varies(c, &x->home) && stays_in_warp(c, bc_elem_kind(m->v->type), &x->home, &m->copy->layout)) {
            cg_strip_enter(c);
            const cg_val *have = cg_get(c, m->v, &x->home);
            mark(c, m->v, m->copy, cg_convert(c, bc_elem_kind(m->v->type), &x->home, have, &m->copy->layout));
            continue;
        }
        all->uses[m->v->id]++; /* the home is read once more */
        cg_strip_close(c);
        all->uses[m->v->id]--;
        cg_strip_transfer(c, m->v, &x->home, NULL, m->v, m->copy);
    }
    all->wanted = NULL;
}

/* ---- ops ---- */

typedef enum place {
    STAYS,  /* needs no loop, and may stand in one */
    ENTERS, /* strip by strip, in the loop that is open, if any */
    OWNS,   /* strip by strip, in a loop of its own */
    LEAVES  /* stands outside of loops, or opens its own */
} place;

static bool result_varies(cg_func *c, const ct_op *op)
{
    return op->result_count && cg_strip_varies(c, &cg_value_of(c, cg_result(op, 0))->home);
}

/* Weak accesses of different threads have no order: they may stand among others. */
static place place_of_access(cg_func *c, const ct_op *op)
{
    const bc_op_info *info = ct_info(op);
    bool weak = ct_attr_u(op, bc_order_row(info)) == BC_MemoryOrderingSemantics_weak;
    return !result_varies(c, op)                                               ? LEAVES
           : weak && (info->effects == BC_READS || info->effects == BC_WRITES) ? ENTERS
                                                                               : OWNS;
}

static place place_of(cg_func *c, const ct_op *op)
{
    const ct_value *result = op->result_count ? cg_result(op, 0) : NULL;
    if (result && cg_value_of(c, result)->form == CG_LAZY)
        return STAYS;
    switch ((bc_op_class)bc_op_class_of[op->opcode]) {
    case BC_OP_SAME:
    case BC_OP_VIEW:
    case BC_OP_QUERY: return STAYS;
    case BC_OP_TOKEN: return ct_info(op)->effects ? LEAVES : STAYS;
    case BC_OP_EXIT: return op->opcode == OP_return ? LEAVES : STAYS;
    case BC_OP_ACCESS: return place_of_access(c, op);
    case BC_OP_PART:
        return result_varies(c, op) && (op->opcode != OP_extract || cg_extract_in_registers(c, op)) ? ENTERS : LEAVES;
    case BC_OP_FOLD: return op->opcode == OP_reduce && cg_reduce_in_one_loop(c, op) ? ENTERS : LEAVES;
    case BC_OP_GIVEN:
    case BC_OP_MAP:
    case BC_OP_CAST: return result_varies(c, op) ? ENTERS : result->type->rank ? LEAVES : STAYS;
    default: return LEAVES;
    }
}

void cg_strip_inline(cg_func *c, bool begins)
{
    if (c->strips)
        c->strips->inlined = begins;
}

void cg_strip_begin_op(cg_func *c, const ct_op *op)
{
    if (c->strips->inlined)
        return;
    place where = place_of(c, op);
    bool conflict = (where == ENTERS || where == OWNS) && cg_order_conflicts(c, op);
    if (where == LEAVES || where == OWNS || conflict)
        cg_strip_close(c);
    if (conflict)
        cg_barrier(c);
    if (where == ENTERS)
        cg_strip_enter(c);
    if (where == OWNS)
        cg_strip_open(c, cg_strip_mask(c, &cg_value_of(c, cg_result(op, 0))->home), false);
    c->strips->own = where == OWNS;
    bool is_lazy = op->result_count && cg_value_of(c, cg_result(op, 0))->form == CG_LAZY;
    for (uint32_t i = 0; i < op->operand_count && (!is_lazy || !c->strips->uses[cg_result(op, 0)->id]); i++)
        release(c, op, ct_operands(op)[i]);
}

void cg_strip_end_op(cg_func *c)
{
    cg_strips *all = c->strips;
    if (all->inlined)
        return;
    if (all->own)
        cg_strip_close(c);
    all->own = false;
    if (!c->failed)
        cg_strip_flush(c);
    while (!all->open && all->dying) {
        slot *s = all->dying;
        all->dying = s->next;
        s->next = all->unused;
        all->unused = s;
    }
}

/* Loops over strips, and the local memory of what is kept between them; see the header. */
#include "codegen/values/strips.h"

#include <string.h>

#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strip_state.h"

/* ---- which kernels ---- */

static void count_uses(const ct_func *f, uint32_t *uses)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            uses[ct_operands(op)[i]->id]++;
}

void cg_strips_begin(cg_func *c, cg_remake *remake)
{
    if (!c->strip_bits)
        return;
    cg_strips *s = bc_new(&c->arena, cg_strips, 1);
    uint32_t *uses = bc_new(&c->arena, uint32_t, c->ir->value_count + 1u);
    if (!s || !uses) {
        cg_no_memory(c);
        return;
    }
    count_uses(c->ir, uses);
    s->uses = uses;
    s->remake = remake;
    c->strips = s;
}

void cg_strips_end(cg_func *c)
{
    while (c->strips && c->strips->open) { /* only after an error */
        cg_strip *s = c->strips->open;
        bc_text_release(&c->emit->body);
        bc_text_release(&s->head);
        c->emit->body = s->before;
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
    for (uint32_t i = 0; l && i < c->strip_bits; i++)
        mask |= l->warp[first + i] ? (uint32_t)1 << i : 0;
    return mask;
}

void cg_strip_fault(cg_func *c, const char *what)
{
    cg_unsupported(c, cg_lowered(c), "internal error: %s", what);
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
    s->before = c->emit->body;
    bc_text_init(&c->emit->body, &c->m->arena.allocator);
    bc_text_init(&s->head, &c->m->arena.allocator);
    s->index = s->counter;
    bc_text body = c->emit->body;
    c->emit->body = s->head;
    if (descending) {
        s->index = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %v, %x", s->index, s->counter, mask);
    }
    if (s->outer) {
        cg_val own = s->index;
        s->index = cg_new(c, CG_B32);
        cg_ins(c, "or.b32 %v, %v, %v", s->index, own, s->outer->index);
    }
    s->head = c->emit->body;
    c->emit->body = body;
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
    bc_text body = c->emit->body;
    c->emit->body = s->before;
    cg_move(c, x, cg_const(cls, 0));
    s->before = c->emit->body;
    c->emit->body = body;
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
    for (cg_made *m = s->made; m && !c->failed; m = m->next)
        if (c->strips->uses[m->v->id])
            cg_strip_save(c, m->v, m->copy, m->copy->regs);
    if (s->next_label)
        cg_place_label(c, s->next_label);
    put_step(c, s);
    bc_text trip = c->emit->body;
    c->emit->body = s->before;
    cg_place_label(c, s->head_label);
    bc_text_puts(&c->emit->body, "\t.pragma \"nounroll\";\n");
    bc_text_str(&c->emit->body, bc_text_get(&s->head));
    bc_text_str(&c->emit->body, bc_text_get(&trip));
    c->emit->body.failed = c->emit->body.failed || s->head.failed || trip.failed;
    bc_text_release(&s->head);
    bc_text_release(&trip);
    c->strips->open = s->outer;
}

/* ---- numbers of a strip ---- */

static cg_form_of_strip *form_of(cg_func *c, cg_val thread, const uint32_t *images)
{
    cg_strip *s = c->strips->open;
    if (!s) {
        cg_strip_fault(c, "a strip is asked for outside of a loop");
        return NULL;
    }
    for (cg_form_of_strip *f = s->forms; f; f = f->next)
        if (f->thread.id == thread.id && f->thread.bits == thread.bits
            && memcmp(f->images, images, c->strip_bits * sizeof *images) == 0)
            return f;
    cg_form_of_strip *f = bc_new(&c->arena, cg_form_of_strip, 1);
    if (!f) {
        cg_no_memory(c);
        return NULL;
    }
    bc_text prologue = c->emit->prologue; /* the head is the prologue of the loop */
    c->emit->prologue = s->head;
    cg_val value = cg_linear(c, s->index, images, c->strip_bits);
    if (!thread.known || thread.bits) {
        cg_val sum = cg_new(c, CG_B32);
        cg_ins_first(c, "xor.b32 %v, %v, %v", sum, thread, value);
        value = sum;
    }
    s->head = c->emit->prologue;
    c->emit->prologue = prologue;
    *f = (cg_form_of_strip){.next = s->forms, .thread = thread, .value = value};
    memcpy(f->images, images, c->strip_bits * sizeof *images);
    s->forms = f;
    return f;
}

cg_val cg_strip_index(cg_func *c, cg_val thread, const uint32_t *images)
{
    bool any = false;
    for (uint32_t i = 0; i < c->strip_bits; i++)
        any = any || images[i];
    cg_form_of_strip *f = any ? form_of(c, thread, images) : NULL;
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
    uint32_t bytes = slot_bytes(c, v, copy->layout);
    for (cg_slot **s = &all->unused; *s; s = &(*s)->next)
        if ((*s)->bytes == bytes) {
            copy->local = (*s)->at + 1;
            *s = (*s)->next;
            return;
        }
    if (bytes > MAX_LOCAL - all->local_bytes) {
        cg_unsupported(c, v->op ? v->op : cg_lowered(c),
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
    uint32_t images[CG_MAX_WARP_BITS] = {0}, mask = cg_strip_mask(c, copy->layout),
             step = strip_bytes(kind, copy->layout);
    for (uint32_t i = 0; i < c->strip_bits; i++)
        if (mask >> i & 1) {
            images[i] = step;
            step *= 2;
        }
    if (!c->strips->base.id) {
        c->strips->base = cg_new(c, CG_B64);
        cg_ins_first(c, "mov.u64 %v, tv_local", c->strips->base);
    }
    cg_form_of_strip *f = form_of(c, cg_const(CG_B32, 0), images);
    if (f && !f->address.id) {
        cg_strip *s = c->strips->open;
        cg_val wide = cg_new(c, CG_B64);
        f->address = cg_new(c, CG_B64);
        bc_text body = c->emit->body;
        c->emit->body = s->head;
        cg_ins(c, "cvt.u64.u32 %v, %v", wide, f->value);
        cg_ins(c, "add.s64 %v, %v, %v", f->address, c->strips->base, wide);
        s->head = c->emit->body;
        c->emit->body = body;
    }
    return (cg_access){.kind = kind,
                       .space = "local",
                       .order = "",
                       .address = f ? f->address : c->strips->base,
                       .offset = (int64_t)(copy->local - 1) + (int64_t)r * cg_memory_bytes(kind),
                       .predicate = predicate};
}

/* Elements of one access. */
uint32_t cg_strip_vector(const ct_value *v, const cg_layout *l)
{
    uint32_t most = 16 / cg_memory_bytes(bc_elem_kind(v->type)), regs = cg_layout_regs(l);
    return most < regs ? most : regs;
}

void cg_strip_save(cg_func *c, const ct_value *v, cg_copy *copy, const cg_val *regs)
{
    uint32_t step = cg_strip_vector(v, copy->layout);
    if (!copy->local)
        cg_strip_give(c, v, copy);
    for (uint32_t r = 0; regs && r < cg_layout_regs(copy->layout) && !c->failed; r += step) {
        cg_access a = cg_strip_access(c, v, copy, r, cg_const(CG_PRED, 1));
        cg_store_vector(c, &a, step, regs + r);
    }
}

void cg_strip_forget(cg_func *c, const ct_value *v, const cg_copy *copy)
{
    cg_slot *s = bc_new(&c->arena, cg_slot, 1);
    if (!s)
        return;
    *s = (cg_slot){.next = c->strips->dying, .at = copy->local - 1, .bytes = slot_bytes(c, v, copy->layout)};
    c->strips->dying = s;
}

void cg_strip_reuse(cg_func *c)
{
    cg_strips *all = c->strips;
    while (!all->open && all->dying) {
        cg_slot *s = all->dying;
        all->dying = s->next;
        s->next = all->unused;
        all->unused = s;
    }
}

/* ---- ops ---- */

void cg_strip_inline(cg_func *c, bool begins)
{
    if (c->strips)
        c->strips->inlined = begins;
}

/* Loops over strips; see the header. */
#include "codegen/values/strips.h"

#include <string.h>

#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strip_state.h"

/* ---- which kernels ---- */

void cg_strips_begin(cg_func *c, cg_remake *remake)
{
    if (!c->strip_bits)
        return;
    c->strips = bc_new(&c->arena, cg_strips, 1);
    if (c->strips)
        c->strips->remake = remake;
}

void cg_strips_end(cg_func *c)
{
    while (c->strips && c->strips->open) { /* only after an error */
        cg_strip_back(c);
        cg_strip *s = c->strips->open;
        bc_text_release(&c->emit->body);
        bc_text_release(&s->head);
        c->emit->body = s->before;
        c->strips->open = s->outer;
    }
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

cg_strip *cg_strip_open(cg_func *c, cg_trips trips)
{
    cg_strips *all = c->strips;
    cg_strip *s = bc_new(&c->arena, cg_strip, 1);
    if (!s)
        return NULL;
    *s = (cg_strip){.outer = all->open, .trips = trips, .number = ++all->count, .counter = cg_new(c, CG_B32)};
    s->head_label = cg_label(c);
    cg_ins(c, "mov.b32 %v, 0", s->counter);
    s->before = c->emit->body;
    bc_text_init(&c->emit->body, &c->m->arena.allocator);
    bc_text_init(&s->head, &c->m->arena.allocator);
    s->index = s->counter;
    bc_text body = c->emit->body;
    c->emit->body = s->head;
    if (trips.descending) {
        s->index = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %v, %x", s->index, s->counter, trips.mask);
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

/* Puts the computation in the head of the trip, once. */
cg_val cg_strip_later(cg_func *c, uint32_t trips)
{
    cg_strip *s = c->strips->open, *later = bc_new(&c->arena, cg_strip, 1);
    cg_val at = cg_new(c, CG_B32), above = cg_new(c, CG_B32), valid = cg_new(c, CG_PRED);
    if (!later)
        return valid;
    *later = *s;
    later->outer = s;
    later->is_later = true;
    later->number = ++c->strips->count;
    later->forms = NULL;
    bc_text body = c->emit->body;
    c->emit->body = s->head;
    cg_ins(c, "or.b32 %v, %v, %x", above, s->counter, ~s->trips.mask);
    cg_ins(c, "add.u32 %v, %v, %u", above, above, cg_scatter_bits(trips, s->trips.mask));
    cg_ins(c, "and.b32 %v, %v, %x", at, above, s->trips.mask);
    cg_ins(c, "setp.gt.u32 %v, %v, %v", valid, at, s->counter);
    later->index = at;
    if (s->outer) {
        later->index = cg_new(c, CG_B32);
        cg_ins(c, "or.b32 %v, %v, %v", later->index, at, s->outer->index);
    }
    later->head = c->emit->body;
    c->emit->body = body;
    c->strips->open = later;
    return valid;
}

void cg_strip_back(cg_func *c)
{
    cg_strip *later = c->strips->open;
    if (!later->is_later)
        return; /* out of memory */
    later->outer->head = later->head;
    c->strips->open = later->outer;
}

/* Advances to the next number without bits outside the mask, and goes back to the head until all have occurred. */
static void put_step(cg_func *c, const cg_strip *s)
{
    cg_val more = cg_new(c, CG_PRED);
    uint32_t mask = s->trips.mask, low = mask & (~mask + 1), top = mask + low,
             last = s->trips.first ? cg_scatter_bits(s->trips.first - 1, mask) : mask;
    if (!last)
        return;
    if (!(top & (top - 1))) {
        cg_ins(c, "add.u32 %v, %v, %u", s->counter, s->counter, low);
        cg_ins(c, "setp.le.u32 %v, %v, %u", more, s->counter, last);
    } else {
        cg_ins(c, "or.b32 %v, %v, %x", s->counter, s->counter, ~mask);
        cg_ins(c, "add.u32 %v, %v, 1", s->counter, s->counter);
        cg_ins(c, "and.b32 %v, %v, %x", s->counter, s->counter, mask);
        if (last == mask)
            cg_ins(c, "setp.ne.u32 %v, %v, 0", more, s->counter);
        else
            cg_ins(c, "setp.le.u32 %v, %v, %u", more, s->counter, last);
    }
    cg_ins(c, "@%v bra %l", more, s->head_label);
}

void cg_strip_close(cg_func *c)
{
    cg_strip *s = c->strips ? c->strips->open : NULL;
    if (!s)
        return;
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

/* ---- numbers that depend on the strip ---- */

cg_form_of_strip *cg_strip_form(cg_func *c, cg_val thread, const uint32_t *images)
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
    if (!f)
        return NULL;
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
    cg_form_of_strip *f = any ? cg_strip_form(c, thread, images) : NULL;
    return f ? f->value : thread;
}

void cg_strip_puts_own(cg_func *c, bool own)
{
    if (c->strips)
        c->strips->puts_own = own;
}

cg_val cg_strip_owner(cg_func *c, const cg_layout *l, cg_val owner)
{
    uint32_t counted = 0;
    for (cg_strip *s = c->strips->puts_own ? NULL : c->strips->open; s; s = s->outer)
        counted |= s->trips.mask;
    uint32_t replicas = counted & ~cg_strip_mask(c, l);
    if (!replicas)
        return owner;
    cg_val part = cg_new(c, CG_B32), first = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, %x", part, c->strips->open->index, replicas);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", first, part);
    return cg_and(c, owner, first);
}

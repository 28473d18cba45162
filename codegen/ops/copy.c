/* Copies of tiles to the slots of rings by cp.async. */
#include <string.h>

#include "bytecode/number/number.h"
#include "codegen/access/pointers.h"
#include "codegen/access/view_vectors.h"
#include "codegen/analysis/computed.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/maps.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* A vector of the tile in its slot, which gets padding where it is out of bounds. */
typedef struct padded {
    cg_place to;
    cg_val inside;
    uint32_t count, reg[CG_MAX_VECTOR];
} padded;

typedef struct copying {
    const cg_ring_load *load;
    bc_kind kind;
    uint32_t element; /* bytes */
    cg_val base, valid;
    cg_val runs; /* whether the copy is executed; otherwise nothing is written */
    cg_layout places;
    uint32_t part;         /* bits of the tile's index */
    const cg_val *padding; /* by register: for elements out of bounds; NULL: zeros are enough */
    padded *pads;          /* the vectors that may get padding */
    uint32_t pad_count;
} copying;

static cg_val negated(cg_func *c, cg_val predicate)
{
    cg_val r = cg_new(c, CG_PRED);
    cg_ins(c, "not.pred %v, %v", r, predicate);
    return r;
}

static void note_pad(copying *k, const cg_place *to, cg_val inside, const uint32_t *reg, uint32_t count)
{
    padded *p = &k->pads[k->pad_count++];
    *p = (padded){.to = *to, .inside = inside, .count = count};
    memcpy(p->reg, reg, count * sizeof *reg);
}

/* Writes the padding for elements that are not copied. It comes after all copies, which write other elements: between
   a store to shared memory and an asynchronous copy, ptxas puts three loads that wait for it. */
static void pad(cg_func *c, const copying *k)
{
    for (uint32_t i = 0; i < k->pad_count; i++) {
        const padded *p = &k->pads[i];
        cg_val outside = cg_and(c, negated(c, cg_reg(c, p->inside)), k->runs), padding[CG_MAX_VECTOR];
        for (uint32_t r = 0; r < p->count; r++)
            padding[r] = k->padding[p->reg[r]];
        cg_access a = {.kind = k->kind,
                       .space = "shared",
                       .order = "",
                       .address = p->to.address,
                       .offset = p->to.offset,
                       .predicate = outside};
        cg_store_vector(c, &a, p->count, padding);
    }
}

/* Copies the vector of those registers to that address if it is within bounds. */
static void copy_vector(cg_func *c, copying *k, const uint32_t *reg, uint32_t count, cg_val address, int64_t offset,
                        cg_val inside)
{
    if ((cg_layout_reg(&k->load->layout, reg[0]) & k->load->encoding.left_out) != k->part)
        return;
    cg_place to = cg_flat_place(c, k->base, k->element, &k->places, reg[0]);
    uint32_t bytes_each = bc_kind_memory_bytes(k->kind), size = bytes_each ? bytes_each * count : count / 2;
    const char *form = size == 16 ? "cg.shared.global.L2::128B" : "ca.shared.global.L2::128B";
    cg_val whether = cg_and(c, inside, k->valid), bytes = cg_new(c, CG_B32);
    if (k->padding && !inside.known) {
        cg_ins(c, "@%r cp.async.%s [%v+%d], [%v+%d], %u", cg_and(c, whether, k->runs), form, to.address, (int)to.offset,
               address, (int)offset, size);
        note_pad(k, &to, inside, reg, count);
        return;
    }
    if (whether.known)
        cg_ins(c, "mov.u32 %v, %u", bytes, whether.bits ? size : 0u);
    else
        cg_ins(c, "selp.u32 %v, %u, 0, %v", bytes, size, whether);
    if (k->runs.known)
        cg_ins(c, "cp.async.%s [%v+%d], [%v+%d], %u, %v", form, to.address, (int)to.offset, address, (int)offset, size,
               bytes);
    else
        cg_ins(c, "@%v cp.async.%s [%v+%d], [%v+%d], %u, %v", k->runs, form, to.address, (int)to.offset, address,
               (int)offset, size, bytes);
}

static void copy_part(cg_func *c, void *user, const cg_tile_vector *part)
{
    copy_vector(c, user, part->reg, part->count, part->address, part->offset, part->inside);
}

static void copy_pointers(cg_func *c, void *user, const cg_pointer_part *part)
{
    copy_vector(c, user, part->reg, part->count, part->access.address, part->access.offset, part->access.predicate);
}

/* Does the copy have a condition? It is the operand after the load's operands and the ring. */
static bool has_condition(const ct_op *op)
{
    return op->operand_count == op->from->operand_count + 2;
}

cg_ptr_op cg_copied_pointers(const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    p.most_bits = cg_chunk_bits(bc_results(op->from)[0].type);
    return p;
}

static const ct_value *padding_of(const ct_op *op)
{
    return cg_copies_by_pointers(op) && ct_operand(op, F_load_ptr_tko_mask)
               ? ct_operand(op, F_load_ptr_tko_padding_value)
               : NULL;
}

void cg_assign_copy(cg_func *c, const ct_op *op)
{
    const cg_layout scalar = cg_layout_scalar(c->warp_bits), *l = &((const cg_ring_copy *)op->detail)->load->layout;
    if (has_condition(op))
        cg_want(c, op->operands[op->operand_count - 1], &scalar);
    if (!cg_copies_by_pointers(op))
        return;
    cg_ptr_op p = cg_copied_pointers(op);
    cg_want_pointers(c, &p, l);
    if (padding_of(op) && cg_ring_of(op, op->from->operand_count)->role == CG_RING_OF_THREADS)
        cg_want(c, padding_of(op), l);
}

/* Finds the padding by register of the copies; NULL: zeros are enough. */
static const cg_val *find_padding(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *l)
{
    cg_val *regs = NULL;
    if (padding_of(op)) {
        regs = cg_get(c, padding_of(op), l);
    } else if (!cg_copies_by_pointers(op)) {
        cg_val one = cg_const(cg_class_of(kind), bc_padding_pattern(kind, cg_view_op_of(op).view->type->padding));
        regs = one.bits ? cg_vals(c, cg_layout_regs(l)) : NULL;
        for (uint32_t r = 0; regs && r < cg_layout_regs(l); r++)
            regs[r] = one;
    }
    for (uint32_t r = 0; regs && r < cg_layout_regs(l); r++)
        if (!regs[r].known || regs[r].bits)
            return regs;
    return NULL;
}

static void copy_tile(cg_func *c, const ct_op *op, copying *k)
{
    const cg_ring_copy *copy = op->detail;
    if (cg_copies_by_pointers(op)) {
        cg_ptr_op p = cg_copied_pointers(op);
        cg_pointer_parts(c, &p, &copy->load->layout, false, k, copy_pointers);
        return;
    }
    cg_view_op v = cg_view_op_of(op);
    v.in_turn = cg_is_between_groups(cg_ring_of(op, op->from->operand_count)) || copy->cursor;
    v.cursor = copy->cursor ? copy->cursor->at : NULL;
    cg_val valid = k->valid;
    if (!k->padding && !valid.known) { /* otherwise the padding's condition is that of the bounds alone */
        v.when = &valid;
        k->valid = cg_const(CG_PRED, 1);
    }
    uint32_t most = cg_is_scale_feed(copy->load->feed) ? copy->load->vector_bits : cg_chunk_bits(v.tile_type);
    cg_view_vectors(c, &v, &copy->load->layout, most, NULL, k, copy_part);
    if (copy->cursor)
        cg_cursor_advance(c, copy->cursor->at);
}

void cg_lower_copy(cg_func *c, const ct_op *op)
{
    const cg_ring_copy *copy = op->detail;
    if (copy->map) {
        cg_copy_boxes(c, op);
        return;
    }
    cg_val runs = copy->trips ? cg_strip_later(c, copy->trips) : cg_const(CG_PRED, 1);
    const cg_ring *ring = cg_ring_of(op, op->from->operand_count);
    cg_val valid = has_condition(op) && !ring->state->behind_copies ? cg_scalar(c, op->operands[op->operand_count - 1])
                                                                    : cg_const(CG_PRED, 1);
    if (copy->wraps)
        runs = cg_and(c, negated(c, runs), valid);
    const cg_ring_load *load = copy->load;
    if (ring->role != CG_RING_OF_THREADS && cg_layout_thread_replicas(&load->layout, load->layout.warp_bits))
        runs = cg_and(c, runs, cg_is_owner(c, &load->layout)); /* there are fewer chunks than threads */
    bc_kind kind = bc_elem_kind(bc_results(op->from)[0].type);
    copying k = {.load = load, .kind = kind, .base = cg_new(c, CG_B32), .valid = valid, .runs = runs};
    k.element = load->encoding.bytes;
    k.places = load->places;
    if (ring->role == CG_RING_OF_THREADS) {
        k.element = cg_memory_bytes(kind);
        k.padding = find_padding(c, op, kind, &load->layout);
        k.pads = k.padding ? bc_new(&c->arena, padded, cg_layout_regs(&load->layout)) : NULL;
        if (k.padding && !k.pads)
            return;
    } else if (!cg_is_put(load)) {
        k.places = cg_encoding_layout(&load->encoding, &load->layout);
    }
    for (uint32_t b = 0; b < ring->parts; b++)
        k.part |= copy->part >> b & 1 ? load->part_bit[b] : 0;
    cg_val slot = cg_is_between_groups(ring) ? cg_groups_slot(c, ring, ring->state->write) : ring->state->write;
    cg_ins(c, "add.u32 %v, %v, %u", k.base, slot, load->offset);
    uint32_t behind = copy->at_start ? cg_starts_unless_done(c, ring) : 0;
    copy_tile(c, op, &k);
    pad(c, &k);
    if (copy->trips)
        cg_strip_back(c);
    if (behind)
        cg_place_label(c, behind);
}

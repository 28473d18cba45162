/* Atomics. Only the owner of an element updates it, once; if the result is used, it is then sent to the threads that
   hold replicas. Sources: memory reference, section 5; PTX ISA, atom and red. */
#include <stdio.h>

#include "codegen/access/pointers.h"
#include "codegen/access/view_vectors.h"
#include "codegen/ops/bins.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/lock.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/effects.h"
#include "codegen/values/values.h"

/* The PTX operation of a mode, and the letter of its type; "f" stands for the float's own type. */
static const struct {
    const char *operation, *type;
} modes[] = {
    [BC_AtomicRMWMode_and] = {"and", "b"},  [BC_AtomicRMWMode_or] = {"or", "b"},
    [BC_AtomicRMWMode_xor] = {"xor", "b"},  [BC_AtomicRMWMode_add] = {"add", "u"},
    [BC_AtomicRMWMode_addf] = {"add", "f"}, [BC_AtomicRMWMode_max] = {"max", "s"},
    [BC_AtomicRMWMode_min] = {"min", "s"},  [BC_AtomicRMWMode_umax] = {"max", "u"},
    [BC_AtomicRMWMode_umin] = {"min", "u"}, [BC_AtomicRMWMode_xchg] = {"exch", "b"},
};

enum { MAX_NAME = 80, MAX_GUARD = 24, PTX_OF_VECTORS = 81, VECTOR_BITS = 2 };

/* The atomics of one op, while its elements are emitted. */
typedef struct atomic {
    const char *order, *relaxed; /* with the scope: of the atomics, and of a load that orders nothing */
    bc_kind kind;
    uint64_t mode;
    const cg_val *value, *compare; /* compare: of a compare-and-swap; else NULL */
    cg_val *result;                /* NULL: unused */
    bool by_exchange;              /* the target has no instruction for it */
} atomic;

/* "red.relaxed.gpu.global.add.noftz.v2.f16" */
static void put_name(char out[MAX_NAME], const atomic *a, uint32_t count)
{
    const char *operation = a->compare ? "cas" : modes[a->mode].operation;
    const char *type = a->compare ? "b" : modes[a->mode].type;
    bool half = a->kind == BC_F16 || a->kind == BC_BF16, floats = !a->compare && a->mode == BC_AtomicRMWMode_addf;
    char vector[16] = "";
    if (count > 1)
        snprintf(vector, sizeof vector, ".v%u", count);
    snprintf(out, MAX_NAME, "%s%s.global.%s%s%s.%s%u", a->result ? "atom" : "red", a->order, operation,
             floats && half ? ".noftz" : "", vector, floats && a->kind == BC_BF16 ? "bf" : type, bc_kind_bits(a->kind));
}

/* Adds to a bf16 element by compare-and-swap, again and again until no other thread has changed it in between. The
   sum is that of the instruction: it is rounded once, because the f32 sum has more than twice the bits of bf16. The
   compare-and-swap has the size of the element, so that it is atomic with those of others; ptxas makes one of the word
   around it. */
static cg_val add_by_exchange(cg_func *c, const atomic *a, cg_val address, const char *offset, cg_val value)
{
    uint32_t again = cg_label(c);
    cg_val old = cg_new(c, CG_B16), found = cg_new(c, CG_B16), sum = cg_new(c, CG_B32), changed = cg_new(c, CG_PRED);
    cg_val addend = cg_reg(c, cg_to_f32(c, BC_BF16, value));
    cg_ins(c, "ld%s.global.b16 %v, [%v%s]", a->relaxed, found, address, offset);
    cg_place_label(c, again);
    cg_ins(c, "mov.b16 %v, %v", old, found);
    cg_val start = cg_reg(c, cg_to_f32(c, BC_BF16, old));
    cg_ins(c, "add.rn.f32 %v, %v, %v", sum, start, addend);
    cg_val next = cg_reg(c, cg_from_f32(c, BC_BF16, "rn", sum));
    cg_ins(c, "atom%s.global.cas.b16 %v, [%v%s], %v, %v", a->order, found, address, offset, old, next);
    cg_ins(c, "setp.ne.s16 %v, %v, %v", changed, found, old);
    cg_ins(c, "@%v bra %l", changed, again);
    return old;
}

/* The same under the element's condition. */
static void emit_by_exchange(cg_func *c, const atomic *a, const cg_access *access, const char *offset, uint32_t reg)
{
    uint32_t behind = access->predicate.known ? 0 : cg_label(c);
    if (behind)
        cg_ins(c, "@!%v bra %l", access->predicate, behind);
    cg_val old = add_by_exchange(c, a, access->address, offset, cg_reg(c, a->value[reg]));
    if (a->result)
        cg_move(c, a->result[reg], old);
    if (behind)
        cg_place_label(c, behind);
}

/* Emits one element, or with red several contiguous ones. */
static void emit(cg_func *c, const atomic *a, const cg_access *access, uint32_t count, const uint32_t *reg)
{
    char name[MAX_NAME], guard[MAX_GUARD] = "";
    cg_class cls = cg_class_of(a->kind);
    cg_val absent = a->compare ? a->compare[reg[0]] : cg_const(cls, 0), old = absent;
    if (access->predicate.known && !access->predicate.bits) {
        if (a->result)
            a->result[reg[0]] = absent;
        return;
    }
    if (!access->predicate.known)
        snprintf(guard, sizeof guard, "@%%p%u ", access->predicate.id);
    put_name(name, a, count);
    if (count > 1)
        cg_need_ptx(c, PTX_OF_VECTORS);
    if (a->result) {
        old = cg_new(c, cls);
        if (!access->predicate.known)
            cg_ins(c, "mov.b%u %v, %v", cg_class_bits(cls), old, absent);
        a->result[reg[0]] = old;
    }
    cg_val address = access->address;
    char offset[MAX_GUARD] = "";
    if (access->offset)
        snprintf(offset, sizeof offset, "+%lld", (long long)access->offset);
    if (a->by_exchange)
        emit_by_exchange(c, a, access, offset, reg[0]);
    else if (a->compare)
        cg_ins(c, "%s%s %v, [%v%s], %r, %r", guard, name, old, address, offset, a->compare[reg[0]], a->value[reg[0]]);
    else if (a->result)
        cg_ins(c, "%s%s %v, [%v%s], %r", guard, name, old, address, offset, a->value[reg[0]]);
    else if (count == 1)
        cg_ins(c, "%s%s [%v%s], %r", guard, name, address, offset, a->value[reg[0]]);
    else if (count == 2)
        cg_ins(c, "%s%s [%v%s], {%r, %r}", guard, name, address, offset, a->value[reg[0]], a->value[reg[1]]);
    else if (count == 4)
        cg_ins(c, "%s%s [%v%s], {%r, %r, %r, %r}", guard, name, address, offset, a->value[reg[0]], a->value[reg[1]],
               a->value[reg[2]], a->value[reg[3]]);
}

static bool is_release(uint64_t order)
{
    return order == BC_MemoryOrderingSemantics_release || order == BC_MemoryOrderingSemantics_acq_rel;
}

static bool is_acquire(uint64_t order)
{
    return order == BC_MemoryOrderingSemantics_acquire || order == BC_MemoryOrderingSemantics_acq_rel;
}

/* Is it an addition of bf16, for which the target has no instruction? */
static bool is_by_exchange(const cg_func *c, const atomic *a)
{
    return !a->compare && a->mode == BC_AtomicRMWMode_addf && a->kind == BC_BF16
           && !(c->target->features & CG_HAS_BF16_ARITH);
}

/* Can red add several elements at once? */
static bool has_vectors(const cg_func *c, bc_kind kind, uint64_t mode)
{
    return mode == BC_AtomicRMWMode_addf && kind != BC_F64 && (c->target->features & CG_HAS_RED_VECTORS)
           && cg_may_use_ptx(c, PTX_OF_VECTORS);
}

/* ---- order ---- */

/* Do fences around all elements give the op its order, so that the elements themselves are relaxed? If each element
   had the order, the hardware would execute two fences for each; the elements of an op are not ordered among
   themselves. This gains nothing if a thread has at most one element. */
static bool has_fences(const cg_func *c, const bc_type *tile)
{
    return cg_shape_of(tile).tile_bits > CG_LANE_BITS + cg_real_warp_bits(c);
}

static void fence(cg_func *c, uint64_t scope)
{
    cg_ins(c, "fence%s", cg_order_suffix(BC_MemoryOrderingSemantics_acq_rel, scope));
}

/* The order in the instruction of each element. */
static uint64_t order_of_each(const cg_func *c, const bc_type *tile, uint64_t order)
{
    return has_fences(c, tile) ? BC_MemoryOrderingSemantics_relaxed : order;
}

/* ---- through pointers ---- */

/* Is the previous value unused, and is there an instruction without a result? */
static bool is_red(const cg_func *c, const ct_op *op, uint64_t order)
{
    return op->opcode == OP_atomic_rmw_tko && !cg_result(op, 0)->fact->used
           && !is_acquire(order_of_each(c, cg_result(op, 0)->type, order))
           && ct_attr_u(op, F_atomic_rmw_tko_mode) != BC_AtomicRMWMode_xchg;
}

static cg_ptr_op atomic_op_of(const cg_func *c, const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    bc_kind kind = bc_elem_kind(cg_result(op, 0)->type);
    if (is_red(c, op, p.order) && has_vectors(c, kind, ct_attr_u(op, F_atomic_rmw_tko_mode)))
        p.most_bits = VECTOR_BITS;
    return p;
}

static void assign_atomic(cg_func *c, const ct_op *op)
{
    cg_ptr_op p = atomic_op_of(c, op);
    cg_layout l = cg_pointer_layout(c, &p);
    cg_set_home(c, cg_result(op, 0), &l, p.pointers->type->rank ? CG_WEIGHT_MEMORY : 0);
    cg_want_pointers(c, &p, &l);
    cg_bins bins;
    if (cg_find_bins(c, op, &bins))
        cg_want_bins(c, &bins, &l);
}

static void emit_part(cg_func *c, void *user, const cg_pointer_part *part)
{
    emit(c, user, &part->access, part->count, part->reg);
}

static void lower_atomic(cg_func *c, const ct_op *op, atomic *a)
{
    cg_ptr_op p = atomic_op_of(c, op);
    const ct_value *result = cg_result(op, 0);
    const cg_layout *l = cg_value_of(c, result)->home;
    bool used = result->fact->used, red = is_red(c, op, p.order), fences = has_fences(c, result->type);
    a->order = cg_order_suffix(order_of_each(c, result->type, p.order), p.scope);
    a->relaxed = cg_order_suffix(BC_MemoryOrderingSemantics_relaxed, p.scope);
    a->kind = bc_elem_kind(result->type);
    a->by_exchange = is_by_exchange(c, a);
    a->value = cg_get(c, p.value, l);
    a->result = red ? NULL : cg_vals(c, cg_layout_regs(l));
    if (c->failed)
        return;
    if (is_release(p.order))
        cg_take_effect(c, op, CG_MEETS);
    cg_bins bins;
    bool few = cg_find_bins(c, op, &bins);
    cg_val memory = few ? cg_fill_bins(c, op, &bins, l) : cg_const(CG_B32, 0);
    bool by_one = cg_is_done_by_one(op);
    if (!by_one)
        cg_take_access(c, op);
    if (fences && is_release(p.order))
        fence(c, p.scope);
    if (few)
        cg_empty_bins(c, &bins, memory, p.scope);
    else
        cg_pointer_parts(c, &p, l, true, a, emit_part);
    if (fences && is_acquire(p.order))
        fence(c, p.scope);
    bool shared = used && !by_one && cg_share(c, op, a->kind, l, a->result);
    if (is_acquire(p.order) && !shared && !by_one)
        cg_take_effect(c, op, CG_MEETS);
    if (used && !c->failed)
        cg_set(c, result, a->result);
}

void cg_assign_atomic_rmw_tko(cg_func *c, const ct_op *op)
{
    assign_atomic(c, op);
}

void cg_lower_atomic_rmw_tko(cg_func *c, const ct_op *op)
{
    lower_atomic(c, op, &(atomic){.mode = ct_attr_u(op, F_atomic_rmw_tko_mode)});
}

void cg_assign_atomic_cas_tko(cg_func *c, const ct_op *op)
{
    assign_atomic(c, op);
    cg_want(c, ct_operand(op, F_atomic_cas_tko_cmp), cg_value_of(c, cg_result(op, 0))->home);
}

void cg_lower_atomic_cas_tko(cg_func *c, const ct_op *op)
{
    const ct_value *compare = ct_operand(op, F_atomic_cas_tko_cmp);
    lower_atomic(c, op, &(atomic){.compare = cg_get(c, compare, cg_value_of(c, cg_result(op, 0))->home)});
}

/* ---- through views ---- */

void cg_assign_atomic_red_view_tko(cg_func *c, const ct_op *op)
{
    cg_assign_view_write(c, op);
}

static void emit_tile_part(cg_func *c, void *user, const cg_tile_vector *part)
{
    cg_access access = {.address = part->address, .offset = part->offset, .predicate = part->inside};
    emit(c, user, &access, part->count, part->reg);
}

void cg_lower_atomic_red_view_tko(cg_func *c, const ct_op *op)
{
    cg_view_op v = cg_view_op_of(op);
    const cg_layout *l = cg_value_of(c, cg_result(op, 0))->home;
    uint64_t scope = ct_attr_u(op, F_atomic_red_view_tko_memory_scope);
    atomic a = {.kind = bc_elem_kind(v.tile_type),
                .mode = ct_attr_u(op, F_atomic_red_view_tko_mode),
                .order = cg_order_suffix(ct_attr_u(op, F_atomic_red_view_tko_memory_ordering_semantics), scope),
                .relaxed = cg_order_suffix(BC_MemoryOrderingSemantics_relaxed, scope),
                .value = cg_get(c, v.tile, l)};
    a.by_exchange = is_by_exchange(c, &a);
    if (c->failed)
        return;
    cg_take_access(c, op);
    cg_view_vectors(c, &v, l, has_vectors(c, a.kind, a.mode) ? VECTOR_BITS : 0, NULL, &a, emit_tile_part);
}

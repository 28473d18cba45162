/* Control flow. Every condition is the same in all threads of a block, so branches are uniform. Carried values have
   registers of their own, to which `continue` and `break` move the new values. */
#include "codegen/ops/alternate.h"
#include "codegen/ops/counter.h"
#include "codegen/ops/held.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/lock.h"
#include "codegen/ops/lowering.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

typedef struct cg_loop {
    struct cg_loop *outer;
    const ct_op *op;
    uint32_t next_label, end_label;
    cg_val **carried; /* registers of the carried values, in the home of the block arguments */
    cg_val **results; /* of a `loop`: where break puts values */
    cg_val pause;     /* of a loop that takes a lock: nanoseconds until the next attempt; else no register */
    cg_held held;
} cg_loop;

enum { FIRST_PAUSE = 32, LONGEST_PAUSE = 128 }; /* nanoseconds */

/* ---- layouts ---- */

static cg_layout wish_or_default(cg_func *c, const ct_value *v, uint32_t *out_weight)
{
    cg_layout l;
    if (!cg_wish(c, v, &l, out_weight)) {
        l = v->type->rank ? cg_default_layout(c, v->type) : cg_layout_scalar(c->warp_bits);
        *out_weight = v->type->rank ? CG_WEIGHT_DEFAULT : 0;
    }
    return l;
}

/* v is read in the layout of `home`; tokens and views have none. */
static void want_like(cg_func *c, const ct_value *v, const ct_value *home)
{
    if (bc_is_tile(home->type))
        cg_want(c, v, cg_value_of(c, home)->home);
}

static void settle(cg_func *c, const ct_value *v, const cg_layout *l, uint32_t weight)
{
    if (bc_is_tile(v->type))
        cg_set_home(c, v, l, weight);
}

/* Sets the homes of the block arguments that start as inits: those of the last visit in the first walk, or those
   that the initial values prefer. */
static void settle_carried(cg_func *c, ct_value *args, ct_value *const *inits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!bc_is_tile(args[i].type))
            continue;
        uint32_t weight;
        cg_layout l = wish_or_default(c, inits[i], &weight);
        const cg_layout *decided = c->homes->decided[args[i].id];
        if (decided) {
            l = *decided;
            weight = args[i].type->rank ? CG_WEIGHT_MEMORY : 0;
        }
        settle(c, &args[i], &l, weight);
        cg_want(c, inits[i], &l);
    }
}

/* Does a product that is in flight from one iteration to the next add to the carried value in place, possibly in a loop
   inside? */
static bool is_sum_in_flight(const ct_value *arg)
{
    enum { ACCUMULATOR = 2 };
    const ct_use *use = arg->uses;
    while (use && !use->next && !(use->op->in_flight && use->op->in_place && use->index == ACCUMULATOR)) {
        uint32_t first = use->op->opcode == OP_for ? ct_for_inits(use->op).first : UINT32_MAX;
        use = use->index >= first ? use->op->regions[0]->args[use->index - first + 1].uses : NULL;
    }
    return use && !use->next;
}

/* During the first walk: the values of the next iteration may have better layouts. True: something changed. A sum to
   which a product in flight adds has the product's layout, whatever its initial value prefers: in another one, it would
   be converted, and so read, before the product is awaited. */
static bool learn(cg_func *c, ct_value *args, ct_value *const *next, uint32_t count)
{
    bool changed = false;
    for (uint32_t i = 0; i < count; i++) {
        cg_layout l;
        uint32_t weight;
        if (!bc_is_tile(args[i].type) || args[i].type->rank == 0 || !cg_wish(c, next[i], &l, &weight))
            continue;
        const cg_value *x = cg_value_of(c, &args[i]);
        const cg_layout *better = cg_intern(c, &l);
        if (x->home == better || (weight <= x->weight && !is_sum_in_flight(&args[i])))
            continue;
        c->homes->decided[args[i].id] = better;
        changed = true;
    }
    return changed;
}

void cg_assign_for(cg_func *c, const ct_op *op)
{
    const ct_block *body = ct_regions(op)[0];
    bc_range inits = ct_for_inits(op);
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    for (int round = 0; round < 2; round++) {
        cg_set_home(c, &body->args[0], &scalar, 0);
        settle_carried(c, body->args + 1, ct_operands(op) + inits.first, inits.count);
        cg_assign_block(c, body);
        if (c->failed || !c->homes->deciding || !learn(c, body->args + 1, ct_operands(body->last), inits.count))
            break;
    }
    for (uint32_t i = 0; i < inits.count && !c->failed; i++) {
        const cg_value *arg = cg_value_of(c, &body->args[i + 1]);
        want_like(c, ct_operands(body->last)[i], &body->args[i + 1]);
        settle(c, cg_result(op, i), arg->home, arg->weight);
    }
}

void cg_assign_loop(cg_func *c, const ct_op *op)
{
    const ct_block *body = ct_regions(op)[0];
    for (uint32_t i = 0; i < op->result_count; i++) { /* breaks inside need them */
        const ct_value *v = cg_result(op, i);
        cg_layout l = bc_is_tile(v->type) && v->type->rank ? cg_default_layout(c, v->type)
                                                           : cg_layout_scalar(c->warp_bits);
        if (c->homes->decided[v->id])
            l = *c->homes->decided[v->id];
        settle(c, v, &l, bc_is_tile(v->type) && v->type->rank ? CG_WEIGHT_DEFAULT : 0);
    }
    settle_carried(c, body->args, ct_operands(op), op->operand_count);
    cg_assign_block(c, body);
}

void cg_assign_continue(cg_func *c, const ct_op *op)
{
    const ct_op *loop = ct_loop_around(op);
    if (loop->opcode == OP_for && op->block == ct_regions(loop)[0])
        return; /* the `for` visits the block */
    const ct_block *body = ct_regions(loop)[0];
    ct_value *args = body->args + (loop->opcode == OP_for);
    if (c->homes->deciding)
        learn(c, args, ct_operands(op), op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        want_like(c, ct_operands(op)[i], &args[i]);
}

void cg_assign_break(cg_func *c, const ct_op *op)
{
    const ct_op *loop = ct_loop_around(op);
    if (c->homes->deciding)
        learn(c, ct_results(loop), ct_operands(op), op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        want_like(c, ct_operands(op)[i], cg_result(loop, i));
}

void cg_assign_if(cg_func *c, const ct_op *op)
{
    bool settled = false;
    for (unsigned r = 0; r < op->region_count; r++) {
        const ct_block *block = ct_regions(op)[r];
        if (!block)
            continue;
        cg_assign_block(c, block);
        if (block->last->opcode != OP_yield || c->failed)
            continue;
        for (uint32_t i = 0; i < op->result_count; i++) {
            const ct_value *from = ct_operands(block->last)[i], *to = cg_result(op, i);
            if (!settled && bc_is_tile(to->type)) {
                uint32_t weight;
                cg_layout l = wish_or_default(c, from, &weight);
                settle(c, to, &l, weight);
            }
            want_like(c, from, to);
        }
        settled = true;
    }
    for (uint32_t i = 0; i < op->result_count && !settled; i++) { /* both branches leave */
        const ct_value *to = cg_result(op, i);
        cg_layout l = bc_is_tile(to->type) && to->type->rank ? cg_default_layout(c, to->type)
                                                             : cg_layout_scalar(c->warp_bits);
        settle(c, to, &l, 0);
    }
}

void cg_assign_yield(cg_func *c, const ct_op *op)
{
    (void)c, (void)op; /* the `if` visits the block */
}

void cg_assign_return(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

/* ---- moves ---- */

/* log2 of the elements in a register that is passed on: 16-bit elements are passed on in pairs, and bytes that a load
   brings in words, in those words. */
static uint32_t joined_bits(cg_func *c, const ct_value *v)
{
    const uint32_t all = cg_value_of(c, v)->home->reg_bits,
                   bits = cg_elem_class(v->type) == CG_B16 ? !v->apart : v->in_word;
    return bits < all ? bits : all;
}

/* Bits of an element that shares a register. */
static uint32_t joined_size(const ct_value *v)
{
    return bc_kind_bits(bc_elem_kind(v->type));
}

/* The number of registers in which a tile is passed on. */
static uint32_t slot_count(cg_func *c, const ct_value *v)
{
    return cg_layout_regs(cg_value_of(c, v)->home) >> joined_bits(c, v);
}

static cg_class slot_class(cg_func *c, const ct_value *v)
{
    const uint32_t bits = joined_bits(c, v);
    return !bits ? cg_elem_class(v->type) : joined_size(v) << bits == cg_class_bits(CG_B16) ? CG_B16 : CG_B32;
}

/* New registers. NULL: the value needs none, because it is no tile, or is in strips or tensor memory. */
static cg_val *slots_for(cg_func *c, const ct_value *v)
{
    if (!bc_is_tile(v->type) || v->in_tensor || cg_strip_varies(c, cg_value_of(c, v)->home))
        return NULL;
    uint32_t count = slot_count(c, v);
    cg_val *slots = cg_vals(c, count);
    for (uint32_t r = 0; slots && r < count; r++)
        slots[r] = cg_new(c, slot_class(c, v));
    return slots;
}

/* The registers of slots have consecutive numbers (slots_for). */
static bool is_in(const cg_val *slots, uint32_t count, cg_val x)
{
    return slots && x.id && x.cls == slots[0].cls && x.id - slots[0].id < count;
}

/* The value of slot r of `home`, from the value's registers. */
static cg_val slot_value(cg_func *c, const ct_value *home, const cg_val *regs, uint32_t r)
{
    const uint32_t bits = joined_bits(c, home);
    return bits ? cg_join(c, regs + (r << bits), 1u << bits, joined_size(home)) : regs[r];
}

/* The registers of a value, taken from its slots. */
static cg_val *from_slots(cg_func *c, const ct_value *v, cg_val *slots)
{
    const uint32_t bits = joined_bits(c, v), count = slot_count(c, v);
    if (!bits)
        return slots;
    cg_val *regs = cg_vals(c, count << bits);
    for (uint32_t r = 0; regs && r < count; r++)
        cg_split(c, bc_elem_kind(v->type), slots[r], 1u << bits, joined_size(v), regs + (r << bits));
    return regs;
}

/* Moves values[i], in the home of homes[i], to slots[i]. Registers that would be overwritten before they are read
   pass through new ones. */
static void move_carried(cg_func *c, ct_value *const *values, const ct_value *homes, cg_val *const *slots,
                         uint32_t count)
{
    cg_val **from = bc_new(&c->arena, cg_val *, count + 1u);
    if (!from)
        return;
    if (c->strips) /* first, because it may read registers of other values */
        cg_strip_move(c, values, homes, count);
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        if (!slots[i])
            continue;
        const cg_val *have = cg_get(c, values[i], cg_value_of(c, &homes[i])->home);
        uint32_t own = slot_count(c, &homes[i]);
        from[i] = cg_vals(c, own);
        for (uint32_t r = 0; have && from[i] && r < own; r++) {
            cg_val x = from[i][r] = slot_value(c, &homes[i], have, r);
            for (uint32_t j = 0; j < count; j++)
                if (j != i && slots[j] && is_in(slots[j], slot_count(c, &homes[j]), x)) {
                    from[i][r] = cg_new(c, (cg_class)x.cls);
                    cg_move(c, from[i][r], x);
                    break;
                }
        }
    }
    for (uint32_t i = 0; i < count && !c->failed; i++)
        for (uint32_t r = 0; slots[i] && r < slot_count(c, &homes[i]); r++)
            if (from[i][r].id != slots[i][r].id || from[i][r].cls != slots[i][r].cls)
                cg_move(c, slots[i][r], from[i][r]);
}

static cg_val **new_slots(cg_func *c, const ct_value *values, uint32_t count)
{
    cg_val **slots = bc_new(&c->arena, cg_val *, count + 1u);
    for (uint32_t i = 0; slots && i < count; i++)
        slots[i] = slots_for(c, &values[i]);
    return slots;
}

/* The registers in which the loop carries v. NULL: it does not. */
static cg_val *slots_of(const cg_loop *loop, const ct_value *v)
{
    uint32_t count = loop && loop->op->opcode == OP_for ? ct_for_inits(loop->op).count : 0;
    for (uint32_t i = 0; i < count; i++)
        if (v == &ct_regions(loop->op)[0]->args[i + 1])
            return loop->carried[i];
    return NULL;
}

/* Values that the enclosing loop only passes on to this one are carried by both in the same registers. */
static void share_slots(cg_func *c, const ct_op *op, cg_val **slots)
{
    const ct_value *own = ct_regions(op)[0]->args + 1;
    bc_range inits = ct_for_inits(op);
    for (uint32_t i = 0; i < inits.count; i++) {
        const ct_value *from = ct_operands(op)[inits.first + i];
        cg_val *shared = slots_of(c->lowering->loop, from);
        if (slots[i] && shared && !from->uses->next && from->apart == own[i].apart && from->in_word == own[i].in_word
            && cg_value_of(c, from)->home == cg_value_of(c, &own[i])->home)
            slots[i] = shared;
    }
}

static void set_all(cg_func *c, const ct_value *values, cg_val *const *slots, uint32_t count)
{
    for (uint32_t i = 0; i < count && !c->failed; i++)
        if (slots[i])
            cg_set(c, &values[i], from_slots(c, &values[i], slots[i]));
}

/* ---- loops ---- */

static void set_counter(cg_func *c, const ct_block *body, cg_val counter)
{
    cg_val *iv = cg_vals(c, 1);
    if (!iv)
        return;
    iv[0] = cg_counter_element(c, bc_elem_kind(body->args[0].type), counter);
    cg_set(c, &body->args[0], iv);
}

/* Leaves the loop, or continues it. */
static void compare_counter(cg_func *c, const ct_op *op, const char *how, cg_val at, cg_val high, uint32_t label)
{
    cg_val is_so = cg_new(c, CG_PRED);
    cg_ins(c, "setp.%s.%s%u %v, %v, %v", how, cg_counter_sign(op), cg_class_bits((cg_class)at.cls), is_so, at, high);
    cg_ins(c, "@%v bra %l", is_so, label);
}

void cg_lower_for(cg_func *c, const ct_op *op)
{
    const ct_block *body = ct_regions(op)[0];
    bc_range inits = ct_for_inits(op);
    cg_loop loop = {.outer = c->lowering->loop, .op = op, .next_label = cg_label(c)};
    loop.end_label = cg_label(c);
    uint32_t head = cg_label(c);
    cg_held_begin(c, &loop.held);
    loop.carried = new_slots(c, body->args + 1, inits.count);
    if (!loop.carried)
        return;
    share_slots(c, op, loop.carried);
    move_carried(c, ct_operands(op) + inits.first, body->args + 1, loop.carried, inits.count);
    uint32_t bits = cg_counter_bits(op, &body->args[0], 1);
    cg_val low = cg_counter_operand(c, op, ct_operand(op, F_for_lower_bound), bits);
    cg_val high = cg_counter_operand(c, op, ct_operand(op, F_for_upper_bound), bits);
    cg_val step = cg_counter_operand(c, op, ct_operand(op, F_for_step), bits);
    cg_val i = cg_new(c, bits == 32 ? CG_B32 : CG_B64);
    cg_ins(c, "mov.b%u %v, %v", bits, i, low);
    cg_alternate_begin(c, op);
    compare_counter(c, op, "ge", i, high, loop.end_label);
    cg_place_label(c, head);
    set_counter(c, body, i);
    set_all(c, body->args + 1, loop.carried, inits.count);
    c->lowering->loop = &loop;
    cg_block(c, body);
    c->lowering->loop = loop.outer;
    cg_place_label(c, loop.next_label);
    cg_ins(c, "add.s%u %v, %v, %v", bits, i, i, step);
    compare_counter(c, op, "lt", i, high, head);
    cg_held_end(c, &loop.held, head);
    cg_place_label(c, loop.end_label);
    cg_alternate_end(c, op);
    if (op->detail)
        cg_ring_end(c, op);
    set_all(c, ct_results(op), loop.carried, inits.count);
}

/* Pauses before the next attempt, twice as long each time. Without pauses, the attempts of waiting blocks delay the
   release: with 64 locks and 9 blocks on each multiprocessor of an H200, it takes twice as long as with 4. */
static void back_off(cg_func *c, cg_val pause)
{
    cg_val twice = cg_new(c, CG_B32);
    cg_ins(c, "nanosleep.u32 %v", pause);
    cg_ins(c, "shl.b32 %v, %v, 1", twice, pause);
    cg_ins(c, "min.u32 %v, %v, %u", pause, twice, (uint32_t)LONGEST_PAUSE);
}

/* One thread enters the loop to do that exchange; the others continue after it. */
static void leave_to_one(cg_func *c, const ct_op *exchange, uint32_t behind)
{
    cg_take_access(c, exchange);
    cg_val one = cg_is_owner(c, cg_value_of(c, cg_result(exchange, 0))->home);
    if (!one.known)
        cg_ins(c, "@!%v bra %l", one, behind);
}

void cg_lower_loop(cg_func *c, const ct_op *op)
{
    const ct_block *body = ct_regions(op)[0];
    cg_loop loop = {.outer = c->lowering->loop, .op = op, .next_label = cg_label(c)};
    loop.end_label = cg_label(c);
    cg_held_begin(c, &loop.held);
    loop.carried = new_slots(c, body->args, op->operand_count);
    loop.results = new_slots(c, ct_results(op), op->result_count);
    if (!loop.carried || !loop.results)
        return;
    move_carried(c, ct_operands(op), body->args, loop.carried, op->operand_count);
    bool by_one = cg_is_taken_by_one(op);
    if (by_one)
        leave_to_one(c, cg_lock_of(op), loop.end_label);
    if (cg_lock_of(op)) {
        loop.pause = cg_new(c, CG_B32);
        cg_ins(c, "mov.u32 %v, %u", loop.pause, (uint32_t)FIRST_PAUSE);
    }
    cg_place_label(c, loop.next_label);
    set_all(c, body->args, loop.carried, op->operand_count);
    c->lowering->loop = &loop;
    cg_block(c, body);
    c->lowering->loop = loop.outer;
    cg_place_label(c, loop.end_label);
    cg_held_end(c, &loop.held, loop.next_label);
    if (by_one) {
        if (cg_real_warp_bits(c))
            cg_warp_barrier(c); /* lanes may have diverged */
        cg_take_effect(c, op, CG_MEETS);
    }
    set_all(c, ct_results(op), loop.results, op->result_count);
}

void cg_lower_continue(cg_func *c, const ct_op *op)
{
    cg_loop *loop = c->lowering->loop;
    const ct_block *body = ct_regions(loop->op)[0];
    bool is_for = loop->op->opcode == OP_for;
    move_carried(c, ct_operands(op), body->args + is_for, loop->carried, op->operand_count);
    if (loop->pause.id)
        back_off(c, loop->pause);
    if (!is_for || op->block != body)
        cg_ins(c, "bra.uni %l", loop->next_label);
}

void cg_lower_break(cg_func *c, const ct_op *op)
{
    move_carried(c, ct_operands(op), ct_results(c->lowering->loop->op), c->lowering->loop->results, op->operand_count);
    cg_ins(c, "bra.uni %l", c->lowering->loop->end_label);
}

void cg_lower_return(cg_func *c, const ct_op *op)
{
    (void)op;
    cg_ins(c, "ret");
}

/* ---- if ---- */

void cg_lower_if(cg_func *c, const ct_op *op)
{
    uint32_t else_label = cg_label(c), end_label = cg_label(c);
    cg_val condition = cg_reg(c, cg_scalar(c, op->operands[0]));
    const ct_block *then = ct_regions(op)[0], *otherwise = op->region_count > 1 ? ct_regions(op)[1] : NULL;
    cg_val **slots = new_slots(c, ct_results(op), op->result_count);
    if (!slots)
        return;
    cg_ins(c, "@!%v bra %l", condition, else_label);
    const ct_block *const blocks[] = {then, otherwise};
    for (int i = 0; i < 2 && !c->failed; i++) {
        if (i == 1)
            cg_place_label(c, else_label);
        if (!blocks[i])
            continue;
        cg_block(c, blocks[i]);
        if (blocks[i]->last->opcode == OP_yield)
            move_carried(c, ct_operands(blocks[i]->last), ct_results(op), slots, op->result_count);
        if (i == 0)
            cg_ins(c, "bra.uni %l", end_label);
    }
    cg_place_label(c, end_label);
    set_all(c, ct_results(op), slots, op->result_count);
}

void cg_lower_yield(cg_func *c, const ct_op *op)
{
    (void)c, (void)op; /* the `if` moves the values */
}

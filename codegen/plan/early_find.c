/* Chooses the loads that are prefetched into registers; see codegen/passes/early.c. Why it is right: the loop has no
   write or ordering op that the load may have to follow, in this iteration or an earlier one (cg_order_holds_back), so
   that it reads the same values one or two iterations earlier; and it is executed only for iterations that exist. */
#include <string.h>

#include "codegen/access/pointers.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/early.h"

/* ---- what is known at the head of an iteration ---- */

/* The iterations for which a value is known: this one, the next one, or any one from its counter alone. */
typedef enum when { NOW, NEXT, ANY_TIME } when;

typedef struct slice {
    const ct_block *body;
    uint8_t *known; /* by value id: bits of when */
    bool takes_source;
} slice;

/* Is it a load that is planned two iterations ahead? */
static bool is_source(const ct_op *op)
{
    return ct_is_load(op) && op->detail && ((const cg_early_plan *)op->detail)->distance > 1;
}

static bool is_made(slice *s, const ct_value *v, when at, uint32_t depth)
{
    const ct_op *op = v->op;
    if (!ct_is_inside(v->block, s->body) || s->known[v->id] >> at & 1 || v->type->kind == BC_TOKEN)
        return true;
    if (depth == 0 || v->block != s->body)
        return false;
    bool made = op ? cg_is_slice_op(op, true) : at == NOW || v->number == 0;
    if (!op && !made && at == NEXT)
        made = is_made(s, s->body->last->operands[v->number - 1], NOW, depth - 1);
    for (uint32_t i = 0; op && made && i < op->operand_count; i++)
        made = is_made(s, op->operands[i], at, depth - 1);
    if (op && at != ANY_TIME && is_source(op))
        made = s->takes_source = true;
    s->known[v->id] |= (uint8_t)(made << at);
    return made;
}

/* Are the op's operands in another iteration known at the head of this one? */
static const char *is_known_at_head(cg_query *q)
{
    cg_early_plan *p = q->user;
    const when at = p->distance > 1 ? ANY_TIME : NEXT;
    slice s = {.body = q->body, .known = bc_new(&q->c->arena, uint8_t, q->c->ir->value_count + 1u)};
    if (!s.known)
        return "out of memory";
    for (uint32_t i = 0; i < q->load->operand_count; i++) {
        const ct_value *v = q->load->operands[i];
        const bool is_view = v->view && v->type->kind != BC_TILE;
        if (is_view && ct_is_inside(v->block, q->body))
            return "its view is made in the loop";
        if (!is_view && !is_made(&s, v, at, CG_SLICE_DEPTH))
            return "its address is not known an iteration ahead";
    }
    p->takes_source = p->takes_source || s.takes_source;
    return NULL;
}

/* ---- what it takes ---- */

uint32_t cg_tile_registers(const cg_func *c, const bc_type *tile, bool apart)
{
    enum { BYTES = 4 };
    if (!bc_is_tile(tile))
        return 0;
    uint32_t bits = cg_shape_of(tile).tile_bits, threads = cg_real_warp_bits(c) + CG_LANE_BITS,
             bytes = cg_memory_bytes(bc_elem_kind(tile)), elements = bits > threads ? 1u << (bits - threads) : 1;
    bool paired = bytes == 2 && !apart && elements > 1;
    return paired ? elements / 2 : elements * (bytes > BYTES ? bytes / BYTES : 1);
}

uint32_t cg_early_held(const cg_func *c, const ct_block *body)
{
    uint32_t all = 0, most = 0;
    for (uint32_t i = 1; i < body->arg_count; i++)
        all += cg_tile_registers(c, body->args[i].type, body->args[i].apart);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        bool moves = op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)), multiplies = cg_is_product(op);
        uint32_t own = moves || multiplies ? cg_tile_registers(c, op->results[0].type, false) : 0;
        all += multiplies && cg_addend_of(op)->op ? own : 0;
        most = moves && own > most ? own : most;
    }
    return all + most;
}

/* Is the tile, or a view or conversion of it, an operand of a product? */
static bool is_operand(const ct_value *tile, uint32_t depth)
{
    for (const ct_use *use = tile->uses; use && depth; use = use->next) {
        bool passes = cg_is_seen(use->op) || (ct_is_map(use->op) && use->op->operand_count == 1);
        if (cg_is_product(use->op) || (passes && is_operand(&use->op->results[0], depth - 1)))
            return true;
    }
    return false;
}

cg_early_kind cg_early_kind_of(const cg_func *c, const ct_block *body, const ct_op *load, const cg_early_plan *p)
{
    bool blocked = false, has_loops = false;
    uint32_t products = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        has_loops = has_loops || ct_is_loop(op);
        products += cg_is_product(op);
        blocked = blocked || (cg_is_product(op) && cg_product_of(c, op).instruction == CG_BY_BLOCKS);
    }
    return blocked                              ? CG_EARLY_BLOCKED
           : p->distance > 1 || p->takes_source ? CG_EARLY_SOURCES
           : p->no_room                         ? CG_EARLY_NO_ROOM
           : has_loops                          ? CG_EARLY_NESTS
           : products && !is_operand(&load->results[0], CG_OPERAND_STEPS)
               ? (products > 1 && !c->groups ? CG_EARLY_AMONG : CG_EARLY_BESIDE)
           : !products && p->access >= CG_ACCESS_BYTES / 2                                      ? CG_EARLY_WIDE
           : products > 1 && body->parent->likely && cg_choices_of(c)->registers == CG_IF_LEGAL ? CG_EARLY_SECOND
                                                                                                : CG_EARLY_SHORT;
}

/* Finds log2 of the elements in an access, and in the shorter ones, if there are any. */
static void find_accesses(cg_func *c, ct_op *load, uint32_t *inside, uint32_t *edge)
{
    uint32_t fast;
    if (load->opcode == OP_load_ptr_tko) {
        cg_ptr_op p = cg_ptr_op_of(load);
        *inside = *edge = cg_pointer_vector(c, &p, &fast);
        return;
    }
    cg_view_op v = cg_view_op_of(load);
    cg_layout l = cg_view_layout(c, &v);
    cg_view_lengths n = cg_view_lengths_of(c, &v, &l, cg_chunk_bits(v.tile_type));
    *inside = n.inside;
    *edge = n.edge;
}

void cg_early_measure(cg_func *c, ct_op *load, cg_early_plan *p)
{
    enum { WORD_BITS = 2 }; /* log2 of the bytes of a register */
    const bc_type *tile = load->results[0].type;
    uint32_t inside, edge, bytes = cg_memory_bytes(bc_elem_kind(tile));
    find_accesses(c, load, &inside, &edge);
    p->access = bytes << (edge < inside ? edge : inside);
    p->in_word = (uint8_t)(bytes == 1 ? inside < WORD_BITS ? inside : WORD_BITS : bytes == 2 && edge < inside);
    p->apart = bytes == 2 && inside == 0;
    p->registers = cg_tile_registers(c, tile, p->apart);
}

static const char *has_elements(cg_query *q)
{
    cg_early_plan *p = q->user;
    bc_kind kind = bc_elem_kind(q->load->results[0].type);
    if (kind == BC_PTR || !bc_kind_memory_bytes(kind))
        return "no register would hold a single element";
    cg_early_measure(q->c, q->load, p);
    return NULL;
}

/* Can registers hold the tile as it arrives? A loop carries words of bytes, and pairs of 2-byte elements, as they are.
   Predicates are taken out of their words at once, which would wait for the load. */
static const char *fits_registers(cg_query *q)
{
    const bc_type *tile = q->load->results[0].type;
    cg_early_plan *p = q->user;
    if (bc_elem_kind(tile) == BC_I1 && p->in_word)
        return "registers that pack several elements would have to be unpacked";
    const uint32_t words = cg_memory_bytes(bc_elem_kind(tile)) == 1 ? p->registers >> p->in_word : p->registers;
    p->registers = words ? words : 1;
    return NULL;
}

static const char *ends_in_one_place(cg_query *q)
{
    return ct_ends_in_one_place(q->body->parent) ? NULL : "the loop body ends in several places";
}

static const char *carries_few(cg_query *q)
{
    return q->body->arg_count <= CG_CARRIED_VALUES ? NULL : "its loop carries too many values";
}

static const char *is_worthwhile(cg_query *q)
{
    const cg_early_row *row = cg_early_row_of(cg_early_kind_of(q->c, q->body, q->load, q->user));
    return cg_iterations_of(q->loop) < row->iterations ? "the loop has too few iterations"
           : row->most                                 ? NULL
                                                       : row->why;
}

const char *cg_early_obstacle(cg_func *c, const ct_block *body, ct_op *load, cg_early_plan *p)
{
    static cg_condition *const at_head[] = {ends_in_one_place, carries_few, is_known_at_head, NULL};
    return cg_obstacle(&(cg_query){.c = c, .body = body, .load = load, .user = p}, at_head);
}

/* Products without an instruction leave no registers, whatever else the load needs. */
static const char *leaves_registers(cg_query *q)
{
    const cg_early_kind kind = cg_early_kind_of(q->c, q->body, q->load, q->user);
    return kind == CG_EARLY_BLOCKED ? cg_early_row_of(kind)->why : NULL;
}

/* Why the load cannot be prefetched at the plan's distance; NULL: it can. What the kernel means is asked before what
   the budget leaves. */
static const char *obstacle_to_registers(cg_func *c, const ct_op *loop, ct_op *load, cg_early_plan *p)
{
    static cg_condition *const list[] = {cg_precedes_writes, leaves_registers, ends_in_one_place,
                                         carries_few,        is_known_at_head, has_elements,
                                         is_worthwhile,      fits_registers,   NULL};
    return cg_obstacle(&(cg_query){.c = c, .loop = loop, .body = loop->regions[0], .load = load, .user = p}, list);
}

/* Can the load be considered? If not, a remark says elsewhere why it is not prefetched. */
static bool may_move(const cg_func *c, const ct_op *loop, const ct_op *load)
{
    return loop->opcode == OP_for && load->block == loop->regions[0] && !c->strip_bits && !cg_loops_stay_plain(c)
           && cg_choices_of(c)->registers != CG_NEVER && cg_is_weak_access(load);
}

void cg_early_tell_why_not(const cg_func *c, const ct_op *load, const char *why, const char *either)
{
    cg_remark(c, load, CG_REMARK_NotPipelined, TV_REMARK_MISSED,
              "not loaded ahead: {Why=%s}; nor into registers: {Registers=%s}", why, either);
}

static cg_early_plan *new_plan(cg_func *c, const char *why, uint32_t distance)
{
    cg_early_plan *p = bc_new(&c->arena, cg_early_plan, 1);
    if (p)
        *p = (cg_early_plan){.why = why, .distance = distance};
    return p;
}

/* The first load of the body that uses v or a value computed from it; NULL: none was found among *budget uses. */
static ct_op *taker_of(const ct_value *v, uint32_t *budget)
{
    ct_op *found = NULL;
    for (const ct_use *use = v->uses; use && *budget && !found; use = use->next) {
        ct_op *op = use->op;
        --*budget;
        if (op->block == v->block && ct_is_load(op))
            found = op;
        else if (op->block == v->block && cg_is_slice_op(op, true))
            found = taker_of(&op->results[0], budget);
    }
    return found;
}

/* Is this load's result used by a load that can be prefetched one iteration ahead? */
static bool is_taken(cg_func *c, const ct_op *loop, const ct_op *load)
{
    uint32_t budget = 32;
    cg_early_plan later = {.distance = 1};
    ct_op *taker = taker_of(&load->results[0], &budget);
    return taker && may_move(c, loop, taker) && !obstacle_to_registers(c, loop, taker, &later);
}

bool cg_plan_source(cg_func *c, const ct_op *loop, ct_op *load, bool of_ring)
{
    if (!bc_kind_in(bc_elem_kind(load->results[0].type), BC_SET_INT) || !may_move(c, loop, load))
        return false;
    cg_early_plan *p = new_plan(c, "another load needs it for its address", 2);
    if (!p || obstacle_to_registers(c, loop, load, p) || p->registers > CG_HELD_REGISTERS / 2)
        return false;
    load->detail = p;
    if (!of_ring && !is_taken(c, loop, load))
        load->detail = NULL;
    return load->detail;
}

void cg_plan_early(cg_func *c, const ct_op *loop, ct_op *load, const char *why, bool no_room)
{
    if (!may_move(c, loop, load)) {
        cg_remark_stays(c, load, why);
        return;
    }
    cg_early_plan *p = cg_plan_source(c, loop, load, false) ? NULL : new_plan(c, why, 1);
    if (p)
        p->no_room = no_room;
    const char *either = p ? obstacle_to_registers(c, loop, load, p) : NULL;
    if (p && !either)
        load->detail = p;
    else if (p && strcmp(why, either) == 0)
        cg_remark_stays(c, load, why);
    else if (p)
        cg_early_tell_why_not(c, load, why, either);
}

/* ---- all loads of a loop ---- */

/* Marks, by value id, what the addresses of the body's loads are computed from; a load whose result is marked provides
   the address of another one. */
static bool *find_addressing(cg_func *c, const ct_block *body)
{
    bool *marks = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    for (const ct_op *op = body->last; op && marks; op = op->prev) {
        bool needs = ct_is_load(op) || (cg_is_slice_op(op, true) && marks[op->results[0].id]);
        for (uint32_t i = 0; i < op->operand_count && needs; i++)
            marks[op->operands[i]->id] = true;
    }
    return marks;
}

cg_load_list cg_loads_of(cg_func *c, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    const bool *marks = find_addressing(c, body);
    cg_load_list all = {0};
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        all.count += ct_is_load(op) && ct_loop_around(op) == loop;
    if (!marks || !(all.of = bc_new(&c->arena, cg_listed_load, all.count + 1u)))
        return (cg_load_list){0};
    uint32_t next = 0;
    for (uint32_t addresses = 0; addresses < 2; addresses++) {
        all.others = next;
        for (ct_op *op = body->first; op; op = ct_next_op(op, body))
            if (ct_is_load(op) && ct_loop_around(op) == loop && marks[op->results[0].id] == addresses)
                all.of[next++].op = op;
    }
    return all;
}

bool cg_has_too_many_loads(cg_func *c, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        count += ct_is_load(op);
    for (const ct_op *op = body->first; op && count > CG_LOOP_LOADS; op = ct_next_op(op, body))
        if (ct_is_load(op) && ct_loop_around(op) == loop)
            cg_remark_stays(c, op, "its loop has too many loads");
    return count > CG_LOOP_LOADS;
}

/* Those that others need come first, because the others then know that they run ahead. */
void cg_plan_listed(cg_func *c, const ct_op *loop, const cg_load_list *all)
{
    for (uint32_t n = 0; n < all->count; n++) {
        const cg_listed_load *load = &all->of[(all->others + n) % all->count];
        if (load->why)
            cg_plan_early(c, loop, load->op, load->why, false);
    }
}

/* Loads ahead into registers: what cannot go by a ring of shared memory, as its accesses are short, its elements lie
   anywhere, or its pointers are carried. The loop loads a tile for the next iteration before it computes with the one
   at hand, which it carries:

       for i = first to end step {              %f, %is = later first, end, step {0}
         ...                                    %t0 = if %is { load of %f; yield } else { yield 0 }
         %t = load                              for i = first to end step, %t = %t0 {
         ... uses of %t ...               =>      %j, %more = later i, end, step {1}
       }                                          %next = if %more { load of %j; yield } else { yield 0 }
                                                  ... uses of %t ...
                                                  continue %next
                                                }

   What the load takes is made anew for the next iteration: from the counter that it will have, and for what the loop
   carries from what this iteration will hand on, if that is made of what is known at its head. A load that says where
   another one loads from goes two iterations ahead, so that it has come by when that one goes. The loads pass plans
   this; the expand pass has it done, when loops have their rings. */
#include <string.h>

#include "codegen/access/pointers.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/remarks.h"
#include "codegen/passes/budget.h"
#include "codegen/passes/ring.h"

enum { DEPTH = 32 };

/* What the loads pass leaves with a load. */
typedef struct plan {
    const char *why;    /* it has no ring: a text for users */
    uint32_t registers; /* of one tile */
    uint32_t distance;  /* iterations: 1, or 2 of one that says where others load from */
    bool no_room;       /* there was none for its slots */
    bool takes_source;  /* one goes two iterations ahead for it */
    uint32_t access;    /* bytes of its longest accesses */
    bool apart;         /* each element has a register of its own, as accesses bring it */
} plan;

/* ---- what is known at the head of an iteration ---- */

/* Of this iteration, of the next one, of any by its counter alone. */
typedef enum when { NOW, NEXT, ANY_TIME } when;

typedef struct slice {
    const ct_block *body;
    uint8_t *known; /* by value id: bits of when */
    bool takes_source;
} slice;

static bool is_load(const ct_op *op)
{
    return op->opcode == OP_load_view_tko || op->opcode == OP_load_ptr_tko;
}

/* A load that is planned to go two iterations ahead. */
static bool is_source(const ct_op *op)
{
    return is_load(op) && op->detail && ((const plan *)op->detail)->distance > 1;
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

/* Are its operands, in another iteration, known at the head of this one? */
static bool is_known_ahead(cg_func *c, const ct_block *body, const ct_op *load, plan *p)
{
    slice s = {.body = body, .known = bc_new(&c->arena, uint8_t, c->ir->value_count + 1u)};
    if (!s.known) {
        cg_no_memory(c);
        return false;
    }
    for (uint32_t i = 0; i < load->operand_count; i++) {
        const ct_value *v = load->operands[i];
        bool is_view = v->view && v->type->kind != BC_TILE;
        if (is_view ? ct_is_inside(v->block, body) : !is_made(&s, v, p->distance > 1 ? ANY_TIME : NEXT, DEPTH))
            return false;
    }
    p->takes_source = p->takes_source || s.takes_source;
    return true;
}

/* ---- what it takes ---- */

static uint32_t registers_of(const cg_func *c, const bc_type *tile, bool apart)
{
    enum { BYTES = 4 };
    if (!bc_is_tile(tile))
        return 0;
    uint32_t bits = cg_shape_of(tile).tile_bits, threads = cg_real_warp_bits(c) + CG_LANE_BITS,
             bytes = cg_memory_bytes(bc_elem_kind(tile)), elements = bits > threads ? 1u << (bits - threads) : 1;
    bool paired = bytes == 2 && !apart && elements > 1;
    return paired ? elements / 2 : elements * (bytes > BYTES ? bytes / BYTES : 1);
}

/* Does it add to what a loop carries? */
static bool adds_up(const ct_op *product)
{
    enum { ACCUMULATOR = 2 };
    return !product->operands[ACCUMULATOR]->op;
}

/* What the loop carries, its products, and the largest tile that it moves to or from memory. */
static uint32_t held_registers(const cg_func *c, const ct_block *body)
{
    uint32_t all = 0, most = 0;
    for (uint32_t i = 1; i < body->arg_count; i++)
        all += registers_of(c, body->args[i].type, body->args[i].apart);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        bool moves = op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)), multiplies = cg_is_product(op);
        uint32_t own = moves || multiplies ? registers_of(c, op->results[0].type, false) : 0;
        all += multiplies && !adds_up(op) ? own : 0;
        most = moves && own > most ? own : most;
    }
    return all + most;
}

/* Is the tile, also seen otherwise or in another type, an operand of a product? */
static bool is_operand(const ct_value *tile, uint32_t depth)
{
    for (const ct_use *use = tile->uses; use && depth; use = use->next) {
        bool passes = cg_is_seen(use->op) || (ct_is_map(use->op) && use->op->operand_count == 1);
        if (cg_is_product(use->op) || (passes && is_operand(&use->op->results[0], depth - 1)))
            return true;
    }
    return false;
}

/* For what the loop has beside the load. */
static cg_early_kind kind_of(const cg_func *c, const ct_block *body, const ct_op *load, const plan *p)
{
    enum { WIDE = 8 /* bytes */, STEPS = 4 /* to the product */ };
    bool multiplies = false, blocked = false, has_loops = false;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        has_loops = has_loops || ct_is_loop(op);
        multiplies = multiplies || cg_is_product(op);
        blocked = blocked || (cg_is_product(op) && cg_product_of(c, op).blocked);
    }
    return blocked                                               ? CG_EARLY_BLOCKED
           : p->distance > 1 || p->takes_source                  ? CG_EARLY_SOURCES
           : p->no_room                                          ? CG_EARLY_NO_ROOM
           : has_loops                                           ? CG_EARLY_NESTS
           : multiplies && !is_operand(&load->results[0], STEPS) ? CG_EARLY_BESIDE
           : !multiplies && p->access >= WIDE                    ? CG_EARLY_WIDE
                                                                 : CG_EARLY_SHORT;
}

/* log2 of the elements of its accesses; where some are shorter, of those. */
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

/* Words that hold several elements are taken apart as soon as they are there, which would be awaited: but pairs of 2
   bytes, as a loop carries them. */
static const char *set_access(cg_func *c, ct_op *load, plan *p)
{
    const bc_type *tile = load->results[0].type;
    bc_kind kind = bc_elem_kind(tile);
    uint32_t inside, edge, bytes = cg_memory_bytes(kind);
    if (kind == BC_PTR || !bc_kind_memory_bytes(kind))
        return "no register would be one of its elements";
    find_accesses(c, load, &inside, &edge);
    p->access = bytes << inside;
    p->apart = bytes == 2 && inside == 0;
    p->registers = registers_of(c, tile, p->apart);
    bool in_words = (bytes == 1 && inside) || (bytes == 2 && edge < inside);
    return in_words ? "words of several elements would have to be taken apart" : NULL;
}

/* Do all iterations end where the body does? */
static bool ends_once(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == OP_continue && op->block != body && ct_loop_around(op) == body->parent)
            return false;
    return true;
}

/* Of its place in the loop; NULL: none. */
static const char *place_obstacle(cg_func *c, const ct_block *body, const ct_op *load, plan *p)
{
    enum { MOST_CARRIED = 4096 };
    if (!ends_once(body))
        return "iterations end in several places";
    if (body->arg_count > MOST_CARRIED)
        return "its loop carries too many values";
    return is_known_ahead(c, body, load, p) ? NULL : "what it takes is not known an iteration ahead";
}

/* NULL: it can be loaded so far ahead, as the plan says. */
static const char *obstacle(cg_func *c, const ct_op *loop, ct_op *load, plan *p)
{
    const ct_block *body = loop->regions[0];
    const char *why = place_obstacle(c, body, load, p);
    if (why)
        return why;
    if (cg_order_holds_back(c, body, load))
        return "something in the loop that it may have to come after";
    if ((why = set_access(c, load, p)))
        return why;
    const cg_early_row *row = cg_early_row_of(kind_of(c, body, load, p));
    return cg_iterations_of(loop) < row->iterations ? "there are too few iterations" : row->most ? NULL : row->why;
}

/* Else it is told already why it stays in its place. */
static bool may_move(const cg_func *c, const ct_op *loop, const ct_op *load)
{
    return loop->opcode == OP_for && load->block == loop->regions[0] && !c->strip_bits && !cg_loops_stay_plain(c)
           && cg_is_weak_access(load);
}

static void tell_why_not(const cg_func *c, const ct_op *load, const char *why, const char *either)
{
    cg_remark(c, load, CG_REMARK_NotPipelined, TV_REMARK_MISSED,
              "not loaded ahead: {Why=%s}; nor into registers: {Registers=%s}", why, either);
}

static plan *new_plan(cg_func *c, const char *why, uint32_t distance)
{
    plan *p = bc_new(&c->arena, plan, 1);
    if (p)
        *p = (plan){.why = why, .distance = distance};
    else
        cg_no_memory(c);
    return p;
}

/* The first load of the body that takes v, or what is made of it; NULL: none was found by looking at *budget uses. */
static ct_op *taker_of(const ct_value *v, uint32_t *budget)
{
    ct_op *found = NULL;
    for (const ct_use *use = v->uses; use && *budget && !found; use = use->next) {
        ct_op *op = use->op;
        --*budget;
        if (op->block == v->block && is_load(op))
            found = op;
        else if (op->block == v->block && cg_is_slice_op(op, true))
            found = taker_of(&op->results[0], budget);
    }
    return found;
}

/* Does a load that can go an iteration ahead take what this one gives? */
static bool is_taken(cg_func *c, const ct_op *loop, const ct_op *load)
{
    uint32_t budget = 32;
    plan later = {.distance = 1};
    ct_op *taker = taker_of(&load->results[0], &budget);
    return taker && may_move(c, loop, taker) && !obstacle(c, loop, taker, &later);
}

bool cg_plan_source(cg_func *c, const ct_op *loop, ct_op *load)
{
    enum { LARGE = 8 /* registers */ };
    if (!bc_kind_in(bc_elem_kind(load->results[0].type), BC_SET_INT) || !may_move(c, loop, load))
        return false;
    plan *p = new_plan(c, "another load takes it as where to load from", 2);
    if (!p || obstacle(c, loop, load, p) || p->registers > LARGE)
        return false;
    load->detail = p;
    if (!is_taken(c, loop, load))
        load->detail = NULL;
    return load->detail;
}

void cg_plan_early(cg_func *c, const ct_op *loop, ct_op *load, const char *why, bool no_room)
{
    if (!may_move(c, loop, load)) {
        cg_remark_stays(c, load, why);
        return;
    }
    plan *p = cg_plan_source(c, loop, load) ? NULL : new_plan(c, why, 1);
    if (p)
        p->no_room = no_room;
    const char *either = p ? obstacle(c, loop, load, p) : NULL;
    if (p && !either)
        load->detail = p;
    else if (p && strcmp(why, either) == 0)
        cg_remark_stays(c, load, why);
    else if (p)
        tell_why_not(c, load, why, either);
}

/* ---- loads of another iteration ---- */

typedef struct early {
    cg_func *c;
    ct_func *f;
    ct_op *loop, **loads;
    ct_block *body;
    uint32_t count, results; /* loads; all that they give */
    uint32_t distance;       /* iterations */
} early;

/* v as it is in the iteration of the map, in front of `place`: what is not in the map yet is made, carried values from
   what this iteration hands on, of which `now` knows what is made again. NULL: no memory. */
static ct_value *make(const early *x, ct_map *map, ct_map *now, ct_value *v, ct_op *place)
{
    ct_value *to = v->id < map->count ? map->to[v->id] : NULL;
    if (to || !ct_is_inside(v->block, x->body))
        return to ? to : v;
    if (v->type->kind == BC_TOKEN) {
        ct_op *token = ct_token_new(x->f, x->loads[0], v->type);
        if (token)
            ct_insert_before(token, place);
        to = token ? &token->results[0] : NULL;
    } else if (!v->op)
        to = now ? make(x, now, NULL, x->body->last->operands[v->number - 1], place) : v;
    else {
        for (uint32_t i = 0; i < v->op->operand_count; i++)
            if (!make(x, map, now, v->op->operands[i], place))
                return NULL;
        ct_op *op = ct_clone(x->f, v->op, map);
        if (op)
            ct_insert_before(op, place);
        return op ? map->to[v->id] : NULL;
    }
    if (to)
        ct_map_set(map, v, to);
    return to;
}

static ct_op *new_yield(const early *x, ct_block *block)
{
    ct_op *op = ct_op_like(x->f, OP_yield, x->loop, x->results, 0, 0);
    if (op)
        ct_append(block, op);
    return op;
}

/* All loads, as the map has what they take. */
static bool put_loads(const early *x, ct_block *block, ct_map *map, ct_map *now)
{
    ct_op *yield = new_yield(x, block);
    uint32_t next = 0;
    for (uint32_t l = 0; l < x->count && yield; l++) {
        for (uint32_t i = 0; i < x->loads[l]->operand_count; i++)
            if (!make(x, map, now, x->loads[l]->operands[i], yield))
                return false;
        ct_op *op = ct_clone(x->f, x->loads[l], map);
        if (!op)
            return false;
        op->detail = NULL;
        ct_insert_before(op, yield);
        for (uint32_t i = 0; i < op->result_count; i++)
            ct_set_operand(yield, next++, &op->results[i]);
    }
    return yield != NULL;
}

/* What nobody reads. */
static bool put_nothing(const early *x, ct_block *block)
{
    ct_op *yield = new_yield(x, block);
    uint32_t next = 0;
    for (uint32_t l = 0; l < x->count && yield; l++)
        for (uint32_t i = 0; i < x->loads[l]->result_count; i++) {
            const ct_value *v = &x->loads[l]->results[i];
            ct_op *op = v->type->kind == BC_TOKEN ? ct_token_new(x->f, x->loads[l], v->type)
                                                  : ct_constant_new(x->f, x->loads[l], v->type, 0);
            if (!op)
                return false;
            op->results[0].fact = v->fact;
            ct_insert_before(op, yield);
            ct_set_operand(yield, next++, &op->results[0]);
        }
    return yield != NULL;
}

static void be_like(ct_value *to, const ct_value *from, bool apart)
{
    to->type = from->type;
    to->fact = from->fact;
    to->view = from->view;
    to->apart = apart;
}

/* The same of what the loads give, one after the other. */
static void be_like_loads(const early *x, ct_value *to)
{
    for (uint32_t l = 0; l < x->count; l++)
        for (uint32_t i = 0; i < x->loads[l]->result_count; i++)
            be_like(to++, &x->loads[l]->results[i], ((const plan *)x->loads[l]->detail)->apart);
}

/* The loads for the iteration n after the one of `start`, in front of `place`, if there is one. carried: what the loop
   hands on, at that start; NULL: what the iteration at hand does. Gives the op with their results; NULL: no memory. */
static ct_op *put_branch(const early *x, ct_value *start, uint32_t n, ct_value *const *carried, ct_op *place)
{
    ct_map map, now;
    ct_op *later = cg_later_new(x->c, x->loop, start, n), *op = ct_op_like(x->f, OP_if, x->loop, 1, x->results, 2);
    ct_block *blocks[2] = {ct_block_new(x->f, 0), ct_block_new(x->f, 0)};
    if (!later || !op || !blocks[0] || !blocks[1] || !ct_map_new(x->f, &map) || !ct_map_new(x->f, &now))
        return NULL;
    ct_map_set(&map, &x->body->args[0], &later->results[0]);
    for (uint32_t i = 1; carried && i < x->body->arg_count; i++)
        ct_map_set(&map, &x->body->args[i], carried[i - 1]);
    ct_insert_before(later, place);
    ct_insert_before(op, place);
    ct_set_operand(op, 0, &later->results[1]);
    for (uint32_t i = 0; i < 2; i++) {
        op->regions[i] = blocks[i];
        blocks[i]->parent = op;
    }
    be_like_loads(x, op->results);
    return put_loads(x, blocks[0], &map, carried ? NULL : &now) && put_nothing(x, blocks[1]) ? op : NULL;
}

/* ---- the loop ---- */

/* The loop, which carries what the loads give as well, first[n] of iteration n; NULL: no memory. */
static ct_op *put_loop(const early *x, ct_op *const *first)
{
    uint32_t had = x->body->arg_count - 1, at = ct_for_inits(x->loop).first, carried = had + x->distance * x->results;
    ct_op *loop = ct_op_like(x->f, OP_for, x->loop, at + carried, carried, 1);
    ct_block *block = ct_block_new(x->f, carried + 1);
    if (!loop || !block)
        return NULL;
    loop->detail = x->loop->detail;
    loop->regions[0] = block;
    be_like(&block->args[0], &x->body->args[0], false);
    for (uint32_t n = 0; n < x->distance; n++) {
        be_like_loads(x, &block->args[had + n * x->results + 1]);
        be_like_loads(x, &loop->results[had + n * x->results]);
    }
    for (uint32_t i = 0; i < had; i++) {
        be_like(&block->args[i + 1], &x->body->args[i + 1], x->body->args[i + 1].apart);
        be_like(&loop->results[i], &x->loop->results[i], x->loop->results[i].apart);
        ct_replace_uses(&x->loop->results[i], &loop->results[i]);
    }
    for (uint32_t i = 0; i < at + had; i++)
        ct_set_operand(loop, i, x->loop->operands[i]);
    for (uint32_t i = 0; i < x->distance * x->results; i++)
        ct_set_operand(loop, at + had + i, &first[i / x->results]->results[i % x->results]);
    ct_insert_before(loop, x->loop);
    for (uint32_t i = 0; i < x->body->arg_count; i++)
        ct_replace_uses(&x->body->args[i], &block->args[i]);
    ct_move_all(x->body, block, loop);
    ct_remove(x->loop);
    return loop;
}

/* What loads have taken, and nobody takes now. */
static void drop_unused(ct_block *body)
{
    for (ct_op *op = body->last, *before; op; op = before) {
        bool used = !ct_is_pure(op);
        before = op->prev;
        for (uint32_t i = 0; i < op->result_count; i++)
            used = used || op->results[i].uses;
        if (!used && op->result_count)
            ct_remove(op);
    }
}

/* Uses of the loads become uses of what the loop carries, from argument `at` on. */
static void take_carried(const early *x, ct_op *loop, uint32_t at)
{
    for (uint32_t l = 0; l < x->count; l++) {
        for (uint32_t i = 0; i < x->loads[l]->result_count; i++)
            ct_replace_uses(&x->loads[l]->results[i], &loop->regions[0]->args[at++]);
        ct_remove(x->loads[l]);
    }
    drop_unused(loop->regions[0]);
}

/* What an iteration hands on: what it carries for later ones, and what it has loaded. */
static bool hand_on(const early *x, ct_op *loop, uint32_t at, ct_op *loaded)
{
    uint32_t kept = (x->distance - 1) * x->results;
    ct_block *body = loop->regions[0];
    ct_value **next = bc_new(x->f->arena, ct_value *, kept + x->results);
    for (uint32_t i = 0; next && i < kept + x->results; i++)
        next[i] = i < kept ? &body->args[at + x->results + i] : &loaded->results[i - kept];
    return next && ct_add_operands(x->f, body->last, next, kept + x->results);
}

/* Gives the loop as it is then. */
static ct_op *rotate(const early *x)
{
    enum { MOST_DISTANCE = 2 };
    uint32_t inits = ct_for_inits(x->loop).first, had = x->body->arg_count;
    ct_op *first[MOST_DISTANCE], *later, *loop = NULL;
    bool made = true;
    for (uint32_t n = 0; n < x->distance; n++)
        made = made && (first[n] = put_branch(x, x->loop->operands[0], n, x->loop->operands + inits, x->loop));
    if (made && (later = put_branch(x, &x->body->args[0], x->distance, NULL, x->body->first)))
        loop = put_loop(x, first);
    if (!loop || !hand_on(x, loop, had, later)) {
        cg_no_memory(x->c);
        return x->loop;
    }
    take_carried(x, loop, had);
    return loop;
}

/* ---- which ---- */

/* What loads have taken of registers, and what other tiles do. */
typedef struct purse {
    uint32_t used, held;
} purse;

static bool pay(purse *w, const cg_early_row *row, const plan *p)
{
    uint32_t want = w->used + p->distance * p->registers;
    bool fits = want <= row->most && want + w->held <= row->all;
    w->used = fits ? want : w->used;
    return fits;
}

static void tell(const cg_func *c, const ct_op *load, const cg_early_row *row, const purse *w)
{
    const plan *p = load->detail;
    cg_remark(
        c, load, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
        "loaded ahead: {Iterations=%u} iterations, into {Registers=%u} of {Most=%u} registers beside {Held=%u} for "
        "other tiles, as {Why=%s}",
        p->distance, p->distance * p->registers, row->most, w->held, p->why);
}

/* Those that go so far ahead, as long as registers are left; all are told about. */
static void choose_loads(early *x, purse *w)
{
    for (ct_op *op = x->body->first; op; op = op->next) {
        plan *p = is_load(op) ? op->detail : NULL;
        if (!p || p->distance != x->distance)
            continue;
        const cg_early_row *row = cg_early_row_of(kind_of(x->c, x->body, op, p));
        const char *why = place_obstacle(x->c, x->body, op, p); /* groups or skew may have rewritten it */
        if (!why && pay(w, row, p)) {
            x->loads[x->count++] = op;
            x->results += op->result_count;
            tell(x->c, op, row, w);
        } else {
            tell_why_not(x->c, op, p->why, why ? why : row->why);
            op->detail = NULL;
        }
    }
}

static uint32_t planned_in(const ct_block *body)
{
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = op->next)
        count += is_load(op) && op->detail;
    return count;
}

ct_op *cg_load_early(cg_func *c, ct_op *loop)
{
    uint32_t planned = planned_in(loop->regions[0]);
    if (!planned)
        return loop;
    purse w = {.held = held_registers(c, loop->regions[0])};
    for (uint32_t distance = 2; distance > 0 && !c->failed; distance--) {
        early x = {.c = c, .f = c->ir, .loop = loop, .body = loop->regions[0], .distance = distance};
        x.loads = bc_new(&c->arena, ct_op *, planned);
        if (!x.loads) {
            cg_no_memory(c);
            return loop;
        }
        choose_loads(&x, &w);
        loop = x.count ? rotate(&x) : loop;
    }
    return loop;
}

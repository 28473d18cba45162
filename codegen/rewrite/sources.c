/* Loads the sources of a ring ahead of its copies: those of iteration i + n, where n is the number of iterations that
   copies run ahead, are started in iteration i - 1, and the loop carries them.

       for i = first to end step {              %e0 = load table[first]          // for each iteration up to the n-th
         %e = load table[i]                     copy %view[%e0] to ring
         %t = load %view[%e]              =>    ...
         ... uses of %t ...                     for i = first to end step, %e = %en {
       }                                          %j, %is = later i, end, step {n + 1}
                                                  %next = if %is { load table[%j]; yield } else { yield 0 }
                                                  copy %view[%e] to ring
                                                  ... uses of %t ...
                                                  continue %next
                                                }

   A source whose address depends on other sources is loaded after them, one iteration later for each level.

   Why it is right: codegen/rewrite/slice.c shows that a source reads the same value in any iteration before its own, or
   in front of the loop, and the condition is that of the loop, so that no load is executed that the kernel does not
   execute. */
#include "codegen/rewrite/sources.h"

#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/rewrite/iteration.h"
#include "codegen/rewrite/ring.h"
#include "codegen/tile/build.h"

typedef struct carrying {
    cg_func *c;
    ct_op *loop;
    ct_block *body;
    const cg_slice *slice;
    const cg_source_values *other;
    cg_source_values *to;
} carrying;

/* The iterations up to that one, counted from the current one, for which a source has values at the head of an
   iteration. */
static uint32_t last_of(const cg_ring *ring, const cg_source *s)
{
    return cg_ring_farthest(ring) + ring->slice.levels - s->level;
}

/* How many of them the loop carries. */
static uint32_t values_of(const cg_ring *ring, const cg_source *s)
{
    return last_of(ring, s) - cg_ring_nearest(ring) + 1;
}

/* The number of the source among those of the other ring, if the loop carries the same values of it for that one;
   otherwise UINT32_MAX. */
static uint32_t shared_with(const carrying *x, const cg_source *s)
{
    const cg_ring *ring = x->other ? x->other->ring : NULL;
    for (uint32_t i = 0; ring && i < ring->slice.source_count; i++) {
        const cg_source *there = &ring->slice.sources[i];
        if (there->load == s->load && last_of(ring, there) == last_of(x->to->ring, s)
            && cg_ring_nearest(ring) == cg_ring_nearest(x->to->ring))
            return i;
    }
    return UINT32_MAX;
}

/* ---- loads of another iteration ---- */

ct_value *cg_token_at(cg_func *c, ct_op *loop, const ct_op *load, const bc_type *type, ct_op *place)
{
    ct_block *body = loop->regions[0];
    bool inside = ct_is_inside(place->block, body);
    ct_value *token = NULL;
    ct_builder b = {c->ir, place, false};
    for (uint32_t i = 1; i < body->arg_count && !b.failed; i++) {
        ct_value *next = inside ? &body->args[i] : loop->operands[ct_first_carried(loop) + i - 1];
        if (next->type->kind != BC_TOKEN || next == token)
            continue;
        token = !token
                    ? next
                    : ct_build_op(&b, ct_made_new(c->ir, OP_join_tokens, loop, type, (ct_value *[]){token, next}, 2));
    }
    return token || b.failed ? token : ct_build_op(&b, ct_token_new(c->ir, load, type));
}

/* The value of v in the iteration that the map describes, in front of `place`; ops that the map does not have yet are
   copied. NULL: out of memory. */
static ct_value *make(const carrying *x, ct_map *map, ct_value *v, const ct_op *load, ct_op *place)
{
    ct_value *to = v->id < map->count ? map->to[v->id] : NULL;
    if (to || !ct_is_inside(v->block, x->body))
        return to ? to : v;
    if (v->type->kind == BC_TOKEN)
        to = cg_token_at(x->c, x->loop, load, v->type, place);
    else {
        for (uint32_t i = 0; i < v->op->operand_count; i++)
            if (!make(x, map, v->op->operands[i], load, place))
                return NULL;
        ct_op *op = ct_clone(x->c->ir, v->op, map);
        if (op)
            ct_insert_before(op, place);
        return op ? map->to[v->id] : NULL;
    }
    if (to)
        ct_map_set(map, v, to);
    return to;
}

static bool put_load(const carrying *x, ct_block *block, ct_map *map, ct_op *load)
{
    ct_value *result = &load->results[0];
    ct_op *yield = ct_yield_new(x->c->ir, block, x->loop, &result, 1);
    for (uint32_t i = 0; i < load->operand_count && yield; i++)
        if (!make(x, map, load->operands[i], load, yield))
            return false;
    ct_op *op = yield ? ct_clone(x->c->ir, load, map) : NULL;
    if (!op)
        return false;
    op->detail = NULL;
    ct_insert_before(op, yield);
    ct_set_operand(yield, 0, &op->results[0]);
    return true;
}

/* Inserts a value that is never read. */
static bool put_nothing(const carrying *x, ct_block *block, const ct_op *load)
{
    ct_op *nothing = ct_constant_new(x->c->ir, load, load->results[0].type, 0);
    ct_value *result = nothing ? &nothing->results[0] : NULL;
    ct_op *yield = result ? ct_yield_new(x->c->ir, block, x->loop, &result, 1) : NULL;
    if (!yield)
        return false;
    result->fact = load->results[0].fact;
    ct_insert_before(nothing, yield);
    return true;
}

/* Inserts, in front of `place`, the load of a source for the iteration n after the one of `start`, executed if that
   iteration exists. Returns its value; NULL: out of memory. */
static ct_value *put_source(const carrying *x, ct_op *load, ct_value *start, uint32_t n, ct_op *place)
{
    cg_iteration it;
    if (!cg_iteration_at(x->c, x->loop, start, n, place, &it))
        return NULL;
    ct_value *exists = it.exists;
    ct_op *op = ct_if_new(x->c->ir, x->loop, exists, 1);
    if (!op)
        return NULL;
    cg_map_sources(x->to, &it.map, n, ct_is_inside(place->block, x->body));
    ct_insert_before(op, place);
    ct_be_like(&op->results[0], &load->results[0]);
    bool made = put_load(x, op->regions[0], &it.map, load) && put_nothing(x, op->regions[1], load);
    return made ? &op->results[0] : NULL;
}

void cg_map_sources(const cg_source_values *s, ct_map *map, uint32_t n, bool inside)
{
    uint32_t nearest = s->ring ? cg_ring_nearest(s->ring) : 0;
    for (uint32_t i = 0; s->ring && i < s->ring->slice.source_count; i++) {
        const cg_source *source = &s->ring->slice.sources[i];
        if (n > last_of(s->ring, source) || (inside && n < nearest))
            continue;
        ct_value *v = inside ? &s->loop->regions[0]->args[s->carried[i] + n - nearest] : s->first[i][n];
        ct_map_set(map, &source->load->results[0], v);
    }
}

/* ---- the loop ---- */

/* Inserts the loads for the first iterations, the sources of each level after those that they depend on. */
static bool put_first(const carrying *x)
{
    const cg_ring *ring = x->to->ring;
    for (uint32_t level = 1; level <= x->slice->levels; level++)
        for (uint32_t i = 0; i < x->slice->source_count; i++) {
            const cg_source *s = &x->slice->sources[i];
            uint32_t last = last_of(ring, s);
            if (s->level != level || shared_with(x, s) != UINT32_MAX)
                continue;
            for (uint32_t n = 0; n <= last; n++)
                if (!(x->to->first[i][n] = put_source(x, s->load, x->loop->operands[0], n, x->loop)))
                    return false;
        }
    return true;
}

/* Creates the loop that also carries the values, and moves the body to it. NULL: out of memory. */
static ct_op *put_loop(carrying *x, uint32_t more)
{
    uint32_t had = x->body->arg_count - 1, at = ct_for_inits(x->loop).first;
    ct_op *loop = ct_for_like(x->c->ir, x->loop, more);
    if (!loop)
        return NULL;
    ct_block *block = loop->regions[0];
    loop->detail = x->loop->detail;
    for (uint32_t i = 0, k = had; i < x->slice->source_count; i++) {
        const cg_source *s = &x->slice->sources[i];
        if (shared_with(x, s) != UINT32_MAX)
            continue;
        x->to->carried[i] = k + 1;
        for (uint32_t n = 0; n < values_of(x->to->ring, s); n++, k++) {
            ct_be_like(&block->args[k + 1], &s->load->results[0]);
            ct_be_like(&loop->results[k], &s->load->results[0]);
            ct_set_operand(loop, at + k, x->to->first[i][cg_ring_nearest(x->to->ring) + n]);
        }
    }
    for (uint32_t i = 0; i < had; i++)
        ct_replace_uses(&x->loop->results[i], &loop->results[i]);
    ct_insert_before(loop, x->loop);
    for (uint32_t i = 0; i < x->body->arg_count; i++)
        ct_replace_uses(&x->body->args[i], &block->args[i]);
    ct_move_all(x->body, block, loop);
    ct_remove(x->loop);
    return loop;
}

/* Inserts the loads of later iterations at the head of the body, which passes their values on. */
static bool put_next(const carrying *x, ct_op *loop)
{
    const cg_ring *ring = x->to->ring;
    ct_block *body = loop->regions[0];
    ct_op *place = body->first;
    for (uint32_t i = 0; i < x->slice->source_count; i++) {
        const cg_source *s = &x->slice->sources[i];
        uint32_t kept = values_of(ring, s) - 1;
        if (shared_with(x, s) != UINT32_MAX)
            continue;
        ct_value *next = put_source(x, s->load, &body->args[0], last_of(ring, s) + 1, place);
        for (uint32_t n = 0; n <= kept; n++) {
            ct_value *v = n < kept ? &body->args[x->to->carried[i] + n + 1] : next;
            if (!v || !ct_add_operands(x->c->ir, body->last, &v, 1))
                return false;
        }
    }
    return true;
}

static bool begin(carrying *x)
{
    uint32_t count = x->slice->source_count;
    x->to->first = bc_new(&x->c->arena, ct_value **, count);
    x->to->carried = bc_new(&x->c->arena, uint32_t, count);
    if (!x->to->first || !x->to->carried)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const cg_source *s = &x->slice->sources[i];
        uint32_t there = shared_with(x, s);
        if (there != UINT32_MAX) {
            x->to->first[i] = x->other->first[there];
            x->to->carried[i] = x->other->carried[there];
        } else if (!(x->to->first[i] = bc_new(&x->c->arena, ct_value *, last_of(x->to->ring, s) + 1u)))
            return false;
    }
    return true;
}

static void tell(const carrying *x, const cg_source *s)
{
    cg_remark(x->c, s->load, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
              "loaded ahead: {Iterations=%u} iterations, into registers, because copies that run ahead need it for "
              "their addresses",
              last_of(x->to->ring, s) + 1);
}

/* The number of values that the loop does not carry yet. */
static uint32_t new_values(const carrying *x)
{
    uint32_t more = 0;
    for (uint32_t i = 0; i < x->slice->source_count; i++) {
        const cg_source *s = &x->slice->sources[i];
        if (shared_with(x, s) != UINT32_MAX)
            continue;
        more += values_of(x->to->ring, s);
        tell(x, s);
    }
    return more;
}

ct_op *cg_carry_sources(cg_func *c, ct_op *loop, const cg_ring *ring, const cg_source_values *other,
                        cg_source_values *out)
{
    carrying x = {.c = c, .loop = loop, .body = loop->regions[0], .slice = &ring->slice, .other = other, .to = out};
    *out = (cg_source_values){.ring = ring->slice.source_count ? ring : NULL, .loop = loop};
    if (!out->ring)
        return loop;
    bool begun = begin(&x);
    uint32_t more = begun ? new_values(&x) : 0;
    if (begun && !more)
        return loop;
    ct_op *made = begun && put_first(&x) ? put_loop(&x, more) : NULL;
    out->loop = x.loop = made;
    x.body = made ? made->regions[0] : NULL;
    if (!made || !put_next(&x, made)) {
        cg_no_memory(c);
        return NULL;
    }
    return made;
}

/* ---- what is left of them ---- */

/* Was the op not removed yet? Another ring may have the same source. */
static bool is_there(const ct_op *op)
{
    return (op->prev ? op->prev->next : op->block->first) == op;
}

/* Do the uses of v only identify tiles that the ring has? */
static bool only_identifies(const ct_value *v, const ct_block *body, uint32_t depth)
{
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_op *op = use->op;
        if (op->opcode == CT_staged)
            continue;
        if (depth == 0 || op->block != body || !cg_is_slice_op(op, true)
            || !only_identifies(&op->results[0], body, depth - 1))
            return false;
    }
    return true;
}

void cg_drop_sources(cg_func *c, ct_op *loop, const cg_ring *ring)
{
    for (uint32_t i = ring->slice.source_count; i-- > 0 && !c->failed;) {
        ct_op *load = ring->slice.sources[i].load;
        const ct_value *token = load->result_count > 1 ? &load->results[1] : NULL;
        if (!is_there(load) || (token && token->uses)
            || !only_identifies(&load->results[0], loop->regions[0], CG_SLICE_DEPTH))
            continue;
        ct_op *nothing = ct_constant_new(c->ir, load, load->results[0].type, 0);
        if (!nothing) {
            cg_no_memory(c);
            return;
        }
        nothing->results[0].fact = load->results[0].fact;
        ct_insert_before(nothing, load);
        ct_replace_uses(&load->results[0], &nothing->results[0]);
        ct_remove(load);
    }
}

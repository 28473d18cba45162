/* Allocates local memory for tiles that are kept from one loop over strips to another; see codegen/plan/strips.h.

   A tile has storage from the time it is written to its last read. A value that a loop or a branch passes on gets the
   storage of the value that it becomes, if that is no longer needed: then no move is necessary. A trip reads its
   elements from this storage before it overwrites them, in the same registers of the same strip. */
#include <stdlib.h>

#include "codegen/kernel/limits.h"
#include "codegen/ops/hooks.h"
#include "codegen/plan/strips.h"

enum { MAX_LOCAL = CG_LOCAL_BYTES - CG_LOCAL_FOR_SPILLS };

/* A tile that is kept. Times are twice the op's number for a read, and later for a write. */
typedef struct tile {
    struct tile *next;  /* with the same storage */
    struct tile *place; /* the first tile of that storage */
    const ct_value *v;
    uint32_t from, to;
    uint32_t first, last; /* of the first one: the times between which the storage is in use */
    uint32_t at, bytes;
} tile;

typedef struct placing {
    cg_func *c;
    cg_lives lives;
    tile *tiles, **of; /* in the order of their definitions; by value id */
    uint32_t count;
} placing;

/* ---- tiles that are kept ---- */

/* The tile lives at least from op `first` to op `last`. */
static void add(placing *x, const ct_value *v, uint32_t from, uint32_t first, uint32_t last)
{
    uint32_t to = x->lives.last[v->id], any = x->lives.any[ct_unconverted(v)->id];
    tile *t = &x->tiles[x->count++];
    to = 2 * (any > to ? any : to);
    *t = (tile){.place = t, .v = v, .from = from, .to = to > from ? to : from, .bytes = cg_strip_bytes(x->c, v)};
    t->first = first;
    t->last = t->to / 2 > last ? t->to / 2 : last;
    x->of[v->id] = t;
}

static void add_all(placing *x, const ct_value *values, uint32_t count, uint32_t from, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (cg_strip_is_kept(x->c, &values[i]))
            add(x, &values[i], from, number, x->lives.end[number]);
}

/* The time at which a loop over strips writes its result. A tile that is the same in several strips is written in
   each of them, so that no other tile may use that storage during the loop. */
static uint32_t time_of_keep(cg_func *c, const ct_value *result, uint32_t end)
{
    return 2 * end + (cg_strip_mask(c, cg_value_of(c, result)->home) == cg_all_strips(c));
}

/* Tiles are written at the end of a trip; by an op outside of loops, which may alternate between reads and writes;
   or before the first and after the last iteration of a loop. */
static void add_of_op(placing *x, uint32_t number)
{
    const ct_op *op = x->lives.ops[number], *around = op->block->parent;
    uint32_t end = x->lives.end[number];
    if (op->opcode == CT_strips) {
        for (uint32_t i = 0; i < op->result_count; i++)
            if (cg_strips_keep(x->c, &op->results[i]))
                add(x, &op->results[i], time_of_keep(x->c, &op->results[i], end), end, end);
    } else if (ct_is_loop(op)) {
        add_all(x, op->regions[0]->args, op->regions[0]->arg_count, 2 * number + 1, number);
        add_all(x, op->results, op->result_count, 2 * end + 1, number);
    } else if (!around || around->opcode != CT_strips) {
        add_all(x, op->results, op->result_count, op->opcode == OP_if ? 2 * end + 1 : 2 * number, number);
    }
}

/* ---- sharing storage ---- */

/* Do the elements have the same size and, by strip and register, the same positions? */
static bool lie_alike(cg_func *c, const tile *a, const tile *b)
{
    return cg_value_of(c, a->v)->home == cg_value_of(c, b->v)->home
           && cg_memory_bytes(bc_elem_kind(a->v->type)) == cg_memory_bytes(bc_elem_kind(b->v->type));
}

static bool may_share(const tile *a, const tile *b)
{
    for (const tile *s = a->place; s; s = s->next)
        for (const tile *t = b->place; t; t = t->next)
            if (s->from <= t->to && t->from <= s->to)
                return false;
    return true;
}

static void share(tile *a, tile *b)
{
    tile *to = a->place, *from = b->place, *last = to;
    while (last->next)
        last = last->next;
    last->next = from;
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
    for (tile *t = from; t; t = t->next)
        t->place = to;
}

/* values[i] become targets[i]. */
static void share_all(placing *x, ct_value *const *values, const ct_value *targets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tile *a = x->of[targets[i].id], *b = x->of[values[i]->id];
        if (a && b && a->place != b->place && lie_alike(x->c, a, b) && may_share(a, b))
            share(a, b);
    }
}

/* A carried value and the result of its `for` always share storage. */
static void share_results(placing *x, const ct_op *op)
{
    for (uint32_t i = 0; op->opcode == OP_for && i < op->result_count; i++) {
        tile *arg = x->of[op->regions[0]->args[i + 1].id], *result = x->of[op->results[i].id];
        if (arg && result)
            share(arg, result);
    }
}

/* Shares the storage of tiles that a loop over strips keeps with that of tiles that it reads for the last time. */
static void share_in_loop(placing *x, const ct_op *loop)
{
    for (const ct_op *op = loop->regions[0]->first; op->opcode != CT_keep; op = op->next)
        for (uint32_t i = 0; i < op->operand_count; i++)
            for (uint32_t k = 0; x->of[op->operands[i]->id] && k < loop->result_count; k++)
                share_all(x, &(ct_value *){&loop->results[k]}, op->operands[i], 1);
}

static void share_of_op(placing *x, const ct_op *op)
{
    uint32_t count;
    if (op->opcode == CT_strips)
        share_in_loop(x, op);
    const ct_value *targets = op->opcode == CT_keep ? NULL : ct_targets(op, &count);
    if (targets)
        share_all(x, op->operands, targets, count);
    if (!ct_is_loop(op))
        return;
    uint32_t first = ct_first_carried(op), is_for = op->opcode == OP_for;
    share_all(x, op->operands + first, op->regions[0]->args + is_for, op->operand_count - first);
}

/* ---- addresses ---- */

static int compare_first(const void *a, const void *b)
{
    const tile *s = *(tile *const *)a, *t = *(tile *const *)b;
    return s->first != t->first ? (s->first > t->first) - (s->first < t->first) : (s > t) - (s < t);
}

/* Gives the tile the lowest address that is free at that time. taken: tiles in the order of their addresses. */
static void place(cg_func *c, tile *t, tile **taken, uint32_t *count)
{
    uint32_t kept = 0, at = 0, i = 0;
    for (uint32_t k = 0; k < *count; k++)
        if (taken[k]->last >= t->first)
            taken[kept++] = taken[k];
    while (i < kept && taken[i]->at - at < t->bytes) {
        at = taken[i]->at + taken[i]->bytes;
        i++;
    }
    for (uint32_t k = kept; k > i; k--)
        taken[k] = taken[k - 1];
    taken[i] = t;
    *count = kept + 1;
    t->at = at;
    if (t->bytes > MAX_LOCAL || at > MAX_LOCAL - t->bytes)
        cg_unsupported(c, ct_maker_of(t->v),
                       "tiles that are live at the same time need more than %d KiB of local memory per thread",
                       MAX_LOCAL / 1024);
    else if (at + t->bytes > c->local_bytes)
        c->local_bytes = at + t->bytes;
}

static void place_all(placing *x)
{
    tile **places = bc_new(&x->c->arena, tile *, x->count + 1u), **taken = bc_new(&x->c->arena, tile *, x->count + 1u);
    uint32_t count = 0, now = 0;
    if (!places || !taken)
        return;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->tiles[i].place == &x->tiles[i])
            places[count++] = &x->tiles[i];
    qsort(places, count, sizeof *places, compare_first);
    for (uint32_t i = 0; i < count && !x->c->failed; i++)
        place(x->c, places[i], taken, &now);
    for (uint32_t i = 0; i < x->count && !x->c->failed; i++)
        cg_strip_home(x->c, x->tiles[i].v)->local = x->tiles[i].place->at + 1;
}

void cg_strips_place(cg_func *c)
{
    placing x = {.c = c};
    if (cg_lives_find(c, &x.lives)) {
        x.tiles = bc_new(&c->arena, tile, c->ir->value_count + 1u);
        x.of = bc_new(&c->arena, tile *, c->ir->value_count + 1u);
    }
    if (!x.tiles || !x.of)
        return;
    for (uint32_t number = 1; number <= x.lives.count; number++)
        add_of_op(&x, number);
    for (uint32_t number = 1; number <= x.lives.count; number++)
        share_results(&x, x.lives.ops[number]);
    for (uint32_t number = 1; number <= x.lives.count; number++)
        share_of_op(&x, x.lives.ops[number]);
    place_all(&x);
}

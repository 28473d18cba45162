/* Decides which tiles are loaded, and which maps are computed, in the layout in which they are read, once the first
   walk of the layouts pass has found out which that is. The next walk takes the decisions from `cg_homes.decided`.

   Loads through views that are needed in only one other layout are done in that layout if accesses are as wide there
   and fill their sectors too. Tiles of up to 8 KB only have to fill sectors, because the barriers of a conversion
   through shared memory have the same cost however small the tile is. If maps would be computed in one layout and their
   result is needed in another one only, they are computed there, if their operands can be loaded there or are there:
   sums to which a product is added, and tiles that are stored with longer elements than they are loaded with. A map
   whose operands can be computed in any layout is computed in the layout in which its result is read.

   A small row that is loaded through pointers gets the layout in which it is read, even if several warps load the same
   elements. Why it is right: the loads are weak, so no thread may store to these elements between them. The maps of
   such a row are computed there, too, by all threads that read their results, if that takes fewer instructions than to
   exchange these through shared memory. */
#include "codegen/plan/homes.h"

#include "codegen/access/pointers.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/view.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/limits.h"
#include "codegen/values/excerpts.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* ---- loads ---- */

/* The value to which v is passed on, if that is its only use. NULL: it has none, or several. */
static const ct_value *handed_on(const ct_value *v)
{
    const ct_use *use = v->uses;
    uint32_t count;
    if (!use || use->next)
        return NULL;
    const ct_value *targets = ct_targets(use->op, &count);
    uint32_t first = use->op->opcode == OP_for ? ct_first_carried(use->op) : UINT32_MAX;
    return targets               ? &targets[use->index]
           : use->index >= first ? &use->op->regions[0]->args[use->index - first + 1]
                                 : NULL;
}

/* The carried value, if the tile is only loaded to initialise it, in a branch that tests whether there is an
   iteration (codegen/passes/early.c); otherwise the tile. */
static const ct_value *carried_as(const ct_value *tile)
{
    const ct_value *loaded = tile->uses && tile->uses->op->opcode == OP_yield ? handed_on(tile) : NULL,
                   *carried = loaded ? handed_on(loaded) : NULL;
    return carried && !carried->op ? carried : tile;
}

/* Do all blocks read the same tile, so that it comes from a cache? */
static bool is_same_for_all(const cg_view_op *v)
{
    bool same = true;
    for (uint32_t t = 0; t < v->index_count; t++)
        same = same && v->index[t]->type->rank == 0 && v->index[t]->fact->constant;
    return same;
}

/* If all excerpts of a small tile are read in one layout, the tile is loaded in that layout, even if memory accesses
   are less efficient: with a few times as many registers, but no more accesses for each. That cost grows with the
   tile, while a conversion through shared memory always has its barriers. */
static void decide_for_excerpts(cg_func *c, const ct_op *op)
{
    const ct_value *tile = cg_result(op, 0);
    const cg_layout *home = cg_value_of(c, tile)->home;
    cg_view_op v = cg_view_op_of(op);
    cg_layout l;
    if (cg_memory_bytes(bc_elem_kind(tile->type)) << home->tile_bits <= cg_bytes_in_barriers(c, 1) && !c->strip_bits
        && cg_is_weak_access(op) && is_same_for_all(&v) && cg_layout_of_excerpts(c, tile, &l)
        && l.reg_bits <= home->reg_bits + CG_FEW_ACCESSES_BITS
        && cg_view_access_bits(c, &v, &l) >= cg_view_access_bits(c, &v, home))
        c->homes->decided[tile->id] = cg_intern(c, &l);
}

/* Does loading a small tile in this layout fill whole sectors, though with narrower accesses? Or does a tile with no
   more elements than threads take few accesses? A conversion through shared memory, with its barriers, would take
   longer. */
static bool comes_at_once(cg_func *c, const ct_value *tile, const cg_view_op *v, const cg_layout *l)
{
    if (l->tile_bits <= CG_LANE_BITS + c->warp_bits && l->reg_bits <= CG_FEW_ACCESSES_BITS && !cg_view_is_half(v))
        return true;
    return cg_memory_bytes(bc_elem_kind(tile->type)) << l->tile_bits <= cg_bytes_in_barriers(c, 2)
           && cg_view_fills_sectors(c, v, l);
}

/* Through pointers, a thread needs no more accesses than in the tile's own layout. If several warps read the same
   elements of a small tile, these come from a cache. */
static bool comes_by_as_many(cg_func *c, const ct_op *load, const cg_ptr_op *p, const cg_layout *l)
{
    const ct_value *tile = cg_result(load, 0);
    bool fills, filled;
    if (cg_layout_has_replicas(l)
        && cg_memory_bytes(bc_elem_kind(tile->type)) << l->tile_bits > cg_bytes_in_barriers(c, 2))
        return false;
    uint32_t most = cg_pointer_accesses(c, p, cg_value_of(c, tile)->home, &filled);
    return most < UINT32_MAX && cg_pointer_accesses(c, p, l, &fills) <= most && fills;
}

/* Can the tile be loaded in the layout in which it is read as efficiently as in its own? */
static bool comes_as_well(cg_func *c, const ct_op *load, const cg_layout *l)
{
    if (load->opcode == OP_load_ptr_tko) {
        cg_ptr_op p = cg_ptr_op_of(load);
        return !c->strip_bits && (cg_pointers_go_as_well(c, &p, l) || comes_by_as_many(c, load, &p, l));
    }
    cg_view_op v = cg_view_op_of(load);
    return cg_view_reads_sectors(c, &v, l)
           || (!c->strip_bits && (cg_view_loads_as_well(c, &v, l) || comes_at_once(c, v.tile, &v, l)));
}

/* After the first walk: a tile that is read in one layout only is loaded in that layout, if accesses are as
   efficient, or if it is read from a slot of shared memory. */
static void decide_loads(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        bool from_slot = op->opcode == CT_staged && cg_is_read_by_threads(op->detail);
        if (!ct_is_load(op) && !from_slot)
            continue;
        const ct_value *tile = cg_result(op, 0);
        if (cg_value_of(c, tile)->form == CG_LAZY)
            continue; /* it is loaded in every layout in which it is read */
        const cg_layout *only = cg_only_wanted(cg_value_of(c, carried_as(tile))), *home = cg_value_of(c, tile)->home;
        if (only && only != home && (from_slot || (cg_is_weak_access(op) && comes_as_well(c, op, only))))
            c->homes->decided[tile->id] = only;
        else if ((!only || only == home) && op->opcode == OP_load_view_tko)
            decide_for_excerpts(c, op);
    }
}

/* ---- maps whose results are needed in another layout ---- */

static bool is_wanted_in(const cg_value *x, const cg_layout *l)
{
    const cg_variant *found = cg_find_copy(x, l);
    return found && found->wanted;
}

/* Do only maps that are to be computed in l read the tile? */
static bool is_read_in(const cg_func *c, const ct_value *v, const cg_layout *l)
{
    bool all = v->uses;
    for (const ct_use *use = v->uses; use && all; use = use->next)
        all = ct_is_map(use->op) && c->homes->decided[cg_result(use->op, 0)->id] == l;
    return all;
}

/* Could the tile, whose layout is now `from`, be loaded in l as well? */
static bool comes_along(cg_func *c, const ct_value *tile, const cg_layout *from, const cg_layout *l)
{
    const cg_value *x = cg_value_of(c, tile);
    return tile->op && tile->op->opcode == OP_load_view_tko && cg_is_weak_access(tile->op) && cg_only_wanted(x) == from
           && is_read_in(c, tile, l) && (x->home == l || comes_as_well(c, tile->op, l));
}

/* Maps that compute one result, the last first, all in the layout `from`, and the layout in which it is needed. */
typedef struct computation {
    const cg_layout *from, *to;
    const ct_op *maps[CG_BACK_OPS + 1];
    uint32_t count;
} computation;

/* Are the operands of the maps in the layout `to` already, or else loads that come along? Decides for the loads. */
static bool brings_operands(cg_func *c, const computation *x, bool decide)
{
    bool any = false;
    for (uint32_t m = 0; m < x->count; m++)
        for (uint32_t i = 0; i < x->maps[m]->operand_count; i++) {
            const ct_value *v = ct_operands(x->maps[m])[i];
            const cg_layout **decided = &c->homes->decided[v->id];
            bool comes = !*decided && comes_along(c, v, x->from, x->to);
            if (!comes && *decided != x->to && cg_value_of(c, v)->form != CG_LAZY
                && !is_wanted_in(cg_value_of(c, v), x->to))
                return false;
            *decided = comes && decide ? x->to : *decided;
            any = any || comes;
        }
    return any;
}

/* The maps of which only the result of the last one is needed. They are decided for `to`. */
static void decide_back(cg_func *c, const ct_op *last, computation *x)
{
    uint32_t left = CG_BACK_OPS;
    for (const ct_op *op = last; op && left; op = op->prev, left--) {
        const ct_value *v = ct_is_map(op) ? cg_result(op, 0) : NULL;
        const cg_value *value = v && v->type->rank ? cg_value_of(c, v) : NULL;
        if (op != last
            && (!value || value->form != CG_TILE || value->home != x->from || cg_only_wanted(value) != x->from
                || c->homes->decided[v->id] || !is_read_in(c, v, x->to)))
            continue;
        c->homes->decided[v->id] = x->to;
        x->maps[x->count++] = op;
    }
}

/* After the first walk: if a map's result is needed in one other layout only, it is computed there, with the maps that
   only it needs, if their operands can be loaded there as well or are there. */
static void decide_maps(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        const ct_value *v = ct_is_map(op) ? cg_result(op, 0) : NULL;
        const cg_value *value = v && v->type->rank ? cg_value_of(c, v) : NULL;
        computation x = {.from = value ? value->home : NULL,
                         .to = value && value->form == CG_TILE ? cg_only_wanted(value) : NULL};
        if (!x.to || x.to == x.from || c->homes->decided[v->id])
            continue;
        decide_back(c, op, &x);
        bool brings = brings_operands(c, &x, false) && brings_operands(c, &x, true);
        for (uint32_t m = 0; m < x.count && !brings; m++)
            c->homes->decided[cg_result(x.maps[m], 0)->id] = NULL;
    }
}

/* The layout in which all maps that read v are computed now. NULL: there is not exactly one. */
static const cg_layout *layout_of_readers(cg_func *c, const ct_value *v)
{
    const cg_layout *all = NULL;
    for (const ct_use *use = v->uses; use; use = use->next) {
        const cg_layout *l = ct_is_map(use->op) ? c->homes->decided[cg_result(use->op, 0)->id] : NULL;
        if (!l || (all && l != all))
            return NULL;
        all = l;
    }
    return all;
}

/* A map whose operands can be computed in any layout is computed in the layout in which its result is read, if
   threads then have no more elements. The walk goes from the last op to the first, so that users come before their
   operands. */
static void decide_free_maps(cg_func *c, const ct_block *block)
{
    for (const ct_op *op = block->last; op; op = op->prev) {
        for (uint32_t r = 0; r < op->region_count; r++)
            if (ct_regions(op)[r])
                decide_free_maps(c, ct_regions(op)[r]);
        const ct_value *v = ct_is_map(op) ? cg_result(op, 0) : NULL;
        const cg_value *x = v ? cg_value_of(c, v) : NULL;
        if (!x || x->form != CG_TILE || x->weight != CG_WEIGHT_FREE || c->homes->decided[v->id])
            continue;
        const cg_layout *only = cg_only_wanted(x), *best = only == x->home ? layout_of_readers(c, v) : only;
        if (best && best->reg_bits <= x->home->reg_bits)
            c->homes->decided[v->id] = best;
    }
}

void cg_decide_homes(cg_func *c)
{
    decide_loads(c);
    decide_maps(c);
    decide_free_maps(c, c->ir->body);
}

/* ---- maps of rows ---- */

/* Maps that all threads could compute in the layout in which their results are read, the last one first. */
typedef struct row_maps {
    const ct_op *ops[CG_BACK_OPS];
    uint32_t count;
} row_maps;

/* The layout in which all readers read the value that are no maps computed in its own layout, and in which these are
   to be computed. NULL: there is none. */
static const cg_layout *layout_beside_own(cg_func *c, const ct_value *v)
{
    const cg_value *x = cg_value_of(c, v);
    const cg_layout *l = NULL;
    for (const cg_variant *variant = x->variants; variant; variant = variant->next) {
        const bool other = variant->wanted && variant->layout != x->home;
        if (other && l)
            return NULL;
        l = other ? variant->layout : l;
    }
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_value *result = ct_is_map(use->op) ? cg_result(use->op, 0) : NULL;
        if (!result || cg_value_of(c, result)->form != CG_TILE || cg_value_of(c, result)->home != x->home)
            continue;
        const cg_layout *other = c->homes->decided[result->id];
        if (!other || (l && other != l))
            return NULL;
        l = other;
    }
    return l && l->reg_bits >= x->home->reg_bits ? l : NULL;
}

static void find_row_maps(cg_func *c, const ct_block *block, row_maps *x)
{
    for (const ct_op *op = block->last; op; op = op->prev) {
        for (uint32_t r = 0; r < op->region_count; r++)
            if (ct_regions(op)[r])
                find_row_maps(c, ct_regions(op)[r], x);
        const ct_value *v = ct_is_map(op) ? cg_result(op, 0) : NULL;
        if (!v || !v->type->rank || cg_value_of(c, v)->form != CG_TILE || c->homes->decided[v->id]
            || x->count == CG_BACK_OPS)
            continue;
        const cg_layout *l = layout_beside_own(c, v);
        if (l) {
            c->homes->decided[v->id] = l;
            x->ops[x->count++] = op;
        }
    }
}

/* The value whose elements it has, if no other op reads that. */
static const ct_value *reshaped_from(const ct_value *v)
{
    while (v->op && v->op->opcode == OP_reshape && v->op->operands[0]->uses && !v->op->operands[0]->uses->next)
        v = v->op->operands[0];
    return v;
}

/* Does a thread read the tile in accesses as long as in its own layout? */
static bool comes_as_long(cg_func *c, const ct_op *load, const cg_layout *l)
{
    if (load->opcode == OP_load_ptr_tko)
        return comes_as_well(c, load, l);
    const cg_view_op v = cg_view_op_of(load);
    return comes_as_well(c, load, l)
           && cg_view_access_bits(c, &v, l) >= cg_view_access_bits(c, &v, cg_value_of(c, v.tile)->home);
}

/* Can the operand be had in the layout? Decides for a load. */
static bool comes_in(cg_func *c, const ct_value *v, const cg_layout *l, bool decide)
{
    const ct_value *from = reshaped_from(v);
    const cg_layout **decided = &c->homes->decided[from->id];
    if (*decided || cg_value_of(c, from)->form == CG_LAZY)
        return !*decided || *decided == l;
    if (!from->op || !ct_is_load(from->op) || !cg_is_weak_access(from->op) || !comes_as_long(c, from->op, l))
        return false;
    *decided = decide ? l : NULL;
    return true;
}

/* Takes back decisions for maps that cannot be computed as decided, until there are none. */
static void drop_row_maps(cg_func *c, row_maps *x)
{
    for (uint32_t before = x->count + 1; x->count < before;) {
        before = x->count;
        x->count = 0;
        for (uint32_t m = 0; m < before; m++) {
            const ct_value *v = cg_result(x->ops[m], 0);
            const cg_layout **l = &c->homes->decided[v->id];
            bool can = layout_beside_own(c, v) == *l;
            for (uint32_t i = 0; i < x->ops[m]->operand_count && can; i++)
                can = comes_in(c, x->ops[m]->operands[i], *l, false);
            if (can)
                x->ops[x->count++] = x->ops[m];
            else
                *l = NULL;
        }
    }
}

/* Does it take fewer instructions to compute more elements in each thread than to exchange results? */
static bool saves_exchanges(cg_func *c, const row_maps *x)
{
    double instructions = 0, saved = 0;
    for (uint32_t m = 0; m < x->count; m++) {
        const cg_value *value = cg_value_of(c, cg_result(x->ops[m], 0));
        const cg_layout *l = c->homes->decided[cg_result(x->ops[m], 0)->id];
        const cg_variant *read = cg_find_copy(value, l);
        instructions += (double)cg_instructions_of(x->ops[m]) * ((1u << l->reg_bits) - (1u << value->home->reg_bits));
        saved += read && read->wanted ? cg_machine_of(c->target)->barrier : 0;
    }
    return instructions < saved;
}

bool cg_decide_row_maps(cg_func *c)
{
    row_maps x = {0};
    if (c->strip_bits || cg_has_products(c->ir->body))
        return false;
    find_row_maps(c, c->ir->body, &x);
    drop_row_maps(c, &x);
    const bool saves = saves_exchanges(c, &x);
    for (uint32_t m = 0; m < x.count; m++) {
        const cg_layout **l = &c->homes->decided[cg_result(x.ops[m], 0)->id];
        for (uint32_t i = 0; i < x.ops[m]->operand_count && saves; i++)
            comes_in(c, x.ops[m]->operands[i], *l, true);
        *l = saves ? *l : NULL;
    }
    return saves;
}

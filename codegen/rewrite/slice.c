/* Finds the ops of a loop's body that compute the indices, pointers and masks of its loads: they are repeated for the
   later iterations whose tiles are prefetched. They may depend on other loads, such as those of the entries of a page
   table: the sources of the slice, which run ahead into registers (codegen/passes/expand.c).

   Why it is right: a source is weak, every iteration executes it, and nothing in the loop writes or orders what it may
   have to follow (cg_order_holds_back), so that it reads the same values in front of the loop or iterations early. */
#include "codegen/analysis/order.h"
#include "codegen/kernel/limits.h"
#include "codegen/rewrite/ring.h"

typedef struct slicing {
    cg_func *c;
    cg_ring *ring;
    const ct_block *body;
    bool tiles;
} slicing;

static bool is_single(const bc_type *type)
{
    return bc_is_tile(type) && bc_shape_elems(type->shape, type->rank) == 1;
}

bool cg_is_slice_op(const ct_op *op, bool tiles)
{
    if (op->result_count != 1 || !bc_is_tile(op->results[0].type) || (op->results[0].type->rank && !tiles))
        return false;
    return ct_is_map(op) || op->opcode == OP_assume || (tiles && bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)));
}

/* Can each thread repeat the op by itself? Tiles of one element are like scalars. */
static bool is_repeated(const slicing *x, const ct_op *op)
{
    bool single = op->result_count == 1 && is_single(op->results[0].type);
    for (uint32_t i = 0; i < op->operand_count && single; i++)
        single = is_single(op->operands[i]->type);
    return cg_is_slice_op(op, x->tiles || single);
}

/* May the load run ahead, into few registers? Registers that pack several elements would have to be unpacked, which
   would wait for the load. */
static bool is_source(const slicing *x, const ct_op *op)
{
    enum { WORD = 4 };
    const bc_type *type = ct_is_load(op) ? op->results[0].type : NULL;
    if (!type || op->block != x->body || !bc_kind_in(bc_elem_kind(type), BC_SET_INT)
        || !ct_ends_in_one_place(x->body->parent))
        return false;
    uint32_t bytes = bc_kind_memory_bytes(bc_elem_kind(type));
    int64_t elements = bc_shape_elems(type->shape, type->rank);
    bool fits = elements == 1 ? bytes != 0
                              : x->tiles && bytes >= WORD
                                    && elements * (bytes / WORD) <= (int64_t)cg_threads(x->c) * CG_HELD_REGISTERS / 2;
    return fits && cg_is_weak_access(op) && !cg_order_holds_back(x->c, x->body, op);
}

static bool is_slice(const slicing *x, const ct_value *v, uint32_t depth)
{
    if (!v->op)
        return v->block != x->body || v == &x->body->args[0];
    if (!ct_is_inside(v->op->block, x->body) || x->ring->slice.has[v->id])
        return true;
    bool loads = ct_is_load(v->op);
    if (depth == 0 || v->op->block != x->body || !(loads ? is_source(x, v->op) : is_repeated(x, v->op)))
        return false;
    for (uint32_t i = 0; i < v->op->operand_count; i++) {
        const ct_value *operand = v->op->operands[i];
        bool is_view = operand->view && operand->type->kind != BC_TILE;
        if (is_view ? ct_is_inside(operand->block, x->body)
                    : operand->type->kind != BC_TOKEN && !is_slice(x, operand, depth - 1))
            return false;
    }
    x->ring->slice.has[v->id] = true;
    x->ring->slice.of_loads = x->ring->slice.of_loads || loads;
    return true;
}

/* Calls for the operands of a ring's load that address its tile, until one call gives false. */
typedef bool operand_fn(void *user, const ct_value *v);
static bool each_operand(const ct_op *load, operand_fn *call, void *user)
{
    if (load->from->opcode != OP_load_ptr_tko) {
        cg_view_op v = cg_view_op_of(load);
        for (uint32_t i = 0; i < v.index_count; i++)
            if (!call(user, v.index[i]))
                return false;
        return true;
    }
    cg_ptr_op p = cg_ptr_op_of(load);
    const ct_value *made[] = {p.pointers, p.mask, ct_operand(load, F_load_ptr_tko_padding_value)};
    for (size_t i = 0; i < TV_COUNT(made); i++)
        if (made[i] && !call(user, made[i]))
            return false;
    return true;
}

static bool takes(void *user, const ct_value *v)
{
    return is_slice(user, v, CG_SLICE_DEPTH);
}

const char *cg_ring_takes_pointers(cg_func *c, cg_ring *ring, const ct_block *body, const ct_op *op)
{
    slicing x = {.c = c, .ring = ring, .body = body, .tiles = true};
    return each_operand(op, takes, &x) ? NULL : "its pointers, mask or padding depend on more than the loop counter";
}

const char *cg_ring_takes_view(cg_func *c, cg_ring *ring, const ct_block *body, const ct_op *op)
{
    slicing x = {.c = c, .ring = ring, .body = body};
    const cg_view *tensor = cg_view_op_of(op).view->view;
    if (tensor->maker && ct_is_inside(tensor->maker->block, body))
        return "its view is made in the loop";
    return each_operand(op, takes, &x) ? NULL : "an index depends on more than the loop counter";
}

/* ---- the slice of the loads that are left ---- */

/* A walk over a slice that is known to be one. */
typedef struct walk {
    const ct_block *body;
    cg_slice *slice;
    bool of_source; /* it is the slice of a source */
    uint8_t *level; /* by value id: 1 + the level of the sources that it depends on; 0: not visited yet */
} walk;

static uint32_t level_of(walk *x, const ct_value *v);

static uint32_t level_of_operands(walk *x, const ct_op *op)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t level = op->operands[i]->type->kind == BC_TILE ? level_of(x, op->operands[i]) : 0;
        most = level > most ? level : most;
    }
    return most;
}

static uint32_t source_level(walk *x, ct_op *load)
{
    walk own = *x;
    own.of_source = true;
    uint32_t level = 1 + level_of_operands(&own, load);
    x->slice->sources[x->slice->source_count++] = (cg_source){load, level};
    x->slice->levels = level > x->slice->levels ? level : x->slice->levels;
    return level;
}

static uint32_t level_of(walk *x, const ct_value *v)
{
    if (!v->op || !ct_is_inside(v->block, x->body))
        return 0;
    bool loads = ct_is_load(v->op), marked = loads || x->of_source || x->slice->has[v->id];
    x->slice->has[v->id] = x->slice->has[v->id] || !(loads || x->of_source);
    if (x->level[v->id] && marked)
        return x->level[v->id] - 1u;
    uint32_t level = loads ? source_level(x, v->op) : level_of_operands(x, v->op);
    x->level[v->id] = (uint8_t)(level + 1);
    return level;
}

static bool walks(void *user, const ct_value *v)
{
    level_of(user, v);
    return true;
}

static uint32_t loads_in(const ct_block *body)
{
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = op->next)
        count += ct_is_load(op);
    return count;
}

void cg_ring_find_slice(cg_func *c, cg_ring *ring, const ct_block *body)
{
    cg_slice *slice = &ring->slice;
    if (!slice->of_loads)
        return;
    walk x = {.body = body, .slice = slice, .level = bc_new(&c->arena, uint8_t, c->ir->value_count + 1u)};
    slice->has = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    slice->sources = bc_new(&c->arena, cg_source, loads_in(body) + 1u);
    slice->source_count = slice->levels = 0;
    if (!x.level || !slice->has || !slice->sources)
        return;
    slice->known = c->ir->value_count;
    for (uint32_t i = 0; i < ring->load_count; i++)
        each_operand(ring->loads[i].op, walks, &x);
}

bool cg_is_source_of(const cg_ring *ring, const ct_op *load)
{
    bool found = false;
    for (uint32_t i = 0; i < ring->slice.source_count; i++)
        found = found || ring->slice.sources[i].load == load;
    return found;
}

/* ---- sources that are not needed ---- */

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
        if ((token && token->uses) || !only_identifies(&load->results[0], loop->regions[0], CG_SLICE_DEPTH))
            continue;
        ct_op *nothing = ct_constant_new(c->ir, load, load->results[0].type, 0);
        if (!nothing)
            return;
        nothing->results[0].fact = load->results[0].fact;
        ct_insert_before(nothing, load);
        ct_replace_uses(&load->results[0], &nothing->results[0]);
        ct_remove(load);
    }
}

/* ---- pointers ---- */

bool cg_is_list_of_rows(const cg_func *c, const ct_op *op)
{
    const bc_type *type = op->opcode == OP_load_view_tko ? op->results[0].type : NULL;
    return type && c->target->features & CG_HAS_TCGEN05 && bc_kind_in(bc_elem_kind(type), BC_SET_INT)
           && bc_kind_memory_bytes(bc_elem_kind(type)) && bc_shape_elems(type->shape, type->rank) <= CG_LISTED_ROWS
           && cg_view_op_of(op).view->type->kind != BC_GATHER_SCATTER_VIEW && cg_is_weak_access(op)
           && !cg_order_holds_back(c, c->ir->body, op);
}

/* Can each thread compute the value by itself: element by element from constants, scalars, positions and lists of rows?
   seen: by value id. */
static bool is_of_indices(const cg_func *c, const ct_value *v, bool *seen, uint32_t depth)
{
    if (!bc_is_tile(v->type) || !v->type->rank || seen[v->id])
        return true;
    if (v->op && !ct_loop_around(v->op) && cg_is_list_of_rows(c, v->op))
        return true;
    if (!v->op || depth == 0 || !cg_is_slice_op(v->op, true))
        return false;
    seen[v->id] = true;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!is_of_indices(c, v->op->operands[i], seen, depth - 1))
            return false;
    return true;
}

bool cg_are_of_indices(cg_func *c, const cg_ptr_op *p)
{
    bool *seen = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    return seen && is_of_indices(c, p->pointers, seen, CG_INDEX_DEPTH)
           && (!p->mask || is_of_indices(c, p->mask, seen, CG_INDEX_DEPTH));
}

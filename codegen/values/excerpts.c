/* Tiles that only extracts read. Reshapes keep the index, so they are skipped. */
#include "codegen/values/excerpts.h"

#include "bytecode/base/compiler.h"
#include "codegen/values/homes.h"

enum { DEEP = 4 }; /* nested reshapes */

typedef bool visit_fn(void *user, const ct_op *extract);

/* Calls visit for every extract. False: v has another use, or a call returned false. */
static bool each_extract(const ct_value *v, uint32_t deep, visit_fn *visit, void *user)
{
    bool all = v->uses != NULL;
    for (const ct_use *use = v->uses; use && all; use = use->next) {
        if (use->op->opcode == OP_reshape)
            all = deep && each_extract(&use->op->results[0], deep - 1, visit, user);
        else
            all = use->op->opcode == OP_extract && use->index == 0 && visit(user, use->op);
    }
    return all;
}

static uint32_t cut_of(const ct_op *extract)
{
    cg_shape small = cg_shape_of(extract->results[0].type), large = cg_shape_of(extract->operands[0]->type);
    return cg_excerpt_mask(&small, &large);
}

static bool add_cut(void *user, const ct_op *extract)
{
    uint32_t *cut = user, mask = cut_of(extract);
    bool same = !*cut || *cut == mask;
    *cut = mask;
    return same;
}

uint32_t cg_cut_bits(const ct_value *v)
{
    uint32_t cut = 0;
    return each_extract(v, DEEP, add_cut, &cut) ? cut : 0;
}

/* ---- layouts ---- */

/* l, whose images do not contain the bits of cut, with registers for these bits below its own. */
static cg_layout with_choices(const cg_layout *l, uint32_t cut)
{
    cg_layout r = *l;
    r.reg_bits = 0;
    for (uint32_t left = cut; left; left &= left - 1)
        r.reg[r.reg_bits++] = left & (~left + 1);
    for (uint32_t i = 0; i < l->reg_bits; i++)
        r.reg[r.reg_bits++] = l->reg[i];
    return r;
}

static uint32_t put_in_order(const uint32_t *images, uint32_t count, uint32_t cut, uint8_t *order, uint32_t at)
{
    for (uint32_t i = 0; i < count; i++)
        if (images[i] & ~cut)
            order[at++] = (uint8_t)tv_trailing_zeros(images[i]);
    return at;
}

cg_layout cg_layout_beside_cut(const cg_layout *l, uint32_t vector, uint32_t cut)
{
    uint8_t order[CG_MAX_TILE_BITS];
    uint32_t count = put_in_order(l->reg, vector, cut, order, 0);
    vector = count;
    count = put_in_order(l->lane, CG_LANE_BITS, cut, order, count);
    count = put_in_order(l->warp, l->warp_bits, cut, order, count);
    count = put_in_order(l->reg + vector, l->reg_bits - vector, cut, order, count);
    uint32_t threads = CG_LANE_BITS + l->warp_bits, spare = count > threads ? count - threads : 0;
    cg_layout r = cg_layout_ordered(order, count, vector < spare ? vector : spare, l->warp_bits);
    r.tile_bits = l->tile_bits;
    return with_choices(&r, cut);
}

typedef struct reading {
    cg_func *c;
    const cg_layout *only; /* the layout in which all of them are read */
    const ct_op *extract;  /* one of them */
} reading;

static bool add_reading(void *user, const ct_op *extract)
{
    reading *x = user;
    const cg_layout *only = cg_only_wanted(cg_value_of(x->c, &extract->results[0]));
    bool same = only && (!x->only || x->only == only);
    x->only = only;
    x->extract = extract;
    return same;
}

bool cg_layout_of_excerpts(cg_func *c, const ct_value *v, cg_layout *out)
{
    reading x = {.c = c};
    if (!each_extract(v, DEEP, add_reading, &x))
        return false;
    cg_shape small = cg_shape_of(x.extract->results[0].type), large = cg_shape_of(x.extract->operands[0]->type);
    uint32_t cut = cut_of(x.extract);
    cg_layout l = cg_layout_embed(x.only, &small, &large);
    if (l.reg_bits + cg_count_bits(cut) > CG_MAX_REG_BITS)
        return false;
    *out = with_choices(&l, cut);
    return true;
}

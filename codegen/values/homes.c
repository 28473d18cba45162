/* Chooses homes of values, and records the layouts in which they are read. Values that are cheap to compute have no
   home, and are computed in every layout in which they are read. */
#include "codegen/values/homes.h"

#include "codegen/values/values.h"

const cg_layout *cg_intern(cg_func *c, const cg_layout *l)
{
    static const cg_layout none; /* only after an error */
    const cg_layout *found = cg_layout_intern(&c->homes->layouts, &c->arena, l);
    return found ? found : &none;
}

cg_variant *cg_find_copy(const cg_value *x, const cg_layout *l)
{
    for (cg_variant *variant = x->variants; variant; variant = variant->next)
        if (variant->layout == l || cg_layout_equal(variant->layout, l))
            return variant;
    return NULL;
}

static void want_through(cg_func *c, const ct_value *v, const cg_layout *l);

static cg_variant *add_copy(cg_func *c, cg_value *x, const cg_layout *l)
{
    cg_variant *variant = bc_new(&c->arena, cg_variant, 1);
    if (!variant)
        return NULL;
    variant->layout = cg_intern(c, l);
    cg_variant **end = &x->variants;
    while (*end)
        end = &(*end)->next;
    return *end = variant;
}

/* Records for the convert pass that the current op reads v in this layout. */
static void note_read(cg_func *c, const ct_value *v, const cg_variant *variant)
{
    const ct_op *reader = c->homes->reader;
    uint32_t place = 1;
    for (const cg_variant *before = cg_value_of(c, v)->variants; before != variant; before = before->next)
        place++;
    for (uint32_t i = 0; reader && !c->homes->deciding && i < reader->operand_count; i++) {
        ct_use *use = &reader->uses[i];
        if (reader->operands[i] != v)
            continue;
        bool alone = (!use->read || use->read == place) && place < CT_READ_IN_SEVERAL;
        use->read = (uint16_t)(alone ? place : CT_READ_IN_SEVERAL);
    }
}

void cg_want(cg_func *c, const ct_value *v, const cg_layout *l)
{
    cg_value *x = cg_value_of(c, v);
    if (v->type->kind != BC_TILE)
        return;
    cg_variant *found = cg_find_copy(x, l), *variant = found ? found : add_copy(c, x, l);
    if (!variant)
        return;
    variant->wanted = true;
    note_read(c, v, variant);
    if (!found && x->form == CG_LAZY)
        want_through(c, v, l);
}

void cg_set_home(cg_func *c, const ct_value *v, const cg_layout *l, uint32_t weight)
{
    cg_value *x = cg_value_of(c, v);
    x->form = CG_TILE;
    x->home = cg_intern(c, l);
    x->weight = (uint8_t)weight;
    x->variants = NULL;
    add_copy(c, x, l);
}

void cg_set_scalars(cg_func *c, const ct_op *op)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    for (uint32_t i = 0; i < op->result_count; i++)
        cg_set_home(c, cg_result(op, i), &scalar, 0);
}

void cg_set_lazy(cg_func *c, const ct_value *v)
{
    cg_value *x = cg_value_of(c, v);
    *x = (cg_value){.form = CG_LAZY};
}

const cg_layout *cg_only_wanted(const cg_value *x)
{
    const cg_layout *only = NULL;
    for (const cg_variant *variant = x->variants; variant; variant = variant->next) {
        if (variant->wanted && only)
            return NULL;
        only = variant->wanted ? variant->layout : only;
    }
    return only;
}

bool cg_wish(cg_func *c, const ct_value *v, cg_layout *out_layout, uint32_t *out_weight)
{
    const cg_value *x = cg_value_of(c, v);
    if (!x->weight)
        return false;
    *out_layout = *x->home;
    *out_weight = x->weight;
    return true;
}

cg_layout cg_default_layout(cg_func *c, const bc_type *tile)
{
    cg_shape s = cg_shape_of(tile);
    uint32_t bytes = cg_class_bits(cg_elem_class(tile)) / 8, vector = bytes == 2 ? 3 : bytes == 8 ? 1 : 2;
    return cg_layout_blocked(&s, s.rank ? s.rank - 1 : 0, vector, c->warp_bits);
}

/* A lazy value is read in l: its operands are read in the layouts that follow from l. */
static void want_through(cg_func *c, const ct_value *v, const cg_layout *l)
{
    const ct_op *op = v->op, *reader = c->homes->reader;
    ct_value **operands = ct_operands(op);
    cg_layout from = *l;
    c->homes->reader = op;
    switch ((int)op->opcode) {
    case OP_constant:
    case OP_iota:
    case OP_load_view_tko: break;
    case OP_broadcast: {
        cg_shape source = cg_shape_of(operands[0]->type), result = cg_shape_of(v->type);
        from = cg_layout_unbroadcast(l, &source, &result);
        from = cg_layout_drop_replicas(&from, NULL);
        cg_want(c, operands[0], &from);
        break;
    }
    case OP_permute: {
        cg_shape source = cg_shape_of(operands[0]->type), result = cg_shape_of(v->type);
        from = cg_layout_unpermute(l, &source, &result, ct_attr_of(op, F_permute_permutation)->ints->ptr);
        cg_want(c, operands[0], &from);
        break;
    }
    default: /* reshape and maps: the same index */
        for (uint32_t i = 0; i < op->operand_count; i++)
            cg_want(c, operands[i], &from);
        break;
    }
    c->homes->reader = reader;
}

void cg_pass_wish(cg_func *c, const ct_op *op)
{
    const ct_value *from = ct_operands(op)[0], *v = cg_result(op, 0);
    cg_value *x = cg_value_of(c, v);
    uint32_t weight = 0;
    cg_layout l;
    cg_set_lazy(c, v);
    if (!cg_wish(c, from, &l, &weight))
        return;
    if (op->opcode == OP_permute) {
        cg_shape source = cg_shape_of(from->type), result = cg_shape_of(v->type);
        l = cg_layout_permute(&l, &source, &result, ct_attr_of(op, F_permute_permutation)->ints->ptr);
        if (from->op && ct_is_loop(from->op)
            && weight > CG_WEIGHT_MEMORY) /* the ops after the loop read it in no product */
            weight = CG_WEIGHT_MEMORY;
    }
    x->home = cg_intern(c, &l);
    x->weight = (uint8_t)weight;
}

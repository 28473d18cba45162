/* Values that are recomputed in every layout in which they are read. */
#include "codegen/analysis/product.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

static cg_val *lazy_broadcast(cg_func *c, const ct_op *op, const cg_layout *l)
{
    const ct_value *from = ct_operands(op)[0];
    cg_shape source = cg_shape_of(from->type), result = cg_shape_of(cg_result(op, 0)->type);
    cg_layout wide = cg_layout_unbroadcast(l, &source, &result);
    uint32_t kept;
    cg_layout narrow = cg_layout_drop_replicas(&wide, &kept);
    cg_val *have = cg_get(c, from, &narrow), *out = cg_vals(c, cg_layout_regs(l));
    for (uint32_t r = 0; have && out && r < cg_layout_regs(l); r++)
        out[r] = have[cg_gather_bits(r, kept)];
    return out;
}

/* A register's part is added to the thread's where they share no bit, because ptxas combines sums with what is added
   to them next. Not so beside products: that was not measured. */
static cg_val *lazy_iota(cg_func *c, const ct_op *op, const cg_layout *l)
{
    const bc_type *type = cg_result(op, 0)->type;
    bc_kind kind = bc_elem_kind(type);
    uint32_t mask = (uint32_t)(((uint64_t)1 << l->tile_bits) - 1), apart = ~cg_layout_thread_images(l);
    cg_val thread = cg_thread_index(c, l, mask, 0), *out = cg_vals(c, cg_layout_regs(l));
    apart = cg_has_products(c->ir->body) ? 0 : apart;
    for (uint32_t r = 0; out && r < cg_layout_regs(l); r++) {
        uint32_t part = cg_layout_reg(l, r);
        cg_val x = thread.known ? cg_const(CG_B32, thread.bits ^ part) : thread;
        if (part && !thread.known) {
            x = cg_new(c, CG_B32);
            cg_ins(c, part & ~apart ? "xor.b32 %v, %v, %x" : "add.s32 %v, %v, %x", x, thread, part);
        }
        out[r] = cg_from_u32(c, kind, x);
    }
    return out;
}

cg_val *cg_lazy_regs(cg_func *c, const ct_op *op, const cg_layout *l)
{
    ct_value **operands = ct_operands(op);
    switch ((int)op->opcode) {
    case OP_constant: return cg_constant_regs(c, op, l);
    case OP_iota: return lazy_iota(c, op, l);
    case OP_broadcast: return lazy_broadcast(c, op, l);
    case OP_load_view_tko: return cg_load_view_regs(c, op, l); /* of producers: a list of rows */
    case OP_reshape:
    case OP_assume: return cg_get(c, operands[0], l);
    case OP_permute: {
        cg_shape source = cg_shape_of(operands[0]->type), result = cg_shape_of(cg_result(op, 0)->type);
        cg_layout from = cg_layout_unpermute(l, &source, &result, ct_attr_of(op, F_permute_permutation)->ints->ptr);
        return cg_get(c, operands[0], &from);
    }
    default: return cg_map_regs(c, op, l);
    }
}

/* The values of constants. */
#include "bytecode/number/dense.h"
#include "codegen/tile/ir.h"

static bc_dense dense_of(const ct_op *constant)
{
    return bc_dense_of(&(bc_dense_cache){0}, constant->results[0].type, ct_attr_of(constant, F_constant_value)->blob);
}

bool ct_is_splat(const ct_op *constant)
{
    const bc_blob *blob = ct_attr_of(constant, F_constant_value)->blob;
    bc_dense d = dense_of(constant);
    return d.valid ? d.splat : blob->len == bc_kind_constant_bytes(bc_elem_kind(constant->results[0].type));
}

bool ct_is_one_number(const ct_op *constant)
{
    bc_kind kind = bc_elem_kind(constant->results[0].type);
    size_t once = kind == BC_I1 ? 1 : bc_kind_constant_bytes(kind);
    return ct_is_splat(constant) && ct_attr_of(constant, F_constant_value)->blob->len == once;
}

bool ct_constant_value(const ct_op *constant, int64_t *out_value)
{
    bc_dense d = dense_of(constant);
    if (!d.valid || !d.splat || !bc_kind_in(d.kind, BC_SET_INT))
        return false;
    unsigned unused = 64 - bc_kind_bits(d.kind);
    *out_value = (int64_t)(bc_dense_get(&d, 0) << unused) >> unused;
    return true;
}

bool ct_is_constant(const ct_value *v, int64_t *out_value)
{
    return v && v->op && v->op->opcode == OP_constant && ct_constant_value(v->op, out_value);
}

bool ct_is_zero(const ct_op *constant)
{
    const bc_blob *blob = ct_attr_of(constant, F_constant_value)->blob;
    for (size_t i = 0; i < blob->len; i++)
        if (blob->ptr[i])
            return false;
    return true;
}

bool ct_is_all_zero(const ct_value *v)
{
    while (v->op && bc_op_in(v->op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)))
        v = v->op->operands[0];
    return v->op && v->op->opcode == OP_constant && ct_is_zero(v->op);
}

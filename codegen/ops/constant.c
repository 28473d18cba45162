/* Constants: a splat is a known value; other elements are in a table in memory. Source: operation reference, section
   6. */
#include <stdio.h>
#include <string.h>

#include "codegen/ops/lowering.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"

/* ---- elements as in the file: ceil(bits / 8) bytes each, i1 as bits, tf32 as its upper 19 bits ---- */

static uint64_t element(const bc_blob *blob, bc_kind kind, uint64_t i)
{
    uint32_t bytes = bc_kind_constant_bytes(kind);
    uint64_t x = 0;
    if (kind == BC_I1)
        return blob->ptr[i / 8] >> i % 8 & 1;
    memcpy(&x, blob->ptr + i * bytes, bytes);
    return kind == BC_TF32 ? x << 13 : kind == BC_F4E2M1FN ? x & 15 : x;
}

/* ---- tables, one per op ---- */

typedef struct cg_tables {
    const ct_op *op;
    uint32_t number;
    struct cg_tables *next;
} cg_tables;

static const cg_tables *table_of(cg_func *c, const ct_op *op, bool *out_first)
{
    for (const cg_tables *t = c->lowering->tables; t; t = t->next)
        if (t->op == op)
            return t;
    cg_tables *t = bc_new(&c->arena, cg_tables, 1);
    if (!t)
        return NULL;
    *t = (cg_tables){op, c->lowering->tables ? c->lowering->tables->number + 1 : 0, c->lowering->tables};
    c->lowering->tables = t;
    *out_first = true;
    return t;
}

static void put_table(cg_func *c, const ct_op *op, const char *name)
{
    const bc_blob *blob = ct_attr_of(op, F_constant_value)->blob;
    bc_kind kind = bc_elem_kind(cg_result(op, 0)->type);
    uint32_t bytes = cg_memory_bytes(kind);
    uint64_t count = (uint64_t)1 << cg_shape_of(cg_result(op, 0)->type).tile_bits;
    bc_text *out = &c->emit->module_text;
    bc_text_printf(out, ".global .align 16 .b%u %s[%llu] = {", 8 * bytes, name, (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++)
        bc_text_printf(out, "%s0x%llx",
                       i == 0  ? "\n\t"
                       : i % 8 ? ", "
                               : ",\n\t",
                       (unsigned long long)element(blob, kind, i));
    bc_text_puts(out, "};\n\n");
}

static void read_table(cg_func *c, const ct_op *op, const cg_layout *l, cg_val *out)
{
    char name[64];
    bool first = false;
    const cg_tables *t = table_of(c, op, &first);
    if (!t)
        return;
    snprintf(name, sizeof name, "tv_constant_%zu_%u", (size_t)(c->f - c->m->functions), t->number);
    if (first)
        put_table(c, op, name);
    cg_val base = cg_new(c, CG_B64);
    cg_ins(c, "mov.u64 %v, %s", base, name);
    cg_flat_load(c, bc_elem_kind(cg_result(op, 0)->type), base, l, out);
}

cg_val *cg_constant_regs(cg_func *c, const ct_op *op, const cg_layout *l)
{
    const bc_blob *blob = ct_attr_of(op, F_constant_value)->blob;
    bc_kind kind = bc_elem_kind(cg_result(op, 0)->type);
    uint64_t elements = (uint64_t)1 << l->tile_bits;
    int64_t bit;
    cg_val *out = cg_vals(c, cg_layout_regs(l));
    if (!out)
        return NULL;
    if (!ct_is_splat(op) && elements > 1) {
        read_table(c, op, l, out);
        return out;
    }
    uint64_t x = kind == BC_I1 && ct_constant_value(op, &bit) ? bit != 0 : element(blob, kind, 0);
    for (uint32_t r = 0; r < cg_layout_regs(l); r++)
        out[r] = cg_const(cg_class_of(kind), x);
    return out;
}

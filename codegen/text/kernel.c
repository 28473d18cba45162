/* The text of a kernel around its ops: the signature, and the loads of its parameters. */
#include "codegen/text/kernel.h"

#include "codegen/analysis/encoding.h"
#include "codegen/analysis/tensor.h"
#include "codegen/kernel/groups.h"
#include "codegen/module/spell.h"
#include "codegen/plan/blocks_told.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

/* A byte for i1 and i4, whose upper bits are ignored. */
static const char *param_type(bc_kind kind)
{
    static const char *const by_bytes[] = {[1] = "u8", [2] = "b16", [4] = "b32", [8] = "b64"};
    return by_bytes[cg_memory_bytes(kind)];
}

void cg_load_params(cg_func *c)
{
    const ct_block *body = c->ir->body;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        bc_kind kind = bc_elem_kind(body->args[i].type);
        cg_val raw = cg_new(c, kind == BC_I1 ? CG_B32 : cg_class_of(kind)), value = raw;
        cg_ins_first(c, "ld.param.%s %v, [%s_%u]", param_type(kind), raw, "tv_param", i);
        if (kind == BC_I1 || kind == BC_I4) {
            value = cg_new(c, CG_B32);
            cg_ins_first(c, "and.b32 %v, %v, %u", value, raw, kind == BC_I1 ? 1u : 15u);
        }
        if (kind == BC_I1) {
            cg_val bit = value;
            value = cg_new(c, CG_PRED);
            cg_ins_first(c, "setp.ne.u32 %v, %v, 0", value, bit);
        }
        cg_val *regs = cg_vals(c, 1);
        if (!regs)
            return;
        regs[0] = value;
        cg_set(c, &body->args[i], regs);
    }
}

/* The limits for ptxas: registers per thread, or the number of blocks that a multiprocessor must have room for. */
static void put_blocks(cg_func *c, bc_text *out)
{
    const uint32_t most = (uint32_t)c->target->threads / cg_all_threads(c), blocks = cg_blocks_told(c);
    if (c->groups && c->groups->launched)
        bc_text_printf(out, ".maxnreg %u\n", c->groups->launched);
    else if (blocks)
        bc_text_printf(out, ".minnctapersm %u\n", blocks < most ? blocks : most);
}

static void put_signature(cg_func *c, bc_text *out)
{
    bc_text_puts(out, ".visible .entry ");
    cg_put_kernel_name(out, c->f->name->s);
    bc_text_puts(out, "(");
    for (uint32_t i = 0; i < c->ir->body->arg_count; i++)
        bc_text_printf(out, "%s\n\t.param .%s tv_param_%u", i ? "," : "",
                       param_type(bc_elem_kind(c->ir->body->args[i].type)), i);
    bc_text_printf(out, "\n)\n.reqntid %u, 1, 1\n", cg_all_threads(c));
    if (c->cluster) {
        cg_need_ptx(c, CG_PTX_OF_CLUSTERS);
        bc_text_printf(out, ".reqnctapercluster %u, 1, 1\n.blocksareclusters\n", c->cluster);
    }
    put_blocks(c, out);
    bc_text_puts(out, "{\n");
    cg_put_registers(c, out);
    if (cg_shared_bytes(c))
        bc_text_printf(out, "\t.shared .align %u .b8 tv_scratch[%u];\n", CG_ENCODING_ALIGN, cg_shared_bytes(c));
    if (c->tensor)
        bc_text_printf(out, "\t.shared .align 16 .b8 tv_tensor[%u];\n", cg_tensor_bytes(c));
    if (c->local_bytes)
        bc_text_printf(out, "\t.local .align 16 .b8 tv_local[%u];\n", c->local_bytes);
    if (c->emit->call_bytes)
        bc_text_printf(out, "\t.local .align 8 .b8 tv_args[%u];\n", c->emit->call_bytes);
}

void cg_put_kernel(cg_func *c, bc_text *out)
{
    bc_text_str(out, bc_text_get(&c->emit->module_text));
    put_signature(c, out);
    bc_text_str(out, bc_text_get(&c->emit->prologue));
    bc_text_str(out, bc_text_get(&c->emit->body));
    bc_text_puts(out, "}\n\n");
}

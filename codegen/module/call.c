/* Calls and strings. Sources: PTX interoperability guide, system calls; CUDA C++ programming guide, formatted output
   and dynamic global memory allocation. */
#include "codegen/module/call.h"

#include "codegen/module/spell.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"

/* ---- strings ---- */

/* A string in global memory; its generic address, 64 bits. */
static cg_val string(cg_func *c, tv_str s)
{
    bc_text *out = &c->emit->module_text;
    uint32_t number = c->emit->texts++, function = (uint32_t)(c->f - c->m->functions);
    bc_text_printf(out, ".global .align 1 .b8 tv_text_%u_%u[%zu] = {", function, number, s.len + 1);
    cg_put_bytes(out, s);
    bc_text_puts(out, "};\n");
    cg_val place = cg_new(c, CG_B64), address = cg_new(c, CG_B64);
    cg_ins(c, "mov.u64 %v, tv_text_%u_%u", place, function, number);
    cg_ins(c, "cvta.global.u64 %v, %v", address, place);
    return address;
}

void cg_put_literal(bc_text *format, tv_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '%')
            bc_text_char(format, '%');
        bc_text_char(format, text.ptr[i]);
    }
}

/* ---- vprintf ---- */

void cg_call_vprintf(cg_func *c, tv_str format, const cg_val *args, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = cg_class_bits((cg_class)args[i].cls) / 8;
        at = (at + bytes - 1) / bytes * bytes;
        cg_ins(c, "st.local.b%u [tv_args+%u], %v", bytes * 8, at, args[i]);
        at += bytes;
    }
    c->emit->call_bytes = at > c->emit->call_bytes ? at : c->emit->call_bytes;
    cg_val text = string(c, format), place = cg_const(CG_B64, 0), address = place;
    if (count) {
        place = cg_new(c, CG_B64);
        address = cg_new(c, CG_B64);
        cg_ins(c, "mov.u64 %v, tv_args", place);
        cg_ins(c, "cvta.local.u64 %v, %v", address, place);
    }
    bc_text_puts(&c->emit->body, "\t{\n\t.param .b64 tv_in0;\n\t.param .b64 tv_in1;\n\t.param .b32 tv_out;\n");
    cg_ins(c, "st.param.b64 [tv_in0], %v", text);
    cg_ins(c, "st.param.b64 [tv_in1], %v", address);
    cg_ins(c, "call (tv_out), vprintf, (tv_in0, tv_in1)");
    bc_text_puts(&c->emit->body, "\t}\n");
}

void cg_call_print(cg_func *c, tv_str text)
{
    bc_text format;
    bc_text_init(&format, &c->m->arena.allocator);
    cg_put_literal(&format, text);
    if (text.len)
        cg_call_vprintf(c, bc_text_get(&format), NULL, 0);
    if (format.failed)
        cg_no_memory(c);
    bc_text_release(&format);
}

/* ---- the heap ---- */

cg_val cg_call_malloc(cg_func *c, uint64_t bytes)
{
    cg_val address = cg_new(c, CG_B64);
    bc_text_puts(&c->emit->body, "\t{\n\t.param .b64 tv_in0;\n\t.param .b64 tv_out;\n");
    cg_ins(c, "st.param.b64 [tv_in0], %q", bytes);
    cg_ins(c, "call (tv_out), malloc, (tv_in0)");
    cg_ins(c, "ld.param.b64 %v, [tv_out]", address);
    bc_text_puts(&c->emit->body, "\t}\n");
    return address;
}

void cg_call_free(cg_func *c, cg_val address)
{
    bc_text_puts(&c->emit->body, "\t{\n\t.param .b64 tv_in0;\n");
    cg_ins(c, "st.param.b64 [tv_in0], %v", address);
    cg_ins(c, "call free, (tv_in0)");
    bc_text_puts(&c->emit->body, "\t}\n");
}

/* ---- the module ---- */

/* Element i of a global as it lies in memory. */
static uint64_t element(const bc_global *g, bc_kind kind, uint64_t i)
{
    unsigned bytes = bc_kind_constant_bytes(kind);
    uint64_t count = (uint64_t)bc_shape_elems(g->type->shape, g->type->rank), x = 0;
    if (kind == BC_I1 && !(count > 8 && g->value->len == 1))
        return g->value->ptr[i / 8] >> i % 8 & 1;
    const uint8_t *from = g->value->ptr + (g->value->len == bytes ? 0 : i * bytes);
    for (unsigned k = 0; k < bytes; k++)
        x |= (uint64_t)from[k] << 8 * k;
    return kind == BC_I1 ? x != 0 : kind == BC_TF32 ? x << 13 : x;
}

static void put_global(const bc_module *m, const bc_global *g, bc_text *out)
{
    bc_kind kind = bc_elem_kind(g->type);
    uint64_t count = (uint64_t)bc_shape_elems(g->type->shape, g->type->rank), align = g->alignment;
    unsigned bytes = bc_kind_memory_bytes(kind);
    unsigned per_byte = bytes ? 1 : 2;
    bytes = bytes ? bytes : 1;
    if (align < bytes || (align & (align - 1)) || align > 4096)
        align = 16;
    bc_text_printf(out, "%s.global .align %u .b8 ", g->visibility == BC_SymbolVisibility_private ? "" : ".visible ",
                   (unsigned)align);
    cg_put_global_name(out, m, g);
    bc_text_printf(out, "[%llu] = {", (unsigned long long)((count + per_byte - 1) / per_byte * bytes));
    for (uint64_t i = 0; i < count; i += per_byte) {
        uint64_t x = element(g, kind, i);
        if (per_byte == 2)
            x = (x & 15) | (i + 1 < count ? element(g, kind, i + 1) << 4 & 0xf0 : 0);
        for (unsigned k = 0; k < bytes; k++)
            bc_text_printf(out, "%s%u", i || k ? ", " : "", (unsigned)(x >> 8 * k & 0xff));
    }
    bc_text_puts(out, "};\n");
}

void cg_take_print_lock(cg_func *c, cg_val first)
{
    uint32_t again = cg_label(c), on = cg_label(c);
    cg_val address = cg_new(c, CG_B64), was = cg_new(c, CG_B32), taken = cg_new(c, CG_PRED);
    cg_ins(c, "@!%v bra %l", first, on);
    cg_ins(c, "mov.u64 %v, tv_print_lock", address);
    cg_place_label(c, again);
    cg_ins(c, "atom.acquire.gpu.global.cas.b32 %v, [%v], 0, 1", was, address);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", taken, was);
    cg_ins(c, "@%v bra %l", taken, again);
    cg_place_label(c, on);
}

void cg_give_print_lock(cg_func *c, cg_val first)
{
    uint32_t on = cg_label(c);
    cg_val address = cg_new(c, CG_B64), was = cg_new(c, CG_B32);
    cg_ins(c, "@!%v bra %l", first, on);
    cg_ins(c, "mov.u64 %v, tv_print_lock", address);
    cg_ins(c, "atom.release.gpu.global.exch.b32 %v, [%v], 0", was, address);
    cg_place_label(c, on);
}

void cg_put_module(const bc_module *m, bc_text *out)
{
    bool prints = false, allocates = false;
    for (size_t i = 0; i < m->function_count; i++)
        for (const bc_op *op = m->functions[i].body->first; op; op = bc_next_op(op, m->functions[i].body)) {
            prints = prints || op->opcode == OP_print_tko || op->opcode == OP_assert;
            allocates = allocates || op->opcode == OP_alloca;
        }
    if (prints)
        bc_text_puts(out, ".extern .func (.param .b32 tv_result) vprintf (.param .b64 tv_format, "
                          ".param .b64 tv_arguments);\n"
                          ".global .align 4 .u32 tv_print_lock = 0;\n");
    if (allocates)
        bc_text_puts(out, ".extern .func (.param .b64 tv_result) malloc (.param .b64 tv_bytes);\n"
                          ".extern .func free (.param .b64 tv_address);\n");
    for (size_t i = 0; i < m->global_count; i++)
        put_global(m, &m->globals[i], out);
    if (prints || allocates || m->global_count)
        bc_text_char(out, '\n');
}

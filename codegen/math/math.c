/* Where functions are emitted: in place, or once in a module as a .func that is called. */
#include "codegen/math/math.h"

#include <string.h>

#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"

typedef struct function {
    const char *op;
    cg_math_fn *emit[2]; /* f32, f64 */
    uint8_t operands;
    uint8_t form;
} function;

enum { CALLED, INLINE, BOTH, NEAR };
static const function functions[] = {
#define FUNCTION(op, f32, f64, operands, form) {#op, {cg_math_##f32, cg_math_##f64}, operands, form},
#include "codegen/math/math.def"
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };
_Static_assert(2 * FUNCTIONS <= CG_TABLE_BIT, "the set of what a module has is one word");

/* The register class of operand i. The exponent of fpowi is an integer. */
static cg_class operand_class(const function *f, const cg_real *k, unsigned i)
{
    return f->emit[k->wide] == cg_math_powi && i == 1 ? CG_B32 : r_class(k);
}

static void put_name(bc_text *out, const function *f, bool wide)
{
    bc_text_printf(out, "tv_%s_%s", f->op, wide ? "f64" : "f32");
}

/* The .func goes before the kernel; what the kernel has so far is put aside meanwhile. */
static void emit_called(cg_func *c, const function *f, bool wide)
{
    cg_emit kernel = *c->emit;
    cg_real k = {c, wide};
    cg_val operands[2];
    bc_text_init(&c->emit->prologue, &c->m->arena.allocator);
    bc_text_init(&c->emit->body, &c->m->arena.allocator);
    memset(c->emit->registers, 0, sizeof c->emit->registers);
    c->emit->constants = NULL;
    for (unsigned i = 0; i < f->operands; i++) {
        operands[i] = cg_new(c, operand_class(f, &k, i));
        cg_ins_first(c, "mov.b%u %v, %%a%u", cg_class_bits((cg_class)operands[i].cls), operands[i], i);
    }
    cg_val result = cg_reg(c, f->emit[wide](&k, operands));
    bc_text *out = &c->emit->module_text;
    bc_text_printf(out, ".func (.reg .b%u %%result) ", wide ? 64u : 32u);
    put_name(out, f, wide);
    for (unsigned i = 0; i < f->operands; i++)
        bc_text_printf(out, "%s.reg .b%u %%a%u", i ? ", " : "(", cg_class_bits((cg_class)operands[i].cls), i);
    bc_text_puts(out, ")\n{\n");
    cg_put_registers(c, out);
    bc_text_str(out, bc_text_get(&c->emit->prologue));
    bc_text_str(out, bc_text_get(&c->emit->body));
    bc_text_printf(out, "\tmov.b%u %%result, %%%c%u;\n\tret;\n}\n\n", wide ? 64u : 32u, wide ? 'd' : 'r', result.id);
    bool failed = c->emit->prologue.failed || c->emit->body.failed;
    bc_text_release(&c->emit->prologue);
    bc_text_release(&c->emit->body);
    c->emit->prologue = kernel.prologue;
    c->emit->body = kernel.body;
    c->emit->constants = kernel.constants;
    memcpy(c->emit->registers, kernel.registers, sizeof c->emit->registers);
    if (failed)
        cg_no_memory(c);
}

/* A call by all threads of a warp, or in a branch, by those that are there. */
static cg_val call(cg_func *c, const function *f, bool wide, const cg_val *operands)
{
    const char *which = f->form == NEAR ? "" : ".uni";
    cg_val result = cg_new(c, wide ? CG_B64 : CG_B32), x[2] = {{0}, {0}};
    for (unsigned i = 0; i < f->operands; i++)
        x[i] = cg_reg(c, operands[i]);
    if (cg_math_once(c, (unsigned)(f - functions) * 2 + wide))
        emit_called(c, f, wide);
    if (f->operands == 1)
        cg_ins(c, "call%s (%v), tv_%s_%s, (%v)", which, result, f->op, wide ? "f64" : "f32", x[0]);
    else
        cg_ins(c, "call%s (%v), tv_%s_%s, (%v, %v)", which, result, f->op, wide ? "f64" : "f32", x[0], x[1]);
    return result;
}

/* In place where that gives the result, else by a call, which few threads execute. */
static cg_val near_or_called(cg_func *c, const function *f, bool wide, const cg_val *operands)
{
    cg_real k = {c, wide};
    cg_val near, x = cg_reg(c, operands[0]), result = cg_new(c, r_class(&k));
    cg_val here = f->emit[1] == cg_math_sin ? cg_math_near_sin(&k, x, &near) : cg_math_near_cos(&k, x, &near);
    uint32_t done = cg_label(c);
    cg_ins(c, "mov.b%u %v, %v", wide ? 64 : 32, result, here);
    cg_ins(c, "@%v bra %l", near, done);
    cg_ins(c, "mov.b%u %v, %v", wide ? 64 : 32, result, call(c, f, wide, &x));
    cg_place_label(c, done);
    return result;
}

bool cg_math_element(cg_func *c, const char *op, const char *variant, bool wide, const cg_val *operands,
                     cg_val *out_result)
{
    for (size_t i = 0; i < FUNCTIONS && !*variant; i++) {
        const function *f = &functions[i];
        if (strcmp(f->op, op) != 0)
            continue;
        cg_real k = {c, wide};
        cg_val x[2] = {{0}, {0}};
        for (unsigned o = 0; o < f->operands; o++)
            x[o] = cg_reg(c, operands[o]);
        *out_result = f->form == BOTH || (f->form == INLINE && !wide) ? f->emit[wide](&k, x)
                      : f->form == NEAR                               ? near_or_called(c, f, wide, operands)
                                                                      : call(c, f, wide, operands);
        return true;
    }
    return false;
}

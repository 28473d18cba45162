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

enum { CALLED, INLINE, BOTH };
static const function functions[] = {
#define FUNCTION(op, f32, f64, operands, form) {#op, {cg_math_##f32, cg_math_##f64}, operands, form},
#include "codegen/math/math.def"
};

typedef struct near_form {
    const char *op;
    cg_math_near_fn *emit;
    bool wide;
} near_form;

static const near_form near_forms[] = {
#define NEAR(op, name, wide) {#op, cg_math_##name, wide},
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

static const near_form *near_form_of(const char *op, bool wide)
{
    for (size_t i = 0; i < sizeof near_forms / sizeof *near_forms; i++)
        if (near_forms[i].wide == wide && strcmp(near_forms[i].op, op) == 0)
            return &near_forms[i];
    return NULL;
}

static void assign(const cg_real *k, cg_val to, cg_val from)
{
    cg_ins(k->c, "mov.b%u %v, %v", cg_class_bits(r_class(k)), to, from);
}

/* The function for all operands: the near form where that applies. */
static cg_val whole(const cg_real *k, const function *f, const cg_val *operands)
{
    const near_form *n = near_form_of(f->op, k->wide);
    if (!n)
        return cg_reg(k->c, f->emit[k->wide](k, operands));
    cg_val near, here = n->emit(k, operands[0], &near), result = cg_new(k->c, r_class(k));
    uint32_t done = cg_label(k->c);
    assign(k, result, here);
    cg_ins(k->c, "@%v bra %l", near, done);
    assign(k, result, cg_reg(k->c, f->emit[k->wide](k, operands)));
    cg_place_label(k->c, done);
    return result;
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
    cg_val result = whole(&k, f, operands);
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

static const function *function_of(const char *op)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].op, op) == 0)
            return &functions[i];
    return NULL;
}

/* A call by all threads of a warp, or, where there is a near form, in a branch by those that are there. */
static cg_val call(cg_func *c, const function *f, bool wide, const cg_val *operands)
{
    const char *which = near_form_of(f->op, wide) ? "" : ".uni";
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

/* ---- several at a time ---- */

bool cg_math_has_near(const char *op, bool wide)
{
    return near_form_of(op, wide);
}

uint32_t cg_math_group(bool wide)
{
    return wide ? CG_MATH_GROUP / 4 : CG_MATH_GROUP;
}

/* Where the near form is not the result of all operands, calls the function for each of them: it gives the same results
   for the others. */
void cg_math_together(cg_func *c, const char *op, bool wide, const cg_val *x, uint32_t count, cg_val *out)
{
    const near_form *n = near_form_of(op, wide);
    cg_real k = {c, wide};
    cg_val all = {0};
    uint32_t done = cg_label(c);
    for (uint32_t i = 0; i < count; i++) {
        cg_val near, here = n->emit(&k, x[i], &near), both = i ? cg_new(c, CG_PRED) : near;
        out[i] = cg_new(c, r_class(&k));
        assign(&k, out[i], here);
        if (i)
            cg_ins(c, "and.pred %v, %v, %v", both, all, near);
        all = both;
    }
    cg_ins(c, "@%v bra %l", all, done);
    for (uint32_t i = 0; i < count; i++)
        assign(&k, out[i], call(c, function_of(op), wide, &x[i]));
    cg_place_label(c, done);
}

bool cg_math_element(cg_func *c, const char *op, const char *variant, bool wide, const cg_val *operands,
                     cg_val *out_result)
{
    const function *f = *variant ? NULL : function_of(op);
    cg_real k = {c, wide};
    cg_val x[2] = {{0}, {0}};
    for (unsigned o = 0; f && o < f->operands; o++)
        x[o] = cg_reg(c, operands[o]);
    if (!f)
        return false;
    *out_result = f->form == BOTH || (f->form == INLINE && !wide) ? f->emit[wide](&k, x) : call(c, f, wide, x);
    return true;
}

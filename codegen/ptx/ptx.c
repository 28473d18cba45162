/* PTX text: registers, constants, instructions, templates. */
#include "codegen/ptx/ptx.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/ptx/emit.h"

static const struct {
    tv_str prefix; /* of register names */
    const char *type;
} classes[CG_CLASS_COUNT] = {
    [CG_PRED] = {{"%p", 2}, "pred"},
    [CG_B16] = {{"%h", 2}, "b16"},
    [CG_B32] = {{"%r", 2}, "b32"},
    [CG_B64] = {{"%d", 2}, "b64"},
};

void cg_put_registers(const cg_func *c, bc_text *out)
{
    for (int cls = 0; cls < CG_CLASS_COUNT; cls++)
        if (c->emit->registers[cls])
            bc_text_printf(out, "\t.reg .%s %s<%u>;\n", classes[cls].type, classes[cls].prefix.ptr,
                           c->emit->registers[cls] + 1);
}

cg_val cg_new(cg_func *c, cg_class cls)
{
    return (cg_val){.cls = (uint8_t)cls, .id = ++c->emit->registers[cls]};
}

uint32_t cg_label(cg_func *c)
{
    return ++c->emit->labels;
}

/* ---- constants in registers, one each, made in the prologue ---- */

typedef struct cg_constants {
    cg_val *items;
    size_t count, capacity;
} cg_constants;

cg_val cg_reg(cg_func *c, cg_val v)
{
    if (v.id)
        return v;
    if (!c->emit->constants && !(c->emit->constants = bc_new(&c->arena, cg_constants, 1)))
        return v;
    cg_constants *k = c->emit->constants;
    for (size_t i = 0; i < k->count; i++)
        if (k->items[i].cls == v.cls && k->items[i].bits == v.bits)
            return k->items[i];
    cg_val *grown = bc_grow(&c->arena, k->items, k->count, &k->capacity, cg_val);
    if (!grown)
        return v;
    k->items = grown;
    cg_val reg = cg_new(c, (cg_class)v.cls);
    if (v.cls == CG_PRED)
        cg_ins_first(c, "setp.%s.u32 %v, 0, 0", v.bits ? "eq" : "ne", reg);
    else
        cg_ins_first(c, "mov.b%u %v, %v", cg_class_bits((cg_class)v.cls), reg, v);
    reg.known = true;
    reg.bits = v.bits;
    k->items[k->count++] = reg;
    return reg;
}

/* ---- instructions ---- */

static void put_val(bc_text *out, cg_val v)
{
    bc_text_str(out, v.id ? classes[v.cls].prefix : (tv_str){"0x", 2});
    bc_text_number(out, v.id ? v.id : v.bits, v.id ? 10 : 16);
}

static void put_parts(cg_func *c, bc_text *out, const char *format, va_list args)
{
    for (const char *p = format; *p; p++) {
        if (*p != '%') {
            size_t run = 1;
            while (p[run] && p[run] != '%')
                run++;
            bc_text_bytes(out, p, run);
            p += run - 1;
            continue;
        }
        switch (*++p) {
        case 'v': put_val(out, va_arg(args, cg_val)); break;
        case 'r': put_val(out, cg_reg(c, va_arg(args, cg_val))); break;
        case 'V': {
            const cg_val *vals = va_arg(args, const cg_val *);
            uint32_t count = va_arg(args, uint32_t);
            for (uint32_t i = 0; i < count; i++) {
                bc_text_puts(out, i ? ", " : "{");
                put_val(out, vals[i]);
            }
            bc_text_char(out, '}');
            break;
        }
        case 'l':
            bc_text_puts(out, "$L");
            bc_text_number(out, va_arg(args, uint32_t), 10);
            break;
        case 's': bc_text_puts(out, va_arg(args, const char *)); break;
        case 'u': bc_text_number(out, va_arg(args, uint32_t), 10); break;
        case 'd': bc_text_signed(out, va_arg(args, int)); break;
        case 'x':
            bc_text_puts(out, "0x");
            bc_text_number(out, va_arg(args, uint32_t), 16);
            break;
        case 'q':
            bc_text_puts(out, "0x");
            bc_text_number(out, va_arg(args, uint64_t), 16);
            break;
        default: /* a register of PTX itself: %%tid */ bc_text_char(out, '%'); break;
        }
    }
}

static void put_ins(cg_func *c, bc_text *out, const char *format, va_list args)
{
    bc_text_char(out, '\t');
    put_parts(c, out, format, args);
    bc_text_puts(out, ";\n");
}

void cg_ins(cg_func *c, const char *format, ...)
{
    enum { MOST_TEXT = 32 }; /* MiB, of a module; ptxas takes minutes for a tenth of that */
    if (c->written->text.len + c->emit->body.len > (size_t)MOST_TEXT << 20)
        cg_unsupported(c, cg_lowered(c), "the PTX would be larger than %d MiB; use smaller tiles", MOST_TEXT);
    if (c->failed)
        return;
    va_list args;
    va_start(args, format);
    put_ins(c, &c->emit->body, format, args);
    va_end(args);
}

void cg_ins_first(cg_func *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_ins(c, &c->emit->prologue, format, args);
    va_end(args);
}

void cg_put(cg_func *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_parts(c, &c->emit->body, format, args);
    va_end(args);
}

void cg_place_label(cg_func *c, uint32_t label)
{
    cg_put(c, "%l:\n", label);
}

/* ---- templates ---- */

enum { MAX_TEMPORARIES = 32 };

static cg_class class_of_letter(char letter)
{
    return letter == 'p' ? CG_PRED : letter == 'h' ? CG_B16 : letter == 'w' ? CG_B32 : CG_B64;
}

void cg_template(cg_func *c, const char *text, cg_val result, const cg_val *operands, const char *const *modifiers)
{
    cg_val temporaries[CG_CLASS_COUNT][MAX_TEMPORARIES] = {0};
    bc_text *out = &c->emit->body;
    bool line_start = true;
    for (const char *p = text; *p; p++) {
        if (line_start && *p == ' ')
            continue;
        if (line_start)
            bc_text_char(out, '\t');
        line_start = false;
        if (*p == '$') {
            int i = *++p - '0';
            put_val(out, i ? cg_reg(c, operands[i - 1]) : result);
        } else if (*p == '#') {
            cg_class cls = class_of_letter(*++p);
            char *end;
            unsigned long i = strtoul(p + 1, &end, 10) % MAX_TEMPORARIES;
            if (!temporaries[cls][i].id)
                temporaries[cls][i] = cg_new(c, cls);
            put_val(out, temporaries[cls][i]);
            p = end - 1;
        } else if (*p == '?') {
            size_t len = strcspn(++p, "?");
            for (const char *const *m = modifiers; m && *m; m += 2)
                if (strlen(*m) == len && memcmp(*m, p, len) == 0)
                    bc_text_puts(out, m[1]);
            p += len;
        } else {
            bc_text_char(out, *p);
            if (*p == ';') {
                bc_text_char(out, '\n');
                line_start = true;
            }
        }
    }
}

cg_val *cg_vals(cg_func *c, size_t count)
{
    return bc_new(&c->arena, cg_val, count);
}

/* Changes what a module is to the outside, as bytecode: more parameters of every type, hints, the bytes of any of its
   strings. Mutated bytes hardly ever give a type to a parameter that is not in the file, since the signature, the
   block's arguments and the type table must agree. */
#ifndef TILEVM_TESTS_FUZZ_ENTRY_MUTATOR_H
#define TILEVM_TESTS_FUZZ_ENTRY_MUTATOR_H
#ifndef FUZZ_REPLAY

#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "tools/tilevm/gen/inside.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* `more` parameters behind those that a kernel has; nothing uses them. */
static void add_params(generator *g, bc_function *f, uint32_t more)
{
    uint32_t count = f->body->arg_count, all = count + more;
    bc_type type = *f->type;
    const bc_type **members = bc_new(&g->m->arena, const bc_type *, all);
    bc_value *args = bc_new(&g->m->arena, bc_value, all);
    if (!members || !args || type.result_count || f->arg_attrs || all > UINT16_MAX)
        return;
    for (uint32_t i = 0; i < all; i++) {
        members[i] = i < count ? type.members[i] : gen_draw_param(g, i);
        args[i] = i < count ? f->body->args[i] : (bc_value){.type = members[i], .number = (uint16_t)i};
    }
    for (bc_op *op = f->body->first; op; op = bc_next_op(op, f->body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            for (uint32_t k = 0; k < count; k++)
                if (bc_operands(op)[i] == &f->body->args[k]) {
                    bc_operands(op)[i] = &args[k];
                    break;
                }
    type.rank = all;
    type.members = members;
    f->type = bc_type_add(g->m, &type);
    f->body->args = args;
    f->body->arg_count = all;
    bc_function_number(f);
}

/* The bytes of a string, wherever it is used: a kernel, a global, a file, a text that is printed. */
static void change_string(generator *g)
{
    bc_string *s = g->m->strings[gen_below(g, (unsigned)g->m->string_count)];
    uint8_t *bytes = bc_new(&g->m->arena, uint8_t, s->s.len + 64);
    if (!bytes)
        return;
    if (s->s.len)
        memcpy(bytes, s->s.ptr, s->s.len);
    s->s.len = LLVMFuzzerMutate(bytes, s->s.len, s->s.len + 64);
    s->s.ptr = (const char *)bytes;
}

static void change_entry(generator *g)
{
    bc_function *f = &g->m->functions[gen_below(g, (unsigned)g->m->function_count)];
    switch (gen_below(g, 4)) {
    case 0: add_params(g, f, 1 + gen_below(g, gen_chance(g, 90) ? 6 : 5000)); break;
    case 1: f->hints = gen_hints(g, OP_LIMIT); break;
    default: change_string(g);
    }
}

/* 0: it does not open, or does not fit. */
static size_t mutate_entry(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    tv_module *m = NULL;
    bc_text out;
    if (tv_module_open(data, size, NULL, (tv_sink){0}, &m) != TV_OK)
        return 0;
    const gen_options options = {.seed = seed, .version = m->version};
    generator g = {.m = m, .options = &options, .state = seed};
    bc_text_init(&out, NULL);
    if (m->function_count && m->string_count)
        change_entry(&g);
    size_t length = 0;
    if (!m->arena.failed && tv_module_write(m, (tv_sink){0}, (tv_writer){&out, bc_text_append}) == TV_OK
        && out.len <= max_size)
        memcpy(data, out.ptr, length = out.len);
    bc_text_release(&out);
    tv_module_close(m);
    return length;
}

#endif
#endif

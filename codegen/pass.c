/* Runs the passes; see the header. */
#include "codegen/pass.h"

#include <string.h>

#include "bytecode/print.h"

static const struct {
    const char *name;
    cg_pass_fn *run;
    cg_dump_fn *dump;
} passes[] = {
#define PASS(name, summary) {#name, cg_pass_##name, cg_dump_##name},
#include "codegen/passes.def"
};

/* The bits of the passes that a word names; 0: none. */
static uint32_t passes_named(tv_str word)
{
    for (uint32_t i = 0; i < TV_COUNT(passes); i++)
        if (bc_str_is(word, passes[i].name))
            return (uint32_t)1 << i;
    return bc_str_is(word, "all") ? ((uint32_t)1 << TV_COUNT(passes)) - 1 : 0;
}

static tv_status refuse(const bc_module *m, tv_sink sink, tv_str word)
{
    bc_text message;
    bc_text_init(&message, &m->arena.allocator);
    bc_text_printf(&message, "there is no pass '%.*s'; there are", (int)word.len, word.ptr);
    for (uint32_t i = 0; i < TV_COUNT(passes); i++)
        bc_text_printf(&message, " %s%s", passes[i].name, i + 1 < TV_COUNT(passes) ? "," : " and all");
    bc_report_message(m, sink, &(bc_place){.offset = TV_NO_OFFSET, .row = BC_NO_ROW}, BC_RULE_G_GEN_01, TV_ERROR, "",
                      bc_str(bc_text_words(&message)));
    bc_text_release(&message);
    return TV_USAGE;
}

tv_status cg_dumps_of(const bc_module *m, const tv_compile_options *options, tv_sink sink, cg_dumps *out_dumps)
{
    cg_dumps dumps = {0};
    const char *list = options && options->dump.write ? options->dump_after : NULL;
    if (list) {
        size_t end = strcspn(list, "@");
        for (size_t start = 0, len; start <= end; start += len + 1) {
            len = strcspn(list + start, ",@");
            tv_str word = {list + start, len};
            uint32_t named = passes_named(word);
            if (!named)
                return refuse(m, sink, word);
            dumps.passes |= named;
        }
        if (list[end]) {
            size_t entry;
            tv_status status = tv_module_entry_find(m, bc_str(list + end + 1), sink, &entry);
            if (status != TV_OK)
                return status;
            dumps.kernel = tv_module_entry_name(m, entry);
        }
    }
    *out_dumps = dumps;
    return TV_OK;
}

static void dump(cg_func *c, uint32_t pass)
{
    bc_text text;
    bc_text_init(&text, &c->m->arena.allocator);
    bc_text_printf(&text, "// after %s: ", passes[pass].name);
    bc_print_symbol(&text, c->f->name->s);
    bc_text_printf(&text, " for %s, %u threads\n", c->target->name, cg_threads(c));
    passes[pass].dump(c, &text);
    bc_text_char(&text, '\n');
    if (text.failed)
        cg_no_memory(c);
    else if (!c->options->dump.write(c->options->dump.user, text.ptr, text.len)) {
        c->failed = true;
        c->status = TV_IO;
    }
    bc_text_release(&text);
}

void cg_run_passes(cg_func *c, const cg_dumps *dumps)
{
    bool wanted = !dumps->kernel.ptr || bc_str_eq(dumps->kernel, c->f->name->s);
    for (uint32_t i = 0; i < TV_COUNT(passes) && !c->failed; i++) {
        passes[i].run(c);
        if (wanted && (dumps->passes >> i & 1) && !c->failed)
            dump(c, i);
    }
}

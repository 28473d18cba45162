/* Runs the passes; see the header. */
#include "codegen/passes/pass.h"

#include <string.h>
#include <time.h>

#include "bytecode/print/print.h"
#include "codegen/kernel/groups.h"

enum { FACTS = 1, RINGS = 2, LAYOUTS = 4, CONVERSIONS = 8, STRIPS = 16, PLACES = 32, MEETINGS = 64, TEXT = 128 };

static const struct {
    const char *name;
    uint32_t needs, gives, keeps;
    cg_pass_fn *run;
} passes[] = {
#define PASS(name, needs, gives, keeps, summary) {#name, needs, gives, keeps, cg_pass_##name},
#include "codegen/passes/passes.def"
};

enum {
#define PASS(name, needs, gives, keeps, summary) BEFORE_##name,
#include "codegen/passes/passes.def"
};

/* What dumps a pass; NULL: cg_dump_ops. */
static cg_dump_fn *const printers[TV_COUNT(passes)] = {
#define PRINTER(name, function) [BEFORE_##name] = function,
#include "codegen/passes/passes.def"
};

#ifdef TV_VERIFY_EACH /* in builds for tests */
enum { ALWAYS_VERIFY = 1 };
#else
enum { ALWAYS_VERIFY = 0 };
#endif

/* ---- the requested output ---- */

/* The bits of the passes that a word names. 0: none. */
static uint64_t passes_named(tv_str word)
{
    for (uint32_t i = 0; i < TV_COUNT(passes); i++)
        if (bc_str_is(word, passes[i].name))
            return (uint64_t)1 << i;
    return 0;
}

static tv_status refuse(const bc_module *m, tv_sink sink, tv_str word, const char *last)
{
    bc_text message;
    bc_text_init(&message, &m->arena.allocator);
    bc_text_printf(&message, "there is no pass '%.*s'; there are", (int)word.len, word.ptr);
    for (uint32_t i = 0; i < TV_COUNT(passes); i++)
        bc_text_printf(&message, " %s%s", passes[i].name, i + 1 < TV_COUNT(passes) ? "," : last);
    bc_report_message(m, sink, &(bc_place){.offset = TV_NO_OFFSET, .row = BC_NO_ROW}, BC_RULE_G_GEN_01, TV_ERROR, "",
                      bc_str(bc_text_words(&message)));
    bc_text_release(&message);
    return TV_USAGE;
}

static tv_status take_dumps(const bc_module *m, const char *list, tv_sink sink, cg_watch *watch)
{
    size_t end = strcspn(list, "@"), entry;
    for (size_t start = 0, len; start <= end; start += len + 1) {
        len = strcspn(list + start, ",@");
        tv_str word = {list + start, len};
        uint64_t named = bc_str_is(word, "all") ? UINT64_MAX >> (64 - TV_COUNT(passes)) : passes_named(word);
        if (!named)
            return refuse(m, sink, word, " and all");
        watch->dumps |= named;
    }
    if (!list[end])
        return TV_OK;
    TV_TRY(tv_module_entry_find(m, bc_str(list + end + 1), sink, &entry));
    watch->kernel = tv_module_entry_name(m, entry);
    return TV_OK;
}

tv_status cg_watch_of(const bc_module *m, const tv_compile_options *options, tv_sink sink, cg_watch *out_watch)
{
    cg_watch watch = {.count = TV_COUNT(passes), .verifies = ALWAYS_VERIFY};
    if (options) {
        watch.verifies = watch.verifies || options->verify_each;
        watch.times = options->time_passes && options->dump.write;
        watch.stops = options->stop_after;
    }
    if (watch.stops) {
        uint64_t named = passes_named(bc_str(options->stop_after));
        if (!named)
            return refuse(m, sink, bc_str(options->stop_after), "");
        watch.count = tv_trailing_zeros(named) + 1;
    }
    if (options && options->dump_after && options->dump.write)
        TV_TRY(take_dumps(m, options->dump_after, sink, &watch));
    *out_watch = watch;
    return TV_OK;
}

cg_watch cg_watch_to_weigh(const cg_watch *watch)
{
    return (cg_watch){.count = BEFORE_cost + 1, .verifies = watch->verifies};
}

cg_watch cg_watch_weighed(const cg_watch *watch)
{
    cg_watch rest = *watch;
    rest.first = BEFORE_cost + 1;
    return rest;
}

bool cg_watches(const cg_watch *watch)
{
    return watch->dumps || watch->times || watch->stops;
}

/* ---- output ---- */

static void put_symbol(const cg_func *c, bc_text *text)
{
    bc_print_symbol(text, c->f->name->s);
}

/* Passes the text to the user and releases it. */
static void hand_out(cg_func *c, bc_text *text)
{
    if (text->failed)
        cg_no_memory(c);
    else if (!c->options->dump.write(c->options->dump.user, text->ptr, text->len)) {
        c->failed = true;
        c->status = TV_IO;
    }
    bc_text_release(text);
}

static void dump(cg_func *c, uint32_t pass)
{
    bc_text text;
    bc_text_init(&text, &c->m->arena.allocator);
    bc_text_printf(&text, "// after %s: ", passes[pass].name);
    put_symbol(c, &text);
    bc_text_printf(&text, " for %s", c->target->name);
    cg_say_kernel(c, &text);
    bc_text_char(&text, '\n');
    (printers[pass] ? printers[pass] : cg_dump_ops)(c, &text);
    bc_text_char(&text, '\n');
    hand_out(c, &text);
}

static uint64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put_time(cg_func *c, uint32_t pass, uint64_t spent)
{
    bc_text text;
    bc_text_init(&text, &c->m->arena.allocator);
    bc_text_printf(&text, "// time: %9.1f us %-8s ", (double)spent / 1000, passes[pass].name);
    put_symbol(c, &text);
    bc_text_printf(&text, " for %s\n", c->target->name);
    hand_out(c, &text);
}

/* ---- defects ---- */

/* Reports a defect of the compiler itself, whatever the module. */
static void report_fault(cg_func *c, uint32_t pass, const char *when, const ct_fault *fault)
{
    bc_text message;
    bc_text_init(&message, &c->m->arena.allocator);
    bc_text_printf(&message, "internal error %s pass '%s': ", when, passes[pass].name);
    if (fault->op)
        bc_text_printf(&message, "%s: ", ct_op_name(fault->op));
    bc_text_puts(&message, fault->what);
    bc_report_message(c->m, c->sink,
                      &(bc_place){.function = c->f, .op = fault->op ? fault->op->from : NULL, .row = BC_NO_ROW},
                      BC_RULE_G_GEN_01, TV_ERROR, "", bc_str(bc_text_words(&message)));
    bc_text_release(&message);
    c->failed = true;
    c->status = TV_INVALID;
}

static void verify(cg_func *c, uint32_t pass)
{
    ct_fault fault;
    tv_status status = ct_verify(c->ir, &fault);
    if (status == TV_OK && !cg_verify_plan(c, &fault))
        status = TV_INVALID;
    if (status == TV_OK && c->values && !cg_verify_layouts(c, &fault))
        status = TV_INVALID;
    if (status == TV_OK && (!cg_verify_shared(c, &fault) || !cg_verify_sync(c, &fault)))
        status = TV_INVALID;
    if (status == TV_INVALID)
        report_fault(c, pass, "after", &fault);
    else if (status != TV_OK)
        cg_no_memory(c);
}

/* ---- running ---- */

static void run(cg_func *c, const cg_watch *watch, uint32_t pass)
{
    uint64_t start = watch->times ? nanoseconds() : 0;
    passes[pass].run(c);
    if (watch->times && !c->failed)
        put_time(c, pass, nanoseconds() - start);
    if (watch->verifies && !c->failed)
        verify(c, pass);
    if (watch->dumps >> pass & 1 && !c->failed && (!watch->kernel.ptr || bc_str_eq(watch->kernel, c->f->name->s)))
        dump(c, pass);
}

void cg_run_passes(cg_func *c, const cg_watch *watch)
{
    uint32_t have = 0;
    for (uint32_t i = 0; i < watch->count && !c->failed; i++) {
        if (passes[i].needs & ~have)
            report_fault(c, i, "before", &(ct_fault){.what = "its requirements do not hold"});
        else if (i >= watch->first)
            run(c, watch, i);
        have = (have & passes[i].keeps) | passes[i].gives;
    }
}

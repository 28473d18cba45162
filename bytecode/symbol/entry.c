/* Entries by name: symbols, and what people call the functions behind them. */
#include "bytecode/base/compiler.h"
#include "bytecode/base/demangle.h"
#include "bytecode/base/text.h"
#include "bytecode/print/report.h"
#include "bytecode/symbol/mangle.h"

enum { NO_MATCH = 9 };

/* How well a name that somebody wrote fits the symbol: the lower the better; NO_MATCH: it does not. */
static int match_name(tv_str symbol, tv_str name)
{
    tv_str function, mangled;
    bc_cxx_name cxx;
    if (bc_symbol_split(symbol, &function, &mangled))
        return bc_str_eq(function, name) ? 0 : NO_MATCH;
    int rank = bc_demangle(symbol, &cxx) ? bc_cxx_match(&cxx, name) : -1;
    return rank < 0 ? NO_MATCH : rank;
}

/* Names of entries for a message: all, or those that the name fits. */
static void list_entries(const tv_module *m, tv_str plain, bc_text *out)
{
    enum { SHOWN = 6 };
    unsigned count = 0;
    for (size_t i = 0; i < m->function_count; i++) {
        const bc_function *f = &m->functions[i];
        bc_cxx_name cxx;
        if (!(f->flags & BC_FUNC_KERNEL) || (plain.len && match_name(f->name->s, plain) == NO_MATCH))
            continue;
        if (count++ >= SHOWN)
            continue;
        tv_str shown = bc_demangle(f->name->s, &cxx) ? bc_str(cxx.full) : f->name->s;
        bc_text_printf(out, "%s'%.*s'", count > 1 ? ", " : "", (int)shown.len, shown.ptr);
    }
    if (count > SHOWN)
        bc_text_printf(out, " and %u more", count - SHOWN);
    if (count == 0)
        bc_text_puts(out, "none");
}

static void report_entry(const tv_module *m, tv_str name, tv_str plain, const char *problem, tv_sink sink)
{
    const bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    bc_text list;
    bc_text_init(&list, &m->arena.allocator);
    list_entries(m, plain, &list);
    bc_report(m, sink, &nowhere, BC_RULE_C_ENT_01, "%s%.*s%s; there is %s", name.len ? "'" : "", (int)name.len,
              name.ptr ? name.ptr : "", problem, bc_text_words(&list));
    bc_text_release(&list);
}

/* Entries that the name fits best, and the last of them; all for an empty name. */
static size_t find_entries(const tv_module *module, tv_str name, size_t *out_entry)
{
    size_t index = 0, matches = 0;
    int best = NO_MATCH;
    for (size_t i = 0; i < module->function_count; i++) {
        const bc_function *f = &module->functions[i];
        if (!(f->flags & BC_FUNC_KERNEL))
            continue;
        int rank = name.len ? match_name(f->name->s, name) : 0;
        if (rank < best) {
            best = rank;
            matches = 0;
        }
        if (rank == best && rank != NO_MATCH) {
            *out_entry = index;
            matches++;
        }
        index++;
    }
    return matches;
}

/* The entry of that very symbol. */
static bool find_symbol(const tv_module *module, tv_str symbol, size_t *out_entry)
{
    size_t index = 0;
    for (size_t i = 0; i < module->function_count; i++) {
        const bc_function *f = &module->functions[i];
        if (!(f->flags & BC_FUNC_KERNEL))
            continue;
        *out_entry = index++;
        if (bc_str_eq(f->name->s, symbol))
            return true;
    }
    return false;
}

tv_status tv_module_entry_find(const tv_module *module, tv_str name, tv_sink sink, size_t *out_entry)
{
    size_t found = 0;
    if (name.len && find_symbol(module, name, out_entry))
        return TV_OK;
    size_t matches = find_entries(module, name, &found);
    if (matches == 1) {
        *out_entry = found;
        return TV_OK;
    }
    if (!name.len)
        report_entry(module, name, name, matches ? "which entry to use must be said" : "the module has no entry", sink);
    else if (matches)
        report_entry(module, name, name, "' names more than one entry", sink);
    else
        report_entry(module, name, (tv_str){0}, "' is not an entry", sink);
    return TV_USAGE;
}

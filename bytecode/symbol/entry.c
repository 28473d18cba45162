/* Entries by name: symbols, and what people call the functions behind them. */
#include "bytecode/base/compiler.h"
#include "bytecode/base/demangle.h"
#include "bytecode/base/text.h"
#include "bytecode/base/words.h"
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
}

/* The name of an entry that the wanted one may be a slip of the pen for, in *out; the best distance so far is given
   and taken. */
static void look_close(tv_str symbol, tv_str wanted, unsigned *best, bc_text *out)
{
    tv_str name, mangled;
    bc_cxx_name cxx;
    if (!bc_symbol_split(symbol, &name, &mangled))
        name = bc_demangle(symbol, &cxx) ? bc_cxx_short_name(&cxx) : symbol;
    unsigned distance = bc_word_distance(wanted, name);
    if (distance >= *best)
        return;
    *best = distance;
    bc_text_clear(out);
    bc_text_str(out, name);
}

static void put_closest(const tv_module *m, tv_str wanted, bc_text *out)
{
    unsigned best = bc_word_reach(wanted.len);
    bc_text name;
    bc_text_init(&name, &m->arena.allocator);
    for (size_t i = 0; i < m->function_count; i++)
        if (m->functions[i].flags & BC_FUNC_KERNEL)
            look_close(m->functions[i].name->s, wanted, &best, &name);
    if (name.len)
        bc_text_printf(out, "; did you mean '%s'?", bc_text_words(&name));
    bc_text_release(&name);
}

/* plain: what the entries that are listed fit; empty for all. */
static void report_entry(const tv_module *m, tv_str name, tv_str plain, const char *problem, tv_sink sink)
{
    const bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    bc_text list;
    bc_text_init(&list, &m->arena.allocator);
    list_entries(m, plain, &list);
    if (list.len && name.len && !plain.len)
        put_closest(m, name, &list);
    if (list.len || list.failed)
        bc_report(m, sink, &nowhere, BC_RULE_C_ENT_01, "%s%.*s%s%s", name.len ? "'" : "", (int)name.len,
                  name.ptr ? name.ptr : "", problem, bc_text_words(&list));
    else
        bc_report(m, sink, &nowhere, BC_RULE_C_ENT_01, "the module has no entry");
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
        report_entry(module, name, name, "choose one of the entries: ", sink);
    else if (matches)
        report_entry(module, name, name, "' fits more than one entry: ", sink);
    else
        report_entry(module, name, (tv_str){0}, "' is not an entry; the module has ", sink);
    return TV_USAGE;
}

/* What `info` lists. */
#include <string.h>

#include "bytecode/base/visible.h"
#include "tools/tilevm/debug/answer.h"

static bool info_breaks(debug_session *s, bc_text *out)
{
    static const char *const kinds[] = {"break", "watch", "catch"};
    vm_debug_stop stop;
    if (!vm_debug_stop_at(s->d, 0, &stop))
        bc_text_puts(out, "no breakpoints, watchpoints or catches\n");
    for (size_t i = 0; vm_debug_stop_at(s->d, i, &stop); i++) {
        bc_text_printf(out, "%3u  %s ", stop.number, kinds[stop.kind]);
        bc_text_visible(out, bc_str(stop.text), "");
        if (stop.kind == VM_DEBUG_IS_BREAK)
            bc_text_printf(out, "  (op %u%s)", stop.position, stop.ops > 1 ? " and others" : "");
        if (stop.hits)
            bc_text_printf(out, "  hit %llu time%s", (unsigned long long)stop.hits, stop.hits == 1 ? "" : "s");
        if (stop.ignore)
            bc_text_printf(out, "  ignored %llu times more", (unsigned long long)stop.ignore);
        bc_text_printf(out, "%s%s\n", stop.once ? "  once" : "", stop.on ? "" : "  off");
    }
    return true;
}

static bool info_locals(debug_session *s, bc_text *out)
{
    const bc_value *value;
    vm_debug_value v;
    vm_debug_error error;
    for (size_t i = 0; (value = vm_debug_local_at(s->d, i)) != NULL; i++) {
        if (!vm_debug_value_of(s->d, value, &v, &error))
            continue;
        vm_debug_print_value_name(s->d, value, out);
        bc_text_puts(out, " = ");
        debug_put_short(s, &v, out);
        bc_text_char(out, '\n');
    }
    return true;
}

static bool info_arrays(debug_session *s, bc_text *out)
{
    vm_debug_value v;
    for (size_t i = 0; vm_debug_array_at(s->d, i, &v); i++) {
        bc_text_printf(out, "%s = ", vm_debug_array_name(&v));
        debug_put_stats(s, &v, out);
    }
    return true;
}

static bool info_blocks(debug_session *s, bc_text *out)
{
    uint64_t ended, all, under_way;
    vm_debug_block b;
    vm_debug_block_counts(s->d, &ended, &all, &under_way);
    bc_text_printf(out, "%llu of %llu tile blocks have ended, %llu are under way\n", (unsigned long long)ended,
                   (unsigned long long)all, (unsigned long long)under_way);
    for (size_t i = 0; vm_debug_block_at(s->d, i, &b); i++) {
        bc_text_puts(out, b.chosen ? "-> " : "   ");
        debug_put_block(b.block, out);
        bc_text_printf(out, "  %s, before\n", b.runs ? "runs" : "waits for its turn");
        if (b.position != UINT32_MAX)
            debug_put_op(s, b.position, false, out);
    }
    return true;
}

static bool info_lines(debug_session *s, bc_text *out)
{
    tv_str file, last_file = {0};
    uint32_t line, last = 0;
    bool any = false;
    for (uint32_t p = 0; vm_debug_op(s->d, p); p++) {
        if (!vm_debug_line(s->d, p, &file, &line) || (line == last && bc_str_eq(file, last_file)))
            continue;
        any = true;
        last = line;
        last_file = file;
        bc_text_printf(out, "op %u: ", p);
        bc_text_visible(out, file, "");
        bc_text_printf(out, ":%u\n", line);
    }
    if (!any)
        bc_text_puts(out, "the kernel carries no source lines; every op is a line of its own\n");
    return true;
}

static bool info_findings(debug_session *s, bc_text *out)
{
    vm_debug_finding f;
    if (!vm_debug_finding_at(s->d, 0, &f))
        bc_text_puts(out, "no findings; 'catch races', 'catch all' and others look for some\n");
    for (size_t i = 0; vm_debug_finding_at(s->d, i, &f); i++) {
        bc_text_printf(out, "%3zu  time %llu, op %u: %s: ", i + 1, (unsigned long long)f.time, f.position, f.rule);
        bc_text_visible(out, bc_str(f.text), "");
        bc_text_char(out, '\n');
        if (f.other != UINT32_MAX && f.other != f.position)
            debug_put_op(s, f.other, false, out);
    }
    return true;
}

static bool info_snapshots(debug_session *s, bc_text *out)
{
    size_t count, bytes;
    vm_debug_place at;
    vm_debug_snapshots(s->d, &count, &bytes);
    vm_debug_where(s->d, &at);
    bc_text_printf(out, "%zu snapshot%s in %zu KiB, time %llu\n", count, count == 1 ? "" : "s", (bytes + 1023) / 1024,
                   (unsigned long long)at.time);
    return true;
}

static const struct {
    const char *name;
    bool (*list)(debug_session *s, bc_text *out);
} lists[] = {{"breaks", info_breaks},      {"locals", info_locals}, {"arrays", info_arrays},
             {"blocks", info_blocks},      {"lines", info_lines},   {"findings", info_findings},
             {"snapshots", info_snapshots}};

const char *const debug_info_words[] = {"breaks", "locals", "arrays", "blocks", "lines", "findings", "snapshots", NULL};

bool debug_info(debug_session *s, tv_str what, bc_text *out, vm_debug_error *error)
{
    for (size_t i = 0; i < TV_COUNT(lists); i++)
        if (what.len && what.len <= strlen(lists[i].name) && memcmp(what.ptr, lists[i].name, what.len) == 0) {
            debug_tell_info(s, lists[i].name);
            return lists[i].list(s, out);
        }
    return debug_fail(error, "info of what? breaks, locals, arrays, blocks, lines, findings or snapshots");
}

/* Where the run is, in words and with its lines. */
#include "bytecode/base/visible.h"
#include "tools/tilevm/debug/answer.h"

enum { AROUND = 5 }; /* lines before and behind the current one */

static const char *paint(const debug_session *s, const char *code)
{
    return s->color ? code : "";
}

void debug_put_block(const uint32_t block[3], bc_text *out)
{
    bc_text_printf(out, "(%u, %u, %u)", block[0], block[1], block[2]);
}

void debug_put_line(const debug_session *s, uint32_t position, bc_text *out)
{
    tv_str file;
    uint32_t line;
    if (!vm_debug_line(s->d, position, &file, &line))
        return;
    size_t at = file.len;
    while (at > 0 && file.ptr[at - 1] != '/')
        at--;
    bc_text_visible(out, (tv_str){file.ptr + at, file.len - at}, "");
    bc_text_printf(out, ":%u", line);
}

void debug_put_op(const debug_session *s, uint32_t position, bool here, bc_text *out)
{
    unsigned indent = 2 * vm_debug_depth(s->d, position);
    bc_text_printf(out, "%s%s%6u  %*s", here ? paint(s, "\033[1m") : "", here ? "->" : "  ", position, (int)indent, "");
    vm_debug_print_op(s->d, position, out);
    bc_text_printf(out, "%s\n", here ? paint(s, "\033[0m") : "");
}

static void put_source(debug_session *s, uint32_t position, bc_text *out)
{
    tv_str file, text;
    uint32_t line;
    if (!vm_debug_line(s->d, position, &file, &line) || !debug_source_line(s, file, line, &text))
        return;
    bc_text_printf(out, "%s%8u  ", paint(s, "\033[36m"), line);
    bc_text_visible(out, text, "\t");
    bc_text_printf(out, "%s\n", paint(s, "\033[0m"));
}

/* "tile block (1, 0, 0), op 12 at add.py:14, iteration 2, time 34" and the lines */
void debug_put_where(debug_session *s, bc_text *out)
{
    vm_debug_place at;
    debug_tell_place(s);
    vm_debug_where(s->d, &at);
    if (at.state == VM_DEBUG_ENDED) {
        bc_text_printf(out, "the run has ended, time %llu\n", (unsigned long long)at.time);
        return;
    }
    bc_text_puts(out, "tile block ");
    debug_put_block(at.block, out);
    bc_text_printf(out, ", op %u", at.position);
    tv_str file;
    uint32_t line;
    if (vm_debug_line(s->d, at.position, &file, &line)) {
        bc_text_puts(out, " at ");
        debug_put_line(s, at.position, out);
    }
    if (at.in_for)
        bc_text_printf(out, ", iteration %llu", (unsigned long long)at.rounds);
    bc_text_printf(out, ", time %llu\n", (unsigned long long)at.time);
    put_source(s, at.position, out);
    debug_put_op(s, at.position, true, out);
}

/* What stopped the run; nothing if it reached its goal. */
static void put_why(debug_session *s, const vm_debug_event *e, bc_text *out)
{
    switch (e->why) {
    case VM_DEBUG_REACHED: return;
    case VM_DEBUG_BREAKPOINT: bc_text_printf(out, "breakpoint %u: ", e->number); return;
    case VM_DEBUG_WATCHPOINT: bc_text_printf(out, "watchpoint %u: ", e->number); break;
    case VM_DEBUG_CAUGHT: bc_text_printf(out, "catch %u: ", e->number); break;
    case VM_DEBUG_TRAP: bc_text_puts(out, "the run stops here: "); break;
    case VM_DEBUG_END: return;
    case VM_DEBUG_BEGIN: bc_text_puts(out, "the beginning of the run: "); return;
    case VM_DEBUG_INTERRUPT: bc_text_puts(out, e->text[0] ? "stopped: " : "interrupted: "); break;
    }
    bc_text_visible(out, bc_str(e->text), "");
    if (e->text[0])
        bc_text_char(out, '\n');
    if (e->after) {
        bc_text_puts(out, "made by\n");
        debug_put_op(s, e->position, false, out);
    }
}

void debug_put_event(debug_session *s, const vm_debug_event *event, bc_text *out)
{
    debug_tell_event(s, event);
    put_why(s, event, out);
    debug_put_where(s, out);
}

/* ---- listings ---- */

static uint32_t put_ops(debug_session *s, uint32_t from, uint32_t here, bc_text *out)
{
    uint32_t count = vm_debug_function(s->d)->op_count, end;
    if (from == UINT32_MAX)
        from = here == UINT32_MAX ? 0 : here > AROUND ? here - AROUND : 0;
    end = from + 2 * AROUND + 1;
    for (uint32_t p = from; p < end && p < count; p++)
        debug_put_op(s, p, p == here, out);
    return end < count ? end : count;
}

static uint32_t put_lines(debug_session *s, tv_str file, uint32_t from, uint32_t here, bc_text *out)
{
    tv_str text;
    if (from == UINT32_MAX)
        from = here > AROUND ? here - AROUND : 1;
    uint32_t line = from;
    for (; line <= from + 2 * AROUND && debug_source_line(s, file, line, &text); line++) {
        bc_text_printf(out, "%s%s%6u  ", line == here ? paint(s, "\033[1m") : "", line == here ? "->" : "  ", line);
        bc_text_visible(out, text, "\t");
        bc_text_printf(out, "%s\n", line == here ? paint(s, "\033[0m") : "");
    }
    return line;
}

uint32_t debug_put_listing(debug_session *s, uint32_t from, bool ops, bc_text *out)
{
    vm_debug_place at;
    tv_str file, text;
    uint32_t line;
    vm_debug_where(s->d, &at);
    uint32_t here = at.state == VM_DEBUG_ENDED ? UINT32_MAX : at.position;
    if (!ops && here != UINT32_MAX && vm_debug_line(s->d, here, &file, &line)
        && debug_source_line(s, file, line, &text))
        return put_lines(s, file, from, line, out);
    return put_ops(s, from, here, out);
}
